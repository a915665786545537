"""Wait until payers are compliant or their accounts approved, and report who is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal, get_args

import pandas as pd

from payerkit.client.client import Client, check_client
from payerkit.client.pace import is_non_negative
from payerkit.errors import InterruptedRun, InvalidInput, without_internal_frames
from payerkit.onboarding.limiter import RateLimiter
from payerkit.onboarding.progress import Progress
from payerkit.statuses.statuses import Snapshot, distinct_ids, snapshots_frame, take_snapshots
from payerkit.wording import count_of

Until = Literal["compliant", "approved"]
WaitState = Literal["reached", "final", "waiting", "unread"]

_STATES: tuple[WaitState, ...] = get_args(WaitState)
_ADVICE = {
    "waiting": 'Call again to go on waiting. Who it is: frame[frame["state"] == "waiting"].',
    "final": 'Waiting does not help the others: see what_to_do in frame[frame["state"] == "final"].',
    "unread": 'Not read: see frame["error"].',
}


class WaitReport:
    """The result of waiting for payers. `str()` and a notebook show a summary.

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
        counts = self.counts
        ended = [f"The wait ended early: {self.stopped}"] if self.stopped else []
        return ended + [advice for state, advice in _ADVICE.items() if counts[state]]

    def __str__(self) -> str:
        return "\n".join([self._summary(), *self._advice()])

    __repr__ = __str__


@without_internal_frames
def wait_for(  # noqa: PLR0913 - the options of a run, each by name
    client: Client,
    ids: Iterable[str],
    until: Until = "compliant",
    *,
    every: float = 30.0,
    timeout: float | None = 3600.0,
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
    limiter = RateLimiter(client.pace)
    if until not in get_args(Until):
        raise InvalidInput('until: expected "compliant" or "approved".')
    if not (is_non_negative(every) and every >= 1):
        raise InvalidInput("every: expected a number of seconds, 1 or more.")
    if timeout is not None and not is_non_negative(timeout):
        raise InvalidInput("timeout: expected a number of seconds, 0 or more, or None.")
    wait = _Wait(client, distinct_ids(ids), until, limiter)
    with Progress(shown=progress, where=client.environment) as bar:
        bar.begin("payer", len(wait.ids))
        try:
            wait.go(float(every), timeout, bar)
        except KeyboardInterrupt:  # between two looks
            wait.stop.interrupt()
    report = wait.report(reveal=reveal is True)
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
        found = take_snapshots(self._client, ids, self._limiter, accounts=self.until == "approved")
        for client_user_id, snapshot in found.items():
            if not snapshot.stopped or client_user_id not in self._snapshots:  # else what was read before stands
                self._snapshots[client_user_id] = snapshot
        self.seconds += time.monotonic() - started
        return [each for each in ids if self._may_get_there(self._snapshots[each])]

    def _may_get_there(self, snapshot: Snapshot) -> bool:
        state, _ = _state_of(snapshot, self.until)
        return state == "waiting" or (state == "unread" and snapshot.error is not None and snapshot.error.retryable)

    def report(self, *, reveal: bool) -> WaitReport:
        """Return the report."""
        unread = Snapshot(datetime.now(UTC), stopped=self.stop.reason)
        snapshots = {each: self._snapshots.get(each, unread) for each in self.ids}
        states = [_state_of(snapshot, self.until) for snapshot in snapshots.values()]
        reasons = Counter(words for _, words in sorted(states, key=lambda each: _STATES.index(each[0])))
        frame = snapshots_frame(snapshots, self._client.account_secret, {}, reveal=reveal)
        frame["state"] = pd.array([state for state, _ in states], dtype="string")
        return WaitReport(frame, reasons, self.until, self.seconds, self.stop.reason)


def _state_of(snapshot: Snapshot, until: Until) -> tuple[WaitState, str]:
    """Return whether a payer is there, may get there by waiting, or cannot; and the same in words."""
    found = snapshot.explanation
    if snapshot.status is None or (until == "approved" and snapshot.compliant and snapshot.accounts is None):
        return "unread", "not read"
    if snapshot.compliant and (until == "compliant" or found.is_passed):
        return "reached", until
    if not found.final:
        return "waiting", f"still waiting for {'you' if found.whose_move == 'you' else f'the {found.whose_move}'}"
    return "final", _REFUSED[next((part.of for part in found.parts if part.final and not part.is_passed), "")]


_REFUSED = {
    "kyc": "rejected",
    "agreement": "without an agreement",
    "account": "with a failed bank account",
    "": "without a bank account",
}
"""The words for a payer whom waiting does not help, by the thing whose status is final."""
