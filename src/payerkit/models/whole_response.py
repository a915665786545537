"""Walk through a whole response: all that a wallet might sign, all that it says, and the networks that it names."""

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
from payerkit.onchain.currencies import Network, networks
from payerkit.wire import read_object

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

_MESSAGE = {"types", "primarytype", "message", "domain"}
"""Members of a message to sign by EIP-712, as plain names; one of them beside `domain` or `primaryType` makes an object
one."""

_HEX = re.compile(r"(?:0[xX])?([0-9a-fA-F]{40,})")
"""20 and more bytes in hex: an address, a hash, calldata, a signed or unsigned transaction."""

_GAPS = re.compile(r"[\s:|_\u200b-\u200f\u2060\ufeff]+")
"""Characters that people and programs put between groups of hex digits, some of them invisible."""

_LINK = re.compile(
    r"(?i)\b(?:ethereum|wc|metamask|trust|rainbow|safe|zerion|ledgerlive|imtokenv2|tpoutside|okx|phantom|argent|exodus"
    r"|cbwallet|uniswap|bitcoin|solana|tron)(?::|%3a)(?=\S)|walletconnect|[\w-]\.eth\b"
    r"|\b(?:eth_(?:send|sign)|personal_sign|wallet_(?:add|grant|invoke|send|sign|watch))"
)
"""What wallets open or answer: links with their schemes (EIP-681, WalletConnect), ENS names, and calls by EIP-1474."""

_BASE64 = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9+/_-]{64,}={0,2}")
"""48 and more bytes in base64."""

_LEAST_LARGE = 2**132
"""Numbers from here on may be addresses or calldata; no token has so many base units."""


class Member(NamedTuple):
    """A member of an object, or an item of a list, which has no name.

    path: where it stands, such as "metadata.chainId". holder: the path of the object or list. own: its plain name; ""
    for an item. plain: the same in its place: an item has the name of its list, and the `id` in an object `request` is
    "requestid". value: parsed, if it is JSON in a text. step: the place in `transactions` of the transaction that holds
    it; None if it stands elsewhere.
    role: what it is read as, by `members.tsv`; "" for an unknown member.
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
        """Yield what a wallet could use in the member: hex in lower case without 0x, or a description of anything else.

        Hex is looked for in the name, too, and in any form: within text, in groups, as a number, as a list of bytes.
        """
        is_said = not isinstance(self.value, bool) and self.value not in (None, "", [], {})
        if is_said and self.role == "signed":
            yield "a part of what wallets sign"
        for text in (self.name, _as_text(self.value)):
            yield from map(str.lower, _HEX.findall(text))
            yield from map(str.lower, _HEX.findall(_GAPS.sub("", _HEX.sub("-", text))))
            if _LINK.search(text):
                yield "a link, name or call for wallets"
            if _BASE64.fullmatch(text):
                yield "data in base64"


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

    def statements(self, request_id: str | None) -> defaultdict[str, list[Member]]:
        """Return the members that are about a request, by their roles, except those that are null.

        The members of an object with the id of another request are about that request, so only the id is returned. The
        response itself and its metadata are about the request, whatever id they have.
        """
        others = {
            each.holder
            for each in self.members
            if each.role == "request_id" and request_id is not None and comparable(each.value) != comparable(request_id)
            if plain_name(each.holder) not in {"", "metadata"}
        }
        found = defaultdict[str, list[Member]](list)
        for each in self.members:
            if each.holder in others:
                others.add(each.path)
            if each.value is not None and (each.holder not in others or each.role == "request_id"):
                found[each.role].append(each)
        return found

    def chain_claims(self) -> tuple[list[Member], list[Member]]:
        """Return the members that name a network, wherever they stand, and those that name a known one in other words.

        Such a word is `destinationChainId`. Null names no network.
        """
        claims, others = list[Member](), list[Member]()
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
        return sorted({network.name for each in claims if (network := named_network(each.value))})


@cache
def _roles() -> Mapping[str, str]:
    return {row["name"]: row["role"] for row in rows(__package__, "members")}


def comparable(value: object) -> object:
    """Return a value as it is compared; an object or list is only equal to others of its kind."""
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
    found = _members(whole, "", "", outside, None)
    for step, item in enumerate(items):
        held = item if isinstance(item, Mapping) else [item]
        found += _members(whole, f"transactions[{step}]", "", held, step)
    return found


def _enter(whole: WholeResponse, member: Member) -> list[Member]:
    """Note what a member holds, and return the members inside it; none of a message, which is judged as a whole."""
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


def _members(whole: WholeResponse, path: str, plain: str, value: Any, step: int | None) -> list[Member]:
    """Return the members of an object or the items of a list. plain: its own plain name."""
    found, roles = list[Member](), _roles()
    if isinstance(value, Mapping):
        for name, item in islice(value.items(), MAX_MEMBERS + 1):
            own = plain_name(str(name))
            full = f"{plain}id" if own == "id" else own
            inner = _join(path, str(name))
            found.append(Member(path, str(name), inner, full, own, _parsed(whole, item), step, roles.get(full, "")))
    elif isinstance(value, list):
        for place, item in enumerate(value[: MAX_MEMBERS + 1]):
            inner, role = f"{path}[{place}]", roles.get(plain, "")
            found.append(Member(path, "", inner, plain, "", _parsed(whole, item), step, role))
    return found


def plain_name(name: str) -> str:
    """Return the name of a member without capitals and separators, as services differ in them."""
    return _SEPARATOR.sub("", unicodedata.normalize("NFKC", name)).lower()


def _join(path: str, name: str) -> str:
    """Return the path of a member; a name that is not a plain word is quoted, so that it cannot pass for a path."""
    if not _WORD.fullmatch(name):
        return f"{path}[{json.dumps(name[:40])}]"
    return f"{path}.{name}" if path else name


def _parsed(whole: WholeResponse, value: Any) -> Any:
    """Return the JSON that a text holds, as some services send objects, also inside another text; else the value.

    A float may have any number of digits. Endless nesting is noted.
    """
    for _ in range(MAX_DEPTH):
        if not isinstance(value, str) or value.lstrip()[:1] not in {"{", "[", '"'}:
            return value
        try:
            value = json.loads(value, parse_int=float, object_pairs_hook=partial(read_object, whole.repeated))
        except ValueError:
            return value
        except RecursionError:
            break
    whole.is_complete = False
    return value


def _is_transaction(value: Mapping[str, Any]) -> bool:
    """Return True if a wallet could take an object for a transaction: it has a recipient, or calldata."""
    named = [(plain_name(str(name)), item) for name, item in value.items()]
    names, calls = {name for name, _ in named}, [item for name, item in named if name in _CALLDATA]
    if not names.isdisjoint({"to", "target"}) and (calls or "value" in names):
        return True
    return any(isinstance(call, str) and _CALL.match(call) for call in calls)


def _is_message(value: Any) -> bool:
    """Return True if an object is a message to sign, or looks like one."""
    names = {plain_name(str(name)) for name in value} if isinstance(value, Mapping) else set()
    return len(names & _MESSAGE) > 1 and not names.isdisjoint({"domain", "primarytype"})


def _as_text(value: Any) -> str:
    """Return a text, or hex for a large number or a list of bytes; "" for any other value."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return f"{int(abs(value)):040x}" if _LEAST_LARGE <= abs(value) != math.inf else ""
    if isinstance(value, Mapping):  # as JavaScript writes typed arrays
        value = [item for name, item in value.items() if str(name).isdecimal()]
    return "".join(map(_as_bytes, value)) if isinstance(value, list) else ""


def _as_bytes(value: Any) -> str:
    """Return the hex of a byte, or a short piece of hex without its 0x; "-" for anything else."""
    if isinstance(value, int | float):
        return f"{int(value) % 256:02x}" if value in range(-128, 256) else "-"
    return value.removeprefix("0x") if isinstance(value, str) and _PIECE.fullmatch(value) else "-"


_PIECE = re.compile(r"0x[0-9a-fA-F]{1,38}|[0-9a-fA-F]{2}")
"""An item of a list that is part of a hex number; decimal numbers do not match."""


CHAIN_NAMES = {"chain", "chainid", "chainname", "network", "networkid", "networkname"}
"""The plain names of members that say which network a transaction is for."""

_NUMBER = re.compile(r"(?:eip155:)?(?:0[xX](?P<hex>[0-9a-fA-F]{1,64})|(?P<decimal>[0-9]{1,78}))")
"""A chain id as text; with `eip155:` in front by CAIP-2."""


def named_network(value: object) -> Network | None:
    """Return the network that a value names by its chain id, its name or its common name; None if none is known."""
    number, text = chain_number(value), str(value).casefold() if isinstance(value, str) else ""
    for network in networks().values():
        if text in {network.name, network.title.casefold()} or (number is not None and number == network.chain_id):
            return network
    return None


def chain_number(value: object) -> int | float | None:
    """Return a chain id as a number; None for what is not one."""
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value)
        if found is None:
            return None
        return int(found["hex"], 16) if found["hex"] else int(found["decimal"])
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
