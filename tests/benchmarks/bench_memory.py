"""What a run over many rows takes: memory above the table, and whether planning and sending keep their pace.

A table of payers is planned, and sent to a thin server in a process of its own. Memory is what the process holds while
it sends, less what it held once the table was planned: threads, connections, journal, and the cells that are read.
What a plan and a report of all rows hold is measured, too. Planning is measured in CPU time, and the pace by the clock;
each is compared with that of a tenth of the rows.
`--rows 1000000` is for a measurement by hand.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))

from payerkit.bulk import run as runs
from payerkit.bulk.options import Options
from payerkit.bulk.plan import Plan
from payerkit.bulk.report import make_report
from payerkit.bulk.run import run_table
from payerkit.bulk.table import Table
from payerkit.client import Client
from published import ANSWERS, BANK_DETAILS, PAYER, as_columns
from thin_server import thin_server

MILLION = 1_000_000
MEMORY, MEMORY_OF_A_WORKER = 64.0, 0.25
"""MiB above the table at a million rows, and for each worker."""
RESULTS = 300.0
"""MiB of the plan and the report of a million rows."""
PACE = 0.8
"""Rows a second at the whole table, at least so many of those at a tenth of it."""
PLANNING, PLANNING_OF_A_MILLION = 1.2, 120
"""CPU a row at the whole table, at most so many times that at a tenth of it; seconds for a million rows."""
FEWER_WORKERS = 32
ROUNDS = 3
LATENCY = 0.02
_PAGE = 4096


@dataclass
class Memory:
    """The most memory that this process held, in MiB."""

    peak: float = 0.0


def resident() -> float:
    """Return the memory that this process holds, in MiB."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * _PAGE / 2**20


@contextmanager
def sampled() -> Iterator[Memory]:
    """Record the peak of this process's memory; that of the system counts since the process began."""
    found, end = Memory(resident()), threading.Event()

    def sample() -> None:
        while not end.wait(0.02):
            found.peak = max(found.peak, resident())

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        end.set()
        thread.join()


def payers(count: int, *, with_accounts: bool = False) -> pd.DataFrame:
    """Return payers who differ in id, e-mail address, name, street and phone, and perhaps accounts by their number."""
    record = PAYER | (as_columns(BANK_DETAILS) if with_accounts else {})
    rows = pd.DataFrame({name: pd.Series([value] * count) for name, value in record.items()})
    numbers = pd.Series(np.arange(count))
    texts = numbers.astype(str)
    rows["clientUserId"], rows["email"] = "user-" + texts, "payer" + texts + "@example.com"
    rows["lastName"], rows["addressLine1"] = "Payer " + texts, texts + " Main Street"
    area, rest = numbers // 500_000, numbers % 500_000  # so that all are possible, and no two payers share one
    group, serial = rest // 9_999, rest % 9_999
    rows["ssn"] = (
        (210 + area).astype(str) + "-" + (10 + group).astype(str) + "-" + (10_001 + serial).astype(str).str[1:]
    )
    rows["phone"] = "+1212" + (2_000_000 + numbers).astype(str)
    if with_accounts:
        rows["account_number"] = (10**11 + numbers).astype(str)
    return rows


@dataclass(frozen=True)
class Run:
    """What one run took: MiB above the planned table until all rows were sent, rows a second, CPU a row.

    results: MiB of the plan and the report.
    """

    memory: float
    results: float
    pace: float
    cpu: float


def send(table: Table, workers: int) -> Run:
    """Send a table, and measure from its plan to its report."""
    gc.collect()
    sent: list[float] = []
    results: list[float] = []

    def report(*arguments: Any) -> Any:
        sent.append(memory.peak)
        gc.collect()
        before = resident()
        made = (make_report(*arguments), Plan(table))
        gc.collect()
        results.append(resident() - before)
        return made[0]

    body = json.dumps(ANSWERS["create_payer"])
    with (
        TemporaryDirectory() as folder,
        thin_server(body, LATENCY) as url,
        Client(url, "key") as client,
        patch.object(runs, "make_report", report),
        sampled() as memory,
    ):
        before, clock, cpu = resident(), time.perf_counter(), time.process_time()
        found = run_table(client, table, Path(folder) / "run", Options(workers), progress=False)
        seconds, cpu = time.perf_counter() - clock, time.process_time() - cpu
    assert found.counts["done"] == len(table)
    return Run(sent[0] - before, results[0], len(table) / seconds, cpu / len(table))


def plan(rows: pd.DataFrame) -> float:
    """Return the CPU time that planning a table takes, in seconds a row."""
    start = time.process_time()
    Table(rows)
    return (time.process_time() - start) / len(rows)


def check(name: str, value: float, bound: float, *, at_least: bool = False) -> bool:
    """Print a value beside its gate, and return whether it passes."""
    print(f"{name}: {value:.2f}; at {'least' if at_least else 'most'} {bound:.2f}", flush=True)
    return value >= bound if at_least else value <= bound


def check_memory(run: Run, rows: int, workers: int) -> bool:
    """Hold the memory of a run against the bound, scaled to its rows."""
    print(f"{rows} rows, {workers} workers: {run.pace:.0f} rows/s, {1e6 * run.cpu:.0f} microseconds of CPU a row")
    bound = MEMORY * rows / MILLION + MEMORY_OF_A_WORKER * workers
    return check(f"MiB above the table while {workers} workers send {rows} rows", run.memory, bound)


def check_planning(count: int) -> bool:
    """Hold the CPU time of planning against that of a tenth of the rows."""
    rows = payers(count, with_accounts=True)
    few = rows.head(count // 10)
    found = [(plan(few), plan(rows)) for _ in range(ROUNDS)]
    ratio = statistics.median(large / small for small, large in found)
    seconds = MILLION * statistics.median(large for _, large in found)
    return check("planning, CPU a row, of that of a tenth of the rows", ratio, PLANNING) & check(
        "planning a million rows, seconds of CPU", seconds, PLANNING_OF_A_MILLION
    )


def main() -> int:
    """Print the values; return 1 if a gate is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--workers", type=int, default=256)
    options = parser.parse_args()
    few, rows = Table(payers(options.rows // 10)), Table(payers(options.rows))
    send(Table(payers(500)), options.workers)  # loads what sending needs
    small = [send(few, options.workers)]
    large = send(rows, options.workers)
    small.append(send(few, options.workers))
    fewer_workers = send(few, FEWER_WORKERS)
    passed = [
        check_memory(large, len(rows), options.workers),
        check_memory(fewer_workers, len(few), FEWER_WORKERS),
        check(f"MiB of the plan and the report of {len(rows)} rows", large.results, RESULTS * len(rows) / MILLION),
        check(
            "rows a second, of those of a tenth of the rows",
            large.pace / statistics.mean(run.pace for run in small),
            PACE,
            at_least=True,
        ),
        check_planning(options.rows),
    ]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    raise SystemExit(main())
