"""Read and format amounts and rates, exactly."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_HALF_UP, ROUND_UP, Context, Decimal
from numbers import Integral

from payerkit.errors import InvalidInput
from payerkit.payments.onchain.calldata import Effect
from payerkit.payments.onchain.currencies import Currency, request_decimals

EXACT = Context(prec=200)
"""More digits than any product of an amount and a rate has here, so nothing is
rounded.
"""


def read_rate(rate: object, name: str = "rate") -> Decimal:
    """Return a rate as an exact number. Raises InvalidInput for a float and for
    anything but a positive number.

    name: of what it is given for.
    """
    number = positive_number(rate)
    if number is None:
        raise InvalidInput(
            f'{name}: give a positive number as text, Decimal or int, such as "2500".'
        )
    return number


_NUMBER = re.compile(r"[0-9]{1,100}(\.[0-9]{1,100})?")


def positive_number(value: object) -> Decimal | None:
    """Return an amount or a rate exactly; None for anything but a positive number of a
    reasonable size.

    Text is a plain decimal number, such as "10.50": Python would also read "1_0", "1e1"
    and the digits of any script. A float is no number here, since it is not exact.
    """
    if isinstance(value, str):
        number = Decimal(value) if _NUMBER.fullmatch(value) else Decimal(0)
    elif isinstance(value, Decimal):
        number = value
    elif isinstance(value, Integral) and not isinstance(value, bool):
        number = Decimal(int(value))
    else:
        return None
    if number.is_finite() and number > 0 and abs(number.adjusted()) < 100:
        return number
    return None


def read_percentage(value: object) -> Decimal | None:
    """Return a percentage from 0 to 100, written with or without "%", exactly; None for
    anything else.

    Text is a plain decimal number, as of an amount. A float of JSON is read as it was
    written.
    """
    if isinstance(value, str):
        value = value.removesuffix("%").rstrip(" ")
        number = Decimal(value if _NUMBER.fullmatch(value) else "NaN")
    elif isinstance(value, float):
        number = Decimal(str(value))
    elif isinstance(value, int | Decimal) and not isinstance(value, bool):
        number = Decimal(value)
    else:
        return None
    if not number.is_finite() or number.is_signed() or number > 100:
        return None
    if len(number.as_tuple().digits) > 30 or (number and number.adjusted() <= -20):
        return None
    return number


def format_number(number: Decimal) -> str:
    """Return a number as people write it, exactly, without an exponent or idle
    zeros.
    """
    text = f"{number:f}"
    if "." in text:
        return text.rstrip("0").rstrip(".")
    return text


def format_percentage(number: Decimal | None) -> str:
    """Return a percentage as people write it, such as "0.1 %"; "an unknown share" for
    None.
    """
    if number is None:
        return "an unknown share"
    return f"{format_number(number)} %"


def simplest_percentage(part: int, whole: int) -> Decimal | None:
    """Return a part of a whole as a percentage, as a person would have written it; None
    if the whole is 0.

    This is the shortest number of which the part, in base units, may have been rounded;
    if six digits are not enough, the six digits above it.
    """
    if whole == 0:
        return None
    exact = percentage(Decimal(part), Decimal(whole))
    for digits in range(1, 7):
        number = Context(prec=digits, rounding=ROUND_HALF_UP).plus(exact)
        difference = EXACT.abs(EXACT.subtract(number, exact))
        is_near = EXACT.multiply(Decimal(100), difference) <= exact
        if is_near and EXACT.multiply(difference, Decimal(whole)) < 100:
            return number
    return Context(prec=6, rounding=ROUND_UP).plus(exact)


def percentage(part: Decimal, whole: Decimal) -> Decimal:
    """Return a part of a whole in percent, exactly."""
    return EXACT.divide(EXACT.multiply(Decimal(100), part), whole)


def share_of(amount: int, percentage: Decimal | None) -> int:
    """Return a percentage of an amount in base units, rounded up; 0 for None."""
    share = EXACT.divide(
        EXACT.multiply(Decimal(amount), percentage or Decimal(0)), Decimal(100)
    )
    return int(share.to_integral_value(ROUND_CEILING))


def to_units(base: int | None, decimals: int | None) -> Decimal | None:
    """Return an amount of base units in whole units, exactly; None if one of the two is
    not known.
    """
    if base is None or decimals is None:
        return None
    return Decimal(base).scaleb(-decimals, EXACT)


def format_amount(base: int | None, token: Currency | None) -> str:
    """Return an amount in whole units with the token's id, or in base units if the
    token is not known.
    """
    amount = None if token is None else to_units(base, token.decimals)
    if token is None or amount is None:
        return f"{base} base units"
    return f"{format_number(amount)} {token.id}"


def format_effect_amount(effect: Effect, base: int, token: Currency | None) -> str:
    """Return an amount of an effect, in the request's currency if it is converted on
    execution.
    """
    if effect.unit != "request":
        return format_amount(base, token)
    currency = effect.request_currency
    amount = effect_units(effect, base, token)
    if currency is None or amount is None:
        return f"{base} units of the request's currency, converted on execution"
    return f"{format_number(amount)} {currency.id}, converted on execution"


def effect_units(
    effect: Effect, base: int | None, token: Currency | None
) -> Decimal | None:
    """Return an amount of an effect in whole units of its currency, or of the
    request's; None if that is not known.
    """
    if effect.unit != "request":
        return None if token is None else to_units(base, token.decimals)
    currency = effect.request_currency
    return None if currency is None else to_units(base, request_decimals(currency))


_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,64}")
_DECIMAL = re.compile(r"[0-9]{1,78}")


def wei_of(value: object) -> int | None:
    """Return a transaction value in wei; None if it is not in a published form or
    exceeds 256 bits.

    Published forms: the number 0, "0x0", a decimal string, {"type": "BigNumber", "hex":
    "0x..."}. The last one is the JSON of ethers 5, whose object itself has the members
    {"_hex": "0x...", "_isBigNumber": true}.
    """
    if isinstance(value, dict):
        value = _hex_of_ethers(value)
    if isinstance(value, str) and _HEX.fullmatch(value):
        number = int(value, 16)
    elif isinstance(value, str) and _DECIMAL.fullmatch(value):
        number = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    else:
        return None
    return number if 0 <= number < 2**256 else None


def _hex_of_ethers(value: dict[str, object]) -> str | None:
    """Return the hex digits of a number as ethers 5 writes it; None for anything
    else.
    """
    digits = None
    if value.keys() == {"_hex", "_isBigNumber"} and value["_isBigNumber"] is True:
        digits = value["_hex"]
    elif value.keys() == {"hex"} or (
        value.keys() == {"type", "hex"} and value["type"] == "BigNumber"
    ):
        digits = value["hex"]
    if isinstance(digits, str) and _HEX.fullmatch(digits):
        return digits
    return None
