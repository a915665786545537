"""What notebooks show of frames: the answer first, ids last and unbroken, and that a list is empty."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest

import payerkit
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
        (lambda c: payerkit.payer_statuses(c, []), "client_user_id whose_move what_to_do", "payer_key"),
        (lambda c: payerkit.list_payment_details(c, PAYER["clientUserId"]), "bank_name account_name", "user_id id"),
        (lambda c: payerkit.reconcile([], client=c), "reference state whose_move what_to_do", "request_id tx_hash"),
        (payerkit.list_requests, "reference created_at status has_been_paid", ""),
        (lambda c: payerkit.list_payments(c, reference="none"), "reference timestamp type amount", ""),
    ],
)
def test_the_answer_comes_first(
    client: payerkit.client.Client, frame_from: Callable[[Any], pd.DataFrame], first: str, last: str
) -> None:
    """A screen of 1280 pixels shows whose move it is, and what to do; and an empty list says that it is empty."""
    frame = frame_from(client)
    columns = " ".join(frame.columns)

    assert (True, True) == (columns.startswith(first), columns.endswith(last))
    assert "<p>No rows.</p>" in frame._repr_html_()  # type: ignore[operator]


def test_decoded_transactions_begin_with_what_they_do(client: payerkit.client.Client) -> None:
    """What is paid, to whom, how much of what."""
    frame = payerkit.decode_transactions(payerkit.initiate_payment(client, ORDER))

    assert ["does", "recipient", "amount", "token"] == list(frame.columns[:4])


def test_ids_are_not_broken(client: payerkit.client.Client) -> None:
    """Of the frame that comes back; what is made of it is as pandas shows it, and it is no other kind of frame."""
    frame = payerkit.payer_statuses(client, [PAYER["clientUserId"]])
    shown = payerkit.payer_statuses(client, [PAYER["clientUserId"]])._repr_html_()  # type: ignore[operator]

    assert (True, False) == ("white-space: nowrap" in shown, "No rows" in shown)
    assert (pd.DataFrame, True) == (type(frame), pickle.loads(pickle.dumps(frame)).equals(frame))  # noqa: S301
    assert "nowrap" not in frame[["whose_move"]]._repr_html_()  # type: ignore[operator]


def test_sentences_are_whole(client: payerkit.client.Client) -> None:
    """What to do is shown to its end, in lines, where pandas would cut it off after 50 characters."""
    frame = payerkit.payer_statuses(client, [PAYER["clientUserId"]])
    shown = frame._repr_html_()  # type: ignore[operator]

    assert (True, True) == (frame["what_to_do"][0] in shown, len(frame["what_to_do"][0]) > 50)
    assert ["pk-lines-4"] == re.findall(r'pk-lines-\d+(?=[ "])', shown.partition(">")[0])
