"""Processes that tests start: the command line, as a person runs it, and others."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

START_LIMIT = 40
"""Seconds after which a command that says nothing is killed."""


def first_line(process: subprocess.Popen[str]) -> str:
    """Return the first line that a process prints; it is killed if that takes long."""
    assert process.stdout is not None
    late = threading.Timer(START_LIMIT, process.kill)
    late.start()
    try:
        return process.stdout.readline()
    finally:
        late.cancel()


@contextmanager
def running(
    *arguments: str, folder: Path, **environment: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run a command of payerkit until the block ends; give what it printed first, and
    its process.
    """
    command = [sys.executable, "-m", "payerkit", *arguments]
    with running_command(command, {**os.environ, **environment}, folder) as started:
        yield started


@contextmanager
def running_command(
    command: Sequence[str], environment: Mapping[str, str], folder: Path
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run any command until the block ends; give what it printed up to the line on how
    to stop it, and its process.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    late = threading.Timer(START_LIMIT, process.kill)
    late.start()
    try:
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Press Ctrl+C"):
                break
        late.cancel()
        yield "".join(lines), process
    finally:
        late.cancel()
        process.terminate()
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
