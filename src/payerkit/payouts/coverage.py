"""Whether the payments of an order cover it, and how often, as far as amounts and the service's word tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import pandas as pd

from payerkit.onchain.amounts import EXACT
from payerkit.onchain.currencies import Currency, find_currency
from payerkit.onchain.networks import network_in_id
from payerkit.payouts.expected_orders import ExpectedOrder
from payerkit.payouts.payment_frame import total_of
from payerkit.review.review_amounts import peg_of

NEAR = Decimal("0.02")
"""The share by which a payment may fall short: a token is only about worth the currency that it is pegged to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPayment:
    """A payment that was listed, or that an event tells of. has_been_paid: whether the whole request is paid."""

    time: pd.Timestamp | None
    amount: Decimal | None
    currency: str | None
    payment_currency: str | None
    source_tx_hash: str | None
    destination_tx_hash: str | None
    has_been_paid: bool | None

    @property
    def tx_hash(self) -> str | None:
        """The transaction that paid."""
        return self.source_tx_hash or self.destination_tx_hash

    @property
    def tx_hashes(self) -> set[str]:
        """Its transactions in lower case."""
        return {each.lower() for each in (self.source_tx_hash, self.destination_tx_hash) if each}


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How far payments cover an order.

    paid: whether in full, None if that is not known. times: how often in full, None likewise. amount: their sum, None
    if it is not known, or of several tokens. excess: what was paid beyond the full times; None if the amounts cannot be
    compared with the order. paid_at: when it was paid in full, or else the last time.
    """

    paid: bool | None
    times: int | None
    amount: Decimal | None
    missing: Decimal | None
    excess: Decimal | None
    paid_at: pd.Timestamp | None


def cover(order: ExpectedOrder, payments: Sequence[SeenPayment]) -> Coverage:
    """Return how far some payments, in their order and without duplicates, cover an order."""
    said = _said(payments)
    is_one_token = len({(each.payment_currency or "").lower() for each in payments}) == 1
    amount = total_of(each.amount for each in payments) if is_one_token else None
    total = total_of(each.amount for each in payments) if _is_comparable(order, payments) else None
    last = next((each.time for each in reversed(payments) if each.time is not None), None)
    if total is None or order.amount is None:
        times = {True: 1 if len(payments) == 1 else None, False: 0, None: None}[said]
        return Coverage(paid=said, times=times, amount=amount, missing=None, excess=None, paid_at=last)
    times = min(int(total / order.amount * (1 + NEAR)), len(payments))  # one payment that is too large is no second
    if said is True:
        times = max(times, 1)
    paid = None if said is False and times else times > 0
    rest = EXACT.subtract(total, EXACT.multiply(order.amount, Decimal(times)))
    return Coverage(
        paid=paid,
        times=None if paid is None else times,
        amount=amount,
        missing=EXACT.subtract(order.amount, total) if times == 0 else None,
        excess=rest if times and rest > order.amount * NEAR else None,
        paid_at=_covered_at(order.amount, payments) or last,
    )


def _said(payments: Sequence[SeenPayment]) -> bool | None:
    """Return whether the service says that the request is paid; an earlier list may say no, a later one yes."""
    said = {each.has_been_paid for each in payments}
    return True if True in said else False if False in said else None


def _covered_at(amount: Decimal, payments: Sequence[SeenPayment]) -> pd.Timestamp | None:
    """Return the time of the payment with which an amount was paid in full; None if it was not."""
    total = Decimal(0)
    for each in payments:
        total = EXACT.add(total, each.amount or Decimal(0))
        if total >= amount * (1 - NEAR):
            return each.time
    return None


def _is_comparable(order: ExpectedOrder, payments: Sequence[SeenPayment]) -> bool:
    """Return True if the amounts of payments are in the unit of the order's.

    No documentation says in which currency a listed amount is. It makes no difference if the token is the invoice
    currency, or pegged to it; and a payment of exactly the order's amount is in its currency.
    """
    if order.amount is None or order.invoice_currency is None:
        return False
    unit = _unit_of(order.invoice_currency)
    is_same = all(each.payment_currency and _unit_of(each.payment_currency) == unit for each in payments)
    return is_same or any(each.amount == order.amount for each in payments)


def _unit_of(currency_id: str) -> str:
    """Return the fiat currency that a currency is worth by the word of its issuer, or its id; in lower case."""
    known = find_currency(currency_id)
    if known is None and (network := network_in_id(currency_id)) is not None:
        symbol = currency_id[: -len(f"-{network.name}")]
        known = Currency(id=currency_id, kind="erc20", network=network.name, symbol=symbol, decimals=0, address="")
    return ((known and peg_of(known)) or currency_id).lower()
