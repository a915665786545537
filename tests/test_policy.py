"""A policy: made in Python or read from a file that a person can read, and every mistake in it named."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from payerkit import InvalidInput, PaymentPolicy, check_payment, samples
from payerkit.errors import NotSent
from payerkit.onchain.currencies import find_currency
from payerkit.policy import AcceptedAllowance, AddressBook, AgreedFee, KnownAddress, payment_policy
from payerkit.policy.payment_policy import NO_POLICY

PAYEE = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
FEES = "0xfeE5000000000000000000000000000000000001"
PROXY = "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE"
TEST_USDC = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"  # listed as fUSDC-sepolia
NEW_TOKEN: dict[str, Any] = {"id": "USDT0-matic", "network": "matic", "address": FEES, "decimals": 6}

POLICY = PaymentPolicy(
    fees=(AgreedFee(address=FEES, max_percent=Decimal("0.1"), name='The "protocol" fee', max_amount="25.0"),),
    allowances=(
        AcceptedAllowance(token="fUSDC-sepolia", spender=PROXY, most=Decimal(1000)),
        AcceptedAllowance(token="fUSDT-sepolia", spender=PROXY),
    ),
    addresses=AddressBook(
        [
            KnownAddress(address=PAYEE, name="Example Payee é", network="sepolia"),
            KnownAddress(address=FEES, name="Everywhere"),
            KnownAddress(address=PROXY, name="On a chain without a name here", network="59144", role="operator"),
        ]
    ),
    rates={("ETH-sepolia-sepolia", "USD"): Decimal("2500.50"), ("A/B-matic", "USD"): Decimal("1E-7")},
    tokens=[NEW_TOKEN, NEW_TOKEN | {"id": "other-name-matic", "address": PAYEE, "symbol": "USDX"}],
    rate_tolerance=Decimal("0.5"),
    peg_tolerance=Decimal(1),
    batch_fee=Decimal("0.30"),
)

WRITTEN = """\
rate_tolerance = "0.5"
peg_tolerance = "1"
batch_fee = "0.3"

[[fees]]
address = "0xfeE5000000000000000000000000000000000001"
max_percent = "0.1"
max_amount = "25"
name = "The \\"protocol\\" fee"

[[allowances]]
token = "fUSDC-sepolia"
spender = "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE"
most = "1000"

[[allowances]]
token = "fUSDT-sepolia"
spender = "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE"
most = "unlimited"

[[addresses]]
address = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
name = "Example Payee é"
network = "sepolia"

[[addresses]]
address = "0xfeE5000000000000000000000000000000000001"
name = "Everywhere"

[[addresses]]
address = "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE"
name = "On a chain without a name here"
network = "59144"
role = "operator"

[[tokens]]
id = "USDT0-matic"
network = "matic"
address = "0xfeE5000000000000000000000000000000000001"
decimals = 6

[[tokens]]
id = "other-name-matic"
network = "matic"
address = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
decimals = 6
symbol = "USDX"

[rates]
"ETH-sepolia-sepolia/USD" = "2500.5"
"A/B-matic/USD" = "0.0000001"
"""


def read(folder: Path, text: str) -> PaymentPolicy:
    """Return the policy of a file with this text."""
    file = folder / "policy.toml"
    file.write_text(text, "utf-8")
    return PaymentPolicy.read(file)


def test_a_saved_policy_is_read_back(tmp_path: Path) -> None:
    """A file holds all that a policy has, and knows where it came from."""
    POLICY.save(tmp_path / "policy.toml")
    again = PaymentPolicy.read(str(tmp_path / "policy.toml"))

    assert again == POLICY
    assert str(tmp_path / "policy.toml") == again.source


def test_a_person_can_read_a_policy(tmp_path: Path) -> None:
    """A table has a member a line, so that lines can be added at the end of the file."""
    POLICY.save(tmp_path / "policy.toml")

    assert (tmp_path / "policy.toml").read_text("utf-8") == WRITTEN
    assert str(POLICY) == WRITTEN.rstrip()


def test_an_empty_policy_is_an_empty_file(tmp_path: Path) -> None:
    """A policy that agrees to nothing can be saved and read, too."""
    NO_POLICY.save(tmp_path / "policy.toml")

    assert PaymentPolicy.read(tmp_path / "policy.toml") == NO_POLICY
    assert NO_POLICY.addresses is None


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A missing folder is an InvalidInput, not an OSError."""
    with pytest.raises(InvalidInput, match="path: the file cannot be written"):
        POLICY.save(tmp_path / "missing" / "policy.toml")


@pytest.mark.parametrize(
    ("lines", "table", "members"),
    [
        (payment_policy.fee_line(FEES.lower(), "0.1"), "fees", {"address": FEES, "max_percent": "0.1"}),
        (
            payment_policy.allowance_line("fUSDC-sepolia", PROXY, None),
            "allowances",
            {"token": "fUSDC-sepolia", "spender": PROXY, "most": "unlimited"},
        ),
        (
            payment_policy.allowance_line("fUSDC-sepolia", PROXY, Decimal("1E+3")),
            "allowances",
            {"token": "fUSDC-sepolia", "spender": PROXY, "most": "1000"},
        ),
        (
            payment_policy.address_line(PAYEE, 'A "name" \\ of\x07 mine', "sepolia"),
            "addresses",
            {"address": PAYEE, "name": 'A "name" \\ of\\x07 mine', "network": "sepolia"},
        ),
        (payment_policy.token_line("USDT0-matic", "matic", FEES, 6), "tokens", NEW_TOKEN),
    ],
)
def test_the_lines_that_findings_tell_are_those_of_a_file(lines: str, table: str, members: dict[str, Any]) -> None:
    """Lines that a finding tells a user to add can be added at the end of a saved policy, as they are."""
    content = tomllib.loads(f"{WRITTEN}\n{lines}\n")

    assert members == content[table][-1]


def test_a_rate_is_a_table_of_its_own() -> None:
    """The line of a rate goes under [rates], which a file has once."""
    line = payment_policy.rate_line("ETH-sepolia-sepolia", "USD", Decimal(2500))

    assert {"rates": {"ETH-sepolia-sepolia/USD": "2500"}} == tomllib.loads(line)


def test_an_unfinished_line_is_refused(tmp_path: Path) -> None:
    """Where payerkit does not know the decimals of a token, its line cannot be used before a person fills them in."""
    with pytest.raises(InvalidInput, match=r"policy.toml: \[\[tokens\]\] 1: decimals: expected a number"):
        read(tmp_path, payment_policy.token_line("USDT0-matic", "matic", FEES, None))


def fee(**members: str) -> str:
    """Return the lines of a fee, with other members."""
    return "\n".join(
        ["[[fees]]", *(f"{name} = {value}" for name, value in {"address": f'"{FEES}"', **members}.items())]
    )


MISTAKES = [
    ("not TOML", "[[fees]", r"policy.toml: not valid TOML: .*line 1"),
    ("two tables of rates", "[rates]\n[rates]", r"not valid TOML: .*twice.* below one \[rates\]"),
    (
        "an unknown table",
        "[[fee]]\n",
        r"policy.toml: fee: not a member of a policy. There are rate_tolerance, .*\[\[fees",
    ),
    ("a table in place of tables", '[fees]\naddress = "x"', r"fees: expected tables. Write \[\[fees\]\]"),
    ("a list of texts", 'fees = ["x"]', "fees: expected tables"),
    ("no address", '[[fees]]\nmax_percent = "1"', r"\[\[fees\]\] 1: address: missing"),
    (
        "a short address",
        '[[fees]]\naddress = "0x12"\nmax_percent = "1"',
        r"\[\[fees\]\] 1: address: expected an address",
    ),
    ("a mistyped address", fee(max_percent='"1"').replace("feE5", "FeE5"), r"1: address: the capital letters"),
    ("no percentage", fee(), r"\[\[fees\]\] 1: max_percent: missing"),
    ("a fee that no one agrees to", fee(max_percent='"20.01"'), "1: max_percent: expected a percentage from 0 to 20"),
    ("a fee of no amount", fee(max_percent='"1"', max_amount='"0"'), "1: max_amount: expected a positive number"),
    ("a rate tolerance above 20", 'rate_tolerance = "20.000001"', "rate_tolerance: expected a percentage from 0 to 20"),
    ("a peg tolerance above 20", "peg_tolerance = 21", "peg_tolerance: expected a percentage from 0 to 20"),
    ("a batch fee above 20", 'batch_fee = "100"', "batch_fee: expected a percentage from 0 to 20"),
    ("an exponent", 'peg_tolerance = "1e1"', "peg_tolerance: expected a percentage"),  # it would be 10, not 1
    ("a sign", 'batch_fee = "+1"', "batch_fee: expected a percentage"),
    ("a minus", 'batch_fee = "-0"', "batch_fee: expected a percentage"),
    ("an underscore", fee(max_percent='"1_0"'), "max_percent: expected a percentage"),  # Python reads 10
    ("digits of another script", 'rate_tolerance = "\uff11"', "rate_tolerance: expected a percentage"),
    ("no digit before the point", 'rate_tolerance = ".5"', "rate_tolerance: expected a percentage"),
    ("a percentage that is none", "batch_fee = nan", "batch_fee: expected a percentage"),
    (
        "a setting below a table",
        fee(max_percent="1", batch_fee='"0.3"'),
        r"\[\[fees\]\] 1: batch_fee: not a member. Move its line to the top of the file",
    ),
    (
        "a setting below a token",
        payment_policy.token_line(**NEW_TOKEN) + '\npeg_tolerance = "1"',
        "Move its line to the top",
    ),
    ("a setting below the rates", '[rates]\n"A/USD" = "1"\nbatch_fee = "0.3"', r"\[rates\]: batch_fee: .* to the top"),
    (
        "a rate twice",
        '[rates]\n"A/USD" = "1"\n"a/usd" = "2"',
        "policy.toml: rates: entry 2 is about the same as entry 1",
    ),
    (
        "a token with two numbers of decimals",
        payment_policy.token_line("X-matic", "matic", FEES, 6)
        + "\n"
        + payment_policy.token_line("Y-matic", "matic", FEES, 18),
        "tokens: entry 2 has an address of another entry",
    ),
    (
        "a token of two networks",
        payment_policy.token_line("X-matic", "sepolia", FEES, 6),
        r"\[\[tokens\]\] 1: network: the id ends with matic",
    ),
    ("an address book without a name", 'address_book = "a\\u0000b"', r"a\\x00b is no name of a file"),
    ("a huge number", "batch_fee = " + "9" * 5000, "a number of too many digits"),
    ("a name that is none", fee(max_percent="1", name="7"), r"\[\[fees\]\] 1: name: expected text, got an int"),
    ("a fee twice", f"{fee(max_percent='1')}\n{fee(max_percent='2')}", "policy.toml: fees: entry 2 .* as entry 1"),
    (
        "a token twice",
        payment_policy.token_line("X-matic", "matic", FEES, 6)
        + "\n"
        + payment_policy.token_line("x-matic", "matic", PAYEE, 6),
        "policy.toml: tokens: entry 2 is about the same as entry 1",
    ),
    (
        "an allowance without a limit by mistake",
        f'[[allowances]]\ntoken = "fUSDC-sepolia"\nspender = "{PROXY}"',
        r"\[\[allowances\]\] 1: most: missing",
    ),
    (
        "an allowance in words",
        f'[[allowances]]\ntoken = "fUSDC-sepolia"\nspender = "{PROXY}"\nmost = "all"',
        'most: expected a positive number, such as "1000", or "unlimited"',
    ),
    ("a network by another name", f'[[addresses]]\naddress = "{PAYEE}"\nnetwork = "polygon"', r"1: network: expected"),
    (
        "a token without decimals",
        '[[tokens]]\nid = "X-matic"\nnetwork = "matic"\naddress = "0x"',
        "1: decimals: missing",
    ),
    (
        "a token with a rate",
        payment_policy.token_line(**NEW_TOKEN) + "\nrate = 1",
        r"\[\[tokens\]\] 1: rate: not a member",
    ),
    ("a token of nowhere", payment_policy.token_line("X", "nowhere", FEES, 6), r"\[\[tokens\]\] 1: network: expected"),
    (
        "a listed token with other decimals",  # amounts would be wrong by a million million
        payment_policy.token_line("USDC-sepolia", "sepolia", TEST_USDC, 18),
        r"\[\[tokens\]\] 1: decimals: the token list has 6 for this address, as fUSDC-sepolia",
    ),
    (
        "the id of another token",
        payment_policy.token_line("fUSDT-sepolia", "sepolia", FEES, 6),
        r"\[\[tokens\]\] 1: id: in the token list, fUSDT-sepolia is another token",
    ),
    (
        "an id with a Cyrillic letter",
        payment_policy.token_line("fUSD\u0421-sepolia", "sepolia", FEES, 6),
        r"\[\[tokens\]\] 1: id: expected printable ASCII characters",
    ),
    (
        "an id with an invisible character",
        '[[tokens]]\nid = "fUSDC\\u200b-sepolia"\nnetwork = "sepolia"\naddress = "0x12"\ndecimals = 6',
        r"\[\[tokens\]\] 1: id: expected printable ASCII characters",
    ),
    (
        "an id with a capital I for an l",
        payment_policy.token_line("fUSDC-sepoIia", "sepolia", FEES, 6),
        r"\[\[tokens\]\] 1: id: it looks like fUSDC-sepolia, but is another id",
    ),
    (
        "an id with a small l for an I",
        payment_policy.token_line("DAl-mainnet", "mainnet", FEES, 18),
        r"1: id: it looks like DAI-mainnet, but is another id",
    ),
    (
        "an id with an O for a 0",
        payment_policy.token_line("USDTO-arbitrum-one", "arbitrum-one", FEES, 6),
        r"1: id: it looks like USDT0-arbitrum-one, but is another id",
    ),
    (
        "an id of newer documents at another address",
        payment_policy.token_line("USDC-sepolia", "sepolia", FEES, 6),
        r"1: id: in the token list, fUSDC-sepolia is another token",
    ),
    (
        "a role of nobody",
        f'[[addresses]]\naddress = "{PAYEE}"\nrole = "supplier"',
        r'policy.toml: \[\[addresses\]\] 1: role: expected "payee" or "operator"',
    ),
    (
        "where an address was read",
        f'[[addresses]]\naddress = "{PAYEE}"\nsource = "somewhere"',
        r"\[\[addresses\]\] 1: source: not a member. There are address, name, network, role",
    ),
    (
        "a name with two addresses",
        f"{payment_policy.address_line(PAYEE, 'A')}\n{payment_policy.address_line(FEES, 'a ', 'sepolia')}",
        r"policy.toml: addresses: \[\[addresses\]\] 1 and \[\[addresses\]\] 2 have one name",
    ),
    (
        "a rate by two ids of a token",
        '[rates]\n"fUSDC-sepolia/USD" = "1"\n"USDC-sepolia/USD" = "2"',
        "policy.toml: rates: entry 2 is about the same as entry 1",
    ),
    ("a rate of one currency", '[rates]\nUSD = "1"', r"\[rates\]: USD: expected a rate, such as \"ETH-sepolia"),
    ("a dotted rate", 'rates.ETH.USD = "1"', r"\[rates\]: ETH: expected a rate"),
    ("rates in a list", "rates = [1]", r"rates: expected a table. Write \[rates\]"),
    ("a rate of nothing", '[rates]\n"A/USD" = "0"', "policy.toml: rates: A/USD: give a positive number"),
    ("a rate in other digits", '[rates]\n"A/USD" = "\uff11"', "policy.toml: rates: A/USD: give a positive number"),
    ("a tolerance in words", 'peg_tolerance = "little"', "policy.toml: peg_tolerance: expected a percentage"),
    ("an address book in a list", "address_book = []", "policy.toml: address_book: expected the path of a CSV file"),
    ("no such address book", 'address_book = "none.csv"', "policy.toml: address_book: none.csv cannot be read"),
    ("text that steers a terminal", '"\\u001b[8m" = 1', r"policy.toml: \\x1b\[8m: not a member"),
]


@pytest.mark.parametrize(("text", "message"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES])
def test_every_mistake_in_a_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    """An InvalidInput names the file, the table and the member."""
    with pytest.raises(InvalidInput, match=message):
        read(tmp_path, text)


@pytest.mark.parametrize(("content", "message"), [(None, "cannot be read"), (b"\xff\xfe", "not valid UTF-8")])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    """A missing file, and one in another encoding, are InvalidInput."""
    file = tmp_path / "policy.toml"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(InvalidInput, match=f"policy.toml: .*{message}"):
        PaymentPolicy.read(file)


def test_numbers_may_be_numbers_or_text(tmp_path: Path) -> None:
    """A number of TOML is read as it was written, not as a float."""
    found = read(tmp_path, f'batch_fee = 0.30\n{fee(max_percent="0.1")}\n[rates]\n"A/USD" = 0.1\n"B/USD" = 2500')

    assert Decimal("0.30") == found.batch_fee
    assert Decimal("0.1") == found.fees[0].max_percent == found.rate("A", "USD")
    assert Decimal(2500) == found.rate("b", "usd")


def test_the_address_book_may_be_a_file_of_its_own(tmp_path: Path) -> None:
    """The path counts from the folder of the policy, and the policy's own addresses are added."""
    (tmp_path / "addresses.csv").write_text(f"address,name,chainId\n{PAYEE},Example Payee,11155111\n", "utf-8")
    found = read(tmp_path, f'address_book = "addresses.csv"\n[[addresses]]\naddress = "{FEES}"\nname = "Own"\n')

    assert found.addresses is not None
    assert ["Example Payee", "Own"] == [each.name for each in found.addresses]


def test_names_are_compared_across_the_address_book_and_the_policy(tmp_path: Path) -> None:
    """One name with two addresses is refused, wherever the two stand, and both places are named."""
    (tmp_path / "book.csv").write_text(f"address,name,chainId\n\n{PAYEE},Example Payee,11155111\n", "utf-8")
    policy = f'address_book = "book.csv"\n{payment_policy.address_line(FEES, "Example Payee", "sepolia")}'

    with pytest.raises(InvalidInput, match=r"policy.toml: addresses: book.csv, row 3 and \[\[addresses\]\] 1 have one"):
        read(tmp_path, policy)


def test_a_policy_says_that_its_address_book_has_warnings(tmp_path: Path) -> None:
    """Whoever reads it in a notebook sees that there is something to look at."""
    alike = PAYEE[:6] + "1" * 32 + PAYEE[-4:]
    policy = read(
        tmp_path, f"{payment_policy.address_line(PAYEE, 'A')}\n{payment_policy.address_line(alike.lower(), 'B')}"
    )

    assert "<PaymentPolicy: an address book with warnings>" == repr(policy)


def test_a_policy_without_addresses_has_no_address_book(tmp_path: Path) -> None:
    """Only a given address book makes payees new."""
    assert read(tmp_path, "").addresses is None
    assert read(tmp_path, "addresses = []").addresses == AddressBook()


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"fees": [{"address": FEES}]}, "fees: expected AgreedFee objects; got a dict"),
        (
            {"fees": AgreedFee(address=FEES, max_percent="1")},
            "fees: expected a list of AgreedFee objects",
        ),
        ({"allowances": 5}, "allowances: expected a list of AcceptedAllowance objects; got an int"),
        ({"rates": {"ETH/USD": "1"}}, r'rates: expected pairs of ids.*such as \("ETH-sepolia-sepolia", "USD"\)'),
        ({"rates": {("A", "USD"): 1.5}}, "rates: A/USD: give a positive number"),
        ({"tokens": ["USDC"]}, "tokens: expected dicts with id"),
        ({"addresses": 5}, "addresses: give a path, a DataFrame or a dict"),
        ({"rates": {("A", "USD"): 1, ("a", "usd"): 2}}, "rates: entry 2 is about the same as entry 1"),
        ({"peg_tolerance": True}, "peg_tolerance: expected a percentage"),
    ],
)
def test_a_policy_made_in_python_is_checked_as_well(members: dict[str, Any], message: str) -> None:
    """A wrong member is refused when the policy is made, not when a payment is checked."""
    with pytest.raises(InvalidInput, match=message):
        PaymentPolicy(**members)


def test_a_rate_source_is_asked_last() -> None:
    """A rate by hand wins; a source may know none, and what it returns is checked."""
    known: dict[Any, Any] = {("ETH-mainnet", "USD"): 2500, ("ETH-mainnet", "EUR"): 2300.5}
    policy = PaymentPolicy(rates={("ETH-mainnet", "USD"): Decimal(2400)}, rate_source=lambda *ids: known.get(ids))

    assert Decimal(2400) == policy.rate("ETH-mainnet", "USD")
    assert policy.rate("ETH-mainnet", "GBP") is None
    with pytest.raises(InvalidInput, match="rate_source: give a positive number"):
        policy.rate("ETH-mainnet", "EUR")


RAISING: list[tuple[str, Any, str]] = [
    (
        "a source that is out of order",
        RuntimeError("secret"),
        "rate_source: a RuntimeError was raised for ETH-mainnet",
    ),
    ("a pair that it does not have", KeyError("ETH-mainnet"), "rate_source: a KeyError was raised"),
    ("a service that fails", NotSent("GET /rates could not be sent."), "rate_source: a NotSent was raised"),
    ("a division by zero", ZeroDivisionError(), "rate_source: a ZeroDivisionError was raised"),
]


@pytest.mark.parametrize(("raised", "message"), [row[1:] for row in RAISING], ids=[row[0] for row in RAISING])
def test_a_rate_source_that_raises_is_named(raised: Exception, message: str) -> None:
    """Whoever reads the traceback of a check finds the function to correct, and its own error as the cause."""

    def source(*_: str) -> None:
        raise raised

    order = {"payee": PAYEE, "amount": "10", "invoice_currency": "USD", "payment_currency": "ETH-mainnet"}
    with pytest.raises(InvalidInput, match=message) as caught:
        check_payment(samples["honest"], order, policy=PaymentPolicy(rate_source=source))

    assert raised is caught.value.__cause__
    assert "secret" not in str(caught.value)


def test_what_is_no_function_is_no_rate_source() -> None:
    """It fails when it is asked, and is named as well."""
    source: Any = {"ETH-mainnet": 2500}

    with pytest.raises(InvalidInput, match="rate_source: a TypeError was raised"):
        PaymentPolicy(rate_source=source).rate("ETH-mainnet", "USD")


@pytest.mark.parametrize("name", ["rate_tolerance", "peg_tolerance", "batch_fee"])
def test_a_policy_can_agree_to_twenty_percent(name: str) -> None:
    """It is the most; anything above is hardly meant, and has to be corrected instead."""
    most: dict[str, Any] = {name: 20}
    more: dict[str, Any] = {name: "20.1"}

    assert {name: Decimal(20)} == PaymentPolicy(**most).percentages
    with pytest.raises(InvalidInput, match=f"{name}: expected a percentage from 0 to 20"):
        PaymentPolicy(**more)


def test_a_further_token_may_be_another_id_of_a_listed_one() -> None:
    """The service's newer ids name tokens that the list has under another id: they are the same currency."""
    policy = PaymentPolicy(tokens=[{"id": "USDC-sepolia", "network": "sepolia", "address": TEST_USDC, "decimals": 6}])
    listed = find_currency("fUSDC-sepolia")

    assert listed == policy.find_currency("usdc-sepolia") == policy.find_token("sepolia", TEST_USDC.lower())


def test_a_further_token_may_have_two_ids() -> None:
    """Services rename tokens: both ids are the token at the address."""
    policy = PaymentPolicy(tokens=[NEW_TOKEN, NEW_TOKEN | {"id": "USDT-matic-new-matic"}])

    assert policy.find_currency("USDT-matic-new-matic") == policy.find_currency("USDT0-matic")
    assert policy.find_token("matic", FEES) == policy.find_currency("USDT0-matic")


def test_a_further_token_is_found_by_id_and_address() -> None:
    """A token that the list does not have is known with its decimals and symbol."""
    found = POLICY.find_currency("usdt0-MATIC")

    assert found is not None
    assert ("USDT0", 6, "erc20") == (found.symbol, found.decimals, found.kind)
    assert found == POLICY.find_token("matic", FEES.lower())
    assert POLICY.find_token("mainnet", FEES) is None


def test_an_accepted_allowance_is_found_by_any_id_of_its_token() -> None:
    """An allowance is accepted for a token, whichever of its ids the policy uses."""
    policy = PaymentPolicy(
        tokens=[{"id": "USDC-sepolia", "network": "sepolia", "address": TEST_USDC, "decimals": 6}],
        allowances=[AcceptedAllowance(token="USDC-sepolia", spender=PROXY, most="1000")],
    )

    assert policy.allowances[0] == policy.accepted_allowance("fUSDC-sepolia", PROXY.lower())
    assert policy.accepted_allowance("fUSDT-sepolia", PROXY) is None
    assert policy.accepted_allowance("fUSDC-sepolia", FEES) is None


def test_a_rate_holds_for_all_ids_of_a_token() -> None:
    """An id of newer documents is the same currency, so a rate by either id is its rate."""
    policy = PaymentPolicy(rates={("fUSDC-sepolia", "EUR"): "0.9"})

    assert Decimal("0.9") == policy.rate("USDC-sepolia", "eur") == policy.rate("fUSDC-sepolia", "EUR")
    assert policy.rate("fUSDT-sepolia", "EUR") is None


KNOWN_WALLETS = PaymentPolicy(addresses={PAYEE: "A"}, fees=[AgreedFee(address=PROXY, max_percent=1)])


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (PAYEE[:6] + "1" * 32 + PAYEE[-4:], PAYEE),  # like one of the address book
        (PROXY[:6] + "1" * 32 + PROXY[-4:], PROXY),  # like the wallet of an agreed fee
        (PAYEE, None),  # known itself
        (PROXY.lower(), None),  # likewise
        (FEES, None),  # like nobody
        (None, None),
    ],
)
def test_a_wallet_is_compared_with_all_that_the_policy_knows(address: str | None, expected: str | None) -> None:
    """The address book and the recipients of agreed fees are known."""
    assert expected == KNOWN_WALLETS.lookalike(address)


def test_names_come_from_the_address_book_and_the_fees() -> None:
    """A wallet is called as the address book calls it; the recipient of a fee has at least the name of the fee."""
    policy = PaymentPolicy(fees=POLICY.fees, addresses={PAYEE: "Example Payee"})

    assert ("Example Payee", 'The "protocol" fee', None) == tuple(
        policy.name_of(address, "sepolia") for address in (PAYEE.lower(), FEES, PROXY)
    )


def test_a_policy_that_is_shown_names_nobody() -> None:
    """A notebook saves what a cell shows; `print` shows all, for a person who asks for it."""
    assert "<PaymentPolicy: batch fee 0.3 %>" == repr(PaymentPolicy(batch_fee="0.3"))
    assert "<PaymentPolicy: none>" == repr(PaymentPolicy())
    assert "Example Payee" not in repr(POLICY)
