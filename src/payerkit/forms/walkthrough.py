"""The three forms in sequence, in tabs, which a keyboard can reach."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import ipywidgets

from payerkit.client.client import Client
from payerkit.errors import without_internal_frames
from payerkit.forms.bank_details import BankDetailsForm
from payerkit.forms.form import WIDGET_OPTIONS
from payerkit.forms.payer import PayerForm
from payerkit.forms.payment import PaymentForm
from payerkit.payments.payment_policy import PaymentPolicy


class Walkthrough(ipywidgets.Tab):  # type: ignore[misc]  # ipywidgets has no types
    """Three steps, one form at a time: register a payer, store an account, check a
    payment.

    Bank details wait until the payer is registered, since they are stored under the
    payer's id. Once an account is stored, the payment is filled in with the payer and
    the account, unless you chose what to pay; it needs neither to pay a wallet. The
    account is the payee's: nothing about its holder is taken from the payer, unless you
    press the button that says that both are the same.

    Args:
        client: From `connect()` or `sandbox()`.
        rate, policy, node: As for `PaymentForm`.
        **options: Values of the payer by field name, such as `client_user_id`; and
            options of an ipywidget, such as `layout`.

    Attributes:
        payer: The `PayerForm`.
        bank_details: The `BankDetailsForm`.
        payment: The `PaymentForm`.
        selected_index: The step that is open: 0, 1 or 2.

    Raises:
        InvalidInput: As `PaymentForm` raises it, or an option is neither a field of the
            payer nor an option of a widget.

    Example:
        >>> walk = Walkthrough(client)
        >>> walk.payer.fill(payer)
        >>> status = walk.payer.submit()
        >>> walk.bank_details.client_user_id
        'user-123'
    """

    def __dir__(self) -> list[str]:
        """Return what a user needs, as Tab shows it."""
        return ["bank_details", "payer", "payment", "selected_index"]

    @without_internal_frames
    def __init__(
        self,
        client: Client,
        *,
        rate: Decimal | int | str | None = None,
        policy: PaymentPolicy | None = None,
        node: str | None = None,
        **options: Any,
    ) -> None:
        own = {name: options.pop(name) for name in WIDGET_OPTIONS if name in options}
        is_disabled = own.pop("disabled", False)
        self.payer = PayerForm(client, disabled=is_disabled, **options)
        self.bank_details = BankDetailsForm(client, disabled=is_disabled)
        self.payment = PaymentForm(
            client, rate=rate, policy=policy, node=node, disabled=is_disabled
        )
        forms = (self.payer, self.bank_details, self.payment)
        super().__init__(children=forms, selected_index=0, **own)
        for place, form in enumerate(forms):
            form.observe(self._show_progress, ["done", "result"])
            if place:
                forms[place - 1].lead_to(form.title, self._opener(place))
        self.payer.observe(self._hand_on, "done")
        self.bank_details.observe(self._hand_on, ["busy", "done"])
        self._show_progress()

    def _opener(self, place: int) -> Any:
        def go() -> None:
            self.selected_index = place
            self.children[place].take_focus()

        return go

    def _show_progress(self, _change: Any = None) -> None:
        """Say in the titles, which a notebook may save, which steps are done."""
        titles = []
        for place, form in enumerate(self.children, start=1):
            state = ""
            if form.done:
                is_waiting = form is self.payer and not form.result.explain().compliant
                state = ": waits" if is_waiting else " ✓"
            titles.append(f"{place}. {form.title}{state}")
        self.titles = tuple(titles)

    def _hand_on(self, _change: Any) -> None:
        """Hand what is done to the next steps, once the account is not being sent."""
        if self.bank_details.busy:
            return
        if self.payer.done:
            self.bank_details.client_user_id = str(self.payer.client_user_id)
            self.bank_details.offer_holder(self.payer)
        if self.payer.done or self.bank_details.done:
            self.payment.offer_account(self.bank_details)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget for a notebook, with a line for pages that run none."""
        bundle = super()._repr_mimebundle_(**options)
        line = "Forms for a payer, an account and a payment: run the cell to see them."
        bundle["text/plain"] = line
        return bundle

    def __repr__(self) -> str:
        return f"<Walkthrough: {self.payer}, {self.bank_details}, {self.payment}>"
