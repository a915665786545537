"""The types of fields: text as typed, and secrets that mask themselves."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, Secret

from payerkit.checks.schema import MASK
from payerkit.masking import mask_account

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
