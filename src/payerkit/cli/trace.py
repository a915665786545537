"""`payerkit trace`: where the money of one order is, in a terminal."""

from __future__ import annotations

import os
from argparse import Namespace

from payerkit.connection import connect
from payerkit.money.events import read_events
from payerkit.money.order_trace import trace
from payerkit.payments.payment_policy import PaymentPolicy

SECRET = "PAYERKIT_EVENTS_SECRET"  # noqa: S105 - the name of a variable


def run(options: Namespace) -> int:
    """Print each leg; return 0 if the money has arrived, else 3."""
    events = None
    if options.events:
        events = read_events(options.events, secret=os.environ.get(SECRET) or None)
    policy = None
    if options.policy:
        policy = PaymentPolicy.read(options.policy)
    with connect(options.profile) as client:
        found = trace(
            client,
            options.reference,
            payment=options.payment,
            events=events,
            policy=policy,
        )
    print(found)
    if found.current.progress == "done":
        return 0
    return 3
