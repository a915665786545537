"""A payment as a card, as a file, and in a terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from eth_hash.auto import keccak
from hypothesis import given
from hypothesis import strategies as st

import payerkit
from payerkit.cli import main as cli
from payerkit.errors import InvalidInput
from payerkit.models import Payment
from published import ANSWERS
from test_review import APPROVAL, ETH, GOOD, HARMLESS, SWAPPED, TOKEN_PAYMENT, USDC, data, payment

UNLIMITED = next(row[1] for row in HARMLESS if row[0] == "unlimited")
ORDERED_WIRE = USDC.to_dict(reveal=True)
PAYEE_SWAPPED = next(row[1] for row in SWAPPED if row[0] == "payee")


def card(shown: Payment) -> str:
    """Return what a notebook shows."""
    return shown._repr_html_()


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (GOOD["token"], "OK: everything that can be checked here matches."),
        (UNLIMITED, "LOOK: read what is marked"),
        (PAYEE_SWAPPED, "STOP: do not sign this."),
    ],
)
def test_the_card_begins_with_the_verdict(shown: Payment, words: str) -> None:
    """A user who reads no further knows what to do."""
    assert words in card(shown)[:200]


def test_the_card_shows_everything() -> None:
    """The order, each transaction, whom it goes to, what was found, and the fingerprint of its bytes."""
    shown = card(GOOD["token"])
    prints = [f"0x{keccak(bytes.fromhex(call[1][2:])).hex()}" for call in (APPROVAL, TOKEN_PAYMENT)]

    for words in ("fUSDC-sepolia", "ERC20FeeProxy 0.2.0", "Transaction 2: pay", "10 fUSDC-sepolia", *prints):
        assert words in shown
    assert (2, 1) == (shown.count("Fingerprint"), shown.count("<svg"))
    assert "The payee matches the order." in shown


def test_findings_stand_beside_their_transaction() -> None:
    """A finding about the second transaction is in its table."""
    whole, first, second = re.split(r"Transaction [12]", card(PAYEE_SWAPPED))

    assert [False, False, True] == ["not the payee of the order" in part for part in (whole, first, second)]


def test_an_unlimited_allowance_is_called_that() -> None:
    """2^256-1 is not a number that a person recognises."""
    assert "everything, now and later" in card(UNLIMITED)


def test_a_fee_is_drawn() -> None:
    """A fee has its own box and its own line."""
    call = data("c219a14d", APPROVAL[0], USDC.payee, 10**7, b"12345678", 5, USDC.payee)
    shown = card(payment((TOKEN_PAYMENT[0], call, 0), asked=USDC))

    assert (3 + 1, "0.000005 fUSDC-sepolia" in shown) == (shown.count("<rect"), True)
    assert 2 == len(re.findall(">10.000005 fUSDC-sepolia<", shown))  # what leaves the wallet, in the drawing and below
    assert f"and a fee of 0.000005 fUSDC-sepolia to {USDC.payee.lower()}" in shown


@pytest.mark.parametrize(
    ("environment", "shown"), [("sandbox", ">Sandbox<"), ("staging", ">Staging<"), ("live", ">Live<")]
)
def test_the_card_shows_where_it_comes_from(environment: str, shown: str) -> None:
    """A payment that was requested here shows the environment beside the verdict; one from a file has none."""
    answer = GOOD["token"].to_dict(reveal=True)
    badge = card(Payment.read(answer, order=USDC, environment=environment))

    assert shown in badge.partition("<table")[0]
    assert shown not in card(Payment.read(answer, order=USDC))


def test_the_card_tells_of_real_money_and_the_check_does_not() -> None:
    """Where a sandbox's payment moves real money, the card says so; the findings are those of any payment."""
    main = {**ORDERED_WIRE, "paymentCurrency": "USDC-mainnet", "invoiceCurrency": "USDC-mainnet"}
    answer = GOOD["token"].to_dict(reveal=True)
    order = payerkit.PaymentOrder.of(main, {})
    rehearsed, live = (Payment.read(answer, order=order, environment=each) for each in ("sandbox", "live"))

    assert ("moves real money" in card(rehearsed), "moves real money" in card(live)) == (True, False)
    assert payerkit.check_payment(rehearsed) == payerkit.check_payment(live)


def test_the_card_shows_markup_as_text() -> None:
    """No markup from a response becomes part of the page."""
    evil = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'
    answer = {"requestId": evil, "paymentReference": evil, "transactions": [{"to": evil, "data": evil, "value": evil}]}
    shown = card(Payment.read(answer, order=ETH))

    assert [] == [tag for tag in ("<script", "<img") if tag in shown]


anything = st.none() | st.text(max_size=20) | st.integers() | st.sampled_from(["0x", APPROVAL[0], APPROVAL[1]])


@given(
    st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(("to", "data", "value"), anything)), max_size=3),
    st.sampled_from([None, USDC, ETH]),
)
def test_every_answer_has_a_card(transactions: list[dict[str, Any]], order: Any) -> None:
    """Any response has a card, and an invalid one is never ok."""
    assert "<b>OK" not in card(Payment.read({"transactions": transactions}, order=order))


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.startswith("pay_")])
def test_published_answers_have_cards(name: str) -> None:
    """Also those that are shortened with dots."""
    assert "Transaction 1" in card(Payment.read(ANSWERS[name]))


@pytest.mark.parametrize("name", GOOD)
def test_a_saved_payment_is_the_same(name: str, tmp_path: Path) -> None:
    """A saved payment is read back with its order, and has the same findings."""
    file = tmp_path / "payment.json"
    GOOD[name].save(file)
    read = payerkit.read_payment(file)

    assert (GOOD[name].to_dict(), GOOD[name].order) == (read.to_dict(), read.order)
    assert payerkit.check_payment(GOOD[name]) == payerkit.check_payment(read)


@pytest.mark.parametrize("form", [dict, json.dumps, lambda answer: "  " + json.dumps(answer)])
def test_an_answer_of_any_form_is_read(form: Any) -> None:
    """A dict, or a JSON text, as the service answered; the order is given beside it."""
    answer = GOOD["token"].to_dict(reveal=True)
    read = payerkit.read_payment(form(answer), order=USDC.to_dict(reveal=True))

    assert "ok" == payerkit.check_payment(read).verdict
    assert "look" == payerkit.check_payment(payerkit.read_payment(form(answer), network="sepolia")).verdict
    assert "sepolia" == payerkit.decode_transactions(payerkit.read_payment(answer, network="sepolia"))["network"][0]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (5, "expected a path, a dict or a JSON text, got int"),
        ("{not json", "not valid JSON"),
        ("/nonexistent/payment.json", "cannot be read"),
        ("{}", "transactions are missing"),
        ({"answer": 5}, "transactions are missing"),
        ({"answer": {}}, "transactions are missing"),
        ('{"a":' * 100_000, "not valid JSON"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_anything_but_a_saved_payment_is_refused(source: Any, words: str) -> None:
    """The error tells why the source cannot be read."""
    with pytest.raises(InvalidInput, match=words):
        payerkit.read_payment(source)


def test_options_of_reading_are_checked() -> None:
    """An incomplete order and an unknown network are refused."""
    with pytest.raises(InvalidInput, match="payee: Required"):
        payerkit.read_payment(ANSWERS["pay_complete"], order={"amount": "1"})
    with pytest.raises(InvalidInput, match="network: 'polygon' is not known"):
        payerkit.read_payment(ANSWERS["pay_complete"], network="polygon")


ORDERED = [
    "--payee",
    USDC.payee,
    "--amount",
    "10",
    "--invoice-currency",
    "fUSDC-sepolia",
    "--currency",
    "fUSDC-sepolia",
]


@pytest.mark.parametrize(
    ("saved", "options", "code", "words"),
    [
        (GOOD["token"], [], 0, "OK: "),
        (UNLIMITED, [], 3, "LOOK: "),
        (PAYEE_SWAPPED, [], 4, "STOP: "),
        (GOOD["token"], ["--payee", USDC.payee], 5, "payment_currency"),  # an order is whole or none
        (GOOD["token"], ["--rate", "x"], 5, "rate: give a positive number"),
        (GOOD["token"], ORDERED, 0, "OK: "),
    ],
)
def test_inspect_ends_with_the_verdict(
    saved: Payment, options: list[str], code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script reads the exit code, a person the text."""
    file = tmp_path / "payment.json"
    saved.save(file)

    assert code == cli.main(["inspect", str(file), *options])
    printed = capsys.readouterr()
    assert words in printed.out + printed.err
    assert "Traceback" not in printed.err


def test_inspect_prints_what_each_transaction_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The terminal shows the same as the notebook, a line a value."""
    file = tmp_path / "payment.json"
    GOOD["token"].save(file)
    cli.main(["inspect", str(file)])
    printed = capsys.readouterr().out

    assert re.search(r"function +transferFromWithReferenceAndFee", printed)
    assert re.search(r"amount +10\.000000", printed)
    assert "nan" not in printed.lower()


@pytest.mark.parametrize("content", ["", "x", "[]"])
def test_inspect_tells_what_it_cannot_read(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Anything but a payment ends with exit code 5 and one line."""
    file = tmp_path / "payment.json"
    file.write_text(content)

    assert 5 == cli.main(["inspect", str(file)])
    assert 1 == len(capsys.readouterr().err.splitlines())
