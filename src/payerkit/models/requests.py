"""The objects in requests: a payer, bank details, orders. A field is declared here, and
nowhere else.
"""

from __future__ import annotations

from typing import Annotated

from payerkit.models.base import RequestModel
from payerkit.models.fields import field, fields_of
from payerkit.models.formats import (
    FILLED,
    AccountNumber,
    AccountType,
    BeneficiaryType,
    Country,
    CurrencyCode,
    Day,
    Email,
    ExactAmount,
    FilledText,
    Hidden,
    Id,
    Phone,
    Rails,
    Reference,
    Text,
)


class Payer(RequestModel):
    """The compliance data of a payer (specification 2.4): who pays, where they live,
    how they are identified.

    Values are sent as typed; optional fields without a value are not sent.

    Raises:
        pydantic.ValidationError: A field is missing, unknown, or breaks the
            specification. `create_payer` takes the fields themselves, too, and raises
            InvalidInput in its place.

    Example:
        >>> payer = Payer(**payer)
        >>> payer.country, payer.ssn
        ('US', Hidden('••••'))
        >>> payer.replace(city="Albany").to_dict(reveal=True)["city"]
        'Albany'
    """

    basis = "specification 2.4"
    for_tables = "onboard()"

    client_user_id: Annotated[
        Id,
        field(
            title="Payer id",
            help="Your own id for the payer; every later call uses it.",
            example="user-123",
            section="Who",
            aliases=("id",),
        ),
    ]
    email: Annotated[
        Email,
        field(
            title="E-mail address",
            help="Address to contact the payer.",
            example="john.doe@example.com",
            section="Who",
            masking="personal",
            aliases=("emailaddress", "emailadress", "mail"),
        ),
    ]
    first_name: Annotated[
        FilledText,
        field(
            title="First name",
            help="As on the identity document.",
            example="John",
            section="Who",
            kind="name",
            masking="personal",
            business_help="Of the person who acts for the company.",
        ),
    ]
    last_name: Annotated[
        FilledText,
        field(
            title="Last name",
            help="As on the identity document.",
            example="Doe",
            section="Who",
            kind="name",
            masking="personal",
            business_help="Of the person who acts for the company.",
            aliases=("surname",),
        ),
    ]
    beneficiary_type: Annotated[
        BeneficiaryType,
        field(
            title="Payer type",
            help="A person or a company.",
            example="individual",
            section="Who",
            rank=0,
            option_titles=("Individual: a person", "Business: a company"),
            aliases=("type",),
        ),
    ]
    company_name: Annotated[
        Text | None,
        field(
            title="Company",
            help="Its full name, with its legal form.",
            example="Acme Corporation Inc.",
            section="Who",
            rank=1,
            kind="name",
            applies_to="business",
            aliases=("company",),
        ),
    ] = None
    date_of_birth: Annotated[
        Day,
        field(
            title="Date of birth",
            help="Year, month and day, as on the identity document.",
            example="1985-12-12",
            section="Who",
            masking="personal",
            business_title="Date of incorporation",
            business_help="The day on which the company was registered.",
            business_example="2015-03-02",
            aliases=("birthdate", "birthday", "dob"),
        ),
    ]
    nationality: Annotated[
        Country,
        field(
            title="Nationality",
            help="Country of the passport, as a two-letter code.",
            example="US",
            section="Who",
            lookup="countries",
        ),
    ]
    phone: Annotated[
        Phone,
        field(
            title="Phone number",
            help="International format, preferably with a leading +.",
            example="+12125551234",
            section="Where",
            rank=5,
            masking="personal",
            aliases=("tel",),
        ),
    ]
    ssn: Annotated[
        Hidden,
        FILLED,
        field(
            title="Social security number",
            help="In the US, nine digits; elsewhere, a tax or identity number.",
            example="123-45-6789",
            section="Compliance",
            kind="digits",
            business_title="Registration or tax number",
            business_help=(
                "In the US, the EIN; elsewhere, its registration or tax number."
            ),
            business_example="12-3456789",
            aliases=("ein", "taxid"),
        ),
    ]
    address_line1: Annotated[
        FilledText,
        field(
            title="Address",
            help="Street and house number.",
            example="123 Main Street",
            section="Where",
            rank=4,
            masking="personal",
            aliases=("street",),
        ),
    ]
    address_line2: Annotated[
        Text | None,
        field(
            title="Address, line 2",
            help="Flat, floor, suite.",
            example="Suite 200",
            section="Where",
            rank=4,
            masking="personal",
        ),
    ] = None
    city: Annotated[
        FilledText,
        field(
            title="City",
            help="Town or city.",
            example="New York",
            section="Where",
            rank=4,
        ),
    ]
    state: Annotated[
        FilledText,
        field(
            title="State",
            help="State, province or region.",
            example="NY",
            section="Where",
            rank=4,
        ),
    ]
    postcode: Annotated[
        FilledText,
        field(
            title="Postcode",
            help="Postal or ZIP code.",
            example="10001",
            section="Where",
            rank=4,
            kind="postcode",
            masking="personal",
            aliases=("postalcode", "zip", "zipcode"),
        ),
    ]
    country: Annotated[
        Country,
        field(
            title="Country",
            help="Two-letter country code.",
            example="US",
            section="Where",
            rank=3,
            lookup="countries",
        ),
    ]
    source_of_funds: Annotated[
        Text | None,
        field(
            title="Source of funds",
            help="Where its money comes from.",
            example="Business revenue from software services",
            section="Compliance",
            applies_to="business",
        ),
    ] = None
    business_activity: Annotated[
        Text | None,
        field(
            title="Business activity",
            help="What it does, in a few words.",
            example="Software development and consulting",
            section="Compliance",
            applies_to="business",
        ),
    ] = None


class BankDetails(RequestModel):
    """A bank account to pay out to (specification 2.1): the bank, its codes, the
    account, the account holder.

    The specification does not say which optional fields a currency and its rails need:
    the service decides, and `check_bank_details` warns about what is published. Values
    are sent as typed.

    Raises:
        pydantic.ValidationError: A field is missing, unknown, or breaks the
            specification. `create_payment_detail` takes the fields themselves, too, and
            raises InvalidInput in its place.

    Example:
        >>> details = BankDetails(**details)
        >>> details.bank_name, details.account_number
        ('Chase', AccountNumber('••••3489'))
    """

    basis = "specification 2.1"
    for_tables = "add_bank_details()"

    bank_name: Annotated[
        FilledText,
        field(
            title="Bank name",
            help="As the bank spells it.",
            example="Chase",
            section="Bank",
            kind="name",
            aliases=("bank",),
        ),
    ]
    account_name: Annotated[
        FilledText,
        field(
            title="Name on the account",
            help="As the bank has it.",
            example="Gordon's Chase Business Account",
            section="Account holder",
            kind="name",
            masking="holder",
            aliases=("accountholder", "holder"),
        ),
    ]
    beneficiary_type: Annotated[
        BeneficiaryType,
        field(
            title="Holder type",
            help="A person or a company.",
            example="business",
            section="Account holder",
            rank=0,
            option_titles=("Individual: a person", "Business: a company"),
            aliases=("type",),
        ),
    ]
    currency: Annotated[
        CurrencyCode,
        field(
            title="Currency",
            help="ISO 4217 code, three letters; sent as typed.",
            example="usd",
            section="Account",
            lookup="fiat",
            aliases=("ccy",),
        ),
    ]
    rails: Annotated[
        Rails | None,
        field(
            title="How the money travels (rails)",
            help="If missing, local.",
            example="local",
            section="Account",
            option_titles=(
                "Local: domestic, such as ACH or SEPA",
                "SWIFT: international",
                "Wire: domestic, in US dollars",
            ),
        ),
    ] = None
    account_type: Annotated[
        AccountType | None,
        field(
            title="Account type",
            help="For US accounts and some others, such as Brazilian ones.",
            example="checking",
            section="Account",
            option_titles=("Checking or current account", "Savings account"),
        ),
    ] = None
    account_number: Annotated[
        AccountNumber | None,
        field(
            title="Account number",
            help="Keep leading zeros.",
            example="253009233489",
            section="Account",
            kind="digits",
            identifies="account",
            aliases=("accountno",),
        ),
    ] = None
    routing_number: Annotated[
        AccountNumber | None,
        field(
            title="Routing number",
            help="US: nine digits; keep leading zeros.",
            example="026013356",
            section="Account",
            kind="digits",
            identifies="bank",
        ),
    ] = None
    iban: Annotated[
        AccountNumber | None,
        field(
            title="IBAN",
            help="For countries that use IBANs.",
            example="DE89370400440532013000",
            section="Account",
            kind="number",
            identifies="account",
        ),
    ] = None
    swift_bic: Annotated[
        Text | None,
        field(
            title="SWIFT/BIC",
            help="8 or 11 characters.",
            example="DEUTDEFF",
            section="Bank",
            kind="code",
            identifies="bank",
            aliases=("bic", "swift"),
        ),
    ] = None
    sort_code: Annotated[
        Text | None,
        field(
            title="Sort code",
            help="For the United Kingdom.",
            example="200000",
            section="Bank",
            kind="digits",
            identifies="bank",
        ),
    ] = None
    bsb_number: Annotated[
        Text | None,
        field(
            title="BSB number",
            help="For Australia.",
            example="062-000",
            section="Bank",
            kind="digits",
            identifies="bank",
        ),
    ] = None
    ncc: Annotated[
        Text | None,
        field(
            title="NCC number",
            help="For New Zealand.",
            example="021000",
            section="Bank",
            kind="digits",
            identifies="bank",
        ),
    ] = None
    ifsc: Annotated[
        Text | None,
        field(
            title="IFSC",
            help="For India.",
            example="HDFC0000001",
            section="Bank",
            kind="code",
            identifies="bank",
        ),
    ] = None
    rib_number: Annotated[
        AccountNumber | None,
        field(
            title="RIB number",
            help="For France.",
            example="20041010050500013M02606",
            section="Account",
            kind="number",
            identifies="account",
        ),
    ] = None
    bank_code: Annotated[
        Text | None,
        field(
            title="Bank code",
            help="For countries that number banks.",
            example="001",
            section="Bank",
            kind="code",
            identifies="bank",
        ),
    ] = None
    branch_code: Annotated[
        Text | None,
        field(
            title="Branch code",
            help="For countries that number branches.",
            example="00011",
            section="Bank",
            kind="code",
            identifies="bank",
        ),
    ] = None
    date_of_birth: Annotated[
        Day,
        field(
            title="Date of birth",
            help="Of the holder: year, month and day.",
            example="1985-12-12",
            section="Account holder",
            masking="personal",
            business_title="Date of incorporation",
            business_help="The day on which the company was registered.",
            business_example="2015-03-02",
            aliases=("birthdate", "birthday", "dob"),
        ),
    ]
    document_type: Annotated[
        Text | None,
        field(
            title="Document type",
            help="Kind of identity document.",
            example="passport",
            section="Account holder",
        ),
    ] = None
    document_number: Annotated[
        Hidden | None,
        field(
            title="Document number",
            help="Number of the identity document.",
            example="X0000000",
            section="Account holder",
            kind="number",
        ),
    ] = None
    address_line1: Annotated[
        FilledText,
        field(
            title="Address",
            help="Street address of the holder.",
            example="24 Theatre St.",
            section="Account holder",
            rank=4,
            masking="personal",
            aliases=("street",),
        ),
    ]
    address_line2: Annotated[
        Text | None,
        field(
            title="Address, line 2",
            help="Flat, floor, suite.",
            example="Suite 200",
            section="Account holder",
            rank=4,
            masking="personal",
        ),
    ] = None
    city: Annotated[
        FilledText,
        field(
            title="City",
            help="Town or city.",
            example="Paramount",
            section="Account holder",
            rank=4,
        ),
    ]
    state: Annotated[
        Text | None,
        field(
            title="State",
            help="State or province code.",
            example="CA",
            section="Account holder",
            rank=4,
        ),
    ] = None
    postal_code: Annotated[
        FilledText,
        field(
            title="Postal code",
            help="Postal or ZIP code.",
            example="90723",
            section="Account holder",
            rank=4,
            kind="postcode",
            masking="personal",
            aliases=("postcode", "zip", "zipcode"),
        ),
    ]
    country: Annotated[
        Country,
        field(
            title="Country",
            help="Two-letter country code.",
            example="US",
            section="Account holder",
            rank=3,
            lookup="countries",
        ),
    ]


OrderAmount = Annotated[
    ExactAmount,
    field(
        title="Amount",
        help="In the invoice currency, as a decimal number.",
        example="10",
        section="Order",
    ),
]
InvoiceCurrency = Annotated[
    Text,
    field(
        title="Invoice currency",
        help="Currency id of the invoice; for an account, its own.",
        example="USD",
        section="Order",
        lookup="currencies",
    ),
]
TokenToPay = Annotated[
    Text,
    field(
        title="Payment currency",
        help="Currency id of the token that pays.",
        example="USDC-sepolia",
        section="Order",
        lookup="tokens",
    ),
]


class PaymentOrder(RequestModel):
    """A payment to initiate (specification 2.7): the payee's wallet, the amount, its
    currency, the token that pays.

    The amount may be text, an int or a Decimal, and is sent as text.

    Raises:
        pydantic.ValidationError: A field is missing or unknown, or the amount is a
            float. `initiate_payment` takes the fields themselves, too, and raises
            InvalidInput in its place.

    Example:
        >>> order = PaymentOrder(**order)
        >>> order.amount, order.invoice_currency, order.payment_currency
        ('10', 'USD', 'ETH-sepolia-sepolia')
    """

    basis = "specification 2.7"

    payee: Annotated[
        Text,
        field(
            title="Payee",
            help="Wallet address that receives the payment.",
            example="0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
            section="Order",
        ),
    ]
    amount: OrderAmount
    invoice_currency: Annotated[
        Text,
        field(
            title="Invoice currency",
            help="Currency id of the invoice.",
            example="USD",
            section="Order",
            lookup="currencies",
        ),
    ]
    payment_currency: TokenToPay


OrderReference = Annotated[
    Reference | None,
    field(
        title="Your reference",
        help=(
            "An invoice number or the like, by which a paid request is found again; a"
            " unique one if left out."
        ),
        example="invoice-001",
        section="Order",
        applies_to="account",
    ),
]


class PayoutOrder(RequestModel):
    """A payment into a stored bank account, **beyond the specification**: amount,
    currency, the token that pays.

    The order names no `payee`: on the blockchain, the operator is paid, at an address
    of its own.

    Raises:
        pydantic.ValidationError: A field is missing or unknown, or the amount is a
            float. `create_request` takes the fields themselves, too, and raises
            InvalidInput in its place.

    Example:
        >>> order = PayoutOrder(
        ...     amount="25.50", invoice_currency="USD", payment_currency="USDC-sepolia"
        ... )
        >>> order.amount, order.payee
        ('25.50', None)
    """

    amount: OrderAmount
    invoice_currency: InvoiceCurrency
    payment_currency: TokenToPay
    reference: OrderReference = None

    @property
    def payee(self) -> None:
        """None: the order names a bank account, and not a wallet."""
        return


SHARED_FIELDS = {
    **{name: name for name in Payer.model_fields if name in BankDetails.model_fields},
    "postal_code": "postcode",
}
"""Fields of an account holder that a payer has, too, each with the payer's name of
it.
"""

ACCOUNT_NUMBERS = tuple(
    item.name
    for item in fields_of(BankDetails).values()
    if item.identifies == "account"
)
"""Fields that number an account."""

BANK_CODES = tuple(
    item.name for item in fields_of(BankDetails).values() if item.identifies == "bank"
)
"""Fields that say where an account is kept."""

SPECIFIED = (Payer, BankDetails, PaymentOrder)
"""The requests of the specification."""
