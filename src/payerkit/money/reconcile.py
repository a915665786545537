"""Compare orders with requests, payments and events: which are paid, how much, when,
and whether the bank has the money.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import pandas as pd

from payerkit._tsv import grouped
from payerkit.client.client import Client, check_client
from payerkit.errors import InvalidInput, PaymentListWarning, without_internal_frames
from payerkit.frames import columns, frame_of, read_times, read_truth, rows_of
from payerkit.masking import mask
from payerkit.money.books import ID_NAMES, ids_of, read_books
from payerkit.money.coverage import sum_of
from payerkit.money.events import events_of_sandbox
from payerkit.money.judgement import (
    Context,
    Judgement,
    Strays,
    judge,
    stray_of,
    surplus_of,
)
from payerkit.money.lists import (
    PAYMENT_DTYPES,
    REQUEST_DTYPES,
    doubt_of,
    find_duplicates,
    id_key,
    payments_frame,
    read_all_pages,
    read_period,
    requests_frame,
)
from payerkit.money.sources import Case, EventIndex, Movement, PayoutEvent, last_words
from payerkit.redaction import MASK
from payerkit.wire import wire_name
from payerkit.wording import count_of

if TYPE_CHECKING:
    from payerkit.money.books import OrdersToReconcile

_DTYPES = columns(
    "reference state whose_move what_to_do doubt amount invoice_currency paid"
    " times_paid payments paid_amount payment_currency short over paid_at_utc"
    " bank_status bank_status_at_utc bank_source reason request_id tx_hash",
    object="amount paid_amount short over",
    boolean="paid",
    Int64="times_paid payments",
    time="paid_at_utc bank_status_at_utc",
)
"""Columns and their dtypes."""


_PAYMENT_DTYPES = columns(
    "paid_at_utc reference state paid_amount payment_currency amount invoice_currency"
    " short over fees fees_usd bank_status bank_status_at_utc bank_source doubt"
    " request_id payment_id tx_hash",
    object="paid_amount amount short over fees_usd",
    time="paid_at_utc bank_status_at_utc",
)
"""Columns of a period, and their dtypes."""


@without_internal_frames
def reconcile(
    orders: OrdersToReconcile,
    payments: pd.DataFrame | None = None,
    *,
    requests: pd.DataFrame | None = None,
    events: pd.DataFrame | None = None,
    client: Client | None = None,
    from_date: date | str | None = None,
    to_date: date | str | None = None,
) -> pd.DataFrame:
    """Return the state of each order: whether it is paid, how much, when, and whether
    the bank has the money.

    **Beyond the specification**. A payment belongs to the order with its request id,
    else to that with its payment reference, else to that with its reference, whatever
    its case and blanks. An order that shares its reference with another one is not
    called unpaid: it is unclear. `list_payments` knows only what was paid on the
    blockchain: without events, nothing is known of the bank. Each source keeps its
    word: where two do not agree, or a list may lack something, it is your move, the
    column `doubt` says why, and nobody is told to pay, sign or return anything.

    Args:
        orders: What `create_request`, `request_payment` or `initiate_payment` returned,
            as a list; or a DataFrame or dicts with `reference`, `request_id` or
            `payment_reference`, with `amount` and `invoice_currency`. If a token was
            ordered that is not pegged to that currency, give the `payment_currency`,
            too: in any other token, a payment is unclear. A row with a `payee` pays a
            wallet, and no bank. Blank rows and totals are left out; amounts such as
            "1.234,50 EUR" are read if the others tell which sign marks the decimals.
        payments: From `list_payments`; several of them joined with `pd.concat`, too.
            Duplicates count once.
        requests: From `list_requests`, of all requests; they tell unpaid orders from
            those that nobody requested.
        events: From `read_events`. Events whose signature is invalid count for nothing;
            what a header calls a test counts only if it is bad news, since headers are
            not signed. One without a secret is believed, and said to be unverified.
        client: From `connect()` or `sandbox()`: reads what is not given. All requests,
            the payments of each order, with a call for each, and a sandbox's events.
            Without it, nothing is sent.
        from_date: Return the payments of a period in place of the orders, such as those
            of a month, for accounting: those from this day on, in UTC, as
            `list_payments` takes it. All payments count for the orders.
        to_date: Only those until the end of this day.

    Returns:
        One row per order, in their order, then one per payment that is for none of
        them. Columns: `reference`; `state`: not_paid, as far as is known, partly_paid
        (also if the bank has the part), unclear, paid (in crypto), on_its_way,
        at_the_bank (`fiat_sent` was reported), bounced, failed, refunded, paid_twice,
        or unmatched; `whose_move` and `what_to_do`; `amount` (Decimal) and
        `invoice_currency` of the order; `paid` (boolean): whether in full, missing if
        that is not known; `times_paid` (Int64): how often in full, missing if not
        known; `payments` (Int64): how many there are; `paid_amount` (Decimal), their
        sum as the service lists it, and `payment_currency`; `short` and `over`
        (Decimal), how much less or more than ordered; `paid_at_utc`, when the last of
        them was made; `bank_status`, the last off-ramp status, of several payouts the
        worst, `bank_status_at_utc`, `bank_source`, who says so, and `reason`, why it
        failed; `request_id`; `tx_hash`, all of them. `doubt` says what does not fit.
        Text has dtype `string`. A reference that holds an e-mail address is masked.

        For a period, one row per payment, by its time: `paid_at_utc`, `reference`,
        `state`, `paid_amount`, `payment_currency`, `amount`, `invoice_currency`,
        `short`, `over`, `fees`, `fees_usd`, `bank_status`, `bank_status_at_utc`,
        `bank_source`, `doubt`, `request_id`, `payment_id`, `tx_hash`. State, `amount`,
        `short` and `over` are those of the whole order, in each row of its payments.

    Raises:
        InvalidInput: For orders that cannot be read, for two of one request, for
            anything but such frames, and if masked references hide which payment is for
            which order.
        PayerkitError: If a call of the client failed, as `list_requests` and
            `list_payments` would raise it.

    Warns:
        PaymentListWarning: If a list that the client read may lack something.

    Example:
        >>> orders = [
        ...     {"reference": "invoice-1", "amount": "25.50", "invoice_currency": "USD"}
        ... ]
        >>> frame = reconcile(
        ...     orders, list_payments(client, payment_currency="USDC-sepolia")
        ... )
        >>> frame[["reference", "state", "paid", "payments"]]
           reference     state  paid  payments
        0  invoice-1  not_paid  <NA>         0
    """
    cases = [Case(order) for order in read_books(orders)]
    first, last = read_period(from_date, to_date)
    if client is not None:
        check_client(client)
        if events is None:
            events = events_of_sandbox(client)
    if requests is None and client is not None:
        records, doubt = read_all_pages(client, "requests", {})
        requests = requests_frame(records, reveal=True, doubt=doubt)
    if requests is not None:
        listed = rows_of(_checked(requests, REQUEST_DTYPES, "requests"))
        _find_requests(cases, listed)
        _check_references(cases, listed, "requests")
    if payments is None and client is not None:
        payments = _list_payments(client, cases)
    if client is not None:
        for doubt in (doubt_of(requests), doubt_of(payments)):
            if doubt:  # the caller is above one decorator
                warnings.warn(PaymentListWarning(doubt), stacklevel=3)
    unmatched = _match(cases, read_paid(payments))
    unknown = [payment.row for payment in unmatched if not payment.row["why"]]
    _check_references(cases, unknown, "payments")
    index = EventIndex(events)
    for case in cases:
        case.read_events(index)
    strays = [stray_of(payment) for payment in unmatched]
    surpluses = [surplus_of(case) for case in cases]
    strays += [surplus for surplus in surpluses if surplus is not None]
    context = Context(
        Strays(strays),
        has_events=events is not None,
        payments_doubt=doubt_of(payments),
        requests_doubt=doubt_of(requests),
        unbelieved=index.unbelieved,
    )
    order_rows = [_order_row(case, judge(case, context)) for case in cases]
    other_rows = [_unmatched_row(payment, index) for payment in unmatched]
    if from_date is None and to_date is None:
        return frame_of([*order_rows, *other_rows], _DTYPES)
    rows = [
        row | _payment_cells(payment)
        for row, case in zip(order_rows, cases, strict=True)
        for payment in case.payments
    ]
    return frame_of(_of_period([*rows, *other_rows], first, last), _PAYMENT_DTYPES)


def _payment_cells(payment: Movement) -> dict[str, Any]:
    """Return the cells of a payment, in place of those of its order."""
    return {
        "paid_at_utc": payment.time,
        "paid_amount": payment.amount,
        "payment_currency": payment.currency,
        "fees": payment.row.get("fees"),
        "fees_usd": payment.fees.get("fees_usd"),
        "payment_id": payment.row.get("payment_id"),
        "tx_hash": payment.tx_hash,
    }


def _of_period(
    rows: Iterable[dict[str, Any]], first: date | None, last: date | None
) -> list[dict[str, Any]]:
    """Return the rows of payments in a period, by their times; those without a time
    come last, since they may be of it.
    """
    first = first or date.min
    last = last or date.max
    inside = [
        row
        for row in rows
        if row["paid_at_utc"] is None or first <= row["paid_at_utc"].date() <= last
    ]
    return sorted(inside, key=lambda row: row["paid_at_utc"] or pd.Timestamp.max)


def read_paid(payments: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame of payments without duplicates, in the order of their
    times.

    Raises InvalidInput for anything but such a frame.
    """
    table = _checked(payments, PAYMENT_DTYPES, "payments")
    times = read_times(table["timestamp_utc"])
    table = table.assign(timestamp_utc=times)
    rows = rows_of(table.sort_values("timestamp_utc", kind="stable"))
    duplicates = find_duplicates(rows)
    for row, first in zip(rows, duplicates, strict=True):
        # One list may be older than the other.
        if first is not None and read_truth(row["has_been_paid"]):
            rows[first]["has_been_paid"] = True
    return [row for row, first in zip(rows, duplicates, strict=True) if first is None]


def _checked(table: Any, dtypes: Mapping[str, str], name: str) -> pd.DataFrame:
    """Return a list that the caller gave. Raises InvalidInput for anything else, and
    for wrong numbers.

    These come from a file that was not read as text: floats as amounts, and any number
    as an id.
    """
    if not isinstance(table, pd.DataFrame) or not set(dtypes) <= set(table.columns):
        also = ", or a client that reads it" if table is None else ""
        raise InvalidInput(
            f"{name}: expected a result of list_{name}(), with all its columns{also}."
        )
    wrong = {"amount": float, **dict.fromkeys(ID_NAMES, int | float)}
    for column, kind in wrong.items():
        if any(isinstance(cell, kind) for cell in table[column].dropna()):
            raise InvalidInput(
                f"{name}: {column}: got a number. Read the file as text, with"
                " dtype=str."
            )
    return table.reset_index(drop=True)


def _list_payments(client: Client, cases: Iterable[Case]) -> pd.DataFrame:
    """Return the payments of orders, each found by the strongest of its ids."""
    records: list[dict[str, Any]] = []
    doubts: list[str] = []
    known = [
        {name: value for name, value in case.order.ids.items() if value}
        for case in cases
    ]
    for name, value in dict.fromkeys(next(iter(ids.items())) for ids in known):
        found, doubt = read_all_pages(client, "payments", {wire_name(name): value})
        records += found
        if doubt and doubt not in doubts:
            doubts.append(doubt)
    return payments_frame(records, reveal=True, doubt=" ".join(doubts))


def _find_requests(cases: Sequence[Case], rows: Iterable[dict[str, Any]]) -> None:
    """Give each order the requests that it may mean, and the ids of the only one."""
    rows = list(rows)
    by_id = grouped((key, row) for row in rows for key in _keys(row))
    for case in cases:
        ids = case.order.ids
        keys = ids_of(ids) or _keys(ids)
        case.requests = list(next((by_id[key] for key in keys if key in by_id), ()))
        if case.has_one_request:
            for name in ID_NAMES:
                ids[name] = ids[name] or case.requests[0][name]
    by_order = grouped((key, case) for case in cases for key in _keys(case.order.ids))
    for row in rows:
        _meant(row, by_order, "A request")


def _match(cases: Iterable[Case], rows: Iterable[dict[str, Any]]) -> list[Movement]:
    """Give each payment to its order, and return those that are for none, or for one of
    several, with `why` in its row.

    Orders that could be meant by the same payment are marked, whether there is one or
    not.
    """
    by_id = grouped((key, case) for case in cases for key in _keys(case.order.ids))
    for same in by_id.values():
        for case in same:
            case.is_shared = case.is_shared or len(same) > 1
    unmatched = []
    for row in rows:
        candidates, why = _meant(row, by_id, "A payment")
        if len(candidates) == 1:
            candidates[0].payments.append(Movement.of_row(row))
        else:
            unmatched.append(Movement.of_row({**row, "why": why}))
    return unmatched


def _meant(
    row: Mapping[str, Any],
    by_id: Mapping[tuple[str, str], tuple[Case, ...]],
    what: str,
) -> tuple[Sequence[Case], str]:
    """Return the orders that a row may be for, by the strongest of its ids, and why it
    is for none of them, or "".

    If its ids point to different orders, it is for none of them, and each of them has
    the reason among its conflicts.
    """
    meant = [by_id[key] for key in _keys(row) if key in by_id]
    if not meant:
        return (), ""
    conflicting = [
        cases for cases in meant if not any(case in meant[0] for case in cases)
    ]
    if conflicting:
        why = f"{what} has the id of one order and the reference of another one."
        for case in (*meant[0], *conflicting[0]):
            case.conflicts.append(why)
        return (), why
    if len(meant[0]) > 1:
        return meant[0], f"{count_of(len(meant[0]), 'order')} have its reference."
    return meant[0], ""


def _check_references(
    cases: Iterable[Case], rows: Iterable[Mapping[str, Any]], name: str
) -> None:
    """Raise InvalidInput if an order may be meant by a row whose reference is masked:
    paid again, it costs twice.

    rows: those of a list, named by `name`, that no order has.
    """
    if not any(row["reference"] == MASK for row in rows):
        return
    for number, case in enumerate(cases, 1):
        is_found = case.payments or case.requests or ids_of(case.order.ids)
        if not is_found and mask("reference", case.order.ids["reference"]) == MASK:
            raise InvalidInput(
                f"{name}: references that hold an e-mail address are masked, as that of"
                f" orders, line {number}, would be. Read them with list_{name}(...,"
                " reveal=True), or give the orders their request_id."
            )


def _keys(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the ids by which a row is matched with an order, the strongest first,
    without a masked reference.
    """
    keys = ids_of(row)
    reference = row["reference"]
    if reference and MASK not in reference:
        keys.append(("reference", id_key(reference)))
    return keys


def _order_row(case: Case, judgement: Judgement) -> dict[str, Any]:
    """Return the row of an order."""
    coverage = judgement.coverage
    payments = case.payments
    times = [payment.time for payment in payments if payment.time is not None]
    known = [case.order.ids, *[payment.row for payment in payments]]
    return {
        "reference": mask("reference", _first(known, "reference")),
        "request_id": _first(known, "request_id"),
        "amount": case.order.amount,
        "invoice_currency": case.order.invoice_currency,
        "state": judgement.state,
        "paid": coverage.paid,
        "times_paid": coverage.times,
        "payments": len(payments),
        "paid_amount": sum_of(payments),
        "payment_currency": _joined(payment.currency for payment in payments),
        "short": coverage.short,
        "over": coverage.over,
        "paid_at_utc": max(times, default=None),
        "tx_hash": _joined(payment.tx_hash for payment in payments),
        **_bank_cells(case.words),
        "whose_move": judgement.whose_move,
        "what_to_do": judgement.what_to_do,
        "doubt": judgement.doubt or None,
    }


def _first(rows: Iterable[Mapping[str, Any]], name: str) -> Any:
    return next((row[name] for row in rows if row.get(name)), None)


def _unmatched_row(payment: Movement, index: EventIndex) -> dict[str, Any]:
    """Return the row of a payment that is for none of the orders."""
    row = payment.row
    events = index.of_request(ids_of(row))
    words = last_words([event for event in events if event.status and event.counts])
    return {
        "reference": mask("reference", row["reference"]),
        "request_id": row["request_id"],
        "state": "unmatched",
        "payments": 1,
        **_payment_cells(payment),
        **_bank_cells(words),
        "whose_move": "you",
        "what_to_do": "Find out what it pays.",
        "doubt": row["why"] or "No order has its request id or reference.",
    }


def _bank_cells(words: Sequence[PayoutEvent]) -> dict[str, Any]:
    """Return what the last event about the worst payout says, and who says it."""
    if not words:
        return {}
    word = words[0]
    source = "an event that nobody verified"
    if word.is_verified:
        source = "a verified event"
    return {
        "bank_status": word.status,
        "bank_status_at_utc": word.time,
        "bank_source": source,
        "reason": mask("failureReason", word.reason),  # the events may be revealed
    }


def _joined(texts: Iterable[str | None]) -> str | None:
    """Return the different texts, joined to one, or None."""
    return ", ".join(dict.fromkeys(text for text in texts if text)) or None
