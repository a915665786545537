"""The objects in requests: a payer, bank details, orders; as strict as the specification, never stricter.

And what all models are: frozen, by two names, masked wherever they are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from inspect import Parameter, Signature, cleandoc
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    Secret,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, PydanticCustomError

from payerkit import html
from payerkit.checks.inputs import by_field_name, field_errors, unwrap_secret
from payerkit.checks.schema import BANK_DETAILS, MASK, PAYER, PAYMENT_ORDER, PAYOUT_ORDER, Schema
from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.findings import Finding
from payerkit.masking import mask, mask_account
from payerkit.wire import wire_name

Text = Annotated[str, Field(min_length=0)]
"""Text as typed. With a bound, however low, pydantic refuses unpaired surrogates, which no output could encode."""


class Hidden(Secret[Text]):
    """A value that no repr, frame or log shows; `.get_secret_value()` returns it."""

    def _display(self) -> str:
        return MASK if self.get_secret_value() else ""


class AccountNumber(Secret[Text]):
    """An account number of any kind: shown by its last four characters if it has eight or more."""

    def _display(self) -> str:
        return mask_account(self.get_secret_value())


_INNER = {"masked", "odd", "of", "origin", "present_fields", "private_values"}
_INNER |= {"read", "read_fields", "rows", "unwrap", "whole"}
"""Members of models that only payerkit itself uses, so that Tab leaves them out."""


class ApiModel(BaseModel):
    """Base of all models: snake_case here, camelCase on the wire, frozen, no values in pydantic's errors.

    Every representation may be saved in a notebook, so it masks secrets and leaves out personal data.
    """

    model_config = ConfigDict(
        alias_generator=wire_name,
        validate_by_name=True,
        validate_by_alias=True,
        frozen=True,
        hide_input_in_errors=True,
    )

    def __dir__(self) -> list[str]:
        """Return what a user needs, as Tab shows it: fields, and what payerkit's classes add to them."""
        own = {name for base in type(self).__mro__ if issubclass(base, ApiModel) for name in vars(base)}
        names = own - _INNER | type(self).model_fields.keys()
        return sorted(name for name in names if not name.startswith(("_", "model_")))

    def present_fields(self) -> Iterator[tuple[str, FieldInfo, Any]]:
        """Yield name, definition and value of every field that has a value."""
        for name, field in type(self).model_fields.items():
            value = getattr(self, name, None)  # None also if shown before __init__ is done
            if value is not None:
                yield name, field, value

    def __iter__(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]  # pydantic's own is a generator, too
        """Yield names and masked values, as `dict()` and `DataFrame()` ask for them."""
        for name, _, value in self.present_fields():
            yield name, self.masked(name, value)

    def masked(self, name: str, value: Any) -> Any:
        """Return what may be shown of a field's value."""
        is_business = getattr(self, "beneficiary_type", None) == "business"
        return mask(wire_name(name), value, is_business=is_business)

    @model_serializer(mode="wrap")
    def _dump(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Dump masked values; only `to_dict(reveal=True)` returns the real ones."""
        return dict(mask("", handler(self)))

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} is immutable; create a new one with the other value.")
        super().__setattr__(name, value)

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        for name, field, value in self.present_fields():
            if field.repr and (isinstance(value, Secret) or self.masked(name, value) == value):
                yield name, value

    def rows(self) -> list[tuple[str, str]]:
        """Return the titles and values of a table; the values are HTML."""
        return [(field.title or name, self._cell(name, value)) for name, field, value in self.present_fields()]

    def _repr_html_(self) -> str:
        return html.picture(html.table(self.rows(), caption=self._caption()))

    def _caption(self) -> str:
        """Return the heading of the table: the name of the class in words."""
        first, *rest = re.findall("[A-Z][a-z]*", type(self).__name__)
        return " ".join([first, *map(str.lower, rest)])

    def _cell(self, name: str, value: Any) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        return html.escape(value if isinstance(value, Secret) else self.masked(name, value))


class RequestModel(ApiModel):
    """Base of what requests send. Unknown fields are refused: to drop a misspelled one would lose data.

    A field is an annotation here and a row in `checks/fields.tsv`, which has its title, help, example and format.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)  # built once, when the fields are described

    request_schema: ClassVar[Schema]
    for_tables: ClassVar[str] = "a loop over its rows"

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Describe the fields from the schema: for templates, and for `help`, `?` and completion."""
        for name, field in cls.model_fields.items():
            row = cls.request_schema.fields[name]
            field.title, field.description, field.examples = row.title, row.full_help, [row.example]
        cls.model_rebuild(force=True)
        parameters = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=Parameter.empty if field.is_required() else None)
            for name, field in cls.model_fields.items()
        ]
        cls.__signature__ = Signature(parameters)
        cls.__doc__ = f"{cleandoc(cls.__doc__ or '')}\n\nFields (* required):\n{_describe(cls.request_schema)}"

    if not TYPE_CHECKING:  # for type checkers, the fields are the parameters

        def __init__(self, /, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                problem = error.with_traceback(None)  # pydantic's frame has the values, secrets too
            else:
                return
            values = {}
            raise problem

        __init__.__pydantic_base_init__ = True  # pydantic validates a dict without calling it, which is faster

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(data, Mapping):
            return handler(data)
        values, misnamed = by_field_name(cls.request_schema, data)
        if errors := field_errors(cls.request_schema, values) + misnamed:
            details = [_error_detail(finding) for finding in errors]
            raise ValidationError.from_exception_data(cls.__name__, details, hide_input=True)
        return handler(values)

    @classmethod
    def of(cls, given: Any, fields: dict[str, Any]) -> Self:
        """Return a caller's input as an object: an object, a dict or row by our names or wire names, or keywords.

        Empty cells of a table (None, NaN, NA) count as missing. Raises InvalidInput that lists every invalid field.
        """
        if isinstance(given, cls) and not fields:
            return given
        if given is None and fields:
            return cls._checked(fields)
        name = cls.__name__
        if given is None:
            raise InvalidInput(
                f"Give a {name}, a dict or row, or fields by name: help({name}) has them. Nothing was sent."
            )
        if not fields and hasattr(given, "keys") and not hasattr(given, "columns"):  # a dict, or a row of a DataFrame
            return cls._checked(dict(given))
        also = f" and also the keywords {', '.join(sorted(fields))}" if fields else ""
        advice = f" For a table, use {cls.for_tables}." if hasattr(given, "columns") or isinstance(given, list) else ""
        raise InvalidInput(
            f"Expected either a {name}, a dict or row, or keyword fields; "
            f"got {kind_of(given)}{also}. Nothing was sent.{advice}"
        )

    @classmethod
    def _checked(cls, values: Mapping[Any, Any]) -> Self:
        for name, value in values.items():
            if not isinstance(value, str) and isinstance(value, Mapping | ApiModel):
                raise InvalidInput(
                    f"Pass the {cls.__name__} as a positional argument, without {name}=. Nothing was sent."
                )
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            fields = tuple(detail["ctx"]["finding"] for detail in error.errors(include_input=False))
        count = "1 field needs" if len(fields) == 1 else f"{len(fields)} fields need"
        raise InvalidInput(f"{cls.__name__}: {count} attention. Nothing was sent.", fields=fields)

    @without_internal_frames
    def replace(self, **changes: Any) -> Self:
        """Return a copy with some values changed, by our names. Raises InvalidInput that lists every invalid field."""
        return self._checked({name: value for name, _, value in self.present_fields()} | changes)

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return the fields that have a value, by wire name.

        Unless `reveal=True`, secrets and personal data are masked, and the dict cannot be sent.
        """
        values = {}
        for name, field, value in self.present_fields():
            if reveal is True:
                values[field.alias or name] = unwrap_secret(value)
            else:
                values[field.alias or name] = str(value) if isinstance(value, Secret) else self.masked(name, value)
        return values

    def private_values(self) -> tuple[str, ...]:
        """Return the real values of all masked fields, to redact them in messages."""
        shown = self.to_dict()
        return tuple(value for name, value in self.to_dict(reveal=True).items() if value and shown[name] != value)


def _describe(schema: Schema) -> str:
    """Return one line per field: its name, * if required, its title, help and example."""
    width = max(map(len, schema.fields)) + 1
    return "\n".join(
        f"    {name + '*' * field.required:<{width}}  {field.title}. {field.full_help} Example: {field.example}"
        for name, field in schema.fields.items()
    )


def _error_detail(finding: Finding) -> InitErrorDetails:
    """Return a finding as a detail of pydantic's error: its code, message and itself, without the value."""
    message = f"{finding.message} {finding.hint}".rstrip()
    kind = PydanticCustomError(finding.code, "{message}", {"message": message, "finding": finding})
    return InitErrorDetails(type=kind, loc=(finding.field,), input=None)


BeneficiaryType = Literal["individual", "business"]
Rails = Literal["local", "swift", "wire"]
AccountType = Literal["checking", "savings"]


class Payer(RequestModel):
    """The compliance data of a payer (specification 2.4): who pays, where they live, how they are identified.

    Values are sent as typed; optional fields without a value are not sent.

    Raises:
        pydantic.ValidationError: A field is missing, unknown, or breaks the specification. `create_payer` takes the
            fields themselves, too, and raises InvalidInput in its place.

    Example:
        >>> payer = Payer(**payer)
        >>> payer.country, payer.ssn
        ('US', Hidden('••••'))
        >>> payer.replace(city="Albany").to_dict(reveal=True)["city"]
        'Albany'
    """

    request_schema = PAYER
    for_tables = "onboard()"

    client_user_id: Text
    email: Text
    first_name: Text
    last_name: Text
    beneficiary_type: BeneficiaryType
    company_name: Text | None = None
    date_of_birth: Text
    nationality: Text
    phone: Text
    ssn: Hidden
    address_line1: Text
    address_line2: Text | None = None
    city: Text
    state: Text
    postcode: Text
    country: Text
    source_of_funds: Text | None = None
    business_activity: Text | None = None


class BankDetails(RequestModel):
    """A bank account to pay out to (specification 2.1): the bank, its codes, the account, the account holder.

    The specification does not say which optional fields a currency and its rails need: the service decides, and
    `check_bank_details` warns about what is published. Values are sent as typed.

    Raises:
        pydantic.ValidationError: A field is missing, unknown, or breaks the specification. `create_payment_detail`
            takes the fields themselves, too, and raises InvalidInput in its place.

    Example:
        >>> details = BankDetails(**details)
        >>> details.bank_name, details.account_number
        ('Chase', AccountNumber('••••3489'))
    """

    request_schema = BANK_DETAILS
    for_tables = "add_bank_details()"

    bank_name: Text
    account_name: Text
    beneficiary_type: BeneficiaryType
    currency: Text
    rails: Rails | None = None
    account_type: AccountType | None = None
    account_number: AccountNumber | None = None
    routing_number: AccountNumber | None = None
    iban: AccountNumber | None = None
    swift_bic: Text | None = None
    sort_code: Text | None = None
    bsb_number: Text | None = None
    ncc: Text | None = None
    ifsc: Text | None = None
    rib_number: AccountNumber | None = None
    bank_code: Text | None = None
    branch_code: Text | None = None
    date_of_birth: Text
    document_type: Text | None = None
    document_number: Hidden | None = None
    address_line1: Text
    address_line2: Text | None = None
    city: Text
    state: Text | None = None
    postal_code: Text
    country: Text


def _amount_as_text(value: Any) -> Any:
    """Write integers and decimals out in full; text stays as typed, and a float is refused, since it is not exact."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    return value


ExactAmount = Annotated[Text, BeforeValidator(_amount_as_text)]


class PaymentOrder(RequestModel):
    """A payment to initiate (specification 2.7): the payee's wallet, the amount, its currency, the token that pays.

    The amount may be text, an int or a Decimal, and is sent as text.

    Raises:
        pydantic.ValidationError: A field is missing or unknown, or the amount is a float. `initiate_payment` takes the
            fields themselves, too, and raises InvalidInput in its place.

    Example:
        >>> order = PaymentOrder(**order)
        >>> order.amount, order.invoice_currency, order.payment_currency
        ('10', 'USD', 'ETH-sepolia-sepolia')
    """

    request_schema = PAYMENT_ORDER

    payee: Text
    amount: ExactAmount
    invoice_currency: Text
    payment_currency: Text


class PayoutOrder(RequestModel):
    """A payment into a stored bank account, **beyond the specification**: amount, currency, the token that pays.

    The order names no `payee`: on the blockchain, the operator is paid, at an address of its own.

    Raises:
        pydantic.ValidationError: A field is missing or unknown, or the amount is a float. `create_request` takes the
            fields themselves, too, and raises InvalidInput in its place.

    Example:
        >>> order = PayoutOrder(amount="25.50", invoice_currency="USD", payment_currency="USDC-sepolia")
        >>> order.amount, order.payee
        ('25.50', None)
    """

    request_schema = PAYOUT_ORDER

    amount: ExactAmount
    invoice_currency: Text
    payment_currency: Text
    reference: Text | None = None

    @property
    def payee(self) -> None:
        """None: the order names a bank account, and not a wallet."""
        return
