"""Decoded transactions and calldata as DataFrames."""

from __future__ import annotations

from typing import Any

import pandas as pd

from payerkit.errors import InvalidInput, kind_of
from payerkit.frames import columns, frame_of
from payerkit.models.payments import Payment
from payerkit.payments.against import Against, read_against
from payerkit.payments.onchain.addresses import with_checksum
from payerkit.payments.onchain.amounts import effect_units
from payerkit.payments.onchain.calldata import (
    NOTES,
    DecodedCall,
    Effect,
    effects_of,
    read_call,
)
from payerkit.payments.payment_policy import PaymentPolicy
from payerkit.payments.transactions import DecodedTransaction, decode_payment
from payerkit.wording import visible

TRANSACTION_COLUMNS = columns(
    "does recipient amount token step place network contract to function selector"
    " recipient_name amount_base fee fee_base fee_recipient fee_recipient_name"
    " reference value spender allowance max_to_spend canonical note",
    int64="step",
    Int64="place",
    object="amount amount_base fee fee_base value allowance max_to_spend",
    boolean="canonical",
)
"""The columns of decoded transactions with their dtypes. Amounts are objects, as int64
cannot hold 2^256-1.
"""

CALLDATA_COLUMNS = columns(
    "place function selector does unit token recipient amount_base fee_base"
    " fee_recipient reference spender allowance max_to_spend canonical code",
    Int64="place",
    object="amount_base fee_base allowance max_to_spend",
    boolean="canonical",
)
"""The columns of decoded calldata with their dtypes: what is known without network,
address and value.
"""


def decode_transactions(
    payment: Payment, *, network: str | None = None, policy: PaymentPolicy | None = None
) -> pd.DataFrame:
    """Decode the transactions of a payment: who is paid or allowed how much, through
    which contract.

    Args:
        payment: A `Payment`, from `initiate_payment` or `read_payment`.
        network: The network that the transactions are for, such as "matic"; by default,
            that of the order, else the one that the response names.
        policy: Its address book and fees name wallets, and it may know further tokens.

    Returns:
        One row per call, and one per payment of a batch. A call that cannot be decoded
        is a row with a note. First come does, recipient, amount and token.

        - step (int64): the transaction, counted from 0; place (Int64): the payment in
          its batch, counted from 0
        - network, contract, to (string): contract is the name and version deployed at
          `to`, or the token there
        - function, selector, does (string): does is the effect in words, such as "pay"
          or "approve"
        - token, recipient, fee_recipient, reference, spender (string): token as a
          currency id, or as an address
        - recipient_name, fee_recipient_name (string): as the policy calls them; missing
          if it does not
        - amount, fee (object, Decimal): in whole units of the token; None if its
          decimals are not known. If the payment is converted on execution, in units of
          the request's currency, and the note tells so
        - amount_base, fee_base, allowance, max_to_spend, value (object, int): in base
          units, value in wei
        - canonical (boolean): whether the arguments account for every byte of the
          calldata
        - note (string): where a transaction stands that is not in `transactions`; why a
          call is not decoded or not canonical, would be rejected, or is converted

    Raises:
        InvalidInput: `payment` is not a payment, `policy` is not a policy, or the
            network is not known.

    Example:
        >>> payment = initiate_payment(client, order)
        >>> decode_transactions(payment)[["step", "does", "token", "amount"]]
           step does                token                amount
        0     0  pay  ETH-sepolia-sepolia  0.004000000000000000
    """
    transactions = decode_payment(payment)
    against = read_against(payment, network=network, policy=policy)
    rows = list[dict[str, Any]]()
    for transaction in transactions:
        rows += _transaction_rows(against, transaction)
    return frame_of(rows, TRANSACTION_COLUMNS)


def _transaction_rows(
    against: Against, transaction: DecodedTransaction
) -> list[dict[str, Any]]:
    call = transaction.call
    note = NOTES[call.code]
    if transaction.origin:
        note = f"In {visible(transaction.origin)}. {note}".strip()
    shared = {
        "step": transaction.index,
        "network": against.network,
        "contract": against.contract_name(transaction),
        "to": None if transaction.to is None else visible(transaction.to),
        "function": call.name,
        "selector": call.selector or None,
        "value": transaction.value,
        "canonical": call.canonical,
        "note": note,
    }
    effects = [_effect_columns(against, effect, note) for effect in transaction.effects]
    return [shared | columns for columns in effects or [{}]]


def _effect_columns(against: Against, effect: Effect, note: str) -> dict[str, Any]:
    token = against.token(effect.token)
    notes = [effect.revert_reason, effect.kept_reason, note]
    if effect.unit == "request":
        notes.insert(0, _CONVERTED)
    cells = _effect_cells(effect)
    cells |= {
        name: with_checksum(cells[name])
        for name in ("token", "recipient", "fee_recipient", "spender")
    }
    return cells | {
        "token": token.id if token else cells["token"],
        "recipient_name": _name_of(effect.recipient, against),
        "amount": effect_units(effect, effect.amount, token),
        "fee": effect_units(effect, effect.fee, token),
        "fee_recipient_name": _name_of(effect.fee_recipient, against),
        "note": " ".join(words for words in notes if words),
    }


_CONVERTED = (
    "Amount and fee are in units of the request's currency, converted on execution."
)


def _name_of(address: str | None, against: Against) -> str | None:
    name = against.policy.name_of(address, against.network)
    return visible(name) if name else None


def _effect_cells(effect: Effect) -> dict[str, Any]:
    """Return what the calldata tells of an effect."""
    same = (
        "place",
        "unit",
        "token",
        "recipient",
        "fee_recipient",
        "spender",
        "allowance",
        "max_to_spend",
    )
    return {name: getattr(effect, name) for name in same} | {
        "does": effect.kind.value,
        "amount_base": effect.amount,
        "fee_base": effect.fee,
        "reference": (
            None if effect.reference is None else f"0x{effect.reference.hex()}"
        ),
    }


def decode_calldata(calls: pd.Series[Any]) -> pd.DataFrame:
    """Decode a column of calldata, as far as that is possible without network, address
    and value.

    For a Dask series, use `series.map_partitions(decode_calldata,
    clear_divisions=True)`.

    Args:
        calls: Calldata as hex text, with or without 0x.

    Returns:
        One row per call, and one per payment of a batch, each with the index label of
        its call. No call is dropped.

        - place (Int64): the payment in its batch, counted from 0
        - function, selector, does (string): does is the effect in words, such as "pay"
          or "approve"
        - unit (string): of amount_base and fee_base: "token", "native", or "request" if
          they are converted
        - token, recipient, fee_recipient, spender (string): addresses in lower case;
          token may be "native"
        - amount_base, fee_base, allowance, max_to_spend (object, int): in base units;
          None if the function has none
        - reference (string): the payment reference as hex
        - canonical (boolean): whether the arguments account for every byte of the
          calldata
        - code (string): why a call is not decoded or not canonical, as in
          `payerkit.payments.onchain.calldata.NOTES`; else ""

    Raises:
        InvalidInput: `calls` is not a Series.

    Example:
        >>> payment = initiate_payment(client, order)
        >>> calls = pd.Series([payment.transactions[0].data, "0x"])
        >>> decode_calldata(calls)[["does", "unit", "canonical", "code"]]
           does    unit  canonical   code
        0   pay  native       True
        1  <NA>    <NA>       <NA>  empty
    """
    if not isinstance(calls, pd.Series):
        raise InvalidInput(f"Give a Series of calldata; got {kind_of(calls)}.")
    rows = list[dict[str, Any]]()
    positions = list[int]()
    for position, data in enumerate(calls.tolist()):
        of_call = _calldata_rows(read_call(data))
        rows += of_call
        positions += [position] * len(of_call)
    return frame_of(rows, CALLDATA_COLUMNS, index=calls.index.take(positions))


def _calldata_rows(call: DecodedCall) -> list[dict[str, Any]]:
    shared = {
        "function": call.name,
        "selector": call.selector or None,
        "canonical": call.canonical,
        "code": call.code,
    }
    effects = effects_of(call, to=None, value=None)
    if call.function is None:  # what it does depends on its value
        effects = []
    cells = [_effect_cells(effect) for effect in effects]
    return [shared | each for each in cells or [{}]]
