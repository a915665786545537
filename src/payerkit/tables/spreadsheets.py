"""Files for spreadsheets, written without formulas, and files that only their owner may read."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import pandas as pd

from payerkit.errors import InvalidInput
from payerkit.tables.sheet import column_letters

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
    names = ["row" if name is None else str(name) for name in frame.index.names] + [str(name) for name in frame.columns]
    plain = frame.reset_index(allow_duplicates=True).set_axis(range(len(names)), axis=1)
    texts = plain.select_dtypes(["string", "object", "category"])
    plain[texts.columns] = texts.map(lambda cell: inert(cell) if isinstance(cell, str) else cell)
    plain.to_csv(target, header=list(map(inert, names)), index=False)


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
    with suppress(OSError):  # the name is taken, or the file system has no links
        os.link(part, path)  # unlike a rename, it never replaces a file
        return
    if path.exists():
        raise InvalidInput(f"path: {path.name} exists already, and may be filled in. Choose another name.")
    part.rename(path)


# Excel workbooks

AS_TEXT = "@"
"""Excel's number format of text: leading zeros stay, a date stays as it is typed, and nothing is computed."""

COLOURS = {"error": ("FBD5D0", "7A1610"), "warning": ("FFE7B3", "5A3200")}
"""Ground and text. Both are given, since a dark theme changes what is not."""

_AUTHOR = "payerkit"


class Styled(NamedTuple):
    """A cell of text, which is never computed. kind: its colour, "error", "warning" or "". note: its comment."""

    text: str
    kind: str = ""
    note: str = ""
    is_wrapped: bool = False


def import_openpyxl() -> Any:
    """Return the library that writes workbooks. Raises ImportError that says how to install it."""
    try:
        import openpyxl  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("Excel files need openpyxl: pip install openpyxl, or write a .csv file.") from None
    return openpyxl


def write_workbook(
    path: Path,
    title: str,
    headers: Sequence[str],
    rows: Sequence[Sequence[Styled]],
    widths: Sequence[float],
    hidden: Collection[int],
) -> None:
    """Write rows of text to a new .xlsx file that its owner alone may read; its header stays in view.

    title: of the sheet; "rows" if Excel cannot have it. widths: of all columns; the last one is hidden. hidden: the
    numbers of rows that are hidden.
    """
    openpyxl = import_openpyxl()
    book = openpyxl.Workbook(write_only=True)
    clean = "".join(char for char in title if char not in "[]:*?/\\").strip("' ")[:31]
    sheet = book.create_sheet(clean or "rows")
    for number, width in enumerate(widths):
        sheet.column_dimensions[column_letters(number)].width = width
    sheet.column_dimensions[column_letters(len(widths) - 1)].hidden = True
    for number in hidden:
        sheet.row_dimensions[number].hidden = True
    sheet.freeze_panes = "A2"
    styles: dict[str, Any] = {}
    sheet.append([_cell(openpyxl, sheet, Styled(header), "header", styles) for header in headers])
    for row in rows:
        sheet.append([_cell(openpyxl, sheet, each, f"{each.kind} {each.is_wrapped}", styles) for each in row])
    book.properties.creator = _AUTHOR
    with new_file_for_owner(path) as file:
        book.save(file)


def _cell(openpyxl: Any, sheet: Any, styled: Styled, style: str, styles: dict[str, Any]) -> Any:
    """Return a cell in a style. styles: those that were made before: their parts are slow to set one by one."""
    cell = openpyxl.cell.WriteOnlyCell(sheet, styled.text)
    cell.data_type = "s"
    if style in styles:
        cell._style = styles[style]  # noqa: SLF001
    else:
        looks = openpyxl.styles
        cell.number_format = AS_TEXT
        if styled.kind:
            ground, text = COLOURS[styled.kind]
            cell.fill, cell.font = looks.PatternFill("solid", fgColor=ground), looks.Font(color=text)
        if style == "header":
            cell.font = looks.Font(bold=True)
        if styled.is_wrapped:
            cell.alignment = looks.Alignment(wrap_text=True, vertical="top")
        styles[style] = cell._style  # noqa: SLF001
    if styled.note:
        cell.comment = openpyxl.comments.Comment(styled.note, _AUTHOR)
        lines = sum(1 + len(line) // 45 for line in styled.note.splitlines())
        cell.comment.width, cell.comment.height = 320, 40 + 18 * lines
    return cell
