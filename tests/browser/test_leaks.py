"""Nothing typed into a form, and nothing of the rows of a report, is in the notebook's
file, a checkpoint or elsewhere.

Each journey is saved with the state of widgets at every stop: while a number is being
typed, at the summary, after sending, after the response was shown. The files of the
notebook and those of the server are searched.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from browser.form_states import (
    BANK,
    PAYOUT,
    WALK,
    enter,
    field,
    form,
    form_of,
    press,
    write,
)
from browser.jupyter_pages import Jupyter, NotebookPage
from browser.traces import find_text
from cases import DATA
from payerkit import BankDetails
from payerkit.models.fields import fields_of
from published import TYPED_ACCOUNT

IBAN = "DE75512108001245126199"
PAYER_ID = "payer-424242"
PAYEE = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
_FIELDS = fields_of(BankDetails)
HOLDER = {
    _FIELDS[name].title: TYPED_ACCOUNT[name]
    for name in (
        "bank_name",
        "account_name",
        "date_of_birth",
        "address_line1",
        "city",
        "postal_code",
    )
}
_TYPED = json.loads((DATA / "newcomer.json").read_text("utf-8"))
COMPANY, RUPEES = _TYPED["payer"], _TYPED["account"]
"""What the newcomer types, by the labels of the fields."""
_PUBLIC = {
    "Payer id",
    "Company",
    "Country",
    "Nationality",
    "City",
    "State",
    *RUPEES,
} - {"Account number"}
"""What a response shows."""
PRIVATE = [text for label, text in (COMPANY | RUPEES).items() if label not in _PUBLIC]
PRIVATE += ["+4930901820", "erika.beispiel@example.com", "501004433", "22110"]

ALONE = "import ipywidgets\nipywidgets.Widget.close_all()\n"
"""Ends the forms of earlier tests, whose fields have examples: they look like
values.
"""

Journey = Callable[[NotebookPage], Iterator[str]]


def _newcomer(page: NotebookPage) -> Iterator[str]:
    """Onboard a company and store its account in rupees, as somebody who has read
    nothing: each value is typed once.
    """
    field(page, "Payer type").select_option(label="Business: a company")
    for label, text in COMPANY.items():
        enter(page, label, text)
        page.wait_idle()
    assert {"Use +4930901820"} == set(
        _take_offers(page)
    )  # the country came after it; Tab took the others
    yield "typed"
    press(page, "Register the payer")
    expect(form(page).get_by_text("Agreement page")).to_be_visible()
    yield "sent"
    _sign(page)
    expect(form(page).get_by_text("approved").first).to_be_visible()
    press(page, "Next step: Account")
    for label, text in RUPEES.items():
        enter(page, label, text)
        page.wait_idle()
    press(page, "The payer is also the account holder: fill in")
    yield "the holder filled in"
    press(page, "Store the account")
    press(page, "Send")
    expect(form(page).get_by_text("Account stored.")).to_be_visible()
    yield "stored"
    shown = "form.payer.result, list_payment_details(client, form.payer.client_user_id)"
    page.rewrite(f"{ALONE}{WALK}form", f"display({shown})")
    page.run_cell(1)
    yield "the responses shown in a cell"
    kept = json.dumps(
        [output["data"] for output in page.save()["cells"][1]["outputs"]],
        ensure_ascii=False,
    )
    assert [] == [
        text for text in ("approved", "••••2110", "INR", "swift") if text not in kept
    ]


def _take_offers(page: NotebookPage) -> Iterator[str]:
    """Press each button that offers a reading, until none is left; yield what stands on
    them.
    """
    offers = form(page).get_by_role("button", name="Use ").filter(visible=True)
    while offers.count():
        yield offers.first.inner_text()
        offers.first.click()
        page.wait_idle()


def _sign(page: NotebookPage) -> None:
    """Go to the payer's pages, and do there what they ask."""
    with page.page.context.expect_page() as agreement:
        form(page).get_by_role("row", name="Agreement page").get_by_role("link").click()
    agreement.value.get_by_role("checkbox").check()
    agreement.value.get_by_role("button", name="Sign the agreement").click()
    expect(
        agreement.value.get_by_text("You have signed the agreement.")
    ).to_be_visible()
    agreement.value.close()
    press(page, "The payer has signed")
    page.wait_idle()
    with page.page.context.expect_page() as check:
        form(page).get_by_role("row", name="Identity check page").get_by_role(
            "link"
        ).click()
    check.value.get_by_role("button").first.click()
    check.value.wait_for_load_state()
    check.value.close()
    press(page, "Ask again")


def _account(page: NotebookPage) -> Iterator[str]:
    enter(page, "Currency", "EUR")
    write(page, "IBAN", IBAN)
    yield "while the number is typed, visibly"
    press(page, "Hide IBAN")
    page.page.keyboard.press("Tab")
    field(page, "IBAN").click()
    expect(field(page, "IBAN")).to_have_value(IBAN)
    yield "while the number is corrected"
    field(page, "Holder type").select_option("individual")
    for label, text in HOLDER.items():
        enter(page, label, text)
    enter(page, "Country", "DE")
    press(page, "Store the account")
    expect(form(page).get_by_text("Check your answers").first).to_be_visible()
    yield "at the summary"
    press(page, "Send")
    expect(form(page).get_by_text("Account stored.")).to_be_visible()
    yield "sent"
    press(page, "Copy to a new account")
    yield "copied to a new account"


def _payout(page: NotebookPage) -> Iterator[str]:
    """Pay a stored account by keyboard: no step needs the mouse."""
    keyboard = page.page.keyboard
    field(page, "Way of payment").focus()
    keyboard.type("S")
    page.wait_idle()
    field(page, "Payer").press_sequentially(PAYER_ID)
    keyboard.press("Enter")
    expect(field(page, "Account")).to_be_focused()
    keyboard.press("ArrowDown")
    yield "looked up"
    form(page).get_by_role("button", name="More fields").press("Enter")
    for label, text in {
        "Paying wallet": PAYEE,
        "Your reference": "invoice-424242",
        "Amount": "424242.42",
    }.items():
        field(page, label).press_sequentially(text)
    field(page, "Payment currency").press_sequentially("fUSDC-sepolia")
    keyboard.press("Control+Enter")  # takes the value that is being typed
    expect(form(page).get_by_text("Check your answers").first).to_be_focused()
    expect(
        form(page).get_by_text("fUSDC-sepolia").filter(visible=True).first
    ).to_be_visible()
    yield "at the summary"
    page.control("Send").press("Enter")
    expect(page.page.get_by_text("The transactions are here.")).to_be_visible()
    yield "sent"
    page.control("Check again").press("Enter")
    expect(
        page.page.get_by_text("Not paid yet, as far as the service knows.")
    ).to_be_visible()
    yield "checked"
    page.ask("form.save('handed-over.json', anyway=True)")
    page.ask("import os; os.remove('handed-over.json')")
    expect(page.page.get_by_text("Handed over: handed-over.json.")).to_be_visible()
    yield "handed over"


JOURNEYS: dict[str, tuple[str, Journey, list[str]]] = {
    "newcomer": (WALK, _newcomer, PRIVATE),
    "account": (
        BANK,
        _account,
        [
            IBAN,
            "1245126199",
            *(text for text in HOLDER.values() if "Bank" not in text),
        ],
    ),
    "payout": (
        PAYOUT,
        _payout,
        [PAYER_ID, PAYEE, "invoice-424242", "424242.42", "253009233489", "••••3489"],
    ),
}
"""The cell of each journey, what a person does, and what is nowhere to be found."""


@pytest.mark.parametrize("journey", JOURNEYS)
def test_nothing_entered_is_saved(
    lab: Jupyter, opened_notebook: NotebookPage, folder: Path, journey: str
) -> None:
    """At no stop of a journey is a value in a file; the state of widgets is saved,
    too.
    """
    page = opened_notebook
    source, steps, values = JOURNEYS[journey]
    page.page.set_viewport_size({"width": 1280, "height": 1000})
    page.draw(f"{ALONE}{source}form", expect=1)
    found = {}
    for stop in steps(page):
        page.wait_idle()
        assert page.save()["metadata"]["widgets"]
        found[stop] = [
            value
            for value in values
            if _files(folder, value) or find_text(lab.private, value)
        ]

    assert {stop: [] for stop in found} == found
    assert found


@form_of("bank")
def test_another_page_sees_no_number(
    notebook: NotebookPage, lab: Jupyter, browser: Browser
) -> None:
    """A number that is shown in the page in which it was typed is masked in the frames
    of any other one.
    """
    mark = notebook.frames.mark()
    enter(notebook, "Currency", "EUR")
    enter(notebook, "IBAN", IBAN)
    notebook.wait_idle()
    notebook.save()
    with lab.open(browser, notebook.path.name, keep=True) as second:
        expect(second.control("IBAN")).to_have_attribute("placeholder", "••••6199")
        seen = second.frames.leaks(IBAN)
    sent = notebook.frames.leaks(IBAN, mark)

    assert ([], {"sent comm_msg"}) == (seen, set(sent))


def test_a_text_is_found_however_it_is_written(tmp_path: Path) -> None:
    """Hidden files, UTF-16, escaped JSON and what gzip packed are read: the tests above
    can fail.
    """
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "wide").write_bytes(b"\0" + "Müller".encode("utf-16"))
    (tmp_path / "escaped").write_text(json.dumps("Müller"))
    (tmp_path / "other").write_text("Muller")
    packed = gzip.compress(f"{'x' * 99} Müller {'y' * 99}".encode())
    (tmp_path / "packed.ipynb").write_bytes(b"head" + packed + b"tail")
    (tmp_path / "state.ipynb").write_text(f'{{"data": "{b64encode(packed).decode()}"}}')

    assert [".hidden/wide", "escaped", "packed.ipynb", "state.ipynb"] == find_text(
        tmp_path, "Müller"
    )


def _files(folder: Path, value: str) -> list[str]:
    """Return the files of the notebook that is rewritten, checkpoints included, that
    hold a value.
    """
    return [file for file in find_text(folder, value) if "rewritten" in file]
