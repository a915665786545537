"""Read the statuses and accounts of many payers: who is stuck, whose move it is, since when; wait until they pass."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final, Literal, Self, get_args

import pandas as pd

from payerkit import html
from payerkit.checks.schema import MASK
from payerkit.client.client import Client, check_client
from payerkit.client.pace import is_non_negative
from payerkit.endpoints import payer_status_call, payment_details_frame
from payerkit.errors import InterruptedRun, InvalidInput, PayerkitError, kind_of, without_internal_frames
from payerkit.events.frame import believed_events
from payerkit.explanations import Explanation, account_group, count_words, explain_payer, is_compliant
from payerkit.frames import frame_of
from payerkit.masking import holds_email, mask
from payerkit.models import PayerStatus
from payerkit.onboarding.rate_limit import Progress, RateLimiter, list_accounts, request_each, request_lists
from payerkit.wire import check_id, first, wire_name
from payerkit.wording import count_of, in_words

Accounts = Sequence[Mapping[str, Any]]
"""The accounts that the service lists for a payer."""


@dataclass(frozen=True)
class Snapshot:
    """The statuses of one payer, and of the payer's accounts, at one time.

    accounts: the listed records; None if they were not read. stopped: why the payer was not asked for. seen_since: the
    time of an earlier snapshot with the same statuses.
    """

    checked_at: datetime
    status: PayerStatus | None = None
    accounts: Accounts | None = None
    error: PayerkitError | None = None
    stopped: str = ""
    seen_since: datetime | None = None

    def after(self, earlier: Snapshot) -> Snapshot:
        """Return this snapshot with the time from which its statuses are known to hold, if an earlier one had them."""
        if self.status is None or self._statuses != earlier._statuses:
            return self
        return replace(self, seen_since=earlier.since or earlier.checked_at)

    @property
    def _statuses(self) -> tuple[Any, ...]:
        status = self.status and (self.status.kyc_status, self.status.agreement_status)
        return status, self.compliant, self.account_statuses

    @property
    def account_statuses(self) -> str | None:
        """All accounts by status, such as "1 approved, 1 pending"; None if they were not read."""
        if self.accounts is None:
            return None
        words = (record.get("status") for record in self.accounts)
        return count_words(word if isinstance(word, str) else "" for word in words)

    @cached_property
    def relevant(self) -> list[Mapping[str, Any]] | None:
        """The accounts that count: neither deactivated nor replaced; None if they were not read."""
        if self.accounts is None:
            return None
        return without_replaced([record for record in self.accounts if account_group(record.get("status")) != "off"])

    @cached_property
    def compliant(self) -> bool | None:
        """Whether the payer is compliant; None if it is not known."""
        if self.status is None:
            return None
        return is_compliant(self.status.kyc_status, self.status.agreement_status, self.status.is_compliant)

    @cached_property
    def explanation(self) -> Explanation:
        """Whose move it is, and what to do."""
        if self.status is None or (self.error is not None and self.compliant):
            advice = self.error.advice if self.error is not None else "Call again."
            return Explanation("payer", "", self.problem, "you", what_to_do=advice)
        words = None if self.relevant is None else [record.get("status") for record in self.relevant]
        status = self.status
        return explain_payer(status.kyc_status, status.agreement_status, status.is_compliant, accounts=words)

    @property
    def problem(self) -> str:
        """Why the payer, or the payer's accounts, could not be read; "" if they were."""
        return self.stopped if self.error is None else self.error.message

    @property
    def groups(self) -> Counter[str]:
        """How many of the accounts that count are approved, open and failed."""
        return Counter(account_group(record.get("status")) for record in self.relevant or ())

    @property
    def since(self) -> datetime | None:
        """The time from which the statuses are known to hold: since an earlier snapshot, or as the service says.

        Once the payer is compliant, the accounts count, too.
        """
        records: list[Mapping[str, Any]] = [self.status.to_dict(reveal=True)] if self.status is not None else []
        if self.compliant:
            records += self.relevant or ()
        times = [time for record in records if (time := _changed_at(record)) is not None and time <= self.checked_at]
        return min([*([max(times)] if times else []), *([self.seen_since] if self.seen_since else [])], default=None)


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
    """Return what tells that two accounts are meant for the same payee: holder or number, each with the currency."""
    fields = {wire_name(name): _compact(value) for name, value in record.items() if isinstance(value, str)}
    numbers = (fields.get(name, "") for name in ("iban", "accountNumber", "ribNumber"))
    marks = [fields.get("accountName", ""), *(number for number in numbers if len(number) >= 8)]  # not "••••1234"
    return {(fields.get("currency", ""), mark) for mark in marks if mark}


def _compact(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


_CHANGED = ("statusUpdatedAt", "updatedAt")
"""Wire names under which services say when a status changed. Not `timestamp`, which may be that of the response."""


def _changed_at(record: Mapping[str, Any]) -> datetime | None:
    """Return when a record changed, from ISO 8601 text or Unix seconds or milliseconds; None if it does not say."""
    inner = record.get("status")
    fields = {wire_name(name): value for name, value in record.items()}
    fields |= {wire_name(name): value for name, value in inner.items()} if isinstance(inner, dict) else {}
    value = first(fields, *_CHANGED)
    with suppress(ValueError, OverflowError, OSError):
        if isinstance(value, str):
            time = datetime.fromisoformat(value.strip())
            return time if time.tzinfo else time.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    return None


_ABOUT = {
    "compliance.updated": ("client_user_id", ("kyc_status", "agreement_status", "is_compliant")),
    "payment_detail.updated": ("payment_details_id", ("status",)),
}
"""The events about statuses: the column that says whose they are, and those that say what they are."""

_TEXTS = ("event", "client_user_id", "payment_details_id", "kyc_status", "agreement_status", "status", "reason")
_TIMES = ("timestamp", "received_at")
_NEEDED = (*_TEXTS, "is_compliant", *_TIMES)


@dataclass(frozen=True, slots=True)
class StatusReport:
    """What one event says of a payer or an account. states: None for what it does not say. at: when, if known."""

    states: tuple[Any, ...]
    at: datetime | None
    reason: str | None

    def says(self, states: Sequence[Any]) -> bool:
        """Return True if the event says nothing else than these states."""
        return all(said is None or said == state for said, state in zip(self.states, states, strict=True))


@dataclass(frozen=True)
class PayerEvents:
    """What events say, in the order in which they happened, by column and id of the payer or account."""

    reports: Mapping[tuple[str, str], Sequence[StatusReport]]

    @classmethod
    def read(cls, events: Any) -> Self:
        """Return what a frame of events says, nothing for None. Raises InvalidInput for anything else.

        Tests, and events whose signature does not match, say nothing.
        """
        reports: dict[tuple[str, str], list[StatusReport]] = {}
        for row in () if events is None else _events_by_time(believed_events(events, _NEEDED)):
            name, columns = _ABOUT.get(row["event"], ("", ()))
            if name and row[name]:
                states, at = tuple(row[each] for each in columns), row["timestamp"] or row["received_at"]
                reports.setdefault((name, row[name]), []).append(StatusReport(states, at, row["reason"]))
        return cls(reports)

    def require_ids(self, ids: Iterable[str]) -> None:
        """Raise InvalidInput if the events of these payers cannot be found, since their ids are masked."""
        if ("client_user_id", MASK) in self.reports and any(map(holds_email, ids)):
            raise InvalidInput(
                "events: ids that are e-mail addresses are masked in it. Read the events with reveal=True; the result "
                "masks them again."
            )

    def since(self, client_user_id: str, snapshot: Snapshot) -> datetime | None:
        """Return since when the statuses of a payer hold, as far as events say it of all of them.

        Once the payer is compliant, the accounts count, too.
        """
        runs = [self._of_payer(client_user_id, snapshot), *(self._of_accounts(snapshot) if snapshot.compliant else ())]
        times = [min((report.at for report in run if report.at is not None), default=None) for run in runs]
        known = [time for time in times if time is not None and time <= snapshot.checked_at]
        return max(known) if len(known) == len(times) else None

    def reason(self, client_user_id: str, snapshot: Snapshot) -> str | None:
        """Return why the payer or an account does not pass, in the service's words; None if no event says it."""
        runs = [self._of_payer(client_user_id, snapshot), *self._of_accounts(snapshot)]
        return "; ".join(dict.fromkeys(run[-1].reason for run in runs if run and run[-1].reason)) or None

    def _of_payer(self, client_user_id: str, snapshot: Snapshot) -> Sequence[StatusReport]:
        """Return the events since the payer's statuses changed last."""
        if snapshot.status is None:
            return ()
        states = (snapshot.status.kyc_status, snapshot.status.agreement_status, snapshot.compliant)
        return _last_run(self.reports.get(("client_user_id", client_user_id), ()), states)

    def _of_accounts(self, snapshot: Snapshot) -> Iterable[Sequence[StatusReport]]:
        """Yield the events since the last change of each account that counts."""
        for record in snapshot.relevant or ():
            said = self.reports.get(("payment_details_id", str(record.get("id"))), ())
            yield _last_run(said, (record.get("status"),))


def _last_run(reports: Sequence[StatusReport], states: Sequence[Any]) -> Sequence[StatusReport]:
    """Return the last events, as long as they say what holds now; none if the very last one says something else."""
    count = next((place for place, report in enumerate(reversed(reports)) if not report.says(states)), len(reports))
    return reports[len(reports) - count :]


def _events_by_time(events: pd.DataFrame) -> Iterable[dict[str, Any]]:
    """Return the events by time; the frame may come from a file, in which all is text."""
    columns: dict[str, Any] = {name: events[name].astype("string") for name in _TEXTS}
    columns["is_compliant"] = events["is_compliant"].astype("string").str.lower().map({"true": True, "false": False})
    for name in _TIMES:
        columns[name] = pd.to_datetime(events[name].astype("string"), utc=True, errors="coerce", format="ISO8601")
    table = pd.DataFrame(columns, index=events.index)
    order = table["timestamp"].fillna(table["received_at"]).sort_values(kind="stable").index
    table = table.astype(object).where(table.notna(), None)
    return table.loc[order].to_dict("records")  # type: ignore[return-value]  # its names are text


_TIME: Final = "datetime64[ns, UTC]"

_DTYPES = {
    **dict.fromkeys(("client_user_id", "kyc_status", "agreement_status"), "string"),
    "compliant": "boolean",
    **dict.fromkeys(("accounts", "accounts_approved", "accounts_open", "accounts_failed"), "Int64"),
    **dict.fromkeys(("account_statuses", "whose_move", "what_to_do", "reason"), "string"),
    **dict.fromkeys(("since", "checked_at"), _TIME),
    **dict.fromkeys(("error", "payer_key"), "string"),
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
        workers: Calls at the same time, 1 to 32.
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
    if not isinstance(accounts, bool):
        raise InvalidInput("accounts: expected True or False.")
    known, said, wanted = earlier_times(previous), PayerEvents.read(events), distinct_ids(ids)
    said.require_ids(wanted)
    limiter = RateLimiter(client.pace, rate=rate, workers=workers)
    found = take_snapshots(client, wanted, limiter, accounts=accounts, progress=progress)
    if limiter.stop.is_interrupted:
        raise KeyboardInterrupt
    return with_earlier_times(snapshots_frame(found, client.account_secret, said, reveal=reveal is True), known)


def snapshots_frame(
    found: Mapping[str, Snapshot], secret: bytes, said: PayerEvents | None = None, *, reveal: bool
) -> pd.DataFrame:
    """Return snapshots by client user id as `payer_statuses` returns them. said: what events say of the payers."""
    said = said or PayerEvents.read(None)
    rows = (_row(client_user_id, snapshot, secret, said, reveal=reveal) for client_user_id, snapshot in found.items())
    return frame_of(rows, _DTYPES)


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


@without_internal_frames
def list_many(
    client: Client,
    ids: Iterable[str],
    *,
    workers: int = 32,
    rate: float | None = None,
    progress: bool = True,
    reveal: bool = False,
) -> pd.DataFrame:
    """Return the bank accounts of many payers in one DataFrame.

    Args:
        client: From `connect()` or `sandbox()`.
        ids: Client user ids, such as a column; duplicates are requested once.
        workers: Calls at the same time, 1 to 32.
        rate: Calls per second, at most, no more than `client.pace.rate`; None for that rate.
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
    limiter = RateLimiter(client.pace, rate=rate, workers=workers)
    results = request_lists(client, distinct_ids(ids), limiter, progress=progress)
    return accounts_frame(results, client.account_secret, reveal=reveal is True)


def distinct_ids(ids: Iterable[str]) -> list[str]:
    """Return client user ids in their order, each once. Raises InvalidInput for one that cannot be sent."""
    if isinstance(ids, str | bytes | Mapping) or hasattr(ids, "columns") or not isinstance(ids, Iterable):
        raise InvalidInput(f"ids: expected a list or a column of client user ids, got {kind_of(ids)}.")
    return list(dict.fromkeys(check_id(each, "ids") for each in ids))


def accounts_frame(results: Mapping[str, Accounts | str], secret: bytes, *, reveal: bool) -> pd.DataFrame:
    """Return the results of `request_lists` as `list_many` returns them."""
    rows: list[tuple[str, str | None, Mapping[str, Any]]] = []
    for client_user_id, result in results.items():
        shown = client_user_id if reveal else mask("clientUserId", client_user_id)
        rows += [(shown, result, {})] if isinstance(result, str) else [(shown, None, record) for record in result]
    frame = payment_details_frame([record for _, _, record in rows], secret=secret, reveal=reveal)
    # Undocumented fields of the service become columns; these two names are ours.
    frame = frame.drop(columns=["client_user_id", "error"], errors="ignore")
    frame.insert(0, "client_user_id", pd.Series([payer for payer, _, _ in rows], dtype="string"))
    return frame.assign(error=pd.array([error for _, error, _ in rows], dtype="string"))


# Waiting

Until = Literal["compliant", "approved"]
WaitState = Literal["reached", "final", "waiting", "unread"]

_STATES: tuple[WaitState, ...] = get_args(WaitState)
_SHOWN_ROWS = 20


class WaitReport:
    """What waiting for payers came to. `str()` and a notebook show a summary.

    Attributes:
        frame: The last result of `payer_statuses` for each payer, with accounts only if it was waited for them, and
            `state` (string): reached; final (waiting does not help, see `what_to_do`); waiting (not there yet when the
            wait ended); unread (see `error`).
        until: What was waited for: "compliant" or "approved".
        seconds: How long was waited.
        stopped: Why the wait ended early; "" if it did not.

    Example:
        >>> report = wait_for(client, ["user-123"], timeout=0, progress=False)
        >>> report
        1 payer: 1 still waiting for the payer.
        Call again to go on waiting. Who it is: frame[frame["state"] == "waiting"].
        >>> report.counts
        {'reached': 0, 'final': 0, 'waiting': 1, 'unread': 0}
    """

    def __init__(self, frame: pd.DataFrame, reasons: Counter[str], until: Until, seconds: float, stopped: str) -> None:
        self.frame = frame
        self.until = until
        self.seconds = seconds
        self.stopped = stopped
        self._reasons = reasons

    @property
    def counts(self) -> dict[str, int]:
        """The number of payers in each state; together, all payers."""
        counted = self.frame["state"].value_counts()
        return {state: int(counted.get(state, 0)) for state in _STATES}

    def _summary(self) -> str:
        found = ", ".join(f"{count} {reason}" for reason, count in self._reasons.items())
        return f"{count_of(len(self.frame), 'payer')}: {found or 'nothing to wait for'}."

    def _advice(self) -> list[str]:
        waiting = 'Call again to go on waiting. Who it is: frame[frame["state"] == "waiting"].'
        final = 'Waiting does not help the others: see what_to_do in frame[frame["state"] == "final"].'
        return [
            *([f"The wait ended early: {self.stopped}"] if self.stopped else []),
            *([waiting] if self.counts["waiting"] else []),
            *([final] if self.counts["final"] else []),
            *(['Not read: see frame["error"].'] if self.counts["unread"] else []),
        ]

    def __str__(self) -> str:
        return "\n".join([self._summary(), *self._advice()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        not_there = self.frame[self.frame["state"] != "reached"]
        open_rows = not_there.head(_SHOWN_ROWS)
        names = ["client_user_id", "state", "kyc_status", "agreement_status", "account_statuses"]
        columns = [*names, "whose_move", "what_to_do"]
        cells = open_rows[columns].astype(object).where(open_rows[columns].notna(), None).to_numpy().tolist()
        head = [in_words(name) for name in columns]
        more = "" if len(open_rows) == len(not_there) else f" (the first {_SHOWN_ROWS})"
        table = html.grid(head, cells, caption=f"Not {self.until}{more}") if cells else ""
        advice = "".join(f"<div>{html.escape(line)}</div>" for line in self._advice())
        return html.picture(html.title(self._summary()), advice, table)


@without_internal_frames
def wait_for(  # noqa: PLR0913 - the options of a run, each by name
    client: Client,
    ids: Iterable[str],
    until: Until = "compliant",
    *,
    every: float = 30.0,
    timeout: float | None = 3600.0,
    previous: pd.DataFrame | None = None,
    workers: int = 32,
    rate: float | None = None,
    progress: bool = True,
    reveal: bool = False,
) -> WaitReport:
    """Wait until payers are compliant, or their accounts approved, and report who is.

    It looks at once, and then asks again only for payers who are not there yet and whom waiting can help: a rejected
    payer is reported, not waited for.

    Args:
        client: From `connect()` or `sandbox()`.
        ids: Client user ids, such as a column; duplicates are waited for once.
        until: "compliant": the payer may pay. "approved": the payer is compliant and has an account, and all accounts
            that count are approved (`payer_statuses` says which do).
        every: Seconds between two snapshots, 1 or more.
        timeout: Seconds until the wait ends, 0 for one look; None to wait as long as it takes.
        previous: An earlier result of `payer_statuses` for the same payers, from which `since` is taken over.
        workers: Calls at the same time, 1 to 32.
        rate: Calls per second, at most, no more than `client.pace.rate`; None for that rate.
        progress: Show a line with who is waited for.
        reveal: Show ids that are e-mail addresses, which are masked otherwise.

    Returns:
        A `WaitReport`, whose `frame` has one row per payer.

    Raises:
        InvalidInput: For ids that cannot be sent and options out of range. Nothing was sent.
        InterruptedRun: After Ctrl+C, with the report so far as `report`. Nothing was changed.

    Example:
        >>> client.sandbox.complete_kyc("user-123")
        >>> wait_for(client, ["user-123"], until="approved", progress=False)
        1 payer: 1 approved.
    """
    check_client(client)
    limiter = RateLimiter(client.pace, rate=rate, workers=workers)
    if until not in get_args(Until):
        raise InvalidInput('until: expected "compliant" or "approved".')
    if not (is_non_negative(every) and every >= 1):
        raise InvalidInput("every: expected a number of seconds, 1 or more.")
    if timeout is not None and not is_non_negative(timeout):
        raise InvalidInput("timeout: expected a number of seconds, 0 or more, or None.")
    known = earlier_times(previous)
    wait = _Wait(client, distinct_ids(ids), until, limiter)
    with Progress(shown=progress, where=client.environment) as bar:
        bar.begin("payer", len(wait.ids))
        try:
            wait.go(float(every), timeout, bar)
        except KeyboardInterrupt:  # between two looks
            wait.stop.interrupt()
    report = wait.report(known, reveal=reveal is True)
    if wait.stop.is_interrupted:
        raise InterruptedRun(str(report), report=report, advice="Nothing was changed. Call again to go on waiting.")
    return report


class _Wait:
    """Looks at payers again and again, each time only at those whom waiting can help."""

    def __init__(self, client: Client, ids: list[str], until: Until, limiter: RateLimiter) -> None:
        self.ids, self.until, self.stop = ids, until, limiter.stop
        self.seconds = 0.0
        self._client, self._limiter = client, limiter
        self._snapshots: dict[str, Snapshot] = {}

    def go(self, every: float, timeout: float | None, bar: Progress) -> None:
        """Look until all payers are there or cannot get there, the time is over, or the run is stopped."""
        pending = self._look(self.ids)
        while pending and not self.stop:
            moves = Counter(self._snapshots[each].explanation.whose_move for each in pending)
            waiting = ", ".join(f"{count} for {move}" for move, count in moves.most_common())
            bar.draw(len(self.ids) - len(pending), f"waiting: {waiting}")
            left = every if timeout is None else min(every, timeout - self.seconds)
            if left <= 0:
                return
            self._client.sleep(left)
            # Counted as asked for: no time passes here on a sandbox's clock that is turned by hand.
            self.seconds += left
            pending = self._look(pending)
        bar.draw(len(self.ids) - len(pending))

    def _look(self, ids: list[str]) -> list[str]:
        """Read the statuses of some payers; return the payers to read again later."""
        started = time.monotonic()
        with_accounts = self.until == "approved"
        found = take_snapshots(self._client, ids, self._limiter, accounts=with_accounts)
        for client_user_id, snapshot in found.items():
            earlier = self._snapshots.get(client_user_id)
            if earlier is None:
                self._snapshots[client_user_id] = snapshot
            elif not snapshot.stopped:  # else it was not looked at: what was read before stands
                self._snapshots[client_user_id] = snapshot.after(earlier)
        self.seconds += time.monotonic() - started
        return [each for each in ids if self._may_get_there(self._snapshots[each])]

    def _may_get_there(self, snapshot: Snapshot) -> bool:
        state = state_of(snapshot, self.until)
        return state == "waiting" or (state == "unread" and snapshot.error is not None and snapshot.error.retryable)

    def report(self, known: pd.DataFrame, *, reveal: bool) -> WaitReport:
        """Return the report. known: of earlier times, from `previous`."""
        unread = Snapshot(datetime.now(UTC), stopped=self.stop.reason)
        snapshots = {each: self._snapshots.get(each, unread) for each in self.ids}
        states = {each: state_of(snapshot, self.until) for each, snapshot in snapshots.items()}
        ordered = sorted(states.items(), key=lambda state: _STATES.index(state[1]))
        reasons = Counter(_reason(snapshots[each], state, self.until) for each, state in ordered)
        frame = with_earlier_times(snapshots_frame(snapshots, self._client.account_secret, reveal=reveal), known)
        frame = frame.assign(state=pd.array(list(states.values()), dtype="string"))
        return WaitReport(frame, reasons, self.until, self.seconds, self.stop.reason)


def state_of(snapshot: Snapshot, until: Until) -> WaitState:
    """Return whether a payer is there, may get there by waiting, or cannot."""
    found = snapshot.explanation
    if snapshot.status is None or (until == "approved" and snapshot.compliant and snapshot.accounts is None):
        return "unread"
    if snapshot.compliant and (until == "compliant" or found.is_passed):
        return "reached"
    return "final" if found.final else "waiting"


def _reason(snapshot: Snapshot, state: WaitState, until: Until) -> str:
    """Return the words of a summary that say where a payer stands."""
    if state == "reached":
        return until
    if state == "unread":
        return "not read"
    if state == "waiting":
        move = snapshot.explanation.whose_move
        return f"still waiting for {'you' if move == 'you' else f'the {move}'}"
    refused = next((part.of for part in snapshot.explanation.parts if part.final and not part.is_passed), "")
    return _REFUSED[refused]


_REFUSED = {
    "kyc": "rejected",
    "agreement": "without an agreement",
    "account": "with a failed bank account",
    "": "without a bank account",
}
"""What keeps a payer from getting there, by what has a final status."""
