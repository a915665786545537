"""The objects in requests and responses: snake_case here, the service's names on the wire."""

from payerkit.models.payment_requests import PaymentRequest, RequestStatus
from payerkit.models.payouts import Payout
from payerkit.models.requests import BankDetails, Payer, PaymentOrder, PayoutOrder
from payerkit.models.responses import (
    AgreementUpdate,
    DeclaredFee,
    PayerStatus,
    Payment,
    PaymentDetail,
    PaymentMetadata,
    Transaction,
)

__all__ = [
    "AgreementUpdate",
    "BankDetails",
    "DeclaredFee",
    "Payer",
    "PayerStatus",
    "Payment",
    "PaymentDetail",
    "PaymentMetadata",
    "PaymentOrder",
    "PaymentRequest",
    "Payout",
    "PayoutOrder",
    "RequestStatus",
    "Transaction",
]
