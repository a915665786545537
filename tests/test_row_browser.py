"""The row browser: pages, filters, search and order of many rows; and its messages."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cases import table
from example_reports import example_plan, example_report
from payerkit import html
from payerkit.onboarding.row_browser import RowBrowser

KINDS: dict[str, html.Kind] = {"refused": "error", "not_sent": "neutral", "warning": "warning", "done": "success"}


class Sent(RowBrowser):
    """A browser that keeps what it sends."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.replies: list[dict[str, Any]] = []
        super().__init__(frame, KINDS, ["reason", "client_user_id"], title="Rows")

    def send(self, content: Any, buffers: Any = None) -> None:  # noqa: ARG002 - a page's code is not asked for here
        """Keep a message."""
        self.replies.append(content)

    def tell(self, message: Any) -> dict[str, Any]:
        """Take a message of a page and return the reply."""
        self._on_message(message)
        return self.replies[-1]


def page(browser: RowBrowser, **wanted: Any) -> dict[str, Any]:
    """Return the page of the wanted rows; by default, the first of all."""
    return browser._reply({"state": "", "text": "", "sort": "state", "descending": False, "start": 0, **wanted})


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


def counts(shown: dict[str, Any], kinds: Any = tuple(KINDS)) -> dict[str, int]:
    """Return the number of found rows in each state, those that occur."""
    return {state: number for state, number in zip(kinds, shown["counts"], strict=True) if number}


@table("browsed_rows")
def test_rows_are_found_and_sorted(wanted: dict[str, Any], expected: list[str]) -> None:
    """By label, text and state, in the order of any column."""
    assert expected == labels(page(Sent(FRAME), **wanted))


def test_states_are_counted_among_what_was_found() -> None:
    """A filter says what it would find with the text."""
    shown = page(Sent(FRAME), text="no", state="refused")

    assert ({"refused": 2, "not_sent": 1}, 2, 5) == (counts(shown), shown["found"], shown["total"])


def test_rows_come_by_the_page() -> None:
    """Fifty at a time, from any place on; beyond the end comes the last page."""
    size = 120
    frame = pd.DataFrame({"state": ["done"] * size, "reason": "", "client_user_id": "x"}, dtype="string")
    shown = [page(Sent(frame), sort="row", start=start) for start in (0, 50, 75, 100, 1000, -3)]

    assert [(0, 50), (50, 50), (50, 50), (100, 20), (100, 20), (0, 50)] == [
        (each["start"], len(each["rows"])) for each in shown
    ]
    assert "100" == labels(shown[3])[0]


def test_an_empty_table_has_an_empty_page() -> None:
    """No rows, and no states."""
    shown = page(Sent(FRAME.head(0)))

    assert ([], {}, 0) == (shown["rows"], counts(shown), shown["found"])


def test_control_characters_are_shown() -> None:
    """An id or a reason cannot turn the text around it."""
    frame = FRAME.assign(reason="a\u202eb", client_user_id="c\nd").astype("string")

    assert ["b", 0, "a\\u202eb", "c\\nd"] == page(Sent(frame))["rows"][0]


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
def test_rows_have_any_labels(index: pd.Index[Any]) -> None:
    """Missing, repeated and mixed labels can be shown and searched."""
    browser = Sent(FRAME.set_axis(index))

    assert 5 == len(page(browser)["rows"])
    assert page(browser, text="2")["found"] <= 1


# Reports and plans


def test_a_report_is_browsed(tmp_path: Path) -> None:
    """All states, and what is wrong with a row; other texts, such as ids, find it, but no links."""
    browser = example_report(tmp_path, 60).browse()
    kinds = [state for state, *_ in browser.spec["states"]]
    shown = page(browser, state="done")

    assert ["refused", "unknown", "duplicate", "not_sent", "waiting", "done"] == [*counts(shown, kinds)]
    assert "[routing_checksum]" in str(page(browser, text="routing_checksum")["rows"][0])
    assert "bank_details" in shown["rows"][0]
    assert page(browser, text="account-")["found"]
    assert (0, False) == (page(browser, text="secret")["found"], "secret" in str(shown))
    assert "<RowBrowser: 60 rows>" == repr(browser)


def test_a_plan_is_browsed() -> None:
    """What is wrong, and what would be sent."""
    browser = example_plan(60).browse()
    kinds = [state for state, *_ in browser.spec["states"]]

    assert {"not_sent": 6, "held": 10, "to_send": 44} == counts(page(browser), kinds)
    assert "[routing_checksum]" in page(browser, state="held")["rows"][0][-1]
    assert ["user-000", "send", "send"] == page(browser, state="to_send")["rows"][0][3:6]


def test_pictures_group_reasons(tmp_path: Path) -> None:
    """Errors first, each with its number of rows and the first of them, in words with blanks."""
    shown = example_report(tmp_path, 60)._repr_html_()
    places = [
        shown.index(words)
        for words in ("✗&nbsp;refused", "!&nbsp;unknown", "=&nbsp;duplicate", "·&nbsp;not sent", "i&nbsp;waiting")
    ]

    assert sorted(places) == places
    assert "rows 3, 10, 17 and 6 more" in shown
    assert "not_sent" not in shown


# Messages


def test_a_reply_goes_to_the_page_that_asked() -> None:
    """With the number of its request, since replies may come late."""
    reply = Sent(FRAME).tell(
        {"state": "", "text": "", "sort": "row", "descending": False, "start": 0, "page": "p", "request": 7}
    )

    assert ("p", 7, 5) == (reply["page"], reply["request"], len(reply["rows"]))


@pytest.mark.parametrize("message", [{"state": "done"}, {"text": 1, "state": [], "sort": {}, "start": "x"}])
def test_a_message_never_raises(message: Any) -> None:
    """The page shows what went wrong; ipywidgets would only log it."""
    assert Sent(FRAME).tell(message)["error"].startswith("Unexpected error: ")


def test_nothing_of_the_rows_is_in_the_saved_state(tmp_path: Path) -> None:
    """The title, and the names of columns and of all states, whatever is shown."""
    browser = example_report(tmp_path, 7).browse()
    page(browser)
    state = browser.get_state()

    assert example_report(tmp_path, 1).browse().spec == browser.spec
    assert [] == [text for text in ("user-", "account-", "approved") if text in f"{state} {browser.spec}"]
    assert {"title", "columns", "states", "size"} == set(json.loads(gzip.decompress(state["spec"])))
