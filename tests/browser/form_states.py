"""The states that a person meets a form in: how each comes about, and what shows that it has.

Each is drawn by a cell against a sandbox or a service that fails as told, and reached as a person reaches it, by keys
and clicks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Locator, expect

from browser.jupyter_pages import OUTPUTS, Jupyter, NotebookPage, Theme, write_notebook

THEMES: tuple[Theme, ...] = ("light", "dark", "contrast")
WIDTHS = (1280, 700)
HEIGHT = 2200
"""The widths at which a state is looked at, and a height that shows all of it."""

LOOK = Path(__file__).with_suffix(".js").read_text("utf-8")

TESTS = str(Path(__file__).parent.parent)
START = f"""import json, sys, threading
sys.path.append({TESTS!r})
from far_end import FarEnd, close, reply
from payerkit import *
from payerkit.client import Client, Retries
from published import *
if "over" in globals():
    over.set()
over = threading.Event()
def hang(*_, over=over):  # until the next form is drawn
    over.wait(60)
def accounts(*numbers):
    records = [dict(id=number, bankName="Typed Bank", currency="usd", accountNumber=number) for number in numbers]
    return reply(200, json.dumps(dict(paymentDetails=records)))
def by_turns(*behaviours):
    turns = iter(behaviours)
    return lambda *request: next(turns)(*request)
def service(write, read=accounts(), timeout=60):
    def behave(connection, request):
        return (write if request.method == "POST" else read)(connection, request)
    return Client(FarEnd([behave]).__enter__().url, "key", timeout=timeout, retries=Retries(attempts=1))
"""
SANDBOX = f"{START}client = sandbox(seed=1, decide_after=0, fee_percent=0)\n"

PAYER = f"{SANDBOX}form = PayerForm(client)\n"
BANK = f"{SANDBOX}create_payer(client, PAYER)\nform = BankDetailsForm(client, 'user-123')\n"
PAYMENT = f"{SANDBOX}form = PaymentForm(client)\n"
WALK = f"{SANDBOX}form = Walkthrough(client)\n"

FORM = ".payerkit"
"""The root of each widget."""


@dataclass(frozen=True)
class State:
    """A state of a form.

    source: of the cell that draws the form. reach: what a person does then; without it, Python did everything.
    shows: a text that only this state shows.
    """

    name: str
    source: str
    shows: str
    reach: Callable[[NotebookPage], None] | None = None

    def show(self, page: NotebookPage, width: int = 1280) -> None:
        """Draw the form in the first cell of a page, and bring it into this state."""
        page.page.set_viewport_size({"width": width, "height": HEIGHT})
        page.rewrite(f"{self.source}form", "1 + 1")
        page.run_cell(0)
        expect(page.page.locator(f"{OUTPUTS} {FORM}").first).to_be_visible()
        page.wait_idle()
        if self.reach:
            self.reach(page)
        expect(page.page.locator(OUTPUTS).get_by_text(self.shows).filter(visible=True).first).to_be_visible()
        if self.reach:
            assert page.page.evaluate("document.activeElement !== document.body"), "the focus is lost"


def find_problems(page: NotebookPage, pictures: Path | None = None) -> dict[str, list[str]]:
    """Return what is wrong with what a page shows, each with the themes in which it is; the present theme is the first.

    Pictures in light and dark go to files that begin with the path `pictures`.
    """
    found: dict[str, list[str]] = {}
    for theme in sorted(THEMES, key=lambda theme: theme != page.shown_theme):
        page.theme(theme)
        for problem in (*page.page.evaluate(LOOK, OUTPUTS), *page.violations()):
            found.setdefault(problem, []).append(theme)
        if pictures and theme != "contrast":
            page.page.screenshot(path=f"{pictures}-{theme}.png")
    return found


@contextmanager
def reopened(jupyter: Jupyter, browser: Browser, source: str) -> Iterator[NotebookPage]:
    """Draw a form, save the notebook with the state of its widgets, and open it again with a kernel that knows none."""
    write_notebook(jupyter.folder / "reopened.ipynb", f"{source}form")
    with jupyter.open(browser, "reopened.ipynb", save_state=True) as page:
        page.run_cell(0, expect=4)
        page.save()
    with jupyter.open(browser, "reopened.ipynb", save_state=True) as page:
        expect(page.page.locator(OUTPUTS).get_by_text("Run the cell again.")).to_be_visible()
        yield page


def form(page: NotebookPage) -> Locator:
    """Return the widget of the first cell."""
    return page.page.locator(f"{OUTPUTS} {FORM}").first


def press(page: NotebookPage, name: str) -> None:
    """Press the button with this name, as a person does."""
    form(page).get_by_role("button", name=name, exact=True).filter(visible=True).first.click()


def field(page: NotebookPage, label: str) -> Locator:
    """Return the visible field with this label."""
    labelled = form(page).get_by_label(label, exact=True)
    return labelled.filter(visible=True).first


def enter(page: NotebookPage, label: str, text: str) -> None:
    """Type a text into a field, key by key, in place of what it holds, and leave it."""
    write(page, label, text)
    page.page.keyboard.press("Tab")


def write(page: NotebookPage, label: str, text: str) -> None:
    """Type a text into a field, and stay in it."""
    control = field(page, label)
    control.click()
    control.press("ControlOrMeta+a")
    control.press_sequentially(text)


# What a person does to reach a state.


def _submit_empty(page: NotebookPage) -> None:
    enter(page, "E-mail address", "john.doe at example")
    press(page, "Onboard payer")


def _submit_with_warning(page: NotebookPage) -> None:
    enter(page, "Postcode", "1220")
    press(page, "Onboard payer")


def _open_list(page: NotebookPage) -> None:
    write(page, "Nationality", "united")
    expect(page.page.get_by_role("listbox").get_by_role("option").first).to_contain_text("United")
    page.page.keyboard.press("ArrowDown")
    page.wait_idle()
    expect(page.page.locator('[role="option"][aria-selected="true"]')).to_be_visible()


def _find_nothing(page: NotebookPage) -> None:
    write(page, "Nationality", "Atlantis")


def _type_readable(page: NotebookPage) -> None:
    enter(page, "Country", "US")
    enter(page, "Phone number", "(212) 555-1234")
    enter(page, "Date of birth", "12 Dec 1985")


def _review(page: NotebookPage) -> None:
    press(page, "Add bank details")


def _send_reviewed(page: NotebookPage) -> None:
    press(page, "Add bank details")
    expect(form(page).get_by_text("Check your answers").first).to_be_visible()
    press(page, "Send")


def _look(page: NotebookPage) -> None:
    _send_reviewed(page)
    press(page, "Look at the accounts")


def _onboard(page: NotebookPage) -> None:
    press(page, "Onboard payer")


def _sign(page: NotebookPage) -> None:
    press(page, "Onboard payer")
    press(page, "The payer has signed")


def _pay(page: NotebookPage) -> None:
    press(page, "Initiate payment")
    expect(form(page).get_by_text("Check your answers").first).to_be_visible()
    press(page, "Send")


def _choose_currency(code: str) -> Callable[[NotebookPage], None]:
    def choose(page: NotebookPage) -> None:
        enter(page, "Currency", code)

    return choose


def _type_number(page: NotebookPage) -> None:
    enter(page, "Currency", "EUR")
    page.wait_idle()  # what the kernel says of the currency is drawn, and nothing moves under the number any more
    write(page, "IBAN", "DE8937040044053201300")


def _hide_number(page: NotebookPage) -> None:
    _type_number(page)
    press(page, "Hide IBAN")


def _show_all(page: NotebookPage) -> None:
    form(page).get_by_role("button", name="More fields").click()


def _pay_with_real_money(page: NotebookPage) -> None:
    enter(page, "Payment currency", "USDC-mainnet")


def _tick(page: NotebookPage) -> None:
    _go_on(page)
    field(page, "The payer is also the account holder").check()


def _mistype_number(page: NotebookPage) -> None:
    enter(page, "Currency", "EUR")
    enter(page, "IBAN", "DE89370400440532013001")


def _become_company(page: NotebookPage) -> None:
    field(page, "Payer type").select_option("business")
    press(page, "Onboard payer")


def _choose_account(page: NotebookPage) -> None:
    field(page, "Receiver").select_option("account")


def _look_up(page: NotebookPage) -> None:
    _choose_account(page)
    write(page, "Payer", "user-123")
    press(page, "Look up")


def _review_payout(page: NotebookPage) -> None:
    _look_up(page)
    expect(form(page).get_by_text("can be paid").first).to_be_visible()
    field(page, "Bank account").select_option(index=1)
    enter(page, "Amount", "10")
    enter(page, "Payment currency", "fUSDC-sepolia")
    press(page, "Initiate payment")


def _look_up_and_pay(page: NotebookPage) -> None:
    _review_payout(page)
    press(page, "Send")


def _check(page: NotebookPage) -> None:
    _look_up_and_pay(page)
    press(page, "Check again")


def _pay_from_account(page: NotebookPage) -> None:
    press(page, "Next step: Payment")


def _go_on(page: NotebookPage) -> None:
    press(page, "Next step: Bank details")


def _end_kernel(page: NotebookPage) -> None:
    enter(page, "City", "Albany")
    page.page.evaluate("probe.kernel().restart()")
    page.wait_idle()


FILLED_PAYER = f"{PAYER}form.fill(TYPED_PAYER)\n"
FILLED_BANK = f"{BANK}form.fill(TYPED_ACCOUNT)\n"
ONBOARDED = f"{WALK}form.payer.fill(TYPED_PAYER)\nform.payer.submit()\n"


def bank_at(service: str) -> str:
    """Return a filled in form for bank details of a service."""
    return f"{START}form = BankDetailsForm({service}, 'user-123')\nform.fill(TYPED_ACCOUNT)\n"


def payment_of(sample: str) -> str:
    """Return a filled in form for the order of a sample, whose payment the service then returns."""
    return (
        f"{START}sample = samples[{sample!r}]\n"
        "form = PaymentForm(service(reply(200, json.dumps(sample.to_dict()))))\nform.fill(sample.order)\n"
    )


PAYOUT = (
    f"{START}from payout_service import *\nservice = PayoutService(CHASE, EXAMPLE_BANK, PENDING).__enter__()\n"
    "form = PaymentForm(Client(service.url, 'key', retries=Retries(attempts=1)))\n"
)
STORED = f"{ONBOARDED}form.bank_details.fill(TYPED_ACCOUNT)\nform.bank_details.submit()\nform.step = 'bank_details'\n"

REFUSAL = {"message": "Validation failed", "errors": [{"field": "accountNumber", "message": "The account is closed."}]}

STATES = [
    State("empty", PAYER, "Client user id"),
    State("empty-bank-details", BANK, "Choose a currency to see which fields it needs."),
    State("empty-payment", PAYMENT, "Invoice currency"),
    State("errors", PAYER, "14 fields need attention.", _submit_empty),
    State("warnings", FILLED_PAYER, "Send anyway", _submit_with_warning),
    State("list-open", PAYER, "United Kingdom", _open_list),
    State("nothing-found", PAYER, "Nothing found", _find_nothing),
    State("readings", PAYER, "Use +12125551234", _type_readable),
    State("company", PAYER, "Enter the registration or tax number.", _become_company),
    State("number-typed", BANK, "Hide", _type_number),
    State("number-hidden", BANK, "Show", _hide_number),
    State("number-mistyped", BANK, "The check digits do not match", _mistype_number),
    State("more-fields", BANK, "Fewer fields", _show_all),
    State("unknown-currency", BANK, "is not published", _choose_currency("XAF")),
    State("one-rail", BANK, "INR over swift rails usually needs", _choose_currency("INR")),
    State("empty-payout", PAYMENT, "Look up", _choose_account),
    State("looked-up", PAYOUT, "Not approved: ••••2222", _look_up),
    State("no-account", f"{PAYOUT}service.accounts = (PENDING,)\n", "has no approved account", _look_up),
    State("payout-not-paid", PAYOUT, "Not paid yet", _check),
    State("payout-paid", f"{PAYOUT}service.is_paid = True\n", "Paid. Do not sign", _check),
    State("payout-unknown", f"{PAYOUT}service.instead['create'] = close\n", "Create a new request", _look_up_and_pay),
    State("payout-review", PAYOUT, "••••3489 at Chase", _review_payout),
    State("real-money", PAYMENT, "moves real money", _pay_with_real_money),
    State("review", FILLED_BANK, "Check your answers", _review),
    State("sending", bank_at("service(hang)"), "Sending …", _send_reviewed),
    State("unknown", bank_at("service(close)"), "Look at the accounts", _send_reviewed),
    State("looked-at", bank_at("service(close)"), "No new account", _look),
    State("found", bank_at("service(close, by_turns(accounts(), accounts('98127364550')))"), "It is stored", _look),
    State("refused", bank_at(f"service(reply(400, json.dumps({REFUSAL})))"), "The account is closed.", _send_reviewed),
    State("wrong-key", bank_at("service(reply(401))"), "does not accept the key", _send_reviewed),
    State("unreachable", bank_at("Client('http://127.0.0.1:9', 'key')"), "cannot be reached", _send_reviewed),
    State(
        "rate-limited",
        bank_at("service(reply(429, headers={'Retry-After': '90'}))"),
        "You can try again in",
        _send_reviewed,
    ),
    State("done-payer", FILLED_PAYER, "Open the agreement", _onboard),
    State("signed", FILLED_PAYER, "The agreement is recorded.", _sign),
    State("done-account", FILLED_BANK, "Account added.", _send_reviewed),
    State("payment-ok", payment_of("honest"), "Everything that can be checked matches.", _pay),
    State("payment-look", payment_of("declared_fee"), "Decide on this point before anyone signs.", _pay),
    State("payment-stop", payment_of("other_payee"), "Do not sign.", _pay),
    State("walkthrough", WALK, "You are here"),
    State("walkthrough-onboarded", ONBOARDED, "Next step: Bank details"),
    State("walkthrough-account", ONBOARDED, "The payer is also the account holder", _go_on),
    State("holder-ticked", ONBOARDED, "8 fields filled in.", _tick),
    State("walkthrough-payout", STORED, "1 account can be paid.", _pay_from_account),
    State("kernel-gone", PAYER, "Run the cell again.", _end_kernel),
]
