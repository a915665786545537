"""Forms for JupyterLab over the objects that are sent. Values live in the kernel; no widget state holds any."""

from payerkit.forms.bank_details import BankDetailsForm
from payerkit.forms.payer import PayerForm
from payerkit.forms.payment import PaymentForm
from payerkit.forms.walkthrough import Walkthrough

__all__ = ["BankDetailsForm", "PayerForm", "PaymentForm", "Walkthrough"]
