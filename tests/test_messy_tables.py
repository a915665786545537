"""Files with one kind of damage each, from the file to the plan: nothing goes wrong
silently.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

import payerkit
from cases import table_rows
from messy_tables import DAMAGED, Case, cell, row, texts, write, write_csv
from messy_workbooks import write_messy_payers
from payerkit.cli import main as cli
from published import TYPED_PAYER


@pytest.mark.parametrize("case", DAMAGED, ids=lambda case: case.reason)
def test_damage_is_found_and_blocks_its_row(case: Case, tmp_path: Path) -> None:
    """Once, at its cell, and the other row is not touched."""
    path = write(case, tmp_path)
    planned = payerkit.plan_onboarding(payerkit.read_payers(path))
    found = planned.findings.query("severity != 'info'")

    assert [(case.code, case.severity, cell(case.field))] == list(
        found[["code", "severity", "cell"]].itertuples(index=False, name=None)
    )
    state = "not_sent" if case.severity == "error" else "to_send"
    assert [state, "to_send"] == list(planned.frame["state"])


def test_normalise_leaves_what_is_meant(tmp_path: Path) -> None:
    """What is read with normalise=True is what the file has."""
    stays = list(table_rows("normalise_stays"))
    write_csv(tmp_path / "table.csv", texts(*(each["cells"] for each in stays)))
    table = payerkit.read_payers(tmp_path / "table.csv", normalise=True)
    planned = payerkit.plan_onboarding(table, placeholders="keep")
    rows = zip(stays, table.to_dict("records"), planned.frame["state"], strict=True)

    assert 0 == len(planned.changes)
    assert [] == [
        each["why"]
        for place, (each, cells, state) in enumerate(rows)
        if (row(place, **each["cells"]), "to_send")
        != (cells | {"swift_bic": None}, state)
    ]


def test_several_sheets_are_asked_about_and_a_hidden_one_is_never_taken(
    tmp_path: Path,
) -> None:
    """The error names the sheets."""
    book = openpyxl.Workbook()
    for name in ("Old", "March", "April"):
        sheet = book.create_sheet(name)
        for cells in texts():
            sheet.append(cells)
    book.remove(book.worksheets[0])
    book["Old"].sheet_state = "hidden"
    book.save(tmp_path / "months.xlsx")

    with pytest.raises(payerkit.InvalidInput, match=r"several sheets: March .*, April"):
        payerkit.read_payers(tmp_path / "months.xlsx")

    assert 2 == len(payerkit.read_payers(tmp_path / "months.xlsx", sheet="April"))
    book.remove(book["April"])
    book.save(tmp_path / "month.xlsx")
    assert "March" == payerkit.read_payers(tmp_path / "month.xlsx").origin.sheet


def test_a_file_with_a_title_blank_rows_and_a_header_in_two_rows_is_read(
    tmp_path: Path,
) -> None:
    """Its merged groups, Payer and Account, say whose a column is; rows keep the
    numbers of the file.
    """
    columns = {
        "client_user_id": "Customer ID",
        "email": "E-mail",
        "first_name": "First name",
        "last_name": "Last name",
    }
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for cells in (
        ["Payers of March", None],
        [],
        ["Payer", None, None, None],
        list(columns.values()),
    ):
        sheet.append(cells)
    sheet.merge_cells("A3:D3")
    for place in range(2):
        sheet.append([])
        sheet.append([row(place)[name] for name in columns])
    book.save(tmp_path / "two.xlsx")
    table = payerkit.read_payers(tmp_path / "two.xlsx")

    assert (list(columns), [6, 8], ["00", "01"]) == (
        list(table.columns),
        list(table.index),
        table["client_user_id"].tolist(),
    )


@pytest.mark.parametrize(
    ("number", "is_warned"),
    [("2025557391", True), ("+12025557391", False)],
    ids=["ten digits", "international"],
)
def test_a_phone_that_passes_by_accident(
    number: str, is_warned: bool, tmp_path: Path
) -> None:
    """Ten digits of a phone in the US are a valid number of Egypt."""
    write_csv(tmp_path / "table.csv", texts({"phone": number}))
    found = payerkit.plan_onboarding(
        payerkit.read_payers(tmp_path / "table.csv")
    ).findings.query("severity != 'info'")

    assert is_warned == ("phone" in set(found["field"]))


def test_normalise_does_not_guess(tmp_path: Path) -> None:
    """What has no meaning, or two of them, stays as it is, and its row is blocked."""
    uncertain = list(table_rows("normalise_uncertain"))
    write_csv(tmp_path / "table.csv", texts(*(each["cells"] for each in uncertain)))
    table = payerkit.read_payers(tmp_path / "table.csv", normalise=True)
    planned = payerkit.plan_onboarding(table)
    rows = zip(uncertain, table.to_dict("records"), planned.frame["state"], strict=True)

    assert [] == [
        each["why"]
        for each, cells, state in rows
        if (each["cells"], "not_sent")
        != ({name: cells[name] for name in each["cells"]}, state)
    ]


def test_findings_stay_with_columns_that_are_renamed(tmp_path: Path) -> None:
    """A damaged name is not sent because its column has its wire name by now."""
    path = tmp_path / "payers.csv"
    pd.DataFrame([TYPED_PAYER | {"last_name": "MÃ¼ller"}]).to_csv(path, index=False)
    table = payerkit.read_payers(path).rename(columns={"last_name": "lastName"})
    plan = payerkit.plan_onboarding(table)

    saved = tmp_path / "to-correct.csv"
    plan.save_corrections(saved)
    again = payerkit.plan_onboarding(payerkit.read_payers(saved))

    for found in (plan, again):
        assert [("last_name", "doubly_encoded")] == [
            *zip(found.findings["field"], found.findings["code"], strict=True)
        ]
        assert 0 == found.counts["to_send"]


DATA = Path(__file__).with_name("data")
COMMAND = "onboard messy.xlsx --dry-run --holder-is-payer --column Bemerkung="


@pytest.mark.parametrize(
    ("options", "stored"),
    [("", "messy_plan.txt"), (" --normalise", "messy_plan_normalised.txt")],
)
def test_a_dry_run_reads_like_help(
    options: str,
    stored: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Read the stored text, and judge it, before you store another one."""
    monkeypatch.chdir(tmp_path)
    write_messy_payers(Path("messy.xlsx"))

    assert 3 == cli.main(shlex.split(COMMAND + options))
    assert DATA.joinpath(stored).read_text("utf-8") == capsys.readouterr().out


def test_nothing_personal_is_in_the_texts() -> None:
    """Neither what was found, nor what it would become."""
    texts = "".join(
        DATA.joinpath(name).read_text("utf-8")
        for name in ("messy_plan.txt", "messy_plan_normalised.txt")
    )

    assert [] == [
        word
        for word in ("M\u00fcller", "Ines", "1212555", "31.12", "ines@", "253009")
        if word in texts
    ]
