"""Files as strangers send them: each rule finds what it is for, and leaves ten honest
examples alone.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from openpyxl import Workbook, load_workbook
from openpyxl.styles import Font

import payerkit
from cases import DATA, table
from messy_workbooks import replace_in_part
from payerkit import InvalidInput, read_bank_details, read_payers
from payerkit.cli import main as cli
from payerkit.client import Client
from payerkit.runs import RunOptions
from payerkit.tables import ColumnMapping, propose_mapping
from payerkit.tables.header import read_header
from published import BANK_DETAILS
from remake_samples import DAMAGES, STRUCK_OUT, person, write_employees

IDS = [f"p-{number:03}" for number in range(1, 13)]


def codes(source: Any, **options: Any) -> list[str]:
    """Return the codes of what was found in the cells of a source, in order."""
    return [
        each.finding.code for each in read_payers(source, **options).origin.findings
    ]


def csv_of(path: Path, **columns: Sequence[str]) -> Path:
    """Write a CSV file with these columns behind the ids of as many payers; return its
    path.
    """
    file = path / "table.csv"
    length = len(next(iter(columns.values())))
    pd.DataFrame({"client_user_id": (IDS * length)[:length], **columns}).to_csv(
        file, index=False
    )
    return file


def workbook_of(
    path: Path, rows: Sequence[Sequence[Any]]
) -> tuple[Workbook, Any, Path]:
    """Return a workbook with rows, its sheet, and the path to save it at."""
    workbook = Workbook()
    sheet = workbook.worksheets[0]
    for row in rows:
        sheet.append(row)
    return workbook, sheet, path / "table.xlsx"


# Texts


@table("honest_and_damaged_texts")
def test_damaged_texts_are_found_and_honest_ones_left_alone(
    text: str, code: str | None
) -> None:
    """A text is damaged by its form alone, in any field."""
    assert [code] * (code is not None) == codes(pd.DataFrame({"last_name": [text]}))


def test_names_in_fifteen_languages_are_left_alone() -> None:
    """No rule touches 300 honest names."""
    names = pd.read_csv(DATA / "honest_names.tsv", sep="\t", comment="#")["name"]

    assert (300, []) == (len(names), codes(pd.DataFrame({"last_name": names})))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('"Müller"', "Müller"),
        ("M%C3%BCller", "Müller"),
        ("B\u0435cker", "Becker"),
        ("Ada_x000D_", "Ada"),
        ("M³ller", "M³ller"),  # nobody knows which letter it was
    ],
)
def test_what_can_mean_one_thing_is_rewritten_with_consent(
    text: str, meant: str
) -> None:
    """The only text that a damaged one can mean is written for whoever asks for it."""
    assert [meant] == read_payers(pd.DataFrame({"last_name": [text]}), normalise=True)[
        "last_name"
    ].tolist()


@pytest.mark.parametrize(
    "word", ["[object Object]", "REDACTED", "[REDACTED]", "Loading..."]
)
def test_texts_of_programs_stand_for_nothing(word: str) -> None:
    """A word that a program wrote in place of a value is a placeholder."""
    rows = pd.DataFrame(
        {"client_user_id": ["p-001"], "email": ["a@example.com"], "city": [word]}
    )

    assert "placeholder" in set(
        payerkit.plan_onboarding(read_payers(rows)).findings["code"]
    )


# Cells by their field and column


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        ([*range(4417208800, 4417208811), 41720883], 1),  # shorter than the others
        ([*range(4417208800, 4417208809), 41720883, 41720884], 2),
        ([*range(4417208800, 4417208808)], 0),
        (
            [
                4417208800,
                41720883,
                417208,
                41,
                44172088001,
                441720880,
                4417208,
                44172,
                441,
                4,
                12,
            ],
            0,
        ),  # of any length
        ([*range(4417208800, 4417208807), 41720883], 0),  # too few to tell
        ([*range(10, 22)], 0),
        ([*range(95, 107)], 0),  # as many of two digits
        ([*map(str, range(4417208800, 4417208811)), "41720883"], 0),  # typed as text
        ([*range(4417208800, 4417208811), 44172088110], 0),  # longer
        ([*range(4417208800, 4417208811), None], 0),
    ],
)
def test_numbers_shorter_than_the_rest_lost_zeros(
    numbers: list[Any], found: int, tmp_path: Path
) -> None:
    """A spreadsheet that stores an account number as a number drops its zeros."""
    rows: list[list[Any]] = [["client_user_id", "account_number"]]
    rows += [[f"p-{at}", number] for at, number in enumerate(numbers)]
    workbook, _, file = workbook_of(tmp_path, rows)
    workbook.save(file)

    assert ["zeros_lost"] * found == codes(file)


def test_formats_that_show_the_zeros_are_read(tmp_path: Path) -> None:
    """A number whose format has ten places has lost nothing."""
    rows: list[list[Any]] = [["client_user_id", "account_number"], ["p-11", 417]]
    rows += [[f"p-{at}", 4417208800 + at] for at in range(11)]
    workbook, sheet, file = workbook_of(tmp_path, rows)
    for cell in sheet["B"]:
        cell.number_format = "0000000000"
    workbook.save(file)

    assert [] == codes(file)


@table("dates_of_columns")
def test_dates_show_their_order_in_a_column(
    days: list[str], found: list[str], tmp_path: Path
) -> None:
    """One day above 12 in the middle shows what the other dates of the column mean; an
    impossible date blocks.
    """
    assert found == codes(csv_of(tmp_path, date_of_birth=days))


# Rows


def test_rows_that_are_struck_out_or_have_no_height_block(tmp_path: Path) -> None:
    """A row that somebody crossed out or made invisible is not sent; one crossed-out
    cell is a correction.
    """
    rows = [
        ["client_user_id", "email"],
        *[[each, f"{each}@example.com"] for each in IDS],
    ]
    workbook, sheet, file = workbook_of(tmp_path, rows)
    for cell in (*sheet[3], sheet["B5"]):
        cell.font = Font(strike=True)
    workbook.save(file)
    replace_in_part(file, {'<row r="7"': '<row r="7" ht="0" customHeight="1"'})
    found = read_payers(file).origin.findings

    assert [(3, "struck_row"), (7, "hidden_row")] == [
        (each.label, each.finding.code) for each in found
    ]


def test_merged_cells_in_the_body_block(tmp_path: Path) -> None:
    """Only the first of merged cells has a value; in the title they are usual."""
    rows: list[list[Any]]
    rows = [
        ["Example list", None],
        ["client_user_id", "email"],
        ["p-001", "a@example.com"],
        [None, "b@example.com"],
    ]
    workbook, sheet, file = workbook_of(tmp_path, rows)
    for cells in ("A1:B1", "A3:A4"):
        sheet.merge_cells(cells)
    workbook.save(file)
    found = read_payers(file).origin.findings

    assert [(4, "client_user_id", "merged")] == [
        (each.label, each.column, each.finding.code) for each in found
    ]


@pytest.mark.parametrize(
    ("last", "notes"),
    [
        ("Total,,,2", {4: "a row of totals"}),
        ("Grand total,,,", {4: "a row of totals"}),
        (",,,\nPrinted by Example on Tuesday,,,", {5: "a note"}),
        (
            ",,,\nTotal,,,2\n,,,\nEnd of the list,,,",
            {5: "a row of totals", 7: "a note"},
        ),
        # Honest
        ("p-003,c@example.com,Cleo,Draper", {}),
        ("p-003,,,", {}),  # a row that somebody began
        (",,,\np-003,,,", {}),
        ("Total-3,c@example.com,Cleo,Draper", {}),
        (",,,\nPrinted by Example,c@example.com,,", {}),
        ("Sum Ltd,c@example.com,Cleo,Draper", {}),
        ("Suma,c@example.com,,", {}),  # a name
        ("total-3,c@example.com,,", {}),
        ("Total-3,,,", {}),
        ("Total EUR,,,1.250 EUR", {4: "a row of totals"}),
        (
            "Summe,,,=SUM(D2:D3)",
            {4: "a row of totals"},
        ),  # as programs write it, which compute nothing
        ("Summe,,,=A2&A3", {}),
    ],
)
def test_what_stands_under_the_table_is_named(
    last: str, notes: dict[int, str], tmp_path: Path
) -> None:
    """Totals and notes are left out, and the plan says so; any other row stays."""
    file = tmp_path / "table.csv"
    head = (
        "client_user_id,email,first_name,last_name\n"
        "p-001,a@example.com,Ada,Archer\np-002,b@example.com,Ben,Baker\n"
    )
    file.write_text(f"{head}{last}\n", encoding="utf-8")
    rows = read_payers(file)

    assert notes == rows.origin.notes
    assert set(notes).isdisjoint(rows.index)
    assert all(
        f"Row {row} is {kind} under the table" in str(payerkit.plan_onboarding(rows))
        for row, kind in notes.items()
    )


def test_a_report_says_what_was_left_out_under_the_table(
    shared: Client, tmp_path: Path
) -> None:
    """A run without a plan before it loses no row in silence."""
    file = tmp_path / "table.csv"
    file.write_text(
        "client_user_id,email,first_name\np-001,a@example.com,Ada\nTotal,,\n",
        encoding="utf-8",
    )
    report = payerkit.onboard(
        shared, read_payers(file), options=RunOptions(progress=False)
    )

    assert "Row 3 is a row of totals under the table, and left out." in str(report)


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_damage_is_found_in_a_table_of_any_kind(dtype: Any) -> None:
    """Whatever kind of column pandas made of the texts."""
    rows = pd.DataFrame({"client_user_id": ["p-001"], "last_name": ["MÃ¼ller"]}).astype(
        dtype
    )

    assert ["doubly_encoded"] == codes(rows)


# Columns


def test_headers_with_words_around_a_name_are_proposed() -> None:
    """Of 315 headers of forms and exports, most that hold a known name are read, and
    few that name nothing are.
    """
    found = pd.read_csv(DATA / "headers_with_words.tsv", sep="\t", comment="#")
    read = [next(iter(read_header(header).columns), "-") for header in found["header"]]
    ours = [
        (column, name)
        for column, name in zip(found["column"], read, strict=True)
        if column != "-"
    ]
    others = [
        header
        for header, column in zip(found["header"], found["column"], strict=True)
        if column == "-"
    ]

    assert (201, 114) == (len(ours), len(others))
    assert 189 <= sum(name in {column, f"bank_{column}"} for column, name in ours)
    assert 1 >= sum(
        name not in {"-", column, f"bank_{column}"} for column, name in ours
    )
    assert 4 >= sum(bool(read_header(header).columns) for header in others)
    assert not any(read_header(header).is_certain for header in others)


@table("headers_of_others")
def test_somebody_elses_value_is_never_certain(
    headers: list[str], header: str, column: str | None, candidates: list[str]
) -> None:
    """A header that may be another one's in its table is for a person to decide."""
    mapping = ColumnMapping(headers)
    found = next(each for each in mapping.all_columns if each.header == header)

    assert (column, candidates) == (found.column, [*found.candidates])


@pytest.mark.parametrize(
    ("names", "is_open"),
    [
        (["Archer, Ada", "Baker, Ben"], True),
        (["Ada Archer", "Ben Baker"], False),
        (["Archer, Ada", "Ben Baker", "Cleo Draper"], False),
        (["Example, Inc.", "Sample, LLC."], False),
    ],
)
def test_last_and_first_name_in_one_cell_are_no_name(
    names: list[str], is_open: bool
) -> None:
    """A bank compares the name of the holder as it stands."""
    proposal = propose_mapping(pd.DataFrame({"Name": names, "IBAN": "x"})).loc["Name"]

    assert is_open == (proposal["field"] is None)
    assert is_open == ("make two columns of it" in proposal["problem"])


# Files

ROWS = [
    ["client_user_id", "iban", "email"],
    ["p-001", "DE89370400440532013000", "a@example.com"],
]
ROWS += [["p-002", "GB82WEST12345698765432", "b@example.com"]]


def joined(separator: str, *, width: int = 0, quote: str = "") -> str:
    """Return the rows as text."""
    return "".join(
        f"{quote}{separator.join(cell.ljust(width) for cell in row).rstrip()}{quote}\n"
        for row in ROWS
    )


@pytest.mark.parametrize("name", ["table.csv", "table.txt", "table.xls", "table.xlsx"])
@pytest.mark.parametrize("kind", ["workbook", "text"])
def test_a_file_is_read_as_what_it_is(name: str, kind: str, tmp_path: Path) -> None:
    """The ending of a name that a portal chose says nothing."""
    workbook, _, file = workbook_of(tmp_path, ROWS)
    workbook.save(file)
    target = tmp_path / "sent" / name
    target.parent.mkdir()
    if kind == "workbook":
        shutil.copy(file, target)
    else:
        target.write_text(joined(","), encoding="utf-8")

    assert ROWS[1:] == read_payers(target).to_numpy().tolist()


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        (joined("^"), "sep=^"),
        (joined(":"), "sep=:"),
        (joined("  ", width=24), "pandas.read_fwf"),
        (joined(",", quote='"'), "Remove the quotes around the rows."),
        (
            "client_user_id,p-001\nfirst_name,Ada\nlast_name,Archer\nemail,a@example.com\n",
            "Transpose",
        ),
    ],
)
def test_unusual_files_are_refused_with_the_cure(
    text: str, cure: str, tmp_path: Path
) -> None:
    """One sentence says what to do."""
    file = tmp_path / "table.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        read_payers(file)

    assert cure in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "iban\nDE89370400440532013000\n",  # one column by nature
        "email\na@example.com\nb@example.com\n",
        "email\nmailto:a@example.com\n",  # the header has no colon
        "last_name\nvan der  Berg\n",
        'last_name\n"Archer, Ada"\n',
        "first_name,last_name\nAda:B,Archer\n",
        "client_user_id,first_name,last_name\nfirst_name,Ada,Archer\n",
        "email;note\na@example.com;12:30\n",
        "address_line1\n1: Example Street\n",
        "city\nNew  York\n",
    ],
)
def test_usual_files_are_not_refused(text: str, tmp_path: Path) -> None:
    """A table of one column, or with signs in its cells, is read."""
    file = tmp_path / "table.csv"
    file.write_text(text, encoding="utf-8")

    assert 1 <= len(
        read_payers(file, mapping={"note": None} if "note" in text else None)
    )


def test_a_file_of_datev_is_read_below_its_first_row(tmp_path: Path) -> None:
    """Its first row describes the file."""
    file = tmp_path / "EXTF_Stammdaten.csv"
    head = (
        '"EXTF";700;48;"Debitoren/Kreditoren";5;20261101120000;;"RE";"";"";29098;55003;'
        '20260101;4;;;"";"";;0;;"EUR"'
    )
    file.write_text(
        f"{head}\nE-Mail;IBAN\na@example.com;DE89370400440532013000\n",
        encoding="cp1252",
    )

    assert ["a@example.com", "DE89370400440532013000"] == [*read_payers(file).loc[3]]


# Constants, and accounts alone


def test_a_default_fills_what_is_blank() -> None:
    """Also without a column; what the file says stays."""
    rows = pd.DataFrame(
        {"client_user_id": ["p-001", "p-002"], "currency": ["EUR", None]}
    )
    read = read_payers(
        rows, defaults={"currency": "USD", "beneficiaryType": "individual"}
    )

    assert [["EUR", "individual"], ["USD", "individual"]] == read[
        ["currency", "beneficiary_type"]
    ].to_numpy().tolist()


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_a_default_fills_blanks_of_a_table_of_any_kind(dtype: Any) -> None:
    """An empty text and one of blanks are no values, and categories may lack the
    default.
    """
    rows = pd.DataFrame(
        {"client_user_id": [*"abcd"], "currency": ["EUR", None, "", " "]}
    ).astype({"currency": dtype})

    assert ["EUR", "USD", "USD", "USD"] == read_payers(
        rows, defaults={"currency": "USD"}
    )["currency"].to_list()


@pytest.mark.parametrize(
    ("defaults", "words"),
    [
        (
            {"curency": "USD"},
            (
                "curency is not a field of a payer or of bank details. Did you mean"
                " currency?"
            ),
        ),
        ({"currency": " "}, "currency: expected a text that is not blank"),
        ({"currency": 1}, "currency: expected a text that is not blank, got an int"),
    ],
)
def test_a_default_that_cannot_be_used_is_refused(
    defaults: dict[str, Any], words: str
) -> None:
    """The error names the field."""
    with pytest.raises(InvalidInput) as caught:
        read_payers(pd.DataFrame({"client_user_id": ["p-001"]}), defaults=defaults)

    assert words in str(caught.value)


def test_one_typo_is_one_line() -> None:
    """Whoever has names, IBANs and BICs is asked for nothing else."""
    typo = "DE89370400440532013001"
    mine = pd.DataFrame(
        {"Name": ["Ada", "Ben"], "IBAN": [ROWS[1][1], typo], "BIC": ["COBADEFFXXX"] * 2}
    )

    assert [[1, "iban_checksum"]] == (
        payerkit.check_all_bank_details(mine, given_only=True)[["row", "code"]]
        .to_numpy()
        .tolist()
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            pd.DataFrame({"Vendors in 2026": ["Vendor"], "Unnamed: 1": ["IBAN"]}),
            "No column is one of bank details",
        ),
        (
            "vendors.xlsx",
            "Expected a DataFrame with one BankDetails per row, got a str.",
        ),
    ],
)
def test_whoever_gives_no_accounts_is_told_how_a_file_is_read(
    given: Any, words: str
) -> None:
    """Where pandas takes a title for the header, payerkit finds the header below it."""
    with pytest.raises(InvalidInput, match=words) as caught:
        payerkit.check_all_bank_details(given, given_only=True)

    assert "read_payers(file)" in caught.value.advice


# A whole export

TYPED = (
    "--holder-is-payer --set country=US --set nationality=US --set"
    " beneficiary_type=individual --set currency=USD"
)


def correct(file: Path) -> None:
    """Correct a corrections file of the sample as a person would: what was damaged, and
    a row that is not wanted.
    """
    workbook = load_workbook(file)
    sheet = workbook.worksheets[0]
    names = [cell.value for cell in sheet[1]]
    for row in range(sheet.max_row, 1, -1):
        if (client_user_id := sheet.cell(row, 1).value) is None:
            continue
        number = int(str(client_user_id).removeprefix("E-")) - 1000
        if number == STRUCK_OUT:
            sheet.delete_rows(row)
        else:
            column = DAMAGES[number][0]
            cell = sheet.cell(row, names.index(column) + 1)
            cell.value, cell.number_format = person(number)[column], "@"
    workbook.save(file)


def test_an_export_of_quickbooks_comes_to_a_clean_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three commands, each printed by the one before, find thirteen damages in 300 rows
    and leave none.
    """
    monkeypatch.chdir(tmp_path)
    shutil.copy(payerkit.samples.workbook("quickbooks-employees.xlsx"), "export.xlsx")
    asked = cli.main(["onboard", "export.xlsx", "--dry-run"])
    proposal = capsys.readouterr().err
    planned = cli.main(
        [
            "onboard",
            "export.xlsx",
            "--dry-run",
            "--column",
            "Employee ID=client_user_id",
            "--normalise",
            *TYPED.split(),
        ]
    )
    plan = capsys.readouterr().out
    correct(tmp_path / "export-corrections.xlsx")
    command = next(
        line
        for line in plan.splitlines()
        if "payerkit onboard export-corrections.xlsx" in line
    )
    clean = cli.main(shlex.split(command)[1:])
    rows = read_payers("export.xlsx", mapping={"Employee ID": "client_user_id"})
    found = {
        int(str(each.label)) - 5
        for each in rows.origin.findings
        if each.finding.severity == "error"
    }

    assert (1, 3, 0) == (asked, planned, clean)
    assert "write --column THEIRS=OURS for each" in proposal
    assert '"Employee ID": "client_user_id",' in proposal
    assert {*DAMAGES, STRUCK_OUT} <= found
    assert 13 == len(DAMAGES) + 1
    assert "300 rows: 290 payers and 290 accounts would be sent" in plan
    assert "9 rows: 9 payers and 9 accounts would be sent" in capsys.readouterr().out


def test_the_sample_is_as_its_script_makes_it() -> None:
    """Cell by cell."""
    workbook = Workbook()
    write_employees(workbook.worksheets[0])
    shipped = load_workbook(
        payerkit.samples.workbook("quickbooks-employees.xlsx")
    ).worksheets[0]

    assert list(workbook.worksheets[0].values) == list(shipped.values)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1037.0", "became_fraction"),
        ("\u200b1037", "invisible_characters"),
        ("1,037", "spreadsheet_number"),
    ]
    + [
        (text, "")
        for text in (
            "1037",
            "0011037",
            "C-1037",
            "1.037",
            "1037-0",
            "ada@example.com",
            "ÄB 1037",
            "E1037",
        )
    ],
)
def test_ids_of_accounts_are_checked_as_those_of_payers(text: str, code: str) -> None:
    """A table of accounts alone tells what a program did to the ids of their payers."""
    rows = read_bank_details(pd.DataFrame([BANK_DETAILS | {"clientUserId": text}]))
    found = payerkit.plan_onboarding(rows).findings

    assert [code] * bool(code) == found[found["field"] == "client_user_id"][
        "code"
    ].tolist()


def test_a_table_of_payers_with_a_number_of_an_account_says_what_to_leave_out() -> None:
    """A customer's account number is no bank account: the error names the column that
    made it one.
    """
    rows = pd.DataFrame(
        [
            {
                "Customer ID": "p-001",
                "First name": "Ada",
                "Last name": "Archer",
                "Account number": "7",
            }
        ]
    )

    with pytest.raises(
        InvalidInput, match="If it has no accounts, leave out account_number"
    ):
        payerkit.plan_onboarding(read_payers(rows))
