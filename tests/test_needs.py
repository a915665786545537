"""What a currency needs on its rails, in words and as the fields that a form shows."""

from __future__ import annotations

import pytest

from cases import table
from payerkit.checks.requirements import (
    REQUIREMENTS,
    USUAL_FIELDS,
    asked_fields,
    listed_rails,
    needs_text,
)
from payerkit.models.fields import fields_of
from payerkit.models.formats import RAILS
from payerkit.models.requests import SPECIFIED, BankDetails, Payer

ROUTES = [*REQUIREMENTS]


@table("needs")
def test_needs_in_words(currency: str, rails: str | None, expected: str) -> None:
    """A sentence says what an account needs, or why nothing can be said."""
    assert expected == needs_text(currency, rails)


@pytest.mark.parametrize(("currency", "rails"), ROUTES)
def test_every_need_is_asked_for(currency: str, rails: str) -> None:
    """Each field that a currency needs is shown and named, and an account has a number
    wherever it is.
    """
    needs = REQUIREMENTS[currency, rails].needs
    asked = asked_fields(currency, rails)
    titles = [
        fields_of(BankDetails)[name].title.lower()
        for group in needs or ()
        for name in group
    ]

    assert {"account_number", "iban"} & {*asked}
    assert {name for group in needs or () for name in group} <= {*asked}
    assert [] == [
        title for title in titles if title not in needs_text(currency, rails).lower()
    ]


@pytest.mark.parametrize(
    ("currency", "expected"),
    [
        ("TRY", USUAL_FIELDS),
        ("KES", USUAL_FIELDS),
        ("CLP", ("account_number", "document_type", "document_number")),
        ("", ()),
    ],
)
def test_what_an_unknown_currency_shows(
    currency: str, expected: tuple[str, ...]
) -> None:
    """Without published requirements, the usual fields are shown, and the others stay
    behind.
    """
    assert expected == asked_fields(currency, None)


@pytest.mark.parametrize(
    ("currency", "expected"),
    [
        ("USD", ("local", "swift", "wire")),
        ("gbp", ("local", "swift")),
        ("INR", ("swift",)),
        ("TRY", ()),
        ("", ()),
    ],
)
def test_listed_rails(currency: str, expected: tuple[str, ...]) -> None:
    """The rails that the service lists follow the currency, the usual ones first."""
    assert expected == listed_rails(currency)


def test_options_have_words() -> None:
    """Each choice of a form has words for all of its options, and the rails say what
    they are.
    """
    fields = [
        field
        for schema in SPECIFIED
        for field in fields_of(schema).values()
        if field.options
    ]

    assert [len(field.options) for field in fields] == [
        len(field.option_titles) for field in fields
    ]
    assert RAILS == tuple(
        title.partition(":")[0].lower()
        for title in fields_of(BankDetails)["rails"].option_titles
    )


@pytest.mark.parametrize(
    ("name", "holder", "title"),
    [
        ("ssn", "individual", "Social security number"),
        ("ssn", "business", "Registration or tax number"),
        ("date_of_birth", "business", "Date of incorporation"),
        ("date_of_birth", "", "Date of birth"),  # not known yet
        ("city", "business", "City"),
    ],
)
def test_titles_follow_the_type(name: str, holder: str, title: str) -> None:
    """A company is not asked for its birthday."""
    assert title == fields_of(Payer)[name].title_for(holder)


def test_fields_of_companies() -> None:
    """A person is not asked what the company does."""
    of_business = {
        name
        for name, field in fields_of(Payer).items()
        if field.applies_to == "business"
    }

    assert {"company_name", "source_of_funds", "business_activity"} == of_business


def test_full_help_has_both() -> None:
    """Documents that do not know the type have the help for people and companies."""
    assert (
        "For a business: the day on which the company was registered."
        in fields_of(Payer)["date_of_birth"].full_help
    )
    assert fields_of(Payer)["company_name"].full_help.startswith(
        "For a business: its full name"
    )
    assert fields_of(Payer)["city"].help == fields_of(Payer)["city"].full_help
