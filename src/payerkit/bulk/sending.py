"""Send one task and record its outcome; an unknown outcome is left to `payerkit.bulk.reconcile`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeGuard
from urllib.parse import unquote_plus

from payerkit.bulk.journal import Journal, State
from payerkit.bulk.rate_limit import RateLimiter
from payerkit.bulk.tasks import Task
from payerkit.checks.schema import MASK
from payerkit.client import Client
from payerkit.endpoints import payer_call, payer_status_call, payment_detail_call, payment_details_call
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
from payerkit.explanations import explain_payer
from payerkit.masking import holds_email, redact
from payerkit.models import PayerStatus, PaymentDetail
from payerkit.retry import WAITING_CODES
from payerkit.wire import first, wire_name

_LINKS = ("agreement_url", "kyc_url")
_FACTS = [(name, wire_name(name)) for name in ("kyc_status", "agreement_status", "user_id", "status", "id", *_LINKS)]

_NOTHING_HAPPENED = (NotSent, RateLimited, WrongKey)
"""Errors after which the task can be sent by a later run: the service did nothing, and not because of the task."""

_THERE_ALREADY = "Was there already."

_COMPLIANCE = ("kyc_status", "agreement_status")


@dataclass(frozen=True, slots=True)
class Compliance:
    """What the service says of a payer. reason_to_wait: "" if the payer is compliant. facts: the statuses."""

    reason_to_wait: str
    facts: dict[str, str]


class Sender:
    """Sends tasks and records the outcome of each in the journal; safe to share by threads."""

    def __init__(self, client: Client, journal: Journal, limiter: RateLimiter) -> None:
        self._client, self._journal, self._limiter = client, journal, limiter

    def send(self, task: Task) -> State:
        """Send a task, record its outcome and return it. Raises RunStopped."""
        try:
            return self.send_or_raise(task)
        except (*_NOTHING_HAPPENED, ServiceError):
            return "not_sent"  # each attempt recorded it

    def send_or_raise(self, task: Task) -> State:
        """Send a task, record its outcome and return it.

        Raises RunStopped; NotSent, RateLimited, WrongKey or ServiceError, after which a later run can send it; and
        Refused if a later run may, too, but the outcome of an earlier attempt is unknown.
        """
        try:
            fields = self._limiter.call(lambda: self._attempt(task))
        except UnknownOutcome as error:
            self._journal.mark_unknown(task.key, reason_of(error, task.client_user_id))
            return "unknown"
        except _NOTHING_HAPPENED as error:
            if not self._limiter.is_forbidden(error):
                raise
            return self._record_error(task, "refused", error)
        except InvalidInput as error:
            return self._record_error(task, "not_sent", error)
        except Refused as error:
            return self._record_refusal(task, error)
        except PayerkitError as error:
            return self._record_error(task, "refused", error)
        self._journal.record(task.key, "done", facts=_facts(fields, task.client_user_id))
        return "done"

    def _attempt(self, task: Task) -> dict[str, Any]:
        # Committed before the first byte leaves: whatever happens next, the journal knows that it may have been sent.
        self._journal.sent(task.key, payer=task.payer_key, content=task.content)
        try:
            if task.step == "payer":
                return self._client.send(payer_call(task.client_user_id, task.body, PayerStatus.read_fields))
            return self._client.send(payment_detail_call(task.client_user_id, task.body, PaymentDetail.read_fields))
        except _NOTHING_HAPPENED as error:
            # Recorded before the wait for the next attempt, which the run, or the process, may not live to see.
            self._record_error(task, "not_sent", error, final=False)
            raise

    def _record_refusal(self, task: Task, error: Refused) -> State:
        """Record a refusal and return the state: it may end by itself, or mean that the payer is there already."""
        if task.step == "payer" and error.status_code == HTTPStatus.CONFLICT:
            return self._record_conflict(task, error)
        if task.step == "bank_details" and is_waiting(error):
            state = self._record(task, "waiting", waiting_reason(error), final=False)
        elif error.retryable and not error.code:  # the response broke off before the reason
            state = self._record_error(task, "not_sent", error, final=False)
        else:
            return self._record_error(task, "refused", error)
        if state == "unknown":
            raise error  # not to be sent again in this run, which would go on until the payer may have accounts
        return state

    def _record_conflict(self, task: Task, error: Refused) -> State:
        """Record a payer as done if the service, which refused it as there already, returns its status."""
        reason = reason_of(error, task.client_user_id)
        self._record(task, "not_sent", reason, final=False)  # first: the run may be stopped before the status is read
        try:
            fields = self.read_status(task.client_user_id)
        except (*_NOTHING_HAPPENED, ServiceError) as failure:
            if not self._limiter.is_forbidden(failure):
                failed = reason_of(failure, task.client_user_id)
                self._record(task, "not_sent", f"{reason} Its status could not be read: {failed}", final=False)
                raise
            return self._record(task, "refused", reason)
        except PayerkitError:
            return self._record(task, "refused", reason)
        facts = _facts(fields, task.client_user_id)
        self._journal.record(task.key, "done", reason=_THERE_ALREADY, facts=facts)
        return "done"

    def _record_error(self, task: Task, state: State, error: Exception, *, final: bool = True) -> State:
        """Record an error and return the state."""
        return self._record(task, state, reason_of(error, task.client_user_id), final=final)

    def _record(self, task: Task, state: State, reason: str, *, final: bool = True) -> State:
        """Record why a task is not done and return the state: unknown if the outcome of an earlier attempt is.

        What a later attempt meets proves nothing about an earlier one.
        """
        entry = self._journal.entry(task.key)
        if entry is not None and entry.unknown_sends:
            state, reason = "unknown", f"The outcome of an earlier attempt is unknown. The last attempt: {reason}"
        self._journal.record(task.key, state, reason=reason, final=final)
        return state

    def read_status(self, client_user_id: str) -> dict[str, Any]:
        """Return the fields of a payer's status. Raises PayerkitError or RunStopped."""
        call = payer_status_call(client_user_id, PayerStatus.read_fields)
        return self._limiter.call(lambda: self._client.send(call))

    def check_compliance(self, client_user_id: str) -> Compliance:
        """Return whether a payer may have accounts, as the service says. Raises PayerkitError or RunStopped."""
        fields = self.read_status(client_user_id)
        facts = {name: text for name, text in _facts(fields, client_user_id).items() if name in _COMPLIANCE}
        shown = {name: _shown(facts.get(name, "unknown")) for name in _COMPLIANCE}
        waits = f"Waits: identity check {shown['kyc_status']}, agreement {shown['agreement_status']}."
        found = explain_payer(*(facts.get(name) for name in _COMPLIANCE))
        if found.final and not found.is_passed:  # one that another day does not change
            waits = f"{waits} {found.what_to_do}"
        is_compliant = first(fields, "isCompliant", "is_compliant") is True
        return Compliance("" if is_compliant else waits, facts)

    def record_baseline(self, payer: bytes, client_user_id: str) -> None:
        """Record which accounts a payer has before any is sent. Raises PayerkitError or RunStopped."""
        if self._journal.baseline(payer) is None:
            records = self.list_accounts(client_user_id)
            self._journal.set_baseline(payer, [str(record["id"]) for record in records if record.get("id")])

    def list_accounts(self, client_user_id: str) -> list[dict[str, Any]]:
        """Return the accounts that the service lists for a payer. Raises PayerkitError or RunStopped."""
        return list_accounts(self._client, self._limiter, client_user_id)


def list_accounts(client: Client, limiter: RateLimiter, client_user_id: str) -> list[dict[str, Any]]:
    """Return the accounts that the service lists for a payer, none if it does not know the payer."""
    try:
        return limiter.call(lambda: client.send(payment_details_call(client_user_id)))
    except NotFound as error:
        if error.foreign:  # a gateway's page: it does not know whether the payer exists
            raise
        return []


def _facts(fields: Mapping[str, Any], client_user_id: str) -> dict[str, str]:
    """Return what the journal keeps of a response: ids, statuses and links, unless they identify the payer."""
    facts = {}
    for name, wire in _FACTS:
        text = fields.get(wire) or fields.get(name)
        if isinstance(text, str) and not _identifies(text, client_user_id, is_link=name in _LINKS):
            facts[name] = text
    return facts


def _identifies(text: str, client_user_id: str, *, is_link: bool) -> bool:
    """Return True if a text is a payer's id, or a link that holds it in any encoding, or holds an e-mail address."""
    folded, own_id = text.casefold(), client_user_id.casefold()
    if is_link and ("%" in folded or "+" in folded):
        folded = unquote_plus(unquote_plus(folded))
    return (own_id in folded if is_link else own_id == folded) or holds_email(text)


def _shown(status: str) -> str:
    """Return a status as a reason shows it: a word of the service, and nothing that may be personal."""
    return status if re.fullmatch(r"[\w-]{1,40}", status) else MASK


def is_waiting(error: PayerkitError) -> TypeGuard[Refused]:
    """Return True if a refusal of bank details ends by itself. Only its code tells; words are never interpreted."""
    is_refused = isinstance(error, Refused) and not isinstance(error, _NOTHING_HAPPENED)
    return is_refused and getattr(error, "code", "") in WAITING_CODES


def waiting_reason(error: Refused) -> str:
    """Return what an account waits for, after a refusal that ends by itself."""
    return f"Waits until {WAITING_CODES[error.code]} ({error.code})."


def reason_of(error: Exception, client_user_id: str) -> str:
    """Return an error in one line, without the payer's data."""
    fields = [f"{problem.field}: {problem.message}" for problem in getattr(error, "fields", ())]
    message = getattr(error, "message", type(error).__name__)
    if isinstance(error, InvalidInput):
        return message
    return re.sub(r"\S+@\S+", MASK, redact(" ".join([message, *fields]), [client_user_id]))
