"""The parts of payments and orders that are read here; the models, which stand above this package, have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, Protocol, runtime_checkable

from payerkit.review.whole_response import WholeResponse

# ruff: noqa: D102 - the models describe these attributes

OrderSource = Literal["sent", "file", "given"]
"""Where the order of a payment comes from: it was sent with it, stands in the file of the payment, or was given to
`read_payment`."""


class HasPaymentCurrency(Protocol):
    """Anything that names a payment currency by its id."""

    @property
    def payment_currency(self) -> str: ...


class OrderLike(Protocol):
    """An order, such as `PaymentOrder`; that of a payment to a bank account names no payee."""

    amount: str
    invoice_currency: str
    payment_currency: str

    @property
    def payee(self) -> str | None: ...


@runtime_checkable
class TransactionLike(Protocol):
    """An unsigned transaction, as in the response.

    origin: the member of the response that holds it, such as "batchPaymentTransaction"; "" for `transactions`.
    """

    to: str | None
    data: str | None
    value: Any

    @property
    def origin(self) -> str: ...
    @property
    def model_extra(self) -> Mapping[str, Any] | None: ...


class FeeLike(Protocol):
    """A fee as the service declares it; None where it does not say."""

    percentage: Decimal | None
    address: str | None


class MetadataLike(Protocol):
    """The fees that the service declares; None where it declares none. What else it says is read as it stands."""

    @property
    def odd(self) -> tuple[str, ...]: ...
    @property
    def protocol_fee(self) -> FeeLike | None: ...
    @property
    def platform_fee(self) -> FeeLike | None: ...


class PayoutLike(Protocol):
    """The bank account that a payment pays out to, as `words` names it; None where it is not known."""

    @property
    def words(self) -> str: ...
    @property
    def request_id(self) -> str: ...
    @property
    def payment_reference(self) -> str | None: ...
    @property
    def reference(self) -> str | None: ...
    @property
    def client_user_id(self) -> str: ...
    @property
    def payment_details_id(self) -> str: ...
    @property
    def wallet(self) -> str | None: ...
    @property
    def also_listed(self) -> str | None: ...
    @property
    def currency(self) -> str | None: ...
    @property
    def rails(self) -> str | None: ...
    @property
    def status(self) -> str | None: ...


@runtime_checkable
class PaymentLike(Protocol):
    """An initiated payment. order, network, environment: known if it was requested here or read with them.

    order_source: where the order comes from. whole: all that the response holds. odd, repeated: names of its members
    that have an unexpected type, or that it has more than once.
    """

    request_id: str | None
    payment_reference: str | None

    @property
    def transactions(self) -> Sequence[TransactionLike]: ...
    @property
    def metadata(self) -> MetadataLike | None: ...
    @property
    def order(self) -> OrderLike | None: ...
    @property
    def order_source(self) -> str | None: ...
    @property
    def whole(self) -> WholeResponse: ...
    @property
    def odd(self) -> tuple[str, ...]: ...
    @property
    def repeated(self) -> tuple[str, ...]: ...
    @property
    def network(self) -> str | None: ...
    @property
    def environment(self) -> str | None: ...
    @property
    def payout(self) -> PayoutLike | None: ...


@runtime_checkable
class KnowsPaid(Protocol):
    """Anything that can be asked whether a request is paid, such as a `Client`.

    None stands for a response that does not say it; a question that fails raises a PayerkitError.
    """

    def has_been_paid(self, request_id: str) -> bool | None: ...


@runtime_checkable
class KnowsRequest(KnowsPaid, Protocol):
    """Anything that can be asked for all that a service says about a request, by the names on the wire."""

    def request_members(self, request_id: str) -> Mapping[str, Any]: ...
