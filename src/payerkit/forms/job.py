"""The requests that a form makes when it is sent, or when a button is pressed, and the lock that goes with them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from payerkit.client.call import Call
from payerkit.client.client import Client
from payerkit.client.transport import Cancellation

T = TypeVar("T")


class FormLock(threading.Condition):
    """The lock of a form, with a signal for when a job ends."""

    @property
    def is_held(self) -> bool:
        """Return True if the calling thread has it."""
        return bool(self._is_owned())  # type: ignore[attr-defined]  # a condition knows, but has no public name for it


class Job:
    """Requests that a form makes; meanwhile it takes no values.

    work: makes them, and returns the outcome; it runs without the form's lock. on_done: takes the outcome over into the
    form, with the lock. label: says what is being done. is_sending: it sends the values. page: the page whose button
    started it, or None.

    Attributes:
        is_threaded: True if it runs in a thread of the form, and so can be stopped.
        has_ended: True once the work is over.
        early: The outcome as far as it is known before the work ends; None until the values were sent.
        is_abandoned: True once it was stopped, and the form no longer waits for it.
        is_outdated: True once values were changed that it had sent, while its outcome was unknown.
        earlier: The job before it whose outcome is unknown, too.
        answers: The summary of what it sends.
        started: The `time.monotonic()` at which it began.
    """

    def __init__(
        self,
        client: Client,
        work: Callable[[Job], Any],
        on_done: Callable[[Any], None],
        label: str,
        *,
        is_sending: bool = False,
        page: str | None = None,
    ) -> None:
        self._client = client
        self.work, self.on_done = work, on_done
        self.label, self.is_sending, self.page = label, is_sending, page
        self.is_threaded = self.is_abandoned = self.has_ended = self.is_outdated = False
        self.early: Any = None
        self.earlier: Job | None = None
        self.answers: list[tuple[str, list[tuple[Any, ...]]]] = []
        self.started = time.monotonic()
        self._cancellation = Cancellation()

    def send(self, call: Call[T]) -> T:
        """Make a call that `stop` can stop."""
        return self._client.send(call, cancellation=self._cancellation)

    @property
    def has_left(self) -> bool:
        """True if it sends the values, and they may have left."""
        return self.is_sending and self._cancellation.has_left

    def stop(self) -> bool:
        """Stop the job, and return True if no write had left. The form no longer waits for it in any case."""
        self.is_abandoned = True
        return self._cancellation.stop()

    def to_view(self) -> dict[str, Any]:
        """Return the banner that says that it runs, as the browser reads it."""
        seconds = int(time.monotonic() - self.started)
        return {"kind": "sending", "title": f"{self.label} …", "seconds": seconds, "can_stop": self.is_threaded}
