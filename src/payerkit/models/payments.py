"""Payments: their transactions, the account that they pay out to, and the files that
hold them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Protocol,
    Self,
    TypedDict,
    Unpack,
    runtime_checkable,
)

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    Strict,
    StrictBool,
    StrictInt,
    ValidationInfo,
    model_serializer,
    model_validator,
)

from payerkit import html
from payerkit.disk import save_file
from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.masking import mask
from payerkit.models.requests import ACCOUNT_NUMBERS, PaymentOrder, PayoutOrder
from payerkit.models.responses import OddNames, Remembered, Response, read_by
from payerkit.models.whole_response import MAX_MEMBERS, WholeResponse, read_whole
from payerkit.payments.onchain.amounts import format_percentage, read_percentage, wei_of
from payerkit.payments.onchain.currencies import read_network
from payerkit.redaction import mask_account
from payerkit.wire import first, parse_json, read_time, repeated_names, wire_name
from payerkit.wording import listed, visible

if TYPE_CHECKING:
    import pandas as pd

    from payerkit.client.node import Node
    from payerkit.payments.card import PaymentCard
    from payerkit.payments.payment_policy import PaymentPolicy
    from payerkit.payments.safe import SafeHashes

    AnyOrder = PaymentOrder | PayoutOrder | Mapping[str, Any] | pd.Series[Any]
    Orders = pd.DataFrame | Iterable[AnyOrder]


@runtime_checkable
class KnowsPaid(Protocol):
    """Anything that can be asked what a service says about a request, such as a
    `Client`.

    A question that fails raises a PayerkitError.
    """

    def request_members(self, request_id: str) -> Mapping[str, Any]:
        """Return the members of the response about a request, by the names on the
        wire.
        """


class ComparedWith(TypedDict, total=False):
    """What a payment is compared with, each by the name that `check_payment` gives
    it.
    """

    order: AnyOrder | None
    orders: Orders | None
    rate: Decimal | int | str | None
    network: str | None
    policy: PaymentPolicy | None
    now: datetime | None
    client: KnowsPaid | None
    node: str | Node | None
    wallet: str | None


OrderSource = Literal["sent", "file", "given"]
"""Where the order of a payment comes from: it was sent with it, stands in the file of
the payment, or was given to `read_payment`."""

_NUMBERS = tuple(wire_name(name) for name in ACCOUNT_NUMBERS)
"""Members of stored bank details that tell which account it is; the first that has a
value is shown, masked.
"""


def _text(account: Mapping[str, Any], name: str) -> str | None:
    """Return a member of stored bank details; None for anything but text."""
    value = account.get(name)
    return value if isinstance(value, str) else None


_IDS = {"request_id", "client_user_id", "payment_details_id"}
"""The ids that every payout has."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Payout:
    """The request and the account that a payment pays out to: **beyond the
    specification**. Nothing in it is secret.

    Attributes:
        request_id: The service's id of the request.
        payment_reference: Its reference on the blockchain.
        reference: Your own reference of the request.
        client_user_id: The payer.
        payment_details_id: The service's id of the account.
        wallet: The wallet that pays, or None if it was not given.
        bank_name: The bank.
        account: The account number, masked.
        currency, rails, status: Those of the account, when the payment was requested.
        also_listed: What else the payer's list has under the same id, masked; None if
            the id is there once.

    Example:
        >>> request = create_request(
        ...     client,
        ...     amount="25.50",
        ...     invoice_currency="USD",
        ...     payment_currency="USDC-sepolia",
        ... )
        >>> account = list_payment_details(client, "user-123")["id"][0]
        >>> payment = request_payment(
        ...     client, request, client_user_id="user-123", payment_details_id=account
        ... )
        >>> payment.payout.account, payment.payout.bank_name
        ('••••3489', 'Chase')
    """

    request_id: str
    client_user_id: str
    payment_details_id: str
    payment_reference: str | None = None
    reference: str | None = None
    wallet: str | None = None
    bank_name: str | None = None
    account: str | None = None
    currency: str | None = None
    rails: str | None = None
    status: str | None = None
    also_listed: str | None = None

    @classmethod
    def of_list(
        cls, accounts: Iterable[Mapping[str, Any]], account_id: str, **known: str | None
    ) -> Self | None:
        """Return a payout to the first of the accounts with an id; None without one.
        known: the other attributes.
        """
        known["payment_details_id"] = account_id
        payouts = [
            cls.of_account(account, **known)
            for account in accounts
            if str(account.get("id")) == account_id
        ]
        if not payouts:
            return None
        first_one, *others = payouts
        if not others:
            return first_one
        return replace(first_one, also_listed=listed(others))

    @classmethod
    def of_account(cls, account: Mapping[str, Any], **known: str | None) -> Self:
        """Return a payout to an account, as `GET .../payment-details` lists it. known:
        the other attributes.
        """
        numbers = [_text(account, name) for name in _NUMBERS]
        number = next((each for each in numbers if each), None)
        return cls(
            bank_name=_text(account, "bankName"),
            account=number and mask_account(number),
            currency=_text(account, "currency"),
            rails=_text(account, "rails"),
            status=_text(account, "status"),
            **known,  # type: ignore[arg-type]  # the ids are among what is known
        )

    @classmethod
    def of_file(cls, saved: object) -> Self | None:
        """Return a payout as `Payment.save` writes it; None for anything else."""
        names = {each.name for each in fields(cls)}
        if not isinstance(saved, Mapping) or not _IDS <= saved.keys() <= names:
            return None
        if not all(
            isinstance(value, str) or (value is None and name not in _IDS)
            for name, value in saved.items()
        ):
            return None
        return cls(**saved)

    @property
    def words(self) -> str:
        """The account as it may be shown, such as "••••3489 at Chase (USD, local)"."""
        words = self.account or "without a number"
        if self.bank_name:
            words += f" at {self.bank_name}"
        route = [word for word in ((self.currency or "").upper(), self.rails) if word]
        if route:
            words += f" ({', '.join(route)})"
        return visible(words)

    def __str__(self) -> str:
        return f"the account {self.words}"

    def __repr__(self) -> str:
        payer = visible(mask("clientUserId", self.client_user_id))
        return f"<Payout of {payer} to {self}>"


class Transaction(Response):
    """One blockchain transaction to sign.

    Attributes:
        data: Calldata, as received, also if it is not valid hexadecimal.
        to: The contract or wallet that it is sent to, as received.
        value: The native value sent along, in any of the published forms.
        wei: The same value as an integer.
        origin: The member of the response that holds it, such as
            "batchPaymentTransaction"; "" for `transactions`.

    Example:
        >>> transaction = initiate_payment(client, order).transactions[0]
        >>> transaction.wei, transaction.data[:10]
        (4004000000000000, '0xb868980b')
    """

    data: str | None = Field(None, repr=False)
    to: str | None = None
    value: Any = Field(None, repr=False)

    origin: ClassVar = Remembered("")

    @classmethod
    def read(cls, content: Any, **known: Any) -> Self:
        """Return parsed JSON as an object; what is not an object is its only, unknown
        field. known: its origin.
        """
        return super().read(
            content if isinstance(content, dict) else {"unreadable": content}, **known
        )

    @property
    def wei(self) -> int | None:
        """The value in wei; None if it is in none of the published forms."""
        return wei_of(self.value)


class DeclaredFee(Response):
    """A fee on top of a payment, as the service declares it. It shows what the service
    says, not what was agreed.

    Attributes:
        percentage: The share of the amount in percent, exactly.
        address: The wallet that receives it.

    Example:
        >>> print(
        ...     DeclaredFee(
        ...         percentage="0.1%",
        ...         address="0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
        ...     )
        ... )
        0.1 % to 0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7
    """

    percentage: Annotated[Decimal | None, Strict(), read_by(read_percentage)] = None
    address: str | None = None

    def __str__(self) -> str:
        wallet = "an unknown wallet"
        if self.address is not None:
            wallet = visible(self.address)
        return f"{format_percentage(self.percentage)} to {wallet}"


def _read_fee(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, dict) and all(member is None for member in value.values()):
        return None
    return DeclaredFee.read(value)


Count = Annotated[StrictInt, Field(ge=0, lt=2**31)]
"""A number of transactions, or a place among them."""


class PaymentMetadata(Response):
    """What the service reports about the transactions of a payment. Fields that the
    response lacks are None.

    Attributes:
        steps_required: Number of transactions.
        needs_approval: True if the first transaction approves an allowance.
        approval_transaction_index, payment_transaction_index: Positions in
        `transactions`, counted from 0. has_enough_balance, has_enough_gas: Whether the
        payer's wallet can pay the amount, and the fees.
        has_enough_allowance: Whether the contract may already take the amount. This and
            what follows are beyond the specification.
        quote_expires_at: Until when the amounts hold. protocol_fee, platform_fee: The
        fees on top of the amount that the service declares, each with `percentage` and
            `address`.

    Example:
        >>> initiate_payment(client, order).metadata
        PaymentMetadata(steps_required=1, needs_approval=False,
            payment_transaction_index=0, has_enough_balance=True,
            has_enough_gas=True...)
    """

    steps_required: Count | None = Field(None, title="Steps")
    needs_approval: StrictBool | None = Field(None, title="Needs an approval")
    approval_transaction_index: Count | None = Field(None, title="Approval")
    payment_transaction_index: Count | None = Field(None, title="Payment")
    has_enough_balance: StrictBool | None = Field(None, title="Wallet has enough")
    has_enough_gas: StrictBool | None = Field(None, title="Wallet has gas")
    has_enough_allowance: StrictBool | None = Field(None, title="Allowance is enough")
    quote_expires_at: Annotated[datetime | None, Strict(), read_by(read_time)] = Field(
        None, title="Quote expires"
    )
    protocol_fee: Annotated[DeclaredFee | None, BeforeValidator(_read_fee)] = Field(
        None, title="Declared protocol fee"
    )
    platform_fee: Annotated[DeclaredFee | None, BeforeValidator(_read_fee)] = Field(
        None, title="Declared platform fee"
    )

    @classmethod
    def read(cls, content: Any, **known: Any) -> Self:
        """Return parsed JSON as an object. Raises ValueError if it is not a JSON
        object.

        `odd` also lists a fee with a field of an unexpected type.
        """
        metadata = super().read(content, **known)
        fees = {
            "protocolFee": metadata.protocol_fee,
            "platformFee": metadata.platform_fee,
        }
        metadata._known["odd"] += tuple(
            name for name, fee in fees.items() if fee is not None and fee.odd
        )
        return metadata


def _read_transactions(value: Any) -> Any:
    if value is None:
        return ()
    if not isinstance(value, list):
        return value
    if len(value) > MAX_MEMBERS:
        raise ValueError("more transactions than are looked at")
    return tuple(
        item if isinstance(item, Transaction) else Transaction.read(item)
        for item in value
    )


BATCH_MEMBERS = (
    "ERC20ApprovalTransactions",
    "batchPaymentTransaction",
    "ERC20BatchPaymentTransaction",
    "ETHBatchPaymentTransaction",
)
"""The members of the response to a batch (`POST /v2/payouts/batch`, operator's
documentation), in place of `transactions`: approvals, then payments. The published
example has the second, the schema the last two."""


def _read_batch(content: dict[str, Any]) -> list[Transaction]:
    """Return the transactions in the response to a batch."""
    found = []
    for name in BATCH_MEMBERS:
        held = content.get(name)
        if isinstance(held, list):
            found += [
                Transaction.read(item, origin=f"{name}[{place}]")
                for place, item in enumerate(held)
            ]
        elif held is not None:
            found.append(Transaction.read(held, origin=name))
    return found


def _read_metadata(value: Any) -> Any:
    return value if value is None else PaymentMetadata.read(value)


_OUR_NAMES = {"request_id", "payment_reference"}
"""The names of fields that dumps have, and responses write otherwise."""


def _copy_of(content: Any) -> Any:
    """Return a copy that nobody else can change; what is nested without end stays as it
    is.
    """
    try:
        return deepcopy(content)
    except RecursionError:
        return content


class Payment(Response):
    """An initiated payment (specification 2.7). No money has moved: a wallet has to
    sign the transactions first.

    Attributes:
        request_id: The service's id of the payment.
        payment_reference: Its reference on the blockchain.
        transactions: The transactions to sign, in this order.
        metadata: What the service reports about them, or None.
        order: The order that was sent, or None. The response alone does not name the
            network.
        order_source: Where the order comes from: "sent" with the payment, the "file" of
            the payment, or "given" to `read_payment`; None without an order. A file's
            order is only the file's own word.
        network: The network given to `read_payment`, or None.
        environment: Where it was initiated: "sandbox", "staging", "live" or
            "unknown service"; None if it was read from a file.
        payout: The bank account that it pays out to, from `request_payment`; None if it
            pays a wallet.
        repeated: Names that the response has more than once in one object, which
            programs read differently.

    Example:
        >>> payment = initiate_payment(client, order)
        >>> len(payment.transactions), payment.order.payment_currency
        (1, 'ETH-sepolia-sepolia')
        >>> payment.save("payment.json")
    """

    request_id: str | None = Field(None, title="Request id")
    payment_reference: str | None = Field(None, title="Reference")
    transactions: Annotated[
        tuple[Transaction, ...], BeforeValidator(_read_transactions)
    ] = ()
    metadata: Annotated[PaymentMetadata | None, BeforeValidator(_read_metadata)] = None

    order: ClassVar = Remembered[PaymentOrder | PayoutOrder | None](None)
    order_source: ClassVar = Remembered[OrderSource | None](None)
    network: ClassVar = Remembered[str | None](None)
    environment: ClassVar = Remembered[str | None](None)
    payout: ClassVar = Remembered[Payout | None](None)
    repeated: ClassVar = Remembered[tuple[str, ...]](())
    whole: ClassVar = Remembered(WholeResponse())
    """All that the response holds, for checks; it is not masked, and does not show
    itself.
    """

    @classmethod
    def read(
        cls,
        content: Any,
        *,
        order: PaymentOrder | PayoutOrder | None = None,
        order_source: OrderSource = "given",
        payout: Payout | None = None,
        repeated: Iterable[str] = (),
        **known: Any,
    ) -> Self:
        """Return parsed JSON as an object that remembers its order. Raises ValueError
        if it is not a JSON object.

        known: its network and environment.
        """
        if not isinstance(content, dict):
            return super().read(content)  # It says why that is no response.
        source = None if order is None else order_source
        repeated = [*repeated, *repeated_names(content)]
        whole = read_whole(content)
        # The fields have a copy of their own, so that a change of one is noticed. What
        # is too large is never ok, and not copied.
        fields = _copy_of(content) if whole.is_complete else content
        payment = super().read(
            fields, order=order, order_source=source, payout=payout, **known
        )
        if payout is not None:  # of whose response the ids are no part
            ids = {
                "request_id": payout.request_id,
                "payment_reference": payout.payment_reference,
            }
            named = {name: getattr(payment, name) or ids[name] for name in ids}
            payment = payment.model_copy(update=named)
        names = dict.fromkeys([*repeated, *whole.repeated])
        payment._known |= {"_raw": content, "whole": whole, "repeated": tuple(names)}
        return payment

    @model_validator(mode="wrap")
    @classmethod
    def _keep_whole(
        cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        """Keep the whole response, however pydantic is asked to make a payment of it.

        By our names it is a dump, which lacks a part of the response; of JSON that
        pydantic has parsed, nobody knows which names it had twice. `require_whole`
        refuses both.
        """
        if isinstance(info.context, OddNames) or not isinstance(data, Mapping):
            return handler(data)
        is_response = info.mode == "python" and _OUR_NAMES.isdisjoint(data)
        if not is_response:
            return handler(data)
        read = cls.read(_copy_of(dict(data)), repeated=repeated_names(data))
        payment = handler(cls.hidden_fields(_copy_of(dict(data))))
        payment._known = read._known
        return payment

    @model_serializer(mode="wrap")
    def _dump(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Dump masked values by our names, so that a dump never passes for a
        response.
        """
        ours = {wire_name(name): name for name in type(self).model_fields}
        dumped: dict[str, Any] = mask("", handler(self))
        return {ours.get(name, name): value for name, value in dumped.items()}

    @classmethod
    def model_validate_json(
        cls, json_data: str | bytes | bytearray, **options: Any
    ) -> Self:
        """Return a payment of the text of a response, as pydantic does it; names that
        the text has more than once are noted.
        """
        text = json_data if isinstance(json_data, str) else bytes(json_data)
        try:
            content = parse_json(text)
        except (ValueError, RecursionError):
            return super().model_validate_json(json_data, **options)
        return cls.model_validate(content, **options)

    def require_whole(self) -> None:
        """Raise InvalidInput unless the fields are what the whole response says.

        They are not if the payment was made without `read`, or changed since.
        """
        advice = "read_payment() makes a payment of a response or a saved file."
        if "_raw" not in self._known:
            raise InvalidInput(
                "payment: it was made without the whole response, so what else the"
                f" service sent is not known. {advice}"
            )
        if not self.whole.is_complete:
            return  # It is never ok, and to read it again takes long.
        read = super().read(self._raw)
        expected = dict(read.__dict__)
        if self.payout is not None:
            expected["request_id"] = read.request_id or self.payout.request_id
            reference = read.payment_reference or self.payout.payment_reference
            expected["payment_reference"] = reference
        if (expected, read.model_extra) != (self.__dict__, self.model_extra):
            raise InvalidInput(
                "payment: its fields are not those of its response, as they were"
                f" changed. {advice}"
            )

    @classmethod
    def unwrap(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return the fields, with the request id from any of its spellings, and the
        transactions of a batch.
        """
        fields = {
            **content,
            "requestId": first(content, "requestId", "requestID", "request_id"),
        }
        if content.get("transactions") is None:
            fields["transactions"] = _read_batch(content)
        return fields

    def save(self, path: str | Path) -> None:
        """Write order and response to a file for `read_payment` and `payerkit inspect`,
        replacing an existing one.

        Args:
            path: The file. It has the response as received, unmasked; a new one may be
                read by its owner alone.

        Raises:
            InvalidInput: The payment has not its whole response, or was changed; it was
                made in Python, of something that is not JSON
                of a reasonable size; or the path is that of a symbolic link, or of no
                file.
            OSError: The file cannot be written; what was there is as it was.

        Example:
            >>> initiate_payment(client, order).save("payment.json")
        """
        self.require_whole()
        content: dict[str, Any] = {
            "order": None,
            "network": self.network,
            "answer": self._raw,
        }
        if self.order is not None:
            content["order"] = self.order.to_dict(reveal=True)
        if self.repeated:
            content["repeated"] = self.repeated
        if self.payout is not None:
            content["payout"] = asdict(self.payout)
        try:
            text = json.dumps(content, indent=1)
        except (TypeError, ValueError, RecursionError):
            # It comes from Python: other types, endless nesting, a huge number.
            raise InvalidInput(
                "The payment cannot be saved: the response is not JSON of a reasonable"
                " size."
            ) from None
        save_file(path, text)

    @without_internal_frames
    def to_safe(
        self,
        path: str | Path,
        *,
        safe: str,
        anyway: bool = False,
        **options: Unpack[ComparedWith],
    ) -> None:
        """Write the transactions to a file for Safe's Transaction Builder, replacing an
        existing one.

        The Safe makes them as one batch, in their order. Nothing is sent: upload the
        file in the Safe app.

        Args:
            path: Where to write it, such as "safe.json".
            safe: The address of the Safe that pays.
            anyway: Write it although the verdict is "stop".
            options: `order` or `orders`, `rate`, `network`, `policy`, `now` and
                `client`, as `check_payment` takes them. The file names `now`.

        Raises:
            InvalidInput: The verdict is "stop", the network is not known, a transaction
                cannot be read, or an argument is invalid, such as the path of a
                symbolic link. Nothing was written.
            OSError: The file cannot be written; what was there is as it was.

        Example:
            >>> payment = initiate_payment(client, order)
            >>> payment.to_safe(
            ...     "safe.json", safe="0x111CEEee040739fD91D29C34C33E6B3E112F2177"
            ... )
        """
        from payerkit.payments.safe import write_safe_file  # noqa: PLC0415 - loaded on first use

        write_safe_file(self, path, safe=safe, anyway=anyway, **options)

    @without_internal_frames
    def safe_hashes(
        self,
        *,
        safe: str,
        nonce: int,
        version: str = "1.4.1",
        anyway: bool = False,
        **options: Unpack[ComparedWith],
    ) -> SafeHashes:
        """Return the hashes that the owners of a Safe compare on their devices, if it
        makes all transactions at once.

        Args:
            safe: The address of the Safe that pays.
            nonce: The Safe's nonce for this payment, which the Safe app shows.
            version: The version of the Safe's contracts, which the Safe app shows.
            anyway: Return them although the verdict is "stop".
            options: `order` or `orders`, `rate`, `network`, `policy`, `now` and
                `client`, as `check_payment` takes them.

        Returns:
            The hashes of domain, message and transaction, and the call that the Safe
            makes.

        Raises:
            InvalidInput: The verdict is "stop", the network is not known, a transaction
                cannot be read, or an argument is invalid.

        Example:
            >>> payment = initiate_payment(client, order)
            >>> payment.safe_hashes(
            ...     safe="0x111CEEee040739fD91D29C34C33E6B3E112F2177", nonce=7
            ... ).domain_hash
            '0x00ca7ee3af4d4f4dd0690e118a16b45f8a623186d151c69cd08994a34eb5aba4'
        """
        from payerkit.payments.safe import find_safe_hashes  # noqa: PLC0415 - loaded on first use

        return find_safe_hashes(
            self, safe=safe, nonce=nonce, version=version, anyway=anyway, **options
        )

    @without_internal_frames
    def card(self, **options: Unpack[ComparedWith]) -> PaymentCard:
        """Return what a person needs to decide whether to sign.

        Args:
            options: `order` or `orders`, `rate`, `network`, `policy`, `now`, `client`,
                `node` and `wallet`, as `check_payment` takes them.

        Returns:
            The card: a notebook shows it, `print` writes it as text, and `.save(path)`
            as a page.

        Raises:
            InvalidInput: As `check_payment` raises it.

        Example:
            >>> print(initiate_payment(client, order).card(rate="2500"))
            LOOK  Decide on ...
            Pays 0.004 ETH on Sepolia to 0x6923...C7D7, fee 0.1 %, one signature.
            ...
        """
        from payerkit.payments.card import card_of  # noqa: PLC0415 - loaded on first use

        return card_of(self, **options)

    def _repr_html_(self) -> str:
        try:
            self.require_whole()
        except InvalidInput as error:
            return html.picture(html.title("Payment"), html.small(error.message))
        return self.card()._repr_html_()


_OF_PAYMENTS = {"transactions", "paymentIntent", *BATCH_MEMBERS}
"""Members of which the response to a payment has at least one."""

_WRAP = 'To check single transactions, give {"transactions": [transaction, ...]}.'

_HEX = re.compile("0[xX][0-9a-fA-F]+")
_NO_FILE = (
    "Give the response that has the transactions, as a dict or a file:"
    ' payment.save("payment.json") writes one. payerkit finds no transaction by its'
    " hash; decode_transactions() reads calldata."
)
"""Advice for a hash, an address or calldata in place of a file."""

_OF_FILES = {"order", "network", "answer", "repeated", "payout"}
"""The members of a file that `Payment.save` wrote."""


@without_internal_frames
def read_payment(
    source: Mapping[str, Any] | str | Path,
    *,
    order: PaymentOrder | PayoutOrder | Mapping[str, Any] | None = None,
    network: str | None = None,
) -> Payment:
    """Read a payment from a file that `Payment.save` wrote, or from a response of `POST
    /v1/pay`.

    Args:
        source: A path, a dict, or a JSON text that begins with {.
        order: The order that was sent, if the source does not have it; a `PaymentOrder`
            or a `PayoutOrder`, or a dict by our names or wire names.
        network: The network that the transactions are for, if there is no order.

    Returns:
        The payment, with its order and network.

    Raises:
        InvalidInput: The source cannot be read or is not a payment, the order is
            invalid, or the network is unknown.

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
    if (
        "answer" in content and content.keys() <= _OF_FILES
    ):  # with anything else beside it, it is a response
        if order is None:
            order = content.get("order")
            order_source = "file"
        if network is None:
            network = content.get("network")
        payout = Payout.of_file(content.get("payout"))
        saved = content.get("repeated")
        if isinstance(saved, list):
            repeated += [name for name in saved if isinstance(name, str)]
        content = content["answer"]
    if not isinstance(content, dict) or content.keys().isdisjoint(_OF_PAYMENTS):
        raise InvalidInput(f"source: not a payment: transactions are missing. {_WRAP}")
    if network is not None:
        read_network(network)
    expected = None if order is None else _read_order(order, payout)
    return Payment.read(
        content,
        order=expected,
        order_source=order_source,
        network=network,
        payout=payout,
        repeated=repeated,
    )


def _read_order(order: Any, payout: Payout | None) -> PaymentOrder | PayoutOrder:
    """Return an order as an object; that of a payment to a bank account names no
    payee.
    """
    names_no_payee = (
        payout is not None and isinstance(order, Mapping) and "payee" not in order
    )
    if names_no_payee or isinstance(order, PayoutOrder):
        return PayoutOrder.of(order, {})
    return PaymentOrder.of(order, {})


def _parse(source: Any) -> Any:
    if not isinstance(source, Mapping | str | Path):
        raise InvalidInput(
            f"source: expected a path, a dict or a JSON text, got {kind_of(source)}."
            f" {_WRAP}"
        )
    name = "source"
    try:
        if isinstance(source, Mapping):
            content = parse_json(json.dumps(dict(source)))
        elif isinstance(source, str) and source.lstrip().startswith("{"):
            content = parse_json(source)
        else:
            name = visible(Path(source).name) or "the file"
            content = parse_json(Path(source).read_bytes())
    except OSError as error:
        advice = _NO_FILE if _HEX.fullmatch(str(source)) else ""
        message = f"{name} cannot be read ({error.strerror})."
        raise InvalidInput(message, advice=advice) from None
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput(f"{name} is not valid JSON.") from None
    if not isinstance(content, dict):
        raise InvalidInput(
            f"source: not a payment: expected a JSON object, got {kind_of(content)}."
            f" {_WRAP}"
        )
    return content
