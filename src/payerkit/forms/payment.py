"""Initiate a payment, and look at what its transactions do before anyone signs."""

from __future__ import annotations

from payerkit.endpoints import initiate_payment
from payerkit.findings import Findings
from payerkit.forms.form import Form, Shown
from payerkit.models import Payment, PaymentOrder
from payerkit.onchain.review import check_payment


class PaymentForm(Form):
    """A form that initiates a payment, and then shows its verdict and what it does; `result` is a `Payment`.

    client: from `connect()` or `sandbox()`. Currencies are looked up while their id, symbol or network is typed.
    """

    takes = PaymentOrder
    title = "Payment"
    verb = "Initiate payment"
    if_unknown = "Nothing has moved: a wallet has to sign first. Send again, and sign what one answer holds, not two."

    @property
    def findings(self) -> Findings:
        """What is wrong with the order; of an order that was sent, what the payment does, with its verdict."""
        with self._lock:
            return check_payment(self._result) if self.done else super().findings

    def _call(self, given: PaymentOrder) -> Payment:
        return initiate_payment(self._client, given)

    def _tell(self, answer: Payment) -> Shown:
        buttons = (("Change the order", "again", ""), ("Another payment", "new", ""))
        status = _STATUS[check_payment(answer).verdict]
        return Shown(phase="done", status=status, html=answer._repr_html_(), buttons=buttons)


_STATUS = {
    "ok": ("done", "Initiated. Nothing moves before a wallet signs."),
    "look": ("warning", "Initiated. Read what is marked before anyone signs."),
    "stop": ("error", "Initiated, and not to be signed."),
}
