"""Hand checked payments to a Safe: as files for its Transaction Builder, or as the hashes that its owners compare."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack

from payerkit._tsv import rows
from payerkit.errors import InvalidInput, located, without_internal_frames
from payerkit.frames import columns, frame_of
from payerkit.models.payments import ComparedWith, KnowsPaid, Payment
from payerkit.onchain.addresses import address_problem, is_same, keccak, read_address, with_checksum
from payerkit.onchain.currencies import networks
from payerkit.payment.check import findings_of
from payerkit.payment.compare import Comparison, DecodedTransaction
from payerkit.signing.device import calldata_digest, digest_of
from payerkit.wording import count_of, visible

if TYPE_CHECKING:
    import pandas as pd

    from payerkit.findings import Finding
    from payerkit.payment.check_many import Source
    from payerkit.policy.payment_policy import PaymentPolicy


class SafeCall(NamedTuple):
    """A call that a Safe makes. operation: 0 for a call, 1 for a delegate call. value: in wei."""

    to: str
    value: int
    data: bytes
    operation: int = 0


def _safe_call(transaction: DecodedTransaction) -> SafeCall:
    """Return a transaction as a call. Raises InvalidInput for one that cannot be sent as it is."""
    to, value, name = transaction.to, transaction.value, f"transaction {transaction.index + 1}"
    if to is None or address_problem(to):
        raise InvalidInput(f"{name}: `to` is not a valid address.")
    if value is None:
        raise InvalidInput(f"{name}: its value cannot be read.")
    if digest_of(transaction) is None:
        raise InvalidInput(f"{name}: its calldata cannot be read.")
    return SafeCall(with_checksum(to), value, transaction.call.data)


def chain_id_of(network: str | None) -> int:
    """Return the chain id of a network. Raises InvalidInput if it is not known."""
    if network is None:
        raise InvalidInput("network: not known; name it, such as network='sepolia'.")
    chain_id = networks()[network].chain_id
    if chain_id is None:
        raise InvalidInput(f"network: the chain id of {network} is not known.")
    return chain_id


BUILDER_VERSION = "1.18.3"
"""The version of Safe's Transaction Builder whose files are written."""


def _builder_text(batches: Sequence[SafeBatch], safe: str, name: str, about: str) -> str:
    """Return batches for one Safe as a file for its Transaction Builder, with its checksum."""
    content: dict[str, Any] = {
        "version": "1.0",
        "chainId": str(batches[0].chain_id),
        "createdAt": round(batches[0].compared.now.timestamp() * 1000),
        "meta": {
            "name": visible(name),
            "description": visible(about),
            "txBuilderVersion": BUILDER_VERSION,
            "createdFromSafeAddress": safe,
            "createdFromOwnerAddress": "",
        },
        "transactions": [
            {
                "to": call.to,
                "value": str(call.value),
                "data": f"0x{call.data.hex()}",
                "contractMethod": None,
                "contractInputsValues": None,
            }
            for batch in batches
            for call in batch.calls
        ],
    }
    # What the Transaction Builder compares, to tell whether a file was modified; the name is left out.
    hashed = _serialized({**content, "meta": {**content["meta"], "name": None}})
    content["meta"]["checksum"] = _hex(keccak(hashed.encode()))
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


_compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def _serialized(value: Any) -> str:
    """Return JSON in the form that the Transaction Builder hashes."""
    if isinstance(value, dict):
        keys = sorted(value)
        return "{" + _compact(keys) + "".join(f"{_serialized(value[key])}," for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_serialized, value)) + "]"
    return _compact(value)


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


def _multi_send_of(version: str, network: str, given: str | None) -> str:
    """Return the address of MultiSendCallOnly, which a Safe calls for several transactions at once."""
    table = rows(__package__, "safe_multi_send")
    known = {row["network"]: row["multi_send"].split() for row in table if row["version"] == version}
    if given is None and network in known:
        return known[network][0]
    if given is None:
        raise InvalidInput(
            f"version: no MultiSendCallOnly of {version} is known on {network}. Give its address as multi_send, as the "
            "Safe app shows it, or hand over one transaction at a time."
        )
    addresses = sorted({each for here in known.values() for each in here})
    found = next((address for address in addresses if is_same(address, given)), None)
    if found is None:
        raise InvalidInput(
            f"multi_send: not a MultiSendCallOnly of {version}: {', '.join(addresses) or 'it has none'}."
        )
    return found


def _batch(calls: Sequence[SafeCall], multi_send: str) -> SafeCall:
    """Return the delegate call of MultiSendCallOnly that makes several calls."""
    packed = b"".join(
        bytes([call.operation]) + bytes.fromhex(call.to[2:]) + _word(call.value) + _word(len(call.data)) + call.data
        for call in calls
    )
    padding = bytes(-len(packed) % 32)
    return SafeCall(multi_send, 0, _MULTI_SEND + _word(32) + _word(len(packed)) + packed + padding, operation=1)


def _struct_hash(kind: str, *members: int) -> bytes:
    """Return the hash of a typed structure (EIP-712) whose members are words."""
    return keccak(keccak(kind.encode()) + b"".join(map(_word, members)))


def _word(number: int) -> bytes:
    return number.to_bytes(32)


def _hex(data: bytes) -> str:
    return f"0x{data.hex()}"


class SafeBatch:
    """The transactions of a payment that was checked, which a Safe makes at once.

    Those that stand elsewhere in its response are left out. As the verdict is about all of them, this raises
    InvalidInput if there are some, or if the verdict is "stop", unless `anyway`; and if there is nothing that a Safe
    could make.
    """

    def __init__(self, compared: Comparison, findings: Iterable[Finding], *, anyway: bool) -> None:
        stop = next((each.message for each in findings if each.severity == "error"), "")
        if stop and not anyway:
            raise InvalidInput(
                f"The verdict is stop: {stop} Nothing was prepared for the Safe. "
                "check_payment has all findings; anyway=True overrules them."
            )
        own = len(compared.payment.transactions)
        if compared.transactions[own:] and not anyway:
            origin = visible(compared.transactions[own].origin)[:80]
            raise InvalidInput(
                f"A transaction is not in the response's list, but in {origin}: the Safe would not send it. Nothing "
                "was prepared. anyway=True leaves it out."
            )
        if not own:
            raise InvalidInput("payment: it has no transactions.")
        self.compared, self.chain_id = compared, chain_id_of(compared.network)
        self.calls = tuple(map(_safe_call, compared.transactions[:own]))

    @classmethod
    def of(cls, payment: Payment, *, anyway: bool, **given: Unpack[ComparedWith]) -> Self:
        """Check a payment, and return what a Safe makes of it."""
        compared = Comparison(payment, **given)
        return cls(compared, findings_of(compared), anyway=anyway)

    def write(self, path: str | Path, *, safe: str) -> None:
        """Write the file that `Payment.to_safe` documents."""
        compared = self.compared
        about = f"{count_of(len(compared.payments), 'payment')} on {compared.network}"
        if len(compared.orders) == 1 and (order := compared.orders[0]).payee:
            about = f"{order.amount} {order.invoice_currency} to {order.payee}"
        name = f"payerkit {compared.payment.payment_reference or 'payment'}"
        Path(path).write_text(_builder_text([self], read_address(safe, "safe"), name, about), "utf-8")

    def hashes(self, *, safe: str, nonce: int, version: str, multi_send: str | None) -> SafeHashes:
        """Return the hashes that `Payment.safe_hashes` documents."""
        release = version.removesuffix("+L2")
        if release not in VERSIONS:
            raise InvalidInput(f"version: expected one of {', '.join(VERSIONS)}, got {version!r}.")
        if type(nonce) is not int or not 0 <= nonce < 2**256:
            raise InvalidInput("nonce: give the Safe's nonce as a whole number; the Safe app shows it.")
        call, *others = self.calls
        if others:
            call = _batch(self.calls, _multi_send_of(release, str(self.compared.network), multi_send))
        chain = (_PLAIN_DOMAIN,) if release in _WITHOUT_CHAIN else (_CHAIN_DOMAIN, self.chain_id)
        domain = _struct_hash(*chain, int(read_address(safe, "safe"), 16))
        words = int(call.to, 16), call.value, int.from_bytes(keccak(call.data)), call.operation
        message = _struct_hash(_SAFE_TX, *words, 0, 0, 0, 0, 0, nonce)  # without refunds
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


@without_internal_frames
def write_safe_files(  # noqa: PLR0913 - what payments are compared with, each by name
    payments: Iterable[Source] | Mapping[str, Source] | pd.Series[Any] | str | Path,
    folder: str | Path,
    *,
    safe: str | Mapping[str, str],
    policy: PaymentPolicy | None = None,
    rate: Decimal | int | str | None = None,
    now: datetime | None = None,
    client: KnowsPaid | None = None,
    anyway: bool = False,
) -> pd.DataFrame:
    """Write many payments to files for Safe's Transaction Builder, one per network, replacing existing ones.

    The payments are checked as `check_payments` does it, so that what was perhaps paid already is refused. The Safe of
    a network makes all of its transactions as one batch, in their order: if one fails, none is made. Nothing is sent.

    Args:
        payments: Payments, or paths of saved ones, or their folder, as `check_payments` takes them.
        folder: Where to write `safe-NETWORK.json`; it is made if it does not exist.
        safe: The address of the Safe that pays; a dict by network if it is not the same on each.
        policy, rate, now, client: What the payments are compared with, as `check_payments` takes them.
        anyway: Write them although the verdict of a payment is "stop".

    Returns:
        One row per file: network, path (string), payments, transactions (int64).

    Raises:
        InvalidInput: The verdict of a payment is "stop", its network is not known, a transaction cannot be read, or an
            argument is invalid. Nothing was written.
        OSError: A file cannot be written.

    Example:
        >>> samples["honest"].save("monday.json")
        >>> write_safe_files(["monday.json"], "safe", safe="0x111CEEee040739fD91D29C34C33E6B3E112F2177")["path"][0]
        'safe/safe-sepolia.json'
    """
    from payerkit.payment.check_many import checked_payments  # noqa: PLC0415 - it loads pandas

    labels, checked = checked_payments(payments, policy=policy, rate=rate, now=now, client=client)
    if not checked:
        raise InvalidInput("payments: the list is empty.")
    batches: dict[str, list[SafeBatch]] = {}
    for label, each in zip(labels, checked, strict=True):
        with located(f"payments: {label}"):
            if each.compared is None:
                raise InvalidInput(each.findings[0].message)
            batch = SafeBatch(each.compared, each.findings, anyway=anyway)
        batches.setdefault(str(each.compared.network), []).append(batch)
    texts, written = {}, []
    for network, same in sorted(batches.items()):
        if isinstance(safe, Mapping) and network not in safe:
            raise InvalidInput(f"safe: give the address of the Safe on {networks()[network]}.")
        count, path = count_of(len(same), "payment"), Path(folder) / f"safe-{network}.json"
        address = read_address(safe[network] if isinstance(safe, Mapping) else safe, "safe")
        texts[path] = _builder_text(same, address, f"payerkit {count}", f"{count} on {network}")
        written.append((network, str(path), len(same), sum(len(each.calls) for each in same)))
    Path(folder).mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, "utf-8")
    return frame_of(written, columns("network path payments transactions", int64="payments transactions"))
