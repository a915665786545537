"""What a plan and a report say about a table that was read from a file: in the sender's
words, by row and cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import methodcaller
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
from payerkit.runs import Report
from payerkit.runs.journal import Journal
from payerkit.runs.tasks import Limit, Table, Tasks
from payerkit.tables import SourceTable
from payerkit.tables.mapping import FileColumn
from payerkit.tables.normalise import Change, Origin
from published import typed_row

THEIRS = {
    "client_user_id": "Kundennr.",
    "email": "E-Mail",
    "country": "Land",
    "bank_country": "Land der Bank",
}
FIRST = 4
"""The row of the file below the header."""


def table(
    count: int = 9,
    cells: Mapping[tuple[int, str], Any] | None = None,
    *,
    theirs: Mapping[str, str] = THEIRS,
    **origin: Any,
) -> SourceTable:
    """Return payers with an account each, as if read from a workbook whose header is in
    row 3.

    cells: what rows of the file have in columns of the table. theirs: the sender's
    names of some columns.
    """
    made = [typed_row(place) for place in range(count)]
    labels = pd.RangeIndex(FIRST, FIRST + count, name="row")
    frame = pd.DataFrame(made, dtype="object").set_axis(labels)
    for (label, column), text in (cells or {}).items():
        frame.loc[label, column] = text
    names = list(frame.columns)
    headers = (*(theirs.get(name, name) for name in names), "Notizen", "")
    ours = [*names, None, None]
    columns = tuple(
        FileColumn(header, header, place, ours[place])
        for place, header in enumerate(headers)
    )
    known: dict[str, Any] = {"file": "kunden.xlsx", "sheet": "Kunden", "header_row": 3}
    return SourceTable.of(frame, Origin(**known | {"columns": columns} | origin))


def report_on(rows: pd.DataFrame, folder: Path) -> Report:
    """Return the report of a run that has sent nothing yet."""
    with Journal(folder / "run.journal") as journal:
        return Report(Tasks(Table(rows), journal.secret), journal, None, Limit())


WRONG = {(row, "email"): "x" for row in (5, 7, 8, 9, 10, 11, 12)} | {
    (6, "country"): "Germany"
}


def test_a_plan_names_the_cells_and_columns_of_the_sender() -> None:
    """The first cells are named, the others counted; rows are counted, and not
    findings.
    """
    parts = str(payerkit.plan_onboarding(table(cells=WRONG))).split("\n\n")
    first, columns, counts, errors = parts

    assert 'kunden.xlsx, sheet "Kunden": 9 rows below the header in row 3.' == first
    assert columns.endswith("  Left out: AA (Notizen), AB (no name)")
    assert [
        "9 rows: 1 payer and 1 account would be sent; rows with warnings: 0.",
        "8 rows would not be sent: errors in the row or in its payer.",
    ] == counts.splitlines()
    assert [
        "Errors, not sent until they are corrected: 8 rows",
        "    7 rows  E-Mail: Not an e-mail address. (B5, B7, B8 and 4 more)",
        "            -> Write it as name@example.com.",
        "     1 row  Land: Not two letters. (N6)",
        "            -> Write DE.",
    ] == errors.splitlines()


def test_findings_have_cells_and_headers() -> None:
    """Behind the row, for whoever filters them; a row as a whole, and a table without a
    file, have none.
    """
    found = payerkit.plan_onboarding(table(cells={(5, "email"): "x"})).findings
    plain = payerkit.plan_onboarding(
        pd.DataFrame(table(cells={(5, "email"): "x"}))
    ).findings

    assert ["row", "cell", "column", "field"] == list(found.columns[:4])
    assert (5, "B5", "E-Mail", "email") == tuple(
        found.loc[0, ["row", "cell", "column", "field"]]
    )
    assert (5, "", "email", "email") == tuple(
        plain.loc[0, ["row", "cell", "column", "field"]]
    )
    assert {"string"} == {
        str(dtype) for dtype in found.dtypes[["cell", "column", "hint", "step"]]
    }


def test_rows_that_were_numbered_anew_have_no_cells() -> None:
    """A wrong cell would be worse than none."""
    rows = table(cells={(5, "email"): "x"}).reset_index(drop=True)
    found = payerkit.plan_onboarding(rows)

    assert ("", "E-Mail: Not an e-mail address. Write it as name@example.com.") == (
        found.findings.loc[0, "cell"],
        found.frame.loc[1, "reason"],
    )


def test_selected_and_sorted_rows_keep_their_cells() -> None:
    """They keep the file's row numbers as labels."""
    rows = (
        table(cells={(5, "email"): "x"})
        .sort_values("client_user_id", ascending=False)
        .iloc[2:]
    )

    assert ["B5"] == payerkit.plan_onboarding(rows).findings["cell"].tolist()


def test_the_cells_of_a_corrections_file_are_those_of_this_file() -> None:
    """Its rows keep the labels that they had, though they stand elsewhere in it."""
    found = payerkit.plan_onboarding(table(cells={(5, "email"): "x"}, rows={5: 2}))

    assert (5, "B2") == tuple(found.findings.loc[0, ["row", "cell"]])
    assert "E-Mail (B2): " in str(found.frame.loc[5, "reason"])
    assert "Not an e-mail address. (B2)" in str(found)


def test_reasons_and_findings_name_the_cell_and_say_what_to_do(tmp_path: Path) -> None:
    """In the frames of plan and report, and so in their files."""
    rows = table(cells={(5, "email"): "x", (6, "routing_number"): "021000022"})
    planned, report = payerkit.plan_onboarding(rows), report_on(rows, tmp_path)
    planned.save(tmp_path / "plan.csv")
    saved = pd.read_csv(
        tmp_path / "plan.csv", dtype=str, keep_default_na=False
    ).set_index("row")

    reason = "E-Mail (B5): Not an e-mail address. Write it as name@example.com."
    assert [reason] * 3 == [
        planned.frame.loc[5, "reason"],
        report.frame.loc[5, "reason"],
        saved.loc["5", "reason"],
    ]
    warning = str(report.frame.loc[6, "findings"])
    assert warning.startswith(
        "warning routing_number (Q6): The check digit does not match"
    )
    assert warning.endswith(
        " Compare it with a cheque or a bank statement. [routing_checksum]"
    )
    assert warning == saved.loc["6", "findings"]


def test_a_report_groups_rows_by_finding(tmp_path: Path) -> None:
    """Though the reason of each row names its own cell."""
    report = report_on(table(cells=WRONG | {(5, "country"): "Germany"}), tmp_path)

    assert [
        (
            "    7 rows  not sent: E-Mail: Not an e-mail address. Write it as"
            " name@example.com. (B5, B7, B8 and 4 more)"
        ),
        "    2 rows  not sent: Land: Not two letters. Write DE. (N5, N6)",
    ] == [line for line in str(report).splitlines() if "rows  not sent: " in line]


def test_what_normalise_would_write_stands_at_the_cell(tmp_path: Path) -> None:
    """In the row, and in the group for all or some of its rows; a finding of another
    row has none.
    """
    cells = {
        (row, "country"): text
        for row, text in {5: "Germany", 6: "Deutschland", 7: "nowhere"}.items()
    }
    rows = table(
        cells=cells,
        readings={(5, "country"): "DE", (6, "country"): "DE", (9, "city"): "x"},
    )
    planned = payerkit.plan_onboarding(rows)
    hints = planned.findings.set_index("row")["hint"].to_dict()

    assert (True, True, False) == tuple(
        "normalise=True (--normalise) would write DE." in hints[row]
        for row in (5, 6, 7)
    )
    assert 2 == planned.correctable
    assert "(N6): Not two letters." in str(planned.frame.loc[6, "reason"])
    assert "normalise=True (--normalise) would write DE." in str(
        report_on(rows, tmp_path).frame.loc[6, "reason"]
    )


def test_a_column_that_the_file_lacks_is_told() -> None:
    """There is no cell to correct."""
    found = payerkit.plan_onboarding(table().drop(columns="nationality"))

    assert [
        "    9 rows  nationality: Required. (all rows)",
        (
            "            -> There is no column for it. If all rows have one value, use"
            ' defaults={"nationality":...} (--set nationality=...).'
        ),
    ] == str(found).splitlines()[-2:]


def test_advice_about_data_frames_is_none_for_files() -> None:
    """Whoever has a spreadsheet reads no column with a dtype."""
    found = payerkit.plan_onboarding(
        table(cells={(5, "routing_number"): "21000021"})
    ).findings

    assert "Restore the zero. Format the column as text." in found["hint"].tolist()


def test_changes_are_listed_masked() -> None:
    """What was rewritten with consent, with row, cell and column; not what rows say
    that are no longer there.
    """
    changes = [
        Change(4, "country", "Germany", "DE"),
        Change(5, "date_of_birth", "31.12.1985", "1985-12-31"),
        Change(5, "company_name", "N/A", None),
        Change(99, "country", "Germany", "DE"),
    ]
    found = payerkit.plan_onboarding(table(changes=changes))

    assert [(4, "N4", "Land", "Germany", "DE"), (5, "••••", "••••")] == [
        tuple(found.changes.astype({"row": object}).loc[0]),
        tuple(found.changes.loc[1, ["row", "from", "to"]]),
    ]
    assert "31.12" not in str(found) + found.changes.to_string()
    assert (
        "Rewritten with normalise=True (--normalise): 3 cells\n      1 cell  Land,"
        " such as Germany -> DE" in str(found)
    )


def test_nothing_personal_stays_in_a_report(tmp_path: Path) -> None:
    """It is kept, pickled and sent around: it has no cells, changes or readings of the
    file.
    """
    rows = table(cells=WRONG, readings={(5, "email"): "secret@example.com"})
    report = report_on(rows, tmp_path)

    assert "secret@" not in repr(vars(report)) + repr(vars(report)["_naming"].readings)


def test_a_header_is_shown_as_text() -> None:
    """It comes from others: what is no letter is escaped, and what may be a person's
    data is masked.
    """
    found = payerkit.plan_onboarding(
        table(cells={(5, "email"): "x"}, theirs={"email": "<b>Post\u202e"})
    )

    assert (True, False) == tuple(
        words in found._repr_html_()
        for words in ("&lt;b&gt;Post\\u202e: Not", "<b>Post")
    )


def test_a_plan_lists_every_kind_of_finding() -> None:
    """Errors, warnings and infos, in this order, however many; a notebook shows twelve
    and counts the rest.
    """
    required = [
        "first_name",
        "last_name",
        "address_line1",
        "city",
        "country",
        "phone",
        "email",
    ]
    required += [
        "bank_name",
        "account_name",
        "currency",
        "bank_country",
        "date_of_birth",
        "nationality",
        "postcode",
    ]
    cells: dict[tuple[int, str], Any] = {
        (4 + place % 9, name): None for place, name in enumerate(required)
    }
    cells |= {(12, "routing_number"): "021000022", (12, "bank_city"): " Utica"}
    found = payerkit.plan_onboarding(table(cells=cells))
    text = str(found)
    titles = [
        line
        for line in text.splitlines()
        if line.startswith(("Errors", "Warnings", "Worth"))
    ]

    kinds = found.findings.query("severity != 'info'").drop_duplicates(
        ["column", "message"]
    )
    assert len(kinds) > 12
    assert [] == [each for each in kinds["column"] if f"  {each}: " not in text]
    assert ["Errors", "Warning", "Worth k"] == [
        titles[0][:6],
        titles[1][:7],
        titles[2][:7],
    ]
    assert f"{len(kinds) - 12} more finding" in found._repr_html_()


def test_a_picture_of_many_rows_is_small() -> None:
    """Groups with their first cells, not rows."""
    wrong = {(row, "email"): "x" for row in range(10, 1500)}
    shown = payerkit.plan_onboarding(table(2_000, wrong))._repr_html_()

    assert "B10, B11, B12 and 1,487 more" in shown
    assert len(shown) < 20_000


def test_frames_show_in_itables() -> None:
    """The plan, its findings and the table itself, as a person would browse 2,000 rows
    of them.
    """
    itables = pytest.importorskip("itables")
    rows = table(cells=WRONG)
    planned, show = payerkit.plan_onboarding(rows), methodcaller("_repr_html_")
    itables.init_notebook_mode(all_interactive=True, connected=True)
    try:
        shown = [
            show(frame)
            for frame in (rows, planned.frame, planned.findings, planned.changes)
        ]
    finally:
        itables.init_notebook_mode(all_interactive=False, connected=True)

    assert [True] * 4 == ["itables_" in each for each in shown]
