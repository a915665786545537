"""Runs in processes of their own, which kill themselves at a chosen moment, as a crash
does: nothing is cleaned up.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import payerkit
from onboarding_tables import run_arguments
from payerkit.client import Client
from payerkit.runs import Report
from payerkit.runs.journal import Journal
from payerkit.runs.sending import Sender

# Forked from a process that has all of this loaded and runs no thread, so that each
# starts at once.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(
    ["__main__", "payerkit.cli.onboard", "payerkit_sandbox.server"]
)

PROGRESS: list[tuple[type, str]] = [(Journal, "_write"), (Client, "send")]
LOOKS: list[tuple[type, str]] = [(Sender, "look_for")]
TASKS: list[tuple[type, str]] = [(Journal, "sent")]
SAVING: list[tuple[type, str]] = [(Report, "save")]


@dataclass
class Kill:
    """When a process kills itself: at an event, or after some seconds.

    methods: each call of one is two events, one before it and one after. event: which
    one kills, counted from 1.
    """

    methods: Sequence[tuple[type, str]] = ()
    event: int = 0
    seconds: float = 0

    def arm(self) -> None:
        """Begin to count, in this process."""
        self._events = itertools.count(1)
        for owner, name in self.methods:
            setattr(owner, name, self._counted(getattr(owner, name)))
        if self.seconds:
            # Nothing handles this signal, so the system ends the process, wherever it
            # is.
            signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def _counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(*arguments: Any, **options: Any) -> Any:
            self._count()
            try:
                return method(*arguments, **options)
            finally:
                self._count()

        return call

    def _count(self) -> None:
        if next(self._events) == self.event:
            os.kill(os.getpid(), signal.SIGKILL)


def is_killed(
    work: Callable[..., None], *arguments: Any, kill: Kill | None = None
) -> bool:
    """Do some work in a process of its own; return True if it was killed, and False if
    it came to its end.
    """
    process = _PROCESSES.Process(target=_work, args=(kill, work, arguments))
    process.start()
    process.join(timeout=200)
    if process.exitcode is None:
        process.kill()
        raise AssertionError("the process did not come to its end in 200 seconds")
    assert process.exitcode in {0, -signal.SIGKILL, -signal.SIGALRM}
    return process.exitcode != 0


def _work(
    kill: Kill | None, work: Callable[..., None], arguments: tuple[Any, ...]
) -> None:
    if kill is not None:
        kill.arm()
    work(*arguments)


def send_table(
    url: str, key: str, table: Path, report: Path, options: dict[str, Any]
) -> None:
    """Send a table, and write down what became of it."""
    with payerkit.connect(url, api_key=key) as client:
        payerkit.onboard(
            client, payerkit.read_payers(table), **run_arguments(**options)
        ).save(report)


def run_code(code: str, folder: Path, output: Path) -> None:
    """Run code in a folder; write what it prints to a file."""
    os.chdir(folder)
    with output.open("w", encoding="utf-8") as file, redirect_stdout(file):
        exec(code, {"__name__": "__main__"})  # noqa: S102 - the code is a notebook's
