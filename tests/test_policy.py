"""A policy: made in Python or read from a file that a person can read, and every
mistake in it named.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cases import DATA, table
from example_addresses import FEE_PROXY, PAYEE, TOKEN
from payerkit import InvalidInput, PaymentPolicy, check_payment, samples
from payerkit.errors import NotSent
from payerkit.payments import AcceptedAllowance, AddressBook, AgreedFee, KnownAddress
from payerkit.payments.onchain.currencies import find_currency
from payerkit.payments.payment_policy import (
    NO_POLICY,
    entry_lines,
)
from payerkit.payments.policy_model import PERCENTAGES

FEES = "0xfeE5000000000000000000000000000000000001"
RENAMED_TOKEN: dict[str, Any] = {
    "id": "USDC-sepolia",
    "network": "sepolia",
    "address": TOKEN,
    "decimals": 6,
}
NEW_TOKEN: dict[str, Any] = {
    "id": "USDT0-matic",
    "network": "matic",
    "address": FEES,
    "decimals": 6,
}

POLICY = PaymentPolicy(
    fees=(
        AgreedFee(
            address=FEES.lower(),
            max_percent=Decimal("0.1"),
            name='The "protocol" fee of\x07 mine',
            max_amount="25.0",
        ),
    ),
    allowances=(
        AcceptedAllowance(
            token="fUSDC-sepolia", spender=FEE_PROXY, most=Decimal("1E+3")
        ),
        AcceptedAllowance(token="fUSDT-sepolia", spender=FEE_PROXY, most=None),
    ),
    addresses=AddressBook(
        [
            KnownAddress(address=PAYEE, name="Example Payee é", network="sepolia"),
            KnownAddress(address=FEES, name="Everywhere"),
            KnownAddress(
                address=FEE_PROXY,
                name="On a chain without a name here",
                network="59144",
                role="operator",
            ),
        ]
    ),
    rates={
        ("ETH-sepolia-sepolia", "USD"): Decimal("2500.50"),
        ("A/B-matic", "USD"): Decimal("1E-7"),
    },
    tokens=[NEW_TOKEN, NEW_TOKEN | {"id": "other-name-matic", "address": PAYEE}],
    rate_tolerance=Decimal("0.5"),
    peg_tolerance=Decimal(1),
    batch_fee=Decimal("0.30"),
    known_members=["quoteExpiry", "relayer"],
)
"""All that a policy can hold; `data/policy.toml` is its file."""


def read(folder: Path, text: str | bytes) -> PaymentPolicy:
    """Return the policy of a file with this text."""
    file = folder / "policy.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return PaymentPolicy.read(file)


@pytest.mark.parametrize(
    ("policy", "text"),
    [(POLICY, (DATA / "policy.toml").read_text("utf-8")), (NO_POLICY, "")],
    ids=["full", "empty"],
)
def test_a_policy_is_saved_for_people_and_read_back(
    policy: PaymentPolicy, text: str, tmp_path: Path
) -> None:
    """A table has a member a line; what a text of others holds ends no line, and steers
    no terminal. A policy knows the file that it comes from.
    """
    file = tmp_path / "policy.toml"
    policy.save(file)
    again = PaymentPolicy.read(str(file))

    assert (text, text.rstrip()) == (file.read_text("utf-8"), str(policy))
    assert (str(policy), str(file)) == (str(again), again.source)


@table("policy_mistakes")
def test_every_mistake_in_a_file_is_named(
    tmp_path: Path, lines: list[str], message: str
) -> None:
    """An InvalidInput names the file, the table and the member."""
    with pytest.raises(InvalidInput, match=message):
        read(tmp_path, "\n".join(lines))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "not valid TOML: 'utf-8' codec"),
        (b"batch_fee = " + b"9" * 5000, "not valid TOML: Exceeds"),
    ],
)
def test_a_file_that_is_no_toml_is_named(
    tmp_path: Path, content: bytes, message: str
) -> None:
    """Another encoding, and a number that Python does not read, are InvalidInput; so is
    a missing file.
    """
    with pytest.raises(InvalidInput, match=f"policy.toml: .*{message}"):
        read(tmp_path, content)
    with pytest.raises(InvalidInput, match=r"none.toml: the file cannot be read"):
        PaymentPolicy.read(tmp_path / "none.toml")


def test_numbers_may_be_numbers_or_text(tmp_path: Path) -> None:
    """A number of TOML is read as it was written, not as a float."""
    found = read(
        tmp_path,
        'batch_fee = 0.30\npeg_tolerance = "0.30"\n[rates]\n"A/USD" = 0.1\n"B/USD" ='
        " 2500",
    )

    assert Decimal("0.30") == found.batch_fee == found.peg_tolerance
    assert (Decimal("0.1"), Decimal(2500)) == (
        found.rate("A", "USD"),
        found.rate("b", "usd"),
    )


def test_the_address_book_may_be_a_file_of_its_own(tmp_path: Path) -> None:
    """The path counts from the folder of the policy; its own addresses are added, and
    names compared across both.
    """
    (tmp_path / "book.csv").write_text(
        f"address,name,chainId\n\n{PAYEE},Example Payee,11155111\n", "utf-8"
    )
    own: dict[str, Any] = {"address": FEES, "network": "sepolia"}
    file = 'address_book = "book.csv"\n'
    found = read(tmp_path, file + entry_lines("addresses", **own, name="Own"))

    assert ["Example Payee", "Own"] == [each.name for each in found.book]
    with pytest.raises(
        InvalidInput,
        match=r"addresses: book.csv, row 3 and \[\[addresses\]\] 1 have one",
    ):
        read(tmp_path, file + entry_lines("addresses", **own, name="Example Payee"))


def test_only_a_given_address_book_makes_payees_new(tmp_path: Path) -> None:
    """An empty one is given, too."""
    none, empty = (read(tmp_path, text).addresses for text in ("", "addresses = []"))

    assert (None, AddressBook) == (none, type(empty))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"fees": [{"address": FEES}]}, r"\[\[fees\]\] 1: max_percent: missing"),
        (
            {"fees": AgreedFee(address=FEES, max_percent="1")},
            r"\[\[fees\]\] 1: expected",
        ),
        ({"rates": {("ETH", "USD", 1): "1"}}, "rates: ETH/USD/1: expected both ids"),
        ({"rates": {("A", "USD"): 1.5}}, "rates: A/USD: give a positive number"),
        (
            {"tokens": ["USDC"]},
            r"\[\[tokens\]\] 1: expected a table of members",
        ),
        ({"addresses": 5}, "addresses: give a path, a DataFrame or a dict"),
        (
            {"rates": {("A", "USD"): 1, ("a", "usd"): 2}},
            "rates: entry 2 is about the same as entry 1",
        ),
        ({"peg_tolerance": True}, "peg_tolerance: expected a percentage"),
        ({"rate_source": {}}, "rate_source: Input should be callable"),
        ({"fee": ()}, "fee: not a member. There are fees, allowances"),
    ],
)
def test_a_policy_made_in_python_is_checked_as_well(
    members: dict[str, Any], message: str
) -> None:
    """A wrong member is refused when the policy is made, not when a payment is
    checked.
    """
    with pytest.raises(InvalidInput, match=message):
        PaymentPolicy(**members)


def test_a_policy_can_agree_to_twenty_percent() -> None:
    """It is the most; the table of mistakes has what is above."""
    most: dict[str, Any] = dict.fromkeys(PERCENTAGES, 20)

    assert most == PaymentPolicy(**most).percentages


def test_a_rate_source_is_asked_last() -> None:
    """A rate by hand wins; a source may know none, and what it returns is checked."""
    known: dict[Any, Any] = {
        ("ETH-mainnet", "USD"): 2500,
        ("ETH-mainnet", "EUR"): 2300.5,
    }
    policy = PaymentPolicy(
        rates={("ETH-mainnet", "USD"): Decimal(2400)},
        rate_source=lambda *ids: known.get(ids),
    )

    assert (Decimal(2400), None) == (
        policy.rate("ETH-mainnet", "USD"),
        policy.rate("ETH-mainnet", "GBP"),
    )
    with pytest.raises(InvalidInput, match="rate_source: give a positive number"):
        policy.rate("ETH-mainnet", "EUR")


def raising(error: Exception) -> Any:
    """Return a source of rates that raises an error."""

    def source(*_: str) -> None:
        raise error

    return source


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (raising(RuntimeError("secret")), "a RuntimeError"),
        (raising(NotSent("secret")), "a NotSent"),
    ],
    ids=["out of order", "an error of payerkit"],
)
def test_a_rate_source_that_raises_is_named(source: Any, kind: str) -> None:
    """Whoever reads the traceback of a check finds the function to correct, and its own
    error as the cause.
    """
    order = {
        "payee": PAYEE,
        "amount": "10",
        "invoice_currency": "USD",
        "payment_currency": "ETH-mainnet",
    }
    with pytest.raises(
        InvalidInput, match=f"rate_source: {kind} was raised for ETH-mainnet"
    ) as caught:
        check_payment(
            samples["honest"], order, policy=PaymentPolicy(rate_source=source)
        )

    assert kind == f"a {type(caught.value.__cause__).__name__}"
    assert "secret" not in str(caught.value)


def test_a_further_token_may_be_another_id_of_a_listed_one() -> None:
    """The service's newer ids name tokens that the list has under another id: they are
    the same currency.
    """
    policy = PaymentPolicy(
        tokens=[RENAMED_TOKEN],
        allowances=[
            AcceptedAllowance(token="USDC-sepolia", spender=FEE_PROXY, most="1000")
        ],
        rates={("fUSDC-sepolia", "EUR"): "0.9"},
    )
    listed = find_currency("fUSDC-sepolia")
    asked = [
        ("fUSDC-sepolia", FEE_PROXY.lower()),
        ("fUSDT-sepolia", FEE_PROXY),
        ("fUSDC-sepolia", FEES),
    ]
    accepted = [policy.accepts_allowance(*each, Decimal(1000)) for each in asked]

    assert (
        listed
        == policy.find_currency("usdc-sepolia")
        == policy.find_token("sepolia", TOKEN.lower())
    )
    assert [True, False, False] == accepted
    assert (
        Decimal("0.9")
        == policy.rate("USDC-sepolia", "eur")
        == policy.rate("fUSDC-sepolia", "EUR")
    )
    assert policy.rate("fUSDT-sepolia", "EUR") is None


def test_a_further_token_is_found_by_each_of_its_ids_and_its_address() -> None:
    """A token that the list does not have is known with its decimals and symbol;
    services rename tokens.
    """
    policy = PaymentPolicy(
        tokens=[NEW_TOKEN, NEW_TOKEN | {"id": "USDT-matic-new-matic"}]
    )
    found = policy.find_currency("usdt0-MATIC")

    assert found is not None
    assert ("USDT0", 6, "erc20") == (found.symbol, found.decimals, found.kind)
    assert (
        found
        == policy.find_token("matic", FEES.lower())
        == policy.find_currency("USDT-matic-new-matic")
    )
    assert policy.find_token("mainnet", FEES) is None


KNOWN_WALLETS = PaymentPolicy(addresses={PAYEE: "Example Payee"}, fees=[*POLICY.fees])


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (PAYEE[:6] + "1" * 32 + PAYEE[-4:], PAYEE),  # like one of the address book
        (FEES[:6] + "1" * 32 + FEES[-4:], FEES),  # like the wallet of an agreed fee
        (PAYEE, None),  # known itself
        (FEES.lower(), None),  # likewise
        (FEE_PROXY, None),  # like nobody
        (None, None),
    ],
)
def test_a_wallet_is_compared_with_all_that_the_policy_knows(
    address: str | None, expected: str | None
) -> None:
    """The address book and the recipients of agreed fees are known."""
    assert expected == KNOWN_WALLETS.lookalike(address)


def test_names_come_from_the_address_book_and_the_fees() -> None:
    """A wallet is called as the address book calls it; the recipient of a fee has at
    least the name of the fee.
    """
    names = [
        KNOWN_WALLETS.name_of(address, "sepolia")
        for address in (PAYEE.lower(), FEES, FEE_PROXY)
    ]

    assert ["Example Payee", 'The "protocol" fee of\x07 mine', None] == names


def test_a_policy_that_is_shown_names_nobody() -> None:
    """A notebook saves what a cell shows, and says if the address book has warnings;
    `print` shows all.
    """
    alike = PAYEE[:6] + "1" * 32 + PAYEE[-4:]

    assert "<PaymentPolicy: batch fee 0.3 %>" == repr(PaymentPolicy(batch_fee="0.3"))
    assert "<PaymentPolicy: none>" == repr(NO_POLICY)
    assert "<PaymentPolicy: a source of rates>" == repr(
        PaymentPolicy(rate_source=raising(RuntimeError()))
    )
    assert "<PaymentPolicy: an address book with warnings>" == repr(
        PaymentPolicy(addresses={PAYEE: "A", alike: "B"})
    )
    assert "Example Payee" not in repr(POLICY)
