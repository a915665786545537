"""The objects in responses: parsed tolerantly, without losing or guessing anything."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, Unpack
from urllib.parse import urlsplit

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    Strict,
    StrictBool,
    StrictInt,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from payerkit import html
from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.explanations import Explanation, explain_payer, explain_word, status_chip
from payerkit.findings import Findings
from payerkit.html import visible
from payerkit.masking import holds_email, mask, masking_of
from payerkit.models.base import AccountNumber, ApiModel, Hidden
from payerkit.models.payouts import Payout
from payerkit.models.requests import BankDetails, Payer, PaymentOrder, PayoutOrder
from payerkit.models.whole_response import WholeResponse, read_whole
from payerkit.onchain.amounts import format_percentage, read_percentage, wei_of
from payerkit.wire import first, is_loopback, read_time, repeated_names

if TYPE_CHECKING:
    from payerkit.models.compared_with import AnyOrder, ComparedWith, KnowsPaid, Orders
    from payerkit.policy.payment_policy import PaymentPolicy
    from payerkit.signing.card import PaymentCard
    from payerkit.signing.safe_hashes import SafeHashes

OrderSource = Literal["sent", "file", "given"]
"""Where the order of a payment comes from: it was sent with it, stands in the file of the payment, or was given to
`read_payment`."""


class Response(ApiModel):
    """Base of the objects in responses.

    A field that is missing or has an unexpected type gets its default; `odd` lists the latter. Fields that the
    specification does not have are attributes by their wire names. `to_dict(reveal=True)` is the response as received.
    """

    model_config = ConfigDict(extra="allow")

    _raw: dict[str, Any] = PrivateAttr(default_factory=dict)
    _odd: tuple[str, ...] = PrivateAttr(default=())

    @classmethod
    def read(cls, content: Any) -> Self:
        """Return parsed JSON as an object. Raises ValueError if it is not a JSON object."""
        odd: list[str] = []
        fields = {name: _hide_secret(name, value) for name, value in cls.read_fields(content).items()}
        response = cls.model_validate(fields, context=odd)
        response._raw, response._odd = content, tuple(dict.fromkeys(odd))
        return response

    @classmethod
    def read_fields(cls, content: Any) -> dict[str, Any]:
        """Return the fields in parsed JSON as received. Raises ValueError if it is not a JSON object."""
        if not isinstance(content, dict):
            raise ValueError(f"expected a JSON object, got a {type(content).__name__}")  # noqa: TRY004 - a bad value
        return cls.unwrap(content)

    @classmethod
    def unwrap(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return the part of the response that has the fields."""
        return content

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
        """Wire names of the fields whose values have an unexpected type."""
        return self._odd

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return the response as received; unless `reveal=True`, secrets and personal data are masked."""
        return copy.deepcopy(self._raw) if reveal is True else mask("", self._raw)


def _hide_secret(name: str, value: Any) -> Any:
    """Give a secret its masking type, also if the response should not have the field."""
    if not isinstance(value, str):
        return value
    masking = masking_of(name)
    return AccountNumber(value) if masking == "account" else Hidden(value) if masking == "hidden" else value


class Created(Response):
    """Base of responses about what was created: they have a documented field, and findings about what was sent."""

    _sent: Payer | BankDetails | None = PrivateAttr(default=None)
    _findings: Findings | None = PrivateAttr(default=None)

    @classmethod
    def read(cls, content: Any, *, sent: Payer | BankDetails | None = None) -> Self:
        """Return parsed JSON as an object that keeps what was sent. Raises ValueError if it is not a JSON object."""
        created = super().read(content)
        created._sent = sent
        return created

    @classmethod
    def read_fields(cls, content: Any) -> dict[str, Any]:
        """Return the fields in parsed JSON as received. Raises ValueError if it has none that the API documents.

        A status at the top does not count: any message may have one.
        """
        fields = super().read_fields(content)
        names = {each for name, field in cls.model_fields.items() for each in (name, field.alias or name)}
        names -= {"status"} if fields is content else set()
        if all(fields.get(name) in (None, "") for name in names):
            raise ValueError("it has no id, and no other field that the API documents")
        return fields

    @property
    def findings(self) -> Findings:
        """Warnings and infos about what was sent; empty if this is the response to a read."""
        from payerkit.checks.check import check_bank_details, check_payer  # noqa: PLC0415 - loaded on first use

        if self._findings is None:
            check = check_payer if isinstance(self._sent, Payer) else check_bank_details
            self._findings = Findings() if self._sent is None else check(self._sent)
            self._sent = None  # no longer needed: keep personal data no longer than necessary
        return self._findings

    def __getstate__(self) -> dict[Any, Any]:
        _ = self.findings  # computing them drops what was sent, so that it is not pickled
        return super().__getstate__()

    def rows(self) -> list[tuple[str, str]]:
        """Return the titles and values of a table, with a row for warnings if there are any."""
        count = len(self.findings.warnings)
        warnings = [("Sent with", f"{count} warning{'s' * (count > 1)}, see <code>.findings</code>")] if count else []
        return super().rows() + warnings


_TWO_WORDS = "create_payer() may return not_started for everything but completed; get_payer_status() says more."
"""What the API's OpenAPI file says of the statuses in the response of `create_payer`."""


class PayerStatus(Created):
    """The compliance status of a payer (specification 2.5). A field is None if the response does not have it.

    Attributes:
        kyc_status: Status of the identity check, such as "not_started", "pending" or "completed"; services may add
            others.
        agreement_status: Status of the agreement, likewise.
        is_compliant: True once the payer may pay.
        user_id: The service's id for the payer.
        kyc_url: The page where the payer identifies themselves; `create_payer` returns it.
        agreement_url: The page where the payer signs the agreement, likewise.
        findings: Warnings and infos about what was sent.

    Example:
        >>> status = get_payer_status(client, "user-123")
        >>> status.kyc_status, status.agreement_status, status.is_compliant
        ('not_started', 'completed', False)
    """

    kyc_status: str | None = Field(None, title="Identity check")
    agreement_status: str | None = Field(None, title="Agreement")
    is_compliant: StrictBool | None = Field(None, title="Compliant")
    user_id: str | None = Field(None, title="User id")
    kyc_url: str | None = Field(None, title="Identity check page", repr=False)
    agreement_url: str | None = Field(None, title="Agreement page", repr=False)

    @classmethod
    def unwrap(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return the fields in one dict: services send both statuses inside `status` or beside the other fields."""
        status = content.get("status")
        if not isinstance(status, dict):
            return content
        return {**{name: value for name, value in content.items() if name != "status"}, **status}

    def explain(self) -> Explanation:
        """Return whose move it is and what to do, from both statuses and whether the payer is compliant.

        Returns:
            One explanation of the payer; its `parts` explain the identity check and the agreement.

        Example:
            >>> get_payer_status(client, "user-123").explain().whose_move
            'payer'
        """
        found = explain_payer(self.kyc_status, self.agreement_status, self.is_compliant)
        # Only the response of create_payer() has links.
        return replace(found, meaning=f"{found.meaning} {_TWO_WORDS}") if self.kyc_url or self.agreement_url else found

    def rows(self) -> list[tuple[str, str]]:
        """Return the titles and values of a table, with the next step first if there is a status."""
        has_status = self.kyc_status or self.agreement_status or self.is_compliant is not None
        return ([("Next", html.escape(self.explain().next_step))] if has_status else []) + super().rows()

    def _cell(self, name: str, value: Any) -> str:
        if value is True:
            return html.chip("success", "yes")
        if name in _STATUSES and self.masked(name, value) == value:
            return status_chip(explain_word(value, _STATUSES[name]))
        return _page_link(name, value) if name.endswith("_url") else super()._cell(name, value)


_STATUSES = {"kyc_status": "kyc", "agreement_status": "agreement"}
"""The statuses of a payer, by the words that `explain_word` knows for them."""


def _page_link(name: str, url: str) -> str:
    """Return a link to a page, or text if it contains an e-mail address: a notebook saves what it shows."""
    if holds_email(url):
        return f"hidden, since the link contains an e-mail address; get it from <code>.{name}</code>"
    if not html.is_web_address(url):
        return html.escape(url)
    host = urlsplit(url).hostname or ""
    here = " (opens on the machine that runs this notebook)" if is_loopback(host) else ""
    return html.link(url, f"open on {host}") + here


class AgreementUpdate(Response):
    """Confirmation that the service recorded an agreement (specification 2.6).

    Attributes:
        success: True if it was recorded; None if the response does not have it.

    Example:
        >>> update_agreement(client, "user-123").success
        True
    """

    success: StrictBool | None = Field(None, title="Recorded")


class PaymentDetail(Created):
    """A bank account as stored by the service (specification 2.2). A field is None if the response does not have it.

    Attributes:
        id: The service's id of the account, for `list_payment_details(payment_details_id=...)`.
        client_user_id: Your id of the payer.
        bank_name, account_name, beneficiary_type, currency, status, rails: As stored.
        account_number, routing_number, iban, rib_number: Masked; `.get_secret_value()` returns the value.
        findings: Warnings and infos about what was sent.

    Example:
        >>> detail = create_payment_detail(client, "user-123", details)
        >>> detail.bank_name, detail.currency, detail.rails, detail.status
        ('Chase', 'usd', 'local', 'approved')
    """

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
        """Return the titles and values of a table, with the next step first if the account cannot be paid yet."""
        found = self.explain()
        is_next = self.status is not None and not found.is_passed
        return ([("Next", html.escape(found.next_step))] if is_next else []) + super().rows()

    def _cell(self, name: str, value: Any) -> str:
        is_plain = name == "status" and self.masked(name, value) == value
        return status_chip(self.explain()) if is_plain else super()._cell(name, value)

    @classmethod
    def unwrap(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return the record, which is inside `payment_detail`."""
        record = first(content, "payment_detail", "paymentDetail")
        return record if isinstance(record, dict) else content


class Transaction(Response):
    """One blockchain transaction to sign.

    Attributes:
        data: Calldata, as received, also if it is not valid hexadecimal.
        to: The contract or wallet that it is sent to, as received.
        value: The native value sent along, in any of the published forms.
        wei: The same value as an integer.
        origin: The member of the response that holds it, such as "batchPaymentTransaction"; "" for `transactions`.

    Example:
        >>> transaction = initiate_payment(client, order).transactions[0]
        >>> transaction.wei, transaction.data[:10]
        (4004000000000000, '0xb868980b')
    """

    data: str | None = None
    to: str | None = None
    value: Any = None

    _origin: str = PrivateAttr(default="")

    @classmethod
    def read(cls, content: Any, *, origin: str = "") -> Self:
        """Return parsed JSON as an object; what is not an object is its only, unknown field."""
        transaction = super().read(content if isinstance(content, dict) else {"unreadable": content})
        transaction._origin = origin
        return transaction

    @property
    def origin(self) -> str:
        """The member of the response that holds it; "" for `transactions`."""
        return self._origin

    @property
    def wei(self) -> int | None:
        """The value in wei; None if it is in none of the published forms."""
        return wei_of(self.value)

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        yield "to", self.to
        yield "wei", self.wei
        yield "data", shorten(self.data)


def shorten(data: str | None) -> str | None:
    """Return calldata as its selector and its length, if it is long."""
    if data is None or len(data) <= 26:
        return data
    return f"{data[:10]}… ({len(data) // 2 - 1} bytes)"


def _read_percentage(value: Any) -> Any:
    number = read_percentage(value)
    return value if number is None else number


class DeclaredFee(Response):
    """A fee on top of a payment, as the service declares it. It shows what the service says, not what was agreed.

    Attributes:
        percentage: The share of the amount in percent, exactly.
        address: The wallet that receives it.

    Example:
        >>> DeclaredFee(percentage="0.1%", address="0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7")
        <DeclaredFee: 0.1 % to 0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7>
    """

    percentage: Annotated[Decimal | None, Strict(), BeforeValidator(_read_percentage)] = None
    address: str | None = None

    def __str__(self) -> str:
        wallet = "an unknown wallet" if self.address is None else visible(self.address)
        return f"{format_percentage(self.percentage)} to {wallet}"

    def __repr__(self) -> str:
        return f"<DeclaredFee: {self}>"


def _read_time(value: Any) -> Any:
    time = read_time(value)
    return value if time is None else time


def _read_fee(value: Any) -> Any:
    is_nothing = value is None or (isinstance(value, dict) and all(each is None for each in value.values()))
    return None if is_nothing else DeclaredFee.read(value)


Count = Annotated[StrictInt, Field(ge=0, lt=2**31)]
"""A number of transactions, or a place among them."""


class PaymentMetadata(Response):
    """What the service reports about the transactions of a payment. A field is None if the response does not have it.

    Attributes:
        steps_required: Number of transactions.
        needs_approval: True if the first transaction approves an allowance.
        approval_transaction_index, payment_transaction_index: Positions in `transactions`, counted from 0.
        has_enough_balance, has_enough_gas: Whether the payer's wallet can pay the amount, and the fees.
        has_enough_allowance: Whether the contract may already take the amount. This and what follows are beyond the
            specification.
        quote_expires_at: Until when the amounts hold.
        protocol_fee, platform_fee: The fees on top of the amount that the service declares, each with `percentage` and
            `address`.

    Example:
        >>> initiate_payment(client, order).metadata
        PaymentMetadata(steps_required=1, needs_approval=False, payment_transaction_index=0,
            has_enough_balance=True, has_enough_gas=True...)
    """

    steps_required: Count | None = Field(None, title="Steps")
    needs_approval: StrictBool | None = Field(None, title="Needs an approval")
    approval_transaction_index: Count | None = Field(None, title="Approval")
    payment_transaction_index: Count | None = Field(None, title="Payment")
    has_enough_balance: StrictBool | None = Field(None, title="Wallet has enough")
    has_enough_gas: StrictBool | None = Field(None, title="Wallet has gas")
    has_enough_allowance: StrictBool | None = Field(None, title="Allowance is enough")
    quote_expires_at: Annotated[datetime | None, Strict(), BeforeValidator(_read_time)] = Field(
        None, title="Quote expires"
    )
    protocol_fee: Annotated[DeclaredFee | None, BeforeValidator(_read_fee)] = Field(None, title="Declared protocol fee")
    platform_fee: Annotated[DeclaredFee | None, BeforeValidator(_read_fee)] = Field(None, title="Declared platform fee")

    @classmethod
    def read(cls, content: Any) -> Self:
        """Return parsed JSON as an object; a fee with an odd field is odd. Raises ValueError for other JSON."""
        metadata = super().read(content)
        fees = {"protocolFee": metadata.protocol_fee, "platformFee": metadata.platform_fee}
        metadata._odd += tuple(name for name, fee in fees.items() if fee is not None and fee.odd)
        return metadata

    def _cell(self, name: str, value: Any) -> str:
        # Counted from 1, like the transactions in the table.
        return f"transaction {value + 1}" if name.endswith("_index") else super()._cell(name, value)


def _read_transactions(value: Any) -> Any:
    if not isinstance(value, list):
        return () if value is None else value
    return tuple(item if isinstance(item, Transaction) else Transaction.read(item) for item in value)


BATCH_MEMBERS = (
    "ERC20ApprovalTransactions",
    "batchPaymentTransaction",
    "ERC20BatchPaymentTransaction",
    "ETHBatchPaymentTransaction",
)
"""The members of the response to a batch (`POST /v2/payouts/batch`, operator's documentation), in place of
`transactions`: approvals, then payments. The published example has the second, the schema the last two."""


def _read_batch(content: dict[str, Any]) -> list[Transaction]:
    """Return the transactions in the response to a batch."""
    found = []
    for name in BATCH_MEMBERS:
        held = content.get(name)
        if isinstance(held, list):
            found += [Transaction.read(item, origin=f"{name}[{place}]") for place, item in enumerate(held)]
        elif held is not None:
            found.append(Transaction.read(held, origin=name))
    return found


def _read_metadata(value: Any) -> Any:
    return value if value is None else PaymentMetadata.read(value)


class Payment(Response):
    """An initiated payment (specification 2.7). No money has moved: a wallet has to sign the transactions first.

    Attributes:
        request_id: The service's id of the payment.
        payment_reference: Its reference on the blockchain.
        transactions: The transactions to sign, in this order.
        metadata: What the service reports about them, or None.
        order: The order that was sent, or None. The response alone does not name the network.
        order_source: Where the order comes from: "sent" with the payment, the "file" of the payment, or "given" to
            `read_payment`; None without an order. A file's order is only the file's own word.
        network: The network given to `read_payment`, or None.
        environment: Where it was initiated: "sandbox", "staging" or "live"; None if it was read from a file.
        payout: The bank account that it pays out to, from `request_payment`; None if it pays a wallet.
        repeated: Names that the response has more than once in one object, which programs read differently.

    Example:
        >>> payment = initiate_payment(client, order)
        >>> len(payment.transactions), payment.order.payment_currency
        (1, 'ETH-sepolia-sepolia')
        >>> payment.save("payment.json")
    """

    request_id: str | None = Field(None, title="Request id")
    payment_reference: str | None = Field(None, title="Reference")
    transactions: Annotated[tuple[Transaction, ...], BeforeValidator(_read_transactions)] = ()
    metadata: Annotated[PaymentMetadata | None, BeforeValidator(_read_metadata)] = None

    _order: PaymentOrder | PayoutOrder | None = PrivateAttr(default=None)
    _order_source: OrderSource | None = PrivateAttr(default=None)
    _network: str | None = PrivateAttr(default=None)
    _environment: str | None = PrivateAttr(default=None)
    _payout: Payout | None = PrivateAttr(default=None)
    _repeated: tuple[str, ...] = PrivateAttr(default=())
    _whole: WholeResponse = PrivateAttr(default_factory=WholeResponse)

    @classmethod
    def read(  # noqa: PLR0913 - what a payment remembers, each by name
        cls,
        content: Any,
        *,
        order: PaymentOrder | PayoutOrder | None = None,
        order_source: OrderSource = "given",
        network: str | None = None,
        environment: str | None = None,
        payout: Payout | None = None,
        repeated: Iterable[str] = (),
    ) -> Self:
        """Return parsed JSON as an object that remembers its order. Raises ValueError if it is not a JSON object."""
        payment = super().read(content)
        if payout is not None:  # of whose response the ids are no part
            ids = {"request_id": payout.request_id, "payment_reference": payout.payment_reference}
            payment = payment.model_copy(update={name: getattr(payment, name) or ids[name] for name in ids})
            payment._payout = payout
        payment._order, payment._order_source = order, None if order is None else order_source
        payment._network, payment._environment = network, environment
        payment._whole = read_whole(content)
        payment._repeated = tuple(dict.fromkeys([*repeated, *repeated_names(content), *payment._whole.repeated]))
        return payment

    @classmethod
    def unwrap(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return the fields, with the request id from any of its spellings, and the transactions of a batch."""
        fields = {**content, "requestId": first(content, "requestId", "requestID", "request_id")}
        return fields if content.get("transactions") is not None else {**fields, "transactions": _read_batch(content)}

    @property
    def order(self) -> PaymentOrder | PayoutOrder | None:
        """The order that was sent; None if the payment was read without it."""
        return self._order

    @property
    def payout(self) -> Payout | None:
        """The bank account that it pays out to; None if it pays a wallet."""
        return self._payout

    @property
    def order_source(self) -> str | None:
        """Where the order comes from: "sent" with the payment, its "file", or "given" to `read_payment`."""
        return self._order_source

    @property
    def network(self) -> str | None:
        """The network given to `read_payment`; None if the order determines it."""
        return self._network

    @property
    def environment(self) -> str | None:
        """Where it was initiated: "sandbox", "staging" or "live"; None if it was read from a file."""
        return self._environment

    @property
    def whole(self) -> WholeResponse:
        """All that the response holds, for checks; it is not masked, and does not show itself."""
        return self._whole

    @property
    def repeated(self) -> tuple[str, ...]:
        """Names that the response has more than once in one object, which programs read differently."""
        return self._repeated

    def save(self, path: str | Path) -> None:
        """Write order and response to a file for `read_payment` and `payerkit inspect`, replacing an existing one.

        Args:
            path: The file. It has the response as received, unmasked.

        Raises:
            InvalidInput: The payment was made in Python, of something that is not JSON of a reasonable size.
            OSError: The file cannot be written.

        Example:
            >>> initiate_payment(client, order).save("payment.json")
        """
        order = None if self._order is None else self._order.to_dict(reveal=True)
        content: dict[str, Any] = {"order": order, "network": self._network, "answer": self._raw}
        content |= {"repeated": self._repeated} if self._repeated else {}
        content |= {"payout": self._payout.to_dict()} if self._payout else {}
        try:
            text = json.dumps(content, indent=1)
        except (TypeError, ValueError, RecursionError):  # from Python: other types, endless nesting, a huge number
            raise InvalidInput("The payment cannot be saved: the response is not JSON of a reasonable size.") from None
        Path(path).write_text(text, "utf-8")

    def to_safe(
        self,
        path: str | Path,
        *,
        safe: str,
        created_at: datetime | None = None,
        anyway: bool = False,
        **options: Unpack[ComparedWith],
    ) -> None:
        """Write the transactions to a file for Safe's Transaction Builder, replacing an existing one.

        The Safe makes them as one batch, in their order. Nothing is sent: upload the file in the Safe app.

        Args:
            path: Where to write it, such as "safe.json".
            safe: The address of the Safe that pays.
            created_at: The time that the file names, with its time zone; by default, the clock's.
            anyway: Write it although the verdict is "stop".
            options: `order` or `orders`, `rate`, `network`, `policy`, `now` and `client`, as `check_payment` takes
                them.

        Raises:
            InvalidInput: The verdict is "stop", the network is not known, a transaction cannot be read, or an argument
                is invalid. Nothing was written.
            OSError: The file cannot be written.

        Example:
            >>> payment = initiate_payment(client, order)
            >>> payment.to_safe("safe.json", safe="0x111CEEee040739fD91D29C34C33E6B3E112F2177")
        """
        from payerkit.signing.safe_payment import write_safe  # noqa: PLC0415 - loaded on first use

        write_safe(self, path, safe=safe, created_at=created_at, anyway=anyway, **options)

    def safe_hashes(
        self,
        *,
        safe: str,
        nonce: int,
        version: str = "1.4.1",
        multi_send: str | None = None,
        anyway: bool = False,
        **options: Unpack[ComparedWith],
    ) -> SafeHashes:
        """Return the hashes that the owners of a Safe compare on their devices, if it makes all transactions at once.

        Args:
            safe: The address of the Safe that pays.
            nonce: The Safe's nonce for this payment, which the Safe app shows.
            version: The version of the Safe's contracts, which the Safe app shows.
            multi_send: The address of MultiSendCallOnly that the Safe app shows for a batch, if it is not the usual
                one of this version.
            anyway: Return them although the verdict is "stop".
            options: `order` or `orders`, `rate`, `network`, `policy`, `now` and `client`, as `check_payment` takes
                them.

        Returns:
            The hashes of domain, message and transaction, and the call that the Safe makes.

        Raises:
            InvalidInput: The verdict is "stop", the network is not known, a transaction cannot be read, or an argument
                is invalid.

        Example:
            >>> payment = initiate_payment(client, order)
            >>> payment.safe_hashes(safe="0x111CEEee040739fD91D29C34C33E6B3E112F2177", nonce=7).domain_hash
            '0x00ca7ee3af4d4f4dd0690e118a16b45f8a623186d151c69cd08994a34eb5aba4'
        """
        from payerkit.signing.safe_payment import hash_safe  # noqa: PLC0415 - loaded on first use

        return hash_safe(self, safe=safe, nonce=nonce, version=version, multi_send=multi_send, anyway=anyway, **options)

    @without_internal_frames
    def card(  # noqa: PLR0913 - what a payment is compared with, each by name
        self,
        order: AnyOrder | None = None,
        *,
        orders: Orders | None = None,
        rate: Decimal | int | str | None = None,
        network: str | None = None,
        policy: PaymentPolicy | None = None,
        now: datetime | None = None,
        client: KnowsPaid | None = None,
    ) -> PaymentCard:
        """Return what a person needs to decide whether to sign; the arguments are those of `check_payment`.

        Args:
            order: The order to compare with; by default, the one that the payment remembers.
            orders: Several orders, for a response that pays several at once.
            rate: The price of one unit of the payment currency in the invoice currency.
            network: The network that the transactions are for, if there is no order.
            policy: What you agreed to once, for all payments.
            now: The time to compare with, for a response that expires.
            client: From `connect()` or `sandbox()`, to ask whether the request is paid already.

        Returns:
            The card: a notebook shows it, `print` writes it as text, and `.save(path)` as a page.

        Raises:
            InvalidInput: As `check_payment` raises it.

        Example:
            >>> print(initiate_payment(client, order).card(rate="2500"))
            LOOK  Decide on ...
            Pays 0.004 ETH on Sepolia to 0x6923...C7D7, fee 0.1 %, one signature.
            ...
        """
        from payerkit.signing.card import card_of  # noqa: PLC0415 - loaded on first use

        return card_of(
            self, order=order, orders=orders, rate=rate, network=network, policy=policy, now=now, client=client
        )

    def _repr_html_(self) -> str:
        return self.card()._repr_html_()
