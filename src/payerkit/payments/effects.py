"""What the transactions of a payment do: who gets what of which token, at which step,
for which order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal

from payerkit.models.payments import Payment
from payerkit.payments.against import Against
from payerkit.payments.charges import Money, declared_fees, find_fee_legs
from payerkit.payments.matching import match_orders
from payerkit.payments.onchain.calldata import At, Effect
from payerkit.payments.terms import OrderTerms
from payerkit.payments.transactions import DecodedTransaction
from payerkit.wording import shown

MAX_TRANSACTIONS = 50
"""Transactions that are checked; a payment has a few, and more only make the user
wait.
"""


@dataclass(frozen=True, slots=True)
class Effects:
    """What the transactions of a payment do, beside what was ordered.

    transactions: those of the response, wherever they stand. Of more than are checked,
    no effect is read. paying: the effects that move money towards a recipient: payments
    and fee legs. payments: those without the fee legs, which only carry a fee of
    another one. fee_recipients: the wallets that may receive a fee, in lower case.
    order_numbers: of the order that each of `paying` is for; missing where there is
    none. orders: those orders, by their numbers. native_costs: what all native payments
    of each transaction cost, in wei; None if it is not known.
    """

    payment: Payment
    transactions: tuple[DecodedTransaction, ...]
    paying: tuple[Effect, ...]
    payments: tuple[Effect, ...]
    fee_legs: Mapping[At, Effect]
    fee_recipients: frozenset[str]
    orders: tuple[OrderTerms, ...]
    order_numbers: Mapping[At, int]
    native_costs: tuple[Decimal | None, ...]

    def order_of(self, payment: Effect) -> OrderTerms | None:
        """Return the order that a payment should fulfil, or None."""
        number = self.order_numbers.get(payment.at)
        return None if number is None else self.orders[number]

    @property
    def account(self) -> str:
        """The bank account that the payment pays out to, such as "••••3489 at Chase
        (USD, local)"; "" for a wallet.
        """
        payout = self.payment.payout
        return "" if payout is None else shown(payout.words, 160)


def read_effects(
    payment: Payment, transactions: tuple[DecodedTransaction, ...], against: Against
) -> Effects:
    """Return what the decoded transactions of a payment do, each for its order."""
    paying = list[Effect]()
    if len(transactions) <= MAX_TRANSACTIONS:
        for transaction in transactions:
            paying += [effect for effect in transaction.effects if effect.is_payment]
    recipients = _fee_recipients(payment, against)
    legs = find_fee_legs(paying, recipients, against.policy)
    payments = tuple(effect for effect in paying if effect.at not in legs)
    numbers: dict[At, int] = {}
    if len(against.orders) == 1:
        numbers = dict.fromkeys([effect.at for effect in paying], 0)
    elif against.orders:
        numbers = match_orders(payments, against)
        numbers |= _orders_of_legs(legs, payments, numbers)
    return Effects(
        payment=payment,
        transactions=transactions,
        paying=tuple(paying),
        payments=payments,
        fee_legs=legs,
        fee_recipients=recipients,
        orders=against.orders,
        order_numbers=numbers,
        native_costs=_native_costs(paying, len(transactions), numbers, against),
    )


def _fee_recipients(payment: Payment, against: Against) -> frozenset[str]:
    """Return the wallets that may receive a fee, as the service declares it or the
    policy agrees to it; a payee of an order is paid, and receives none.
    """
    recipients = {*declared_fees(payment)}
    recipients |= {fee.address.lower() for fee in against.policy.fees}
    payees = {(order.payee or "").lower() for order in against.orders}
    return frozenset(recipients - payees)


def _orders_of_legs(
    legs: Mapping[At, Effect],
    payments: Collection[Effect],
    order_numbers: Mapping[At, int],
) -> dict[At, int]:
    """Return the number of an order for each fee leg: that of the first payment of the
    same money, by whose rate it is converted.
    """
    numbers: dict[Money, int] = {}
    for payment in payments:
        if payment.at in order_numbers:
            numbers.setdefault(Money.of(payment), order_numbers[payment.at])
    found = {}
    for leg in legs.values():
        if Money.of(leg) in numbers:
            found[leg.at] = numbers[Money.of(leg)]
    return found


def _native_costs(
    paying: Collection[Effect],
    count: int,
    order_numbers: Mapping[At, int],
    against: Against,
) -> tuple[Decimal | None, ...]:
    """Return what all native payments of each transaction cost, in wei; None if it is
    not known. count: of the transactions.
    """
    costs: list[Decimal | None] = [Decimal(0)] * count
    for effect in paying:
        before = costs[effect.step]
        if not effect.is_native or before is None:
            continue
        number = order_numbers.get(effect.at)
        order = None if number is None else against.orders[number]
        cost = against.cost_of(effect, order)
        costs[effect.step] = None if cost is None else before + cost
    return tuple(costs)
