"""Findings about rows of a table, which no check of a single record has."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import cast

from payerkit import _tsv
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
    name = kind["field"] if field is None else field
    return Finding(
        field=name,
        wire_name=wire_name(name),
        message=kind["message"].format(*values),
        code=code,
        severity=cast("Severity", kind["severity"]),
        hint=kind["hint"].format(*values),
        basis=kind["basis"],
    )


def naming_rows(finding: Finding, rows: str) -> Finding:
    """Return a finding about a row that says which other rows it is about, such as "row 7"."""
    return replace(finding, message=f"{finding.message.removesuffix('.')}: see {rows}.")


def general(finding: Finding) -> Finding:
    """Return a finding without the other rows that it names: equal for all findings of one kind."""
    message = _KINDS[finding.code]["message"] if finding.code in _KINDS else ""
    names_rows = message and finding.message.startswith(f"{message.removesuffix('.')}: see ")
    return replace(finding, message=message) if names_rows else finding
