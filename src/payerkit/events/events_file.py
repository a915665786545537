"""The file that deliveries are appended to: a line each, on the disk before the service gets its response."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from payerkit.disk import sync_file, sync_folder
from payerkit.errors import InvalidInput
from payerkit.wire import parse_json

_START = b'{"received_at"'
"""How each line begins, and so the file."""

_LOCK_SECONDS = 2.0
"""How long a line waits for those that other processes append."""

_PAUSE = 0.005

_BLOCK = 2**16


class EventsFile:
    """A file of lines, which several processes may append to at once, and any may be killed.

    It is opened for each line, so that it can be moved away meanwhile. Raises InvalidInput if it is another file, and
    OSError if it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._check_is_ours()
        self.append(b"")

    def _check_is_ours(self) -> None:
        """Raise InvalidInput for a file that has something else, of which nothing may be cut off."""
        try:
            with self.path.open("rb") as file:
                start = file.read(len(_START))
        except FileNotFoundError:
            return
        if not _START.startswith(start):
            raise InvalidInput(f"to: {self.path.name} is not a file of events. Choose another file.")

    def append(self, line: bytes) -> None:
        """Append a line and wait until it is on the disk; cut off what a killed process left half written.

        Raises OSError, and TimeoutError if other processes hold the file for too long: then nothing was appended.
        """
        is_new = not self.path.exists()
        # Only for its owner, since events have personal data.
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        try:
            _wait_for_lock(descriptor)
            end = _end_of_lines(descriptor)
            try:
                _write(descriptor, end, line)
                sync_file(descriptor)
            except OSError:  # the disk is full, say
                os.ftruncate(descriptor, end)
                raise
        finally:
            os.close(descriptor)  # which ends the lock, too
        if is_new:
            sync_folder(self.path.parent)


def _write(descriptor: int, end: int, line: bytes) -> None:
    """Write a line at the end of the whole lines, and nothing after it."""
    if os.fstat(descriptor).st_size != end:
        os.ftruncate(descriptor, end)
    os.lseek(descriptor, end, os.SEEK_SET)
    while line:
        line = line[os.write(descriptor, line) :]


def _end_of_lines(descriptor: int) -> int:
    """Return where the last whole line ends; one that lacks only its line break gets it."""
    size = os.fstat(descriptor).st_size
    half = _read_half_line(descriptor, size)
    if half and _is_whole(half):
        os.lseek(descriptor, size, os.SEEK_SET)
        return size + os.write(descriptor, b"\n")
    return size - len(half)


def _read_half_line(descriptor: int, size: int) -> bytes:
    """Return what follows the last line break: nothing, unless somebody was killed."""
    tail = b""
    while b"\n" not in tail and len(tail) < size:
        start = max(0, size - len(tail) - (_BLOCK if tail else 1))
        os.lseek(descriptor, start, os.SEEK_SET)
        tail = os.read(descriptor, size - len(tail) - start) + tail
    return tail.rpartition(b"\n")[2]


def _is_whole(line: bytes) -> bool:
    try:
        parse_json(line)
    except ValueError:
        return False
    return True


def _wait_for_lock(descriptor: int) -> None:
    """Lock the file for this process, until it is closed. Raises TimeoutError."""
    deadline = time.monotonic() + _LOCK_SECONDS
    while not _lock(descriptor):
        if time.monotonic() > deadline:
            raise TimeoutError("another process holds the file of events")
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
