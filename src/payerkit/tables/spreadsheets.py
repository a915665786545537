"""Files and texts for spreadsheets, without formulas, and files that only their owner may read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

import pandas as pd

FORMULA = tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")
"""Characters at the beginning of a cell that a spreadsheet computes; in some languages, their wide forms, too."""


def inert(text: str) -> str:
    """Return a text so that no spreadsheet computes it: with ' in front of what may be a formula and is no number."""
    is_number = text[1:].replace(".", "", 1).isdecimal()
    return f"'{text}" if text.startswith(FORMULA) and not is_number else text


def write_rows(frame: pd.DataFrame, target: str | Path | IO[str]) -> None:
    """Write a frame as CSV, its index first, without formulas."""
    labels = [inert("row" if name is None else str(name)) for name in frame.index.names]
    texts: pd.DataFrame = frame.select_dtypes("string")
    changed = {str(name): cells.map(inert, na_action="ignore") for name, cells in texts.items() if _has_formulas(cells)}
    frame = frame.assign(**changed).set_axis(_inert_labels(frame.index))
    frame.to_csv(target, index_label=labels)


def open_for_owner(path: Path) -> IO[str]:
    """Open a file to write that its owner alone may read; an existing one is emptied."""
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    opened = os.fdopen(file, "w", encoding="utf-8", newline="")
    path.chmod(0o600)  # before anything is written: an older file keeps its mode
    return opened


def _has_formulas(texts: pd.Series[Any]) -> bool:
    return bool(texts.str.startswith(FORMULA).any())


def _inert_labels(labels: pd.Index[Any]) -> pd.Index[Any]:
    """Return the labels of rows, or the levels of such labels, without formulas."""
    if isinstance(labels, pd.MultiIndex):
        levels: Any = [_inert_labels(level) for level in labels.levels]
        return labels.set_levels(levels, verify_integrity=False)
    if pd.api.types.is_numeric_dtype(labels):
        return labels
    return labels.map(lambda label: inert(label) if isinstance(label, str) else label)
