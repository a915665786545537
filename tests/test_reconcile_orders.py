"""Orders against what was paid and what events say: every state, and nothing that is not known."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

import payerkit
from cases import table
from payerkit import InvalidInput, PaymentOrder, PayoutOrder, reconcile
from payerkit.frames import columns, frame_of
from payerkit.models import Payment, PaymentRequest, Payout
from payerkit.payouts.lists import REQUEST_DTYPES, payments_frame
from payerkit.payouts.reconcile_orders import STATE_OF_WORD
from published import ANSWERS, BANK_DETAILS, ORDER, PAYER

ORDERED = {"reference": "invoice-1", "amount": "25.50", "invoice_currency": "USD"}
EVENTS = columns(
    "delivery event received_at timestamp request_id payment_reference sub_status amount currency payment_currency "
    "tx_hash reason signature is_test",
    time="received_at timestamp",
    boolean="is_test",
    object="amount",
)


def paid(number: int = 1, **changes: Any) -> dict[str, Any]:
    """Return a payment of the order as the service lists it; changes: of its members, or of its request's."""
    request = {"requestId": "01ab", "paymentReference": "0x44d1", "hasBeenPaid": True, "reference": "invoice-1"}
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
    """Return events as `read_events` returns them; by default, about the payout of the request of the payments above.

    events: the columns of each that are not so, or its off-ramp status.
    """
    usual = {"event": "payment.processing", "request_id": "01ab", "signature": "valid", "is_test": False}
    rows = [
        usual
        | {"received_at": pd.Timestamp(f"2026-11-09T00:{number:02}:00Z")}
        | ({"sub_status": event} if isinstance(event, str) else event)
        for number, event in enumerate(events)
    ]
    return frame_of(rows, EVENTS)


def state_of(payments: list[dict[str, Any]], events: pd.DataFrame | None = None, **changes: Any) -> pd.Series[Any]:
    """Return the row of the one order."""
    frame = reconcile([ORDERED | changes], payments_frame(payments), events=events)

    assert 1 == len(frame)
    return frame.iloc[0]


def test_a_paid_order() -> None:
    """Paid in crypto; without events, nothing is known of the bank."""
    row = state_of([paid()])

    assert ("paid", True, 1) == (row["state"], row["paid"], row["times_paid"])
    assert (Decimal("25.50"), "USDC-sepolia", "01ab") == (
        row["paid_amount"],
        row["payment_currency"],
        row["request_id"],
    )
    assert (pd.Timestamp("2026-11-01T10:00Z"), f"0x{1:064x}") == (row["paid_at"], row["tx_hash"])
    assert pd.isna(row["bank_status"])
    assert "Only events say" in row["what_to_do"]
    assert "no event says yet" in state_of([paid()], told())["what_to_do"]


def test_every_documented_word_has_a_state() -> None:
    """A new off-ramp status in the table of statuses is decided here, too."""
    statuses = payerkit.reference.statuses()

    assert set(statuses[statuses["of"] == "payment"]["status"]) == set(STATE_OF_WORD)


@pytest.mark.parametrize(("status", "state"), STATE_OF_WORD.items())
def test_the_last_word_of_the_bank_decides(status: str, state: str | None) -> None:
    """With the time, the reason and the advice that belong to it."""
    row = state_of([paid()], told("initiated", {"sub_status": status, "reason": "a reason"}))

    assert (state or "paid", status, "a reason") == (row["state"], row["bank_status"], row["reason"])
    assert pd.Timestamp("2026-11-09T00:01Z") == row["bank_status_at"]
    if state is not None:
        advice = payerkit.explain(status, of="payment")
        assert row["what_to_do"].endswith(advice.what_to_do)
        assert (advice.whose_move if state != "failed" else "you") == row["whose_move"]
        assert (state == "failed") == ("have that settled before anyone pays again" in row["what_to_do"])


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
    assert ("you", True) == (row["whose_move"], row["what_to_do"].startswith("Paid 2 times"))
    assert pd.Timestamp("2026-11-01T10:00Z") == row["paid_at"]
    assert f"0x{1:064x}, 0x{2:064x}" == row["tx_hash"]


def test_tokens_of_two_kinds_have_no_sum() -> None:
    """But they count, if both are worth the currency of the order."""
    row = state_of([paid(1, amount="10"), paid(2, amount="15.50", paymentCurrency="fUSDT-sepolia")])

    assert ("paid", 1, "USDC-sepolia, fUSDT-sepolia") == (row["state"], row["times_paid"], row["payment_currency"])
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
    """A case of each kind, and its honest neighbours; what is paid in full is said to be, and nothing else is."""
    listed = [paid(number, **{"amount": "100", "hasBeenPaid": None} | each) for number, each in enumerate(payments, 1)]
    row = state_of(listed, told(*events), **{"amount": "100", "request_id": "01ab"} | order)

    found = [None if pd.isna(row[name]) else row[name] for name in ("state", "paid", "times_paid", "whose_move")]
    assert [state, is_paid, times and int(times), whose_move] == found
    assert what_to_do in row["what_to_do"]


def requested(*requests: dict[str, Any]) -> pd.DataFrame:
    """Return requests as `list_requests` returns them, by default the one of the payments above, unpaid."""
    usual = {"request_id": "01ab", "payment_reference": "0x44d1", "reference": "invoice-1", "has_been_paid": False}
    usual |= {"amount": Decimal("25.50"), "invoice_currency": "USD", "payment_currency": "USDC-sepolia"}
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
    """A blank id would hide the reference, so that a paid order were called not paid."""
    listed = payments_frame([paid(reference=None)])
    (row,) = reconcile([ORDERED | changes], listed, requests=requested({"has_been_paid": True})).to_dict("records")

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
    """It tells an unpaid order from one that nobody requested, and each ledger that does not agree is named."""
    listed = payments_frame([paid(number, **each) for number, each in enumerate(payments, 1)])
    (row,) = reconcile([ORDERED], listed, requests=requested(*requests), events=told(*events)).to_dict("records")

    assert (state, whose_move) == (row["state"], row["whose_move"])
    assert is_paid == (None if pd.isna(row["paid"]) else row["paid"])
    assert what_to_do in row["what_to_do"]


def test_a_masked_reference_hides_no_request() -> None:
    """As for payments."""
    order = ORDERED | {"reference": "for ada@example.com"}
    masked = requested({"reference": "••••"})
    with pytest.raises(InvalidInput, match=r"requests: references .* are masked, .* list_requests\(.*reveal=True"):
        reconcile([order], payments_frame([]), requests=masked)

    assert ["not_paid"] == reconcile([order | {"request_id": "01ab"}], payments_frame([]), requests=masked)[
        "state"
    ].tolist()


@table("shared_references")
def test_a_reference_of_two_orders_is_nobodys(
    orders: list[dict[str, Any]], payments: list[dict[str, Any]], states: list[str]
) -> None:
    """Neither case nor blanks tell references apart, and no payer is told to pay what may be paid; an id decides."""
    listed = payments_frame([paid(number, **each) for number, each in enumerate(payments, 1)])
    found = reconcile([ORDERED | order for order in orders], listed)

    assert states == found["state"].tolist()
    assert "payer" not in found["whose_move"][found["state"] == "unclear"].tolist()
    assert found["what_to_do"][found["state"] == "unmatched"].str.startswith("2 orders have its reference").all()


def test_duplicates_count_once() -> None:
    """Also if they come from two lists that were joined, whose rows have the same numbers."""
    frame = pd.concat([payments_frame([paid(1), paid(1)]), payments_frame([paid(1)])])
    found = reconcile([ORDERED], frame)

    assert [("paid", 1, 1)] == list(found[["state", "times_paid", "payments"]].itertuples(index=False, name=None))


def test_orders_keep_their_order_and_unmatched_payments_come_last() -> None:
    """One row each."""
    orders = pd.DataFrame(
        [ORDERED | {"reference": name, "note": "for the accountant"} for name in ("c", "a", "b")], index=[7, 7, 9]
    )
    payments = [paid(n, reference=name, requestId=f"0{n}", paymentReference=None) for n, name in enumerate("abx", 1)]
    found = reconcile(orders, payments_frame(payments), events=told({"sub_status": "bounced", "request_id": "03"}))

    assert ["c", "a", "b", "x"] == found["reference"].tolist()
    assert ["not_paid", "paid", "paid", "unmatched"] == found["state"].tolist()
    assert ("03", Decimal("25.50"), "bounced", "you") == tuple(
        found.loc[3, ["request_id", "paid_amount", "bank_status", "whose_move"]]
    )
    assert found.loc[3, ["amount", "paid", "times_paid"]].isna().all()


def test_requests_and_payments_are_orders() -> None:
    """What the calls returned is enough."""
    order = PayoutOrder(amount="25.50", invoice_currency="USD", payment_currency="USDC-sepolia", reference="invoice-1")
    request = PaymentRequest.read({"requestId": "01ab", "paymentReference": "0x44d1"}, order=order)
    account = Payout(request_id="02", client_user_id="u", payment_details_id="d", reference="invoice-2")
    payment = Payment.read({"transactions": []}, order=order.replace(reference="invoice-2"), payout=account)
    to_wallet = Payment.read(ANSWERS["pay_token"], order=PaymentOrder(**ORDER))
    wallet_payment = paid(3, requestId=to_wallet.request_id, paymentReference=None, reference=None, amount="10")
    other = order.replace(reference="invoice-3")
    found = reconcile([request, payment, to_wallet, other], payments_frame([paid(1), wallet_payment]))

    assert ["invoice-1", "invoice-2", "", "invoice-3"] == found["reference"].fillna("").tolist()
    assert ["paid", "not_paid", "paid", "not_paid"] == found["state"].tolist()
    assert ["service", "payer", "nobody", "payer"] == found["whose_move"].tolist()


@table("orders_not_reconciled")
def test_orders_that_cannot_be_told_are_refused(orders: Any, message: str) -> None:
    """With the line, and never with a value."""
    with pytest.raises(InvalidInput, match=message) as caught:
        reconcile(orders, payments_frame([]))

    assert "invoice-1" not in str(caught.value)


@pytest.mark.parametrize("payments", [None, [], pd.DataFrame(), payments_frame([]).drop(columns="amount")])
def test_payments_are_a_frame_of_list_payments(payments: Any) -> None:
    """Anything else is refused."""
    with pytest.raises(InvalidInput, match="payments: expected a result of list_payments"):
        reconcile([ORDERED], payments)


@pytest.mark.parametrize(
    ("column", "number"), [("amount", 25.5), ("reference", 1001), ("request_id", 7.0), ("payment_reference", 10**20)]
)
def test_numbers_are_refused(column: str, number: float) -> None:
    """They are what a file read without dtype=str has: a float is not exact, and an id may have lost its zeros."""
    frame = payments_frame([paid()])
    with pytest.raises(InvalidInput, match=f"payments: {column}: got a number. Read the file as text"):
        reconcile([ORDERED], frame.assign(**{column: [number]}))


@pytest.mark.parametrize("first", [False, True])
def test_of_two_lists_one_may_be_older(first: bool) -> None:
    """A payment that the older one has as not yet paid in full is paid, in whichever order they are joined."""
    lists = [payments_frame([paid(1, hasBeenPaid=each)]) for each in (first, not first)]

    assert "paid" == reconcile([ORDERED], pd.concat(lists))["state"][0]


@pytest.mark.parametrize("events", [[], pd.DataFrame(), told().drop(columns="is_test")])
def test_events_are_a_frame_of_read_events(events: Any) -> None:
    """Anything else is refused."""
    with pytest.raises(InvalidInput, match="events: expected a result of read_events"):
        reconcile([ORDERED], payments_frame([]), events=events)


def test_frames_may_come_from_files(tmp_path: Any) -> None:
    """In which times and truth values are text."""
    payments, events = payments_frame([paid(1), paid(2)]), told("bounced")
    expected = reconcile([ORDERED], payments, events=events)
    for name, frame in {"payments": payments, "events": events}.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    read = [pd.read_csv(tmp_path / f"{name}.csv", dtype=str) for name in ("payments", "events")]

    pd.testing.assert_frame_equal(expected, reconcile([ORDERED], read[0], events=read[1]))


def test_the_frames_stay_as_they_are() -> None:
    """And the columns of the result are the same with and without rows."""
    payments, events = payments_frame([paid(1), paid(1)]), told("bounced")
    before = payments.copy(), events.copy()
    found = reconcile([ORDERED], payments, events=events)

    pd.testing.assert_frame_equal(before[0], payments)
    pd.testing.assert_frame_equal(before[1], events)
    assert found.dtypes.equals(reconcile([], payments_frame([])).dtypes)


def test_nothing_personal_is_shown() -> None:
    """A reference that holds an e-mail address is masked, and so is one in a reason, of revealed events, too."""
    personal = "for ada@example.com"
    orders = [ORDERED | {"reference": personal}, ORDERED | {"reference": "••••"}]
    revealed = payments_frame([paid(1, reference=personal)], reveal=True)

    events = told({"sub_status": "bounced", "reason": "ask ada@example.com"})

    assert ["bounced", "not_paid"] == (found := reconcile(orders, revealed, events=events))["state"].tolist()
    assert "ada" not in found.to_csv()


def test_a_masked_reference_does_not_make_a_paid_order_unpaid() -> None:
    """Whoever believed that would have it paid again; with an id of the request, it is found."""
    personal = "for ada@example.com"
    order = ORDERED | {"reference": personal, "request_id": None}
    masked = payments_frame([paid(1, reference=personal)])

    with pytest.raises(InvalidInput, match=r"payments: references .* are masked, .* orders, line 2, .* reveal=True"):
        reconcile([ORDERED | {"reference": "invoice-9", "request_id": None}, order], masked)
    assert ["paid"] == reconcile([order | {"request_id": "01ab"}], masked)["state"].tolist()
    assert ["not_paid", "unmatched"] == reconcile([order], payments_frame([paid(1)]))["state"].tolist()


def test_ids_stay_as_the_service_writes_them() -> None:
    """They are compared without regard to case, and shown with it."""
    assert "01Ab" == state_of([paid(1, requestId="01Ab")])["request_id"]


@pytest.fixture(scope="module")
def client() -> Iterator[payerkit.client.SandboxClient]:
    """Give a sandbox with a compliant payer and an approved account."""
    with payerkit.sandbox(seed=1, clock="manual", decide_after=0, payouts_after=60) as client:
        payerkit.create_payer(client, PAYER)
        payerkit.update_agreement(client, PAYER["clientUserId"])
        client.sandbox.complete_kyc(PAYER["clientUserId"])
        payerkit.create_payment_detail(client, PAYER["clientUserId"], BANK_DETAILS)
        yield client


def test_the_sandbox_is_reconciled(client: payerkit.client.SandboxClient) -> None:
    """One request paid, one paid twice, one never, and one of somebody else: one row an order."""
    user = PAYER["clientUserId"]
    account = payerkit.list_payment_details(client, user)["id"][0]
    order = {"amount": "25.50", "invoice_currency": "USD", "payment_currency": "USDC-sepolia"}
    requests = [payerkit.create_request(client, order) for _ in range(4)]
    for request, times in zip(requests, (1, 2, 0, 1), strict=True):
        payment = payerkit.request_payment(client, request, client_user_id=user, payment_details_id=account)
        for _ in range(times):
            client.sandbox.pay(payment)
    payments = payerkit.list_payments(client, payment_currency="USDC-sepolia")
    found = payerkit.reconcile(requests[:3], payments)

    assert ["paid", "paid_twice", "not_paid", "unmatched"] == found["state"].tolist()
    assert [requests[3].reference] == found["reference"].tolist()[3:]


def test_a_client_reads_what_is_not_given(client: payerkit.client.SandboxClient) -> None:
    """Requests, the payments of these orders alone, and the sandbox's events; an order may have only its reference."""
    user = PAYER["clientUserId"]
    account = payerkit.list_payment_details(client, user)["id"][0]
    order = {"amount": "30", "invoice_currency": "USD", "payment_currency": "USDC-sepolia"}
    requests = [payerkit.create_request(client, order | {"reference": f"order-{number}"}) for number in (1, 2)]
    payment = payerkit.request_payment(client, requests[0], client_user_id=user, payment_details_id=account)
    client.sandbox.pay(payment)
    client.sandbox.advance(seconds=60)
    found = reconcile([order | {"reference": f"order-{number}"} for number in (1, 2, 3)], client=client)

    assert ["at_the_bank", "not_paid", "not_paid"] == found["state"].tolist()
    assert ["nobody", "payer", "you"] == found["whose_move"].tolist()
    assert [requests[0].request_id, requests[1].request_id] == found["request_id"].tolist()[:2]


@pytest.mark.slow
def test_ten_thousand_orders_take_seconds() -> None:
    """With as many payments and twice as many events."""
    orders = pd.DataFrame([ORDERED | {"reference": f"invoice-{number}"} for number in range(10_000)])
    payments = payments_frame(
        [paid(1, id=f"p{n}", reference=f"invoice-{n}", requestId=f"r{n}", paymentReference=None) for n in range(10_000)]
    )
    events = pd.concat([told("fiat_sent"), told("initiated")]).loc[[0] * 10_000].reset_index(drop=True)
    events["request_id"] = pd.array([f"r{number // 2}" for number in range(20_000)], dtype="string")

    assert {"at_the_bank"} == set(reconcile(orders, payments, events=events)["state"]) - {"paid"}
