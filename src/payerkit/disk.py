"""Lock files that processes share, and wait until what was written is on the disk, so that a power cut leaves it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

_PAUSE = 0.005
"""Seconds between two tries to lock a file."""


def sync_file(descriptor: int) -> None:
    """Wait until the content of an open file is on the disk."""
    if sys.platform == "darwin":
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


def lock_file(descriptor: int, seconds: float) -> None:
    """Lock a file for this process, until it is closed. Raises TimeoutError if another one holds it for so long."""
    deadline = time.monotonic() + seconds
    while not _lock(descriptor):
        if time.monotonic() > deadline:
            raise TimeoutError("another process holds the file")
        time.sleep(_PAUSE)


if sys.platform == "win32":
    import msvcrt

    _FAR = 2**62
    """Where the lock is: on Windows nobody else can read what is locked."""

    def _lock(descriptor: int) -> bool:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
