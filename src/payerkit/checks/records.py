"""Check payers and bank details before they are sent: one, or all rows of a table."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import (
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import cache, partial
from itertools import repeat
from numbers import Number
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from payerkit._tsv import grouped
from payerkit.cells import unwrap_secret
from payerkit.checks import (
    national,  # noqa: F401 - its rules, and those of banks and requirements
    people,  # noqa: F401 - its rules, and those of places and texts
)
from payerkit.checks.rules import RULES, TEXTS, Checker, Rule
from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.findings import (
    Finding,
    Findings,
    order_findings,
    table_findings,
)
from payerkit.frames import frame_of
from payerkit.models.base import RequestModel
from payerkit.models.fields import check_field, fields_of, names_of
from payerkit.models.formats import GOT_A_NUMBER
from payerkit.models.names import by_field_name, match_names, unknown_names
from payerkit.models.requests import SPECIFIED, BankDetails, Payer, PaymentOrder

if TYPE_CHECKING:
    import pandas as pd


_NUMBER = 0
_DATE = dt.date.min
_OTHER = ()
"""The placeholders of numbers, dates and all other values that are not text."""


@without_internal_frames
def check_payer(payer: Any, *, ignore: Iterable[str] = ()) -> Findings:
    """Check a payer for what the service or its compliance check would reject or
    question; nothing is sent.

    Errors are violations of the specification, and `create_payer` refuses them.
    Warnings and infos do not stop it.

    Args:
        payer: A `Payer`, or a dict or table row with field names as here (`last_name`)
            or on the wire (`lastName`).
        ignore: A code, or codes, of warnings and infos to leave out. Errors cannot be
            ignored.

    Returns:
        The findings in the order of the fields; empty if there are none.

    Raises:
        InvalidInput: `payer` is not a payer, or `ignore` has a code that is not one of
            a payer's warnings and infos.

    Example:
        >>> check_payer({**payer, "country": "UK"})
        1 warning.
          warning  country: Not an ISO 3166-1 code. Write GB.  [country_habit: ISO
          3166-1]
    """
    return check_record(Payer, payer, ignore)


@without_internal_frames
def check_bank_details(details: Any, *, ignore: Iterable[str] = ()) -> Findings:
    """Check bank details for what the service or a bank would reject or question;
    nothing is sent.

    Errors are violations of the specification, and `create_payment_detail` refuses
    them. Warnings and infos do not stop it.

    Args:
        details: `BankDetails`, or a dict or table row with field names as here
            (`bank_name`) or on the wire (`bankName`).
        ignore: A code, or codes, of warnings and infos to leave out. Errors cannot be
            ignored.

    Returns:
        The findings in the order of the fields; empty if there are none.

    Raises:
        InvalidInput: `details` are not bank details, or `ignore` has a code that is not
            one of their warnings and infos.

    Example:
        >>> check_bank_details({**details, "routingNumber": "26013356"}).to_frame()[
        ...     ["field", "code"]
        ... ]
                    field               code
        0  routing_number  routing_zero_lost
    """
    return check_record(BankDetails, details, ignore)


@without_internal_frames
def check_payers(frame: pd.DataFrame, *, ignore: Iterable[str] = ()) -> pd.DataFrame:
    """Check each row of a table as `check_payer` does; nothing is sent.

    For a Dask DataFrame, use `frame.map_partitions(check_payers,
    clear_divisions=True)`.

    Args:
        frame: One payer per row, with column names as here (`last_name`) or on the wire
            (`lastName`). Columns of bank details are skipped, and in a table that has
            both, such as `read_payers` returns, rows without a payer.
        ignore: A code, or codes, of warnings and infos to leave out. Errors cannot be
            ignored.

    Returns:
        One row per finding, in the order of the rows and of their fields: `row`, the
        label in the index of `frame`, with its dtype, and `field`, `wire_name`,
        `severity`, `code`, `message`, `hint` and `basis`, all `string`.

    Raises:
        InvalidInput: `frame` is not a DataFrame, has an unknown column, or `ignore` has
            a code that is not one of a payer's warnings and infos.

    Example:
        >>> table = pd.DataFrame([payer, {**payer, "country": "UK"}])
        >>> check_payers(table)[["row", "field", "severity", "hint"]]
           row    field severity       hint
        0    1  country  warning  Write GB.
    """
    return _check(Payer, frame, ignore)


@without_internal_frames
def check_all_bank_details(
    frame: pd.DataFrame, *, ignore: Iterable[str] = (), given_only: bool = False
) -> pd.DataFrame:
    """Check each row of a table as `check_bank_details` does; nothing is sent.

    For a Dask DataFrame, use `frame.map_partitions(check_all_bank_details,
    clear_divisions=True)`.

    Args:
        frame: One bank account per row, with column names as here (`bank_name`) or on
            the wire (`bankName`). Columns of payers are skipped, and in a table that
            has both, such as `read_payers` returns, rows without an account.
        ignore: A code, or codes, of warnings and infos to leave out. Errors cannot be
            ignored.
        given_only: Check the values that the table has, and ask for no others: of
            columns that are named as `read_bank_details` knows them, such as "IBAN" and
            "BIC". Other columns are skipped.

    Returns:
        One row per finding, in the order of the rows and of their fields: `row`, the
        label in the index of `frame`, with its dtype, and `field`, `wire_name`,
        `severity`, `code`, `message`, `hint` and `basis`, all `string`.

    Raises:
        InvalidInput: `frame` is not a DataFrame, has an unknown column, or `ignore` has
            a code that is not one of the warnings and infos of bank details; with
            `given_only`, if no column is one of bank details.

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
    found = _check(BankDetails, given, ignore)
    return (
        found[found["field"].isin(given.columns)].reset_index(drop=True)
        if given_only
        else found
    )


def _given(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of bank details in a table, named by field. Raises
    InvalidInput if there are none.
    """
    from payerkit.tables.mapping import account_fields  # noqa: PLC0415 - loaded for this alone

    fields = account_fields(frame.columns)
    if not fields:
        raise InvalidInput(
            "No column is one of bank details, such as IBAN, BIC or Account number.",
            advice=_FIND,
        )
    return frame.iloc[:, list(fields)].set_axis(list(fields.values()), axis=1)


_FIND = (
    'Rename yours, such as table.rename(columns={"Konto": "iban"}). read_payers(file)'
    " finds a header below a title."
)


def _check(
    model: type[RequestModel], frame: pd.DataFrame, ignore: Iterable[str]
) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415 - pandas takes 25 times as long to import as payerkit

    from payerkit.tables.mapping import own_rows  # noqa: PLC0415 - loaded for tables alone

    if not isinstance(frame, pd.DataFrame):
        message = (
            f"Expected a DataFrame with one {model.__name__} per row, got"
            f" {kind_of(frame)}."
        )
        advice = "read_payers(file) reads a file."
        if type(frame).__module__.startswith("dask"):
            function = _FOR_TABLES[model]
            advice = f"Of Dask: frame.map_partitions({function}, clear_divisions=True)."
        raise InvalidInput(message, advice=advice)
    frame = own_rows(model, frame)
    places, twice, unknown = match_names(model, frame.columns)
    unknown = [
        name
        for name in unknown
        if not any(name in names_of(other) for other in SPECIFIED)
    ]
    if unknown:
        problems = unknown_names(model, unknown, is_headless=not places)
        raise InvalidInput(
            f"{model.__name__}: unknown columns. Rename or drop them.",
            fields=tuple(problems),
        )
    columns = [frame.iloc[:, place].tolist() for place in places.values()]
    cells = zip(*columns, strict=True) if columns else repeat((), len(frame))
    records = (dict(zip(places, row, strict=True)) for row in cells)
    rows = []
    found = []
    ignored = ignored_codes(model, ignore)
    for row, findings in enumerate(check_records(model, records, ignored, twice)):
        rows += [row] * len(findings)
        found += [
            replace(finding, hint=hint_for_column(finding, _READ_AS_TEXT))
            for finding in findings
        ]
    table = Findings(found).to_frame()
    table.insert(0, "row", frame.index.take(rows))
    return table


_FOR_TABLES: Mapping[type[RequestModel], str] = {
    Payer: "check_payers",
    BankDetails: "check_all_bank_details",
}
_READ_AS_TEXT = "Read the column with dtype=str."
_DAMAGED_IN_TABLES = {"spreadsheet_number", "postal_zero_lost", "routing_zero_lost"}
"""The codes of what happens to a number in a column that is not text."""


def hint_for_column(finding: Finding, advice: str) -> str:
    """Return the hint of a finding in a table, with advice for a column that is not
    text.
    """
    is_number = finding.message == GOT_A_NUMBER
    if is_number or finding.code in _DAMAGED_IN_TABLES:
        return f"{finding.hint} {advice}"
    return finding.hint


def check_record(
    model: type[RequestModel], record: Any, ignore: Iterable[str] = ()
) -> Findings:
    """Return the errors and the findings of the rules about a record, in the order of
    the fields.

    Raises InvalidInput, as `check_payer` documents it.
    """
    ignored = ignored_codes(model, ignore)
    values, findings = by_field_name(model, as_mapping(model, record))
    return Findings(next(check_records(model, [values], ignored, findings)))


def in_order(model: type[RequestModel], findings: Iterable[Finding]) -> Findings:
    """Return findings in the order of the fields that they are about."""
    order = {name: position for position, name in enumerate(fields_of(model))}
    return Findings(
        sorted(findings, key=lambda finding: order.get(finding.field, len(order)))
    )


def as_mapping(model: type[RequestModel], record: Any) -> Mapping[Any, Any]:
    """Return the fields of a model, dict, table row or named tuple by their names."""
    kind = kind_of(record)
    if isinstance(record, RequestModel) and not isinstance(record, model):
        raise InvalidInput(f"Expected a {model.__name__}, got {kind}.")
    if hasattr(record, "columns"):
        many = _FOR_TABLES.get(model)
        advice = f" For a table, use {many}." if many else ""
        raise InvalidInput(
            f"Expected one {model.__name__}, such as a row, got {kind}.{advice}"
        )
    if callable(getattr(record, "keys", None)):  # a dict, or a row of a DataFrame
        return record if isinstance(record, Mapping) else dict(record)
    fields = {
        name: getattr(record, str(name))
        for name in names_of(model)
        if hasattr(record, str(name))
    }
    if not fields:
        raise InvalidInput(
            f"Expected a {model.__name__} or a dict of its fields, got {kind}."
        )
    return fields


Rank = tuple[int, int]
"""By which the findings of a record are sorted: the place of the field, and that of the
rule.
"""

_RANK = itemgetter(0)


@dataclass(frozen=True, slots=True)
class FieldRule:
    """A rule as it checks one field of a model. reads: the fields that it needs."""

    rule: Rule
    field: str
    rank: Rank
    reads: tuple[str, ...]
    checker: Checker

    def find(self, arguments: tuple[Any, ...]) -> Finding | None:
        """Return the finding for the values of what is read; None if they pass."""
        result = self.checker(*arguments)
        if result is None or result is False:
            return None
        return self.rule.finding(self.field, {} if result is True else result)


@cache
def rules_of(model: type[RequestModel]) -> list[FieldRule]:
    """Return the rules of a model, once for each field that they check."""
    order = {name: position for position, name in enumerate(fields_of(model))}
    found = []
    for position, rule in enumerate(RULES):
        if rule.only not in {"", model.__name__}:
            continue
        for field in _fields_of(rule, model):
            checker = rule.checker
            reads = [field if name == "value" else name for name in rule.parameters]
            if "field" in reads:
                reads.remove("field")
                checker = partial(checker, field=field)
            rank = (order[field], position)
            found.append(FieldRule(rule, field, rank, tuple(reads), checker))
    return found


def _fields_of(rule: Rule, model: type[RequestModel]) -> Iterator[str]:
    """Yield the fields of a model that a rule checks."""
    for name, field in fields_of(model).items():
        is_text = TEXTS in rule.fields and field.has_any_text
        if name in rule.fields or field.kind in rule.kinds or is_text:
            yield name


def ignored_codes(model: type[RequestModel], ignore: Iterable[str]) -> Collection[str]:
    """Return the codes of findings to leave out. Raises InvalidInput for one that no
    warning or info has.
    """
    if not isinstance(ignore, str | list | tuple | set | frozenset):
        raise InvalidInput(
            "ignore: expected a finding code or a list of codes, got"
            f" {kind_of(ignore)}."
        )
    codes = [ignore] if isinstance(ignore, str) else list(ignore)
    if not codes:
        return ()
    known = {each.rule.code for each in rules_of(model)}
    unknown = [code for code in codes if not isinstance(code, str) or code not in known]
    if unknown:
        listed = ", ".join(repr(code) for code in unknown)
        raise InvalidInput(f"ignore: not the code of a warning or info: {listed}.")
    return codes


def check_records(
    model: type[RequestModel],
    records: Iterable[Mapping[str, Any]],
    ignored: Collection[str] = (),
    each: Iterable[Finding] = (),
) -> Iterator[list[Finding]]:
    """Yield the findings of each record, in the order of the fields.

    Fields are checked once for each value, and rules once for each combination of the
    values that they read. ignored: codes of rules that find nothing. each: findings
    that every record has.
    """
    ranks = {name: (place, -1) for place, name in enumerate(fields_of(model))}
    last = (len(ranks), -1)
    of_all = [(ranks.get(finding.field, last), finding) for finding in each]
    errors_of_fields: dict[str, dict[Hashable, Finding | None]]
    errors_of_fields = {name: {} for name in ranks}
    by_reads = _rules_by_reads(model, frozenset(ignored))
    groups = [_Group(reads, rules) for reads, rules in by_reads.items()]
    for record in records:
        values = _without_contents(model, record)
        readable: dict[str, Any] = {
            name: value
            for name, value in values.items()
            if value is not None and value != ""
        }
        readable["given"] = frozenset(readable)
        found = of_all.copy()
        for name, errors in errors_of_fields.items():
            value = values.get(name)
            if value not in errors:
                errors[value] = check_field(model, name, value)
            error = errors[value]
            if error is not None:
                found.append((ranks[name], error))
                readable.pop(name, None)  # Rules read only what can be sent.
        for group in groups:
            if group.reads[0] in readable:
                found += group.find(readable)
        yield [finding for _, finding in sorted(found, key=_RANK)]


@dataclass(slots=True)
class _Group:
    """The rules that read the same fields, and what they found for their values."""

    reads: tuple[str, ...]
    rules: Sequence[FieldRule]
    known: dict[tuple[Any, ...], list[tuple[Rank, Finding]]] = dataclass_field(
        default_factory=dict
    )

    def find(self, readable: Mapping[str, Any]) -> list[tuple[Rank, Finding]]:
        """Return the ranked findings about a record, by its values that can be sent."""
        arguments = tuple([readable.get(name) for name in self.reads])
        known = self.known.get(arguments)
        if known is None:
            known = self.known[arguments] = []
            for rule in self.rules:
                finding = rule.find(arguments)
                if finding is not None:
                    known.append((rule.rank, finding))
        return known


@cache
def _rules_by_reads(
    model: type[RequestModel], ignored: frozenset[str]
) -> Mapping[tuple[str, ...], Sequence[FieldRule]]:
    """Return the rules of a model, without those of ignored codes, by what they
    read.
    """
    rules = [rule for rule in rules_of(model) if rule.rule.code not in ignored]
    return grouped((rule.reads, rule) for rule in rules)


def _without_contents(
    model: type[RequestModel], record: Mapping[str, Any]
) -> dict[str, Hashable]:
    """Return the values of a record as keys: values with equal keys have equal
    findings.
    """
    values: dict[str, Hashable] = {}
    for name, value in record.items():
        if type(value) is str:  # the usual case
            values[name] = value
        else:
            is_amount = fields_of(model)[name].kind == "amount"
            values[name] = _without_content(value, is_amount=is_amount)
    return values


def _without_content(value: Any, *, is_amount: bool) -> Hashable:
    """Return a key of a value: values with equal keys have equal findings.

    Text is returned as it is, and None for a blank cell. Other values become a
    placeholder of their kind, except that an amount keeps its number.
    """
    value = unwrap_secret(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Number) and not isinstance(value, bool):
        return value if is_amount else _NUMBER
    return _DATE if hasattr(value, "strftime") else _OTHER


# All findings, as a DataFrame

_RULE_COLUMNS = ("code", "about", "fields", "severity", "message", "hint", "basis")
_RULE_TRAITS = ("code", "severity", "message", "hint", "basis")
_ABOUT = {
    Payer.__name__: "payer",
    BankDetails.__name__: "bank details",
    PaymentOrder.__name__: "order",
}


def rules() -> pd.DataFrame:
    """Return all findings that the checks of payers, bank details, orders and tables
    know. Nothing is checked.

    The errors of single fields by the specification, such as a missing one, are left
    out: `help(Payer)` has the fields.

    Returns:
        One row per code and wording, errors first: `code`, which `ignore=` of the
        checks takes unless it is an error, or about an order or a table; `about`,
        "payer", "bank details", "order" or "table", which only a plan or a run finds;
        `fields`, the names of the fields that may have the finding, separated by
        commas, "" for a row as a whole; `severity`, `message`, `hint` and `basis` as in
        a finding, with … for what depends on the record. All columns are `string`.

    Example:
        >>> table = rules()
        >>> table.loc[
        ...     table["code"] == "iban_checksum", ["about", "fields", "severity"]
        ... ].to_dict("records")
        [{'about': 'bank details', 'fields': 'iban', 'severity': 'warning'}]
    """
    rows = []
    for model in (Payer, BankDetails, PaymentOrder):
        fields = grouped((each.rule.code, each.field) for each in rules_of(model))
        rules_by_code = {each.rule.code: each.rule for each in rules_of(model)}
        for code, rule in rules_by_code.items():
            texts = {name: getattr(rule, name) for name in _RULE_TRAITS}
            rows.append(_row_of(texts, _ABOUT[model.__name__], fields[code]))
    for kind in order_findings().values():
        rows.append(_row_of(kind, "order", kind["fields"].split()))
    for kind in table_findings().values():
        rows.append(_row_of(kind, "table", kind["field"].split()))
    rows.sort(key=lambda row: row[3] != "error")
    return frame_of(rows, dict.fromkeys(_RULE_COLUMNS, "string"))


def _row_of(
    kind: Mapping[str, str], about: str, fields: Iterable[str]
) -> tuple[str, ...]:
    """Return the row of a kind of findings, with … for what depends on the record."""
    message = re.sub(r"\{\w+\}", "…", kind["message"])
    hint = re.sub(r"\{\w+\}", "…", kind["hint"])
    names = ", ".join(fields)
    return kind["code"], about, names, kind["severity"], message, hint, kind["basis"]
