"""The types of members: text as typed, secrets that mask themselves, and what a form needs to know of a field."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, Secret

from payerkit.masking import MASK, mask_account

Text = Annotated[str, Field(min_length=0)]
"""Text as typed. The bound refuses nothing but lone surrogates, which no answer could ever show again."""


class Hidden(Secret[Text]):
    """A value that no repr, frame or log shows; `.get_secret_value()` gives it."""

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


Section = Literal["Who", "Where", "Compliance", "Account", "Bank", "Beneficiary", "Order"]
"""Where a form puts a field; forms show their sections in this order."""

Lookup = Literal["", "countries", "fiat", "currencies"]
"""The table in which a form looks up what is typed: its codes are taken, and others, too."""


def about(title: str, note: str, example: str, section: Section, *, lookup: Lookup = "") -> Any:
    """Return what is known of a field: its label, a line of help, a published example, its place in a form."""
    return Field(
        title=title, description=note, examples=[example], json_schema_extra={"section": section, "lookup": lookup}
    )
