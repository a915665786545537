"""What a sandbox fires, delivered as the live service delivers it: to a file, or to a receiver at a URL.

The events are sent from here and not by the sandbox, which therefore calls no address that the owner of a key names.
"""

from __future__ import annotations

import hashlib
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from payerkit.client import Call, Client, RequestBody, Timeout
from payerkit.client.deadline_adapter import HttpRequest
from payerkit.client.transport import BrokenOffError, NotSentError, RequestsTransport
from payerkit.errors import InvalidInput, PayerkitError
from payerkit.events.event_lines import DELIVERY, RETRY_COUNT, SIGNATURE, Delivery
from payerkit.events.event_sources import read_lines
from payerkit.events.events_file import EventsFile
from payerkit.wire import is_loopback, read_time

RETRY_WAITS = (1.0, 5.0, 15.0)
"""Seconds after a failed delivery until the next try; after the last one it is dropped (operator's documentation)."""

_SECONDS = 5.0
"""How long a delivery may take (operator's documentation)."""

_POLL = 0.2
"""Seconds between two looks at what the sandbox has fired."""

_MOST = 1000
"""Events of one response."""


@dataclass(frozen=True, slots=True)
class Fired:
    """An event that a sandbox fired, with its place in the order of all."""

    number: int
    delivery: Delivery


def fetch_events(client: Client, after: int = 0) -> list[Fired]:
    """Return what a sandbox has fired after a number. Raises the errors of a call."""
    found: list[Fired] = []
    while True:
        last = found[-1].number if found else after
        call = Call(
            operation="events",
            method="POST",
            route="/sandbox/events",
            query={"after": str(last)},
            body=RequestBody({}),
            read=_read_events,
            idempotent=True,
            if_unknown="It is safe to call it again.",
        )
        page = client.send(call)
        found += page
        if len(page) < _MOST:
            return found


def _read_events(content: Any) -> list[Fired]:
    try:
        return [
            Fired(
                each["number"],
                Delivery(
                    each["body"].encode(),
                    {SIGNATURE: each["signature"], DELIVERY: each["deliveryId"], RETRY_COUNT: "0"},
                    read_time(each["firedAt"]),
                ),
            )
            for each in content["events"]
        ]
    except (AttributeError, KeyError, TypeError):
        raise ValueError("expected events") from None


def with_duplicates(deliveries: Sequence[Delivery], share: float) -> list[Delivery]:
    """Return deliveries, some of them twice, as a service delivers that did not see the response."""
    return [again for each in deliveries for again in (each, *_duplicate_of(each, share))]


def _duplicate_of(delivery: Delivery, share: float) -> list[Delivery]:
    """Return a delivery once more if its id falls into the share; the same ids each time."""
    digest = hashlib.sha256(str(delivery.delivery_id).encode()).digest()
    return [_retried(delivery, 1)] if int.from_bytes(digest[:4]) < share * 2**32 else []


def _retried(delivery: Delivery, count: int) -> Delivery:
    return replace(delivery, headers={**delivery.headers, RETRY_COUNT: str(count)})


def save_deliveries(deliveries: Sequence[Delivery], path: str | Path) -> int:
    """Append deliveries to a file of events, those that it does not have; return how many. Raises OSError."""
    file = EventsFile(Path(path))
    known = {each.delivery_id for each in read_lines(file.path) if each is not None}
    new = [each for each in deliveries if each.delivery_id not in known]
    file.append(b"".join(each.to_line() for each in new))
    return len(new)


def check_share(share: object) -> float:
    """Return a share of deliveries. Raises InvalidInput for anything but a number from 0 to 1."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise InvalidInput("duplicates: give a share from 0 to 1, such as 0.1.")
    return float(share)


class EventSender:
    """Delivers what a sandbox fires to a receiver, in a thread, with the retries of the live service.

    to: the URL of the receiver, on this machine or with https. waits: seconds before each retry. Raises InvalidInput
    for another URL. delivered, dropped: how many deliveries were accepted, and how many were given up.
    """

    def __init__(
        self, client: Client, to: str, *, duplicates: float = 0.0, waits: Sequence[float] = RETRY_WAITS
    ) -> None:
        self._to, is_local = _checked_url(to)
        self._client = weakref.ref(client)
        self._duplicates, self._waits = duplicates, tuple(waits)
        timeout = Timeout(connect=_SECONDS, read=_SECONDS, total=_SECONDS)
        self._transport = RequestsTransport(self._to, is_local=is_local, timeout=timeout, pool_size=1)
        self._stopped = threading.Event()
        self.delivered = self.dropped = 0
        self._thread = threading.Thread(target=self._run, name="payerkit-events", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Deliver nothing more; what waits for a retry is dropped."""
        self._stopped.set()
        if self._thread is not threading.current_thread():
            self._thread.join(2 * _SECONDS)

    def _run(self) -> None:
        """Deliver in the order in which the sandbox fires; a retry waits for its time, and nothing waits for it."""
        after = 0
        waiting: list[tuple[float, Delivery]] = []
        while not self._stopped.wait(_POLL):
            client = self._client()
            if client is None:
                break
            try:
                fired = fetch_events(client, after)
            except InvalidInput:  # the client is closed
                break
            except PayerkitError:  # the sandbox is busy, or has faults
                fired = []
            del client
            after = fired[-1].number if fired else after
            new = with_duplicates([each.delivery for each in fired], self._duplicates)
            waiting += [(0.0, delivery) for delivery in new]
            now = time.monotonic()
            due = [delivery for at, delivery in waiting if at <= now]
            waiting = [(at, delivery) for at, delivery in waiting if at > now]
            for delivery in due:
                if not self._stopped.is_set() and not self._deliver(delivery):
                    waiting += self._retry_of(delivery)
        self._transport.close()

    def _deliver(self, delivery: Delivery) -> bool:
        """Send a delivery once; return True if the receiver accepted it."""
        headers = {"Content-Type": "application/json", **delivery.headers}
        request = HttpRequest("POST", self._to, headers, delivery.body)
        try:
            status = self._transport.send(request, deadline=time.monotonic() + _SECONDS).status
        except (NotSentError, BrokenOffError):
            return False
        if 200 <= status < 300:
            self.delivered += 1
            return True
        return False

    def _retry_of(self, delivery: Delivery) -> list[tuple[float, Delivery]]:
        """Return the next try of a delivery with its time; none after the last one."""
        count = delivery.retry_count or 0
        if count >= len(self._waits):
            self.dropped += 1
            return []
        return [(time.monotonic() + self._waits[count], _retried(delivery, count + 1))]


_SENDERS: weakref.WeakKeyDictionary[Client, EventSender] = weakref.WeakKeyDictionary()
"""The sender of each client."""


def send_events(client: Client, to: str | None, start: Callable[[], EventSender]) -> None:
    """End a client's sender, and start another one unless there is no receiver."""
    before = _SENDERS.pop(client, None)
    if before is not None:
        before.stop()
    if to is not None:
        _SENDERS[client] = start()


def _checked_url(to: object) -> tuple[str, bool]:
    """Return the URL of a receiver, and whether it is on this machine. Raises InvalidInput."""
    parts = urlsplit(to) if isinstance(to, str) and to.isascii() and to.isprintable() and " " not in to else None
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidInput("to: give the URL of the receiver, such as http://127.0.0.1:8766/.")
    is_local = is_loopback(parts.hostname)
    if parts.scheme == "http" and not is_local:
        raise InvalidInput("to: use https://; plain http is for receivers on this machine.")
    return str(to), is_local
