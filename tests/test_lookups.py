"""What a form suggests: codes with their names, those that are used most first."""

from __future__ import annotations

import pytest

from payerkit.checks.codes import codes, find_code, name_of
from payerkit.checks.places import aliases, countries, fiat_currencies
from payerkit.payments.onchain.currencies import networks, token_list

LOOKUPS = ["countries", "fiat", "currencies", "tokens"]


@pytest.mark.parametrize(
    ("lookup", "expected"),
    [
        ("fiat", ["USD", "EUR", "GBP"]),
        ("currencies", ["USD", "EUR", "GBP"]),
        ("countries", ["US", "GB", "DE"]),
        ("tokens", ["USDC-mainnet", "USDCn-matic", "USDC-base"]),
    ],
)
def test_what_is_used_most_comes_first(lookup: str, expected: list[str]) -> None:
    """A list that nothing was typed for begins with what most people want."""
    assert expected == [each.code for each in codes(lookup)[:3]]


def test_funds_and_metals_come_last() -> None:
    """What no bank keeps an account in stands behind all money."""
    ranked = [each.code for each in codes("fiat")]

    assert ranked.index("ZMW") < ranked.index("XAU")


@pytest.mark.parametrize("lookup", LOOKUPS)
def test_every_code_is_found_by_itself(lookup: str) -> None:
    """A code in any case means itself, whatever else is called so."""
    wrong = [
        each.code
        for each in codes(lookup)
        if find_code(lookup, each.code.lower()) is not each
    ]

    assert [] == wrong


def test_what_can_pay_is_no_fiat_currency() -> None:
    """The tokens are the currencies without those that only an invoice can have."""
    fiat = {each.id for each in token_list().values() if each.kind == "fiat"}

    assert {each.code for each in codes("currencies")} - fiat == {
        each.code for each in codes("tokens")
    }


@pytest.mark.parametrize(
    ("lookup", "code", "expected"),
    [
        ("countries", "de", "Germany"),
        ("tokens", "eth-sepolia-sepolia", "ETH on Sepolia (test network)"),
        (
            "currencies",
            "USDCn-matic",
            "USDC on Polygon",
        ),  # the name of the network, not its id
        (
            "tokens",
            "ETH-zksync-testnet-zksynceratestnet",
            "ETH on zkSync Era Testnet",
        ),  # said once
        ("fiat", "XYZ", ""),
        ("", "anything", ""),  # a field without a lookup
    ],
)
def test_names(lookup: str, code: str, expected: str) -> None:
    """A code that was chosen has a name to confirm it."""
    assert expected == name_of(lookup, code)


def test_aliases_lead_to_codes() -> None:
    """Each alias means something that is in the tables, and none hides a code."""
    known = {
        "country": countries().keys(),
        "currency": fiat_currencies().keys(),
        "network": networks().keys(),
        "token": {each.ticker for each in token_list().values()},
    }
    for kind, codes_of_kind in known.items():
        meant = aliases(kind)

        assert [] == [
            code
            for found in meant.values()
            for code in found
            if code not in codes_of_kind
        ]
        assert [] == [
            alias
            for alias in meant
            if kind in {"country", "currency"} and alias.upper() in codes_of_kind
        ]
