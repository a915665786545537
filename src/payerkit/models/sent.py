"""What is sent: a payer, bank details, a payment order, with the specification's constraints and nothing stricter."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from payerkit.checks import specification
from payerkit.models.fields import AccountNumber, Hidden, SocialSecurityNumber, Text, about
from payerkit.models.sending import Sent

BeneficiaryType = Literal["individual", "business"]
Rails = Literal["local", "swift", "wire"]
AccountType = Literal["checking", "savings"]


class Payer(Sent):
    """A payer's compliance data (specification 2.4): who pays, where they live, how they are identified.

    The optional members are left out of the request when they are not given.
    """

    specified = specification.PAYER

    client_user_id: Annotated[
        Text, about("Client user id", "Your own id of the payer, as typed in every later call.", "user-123", "Who")
    ]
    email: Annotated[Text, about("E-mail address", "Where the payer is reached.", "john.doe@example.com", "Who")]
    first_name: Annotated[Text, about("First name", "As on the identity document.", "John", "Who")]
    last_name: Annotated[Text, about("Last name", "As on the identity document.", "Doe", "Who")]
    beneficiary_type: Annotated[BeneficiaryType, about("Payer type", "A person or a company.", "individual", "Who")]
    company_name: Annotated[Text | None, about("Company", "For a business.", "Acme Corporation Inc.", "Who")] = None
    date_of_birth: Annotated[
        Text, about("Date of birth", "Of a business: the day of its incorporation.", "1985-12-12", "Who")
    ]
    nationality: Annotated[Text, about("Nationality", "Two-letter country code.", "US", "Who", lookup="countries")]
    phone: Annotated[Text, about("Phone number", "International form, best with a plus.", "+12125551234", "Who")]
    ssn: Annotated[
        SocialSecurityNumber,
        about("Social security number", "Of a business: its tax or registration number.", "123-45-6789", "Compliance"),
    ]
    address_line1: Annotated[Text, about("Address", "Street and house number.", "123 Main Street", "Where")]
    address_line2: Annotated[Text | None, about("Address, line 2", "Flat, floor, suite.", "Suite 200", "Where")] = None
    city: Annotated[Text, about("City", "Town or city.", "New York", "Where")]
    state: Annotated[Text, about("State", "State, province or region.", "NY", "Where")]
    postcode: Annotated[Text, about("Postcode", "Postal or ZIP code.", "10001", "Where")]
    country: Annotated[Text, about("Country", "Two-letter country code.", "US", "Where", lookup="countries")]
    source_of_funds: Annotated[
        Text | None,
        about("Source of funds", "For a business.", "Business revenue from software services", "Compliance"),
    ] = None
    business_activity: Annotated[
        Text | None, about("Business activity", "For a business.", "Software development and consulting", "Compliance")
    ] = None


class BankDetails(Sent):
    """A bank account to pay out to (specification 2.1): the bank, its codes, the account, who holds it.

    Which optional members a currency and its rails need is not in the specification; the service decides.
    """

    specified = specification.BANK_DETAILS

    bank_name: Annotated[Text, about("Bank name", "As the bank writes it.", "Chase", "Bank")]
    account_name: Annotated[
        Text, about("Account holder", "Name on the account.", "Gordon's Chase Business Account", "Beneficiary")
    ]
    beneficiary_type: Annotated[
        BeneficiaryType, about("Holder type", "A person or a company.", "business", "Beneficiary")
    ]
    currency: Annotated[
        Text, about("Currency", "Three-letter code, ISO 4217; sent as typed.", "usd", "Account", lookup="fiat")
    ]
    rails: Annotated[
        Rails | None, about("Rails", "How the money travels; left out, the service takes local.", "local", "Account")
    ] = None
    account_type: Annotated[AccountType | None, about("Account type", "US accounts.", "checking", "Account")] = None
    account_number: Annotated[
        AccountNumber | None, about("Account number", "Keep leading zeros.", "253009233489", "Account")
    ] = None
    routing_number: Annotated[
        AccountNumber | None, about("Routing number", "US: nine digits; keep leading zeros.", "026013356", "Account")
    ] = None
    iban: Annotated[
        AccountNumber | None, about("IBAN", "Where accounts have one.", "DE89370400440532013000", "Account")
    ] = None
    swift_bic: Annotated[Text | None, about("SWIFT/BIC", "8 or 11 characters.", "DEUTDEFF", "Bank")] = None
    sort_code: Annotated[Text | None, about("Sort code", "United Kingdom.", "200000", "Bank")] = None
    bsb_number: Annotated[Text | None, about("BSB number", "Australia.", "062-000", "Bank")] = None
    ncc: Annotated[Text | None, about("NCC number", "New Zealand.", "021000", "Bank")] = None
    ifsc: Annotated[Text | None, about("IFSC", "India.", "HDFC0000001", "Bank")] = None
    rib_number: Annotated[
        AccountNumber | None, about("RIB number", "France.", "20041010050500013M02606", "Account")
    ] = None
    bank_code: Annotated[Text | None, about("Bank code", "Where banks are numbered.", "001", "Bank")] = None
    branch_code: Annotated[Text | None, about("Branch code", "Where branches are numbered.", "00011", "Bank")] = None
    date_of_birth: Annotated[
        Text,
        about(
            "Date of birth", "Of the holder; of a business, the day of its incorporation.", "1985-12-12", "Beneficiary"
        ),
    ]
    document_type: Annotated[
        Text | None, about("Document type", "Kind of identity document.", "passport", "Beneficiary")
    ] = None
    document_number: Annotated[
        Hidden | None, about("Document number", "Of the identity document.", "X0000000", "Beneficiary")
    ] = None
    address_line1: Annotated[Text, about("Address", "Of the account holder.", "24 Theatre St.", "Beneficiary")]
    address_line2: Annotated[
        Text | None, about("Address, line 2", "Flat, floor, suite.", "Suite 200", "Beneficiary")
    ] = None
    city: Annotated[Text, about("City", "Town or city.", "Paramount", "Beneficiary")]
    state: Annotated[Text | None, about("State", "State or province code.", "CA", "Beneficiary")] = None
    postal_code: Annotated[Text, about("Postal code", "Postal or ZIP code.", "90723", "Beneficiary")]
    country: Annotated[Text, about("Country", "Two-letter country code.", "US", "Beneficiary", lookup="countries")]


def _amount_as_text(value: Any) -> Any:
    """Write whole numbers and decimals out in full; text stays as typed, a float is not exact and is refused."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    return value


class PaymentOrder(Sent):
    """What to pay (specification 2.7): to which wallet, how much of which currency, in which token."""

    specified = specification.PAYMENT_ORDER

    payee: Annotated[
        Text, about("Payee", "Wallet address that is paid.", "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7", "Order")
    ]
    amount: Annotated[
        Text,
        BeforeValidator(_amount_as_text),
        about("Amount", "In the invoice currency, as a decimal.", "10", "Order"),
    ]
    invoice_currency: Annotated[
        Text, about("Invoice currency", "Currency id of the invoice.", "USD", "Order", lookup="currencies")
    ]
    payment_currency: Annotated[
        Text,
        about(
            "Payment currency",
            "Currency id of the token that pays.",
            "ETH-sepolia-sepolia",
            "Order",
            lookup="currencies",
        ),
    ]
