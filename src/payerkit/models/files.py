"""Reads payments from files: those that `Payment.save` wrote, and plain responses of the service."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.html import visible
from payerkit.models import Payment, PaymentOrder, Payout, PayoutOrder
from payerkit.models.responses import BATCH_MEMBERS, OrderSource
from payerkit.onchain.networks import read_network
from payerkit.wire import parse_json, repeated_names

_OF_PAYMENTS = {"transactions", "paymentIntent", *BATCH_MEMBERS}
"""Members of which the response to a payment has at least one."""

_OF_FILES = {"order", "network", "answer", "repeated", "payout"}
"""The members of a file that `Payment.save` wrote."""


@without_internal_frames
def read_payment(
    source: Mapping[str, Any] | str | Path,
    *,
    order: PaymentOrder | PayoutOrder | Mapping[str, Any] | None = None,
    network: str | None = None,
) -> Payment:
    """Read a payment from a file that `Payment.save` wrote, or from a response of `POST /v1/pay`.

    Args:
        source: A path, a dict, or a JSON text that begins with {.
        order: The order that was sent, if the source does not have it; a `PaymentOrder` or a `PayoutOrder`, or a dict
            by our names or wire names.
        network: The network that the transactions are for, if there is no order.

    Returns:
        The payment, with its order and network.

    Raises:
        InvalidInput: The source cannot be read or is not a payment, the order is invalid, or the network is unknown.

    Example:
        >>> initiate_payment(client, order).save("payment.json")
        >>> payment = read_payment("payment.json")
        >>> payment.order.invoice_currency, len(payment.transactions)
        ('USD', 1)
    """
    content = _parse(source)
    repeated = [*repeated_names(source), *repeated_names(content)]
    order_source: OrderSource = "given"
    payout: Payout | None = None
    if "answer" in content and content.keys() <= _OF_FILES:  # with anything else beside it, it is a response
        if order is None:
            order, order_source = content.get("order"), "file"
        network = content.get("network") if network is None else network
        payout = Payout.of_file(content.get("payout"))
        saved = content.get("repeated")
        repeated += filter(lambda name: isinstance(name, str), saved if isinstance(saved, list) else [])
        content = content["answer"]
    if not isinstance(content, dict) or content.keys().isdisjoint(_OF_PAYMENTS):
        raise InvalidInput("source: not a payment: transactions are missing.")
    if network is not None:
        read_network(network)
    expected = None if order is None else _read_order(order, payout)
    return Payment.read(
        content, order=expected, order_source=order_source, network=network, payout=payout, repeated=repeated
    )


def _read_order(order: Any, payout: Payout | None) -> PaymentOrder | PayoutOrder:
    """Return an order as an object; that of a payment to a bank account names no payee."""
    names_no_payee = payout is not None and isinstance(order, Mapping) and "payee" not in order
    if names_no_payee or isinstance(order, PayoutOrder):
        return PayoutOrder.of(order, {})
    return PaymentOrder.of(order, {})


def _has_text_names(source: Mapping[Any, Any]) -> bool:
    """Return True if the members of all objects have names as in JSON."""
    left: list[Any] = [source]
    seen = set()
    while left:
        value = left.pop()
        if id(value) in seen:  # one that holds itself
            continue
        seen.add(id(value))
        if isinstance(value, Mapping):
            if not all(isinstance(name, str) for name in value):
                return False
            left += value.values()
        elif isinstance(value, list):
            left += value
    return True


def _name(path: str | Path) -> str:
    """Return the name of a file, as a message shows it."""
    return visible(Path(path).name) or "the file"


def _parse(source: Any) -> Any:
    if isinstance(source, Mapping):
        if not _has_text_names(source):
            raise InvalidInput("source: not a payment: the names of all members have to be text, as in JSON.")
        return dict(source)
    if not isinstance(source, str | Path):
        raise InvalidInput(f"source: expected a path, a dict or a JSON text, got {type(source).__name__}.")
    text = source if isinstance(source, str) and source.lstrip().startswith("{") else None
    try:
        content = parse_json(Path(source).read_bytes() if text is None else text)
    except OSError as error:
        raise InvalidInput(f"{_name(source)} cannot be read ({error.strerror}).") from None
    except (ValueError, RecursionError):
        file = _name(source) if text is None else "the text"
        raise InvalidInput(f"{file} is not valid JSON.") from None
    if not isinstance(content, dict):
        raise InvalidInput(f"source: not a payment: expected a JSON object, got {type(content).__name__}.")
    return content
