"""Read the statuses of many payers and their accounts: who is stuck, whose move it is, since when."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import pandas as pd

from payerkit.bulk.list_many import distinct_ids
from payerkit.bulk.options import RunOptions
from payerkit.bulk.payer_events import PayerEvents
from payerkit.bulk.rate_limit import RateLimiter, StopSignal
from payerkit.bulk.snapshots import Snapshot, take_snapshots
from payerkit.client.client import Client, check_client
from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.masking import mask

_TIME: Final = "datetime64[ns, UTC]"

_DTYPES = {
    "client_user_id": "string",
    "kyc_status": "string",
    "agreement_status": "string",
    "compliant": "boolean",
    "accounts": "Int64",
    "accounts_approved": "Int64",
    "accounts_open": "Int64",
    "accounts_failed": "Int64",
    "account_statuses": "string",
    "whose_move": "string",
    "what_to_do": "string",
    "reason": "string",
    "since": _TIME,
    "checked_at": _TIME,
    "error": "string",
    "payer_key": "string",
}
"""Columns and their dtypes."""

_SAME = ("kyc_status", "agreement_status", "compliant", "account_statuses")
"""Columns that are equal in two frames if nothing happened to a payer in between."""


@without_internal_frames
def payer_statuses(  # noqa: PLR0913 - the options of a run, each by name
    client: Client,
    ids: Iterable[str],
    *,
    accounts: bool = True,
    previous: pd.DataFrame | None = None,
    events: pd.DataFrame | None = None,
    workers: int = 32,
    rate: float | None = None,
    progress: bool = True,
    reveal: bool = False,
) -> pd.DataFrame:
    """Return where each payer stands, whose move it is, and what to do.

    Two requests per payer: `get_payer_status`, which is beyond the specification, and the list of accounts. Nothing is
    changed. `frame[frame["whose_move"] == "payer"]` are the payers who have to do something themselves.

    Args:
        client: From `connect()` or `sandbox()`.
        ids: Client user ids, such as a column; duplicates are requested once.
        accounts: False to leave out the accounts, and with them one of the two requests.
        previous: An earlier result for the same payers, perhaps of last week, from which `since` is taken over.
        events: From `read_events`, for `reason` and `since`; this is beyond the specification. If ids are e-mail
            addresses, read them with `reveal=True`.
        workers: Calls at the same time, 1 to 256.
        rate: Calls per second, at most, no more than `client.pace.rate`; None for that rate.
        progress: Show a progress bar.
        reveal: Show ids that are e-mail addresses, which are masked otherwise.

    Returns:
        One row per payer, in the order of the ids. Columns: `client_user_id`; `kyc_status` and `agreement_status`;
        `compliant` (boolean), derived from these two if the service does not say it; `accounts` (Int64, as are the next
        three), the number of accounts; `accounts_approved`, `accounts_open` and `accounts_failed`, without those that
        are deactivated or replaced (a failed account is replaced by an account in the same currency with the same
        holder or number that has not failed); `account_statuses`, such as "1 approved, 1 pending"; `whose_move`: payer,
        payee, you, service or nobody; `what_to_do`; `reason`, why the payer or an account was rejected, which only
        `events` say; `since`, the time from which these statuses are known to hold, if the service or an event tells
        it, or `previous` has the same statuses; `checked_at`; `error`, why a payer could not be read; `payer_key`,
        which is the same for the same payer and key. Text has dtype `string`, times are in UTC.

    Raises:
        InvalidInput: For ids that cannot be sent, options out of range, and anything but such a frame as `previous`
            or `events`. Nothing was sent.
        KeyboardInterrupt: After Ctrl+C; nothing was changed, so call again.

    Example:
        >>> frame = payer_statuses(client, ["user-123", "user-9"], progress=False)
        >>> frame[["client_user_id", "kyc_status", "account_statuses", "whose_move"]]
          client_user_id   kyc_status account_statuses whose_move
        0       user-123  not_started       1 approved      payer
        1         user-9         <NA>             <NA>        you
        >>> frame["error"].str.contains("404").tolist()
        [<NA>, True]
    """
    check_client(client)
    options = RunOptions(workers=workers, rate=rate)
    if not isinstance(accounts, bool):
        raise InvalidInput("accounts: expected True or False.")
    known, said, wanted = earlier_times(previous), PayerEvents.read(events), distinct_ids(ids)
    said.require_ids(wanted)
    limiter = RateLimiter(client.pace, StopSignal(), rate=rate)
    found = take_snapshots(client, wanted, options, limiter, accounts=accounts, progress=progress)
    if limiter.stop.is_interrupted:
        raise KeyboardInterrupt
    return with_earlier_times(snapshots_frame(found, client.account_secret, said, reveal=reveal is True), known)


def snapshots_frame(
    found: Mapping[str, Snapshot], secret: bytes, said: PayerEvents | None = None, *, reveal: bool
) -> pd.DataFrame:
    """Return snapshots by client user id as `payer_statuses` returns them. said: what events say of the payers."""
    said = said or PayerEvents.read(None)
    table = pd.DataFrame(
        [_row(client_user_id, snapshot, secret, said, reveal=reveal) for client_user_id, snapshot in found.items()],
        columns=list(_DTYPES),
        dtype=object,
    )
    return table.astype(_DTYPES)


def _row(client_user_id: str, snapshot: Snapshot, secret: bytes, said: PayerEvents, *, reveal: bool) -> dict[str, Any]:
    read, groups = snapshot.accounts is not None, snapshot.groups
    times = [time for time in (snapshot.since, said.since(client_user_id, snapshot)) if time is not None]
    return {
        "client_user_id": client_user_id if reveal else mask("clientUserId", client_user_id),
        "kyc_status": snapshot.status and snapshot.status.kyc_status,
        "agreement_status": snapshot.status and snapshot.status.agreement_status,
        "compliant": snapshot.compliant,
        "accounts": len(snapshot.accounts or ()) if read else None,
        **{f"accounts_{name}": groups[name] if read else None for name in ("approved", "open", "failed")},
        "account_statuses": snapshot.account_statuses,
        "whose_move": snapshot.explanation.whose_move,
        "what_to_do": snapshot.explanation.what_to_do,
        "reason": said.reason(client_user_id, snapshot),
        "since": min(times, default=None),
        "checked_at": snapshot.checked_at,
        "error": snapshot.problem or None,
        "payer_key": hashlib.blake2b(client_user_id.encode(), key=secret, digest_size=8).hexdigest(),
    }


def earlier_times(previous: Any) -> pd.DataFrame:
    """Return an earlier frame, or an empty one, with the payers as index. Raises InvalidInput for anything else."""
    needed = ["payer_key", "since", "checked_at", *_SAME]
    if previous is None:
        previous = pd.DataFrame(columns=needed)
    if not isinstance(previous, pd.DataFrame) or not set(needed) <= set(previous.columns):
        raise InvalidInput("previous: expected an earlier result of payer_statuses(), with all its columns.")
    # It may come from a file, in which times and truth values are text.
    earlier = previous[needed].drop_duplicates("payer_key", keep="last").set_index("payer_key")
    texts = {name: earlier[name].astype("string") for name in ("since", "checked_at")}
    # As ISO 8601, each by itself: pandas would take the form of the first for that of all, and drop the others.
    times = {name: pd.to_datetime(text, utc=True, errors="coerce", format="ISO8601") for name, text in texts.items()}
    return earlier.assign(**{name: column.astype(_TIME) for name, column in times.items()})


def with_earlier_times(table: pd.DataFrame, earlier: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with `since` from an earlier one for payers whose statuses are the same."""
    before = earlier.reindex(table["payer_key"]).set_axis(table.index)
    same = pd.Series(True, index=table.index) & table["kyc_status"].notna()
    for name in _SAME:
        same &= table[name].astype("string").fillna("") == before[name].astype("string").fillna("")
    since = before["since"].fillna(before["checked_at"]).where(same)
    return table.assign(since=pd.concat([table["since"], since], axis=1).min(axis=1).astype(_TIME))
