"""Text files with separators: read strictly, so that no quote swallows rows and no cell moves to another column."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

import pandas as pd

from payerkit.errors import InvalidInput
from payerkit.tables.sheet import Sheet
from payerkit.tables.text_encoding import to_utf8

_SEPARATORS = ",;\t|"
"""The usual separators, the most usual first."""

_HEAD = 65536
"""Bytes by which the separator and the width of the table are known."""

EMPTY = "source: the file is empty. payerkit onboard --template prints a table to fill in."
_QUOTING = "Put quotes around cells that contain the separator."
_CLOSING = (
    'Close the quote in this row, or write "" for a quote inside a cell in quotes; or save the table as CSV again.'
)
_SEP_LINE = re.compile(rb'"?sep=([^\w\s"]|\t)"?[,;]*(?:\r\n|\n|\r|$)', re.IGNORECASE)


class _Layout(NamedTuple):
    """How a file is written.

    header_row, width: of the row of names. is_spaced: blanks stand behind its separators. skips_blanks: a quote may
    follow a blank.
    """

    separator: str
    header_row: int
    width: int
    is_spaced: bool
    skips_blanks: bool


def read_delimited(content: bytes | str) -> Sheet:
    """Read a text file of any usual encoding and separator; rows are numbered as a spreadsheet numbers them.

    The cells have dtype str (object before pandas 3), missing where blank. A line `sep=;` is no row.

    Args:
        content: Of the file.

    Raises:
        InvalidInput: For a file that is no text, is empty, or whose encoding is not certain; for a quote that is not
            closed or swallows rows, and for a row with more cells than the header, with the numbers of the rows.
    """
    content, encoding = to_utf8(content)
    sep_line = _SEP_LINE.match(content)
    content = content[sep_line.end() :] if sep_line else content
    if not content or content.isspace():
        raise InvalidInput(EMPTY)
    layout = _find_layout(content, sep_line and sep_line[1].decode())
    width, rows = _check_rows(content, layout)
    return Sheet(_parse(content, layout, width, rows), encoding=encoding)


def _lines(content: bytes) -> Iterator[str]:
    """Return the lines of a text, each with its end, of whatever kind that is."""
    return io.TextIOWrapper(io.BytesIO(content), "utf-8", errors="replace", newline="")


def _find_layout(content: bytes, declared: str | None) -> _Layout:
    """Return the layout that most rows of the head agree with; the declared separator, if it separates anything."""
    head = content[:_HEAD]
    if len(head) < len(content):  # without the row that is cut off
        head = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1] or head
    layouts = {separator: _layout(head, separator) for separator in (declared or "", *_SEPARATORS) if separator}
    if declared and layouts[declared][1].width > 1:
        return layouts[declared][1]
    return max(layouts.values(), key=lambda scored: scored[0])[1]


def _layout(head: bytes, separator: str) -> tuple[tuple[bool, float], _Layout]:
    """Return a layout with a score: whether the first row is a usual one, then how many cells and rows are usual."""
    rows = list(csv.reader(_lines(head), delimiter=separator))
    widths = Counter(len(cells) for cells in rows if any(cells))
    usual = max(widths, key=lambda width: (widths[width], width), default=1)
    header_row, header = next(
        ((row, cells) for row, cells in enumerate(rows, start=1) if any(cells) and len(cells) > usual / 2), (1, [""])
    )
    is_spaced = any(cell.startswith(" ") for cell in header[1:])
    skips_blanks = any(cell.startswith(" ") and cell.lstrip(" ").startswith('"') for cells in rows for cell in cells)
    layout = _Layout(separator, header_row, len(header), is_spaced, skips_blanks)
    first = next((len(cells) for cells in rows if any(cells)), 1)
    return (first == usual > 1, (usual - 1) * widths[usual] / max(widths.total(), 1)), layout


def _check_rows(content: bytes, layout: _Layout) -> tuple[int, int]:
    """Return the width of the widest row, and the number of rows, once no row has too many cells or swallows others."""
    reader = csv.reader(_lines(content), delimiter=layout.separator, skipinitialspace=layout.skips_blanks, strict=True)
    row = line = widest = whole = first_padded = 0
    try:
        for cells in reader:
            row += 1
            width = len(cells)
            if reader.line_num - line > 1:
                _check_line_breaks(cells, row, layout)
            line = reader.line_num
            widest = max(widest, width)
            if width > layout.width and row >= layout.header_row and any(cells):
                if any(cells[layout.width :]):
                    _refuse_long_row(row, width, layout)
                first_padded = first_padded or row
            elif width == layout.width and row > layout.header_row and any(cells):
                whole = whole or row
    except csv.Error:
        _refuse_quote(row + 1, line + 1, reader.line_num)
    if first_padded and whole:  # a cell with a separator moved the others to the right, over a last one that is blank
        _refuse_long_row(first_padded, layout.width + 1, layout)
    return widest, row


def _refuse_long_row(row: int, width: int, layout: _Layout) -> NoReturn:
    raise InvalidInput(
        f"source: row {row} has {width} cells, but the header in row {layout.header_row} has {layout.width}, so its "
        "cells may be in wrong columns.",
        advice=_QUOTING,
    )


def _refuse_quote(row: int, line: int, last_line: int) -> NoReturn:
    """Raise the error for a quote in a row that begins in a line and was read as far as another."""
    where = f"row {row}" if row == line else f"row {row} (line {line})"
    if last_line > line:
        last = row + last_line - line
        raise InvalidInput(
            f"source: a quote that opens in {where} is not closed there, so that rows {row} to {last} become one.",
            advice=_CLOSING,
        )
    raise InvalidInput(f"source: {where} has a quote that is not closed, or is closed inside a cell.", advice=_CLOSING)


def _check_line_breaks(cells: list[str], row: int, layout: _Layout) -> None:
    """Raise InvalidInput if a cell with line breaks holds what looks like rows, as an unclosed quote makes them.

    An address on several lines, or a note, is left alone: its commas have blanks behind them.
    """
    for cell in cells:
        breaks = len(re.findall(r"\r\n|\n|\r", cell))
        separators = cell.count(layout.separator)
        tight = separators if layout.is_spaced else separators - cell.count(f"{layout.separator} ")
        holds_rows = tight >= layout.width - 1 if layout.width > 1 else breaks > 2
        if breaks and (holds_rows or (separators and len(cells) != layout.width)):
            raise InvalidInput(
                f"source: a cell in quotes in row {row} goes on to row {row + breaks} and holds what looks like rows, "
                "so that a quote may be missing or too many.",
                advice=f"{_CLOSING} If the cell is right, take the line breaks out of it.",
            )


def _parse(content: bytes, layout: _Layout, width: int, rows: int) -> pd.DataFrame:
    """Return the cells of a file whose rows were checked."""
    cells = pd.read_csv(
        io.BytesIO(content),
        sep=layout.separator,
        names=range(width),
        header=None,
        dtype=str,
        keep_default_na=False,
        na_values=[""],
        skip_blank_lines=False,
        skipinitialspace=layout.skips_blanks,
    )
    if len(cells) != rows:
        raise InvalidInput("source: the file is not a valid table.", advice=_CLOSING)
    return cells.set_axis(pd.RangeIndex(1, 1 + rows, name="row"))
