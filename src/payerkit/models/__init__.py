"""The objects that are sent to the service and answered by it: snake_case here, the service's names on the wire."""

from payerkit.models.responses import (
    AgreementUpdate,
    PayerStatus,
    Payment,
    PaymentDetail,
    PaymentMetadata,
    Transaction,
)
from payerkit.models.sent import BankDetails, Payer, PaymentOrder

__all__ = [
    "AgreementUpdate",
    "BankDetails",
    "Payer",
    "PayerStatus",
    "Payment",
    "PaymentDetail",
    "PaymentMetadata",
    "PaymentOrder",
    "Transaction",
]
