"""Models of what a user writes into a policy or an address book; each mistake is an
InvalidInput that names the table, the entry and the member.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    ValidationInfo,
)

from payerkit.errors import InvalidInput
from payerkit.payments.onchain.addresses import read_address
from payerkit.wording import visible

PERCENTAGES = ("rate_tolerance", "peg_tolerance", "batch_fee")
"""Members of a policy that are percentages and belong to no table."""

AT_THE_TOP = (
    f"{', '.join(PERCENTAGES)}, known_members, address_book stand at the top of the"
    " file."
)


class PolicyModel(BaseModel):
    """What a user agreed to. It cannot be changed; making it raises InvalidInput."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def __init__(self, **members: Any) -> None:
        try:
            super().__init__(**members)
        except ValidationError as error:
            problem = _problem(error, [*type(self).model_fields])
            raise InvalidInput(problem) from None


_MISPLACED = {"missing", "extra_forbidden"}
"""Types of errors about a member that is perhaps only in the wrong place."""


def _problem(error: ValidationError, known: list[str]) -> str:
    """Return the first problem; a member that is unknown or missing comes before one
    with a wrong value.
    """
    details = min(error.errors(), key=lambda each: each["type"] not in _MISPLACED)
    name = ""
    if details["loc"]:
        name = visible(str(details["loc"][0]))
    is_in_entry = len(details["loc"]) > 1
    if is_in_entry:
        name = f"[[{name}]] {int(details['loc'][1]) + 1}"
    match details["type"]:
        case "value_error" if is_in_entry:
            return f"{name}: {details['ctx']['error']}"
        case "value_error":  # one of payerkit, which names the member
            return str(details["ctx"]["error"])
        case "missing":
            return f"{name}: missing. Add it."
        case "extra_forbidden":
            return f"{name}: not a member. There are {', '.join(known)}; {AT_THE_TOP}"
        case "model_type":
            return f"{name}: expected a table of members."
        case "literal_error":
            words = details["ctx"]["expected"].replace("'", '"')
            return f"{name}: expected {words}."
        case "string_type":
            return f"{name}: expected text."
        case "tuple_type":
            return (
                f"{name}: expected a list. In a file, write [[{name}]] above the"
                " members of each entry."
            )
        case _:
            return f"{name}: {details['msg']}."


def _address(value: object, info: ValidationInfo) -> str:
    return read_address(value, str(info.field_name))


Address = Annotated[str, BeforeValidator(_address)]
"""An address, with its EIP-55 checksum."""
