# The public names, listed once: for type checkers and editors, and loaded lazily by `__init__.py`.

from payerkit.signing.card import PaymentCard as PaymentCard
from payerkit.signing.safe import SafeHashes as SafeHashes
from payerkit.signing.safe import write_safe_files as write_safe_files

__all__: list[str]  # noqa: PYI035 - made from these names
