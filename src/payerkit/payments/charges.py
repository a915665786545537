"""What is taken on top of payments: which transactions carry a fee, and which wallet
takes how much of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple, Self

from payerkit.models.payments import Payment
from payerkit.payments.onchain.addresses import address_problem, with_checksum
from payerkit.payments.onchain.amounts import EXACT, format_percentage
from payerkit.payments.onchain.calldata import At, Effect, EffectKind
from payerkit.payments.payment_policy import PaymentPolicy

HIGH_FEE = 10
"""Percent of the amount from which on a fee is an error, unless it was agreed."""


@dataclass(frozen=True, slots=True)
class FeeClaim:
    """What the service declares that one wallet receives on top of a payment.

    name: "protocol", "platform", or both. percentage: of the amount, in all; None if
    the service does not say.
    """

    name: str
    address: str | None
    percentage: Decimal | None

    def __str__(self) -> str:
        is_address = address_problem(self.address) != "address_malformed"
        wallet = with_checksum(self.address) if is_address else "an unknown wallet"
        return f"a {self.name} fee of {format_percentage(self.percentage)} to {wallet}"


def declared_fees(payment: Payment) -> Mapping[str, FeeClaim]:
    """Return the fees that the service declares, by the address of who receives them,
    in lower case.
    """
    metadata = payment.metadata
    if metadata is None:
        return {}
    fees = {"protocol": metadata.protocol_fee, "platform": metadata.platform_fee}
    claims: dict[str, FeeClaim] = {}
    for name, fee in fees.items():
        if fee is None:
            continue
        key = name if fee.address is None else fee.address.lower()
        claim = FeeClaim(name, fee.address, fee.percentage)
        first = claims.get(key)
        if first is not None:  # both are for one wallet
            share = None
            if first.percentage is not None and fee.percentage is not None:
                share = EXACT.add(first.percentage, fee.percentage)
            claim = FeeClaim(f"{first.name} and {name}", first.address, share)
        claims[key] = claim
    return claims


class Money(NamedTuple):
    """What an amount is of, and what leaves the wallet for it: amounts of one kind of
    money can be added.

    unit: as of an effect. currency: that of the request, if the amount is converted on
    execution. token: the one that leaves the wallet, whose decimals a maximum has. All
    in lower case.
    """

    unit: str
    currency: str
    token: str

    @classmethod
    def of(cls, effect: Effect) -> Self:
        """Return what the amounts of an effect are of, by whatever path they are
        converted.
        """
        is_converted = effect.unit == "request" and bool(effect.path)
        currency = effect.path[0].lower() if is_converted else ""
        return cls(effect.unit, currency, str(effect.token).lower())


@dataclass(frozen=True, slots=True)
class Charge:
    """What one wallet takes on top of payments, all in one currency: their fees, and
    fee legs.

    effect: the first that has a part of it. fee: in all. amount: of the payments, in
    all; both in the same units. parts: how often it may have been rounded: once for
    each payment.
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
        return (
            self.is_at_most(percentage) and self._excess(percentage) > -100 * self.parts
        )

    def is_at_most(self, percentage: Decimal) -> bool:
        """Return True if the fee is at most this percentage of the amount, up to
        rounding.

        Each part may have been rounded up, but not where a base unit is more than 1 %
        of the amount.
        """
        excess = self._excess(percentage)
        return excess <= 0 or excess < 100 * self.parts <= self.amount

    @property
    def is_high(self) -> bool:
        """Whether the fee is so high that only an agreement can explain it."""
        return 100 * self.fee >= HIGH_FEE * self.amount

    def _excess(self, percentage: Decimal) -> Decimal:
        """Return by how much the fee is more than a percentage of the amount, in
        hundredths of base units.
        """
        return EXACT.subtract(
            Decimal(100 * self.fee), EXACT.multiply(percentage, Decimal(self.amount))
        )


def find_charges(
    payments: Collection[Effect], legs: Collection[Effect]
) -> list[Charge]:
    """Return what is taken on top of payments, by recipient and currency, in the order
    of the transactions.
    """
    amounts: dict[Money, list[int]] = {}
    for payment in payments:
        amounts.setdefault(Money.of(payment), []).append(payment.amount or 0)
    parts = [
        (paying, paying.fee_recipient, paying.fee or 0) for paying in (*payments, *legs)
    ]
    parts += [(leg, leg.recipient, leg.amount or 0) for leg in legs]
    charges: dict[tuple[str, Money], Charge] = {}
    for effect, recipient, fee in sorted(parts, key=lambda part: part[0].step):
        if fee:
            key = (recipient or "").lower(), Money.of(effect)
            paid = amounts.get(key[1], [])
            first = charges.get(key) or Charge(effect, recipient, 0, sum(paid), 0)
            charges[key] = replace(
                first, fee=first.fee + fee, parts=min(first.parts + 1, len(paid))
            )
    return list(charges.values())


def find_fee_legs(
    paying: Collection[Effect], recipients: Collection[str], policy: PaymentPolicy
) -> Mapping[At, Effect]:
    """Return the payments of their own that only carry a fee, by where they stand.

    Such a leg goes to one of the wallets that may receive a fee, is of the same money
    as a payment, and stands in the same batch or after it; its path may be another one.
    Any other counts as a payment, and so do legs that are too high together with the
    other fees.
    """
    legs = list[Effect]()
    payments = list[Effect]()
    for effect in paying:
        is_to_taker = str(effect.recipient).lower() in recipients
        if effect.kind == EffectKind.TRANSFER and is_to_taker:
            legs.append(effect)
        else:
            payments.append(effect)
    if not legs:
        return {}
    first: dict[Money, int] = {}
    for payment in payments:
        first.setdefault(Money.of(payment), payment.step)
    legs = [
        each for each in legs if each.step >= first.get(Money.of(each), each.step + 1)
    ]
    too_high = set()
    for charge in find_charges(payments, legs):
        agreed = policy.agreed_fee(charge.recipient)
        if charge.is_high and not (agreed and charge.is_at_most(agreed.max_percent)):
            too_high.add((charge.recipient or "").lower())
    return {
        each.at: each for each in legs if str(each.recipient).lower() not in too_high
    }
