"""Make the calls of a run in a few threads, at the client's pace; retry them, and stop
where going on is useless.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import TypeVar

from payerkit.client.client import Client
from payerkit.client.pace import Pace, Retries
from payerkit.errors import (
    NotFound,
    NotSent,
    PayerkitError,
    RateLimited,
    Refused,
    ServiceError,
    UnknownOutcome,
    WrongKey,
)
from payerkit.reasons import Outcome
from payerkit.runs.match import AccountList, account_list_call
from payerkit.runs.options import MAX_WORKERS
from payerkit.runs.progress import Progress

T = TypeVar("T")

RUN_RETRIES = Retries(attempts=6)
"""Tries of one call in a run; a `Retry-After` holds back all calls of the client."""

MAX_RATE_LIMITED = 8
"""429 in a row that do not say how long to wait, two pauses of five minutes among them;
then the run ends.
"""

LONGEST_WAIT = 3600.0
"""Seconds; if the service requests a longer wait, the run ends."""

MAX_FAILING = 10
"""Calls in a row that never left this machine, or got no usable answer of the service;
then the run ends.
"""

MAX_FORBIDDEN = 3
"""Responses 403 before anything is accepted; then it is the key, and the run ends."""

MAX_FOREIGN = 5
"""Refusals in a row that are not the API's; then the run ends."""

_FAILING = "failing"
_FORBIDDEN = "forbidden"
"""What is counted: calls in a row that the service did not answer, and responses 403;
also, in a row, those that are not the API's, by the kind of call, and equal refusals.
"""


class RunStopped(Exception):  # noqa: N818 - not an error: it ends a call whose turn never came
    """Raised where a call would be made after the run was stopped."""


class StopSignal:
    """Stops a run early, and keeps the first reason."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self.outcome: Outcome | None = None

    @property
    def reason(self) -> str:
        """Why the run was stopped, in words; "" if it was not."""
        return self.outcome.text if self.outcome else ""

    @property
    def is_interrupted(self) -> bool:
        """True if the user stopped the run."""
        return self.outcome is not None and self.outcome.code == "interrupted"

    def __bool__(self) -> bool:
        return self._event.is_set()

    def set(self, outcome: Outcome) -> None:
        """Stop the run."""
        with (
            self._lock
        ):  # the first reason counts: what fails after a stop often fails because of it
            self.outcome = self.outcome or outcome
            self._event.set()

    def interrupt(self) -> None:
        """Stop the run since the user wants it."""
        self.set(Outcome("interrupted"))

    def wait(self, seconds: float) -> bool:
        """Wait; return True, at once, if the run is stopped, as `threading.Event.wait`
        does.
        """
        return self._event.wait(seconds)


class RateLimiter:
    """Make the calls of a run at the client's pace, and stop the run if going on is
    useless.

    wait: waits some seconds, and returns True if the run was stopped meanwhile; another
    one for tests.
    """

    def __init__(
        self,
        pace: Pace,
        stop: StopSignal | None = None,
        *,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self.stop = StopSignal() if stop is None else stop
        self.workers = MAX_WORKERS
        self.clock = pace.clock
        self._pace = pace
        self.pause = wait or self.stop.wait
        """Waits some seconds, such as between two looks at what is due; returns True if
        the run was stopped.
        """
        self._lock = threading.Lock()
        self._times: Counter[Hashable] = Counter()
        self._accepted = False

    def call(
        self, make: Callable[[], T], *, kind: str = "", idempotent: bool = False
    ) -> T:
        """Make a call when its turn comes, and again as often as the retry policy
        allows; return its result.

        kind: of the call, by which failures are counted; "" for one that not every
        service has, where refusals that are not the API's do not stop the run.
        idempotent: a write that may be repeated. Raises the PayerkitError of the last
        attempt, or RunStopped if the run is stopped before an attempt.
        """
        attempt = 0
        while True:
            attempt += 1
            started = self._wait_turn()
            try:
                result = make()
            except PayerkitError as error:
                self._pace.record(error, started)
                self._record_error(error, kind)
                wait = self._wait_before_retry(error, attempt, idempotent=idempotent)
                if wait is None or self.pause(wait):
                    raise
            else:
                self._pace.record(None, started)
                self._record_response(kind, accepted=True)
                return result

    @staticmethod
    def _wait_before_retry(
        error: PayerkitError, attempt: int, *, idempotent: bool
    ) -> float | None:
        """Return the seconds until a call is tried again, None if it is not.

        Where all calls are paused, this one need not wait here: it, too, waits for its
        turn.
        """
        if isinstance(error, RateLimited) and error.retry_after is None:
            return 0.0 if attempt < MAX_RATE_LIMITED else None
        if not RUN_RETRIES.allow(error, attempt, idempotent=idempotent):
            return None
        if error.retry_after is not None:
            return 0.0
        return RUN_RETRIES.wait_after(error, attempt)

    def is_forbidden(self, error: PayerkitError) -> bool:
        """Return True if the service forbids this one call, with a key that it accepts
        for others.

        Not if the response broke off: the reason may have been one that ends by itself.
        Nor if it is a gateway's.
        """
        is_whole = (
            isinstance(error, WrongKey) and not error.retryable and not error.foreign
        )
        return is_whole and error.status_code == HTTPStatus.FORBIDDEN and self._accepted

    def _wait_turn(self) -> float:
        """Wait until a call may leave, and return that time. Raises RunStopped if the
        run is stopped meanwhile.
        """
        try:
            departed = self._pace.wait_turn(self.pause, longest=LONGEST_WAIT)
        except RateLimited as error:  # by another call of the client, before the run
            self.stop.set(outcome_of(error))
        if self.stop:
            raise RunStopped
        return departed

    def _record_response(self, kind: str, *, accepted: bool = False) -> None:
        """Forget what was counted in a row: the service answered a call of a kind."""
        with self._lock:
            self._times[_FAILING] = 0
            self._times[kind] = 0
            self._accepted = self._accepted or accepted

    def _record_error(self, error: PayerkitError, kind: str) -> None:
        """Count an error, and stop the run if going on is useless."""
        cause = outcome_of(error)
        if isinstance(error, NotSent | ServiceError | UnknownOutcome):
            self._stop_after(_FAILING, MAX_FAILING, "failing", cause)
        elif is_foreign(error):
            if kind:
                self._stop_after(kind, MAX_FOREIGN, "not_the_api", cause)
        elif isinstance(error, Refused):
            self._record_response(kind)
        if isinstance(error, WrongKey) and not is_foreign(error):
            # It is the key at the first 401, or after some 403 before any call was
            # accepted.
            is_key = self._count(_FORBIDDEN) >= MAX_FORBIDDEN and not self._accepted
            if is_key or error.status_code != HTTPStatus.FORBIDDEN:
                self.stop.set(
                    Outcome("key_refused", {"cause": cause, "advice": error.advice})
                )
        elif (error.retry_after or 0.0) > LONGEST_WAIT:
            self.stop.set(Outcome("asked_to_wait", {"cause": cause}))
        elif self._pace.refusals >= MAX_RATE_LIMITED:
            self.stop.set(Outcome("too_frequent", {"times": MAX_RATE_LIMITED}))

    def _stop_after(self, what: str, times: int, code: str, cause: Outcome) -> None:
        """Count an error, and stop the run if it came so many times in a row."""
        if self._count(what) >= times:
            self.stop.set(Outcome(code, {"times": times, "cause": cause}))

    def count_refusal(
        self, error: Refused, reason: Outcome, stop_after: int | None
    ) -> None:
        """Count a row that was refused, and stop the run at `stop_after` equal
        refusals, if it is a number.

        reason: without the payer's data.
        """
        times = self._count((error.status_code, error.code, repr(reason)))
        if stop_after is not None and times >= stop_after:
            self.stop.set(Outcome("equal_refusals", {"times": times, "cause": reason}))

    def _count(self, what: Hashable) -> int:
        """Count one more occurrence; return how many there are."""
        with self._lock:
            self._times[what] += 1
            return self._times[what]


def outcome_of(error: PayerkitError) -> Outcome:
    """Return why a call failed."""
    return error.outcome or Outcome("error", {"message": error.message})


def is_foreign(error: PayerkitError) -> bool:
    """Return True for a refusal that is not the API's: a gateway's page, a redirect.

    False for a refusal that ends the run or is retried anyway, and for one that was cut
    off, whose sender is not known.
    """
    is_of_another = isinstance(error, Refused) and error.foreign
    return (
        is_of_another
        and not error.retryable
        and error.status_code != HTTPStatus.UNAUTHORIZED
    )


_TICK = 0.1
"""Seconds between two looks at the progress of workers."""

_INTERNAL_ERROR = Outcome("internal_error")


def run_workers(
    task: Callable[[T], None],
    items: Sequence[T],
    *,
    workers: int,
    stop: StopSignal,
    on_tick: Callable[[], None] = lambda: None,
) -> None:
    """Run the task for every item, in as many threads as there are workers, until the
    run is stopped.

    on_tick: called in this thread every 0.1 s. After an interrupt no item is begun, and
    the calls under way end by themselves. Raises the errors of the task, except
    RunStopped.
    """

    def work(item: T) -> None:
        if stop:
            return
        try:
            with suppress(RunStopped):
                task(item)
        except Exception:
            stop.set(_INTERNAL_ERROR)
            raise

    with ThreadPoolExecutor(workers) as pool:
        calls: list[Future[None]] = []
        try:
            for item in items:
                calls.append(pool.submit(work, item))
            _wait(calls, on_tick)
        except KeyboardInterrupt:
            stop.interrupt()
            _wait(calls, on_tick)
        except BaseException:
            stop.set(_INTERNAL_ERROR)
            raise


def _wait(calls: Sequence[Future[None]], on_tick: Callable[[], None]) -> None:
    """Wait until all calls have ended. Raises the first of their errors."""
    for each in calls:
        while not each.done():
            wait([each], timeout=_TICK)
            on_tick()
        each.result()
    on_tick()


def request_each(
    client: Client,
    ids: Sequence[str],
    request: Callable[[Client, str], tuple[T, bool]],
    limiter: RateLimiter,
    *,
    progress: bool,
) -> dict[str, T]:
    """Return what is requested about each payer, with a progress bar; the limiter knows
    why it ended early.

    request: from a client that does not retry and a client user id, returns a result
    and whether it is complete.
    """
    results: dict[str, T] = {}
    own = client.without_retries()
    with Progress(shown=progress, where=client.environment) as bar:

        def task(client_user_id: str) -> None:
            results[client_user_id], is_complete = request(own, client_user_id)
            bar.count("read" if is_complete else "not_read")

        bar.begin("payer", len(ids))
        run_workers(
            task, ids, workers=limiter.workers, stop=limiter.stop, on_tick=bar.show
        )
    return results


def list_accounts(
    client: Client,
    limiter: RateLimiter,
    client_user_id: str,
    *,
    user_id: str = "",
    kind: str = "",
) -> AccountList:
    """Return the accounts that the service lists for a payer; none for a payer whom it
    does not know.

    user_id: the payer's id at the service, "" if it is not known. kind: as of a call.
    """
    call = account_list_call(client_user_id, user_id)
    try:
        return limiter.call(partial(client.send, call), kind=kind)
    except NotFound as error:
        if error.foreign:  # a gateway does not know whether the payer exists
            raise
        return AccountList(())
