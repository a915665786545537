"""Lists of the service, read page by page: payments and requests."""

from __future__ import annotations

import json
import re
import unicodedata
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from payerkit._tsv import grouped
from payerkit.client.call import Call
from payerkit.client.client import Client
from payerkit.endpoints import endpoint
from payerkit.errors import InvalidInput, PaymentListWarning
from payerkit.frames import columns, frame_of
from payerkit.masking import mask
from payerkit.payments.onchain.amounts import EXACT, format_number
from payerkit.payments.onchain.currencies import find_currency
from payerkit.redaction import MASK
from payerkit.wire import (
    check_id,
    our_name,
    read_decimal,
    read_time,
    wire_name,
)
from payerkit.wording import count_of, listed

if TYPE_CHECKING:
    import pandas as pd

ListName = Literal["payments", "requests"]

_ROUTES = {"payments": "/v2/payments", "requests": "/v2/request"}

_IDS = {"payments": "id", "requests": "requestId"}
"""The members with the id of a record."""

_PAGE_SIZE = 100
"""Records per call: the most requests that the documentation allows."""

_MOST_PAGES = 2000
"""Pages of a list at most: a service may have no end of them."""

_NOT_OFFERED = (
    "The service does not offer this call, which is beyond the specification."
)


class Page(NamedTuple):
    """One page of a list. total: how many records the service counts; has_more: whether
    others follow. Each is None if it does not say.
    """

    records: list[dict[str, Any]]
    total: int | None
    has_more: bool | None

    def is_last(self, read: int) -> bool:
        """Return True if the service says that the list ends here, after so many
        records.
        """
        if self.has_more is not None:
            return not self.has_more
        is_short = len(self.records) < _PAGE_SIZE
        return self.total is not None and read >= self.total and is_short


def _read_page(name: ListName, content: Any) -> Page:
    """Return a page from parsed JSON; `null` in place of the records counts as no
    records. Raises ValueError for anything else that is not a list of objects.
    """
    records = content.get(name, "missing") if isinstance(content, dict) else ""
    if records is None:
        records = []
    if not isinstance(records, list) or not all(
        isinstance(record, dict) for record in records
    ):
        raise ValueError(f"expected a list of {name}")
    pagination = content.get("pagination")
    if not isinstance(pagination, dict):
        pagination = {}
    total = pagination.get("total")
    return Page(
        records,
        total=total if type(total) is int else None,
        has_more=_boolean(pagination.get("hasMore")),
    )


def read_all_pages(
    client: Client, name: ListName, query: Mapping[str, str]
) -> tuple[list[dict[str, Any]], str]:
    """Return the records of all pages of a list, and why one may be missing, or "".

    Each page is asked for from the last record of the page before on. If it does not
    begin with this record, a record came or went meanwhile, and another one may have
    moved to a page that was read before. Reading stops where the service says that the
    list ends, at a page without a new record, and after `_MOST_PAGES` pages. What the
    service counts only adds a doubt.
    """
    records: list[dict[str, Any]] = []
    totals: set[int] = set()
    has_changed = False
    is_ended = False
    for _ in range(_MOST_PAGES):
        page = client.send(_page_call(name, query, max(len(records) - 1, 0)))
        if page.total is not None:
            totals.add(page.total)
        new = page.records
        if records and new and _key(name, new[0]) == _key(name, records[-1]):
            new = new[1:]
        elif records:
            has_changed = True
            known = {_key(name, record) for record in records}
            new = [record for record in new if _key(name, record) not in known]
        records += new
        if not new or page.is_last(len(records)):
            is_ended = page.has_more is not True
            break
    noun = name.removesuffix("s")
    doubt = ""
    if has_changed or len(totals) > 1:
        doubt = (
            f"While the list was read, it changed: a {noun} may be missing. Call again."
        )
    elif not is_ended:
        doubt = (
            f"After {count_of(len(records), noun)} the service says that more follow:"
            " some may be missing. Call again with a narrower filter."
        )
    elif totals and totals != {len(records)}:
        doubt = (
            f"The service counts {count_of(totals.pop(), noun)}, and its pages have"
            f" {len(records):,}: some may be missing. Call again with a narrower"
            " filter."
        )
    return records, doubt


def _key(name: ListName, record: Mapping[str, Any]) -> str:
    """Return a key that identifies a record: its id, or the whole record without
    one.
    """
    return cell_text(record.get(_IDS[name])) or json.dumps(record, sort_keys=True)


def _page_call(name: ListName, query: Mapping[str, str], offset: int) -> Call[Page]:
    return Call(
        operation=f"list_{name}",
        method="GET",
        route=_ROUTES[name],
        query={**query, "limit": str(_PAGE_SIZE), "offset": str(offset)},
        read=partial(_read_page, name),
        hints=dict.fromkeys((404, 405), _NOT_OFFERED),
    )


def _frame_with_doubt(
    rows: Iterable[dict[str, Any]], dtypes: Mapping[str, str], doubt: str
) -> pd.DataFrame:
    """Return a list as a frame. doubt: why it may lack something, or ""; in each row,
    which a file keeps, and in `attrs`, since a list may have no rows.
    """
    frame = frame_of(
        [row | {"list_doubt": doubt or None} for row in rows],
        {**dtypes, "list_doubt": "string"},
    )
    frame.attrs["list_doubt"] = doubt
    return frame


def doubt_of(table: pd.DataFrame | None) -> str:
    """Return why a list may lack something, or "". It may be several lists joined, or
    come from a file; what a list without rows says is in `attrs` alone.
    """
    if table is None:
        return ""
    doubts = [table.attrs.get("list_doubt")]
    if "list_doubt" in table:
        doubts += table["list_doubt"].dropna().unique().tolist()
    return " ".join(dict.fromkeys(str(doubt) for doubt in doubts if doubt))


def cell_text(value: object) -> str | None:
    """Return text or a number as text; None for anything else, and for empty text."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value) or None


def id_key(value: str) -> str:
    """Return an id or a reference without what tells nothing apart: the case of
    letters, blanks around words, and how characters are encoded; all dashes are one.
    """
    if not value.isascii():
        value = "".join(_plain(char) for char in unicodedata.normalize("NFKC", value))
    return " ".join(value.split()).casefold()


def _plain(char: str) -> str:
    """Return a character as a dash if it is one, or "" if it is a format character,
    which nobody sees.
    """
    category = unicodedata.category(char)
    if category == "Pd" or char == "\N{MINUS SIGN}":
        return "-"
    return "" if category == "Cf" else char


PAYMENT_DTYPES = columns(
    "reference timestamp_utc type amount currency payment_currency has_been_paid"
    " source_network destination_network payment_id request_id payment_reference"
    " source_tx_hash destination_tx_hash",
    time="timestamp_utc",
    object="amount",
    boolean="has_been_paid",
)
"""Columns of every payment and their dtypes; those of the fees follow."""

_OF_REQUEST = ("request_id", "payment_reference", "reference")
"""Columns that are members of the request inside a payment, by the operator's
documentation.
"""

_HASHES = ("source_tx_hash", "destination_tx_hash")

_FEE_TYPE = re.compile(r"[a-z][a-z0-9_]{0,30}")


def payments_frame(
    records: Sequence[Mapping[str, Any]], *, reveal: bool = False, doubt: str = ""
) -> pd.DataFrame:
    """Return one row per payment, as `list_payments` returns them."""
    rows = [_payment_row(record) for record in records]
    types = {"fee_protocol"}
    for row in rows:
        types.update(name for name in row if name.startswith("fee_"))
    for row, first in zip(rows, find_duplicates(rows), strict=True):
        row["duplicate_of"] = first
    if not reveal:  # only now: they tell duplicates apart
        for row in rows:
            row["reference"] = mask("reference", row["reference"])
    others = sorted(types - {"fee_protocol"})
    fee_columns = dict.fromkeys(["fee_protocol", *others, "fees_usd"], "object")
    last = {"fees": "string", "duplicate_of": "Int64"}
    return _frame_with_doubt(rows, PAYMENT_DTYPES | fee_columns | last, doubt)


def find_duplicates(rows: Iterable[Mapping[str, Any]]) -> list[int | None]:
    """Return for each row the number of the first row with the same payment, or None.

    Payments are the same if their ids are; without ids, if transaction, request and
    amount are. A masked reference does not tell whose payment it is.
    """
    seen: dict[tuple[Any, ...], int] = {}
    duplicates: list[int | None] = []
    for number, row in enumerate(rows):
        hashes = [row[name] for name in _HASHES]
        ids = [row[name] for name in _OF_REQUEST]
        key: tuple[Any, ...] = (number,)
        if row["payment_id"]:
            key = (row["payment_id"],)
        elif any(hashes) and (any(ids[:2]) or row["reference"] != MASK):
            key = (*hashes, *ids, read_decimal(row["amount"]))
        first = seen.setdefault(key, number)
        duplicates.append(None if first == number else first)
    return duplicates


def _payment_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a payment; its reference is shown."""
    request = record.get("request")
    if not isinstance(request, dict):
        request = {}
    cells: dict[str, Any] = {
        name: cell_text(record.get(wire_name(name))) for name in PAYMENT_DTYPES
    }
    for name in _OF_REQUEST:
        cells[name] = cell_text(request.get(wire_name(name)))
    return {
        **cells,
        "payment_id": cell_text(record.get("id")),
        "timestamp_utc": read_time(record.get("timestamp"), milliseconds=True),
        "amount": read_decimal(record.get("amount")),
        "has_been_paid": _boolean(request.get("hasBeenPaid")),
        **_fee_cells(record.get("fees")),
    }


def _boolean(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


class Fee(NamedTuple):
    """A fee of a payment. amount: in its currency; in_usd: in US dollars. Both are None
    if they are not known.
    """

    kind: str
    amount: Decimal | None
    currency: str
    in_usd: Decimal | None

    def __str__(self) -> str:
        amount = "unknown" if self.amount is None else format_number(self.amount)
        return f"{self.kind} {amount} {self.currency}".rstrip()


def _fee_cells(value: object) -> dict[str, Any]:
    """Return the columns of the fees of a payment: the sum of each type, None if it
    cannot be added up; all of them as text, such as "protocol 0.0255 USDC-sepolia"; and
    their sum in US dollars. None if the service does not say the fees.
    """
    if not isinstance(value, list):
        return {}
    fees = [
        Fee(
            # "crypto-to-fiat" is documented.
            our_name(cell_text(fee.get("type")) or "unknown").replace("-", "_"),
            read_decimal(fee.get("amount")),
            cell_text(fee.get("currency")) or "",
            read_decimal(fee.get("amountInUSD")),
        )
        for fee in value
        if isinstance(fee, dict)
    ]
    cells: dict[str, Any] = {
        "fees": "; ".join(str(fee) for fee in fees) or None,
        "fees_usd": total_of(fee.in_usd for fee in fees),
    }
    for kind, same in grouped((fee.kind, fee) for fee in fees).items():
        if not _FEE_TYPE.fullmatch(kind):  # a type that is no word has no column
            continue
        is_one = len({fee.currency.lower() for fee in same}) == 1
        cells[f"fee_{kind}"] = total_of(fee.amount for fee in same) if is_one else None
    return cells


def total_of(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """Return the exact sum of amounts; None if one of them is not known."""
    total = Decimal(0)
    for amount in amounts:
        if amount is None:
            return None
        total = EXACT.add(total, amount)
    return total


@endpoint
def list_payments(
    client: Client,
    *,
    reference: str | None = None,
    request_id: str | None = None,
    payment_reference: str | None = None,
    tx_hash: str | None = None,
    wallet: str | None = None,
    invoice_currency: str | None = None,
    payment_currency: str | None = None,
    from_date: date | str | None = None,
    to_date: date | str | None = None,
    reveal: bool = False,
) -> pd.DataFrame:
    """Return the payments that were seen on the blockchain, those of all pages;
    `reconcile` compares them with orders.

    `GET /v2/payments`: publicly documented, **beyond the specification**. It has no
    unpaid requests: `list_requests` returns these, too.

    Args:
        client: From `connect()` or `sandbox()`.
        reference: Only payments of the request with this reference of yours. Of this
            filter and the next six, give one at least.
        request_id: Only those of the request with this id of the service.
        payment_reference: Only those with this reference on the blockchain.
        tx_hash: Only those that this transaction made.
        wallet: Only those of the wallet with this address.
        invoice_currency: Only those of requests in this currency, such as "USD".
        payment_currency: Only those in this token, such as "USDC-sepolia".
        from_date: Only those from this day on, in UTC: a date, or text such as
            "2026-11-30".
        to_date: Only those until the end of this day.
        reveal: Show references that hold an e-mail address.

    Returns:
        One row per payment. Columns: `reference`; `timestamp_utc`; `type`; `amount`
        (Decimal), `currency` and `payment_currency` as the service has them;
        `has_been_paid` (boolean): whether the whole request is paid; `source_network`,
        `destination_network`; `payment_id`, `request_id`, `payment_reference`,
        `source_tx_hash`, `destination_tx_hash`; a column per type of fee (Decimal),
        such as `fee_crypto_to_fiat`, `fee_protocol` at least, missing if its amounts
        are unknown or in several currencies; `fees_usd` (Decimal), the fees in US
        dollars, missing if one is unknown; `fees`, all of them as text; `duplicate_of`
        (Int64): the row that has the same payment already. One transaction may make
        several payments: these are no duplicates; `list_doubt`, why the list may lack a
        payment, in every row, and in `attrs` of the frame. Text has dtype `string`.

    Raises:
        InvalidInput: Without a filter, and for values that cannot be sent. Nothing was
            sent.
        NotSent: If a request never left this machine.
        Refused: If the service refused a call; for a known reason, as WrongKey,
            NotFound or RateLimited.
        ServiceError: If the service failed.
        UnreadableAnswer: If a response is not what the API documents.

    Warns:
        PaymentListWarning: If a payment may be missing: the list changed while it was
            read, or its pages have fewer payments than the service counts.

    Example:
        >>> request = create_request(
        ...     client,
        ...     amount="25.50",
        ...     invoice_currency="USD",
        ...     payment_currency="USDC-sepolia",
        ... )
        >>> # nobody has paid it
        >>> list_payments(client, reference=request.reference).empty
        True
    """
    filters = {
        "reference": reference,
        "request_id": request_id,
        "payment_reference": payment_reference,
        "tx_hash": tx_hash,
        "wallet": wallet,
        "invoice_currency": invoice_currency,
        "payment_currency": payment_currency,
    }
    query = _read_filters(filters) | _read_period(from_date, to_date)
    records, doubt = read_all_pages(client, "payments", query)
    if doubt:
        # The caller is above two decorators.
        warnings.warn(PaymentListWarning(doubt), stacklevel=4)
    return payments_frame(records, reveal=reveal is True, doubt=doubt)


def _read_filters(filters: Mapping[str, Any]) -> dict[str, str]:
    """Return the filters that are given, by their names on the wire. Raises
    InvalidInput without any.
    """
    given = {
        name: check_id(value, name)
        for name, value in filters.items()
        if value is not None
    }
    if not given:
        raise InvalidInput(
            f"Give one of {listed(filters, 'or')}; a period alone is not enough."
            " Nothing was sent."
        )
    # The others have the same words on the wire.
    wire = {"wallet": "walletAddress"}
    return {wire.get(name, wire_name(name)): value for name, value in given.items()}


def _read_period(from_date: object, to_date: object) -> dict[str, str]:
    """Return the period as the service reads it, in ISO 8601 with Z."""
    first, last = read_period(from_date, to_date)
    query = {}
    if first is not None:
        query["fromDate"] = f"{first}T00:00:00.000Z"
    if last is not None:
        query["toDate"] = f"{last}T23:59:59.999Z"
    return query


def read_period(from_date: object, to_date: object) -> tuple[date | None, date | None]:
    """Return the first and the last day of a period.

    Raises InvalidInput for what is no day, and if the period ends before it begins.
    """
    first = _read_day(from_date, "from_date")
    last = _read_day(to_date, "to_date")
    if first is not None and last is not None and first > last:
        raise InvalidInput(
            "from_date, to_date: the period ends before it begins. Nothing was sent."
        )
    return first, last


def _read_day(value: object, name: str) -> date | None:
    if isinstance(value, str):
        with suppress(ValueError):
            return date.fromisoformat(value)
    if value is None or (isinstance(value, date) and not isinstance(value, datetime)):
        return value
    raise InvalidInput(
        f'{name}: expected a day, as a date or as text such as "2026-11-30". Nothing'
        " was sent."
    )


REQUEST_DTYPES = columns(
    "reference created_at_utc status has_been_paid amount invoice_currency"
    " payment_currency request_id payment_reference tx_hash payee payer",
    time="created_at_utc",
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

    It settles whether `create_request` created a request when no response came, by its
    reference: exactly one row that equals the order, and is not older than the call, is
    the request. An older or a different one, or several, are for a person to decide. It
    was not created only if two whole lists, a minute apart, lack it. A payment of
    `initiate_payment` has no reference, so no list settles whether it was created.

    Args:
        client: From `connect()` or `sandbox()`.
        reference: Only requests with this reference of yours, whatever its case and
            blanks. The service has no such filter: all pages are read.
        wallet: Only those of the wallet with this address.
        reveal: Show references that hold an e-mail address.

    Returns:
        One row per request. Columns: `reference`; `created_at_utc`; `status`, the
        service's word; `has_been_paid` (boolean): whether all of it is paid on the
        blockchain; `amount` (Decimal), `invoice_currency`, `payment_currency`;
        `request_id`, `payment_reference`; `tx_hash`, `payee` and `payer` as the service
        has them; `list_doubt`, as `list_payments` has it. Text has dtype `string`.

    Raises:
        InvalidInput: For values that cannot be sent. Nothing was sent.
        NotSent: If a request never left this machine.
        Refused: If the service refused a call; for a known reason, as WrongKey,
            NotFound or RateLimited.
        ServiceError: If the service failed.
        UnreadableAnswer: If a response is not what the API documents.

    Warns:
        PaymentListWarning: If a request may be missing, as `list_payments` does: this
            list is not a whole one.

    Example:
        >>> request = create_request(
        ...     client,
        ...     amount="25.50",
        ...     invoice_currency="USD",
        ...     payment_currency="USDC-sepolia",
        ... )
        >>> list_requests(client, reference=request.reference)[
        ...     ["amount", "status", "has_been_paid"]
        ... ]
          amount   status  has_been_paid
        0  25.50  pending          False
    """
    query = {}
    if wallet is not None:
        query["walletAddress"] = check_id(wallet, "wallet")
    if reference is not None:
        check_id(reference, "reference")
    records, doubt = read_all_pages(client, "requests", query)
    if doubt:
        # The caller is above two decorators.
        warnings.warn(PaymentListWarning(doubt), stacklevel=4)
    return requests_frame(records, reference, reveal=reveal is True, doubt=doubt)


def requests_frame(
    records: Iterable[Mapping[str, Any]],
    reference: str | None = None,
    *,
    reveal: bool,
    doubt: str,
) -> pd.DataFrame:
    """Return one row per request, as the last page has it, as `list_requests` returns
    them. reference: only those that have it.
    """
    rows: dict[Any, dict[str, Any]] = {}
    for place, record in enumerate(records):
        cells: dict[str, Any] = {
            name: cell_text(record.get(wire_name(name))) for name in REQUEST_DTYPES
        }
        rows[cells["request_id"] or place] = cells | {
            "created_at_utc": read_time(record.get("createdAt"), milliseconds=True),
            "amount": read_decimal(record.get("amount")),
            "has_been_paid": _boolean(record.get("hasBeenPaid")),
        }
    wanted = [
        row
        for row in rows.values()
        if reference is None or id_key(row["reference"] or "") == id_key(reference)
    ]
    if not reveal:
        wanted = mask("", wanted)
    return _frame_with_doubt(wanted, REQUEST_DTYPES, doubt)


def has_terms(row: Mapping[str, Any], order: Any) -> bool:
    """Return True if a request has the amount and the currencies of an order, as far as
    both say them.
    """
    terms: list[tuple[Any, Any]] = [(order.amount, read_decimal(row["amount"]))]
    for name in ("invoice_currency", "payment_currency"):
        terms.append((_currency(getattr(order, name)), _currency(row[name])))
    return all(own == said or None in {own, said} for own, said in terms)


def _currency(name: str | None) -> object:
    """Return a value that is equal for two names of one currency: services may have
    another id for it.
    """
    if name is None:
        return None
    return find_currency(name) or id_key(name)
