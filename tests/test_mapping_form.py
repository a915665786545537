"""The form that maps columns: what it shows, what it changes, and that nothing personal leaves it unmasked."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from payerkit import InvalidInput, read_payers
from payerkit.forms import MappingForm

PAYERS = (
    "Customer ID;Vorname;Nachname;Konto;Notiz;Geburtsdatum;Land\n"
    "user-1;Example;Payer;DE89370400440532013000;call Mrs Example;31.12.1985;Germany\n"
    "user-2;Sample;Person;DE89370400440532013001;;01.02.1990;DE\n"
)
KONTO, NOTIZ = 3, 4


class Told(MappingForm):
    """A form that keeps what it sends."""

    def __init__(self, source: Any, **options: Any) -> None:
        self.replies: list[dict[str, Any]] = []
        super().__init__(source, **options)

    def send(self, content: Any, buffers: Any = None) -> None:  # noqa: ARG002 - a page's code is not asked for here
        """Keep a message."""
        self.replies.append(content)

    def tell(self, type: str, **values: Any) -> dict[str, Any]:  # noqa: A002 - as in the message
        """Take a message of a page and return the reply."""
        self._on_message({"type": type, "page": "p", "request": 1, **values})
        return self.replies[-1]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a table with a column that is ambiguous, and one that is unknown."""
    path = tmp_path / 'payers "b\\c.csv'
    path.write_text(PAYERS, "utf-8")
    return path


@pytest.fixture
def form(file: Path) -> Told:
    """Make the form of this table."""
    return Told(file)


def decide(form: Told) -> dict[str, Any]:
    """Choose what the open columns are."""
    form.tell("choose", place=KONTO, column="iban")
    return form.tell("choose", place=NOTIZ, column="")


def states(view: dict[str, Any]) -> list[str]:
    """Return how sure each column is."""
    return [column["state"][1] for column in view["columns"]]


def test_each_column_is_shown_with_what_it_may_be(form: Told) -> None:
    """Open ones come first, each with a proposal, which is not taken; certain ones are filled in."""
    view = form.tell("state")
    konto = view["columns"][0]

    assert ["open", "open", *["certain"] * 5] == states(view)
    assert (None, "D", "Konto") == (konto["column"], konto["letters"], konto["header"])
    assert "account_number" == konto["candidates"][0]
    assert "2 columns are open." == view["todo"]
    assert {"Konto", "Notiz"} == set(form.mapping.open)


def test_our_columns_are_offered_by_group_with_their_titles(form: Told) -> None:
    """Each once, so that any choice can be made; the holder's differ from the payer's."""
    groups = dict(form.spec["groups"])
    names = [name for group in groups.values() for name, _ in group]

    assert ["Payer", "Account", "Account holder"] == list(groups)
    assert ("first_name", "First name (first_name)") in groups["Payer"]
    assert ("bank_country", "Country (bank_country)") in groups["Account holder"]
    assert len(names) == len(set(names))


def test_values_are_masked(form: Told) -> None:
    """Neither the state of the widget, nor a message, nor the preview has what stands in the file."""
    decide(form)
    form.tell("set", name="normalise", value=True)
    form.tell("preview")
    told = str([form.replies, form.get_state()])

    assert [] == [text for text in ("DE8937", "Mrs Example", "1985", "31.12", "Sample", "Payer'") if text in told]
    assert "Xxxxxxx" in told


def test_a_choice_is_made_and_changed(form: Told) -> None:
    """It stands in the mapping at once, and the column stays where it is."""
    view = decide(form)

    assert ["chosen", "left out"] == states(view)[:2]
    assert ("iban", None) == (form.mapping["Konto"], form.mapping["Notiz"])
    form.tell("choose", place=KONTO, column="account_number")

    assert "account_number" == form.mapping["Konto"]


def test_a_column_that_is_chosen_twice_is_not_decided(form: Told) -> None:
    """Both say so."""
    decide(form)
    view = form.tell("choose", place=NOTIZ, column="iban")

    assert ["A second column for IBAN (iban)."] * 2 == [column["problem"] for column in view["columns"][:2]]
    assert "" == view["line"]


def test_all_proposals_are_taken_at_once(form: Told) -> None:
    """After a look at them, with one click."""
    view = form.tell("accept")

    assert (True, False) == (bool(view["line"]), view["can_accept"])
    assert "account_number" == form.mapping["Konto"]


def test_the_preview_takes_open_columns_as_proposed_and_the_mapping_does_not(form: Told) -> None:
    """The note says so."""
    reply = form.tell("preview")

    assert reply["note"].startswith("Open columns are taken as proposed.")
    assert {"Konto", "Notiz"} == set(form.mapping.open)


def test_the_preview_is_the_plan_of_the_table(form: Told) -> None:
    """With counts and findings, in the sender's names."""
    decide(form)
    form.tell("set", name="holder_is_payer", value=True)
    reply = form.tell("preview")

    assert form.plan is not None
    assert 2 == form.plan.counts["rows"]
    assert "2 rows: " in reply["html"]
    assert "Geburtsdatum: " in reply["html"]


def test_a_table_that_cannot_be_planned_says_why(form: Told) -> None:
    """Such as one that does not say who holds the accounts; no plan is left of before."""
    decide(form)
    form.tell("set", name="holder_is_payer", value=True)
    form.tell("preview")
    form.tell("set", name="holder_is_payer", value=False)
    reply = form.tell("preview")

    assert "who is the payee" in reply["html"]
    assert form.plan is None


@pytest.mark.parametrize(("name", "value"), [("normalise", True), ("date_order", "day_first"), ("date_order", None)])
def test_how_the_file_is_read_is_part_of_the_mapping(form: Told, name: str, value: object) -> None:
    """So that it is kept with it."""
    form.tell("set", name=name, value=value)

    assert value == getattr(form.mapping, name)


def test_what_is_rewritten_is_counted(form: Told) -> None:
    """Without consent the note says what a tick would do, with it what was done."""
    decide(form)
    form.tell("set", name="holder_is_payer", value=True)
    before = form.tell("preview")["note"]
    form.tell("set", name="normalise", value=True)

    assert "tick the box above" in before
    assert "cells rewritten: form.plan.changes lists them." in form.tell("preview")["note"]


def test_the_mapping_is_used_once_nothing_is_open(form: Told) -> None:
    """The line that is shown runs, also with quotes and backslashes in the path."""
    assert "" == form.tell("state")["line"]

    line = decide(form)["line"]
    names: dict[str, Any] = {"form": form, "read_payers": read_payers}
    exec(line, names)  # noqa: S102 - the line is what is tested

    assert line.startswith("rows = read_payers(")
    assert "DE89370400440532013000" == names["rows"]["iban"].iloc[0]


@pytest.mark.parametrize("source", [io.BytesIO(PAYERS.encode()), pd.read_csv(io.StringIO(PAYERS), sep=";", dtype=str)])
def test_other_sources_are_read_again_and_again(source: Any) -> None:
    """An open file begins at its beginning each time."""
    form = Told(source)
    line = decide(form)["line"]
    form.tell("set", name="holder_is_payer", value=True)
    first, second = form.tell("preview"), form.tell("preview")

    assert first["html"] == second["html"]
    assert "2 rows: " in first["html"]
    assert "rows = read_payers(source, mapping=form.mapping)" == line


def test_an_accounts_table_is_not_asked_who_holds_them() -> None:
    """Only a table with payers and accounts needs that."""
    accounts = Told(pd.DataFrame({"Customer ID": ["user-1"], "IBAN": ["DE89370400440532013000"]}))

    assert accounts.tell("state")["holder_is_payer"] is None


def test_a_column_without_a_name_can_be_chosen(tmp_path: Path) -> None:
    """And headers that repeat are told apart."""
    path = tmp_path / "payers.csv"
    path.write_text("Customer ID,,Notiz,Notiz\nuser-1,Example,x,y\n", "utf-8")
    form = Told(path)
    form.tell("choose", place=1, column="first_name")
    view = form.tell("choose", place=3, column="last_name")
    shown = {column["header"]: column["column"] for column in view["columns"]}

    assert ("first_name", None, "last_name") == (shown["(no name)"], shown["Notiz (C)"], shown["Notiz (D)"])
    assert "1 column is open." == view["todo"]


def test_a_file_that_cannot_be_read_is_refused_at_once(tmp_path: Path) -> None:
    """As by `propose_mapping`."""
    with pytest.raises(InvalidInput, match="not found"):
        MappingForm(tmp_path / "missing.csv")
