"""Field names here and on the wire, ids that are safe in a path, keys, JSON, times, loopback hosts."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, Never

from payerkit.errors import FieldProblem, InvalidInput


def our_name(name: str) -> str:
    """Return a field's name here, in snake_case: `address_line1` for `addressLine1`, `iban` for `IBAN`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@lru_cache(1024)
def wire_name(name: str) -> str:
    """Return a field's name on the wire, in camelCase, from any spelling: `addressLine1` for `address_line1`."""
    first, *rest = our_name(name).split("_")
    return first + "".join(word.capitalize() for word in rest)


def first(fields: Mapping[str, Any], *names: str) -> Any:
    """Return the first value under these names that is not None; None if all are missing."""
    return next((fields[name] for name in names if fields.get(name) is not None), None)


MAX_ID = 256
"""Characters of an id at most. The specification has no limit, but servers limit the length of a path."""


def check_id(value: object, name: str) -> str:
    """Return an id that reaches the service exactly as typed; raise InvalidInput for any other. name: of the argument.

    Refused are: not text, empty, too long, control characters, unpaired surrogates, and `.` and `..`, which HTTP
    libraries and servers remove from a path even when they are percent-encoded.
    """
    if (problem := id_problem(value)) is None:
        return str(value)
    code, message = problem
    field = FieldProblem(name, wire_name(name), message, code)
    raise InvalidInput(f"{name}: not a valid id. Nothing was sent.", fields=(field,))


def id_problem(value: object) -> tuple[str, str] | None:
    """Return the code and the message for an id that cannot be sent; None if it can."""
    if hasattr(value, "client_user_id"):
        return "id_type", f"Expected the id itself, as in {type(value).__name__.lower()}.client_user_id."
    if not isinstance(value, str):
        return "id_type", f"Expected text, got {type(value).__name__}. In a table, read this column with dtype=str."
    if not value:
        return "id_empty", "Empty, but required."
    if len(value) > MAX_ID:
        return "id_length", f"Longer than {MAX_ID} characters."
    if value in {".", ".."}:
        return "id_dots", f"{value!r} would be removed from the URL on its way to the service. Choose another id."
    if not value.isprintable() and any(unicodedata.category(char) in {"Cc", "Cs"} for char in value):
        return (
            "id_characters",
            "Contains a control character or an unpaired surrogate (invalid Unicode). Choose another id.",
        )
    return None


class ApiKey:
    """An API key that does not show itself: repr, str, vars and locals show a fingerprint, pickling fails."""

    __slots__ = ("reveal",)

    def __init__(self, value: str) -> None:
        def reveal() -> str:
            """Return the key itself."""
            return value

        self.reveal = reveal  # a closure: an attribute would show up in debuggers and in tracebacks with locals

    @property
    def fingerprint(self) -> str:
        """The first six hex digits of the key's SHA-256 hash."""
        return hashlib.sha256(self.reveal().encode()).hexdigest()[:6]

    def __repr__(self) -> str:
        return f"<key {self.fingerprint}>"

    def __reduce__(self) -> Never:
        raise TypeError("an API key cannot be pickled: create a client in each process")


class RepeatingObject(dict[str, Any]):
    """A parsed JSON object in which some object has a member more than once; each has its last value.

    repeated: the names of these members.
    """

    repeated: tuple[str, ...] = ()


def parse_json(text: str | bytes) -> Any:
    """Return the parsed JSON, as a `RepeatingObject` if members repeat. Raises ValueError, also for endless nesting."""
    from pydantic_core import from_json  # noqa: PLC0415 - loaded when first needed

    content = text.removeprefix(b"\xef\xbb\xbf") if isinstance(text, bytes) else text.removeprefix("\ufeff")
    from_json(content)  # stricter than json: bounded nesting, UTF-8 only, no unpaired surrogates
    repeated: dict[str, None] = {}
    parsed = json.loads(content, object_pairs_hook=partial(read_object, repeated))
    if repeated and isinstance(parsed, dict):
        parsed = RepeatingObject(parsed)
        parsed.repeated = tuple(repeated)
    return parsed


def read_object(repeated: dict[str, None], members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of the members in JSON, and note which names it repeats."""
    found = dict(members)
    if len(found) < len(members):
        counts = Counter(name for name, _ in members)
        repeated.update((name, None) for name, count in counts.items() if count > 1)
    return found


def repeated_names(content: object) -> tuple[str, ...]:
    """Return the names that parsed JSON had more than once in one object."""
    return content.repeated if isinstance(content, RepeatingObject) else ()


_MILLISECONDS = 10**11
"""From here on, a number is one of milliseconds: as seconds, it would be in the year 5138 or later."""


def read_time(value: object, *, milliseconds: bool = False) -> datetime | None:
    """Return a time in UTC, from seconds since 1970 or from ISO 8601; None for anything else.

    A time without a zone is taken as UTC, as services write it. milliseconds: read a number of those, too.
    """
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,14}", value):
        value = int(value)
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if milliseconds and value >= _MILLISECONDS else value, UTC)
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
        return time and (time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC))
    except (ValueError, OverflowError, OSError):
        return None


_PANDAS_YEARS = range(1678, 2262)
"""The years of which pandas has all times, to the nanosecond."""


def pandas_time(time: datetime | None) -> datetime | None:
    """Return a time that pandas can hold; None for one that is too early or too late."""
    return time if time is not None and time.year in _PANDAS_YEARS else None


_DECIMAL = re.compile(r"-?[0-9]{1,100}(\.[0-9]{1,100})?([eE][+-]?[0-9]{1,2})?")


def read_decimal(value: object) -> Decimal | None:
    """Return an amount in JSON exactly as it is written there, from text or a number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    text = str(value)
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


def is_loopback(host: str) -> bool:
    """Return True if a host name or address is this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
