"""Rows against each other: one payer or account in several rows, and what several payers share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from numbers import Number
from typing import Any, Literal

from payerkit.checks.texts import compact
from payerkit.findings import Finding, table_finding
from payerkit.onboarding.accounts import ACCOUNT_FIELDS, CODES, NUMBERS, id_form, normal_form
from payerkit.onboarding.rows import ID, Row, Step, shown_id

_NEAR_DUPLICATE = "near_duplicate"

_NAMED = 3
"""Rows that a finding names."""

Key = Callable[[Row], str | tuple[Any, ...]]
"""What is equal for rows that belong together; empty for a row that belongs to none."""


def _alike_key(step: Step) -> Key:
    """Return a key of rows for the same payer or account that is equal for near duplicates.

    These have other blanks, case or Unicode form. The id, and what makes the account this one, are equal already.
    """
    besides = {ID, *ACCOUNT_FIELDS}
    return lambda row: tuple(
        (name, form)
        for name, value in row.data[step].items()
        if name not in besides and (form := id_form(_text(value)))
    )


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


def grouped(rows: Iterable[Row], key: Key) -> list[list[Row]]:
    """Return rows by a key, without those that have none."""
    groups: defaultdict[Hashable, list[Row]] = defaultdict(list)
    for row in rows:
        if own := key(row):
            groups[own].append(row)
    return list(groups.values())


def compare_rows(rows: Sequence[Row], payers: Sequence[Sequence[Row]], held_codes: Collection[str]) -> None:
    """Find the rows that describe the same payer or account: which contradict each other, and which are sent.

    payers: the rows of each payer. held_codes: of the warnings for which a row is kept back.
    """
    given = [row for row in rows if row.payer >= 0]
    _tell_shared([row for row in given if not row.is_example])
    described = grouped((row for row in given if "payer" in row.data), lambda row: (row.payer,))
    owned = [row for row in given if "bank_details" in row.data]
    accounts = grouped(owned, lambda row: (row.payer, *(_account_form(row, name) for name in ACCOUNT_FIELDS)))
    _tell_differing(described, _alike_key("payer"), table_finding("id_twice"), "")
    _tell_differing(accounts, _alike_key("bank_details"), table_finding("account_twice"), "bank_details")
    owners = {row.payer for row in owned}
    without = [group for group in described if group[0].payer not in owners]
    for row in chain.from_iterable(without) if 2 * len(without) < len(described) else ():
        row.tell(table_finding("no_account"), "payer")  # the table has one of most payers
    writing = {row.written_id: row for row in reversed(given)}
    for row in given:
        if row.is_respelled:
            _tell_naming(row, table_finding(_NEAR_DUPLICATE, ID), [writing[str(row.client_user_id)]], 1)
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
        row.is_held = not row.is_blocked and row.has_code(held_codes)


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
            _tell_naming(row, table_finding(_NEAR_DUPLICATE), [chosen], 1, step)
    return chosen


def _tell_shared(rows: Sequence[Row]) -> None:
    """Warn the rows that share with those of another payer what two payers hardly share."""
    for code, name, step, key in _SHARED:
        compared = [row for row in rows if step in row.data and not row.has_error(name)]
        _tell_differing(grouped(compared, key), lambda row: (row.payer,), table_finding(code, name), step)


def _tell_differing(groups: Iterable[Sequence[Row]], key: Key, finding: Finding, step: Step | Literal[""]) -> None:
    """Tell each row in whose group other rows have another key; the finding names the first row of each other key."""
    for group in groups:
        members: dict[Hashable, list[Row]] = {}
        for row in group if len(group) > 1 else ():
            members.setdefault(key(row), []).append(row)
        firsts = [(own, rows[0]) for own, rows in members.items()]
        for own, rows in members.items() if len(members) > 1 else ():
            named = [first for other, first in firsts[: _NAMED + 1] if other != own][:_NAMED]
            for row in rows:
                _tell_naming(row, finding, named, len(members) - 1, step)


def _tell_naming(row: Row, finding: Finding, named: Sequence[Row], number: int, step: Step | Literal[""] = "") -> None:
    """Tell a row a finding that names some of a number of rows, by their labels."""
    shown = [str(shown_id(each.label)) for each in named]
    more = number - len(shown)
    *first, last = [*shown, f"{more:,} more"] if more else shown
    listed = f"{', '.join(first)} and {last}" if first else last
    message = f"{finding.message.removesuffix('.')}: see row{'s' * (number > 1)} {listed}."
    row.tell(replace(finding, message=message), step, finding)


def _text(value: Any) -> str:
    """Return text that is equal for equal cells. Other cells are no text, and most are never sent: they equal none."""
    if isinstance(value, str):
        return value
    is_stable = isinstance(value, Number) or hasattr(value, "isoformat")
    return f"\0{value!r}" if is_stable else f"\0{type(value).__name__}"
