"""Judge a payment: who is paid, with what, how much, with which fee and reference."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from payerkit.findings import Finding, Severity
from payerkit.onchain import amounts
from payerkit.onchain.addresses import BURNED, is_same, spelled
from payerkit.onchain.effects import Effect
from payerkit.onchain.review_approvals import UNLIMITED
from payerkit.onchain.review_base import ANSWER, CALLDATA, ORDER, TOKENS, PaymentReview, say
from payerkit.onchain.transactions import DecodedTransaction, asset


def judge_payment(case: PaymentReview, step: DecodedTransaction, line: Effect) -> Iterator[Finding]:
    """Yield what is to be said of a payment."""
    yield from _recipient(case, step, line)
    yield from _moved_token(case, step, line)
    yield from _amount(case, step, line)
    yield from _fee(case, step, line)
    yield from _reference(case, step, line)
    if line.fault:
        yield say("would_fail", "error", "data", f"The contract would refuse it. {line.fault}", CALLDATA, step)
    if line.does != "pay":
        words = f"Not a payment to the payee at once, but: {line.does}. payerkit does not judge that."
        yield say("other_way", "error", "data", words, CALLDATA, step)
    if line.place is not None:
        words = "A batch: the contract may take a fee of its own, which the data does not tell."
        yield say("batch", "warning", "data", words, CALLDATA, step)
    if line.unit == "request":
        yield from _conversion(case, step, line)


def _recipient(case: PaymentReview, step: DecodedTransaction, line: Effect) -> Iterator[Finding]:
    if line.recipient is None:
        yield say("recipient_unknown", "error", "recipient", "The data does not say who is paid.", CALLDATA, step)
    elif line.recipient.lower() in BURNED:
        words = "An address that nobody has: what is paid is lost."
        yield say("recipient_burned", "error", "recipient", words, CALLDATA, step)
    elif not case.order:
        yield say("recipient", "info", "recipient", f"Paid is {spelled(line.recipient)}.", CALLDATA, step)
    elif is_same(line.recipient, case.order.payee):
        yield say("payee_matches", "info", "recipient", "The payee matches the order.", ORDER, step)
    else:
        words = f"Paid is {spelled(line.recipient)}, and not the payee of the order."
        yield say("payee_differs", "error", "recipient", words, ORDER, step)


def _moved_token(case: PaymentReview, step: DecodedTransaction, line: Effect) -> Iterator[Finding]:
    if case.network is None:
        return
    token = asset(line.token, case.network)
    if token is None:
        yield say("token_unknown", "error", "token", f"No known token on {case.network}.", TOKENS, step)
    elif case.wanted and token != case.wanted:
        words = f"Paid with {token.id}, and not with {case.wanted.id}."
        yield say("token_differs", "error", "token", words, ORDER, step)
    else:
        yield say("token_matches", "info", "token", f"Paid with {token.id}.", TOKENS, step)


def _amount(case: PaymentReview, step: DecodedTransaction, line: Effect) -> Iterator[Finding]:
    token = case.wanted
    if line.amount is None:
        words = "The data does not say how much, or the fee is larger than the value."
        yield say("amount_unknown", "error", "amount", words, CALLDATA, step)
        return
    if line.amount == 0:
        yield say("amount_zero", "error", "amount", "Nothing is paid.", CALLDATA, step)
    if token is None:
        yield say("amount_unchecked", "warning", "amount", "Nothing to compare it with.", ORDER, step)
        return
    judged = amounts.judge(line, case.order, token, case.rate)
    yield say(judged.code, judged.severity, "amount", judged.message, ORDER, step, hint=judged.hint)


def _conversion(case: PaymentReview, step: DecodedTransaction, line: Effect) -> Iterator[Finding]:
    most = step.value if line.max_to_spend is None else line.max_to_spend
    much = "any amount" if most is None or most == UNLIMITED else amounts.text(most, asset(line.token, case.network))
    age = "" if line.max_rate_age else " The rate may be of any age."
    words = f"Up to {much} may be spent.{age}"
    yield say("max_to_spend", "warning", "max_to_spend", words, CALLDATA, step, hint="Compare it with the amount.")


def _fee(case: PaymentReview, step: DecodedTransaction, line: Effect) -> Iterator[Finding]:
    if line.fee is None:
        return
    nobody = line.fee_recipient is None or line.fee_recipient.lower() in BURNED
    if line.fee == 0:
        severity: Severity = "info" if nobody else "warning"
        words = "No fee." if nobody else "No fee, and yet somebody to receive it."
        yield say("fee_none", severity, "fee", words, CALLDATA, step)
        return
    share = f", {Decimal(100 * line.fee) / Decimal(line.amount):.4g} % of the amount" if line.amount else ""
    much = amounts.line_text(line, line.fee, asset(line.token, case.network))
    words = f"A fee of {much}{share}, on top of the amount."
    if line.fee_recipient is not None and int(line.fee_recipient, 16) == 0:
        words = f"A fee of {much} to the zero address: token contracts do not take it."
    yield say("fee", "warning", "fee", words, CALLDATA, step, hint="Compare it with what was agreed.")


def _reference(case: PaymentReview, step: DecodedTransaction, line: Effect) -> Iterator[Finding]:
    told = getattr(case.payment, "payment_reference", None)
    if line.reference is None:
        yield say("reference_missing", "warning", "reference", "The payment has no reference.", CALLDATA, step)
    elif len(line.reference) != 8:
        words = "A reference has eight bytes: by this one the payment would not be found."
        yield say("reference_malformed", "error", "reference", words, CALLDATA, step)
    elif told is None:
        yield say("reference_unchecked", "warning", "reference", "The answer names no reference.", ANSWER, step)
    elif f"0x{line.reference.hex()}" == str(told).lower():
        yield say("reference_matches", "info", "reference", "The reference matches the answer.", ANSWER, step)
    else:
        words = "Another reference than the answer's: the payment would not be found."
        yield say("reference_differs", "error", "reference", words, ANSWER, step)
