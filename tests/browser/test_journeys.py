"""Three journeys by keyboard alone, each key counted: a US payer, a UK account, a payee
that imitates a known one.

A journey may take 1.1 times the characters of its values, as they are typed, and one
key for each of these values. Keys that pass an empty field, show the answers and send
are in that tenth. The mistyped number has a budget of its own: back to the field, to
its two wrong digits, the right ones, and on.
"""

from __future__ import annotations

import json

from playwright.sync_api import expect

from browser.form_states import BANK, LABELS, START, WALK, field, focused
from browser.jupyter_pages import NotebookPage
from published import TYPED_PAYER

KNOWN, IMITATION = (
    "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
    "0x692300000000000000000000000000000000C7D7",
)
PAYMENT = f"""{START}from payerkit.payments import AddressBook, KnownAddress
book = AddressBook([KnownAddress(address={KNOWN!r}, name="Example Payee")])
form = PaymentForm(service(reply(200)), policy=PaymentPolicy(addresses=book))
"""


class Keyboard:
    """Types values, each into the field that has the focus, and counts the keys."""

    def __init__(self, page: NotebookPage, source: str, first: str) -> None:
        page.rewrite(f"{source}form", "1 + 1")
        page.run_cell(0, expect=1)
        field(page, first).focus()
        self.page, self.keys, self.budget = page, 0, 0.0

    def enter(self, label: str, value: str, *, leave: str = "Tab") -> None:
        """Type a value into the field with this label, and leave it."""
        expect(field(self.page, label)).to_be_focused()
        self.page.page.keyboard.type(value)
        self.keys += len(value)
        self.budget += 1.1 * len(value) + 1
        self.press(leave)

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.page.page.keyboard.press(key)
            self.page.wait_idle()
        self.keys += len(keys)

    def reach(self, label: str) -> None:
        """Go to the field with this label, past those that stay empty."""
        while not field(self.page, label).evaluate(
            "node => node === document.activeElement"
        ):
            self.press("Tab")


def test_a_us_person_is_registered(opened_notebook: NotebookPage) -> None:
    """From the first field of a Walkthrough to the banner that says so, which has the
    focus.
    """
    keyboard = Keyboard(opened_notebook, WALK, LABELS["beneficiary_type"])
    typed = {**TYPED_PAYER, "beneficiary_type": "i"}
    order = json.loads(
        opened_notebook.ask("print(json.dumps([*form.payer._entries.fields]))")
    )
    for name in sorted(typed, key=order.index):
        keyboard.reach(LABELS[name])
        keyboard.enter(
            LABELS[name], typed[name], leave="Enter" if name == "ssn" else "Tab"
        )
    expect(opened_notebook.page.get_by_text("Payer registered")).to_be_visible()

    assert "banner pk-success" == focused(opened_notebook)
    assert "'typed-001'" == opened_notebook.ask("form.payer.client_user_id")
    assert keyboard.keys <= keyboard.budget


def test_a_uk_account_is_stored_after_its_iban_was_corrected(
    opened_notebook: NotebookPage,
) -> None:
    """Two digits are swapped: the form says so as the field is left, and no more once
    they are right.
    """
    keyboard = Keyboard(opened_notebook, BANK, "Currency")
    problem = opened_notebook.page.get_by_text("The check digits do not match")
    keyboard.enter("Currency", "GBP")
    keyboard.reach("IBAN")
    keyboard.enter("IBAN", "GB92NWBK60161331926819")
    expect(problem).to_be_visible()
    before = keyboard.keys
    keyboard.press(
        "Shift+Tab",
        "Home",
        "ArrowRight",
        "ArrowRight",
        "Delete",
        "Delete",
        "2",
        "9",
        "Tab",
    )
    correction = keyboard.keys - before
    expect(problem).to_have_count(0)
    holder = {
        "Bank name": "Example Bank",
        "Holder type": "i",
        "Name on the account": "Example Payee 001",
        "Date of birth": "1979-03-27",
        "Country": "GB",
        "Address": "1 Example Street",
        "City": "London",
        "Postal code": "SW1A 1AA",
    }
    for label, value in holder.items():
        keyboard.reach(label)
        keyboard.enter(label, value, leave="Enter" if label == "Postal code" else "Tab")
    expect(
        opened_notebook.page.get_by_role("heading", name="Check your answers")
    ).to_be_focused()
    warnings = opened_notebook.ask("len(form.findings.warnings)")
    keyboard.press("Control+Enter")
    expect(opened_notebook.page.get_by_text("Account stored.")).to_be_visible()

    assert ("0", "['••••6819']") == (
        warnings,
        opened_notebook.ask("[*list_payment_details(client, 'user-123').iban]"),
    )
    assert keyboard.keys - correction <= keyboard.budget


def test_a_payee_that_imitates_a_known_one_is_stopped(
    opened_notebook: NotebookPage,
) -> None:
    """The form says so as the field is left; it calls the order a theft, and sends and
    hands over nothing.
    """
    keyboard = Keyboard(opened_notebook, PAYMENT, "Way of payment")
    keyboard.enter("Way of payment", "w")
    keyboard.enter("Payee", IMITATION)
    expect(
        opened_notebook.page.get_by_text(
            "They look alike, but are different addresses."
        )
    ).to_be_visible()
    order = {
        "Amount": "424.42",
        "Invoice currency": "USD",
        "Payment currency": "fUSDC-sepolia",
    }
    for label, value in order.items():
        keyboard.enter(
            label,
            value,
            leave="Control+Enter" if label == "Payment currency" else "Tab",
        )
    alert = opened_notebook.page.get_by_role("alert")
    expect(alert).to_have_text(
        "✗Stopped: this address imitates one you know. Nothing was sent."
    )

    assert "[]" == opened_notebook.ask("far_end.ledger")
    assert "banner pk-error" == focused(opened_notebook)
    assert keyboard.keys <= keyboard.budget
