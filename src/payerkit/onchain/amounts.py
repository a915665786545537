"""Compare what is paid with what was asked for: exactly in one currency, by a rate in two."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal, DecimalException
from typing import Any

from payerkit.errors import InvalidInput
from payerkit.findings import Severity
from payerkit.onchain.currencies import Currency, currency_hash, find_by_hash, find_currency
from payerkit.onchain.effects import Effect

EXACT = Context(prec=200)
"""More digits than any product of amounts and rates here has, so that nothing is rounded."""

_CLOSE = Decimal("0.01")
"""Share by which an amount may differ from the given rate and still be a matter of when the rate was taken."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is to be said of an amount."""

    code: str
    severity: Severity
    message: str
    hint: str = ""


def read_rate(rate: Any) -> Decimal | None:
    """Return a rate as an exact number. Raises InvalidInput for what is no positive number, and for a float."""
    if rate is None:
        return None
    if not isinstance(rate, bool | float):
        try:
            number = Decimal(rate)
        except (DecimalException, TypeError, ValueError):
            number = Decimal(0)
        if number.is_finite() and number > 0 and abs(number.adjusted()) < 100:
            return number
    raise InvalidInput('rate: give a positive number as text, Decimal or int, such as "2500".')


def units(base: int | None, decimals: int | None) -> Decimal | None:
    """Return base units as units, exactly; None if one of them is not known."""
    return None if base is None or decimals is None else Decimal(base).scaleb(-decimals, EXACT)


def judge(line: Effect, order: Any, token: Currency, rate: Decimal | None) -> Judgement:
    """Return how the amount of a line compares with the order."""
    asked, invoice = _number(order.amount), find_currency(str(order.invoice_currency))
    if asked is None:
        return Judgement("order_amount", "error", "The amount of the order is no positive number.")
    if invoice is None:
        return Judgement("amount_unchecked", "warning", "The token list does not have the invoice currency.")
    if line.unit == "request":
        return _judge_request(line, asked, invoice)
    if invoice == token:
        is_exact = EXACT.multiply(asked, Decimal(10) ** token.decimals) == line.amount
        return _matches() if is_exact else _differs(f"Paid is {text(line.amount, token)}, asked for was {asked:f}.")
    if rate is None:
        price = EXACT.divide(asked, units(line.amount, token.decimals) or Decimal(1))
        words = f"Paid is {text(line.amount, token)} for {asked:f} {invoice.id}: one {token.symbol} at {_plain(price)}."
        return Judgement("amount_unchecked", "warning", words, "Compare the price, or give rate=.")
    return _judge_rate(line, asked, token, rate)


def _judge_rate(line: Effect, asked: Decimal, token: Currency, rate: Decimal) -> Judgement:
    exact = EXACT.multiply(EXACT.divide(asked, rate), Decimal(10) ** token.decimals)
    due, paid = int(exact.to_integral_value(ROUND_UP)), Decimal(line.amount or 0)
    if abs(paid - exact) < 1:  # rounded up or down
        return _matches()
    off = EXACT.divide(abs(paid - exact), exact)
    words = f"Paid is {text(line.amount, token)}, by the rate it would be {text(due, token)}."
    return Judgement("amount_off_rate", "warning", words) if off <= _CLOSE else _differs(words)


def _judge_request(line: Effect, asked: Decimal, invoice: Currency) -> Judgement:
    """Compare a payment that is converted when it is executed: it names the amount in the request's currency."""
    decimals = 8 if invoice.kind == "fiat" else 18 if invoice.kind == "native" else invoice.decimals
    named = invoice.address if invoice.kind == "erc20" else currency_hash(invoice)
    if not line.path or line.path[0].lower() != named.lower():
        return _differs(f"The request's currency is not {invoice.id}.")
    if EXACT.multiply(asked, Decimal(10) ** decimals) != line.amount:
        return _differs("The amount in the request's currency is not the order's.")
    if len(line.path) < 2:
        return _differs("No rate is applied: the amount would be paid in base units as it is.")
    words = "The amount matches; what it costs in the token is known when it is executed."
    return Judgement("amount_converted", "warning", words, "Compare the most that may be spent.")


def _matches() -> Judgement:
    return Judgement("amount_matches", "info", "The amount matches the order.")


def _differs(words: str) -> Judgement:
    return Judgement("amount_differs", "error", words)


def _number(text: Any) -> Decimal | None:
    try:
        number = Decimal(str(text))
    except (DecimalException, ValueError):
        return None
    return number if number.is_finite() and number > 0 and abs(number.adjusted()) < 100 else None


def text(base: int | None, token: Currency | None) -> str:
    """Return an amount in units with the token's id, or in base units where the token is not known."""
    found = units(base, token.decimals if token else None)
    return f"{base} base units" if found is None or token is None else f"{found.normalize(EXACT):f} {token.id}"


def line_text(line: Effect, base: int, token: Currency | None) -> str:
    """Return an amount of a line: in the token, or in the request's currency where it is converted later."""
    if line.unit != "request":
        return text(base, token)
    currency = find_by_hash(line.path[0]) if line.path else None
    decimals = None if currency is None else 8 if currency.kind == "fiat" else 18
    found = units(base, decimals)
    said = (
        f"{base} units of the request's currency"
        if found is None or currency is None
        else f"{found.normalize(EXACT):f} {currency.id}"
    )
    return f"{said}, converted when it is executed"


def _plain(price: Decimal) -> str:
    """Return a price with eight digits that count."""
    return f"{price.normalize(Context(prec=8)):f}"


_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,64}")
_DECIMAL = re.compile(r"[0-9]{1,78}")


def wei_of(value: Any) -> int | None:
    """Return a transaction's value as an integer of wei; None for a form that was never published.

    Published forms: the number 0, "0x0", a decimal string, {"type": "BigNumber", "hex": "0x..."}. A number of
    more than 256 bits is no value that a transaction can carry.
    """
    if isinstance(value, dict) and value.get("type", "BigNumber") == "BigNumber" and value.keys() <= {"type", "hex"}:
        value = value.get("hex")
    if isinstance(value, str):
        value = _integer(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < 2**256 else None


def _integer(text: str) -> int | None:
    if _HEX.fullmatch(text):
        return int(text, 16)
    return int(text) if _DECIMAL.fullmatch(text) else None
