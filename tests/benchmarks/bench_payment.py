"""What a check of a payment costs, against decoding its calls with eth-abi."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eth_abi import decode, encode

sys.path.insert(0, str(Path(__file__).parent.parent))

from rounds import ratios, report

from payerkit import PaymentPolicy, check_payment, read_payment
from payerkit.models import Payment
from payerkit.payments import AgreedFee
from payerkit.payments.onchain.calldata import functions

CHECKS, ROUNDS = 300, 11
PAYEE, FEE_WALLET = (
    "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
    "0xfeE5000000000000000000000000000000000001",
)
TOKEN, PROXY = (
    "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238",
    "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE",
)
REFERENCE = bytes.fromhex("44d119773d96f724")
ORDER = {
    "payee": PAYEE,
    "amount": "10",
    "invoice_currency": "fUSDC-sepolia",
    "payment_currency": "fUSDC-sepolia",
}
KNOWN = {
    f"0x{place:040x}": f"Example Payee {place:03}"
    for place in range(10**12, 10**12 + 200)
}
POLICY = PaymentPolicy(
    fees=[AgreedFee(address=FEE_WALLET, max_percent="0.1")],
    addresses=KNOWN | {PAYEE: "Example Payee"},
)
CALLS: list[tuple[str, str, tuple[Any, ...]]] = [
    (TOKEN, "095ea7b3", (PROXY, 10_010_000)),
    (PROXY, "c219a14d", (TOKEN, PAYEE, 10_000_000, REFERENCE, 10_000, FEE_WALLET)),
]
"""An approval, and a payment with a fee: to whom, the function, its arguments."""
TYPES = {name: functions()[bytes.fromhex(name)].types for _, name, _ in CALLS}


def payments(count: int) -> list[Payment]:
    """Return the payment so many times, each read anew, so that no check finds anything
    prepared.
    """
    transactions = [
        {"to": to, "data": f"0x{name}{encode(TYPES[name], values).hex()}", "value": "0"}
        for to, name, values in CALLS
    ]
    metadata = {
        "stepsRequired": 2,
        "protocolFee": {"percentage": "0.1", "address": FEE_WALLET},
    }
    response = {
        "paymentReference": f"0x{REFERENCE.hex()}",
        "transactions": transactions,
        "metadata": metadata,
    }
    return [read_payment(response) for _ in range(count)]


def check_all(read: list[Payment]) -> None:
    """Check each payment as a person does who has a policy and an address book."""
    verdicts = {
        check_payment(payment, ORDER, policy=POLICY).verdict for payment in read
    }
    if verdicts != {"ok"}:
        raise RuntimeError(f"the payment is honest, but the verdict is {verdicts}")


def decode_all(read: list[Payment]) -> None:
    """Decode the calls of each payment, and look at nothing."""
    for payment in read:
        for transaction in payment.transactions:
            data = str(transaction.data)
            decode(TYPES[data[2:10]], bytes.fromhex(data[10:]))


def seconds_each(work: Callable[[list[Payment]], object]) -> float:
    """Return how long some work takes for one payment."""
    read = payments(CHECKS)
    started = time.perf_counter()
    work(read)
    return (time.perf_counter() - started) / CHECKS


def main() -> int:
    """Print the ratio; return 1 if the gate is missed."""
    found = ratios(
        lambda: seconds_each(check_all), lambda: seconds_each(decode_all), rounds=ROUNDS
    )
    print(f"check_payment: {seconds_each(check_all) * 1e3:.2f} ms a payment")
    return 0 if report("check_payment", found, gate=26.0) else 1  # 17 to 18 are usual


if __name__ == "__main__":
    raise SystemExit(main())
