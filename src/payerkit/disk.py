"""Write files whole, and wait until what was written is on the disk, so that a power
cut leaves it.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

from payerkit.errors import InvalidInput

if sys.platform == "darwin":
    import fcntl

_OWNER_ONLY = 0o600
"""The mode of a new file: what is saved holds answers, address books or personal data.
"""


def save_file(path: str | Path, content: str | bytes, *, private: bool = False) -> None:
    """Write a file whole, or leave what was there as it was.

    A new file may be read by its owner alone. An existing one is replaced and keeps its
    mode, unless `private`. Raises InvalidInput if the path is not that of a file, such
    as a symbolic link, and OSError if it cannot be written.
    """
    path = Path(path)
    mode = _mode_of(path)
    if private or mode is None:
        mode = _OWNER_ONLY
    data = content
    if isinstance(data, str):
        data = data.encode()
    beside = path.with_name(f".payerkit-{os.urandom(8).hex()}.tmp")
    try:
        _write_new(beside, data)
        beside.chmod(mode)
        beside.replace(path)
    except OSError as error:
        # The user knows the file by its own name.
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        beside.unlink(missing_ok=True)
    sync_folder(path.parent)


def save_new_file(path: Path, content: bytes) -> None:
    """Write a file that its owner alone may read, whole or not at all.

    Raises FileExistsError if there is one already, also if it came just now.
    """
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWNER_ONLY))
    try:
        save_file(path, content)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def require_savable(path: Path) -> None:
    """Raise InvalidInput if `save_file` would refuse a path."""
    _mode_of(path)


def _mode_of(path: Path) -> int | None:
    """Return the mode of a file that may be replaced; None for a new file.

    Raises InvalidInput for anything but a file, since another program may have placed
    a link that leads elsewhere, and PermissionError for a file that is read-only.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(mode):
        raise InvalidInput(
            f"path: {path.name} is a symbolic link. Give the path of the file itself."
            " Nothing was written."
        )
    if not stat.S_ISREG(mode):
        raise InvalidInput(
            f"path: {path.name} is not a file. Give the path of a file. Nothing was"
            " written."
        )
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return stat.S_IMODE(mode)


def _write_new(path: Path, data: bytes) -> None:
    """Write a new file for its owner alone, and wait until it is on the disk."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, _OWNER_ONLY), "wb") as file:
        file.write(data)
        file.flush()
        sync_file(file.fileno())


def sync_file(descriptor: int) -> None:
    """Wait until the content of an open file is on the disk."""
    if sys.platform == "darwin":
        # There, fsync leaves it in the cache of the drive.
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
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
