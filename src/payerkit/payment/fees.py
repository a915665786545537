"""Fees and fee legs: what is taken on top of payments, and whether that is declared and agreed.

A declaration clears no fee: the service is the party that is checked. What the user agreed to does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from payerkit.findings import Finding
from payerkit.onchain.addresses import address_problem, with_checksum
from payerkit.onchain.amounts import (
    EXACT,
    effect_units,
    format_effect_amount,
    format_number,
    format_percentage,
    simplest_percentage,
)
from payerkit.onchain.calldata import EffectKind
from payerkit.onchain.effects import At, Effect
from payerkit.payment.transactions import finding
from payerkit.policy.payment_policy import AgreedFee, fee_line, setting_line

if TYPE_CHECKING:
    from payerkit.payment.payment_review import PaymentReview


HIGH_FEE = 10
"""Percent of the amount from which on a fee is an error, unless it was agreed."""


@dataclass(frozen=True, slots=True)
class FeeClaim:
    """What the service declares that one wallet receives on top of a payment.

    name: "protocol", "platform", or both. percentage: of the amount, in all; None if the service does not say.
    """

    name: str
    address: str | None
    percentage: Decimal | None

    def __str__(self) -> str:
        is_address = address_problem(self.address) != "address_malformed"
        wallet = with_checksum(self.address) if is_address else "an unknown wallet"
        return f"a {self.name} fee of {format_percentage(self.percentage)} to {wallet}"


def declared_fees(review: PaymentReview) -> Mapping[str, FeeClaim]:
    """Return the fees that the service declares, by the address of who receives them, in lower case."""
    metadata = review.payment.metadata
    fees = {} if metadata is None else {"protocol": metadata.protocol_fee, "platform": metadata.platform_fee}
    claims: dict[str, FeeClaim] = {}
    for name, fee in fees.items():
        if fee is None:
            continue
        key = name if fee.address is None else fee.address.lower()
        claim = FeeClaim(name, fee.address, fee.percentage)
        if (first := claims.get(key)) is not None:  # both are for one wallet
            one, other = first.percentage, fee.percentage
            share = None if one is None or other is None else EXACT.add(one, other)
            claim = FeeClaim(f"{first.name} and {name}", first.address, share)
        claims[key] = claim
    return claims


@dataclass(frozen=True, slots=True)
class Charge:
    """What one wallet takes on top of payments, all in one currency: their fees, and fee legs.

    effect: the first that has a part of it. fee: in all. amount: of the payments, in all; both in the
    same units. parts: how often it may have been rounded: once for each payment.
    """

    effect: Effect
    recipient: str | None
    fee: int
    amount: int
    parts: int = 1

    def is_share(self, percentage: Decimal | None) -> bool:
        """Return True if the fee is this percentage of the amount, up to rounding."""
        if percentage is None:
            return False
        return self.is_at_most(percentage) and self._excess(percentage) > -100 * self.parts

    def is_at_most(self, percentage: Decimal) -> bool:
        """Return True if the fee is at most this percentage of the amount, up to rounding.

        Each part may have been rounded up, but not where a base unit is more than 1 % of the amount.
        """
        excess = self._excess(percentage)
        return excess <= 0 or excess < 100 * self.parts <= self.amount

    def is_agreed(self, agreed: AgreedFee | None) -> bool:
        """Return True if a policy agrees to this share. agreed: what it says of the recipient; None for nothing."""
        return agreed is not None and self.is_at_most(agreed.max_percent)

    @property
    def is_high(self) -> bool:
        """Whether the fee is so high that only an agreement can explain it."""
        return 100 * self.fee >= HIGH_FEE * self.amount

    def _excess(self, percentage: Decimal) -> Decimal:
        """Return by how much the fee is more than a percentage of the amount, in hundredths of base units."""
        return EXACT.subtract(Decimal(100 * self.fee), EXACT.multiply(percentage, Decimal(self.amount)))


def find_charges(payments: Collection[Effect], legs: Collection[Effect]) -> list[Charge]:
    """Return what is taken on top of payments, by recipient and currency, in the order of the transactions."""
    amounts: dict[tuple[str, str], list[int]] = {}
    for payment in payments:
        amounts.setdefault(_money(payment), []).append(payment.amount or 0)
    parts = [(paying, paying.fee_recipient, paying.fee or 0) for paying in (*payments, *legs)]
    parts += [(leg, leg.recipient, leg.amount or 0) for leg in legs]
    charges: dict[tuple[str, tuple[str, str]], Charge] = {}
    for effect, recipient, fee in sorted(parts, key=lambda part: part[0].step):
        if fee:
            key = (recipient or "").lower(), _money(effect)
            paid = amounts.get(key[1], [])
            first = charges.get(key) or Charge(effect, recipient, 0, sum(paid), 0)
            charges[key] = replace(first, fee=first.fee + fee, parts=min(first.parts + 1, len(paid)))
    return list(charges.values())


def find_fee_legs(review: PaymentReview) -> Mapping[At, Effect]:
    """Return the payments of their own that only carry a fee, by where they stand.

    Such a leg goes to one of the wallets that may receive a fee, in the currency of a payment, in the same batch or
    after it. If these legs and fees are too high together, they are payments, whatever they are called.
    """
    legs, payments = list[Effect](), list[Effect]()
    for effect in review.paying:
        may_be_leg = effect.kind == EffectKind.TRANSFER and str(effect.recipient).lower() in review.fee_recipients
        (legs if may_be_leg else payments).append(effect)
    if not legs:
        return {}
    first: dict[tuple[str, str], int] = {}
    for payment in payments:
        first.setdefault(_money(payment), payment.step)
    legs = [each for each in legs if each.step >= first.get(_money(each), each.step + 1)]
    too_high = {
        (charge.recipient or "").lower()
        for charge in find_charges(payments, legs)
        if charge.is_high and not charge.is_agreed(review.policy.agreed_fee(charge.recipient))
    }
    return {each.at: each for each in legs if str(each.recipient).lower() not in too_high}


def _money(effect: Effect) -> tuple[str, str]:
    """Return what the amounts of an effect are in: their unit, and the token, or the currency before conversion."""
    held = effect.path[0] if effect.unit == "request" and effect.path else effect.token
    return effect.unit, str(held).lower()


_ZERO = f"0x{0:040x}"
_NO_RECIPIENTS = {_ZERO, f"0x{0xDEAD:040x}"}
"""What calls name as the recipient of a fee where there is none, in lower case."""


def review_fees(review: PaymentReview) -> Iterator[Finding]:
    """Yield the findings about the fees of all transactions: one for each wallet that receives some."""
    charges = find_charges(review.payments, review.fee_legs.values())
    for charge in charges:
        yield _check_charge(review, charge)
    found = {(charge.recipient or "").lower() for charge in charges}
    others = [*_find_missing(review, found), *_find_unused(review, found)]
    yield from others
    if review.payments and not charges and not others:
        yield finding("fee_none", review.transactions[review.payments[0].step])
    for step in sorted({payment.step for payment in review.payments if payment.place is not None}):
        batch, most = review.transactions[step], review.policy.batch_fee
        if most is None:
            yield finding("batch", batch, policy_lines=setting_line("batch_fee", "?"))
        else:
            yield finding("batch.agreed", batch, most=format_percentage(most))


def _check_charge(review: PaymentReview, charge: Charge) -> Finding:
    recipient = (charge.recipient or "").lower()
    claim, agreed = review.declared_fees.get(recipient), review.policy.agreed_fee(charge.recipient)
    token, share = review.token(charge.effect.token), simplest_percentage(charge.fee, charge.amount)
    amount = effect_units(charge.effect, charge.fee, token)
    fee = format_effect_amount(charge.effect, charge.fee, token)
    alike = review.policy.lookalike(charge.recipient)
    limit = f" and an amount of {format_number(agreed.max_amount)}" if agreed and agreed.max_amount is not None else ""
    return finding(
        "fee_lookalike" if alike else _judge(charge, claim, agreed, amount=amount),
        review.transactions[charge.effect.step],
        fee=fee if share is None else f"{fee} ({format_percentage(share)})",
        recipient=with_checksum(charge.recipient) or "an unknown wallet",
        declared=claim,
        known=alike,
        name=claim and claim.name,
        share=claim and format_percentage(claim.percentage),
        most=agreed and format_percentage(agreed.max_percent) + limit,
        policy_lines=_policy_lines(charge, claim, agreed, amount=amount),
    )


def _judge(charge: Charge, claim: FeeClaim | None, agreed: AgreedFee | None, *, amount: Decimal | None) -> str:
    """Return the key of the finding. claim, agreed: what service and policy say of the recipient, if they name it.

    Less than the service declares is no difference: it caps its fee for large payments, and does not publish where.
    amount: of the fee, in whole units; None if that is not known.
    """
    most = None if agreed is None else agreed.max_amount
    is_agreed = charge.is_agreed(agreed) and (most is None or (amount is not None and amount <= most))
    share = None if claim is None else claim.percentage
    if charge.recipient == _ZERO and not charge.effect.is_native and charge.effect.place is None:
        return "fee.burned"  # a batch contract would take it all the same, and keep it
    if charge.is_high and not is_agreed:
        return "fee_high" if charge.amount else "fee_high.no_amount"
    if claim and not (is_agreed if share is None else charge.is_at_most(share)):
        return "fee_differs"
    is_less = share is not None and not charge.is_share(share)
    if is_agreed:
        return ("fee.less" if is_less else "fee.agreed") if claim else "fee.undeclared"
    if agreed:
        return "fee.above"
    return ("fee.below" if is_less else "fee.declared") if claim else "fee_unknown"


def _find_missing(review: PaymentReview, found: Collection[str]) -> Iterator[Finding]:
    """Yield a finding for each declared fee that no transaction has, unless it is so small that it rounds to nothing.

    found: who receives a fee, in lower case.
    """
    nothing = [Charge(payment, None, 0, payment.amount or 0) for payment in review.payments]
    for address, claim in review.declared_fees.items():
        if address not in found and not all(each.is_share(claim.percentage) for each in nothing):
            yield finding("fee_missing", review.transactions[review.payments[0].step], declared=claim)


def _find_unused(review: PaymentReview, found: Collection[str]) -> Iterator[Finding]:
    """Yield a finding for each wallet that is named as a fee's recipient, unless it is known or receives one.

    A batch contract may pay its own fee to the wallet: then that the service declares it makes it no known one.
    """
    told = {*_NO_RECIPIENTS, *found}
    for effect in review.paying:
        recipient = (effect.fee_recipient or "").lower()
        is_vouched = effect.place is None or review.policy.agreed_fee(recipient) is not None
        if recipient and recipient not in told and not (is_vouched and recipient in review.fee_recipients):
            told |= {recipient}
            key = "fee_none.recipient" if effect.place is None else "fee_none.batch"
            yield finding(key, review.transactions[effect.step], recipient=with_checksum(recipient))


def _policy_lines(charge: Charge, claim: FeeClaim | None, agreed: AgreedFee | None, *, amount: Decimal | None) -> str:
    """Return the lines that agree to a fee; "" if its share or its amount cannot be told."""
    is_declared = claim is not None and charge.is_share(claim.percentage)
    share = claim.percentage if claim and is_declared else simplest_percentage(charge.fee, charge.amount)
    if share is None or charge.recipient is None:
        return ""
    if agreed is None:
        return fee_line(charge.recipient, share)
    most = None if agreed.max_amount is None else max(agreed.max_amount, amount or Decimal(0))
    return fee_line(charge.recipient, max(share, agreed.max_percent), agreed.name, most)
