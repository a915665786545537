"""Work on many items in some threads, with an end that is clean whoever asks for it."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from payerkit.bulk.pace import Ended, Stop

T = TypeVar("T")

_BEAT = 0.1
_PATIENCE = 0.1
_END: Any = object()

INTERRUPTED = "A person interrupted it."


def each(
    work: Callable[[T], None], items: Iterable[T], *, workers: int, stop: Stop, beat: Callable[[], None] = lambda: None
) -> None:
    """Do the work for every item, as many at a time as there are workers, until the run ends.

    Items are taken as they are needed. beat: called in this thread, again and again. After an interrupt nothing new
    is begun, and what was begun comes to its end; after a second one it is left to itself. Raises what the work
    raises, but for Ended.
    """
    waiting: queue.Queue[T] = queue.Queue(workers)
    broken: list[Exception] = []

    def labour() -> None:
        while (item := waiting.get()) is not _END:
            try:
                if not stop:
                    work(item)
            except Ended:
                pass
            except Exception as error:  # noqa: BLE001 - raised again in the thread that waits
                broken.append(error)
                stop.because("payerkit made a mistake.")

    threads = [threading.Thread(target=labour, daemon=True) for _ in range(workers)]
    with _patient():
        for thread in threads:
            thread.start()
        try:
            _feed(items, waiting, stop, beat)
        except KeyboardInterrupt:
            stop.because(INTERRUPTED)
        finally:
            _finish(threads, waiting, beat)
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


def _feed(items: Iterable[T], waiting: queue.Queue[T], stop: Stop, beat: Callable[[], None]) -> None:
    for item in items:
        while not stop:
            try:
                waiting.put(item, timeout=_BEAT)
                break
            except queue.Full:
                beat()
        if stop:
            return
        beat()


def _finish(threads: list[threading.Thread], waiting: queue.Queue[Any], beat: Callable[[], None]) -> None:
    """Wait for the threads to end."""
    try:
        for _ in threads:
            waiting.put(_END)
        for thread in threads:
            while thread.is_alive():
                thread.join(_BEAT)
                beat()
    except KeyboardInterrupt:
        pass  # the calls under way are left; the journal has them as sent
