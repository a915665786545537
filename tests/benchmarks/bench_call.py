"""What a write and a list cost, checked and typed both ways, against a bare
requests.Session with the same body and answer.

The far end is a thin server in a process of its own, so that its work is in neither
figure.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import requests

sys.path.insert(0, str(Path(__file__).parent.parent))

from rounds import ratios, report

import payerkit
from published import ANSWERS, PAYER
from thin_server import thin_server

ROUNDS, CALLS = 21, 200
HEADERS = {"x-api-key": "key-of-a-benchmark"}


def seconds_of(call: Callable[[], object]) -> float:
    """Return the seconds of a call, the longest of the tenth that took the least."""
    times = []
    for _ in range(CALLS):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return statistics.quantiles(times, n=10)[0]  # the others were disturbed


def main() -> int:
    """Print the ratios; return 1 if a gate is missed."""
    are_met = [write(), read_list()]
    return 0 if all(are_met) else 1


def write() -> bool:
    """Compare what registers a payer."""
    with (
        thin_server(json.dumps(ANSWERS["create_payer"]), 0.0) as url,
        requests.Session() as session,
    ):
        client = payerkit.connect(url, api_key=HEADERS["x-api-key"])

        def bare() -> object:
            return session.post(
                f"{url}/v2/payer", json=PAYER, headers=HEADERS, timeout=10
            ).json()

        def ours() -> object:
            return payerkit.create_payer(client, PAYER)

        return is_fast("create_payer", ours, bare, gate=0.85)


def read_list() -> bool:
    """Compare what lists the accounts of a payer, here as a frame."""
    with (
        thin_server(json.dumps(ANSWERS["list_payment_details"]), 0.0) as url,
        requests.Session() as session,
    ):
        client = payerkit.connect(url, api_key=HEADERS["x-api-key"])

        def bare() -> object:
            return session.get(
                f"{url}/v1/payer/user-123/payment-details", headers=HEADERS, timeout=10
            ).json()

        def ours() -> object:
            return payerkit.list_payment_details(client, "user-123")

        return is_fast("list_payment_details", ours, bare, gate=1.8)


def is_fast(
    name: str, ours: Callable[[], object], bare: Callable[[], object], *, gate: float
) -> bool:
    """Print the ratio of two calls; return True if the gate is met."""
    found = ratios(lambda: seconds_of(ours), lambda: seconds_of(bare), rounds=ROUNDS)
    return report(name, found, gate=gate)


if __name__ == "__main__":
    raise SystemExit(main())
