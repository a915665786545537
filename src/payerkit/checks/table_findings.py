"""Findings about rows of a table, which no check of a single record has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

from payerkit import _tsv
from payerkit._tsv import rows
from payerkit.findings import Finding, Severity
from payerkit.wire import wire_name

_KINDS = {row["code"]: row for row in _tsv.rows("payerkit.checks", "table_findings")}

TABLE_FINDING_CODES = tuple(_KINDS)


@cache
def table_finding(code: str, field: str | None = None, *values: str) -> Finding:
    """Return the finding with a code.

    field: what it is about, if not the field that `table_findings.tsv` names. values: the texts for {0} and {1}.
    """
    kind = _KINDS[code]
    return finding_of_kind(kind, kind["field"] if field is None else field, kind["basis"], *values)


def finding_of_kind(kind: Mapping[str, str], field: str, basis: str, *values: str) -> Finding:
    """Return a finding as a row of a table of findings has it: code, severity, message and hint."""
    return Finding(
        field=field,
        wire_name=wire_name(field),
        message=kind["message"].format(*values),
        code=kind["code"],
        severity=cast("Severity", kind["severity"]),
        hint=kind["hint"].format(*values),
        basis=basis,
    )


def naming_rows(finding: Finding, rows: str) -> Finding:
    """Return a finding about a row that says which other rows it is about, such as "row 7"."""
    return replace(finding, message=f"{finding.message.removesuffix('.')}: see {rows}.")


@dataclass(frozen=True, slots=True)
class OrderFindingKind:
    """A row of `order_findings.tsv`. fields: its subjects. text: the finding, with {} for values of the order."""

    fields: tuple[str, ...]
    text: Finding


@cache
def _kinds() -> Mapping[str, OrderFindingKind]:
    return {row["key"]: _kind(row) for row in rows(__package__, "order_findings")}


def _kind(row: dict[str, str]) -> OrderFindingKind:
    fields = tuple(row["fields"].split())
    text = Finding(
        field=fields[0],
        wire_name=wire_name(fields[0]),
        severity=cast("Severity", row["severity"]),
        code=row["key"].partition(".")[0],
        message=row["message"],
        hint=row["hint"],
        basis=row["basis"],
    )
    return OrderFindingKind(fields, text)


def order_finding(key: str, *, field: str = "", **values: object) -> Finding:
    """Return the finding with a key. field: one of its fields, if it has several. values: the texts for {}."""
    kind = _kinds()[key].text
    name = field or kind.field
    message, hint = kind.message.format(**values), kind.hint.format(**values)
    return replace(kind, field=name, wire_name=wire_name(name), message=message, hint=hint)


@cache
def ignorable_order_codes() -> frozenset[str]:
    """Return the codes of the warnings and infos."""
    return frozenset(kind.text.code for kind in _kinds().values() if kind.text.severity != "error")


def all_order_findings(unnamed: str) -> Iterator[tuple[tuple[str, ...], Finding]]:
    """Yield all findings of the table with their fields; a text replaces the values of the order."""
    for kind in _kinds().values():
        message, hint = (re.sub(r"\{\w+\}", unnamed, text) for text in (kind.text.message, kind.text.hint))
        yield kind.fields, replace(kind.text, message=message, hint=hint)
