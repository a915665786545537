"""What all sent objects share: they are taken in any form, checked as a whole, and explained in words."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, Secret, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from payerkit.checks.reading import faults, true_value
from payerkit.checks.specification import Body
from payerkit.errors import InvalidInput
from payerkit.findings import Finding
from payerkit.models.base import Wire


class Sent(Wire):
    """Base of what is sent. Unknown members are refused: a dropped typo would lose data."""

    model_config = ConfigDict(extra="forbid")

    specified: ClassVar[Body]
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
        return handler({name: true_value(value) for name, value in data.items()})

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
