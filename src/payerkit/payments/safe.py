"""Hand checked payments to a Safe: as files for its Transaction Builder, or as the
hashes that its owners compare.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from payerkit._tsv import rows
from payerkit.disk import save_file
from payerkit.errors import InvalidInput, located, without_internal_frames
from payerkit.frames import columns, frame_of
from payerkit.models.payments import ComparedWith, KnowsPaid, Payment
from payerkit.payments.against import Against
from payerkit.payments.check import CheckedPayment, full_check
from payerkit.payments.onchain.addresses import (
    address_problem,
    keccak,
    read_address,
    with_checksum,
)
from payerkit.payments.onchain.currencies import networks
from payerkit.payments.transactions import DecodedTransaction
from payerkit.wording import count_of, visible

if TYPE_CHECKING:
    import pandas as pd

    from payerkit.findings import Finding
    from payerkit.payments.check_many import Source
    from payerkit.payments.payment_policy import PaymentPolicy


class SafeCall(NamedTuple):
    """A call that a Safe makes. operation: 0 for a call, 1 for a delegate call. value:
    in wei.
    """

    to: str
    value: int
    data: bytes
    operation: int = 0


_NOT_BYTES = {"missing", "not_hex", "elided", "odd", "too_long"}
"""Codes of calldata that is not a sequence of bytes, so that no Safe can send it."""


def _safe_call(transaction: DecodedTransaction) -> SafeCall:
    """Return a transaction as a call. Raises InvalidInput for one that cannot be sent
    as it is.
    """
    to = transaction.to
    name = f"transaction {transaction.index + 1}"
    if to is None or address_problem(to):
        raise InvalidInput(f"{name}: `to` is not a valid address.")
    if transaction.value is None:
        raise InvalidInput(f"{name}: its value cannot be read.")
    if transaction.call.code in _NOT_BYTES:
        raise InvalidInput(f"{name}: its calldata cannot be read.")
    return SafeCall(with_checksum(to), transaction.value, transaction.call.data)


def _chain_id_of(network: str | None) -> int:
    """Return the chain id of a network. Raises InvalidInput if it is not known."""
    if network is None:
        raise InvalidInput("network: not known; name it, such as network='sepolia'.")
    chain_id = networks()[network].chain_id
    if chain_id is None:
        raise InvalidInput(f"network: the chain id of {network} is not known.")
    return chain_id


BUILDER_VERSION = "1.18.3"
"""The version of Safe's Transaction Builder whose files are written."""


def _builder_text(
    calls: Iterable[SafeCall], against: Against, safe: str, name: str, about: str
) -> str:
    """Return calls of one Safe as a file for its Transaction Builder, with its
    checksum.
    """
    content: dict[str, Any] = {
        "version": "1.0",
        "chainId": str(_chain_id_of(against.network)),
        "createdAt": round(against.now.timestamp() * 1000),
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
                "data": _hex(call.data),
                "contractMethod": None,
                "contractInputsValues": None,
            }
            for call in calls
        ],
    }
    # What the Transaction Builder compares, to tell whether a file was modified; the
    # name is left out.
    hashed = _serialized({**content, "meta": {**content["meta"], "name": None}})
    content["meta"]["checksum"] = _hex(keccak(hashed.encode()))
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


_compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def _serialized(value: Any) -> str:
    """Return JSON in the form that the Transaction Builder hashes."""
    if isinstance(value, dict):
        keys = sorted(value)
        values = "".join(f"{_serialized(value[key])}," for key in keys)
        return f"{{{_compact(keys)}{values}}}"
    if isinstance(value, list):
        items = [_serialized(item) for item in value]
        return f"[{','.join(items)}]"
    return _compact(value)


_MULTI_SEND = bytes.fromhex("8d80ff0a")
"""The selector of multiSend(bytes)."""

_DOMAIN = "EIP712Domain(uint256 chainId,address verifyingContract)"
_SAFE_TX = (
    "SafeTx(address to,uint256 value,bytes data,uint8 operation,uint256"
    " safeTxGas,uint256 baseGas,uint256 gasPrice,address gasToken,address"
    " refundReceiver,uint256 nonce)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeHashes:
    """What the owners of a Safe compare on their devices before they sign.

    The hashes are those of a transaction without refunds, as the Safe app makes them.

    Attributes:
        safe_tx_hash: The hash that is signed, which the Safe app shows.
        domain_hash: Of the Safe and of the chain; many devices show it with
            `message_hash`.
        message_hash: Of the transaction, with its nonce.
        to: What the Safe calls: the contract, or MultiSendCallOnly for several
            transactions at once.
        value: The native value of that call, in wei.
        operation: 0 for a call, 1 for a delegate call, which several transactions at
            once need.
        nonce: The Safe's nonce.
        calldata_digest: The calldata digest (ERC-8213) of that call: the keccak-256 of
            the length of its calldata, and the calldata.

    Example:
        >>> payment = initiate_payment(client, order)
        >>> hashes = payment.safe_hashes(
        ...     safe="0x111CEEee040739fD91D29C34C33E6B3E112F2177", nonce=7
        ... )
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
        return "\n".join(
            f"{field.name:<16} {getattr(self, field.name)}" for field in fields(self)
        )

    __repr__ = __str__


VERSIONS = ("1.3.0", "1.4.1", "1.5.0")
"""The versions of Safe's contracts whose hashes are known here
(safe-global/safe-deployments 1.37.56). The hashes of older ones do not name the chain.
"""


def _multi_send_of(version: str, network: str) -> str:
    """Return the address of MultiSendCallOnly, which a Safe calls for several
    transactions at once.
    """
    for row in rows(__package__, "safe_multi_send"):
        if (row["version"], row["network"]) == (version, network):
            return str(row["multi_send"])
    raise InvalidInput(
        f"version: no MultiSendCallOnly of {version} is known on {network}. Hand over"
        " one transaction at a time."
    )


def _batch(calls: Sequence[SafeCall], multi_send: str) -> SafeCall:
    """Return the delegate call of MultiSendCallOnly that makes several calls."""
    from eth_abi import encode  # noqa: PLC0415 - takes ten times as long to import as payerkit
    from eth_abi.packed import encode_packed  # noqa: PLC0415 - likewise

    types = ("uint8", "address", "uint256", "uint256", "bytes")
    packed = [
        encode_packed(
            types, (call.operation, call.to, call.value, len(call.data), call.data)
        )
        for call in calls
    ]
    data = _MULTI_SEND + encode(["bytes"], [b"".join(packed)])
    return SafeCall(multi_send, 0, data, operation=1)


def _struct_hash(kind: str, *members: int) -> bytes:
    """Return the hash of a typed structure (EIP-712) whose members are words."""
    words = [member.to_bytes(32) for member in members]
    return keccak(keccak(kind.encode()) + b"".join(words))


def _hex(data: bytes) -> str:
    return f"0x{data.hex()}"


def _calls_of(
    checked: CheckedPayment, findings: Iterable[Finding], *, anyway: bool
) -> list[SafeCall]:
    """Return the transactions of a payment that was checked, which a Safe makes at
    once; those that stand elsewhere in its response are left out.

    As the verdict is about all of them, this raises InvalidInput if there are some, or
    if the verdict is "stop", unless `anyway`; and if there is nothing that a Safe could
    make, or its network is not known.
    """
    stop = next((each.message for each in findings if each.severity == "error"), "")
    if stop and not anyway:
        raise InvalidInput(
            f"The verdict is stop: {stop} Nothing was prepared for the Safe. "
            "check_payment has all findings; anyway=True overrules them."
        )
    effects = checked.effects
    own = len(effects.payment.transactions)
    if effects.transactions[own:] and not anyway:
        origin = visible(effects.transactions[own].origin)[:80]
        raise InvalidInput(
            f"A transaction is not in the response's list, but in {origin}: the Safe"
            " would not send it. Nothing was prepared. anyway=True leaves it out."
        )
    if not own:
        raise InvalidInput("payment: it has no transactions.")
    _chain_id_of(checked.against.network)  # An unknown network is an error, too.
    return [_safe_call(each) for each in effects.transactions[:own]]


def write_safe_file(
    payment: Payment,
    path: str | Path,
    *,
    safe: str,
    anyway: bool,
    **given: Unpack[ComparedWith],
) -> None:
    """Write the file that `Payment.to_safe` documents."""
    checked = full_check(payment, **given)
    calls = _calls_of(checked, checked.findings, anyway=anyway)
    against = checked.against
    count = count_of(len(checked.effects.payments), "payment")
    about = f"{count} on {against.network}"
    if len(against.orders) == 1 and against.orders[0].payee:
        order = against.orders[0]
        about = f"{order.amount} {order.invoice_currency} to {order.payee}"
    name = f"payerkit {payment.payment_reference or 'payment'}"
    address = read_address(safe, "safe")
    save_file(path, _builder_text(calls, against, address, name, about))


def find_safe_hashes(
    payment: Payment,
    *,
    safe: str,
    nonce: int,
    version: str,
    anyway: bool,
    **given: Unpack[ComparedWith],
) -> SafeHashes:
    """Return the hashes that `Payment.safe_hashes` documents."""
    checked = full_check(payment, **given)
    calls = _calls_of(checked, checked.findings, anyway=anyway)
    network = checked.against.network
    release = version.removesuffix("+L2")
    if release not in VERSIONS:
        raise InvalidInput(
            f"version: expected one of {', '.join(VERSIONS)}, got {version!r}."
        )
    if type(nonce) is not int or not 0 <= nonce < 2**256:
        raise InvalidInput(
            "nonce: give the Safe's nonce as a whole number; the Safe app shows it."
        )
    call = calls[0]
    if len(calls) > 1:
        call = _batch(calls, _multi_send_of(release, str(network)))
    address = int(read_address(safe, "safe"), 16)
    domain = _struct_hash(_DOMAIN, _chain_id_of(network), address)
    words = (
        int(call.to, 16),
        call.value,
        int.from_bytes(keccak(call.data)),
        call.operation,
    )
    no_refund = (0, 0, 0, 0, 0)
    message = _struct_hash(_SAFE_TX, *words, *no_refund, nonce)
    return SafeHashes(
        safe_tx_hash=_hex(keccak(b"\x19\x01" + domain + message)),
        domain_hash=_hex(domain),
        message_hash=_hex(message),
        to=call.to,
        value=call.value,
        operation=call.operation,
        nonce=nonce,
        calldata_digest=_hex(keccak(len(call.data).to_bytes(32) + call.data)),
    )


@without_internal_frames
def write_safe_files(
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
    """Write many payments to files for Safe's Transaction Builder, one per network,
    replacing existing ones.

    The payments are checked as `check_payments` does it, so that what was perhaps paid
    already is refused. The Safe of a network makes all of its transactions as one
    batch, in their order: if one fails, none is made. Nothing is sent.

    Args:
        payments: Payments, or paths of saved ones, or their folder, as `check_payments`
            takes them.
        folder: Where to write `safe-NETWORK.json`; it is made if it does not exist.
        safe: The address of the Safe that pays; a dict by network if it is not the same
        on each. policy, rate, now, client: What the payments are compared with, as
        `check_payments` takes them.
        anyway: Write them although the verdict of a payment is "stop".

    Returns:
        One row per file: network, path (string), payments, transactions (int64).

    Raises:
        InvalidInput: The verdict of a payment is "stop", its network is not known, a
            transaction cannot be read, or an argument is invalid. Nothing was written.
        OSError: A file cannot be written.

    Example:
        >>> samples["honest"].save("monday.json")
        >>> write_safe_files(
        ...     ["monday.json"],
        ...     "safe",
        ...     safe="0x111CEEee040739fD91D29C34C33E6B3E112F2177",
        ... )["path"][0]
        'safe/safe-sepolia.json'
    """
    from payerkit.payments.check_many import checked_payments  # noqa: PLC0415 - it loads pandas

    labels, rows = checked_payments(
        payments, policy=policy, rate=rate, now=now, client=client
    )
    if not rows:
        raise InvalidInput("payments: the list is empty.")
    batches: dict[str, list[tuple[Against, list[SafeCall]]]] = {}
    for label, each in zip(labels, rows, strict=True):
        with located(f"payments: {label}"):
            if each.checked is None:
                raise InvalidInput(each.findings[0].message)
            calls = _calls_of(each.checked, each.findings, anyway=anyway)
        against = each.checked.against
        batches.setdefault(str(against.network), []).append((against, calls))
    texts = {}
    written = []
    for network, batch in sorted(batches.items()):
        given = safe.get(network) if isinstance(safe, Mapping) else safe
        if given is None:
            raise InvalidInput(
                f"safe: give the address of the Safe on {networks()[network]}."
            )
        address = read_address(given, "safe")
        count = count_of(len(batch), "payment")
        calls = [*chain.from_iterable(calls for _, calls in batch)]
        path = Path(folder) / f"safe-{network}.json"
        texts[path] = _builder_text(
            calls, batch[0][0], address, f"payerkit {count}", f"{count} on {network}"
        )
        written.append((network, str(path), len(batch), len(calls)))
    Path(folder).mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        save_file(path, text)
    return frame_of(
        written,
        columns("network path payments transactions", int64="payments transactions"),
    )
