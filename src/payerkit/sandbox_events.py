"""What a sandbox fires, as a receiver would have stored it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from payerkit.client.call import Call, RequestBody
from payerkit.client.client import Client
from payerkit.events.file import DELIVERY, RETRY_COUNT, SIGNATURE, Delivery, EventsFile, read_lines
from payerkit.wire import read_time

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


def save_deliveries(deliveries: Sequence[Delivery], path: str | Path) -> int:
    """Append deliveries to a file of events, those that it does not have; return how many. Raises OSError."""
    file = EventsFile(Path(path))
    known = {each.delivery_id for each in read_lines(file.path) if each is not None}
    new = [each for each in deliveries if each.delivery_id not in known]
    file.append(b"".join(each.to_line() for each in new))
    return len(new)
