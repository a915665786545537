"""Reconcile: find out the outcome of writes whose outcome is unknown.

A write is *unknown* if no readable response came (`UnknownOutcome`), or if the process ended while it was being sent.
Its next state depends on the evidence alone:

    task     state                evidence                                        next state
    any      sent                 the process ended before the response came      unknown
    payer    unknown              sends with unknown outcome: below the limit     sent: the same id is the same payer
                                  at the limit                                    unknown, final
    account  unknown              the list shows:
                                  one new account; it fits this task alone        done, with its id
                                  several that fit; or one that fits other        unknown, final
                                  tasks, too, or has no id, or fits no task
                                  no new account; lookups below the limit         unknown, looked up again later
                                  no new account; lookups at the limit, sends     sent
                                  with unknown outcome below the limit
                                  the same; accounts="when_compliant", and the    unknown, left to the next run
                                  payer is not compliant
                                  no new account; both at the limit               unknown, final
                                  an error, or not even an account that was       unknown, left to the next run
                                  stored for certain
    any      sent again           success                                         done
                                  an unknown outcome                              unknown, one more send
                                  an account that waits, or a refusal that broke  unknown, left to the next run
                                  off before its reason
                                  any other refusal                               unknown, final
                                  a payer that is there already                   done, if its status can be read
                                  not sent, rate limited, key not accepted        unknown, left to the next run

When: RECONCILE_AFTER seconds after the outcome became unknown, or twice the time of the slowest response if that is
longer; so long again after each lookup. By then the write has taken effect, if it ever does.

Who decides: payerkit, as long as the evidence allows one answer only. What is unknown and final is left to the user,
and the report says what to compare.

Never guessed: which of several accounts it is; that an account does not exist, if the list cannot be read or leaves out
accounts; that a refusal says anything about an earlier attempt.

A *new* account was not in the list before the first account of the payer was sent (the baseline), and does not belong
to another task. It *fits* a task if every field that both have is equal, an account number or the holder's name among
them. The limits, MAX_LOOKUPS and MAX_UNKNOWN_SENDS, are in `payerkit.retry`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from payerkit.bulk.journal import Entry, Journal
from payerkit.bulk.rate_limit import RunStopped
from payerkit.bulk.sending import Sender
from payerkit.bulk.tasks import Task
from payerkit.errors import PayerkitError
from payerkit.masking import masking_of
from payerkit.retry import MAX_LOOKUPS, MAX_UNKNOWN_SENDS
from payerkit.wire import wire_name

_DISTINCTIVE = frozenset({"account_number", "iban", "rib_number", "account_name"})
"""Fields of which a list must show at least one to tell accounts apart."""

_TRUNCATED = re.compile(r"[•*xX.]{2,} ?(\w{1,4})")
"""A number of which a list shows the end only."""


class Reconciler:
    """Finds out the outcome of tasks that are due, and records it; safe to share by threads.

    when_compliant: an account is sent again only if its payer is compliant.
    """

    def __init__(self, sender: Sender, journal: Journal, *, when_compliant: bool = False) -> None:
        self._sender, self._journal, self._when_compliant = sender, journal, when_compliant

    def reconcile(self, tasks: Sequence[Task], delay: float) -> None:
        """Take the next step for the tasks that are due: a payer, or all accounts of one payer.

        delay: seconds between a send or a lookup and the next step. Raises PayerkitError or RunStopped; then the tasks
        stay unknown.
        """
        entries = {task.key: self._journal.entry(task.key) for task in tasks}
        due_since = self._journal.now() - delay
        due = [(task, entry) for task in tasks if (entry := entries[task.key]) and is_due(entry, due_since)]
        if due and tasks[0].step == "payer":
            self._reconcile_payer(*due[0])
        elif due:
            self._reconcile_accounts(tasks, entries, due)

    def _reconcile_payer(self, task: Task, entry: Entry) -> None:
        if entry.unknown_sends < MAX_UNKNOWN_SENDS:
            self._sender.send_or_raise(task)
        else:
            self._leave(task, f"Sent {entry.unknown_sends} times, outcome unknown. Check it with get_payer_status().")

    def _reconcile_accounts(
        self, tasks: Sequence[Task], entries: Mapping[bytes, Entry | None], due: Sequence[tuple[Task, Entry]]
    ) -> None:
        client_user_id = tasks[0].client_user_id
        baseline = self._journal.baseline(tasks[0].payer_key) or []
        taken = {*baseline, *(entry.facts.get("id") for entry in entries.values() if entry)}
        new = [record for record in self._sender.list_accounts(client_user_id) if str(record.get("id")) not in taken]
        # Not only tasks that are due: what the list shows may as well be one that is not due yet, or one that is done
        # but whose response had no id.
        fitting = {
            task.key: {place for place, record in enumerate(new) if fits(task.values, record)}
            for task in tasks
            if _may_be_listed(entries[task.key])
        }
        explained = set[int]().union(*fitting.values())
        missing = []
        for task, entry in due:
            places = fitting[task.key]
            claims = sum(len(places & others) for others in fitting.values())  # its own, and those of other tasks
            record = new[min(places)] if claims == 1 else {}
            if record.get("id"):
                facts = {name: record.get(name) for name in ("id", "status")}
                self._journal.record(task.key, "done", reason="Found in the payer's list of accounts.", facts=facts)
            elif places or len(explained) < len(new):
                self._leave(task, "One of several accounts could be this one. Compare them: list_payment_details().")
            else:
                missing.append((task, entry))
        for task, entry in missing:  # last, since the first error ends it for all
            self._handle_missing(task, entry)

    def _handle_missing(self, task: Task, entry: Entry) -> None:
        """Look an account that is not listed up again later, send it again, or leave it to the user."""
        if entry.lookups + 1 < MAX_LOOKUPS:
            self._journal.count_lookup(task.key)
        elif entry.unknown_sends < MAX_UNKNOWN_SENDS:
            self._send_account_again(task)
        else:
            times = f"Sent {entry.unknown_sends} times, outcome unknown, and not in the payer's list of accounts."
            self._leave(task, f"{times} Check it with list_payment_details().")

    def _send_account_again(self, task: Task) -> None:
        waits = self._sender.check_compliance(task.client_user_id).reason_to_wait if self._when_compliant else ""
        if waits:
            reason = f"The outcome is unknown; the account is not in the payer's list. {waits}"
            self._journal.record(task.key, "unknown", reason=reason, final=False)
            raise PayerkitError(waits)
        self._sender.send_or_raise(task)

    def _leave(self, task: Task, reason: str) -> None:
        self._journal.record(task.key, "unknown", reason=reason)

    def can_rely_on_lists(self, tasks: Iterable[Task]) -> bool:
        """Return True if the list shows the first of some accounts that the service stored for certain.

        If it does not, or cannot be read, an account that is missing from a list may exist all the same. True, too, if
        nothing was stored for certain.
        """
        for task in tasks:
            entry = self._journal.entry(task.key)
            if entry is not None and entry.state == "done" and (details_id := entry.facts.get("id")):
                try:
                    records = self._sender.list_accounts(task.client_user_id)
                except (PayerkitError, RunStopped):
                    return False
                return any(str(record.get("id")) == details_id for record in records)
        return True


def is_due(entry: Entry, due_since: float) -> bool:
    """Return True if an unknown write must have taken effect by now, if it ever does: unknown since then or longer."""
    return entry.is_unresolved and entry.since <= due_since


def _may_be_listed(entry: Entry | None) -> bool:
    """Return True if a task's account may be in the list under an id that the journal does not know."""
    return entry is not None and (entry.state == "unknown" or (entry.state == "done" and not entry.facts.get("id")))


def fits(values: Mapping[str, str], record: Mapping[str, Any]) -> bool:
    """Return True if a listed account may be the one that was sent: every field that both have is equal."""
    listed = {wire_name(name): value for name, value in record.items() if isinstance(value, str)}
    shared = [name for name in values if wire_name(name) in listed]
    return not _DISTINCTIVE.isdisjoint(shared) and all(
        _is_equal(name, values[name], listed[wire_name(name)]) for name in shared
    )


def _is_equal(name: str, sent: str, listed: str) -> bool:
    """Compare a value with the one in a list, which may hide all but the end of a number."""
    truncated = _TRUNCATED.fullmatch(listed)
    if truncated is not None and masking_of(name) == "account":
        return sent.endswith(truncated[1])
    return sent.casefold() == listed.casefold()
