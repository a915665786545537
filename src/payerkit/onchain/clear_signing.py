"""Descriptors for clear signing (ERC-7730), and what a wallet that has them shows."""

from __future__ import annotations

from payerkit.onchain.policy import NO_POLICY, PaymentPolicy
from payerkit.onchain.transactions import DecodedTransaction


def clear_signing_lines(
    transaction: DecodedTransaction, network: str | None, policy: PaymentPolicy = NO_POLICY
) -> tuple[str, ...]:
    """Return what a wallet with our descriptors shows for a transaction, one line each; none if it shows only bytes."""
    del transaction, network, policy
    return ()
