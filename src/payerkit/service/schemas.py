"""What the API takes and gives, member by member, by the names of its document."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field, StrictBool
from typing_extensions import TypedDict

Text = Annotated[str, Field(min_length=0)]
Filled = Annotated[str, Field(min_length=1)]
Two = Annotated[str, Field(min_length=2, max_length=2)]
Three = Annotated[str, Field(min_length=3, max_length=3)]
Day = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", examples=["1985-12-12"])]
Email = Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$", examples=["john.doe@example.com"])]
Phone = Annotated[str, Field(pattern=r"^\+?[1-9][0-9]{1,14}$", examples=["+12125551234"])]
Beneficiary = Literal["individual", "business"]


class ComplianceData(TypedDict):
    """Compliance data of a payer."""

    clientUserId: Filled
    email: Email
    firstName: Filled
    lastName: Filled
    beneficiaryType: Beneficiary
    dateOfBirth: Day
    addressLine1: Filled
    city: Filled
    state: Filled
    postcode: Filled
    country: Two
    nationality: Two
    phone: Phone
    ssn: Filled
    companyName: NotRequired[Text]
    addressLine2: NotRequired[Text]
    sourceOfFunds: NotRequired[Text]
    businessActivity: NotRequired[Text]


class ComplianceStatuses(TypedDict):
    """Where the agreement and the identity check stand."""

    agreementStatus: str
    kycStatus: str


class ComplianceAnswer(TypedDict):
    """Statuses, and the pages that the payer completes."""

    status: ComplianceStatuses
    agreementUrl: str
    kycUrl: str
    userId: str


class PayerStatusAnswer(ComplianceStatuses):
    """Statuses without sending anything again."""

    isCompliant: bool
    userId: str


class AgreementBody(TypedDict):
    """Whether the payer completed the agreement."""

    agreementCompleted: StrictBool


class AgreementAnswer(TypedDict):
    """Whether that was recorded."""

    success: bool


class PaymentDetailBody(TypedDict):
    """A bank account."""

    bankName: Filled
    accountName: Filled
    beneficiaryType: Beneficiary
    currency: Three
    addressLine1: Filled
    city: Filled
    country: Two
    dateOfBirth: Day
    postalCode: Filled
    accountNumber: NotRequired[Text]
    routingNumber: NotRequired[Text]
    addressLine2: NotRequired[Text]
    state: NotRequired[Text]
    rails: NotRequired[Literal["local", "swift", "wire"]]
    sortCode: NotRequired[Text]
    iban: NotRequired[Text]
    swiftBic: NotRequired[Text]
    documentNumber: NotRequired[Text]
    documentType: NotRequired[Text]
    accountType: NotRequired[Literal["checking", "savings"]]
    ribNumber: NotRequired[Text]
    bsbNumber: NotRequired[Text]
    ncc: NotRequired[Text]
    branchCode: NotRequired[Text]
    bankCode: NotRequired[Text]
    ifsc: NotRequired[Text]


class PaymentDetailRecord(TypedDict):
    """A stored bank account, in short."""

    id: str
    clientUserId: str
    bankName: str
    accountName: str
    currency: str
    beneficiaryType: str
    status: str
    rails: str


class PaymentDetailAnswer(TypedDict):
    """The bank account that was stored."""

    payment_detail: PaymentDetailRecord


class ListedPaymentDetail(PaymentDetailBody):
    """A stored bank account: everything that was sent but document numbers."""

    id: str
    userId: str
    status: str


class PaymentDetailsAnswer(TypedDict):
    """The bank accounts of a payer."""

    paymentDetails: list[ListedPaymentDetail]


class PayBody(TypedDict):
    """What to pay."""

    payee: Annotated[Filled, Field(examples=["0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"])]
    amount: Annotated[Filled, Field(examples=["10"])]
    invoiceCurrency: Annotated[Filled, Field(examples=["USD"])]
    paymentCurrency: Annotated[Filled, Field(examples=["ETH-sepolia-sepolia"])]


class BigNumber(TypedDict):
    """A whole number of any size."""

    type: Literal["BigNumber"]
    hex: str


class TransactionAnswer(TypedDict):
    """One transaction to sign."""

    data: str
    to: str
    value: BigNumber | int


class MetadataAnswer(TypedDict):
    """What to know about the transactions."""

    stepsRequired: int
    needsApproval: bool
    approvalTransactionIndex: int | None
    paymentTransactionIndex: int
    hasEnoughBalance: bool
    hasEnoughGas: bool


class PayAnswer(TypedDict):
    """A payment to sign. The request id stands under both spellings that have been published."""

    requestId: str
    requestID: str
    paymentReference: str
    transactions: list[TransactionAnswer]
    metadata: MetadataAnswer
