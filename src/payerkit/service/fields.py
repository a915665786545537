"""The fields of paths and bodies that several calls have."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import unquote

from fastapi import Path
from pydantic import BeforeValidator, Field

# The limit refuses nothing, but makes pydantic decode the text: a plain `str` lets unpaired surrogates pass.
AnyText = Annotated[str, Field(min_length=0)]
NonEmptyText = Annotated[str, Field(min_length=1)]
# The documentation names no limit, but servers limit the length of a path.
Id = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
CountryCode = Annotated[str, Field(min_length=2, max_length=2)]
Date = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
Beneficiary = Literal["individual", "business"]

# Decoded only here: routes are matched on the path as it was sent, so that an id with a slash is one segment.
PathId = Annotated[Id, BeforeValidator(unquote)]
ClientUserId = Annotated[PathId, Path(alias="clientUserId")]
RequestPathId = Annotated[PathId, Path(alias="requestId")]
