"""Texts that are safe to show: numbers by their ends, names as initials, and what
others wrote without private values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal
from urllib.parse import quote, quote_plus

from payerkit.html import escape
from payerkit.wording import visible

MASK = "••••"
"""Stands in place of a masked value. It is never sent: it would replace the real
value.
"""

Masking = Literal["", "account", "hidden", "personal", "holder"]
"""What may be shown of a value.

"": all of it. "account": its last four characters. "hidden" and "personal": nothing; a
hidden value is masked by its type, too. "holder": the initials of a person, the name of
a business.
"""

_MAX_LENGTH = 500
"""Characters of a redacted text that a message shows."""


def mask_as(masking: Masking, value: Any, *, is_business: bool) -> Any:
    """Return what may be shown of a value that is masked in one of these ways."""
    if masking == "account":
        return mask_account(str(value))
    if not masking or (masking == "holder" and is_business):
        return value
    if masking == "holder":
        return mask_person(str(value))
    return MASK


def mask_account(number: str) -> str:
    """Return an account number's last four characters if it has eight or more: enough
    to tell accounts apart.
    """
    if not number:
        return ""
    if len(number) < 8:
        return MASK
    return MASK + number[-4:]


def mask_person(name: str) -> str:
    """Return a name as initials."""
    return " ".join(word[0] + MASK for word in name.split()) or MASK


def mask_text(text: str) -> str:
    """Return a text that others wrote, safe to show: without e-mail addresses and long
    numbers, in one visible line.

    Names of people cannot be distinguished from other words, so they stay.
    """
    shown = visible(" ".join(_PRIVATE.sub(MASK, text[: 2 * _MAX_LENGTH]).split()))
    return _shortened(shown)


def _shortened(text: str) -> str:
    if len(text) <= _MAX_LENGTH:
        return text
    return text[:_MAX_LENGTH] + "…"


_WORD = r"[^\s@<>(),;:=/\"']"
_EMAIL = rf"(?<!{_WORD}){_WORD}+(?:@|%(?:25)*40){_WORD}+"
"""An e-mail address, percent-encoded or not."""

_PRIVATE = re.compile(
    _EMAIL + r"|[A-Z]{2}[0-9]{2}(?:[ -]?[0-9A-Z]){8,}"  # an IBAN, however it is grouped
    # a number of six digits or more, however it is grouped
    r"|[0-9](?:[ .-]?[0-9]){5,}"
)
"""The parts of a text that are masked."""


def holds_email(text: str) -> bool:
    """Return True if an id or a link contains an e-mail address, percent-encoded or
    not.
    """
    return "@" in text or ("%" in text and re.search("%(25)*40", text) is not None)


def redact(text: str, private: Iterable[str]) -> str:
    """Return a text that others wrote, safe to show: private values masked, invisible
    characters escaped, shortened.

    A value is found as it was sent, percent-encoded, as HTML, and with other separators
    or none. What looks like an e-mail address, or like the number of an account or of a
    person, is masked, too: a service may repeat what another call sent.
    """
    text = text[: 10 * _MAX_LENGTH]
    for value in sorted(private, key=len, reverse=True):
        once = quote(value, safe="")
        for form in dict.fromkeys(
            (value, once, quote(once, safe=""), quote_plus(value), escape(value))
        ):
            if _may_hold(text, form):
                text = re.sub(_pattern(form), MASK, text, flags=re.IGNORECASE)
    text = visible(_OF_OTHER_CALLS.sub(MASK, text))
    return _shortened(text)


_OF_OTHER_CALLS = re.compile(
    _EMAIL + r"|(?<![\w.-])(?:"
    r"[A-Z]{2}[0-9]{2}(?: ?[0-9A-Z]){11,30}"  # an IBAN
    r"|[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}"  # a social security number
    # an account, or the number of a person, also in groups; no count of small units
    r"|(?=[0-9](?: ?[0-9]){7})[0-9]{2,}(?: [0-9]{2,})*"
    r"(?! (?:wei|units?|base units|bytes|ms|seconds)\b)"
    r")(?![\w-]|\.\w)"
)
"""E-mail addresses, and numbers of accounts and of people: whole words, so that parts
of ids, hashes and decimal numbers stay.
"""

_SEPARATORS = r"\s.,/_\u2010-\u2015-"
_PREFIX = 100
"""Characters by which a long value is found. The text may be cut off inside it, so all
that follows is masked, too.
"""


def _bare(text: str) -> str:
    """Return a text without separators."""
    return re.sub(f"[{_SEPARATORS}]", "", text)


def _may_hold(text: str, value: str) -> bool:
    """Return False if a text does not have a value in it, whatever separators are in
    either. Most do not, and the pattern of a value takes long to compile.
    """
    first = re.escape(_bare(value).removeprefix("+")[:_PREFIX])
    return re.search(first, _bare(text), re.IGNORECASE) is not None


def _pattern(value: str) -> str:
    """Return the regular expression that finds a value in a text."""
    if not value:
        return "(?!)"
    if len(value) < 5:
        # A short value is masked only as a whole word: "1" is no reason to mask every 1
        # of a message.
        return rf"(?<!\w){re.escape(value)}(?!\w)"
    # A phone number may stand there without its plus.
    bare = _bare(value).removeprefix("+")
    if not bare:
        return re.escape(value)
    letters = [re.escape(letter) for letter in bare[:_PREFIX]]
    pattern = f"[{_SEPARATORS}]*".join(letters)
    if len(bare) > _PREFIX:
        pattern += r"[\s\S]*"
    return pattern
