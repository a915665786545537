"""Send one task and record its outcome; an unknown outcome is left to `payerkit.bulk.reconcile`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_plus

from payerkit.bulk.journal import Journal, State
from payerkit.bulk.rate_limit import RateLimiter
from payerkit.bulk.tasks import Task
from payerkit.checks.schema import MASK
from payerkit.client import Client
from payerkit.endpoints import payer_call, payment_detail_call, payment_details_call
from payerkit.errors import InvalidInput, NotFound, NotSent, PayerkitError, RateLimited, UnknownOutcome, WrongKey
from payerkit.masking import holds_email, redact
from payerkit.models import PayerStatus, PaymentDetail
from payerkit.wire import wire_name

_LINKS = ("agreement_url", "kyc_url")
_FACTS = [(name, wire_name(name)) for name in ("kyc_status", "agreement_status", "user_id", "status", "id", *_LINKS)]

_NOTHING_HAPPENED = (NotSent, RateLimited, WrongKey)
"""Errors after which the task can be sent by a later run: the service did nothing, and not because of the task."""


class Sender:
    """Sends tasks and records the outcome of each in the journal; safe to share by threads."""

    def __init__(self, client: Client, journal: Journal, limiter: RateLimiter) -> None:
        self._client, self._journal, self._limiter = client, journal, limiter

    def send(self, task: Task) -> State:
        """Send a task, record its outcome and return it. Raises RunStopped."""
        try:
            return self.send_or_raise(task)
        except _NOTHING_HAPPENED:
            return "not_sent"  # each attempt recorded it

    def send_or_raise(self, task: Task) -> State:
        """Send a task, record its outcome and return it. Raises RunStopped, NotSent, RateLimited or WrongKey."""
        try:
            fields = self._limiter.call(lambda: self._attempt(task))
        except UnknownOutcome as error:
            self._journal.mark_unknown(task.key, _reason(error, task.client_user_id))
            return "unknown"
        except _NOTHING_HAPPENED as error:
            if not self._limiter.is_forbidden(error):
                raise
            return self._record_error(task, "refused", error)
        except InvalidInput as error:
            return self._record_error(task, "not_sent", error)
        except PayerkitError as error:
            return self._record_error(task, "refused", error)
        self._journal.record(task.key, "done", facts=_facts(fields, task.client_user_id))
        return "done"

    def _attempt(self, task: Task) -> dict[str, Any]:
        # Committed before the first byte leaves: whatever happens next, the journal knows that it may have been sent.
        self._journal.sent(task.key)
        try:
            if task.step == "payer":
                return self._client.send(payer_call(task.client_user_id, task.body, PayerStatus.read_fields))
            return self._client.send(payment_detail_call(task.client_user_id, task.body, PaymentDetail.read_fields))
        except _NOTHING_HAPPENED as error:
            # Recorded before the wait for the next attempt, which the run, or the process, may not live to see.
            self._record_error(task, "not_sent", error, final=False)
            raise

    def _record_error(self, task: Task, state: State, error: Exception, *, final: bool = True) -> State:
        """Record an error and return the state. It proves nothing about an earlier attempt with unknown outcome."""
        reason, entry = _reason(error, task.client_user_id), self._journal.entry(task.key)
        if entry is not None and entry.unknown_sends:
            state, reason = "unknown", f"The outcome of an earlier attempt is unknown. The last attempt: {reason}"
        self._journal.record(task.key, state, reason=reason, final=final)
        return state

    def record_baseline(self, client_user_id: str) -> None:
        """Record which accounts a payer has before any is sent. Raises PayerkitError or RunStopped."""
        if self._journal.baseline(client_user_id) is None:
            records = self.list_accounts(client_user_id)
            self._journal.set_baseline(client_user_id, [str(record["id"]) for record in records if record.get("id")])

    def list_accounts(self, client_user_id: str) -> list[dict[str, Any]]:
        """Return the accounts that the service lists for a payer. Raises PayerkitError or RunStopped."""
        try:
            return self._limiter.call(lambda: self._client.send(payment_details_call(client_user_id)))
        except NotFound as error:
            if error.foreign:  # a gateway's page: it does not know whether the payer exists
                raise
            return []  # the service does not know the payer, who therefore has no accounts


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


def _reason(error: Exception, client_user_id: str) -> str:
    """Return an error in one line, without the payer's data."""
    fields = [f"{problem.field}: {problem.message}" for problem in getattr(error, "fields", ())]
    message = getattr(error, "message", type(error).__name__)
    if isinstance(error, InvalidInput):
        return message
    return re.sub(r"\S+@\S+", MASK, redact(" ".join([message, *fields]), [client_user_id]))
