"""What is taken on top of a payment: fees, fee legs, and what the service declares and a policy agrees to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from payerkit.onchain.addresses import address_problem, with_checksum
from payerkit.onchain.amounts import EXACT, format_percentage
from payerkit.onchain.calldata import EffectKind
from payerkit.onchain.effects import Effect
from payerkit.policy.payment_policy import AgreedFee, PaymentPolicy
from payerkit.review.protocols import MetadataLike
from payerkit.review.transactions import DecodedTransaction

Paying = tuple[DecodedTransaction, Effect]
"""An effect that pays, with its transaction."""

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


def declared_fees(metadata: MetadataLike | None) -> Mapping[str, FeeClaim]:
    """Return the fees that the service declares, by the address of who receives them, in lower case."""
    fees = {} if metadata is None else {"protocol": metadata.protocol_fee, "platform": metadata.platform_fee}
    claims: dict[str, FeeClaim] = {}
    for name, fee in fees.items():
        if fee is not None:
            key = name if fee.address is None else fee.address.lower()
            claims[key] = _add(claims.get(key), FeeClaim(name, fee.address, fee.percentage))
    return claims


def _add(one: FeeClaim | None, other: FeeClaim) -> FeeClaim:
    """Return two claims of one wallet as one."""
    if one is None:
        return other
    name = f"{one.name} and {other.name}"
    if one.percentage is None or other.percentage is None:
        return FeeClaim(name, one.address, None)
    return FeeClaim(name, one.address, EXACT.add(one.percentage, other.percentage))


@dataclass(frozen=True, slots=True)
class Charge:
    """What one wallet takes on top of payments, all in one currency: their fees, and fee legs.

    transaction, effect: the first that has a part of it. fee: in all. amount: of the payments, in all; both in the
    same units. parts: how often it may have been rounded: once for each payment.
    """

    transaction: DecodedTransaction
    effect: Effect
    recipient: str | None
    fee: int
    amount: int
    parts: int = 1

    def is_share(self, percentage: Decimal | None) -> bool:
        """Return True if the fee is this percentage of the amount, up to rounding."""
        if percentage is None:
            return False
        excess = self._excess(percentage)
        return self._is_rounding(excess) if excess > 0 else excess > -100 * self.parts

    def is_at_most(self, percentage: Decimal) -> bool:
        """Return True if the fee is at most this percentage of the amount, up to rounding."""
        excess = self._excess(percentage)
        return excess <= 0 or self._is_rounding(excess)

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

    def _is_rounding(self, excess: Decimal) -> bool:
        """Return True if each part may have been rounded up; not where a base unit is more than 1 % of the amount."""
        return excess < 100 * self.parts <= self.amount


def find_charges(payments: Collection[Paying], legs: Collection[Paying]) -> list[Charge]:
    """Return what is taken on top of payments, by recipient and currency, in the order of the transactions."""
    amounts: dict[tuple[str, str], list[int]] = {}
    for _, payment in payments:
        amounts.setdefault(_money(payment), []).append(payment.amount or 0)
    parts = [(paying, paying[1].fee_recipient, paying[1].fee or 0) for paying in (*payments, *legs)]
    parts += [(leg, leg[1].recipient, leg[1].amount or 0) for leg in legs]
    charges: dict[tuple[str, tuple[str, str]], Charge] = {}
    for (transaction, effect), recipient, fee in sorted(parts, key=lambda part: part[0][0].index):
        if fee:
            key = (recipient or "").lower(), _money(effect)
            paid = amounts.get(key[1], [])
            first = charges.get(key) or Charge(transaction, effect, recipient, 0, sum(paid), 0)
            charges[key] = replace(first, fee=first.fee + fee, parts=min(first.parts + 1, len(paid)))
    return list(charges.values())


def find_fee_legs(paying: Collection[Paying], recipients: Collection[str], policy: PaymentPolicy) -> list[Paying]:
    """Return the payments of their own that only carry a fee.

    Such a leg goes to one of the wallets that may receive a fee (in lower case), in the currency of a payment, in the
    same batch or after it. If these legs and fees are too high together, they are payments, whatever they are called.
    """
    payments = [each for each in paying if not _may_be_leg(each[1], recipients)]
    first: dict[tuple[str, str], int] = {}
    for transaction, payment in payments:
        first.setdefault(_money(payment), transaction.index)
    legs = [
        (transaction, effect)
        for transaction, effect in paying
        if _may_be_leg(effect, recipients) and transaction.index >= first.get(_money(effect), transaction.index + 1)
    ]
    too_high = {
        (charge.recipient or "").lower()
        for charge in find_charges(payments, legs)
        if charge.is_high and not charge.is_agreed(policy.agreed_fee(charge.recipient))
    }
    return [each for each in legs if str(each[1].recipient).lower() not in too_high]


def _may_be_leg(effect: Effect, recipients: Collection[str]) -> bool:
    return effect.kind == EffectKind.TRANSFER and str(effect.recipient).lower() in recipients


def _money(effect: Effect) -> tuple[str, str]:
    """Return what the amounts of an effect are in: their unit, and the token, or the currency before conversion."""
    held = effect.path[0] if effect.unit == "request" and effect.path else effect.token
    return effect.unit, str(held).lower()
