"""What a bank account in a currency needs on its rails."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from decimal import Decimal
from functools import cache, lru_cache
from itertools import chain

from payerkit._tsv import rows
from payerkit.checks.banks import (
    country_of_bic,
    country_of_iban,
    like_iban,
    share_banks,
)
from payerkit.checks.places import countries, fiat_currencies
from payerkit.checks.rules import Words, rule
from payerkit.checks.texts import compact, upper_code
from payerkit.models.fields import fields_of
from payerkit.models.formats import RAILS
from payerkit.models.requests import BankDetails
from payerkit.wording import listed


@dataclass(frozen=True, slots=True)
class NumberForm:
    """The usual form of a number: how many digits, or letters and digits, it has
    without blanks and hyphens.
    """

    least: int
    most: int
    has_letters: bool = False

    def __str__(self) -> str:
        length = str(self.least)
        if self.most != self.least:
            length = f"{self.least}-{self.most}"
        return f"{length} {'letters or digits' if self.has_letters else 'digits'}"

    def matches(self, value: str) -> bool:
        """Return True if a value has this form; dots do not count, either."""
        number = compact(value).replace(".", "")
        characters = "[0-9A-Z]" if self.has_letters else "[0-9]"
        is_right = re.fullmatch(f"{characters}+", number) is not None
        return is_right and self.least <= len(number) <= self.most


_OPERATOR = "operator's documentation"
_AIRWALLEX = f"{_OPERATOR}; Airwallex payout network"


@dataclass(frozen=True, slots=True)
class Requirement:
    """What an account in a currency needs on one kind of rails, beyond what the
    specification requires.

    needs: groups of fields, at least one of each is needed; None if nothing is
    published. also: identifiers that may stand beside them. forms: of numbers, by
    field.
    """

    currency: str
    rails: str
    needs: tuple[tuple[str, ...], ...] | None
    basis: str = _OPERATOR
    also: frozenset[str] = frozenset()
    forms: Mapping[str, NumberForm] = dataclass_field(default_factory=dict)

    @property
    def identifiers(self) -> frozenset[str]:
        """All fields that are needed, may stand beside these, or have a form."""
        return self.also.union(self.forms, *(self.needs or ()))


def _each(*names: str) -> tuple[tuple[str, ...], ...]:
    """Return the groups of fields that are all needed."""
    return tuple((name,) for name in names)


_ACCOUNT = NumberForm(6, 25)
_OF_ACCOUNT = {"account_number": _ACCOUNT}
_IBAN_AND_BIC = _each("iban", "swift_bic")
_ACCOUNT_AND_BIC = _each("account_number", "swift_bic")
_DOCUMENT = _each("document_type", "document_number")

_UNPUBLISHED = "KES GHS UGX MZN BOB CRC DOP GTQ HNL PYG UYU ZWL SEK"
"""Currencies that are paid out over local rails, and whose needs are not published."""

_TABLE = (
    Requirement(
        "USD",
        "local",
        _each("account_number", "routing_number"),
        forms={"account_number": NumberForm(6, 17, has_letters=True)},
    ),
    Requirement(
        "USD",
        "wire",
        _each("account_number", "routing_number"),
        _AIRWALLEX,
        forms={"account_number": NumberForm(6, 26, has_letters=True)},
    ),
    Requirement(
        "USD",
        "swift",
        (("swift_bic",), ("iban", "account_number")),
        "Request Network's easy-invoice; Lightspark grid-api",
        also=frozenset({"routing_number"}),
        forms={"account_number": NumberForm(6, 25, has_letters=True)},
    ),
    Requirement("EUR", "local", _each("iban"), also=frozenset({"rib_number"})),
    Requirement("EUR", "swift", _IBAN_AND_BIC),
    Requirement(
        "GBP",
        "local",
        (("sort_code", "iban"), ("account_number", "iban")),
        "OpenAPI example of the service; Wise, Tazapay",
        forms={"account_number": NumberForm(6, 10)},
    ),
    Requirement("GBP", "swift", _IBAN_AND_BIC),
    Requirement(
        "INR",
        "swift",
        _each("account_number", "swift_bic", "ifsc"),
        forms=_OF_ACCOUNT,
    ),
    Requirement(
        "AUD",
        "swift",
        _each("account_number", "swift_bic", "bsb_number"),
        _AIRWALLEX,
        forms={"account_number": NumberForm(4, 25)},
    ),
    Requirement(
        "NZD",
        "swift",
        _each("account_number", "swift_bic", "ncc"),
        forms=_OF_ACCOUNT,
    ),
    Requirement(
        "CAD",
        "swift",
        _each("account_number", "swift_bic", "bank_code", "branch_code"),
        _AIRWALLEX,
        forms={
            "account_number": NumberForm(7, 21),
            "bank_code": NumberForm(3, 3),
            "branch_code": NumberForm(5, 5),
        },
    ),
    Requirement("CHF", "swift", _IBAN_AND_BIC),
    Requirement("AED", "swift", _IBAN_AND_BIC),
    Requirement("PLN", "swift", _IBAN_AND_BIC),
    Requirement(
        "JPY",
        "swift",
        _ACCOUNT_AND_BIC,
        _AIRWALLEX,
        forms={
            "account_number": _ACCOUNT,
            "bank_code": NumberForm(4, 4),
            "branch_code": NumberForm(3, 3),
        },
    ),
    *(
        Requirement(currency, "swift", _ACCOUNT_AND_BIC, forms=_OF_ACCOUNT)
        for currency in ("SGD", "CNY", "THB", "PHP", "MYR")
    ),
    Requirement(
        "HKD",
        "swift",
        _each("account_number", "swift_bic", "bank_code"),
        _AIRWALLEX,
        forms={"account_number": _ACCOUNT, "bank_code": NumberForm(3, 3)},
    ),
    Requirement(
        "IDR",
        "swift",
        _each("account_number", "swift_bic", "bank_code"),
        forms=_OF_ACCOUNT,
    ),
    Requirement(
        "KRW",
        "swift",
        _each("account_number", "swift_bic", "bank_code"),
        forms=_OF_ACCOUNT,
    ),
    Requirement(
        "MXN",
        "local",
        _each("account_number", "document_type", "document_number"),
        "Airwallex payout network; Lightspark grid-api",
        forms={"account_number": NumberForm(18, 18)},
    ),
    Requirement(
        "BRL",
        "local",
        _each(
            "account_number",
            "bank_code",
            "branch_code",
            "account_type",
            "document_number",
        ),
        "Tazapay and dLocal documentation",
        also=frozenset({"iban"}),
        # A branch may have its check digit, which may be an X.
        forms={
            "bank_code": NumberForm(3, 3),
            "branch_code": NumberForm(4, 5, has_letters=True),
        },
    ),
    Requirement(
        "ARS",
        "local",
        _each("account_number", "account_type", "document_number"),
        forms={
            "account_number": NumberForm(22, 22),
            "document_number": NumberForm(8, 12),
        },
    ),
    Requirement("CLP", "local", _DOCUMENT),
    Requirement("COP", "local", _DOCUMENT),
    Requirement("PEN", "local", _DOCUMENT),
    Requirement(
        "ZAR",
        "local",
        (
            ("account_number",),
            ("account_type",),
            ("bank_code", "branch_code", "swift_bic"),
        ),
        "Airwallex, dLocal, Worldpay and Lightspark documentation",
        forms={"account_number": NumberForm(1, 13)},
    ),
    Requirement(
        "NGN",
        "local",
        _each("account_number"),
        "Lightspark grid-api",
        forms={"account_number": NumberForm(10, 10), "bank_code": NumberForm(3, 3)},
    ),
    *(Requirement(currency, "local", None) for currency in _UNPUBLISHED.split()),
    Requirement("XAF", "swift", None),
    Requirement("XOF", "swift", None),
    Requirement("SEK", "swift", None),
)
REQUIREMENTS = {(row.currency, row.rails): row for row in _TABLE}
"""The requirements by currency and rails, looked up on 2026-11-20. The service does not
list a currency on rails that have no row.
"""


@lru_cache(1024)
def find_requirement(currency: str, rails: str | None) -> Requirement | None:
    """Return the requirement of the rails, or of the only listed ones: rails_unusual
    reports the difference.
    """
    route = rails or "local"
    known = listed_rails(currency)
    if len(known) == 1:
        route = known[0]
    return REQUIREMENTS.get((currency.upper(), route))


@lru_cache(1024)
def listed_rails(currency: str) -> tuple[str, ...]:
    """Return the rails that the service lists for a currency, the usual ones first;
    none if it is not listed.
    """
    code = currency.upper()
    return tuple(rails for rails in RAILS if (code, rails) in REQUIREMENTS)


def least_amount(currency: str | None, rails: str | None) -> Decimal | None:
    """Return the least amount that reaches an account, in its currency; None if none is
    known.
    """
    row = _paid_out_row(currency, rails)
    return Decimal(row["least"]) if row else None


def unlocked_on_request(currency: str | None, rails: str | None) -> str:
    """Return what the operator unlocks on request only, such as "USD by ACH"; "" if
    nothing is known.
    """
    return _paid_out_row(currency, rails).get("on_request", "")


def _paid_out_row(currency: str | None, rails: str | None) -> Mapping[str, str]:
    """Return the row of `least_amounts.tsv`, or an empty one."""
    known = _least_amounts()
    code = upper_code(currency)
    of_all_rails = known.get((code, ""), {})
    return known.get((code, (rails or "").lower()), of_all_rails)


@cache
def _least_amounts() -> Mapping[tuple[str, str], Mapping[str, str]]:
    return {
        (row["currency"], row["rails"]): row
        for row in rows(__package__, "least_amounts")
    }


@dataclass(frozen=True, slots=True)
class Identifier:
    """A row of `identifiers.tsv`: the countries whose banks have an identifier, and the
    source.
    """

    countries: tuple[str, ...]
    basis: str


@cache
def identifiers() -> Mapping[str, Identifier]:
    """Return the identifiers that belong to the banks of some countries, by field."""
    table = rows(__package__, "identifiers")
    return {
        row["field"]: Identifier(tuple(row["countries"].split()), row["basis"])
        for row in table
    }


_IDENTIFIER_SOURCES = "; ".join(each.basis for each in identifiers().values())


# Rules

_GROUPS = tuple(chain.from_iterable(row.needs or () for row in _TABLE))
_SOURCES = "; ".join(dict.fromkeys(row.basis for row in _TABLE))


@rule(
    "rails_unusual",
    "rails",
    message=(
        "The service does not list these rails for the currency; the default is local."
    ),
    hint="Listed: {rails}.",
    basis=_OPERATOR,
)
def rails_unusual(currency: str, rails: str | None) -> Words | None:
    """Return the rails that the service lists for a currency, if the given ones are not
    among them; else None.
    """
    # Only a wire is said to be unusual for a currency that is not listed: it is for
    # dollars.
    known = listed_rails(currency) or ("local", "swift")
    if (rails or "local") in known:
        return None
    return {"rails": " or ".join(sorted(known))}


@rule(
    "currency_unlisted",
    "currency",
    severity="info",
    message=(
        "Not checked: the service does not list this currency, so its requirements are"
        " unknown."
    ),
    basis=_OPERATOR,
)
def currency_unlisted(currency: str) -> bool:
    """Return True if a currency is active but not listed by the operator, so that its
    requirements are unknown.
    """
    return currency.upper() in fiat_currencies() and not listed_rails(currency)


@rule(
    "needs_unpublished",
    "currency",
    severity="info",
    message="Not checked: the requirements of this currency are not published.",
    basis=_OPERATOR,
)
def needs_unpublished(currency: str, rails: str | None) -> bool:
    """Return True if the service lists a currency on these rails without its
    requirements.
    """
    row = find_requirement(currency, rails)
    return row is not None and row.needs is None


@rule(
    "member_missing",
    *dict.fromkeys(group[0] for group in _GROUPS),
    only="BankDetails",
    message="Missing, but usually needed for {route}.",
    hint="Provide the {fields}.",
    basis=_SOURCES,
)
def member_missing(
    currency: str, rails: str | None, given: frozenset[str], *, field: str
) -> Words | None:
    """Return the currency and rails that need one of the fields that begin with this
    one; None if one has a value, or none is needed.
    """
    row = find_requirement(currency, rails)
    needs = (row and row.needs) or ()
    group = next((group for group in needs if group[0] == field), ())
    if row is None or not group or not given.isdisjoint(group):
        return None
    fields = " or ".join(title_in_text(name) for name in group)
    return {"route": _route(row), "fields": fields, "basis": row.basis}


@rule(
    "number_form",
    *dict.fromkeys(chain.from_iterable(row.forms for row in _TABLE)),
    only="BankDetails",
    message="Not in the usual format: {form} for {currency}.",
    hint="Check it for typos; keep leading zeros.",
    basis=_SOURCES,
)
def number_form(
    value: str, currency: str | None, rails: str | None, *, field: str
) -> Words | None:
    """Return the usual form if a value does not have it; None if it does, or if no form
    is published.
    """
    row = find_requirement(currency or "", rails)
    form = None if row is None else row.forms.get(field)
    if row is None or form is None or form.matches(value):
        return None
    if field == "account_number" and like_iban(value):
        return None  # The rule account_is_iban reports it.
    return {"form": str(form), "currency": row.currency, "basis": row.basis}


@rule(
    "identifier_unused",
    *identifiers(),
    only="BankDetails",
    message="Not used for {route}.",
    hint="Remove it, or correct the currency or the rails.",
    basis=_IDENTIFIER_SOURCES,
)
def identifier_unused(
    value: str,  # noqa: ARG001 - it stands in the way, whatever it is
    currency: str | None,
    rails: str | None,
    swift_bic: str | None,
    iban: str | None,
    *,
    field: str,
) -> Words | None:
    """Return the currency and rails that do not use an identifier; None if they do, or
    nothing is published.

    A SWIFT transfer takes an account of any country, so there an identifier is measured
    against the country of the bank, if that is known.
    """
    row = find_requirement(currency or "", rails)
    if row is None or row.needs is None or field in row.identifiers:
        return None
    has_bank = field == "iban" or _bank_country(row, swift_bic, iban) is not None
    if row.rails == "swift" and has_bank:
        return None
    return {"route": _route(row), "basis": identifiers()[field].basis}


@rule(
    "identifier_country",
    *(name for name, each in identifiers().items() if each.countries),
    only="BankDetails",
    message="Identifies a bank in {country}, but the {code} is of {bank}.",
    hint="Remove it, or correct the one that is wrong.",
    basis=_IDENTIFIER_SOURCES,
)
def identifier_country(
    value: str,  # noqa: ARG001 - it stands in the way, whatever it is
    currency: str | None,
    rails: str | None,
    swift_bic: str | None,
    iban: str | None,
    *,
    field: str,
) -> Words | None:
    """Return the country of an identifier and that of the bank if they differ; else
    None.
    """
    row = find_requirement(currency or "", rails)
    if row is None or row.needs is None or field in row.also:
        return None
    if row.rails != "swift" and field not in row.identifiers:
        return None  # The rule identifier_unused reports it.
    bank = _bank_country(row, swift_bic, iban)
    identifier = identifiers()[field]
    if bank is None:
        return None
    code, country = bank
    if any(share_banks(home, country) for home in identifier.countries):
        return None
    return {
        "country": identifier.countries[0],
        "code": code,
        "bank": country,
        "basis": identifier.basis,
    }


def _route(row: Requirement) -> str:
    return f"{row.currency} over {row.rails} rails"


def _bank_country(
    row: Requirement, bic: str | None, iban: str | None
) -> tuple[str, str] | None:
    """Return whether the BIC or the IBAN tells the country of the bank, and the
    country; None if neither does.
    """
    country = country_of_bic(bic)
    if country is not None:
        return "BIC", country
    if row.rails != "swift" and "iban" not in row.identifiers:
        return None
    country = country_of_iban(iban)
    return None if country is None else ("IBAN", country)


@rule(
    "holder_abroad",
    "country",
    only="BankDetails",
    severity="info",
    message="The account is in {account}, its holder in {holder}.",
    hint=("If this is the payer's country, enter the country of the account holder."),
    basis="ISO 13616; ISO 9362",
)
def holder_abroad(
    country: str, iban: str | None, swift_bic: str | None
) -> Words | None:
    """Return the country of the account and that of its holder if they differ; None if
    they agree or share banks.

    Only an IBAN or a BIC tells the country: people abroad often hold dollars or pounds
    with a routing number or sort code.
    """
    holder = upper_code(country)
    if holder not in countries() or compact(iban or "")[:2] == holder:
        return None  # the usual case
    account = country_of_iban(iban) or country_of_bic(swift_bic)
    if account is None or share_banks(account, holder):
        return None
    return {"account": account, "holder": holder}


# For forms: the fields by name and in words

USUAL_FIELDS = ("account_number", "iban", "swift_bic", "bank_code", "branch_code")
"""The fields that an account of a currency without published requirements may need:
some of these, usually not all.
"""


@lru_cache(1024)
def asked_fields(currency: str, rails: str | None) -> tuple[str, ...]:
    """Return the optional fields that an account may need: the published ones, else
    `USUAL_FIELDS`.

    Empty for text that is no currency.
    """
    row = find_requirement(currency, rails)
    if row is not None and row.needs is not None:
        names = tuple(dict.fromkeys(chain.from_iterable(row.needs)))
        if "account_number" in names or "iban" in names:
            return names
        # Where only documents are published, the account has a number all the same.
        return ("account_number", *names)
    if currency.upper() in fiat_currencies() or listed_rails(currency):
        return USUAL_FIELDS
    return ()


@lru_cache(1024)
def fields_without_alternative(currency: str, rails: str | None) -> tuple[str, ...]:
    """Return the published fields that an account usually needs, and that no other
    field can replace.
    """
    row = find_requirement(currency, rails)
    return tuple(group[0] for group in (row and row.needs) or () if len(group) == 1)


@lru_cache(1024)
def needs_text(currency: str, rails: str | None) -> str:
    """Return a sentence about what an account needs, such as "EUR over local rails
    usually needs IBAN.".
    """
    code = currency.upper()
    if not asked_fields(currency, rails):
        return "Choose a currency to see which fields it needs."
    row = find_requirement(currency, rails)
    if row is None or row.needs is None:
        route = f"{code} over {rails} rails" if rails else code
        return (
            f"What {route} needs is not published. Ask the bank which of these fields"
            " it wants."
        )
    needed = [title_in_text(group[0]) for group in row.needs if len(group) == 1]
    choices = [
        f"either {listed(map(title_in_text, group), 'or')}"
        for group in row.needs
        if len(group) > 1
    ]
    words = [listed(needed), *choices] if needed else choices
    return f"{code} over {row.rails} rails usually needs {', and '.join(words)}."


def title_in_text(name: str) -> str:
    """Return the title of a field of bank details inside a sentence; an abbreviation
    keeps its capitals.
    """
    title = fields_of(BankDetails)[name].title
    return title if title[1:2].isupper() else f"{title[:1].lower()}{title[1:]}"
