"""Check several orders as a whole: each is paid once, and nothing else is paid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from payerkit.findings import Finding, payment_finding
from payerkit.payments.against import Against
from payerkit.payments.effects import Effects
from payerkit.payments.onchain.addresses import lookalikes, with_checksum
from payerkit.payments.onchain.amounts import format_effect_amount
from payerkit.wording import shown


def check_orders(effects: Effects, against: Against) -> Iterator[Finding]:
    """Yield the findings about payments and orders as a whole: that each order is paid
    once, and that nothing else is.
    """
    count = len(effects.payments)
    if count == 0:
        yield payment_finding("no_payment")
    if len(against.orders) > 1:
        yield from _check_several(effects, against)
    elif count > 1:
        key = "several_payments" if against.orders else "several_payments.no_order"
        yield payment_finding(key, count=count)


def _check_several(effects: Effects, against: Against) -> Iterator[Finding]:
    unmatched = [*_find_unpaid(effects, against), *_find_unordered(effects, against)]
    yield from unmatched or [
        payment_finding("orders_matched", count=len(against.orders))
    ]
    payees = [
        order.payee
        for order in against.orders
        if order.payee and against.known(order.payee) is None
    ]
    for one, other in lookalikes(payees):
        yield payment_finding(
            "payee_lookalike.orders", one=with_checksum(one), other=with_checksum(other)
        )
    references = Counter(
        payment.reference for payment in effects.payments if payment.reference
    )
    for reference, count in references.items():
        if count > 1:
            yield payment_finding(
                "reference_repeated", count=count, reference=f"0x{reference.hex()}"
            )


def _find_unpaid(effects: Effects, against: Against) -> Iterator[Finding]:
    paid = set(effects.order_numbers.values())
    for number, order in enumerate(against.orders):
        if number not in paid:
            payee = (
                "a payee that it does not name"
                if order.payee is None
                else with_checksum(order.payee)
            )
            amount = f"{shown(order.amount)} {shown(order.invoice_currency)}"
            yield payment_finding(
                "order_unpaid", number=number + 1, amount=amount, payee=payee
            )


def _find_unordered(effects: Effects, against: Against) -> Iterator[Finding]:
    for payment in effects.payments:
        if payment.at not in effects.order_numbers:
            amount = format_effect_amount(
                payment, payment.amount or 0, against.token(payment.token)
            )
            recipient = with_checksum(payment.recipient) or "an unknown wallet"
            yield payment_finding(
                "payment_unordered", payment, amount=amount, recipient=recipient
            )
