"""Descriptors for clear signing (ERC-7730): with them, wallets show a payment in words instead of bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from payerkit._tsv import rows
from payerkit.onchain.abi import AbiType, parse_signature
from payerkit.onchain.deployments import Deployment, deployments
from payerkit.onchain.functions import Function, functions
from payerkit.onchain.networks import networks
from payerkit.wording import in_words

Json = dict[str, Any]

SCHEMA = "../../specs/erc7730-v2.schema.json"
"""The schema of the descriptors, as the registry of clear signing names it in every descriptor."""

_ORDER = (
    "value",
    "kind",
    "amount",
    "path",
    "token",
    "max_to_spend",
    "recipient",
    "fee",
    "fee_recipient",
    "reference",
    "max_rate_age",
    "paths_to_usd",
    "skip_fee_limit",
)
"""The order in which a wallet shows arguments, by their names in functions.tsv; value: the native value."""

_NOT_ITERATED = {"path", "paths_to_usd"}
"""Arguments that are lists of one payment; every other list has one item a payment."""

_KINDS = {
    "0": "Tokens, converted",
    "1": "One token",
    "2": "Tokens",
    "3": "Coins",
    "4": "Coins, converted",
}
"""The groups of BatchConversionPayments by their payment network ids."""


def write_clear_signing(folder: str | Path) -> list[Path]:
    """Write descriptors for clear signing (ERC-7730), one file per payment contract, replacing existing ones.

    With them, a wallet or signing device shows payee, amount and fee of a payment instead of bytes. They are made from
    payerkit's tables and valid against version 2 of the published schema; wallets take them from a registry, in which
    no one has put descriptors of these contracts yet.

    Args:
        folder: Where to write them; it is made if it does not exist.

    Returns:
        The paths of the files, named as the registry demands.

    Raises:
        OSError: A file cannot be written.

    Example:
        >>> [path.name for path in write_clear_signing("clear-signing")][:2]
        ['calldata-BatchConversionPayments.json', 'calldata-BatchPayments.json']
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    written = []
    for contract, content in descriptors().items():
        path = place / f"calldata-{contract}.json"
        path.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
        written.append(path)
    return written


@cache
def described_functions() -> Mapping[bytes, str]:
    """Return the signatures of the functions that are described, with the contracts' own names, by selector."""
    return {bytes.fromhex(row["selector"][2:]): row["signature"] for row in rows(__package__, "clear_signing")}


@cache
def descriptors() -> Mapping[str, Json]:
    """Return the descriptors by contract."""
    formats: dict[str, Json] = {}
    for row in rows(__package__, "clear_signing"):
        function = functions()[bytes.fromhex(row["selector"][2:])]
        for contract in function.contracts:
            formats.setdefault(contract, {})[row["signature"]] = _format(function, row["intent"], row["signature"])
    deployed = {contract: _deployments(contract) for contract in sorted(formats)}
    return {name: _descriptor(name, places, formats[name]) for name, places in deployed.items() if places}


def _descriptor(contract: str, places: list[Json], formats: Json) -> Json:
    enums = {"paymentKind": _KINDS} if any("paymentNetworkId" in signature for signature in formats) else {}
    return {
        "$schema": SCHEMA,
        "context": {"$id": contract, "contract": {"deployments": places}},
        "metadata": {
            "owner": "Request Network",
            "contractName": contract,
            "info": {"url": "https://request.network"},
            **({"enums": enums} if enums else {}),
        },
        "display": {"formats": formats},
    }


def _deployments(contract: str) -> list[Json]:
    """Return where a contract is, each chain and address once: versions of a contract can share an address."""
    found = [each for (name, _), versions in deployments().items() if name == contract for each in versions]
    places = {(chain_id, each.address) for each in found if (chain_id := _chain_id(each)) is not None}
    return [{"chainId": chain_id, "address": address} for chain_id, address in sorted(places)]


def _chain_id(deployment: Deployment) -> int | None:
    return networks()[deployment.network].chain_id


def _format(function: Function, intent: str, signature: str) -> Json:
    """Return how a function is shown.

    Without an interpolatedIntent: a wallet may show that sentence alone, and a fee has no room in it.
    """
    paths = dict(_paths(function.arguments, parse_signature(signature)[1]))
    if function.payable:
        paths["value"] = "@.value"
    fields = [_field(name, paths, function) for name in sorted(paths, key=_ORDER.index)]
    return {"intent": intent, "fields": _grouped(fields)}


def _paths(ours: AbiType, theirs: AbiType, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield each argument by payerkit's name, with its path by the contract's names."""
    for part, other in zip(ours.parts, theirs.parts, strict=True):
        path = f"{prefix}{other.name}"
        if part.kind == "array" and part.name not in _NOT_ITERATED:
            path += ".[]"
        item = part.parts[0] if part.kind == "array" else part
        if item.kind == "tuple":
            yield from _paths(item, other.parts[0] if other.kind == "array" else other, f"{path}.")
        else:
            yield part.name, path


def _grouped(fields: list[Json]) -> list[Json]:
    """Return fields with those of a batch's payments in one group, so that they are shown payment by payment."""
    depth = max(field["path"].count(".[]") for field in fields)
    if not depth:
        return fields
    of_each = [field for field in fields if field["path"].count(".[]") == depth]
    group = {"label": "Payments", "iteration": "bundled", "fields": of_each}
    return [group if field is of_each[0] else field for field in fields if field not in of_each[1:]]


def _field(name: str, paths: Mapping[str, str], function: Function) -> Json:
    """Return how an argument is shown."""
    path, unit = paths[name], function.unit
    match name:
        case "value":
            return {"path": path, "label": _value_label(paths, unit), "format": "amount"}
        case "amount" | "fee":
            return _amount(name.capitalize(), path, paths, unit)
        case "recipient" | "fee_recipient":
            label = "Payee" if name == "recipient" else "Fee to"
            return {"path": path, "label": label, "format": "addressName", "params": {"types": _ANYBODY}}
        case "token":
            return {"path": path, "label": "Token", "format": "addressName", "params": {"types": ["token"]}}
        case "reference":
            return {"path": path, "label": "Reference", "format": "raw"}
        case "kind":
            params = {"$ref": "$.metadata.enums.paymentKind"}
            return {"path": path, "label": "Paid in", "format": "enum", "params": params}
        case _:
            return _detail(name, path, paths, unit)


_ANYBODY = ["wallet", "eoa", "contract"]
"""A payee can be any account: a wallet, somebody else's, or a contract such as a Safe."""


def _detail(name: str, path: str, paths: Mapping[str, str], unit: str) -> Json:
    """Return how an argument is shown that matters only in some functions."""
    is_converted = unit in {"request", "by kind"}
    if name == "path" and is_converted:
        return {"path": f"{path}.[0]", "label": "Request currency", "format": "raw"}
    if name == "path" and unit == "token":
        return {"path": f"{path}.[0]", "label": "Token", "format": "addressName", "params": {"types": ["token"]}}
    if name == "max_to_spend" and is_converted:
        return _token_amount("Spend at most", path, f"{paths['path']}.[-1]")
    if name == "max_rate_age" and is_converted:
        return {"path": path, "label": "Oldest rate", "format": "duration"}
    labels = {"paths_to_usd": "Fee limit paths", "skip_fee_limit": "Without fee limit", "path": "Path"}
    label = labels.get(name, in_words(name).capitalize())
    return {"path": path, "label": label, "format": "raw", "visible": "never"}


def _value_label(paths: Mapping[str, str], unit: str) -> str:
    """Return what the native value is: the amount, or what may be spent of it."""
    if unit == "native" and "amount" not in paths:
        return "Total with fee" if "fee" in paths else "Amount"
    return "Coins at most" if unit == "by kind" else "Spend at most"


def _amount(label: str, path: str, paths: Mapping[str, str], unit: str) -> Json:
    if unit == "native":
        return {"path": path, "label": label, "format": "amount"}
    if unit == "token":
        return _token_amount(label, path, paths.get("token") or f"{paths['path']}.[0]")
    # The decimals are those of the request's currency, which no wallet knows.
    return {"path": path, "label": f"{label} (raw)", "format": "raw"}


def _token_amount(label: str, path: str, token: str) -> Json:
    return {"path": path, "label": label, "format": "tokenAmount", "params": {"tokenPath": token}}
