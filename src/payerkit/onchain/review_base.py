"""One payment to be judged: its steps, what was asked for, where it goes; and how something is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from payerkit.errors import InvalidInput
from payerkit.findings import Finding, Severity
from payerkit.onchain.currencies import Currency, find_currency
from payerkit.onchain.effects import Effect
from payerkit.onchain.transactions import DecodedTransaction
from payerkit.wire import our_name

PAYS = {"pay", "swap", "escrow"}
"""What functions are for that move money towards somebody."""

CALLDATA, ORDER, ANSWER = "call data", "order", "answer of the service"
CONTRACTS, TOKENS = "RequestNetwork deployments, f1942807", "request-token-list 1.5.0"
"""Whose word a finding is."""

_ORDERED = ("payee", "amount", "invoice_currency", "payment_currency")


@dataclass(frozen=True)
class PaymentReview:
    """One payment, what was asked for, and where it goes. order: has the members of a `PaymentOrder`, or is None."""

    payment: Any
    steps: tuple[DecodedTransaction, ...]
    order: Any
    network: str | None
    rate: Decimal | None

    @property
    def wanted(self) -> Currency | None:
        """The currency that was to be paid with."""
        return find_currency(str(self.order.payment_currency)) if self.order else None

    @cached_property
    def paying(self) -> list[tuple[DecodedTransaction, Effect]]:
        """The lines that pay somebody."""
        return [(step, line) for step in self.steps for line in step.lines if line.does in PAYS]


def as_order(order: Any) -> Any:
    """Return what was asked for as an object; None for none. Raises InvalidInput for what is no order."""
    if isinstance(order, Mapping):
        order = SimpleNamespace(**{our_name(str(name)): value for name, value in order.items()})
    missing = [name for name in _ORDERED if order is not None and not hasattr(order, name)]
    if missing:
        raise InvalidInput(f"order: give a PaymentOrder, or a dict with its members; {missing[0]} is missing.")
    return order


def say(  # noqa: PLR0913 - a finding has that many parts
    code: str,
    severity: Severity,
    field: str,
    message: str,
    basis: str,
    step: DecodedTransaction | None = None,
    *,
    hint: str = "",
) -> Finding:
    """Return a finding about a payment, or about one of its steps."""
    return Finding(
        field=field,
        wire_name=field,
        severity=severity,
        code=code,
        message=message,
        hint=hint,
        basis=basis,
        step=None if step is None else step.number,
    )
