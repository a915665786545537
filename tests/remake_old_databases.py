"""Make the databases of 0.1.0 anew that tests/test_service_migrations.py upgrades, by running 0.1.0 itself.

`python tests/remake_old_databases.py`, in a clone with the whole history. For each of two commits, the first whose
tables are those of 0.1.0 and the last, and for SQLite and PostgreSQL, it writes to tests/data/old_databases what is in
the database, as SQL, and what the service answers about it, as JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

from postgres_server import find_initdb, running_postgres
from published import BANK_DETAILS, ORDER, PAYER, PUBLISHED
from stores import ENCRYPTION_KEY

HERE = Path(__file__).parent
FOLDER = HERE / "data" / "old_databases"
COMMITS = {"first": "8b4ac7a752338e727627411124074f5ab094a821", "last": "da693a9"}
"""Between them, columns became wider, and a clock that can be advanced took the place of a counter of the writes."""

SERVE = """
import sys
from payerkit.service.server import Service
from payerkit.service.settings import Settings
kind, db = sys.argv[1:]
clock = {"clock": "manual"} if kind == "last" else {"decide_after": 1000}
service = Service(Settings(seed="old", **clock), db=db)
service.start()
print(service.url, service.api_key, flush=True)
sys.stdin.read()
service.stop()
"""

Write = tuple[str, str, dict[str, Any]]


def example_payer(number: int, email: str) -> dict[str, Any]:
    """Return a payer to register."""
    return PAYER | {"clientUserId": f"example-payer-{number:03}@example.com", "email": email}


PAYERS = [
    example_payer(1, "payer.001@example.com"),
    example_payer(2, "kyc-approved+agreement-signed@example.com"),
    example_payer(3, "kyc-rejected@example.com"),
    PAYER | {"clientUserId": "Example Payer 004 / ünïcode", "email": "payer.004@example.com"},
]
IDS = [payer["clientUserId"] for payer in PAYERS]


def quoted(client_user_id: str) -> str:
    """Return an id as a part of a path."""
    return quote(client_user_id, safe="")


def writes(kind: str) -> Iterator[Write]:
    """Yield what is stored: every table gets rows."""
    for payer in PAYERS:
        yield "POST", "/v2/payer", payer
    yield "POST", "/v2/payer", PAYERS[0] | {"firstName": "Changed"}
    for place, bank in [(0, "Example Bank"), (0, "Example Bank failed"), (0, "Example Bank"), (1, "Example Bank")]:
        yield "POST", f"/v1/payer/{quoted(IDS[place])}/payment-details", BANK_DETAILS | {"bankName": bank}
    yield "POST", f"/v1/payer/{quoted(IDS[3])}/payment-details", PUBLISHED["bank_details"]["uk"]
    yield "PATCH", f"/v1/payer/{quoted(IDS[0])}", {"agreementCompleted": True}
    for order in (ORDER, ORDER, ORDER | {"invoiceCurrency": "USD", "paymentCurrency": "fUSDC-sepolia"}):
        yield "POST", "/v1/pay", order
    yield "PUT", "/sandbox/rates/fUSDC-sepolia", {"usd": "1.25"}
    yield "PUT", "/sandbox/wallet/fUSDC-sepolia", {"balance": "250.00", "allowance": "3"}
    if kind == "last":
        yield "POST", "/sandbox/clock/advance", {"seconds": 3600.5}
        yield "POST", f"/v1/payer/{quoted(IDS[1])}/payment-details", BANK_DETAILS | {"bankName": "Example Bank late"}
    yield "PUT", f"/sandbox/kyc/{quoted(IDS[3])}", {"status": "pending"}


def reads(kind: str) -> Iterator[str]:
    """Yield the paths of what is read."""
    for client_user_id in IDS:
        yield f"/v2/payer/{quoted(client_user_id)}"
        yield f"/v1/payer/{quoted(client_user_id)}/payment-details"
    yield from ("/sandbox/ledger", "/sandbox/rates/fUSDC-sepolia", "/sandbox/wallet/fUSDC-sepolia")
    if kind == "last":
        yield "/sandbox/clock"


def call(url: str, api_key: str, method: str, path: str, body: object = None) -> tuple[Any, str]:
    """Return the JSON that the service answers, and its identity."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"x-api-key": api_key, "content-type": "application/json"}
    with urlopen(Request(url + path, data, headers, method=method), timeout=20) as response:  # noqa: S310 - our own
        return json.load(response), response.headers["x-payerkit-sandbox"]


@contextmanager
def old_service(source: Path, kind: str, db: str) -> Iterator[list[str]]:
    """Run the service of a source folder until the block ends; give its URL and its API key."""
    environment = {**os.environ, "PYTHONPATH": str(source), "PAYERKIT_SANDBOX_KEY": ENCRYPTION_KEY}
    command = [sys.executable, "-c", SERVE, kind, db]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
    ) as process:
        assert process.stdout
        yield process.stdout.readline().split()
        process.communicate("")


def fill(source: Path, kind: str, db: str) -> dict[str, Any]:
    """Let a service store the examples; return what it says of itself, its links, and its answers to the reads."""
    with old_service(source, kind, db) as (url, api_key):
        written = [call(url, api_key, *write)[0] for write in writes(kind)]
        links = [
            answer[name].removeprefix(url)
            for answer in written
            for name in ("kycUrl", "agreementUrl")
            if name in answer
        ]
        read = {path: call(url, api_key, "GET", path)[0] for path in reads(kind)}
        identity = call(url, api_key, "GET", "/sandbox/ledger")[1]
        return {"api_key": api_key, "identity": identity, "links": sorted(set(links)), "read": read}


def dump_sqlite(file: Path) -> str:
    """Return a database as SQL."""
    with closing(sqlite3.connect(file)) as connection:
        return "\n".join(connection.iterdump()) + "\n"


def dump_postgres(url: str) -> str:
    """Return a database as SQL that a server of any version takes."""
    folder = url.partition("host=")[2]
    command = ["pg_dump", "-h", folder, "-U", "payerkit", "--inserts", "--no-owner", "--no-privileges", "postgres"]
    dumped = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    kept = [
        line for line in dumped if line and not line.startswith(("--", "SET ", "\\", "SELECT pg_catalog.set_config"))
    ]
    return "\n".join(kept) + "\n"


def git(*arguments: str | Path) -> None:
    """Run git in this clone."""
    subprocess.run([shutil.which("git") or "git", *arguments], check=True, cwd=HERE)


def main() -> None:
    """Make all of them."""
    initdb = find_initdb()
    assert initdb
    FOLDER.mkdir(exist_ok=True)
    for kind, commit in COMMITS.items():
        with TemporaryDirectory() as folder, running_postgres(initdb) as url:
            tree, file = Path(folder) / "tree", Path(folder) / "old.db"
            git("worktree", "add", "--detach", tree, commit)
            try:
                answers = fill(tree / "src", kind, str(file)), fill(tree / "src", kind, url)
            finally:
                git("worktree", "remove", "--force", tree)
            for name, sql, answer in zip(
                ("sqlite", "postgresql"), (dump_sqlite(file), dump_postgres(url)), answers, strict=True
            ):
                (FOLDER / f"{kind}.{name}.sql").write_text(sql, "utf-8")
                (FOLDER / f"{kind}.{name}.json").write_text(json.dumps(answer, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
