"""The form that initiates a payment, then shows what its transactions do before anyone signs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

from payerkit.client import Client
from payerkit.endpoints import order_warnings, payment_call
from payerkit.errors import without_internal_frames
from payerkit.findings import Findings
from payerkit.forms.form import Form
from payerkit.forms.form_state import Banner, Button, FormState
from payerkit.forms.job import Job
from payerkit.models import Payment, PaymentOrder
from payerkit.onchain.amounts import read_rate
from payerkit.policy.payment_policy import PaymentPolicy, given_policy
from payerkit.review.check_order import check_payment_order
from payerkit.signing.card import PaymentCard


class PaymentForm(Form):
    """A form that initiates a payment, then shows its card: whether to sign, and what the transactions do.

    It suggests currencies by id, symbol or network. Nothing is paid until a wallet signs the transactions.

    Args:
        client: From `connect()` or `sandbox()`.
        title: The title of the form; "Payment" by default.
        rate: The price of one unit of the payment currency in the invoice currency, as for `check_payment`; for a form
            that takes orders in several currencies, the rates of a policy fit better.
        policy: What you agreed to once, for all payments; card, findings and verdict are those under this policy.
        **options: Options of an ipywidget, such as `layout`.

    Attributes:
        result: The last `Payment`, or None.
        error: The exception of the last action, or None.
        findings: Before sending, the findings about the order; afterwards, those about the payment, with a `verdict`.
        done: True when the payment was initiated.

    Example:
        >>> form = PaymentForm(client)
        >>> form.fill(order)
        >>> payment = form.submit()
        >>> form.findings.verdict
        'look'
    """

    name = "payment"
    model = PaymentOrder
    title = "Payment"
    submit_label = "Initiate payment"
    is_reviewed = True
    unknown_outcome = "It is not known whether the payment was initiated."
    unknown_outcome_advice = (
        "No money has moved: a wallet has to sign first. Send it again, and sign the transactions of one response only."
    )

    def __init__(
        self,
        client: Client,
        *,
        title: str | None = None,
        rate: Decimal | int | str | None = None,
        policy: PaymentPolicy | None = None,
        **options: Any,
    ) -> None:
        self._rate = None if rate is None else read_rate(rate)
        self._policy = given_policy(policy)
        super().__init__(client, title=title, **options)

    @property
    def findings(self) -> Findings:
        """Findings about the order; after sending, those about the payment, with a `verdict`."""
        with self._settled():
            return self._card(self._result).findings if self._is_done else super().findings

    def _card(self, payment: Payment) -> PaymentCard:
        return payment.card(rate=self._rate, policy=self._policy)

    @without_internal_frames
    def submit(self, *, anyway: bool = False) -> Payment:
        """Send the values, as the button does; the form shows the outcome, too.

        Args:
            anyway: Send in spite of warnings.

        Returns:
            The payment, also kept as `result`.

        Raises:
            InvalidInput: The values have errors, as `check_payment_order` finds them, or warnings without `anyway`; or
                they were sent already. Nothing was sent.
            PayerkitError: The call failed, as `initiate_payment` would raise it. Also kept as `error`.

        Warns:
            RealMoneyWarning: Before sending, as `initiate_payment` does, if `anyway` sends in spite of the finding that
                says the same.

        Example:
            >>> form = PaymentForm(client)
            >>> form.fill(order)
            >>> payment = form.submit()
            >>> payment is form.result
            True
        """
        if anyway:
            for warning in self._warnings():
                warnings.warn(warning, stacklevel=3)  # the caller is above one decorator
        payment: Payment = super().submit(anyway=anyway)
        return payment

    def _warnings(self) -> list[UserWarning]:
        """Return the warnings about an order that can be sent; fields with an error are not sent."""
        with self._settled():
            if self._is_done:
                return []
            order, wrong = self._entries.visible_values(), {each.field for each in self._entries.findings().errors}
        found = order_warnings(order["payee"], order["payment_currency"], self._client.environment)
        return [warning for name, warning in found.items() if name not in wrong]

    def _checker(self) -> Callable[..., Findings]:
        return partial(check_payment_order, policy=self._policy, environment=self._client.environment)

    def _outcome(self) -> str:
        return f"verdict {self._card(self._result).verdict.upper()}"

    def _picture_to_keep(self) -> str:
        return self._card(self._result)._repr_html_()

    def _text_to_keep(self) -> str:
        return str(self._card(self._result))

    def _call(self, request: PaymentOrder, job: Job) -> Payment:
        return job.send(payment_call(request, self._client.environment))

    def _state_of(self, response: Payment) -> FormState:
        buttons = (Button("Edit the order", "edit"), Button("New payment", "new"))
        card = self._card(response)
        return FormState("done", banner=_BANNERS[card.verdict], html=card._repr_html_(), buttons=buttons)


_BANNERS = {
    "ok": Banner.of("success", "Payment initiated.", "No money moves until a wallet signs."),
    "look": Banner.of("warning", "Payment initiated. Read the warnings before anyone signs."),
    "stop": Banner.of("error", "Payment initiated. Do not sign it: read the errors."),
}
