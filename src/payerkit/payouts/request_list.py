"""List requests, paid or not, as a DataFrame: what settles whether one was created."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from payerkit.client.client import Client
from payerkit.endpoints import endpoint
from payerkit.frames import columns, frame_of
from payerkit.masking import mask
from payerkit.payouts.payment_list import cell_text, id_key, read_all_pages
from payerkit.wire import check_id, pandas_time, read_decimal, read_time, wire_name

REQUEST_DTYPES = columns(
    "request_id payment_reference reference created_at status has_been_paid amount invoice_currency payment_currency "
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

    It settles whether `create_request` created a request when no response came, since the error has its reference:
    exactly one row that equals the order and is not older than the call means that it was created. A row that is older
    or differs, or several rows, are for a person to decide. It was not created only if it is missing from two whole
    lists, read some minutes apart. A payment of `initiate_payment` has no reference, so no list settles it.

    Args:
        client: From `connect()` or `sandbox()`.
        reference: Only requests with this reference of yours, whatever its case and blanks. The service has no such
            filter: all pages are read.
        wallet: Only those of the wallet with this address.
        page_size: Requests per call, 1 to 100. Each page is a call, and waits for its turn like any other.
        reveal: Show references that hold an e-mail address.

    Returns:
        One row per request. Columns: `request_id`, `payment_reference`, `reference`; `created_at` (UTC); `status`, the
        service's word; `has_been_paid` (boolean): whether all of it is paid on the blockchain; `amount` (Decimal),
        `invoice_currency`, `payment_currency`; `tx_hash`, `payee` and `payer` as the service has them. Text has dtype
        `string`.

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
    wanted = None if reference is None else id_key(check_id(reference, "reference"))
    records = read_all_pages(client, "requests", query, page_size)
    rows = [row for row in _read(records) if wanted in {None, id_key(row["reference"] or "")}]
    return frame_of(rows if reveal is True else mask("", rows), REQUEST_DTYPES)


def _read(records: Iterable[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    """Return the cells of requests, each once, as the last page has it."""
    rows: dict[Any, dict[str, Any]] = {}
    for place, record in enumerate(records):
        cells: dict[str, Any] = {name: cell_text(record.get(wire_name(name))) for name in REQUEST_DTYPES}
        is_paid = record.get("hasBeenPaid")
        rows[cells["request_id"] or place] = cells | {
            "created_at": pandas_time(read_time(record.get("createdAt"), milliseconds=True)),
            "amount": read_decimal(record.get("amount")),
            "has_been_paid": is_paid if isinstance(is_paid, bool) else None,
        }
    return rows.values()
