"""The API's request and response bodies, field by field, under their published names."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import AfterValidator, Field, StrictBool
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from payerkit.service.states import AgreementState, DetailState, KycState

MAX_ID = 256
"""The most characters of an id. The documentation names no limit, but servers limit the length of a path."""

_ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_TOP_LABEL = "[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]"
_EMAIL = rf"^{_ATOM}(\.{_ATOM})*@({_LABEL}\.)+{_TOP_LABEL}$"
"""The published format, `email`: words with dots, then a domain. Quoted words and domains in brackets, which are hardly
in use, are refused."""


def _check_local_part(email: str) -> str:
    """Return an e-mail address whose part before the @ is not too long (RFC 5321)."""
    if email.index("@") > 64:
        raise PydanticCustomError("string_too_long", "Value should have at most 64 characters before the @")
    return email


# The limit refuses nothing, but makes pydantic decode the text: a plain `str` lets unpaired surrogates pass.
AnyText = Annotated[str, Field(min_length=0)]
NonEmptyText = Annotated[str, Field(min_length=1)]
Id = Annotated[str, Field(min_length=1, max_length=MAX_ID, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
CountryCode = Annotated[str, Field(min_length=2, max_length=2)]
CurrencyCode = Annotated[str, Field(min_length=3, max_length=3)]
Date = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", examples=["1985-12-12"])]
Email = Annotated[
    str,
    Field(
        max_length=254,
        pattern=_EMAIL,
        json_schema_extra={"format": "email"},
        description="At most 64 characters before the @.",
        examples=["john.doe@example.com"],
    ),
    AfterValidator(_check_local_part),
]
Phone = Annotated[str, Field(pattern=r"^\+?[1-9][0-9]{1,14}$", examples=["+12125551234"])]
Beneficiary = Literal["individual", "business"]
Rails = Literal["local", "swift", "wire"]
AccountType = Literal["checking", "savings"]

# The patterns of orders and responses are for readers of the document only: payments.py checks what is sent.
Address = Annotated[
    NonEmptyText,
    Field(
        json_schema_extra={"pattern": "^0x[0-9a-fA-F]{40}$"}, examples=["0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"]
    ),
]
Amount = Annotated[AnyText, Field(json_schema_extra={"pattern": r"^[0-9]{1,78}(\.[0-9]{1,78})?$"}, examples=["10"])]
Uuid = Annotated[str, Field(json_schema_extra={"format": "uuid"})]
Url = Annotated[str, Field(json_schema_extra={"format": "uri"})]
Hex = Annotated[str, Field(json_schema_extra={"pattern": "^0x([0-9a-f]{2})+$"})]
RequestId = Annotated[str, Field(json_schema_extra={"pattern": "^01[0-9a-f]{64}$"})]
PaymentReference = Annotated[str, Field(json_schema_extra={"pattern": "^0x[0-9a-f]{16}$"})]


class PayerRequest(TypedDict):
    """Compliance data of a payer."""

    clientUserId: Annotated[Id, Field(examples=["user-123"])]
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
    agreementUrl: Url
    kycUrl: Url
    userId: Uuid


class PayerStatusResponse(TypedDict):
    """A payer's statuses by id, in all the service's words, without sending the compliance data again."""

    agreementStatus: AgreementState
    kycStatus: KycState
    isCompliant: bool
    userId: Uuid


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
    rails: NotRequired[Rails]
    sortCode: NotRequired[AnyText]
    iban: NotRequired[AnyText]
    swiftBic: NotRequired[AnyText]
    documentNumber: NotRequired[AnyText]
    documentType: NotRequired[AnyText]
    accountType: NotRequired[AccountType]
    ribNumber: NotRequired[AnyText]
    bsbNumber: NotRequired[AnyText]
    ncc: NotRequired[AnyText]
    branchCode: NotRequired[AnyText]
    bankCode: NotRequired[AnyText]
    ifsc: NotRequired[AnyText]


class PaymentDetailSummary(TypedDict):
    """The main fields of stored bank details."""

    id: Uuid
    clientUserId: str
    bankName: str
    accountName: str
    currency: str
    beneficiaryType: Beneficiary
    status: DetailState
    rails: Rails


class PaymentDetailResponse(TypedDict):
    """The bank details that were stored."""

    payment_detail: PaymentDetailSummary


class ListedPaymentDetail(TypedDict):
    """Stored bank details: every field that was sent, except document numbers."""

    id: Uuid
    userId: Uuid
    status: DetailState
    rails: Rails
    bankName: str
    accountName: str
    beneficiaryType: Beneficiary
    currency: str
    addressLine1: str
    city: str
    country: str
    dateOfBirth: str
    postalCode: str
    accountNumber: NotRequired[str]
    routingNumber: NotRequired[str]
    addressLine2: NotRequired[str]
    state: NotRequired[str]
    sortCode: NotRequired[str]
    iban: NotRequired[str]
    swiftBic: NotRequired[str]
    documentType: NotRequired[str]
    accountType: NotRequired[AccountType]
    ribNumber: NotRequired[str]
    bsbNumber: NotRequired[str]
    ncc: NotRequired[str]
    branchCode: NotRequired[str]
    bankCode: NotRequired[str]
    ifsc: NotRequired[str]


class PaymentDetailsResponse(TypedDict):
    """All bank details of a payer."""

    paymentDetails: list[ListedPaymentDetail]


class PayRequest(TypedDict):
    """A payment order. A capital letter in an address belongs to its checksum (EIP-55)."""

    payee: Address
    amount: Amount
    invoiceCurrency: Annotated[NonEmptyText, Field(examples=["USD"])]
    paymentCurrency: Annotated[NonEmptyText, Field(examples=["ETH-sepolia-sepolia"])]


class BigNumber(TypedDict):
    """An integer of any size, as ethers serializes it."""

    type: Literal["BigNumber"]
    hex: Hex


class TransactionResponse(TypedDict):
    """A transaction to sign. A value of zero is a number."""

    data: Hex
    to: Address
    value: BigNumber | Literal[0]


class ProtocolFee(TypedDict):
    """The fee on top of each payment: percent of the amount, and who receives it."""

    percentage: str
    address: Address


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

    requestId: RequestId
    requestID: RequestId
    paymentReference: PaymentReference
    transactions: list[TransactionResponse]
    metadata: PaymentMetadataResponse
