"""The stored accounts of a payer: those that a payment can be paid to, and whether one is there after all."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from payerkit.client.pace import MAX_LOOKUPS, RECONCILE_AFTER
from payerkit.explanations import explain_word
from payerkit.forms.view import Banner
from payerkit.masking import mask_account
from payerkit.models import BankDetails, Payout
from payerkit.onboarding.accounts import Grade, compare
from payerkit.wire import our_name
from payerkit.wording import count_of, in_words, listed, visible

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
        self._compare: Callable[[Record], Grade] = lambda _: Grade.OTHER
        self._last = clock()
        self._looks = 0
        self.state: SearchState = "not_yet"

    def note_sending(self, request: BankDetails) -> None:
        """Note the account that is sent now. Earlier looks do not count for it."""
        values = {our_name(name): value for name, value in request.to_dict(reveal=True).items()}
        # A closure: an attribute would show the values in a debugger's list of variables.
        self._compare = lambda record: compare(values, record).grade
        self._last, self._looks, self.state = self._clock(), 0, "not_yet"

    def look(self, records: Sequence[Record]) -> list[Record]:
        """Take one look at the accounts of the payer, and return those that may be the one that was sent."""
        is_known = self._before is not None and all(map(_id_of, records))
        new = [record for record in records if not is_known or _id_of(record) not in (self._before or ())]
        grades = [(self._compare(record), record) for record in new]
        same = [record for grade, record in grades if grade in {Grade.SAME, Grade.NUMBER}]
        perhaps = [record for grade, record in grades if grade is Grade.PERHAPS]
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


class AccountChoice:
    """The accounts of a payer, by their ids. Account numbers are masked, and nothing else in it is secret."""

    def __init__(self, client_user_id: str = "", records: Iterable[Mapping[str, Any]] = ()) -> None:
        self.client_user_id = client_user_id
        ids = {str(record["id"]): record for record in records if record.get("id")}
        self._accounts = {
            name: Payout.of_account(record, request_id="", client_user_id=client_user_id, payment_details_id=name)
            for name, record in ids.items()
        }

    def find(self, payment_details_id: object) -> Payout | None:
        """Return an account; None if its payer was not looked up, or has no such account."""
        return self._accounts.get(str(payment_details_id))

    def approved(self) -> list[str]:
        """Return the ids of the accounts that can be paid."""
        return [name for name, account in self._accounts.items() if _is_approved(account)]

    def options(self, chosen: str = "") -> dict[str, str]:
        """Return what to choose from: the accounts that can be paid, and the chosen one, by id in words."""
        words = {
            name: _option(account)
            for name, account in self._accounts.items()
            if _is_approved(account) or name == chosen
        }
        if chosen and chosen not in words:  # its payer was not looked up
            words[chosen] = f"The account with the id {visible(chosen)}"
        count = Counter(words.values())
        return {name: text if count[text] == 1 else f"{text}, id …{name[-6:]}" for name, text in words.items()}

    def summary(self) -> str:
        """Return how many accounts can be paid, and which ones cannot."""
        others = [_option(account) for account in self._accounts.values() if not _is_approved(account)]
        count = f"{count_of(len(self.approved()), 'account')} can be paid."
        return f"{count} Not approved: {listed(others, 'and')}." if others else count


def _is_approved(account: Payout) -> bool:
    return explain_word(account.status, "account").is_passed


def _option(account: Payout) -> str:
    """Return an account in words, such as "••••3489 at Chase (USD, local)"; its status, unless it can be paid."""
    status = "" if _is_approved(account) else f", {in_words(account.status or '') or 'no status'}"
    return visible(f"{account.words}{status}")
