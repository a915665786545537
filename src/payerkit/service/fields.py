"""The fields of paths and bodies that several calls have."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import Path
from pydantic import BeforeValidator, Field

# The limit refuses nothing, but makes pydantic decode the text: a plain `str` lets unpaired surrogates pass.
AnyText = Annotated[str, Field(min_length=0)]
NonEmptyText = Annotated[str, Field(min_length=1)]
# The documentation names no limit, but servers limit the length of a path.
Id = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
CountryCode = Annotated[str, Field(min_length=2, max_length=2)]
Date = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", examples=["1985-12-12"])]
Beneficiary = Literal["individual", "business"]


def _shown(kind: Any, *, pattern: str, examples: list[str] | None = None) -> Any:
    """Return a type with a pattern for readers of the document only: the rules check what is sent."""
    return Annotated[kind, Field(json_schema_extra={"pattern": pattern}, examples=examples)]


Address = _shown(NonEmptyText, pattern="^0x[0-9a-fA-F]{40}$", examples=["0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"])
Amount = _shown(AnyText, pattern=r"^[0-9]{1,78}(\.[0-9]{1,78})?$", examples=["10"])
Hex = _shown(str, pattern="^0x([0-9a-f]{2})+$")
RequestId = _shown(str, pattern="^01[0-9a-f]{64}$")
PaymentReference = _shown(str, pattern="^0x[0-9a-f]{16}$")
TransactionHash = _shown(str, pattern="^0x[0-9a-f]{64}$")
Uuid = Annotated[str, Field(json_schema_extra={"format": "uuid"})]
Url = Annotated[str, Field(json_schema_extra={"format": "uri"})]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-01T00:02:00Z"])]

# Decoded only here: routes are matched on the path as it was sent, so that an id with a slash is one segment.
PathId = Annotated[Id, BeforeValidator(unquote)]
ClientUserId = Annotated[
    PathId,
    Path(
        alias="clientUserId",
        description="The platform's own id of the payer, percent-encoded as a whole.",
        examples=["user-123"],
    ),
]
RequestPathId = Annotated[PathId, Path(alias="requestId", description="The id of the request.")]
