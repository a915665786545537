"""The form that initiates a payment, then shows what its transactions do before anyone signs."""

from __future__ import annotations

from payerkit.endpoints import initiate_payment
from payerkit.findings import Findings
from payerkit.forms.form import Button, Form, FormState
from payerkit.models import Payment, PaymentOrder
from payerkit.onchain.review import check_payment


class PaymentForm(Form):
    """A form that initiates a payment, then shows the verdict on its transactions and what they do.

    It suggests currencies by id, symbol or network. Nothing is paid until a wallet signs the transactions.

    Args:
        client: From `connect()` or `sandbox()`.
        title: The title of the form; "Payment" by default.
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

    model = PaymentOrder
    title = "Payment"
    submit_label = "Initiate payment"
    unknown_outcome_advice = (
        "No money has moved: a wallet has to sign first. Send it again, and sign the transactions of one response only."
    )

    @property
    def findings(self) -> Findings:
        """Findings about the order; after sending, those about the payment, with a `verdict`."""
        with self._lock:
            return check_payment(self._result) if self.done else super().findings

    def _call(self, request: PaymentOrder) -> Payment:
        return initiate_payment(self._client, request)

    def _state_of(self, response: Payment) -> FormState:
        buttons = (Button("Edit the order", "edit"), Button("New payment", "new"))
        status = _STATUS[check_payment(response).verdict]
        return FormState(phase="done", status=status, html=response._repr_html_(), buttons=buttons)


_STATUS = {
    "ok": ("success", "Payment initiated. No money moves until a wallet signs."),
    "look": ("warning", "Payment initiated. Read the warnings before anyone signs."),
    "stop": ("error", "Payment initiated. Do not sign it: read the errors."),
}
