"""Before the accounts of a payer are sent: which of them the service has already, and which it may have."""

from __future__ import annotations

from collections.abc import Sequence

from payerkit.bulk.journal import Entry, Journal, State
from payerkit.bulk.listing import Listing, Matches, Record, id_of, match_tasks
from payerkit.bulk.matching import is_dead
from payerkit.bulk.options import Existing
from payerkit.bulk.sending import record_found
from payerkit.bulk.tasks import Task
from payerkit.reasons import Outcome


class ExistingAccounts:
    """Records the accounts of a payer that are there already, before the others are sent; safe to share by threads."""

    def __init__(self, journal: Journal, existing: Existing) -> None:
        self._journal, self._existing = journal, existing

    def sort_out(self, tasks: Sequence[Task], unsent: Sequence[Task], listing: Listing) -> dict[bytes, State]:
        """Record which accounts are not to be sent, and return their states by key.

        tasks: all accounts of the payer that the table has. unsent: those of them that are to be sent.
        """
        self._keep_baseline(unsent[0].payer_key, listing)
        if not listing.records:
            return {}
        candidates = {task.key: self._candidates(task, listing) for task in tasks}
        claiming = [task for task in tasks if _may_be_listed(listing.entries.get(task.key))]
        keys = {task.key for task in tasks}
        others = listing.has_unknown_but(keys)
        found = dict(
            zip((task.key for task in claiming), match_tasks(claiming, candidates, others=others), strict=True)
        )
        is_cut = self._existing == "skip" and listing.may_leave_out_others(found.values())
        if listing.shows_as_sent(tasks) is not True:  # what was sent before may be listed, whatever the list shows
            sent = {key: listing.new(key) for key in found if listing.was_sent(key)}
            found |= {key: found[key].with_other(new) for key, new in sent.items()}
        states = {task.key: self._sort_out(task, found[task.key], listing, is_cut=is_cut) for task in unsent}
        return {key: state for key, state in states.items() if state is not None}

    def _keep_baseline(self, payer: bytes, listing: Listing) -> None:
        """Record which accounts the payer had before any was sent, and which others somebody else sent since."""
        entries = listing.entries.values()
        if listing.is_first:
            self._journal.set_baseline(payer, listing.ids)
        elif not any(map(_may_turn_up, entries)):
            more = [each for record in listing.new() if (each := id_of(record))]
            if more:
                self._journal.add_to_baseline(payer, more)

    def _candidates(self, task: Task, listing: Listing) -> Sequence[Record]:
        if self._existing == "skip":
            return listing.unexplained(task.key)
        # What was sent before, and may have been stored late, is looked for all the same.
        return listing.new(task.key) if listing.was_sent(task.key) else []

    def _sort_out(self, task: Task, found: Matches, listing: Listing, *, is_cut: bool) -> State | None:
        """Record an account that is not to be sent, and return its state; None if it is to be sent."""
        alive = [record for record in found.same if not is_dead(record)]
        if alive and not found.is_shared:
            self._defer(task, None)
            reason = "found_in_list" if listing.was_sent(task.key) else "there_already"
            return record_found(self._journal, task, alive, reason=reason)
        if self._existing == "send":
            return None
        if found.same and not found.is_shared:
            (record, *_) = found.same
            failed = {"ids": [id_of(record)], "status": str(record.get("status"))}
            return self._defer(task, Outcome("there_failed", failed))
        if perhaps := [*found.strong, *found.perhaps]:
            return self._defer(task, Outcome("perhaps_there", {"ids": [*map(id_of, perhaps)]}))
        if is_cut:
            return self._defer(task, Outcome("perhaps_there", {"listed": len(listing.records)}))
        return None

    def _defer(self, task: Task, reason: Outcome | None) -> State:
        self._journal.defer(task.key, "not_sent", reason, payer=task.payer_key, content=task.content)
        return "not_sent"


def _may_be_listed(entry: Entry | None) -> bool:
    """Return True unless the journal knows under which id a task's account is listed."""
    return entry is None or entry.state in {"unknown", "not_sent", "waiting"} or not entry.facts.get("id")


def _may_turn_up(entry: Entry) -> bool:
    """Return True if an account that the list shows may be that of a task, and the journal does not know its id."""
    is_open = entry.state in {"sent", "unknown"} or (entry.unknown_sends > 0 and not entry.facts.get("id"))
    return is_open or entry.needs_look
