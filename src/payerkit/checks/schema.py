"""The errors: members, which are required, and the form that the specification gives them; nothing stricter."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Number
from typing import Any

from payerkit.checks.places import country_code
from payerkit.findings import Finding
from payerkit.masking import MASK
from payerkit.wire import id_fault, wire_name

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Format:
    """The form of a text: what tells that all of it has the form, what to say if it has not, and if there is none."""

    matches: Callable[[str], object]
    code: str = ""
    message: str = ""
    hint: str = ""
    if_absent: str = ""


def _format(pattern: str, code: str = "", message: str = "", hint: str = "", if_absent: str = "") -> Format:
    return Format(re.compile(pattern, re.DOTALL).fullmatch, code, message, hint, if_absent)


TEXT = _format(".*")
FILLED = _format(".+", "empty", "Empty, but required.")
EMAIL = _format(
    r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+",
    "email_form",
    "Not an e-mail address.",
    "Write it as name@example.com.",
)
PHONE = _format(
    r"\+?[1-9][0-9]{1,14}",
    "phone_form",
    "Not an international number of digits only.",
    "Write it as +12125551234: country code, no blanks or brackets, + in place of 00.",
)
DAY = _format(
    "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "date_form",
    "Not in the form YYYY-MM-DD.",
    "Write it as 1985-12-31: year, month, day.",
)
COUNTRY = _format(
    "..",
    "country_length",
    "Not two letters.",
    "Write the code of ISO 3166-1 alpha-2, such as US.",
    'In a table, NA (Namibia) is read as empty, unless with keep_default_na=False, na_values=[""].',
)
CURRENCY = _format("...", "currency_length", "Not three letters.", "Write the code of ISO 4217, such as USD.")
HOLDER = _format("individual|business", "choice", "Not one of the two.", "Write individual or business.")
RAILS = _format("local|swift|wire", "choice", "Not one of the three.", "Write local, swift or wire.")
ACCOUNT_TYPE = _format("checking|savings", "choice", "Not one of the two.", "Write checking or savings.")
AMOUNT = _format(".*", hint='Write the amount as text, such as "10.50".')


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One member of a body. is_id: it stands in paths. takes_numbers: whole numbers and decimals are taken, too."""

    format: Format
    required: bool = True
    is_id: bool = False
    takes_numbers: bool = False


def _optional(*names: str) -> dict[str, SchemaField]:
    return dict.fromkeys(names, SchemaField(TEXT, required=False))


@dataclass(frozen=True)
class Schema:
    """What one call takes: its name here, the section of the specification, its members by our names."""

    name: str
    section: str
    fields: Mapping[str, SchemaField]

    @property
    def basis(self) -> str:
        """The section, as a finding names it."""
        return f"specification {self.section}"

    @cached_property
    def names(self) -> Mapping[object, str]:
        """Our name of a member by either of its names."""
        return {spelling: name for name in self.fields for spelling in (name, wire_name(name))}


PAYER = Schema(
    "Payer",
    "2.4",
    {
        "client_user_id": SchemaField(FILLED, is_id=True),
        "email": SchemaField(EMAIL),
        "first_name": SchemaField(FILLED),
        "last_name": SchemaField(FILLED),
        "beneficiary_type": SchemaField(HOLDER),
        **_optional("company_name"),
        "date_of_birth": SchemaField(DAY),
        "nationality": SchemaField(COUNTRY),
        "phone": SchemaField(PHONE),
        "ssn": SchemaField(FILLED),
        "address_line1": SchemaField(FILLED),
        **_optional("address_line2"),
        "city": SchemaField(FILLED),
        "state": SchemaField(FILLED),
        "postcode": SchemaField(FILLED),
        "country": SchemaField(COUNTRY),
        **_optional("source_of_funds", "business_activity"),
    },
)

BANK_DETAILS = Schema(
    "BankDetails",
    "2.1",
    {
        "bank_name": SchemaField(FILLED),
        "account_name": SchemaField(FILLED),
        "beneficiary_type": SchemaField(HOLDER),
        "currency": SchemaField(CURRENCY),
        "rails": SchemaField(RAILS, required=False),
        "account_type": SchemaField(ACCOUNT_TYPE, required=False),
        **_optional("account_number", "routing_number", "iban", "swift_bic", "sort_code", "bsb_number", "ncc"),
        **_optional("ifsc", "rib_number", "bank_code", "branch_code"),
        "date_of_birth": SchemaField(DAY),
        **_optional("document_type", "document_number"),
        "address_line1": SchemaField(FILLED),
        **_optional("address_line2"),
        "city": SchemaField(FILLED),
        **_optional("state"),
        "postal_code": SchemaField(FILLED),
        "country": SchemaField(COUNTRY),
    },
)

PAYMENT_ORDER = Schema(
    "PaymentOrder",
    "2.7",
    {
        "payee": SchemaField(TEXT),
        "amount": SchemaField(AMOUNT, takes_numbers=True),
        "invoice_currency": SchemaField(TEXT),
        "payment_currency": SchemaField(TEXT),
    },
)

SCHEMAS = {schema.name: schema for schema in (PAYER, BANK_DETAILS, PAYMENT_ORDER)}


def check_field(schema: Schema, name: str, value: Any) -> Finding | None:
    """Return what the specification has against a member's true value; None if nothing."""
    field = schema.fields[name]
    if value is None:
        return error_finding(schema, name, "required", "Required.", field.format.if_absent) if field.required else None
    if isinstance(value, str) and value.isascii() and field.format.matches(value) and not field.is_id:
        return None  # nearly always, and what follows looks for what is not ASCII
    if not isinstance(value, str):
        return None if field.takes_numbers and _is_exact(value) else _not_text(schema, name, value)
    if MASK in value:
        return error_finding(schema, name, "masked", "A masked value, copied from where it is shown.", _UNMASK)
    if not value.isascii() and _SURROGATE.search(value):
        return error_finding(
            schema, name, "half_character", "Holds half a character (a lone surrogate), which is not sent."
        )
    if not field.format.matches(value):
        return _format_error(schema, name, value)
    if field.is_id and (found := id_fault(value)) is not None:
        return error_finding(schema, name, *found)
    return None


_UNMASK = "Give the true one, or take it with reveal=True."


def _format_error(schema: Schema, name: str, value: str) -> Finding:
    field = schema.fields[name]
    expected = field.format
    if not value and field.required:
        return error_finding(schema, name, "empty", "Empty, but required.")
    if not value:
        return error_finding(
            schema, name, expected.code, expected.message, f"Leave it out if there is none. {expected.hint}"
        )
    if expected.matches(value.strip()):
        return error_finding(
            schema, name, expected.code, "Begins or ends with a blank, which is not in the form.", "Take it away."
        )
    code = country_code(value) if expected is COUNTRY else None
    return error_finding(schema, name, expected.code, expected.message, f"Write {code}." if code else expected.hint)


def _not_text(schema: Schema, name: str, value: Any) -> Finding:
    hint = schema.fields[name].format.hint
    if isinstance(value, Number) and not isinstance(value, bool):
        words = "A number where text is due."
        return error_finding(
            schema, name, "not_text", words, f"In a table, read this column with dtype=str. {hint}".rstrip()
        )
    if hasattr(value, "strftime"):
        return error_finding(schema, name, "not_text", "Must be text.", 'In a table: column.dt.strftime("%Y-%m-%d").')
    return error_finding(schema, name, "not_text", "Must be text.", hint)


def _is_exact(value: Any) -> bool:
    """Tell whether a number is exact: a whole number or a finite Decimal, and no boolean."""
    is_finite = getattr(value, "is_finite", None)  # of Decimal
    return bool(is_finite()) if callable(is_finite) else isinstance(value, int) and not isinstance(value, bool)


def error_finding(schema: Schema, name: str, code: str, message: str, hint: str = "") -> Finding:
    """Return an error on the word of the specification."""
    return Finding(
        field=name,
        wire_name=wire_name(name),
        message=message,
        code=code,
        severity="error",
        hint=hint,
        basis=schema.basis,
    )
