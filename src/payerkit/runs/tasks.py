"""The table of a run, its rows checked alone and against each other; and what the rows
send, task by task.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from payerkit._tsv import grouped
from payerkit.checks.records import rules_of
from payerkit.checks.texts import compact
from payerkit.client.call import RequestBody
from payerkit.errors import InvalidInput, kind_of
from payerkit.findings import Finding, table_finding, table_findings
from payerkit.models.requests import (
    ACCOUNT_NUMBERS,
    BANK_CODES,
    BankDetails,
    Payer,
)
from payerkit.reasons import Outcome
from payerkit.runs.journal import Subject, digest
from payerkit.runs.match import (
    ACCOUNT_FIELDS,
    account_identity,
    account_numbers,
    id_form,
    loose_id_form,
    normal_form,
)
from payerkit.runs.rows import (
    ID,
    MODELS,
    Naming,
    Placeholders,
    Row,
    Step,
    add_cell_findings,
    read_rows,
    shown_id,
)
from payerkit.tables.damage import FILE_FINDING_CODES, file_finding
from payerkit.tables.read import read_bank_details, read_payers

_ALL = "warnings"
"""Says that rows are kept back for any warning."""


class Table:
    """The rows of a table, checked alone and against each other.

    payers: the rows of each payer, payers as they first occur; rows without an id are
    left out. columns: the table's column of each field, for the steps that it has
    columns for, in the order in which they are sent. found: the problems, by row.
    planned: a copy of the caller's table. origin: its file. naming: what rows and
    columns are called in it. holder_is_payer: account holders without columns of their
    own are the payers. hold: "warnings", or codes of warnings. placeholders: what N/A
    and others are. takes_examples: the rows of a template are no error. Raises
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
        if placeholders not in ("error", "keep") and isinstance(placeholders, str):
            raise InvalidInput(
                'placeholders: expected "error", "keep", or the words that are meant,'
                ' such as {"Null"}.'
            )
        if isinstance(rows, str | Path):
            read = read_payers if "payer" in steps else read_bank_details
            rows = read(rows)
        self.rows, self.columns = read_rows(
            rows,
            steps,
            holder_is_payer=holder_is_payer,
            placeholders=placeholders,
            takes_examples=takes_examples,
        )
        self.payers = _grouped(self.rows, lambda row: row.client_user_id or "")
        for number, group in enumerate(self.payers):
            for row in group:
                row.payer = number
        add_cell_findings(self.rows, rows, self.columns)
        _compare_rows(self.rows, self.payers, held_codes)
        self.found = list(chain.from_iterable(row.problems for row in self.rows))
        self.naming = Naming(rows, self.columns, self.found)
        self.origin = self.naming.origin
        self.planned = pd.DataFrame(rows).copy()


def _checked_codes(hold: object) -> Collection[str]:
    """Return the codes of the warnings for which rows are kept back. Raises
    InvalidInput for any other code.
    """
    if not isinstance(hold, str | list | tuple | set | frozenset):
        raise InvalidInput(
            f'hold: expected "warnings", or codes of warnings, got {kind_of(hold)}.'
        )
    codes = [hold] if isinstance(hold, str) else list(hold)
    if not codes:
        return codes
    known = _warning_codes()
    unknown = [repr(code) for code in codes if code != _ALL and code not in known]
    if unknown:
        raise InvalidInput(
            f"hold: not the code of a warning: {', '.join(unknown)}. rules() has all"
            " codes."
        )
    return known if _ALL in codes else codes


def _warning_codes() -> Collection[str]:
    """Return the codes of all warnings about payers, accounts, rows of a table and
    cells of a file.
    """
    severities = {code: kind["severity"] for code, kind in table_findings().items()}
    severities |= {code: file_finding(code, "").severity for code in FILE_FINDING_CODES}
    severities |= {
        each.rule.code: each.rule.severity
        for each in (*rules_of(Payer), *rules_of(BankDetails))
    }
    return {code for code, severity in severities.items() if severity == "warning"}


# Rows against each other: one payer or account in several rows, and what several payers
# share

Key = Callable[[Row], str | tuple[Any, ...]]
"""What is equal for rows that belong together; empty for a row that belongs to none."""


def _alike_key(step: Step) -> Key:
    """Return a key of rows for the same payer or account that is equal for near
    duplicates.

    These have other blanks, case or Unicode form. The id is equal already.
    """
    fields = ACCOUNT_FIELDS if step == "bank_details" else ()
    besides = {ID, *fields}

    def key(row: Row) -> tuple[Any, ...]:
        forms = {
            name: id_form(_text(value))
            for name, value in row.data[step].items()
            if name not in besides
        }
        return *(each for each in forms.items() if each[1]), *(
            _account_form(row, name) for name in fields
        )

    return key


def _spelled(row: Row) -> str:
    """Return the id of a row in the form in which near duplicates are equal."""
    return id_form(str(row.client_user_id))


def _account_form(row: Row, name: str) -> str:
    return normal_form(name, _text(row.data["bank_details"].get(name, "")))


def _number_key(row: Row) -> tuple[Any, ...]:
    """Return an account number with what says where the account is; () without a
    number, or with an IBAN.
    """
    numbers = tuple(_account_form(row, name) for name in ACCOUNT_NUMBERS)
    if not any(numbers) or _account_form(row, "iban"):
        return ()
    codes = tuple(_account_form(row, name) for name in BANK_CODES)
    if any(codes):
        return numbers, codes
    return numbers, id_form(_text(row.data["bank_details"].get("bank_name", "")))


_SHARED: list[tuple[str, str, Step, Key]] = [
    (
        "email_shared",
        "email",
        "payer",
        lambda row: id_form(_text(row.data["payer"].get("email", ""))),
    ),
    (
        "ssn_shared",
        "ssn",
        "payer",
        lambda row: compact(_text(row.data["payer"].get("ssn", ""))),
    ),
    ("account_shared", "iban", "bank_details", lambda row: _account_form(row, "iban")),
    ("account_shared", "account_number", "bank_details", _number_key),
]
"""What two payers hardly share: the code of the finding, its field, and what is
compared.
"""


def _grouped(rows: Iterable[Row], key: Key) -> list[list[Row]]:
    """Return rows by a key, without those that have none."""
    keyed = ((key(row), row) for row in rows)
    return [[*same] for same in grouped(each for each in keyed if each[0]).values()]


def _compare_rows(
    rows: Sequence[Row], payers: Sequence[Sequence[Row]], held_codes: Collection[str]
) -> None:
    """Find the rows that describe the same payer or account: which contradict each
    other, and which are sent.

    payers: the rows of each payer. held_codes: of the warnings for which a row is kept
    back.
    """
    given = [row for row in rows if row.payer >= 0]
    for code, name, step, key in _SHARED:
        compared = (
            row
            for row in given
            if step in row.data and not row.is_example and not row.has_error(name)
        )
        _add_differing(
            _grouped(compared, key),
            _spelled,
            table_finding(code, name),
            step,
        )
    described = _grouped(
        (row for row in given if "payer" in row.data), lambda row: (row.payer,)
    )
    owned = [row for row in given if "bank_details" in row.data]
    accounts = _grouped(owned, lambda row: (row.payer, *_identity(row)))
    _add_differing(described, _alike_key("payer"), table_finding("id_twice"), "")
    _add_differing(
        accounts,
        _alike_key("bank_details"),
        table_finding("account_twice"),
        "bank_details",
    )
    _add_same_number(owned)
    _add_differing(
        _grouped(given, _spelled),
        lambda row: (row.client_user_id,),
        table_finding("id_respelled", ID),
        "",
    )
    _judge(rows, held_codes)
    for group in described:
        chosen = _choose(group, "payer")
        for row in payers[chosen.payer]:
            row.payer_row = chosen
    for group in accounts:
        sendable = [row for row in group if not row.is_blocked]
        if sendable:
            chosen = _choose(sendable, "bank_details")
            for row in sendable:
                row.account_row = chosen
    # Again: a row in place of which another writing is sent has a warning now.
    _judge(rows, held_codes)


def _judge(rows: Iterable[Row], held_codes: Collection[str]) -> None:
    """Block the rows with an error, and hold those with a warning for which they are
    kept back.
    """
    for row in rows:
        row.is_blocked = row.has_error()
        row.is_held = not row.is_blocked and any(
            each.finding.code in held_codes for each in row.problems
        )


def _choose(rows: Sequence[Row], step: Step) -> Row:
    """Return the row that is sent for all of some, the first that may be sent; warn
    those that are written in another way.
    """
    if len(rows) == 1:
        return rows[0]
    chosen = min(rows, key=lambda row: (row.is_blocked, row.is_held, row.number))
    written = _written(chosen, step)
    for row in rows:
        if not row.is_blocked and _written(row, step) != written:
            _add_naming(row, table_finding("near_duplicate"), chosen, step)
    return chosen


def _written(row: Row, step: Step) -> dict[str, str]:
    """Return the values of a row for a step as texts."""
    return {name: _text(value) for name, value in row.data[step].items()}


def _add_differing(
    groups: Iterable[Sequence[Row]],
    key: Key,
    finding: Finding,
    step: Step | Literal[""],
) -> None:
    """Add a finding to each row in whose group other rows have another key; it names
    the first of them.
    """
    for group in groups:
        if len(group) == 1:
            continue
        first = key(group[0])
        alike = [row for row in group if key(row) == first]
        others = [row for row in group if key(row) != first]
        if not others:
            continue
        for row in alike:
            _add_naming(row, finding, others[0], step)
        for row in others:
            _add_naming(row, finding, group[0], step)


def _add_same_number(owned: Iterable[Row]) -> None:
    """Add a finding to rows of one number of a payer of which one has codes that the
    other lacks: one account.

    Rows with different codes are two: two banks may have the same number.
    """
    count = len(BANK_CODES)
    for group in _grouped(owned, lambda row: (row.payer, *_identity(row)[:-count])):
        own = {row: _bank_codes(row) for row in group}
        firsts = {codes: row for row, codes in reversed(own.items())}
        if len(firsts) == 1:
            continue
        for row, codes in own.items():
            for theirs, other in firsts.items():
                if codes < theirs or theirs < codes:
                    finding = table_finding("account_twice")
                    _add_naming(row, finding, other, "bank_details")
                    break


def _bank_codes(row: Row) -> frozenset[tuple[str, str]]:
    """Return the codes that say where the account of a row is kept."""
    codes = _identity(row)[-len(BANK_CODES) :]
    return frozenset(
        (name, code) for name, code in zip(BANK_CODES, codes, strict=True) if code
    )


def _identity(row: Row) -> tuple[str, ...]:
    return account_identity(row.data["bank_details"])


def _add_naming(
    row: Row, finding: Finding, other: Row, step: Step | Literal[""] = ""
) -> None:
    """Add a finding to a row that names another row, by its label."""
    message = f"{finding.message.removesuffix('.')}: see row {shown_id(other.label)}."
    row.add(replace(finding, message=message), step, finding)


def _text(value: Any) -> str:
    """Return text that is equal for equal cells. A cell that is no text equals none
    that is.
    """
    if isinstance(value, str):
        return value
    return f"\0{value!r}"


# What the rows send, and how the journal knows it


class Task:
    """One write: a payer, or one account of a payer, from a row of a table.

    key: identifies the task, in any table: a payer by the id, an account by its payer
    and what makes it this account. payer_key: the key of the payer. Both, and the
    subject, are keyed digests, so that they reveal nothing. values: what is sent, by
    field name.
    """

    def __init__(self, secret: bytes, step: Step, row: Row) -> None:
        self.step = step
        self.row = row
        self.values = row.data[step]
        self._secret = secret
        self.client_user_id = str(row.client_user_id)
        self.payer_key = payer_key(secret, self.client_user_id)

    @cached_property
    def key(self) -> bytes:
        """What identifies the task."""
        if self.step == "payer":
            return self.payer_key
        return digest(
            self._secret, self.step, self.client_user_id, *account_identity(self.values)
        )

    @property
    def content(self) -> bytes:
        """A digest that changes with any value."""
        parts = (f"{name}={value}" for name, value in sorted(self.values.items()))
        return digest(self._secret, "content", self.step, *parts)

    @property
    def id_form(self) -> bytes:
        """A digest of the payer's id that is the same for its spellings."""
        return _id_form(self._secret, self.client_user_id)

    @property
    def subject(self) -> Subject:
        """What the journal keeps of what is sent."""
        numbers = b""
        if self.step == "bank_details":
            for number in account_numbers(self.values):
                numbers += digest(self._secret, "number", self.client_user_id, number)
        return Subject(self.payer_key, self.id_form, self.content, numbers)

    @property
    def body(self) -> RequestBody:
        """What is sent, from the model, as in a single call."""
        sent = MODELS[self.step].of(self.values, {})
        return RequestBody(
            sent.to_dict(reveal=True),
            lambda: (*sent.private_values(), *self._private_of_payer()),
        )

    def _private_of_payer(self) -> tuple[str, ...]:
        """Return the private values of an account's payer: not in the body, but the
        service may repeat them.
        """
        payer = self.row.payer_row
        if self.step == "payer" or payer is None or payer.is_blocked:
            return ()
        return Payer.of(payer.data["payer"], {}).private_values()


class Tasks(dict[tuple[Step, Row], Task]):
    """The tasks of a table by step and row, each made once; safe to share by threads.
    secret: keys the digests.
    """

    def __init__(self, table: Table, secret: bytes) -> None:
        super().__init__()
        self.table = table
        self.secret = secret

    def __missing__(self, key: tuple[Step, Row]) -> Task:
        return self.setdefault(key, Task(self.secret, *key))

    def of(self, row: Row) -> Iterator[Task]:
        """Yield the tasks that are sent for a row, which may be those of other rows;
        none for a row without an id.
        """
        if row.payer_row is not None:
            yield self["payer", row.payer_row]
        if row.payer >= 0 and "bank_details" in row.data:
            yield self["bank_details", row.account_row or row]

    def accounts_of(self, payer: int) -> set[bytes]:
        """Return the keys of all accounts of a payer that the table has, those of rows
        that are not sent, too. payer: its number in the table.
        """
        return {
            self["bank_details", row.account_row or row].key
            for row in self.table.payers[payer]
            if "bank_details" in row.data
        }

    def key_of(self, client_user_id: str) -> bytes:
        """Return the key of a payer."""
        return payer_key(self.secret, client_user_id)

    @property
    def _ids(self) -> Iterator[str]:
        return (str(rows[0].client_user_id) for rows in self.table.payers)

    @cached_property
    def payer_keys(self) -> set[bytes]:
        """The keys of all payers of the table."""
        return {self.key_of(client_user_id) for client_user_id in self._ids}

    @cached_property
    def id_forms(self) -> set[bytes]:
        """The forms of the ids of all payers of the table, as the journal has them."""
        return {_id_form(self.secret, client_user_id) for client_user_id in self._ids}


def _id_form(secret: bytes, client_user_id: str) -> bytes:
    return digest(secret, "id", loose_id_form(client_user_id))


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
