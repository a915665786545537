"""What is sent: a payer, bank details, a payment order, with the specification's constraints and nothing stricter."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ModelWrapValidatorHandler,
    Secret,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from payerkit.checks import schema
from payerkit.checks.inputs import faults, unwrap_secret
from payerkit.checks.schema import Schema
from payerkit.errors import InvalidInput
from payerkit.findings import Finding
from payerkit.models.base import Wire
from payerkit.models.fields import AccountNumber, Hidden, SocialSecurityNumber, Text, about


class Sent(Wire):
    """Base of what is sent. Unknown members are refused: a dropped typo would lose data."""

    model_config = ConfigDict(extra="forbid")

    specified: ClassVar[Schema]
    """What the specification says of the members; the types here only repeat it for whoever reads and writes them."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Show the fields by our names where Python shows a class: `help`, `?`, completion."""
        parameters = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=inspect.Parameter.empty)
            if field.is_required()
            else inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
            for name, field in cls.model_fields.items()
        ]
        cls.__signature__ = inspect.Signature(parameters)
        cls.__doc__ = f"{inspect.cleandoc(cls.__doc__ or '')}\n\nFields, * for a required one:\n{_describe(cls)}"

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(data, Mapping):
            return handler(data)
        found = list(faults(cls.specified, data))
        if found:
            problems = [_problem(finding) for finding in found]
            raise ValidationError.from_exception_data(cls.__name__, problems, hide_input=True)
        return handler({name: unwrap_secret(value) for name, value in data.items()})

    @classmethod
    def of(cls, given: Any, fields: dict[str, Any]) -> Self:
        """Return the object that a caller gave: as one, as a dict with our names or wire names, or as fields.

        Blank cells of a table (None, NaN, NA) count as not given. Raises InvalidInput, with every member at fault.
        """
        if isinstance(given, cls) and not fields:
            return given
        if given is None:
            return cls._checked(fields)
        if hasattr(given, "columns"):
            raise InvalidInput(f"Give one {cls.__name__}, such as a row of the table. Nothing was sent.")
        if not fields and hasattr(given, "keys"):  # a dict, or a row of a DataFrame
            return cls._checked(dict(given))
        also = f" and also {', '.join(sorted(fields))}" if fields else ""
        raise InvalidInput(
            f"Give a {cls.__name__}, a dict or keyword fields, and only one of them; "
            f"got a {type(given).__name__}{also}. Nothing was sent."
        )

    @classmethod
    def _checked(cls, values: Mapping[Any, Any]) -> Self:
        for name, value in values.items():
            if isinstance(value, Mapping | Wire):
                raise InvalidInput(f"Give the {cls.__name__} without {name}= in front. Nothing was sent.")
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            fields = tuple(detail["ctx"]["finding"] for detail in error.errors(include_input=False))
        count = "1 field needs" if len(fields) == 1 else f"{len(fields)} fields need"
        raise InvalidInput(f"{cls.__name__}: {count} attention. Nothing was sent.", fields=fields)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other values, by our names. Raises InvalidInput, with every member at fault."""
        return self._checked({name: value for name, _, value in self.members()} | changes)

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return what is sent, by wire names, absent members left out.

        Unless revealed, secrets and what tells about a person are masked, and the dict cannot be sent.
        """
        return {
            field.alias or name: _true(value) if reveal is True else self._shown(name, value)
            for name, field, value in self.members()
        }

    def _shown(self, name: str, value: Any) -> Any:
        return str(value) if isinstance(value, Secret) else self.masked(name, value)

    def private_values(self) -> tuple[str, ...]:
        """Return the true values of what is not shown, so that a message can be kept free of them."""
        shown = self.to_dict()
        return tuple(value for name, value in self.to_dict(reveal=True).items() if value and shown[name] != value)


def _describe(model: type[BaseModel]) -> str:
    """Return a line a field: name, * if it is required, what it is, an example."""
    fields = model.model_fields.items()
    width = max((len(name) for name, _ in fields), default=0) + 1
    lines = []
    for name, field in fields:
        marked = f"{name}{'*' * field.is_required()}"
        example = f" Example: {field.examples[0]}" if field.examples else ""
        lines.append(f"    {marked:<{width}}  {field.title}. {field.description or ''}{example}")
    return "\n".join(lines)


def _true(value: Any) -> Any:
    return value.get_secret_value() if isinstance(value, Secret) else value


def _problem(finding: Finding) -> InitErrorDetails:
    """Return a finding as pydantic carries it: its code, its words, and itself; never the value."""
    words = f"{finding.message} {finding.hint}".rstrip()
    kind = PydanticCustomError(finding.code, "{words}", {"words": words, "finding": finding})
    return InitErrorDetails(type=kind, loc=(finding.field,), input=None)


BeneficiaryType = Literal["individual", "business"]
Rails = Literal["local", "swift", "wire"]
AccountType = Literal["checking", "savings"]


class Payer(Sent):
    """A payer's compliance data (specification 2.4): who pays, where they live, how they are identified.

    The optional members are left out of the request when they are not given.
    """

    specified = schema.PAYER

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

    specified = schema.BANK_DETAILS

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

    specified = schema.PAYMENT_ORDER

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
