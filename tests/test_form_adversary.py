"""Forms under attack: interrupts, defects, odd messages, and values that change while an outcome is unknown."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from far_end import Behaviour, FarEnd, close, reply
from form_browser import Browser
from payerkit import BankDetailsForm, PayerForm, PaymentForm, Walkthrough
from payerkit.client import Client
from payerkit.errors import InterruptedCall
from payerkit.forms.form import Form
from payerkit.forms.view import FormState
from published import BANK_DETAILS, PAYER
from test_form_flow import ORDER, STORED, Gate, bank_form, listed, start_sending, title


class DefectError(Exception):
    """A mistake in a form."""


@pytest.mark.parametrize("error", [DefectError("a defect"), MemoryError(), KeyboardInterrupt()])
def test_a_failure_after_the_request_left_leaves_the_outcome_unknown(
    connected: Callable[..., Client], error: BaseException
) -> None:
    """Whatever fails once the account was sent, the form never looks as if it could be sent again at once."""

    class Broken(BankDetailsForm):
        def _call(self, request: Any) -> Any:
            super()._call(request)
            self._known = None
            raise error

    with FarEnd([listed(), STORED, listed()]) as far_end:
        form = Broken(connected(far_end.url), "user-123")
        form.fill(BANK_DETAILS)
        browser = Browser(form)
        browser.submit()
        shown = browser.messages[-1]["content"]

    assert ("unknown", ["look"]) == (shown["phase"], [button[1] for button in shown["buttons"]])
    assert "It is not known whether the account was stored." in json.dumps(shown["banner"])


def test_an_interrupt_while_a_response_is_taken_over_leaves_the_outcome_unknown(
    connected: Callable[..., Client],
) -> None:
    """The account was stored, and the form does not show it: it must not look as if nothing was sent."""

    class Broken(BankDetailsForm):
        def _finish(self, *_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

    with FarEnd([listed(), STORED, listed()]) as far_end:
        form = Broken(connected(far_end.url), "user-123")
        form.fill(BANK_DETAILS)
        shown = Browser(form).submit()

    assert ("unknown", ["look"]) == (shown["phase"], [button[1] for button in shown["buttons"]])


def test_an_interrupt_after_the_request_left_is_an_unknown_outcome(connected: Callable[..., Client]) -> None:
    """From Python, too: the cell gets InterruptedCall, not a plain interrupt after which one would send again."""

    class Slow(PaymentForm):
        def _call(self, request: Any) -> Any:
            super()._call(request)
            raise KeyboardInterrupt

    with FarEnd([reply(200, json.dumps({"transactions": []}))]) as far_end:
        form = Slow(connected(far_end.url))
        form.fill(ORDER)
        with pytest.raises(InterruptedCall):
            form.submit(anyway=True)

    assert "unknown" == form._state.phase


def test_a_defect_after_the_account_was_stored_shows_it(connected: Callable[..., Client]) -> None:
    """What the service confirmed is the result, whatever fails afterwards."""

    class Broken(BankDetailsForm):
        def _call(self, request: Any) -> Any:
            super()._call(request)
            raise DefectError

    with FarEnd([listed(), STORED, listed()]) as far_end:
        form = Broken(connected(far_end.url), "user-123")
        form.fill(BANK_DETAILS)
        with pytest.raises(DefectError):
            form.submit()

    assert ("done", "1", True) == (form._state.phase, form.result.id, form.done)


@pytest.mark.parametrize("kind", [PayerForm, PaymentForm])
def test_a_response_that_cannot_be_shown_counts_as_sent(shared: Client, kind: type[Form]) -> None:
    """A defect in the picture of a response leaves a form that is done, says so, and can be used on."""

    class Broken(kind):  # type: ignore[misc, valid-type]
        def _state_of(self, _response: Any) -> FormState:
            raise DefectError

    form = Broken(shared)
    form.fill({**PAYER, "clientUserId": "adversary-defect"} if kind is PayerForm else ORDER)
    browser = Browser(form)
    shown = browser.submit()
    shown = browser.press("anyway") if shown["phase"] == "open" else shown
    shown = browser.messages[-1]["content"]

    assert ("done", "Unexpected error.") == (shown["phase"], title(shown))
    assert "It was sent: form.result is the response." in json.dumps(shown["banner"])
    assert (True, True) == (form.done, form.result is not None)
    assert "open" == browser.press("edit")["phase"]


def test_an_interrupt_before_sending_leaves_the_form_usable(shared: Client) -> None:
    """An interrupt between the check and the request leaves nothing that cells would wait for."""
    form = PaymentForm(shared)
    form.fill(ORDER)
    interrupts = [KeyboardInterrupt()]

    def interrupt(_content: object) -> None:
        if form._state.phase == "sending" and interrupts:
            raise interrupts.pop()

    form.show_in(interrupt)
    with pytest.raises(KeyboardInterrupt):
        form.submit(anyway=True)

    assert ("open", False) == (form._state.phase, form.done)
    assert form.submit(anyway=True) is form.result


ODD: list[Any] = [
    None,
    "text",
    [],
    {},
    {"type": "action", "action": "send"},  # without touched
    {"type": "action", "action": ["send"], "touched": []},
    {"type": ["send"], "touched": {}},
    {"type": "dance", "touched": {}},
    {"type": "change", "touched": {"city": "Paris"}, "taken": 5},
    {"type": "change", "touched": {"city": 5, "nonsense": "x"}, "taken": ["city", "nonsense", {}]},
    {"type": "change", "touched": {"city": "Paris"}, "taken": ["city"]},  # no field with codes
    {"type": "use", "touched": {}, "name": ["city"]},
    {"type": "use", "touched": {}},
    {"type": "search", "touched": {}, "name": "city", "text": "x"},  # no field with codes
    {"type": "search", "touched": {}, "name": "country"},
    {"type": "search", "touched": {}, "name": "country", "text": "x" * 100_000},
    {"type": "tick", "touched": {}, "is_ticked": True},
    {"type": "tick", "touched": {}},
    {"type": "action", "touched": {}},
    {"type": "action", "touched": {}, "action": {}, "action_count": []},
    {"type": "action", "touched": {}, "action": "__init__", "action_count": 0},
    {"type": "keep", "touched": {}},
]


@pytest.mark.parametrize("kind", [PayerForm, PaymentForm, Walkthrough])
@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_odd_messages_change_nothing(shared: Client, kind: type[Any], odd: Any) -> None:
    """No exception, no action, no error that somebody would have to read."""
    widget = kind(shared)
    form = widget.payer if kind is Walkthrough else widget
    name = {"form": form.name} if isinstance(odd, dict) else {}
    state = form._state
    widget._handle_msg(
        {"content": {"data": {"method": "custom", "content": odd | name if name else odd}}, "buffers": []}
    )

    assert (None, None, False) == (form.error, form.result, form.done)
    assert state == form._state


def test_a_field_that_is_left_by_a_click_into_another_one_shows_its_note(shared: Client) -> None:
    """A search takes the values of a message along: what follows from them is shown, not only the options."""
    form = BankDetailsForm(shared, "user-123")
    browser = Browser(form)
    browser.post("search", {"currency": "EUR", "city": None}, name="country", text="", search_id=1)
    view, found = (message["content"] for message in browser.messages[-2:])

    assert ("page", "local", True) == (view["page"], view["values"]["rails"], "city" in view["notes"])
    assert "action_count" not in view
    assert found["options"]


def test_what_was_sent_stays_what_was_sent(connected: Callable[..., Client]) -> None:
    """Values that a cell changes while an outcome is unknown are not shown as sent, and are looked at first."""
    with FarEnd([listed(), close, listed(), listed(), listed()]) as far_end:
        form, browser = bank_form(connected, far_end)
        sent = browser.submit()["panel"]
        form.fill(account_number="987654321098")
        unknown = browser.messages[-1]["content"]
        assert form._search is not None
        for at in (1e9, 2e9):
            form._search._clock = partial(float, at)
            browser.press("look")
        shown = browser.press("again")

        assert 1 == len([each for each in far_end.ledger if each.method == "POST"])

    assert ("unknown", sent) == (unknown["phase"], unknown["panel"])
    assert "review" == shown["phase"]
    assert "••••1098" in shown["panel"]


def test_values_that_change_after_an_unknown_outcome_are_shown(connected: Callable[..., Client]) -> None:
    """A payer may be sent again, but another one only by a person who sees the fields."""
    with FarEnd([close]) as far_end:
        form = PayerForm(connected(far_end.url))
        form.fill(PAYER)
        browser = Browser(form)
        browser.submit()
        form.fill(client_user_id="another")
        shown = browser.messages[-1]["content"]

    assert ("open", "The outcome of the previous request is still unknown.") == (shown["phase"], title(shown))


def test_another_payer_does_not_hide_an_unknown_outcome(connected: Callable[..., Client]) -> None:
    """The id of the payer changes while an account is being sent: the form is cleared, and says what is not known."""
    gate, told = Gate(close), "It is not known whether the account of user-123 was stored."
    with FarEnd([listed(), gate, listed()]) as far_end:
        form, browser = bank_form(connected, far_end)
        start_sending(browser, gate)
        threading.Timer(0.05, gate.open).start()
        form.client_user_id = "user-456"
        shown = browser.messages[-1]["content"]

    assert ("open", told) == (shown["phase"], title(shown))
    assert 0 == len(form._entries.secrets)


def test_observers_of_two_forms_do_not_wait_for_each_other(connected: Callable[..., Client]) -> None:
    """A payer and an account are sent at once, and what observes one form reads the other: both end."""
    status = reply(200, json.dumps({"kycStatus": "not_started"}))
    account = Gate(STORED)

    def behave(connection: Any, request: Any) -> bool | None:
        if request.method == "GET":
            return listed()(connection, request)
        behaviour: Behaviour = account if "payment-details" in request.target else status
        return behaviour(connection, request)

    with FarEnd([behave]) as far_end:
        walk = Walkthrough(connected(far_end.url))
        walk.payer.fill(PAYER)
        walk.payer.submit()
        walk.bank_details.fill(BANK_DETAILS)
        seen: list[object] = []
        walk.bank_details.observe(lambda _: seen.append(walk.payer.result), "done")
        thread = start_sending(Browser(walk.bank_details), account)
        threading.Timer(0.2, account.open).start()
        walk.payer.fill(PAYER, client_user_id="another")
        walk.payer.submit()
        thread.join(5)

    assert not thread.is_alive()
    assert (2, "another") == (len(seen), walk.bank_details.client_user_id)
