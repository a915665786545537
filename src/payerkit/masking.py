"""Masking of values by the names of their fields, in requests, responses and events."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from payerkit.models.fields import fields_of
from payerkit.models.requests import BankDetails, Payer, PaymentOrder, PayoutOrder
from payerkit.redaction import MASK, Masking, holds_email, mask_as, mask_text
from payerkit.wire import wire_name

_PERSONAL_OBJECTS = {"customerInfo", "rawPayload"}
"""Objects in responses and events that are masked as a whole: what others put into them
is not known.
"""

_TEXTS = {"failureReason", "note", "rejectionMessage"}
"""Texts in words, which may repeat personal data."""

_CHOSEN = {"clientUserId", "reference"}
"""Ids that users choose, so that they may be e-mail addresses."""


def masking_of(name: str) -> Masking:
    """Return how a field is masked, by any spelling of its name; "" for a field that no
    request has.
    """
    return _masked_fields().get(wire_name(name), "")


@cache
def _masked_fields() -> Mapping[str, Masking]:
    """Return how a field is masked, by its wire name; it is the same in all requests,
    and in responses.
    """
    masked: dict[str, Masking] = {}
    for model in (Payer, BankDetails, PaymentOrder, PayoutOrder):
        for field in fields_of(model).values():
            masked[field.wire_name] = field.masking
    return masked


def mask(name: str, value: Any, *, is_business: bool = False) -> Any:
    """Return what may be shown of a field's value, masking everything inside it; the
    value itself if that is all.

    An account holder is shown if it is a business, else as initials. An id, a reference
    or a link is hidden if it contains an e-mail address. Any spelling of a name is
    accepted.
    """
    masking = masking_of(name)
    name = wire_name(name)
    if name in _PERSONAL_OBJECTS and value and isinstance(value, dict | list | str):
        return MASK
    if isinstance(value, dict):
        if value and (masking or name in _TEXTS):  # whatever its members are called
            return MASK
        holder = value.get("beneficiaryType", value.get("beneficiary_type"))
        return {
            inner: mask(inner, item, is_business=holder == "business")
            for inner, item in value.items()
        }
    if isinstance(value, list):
        return [mask(name, item, is_business=is_business) for item in value]
    if value is None or value == "":
        return value
    if hasattr(value, "get_secret_value"):
        return value  # masked by its type
    if name in _TEXTS:
        return mask_text(str(value))
    if (name in _CHOSEN or name.endswith("Url")) and holds_email(str(value)):
        return MASK
    return mask_as(masking, value, is_business=is_business)
