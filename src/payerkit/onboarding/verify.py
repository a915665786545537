"""Compare the accounts that a service lists with those of a table: which are duplicate, missing, or in no row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from payerkit import _tsv
from payerkit.client.client import Client, check_client
from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.frames import frame_of
from payerkit.onboarding.journal import Entry, Journal, open_journal
from payerkit.onboarding.limiter import RateLimiter, request_lists
from payerkit.onboarding.match import Listing, Matches, Record, id_of, is_dead
from payerkit.onboarding.rows import shown_id
from payerkit.onboarding.tasks import Table, Task, Tasks, payer_key

_COLUMNS = ("state", "reason", "client_user_id", "row", "payment_details_id", "other_ids", "status")


@without_internal_frames
def verify_onboarding(client: Client, rows: Any, journal: str | Path | None = None) -> pd.DataFrame:
    """Compare the accounts of a table with those that the service has, and send nothing.

    No key of the API prevents an account from being stored twice. Two journals at once, a journal that was copied
    while it was in use, a network that repeats a request, and a service that lost its data leave accounts twice, or
    not at all, and no run can know. This look finds them: it lists the accounts of every payer of the table.

    Args:
        client: From `connect()` or `sandbox()`.
        rows: The table of the run, as for `onboard` or `add_bank_details`.
        journal: The journal of the run, which knows the ids of accounts also where lists show no numbers. It must not
            be in use, and is not changed.

    Returns:
        One row for each row of the table with an account, then one for each listed account that none of them explains;
        rows without a `client_user_id` are left out. Columns, of dtype string except `row`: `state`: stored,
        duplicate (listed more than once), perhaps_duplicate, perhaps_there (the list does not show enough to tell),
        failed (listed as one that cannot be paid), missing, unexplained, or unknown (the list could not be read, or may
        leave it out); `reason`, with what to do; `client_user_id` (an e-mail address is masked); `row`, the label in
        the table; `payment_details_id`; `other_ids`, of what is or may be the same account; `status`.

    Raises:
        InvalidInput: For a table or a journal that cannot be used.
        KeyboardInterrupt: After Ctrl+C; nothing was changed, so call again.

    Example:
        >>> rows = pd.DataFrame([{"client_user_id": "user-123"} | details])
        >>> verify_onboarding(client, rows)["state"].tolist()
        ['stored']
    """
    check_client(client)
    # Whose an account is, and whether its row could be sent, does not matter for whether it is there.
    table = Table(rows, holder_is_payer=True, placeholders="keep", takes_examples=True)
    if journal is None:
        return _verify(client, Tasks(table, b""), None)  # the keys are compared here alone
    if not Path(journal).is_file():
        raise InvalidInput(f"journal: there is no file {Path(journal).name}. Leave it out to compare without one.")
    with open_journal(Path(journal), client) as opened:
        return _verify(client, Tasks.of_journal(table, opened), opened)


def _verify(client: Client, tasks: Tasks, journal: Journal | None) -> pd.DataFrame:
    table = tasks.table
    payers = {str(rows[0].client_user_id): rows for rows in table.payers}
    limiter, found = RateLimiter(client.pace), list[dict[str, Any]]()
    lists = request_lists(client, list(payers), limiter, progress=True, may_be_unknown=True)
    for client_user_id, listed in lists.items():
        rows = [row for row in payers[client_user_id] if "bank_details" in row.data]
        accounts = {row.number: tasks["bank_details", row.account_row or row] for row in rows}
        entries = journal.entries_of(payer_key(tasks.secret, client_user_id)) if journal else {}
        if isinstance(listed, str):
            states = [{"state": "unknown", "reason": listed, "row": row} for row in accounts]
        else:
            states = list(_compare(accounts, Listing(listed, entries=entries)))
        found += [each | {"client_user_id": shown_id(client_user_id)} for each in states]
    found.sort(key=lambda each: each.get("row", len(table.rows)))
    for each in found:
        each["row"] = table.rows[each["row"]].label if "row" in each else None
    return frame_of(found, dict.fromkeys(_COLUMNS, "string") | {"row": object})


def _compare(rows: Mapping[int, Task], listing: Listing) -> Iterator[dict[str, Any]]:
    """Yield what a payer's list says of each account of the table, and the accounts that no row explains."""
    tasks = list({task.key: task for task in rows.values()}.values())
    matches = listing.match(tasks, {task.key: listing.unexplained(task.key) for task in tasks}, listing.entries)
    explained, is_cut = list[Record](), listing.may_be_cut(matches.values())
    for task in tasks:
        state, records = _judge(listing, matches[task.key], listing.entries.get(task.key), is_cut=is_cut)
        yield from (_describe(state, records) | {"row": row} for row, each in rows.items() if each.key == task.key)
        explained += records
    of_journal = {each for entry in listing.entries.values() for each in entry.account_ids}
    for record in listing.records:
        if record not in explained:
            yield _describe("of_journal" if id_of(record) in of_journal else "of_no_row", [record])


def _judge(listing: Listing, found: Matches, entry: Entry | None, *, is_cut: bool) -> tuple[str, list[Record]]:
    """Return what a list says of an account, and the records that are it, or may be. entry: of the journal."""
    ids = entry.account_ids if entry else []
    own = [record for record in listing.records if id_of(record) in ids]
    if found.shared and not own:
        return "shared", [*found.shared]
    stored = own + [record for record in found.strong if record not in own]
    alive = [record for record in stored if not is_dead(record)]
    perhaps = [record for record in found.perhaps if record not in own and record not in found.shared]
    if len(alive) > 1:
        return "duplicate", alive
    if perhaps:
        return "perhaps_duplicate" if alive else "perhaps_there", [*stored, *perhaps]
    if stored:
        return "stored" if alive else "failed", alive or stored
    return "cut" if is_cut else "lost" if ids else "missing", []


def _describe(state: str, records: list[Record]) -> dict[str, Any]:
    first, *others = records or [{}]
    ids, status = ", ".join(filter(None, map(id_of, others))), first.get("status")
    shown = status if isinstance(status, str) else None
    return _texts()[state] | {"payment_details_id": id_of(first) or None, "other_ids": ids, "status": shown}


@cache
def _texts() -> dict[str, dict[str, str]]:
    """Return the state and the reason of what a list shows of an account."""
    table = _tsv.rows("payerkit.onboarding", "verified")
    return {row["shown"]: {"state": row["state"], "reason": row["reason"]} for row in table}
