"""List payments as a DataFrame."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

import pandas as pd

from payerkit.checks.schema import MASK
from payerkit.client.client import Client
from payerkit.endpoints import endpoint
from payerkit.errors import InvalidInput, PaymentListWarning, kind_of
from payerkit.frames import columns, frame_of
from payerkit.masking import mask
from payerkit.onchain.amounts import EXACT, format_number
from payerkit.payouts.read_pages import cell_text, read_all_pages
from payerkit.wire import check_id, our_name, pandas_time, read_decimal, read_time, wire_name
from payerkit.wording import listed

DTYPES = columns(
    "reference timestamp type amount currency payment_currency has_been_paid source_network destination_network "
    "payment_id request_id payment_reference source_tx_hash destination_tx_hash",
    time="timestamp",
    object="amount",
    boolean="has_been_paid",
)
"""Columns of every payment and their dtypes; those of the fees follow."""

_OF_REQUEST = ("request_id", "payment_reference", "reference")
"""Columns that are members of the request inside a payment, by the operator's documentation."""

_OTHERS = ("fees", "note", "detection_source", "customer")
"""Columns of text that come after the fees."""

_FEE_TYPE = re.compile(r"[a-z][a-z0-9_]{0,30}")


def payments_frame(records: Sequence[Mapping[str, Any]], *, reveal: bool = False) -> pd.DataFrame:
    """Return one row per payment, as `list_payments` returns them."""
    fees = [_read_fees(record.get("fees")) for record in records]
    others = sorted({fee.kind for each in fees for fee in each or () if _FEE_TYPE.fullmatch(fee.kind)} - {"protocol"})
    kinds = {f"fee_{kind}": kind for kind in ("protocol", *others)}
    rows = [
        _row(record, reveal=reveal) | {name: _sum_of(each, kind) for name, kind in kinds.items()} | _fee_cells(each)
        for record, each in zip(records, fees, strict=True)
    ]
    dtypes = DTYPES | dict.fromkeys([*kinds, "fees_usd"], "object") | dict.fromkeys(_OTHERS, "string")
    table = frame_of(rows, dtypes)
    table["duplicate_of"] = pd.array(find_duplicates(table), dtype="Int64")
    if not reveal:  # the duplicates were found by the references as they are
        table["reference"] = pd.array([mask("reference", row["reference"]) for row in rows], dtype="string")
    return table


def find_duplicates(table: pd.DataFrame) -> list[int | None]:
    """Return for each row the number of the first row with the same payment, or None.

    Payments are the same if their ids are; without ids, if transaction, request and amount are. A masked reference does
    not tell whose payment it is.
    """
    names = ["payment_id", "source_tx_hash", "destination_tx_hash", "request_id", "payment_reference", "reference"]
    texts = [[None if pd.isna(cell) else str(cell) for cell in table[name]] for name in names]
    seen: dict[tuple[Any, ...], int] = {}
    found: list[int | None] = []
    for number, (payment_id, *content, amount) in enumerate(zip(*texts, table["amount"], strict=True)):
        *hashes, request_id, on_chain, reference = content
        is_told = any(hashes) and (request_id or on_chain or reference != MASK)
        key = (payment_id,) if payment_id else (*content, read_decimal(amount)) if is_told else (number,)
        first = seen.setdefault(key, number)
        found.append(None if first == number else first)
    return found


def _row(record: Mapping[str, Any], *, reveal: bool) -> dict[str, Any]:
    """Return the columns of a payment but those of its fees; its reference is shown."""
    given = record.get("request")
    request = given if isinstance(given, dict) else {}
    cells: dict[str, Any] = {name: cell_text(record.get(wire_name(name))) for name in DTYPES}
    cells |= {name: cell_text(request.get(wire_name(name)) or record.get(wire_name(name))) for name in _OF_REQUEST}
    is_paid, customer, note = request.get("hasBeenPaid"), request.get("customerInfo"), cell_text(record.get("note"))
    return cells | {
        "payment_id": cell_text(record.get("id")),
        "timestamp": pandas_time(read_time(record.get("timestamp"), milliseconds=True)),
        "amount": read_decimal(record.get("amount")),
        "has_been_paid": is_paid if isinstance(is_paid, bool) else None,
        "note": note if reveal else mask("note", note),
        "detection_source": cell_text(record.get("detectionSource")),
        "customer": (json.dumps(customer, ensure_ascii=False) if reveal else MASK) if customer else None,
    }


class Fee(NamedTuple):
    """A fee of a payment. amount: in its currency; in_usd: in US dollars. Both are None if they are not known."""

    kind: str
    amount: Decimal | None
    currency: str
    in_usd: Decimal | None


def _read_fees(value: object) -> list[Fee] | None:
    """Return the fees of a payment; None if the service does not say them."""
    if not isinstance(value, list):
        return None
    return [
        Fee(
            our_name(cell_text(fee.get("type")) or "unknown").replace("-", "_"),  # "crypto-to-fiat" is documented
            read_decimal(fee.get("amount")),
            cell_text(fee.get("currency")) or "",
            read_decimal(fee.get("amountInUSD")),
        )
        for fee in value
        if isinstance(fee, dict)
    ]


def _sum_of(fees: Iterable[Fee] | None, kind: str) -> Decimal | None:
    """Return the sum of the fees of a type; None if there are none, and if they cannot be added up."""
    found = [fee for fee in fees or () if fee.kind == kind]
    return total_of(fee.amount for fee in found) if len({fee.currency.lower() for fee in found}) == 1 else None


def _fee_cells(fees: Sequence[Fee] | None) -> dict[str, Any]:
    """Return the columns of all fees: as text, such as "protocol 0.0255 USDC-sepolia", and their sum in US dollars."""
    words = (
        f"{fee.kind} {'unknown' if fee.amount is None else format_number(fee.amount)} {fee.currency}".rstrip()
        for fee in fees or ()
    )
    in_usd = None if fees is None else total_of(fee.in_usd for fee in fees)
    return {"fees": "; ".join(words) or None, "fees_usd": in_usd}


def total_of(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """Return the exact sum of amounts; None if one of them is not known."""
    total = Decimal(0)
    for amount in amounts:
        if amount is None:
            return None
        total = EXACT.add(total, amount)
    return total


PAYMENT_TYPES = ("direct", "conversion", "crosschain", "recurring")
"""The types of payments (operator's documentation, GET /v2/payments)."""

_WIRE_NAMES = {"wallet": "walletAddress", "payment_type": "type"}
"""Filters whose names on the wire are other words."""


@endpoint
def list_payments(  # noqa: PLR0913 - the published filters, each by name
    client: Client,
    *,
    reference: str | None = None,
    request_id: str | None = None,
    payment_reference: str | None = None,
    tx_hash: str | None = None,
    wallet: str | None = None,
    payment_type: str | None = None,
    invoice_currency: str | None = None,
    payment_currency: str | None = None,
    from_date: datetime | date | str | None = None,
    to_date: datetime | date | str | None = None,
    page_size: int = 100,
    reveal: bool = False,
) -> pd.DataFrame:
    """Return the payments that were seen on the blockchain, those of all pages; `reconcile` compares them with orders.

    `GET /v2/payments`: publicly documented, **beyond the specification**. It has no unpaid requests: `list_requests`
    returns these, too.

    Args:
        client: From `connect()` or `sandbox()`.
        reference: Only payments of the request with this reference of yours. Of this filter and the next seven, give
            one at least.
        request_id: Only those of the request with this id of the service.
        payment_reference: Only those with this reference on the blockchain.
        tx_hash: Only those that this transaction made.
        wallet: Only those of the wallet with this address.
        payment_type: "direct", "conversion", "crosschain" or "recurring".
        invoice_currency: Only those of requests in this currency, such as "USD".
        payment_currency: Only those in this token, such as "USDC-sepolia".
        from_date: Only those from this time on: a datetime with its time zone, a date, or ISO 8601 text of either. A
            date begins and ends in UTC.
        to_date: Only those until then; a date is included.
        page_size: Payments per call, 1 to 1000. Each page is a call, and waits for its turn like any other.
        reveal: Show what is known of the customer, and references that hold an e-mail address.

    Returns:
        One row per payment. Columns: `reference`; `timestamp` (UTC); `type`; `amount` (Decimal), `currency` and
        `payment_currency` as the service has them; `has_been_paid` (boolean): whether the whole request is paid;
        `source_network`, `destination_network`; `payment_id`, `request_id`, `payment_reference`, `source_tx_hash`,
        `destination_tx_hash`; a column per type of fee (Decimal), such as `fee_crypto_to_fiat`, `fee_protocol` at
        least, missing if its amounts are unknown or in several currencies; `fees_usd` (Decimal), the fees in US
        dollars, missing if one is unknown; `fees`, all of them as text; `note` and `detection_source`, if the service
        has them; `customer`, masked; `duplicate_of` (Int64): the row that has the same payment already. One transaction
        may make several payments: these are no duplicates. Text has dtype `string`.

    Raises:
        InvalidInput: Without a filter, and for values that cannot be sent. Nothing was sent.
        NotSent: If a request never left this machine.
        Refused: If the service refused a call; for a known reason, as WrongKey, NotFound or RateLimited.
        ServiceError: If the service failed.
        UnreadableAnswer: If a response is not what the API documents.

    Warns:
        PaymentListWarning: If a payment may be missing: the list changed while it was read, or its pages have fewer
            payments than the service counts.

    Example:
        >>> request = create_request(client, amount="25.50", invoice_currency="USD", payment_currency="USDC-sepolia")
        >>> list_payments(client, reference=request.reference).empty  # nobody has paid it
        True
    """
    filters = {
        "reference": reference,
        "request_id": request_id,
        "payment_reference": payment_reference,
        "tx_hash": tx_hash,
        "wallet": wallet,
        "payment_type": payment_type,
        "invoice_currency": invoice_currency,
        "payment_currency": payment_currency,
    }
    query = _read_filters(filters) | _read_period(from_date, to_date)
    records, problem = read_all_pages(client, "payments", query, page_size)
    if problem:
        warnings.warn(PaymentListWarning(problem), stacklevel=4)  # the caller is above two decorators
    return payments_frame(records, reveal=reveal is True)


def _read_filters(filters: Mapping[str, Any]) -> dict[str, str]:
    """Return the filters that are given, by their names on the wire. Raises InvalidInput without any."""
    given = {name: check_id(value, name) for name, value in filters.items() if value is not None}
    if not given:
        raise InvalidInput(f"Give one of {listed(filters, 'or')}; a period alone is not enough. Nothing was sent.")
    if given.get("payment_type", PAYMENT_TYPES[0]) not in PAYMENT_TYPES:
        raise InvalidInput(f"payment_type: expected {listed(map(repr, PAYMENT_TYPES), 'or')}. Nothing was sent.")
    return {_WIRE_NAMES.get(name, wire_name(name)): value for name, value in given.items()}


def _read_period(from_date: object, to_date: object) -> dict[str, str]:
    """Return the period as the service reads it, in ISO 8601 with Z.

    Raises InvalidInput for what is no time, and if the period ends before it begins.
    """
    first = _read_moment(from_date, "from_date", time.min)
    last = _read_moment(to_date, "to_date", time(23, 59, 59, 999000))
    if first is not None and last is not None and first > last:
        raise InvalidInput("from_date, to_date: the period ends before it begins. Nothing was sent.")
    given = {name: moment for name, moment in (("fromDate", first), ("toDate", last)) if moment is not None}
    return {name: moment.isoformat(timespec="milliseconds").replace("+00:00", "Z") for name, moment in given.items()}


def _read_moment(value: object, name: str, of_day: time) -> datetime | None:
    """Return a time in UTC; None without one. of_day: which moment of a day is meant, where only the day is given."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value) if len(value) <= len("2026-11-30") else datetime.fromisoformat(value)
        except ValueError:
            raise InvalidInput(f'{name}: expected ISO 8601, such as "2026-11-30". Nothing was sent.') from None
    if not isinstance(value, date):
        raise InvalidInput(f"{name}: expected a datetime, a date or ISO 8601 text, got {kind_of(value)}.")
    if not isinstance(value, datetime):
        return datetime.combine(value, of_day, UTC)
    if value.tzinfo is None:
        raise InvalidInput(f"{name}: give a time with its time zone, such as datetime.now(UTC). Nothing was sent.")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{name}: this time is out of range. Nothing was sent.") from None
