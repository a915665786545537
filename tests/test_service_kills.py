"""Processes of the sandbox that are killed, or start at the same moment: nothing is
lost, doubled or half there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

import payerkit
from payerkit import PayerkitError
from payerkit.models import PaymentRequest
from payerkit_sandbox.database import open_database
from payerkit_sandbox.models import BillRow, EntryRow, PaymentRow, SandboxRow
from processes import first_line
from published import BANK_DETAILS, ORDER, PAYER

KEY = "a-key-for-tests-of-kills"
SERVE = """
import sys, payerkit
keys = {"default": sys.argv[2]}
client = payerkit.sandbox(db=sys.argv[1], api_keys=keys, decide_after=0)
print(client.base_url, flush=True)
sys.stdin.read()
"""
START = "import sys, payerkit; payerkit.sandbox(db=sys.argv[1]).close()"


class Serving:
    """A sandbox in a process of its own."""

    def __init__(self, db: str | Path) -> None:
        command = [sys.executable, "-c", SERVE, str(db), KEY]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, text=True, **pipes)
        self.url = first_line(self._process).strip()

    def kill(self) -> None:
        """End the process as a crash does."""
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate(timeout=20)


def work(
    url: str, worker: int, done: list[tuple[str, str]], stop: threading.Event
) -> None:
    """Register, order, request and pay until told to stop or until a call fails; note
    each id that was acknowledged.
    """
    with (
        payerkit.connect(
            url, api_key=KEY, retries=payerkit.client.Retries(attempts=1)
        ) as client,
        suppress(PayerkitError),
    ):
        controls = payerkit.client.SandboxControls(client)
        for place in range(10_000):
            if stop.is_set():
                return
            name = f"user-{worker}-{place}"
            payerkit.create_payer(client, {**PAYER, "clientUserId": name})
            done.append(("payer", name))
            account = payerkit.create_payment_detail(client, name, BANK_DETAILS)
            done.append(("payment_detail", str(account.id)))
            payment = payerkit.initiate_payment(client, ORDER)
            done.append(("payment", str(payment.request_id)))
            done.append(("execution", controls.pay(payment)))
            request: PaymentRequest = payerkit.create_request(
                client,
                amount="25.50",
                invoice_currency="USD",
                payment_currency="fUSDC-sepolia",
            )
            done.append(("request", str(request.request_id)))


def stored(db: str | Path) -> list[tuple[str, str]]:
    """Return what a database holds, as `work` notes it, but for writes that nobody
    acknowledged.
    """
    database = open_database(db)
    with Session(database.engine) as session:
        entries = [
            (
                each.what,
                str(each.client_user_id if each.what == "payer" else each.about),
            )
            for each in session.scalars(select(EntryRow).order_by(EntryRow.number))
        ]
        hashes = {
            each.payment_id: each.transaction_hash
            for each in session.scalars(select(PaymentRow))
        }
        bills = {each.request_id for each in session.scalars(select(BillRow))}
    database.close()
    found = []
    for what, about in entries:
        if what in {"payment", "request"}:
            assert about in bills
        found.append((what, hashes[about] if what == "execution" else about))
    assert {about for what, about in found if what == "execution"} == set(
        hashes.values()
    )
    return found


@pytest.mark.slow
@pytest.mark.skipif(
    os.name != "posix", reason="a kill that leaves no time is a matter of POSIX"
)
def test_a_kill_under_load_loses_and_doubles_nothing(database: str | Path) -> None:
    """All that was acknowledged is there once, payments and their executions, too; one
    more may be, per caller.
    """
    done: list[list[tuple[str, str]]] = [[] for _ in range(4)]
    for _ in range(3):
        serving, stop = Serving(database), threading.Event()
        before = sum(map(len, done))
        with ThreadPoolExecutor(4) as pool:
            for worker in range(4):
                pool.submit(work, serving.url, worker, done[worker], stop)
            end = time.monotonic() + 30
            while sum(map(len, done)) < before + 60 and time.monotonic() < end:
                stop.wait(0.01)
            serving.kill()
        assert sum(map(len, done)) >= before + 60
    found = stored(database)
    acknowledged = [each for one in done for each in one if each[0] != "payer"]
    payers = {about for one in done for what, about in one if what == "payer"}

    assert payers <= {about for what, about in found if what == "payer"}
    assert len(acknowledged) == len(set(acknowledged))
    assert set(acknowledged) <= set(found)
    once = [each for each in found if each[0] != "payer"]
    assert len(once) == len(set(once))
    assert len(once) - len(acknowledged) <= 3 * 4


@pytest.mark.slow
def test_eight_processes_that_start_at_once_make_one_database(tmp_path: Path) -> None:
    """One set of tables, one key and one identity; and nothing beside the file."""
    file = tmp_path / "new.db"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", START, file], stderr=subprocess.PIPE, text=True
        )
        for _ in range(8)
    ]
    ended = [
        (process.communicate(timeout=120)[1], process.returncode)
        for process in processes
    ]
    database = open_database(file)
    with Session(database.engine) as session:
        rows = session.scalars(select(SandboxRow)).all()
    database.close()

    assert [("", 0)] * 8 == ended
    assert ({"new.db"}, 1) == (
        {
            each.name
            for each in tmp_path.iterdir()
            if not each.name.endswith(("-wal", "-shm"))
        },
        len(rows),
    )
