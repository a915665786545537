"""Compare orders with what was paid and with what events say: paid or not, how much, when, and whether the bank has it.

What an order's state is, from its payments and from the last off-ramp status that an event reports:

    state         what is known
    not_paid      no payment is known; it may only not be listed yet
    partly_paid   payments are known, and what is left of them is less than the amount, even if the bank has it
    unclear       whether the order is paid cannot be told: of its amount, of its token, or of another order's reference
    paid          paid in crypto; nothing is known of the bank, or a wallet was paid
    on_its_way    the service has the crypto, and works on the payout
    at_the_bank   the money was sent to the bank (fiat_sent)
    bounced       the bank returned the money
    failed        the payout failed, or has to be tried again
    refunded      the crypto was given back
    paid_twice    paid in full more than once; or perhaps, if two payments differ in their hash alone
    unmatched     a payment that is for none of the orders
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from payerkit.checks.schema import MASK
from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.explanations import Explanation, explain_word
from payerkit.frames import columns, frame_of
from payerkit.masking import mask
from payerkit.onchain.amounts import format_number
from payerkit.payouts.coverage import (
    COPY,
    Coverage,
    ExpectedOrder,
    NewsIndex,
    PayoutEvent,
    PayoutNews,
    SeenPayment,
    cover,
    id_key,
    ids_of,
    read_expected_orders,
    read_times,
    rows_of,
)
from payerkit.payouts.payments import DTYPES, find_duplicates
from payerkit.wording import count_of

if TYPE_CHECKING:
    from payerkit.payouts.coverage import OrdersToReconcile

_DTYPES = columns(
    "reference request_id amount invoice_currency state paid times_paid payments paid_amount "
    "payment_currency paid_at tx_hash bank_status bank_status_at reason whose_move what_to_do",
    object="amount paid_amount",
    boolean="paid",
    Int64="times_paid payments",
    time="paid_at bank_status_at",
)
"""Columns and their dtypes."""

STATE_OF_WORD = {
    "initiated": None,
    "pending_internal_assessment": "on_its_way",
    "ongoing_checks": "on_its_way",
    "processing": "on_its_way",
    "sending_fiat": "on_its_way",
    "fiat_sent": "at_the_bank",
    "bounced": "bounced",
    "failed": "failed",
    "insufficient_funds": "failed",
    "retry_required": "failed",
}
"""The state of an order by the last off-ramp status, for every documented one; None where the payments decide."""

_HAS_ARRIVED = ("on_its_way", "at_the_bank", "bounced")
"""States that prove that the crypto arrived, even if no payment is listed."""


@without_internal_frames
def reconcile(orders: OrdersToReconcile, payments: pd.DataFrame, events: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return what became of each order: paid or not, how much, when, and whether the bank has the money.

    **Beyond the specification**. Nothing is sent. A payment belongs to the order with its request id, else to that with
    its payment reference, else to that with its reference, whatever its case and blanks. An order that shares its
    reference with another one is not called unpaid: it is unclear. `list_payments` knows only what was paid on the
    blockchain: without events, nothing is known of the bank.

    Args:
        orders: What `create_request`, `request_payment` or `initiate_payment` returned, as a list; or a DataFrame or
            dicts with `reference`, `request_id` or `payment_reference`, with `amount` and `invoice_currency`. If a
            token was ordered that is not pegged to that currency, give the `payment_currency`, too: in any other token,
            a payment is unclear. A row with a `payee` pays a wallet, and no bank.
        payments: From `list_payments`; several of them joined with `pd.concat`, too. Duplicates count once.
        events: From `read_events`. Events whose signature is invalid count for nothing; what a header calls a test
            counts only if it is bad news, since headers are not signed.

    Returns:
        One row per order, in their order, then one per payment that is for none of them. Columns: `reference`,
        `request_id`, `amount` (Decimal) and `invoice_currency` of the order; `state`: not_paid, as far as is known,
        partly_paid (also if the bank has the part), unclear, paid (in crypto), on_its_way, at_the_bank (`fiat_sent` was
        reported), bounced, failed, refunded, paid_twice, or unmatched; `paid` (boolean): whether in full, missing if
        that is not known; `times_paid` (Int64): how often in full, missing if that cannot be told; `payments` (Int64):
        how many there are; `paid_amount` (Decimal), their sum as the service lists it, and `payment_currency`;
        `paid_at`; `tx_hash`, all of them; `bank_status`, the last off-ramp status, `bank_status_at`, and `reason`, why
        it failed; `whose_move` and `what_to_do`. Text has dtype `string`, times are in UTC. A reference that holds an
        e-mail address is masked.

    Raises:
        InvalidInput: For orders that cannot be read, for two of one request, for anything but such frames, and if
            masked references hide which payment is for which order.

    Example:
        >>> orders = [{"reference": "invoice-1", "amount": "25.50", "invoice_currency": "USD"}]
        >>> frame = reconcile(orders, list_payments(client, payment_currency="USDC-sepolia"))
        >>> frame[["reference", "state", "paid", "payments"]]
           reference     state  paid  payments
        0  invoice-1  not_paid  <NA>         0
    """
    expected = read_expected_orders(orders)
    news = NewsIndex.of(events)
    matched = [_Matched(order) for order in expected]
    unmatched = _match(matched, read_paid(payments))
    _check_references(matched, unmatched)
    rows = [_order_row(each, news, has_events=events is not None) for each in matched]
    rows += [_unmatched_row(row, news) for row in unmatched]
    return frame_of(rows, _DTYPES)


def read_paid(payments: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame of payments without duplicates, in the order of their times.

    Raises InvalidInput for anything else.
    """
    if not isinstance(payments, pd.DataFrame) or not set(DTYPES) <= set(payments.columns):
        raise InvalidInput("payments: expected a result of list_payments(), with all its columns.")
    table = payments[list(DTYPES)].reset_index(drop=True)
    if any(isinstance(amount, float) and amount == amount for amount in table["amount"]):  # noqa: PLR0124 - NaN is missing
        raise InvalidInput("payments: amount: a float is not exact. Read the file as text, with dtype=str.")
    table = table[pd.isna(pd.array(find_duplicates(table), dtype="Int64"))]
    table = table.assign(timestamp=read_times(table["timestamp"]))
    return rows_of(table.sort_values("timestamp", kind="stable"))


@dataclass(slots=True)
class _Matched:
    """An order with the rows of its payments. is_shared: another order has its reference."""

    order: ExpectedOrder
    rows: list[dict[str, Any]] = field(default_factory=list)
    is_shared: bool = False

    @property
    def ids(self) -> list[tuple[str, str]]:
        """The ids that the service gave its requests: a payment may tell those that the order does not have."""
        return list(dict.fromkeys(each for row in (self.order.ids, *self.rows) for each in ids_of(row)))


def _match(orders: Sequence[_Matched], rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give each payment to its order, and return those that are for none, or for one of several.

    Orders that could be meant by the same payment are marked, whether there is one or not.
    """
    by_id: dict[tuple[str, str], list[_Matched]] = {}
    for each in orders:
        for key in _keys(each.order.ids):
            by_id.setdefault(key, []).append(each)
    for found in by_id.values():
        for each in found:
            each.is_shared |= len(found) > 1
    unmatched = []
    for row in rows:
        candidates = next((by_id[key] for key in _keys(row) if key in by_id), [])
        if len(candidates) == 1:
            candidates[0].rows.append(row)
        else:
            unmatched.append({**row, "candidates": len(candidates)})
    return unmatched


def _check_references(orders: Iterable[_Matched], unmatched: Iterable[dict[str, Any]]) -> None:
    """Raise InvalidInput if an order may be paid by a payment whose reference is masked: paid again, it costs twice."""
    is_hidden = any(row["reference"] == MASK and not row["candidates"] for row in unmatched)
    for number, each in enumerate(orders, 1):
        ids = each.order.ids
        is_known = each.rows or ids["request_id"] or ids["payment_reference"]
        if is_hidden and not is_known and mask("reference", ids["reference"]) == MASK:
            raise InvalidInput(
                f"payments: references that hold an e-mail address are masked, as that of orders, line {number}, would "
                "be. Read them with list_payments(..., reveal=True), or give the orders their request_id."
            )


def _keys(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what tells which order a row is for, the strongest first; a masked reference tells nothing."""
    reference = row["reference"]
    return ids_of(row) + ([("reference", id_key(reference))] if reference and MASK not in reference else [])


def _order_row(matched: _Matched, news: NewsIndex, *, has_events: bool) -> dict[str, Any]:
    """Return the row of an order."""
    order, told = matched.order, news.of_request(matched.ids)
    seen = _seen_payments(matched.rows, told)
    coverage = cover(order, seen, told.refunds) if seen or told.refunds else None
    latest = told.latest
    state = _state(coverage, latest, is_shared=matched.is_shared)
    advice = _advice(state, matched, seen, coverage, latest, has_events=has_events)
    if state == "partly_paid" and told.refunds:
        advice = advice.after("Crypto was given back: find out whether it is still owed.")
    if not all(event.counts for event in told.events):
        advice = advice.after(_TEST)
    return {
        "reference": mask("reference", order.ids["reference"] or _first(matched.rows, "reference")),
        "request_id": order.ids["request_id"] or _first(matched.rows, "request_id"),
        "amount": order.amount,
        "invoice_currency": order.invoice_currency,
        "state": state,
        "paid": coverage.paid if coverage else True if state in _HAS_ARRIVED else None,
        "times_paid": coverage.times if coverage else None if state in _HAS_ARRIVED else 0,
        "payments": len(seen),
        "paid_amount": coverage and coverage.amount,
        "payment_currency": _joined(each.payment_currency for each in seen),
        "paid_at": coverage and coverage.paid_at,
        "tx_hash": _joined(each.tx_hash for each in seen),
        **_bank_cells(latest),
        "whose_move": advice.whose_move,
        "what_to_do": advice.what_to_do,
    }


def _unmatched_row(row: dict[str, Any], news: NewsIndex) -> dict[str, Any]:
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
        **_bank_cells(news.of_request(ids_of(row)).latest),
        "whose_move": "you",
        "what_to_do": why,
    }


def _bank_cells(latest: PayoutEvent | None) -> dict[str, Any]:
    if latest is None:
        return {}
    return {"bank_status": latest.status, "bank_status_at": latest.time, "reason": latest.reason}


def _seen_payments(rows: Iterable[dict[str, Any]], told: PayoutNews) -> list[SeenPayment]:
    """Return the payments of an order: those listed, and those that only an event tells of."""
    seen = [SeenPayment(row) for row in rows]
    listed = bool(seen)
    for event in told.payments:
        hashes = {event.tx_hash.lower()} if event.tx_hash else set()
        known = [place for place, each in enumerate(seen) if hashes & each.tx_hashes]
        # A payment without a transaction, listed or reported, may be the same one: counted twice, it would be wrong.
        is_new = not known and not (listed and (not hashes or any(not each.tx_hashes for each in seen)))
        if is_new and (hashes or not seen):
            hash_of = {"source_tx_hash": event.tx_hash, "destination_tx_hash": None}
            seen.append(SeenPayment({**event.row, **hash_of, "has_been_paid": event.completes}))
        for place in known or range(len(seen)):
            if event.completes:
                seen[place].has_been_paid = True
    return sorted(seen, key=lambda each: pd.Timestamp.max.tz_localize("UTC") if each.time is None else each.time)


def _state(coverage: Coverage | None, latest: PayoutEvent | None, *, is_shared: bool) -> str:
    """Return the state of an order; the table at the top of this module says what each means."""
    if coverage is not None and coverage.is_refunded:
        return "refunded"
    if coverage is not None and (coverage.times or 0) > 1:
        return "paid_twice"
    of_bank = STATE_OF_WORD.get(latest.status or "") if latest else None
    if of_bank in {"bounced", "failed"}:
        return of_bank
    if coverage is None:
        return of_bank or ("unclear" if is_shared else "not_paid")
    if coverage.paid is False or coverage.doubt:  # the bank has a part, or something else than what was ordered
        return "partly_paid" if coverage.paid is False and not is_shared else "unclear"
    return of_bank or ("unclear" if coverage.paid is None else "paid")


@dataclass(frozen=True, slots=True)
class _Advice:
    """Whose move it is, and what to do."""

    whose_move: str
    what_to_do: str

    def after(self, note: str) -> _Advice:
        """Return the advice with a note before it, which is for you to settle."""
        rest = "" if self.what_to_do == "Nothing." else f" {self.what_to_do}"
        return _Advice("you", note + rest)


_UNCLEAR = "Compare the payments with the order; get_request() returns what the service says."
_SHARED = "Another order has this reference, apart from blanks and case: find out which is paid before anyone pays one."
_TEST = "The header of an event calls it a test, so it does not count; but headers are not signed: ask the service."

_ADVICE = {
    "not_paid": _Advice(
        "payer",
        "No payment is known, which does not prove that there is none: call get_request(), and have the payer sign if "
        "it is unpaid.",
    ),
    "refunded": _Advice("you", "The crypto was given back. If the money is still owed, create a new request."),
}


def _advice(
    state: str,
    matched: _Matched,
    seen: Sequence[SeenPayment],
    coverage: Coverage | None,
    latest: PayoutEvent | None,
    *,
    has_events: bool,
) -> _Advice:
    """Return whose move it is with an order, and what to do."""
    order, doubt = matched.order, coverage.doubt if coverage else ""
    if state == "unclear":
        return _Advice("you", doubt or (_SHARED if matched.is_shared else _UNCLEAR))
    if state in _ADVICE:
        return _ADVICE[state]
    if state == "partly_paid":
        missing = coverage.missing if coverage else None
        rest = "" if missing is None else f", {format_number(missing)} {order.invoice_currency}"
        return _Advice("payer", f"Have the payer pay the rest{rest}.")
    found = _of_bank(order, latest, has_events=has_events)
    if doubt:
        return found.after(doubt)
    if state == "paid_twice" and coverage is not None:
        times = f"paid {coverage.times} times"
        paid = f"Perhaps {times}. {COPY} Then" if coverage.has_copies else f"{times.capitalize()}:"
        return found.after(f"{paid} have the surplus returned.")
    if coverage is not None and coverage.excess is not None:
        return found.after(f"{format_number(coverage.excess)} more than ordered was paid: settle it with the payer.")
    if coverage is not None and coverage.times is None and len(seen) > 1:
        note = f"{count_of(len(seen), 'payment')} in another currency than the order: check that it was not paid twice."
        return found.after(note)
    return found


def _of_bank(order: ExpectedOrder, latest: PayoutEvent | None, *, has_events: bool) -> _Advice:
    """Return what to do about the bank's side of an order that is paid."""
    if latest is not None and latest.status != "initiated":
        found: Explanation = explain_word(latest.status, "payment")
        return _Advice(found.whose_move, found.what_to_do)
    if order.pays_wallet:
        return _Advice("nobody", "Nothing.")
    if has_events:
        return _Advice("service", "Wait: no event says yet whether the bank has the money.")
    return _Advice("service", "Only events say whether the bank has the money: read_events(), then reconcile(events=).")


def _first(rows: Iterable[dict[str, Any]], name: str) -> str | None:
    return next((row[name] for row in rows if row[name]), None)


def _joined(texts: Iterable[str | None]) -> str | None:
    """Return different texts in one, or None if there are none."""
    return ", ".join(dict.fromkeys(text for text in texts if text)) or None
