"""Corrections files: the sender's own rows with what is wrong, corrected by a person,
and read again.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

import payerkit
from cases import said, table
from messy_tables import written
from payerkit import InvalidInput
from payerkit.client import Client
from payerkit.reasons import Outcome
from payerkit.runs import RunOptions
from payerkit.tables import SourceTable
from payerkit.tables.corrections import OwnFile, own_file, own_header
from payerkit.tables.damage import file_finding
from payerkit.tables.mapping import FileColumn
from payerkit.tables.normalise import CellFinding, Change, Origin
from payerkit.tables.sheet import Sheet
from payerkit.tables.spreadsheets import COLOURS
from published import TYPED_PAYER, typed_row

KINDS = ("xlsx", "csv")
TITLE = "payerkit: leave this column as it is"
HEADERS = {
    "client_user_id": "Our no.",
    "email": "Mail",
    "ssn": "=SSN",
    "account_number": "Account #",
}
"""Names that the sender has for some columns."""


def file_columns(
    headers: Iterable[str], names: Sequence[str]
) -> tuple[FileColumn, ...]:
    """Return the columns of a file. names: our column of each, "" for one that is left
    out.
    """
    return tuple(
        FileColumn(
            header, header, place, names[place] or None if place < len(names) else None
        )
        for place, header in enumerate(headers)
    )


def source(*rows: dict[str, Any], **known: Any) -> SourceTable:
    """Return a table as it is read from a file, whose header is in row 2 and which has
    a column for remarks.
    """
    labels = pd.RangeIndex(3, 3 + len(rows), name="row")
    table = pd.DataFrame(rows, index=labels, dtype="object")
    cells = pd.concat([pd.Series("=NOW()", labels), table], axis=1)
    headers = (
        "remarks",
        *(HEADERS.get(str(name), str(name)) for name in table.columns),
    )
    facts: dict[str, Any] = {
        "file": "messy.xlsx",
        "sheet": "March",
        "header_row": 2,
        "columns": file_columns(headers, ["", *table.columns]),
        "cells": cells.set_axis(range(len(headers)), axis=1),
        "settings": {"date_order": "day_first"},
    }
    return SourceTable.of(table, Origin(**(facts | known)))


def again(path: Path) -> tuple[OwnFile, pd.DataFrame, pd.DataFrame]:
    """Return what a corrections file says about itself, its header and its rows,
    restored, as they are read.
    """
    cells = [[cell or None for cell in texts] for texts in written(path)]
    frame = pd.DataFrame(
        cells, index=pd.RangeIndex(1, 1 + len(cells), name="row"), dtype="object"
    )
    header = own_header(Sheet(frame))
    assert header is not None
    own = own_file(cells[header - 1])
    restored = own.restore(frame)
    return own, restored.loc[[header]], restored.loc[header + 1 :]


def problems(path: Path) -> dict[str, str]:
    """Return the problems of each row that was written, by its number in the table that
    was sent.
    """
    header, *rows = written(path)
    place = header.index("problems")
    return {cells[place + 1]: cells[place] for cells in rows}


def texts_of(own: OwnFile, rows: pd.DataFrame, name: str) -> list[str]:
    """Return the texts of our column in a corrections file."""
    (place,) = [number for number, column in own.columns.items() if column == name]
    return rows[place].tolist()


def save(table: pd.DataFrame, path: Path) -> int:
    """Plan a table and save what needs something."""
    return payerkit.plan_onboarding(table).save_corrections(path)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_need_something_are_written(kind: str, tmp_path: Path) -> None:
    """Rows with errors and with warnings are there, in the sender's columns and order,
    and no others.
    """
    path = tmp_path / f"a.{kind}"
    table = source(
        typed_row(0),
        typed_row(1, email="bad"),
        typed_row(2, country="UK"),
        typed_row(3),
    )

    assert 2 == save(table, path)
    header, *rows = written(path)
    assert [
        "remarks",
        *(HEADERS.get(str(name), str(name)) for name in table.columns),
    ] == [name.removeprefix("'") for name in header[:-3]]
    assert {
        "4": "error Mail: Not an e-mail address. Write it as name@example.com.",
        "5": "warning country: Not an ISO 3166-1 code. Write GB.",
    } == problems(path)
    assert ["user-1", "user-2"] == [cells[1] for cells in rows]


def test_nothing_to_correct_makes_no_file(tmp_path: Path) -> None:
    """A plan without errors and warnings has nothing to save."""
    assert (0, False) == (
        save(source(typed_row(0)), tmp_path / "a.xlsx"),
        (tmp_path / "a.xlsx").exists(),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_rows_whose_payer_is_not_sent_are_written(kind: str, tmp_path: Path) -> None:
    """An account in a row of its own waits for the row of its payer, which is in the
    file, too.
    """
    account = typed_row(1) | dict.fromkeys(
        [name for name in TYPED_PAYER if name != "client_user_id"]
    )
    save(source(typed_row(1, email="bad"), account), path := tmp_path / f"a.{kind}")

    assert (
        "not sent: Its payer was not sent: see the row of the payer."
        == problems(path)["4"]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_held_rows_are_written(kind: str, tmp_path: Path) -> None:
    """The warning for which a row is held is its problem."""
    plan = payerkit.plan_onboarding(
        source(typed_row(0), typed_row(1, country="UK")),
        options=RunOptions(hold="warnings"),
    )
    plan.save_corrections(path := tmp_path / f"a.{kind}")

    assert {"4": "warning country: Not an ISO 3166-1 code. Write GB."} == problems(path)


def test_a_file_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """A text that no cell of Excel can hold is refused: it would be cut."""
    with pytest.raises(InvalidInput, match="row 3 has a text that is too long"):
        save(
            source(typed_row(1, email="bad", bank_name="x" * 40_000)),
            tmp_path / "a.xlsx",
        )

    assert [] == list(tmp_path.iterdir())


def test_a_plan_saves_the_rows_that_it_was_made_of(tmp_path: Path) -> None:
    """Problems must not stand beside the rows of others, whatever becomes of the
    table.
    """
    table = source(typed_row(0), typed_row(1, email="bad"))
    plan = payerkit.plan_onboarding(table)
    table["Mail"] = "x@example.com"
    table.index = table.index[::-1]

    assert 1 == plan.save_corrections(path := tmp_path / "a.csv")
    assert ["4"] == [*problems(path)]


# What it looks like


def book_of(tmp_path: Path, *rows: dict[str, Any], **known: Any) -> Any:
    """Return the workbook of a table's problems."""
    save(source(*rows, **known), path := tmp_path / "a.xlsx")
    return openpyxl.load_workbook(path)


def test_wrong_cells_are_coloured(tmp_path: Path) -> None:
    """Ground and text colour differ by severity; both are set, so that they are legible
    in a dark theme, too.
    """
    sheet = book_of(tmp_path, typed_row(1, email="bad", country="UK")).worksheets[0]
    headers = [cell.value for cell in sheet[1]]
    error, warning, plain = (
        sheet.cell(2, headers.index(name) + 1) for name in ("Mail", "country", "city")
    )

    for cell, kind in ((error, "error"), (warning, "warning")):
        assert COLOURS[kind] == (cell.fill.fgColor.rgb[2:], cell.font.color.rgb[2:])
    assert plain.fill.fill_type is None


def test_cells_are_text_and_none_is_computed(tmp_path: Path) -> None:
    """Every cell is a string, in Excel's format of text where it is the sender's."""
    book = book_of(
        tmp_path,
        typed_row(1, email="bad", bank_name="=1+1", account_number="0012345678"),
    )
    cells = [
        cell
        for sheet in book
        for cells in sheet.iter_rows()
        for cell in cells
        if cell.value is not None
    ]

    assert {"s"} == {cell.data_type for cell in cells}
    assert {"@"} == {cell.number_format for cell in book.worksheets[0][2]}
    assert {"=1+1", "=NOW()", "0012345678"} <= {
        cell.value for cell in book.worksheets[0][2]
    }


def test_a_sheet_that_a_person_added_is_not_read(tmp_path: Path) -> None:
    """Also if it looks like a table of payers."""
    book = book_of(tmp_path, typed_row(1, email="bad"))
    notes = book.create_sheet("notes", 0)
    notes.append(["client_user_id", "email", "first_name"])
    notes.append(["user-9", "asked@example.com", "Nobody"])
    book.save(tmp_path / "b.xlsx")

    assert [3] == list(payerkit.read_payers(tmp_path / "b.xlsx").index)


@pytest.mark.parametrize("code", ["hidden_row", "struck_row"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_somebody_left_out_are_asked_about_again(
    kind: str, code: str, tmp_path: Path
) -> None:
    """No row of the file is hidden or struck out, so each says it; whoever clears its
    last cell wants it sent.
    """
    found = [
        CellFinding(3, "client_user_id", "user-1", file_finding(code, "client_user_id"))
    ]
    save(
        source(typed_row(1, email="bad"), typed_row(2, email="bad"), findings=found),
        path := tmp_path / f"a.{kind}",
    )
    own, _, rows = again(path)
    rows["client_user_id"] = "another"

    assert [(0, code)] == [
        (place, finding.code) for place, _, finding in own.identify(rows)[1]
    ]
    assert "clear its last cell" in problems(path)["3"]


def test_a_text_file_keeps_its_separator(tmp_path: Path) -> None:
    """The sender's program opens the file as it opened the other one."""
    (tmp_path / "messy.csv").write_text("remarks;Our no.;Mail\n")
    save(
        source(typed_row(1, email="bad"), path=tmp_path / "messy.csv"),
        path := tmp_path / "a.csv",
    )

    assert path.read_text("utf-8-sig").startswith("remarks;Our no.;Mail;")


# What it holds, and what it says when it is read again


@pytest.mark.parametrize("kind", KINDS)
@table("corrected_texts")
def test_texts_come_back_unchanged(kind: str, text: str, tmp_path: Path) -> None:
    """What a spreadsheet would compute is written as text, and read again without an
    apostrophe.
    """
    save(
        source(typed_row(1, email="bad", bank_name=text)),
        path := tmp_path / f"a.{kind}",
    )
    own, _, rows = again(path)

    assert [text] == texts_of(own, rows, "bank_name")


def test_no_cell_of_a_text_file_is_a_formula(tmp_path: Path) -> None:
    """Neither a header nor a cell begins as a formula does."""
    save(
        source(typed_row(1, email="bad", bank_name="=1+1")), path := tmp_path / "a.csv"
    )

    assert [] == [
        cell for cells in written(path) for cell in cells if cell.startswith("=")
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_written_is_a_finding(kind: str, tmp_path: Path) -> None:
    """A control character, and half of a pair, become the replacement character, which
    nobody sends unseen.
    """
    save(
        source(typed_row(1, email="bad", bank_name="a\x00b\ud800")),
        path := tmp_path / f"a.{kind}",
    )

    assert "a\ufffdb\ufffd" in written(path)[1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_knows_itself(kind: str, tmp_path: Path) -> None:
    """It has the fields of the sender's columns, what was left out, and how the file
    was read.
    """
    table = source(typed_row(1, email="bad")).drop(
        columns="bank_state"
    )  # left out by whoever sent it
    save(table, path := tmp_path / f"a.{kind}")
    own, header, rows = again(path)
    places = {name: each.place for name, each in table.origin.by_name.items()}
    expected = {
        place: name if name in table.columns else None for name, place in places.items()
    }

    assert {0: None} | expected == own.columns
    assert frozenset(range(len(own.columns), header.shape[1])) == frozenset(own.ours)
    assert {"date_order": "day_first"} == own.token.settings
    assert [3] == list(own.identify(rows)[0])


@pytest.mark.parametrize(
    "text",
    [
        TITLE,
        f"{TITLE} pk1.abc",
        f"{TITLE} pk2.eJyLNjWPBQAD",
        f"{TITLE} pk1.eJyLNjWPBQAC8AFI",
    ],
)
def test_a_changed_header_is_refused(text: str) -> None:
    """What the rows are cannot be known then, and nothing is guessed."""
    with pytest.raises(InvalidInput, match="was changed"):
        own_file(["client_user_id", text])


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["3", "4"], [3, 4]),
        (["4", "3"], [4, 3]),
        (["3", None], [3, 6]),  # a new row: no row of the table has its label
        (["3", " ", "4", None], [3, 6, 4, 7]),
        (["4", "4"], [4, 6]),  # a row that was copied
    ],
)
def test_rows_keep_their_labels(
    tokens: list[str | None], expected: list[int], tmp_path: Path
) -> None:
    """Rows are those of the table that was sent, and new ones are numbered behind
    them.
    """
    save(
        source(typed_row(1, email="bad"), typed_row(2, email="bad"), typed_row(3)),
        path := tmp_path / "a.csv",
    )
    own, _, rows = again(path)
    known = dict(zip(["3", "4"], rows[own.ours[0]], strict=True))
    made = pd.DataFrame(
        {own.ours[0]: [known.get(token or "", token) for token in tokens]}
    )

    assert expected == list(own.identify(made.reindex(columns=range(40)))[0])


def test_a_changed_token_is_refused(tmp_path: Path) -> None:
    """A damaged cell must not pass because what tells of it was damaged."""
    save(source(typed_row(1, email="bad")), path := tmp_path / "a.csv")
    own, _, rows = again(path)
    for text in ("3", "pk1.x", str(rows[own.ours[0]].iloc[0])[:-3]):
        rows[own.ours[0]] = text
        with pytest.raises(InvalidInput, match="row 2: its last cell"):
            own.identify(rows)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "after", "is_found"),
    [
        ("981273645500000000", "981273645500000000", True),  # nobody corrected it
        ("981273645500000000", "981273645512345678", False),
        ("=A1+B1", "=A1+B1", True),
        (
            "a\r\nb",
            "a\nb",
            True,
        ),  # what saving does to the ends of lines is no correction
        ("1985-12-31", None, False),
    ],
)
def test_damage_is_still_there_if_nobody_corrects_it(
    kind: str, text: str, after: str | None, is_found: bool, tmp_path: Path
) -> None:
    """All cells are text in the file, so each row says which of its cells were
    damaged.
    """
    finding = CellFinding(
        3, "account_number", text, file_finding("digits_lost", "account_number")
    )
    save(
        source(typed_row(1, account_number=text, email="bad"), findings=[finding]),
        path := tmp_path / f"a.{kind}",
    )
    own, _, rows = again(path)
    place = next(
        place for place, name in own.columns.items() if name == "account_number"
    )
    if text != after:
        rows[place] = after

    expected = [(0, "account_number", finding.finding)] if is_found else []
    assert expected == list(own.identify(rows)[1])


def test_damage_that_is_corrected_in_the_table_is_not_written(tmp_path: Path) -> None:
    """Whoever corrected a cell in the notebook is rid of the finding, and the file has
    the new text.
    """
    finding = CellFinding(
        3,
        "account_number",
        "98127364551",
        file_finding("digits_lost", "account_number"),
    )
    table = source(typed_row(1, email="bad"), findings=[finding])
    table.loc[3, "account_number"] = "98127364559"
    save(table, path := tmp_path / "a.csv")
    own, _, rows = again(path)

    assert [] == list(own.identify(rows)[1])
    assert "98127364559" in written(path)[1]


def test_normalised_cells_are_written_as_the_sender_has_them(tmp_path: Path) -> None:
    """They are rewritten again when the file is read as before."""
    changes = [Change(3, "phone", "(212) 555-7391", "+12125557391")]
    cells = source(typed_row(1, email="bad", phone="(212) 555-7391")).origin.cells
    table = source(typed_row(1, email="bad"), changes=changes, cells=cells)
    save(table, path := tmp_path / "a.csv")

    assert "(212) 555-7391" in written(path)[1]


def test_columns_that_were_added_are_behind_the_senders(tmp_path: Path) -> None:
    """What was added in the notebook is known by its own name."""
    table = source(typed_row(1, email="bad"))
    table["holder_is_payer"] = "no"
    save(table, path := tmp_path / "a.csv")
    own, header, _ = again(path)

    assert ["holder_is_payer", "problems"] == header.iloc[0].tolist()[-4:-2]
    assert "holder_is_payer" == own.columns[max(own.columns)]


def test_a_file_of_a_file_has_our_columns_once(tmp_path: Path) -> None:
    """What is read from a corrections file can be saved again."""
    save(source(typed_row(1, email="bad")), first := tmp_path / "a.csv")
    save(payerkit.read_payers(first), second := tmp_path / "b.csv")

    assert [cells[:-1] for cells in written(first)] == [
        cells[:-1] for cells in written(second)
    ]


# Tables without a file


@pytest.mark.parametrize("kind", KINDS)
def test_a_dataframe_has_its_own_columns(kind: str, tmp_path: Path) -> None:
    """Names and order are those of the frame; labels of text come back, too."""
    table = pd.DataFrame(
        [{"clientUserId": "a"} | typed_row(1, email="bad")], index=["first"]
    ).drop(columns="client_user_id")
    save(table, path := tmp_path / f"a.{kind}")
    own, header, rows = again(path)

    assert table.columns.tolist() == header.iloc[0].tolist()[:-3]
    assert ("client_user_id", "postcode") == (
        own.columns[0],
        own.columns[list(table.columns).index("postcode")],
    )
    assert ["first"] == list(own.identify(rows)[0])
    assert ["first", "new row 1"] == list(own.identify(pd.concat([rows, rows]))[0])


@pytest.mark.parametrize(
    ("column", "cell", "text", "code"),
    [
        (
            "account_number",
            98127364551,
            "98127364551",
            "became_number",
        ),  # zeros in front may be lost
        ("postcode", 12207.0, "12207.0", "became_number"),
        ("bank_name", True, "True", "became_boolean"),
        ("client_user_id", dt.date(1985, 12, 31), "1985-12-31", "became_date"),
    ],
)
def test_cells_that_are_no_text_stay_errors(
    column: str, cell: Any, text: str, code: str, tmp_path: Path
) -> None:
    """They are text in the file, which must not make them right."""
    save(pd.DataFrame([typed_row(1) | {column: cell}]), path := tmp_path / "a.csv")
    own, _, rows = again(path)
    found = own.identify(rows)[1]

    assert [(0, column, code)] == [(at, name, each.code) for at, name, each in found]
    assert [text] == texts_of(own, rows, column)


def test_rows_that_were_numbered_anew_have_our_columns(tmp_path: Path) -> None:
    """The sender's cells are known by the numbers of rows alone."""
    save(
        source(typed_row(1, email="bad")).reset_index(drop=True),
        path := tmp_path / "a.csv",
    )

    assert "client_user_id" == written(path)[0][0]


# Reports


@pytest.mark.parametrize(
    ("state", "reason", "expected"),
    [
        ("refused", said("No."), "refused: No."),
        ("refused", Outcome("stored_failed", {"status": "failed"}), None),
        ("not_sent", said("No."), None),  # the same call again sends it
        ("not_sent", Outcome("perhaps_there", {"ids": ["a"]}), None),
        ("not_sent", Outcome("row_gone", {"ids": ["a"]}), "not sent: row_gone: "),
        ("waiting", said("No."), None),
        ("unknown", said("No."), None),
    ],
)
def test_a_report_says_why_rows_are_not_done(
    state: str,
    reason: Outcome,
    expected: str | None,
    shared: Client,
    tmp_path: Path,
) -> None:
    """The reason stands in the problems of the row, if there is something to correct in
    it.
    """
    table = source(typed_row(8), typed_row(9, email="bad"))
    report = payerkit.onboard(
        shared, table, journal=tmp_path / "journal", options=RunOptions(progress=False)
    )
    report._rows[0] = report._rows[0]._replace(state=state, reason=reason)
    report.save_corrections(path := tmp_path / "a.csv")

    problem = problems(path).get("3")
    assert (expected is None) == (problem is None)
    assert str(problem).startswith(str(expected))


@pytest.mark.parametrize("kind", KINDS)
def test_a_corrections_file_asks_for_no_column(kind: str, tmp_path: Path) -> None:
    """Its columns are what they were, and payerkit's own are not among them."""
    path = tmp_path / f"to-correct.{kind}"
    save(source(typed_row(0, email="bad")), path)
    proposal = payerkit.tables.propose_mapping(path)
    fields = proposal["field"]

    assert not proposal["is_open"].any()
    assert ["email", None] == fields[["Mail", "remarks"]].tolist()
    assert list(payerkit.read_payers(path).columns) == fields.dropna().tolist()
    assert not any("problems" in name or TITLE in name for name in fields.index)
