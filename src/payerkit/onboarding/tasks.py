"""The table of a run, its rows checked alone and against each other; and what the rows send, task by task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Self, get_args

import pandas as pd

from payerkit._tsv import grouped
from payerkit.checks.rules import load_rules
from payerkit.checks.schema import BANK_DETAILS, PAYER
from payerkit.checks.texts import compact
from payerkit.client.call import RequestBody
from payerkit.errors import InvalidInput, PayerkitError, kind_of
from payerkit.findings import Finding, table_finding, table_findings
from payerkit.models import BankDetails, Payer
from payerkit.onboarding.journal import Journal, digest
from payerkit.onboarding.match import ACCOUNT_FIELDS, CODES, NUMBERS, account_identity, id_form, normal_form
from payerkit.onboarding.rows import ID, Naming, Placeholders, Row, Step, add_cell_findings, read_rows, shown_id
from payerkit.reasons import Outcome
from payerkit.tables.damage import FILE_FINDING_CODES, file_finding
from payerkit.tables.read import read_bank_details, read_payers

_ALL = "warnings"
"""Says that rows are kept back for any warning."""

_BLOCK = 1024
"""Rows that are compared with the caller's table at a time: pandas is slow at giving cells one by one."""


class Table:
    """The rows of a table, checked alone and against each other.

    payers: the rows of each payer, payers as they first occur; rows without an id are left out. columns: the table's
    column of each field, for the steps that it has columns for, in the order in which they are sent. found: the
    problems, by row. planned: a copy of the caller's table. origin: its file. naming: what rows and columns are called
    in it. holder_is_payer: account holders without columns of their own are the payers. hold: "warnings", or codes of
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
        held_codes = _checked_codes(hold)
        if placeholders not in get_args(Placeholders):
            raise InvalidInput('placeholders: expected "error" or "keep".')
        if isinstance(rows, str | Path):
            rows = (read_payers if "payer" in steps else read_bank_details)(rows)
        checks: Any = {"holder_is_payer": holder_is_payer, "placeholders": placeholders}
        self.rows, self.columns = read_rows(rows, steps, takes_examples=takes_examples, **checks)
        self.payers = _grouped(self.rows, lambda row: id_form(row.written_id) or row.written_id)
        for number, group in enumerate(self.payers):
            for row in group:
                row.payer = number
        self.prefer_ids(lambda _: False)
        add_cell_findings(self.rows, rows, self.columns)
        _compare_rows(self.rows, self.payers, held_codes)
        self.found = list(chain.from_iterable(row.problems for row in self.rows))
        self.naming = Naming(rows, self.columns, self.found)
        self.origin = self.naming.origin
        self._given, self.planned = rows, pd.DataFrame(rows).copy()
        self._unchanged: set[int] = set()

    def prefer_ids(self, is_known: Callable[[str], bool]) -> None:
        """Send an id that is written in several ways as it is known, if one of them is: as it was sent before."""
        for group in self.payers:
            texts = Counter(row.written_id for row in group)
            known = Counter({text: times for text, times in texts.items() if len(texts) > 1 and is_known(text)})
            counts = known or texts
            # The one that occurs most often, rather one without blanks around it, and else the smallest.
            usual = min(counts, key=lambda text: (-counts[text], text != text.strip(), text))
            for row in group:
                row.client_user_id = usual

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
        if not given.equals(self.planned.iloc[rows].astype(object)):
            raise PayerkitError(
                "rows: they are not those that the run began with. The table was changed during the run.",
                advice="Nothing is lost: call again with the same journal.",
            )
        self._unchanged.add(block)


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


# Rows against each other: one payer or account in several rows, and what several payers share

_NEAR_DUPLICATE = "near_duplicate"

Key = Callable[[Row], str | tuple[Any, ...]]
"""What is equal for rows that belong together; empty for a row that belongs to none."""


def _alike_key(step: Step) -> Key:
    """Return a key of rows for the same payer or account that is equal for near duplicates.

    These have other blanks, case or Unicode form. The id is equal already.
    """
    fields = ACCOUNT_FIELDS if step == "bank_details" else ()
    besides = {ID, *fields}

    def key(row: Row) -> tuple[Any, ...]:
        forms = {name: id_form(_text(value)) for name, value in row.data[step].items() if name not in besides}
        return *(each for each in forms.items() if each[1]), *(_account_form(row, name) for name in fields)

    return key


def _account_form(row: Row, name: str) -> str:
    value = row.data["bank_details"].get(name)
    return normal_form(name, "" if value is None else _text(value))


def _number_key(row: Row) -> tuple[Any, ...]:
    """Return an account number with what says where the account is; () without a number, or with an IBAN."""
    numbers = tuple(_account_form(row, name) for name in NUMBERS)
    codes = tuple(_account_form(row, name) for name in CODES)
    bank = "" if any(codes) else id_form(_text(row.data["bank_details"].get("bank_name", "")))
    return (numbers, codes, bank) if any(numbers) and not _account_form(row, "iban") else ()


_SHARED: list[tuple[str, str, Step, Key]] = [
    ("email_shared", "email", "payer", lambda row: id_form(_text(row.data["payer"].get("email", "")))),
    ("ssn_shared", "ssn", "payer", lambda row: compact(_text(row.data["payer"].get("ssn", "")))),
    ("account_shared", "iban", "bank_details", lambda row: _account_form(row, "iban")),
    ("account_shared", "account_number", "bank_details", _number_key),
]
"""What two payers hardly share: the code of the finding, its field, and what is compared."""


def _grouped(rows: Iterable[Row], key: Key) -> list[list[Row]]:
    """Return rows by a key, without those that have none."""
    keyed = ((key(row), row) for row in rows)
    return [[*same] for same in grouped(each for each in keyed if each[0]).values()]


def _compare_rows(rows: Sequence[Row], payers: Sequence[Sequence[Row]], held_codes: Collection[str]) -> None:
    """Find the rows that describe the same payer or account: which contradict each other, and which are sent.

    payers: the rows of each payer. held_codes: of the warnings for which a row is kept back.
    """
    given = [row for row in rows if row.payer >= 0]
    for code, name, step, key in _SHARED:
        compared = (row for row in given if step in row.data and not row.is_example and not row.has_error(name))
        _add_differing(_grouped(compared, key), lambda row: (row.payer,), table_finding(code, name), step)
    described = _grouped((row for row in given if "payer" in row.data), lambda row: (row.payer,))
    owned = [row for row in given if "bank_details" in row.data]
    accounts = _grouped(owned, lambda row: (row.payer, *_identity(row)))
    _add_differing(described, _alike_key("payer"), table_finding("id_twice"), "")
    _add_differing(accounts, _alike_key("bank_details"), table_finding("account_twice"), "bank_details")
    _add_same_number(owned)
    writing = {row.written_id: row for row in reversed(given)}
    for row in given:
        if row.is_respelled:
            _add_naming(row, table_finding(_NEAR_DUPLICATE, ID), writing[str(row.client_user_id)])
    _judge(rows, held_codes)
    for group in described:
        chosen = _choose(group, "payer")
        for row in payers[chosen.payer]:
            row.payer_row = chosen
    for group in accounts:
        if sendable := [row for row in group if not row.is_blocked]:
            chosen = _choose(sendable, "bank_details")
            for row in sendable:
                row.account_row = chosen
    _judge(rows, held_codes)  # again: a row in place of which another writing is sent has a warning now


def _judge(rows: Iterable[Row], held_codes: Collection[str]) -> None:
    """Block the rows with an error, and hold those with a warning for which they are kept back."""
    for row in rows:
        row.is_blocked = row.has_error()
        row.is_held = not row.is_blocked and any(each.finding.code in held_codes for each in row.problems)


def _choose(rows: Sequence[Row], step: Step) -> Row:
    """Return the row that is sent for all of some; warn those in place of which another writing is sent.

    Whatever order the table has, that is one that as few reasons as possible speak against, written as most of these
    are.
    """
    if len(rows) == 1:
        return rows[0]
    forms = {}
    for row in rows:
        written = tuple((name, _text(value)) for name, value in row.data[step].items() if name != ID)
        forms[row] = 4 * row.is_blocked + 2 * row.is_held + row.is_respelled, written
    times = Counter(forms.values())
    chosen = min(rows, key=lambda row: (forms[row][0], -times[forms[row]], forms[row][1], row.number))
    for row in rows:
        if not row.is_blocked and forms[row][1] != forms[chosen][1]:
            _add_naming(row, table_finding(_NEAR_DUPLICATE), chosen, step)
    return chosen


def _add_differing(groups: Iterable[Sequence[Row]], key: Key, finding: Finding, step: Step | Literal[""]) -> None:
    """Add a finding to each row in whose group other rows have another key; it names the first of them."""
    for group in groups:
        keyed = [(key(row), row) for row in group] if len(group) > 1 else []
        other = next((row for own, row in keyed if own != keyed[0][0]), None)
        if other is None:
            continue
        for own, row in keyed:
            _add_naming(row, finding, other if own == keyed[0][0] else group[0], step)


def _add_same_number(owned: Iterable[Row]) -> None:
    """Add a finding to rows of one number of a payer of which one has codes that the other lacks: one account.

    Rows with different codes are two: two banks may have the same number.
    """
    for group in _grouped(owned, lambda row: (row.payer, *_identity(row)[: -len(CODES)])):
        own = {row: frozenset(filter(all, zip(CODES, _identity(row)[-len(CODES) :], strict=True))) for row in group}
        firsts = {codes: row for row, codes in reversed(own.items())}
        for row, codes in own.items() if len(firsts) > 1 else ():
            other = next((each for theirs, each in firsts.items() if codes < theirs or theirs < codes), None)
            if other is not None:
                _add_naming(row, table_finding("account_twice"), other, "bank_details")


def _identity(row: Row) -> tuple[str, ...]:
    return account_identity(row.data["bank_details"])


def _add_naming(row: Row, finding: Finding, other: Row, step: Step | Literal[""] = "") -> None:
    """Add a finding to a row that names another row, by its label."""
    message = f"{finding.message.removesuffix('.')}: see row {shown_id(other.label)}."
    row.add(replace(finding, message=message), step, finding)


def _text(value: Any) -> str:
    """Return text that is equal for equal cells. A cell that is no text equals none that is."""
    return value if isinstance(value, str) else f"\0{value!r}"


# What the rows send, and how the journal knows it


class Task:
    """One write: a payer, or one account of a payer, from a row of a table.

    The values are read from the table whenever they are needed. key: identifies the task, in any table: a payer by the
    id, an account by its payer and what makes it this account. payer_key: the key of the payer. Both, and the content,
    are keyed digests, so that they reveal nothing.
    """

    def __init__(self, table: Table, secret: bytes, step: Step, row: Row) -> None:
        self.step, self.row = step, row
        self._table, self._secret = table, secret
        self.client_user_id = str(row.client_user_id)
        self.payer_key = payer_key(secret, self.client_user_id)

    @cached_property
    def key(self) -> bytes:
        """What identifies the task."""
        if self.step == "payer":
            return self.payer_key
        return digest(self._secret, self.step, self.client_user_id, *account_identity(self.values))

    @property
    def values(self) -> dict[str, Any]:
        """What is sent, by field name."""
        return self._table.values(self.step, self.row)

    @property
    def content(self) -> bytes:
        """A digest that changes with any value."""
        parts = (f"{name}={value}" for name, value in sorted(self.values.items()))
        return digest(self._secret, "content", self.step, *parts)

    @property
    def body(self) -> RequestBody:
        """What is sent, from the model, as in a single call."""
        sent = (Payer if self.step == "payer" else BankDetails).of(self.values, {})
        return RequestBody(sent.to_dict(reveal=True), lambda: (*sent.private_values(), *self._private_of_payer()))

    def _private_of_payer(self) -> tuple[str, ...]:
        """Return the private values of an account's payer: not in the body, but the service may repeat them."""
        payer = self.row.payer_row
        if self.step == "payer" or payer is None or payer.is_blocked:
            return ()
        return Payer.of(self._table.values("payer", payer), {}).private_values()


class Tasks(dict[tuple[Step, Row], Task]):
    """The tasks of a table by step and row, each made once; safe to share by threads. secret: keys the digests."""

    def __init__(self, table: Table, secret: bytes) -> None:
        super().__init__()
        self.table, self.secret = table, secret

    @classmethod
    def of_journal(cls, table: Table, journal: Journal) -> Self:
        """Return the tasks of a table with its ids as the journal knows them."""

        def is_known(client_user_id: str) -> bool:
            key = payer_key(journal.secret, client_user_id)
            return journal.entry(key) is not None or bool(journal.entries_of(key))

        table.prefer_ids(is_known)
        return cls(table, journal.secret)

    def __missing__(self, key: tuple[Step, Row]) -> Task:
        return self.setdefault(key, Task(self.table, self.secret, *key))

    def of(self, row: Row) -> Iterator[Task]:
        """Yield the tasks that are sent for a row, which may be those of other rows; none for a row without an id."""
        if row.payer_row is not None:
            yield self["payer", row.payer_row]
        if row.payer >= 0 and "bank_details" in row.data:
            yield self["bank_details", row.account_row or row]


def payer_key(secret: bytes, client_user_id: str) -> bytes:
    """Return the key of a payer."""
    return digest(secret, "payer", client_user_id)


@dataclass(frozen=True, slots=True)
class Limit:
    """The tasks that a run tries. rows: the limit of the run, None if it tries all."""

    rows: int | None = None
    tried: set[Task] = field(default_factory=set)

    @property
    def reason(self) -> Outcome:
        """Why the other rows are not sent."""
        return Outcome("left_by_limit", {"rows": self.rows})

    def leaves(self, task: Task) -> bool:
        """Return True if a task is left to a later run."""
        return self.rows is not None and task not in self.tried
