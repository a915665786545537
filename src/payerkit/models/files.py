"""Payments that were saved: by us with their order, or by anybody as the service answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.models import Payment, PaymentOrder
from payerkit.onchain.transactions import network_of


@without_internal_frames
def read_payment(
    source: Mapping[str, Any] | str | Path,
    *,
    order: PaymentOrder | Mapping[str, Any] | None = None,
    network: str | None = None,
) -> Payment:
    """Return a payment from a file that `Payment.save` wrote, or from an answer of `POST /v1/pay`.

    source: a path, a dict, or a JSON text that begins with {. order: what was asked for, if the source does not tell.
    network: where it is to be sent, if there is no order. Raises InvalidInput for what cannot be read, an order
    that is none, and a network that no table has.
    """
    content = _content(source)
    if "answer" in content and "transactions" not in content:
        order = content.get("order") if order is None else order
        network = content.get("network") if network is None else network
        content = content["answer"]
    if not isinstance(content, dict) or "transactions" not in content:
        raise InvalidInput("source: no payment: it has no transactions.")
    network_of(None, network)
    return Payment.read(content, order=None if order is None else PaymentOrder.of(order, {}), network=network)


def _content(source: Any) -> Any:
    if isinstance(source, Mapping):
        return dict(source)
    if not isinstance(source, str | Path):
        raise InvalidInput(f"source: give a path, a dict or a JSON text; got a {type(source).__name__}.")
    text = source if isinstance(source, str) and source.lstrip().startswith("{") else None
    try:
        content = json.loads(Path(source).read_text("utf-8") if text is None else text)
    except OSError as error:
        raise InvalidInput(f"source: the file cannot be read ({error.strerror}).") from None
    except (ValueError, RecursionError):
        raise InvalidInput("source: no JSON.") from None
    if not isinstance(content, dict):
        raise InvalidInput("source: no payment: a JSON object was due.")
    return content
