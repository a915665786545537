"""What a signing device shows for a transaction of which it has no descriptor: little, but enough to compare."""

from __future__ import annotations

from payerkit.onchain.addresses import keccak
from payerkit.onchain.amounts import format_number, to_units
from payerkit.onchain.currencies import native_currency, networks
from payerkit.payment.compare import DecodedTransaction

_NOT_BYTES = {"missing", "not_hex", "elided", "odd", "too_long"}
"""Codes of calldata that is not a sequence of bytes, so that it has no digest."""


def calldata_digest(data: bytes) -> str:
    """Return the keccak-256 of the length of calldata, as a 32-byte number, and the calldata (ERC-8213).

    It covers neither the contract, nor the value, nor the chain: compare these, too.
    """
    return f"0x{keccak(len(data).to_bytes(32) + data).hex()}"


def digest_of(transaction: DecodedTransaction) -> str | None:
    """Return the calldata digest of a transaction; None if its calldata is missing or cannot be read."""
    return None if transaction.call.code in _NOT_BYTES else calldata_digest(transaction.call.data)


_READABLE = {"approve": "Approve", "transfer": "Send"}
"""Functions of tokens that devices read, with their words for them."""


def device_lines(transaction: DecodedTransaction, network: str | None) -> tuple[str, ...]:
    """Return what a signing device shows for a transaction of which it has no descriptor, one line each.

    The first line says whether the device can read the transaction. Devices read plain transfers, and `approve` and
    `transfer` of tokens; of everything else they show bytes. Value and network are not part of the calldata digest.
    """
    call, function = transaction.call, transaction.call.function
    if digest_of(transaction) is None:
        return ("Nothing can be shown: the calldata cannot be read.",)
    first = "Bytes only (blind signing): compare the calldata digest."
    if call.code == "empty":
        first = "A plain transfer."
    elif function and call.canonical and function.contracts == ("ERC20",) and function.name in _READABLE:
        first = f"{_READABLE[function.name]}: the device reads this call."
    chain = "not known" if network is None else str(networks()[network])
    return (first, f"Value: {_value(transaction.value, network)}", f"Network: {chain}")


def _value(value: int | None, network: str | None) -> str:
    """Return the native value of a transaction with the symbol of the network's coin, in wei if that is not known."""
    if value is None:
        return "cannot be read"
    coin = None if network is None else native_currency(network)
    units = to_units(value, coin.decimals if coin else None)
    return f"{value} wei" if units is None or coin is None else f"{format_number(units)} {coin.ticker}"
