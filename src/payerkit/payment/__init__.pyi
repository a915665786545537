# The public names, listed once: for type checkers and editors, and loaded lazily by `__init__.py`.

from payerkit.payment.check_order import check_payment_order as check_payment_order
from payerkit.payment.decode import decode_calldata as decode_calldata

__all__: list[str]  # noqa: PYI035 - made from these names
