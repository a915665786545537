"""The types of members: text as typed, secrets that mask themselves, and what a form needs to know of a field."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, Secret

from payerkit.masking import MASK, mask_account

EMAIL = r"^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$"
"""local@label.tld and nothing stricter: the service checks the rest."""

PHONE = r"^\+?[1-9][0-9]{1,14}$"
"""E.164 as the service publishes it: the plus is optional on the wire."""

DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
"""The written form only; whether the calendar has the day is for a finding to say."""


Text = Annotated[str, Field(min_length=0)]
"""Text as typed. The bound refuses nothing but lone surrogates, which no answer could ever show again."""

Filled = Annotated[str, Field(min_length=1)]


class Hidden(Secret[Text]):
    """A value that no repr, frame or log shows; `.get_secret_value()` gives it."""

    def _display(self) -> str:
        return MASK if self.get_secret_value() else ""


class SocialSecurityNumber(Secret[Filled]):
    """A hidden value that may not be empty. No part is shown: the last digits alone are used to pass for a person."""

    def _display(self) -> str:
        return MASK


class AccountNumber(Secret[Text]):
    """An account number of any kind: shown by its last four characters if it has eight or more."""

    def _display(self) -> str:
        return mask_account(self.get_secret_value())


def about(title: str, note: str, example: str, *, hint: str = "", **bounds: Any) -> Any:
    """Return what is known of a field: its label, a line of help, a published example, its bounds.

    hint: what to do when a bound is broken.
    """
    return Field(title=title, description=note, examples=[example], json_schema_extra={"hint": hint}, **bounds)
