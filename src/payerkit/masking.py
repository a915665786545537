"""Secrets that show themselves masked, and texts that are kept free of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Never

from payerkit.html import visible

MASK = "••••"

_SHOWN = 500
"""Characters of a foreign text that a message shows."""


def mask_account(number: str) -> str:
    """Return what may be shown of an account number: enough to tell accounts apart, not to pay to them."""
    return MASK + number[-4:] if len(number) >= 8 else MASK * bool(number)


def is_email(client_user_id: str) -> bool:
    """Tell whether an id is an e-mail address, as platforms often choose; then it is not shown either."""
    return "@" in client_user_id


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


def clean(text: str, secrets: Iterable[str]) -> str:
    """Return a foreign text that may be shown: without the secrets, without hidden characters, not too long.

    A secret is found as it was sent, and also with its blanks and dashes left out.
    """
    forms = {form for secret in secrets for form in (secret, _bare(secret)) if form}
    for form in sorted(forms, key=len, reverse=True):
        # A short secret is masked where it stands alone: "1" is no reason to mask every 1 of a message.
        pattern = re.escape(form) if len(form) >= 5 else rf"(?<!\w){re.escape(form)}(?!\w)"
        text = re.sub(pattern, MASK, text, flags=re.IGNORECASE)
    text = visible(text)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _bare(secret: str) -> str:
    return re.sub(r"[\s-]", "", secret)
