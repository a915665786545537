"""What a response says in members that nobody documents: whether a person has to look
at it.
"""

from __future__ import annotations

import re
from datetime import datetime
from string import punctuation

from payerkit.masking import mask
from payerkit.models.whole_response import Member
from payerkit.wire import read_time
from payerkit.wording import shown

_OVER = (
    "already|archived|blacklist|blocked|cancel|chargeback|closed|compromis|declined"
    "|deleted|denied|disabled|disput|duplicate|executed|expir|failed|fraud|frozen"
    "|fulfil|hacked|lapsed|obsolete|outdated|overdue|paid|paymentcomplete|phish"
    "|redeemed|refund|reject|replaced|revoked|sanction|scam|settled|spent|stale"
    "|supersede|suspend|suspicious|terminated|void|withdrawn"
)
"""What says that a request should not be paid, or not again."""

_LIVE = (
    "accepted|active|allowed|approved|authoris|authoriz|current|eligible|enabled|live"
    "|open|outstanding|payable|pending|safe|trusted|valid|verified"
)
"""What says that it may be."""

_CLAIM = re.compile(
    rf"(?P<no>nolonger|not|non|un|in)?(?:(?P<over>{_OVER})|(?P<live>{_LIVE}))"
)
"""What the plain name of a member claims, if it is yes or no."""

_ALARM = re.compile(
    rf"(?<![a-z])(?:{_OVER}|beware|caution|do not|don.t|instead|stop|warning|wrong)"
)
"""What a text says in small letters, as a state or in a sentence."""

_YES = (True, "true", "yes", "on")
_NO = (False, "false", "no", "off")

_WHEN = re.compile(r"expir|until|valid|deadline|time|date|ttl|before|end|at$|by$|on$")
"""Plain names of members whose number may be a time."""

_EXPIRY = re.compile(r"expir|until|valid|deadline|ttl|remaining|left")
"""Plain names of members whose number may say how long something holds."""

_DATE = re.compile(r"\d{4}[/.]\d{1,2}[/.]\d{1,2}|\d{1,2}[/.]\d{1,2}[/.]\d{4}")
"""A date that programs read differently."""

_LEAST_TIME = 10**9
"""Numbers below it are no times: seconds since 1970, of 2001."""

_HEX = re.compile("[0-9a-fA-F]+")

_SENTENCE = 4
"""Words from which on a text is a sentence."""

_LAST_SPACED = 0x2E7F
"""Letters behind it are of scripts without blanks between words, such as Chinese."""

_MOST_VALUE = 60
"""Characters of a value that a finding shows."""


def what_is_said(member: Member, now: datetime) -> str:
    """Return what a member says, such as "quoteExpiry is 2020-01-01", if a person has
    to look at it; "" for any other.

    That is a time that is past, yes or no where the name makes it matter, a word for a
    state, a date or a sentence.
    """
    name = member.plain
    value = member.value
    is_said = (
        _claims(name, value)
        or _is_past(name, value, now)
        or (isinstance(value, str) and is_alarming(value))
        or (isinstance(value, str) and _is_sentence(value))
    )
    if not is_said:
        return ""
    text = str(mask(member.name, value))
    if isinstance(value, bool):
        text = text.lower()
    return f"{shown(member.path)} is {shown(text, _MOST_VALUE)}"


def is_alarming(text: str) -> bool:
    """Return True for a text with a word that may forbid to pay."""
    return _ALARM.search(text.lower()) is not None


def _claims(name: str, value: object) -> bool:
    """Return True if a yes or no says by its name that something should not be paid."""
    answer = value.strip().lower() if isinstance(value, str) else value
    claim = _CLAIM.search(name)
    if claim is None or not isinstance(answer, str | bool):
        return False
    is_over = bool(claim["over"]) != bool(claim["no"])
    return answer in (_YES if is_over else _NO)


def _is_past(name: str, value: object, now: datetime) -> bool:
    """Return True for a time before now, and for none that is left."""
    if isinstance(value, str) and _DATE.match(value):
        return True
    number = value
    if isinstance(value, str) and value.isdecimal() and len(value) < 15:
        number = int(value)
    if isinstance(number, int | float) and not isinstance(number, bool):
        if number <= 0:
            return _EXPIRY.search(name) is not None
        if number < _LEAST_TIME or not _WHEN.search(name):
            return False
    moment = read_time(number, milliseconds=True)
    return moment is not None and moment < now


def _is_sentence(text: str) -> bool:
    """Return True for several words; of scripts without blanks, for several letters."""
    words = [word for word in text.split() if _is_word(word)]
    letters = [char for char in text if char.isalpha() and ord(char) > _LAST_SPACED]
    return len(words) >= _SENTENCE or len(letters) >= _SENTENCE


def _is_word(text: str) -> bool:
    """Return True for letters, perhaps with punctuation around, that are no hex."""
    letters = text.strip(punctuation)
    return len(letters) > 1 and letters.isalpha() and not _HEX.fullmatch(letters)
