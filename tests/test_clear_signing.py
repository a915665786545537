"""Descriptors for clear signing, and what a wallet shows that has them.

data/erc7730-v2.schema.json is version 2.1.0 of the schema, which the registry of clear signing demands of every
descriptor (ethereum/clear-signing-erc7730-registry, specs; from ethereum/ERCs, assets/erc-7730; CC0; read 2026-11-22).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eth_hash.auto import keccak
from jsonschema import Draft202012Validator

from example_payments import (
    APPROVAL,
    BATCH,
    CONVERTED,
    DEAD,
    ETH,
    ETH_FEE_PROXY,
    FEE_PROXY,
    GOOD,
    HASHES,
    MAIN_USDC,
    MAIN_WBTC,
    MAX,
    OTHER,
    PAYEE,
    REFERENCE,
    TOKEN,
    TOKEN_PAYMENT,
    WEI,
    converted,
    data,
    detail,
    mutated,
    mutations,
    payment,
)
from payerkit import write_clear_signing
from payerkit.onchain.abi import parse_signature
from payerkit.onchain.addresses import address_problem
from payerkit.onchain.deployments import deployments
from payerkit.onchain.functions import EffectKind, functions
from payerkit.review.transactions import decode_payment
from payerkit.signing.clear_signing import clear_signing_lines
from payerkit.signing.clear_signing_descriptors import described_functions, descriptors

SCHEMA = json.loads(Path(__file__).with_name("data").joinpath("erc7730-v2.schema.json").read_text("utf-8"))


def lines(transaction: Any, network: str | None = "sepolia") -> tuple[str, ...]:
    """Return what a wallet shows for a transaction: to, data, value."""
    return clear_signing_lines(decode_payment(payment(transaction, asked=ETH))[0], network)


def leaves(fields: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the fields of a format, those in groups too."""
    for field in fields:
        yield from field.get("fields", [field])


FORMATS = [
    pytest.param(signature, shown, id=f"{contract}.{signature.partition('(')[0]}")
    for contract, descriptor in descriptors().items()
    for signature, shown in descriptor["display"]["formats"].items()
]


@pytest.mark.parametrize("contract", descriptors())
def test_descriptors_are_valid_against_the_published_schema(contract: str) -> None:
    """The registry refuses any other."""
    assert [] == [error.message for error in Draft202012Validator(SCHEMA).iter_errors(descriptors()[contract])]


def test_the_schema_is_strict_enough_to_fail() -> None:
    """A misspelt member of a field is found."""
    content = json.loads(json.dumps(descriptors()["ERC20FeeProxy"]).replace('"tokenPath"', '"tokenPaths"', 1))

    assert not Draft202012Validator(SCHEMA).is_valid(content)


def test_one_file_is_written_per_contract(tmp_path: Path) -> None:
    """The files are named as the registry demands; writing them again replaces them."""
    for _ in range(2):
        written = write_clear_signing(tmp_path / "request-network")

    assert [f"calldata-{contract}.json" for contract in descriptors()] == [path.name for path in written]
    assert list(descriptors().values()) == [json.loads(path.read_text("utf-8")) for path in written]


def test_every_payment_function_is_described() -> None:
    """Those of contracts with a fixed address; tokens have a descriptor of their own in the registry."""
    deployed = {contract for contract, _ in deployments()}
    paying = {
        selector
        for selector, function in functions().items()
        if function.effect == EffectKind.TRANSFER and deployed & set(function.contracts)
    }

    assert paying == set(described_functions())


def test_names_are_the_only_difference_to_our_signatures() -> None:
    """A wallet finds a format by the hash of the types."""
    for selector, signature in described_functions().items():
        name, arguments = parse_signature(signature)
        assert selector == keccak(f"{name}{arguments.canonical}".encode())[:4]


def test_no_address_is_described_twice() -> None:
    """The registry refuses two descriptors of one address; each address passes its checksum."""
    places = [
        (place["chainId"], place["address"])
        for descriptor in descriptors().values()
        for place in descriptor["context"]["contract"]["deployments"]
    ]

    assert {1} == set(Counter(places).values())
    assert {""} == {address_problem(address) for _, address in places}


HIDDEN = {"Fee limit paths", "Without fee limit", "Path", "Max to spend", "Max rate age"}
"""Labels of arguments that a wallet need not show: the last three are not read where payments are not converted."""


@pytest.mark.parametrize(("signature", "shown"), FORMATS)
def test_every_argument_has_a_field(signature: str, shown: dict[str, Any]) -> None:
    """Nothing that moves money is hidden, and nothing is forgotten."""
    fields = list(leaves(shown["fields"]))
    known = {step for field in fields for step in field["path"].split(".") if not step.startswith("[")}

    assert {part.name for part in _scalars(parse_signature(signature)[1])} <= known
    assert {field["label"] for field in fields if field.get("visible") == "never"} <= HIDDEN


def _scalars(kind: Any) -> Iterator[Any]:
    """Yield the arguments that are not tuples, also those inside of tuples."""
    for part in kind.parts:
        item = part.parts[0] if part.kind == "array" else part
        if item.kind == "tuple":
            yield from _scalars(item)
        else:
            yield part


@pytest.mark.parametrize(("signature", "shown"), FORMATS)
def test_texts_fit_on_a_device(signature: str, shown: dict[str, Any]) -> None:
    """The limits are those of the registry's linter (erc7730 1.0.12); a sentence without the fee is not offered."""
    assert len(shown["intent"]) <= 30, signature
    assert [] == [field["label"] for field in leaves(shown["fields"]) if len(field["label"]) > 20]
    assert "interpolatedIntent" not in shown


def test_a_token_payment_is_shown_in_words() -> None:
    """Amount, token, payee, fee, its recipient and the reference."""
    call = data("c219a14d", TOKEN, PAYEE, 10_000_000, REFERENCE, 10_000, OTHER)

    assert (
        "Pay a request: Request Network, ERC20FeeProxy",
        "Amount: 10 fUSDC",
        f"Token: {TOKEN}",
        f"Payee: {PAYEE}",
        "Fee: 0.01 fUSDC",
        f"Fee to: {OTHER}",
        f"Reference: 0x{REFERENCE.hex()}",
    ) == lines((FEE_PROXY, call, 0))


def test_a_coin_payment_is_shown_with_its_fee_in_the_total() -> None:
    """The calldata has no amount: it is the value without the fee."""
    call = data("b868980b", PAYEE, REFERENCE, WEI // 100, OTHER)

    assert ("Total with fee: 10 ETH", f"Payee: {PAYEE}", "Fee: 0.1 ETH") == lines((ETH_FEE_PROXY, call, WEI))[1:4]


def test_a_converted_amount_is_shown_raw_beside_what_it_may_cost() -> None:
    """No wallet knows the decimals of the request's currency; the most that may be spent is in the coin."""
    shown = lines(converted(10**9, *HASHES))

    assert ("Spend at most: 1 ETH", "Amount (raw): 1000000000", f"Request currency: {HASHES[0]}") == shown[1:4]


def test_a_batch_is_shown_payment_by_payment() -> None:
    """A group of the batch has a kind, and each of its payments the same lines."""
    groups = [(2, [detail(MAIN_USDC), detail(MAIN_WBTC)]), (0, [detail(HASHES[0], MAIN_USDC)])]
    shown = lines((BATCH, data("92cddb91", groups, [], DEAD), 0), "mainnet")

    assert ("Paid in 1: Tokens", "Paid in 2: Tokens, converted") == shown[2:4]
    assert [1, 2, 3] == [int(line.split()[1][:-1]) for line in shown if line.startswith("Payee ")]
    assert f"Fee to: {DEAD}" == shown[-1]


def test_the_token_of_each_payment_of_a_batch_is_its_own() -> None:
    """Parallel lists are shown by their places."""
    call = data("fa733142", [MAIN_USDC, MAIN_WBTC], [PAYEE, OTHER], [10**6, 10**8], [REFERENCE] * 2, [0, 1], DEAD)
    shown = lines(("0x0DD57FFe83a53bCbd657e234B16A3e74fEDb8fBA", call, 0), "mainnet")

    assert ("Amount 1: 1 USDC", "Amount 2: 1 WBTC") == tuple(line for line in shown if line.startswith("Amount"))


def test_a_token_that_no_list_has_is_shown_as_unknown() -> None:
    """The amount is in base units then."""
    call = data("c219a14d", OTHER, PAYEE, 10_000_000, REFERENCE, 0, DEAD)

    assert "Amount: 10000000 (unknown token)" == lines((FEE_PROXY, call, 0))[1]


@pytest.mark.parametrize(
    ("transaction", "network"),
    [
        (TOKEN_PAYMENT, None),
        (TOKEN_PAYMENT, "matic"),  # the contract is at another address there
        ((OTHER, TOKEN_PAYMENT[1], 0), "sepolia"),  # not the contract
        ((FEE_PROXY, TOKEN_PAYMENT[1] + "00", 0), "sepolia"),  # a byte too many
        ((FEE_PROXY, TOKEN_PAYMENT[1][:-64], 0), "sepolia"),  # too short
        (APPROVAL, "sepolia"),  # a token's call
        ((FEE_PROXY, "0xdeadbeef", 0), "sepolia"),
        ((FEE_PROXY, "0x", 1), "sepolia"),
        ((CONVERTED, data("ac473c8a", PAYEE, 1, [], REFERENCE, 0, DEAD, 0), 1), "sepolia"),  # a path of no entry
        ((BATCH, data("92cddb91", [(9, [detail(MAIN_USDC)])], [], DEAD), 0), "mainnet"),  # a kind that there is not
        # three payees and two amounts: wallets refuse lists of different lengths
        (
            (
                "0x0DD57FFe83a53bCbd657e234B16A3e74fEDb8fBA",
                data("c6e6d98b", MAIN_USDC, [PAYEE] * 3, [1, 1], [REFERENCE] * 3, [0] * 3, DEAD),
                0,
            ),
            "mainnet",
        ),
    ],
)
def test_of_what_no_descriptor_fits_nothing_is_shown(transaction: Any, network: str | None) -> None:
    """The wallet shows bytes then."""
    assert () == lines(transaction, network)


@pytest.mark.parametrize(("name", "number", "argument", "place"), mutations())
def test_every_changed_argument_of_a_payment_is_seen(name: str, number: int, argument: str, place: int) -> None:
    """What the wallet shows covers the whole calldata of a payment."""
    changed = decode_payment(mutated(name, number, place))[number]
    shown = clear_signing_lines(changed, "sepolia")

    if decode_payment(GOOD[name])[number].effects[0].is_payment:
        assert () != shown != clear_signing_lines(decode_payment(GOOD[name])[number], "sepolia"), argument


def test_the_largest_numbers_are_shown() -> None:
    """Nothing overflows."""
    call = data("c219a14d", TOKEN, PAYEE, MAX, REFERENCE, MAX, DEAD)

    assert str(MAX // 10**6) in lines((FEE_PROXY, call, 0))[1]
