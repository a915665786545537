"""What one call costs, checked and typed both ways, against a bare requests.Session with the same body and answer.

The far end is a thin server in a process of its own, so that its work is in neither figure.
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


def seconds_of(call: Callable[[], object]) -> float:
    """Return the seconds of a call, the longest of the tenth that took the least."""
    times = []
    for _ in range(CALLS):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return statistics.quantiles(times, n=10)[0]  # the others were disturbed


def main() -> int:
    """Print the ratio; return 1 if the gate is missed."""
    headers = {"x-api-key": "key-of-a-benchmark"}
    with thin_server(json.dumps(ANSWERS["create_payer"]), 0.0) as url, requests.Session() as session:
        client = payerkit.connect(url, api_key=headers["x-api-key"])

        def bare() -> object:
            return session.post(f"{url}/v2/payer", json=PAYER, headers=headers, timeout=10).json()

        def ours() -> object:
            return payerkit.create_payer(client, PAYER)

        found = ratios(lambda: seconds_of(ours), lambda: seconds_of(bare), rounds=ROUNDS)
    return 0 if report("create_payer", found, gate=0.85) else 1


if __name__ == "__main__":
    raise SystemExit(main())
