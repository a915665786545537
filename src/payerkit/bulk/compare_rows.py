"""Rows of a table against each other: one payer or account in several rows, and what several payers share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from numbers import Number
from typing import Any, Literal

import pandas as pd

from payerkit.bulk.accounts import ACCOUNT_FIELDS, CODES, NUMBERS, id_form, normal_form
from payerkit.bulk.naming import shown_id
from payerkit.bulk.rows import ID, Row, Step
from payerkit.checks.texts import compact
from payerkit.findings import Finding, naming_rows, table_finding

_NAMED = 3
"""Rows that a finding names."""

Key = Callable[[Row], str | tuple[Any, ...]]
"""What is equal for rows that belong together; empty for a row that belongs to none."""


def written_key(step: Step) -> Key:
    """Return a key that is equal for rows that send the same in a step; the id does not count."""
    return lambda row: tuple((name, _text(value)) for name, value in row.data[step].items() if name != ID)


def alike_key(step: Step) -> Key:
    """Return a key that is equal for near duplicates, too: other blanks, case or Unicode form."""
    return _alike_payer if step == "payer" else _alike_account


def _alike_payer(row: Row) -> tuple[Any, ...]:
    forms = {name: id_form(_text(value)) for name, value in row.data["payer"].items() if name != ID}
    return tuple((name, form) for name, form in forms.items() if form)


def _alike_account(row: Row) -> tuple[Any, ...]:
    values = row.data["bank_details"]
    others = {name: id_form(_text(value)) for name, value in values.items() if name not in {ID, *ACCOUNT_FIELDS}}
    return account_key(row), tuple((name, form) for name, form in others.items() if form)


def account_key(row: Row) -> tuple[Any, ...]:
    """Return what makes the account of a row this one."""
    return tuple(_account_form(row, name) for name in ACCOUNT_FIELDS)


def _account_form(row: Row, name: str) -> str:
    value = row.data["bank_details"].get(name)
    return "" if value is None and name != "rails" else normal_form(name, "" if value is None else _text(value))


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


def grouped(rows: Iterable[Row], key: Key) -> dict[Hashable, list[Row]]:
    """Return rows by a key, without those that have none."""
    groups: defaultdict[Hashable, list[Row]] = defaultdict(list)
    for row in rows:
        if own := key(row):
            groups[own].append(row)
    return groups


def tell_shared(rows: Iterable[Row], labels: pd.Index[Any]) -> None:
    """Warn the rows that share with those of another payer what two payers hardly share."""
    given = list(rows)
    for code, name, step, key in _SHARED:
        compared = [row for row in given if step in row.data and not row.has_error(name)]
        groups = grouped(compared, key).values()
        tell_differing(groups, lambda row: (row.payer,), table_finding(code, name), step, labels)


def tell_differing(
    groups: Iterable[Sequence[Row]], key: Key, finding: Finding, step: Step | Literal[""], labels: pd.Index[Any]
) -> None:
    """Tell each row in whose group other rows have another key; the finding names the first row of each other key."""
    for group in groups:
        if len(group) == 1:
            continue
        members: dict[Hashable, list[Row]] = {}
        for row in group:
            members.setdefault(key(row), []).append(row)
        firsts = [(own, rows[0]) for own, rows in members.items()]
        for own, rows in members.items() if len(members) > 1 else ():
            named = [first for other, first in firsts[: _NAMED + 1] if other != own][:_NAMED]
            told = naming(finding, named, len(members) - 1, labels)
            for row in rows:
                row.tell(told, step, finding)


def naming(finding: Finding, named: Sequence[Row], number: int, labels: pd.Index[Any]) -> Finding:
    """Return a finding that names some of a number of rows, by their labels."""
    shown = [str(shown_id(labels[row.number])) for row in named]
    more = number - len(shown)
    *first, last = [*shown, f"{more:,} more"] if more else shown
    listed = f"{', '.join(first)} and {last}" if first else last
    return naming_rows(finding, f"row{'s' * (number > 1)} {listed}")


def tell_without_account(payers: Mapping[Hashable, Sequence[Row]], owners: Collection[int]) -> None:
    """Warn the payers of whom the table has no account, if it has one of most payers.

    payers: the rows that describe each payer. owners: the payers whose accounts it has.
    """
    without = [rows for rows in payers.values() if rows[0].payer not in owners]
    for row in (row for rows in without for row in rows) if 2 * len(without) < len(payers) else ():
        row.tell(table_finding("no_account"), "payer")


def choose(group: Sequence[Row], written: Key, spare: Callable[[Row], int]) -> Row:
    """Return the row that is sent for all of a group, whatever order the table has.

    That is one that as few reasons as possible speak against, written as most of these are. spare: the weight of the
    reasons.
    """
    if len(group) == 1:
        return group[0]
    times = Counter((spare(row), written(row)) for row in group)
    return min(group, key=lambda row: (spare(row), -times[spare(row), written(row)], written(row), row.number))


def _text(value: Any) -> str:
    """Return text that is equal for equal cells. Other cells are no text, and most are never sent: they equal none."""
    if isinstance(value, str):
        return value
    is_stable = isinstance(value, Number) or hasattr(value, "isoformat")
    return f"\0{value!r}" if is_stable else f"\0{type(value).__name__}"
