"""The parts of payments and orders that are read here; the models, which stand above this package, have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol, runtime_checkable

# ruff: noqa: D102 - the models describe these attributes


class HasPaymentCurrency(Protocol):
    """Anything that names a payment currency by its id."""

    @property
    def payment_currency(self) -> str: ...


class OrderLike(Protocol):
    """An order, such as `PaymentOrder`."""

    payee: str
    amount: str
    invoice_currency: str
    payment_currency: str


class ShownOrder(OrderLike, Protocol):
    """An order that a card can show."""

    def rows(self) -> list[tuple[str, str]]: ...


@runtime_checkable
class TransactionLike(Protocol):
    """An unsigned transaction. value: as in the response. wei: the same as an integer; None if it cannot be read."""

    to: str | None
    data: str | None
    value: Any

    @property
    def wei(self) -> int | None: ...
    @property
    def model_extra(self) -> Mapping[str, Any] | None: ...


class FeeLike(Protocol):
    """A fee as the service declares it; None where it does not say."""

    percentage: Decimal | None
    address: str | None


class MetadataLike(Protocol):
    """The service's statements about the transactions; None where it makes none. Indexes count from 0."""

    steps_required: int | None
    needs_approval: bool | None
    approval_transaction_index: int | None
    payment_transaction_index: int | None
    has_enough_balance: bool | None
    has_enough_gas: bool | None

    @property
    def protocol_fee(self) -> FeeLike | None: ...
    @property
    def platform_fee(self) -> FeeLike | None: ...
    def rows(self) -> list[tuple[str, str]]: ...


@runtime_checkable
class PaymentLike(Protocol):
    """An initiated payment. order, network, environment: known if it was requested here or read with them."""

    request_id: str | None
    payment_reference: str | None

    @property
    def transactions(self) -> Sequence[TransactionLike]: ...
    @property
    def metadata(self) -> MetadataLike | None: ...
    @property
    def order(self) -> ShownOrder | None: ...
    @property
    def network(self) -> str | None: ...
    @property
    def environment(self) -> str | None: ...
