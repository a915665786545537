"""Records as DataFrames: stable columns, text as text, account numbers masked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from payerkit.masking import mask
from payerkit.wire import our_name, wire_name

LISTED = (
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

_BANK_CODES = (
    "routingNumber",
    "sortCode",
    "bsbNumber",
    "ncc",
    "ifsc",
    "bankCode",
    "branchCode",
    "swiftBic",
)


def payment_details_frame(records: Sequence[Mapping[str, Any]], *, secret: bytes, reveal: bool = False) -> pd.DataFrame:
    """Return one row a record: the listed columns, `account_key`, then whatever else the service returned.

    Names are in snake_case. Missing values are <NA>. `account_key` is equal only where bank and account number
    are, so that rows can be grouped and joined while the numbers are masked. Unless revealed, so is what tells about a
    person: birth date, address, and a person's name but for its initials.
    """
    records = [_canonical(record) for record in records]
    others = dict.fromkeys(name for record in records for name in record if name not in LISTED)
    keys = [_account_key(record, secret) for record in records]
    columns = {our_name(name): _column(name, records, reveal=reveal) for name in LISTED}
    columns["account_key"] = pd.array(keys, dtype="string")
    columns |= {our_name(name): _column(name, records, reveal=reveal) for name in others}
    return pd.DataFrame(columns)


def _canonical(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record by the wire's names, whichever way they were spelled; the wire's own spelling counts first."""
    spelled = {wire_name(name): value for name, value in record.items()}
    return spelled | {name: value for name, value in record.items() if name in spelled}


def _column(name: str, records: Iterable[Mapping[str, Any]], *, reveal: bool) -> Any:
    values = [record.get(name) if reveal else _shown(name, record) for record in records]
    if all(value is None or isinstance(value, str) for value in values):
        return pd.array(values, dtype="string")
    # Something else than text came: kept as it is, since a conversion would be a guess.
    return pd.Series(values, dtype="object")


def _shown(name: str, record: Mapping[str, Any]) -> Any:
    return mask(name, record.get(name), is_business=record.get("beneficiaryType") == "business")


def _account_key(record: Mapping[str, Any], secret: bytes) -> str | None:
    """Return 16 hex digits that stand for bank and account; None where the record has no account number."""
    iban, number = _bare(record, "iban"), _bare(record, "accountNumber") or _bare(record, "ribNumber")
    if not (iban or number):
        return None
    codes = [_bare(record, name) for name in _BANK_CODES]
    identity = [iban] if iban else [*(codes if any(codes) else [_bare(record, "bankName")]), number]
    return hashlib.blake2b("|".join(identity).encode(), key=secret, digest_size=8).hexdigest()


def _bare(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return "".join(char for char in str(value).upper() if char.isalnum()) if value else ""
