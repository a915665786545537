"""`payerkit inspect`: what the transactions of a saved payment do, in a terminal."""

from __future__ import annotations

import sys
from argparse import Namespace

from payerkit.checks.schema import PAYMENT_ORDER
from payerkit.errors import PayerkitError
from payerkit.html import visible
from payerkit.models.files import read_payment
from payerkit.onchain.frames import decode_transactions
from payerkit.onchain.review import check_payment


def run(options: Namespace) -> int:
    """Print each transaction and the findings; return the exit code of the verdict, or 5 for an unreadable file."""
    order = {name: getattr(options, name) for name in PAYMENT_ORDER.fields}
    try:
        payment = read_payment(options.file, order=order if any(order.values()) else None, network=options.network)
        findings = check_payment(payment, rate=options.rate)
    except PayerkitError as error:
        print(f"payerkit inspect: {error}", file=sys.stderr)
        return 5
    for row in decode_transactions(payment).to_dict("records"):
        cells = {name: visible(str(value)) for name, value in row.items() if str(value) not in {"None", "<NA>", ""}}
        print("\n".join(f"{name:<14} {value}" for name, value in cells.items()), end="\n\n")
    print(findings)
    return {"ok": 0, "look": 3, "stop": 4}[findings.verdict]
