"""The payment under review with its context, and findings about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property
from typing import Any, cast

from payerkit._tables import rows
from payerkit.errors import InvalidInput
from payerkit.findings import Finding, Severity
from payerkit.onchain.currencies import Currency, find_currency
from payerkit.onchain.effects import Effect
from payerkit.onchain.protocols import OrderLike, PaymentLike
from payerkit.onchain.transactions import DecodedTransaction
from payerkit.wire import our_name

UNLIMITED = 2**256 - 1
"""An amount without a limit: the largest that a contract can hold."""


@dataclass(frozen=True)
class PaymentReview:
    """A payment, the order to compare it with, the network it is for, and the rate between the order's currencies."""

    payment: PaymentLike
    transactions: tuple[DecodedTransaction, ...]
    order: OrderLike | None
    network: str | None
    rate: Decimal | None

    @property
    def payment_currency(self) -> Currency | None:
        """The payment currency of the order; None without an order or if it is not in the token list."""
        return find_currency(self.order.payment_currency) if self.order else None

    @cached_property
    def payments(self) -> list[tuple[DecodedTransaction, Effect]]:
        """The effects that pay, each with its transaction."""
        return [(each, effect) for each in self.transactions for effect in each.effects if effect.is_payment]


@dataclass(slots=True)
class ExpectedPayment:
    """An order as text, from an object or a dict."""

    payee: str
    amount: str
    invoice_currency: str
    payment_currency: str


def read_order(order: OrderLike | Mapping[str, Any] | None) -> ExpectedPayment | None:
    """Return an order; None without one. Raises InvalidInput if a field is missing."""
    if order is None:
        return None
    names = ExpectedPayment.__slots__
    given = {our_name(str(name)): value for name, value in order.items()} if isinstance(order, Mapping) else {}
    given |= {name: getattr(order, name) for name in names if hasattr(order, name)}
    missing = [name for name in names if name not in given]
    if missing:
        raise InvalidInput(f"order: give a PaymentOrder or a dict with its fields; {missing[0]} is missing.")
    return ExpectedPayment(**{name: str(given[name]) for name in names})


@cache
def _messages() -> Mapping[str, Mapping[str, str]]:
    return {row["key"]: row for row in rows(__package__, "review")}


def finding(key: str, about: DecodedTransaction | None = None, *, field: str = "", **values: object) -> Finding:
    """Return the finding with this key in review.tsv, about a transaction or the whole payment."""
    row = _messages()[key]
    return Finding(
        field=field or row["field"],
        wire_name=field or row["field"],
        severity=cast("Severity", row["severity"]),
        code=key.partition(".")[0],
        message=row["message"].format(**values),
        hint=row["hint"],
        basis=row["basis"],
        step=about.index if about else None,
    )
