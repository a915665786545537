"""The types of the fields: what a text may be, and the message for one that is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from numbers import Number
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import GetCoreSchemaHandler, Secret
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from payerkit.redaction import MASK, Masking, mask_account
from payerkit.wire import id_problem
from payerkit.wording import listed

FieldKind = Literal[
    "text",
    "name",
    "id",
    "chosen",
    "email",
    "phone",
    "day",
    "country",
    "currency",
    "choice",
    "amount",
    "reference",
    "digits",
    "number",
    "code",
    "postcode",
]
"""What a field holds.

digits: a number that people write with digits alone. number: one that may have letters,
such as an IBAN. code: of a bank or a branch. chosen: an id, one of some that are found
while a form is filled in.
"""

NUMBER_KINDS: frozenset[FieldKind] = frozenset({"digits", "number", "code", "postcode"})
"""Kinds of numbers and codes, of which each character counts."""

GOT_A_NUMBER = "Expected text, got a number."
"""The message about a number, which may have lost digits."""

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, repr=False)
class Format:
    """What a text may be, as a part of its type: `pattern` matches the whole of it.

    read: makes a text of other values that are taken, too. code, message, hint: for a
    text that does not match. if_missing: a hint for a value that is not given. meant:
    returns what a wrong text means, if that is known. also: returns the code and the
    message for a text that matches and cannot be sent all the same. options: the only
    texts that match, if they are few.
    """

    kind: FieldKind = "text"
    read: Callable[[Any], Any] | None = None
    pattern: str = ".*"
    code: str = ""
    message: str = ""
    hint: str = ""
    if_missing: str = ""
    meant: Callable[[str], str | None] | None = None
    also: Callable[[str], tuple[str, str] | None] | None = None
    options: tuple[str, ...] = ()

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.DOTALL)

    def __repr__(self) -> str:
        return f"<{self.kind}>"

    def matches(self, text: str) -> bool:
        """Return True if the whole text is of this format."""
        return self._pattern.fullmatch(text) is not None

    def check(self, value: Any) -> Any:
        """Return a value of this format as text. Raises PydanticCustomError for any
        other.
        """
        if self.read:
            value = self.read(value)
        if not isinstance(value, str):
            raise self._not_text(value)
        if value.isascii() and self.matches(value) and self.also is None:
            return value  # the usual case; masks and surrogates are not ASCII
        if MASK in value:
            raise _problem(
                "masked",
                "A masked value, copied from a display.",
                "Give the real value, as from to_dict(reveal=True).",
            )
        if _SURROGATE.search(value):
            raise _problem(
                "half_character", "Contains an unpaired surrogate (invalid Unicode)."
            )
        if not self.matches(value):
            raise self._mismatch(value)
        if self.also is not None:
            problem = self.also(value)
            if problem is not None:
                raise _problem(*problem)
        return value

    def _mismatch(self, text: str) -> PydanticCustomError:
        if not text:
            return _problem("empty", "Empty, but required.")
        if self.matches(text.strip()):
            return _problem(self.code, "Begins or ends with whitespace.", "Remove it.")
        if self.meant is not None:
            meant = self.meant(text)
            if meant is not None:
                return _problem(self.code, self.message, f"Write {meant}.")
        return _problem(self.code, self.message, self.hint)

    def _not_text(self, value: Any) -> PydanticCustomError:
        if isinstance(value, Number) and not isinstance(value, bool):
            hint = f"Put it in quotes, with all its digits. {self.hint}".rstrip()
            return _problem("not_text", GOT_A_NUMBER, hint)
        if hasattr(value, "strftime"):
            return _problem(
                "not_text",
                "Expected text, got a date.",
                'In a table, use column.dt.strftime("%Y-%m-%d").',
            )
        return _problem("not_text", "Expected text.", self.hint)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(
            self.check, handler(source)
        )


def _problem(code: str, message: str, hint: str = "") -> PydanticCustomError:
    return PydanticCustomError(code, "{message}", {"message": message, "hint": hint})


def _choice_of(literal: Any) -> Format:
    """Return the format of a text that is one of the words of a `Literal`."""
    words = get_args(literal)
    return Format(
        kind="choice",
        pattern="|".join(words),
        code="choice",
        message=f"Expected {listed(words, 'or')}.",
        options=words,
    )


def _code_of_country(text: str) -> str | None:
    """Return the code of a country by its name or by a usual code."""
    from payerkit.checks.places import country_code  # noqa: PLC0415 - loaded for a wrong text alone

    return country_code(text)


def _amount_as_text(value: Any) -> Any:
    """Write integers and decimals out in full; text stays as typed, and a float is
    refused, since it is not exact.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    return value


TEXT = Format()
FILLED = Format(pattern=".+", code="empty", message="Empty, but required.")
EMAIL = Format(
    kind="email",
    pattern=r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+",
    code="email_form",
    message="Not an e-mail address.",
    hint="Write it as name@example.com.",
)
PHONE = Format(
    kind="phone",
    pattern=r"\+?[1-9][0-9]{1,14}",
    code="phone_form",
    message="Not a phone number in international format.",
    hint="Write it as +12125551234: country code, digits only, + instead of 00.",
)
DAY = Format(
    kind="day",
    pattern="[0-9]{4}-[0-9]{2}-[0-9]{2}",
    code="date_form",
    message="Not in the format YYYY-MM-DD.",
    hint="Write it as 1985-12-31: year, month, day.",
)
COUNTRY = Format(
    kind="country",
    pattern="..",
    code="country_length",
    message="Not two letters.",
    hint="Write the ISO 3166-1 alpha-2 code, such as US.",
    if_missing=(
        "If it is NA (Namibia): pandas reads that as missing, unless with"
        ' keep_default_na=False, na_values=[""].'
    ),
    meant=_code_of_country,
)
CURRENCY = Format(
    kind="currency",
    pattern="...",
    code="currency_length",
    message="Not three letters.",
    hint="Write the ISO 4217 code, such as USD.",
)
AMOUNT = Format(
    kind="amount",
    read=_amount_as_text,
    # Whoever reads "1,000.50" or "1 000" as a number may take 1: so what groups digits
    # is refused here.
    pattern=r"(?!.*[0-9]\s+[0-9])[^,'\u2019_]*",
    code="amount_form",
    message="Not a plain decimal number.",
    hint=(
        'Write it as text, such as "1234.56": digits and a decimal point, without'
        " separators."
    ),
)
REFERENCE = Format(
    kind="reference",
    pattern=".{1,255}",
    code="reference_length",
    message="Not 1 to 255 characters.",
    hint="Shorten it.",
)
ID = Format(
    kind="id",
    pattern=".+",
    code="empty",
    message="Empty, but required.",
    also=id_problem,
)


CHOSEN_ID = replace(ID, kind="chosen")


Text = Annotated[str, TEXT]
"""Text as typed."""

FilledText = Annotated[str, FILLED]
Id = Annotated[str, ID]
"""An id that becomes part of a path."""

ChosenId = Annotated[str, CHOSEN_ID]
"""An id, one of some that are found while a form is filled in."""

Email = Annotated[str, EMAIL]
Phone = Annotated[str, PHONE]
Day = Annotated[str, DAY]
Country = Annotated[str, COUNTRY]
CurrencyCode = Annotated[str, CURRENCY]
Reference = Annotated[str, REFERENCE]
ExactAmount = Annotated[str, AMOUNT]

_Holder = Literal["individual", "business"]
BeneficiaryType = Annotated[_Holder, _choice_of(_Holder)]
_Rails = Literal["local", "swift", "wire"]
Rails = Annotated[_Rails, _choice_of(_Rails)]
_Account = Literal["checking", "savings"]
_Way = Literal["wallet", "account"]
WayOfPayment = Annotated[_Way, _choice_of(_Way)]
AccountType = Annotated[_Account, _choice_of(_Account)]

RAILS: tuple[str, ...] = get_args(_Rails)
"""The rails that the specification names, the usual ones first."""


class Hidden(Secret[Text]):
    """A value that no repr, frame or log shows; `.get_secret_value()` returns it."""

    masking: ClassVar[Masking] = "hidden"

    def _display(self) -> str:
        if not self.get_secret_value():
            return ""
        return MASK


class AccountNumber(Secret[Text]):
    """An account number of any kind: shown by its last four characters if it has eight
    or more.
    """

    masking: ClassVar[Masking] = "account"

    def _display(self) -> str:
        return mask_account(self.get_secret_value())
