"""Judge an approval: who may take the tokens, and how many."""

from __future__ import annotations

from collections.abc import Iterator

from payerkit.findings import Finding, Severity
from payerkit.onchain.addresses import is_same
from payerkit.onchain.effects import Effect
from payerkit.onchain.review_base import CALLDATA, PaymentReview, say
from payerkit.onchain.transactions import DecodedTransaction

UNLIMITED = 2**256 - 1


def judge_approval(case: PaymentReview, step: DecodedTransaction, line: Effect) -> Iterator[Finding]:
    """Yield what is to be said of an approval."""
    spenders = [other.to for other, _ in case.paying]
    if not any(is_same(line.spender, spender) for spender in spenders):
        words = "Somebody other than the contract of the payment may take the tokens."
        yield say("spender_differs", "error", "spender", words, CALLDATA, step)
    else:
        yield say("spender", "info", "spender", "The spender is the contract of the payment.", CALLDATA, step)
    allowance = line.allowance or 0
    after = [other for other, _ in case.paying if is_same(other.to, line.spender) and other.number > step.number]
    if not after:
        words = "No payment follows that takes it, so the allowance stays."
        yield say("allowance_late", "warning", "allowance", words, CALLDATA, step)
    elif _is_replaced(case, step, line, before=after[0].number):
        reset = "Takes back an allowance that is left; some tokens, such as USDT, want that before a new one."
        words = reset if allowance == 0 else "Replaced by a later approval before anything is paid."
        severity: Severity = "info" if allowance == 0 else "warning"
        yield say("allowance_reset", severity, "allowance", words, CALLDATA, step)
    else:
        yield from _amount(step, allowance, _needed(case, step, line))


def _amount(step: DecodedTransaction, allowance: int, needed: int | None) -> Iterator[Finding]:
    if allowance == UNLIMITED:
        words = "The allowance is unlimited: the contract may take all tokens of this kind, now and later."
        hint = "Allow what the payment takes, or take the allowance back afterwards."
        yield say("allowance_unlimited", "warning", "allowance", words, CALLDATA, step, hint=hint)
    elif needed is None:
        yield say("allowance_unchecked", "warning", "allowance", "Nothing to compare it with.", CALLDATA, step)
    elif allowance == needed:
        yield say("allowance_exact", "info", "allowance", "The allowance is what the payment takes.", CALLDATA, step)
    elif allowance < needed:
        words = "The allowance is less than the payment takes: it would fail."
        yield say("allowance_small", "warning", "allowance", words, CALLDATA, step)
    else:
        words = "The allowance is more than the payment takes; the rest stays allowed."
        yield say("allowance_large", "warning", "allowance", words, CALLDATA, step)


def _needed(case: PaymentReview, step: DecodedTransaction, approval: Effect) -> int | None:
    """Return what the payments take of the token that is allowed; None if that is not in the data."""
    lines = [line for other, line in case.paying if is_same(other.to, approval.spender)]
    taken = [_taken(line) for line in lines]
    same = all(is_same(line.token, step.to) for line in lines)
    return sum(each for each in taken if each is not None) if lines and same and None not in taken else None


def _taken(line: Effect) -> int | None:
    return line.max_to_spend if line.unit == "request" else (line.amount or 0) + (line.fee or 0)


def _is_replaced(case: PaymentReview, step: DecodedTransaction, line: Effect, *, before: int) -> bool:
    """Tell whether a later approval takes this one's place before anything is paid."""
    return any(
        each.does == "approve" and is_same(each.spender, line.spender)
        for other in case.steps[step.number + 1 : before]
        if is_same(other.to, step.to)
        for each in other.lines
    )
