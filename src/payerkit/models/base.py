"""What all models are: frozen, by two names, masked wherever they are shown; and what
all requests are: as strict as the specification, never stricter.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from inspect import cleandoc
from typing import Any, ClassVar, Self

from pydantic import (
    AliasChoices,
    AliasGenerator,
    BaseModel,
    ConfigDict,
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
from payerkit.cells import unwrap_secret
from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.findings import Finding
from payerkit.models.fields import RequestField, fields_of, finding_of, names_of
from payerkit.models.names import by_field_name
from payerkit.redaction import MASK, holds_email, mask_as
from payerkit.wire import wire_name
from payerkit.wording import attention


def _wire_name_first(name: str) -> AliasChoices:
    """Return the names of a field: a service writes the one on the wire, so that what
    it has under ours is another member beside that.
    """
    return AliasChoices(wire_name(name), name)


class ApiModel(BaseModel):
    """Base of all models: snake_case here, camelCase on the wire, frozen, no values in
    pydantic's errors.

    Every representation may be saved in a notebook, so it masks secrets and leaves out
    personal data.
    """

    model_config = ConfigDict(
        alias_generator=AliasGenerator(
            validation_alias=_wire_name_first, serialization_alias=wire_name
        ),
        frozen=True,
        hide_input_in_errors=True,
    )

    def present_fields(self) -> Iterator[tuple[str, FieldInfo, Any]]:
        """Yield name, definition and value of every field that has a value."""
        for name, info in type(self).model_fields.items():
            # A debugger may show an object before `__init__` is done.
            value = getattr(self, name, None)
            if value is not None:
                yield name, info, value

    def __iter__(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]  # pydantic's own is a generator, too
        """Yield names and masked values, as `dict()` and `DataFrame()` ask for them."""
        for name, _, value in self.present_fields():
            yield name, self.masked(name, value)

    def masked(self, name: str, value: Any) -> Any:
        """Return what may be shown of a field's value."""
        raise NotImplementedError

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise AttributeError(
                f"{type(self).__name__} is immutable; create a new one with the other"
                " value."
            )
        super().__setattr__(name, value)

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        for name, info, value in self.present_fields():
            is_shown = isinstance(value, Secret) or self.masked(name, value) == value
            if info.repr and is_shown:
                yield name, value

    def rows(self) -> list[tuple[str, str]]:
        """Return the titles and values of a table; the values are HTML."""
        return [
            (info.title or name, self._cell(name, value))
            for name, info, value in self.present_fields()
        ]

    def _repr_html_(self) -> str:
        return html.picture(html.table(self.rows(), caption=self._caption()))

    def _caption(self) -> str:
        """Return the heading of the table: the name of the class in words."""
        first, *rest = re.findall("[A-Z][a-z]*", type(self).__name__)
        return " ".join([first, *(word.lower() for word in rest)])

    def _cell(self, name: str, value: Any) -> str:
        if value is True:
            return "yes"
        if value is False:
            return "no"
        if isinstance(value, Secret):
            return html.escape(value)
        return html.escape(self.masked(name, value))


class RequestModel(ApiModel):
    """Base of what requests send. Unknown fields are refused: to drop a misspelled one
    would lose data.
    """

    model_config = ConfigDict(extra="forbid")

    basis: ClassVar[str] = "operator's documentation"
    for_tables: ClassVar[str] = "a loop over its rows"

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Add the fields to the docstring, for `help` and `?`."""
        lines = _help_of(fields_of(cls).values())
        cls.__doc__ = f"{cleandoc(cls.__doc__ or '')}\n\nFields (* required):\n{lines}"

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Validate the values by our names. An error says of each field what to do."""
        if not isinstance(data, Mapping):
            return handler(data)
        given, misnamed = by_field_name(cls, data)
        values = {name: value for name, value in given.items() if value is not None}
        findings = []
        try:
            made = handler(values)
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                name = names_of(cls)[detail["loc"][0]]
                findings.append(finding_of(cls, name, detail))
        findings += misnamed
        if not findings:
            return made
        raise ValidationError.from_exception_data(
            cls.__name__, [_error_detail(each) for each in findings], hide_input=True
        )

    def masked(self, name: str, value: Any) -> Any:
        """Return what may be shown of a field's value."""
        described = fields_of(type(self))[name]
        if value is None or value == "" or isinstance(value, Secret):
            return value
        if described.kind in {"id", "reference"} and holds_email(value):
            return MASK
        is_business = getattr(self, "beneficiary_type", None) == "business"
        return mask_as(described.masking, value, is_business=is_business)

    @model_serializer(mode="wrap")
    def _dump(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Dump masked values; only `to_dict(reveal=True)` returns the real ones."""
        dumped: dict[str, Any] = handler(self)
        ours = names_of(type(self))
        return {name: self.masked(ours[name], value) for name, value in dumped.items()}

    @classmethod
    def of(cls, given: Any, fields: dict[str, Any]) -> Self:
        """Return a caller's input as an object: an object, a dict or row by our names
        or wire names, or keywords.

        Empty cells of a table (None, NaN, NA) count as missing. Raises InvalidInput
        that lists every invalid field.
        """
        if isinstance(given, cls) and not fields:
            return given
        if given is None and fields:
            return cls._checked(fields)
        name = cls.__name__
        if given is None:
            raise InvalidInput(
                f"Give a {name}, a dict or row, or fields by name: help({name}) has"
                " them. Nothing was sent."
            )
        if (
            not fields and hasattr(given, "keys") and not hasattr(given, "columns")
        ):  # a dict, or a row of a DataFrame
            return cls._checked(dict(given))
        message = (
            f"Expected either a {name}, a dict or row, or keyword fields; got"
            f" {kind_of(given)}"
        )
        if fields:
            message += f" and also the keywords {', '.join(sorted(fields))}"
        message += ". Nothing was sent."
        if hasattr(given, "columns") or isinstance(given, list):
            message += f" For a table, use {cls.for_tables}."
        raise InvalidInput(message)

    @classmethod
    def _checked(cls, values: Mapping[Any, Any]) -> Self:
        for name, value in values.items():
            if not isinstance(value, str) and isinstance(value, Mapping | ApiModel):
                raise InvalidInput(
                    f"Pass the {cls.__name__} as a positional argument, without"
                    f" {name}=. Nothing was sent."
                )
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            fields = tuple(
                detail["ctx"]["finding"] for detail in error.errors(include_input=False)
            )
        raise InvalidInput(
            f"{cls.__name__}: {attention(fields)} Nothing was sent.", fields=fields
        )

    @without_internal_frames
    def replace(self, **changes: Any) -> Self:
        """Return a copy with some values changed, by our names. Raises InvalidInput
        that lists every invalid field.
        """
        return self._checked(
            {name: value for name, _, value in self.present_fields()} | changes
        )

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return the fields that have a value, by wire name.

        Unless `reveal=True`, secrets and personal data are masked, and the dict cannot
        be sent.
        """
        values = {}
        for name, _, value in self.present_fields():
            if reveal is True:
                shown = unwrap_secret(value)
            elif isinstance(value, Secret):
                shown = str(value)
            else:
                shown = self.masked(name, value)
            values[wire_name(name)] = shown
        return values

    def private_values(self) -> tuple[str, ...]:
        """Return the real values of all masked fields, to redact them in messages."""
        shown = self.to_dict()
        return tuple(
            value
            for name, value in self.to_dict(reveal=True).items()
            if value and shown[name] != value
        )


def _help_of(fields: Collection[RequestField]) -> str:
    """Return one line per field: its name, * if required, its title, help and
    example.
    """
    names = [f"{item.name}{'*' * item.required}" for item in fields]
    width = max(len(name) for name in names)
    return "\n".join(
        f"    {name:<{width}}  {item.title}. {item.full_help} Example: {item.example}"
        for name, item in zip(names, fields, strict=True)
    )


def _error_detail(finding: Finding) -> InitErrorDetails:
    """Return a finding as a detail of pydantic's error: its code, message and itself,
    without the value.
    """
    message = f"{finding.message} {finding.hint}".rstrip()
    kind = PydanticCustomError(
        finding.code, "{message}", {"message": message, "finding": finding}
    )
    return InitErrorDetails(type=kind, loc=(finding.field,), input=None)
