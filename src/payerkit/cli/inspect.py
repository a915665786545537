"""`payerkit inspect`: the card of a saved payment, in a terminal or as a page."""

from __future__ import annotations

import sys
from argparse import Namespace

from payerkit.errors import InvalidInput, PayerkitError
from payerkit.models.fields import fields_of
from payerkit.models.payments import read_payment
from payerkit.models.requests import PaymentOrder
from payerkit.payments.card import PaymentCard
from payerkit.payments.check import full_check
from payerkit.payments.payment_policy import PaymentPolicy
from payerkit.wording import listed, visible


def run(options: Namespace) -> int:
    """Print the card of a payment; return the verdict's exit code, or 5 for bad
    input.
    """
    try:
        card = _card(options)
    except PayerkitError as error:
        print(f"payerkit inspect: {error}", file=sys.stderr)
        return 5
    print(card)
    if options.html:
        card.save(options.html)
        page = visible(str(options.html))
        print(f"\nThe card is also in {page}, for a signer without Python.")
    return {"ok": 0, "look": 3, "stop": 4}[card.verdict]


def _card(options: Namespace) -> PaymentCard:
    payment = read_payment(options.file, network=options.network)
    policy = None
    if options.policy:
        policy = PaymentPolicy.read(options.policy)
    given = {}
    order = {}
    for name in fields_of(PaymentOrder):
        if payment.order is not None:
            order[name] = getattr(payment.order, name)
        if getattr(options, name) is not None:
            given[name] = getattr(options, name)
    order |= given
    missing = [
        f"--{name}".replace("_", "-")
        for name in fields_of(PaymentOrder)
        if name not in {"payee", *order}
    ]
    if given and missing:  # an order to a bank account names no payee
        raise InvalidInput(f"the file has no order. Give {listed(missing)}, too.")
    given_here = {
        name: getattr(options, name) for name in ("rate", "network", "node", "wallet")
    }
    if not given:
        checked = full_check(payment, policy=policy, **given_here)
        return PaymentCard.of(checked, payment.order_source)
    checked = full_check(payment, order=order, policy=policy, **given_here)
    source = "mixed"
    if payment.order_source is None or given == order:
        source = "given"
    return PaymentCard.of(checked, source)
