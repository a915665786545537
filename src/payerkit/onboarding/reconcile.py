"""Send one task and record its outcome; reconcile what is unknown, and find out whether any was stored twice.

A write is *unknown* if no readable response came (`UnknownOutcome`), or if the process ended while it was being sent.
What becomes of a task is decided by evidence alone. Of each row, the last column says whose word it is: that of the
service's response, of the payer's list or status, of this journal, or of a person, to whom the report leaves the rest.

    task     state      evidence                                                      next state             proven by
    any      none       accepted                                                      done                   service
    account  none       accepted, as failed                                           refused                service
    any      none       refused by the API                                            refused                service
    any      none       refused by a gateway, or redirected                           not_sent, next run     service
    any      none       never left this machine, or refused as too frequent           not_sent, next run     service
    any      none       the response was lost                                         unknown                journal
    any      sent       the process ended                                             unknown                journal
    any      refused    the row changed                                               sent                   journal
    any      refused    retry=["refused"]                                             sent                   person
    payer    none       refused as there already, and its status is known             done                   status
    payer    none       refused as there already, and it has no status                refused                service
    payer    unknown    its status is known                                           done                   status
    payer    unknown    it has no status                                              sent                   status
    payer    unknown    six looks, and neither a status nor a response                unknown, next run      journal
    payer    unknown    it has no status, and is refused when it is sent again        unknown, next run      journal
    account  none       the list has it already                                       done                   list
    account  none       the list has it already, twice                                duplicate              list
    account  none       the list has it already, as failed                            not_sent, next run     list
    account  none       the list may have it already                                  not_sent, next run     list
    account  none       the list may be cut, and shows accounts of others             not_sent, next run     list
    account  not_sent   the list may have it already; existing="send"                 sent                   person
    account  none       refused until the payer is compliant                          waiting, next run      service
    account  none       its payer is stored, and not found                            not_sent, next run     journal
    account  none       refused as there already, and listed                          done                   list
    account  none       refused as there already, and not listed                      refused                list
    account  none       refused as there already, and what is listed may be another's not_sent, next run     list
    account  done       another field of the row changed                              done                   journal
    account  unknown    one new account is the same, or has the same number           done                   list
    account  unknown    one new account is the same, and listed as failed             refused                list
    account  unknown    sent twice, and two new accounts are the same                 duplicate              list
    account  unknown    sent once, and two new accounts are the same                  duplicate              list
    account  unknown    a new account may be it                                       unknown, final         person
    account  unknown    a new account may be it, or that of another task              unknown, final         person
    account  unknown    a new account differs, and no list shows accounts as sent     unknown, final         person
    account  unknown    a new account differs, and lists show accounts as sent        sent                   list
    account  unknown    missing in one whole list                                     unknown                list
    account  unknown    missing in two whole lists                                    sent                   list
    account  unknown    missing again, after this run sent it again                   not_sent, next run     list
    account  unknown    missing, after it was refused when sent again                 refused                list
    account  unknown    missing in a list that is not whole                           unknown, next run      journal
    account  unknown    missing, and no list shows what is stored for certain         unknown, next run      journal
    account  unknown    missing, and the payer is not compliant (when_compliant)      unknown, next run      status
    account  unknown    final; retry=["unknown"]                                      unknown                person
    account  unknown    retry=["unknown"] and existing="send"                         sent                   person
    account  done       sent twice; the last look shows one                           done                   list
    account  done       sent twice; the last look shows two                           duplicate              list
    account  done       sent twice; the last look shows one that may be a second one  unknown, final         person
    account  done       sent twice; the last look shows a new one, none as sent       unknown, final         person
    account  done       sent twice; the last look is at a list that is not whole      done, looked at again  list
    account  not_sent   sent twice; the last look shows one                           done                   list

When: at once, after all of a step were sent, for what is found for certain; nothing else follows from that look, and no
wait begins anew. Then a whole delay after the write was sent or looked for, which is RECONCILE_AFTER, or twice the time
of the slowest call if that is longer, those that timed out among them, and those of earlier runs that left something
unknown; at most the deadline of a call. By then a write has taken effect, if it ever does. Each run waits anew. A kill
does not count as a try: looks and repeats are counted within a run.

A list is *whole* if it has all accounts that are known to be there: those that the payer had before any was sent (the
baseline), and those of tasks that are done; if each has an id; if its length is not that of a usual page; and if it has
fewer than eight accounts, or shows those of this journal alone. Where no account is known to be there, two lists a
delay apart count, if lists of this service show what it stored.

A *new* account is neither in the baseline nor that of another task. `payerkit.onboarding.accounts` says how it is
compared. It may be any task's whose outcome is unknown, also if all that the list shows of it differs, and no last look
clears it; unless lists of this service show as it was sent what is stored for certain.

Never guessed: which of several accounts it is; that an account does not exist, if the list cannot be read or leaves out
accounts; that a refusal says anything about an earlier attempt. The limits are in `payerkit.client.pace`.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from itertools import islice
from typing import Any
from urllib.parse import unquote_plus

from payerkit.checks.schema import MASK
from payerkit.client.client import Client
from payerkit.client.pace import MAX_LOOKUPS, MAX_PAYER_LOOKS, MAX_REPEATS, PAYER_WAITS
from payerkit.endpoints import payer_call, payer_status_call, payment_detail_call
from payerkit.errors import (
    InvalidInput,
    NotFound,
    NotSent,
    PayerkitError,
    RateLimited,
    Refused,
    ServiceError,
    UnknownOutcome,
    WrongKey,
)
from payerkit.masking import holds_email, redact
from payerkit.models import PayerStatus, PaymentDetail
from payerkit.onboarding.accounts import Listing, Matches, Record, compare, id_of, is_dead
from payerkit.onboarding.journal import Deferred, Entry, Journal, State
from payerkit.onboarding.limiter import RateLimiter, RunStopped, is_foreign, list_accounts, outcome_of
from payerkit.onboarding.options import Options
from payerkit.onboarding.table import Task
from payerkit.reasons import WAITING_CODES, Outcome
from payerkit.wire import first, wire_name

_LINKS = ("agreement_url", "kyc_url")
_FACTS = [(name, wire_name(name)) for name in ("kyc_status", "agreement_status", "user_id", "status", "id", *_LINKS)]

_NOTHING_HAPPENED = (NotSent, RateLimited, WrongKey)
"""Errors after which the task can be sent by a later run: the service did nothing, and not because of the task."""

_MISSING = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}
"""Responses to a payer's status that mean: no such payer, or no such call."""

REFUSED = "refused"
"""The fact that keeps why a task was refused whose earlier attempt is still unknown."""

_COMPLIANCE = ("kyc_status", "agreement_status")


class Sender:
    """Sends tasks and records the outcome of each in the journal; safe to share by threads.

    stop_after: how many rows with equal refusals stop the run; None if no number does.
    """

    def __init__(self, client: Client, journal: Journal, limiter: RateLimiter, stop_after: int | None = None) -> None:
        self._client, self._journal, self._limiter, self._stop_after = client, journal, limiter, stop_after

    def defer(self, task: Task, state: Deferred, reason: Outcome | None) -> None:
        """Record why a task is not sent in this run."""
        self._journal.defer(task.key, state, reason, payer=task.payer_key, content=task.content)

    def send(self, task: Task) -> State:
        """Send a task, record its outcome and return it. Raises RunStopped."""
        try:
            return self.send_or_raise(task)
        except PayerkitError:
            entry = self._journal.entry(task.key)  # each attempt recorded it
            return "not_sent" if entry is None else entry.state

    def send_or_raise(self, task: Task) -> State:
        """Send a task, record its outcome and return it.

        Raises RunStopped; and a PayerkitError if a later run can send it, or is to look it up: one after which nothing
        happened, or a refusal while the outcome of an earlier attempt is unknown.
        """
        try:
            fields = self._send_to_stored_payer(task)
        except UnknownOutcome as error:
            self._journal.remember_slowest(self._limiter.slowest)  # first: how long to wait must outlive a kill
            self._journal.mark_unknown(task.key, reason_of(error, task.client_user_id))
            return "unknown"
        except _NOTHING_HAPPENED as error:
            if not isinstance(error, WrongKey) or not self._limiter.is_forbidden(error):
                raise
            return self._record_refusal(task, error)
        except InvalidInput as error:
            return self._record(task, "not_sent", reason_of(error, task.client_user_id))
        except Refused as error:
            return self._handle_refusal(task, error)
        has_failed = task.step == "bank_details" and is_dead(fields)  # at once, as one in a list may have
        reason = Outcome("stored_failed", {"status": str(fields["status"])}) if has_failed else None
        state: State = "refused" if has_failed else "done"
        self._journal.record(task.key, state, reason=reason, facts=_facts(fields, task.client_user_id))
        return state

    def _send_to_stored_payer(self, task: Task) -> dict[str, Any]:
        """Send a task, and an account again while its payer, whom the service stored, is not found there yet."""
        attempt = partial(self._limiter.call, partial(self._attempt, task), kind=task.step)
        for seconds in PAYER_WAITS:
            try:
                return attempt()
            except NotFound as error:
                if not self._is_payer_lagging(task, error):
                    raise
                self._postpone(task, error, "payer_lags")  # first: the run may not outlive the wait
                if self._limiter.pause(seconds):
                    raise
        return attempt()

    def _is_payer_lagging(self, task: Task, error: Refused) -> bool:
        """Return True if an account is refused since its payer is not found, whom the service stored before."""
        payer = self._journal.entry(task.payer_key)
        is_missing = isinstance(error, NotFound) and not error.foreign and task.step == "bank_details"
        return is_missing and payer is not None and payer.state == "done"

    def _attempt(self, task: Task) -> dict[str, Any]:
        entry = self._journal.entry(task.key)
        # An account that may be stored already: one last look is due after that.
        needs_look = task.step == "bank_details" and entry is not None and entry.unknown_sends > 0
        # Committed before the first byte leaves: whatever happens next, the journal knows that it may have been sent.
        self._journal.sent(task.key, payer=task.payer_key, content=task.content, needs_look=needs_look)
        try:
            if task.step == "payer":
                return self._client.send(payer_call(task.client_user_id, task.body, PayerStatus.read_fields))
            return self._client.send(payment_detail_call(task.client_user_id, task.body, PaymentDetail.read_fields))
        except _NOTHING_HAPPENED as error:
            # Recorded before the wait for the next attempt, which the run, or the process, may not live to see.
            self._postpone(task, error)
            raise

    def _handle_refusal(self, task: Task, error: Refused) -> State:
        """Record a refusal and return the state: it may end by itself, or mean that the task was there already."""
        if is_foreign(error) or (error.retryable and not error.code):  # or it broke off before the reason
            state = self._postpone(task, error)
        elif self._is_payer_lagging(task, error):
            state = self._postpone(task, error, "payer_lags")
        elif task.step == "bank_details" and (waits := waiting_reason(error)):
            state = self._record(task, "waiting", waits, final=False)
        elif error.status_code == HTTPStatus.CONFLICT:
            handle = self._handle_payer_conflict if task.step == "payer" else self._handle_account_conflict
            return handle(task, error)
        else:
            return self._record_refusal(task, error)
        if state == "unknown":
            raise error  # sent again in this run, it would be refused again until the payer may have accounts
        return state

    def _handle_payer_conflict(self, task: Task, error: Refused) -> State:
        """Record a payer as done if the service, which refused it as there already, returns its status."""
        self._postpone(task, error)  # first: the run may be stopped before the status is read
        try:
            if self.find_payer(task, Outcome("payer_there_already")):
                return "done"
        except (*_NOTHING_HAPPENED, ServiceError) as failure:
            if not self._limiter.is_forbidden(failure):
                self._postpone(task, error, "conflict_unread", failure=reason_of(failure, task.client_user_id))
                raise
        except PayerkitError:
            pass  # the service returns nothing that can be read: whatever the conflict is about
        return self._record_refusal(task, error, "payer_conflict")

    def _handle_account_conflict(self, task: Task, error: Refused) -> State:
        """Record an account as done if the payer's list has exactly this one, as the service says that refused it."""
        self._postpone(task, error)
        try:
            listing = self.look(task)
        except PayerkitError as failure:
            self._postpone(task, error, "conflict_unlisted", failure=reason_of(failure, task.client_user_id))
            raise
        found = listing.match([task], {task.key: listing.unexplained(task.key)}, {task.key})[task.key]
        if found.shared:
            if (state := self._postpone(task, error, "perhaps_another")) == "unknown":
                raise error
            return state
        if len(found.strong) == 1 and id_of(found.strong[0]):
            return record_found(self._journal, task, found.strong, reason="there_already")
        return self._record_refusal(task, error)

    def _record_refusal(self, task: Task, error: Refused, code: str = "") -> State:
        """Record a refusal by the service, and return the state. Raises it if an earlier attempt is unknown."""
        reason = reason_of(error, task.client_user_id)
        reason = Outcome(code, {"cause": reason}) if code else reason
        # If an earlier attempt is unknown, this is what becomes of the task once that is known not to be stored.
        state = self._record(task, "refused", reason, facts={REFUSED: reason})
        if state == "unknown":
            raise error
        self._limiter.count_refusal(error, reason, self._stop_after)
        return state

    def _postpone(self, task: Task, error: PayerkitError, code: str = "", **params: Outcome) -> State:
        """Record that a task was not sent, or not refused by the service itself: a later run sends it."""
        reason = reason_of(error, task.client_user_id)
        reason = Outcome(code, {"cause": reason, **params}) if code else reason
        return self._record(task, "not_sent", reason, final=False)

    def _record(
        self, task: Task, state: State, reason: Outcome, *, final: bool = True, facts: Mapping[str, Any] | None = None
    ) -> State:
        """Record why a task is not done and return the state: unknown if the outcome of an earlier attempt is.

        What a later attempt meets proves nothing about an earlier one. facts: kept while it is unknown.
        """
        entry = self._journal.entry(task.key)
        if entry is None or not entry.unknown_sends:
            self._journal.record(task.key, state, reason=reason, final=final)
            return state
        unknown = Outcome("earlier_unknown", {"cause": reason})
        self._journal.record(task.key, "unknown", reason=unknown, final=False, facts=facts)
        return "unknown"

    def read_status(self, client_user_id: str, *, kind: str = "status") -> dict[str, Any]:
        """Return the fields of a payer's status. Raises PayerkitError or RunStopped. kind: as for the limiter."""
        call = payer_status_call(client_user_id, PayerStatus.read_fields)
        return self._limiter.call(lambda: self._client.send(call), kind=kind)

    def find_payer(self, task: Task, reason: Outcome) -> bool:
        """Record a payer as done if the service returns the status, with a reason. Raises PayerkitError or RunStopped.

        Return False if the status is missing: the service does not know the payer, or has no such call.
        """
        try:
            fields = self.read_status(task.client_user_id, kind="")
        except PayerkitError as error:
            if error.status_code in _MISSING:
                return False
            raise
        self._journal.record(task.key, "done", reason=reason, facts=_facts(fields, task.client_user_id))
        return True

    def check_compliance(self, client_user_id: str) -> tuple[Outcome | None, dict[str, str]]:
        """Return why a payer may not have accounts yet, None for one who is compliant, and the statuses.

        Raises PayerkitError or RunStopped.
        """
        fields = self.read_status(client_user_id)
        facts = {name: text for name, text in _facts(fields, client_user_id).items() if name in _COMPLIANCE}
        if first(fields, "isCompliant", "is_compliant") is True:
            return None, facts
        return Outcome("not_compliant", {name: _shown(facts.get(name)) for name in _COMPLIANCE}), facts

    def look(self, task: Task) -> Listing:
        """Return the accounts that the service lists for a task's payer. Raises PayerkitError or RunStopped."""
        records = list_accounts(self._client, self._limiter, task.client_user_id, kind="list")
        distinct = {id_of(record) or place: record for place, record in enumerate(records)}
        baseline, entries = self._journal.baseline(task.payer_key), self._journal.entries_of(task.payer_key)
        return Listing([*distinct.values()], frozenset(baseline or ()), entries, is_first=baseline is None)


def record_found(
    journal: Journal, task: Task, records: Sequence[Record], *, reason: str, needs_look: bool | None = None
) -> State:
    """Record a task whose account is listed, once or more often, and return the state.

    A failed one next to another that has not failed is none: it was sent again, or by somebody else. reason: the code
    of one that is done. needs_look: whether one last look is due; None for as before.
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
        outcome = Outcome(reason, {"differs": [*compare(task.values, chosen).differs]})
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
    if isinstance(error, Refused) and not isinstance(error, _NOTHING_HAPPENED) and error.code in WAITING_CODES:
        return Outcome("waits", {"waiting_code": error.code})
    return None


def reason_of(error: PayerkitError, client_user_id: str) -> Outcome:
    """Return why a call failed, without the payer's data."""
    code, params = outcome_of(error)
    if isinstance(error, InvalidInput):
        return Outcome(code, params)
    fields = [f"{problem.field}: {problem.message}" for problem in error.fields]
    known = Outcome(code, {**params, "fields": fields} if fields else params)
    return known.of_texts(lambda text: re.sub(r"\S+@\S+", MASK, redact(text, [client_user_id])))


# Reconciling

_WITNESSES = 3
"""Accounts that are stored for certain and looked for, to see whether the lists of a service show what is there."""


class Reconciler:
    """Finds out the outcome of tasks that are due, and records it; safe to share by threads.

    options: those of the run. accounts: gives all accounts of the table; the first that are stored for certain are the
    witnesses of how the service lists what it stored, which are asked at most once, and only if a list does not tell.
    """

    def __init__(
        self, sender: Sender, journal: Journal, options: Options, accounts: Callable[[], Iterable[Task]]
    ) -> None:
        self._sender, self._journal, self._options, self._accounts = sender, journal, options, accounts
        self._witnesses: Sequence[bool | None] | None = None
        self._lock = threading.Lock()
        # Of this run alone: a kill does not count as a try.
        self._looks: Counter[bytes] = Counter()
        self._repeats: Counter[bytes] = Counter()

    def sort_out(self, tasks: Sequence[Task], unsent: Sequence[Task], listing: Listing) -> dict[bytes, State]:
        """Record which accounts of a payer are there already, or may be, and return their states by key.

        tasks: all accounts of the payer that the table has. unsent: those of them that are to be sent.
        """
        self._journal.add_to_baseline(unsent[0].payer_key, listing.ids if listing.is_first else listing.of_others)
        if not listing.records:
            return {}
        is_skipped = self._options.existing == "skip"
        # What was sent before, and may have been stored late, is looked for all the same.
        sent_before = {task.key: listing.new(task.key) if listing.was_sent(task.key) else [] for task in tasks}
        candidates = {key: listing.unexplained(key) for key in sent_before} if is_skipped else sent_before
        claiming = [task for task in tasks if _may_be_listed(listing.entries.get(task.key))]
        found = listing.match(claiming, candidates, {task.key for task in tasks})
        is_cut = is_skipped and listing.may_leave_out_others(found.values())
        if listing.shows_as_sent(tasks) is not True:  # what was sent before may be listed, whatever the list shows
            found |= {key: each.with_other(sent_before[key]) for key, each in found.items() if listing.was_sent(key)}
        states: dict[bytes, State] = {}
        for task in unsent:
            matches = found[task.key]
            if alive := [record for record in matches.same if not is_dead(record)]:
                self._sender.defer(task, "not_sent", None)
                reason = "found_in_list" if listing.was_sent(task.key) else "there_already"
                states[task.key] = record_found(self._journal, task, alive, reason=reason)
            elif is_skipped and (why := _why_not_sent(matches, listing, is_cut=is_cut)):
                self._sender.defer(task, "not_sent", why)
                states[task.key] = "not_sent"
        return states

    def reconcile(self, tasks: Sequence[Task], delay: float) -> bool:
        """Take the next step for the tasks that are due: a payer, or all accounts of one payer.

        delay: seconds between a send or a look and the next step. Return False if this run can do no more for them.
        Raises PayerkitError, which means the same, or RunStopped; then the tasks stay unknown.
        """
        due_since = self._journal.now() - delay
        entries = [(task, self._journal.entry(task.key)) for task in tasks]
        due = [task for task, entry in entries if entry and entry.is_unresolved and entry.since <= due_since]
        if due and tasks[0].step == "payer":
            return self._reconcile_payer(due[0])
        return self._reconcile_accounts(tasks, due) if due else True

    def look_at_once(self, tasks: Sequence[Task]) -> None:
        """Record the outcome of those that are found for certain, of a payer, or of all accounts of one payer.

        What is missing, or in doubt, proves nothing so soon. Raises PayerkitError or RunStopped.
        """
        if tasks[0].step == "payer":
            self._sender.find_payer(tasks[0], Outcome("found_by_status"))
            return
        listing = self._sender.look(tasks[0])
        found = self._match_new(tasks, listing)
        for task in tasks:
            if task.key in found and listing.entries[task.key].is_unresolved and is_certain(found[task.key]):
                record_found(self._journal, task, found[task.key].strong, reason="found_in_list")

    def _reconcile_payer(self, task: Task) -> bool:
        """Ask for a payer, and send it again if the service does not know it, or cannot be asked."""
        self._looks[task.key] += 1
        try:
            if self._sender.find_payer(task, Outcome("found_by_status")):
                return True
        except PayerkitError as error:
            self._journal.count_lookup(task.key)
            why = reason_of(error, task.client_user_id)
        else:
            if self._sender.send_or_raise(task) != "unknown":
                return True
            why = Outcome("lost_again")
        if self._looks[task.key] < MAX_PAYER_LOOKS:
            return True
        reason = Outcome("not_looked_up", {"looks": MAX_PAYER_LOOKS, "cause": why})
        self._journal.record(task.key, "unknown", reason=reason, final=False)
        return False

    def _reconcile_accounts(self, tasks: Sequence[Task], due: Sequence[Task]) -> bool:
        listing = self._sender.look(tasks[0])
        found = self._find_new(tasks, listing)
        missing = [task for task in due if not self._settle(task, found[task.key], listing)]
        listing = replace(listing, entries=self._journal.entries_of(tasks[0].payer_key))  # with what was found
        # Those that are missing come last, since the first error ends it for all.
        goes_on = [self._handle_missing(task, listing) for task in missing]
        return all(goes_on)

    def _find_new(self, tasks: Sequence[Task], listing: Listing) -> dict[bytes, Matches]:
        """Return what the payer did not have before and no other task explains, for each task that it may be of.

        Where lists do not show as it was sent what the service stored for certain, that is whatever is new.
        """
        found = self._match_new(tasks, listing)
        if any(each.other for each in found.values()):
            is_proven = listing.shows_as_sent(tasks)
            if not (True in self._seen() if is_proven is None else is_proven):
                found = {key: each.with_other(each.other) for key, each in found.items()}
        return found

    def _match_new(self, tasks: Sequence[Task], listing: Listing) -> dict[bytes, Matches]:
        """Return what could be the account of each task that was sent, among those that the payer did not have."""
        sent = [task for task in tasks if _may_be_new(listing.entries.get(task.key))]
        return listing.match(sent, {task.key: listing.new(task.key) for task in sent}, {task.key for task in tasks})

    def _settle(self, task: Task, found: Matches, listing: Listing) -> bool:
        """Record the outcome of an account as far as the list shows it; return False if it is missing there."""
        sent_twice = listing.entries[task.key].needs_look
        if is_certain(found):
            # This look is a whole delay after the last send, so it is the last one, too, unless something is missing.
            needs_look = sent_twice and not (listing.is_whole and not found.perhaps)
            record_found(self._journal, task, found.strong, reason="found_in_list", needs_look=needs_look)
            return True
        if records := found.strong or found.perhaps:
            reason = Outcome("could_be", {"ids": [*map(id_of, records)]})
            self._journal.record(task.key, "unknown", reason=reason, facts=listing.entries[task.key].facts)
        return bool(records)

    def _handle_missing(self, task: Task, listing: Listing) -> bool:
        """Look an account that is not listed up again later, send it again, or leave it to the next run."""
        entry = listing.entries[task.key]
        is_shown = listing.known or not self._seen() or set(self._seen()) != {None}
        if not listing.is_whole or not is_shown:
            reason = Outcome("lists_prove_nothing" if listing.is_whole else "list_not_whole")
            self._journal.record(task.key, "unknown", reason=reason, final=False, facts=entry.facts)
            return False
        if entry.lookups + 1 < MAX_LOOKUPS:
            self._journal.count_lookup(task.key)
        elif REFUSED in entry.facts:
            self._journal.record(task.key, "refused", reason=Outcome.from_value(entry.facts[REFUSED]))
        elif self._repeats[task.key] < MAX_REPEATS:
            self._repeats[task.key] += 1
            self._send_account_again(task)
        else:
            reason = Outcome("absent_again", {"attempts": entry.attempts})
            self._journal.record(task.key, "not_sent", reason=reason, final=False)
        return True

    def _send_account_again(self, task: Task) -> None:
        waits, _ = self._sender.check_compliance(task.client_user_id) if self._options.when_compliant else (None, {})
        if waits:
            reason = Outcome("absent_and_waits", {"cause": waits})
            self._journal.record(task.key, "unknown", reason=reason, final=False)
            raise PayerkitError(reason.text)
        try:
            self._sender.send_or_raise(task)
        except Refused:
            entry = self._journal.entry(task.key)
            if entry is None or REFUSED not in entry.facts:  # with them, it is refused once it counts as absent again
                raise

    def _seen(self) -> Sequence[bool | None]:
        """Return how the lists show the first of some accounts that the service stored for certain.

        True: as it was sent. False: otherwise. None: not at all, or the list cannot be read: then an account that is
        missing from a list may exist all the same.
        """
        with self._lock:
            if self._witnesses is None:
                entries = ((task, self._journal.entry(task.key)) for task in self._accounts())
                stored = (task for task, entry in entries if entry and entry.state == "done" and entry.facts.get("id"))
                self._witnesses = [*map(self._seen_as_sent, islice(stored, _WITNESSES))]
            return self._witnesses

    def _seen_as_sent(self, task: Task) -> bool | None:
        try:
            return self._sender.look(task).shows_as_sent([task])
        except (PayerkitError, RunStopped):
            return None

    def look_again(self, tasks: Sequence[Task]) -> None:
        """Look for the last time at accounts that were sent twice: whether they were stored twice.

        Raises PayerkitError or RunStopped; then the next run looks.
        """
        listing = self._sender.look(tasks[0])
        found = self._find_new(tasks, listing)
        for task in tasks:
            entry = listing.entries.get(task.key)
            if entry is not None and entry.needs_look:
                self._close(task, entry, found[task.key], listing)

    def _close(self, task: Task, entry: Entry, found: Matches, listing: Listing) -> None:
        """Record what the last look says of an account that was sent twice."""
        own = entry.facts.get("id")
        others = [record for record in found.strong if id_of(record) != own and (own is None or not is_dead(record))]
        doubtful = [record for record in found.perhaps if id_of(record) != own]
        if own is None and is_certain(found):
            needs_look = bool(doubtful) or not listing.is_whole
            record_found(self._journal, task, others, reason="found_in_list", needs_look=needs_look)
        elif own is not None and others and all(map(id_of, others)):
            facts = entry.facts | {"other_ids": [id_of(record) for record in others]}
            self._journal.record(task.key, "duplicate", reason=Outcome("stored_twice"), facts=facts, needs_look=False)
        elif others or doubtful:
            reason = Outcome("could_be_twice", {"id": own, "ids": [*map(id_of, [*others, *doubtful])]})
            self._journal.record(task.key, "unknown", reason=reason, facts=entry.facts)
        elif not listing.is_whole:
            if entry.state != "unknown" and not _looks_again(entry):
                reason = Outcome("look_again", {"noted": entry.reason})
                self._journal.record(task.key, entry.state, reason=reason, final=entry.final, facts=entry.facts)
        elif entry.state == "unknown" and own is not None:
            # One that could be a second one was listed before, and is not any more.
            self._journal.record(task.key, "done", facts=entry.facts, needs_look=False)
        elif entry.state != "unknown":
            noted = entry.reason.params["noted"] if entry.reason and _looks_again(entry) else entry.reason
            state, final = entry.state, entry.final
            self._journal.record(task.key, state, reason=noted, final=final, facts=entry.facts, needs_look=False)


def is_certain(found: Matches) -> bool:
    """Return True if it is certain which listed accounts are a task's: one, or several that are the same, whoever's."""
    if not all(map(id_of, found.strong)):
        return False
    return len(found.strong) == 1 or len(found.same) == len(found.strong) > 1


def _looks_again(entry: Entry) -> bool:
    """Return True if the reason of a task notes that the next run has to look again."""
    return entry.reason is not None and entry.reason.code == "look_again"


def _may_be_new(entry: Entry | None) -> bool:
    """Return True if a task was sent, and may have an account in the list whose id the journal does not know."""
    if entry is None:
        return False
    is_stored_without_id = entry.state == "done" and not entry.facts.get("id")
    return entry.state == "unknown" or entry.needs_look or is_stored_without_id


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
