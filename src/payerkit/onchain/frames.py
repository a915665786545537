"""The steps of a payment as a DataFrame."""

from __future__ import annotations

from typing import Any

import pandas as pd

from payerkit.errors import without_internal_frames
from payerkit.html import visible
from payerkit.onchain.addresses import spelled
from payerkit.onchain.amounts import units
from payerkit.onchain.calldata import NOTES
from payerkit.onchain.currencies import find_by_hash
from payerkit.onchain.effects import Effect
from payerkit.onchain.transactions import DecodedTransaction, asset, contract_name, network_of, read_steps

TEXTS = (
    "network",
    "contract",
    "to",
    "function",
    "selector",
    "does",
    "token",
    "recipient",
    "fee_recipient",
    "reference",
    "spender",
    "note",
)
COLUMNS = (
    "step",
    "place",
    "network",
    "contract",
    "to",
    "function",
    "selector",
    "does",
    "token",
    "recipient",
    "amount",
    "amount_base",
    "fee",
    "fee_base",
    "fee_recipient",
    "reference",
    "value",
    "spender",
    "allowance",
    "max_to_spend",
    "canonical",
    "note",
)
"""The columns of decoded transactions, in their order."""


@without_internal_frames
def decode_transactions(payment: Any, *, network: str | None = None) -> pd.DataFrame:
    """Return what the transactions of a payment do: one row a call, and one a payment of a batch.

    network: where they are to be sent, if the payment does not remember its order, or to look at another one.

    step: of the transactions, counted from 0; place: in a batch. contract: name and version of what is deployed at
    `to` on the network, or the token there; <NA> if nothing known is. amount, fee: Decimal, in units of the token, None
    where its decimals are not known. amount_base, fee_base, allowance, max_to_spend, value: int, in base units and
    wei. For payments that are converted when they are executed, amount and fee are of the request's currency, and
    `note` says so. canonical: whether the arguments explain every byte.

    Nothing is dropped: what cannot be read is a row with a note. Raises InvalidInput for
    what is no payment, and for a network that no table has.
    """
    steps = read_steps(payment)
    place = network_of(getattr(payment, "order", None), network or getattr(payment, "network", None))
    rows = [row for step in steps for row in _rows(step, place)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS), dtype="object")
    return frame.astype({"step": "int64", "place": "Int64", "canonical": "boolean"} | dict.fromkeys(TEXTS, "string"))


def _rows(step: DecodedTransaction, network: str | None) -> list[dict[str, Any]]:
    function, note = step.call.function, NOTES[step.call.code]
    shared = dict.fromkeys(COLUMNS) | {
        "step": step.number,
        "network": network,
        "contract": contract_name(step, network),
        "to": None if step.to is None else visible(str(step.to)),
        "function": function.name if function else None,
        "selector": step.call.selector or None,
        "value": step.value,
        "canonical": step.call.canonical,
        "note": note,
    }
    return [shared | _columns(line, network, note) for line in step.lines] or [shared]


def _columns(line: Effect, network: str | None, note: str) -> dict[str, Any]:
    token = asset(line.token, network)
    decimals = _decimals(line, token)
    converted = "Converted when it is executed: amount and fee are in units of the request's currency."
    return {
        "place": line.place,
        "does": line.does,
        "token": token.id if token else spelled(line.token),
        "recipient": spelled(line.recipient),
        "amount": units(line.amount, decimals),
        "amount_base": line.amount,
        "fee": units(line.fee, decimals),
        "fee_base": line.fee,
        "fee_recipient": spelled(line.fee_recipient),
        "reference": None if line.reference is None else f"0x{line.reference.hex()}",
        "spender": spelled(line.spender),
        "allowance": line.allowance,
        "max_to_spend": line.max_to_spend,
        "note": " ".join(words for words in (converted if line.unit == "request" else "", line.fault, note) if words),
    }


def _decimals(line: Effect, token: Any) -> int | None:
    if line.unit == "request":
        currency = find_by_hash(line.path[0]) if line.path else None
        return None if currency is None else 8 if currency.kind == "fiat" else 18
    return None if token is None else token.decimals
