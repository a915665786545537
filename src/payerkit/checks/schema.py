"""The schemas of the requests: their fields, and what each may hold.

A field is one row of `fields.tsv`, which has all that checks, models, forms and masking need of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from payerkit._tsv import rows
from payerkit.wire import wire_name

MASK = "••••"
"""Stands in place of a masked value. It is never sent: it would replace the real value."""


@dataclass(frozen=True, slots=True)
class Format:
    """The format of a text: `matches` takes the whole text. The messages are for a mismatch or a missing value.

    options: the only values that match, if they are few.
    """

    matches: Callable[[str], object]
    code: str = ""
    message: str = ""
    hint: str = ""
    if_missing: str = ""
    options: tuple[str, ...] = ()


def _format(pattern: str, code: str = "", message: str = "", hint: str = "", if_missing: str = "") -> Format:
    return Format(re.compile(pattern, re.DOTALL).fullmatch, code, message, hint, if_missing)


def _choice_of(*options: str) -> Format:
    """Return the format of a text that is one of some words."""
    message = f"Expected {', '.join(options[:-1])} or {options[-1]}."
    return Format(re.compile("|".join(options)).fullmatch, "choice", message, options=options)


TEXT = _format(".*")
FILLED = _format(".+", "empty", "Empty, but required.")
COUNTRY = _format(
    "..",
    "country_length",
    "Not two letters.",
    "Write the ISO 3166-1 alpha-2 code, such as US.",
    'If it is NA (Namibia): pandas reads that as missing, unless with keep_default_na=False, na_values=[""].',
)
RAILS = ("local", "swift", "wire")
"""The rails that the specification names, the usual ones first."""

FORMATS = {
    "text": TEXT,
    "filled": FILLED,
    "id": FILLED,
    "chosen": FILLED,
    "country": COUNTRY,
    "email": _format(
        r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+", "email_form", "Not an e-mail address.", "Write it as name@example.com."
    ),
    "phone": _format(
        r"\+?[1-9][0-9]{1,14}",
        "phone_form",
        "Not a phone number in international format.",
        "Write it as +12125551234: country code, digits only, + instead of 00.",
    ),
    "day": _format(
        "[0-9]{4}-[0-9]{2}-[0-9]{2}",
        "date_form",
        "Not in the format YYYY-MM-DD.",
        "Write it as 1985-12-31: year, month, day.",
    ),
    "currency": _format("...", "currency_length", "Not three letters.", "Write the ISO 4217 code, such as USD."),
    "holder": _choice_of("individual", "business"),
    "rails": _choice_of(*RAILS),
    "account_type": _choice_of("checking", "savings"),
    "paid_to": _choice_of("wallet", "account"),
    # Whoever reads "1,000.50" or "1 000" as a number may take 1: so what groups digits is refused here.
    "amount": _format(
        r"(?!.*[0-9]\s+[0-9])[^,'\u2019_]*",
        "amount_form",
        "Not a plain decimal number.",
        'Write it as text, such as "1234.56": digits and a decimal point, without separators.',
    ),
    "reference": _format(".{1,255}", "reference_length", "Not 1 to 255 characters.", "Shorten it."),
}
"""The formats by the names that `fields.tsv` has for them."""

Section = Literal["Who", "Where", "Compliance", "Account", "Bank", "Account holder", "Where the money goes", "Order"]
"""The section of a form that shows a field; forms show their sections in this order."""

Lookup = Literal["", "countries", "fiat", "currencies", "tokens"]
"""The table that a form suggests values from; other values are allowed, too.

currencies: fiat currencies, coins and tokens. tokens: the coins and tokens alone, which can pay.
"""

AppliesTo = Literal["", "individual", "business", "wallet", "account"]
"""The type of payer or holder, or of what is paid, that has a field; "" for all of them."""

_TYPE_WORDS = {"individual": "a person", "business": "a business", "wallet": "a wallet", "account": "a bank account"}

Masking = Literal["", "account", "hidden", "personal", "holder"]
"""What may be shown of a value.

"": all of it. "account": its last four characters. "hidden" and "personal": nothing; a hidden value is masked by its
type, too. "holder": the initials of a person, the name of a business.
"""


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One field of a request: how people see it, and what it may hold.

    is_id: it becomes part of a path. takes_numbers: integers and decimals are accepted, too. applies_to: the type of
    payer or holder that has the field; "" for all. business_title, business_help, business_example: for a business,
    if they differ. option_titles: words for each option; empty where the options are words. aliases: other names that
    tables often have for it, in small letters and digits alone. is_chosen: it is one of
    some values that are found while a form is filled in.
    """

    title: str
    help: str
    example: str
    section: Section
    format: Format = TEXT
    masking: Masking = ""
    lookup: Lookup = ""
    required: bool = False
    is_id: bool = False
    takes_numbers: bool = False
    applies_to: AppliesTo = ""
    business_title: str = ""
    business_help: str = ""
    business_example: str = ""
    option_titles: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    is_chosen: bool = False

    def title_for(self, holder: str) -> str:
        """Return the title for a type of payer or holder, "" for an unknown one."""
        return (holder == "business" and self.business_title) or self.title

    @property
    def full_help(self) -> str:
        """The help for people and companies together, for documents that do not know the type."""
        if self.applies_to:
            return f"For {_TYPE_WORDS[self.applies_to]}: {_uncapitalized(self.help)}"
        own = _uncapitalized(self.business_help or self.business_title)
        return f"{self.help} For a business: {own.rstrip('.')}." if own else self.help

    @property
    def options(self) -> tuple[str, ...]:
        """The only values that a choice takes; empty for any other field."""
        return self.format.options

    @property
    def is_secret(self) -> bool:
        """True if a value is hidden while it is typed, and its type masks it."""
        return self.masking in {"account", "hidden"}


def _uncapitalized(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


@dataclass(frozen=True)
class Schema:
    """What one request takes: its name, the section of the specification or "", its fields by our names."""

    name: str
    section: str
    fields: Mapping[str, SchemaField]

    @property
    def basis(self) -> str:
        """The section, as a finding names it; the operator's documentation for what the specification does not have."""
        return f"specification {self.section}" if self.section else "operator's documentation"

    @cached_property
    def names(self) -> Mapping[object, str]:
        """Our name of a field by our name and by its wire name."""
        return {spelling: name for name in self.fields for spelling in (name, wire_name(name))}


def _read_fields(schema: str) -> dict[str, SchemaField]:
    """Return the fields of a schema from the table beside this module, in its order."""
    fields = {}
    for row in rows(__package__, "fields"):
        if schema in row.pop("schema").split():
            name = row.pop("field")
            given: dict[str, Any] = row | {
                "format": FORMATS[row["format"]],
                "required": row["required"] == "*",
                "is_id": row["format"] in {"id", "chosen"},
                "is_chosen": row["format"] == "chosen",
                "takes_numbers": row["format"] == "amount",
                "option_titles": tuple(filter(None, row["option_titles"].split("|"))),
                "aliases": tuple(row["aliases"].split()),
            }
            fields[name] = SchemaField(**given)
    return fields


PAYER = Schema("Payer", "2.4", _read_fields("Payer"))
BANK_DETAILS = Schema("BankDetails", "2.1", _read_fields("BankDetails"))
PAYMENT_ORDER = Schema("PaymentOrder", "2.7", _read_fields("PaymentOrder"))
PAYOUT_ORDER = Schema("PayoutOrder", "", _read_fields("PayoutOrder"))
PAYMENT_FORM = Schema("Payment", "", _read_fields("Payment"))
"""What the form of a payment takes. Which fields are required follows from what is paid."""
SCHEMAS = {schema.name: schema for schema in (PAYER, BANK_DETAILS, PAYMENT_ORDER)}
"""The schemas of the specification's requests, by name. All fields of a PayoutOrder but one are an order's, too."""

SHARED_FIELDS = {name: name for name in PAYER.fields if name in BANK_DETAILS.fields} | {"postal_code": "postcode"}
"""Fields of an account holder that a payer has, too, each with the payer's name of it."""
