"""The payment form, where it pays a stored account: from looking up the accounts to what became of the payment."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from far_end import Behaviour, close, reply
from form_browser import Browser, answers_of
from payerkit import BankDetailsForm, InvalidInput, PaymentForm, UnknownOutcome, Walkthrough
from payerkit.client import Client, Retries
from payerkit.client.node import KeptAnswers, Question
from payerkit.errors import Refused, ServiceError
from payout_service import CHASE, EXAMPLE_BANK, ORDER, PENDING, TO_PAY, TX_HASH, PayoutService, listed_request
from published import BANK_DETAILS, PAYER
from test_form_flow import interrupted, labels, title

PAYEE = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
TO_CHASE = {"client_user_id": "user-123", "payment_details_id": CHASE["id"], **ORDER}


@pytest.fixture
def service() -> Iterator[PayoutService]:
    """Start a service whose payer has two accounts that can be paid, and one that cannot."""
    with PayoutService(CHASE, EXAMPLE_BANK, PENDING) as service:
        yield service


@pytest.fixture
def form(service: PayoutService, connected: Callable[..., Client]) -> PaymentForm:
    """Return an empty form of this service."""
    return PaymentForm(connected(service.url))


@pytest.fixture
def browser(form: PaymentForm) -> Browser:
    """Return the browser of that form."""
    return Browser(form)


def values(form: PaymentForm) -> dict[str, str]:
    """Return the values of a form that are not empty."""
    return {name: value for name, value in form._entries.visible_values().items() if value}


def lines(view: dict[str, Any]) -> list[str]:
    """Return the lines of the banner."""
    return [text for text, _ in view["banner"].get("lines", ())]


def test_a_form_asks_first_what_is_paid(form: PaymentForm, browser: Browser) -> None:
    """The first field chooses between a wallet and an account, and nothing is chosen beforehand."""
    section, rows = form.spec["forms"][0]["sections"][0]
    view = browser.press("submit")

    assert ("Where the money goes", "paid_to") == (section, rows[0][0])
    assert [["wallet", "Wallet"], ["account", "Stored account"]] == [list(option) for option in rows[0][6]["options"]]
    assert "beyond the specification" in form.spec["forms"][0]["marks"]["paid_to"]
    assert "Choose the way of payment." == lines(view)[0]
    assert ["paid_to", "amount", "invoice_currency", "payment_currency"] == [
        name for _, name in view["banner"]["lines"]
    ]


@pytest.mark.parametrize(
    ("filled", "paid_to"),
    [
        ({"payee": PAYEE}, "wallet"),
        ({"client_user_id": "user-123"}, "account"),
        ({"paymentDetailsId": "b2"}, "account"),
        (ORDER, ""),  # both have these
    ],
)
def test_values_choose_what_is_paid(form: PaymentForm, filled: Any, paid_to: str) -> None:
    """A value that only one of both has is enough."""
    form.fill(filled)

    assert paid_to == form._entries.visible_values()["paid_to"]


def test_values_of_the_other_are_cleared(form: PaymentForm, browser: Browser) -> None:
    """What is not shown is not sent: a payee goes with the wallet, an account and its payer with the account."""
    form.fill(TO_CHASE, reference="invoice-001")
    browser.post("change", {"paid_to": "wallet"})
    to_wallet = values(form)
    form.fill(payee=PAYEE)
    form.fill(TO_CHASE)

    assert ORDER | {"paid_to": "wallet"} == to_wallet
    assert TO_CHASE | {"paid_to": "account"} == values(form)


def test_looking_up_lists_the_approved_accounts(browser: Browser, service: PayoutService) -> None:
    """The accounts that can be paid are offered, masked, with their bank; the others are named beside them."""
    browser.post("change", {"paid_to": "account"})
    view = browser.press("look_up", {"client_user_id": "user-123"})

    assert ["accounts"] == service.sent()
    assert {CHASE["id"]: "••••3489 at Chase (USD, local)", "b2": "••••1111 at Example Bank (USD, local)"} == view[
        "choices"
    ]["payment_details_id"]
    assert "2 accounts can be paid. Not approved: ••••2222 at Example Bank (USD, local), pending." == (
        view["notes"]["payment_details_id"][0].text
    )
    assert "payment_details_id" == view["focus"]
    assert "25300923" not in json.dumps(browser.messages)


def test_the_only_account_is_chosen(browser: Browser, service: PayoutService) -> None:
    """One approved account is chosen, with its currency, and the reason for the currency stands beside it."""
    service.accounts = (PENDING, CHASE)
    view = browser.press("look_up", {"paid_to": "account", "client_user_id": "user-123"})

    assert (CHASE["id"], "USD") == (view["values"]["payment_details_id"], view["values"]["invoice_currency"])
    assert "Chosen, since the account has this currency." == view["notes"]["invoice_currency"][0].text


@pytest.mark.parametrize("accounts", [(), (PENDING,)])
def test_a_payer_without_an_approved_account_is_told(
    browser: Browser, service: PayoutService, accounts: tuple[dict[str, Any], ...]
) -> None:
    """There is nothing to choose, and the form says what to do."""
    service.accounts = accounts
    view = browser.press("look_up", {"paid_to": "account", "client_user_id": "user-123"})

    assert ("user-123 has no approved account.", {}) == (title(view), view["choices"]["payment_details_id"])


def test_looking_up_needs_a_payer(browser: Browser, service: PayoutService) -> None:
    """Without an id nothing is sent, and the field says so."""
    view = browser.press("look_up", {"paid_to": "account"})

    assert ([], "Enter the payer's id first.") == (service.sent(), title(view))
    assert "client_user_id" in view["notes"]


def test_another_payer_has_other_accounts(browser: Browser) -> None:
    """The accounts of one payer are not offered for another."""
    browser.press("look_up", {"paid_to": "account", "client_user_id": "user-123"})
    browser.post("change", {"payment_details_id": "b2"})
    view = browser.post("change", {"client_user_id": "user-124"})

    assert ("", {}) == (view["values"]["payment_details_id"], view["choices"]["payment_details_id"])


def test_an_account_is_paid_in_one_go(form: PaymentForm, browser: Browser, service: PayoutService) -> None:
    """One button creates the request and gets its transactions; the card is shown, and the account is masked."""
    form.fill(TO_CHASE, wallet=PAYEE, reference="invoice-001")
    review = browser.press("submit")
    view = browser.press("send")
    answers = answers_of(review)

    assert ["accounts", "payer status", "create", "pay"] == service.sent()
    assert "invoice-001" == service.body("create")["reference"]
    assert {"wallet": PAYEE, "clientUserId": "user-123", "paymentDetailsId": CHASE["id"]} == service.query("pay")
    assert ("done", "invoice-001", "••••3489") == (
        view["phase"],
        form.result.payout.reference,
        form.result.payout.account,
    )
    assert "Stored account" == answers["Way of payment"]
    assert form.result.card().sentence in view["panel"]
    assert "25300923" not in json.dumps(browser.messages)


def test_an_account_that_is_not_there_creates_no_request(form: PaymentForm, service: PayoutService) -> None:
    """The account is read before anything is created."""
    form.fill(TO_CHASE | {"payment_details_id": "b9"})
    with pytest.raises(InvalidInput, match="no account with this id"):
        form.submit()

    assert ["accounts"] == service.sent()


def test_too_small_an_amount_is_told_while_it_is_entered(browser: Browser, service: PayoutService) -> None:
    """The least amount that the operator pays out is a warning at the amount, once the account is known."""
    service.accounts = (CHASE | {"rails": "swift"},)
    browser.press("look_up", {"paid_to": "account", "client_user_id": "user-123"})
    view = browser.post("change", {"amount": "29.99"})

    assert [
        "The operator pays out at least 30 USD to such an account. The service may refuse less, or not pay it out."
    ] == [note.text for note in view["notes"]["amount"]]


def test_warnings_about_the_account_come_before_sending(form: PaymentForm, service: PayoutService) -> None:
    """An account that is not approved, or has another currency, is warned of while there is nothing to take back."""
    service.accounts = (PENDING,)
    bank_details = BankDetailsForm(form._client, "user-123")
    bank_details.fill(BANK_DETAILS)
    bank_details.submit()
    form.offer_account(bank_details)
    form.fill(ORDER, invoice_currency="EUR")

    assert {"account_status", "account_currency"} == {
        each.code for each in form.findings.warnings if each.code.startswith("account")
    }
    with pytest.raises(InvalidInput, match="2 warnings"):
        form.submit()


@pytest.mark.parametrize("wallet", ["0x6923", PAYEE.replace("A", "a", 1)])  # too short; a wrong capital letter
def test_a_paying_wallet_is_an_address(form: PaymentForm, wallet: str) -> None:
    """A wallet that cannot be one is an error at its field."""
    form.fill(TO_CHASE, wallet=wallet)

    assert [("wallet", "wallet_form")] == [(each.field, each.code) for each in form.findings.errors]


def test_no_response_leaves_the_request_unknown(form: PaymentForm, browser: Browser, service: PayoutService) -> None:
    """It is told as unknown, never asked twice by itself, and a new request with a new reference is offered."""
    service.instead["create"] = close
    form.fill(TO_CHASE, reference="invoice-001")
    unknown = browser.submit()
    error, sent = form.error, service.sent()
    del service.instead["create"]
    done = browser.press("again")

    assert ("unknown", "It is not known whether the request was created.") == (unknown["phase"], title(unknown))
    assert ["Look for it", "Create a new request", "Edit"] == labels(unknown)
    assert ["accounts", "payer status", "create"] == sent
    assert isinstance(error, UnknownOutcome)
    assert "done" == done["phase"]
    assert ("invoice-001", True) == (
        service.body("create", 0)["reference"],
        service.body("create")["reference"].startswith("payerkit-"),
    )


def lose(form: PaymentForm, browser: Browser, service: PayoutService) -> None:
    """Send a payment whose request is lost on its way back."""
    service.instead["create"] = close
    form.fill(TO_CHASE)
    browser.submit()
    del service.instead["create"]


def test_a_request_that_is_found_is_paid(form: PaymentForm, browser: Browser, service: PayoutService) -> None:
    """Looking takes it over, so that sending again makes no second one."""
    lose(form, browser, service)
    service.requests = [listed_request(service.body("create"))]
    found = browser.press("look")
    done = browser.submit()

    assert ("open", "The request was created, but its transactions did not come.") == (found["phase"], title(found))
    assert ("done", 1, "01ab") == (done["phase"], service.sent().count("create"), form.result.request_id)


def test_a_request_that_is_not_found_is_sought_again(
    form: PaymentForm, browser: Browser, service: PayoutService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until two looks, with a delay before each, have not shown it; one that differs is a person's decision."""
    lose(form, browser, service)
    looked = [browser.press("look")]
    monkeypatch.setattr("payerkit.payouts.lists.RECONCILE_AFTER", 0)
    form._search.retry_at = 0.0  # type: ignore[union-attr] # the delay is over
    looked += [browser.press("look") for _ in range(2)]
    service.requests = [listed_request(service.body("create")) | {"amount": "11"}]
    looked.append(browser.press("look"))

    not_yet, absent = "It is not there yet.", "Two whole lists lack it: it was not created."
    assert [not_yet, not_yet, absent] == [title(each) for each in looked[:3]]
    assert ["Create a new request", "Look for it", "Edit"] == labels(looked[2])
    assert "The list does not show for certain which request is this one." == title(looked[3])


def test_a_request_is_not_created_twice_for_its_transactions(
    form: PaymentForm, browser: Browser, service: PayoutService
) -> None:
    """If only the transactions fail to come, sending again asks for those of the same request."""
    service.instead["pay"] = reply(500)
    form.fill(TO_CHASE)
    with pytest.raises(ServiceError):
        form.submit()
    shown = browser.post("start")
    del service.instead["pay"]
    payment = form.submit()

    assert "The request was created, but its transactions did not come." == title(shown)
    assert "Send again: it asks for the transactions of the same request." in lines(shown)
    assert (1, "request-1") == (service.sent().count("create"), payment.request_id)


def test_another_order_is_another_request(form: PaymentForm, service: PayoutService) -> None:
    """A request is only used again for what it was created for."""
    service.instead["pay"] = reply(500)
    form.fill(TO_CHASE)
    with pytest.raises(ServiceError):
        form.submit()
    del service.instead["pay"]
    form.fill(amount="11")
    form.submit()

    assert ["10", "11"] == [service.body("create", place)["amount"] for place in (0, 1)]


def test_a_new_payment_is_a_new_request(form: PaymentForm, browser: Browser) -> None:
    """A request whose transactions came is not used for another payment."""
    form.fill(TO_CHASE)
    form.submit()
    browser.press("edit")
    browser.submit()

    assert "request-2" == form.result.request_id


@pytest.mark.parametrize("is_cell", [True, False])
def test_an_interrupt_between_the_calls_keeps_the_request(
    form: PaymentForm, browser: Browser, service: PayoutService, *, is_cell: bool
) -> None:
    """Interrupted after the request was created, nothing is unknown, and sending again makes no second one."""
    service.instead["pay"] = interrupted
    form.fill(TO_CHASE)
    if is_cell:
        with pytest.raises(KeyboardInterrupt):
            form.submit()
        shown = browser.post("start")
    else:
        shown = browser.submit()
    del service.instead["pay"]
    done = browser.submit()

    assert ("The request was created, but its transactions did not come.", False) == (title(shown), form._is_unknown)
    assert ("done", 1) == (done["phase"], service.sent().count("create"))


def test_checking_again_follows_the_payment(form: PaymentForm, browser: Browser, service: PayoutService) -> None:
    """After signing, the form asks whether the service has seen the payment, and says not to sign it again."""
    form.fill(TO_CHASE)
    sent = browser.submit()
    early = browser.press("check")
    service.is_paid = True
    paid = browser.press("check")

    assert [["Check again", "Edit the order", "New payment"]] * 3 == [labels(each) for each in (sent, early, paid)]
    assert "Not paid yet, as far as the service knows." == title(early)
    assert "Paid. Do not sign these transactions again." == title(paid)
    assert f"By the transaction {TX_HASH}." in lines(paid)
    assert "Only events say whether the bank has the money: read_events() reads them." in lines(paid)
    assert "paid" == paid["outcome"]


def test_a_payment_to_a_wallet_is_followed_too(form: PaymentForm, browser: Browser, service: PayoutService) -> None:
    """It is paid once the blockchain has it; there is no bank to hear of."""
    pay = {"requestId": "request-0", "transactions": [], "metadata": {}}
    service.instead["wallet"] = reply(201, json.dumps(pay))
    form.fill(payee=PAYEE, **ORDER)
    form.submit()
    service.is_paid = True
    status = form.check_again()
    view = browser.post("start")

    assert (True, "Paid. Do not sign these transactions again.") == (status.has_been_paid, title(view))
    assert "bank" not in json.dumps(view["banner"])


def test_a_person_agrees_beside_a_finding(form: PaymentForm, service: PayoutService) -> None:
    """A press makes the operator's address known to the policy of the form, which then asks no more about it."""
    form = PaymentForm(form._client, rate="1")
    browser = Browser(form)
    form.fill(TO_CHASE)
    looked = browser.submit()
    verdict, before = form.findings.verdict, len(service.sent())  # type: ignore[attr-defined]  # of a payment
    agreed = browser.press("agree 0")
    browser.press("agree 0")  # which is not offered any more

    assert ("look", "ok") == (verdict, form.findings.verdict)  # type: ignore[attr-defined]  # of a payment
    assert [(PAYEE, "operator")] == [(each.address, each.role) for each in form.policy.book]
    assert (True, False) == tuple("This is the operator" in view["panel"] for view in (looked, agreed))
    assert ("success", before) == (agreed["banner"]["kind"], len(service.sent()))


class CountedNode(KeptAnswers):
    """A node that counts how often it is asked."""

    count = 0

    def ask(self, questions: Sequence[Question]) -> list[Any]:
        """Count the questions, and pass them on."""
        self.count += 1
        return self._node.ask(questions)


def test_a_node_is_asked_by_a_person_alone(shared: Client) -> None:
    """Once when the response comes, and by the button; neither drawing the form nor agreeing asks it again."""
    shared.sandbox.set_wallet("fUSDC-sepolia", balance="50", allowance="0")
    node = CountedNode(shared.sandbox.node())
    form = PaymentForm(shared, policy=shared.sandbox.policy(), node=node)
    form.fill(ORDER | {"payee": PAYEE, "invoice_currency": "fUSDC-sepolia"})
    form.fill(wallet=f"0x{'11' * 20}")
    note, typed = form._own_notes()["wallet"], node.count
    form.submit()
    browser, counts = Browser(form), [node.count - typed]
    codes = {each.code for each in form.findings}
    for ask in (lambda: browser.post("start"), form.ask_again, lambda: form.findings, lambda: browser.press("check")):
        ask()
        counts.append(node.count - typed)

    assert note.startswith("It holds 50 fUSDC-sepolia and ")
    assert "The payment contract may take 0 fUSDC-sepolia." in note
    assert (1, [3, 3, 3, 3, 6]) == (typed, counts)
    assert "executed" in codes
    assert "executed" in {each.code for each in form.findings}


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
    form: PaymentForm, browser: Browser, service: PayoutService, tmp_path: Path, way: str
) -> None:
    """It is asked once about the payer and the request; then the file is there, and the form says so."""
    form.fill(TO_CHASE)
    payment = form.submit()
    before = len(service.sent())
    HAND_OVER[way](form, tmp_path / "signers.json")
    view = browser.messages[-1]["content"]
    written = json.loads((tmp_path / "signers.json").read_text("utf-8"))

    assert ["payer status", "status"] == service.sent()[before:]
    assert ("success", "Handed over: signers.json.") == (view["banner"]["kind"], title(view))
    assert [each.to for each in payment.transactions] == [
        each["to"] for each in written.get("answer", written)["transactions"]
    ]


@pytest.mark.parametrize("status", [404, 405])
def test_a_service_that_cannot_be_asked_hands_over_on_purpose(
    form: PaymentForm, service: PayoutService, tmp_path: Path, status: int
) -> None:
    """`GET /v2/request` is beyond the specification: without it, `anyway` hands over what nobody can ask about."""
    form.fill(TO_CHASE)
    form.submit()
    service.instead["status"] = reply(status)
    with pytest.raises(Refused):
        form.save(tmp_path / "payment.json")
    form.save(tmp_path / "payment.json", anyway=True)

    assert ("Handed over: payment.json.", None) == (form._view()["banner"]["title"], form.error)
    assert (tmp_path / "payment.json").exists()


@pytest.mark.parametrize(("behaviour", "creates"), [(saying(isCompliant=False), 0), (reply(404), 1)])
def test_no_request_is_created_for_a_payer_who_waits(
    form: PaymentForm, browser: Browser, service: PayoutService, behaviour: Behaviour, creates: int
) -> None:
    """The service is asked whether the payer is compliant before there is a request, where it has this call."""
    service.instead["payer status"] = behaviour
    form.fill(TO_CHASE)
    view = browser.submit()

    assert creates == service.sent().count("create")
    assert (creates == 0) == ("The payer is not compliant yet. No request was created." == title(view))
    assert (creates == 0) == ("client_user_id" in view["notes"])


@pytest.mark.parametrize("way", HAND_OVER)
@pytest.mark.parametrize(
    ("call", "behaviour", "error", "told"),
    [
        ("status", saying(hasBeenPaid=True), InvalidInput, "this request is paid already"),
        ("status", saying(status="paid", hasBeenPaid=False), InvalidInput, "this request is paid already"),
        ("status", saying(requestId="request-1"), InvalidInput, "It is not known whether this request is paid"),
        ("status", saying(requestId="other", hasBeenPaid=False), InvalidInput, "responds about another request"),
        ("status", reply(500), ServiceError, "The service failed."),
        ("payer status", saying(isCompliant=False), InvalidInput, "does not say that the payer is compliant"),
        ("payer status", reply(404), InvalidInput, "does not say that the payer is compliant"),
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
    """If it is paid, or that is unknown, or the payer is not compliant, no file is written, and the form says why."""
    form = PaymentForm(connected(service.url, retries=Retries(attempts=1)))
    form.fill(TO_CHASE)
    form.submit()
    service.instead[call] = behaviour
    with pytest.raises(error):
        HAND_OVER[way](form, tmp_path / "signers.json")

    assert told in form._view()["banner"]["title"]
    assert (True, []) == (form.done, list(tmp_path.iterdir()))


def test_a_payment_to_stop_is_handed_over_only_on_purpose(form: PaymentForm, tmp_path: Path) -> None:
    """The verdict is that of the form, with its rate; `anyway` overrules it."""
    form = PaymentForm(form._client, rate="2")
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
    """Register the payer of a walkthrough and store an account, and return the walkthrough."""
    walk.payer.fill(PAYER)
    walk.payer.submit()
    walk.bank_details.fill(BANK_DETAILS)
    walk.bank_details.submit()
    return walk


def test_what_is_typed_into_the_next_step_stays(service: PayoutService, connected: Callable[..., Client]) -> None:
    """Once a step is open, what the step before offers reaches its pages without the values that it leaves alone."""
    walk = Walkthrough(connected(service.url))
    bank_details: list[dict[str, Any]] = []
    payment: list[dict[str, Any]] = []
    walk.bank_details.show_in(bank_details.append)
    walk.payment.show_in(payment.append)
    walk.payer.fill(PAYER)
    walk.payer.submit()
    opened, *later = bank_details
    walk.bank_details.fill(BANK_DETAILS)
    payment.clear()
    walk.bank_details.submit()

    assert "open" == opened["phase"]
    assert [{}] == [view["values"] for view in later]
    assert [{"paid_to", "client_user_id", "payment_details_id", "invoice_currency"}] == [
        set(view["values"]) for view in payment
    ]


def test_the_walkthrough_leaves_a_choice_alone(service: PayoutService, connected: Callable[..., Client]) -> None:
    """Whoever entered a wallet pays the wallet."""
    walk = Walkthrough(connected(service.url))
    walk.payment.fill(payee=PAYEE)
    stored(walk)

    assert {"paid_to": "wallet", "payee": PAYEE} == values(walk.payment)


def test_another_payer_in_a_walkthrough_gets_no_account_of_the_first(
    service: PayoutService, connected: Callable[..., Client]
) -> None:
    """A new payer clears what was filled in for the one before."""
    walk = stored(Walkthrough(connected(service.url)))
    walk.payer.fill(client_user_id="user-124", ssn=PAYER["ssn"])
    walk.payer.submit()

    assert {} == values(walk.payment)


def test_the_sandbox_takes_the_whole_journey(shared: Client) -> None:
    """From the payer to the paid request, against the sandbox: nothing in between is invented by a test."""
    walk = Walkthrough(shared)
    walk.payer.fill(PAYER, client_user_id="form-journey")
    walk.payer.submit()
    shared.sandbox.complete_agreement("form-journey")
    shared.sandbox.complete_kyc("form-journey")
    opened = (walk.bank_details.waits_for, walk.bank_details.client_user_id, len(walk.bank_details._entries))
    walk.bank_details.fill(BANK_DETAILS)
    detail = walk.bank_details.submit()
    chosen = values(walk.payment)
    walk.payment.fill(amount="10", payment_currency="fUSDC-sepolia")
    payment = walk.payment.submit()
    before, verdict = walk.payment.check_again().has_been_paid, walk.payment.findings.verdict  # type: ignore[attr-defined]
    shared.sandbox.pay(payment)
    after = walk.payment.check_again().has_been_paid

    assert ("look", "stop") == (verdict, walk.payment.findings.verdict)  # type: ignore[attr-defined]  # of a payment
    assert (False, True) == (before, after)
    assert ("", "form-journey", 0) == opened  # nothing is taken from the payer
    assert {"paid_to": "account", "client_user_id": "form-journey", "payment_details_id": detail.id} == {
        name: value for name, value in chosen.items() if name != "invoice_currency"
    }
    assert payment.payout is not None
    assert "••••3489" == payment.payout.account
