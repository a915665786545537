"""Reconcile what is unknown, and find out whether any account was stored twice.

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

A *new* account is neither in the baseline nor that of another task. `payerkit.onboarding.match` says how it is
compared. It may be any task's whose outcome is unknown, also if all that the list shows of it differs, and no last look
clears it; unless lists of this service show as it was sent what is stored for certain.

Never guessed: which of several accounts it is; that an account does not exist, if the list cannot be read or leaves out
accounts; that a refusal says anything about an earlier attempt. The limits are in `payerkit.client.pace`.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from payerkit.client.pace import MAX_LOOKUPS, MAX_PAYER_LOOKS, MAX_REPEATS
from payerkit.errors import PayerkitError, Refused
from payerkit.onboarding.journal import Entry, Journal
from payerkit.onboarding.limiter import RunStopped
from payerkit.onboarding.match import Listing, Matches, id_of, is_dead
from payerkit.onboarding.sending import REFUSED, Sender, reason_of, record_found
from payerkit.onboarding.tasks import Task
from payerkit.reasons import Outcome

_WITNESSES = 3
"""Accounts that are stored for certain and looked for, to see whether the lists of a service show what is there."""


@dataclass
class Reconciler:
    """Finds out the outcome of tasks that are due, and records it; safe to share by threads.

    accounts: gives all accounts of the table. The first ones that are stored for certain are witnesses of how the
    service lists what it stored; they are asked at most once, and only if a list does not tell.
    """

    sender: Sender
    journal: Journal
    accounts: Callable[[], Iterable[Task]]
    _witnesses: Sequence[bool | None] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    # Of this run alone: a kill does not count as a try.
    _looks: Counter[bytes] = field(default_factory=Counter)
    _repeats: Counter[bytes] = field(default_factory=Counter)

    def reconcile(self, tasks: Sequence[Task], delay: float) -> bool:
        """Take the next step for the tasks that are due: a payer, or all accounts of one payer.

        delay: seconds between a send or a look and the next step. Return False if this run can do no more for the
        tasks. Raises PayerkitError if so, or RunStopped; then the tasks stay unknown.
        """
        due_since = self.journal.now() - delay
        entries = [(task, self.journal.entry(task.key)) for task in tasks]
        due = [task for task, entry in entries if entry and entry.is_unresolved and entry.since <= due_since]
        if due and tasks[0].step == "payer":
            return self._reconcile_payer(due[0])
        return self._reconcile_accounts(tasks, due) if due else True

    def look_at_once(self, tasks: Sequence[Task]) -> None:
        """Record the outcome of those that are found for certain, of a payer, or of all accounts of one payer.

        What is missing, or in doubt, proves nothing so soon. Raises PayerkitError or RunStopped.
        """
        if tasks[0].step == "payer":
            self.sender.find_payer(tasks[0], Outcome("found_by_status"))
            return
        listing = self.sender.look(tasks[0])
        found = self._match_new(tasks, listing)
        for task in tasks:
            if task.key in found and listing.entries[task.key].is_unresolved and is_certain(found[task.key]):
                record_found(self.journal, task, found[task.key].strong, reason="found_in_list")

    def _reconcile_payer(self, task: Task) -> bool:
        """Ask for a payer, and send it again if the service does not know it, or cannot be asked."""
        self._looks[task.key] += 1
        try:
            if self.sender.find_payer(task, Outcome("found_by_status")):
                return True
        except PayerkitError as error:
            self.journal.count_lookup(task.key)
            why = reason_of(error, task.client_user_id)
        else:
            if self.sender.send_or_raise(task) != "unknown":
                return True
            why = Outcome("lost_again")
        if self._looks[task.key] < MAX_PAYER_LOOKS:
            return True
        reason = Outcome("not_looked_up", {"looks": MAX_PAYER_LOOKS, "cause": why})
        self.journal.record(task.key, "unknown", reason=reason, final=False)
        return False

    def _reconcile_accounts(self, tasks: Sequence[Task], due: Sequence[Task]) -> bool:
        listing = self.sender.look(tasks[0])
        found = self._find_new(tasks, listing)
        missing = [task for task in due if not self._settle(task, found[task.key], listing)]
        listing = replace(listing, entries=self.journal.entries_of(tasks[0].payer_key))  # with what was found
        # Those that are missing come last, since the first error ends it for all.
        goes_on = [self._handle_missing(task, listing) for task in missing]
        return all(goes_on)

    def _find_new(self, tasks: Sequence[Task], listing: Listing) -> dict[bytes, Matches]:
        """Return for each task the new accounts that may be its own: no other task explains them.

        If lists show accounts that are known to be stored otherwise than they were sent, any new account may be.
        """
        found = self._match_new(tasks, listing)
        if any(each.other for each in found.values()):
            is_proven = listing.shows_as_sent(tasks)
            if not (True in self._seen() if is_proven is None else is_proven):
                found = {key: each.with_other(each.other) for key, each in found.items()}
        return found

    def _match_new(self, tasks: Sequence[Task], listing: Listing) -> dict[bytes, Matches]:
        """Return for each task that was sent the new accounts that could be its own."""
        sent = [task for task in tasks if _may_be_new(listing.entries.get(task.key))]
        return listing.match(sent, {task.key: listing.new(task.key) for task in sent}, {task.key for task in tasks})

    def _settle(self, task: Task, found: Matches, listing: Listing) -> bool:
        """Record the outcome of an account as far as the list shows it; return False if it is missing there."""
        sent_twice = listing.entries[task.key].needs_look
        if is_certain(found):
            # This look is a whole delay after the last send, so it is the last one, too, unless something is missing.
            needs_look = sent_twice and not (listing.is_whole and not found.perhaps)
            record_found(self.journal, task, found.strong, reason="found_in_list", needs_look=needs_look)
            return True
        if records := found.strong or found.perhaps:
            reason = Outcome("could_be", {"ids": [*map(id_of, records)]})
            self.journal.record(task.key, "unknown", reason=reason, facts=listing.entries[task.key].facts)
        return bool(records)

    def _handle_missing(self, task: Task, listing: Listing) -> bool:
        """Look an account that is not listed up again later, send it again, or leave it to the next run."""
        entry = listing.entries[task.key]
        is_shown = listing.known or not self._seen() or set(self._seen()) != {None}
        if not listing.is_whole or not is_shown:
            reason = Outcome("lists_prove_nothing" if listing.is_whole else "list_not_whole")
            self.journal.record(task.key, "unknown", reason=reason, final=False, facts=entry.facts)
            return False
        if entry.lookups + 1 < MAX_LOOKUPS:
            self.journal.count_lookup(task.key)
        elif REFUSED in entry.facts:
            self.journal.record(task.key, "refused", reason=Outcome.from_value(entry.facts[REFUSED]))
        elif self._repeats[task.key] < MAX_REPEATS:
            self._repeats[task.key] += 1
            try:
                self.sender.send_or_raise(task)
            except Refused:
                again = self.journal.entry(task.key)
                if again is None or REFUSED not in again.facts:  # else it is refused once it counts as absent again
                    raise
        else:
            reason = Outcome("absent_again", {"attempts": entry.attempts})
            self.journal.record(task.key, "not_sent", reason=reason, final=False)
        return True

    def _seen(self) -> Sequence[bool | None]:
        """Return how the lists show the first of some accounts that the service stored for certain.

        True: as it was sent. False: otherwise. None: not at all, or the list cannot be read: then an account that is
        missing from a list may exist all the same.
        """
        with self._lock:
            if self._witnesses is None:
                entries = ((task, self.journal.entry(task.key)) for task in self.accounts())
                stored = (task for task, entry in entries if entry and entry.state == "done" and entry.facts.get("id"))
                self._witnesses = [*map(self._seen_as_sent, islice(stored, _WITNESSES))]
            return self._witnesses

    def _seen_as_sent(self, task: Task) -> bool | None:
        try:
            return self.sender.look(task).shows_as_sent([task])
        except (PayerkitError, RunStopped):
            return None

    def look_again(self, tasks: Sequence[Task]) -> None:
        """Look for the last time at accounts that were sent twice: whether they were stored twice.

        Raises PayerkitError or RunStopped; then the next run looks.
        """
        listing = self.sender.look(tasks[0])
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
            record_found(self.journal, task, others, reason="found_in_list", needs_look=needs_look)
        elif own is not None and others and all(map(id_of, others)):
            facts = entry.facts | {"other_ids": [id_of(record) for record in others]}
            self.journal.record(task.key, "duplicate", reason=Outcome("stored_twice"), facts=facts, needs_look=False)
        elif others or doubtful:
            reason = Outcome("could_be_twice", {"id": own, "ids": [*map(id_of, [*others, *doubtful])]})
            self.journal.record(task.key, "unknown", reason=reason, facts=entry.facts)
        elif listing.is_whole and (entry.state != "unknown" or own is not None):
            # unknown: one that could be a second one was listed before, and is not any more.
            state, noted = ("done", None) if entry.state == "unknown" else (entry.state, entry.reason)
            self.journal.record(task.key, state, reason=noted, final=entry.final, facts=entry.facts, needs_look=False)


def is_certain(found: Matches) -> bool:
    """Return True if it is certain which listed accounts are a task's: one, or several that are the same, whoever's."""
    if not all(map(id_of, found.strong)):
        return False
    return len(found.strong) == 1 or len(found.same) == len(found.strong) > 1


def _may_be_new(entry: Entry | None) -> bool:
    """Return True if a task was sent, and may have an account in the list whose id the journal does not know."""
    if entry is None:
        return False
    is_stored_without_id = entry.state == "done" and not entry.facts.get("id")
    return entry.state == "unknown" or entry.needs_look or is_stored_without_id
