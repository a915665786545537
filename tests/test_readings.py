"""The one value that a text can mean in a field, and the texts that must not be read."""

from __future__ import annotations

from typing import Any

import pytest

from payerkit.checks import readings
from payerkit.checks.readings import reading, use_label
from payerkit.checks.schema import BANK_DETAILS, PAYER, PAYMENT_ORDER, SCHEMAS
from payerkit.models.requests import Hidden
from published import PUBLISHED

US, GERMANY, BRITAIN, ITALY = ({"country": code} for code in ("US", "DE", "GB", "IT"))
IN_DOLLARS: dict[str, Any] = {"invoice_currency": "USD"}


@pytest.mark.parametrize(
    ("typed", "record", "expected"),
    [
        ("(212) 555-1234", US, "+12125551234"),
        ("212-555-1234", US, "+12125551234"),
        ("2125551234", US, "+12125551234"),
        ("12125551234", US, "+12125551234"),  # with the country code, without its +
        ("12125551234", {}, "+12125551234"),
        ("+1 (212) 555-1234", {}, "+12125551234"),
        ("0049 30 123456", US, "+4930123456"),  # 00 for +
        ("011 49 30 123456", US, "+4930123456"),  # 011 for +, from the US
        ("030 123456", GERMANY, "+4930123456"),
        ("+49 (0)30 123456", {}, "+4930123456"),  # the trunk prefix in brackets
        ("020 7946 0958", BRITAIN, "+442079460958"),
        ("06 6982 1234", ITALY, "+390669821234"),  # where the zero stays
        ("030 123456", {}, None),  # of any country
        ("2125551234", {}, None),
        ("555-1234", US, None),  # without the area code
        ("212 555 1234 ext 5", US, None),  # an extension cannot be sent
        ("1-800-FLOWERS", US, None),
        ("+12125551234", US, None),  # right already
        ("00", US, None),
        ("n/a", US, None),
    ],
)
def test_phone_numbers(typed: str, record: dict[str, Any], expected: str | None) -> None:
    """A phone number is read as it is written, or as one of the country, if that leaves one number that exists."""
    assert expected == reading(PAYER, "phone", typed, record)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("12/31/1985", "1985-12-31"),  # there is no month 31
        ("31/12/1985", "1985-12-31"),
        ("03/03/1985", "1985-03-03"),  # the same either way
        ("03.04.1985", "1985-04-03"),  # with dots, the day is first
        ("1985/12/31", "1985-12-31"),
        ("1985-1-5", "1985-01-05"),
        ("1985-31-12", "1985-12-31"),  # swapped
        ("19851231", "1985-12-31"),
        ("31 Dec 1985", "1985-12-31"),
        ("31-Dec-1985", "1985-12-31"),
        ("December 31, 1985", "1985-12-31"),
        ("3rd of March 1985", "1985-03-03"),
        ("1985-12-31 00:00:00", "1985-12-31"),  # as tables write it
        ("1985-12-31T00:00:00.000Z", "1985-12-31"),
        ("03/04/1985", None),  # in March or in April
        ("03-04-1985", None),
        ("31.12.85", None),  # of which century
        ("2/30/1985", None),  # no such day
        ("1985-02-30", None),
        ("31. Dezember 1985", "1985-12-31"),
        ("31 de diciembre de 1985", "1985-12-31"),
        ("1er août 1985", "1985-08-01"),
        ("12/31/1985 12:00:00 AM", "1985-12-31"),
        ("31.12.1985 0:00", "1985-12-31"),
        ("31. Prosince 1985", None),  # a language without a row
        ("12/31/1985 1:00", None),
        ("1985", None),
        ("31412", None),  # days since 1900 in one program, since 1904 in another
        ("1985-12-31 23:30:00", None),  # perhaps the next day elsewhere
        ("1985-12-31", None),  # right already
    ],
)
def test_dates(typed: str, expected: str | None) -> None:
    """A date is read if only one day can be meant."""
    assert expected == reading(PAYER, "date_of_birth", typed, {}) == reading(BANK_DETAILS, "date_of_birth", typed, {})


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("United States", "US"),
        ("usa", "US"),
        ("DEU", "DE"),  # as passports have it
        ("Deutschland", "DE"),
        ("cote d'ivoire", "CI"),
        ("UK", "GB"),
        ("Korea", None),  # two countries
        ("Guine", None),  # not a name, only part of one
        ("us", None),  # a code in small letters is one
        ("ZZ", None),
    ],
)
def test_countries(typed: str, expected: str | None) -> None:
    """A country is read by its whole name, an alias, or its three letters."""
    assert [expected] * 2 == [reading(PAYER, name, typed, {}) for name in ("country", "nationality")]


@pytest.mark.parametrize(
    ("typed", "record", "expected"),
    [
        ("1,000.50", IN_DOLLARS, "1000.50"),
        ("1.000,50", IN_DOLLARS, "1000.50"),
        ("1,000,000", IN_DOLLARS, "1000000"),  # two groups are no decimals
        ("1.234.567", IN_DOLLARS, "1234567"),
        ("1,50", IN_DOLLARS, "1.50"),  # two digits are no group
        ("1'000.50", IN_DOLLARS, "1000.50"),
        ("1 000,50", IN_DOLLARS, "1000.50"),
        ("1\u202f000,50", IN_DOLLARS, "1000.50"),  # as French programs write it
        ("12,34,567.00", IN_DOLLARS, "1234567.00"),  # lakhs
        ("$10", IN_DOLLARS, "10"),
        ("10 USD", IN_DOLLARS, "10"),
        ("usd 1,234.5", IN_DOLLARS, "1234.5"),
        ("1.234 USD", IN_DOLLARS, None),  # a thousand to many, and the API reads it as one
        ("+10", IN_DOLLARS, "10"),
        (".5", IN_DOLLARS, "0.5"),
        ("10.", IN_DOLLARS, "10"),
        ("10 EUR", IN_DOLLARS, None),  # another currency than that of the invoice
        ("€10", IN_DOLLARS, None),
        ("10 USD", {}, None),  # the currency is not known yet
        ("1,000", IN_DOLLARS, None),  # a thousand, or one
        ("1.000", IN_DOLLARS, None),  # a decimal number as it stands
        ("1,2,3", IN_DOLLARS, None),
        ("-10", IN_DOLLARS, None),
        ("1e3", IN_DOLLARS, None),
        ("$ 10 USD", IN_DOLLARS, None),
        ("0x10", IN_DOLLARS, None),
        ("10.50", IN_DOLLARS, None),  # right already
        ("ten", IN_DOLLARS, None),
    ],
)
def test_amounts(typed: str, record: dict[str, Any], expected: str | None) -> None:
    """An amount is read if its separators leave one number, in the currency of the invoice."""
    assert expected == reading(PAYMENT_ORDER, "amount", typed, record)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("Jane Doe <jane.doe@example.com>", "jane.doe@example.com"),
        ("<jane.doe@example.com>", "jane.doe@example.com"),
        ("mailto:jane.doe@example.com", "jane.doe@example.com"),
        ("jane.doe@example.com;", "jane.doe@example.com"),
        ("a@example.com, b@example.com", None),  # two
        ("A <a@example.com>, B <b@example.com>", None),
        ("jane.doe@example,com", None),
        ("jane.doe", None),
        ("jane.doe@example.com", None),  # right already
    ],
)
def test_emails(typed: str, expected: str | None) -> None:
    """An address is taken out of what mail programs put around it."""
    assert expected == reading(PAYER, "email", typed, {})


@pytest.mark.parametrize(
    ("name", "typed", "record", "expected"),
    [
        ("iban", "DE89 3704 0044 0532 0130 00", {}, "DE89370400440532013000"),
        ("iban", Hidden("DE89-3704"), {}, "DE893704"),  # a mistyped one is not mended
        ("iban", "DE89370400440532013000", {}, None),
        ("swift_bic", "DEUT DE FF", {}, "DEUTDEFF"),
        ("currency", "€", {}, "EUR"),
        ("currency", "US Dollar", {}, "USD"),
        ("currency", "RMB", {}, "CNY"),
        ("currency", "$", {}, None),  # of several countries
        ("currency", "usd", {}, None),
        ("rails", "SWIFT", {}, "swift"),
        ("rails", "SEPA", {}, "local"),
        ("rails", "fast", {}, None),
        ("account_type", "Savings account", {}, "savings"),
        ("beneficiary_type", "Company", {}, "business"),
        ("beneficiary_type", "individual", {}, None),
        ("routing_number", "26013356", {}, "026013356"),  # its check digit proves the lost zero
        ("routing_number", "26013357", {}, None),
        ("ifsc", "HDFCO000001", {}, "HDFC0000001"),  # the letter O, where only a zero can stand
        ("postal_code", "2138", US, "02138"),
        ("postal_code", "2138", {}, None),
        ("postal_code", "2138", {**US, "state": "MA"}, "02138"),
        ("postal_code", "1001", {**US, "state": "NY"}, None),  # 01001 is in Massachusetts: a digit of 10001 is missing
        ("state", "New York", US, "NY"),
        ("state", "New York", GERMANY, None),
        ("account_number", "1234 5678", {}, None),  # banks differ in what they take
        ("account_name", "doe, jane", {}, None),
        ("sort_code", "20 00 00", {}, None),
    ],
)
def test_bank_details(name: str, typed: Any, record: dict[str, Any], expected: str | None) -> None:
    """Codes, choices and numbers are read where only one value can be meant."""
    assert expected == reading(BANK_DETAILS, name, typed, record)


@pytest.mark.parametrize(
    ("name", "typed", "expected"),
    [
        ("payment_currency", "usdc polygon", "USDCn-matic"),
        ("payment_currency", "USDC on Base", "USDC-base"),
        ("payment_currency", "REQ", "REQ-mainnet"),
        ("payment_currency", "usdc", None),  # on many networks
        ("payment_currency", "USD", None),  # no token
        ("payment_currency", "eth-sepolia-sepolia", None),
        ("invoice_currency", "euro", "EUR"),
        ("payee", "6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7", "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"),
        ("payee", "6923831acf5c327260d7ac7c9dff5b1c3cb3c7d7", None),  # no checksum proves that it is an address
        ("payee", "vitalik.eth", None),  # payerkit asks no name service
        ("payee", "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D8", None),  # a typo is not mended
    ],
)
def test_orders(name: str, typed: str, expected: str | None) -> None:
    """Currencies are read by what people call them; an address only if its checksum proves it."""
    assert expected == reading(PAYMENT_ORDER, name, typed, {})


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@pytest.mark.parametrize(
    "value", [None, 5, 1.5, "", " ", "x" * 10_000, "\ud800", "••••", "<@>", "+", "0", "$", "'", "."]
)
def test_reading_never_fails(schema: Any, value: Any) -> None:
    """Any value of any field is read as nothing, or as something that can be sent."""
    found = {name: reading(schema, name, value, dict.fromkeys(schema.fields, value)) for name in schema.fields}

    assert {None} == set(found.values())


@pytest.mark.parametrize(
    ("kind", "schema"), [("payers", PAYER), ("bank_details", BANK_DETAILS), ("orders", PAYMENT_ORDER)]
)
def test_published_values_are_left_alone(kind: str, schema: Any) -> None:
    """The published examples mean what they say."""
    records = [{schema.names[name]: value for name, value in each.items()} for each in PUBLISHED[kind].values()]

    assert [] == [
        (name, read) for each in records for name in each if (read := reading(schema, name, each[name], each))
    ]


@pytest.mark.parametrize(
    ("schema", "name", "typed", "expected"),
    [
        (PAYER, "country", "usa", "Use US"),
        (BANK_DETAILS, "iban", "DE89 3704", "Use it without blanks"),
        (BANK_DETAILS, "routing_number", "26013356", "Use it with its leading zero"),
    ],
)
def test_labels(schema: Any, name: str, typed: str, expected: str) -> None:
    """A button says what it takes over, and repeats no secret."""
    read = reading(schema, name, typed, {})

    assert read is not None
    assert expected == use_label(schema, name, read)


def test_every_secret_that_is_read_has_a_label() -> None:
    """No secret can get onto a button by way of a reading."""
    of_secrets = {name for name in vars(readings)["_READERS"] if name in BANK_DETAILS.fields}

    assert vars(readings)["_SECRETLY"].keys() == {name for name in of_secrets if BANK_DETAILS.fields[name].is_secret}
