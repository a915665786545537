"""A newcomer, who has read nothing, gets a payer onboarded and an account stored, typing each value once.

The script uses only what a person sees: labels, buttons, what the form offers, and its headings. It ends with
the notebook's file, which holds the proof and nothing personal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.form_states import field, press
from browser.jupyter_pages import OUTPUTS, NotebookPage
from browser.traces import find_text
from cases import DATA

SOURCE = """\
from payerkit import *
client = sandbox(seed='newcomer', decide_after=0, fee_percent=0)
walk = Walkthrough(client)
walk"""
PROOF = """\
display(walk.payer.result, walk.bank_details.result)
list_payment_details(client, walk.payer.client_user_id)"""

_TYPED = json.loads((DATA / "newcomer.json").read_text("utf-8"))
COMPANY, RUPEES = _TYPED["payer"], _TYPED["account"]
"""What the newcomer types, by the labels of the fields."""


class Newcomer:
    """Someone who fills in what is asked, top to bottom, and takes what is offered."""

    def __init__(self, notebook: NotebookPage) -> None:
        self.notebook, self.page = notebook, notebook.page
        self.shown = self.page.locator(OUTPUTS)
        self.typed: set[str] = set()

    def type(self, values: dict[str, str]) -> None:
        """Type each value into the field with its label, which was never typed into before, and leave it with Tab."""
        assert self.typed.isdisjoint(values)
        self.typed |= values.keys()
        for label, text in values.items():
            field(self.notebook, label).click()
            self.page.keyboard.type(text)
            self.page.keyboard.press("Tab")
            self.notebook.wait_idle()

    def take_offers(self) -> list[str]:
        """Press each button that offers a reading, until none is left; return what stood on them."""
        offers, taken = self.shown.get_by_role("button", name="Use ").filter(visible=True), []
        while offers.count():
            taken.append(offers.first.inner_text())
            offers.first.click()
            self.notebook.wait_idle()
            assert len(taken) < 10
        return taken

    def sees(self, text: str) -> None:
        """Expect a text somewhere in the output."""
        expect(self.shown.get_by_text(text).filter(visible=True).first).to_be_visible()

    def sign(self) -> None:
        """Go to the payer's pages, and do there what they ask."""
        with self.page.context.expect_page() as agreement:
            self.shown.get_by_role("link", name="Open the agreement").click()
        agreement.value.get_by_role("checkbox").check()
        agreement.value.get_by_role("button", name="Sign the agreement").click()
        expect(agreement.value.get_by_text("You have signed the agreement.")).to_be_visible()
        agreement.value.close()
        press(self.notebook, "The payer has signed")
        with self.page.context.expect_page() as check:
            self.shown.get_by_role("link", name="Open the identity check").click()
        check.value.get_by_role("button").first.click()
        check.value.wait_for_load_state()
        check.value.close()
        press(self.notebook, "Refresh status")

    def store_account(self) -> None:
        """Look at what was entered, and send it."""
        press(self.notebook, "Add bank details")
        self.sees("Check your answers")
        press(self.notebook, "Send")
        self.sees("Account added.")


@pytest.fixture
def newcomer(opened_notebook: NotebookPage) -> Iterator[Newcomer]:
    """Draw the walkthrough in a notebook that is saved with the state of its widgets, for somebody who never saw it."""
    opened_notebook.page.set_viewport_size({"width": 1280, "height": 1600})
    opened_notebook.rewrite(SOURCE, PROOF)
    opened_notebook.run_cell(0, expect=4)
    yield Newcomer(opened_notebook)
    assert opened_notebook.hosts <= {"127.0.0.1", "localhost"}


def proof(saved: dict[str, Any]) -> str:
    """Return what a saved notebook shows without a kernel: its ordinary outputs, as text."""
    outputs = [output for cell in saved["cells"] for output in cell.get("outputs", [])]
    plain = [output["data"] for output in outputs if "application/vnd.jupyter.widget-view+json" not in output["data"]]
    return json.dumps(plain, ensure_ascii=False)


@pytest.mark.browser_all
def test_a_german_company_gets_an_account_in_rupees(newcomer: Newcomer, folder: Path) -> None:
    """Names of countries and of the currency are enough, the rails are known, and the file shows what was stored."""
    field(newcomer.notebook, "Payer type").select_option(label="Business: a company")
    newcomer.type(COMPANY)
    taken = newcomer.take_offers()
    press(newcomer.notebook, "Onboard payer")
    newcomer.sees("Open the agreement")
    newcomer.sign()
    newcomer.sees("approved")
    press(newcomer.notebook, "Next step: Bank details")
    newcomer.type(RUPEES)
    newcomer.shown.get_by_label("The payer is also the account holder").check()
    newcomer.store_account()
    newcomer.notebook.run_cell(1)
    kept = proof(newcomer.notebook.save())

    assert {"Use erika.beispiel@example.com", "Use 2015-03-02", "Use +4930901820"} == set(taken)
    assert all(text in kept for text in ("newcomer-1", "approved", "••••2110", "INR", "swift"))
    assert [] == leaks(folder, COMPANY | RUPEES, "+4930901820", "erika.beispiel@example.com", "501004433", "22110")


def leaks(folder: Path, values: dict[str, str], *forms: str) -> list[str]:
    """Return what of the values, but those that a response shows, is in the notebook's file or checkpoint."""
    public = {*RUPEES, *["Client user id", "Company", "Country", "Nationality", "City", "State"]} - {"Account number"}
    hidden = [text for label, text in values.items() if label not in public]
    return [text for text in (*hidden, *forms) if any("rewritten" in file for file in find_text(folder, text))]
