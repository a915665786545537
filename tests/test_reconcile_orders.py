"""Orders against what was paid and what events say: every state, and nothing that is
not known.
"""

from __future__ import annotations

import itertools
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
from cases import table
from payerkit import InvalidInput, PaymentOrder, PayoutOrder, reconcile
from payerkit.frames import frame_of
from payerkit.models import Payment, PaymentRequest, Payout
from payerkit.money.events import EVENT_DTYPES
from payerkit.money.lists import REQUEST_DTYPES, payments_frame
from published import ANSWERS, ORDER
from test_service_payouts import USER, account_of, on_board

ORDERED = {"reference": "invoice-1", "amount": "25.50", "invoice_currency": "USD"}


def paid(number: int = 1, **changes: Any) -> dict[str, Any]:
    """Return a payment of the order as the service lists it; changes: of its members,
    or of its request's.
    """
    request = {
        "requestId": "01ab",
        "paymentReference": "0x44d1",
        "hasBeenPaid": True,
        "reference": "invoice-1",
    }
    request |= {name: changes.pop(name) for name in request if name in changes}
    return {
        "id": f"pay-{number}",
        "amount": "25.50",
        "sourceTxHash": f"0x{number:064x}",
        "timestamp": f"2026-11-0{number}T10:00:00Z",
        "type": "direct",
        "currency": "USD",
        "paymentCurrency": "USDC-sepolia",
        "request": request,
    } | changes


def told(*events: str | dict[str, Any]) -> pd.DataFrame:
    """Return events as `read_events` returns them; by default, about the payout of the
    request of the payments above.

    events: the columns of each that are not so, or its off-ramp status.
    """
    usual = {
        "event": "payment.processing",
        "request_id": "01ab",
        "signature": "valid",
        "is_test": False,
    }
    start = pd.Timestamp("2026-11-09T12:00")
    rows = [
        usual
        | {"received_at_utc": start + pd.Timedelta(minutes=number)}
        | ({"sub_status": event} if isinstance(event, str) else event)
        for number, event in enumerate(events)
    ]
    return frame_of(rows, EVENT_DTYPES)


def state_of(
    payments: list[dict[str, Any]], events: pd.DataFrame | None = None, **changes: Any
) -> pd.Series[Any]:
    """Return the row of the one order."""
    frame = reconcile([ORDERED | changes], payments_frame(payments), events=events)

    assert 1 == len(frame)
    return frame.iloc[0]


ADVICE = re.compile(
    "have the payer (sign|pay)|pay the rest|create (one|a new)|start a new payment"
    "|surplus returned|store them as a new account",
    re.IGNORECASE,
)
"""What nobody is told to do while sources contradict each other."""


def words_of(row: Any) -> str:
    """Return the doubt, if there is one, and what to do: with a doubt, it is your move,
    and nothing is to be paid, signed, created or returned.
    """
    if pd.isna(row["doubt"]):
        return str(row["what_to_do"])

    assert "you" == row["whose_move"]
    assert ADVICE.search(row["what_to_do"]) is None
    return f"{row['doubt']} {row['what_to_do']}"


def test_a_paid_order() -> None:
    """Paid in crypto; without events, nothing is known of the bank. Ids are shown as
    the service writes them.
    """
    row = state_of([paid(requestId="01Ab")])

    assert ("paid", True, 1) == (row["state"], row["paid"], row["times_paid"])
    assert (Decimal("25.50"), "USDC-sepolia", "01Ab") == (
        row["paid_amount"],
        row["payment_currency"],
        row["request_id"],
    )
    assert (pd.Timestamp("2026-11-01T10:00"), f"0x{1:064x}") == (
        row["paid_at_utc"],
        row["tx_hash"],
    )
    assert pd.isna(row["bank_status"])
    assert "Only events say" in row["what_to_do"]
    assert "no event says yet" in state_of([paid()], told())["what_to_do"]


STATE_OF_WORD = {
    "bounced": "bounced",
    "failed": "failed",
    "insufficient_funds": "failed",
    "retry_required": "failed",
    "initiated": None,  # the payments decide
    "pending_internal_assessment": "on_its_way",
    "ongoing_checks": "on_its_way",
    "processing": "on_its_way",
    "sending_fiat": "on_its_way",
    "fiat_sent": "at_the_bank",
}


def test_every_documented_word_is_tried_here() -> None:
    """A new off-ramp status in the table of statuses, too."""
    statuses = payerkit.reference.statuses()

    assert set(statuses[statuses["of"] == "payment"]["status"]) == set(STATE_OF_WORD)


@pytest.mark.parametrize(("status", "state"), STATE_OF_WORD.items())
def test_the_last_word_of_the_bank_decides(status: str, state: str | None) -> None:
    """With the time, the reason and the advice that belong to it."""
    row = state_of(
        [paid()], told("initiated", {"sub_status": status, "reason": "a reason"})
    )

    assert (state or "paid", status, "a reason") == (
        row["state"],
        row["bank_status"],
        row["reason"],
    )
    assert pd.Timestamp("2026-11-09T12:01") == row["bank_status_at_utc"]
    if state is not None:
        advice = payerkit.explain(status, of="payment")
        assert row["what_to_do"].endswith(advice.what_to_do)
        assert (advice.whose_move if state != "failed" else "you") == row["whose_move"]
        assert (state == "failed") == (
            "have that settled before anyone pays again" in row["what_to_do"]
        )


def test_paid_twice() -> None:
    """It is told even if the bank has the money: somebody has to give back the rest."""
    row = state_of([paid(1), paid(2)], told("fiat_sent"))

    assert ("paid_twice", 2, 2, Decimal("51.00"), "fiat_sent") == (
        row["state"],
        row["times_paid"],
        row["payments"],
        row["paid_amount"],
        row["bank_status"],
    )
    assert ("you", True) == (
        row["whose_move"],
        row["what_to_do"].startswith("Paid 2 times"),
    )
    assert pd.Timestamp("2026-11-02T10:00") == row["paid_at_utc"]
    assert f"0x{1:064x}, 0x{2:064x}" == row["tx_hash"]


def test_tokens_of_two_kinds_have_no_sum() -> None:
    """But they count, if both are worth the currency of the order."""
    row = state_of(
        [paid(1, amount="10"), paid(2, amount="15.50", paymentCurrency="fUSDT-sepolia")]
    )

    assert ("paid", 1, "USDC-sepolia, fUSDT-sepolia") == (
        row["state"],
        row["times_paid"],
        row["payment_currency"],
    )
    assert row["paid_amount"] is None


@table("reconciled_orders")
def test_what_became_of_an_order(
    order: dict[str, Any],
    payments: list[dict[str, Any]],
    events: list[Any],
    state: str,
    is_paid: bool | None,
    times: str | None,
    whose_move: str,
    what_to_do: str,
) -> None:
    """A case of each kind, and its honest neighbours; what is paid in full is said to
    be, and nothing else is.
    """
    listed = [
        paid(number, **{"amount": "100", "hasBeenPaid": None} | each)
        for number, each in enumerate(payments, 1)
    ]
    row = state_of(
        listed, told(*events), **{"amount": "100", "request_id": "01ab"} | order
    )

    found = [
        None if pd.isna(row[name]) else row[name]
        for name in ("state", "paid", "times_paid", "whose_move")
    ]
    assert [state, is_paid, times and int(times), whose_move] == found
    assert what_to_do in words_of(row)


def requested(*requests: dict[str, Any]) -> pd.DataFrame:
    """Return requests as `list_requests` returns them, by default the one of the
    payments above, unpaid.
    """
    usual = {
        "request_id": "01ab",
        "payment_reference": "0x44d1",
        "reference": "invoice-1",
        "has_been_paid": False,
    }
    usual |= {
        "amount": Decimal("25.50"),
        "invoice_currency": "USD",
        "payment_currency": "USDC-sepolia",
    }
    return frame_of([usual | each for each in requests], REQUEST_DTYPES)


@pytest.mark.parametrize(
    "changes",
    [
        {"payment_reference": " "},
        {"request_id": ""},
        {"amount": " 25.50"},
        {"invoice_currency": "USD\u00a0"},
        {"reference": " invoice-1 "},
    ],
)
def test_blanks_in_an_order_mean_nothing(changes: dict[str, Any]) -> None:
    """A blank id would hide the reference, so that a paid order were called not
    paid.
    """
    listed = payments_frame([paid(reference=None)])
    (row,) = reconcile(
        [ORDERED | changes], listed, requests=requested({"has_been_paid": True})
    ).to_dict("records")

    assert ("paid", True, "service") == (row["state"], row["paid"], row["whose_move"])


@table("reconciled_requests")
def test_what_the_list_of_requests_says_counts_too(
    requests: list[Any],
    payments: list[Any],
    events: list[str],
    state: str,
    is_paid: bool | None,
    whose_move: str,
    what_to_do: str,
) -> None:
    """It tells an unpaid order from one that nobody requested, and each ledger that
    does not agree is named.
    """
    listed = payments_frame(
        [paid(number, **each) for number, each in enumerate(payments, 1)]
    )
    (row,) = reconcile(
        [ORDERED], listed, requests=requested(*requests), events=told(*events)
    ).to_dict("records")

    assert (state, whose_move) == (row["state"], row["whose_move"])
    assert is_paid == (None if pd.isna(row["paid"]) else row["paid"])
    assert what_to_do in words_of(row)


@table("matched_payments")
def test_nobody_pays_what_may_be_paid(
    orders: list[dict[str, Any]],
    payments: list[dict[str, Any]],
    states: list[str],
    words: str,
) -> None:
    """Neither case nor blanks tell references apart, and an id decides. A payment that
    is for none or several of the orders, or too much for one, may be an order's own.
    """
    listed = payments_frame(
        [paid(number, **each) for number, each in enumerate(payments, 1)]
    )
    found = reconcile([ORDERED | order for order in orders], listed)

    assert states == found["state"].tolist()
    assert any(words in words_of(row) for row in found.to_dict("records"))
    assert "payer" not in found["whose_move"][found["state"] == "unclear"].tolist()


def amount_of(number: int, share: str) -> str:
    """Return a share of the amount of an order; no two orders have about the same."""
    return str(Decimal(100 + 10 * number) * Decimal(share))


REQUESTS: dict[str, list[dict[str, Any]]] = {
    "no word": [{"has_been_paid": None}],
    "unpaid": [{}],
    "paid": [{"has_been_paid": True}],
    "part": [{"status": "partially_paid"}],
    "off": [{"status": "cancelled"}],
    "both": [{"has_been_paid": True}, {}],
    "none": [],
}
PAYMENTS: dict[str, list[tuple[str, bool | None, str]]] = {
    "none": [],
    "part": [("0.4", False, "USDC-sepolia")],
    "all": [("1", True, "USDC-sepolia")],
    "all, unpaid": [("1", False, "USDC-sepolia")],
    "twice": [("1", True, "USDC-sepolia")] * 2,
    "part, paid": [("0.4", True, "USDC-sepolia")],
    "foreign": [("1", None, "ETH-sepolia-sepolia")],
}
EVENTS_OF: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "sent": [{"sub_status": "fiat_sent"}],
    "bounced": [{"sub_status": "bounced"}],
    "failed": [{"sub_status": "failed"}],
    "confirmed": [{"event": "payment.confirmed", "amount": "1", "tx_hash": "0x9"}],
    "back": [{"event": "payment.refunded", "refund_amount": "1"}],
    "part back": [{"event": "payment.refunded", "refund_amount": "0.1"}],
    "sent, back": [
        {"sub_status": "fiat_sent"},
        {"event": "payment.refunded", "refund_amount": "1"},
    ],
}
STORIES = list(itertools.product(REQUESTS, PAYMENTS, EVENTS_OF))


def test_no_advice_follows_from_what_another_source_contradicts() -> None:
    """Whatever requests, payments and events say: nobody pays again what one of them
    has as paid, and nothing is returned that one of them denies.
    """
    orders, requests, payments, events = [], [], [], []
    for number, (of_request, of_payment, of_event) in enumerate(STORIES):
        own = {"request_id": f"r{number}", "payment_reference": None, "reference": None}
        amount = amount_of(number, "1")
        orders.append(ORDERED | own | {"amount": amount, "reference": f"o {number}"})
        requests += [own | {"amount": amount} | each for each in REQUESTS[of_request]]
        payments += [
            paid(
                day,
                id=f"{number}-{day}",
                requestId=own["request_id"],
                paymentReference=None,
                reference=None,
                sourceTxHash=f"0x{number:032}{day:032}",
                amount=amount_of(number, share),
                hasBeenPaid=is_paid,
                paymentCurrency=token,
            )
            for day, (share, is_paid, token) in enumerate(PAYMENTS[of_payment], 1)
        ]
        for event in EVENTS_OF[of_event]:
            amounts = {
                name: amount_of(number, event[name])
                for name in ("amount", "refund_amount")
                if name in event
            }
            money = {"payment_currency": "USDC", "currency": "USDC"}
            events.append(event | money | amounts | own)
    found = reconcile(
        orders,
        payments_frame(payments),
        requests=requested(*requests),
        events=told(*events),
    )

    for story, row in zip(STORIES, found.to_dict("records"), strict=True):
        of_request, of_payment, of_event = story
        is_paid = of_request in {"paid", "both"} or of_payment in {"all", "twice"}
        is_seen = of_event in {"sent", "confirmed", "sent, back"}
        advice = ADVICE.search(words_of(row))
        asks = "" if advice is None else advice[0].lower()
        if asks.startswith(("have the payer", "pay the rest", "create one")):
            assert not is_paid, story
            assert of_request != "off", story
            assert not is_seen or of_payment == "part", story
        if row["state"] == "paid_twice":
            assert of_request in {"no word", "paid"}, story
            assert of_event in {"none", "sent", "confirmed", "part back"}, story
        if row["state"] == "refunded":
            assert of_event == "back", story


@pytest.mark.parametrize("name", ["requests", "payments"])
def test_a_list_that_may_lack_something_proves_nothing(
    name: str, tmp_path: Path
) -> None:
    """Its doubt is that of the row, also if it comes from a file, or has no rows."""
    doubt = "While the list was read, it changed: one may be missing. Call again."
    other = requested({"request_id": "09", "payment_reference": None, "reference": "x"})
    none = payments_frame([])
    assert ["not_paid"] == reconcile([ORDERED], none, requests=other)["state"].tolist()

    {"requests": other, "payments": none}[name].attrs["list_doubt"] = doubt
    (row,) = reconcile([ORDERED], none, requests=other).to_dict("records")
    assert ("unclear", True) == (row["state"], doubt in words_of(row))

    other.assign(list_doubt=doubt).to_csv(tmp_path / "list.csv")
    saved = pd.read_csv(tmp_path / "list.csv", dtype=str)
    (row,) = reconcile([ORDERED], payments_frame([]), requests=saved).to_dict("records")
    assert ("unclear", True) == (row["state"], doubt in words_of(row))


def test_the_row_says_on_whose_word_it_is() -> None:
    """An event that nobody verified is no verified one; if none is believed, the secret
    is to be checked.
    """
    believed = [
        state_of([paid()], told({"sub_status": "fiat_sent", "signature": signature}))
        for signature in ("valid", "unchecked")
    ]
    events = told({"sub_status": "fiat_sent", "signature": "invalid"})
    row = state_of([], events)

    assert ["a verified event", "an event that nobody verified"] == [
        row["bank_source"] for row in believed
    ]
    assert ("not_paid", "you") == (row["state"], row["whose_move"])
    assert "None of 1 event is believed" in words_of(row)
    assert "Check the secret" in row["what_to_do"]


def test_differences_are_columns() -> None:
    """Exactly, whether they are told in words or not."""
    short, over = (
        state_of([paid(amount=amount)]) for amount in ("25.45", "25.5000001")
    )

    assert (Decimal("0.05"), 0) == (short["short"], short["over"])
    assert (0, Decimal("0.0000001")) == (over["short"], over["over"])
    assert state_of([])["short"] is None


def test_a_month_has_a_row_for_each_payment(tmp_path: Path) -> None:
    """With order, fees, difference and bank state; accounting takes it as a file."""
    fees = [{"type": "gas", "amount": "0.5", "currency": "USDC", "amountInUSD": "0.5"}]
    payments = payments_frame(
        [
            paid(1, amount="10", fees=fees),
            paid(2, amount="15"),
            paid(3, requestId="09", paymentReference=None, reference="x"),
            paid(4, amount="0.50", timestamp="2026-12-01T00:00:00Z"),
        ]
    )
    found = reconcile(
        [ORDERED],
        payments,
        events=told("fiat_sent"),
        from_date="2026-11-01",
        to_date="2026-11-30",
    )

    assert ["invoice-1", "invoice-1", "x"] == found["reference"].tolist()
    assert ["at_the_bank", "at_the_bank", "unmatched"] == found["state"].tolist()
    assert [Decimal(10), Decimal(15), Decimal("25.50")] == found["paid_amount"].tolist()
    assert ("gas 0.5 USDC", Decimal("0.5")) == tuple(found.loc[0, ["fees", "fees_usd"]])
    assert [0, 0, None] == found["short"].tolist()
    assert f"0x{2:064x}" == found["tx_hash"][1]
    found.to_excel(tmp_path / "november.xlsx", index=False)
    back = pd.read_excel(tmp_path / "november.xlsx")
    assert (40.5 + 10, 3) == (back["paid_amount"].sum(), back["paid_at_utc"].count())


@table("books")
def test_orders_are_read_as_people_keep_them(
    orders: list[dict[str, Any]], amounts: list[str] | str
) -> None:
    """With the amounts that they have, or a message that names the line."""
    books = pd.DataFrame(orders)
    if isinstance(amounts, str):
        with pytest.raises(InvalidInput, match=amounts):
            reconcile(books, payments_frame([]))
        return
    found = reconcile(books, payments_frame([]))

    assert [Decimal(amount) for amount in amounts] == found["amount"].tolist()
    assert found["invoice_currency"].notna().all()


def test_duplicates_count_once() -> None:
    """Also if they come from two lists that were joined, whose rows have the same
    numbers.
    """
    frame = pd.concat([payments_frame([paid(1), paid(1)]), payments_frame([paid(1)])])
    found = reconcile([ORDERED], frame)

    assert [("paid", 1, 1)] == list(
        found[["state", "times_paid", "payments"]].itertuples(index=False, name=None)
    )


def test_orders_keep_their_order_and_unmatched_payments_come_last() -> None:
    """One row each."""
    orders = pd.DataFrame(
        [
            ORDERED | {"reference": name, "note": "for the accountant"}
            for name in ("c", "a", "b")
        ],
        index=[7, 7, 9],
    )
    payments = [
        paid(n, reference=name, requestId=f"0{n}", paymentReference=None, amount=amount)
        for n, name, amount in ((1, "a", "25.50"), (2, "b", "25.50"), (3, "x", "7"))
    ]
    found = reconcile(
        orders,
        payments_frame(payments),
        events=told({"sub_status": "bounced", "request_id": "03"}),
    )

    assert ["c", "a", "b", "x"] == found["reference"].tolist()
    assert ["not_paid", "paid", "paid", "unmatched"] == found["state"].tolist()
    assert ("03", Decimal(7), "bounced", "you") == tuple(
        found.loc[3, ["request_id", "paid_amount", "bank_status", "whose_move"]]
    )
    assert found.loc[3, ["amount", "paid", "times_paid"]].isna().all()


def test_requests_and_payments_are_orders() -> None:
    """What the calls returned is enough."""
    order = PayoutOrder(
        amount="25.50",
        invoice_currency="USD",
        payment_currency="USDC-sepolia",
        reference="invoice-1",
    )
    request = PaymentRequest.read(
        {"requestId": "01ab", "paymentReference": "0x44d1"}, order=order
    )
    account = Payout(
        request_id="02",
        client_user_id="u",
        payment_details_id="d",
        reference="invoice-2",
    )
    payment = Payment.read(
        {"transactions": []}, order=order.replace(reference="invoice-2"), payout=account
    )
    to_wallet = Payment.read(ANSWERS["pay_token"], order=PaymentOrder(**ORDER))
    wallet_payment = paid(
        3,
        requestId=to_wallet.request_id,
        paymentReference=None,
        reference=None,
        amount="10",
    )
    other = order.replace(reference="invoice-3")
    found = reconcile(
        [request, payment, to_wallet, other], payments_frame([paid(1), wallet_payment])
    )

    assert ["invoice-1", "invoice-2", "", "invoice-3"] == found["reference"].fillna(
        ""
    ).tolist()
    assert ["paid", "not_paid", "paid", "not_paid"] == found["state"].tolist()
    assert ["service", "payer", "nobody", "payer"] == found["whose_move"].tolist()


@table("orders_not_reconciled")
def test_orders_that_cannot_be_told_are_refused(orders: Any, message: str) -> None:
    """With the line, and never with a value."""
    with pytest.raises(InvalidInput, match=message) as caught:
        reconcile(orders, payments_frame([]))

    assert "invoice-1" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "frame"),
    [
        ("payments", None),
        ("payments", []),
        ("payments", pd.DataFrame()),
        ("payments", payments_frame([]).drop(columns="amount")),
        ("requests", pd.DataFrame()),
        ("events", []),
        ("events", pd.DataFrame()),
        ("events", told().drop(columns="is_test")),
    ],
)
def test_each_list_is_a_frame_of_its_function(name: str, frame: Any) -> None:
    """Anything else is refused."""
    given: dict[str, Any] = {"payments": payments_frame([]), name: frame}
    with pytest.raises(InvalidInput, match=f"{name}: expected a result of "):
        reconcile([ORDERED], **given)


@pytest.mark.parametrize(
    ("column", "number"),
    [
        ("amount", 25.5),
        ("reference", 1001),
        ("request_id", 7.0),
        ("payment_reference", 10**20),
    ],
)
def test_numbers_are_refused(column: str, number: float) -> None:
    """They are what a file read without dtype=str has: a float is not exact, and an id
    may have lost its zeros.
    """
    frame = payments_frame([paid()])
    with pytest.raises(
        InvalidInput, match=f"payments: {column}: got a number. Read the file as text"
    ):
        reconcile([ORDERED], frame.assign(**{column: [number]}))


@pytest.mark.parametrize("first", [False, True])
def test_of_two_lists_one_may_be_older(first: bool) -> None:
    """A payment that the older one has as not yet paid in full is paid, in whichever
    order they are joined.
    """
    lists = [payments_frame([paid(1, hasBeenPaid=each)]) for each in (first, not first)]

    assert "paid" == reconcile([ORDERED], pd.concat(lists))["state"][0]


def test_frames_may_come_from_files(tmp_path: Any) -> None:
    """In which times and truth values are text."""
    payments, events = payments_frame([paid(1), paid(2)]), told("bounced")
    expected = reconcile([ORDERED], payments, events=events)
    for name, frame in {"payments": payments, "events": events}.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    read = [
        pd.read_csv(tmp_path / f"{name}.csv", dtype=str)
        for name in ("payments", "events")
    ]

    pd.testing.assert_frame_equal(
        expected, reconcile([ORDERED], read[0], events=read[1])
    )


def test_the_frames_stay_as_they_are() -> None:
    """And the columns of the result are the same with and without rows."""
    payments, events = payments_frame([paid(1), paid(1)]), told("bounced")
    before = payments.copy(), events.copy()
    found = reconcile([ORDERED], payments, events=events)

    pd.testing.assert_frame_equal(payments, before[0])
    pd.testing.assert_frame_equal(events, before[1])
    assert found.dtypes.equals(reconcile([], payments_frame([])).dtypes)


def test_nothing_personal_is_shown() -> None:
    """A reference that holds an e-mail address is masked, and so is one in a reason, of
    revealed events, too.
    """
    personal = "for ada@example.com"
    orders = [ORDERED | {"reference": personal}, ORDERED | {"reference": "••••"}]
    revealed = payments_frame([paid(1, reference=personal)], reveal=True)

    events = told({"sub_status": "bounced", "reason": "ask ada@example.com"})

    assert ["bounced", "not_paid"] == (
        found := reconcile(orders, revealed, events=events)
    )["state"].tolist()
    assert "ada" not in found.to_csv()


PERSONAL = {"reference": "for ada@example.com"}


@pytest.mark.parametrize(
    ("masked", "name"),
    [
        (
            {"payments": payments_frame([paid(1, **PERSONAL)])},
            "payments",
        ),
        (
            {
                "payments": payments_frame([]),
                "requests": requested({"reference": "••••"}),
            },
            "requests",
        ),
    ],
)
def test_a_masked_reference_hides_nothing(masked: dict[str, Any], name: str) -> None:
    """Whoever believed that the order is unpaid would have it paid again; with an id of
    the request, it is found.
    """
    orders = [ORDERED | {"reference": "invoice-9"}, ORDERED | PERSONAL]
    with pytest.raises(
        InvalidInput,
        match=rf"{name}: references .* are masked, .* orders, line 2, .* reveal=True",
    ):
        reconcile(orders, **masked)

    state = "paid" if name == "payments" else "not_paid"
    found = reconcile([orders[1] | {"request_id": "01ab"}], **masked)
    assert [state] == found["state"].tolist()


def test_a_client_reads_what_is_not_given() -> None:
    """Requests, the payments of these orders alone, and the sandbox's events; an order
    may have only its reference. One is paid, one twice, one never, and one was not
    requested.
    """
    token = "USDC-sepolia"
    orders = [
        {"reference": f"order-{number}", "amount": amount, "invoice_currency": "USD"}
        for number, amount in enumerate(("25.50", "26.50", "27.50", "28.50"))
    ]
    with payerkit.sandbox(seed=1, clock="manual", accounts_after=0) as client:
        on_board(client)
        to = {"client_user_id": USER, "payment_details_id": account_of(client)}
        requests = [
            payerkit.create_request(client, order | {"payment_currency": token})
            for order in orders[:3]
        ]
        for request, times in zip(requests, (1, 2, 0), strict=True):
            payment = payerkit.request_payment(client, request, **to)
            for _ in range(times):
                client.sandbox.pay(payment)
                client.sandbox.advance(hours=1)
        found = reconcile(orders, client=client)
        payments = payerkit.list_payments(client, payment_currency=token)

    assert [
        ("at_the_bank", "nobody", requests[0].request_id),
        ("paid_twice", "you", requests[1].request_id),
        ("not_paid", "payer", requests[2].request_id),
        ("not_paid", "you", pd.NA),
    ] == list(
        found[["state", "whose_move", "request_id"]].itertuples(index=False, name=None)
    )
    given = reconcile(requests[:2], payments)
    assert ["paid", "paid_twice"] == given["state"].tolist()


@pytest.mark.slow
def test_ten_thousand_orders_take_seconds() -> None:
    """With as many payments and twice as many events."""
    orders = pd.DataFrame(
        [ORDERED | {"reference": f"invoice-{number}"} for number in range(10_000)]
    )
    payments = payments_frame(
        [
            paid(
                1,
                id=f"p{n}",
                reference=f"invoice-{n}",
                requestId=f"r{n}",
                paymentReference=None,
            )
            for n in range(10_000)
        ]
    )
    events = (
        pd.concat([told("fiat_sent"), told("initiated")])
        .loc[[0] * 10_000]
        .reset_index(drop=True)
    )
    events["request_id"] = pd.array(
        [f"r{number // 2}" for number in range(20_000)], dtype="string"
    )

    assert {"at_the_bank"} == set(
        reconcile(orders, payments, events=events)["state"]
    ) - {"paid"}
