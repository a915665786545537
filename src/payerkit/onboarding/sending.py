"""Send one task, and record its outcome in the journal: before its first byte leaves, and after its response."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote_plus

from payerkit import errors
from payerkit.checks.schema import MASK
from payerkit.client.client import Client
from payerkit.client.pace import PAYER_WAITS
from payerkit.endpoints import payer_call, payer_status_call, payment_detail_call
from payerkit.errors import PayerkitError
from payerkit.masking import holds_email, redact
from payerkit.models import PayerStatus, PaymentDetail
from payerkit.onboarding.journal import Deferred, Entry, Journal, State
from payerkit.onboarding.limiter import RateLimiter, RunStopped, is_foreign, list_accounts, outcome_of
from payerkit.onboarding.match import Listing, Matches, Record, differing_names, id_of, is_dead
from payerkit.onboarding.options import Options
from payerkit.onboarding.tasks import Task
from payerkit.reasons import WAITING_CODES, Outcome
from payerkit.wire import first, wire_name

_LINKS = ("agreement_url", "kyc_url")
_FACTS = [(name, wire_name(name)) for name in ("kyc_status", "agreement_status", "user_id", "status", "id", *_LINKS)]

_NOTHING_HAPPENED = (errors.NotSent, errors.RateLimited, errors.WrongKey)
"""Errors after which the task can be sent by a later run: the service did nothing, and not because of the task."""

_MISSING = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}
"""Responses to a payer's status that mean: no such payer, or no such call."""

REFUSED = "refused"
"""The fact that keeps why a task was refused whose earlier attempt is still unknown."""

_COMPLIANCE = ("kyc_status", "agreement_status")


@dataclass
class Sender:
    """Sends tasks and records the outcome of each in the journal; safe to share by threads."""

    client: Client
    journal: Journal
    limiter: RateLimiter
    options: Options

    def defer(self, task: Task, state: Deferred, reason: Outcome | None) -> None:
        """Record why a task is not sent in this run."""
        self.journal.defer(task.key, state, reason, payer=task.payer_key, content=task.content)

    def delay(self) -> float:
        """Return the seconds until a write must have taken effect, if it ever does.

        A call that seems to have taken longer than its deadline did not: the machine slept meanwhile.
        """
        return max(self.options.reconcile_after, min(2 * self.limiter.slowest, self.client.timeout.total))

    def _wait_for_strays(self, tasks: Sequence[Task]) -> None:
        """Wait until the payer's list shows what was sent for rows that the table does not have as they were.

        Somebody may have added a code to such a row, say, whose write takes effect later. Raises RunStopped.
        """
        entries, own = self.journal.entries_of(tasks[0].payer_key), {task.key for task in tasks}
        strays = [entry.since for key, entry in entries.items() if entry.is_unresolved and key not in own]
        seconds = max(strays, default=-math.inf) + self.delay() - self.journal.now()
        if seconds > 0 and self.limiter.pause(seconds):
            raise RunStopped

    def sort_out(self, tasks: Sequence[Task], unsent: Sequence[Task]) -> dict[bytes, State]:
        """Record which accounts of a payer wait, are there already, or may be; return their states by key.

        tasks: all accounts of the payer that the table has. unsent: those of them that are to be sent.
        """
        self._wait_for_strays(tasks)
        listing = self._list(unsent)
        if not isinstance(listing, Listing):
            for task in unsent:
                self.defer(task, *listing)
            return {task.key: listing[0] for task in unsent}
        self.journal.add_to_baseline(unsent[0].payer_key, listing.ids if listing.is_first else listing.of_others)
        if not listing.records:
            return {}
        is_skipped = self.options.existing == "skip"
        # What was sent before, and may have been stored late, is looked for all the same.
        sent_before = {task.key: listing.new(task.key) if listing.was_sent(task.key) else [] for task in tasks}
        candidates = {key: listing.unexplained(key) for key in sent_before} if is_skipped else sent_before
        for task in unsent if is_skipped else ():
            if not listing.was_sent(task.key):
                candidates[task.key] += listing.of_lost_rows(task, candidates)
        claiming = [task for task in tasks if _may_be_listed(listing.entries.get(task.key))]
        found = listing.match(claiming, candidates, {task.key for task in tasks})
        is_cut = is_skipped and listing.may_leave_out_others(found.values())
        if listing.shows_as_sent(tasks) is not True:  # what was sent before may be listed, whatever the list shows
            found |= {key: each.with_other(sent_before[key]) for key, each in found.items() if listing.was_sent(key)}
        states: dict[bytes, State] = {}
        for task in unsent:
            matches = found[task.key]
            if alive := [record for record in matches.same if not is_dead(record)]:
                self.defer(task, "not_sent", None)
                reason = "found_in_list" if listing.was_sent(task.key) else "there_already"
                states[task.key] = record_found(self.journal, task, alive, reason=reason)
            elif is_skipped and (why := _why_not_sent(matches, listing, is_cut=is_cut)):
                self.defer(task, "not_sent", why)
                states[task.key] = "not_sent"
        return states

    def _list(self, tasks: Sequence[Task]) -> Listing | tuple[Deferred, Outcome]:
        """Return the accounts that a payer has before the tasks are sent, or why the tasks are not sent in this run."""
        client_user_id, failure = tasks[0].client_user_id, "status_unread"
        try:
            if self.options.accounts == "when_compliant":
                fields = self.read_status(client_user_id)
                facts = {name: text for name, text in _facts(fields, client_user_id).items() if name in _COMPLIANCE}
                if tasks[0].row.payer_row is not None:
                    self.journal.add_facts(tasks[0].payer_key, facts)
                if first(fields, "isCompliant", "is_compliant") is not True:
                    return "waiting", Outcome("not_compliant", {name: _shown(facts.get(name)) for name in _COMPLIANCE})
            failure = "list_unread"
            return self.look(tasks[0])
        except PayerkitError as error:
            if failure == "list_unread" and (waits := waiting_reason(error)):
                return "waiting", waits
            return "not_sent", reason_of(error, client_user_id, failure)

    def send(self, task: Task) -> State:
        """Send a task, record its outcome and return it. Raises RunStopped."""
        try:
            return self.send_or_raise(task)
        except PayerkitError:
            entry = self.journal.entry(task.key)  # each attempt recorded it
            return "not_sent" if entry is None else entry.state

    def send_or_raise(self, task: Task) -> State:
        """Send a task, record its outcome and return it.

        Raises RunStopped; and a PayerkitError if a later run can send it, or is to look it up: one after which nothing
        happened, or a refusal while the outcome of an earlier attempt is unknown.
        """
        try:
            fields = self._send_to_stored_payer(task)
        except errors.UnknownOutcome as error:
            self.journal.remember_slowest(self.limiter.slowest)  # first: how long to wait must outlive a kill
            self.journal.mark_unknown(task.key, reason_of(error, task.client_user_id))
            return "unknown"
        except _NOTHING_HAPPENED as error:
            if not isinstance(error, errors.WrongKey) or not self.limiter.is_forbidden(error):
                raise
            return self._record_refusal(task, error)
        except errors.InvalidInput as error:
            return self._record(task, "not_sent", reason_of(error, task.client_user_id))
        except errors.Refused as error:
            return self._handle_refusal(task, error)
        has_failed = task.step == "bank_details" and is_dead(fields)  # at once, as one in a list may have
        reason = Outcome("stored_failed", {"status": str(fields["status"])}) if has_failed else None
        state: State = "refused" if has_failed else "done"
        self.journal.record(task.key, state, reason=reason, facts=_facts(fields, task.client_user_id))
        return state

    def _send_to_stored_payer(self, task: Task) -> dict[str, Any]:
        """Send a task, and an account again while its payer, whom the service stored, is not found there yet."""
        attempt = partial(self.limiter.call, partial(self._attempt, task), kind=task.step)
        for seconds in PAYER_WAITS:
            try:
                return attempt()
            except errors.NotFound as error:
                if not self._is_payer_lagging(task, error):
                    raise
                self._postpone(task, error, "payer_lags")  # first: the run may not outlive the wait
                if self.limiter.pause(seconds):
                    raise
        return attempt()

    def _is_payer_lagging(self, task: Task, error: errors.Refused) -> bool:
        """Return True if an account is refused since its payer is not found, whom the service stored before."""
        payer = self.journal.entry(task.payer_key)
        is_missing = isinstance(error, errors.NotFound) and not error.foreign and task.step == "bank_details"
        return is_missing and payer is not None and payer.state == "done"

    def _attempt(self, task: Task) -> dict[str, Any]:
        entry = self.journal.entry(task.key)
        # An account that may be stored already: one last look is due after that.
        needs_look = task.step == "bank_details" and entry is not None and entry.unknown_sends > 0
        # Committed before the first byte leaves: whatever happens next, the journal knows that it may have been sent.
        self.journal.sent(task.key, payer=task.payer_key, content=task.content, needs_look=needs_look)
        try:
            if task.step == "payer":
                return self.client.send(payer_call(task.client_user_id, task.body, PayerStatus.read_fields))
            return self.client.send(payment_detail_call(task.client_user_id, task.body, PaymentDetail.read_fields))
        except _NOTHING_HAPPENED as error:
            # Recorded before the wait for the next attempt, which the run, or the process, may not live to see.
            self._postpone(task, error)
            raise

    def _handle_refusal(self, task: Task, error: errors.Refused) -> State:
        """Record a refusal and return the state: it may end by itself, or mean that the task was there already."""
        if is_foreign(error) or (error.retryable and not error.code):  # or it broke off before the reason
            state = self._postpone(task, error)
        elif self._is_payer_lagging(task, error):
            state = self._postpone(task, error, "payer_lags")
        elif task.step == "bank_details" and (waits := waiting_reason(error)):
            state = self._record(task, "waiting", waits, final=False)
        elif error.status_code == HTTPStatus.CONFLICT and task.step == "payer":
            return self._handle_payer_conflict(task, error)
        else:
            return self._record_refusal(task, error)
        if state == "unknown":
            raise error  # sent again in this run, it would be refused again until the payer may have accounts
        return state

    def _handle_payer_conflict(self, task: Task, error: errors.Refused) -> State:
        """Record a payer as done if the service, which refused it as there already, returns its status."""
        self._postpone(task, error)  # first: the run may be stopped before the status is read
        try:
            if self.find_payer(task, Outcome("payer_there_already")):
                return "done"
        except (*_NOTHING_HAPPENED, errors.ServiceError) as failure:
            if not self.limiter.is_forbidden(failure):
                raise
        except PayerkitError:
            pass  # the service returns nothing that can be read: whatever the conflict is about
        return self._record_refusal(task, error, "payer_conflict")

    def _record_refusal(self, task: Task, error: errors.Refused, code: str = "") -> State:
        """Record a refusal by the service, and return the state. Raises it if an earlier attempt is unknown."""
        reason = reason_of(error, task.client_user_id, code)
        # If an earlier attempt is unknown, this is what becomes of the task once that is known not to be stored.
        state = self._record(task, "refused", reason, facts={REFUSED: reason})
        if state == "unknown":
            raise error
        self.limiter.count_refusal(error, reason, self.options.stop_after)
        return state

    def _postpone(self, task: Task, error: PayerkitError, code: str = "") -> State:
        """Record that a task was not sent, or not refused by the service itself: a later run sends it."""
        return self._record(task, "not_sent", reason_of(error, task.client_user_id, code), final=False)

    def _record(
        self, task: Task, state: State, reason: Outcome, *, final: bool = True, facts: Mapping[str, Any] | None = None
    ) -> State:
        """Record why a task is not done and return the state: unknown if the outcome of an earlier attempt is.

        What a later attempt meets proves nothing about an earlier one. facts: kept while it is unknown.
        """
        entry = self.journal.entry(task.key)
        if entry is None or not entry.unknown_sends:
            self.journal.record(task.key, state, reason=reason, final=final)
            return state
        unknown = Outcome("earlier_unknown", {"cause": reason})
        self.journal.record(task.key, "unknown", reason=unknown, final=False, facts=facts)
        return "unknown"

    def read_status(self, client_user_id: str, *, kind: str = "status") -> dict[str, Any]:
        """Return the fields of a payer's status. Raises PayerkitError or RunStopped. kind: as for the limiter."""
        call = payer_status_call(client_user_id, PayerStatus.read_fields)
        return self.limiter.call(lambda: self.client.send(call), kind=kind)

    def find_payer(self, task: Task, reason: Outcome) -> bool:
        """Record a payer as done, with a reason, if the service returns the payer's status, and return True.

        Return False if the service does not know the payer, or does not offer the call. Raises PayerkitError or
        RunStopped.
        """
        try:
            fields = self.read_status(task.client_user_id, kind="")
        except PayerkitError as error:
            if error.status_code in _MISSING:
                return False
            raise
        self.journal.record(task.key, "done", reason=reason, facts=_facts(fields, task.client_user_id))
        return True

    def look(self, task: Task) -> Listing:
        """Return the accounts that the service lists for a task's payer. Raises PayerkitError or RunStopped."""
        records = list_accounts(self.client, self.limiter, task.client_user_id, kind="list")
        distinct = {id_of(record) or place: record for place, record in enumerate(records)}
        baseline, entries = self.journal.baseline(task.payer_key), self.journal.entries_of(task.payer_key)
        return Listing([*distinct.values()], frozenset(baseline or ()), entries, is_first=baseline is None)


def _why_not_sent(found: Matches, listing: Listing, *, is_cut: bool) -> Outcome | None:
    """Return why an account that may be there already is not sent; None if it is sent."""
    if found.same:
        record = found.same[0]
        return Outcome("there_failed", {"ids": [id_of(record)], "status": str(record.get("status"))})
    if perhaps := [*found.strong, *found.perhaps]:
        return Outcome("perhaps_there", {"ids": [*map(id_of, perhaps)]})
    return Outcome("perhaps_there", {"listed": len(listing.records)}) if is_cut else None


def _may_be_listed(entry: Entry | None) -> bool:
    """Return True unless the journal knows under which id a task's account is listed."""
    return entry is None or entry.state in {"unknown", "not_sent", "waiting"} or not entry.facts.get("id")


def record_found(
    journal: Journal, task: Task, records: Sequence[Record], *, reason: str, needs_look: bool | None = None
) -> State:
    """Record a task whose account is listed, once or more often, and return the state.

    A failed account is ignored if another one has not failed: the account was sent again, or by another program.
    reason: the code for a task that is done. needs_look: whether to read the list once more; None for as before.
    """
    chosen, *others = [record for record in records if not is_dead(record)] or records[:1]
    facts: dict[str, Any] = {"id": id_of(chosen)}
    status = chosen.get("status")
    if isinstance(status, str) and not _identifies(status, task.client_user_id, is_link=False):
        facts["status"] = status
    state: State = "done"
    if others:
        state, outcome = "duplicate", Outcome("stored_twice")
        facts["other_ids"] = [id_of(record) for record in others]
    elif is_dead(chosen):
        state, outcome = "refused", Outcome("listed_failed", {"status": str(chosen["status"])})
    else:
        outcome = Outcome(reason, {"differs": differing_names(task.values, chosen)})
    journal.record(task.key, state, reason=outcome, facts=facts, needs_look=needs_look)
    return state


def _facts(fields: Mapping[str, Any], client_user_id: str) -> dict[str, str]:
    """Return what the journal keeps of a response: ids, statuses and links, unless they identify the payer."""
    facts = {}
    for name, wire in _FACTS:
        text = fields.get(wire) or fields.get(name)
        text = str(text) if name == "id" and type(text) is int else text
        if isinstance(text, str) and not _identifies(text, client_user_id, is_link=name in _LINKS):
            facts[name] = text
    return facts


def _identifies(text: str, client_user_id: str, *, is_link: bool) -> bool:
    """Return True if a text is a payer's id, or a link that holds it in any encoding, or holds an e-mail address."""
    folded, own_id = text.casefold(), client_user_id.casefold()
    if is_link and ("%" in folded or "+" in folded):
        folded = unquote_plus(unquote_plus(folded))
    return (own_id in folded if is_link else own_id == folded) or holds_email(text)


def _shown(status: str | None) -> str | None:
    """Return a status as a reason shows it: a word of the service, and nothing that may be personal."""
    return status if status is None or re.fullmatch(r"[\w-]{1,40}", status) else MASK


def waiting_reason(error: PayerkitError) -> Outcome | None:
    """Return what an account waits for, None unless it was refused in a way that ends by itself.

    Only the code of the refusal tells; words are never interpreted.
    """
    if isinstance(error, errors.Refused) and not isinstance(error, _NOTHING_HAPPENED) and error.code in WAITING_CODES:
        return Outcome("waits", {"waiting_code": error.code})
    return None


def reason_of(error: PayerkitError, client_user_id: str, code: str = "") -> Outcome:
    """Return why a call failed, without the payer's data. code: of an outcome of which that is the cause."""
    found = outcome_of(error)
    if not isinstance(error, errors.InvalidInput):
        fields = [f"{problem.field}: {problem.message}" for problem in error.fields]
        known = Outcome(found.code, {**found.params, "fields": fields} if fields else found.params)
        found = known.of_texts(lambda text: re.sub(r"\S+@\S+", MASK, redact(text, [client_user_id])))
    return Outcome(code, {"cause": found}) if code else found
