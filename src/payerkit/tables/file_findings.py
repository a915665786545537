"""Findings about cells of a file: found by reading it, and nowhere else."""

from __future__ import annotations

from functools import cache
from typing import cast

from payerkit import _tsv
from payerkit.findings import Finding, Severity
from payerkit.wire import wire_name

BASIS = "file"
"""The basis of these findings."""

_KINDS = {row["code"]: row for row in _tsv.rows("payerkit.tables", "file_findings")}

FILE_FINDING_CODES = tuple(_KINDS)


@cache
def file_finding(code: str, field: str, *values: str) -> Finding:
    """Return the finding with a code about a field. values: the texts for {0} and {1}."""
    kind = _KINDS[code]
    return Finding(
        field=field,
        wire_name=wire_name(field),
        message=kind["message"].format(*values),
        code=code,
        severity=cast("Severity", kind["severity"]),
        hint=kind["hint"].format(*values),
        basis=BASIS,
    )
