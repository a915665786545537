"""Run a task for many items in a few threads, with a clean end for errors and interrupts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import chain, islice
from typing import Any, TypeVar

from payerkit.bulk.rate_limit import RunStopped, StopSignal
from payerkit.reasons import Outcome

T = TypeVar("T")

_TICK = 0.1
_END: Any = object()

INTERRUPTED = Outcome("interrupted")
_INTERNAL_ERROR = Outcome("internal_error")


def run_workers(
    task: Callable[[T], None],
    items: Iterable[T],
    *,
    workers: int,
    stop: StopSignal,
    on_tick: Callable[[], None] = lambda: None,
) -> None:
    """Run the task for every item, in as many threads as there are workers, until the run is stopped.

    For fewer items there are fewer threads; more of them are taken as they are needed. on_tick: called in this thread
    every 0.1 s. After an interrupt no item is begun, and the calls under way end by themselves; after a second
    interrupt they are abandoned. Raises what the task raises, but for RunStopped.
    """
    taken = iter(items)
    first = list(islice(taken, workers))
    remaining, next_item = chain(first, taken), threading.Lock()
    errors: list[Exception] = []
    begun: list[threading.Event] = []

    def worker(ended: threading.Event) -> None:
        begun.append(ended)
        try:
            while not stop:
                with next_item:  # a generator must not be advanced by two threads at once
                    item = next(remaining, _END)
                if item is _END:
                    return
                with suppress(RunStopped):
                    task(item)
        except Exception as error:  # noqa: BLE001 - raised again in the waiting thread
            errors.append(error)
            stop.set(_INTERNAL_ERROR)
        finally:
            ended.set()

    # Daemons: after a second interrupt Python must be able to exit while a call still waits for its response.
    ends = [threading.Event() for _ in first]
    threads = [threading.Thread(target=worker, args=[ended], daemon=True) for ended in ends]
    try:
        for thread in threads:
            thread.start()
        _wait(ends, on_tick)
    except KeyboardInterrupt:
        stop.set(INTERRUPTED)  # a worker that begins from now on ends at once
        with suppress(KeyboardInterrupt):  # the second one: calls under way stand in the journal as sent
            _wait(begun, on_tick)
    except BaseException:
        stop.set(_INTERNAL_ERROR)
        _wait(begun, lambda: None)  # the workers use the client and the journal, which the caller closes next
        raise
    if errors:
        raise errors[0]


def _wait(ends: list[threading.Event], on_tick: Callable[[], None]) -> None:
    """Wait until all workers have ended.

    Not with `Thread.join`: interrupted, it takes a thread that still runs for one that has ended (Python 3.11).
    """
    for ended in ends:
        while not ended.wait(_TICK):
            on_tick()
