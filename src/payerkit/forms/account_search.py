"""Find out whether an account was stored although its request got no response: look at the payer's accounts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from payerkit.bulk.accounts import Grade, compare
from payerkit.client.pace import MAX_LOOKUPS, RECONCILE_AFTER
from payerkit.explanations import explain_word
from payerkit.forms.form_state import Banner
from payerkit.html import visible
from payerkit.masking import mask_account
from payerkit.models import BankDetails
from payerkit.wire import our_name
from payerkit.wording import in_words

SearchState = Literal["not_yet", "found", "absent", "unclear"]
"""Too few looks so far, the account is there, it is not there, or only a person can decide."""

Record = Mapping[str, Any]

_PAGE = 10
"""Accounts of the smallest usual page: a list of so many, or of more in steps of five, may be the first page only."""


class AccountSearch:
    """Looks for an account that was sent, and counts how often it was missing.

    before: ids of the accounts that the payer had before; None if that is not known. clock: the time in seconds.
    """

    def __init__(self, before: frozenset[str] | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._before, self._clock = before, clock
        self._compare: Callable[[Record], Grade] | None = None
        self._last = clock()
        self._looks = 0
        self.state: SearchState = "not_yet"

    def note_sending(self, request: BankDetails) -> None:
        """Note the account that is sent now. Earlier looks do not count for it."""
        values = {our_name(name): value for name, value in request.to_dict(reveal=True).items()}
        # A closure: an attribute would show the values in a debugger's list of variables.
        self._compare = partial(_grade, lambda: values)
        self._last, self._looks, self.state = self._clock(), 0, "not_yet"

    def look(self, records: Sequence[Record]) -> list[Record]:
        """Take one look at the accounts of the payer, and return those that may be the one that was sent."""
        is_known = self._before is not None and all(map(_id_of, records))
        new = [record for record in records if not is_known or _id_of(record) not in (self._before or ())]
        grades = [Grade.OTHER if self._compare is None else self._compare(record) for record in new]
        same = [record for record, grade in zip(new, grades, strict=True) if grade in {Grade.SAME, Grade.NUMBER}]
        perhaps = [record for record, grade in zip(new, grades, strict=True) if grade is Grade.PERHAPS]
        if same and is_known:
            self.state = "found"
        elif same or perhaps or (len(records) >= _PAGE and len(records) % 5 == 0):
            self.state = "unclear"
        else:
            self._count_missing()
        return same or perhaps

    def _count_missing(self) -> None:
        """Count a look that showed no such account, unless it came too early to prove anything."""
        now = self._clock()
        if now - self._last >= RECONCILE_AFTER:
            self._looks, self._last = self._looks + 1, now
        self.state = "absent" if self._looks >= MAX_LOOKUPS else "not_yet"

    def banner(self, found: Sequence[Record]) -> Banner:
        """Return the banner about the last look. found: the accounts that it returned."""
        if self.state == "found":
            return _found_banner(found)
        if self.state == "absent":
            return Banner("info", f"No new account after {self._looks} looks. Send it again.")
        if self.state == "not_yet":
            left = max(0.0, self._last + RECONCILE_AFTER - self._clock())
            line = "An account can take a moment to appear."
            return Banner.of("warning", "No new account yet.", line, retry_at=time.monotonic() + left)
        seen = f"{_described(found)} may be it." if found else "The list may be cut off."
        advice = "Compare the accounts below with what you sent, and decide."
        return Banner.of("warning", "The accounts do not show whether it was stored.", seen, advice)


def _found_banner(found: Sequence[Record]) -> Banner:
    """Return the banner about an account that was found, or several of them."""
    count = "1 new account" if len(found) == 1 else f"{len(found)} new accounts"
    title = f"{count}: {_described(found)}."
    if len(found) == 1:
        status = explain_word(found[0].get("status"), "account")
        is_open = bool(found[0].get("status")) and not status.is_passed
        return Banner.of("success", title, "It is stored; do not send it again.", status.next_step * is_open)
    return Banner.of("warning", title, "It is stored more than once. Ask the service to switch off the others.")


def _grade(values: Callable[[], Mapping[str, Any]], record: Record) -> Grade:
    return compare(values(), record).grade


def ids_of(records: Iterable[Record]) -> list[str]:
    """Return the ids of accounts that have one."""
    return [each for record in records if (each := _id_of(record))]


def _id_of(record: Record) -> str:
    return str(record.get("id") or "")


def _described(records: Iterable[Record]) -> str:
    return "; ".join(map(_describe, records))


def _describe(record: Record) -> str:
    """Return an account in words, such as "••••3000, approved"."""
    named = {our_name(str(name)): value for name, value in record.items()}
    numbers = (named.get(name) for name in ("account_number", "iban", "rib_number"))
    number = next((mask_account(str(number)) for number in numbers if number), "")
    words = [number or str(named.get("bank_name") or "an account"), in_words(str(named.get("status") or ""))]
    return visible(", ".join(word for word in words if word))
