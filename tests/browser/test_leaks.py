"""Nothing typed into a form, and nothing of the rows of a report, is in the notebook's file, a checkpoint or elsewhere.

Each journey is saved with the state of widgets at every stop: while a number is being typed, at the summary, after
sending, after the response was shown. The files of the notebook and those of the server are searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from browser.form_states import BANK, LABELS, PAYER, PAYOUT, START, enter, field, fill_payer, form, press, write
from browser.jupyter_pages import Jupyter, NotebookPage, write_notebook
from browser.traces import find_text
from payerkit import BankDetails
from published import TYPED_ACCOUNT, TYPED_PAYER

IBAN = "DE75512108001245126199"
PAYER_ID = "payer-424242"
PAYEE = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
_FIELDS = BankDetails.request_schema.fields
HOLDER = {
    _FIELDS[name].title: TYPED_ACCOUNT[name]
    for name in ("bank_name", "account_name", "date_of_birth", "address_line1", "city", "postal_code")
}
PERSONAL = [value for name, value in TYPED_PAYER.items() if len(value) > 4 and name != "beneficiary_type"]

ALONE = "import ipywidgets\nipywidgets.Widget.close_all()\n"
"""Ends the forms of earlier tests, whose fields have examples: they look like values."""

Journey = Callable[[NotebookPage], Iterator[str]]


def _person(page: NotebookPage) -> Iterator[str]:
    fill_payer(page)
    yield "typed"
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    press(page, "Onboard payer")
    form(page).locator("button", has_text="Copy link").first.click()
    yield "sent, and a link copied"
    press(page, "Edit and send again")
    yield "edited again"


def _account(page: NotebookPage) -> Iterator[str]:
    enter(page, "Currency", "EUR")
    write(page, "IBAN", IBAN)
    yield "while the number is typed, visibly"
    press(page, "Hide IBAN")
    page.page.keyboard.press("Tab")
    field(page, "IBAN").click()
    expect(field(page, "IBAN")).to_have_value("DE75 5121 0800 1245 1261 99")
    yield "while the number is corrected"
    field(page, "Holder type").select_option("individual")
    for label, text in HOLDER.items():
        enter(page, label, text)
    enter(page, "Country", "DE")
    press(page, "Add bank details")
    expect(form(page).get_by_text("Check your answers").first).to_be_visible()
    yield "at the summary"
    press(page, "Send")
    expect(form(page).get_by_text("Account added.")).to_be_visible()
    yield "sent"
    press(page, "Copy to a new account")
    yield "copied to a new account"


def _payout(page: NotebookPage) -> Iterator[str]:
    field(page, "Receiver").select_option("account")
    write(page, "Payer", PAYER_ID)
    press(page, "Look up")
    expect(page.page.get_by_text("2 accounts can be paid.")).to_be_visible()
    field(page, "Bank account").select_option(index=1)
    yield "looked up"
    press(page, "More fields (2)")
    enter(page, "Paying wallet", PAYEE)
    enter(page, "Reference", "invoice-424242")
    enter(page, "Amount", "424242.42")
    enter(page, "Payment currency", "fUSDC-sepolia")
    press(page, "Initiate payment")
    expect(form(page).get_by_text("Check your answers").first).to_be_visible()
    yield "at the summary"
    press(page, "Send")
    expect(page.page.get_by_text("Payment initiated.")).to_be_visible()
    yield "sent"
    press(page, "Check again")
    expect(page.page.get_by_text("Not paid yet, as far as the service knows.")).to_be_visible()
    yield "checked"


def _rows(page: NotebookPage) -> Iterator[str]:
    expect(page.page.get_by_role("button", name="refused 16")).to_be_visible()
    yield "shown"
    page.page.get_by_role("button", name="refused 16").click()
    page.control("Search").fill("user-01")
    page.wait_idle()
    yield "searched"


REPORT = f"{START}import tempfile\nfrom example_reports import *\nform = example_report(tempfile.mkdtemp()).browse()\n"

JOURNEYS: dict[str, tuple[str, Journey, list[str]]] = {
    "person": (PAYER, _person, PERSONAL),
    "account": (
        BANK,
        _account,
        [IBAN, "DE75 5121", "1245126199", *(text for text in HOLDER.values() if "Bank" not in text)],
    ),
    "payout": (PAYOUT, _payout, [PAYER_ID, PAYEE, "invoice-424242", "424242.42", "253009233489", "••••3489"]),
    "rows": (REPORT, _rows, ["user-011", "user-010", "account-1", "payer-1"]),
}
"""The cell of each journey, what a person does, and what is nowhere to be found."""


@pytest.mark.browser_all
@pytest.mark.parametrize("journey", JOURNEYS)
def test_nothing_entered_is_saved(lab: Jupyter, opened_notebook: NotebookPage, folder: Path, journey: str) -> None:
    """At no stop of a journey is a value in a file; the state of widgets is saved, too."""
    page = opened_notebook
    source, steps, values = JOURNEYS[journey]
    page.page.set_viewport_size({"width": 1280, "height": 1000})
    page.rewrite(f"{ALONE}{source}form", "1 + 1")
    page.run_cell(0, expect=1)
    found = {}
    for stop in steps(page):
        page.wait_idle()
        assert page.save()["metadata"]["widgets"]
        found[stop] = [value for value in values if _files(folder, value) or find_text(lab.private, value)]

    assert {stop: [] for stop in found} == found
    assert found


@pytest.mark.browser_all
def test_another_page_sees_no_number(lab: Jupyter, browser: Browser, folder: Path) -> None:
    """A number that is shown in the page in which it was typed is masked in the frames of any other one."""
    write_notebook(folder / "leaks-pages.ipynb", f"{BANK}form")
    with lab.open(browser, "leaks-pages.ipynb", keep=True) as page:
        page.run_cell(0, expect=4)
        mark = page.frames.mark()
        enter(page, "Currency", "EUR")
        enter(page, "IBAN", IBAN)
        page.wait_idle()
        page.save()
        with lab.open(browser, "leaks-pages.ipynb", keep=True) as second:
            expect(second.control("IBAN")).to_have_attribute("placeholder", "••••6199")
            seen = second.frames.leaks(IBAN) + second.frames.leaks("5121 0800")
        sent = page.frames.leaks(IBAN, mark)
    lab._end_kernel("leaks-pages.ipynb")

    assert ([], {"sent comm_msg"}) == (seen, set(sent))


@pytest.mark.browser_all
@pytest.mark.parametrize("save_state", [True, False])
def test_nothing_typed_to_a_busy_kernel_is_saved(
    lab: Jupyter, browser: Browser, folder: Path, save_state: bool
) -> None:
    """Typed while the kernel is busy, saved before and after sending: no file has it, no other page a secret."""
    write_notebook(folder / "leaks-busy.ipynb", f"{PAYER}form", "1 + 1")
    with lab.open(browser, "leaks-busy.ipynb", save_state=save_state, keep=True) as page:
        page.run_cell(0, expect=15)
        page.execute("import time; time.sleep(3)")
        for name in ("ssn", "last_name"):
            enter(page, LABELS[name], TYPED_PAYER[name])
        page.save()
        busy = typed_values(folder, lab.private)
        page.wait_idle()
        fill_payer(page)
        page.save()
        typed = typed_values(folder, lab.private)
        with lab.open(browser, "leaks-busy.ipynb", save_state=save_state, keep=True) as second:
            second.wait_idle()
            seen = second.frames.leaks(TYPED_PAYER["ssn"])
            expect(second.control("City")).to_have_value(TYPED_PAYER["city"])
        page.control("Onboard payer").click()
        expect(page.page.get_by_text("not started").first).to_be_visible()
        page.save()
        sent = typed_values(folder, lab.private)
    lab._end_kernel("leaks-busy.ipynb")

    assert ({}, {}, {}, []) == (busy, typed, sent, seen)


def typed_values(*folders: Path) -> dict[str, list[str]]:
    """Return the files that hold something typed."""
    found = {value: [file for folder in folders for file in find_text(folder, value)] for value in PERSONAL}
    return {value: files for value, files in found.items() if files}


def _files(folder: Path, value: str) -> list[str]:
    """Return the files of the notebook that is rewritten, checkpoints included, that hold a value."""
    return [file for file in find_text(folder, value) if "rewritten" in file]
