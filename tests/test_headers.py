"""Headers: the row where they are, what is certain, what a person must choose, and what
the error says to paste.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Sequence

import pandas as pd
import pytest

from cases import table
from payerkit import InvalidInput, _tsv
from payerkit.models.base import RequestModel
from payerkit.models.fields import fields_of
from payerkit.models.requests import BankDetails, Payer
from payerkit.tables import ColumnMapping
from payerkit.tables.header import (
    OUR_NAMES,
    Header,
    find_header,
    is_known_header,
    read_header,
)
from payerkit.tables.sheet import Sheet
from payerkit.wire import wire_name

ROWS = list(_tsv.rows("payerkit.tables", "headers"))
HEADERS = [row for row in ROWS if row["kind"] == "header"]
PAYERS = ["Given name", "Surname", "E-mail"]
ACCOUNTS = ["IBAN", "Account holder"]


def columns_of(mapping: ColumnMapping) -> dict[str, str | None]:
    """Return our column for each header that is decided, and None for those that are
    left out.
    """
    return {each.key: each.column for each in mapping.columns if not each.is_open}


def pasted(mapping: ColumnMapping) -> dict[str, str | None]:
    """Return the mapping that a person would paste out of the error."""
    with pytest.raises(InvalidInput) as caught:
        mapping.check()
    chosen: dict[str, str | None] = ast.literal_eval(
        str(caught.value).partition("mapping = ")[2]
    )
    return chosen


def test_the_table_names_columns_of_ours() -> None:
    """Each row names a column of ours or none, and no row stands twice."""
    names = {*OUR_NAMES.values(), "-"}

    assert [] == [row["words"] for row in HEADERS if row["column"] not in names]
    assert [] == [
        row["words"] for row in HEADERS if row["needs"] and row["needs"] not in names
    ]
    assert [] == [
        row
        for row, times in Counter(tuple(row.values()) for row in ROWS).items()
        if times > 1
    ]


def test_the_table_speaks_four_languages_and_knows_the_tools() -> None:
    """English, German, Spanish and French, and the tools that pay out, each have their
    words.
    """
    certain = Counter(row["of"] for row in HEADERS if row["sure"])
    tools = ["PayPal", "Stripe", "Deel", "QuickBooks", "Xero", "SAP", "DATEV"]

    assert [] == [of for of in ("en", "de", "es", "fr") if certain[of] < 100]
    assert set(tools) <= {row["of"] for row in HEADERS}


def test_sure_names_are_certain_and_no_others() -> None:
    """A row that is sure is certain, and a name of several rows, or one that is not
    sure, never is, unless it is what a form calls a field.
    """
    titles = {
        field.title
        for model in (Payer, BankDetails)
        for field in fields_of(model).values()
    }
    by_header = defaultdict(list)
    for row in HEADERS:
        by_header[row["words"]].append(row)
    wrong = [
        header
        for header, rows in by_header.items()
        if read_header(header).is_certain != (len(rows) == 1 and rows[0]["sure"] == "*")
        and header not in {*OUR_NAMES, *titles}
        and read_header(header).how != "either"
    ]

    assert [] == wrong


@pytest.mark.parametrize(
    "header",
    [
        "Name",
        "Number",
        "Type",
        "ID",
        "Account",
        "Konto",
        "Nom",
        "Nombre",
        "Tax ID",
        "Typ",
    ],
)
@pytest.mark.parametrize("others", [[], PAYERS, ACCOUNTS, [*PAYERS, *ACCOUNTS]])
def test_names_of_several_fields_are_never_taken(
    header: str, others: list[str]
) -> None:
    """A name that may mean several fields is open, whatever else the table has."""
    assert [header] == list(ColumnMapping([header, *others]).open)


@pytest.mark.parametrize("schema", [Payer, BankDetails])
def test_our_names_wire_names_and_titles_are_known(schema: type[RequestModel]) -> None:
    """Each field is known by our name, by its name on the wire, and by its title in the
    forms.
    """
    same = {"postcode": "postal_code"}
    wrong = []
    for name, field in fields_of(schema).items():
        for header in (name, wire_name(name), field.title):
            beside = ["City"] * (name != "city")  # an address beside a city is a street
            found = columns_of(ColumnMapping([header, *beside])).get(header) or ""
            if same.get(found, found) != same.get(name, name):
                wrong.append((header, found))

    assert [] == wrong


@table("headers_certain")
def test_variants_are_certain(header: str, column: str) -> None:
    """Case, accents, blanks, punctuation and remarks do not matter."""
    assert (column,) == read_header(header).columns
    assert read_header(header).is_certain


@table("headers_proposed")
def test_other_names_are_only_proposed(header: str, columns: str) -> None:
    """A name that is near, or has other words around it, is not taken."""
    found = read_header(header)

    assert (False, columns) == (found.is_certain, " ".join(found.columns))


@table("headers_together")
def test_names_depend_on_what_the_table_has(
    headers: list[str], expected: dict[str, str | None]
) -> None:
    """Fields of payer and holder are told apart by the words and by the other columns;
    None stands for open.
    """
    found = columns_of(ColumnMapping(headers))

    assert expected == {header: found.get(header) for header in expected}


@table("headers_to_paste")
def test_the_error_prints_what_to_paste(
    headers: list[str], expected: dict[str, str | None]
) -> None:
    """The error prints a dict of all open columns, in the file's order, that works when
    it is pasted.
    """
    unnamed = {place: 2 for place, header in enumerate(headers) if not header}
    mapping = pasted(ColumnMapping(headers, unnamed=unnamed))

    assert list(expected.items()) == list(mapping.items())
    assert ColumnMapping(headers, mapping, unnamed=unnamed).check().fields


def test_the_error_is_for_a_reader() -> None:
    """Each open column is told once, with what it may be; what was chosen stays in the
    mapping to paste.
    """
    headers = [
        "Kundennummer",
        "Vorname",
        "Konto",
        "Straße",
        "Ort",
        "Hausnummer",
        "Typ",
        "Notiz",
    ]
    with pytest.raises(InvalidInput) as caught:
        ColumnMapping(headers, {"Notiz": None}).check()

    assert """\
The table has columns that cannot be used.
  Konto: may be account_number, iban or client_user_id.
  Hausnummer: may be address_line1.
  Typ: may be beneficiary_type or account_type.
Say what they are: check each line of this proposal, and pass it as mapping=. None \
leaves a column out. \
On the command line, rename the columns in the file, or write --column THEIRS=OURS for \
each; --column THEIRS= leaves one out.
mapping = {
    "Konto": "account_number",
    "Hausnummer": None,
    "Typ": "beneficiary_type",
    "Notiz": None,
}""" == str(caught.value)


@table("headers_chosen")
def test_a_choice_finds_its_column(
    chosen: dict[str, str | None], expected: dict[str, str | None]
) -> None:
    """A column is chosen by its header, and by its letter where the header repeats."""
    assert expected == columns_of(ColumnMapping(["Name", "Name", "Konto"], chosen))


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"Elsewhere": "iban"}, "Elsewhere: not a column of the table."),
        (
            {"Konto": "ibann"},
            "Konto: not a field of a payer or of bank details; did you mean iban?",
        ),
        ({"Konto": "iban", "Kto": "iban"}, "Kto: a second column for iban."),
    ],
)
def test_a_choice_that_cannot_be_used_is_told(
    chosen: dict[str, str | None], words: str
) -> None:
    """What a person chose is refused with the reason, once."""
    with pytest.raises(InvalidInput) as caught:
        ColumnMapping(["Konto", "Kto"], chosen).check()

    assert 1 == str(caught.value).count(words)


def test_blank_columns_are_nothing() -> None:
    """A column without a name and without cells asks nobody anything."""
    assert {0: "email", 2: "iban"} == ColumnMapping(
        ["email", "", "iban"]
    ).check().fields


def sheet_of(*rows: list[str], merged: Sequence[tuple[int, int, int]] = ()) -> Sheet:
    """Return a sheet with these rows; "" for a blank cell."""
    width = max(map(len, rows), default=0)
    cells = pd.DataFrame(
        [[cell or None for cell in row] + [None] * (width - len(row)) for row in rows],
        dtype=object,
    )
    return Sheet(
        cells.set_axis(pd.RangeIndex(1, 1 + len(rows), name="row")), merged=merged
    )


def header_of(*rows: list[str], merged: Sequence[tuple[int, int, int]] = ()) -> Header:
    """Return the header of a sheet with these rows."""
    return find_header(sheet_of(*rows, merged=merged), is_known_header)


@table("header_rows")
def test_the_row_of_names_is_found(rows: list[list[str]], row: str) -> None:
    """The header is the row with most known names, else the first that is as wide as
    the table.
    """
    assert int(row) == header_of(*rows).row


@pytest.mark.parametrize("rows", [(), ([],), (["", ""], [""])])
def test_an_empty_sheet_has_no_header(rows: tuple[list[str], ...]) -> None:
    """A sheet without cells is refused."""
    with pytest.raises(InvalidInput, match="the file is empty"):
        header_of(*rows)


@table("headers_of_two_rows")
def test_names_of_two_rows_are_joined(
    rows: list[list[str]], merged: list[list[int]], names: list[str]
) -> None:
    """A group above names goes in front of them, and names that are broken are joined;
    blanks are cleaned.
    """
    assert names == [
        *header_of(
            *rows, merged=[(row, first, last) for row, first, last in merged]
        ).names
    ]


def test_columns_without_a_name_are_told_if_they_have_cells() -> None:
    """A column without a name is told with the first row that has a cell, unless it is
    blank.
    """
    header = header_of(
        ["E-mail", "", "", "City"], ["a", "", "", "b"], ["a", "", "note", "b"]
    )

    assert {2: 3} == header.unnamed
