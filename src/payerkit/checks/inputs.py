"""A body as it was given: which member a name means, which values count as given, and all that cannot be sent."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from numbers import Real
from typing import Any

from payerkit.checks.schema import MASK, Schema, check_field, error_finding
from payerkit.findings import Finding
from payerkit.wire import wire_name


def is_blank(value: Any) -> bool:
    """Tell whether a value is what tables put into an empty cell: None, NaN, NA, NaT."""
    if value is None or isinstance(value, str):
        return value is None
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, Real):
        return bool(value != value)  # noqa: PLR0124 - what is not itself is no number; large ones have no float
    name = type(value).__name__
    return name in {"NAType", "NaTType"} or (name == "datetime64" and str(value) == "NaT")


def unwrap_secret(value: Any) -> Any:
    """Return a value as it is sent: out of its masking type, None for a blank cell of a table."""
    reveal = getattr(value, "get_secret_value", None)
    if callable(reveal):
        value = reveal()
    return None if is_blank(value) else value


def strip_blanks(schema: Schema, name: str, value: Any) -> tuple[Any, Finding | None]:
    """Return a value without the blanks around it, and the info that there were some; an id stays as typed."""
    if not isinstance(value, str) or schema.fields[name].is_id or value == value.strip():
        return value, None
    return value.strip(), _trimmed(name)


@cache
def _trimmed(name: str) -> Finding:
    return Finding(
        field=name,
        wire_name=wire_name(name),
        message="Blanks around it were taken away.",
        code="trimmed",
        severity="info",
        basis="Forms and tables are typed and copied by hand.",
    )


def named(schema: Schema, given: Mapping[Any, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """Return the true values that are given, by our names, and what is wrong with the names."""
    values: dict[str, Any] = {}
    findings = []
    strangers = []
    for name, value in given.items():
        ours = schema.names.get(name)
        if ours is None:
            strangers.append(name)
        elif ours in values:
            findings.append(given_twice(schema, ours))
        else:
            values[ours] = unwrap_secret(value)
    return values, findings + (unknown(schema, strangers) if values else nothing_known(schema, strangers))


def faults(schema: Schema, given: Mapping[Any, Any]) -> Iterator[Finding]:
    """Yield every error of a body that is given by our names or wire names, in the order of its members."""
    values, findings = named(schema, given)
    for name in schema.fields:
        if (found := check_field(schema, name, values.get(name))) is not None:
            yield found
    yield from findings


def given_twice(schema: Schema, name: str) -> Finding:
    """Return the finding for a member that is given by both of its names."""
    return error_finding(schema, name, "given_twice", f"Given twice, as {name} and as {wire_name(name)}.")


def unknown(schema: Schema, names: Iterable[object]) -> list[Finding]:
    """Return a finding for each name that is none of a body's, with the member that may have been meant."""
    return [_stranger(schema, str(name)) for name in names]


def nothing_known(schema: Schema, names: Collection[object]) -> list[Finding]:
    """Return one finding for names of which none is a member's: they may well be values, so they are not repeated."""
    message = f"None of the names is a field of {schema.name}."
    hint = "Does the table have a row of names, and are they those of the fields?"
    return [error_finding(schema, "", "unknown_member", message, hint)] if names else []


def shown(name: str) -> str:
    """Return what may be shown of a name that is no member's: with an @ or many digits it is somebody's."""
    return MASK if "@" in name or sum(map(str.isdigit, name)) > 3 else name


def _stranger(schema: Schema, name: str) -> Finding:
    meant = suggestion(schema, name)
    return Finding(
        field=shown(name),
        wire_name=shown(name),
        message=f"Not a field of {schema.name}.",
        code="unknown_member",
        severity="error",
        hint=f"Did you mean {meant}?" if meant else "Leave it out.",
        basis=schema.basis,
    )


_HABITS = {
    "accountholder": ("account_name",),
    "accountno": ("account_number",),
    "bank": ("bank_name",),
    "bic": ("swift_bic",),
    "birthday": ("date_of_birth",),
    "birthdate": ("date_of_birth",),
    "ccy": ("currency",),
    "emailadress": ("email",),
    "emailaddress": ("email",),
    "mail": ("email",),
    "company": ("company_name",),
    "dob": ("date_of_birth",),
    "ein": ("ssn",),
    "holder": ("account_name",),
    "id": ("client_user_id",),
    "street": ("address_line1",),
    "surname": ("last_name",),
    "swift": ("swift_bic",),
    "taxid": ("ssn",),
    "tel": ("phone",),
    "type": ("beneficiary_type",),
    "zip": ("postcode", "postal_code"),
    "zipcode": ("postcode", "postal_code"),
    "postcode": ("postal_code",),
    "postalcode": ("postcode",),
}
"""What tables call members, by the bare name."""


def suggestion(schema: Schema, name: str) -> str | None:
    """Return the member that was most likely meant by a name; None if none is likely."""
    bare = _bare(name)
    habit = next((ours for ours in _HABITS.get(bare, ()) if ours in schema.fields), None)
    names = {_bare(ours): ours for ours in schema.fields}
    close = difflib.get_close_matches(bare, names, n=1, cutoff=0.8)
    return habit or (names[close[0]] if close else None)


def _bare(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())
