"""The course of a form from filling in to done, without a browser: what waits while it
is sent, interrupts, defects, unknown outcomes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

import payerkit
from far_end import Behaviour, FarEnd, Received, close, interrupt, reply
from filled_forms import Started, filled
from payerkit import (
    BankDetailsForm,
    InvalidInput,
    PayerForm,
    PaymentForm,
    UnknownOutcome,
    Walkthrough,
)
from payerkit.client import Client
from payerkit.errors import InterruptedCall, NotSent, PayerkitError, RateLimited
from payerkit.forms.form import Form
from published import BANK_DETAILS, PAYER

NUMBER = BANK_DETAILS["accountNumber"]
ONCE = payerkit.client.Retries(attempts=1)
RECORD = {
    "id": "1",
    "currency": "usd",
    "accountNumber": NUMBER,
    "routingNumber": "026013356",
    "status": "approved",
}
STORED = reply(201, json.dumps({"payment_detail": {"id": "1", "status": "approved"}}))


def listed(*records: dict[str, Any]) -> Behaviour:
    """Answer with a list of accounts."""
    return reply(200, json.dumps({"paymentDetails": records}))


def methods(far_end: FarEnd) -> list[str]:
    """Return the methods of the requests that arrived."""
    return [each.method for each in far_end.ledger]


class Gate:
    """Holds a response back until a test opens it, and tells when the request is
    there.
    """

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self.arrived = threading.Event()
        self._opened = threading.Event()

    def __call__(self, connection: Any, request: Received) -> bool | None:
        """Wait, then answer."""
        self.arrived.set()
        self._opened.wait(20)
        return self._behaviour(connection, request)

    def open(self) -> None:
        """Let the response go."""
        self._opened.set()


def start_sending(form: Form, gate: Gate) -> threading.Thread:
    """Send a form as the thread of a subshell does, and wait until the request is
    there.
    """
    thread = threading.Thread(target=form.submit, daemon=True)
    thread.start()
    assert gate.arrived.wait(20)
    return thread


DO: dict[str, Callable[[Form], object]] = {
    "fill": lambda form: form.fill(city="Albany"),
    "clear": lambda form: form.clear(),
    "submit": lambda form: form.submit(anyway=True),
    "attribute": lambda form: setattr(form, "city", "Albany"),
    "id": lambda form: setattr(form, "client_user_id", "another"),
    "ask": lambda form: form.ask_again(),
}
"""What a cell may do with a form that is being sent."""


@pytest.mark.parametrize("what", DO)
def test_a_form_that_is_sent_takes_nothing(
    start: Callable[..., Started], what: str
) -> None:
    """A cell is told so, and what is sent is whole, and sent once."""
    gate = Gate(STORED)
    form, far_end = start(listed(), gate, listed(RECORD))
    thread = start_sending(form, gate)
    busy = form.busy
    with pytest.raises(InvalidInput, match="The form is being sent"):
        DO[what](form)
    gate.open()
    thread.join(20)

    assert (True, False, True) == (busy, form.busy, form.done)
    assert ["GET", "POST", "GET"] == methods(far_end)


def test_a_double_submit_stores_one_account(start: Callable[..., Started]) -> None:
    """Run All behind a press sends nothing more, at once or afterwards."""
    form, far_end = start(listed(), STORED, listed(RECORD))
    form.submit()
    with pytest.raises(InvalidInput, match="Already sent"):
        form.submit(anyway=True)

    assert ["GET", "POST", "GET"] == methods(far_end)


def test_an_interrupt_before_anything_left_sends_nothing(
    start: Callable[..., Started],
) -> None:
    """While the accounts are listed first, nothing was written: the form can be sent
    again.
    """
    form, far_end = start(interrupt, listed(), STORED, listed(RECORD))
    with pytest.raises(KeyboardInterrupt):
        form.submit()
    early = (methods(far_end), form.result, form.done, form.busy)
    form.submit()

    assert (["GET"], None, False, False) == early
    assert form.done


def test_an_interrupt_afterwards_leaves_the_outcome_unknown(
    start: Callable[..., Started],
) -> None:
    """Once the request left, an interrupt proves nothing: it is not sent again by
    itself.
    """
    form, far_end = start(listed(), interrupt)
    with pytest.raises(InterruptedCall):
        form.submit()
    with pytest.raises(
        InvalidInput, match="Look at the accounts before you send it again"
    ):
        form.submit()

    assert isinstance(form.error, InvalidInput)
    assert ["GET", "POST"] == methods(far_end)


@pytest.mark.parametrize(
    "behaviour", [interrupt, reply(500)], ids=["an interrupt", "a failure"]
)
def test_a_list_that_does_not_come_keeps_the_account(
    start: Callable[..., Started], behaviour: Behaviour
) -> None:
    """The account is stored by then: the form has it."""
    form, _ = start(listed(), STORED, behaviour)

    assert ("1", None, True) == (form.submit().id, form.error, form.done)


def test_an_account_that_is_found_ends_an_unknown_outcome(
    start: Callable[..., Started],
) -> None:
    """The look takes it over as the result, so that nothing is sent again."""
    old = RECORD | {"id": "0"}
    form, far_end = start(listed(old), close, listed(old, RECORD))
    with pytest.raises(UnknownOutcome):
        form.submit()
    form.ask_again()

    assert ("1", None, True) == (form.result.id, form.error, form.done)
    assert ["GET", "POST", "GET"] == methods(far_end)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (listed(), listed()),  # not there, or not yet
        (
            listed(),
            listed(RECORD | {"accountNumber": "****3489"}),
        ),  # masked: it may be another one
        (reply(500), listed(RECORD)),  # it may have been there before
        (listed(RECORD), listed(RECORD)),  # it was there before
        (listed(), listed({"id": "2", "accountNumber": "1"})),  # another one
        (listed(), reply(500)),  # a list that cannot be read proves nothing
    ],
)
def test_what_cannot_be_told_is_left_to_a_person(
    start: Callable[..., Started], before: Behaviour, after: Behaviour
) -> None:
    """The outcome stays unknown; only who says so on purpose sends it again."""
    form, far_end = start(before, close, after, STORED, listed(RECORD), retries=ONCE)
    with pytest.raises(UnknownOutcome):
        form.submit()
    try:
        form.ask_again()
    except PayerkitError:
        assert form.error is not None
    with pytest.raises(InvalidInput, match="Nothing was sent now"):
        form.submit()
    told = methods(far_end)
    form.submit(anyway=True)

    assert ["GET", "POST", "GET"] == told
    assert ("1", True) == (form.result.id, form.done)


def test_the_list_before_the_first_attempt_counts(
    start: Callable[..., Started],
) -> None:
    """If sending again ends unknown, too, a look finds what either attempt stored."""
    form, _ = start(listed(), close, close, listed(RECORD), retries=ONCE)
    for anyway in (False, True):
        with pytest.raises(UnknownOutcome):
            form.submit(anyway=anyway)
    form.ask_again()

    assert "1" == form.result.id


def test_an_unreachable_service_is_not_asked_twice(
    connected: Callable[..., Client],
) -> None:
    """If the accounts cannot be listed since nothing leaves this machine, the account
    is not tried, either.
    """
    form = filled(connected("http://127.0.0.1:9", retries=ONCE), BankDetailsForm)
    with pytest.raises(NotSent):
        form.submit()

    assert isinstance(form.error, NotSent)


def test_a_payer_may_be_sent_again(start: Callable[..., Started]) -> None:
    """The same id creates no second payer, so an unknown outcome holds up nothing."""
    status = reply(200, json.dumps({"kycStatus": "pending"}))
    form, _ = start(close, status, kind=PayerForm, retries=ONCE)
    with pytest.raises(UnknownOutcome):
        form.submit()

    assert "pending" == form.submit().kyc_status


def test_a_limit_is_told(start: Callable[..., Started]) -> None:
    """With the seconds that the service asks to wait for."""
    limit = reply(429, headers={"Retry-After": "90"})
    form, _ = start(limit, kind=PayerForm, retries=ONCE)
    with pytest.raises(RateLimited):
        form.submit()

    assert 90 == form.error.retry_after


def test_what_was_sent_is_in_no_attribute(start: Callable[..., Started]) -> None:
    """While an outcome is unknown, what a debugger lists of the form holds no account
    number.
    """
    form, _ = start(listed(), close)
    # Not the one that the form has as an example.
    form.fill(account_number="987654321098")
    with pytest.raises(UnknownOutcome):
        form.submit()
    shown = [repr(each) for each in (form, *vars(form).values())]

    assert [] == [text for text in shown if "987654321098" in text]


class DefectError(Exception):
    """A mistake in a form."""


def breaking(
    kind: type[Form], method: str, error: BaseException, *, does: bool = True
) -> type[Any]:
    """Return a form in which a method fails. does: after its work."""

    def fail(self: Any, *given: Any) -> None:
        if does:
            getattr(kind, method)(self, *given)
        raise error

    return type("Broken", (kind,), {method: fail})


@pytest.mark.parametrize(
    ("method", "error"),
    [
        ("_call", DefectError("a defect")),
        ("_call", MemoryError()),
        ("_call", KeyboardInterrupt()),
        ("_finish", KeyboardInterrupt()),  # while the response is taken over
    ],
)
def test_a_failure_after_the_request_left_leaves_the_outcome_unknown(
    connected: Callable[..., Client], method: str, error: BaseException
) -> None:
    """Whatever fails once the account was sent, the form never looks as if it could be
    sent again at once.
    """
    kind = breaking(BankDetailsForm, method, error, does=method == "_call")
    with FarEnd([listed(), STORED, listed()]) as far_end:
        form = kind(connected(far_end.url), "user-123")
        form.fill(BANK_DETAILS)
        with pytest.raises(UnknownOutcome) as caught:
            form.submit()
        with pytest.raises(InvalidInput, match="It is not known whether"):
            form.submit()

    assert "a defect" not in str(caught.value)  # a message may quote a value


@pytest.mark.parametrize("kind", [PayerForm, PaymentForm])
def test_a_response_that_cannot_be_shown_counts_as_sent(
    shared: Client, kind: type[Form]
) -> None:
    """A defect in the picture of a response leaves a form that is done."""
    broken = breaking(kind, "_state_of", DefectError(), does=False)
    form = broken(shared)
    form.fill(filled(shared, kind, **_ids(kind)).value)
    with pytest.raises(DefectError):
        form.submit()

    assert (True, True) == (form.done, form.result is not None)
    with pytest.raises(InvalidInput, match="Already sent"):
        form.submit()


def _ids(kind: type[Form]) -> dict[str, str]:
    return {"client_user_id": "flow-defect"} if kind is PayerForm else {}


def test_a_failing_observer_leaves_a_form_that_is_done(shared: Client) -> None:
    """What an observer raises is raised by the cell that sends."""
    form = filled(shared, client_user_id="flow-fails")

    def fail(_change: object) -> None:
        raise ZeroDivisionError

    form.observe(fail, "done")
    with pytest.raises(ZeroDivisionError):
        form.submit()

    assert (True, False) == (form.done, form.busy)


def test_another_payer_does_not_hide_an_unknown_outcome(
    start: Callable[..., Started],
) -> None:
    """The form is cleared for the next one, and what was sent is not sent for them."""
    form, far_end = start(listed(), close)
    with pytest.raises(UnknownOutcome):
        form.submit()
    form.client_user_id = "user-456"
    with pytest.raises(InvalidInput, match="fields need attention"):
        form.submit()

    assert "<BankDetailsForm: 0 of 26 fields>" == repr(form)
    assert ["GET", "POST"] == methods(far_end)


def test_another_payer_waits_for_an_account_that_is_sent(
    connected: Callable[..., Client],
) -> None:
    """Another payer is registered meanwhile: what is sent is stored for the first one,
    and the form is cleared for the next.
    """
    status = reply(200, json.dumps({"kycStatus": "not_started"}))
    account = Gate(STORED)

    def behave(connection: Any, request: Any) -> bool | None:
        if request.method == "GET":
            return listed()(connection, request)
        behaviour: Behaviour = status
        if "payment-details" in request.target:
            behaviour = account
        return behaviour(connection, request)

    with FarEnd([behave]) as far_end:
        walk = Walkthrough(connected(far_end.url))
        walk.payer.fill(PAYER)
        walk.payer.submit()
        walk.bank_details.fill(BANK_DETAILS)
        seen: list[object] = []
        walk.bank_details.observe(lambda _: seen.append(walk.payer.result), "result")
        thread = start_sending(walk.bank_details, account)
        walk.payer.fill(PAYER, client_user_id="another")
        walk.payer.submit()
        account.open()
        thread.join(10)

    assert not thread.is_alive()
    assert walk.payer.result in seen
    assert "another" == walk.bank_details.client_user_id
    assert "<BankDetailsForm: 0 of 26 fields>" == repr(walk.bank_details)
