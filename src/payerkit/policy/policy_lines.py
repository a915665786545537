"""The lines of a policy file, as `PaymentPolicy.save` writes them and as findings tell a user to add them."""

from __future__ import annotations

import json
from decimal import Decimal

from payerkit.html import visible
from payerkit.onchain.addresses import with_checksum
from payerkit.onchain.amounts import format_number

UNLIMITED_WORD = "unlimited"
"""The word for an allowance without a limit."""


def fee_line(address: str, percent: Decimal | str, name: str = "", most: Decimal | None = None) -> str:
    """Return the lines that agree to a fee, up to a percentage of the amount. most: in whole units, if limited."""
    members = {"max_percent": _number(percent), "max_amount": None if most is None else _number(most)}
    return _table("[[fees]]", address=with_checksum(address), **members, name=name or None)


def allowance_line(token: str, spender: str, most: Decimal | str | int | None) -> str:
    """Return the lines that accept an allowance of a token, by its id. most: in whole units; None for no limit."""
    limit = UNLIMITED_WORD if most is None else _number(most)
    return _table("[[allowances]]", token=token, spender=with_checksum(spender), most=limit)


def address_line(address: str, name: str, network: str | None = None, role: str = "payee") -> str:
    """Return the lines of a known wallet. network: None if the name holds on every network."""
    told = None if role == "payee" else role
    return _table("[[addresses]]", address=with_checksum(address), name=name, network=network, role=told)


def token_line(id: str, network: str, address: str, decimals: int | None, symbol: str | None = None) -> str:  # noqa: A002 - the member's name
    """Return the lines of a further token. decimals: None to let the user fill them in."""
    known = "?" if decimals is None else decimals
    members = {"id": id, "network": network, "address": with_checksum(address), "decimals": known, "symbol": symbol}
    return _table("[[tokens]]", **members)


def rate_line(payment: str, invoice: str, rate: Decimal | str | int) -> str:
    """Return the lines with the price of one unit of a payment currency in an invoice currency, both by id."""
    return f"[rates]\n{rate_member(payment, invoice, rate)}"


def rate_member(payment: str, invoice: str, rate: Decimal | str | int) -> str:
    """Return the line of a rate, without the line that begins the table."""
    return f"{_quoted(f'{payment}/{invoice}')} = {_quoted(_number(rate))}"


PERCENTAGES = ("rate_tolerance", "peg_tolerance", "batch_fee")
"""Members of a policy that are percentages and belong to no table."""


def setting_line(name: str, value: Decimal | str) -> str:
    """Return the line of a percentage that belongs to no table, such as `batch_fee`."""
    return f"{name} = {_quoted(_number(value))}"


def _table(head: str, **members: str | int | None) -> str:
    lines = (f"{name} = {_value(value)}" for name, value in members.items() if value is not None)
    return "\n".join([head, *lines])


def _value(value: str | int) -> str:
    return str(value) if isinstance(value, int) else _quoted(value)


def _quoted(text: str) -> str:
    """Return a basic string of TOML. JSON escapes quotes and backslashes alike; what is invisible is written out."""
    return json.dumps(visible(text), ensure_ascii=False)


def _number(number: Decimal | str | int) -> str:
    """Return a number as a person writes it; text stays as typed."""
    return format_number(number) if isinstance(number, Decimal) else str(number)
