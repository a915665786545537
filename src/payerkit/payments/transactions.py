"""The transactions of a payment, decoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from payerkit.errors import InvalidInput, kind_of
from payerkit.models.payments import Payment
from payerkit.models.whole_response import CALLDATA_NAMES
from payerkit.payments.onchain.amounts import wei_of
from payerkit.payments.onchain.calldata import (
    At,
    DecodedCall,
    Effect,
    effects_of,
    read_call,
)


@dataclass(frozen=True, eq=False)
class DecodedTransaction:
    """A transaction with its decoded call.

    index: counted from 0. origin: the member of the response that holds it, such as
    "batchPaymentTransaction" or "metadata.fallback"; "" for `transactions`. to, data,
    given_value: as in the response. extra_fields: fields that are not in the
    specification.
    """

    index: int
    origin: str
    to: str | None
    data: str | None
    given_value: Any
    extra_fields: Mapping[str, Any]

    @property
    def at(self) -> At:
        """Its index, and None as the place in a batch."""
        return self.index, None

    @property
    def is_value_given(self) -> bool:
        """Whether the response has a native value for it."""
        return self.given_value not in (None, "")

    @cached_property
    def value(self) -> int | None:
        """The native value in wei; None if it cannot be read."""
        return wei_of(self.given_value) if self.is_value_given else 0

    @cached_property
    def call(self) -> DecodedCall:
        """The decoded calldata."""
        return read_call(self.data)

    @cached_property
    def effects(self) -> list[Effect]:
        """What the transaction does. It is read when it is asked for: a response may
        have more transactions than anybody checks.
        """
        return [
            replace(each, step=self.index)
            for each in effects_of(self.call, to=self.to, value=self.value)
        ]


def decode_payment(payment: object) -> tuple[DecodedTransaction, ...]:
    """Return the decoded transactions of a payment, then those that stand elsewhere in
    its response.

    Raises InvalidInput for anything but a payment.
    """
    if not isinstance(payment, Payment):
        advice = ""
        if isinstance(payment, Mapping | str):
            advice = " read_payment() makes one of a saved response."
        expected = "Give a Payment, as initiate_payment and read_payment return it"
        raise InvalidInput(f"{expected}; got {kind_of(payment)}.{advice}")
    payment.require_whole()
    decoded = [
        DecodedTransaction(
            index, each.origin, each.to, each.data, each.value, each.model_extra or {}
        )
        for index, each in enumerate(payment.transactions)
    ]
    read = {each.origin for each in decoded}  # a batch is read by the model
    for origin, fields in payment.whole.transactions:
        if origin not in read:
            decoded.append(_decode_fields(len(decoded), origin, fields))
    return tuple(decoded)


def _decode_fields(
    index: int, origin: str, fields: Mapping[str, Any]
) -> DecodedTransaction:
    """Return an object that a wallet could take for a transaction, decoded."""
    given = [name for name in CALLDATA_NAMES if fields.get(name) is not None]
    name = given[0] if given else "data"
    extra = {
        str(other): value
        for other, value in fields.items()
        if other not in {"to", "value", name}
    }
    to = _as_text(fields.get("to"))
    data = _as_text(fields.get(name))
    return DecodedTransaction(index, origin, to, data, fields.get("value"), extra)


def _as_text(value: object) -> str | None:
    return value if isinstance(value, str) else None
