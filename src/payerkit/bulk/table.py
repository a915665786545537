"""The input table: its rows checked, alone and against each other, and indexed by payer and account."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain
from typing import Any, get_args

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
from payerkit.bulk.naming import Naming
from payerkit.bulk.rows import ID, Placeholders, Row, Step, read_rows, tell_cells
from payerkit.checks.rules import load_rules
from payerkit.checks.schema import BANK_DETAILS, PAYER
from payerkit.errors import InvalidInput, PayerkitError, kind_of
from payerkit.findings import table_finding, table_findings
from payerkit.tables.damage import FILE_FINDING_CODES, file_finding
from payerkit.tables.source_table import origin_of

__all__ = ["Step", "Table"]

_NEAR_DUPLICATE, _EXAMPLE = "near_duplicate", "example_row"

_ALL = "warnings"
"""Says that rows are kept back for any warning."""

_BLOCK = 1024
"""Rows that are compared with the caller's table at a time: pandas is slow at giving cells one by one."""


class Table:
    """The rows of a table, checked alone and against each other; `labels` are the caller's index.

    payers: the rows of each payer, payers as they first occur; rows without an id are left out. columns: the table's
    column of each field, for the steps that it has columns for, in the order in which they are sent. found: the
    problems, by row. origin: the file of the table. naming: what rows and columns are called in it. holder_is_payer:
    account holders without columns of their own are the payers. hold: "warnings", or codes of warnings. placeholders:
    what N/A and others are. takes_examples: the rows of a template are no error. Raises InvalidInput for anything but
    a table of rows to send.
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
        self._held_codes = _checked_codes(hold)
        if placeholders not in get_args(Placeholders):
            raise InvalidInput('placeholders: expected "error" or "keep".')
        self.rows, self.columns = read_rows(rows, steps, holder_is_payer=holder_is_payer, placeholders=placeholders)
        self.labels: pd.Index[Any] = rows.index
        self.payers = _group_by_payer(self.rows)
        tell_cells(self.rows, rows, self.columns)
        examples = {row for row in self.rows if row.has_code([_EXAMPLE])}
        tell_shared([row for row in self.rows if row.payer >= 0 and row not in examples], self.labels)
        for row in examples if takes_examples else ():
            row.problems = [each for each in row.problems if each.finding.code != _EXAMPLE]
        self._compare_rows()
        self.found = list(chain.from_iterable(row.problems for row in self.rows))
        self.origin = origin_of(rows)
        self.naming = Naming.of(rows, self.columns, self.labels, self.found)
        self._given, self._planned = rows, pd.DataFrame(rows).copy()
        self._unchanged: set[int] = set()

    def prefer_ids(self, is_known: Callable[[str], bool]) -> None:
        """Send an id that is written in several ways as it is known, if one of them is: as it was sent before."""
        for group in self.payers:
            texts = Counter(row.written_id for row in group)
            known = Counter({text: times for text, times in texts.items() if len(texts) > 1 and is_known(text)})
            for row in group:
                row.client_user_id = _usual(known or texts)

    def values(self, step: Step, row: Row) -> dict[str, Any]:
        """Return the data of a row for a step, by field name. Raises PayerkitError if the table was changed."""
        self._require_unchanged(row.number // _BLOCK)
        values = row.data[step].copy()
        if row.is_respelled and ID in values:
            values[ID] = row.client_user_id
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

    def _compare_rows(self) -> None:
        """Find the rows that describe the same payer or account: which contradict each other, and which are sent."""
        given = [row for row in self.rows if row.payer >= 0]
        payers = grouped((row for row in given if "payer" in row.data), lambda row: (row.payer,))
        owned = [row for row in given if "bank_details" in row.data]
        accounts = grouped(owned, lambda row: (row.payer, account_key(row)))
        tell_differing(payers.values(), alike_key("payer"), table_finding("id_twice"), "", self.labels)
        twice = table_finding("account_twice")
        tell_differing(accounts.values(), alike_key("bank_details"), twice, "bank_details", self.labels)
        tell_without_account(payers, {row.payer for row in owned})
        for row in self.rows:
            row.is_blocked = row.has_error()
        self._hold()
        self._tell_respelled(given)
        for rows in payers.values():
            chosen = self._choose(rows, "payer")
            for row in self.payers[chosen.payer]:
                row.payer_row = chosen
        for rows in accounts.values():
            if sendable := [row for row in rows if not row.is_blocked]:
                chosen = self._choose(sendable, "bank_details")
                for row in sendable:
                    row.account_row = chosen
        self._hold()

    def _hold(self) -> None:
        """Hold the rows that have a warning for which they are kept back."""
        for row in self.rows:
            row.is_held = not row.is_blocked and row.has_code(self._held_codes)

    def _tell_respelled(self, rows: Sequence[Row]) -> None:
        """Warn each row whose id is sent as another row writes it."""
        writing = {row.written_id: row for row in reversed(rows)}
        for row in rows:
            if row.is_respelled:
                general = table_finding(_NEAR_DUPLICATE, ID)
                row.tell(naming(general, [writing[str(row.client_user_id)]], 1, self.labels), general=general)

    def _choose(self, rows: Sequence[Row], step: Step) -> Row:
        """Return the row that is sent for all of some; warn those in place of which another writing is sent."""
        written = written_key(step)
        chosen = choose(rows, written, lambda row: 4 * row.is_blocked + 2 * row.is_held + row.is_respelled)
        for row in rows:
            if row is not chosen and not row.is_blocked and written(row) != written(chosen):
                general = table_finding(_NEAR_DUPLICATE)
                row.tell(naming(general, [chosen], 1, self.labels), step, general)
        return chosen


def _group_by_payer(rows: Iterable[Row]) -> list[list[Row]]:
    """Return the rows of each payer, and give them the payer's number and id; rows without an id are left out."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if key := id_form(row.written_id) or row.written_id:
            groups.setdefault(key, []).append(row)
    for number, group in enumerate(groups.values()):
        client_user_id = _usual(Counter(row.written_id for row in group))
        for row in group:
            row.payer, row.client_user_id = number, client_user_id
    return list(groups.values())


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
