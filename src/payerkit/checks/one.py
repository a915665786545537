"""Check one payer, or one bank account, before it is sent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from payerkit.checks.inputs import by_field_name, field_errors
from payerkit.checks.rulebook import rules_except
from payerkit.checks.rules import apply_rules
from payerkit.checks.schema import BANK_DETAILS, PAYER, Schema
from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.findings import Finding, Findings


@without_internal_frames
def check_payer(payer: Any, *, ignore: Iterable[str] = ()) -> Findings:
    """Check a payer for what the service or its compliance check would reject or question; nothing is sent.

    Errors are violations of the specification, and `create_payer` refuses them. Warnings and infos do not stop it.

    Args:
        payer: A `Payer`, or a dict or table row with field names as here (`last_name`) or on the wire (`lastName`).
        ignore: A code, or codes, of warnings and infos to leave out. Errors cannot be ignored.

    Returns:
        The findings in the order of the fields; empty if there are none.

    Raises:
        InvalidInput: `payer` is not a payer, or `ignore` has a code that is not one of a payer's warnings and infos.

    Example:
        >>> check_payer({**payer, "country": "UK"})
        1 warning.
          warning  country: Not an ISO 3166-1 code. Write GB.  [country_habit: ISO 3166-1]
    """
    return check_record(PAYER, payer, ignore)


@without_internal_frames
def check_bank_details(details: Any, *, ignore: Iterable[str] = ()) -> Findings:
    """Check bank details for what the service or a bank would reject or question; nothing is sent.

    Errors are violations of the specification, and `create_payment_detail` refuses them. Warnings and infos do not
    stop it.

    Args:
        details: `BankDetails`, or a dict or table row with field names as here (`bank_name`) or on the wire
            (`bankName`).
        ignore: A code, or codes, of warnings and infos to leave out. Errors cannot be ignored.

    Returns:
        The findings in the order of the fields; empty if there are none.

    Raises:
        InvalidInput: `details` are not bank details, or `ignore` has a code that is not one of their warnings and
            infos.

    Example:
        >>> check_bank_details({**details, "routingNumber": "26013356"}).to_frame()[["field", "code"]]
                    field               code
        0  routing_number  routing_zero_lost
    """
    return check_record(BANK_DETAILS, details, ignore)


def check_record(schema: Schema, record: Any, ignore: Iterable[str], also: Collection[str] = ()) -> Findings:
    """Return the errors and the findings of the rules about a record, in the order of the fields.

    also: further codes that may be ignored. Raises InvalidInput, as `check_payer` documents it.
    """
    rules = rules_except(schema, ignore, also)
    values, findings = by_field_name(schema, as_mapping(schema, record))
    errors = field_errors(schema, values)
    has_value = {f"{name}?": True for name, value in values.items() if value is not None and not _is_empty(value)}
    for error in errors:
        values[error.field] = None  # rules read only what can be sent
    readable = {name: value or None for name, value in values.items()} | has_value
    return in_order(schema, [*findings, *errors, *apply_rules(rules, readable)])


def in_order(schema: Schema, findings: Iterable[Finding]) -> Findings:
    """Return findings in the order of the fields that they are about."""
    order = {name: position for position, name in enumerate(schema.fields)}
    return Findings(sorted(findings, key=lambda finding: order.get(finding.field, len(order))))


def _is_empty(value: Any) -> bool:
    return isinstance(value, str) and not value  # comparing an array with "" gives an array


def as_mapping(schema: Schema, record: Any) -> Mapping[Any, Any]:
    """Return the fields of a model, dict, table row or named tuple by their names."""
    kind = kind_of(record)
    if getattr(record, "request_schema", schema) is not schema:
        raise InvalidInput(f"Expected a {schema.name}, got {kind}.")
    if hasattr(record, "columns"):
        advice = {
            PAYER.name: " For a table, use check_payers.",
            BANK_DETAILS.name: " For a table, use check_all_bank_details.",
        }
        raise InvalidInput(f"Expected one {schema.name}, such as a row, got {kind}.{advice.get(schema.name, '')}")
    if callable(getattr(record, "keys", None)):  # a dict, or a row of a DataFrame
        return record if isinstance(record, Mapping) else dict(record)
    fields = {name: getattr(record, str(name)) for name in schema.names if hasattr(record, str(name))}
    if not fields:
        raise InvalidInput(f"Expected a {schema.name} or a dict of its fields, got {kind}.")
    return fields
