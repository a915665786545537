"""Read the statuses and accounts of many payers: who is stuck, whose move it is, and since when."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import pandas as pd

from payerkit.checks.schema import MASK
from payerkit.client.client import Client, check_client
from payerkit.endpoints import payer_status_call, payment_details_frame
from payerkit.errors import InvalidInput, PayerkitError, kind_of, without_internal_frames
from payerkit.events.read_events import believed_events
from payerkit.explanations import Explanation, account_group, count_words, explain_payer, is_compliant
from payerkit.frames import columns, frame_of, read_times, read_truth
from payerkit.masking import holds_email, mask
from payerkit.models import PayerStatus
from payerkit.onboarding.limiter import RateLimiter, list_accounts, request_each, request_lists
from payerkit.wire import check_id, wire_name

Accounts = Sequence[Mapping[str, Any]]
"""The accounts that the service lists for a payer."""


@dataclass(frozen=True)
class Snapshot:
    """The statuses of one payer, and of the payer's accounts, at one time.

    accounts: the listed records; None if they were not read. stopped: why the payer was not asked for.
    """

    checked_at: datetime
    status: PayerStatus | None = None
    accounts: Accounts | None = None
    error: PayerkitError | None = None
    stopped: str = ""

    @property
    def account_statuses(self) -> str | None:
        """All accounts by status, such as "1 approved, 1 pending"; None if they were not read."""
        if self.accounts is None:
            return None
        words = (record.get("status") for record in self.accounts)
        return count_words(word if isinstance(word, str) else "" for word in words)

    @cached_property
    def relevant(self) -> Accounts:
        """The accounts that count: neither deactivated nor replaced; none if they were not read."""
        return without_replaced([each for each in self.accounts or () if account_group(each.get("status")) != "off"])

    @cached_property
    def compliant(self) -> bool | None:
        """Whether the payer is compliant; None if it is not known."""
        if self.status is None:
            return None
        return is_compliant(self.status.kyc_status, self.status.agreement_status, stated=self.status.is_compliant)

    @cached_property
    def explanation(self) -> Explanation:
        """Whose move it is, and what to do."""
        status = self.status
        if status is None or (self.error is not None and self.compliant):
            advice = self.error.advice if self.error is not None else "Call again."
            return Explanation("payer", "", self.problem, "you", what_to_do=advice)
        words = None if self.accounts is None else [record.get("status") for record in self.relevant]
        return explain_payer(status.kyc_status, status.agreement_status, stated=status.is_compliant, accounts=words)

    @property
    def problem(self) -> str:
        """Why the payer, or the payer's accounts, could not be read; "" if they were."""
        return self.stopped if self.error is None else self.error.message


def take_snapshots(
    client: Client, ids: Sequence[str], limiter: RateLimiter, *, accounts: bool = True, progress: bool = False
) -> dict[str, Snapshot]:
    """Return the statuses of each payer, in the order of the ids; the limiter knows why it ended early."""

    def take(own: Client, client_user_id: str) -> tuple[Snapshot, bool]:
        found: dict[str, Any] = {}
        try:
            found["status"] = limiter.call(lambda: own.send(payer_status_call(client_user_id, PayerStatus.read)))
            found["accounts"] = list_accounts(own, limiter, client_user_id) if accounts else None
        except PayerkitError as error:
            found["error"] = error
        return Snapshot(datetime.now(UTC), **found), "error" not in found

    found = request_each(client, ids, take, limiter, progress=progress)
    unread = Snapshot(datetime.now(UTC), stopped=limiter.stop.reason)
    return {client_user_id: found.get(client_user_id, unread) for client_user_id in ids}


def without_replaced(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return accounts without failed ones that another account replaces: same currency, and same holder or number."""
    pairs = [(record, account_group(record.get("status")) == "failed") for record in records]
    replacing = {mark for record, has_failed in pairs if not has_failed for mark in _marks(record)}
    return [record for record, has_failed in pairs if not has_failed or replacing.isdisjoint(_marks(record))]


def _marks(record: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return the marks of an account: two accounts that share one are for the same payee, in the same currency."""
    fields = {wire_name(name): _compact(value) for name, value in record.items() if isinstance(value, str)}
    numbers = (fields.get(name, "") for name in ("iban", "accountNumber", "ribNumber"))
    marks = [fields.get("accountName", ""), *(number for number in numbers if len(number) >= 8)]  # not "••••1234"
    return {(fields.get("currency", ""), mark) for mark in marks if mark}


def _compact(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


_OF_PAYER, _OF_ACCOUNT = "compliance.updated", "payment_detail.updated"
_WHOSE = {_OF_PAYER: "client_user_id", _OF_ACCOUNT: "payment_details_id"}
"""The events about statuses, and the column that says whose they are."""

_NEEDED = ["event", *_WHOSE.values(), "kyc_status", "agreement_status", "is_compliant", "status", "reason"]

Events = Mapping[tuple[str, str], Mapping[str, Any]]
"""The last event about each payer and account, by its kind and the id."""


def last_events(events: Any, ids: Iterable[str]) -> Events:
    """Return the last events in a frame of `read_events`; tests, and those whose signature is invalid, say nothing.

    Raises InvalidInput for anything but such a frame or None, and if the ids of these payers are masked in it.
    """
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for row in believed_events(events, _NEEDED):  # by time
        row["is_compliant"] = read_truth(row["is_compliant"])
        whose = _WHOSE.get(row["event"])
        if whose and row[whose]:
            last[row["event"], row[whose]] = row
    if (_OF_PAYER, MASK) in last and any(map(holds_email, ids)):
        raise InvalidInput(
            "events: ids that are e-mail addresses are masked in it. Read the events with reveal=True; the result "
            "masks them again."
        )
    return last


def _reason(client_user_id: str, snapshot: Snapshot, events: Events) -> str | None:
    """Return why the payer or an account does not pass, in the service's words; None if no event says it.

    The last event counts, unless it says something else than what holds now.
    """
    status = snapshot.status
    if status is None:
        return None
    payer = {"kyc_status": status.kyc_status, "agreement_status": status.agreement_status}
    holds: dict[tuple[str, str], Mapping[str, Any]] = {
        (_OF_PAYER, client_user_id): payer | {"is_compliant": snapshot.compliant},
        **{(_OF_ACCOUNT, str(each.get("id"))): {"status": each.get("status")} for each in snapshot.relevant},
    }
    last = [(events[key], states) for key, states in holds.items() if key in events]
    reasons = [
        event["reason"] for event, states in last if all(event[name] in (None, now) for name, now in states.items())
    ]
    return "; ".join(dict.fromkeys(filter(None, reasons))) or None


_DTYPES = columns(
    "client_user_id whose_move what_to_do kyc_status agreement_status compliant accounts accounts_approved "
    "accounts_open accounts_failed account_statuses reason since checked_at error payer_key",
    boolean="compliant",
    Int64="accounts accounts_approved accounts_open accounts_failed",
    time="since checked_at",
)
"""Columns and their dtypes."""

_SAME = ("kyc_status", "agreement_status", "compliant", "account_statuses")
"""Columns that are equal in two frames if nothing happened to a payer in between."""


@without_internal_frames
def payer_statuses(  # noqa: PLR0913 - what can be chosen, each by name
    client: Client,
    ids: Iterable[str],
    *,
    accounts: bool = True,
    previous: pd.DataFrame | None = None,
    events: pd.DataFrame | None = None,
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
        previous: An earlier result for the same payers, perhaps of last week, for `since`.
        events: From `read_events`, for `reason`; this is beyond the specification. If ids are e-mail addresses, read
            them with `reveal=True`.
        progress: Show a progress bar.
        reveal: Show ids that are e-mail addresses, which are masked otherwise.

    Returns:
        One row per payer, in the order of the ids. Columns: `client_user_id`; `whose_move`: payer, payee, you, service
        or nobody; `what_to_do`; `kyc_status` and `agreement_status`; `compliant` (boolean), derived from these two if
        the service does not say it; `accounts` (Int64, as are the next three), the number of accounts;
        `accounts_approved`, `accounts_open` and `accounts_failed`, without those that are deactivated or replaced (a
        failed account is replaced by an account in the same currency with the same holder or number that has not
        failed); `account_statuses`, such as "1 approved, 1 pending"; `reason`, why the payer or an account was
        rejected, which only `events` say; `since`, if `previous` has the same statuses, the time from which they are
        known to hold; `checked_at`; `error`, why a payer could not be read; `payer_key`, which is the same for the same
        payer and key. Text has dtype `string`, times are in UTC.

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
    known, wanted = earlier_times(previous), distinct_ids(ids)
    last = last_events(events, wanted)
    limiter = RateLimiter(client.pace)
    found = take_snapshots(client, wanted, limiter, accounts=accounts, progress=progress)
    if limiter.stop.is_interrupted:
        raise KeyboardInterrupt
    frame = snapshots_frame(found, client.account_secret, last, reveal=reveal is True)
    frame["since"] = _unchanged_since(frame, known)
    return frame


def snapshots_frame(found: Mapping[str, Snapshot], secret: bytes, events: Events, *, reveal: bool) -> pd.DataFrame:
    """Return snapshots by client user id as `payer_statuses` returns them. events: from `last_events`."""
    rows = (_row(client_user_id, snapshot, secret, events, reveal=reveal) for client_user_id, snapshot in found.items())
    return frame_of(rows, _DTYPES)


def _unchanged_since(table: pd.DataFrame, earlier: pd.DataFrame) -> pd.Series[Any]:
    """Return since when the statuses of payers are the same, as a frame of `earlier_times` knows."""
    before = earlier.reindex(table["payer_key"]).set_axis(table.index)
    now, then = (frame[list(_SAME)].astype("string").fillna("") for frame in (table, before))
    is_same = table["kyc_status"].notna() & (now == then).all(axis="columns")
    return before["since"].fillna(before["checked_at"]).where(is_same)


def _row(client_user_id: str, snapshot: Snapshot, secret: bytes, events: Events, *, reveal: bool) -> dict[str, Any]:
    read = snapshot.accounts is not None
    groups = Counter(account_group(record.get("status")) for record in snapshot.relevant)
    reason = _reason(client_user_id, snapshot, events)
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
        "reason": reason if reveal else mask("rejectionMessage", reason),  # the events may be revealed
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
    return earlier.assign(**{name: read_times(earlier[name]) for name in ("since", "checked_at")})


@without_internal_frames
def list_many(
    client: Client,
    ids: Iterable[str],
    *,
    progress: bool = True,
    reveal: bool = False,
) -> pd.DataFrame:
    """Return the bank accounts of many payers in one DataFrame.

    Args:
        client: From `connect()` or `sandbox()`.
        ids: Client user ids, such as a column; duplicates are requested once.
        progress: Show a progress bar.
        reveal: Show account numbers, birth dates, addresses, people's names and ids that are e-mail addresses, which
            are masked otherwise.

    Returns:
        One row per account, in the order of the ids. Columns: `client_user_id` (string); those of
        `list_payment_details`; `error` (string), missing for payers who were read. A payer who could not be read has
        one row with `client_user_id` and `error` alone; a payer without accounts has no row.

    Raises:
        InvalidInput: For ids that cannot be sent and options out of range. Nothing was sent.
        KeyboardInterrupt: After Ctrl+C; nothing was changed, so call again.

    Example:
        >>> accounts = list_many(client, ["user-123", "user-9"], progress=False)
        >>> accounts[["client_user_id", "bank_name", "account_number"]]
          client_user_id bank_name account_number
        0       user-123     Chase       ••••3489
        1         user-9      <NA>           <NA>
        >>> accounts["error"].str.contains("404").tolist()
        [<NA>, True]
    """
    check_client(client)
    limiter = RateLimiter(client.pace)
    results = request_lists(client, distinct_ids(ids), limiter, progress=progress)
    return accounts_frame(results, reveal=reveal is True)


def distinct_ids(ids: Iterable[str]) -> list[str]:
    """Return client user ids in their order, each once. Raises InvalidInput for one that cannot be sent."""
    if isinstance(ids, str | bytes | Mapping) or hasattr(ids, "columns") or not isinstance(ids, Iterable):
        raise InvalidInput(f"ids: expected a list or a column of client user ids, got {kind_of(ids)}.")
    return list(dict.fromkeys(check_id(each, "ids") for each in ids))


def accounts_frame(results: Mapping[str, Accounts | str], *, reveal: bool) -> pd.DataFrame:
    """Return the results of `request_lists` as `list_many` returns them."""
    rows: list[tuple[str, str | None, Mapping[str, Any]]] = []
    for client_user_id, result in results.items():
        shown = client_user_id if reveal else mask("clientUserId", client_user_id)
        rows += [(shown, result, {})] if isinstance(result, str) else [(shown, None, record) for record in result]
    frame = payment_details_frame([record for _, _, record in rows], reveal=reveal)
    # Undocumented fields of the service become columns; these two names are ours.
    frame = frame.drop(columns=["client_user_id", "error"], errors="ignore")
    frame.insert(0, "client_user_id", pd.Series([payer for payer, _, _ in rows], dtype="string"))
    return frame.assign(error=pd.array([error for _, error, _ in rows], dtype="string"))
