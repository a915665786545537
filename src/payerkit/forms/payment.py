"""Initiate a payment, and look at what its transactions do before anyone signs."""

from __future__ import annotations

from payerkit.endpoints import initiate_payment
from payerkit.findings import Findings
from payerkit.forms.drawing import Outcome
from payerkit.forms.form import Form
from payerkit.models import Payment, PaymentOrder
from payerkit.onchain.verdicts import check_payment


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
        """What is wrong with the order; once it is sent, what the payment does, with its verdict."""
        return check_payment(self.result) if self.done else super().findings

    def _call(self, given: PaymentOrder) -> Payment:
        return initiate_payment(self._client, given)

    def _tell(self, answer: Payment) -> Outcome:
        actions = (("again", "Change the order"), ("new", "Another payment"))
        return Outcome("Initiated. Read the verdict before anyone signs.", answer._repr_html_(), actions=actions)
