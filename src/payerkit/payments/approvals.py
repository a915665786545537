"""Check approvals: who may take how many tokens, and what the payments need of that."""

from __future__ import annotations

from collections.abc import Iterator

from payerkit.findings import Finding, payment_finding
from payerkit.payments.against import Against
from payerkit.payments.effects import Effects
from payerkit.payments.onchain.addresses import is_same
from payerkit.payments.onchain.amounts import share_of, to_units
from payerkit.payments.onchain.calldata import UNLIMITED, Effect, EffectKind
from payerkit.payments.payment_policy import UNLIMITED_WORD, entry_lines


def check_approval(
    effects: Effects, against: Against, approval: Effect
) -> Iterator[Finding]:
    """Yield the findings about an approval."""
    spending = _spending(effects, approval)
    if not spending:
        yield payment_finding("spender_differs", approval)
        return
    yield payment_finding("spender", approval)
    end = _end(effects, approval)
    later = [payment.step for payment in spending if payment.step > approval.step]
    if later and end < later[0]:
        key = "allowance_reset.replaced" if approval.allowance else "allowance_reset"
        yield payment_finding(key, approval)
    elif later:
        uses = [
            payment
            for payment in spending
            if approval.step < payment.step < end
            and is_same(payment.token, approval.token)
        ]
        key = _compare_allowance(against, approval, uses)
        yield _check_allowance(against, approval, key)
    elif approval.allowance:
        yield _check_allowance(against, approval, "allowance_late")
    else:
        yield payment_finding("allowance_taken_back", approval)


def _spending(effects: Effects, approval: Effect) -> list[Effect]:
    """Return the payments that use an allowance: their contract is its spender.

    A plain transfer needs no allowance, neither of the token that makes it nor of the
    wallet that receives coins.
    """
    payments = list[Effect]()
    for transaction in effects.transactions:
        function = transaction.call.function
        if function is None or function.contracts == ("ERC20",):
            continue
        if is_same(transaction.to, approval.spender):
            payments += [each for each in transaction.effects if each.is_payment]
    return payments


def _end(effects: Effects, approval: Effect) -> int:
    """Return the index of the next transaction that approves the same token for the
    same spender, else their number.
    """
    for transaction in effects.transactions[approval.step + 1 :]:
        if not is_same(transaction.to, approval.token):
            continue
        for effect in transaction.effects:
            is_approval = effect.kind == EffectKind.APPROVE
            if is_approval and is_same(effect.spender, approval.spender):
                return transaction.index
    return len(effects.transactions)


def _check_allowance(against: Against, approval: Effect, key: str) -> Finding:
    """Return the finding with a key, unless the policy accepts an allowance of this
    size.
    """
    if key not in _MORE_THAN_NEEDED:
        return payment_finding(key, approval)
    token = against.token(approval.token)
    if token is None or approval.spender is None:  # a policy names tokens by their ids
        return payment_finding(key, approval, lines=" its token, then this allowance.")
    taken = to_units(approval.allowance, token.decimals)
    if against.policy.accepts_allowance(token.id, approval.spender, taken):
        return payment_finding("allowance_accepted", approval)
    most = UNLIMITED_WORD if approval.allowance == UNLIMITED else taken
    lines = entry_lines(
        "allowances", token=token.id, spender=approval.spender, most=most
    )
    return payment_finding(key, approval, policy_lines=lines)


_MORE_THAN_NEEDED = {
    "allowance_late",
    "allowance_unlimited",
    "allowance_unchecked",
    "allowance_large",
}
"""What a policy may accept: an allowance that is, or may be, more than the payments
need.
"""


def _compare_allowance(
    against: Against, approval: Effect, payments: list[Effect]
) -> str:
    """Return the key of the finding. payments: those in the approved token up to the
    next approval, which replaces it.

    They need their sum, or that and the agreed fee of a batch contract. What some of
    them need, the calldata may not tell.
    """
    allowance = approval.allowance or 0
    if allowance == UNLIMITED:
        return "allowance_unlimited"
    needed = 0
    in_batch = 0
    for payment in payments:
        if payment.unit == "request" and payment.max_to_spend is None:
            return "allowance_unchecked"
        needed += payment.most_taken
        if payment.place is not None and payment.unit == "token":
            in_batch += payment.amount or 0
    if not payments:
        return "allowance_unchecked"
    if allowance < needed:
        return "allowance_small"
    if allowance == needed:
        return "allowance_exact"
    if allowance <= needed + share_of(in_batch, against.policy.batch_fee):
        return "allowance_exact.batch"
    return "allowance_large"
