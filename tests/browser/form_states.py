"""The states that a person meets a form in: how each comes about, and what shows that
it has.

Each is drawn by a cell against a sandbox or a service that fails as told, and reached
as a person reaches it, by keys and clicks.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import payerkit
from browser.jupyter_pages import OUTPUTS, THEMES, NotebookPage, Theme
from cases import DATA
from payerkit.models.fields import fields_of
from published import TYPED_PAYER

WIDTHS = (1280, 700)
HEIGHT = 2200
"""The widths at which a state is looked at, and a height that shows all of it."""

LOOK = Path(__file__).with_suffix(".js").read_text("utf-8")

TESTS = str(Path(__file__).parent.parent)
START = f"""import json, sys, threading, time
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
    records = [
        dict(id=number, bankName="Typed Bank", currency="usd", accountNumber=number)
        for number in numbers
    ]
    return reply(200, json.dumps(dict(paymentDetails=records)))
def by_turns(*behaviours):
    turns = iter(behaviours)
    return lambda *request: next(turns)(*request)
def slow(behave):
    return lambda *request: time.sleep(3) or behave(*request)
detail = {{"id": "1", "status": "approved"}}
stored = reply(201, json.dumps({{"payment_detail": detail}}))
def service(write, read=accounts(), timeout=60):
    def behave(connection, request):
        return (read if request.method == "GET" else write)(connection, request)
    global far_end
    far_end = FarEnd([behave]).__enter__()
    return Client(far_end.url, "key", timeout=timeout, retries=Retries(attempts=1))
"""
SANDBOX = f"{START}client = sandbox(seed=1, decide_after=0, fee_percent=0)\n"

PAYER = f"{SANDBOX}form = PayerForm(client)\n"
BANK = (
    f"{SANDBOX}create_payer(client, PAYER)\nform = BankDetailsForm(client,"
    " 'user-123')\n"
)
PAYMENT = f"{SANDBOX}form = PaymentForm(client)\n"
WALK = f"{SANDBOX}form = Walkthrough(client)\n"

FORM = ".payerkit"
"""The root of each widget."""


@dataclass(frozen=True)
class State:
    """A state of a form.

    source: the name of the source that draws the form. steps: what a person does then,
    each a verb of `DO` and what it takes; without any, Python did everything. shows: a
    text that only this state shows.
    """

    name: str
    source: str
    shows: str
    steps: Sequence[Sequence[str]] = ()

    def show(self, page: NotebookPage, width: int = 1280) -> None:
        """Draw the form in the first cell of a page, and bring it into this state."""
        page.page.set_viewport_size({"width": width, "height": HEIGHT})
        page.draw(f"{SOURCES[self.source]}form")
        expect(form(page)).to_be_visible()
        page.wait_idle()
        for verb, *given in self.steps:
            DO[verb](page, *given)
        expect(
            page.page.locator(OUTPUTS)
            .get_by_text(self.shows)
            .filter(visible=True)
            .first
        ).to_be_visible()
        if self.steps:  # the focus is not lost, though it may move a moment later
            page.page.wait_for_function("document.activeElement !== document.body")


def find_problems(
    page: NotebookPage, pictures: Path | None = None
) -> dict[str, list[Theme]]:
    """Return what is wrong with what a page shows, each with the themes in which it is;
    the present theme is the first.

    Themes differ in colours alone, which are measured in each; axe-core looks at the
    first. Pictures in light and dark go to files that begin with the path `pictures`.
    """
    found = {problem: [page.shown_theme] for problem in page.violations()}
    for theme in sorted(THEMES, key=lambda theme: theme != page.shown_theme):
        page.theme(theme)
        for problem in page.page.evaluate(LOOK, f"{OUTPUTS} {FORM}"):
            found.setdefault(problem, []).append(theme)
        if pictures and theme != "contrast":
            page.page.screenshot(path=f"{pictures}-{theme}.png")
    return found


def form(page: NotebookPage) -> Locator:
    """Return the form of the first cell that is shown."""
    return page.page.locator(f"{OUTPUTS} {FORM}").filter(visible=True).first


def press(page: NotebookPage, name: str) -> None:
    """Press the button or link with this name, as a person does; if it is in the menu
    of the form, open the menu first.
    """
    named = page.page.get_by_role("button", name=name, exact=True, include_hidden=True)
    button = named.or_(page.page.get_by_role("link", name=name, include_hidden=True))
    menu = form(page).locator(".more:not([open])").filter(has=button)
    shown = form(page).locator(button).filter(visible=True).first
    expect(shown.or_(menu).first).to_be_visible()
    if menu.count():
        menu.locator("summary").click()
    shown.click()


def unfold(page: NotebookPage) -> None:
    """Open the menu of a form that is done."""
    form(page).locator(".more summary").filter(visible=True).first.click()


def field(page: NotebookPage, label: str) -> Locator:
    """Return the visible field with this label."""
    labelled = form(page).get_by_label(label, exact=True)
    return labelled.filter(visible=True).first


def enter(page: NotebookPage, label: str, text: str) -> None:
    """Type a text into a field, key by key, in place of what it holds, and leave it."""
    write(page, label, text)
    page.page.keyboard.press("Tab")


def write(page: NotebookPage, label: str, text: str) -> Locator:
    """Type a text into a field, and stay in it; return the field."""
    control = field(page, label)
    control.click()
    control.press("ControlOrMeta+a")
    control.press_sequentially(text)
    return control


def choose(page: NotebookPage, label: str, value: str) -> None:
    """Choose an option of a select by its value, or by its place."""
    field(page, label).select_option(
        **({"index": int(value)} if value.isdigit() else {"value": value})
    )


def see(page: NotebookPage, text: str) -> None:
    """Wait until a text is visible in the form, and the kernel is idle."""
    expect(
        page.page.locator(OUTPUTS).get_by_text(text).filter(visible=True).first
    ).to_be_visible()
    page.wait_idle()


def end_kernel(page: NotebookPage) -> None:
    """Restart the kernel, as a person does."""
    page.page.evaluate("probe.kernel().restart()")
    page.wait_idle()


DO: dict[str, Callable[..., Any]] = {
    "press": press,
    "unfold": unfold,
    "enter": enter,
    "write": write,
    "choose": choose,
    "see": see,
    "end_kernel": end_kernel,
}
"""What a person can do, by the verbs of `data/form_states.tsv`."""

ONBOARDED = f"{WALK}form.payer.fill(TYPED_PAYER)\nform.payer.submit()\n"
PAYOUT = (
    f"{START}from payout_service import *\nservice = PayoutService(CHASE, EXAMPLE_BANK,"
    " PENDING).__enter__()\nform = PaymentForm(Client(service.url, 'key',"
    " retries=Retries(attempts=1)))\n"
)
REFUSAL = {
    "message": "Validation failed",
    "errors": [
        {
            "field": "accountNumber",
            "message": "The account is closed.",
            "code": "required",  # which does not hide the words
        }
    ],
}
SERVICES = {
    "hangs": "service(hang)",
    "closes": "service(close)",
    "found": "service(close, by_turns(accounts(), accounts('98127364550')))",
    "refuses": f"service(reply(400, json.dumps({REFUSAL})))",
    "wrong key": "service(reply(401))",
    "unreachable": "Client('http://127.0.0.1:9', 'key')",
    "limits": "service(reply(429, headers={'Retry-After': '90'}))",
    "hangs, then found": "service(hang, by_turns(accounts(), accounts('98127364550')))",
    "times out": "service(hang, timeout=2)",
    "stores slowly": "service(slow(stored))",
}
"""Services to which bank details are sent, by what they do."""
SAMPLES = ("honest", "declared_fee", "other_payee", "lookalike_payee")
SOURCES = {
    "payer": PAYER,
    "bank": BANK,
    "payment": PAYMENT,
    "walk": WALK,
    "filled payer": f"{PAYER}form.fill(TYPED_PAYER)\n",
    "filled bank": f"{BANK}form.fill(TYPED_ACCOUNT)\n",
    "onboarded": ONBOARDED,
    "stored": (
        f"{ONBOARDED}form.bank_details.fill(TYPED_ACCOUNT)\nform.bank_details.submit()\nform.selected_index"
        " = 1\n"
    ),
    "filled payment": f"{PAYMENT}form.fill(samples['honest'].order)\n",
    "refused payer": (
        f"{START}form = PayerForm(service(slow(reply(400))))\nform.fill(TYPED_PAYER)\n"
    ),
    "payer sent in vain": (
        f"{START}form = PayerForm(service(hang))\nform.fill(TYPED_PAYER)\n"
    ),
    "payout": PAYOUT,
    "slow look-up": (
        f"{PAYOUT}listed = reply(200, json.dumps({{'paymentDetails': [CHASE,"
        " EXAMPLE_BANK]}))\nservice.instead['accounts'] = slow(listed)\n"
    ),
    "payout to nobody": f"{PAYOUT}service.accounts = (PENDING,)\n",
    "payout, paid": f"{PAYOUT}service.is_paid = True\n",
    "payout, unknown": f"{PAYOUT}service.instead['create'] = close\n",
    **{
        name: (
            f"{START}form = BankDetailsForm({service},"
            " 'user-123')\nform.fill(TYPED_ACCOUNT)\n"
        )
        for name, service in SERVICES.items()
    },
    **{
        name: (
            f"{START}sample = samples[{name!r}]\nform = PaymentForm(service(reply(200,"
            " json.dumps(sample.to_dict()))))\nform.fill(sample.order)\n"
        )
        for name in SAMPLES
    },
}
"""The code that draws a form, or fills it in, by the names of
`data/form_states.tsv`.
"""

_ROWS = csv.reader(
    (DATA / "form_states.tsv").read_text("utf-8").splitlines()[1:],
    "excel-tab",
    quoting=csv.QUOTE_NONE,
)
STATES = [
    State(name, source, shows, json.loads(steps))
    for name, source, shows, steps in _ROWS
]

LABELS = {
    name: field.title
    for name, field in fields_of(payerkit.Payer).items()
    if name in TYPED_PAYER
}
"""The labels of the fields of a payer, by name."""


def form_of(name: str) -> pytest.MarkDecorator:
    """Run a test with the form that a source draws."""
    return pytest.mark.parametrize("notebook", [name], indirect=True)


def fill_payer(page: NotebookPage) -> None:
    """Fill in the form of a payer."""
    field(page, LABELS["beneficiary_type"]).select_option("individual")
    for name, label in LABELS.items():
        if name != "beneficiary_type":
            enter(page, label, TYPED_PAYER[name])
    page.wait_idle()


def focused(page: NotebookPage) -> str:
    """Return the name of the field that has the focus, or the class of another
    element.
    """
    return str(
        page.page.evaluate(
            "document.activeElement.name || document.activeElement.className"
        )
    )
