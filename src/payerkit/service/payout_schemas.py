"""The bodies of the calls that pay out to a bank account, under the names of the operator's documentation."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from payerkit.service.payout_states import PayoutState
from payerkit.service.schemas import (
    Address,
    Amount,
    AnyText,
    Hex,
    Id,
    NonEmptyText,
    PaymentReference,
    ProtocolFee,
    RequestId,
    TransactionResponse,
    Uuid,
)

Reference = Annotated[str, Field(min_length=1, max_length=255, examples=["invoice-001"])]
TransactionHash = Annotated[str, Field(json_schema_extra={"pattern": "^0x[0-9a-f]{64}$"})]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-01T00:02:00Z"])]


class AddressOfRequest(TypedDict):
    """The address of a customer."""

    street: NotRequired[AnyText]
    city: NotRequired[AnyText]
    state: NotRequired[AnyText]
    postalCode: NotRequired[AnyText]
    country: NotRequired[AnyText]


class CustomerOfRequest(TypedDict):
    """Who the customer is; the sandbox returns it, and does nothing else with it."""

    firstName: NotRequired[AnyText]
    lastName: NotRequired[AnyText]
    email: NotRequired[AnyText]
    address: NotRequired[AddressOfRequest]


class NewPayoutRequest(TypedDict):
    """A request that is paid out to a bank account: it names no payee."""

    amount: Amount
    invoiceCurrency: Annotated[NonEmptyText, Field(examples=["USD"])]
    paymentCurrency: Annotated[NonEmptyText, Field(examples=["USDC-sepolia"])]
    isCryptoToFiatAvailable: Literal[True]
    reference: NotRequired[Reference]
    customerInfo: NotRequired[CustomerOfRequest]


class CreatedRequest(TypedDict):
    """The ids of a new request."""

    requestId: RequestId
    paymentReference: PaymentReference


class PayoutMetadata(TypedDict):
    """How the transactions belong together and, if the wallet is given, whether it can pay them."""

    stepsRequired: int
    needsApproval: bool
    approvalTransactionIndex: int | None
    paymentTransactionIndex: int
    hasEnoughAllowance: NotRequired[bool]
    hasEnoughBalance: NotRequired[bool]
    hasEnoughGas: NotRequired[bool]
    protocolFee: NotRequired[ProtocolFee]
    quoteExpiresAt: NotRequired[Time]


class PayoutTransactions(TypedDict):
    """The transactions that pay a request."""

    transactions: list[TransactionResponse]
    metadata: PayoutMetadata


class PaidFee(TypedDict):
    """A fee that was paid on top of a payment."""

    type: Literal["protocol"]
    stage: Literal["sending"]
    provider: Literal["request-network"]
    amount: str
    amountInUSD: str
    currency: str
    receiverAddress: Address
    network: str


class PaidRequest(TypedDict):
    """The request of a payment."""

    requestId: RequestId
    paymentReference: PaymentReference
    hasBeenPaid: bool
    customerInfo: CustomerOfRequest | None
    reference: str | None


class PaidPayment(TypedDict):
    """A payment that was seen on the blockchain."""

    id: Uuid
    amount: str
    sourceNetwork: str
    destinationNetwork: str
    sourceTxHash: TransactionHash
    destinationTxHash: TransactionHash | None
    timestamp: Time
    type: Literal["direct"]
    currency: str
    paymentCurrency: str
    fees: list[PaidFee]
    request: PaidRequest


class Pagination(TypedDict):
    """Which part of all payments these are."""

    total: int
    limit: int
    offset: int
    hasMore: bool


class PaidPayments(TypedDict):
    """A page of payments, in the order in which they were seen."""

    payments: list[PaidPayment]
    pagination: Pagination


class RequestState(TypedDict):
    """What is known of a request."""

    requestId: RequestId
    paymentReference: PaymentReference
    reference: str | None
    hasBeenPaid: bool
    status: Literal["pending", "partially_paid", "paid"]
    isListening: bool
    isCryptoToFiatAvailable: bool
    txHash: TransactionHash | None
    requestAmount: str
    paidAmount: str
    amountInUsd: str
    conversionRate: str | None
    payments: list[PaidPayment]
    fees: list[PaidFee]
    customerInfo: CustomerOfRequest | None


class SignedTransaction(TypedDict):
    """A transaction as a wallet sends it; the value in wei."""

    to: Address
    data: Hex
    value: Annotated[AnyText, Field(json_schema_extra={"pattern": "^[0-9]{1,78}$"}, examples=["0"])]


class ExecutionRequest(TypedDict):
    """The transactions of a payment, and the account that it pays out to, if it does."""

    transactions: Annotated[list[SignedTransaction], Field(min_length=1, max_length=10)]
    wallet: NotRequired[Address]
    clientUserId: NotRequired[Id]
    paymentDetailsId: NotRequired[Id]


class ExecutionResponse(TypedDict):
    """The transaction that paid."""

    transactionHash: TransactionHash


class OperatorResponse(TypedDict):
    """Who receives the crypto of all payouts."""

    address: Address


class PayoutStateRequest(TypedDict):
    """A state of a request's payouts, and the reason that its event gives."""

    status: PayoutState
    reason: NotRequired[AnyText]
