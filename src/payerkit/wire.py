"""Field names here and on the wire, ids that are safe in a path, keys, JSON, times,
loopback hosts.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache, partial
from numbers import Number
from typing import Any, Never

from payerkit.errors import FieldProblem, InvalidInput, kind_of


def our_name(name: str) -> str:
    """Return a field's name here, in snake_case: `address_line1` for `addressLine1`,
    `iban` for `IBAN`.
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@lru_cache(1024)
def wire_name(name: str) -> str:
    """Return a field's name on the wire, in camelCase, from any spelling:
    `addressLine1` for `address_line1`.
    """
    first, *rest = our_name(name).split("_")
    return first + "".join(word.capitalize() for word in rest)


def first(fields: Mapping[str, Any], *names: str) -> Any:
    """Return the first value under these names that is not None; None if all are
    missing.
    """
    return next((fields[name] for name in names if fields.get(name) is not None), None)


MAX_ID = 256
"""Characters of an id at most. The specification has no limit, but servers limit the
length of a path.
"""


def check_id(value: object, name: str) -> str:
    """Return an id that reaches the service exactly as typed; raise InvalidInput for
    any other. name: of the argument.

    Refused are: not text, empty, too long, control characters, unpaired surrogates, and
    `.` and `..`, which HTTP libraries and servers remove from a path even when they are
    percent-encoded.
    """
    problem = id_problem(value)
    if problem is None:
        return str(value)
    code, message = problem
    field = FieldProblem(name, wire_name(name), message, code)
    raise InvalidInput(f"{name}: not a valid id. Nothing was sent.", fields=(field,))


def id_problem(value: object) -> tuple[str, str] | None:
    """Return the code and the message for an id that cannot be sent; None if it can."""
    is_table = hasattr(value, "columns")  # with a column of this name, perhaps
    if hasattr(value, "client_user_id") and not is_table:
        return (
            "id_type",
            (
                "Expected the id itself, as in"
                f" {type(value).__name__.lower()}.client_user_id."
            ),
        )
    if isinstance(value, Number):
        return "id_type", f"Expected text, got {kind_of(value)}. Put it in quotes."
    if not isinstance(value, str):
        advice = ""
        if isinstance(value, Iterable) and not isinstance(value, Mapping | bytes):
            advice = " For several payers, use payer_statuses(), or a loop."
        return "id_type", f"Expected one id as text, got {kind_of(value)}.{advice}"
    if not value:
        return "id_empty", "Empty, but required."
    if len(value) > MAX_ID:
        return "id_length", f"Longer than {MAX_ID} characters."
    if value in {".", ".."}:
        return (
            "id_dots",
            (
                f"{value!r} would be removed from the URL on its way to the service."
                " Choose another id."
            ),
        )
    if not value.isprintable() and any(
        unicodedata.category(char) in {"Cc", "Cs"} for char in value
    ):
        return (
            "id_characters",
            (
                "Contains a control character or an unpaired surrogate (invalid"
                " Unicode). Choose another id."
            ),
        )
    return None


class ApiKey:
    """An API key that does not show itself: repr, str, vars and locals show a
    fingerprint, pickling fails.
    """

    __slots__ = ("reveal",)

    def __init__(self, value: str) -> None:
        def reveal() -> str:
            """Return the key itself."""
            return value

        # a closure: an attribute would show up in debuggers and in tracebacks with
        # locals
        self.reveal = reveal

    @property
    def fingerprint(self) -> str:
        """The first six hex digits of the key's SHA-256 hash."""
        return hashlib.sha256(self.reveal().encode()).hexdigest()[:6]

    def __repr__(self) -> str:
        return f"<key {self.fingerprint}>"

    def __reduce__(self) -> Never:
        raise TypeError("an API key cannot be pickled: create a client in each process")


class RepeatingObject(dict[str, Any]):
    """A parsed JSON object in which some object has a member more than once; each has
    its last value.

    repeated: the names of these members.
    """

    repeated: tuple[str, ...] = ()


def parse_json(text: str | bytes) -> Any:
    """Return the parsed JSON, as a `RepeatingObject` if members repeat. Raises
    ValueError, also for endless nesting.
    """
    from pydantic_core import from_json  # noqa: PLC0415 - loaded when first needed

    content: str | bytes
    if isinstance(text, bytes):
        content = text.removeprefix(b"\xef\xbb\xbf")
    else:
        content = text.removeprefix("\ufeff")
    # Stricter than json: bounded nesting, UTF-8 only, no unpaired surrogates.
    from_json(content, cache_strings="none")
    repeated: dict[str, None] = {}
    parsed = json.loads(content, object_pairs_hook=partial(read_object, repeated))
    if repeated and isinstance(parsed, dict):
        parsed = RepeatingObject(parsed)
        parsed.repeated = tuple(repeated)
    return parsed


def read_object(
    repeated: dict[str, None], members: list[tuple[str, Any]]
) -> dict[str, Any]:
    """Return an object of the members in JSON, and note which names it repeats, a
    hundred of all at most.
    """
    found = dict(members)
    if len(found) < len(members):
        seen = set()
        for name, _ in members:
            if len(repeated) >= _MOST_REPEATED:
                break
            if name in seen:
                repeated[name] = None
            seen.add(name)
    return found


_MOST_REPEATED = 100
"""Repeated names that are noted at most: a response of 16 MiB may have a million."""


def repeated_names(content: object) -> tuple[str, ...]:
    """Return the names that parsed JSON had more than once in one object."""
    if not isinstance(content, RepeatingObject):
        return ()
    return content.repeated


_MILLISECONDS = 10**11
"""From here on, a number is one of milliseconds: as seconds, it would be in the year
5138 or later.
"""


def read_time(value: object, *, milliseconds: bool = False) -> datetime | None:
    """Return a time in UTC, from seconds since 1970 or from ISO 8601; None for anything
    else.

    A time without a zone is taken as UTC, as services write it. milliseconds: read a
    number of those, too.
    """
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,14}", value):
        value = int(value)
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            if milliseconds and value >= _MILLISECONDS:
                value = value / 1000
            return datetime.fromtimestamp(value, UTC)
        if not isinstance(value, str):
            return None
        time = datetime.fromisoformat(value)
        if time.tzinfo is None:
            return time.replace(tzinfo=UTC)
        return time.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


_DECIMAL = re.compile(r"-?[0-9]{1,100}(\.[0-9]{1,100})?([eE][+-]?[0-9]{1,2})?")


def read_decimal(value: object) -> Decimal | None:
    """Return an amount in JSON exactly as it is written there, from text or a number;
    None for anything else.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    text = str(value)
    if not _DECIMAL.fullmatch(text):
        return None
    return Decimal(text)


def is_loopback(host: str) -> bool:
    """Return True if a host name or address is this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
