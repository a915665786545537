"""List requests, paid or not, and find one whose response was lost."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from payerkit.client.client import Client
from payerkit.client.pace import MAX_LOOKUPS, RECONCILE_AFTER
from payerkit.endpoints import endpoint
from payerkit.errors import PaymentListWarning
from payerkit.frames import columns, frame_of
from payerkit.masking import mask
from payerkit.models import PaymentRequest, PayoutOrder
from payerkit.onchain.currencies import find_currency
from payerkit.payouts.read_pages import cell_text, id_key, read_all_pages
from payerkit.payouts.request_calls import OWN_REFERENCE
from payerkit.wire import check_id, pandas_time, read_decimal, read_time, wire_name

if TYPE_CHECKING:
    import pandas as pd

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
    page_size: int = 100,
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
        page_size: Requests per call, 1 to 100. Each page is a call, and waits for its turn like any other.
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
    records, problem = read_all_pages(client, "requests", query, page_size)
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
        records, problem = read_all_pages(client, "requests", {}, page_size=100)
        found = read_requests(records, self._order.reference)
        if len(found) == 1 and not problem and self._is_created(found[0]):
            self.state = "created"
            sent = {"order": self._order, "environment": client.environment}
            return PaymentRequest.read(
                {wire_name(name): found[0][name] for name in PaymentRequest.model_fields}, **sent
            )
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
    """Return what two names of a currency have in common: services may have another id for it."""
    return find_currency(name or "") or id_key(name or "")
