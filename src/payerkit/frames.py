"""Records of payment details as a DataFrame: stable columns, text as text, account numbers masked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from payerkit.masking import mask
from payerkit.wire import our_name, wire_name

_LISTED = (
    "id",
    "userId",
    "bankName",
    "accountName",
    "beneficiaryType",
    "accountNumber",
    "routingNumber",
    "currency",
    "status",
    "rails",
)
"""Wire names of a listed payment detail (specification 2.3), in its order."""

_BANK_CODES = ("routingNumber", "sortCode", "bsbNumber", "ncc", "ifsc", "bankCode", "branchCode", "swiftBic")


def payment_details_frame(records: Sequence[Mapping[str, Any]], *, secret: bytes, reveal: bool = False) -> pd.DataFrame:
    """Return one row per record: the listed columns, `account_key`, then any other fields of the records.

    Names are in snake_case. Missing values are <NA>. Two rows have the same `account_key` only if bank and account
    number are the same, so rows can be grouped and joined while the numbers are masked. Unless revealed, birth dates,
    addresses and people's names (except initials) are masked, too.
    """
    records = [_with_wire_names(record) for record in records]
    others = dict.fromkeys(name for record in records for name in record if name not in _LISTED)
    keys = [_account_key(record, secret) for record in records]
    columns = {our_name(name): _column(name, records, reveal=reveal) for name in _LISTED}
    columns["account_key"] = pd.array(keys, dtype="string")
    columns |= {our_name(name): _column(name, records, reveal=reveal) for name in others}
    return pd.DataFrame(columns)


def _with_wire_names(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with wire names for any spelling; of two spellings, the wire name wins."""
    renamed = {wire_name(name): value for name, value in record.items()}
    return renamed | {name: value for name, value in record.items() if name in renamed}


def _column(name: str, records: Iterable[Mapping[str, Any]], *, reveal: bool) -> Any:
    values = [record.get(name) if reveal else _masked(name, record) for record in records]
    if all(value is None or isinstance(value, str) for value in values):
        return pd.array(values, dtype="string")
    # Values other than text are kept as they are: a conversion would be a guess.
    return pd.Series(values, dtype="object")


def _masked(name: str, record: Mapping[str, Any]) -> Any:
    return mask(name, record.get(name), is_business=record.get("beneficiaryType") == "business")


def _account_key(record: Mapping[str, Any], secret: bytes) -> str | None:
    """Return a keyed hash of bank and account as 16 hex digits; None if the record has no account number."""
    iban, number = _compact(record, "iban"), _compact(record, "accountNumber") or _compact(record, "ribNumber")
    if not (iban or number):
        return None
    codes = [_compact(record, name) for name in _BANK_CODES]
    identity = [iban] if iban else [*(codes if any(codes) else [_compact(record, "bankName")]), number]
    return hashlib.blake2b("|".join(identity).encode(), key=secret, digest_size=8).hexdigest()


def _compact(record: Mapping[str, Any], name: str) -> str:
    """Return a value's letters and digits, in capitals."""
    value = record.get(name)
    return "".join(char for char in str(value).upper() if char.isalnum()) if value else ""
