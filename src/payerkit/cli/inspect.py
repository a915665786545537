"""`payerkit inspect`: the card of a saved payment, in a terminal or as a page."""

from __future__ import annotations

import sys
from argparse import Namespace

from payerkit.checks.schema import PAYMENT_ORDER
from payerkit.errors import InvalidInput, PayerkitError
from payerkit.models.payments import read_payment
from payerkit.payment.compare import Comparison
from payerkit.policy.payment_policy import PaymentPolicy
from payerkit.signing.card import PaymentCard, card_text, compared_text
from payerkit.wording import listed


def run(options: Namespace) -> int:
    """Print what the payment is compared with, then its card; return the verdict's exit code, or 5 for bad input."""
    try:
        card = _card(options)
    except PayerkitError as error:
        print(f"payerkit inspect: {error}", file=sys.stderr)
        return 5
    print(compared_text(card.content), card_text(card.content), sep="\n\n")
    if options.html:
        card.save(options.html)
        print(f"\nThe card is also in {options.html}, for a signer without Python.")
    return {"ok": 0, "look": 3, "stop": 4}[card.verdict]


def _card(options: Namespace) -> PaymentCard:
    payment = read_payment(options.file, network=options.network)
    policy = PaymentPolicy.read(options.policy) if options.policy else None
    given = {name: value for name in PAYMENT_ORDER.fields if (value := getattr(options, name)) is not None}
    saved = {} if payment.order is None else {name: getattr(payment.order, name) for name in PAYMENT_ORDER.fields}
    order = saved | given
    missing = [f"--{name}".replace("_", "-") for name in PAYMENT_ORDER.fields if name not in {"payee", *order}]
    if given and missing:  # an order to a bank account names no payee
        raise InvalidInput(f"the file has no order. Give {listed(missing)}, too.")
    given_here = {name: getattr(options, name) for name in ("rate", "network", "node", "wallet")}
    compared = Comparison(payment, order=order if given else None, policy=policy, **given_here)
    return PaymentCard.of(compared, order_source=payment.order_source, sources=dict.fromkeys(given, "given"))
