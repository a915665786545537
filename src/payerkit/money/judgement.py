"""What is to be done about an order, from all that its sources say.

Nothing is to be paid, signed, created or returned on the word of a source that another
one contradicts: then it is your move, and the doubt says what does not fit.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from payerkit._tsv import grouped
from payerkit.explanations import count_words, explain_word
from payerkit.masking import mask
from payerkit.money.books import near_key
from payerkit.money.coverage import (
    Coverage,
    cover,
    in_currency,
    is_token,
    is_worth,
    sum_of,
    tolerance,
)
from payerkit.money.lists import has_terms
from payerkit.money.sources import Case, Movement, without_doubles
from payerkit.payments.onchain.amounts import EXACT, format_number
from payerkit.wording import count_of


@dataclass(frozen=True, slots=True)
class Doubt:
    """What does not fit, and how to find out.

    is_open: whether the order may be paid in full, or not, or twice, so that nobody is
    to act. is_of_times: whether it may be so even if it is paid.
    """

    what: str
    step: str
    is_open: bool = True
    is_of_times: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """The state of an order, whose move it is, and what to do. doubt: what does not
    fit, or "".
    """

    state: str
    whose_move: str
    what_to_do: str
    doubt: str
    coverage: Coverage


@dataclass(frozen=True, slots=True)
class Context:
    """What is known of the lists and events as a whole, and what was paid that is for
    no order.

    payments_doubt, requests_doubt: why a list may lack something, or "". unbelieved:
    how many events there are, if none of them is believed.
    """

    strays: Strays
    has_events: bool = False
    payments_doubt: str = ""
    requests_doubt: str = ""
    unbelieved: int = 0


@dataclass(frozen=True, slots=True)
class Stray:
    """Money that is for none of the orders, or more than one of them asks for."""

    amount: Decimal | None
    currency: str | None
    words: str
    case: Case | None = None
    reference: str | None = None


class Strays:
    """Money that may be an order's own, although nothing says so."""

    def __init__(self, strays: Iterable[Stray]) -> None:
        known = list(strays)
        self._near = grouped((near_key(stray.reference), stray) for stray in known)
        self._near.pop("", None)
        by_token = grouped((stray.currency, stray) for stray in known)
        self._by_token = {
            token: sorted(same, key=_amount_of) for token, same in by_token.items()
        }

    def of(self, case: Case, owed: Decimal | None) -> Stray | None:
        """Return money that may be that of an order, by a reference that is nearly the
        same, or by its amount; None if there is none.
        """
        order = case.order
        key = near_key(order.ids["reference"])
        for stray in self._near.get(key, ()):
            return stray
        for token, same in self._by_token.items():
            found: list[Stray] = []
            if token is None or is_worth(token, order):
                found = _in_range(same, owed, tolerance(order, [token]))
            elif is_token(token, order.payment_currency):
                found = same
            for stray in found:
                if stray.case is not case:
                    return stray
        return None


def _amount_of(stray: Stray) -> Decimal:
    return stray.amount or Decimal(0)


def _in_range(
    strays: list[Stray], amount: Decimal | None, near: Decimal
) -> list[Stray]:
    """Return those whose amount is about another one; all if that is not known."""
    if amount is None:
        return strays
    first = bisect_left(strays, EXACT.subtract(amount, near), key=_amount_of)
    last = bisect_right(strays, EXACT.add(amount, near), key=_amount_of)
    return strays[first:last]


def stray_of(payment: Movement) -> Stray:
    """Return a listed payment that is for none of the orders."""
    row = payment.row
    reference = mask("reference", row["reference"])
    name = f"the payment {payment.tx_hash or row['payment_id'] or ''}".rstrip()
    if reference:
        name += f" with the reference {reference}"
    return Stray(
        payment.amount,
        payment.currency,
        f"{name}, which is for none of the orders",
        reference=row["reference"],
    )


def surplus_of(case: Case) -> Stray | None:
    """Return what was paid for an order beyond its amount; None if there is none."""
    order = case.order
    coverage = cover(order, case.payments, case.refunds)
    over = coverage.excess
    amount = sum_of(case.payments)
    if (coverage.times or 0) > 1 and amount is not None and order.amount:
        over = EXACT.subtract(amount, order.amount)
    if over is None:
        return None
    name = mask("reference", order.ids["reference"]) or order.ids["request_id"]
    words = f"what was paid too much for {name}"
    return Stray(over, case.payments[0].currency, words, case=case)


_HAS_ARRIVED = ("paid", "on_its_way", "at_the_bank", "bounced")
"""States that prove that the crypto arrived, even if no payment is listed."""

_ADVISES_MONEY = ("not_paid", "partly_paid", "paid_twice", "refunded")
"""States after which somebody pays, signs, creates or returns something."""


def judge(case: Case, context: Context) -> Judgement:
    """Return the state of an order, and what to do about it."""
    coverage = cover(case.order, case.payments, case.refunds)
    state = _state(case, coverage)
    doubts = list(_doubts(case, coverage, state, context))
    if state in _HAS_ARRIVED and not case.is_paid_at_all:
        coverage = replace(coverage, paid=True, times=None)
    is_of_times = any(doubt.is_of_times for doubt in doubts)
    is_open = any(doubt.is_open for doubt in doubts)
    if is_of_times and state not in {"bounced", "failed"}:
        state = "unclear"
        coverage = replace(coverage, paid=_is_paid_at_least(case), times=None)
    elif is_open and (state in _ADVISES_MONEY or not (case.payments or case.words)):
        coverage = replace(coverage, paid=None, times=None)
        state = "unclear"
    if doubts:
        steps = dict.fromkeys(doubt.step for doubt in doubts)
        what = dict.fromkeys(doubt.what for doubt in doubts)
        return Judgement(state, "you", " ".join(steps), " ".join(what), coverage)
    whose_move, step = _step(case, coverage, state, context)
    notes = list(_notes(case, coverage, state))
    facts = list(_facts(case, coverage, state))
    if notes:
        whose_move = "you"
    if (notes or facts) and step == "Nothing.":
        step = ""
    return Judgement(
        state, whose_move, " ".join(filter(None, [*notes, *facts, step])), "", coverage
    )


def _is_paid_at_least(case: Case) -> bool | None:
    """Return True if the order is paid even if what looks like two payments is one;
    None if that is not known.
    """
    payments = without_doubles(case.payments)
    return cover(case.order, payments, case.refunds).paid or None


def _state(case: Case, coverage: Coverage) -> str:
    """Return the state of an order by payments and payouts; statuses.tsv says what each
    means.
    """
    if coverage.is_refunded:
        return "refunded"
    if (coverage.times or 0) > 1:
        return "paid_twice"
    of_bank = None
    if case.words:
        of_bank = case.words[0].state
    if of_bank is not None and of_bank in {"bounced", "failed"}:
        return of_bank
    if not case.is_paid_at_all:
        if of_bank:
            return of_bank
        is_one_of = len(case.requests or ()) > 1 and not case.has_one_request
        if case.is_shared or is_one_of:
            return "unclear"
        if case.is_said_paid:
            return "paid"
        return "not_paid"
    # The bank may have a part, or something else than what was ordered.
    if coverage.paid is False and not case.is_shared:
        return "partly_paid"
    if coverage.paid is False or coverage.doubt:
        return "unclear"
    if of_bank:
        return of_bank
    if coverage.paid is None:
        return "unclear"
    return "paid"


_ASK = "Ask the service which of the two is right."


def _doubts(
    case: Case, coverage: Coverage, state: str, context: Context
) -> Iterator[Doubt]:
    """Yield what does not fit, those first that say whether the order is paid."""
    if coverage.doubt:
        yield _parted(coverage.doubt)
    yield from _doubts_of_matching(case, state)
    yield from _doubts_of_requests(case, coverage, state, context)
    yield from _doubts_of_events(case, state, context)
    yield from _doubts_of_times(case, coverage)
    if context.payments_doubt and state in _ADVISES_MONEY:
        yield Doubt(context.payments_doubt, "Read the list of payments again.")
    if state in {"not_paid", "partly_paid"}:
        owed = case.order.amount
        if coverage.short is not None:
            owed = coverage.short
        stray = context.strays.of(case, owed)
        if stray is not None:
            yield Doubt(
                f"It may be paid by {stray.words}.",
                "Find out what that money is for, before anyone pays.",
            )


def _parted(text: str) -> Doubt:
    """Return a doubt whose sentence ends with the step, after a colon."""
    what, _, step = text.rpartition(": ")
    return Doubt(f"{what}.", f"{step[:1].upper()}{step[1:]}")


def _doubts_of_matching(case: Case, state: str) -> Iterator[Doubt]:
    for conflict in case.conflicts:
        yield Doubt(conflict, "Find out for which order it is.", is_of_times=True)
    if state == "unclear" and case.is_shared:
        yield Doubt(
            "Another order has this reference, apart from blanks and case.", _WHICH
        )
    elif state == "unclear" and not case.is_paid_at_all:
        yield Doubt("Several requests have this reference.", _WHICH)


_WHICH = "Find out which is paid before anyone pays one."


def _doubts_of_requests(
    case: Case, coverage: Coverage, state: str, context: Context
) -> Iterator[Doubt]:
    """Yield where requests contradict each other, the order, or its payments."""
    claims = case.claims
    if "paid" in claims and len(claims) > 1:
        yield Doubt(
            "The service says of its request both that it is paid and that it is not.",
            "Read the request again, and ask the service if it stays so.",
        )
    elif claims == {"part"} and not case.is_paid_at_all:
        yield Doubt(
            "Its request is listed as paid in part, but no payment is listed.",
            "Ask the service which transaction paid it.",
        )
    elif claims == {"off"} and (case.is_paid_at_all or state in _HAS_ARRIVED):
        yield Doubt(
            "Its request was cancelled or has expired, but something was paid.",
            "Ask the service where the payment is now.",
        )
    elif state in {*_HAS_ARRIVED, "paid_twice"} and case.is_said_paid is False:
        yield Doubt(
            "Its request is listed as unpaid.",
            "List the requests again, and ask the service if it stays so.",
            is_open=state == "paid_twice",
        )
    elif state in _HAS_ARRIVED and case.is_said_paid and not case.is_paid_at_all:
        yield Doubt(
            "Its request is listed as paid, but no payment is.",
            "Ask the service which transaction paid it.",
            is_open=False,
        )
    if case.has_one_request and not all(
        has_terms(request, case.order) for request in case.requests or ()
    ):
        yield Doubt(
            "Its request is listed with another amount or currency.",
            "Find out which is right before anyone pays.",
            is_open=False,
        )
    if case.requests == [] and state == "not_paid" and context.requests_doubt:
        yield Doubt(context.requests_doubt, "Read the list of requests again.")
    is_told_of = case.is_paid_at_all or bool(case.events)
    if case.requests == [] and is_told_of and state in _ADVISES_MONEY:
        yield Doubt(
            "The list has no request for it, but a payment or an event is of one.",
            "List the requests again, and ask the service if it stays so.",
        )
    is_untold = state == "unclear" and coverage.paid is None and not coverage.doubt
    if is_untold and case.is_paid_at_all and not case.is_shared:
        yield Doubt(
            "Neither the amounts nor the service's own words prove that it is paid.",
            explain_word("unclear", "order").what_to_do,
        )


def _doubts_of_events(case: Case, state: str, context: Context) -> Iterator[Doubt]:
    """Yield where events contradict themselves, or the list of payments."""
    if not all(event.counts for event in case.events):
        yield Doubt(
            "The header of an event calls it a test, so it does not count; but headers"
            " are not signed.",
            "Ask the service.",
        )
    if context.unbelieved:
        yield Doubt(
            f"None of {count_of(context.unbelieved, 'event')} is believed, since no"
            " signature is valid.",
            "Check the secret that you give to read_events().",
            is_open=False,
        )
    for payment in case.payments:
        if payment.event_amount is None or payment.amount is None:
            continue
        difference = abs(EXACT.subtract(payment.event_amount, payment.amount))
        near = tolerance(case.order, [payment.currency])
        if is_worth(payment.currency, case.order) and difference > near:
            yield Doubt(
                f"Of one payment, the list has {format_number(payment.amount)} and an"
                f" event {format_number(payment.event_amount)}.",
                _ASK,
            )
    if case.has_unlisted:
        yield Doubt(
            "An event tells of a payment with an amount that no listed one has.",
            "List the payments again, and ask the service if it stays so.",
        )
    for event in case.events:
        amount = event.row["amount"]
        given = event.row["refund_amount"]
        if event.kind == "payment.refunded" and amount and given and amount != given:
            yield Doubt(
                f"An event of the refund has two amounts, {amount} and {given}.", _ASK
            )
    has_arrived = any(word.status == "fiat_sent" for word in case.words)
    if has_arrived and case.refunds and state in {"refunded", "partly_paid"}:
        yield Doubt(
            "One event says that the bank has the money, another that it was given"
            " back.",
            _ASK,
        )
    if state == "paid_twice" and any(word.setback for word in case.words):
        yield Doubt(
            "It was paid more than once, but a payout failed or came back.",
            "Find out what was given back already.",
        )
    times = [payment.time for payment in case.payments if payment.time is not None]
    for word in case.words:
        failed_at = word.time
        if word.setback == 1 and failed_at is not None:
            is_before = [time <= failed_at for time in times]
            if any(is_before) and not all(is_before):
                yield Doubt(
                    "A payout failed, and another payment was made after it.",
                    "Find out whether the first one was given back.",
                )


def _doubts_of_times(case: Case, coverage: Coverage) -> Iterator[Doubt]:
    """Yield the doubt whether payments or refunds that look like two are one."""
    payments = without_doubles(case.payments)
    refunds = without_doubles(case.refunds)
    if payments == case.payments and refunds == case.refunds:
        return
    less = cover(case.order, payments, refunds)
    if less == coverage:
        return
    movements = case.payments
    noun = "payments"
    if len(refunds) < len(case.refunds):
        movements = case.refunds
        noun = "refunds"
    hashes = dict.fromkeys(movement.tx_hash or "no hash" for movement in movements)
    yield Doubt(
        f"Two {noun} of one amount may be one: {', '.join(hashes)}.",
        "Look up the transactions: find out whether there was one or two.",
        is_of_times=True,
    )


def _step(
    case: Case, coverage: Coverage, state: str, context: Context
) -> tuple[str, str]:
    """Return whose move it is, and the next step, by a state that nothing
    contradicts.
    """
    known = explain_word(state, "order")
    if state == "not_paid":
        return _step_of_unpaid(case)
    if state == "refunded":
        return known.whose_move, f"{known.meaning} {known.what_to_do}"
    if state == "paid_twice":
        return "you", f"Paid {coverage.times} times: have the surplus returned."
    if state == "partly_paid":
        rest = "the rest"
        if coverage.short is not None:
            rest = f"the rest, {in_currency(coverage.short, case.order)}"
        if case.refunds:
            return "you", (
                "Crypto was given back: find out whether it is still owed before the"
                f" payer pays {rest}."
            )
        return "payer", f"Have the payer pay {rest}."
    word = case.words[0] if case.words else None
    if word is not None and word.status != "initiated":
        explanation = explain_word(word.status, "payment")
        return explanation.whose_move, explanation.what_to_do
    if case.order.pays_wallet:
        return "nobody", "Nothing."
    if context.has_events:
        return "service", "Wait: no event says yet whether the bank has the money."
    return "service", (
        "Only events say whether the bank has the money: give those of"
        " read_events(), events=."
    )


def _step_of_unpaid(case: Case) -> tuple[str, str]:
    known = explain_word("not_paid", "order")
    if case.requests == []:
        return "you", (
            "The list has no request for it. If a list still lacks it in a minute,"
            " create one."
        )
    for request in case.requests or ():
        status = explain_word(request.get("status"), "request")
        if "off" in case.claims and status.final:
            return status.whose_move, f"{status.meaning} {status.what_to_do}"
    if case.is_said_paid is False:
        return known.whose_move, (
            "The service lists its request as unpaid: have the payer sign."
        )
    return known.whose_move, f"{known.meaning} {known.what_to_do}"


def _notes(case: Case, coverage: Coverage, state: str) -> Iterator[str]:
    """Yield what is left to settle beside the next step."""
    if state in {"refunded", "partly_paid", "paid_twice"}:
        return
    if state == "failed" and case.payments:
        yield (
            "Its crypto is paid, and none is known to be given back: have that settled"
            " before anyone pays again."
        )
    elif coverage.excess is not None:
        yield (
            f"{format_number(coverage.excess)} more than ordered was paid: settle it"
            " with the payer."
        )
    elif coverage.times is None and len(case.payments) > 1:
        yield (
            f"{count_of(len(case.payments), 'payment')} in another currency than the"
            " order: check that it was not paid twice."
        )


def _facts(case: Case, coverage: Coverage, state: str) -> Iterator[str]:
    """Yield what the state alone does not say."""
    if coverage.short and state not in {"partly_paid", "refunded"}:
        short = in_currency(coverage.short, case.order)
        if coverage.is_fee:
            yield f"{short} less than ordered arrived: the listed fees took it."
        else:
            yield f"{short} less than ordered was paid."
    if coverage.over and coverage.excess is None and state != "paid_twice":
        yield f"{in_currency(coverage.over, case.order)} more than ordered was paid."
    if len({word.status for word in case.words}) > 1:
        words = count_words(word.status or "" for word in case.words)
        yield f"Its {len(case.words)} payouts: {words}."
    told = case.words[:1]
    if state == "refunded":
        told = [event for event in case.events if event.kind == "payment.refunded"]
    is_of_events = state in {"at_the_bank", "bounced", "failed", "refunded"}
    if is_of_events and not all(event.is_verified for event in told):
        yield "An event that nobody verified says so."
