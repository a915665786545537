"""A fake browser for tests: the page of a form, without a page."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, cast

from far_end import Behaviour, FarEnd
from payerkit import BankDetailsForm, PayerForm
from payerkit.client import Client
from payerkit.forms.form import Form
from published import BANK_DETAILS, PAYER


def answers_of(view: dict[str, Any]) -> dict[str, str]:
    """Return the answers that a form shows before it is sent, by their labels."""
    cells = re.findall(
        r'<th scope="row"[^>]*>(.*?)</th><td[^>]*>(?:<button.*?</button>)?(.*?)(<div.*?)?</td>', view["panel"]
    )
    return {label: value for label, value, _ in cells}


Started = tuple[Any, "Browser", FarEnd]
"""A form that is filled in, its browser, and the far end that it sends to."""


ORDER = {
    "payee": "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
    "amount": "10",
    "invoice_currency": "fUSDC-sepolia",
    "payment_currency": "fUSDC-sepolia",
}
VALUES = {"payer": PAYER, "bank_details": BANK_DETAILS, "payment": ORDER}
"""What the forms are filled in with, by their names."""


def opened(client: Client, kind: type[Any] = PayerForm, **values: Any) -> tuple[Any, Browser]:
    """Return a form that is filled in, with these values in place of others, and its browser."""
    form = kind(client, "user-123") if kind.name == "bank_details" else kind(client)
    form.fill(VALUES[kind.name], **values)
    return form, Browser(form)


def start_form(
    stack: ExitStack,
    connect: Callable[..., Client],
    *behaviours: Behaviour,
    kind: type[Any] = BankDetailsForm,
    **options: Any,
) -> Started:
    """Start a far end that behaves as told, and fill in a form of it. options: those of its client."""
    far_end = stack.enter_context(FarEnd(behaviours))
    return *opened(connect(far_end.url, **options), kind), far_end


class Browser:
    """A fake browser: keeps the messages of a form, and sends those of a page."""

    comm_id = "browser"

    def __init__(self, form: Form) -> None:
        self.form = form
        self.messages: list[dict[str, Any]] = []
        form.comm = self

    def send(self, data: dict[str, Any], buffers: Sequence[bytes] | None = None, **_: Any) -> None:
        """Keep a message of the form; of what a page shows at first, the view of the form."""
        if data.get("content", {}).get("type") == "start":
            (first,) = json.loads(gzip.decompress((buffers or [])[0]))
            data = {**data, "content": first}
        self.messages.append(data)

    def on_msg(self, _: Any) -> None:
        """Do nothing: `post` calls the form's handler directly."""

    def close(self, **_: Any) -> None:
        """Do nothing: no connection is open."""

    def post(self, message: str, touched: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Send a message as the page does, and return the reply."""
        content = {"action_count": self.form._action_count, **more}
        content |= {"type": message, "touched": touched or {}, "page": "page", "needs_code": False}
        self.form._handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})
        return cast("dict[str, Any]", self.messages[-1]["content"])

    def press(self, action: str, touched: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Press a button, and return what the form shows when it is done with that."""
        return self.post("action", touched, action=action, **more)

    def submit(self, touched: dict[str, Any] | None = None) -> dict[str, Any]:
        """Press the button below the fields, and, where the answers are shown once more, the one that sends them."""
        shown = self.press("submit", touched)
        return self.press("send") if shown["phase"] == "review" else shown
