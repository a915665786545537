# The public names, listed once: for type checkers and editors, and loaded lazily by
# `__init__.py`.
# ruff: noqa: I001 - by subject, not by module
from .requests import (
    Payer as Payer,
    BankDetails as BankDetails,
    PaymentOrder as PaymentOrder,
    PayoutOrder as PayoutOrder,
)
from .responses import (
    PayerStatus as PayerStatus,
    AgreementUpdate as AgreementUpdate,
    PaymentDetail as PaymentDetail,
    PaymentRequest as PaymentRequest,
    RequestStatus as RequestStatus,
)
from .payments import (
    Payment as Payment,
    PaymentMetadata as PaymentMetadata,
    DeclaredFee as DeclaredFee,
    Transaction as Transaction,
    Payout as Payout,
)

__all__: list[str]  # noqa: PYI035 - made from these names
