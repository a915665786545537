"""What all objects share, and what all sent objects share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    Secret,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from payerkit import html
from payerkit.errors import FieldError, InvalidInput
from payerkit.masking import MASK, is_email
from payerkit.models.words import explain, find_field
from payerkit.names import wire_name


class Wire(BaseModel):
    """Base of all objects: snake_case here, camelCase on the wire, frozen, no values in pydantic's errors.

    Representations may be saved in a notebook: they show secrets masked and leave out what tells about a person.
    """

    model_config = ConfigDict(
        alias_generator=wire_name,
        validate_by_name=True,
        validate_by_alias=True,
        frozen=True,
        defer_build=True,
        hide_input_in_errors=True,
    )

    def members(self) -> Iterator[tuple[str, FieldInfo, Any]]:
        """Yield name, definition and value of every member that has a value."""
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if value is not None:
                yield name, field, value

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        for name, field, value in self.members():
            if field.repr and not _tells_about_a_person(name, field, value):
                yield name, value

    def rows(self) -> list[tuple[str, str]]:
        """Return titles and values as a table shows them; the values are HTML."""
        return [(field.title or name, self._cell(name, field, value)) for name, field, value in self.members()]

    def _repr_html_(self) -> str:
        return html.table(self.rows(), caption=type(self).__name__)

    def _cell(self, name: str, field: FieldInfo, value: Any) -> str:
        if _tells_about_a_person(name, field, value):
            return MASK
        return {True: "yes", False: "no"}[value] if isinstance(value, bool) else html.escape(value)


def is_personal(field: FieldInfo) -> bool:
    """Tell whether a field's values tell about a person."""
    extra = field.json_schema_extra
    return isinstance(extra, dict) and bool(extra.get("personal"))


def _tells_about_a_person(name: str, field: FieldInfo, value: Any) -> bool:
    return is_personal(field) or (name == "client_user_id" and is_email(value))


class Sent(Wire):
    """Base of what is sent. Unknown members are refused: a dropped typo would lose data."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as error:
            details = [_in_plain_words(cls, detail) for detail in error.errors(include_url=False)]
            raise ValidationError.from_exception_data(cls.__name__, details, hide_input=True) from None

    @classmethod
    def of(cls, given: Self | Mapping[str, Any] | None, fields: dict[str, Any]) -> Self:
        """Return the object that a caller gave: as one, as a dict with our names or wire names, or as fields.

        `fields` is emptied, so that no secret stays in the caller's frame. Raises InvalidInput, with every
        member at fault.
        """
        values = dict(fields)
        fields.clear()
        if given is None or (isinstance(given, cls | Mapping) and not values):
            return given if isinstance(given, cls) else cls._checked(values if given is None else dict(given))
        also = f" and also {', '.join(sorted(values))}" if values else ""
        raise InvalidInput(
            f"Give a {cls.__name__}, a dict or keyword fields, and only one of them; "
            f"got a {type(given).__name__}{also}."
        )

    @classmethod
    def _checked(cls, values: dict[Any, Any]) -> Self:
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            fields = tuple(_field_error(cls, detail) for detail in error.errors(include_input=False))
        count = "1 field needs" if len(fields) == 1 else f"{len(fields)} fields need"
        raise InvalidInput(f"{cls.__name__}: {count} attention. Nothing was sent.", fields=fields)

    def to_dict(self, *, reveal: bool = False) -> dict[str, Any]:
        """Return what is sent: wire names, absent members left out, secrets masked unless revealed."""
        return {field.alias or name: _plain(value, reveal=reveal) for name, field, value in self.members()}

    def secret_values(self) -> tuple[str, ...]:
        """Return the true values of the secrets, so that a message can be kept free of them."""
        return tuple(value.get_secret_value() for _, _, value in self.members() if isinstance(value, Secret))


def _plain(value: Any, *, reveal: bool) -> Any:
    if isinstance(value, Secret):
        return value.get_secret_value() if reveal else str(value)
    return value


def _in_plain_words(model: type[BaseModel], detail: ErrorDetails) -> InitErrorDetails:
    words = explain(model, detail)
    kind = PydanticCustomError(detail["type"], "{words}", {"words": words})
    return InitErrorDetails(type=kind, loc=detail["loc"], input=None)


def _field_error(model: type[BaseModel], detail: ErrorDetails) -> FieldError:
    location = str(detail["loc"][0]) if detail["loc"] else ""
    name, field = find_field(model, location) or (location, None)
    return FieldError(name, (field.alias if field else None) or location, detail["msg"], detail["type"])
