"""Walk through a whole response: all that a wallet might sign, all that it says, and
the networks that it names.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import islice
from typing import Any, NamedTuple

from payerkit._tsv import rows
from payerkit.payments.onchain.currencies import Network, networks
from payerkit.wire import read_object

MAX_MEMBERS = 10_000
"""Members and items of a response that are looked at; one with 50 transactions has some
300.
"""

MAX_CHARACTERS = 1_000_000
"""Characters of names and texts that are looked at, again where a text holds JSON; a
response with 50 transactions has some 100,000.
"""

MAX_DEPTH = 40
"""Objects and lists inside each other that are looked at; the published responses have
4.
"""

CALLDATA_NAMES = ("data", "input", "callData", "calldata")
"""Members that wallets and their interfaces read as calldata."""

_CALL = re.compile(r"0[xX][0-9a-fA-F]{8}")
"""The beginning of calldata: four bytes choose the function."""

_SEPARATOR = re.compile(r"[\W_]+")

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")

_CALLDATA = {name.lower() for name in CALLDATA_NAMES}
"""The same as plain names, as other programs may write them."""

_MESSAGE = {"types", "primarytype", "message", "domain"}
"""Members of a message to sign by EIP-712, as plain names; one of them beside `domain`
or `primaryType` makes an object one."""

_HEX = re.compile(r"(?:0[xX])?([0-9a-fA-F]{40,})")
"""20 and more bytes in hex: an address, a hash, calldata, a signed or unsigned
transaction.
"""

_GAPS = re.compile(r"[\s:|_\u200b-\u200f\u2060\ufeff]+")
"""Characters that people and programs put between groups of hex digits, some of them
invisible.
"""

_LINK = re.compile(
    r"(?i)\b(?:ethereum|wc|metamask|trust|rainbow|safe|zerion|ledgerlive|imtokenv2|tpoutside|okx|phantom|argent|exodus"
    r"|cbwallet|uniswap|bitcoin|solana|tron)(?::|%3a)(?=\S)|walletconnect|[\w-]\.eth\b"
    r"|\b(?:eth_(?:send|sign)|personal_sign|wallet_(?:add|grant|invoke|send|sign|watch))"
)
"""What wallets open or answer: links with their schemes (EIP-681, WalletConnect), ENS
names, and calls by EIP-1474.
"""

_BASE64 = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9+/_-]{64,}={0,2}")
"""48 and more bytes in base64."""

_LEAST_LARGE = 2**132
"""Numbers from here on may be addresses or calldata; no token has so many base
units.
"""


class Member(NamedTuple):
    """A member of an object, or an item of a list, which has no name.

    path: where it stands, such as "metadata.chainId". holder: the path of the object or
    list. own: its plain name; "" for an item. plain: the same in its place: an item has
    the name of its list, and the `id` in an object `request` is "requestid". value:
    parsed, if it is JSON in a text. step: the place in `transactions` of the
    transaction that holds it; None if it stands elsewhere. role: what it is read as, by
    `members.tsv`; "" for an unknown member.
    """

    holder: str
    name: str
    path: str
    plain: str
    own: str
    value: Any
    step: int | None
    role: str

    def usable(self) -> Iterator[str]:
        """Yield what a wallet could use in the member: hex in lower case without 0x, or
        a description of anything else.

        Hex is looked for in the name, too, and in any form: within text, in groups, as
        a number, as a list of bytes.
        """
        is_said = not isinstance(self.value, bool) and self.value not in (
            None,
            "",
            [],
            {},
        )
        if is_said and self.role == "signed":
            yield "a part of what wallets sign"
        for text in (self.name, _as_text(self.value)):
            without_gaps = _GAPS.sub("", _HEX.sub("-", text))
            for digits in (*_HEX.findall(text), *_HEX.findall(without_gaps)):
                yield digits.lower()
            if _LINK.search(text):
                yield "a link, name or call for wallets"
            if _BASE64.fullmatch(text):
                yield "data in base64"


@dataclass(slots=True, repr=False)
class WholeResponse:
    """What a response holds, not masked; so it does not show itself.

    transactions: those outside the member `transactions`, with their paths.
    typed_messages: messages to sign, by their paths. members: of all objects, the
    outermost first. repeated: names that an object in a text has more than once.
    is_complete: False if it is larger or deeper than is looked at: then members are
    missing. characters: of the names and texts so far.
    """

    transactions: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    typed_messages: dict[str, Any] = field(default_factory=dict)
    members: list[Member] = field(default_factory=list)
    repeated: dict[str, None] = field(default_factory=dict)
    is_complete: bool = True
    characters: int = 0

    def has_room(self, more: int = 0) -> bool:
        """Return True if so many more characters are within the limit; else note that
        the response is too large.
        """
        self.characters += more
        if self.characters > MAX_CHARACTERS:
            self.is_complete = False
        return self.is_complete

    def statements(self, request_id: str | None) -> defaultdict[str, list[Member]]:
        """Return the members that are about a request, by their roles, except those
        that are null.

        The members of an object with the id of another request are about that request,
        so only the id is returned. The response itself and its metadata are about the
        request, whatever id they have.
        """
        others = {
            each.holder
            for each in self.members
            if each.role == "request_id"
            and request_id is not None
            and comparable(each.value) != comparable(request_id)
            if plain_name(each.holder) not in {"", "metadata"}
        }
        found = defaultdict[str, list[Member]](list)
        for each in self.members:
            if each.holder in others:
                others.add(each.path)
            if each.value is not None and (
                each.holder not in others or each.role == "request_id"
            ):
                found[each.role].append(each)
        return found

    def chain_claims(self) -> tuple[list[Member], list[Member]]:
        """Return the members that name a network, wherever they stand, and those that
        name a known one in other words.

        Such a word is `destinationChainId`. Null names no network.
        """
        claims: list[Member] = []
        others: list[Member] = []
        for each in self.members:
            if each.own in CHAIN_NAMES:
                if each.value is not None:
                    claims.append(each)
            elif each.own.endswith(tuple(CHAIN_NAMES)) and named_network(each.value):
                others.append(each)
        return claims, others

    def claimed_networks(self) -> list[str]:
        """Return the known networks that the response names."""
        claims, _ = self.chain_claims()
        known = [named_network(claim.value) for claim in claims]
        return sorted({network.name for network in known if network})


@cache
def _roles() -> Mapping[str, str]:
    return {row["name"]: row["role"] for row in rows(__package__, "members")}


def role_of(plain: str) -> str:
    """Return what a member with a plain name is read as; "" for an unknown one."""
    return _roles().get(plain, "")


def comparable(value: object) -> object:
    """Return a value as it is compared; an object or list is only equal to others of
    its kind.
    """
    if isinstance(value, str):
        return value.lower()
    return value if isinstance(value, int | float) else type(value)


def read_whole(raw: Mapping[str, Any]) -> WholeResponse:
    """Return what a response holds, also in text that is JSON itself; never raises."""
    whole = WholeResponse()
    _note(whole, "response", raw)
    level = _outermost(whole, raw)
    for _ in range(MAX_DEPTH):
        if not level or len(whole.members) + len(level) > MAX_MEMBERS:
            break
        whole.members += level
        if not whole.is_complete:
            break
        level = _inside(whole, level)
    whole.is_complete = whole.is_complete and not level
    return whole


def _inside(whole: WholeResponse, level: list[Member]) -> list[Member]:
    """Return the members inside those of a level, until there are too many."""
    found = list[Member]()
    for member in level:
        found += _enter(whole, member)
        if not whole.is_complete or len(found) > MAX_MEMBERS:
            break
    return found


def _outermost(whole: WholeResponse, raw: Mapping[str, Any]) -> list[Member]:
    """Return the members of a response and those of its transactions, which the model
    reads.
    """
    listed = raw.get("transactions")
    items = listed[: MAX_MEMBERS + 1] if isinstance(listed, list) else []
    outside = dict(islice(raw.items(), MAX_MEMBERS + 2))
    if items:
        outside.pop("transactions", None)
    found = _members(whole, "", "", outside, None)
    if len(items) > MAX_MEMBERS:
        whole.is_complete = False
    for step, item in enumerate(items):
        if not whole.is_complete or len(found) > MAX_MEMBERS:
            break
        path = f"transactions[{step}]"
        if _is_message(item):
            whole.typed_messages[path] = item
        held = item if isinstance(item, Mapping) else [item]
        found += _members(whole, path, "", held, step)
    return found


def _enter(whole: WholeResponse, member: Member) -> list[Member]:
    """Note what a member holds, and return the members inside it; none of a message,
    which is judged as a whole.
    """
    if member.plain == "paymentintent" and member.value is not None:
        whole.typed_messages[member.path] = member.value
        return []
    if _note(whole, member.path, member.value):
        return []
    return _members(whole, member.path, member.plain, member.value, member.step)


def _note(whole: WholeResponse, path: str, value: Any) -> bool:
    """Note what an object holds to sign; return True if it is a message."""
    is_message = _is_message(value)
    if is_message:
        whole.typed_messages[path] = value
    elif isinstance(value, Mapping) and _is_transaction(value):
        whole.transactions.append((path, value))
    return is_message


def _members(
    whole: WholeResponse, path: str, plain: str, value: Any, step: int | None
) -> list[Member]:
    """Return the members of an object or the items of a list. plain: its own plain
    name.
    """
    found: list[Member] = []
    is_list = isinstance(value, list)
    if is_list:
        items: Iterator[tuple[Any, Any]] = enumerate(value[: MAX_MEMBERS + 1])
    elif isinstance(value, Mapping):
        items = islice(value.items(), MAX_MEMBERS + 1)
    else:
        return found
    for key, item in items:
        name = "" if is_list else str(key)
        if not whole.has_room(len(name) + _length(item)):
            break
        inner = f"{path}[{key}]" if is_list else _join(path, name)
        own = plain_name(name)
        full = own
        if is_list:
            full = plain
        elif own == "id":
            full = f"{plain}id"
        role = role_of(full)
        parsed = _parsed(whole, item)
        found.append(Member(path, name, inner, full, own, parsed, step, role))
    return found


def _length(value: object) -> int:
    return len(value) if isinstance(value, str) else 0


def plain_name(name: str) -> str:
    """Return the name of a member without capitals and separators, as services differ
    in them.
    """
    return _SEPARATOR.sub("", unicodedata.normalize("NFKC", name)).lower()


def _join(path: str, name: str) -> str:
    """Return the path of a member; a name that is not a plain word is quoted, so that
    it cannot pass for a path.
    """
    if not _WORD.fullmatch(name):
        return f"{path}[{json.dumps(name[:40])}]"
    return f"{path}.{name}" if path else name


def _parsed(whole: WholeResponse, value: Any) -> Any:
    """Return the JSON that a text holds, as some services send objects, also inside
    another text; else the value.

    A float may have any number of digits. Endless nesting is noted.
    """
    for _ in range(MAX_DEPTH):
        if not isinstance(value, str) or value.lstrip()[:1] not in {"{", "[", '"'}:
            return value
        try:
            value = json.loads(
                value,
                parse_int=float,
                object_pairs_hook=partial(read_object, whole.repeated),
            )
        except ValueError:
            return value
        except RecursionError:
            break
        if not whole.has_room(_length(value)):
            break
    whole.is_complete = False
    return value


def _is_transaction(value: Mapping[str, Any]) -> bool:
    """Return True if a wallet could take an object for a transaction: it has a
    recipient, or calldata.
    """
    items = islice(value.items(), MAX_MEMBERS + 1)
    named = [(plain_name(str(name)), item) for name, item in items]
    names = {name for name, _ in named}
    calls = [item for name, item in named if name in _CALLDATA]
    if not names.isdisjoint({"to", "target"}) and (calls or "value" in names):
        return True
    return any(isinstance(call, str) and _CALL.match(call) for call in calls)


def _is_message(value: Any) -> bool:
    """Return True if an object is a message to sign, or looks like one."""
    if not isinstance(value, Mapping):
        return False
    names = {plain_name(str(name)) for name in islice(value, MAX_MEMBERS + 1)}
    return len(names & _MESSAGE) > 1 and not names.isdisjoint({"domain", "primarytype"})


def _as_text(value: Any) -> str:
    """Return a text, or hex for a large number or a list of bytes; "" for any other
    value.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        if not _LEAST_LARGE <= abs(value) != math.inf:
            return ""
        return f"{int(abs(value)):040x}"
    if isinstance(value, Mapping):  # as JavaScript writes typed arrays
        value = [item for name, item in value.items() if str(name).isdecimal()]
    if not isinstance(value, list):
        return ""
    return "".join(_as_bytes(item) for item in value)


def _as_bytes(value: Any) -> str:
    """Return the hex of a byte, or a short piece of hex without its 0x; "-" for
    anything else.
    """
    if isinstance(value, int | float):
        if value not in range(-128, 256):
            return "-"
        return f"{int(value) % 256:02x}"
    if not isinstance(value, str) or not _PIECE.fullmatch(value):
        return "-"
    return value.removeprefix("0x")


_PIECE = re.compile(r"0x[0-9a-fA-F]{1,38}|[0-9a-fA-F]{2}")
"""An item of a list that is part of a hex number; decimal numbers do not match."""


CHAIN_NAMES = {"chain", "chainid", "chainname", "network", "networkid", "networkname"}
"""The plain names of members that say which network a transaction is for."""

_NUMBER = re.compile(
    r"(?:eip155:)?(?:0[xX](?P<hex>[0-9a-fA-F]{1,64})|(?P<decimal>[0-9]{1,78}))"
)
"""A chain id as text; with `eip155:` in front by CAIP-2."""


def named_network(value: object) -> Network | None:
    """Return the network that a value names by its chain id, its name or its common
    name; None if none is known.
    """
    number = chain_number(value)
    text = ""
    if isinstance(value, str):
        text = value.casefold()
    for network in networks().values():
        if text in {network.name, network.title.casefold()} or (
            number is not None and number == network.chain_id
        ):
            return network
    return None


def chain_number(value: object) -> int | float | None:
    """Return a chain id as a number; None for what is not one."""
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value)
        if found is None:
            return None
        if found["hex"]:
            return int(found["hex"], 16)
        return int(found["decimal"])
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return None
