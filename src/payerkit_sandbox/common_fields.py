"""The fields of paths and bodies that several calls have."""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import unquote

from fastapi import Path, Query
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from payerkit.payments.onchain.addresses import address_problem

# The limit refuses nothing, but makes pydantic decode the text: a plain `str` lets
# unpaired surrogates pass.
AnyText = Annotated[str, Field(min_length=0)]
NonEmptyText = Annotated[str, Field(min_length=1)]
# The documentation names no limit, but servers limit the length of a path. No control
# characters: some databases cannot store all of them.
_NO_CONTROL = r"^[^\x00-\x1f\x7f-\x9f]+$"
AnyId = Annotated[str, Field(min_length=1, max_length=256, pattern=_NO_CONTROL)]
OwnReference = Annotated[str, Field(min_length=1, max_length=255, pattern=_NO_CONTROL)]
CountryCode = Annotated[str, Field(min_length=2, max_length=2)]
Date = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Beneficiary = Literal["individual", "business"]

# Decoded only here: routes are matched on the path as it was sent, so that an id with a
# slash is one segment.
PathId = Annotated[AnyId, BeforeValidator(unquote)]
ClientUserId = Annotated[PathId, Path(alias="clientUserId")]
RequestPathId = Annotated[PathId, Path(alias="requestId")]

After = Annotated[int, Query(ge=0, le=2**53 - 1)]
"""A number of an entry or an event: at most what every JSON parser reads exactly."""


_AMOUNT = r"^[0-9]{1,78}(\.[0-9]{1,78})?$"
"""[0-9] and not \\d, which also matches the digits of other scripts. 78 digits hold 256
bits.
"""


def _check_amount(amount: str) -> str:
    if not re.fullmatch(_AMOUNT, amount):
        raise PydanticCustomError("amount_format", "must be a decimal, such as 10.50")
    return amount


Amount = Annotated[
    AnyText,
    AfterValidator(_check_amount),
    Field(json_schema_extra={"pattern": _AMOUNT}),
]


def _check_address(address: str) -> str:
    if address_problem(address) == "address_malformed":
        raise PydanticCustomError(
            "address_format", "must be an address: 0x and 40 hex digits"
        )
    return address


# The checksum matters only to an address that receives something.
Address = Annotated[
    NonEmptyText,
    AfterValidator(_check_address),
    Field(json_schema_extra={"pattern": "^0x[0-9a-fA-F]{40}$"}),
]


class EmptyRequest(TypedDict):
    """Nothing; a call that changes something has a body in JSON."""
