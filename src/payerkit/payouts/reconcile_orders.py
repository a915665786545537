"""Compare orders with payments and events: which are paid, how much, when, and whether the bank has the money.

The state of an order follows from its payments, and from the last off-ramp status that an event reports; statuses.tsv
says what each state means.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from payerkit import _tsv
from payerkit.checks.schema import MASK
from payerkit.client.client import Client, check_client
from payerkit.errors import InvalidInput, PaymentListWarning, without_internal_frames
from payerkit.events.read_events import read_events
from payerkit.explanations import explain_word
from payerkit.frames import columns, frame_of, read_times, read_truth, rows_of
from payerkit.masking import mask
from payerkit.onchain.amounts import format_number
from payerkit.payouts.coverage import (
    ID_NAMES,
    Coverage,
    ExpectedOrder,
    NewsIndex,
    PayoutEvent,
    PayoutNews,
    SeenPayment,
    cover,
    ids_of,
    read_expected_orders,
)
from payerkit.payouts.lists import (
    PAYMENT_DTYPES,
    REQUEST_DTYPES,
    find_duplicates,
    has_terms,
    id_key,
    payments_frame,
    read_all_pages,
    read_requests,
)
from payerkit.wire import wire_name
from payerkit.wording import count_of

if TYPE_CHECKING:
    from payerkit.payouts.coverage import OrdersToReconcile

_DTYPES = columns(
    "reference state whose_move what_to_do amount invoice_currency paid times_paid payments paid_amount "
    "payment_currency paid_at bank_status bank_status_at reason request_id tx_hash",
    object="amount paid_amount",
    boolean="paid",
    Int64="times_paid payments",
    time="paid_at bank_status_at",
)
"""Columns and their dtypes."""

ORDER_STATES = {row["state"]: row for row in _tsv.rows(__package__, "order_states")}
"""The rows of `order_states.tsv`, by state."""

STATE_OF_WORD: Mapping[str, str | None] = {
    "initiated": None,
    **{word: state for state, row in ORDER_STATES.items() for word in row["off_ramp"].split()},
}
"""The state of an order by the last off-ramp status, for every documented one; None where the payments decide."""

_HAS_ARRIVED = ("paid", "on_its_way", "at_the_bank", "bounced")
"""States that prove that the crypto arrived, even if no payment is listed."""


@without_internal_frames
def reconcile(
    orders: OrdersToReconcile,
    payments: pd.DataFrame | None = None,
    *,
    requests: pd.DataFrame | None = None,
    events: pd.DataFrame | None = None,
    client: Client | None = None,
) -> pd.DataFrame:
    """Return the state of each order: whether it is paid, how much, when, and whether the bank has the money.

    **Beyond the specification**. A payment belongs to the order with its request id, else to that with its payment
    reference, else to that with its reference, whatever its case and blanks. An order that shares its reference with
    another one is not called unpaid: it is unclear. `list_payments` knows only what was paid on the blockchain: without
    events, nothing is known of the bank. Where what is known does not agree, it is your move.

    Args:
        orders: What `create_request`, `request_payment` or `initiate_payment` returned, as a list; or a DataFrame or
            dicts with `reference`, `request_id` or `payment_reference`, with `amount` and `invoice_currency`. If a
            token was ordered that is not pegged to that currency, give the `payment_currency`, too: in any other token,
            a payment is unclear. A row with a `payee` pays a wallet, and no bank.
        payments: From `list_payments`; several of them joined with `pd.concat`, too. Duplicates count once.
        requests: From `list_requests`, of all requests; they tell unpaid orders from those that nobody requested.
        events: From `read_events`. Events whose signature is invalid count for nothing; what a header calls a test
            counts only if it is bad news, since headers are not signed.
        client: From `connect()` or `sandbox()`: reads what is not given. All requests, the payments of each order, with
            a call for each, and a sandbox's events. Without it, nothing is sent.

    Returns:
        One row per order, in their order, then one per payment that is for none of them. Columns: `reference`; `state`:
        not_paid, as far as is known, partly_paid (also if the bank has the part), unclear, paid (in crypto),
        on_its_way, at_the_bank (`fiat_sent` was reported), bounced, failed, refunded, paid_twice, or unmatched;
        `whose_move` and `what_to_do`; `amount` (Decimal) and `invoice_currency` of the order; `paid` (boolean): whether
        in full, missing if that is not known; `times_paid` (Int64): how often in full, missing if not known; `payments`
        (Int64): how many there are; `paid_amount` (Decimal), their sum as the service lists it, and `payment_currency`;
        `paid_at`; `bank_status`, the last off-ramp status, `bank_status_at`, and `reason`, why it failed; `request_id`;
        `tx_hash`, all of them. Text has dtype `string`, times are in UTC. A reference that holds an e-mail address is
        masked.

    Raises:
        InvalidInput: For orders that cannot be read, for two of one request, for anything but such frames, and if
            masked references hide which payment is for which order.
        PayerkitError: If a call of the client failed, as `list_requests` and `list_payments` would raise it.

    Warns:
        PaymentListWarning: If a list that the client read may lack something.

    Example:
        >>> orders = [{"reference": "invoice-1", "amount": "25.50", "invoice_currency": "USD"}]
        >>> frame = reconcile(orders, list_payments(client, payment_currency="USDC-sepolia"))
        >>> frame[["reference", "state", "paid", "payments"]]
           reference     state  paid  payments
        0  invoice-1  not_paid  <NA>         0
    """
    cases = [_Case(order) for order in read_expected_orders(orders)]
    problems: list[str] = []
    if client is not None:
        check_client(client)
        if events is None and hasattr(client, "sandbox"):
            events = read_events(client.sandbox.events())
    news = NewsIndex(events)
    if requests is not None:
        listed = rows_of(_checked(requests, REQUEST_DTYPES, "requests"))
        _find_requests(cases, listed)
        _check_references(cases, listed, "requests")
    elif client is not None:
        records, problem = read_all_pages(client, "requests", {})
        problems.append(problem)
        _find_requests(cases, read_requests(records))
    if payments is None and client is not None:
        payments = _list_payments(client, cases, problems)
    for problem in filter(None, problems):
        warnings.warn(PaymentListWarning(problem), stacklevel=3)  # the caller is above one decorator
    unmatched = _match(cases, read_paid(payments))
    _check_references(cases, (row for row in unmatched if not row["candidates"]), "payments")
    rows = [_order_row(case, news, has_events=events is not None) for case in cases]
    return frame_of(rows + [_unmatched_row(row, news) for row in unmatched], _DTYPES)


def read_paid(payments: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame of payments without duplicates, in the order of their times.

    Raises InvalidInput for anything but such a frame.
    """
    table = _checked(payments, PAYMENT_DTYPES, "payments")
    table = table.assign(timestamp=read_times(table["timestamp"])).sort_values("timestamp", kind="stable")
    rows = rows_of(table)
    same = find_duplicates(rows)
    for row, first in zip(rows, same, strict=True):
        if first is not None and read_truth(row["has_been_paid"]):  # one list may be older than the other
            rows[first]["has_been_paid"] = True
    return [row for row, first in zip(rows, same, strict=True) if first is None]


def _checked(table: Any, dtypes: Mapping[str, str], name: str) -> pd.DataFrame:
    """Return the columns of a list that the caller gave. Raises InvalidInput for anything else, and for wrong numbers.

    These come from a file that was not read as text: floats as amounts, and any number as an id.
    """
    if not isinstance(table, pd.DataFrame) or not set(dtypes) <= set(table.columns):
        also = ", or a client that reads it" if table is None else ""
        raise InvalidInput(f"{name}: expected a result of list_{name}(), with all its columns{also}.")
    for column, kind in {"amount": float, **dict.fromkeys(ID_NAMES, int | float)}.items():
        if any(isinstance(cell, kind) for cell in table[column].dropna()):
            raise InvalidInput(f"{name}: {column}: got a number. Read the file as text, with dtype=str.")
    return table[list(dtypes)].reset_index(drop=True)


def _list_payments(client: Client, cases: Iterable[_Case], problems: list[str]) -> pd.DataFrame:
    """Return the payments of orders, and note why one may be missing."""
    records: list[dict[str, Any]] = []
    known = [{name: value for name, value in case.order.ids.items() if value} for case in cases]
    for name, value in dict.fromkeys(next(iter(ids.items())) for ids in known):  # the strongest id of each
        found, problem = read_all_pages(client, "payments", {wire_name(name): value})
        records += found
        problems.append(problem)
    return payments_frame(records, reveal=True)


def _find_requests(cases: Iterable[_Case], rows: Iterable[dict[str, Any]]) -> None:
    """Give each order the requests that it may mean, and the ids of the only one."""
    by_id = _tsv.grouped((key, row) for row in rows for key in _keys(row))
    for case in cases:
        ids = case.order.ids
        case.requests = list(next((by_id[key] for key in ids_of(ids) or _keys(ids) if key in by_id), ()))
        if len(case.requests) == 1:
            ids |= {name: ids[name] or case.requests[0][name] for name in ID_NAMES}


@dataclass(slots=True)
class _Case:
    """An order, with what is known of it.

    requests: those that it may mean, as they are listed; None without a list. rows: its listed payments. is_shared:
    another order has its reference. seen: its payments, those that only events tell of included. coverage: how far they
    cover it, after refunds.
    """

    order: ExpectedOrder
    requests: list[dict[str, Any]] | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    is_shared: bool = False
    news: PayoutNews = field(init=False)
    seen: list[SeenPayment] = field(init=False)
    coverage: Coverage = field(init=False)
    latest: PayoutEvent | None = field(init=False)

    def read(self, index: NewsIndex) -> None:
        """Find the events about the order, and compare it with its payments."""
        # A payment may tell ids that the order does not have.
        self.news = index.of_request([each for row in (self.order.ids, *self.rows) for each in ids_of(row)])
        self.seen = _seen_payments(self.rows, self.news)
        for each in self.seen if self.is_said_paid is not None else ():
            each.has_been_paid = each.has_been_paid or self.is_said_paid
        self.coverage = cover(self.order, self.seen, self.news.refunds)
        self.latest = self.news.latest

    @property
    def is_paid_at_all(self) -> bool:
        """Whether a payment is known, perhaps only by its refund."""
        return bool(self.seen or self.news.refunds)

    @property
    def is_said_paid(self) -> bool | None:
        """Whether the list of requests has the order as paid; None if it does not tell."""
        return read_truth(self.requests[0]["has_been_paid"]) if self.requests and len(self.requests) == 1 else None


def _match(cases: Iterable[_Case], rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give each payment to its order, and return those that are for none, or for one of several.

    Orders that could be meant by the same payment are marked, whether there is one or not.
    """
    by_id = _tsv.grouped((key, case) for case in cases for key in _keys(case.order.ids))
    for same in by_id.values():
        for case in same:
            case.is_shared |= len(same) > 1
    unmatched = []
    for row in rows:
        candidates = next((by_id[key] for key in _keys(row) if key in by_id), ())
        if len(candidates) == 1:
            candidates[0].rows.append(row)
        else:
            unmatched.append({**row, "candidates": len(candidates)})
    return unmatched


def _check_references(cases: Iterable[_Case], rows: Iterable[dict[str, Any]], name: str) -> None:
    """Raise InvalidInput if an order may be meant by a row whose reference is masked: paid again, it costs twice.

    rows: those of a list, named by `name`, that no order has.
    """
    is_hidden = any(row["reference"] == MASK for row in rows)
    for number, case in enumerate(cases, 1):
        is_found = case.rows or case.requests or ids_of(case.order.ids)
        if is_hidden and not is_found and mask("reference", case.order.ids["reference"]) == MASK:
            raise InvalidInput(
                f"{name}: references that hold an e-mail address are masked, as that of orders, line {number}, would "
                f"be. Read them with list_{name}(..., reveal=True), or give the orders their request_id."
            )


def _keys(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the ids by which a row is matched with an order, the strongest first, without a masked reference."""
    reference = row["reference"]
    return ids_of(row) + ([("reference", id_key(reference))] if reference and MASK not in reference else [])


def _order_row(case: _Case, index: NewsIndex, *, has_events: bool) -> dict[str, Any]:
    """Return the row of an order."""
    case.read(index)
    state, coverage = _state(case), case.coverage
    if state in _HAS_ARRIVED and not case.is_paid_at_all:
        coverage = replace(coverage, paid=True, times=None)
    whose_move, what_to_do = _advice(case, state, has_events=has_events)
    known = [case.order.ids, *case.rows]
    return {
        "reference": mask("reference", next((row["reference"] for row in known if row["reference"]), None)),
        "request_id": next((row["request_id"] for row in known if row["request_id"]), None),
        "amount": case.order.amount,
        "invoice_currency": case.order.invoice_currency,
        "state": state,
        "paid": coverage.paid,
        "times_paid": coverage.times,
        "payments": len(case.seen),
        "paid_amount": coverage.amount,
        "payment_currency": _joined(each.payment_currency for each in case.seen),
        "paid_at": coverage.paid_at,
        "tx_hash": _joined(each.tx_hash for each in case.seen),
        **_bank_cells(case.latest),
        "whose_move": whose_move,
        "what_to_do": what_to_do,
    }


def _unmatched_row(row: dict[str, Any], index: NewsIndex) -> dict[str, Any]:
    """Return the row of a payment that is for none of the orders."""
    paid = SeenPayment(row)
    why = "No order has its request id or reference: find out what it pays."
    if row["candidates"]:
        why = f"{count_of(row['candidates'], 'order')} have its reference: find out which of them it pays."
    return {
        "reference": mask("reference", row["reference"]),
        "request_id": row["request_id"],
        "amount": None,
        "state": "unmatched",
        "payments": 1,
        "paid_amount": paid.amount,
        "payment_currency": paid.payment_currency,
        "paid_at": paid.time,
        "tx_hash": paid.tx_hash,
        **_bank_cells(index.of_request(ids_of(row)).latest),
        "whose_move": "you",
        "what_to_do": why,
    }


def _bank_cells(latest: PayoutEvent | None) -> dict[str, Any]:
    if latest is None:
        return {}
    reason = mask("failureReason", latest.reason)  # the events may be revealed
    return {"bank_status": latest.status, "bank_status_at": latest.time, "reason": reason}


def _joined(texts: Iterable[str | None]) -> str | None:
    """Return the different texts, joined to one, or None."""
    return ", ".join(dict.fromkeys(text for text in texts if text)) or None


def _seen_payments(rows: Iterable[dict[str, Any]], news: PayoutNews) -> list[SeenPayment]:
    """Return the payments of an order: those listed, and those that only an event tells of."""
    seen = [SeenPayment(row) for row in rows]
    listed = bool(seen)
    for event in news.payments:
        hashes = {event.tx_hash.lower()} if event.tx_hash else set()
        known = [each for each in seen if hashes & each.tx_hashes]
        # A payment without a transaction, listed or reported, may be the same one: counted twice, it would be wrong.
        is_new = not known and not (listed and (not hashes or any(not each.tx_hashes for each in seen)))
        if is_new and (hashes or not seen):
            of_event = {"timestamp": event.time, "source_tx_hash": event.tx_hash, "destination_tx_hash": None}
            seen.append(SeenPayment({**event.row, **of_event, "has_been_paid": event.completes}))
        for each in (known or seen) if event.completes else ():
            each.has_been_paid = True
    return sorted(seen, key=lambda each: pd.Timestamp.max.tz_localize("UTC") if each.time is None else each.time)


def _state(case: _Case) -> str:
    """Return the state of an order; statuses.tsv says what each means."""
    coverage = case.coverage
    if coverage.is_refunded:
        return "refunded"
    if (coverage.times or 0) > 1:
        return "paid_twice"
    of_bank = STATE_OF_WORD.get(case.latest.status or "") if case.latest else None
    if of_bank in {"bounced", "failed"}:
        return of_bank
    if not case.is_paid_at_all:
        is_unclear = case.is_shared or len(case.requests or ()) > 1
        return of_bank or ("unclear" if is_unclear else "paid" if case.is_said_paid else "not_paid")
    if coverage.paid is False or coverage.doubt:  # the bank has a part, or something else than what was ordered
        return "partly_paid" if coverage.paid is False and not case.is_shared else "unclear"
    return of_bank or ("unclear" if coverage.paid is None else "paid")


_SHARED = "Another order has this reference, apart from blanks and case: find out which is paid before anyone pays one."
_SEVERAL = "Several requests have this reference: find out which is paid before anyone pays one."
_UNPAID = "The service lists its request as unpaid: have the payer sign."
_NOT_REQUESTED = "The list has no request for it. If a list still lacks it in a minute, create one."
_OTHER_TERMS = "Its request is listed with another amount or currency: find out which is right before anyone pays."
_NO_PAYMENT = "Its request is listed as paid, but no payment is: ask the service which transaction paid it."
_NOT_BACK = "Its crypto is paid, and none is known to be given back: have that settled before anyone pays again."
_DENIED = "Its request is listed as unpaid: list the requests again, and ask the service if it stays so."
_TEST = "The header of an event calls it a test, so it does not count; but headers are not signed: ask the service."


def _advice(case: _Case, state: str, *, has_events: bool) -> tuple[str, str]:
    """Return whose move it is with an order, and what to do; what you have to settle comes first."""
    whose_move, step = _step(case, state, has_events=has_events)
    notes = [_TEST] if case.news.has_tests else []
    if case.requests and len(case.requests) == 1 and not has_terms(case.requests[0], case.order):
        notes.append(_OTHER_TERMS)
    if state in _HAS_ARRIVED and (case.is_said_paid is False or (case.is_said_paid and not case.is_paid_at_all)):
        notes.append(_NO_PAYMENT if case.is_said_paid else _DENIED)
    if state == "partly_paid" and case.news.refunds:
        notes.append("Crypto was given back: find out whether it is still owed.")
    elif state not in {"unclear", "not_paid", "refunded", "partly_paid"} and (note := _note(case, state)):
        notes.append(note)
    if not notes:
        return whose_move, step
    return "you", " ".join(notes if step == "Nothing." else [*notes, step])


def _step(case: _Case, state: str, *, has_events: bool) -> tuple[str, str]:
    """Return whose move it is, and the next step, by the state alone."""
    known = explain_word(state, "order")
    if state == "unclear":
        is_one_of = len(case.requests or ()) > 1 and not case.is_paid_at_all
        return "you", case.coverage.doubt or (
            _SHARED if case.is_shared else _SEVERAL if is_one_of else known.what_to_do
        )
    if state == "not_paid":
        is_missing = case.requests == []
        unpaid = f"{known.meaning} {known.what_to_do}" if case.is_said_paid is None else _UNPAID
        return ("you", _NOT_REQUESTED) if is_missing else (known.whose_move, unpaid)
    if state == "refunded":
        return known.whose_move, f"{known.meaning} {known.what_to_do}"
    if state == "partly_paid":
        missing = case.coverage.missing
        rest = "" if missing is None else f", {format_number(missing)} {case.order.invoice_currency}"
        return "payer", f"Have the payer pay the rest{rest}."
    if case.latest is not None and case.latest.status != "initiated":
        found = explain_word(case.latest.status, "payment")
        return found.whose_move, found.what_to_do
    if case.order.pays_wallet:
        return "nobody", "Nothing."
    if has_events:
        return "service", "Wait: no event says yet whether the bank has the money."
    return "service", "Only events say whether the bank has the money: give those of read_events(), events=."


def _note(case: _Case, state: str) -> str:
    """Return what is odd about the payments of an order that is paid, and what to do about it, or ""."""
    coverage = case.coverage
    if coverage.doubt:
        return coverage.doubt
    if state == "failed" and case.seen:
        return _NOT_BACK
    if state == "paid_twice":
        return f"Paid {coverage.times} times: have the surplus returned."
    if coverage.excess is not None:
        return f"{format_number(coverage.excess)} more than ordered was paid: settle it with the payer."
    if coverage.times is None and len(case.seen) > 1:
        paid = count_of(len(case.seen), "payment")
        return f"{paid} in another currency than the order: check that it was not paid twice."
    return ""
