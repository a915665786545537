"""Lists of the service, read page by page: payments, and requests, among them one whose response was lost."""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from payerkit.checks.schema import MASK
from payerkit.client.call import Call
from payerkit.client.client import Client
from payerkit.client.pace import MAX_LOOKUPS, RECONCILE_AFTER
from payerkit.endpoints import endpoint
from payerkit.errors import InvalidInput, PaymentListWarning, kind_of
from payerkit.frames import columns, frame_of
from payerkit.masking import mask
from payerkit.models import PaymentRequest, PayoutOrder
from payerkit.onchain.amounts import EXACT, format_number
from payerkit.onchain.currencies import find_currency
from payerkit.payouts.request_calls import OWN_REFERENCE
from payerkit.wire import check_id, our_name, pandas_time, read_decimal, read_time, wire_name
from payerkit.wording import count_of, listed

if TYPE_CHECKING:
    import pandas as pd

_ROUTES = {"payments": "/v2/payments", "requests": "/v2/request"}

_PAGE_SIZE = 100
"""Records per call: the most requests that the documentation allows."""

_MOST_PAGES = 2000
"""Pages of a list at most: a service may have no end of them."""

_NOT_OFFERED = "The service does not offer this call, which is beyond the specification."


class Page:
    """One page of a list, from parsed JSON; `null` in place of the records counts as no records.

    Raises ValueError for anything else that is not a list of objects.
    total: how many records the service counts; has_more: whether others follow. Each is None if it does not say.
    """

    def __init__(self, name: str, content: Any) -> None:
        found: Any = content.get(name, "missing") if isinstance(content, dict) else "missing"
        self.records: list[dict[str, Any]] = [] if found is None else found
        if not isinstance(self.records, list) or not all(isinstance(each, dict) for each in self.records):
            raise ValueError(f"expected a list of {name}")
        pagination: Any = content.get("pagination")
        pagination = pagination if isinstance(pagination, dict) else {}
        total, has_more = pagination.get("total"), pagination.get("hasMore")
        self.total = total if type(total) is int else None
        self.has_more = has_more if isinstance(has_more, bool) else None


def read_all_pages(
    client: Client, name: Literal["payments", "requests"], query: Mapping[str, str]
) -> tuple[list[dict[str, Any]], str]:
    """Return the records of all pages of a list, and why one may be missing, or "".

    Reading stops where the service says that the list ends. If it does not say so, reading stops at the first page
    without a new record. In any case, it stops after `_MOST_PAGES` pages.
    """
    noun = name.removesuffix("s")
    records: list[dict[str, Any]] = []
    seen: set[str] = set()
    totals: dict[int, None] = {}
    is_changed = False
    for _ in range(_MOST_PAGES):
        call = Call(
            operation=f"list_{name}",
            method="GET",
            route=_ROUTES[name],
            query={**query, "limit": str(_PAGE_SIZE), "offset": str(len(records))},
            read=partial(Page, name),
            hints=dict.fromkeys((404, 405), _NOT_OFFERED),
        )
        page = client.send(call)
        totals |= dict.fromkeys([] if page.total is None else [page.total])
        marks = {json.dumps(each, sort_keys=True) for each in page.records}
        is_new = not seen.issuperset(marks)
        is_followed = page.has_more
        if is_followed is None:
            is_followed = page.total is None or len(records) + len(page.records) < page.total
        if is_new or not is_followed:
            is_changed |= not seen.isdisjoint(marks)
            records += page.records
            seen |= marks
        if not is_followed or not is_new:
            is_end = not is_followed or (page.total is None and page.has_more is None and not marks)
            return records, _problem(noun, list(totals), len(records), is_changed=is_changed, is_end=is_end)
    return records, (
        f"After {_MOST_PAGES:,} pages with {count_of(len(records), noun)} the service says that more follow: some "
        "may be missing. Call again with a narrower filter."
    )


def _problem(noun: str, totals: list[int], read: int, *, is_changed: bool, is_end: bool) -> str:
    """Return why a record may be missing from a list, or ""."""
    some = "some may be missing. Call again with a narrower filter."
    one = "may be missing, or be there twice. Call again."
    if len(totals) > 1:
        counts = f"{totals[0]:,} to {count_of(totals[-1], noun)}"
        return f"While the list was read, its length changed from {counts}: one {one}"
    if is_changed:
        return f"While the list was read, it changed: a {noun} {one}"
    if totals and totals[0] != read:
        return f"The service counts {count_of(totals[0], noun)}, and its pages have {read:,}: {some}"
    if not is_end:
        return f"The service does not say that the list ends, and its next page has nothing new: {some}"
    return ""


def cell_text(value: object) -> str | None:
    """Return text or a number as text; None for anything else, and for empty text."""
    return str(value) or None if isinstance(value, str | int) and not isinstance(value, bool) else None


def id_key(value: str) -> str:
    """Return an id or a reference without what tells nothing apart: the case of letters, and blanks around words."""
    return " ".join(value.split()).casefold()


PAYMENT_DTYPES = columns(
    "reference timestamp type amount currency payment_currency has_been_paid source_network destination_network "
    "payment_id request_id payment_reference source_tx_hash destination_tx_hash",
    time="timestamp",
    object="amount",
    boolean="has_been_paid",
)
"""Columns of every payment and their dtypes; those of the fees follow."""

_OF_REQUEST = ("request_id", "payment_reference", "reference")
"""Columns that are members of the request inside a payment, by the operator's documentation."""

_HASHES = ("source_tx_hash", "destination_tx_hash")

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
    for row, first in zip(rows, find_duplicates(rows), strict=True):  # found by the references as they are
        row["duplicate_of"] = first
        row["reference"] = row["reference"] if reveal else mask("reference", row["reference"])
    dtypes = PAYMENT_DTYPES | dict.fromkeys([*kinds, "fees_usd"], "object") | dict.fromkeys(_OTHERS, "string")
    return frame_of(rows, dtypes | {"duplicate_of": "Int64"})


def find_duplicates(rows: Iterable[Mapping[str, Any]]) -> list[int | None]:
    """Return for each row the number of the first row with the same payment, or None.

    Payments are the same if their ids are; without ids, if transaction, request and amount are. A masked reference does
    not tell whose payment it is.
    """
    seen: dict[tuple[Any, ...], int] = {}
    found: list[int | None] = []
    for number, row in enumerate(rows):
        hashes, ids = [row[name] for name in _HASHES], [row[name] for name in _OF_REQUEST]
        is_told = any(hashes) and (any(ids[:2]) or row["reference"] != MASK)
        content = (*hashes, *ids, read_decimal(row["amount"])) if is_told else (number,)
        first = seen.setdefault((row["payment_id"],) if row["payment_id"] else content, number)
        found.append(None if first == number else first)
    return found


def _row(record: Mapping[str, Any], *, reveal: bool) -> dict[str, Any]:
    """Return the columns of a payment but those of its fees; its reference is shown."""
    given = record.get("request")
    request = given if isinstance(given, dict) else {}
    cells: dict[str, Any] = {name: cell_text(record.get(wire_name(name))) for name in PAYMENT_DTYPES}
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
    records, problem = read_all_pages(client, "payments", query)
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
    first = _read_moment(from_date, "from_date", time_of_day.min)
    last = _read_moment(to_date, "to_date", time_of_day(23, 59, 59, 999000))
    if first is not None and last is not None and first > last:
        raise InvalidInput("from_date, to_date: the period ends before it begins. Nothing was sent.")
    given = {name: moment for name, moment in (("fromDate", first), ("toDate", last)) if moment is not None}
    return {name: moment.isoformat(timespec="milliseconds").replace("+00:00", "Z") for name, moment in given.items()}


def _read_moment(value: object, name: str, of_day: time_of_day) -> datetime | None:
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


REQUEST_DTYPES = columns(
    "reference created_at status has_been_paid amount invoice_currency payment_currency request_id payment_reference "
    "tx_hash payee payer",
    time="created_at",
    object="amount",
    boolean="has_been_paid",
)
"""Columns of every request and their dtypes."""


@endpoint
def list_requests(
    client: Client,
    *,
    reference: str | None = None,
    wallet: str | None = None,
    reveal: bool = False,
) -> pd.DataFrame:
    """Return the requests of this key, unpaid ones too, those of all pages.

    `GET /v2/request`: publicly documented, **beyond the specification**.

    It settles whether `create_request` created a request when no response came, by its reference: exactly one row that
    equals the order, and is not older than the call, is the request. An older or a different one, or several, are for
    a person to decide. It was not created only if two whole lists, a minute apart, lack it. A payment of
    `initiate_payment` has no reference, so no list settles whether it was created.

    Args:
        client: From `connect()` or `sandbox()`.
        reference: Only requests with this reference of yours, whatever its case and blanks. The service has no such
            filter: all pages are read.
        wallet: Only those of the wallet with this address.
        reveal: Show references that hold an e-mail address.

    Returns:
        One row per request. Columns: `reference`; `created_at` (UTC); `status`, the service's word; `has_been_paid`
        (boolean): whether all of it is paid on the blockchain; `amount` (Decimal), `invoice_currency`,
        `payment_currency`; `request_id`, `payment_reference`; `tx_hash`, `payee` and `payer` as the service has them.
        Text has dtype `string`.

    Raises:
        InvalidInput: For values that cannot be sent. Nothing was sent.
        NotSent: If a request never left this machine.
        Refused: If the service refused a call; for a known reason, as WrongKey, NotFound or RateLimited.
        ServiceError: If the service failed.
        UnreadableAnswer: If a response is not what the API documents.

    Warns:
        PaymentListWarning: If a request may be missing, as `list_payments` does: this list is not a whole one.

    Example:
        >>> request = create_request(client, amount="25.50", invoice_currency="USD", payment_currency="USDC-sepolia")
        >>> list_requests(client, reference=request.reference)[["amount", "status", "has_been_paid"]]
          amount   status  has_been_paid
        0  25.50  pending          False
    """
    query = {} if wallet is None else {"walletAddress": check_id(wallet, "wallet")}
    wanted = None if reference is None else check_id(reference, "reference")
    records, problem = read_all_pages(client, "requests", query)
    if problem:
        warnings.warn(PaymentListWarning(problem), stacklevel=4)  # the caller is above two decorators
    rows = read_requests(records, wanted)
    return frame_of(rows if reveal is True else mask("", rows), REQUEST_DTYPES)


def read_requests(records: Iterable[Mapping[str, Any]], reference: str | None = None) -> list[dict[str, Any]]:
    """Return the cells of requests, each request once, as the last page has it. reference: only those that have it."""
    rows: dict[Any, dict[str, Any]] = {}
    for place, record in enumerate(records):
        cells: dict[str, Any] = {name: cell_text(record.get(wire_name(name))) for name in REQUEST_DTYPES}
        is_paid = record.get("hasBeenPaid")
        rows[cells["request_id"] or place] = cells | {
            "created_at": pandas_time(read_time(record.get("createdAt"), milliseconds=True)),
            "amount": read_decimal(record.get("amount")),
            "has_been_paid": is_paid if isinstance(is_paid, bool) else None,
        }
    return [row for row in rows.values() if reference is None or id_key(row["reference"] or "") == id_key(reference)]


SearchState = Literal["not_yet", "created", "absent", "unclear"]
"""Too few looks so far, the request is there, it is not there, or only a person can decide."""


class RequestSearch:
    """Looks for a request whose response was lost, and counts the whole lists in which it was missing.

    order: what is sent now, with its reference. clock: the time in seconds. retry_at: when the next look counts.
    """

    def __init__(self, order: PayoutOrder, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._order, self._clock = order, clock
        self._sent_at, self.retry_at = datetime.now(UTC), clock() + RECONCILE_AFTER
        self._looks = 0
        self.state: SearchState = "not_yet"

    def look(self, client: Client) -> PaymentRequest | None:
        """Take one look at the requests, and return the one that was created. Raises the errors of `list_requests`."""
        records, problem = read_all_pages(client, "requests", {})
        found = read_requests(records, self._order.reference)
        if len(found) == 1 and not problem and self._is_created(found[0]):
            self.state = "created"
            created = {wire_name(name): found[0][name] for name in PaymentRequest.model_fields}
            return PaymentRequest.read(created, order=self._order)
        if not found and not problem and self._clock() >= self.retry_at:  # before that, a look proves nothing
            self._looks, self.retry_at = self._looks + 1, self._clock() + RECONCILE_AFTER
        self.state = "unclear" if found else "absent" if self._looks >= MAX_LOOKUPS else "not_yet"
        return None

    def _is_created(self, row: Mapping[str, Any]) -> bool:
        """Return True if a request equals the order, and is not older than the call."""
        order, own = self._order, str(self._order.reference).startswith(OWN_REFERENCE)  # which no older request has
        is_new = own or (row["created_at"] is not None and row["created_at"] >= self._sent_at)
        return bool(row["request_id"]) and is_new and has_terms(row, order)


def has_terms(row: Mapping[str, Any], order: Any) -> bool:
    """Return True if a request has the amount and the currencies of an order, as far as the order says them."""
    is_amount = order.amount is None or read_decimal(row["amount"]) == read_decimal(order.amount)
    named = [(getattr(order, name), row[name]) for name in ("invoice_currency", "payment_currency")]
    return is_amount and all(not own or _currency(own) == _currency(listed) for own, listed in named)


def _currency(name: str | None) -> object:
    """Return a value that is equal for two names of one currency: services may have another id for it."""
    return find_currency(name or "") or id_key(name or "")
