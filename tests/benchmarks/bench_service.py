"""How many accounts a second two processes store in one database, against one process with as many threads.

Without HTTP, whose work would hide that of the database; on PostgreSQL, and printed for SQLite, which has one writer.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent))

from rounds import ratios, report

from postgres_server import find_initdb, running_postgres
from published import BANK_DETAILS, PAYER
from stores import open_store

THREADS, SECONDS, ROUNDS = 8, 1.0, 5


def write(url: str, pipe: Connection, processes: int) -> None:
    """Store accounts whenever told to; say how many in a second."""
    store = open_store(url)
    payer = {**PAYER, "clientUserId": f"user-{pipe.recv()}"}
    store.save_payer(payer)
    pipe.send(0.0)
    while pipe.recv():
        counts, end = [0] * (THREADS // processes), time.perf_counter() + SECONDS

        def work(worker: int, counts: list[int] = counts, end: float = end) -> None:
            while time.perf_counter() < end:
                store.add_detail(payer["clientUserId"], BANK_DETAILS)
                counts[worker] += 1

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(len(counts))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pipe.send(sum(counts) / SECONDS)
    store.database.close()


class Writers:
    """Processes that write to one database."""

    def __init__(self, url: str, processes: int) -> None:
        self._pipes, self._processes, self.rates = [], [], list[float]()
        for number in range(processes):
            here, there = multiprocessing.Pipe()
            process = multiprocessing.get_context("spawn").Process(target=write, args=(url, there, processes))
            process.start()
            here.send(f"{processes}-{number}")
            here.recv()
            self._pipes.append(here)
            self._processes.append(process)

    def seconds_a_write(self) -> float:
        """Let all of them write for a while; return the seconds of one write."""
        for pipe in self._pipes:
            pipe.send(True)
        self.rates.append(sum(pipe.recv() for pipe in self._pipes))
        return 1 / self.rates[-1]

    def end(self) -> None:
        """End the processes."""
        for pipe in self._pipes:
            pipe.send(False)
        for process in self._processes:
            process.join()


def compare(name: str, url: str, gate: float) -> bool:
    """Print the ratio of two processes to one and what each stores; return whether it passes."""
    one, two = Writers(url, 1), Writers(url, 2)
    found = ratios(two.seconds_a_write, one.seconds_a_write, rounds=ROUNDS)
    one.end()
    two.end()
    print(f"{name}: {max(one.rates):.0f} accounts a second with one process, {max(two.rates):.0f} with two")
    return report(f"{name}: a write with two processes", found, gate=gate)


def main() -> int:
    """Print the ratios; return 1 if the gate is missed, 0 with a word if there is no PostgreSQL."""
    with TemporaryDirectory() as folder:
        compare("SQLite", f"{folder}/sandbox.db", float("inf"))
    initdb = find_initdb()
    if initdb is None:
        print("PostgreSQL is not installed (Debian: postgresql)")
        return 0
    with running_postgres(initdb) as url:
        return 0 if compare("PostgreSQL", url, 1.0) else 1


if __name__ == "__main__":
    sys.exit(main())
