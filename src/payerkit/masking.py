"""What may be shown: of members by their wire names, of keys, and of foreign texts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any, Never
from urllib.parse import quote, quote_plus

from payerkit.html import escape, visible
from payerkit.wire import wire_name

MASK = "••••"

ACCOUNTS = frozenset({"accountNumber", "routingNumber", "iban", "ribNumber"})
"""Members that show their last four characters."""

HIDDEN = frozenset({"ssn", "documentNumber"})
"""Members of which nothing is shown: the last digits alone are used to pass for a person."""

PERSONAL = frozenset(
    {"email", "phone", "firstName", "lastName", "dateOfBirth", "addressLine1", "addressLine2", "postcode", "postalCode"}
)
"""Members that tell about a person."""

_SHOWN = 500
"""Characters of a foreign text that a message shows."""


def mask(name: str, value: Any, *, is_business: bool = False) -> Any:
    """Return what may be shown of a member's value, or of everything inside it; the value itself if that is all.

    The holder of an account is shown if it is a business, else as initials; an id or a link is not shown if it
    holds an e-mail address. Any spelling of a name will do.
    """
    if isinstance(value, dict):
        holder = value.get("beneficiaryType", value.get("beneficiary_type"))
        return {inner: mask(inner, item, is_business=holder == "business") for inner, item in value.items()}
    if isinstance(value, list):
        return [mask(name, item, is_business=is_business) for item in value]
    if value is None or value == "" or hasattr(value, "get_secret_value"):  # nothing, or masked by its type
        return value
    return _mask_text(wire_name(name), value, is_business=is_business)


def _mask_text(name: str, value: Any, *, is_business: bool) -> Any:
    if name in ACCOUNTS:
        return mask_account(str(value))
    if name in HIDDEN | PERSONAL:
        return MASK
    if name == "accountName":
        return value if is_business else mask_name(str(value))
    is_email = (name == "clientUserId" or name.endswith("Url")) and holds_email(str(value))
    return MASK if is_email else value


def mask_account(number: str) -> str:
    """Return what may be shown of an account number: enough to tell accounts apart, not to pay to them."""
    return MASK + number[-4:] if len(number) >= 8 else MASK * bool(number)


def mask_name(name: str) -> str:
    """Return a person's name as initials."""
    return " ".join(word[0] + MASK for word in name.split()) or MASK


def holds_email(text: str) -> bool:
    """Tell whether an id or a link holds an e-mail address, as those of platforms often do."""
    return "@" in text or ("%" in text and re.search("%(25)*40", text) is not None)


class ApiKey:
    """An API key that can be used and not be seen: repr, str, vars and locals show a fingerprint, pickling fails."""

    __slots__ = ("_read",)

    def __init__(self, value: str) -> None:
        def read() -> str:
            return value

        self._read = read

    def reveal(self) -> str:
        """Return the key itself."""
        return self._read()

    @property
    def fingerprint(self) -> str:
        """Six hex digits that tell keys apart."""
        return hashlib.sha256(self.reveal().encode()).hexdigest()[:6]

    def __repr__(self) -> str:
        return f"<key {self.fingerprint}>"

    def __reduce__(self) -> Never:
        raise TypeError("an API key is not pickled: make a client of its own in each process")


def clean(text: str, private: Iterable[str]) -> str:
    """Return a foreign text that may be shown: without private values, without hidden characters, not too long.

    A value is found as it was sent, encoded for an address or for HTML, and with other separators or none.
    """
    text = text[: 10 * _SHOWN]
    for value in sorted(private, key=len, reverse=True):
        for form in dict.fromkeys((value, *_encoded(value))):
            text = re.sub(_pattern(form), MASK, text, flags=re.IGNORECASE)
    text = visible(text)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _encoded(value: str) -> tuple[str, ...]:
    once = quote(value, safe="")
    return once, quote(once, safe=""), quote_plus(value), escape(value)


_SEPARATORS = r"\s.,/_\u2010-\u2015-"
_BEGINNING = 100
"""Characters by which a long value is found; it may be cut off, so all that follows is masked, too."""


def _pattern(value: str) -> str:
    """Return what finds a value in a text."""
    if len(value) < 5:
        # A short value is masked where it stands alone: "1" is no reason to mask every 1 of a message.
        return rf"(?<!\w){re.escape(value)}(?!\w)" if value else "(?!)"
    bare = re.sub(f"[{_SEPARATORS}]", "", value).removeprefix("+")
    rest = r"[\s\S]*" if len(bare) > _BEGINNING else ""
    return f"[{_SEPARATORS}]*".join(map(re.escape, bare[:_BEGINNING])) + rest if bare else re.escape(value)
