"""What a payment pays: a payment of `POST /v1/pay` to a wallet, or a request that is paid out to a bank account."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eth_utils import to_checksum_address
from sqlalchemy import ColumnElement, select

from payerkit.service.errors import Problem
from payerkit.service.store import Store
from payerkit.service.stored_rows import PaymentRow, RequestRow

OPERATOR_ADDRESS = to_checksum_address("0x" + "0ff0" * 10)
"""Who receives the crypto of all payouts: an invented address, of which nobody has the key."""

_RENAMED = {"usdc-sepolia": "fUSDC-sepolia"}
"""Ids of newer documentation for tokens that the token list has under another id; the address is the same."""


@dataclass(frozen=True, slots=True)
class Bill:
    """An order that is paid by its reference on the blockchain. payment_reference: as text, with 0x.

    order: with its payee, who is the operator if it is paid out. reference, customer: as the user sent them with a
    request.
    """

    request_id: str
    payment_reference: str
    order: Mapping[str, str]
    is_payout: bool
    reference: str | None = None
    customer: Mapping[str, Any] | None = None


def find_bill(store: Store, request_id: str) -> Bill:
    """Return the payment or the request with an id. Raises Problem (404) if there is none."""
    bill = _find_request(store, RequestRow.request_id == request_id)
    bill = bill or _find_payment(store, PaymentRow.request_id == request_id)
    if bill is None:
        raise Problem(404, f"Request {request_id} not found")
    return bill


def find_request(store: Store, request_id: str) -> Bill:
    """Return the request with an id. Raises Problem (404) if there is none, though there may be a payment."""
    bill = _find_request(store, RequestRow.request_id == request_id)
    if bill is None:
        raise Problem(404, f"Request {request_id} not found")
    return bill


def find_by_payment_reference(store: Store, payment_reference: str) -> Bill | None:
    """Return what is paid with a reference on the blockchain, or None."""
    bill = _find_request(store, RequestRow.payment_reference == payment_reference)
    return bill or _find_payment(store, PaymentRow.payment_reference == payment_reference)


def _find_request(store: Store, there: ColumnElement[bool]) -> Bill | None:
    with store.database.read() as connection:
        query = select(RequestRow.__table__).where(there, RequestRow.world_id == store.world_id)
        row = connection.execute(query).first()
    if row is None:
        return None
    body = store.database.cipher.unseal(f"request {row.request_id}", row.sealed)
    return Bill(
        row.request_id,
        row.payment_reference,
        order_to_operator(body),
        is_payout=True,
        reference=body.get("reference"),
        customer=body.get("customerInfo"),
    )


def _find_payment(store: Store, there: ColumnElement[bool]) -> Bill | None:
    with store.database.read() as connection:
        query = select(PaymentRow.__table__).where(there, PaymentRow.world_id == store.world_id)
        row = connection.execute(query).first()
    if row is None:
        return None
    values = json.loads(store.database.cipher.unseal(f"payment {row.request_id}", row.sealed)["order"])
    order = dict(zip(("payee", "amount", "invoiceCurrency", "paymentCurrency"), values, strict=True))
    return Bill(row.request_id, row.payment_reference or "", order, is_payout=False)


def order_to_operator(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the body of a request as an order that pays the operator, with the token list's id of the currency."""
    return {
        "payee": OPERATOR_ADDRESS,
        "amount": str(body["amount"]),
        "invoiceCurrency": str(body["invoiceCurrency"]),
        "paymentCurrency": listed_id(str(body["paymentCurrency"])),
    }


def listed_id(currency: str) -> str:
    """Return the id that the token list has for a currency; one that it does not have stays as it is."""
    return _RENAMED.get(currency.lower(), currency)
