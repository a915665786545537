"""Honest payments, and what makes each of them harmful or unusual."""

from __future__ import annotations

from typing import Any

from eth_abi import encode

from cases import table_rows
from example_addresses import (
    BATCH,
    CONVERTED,
    DEAD,
    FEE_PROXY,
    MAIN_PROXY,
    MAIN_USDC,
    NAMES,
    PAYEE,
    REFERENCE,
    TOKEN,
)
from payerkit import PaymentOrder, PaymentPolicy, PayoutOrder
from payerkit.findings import PaymentFindings
from payerkit.models import Payment
from payerkit.payments import AcceptedAllowance, AddressBook, AgreedFee, KnownAddress
from payerkit.payments.onchain.calldata import functions
from payerkit.payments.onchain.currencies import find_deployment, token_list


def order(
    currency: str, invoice: str | None = None, amount: str = "10", payee: str = PAYEE
) -> PaymentOrder:
    """Return an order of an amount of a currency, paid in the same one unless another
    is named.
    """
    return PaymentOrder(
        payee=payee,
        amount=amount,
        invoice_currency=invoice or currency,
        payment_currency=currency,
    )


def data(selector: str, *values: Any) -> str:
    """Return the calldata of a known function."""
    function = functions()[bytes.fromhex(selector)]
    return "0x" + (function.selector + encode(function.types, values)).hex()


def as_json(to: str, call: str, value: int) -> dict[str, str]:
    """Return a transaction as a response has it."""
    return {"to": to, "data": call, "value": str(value)}


def payment(
    *transactions: Any, asked: PaymentOrder | PayoutOrder | None, **others: Any
) -> Payment:
    """Return a payment with some transactions: to, data and value of each, or its
    members.
    """
    answer = {
        "paymentReference": "0x" + REFERENCE.hex(),
        "transactions": [
            each if isinstance(each, dict) else as_json(*each) for each in transactions
        ],
        **others,
    }
    return Payment.read(answer, order=asked)


def codes(found: PaymentFindings, severity: str) -> set[str]:
    """Return the codes of one severity."""
    return {finding.code for finding in found if finding.severity == severity}


def told(found: PaymentFindings, asked: str) -> str:
    """Return the codes of errors and warnings, and those of the infos that are asked
    for, which have a + in front.
    """
    codes = {
        each.code if each.severity != "info" else f"+{each.code}" for each in found
    }
    return " ".join(
        sorted(code for code in codes if code[0] != "+" or code in asked.split())
    )


def unsaid(found: PaymentFindings, words: str | list[str]) -> list[str]:
    """Return those of some words that the text of findings does not have."""
    return [
        each
        for each in ([words] if isinstance(words, str) else words)
        if each not in str(found)
    ]


APPROVAL = (TOKEN, data("095ea7b3", FEE_PROXY, 10_000_000), 0)
TOKEN_PAYMENT = (
    FEE_PROXY,
    data("c219a14d", TOKEN, PAYEE, 10_000_000, REFERENCE, 0, DEAD),
    0,
)
USDC, ETH = order("fUSDC-sepolia"), order("ETH-sepolia-sepolia")

MAIN = order("USDC-mainnet")
MAIN_PAYMENT = (
    MAIN_PROXY,
    data("c219a14d", MAIN_USDC, PAYEE, 10**7, REFERENCE, 0, DEAD),
    0,
)


def converted(amount: int, *path: str) -> tuple[str, str, int]:
    """Return a transaction that pays a converted amount in ETH."""
    return (
        CONVERTED,
        data("ac473c8a", PAYEE, amount, list(path), REFERENCE, 0, DEAD, 0),
        10**18,
    )


def detail(*path: str) -> tuple[Any, ...]:
    """Return one payment of a batch."""
    return (PAYEE, 10**7, list(path), REFERENCE, 0, 0, 0)


PAYABLE = [
    currency
    for currency in token_list().values()
    if (
        contract := {"erc20": "ERC20FeeProxy", "native": "EthereumFeeProxy"}.get(
            currency.kind
        )
    )
    if find_deployment(contract, currency.network)
]
"""Every coin and token that the sandbox can pay with."""

ONE_OF_EACH = {
    (currency.kind, currency.network, currency.decimals): currency
    for currency in PAYABLE
}
"""One of each kind, network and number of decimals, on which a payment depends."""


def read(cell: Any) -> Any:
    """Return what a cell of a table stands for: a name, a transaction, a payment, an
    order or a policy, or itself.
    """
    if isinstance(cell, list):
        return [read(each) for each in cell]
    if not isinstance(cell, dict):
        return NAMES.get(cell, cell) if isinstance(cell, str) else cell
    found = {str(NAMES.get(name, name)): read(value) for name, value in cell.items()}
    if found.keys() == {"policy"} and isinstance(found["policy"], dict):
        return _policy(found["policy"])
    if found.keys() == {"order"} and isinstance(found["order"], list):
        return order(*found["order"])
    if "with" in found:
        return (
            found["to"],
            data(found["call"], *map(_bytes, found["with"])),
            found.get("value", 0),
        )
    if "transactions" in found and "order" in found:
        asked = found.pop("order")
        return payment(*found.pop("transactions"), asked=asked, **found)
    return found


def _bytes(argument: Any) -> Any:
    """Return an argument with its hex as bytes, unless it is an address."""
    if isinstance(argument, list):
        return [_bytes(each) for each in argument]
    is_bytes = (
        isinstance(argument, str)
        and argument.startswith("0x")
        and len(argument) != len(PAYEE)
    )
    return bytes.fromhex(argument[2:]) if is_bytes else argument


def _policy(members: dict[str, Any]) -> PaymentPolicy:
    made: dict[str, Any] = {
        "fees": AgreedFee,
        "allowances": AcceptedAllowance,
        "addresses": KnownAddress,
    }
    for name, kind in made.items():
        if name in members:
            members[name] = [kind(**each) for each in members[name]]
    if "addresses" in members:
        members["addresses"] = AddressBook(members["addresses"])
    rates = {
        tuple(pair.split("/")): rate for pair, rate in members.pop("rates", {}).items()
    }
    return PaymentPolicy(**members, rates=rates)


GOOD: dict[str, Payment] = {
    row["why"]: row["paid"] for row in table_rows("good_payments", read)
}
"""Payments that match their order exactly."""

MANY = (
    BATCH,
    data(
        "92cddb91", [(2, [(PAYEE, 10**7, [TOKEN], REFERENCE, 0, 0, 0)] * 300)], [], DEAD
    ),
    0,
)
SWAPPED: list[tuple[str, Payment, str]] = [
    *(
        (row["why"], row["paid"], row["code"])
        for row in table_rows("payments_to_stop", read)
    ),
    (
        "as many payments as take seconds to check",
        payment(*[MANY] * 4, asked=USDC),
        "too_many",
    ),
]
"""Payments that contradict their order, with the code of an error."""

HARMLESS: list[tuple[str, Payment, str]] = [
    (row["why"], row["paid"], row["code"])
    for row in table_rows("payments_to_look_at", read)
]
"""Payments that are only unusual, with the code of a warning."""
