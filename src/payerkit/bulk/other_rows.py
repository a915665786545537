"""Rows of a table against each other: one account of two payers, one person under two ids, a payer without account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from payerkit.bulk.findings_by_row import FindingsByRow, Rows, Step
from payerkit.bulk.holder import Flags
from payerkit.bulk.naming import shown_id
from payerkit.bulk.row_hashes import Hashes, RowHashes
from payerkit.checks.table_findings import naming_rows, table_finding
from payerkit.findings import Finding

_NAMED = 3
"""Rows that a finding names."""

_MOST_GROUPS = 10_000
"""Groups whose rows are named: each has findings of its own, which take memory."""

Told = list[tuple[Finding, Rows]]


@dataclass(frozen=True, slots=True)
class OtherRows:
    """Tells rows about other rows, by their labels."""

    labels: pd.Index[Any]

    def differing(self, found: Finding, rows: Rows, groups: npt.NDArray[Any], members: npt.NDArray[Any]) -> Told:
        """Return a finding for each row in whose group are rows of other members, naming the first row of each.

        groups, members: for each of these rows, its group, and what it is in the group.
        """
        order = np.lexsort((rows, members, groups))
        rows, groups, members = rows[order], groups[order], members[order]
        starts = np.flatnonzero(_changes(groups) | _changes(members))  # of each member
        bounds = np.append(starts, len(rows))
        own_groups = np.flatnonzero(_changes(groups[starts]))  # of each group, among the members
        sizes = np.diff(np.append(own_groups, len(starts)))
        several = np.flatnonzero(sizes > 1)
        firsts = np.minimum.reduceat(rows[starts], own_groups)[several] if len(several) else several
        several = several[np.argsort(firsts)]
        told: Told = []
        for start, size in zip(own_groups[several[:_MOST_GROUPS]], sizes[several[:_MOST_GROUPS]], strict=True):
            told += self._tell_group(found, rows, bounds[start : start + size + 1])
        is_unnamed = np.zeros(len(sizes), bool)
        is_unnamed[several[_MOST_GROUPS:]] = True
        group_of_rows = np.cumsum(_changes(groups)) - 1
        return [*told, (found, rows[is_unnamed[group_of_rows]])]

    def _tell_group(self, found: Finding, rows: Rows, bounds: Rows) -> Iterator[tuple[Finding, Rows]]:
        """Yield a finding for each of the first members, which names the others, and one for the rest."""
        firsts = rows[bounds[:-1]]
        members = np.argsort(firsts)[: _NAMED + 1]
        others = len(firsts) - 1
        for member in members[:_NAMED]:
            named = firsts[members[members != member][:_NAMED]]
            yield self._naming(found, named, others), rows[bounds[member] : bounds[member + 1]]
        if len(firsts) > _NAMED:
            is_rest = np.ones(bounds[-1] - bounds[0], bool)
            for member in members[:_NAMED]:
                is_rest[bounds[member] - bounds[0] : bounds[member + 1] - bounds[0]] = False
            yield self._naming(found, firsts[members[:_NAMED]], others), rows[bounds[0] : bounds[-1]][is_rest]

    def replaced(self, found: Finding, rows: Rows, by: Rows) -> Told:
        """Return a finding for each row, naming the one row in its place. by: that row, for each of these."""
        order = np.lexsort((rows, by))
        rows, by = rows[order], by[order]
        bounds = np.append(np.flatnonzero(_changes(by)), len(rows))
        parts = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
        told = [(self._naming(found, by[start : start + 1], 1), rows[start:end]) for start, end in parts[:_MOST_GROUPS]]
        rest = rows[parts[_MOST_GROUPS][0] :] if len(parts) > _MOST_GROUPS else rows[:0]
        return [*told, (found, rest)]

    def _naming(self, found: Finding, named: Rows, number: int) -> Finding:
        """Return a finding that names some of a number of rows."""
        shown = [str(shown_id(label)) for label in self.labels.take(named)]
        more = number - len(shown)
        *first, last = [*shown, f"{more:,} more"] if more else shown
        listed = f"{', '.join(first)} and {last}" if first else last
        return naming_rows(found, f"row{'s' * (number > 1)} {listed}")


def find_shared(
    others: OtherRows, payers: Rows, filled: Mapping[Step, Flags], hashes: RowHashes, errors: FindingsByRow
) -> list[FindingsByRow]:
    """Return warnings of rows that share with those of another payer what two payers hardly share.

    payers: the number of each row's payer, -1 without an id. filled: for each step, which rows have data for it.
    errors: a cell with one is not compared.
    """
    kinds: list[tuple[str, str, Step, Hashes]] = [
        ("email_shared", "email", "payer", hashes.email),
        ("ssn_shared", "ssn", "payer", hashes.ssn),
        ("account_shared", "iban", "bank_details", hashes.iban),
        ("account_shared", "account_number", "bank_details", hashes.number),
    ]
    found = []
    for code, field, step, shared in kinds:
        is_given = filled[step] & (payers >= 0) & (shared != 0)
        is_given[errors.about([field]).rows] = False
        rows = np.flatnonzero(is_given)
        rows = rows[pd.Series(shared[rows]).duplicated(keep=False).to_numpy(bool)]
        told = others.differing(table_finding(code, field), rows, shared[rows], payers[rows])
        found.append(FindingsByRow.of(told, step))
    return found


def find_without_account(payers: Rows, filled: Mapping[Step, Flags]) -> FindingsByRow:
    """Return warnings of payers of whom the table has no account, though it has one of most payers."""
    given = payers >= 0
    described, owners = (np.unique(payers[filled[step] & given]) for step in ("payer", "bank_details"))
    without = np.setdiff1d(described, owners, assume_unique=True)
    is_odd = 2 * len(without) < len(described)
    rows = np.flatnonzero(filled["payer"] & np.isin(payers, without)) if is_odd else np.empty(0, np.int32)
    return FindingsByRow.of([(table_finding("no_account"), rows)], "payer")


def _changes(values: npt.NDArray[Any]) -> Flags:
    """Return an array: for each value, whether it is the first, or another than the one before."""
    changes = np.ones(len(values), bool)
    changes[1:] = values[1:] != values[:-1]
    return changes
