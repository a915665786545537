"""Check payers and bank details before they are sent: one, or all rows of a table."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from numbers import Number
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from payerkit._tsv import grouped
from payerkit.checks import inputs
from payerkit.checks.rules import Rank, Rule, ignored_codes, load_rules, ranked_rules
from payerkit.checks.schema import BANK_DETAILS, PAYER, PAYMENT_ORDER, SCHEMAS, Schema
from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.findings import Finding, Findings, order_findings, table_finding, table_findings
from payerkit.frames import frame_of
from payerkit.wording import Wording

if TYPE_CHECKING:
    import pandas as pd


_NUMBER, _DATE, _OTHER = 0, dt.date.min, ()
"""The placeholders of numbers, dates and all other values that are not text."""


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


@without_internal_frames
def check_payers(frame: pd.DataFrame, *, ignore: Iterable[str] = ()) -> pd.DataFrame:
    """Check each row of a table as `check_payer` does; nothing is sent.

    For a Dask DataFrame, use `frame.map_partitions(check_payers, clear_divisions=True)`.

    Args:
        frame: One payer per row, with column names as here (`last_name`) or on the wire (`lastName`). Columns of bank
            details are skipped.
        ignore: A code, or codes, of warnings and infos to leave out. Errors cannot be ignored.

    Returns:
        One row per finding, in the order of the rows and of their fields: `row`, the label in the index of `frame`,
        with its dtype, and `field`, `wire_name`, `severity`, `code`, `message`, `hint` and `basis`, all `string`.

    Raises:
        InvalidInput: `frame` is not a DataFrame, has an unknown column, or `ignore` has a code that is not one of a
            payer's warnings and infos.

    Example:
        >>> table = pd.DataFrame([payer, {**payer, "country": "UK"}])
        >>> check_payers(table)[["row", "field", "severity", "hint"]]
           row    field severity       hint
        0    1  country  warning  Write GB.
    """
    return _check(PAYER, frame, ignore)


@without_internal_frames
def check_all_bank_details(
    frame: pd.DataFrame, *, ignore: Iterable[str] = (), given_only: bool = False
) -> pd.DataFrame:
    """Check each row of a table as `check_bank_details` does; nothing is sent.

    For a Dask DataFrame, use `frame.map_partitions(check_all_bank_details, clear_divisions=True)`.

    Args:
        frame: One bank account per row, with column names as here (`bank_name`) or on the wire (`bankName`). Columns
            of payers are skipped.
        ignore: A code, or codes, of warnings and infos to leave out. Errors cannot be ignored.
        given_only: Check the values that the table has, and ask for no others: of columns that are named as
            `read_bank_details` knows them, such as "IBAN" and "BIC". Other columns are skipped.

    Returns:
        One row per finding, in the order of the rows and of their fields: `row`, the label in the index of `frame`,
        with its dtype, and `field`, `wire_name`, `severity`, `code`, `message`, `hint` and `basis`, all `string`.

    Raises:
        InvalidInput: `frame` is not a DataFrame, has an unknown column, or `ignore` has a code that is not one of
            the warnings and infos of bank details; with `given_only`, if no column is one of bank details.

    Example:
        >>> table = pd.DataFrame([details, {**details, "bankName": None}])
        >>> check_all_bank_details(table)[["row", "field", "severity", "message"]]
           row      field severity    message
        0    1  bank_name    error  Required.
        >>> mine = pd.DataFrame({"Name": ["Ada"], "IBAN": ["DE89370400440532013001"]})
        >>> check_all_bank_details(mine, given_only=True)[["row", "field", "message"]]
           row field                                          message
        0    0  iban  The check digits do not match: probably a typo.
    """
    given = _given(frame) if given_only and hasattr(frame, "columns") else frame
    found = _check(BANK_DETAILS, given, ignore)
    return found[found["field"].isin(given.columns)].reset_index(drop=True) if given_only else found


def _given(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of bank details in a table, named by field. Raises InvalidInput if there are none."""
    from payerkit.tables.mapping import account_fields  # noqa: PLC0415 - loaded for this alone

    fields = account_fields(frame.columns)
    if not fields:
        raise InvalidInput("No column is one of bank details, such as IBAN, BIC or Account number.", advice=_FIND)
    return frame.iloc[:, list(fields)].set_axis(list(fields.values()), axis=1)


_READ_FILE = "read_payers(file, mapping=propose_mapping(file).accept())"
_FIND = f'Rename yours, such as table.rename(columns={{"Konto": "iban"}}). {_READ_FILE} finds a header below a title.'


def _check(schema: Schema, frame: pd.DataFrame, ignore: Iterable[str]) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415 - pandas takes 25 times as long to import as payerkit

    if not isinstance(frame, pd.DataFrame):
        message = f"Expected a DataFrame with one {schema.name} per row, got {kind_of(frame)}."
        raise InvalidInput(message, advice=f"{_READ_FILE} reads a file.")
    places, twice, unknown = inputs.match_names(schema, frame.columns)
    unknown = [name for name in unknown if not any(name in other.names for other in SCHEMAS.values())]
    if unknown:
        problems = inputs.unknown_names(schema, unknown, is_headless=not places)
        raise InvalidInput(f"{schema.name}: unknown columns. Rename or drop them.", fields=tuple(problems))
    columns = [frame.iloc[:, place].tolist() for place in places.values()]
    cells = zip(*columns, strict=True) if columns else repeat((), len(frame))
    records = (dict(zip(places, row, strict=True)) for row in cells)
    found = list(enumerate(check_records(schema, records, ignored_codes(schema, ignore), twice)))
    rows = [row for row, findings in found for _ in findings]
    table = Findings(each for _, findings in found for each in findings).to_frame()
    table.insert(0, "row", frame.index.take(rows))
    return table


def check_record(schema: Schema, record: Any, ignore: Iterable[str] = ()) -> Findings:
    """Return the errors and the findings of the rules about a record, in the order of the fields.

    Raises InvalidInput, as `check_payer` documents it.
    """
    ignored = ignored_codes(schema, ignore)
    values, findings = inputs.by_field_name(schema, as_mapping(schema, record))
    return Findings(next(check_records(schema, [values], ignored, findings)))


def in_order(schema: Schema, findings: Iterable[Finding]) -> Findings:
    """Return findings in the order of the fields that they are about."""
    order = {name: position for position, name in enumerate(schema.fields)}
    return Findings(sorted(findings, key=lambda finding: order.get(finding.field, len(order))))


def as_mapping(schema: Schema, record: Any) -> Mapping[Any, Any]:
    """Return the fields of a model, dict, table row or named tuple by their names."""
    kind = kind_of(record)
    if getattr(record, "request_schema", schema) is not schema:
        raise InvalidInput(f"Expected a {schema.name}, got {kind}.")
    if hasattr(record, "columns"):
        many = {PAYER.name: "check_payers", BANK_DETAILS.name: "check_all_bank_details"}.get(schema.name)
        advice = f" For a table, use {many}." if many else ""
        raise InvalidInput(f"Expected one {schema.name}, such as a row, got {kind}.{advice}")
    if callable(getattr(record, "keys", None)):  # a dict, or a row of a DataFrame
        return record if isinstance(record, Mapping) else dict(record)
    fields = {name: getattr(record, str(name)) for name in schema.names if hasattr(record, str(name))}
    if not fields:
        raise InvalidInput(f"Expected a {schema.name} or a dict of its fields, got {kind}.")
    return fields


def check_records(
    schema: Schema, records: Iterable[Mapping[str, Any]], ignored: Collection[str] = (), each: Iterable[Finding] = ()
) -> Iterator[list[Finding]]:
    """Yield the findings of each record, in the order of the fields.

    Fields are checked once for each value, and rules once for each combination of the values that they read. ignored:
    codes of rules that find nothing. each: findings that every record has.
    """
    names = list(schema.fields)
    amounts = [name for name, field in schema.fields.items() if field.takes_numbers]
    ranks = {name: (place, -1) for place, name in enumerate(names)}
    of_all = [(ranks.get(finding.field, (len(names), -1)), finding) for finding in each]
    memo_of_fields: list[tuple[str, Rank, dict[Hashable, Finding | None]]]
    memo_of_fields = [(name, rank, {}) for name, rank in ranks.items()]
    memo_of_rules: list[tuple[tuple[str, ...], Sequence[tuple[Rank, Rule]], dict[Any, list[_Ranked]]]]
    memo_of_rules = [(reads, rules, {}) for reads, rules in ranked_rules(schema.name)]
    for record in records:
        values = {
            name: value if type(value) is str else _without_content(value, is_amount=name in amounts)
            for name, value in record.items()
        }
        readable: dict[str, Any] = {name: value for name, value in values.items() if value is not None and value != ""}
        readable |= {f"{name}?": True for name in readable}
        found = of_all.copy()
        for name, rank, errors in memo_of_fields:
            value = values.get(name)
            if value not in errors:
                errors[value] = inputs.check_field(schema, name, value)
            if (error := errors[value]) is not None:
                found.append((rank, error))
                readable.pop(name, None)  # rules read only what can be sent
        get = readable.get
        for reads, rules, results in memo_of_rules:
            if get(reads[0]) is None:
                continue
            arguments = tuple(map(get, reads))
            if arguments not in results:
                results[arguments] = [
                    (rank, rule.finding(result))
                    for rank, rule in rules
                    if (result := rule.checker(*arguments)) is not False and rule.code not in ignored
                ]
            found += results[arguments]
        yield [finding for _, finding in sorted(found, key=_RANK)]


_Ranked = tuple[Rank, Finding]
_RANK = itemgetter(0)


def _without_content(value: Any, *, is_amount: bool) -> Hashable:
    """Return a key of a value: values with equal keys have equal findings.

    Text is returned as it is, and None for a blank cell. Other values become a placeholder of their kind, except that
    an amount keeps its number.
    """
    value = inputs.unwrap_secret(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Number) and not isinstance(value, bool):
        return value if is_amount else _NUMBER
    return _DATE if hasattr(value, "strftime") else _OTHER


# All findings, as a DataFrame

_RULE_COLUMNS = ("code", "about", "fields", "severity", "message", "hint", "basis")
_ABOUT = {PAYER.name: "payer", BANK_DETAILS.name: "bank details", PAYMENT_ORDER.name: "order"}
_UNNAMED = "…"


def rules() -> pd.DataFrame:
    """Return all findings that the checks of payers, bank details, orders and tables know. Nothing is checked.

    The errors of single fields by the specification, such as a missing one, are left out: `help(Payer)` has the fields.

    Returns:
        One row per code and wording, errors first: `code`, which `ignore=` of the checks takes unless it is an error,
        or about an order or a table; `about`, "payer", "bank details", "order" or "table", which only a plan or a run
        finds; `fields`, the names of the fields that may have the finding, separated by commas, "" for a row as a
        whole; `severity`, `message`, `hint` and `basis` as in a finding, with … for what
        depends on the record. All columns are `string`.

    Example:
        >>> table = rules()
        >>> table.loc[table["code"] == "iban_checksum", ["about", "fields", "severity"]].to_dict("records")
        [{'about': 'bank details', 'fields': 'iban', 'severity': 'warning'}]
    """
    of_records = (row for schema in (PAYER, BANK_DETAILS, PAYMENT_ORDER) for row in _rows_of(schema))
    rows = sorted([*of_records, *_rows_of_orders(), *_rows_of_tables()], key=lambda row: row[3] != "error")
    return frame_of(rows, dict.fromkeys(_RULE_COLUMNS, "string"))


def _rows_of(schema: Schema) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a schema: rules of one message and hint together."""
    for same in grouped(((rule.code, rule.message, rule.hint), rule) for rule in load_rules(schema.name)).values():
        first = same[0]
        fields = ", ".join(dict.fromkeys(item.field for item in same))
        basis = "; ".join(dict.fromkeys(item.basis for item in same))
        message, hint = (str(Wording(text.replace("{}", _UNNAMED))) for text in (first.message, first.hint))
        yield first.code, _ABOUT[schema.name], fields, first.severity, message, hint, basis


def _rows_of_orders() -> Iterator[tuple[str, ...]]:
    """Yield the rows of what is found only in an order."""
    for kind in order_findings().values():
        message, hint = (re.sub(r"\{\w+\}", _UNNAMED, kind[name]) for name in ("message", "hint"))
        fields = ", ".join(kind["fields"].split())
        yield kind["code"], _ABOUT[PAYMENT_ORDER.name], fields, kind["severity"], message, hint, kind["basis"]


def _rows_of_tables() -> Iterator[tuple[str, ...]]:
    """Yield the rows of what is found only in a table."""
    for code in table_findings():
        found = table_finding(code, None, _UNNAMED, _UNNAMED)
        yield code, "table", found.field, found.severity, found.message, found.hint, found.basis
