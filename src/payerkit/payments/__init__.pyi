# The public names, listed once: for type checkers and editors, and loaded lazily by
# `__init__.py`.
# ruff: noqa: I001 - by subject, not by module
from .check_order import check_payment_order as check_payment_order
from .decode import decode_calldata as decode_calldata
from .address_book import (
    AddressBook as AddressBook,
    KnownAddress as KnownAddress,
)
from .payment_policy import (
    AcceptedAllowance as AcceptedAllowance,
    AgreedFee as AgreedFee,
)
from .card import PaymentCard as PaymentCard
from .safe import SafeHashes as SafeHashes
from .safe import write_safe_files as write_safe_files

__all__: list[str]  # noqa: PYI035 - made from these names
