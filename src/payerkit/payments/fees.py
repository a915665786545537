"""Check the fees of a payment: what is taken on top, by whom, and who agreed to it.

A fee that the service declares is not agreed for that: the service is the party that is
checked. What the user agreed to is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from decimal import Decimal

from payerkit.findings import Finding, payment_finding
from payerkit.payments.against import Against
from payerkit.payments.charges import Charge, FeeClaim, declared_fees, find_charges
from payerkit.payments.effects import Effects
from payerkit.payments.onchain.addresses import with_checksum
from payerkit.payments.onchain.amounts import (
    effect_units,
    format_effect_amount,
    format_number,
    format_percentage,
    simplest_percentage,
)
from payerkit.payments.payment_policy import AgreedFee, entry_lines, setting_line
from payerkit.payments.transactions import DecodedTransaction

_ZERO = f"0x{0:040x}"
_NO_RECIPIENTS = {_ZERO, f"0x{0xDEAD:040x}"}
"""The addresses, in lower case, that calls without a fee give as its recipient."""


def check_fees(effects: Effects, against: Against) -> Iterator[Finding]:
    """Yield the findings about the fees of all transactions: one for each wallet that
    receives some.
    """
    charges = find_charges(effects.payments, effects.fee_legs.values())
    findings = [_check_charge(effects, against, charge) for charge in charges]
    takers = {(charge.recipient or "").lower() for charge in charges}
    findings += _check_missing(effects, takers)
    findings += _check_named(effects, against, takers)
    yield from findings
    if effects.payments and not findings:
        yield payment_finding("fee_none", _first_transaction(effects))
    batches = {
        payment.step for payment in effects.payments if payment.place is not None
    }
    for step in sorted(batches):
        yield _check_batch(effects.transactions[step], against.policy.batch_fee)


def _first_transaction(effects: Effects) -> DecodedTransaction:
    return effects.transactions[effects.payments[0].step]


def _check_batch(batch: DecodedTransaction, most: Decimal | None) -> Finding:
    """Return the finding about what a batch contract may take. most: the percentage
    that was agreed.
    """
    if most is None:
        lines = setting_line("batch_fee", "?")
        return payment_finding("batch", batch, policy_lines=lines)
    return payment_finding("batch.agreed", batch, most=format_percentage(most))


def _check_charge(effects: Effects, against: Against, charge: Charge) -> Finding:
    recipient = (charge.recipient or "").lower()
    claim = declared_fees(effects.payment).get(recipient)
    agreed = against.policy.agreed_fee(charge.recipient)
    alike = against.policy.lookalike(charge.recipient)
    token = against.token(charge.effect.token)
    amount = effect_units(charge.effect, charge.fee, token)
    fee = format_effect_amount(charge.effect, charge.fee, token)
    share = simplest_percentage(charge.fee, charge.amount)
    if share is not None:
        fee = f"{fee} ({format_percentage(share)})"
    key = _judge(charge, claim, agreed, amount=amount)
    return payment_finding(
        "fee_lookalike" if alike else key,
        effects.transactions[charge.effect.step],
        fee=fee,
        recipient=with_checksum(charge.recipient) or "an unknown wallet",
        declared=claim,
        known=alike,
        name=claim and claim.name,
        share=claim and format_percentage(claim.percentage),
        most=agreed and _limit_of(agreed),
        policy_lines=_policy_lines(charge, claim, agreed, amount=amount),
    )


def _limit_of(agreed: AgreedFee) -> str:
    """Return what was agreed at most, in words."""
    share = format_percentage(agreed.max_percent)
    if agreed.max_amount is None:
        return share
    return f"{share} and an amount of {format_number(agreed.max_amount)}"


def _judge(
    charge: Charge,
    claim: FeeClaim | None,
    agreed: AgreedFee | None,
    *,
    amount: Decimal | None,
) -> str:
    """Return the key of the finding. claim, agreed: what service and policy say of the
    recipient, if they name it.

    Less than the service declares is no difference: it caps its fee for large payments,
    and does not publish where. amount: of the fee, in whole units; None if that is not
    known.
    """
    is_agreed = agreed is not None and _is_within(charge, agreed, amount)
    share = None if claim is None else claim.percentage
    is_plain = not charge.effect.is_native and charge.effect.place is None
    if charge.recipient == _ZERO and is_plain:
        return "fee.burned"  # a batch contract would take it all the same, and keep it
    if charge.is_high and not is_agreed:
        return "fee_high"
    if is_agreed and (share is None or charge.is_at_most(share)):
        return "fee.agreed"
    if claim is None:
        return "fee.above" if agreed else "fee_unknown"
    if share is None or not charge.is_at_most(share):
        return "fee_differs"
    return "fee.above" if agreed else "fee.declared"


def _is_within(charge: Charge, agreed: AgreedFee, amount: Decimal | None) -> bool:
    """Return True if a fee is at most the share and the amount that were agreed."""
    if not charge.is_at_most(agreed.max_percent):
        return False
    if agreed.max_amount is None:
        return True
    return amount is not None and amount <= agreed.max_amount


def _check_missing(effects: Effects, takers: Collection[str]) -> Iterator[Finding]:
    """Yield findings about fees that the service declares, and no transaction has;
    unless it is so small that it rounds to nothing. takers: who receives a fee, in
    lower case.
    """
    nothing = [
        Charge(payment, None, 0, payment.amount or 0) for payment in effects.payments
    ]
    for address, claim in declared_fees(effects.payment).items():
        is_rounded = all(charge.is_share(claim.percentage) for charge in nothing)
        if address not in takers and not is_rounded:
            transaction = _first_transaction(effects)
            yield payment_finding("fee_missing", transaction, declared=claim)


def _check_named(
    effects: Effects, against: Against, takers: Collection[str]
) -> Iterator[Finding]:
    """Yield findings about wallets that a call names for a fee, and that receive none.

    It may name a known wallet. A batch contract may pay its own fee to the wallet that
    a call names, so that a declaration of the service does not make it known. takers:
    who receives a fee, in lower case.
    """
    reported = {"", *_NO_RECIPIENTS, *takers}
    for effect in effects.paying:
        recipient = (effect.fee_recipient or "").lower()
        is_known = recipient in effects.fee_recipients
        if effect.place is not None and against.policy.agreed_fee(recipient) is None:
            is_known = False
        if recipient in reported or is_known:
            continue
        reported.add(recipient)
        key = "fee_none.recipient" if effect.place is None else "fee_none.batch"
        yield payment_finding(
            key, effects.transactions[effect.step], recipient=with_checksum(recipient)
        )


def _policy_lines(
    charge: Charge,
    claim: FeeClaim | None,
    agreed: AgreedFee | None,
    *,
    amount: Decimal | None,
) -> str:
    """Return the lines of a policy that agree to a fee; "" if its share or recipient is
    not known.
    """
    share = simplest_percentage(charge.fee, charge.amount)
    if claim is not None and charge.is_share(claim.percentage):
        share = claim.percentage
    if share is None or charge.recipient is None:
        return ""
    if agreed is None:
        return entry_lines("fees", address=charge.recipient, max_percent=share)
    most = agreed.max_amount
    if most is not None and amount is not None:
        most = max(most, amount)
    return entry_lines(
        "fees",
        address=charge.recipient,
        max_percent=max(share, agreed.max_percent),
        max_amount=most,
        name=agreed.name or None,
    )
