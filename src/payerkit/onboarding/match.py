"""Accounts: what makes two the same one, however written, and which of those that a service lists a row asks for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

from payerkit.checks.banks import is_iban
from payerkit.checks.schema import RAILS
from payerkit.wire import wire_name

if TYPE_CHECKING:  # forms compare accounts, too, and need no table
    from payerkit.onboarding.journal import Entry
    from payerkit.onboarding.tasks import Task


NUMBERS = ("account_number", "iban", "rib_number")
"""Fields that number an account."""

CODES = ("routing_number", "sort_code", "swift_bic", "bsb_number", "ncc", "branch_code", "bank_code", "ifsc")
"""Fields that say where an account is kept."""

ACCOUNT_FIELDS = ("currency", "rails", *NUMBERS, *CODES)
"""Fields that make an account of a payer another account if they differ; all others describe it."""

_SAID_BY_IBAN = {*NUMBERS, *CODES} - {"iban"}

_HEAD_OFFICE = "XXX"
"""The end of a SWIFT code of eleven characters that means the same as one of eight (ISO 9362)."""


def account_identity(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what makes an account of a payer this account and no other, "" for each field that is missing.

    An IBAN says which account it is: whoever adds another number or a code to one has the same account.
    """
    forms = {name: normal_form(name, str(values.get(name) or "")) for name in ACCOUNT_FIELDS}
    return tuple("" if forms["iban"] and name in _SAID_BY_IBAN else form for name, form in forms.items())


def normal_form(name: str, value: str) -> str:
    """Return a value of one of ACCOUNT_FIELDS in the form in which equal values are equal texts."""
    text = _compact(value).upper()
    if name == "rails":
        return text.lower() or RAILS[0]  # what the specification says a missing one means
    if name == "swift_bic" and len(text) == 11:
        return text.removesuffix(_HEAD_OFFICE)
    return text


def id_form(client_user_id: str) -> str:
    """Return an id in the form in which near duplicates are equal: other blanks, case or Unicode form."""
    return "".join(unicodedata.normalize("NFKC", client_user_id).casefold().split())


def _compact(value: str) -> str:
    """Return a number or a code without blanks, hyphens and characters that are not shown."""
    if value.isascii() and value.isalnum():
        return value  # the usual case
    text = unicodedata.normalize("NFKC", value)
    return "".join(char for char in text if unicodedata.category(char) not in {"Zs", "Pd", "Cf", "Cc"})


class Grade(Enum):
    """How much a listed account tells about being the one that a row asks for.

    SAME: number, codes and currency are equal. NUMBER: the number is equal, but the list does not show all of the
    others. PERHAPS: its number is masked, missing or written in another way; or it is equal, and codes or rails are
    not. OTHER: another number or currency; or, in a list that shows nothing of the number, another code or other rails.
    """

    SAME = "same"
    NUMBER = "number"
    PERHAPS = "perhaps"
    OTHER = "other"


Relation = Literal["equal", "fits", "hidden", "unlike", "different"]
"""A field of the row next to that of the list. fits: the list shows a part of it. hidden: it shows nothing of it.
unlike: it has something in its place, such as a hash or words. different: it has another value of its kind."""

_DESCRIBING = ("bank_name", "account_name")

_is_in_full = re.compile(r"(?=.*\w)[^•*…]*", re.DOTALL).fullmatch
"""Matches a name of which a list masks nothing."""

_DEAD = frozenset({"failed", "rejected", "deactivated"})
"""Statuses of accounts that cannot be paid, and never will be. Source: those of `statuses.tsv` for accounts."""

_MASK = re.compile(r"X{2,}|[\W_]+")
"""The characters of a mask in a normal form, which has neither blanks nor hyphens."""


def compare(values: Mapping[str, Any], record: Mapping[str, Any]) -> Grade:
    """Compare a row's values, by field name, with an account that a service lists.

    A mask may rule an account out, and never confirms it. An equal number in an equal currency is never another
    account, however its codes and rails are written: banks have several codes, and services write them as they like.
    The names of bank and holder do neither: `differing_names` compares them.
    """
    listed = _shown_texts(record)
    number, currency = _compare_numbers(values, listed), _compare_field("currency", values, listed)
    others = {name: _compare_field(name, values, listed) for name in ("rails", *CODES)}
    is_number_shown = number in {"equal", "fits"}
    if "different" in {number, currency} or ("different" in others.values() and not is_number_shown):
        return Grade.OTHER
    if number != "equal" or {"unlike", "different"} & set(others.values()):
        return Grade.PERHAPS
    has_iban = _compare_field("iban", values, listed) == "equal"  # which says where the account is kept
    codes = [name for name in CODES if values.get(name) or (listed.get(wire_name(name)) and not has_iban)]
    is_shown = currency == "equal" and all(others[name] == "equal" for name in codes)
    return Grade.SAME if is_shown else Grade.NUMBER


def differing_names(values: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
    """Return which of the names of bank and holder a list shows, in full, otherwise than a row has them."""
    listed = _shown_texts(record)
    pairs = [(name, str(values.get(name) or ""), listed.get(wire_name(name), "")) for name in _DESCRIBING]
    return [name for name, sent, shown in pairs if sent and _is_in_full(shown) and id_form(sent) != id_form(shown)]


def _shown_texts(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts and numbers of a listed account, by the fields' names in requests."""
    return {wire_name(name): str(value) for name, value in record.items() if isinstance(value, str | int)}


def is_dead(record: Mapping[str, Any]) -> bool:
    """Return True if a listed account cannot be paid, and never will be."""
    return str(record.get("status")).strip().casefold() in _DEAD


def _compare_numbers(values: Mapping[str, Any], listed: Mapping[str, str]) -> Relation:
    """Compare the numbers of an account; a list may have an IBAN in the place of the account number."""
    relations = {_compare_field(name, values, listed) for name in NUMBERS}
    sent = {normal_form(name, str(values[name])) for name in NUMBERS if values.get(name)}
    shown = {normal_form(name, listed[wire_name(name)]) for name in NUMBERS if listed.get(wire_name(name))}
    if sent & shown:
        return "fits" if "different" in relations else "equal"
    if "different" in relations:
        return "different"
    is_part = any(_is_part(one, other) for one in sent for other in shown)  # an account number and its IBAN, say
    return "fits" if is_part or "fits" in relations else "hidden"


def _compare_field(name: str, values: Mapping[str, Any], listed: Mapping[str, str]) -> Relation:
    """Compare a field that makes an account this account and no other."""
    text = listed.get(wire_name(name), "").strip()
    sent, shown = normal_form(name, str(values.get(name) or "")), normal_form(name, text)
    if not text or not sent or (name == "rails" and shown not in RAILS):
        return "hidden"
    if sent == shown:
        return "equal"
    parts = _MASK.split(shown)
    if len(parts) > 1:
        return _compare_ends(parts, sent)
    if name in NUMBERS and _is_part(sent, shown):
        return "fits"
    if name == "currency":
        return "different" if len(shown) == 3 and shown.isalpha() else "hidden"
    if sent.isdecimal() and shown.isdecimal() and sent.lstrip("0") == shown.lstrip("0"):
        return "fits"
    return "different" if name == "rails" or _is_of_its_kind(name, sent, shown) else "unlike"


def _compare_ends(parts: Sequence[str], sent: str) -> Relation:
    """Compare what a mask leaves of the beginning and the end; words, and fewer than three digits, tell nothing."""
    first, last = parts[0], parts[-1]
    if sent in parts:  # with something behind it, such as .0
        return "fits"
    is_start = re.fullmatch(r"[0-9]{3,}" if sent.isdecimal() else r"[A-Z]{2}[0-9]{2}\w*", first)
    ends = [sent.lstrip("0").startswith(first.lstrip("0"))] if is_start else []
    ends += [sent.endswith(last)] if re.fullmatch(r"[0-9]{3,}", last) else []
    return "hidden" if not ends else "fits" if all(ends) else "different"


def _is_part(sent: str, shown: str) -> bool:
    """Return True if one number begins or ends with the other, whatever zeros are in front."""
    one, other = sorted([sent.lstrip("0"), shown.lstrip("0")], key=len)
    return bool(one) and (other.startswith(one) or other.endswith(one))


def _is_of_its_kind(name: str, sent: str, shown: str) -> bool:
    """Return True if a listed text is a whole value of a field, and not a word or a hash in its place."""
    if name == "iban":
        return is_iban(shown)
    if sent.isdecimal() != shown.isdecimal():
        return False
    return len(sent) == len(shown) or (name in NUMBERS and sent.isdecimal())


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
        known = {id(record) for each in found for record in (*each.same, *each.shared)}
        has_others = any(id(record) not in known for record in self.unexplained())
        return len(self.records) >= _SMALL_PAGE and has_others

    @property
    def is_whole(self) -> bool:
        """True if all accounts that are known to be there are listed: then what is missing may count as absent."""
        return not self.may_be_cut() and all(map(id_of, self.records)) and self.known.issubset(self.ids)

    def was_sent(self, key: bytes) -> bool:
        """Return True if a task was sent before, and the outcome was unknown."""
        entry = self.entries.get(key)
        return entry is not None and entry.unknown_sends > 0

    @property
    def of_others(self) -> list[str]:
        """The ids of new accounts that no task of this journal can claim: another program stored them."""
        is_claimed = any(
            each.state in {"sent", "unknown"} or each.needs_look or (each.unknown_sends and not each.facts.get("id"))
            for each in self.entries.values()
        )
        return [] if is_claimed else [own_id for each in self.new() if (own_id := id_of(each))]

    def match(
        self, tasks: Sequence[Task], candidates: Mapping[bytes, Sequence[Record]], compared: Collection[bytes]
    ) -> dict[bytes, Matches]:
        """Return for each task which of its candidates could be its account.

        An account that matches exactly one task belongs to that task. For an account that matches two tasks, the user
        decides. compared: keys of the tasks whose values are known here. Any other task whose outcome is unknown may
        have the same account number, so it claims the account, too.
        """
        others = any(entry.state == "unknown" for key, entry in self.entries.items() if key not in compared)
        grades = {task.key: {id(each): compare(task.values, each) for each in candidates[task.key]} for task in tasks}
        claims: dict[Any, list[Grade]] = {}
        for graded in grades.values():
            for mark, grade in graded.items():
                claims.setdefault(mark, []).append(grade)
        return {key: _matches(candidates[key], graded, claims, others=others) for key, graded in grades.items()}

    def unexplained(self, key: bytes | None = None) -> list[Record]:
        """Return the accounts that are not known to be those of tasks, or of tasks but the one with this key."""
        taken = set[str]().union(*(entry.account_ids for other, entry in self.entries.items() if other != key))
        return [record for record in self.records if id_of(record) not in taken]

    def new(self, key: bytes | None = None) -> list[Record]:
        """Return the unexplained accounts that the payer did not have before any was sent."""
        return [record for record in self.unexplained(key) if id_of(record) not in self.baseline]

    def of_lost_rows(self, task: Task, compared: Collection[bytes]) -> list[Record]:
        """Return the accounts of a task's number that rows asked for which the table does not have any more.

        Somebody added a code to such a row, say, or left one out. compared: keys of the accounts that the table has.
        """
        ids = {each for key, entry in self.entries.items() if key not in compared for each in entry.account_ids}
        listed = (record for record in self.records if id_of(record) in ids)
        return [record for record in listed if compare(task.values, record) in {Grade.SAME, Grade.NUMBER}]

    def shows_as_sent(self, tasks: Iterable[Task]) -> bool | None:
        """Return whether accounts that are known to be those of tasks are listed as they were sent; None without any.

        If not, a listed account may be a task's, though all that the list shows of it differs.
        """
        ids = {key: entry.facts.get("id") for key, entry in self.entries.items()}
        known = [(task, record) for task in tasks for record in self.records if id_of(record) == ids.get(task.key)]
        return all(compare(task.values, record) is not Grade.OTHER for task, record in known) if known else None


@dataclass(frozen=True, slots=True)
class Matches:
    """The listed accounts that could be the one of a task, by their grade.

    other: those that look like another account, and are not known to be another task's. shared: those with an equal
    number, if another task claims one of them as well; then they are among `perhaps`.
    """

    same: Sequence[Record] = ()
    number: Sequence[Record] = ()
    perhaps: Sequence[Record] = ()
    other: Sequence[Record] = ()
    shared: Sequence[Record] = ()

    @property
    def strong(self) -> list[Record]:
        """Those whose number is equal."""
        return [*self.same, *self.number]

    def with_other(self, new: Sequence[Record]) -> Matches:
        """Return the matches for a list that may show an account otherwise than it was sent.

        new: accounts that the payer did not have before; those that look like another one are perhaps it.
        """
        return replace(self, perhaps=[*self.perhaps, *(each for each in self.other if each in new)], other=())


def _matches(
    records: Sequence[Record], graded: Mapping[Any, Grade], claims: Mapping[Any, Sequence[Grade]], *, others: bool
) -> Matches:
    of_grade: dict[Grade, list[Record]] = {grade: [] for grade in Grade}
    is_shared = False
    for record in records:
        mark = id(record)
        strong = [grade for grade in claims[mark] if grade in {Grade.SAME, Grade.NUMBER}]
        if (graded[mark] is Grade.PERHAPS and strong == [Grade.SAME]) or (graded[mark] is Grade.OTHER and strong):
            continue
        of_grade[graded[mark]].append(record)
        is_shared |= graded[mark] in strong and len(strong) > 1
    is_shared |= others and bool(of_grade[Grade.NUMBER])
    same, number, perhaps, other = of_grade.values()
    if is_shared:
        return Matches(perhaps=[*same, *number, *perhaps], other=other, shared=[*same, *number])
    return Matches(same, number, perhaps, other)


def id_of(record: Record) -> str:
    """Return the id of a listed account, "" if it has none."""
    found = record.get("id")
    return str(found) if isinstance(found, str | int) and found != "" else ""
