"""Work on many items in some threads, with an end that is clean whoever asks for it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from payerkit.bulk.rate_limit import RunStopped, StopSignal

T = TypeVar("T")

_BEAT = 0.1
_PATIENCE = 0.1
_NO_MORE: Any = object()

INTERRUPTED = "A person interrupted it."


def each(
    work: Callable[[T], None],
    items: Iterable[T],
    *,
    workers: int,
    stop: StopSignal,
    beat: Callable[[], None] = lambda: None,
) -> None:
    """Do the work for every item, as many at a time as there are workers, until the run ends.

    Items are taken as they are needed. beat: called in this thread, again and again. After an interrupt nothing new
    is begun, and what was begun comes to its end; after a second one it is left to itself. Raises what the work
    raises, but for RunStopped.
    """
    waiting, turn = iter(items), threading.Lock()
    broken: list[Exception] = []

    def labour() -> None:
        try:
            while not stop:
                with turn:
                    item = next(waiting, _NO_MORE)
                if item is _NO_MORE:
                    return
                with suppress(RunStopped):
                    work(item)
        except Exception as error:  # noqa: BLE001 - raised again in the thread that waits
            broken.append(error)
            stop.because("payerkit made a mistake.")

    threads = [threading.Thread(target=labour, daemon=True) for _ in range(workers)]
    with _patient():
        try:
            for thread in threads:
                thread.start()
            _await(threads, beat)
        except KeyboardInterrupt:
            stop.because(INTERRUPTED)
            with suppress(KeyboardInterrupt):  # the calls under way are left; the journal has them as sent
                _await(threads, beat)
        except BaseException:
            stop.because("payerkit made a mistake.")
            _await(threads, lambda: None)  # they use what the caller closes
            raise
    if broken:
        raise broken[0]


@contextmanager
def _patient() -> Iterator[None]:
    """Let threads hand over where they wait for the network, and not every 5 ms.

    On several cores a hundred of them would else spend as much time on fighting for the interpreter as on their work.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_PATIENCE)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _await(threads: list[threading.Thread], beat: Callable[[], None]) -> None:
    """Wait for the threads to end."""
    for thread in threads:
        while thread.is_alive():
            thread.join(_BEAT)
            beat()
