"""The command line in a process of its own, as a person runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running(*arguments: str, folder: Path, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run a command until the block ends; give what it printed first, up to the line on how to stop it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "payerkit", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
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
