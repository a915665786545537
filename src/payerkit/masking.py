"""Masking: of fields by their wire names, and of texts that others wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, quote_plus

from payerkit.checks.schema import MASK, SCHEMAS, Masking
from payerkit.html import escape
from payerkit.wire import wire_name
from payerkit.wording import visible

_MASKING = {wire_name(name): field.masking for schema in SCHEMAS.values() for name, field in schema.fields.items()}
"""How a field is masked, by its wire name; it is the same in all schemas, and in responses."""

_PERSONAL_OBJECTS = {"customerInfo", "rawPayload"}
"""Objects in responses and events that are masked as a whole: what others put into them is not known."""

_TEXTS = {"failureReason", "note", "rejectionMessage"}
"""Texts in words, which may repeat personal data."""

_CHOSEN = {"clientUserId", "reference"}
"""Ids that users choose, so that they may be e-mail addresses."""

_MAX_LENGTH = 500
"""Characters of a redacted text that a message shows."""


def masking_of(name: str) -> Masking:
    """Return how a field is masked, by any spelling of its name; "" for a field that no schema has."""
    return _MASKING.get(wire_name(name), "")


def mask(name: str, value: Any, *, is_business: bool = False) -> Any:
    """Return what may be shown of a field's value, masking everything inside it; the value itself if that is all.

    An account holder is shown if it is a business, else as initials. An id, a reference or a link is hidden if it
    contains an e-mail address. Any spelling of a name is accepted.
    """
    name, masking = wire_name(name), masking_of(name)
    is_private_object = isinstance(value, dict) and (masking or name in _TEXTS)  # whatever its members are called
    if isinstance(value, dict | list | str) and value and (name in _PERSONAL_OBJECTS or is_private_object):
        return MASK
    if isinstance(value, dict):
        holder = value.get("beneficiaryType", value.get("beneficiary_type"))
        return {inner: mask(inner, item, is_business=holder == "business") for inner, item in value.items()}
    if isinstance(value, list):
        return [mask(name, item, is_business=is_business) for item in value]
    if value is None or value == "" or hasattr(value, "get_secret_value"):  # empty, or masked by its type
        return value
    if name in _TEXTS:
        return mask_text(str(value))
    if masking == "account":
        return mask_account(str(value))
    if masking == "holder":
        return value if is_business else mask_name(str(value))
    is_email = (name in _CHOSEN or name.endswith("Url")) and holds_email(str(value))
    return MASK if masking or is_email else value


def mask_account(number: str) -> str:
    """Return an account number's last four characters if it has eight or more: enough to tell accounts apart."""
    return MASK + number[-4:] if len(number) >= 8 else MASK * bool(number)


def mask_name(name: str) -> str:
    """Return a name as initials."""
    return " ".join(word[0] + MASK for word in name.split()) or MASK


def mask_text(text: str) -> str:
    """Return a text that others wrote, safe to show: without e-mail addresses and long numbers, in one visible line.

    Names of people cannot be distinguished from other words, so they stay.
    """
    shown = visible(" ".join(_PRIVATE.sub(MASK, text[: 2 * _MAX_LENGTH]).split()))
    return shown if len(shown) <= _MAX_LENGTH else shown[:_MAX_LENGTH] + "…"


_PRIVATE = re.compile(
    r"[^\s@<>(),;:\"']+@[^\s@<>(),;:\"']+"  # an e-mail address
    r"|[A-Z]{2}[0-9]{2}(?:[ -]?[0-9A-Z]){8,}"  # an IBAN, however it is grouped
    r"|[0-9](?:[ .-]?[0-9]){5,}"  # a number of six digits or more, however it is grouped
)
"""The parts of a text that are masked."""


def holds_email(text: str) -> bool:
    """Return True if an id or a link contains an e-mail address, percent-encoded or not."""
    return "@" in text or ("%" in text and re.search("%(25)*40", text) is not None)


def redact(text: str, private: Iterable[str]) -> str:
    """Return a text that others wrote, safe to show: private values masked, invisible characters escaped, shortened.

    A value is found as it was sent, percent-encoded, as HTML, and with other separators or none.
    """
    text = text[: 10 * _MAX_LENGTH]
    for value in sorted(private, key=len, reverse=True):
        once = quote(value, safe="")
        for form in dict.fromkeys((value, once, quote(once, safe=""), quote_plus(value), escape(value))):
            text = re.sub(_pattern(form), MASK, text, flags=re.IGNORECASE)
    text = visible(text)
    return text if len(text) <= _MAX_LENGTH else text[:_MAX_LENGTH] + "…"


_SEPARATORS = r"\s.,/_\u2010-\u2015-"
_PREFIX = 100
"""Characters by which a long value is found. The text may be cut off inside it, so all that follows is masked, too."""


def _pattern(value: str) -> str:
    """Return the regular expression that finds a value in a text."""
    if len(value) < 5:
        # A short value is masked only as a whole word: "1" is no reason to mask every 1 of a message.
        return rf"(?<!\w){re.escape(value)}(?!\w)" if value else "(?!)"
    bare = re.sub(f"[{_SEPARATORS}]", "", value).removeprefix("+")  # nor with the plus of a phone number
    rest = r"[\s\S]*" if len(bare) > _PREFIX else ""
    return f"[{_SEPARATORS}]*".join(map(re.escape, bare[:_PREFIX])) + rest if bare else re.escape(value)
