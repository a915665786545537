"""A look at the accounts that a service lists for a payer, next to what the journal knows of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from payerkit.bulk.journal import Entry
from payerkit.bulk.matching import Grade, compare
from payerkit.bulk.tasks import Task

Record = Mapping[str, Any]

_PAGE = 10
"""Accounts of the smallest usual page. A list of so many, or of more in steps of five, may be the first page only: the
specification has no pages, and no sign of more."""

_SMALL_PAGE = 8
"""Accounts of a list that may be cut if some are not of this journal: then nobody here knows how many there are."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The accounts that a service lists for a payer.

    baseline: ids of the accounts that the payer had before any was sent. entries: the journal's records of the payer's
    accounts, by key. is_first: they were never listed before.
    """

    records: Sequence[Record]
    baseline: frozenset[str] = frozenset()
    entries: Mapping[bytes, Entry] = field(default_factory=dict)
    is_first: bool = False

    @property
    def ids(self) -> list[str]:
        """The ids that are listed."""
        return [each for record in self.records if (each := id_of(record))]

    @property
    def known(self) -> frozenset[str]:
        """The ids of all accounts that are known to be there."""
        return self.baseline.union(*(entry.account_ids for entry in self.entries.values()))

    def may_be_cut(self, found: Iterable[Matches] = ()) -> bool:
        """Return True if the service may have more accounts than it lists. found: as for `may_leave_out_others`."""
        is_page = len(self.records) >= _PAGE and len(self.records) % 5 == 0
        return is_page or self.may_leave_out_others(found)

    def may_leave_out_others(self, found: Iterable[Matches] = ()) -> bool:
        """Return True if the list is so long that it may leave out accounts, and shows some that are not of the tasks.

        found: what is listed of tasks whose accounts are not known yet. A list that shows those of tasks alone is no
        reason to stop in the middle of a long table.
        """
        known = {_mark(record) for each in found for record in each.same}
        has_others = any(_mark(record) not in known for record in self.unexplained())
        return len(self.records) >= _SMALL_PAGE and has_others

    @property
    def is_whole(self) -> bool:
        """True if all accounts that are known to be there are listed: then what is missing may count as absent."""
        return not self.may_be_cut() and all(map(id_of, self.records)) and self.known.issubset(self.ids)

    def was_sent(self, key: bytes) -> bool:
        """Return True if a task was sent before, and the outcome was unknown."""
        entry = self.entries.get(key)
        return entry is not None and entry.unknown_sends > 0

    def has_unknown_but(self, keys: Collection[bytes]) -> bool:
        """Return True if the outcome of another task than these is unknown: a listed account may be that one's."""
        return any(entry.state == "unknown" for key, entry in self.entries.items() if key not in keys)

    def unexplained(self, key: bytes | None = None) -> list[Record]:
        """Return the accounts that are not known to be those of tasks, or of tasks but the one with this key."""
        taken = set[str]().union(*(entry.account_ids for other, entry in self.entries.items() if other != key))
        return [record for record in self.records if id_of(record) not in taken]

    def new(self, key: bytes | None = None) -> list[Record]:
        """Return the unexplained accounts that the payer did not have before any was sent."""
        return [record for record in self.unexplained(key) if id_of(record) not in self.baseline]

    def shows_as_sent(self, tasks: Iterable[Task]) -> bool | None:
        """Return whether accounts that are known to be those of tasks are listed as they were sent; None without any.

        If not, a listed account may be a task's, though all that the list shows of it differs.
        """
        ids = {key: entry.facts.get("id") for key, entry in self.entries.items()}
        known = [(task, record) for task in tasks for record in self.records if id_of(record) == ids.get(task.key)]
        return all(compare(task.values, record).grade is not Grade.OTHER for task, record in known) if known else None


@dataclass(frozen=True, slots=True)
class Matches:
    """The listed accounts that could be the one of a task, by their grade.

    other: those that look like another account, and are not known to be another task's. is_shared: one of the rest
    could be another task's as well.
    """

    same: Sequence[Record] = ()
    number: Sequence[Record] = ()
    perhaps: Sequence[Record] = ()
    other: Sequence[Record] = ()
    is_shared: bool = False

    @property
    def strong(self) -> list[Record]:
        """Those whose number is equal."""
        return [*self.same, *self.number]

    def with_other(self, new: Sequence[Record]) -> Matches:
        """Return the matches for a list that may show an account otherwise than it was sent.

        new: accounts that the payer did not have before; those that look like another one are perhaps it.
        """
        return replace(self, perhaps=[*self.perhaps, *(each for each in self.other if each in new)], other=())


def match_tasks(
    tasks: Iterable[Task], candidates: Mapping[bytes, Sequence[Record]], *, others: bool = False
) -> list[Matches]:
    """Return for each task what could be its account, among its candidates.

    An account that is the same as one task's alone is no other's. others: there are tasks whose values are not known
    any more; they may have an equal number.
    """
    tasks = list(tasks)
    grades = [{_mark(each): compare(task.values, each).grade for each in candidates[task.key]} for task in tasks]
    claims: dict[Any, list[Grade]] = {}
    for graded in grades:
        for mark, grade in graded.items():
            claims.setdefault(mark, []).append(grade)
    return [
        _matches(candidates[task.key], graded, claims, others=others)
        for task, graded in zip(tasks, grades, strict=True)
    ]


def _matches(
    records: Sequence[Record], graded: Mapping[Any, Grade], claims: Mapping[Any, Sequence[Grade]], *, others: bool
) -> Matches:
    of_grade: dict[Grade, list[Record]] = {grade: [] for grade in Grade}
    is_shared = False
    for record in records:
        mark = _mark(record)
        strong = [grade for grade in claims[mark] if grade in {Grade.SAME, Grade.NUMBER}]
        if (graded[mark] is Grade.PERHAPS and strong == [Grade.SAME]) or (graded[mark] is Grade.OTHER and strong):
            continue
        of_grade[graded[mark]].append(record)
        is_shared |= graded[mark] in strong and len(strong) > 1
    is_shared |= others and bool(of_grade[Grade.NUMBER])
    same, number, perhaps, other = of_grade.values()
    return Matches(same, number, perhaps, other, is_shared)


def _mark(record: Record) -> Any:
    """Return what tells a listed account from others: the object itself, since it may have no id."""
    return id(record)


def id_of(record: Record) -> str:
    """Return the id of a listed account, "" if it has none."""
    found = record.get("id")
    return str(found) if isinstance(found, str | int) and found != "" else ""


def facts_of(record: Record) -> dict[str, str]:
    """Return what the journal keeps of a listed account."""
    status = record.get("status")
    return {"id": id_of(record)} | ({"status": status} if isinstance(status, str) else {})
