"""What notebooks show of frames: the answer first, ids last and unbroken, and that a
list is empty.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest

import payerkit
from payerkit.frames import frame_of
from published import ORDER, PAYER


@pytest.fixture(scope="module")
def client() -> Iterator[payerkit.client.Client]:
    """Give a client of a sandbox with a payer, and without requests."""
    with payerkit.sandbox(seed=1) as client:
        payerkit.create_payer(client, PAYER)
        yield client


@pytest.mark.parametrize(
    ("frame_from", "first", "last"),
    [
        (
            lambda c: payerkit.payer_statuses(c, []),
            "client_user_id whose_move what_to_do",
            "error",
        ),
        (
            lambda c: payerkit.list_payment_details(c, PAYER["clientUserId"]),
            "bank_name account_name",
            "user_id id",
        ),
        (
            lambda c: payerkit.reconcile([], client=c),
            "reference state whose_move what_to_do",
            "request_id tx_hash",
        ),
        (payerkit.list_requests, "reference created_at_utc status has_been_paid", ""),
        (
            lambda c: payerkit.list_payments(c, reference="none"),
            "reference timestamp_utc type amount",
            "",
        ),
    ],
)
def test_the_answer_comes_first(
    client: payerkit.client.Client,
    frame_from: Callable[[Any], pd.DataFrame],
    first: str,
    last: str,
) -> None:
    """A screen of 1280 pixels shows whose move it is, and what to do; and an empty list
    says that it is empty.
    """
    frame = frame_from(client)
    columns = " ".join(frame.columns)

    assert (True, True) == (columns.startswith(first), columns.endswith(last))
    assert "<p>No rows.</p>" in frame._repr_html_()  # type: ignore[operator]


@pytest.mark.parametrize("index", [None, pd.Index(["a", "a"]), pd.Index([7, 3])])
def test_a_column_of_objects_keeps_them(index: Any) -> None:
    """None and texts stay what they are, under any labels."""
    frame = frame_of(
        [{"name": "a", "kind": "x"}, {"name": "b"}],
        {"name": "string", "kind": object},
        index=index,
    )

    assert (["x", None], "object") == (frame["kind"].tolist(), str(frame["kind"].dtype))
    assert ["a", "b"] == frame["name"].tolist()


def test_decoded_transactions_begin_with_what_they_do(
    client: payerkit.client.Client,
) -> None:
    """What is paid, to whom, how much of what."""
    frame = payerkit.decode_transactions(payerkit.initiate_payment(client, ORDER))

    assert ["does", "recipient", "amount", "token"] == list(frame.columns[:4])


def test_ids_are_not_broken(client: payerkit.client.Client) -> None:
    """Of the frame that comes back; what is made of it has the style of pandas."""
    frame = payerkit.payer_statuses(client, [PAYER["clientUserId"]])
    shown = payerkit.payer_statuses(client, [PAYER["clientUserId"]])._repr_html_()  # type: ignore[operator]

    assert (True, False) == ("white-space: nowrap" in shown, "No rows" in shown)
    assert (True, True) == (
        isinstance(frame, pd.DataFrame),
        pickle.loads(pickle.dumps(frame)).equals(frame),  # noqa: S301
    )
    assert "nowrap" not in frame[["whose_move"]]._repr_html_()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("limit", "says_how"), [(60, True), (200, False), (None, False)]
)
def test_a_shortened_frame_says_how_to_show_all(
    limit: int | None,
    says_how: bool,
) -> None:
    """Of a plan with more rows than pandas shows; one that is whole says nothing."""
    plan = payerkit.plan_onboarding(pd.DataFrame([PAYER] * 100))
    with pd.option_context("display.max_rows", limit):
        shown = plan.frame._repr_html_()  # type: ignore[operator]

    assert says_how == ("pd.options.display.max_rows = None" in shown)


def test_sentences_are_whole(client: payerkit.client.Client) -> None:
    """What to do is shown to its end, in lines, where pandas would cut it off after 50
    characters.
    """
    frame = payerkit.payer_statuses(client, [PAYER["clientUserId"]])
    shown = frame._repr_html_()  # type: ignore[operator]

    assert (True, True) == (
        frame["what_to_do"][0] in shown,
        len(frame["what_to_do"][0]) > 50,
    )
    assert ["pk-lines-4"] == re.findall(
        r'pk-lines-\d+(?=[ "])', shown.partition(">")[0]
    )
