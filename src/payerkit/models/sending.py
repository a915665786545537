"""What all sent objects share: they are taken in any form, checked as a whole, and explained in words."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, Secret, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from payerkit.errors import FieldProblem, InvalidInput
from payerkit.masking import MASK
from payerkit.models.base import Wire
from payerkit.models.words import describe, explain, find_field, is_blank


class Sent(Wire):
    """Base of what is sent. Unknown members are refused: a dropped typo would lose data."""

    model_config = ConfigDict(extra="forbid")

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
        cls.__doc__ = f"{inspect.cleandoc(cls.__doc__ or '')}\n\nFields, * for a required one:\n{describe(cls)}"

    @model_validator(mode="wrap")
    @classmethod
    def _explain(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        problems = _masked_members(data)
        try:
            made = handler(data)
        except ValidationError as error:
            problems += [_in_plain_words(cls, detail) for detail in error.errors(include_url=False)]
        if problems:
            raise ValidationError.from_exception_data(cls.__name__, problems, hide_input=True)
        return made

    @classmethod
    def of(cls, given: Any, fields: dict[str, Any]) -> Self:
        """Return the object that a caller gave: as one, as a dict with our names or wire names, or as fields.

        Blank cells of a table (None, NaN, NA) count as not given. Raises InvalidInput, with every member at fault.
        """
        if isinstance(given, cls) and not fields:
            return given
        if given is None:
            return cls._checked(fields)
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
            return cls.model_validate({name: None if is_blank(value) else value for name, value in values.items()})
        except ValidationError as error:
            fields = tuple(_field_error(cls, detail) for detail in error.errors(include_input=False))
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


def _true(value: Any) -> Any:
    return value.get_secret_value() if isinstance(value, Secret) else value


def _masked_members(data: Any) -> list[InitErrorDetails]:
    """Return a problem for each member that was copied from where it is shown masked: it would be sent as it is."""
    words = {"words": "A masked value, copied from where it is shown. Give the true one, or take it with reveal=True."}
    kind = PydanticCustomError("masked", "{words}", words)
    members = data.items() if isinstance(data, Mapping) else ()
    return [
        InitErrorDetails(type=kind, loc=(str(name),), input=None)
        for name, value in members
        if MASK in str(_true(value))
    ]


def _in_plain_words(model: type[BaseModel], detail: ErrorDetails) -> InitErrorDetails:
    words = explain(model, detail)
    kind = PydanticCustomError(detail["type"], "{words}", {"words": words})
    return InitErrorDetails(type=kind, loc=detail["loc"], input=None)


def _field_error(model: type[BaseModel], detail: ErrorDetails) -> FieldProblem:
    location = str(detail["loc"][0]) if detail["loc"] else ""
    name, field = find_field(model, location) or (location, None)
    return FieldProblem(name, (field.alias if field else None) or location, detail["msg"], detail["type"])
