"""The input table: its rows checked, alone and against each other, and indexed by payer and account."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, get_args

import numpy as np
import pandas as pd

from payerkit.bulk.accounts import id_form
from payerkit.bulk.compare_rows import (
    account_key,
    alike_key,
    choose,
    grouped,
    naming,
    tell_differing,
    tell_shared,
    tell_without_account,
    written_key,
)
from payerkit.bulk.file_cells import tell_cells
from payerkit.bulk.naming import Naming
from payerkit.bulk.rows import ID, Flags, Placeholders, Problems, Row, Rows, Step, read_rows
from payerkit.checks.rules import load_rules
from payerkit.checks.schema import BANK_DETAILS, PAYER
from payerkit.errors import InvalidInput, PayerkitError, kind_of
from payerkit.findings import COLUMNS, table_finding, table_findings
from payerkit.tables.damage import FILE_FINDING_CODES, file_finding
from payerkit.tables.source_table import origin_of

__all__ = ["Step", "Table"]

_NEAR_DUPLICATE, _EXAMPLE = "near_duplicate", "example_row"

_ALL = "warnings"
"""Says that rows are kept back for any warning."""

_BLOCK = 1024
"""Rows that are compared with the caller's table at a time: pandas is slow at giving cells one by one."""


class Table:
    """The rows by number, 0 for the first; `labels` are the caller's index.

    payers: the number of each row's payer, -1 without an id; ids that are near duplicates are one payer. order: the
    rows sorted by payer, payers as they first occur. found: the problems, by row. blocked: rows with errors, which are
    not sent. held: other rows, with a warning for which they are kept back. without_payer: other rows whose payer, in
    another row, is blocked or held. origin: the file of the table. naming: what rows and columns are called in it.
    holder_is_payer: account holders without columns of their own are the payers. hold: "warnings", or codes of
    warnings. placeholders: what N/A and others are. takes_examples: the rows of a template are no error. Raises
    InvalidInput for anything but a table of rows to send.
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
        self._rows, self.columns = read_rows(rows, steps, holder_is_payer=holder_is_payer, placeholders=placeholders)
        self.labels: pd.Index[Any] = rows.index
        self._filled = {step: np.array([step in row.data for row in self._rows], bool) for step in get_args(Step)}
        self._number_payers()
        tell_cells(self._rows, rows, self.columns)
        examples = {row.number for row in self._rows for each in row.problems if each.finding.code == _EXAMPLE}
        comparable = [row for row in self._rows if row.payer >= 0 and row.number not in examples]
        tell_shared(comparable, self.labels)
        for row in self._rows if takes_examples else ():
            row.problems = [each for each in row.problems if each.finding.code != _EXAMPLE]
        self._index_rows(codes)
        self.found = Problems(chain.from_iterable(row.problems for row in self._rows))
        self.origin = origin_of(rows)
        self.naming = Naming.of(rows, self.columns, self.labels, self.found)
        self._given, self._planned = rows, pd.DataFrame(rows).copy()
        self._unchanged: set[int] = set()

    def _number_payers(self) -> None:
        """Give each row the number of its payer, and find the ids that are written in several ways."""
        numbers: dict[str, int] = {}
        written: dict[int, Counter[str]] = {}
        for row in self._rows:
            if key := id_form(row.client_user_id) or row.client_user_id:
                row.payer = numbers.setdefault(key, len(numbers))
                written.setdefault(row.payer, Counter())[row.client_user_id] += 1
        self.payers = np.array([row.payer for row in self._rows], np.int32)
        self.order = np.argsort(self.payers, kind="stable").astype(np.int32)
        self._written = {payer: texts for payer, texts in written.items() if len(texts) > 1}
        self._spellings = {payer: _usual(texts) for payer, texts in self._written.items()}

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that the table has columns for, in the order in which they are sent."""
        return tuple(self.columns)

    @property
    def findings(self) -> pd.DataFrame:
        """The findings: one row per finding, with the number of its row, and its step."""
        columns = {name: [getattr(each.finding, name) for each in self.found] for name in COLUMNS}
        columns["step"] = [each.step for each in self.found]
        texts = {name: pd.array(column, dtype="string") for name, column in columns.items()}
        return pd.DataFrame({"row": self.found.rows.astype(np.int64), **texts})

    def rows_with(self, step: Step) -> Flags:
        """Return an array: for each row, whether it has data for a step."""
        return self._filled[step]

    def rows_to_send(self, step: Step) -> Flags:
        """Return an array: for each row, whether it has data for a step and is neither blocked nor held."""
        return self.rows_with(step) & ~self.blocked & ~self.held

    def client_user_id(self, row: int) -> str | None:
        """Return the client user id of a row, as it is sent: near duplicates are written alike."""
        own = self._rows[row]
        return None if own.payer < 0 else self._spellings.get(own.payer) or own.client_user_id

    def prefer_ids(self, is_known: Callable[[str], bool]) -> None:
        """Send an id that is written in several ways as it is known, if one of them is: as it was sent before."""
        for payer, texts in self._written.items():
            known = Counter({text: times for text, times in texts.items() if is_known(text)})
            self._spellings[payer] = _usual(known or texts)

    def payer_row(self, row: int) -> int:
        """Return the row that describes the payer of a row, preferably one that may be sent; -1 if no row does."""
        return self._payer_rows.get(self._rows[row].payer, -1)

    def account_row(self, row: int) -> int:
        """Return the row that is sent for all rows with the same account of the same payer."""
        return int(self._account_rows[row])

    def values(self, step: Step, row: int) -> dict[str, Any]:
        """Return the data of a row for a step, by field name. Raises PayerkitError if the table was changed."""
        self._require_unchanged(row // _BLOCK)
        values = self._rows[row].data[step].copy()
        if ID in values:
            values[ID] = self._spellings.get(self._rows[row].payer, values[ID])
        return values

    def _require_unchanged(self, block: int) -> None:
        """Raise PayerkitError if a block of the caller's table is not as it was planned; looked at once."""
        if block in self._unchanged:
            return
        rows = slice(block * _BLOCK, (block + 1) * _BLOCK)
        given = pd.DataFrame(self._given).iloc[rows].astype(object)  # as objects, NaN equals NaN
        if not given.equals(self._planned.iloc[rows].astype(object)):
            raise PayerkitError(
                "rows: they are not those that the run began with. The table was changed during the run.",
                advice="Nothing is lost: call again with the same journal.",
            )
        self._unchanged.add(block)

    def rows_by_payer(self) -> Iterator[Rows]:
        """Yield the rows of each payer, payers as they first occur; rows without an id are left out."""
        payers = self.payers[self.order]
        starts = np.flatnonzero(np.diff(payers, prepend=-1))
        for start, end in pairwise(chain(starts, [len(payers)])):
            yield self.order[start:end]

    def _index_rows(self, held_codes: Collection[str]) -> None:
        """Find the rows that describe the same payer or account: which contradict each other, and which are sent."""
        given = [row for row in self._rows if row.payer >= 0]
        payers = grouped((row for row in given if "payer" in row.data), lambda row: (row.payer,))
        owned = [row for row in given if "bank_details" in row.data]
        accounts = grouped(owned, lambda row: (row.payer, account_key(row)))
        tell_differing(payers.values(), alike_key("payer"), table_finding("id_twice"), "", self.labels)
        twice = table_finding("account_twice")
        tell_differing(accounts.values(), alike_key("bank_details"), twice, "bank_details", self.labels)
        tell_without_account(payers, {row.payer for row in owned})
        self.blocked = self._flags(lambda row: row.is_blocked)
        self.held = self._flags(lambda row: _has_code(row, held_codes)) & ~self.blocked

        self._tell_respelled(given)
        self._payer_rows: dict[int, int] = {}
        self._account_rows = np.arange(len(self), dtype=np.int32)
        spare = 4 * self.blocked + 2 * self.held + self._flags(self._is_respelled)
        for rows in payers.values():
            self._payer_rows[rows[0].payer] = self._choose(rows, "payer", spare)
        for rows in accounts.values():
            if sendable := [row for row in rows if not self.blocked[row.number]]:
                self._account_rows[[row.number for row in sendable]] = self._choose(sendable, "bank_details", spare)
        self.held |= self._flags(lambda row: _has_code(row, held_codes)) & ~self.blocked
        is_sent = ~self.blocked & ~self.held
        payer_rows = np.array([self.payer_row(row) for row in range(len(self))], np.int32)
        self.without_payer = is_sent & (payer_rows >= 0) & ~is_sent[payer_rows]

    def _is_respelled(self, row: Row) -> bool:
        """Return True for a row whose id is sent as other rows write it."""
        return row.payer in self._spellings and row.client_user_id != self.client_user_id(row.number)

    def _tell_respelled(self, rows: Sequence[Row]) -> None:
        """Warn each row whose id is sent as another row writes it."""
        several = [row for row in rows if row.payer in self._spellings]
        writing = {row.client_user_id: row for row in reversed(several)}
        for row in filter(self._is_respelled, several):
            by = writing[str(self.client_user_id(row.number))]
            general = table_finding(_NEAR_DUPLICATE, ID)
            row.tell(naming(general, [by], 1, self.labels), general=general)

    def _choose(self, rows: Sequence[Row], step: Step, spare: Rows) -> int:
        """Return the row that is sent for all of some; warn those in place of which another writing is sent."""
        written = written_key(step)
        chosen = choose(rows, written, lambda row: int(spare[row.number]))
        for row in rows:
            if row is not chosen and not self.blocked[row.number] and written(row) != written(chosen):
                general = table_finding(_NEAR_DUPLICATE)
                row.tell(naming(general, [chosen], 1, self.labels), step, general)
        return chosen.number

    def _flags(self, holds: Callable[[Row], bool]) -> Flags:
        """Return an array: for each row, whether something holds for it."""
        return np.array([holds(row) for row in self._rows], bool)


def _has_code(row: Row, codes: Collection[str]) -> bool:
    return any(each.finding.code in codes for each in row.problems)


def _usual(texts: Counter[str]) -> str:
    """Return the text that occurs most often, rather one without blanks around it, and else the smallest."""
    return min(texts, key=lambda text: (-texts[text], text != text.strip(), text))


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
    of_tables = (table_finding(code, None, "", "") for code in table_findings())
    of_files = (file_finding(code, "", "", "") for code in FILE_FINDING_CODES)
    found = {each.code for each in (*of_tables, *of_files) if each.severity == "warning"}
    return found | {rule.code for rule in rules if rule.severity == "warning"}
