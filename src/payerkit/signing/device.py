"""What a signing device shows for a transaction of which it has no descriptor: little, but enough to compare."""

from __future__ import annotations

from payerkit.onchain.addresses import keccak, with_checksum
from payerkit.onchain.amounts import format_number, to_units
from payerkit.onchain.currencies import Currency, native_currency, networks
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


_UNLIMITED = 2**255
"""Devices call an allowance unlimited from here on (ERC-7730, descriptor of ERC-20 tokens: threshold 0x80...0)."""


def device_lines(transaction: DecodedTransaction, network: str | None, token: Currency | None) -> tuple[str, ...]:
    """Return what a signing device shows for a transaction of which it has no descriptor, one line each.

    The first line says whether the device can read the transaction. Devices read plain transfers, and `approve` and
    `transfer` of tokens; of everything else they show bytes. token: that which the transaction goes to, if it is known.
    """
    if digest_of(transaction) is None:
        return ("Nothing can be shown: the calldata cannot be read.",)
    shown = _readable(transaction, token)
    first = shown or ("Bytes only (blind signing): compare the calldata digest.",)
    digest = () if shown else (f"Calldata digest: {digest_of(transaction)}",)
    return (*first, *digest, *_envelope(transaction, network))


_READABLE = {
    "approve": ("Approve", "allowance", "Spender", "spender"),
    "transfer": ("Send", "amount", "To", "recipient"),
}
"""Functions of tokens that devices read: their word for it, the amount, and the title and argument of the address."""


def _readable(transaction: DecodedTransaction, token: Currency | None) -> tuple[str, ...]:
    """Return the lines of a call that devices read by themselves; none for any other."""
    call = transaction.call
    if call.code == "empty":
        return ("A plain transfer.",)
    if call.function is None or call.arguments is None or not call.canonical or call.function.contracts != ("ERC20",):
        return ()
    if call.function.name not in _READABLE:
        return ()
    verb, amount, title, address = _READABLE[call.function.name]
    much, to_whom = _token_amount(call.arguments[amount], token), _shown(call.arguments[address])
    return (f"{verb}: the device reads this call.", f"Amount: {much}", f"{title}: {to_whom}")


def _token_amount(base: int, token: Currency | None) -> str:
    """Return an amount as a device shows it, with the token's symbol."""
    symbol = "an unknown token" if token is None else token.symbol
    if base >= _UNLIMITED:
        return f"Unlimited {symbol}"
    units = to_units(base, None if token is None else token.decimals)
    if units is None:
        return f"{base} base units of {symbol}"
    return f"{format_number(units)} {symbol} ({base} base units, if the device does not know the token)"


def _envelope(transaction: DecodedTransaction, network: str | None) -> tuple[str, ...]:
    """Return the lines of what surrounds the calldata, and what its digest does not cover."""
    chain = "not known" if network is None else str(networks()[network])
    return (
        f"{'Contract' if transaction.call.data else 'To'}: {_shown(transaction.to)}",
        f"Value: {value_text(transaction.value, network)}",
        f"Network: {chain}",
    )


def value_text(value: int | None, network: str | None) -> str:
    """Return the native value of a transaction with the symbol of the network's coin, in wei if that is not known."""
    if value is None:
        return "cannot be read"
    coin = None if network is None else native_currency(network)
    units = to_units(value, coin.decimals if coin else None)
    return f"{value} wei" if units is None or coin is None else f"{format_number(units)} {coin.ticker}"


def _shown(address: str | None) -> str:
    return "none" if address is None else str(with_checksum(address))[:80]
