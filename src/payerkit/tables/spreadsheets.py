"""Files and texts for spreadsheets, without formulas, and files that only their owner may read."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pandas as pd

from payerkit.errors import InvalidInput

FORMULA = tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")
"""Characters at the beginning of a cell that a spreadsheet computes; in some languages, their wide forms, too."""

_BEHIND = f"([;\\t\\r\\n] *)([{re.escape(''.join(FORMULA))}])"
"""What separates cells, and a formula behind it: a program may split the file at another separator than ours."""


def inert(text: str) -> str:
    """Return a text so that no spreadsheet computes it: with ' in front of what may be a formula and is no number."""
    text = re.sub(_BEHIND, r"\1'\2", text)
    is_number = text[:1] in {"+", "-"} and text[1:].replace(".", "", 1).isdecimal()
    return f"'{text}" if text.startswith(FORMULA) and not is_number else text


def write_rows(frame: pd.DataFrame, target: str | Path | IO[str]) -> None:
    """Write a frame as CSV, its index first, without formulas: in cells, labels and names of columns."""
    labels = [inert("row" if name is None else str(name)) for name in frame.index.names]
    texts: pd.DataFrame = frame.select_dtypes("string")
    changed = {str(name): cells.map(inert, na_action="ignore") for name, cells in texts.items() if _has_formulas(cells)}
    frame = frame.assign(**changed).set_axis(_inert_labels(frame.index))
    frame.rename(columns=lambda name: inert(str(name))).to_csv(target, index_label=labels)


def open_for_owner(path: Path) -> IO[str]:
    """Open a file to write that its owner alone may read; an existing one is emptied."""
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    opened = os.fdopen(file, "w", encoding="utf-8", newline="")
    path.chmod(0o600)  # before anything is written: an older file keeps its mode
    return opened


def require_new_file(path: Path, kinds: Collection[str]) -> None:
    """Raise InvalidInput unless a file of one of these kinds can be written there, and replaces none."""
    if path.suffix.lower() not in kinds:
        raise InvalidInput(f"path: expected a {' or '.join(kinds)} file, got {path.name}.")
    if not path.parent.is_dir():
        raise InvalidInput(f"path: there is no folder {path.parent}. Make it first, or choose another.")
    if path.exists():
        raise InvalidInput(f"path: {path.name} exists already, and may be filled in. Choose another name.")


@contextmanager
def new_file_for_owner(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file to write that its owner alone may read. It is there once it is whole, and replaces none."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        _move_to_new(part, path)
    finally:
        part.unlink(missing_ok=True)


def _move_to_new(part: Path, path: Path) -> None:
    """Give a file its name. Raises InvalidInput if that name was taken meanwhile."""
    try:
        os.link(part, path)  # unlike a rename, it never replaces a file
    except OSError:  # the name is taken, or the file system has no links
        if not path.exists():
            part.rename(path)
            return
    else:
        return
    raise InvalidInput(f"path: {path.name} exists already, and may be filled in. Choose another name.")


def _has_formulas(texts: pd.Series[Any]) -> bool:
    return bool((texts.str.startswith(FORMULA) | texts.str.contains(_BEHIND.replace("(", "(?:"))).any())


def _inert_labels(labels: pd.Index[Any]) -> pd.Index[Any]:
    """Return the labels of rows, or the levels of such labels, without formulas."""
    if isinstance(labels, pd.MultiIndex):
        levels: Any = [_inert_labels(level) for level in labels.levels]
        return labels.set_levels(levels, verify_integrity=False)
    if pd.api.types.is_numeric_dtype(labels):
        return labels
    return labels.map(lambda label: inert(label) if isinstance(label, str) else label)
