"""Findings about cells of a file: found by reading it, and nowhere else."""

from __future__ import annotations

from functools import cache

from payerkit import _tsv
from payerkit.checks.table_findings import finding_of_kind
from payerkit.findings import Finding

BASIS = "file"
"""The basis of these findings."""

_KINDS = {row["code"]: row for row in _tsv.rows("payerkit.tables", "file_findings")}

FILE_FINDING_CODES = tuple(_KINDS)


@cache
def file_finding(code: str, field: str, *values: str) -> Finding:
    """Return the finding with a code about a field. values: the texts for {0} and {1}."""
    return finding_of_kind(_KINDS[code], field, BASIS, *values)
