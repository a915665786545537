# The public names, listed once: for type checkers and editors, and loaded lazily by `__init__.py`.
# ruff: noqa: I001 - by subject, not by module
from payerkit.policy.address_book import (
    AddressBook as AddressBook,
    KnownAddress as KnownAddress,
)
from payerkit.policy.payment_policy import (
    AcceptedAllowance as AcceptedAllowance,
    AgreedFee as AgreedFee,
)

from payerkit.payment.draft import draft_policy as draft_policy

__all__: list[str]  # noqa: PYI035 - made from these names
