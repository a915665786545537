"""One task: sent so that what became of it is known, or known to be unknown; and looked for later."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote_plus

from payerkit.bulk.journal import Entry, Journal, State
from payerkit.bulk.rate_limit import RateLimiter, RunStopped
from payerkit.bulk.tasks import Task, digest
from payerkit.checks.schema import MASK
from payerkit.client import Client
from payerkit.endpoints import payer_call, payment_detail_call, payment_details_call
from payerkit.errors import InvalidInput, NotFound, NotSent, PayerkitError, RateLimited, UnknownOutcome, WrongKey
from payerkit.masking import holds_email, masking_of, redact
from payerkit.models import PayerStatus, PaymentDetail
from payerkit.wire import wire_name

SENDS = 2
"""Times that a task is sent if its outcome was not known."""

LOOKS = 2
"""Times that somebody looks for an account before it is sent again."""

_STATUSES = ("kyc_status", "agreement_status", "user_id", "status", "id")
_LINKS = ("agreement_url", "kyc_url")
_FACTS = [(name, wire_name(name)) for name in (*_STATUSES, *_LINKS)]
_TELLING = frozenset({"account_number", "iban", "rib_number", "account_name"})
"""Members of which a list shows one at least if it is to tell one account from another."""
_HIDDEN = re.compile(r"[•*xX.]{2,} ?(\w{1,4})")
"""A number of which a list shows the end."""

_LATER = (NotSent, RateLimited, WrongKey)
"""Nothing was done, and the next run may do it."""


class Sender:
    """Sends tasks, and notes in the journal what became of each; safe to share by threads."""

    def __init__(self, client: Client, journal: Journal, pace: RateLimiter) -> None:
        self._client, self._journal, self._pace = client, journal, pace

    def send(self, task: Task) -> State:
        """Send a task until it is known what became of it, or that nobody knows; return that. Raises RunStopped."""
        try:
            return self._send(task)
        except _LATER:
            return "not_sent"  # noted at each try

    def _send(self, task: Task) -> State:
        """Do the same, and raise NotSent, RateLimited or WrongKey, too."""
        try:
            answer = self._pace.call(lambda: self._try(task))
        except UnknownOutcome as error:
            self._journal.doubt(task.key, _reason(error, task.client_user_id))
            return "unknown"
        except _LATER as error:
            if not self._pace.is_forbidden(error):
                raise
            return self._settle(task, "refused", error)
        except InvalidInput as error:
            return self._settle(task, "not_sent", error)
        except PayerkitError as error:
            return self._settle(task, "refused", error)
        self._journal.settle(task.key, "done", facts=_facts(answer, task.client_user_id))
        return "done"

    def _try(self, task: Task) -> dict[str, Any]:
        self._journal.sent(task.key)
        try:
            if task.step == "payer":
                return self._client.send(payer_call(task.client_user_id, task.body, PayerStatus.read_fields))
            return self._client.send(payment_detail_call(task.client_user_id, task.body, PaymentDetail.read_fields))
        except _LATER as error:
            self._settle(task, "not_sent", error, final=False)
            raise

    def _settle(self, task: Task, state: State, error: Exception, *, final: bool = True) -> State:
        """Note an error. What it proves, it does not prove about an earlier try whose outcome is not known."""
        reason, entry = _reason(error, task.client_user_id), self._journal.entry(task.key)
        if entry is not None and entry.doubts:
            state, reason = "unknown", f"Sent without an answer; sending it once more ended with: {reason}"
        self._journal.settle(task.key, state, reason=reason, final=final)
        return state

    def know_accounts(self, task: Task) -> None:
        """Note which accounts a payer has before any is sent. Raises PayerkitError or RunStopped if nobody can tell."""
        payer = digest(self._journal.secret, task.client_user_id)
        if self._journal.known_accounts(payer) is None:
            records = self._listed(task.client_user_id)
            self._journal.know_accounts(payer, [str(record["id"]) for record in records if record.get("id")])

    def _listed(self, client_user_id: str) -> list[dict[str, Any]]:
        try:
            return self._pace.call(lambda: self._client.send(payment_details_call(client_user_id)))
        except NotFound as error:
            if error.foreign:
                raise
            return []  # a payer who is not there has no accounts

    def shows(self, client_user_id: str, payment_details_id: str) -> bool:
        """Tell whether a payer's list has an account; False if nobody can tell."""
        try:
            return any(str(record.get("id")) == payment_details_id for record in self._listed(client_user_id))
        except (PayerkitError, RunStopped):
            return False

    def look_for(self, tasks: Sequence[Task], delay: float) -> None:
        """Look for the accounts of one payer whose outcome is not known, and note what was found.

        tasks: all accounts of the payer. One new account that fits one task alone is that task's. Two that fit, one
        that fits two tasks, one without an id or one that fits no task are left to a person. None: somebody looks again
        after a delay, then it is sent once more.
        """
        entries = {task.key: self._journal.entry(task.key) for task in tasks}
        lost = [task for task in tasks if is_due(entries[task.key], delay)]
        if not lost:
            return
        known = self._journal.known_accounts(digest(self._journal.secret, tasks[0].client_user_id)) or []
        taken = {*known, *(entry.facts.get("id") for entry in entries.values() if entry)}
        new = [record for record in self._listed(tasks[0].client_user_id) if str(record.get("id")) not in taken]
        # Not the lost ones alone: what is not due yet, or is done under an id that nobody told, may be what is seen.
        nameless = [task for task in tasks if _is_nameless(entries[task.key])]
        fitting = {
            task.key: [place for place, record in enumerate(new) if fits(task.values, record)] for task in nameless
        }
        explained = {place for places in fitting.values() for place in places}
        for task in lost:
            places = fitting[task.key]
            is_alone = sum(place in others for others in fitting.values() for place in places) == 1
            if is_alone and new[places[0]].get("id"):
                facts = {name: new[places[0]].get(name) for name in ("id", "status")}
                self._journal.settle(task.key, "done", reason="Found by looking for it.", facts=facts)
            elif places or len(explained) < len(new):
                reason = "One of several accounts could be this one. Compare them: list_payment_details()."
                self._journal.settle(task.key, "unknown", reason=reason)
            else:
                self._missing(task, entries[task.key])

    def _missing(self, task: Task, entry: Entry | None) -> None:
        """Look once more, send once more, or leave it to a person."""
        if entry is None or entry.looks + 1 < LOOKS:
            self._journal.looked(task.key)
        elif entry.doubts < SENDS:
            self._send(task)
        else:
            reason = f"Sent {entry.doubts} times without an answer, and not found. Look at list_payment_details()."
            self._journal.settle(task.key, "unknown", reason=reason)

    def repeat(self, task: Task, delay: float) -> None:
        """Send a payer once more whose outcome is not known: the same id is the same payer. Then it is a person's."""
        entry = self._journal.entry(task.key)
        if not is_due(entry, delay):
            return
        if entry is None or entry.doubts < SENDS:
            self._send(task)
        else:
            reason = f"Sent {entry.doubts} times without an answer. get_payer_status() may tell."
            self._journal.settle(task.key, "unknown", reason=reason)


def is_lost(entry: Entry | None) -> bool:
    """Tell whether the outcome of a task is not known, and still to be found out."""
    return entry is not None and entry.state == "unknown" and not entry.final


def _is_nameless(entry: Entry | None) -> bool:
    """Tell whether a task may be there under an id that nobody knows."""
    return entry is not None and (entry.state == "unknown" or (entry.state == "done" and not entry.facts.get("id")))


def is_due(entry: Entry | None, delay: float) -> bool:
    """Tell whether a write that was on its way must have landed by now, if it ever does."""
    return is_lost(entry) and entry is not None and time.time() >= entry.since + delay


def fits(values: Mapping[str, str], record: Mapping[str, Any]) -> bool:
    """Tell whether a listed account may be the one that was sent: all in both is equal, its number or holder too."""
    listed = {wire_name(name): value for name, value in record.items() if isinstance(value, str)}
    pairs = {name: (value, listed[wire_name(name)]) for name, value in values.items() if wire_name(name) in listed}
    return not _TELLING.isdisjoint(pairs) and all(_equal(name, *pair) for name, pair in pairs.items())


def _equal(name: str, sent: str, stored: str) -> bool:
    """Compare a value with what a list shows of it, which may hide all but the last characters of a number."""
    hidden = _HIDDEN.fullmatch(stored)
    if hidden is not None and masking_of(name) == "account":
        return sent.endswith(hidden[1])
    return sent.casefold() == stored.casefold()


def _facts(members: Mapping[str, Any], client_user_id: str) -> dict[str, str]:
    """Return what the journal keeps of an answer: statuses, ids, and links unless they tell who it is about."""
    facts = {}
    for name, wire in _FACTS:
        text = members.get(wire) or members.get(name)
        if isinstance(text, str) and not _tells(text, client_user_id, is_link=name in _LINKS):
            facts[name] = text
    return facts


def _tells(text: str, client_user_id: str, *, is_link: bool) -> bool:
    """Tell whether a text says whom it is about: it is the id, or a link with it in any encoding; or an e-mail."""
    read, whose = text.casefold(), client_user_id.casefold()
    if is_link and ("%" in read or "+" in read):
        read = unquote_plus(unquote_plus(read))
    return (whose in read if is_link else whose == read) or holds_email(text)


def _reason(error: Exception, client_user_id: str) -> str:
    """Return an error in one line that tells nothing about the payer."""
    fields = [f"{problem.field}: {problem.message}" for problem in getattr(error, "fields", ())]
    message = getattr(error, "message", type(error).__name__)
    if isinstance(error, InvalidInput):
        return message
    return re.sub(r"\S+@\S+", MASK, redact(" ".join([message, *fields]), [client_user_id]))
