"""Text files: the separator, the encoding, and quotes that would swallow rows."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from cases import table
from messy_tables import cells_of
from payerkit import InvalidInput, read_payers
from payerkit.tables import propose_mapping
from payerkit.tables.text_files import read_delimited


@table("text_files")
def test_cells_are_the_text_of_the_file(
    content: str, encoding: str | None, rows: list[list[str | None]]
) -> None:
    """Every cell of every row is read as it is written, whatever separates cells and
    lines.
    """
    file = content.encode(encoding) if encoding else content

    assert dict(enumerate(rows, start=1)) == cells_of(read_delimited(file))


@table("text_files_refused")
def test_a_file_that_would_be_misread_is_refused(
    content: str, encoding: str | None, words: str
) -> None:
    """A file that is no table, or whose rows would be mixed up, is refused; the message
    names the rows and no cell.
    """
    content = content.replace("DE", "zanzibar")
    with pytest.raises(InvalidInput) as caught:
        read_payers(
            io.BytesIO(content.encode(encoding))
            if encoding
            else io.StringIO(content, newline="")
        )

    assert caught.value.message.removeprefix("source: ").startswith(words)
    assert "zanzibar" not in str(caught.value)
    # The frames of csv's own error would hold the whole file.
    assert caught.value.__context__ is None


@table("text_encodings")
def test_the_encoding_is_known_by_the_words(text: str, encoding: str) -> None:
    """A file is read in the encoding in which all of its words are words of a
    language.
    """
    cells = read_delimited(f"id;first;last;city\n{text}".encode(encoding))

    assert text.splitlines()[0].split(";") == cells_of(cells)[2]


PREFACE = "".join(f"A sentence, {n}, and more, of it\n" for n in range(60))
FAR_DOWN = f"{PREFACE}Customer ID;City\n7;Łódź\n"


@pytest.mark.parametrize(
    ("encoding", "named", "city"),
    [
        ("cp1250", {"encoding": "cp1250"}, "Łódź"),
        ("iso8859-2", {"encoding": "latin2"}, "Łódź"),  # of no usual encoding
        ("utf-8-sig", {"encoding": "cp1250"}, "Łódź"),  # the mark is certain
        ("utf-8", {}, "Łódź"),
    ],
)
def test_a_person_may_name_encoding_and_row_of_the_header(
    encoding: str, named: dict[str, str], city: str
) -> None:
    """A file with 60 lines of text in front, in an encoding that no rule knows."""
    file = FAR_DOWN.encode(encoding)
    with pytest.raises(InvalidInput, match="header_row=61"):
        read_payers(io.BytesIO(file), **named)  # type: ignore[arg-type]
    payers = read_payers(io.BytesIO(file), header_row=61, **named)  # type: ignore[arg-type]

    assert {62: ["7", city]} == cells_of(payers)
    assert ["client_user_id", "city"] == propose_mapping(
        io.BytesIO(file),
        header_row=61,
        **named,
    )["field"].to_list()


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"encoding": "utf-8"}, "encoding: the file is not utf-8. See line 62"),
        ({"encoding": "nope"}, "encoding: expected the name of an encoding"),
        ({"encoding": 5}, "encoding: expected the name of an encoding"),
        ({"encoding": "a\0b"}, "encoding: expected the name of an encoding"),
        ({"encoding": "undefined"}, "encoding: expected the name of an encoding"),
        ({"header_row": 99}, "header_row: there is nothing in row 99"),
        ({"header_row": 0}, "header_row: expected the number of a row"),
        ({"header_row": True}, "header_row: expected the number of a row"),
        ({"header_row": "61"}, "header_row: expected the number of a row"),
    ],
)
def test_what_a_person_names_must_be_right(named: dict[str, Any], words: str) -> None:
    """A wrong encoding or row is refused by its name, without a cell of the file."""
    with pytest.raises(InvalidInput, match=words) as caught:
        read_payers(
            io.BytesIO(FAR_DOWN.encode("cp1250")), **{"encoding": "cp1250", **named}
        )

    assert caught.value.__cause__ is None


CELLS = st.text(st.sampled_from('ab ",;\n\tü'), max_size=6)
TABLES = st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=5)


@given(
    rows=TABLES,
    separator=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
@example(
    rows=[("", " ", ' "')], separator=",", end="\n", quoting=csv.QUOTE_MINIMAL
)  # a quote of the cell itself
def test_a_written_table_comes_back(
    rows: list[tuple[str, ...]], separator: str, end: str, quoting: Any
) -> None:
    """What Python's csv module writes comes back cell by cell, unless a cell looks like
    rows.
    """
    file = io.StringIO()
    names = ("client_user_id", "email", "city")
    csv.writer(
        file, delimiter=separator, lineterminator=end, quoting=quoting
    ).writerows([names, *rows])
    try:
        found = list(cells_of(read_delimited(file.getvalue())).values())
    except InvalidInput:
        found = None
    may_look_like_rows = any("\n" in cell for row in rows for cell in row)

    assert [[cell or None for cell in row] for row in (names, *rows)] == found or (
        found is None and may_look_like_rows
    )


@given(st.text(st.sampled_from('ab ",\n\r'), max_size=30))
def test_rows_are_what_the_csv_module_reads(text: str) -> None:
    """Any text is read as by Python's strict reader, or refused."""
    assume(' "' not in text)  # whether blanks before a quote count, the file tells
    content = f"id,city,name\n{text}"
    try:
        found = cells_of(read_delimited(content))
    except InvalidInput:
        return
    blank: list[str | None] = [None] * len(found[1])
    rows = list(csv.reader(io.StringIO(content, newline=""), strict=True))
    expected = {
        number: ([cell or None for cell in row] + blank)[: len(blank)]
        for number, row in enumerate(rows, 1)
    }
    assert expected == found
