"""What a call to the sandbox costs, in CPU time, against one to an application that
reads the body and does nothing.

Without a server, whose work is the same for both; on SQLite.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from fastapi import FastAPI
from rounds import ratios, report

from payerkit_sandbox.app import create_app
from payerkit_sandbox.payers import PayerRequest
from payerkit_sandbox.settings import Settings
from published import ORDER, PAYER
from stores import API_KEY, open_worlds

CALLS, ROUNDS = 100, 9
GATES = {"POST /v2/payer": 90.0, "GET /v2/payer/user-123": 60.0, "POST /v1/pay": 110.0}
"""How many times the CPU of an idle application a call may cost: 2 to 4 ms of 0.06 ms
are usual.
"""


def idle_app() -> FastAPI:
    """Return an application with one call, which reads its body as the sandbox does."""
    app = FastAPI()

    @app.post("/v2/payer")
    async def post_payer(body: PayerRequest) -> dict[str, bool]:
        return {"success": bool(body)}

    return app


def caller(
    app: Any, method: str, path: str, body: Callable[[int], Any]
) -> Callable[[], float]:
    """Return a function that makes some calls and returns the CPU seconds that they
    took.
    """
    headers = [
        (b"host", b"localhost"),
        (b"x-api-key", f"default {API_KEY}".encode()),
        (b"content-type", b"application/json"),
    ]
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
    }
    scope |= {
        "headers": headers,
        "server": ("127.0.0.1", 80),
        "scheme": "http",
        "http_version": "1.1",
    }
    number = 0

    async def call(content: bytes) -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            assert message.get("status", 200) < 300

        await app(dict(scope), receive, send)

    async def run() -> float:
        nonlocal number
        contents = [json.dumps(body(number + place)).encode() for place in range(CALLS)]
        number += CALLS
        start = time.process_time()
        for content in contents:
            await call(content)
        return time.process_time() - start

    return lambda: asyncio.run(run())


def main() -> int:
    """Print the ratios; return 1 if a gate is missed."""
    with TemporaryDirectory() as folder:
        worlds = open_worlds(f"{folder}/sandbox.db", Settings(seed=1))
        app = create_app(worlds)
        bodies: dict[str, Callable[[int], Any]] = {
            "POST /v2/payer": lambda number: {
                **PAYER,
                "clientUserId": f"user-{number}",
            },
            "GET /v2/payer/user-123": lambda _: None,
            "POST /v1/pay": lambda _: ORDER,
        }
        caller(app, "POST", "/v2/payer", lambda _: PAYER)()
        idle = caller(idle_app(), "POST", "/v2/payer", lambda _: PAYER)
        passed = []
        for name, gate in GATES.items():
            method, path = name.split()
            found = ratios(caller(app, method, path, bodies[name]), idle, rounds=ROUNDS)
            passed.append(report(name, found, gate=gate))
        worlds.database.close()
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
