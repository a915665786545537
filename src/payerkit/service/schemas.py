"""The API's request and response bodies, field by field, under their published names."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field, StrictBool
from typing_extensions import TypedDict

# The limit refuses nothing, but makes pydantic decode the text: a plain `str` lets unpaired surrogates pass.
AnyText = Annotated[str, Field(min_length=0)]
NonEmptyText = Annotated[str, Field(min_length=1)]
CountryCode = Annotated[str, Field(min_length=2, max_length=2)]
CurrencyCode = Annotated[str, Field(min_length=3, max_length=3)]
Date = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", examples=["1985-12-12"])]
Email = Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$", examples=["john.doe@example.com"])]
Phone = Annotated[str, Field(pattern=r"^\+?[1-9][0-9]{1,14}$", examples=["+12125551234"])]
Beneficiary = Literal["individual", "business"]


class PayerRequest(TypedDict):
    """Compliance data of a payer."""

    clientUserId: NonEmptyText
    email: Email
    firstName: NonEmptyText
    lastName: NonEmptyText
    beneficiaryType: Beneficiary
    dateOfBirth: Date
    addressLine1: NonEmptyText
    city: NonEmptyText
    state: NonEmptyText
    postcode: NonEmptyText
    country: CountryCode
    nationality: CountryCode
    phone: Phone
    ssn: NonEmptyText
    companyName: NotRequired[AnyText]
    addressLine2: NotRequired[AnyText]
    sourceOfFunds: NotRequired[AnyText]
    businessActivity: NotRequired[AnyText]


class PublishedStatuses(TypedDict):
    """The status of the agreement and of the identity check, in the words of the published enum."""

    agreementStatus: Literal["not_started", "completed"]
    kycStatus: Literal["not_started", "completed"]


class PayerResponse(TypedDict):
    """A payer's statuses, and the links to the pages that the payer completes."""

    status: PublishedStatuses
    agreementUrl: str
    kycUrl: str
    userId: str


class PayerStatusResponse(TypedDict):
    """A payer's statuses by id, in all the service's words, without sending the compliance data again."""

    agreementStatus: str
    kycStatus: str
    isCompliant: bool
    userId: str


class AgreementRequest(TypedDict):
    """Whether the payer completed the agreement."""

    agreementCompleted: StrictBool


class AgreementResponse(TypedDict):
    """Whether the agreement was recorded."""

    success: bool


class PaymentDetailRequest(TypedDict):
    """Bank details of a payer."""

    bankName: NonEmptyText
    accountName: NonEmptyText
    beneficiaryType: Beneficiary
    currency: CurrencyCode
    addressLine1: NonEmptyText
    city: NonEmptyText
    country: CountryCode
    dateOfBirth: Date
    postalCode: NonEmptyText
    accountNumber: NotRequired[AnyText]
    routingNumber: NotRequired[AnyText]
    addressLine2: NotRequired[AnyText]
    state: NotRequired[AnyText]
    rails: NotRequired[Literal["local", "swift", "wire"]]
    sortCode: NotRequired[AnyText]
    iban: NotRequired[AnyText]
    swiftBic: NotRequired[AnyText]
    documentNumber: NotRequired[AnyText]
    documentType: NotRequired[AnyText]
    accountType: NotRequired[Literal["checking", "savings"]]
    ribNumber: NotRequired[AnyText]
    bsbNumber: NotRequired[AnyText]
    ncc: NotRequired[AnyText]
    branchCode: NotRequired[AnyText]
    bankCode: NotRequired[AnyText]
    ifsc: NotRequired[AnyText]


class PaymentDetailSummary(TypedDict):
    """The main fields of stored bank details."""

    id: str
    clientUserId: str
    bankName: str
    accountName: str
    currency: str
    beneficiaryType: str
    status: str
    rails: str


class PaymentDetailResponse(TypedDict):
    """The bank details that were stored."""

    payment_detail: PaymentDetailSummary


class ListedPaymentDetail(PaymentDetailRequest):
    """Stored bank details: every field that was sent, except document numbers."""

    id: str
    userId: str
    status: str


class PaymentDetailsResponse(TypedDict):
    """All bank details of a payer."""

    paymentDetails: list[ListedPaymentDetail]


class PaymentRequest(TypedDict):
    """A payment order."""

    payee: Annotated[NonEmptyText, Field(examples=["0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"])]
    amount: Annotated[NonEmptyText, Field(examples=["10"])]
    invoiceCurrency: Annotated[NonEmptyText, Field(examples=["USD"])]
    paymentCurrency: Annotated[NonEmptyText, Field(examples=["ETH-sepolia-sepolia"])]


class BigNumber(TypedDict):
    """An integer of any size, as ethers serializes it."""

    type: Literal["BigNumber"]
    hex: str


class TransactionResponse(TypedDict):
    """A transaction to sign."""

    data: str
    to: str
    value: BigNumber | int


class ProtocolFee(TypedDict):
    """The fee on top of each payment: percent of the amount, and who receives it."""

    percentage: str
    address: str


class PaymentMetadataResponse(TypedDict):
    """How the transactions belong together, whether the demo wallet can pay them, and the fee, if there is one."""

    stepsRequired: int
    needsApproval: bool
    approvalTransactionIndex: int | None
    paymentTransactionIndex: int
    hasEnoughBalance: bool
    hasEnoughGas: bool
    protocolFee: NotRequired[ProtocolFee]


class PaymentResponse(TypedDict):
    """A payment to sign. The request id is given in both published spellings."""

    requestId: str
    requestID: str
    paymentReference: str
    transactions: list[TransactionResponse]
    metadata: PaymentMetadataResponse
