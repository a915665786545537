"""The files beside a SQLite database that hold its keys."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from payerkit.service.settings import SetupError


def key_file(database: Path, kind: str) -> Path:
    """Return the path of a key beside a SQLite database."""
    return database.with_name(f"{database.name}.{kind}")


def read_or_create_key(file: Path, new_key: str) -> str:
    """Return the key in a file; create the file first if it is missing, readable by its owner only.

    Several services may start at once, and all must use the same key. So the file is written under another name, then
    linked: the link fails if another service was faster, and nobody reads a file that is half written.
    """
    if not file.exists():
        temporary = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as opened:
                opened.write(new_key)
                opened.flush()
                os.fsync(descriptor)
            os.link(temporary, file)
        except FileExistsError:
            pass  # another service was faster: its key counts
        except OSError as error:
            raise SetupError(f"db: cannot write the key beside the database ({error.strerror}).") from None
        finally:
            temporary.unlink(missing_ok=True)
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SetupError(f"db: cannot read {file.name} beside the database ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise SetupError(f"{file.name}: expected a key, got what is not text.") from None
