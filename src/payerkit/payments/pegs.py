"""What tokens are worth by the word of their issuers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from payerkit._tsv import rows
from payerkit.payments.onchain.currencies import Currency, networks


def peg_of(currency: Currency) -> str | None:
    """Return the fiat currency that a currency is worth by the word of its issuer, or
    None.
    """
    return currency.id if currency.kind == "fiat" else _pegs().get(currency.symbol)


def shared_peg(token: Currency, invoice: Currency) -> str:
    """Return the fiat currency that two currencies are worth, by the word of their
    issuers; "" if that is not one.
    """
    peg = peg_of(token)
    return peg if peg is not None and peg == peg_of(invoice) else ""


def is_test_money(token: Currency, invoice: Currency) -> bool:
    """Return True if one of two coins or tokens is of a test network, and the other is
    not.
    """
    if "fiat" in {token.kind, invoice.kind}:
        return False
    one = networks()[token.network]
    other = networks()[invoice.network]
    return one.is_test != other.is_test


@cache
def _pegs() -> Mapping[str, str]:
    return {row["symbol"]: row["currency"] for row in rows(__package__, "pegs")}
