"""What is answered: read with every tolerance; nothing is lost and nothing is guessed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    StrictBool,
    StrictInt,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from payerkit import html
from payerkit.findings import Findings
from payerkit.masking import ACCOUNTS, HIDDEN, holds_email, mask
from payerkit.models.base import Wire
from payerkit.models.fields import AccountNumber, Hidden
from payerkit.models.sent import BankDetails, Payer, PaymentOrder
from payerkit.onchain.amounts import wei_of
from payerkit.wire import first, is_loopback, wire_name


class Response(Wire):
    """Base of what is answered.

    A member that is missing, or does not fit, has its default; `odd` names the second kind. Members that the
    specification does not know are attributes under their wire names. `to_dict()` is the answer as it came.
    """

    model_config = ConfigDict(extra="allow")

    _raw: dict[str, Any] = PrivateAttr(default_factory=dict)
    _odd: tuple[str, ...] = PrivateAttr(default=())

    @classmethod
    def read(cls, answer: Any) -> Self:
        """Return the answer as an object. Raises ValueError if it is not a JSON object."""
        odd: list[str] = []
        read = cls.model_validate({name: _typed(name, item) for name, item in cls.opened(answer).items()}, context=odd)
        read._raw, read._odd = answer, tuple(dict.fromkeys(odd))
        return read

    @classmethod
    def opened(cls, answer: Any) -> dict[str, Any]:
        """Return the members of an answer as they came. Raises ValueError if it is not a JSON object."""
        if not isinstance(answer, dict):
            raise ValueError(f"a JSON object was due, a {type(answer).__name__} came")  # noqa: TRY004 - the value is at fault
        return cls.unwrap(answer)

    @classmethod
    def unwrap(cls, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the part of the answer that holds the members."""
        return answer

    @field_validator("*", mode="wrap")
    @classmethod
    def _tolerate(cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        try:
            return handler(value)
        except ValidationError:
            field = cls.model_fields[str(info.field_name)]
            if info.context is not None:
                info.context.append(field.alias)
            return field.get_default()

    @property
    def odd(self) -> tuple[str, ...]:
        """Wire names of the members that came in a form the specification does not know."""
        return self._odd

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return the answer as the service sent it; unless revealed, account numbers and personal data are masked."""
        return copy.deepcopy(self._raw) if reveal is True else mask("", self._raw)


def _typed(name: str, value: Any) -> Any:
    """Give a secret its type, also where the specification does not know the member."""
    if not isinstance(value, str):
        return value
    canonical = wire_name(name)
    return AccountNumber(value) if canonical in ACCOUNTS else Hidden(value) if canonical in HIDDEN else value


class Created(Response):
    """Base of what a call created: it remembers what was doubtful in what was sent."""

    _sent: Payer | BankDetails | None = PrivateAttr(default=None)
    _findings: Findings | None = PrivateAttr(default=None)

    @classmethod
    def read(cls, answer: Any, *, sent: Payer | BankDetails | None = None) -> Self:
        """Return the answer as an object that knows what it answers. Raises ValueError if it is no JSON object."""
        created = super().read(answer)
        created._sent = sent
        return created

    @property
    def findings(self) -> Findings:
        """What was doubtful in what was sent, and went all the same; nothing if nothing was sent for this answer."""
        from payerkit.checks.one import check_bank_details, check_payer  # noqa: PLC0415 - for who asks

        if self._findings is None:
            check = check_payer if isinstance(self._sent, Payer) else check_bank_details
            self._findings = Findings() if self._sent is None else check(self._sent)
            self._sent = None  # from here on, what was sent is nobody's business
        return self._findings

    def __getstate__(self) -> dict[Any, Any]:
        _ = self.findings  # so that what was sent is not part of the state
        return super().__getstate__()

    def rows(self) -> list[tuple[str, str]]:
        """Return titles and values as a table shows them, and that there are warnings, if there are."""
        count = len(self.findings.warnings)
        told = [("Sent with", f"{count} warning{'s' * (count > 1)}, see <code>.findings</code>")] if count else []
        return super().rows() + told


class PayerStatus(Created):
    """Where a payer stands (specification 2.5). Status words are open: a new one is shown as it came."""

    kyc_status: str | None = Field(None, title="Identity check")
    agreement_status: str | None = Field(None, title="Agreement")
    is_compliant: StrictBool | None = Field(None, title="Compliant")
    user_id: str | None = Field(None, title="User id")
    kyc_url: str | None = Field(None, title="Identity check page", repr=False)
    agreement_url: str | None = Field(None, title="Agreement page", repr=False)

    @classmethod
    def unwrap(cls, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the members in one dict: both statuses come inside `status` or beside the others."""
        status = answer.get("status")
        if not isinstance(status, dict):
            return answer
        return {**{name: value for name, value in answer.items() if name != "status"}, **status}

    def _cell(self, name: str, value: Any) -> str:
        return _page(name, value) if name.endswith("_url") else super()._cell(name, value)


def _page(name: str, url: str) -> str:
    """Show a link to a page, unless it holds an e-mail address: what is shown may be saved in a notebook."""
    if holds_email(url):
        return f"the link holds an e-mail address, which is not shown; take it from <code>.{name}</code>"
    if not html.is_web_address(url):
        return html.escape(url)
    host = urlsplit(url).hostname or ""
    here = " (opens on the machine that runs this notebook)" if is_loopback(host) else ""
    return html.link(url, f"open on {host}") + here


class AgreementUpdate(Response):
    """Whether the service recorded the agreement (specification 2.6); None if it did not say."""

    success: StrictBool | None = Field(None, title="Recorded")


class PaymentDetail(Created):
    """A bank account as the service stored it (specification 2.2); its `id` stands for it from now on."""

    id: str | None = Field(None, title="Id")
    client_user_id: str | None = Field(None, title="Client user id")
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

    @classmethod
    def unwrap(cls, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the record, which comes inside `payment_detail`."""
        inner = first(answer, "payment_detail", "paymentDetail")
        return inner if isinstance(inner, dict) else answer


class Transaction(Response):
    """One blockchain transaction to sign: call data, the address it goes to, the native value sent along.

    data and to are as the service sent them, also when they are no valid hex. value is in one of the published
    forms; `wei` is the same as an integer.
    """

    data: str | None = None
    to: str | None = None
    value: Any = None

    @property
    def wei(self) -> int | None:
        """The value in wei; None if it came in a form that the service has never published."""
        return wei_of(self.value)

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        yield "to", self.to
        yield "wei", self.wei
        yield "data", shorten(self.data)


def shorten(data: str | None) -> str | None:
    """Return call data short enough to read: its selector and its length."""
    if data is None or len(data) <= 26:
        return data
    return f"{data[:10]}… ({len(data) // 2 - 1} bytes)"


class PaymentMetadata(Response):
    """What the service says about the transactions; None where it said nothing. Indexes count from 0."""

    steps_required: StrictInt | None = Field(None, title="Steps")
    needs_approval: StrictBool | None = Field(None, title="Needs an approval")
    approval_transaction_index: StrictInt | None = Field(None, title="Approval")
    payment_transaction_index: StrictInt | None = Field(None, title="Payment")
    has_enough_balance: StrictBool | None = Field(None, title="Wallet has enough")
    has_enough_gas: StrictBool | None = Field(None, title="Wallet has gas")

    def _cell(self, name: str, value: Any) -> str:
        # Counted from 1, like the rows above it.
        return f"transaction {value + 1}" if name.endswith("_index") else super()._cell(name, value)


def _read_transactions(value: Any) -> Any:
    if not isinstance(value, list):
        return () if value is None else value
    return tuple(Transaction.read(item if isinstance(item, dict) else {"unreadable": item}) for item in value)


def _read_metadata(value: Any) -> Any:
    return value if value is None else PaymentMetadata.read(value)


class Payment(Response):
    """An initiated payment (specification 2.7): the transactions that a wallet has to sign, in this order.

    Nothing has moved yet. `order` is what was asked for; the answer alone does not name the network.
    """

    request_id: str | None = Field(None, title="Request id")
    payment_reference: str | None = Field(None, title="Reference")
    transactions: Annotated[tuple[Transaction, ...], BeforeValidator(_read_transactions)] = ()
    metadata: Annotated[PaymentMetadata | None, BeforeValidator(_read_metadata)] = None

    _order: PaymentOrder | None = PrivateAttr(default=None)
    _network: str | None = PrivateAttr(default=None)

    @classmethod
    def read(cls, answer: Any, *, order: PaymentOrder | None = None, network: str | None = None) -> Self:
        """Return the answer as an object that remembers its order. Raises ValueError if it is no JSON object."""
        payment = super().read(answer)
        payment._order, payment._network = order, network
        return payment

    @classmethod
    def unwrap(cls, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the members, with the request id in whichever spelling it came."""
        return {**answer, "requestId": first(answer, "requestId", "requestID", "request_id")}

    @property
    def order(self) -> PaymentOrder | None:
        """What was asked for; kept here and never on the wire."""
        return self._order

    @property
    def network(self) -> str | None:
        """Where it is to be sent, if somebody said so when it was read; else the order tells."""
        return self._network

    def save(self, path: str | Path) -> None:
        """Write order and answer to a file, for `read_payment` and `payerkit inspect`; an older one is replaced."""
        order = None if self._order is None else self._order.to_dict(reveal=True)
        content = {"order": order, "network": self._network, "answer": self._raw}
        Path(path).write_text(json.dumps(content, indent=1), "utf-8")

    def _repr_html_(self) -> str:
        from payerkit.onchain.card import card  # noqa: PLC0415 - for who looks at it

        return card(self)
