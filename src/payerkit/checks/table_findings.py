"""Findings about rows of a table, which no check of a single record has."""

from __future__ import annotations

from collections.abc import Mapping
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


def general(finding: Finding) -> Finding:
    """Return a finding without the other rows that it names: equal for all findings of one kind."""
    message = _KINDS[finding.code]["message"] if finding.code in _KINDS else ""
    names_rows = message and finding.message.startswith(f"{message.removesuffix('.')}: see ")
    return replace(finding, message=message) if names_rows else finding
