"""The three forms after each other, in a box of ipywidgets' own."""

from __future__ import annotations

from typing import Any

import ipywidgets

from payerkit.client import Client
from payerkit.forms.bank_details import BankDetailsForm
from payerkit.forms.payer import PayerForm
from payerkit.forms.payment import PaymentForm


class Walkthrough(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets ships no types
    """The way of a payer in three forms: onboard, add bank details, initiate a payment and look at it.

    client: from `connect()` or `sandbox()`. `payer`, `bank_details` and `payment` are the forms. When the payer is on
    board, the bank details are for them, and take over what both have in common and is not filled in yet.
    """

    def __init__(self, client: Client, **options: Any) -> None:
        self.payer = PayerForm(client, title="1. Payer")
        self.bank_details = BankDetailsForm(client, title="2. Bank details")
        self.payment = PaymentForm(client, title="3. Payment")
        self.payer.observe(self._go_on, "done")
        super().__init__([self.payer, self.bank_details, self.payment], **options)

    def _go_on(self, change: Any) -> None:
        if change["new"] and self.payer.client_user_id is not None:
            self.bank_details.client_user_id = self.payer.client_user_id
            self.bank_details.take_over(self.payer)

    def __repr__(self) -> str:
        return f"<Walkthrough: {self.payer}, {self.bank_details}, {self.payment}>"
