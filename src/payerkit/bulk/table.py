"""The input table: checked where its rows are, then indexed by payer and account."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain, pairwise
from typing import Any, get_args

import numpy as np
import pandas as pd

from payerkit.bulk.cells import Cells
from payerkit.bulk.checked_rows import Placeholders, check_rows
from payerkit.bulk.duplicates import RowGroups
from payerkit.bulk.file_cells import find_in_cells, leave_out_damaged
from payerkit.bulk.findings_by_row import FindingsByRow, Rows, Step
from payerkit.bulk.holder import Flags
from payerkit.bulk.naming import Naming
from payerkit.bulk.other_rows import OtherRows, Told, find_shared, find_without_account
from payerkit.bulk.row_hashes import ID, Hashes, RowHashes
from payerkit.checks.rulebook import load_rules
from payerkit.checks.schema import BANK_DETAILS, PAYER
from payerkit.checks.table_findings import TABLE_FINDING_CODES, table_finding
from payerkit.errors import InvalidInput, kind_of
from payerkit.tables.damage import FILE_FINDING_CODES, file_finding
from payerkit.tables.source_table import origin_of

__all__ = ["Step", "Table"]

_NEAR_DUPLICATE, _EXAMPLE = "near_duplicate", "example_row"

_ALL = "warnings"
"""Says that rows are kept back for any warning."""


class Table:
    """The rows by number, 0 for the first; `labels` are the caller's index.

    payers: the number of each row's payer, -1 without an id; ids that are near duplicates are one payer. order: the
    rows sorted by payer, payers as they first occur; rows are read fast in this order. found: the findings, by row.
    blocked: rows with errors, which are not sent. held: other rows, with a warning for which they are kept back.
    without_payer: other rows whose payer, in another row, is blocked or held. origin: the file of the table. naming:
    what rows and columns are called in it. holder_is_payer: account holders without columns of their own are the
    payers. hold: "warnings", or codes of warnings. placeholders: what N/A and others are. takes_examples: the rows of a
    template are no error. Raises InvalidInput for anything but a table of rows to send.
    """

    def __init__(
        self,
        rows: Any,
        steps: tuple[Step, ...] = ("payer", "bank_details"),
        *,
        holder_is_payer: bool = False,
        hold: str | Collection[str] = (),
        placeholders: Placeholders = "error",
        takes_examples: bool = False,
    ) -> None:
        if not isinstance(holder_is_payer, bool):
            raise InvalidInput("holder_is_payer: expected True or False.")
        codes = _checked_codes(hold)
        if placeholders not in get_args(Placeholders):
            raise InvalidInput('placeholders: expected "error" or "keep".')
        part = check_rows(rows, steps, holder_is_payer=holder_is_payer, placeholders=placeholders)
        self.labels, self._ids = part.labels, part.ids
        self.columns: Mapping[Step, Mapping[str, str]] = part.columns
        self._filled = part.filled
        self.payers = _number(part.hashes.id)
        self.order = np.argsort(self.payers, kind="stable").astype(np.int32)
        self._written = self._find_spellings(part.hashes.written_id)
        self._spellings = {payer: _usual(texts) for payer, texts in self._written.items()}
        of_cells = FindingsByRow.join(find_in_cells(rows, self.columns, self._filled))
        found = FindingsByRow.join([of_cells, leave_out_damaged(part.found, of_cells, self.columns)])
        is_example = self._flags(found.with_codes([_EXAMPLE]))
        others, comparable = OtherRows(self.labels), np.where(is_example, -1, self.payers)
        shared = find_shared(others, comparable, self._filled, part.hashes, found.of_severity("error"))
        if takes_examples:
            found = found.without_codes([_EXAMPLE])
        self._index_rows(part.hashes, FindingsByRow.join([found, *shared]), codes)
        self.origin = origin_of(rows)
        self.naming = Naming.of(rows, self.columns, self.labels, self.found)
        self._cells = Cells(rows, steps, self.order, part.hashes.content, holder_is_payer=holder_is_payer)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that the table has columns for, in the order in which they are sent."""
        return tuple(self.columns)

    @property
    def findings(self) -> pd.DataFrame:
        """The findings: one row per finding, with the number of its row, and its step."""
        return self.found.frame()

    def rows_with(self, step: Step) -> Flags:
        """Return an array: for each row, whether it has data for a step."""
        return self._filled[step]

    def rows_to_send(self, step: Step) -> Flags:
        """Return an array: for each row, whether it has data for a step and is neither blocked nor held."""
        return self.rows_with(step) & ~self.blocked & ~self.held

    def client_user_id(self, row: int) -> str | None:
        """Return the client user id of a row, as it is sent: near duplicates are written alike."""
        payer = int(self.payers[row])
        return None if payer < 0 else self._spellings.get(payer) or self._ids[row]

    def prefer_ids(self, is_known: Callable[[str], bool]) -> None:
        """Send an id that is written in several ways as it is known, if one of them is: as it was sent before."""
        for payer, texts in self._written.items():
            known = Counter({text: times for text, times in texts.items() if is_known(text)})
            self._spellings[payer] = _usual(known or texts)

    def payer_row(self, row: int) -> int:
        """Return the row that describes the payer of a row, preferably one that may be sent; -1 if no row does."""
        return int(self._payer_rows[self.payers[row]])

    def account_row(self, row: int) -> int:
        """Return the row that is sent for all rows with the same account of the same payer."""
        return int(self._account_rows[row])

    def values(self, step: Step, row: int) -> dict[str, Any]:
        """Return the data of a row for a step, by field name. Raises PayerkitError if the row can no longer be read."""
        block, place = self._cells.locate(row)
        cells = ((name, block[column][place]) for name, column in self.columns[step].items())
        values = {name: value for name, value in cells if value is not None}
        if ID in values:
            values[ID] = self._spellings.get(int(self.payers[row]), values[ID])
        return values

    def rows_by_payer(self) -> Iterator[Rows]:
        """Yield the rows of each payer, payers as they first occur; rows without an id are left out."""
        payers = self.payers[self.order]
        starts = np.flatnonzero(np.diff(payers, prepend=-1))
        for start, end in pairwise(chain(starts, [len(payers)])):
            yield self.order[start:end]

    def _find_spellings(self, written: Hashes) -> dict[int, Counter[str]]:
        """Return how often an id is written in which way, by the number of its payer, if there are several ways."""
        rows = self.order[self.payers[self.order] >= 0]
        differs = (np.diff(self.payers[rows]) == 0) & (np.diff(written[rows]) != 0)
        several = np.isin(self.payers[rows], self.payers[rows[1:][differs]])
        found: dict[int, Counter[str]] = {}
        for row in rows[several].tolist():
            found.setdefault(int(self.payers[row]), Counter())[self._ids[row]] += 1
        return found

    def _index_rows(self, hashes: RowHashes, found: FindingsByRow, held_codes: Collection[str]) -> None:
        """Find the rows that describe the same payer or account: which contradict each other, and which are sent."""
        rows = {step: np.flatnonzero(filled & (self.payers >= 0)) for step, filled in self._filled.items()}
        payers = RowGroups.of(rows["payer"], [self.payers], hashes.payer, hashes.like_payer)
        accounts = RowGroups.of(
            rows["bank_details"], [self.payers, hashes.account], hashes.details, hashes.like_details
        )
        others = OtherRows(self.labels)
        twice = FindingsByRow.of(_tell_twice(others, "id_twice", payers))
        contradictions = FindingsByRow.of(_tell_twice(others, "account_twice", accounts), "bank_details")
        lacking = find_without_account(self.payers, self._filled)
        found = FindingsByRow.join([found, twice, contradictions, lacking])
        self.blocked = self._flags(found.of_severity("error"))
        self.held = self._flags(found.with_codes(held_codes)) & ~self.blocked

        respelled = self._flag_respelled()
        accounts, spare = accounts.only(~self.blocked), 4 * self.blocked + 2 * self.held + respelled
        payer_rows, account_rows = payers.choose(spare), accounts.choose(spare)
        self._payer_rows = np.full(self.payers.max(initial=-1) + 2, -1, np.int32)  # the last one: of rows without an id
        self._payer_rows[self.payers[payers.rows]] = payer_rows
        self._account_rows = np.arange(len(self), dtype=np.int32)
        self._account_rows[accounts.rows] = account_rows

        near = [
            FindingsByRow.of(self._tell_respelled(others, np.flatnonzero(respelled))),
            self._find_near(others, payers, payer_rows, hashes.payer, "payer"),
            self._find_near(others, accounts, account_rows, hashes.details, "bank_details"),
        ]
        self.found = FindingsByRow.join([found, *near]).in_order()
        self.held |= self._flags(FindingsByRow.join(near).with_codes(held_codes)) & ~self.blocked
        is_sent = ~self.blocked & ~self.held
        rows_of_payers = self._payer_rows[self.payers]
        self.without_payer = is_sent & (rows_of_payers >= 0) & ~is_sent[rows_of_payers]

    def _flag_respelled(self) -> Flags:
        """Return an array: for each row, whether its id is sent as other rows write it."""
        flags = np.isin(self.payers, list(self._spellings))
        rows = np.flatnonzero(flags)
        flags[rows] = [self._ids[row] != self.client_user_id(row) for row in rows.tolist()]
        return flags

    def _tell_respelled(self, others: OtherRows, rows: Rows) -> Told:
        """Return a warning for each of some rows whose id is sent as another row writes it."""
        several = np.flatnonzero(np.isin(self.payers, list(self._spellings)))
        writing = {self._ids[row]: row for row in several[::-1].tolist()}
        by = [writing[str(self.client_user_id(row))] for row in rows.tolist()]
        return others.replaced(table_finding(_NEAR_DUPLICATE, ID), rows, np.array(by, np.int32))

    def _find_near(
        self, others: OtherRows, groups: RowGroups, chosen: Rows, written: Hashes, step: Step
    ) -> FindingsByRow:
        """Return warnings of rows in place of which another one is sent that is written in another way."""
        is_other = (groups.written != written[chosen]) & ~self.blocked[groups.rows]
        told = others.replaced(table_finding(_NEAR_DUPLICATE), groups.rows[is_other], chosen[is_other])
        return FindingsByRow.of(told, step)

    def _flags(self, found: FindingsByRow) -> Flags:
        """Return an array: for each row, whether it has one of some findings."""
        flags = np.zeros(len(self), bool)
        flags[found.rows] = True
        return flags


def _tell_twice(others: OtherRows, code: str, groups: RowGroups) -> Told:
    """Return an error for each row of the groups in which rows contradict each other."""
    found = groups.contradicting()
    return others.differing(table_finding(code), found.rows, found.groups, found.alike)


def _usual(texts: Counter[str]) -> str:
    """Return the text that occurs most often, rather one without blanks around it, and else the smallest."""
    return min(texts, key=lambda text: (-texts[text], text != text.strip(), text))


def _number(hashes: Hashes) -> Rows:
    """Return a number for each row, equal for equal hashes, -1 for none; numbers as they first occur."""
    numbers = np.full(len(hashes), -1, np.int32)
    given = hashes != 0
    numbers[given] = pd.factorize(hashes[given])[0]
    return numbers


def _checked_codes(hold: object) -> Collection[str]:
    """Return the codes of the warnings for which rows are kept back. Raises InvalidInput for any other code."""
    if not isinstance(hold, str | list | tuple | set | frozenset):
        raise InvalidInput(f'hold: expected "warnings", or codes of warnings, got {kind_of(hold)}.')
    codes = [hold] if isinstance(hold, str) else list(hold)
    known = _warning_codes() if codes else ()
    if unknown := [code for code in codes if code != _ALL and code not in known]:
        raise InvalidInput(f"hold: not the code of a warning: {', '.join(map(repr, unknown))}. rules() has all codes.")
    return known if _ALL in codes else codes


def _warning_codes() -> Collection[str]:
    """Return the codes of all warnings about payers, accounts, rows of a table and cells of a file."""
    rules = [rule for schema in (PAYER, BANK_DETAILS) for rule in load_rules(schema.name)]
    of_tables = (table_finding(code, None, "", "") for code in TABLE_FINDING_CODES)
    of_files = (file_finding(code, "", "", "") for code in FILE_FINDING_CODES)
    found = {each.code for each in (*of_tables, *of_files) if each.severity == "warning"}
    return found | {rule.code for rule in rules if rule.severity == "warning"}
