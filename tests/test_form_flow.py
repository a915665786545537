"""The course of a form from filling in to done: what waits while it is sent, interrupts, defects, unknown outcomes."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

import payerkit
from far_end import Behaviour, FarEnd, Received, close, reply
from form_browser import ORDER, Browser, Started, answers_of, opened
from payerkit import (
    BankDetailsForm,
    InvalidInput,
    PayerForm,
    PaymentForm,
    Refused,
    UnknownOutcome,
    Walkthrough,
)
from payerkit.client import Client
from payerkit.errors import InterruptedCall, NotSent, RateLimited, WrongKey
from payerkit.forms.bank_details import AccountSearch
from payerkit.forms.form import Form
from payerkit.forms.view import failure_banner
from published import BANK_DETAILS, PAYER

NUMBER = BANK_DETAILS["accountNumber"]
ONCE = payerkit.client.Retries(attempts=1)
RECORD = {"id": "1", "currency": "usd", "accountNumber": NUMBER, "routingNumber": "026013356", "status": "approved"}
STORED = reply(201, json.dumps({"payment_detail": {"id": "1", "status": "approved"}}))


def listed(*records: dict[str, Any]) -> Behaviour:
    """Answer with a list of accounts."""
    return reply(200, json.dumps({"paymentDetails": records}))


class Gate:
    """Holds a response back until a test opens it, and tells when the request is there."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self.arrived, self._opened = threading.Event(), threading.Event()

    def __call__(self, connection: Any, request: Received) -> bool | None:
        """Wait, then answer."""
        self.arrived.set()
        self._opened.wait(20)
        return self._behaviour(connection, request)

    def open(self) -> None:
        """Let the response go."""
        self._opened.set()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Give looks at accounts a clock that tests turn."""
    now = [0.0]
    monkeypatch.setattr(AccountSearch.__init__, "__kwdefaults__", {"clock": lambda: now[0]})
    return now


def labels(view: dict[str, Any]) -> list[str]:
    """Return the labels of the buttons, the primary one first."""
    return [each[0] for each in sorted(view["buttons"], key=lambda each: each[3] != "primary")]


def title(view: dict[str, Any]) -> str:
    """Return what the banner says."""
    return str(view["banner"]["title"])


def start_sending(browser: Browser, gate: Gate, *, opens: float | None = None) -> threading.Thread:
    """Press the buttons that send, as the thread of a subshell does, and wait until the request is there.

    opens: seconds until the response comes.
    """
    thread = threading.Thread(target=browser.submit, daemon=True)
    thread.start()
    assert gate.arrived.wait(20)
    if opens:
        threading.Timer(opens, gate.open).start()
    return thread


def asked_by(form: Form) -> list[str]:
    """Return a list that takes the method of each call that a form makes from now on."""
    methods: list[str] = []
    make = form._make

    def note(call: Any) -> Any:
        methods.append(call.method)
        return make(call)

    form._make = note  # type: ignore[method-assign]
    return methods


def interrupted(_connection: Any, _request: Received) -> None:
    """Interrupt the kernel while a request waits for its response, and never respond."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    threading.Event().wait(5)


def test_answers_are_looked_at_before_they_are_sent(shared: Client) -> None:
    """The summary has sections, words for codes, account numbers by their last four, and nothing is sent yet."""
    payerkit.create_payer(shared, {**PAYER, "clientUserId": "flow-review"})
    form = BankDetailsForm(shared, "flow-review")
    form.fill(BANK_DETAILS, document_number="X1234567")
    shown = Browser(form).press("submit")
    answers = answers_of(shown)

    assert ("review", "answers", ["Send", "Back"]) == (shown["phase"], shown["focus"], labels(shown))
    assert "••••3489" == answers["Account number"]
    assert "Entered, not shown" == answers["Document number"]
    assert "US, United States" == answers["Country"]
    assert NUMBER not in json.dumps(shown)
    assert 0 == len(payerkit.list_payment_details(shared, "flow-review"))


def test_a_value_that_changes_ends_the_review(shared: Client) -> None:
    """What is sent is what was looked at: another tab's change, or a cell's, shows the fields again."""
    form, browser = opened(shared, PaymentForm)
    browser.press("submit")
    other_tab = browser.post("change", {"amount": "12"})
    browser.press("submit")
    form.fill(amount="13")
    cell = browser.messages[-1]["content"]

    assert ("open", "open") == (other_tab["phase"], cell["phase"])
    assert [] == [each for each in (other_tab, cell) if answers_of(each)]


def test_a_click_of_before_the_review_sends_nothing(shared: Client) -> None:
    """The second click of a double click carries what the page knew before: it does not press the next button."""
    form, browser = opened(shared, PaymentForm)
    before = form._action_count
    browser.press("submit", action_count=before)
    second = browser.press("send", action_count=before)

    assert ("review", None) == (second["phase"], form.result)


def test_a_form_says_at_once_that_it_is_sent(start: Callable[..., Started]) -> None:
    """Before the service responds, every page has the answers, without a button; then comes the outcome."""
    gate = Gate(STORED)
    _, browser, _ = start(listed(), gate, listed(RECORD))
    thread = start_sending(browser, gate)
    sending = browser.messages[-1]["content"]
    gate.open()
    thread.join(20)
    done = browser.messages[-1]["content"]

    assert ("sending", "sending", "Sending …", []) == (
        sending["phase"],
        sending["banner"]["kind"],
        title(sending),
        labels(sending),
    )
    assert answers_of(sending)
    assert ("done", "banner") == (done["phase"], done["focus"])


def test_what_is_queued_while_a_form_is_sent_sends_nothing(start: Callable[..., Started]) -> None:
    """Clicks that were made on an older state, or on the one that says that it is sent, are dropped."""
    gate = Gate(reply(400, '{"message": "no"}'))
    form, browser, far_end = start(listed(), gate)
    thread = start_sending(browser, gate)
    counts = [message["content"]["action_count"] for message in browser.messages]
    gate.open()
    thread.join(20)
    shown = [browser.press("send", action_count=count) for count in counts]

    assert ["GET", "POST"] == [each.method for each in far_end.ledger]

    assert {"review"} == {each["phase"] for each in shown}
    assert isinstance(form.error, Refused)


def test_what_is_typed_while_a_form_is_sent_is_taken_afterwards(start: Callable[..., Started]) -> None:
    """It is no part of what is sent: a form that was refused takes it, and one that is done does not."""
    gate = Gate(reply(400, '{"message": "no"}'))
    form, browser, far_end = start(listed(), gate, STORED, listed(RECORD))
    start_sending(browser, gate, opens=0.05)
    refused = browser.post("change", {"city": "Albany"})
    browser.submit()
    done = browser.post("change", {"city": "Buffalo"})
    cities = [json.loads(far_end.ledger[place].body)["city"] for place in (1, 2)]

    assert ("open", "Albany") == (refused["phase"], refused["values"]["city"])
    assert ("done", "Albany") == (done["phase"], form._entries.visible_values()["city"])
    assert [BANK_DETAILS["city"], "Albany"] == cities


@pytest.mark.parametrize("name", ["result", "error", "findings", "done"])
def test_a_cell_waits_for_a_form_that_is_sent(start: Callable[..., Started], name: str) -> None:
    """What a cell reads is what came of it, not what was before."""
    gate = Gate(STORED)
    form, browser, _ = start(listed(), gate, listed(RECORD))
    start_sending(browser, gate, opens=0.05)
    seen = getattr(form, name)

    assert {"result": form.result, "error": None, "findings": form.findings, "done": True}[name] == seen


@pytest.mark.parametrize("change", [lambda form: form.fill(city="Albany"), lambda form: form.clear()])
def test_a_cell_that_changes_values_waits(start: Callable[..., Started], change: Callable[[Form], None]) -> None:
    """What is sent is whole: a change from a cell comes after it."""
    gate = Gate(STORED)
    form, browser, far_end = start(listed(), gate, listed(RECORD))
    start_sending(browser, gate, opens=0.05)
    change(form)
    body = json.loads(far_end.ledger[1].body)

    assert BANK_DETAILS["city"] == body["city"]
    assert not form.done


def test_a_cell_sends_nothing_while_the_outcome_is_unknown(start: Callable[..., Started]) -> None:
    """A cell that submits what the button is sending waits for the button's outcome, and is refused then."""
    gate = Gate(close)
    form, browser, far_end = start(listed(), gate)
    start_sending(browser, gate, opens=0.05)
    with pytest.raises(InvalidInput, match="Look at the accounts before you send it again"):
        form.submit()

    assert ["GET", "POST"] == [each.method for each in far_end.ledger]


def test_an_interrupt_before_anything_left_sends_nothing(start: Callable[..., Started]) -> None:
    """While the accounts are listed first, nothing was written: the form says so, and can be sent again."""
    form, browser, far_end = start(interrupted, listed(), STORED, listed(RECORD))
    shown = browser.submit()

    assert ["GET"] == [each.method for each in far_end.ledger]
    assert ("review", "Interrupted. Nothing was sent.") == (shown["phase"], title(shown))
    assert (None, False) == (form.result, form.done)
    assert "done" == browser.press("send")["phase"]


def test_an_interrupt_afterwards_leaves_the_outcome_unknown(start: Callable[..., Started]) -> None:
    """Once the request left, an interrupt proves nothing: the form leads to the accounts, as after any silence."""
    form, browser, _ = start(listed(), interrupted)
    unknown = browser.submit()

    assert ("unknown", ["Look at the accounts"]) == (unknown["phase"], labels(unknown))
    assert "It is not known whether the account was stored." == title(unknown)
    assert isinstance(form.error, InterruptedCall)


@pytest.mark.parametrize("behaviour", [interrupted, reply(500)], ids=["an interrupt", "a failure"])
def test_a_list_that_does_not_come_keeps_the_account(start: Callable[..., Started], behaviour: Behaviour) -> None:
    """The account is stored by then: the form shows it."""
    form, browser, _ = start(listed(), STORED, behaviour)

    assert ("done", "1", None) == (browser.submit()["phase"], form.result.id, form.error)


def test_a_form_says_how_to_stop_what_can_be_stopped(start: Callable[..., Started]) -> None:
    """An interrupt reaches the kernel's main thread, and no other."""
    _, browser, _ = start(reply(400), reply(400), kind=PayerForm)
    thread = threading.Thread(target=browser.submit)
    thread.start()
    thread.join()
    browser.submit()
    sending = [each["content"]["banner"] for each in browser.messages if each["content"]["phase"] == "sending"]

    told = ("To stop it, interrupt the kernel.", "")
    assert [False, True] == [told in banner.get("lines", []) for banner in sending]


def test_a_new_account_ends_an_unknown_outcome(start: Callable[..., Started]) -> None:
    """The look names the account, takes it over as the result, and says not to send it again."""
    old = RECORD | {"id": "0"}
    form, browser, _ = start(listed(old), close, listed(old, RECORD))
    unknown = browser.submit()
    looked = browser.press("look")

    assert ("unknown", ["Look at the accounts"]) == (unknown["phase"], labels(unknown))
    assert "1 new account: ••••3489, approved." == title(looked)
    assert "It is stored; do not send it again." == looked["banner"]["lines"][0][0]
    assert ("done", "1", None, True) == (looked["phase"], form.result.id, form.error, form.done)


def test_no_account_after_two_looks_may_be_sent_again(start: Callable[..., Started], clock: list[float]) -> None:
    """A look that comes too early proves nothing; after two, the account may be sent again, which ends it."""
    form, browser, far_end = start(listed(), close, listed(), listed(), listed(), STORED, listed(RECORD))
    browser.submit()
    looks = []
    for at in (1.0, 15.0, 30.0):
        clock[0] = at
        looks.append(browser.press("look"))
    sent = browser.press("again")
    methods = "".join(each.method[0] for each in far_end.ledger)

    assert ["No new account yet."] * 2 == [title(look) for look in looks[:2]]
    assert "Look again in 9 s." in json.dumps(looks[0]["banner"])
    assert "No new account after 2 looks. Send it again." == title(looks[2])
    assert [["Look at the accounts"]] * 2 + [["Send again", "Edit", "Look at the accounts"]] == [
        labels(look) for look in looks
    ]
    assert ("done", "1", "GPGGGPG") == (sent["phase"], form.result.id, methods)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (listed(), listed(RECORD | {"accountNumber": "****3489"})),  # masked: it may be another one
        (reply(500), listed(RECORD)),  # it may have been there before
        (listed(), listed(*({"id": str(i), "accountNumber": "1"} for i in range(10)))),  # the first page of more
    ],
)
def test_what_cannot_be_told_is_left_to_a_person(
    start: Callable[..., Started], before: Behaviour, after: Behaviour
) -> None:
    """The form says that it cannot tell, shows the accounts, and lets a person decide."""
    _, browser, _ = start(before, close, after, retries=ONCE)
    browser.submit()
    looked = browser.press("look")

    assert "The accounts do not show whether it was stored." == title(looked)
    assert ["Look at the accounts", "Send again", "It is there: add another account"] == labels(looked)
    assert "account" in looked["panel"]


def test_a_look_that_fails_leaves_the_outcome_unknown(start: Callable[..., Started]) -> None:
    """A list that cannot be read proves nothing, and sending again stays out of reach."""
    _, browser, _ = start(listed(), close, reply(500), retries=ONCE)
    browser.submit()
    looked = browser.press("look")

    assert ("unknown", ["Look at the accounts"]) == (looked["phase"], labels(looked))
    assert "The outcome of the previous request is still unknown." == looked["banner"]["lines"][-1][0]


def test_an_unreachable_service_is_not_asked_twice(connected: Callable[..., Client]) -> None:
    """If the accounts cannot be listed since nothing leaves this machine, the account is not tried, either."""
    form = BankDetailsForm(connected("http://127.0.0.1:9", retries=ONCE), "user-123")
    form.fill(BANK_DETAILS)
    shown = Browser(form).submit()

    assert ("review", "The service cannot be reached. Nothing was sent.") == (shown["phase"], title(shown))
    assert isinstance(form.error, NotSent)


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (NotSent("POST /x could not be sent (refused)."), "error", "The service cannot be reached. Nothing was sent."),
        (RateLimited("Too many requests.", retry_after=60), "warning", "Too many requests. Nothing was changed."),
        (WrongKey("The key (401)."), "error", "The service does not accept the key. Nothing was changed."),
        (Refused("It refused (400). It says: no."), "error", "The service refused the request. Nothing was changed."),
        (KeyboardInterrupt(), "error", "Interrupted. Nothing was sent."),
        (UnknownOutcome("PUT /x got no response."), "warning", "It is not known whether this was done."),
    ],
)
def test_failures_speak_to_an_analyst_first(error: BaseException, kind: str, said: str) -> None:
    """The title says what happened; methods, routes and statuses are details, and nothing is said twice."""
    view = failure_banner(error).to_view()
    lines = [text for text, _ in view.get("lines", [])]

    assert (kind, said) == (view["kind"], view["title"])
    assert [] == [text for text in lines if "Nothing was" in text or text == view.get("details")]
    assert isinstance(error, RateLimited) == ("Wait 60 s, then try again." in lines)
    assert str(error).partition("\n")[0] == view.get("details", "")


def test_one_action_is_next(shared: Client) -> None:
    """By the state, one button is primary; chips, and the list of steps, say where the payer stands."""
    _, browser = opened(shared, client_user_id="flow-next")
    steps = [browser.submit(), browser.press("sign")]
    shared.sandbox.complete_kyc("flow-next", status="pending")
    steps.append(browser.press("refresh"))
    shared.sandbox.complete_kyc("flow-next")
    steps.append(browser.press("refresh"))
    primary = [[each[0] for each in step["buttons"] if "primary" in each[3]] for step in steps]
    waits = [step["waits"] for step in steps]

    assert [["Copy link: agreement"], ["Copy link: identity check"], ["Ask again"], []] == primary
    assert "Waits for the payer: identity check, agreement" == waits[0]
    assert ["Waits for the payer: identity check", "Waits for the service: identity check", ""] == waits[1:]
    chips = [re.findall('<span class="pk-chip[^>]*>(.*?)</span>', step["panel"])[0] for step in steps]
    assert ["!&nbsp;not started", "!&nbsp;not started", "i&nbsp;pending", "✓&nbsp;approved"] == chips
    assert "yes" in steps[-1]["panel"]


def test_a_button_that_was_not_offered_does_nothing(shared: Client) -> None:
    """A page can start only what the form offers: no other word runs an action."""
    form, browser = opened(shared, client_user_id="flow-offered")
    shown = [browser.press(action) for action in ("send", "again", "sign", "refresh", "new", "stop", "nonsense")]

    assert {"open"} == {each["phase"] for each in shown}
    assert "<PayerForm: 14 of 18 fields>" == repr(form)


def test_an_observer_may_read_the_form(shared: Client) -> None:
    """Whoever is told that a form is done can read it: nothing waits for itself."""
    form = PayerForm(shared)
    seen: list[object] = []
    form.observe(lambda _: seen.append((form.result, form.done, repr(form))), "done")
    form.fill(PAYER, client_user_id="flow-observed")
    Browser(form).submit()

    assert [(form.result, True, "<PayerForm: done>")] == seen


def test_a_failing_observer_is_shown(shared: Client) -> None:
    """Behind a button, nobody would see the exception of an observer: the form shows it, and stays done."""
    form = PayerForm(shared)

    def fail(_change: object) -> None:
        raise ZeroDivisionError

    form.observe(fail, "done")
    form.fill(PAYER, client_user_id="flow-fails")
    browser = Browser(form)
    browser.submit()

    assert ("done", "Unexpected error.") == (browser.messages[-1]["content"]["phase"], form._view()["banner"]["title"])
    assert isinstance(form.error, ZeroDivisionError)


def test_what_was_sent_is_in_no_attribute(start: Callable[..., Started]) -> None:
    """While an outcome is unknown, what a debugger lists of the form holds no account number."""
    form, browser, _ = start(listed(), close)
    form.fill(account_number="987654321098")  # not the one that the form has as an example
    browser.submit()
    search = form._search
    shown = [repr(each) for thing in (form, search) for each in (thing, *vars(thing).values())]

    assert [] == [text for text in shown if "987654321098" in text]
    assert form.error is not None
    assert form.error.__traceback__ is None


@pytest.mark.parametrize("kind", [PayerForm, PaymentForm])
def test_a_form_that_cannot_ask_shows_what_it_knew(start: Callable[..., Started], kind: type[Form]) -> None:
    """What fails while a form is drawn is told beside its response, and raises nothing."""
    answer = {"kycStatus": "pending"} if kind is PayerForm else {"transactions": [], "requestId": "01"}
    form, browser, _ = start(reply(200, json.dumps(answer)), reply(500), kind=kind, retries=ONCE)
    form.submit(anyway=True)
    before = form.result
    shown = browser.post("start")

    assert ("done", "The service failed. Nothing was changed.") == (shown["phase"], title(shown))
    assert (before, True) == (form.result, form.done)
    assert shown["panel"]


def test_a_step_that_is_opened_asks_once(shared: Client) -> None:
    """Drawing a walkthrough asks only for the step that is open, once it is done; opening another one asks for that."""
    walk = Walkthrough(shared)
    asked_early = asked_by(walk.payer)
    walk._on_start()
    assert [] == asked_early
    walk.payer.fill(PAYER, client_user_id="flow-steps")
    walk.payer.submit()
    walk.bank_details.fill(BANK_DETAILS)
    walk.bank_details.submit()
    asked = [asked_by(form) for form in (walk.payer, walk.bank_details, walk.payment)]
    walk._on_start()
    drawn = [[*methods] for methods in asked]
    for step in ("bank_details", "payment"):
        walk.step = step

    assert [["GET"], [], []] == drawn
    assert [["GET"], ["GET"], []] == asked


# Under attack: defects, odd messages, and values that change while an outcome is unknown.


class DefectError(Exception):
    """A mistake in a form."""


def breaking(kind: type[Form], method: str, error: BaseException, *, does: bool = True) -> type[Any]:
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
    start: Callable[..., Started], method: str, error: BaseException
) -> None:
    """Whatever fails once the account was sent, the form never looks as if it could be sent again at once."""
    kind = breaking(BankDetailsForm, method, error, does=method == "_call")
    _, browser, _ = start(listed(), STORED, listed(), kind=kind)
    browser.submit()
    shown = browser.messages[-1]["content"]

    assert ("unknown", ["look"]) == (shown["phase"], [button[1] for button in shown["buttons"]])
    assert "It is not known whether the account was stored." in json.dumps(shown["banner"])
    assert "a defect" not in json.dumps(shown["banner"])  # a message may quote a value


@pytest.mark.parametrize("kind", [PayerForm, PaymentForm])
def test_a_response_that_cannot_be_shown_counts_as_sent(shared: Client, kind: type[Form]) -> None:
    """A defect in the picture of a response leaves a form that is done, says so, and can be used on."""
    form = breaking(kind, "_state_of", DefectError(), does=False)(shared)
    form.fill({**PAYER, "clientUserId": "adversary-defect"} if kind is PayerForm else ORDER)
    browser = Browser(form)
    browser.submit()
    shown = browser.messages[-1]["content"]

    assert ("done", "Unexpected error.") == (shown["phase"], title(shown))
    assert "It was sent: form.result is the response." in json.dumps(shown["banner"])
    assert (True, True) == (form.done, form.result is not None)
    assert "open" == browser.press("edit")["phase"]


def test_a_field_that_is_left_by_a_click_into_another_one_shows_its_note(shared: Client) -> None:
    """A search takes the values of a message along: what follows from them is shown, not only the options."""
    form = BankDetailsForm(shared, "user-123")
    browser = Browser(form)
    browser.post("search", {"currency": "EUR", "city": None}, name="country", text="", search_id=1)
    view, found = (message["content"] for message in browser.messages[-2:])

    assert ("page", "local", True) == (view["page"], view["values"]["rails"], "city" in view["notes"])
    assert "action_count" not in view
    assert found["options"]


def test_what_was_sent_stays_what_was_sent(start: Callable[..., Started], clock: list[float]) -> None:
    """Values that a cell changes while an outcome is unknown are not shown as sent, and are looked at first."""
    form, browser, far_end = start(listed(), close, listed(), listed(), listed())
    sent = browser.submit()["panel"]
    form.fill(account_number="987654321098")
    unknown = browser.messages[-1]["content"]
    for clock[0] in (1e9, 2e9):
        browser.press("look")
    shown = browser.press("again")

    assert 1 == len([each for each in far_end.ledger if each.method == "POST"])

    assert ("unknown", sent) == (unknown["phase"], unknown["panel"])
    assert "review" == shown["phase"]
    assert "••••1098" in shown["panel"]


def test_values_that_change_after_an_unknown_outcome_are_shown(start: Callable[..., Started]) -> None:
    """A payer may be sent again, but another one only by a person who sees the fields."""
    form, browser, _ = start(close, kind=PayerForm)
    browser.submit()
    form.fill(client_user_id="another")
    shown = browser.messages[-1]["content"]

    assert ("open", "The outcome of the previous request is still unknown.") == (shown["phase"], title(shown))


def test_another_payer_does_not_hide_an_unknown_outcome(start: Callable[..., Started]) -> None:
    """The id of the payer changes while an account is being sent: the form is cleared, and says what is not known."""
    gate, told = Gate(close), "It is not known whether the account of user-123 was stored."
    form, browser, _ = start(listed(), gate, listed())
    start_sending(browser, gate, opens=0.05)
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
