"""The command line in a process of its own, as a person runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running(*arguments: str, folder: Path, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run a command of payerkit until the block ends; give what it printed first, and its process."""
    command = [sys.executable, "-m", "payerkit", *arguments]
    with running_command(command, {**os.environ, **environment}, folder) as started:
        yield started


@contextmanager
def running_command(
    command: Sequence[str], environment: Mapping[str, str], folder: Path
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run any command until the block ends; give what it printed up to the line on how to stop it, and its process."""
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    try:
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Press Ctrl+C"):
                break
        yield "".join(lines), process
    finally:
        process.terminate()
        process.communicate(timeout=20)
