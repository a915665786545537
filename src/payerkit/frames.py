"""Records as DataFrames: stable columns, text as text, account numbers masked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from payerkit.masking import MASK
from payerkit.models import BankDetails
from payerkit.models.answered import shown
from payerkit.models.base import is_personal
from payerkit.names import our_name

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

_PERSONAL = frozenset(
    field.alias for name, field in BankDetails.model_fields.items() if is_personal(field) and name != "account_name"
)
"""Members that tell about a person. The account's name stays: it says whose account a row is."""

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
    are, so that rows can be grouped and joined while the numbers are masked.
    """
    others = dict.fromkeys(name for record in records for name in record if name not in LISTED)
    keys = [_account_key(record, secret) for record in records]
    columns = {our_name(name): _column(name, records, reveal=reveal) for name in LISTED}
    columns["account_key"] = pd.array(keys, dtype="string")
    columns |= {our_name(name): _column(name, records, reveal=reveal) for name in others}
    return pd.DataFrame(columns)


def _column(name: str, records: Iterable[Mapping[str, Any]], *, reveal: bool) -> Any:
    values = [_cell(name, record.get(name), reveal=reveal) for record in records]
    if all(value is None or isinstance(value, str) for value in values):
        return pd.array(values, dtype="string")
    # Something else than text came: kept as it is, since a conversion would be a guess.
    return pd.Series(values, dtype="object")


def _cell(name: str, value: Any, *, reveal: bool) -> Any:
    if name in _PERSONAL and value and not reveal:
        return MASK
    return shown(name, value, reveal=reveal)


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
