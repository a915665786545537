"""The three forms in sequence."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import ipywidgets

from payerkit.client import Client
from payerkit.forms.bank_details import BankDetailsForm
from payerkit.forms.payer import PayerForm
from payerkit.forms.payment import PaymentForm
from payerkit.policy.payment_policy import PaymentPolicy


class Walkthrough(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets ships no types
    """Three forms in sequence: onboard a payer, add bank details, initiate and review a payment.

    Once the payer is onboarded, the bank details are stored under their id. The account is the payee's: nothing about
    its holder is taken from the payer, unless somebody ticks the box that says that both are the same, or sets
    `walk.bank_details.holder_is_payer = True`.

    Args:
        client: From `connect()` or `sandbox()`.
        rate, policy: As for `PaymentForm`.
        **options: Options of an ipywidgets `VBox`, such as `layout`.

    Attributes:
        payer: The `PayerForm`.
        bank_details: The `BankDetailsForm`.
        payment: The `PaymentForm`.

    Example:
        >>> walk = Walkthrough(client)
        >>> walk.payer.fill(payer)
        >>> status = walk.payer.submit()
        >>> walk.bank_details.client_user_id, walk.bank_details.holder_is_payer
        ('user-123', False)
    """

    def __init__(
        self,
        client: Client,
        *,
        rate: Decimal | int | str | None = None,
        policy: PaymentPolicy | None = None,
        **options: Any,
    ) -> None:
        self.payer = PayerForm(client, title="1. Payer")
        self.bank_details = BankDetailsForm(client, title="2. Bank details")
        self.payment = PaymentForm(client, title="3. Payment", rate=rate, policy=policy)
        self.payer.observe(self._on_payer_done, "done")
        super().__init__([self.payer, self.bank_details, self.payment], **options)

    def _on_payer_done(self, change: Any) -> None:
        if change["new"] and self.payer.client_user_id is not None:
            self.bank_details.client_user_id = self.payer.client_user_id
            self.bank_details.offer_holder(self.payer)

    def __repr__(self) -> str:
        return f"<Walkthrough: {self.payer}, {self.bank_details}, {self.payment}>"
