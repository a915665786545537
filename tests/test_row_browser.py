"""The row browser: pages, filters, search and order of many rows; what is copied and saved; and its messages."""

from __future__ import annotations

import csv
import stat
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from example_reports import OUTCOMES, example_plan, example_report, example_rows
from payerkit import html
from payerkit.bulk.reasons import Reasons
from payerkit.bulk.row_pages import RowPages
from payerkit.errors import InvalidInput
from payerkit.widgets.row_browser import RowBrowser

KINDS: dict[str, html.Kind] = {"refused": "error", "not_sent": "neutral", "warning": "warning", "done": "success"}


def pages(frame: pd.DataFrame) -> RowPages:
    """Return the pages of a frame whose rows have no notes."""
    return RowPages(
        frame,
        KINDS,
        ["client_user_id"],
        lambda: Reasons.of_states(frame["state"], frame["reason"]),
        lambda rows: [""] * len(rows),
    )


FRAME = pd.DataFrame(
    {
        "state": ["done", "refused", "done", "not_sent", "refused"],
        "reason": ["", "No such bank.", "", "Not sent yet.", "No name."],
        "client_user_id": ["delta", "Bravo", "alpha", None, "ECHO"],
        "agreement_url": ["https://example.com/secret"] * 5,
    },
    index=["a", "b", "c", "d", "x@example.com"],
).astype("string")


def labels(shown: dict[str, Any]) -> list[str]:
    """Return the labels of the rows of a page."""
    return [row[0] for row in shown["rows"]]


def counts(shown: dict[str, Any]) -> dict[str, int]:
    """Return the number of rows in each state, as the filter has them."""
    return {state: count for state, *_, count in shown["states"]}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, ["b", "••••", "d", "a", "c"]),  # what needs a person first, then as in the table
        ({"sort": "row"}, ["a", "b", "c", "d", "••••"]),
        ({"sort": "row", "descending": True}, ["••••", "d", "c", "b", "a"]),
        ({"sort": "state", "descending": True}, ["a", "c", "d", "b", "••••"]),
        ({"sort": "client_user_id"}, ["c", "b", "a", "••••", "d"]),  # whatever the case, missing ones last
        ({"sort": "client_user_id", "descending": True}, ["••••", "a", "b", "c", "d"]),
        ({"sort": "no such column"}, ["a", "b", "c", "d", "••••"]),
        ({"state": "done"}, ["a", "c"]),
        ({"state": "no such state"}, ["b", "••••", "d", "a", "c"]),
        ({"text": "BRAVO"}, ["b"]),  # whatever the case
        ({"text": "no"}, ["b", "••••", "d"]),
        ({"text": "  not   sent "}, ["d"]),
        ({"text": "x@example"}, ["••••"]),  # a label as the table has it, although it is shown masked
        ({"text": "secret"}, []),  # links are no text to be found
        ({"text": "("}, []),  # a text, no pattern
        ({"reason": 0}, ["b"]),  # in the order of the states, then of the numbers
        ({"reason": 99}, ["b", "••••", "d", "a", "c"]),
        ({"text": "no", "state": "refused", "sort": "row"}, ["b", "••••"]),
    ],
)
def test_rows_are_found_and_sorted(wanted: dict[str, Any], expected: list[str]) -> None:
    """By label, text, state and reason, in the order of any column."""
    assert expected == labels(pages(FRAME).page(wanted))


def test_numbers_as_labels_are_found_as_numbers() -> None:
    """Row 1 is not row 10."""
    frame = pd.DataFrame({"state": ["done"] * 11, "reason": [""] * 11, "client_user_id": ["x"] * 11}, dtype="string")

    assert ["1"] == labels(pages(frame).page({"text": "1"}))


def test_a_filter_says_what_it_would_find() -> None:
    """States are counted among the rows with the text, reasons among those with the text and the state."""
    shown = pages(FRAME).page({"text": "no", "state": "refused"})

    assert ({"refused": 2, "not_sent": 1, "done": 0}, 2, 5) == (counts(shown), shown["found"], shown["total"])
    assert [("refused", "No such bank.", 1), ("refused", "No name.", 1)] == [
        (state, text, times) for _, state, *_, text, times in shown["reasons"]
    ]


def test_rows_come_by_the_page() -> None:
    """Fifty at a time, from any place on; beyond the end comes the last page."""
    size = 120
    frame = pd.DataFrame({"state": ["done"] * size, "reason": "", "client_user_id": "x"}, dtype="string")
    shown = [pages(frame).page({"sort": "row"}, start) for start in (0, 50, 75, 100, 1000, -3)]

    assert [(0, 50), (50, 50), (50, 50), (100, 20), (100, 20), (0, 50)] == [
        (each["start"], len(each["rows"])) for each in shown
    ]
    assert "100" == labels(shown[3])[0]


def test_an_empty_table_has_an_empty_page() -> None:
    """No rows, no states, no reasons."""
    shown = pages(FRAME.head(0)).page({})

    assert ([], [], [], 0) == (shown["rows"], shown["states"], shown["reasons"], shown["found"])


def test_a_reason_that_is_not_among_the_listed_ones_stays_listed_while_it_is_chosen() -> None:
    """A hundred reasons are listed, and how many there are beside them."""
    size = 150
    frame = pd.DataFrame({"state": "refused", "reason": [f"Reason {n}." for n in range(size)], "client_user_id": "x"})
    browsed = pages(frame.astype("string"))

    assert (100, 50) == (len(browsed.page({})["reasons"]), browsed.page({})["more_reasons"])
    assert ["Reason 120."] == [row[2] for row in browsed.page({"reason": 120})["rows"]]
    assert "Reason 120." in [reason[-2] for reason in browsed.page({"reason": 120})["reasons"]]


def test_control_characters_are_shown() -> None:
    """An id or a reason cannot turn the text around it."""
    frame = FRAME.assign(reason="a\u202eb", client_user_id="c\nd").astype("string")
    label, _, reason, _, cells = pages(frame).page({})["rows"][0]

    assert ("b", "a\\u202eb", ["c\\nd"]) == (label, reason, cells)


# Copy and save


def test_the_wanted_rows_are_copied() -> None:
    """With a header, in the order of the page, without links and formulas; e-mail addresses are masked."""
    frame = FRAME.assign(client_user_id=["=1+1", "b", "c\td", "d", "e"]).astype("string")
    copied = pages(frame).copy({"state": "done"})

    assert {
        "notice": "Copied 2 rows.",
        "text": "row\tstate\treason\tclient_user_id\na\tdone\t\t'=1+1\nc\tdone\t\tc\\td",
    } == copied
    assert "x@example.com" not in pages(frame).copy({})["text"]


def test_no_more_rows_are_copied_than_a_clipboard_takes() -> None:
    """The rest is for a file, and that is told."""
    frame = pd.DataFrame({"state": ["done"] * 10_001, "reason": "", "client_user_id": "x"}, dtype="string")
    copied = pages(frame).copy({})

    assert "Copied 10,000 rows of 10,001; save the rest as CSV." == copied["notice"]
    assert 10_001 == len(copied["text"].splitlines())


def test_the_wanted_rows_are_saved_for_their_owner(tmp_path: Path) -> None:
    """As `Report.save` writes them, without formulas; the message says where."""
    frame = FRAME.assign(reason="=1+1").astype("string")
    file = tmp_path / "rows.csv"
    told = pages(frame).save({"state": "done", "sort": "row"}, f" {file} ")
    with file.open(newline="") as opened:
        rows = list(csv.reader(opened))

    assert {"notice": f"Saved 2 rows in {file}. Only you may read it."} == told
    assert ["row", *frame.columns] == rows[0]
    assert [["a", "done", "'=1+1"], ["c", "done", "'=1+1"]] == [row[:3] for row in rows[1:]]
    assert 0o600 == stat.S_IMODE(file.stat().st_mode)


def test_a_file_is_replaced_only_when_that_is_wanted(tmp_path: Path) -> None:
    """The first click tells that there is one; an older file becomes private, too."""
    file = tmp_path / "payers.csv"
    file.write_text("precious")
    found = pages(FRAME).save({}, str(file))
    before = file.read_text()
    pages(FRAME).save({}, str(file), replace=True)

    assert ({"exists": "payers.csv"}, "precious") == (found, before)
    assert ("row,state", 0o600) == (file.read_text()[:9], stat.S_IMODE(file.stat().st_mode))


@pytest.mark.parametrize("path", ["", "  ", "a\0b"])
def test_a_file_needs_a_name(path: str) -> None:
    """An empty field is no file."""
    with pytest.raises(InvalidInput, match="File: enter the name"):
        pages(FRAME).save({}, path)


@pytest.mark.parametrize(
    ("path", "words"), [("~nobody-here/x.csv", "no such user"), (".", "is a folder"), ("/dev/null", "or a device")]
)
def test_a_file_is_a_file(path: str, words: str) -> None:
    """Neither a folder nor a device is written to, nor offered to be replaced."""
    with pytest.raises(InvalidInput, match=words):
        pages(FRAME).save({}, path, replace=True)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([None, "b", "c", "d", "e"], dtype="string"),
        pd.Index([None, 2, 3, 4, 5], dtype="Int64"),
        pd.Index([np.nan, 2, 3, 4, 5]),
        pd.Index(["a"] * 5),
        pd.Index([1, "b", None, 2.5, ("x", 1)], dtype="object"),
        pd.MultiIndex.from_product([["x"], [1, 2, 3, 4, 5]]),
    ],
)
def test_rows_have_any_labels(index: pd.Index[Any], tmp_path: Path) -> None:
    """Missing, repeated and mixed labels can be shown, searched, copied and saved."""
    shown = pages(FRAME.set_axis(index))

    assert 5 == len(shown.page({})["rows"])
    assert shown.page({"text": "2"})["found"] <= 1
    assert 6 == len(shown.copy({})["text"].splitlines())
    assert shown.save({}, str(tmp_path / "rows.csv"))["notice"].startswith("Saved 5 rows")


# Reports and plans


def test_a_report_is_browsed(tmp_path: Path) -> None:
    """All states, the reasons and warnings with their numbers, and the facts of a row; but no links."""
    browsed = example_report(tmp_path, 60).browse()
    shown = browsed._rows.page({"state": "done"}, 0)

    assert ["refused", "unknown", "duplicate", "not_sent", "waiting", "done"] == [*counts(shown)]
    assert {"warning", "done"} == {kind for _, kind, *_ in shown["reasons"]}
    assert "status: pending · kyc status: approved" in shown["rows"][1][3]
    assert "bank details" in shown["rows"][0][4]
    assert "secret" not in str(shown)
    assert "<RowBrowser: 60 rows>" == repr(browsed)


def test_a_warning_finds_its_rows(tmp_path: Path) -> None:
    """Whatever became of them."""
    browsed = example_report(tmp_path, 60).browse()
    (number,) = [number for number, kind, *_ in browsed._rows.page({}, 0)["reasons"] if kind == "warning"]
    shown = browsed._rows.page({"reason": number, "sort": "row"}, 0)

    assert [str(row) for row in range(3, 61, 6)] == labels(shown)
    assert all("[routing_checksum]" in note for _, _, _, note, _ in shown["rows"])


def test_statuses_are_shown_in_words(tmp_path: Path) -> None:
    """A status has blanks in place of underscores; an id stays as it is."""
    report = example_report(tmp_path)
    report.frame["kyc_status"], report.frame["user_id"] = "awaiting_manual_review", "user_1"
    note = report.browse()._rows.page({}, 0)["rows"][0][3]

    assert "user id: user_1 · " in note
    assert "kyc status: awaiting manual review" in note


def test_a_plan_is_browsed() -> None:
    """What is wrong, by finding; what would be sent; warnings in small print."""
    browsed = example_plan(60).browse()
    shown = browsed._rows.page({"state": "held"}, 0)

    assert {"not_sent": 6, "held": 10, "to_send": 44} == counts(shown)
    assert ["routing_number: "] == [text[:16] for *_, text, _ in shown["reasons"]]
    assert "[routing_checksum]" in shown["rows"][0][3]
    assert ["user-000", "send", "send"] == browsed._rows.page({"state": "to_send"}, 0)["rows"][0][4]


def test_pictures_group_reasons(tmp_path: Path) -> None:
    """Errors first, each with its number of rows and the first of them, in words with blanks."""
    shown = example_report(tmp_path, 60)._repr_html_()
    places = [shown.index(words) for words in ("✗ refused", "! unknown", "= duplicate", "· not sent", "i waiting")]

    assert sorted(places) == places
    assert "rows 3, 10, 17 and 6 more" in shown
    assert "not_sent" not in shown


def test_a_picture_says_when_all_is_done(tmp_path: Path) -> None:
    """Without a table of reasons."""
    assert "Reasons" not in example_report(tmp_path, 1)._repr_html_()
    assert "done" == OUTCOMES[0][0]


# Messages


class Sent(RowBrowser):
    """A browser that keeps what it sends."""

    def __init__(self, rows: RowPages) -> None:
        self.replies: list[dict[str, Any]] = []
        super().__init__(rows, title="Rows", file="rows.csv")

    def send(self, content: Any, buffers: Any = None) -> None:  # noqa: ARG002 - a page's code is not asked for here
        """Keep a message."""
        self.replies.append(content)

    def tell(self, message: Any) -> dict[str, Any]:
        """Take a message of a page and return the reply."""
        self._on_message(message)
        return self.replies[-1]


def test_a_reply_goes_to_the_page_that_asked() -> None:
    """With the number of its request, since replies may come late."""
    reply = Sent(pages(FRAME)).tell({"type": "page", "wanted": {}, "start": 0, "page": "p", "request": 7})

    assert ("p", 7, 5) == (reply["page"], reply["request"], len(reply["rows"]))


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (None, "Unexpected error: TypeError. Report it."),
        ({"type": "dance", "wanted": {}}, "Unexpected error: ValueError. Report it."),
        (
            {"type": "save", "wanted": {}, "path": ""},
            "File: enter the name of a file, such as report.csv. Nothing was written.",
        ),
        ({"type": "save", "wanted": {}, "path": "/dev/null/x"}, "The file cannot be written: Not a directory."),
        (
            {"type": "save", "wanted": {}, "path": 5},
            "File: enter the name of a file, such as report.csv. Nothing was written.",
        ),
    ],
)
def test_a_message_never_raises(message: Any, error: str) -> None:
    """The page shows what went wrong; ipywidgets would only log it."""
    assert error == Sent(pages(FRAME)).tell(message)["error"]


def test_nothing_of_the_rows_is_in_the_saved_state(tmp_path: Path) -> None:
    """The title, the names of the columns and a file name, whatever is shown."""
    browsed = example_report(tmp_path, 7).browse()
    browsed._rows.page({}, 0)
    state = browsed.get_state()

    assert [] == [text for text in ("user-", "account-", "refused", "approved") if text in str(state["spec"])]
    assert {"title", "columns", "file"} == set(state["spec"])


# Size


@pytest.mark.slow
def test_a_million_rows_page_at_once() -> None:
    """After the first page, a page, a filter and a reason take less than 100 ms."""
    size = 1_000_000
    draws = np.random.default_rng(1).integers(0, 4, size)
    frame = pd.DataFrame(
        {
            "state": pd.array(np.array(["done", "done", "refused", "not_sent"])[draws], "string"),
            "reason": pd.array(np.array(["", "", "No.", "Not yet."])[draws], "string"),
            "client_user_id": pd.array([f"user-{n:07}" for n in range(size)], "string"),
        }
    )
    browsed = pages(frame)
    browsed.page({})
    took = []
    asked: list[tuple[dict[str, Any], int]] = [
        ({}, 50),
        ({}, 900_000),
        ({"state": "refused"}, 0),
        ({"state": "refused"}, 50),
        ({"reason": 1}, 0),
    ]
    for wanted, start in asked:
        began = time.perf_counter()
        browsed.page(wanted, start)
        took.append(time.perf_counter() - began)

    assert 0.1 > max(took)


def test_example_rows_are_found_by_the_checks() -> None:
    """What the other tests rely on: errors and warnings in the example."""
    plan = example_plan(60)

    assert (6, 10) == (60 - plan.counts["to_send"] - plan.counts["held"], plan.counts["held"])
    assert 60 == len(example_rows(60))
