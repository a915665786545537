"""Read the statuses and accounts of many payers: who is stuck, whose move it is, and
since when.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import pandas as pd

from payerkit.client.client import Client, check_client
from payerkit.endpoints import payer_status_call
from payerkit.errors import (
    InvalidInput,
    PayerkitError,
    kind_of,
    without_internal_frames,
)
from payerkit.explanations import (
    Explanation,
    account_group,
    count_words,
    explain_payer,
    is_compliant,
)
from payerkit.frames import columns, frame_of, read_times
from payerkit.masking import mask
from payerkit.models import PayerStatus
from payerkit.models.requests import ACCOUNT_NUMBERS
from payerkit.money.events import rejection_reasons
from payerkit.redaction import MASK
from payerkit.runs.limiter import RateLimiter, list_accounts, request_each
from payerkit.wire import check_id, wire_name

ListedAccounts = Sequence[Mapping[str, Any]]
"""The accounts that the service lists for a payer."""

Reasons = Mapping[tuple[str, str], str]
"""Why accounts were rejected, as `rejection_reasons` returns it."""


@dataclass(frozen=True)
class Snapshot:
    """The statuses of one payer, and of the payer's accounts, at one time.

    accounts: the listed records; None if they were not read. stopped: why the payer was
    not asked for.
    """

    checked_at: datetime
    status: PayerStatus | None = None
    accounts: ListedAccounts | None = None
    error: PayerkitError | None = None
    stopped: str = ""

    @property
    def account_statuses(self) -> str | None:
        """All accounts by status, such as "1 approved, 1 pending"; None if they were
        not read.
        """
        if self.accounts is None:
            return None
        words = (record.get("status") for record in self.accounts)
        return count_words(word if isinstance(word, str) else "" for word in words)

    @cached_property
    def relevant(self) -> ListedAccounts:
        """The accounts that count: neither deactivated nor replaced; none if they were
        not read.
        """
        accounts = self.accounts or ()
        return without_replaced(
            [each for each in accounts if account_group(each.get("status")) != "off"]
        )

    @cached_property
    def compliant(self) -> bool | None:
        """Whether the payer is compliant; None if it is not known."""
        if self.status is None:
            return None
        return is_compliant(
            self.status.kyc_status,
            self.status.agreement_status,
            stated=self.status.is_compliant,
        )

    @cached_property
    def explanation(self) -> Explanation:
        """Whose move it is, and what to do."""
        status = self.status
        if status is None or (self.error is not None and self.compliant):
            advice = self.error.advice if self.error is not None else "Call again."
            return Explanation("payer", "", self.problem, "you", what_to_do=advice)
        words = None
        if self.accounts is not None:
            words = [record.get("status") for record in self.relevant]
        return explain_payer(
            status.kyc_status,
            status.agreement_status,
            stated=status.is_compliant,
            accounts=words,
        )

    @property
    def problem(self) -> str:
        """Why the payer, or the payer's accounts, could not be read; "" if they
        were.
        """
        return self.stopped if self.error is None else self.error.message


def take_snapshots(
    client: Client,
    ids: Sequence[str],
    limiter: RateLimiter,
    *,
    accounts: bool = True,
    progress: bool = False,
) -> dict[str, Snapshot]:
    """Return the statuses of each payer, in the order of the ids; the limiter knows why
    it ended early.
    """

    def take(own: Client, client_user_id: str) -> tuple[Snapshot, bool]:
        found: dict[str, Any] = {}
        try:
            found["status"] = limiter.call(
                lambda: own.send(payer_status_call(client_user_id, PayerStatus.read))
            )
            if accounts:
                listed = list_accounts(own, limiter, client_user_id)
                found["accounts"] = listed.records
        except PayerkitError as error:
            found["error"] = error
        return Snapshot(datetime.now(UTC), **found), "error" not in found

    found = request_each(client, ids, take, limiter, progress=progress)
    unread = Snapshot(datetime.now(UTC), stopped=limiter.stop.reason)
    return {client_user_id: found.get(client_user_id, unread) for client_user_id in ids}


def without_replaced(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return accounts without failed ones that another account replaces: same currency,
    and same holder or number.
    """
    replacing: set[tuple[str, str]] = set()
    for record in records:
        if account_group(record.get("status")) != "failed":
            replacing |= _marks(record)
    return [
        record
        for record in records
        if account_group(record.get("status")) != "failed"
        or replacing.isdisjoint(_marks(record))
    ]


def _marks(record: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return the marks of an account: two accounts that share one are for the same
    payee, in the same currency.
    """
    fields = {
        wire_name(name): _compact(value)
        for name, value in record.items()
        if isinstance(value, str)
    }
    numbers = [fields.get(wire_name(name), "") for name in ACCOUNT_NUMBERS]
    marks = [number for number in numbers if len(number) >= 8]  # not "••••1234"
    marks.append(fields.get("accountName", ""))
    return {(fields.get("currency", ""), mark) for mark in marks if mark}


def _compact(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _reason(snapshot: Snapshot, reasons: Reasons) -> str | None:
    """Return why the accounts that count do not pass, in the service's words; None if
    no event says it.
    """
    keys = [
        (str(account.get("id")), str(account.get("status")))
        for account in snapshot.relevant
    ]
    return (
        "; ".join(dict.fromkeys(reasons[key] for key in keys if key in reasons)) or None
    )


_DTYPES = columns(
    "client_user_id whose_move what_to_do kyc_status agreement_status compliant"
    " account_statuses reason since_utc checked_at_utc error",
    boolean="compliant",
    time="since_utc checked_at_utc",
)
"""Columns and their dtypes."""

_SAME = ("kyc_status", "agreement_status", "compliant", "account_statuses")
"""Columns that are equal in two frames if nothing happened to a payer in between."""


@without_internal_frames
def payer_statuses(
    client: Client,
    ids: Iterable[str],
    *,
    previous: pd.DataFrame | None = None,
    events: pd.DataFrame | None = None,
    progress: bool = True,
    reveal: bool = False,
) -> pd.DataFrame:
    """Return where each payer stands, whose move it is, and what to do.

    Two requests per payer: `get_payer_status`, which is beyond the specification, and
    the list of accounts. Nothing is changed. `frame[frame["whose_move"] == "payer"]`
    are the payers who have to do something themselves.

    Args:
        client: From `connect()` or `sandbox()`.
        ids: Client user ids, such as a column; duplicates are requested once.
        previous: An earlier result for the same payers, perhaps of last week, for
            `since_utc`. If ids are e-mail addresses, both with `reveal=True`.
        events: From `read_events`, for `reason`; this is beyond the specification.
        progress: Show a progress bar.
        reveal: Show ids that are e-mail addresses, which are masked otherwise.

    Returns:
        One row per payer, in the order of the ids. Columns: `client_user_id`;
        `whose_move`: payer, payee, you, service or nobody; `what_to_do`; `kyc_status`
        and `agreement_status`; `compliant` (boolean), derived from these two if the
        service does not say it, and missing if the service says it of a payer whom it
        has refused; `account_statuses`, such as "1 approved, 1 pending"; `reason`, why
        an account was rejected, which only `events` say; `since_utc`, if `previous` has
        the same statuses, the time from which they are known to hold; `checked_at_utc`;
        `error`, why a payer could not be read. Text has dtype `string`, times are in
        UTC. It is nobody's move if an account failed that another one replaces: one in
        the same currency with the same holder or number that has not failed.

    Raises:
        InvalidInput: For ids that cannot be sent, options out of range, and anything
            but such a frame as `previous` or `events`. Nothing was sent.
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
    client.check_confirmed()
    earlier = _check_previous(previous)
    reasons = rejection_reasons(events)
    limiter = RateLimiter(client.pace)
    snapshots = take_snapshots(client, distinct_ids(ids), limiter, progress=progress)
    if limiter.stop.is_interrupted:
        raise KeyboardInterrupt
    frame = snapshots_frame(snapshots, reasons, reveal=reveal is True)
    if earlier is not None:
        frame["since_utc"] = _unchanged_since(frame, earlier)
    return frame


def snapshots_frame(
    snapshots: Mapping[str, Snapshot], reasons: Reasons, *, reveal: bool
) -> pd.DataFrame:
    """Return snapshots by client user id as `payer_statuses` returns them."""
    rows = (
        _row(client_user_id, snapshot, reasons, reveal=reveal)
        for client_user_id, snapshot in snapshots.items()
    )
    return frame_of(rows, _DTYPES)


def _row(
    client_user_id: str, snapshot: Snapshot, reasons: Reasons, *, reveal: bool
) -> dict[str, Any]:
    reason = _reason(snapshot, reasons)
    if not reveal:
        client_user_id = mask("clientUserId", client_user_id)
        reason = mask("rejectionMessage", reason)  # the events may be revealed
    row: dict[str, Any] = {
        "client_user_id": client_user_id,
        "compliant": snapshot.compliant,
        "account_statuses": snapshot.account_statuses,
        "whose_move": snapshot.explanation.whose_move,
        "what_to_do": snapshot.explanation.what_to_do,
        "reason": reason,
        "checked_at_utc": snapshot.checked_at,
        "error": snapshot.problem or None,
    }
    if snapshot.status is not None:
        row["kyc_status"] = snapshot.status.kyc_status
        row["agreement_status"] = snapshot.status.agreement_status
    return row


def _check_previous(previous: Any) -> pd.DataFrame | None:
    """Return an earlier result, or None. Raises InvalidInput for anything else."""
    if previous is None:
        return None
    if isinstance(previous, pd.DataFrame) and set(_DTYPES) <= set(previous.columns):
        return previous
    raise InvalidInput(
        "previous: expected an earlier result of payer_statuses(), with all its"
        " columns."
    )


def _unchanged_since(table: pd.DataFrame, previous: pd.DataFrame) -> pd.Series[Any]:
    """Return since when the statuses of payers are the same, as an earlier result
    knows. It may come from a file, in which times and truth values are text.
    """
    # Nobody knows whose a masked id is.
    known = previous[previous["client_user_id"] != MASK]
    known = known.drop_duplicates("client_user_id", keep="last")
    before = known.set_index("client_user_id").reindex(table["client_user_id"])
    before = before.set_axis(table.index)
    now = table[list(_SAME)].astype("string").fillna("")
    then = before[list(_SAME)].astype("string").fillna("")
    is_same = table["kyc_status"].notna() & (now == then).all(axis="columns")
    since = read_times(before["since_utc"])
    return since.fillna(read_times(before["checked_at_utc"])).where(is_same)


def distinct_ids(ids: Iterable[str]) -> list[str]:
    """Return client user ids in their order, each once. Raises InvalidInput for one
    that cannot be sent.
    """
    expected = "ids: expected a list or a column of client user ids"
    if hasattr(ids, "columns"):
        advice = 'Give its column: table["client_user_id"].'
        raise InvalidInput(f"{expected}, got {kind_of(ids)}. {advice}")
    if isinstance(ids, str | bytes | Mapping) or not isinstance(ids, Iterable):
        raise InvalidInput(f"{expected}, got {kind_of(ids)}.")
    return list(dict.fromkeys(check_id(each, "ids") for each in ids))
