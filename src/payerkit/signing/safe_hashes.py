"""The hashes that the devices of a Safe's owners show, for one call or for several at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache

from payerkit._tsv import rows
from payerkit.errors import InvalidInput
from payerkit.onchain.addresses import is_same, keccak
from payerkit.signing.device import calldata_digest
from payerkit.signing.safe_calls import SafeCall, chain_id_of

_MULTI_SEND = bytes.fromhex("8d80ff0a")
"""The selector of multiSend(bytes)."""

_CHAIN_DOMAIN = "EIP712Domain(uint256 chainId,address verifyingContract)"
_PLAIN_DOMAIN = "EIP712Domain(address verifyingContract)"
_SAFE_TX = (
    "SafeTx(address to,uint256 value,bytes data,uint8 operation,uint256 safeTxGas,uint256 baseGas,uint256 gasPrice,"
    "address gasToken,address refundReceiver,uint256 nonce)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeHashes:
    """What the owners of a Safe compare on their devices before they sign.

    The hashes are those of a transaction without refunds, as the Safe app makes them.

    Attributes:
        safe_tx_hash: The hash that is signed, which the Safe app shows.
        domain_hash: Of the Safe and, since version 1.3.0, of the chain; many devices show it with `message_hash`.
        message_hash: Of the transaction, with its nonce.
        to: What the Safe calls: the contract, or MultiSendCallOnly for several transactions at once.
        value: The native value of that call, in wei.
        operation: 0 for a call, 1 for a delegate call, which several transactions at once need.
        nonce: The Safe's nonce.
        calldata_digest: The calldata digest (ERC-8213) of that call.

    Example:
        >>> payment = initiate_payment(client, order)
        >>> hashes = payment.safe_hashes(safe="0x111CEEee040739fD91D29C34C33E6B3E112F2177", nonce=7)
        >>> hashes.operation, len(hashes.safe_tx_hash)
        (0, 66)
    """

    safe_tx_hash: str
    domain_hash: str
    message_hash: str
    to: str
    value: int
    operation: int
    nonce: int
    calldata_digest: str

    def __str__(self) -> str:
        return "\n".join(f"{field.name:<16} {getattr(self, field.name)}" for field in fields(self))

    __repr__ = __str__


VERSIONS = ("1.0.0", "1.1.1", "1.2.0", "1.3.0", "1.4.1", "1.5.0")
"""The versions of Safe's contracts whose hashes are known here (safe-global/safe-deployments 1.37.56)."""

_WITHOUT_CHAIN = {"1.0.0", "1.1.1", "1.2.0"}
"""Versions whose EIP-712 domain does not name the chain (safe-global/safe-smart-account, changelog of 1.3.0)."""


@cache
def _multi_sends() -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Return the addresses of MultiSendCallOnly by version and network."""
    return {
        (row["version"], row["network"]): tuple(row["multi_send"].split())
        for row in rows(__package__, "safe_multi_send")
    }


def hash_calls(
    calls: Sequence[SafeCall],
    *,
    safe: str,
    network: str | None,
    nonce: int,
    version: str,
    multi_send: str | None = None,
) -> SafeHashes:
    """Return the hashes of calls as one transaction of a Safe. Raises InvalidInput for an unusable argument."""
    release, chain_id = version.removesuffix("+L2"), chain_id_of(network)
    if release not in VERSIONS:
        raise InvalidInput(f"version: expected one of {', '.join(VERSIONS)}, got {version!r}.")
    if not _is_nonce(nonce):
        raise InvalidInput("nonce: give the Safe's nonce as a whole number; the Safe app shows it.")
    call = calls[0] if len(calls) == 1 else _batch(calls, _multi_send_of(release, str(network), multi_send))
    domain = _domain_hash(safe, None if release in _WITHOUT_CHAIN else chain_id)
    message = _message_hash(call, nonce)
    return SafeHashes(
        safe_tx_hash=_hex(keccak(b"\x19\x01" + domain + message)),
        domain_hash=_hex(domain),
        message_hash=_hex(message),
        to=call.to,
        value=call.value,
        operation=call.operation,
        nonce=nonce,
        calldata_digest=calldata_digest(call.data),
    )


def _is_nonce(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**256


def _multi_send_of(version: str, network: str, given: str | None) -> str:
    """Return the address of MultiSendCallOnly, which a Safe calls for several transactions at once."""
    here = _multi_sends().get((version, network), ())
    if given is None and not here:
        raise InvalidInput(
            f"version: no MultiSendCallOnly of {version} is known on {network}. Give its address as multi_send, as the "
            "Safe app shows it, or hand over one transaction at a time."
        )
    if given is None:
        return here[0]
    known = {
        address for (release, _), addresses in _multi_sends().items() if release == version for address in addresses
    }
    found = next((address for address in known if is_same(address, given)), None)
    if found is None:
        raise InvalidInput(
            f"multi_send: not a MultiSendCallOnly of {version}: {', '.join(sorted(known)) or 'it has none'}."
        )
    return found


def _batch(calls: Sequence[SafeCall], multi_send: str) -> SafeCall:
    """Return the delegate call of MultiSendCallOnly that makes several calls."""
    packed = b"".join(
        bytes([call.operation]) + _address(call.to) + _word(call.value) + _word(len(call.data)) + call.data
        for call in calls
    )
    padding = bytes(-len(packed) % 32)
    return SafeCall(multi_send, 0, _MULTI_SEND + _word(32) + _word(len(packed)) + packed + padding, operation=1)


def _domain_hash(safe: str, chain_id: int | None) -> bytes:
    kind = _PLAIN_DOMAIN if chain_id is None else _CHAIN_DOMAIN
    chain = b"" if chain_id is None else _word(chain_id)
    return keccak(keccak(kind.encode()) + chain + _word(int(safe, 16)))


def _message_hash(call: SafeCall, nonce: int) -> bytes:
    """Return the hash of a SafeTx that refunds no gas: its four gas members and the receiver are zero."""
    words = (int(call.to, 16), call.value, int.from_bytes(keccak(call.data)), call.operation, 0, 0, 0, 0, 0, nonce)
    return keccak(keccak(_SAFE_TX.encode()) + b"".join(map(_word, words)))


def _address(address: str) -> bytes:
    return bytes.fromhex(address[2:])


def _word(number: int) -> bytes:
    return number.to_bytes(32)


def _hex(data: bytes) -> str:
    return f"0x{data.hex()}"
