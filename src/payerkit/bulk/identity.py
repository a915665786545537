"""What makes two rows one payer or one account, whatever way they are written."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from payerkit.checks.schema import RAILS

NUMBERS = ("account_number", "iban", "rib_number")
"""Fields that number an account."""

CODES = ("routing_number", "sort_code", "swift_bic", "bsb_number", "ncc", "branch_code", "bank_code", "ifsc")
"""Fields that say where an account is kept."""

ACCOUNT_FIELDS = ("currency", "rails", *NUMBERS, *CODES)
"""Fields that make an account of a payer another account if they differ; all others describe it."""

_HEAD_OFFICE = "XXX"
"""The end of a SWIFT code of eleven characters that means the same as one of eight (ISO 9362)."""


def account_identity(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what makes an account of a payer this account and no other, "" for each field that is missing."""
    named = ((name, str(values.get(name) or "")) for name in ACCOUNT_FIELDS)
    return tuple(normal_form(name, value) if value or name == "rails" else "" for name, value in named)


def normal_form(name: str, value: str) -> str:
    """Return a value of one of ACCOUNT_FIELDS in the form in which equal values are equal texts."""
    text = _compact(value).upper()
    if name == "rails":
        return text.lower() or RAILS[0]  # what the specification says a missing one means
    if name == "swift_bic" and len(text) == 11:
        return text.removesuffix(_HEAD_OFFICE)
    return text


def id_form(client_user_id: str) -> str:
    """Return an id in the form in which near duplicates are equal: other blanks, case or Unicode form."""
    return "".join(unicodedata.normalize("NFKC", client_user_id).casefold().split())


def _compact(value: str) -> str:
    """Return a number or a code without blanks, hyphens and characters that are not shown."""
    if value.isascii() and value.isalnum():
        return value  # the usual case
    text = unicodedata.normalize("NFKC", value)
    return "".join(char for char in text if unicodedata.category(char) not in {"Zs", "Pd", "Cf", "Cc"})
