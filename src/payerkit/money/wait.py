"""Wait until payers are compliant or their accounts approved, and report who is."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Literal, get_args

import pandas as pd

from payerkit.client.client import Client, check_client
from payerkit.client.pace import Pace, is_non_negative
from payerkit.errors import InterruptedRun, InvalidInput, without_internal_frames
from payerkit.money.statuses import (
    Snapshot,
    distinct_ids,
    snapshots_frame,
    take_snapshots,
)
from payerkit.reasons import Outcome
from payerkit.runs.limiter import RateLimiter, StopSignal
from payerkit.runs.progress import Progress
from payerkit.wording import count_of

Until = Literal["compliant", "approved"]
WaitState = Literal["reached", "final", "waiting", "unread"]

_STATES: tuple[WaitState, ...] = get_args(WaitState)
_ADVICE = {
    "waiting": (
        'Call again to go on waiting. Who it is: frame[frame["state"] == "waiting"].'
    ),
    "final": (
        'Waiting does not help the others: see what_to_do in frame[frame["state"] =='
        ' "final"].'
    ),
    "unread": 'Not read: see frame["error"].',
}


class WaitReport:
    """The result of waiting for payers. `str()` and a notebook show a summary.

    Attributes:
        frame: The last result of `payer_statuses` for each payer, with accounts only if
            it was waited for them, and `state` (string): reached; final (waiting does
            not help, see `what_to_do`); waiting (not there yet when the wait ended);
            unread (see `error`).
        stopped: Why the wait ended early; "" if it did not.

    Example:
        >>> report = wait_for(client, ["user-123"], timeout=0, progress=False)
        >>> report
        1 payer: 1 still waiting for the payer.
        Call again to go on waiting. Who it is: frame[frame["state"] == "waiting"].
        >>> report.frame["state"].tolist()
        ['waiting']
    """

    def __init__(self, frame: pd.DataFrame, summary: str, stopped: str) -> None:
        self.frame = frame
        self.stopped = stopped
        self._summary = summary

    def __str__(self) -> str:
        lines = [f"{count_of(len(self.frame), 'payer')}: {self._summary}."]
        if self.stopped:
            lines.append(f"The wait ended early: {self.stopped}")
        states = set(self.frame["state"])
        lines += [advice for state, advice in _ADVICE.items() if state in states]
        return "\n".join(lines)

    __repr__ = __str__


@without_internal_frames
def wait_for(
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

    It looks at once, and then asks again only for payers who are not there yet and whom
    waiting can help: a rejected payer is reported, not waited for.

    Args:
        client: From `connect()` or `sandbox()`.
        ids: Client user ids, such as a column; duplicates are waited for once.
        until: "compliant": the payer may pay. "approved": the payer is compliant and
            has an account, and all accounts that count are approved (`payer_statuses`
            says which do).
        every: Seconds between two snapshots, 1 or more.
        timeout: Seconds until the wait ends, 0 for one look; None to wait as long as it
            takes. A service that asks to be called later does not make it longer.
        progress: Show a line with who is waited for.
        reveal: Show ids that are e-mail addresses, which are masked otherwise.

    Returns:
        A `WaitReport`, whose `frame` has one row per payer.

    Raises:
        InvalidInput: For ids that cannot be sent and options out of range. Nothing was
            sent.
        InterruptedRun: After Ctrl+C, with the report so far as `report`. Nothing was
            changed.

    Example:
        >>> client.sandbox.complete_kyc("user-123")
        >>> wait_for(client, ["user-123"], until="approved", progress=False)
        1 payer: 1 approved.
    """
    check_client(client)
    client.check_confirmed()
    if until not in get_args(Until):
        raise InvalidInput('until: expected "compliant" or "approved".')
    if not (is_non_negative(every) and every >= 1):
        raise InvalidInput("every: expected a number of seconds, 1 or more.")
    if timeout is not None and not is_non_negative(timeout):
        raise InvalidInput("timeout: expected a number of seconds, 0 or more, or None.")
    stop = StopSignal()
    limiter = RateLimiter(
        client.pace, stop, wait=_wait_until(timeout, client.pace, stop)
    )
    wanted = distinct_ids(ids)
    snapshots: dict[str, Snapshot] = {}
    with Progress(shown=progress, where=client.environment) as bar:
        bar.begin("payer", len(wanted))

        def look(pending: list[str]) -> list[str]:
            """Read the statuses of payers, and return those to read again later."""
            found = take_snapshots(
                client, pending, limiter, accounts=until == "approved"
            )
            for client_user_id, snapshot in found.items():
                # What was read before stands if the payer was not asked for again.
                if not snapshot.stopped or client_user_id not in snapshots:
                    snapshots[client_user_id] = snapshot
            left = [each for each in pending if _may_get_there(snapshots[each], until)]
            bar.draw(len(wanted) - len(left), _moves(snapshots[each] for each in left))
            return left

        try:
            _look_again(client, wanted, look, every=every, timeout=timeout, stop=stop)
        except KeyboardInterrupt:  # between two looks
            stop.interrupt()
    unread = Snapshot(datetime.now(UTC), stopped=stop.reason)
    snapshots = {each: snapshots.get(each, unread) for each in wanted}
    report = _report(snapshots, until, stop.reason, reveal=reveal is True)
    if stop.is_interrupted:
        raise InterruptedRun(
            str(report),
            report=report,
            advice="Nothing was changed. Call again to go on waiting.",
        )
    return report


def _look_again(
    client: Client,
    pending: list[str],
    look: Callable[[list[str]], list[str]],
    *,
    every: float,
    timeout: float | None,
    stop: StopSignal,
) -> None:
    """Look until no payer is pending, the time is up, or the wait is stopped."""
    waited = 0.0
    while True:
        started = time.monotonic()
        pending = look(pending)
        waited += time.monotonic() - started
        left = every
        if timeout is not None:
            left = min(every, timeout - waited)
        if not pending or stop or left <= 0:
            return
        client.sleep(left)
        # Counted as asked for: no time passes here on a sandbox's clock that is turned
        # by hand.
        waited += left


def _wait_until(
    timeout: float | None, pace: Pace, stop: StopSignal
) -> Callable[[float], bool]:
    """Return how a call waits before it is sent or repeated: not beyond the timeout,
    which ends all, unless it only keeps the pace.
    """
    end = math.inf
    if timeout is not None:
        end = time.monotonic() + timeout

    def wait(seconds: float) -> bool:
        turn = 0.0
        if pace.rate is not None:
            turn = 1 / pace.rate
        if seconds > max(turn, end - time.monotonic()):
            stop.wait(max(0.0, end - time.monotonic()))
            stop.set(Outcome("time_over"))
        return stop.wait(seconds)

    return wait


def _moves(snapshots: Iterable[Snapshot]) -> str:
    """Return how many payers wait for whose move, such as "waiting: 2 for payer"; "" if
    none wait.
    """
    moves = Counter(snapshot.explanation.whose_move for snapshot in snapshots)
    if not moves:
        return ""
    words = [f"{count} for {move}" for move, count in moves.most_common()]
    return f"waiting: {', '.join(words)}"


def _may_get_there(snapshot: Snapshot, until: Until) -> bool:
    state, _ = _state_of(snapshot, until)
    is_to_repeat = snapshot.error is not None and snapshot.error.retryable
    return state == "waiting" or (state == "unread" and is_to_repeat)


def _report(
    snapshots: Mapping[str, Snapshot], until: Until, stopped: str, *, reveal: bool
) -> WaitReport:
    states = [_state_of(snapshot, until) for snapshot in snapshots.values()]
    ordered = sorted(states, key=lambda state: _STATES.index(state[0]))
    counts = Counter(words for _, words in ordered)
    summary = ", ".join(f"{count} {words}" for words, count in counts.items())
    frame = snapshots_frame(snapshots, {}, reveal=reveal)
    frame["state"] = pd.array([state for state, _ in states], dtype="string")
    return WaitReport(frame, summary or "nothing to wait for", stopped)


def _state_of(snapshot: Snapshot, until: Until) -> tuple[WaitState, str]:
    """Return whether a payer is there, may get there by waiting, or cannot; and the
    same in words.
    """
    found = snapshot.explanation
    if snapshot.status is None or (
        until == "approved" and snapshot.compliant and snapshot.accounts is None
    ):
        return "unread", "not read"
    if snapshot.compliant and (until == "compliant" or found.is_passed):
        return "reached", until
    if not found.final:
        who = "you" if found.whose_move == "you" else f"the {found.whose_move}"
        return "waiting", f"still waiting for {who}"
    refused = [part.of for part in found.parts if part.final and not part.is_passed]
    return "final", _REFUSED[refused[0] if refused else ""]


_REFUSED = {
    "kyc": "rejected",
    "agreement": "without an agreement",
    "account": "with a failed bank account",
    "": "without a bank account",
}
"""The words for a payer whom waiting does not help, by the thing whose status is
final.
"""
