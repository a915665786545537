"""Text files: the separator, the encoding, and quotes that would swallow rows."""

from __future__ import annotations

import csv
import io
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cases import table
from payerkit import InvalidInput
from payerkit.tables.text_files import read_delimited


def cells_of(frame: pd.DataFrame) -> dict[int, list[str | None]]:
    """Return the cells by row number, None for an empty cell."""
    rows = frame.astype(object).where(frame.notna(), None)
    return {int(label): list(row) for label, row in zip(rows.index, rows.to_numpy(), strict=True)}


@table("text_files")
def test_cells_are_the_text_of_the_file(content: str, encoding: str | None, rows: list[list[str | None]]) -> None:
    """Every cell of every row is read as it is written, whatever separates cells and lines."""
    file = content.encode(encoding) if encoding else content

    assert dict(enumerate(rows, start=1)) == cells_of(read_delimited(file))


@table("text_files_refused")
def test_a_file_that_would_be_misread_is_refused(content: str, encoding: str | None, words: str) -> None:
    """A file that is no table, or whose rows would be mixed up, is refused; the message names the rows and no cell."""
    content = content.replace("DE", "zanzibar")
    with pytest.raises(InvalidInput) as caught:
        read_delimited(content.encode(encoding) if encoding else content)

    assert caught.value.message.removeprefix("source: ").startswith(words)
    assert "zanzibar" not in str(caught.value)


@table("text_encodings")
def test_the_encoding_is_known_by_the_words(text: str, encoding: str) -> None:
    """A file is read in the encoding in which all of its words are words of a language."""
    cells = read_delimited(f"id;first;last;city\n{text}".encode(encoding))

    assert text.splitlines()[0].split(";") == cells_of(cells)[2]


CELLS = st.text(st.sampled_from('ab ",;\n\tü'), max_size=6)
TABLES = st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=5)


@given(
    rows=TABLES,
    separator=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
@example(rows=[("", " ", ' "')], separator=",", end="\n", quoting=csv.QUOTE_MINIMAL)  # a quote of the cell itself
def test_a_written_table_comes_back(rows: list[tuple[str, ...]], separator: str, end: str, quoting: Any) -> None:
    """What Python's csv module writes comes back cell by cell, unless a cell looks like rows."""
    file = io.StringIO()
    names = ("client_user_id", "email", "city")
    csv.writer(file, delimiter=separator, lineterminator=end, quoting=quoting).writerows([names, *rows])
    try:
        found = list(cells_of(read_delimited(file.getvalue())).values())
    except InvalidInput:
        found = None
    may_look_like_rows = any("\n" in cell for row in rows for cell in row)

    assert [[cell or None for cell in row] for row in (names, *rows)] == found or (found is None and may_look_like_rows)


@given(st.text(st.sampled_from('ab ",\n\r'), max_size=30))
def test_rows_are_what_the_csv_module_reads(text: str) -> None:
    """Any text is read as by Python's strict reader, or refused."""
    content = f"id,city,name\n{text}"
    try:
        found = cells_of(read_delimited(content))
    except InvalidInput:
        return
    blank: list[str | None] = [None] * len(found[1])
    skips = ' "' in text
    rows = list(csv.reader(io.StringIO(content, newline=""), strict=True, skipinitialspace=skips))
    expected = {number: ([cell or None for cell in row] + blank)[: len(blank)] for number, row in enumerate(rows, 1)}
    assert skips or expected == found
