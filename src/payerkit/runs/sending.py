"""Send the tasks of a payer, and record the outcome of each in the journal: before its
first byte leaves, and after its response.

What a lost response left unknown is looked for, and nothing else follows from a list
that does not show it: an account is sent again only if a person wants it. A payer is
repeated, since the same id makes no second one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote_plus

from payerkit import errors
from payerkit.client.client import Client
from payerkit.endpoints import payer_call, payer_status_call, payment_detail_call
from payerkit.errors import PayerkitError
from payerkit.models import PayerStatus, PaymentDetail
from payerkit.reasons import WAITING_CODES, Outcome
from payerkit.redaction import MASK, holds_email, redact
from payerkit.runs.journal import Deferred, Entry, Journal, State
from payerkit.runs.limiter import (
    RateLimiter,
    is_foreign,
    list_accounts,
    outcome_of,
)
from payerkit.runs.match import (
    AccountList,
    Matches,
    differing_names,
    id_of,
    is_dead,
    match_accounts,
)
from payerkit.runs.options import Options
from payerkit.runs.tasks import Task
from payerkit.wire import first, wire_name

_LINKS = ("agreement_url", "kyc_url")
_FACTS = ("kyc_status", "agreement_status", "user_id", "status", "id", *_LINKS)
"""What the journal keeps of a response."""

_NOTHING_HAPPENED = (errors.NotSent, errors.RateLimited, errors.WrongKey)
"""Errors after which the task can be sent by a later run: the service did nothing, and
not because of the task.
"""

_ASKS_TO_WAIT = {HTTPStatus.LOCKED, HTTPStatus.TOO_EARLY}
"""Refusals of an account that end by themselves."""

_COMPLIANCE = ("kyc_status", "agreement_status")


@dataclass
class Sender:
    """Sends tasks and records the outcome of each in the journal; safe to share by
    threads.
    """

    client: Client
    journal: Journal
    limiter: RateLimiter
    options: Options
    unexplained: dict[bytes, int] = field(default_factory=dict)
    """How many accounts each payer's list showed that no row explains."""

    def defer(self, task: Task, state: Deferred, reason: Outcome | None) -> None:
        """Record why a task is not sent in this run."""
        self.journal.defer(task.key, state, reason, task.subject)

    # Payers

    def send_payer(self, task: Task) -> None:
        """Send a payer, again after a lost response, and record the outcome. Raises
        RunStopped.
        """
        try:
            fields = self.limiter.call(
                partial(self._attempt, task), kind=task.step, idempotent=True
            )
        except errors.Refused as error:
            if error.status_code == HTTPStatus.CONFLICT and _is_final(error):
                self._ask_for_payer(task, error)
            else:
                self._record_failure(task, error)
        except PayerkitError as error:
            self._record_failure(task, error)
        else:
            facts = _facts(fields, task.client_user_id)
            self.journal.record(task.key, "done", facts=facts)

    def _ask_for_payer(self, task: Task, conflict: errors.Refused) -> None:
        """Record a payer who is there already as done, if the service returns the
        payer's status.
        """
        # Before the question: the run may be stopped while it is asked.
        self._record_unfinished(task, "not_sent", reason_of(conflict, task))
        try:
            fields = self._read_status(task.client_user_id, kind="")
        except PayerkitError as error:
            is_open = isinstance(error, (*_NOTHING_HAPPENED, errors.ServiceError))
            if not is_open or self.limiter.is_forbidden(error):
                self._record_refusal(task, conflict, "payer_conflict")
        else:
            facts = _facts(fields, task.client_user_id)
            reason = Outcome("payer_there_already")
            self.journal.record(task.key, "done", reason=reason, facts=facts)

    def _read_status(self, client_user_id: str, *, kind: str) -> dict[str, Any]:
        call = payer_status_call(client_user_id, PayerStatus.read_fields)
        return self.limiter.call(partial(self.client.send, call), kind=kind)

    # Accounts

    def send_accounts(self, tasks: Sequence[Task], wanted: Sequence[Task]) -> None:
        """Look for the accounts of a payer whose outcome is unknown, send those that
        are wanted and not there, and look for what is unknown then.

        tasks: all accounts of the payer that the table has.
        """
        unknown = [task for task in self._unknown_of(tasks) if task not in wanted]
        failure = "status_unread"
        try:
            if wanted and self.options.accounts == "when_compliant":
                waits = self._why_not_compliant(tasks[0])
                if waits is not None:
                    self._defer_all(wanted, "waiting", waits)
                    wanted = ()
            if not (wanted or unknown):
                return
            failure = "list_unread"
            listed = self._list(tasks[0])
        except PayerkitError as error:
            waits = waiting_reason(error, tasks[0])
            if waits is not None and failure == "list_unread":
                self._defer_all(wanted, "waiting", waits)
            else:
                why = Outcome(failure, {"cause": reason_of(error, tasks[0])})
                self._defer_all(wanted, "not_sent", why)
            return
        matches = self._match(tasks, listed)
        for task in unknown:
            self._settle(task, matches[task.key])
        for task in wanted:
            if not self._is_left(task, matches[task.key], listed):
                self._send_account(task, tasks)
        if wanted:
            self.look_for(tasks)

    def look_for(self, tasks: Sequence[Task]) -> None:
        """Look for the accounts of a payer whose outcome is unknown. tasks: all of the
        payer that the table has.

        If the list cannot be read, they stay unknown, and a later look finds them.
        """
        unknown = self._unknown_of(tasks)
        if not unknown:
            return
        with suppress(PayerkitError):
            matches = self._match(tasks, self._list(tasks[0]))
            for task in unknown:
                self._settle(task, matches[task.key])

    def _unknown_of(self, tasks: Sequence[Task]) -> list[Task]:
        entries = self.journal.entries_of(tasks[0].payer_key)
        return [
            task
            for task in tasks
            if task.key in entries and entries[task.key].state == "unknown"
        ]

    def _defer_all(
        self, tasks: Sequence[Task], state: Deferred, reason: Outcome
    ) -> None:
        for task in tasks:
            self.defer(task, state, reason)

    def _why_not_compliant(self, task: Task) -> Outcome | None:
        """Return why an account waits for its payer, None if the payer is compliant."""
        fields = self._read_status(task.client_user_id, kind="status")
        known = _facts(fields, task.client_user_id)
        facts = {name: known[name] for name in _COMPLIANCE if name in known}
        if task.row.payer_row is not None:
            self.journal.add_facts(task.payer_key, facts)
        if first(fields, "isCompliant", "is_compliant") is True:
            return None
        shown = {name: _shown(facts.get(name)) for name in _COMPLIANCE}
        return Outcome("not_compliant", shown)

    def _list(self, task: Task) -> AccountList:
        """Return the accounts that the service lists for a task's payer."""
        payer = self.journal.entry(task.payer_key)
        user_id = "" if payer is None else str(payer.facts.get("user_id", ""))
        return list_accounts(
            self.client,
            self.limiter,
            task.client_user_id,
            user_id=user_id,
            kind="list",
        )

    def _match(
        self, tasks: Sequence[Task], listed: AccountList
    ) -> dict[bytes, Matches]:
        """Return which listed accounts are those of tasks whose id is not known yet."""
        entries = self.journal.entries_of(tasks[0].payer_key)
        keys = {task.key for task in tasks}
        taken = _ids_of(entries.values())
        records = [record for record in listed.records if id_of(record) not in taken]
        accounts = {}
        for task in tasks:
            entry = entries.get(task.key)
            if entry is None or not entry.account_ids:
                accounts[task.key] = task.values
        has_hidden = any(
            entry.state == "unknown" and key not in keys
            for key, entry in entries.items()
        )
        matches = match_accounts(accounts, records, has_hidden=has_hidden)
        explained = set[int]()
        for each in matches.values():
            explained.update(id(record) for record in (*each.same, *each.perhaps))
        self.unexplained[tasks[0].payer_key] = len(records) - len(explained)
        return {task.key: matches.get(task.key, Matches()) for task in tasks}

    def _settle(self, task: Task, matches: Matches) -> bool:
        """Record a task that is listed, whose outcome is unknown; return whether it is.

        What is not listed stays unknown, with the accounts that could be it.
        """
        if matches.same:
            self._record_found(task, matches, "found_in_list")
            return True
        entry = self.journal.entry(task.key)
        facts = {} if entry is None else entry.facts
        ids = [id_of(record) for record in matches.perhaps]
        reason = Outcome("could_be", {"ids": ids}) if ids else Outcome("not_listed")
        self.journal.record(task.key, "unknown", reason=reason, facts=facts)
        return False

    def _is_left(self, task: Task, matches: Matches, listed: AccountList) -> bool:
        """Return True if a task is not sent, since the list shows its account, or does
        not prove that it is not there; and record why.
        """
        entry = self.journal.entry(task.key)
        if entry is not None and entry.was_unknown:
            # A person compared the list, and wants it sent unless it is found.
            return bool(matches.same) and self._settle(task, matches)
        if self.options.existing == "send":
            return False
        if any(not is_dead(record) for record in matches.same):
            self.defer(task, "not_sent", None)
            self._record_found(task, matches, "there_already")
            return True
        why = self._why_not_sent(task, matches, listed)
        if why is None:
            return False
        self.defer(task, "not_sent", why)
        return True

    def _why_not_sent(
        self, task: Task, matches: Matches, listed: AccountList
    ) -> Outcome | None:
        """Return why an account that may be there already is not sent, None if it is
        sent.
        """
        if matches.same:
            ids = [id_of(record) for record in matches.same]
            status = str(matches.same[0].get("status"))
            return Outcome("there_failed", {"ids": ids, "status": status})
        if matches.perhaps:
            ids = [id_of(record) for record in matches.perhaps]
            return Outcome("perhaps_there", {"ids": ids})
        entries = self.journal.entries_of(task.payer_key).values()
        sent = _ids_of(entry for entry in entries if entry.attempts)
        if listed.may_lack_accounts(sent):
            return Outcome("perhaps_there", {"listed": len(listed.records)})
        return None

    def _record_found(self, task: Task, matches: Matches, reason: str) -> None:
        """Record a task whose account is listed, once or more often.

        A failed account is ignored if another one has not failed: the account was sent
        again, or by another program. reason: the code for a task that is done.
        """
        alive = [record for record in matches.same if not is_dead(record)]
        chosen, *others = alive or matches.same[:1]
        facts: dict[str, Any] = _facts(chosen, task.client_user_id, ("id", "status"))
        state: State = "done"
        if others:
            state = "duplicate"
            outcome = Outcome("stored_twice")
            facts["other_ids"] = [id_of(record) for record in others]
        elif not alive:
            state = "refused"
            outcome = Outcome("listed_failed", {"status": str(chosen["status"])})
        else:
            outcome = Outcome(reason, {"differs": differing_names(task.values, chosen)})
        self.journal.record(task.key, state, reason=outcome, facts=facts)

    def _send_account(self, task: Task, tasks: Sequence[Task]) -> None:
        """Send an account and record the outcome. Raises RunStopped."""
        try:
            fields = self.limiter.call(partial(self._attempt, task), kind=task.step)
        except errors.Refused as error:
            waits = waiting_reason(error, task)
            if self._is_payer_lagging(task, error):
                why = Outcome("payer_lags", {"cause": reason_of(error, task)})
                self._record_unfinished(task, "not_sent", why)
            elif waits is not None:
                self._record_unfinished(task, "waiting", waits)
            elif error.status_code == HTTPStatus.CONFLICT and _is_final(error):
                self._ask_for_account(task, tasks, error)
            else:
                self._record_failure(task, error)
        except PayerkitError as error:
            self._record_failure(task, error)
        else:
            self._record_stored(task, fields)

    def _record_stored(self, task: Task, fields: Mapping[str, Any]) -> None:
        """Record an account that the service says is stored, and may have failed."""
        facts = _facts(fields, task.client_user_id)
        if is_dead(fields):
            reason = Outcome("stored_failed", {"status": str(fields["status"])})
            self.journal.record(task.key, "refused", reason=reason, facts=facts)
        else:
            self.journal.record(task.key, "done", facts=facts)

    def _ask_for_account(
        self, task: Task, tasks: Sequence[Task], conflict: errors.Refused
    ) -> None:
        """Record an account that the service refused as there already: the payer's list
        shows it, or may, or it is refused.
        """
        # Before the question: the run may be stopped while it is asked.
        self._record_unfinished(task, "not_sent", reason_of(conflict, task))
        try:
            listed = self._list(task)
        except PayerkitError:
            return
        matches = self._match(tasks, listed)[task.key]
        if matches.same:
            self._record_found(task, matches, "there_already")
        else:
            self._record_refusal(task, conflict, "account_conflict")

    def _is_payer_lagging(self, task: Task, error: errors.Refused) -> bool:
        """Return True if an account is refused since its payer is not found, whom the
        service stored before.
        """
        if not isinstance(error, errors.NotFound) or error.foreign:
            return False
        payer = self.journal.entry(task.payer_key)
        return payer is not None and payer.state == "done"

    # One attempt, and what it proves

    def _attempt(self, task: Task) -> dict[str, Any]:
        """Send a task once. What proves that it had no effect, or nothing, is recorded
        before the next attempt, which the run may not live to see.
        """
        if task.step == "payer":
            call = payer_call(task.client_user_id, task.body, PayerStatus.read_fields)
        else:
            call = payment_detail_call(
                task.client_user_id, task.body, PaymentDetail.read_fields
            )
        self.journal.sent(task.key, task.subject)
        try:
            return self.client.send(call)
        except errors.UnknownOutcome as error:
            self.journal.mark_unknown(task.key, reason_of(error, task))
            raise
        except _NOTHING_HAPPENED as error:
            self._record_unfinished(task, "not_sent", reason_of(error, task))
            raise

    def _record_failure(self, task: Task, error: PayerkitError) -> None:
        """Record a task that was sent and is not done, by what the error proves."""
        if isinstance(error, errors.UnknownOutcome):
            return  # the attempt recorded it
        is_forbidden = self.limiter.is_forbidden(error)
        if isinstance(error, _NOTHING_HAPPENED) and not is_forbidden:
            return  # likewise
        if isinstance(error, errors.Refused) and (is_forbidden or _is_final(error)):
            self._record_refusal(task, error)
        else:
            self._record_unfinished(task, "not_sent", reason_of(error, task))

    def _record_refusal(
        self, task: Task, error: errors.Refused, code: str = ""
    ) -> None:
        """Record a refusal by the service; many equal ones stop the run. code: of an
        outcome of which it is the cause.
        """
        reason = reason_of(error, task)
        if code:
            reason = Outcome(code, {"cause": reason})
        if self._record_unfinished(task, "refused", reason) == "refused":
            self.limiter.count_refusal(error, reason, self.options.stop_after)

    def _record_unfinished(self, task: Task, state: State, reason: Outcome) -> State:
        """Record why a task is not done and return the state: unknown if the outcome of
        an earlier attempt is.

        What a later attempt meets proves nothing about an earlier one.
        """
        entry = self.journal.entry(task.key)
        if entry is not None and entry.was_unknown:
            state = "unknown"
            reason = Outcome("earlier_unknown", {"cause": reason})
        self.journal.record(task.key, state, reason=reason)
        return state


def _ids_of(entries: Iterable[Entry]) -> set[str]:
    """Return the ids of the accounts that are known to be stored for some tasks."""
    return set[str]().union(*(entry.account_ids for entry in entries))


def _is_final(error: errors.Refused) -> bool:
    """Return True for a refusal by the service itself that the same request would meet
    again.

    Not one of a gateway, one that broke off before its reason, or one that asks to
    wait.
    """
    is_cut = error.retryable and not error.code
    return not (is_foreign(error) or is_cut or error.status_code in _ASKS_TO_WAIT)


def _facts(
    fields: Mapping[str, Any], client_user_id: str, names: Sequence[str] = _FACTS
) -> dict[str, Any]:
    """Return what the journal keeps of a response: ids, statuses and links, unless they
    identify the payer.
    """
    facts = {}
    for name in names:
        text = fields.get(wire_name(name)) or fields.get(name)
        if name == "id":
            text = id_of(fields)
        if not isinstance(text, str) or not text:
            continue
        if not _identifies(text, client_user_id, is_link=name in _LINKS):
            facts[name] = text
    return facts


def _identifies(text: str, client_user_id: str, *, is_link: bool) -> bool:
    """Return True if a text is a payer's id, or a link that holds it in any encoding,
    or holds an e-mail address.
    """
    folded = text.casefold()
    own_id = client_user_id.casefold()
    if is_link and ("%" in folded or "+" in folded):
        folded = unquote_plus(unquote_plus(folded))
    names_payer = own_id in folded if is_link else own_id == folded
    return names_payer or holds_email(text)


def _shown(status: str | None) -> str | None:
    """Return a status as a reason shows it: a word of the service, and nothing that may
    be personal.
    """
    if status is None or re.fullmatch(r"[\w-]{1,40}", status):
        return status
    return MASK


def waiting_reason(error: PayerkitError, task: Task) -> Outcome | None:
    """Return what an account waits for, None unless it was refused in a way that ends
    by itself.

    Only the code and the status of the refusal tell; words are never interpreted.
    """
    if not isinstance(error, errors.Refused) or isinstance(error, _NOTHING_HAPPENED):
        return None
    if error.code in WAITING_CODES:
        return Outcome("waits", {"waiting_code": error.code})
    if error.status_code in _ASKS_TO_WAIT and not is_foreign(error):
        return Outcome("asked_later", {"cause": reason_of(error, task)})
    return None


def reason_of(error: PayerkitError, task: Task) -> Outcome:
    """Return why a call failed, without the payer's data."""
    outcome = outcome_of(error)
    if isinstance(error, errors.InvalidInput):
        return outcome
    fields = [f"{problem.field}: {problem.message}" for problem in error.fields]
    params = {**outcome.params, "fields": fields} if fields else outcome.params

    def hide(text: str) -> str:
        return re.sub(r"\S+@\S+", MASK, redact(text, [task.client_user_id]))

    return Outcome(outcome.code, params).of_texts(hide)
