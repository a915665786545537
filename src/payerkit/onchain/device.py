"""What a signing device shows for a transaction."""

from __future__ import annotations

from payerkit.onchain.policy import NO_POLICY, PaymentPolicy
from payerkit.onchain.transactions import DecodedTransaction


def device_lines(
    transaction: DecodedTransaction, network: str | None, policy: PaymentPolicy = NO_POLICY
) -> tuple[str, ...]:
    """Return what a signing device shows for a transaction of which it has no descriptor, one line each."""
    del transaction, network, policy
    return ()
