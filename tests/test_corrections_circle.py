"""What is wrong comes back, is corrected by a person, and is sent in the same journal,
and nothing else is.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
import pandas as pd
import pytest

import payerkit
from messy_tables import written
from onboarding_tables import run_arguments
from payerkit import InvalidInput
from payerkit.client import Client
from published import TYPED_ACCOUNT, as_columns, typed_row

KINDS = ("xlsx", "csv")
HEADERS = {
    "client_user_id": "Kundennummer",
    "email": "E-Mail",
    "country": "Land",
    "account_number": "Account #",
}
FIRST = 3
"""The row of the messy workbook below its header."""


@pytest.fixture
def client() -> Iterator[Client]:
    """Return a client of a sandbox of its own."""
    with payerkit.sandbox(seed=17, clock="manual") as client:
        yield client


def write_messy(path: Path, *rows: Mapping[str, Any]) -> None:
    """Write a workbook with a title, and headers as people have them."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.append(["Payers of March"])
    sheet.append([HEADERS.get(name, name) for name in rows[0]])
    for each in rows:
        sheet.append(list(each.values()))
    book.save(path)


def correct(path: Path, header: str, texts: Mapping[str, str]) -> None:
    """Type texts into a column of a corrections file, by client user id, as a person
    does.
    """
    if path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = list(csv.reader(file))
        own, place = table[0].index("Kundennummer"), table[0].index(header)
        for cells in table[1:]:
            cells[place] = texts.get(cells[own], cells[place])
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file).writerows(table)
        return
    book = openpyxl.load_workbook(path)
    sheet = book.worksheets[0]
    names = [cell.value for cell in sheet[1]]
    own, place = names.index("Kundennummer"), names.index(header)
    for cells in sheet.iter_rows(min_row=2):
        cells[place].value = texts.get(str(cells[own].value), cells[place].value)
    book.save(path)


def accounts(client: Client) -> dict[str, int]:
    """Return how many accounts each payer has."""
    return {f"user-{n}": count_accounts(client, f"user-{n}") for n in range(4)}


def count_accounts(client: Client, payer: str) -> int:
    """Return how many accounts a payer has, -1 for a payer who is not on board."""
    try:
        return len(payerkit.list_payment_details(client, payer))
    except payerkit.errors.NotFound:
        return -1


@pytest.mark.parametrize("kind", KINDS)
def test_the_circle_closes(kind: str, client: Client, tmp_path: Path) -> None:
    """Only what was corrected is sent; a damaged cell that nobody corrected is still an
    error.
    """
    rows = (
        typed_row(0),
        typed_row(1, email="bad"),
        typed_row(2, account_number=981273645500000000),
        typed_row(3, country="Germany"),
    )
    write_messy(tmp_path / "messy.xlsx", *rows)
    options = run_arguments(journal=tmp_path / "run.journal")
    table = payerkit.read_payers(tmp_path / "messy.xlsx")
    first = payerkit.onboard(client, table, **options)
    path = tmp_path / f"to-correct.{kind}"

    assert ["done", "not_sent", "not_sent", "not_sent"] == list(first.frame["state"])
    assert {"user-0": 1, "user-1": -1, "user-2": -1, "user-3": -1} == accounts(client)
    assert 3 == payerkit.plan_onboarding(table).save_corrections(path)

    correct(path, "E-Mail", {"user-1": "right@example.com"})
    correct(path, "Land", {"user-3": "US"})
    again = payerkit.read_payers(path)
    second = payerkit.onboard(client, again, **options)

    assert [FIRST + 1, FIRST + 2, FIRST + 3] == list(again.index)
    assert ["done", "not_sent", "done"] == list(second.frame["state"])
    assert "digits" in str(second.frame.loc[FIRST + 2, "reason"])
    assert {"user-0": 1, "user-1": 1, "user-2": -1, "user-3": 1} == accounts(client)

    correct(path, "Account #", {"user-2": "98127364552"})
    third = payerkit.onboard(client, payerkit.read_payers(path), **options)

    assert ["done"] * 3 == list(third.frame["state"])
    assert {"user-0": 1, "user-1": 1, "user-2": 1, "user-3": 1} == accounts(client)


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_service_refused_comes_back(
    kind: str, client: Client, tmp_path: Path
) -> None:
    """The corrections file of a report has the rows that the run did not send, and they
    are sent once corrected. A row that is done needs nothing, warned of or not.
    """
    write_messy(
        tmp_path / "messy.xlsx", typed_row(0, country="UK"), typed_row(1, email="bad")
    )
    options = run_arguments(journal=tmp_path / "run.journal")
    table = payerkit.read_payers(tmp_path / "messy.xlsx")
    report = payerkit.onboard(client, table, **options)
    path = tmp_path / f"to-correct.{kind}"

    assert 1 == report.save_corrections(path)

    correct(path, "E-Mail", {"user-1": "right@example.com"})
    second = payerkit.onboard(client, payerkit.read_payers(path), **options)

    assert ["done"] == list(second.frame["state"])
    assert (1, 1) == (
        count_accounts(client, "user-0"),
        count_accounts(client, "user-1"),
    )


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_placeholder_that_is_meant_is_kept_in_its_row(
    kind: str, normalise: bool, tmp_path: Path
) -> None:
    """Who writes "keep" and the word where the problems stand keeps this word in this
    row, also in the next corrections file; its other cells are still checked.
    """
    words = {"last_name": "null", "address_line2": "N/A"}
    write_messy(tmp_path / "messy.xlsx", typed_row(1, **words), typed_row(2, **words))
    first, second = tmp_path / f"first.{kind}", tmp_path / f"second.{kind}"
    plan = payerkit.plan_onboarding(payerkit.read_payers(tmp_path / "messy.xlsx"))
    plan.save_corrections(first)
    correct(first, "problems", {"user-1": "Keep null"})
    payerkit.plan_onboarding(payerkit.read_payers(first)).save_corrections(second)
    correct(second, "address_line2", {"user-1": "", "user-2": ""})
    table = payerkit.read_payers(second, normalise=normalise)
    renumbered = table.reset_index(drop=True).set_axis([FIRST + 1, FIRST])

    assert ["to_send", "not_sent"] == planned_states(table)
    assert ["not_sent", "not_sent"] == planned_states(renumbered)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kept_word_stays_in_its_row_of_a_table_of_accounts(
    kind: str, tmp_path: Path
) -> None:
    """No other row has the word in its corrections, whatever its label is since the
    rows were numbered anew.
    """
    accounts = [
        {
            name: typed_row(place)[name]
            for name in ("client_user_id", *as_columns(TYPED_ACCOUNT))
        }
        | {"bank_name": "null", "account_name": "N/A"}
        for place in (1, 2)
    ]
    write_messy(tmp_path / "messy.xlsx", *accounts)
    first, second = tmp_path / f"first.{kind}", tmp_path / f"second.{kind}"
    table = payerkit.read_bank_details(tmp_path / "messy.xlsx")
    payerkit.plan_onboarding(table).save_corrections(first)
    correct(first, "problems", {"user-1": "Keep null"})
    table = payerkit.read_bank_details(first)
    payerkit.plan_onboarding(table).save_corrections(second)
    renumbered = table.reset_index(drop=True).set_axis([FIRST + 1, FIRST])
    third = tmp_path / f"third.{kind}"
    payerkit.plan_onboarding(renumbered).save_corrections(third)

    assert {"user-1"} == kept_in(second)
    assert set() == kept_in(third)


def kept_in(path: Path) -> set[str]:
    """Return the ids of the rows of a corrections file in which a word is kept."""
    names, *lines = written(path)
    problems = names.index("problems")
    return {
        line[names.index("Kundennummer")]
        for line in lines
        if line[problems].startswith("keep ")
    }


def planned_states(table: pd.DataFrame) -> list[str]:
    """Return what a run would do with each row."""
    return payerkit.plan_onboarding(table).frame["state"].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_normalise_rewrites_no_damaged_cell_of_a_corrections_file(
    kind: str, tmp_path: Path
) -> None:
    """A phone that was a number in the table is an error until a person has typed it,
    though it has a reading.
    """
    path = tmp_path / f"to-correct.{kind}"
    before = payerkit.plan_onboarding(
        payerkit.read_payers(
            pd.DataFrame([typed_row(0, phone=2125557391)]), normalise=True
        )
    )
    before.save_corrections(path)
    after = payerkit.plan_onboarding(payerkit.read_payers(path, normalise=True))

    assert ["not_text"] == list(before.findings.query("severity == 'error'")["code"])
    assert ["became_number"] == list(
        after.findings.query("severity == 'error'")["code"]
    )
    assert (0, 0) == (len(before.changes), len(after.changes))


def test_a_date_of_a_corrections_file_is_asked_about_until_somebody_says_its_order(
    tmp_path: Path,
) -> None:
    """date_order says what the cell means, so it is a correction."""
    write_messy(
        tmp_path / "messy.xlsx",
        typed_row(0, date_of_birth="03/04/1979", bank_date_of_birth="1979-04-03"),
    )
    plan = payerkit.plan_onboarding(payerkit.read_payers(tmp_path / "messy.xlsx"))
    plan.save_corrections(tmp_path / "to-correct.xlsx")
    asked = payerkit.read_payers(tmp_path / "to-correct.xlsx", normalise=True)
    told = payerkit.read_payers(
        tmp_path / "to-correct.xlsx", normalise=True, date_order="day_first"
    )

    assert ["date_order"] == list(
        payerkit.plan_onboarding(asked).findings.query("severity == 'error'")["code"]
    )
    assert ["1979-04-03"] == told["date_of_birth"].tolist()
    assert 1 == payerkit.plan_onboarding(told).counts["to_send"]


NOTE = 'Kundin seit 2019;\n"Müller", bitte anrufen'


def table_and_file(folder: Path, kind: str) -> tuple[pd.DataFrame, Path]:
    """Return a table as it was read, and the corrections file of all of its rows."""
    rows = [
        typed_row(
            number,
            client_user_id=f"0000{number}",
            account_number=f"0081273645{number}",
            bank_name="@home Bank",
            phone="+1999",  # which is warned of, so that all rows are written
        )
        | {
            "date_of_birth": "1979-04-03",
            "bank_date_of_birth": "1979-04-13",
            "Notiz": NOTE,
            "Notiz 2": "",
        }
        for number in (1, 2, 3)
    ]
    path = folder / "messy.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            [*(HEADERS.get(name, name).replace("Notiz 2", "Notiz") for name in rows[0])]
        )
        writer.writerows(each.values() for each in rows)
    table = payerkit.read_payers(
        path, mapping={"Notiz": None}, normalise=True, date_order="day_first"
    )
    payerkit.plan_onboarding(table).save_corrections(folder / f"to-correct.{kind}")
    return table, folder / f"to-correct.{kind}"


Cells = list[list[str]]


def as_csv(
    cells: Cells,
    folder: Path,
    *,
    name: str = "a.csv",
    encoding: str = "utf-8",
    **options: Any,
) -> Path:
    """Write a text file."""
    path = folder / name
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, **options).writerows(cells)
    return path


def as_xlsx(cells: Sequence[Sequence[Any]], folder: Path) -> Path:
    """Write a workbook with another sheet in front."""
    book = openpyxl.Workbook()
    book.worksheets[0].append(["Please correct until Friday"])
    sheet = book.create_sheet("March")
    for each in cells:
        sheet.append(each)
    book.save(folder / "a.xlsx")
    return folder / "a.xlsx"


def mapped(cells: Cells, change: Callable[[str], Any]) -> Any:
    """Return the cells with a change to each below the header."""
    return [cells[0], *([change(cell) for cell in each] for each in cells[1:])]


def plain(cell: str) -> str:
    """Return what a spreadsheet makes of a text file's cell: no zeros in front."""
    return str(int(cell)) if cell.isdigit() else cell


def as_number(cell: str) -> str | int:
    """Return a text of digits as a number."""
    return int(cell) if cell.isdigit() else cell


def american(cell: str) -> str:
    """Return a date as a spreadsheet with American settings writes it."""
    year, _, rest = cell.partition("-")
    return (
        f"{int(rest[:2])}/{int(rest[3:])}/{year}"
        if len(cell) == 10 and year == "1979"
        else cell
    )


def shifted(cells: Cells, column: int) -> Cells:
    """Return the cells with one column sorted apart from the others."""
    texts = [cells[-1][column], *(each[column] for each in cells[1:-1])]
    moved = [
        [*each[:column], text, *each[column + 1 :]]
        for each, text in zip(cells[1:], texts, strict=True)
    ]
    return [cells[0], *moved]


def without(cells: Cells, column: int) -> Cells:
    """Return the cells without a column."""
    return [
        [cell for place, cell in enumerate(each) if place != column] for each in cells
    ]


def place_of(cells: Cells, header: str) -> int:
    """Return the number of a column."""
    return next(place for place, name in enumerate(cells[0]) if name.startswith(header))


class Change(NamedTuple):
    """What people and programs do to a file; save: how it is written then."""

    reason: str
    change: Callable[[Cells], Sequence[Sequence[Any]]] = list
    save: Callable[..., Path] = as_csv
    kind: str = "csv"
    options: Mapping[str, Any] = {}


SAME = [
    Change("rows are sorted", lambda cells: [cells[0], *cells[:0:-1]]),
    Change("columns are sorted", lambda cells: [each[::-1] for each in cells]),
    Change("a title above", lambda cells: [["For Anna"], [], *cells]),
    Change(
        "blank rows",
        lambda cells: [*cells[:2], [""] * len(cells[0]), *cells[2:], [], []],
    ),
    Change("a row is copied", lambda cells: [*cells, cells[1]]),
    Change("a row is a new one", lambda cells: [*cells[:-1], [*cells[-1][:-1], ""]]),
    Change(
        "the first of two columns of one name is removed",
        lambda cells: without(cells, place_of(cells, "Notiz")),
    ),
    Change(
        "the problems are removed",
        lambda cells: without(cells, place_of(cells, "problems")),
    ),
    Change(
        "apostrophes are dropped",
        lambda cells: mapped(cells, lambda cell: cell.removeprefix("'")),
    ),
    Change("semicolons", options={"delimiter": ";"}),
    Change("Windows-1252", options={"encoding": "cp1252"}),
    Change(
        "UTF-16 with tabs",
        options={"encoding": "utf-16", "delimiter": "\t", "name": "Unicode.txt"},
    ),
    Change(
        "all cells in quotes",
        options={"quoting": csv.QUOTE_ALL, "lineterminator": "\n"},
    ),
    Change("renamed", options={"name": "March final (2).CSV"}),
    Change("saved as a workbook", save=as_xlsx),
    Change("another sheet in front", save=as_xlsx, kind="xlsx"),
    Change("saved as text", kind="xlsx"),
]
TOLD = [
    Change("numbers lose their zeros", lambda cells: mapped(cells, plain)),
    Change(
        "ids lose their zeros",
        lambda cells: [[plain(each[0]), *each[1:]] for each in cells],
    ),
    Change(
        "texts become numbers", lambda cells: mapped(cells, as_number), as_xlsx, "xlsx"
    ),
    Change("dates are rewritten", lambda cells: mapped(cells, american)),
    Change("ids are sorted apart", lambda cells: shifted(cells, 0)),
    Change(
        "the hidden column stays",
        lambda cells: shifted(cells, len(cells[0]) - 1),
        as_xlsx,
        "xlsx",
    ),
]
REFUSED = [
    Change("a column is added", lambda cells: [[*each, "x"] for each in cells]),
    Change(
        "a column is renamed", lambda cells: [["Nummer", *cells[0][1:]], *cells[1:]]
    ),
    Change(
        "the last column is removed", lambda cells: without(cells, len(cells[0]) - 1)
    ),
    Change(
        "the last cells are cut", lambda cells: mapped(cells, lambda cell: cell[:25])
    ),
    Change(
        "the header is cut",
        lambda cells: [[name[:60] for name in cells[0]], *cells[1:]],
    ),
    Change("the header is removed", lambda cells: cells[1:]),
]


def changed(case: Change, folder: Path) -> tuple[pd.DataFrame, Path]:
    """Return a table as it was read, and its corrections file, changed."""
    table, path = table_and_file(folder, case.kind)
    return table, case.save(case.change(written(path)), folder, **case.options)


def sent(path: Path) -> tuple[int, list[dict[Hashable, Any]]]:
    """Return how many rows a file has, and those that would be sent."""
    table = payerkit.read_payers(path)
    is_sent = payerkit.plan_onboarding(table).frame["state"] == "to_send"
    return len(table), pd.DataFrame(table)[is_sent.to_numpy()].to_dict("records")


@pytest.mark.parametrize("case", SAME, ids=lambda case: case.reason)
def test_values_come_back_as_they_were(case: Change, tmp_path: Path) -> None:
    """A file that was sorted, renamed or saved by another program has the values of the
    table, all to be sent.
    """
    table, path = changed(case, tmp_path)
    count, rows = sent(path)
    values = table.to_dict("records")

    assert (count, []) == (len(rows), [row for row in rows if row not in values])
    assert 3 == len({row["client_user_id"] for row in rows})


def test_removed_rows_are_not_sent(tmp_path: Path) -> None:
    """The others are as they were."""
    table, path = changed(
        Change("rows are removed", lambda cells: cells[:-1]), tmp_path
    )

    assert (2, table.to_dict("records")[:2]) == sent(path)


@pytest.mark.parametrize("case", TOLD, ids=lambda case: case.reason)
def test_rewritten_values_are_not_sent(case: Change, tmp_path: Path) -> None:
    """What a spreadsheet made of ids, numbers and dates, and rows that were mixed up,
    are errors.
    """
    _, path = changed(case, tmp_path)

    assert (3, []) == sent(path)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.reason)
def test_files_that_do_not_know_themselves_are_refused(
    case: Change, tmp_path: Path
) -> None:
    """Nothing is guessed about columns and rows of which the file does not tell."""
    _, path = changed(case, tmp_path)
    with pytest.raises(InvalidInput):
        payerkit.read_payers(path)


def test_an_id_that_was_wrong_may_be_corrected(tmp_path: Path) -> None:
    """A row is known by its own mark, not by its id."""
    write_messy(tmp_path / "messy.xlsx", typed_row(1, client_user_id="N/A"))
    table = payerkit.read_payers(tmp_path / "messy.xlsx")
    payerkit.plan_onboarding(table).save_corrections(tmp_path / "to-correct.csv")
    correct(tmp_path / "to-correct.csv", "Kundennummer", {"N/A": "user-1"})

    assert ["user-1"] == [
        each["client_user_id"] for each in sent(tmp_path / "to-correct.csv")[1]
    ]


def test_a_template_that_a_person_filled_in_is_sent(tmp_path: Path) -> None:
    """Below the examples, or over them: the examples that stay are not sent."""
    path = tmp_path / "payers.xlsx"
    payerkit.tables.template(path=path)
    book = openpyxl.load_workbook(path)
    sheet = book.worksheets[0]
    names = [
        str(cell.value)
        for cell in next(
            each for each in sheet.iter_rows() if "client_user_id" in str(each[0].value)
        )
    ]
    sheet.append(
        [(typed_row(0) | {"bank_postal_code": "12207"}).get(name) for name in names]
    )
    book.save(path)
    table = payerkit.read_payers(path)
    planned = payerkit.plan_onboarding(table)

    assert "user-0" in table["client_user_id"].tolist()
    assert pd.Series(planned.frame["state"]).tolist()[:-1] == ["not_sent"] * (
        len(table) - 1
    )
    assert planned.frame["state"].iloc[-1] == "to_send", str(planned)
