"""The least amounts that the operator pays out to a bank account."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cache

from payerkit._tsv import rows


def least_amount(currency: str | None, rails: str | None) -> Decimal | None:
    """Return the least amount that reaches an account, in its currency; None if none is known."""
    known = _table()
    code = (currency or "").upper()
    return known.get((code, (rails or "").lower()), known.get((code, "")))


@cache
def _table() -> Mapping[tuple[str, str], Decimal]:
    return {(row["currency"], row["rails"]): Decimal(row["least"]) for row in rows(__package__, "least_amounts")}
