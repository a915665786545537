"""The three forms in sequence, one at a time, in one widget."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import traitlets

from payerkit.client.client import Client
from payerkit.client.node import Node
from payerkit.errors import without_internal_frames
from payerkit.forms.bank_details import BankDetailsForm
from payerkit.forms.form import form_lock
from payerkit.forms.payer import PayerForm
from payerkit.forms.payment import PaymentForm
from payerkit.forms.view import FORM_FILES
from payerkit.policy.payment_policy import PaymentPolicy
from payerkit.widgets import PageWidget


class Walkthrough(PageWidget):
    """Three steps, one form at a time: register a payer, store an account, check a payment.

    A list of the steps shows the current one, and which are done or locked. Bank details are locked until the payer is
    registered, since they are stored under the payer's id. Once an account is stored, the payment is filled in with the
    payer and the account, unless you chose what to pay; it needs neither to pay a wallet, so its step is always open.
    The account is the payee's: nothing about its holder is taken from the payer, unless you tick the box that says that
    both are the same, or set `walk.bank_details.holder_is_payer = True`.

    Args:
        client: From `connect()` or `sandbox()`.
        rate, policy, node: As for `PaymentForm`.
        **options: Options of an ipywidget, such as `layout`.

    Attributes:
        payer: The `PayerForm`.
        bank_details: The `BankDetailsForm`.
        payment: The `PaymentForm`.
        step: The step at which a page begins: "payer", "bank_details" or "payment".

    Example:
        >>> walk = Walkthrough(client)
        >>> walk.payer.fill(payer)
        >>> status = walk.payer.submit()
        >>> walk.bank_details.client_user_id, walk.bank_details.holder_is_payer
        ('user-123', False)
    """

    _files = FORM_FILES
    _lock = form_lock

    step = traitlets.Enum(("payer", "bank_details", "payment"), "payer").tag(sync=True)

    def __dir__(self) -> list[str]:
        """Return what a user needs, as Tab shows it."""
        return ["bank_details", "payer", "payment", "step"]

    @without_internal_frames
    def __init__(
        self,
        client: Client,
        *,
        rate: Decimal | int | str | None = None,
        policy: PaymentPolicy | None = None,
        node: str | Node | None = None,
        **options: Any,
    ) -> None:
        self.payer = PayerForm(client)
        self.bank_details = BankDetailsForm(client)
        self.payment = PaymentForm(client, rate=rate, policy=policy, node=node)
        self.payer.observe(self._on_done, "done")
        self.bank_details.observe(self._on_done, "done")
        self._forms = {form.name: form for form in (self.payer, self.bank_details, self.payment)}
        super().__init__(**options)
        self.set_trait("label", "Walkthrough")
        self.set_trait("spec", {"forms": [each for form in self._forms.values() for each in form.spec["forms"]]})
        for form in self._forms.values():
            form.show_in(self.send)
        self.observe(lambda change: self._forms[change["new"]].ask_again(), "step")

    def _on_message(self, message: Any) -> None:
        """Hand a message to the form that it names."""
        self._forms[message["form"]]._on_message(message)  # noqa: SLF001 - the forms of a page share its messages

    def _first(self) -> list[dict[str, Any]]:
        return [view for form in self._forms.values() for view in form._first()]  # noqa: SLF001 - likewise

    def _on_start(self) -> None:
        self._forms[self.step].ask_again()

    def _on_done(self, change: Any) -> None:
        if change["new"] and change["owner"] is self.payer:
            self.bank_details.client_user_id = self.payer.client_user_id
            self.bank_details.offer_holder(self.payer)
        if change["new"]:
            self.payment.offer_account(self.bank_details)

    def _picture(self) -> str:
        return self.payer._picture()  # noqa: SLF001 - the forms of a page share it, too

    def __repr__(self) -> str:
        return f"<Walkthrough: {self.payer}, {self.bank_details}, {self.payment}>"
