"""Payments as a DataFrame: amounts as exact decimals, times in UTC, fees as columns, personal data masked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import pandas as pd

from payerkit.checks.schema import MASK
from payerkit.frames import frame_of
from payerkit.masking import mask
from payerkit.onchain.amounts import EXACT, format_number
from payerkit.wire import first, our_name, pandas_time, read_decimal, read_time

TIME: Final = "datetime64[ns, UTC]"

DTYPES = {
    "payment_id": "string",
    "request_id": "string",
    "payment_reference": "string",
    "reference": "string",
    "timestamp": TIME,
    "type": "string",
    "amount": "object",
    "currency": "string",
    "payment_currency": "string",
    "source_network": "string",
    "destination_network": "string",
    "source_tx_hash": "string",
    "destination_tx_hash": "string",
    "has_been_paid": "boolean",
}
"""Columns of every payment and their dtypes; those of the fees follow."""

_OF_PAYMENT = {
    "payment_id": "id",
    "type": "type",
    "currency": "currency",
    "payment_currency": "paymentCurrency",
    "source_network": "sourceNetwork",
    "destination_network": "destinationNetwork",
    "source_tx_hash": "sourceTxHash",
    "destination_tx_hash": "destinationTxHash",
}
"""Columns of text and their members of a payment, by the operator's documentation."""

_OF_REQUEST = {"request_id": "requestId", "payment_reference": "paymentReference", "reference": "reference"}
"""Columns of text and their members of the request inside a payment, likewise."""

_FEE_TYPE = re.compile(r"[a-z][a-z0-9_]{0,30}")


def payments_frame(records: Sequence[Mapping[str, Any]], *, reveal: bool = False) -> pd.DataFrame:
    """Return one row per payment, as `list_payments` returns them."""
    rows = [_row(record) for record in records]
    table = frame_of(rows, DTYPES)
    fees = [_read_fees(record.get("fees")) for record in records]
    for kind in dict.fromkeys(["protocol", *sorted({kind for each in fees for kind, *_ in each or ()})]):
        if _FEE_TYPE.fullmatch(kind):
            table[f"fee_{kind}"] = pd.Series([_sum_of(each, kind) for each in fees], dtype=object)
    table["fees_usd"] = pd.Series([_sum_in_usd(each) for each in fees], dtype=object)
    table["fees"] = pd.array([_fees_text(each) for each in fees], dtype="string")
    customers = (_member(record, "request").get("customerInfo") for record in records)
    table["customer"] = pd.array([_customer(each, reveal=reveal) for each in customers], dtype="string")
    table["duplicate_of"] = pd.array(find_duplicates(table), dtype="Int64")
    if not reveal:  # the duplicates were found by the references as they are
        table["reference"] = pd.array([mask("reference", row["reference"]) for row in rows], dtype="string")
    return table


def find_duplicates(table: pd.DataFrame) -> list[int | None]:
    """Return for each row the number of the first row with the same payment, or None.

    Payments are the same if their ids are; where one of them has no id, if transaction, request and amount are. A
    masked reference does not tell whose payment it is.
    """
    names = ["payment_id", "source_tx_hash", "destination_tx_hash", "request_id", "payment_reference", "reference"]
    texts = [[None if pd.isna(cell) else str(cell) for cell in table[name]] for name in names]
    by_id: dict[str, int] = {}
    by_content: dict[tuple[Any, ...], int] = {}
    without_id: dict[tuple[Any, ...], int] = {}
    found: list[int | None] = []
    for number, (payment_id, *content, amount) in enumerate(zip(*texts, table["amount"], strict=True)):
        *hashes, request_id, on_chain, reference = content
        is_told = any(hashes) and (request_id or on_chain or reference != MASK)
        key = (*content, read_decimal(amount)) if is_told else None
        known = by_content.get(key) if payment_id is None else by_id.get(payment_id, without_id.get(key))  # type: ignore[arg-type]  # None is never a key
        found.append(known)
        if known is None and payment_id is not None:
            by_id[payment_id] = number
        if known is None and key is not None:
            by_content.setdefault(key, number)
            if payment_id is None:
                without_id[key] = number
    return found


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a payment but those of its fees."""
    request = _member(record, "request")
    cells: dict[str, Any] = {column: _text(record.get(name)) for column, name in _OF_PAYMENT.items()}
    cells |= {column: _text(first(request, name) or record.get(name)) for column, name in _OF_REQUEST.items()}
    cells["timestamp"] = pandas_time(read_time(record.get("timestamp"), milliseconds=True))
    cells["amount"] = read_decimal(record.get("amount"))
    is_paid = request.get("hasBeenPaid")
    cells["has_been_paid"] = is_paid if isinstance(is_paid, bool) else None
    return cells


def _member(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    """Return text or a number as text; None for anything else, and for empty text."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) or None


Fee = tuple[str, Decimal | None, str, Decimal | None]
"""The type of a fee, its amount, the currency of it, and the amount in US dollars."""


def _read_fees(value: object) -> list[Fee] | None:
    """Return the fees of a payment; None if the service does not say them."""
    if not isinstance(value, list):
        return None
    return [
        (
            our_name(_text(fee.get("type")) or "unknown"),
            read_decimal(fee.get("amount")),
            _text(fee.get("currency")) or "",
            read_decimal(fee.get("amountInUSD")),
        )
        for fee in value
        if isinstance(fee, dict)
    ]


def _sum_of(fees: Iterable[Fee] | None, kind: str) -> Decimal | None:
    """Return the sum of the fees of a type; None if there are none, and if they cannot be added up."""
    found = [(amount, currency.lower()) for each, amount, currency, _ in fees or () if each == kind]
    return total_of(amount for amount, _ in found) if len({currency for _, currency in found}) == 1 else None


def _sum_in_usd(fees: Iterable[Fee] | None) -> Decimal | None:
    return None if fees is None else total_of(usd for *_, usd in fees)


def total_of(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """Return the exact sum of amounts; None if one of them is not known."""
    total = Decimal(0)
    for amount in amounts:
        if amount is None:
            return None
        total = EXACT.add(total, amount)
    return total


def _fees_text(fees: Iterable[Fee] | None) -> str | None:
    """Return all fees as text, such as "protocol 0.0255 USDC-sepolia"; None if there are none."""
    lines = (
        f"{kind} {'unknown' if amount is None else format_number(amount)} {currency}".rstrip()
        for kind, amount, currency, _ in fees or ()
    )
    return "; ".join(lines) or None


def _customer(customer: object, *, reveal: bool) -> str | None:
    """Return what is known of the customer as JSON; masked unless revealed, None if nothing is known."""
    if not customer:
        return None
    return json.dumps(customer, ensure_ascii=False) if reveal else MASK
