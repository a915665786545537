"""What a wallet shows for a payment if it has payerkit's descriptor of the contract: the descriptor, carried out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from payerkit.onchain.abi import AbiType, parse_signature
from payerkit.onchain.addresses import with_checksum
from payerkit.onchain.amounts import format_number, to_units
from payerkit.policy.payment_policy import NO_POLICY, PaymentPolicy
from payerkit.review.transactions import DecodedTransaction, contract_at
from payerkit.signing.clear_signing_descriptors import described_functions, descriptors
from payerkit.signing.device import value_text

Json = Mapping[str, Any]


def clear_signing_lines(
    transaction: DecodedTransaction, network: str | None, policy: PaymentPolicy = NO_POLICY
) -> tuple[str, ...]:
    """Return what a wallet with payerkit's descriptors shows for a transaction, one line each.

    None if there is no descriptor for it: wallets then show what `device_lines` says, an approval in words too.
    """
    call = transaction.call
    if network is None or call.function is None or call.arguments is None or not call.canonical:
        return ()
    contract = contract_at(transaction.to, network, call.function.contracts)
    signature = described_functions().get(call.function.selector)
    if contract is None or signature is None or contract.contract not in call.function.contracts:
        return ()
    descriptor = descriptors().get(contract.contract, {})
    shown = descriptor["display"]["formats"][signature]
    names = parse_signature(signature)[1]
    data = _renamed(call.function.arguments, names, call.arguments) | {"@": {"value": transaction.value}}
    wallet = _Wallet(data, descriptor, network, policy)
    try:
        lines = wallet.lines(shown["fields"])
    except _NotShownError:
        return ()
    return (f"{shown['intent']}: {descriptor['metadata']['owner']}, {contract.contract}", *lines)


class _NotShownError(ValueError):
    """The descriptor does not fit the call, so that a wallet shows bytes."""


def _renamed(ours: AbiType, theirs: AbiType, value: Any) -> Any:
    """Return decoded arguments by the contract's names."""
    if ours.kind == "tuple":
        pairs = zip(ours.parts, theirs.parts, strict=True)
        return {other.name: _renamed(part, other, value[part.name]) for part, other in pairs}
    if ours.kind == "array":
        return [_renamed(ours.parts[0], theirs.parts[0], item) for item in value]
    return value


class _Wallet:
    """A wallet that shows a call by its descriptor, as far as payerkit's descriptors go."""

    def __init__(self, data: Json, descriptor: Json, network: str, policy: PaymentPolicy) -> None:
        self._data = data
        self._enums = descriptor["metadata"].get("enums", {})
        self._network = network
        self._policy = policy
        self._formats: Mapping[str, Callable[[Any, Any, Json], str]] = {
            "raw": lambda value, _token, _params: _raw(value),
            "addressName": lambda value, _token, _params: str(with_checksum(value)),
            "amount": lambda value, _token, _params: value_text(value, network),
            "duration": lambda value, _token, _params: f"{value // 3600:02}:{value // 60 % 60:02}:{value % 60:02}",
            "enum": lambda value, _token, params: self._enum(value, params),
            "tokenAmount": lambda value, token, _params: self._token_amount(value, token),
        }

    def lines(self, fields: list[Json]) -> list[str]:
        """Return the lines of fields, and of groups payment by payment."""
        found = []
        for field in fields:
            columns = [self._field(each) for each in field.get("fields", [field]) if each.get("visible") != "never"]
            found += [line for row in zip(*_one_length(columns), strict=True) for line in row]
        return found

    def _field(self, field: Json) -> list[str]:
        """Return the lines of a field, one for each value that its path leads to."""
        params = field.get("params", {})
        values = self._values(field["path"])
        tokens = self._values(params["tokenPath"]) if "tokenPath" in params else [None]
        if len(tokens) == 1:
            tokens *= len(values)
        if len(tokens) != len(values):
            raise _NotShownError
        shown = [self._formats[field["format"]](*pair, params) for pair in zip(values, tokens, strict=True)]
        if ".[]" not in field["path"]:
            return [f"{field['label']}: {text}" for text in shown]
        return [f"{field['label']} {place}: {text}" for place, text in enumerate(shown, 1)]

    def _values(self, path: str) -> list[Any]:
        """Return the values that a path leads to: several if it goes through all items of an array."""
        found: list[Any] = [self._data]
        for step in path.split("."):
            if step == "[]":
                found = [item for each in found for item in each]
            elif step.startswith("["):
                found = [_item(each, int(step[1:-1])) for each in found]
            else:
                found = [each[step] for each in found]
        return found

    def _enum(self, value: Any, params: Json) -> str:
        name = params["$ref"].rpartition(".")[2]
        if str(value) not in self._enums[name]:
            raise _NotShownError
        return str(self._enums[name][str(value)])

    def _token_amount(self, value: int, address: str) -> str:
        token = self._policy.find_token(self._network, address)
        units = to_units(value, None if token is None else token.decimals)
        if token is None or units is None:
            return f"{value} (unknown token)"
        return f"{format_number(units)} {token.symbol}"


def _raw(value: Any) -> str:
    return f"0x{value.hex()}" if isinstance(value, bytes) else str(with_checksum(value))


def _item(items: list[Any], index: int) -> Any:
    try:
        return items[index]
    except IndexError:
        raise _NotShownError from None


def _one_length(columns: list[list[str]]) -> list[list[str]]:
    """Return columns of one length; wallets refuse arrays of different lengths (ERC-7730, group format)."""
    if len({len(column) for column in columns}) > 1:
        raise _NotShownError
    return columns
