"""Look at one payer, or one bank account, before it is sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from payerkit.checks.inputs import named
from payerkit.checks.rulebook import rules
from payerkit.checks.rules import Rule, given, look
from payerkit.checks.schema import BANK_DETAILS, PAYER, Schema, check_field
from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.findings import Findings


@without_internal_frames
def check_payer(payer: Any, *, ignore: Iterable[str] = ()) -> Findings:
    """Return what the service, or whoever checks the payer, would refuse or ask about; nothing is sent.

    payer: a `Payer`, or a dict or row by our names or wire names. ignore: codes of warnings and infos to leave out.
    Errors are what the specification states, and stop `create_payer`; warnings do not. Raises InvalidInput for
    anything other than a payer, and for a code that no rule has.
    """
    return _check(PAYER, payer, ignore)


@without_internal_frames
def check_bank_details(details: Any, *, ignore: Iterable[str] = ()) -> Findings:
    """Return what the service or a bank would refuse or ask about; nothing is sent.

    details: `BankDetails`, or a dict or row by our names or wire names. ignore: codes of warnings and infos to leave
    out. Errors are what the specification states, and stop `create_payment_detail`; warnings do not. Raises
    InvalidInput for anything other than bank details, and for a code that no rule has.
    """
    return _check(BANK_DETAILS, details, ignore)


def _check(schema: Schema, record: Any, ignore: Iterable[str]) -> Findings:
    wanted = without(rules(schema.name), ignore)
    values, findings = named(schema, _fields_of(schema, record))
    wrong = [found for name in schema.fields if (found := check_field(schema, name, values.get(name))) is not None]
    presence = given(values)
    for finding in wrong:
        values[finding.field] = None  # what cannot be sent, no rule reads
    read = {name: value or None for name, value in values.items()} | presence
    findings += [*wrong, *look(wanted, read)]
    place = {name: at for at, name in enumerate(schema.fields)}
    return Findings(sorted(findings, key=lambda finding: place.get(finding.field, len(place))))


def _fields_of(schema: Schema, record: Any) -> Mapping[Any, Any]:
    if getattr(record, "request_schema", schema) is not schema:
        raise InvalidInput(f"Give a {schema.name}; this is a {type(record).__name__}.")
    if hasattr(record, "columns"):
        raise InvalidInput(
            f"Give one {schema.name}, such as a row; check_payers and check_all_bank_details take a table."
        )
    if callable(getattr(record, "keys", None)):  # a dict, or a row of a DataFrame
        return record if isinstance(record, Mapping) else dict(record)
    found = {name: getattr(record, str(name)) for name in schema.names if hasattr(record, str(name))}
    if not found:
        raise InvalidInput(f"Give a {schema.name}, or a dict of its members; got a {type(record).__name__}.")
    return found


def without(rules: tuple[Rule, ...], ignore: Iterable[str]) -> tuple[Rule, ...]:
    """Return the rules but for those of some codes. Raises InvalidInput for a code that none of them has."""
    if not isinstance(ignore, str | list | tuple | set | frozenset):
        raise InvalidInput("ignore: give the code of a finding, or a list of codes.")
    codes = [ignore] if isinstance(ignore, str) else list(ignore)
    known = {rule.code for rule in rules}
    strangers = [code for code in codes if not isinstance(code, str) or code not in known]
    if strangers:
        raise InvalidInput(f"ignore: no rule has the code {', '.join(map(repr, strangers))}.")
    return tuple(rule for rule in rules if rule.code not in codes)
