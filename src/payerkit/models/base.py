"""The base of all models, and the types of their fields: text as typed, and secrets that mask themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, Secret, SerializerFunctionWrapHandler, model_serializer
from pydantic.fields import FieldInfo

from payerkit import html
from payerkit.checks.schema import MASK
from payerkit.masking import mask, mask_account
from payerkit.wire import wire_name

Text = Annotated[str, Field(min_length=0)]
"""Text as typed. With a bound, however low, pydantic refuses unpaired surrogates, which no output could encode."""


class Hidden(Secret[Text]):
    """A value that no repr, frame or log shows; `.get_secret_value()` returns it."""

    def _display(self) -> str:
        return MASK if self.get_secret_value() else ""


class SocialSecurityNumber(Secret[Text]):
    """A hidden value. No part is shown: the last digits alone are used to pass for a person."""

    def _display(self) -> str:
        return MASK


class AccountNumber(Secret[Text]):
    """An account number of any kind: shown by its last four characters if it has eight or more."""

    def _display(self) -> str:
        return mask_account(self.get_secret_value())


_INNER = {"masked", "odd", "of", "origin", "present_fields", "private_values"}
_INNER |= {"read", "read_fields", "rows", "unwrap", "whole"}
"""What models offer to other parts of payerkit alone."""


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
