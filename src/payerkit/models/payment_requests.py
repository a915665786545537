"""The responses about requests that pay out to a bank account; all of it is beyond the specification."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, PrivateAttr, Strict, StrictBool

from payerkit import html
from payerkit.masking import mask
from payerkit.models.requests import PayoutOrder
from payerkit.models.responses import Response
from payerkit.wire import first, read_decimal


def _read_amount(value: Any) -> Any:
    """Return a number or a text as an exact decimal; any other value as it is."""
    number = read_decimal(value)
    return value if number is None else number


Amount = Annotated[Decimal | None, Strict(), BeforeValidator(_read_amount)]
"""A decimal as the service writes it: text, or a number."""


class PaymentRequest(Response):
    """A request that was created, to be paid out to a bank account; **beyond the specification**.

    Attributes:
        request_id: The service's id of the request, for `request_payment` and `get_request`.
        payment_reference: Its reference on the blockchain.
        order: The order that was sent, with its reference.
        environment: Where it was created: "sandbox", "staging" or "live".

    Example:
        >>> request = create_request(client, amount="25.50", invoice_currency="USD", payment_currency="USDC-sepolia")
        >>> request.order.amount
        '25.50'
    """

    request_id: str | None = Field(None, title="Request id")
    payment_reference: str | None = Field(None, title="Payment reference")

    _order: PayoutOrder | None = PrivateAttr(default=None)
    _environment: str | None = PrivateAttr(default=None)

    @classmethod
    def read(cls, content: Any, **known: Any) -> Self:
        """Return parsed JSON as an object that remembers its order. Raises ValueError if it has no request id."""
        created = super().read(content, **known)
        if not created.request_id:
            raise ValueError("requestId is missing")
        return created

    @classmethod
    def unwrap(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return the fields, with the request id under one of the names that services have for it."""
        return {**content, "requestId": first(content, "requestId", "requestID")}

    @property
    def order(self) -> PayoutOrder | None:
        """The order that was sent, with its reference; None if the request was made in Python."""
        return self._order

    @property
    def reference(self) -> str | None:
        """The reference that was sent, by which a paid request is found again."""
        return None if self._order is None else self._order.reference

    @property
    def environment(self) -> str | None:
        """Where it was created: "sandbox", "staging" or "live"."""
        return self._environment

    def rows(self) -> list[tuple[str, str]]:
        """Return the titles and values of a table, with the reference and the order that were sent."""
        if self._order is None:
            return super().rows()
        order = f"{self._order.amount} {self._order.invoice_currency}, paid in {self._order.payment_currency}"
        sent = {"Reference": mask("reference", self.reference), "Order": order}
        return super().rows() + [(title, html.escape(value)) for title, value in sent.items() if value]

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        yield from super().__repr_args__()
        if self.reference:
            yield "reference", mask("reference", self.reference)


class RequestStatus(Response):
    """What the service says about a request; **beyond the specification**. A field is None if the response lacks it.

    Attributes:
        request_id: The service's id of the request.
        payment_reference: Its reference on the blockchain.
        reference: Your own reference.
        has_been_paid: Whether it is paid on the blockchain. It does not say that the bank has the money.
        status: The service's word for its state.
        is_listening: Whether the service looks for its payments.
        is_crypto_to_fiat_available: Whether it may be paid out to a bank account.
        tx_hash: The transaction that paid it.
        request_amount, paid_amount, amount_in_usd, conversion_rate: Exact decimals.

    Example:
        >>> request = create_request(client, amount="25.50", invoice_currency="USD", payment_currency="USDC-sepolia")
        >>> get_request(client, request.request_id).has_been_paid
        False
    """

    request_id: str | None = Field(None, title="Request id")
    payment_reference: str | None = Field(None, title="Payment reference")
    reference: str | None = Field(None, title="Reference")
    has_been_paid: StrictBool | None = Field(None, title="Paid")
    status: str | None = Field(None, title="Status")
    is_listening: StrictBool | None = Field(None, title="Looks for payments")
    is_crypto_to_fiat_available: StrictBool | None = Field(None, title="Pays out to a bank")
    tx_hash: str | None = Field(None, title="Transaction")
    request_amount: Amount = Field(None, title="Amount requested")
    paid_amount: Amount = Field(None, title="Amount paid")
    amount_in_usd: Amount = Field(None, title="Amount in US dollars")
    conversion_rate: Amount = Field(None, title="Conversion rate")
