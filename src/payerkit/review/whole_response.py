"""Walk through a whole response: all that a wallet might sign, and all that it says, wherever it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from payerkit.wire import object_reader

MAX_MEMBERS = 10_000
"""Members and items of a response that are looked at; one with 50 transactions has some 300."""

MAX_DEPTH = 40
"""Objects and lists inside each other that are looked at; the published responses have 4."""

CALLDATA_NAMES = ("data", "input", "callData", "calldata")
"""Members that wallets and their interfaces read as calldata."""

_CALL = re.compile(r"0[xX][0-9a-fA-F]{8}")
"""The beginning of calldata: four bytes choose the function."""

_SEPARATOR = re.compile(r"[\W_]+")

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")

_CALLDATA = {name.lower() for name in CALLDATA_NAMES}
"""The same as plain names, as other programs may write them."""

_MESSAGE = {"types", "primarytype", "message"}
"""Members of a message to sign by EIP-712, as plain names; one of them beside `domain` makes an object one."""


class Member(NamedTuple):
    """A member of an object, or an item of a list, which has no name.

    path: where it stands, such as "metadata.chainId". holder: the path of the object or list. step: the place in
    `transactions` of the transaction that holds it; None if it stands elsewhere.
    """

    holder: str
    name: str
    path: str
    value: Any
    step: int | None


@dataclass(slots=True, repr=False)
class WholeResponse:
    """What a response holds, not masked; so it does not show itself.

    transactions: those outside the member `transactions`, with their paths. typed_messages: messages to sign, by their
    paths.
    members: of all objects, the outermost first. repeated: names that an object in a text has more than once.
    is_complete: False if it is larger or deeper than is looked at.
    """

    transactions: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    typed_messages: dict[str, Any] = field(default_factory=dict)
    members: list[Member] = field(default_factory=list)
    repeated: dict[str, None] = field(default_factory=dict)
    is_complete: bool = True


def read_whole(raw: Mapping[str, Any]) -> WholeResponse:
    """Return what a response holds, also in text that is JSON itself; never raises."""
    whole = WholeResponse()
    _note(whole, "response", raw)
    level = _outermost(whole, raw)
    for _ in range(MAX_DEPTH):
        if not level or len(whole.members) + len(level) > MAX_MEMBERS:
            break
        whole.members += level
        inside = (inner for member in level for inner in _enter(whole, member))
        level = [*islice(inside, MAX_MEMBERS + 1)]
    whole.is_complete = whole.is_complete and not level
    return whole


def _outermost(whole: WholeResponse, raw: Mapping[str, Any]) -> list[Member]:
    """Return the members of a response and those of its transactions, which the model reads."""
    listed = raw.get("transactions")
    items = listed[: MAX_MEMBERS + 1] if isinstance(listed, list) else []
    whole.typed_messages |= {f"transactions[{step}]": item for step, item in enumerate(items) if _is_message(item)}
    outside = {name: value for name, value in raw.items() if name != "transactions" or not items}
    return _members("", outside, None) + [
        member
        for step, item in enumerate(items)
        for member in _members(f"transactions[{step}]", item if isinstance(item, Mapping) else [item], step)
    ]


def _enter(whole: WholeResponse, member: Member) -> list[Member]:
    """Note what a member holds, and return the members inside it; none of a message, which is judged as a whole."""
    try:
        value = _parsed(member.value, whole.repeated)
    except RecursionError:
        whole.is_complete = False
        return []
    if plain_name(member.name) == "paymentintent" and value is not None:
        whole.typed_messages[member.path] = value
        return []
    return [] if _note(whole, member.path, value) else _members(member.path, value, member.step)


def _note(whole: WholeResponse, path: str, value: Any) -> bool:
    """Note what an object holds to sign; return True if it is a message."""
    is_message = _is_message(value)
    if is_message:
        whole.typed_messages[path] = value
    elif isinstance(value, Mapping) and _is_transaction(value):
        whole.transactions.append((path, value))
    return is_message


def _members(path: str, value: Any, step: int | None) -> list[Member]:
    """Return the members of an object or the items of a list."""
    if isinstance(value, Mapping):
        named = ((str(name), item) for name, item in islice(value.items(), MAX_MEMBERS + 1))
        return [Member(path, name, _join(path, name), item, step) for name, item in named]
    if isinstance(value, list):
        items = enumerate(value[: MAX_MEMBERS + 1])
        return [Member(path, "", f"{path}[{place}]", item, step) for place, item in items]
    return []


def plain_name(name: str) -> str:
    """Return the name of a member without capitals and separators, as services differ in them."""
    return _SEPARATOR.sub("", name).lower()


def _join(path: str, name: str) -> str:
    """Return the path of a member; a name that is not a plain word is quoted, so that it cannot pass for a path."""
    if not _WORD.fullmatch(name):
        return f"{path}[{json.dumps(name[:40])}]"
    return f"{path}.{name}" if path else name


def _parsed(value: Any, repeated: dict[str, None]) -> Any:
    """Return the JSON that a text holds, as some services send objects, also inside another text; else the value.

    Raises RecursionError for endless nesting. A float may have any number of digits.
    """
    for _ in range(MAX_DEPTH):
        if not isinstance(value, str) or value.lstrip()[:1] not in {"{", "[", '"'}:
            return value
        try:
            value = json.loads(value, parse_int=float, object_pairs_hook=object_reader(repeated))
        except ValueError:
            return value
    raise RecursionError


def _is_transaction(value: Mapping[str, Any]) -> bool:
    """Return True if a wallet could take an object for a transaction: it has a recipient, or calldata."""
    named = [(plain_name(str(name)), item) for name, item in value.items()]
    names, calls = {name for name, _ in named}, [item for name, item in named if name in _CALLDATA]
    if "to" in names and (calls or "value" in names):
        return True
    return any(isinstance(call, str) and _CALL.match(call) for call in calls)


def _is_message(value: Any) -> bool:
    """Return True if an object is a message to sign, or enough of one to be taken for it."""
    names = {plain_name(str(name)) for name in value} if isinstance(value, Mapping) else set()
    return "domain" in names and not names.isdisjoint(_MESSAGE)
