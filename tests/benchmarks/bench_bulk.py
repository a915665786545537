"""How fast a run with its journal sends a table of payers, against a thread pool of
requests.Session.

The server runs in a process of its own and responds after a fixed time. Both send it
the same bodies, in turns. The pool has as many threads as the run and needs the
processor as it does, so their ratio says the same on a slow machine.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import requests

sys.path.insert(0, str(Path(__file__).parent.parent))

from rounds import report

import payerkit
from payerkit.client import Client
from payerkit.runs import RunOptions
from published import ANSWERS, PAYER
from thin_server import thin_server

LATENCY = 0.2
"""That of the service, about, in seconds."""

GATE = 1.15
"""The target is 1.1; 1.06 to 1.08 are usual."""

ROUNDS = 3
ROWS = 2000
WORKERS = 32
RESPONSE = json.dumps(ANSWERS["create_payer"])


def post(session: requests.Session, url: str, body: dict[Any, Any]) -> None:
    """Send a body as one would without payerkit."""
    session.post(
        f"{url}/v2/payer", json=body, headers={"x-api-key": "key"}, timeout=30
    ).raise_for_status()


def pool(url: str, bodies: list[dict[Any, Any]]) -> float:
    """Return the rows that a thread pool sends in a second, with a session for each
    thread.
    """
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
    """Return the rows that `onboard` sends in a second, everything included: checks,
    journal, report.
    """
    with TemporaryDirectory() as folder, Client(url, "key") as client:
        start = time.perf_counter()
        result = payerkit.onboard(
            client,
            rows,
            journal=Path(folder) / "run",
            options=RunOptions(workers=WORKERS, progress=False),
        )
        assert result.counts["done"] == len(rows)
        return len(rows) / (time.perf_counter() - start)


def main() -> None:
    """Measure; exit with 1 if the gate fails."""
    rows = pd.DataFrame(
        [{**PAYER, "clientUserId": f"bench-{row}"} for row in range(ROWS)]
    )
    bodies = rows.to_dict("records")
    with thin_server(RESPONSE, LATENCY) as url:
        run(url, rows.head(200))
        found = [pool(url, bodies) / run(url, rows) for _ in range(ROUNDS)]
    sys.exit(not report(f"onboard, to a pool of {WORKERS} threads", found, gate=GATE))


if __name__ == "__main__":
    main()
