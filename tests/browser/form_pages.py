"""What tests of the forms in a browser share: the notebooks that show them, and what a person does."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser.jupyter_pages import NotebookPage
from published import TYPED_PAYER

TESTS = f"import sys; sys.path.append({str(Path(__file__).parent.parent)!r})\n"
START = TESTS + "from payerkit import *\nclient = sandbox(seed=1, decide_after=0, fee_percent=0)\n"
PAYER = START + "form = PayerForm(client)\nform"
BANK = (
    START + "from published import PAYER\ncreate_payer(client, PAYER)\nform = BankDetailsForm(client, 'user-123')\nform"
)
PAYMENT = START + "form = PaymentForm(client)\nform"
WALK = START + "form = Walkthrough(client)\nform"
SLOW = TESTS + (
    "from far_end import FarEnd, hang, reply\nfrom payerkit import *\nfrom payerkit.client import Client\n"
    "from published import BANK_DETAILS\nfar_end = FarEnd([reply(200, '[]'), hang]).__enter__()\n"
    "form = BankDetailsForm(Client(far_end.url, 'key', timeout=2), 'user-123')\nform.fill(BANK_DETAILS)\nform"
)
SOURCES = {"payer": PAYER, "bank": BANK, "payment": PAYMENT, "walk": WALK, "slow": SLOW}

LABELS = {
    "client_user_id": "Client user id",
    "email": "E-mail address",
    "first_name": "First name",
    "last_name": "Last name",
    "date_of_birth": "Date of birth",
    "nationality": "Nationality",
    "phone": "Phone number",
    "address_line1": "Address",
    "city": "City",
    "state": "State",
    "postcode": "Postcode",
    "country": "Country",
    "ssn": "Social security number",
    "beneficiary_type": "Payer type",
}


def form_of(name: str) -> pytest.MarkDecorator:
    """Run a test with one of the forms."""
    return pytest.mark.parametrize("notebook", [name], indirect=True)


def type_into(notebook: NotebookPage, label: str, text: str) -> None:
    """Type with real keys and leave the field, as a person does."""
    control = notebook.control(label)
    control.focus()
    control.press("ControlOrMeta+a")
    control.press_sequentially(text)
    control.press("Tab")


def fill_payer(notebook: NotebookPage) -> None:
    """Fill in the form of a payer."""
    for name, label in LABELS.items():
        if name != "beneficiary_type":
            type_into(notebook, label, TYPED_PAYER[name])
    notebook.control("Payer type").select_option("individual")
    notebook.wait_idle()


def focused(notebook: NotebookPage) -> str:
    """Return the name of the field that has the focus."""
    return str(notebook.page.evaluate("document.activeElement.name || document.activeElement.className"))
