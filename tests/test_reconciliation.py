"""Orders against what was paid and what events say: every state, and nothing that is not known."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

import payerkit
from cases import first_cases
from payerkit import InvalidInput, PaymentOrder, PayoutOrder, reconcile
from payerkit.models import Payment, PaymentRequest, Payout
from payerkit.payouts.payments import payments_frame
from payerkit.payouts.reconcile import STATE_OF_WORD
from published import ANSWERS, BANK_DETAILS, ORDER, PAYER

ORDERED = {"reference": "invoice-1", "amount": "25.50", "invoice_currency": "USD"}
HASH = "0x" + "ab" * 32
EVENT_COLUMNS = (
    *("delivery", "event", "received_at", "timestamp", "request_id", "payment_reference", "sub_status", "amount"),
    *("currency", "payment_currency", "tx_hash", "reason", "signature", "is_test"),
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


def told(*events: dict[str, Any]) -> pd.DataFrame:
    """Return events as `read_events` returns them; by default, about the request of the payments above."""
    rows = [
        {
            "event": "payment.processing",
            "request_id": "01ab",
            "signature": "valid",
            "is_test": False,
            "received_at": f"2026-11-09T00:{number:02}:00Z",
        }
        | event
        for number, event in enumerate(events)
    ]
    frame = pd.DataFrame(rows, columns=list(EVENT_COLUMNS), dtype=object)
    times = {name: pd.to_datetime(frame[name], utc=True) for name in ("received_at", "timestamp")}
    texts = [name for name in EVENT_COLUMNS if name not in {"received_at", "timestamp", "amount", "is_test"}]
    return frame.astype(dict.fromkeys(texts, "string") | {"is_test": "boolean"}).assign(**times)


def state_of(payments: list[dict[str, Any]], events: pd.DataFrame | None = None, **changes: Any) -> pd.Series[Any]:
    """Return the row of the one order."""
    frame = reconcile([ORDERED | changes], payments_frame(payments), events)

    assert 1 == len(frame)
    return frame.iloc[0]


def word(status: str, **more: Any) -> dict[str, Any]:
    """Return an event with an off-ramp status."""
    return {"sub_status": status, **more}


def test_an_order_without_a_payment_is_not_called_unpaid() -> None:
    """No payment is known: whether it is paid is not."""
    row = state_of([])

    assert ("not_paid", 0, 0, "payer") == (row["state"], row["times_paid"], row["payments"], row["whose_move"])
    assert pd.isna(row["paid"])
    assert "does not prove" in row["what_to_do"]


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


def test_a_payment_to_a_wallet_ends_there() -> None:
    """No bank is involved."""
    row = state_of([paid()], payee=ORDER["payee"])

    assert ("paid", "nobody", "Nothing.") == (row["state"], row["whose_move"], row["what_to_do"])


def test_every_documented_word_has_a_state() -> None:
    """A new off-ramp status in the table of statuses is decided here, too."""
    statuses = payerkit.reference.statuses()

    assert set(statuses[statuses["of"] == "payment"]["status"]) == set(STATE_OF_WORD)


@pytest.mark.parametrize(("status", "state"), STATE_OF_WORD.items())
def test_the_last_word_of_the_bank_decides(status: str, state: str | None) -> None:
    """With the time, the reason and the advice that belong to it."""
    row = state_of([paid()], told(word("initiated"), word(status, reason="a reason")))

    assert (state or "paid", status, "a reason") == (row["state"], row["bank_status"], row["reason"])
    assert pd.Timestamp("2026-11-09T00:01Z") == row["bank_status_at"]
    if state is not None:
        advice = payerkit.explain(status, of="payment")
        assert (advice.whose_move, advice.what_to_do) == (row["whose_move"], row["what_to_do"])


def test_confirmed_alone_is_paid_in_crypto() -> None:
    """Only `fiat_sent` says that the bank has it, whatever the documentation says of the other event."""
    confirmed = {"event": "payment.confirmed", "tx_hash": f"0x{1:064X}".replace("X", "x"), "amount": Decimal("25.50")}

    assert "paid" == state_of([paid()], told(confirmed))["state"]
    assert "at_the_bank" == state_of([paid()], told(confirmed, word("fiat_sent")))["state"]


def test_an_unknown_word_is_shown_and_explained() -> None:
    """It decides nothing."""
    row = state_of([paid()], told(word("teleported")))

    assert ("paid", "teleported", "you") == (row["state"], row["bank_status"], row["whose_move"])


@pytest.mark.parametrize(
    ("words", "last"),
    [
        ([word("fiat_sent"), word("sending_fiat", received_at="2026-11-09T00:00:21Z")], "fiat_sent"),  # a retry
        ([word("bounced"), word("sending_fiat", received_at="2026-11-10T00:00:00Z")], "sending_fiat"),  # sent again
        ([word("fiat_sent"), word("bounced", received_at="2026-11-09T00:00:05Z")], "bounced"),  # it came back
        (  # the times of events win over their arrival
            [
                word("fiat_sent", timestamp="2026-11-09T10:00:00Z"),
                word("sending_fiat", timestamp="2026-11-09T09:59:00Z", received_at="2026-11-09T12:00:00Z"),
            ],
            "fiat_sent",
        ),
    ],
)
def test_a_word_that_was_delivered_late_is_not_the_last(words: list[dict[str, Any]], last: str) -> None:
    """Retries arrive after later events."""
    assert last == state_of([paid()], told(*words))["bank_status"]


@pytest.mark.parametrize(
    "event",
    [
        word("fiat_sent", signature="invalid"),
        word("fiat_sent", is_test=True),
        word("fiat_sent", request_id="02cd"),
        word("fiat_sent", event="payment_detail.updated"),
        word("fiat_sent", request_id=None),
    ],
)
def test_what_is_not_proven_or_of_others_counts_for_nothing(event: dict[str, Any]) -> None:
    """Tests, wrong signatures, other requests and other events."""
    assert "paid" == state_of([paid()], told(event))["state"]


def test_events_are_found_by_the_payment_reference() -> None:
    """Which some have in place of the request id; in any case of letters."""
    assert "bounced" == state_of([paid()], told(word("bounced", request_id=None, payment_reference="0x44D1")))["state"]


def test_a_failed_payment_without_a_word_has_failed() -> None:
    """The event itself says so."""
    row = state_of([paid()], told({"event": "payment.failed", "reason": "Compliance"}))

    assert ("failed", "failed", "Compliance") == (row["state"], row["bank_status"], row["reason"])


def test_paid_twice() -> None:
    """It is told even if the bank has the money: somebody has to give back the rest."""
    row = state_of([paid(1), paid(2)], told(word("fiat_sent")))

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


def test_two_requests_for_one_invoice_are_one_order() -> None:
    """Both have its reference, so it was paid twice."""
    row = state_of([paid(1), paid(2, requestId="02cd", paymentReference="0x55")])

    assert ("paid_twice", 2) == (row["state"], row["times_paid"])


@pytest.mark.parametrize(
    ("refunds", "payments", "state"),
    [(1, 1, "refunded"), (1, 2, "at_the_bank"), (2, 2, "refunded"), (1, 3, "paid_twice")],
)
def test_what_was_given_back_counts_no_more(refunds: int, payments: int, state: str) -> None:
    """One of two payments that was refunded leaves the order paid once."""
    events = told(word("fiat_sent"), *[{"event": "payment.refunded"}] * refunds)

    assert state == state_of([paid(number) for number in range(1, payments + 1)], events)["state"]


PARTLY = {"hasBeenPaid": False}
ETH = "ETH-sepolia-sepolia"


@pytest.mark.parametrize(
    ("payments", "state", "times"),
    [
        ([paid(1, amount="10"), paid(2, amount="15.50")], "paid", 1),  # in instalments
        ([paid(1, amount="10", **PARTLY)], "partly_paid", 0),
        ([paid(1, amount="10", **PARTLY), paid(2, amount="15.50")], "paid", 1),  # the first was listed earlier
        ([paid(1, amount="10", hasBeenPaid=None)], "partly_paid", 0),  # the amounts tell
        ([paid(1, hasBeenPaid=None)], "paid", 1),
        ([paid(1, **PARTLY)], "unclear", None),  # the service and the amount contradict each other
        ([paid(1, amount="25.40")], "paid", 1),  # a token is only about worth a dollar
        ([paid(1, amount="25.40"), paid(2, amount="25.45")], "paid_twice", 2),
        ([paid(1, amount="0.0102", paymentCurrency=ETH)], "paid", 1),  # only the service knows
        ([paid(1, amount="0.0102", paymentCurrency=ETH, **PARTLY)], "partly_paid", 0),
        ([paid(1, amount="0.0102", paymentCurrency=ETH, hasBeenPaid=None)], "unclear", None),
        ([paid(n, amount="0.0102", paymentCurrency=ETH) for n in (1, 2)], "paid", None),
        ([paid(n, paymentCurrency=ETH) for n in (1, 2)], "paid_twice", 2),  # in the order's currency
        ([paid(1, amount=None)], "paid", 1),
        ([paid(1, amount=None, hasBeenPaid=None)], "unclear", None),
    ],
)
def test_how_often_an_order_is_paid(payments: list[dict[str, Any]], state: str, times: int | None) -> None:
    """By the amounts where they can be compared, else by the service's word; never by the number of payments."""
    row = state_of(payments, payment_currency=ETH)

    assert (state, times) == (row["state"], None if pd.isna(row["times_paid"]) else row["times_paid"])


def test_the_rest_is_told() -> None:
    """With its amount, in the currency of the order."""
    row = state_of([paid(1, amount="10", **PARTLY)])

    assert ("payer", "Have the payer pay the rest, 15.5 USD.") == (row["whose_move"], row["what_to_do"])


@pytest.mark.parametrize(
    ("payments", "words"),
    [
        ([paid(1, amount="30")], "4.5 more than ordered was paid"),
        ([paid(1, amount="51")], "25.5 more than ordered was paid"),  # one payment is no second one
        ([paid(n, amount="0.0102", paymentCurrency=ETH) for n in (1, 2)], "not paid twice"),
    ],
)
def test_what_a_person_has_to_look_at_is_yours(payments: list[dict[str, Any]], words: str) -> None:
    """Even if the bank has the money."""
    row = state_of(payments, told(word("fiat_sent")), payment_currency=ETH)

    assert ("at_the_bank", "you") == (row["state"], row["whose_move"])
    assert words in row["what_to_do"]


def test_tokens_of_two_kinds_have_no_sum() -> None:
    """But they count, if both are worth the currency of the order."""
    row = state_of([paid(1, amount="10"), paid(2, amount="15.50", paymentCurrency="fUSDT-sepolia")])

    assert ("paid", 1, "USDC-sepolia, fUSDT-sepolia") == (row["state"], row["times_paid"], row["payment_currency"])
    assert row["paid_amount"] is None


@pytest.mark.parametrize(
    ("payments", "events", "found"),
    [
        ([], [{"tx_hash": HASH}], ("paid", 1)),  # not listed yet
        ([], [{"tx_hash": HASH}, {"tx_hash": HASH.upper()}], ("paid", 1)),  # one payment
        ([], [{"tx_hash": None}, {"tx_hash": None}], ("paid", 1)),  # perhaps one payment
        ([], [{"tx_hash": HASH}, {"tx_hash": "0x1"}], ("paid_twice", 2)),
        ([paid(sourceTxHash=HASH)], [{"tx_hash": HASH}], ("paid", 1)),
        ([paid(destinationTxHash=HASH)], [{"tx_hash": HASH}], ("paid", 1)),  # across chains
        ([paid(sourceTxHash=HASH)], [{"tx_hash": "0x1"}], ("paid_twice", 2)),  # the list is older
        ([paid(sourceTxHash=None)], [{"tx_hash": HASH}], ("paid", 1)),  # perhaps one payment
        ([paid(sourceTxHash=HASH)], [{"tx_hash": None}], ("paid", 1)),
        ([paid(sourceTxHash=HASH, hasBeenPaid=False)], [{"tx_hash": HASH}], ("paid", 1)),  # the list is older
        ([], [{"tx_hash": HASH, "event": "payment.partial", "amount": "5"}], ("partly_paid", 0)),
    ],
)
def test_a_payment_that_an_event_tells_of_counts_once(
    payments: list[dict[str, Any]], events: list[dict[str, Any]], found: tuple[str, int]
) -> None:
    """It may be listed or not; what may be the same payment is not counted twice."""
    confirmed = {"event": "payment.confirmed", "amount": Decimal("25.50"), "payment_currency": "USDC-sepolia"}
    row = state_of(payments, told(*(confirmed | each for each in events)), request_id="01ab")

    assert found == (row["state"], row["times_paid"])


USDC, TETHER, EURC = "USDC-sepolia", "fUSDT-sepolia", "EURC-sepolia"
SENT, BOUNCED = word("fiat_sent"), word("bounced")
AT, LATER = {"timestamp": "2026-11-09T10:00:00Z"}, {"timestamp": "2026-11-09T10:00:01Z"}
NO_TIME = {"received_at": None}


def pays(*amounts: str, at: str | None = None, said: bool | None = None, **changes: Any) -> list[dict[str, Any]]:
    """Return payments, a day apart or all at one time; the service does not say whether they are all, unless said."""
    changes |= {"hasBeenPaid": said} | ({"timestamp": at} if at is not None else {})
    return [paid(number, amount=amount, **changes) for number, amount in enumerate(amounts, 1)]


def back(amount: str | None = None, currency: str | None = USDC, **more: Any) -> dict[str, Any]:
    """Return an event that tells a refund."""
    return {"event": "payment.refunded", "amount": amount and Decimal(amount), "currency": currency} | more


def seen(amount: str | None, tx_hash: str | None = None, kind: str = "partial", **more: Any) -> dict[str, Any]:
    """Return an event that tells a payment, with the symbol of its token alone."""
    told = {"amount": amount and Decimal(amount), "payment_currency": "USDC", "tx_hash": tx_hash}
    return {"event": f"payment.{kind}"} | told | more


SOON = "2026-11-01T10:00:00Z"
IN_TOKEN, IN_ETH, IN_EUR = {"invoice_currency": USDC}, {"payment_currency": ETH}, {"invoice_currency": "EUR"}

CASES: list[tuple[str, dict[str, Any], list[dict[str, Any]], list[dict[str, Any]], str, str]] = [
    # why, of the order of 100 USD, payments, events, state, words of what to do
    # A part is a part, whatever the bank has of it.
    ("the bank has the part", {}, pays("40", said=False), [SENT], "partly_paid", "pay the rest, 60 USD."),
    ("nobody says whether it is all", {}, pays("40"), [SENT], "partly_paid", "pay the rest, 60 USD."),
    ("the part is on its way", {}, pays("40", said=False), [word("sending_fiat")], "partly_paid", "60 USD"),
    ("two parts", {}, pays("40", "30"), [SENT], "partly_paid", "30 USD"),
    ("the part came back", {}, pays("40", said=False), [BOUNCED], "bounced", "correct the bank details"),
    ("the part failed", {}, pays("40", said=False), [{"event": "payment.failed"}], "failed", "Ask the service"),
    ("events alone tell of a part", {}, [], [seen("40"), SENT], "partly_paid", "60 USD"),
    ("of a part of unknown size", {}, [], [seen(None), SENT], "partly_paid", "Have the payer pay the rest."),
    ("its amount and the service disagree", {}, pays("40", said=True), [SENT], "unclear", "60 USD is missing here"),
    ("all parts", {}, pays("40", "60"), [SENT], "at_the_bank", "Nothing."),
    ("all parts, the first listed as one", {}, pays("40", "60", said=True), [SENT], "at_the_bank", "Nothing."),
    ("the list is older than the event", {}, pays("100", said=False), [SENT], "at_the_bank", "Nothing."),
    ("more than all", {}, pays("130"), [SENT], "at_the_bank", "30 more than ordered"),
    # A refund counts by its amount.
    ("a part was given back", {}, pays("100", said=True), [back("40")], "partly_paid", "the rest, 40 USD."),
    ("whether it is owed is open", {}, pays("100"), [back("40")], "partly_paid", "Crypto was given back: find out"),
    ("the bank has what is left", {}, pays("100", said=True), [SENT, back("40")], "partly_paid", "40 USD"),
    ("two parts were given back", {}, pays("100"), [back("40"), back("60")], "refunded", "create a new request"),
    ("all was given back", {}, pays("100", said=True), [SENT, back("100")], "refunded", "create a new request"),
    ("but for a fee", {}, pays("100", said=True), [back("99")], "refunded", "create a new request"),
    ("all of a part", {}, pays("40", said=False), [back("40")], "refunded", "create a new request"),
    ("one of two", {}, pays("100", "100", said=True), [SENT, back("100")], "at_the_bank", "Nothing."),
    ("one of three", {}, pays("100", "100", "100"), [back("100")], "paid_twice", "Paid 2 times:"),
    ("a part of the second", {}, pays("100", "100"), [back("40")], "paid", "60 more than ordered"),
    ("the surplus", {}, pays("130", said=True), [SENT, back("30")], "at_the_bank", "Nothing."),
    ("a part of the surplus", {}, pays("130"), [back("10")], "paid", "20 more than ordered"),
    ("paid again since", {}, pays("100", "100"), [back("100")], "paid", "no event says yet"),
    ("an unknown amount is all", {}, pays("100"), [back()], "refunded", "create a new request"),
    ("an unknown amount is one of two", {}, pays("100", "100"), [back()], "paid", "no event says yet"),
    ("in another currency", {}, pays("100", said=True), [SENT, back("40", EURC)], "unclear", "cannot be told"),
    ("in an unknown currency", {}, pays("100"), [SENT, back("40", None)], "unclear", "cannot be told"),
    ("of a payment that is not listed", {}, [], [back("100")], "refunded", "create a new request"),
    ("of a part of one that is not listed", {}, [], [SENT, back("40")], "unclear", "cannot be told"),
    (
        "all, in the token of the order",
        IN_ETH,
        pays("1", said=True, paymentCurrency=ETH),
        [back("1", ETH)],
        "refunded",
        "",
    ),
    (
        "a part, likewise",
        IN_ETH,
        pays("1", said=True, paymentCurrency=ETH),
        [back(".5", ETH)],
        "unclear",
        "cannot be told",
    ),
    # The tolerance is for pegs.
    ("one unit short", IN_TOKEN, pays("99.999999", said=False), [SENT], "partly_paid", "rest, 0.000001 USDC-sepolia."),
    ("one short, and no word", IN_TOKEN, pays("99"), [], "partly_paid", "the rest, 1 USDC-sepolia."),
    (
        "one short, and a word against it",
        IN_TOKEN,
        pays("99", said=True),
        [SENT],
        "unclear",
        "1 USDC-sepolia is missing",
    ),
    ("one short, by an event", IN_TOKEN, [], [seen("99")], "partly_paid", "the rest, 1 USDC-sepolia."),
    ("exactly", IN_TOKEN, pays("100"), [SENT], "at_the_bank", "Nothing."),
    ("half a unit more", IN_TOKEN, pays("100.5"), [], "paid", "0.5 more than ordered"),
    ("twice", IN_TOKEN, pays("100", "100"), [], "paid_twice", "Paid 2 times:"),
    ("not quite twice", IN_TOKEN, pays("100", "99"), [], "paid", "99 more than ordered"),
    ("another peg", IN_TOKEN, pays("99", paymentCurrency=TETHER), [], "paid", "no event says yet"),
    ("a peg", {}, pays("99"), [], "paid", "no event says yet"),
    ("more than anybody has", {}, pays("1e99"), [], "paid", "more than ordered"),
    ("less than a peg allows", {}, pays("97"), [], "partly_paid", "the rest, 3 USD."),
    # Two tokens have no sum, and another token no value.
    (
        "half of it is in another token",
        {},
        [*pays("50"), paid(2, amount="50", paymentCurrency=ETH, hasBeenPaid=None)],
        [SENT],
        "unclear",
        "neither the order's nor pegged",
    ),
    (
        "likewise, and the service believes it",
        {},
        [*pays("50"), paid(2, amount="50", paymentCurrency=ETH)],
        [SENT],
        "unclear",
        "neither the order's nor pegged",
    ),
    (
        "one equals the amount by number",
        {},
        [*pays("1"), paid(2, amount="100", paymentCurrency=ETH)],
        [],
        "unclear",
        "neither",
    ),
    (
        "one pays all, the other is beside it",
        {},
        [*pays("100"), paid(2, amount="1", paymentCurrency=ETH)],
        [SENT],
        "at_the_bank",
        "not paid twice",
    ),
    ("two pegs", {}, [*pays("60"), paid(2, amount="40", paymentCurrency=TETHER)], [SENT], "at_the_bank", "Nothing."),
    ("another token", {}, pays("100", paymentCurrency=ETH), [], "unclear", "neither the order's nor pegged"),
    ("another token, believed", {}, pays("100", said=True, paymentCurrency=ETH), [SENT], "unclear", "neither"),
    ("another token, not believed", {}, pays("100", said=False, paymentCurrency=ETH), [], "unclear", "neither"),
    ("a worthless token", {}, pays("100", paymentCurrency="FAU-sepolia"), [SENT], "unclear", "neither"),
    ("another token that came back", {}, pays("100", paymentCurrency=ETH), [BOUNCED], "bounced", "neither"),
    ("pegged to another currency", IN_EUR, pays("100", said=True), [], "unclear", "neither"),
    ("ordered in it", IN_EUR | {"payment_currency": USDC}, pays("108", said=True), [SENT], "at_the_bank", "Nothing."),
    (
        "ordered in it, in part",
        IN_ETH,
        pays("1", said=False, paymentCurrency=ETH),
        [SENT],
        "partly_paid",
        "pay the rest.",
    ),
    ("ordered in it, nobody says more", IN_ETH, pays("1", paymentCurrency=ETH), [], "unclear", "Compare the payments"),
    ("its id is newer than the table", {}, pays("100", paymentCurrency="USDC-base-base"), [], "paid", "no event"),
    ("its id is in lower case", {}, pays("100", paymentCurrency="usdc-sepolia"), [], "paid", "no event"),
    ("its token is not known", {}, pays("100", said=True, paymentCurrency=None), [], "paid", "no event"),
    # One payment under two hashes.
    ("at one time", {}, pays("100", "100", at=SOON), [], "paid_twice", "Perhaps paid 2 times. "),
    ("at no time", {}, pays("100", "100", at=""), [], "paid_twice", "Perhaps paid 2 times. "),
    (
        "listed, and told with another hash",
        {},
        pays("100", at=SOON),
        [seen("100", "0x9", "confirmed", timestamp=SOON)],
        "paid_twice",
        "Perhaps paid 2 times. ",
    ),
    ("on two days", {}, pays("100", "100"), [], "paid_twice", "Paid 2 times:"),
    ("in one transaction", {}, pays("100", "100", at=SOON, sourceTxHash=HASH), [], "paid_twice", "Paid 2 times:"),
    (
        "for two requests",
        {},
        [*pays("100", at=SOON), paid(2, amount="100", timestamp=SOON, requestId="02")],
        [],
        "paid_twice",
        "Paid 2 times:",
    ),
    ("halves at one time", {}, pays("50", "50", at=SOON), [SENT], "unclear", "on a reorganized chain"),
    ("halves at one time, and the service says all", {}, pays("50", "50", at=SOON, said=True), [], "paid", "no event"),
    ("halves on two days", {}, pays("50", "50"), [SENT], "at_the_bank", "Nothing."),
    ("parts of two sizes", {}, pays("50", "50.01", at=SOON), [SENT], "at_the_bank", "Nothing."),
    # What came back wins where it is not known what came last.
    ("told at one time", {}, pays("100"), [BOUNCED | AT, SENT | AT], "bounced", "correct the bank details"),
    ("at one time, the other first", {}, pays("100"), [SENT | AT, BOUNCED | AT], "bounced", "correct"),
    ("at no times", {}, pays("100"), [BOUNCED | NO_TIME, SENT | NO_TIME], "bounced", "correct"),
    ("one at no time", {}, pays("100"), [BOUNCED | AT, SENT | NO_TIME], "bounced", "correct"),
    ("the other at no time", {}, pays("100"), [BOUNCED | NO_TIME, SENT | AT], "bounced", "correct"),
    ("arrived in any order", {}, pays("100"), [BOUNCED, SENT | {"received_at": "2026-11-09T00:00:30Z"}], "bounced", ""),
    ("failed at one time", {}, pays("100"), [{"event": "payment.failed"} | AT, SENT | AT], "failed", "Ask the service"),
    ("bounced and failed", {}, pays("100"), [BOUNCED | AT, {"event": "payment.failed"} | AT], "bounced", "correct"),
    ("sent once more", {}, pays("100"), [BOUNCED | AT, SENT | LATER], "at_the_bank", "Nothing."),
    (
        "sent once more, a day later",
        {},
        pays("100"),
        [BOUNCED, SENT | {"received_at": "2026-11-10T00:00:00Z"}],
        "at_the_bank",
        "Nothing.",
    ),
    # A header is not signed.
    ("a test that bounced", {}, pays("100"), [SENT, BOUNCED | {"is_test": True}], "bounced", "correct"),
    ("a test that failed", {}, pays("100"), [SENT, {"event": "payment.failed", "is_test": True}], "failed", "Ask"),
    ("a test that gave back", {}, pays("100"), [SENT, back("100", is_test=True)], "refunded", "create a new request"),
    ("a test proves nothing", {}, pays("100"), [SENT | {"is_test": True}], "paid", "calls it a test"),
    (
        "a test of a payment",
        {},
        pays("100"),
        [seen("100", "0x9", "confirmed", is_test=True)],
        "paid",
        "calls it a test",
    ),
]


@pytest.mark.parametrize(
    ("order", "payments", "events", "state", "words"),
    first_cases((case[1:] for case in CASES), 30),
    ids=[case[0] for case in CASES],
)
def test_nothing_is_called_paid_that_may_not_be(
    order: dict[str, Any], payments: list[dict[str, Any]], events: list[dict[str, Any]], state: str, words: str
) -> None:
    """A case of each kind, and its honest neighbours; what is paid in full is said to be, and nothing else is."""
    row = state_of(payments, told(*events), **({"amount": "100", "request_id": "01ab"} | order))

    assert state == row["state"]
    assert words in row["what_to_do"]
    assert state not in {"partly_paid", "unclear", "refunded"} or pd.isna(row["paid"]) or not row["paid"]


ONE, OTHER = {"request_id": "01ab"}, {"request_id": "02cd"}


@pytest.mark.parametrize(
    ("orders", "payments", "states"),
    [
        ([{}], [paid(reference="Invoice-1 ")], ["paid"]),  # as it is told apart, it is matched
        ([{"reference": "Invoice  1"}], [paid(reference=" invoice 1")], ["paid"]),
        ([{}, {"reference": "INVOICE-1"}], [paid()], ["unclear", "unclear", "unmatched"]),
        ([{}, {"reference": "invoice-1 "}], [], ["unclear", "unclear"]),  # signed for both, it would be paid twice
        ([{}, {}], [paid()], ["unclear", "unclear", "unmatched"]),
        ([ONE, {}], [paid()], ["paid", "unclear"]),  # the other may be the same
        ([ONE, OTHER], [paid()], ["paid", "unclear"]),
        ([ONE, OTHER], [paid(requestId="03", paymentReference=None)], ["unclear", "unclear", "unmatched"]),
        ([ONE, OTHER], [paid(amount="5", **PARTLY)], ["unclear", "unclear"]),  # another may be for the rest
        ([ONE, OTHER], [paid(1), paid(2, requestId="02cd", paymentReference=None)], ["paid", "paid"]),
        ([ONE, OTHER | {"reference": "invoice-2"}], [paid()], ["paid", "not_paid"]),  # with a reference of its own
        ([ONE, OTHER | {"reference": "invoice-1a"}], [paid(amount="5", **PARTLY)], ["partly_paid", "not_paid"]),
    ],
)
def test_a_reference_of_two_orders_is_nobodys(
    orders: list[dict[str, Any]], payments: list[dict[str, Any]], states: list[str]
) -> None:
    """Neither case nor blanks tell references apart, and no payer is told to pay what may be paid."""
    found = reconcile([ORDERED | order for order in orders], payments_frame(payments))

    assert states == found["state"].tolist()
    assert "payer" not in found["whose_move"][found["state"] == "unclear"].tolist()


def test_money_at_the_bank_proves_that_it_was_paid() -> None:
    """Even if no payment is listed; how often and how much is not known."""
    row = state_of([], told(word("fiat_sent")), request_id="01ab")

    assert ("at_the_bank", True, 0) == (row["state"], row["paid"], row["payments"])
    assert pd.isna(row["times_paid"])


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
    payments = [
        paid(number, reference=name, requestId=f"0{number}", paymentReference=None)
        for number, name in enumerate("abx", 1)
    ]
    found = reconcile(orders, payments_frame(payments), told(word("bounced", request_id="03")))

    assert ["c", "a", "b", "x"] == found["reference"].tolist()
    assert ["not_paid", "paid", "paid", "unmatched"] == found["state"].tolist()
    assert ("03", Decimal("25.50"), "bounced", "you") == tuple(
        found.loc[3, ["request_id", "paid_amount", "bank_status", "whose_move"]]
    )
    assert found.loc[3, ["amount", "paid", "times_paid"]].isna().all()


def test_the_strongest_id_decides() -> None:
    """A request id wins over a reference that two orders share."""
    orders = [ORDERED | {"request_id": "01ab"}, ORDERED | {"request_id": "02cd"}]
    payments = [
        paid(1),
        paid(2, requestId="02CD", paymentReference=None),
        paid(3, requestId="03", paymentReference=None),
    ]
    found = reconcile(orders, payments_frame(payments))

    assert ["paid", "paid", "unmatched"] == found["state"].tolist()
    assert "2 orders have its reference" in found["what_to_do"][2]


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

    assert ["invoice-1", "invoice-2", None, "invoice-3"] == found["reference"].astype(object).where(
        found["reference"].notna(), None
    ).tolist()
    assert ["paid", "not_paid", "paid", "not_paid"] == found["state"].tolist()
    assert ["service", "payer", "nobody", "payer"] == found["whose_move"].tolist()


@pytest.mark.parametrize(
    ("orders", "words"),
    [
        (None, "orders: give a DataFrame"),
        ("invoice-1", "orders: give a DataFrame"),
        (ORDERED, "orders: give a DataFrame"),
        ([5], "orders, line 1: give what create_request"),
        ([ORDERED, {"amount": "5"}], "orders, line 2: give the reference"),
        ([{**ORDERED, "reference": ""}], "orders, line 1: give the reference"),
        ([{"reference": "a"}], "amount is missing"),
        ([{**ORDERED, "amount": 25.5}], "line 1: amount: expected"),
        ([{**ORDERED, "amount": "-1"}], "line 1: amount: expected"),
        ([{**ORDERED, "reference": 5}], "line 1: reference: expected text"),
        (
            [ORDERED | {"request_id": "0A"}, ORDERED | {"request_id": "0a"}],
            "lines 1 and 2: both have the same request_",
        ),
        ([ORDERED | {"request_id": "0A"}, ORDERED | {"request_id": " 0a"}], "both have the same request_id"),
    ],
)
def test_orders_that_cannot_be_told_are_refused(orders: Any, words: str) -> None:
    """With the line, and never with a value."""
    with pytest.raises(InvalidInput, match=words) as caught:
        reconcile(orders, payments_frame([]))

    assert "invoice-1" not in str(caught.value)


@pytest.mark.parametrize("payments", [None, [], pd.DataFrame(), payments_frame([]).drop(columns="amount")])
def test_payments_are_a_frame_of_list_payments(payments: Any) -> None:
    """Anything else is refused."""
    with pytest.raises(InvalidInput, match="payments: expected a result of list_payments"):
        reconcile([ORDERED], payments)


def test_floats_are_refused() -> None:
    """They are what a file read without dtype=str has."""
    frame = payments_frame([paid()])
    with pytest.raises(InvalidInput, match="payments: amount: a float is not exact"):
        reconcile([ORDERED], frame.assign(amount=[25.5]))


@pytest.mark.parametrize("events", [[], pd.DataFrame(), told().drop(columns="is_test")])
def test_events_are_a_frame_of_read_events(events: Any) -> None:
    """Anything else is refused."""
    with pytest.raises(InvalidInput, match="events: expected a result of read_events"):
        reconcile([ORDERED], payments_frame([]), events)


def test_frames_may_come_from_files(tmp_path: Any) -> None:
    """In which times and truth values are text."""
    payments, events = payments_frame([paid(1), paid(2)]), told(word("bounced"))
    expected = reconcile([ORDERED], payments, events)
    for name, frame in {"payments": payments, "events": events}.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    read = [pd.read_csv(tmp_path / f"{name}.csv", dtype=str) for name in ("payments", "events")]

    pd.testing.assert_frame_equal(expected, reconcile([ORDERED], *read))


def test_the_frames_stay_as_they_are() -> None:
    """And the columns of the result are the same with and without rows."""
    payments, events = payments_frame([paid(1), paid(1)]), told(word("bounced"))
    before = payments.copy(), events.copy()
    found = reconcile([ORDERED], payments, events)

    pd.testing.assert_frame_equal(before[0], payments)
    pd.testing.assert_frame_equal(before[1], events)
    assert found.dtypes.equals(reconcile([], payments_frame([])).dtypes)


def test_nothing_personal_is_shown() -> None:
    """A reference that holds an e-mail address is masked."""
    personal = "for ada@example.com"
    orders = [ORDERED | {"reference": personal}, ORDERED | {"reference": "••••"}]
    revealed = payments_frame([paid(1, reference=personal)], reveal=True)

    assert ["paid", "not_paid"] == (found := reconcile(orders, revealed))["state"].tolist()
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
    """One request paid, one paid twice, one never, and one of somebody else: all pages, and one row an order."""
    user = PAYER["clientUserId"]
    account = payerkit.list_payment_details(client, user)["id"][0]
    order = {"amount": "25.50", "invoice_currency": "USD", "payment_currency": "USDC-sepolia"}
    requests = [payerkit.create_request(client, order) for _ in range(4)]
    for request, times in zip(requests, (1, 2, 0, 1), strict=True):
        payment = payerkit.request_payment(client, request, client_user_id=user, payment_details_id=account)
        for _ in range(times):
            client.sandbox.pay(payment)
    payments = payerkit.list_payments(client, payment_currency="USDC-sepolia", page_size=3)
    found = payerkit.reconcile(requests[:3], payments)

    assert ["paid", "paid_twice", "not_paid", "unmatched"] == found["state"].tolist()
    assert [requests[3].reference] == found["reference"].tolist()[3:]


@pytest.mark.slow
def test_ten_thousand_orders_take_seconds() -> None:
    """With as many payments and twice as many events."""
    orders = pd.DataFrame([ORDERED | {"reference": f"invoice-{number}"} for number in range(10_000)])
    payments = payments_frame(
        [paid(1, id=f"p{n}", reference=f"invoice-{n}", requestId=f"r{n}", paymentReference=None) for n in range(10_000)]
    )
    events = pd.concat([told(word("fiat_sent")), told(word("initiated"))]).loc[[0] * 10_000].reset_index(drop=True)
    events["request_id"] = pd.array([f"r{number // 2}" for number in range(20_000)], dtype="string")

    assert {"at_the_bank"} == set(reconcile(orders, payments, events)["state"]) - {"paid"}
