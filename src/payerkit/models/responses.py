"""The objects in responses: parsed tolerantly, without losing or guessing anything."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    Strict,
    StrictBool,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_serializer,
)

from payerkit import html
from payerkit.explanations import Explanation, explain_payer, explain_word, status_chip
from payerkit.masking import mask, masking_of
from payerkit.models.base import ApiModel
from payerkit.models.formats import AccountNumber, Hidden
from payerkit.models.requests import PayoutOrder
from payerkit.redaction import holds_email
from payerkit.wire import first, read_decimal, wire_name

T = TypeVar("T")


class Remembered(Generic[T]):
    """An attribute of a response that is no member of its JSON, such as the order that
    was sent.
    """

    def __init__(self, default: T) -> None:
        self._default = default

    def __set_name__(self, owner: object, name: str) -> None:
        self._name = name

    def __get__(self, instance: Response | None, owner: object) -> T:
        """Return the value that was given to `read`, else the default."""
        if instance is None:
            return self._default
        known: dict[str, T] = instance._known  # noqa: SLF001 - what it is there for
        return known.get(self._name, self._default)


class OddNames(list[str | None]):
    """Collects the wire names of odd fields while a response is read."""


class Response(ApiModel):
    """Base of the objects in responses.

    A field that is missing or has an unexpected type gets its default; `odd` lists the
    latter. Fields that the specification does not have are attributes by their wire
    names, unless there are more than 10,000. `to_dict(reveal=True)` is the response as
    received.
    """

    model_config = ConfigDict(
        extra="allow",
        ignored_types=(Remembered,),
    )

    _names: ClassVar[frozenset[str]] = frozenset()
    _is_created: ClassVar[bool] = False
    """Whether it is about something created, so that it has a documented field."""

    odd: ClassVar = Remembered[tuple[str, ...]](())
    """Wire names of the fields whose values have an unexpected type."""

    _raw: ClassVar = Remembered[dict[str, Any]]({})
    _known: dict[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def read(cls, content: Any, **known: Any) -> Self:
        """Return parsed JSON as an object. Raises ValueError if it is not a JSON
        object.

        known: what else the object remembers, by name.
        """
        odd = OddNames()
        response = cls.model_validate(cls.hidden_fields(content), context=odd)
        response._known = {  # noqa: SLF001 - what it is there for
            "_raw": content,
            "odd": tuple(dict.fromkeys(odd)),
            **known,
        }
        return response

    @classmethod
    def hidden_fields(cls, content: Any) -> dict[str, Any]:
        """Return the fields as `read_fields` does, each secret with its masking type.

        Those that the model has get theirs when they are validated.
        """
        fields = dict(cls.read_fields(content))
        unknown = fields.keys() - cls._names
        if len(unknown) > _MOST_UNKNOWN:
            return {name: fields[name] for name in fields.keys() & cls._names}
        for name in unknown:
            fields[name] = _hide_secret(name, fields[name])
        return fields

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Note the names of the fields, ours and those on the wire."""
        ours = set(cls.model_fields)
        cls._names = frozenset(ours | {wire_name(name) for name in ours})

    @classmethod
    def read_fields(cls, content: Any) -> dict[str, Any]:
        """Return the fields in parsed JSON as received. Raises ValueError if it is not
        a JSON object.

        Nor is it a response about something created if it has no field that the API
        documents. A status at the top does not count: any message may have one.
        """
        if not isinstance(content, dict):
            raise ValueError(f"expected a JSON object, got a {type(content).__name__}")  # noqa: TRY004 - a bad value
        fields = cls.unwrap(content)
        if not cls._is_created:
            return fields
        for name in cls._names:
            is_of_message = name == "status" and fields is content
            if not is_of_message and fields.get(name) not in (None, ""):
                return fields
        raise ValueError("it has no id, and no other field that the API documents")

    @classmethod
    def unwrap(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return the part of the response that has the fields."""
        return content

    @field_validator("*", mode="wrap")
    @classmethod
    def _tolerate(
        cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> Any:
        try:
            return handler(value)
        except ValidationError:
            field = cls.model_fields[str(info.field_name)]
            if isinstance(info.context, OddNames):
                info.context.append(wire_name(str(info.field_name)))
            return field.get_default()

    def masked(self, name: str, value: Any) -> Any:
        """Return what may be shown of a field's value."""
        is_business = getattr(self, "beneficiary_type", None) == "business"
        return mask(name, value, is_business=is_business)

    @model_serializer(mode="wrap")
    def _dump(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Dump masked values; only `to_dict(reveal=True)` returns the real ones."""
        return dict(mask("", handler(self)))

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return the response as received; unless `reveal=True`, secrets and personal
        data are masked.
        """
        if reveal is True:
            return copy.deepcopy(self._raw)
        return dict(mask("", self._raw))


_MOST_UNKNOWN = 10_000
"""Fields that the specification does not have, which become attributes, at most: a
response of 16 MiB may have a million.
"""


def _hide_secret(name: str, value: Any) -> Any:
    """Give a secret its masking type, also if the response should not have the
    field.
    """
    if not isinstance(value, str):
        return value
    masking = masking_of(name)
    if masking == "account":
        return AccountNumber(value)
    if masking == "hidden":
        return Hidden(value)
    return value


_TWO_WORDS = (
    "create_payer() may return not_started for everything but completed;"
    " get_payer_status() says more."
)
"""What the API's OpenAPI file says of the statuses in the response of
`create_payer`.
"""


class PayerStatus(Response):
    """The compliance status of a payer (specification 2.5). Fields that the response
    lacks are None.

    Attributes:
        kyc_status: Status of the identity check, such as "not_started", "pending" or
            "completed"; services may add others.
        agreement_status: Status of the agreement, such as "not_started" or "completed";
            services may add others.
        is_compliant: True once the payer may pay.
        user_id: The service's id for the payer.
        kyc_url: The page where the payer identifies themselves; `create_payer` returns
            it.
        agreement_url: The page where the payer signs the agreement; `create_payer`
            returns it.

    Example:
        >>> status = get_payer_status(client, "user-123")
        >>> status.kyc_status, status.agreement_status, status.is_compliant
        ('not_started', 'completed', False)
    """

    _is_created = True

    kyc_status: str | None = Field(None, title="Identity check")
    agreement_status: str | None = Field(None, title="Agreement")
    is_compliant: StrictBool | None = Field(None, title="Compliant")
    user_id: str | None = Field(None, title="User id")
    kyc_url: str | None = Field(None, title="Identity check page", repr=False)
    agreement_url: str | None = Field(None, title="Agreement page", repr=False)

    @classmethod
    def unwrap(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return the fields in one dict: services send both statuses inside `status` or
        beside the other fields.
        """
        status = content.get("status")
        if not isinstance(status, dict):
            return content
        outer = dict(content)
        del outer["status"]
        return outer | status

    def explain(self) -> Explanation:
        """Return whose move it is and what to do, from both statuses and whether the
        payer is compliant.

        Returns:
            One explanation of the payer; its `parts` explain the identity check and the
            agreement.

        Example:
            >>> get_payer_status(client, "user-123").explain().whose_move
            'payer'
        """
        found = explain_payer(
            self.kyc_status, self.agreement_status, stated=self.is_compliant
        )
        # Only the response of create_payer() has links.
        if not (self.kyc_url or self.agreement_url):
            return found
        return replace(found, meaning=f"{found.meaning} {_TWO_WORDS}")

    def rows(self) -> list[tuple[str, str]]:
        """Return the titles and values of a table, with the next step first if there is
        a status.
        """
        has_status = (
            self.kyc_status or self.agreement_status or self.is_compliant is not None
        )
        rows = super().rows()
        if has_status:
            rows.insert(0, ("Next", html.escape(self.explain().next_step)))
        return rows

    def _cell(self, name: str, value: Any) -> str:
        if value is True:
            return html.chip("success", "yes")
        if name in _STATUSES:
            return status_chip(explain_word(value, _STATUSES[name]))
        if name.endswith("_url"):
            return _page_link(name, value)
        return super()._cell(name, value)


_STATUSES = {"kyc_status": "kyc", "agreement_status": "agreement"}
"""The statuses of a payer, by the words that `explain_word` knows for them."""


def _page_link(name: str, url: str) -> str:
    """Return a link to a page, or text if it contains an e-mail address: a notebook
    saves what it shows.
    """
    if holds_email(url):
        return (
            "hidden, since the link contains an e-mail address; get it from"
            f" <code>.{name}</code>"
        )
    if not html.is_web_address(url):
        return html.escape(url)
    host = urlsplit(url).hostname or ""
    return html.link(url, f"open on {host}")


class AgreementUpdate(Response):
    """Confirmation that the service recorded an agreement (specification 2.6).

    Attributes:
        success: True if it was recorded; None if the response does not have it.

    Example:
        >>> update_agreement(client, "user-123").success
        True
    """

    success: StrictBool | None = Field(None, title="Recorded")


class PaymentDetail(Response):
    """A bank account as stored by the service (specification 2.2). Fields that the
    response lacks are None.

    Attributes:
        id: The service's id of the account, for
            `list_payment_details(payment_details_id=...)`.
        client_user_id: Your id of the payer. bank_name, account_name, beneficiary_type,
        currency, status, rails: As stored. account_number, routing_number, iban,
        rib_number: Masked; `.get_secret_value()` returns the value.

    Example:
        >>> detail = create_payment_detail(client, "user-123", details)
        >>> detail.bank_name, detail.currency, detail.rails, detail.status
        ('Chase', 'usd', 'local', 'approved')
    """

    _is_created = True

    id: str | None = Field(None, title="Id")
    client_user_id: str | None = Field(None, title="Payer id")
    bank_name: str | None = Field(None, title="Bank")
    account_name: str | None = Field(None, title="Account holder")
    beneficiary_type: str | None = Field(None, title="Holder type")
    currency: str | None = Field(None, title="Currency")
    status: str | None = Field(None, title="Status")
    rails: str | None = Field(None, title="Rails")
    account_number: AccountNumber | None = Field(None, title="Account number")
    routing_number: AccountNumber | None = Field(None, title="Routing number")
    iban: AccountNumber | None = Field(None, title="IBAN")
    rib_number: AccountNumber | None = Field(None, title="RIB number")

    def explain(self) -> Explanation:
        """Return what the account's status means, whose move it is, and what to do.

        Returns:
            The explanation of `status`.

        Example:
            >>> create_payment_detail(client, "user-123", details).explain().of
            'account'
        """
        return explain_word(self.status, "account")

    def rows(self) -> list[tuple[str, str]]:
        """Return the titles and values of a table, with the next step first if the
        account cannot be paid yet.
        """
        rows = super().rows()
        explanation = self.explain()
        if self.status is not None and not explanation.is_passed:
            rows.insert(0, ("Next", html.escape(explanation.next_step)))
        return rows

    def _cell(self, name: str, value: Any) -> str:
        if name == "status":
            return status_chip(self.explain())
        return super()._cell(name, value)

    @classmethod
    def unwrap(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return the record, which is inside `payment_detail`."""
        record = first(content, "payment_detail", "paymentDetail")
        if isinstance(record, dict):
            return record
        return content


_NO_IDS = {"", "0", "false", "nan", "nil", "none", "null", "true", "undefined"}
"""Texts in place of an id, as programs write them that have none."""


def usable_id(value: object) -> str:
    """Return an id that the service chose, as text; "" for anything unusable."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = str(value).strip()
    if text.casefold() in _NO_IDS:
        return ""
    return text


def require_success(content: Any) -> None:
    """Raise ValueError for parsed JSON with a member that says that the call failed,
    whatever its status: `success` false, an `error`, a `statusCode` of 400 or more.
    """
    if not isinstance(content, Mapping):
        return
    for name, value in content.items():
        word = name.replace("_", "").lower()
        if word in {"success", "ok"}:
            is_failure = str(value).lower() in {"false", "0"}
        elif word in {"error", "errors"}:
            is_failure = bool(value) and str(value).lower() != "false"
        else:
            is_status = word in {"statuscode", "status"}
            is_failure = is_status and bool(_FAILED.fullmatch(str(value)))
        if is_failure:
            raise ValueError(f"its member {word} says that the call failed")


_FAILED = re.compile("[45][0-9]{2}")
"""A status of HTTP that says that a call failed."""


def read_by(read: Callable[[Any], Any]) -> BeforeValidator:
    """Return a validator that reads a value, and leaves one that cannot be read to the
    type to refuse.
    """

    def validate(value: Any) -> Any:
        found = read(value)
        if found is None:
            return value
        return found

    return BeforeValidator(validate)


Amount = Annotated[Decimal | None, Strict(), read_by(read_decimal)]
"""A decimal as the service writes it: text, or a number."""


class PaymentRequest(Response):
    """A request that was created, to be paid out to a bank account; **beyond the
    specification**.

    Attributes:
        request_id: The service's id of the request, for `request_payment` and
            `get_request`.
        payment_reference: Its reference on the blockchain.
        order: The order that was sent, with its reference.

    Example:
        >>> request = create_request(
        ...     client,
        ...     amount="25.50",
        ...     invoice_currency="USD",
        ...     payment_currency="USDC-sepolia",
        ... )
        >>> request.order.amount
        '25.50'
    """

    request_id: str | None = Field(None, title="Request id")
    payment_reference: str | None = Field(None, title="Payment reference")

    order: ClassVar = Remembered[PayoutOrder | None](None)

    @classmethod
    def read(cls, content: Any, **known: Any) -> Self:
        """Return parsed JSON as an object that remembers its order. Raises ValueError
        if it has no request id.
        """
        created = super().read(content, **known)
        if not created.request_id:
            raise ValueError("requestId is missing")
        return created

    @classmethod
    def unwrap(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return the fields, with the request id under one of the names that services
        have for it.
        """
        return {**content, "requestId": first(content, "requestId", "requestID")}

    @property
    def reference(self) -> str | None:
        """The reference that was sent, by which the request is found again."""
        if self.order is None:
            return None
        return self.order.reference

    def rows(self) -> list[tuple[str, str]]:
        """Return the titles and values of a table, with the reference and the order
        that were sent.
        """
        if self.order is None:
            return super().rows()
        order = (
            f"{self.order.amount} {self.order.invoice_currency}, paid in"
            f" {self.order.payment_currency}"
        )
        sent = {"Reference": mask("reference", self.reference), "Order": order}
        return super().rows() + [
            (title, html.escape(value)) for title, value in sent.items() if value
        ]

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        yield from super().__repr_args__()
        if self.reference:
            yield "reference", mask("reference", self.reference)


class RequestStatus(Response):
    """What the service says about a request; **beyond the specification**. Fields that
    the response lacks are None.

    Attributes:
        request_id: The service's id of the request.
        payment_reference: Its reference on the blockchain.
        reference: Your own reference.
        has_been_paid: Whether it is paid on the blockchain. It does not say that the
            bank has the money.
        status: The service's word for its state.
        is_listening: Whether the service looks for its payments.
        is_crypto_to_fiat_available: Whether it may be paid out to a bank account.
        tx_hash: The transaction that paid it. request_amount, paid_amount,
        received_amount, excess_amount, amount_in_usd, conversion_rate: Exact decimals.
        payer_address: The wallet that paid.
        note, detection_source: What the service adds, in its words.

    Example:
        >>> request = create_request(
        ...     client,
        ...     amount="25.50",
        ...     invoice_currency="USD",
        ...     payment_currency="USDC-sepolia",
        ... )
        >>> get_request(client, request.request_id).has_been_paid
        False
    """

    request_id: str | None = Field(None, title="Request id")
    payment_reference: str | None = Field(None, title="Payment reference")
    reference: str | None = Field(None, title="Reference")
    has_been_paid: StrictBool | None = Field(None, title="Paid")
    status: str | None = Field(None, title="Status")
    is_listening: StrictBool | None = Field(None, title="Looks for payments")
    is_crypto_to_fiat_available: StrictBool | None = Field(
        None, title="Pays out to a bank"
    )
    tx_hash: str | None = Field(None, title="Transaction")
    request_amount: Amount = Field(None, title="Amount requested")
    paid_amount: Amount = Field(None, title="Amount paid")
    received_amount: Amount = Field(None, title="Amount received")
    excess_amount: Amount = Field(None, title="Amount in excess")
    payer_address: str | None = Field(None, title="Paid by")
    amount_in_usd: Amount = Field(None, title="Amount in US dollars")
    conversion_rate: Amount = Field(None, title="Conversion rate")
    note: str | None = Field(None, title="Note")
    detection_source: str | None = Field(None, title="Seen by")
