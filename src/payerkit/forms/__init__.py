"""Forms for notebooks. Values stay in the kernel; the saved widget state holds none."""

from payerkit.forms.bank_details import BankDetailsForm
from payerkit.forms.payer import PayerForm
from payerkit.forms.payment import PaymentForm
from payerkit.forms.walkthrough import Walkthrough

__all__ = ["BankDetailsForm", "PayerForm", "PaymentForm", "Walkthrough"]
