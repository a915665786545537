"""The one value that a text can mean in a field, and the texts that must not be
read.
"""

from __future__ import annotations

from typing import Any

import pytest

from cases import table
from payerkit.checks import readings
from payerkit.checks.readings import reading, use_label
from payerkit.models.fields import fields_of, names_of
from payerkit.models.formats import Hidden
from payerkit.models.requests import SPECIFIED, BankDetails, Payer, PaymentOrder
from published import PUBLISHED

US, GERMANY, BRITAIN, ITALY = ({"country": code} for code in ("US", "DE", "GB", "IT"))


@table("read_phones")
def test_phone_numbers(
    typed: str, record: dict[str, Any], expected: str | None
) -> None:
    """A phone number is read as it is written, or as one of the country, if that leaves
    one number that exists.
    """
    assert expected == reading(Payer, "phone", typed, record)


@table("read_dates")
def test_dates(typed: str, expected: str | None) -> None:
    """A date is read if only one day can be meant."""
    assert (
        expected
        == reading(Payer, "date_of_birth", typed, {})
        == reading(BankDetails, "date_of_birth", typed, {})
    )


@table("read_countries")
def test_countries(typed: str, expected: str | None) -> None:
    """A country is read by its whole name, an alias, or its three letters."""
    assert [expected] * 2 == [
        reading(Payer, name, typed, {}) for name in ("country", "nationality")
    ]


@table("read_amounts")
def test_amounts(typed: str, record: dict[str, Any], expected: str | None) -> None:
    """An amount is read if its separators leave one number."""
    assert expected == reading(PaymentOrder, "amount", typed, record)


@table("read_emails")
def test_emails(typed: str, expected: str | None) -> None:
    """An address is taken out of what mail programs put around it."""
    assert expected == reading(Payer, "email", typed, {})


@table("read_bank_details")
def test_bank_details(
    name: str, typed: str, record: dict[str, Any], expected: str | None
) -> None:
    """Codes, choices and numbers are read where only one value can be meant, also of a
    masked type.
    """
    assert [expected] * 2 == [
        reading(BankDetails, name, value, record) for value in (typed, Hidden(typed))
    ]


@table("read_orders")
def test_orders(name: str, typed: str, expected: str | None) -> None:
    """Currencies are read by what people call them; a typo is not mended."""
    assert expected == reading(PaymentOrder, name, typed, {})


@pytest.mark.parametrize("schema", SPECIFIED, ids=lambda model: model.__name__)
@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        1.5,
        "",
        " ",
        "x" * 10_000,
        "\ud800",
        "••••",
        "<@>",
        "+",
        "0",
        "$",
        "'",
        ".",
    ],
)
def test_reading_never_fails(schema: Any, value: Any) -> None:
    """Any value of any field is read as nothing, or as something that can be sent."""
    found = {
        name: reading(schema, name, value, dict.fromkeys(fields_of(schema), value))
        for name in fields_of(schema)
    }

    assert {None} == set(found.values())


@pytest.mark.parametrize(
    ("kind", "schema"),
    [("payers", Payer), ("bank_details", BankDetails), ("orders", PaymentOrder)],
)
def test_published_values_are_left_alone(kind: str, schema: Any) -> None:
    """The published examples mean what they say."""
    records = [
        {names_of(schema)[name]: value for name, value in each.items()}
        for each in PUBLISHED[kind].values()
    ]

    assert [] == [
        (name, read)
        for each in records
        for name in each
        if (read := reading(schema, name, each[name], each))
    ]


@pytest.mark.parametrize(
    ("schema", "name", "typed", "expected"),
    [
        (Payer, "country", "usa", "Use US"),
        (BankDetails, "iban", "DE89 3704", "Use it without blanks"),
        (BankDetails, "routing_number", "26013356", "Use it with its leading zero"),
    ],
)
def test_labels(schema: Any, name: str, typed: str, expected: str) -> None:
    """A button says what it takes over, and repeats no secret."""
    read = reading(schema, name, typed, {})

    assert read is not None
    assert expected == use_label(schema, name, read)


def test_every_secret_that_is_read_has_a_label() -> None:
    """No secret can get onto a button by way of a reading."""
    of_secrets = {
        name for name in vars(readings)["_READERS"] if name in fields_of(BankDetails)
    }

    assert vars(readings)["_SECRETLY"].keys() == {
        name for name in of_secrets if fields_of(BankDetails)[name].is_secret
    }
