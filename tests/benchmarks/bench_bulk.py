"""How fast a run with its journal sends a table of payers, against a thread pool and a plain loop of requests.Session.

The server runs in a process of its own and responds after a fixed time. All three send it the same bodies, in turns.
The pool has as many threads as the run and needs the processor as it does, so their ratio says the same on a slow
machine. The loop mostly waits: a processor half as fast halves its ratio, so its gate only tells whether calls overlap.
Memory is the growth of the process's peak during the runs.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import requests

sys.path.insert(0, str(Path(__file__).parent.parent))

from rounds import report

import payerkit
from payerkit.client import Client
from payerkit.onboarding import RunOptions
from published import ANSWERS, PAYER
from thin_server import thin_server

GATES = {0.02: (1.1, 0.1, 80), 0.1: (1.1, 0.05, 20)}
"""By latency in seconds: at most so much of the time of the pool, and of the loop; rows of the loop.

As many calls at once as there are threads would be 0.031 of the loop; the rest is work of this process.
"""

ROUNDS = 3
ROWS = 4000
WORKERS = 32
MEMORY = 80
RESPONSE = json.dumps(ANSWERS["create_payer"])


def post(session: requests.Session, url: str, body: dict[Any, Any]) -> None:
    """Send a body as one would without payerkit."""
    session.post(f"{url}/v2/payer", json=body, headers={"x-api-key": "key"}, timeout=30).raise_for_status()


def loop(url: str, bodies: list[dict[Any, Any]]) -> float:
    """Return the rows that a plain loop sends in a second."""
    with requests.Session() as session:
        start = time.perf_counter()
        for body in bodies:
            post(session, url, body)
        return len(bodies) / (time.perf_counter() - start)


def pool(url: str, bodies: list[dict[Any, Any]]) -> float:
    """Return the rows that a thread pool sends in a second, with a session for each thread."""
    own = threading.local()
    sessions = []

    def begin() -> None:
        own.session = requests.Session()
        sessions.append(own.session)

    start = time.perf_counter()
    with ThreadPoolExecutor(WORKERS, initializer=begin) as threads:
        for _ in threads.map(lambda body: post(own.session, url, body), bodies):
            pass
    rows = len(bodies) / (time.perf_counter() - start)
    for session in sessions:
        session.close()
    return rows


def run(url: str, rows: pd.DataFrame) -> float:
    """Return the rows that `onboard` sends in a second, everything included: checks, journal, report."""
    with TemporaryDirectory() as folder, Client(url, "key") as client:
        start = time.perf_counter()
        result = payerkit.onboard(
            client, rows, journal=Path(folder) / "run", options=RunOptions(workers=WORKERS, progress=False)
        )
        assert result.counts["done"] == len(rows)
        return len(rows) / (time.perf_counter() - start)


def memory(rows: pd.DataFrame) -> float:
    """Return the MiB by which the process's peak grows in a run."""
    with thin_server(RESPONSE, 0.02) as url:
        run(url, rows.head(200))
        before = getrusage(RUSAGE_SELF).ru_maxrss
        run(url, rows)
        return (getrusage(RUSAGE_SELF).ru_maxrss - before) / 1024


def main() -> None:
    """Measure at each latency; exit with 1 if a gate fails."""
    rows = pd.DataFrame([{**PAYER, "clientUserId": f"bench-{row}"} for row in range(ROWS)])
    bodies = rows.to_dict("records")
    grown = memory(rows)  # first: what the pool takes would raise the peak
    print(f"{grown:.0f} MiB above the table; at most {MEMORY}")
    passed = grown <= MEMORY
    for latency, (of_pool, of_loop, few) in GATES.items():
        with thin_server(RESPONSE, latency) as url:
            run(url, rows.head(200))
            rates = [(run(url, rows), pool(url, bodies), loop(url, bodies[:few])) for _ in range(ROUNDS)]
        name = f"onboard at {1000 * latency:.0f} ms"
        to_pool, to_loop = [pooled / ours for ours, pooled, _ in rates], [looped / ours for ours, _, looped in rates]
        passed &= report(f"{name}, to a pool of {WORKERS} threads", to_pool, gate=of_pool)
        passed &= report(f"{name}, to a loop", to_loop, gate=of_loop)
    sys.exit(not passed)


if __name__ == "__main__":
    main()
