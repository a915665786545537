"""Waiting until what was written is on the disk, so that a power cut does not take it away."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def sync_file(descriptor: int) -> None:
    """Wait until the content of an open file is on the disk."""
    if sys.platform == "darwin":
        import fcntl  # noqa: PLC0415 - only there on POSIX

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # fsync leaves it in the cache of the drive there
    else:
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Wait until the name of a new file is on the disk; Windows does so by itself."""
    if os.name != "nt":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
