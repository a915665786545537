"""A payment's transactions as steps: what was sent, what it calls, what that does, on which network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from payerkit.errors import InvalidInput
from payerkit.onchain.calldata import DecodedCall, read_call
from payerkit.onchain.currencies import (
    Currency,
    currencies,
    currency_hash,
    find_currency,
    find_token,
    native_currency,
    tokens_at,
)
from payerkit.onchain.deployments import Deployment, deployments, deployments_at
from payerkit.onchain.effects import NATIVE, Effect, read_lines


@dataclass(frozen=True, slots=True)
class DecodedTransaction:
    """One transaction. number: counted from 0. to, data: as they were sent. value: in wei, None if it cannot be read.

    others: members that the specification does not know, by name.
    """

    number: int
    to: Any
    data: Any
    value: int | None
    is_value_given: bool
    others: Mapping[str, Any]
    call: DecodedCall
    lines: tuple[Effect, ...]


def read_steps(payment: Any) -> tuple[DecodedTransaction, ...]:
    """Return the steps of a payment, whatever its transactions are. Raises InvalidInput for what is no payment."""
    transactions = getattr(payment, "transactions", None)
    if not isinstance(transactions, list | tuple) or not all(hasattr(each, "wei") for each in transactions):
        raise InvalidInput(f"Give a Payment, as initiate_payment returns it; got a {type(payment).__name__}.")
    return tuple(_step(number, transaction) for number, transaction in enumerate(transactions))


def _step(number: int, transaction: Any) -> DecodedTransaction:
    is_given = getattr(transaction, "value", None) not in (None, "")
    value = transaction.wei if is_given else 0
    to = transaction.to if isinstance(transaction.to, str) else None
    call = read_call(transaction.data)
    lines = tuple(read_lines(call, to=to, value=value))
    others: Any = getattr(transaction, "model_extra", None)
    return DecodedTransaction(number, transaction.to, transaction.data, value, is_given, others or {}, call, lines)


def network_of(order: Any, network: Any = None) -> str | None:
    """Return the network that is named, or that the order's payment currency is of; None if neither says.

    Raises InvalidInput for a name that no table has.
    """
    if network is not None:
        if not isinstance(network, str) or network not in known_networks():
            raise InvalidInput(
                f"network: {network!r} is not known. Give one as payment currencies name it, such as matic."
            )
        return str(network)
    currency = None if order is None else find_currency(str(order.payment_currency))
    return currency.network if currency and currency.kind != "fiat" else None


def known_networks() -> frozenset[str]:
    """Return the networks that have a contract or a currency."""
    listed = {currency.network for currency in currencies().values() if currency.kind != "fiat"}
    return frozenset(listed | {network for _, network in deployments()})


def asset(token: str | None, network: str | None) -> Currency | None:
    """Return the token or coin that a line moves; None if the network or the token is not known."""
    if token is None or network is None:
        return None
    native = native_currency(network)
    if token == NATIVE:
        return native
    # The path of a conversion names a coin by its hash.
    return native if native and token.lower() == currency_hash(native) else find_token(network, token)


def contract_at(address: Any, network: str, among: Iterable[str] = ()) -> Deployment | None:
    """Return the contract that is deployed at an address of a network; of some names first, if they are given."""
    found = [each for each in deployments_at(str(address)) if each.network == network]
    return next((each for each in found if each.contract in among), found[0] if found else None)


def contract_name(step: DecodedTransaction, network: str | None) -> str | None:
    """Return what is known to stand at a step's address: a contract with its version, a token; None if nothing is.

    Without a network, only what is the same on all of them.
    """
    function = step.call.function
    if network is not None:
        contract, token = (
            contract_at(step.to, network, function.contracts if function else ()),
            asset(str(step.to), network),
        )
        name = f"{contract.contract} {contract.version}" if contract else None
        return name or (f"token {token.id}" if token else None)
    names = {each.contract for each in deployments_at(str(step.to))}
    names |= {token.id for token in tokens_at(str(step.to))}
    return names.pop() if len(names) == 1 else None
