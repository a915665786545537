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


def _shape(pattern: str, code: str = "", message: str = "", hint: str = "", if_absent: str = "") -> Format:
    return Format(re.compile(pattern, re.DOTALL).fullmatch, code, message, hint, if_absent)


TEXT = _shape(".*")
FILLED = _shape(".+", "empty", "Empty, but required.")
EMAIL = _shape(
    r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+",
    "email_form",
    "Not an e-mail address.",
    "Write it as name@example.com.",
)
PHONE = _shape(
    r"\+?[1-9][0-9]{1,14}",
    "phone_form",
    "Not an international number of digits only.",
    "Write it as +12125551234: country code, no blanks or brackets, + in place of 00.",
)
DAY = _shape(
    "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "date_form",
    "Not in the form YYYY-MM-DD.",
    "Write it as 1985-12-31: year, month, day.",
)
COUNTRY = _shape(
    "..",
    "country_length",
    "Not two letters.",
    "Write the code of ISO 3166-1 alpha-2, such as US.",
    'In a table, NA (Namibia) is read as empty, unless with keep_default_na=False, na_values=[""].',
)
CURRENCY = _shape("...", "currency_length", "Not three letters.", "Write the code of ISO 4217, such as USD.")
HOLDER = _shape("individual|business", "choice", "Not one of the two.", "Write individual or business.")
RAILS = _shape("local|swift|wire", "choice", "Not one of the three.", "Write local, swift or wire.")
ACCOUNT_TYPE = _shape("checking|savings", "choice", "Not one of the two.", "Write checking or savings.")
AMOUNT = _shape(".*", hint='Write the amount as text, such as "10.50".')


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a body. is_id: it stands in paths. takes_numbers: whole numbers and decimals are taken, too."""

    shape: Format
    required: bool = True
    is_id: bool = False
    takes_numbers: bool = False


def _optional(*names: str) -> dict[str, Member]:
    return dict.fromkeys(names, Member(TEXT, required=False))


@dataclass(frozen=True)
class Schema:
    """What one call takes: its name here, the section of the specification, its members by our names."""

    name: str
    section: str
    members: Mapping[str, Member]

    @property
    def basis(self) -> str:
        """The section, as a finding names it."""
        return f"specification {self.section}"

    @cached_property
    def names(self) -> Mapping[object, str]:
        """Our name of a member by either of its names."""
        return {spelling: name for name in self.members for spelling in (name, wire_name(name))}


PAYER = Schema(
    "Payer",
    "2.4",
    {
        "client_user_id": Member(FILLED, is_id=True),
        "email": Member(EMAIL),
        "first_name": Member(FILLED),
        "last_name": Member(FILLED),
        "beneficiary_type": Member(HOLDER),
        **_optional("company_name"),
        "date_of_birth": Member(DAY),
        "nationality": Member(COUNTRY),
        "phone": Member(PHONE),
        "ssn": Member(FILLED),
        "address_line1": Member(FILLED),
        **_optional("address_line2"),
        "city": Member(FILLED),
        "state": Member(FILLED),
        "postcode": Member(FILLED),
        "country": Member(COUNTRY),
        **_optional("source_of_funds", "business_activity"),
    },
)

BANK_DETAILS = Schema(
    "BankDetails",
    "2.1",
    {
        "bank_name": Member(FILLED),
        "account_name": Member(FILLED),
        "beneficiary_type": Member(HOLDER),
        "currency": Member(CURRENCY),
        "rails": Member(RAILS, required=False),
        "account_type": Member(ACCOUNT_TYPE, required=False),
        **_optional("account_number", "routing_number", "iban", "swift_bic", "sort_code", "bsb_number", "ncc"),
        **_optional("ifsc", "rib_number", "bank_code", "branch_code"),
        "date_of_birth": Member(DAY),
        **_optional("document_type", "document_number"),
        "address_line1": Member(FILLED),
        **_optional("address_line2"),
        "city": Member(FILLED),
        **_optional("state"),
        "postal_code": Member(FILLED),
        "country": Member(COUNTRY),
    },
)

PAYMENT_ORDER = Schema(
    "PaymentOrder",
    "2.7",
    {
        "payee": Member(TEXT),
        "amount": Member(AMOUNT, takes_numbers=True),
        "invoice_currency": Member(TEXT),
        "payment_currency": Member(TEXT),
    },
)

BODIES = {body.name: body for body in (PAYER, BANK_DETAILS, PAYMENT_ORDER)}


def check_field(body: Schema, name: str, value: Any) -> Finding | None:
    """Return what the specification has against a member's true value; None if nothing."""
    member = body.members[name]
    if value is None:
        return finding(body, name, "required", "Required.", member.shape.if_absent) if member.required else None
    if isinstance(value, str) and value.isascii() and member.shape.matches(value) and not member.is_id:
        return None  # nearly always, and what follows looks for what is not ASCII
    if not isinstance(value, str):
        return None if member.takes_numbers and _is_exact(value) else _not_text(body, name, value)
    if MASK in value:
        return finding(body, name, "masked", "A masked value, copied from where it is shown.", _UNMASK)
    if not value.isascii() and _SURROGATE.search(value):
        return finding(body, name, "half_character", "Holds half a character (a lone surrogate), which is not sent.")
    if not member.shape.matches(value):
        return _misshapen(body, name, value)
    if member.is_id and (found := id_fault(value)) is not None:
        return finding(body, name, *found)
    return None


_UNMASK = "Give the true one, or take it with reveal=True."


def _misshapen(body: Schema, name: str, value: str) -> Finding:
    member = body.members[name]
    shape = member.shape
    if not value and member.required:
        return finding(body, name, "empty", "Empty, but required.")
    if not value:
        return finding(body, name, shape.code, shape.message, f"Leave it out if there is none. {shape.hint}")
    if shape.matches(value.strip()):
        return finding(
            body, name, shape.code, "Begins or ends with a blank, which is not in the form.", "Take it away."
        )
    code = country_code(value) if shape is COUNTRY else None
    return finding(body, name, shape.code, shape.message, f"Write {code}." if code else shape.hint)


def _not_text(body: Schema, name: str, value: Any) -> Finding:
    hint = body.members[name].shape.hint
    if isinstance(value, Number) and not isinstance(value, bool):
        words = "A number where text is due."
        return finding(body, name, "not_text", words, f"In a table, read this column with dtype=str. {hint}".rstrip())
    if hasattr(value, "strftime"):
        return finding(body, name, "not_text", "Must be text.", 'In a table: column.dt.strftime("%Y-%m-%d").')
    return finding(body, name, "not_text", "Must be text.", hint)


def _is_exact(value: Any) -> bool:
    """Tell whether a number is exact: a whole number or a finite Decimal, and no boolean."""
    is_finite = getattr(value, "is_finite", None)  # of Decimal
    return bool(is_finite()) if callable(is_finite) else isinstance(value, int) and not isinstance(value, bool)


def finding(body: Schema, name: str, code: str, message: str, hint: str = "") -> Finding:
    """Return an error on the word of the specification."""
    return Finding(
        field=name,
        wire_name=wire_name(name),
        message=message,
        code=code,
        severity="error",
        hint=hint,
        basis=body.basis,
    )
