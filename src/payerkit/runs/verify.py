"""Compare the accounts that a service lists with those of a table: which are duplicate,
missing, or in no row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from payerkit import _tsv
from payerkit.client.client import Client, check_client
from payerkit.errors import InvalidInput, PayerkitError, without_internal_frames
from payerkit.frames import frame_of
from payerkit.runs.journal import Entry, Journal
from payerkit.runs.limiter import RateLimiter, list_accounts, request_each
from payerkit.runs.locate import open_journal
from payerkit.runs.match import (
    AccountList,
    Matches,
    Record,
    id_of,
    is_dead,
    match_accounts,
)
from payerkit.runs.rows import shown_id
from payerkit.runs.tasks import Table, Task, Tasks

_COLUMNS = (
    "state",
    "reason",
    "client_user_id",
    "row",
    "payment_details_id",
    "other_ids",
    "status",
)


@without_internal_frames
def verify_onboarding(
    client: Client, rows: Any, journal: str | Path | None = None
) -> pd.DataFrame:
    """Compare the accounts of a table with those that the service has, and send
    nothing.

    No key of the API prevents an account from being stored twice. Two journals at once,
    a journal that was copied while it was in use, a network that repeats a request, and
    a service that lost its data leave accounts twice, or not at all, and no run can
    know. This look finds them: it lists the accounts of every payer of the table.

    Args:
        client: From `connect()` or `sandbox()`.
        rows: The table of the run, as for `onboard` or `add_bank_details`.
        journal: The journal of the run, which knows the ids of accounts also where
            lists show no numbers. It must not be in use, and is not changed.

    Returns:
        One row for each row of the table with an account, then one for each listed
        account that none of them explains; rows without a `client_user_id` are left
        out. Columns, of dtype string except `row`: `state`: stored, duplicate (listed
        more than once), perhaps_duplicate, perhaps_there (the list does not show enough
        to tell), failed (listed as one that cannot be paid), missing, unexplained, or
        unknown (the list could not be read, or may leave it out); `reason`, with what
        to do; `client_user_id` (an e-mail address is masked); `row`, the label in the
        table; `payment_details_id`; `other_ids`, of what is or may be the same account;
        `status`.

    Raises:
        InvalidInput: For a table or a journal that cannot be used.
        KeyboardInterrupt: After Ctrl+C; nothing was changed, so call again.

    Example:
        >>> rows = pd.DataFrame([{"client_user_id": "user-123"} | details])
        >>> verify_onboarding(client, rows)["state"].tolist()
        ['stored']
    """
    check_client(client)
    client.check_confirmed()
    # Whose an account is, and whether its row could be sent, does not matter for
    # whether it is there.
    table = Table(rows, holder_is_payer=True, placeholders="keep", takes_examples=True)
    if journal is None:
        return _verify(
            client, Tasks(table, b""), None
        )  # the keys are compared here alone
    if not Path(journal).is_file():
        raise InvalidInput(
            f"journal: there is no file {Path(journal).name}. Leave it out to compare"
            " without one."
        )
    with open_journal(Path(journal), client, may_begin=False) as opened:
        return _verify(client, Tasks(table, opened.secret), opened)


def _verify(client: Client, tasks: Tasks, journal: Journal | None) -> pd.DataFrame:
    table = tasks.table
    payers = {str(rows[0].client_user_id): rows for rows in table.payers}
    records: list[dict[str, Any]] = []
    limiter = RateLimiter(client.pace)

    def request(own: Client, client_user_id: str) -> tuple[AccountList | str, bool]:
        try:
            return list_accounts(own, limiter, client_user_id), True
        except PayerkitError as error:
            return error.message, False

    lists = request_each(client, list(payers), request, limiter, progress=True)
    if limiter.stop.is_interrupted:
        raise KeyboardInterrupt
    for client_user_id, group in payers.items():
        listed = lists.get(client_user_id, limiter.stop.reason)
        rows = [row for row in group if "bank_details" in row.data]
        accounts = {
            row.number: tasks["bank_details", row.account_row or row] for row in rows
        }
        if isinstance(listed, str):
            states = [
                {"state": "unknown", "reason": listed, "row": row} for row in accounts
            ]
        else:
            key = tasks.key_of(client_user_id)
            entries = journal.entries_of(key) if journal else {}
            states = list(_compare(accounts, listed, entries))
        shown = shown_id(client_user_id)
        records += [state | {"client_user_id": shown} for state in states]
    records.sort(key=lambda record: record.get("row", len(table.rows)))
    for record in records:
        record["row"] = table.rows[record["row"]].label if "row" in record else None
    return frame_of(records, dict.fromkeys(_COLUMNS, "string") | {"row": object})


def _compare(
    rows: Mapping[int, Task], listed: AccountList, entries: Mapping[bytes, Entry]
) -> Iterator[dict[str, Any]]:
    """Yield what a payer's list says of each account of the table, and the accounts
    that no row explains.

    entries: the journal's records of the payer's accounts.
    """
    tasks = {task.key: task for task in rows.values()}
    of_journal = set[str]().union(*(each.account_ids for each in entries.values()))
    unclaimed = [record for record in listed.records if id_of(record) not in of_journal]
    accounts = {key: task.values for key, task in tasks.items()}  # noqa: PD011 - no frame
    matches = match_accounts(accounts, unclaimed)
    explained: list[Record] = []
    for key, task in tasks.items():
        state, records = _judge(listed, matches[key], entries.get(key), of_journal)
        yield from (
            _describe(state, records) | {"row": row}
            for row, each in rows.items()
            if each.key == task.key
        )
        explained += records
    for record in listed.records:
        if record not in explained:
            is_of_journal = id_of(record) in of_journal
            yield _describe("of_journal" if is_of_journal else "of_no_row", [record])


def _judge(
    listed: AccountList, matches: Matches, entry: Entry | None, of_journal: set[str]
) -> tuple[str, list[Record]]:
    """Return what a list says of an account, and the records that are it, or may be.

    entry: of the journal. of_journal: ids of all accounts of the payer that it knows.
    """
    ids = entry.account_ids if entry else []
    own = [record for record in listed.records if id_of(record) in ids]
    stored = [*own, *matches.same]
    alive = [record for record in stored if not is_dead(record)]
    if len(alive) > 1:
        return "duplicate", alive
    if alive and matches.perhaps:
        return "perhaps_duplicate", [*stored, *matches.perhaps]
    if alive:
        return "stored", alive
    if matches.perhaps:
        return "perhaps_there", [*stored, *matches.perhaps]
    if stored:
        return "failed", stored
    if listed.may_lack_accounts(of_journal):
        return "cut", []
    return "lost" if ids else "missing", []


def _describe(state: str, records: list[Record]) -> dict[str, Any]:
    first, *others = records or [{}]
    ids = [id_of(record) for record in others if id_of(record)]
    status = first.get("status")
    return _texts()[state] | {
        "payment_details_id": id_of(first) or None,
        "other_ids": ", ".join(ids),
        "status": status if isinstance(status, str) else None,
    }


@cache
def _texts() -> dict[str, dict[str, str]]:
    """Return the state and the reason of what a list shows of an account."""
    table = _tsv.rows("payerkit.runs", "verified")
    return {
        row["shown"]: {"state": row["state"], "reason": row["reason"]} for row in table
    }
