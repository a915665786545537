"""The payment form, where it pays a stored account: from looking up the accounts to
what became of the payment.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from example_addresses import PAYEE
from far_end import Behaviour, close, interrupt, reply
from filled_forms import missing
from node import find_anvil, in_front_of, running_node
from payerkit import (
    InvalidInput,
    PaymentForm,
    PaymentOrder,
    UnknownOutcome,
    Walkthrough,
)
from payerkit.client import Client, Retries
from payerkit.errors import Refused, ServiceError
from payerkit.models import PayoutOrder
from payout_service import (
    CHASE,
    EXAMPLE_BANK,
    ORDER,
    PENDING,
    TO_PAY,
    TX_HASH,
    PayoutService,
)
from published import BANK_DETAILS, PAYER
from test_executed_payments import FRESH, chain_of

TO_CHASE = {"client_user_id": "user-123", "payment_details_id": CHASE["id"], **ORDER}


@pytest.fixture
def service() -> Iterator[PayoutService]:
    """Start a service whose payer has two accounts that can be paid, and one that
    cannot.
    """
    with PayoutService(CHASE, EXAMPLE_BANK, PENDING) as service:
        yield service


@pytest.fixture
def form(service: PayoutService, connected: Callable[..., Client]) -> PaymentForm:
    """Return an empty form of this service."""
    return PaymentForm(connected(service.url))


def test_a_form_asks_first_what_is_paid(form: PaymentForm) -> None:
    """The first field chooses between a wallet and an account, and nothing is chosen
    beforehand.
    """
    section = form.sections[0]
    field = section["fields"][0]

    assert ("Where the money goes", "paid_to") == (section["title"], field["name"])
    assert {"paid_to", "amount", "invoice_currency", "payment_currency"} == missing(
        form
    )


@pytest.mark.parametrize(
    ("filled", "asked"),
    [
        ({"payee": PAYEE}, set()),
        ({"client_user_id": "user-123"}, {"payment_details_id"}),
        ({"paymentDetailsId": "b2"}, {"client_user_id"}),
        ({"paid_to": "account"}, {"client_user_id", "payment_details_id"}),
        ({}, {"paid_to"}),
    ],
)
def test_values_choose_what_is_paid(
    form: PaymentForm, filled: dict[str, str], asked: set[str]
) -> None:
    """A value that only one of both has is enough; then the others of that are asked
    for.
    """
    form.fill(ORDER, **filled)

    assert asked == missing(form)


def test_values_of_the_other_are_cleared(form: PaymentForm) -> None:
    """What is not shown is not sent: a payee goes with the wallet, an account and its
    payer with the account.
    """
    form.fill(TO_CHASE, reference="invoice-001")
    form.fill(payee=PAYEE)
    to_wallet = form.value
    form.fill(TO_CHASE)

    assert PaymentOrder(payee=PAYEE, **ORDER) == to_wallet
    assert PayoutOrder(**ORDER) == form.value


def test_the_only_account_is_chosen(form: PaymentForm, service: PayoutService) -> None:
    """One approved account is chosen, with its currency."""
    service.accounts = (PENDING, CHASE)
    form.fill(client_user_id="user-123")
    form.look_up()
    form.fill(amount="10", payment_currency="fUSDC-sepolia")

    assert "USD" == form.value.invoice_currency
    assert "••••3489" == form.submit().payout.account


@pytest.mark.parametrize("accounts", [(), (PENDING,), (CHASE, EXAMPLE_BANK)])
def test_a_person_chooses_if_not_one_account_can_be_paid(
    form: PaymentForm, service: PayoutService, accounts: tuple[dict[str, Any], ...]
) -> None:
    """None, or several: nothing is chosen."""
    service.accounts = accounts
    form.fill(client_user_id="user-123")
    form.look_up()

    assert ["accounts"] == service.sent()
    assert "payment_details_id" in missing(form)


def test_looking_up_needs_a_payer(form: PaymentForm, service: PayoutService) -> None:
    """Without an id nothing is sent."""
    form.fill(paid_to="account")
    with pytest.raises(InvalidInput, match="Enter the payer's id first"):
        form.look_up()

    assert [] == service.sent()


def test_another_payer_has_other_accounts(form: PaymentForm) -> None:
    """The account of one payer is not kept for another."""
    form.fill(client_user_id="user-123")
    form.look_up()
    form.fill(payment_details_id="b2")
    form.fill(client_user_id="user-124")

    assert "payment_details_id" in missing(form)


def test_an_account_is_paid_in_one_go(
    form: PaymentForm, service: PayoutService
) -> None:
    """One submission creates the request and gets its transactions; the account is
    masked.
    """
    form.fill(TO_CHASE, wallet=PAYEE, reference="invoice-001")
    payment = form.submit()

    assert ["accounts", "payer status", "create", "pay"] == service.sent()
    assert "invoice-001" == service.body("create")["reference"]
    assert {
        "wallet": PAYEE,
        "clientUserId": "user-123",
        "paymentDetailsId": CHASE["id"],
    } == service.query("pay")
    assert ("invoice-001", "••••3489") == (
        payment.payout.reference,
        payment.payout.account,
    )


def test_an_account_that_is_not_there_creates_no_request(
    form: PaymentForm, service: PayoutService
) -> None:
    """The account is read before anything is created."""
    form.fill(TO_CHASE | {"payment_details_id": "b9"})
    with pytest.raises(InvalidInput, match="No account to pay"):
        form.submit()

    assert ["accounts"] == service.sent()


@pytest.mark.parametrize(
    "wallet", ["0x6923", PAYEE.replace("A", "a", 1)]
)  # too short; a wrong capital letter
def test_a_paying_wallet_is_an_address(form: PaymentForm, wallet: str) -> None:
    """A wallet that cannot be one is an error at its field."""
    form.fill(TO_CHASE, wallet=wallet)

    assert [("wallet", "wallet_form")] == [
        (each.field, each.code) for each in form.findings.errors
    ]


def test_no_response_leaves_the_request_unknown(
    form: PaymentForm, service: PayoutService
) -> None:
    """It is never asked twice by itself, and another request has another reference."""
    service.instead["create"] = close
    form.fill(TO_CHASE, reference="invoice-001")
    with pytest.raises(UnknownOutcome):
        form.submit()
    del service.instead["create"]
    sent = service.sent()
    form.submit()

    assert ["accounts", "payer status", "create"] == sent
    assert ("invoice-001", True) == (
        service.body("create", 0)["reference"],
        service.body("create")["reference"].startswith("payerkit-"),
    )


def test_a_request_is_not_created_twice_for_its_transactions(
    form: PaymentForm, service: PayoutService
) -> None:
    """If only the transactions fail to come, sending again asks for those of the same
    request.
    """
    service.instead["pay"] = reply(500)
    form.fill(TO_CHASE)
    with pytest.raises(ServiceError):
        form.submit()
    del service.instead["pay"]
    payment = form.submit()

    assert (1, "request-1") == (service.sent().count("create"), payment.request_id)


def test_another_order_is_another_request(
    form: PaymentForm, service: PayoutService
) -> None:
    """A request is only used again for what it was created for."""
    service.instead["pay"] = reply(500)
    form.fill(TO_CHASE)
    with pytest.raises(ServiceError):
        form.submit()
    del service.instead["pay"]
    form.fill(amount="11")
    form.submit()

    assert ["10", "11"] == [service.body("create", place)["amount"] for place in (0, 1)]


def test_a_new_payment_is_a_new_request(form: PaymentForm) -> None:
    """A request whose transactions came is not used for another payment."""
    form.fill(TO_CHASE)
    form.submit()
    form.fill(TO_CHASE)
    form.submit()

    assert "request-2" == form.result.request_id


def test_an_interrupt_between_the_calls_keeps_the_request(
    form: PaymentForm, service: PayoutService
) -> None:
    """Interrupted after the request was created, nothing is unknown, and sending again
    makes no second one.
    """
    service.instead["pay"] = interrupt
    form.fill(TO_CHASE)
    with pytest.raises(KeyboardInterrupt):
        form.submit()
    del service.instead["pay"]
    form.submit()

    assert (True, 1) == (form.done, service.sent().count("create"))


def test_checking_again_follows_the_payment(
    form: PaymentForm, service: PayoutService
) -> None:
    """After signing, the form asks whether the service has seen the payment, and then
    stops it from being signed again.
    """
    form.fill(TO_CHASE)
    form.submit()
    early = form.check_again()
    service.is_paid = True
    paid = form.check_again()

    assert (False, True) == (early.has_been_paid, paid.has_been_paid)
    assert TX_HASH == paid.tx_hash
    assert "stop" == form.findings.verdict


def test_a_payment_to_a_wallet_is_followed_too(
    form: PaymentForm, service: PayoutService
) -> None:
    """It is paid once the blockchain has it."""
    pay = {"requestId": "request-0", "transactions": [], "metadata": {}}
    service.instead["wallet"] = reply(201, json.dumps(pay))
    form.fill(payee=PAYEE, **ORDER)
    form.submit()
    service.is_paid = True

    assert form.check_again().has_been_paid


@pytest.mark.node
@pytest.mark.skipif(find_anvil() is None, reason="anvil is not installed")
def test_a_node_is_asked_by_a_person_alone(shared: Client, tmp_path: Path) -> None:
    """Once when the response comes, and by the button; filling in the form does not ask
    it.
    """
    with running_node("sepolia", tmp_path) as running, in_front_of(running) as asked:
        running.load(chain_of("sepolia"))
        form = PaymentForm(shared, policy=shared.sandbox.policy(), node=asked.url)
        form.fill(ORDER | {"payee": PAYEE, "invoice_currency": "fUSDC-sepolia"})
        form.fill(wallet=FRESH)
        filled = len(asked.ledger)
        form.submit()
        before = len(asked.ledger)
        codes = {each.code for each in form.findings}
        form.fill(amount="11")
        after = len(asked.ledger)
        form.fill(amount="10")
        form.submit()
        form.check_again()

    assert "executed" in codes
    assert 0 == filled
    assert (before, True) == (after, len(asked.ledger) > after > 0)


HAND_OVER: dict[str, Callable[..., None]] = {
    "save": lambda form, path, **options: form.save(path, **options),
    "to_safe": lambda form, path, **options: form.to_safe(path, safe=PAYEE, **options),
}
"""The ways to hand over the transactions of a payment to those who sign."""


def saying(**members: object) -> Behaviour:
    """Answer with an object."""
    return reply(200, json.dumps(members))


@pytest.mark.parametrize("way", HAND_OVER)
def test_a_payment_is_handed_over_after_the_service_was_asked(
    form: PaymentForm,
    service: PayoutService,
    tmp_path: Path,
    way: str,
) -> None:
    """It is asked once about the payer and the request; then the file is there."""
    form.fill(TO_CHASE)
    payment = form.submit()
    before = len(service.sent())
    HAND_OVER[way](form, tmp_path / "signers.json")
    written = json.loads((tmp_path / "signers.json").read_text("utf-8"))

    assert ["payer status", "status"] == service.sent()[before:]
    assert [each.to for each in payment.transactions] == [
        each["to"] for each in written.get("answer", written)["transactions"]
    ]


@pytest.mark.parametrize("status", [404, 405])
def test_a_service_that_cannot_be_asked_hands_over_on_purpose(
    form: PaymentForm, service: PayoutService, tmp_path: Path, status: int
) -> None:
    """`GET /v2/request` is beyond the specification: without it, `anyway` hands over
    what nobody can ask about.
    """
    form.fill(TO_CHASE)
    form.submit()
    service.instead["status"] = reply(status)
    with pytest.raises(Refused):
        form.save(tmp_path / "payment.json")
    form.save(tmp_path / "payment.json", anyway=True)

    assert form.error is None
    assert (tmp_path / "payment.json").exists()


@pytest.mark.parametrize(
    ("behaviour", "creates"), [(saying(isCompliant=False), 0), (reply(404), 1)]
)
def test_no_request_is_created_for_a_payer_who_waits(
    form: PaymentForm,
    service: PayoutService,
    behaviour: Behaviour,
    creates: int,
) -> None:
    """The service is asked whether the payer is compliant before there is a request,
    where it has this call.
    """
    service.instead["payer status"] = behaviour
    form.fill(TO_CHASE)
    with suppress(InvalidInput):
        form.submit()

    assert creates == service.sent().count("create")
    assert (creates == 0) == ("The payer is not compliant yet." in str(form.error))
    assert (creates == 0) == (
        "client_user_id" in {each.field for each in form.findings}
    )


@pytest.mark.parametrize("way", HAND_OVER)
@pytest.mark.parametrize(
    ("call", "behaviour", "error", "told"),
    [
        (
            "status",
            saying(hasBeenPaid=True),
            InvalidInput,
            "this request is paid already",
        ),
        (
            "status",
            saying(status="paid", hasBeenPaid=False),
            InvalidInput,
            "this request is paid already",
        ),
        (
            "status",
            saying(requestId="request-1"),
            InvalidInput,
            "It is not known whether this request is paid",
        ),
        (
            "status",
            saying(requestId="other", hasBeenPaid=False),
            InvalidInput,
            "responds about another request",
        ),
        ("status", reply(500), ServiceError, "500"),
        (
            "payer status",
            saying(isCompliant=False),
            InvalidInput,
            "does not say that the payer is compliant",
        ),
        (
            "payer status",
            reply(404),
            InvalidInput,
            "does not say that the payer is compliant",
        ),
    ],
)
def test_a_payment_that_may_not_be_signed_is_not_handed_over(
    service: PayoutService,
    connected: Callable[..., Client],
    tmp_path: Path,
    way: str,
    call: str,
    behaviour: Behaviour,
    error: type[Exception],
    told: str,
) -> None:
    """If it is paid, or that is unknown, or the payer is not compliant, no file is
    written, and the error says why.
    """
    form = PaymentForm(connected(service.url, retries=Retries(attempts=1)))
    form.fill(TO_CHASE)
    form.submit()
    service.instead[call] = behaviour
    with pytest.raises(error, match=told):
        HAND_OVER[way](form, tmp_path / "signers.json")

    assert isinstance(form.error, error)
    assert (True, []) == (form.done, list(tmp_path.iterdir()))


def test_a_payment_to_stop_is_handed_over_only_on_purpose(
    service: PayoutService, connected: Callable[..., Client], tmp_path: Path
) -> None:
    """The verdict is that of the form, with its rate; `anyway` overrules it."""
    form = PaymentForm(connected(service.url), rate="2")
    form.fill(TO_CHASE)
    form.submit()
    with pytest.raises(InvalidInput, match="Not handed over"):
        form.save(tmp_path / "payment.json")
    form.save(tmp_path / "payment.json", anyway=True)

    assert (tmp_path / "payment.json").exists()


def test_what_cannot_be_asked_about_is_not_handed_over(
    form: PaymentForm, service: PayoutService, tmp_path: Path
) -> None:
    """Such as a form that was not sent, or a payment without an id."""
    for ask in (form.check_again, lambda: form.save(tmp_path / "payment.json")):
        with pytest.raises(InvalidInput, match="There is no payment yet"):
            ask()
    service.instead["wallet"] = reply(201, json.dumps(TO_PAY))
    form.fill(payee=PAYEE, **ORDER)
    form.submit(anyway=True)
    with pytest.raises(InvalidInput, match="no request id"):
        form.save(tmp_path / "payment.json")

    assert [] == list(tmp_path.iterdir())


def stored(walk: Walkthrough) -> Walkthrough:
    """Register the payer of a walkthrough and store an account, and return the
    walkthrough.
    """
    walk.payer.fill(PAYER)
    walk.payer.submit()
    walk.bank_details.fill(BANK_DETAILS)
    walk.bank_details.submit()
    return walk


def test_the_walkthrough_leaves_a_choice_alone(
    service: PayoutService, connected: Callable[..., Client]
) -> None:
    """Whoever entered a wallet pays the wallet."""
    walk = Walkthrough(connected(service.url))
    walk.payment.fill(payee=PAYEE)
    stored(walk)

    walk.payment.fill(ORDER)

    assert PAYEE == walk.payment.value.payee


def test_another_payer_in_a_walkthrough_gets_no_account_of_the_first(
    service: PayoutService, connected: Callable[..., Client]
) -> None:
    """A new payer clears what was filled in for the one before."""
    walk = stored(Walkthrough(connected(service.url)))
    walk.payer.fill(client_user_id="user-124", ssn=PAYER["ssn"])
    walk.payer.submit()

    assert "<PaymentForm: 0 of 9 fields>" == repr(walk.payment)


def test_the_sandbox_takes_the_whole_journey(shared: Client) -> None:
    """From the payer to the paid request, against the sandbox: nothing in between is
    invented by a test.
    """
    walk = Walkthrough(shared)
    walk.payer.fill(PAYER, client_user_id="form-journey")
    walk.payer.submit()
    shared.sandbox.complete_agreement("form-journey")
    shared.sandbox.complete_kyc("form-journey")
    opened = (walk.bank_details.client_user_id, repr(walk.bank_details))
    walk.bank_details.fill(BANK_DETAILS)
    detail = walk.bank_details.submit()
    walk.payment.fill(amount="10", payment_currency="fUSDC-sepolia")
    payment = walk.payment.submit()
    before, verdict = (
        walk.payment.check_again().has_been_paid,
        walk.payment.findings.verdict,
    )
    shared.sandbox.pay(payment)
    after = walk.payment.check_again().has_been_paid

    assert ("look", "stop") == (verdict, walk.payment.findings.verdict)
    assert (False, True) == (before, after)
    # Nothing is taken from the payer.
    assert ("form-journey", "<BankDetailsForm: 0 of 26 fields>") == opened
    assert payment.payout is not None
    assert detail.id == payment.payout.payment_details_id
    assert "••••3489" == payment.payout.account
