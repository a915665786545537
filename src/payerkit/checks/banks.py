"""Checkers of what names a bank and an account: IBAN, BIC, and the codes of one country each."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from payerkit.checks.places import countries
from payerkit.checks.texts import bare, capitals

_IBAN = re.compile("[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}").fullmatch
_BIC = re.compile("[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?").fullmatch
_CLASSES = {"n": "[0-9]", "a": "[A-Z]", "c": "[A-Z0-9]", "e": " "}
_ONE_SYSTEM = {
    "FR": {"GF", "GP", "MQ", "RE", "PM", "YT", "NC", "PF", "WF", "BL", "MF", "TF", "MC"},
    "GB": {"IM", "JE", "GG"},
    "FI": {"AX"},
}
"""Countries that share their banks with another: a BIC may name the one and an IBAN the other."""

_LETTERS = str.maketrans({chr(65 + place): str(10 + place) for place in range(26)})
_RIB_LETTERS = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "12345678912345678923456789")
_RIB = re.compile("([0-9]{5})([0-9]{5})([0-9A-Z]{11})([0-9]{2})").fullmatch


@cache
def _structure(country: str) -> Callable[[str], object] | None:
    """Return what matches the IBANs of a country; None if the registry does not have it."""
    found = countries().get(country)
    if found is None or not found.bban:
        return None
    parts = re.findall(r"([0-9]+)(!?)([nace])", found.bban)
    pattern = "".join(_CLASSES[kind] + ("{%s}" if fixed else "{1,%s}") % length for length, fixed, kind in parts)
    return re.compile(f"{country}[0-9]{{2}}{pattern}").fullmatch


@cache
def _length(country: str) -> int:
    return 4 + sum(map(int, re.findall("[0-9]+", countries()[country].bban)))


def iban_without_country(value: str) -> bool:
    """Tell whether an IBAN does not begin with the code of a country."""
    return bare(value)[:2] not in countries()


def iban_unregistered(value: str) -> bool:
    """Tell whether the registry does not have the country of an IBAN, so that its structure cannot be checked."""
    country = bare(value)[:2]
    return country in countries() and _structure(country) is None


def iban_form(value: str) -> bool | str:
    """Return what the IBANs of the country look like if this one is none; False if it is one."""
    iban = bare(value)
    country = iban[:2]
    if country not in countries():
        return False
    matches = _structure(country)
    if matches is None:
        return _IBAN(iban) is None and country
    return False if matches(iban) else f"{country}, which has {_length(country)} characters"


def iban_checksum(value: str) -> bool:
    """Tell whether the check digits of an otherwise well-formed IBAN do not fit (ISO 7064, mod 97-10)."""
    iban = bare(value)
    if _IBAN(iban) is None or iban[:2] not in countries() or iban_form(value) is not False:
        return False
    is_possible = "02" <= iban[2:4] <= "98"  # 00, 01 and 99 leave the same remainders as 97, 98 and 02
    return not is_possible or int((iban[4:] + iban[:4]).translate(_LETTERS)) % 97 != 1


def is_iban(value: str) -> bool:
    """Tell whether a text is an IBAN of a registered country, whichever member it stands in."""
    matches = _structure(bare(value)[:2])
    return matches is not None and matches(bare(value)) is not None and not iban_checksum(value)


def bic_form(value: str) -> bool:
    """Tell whether a text has not the form of a BIC. An IBAN in its place is told by another rule."""
    return _BIC(bare(value)) is None and not is_iban(value)


def bic_country(value: str) -> bool:
    """Tell whether the fifth and sixth letter of a BIC name no country."""
    bic = bare(value)
    return _BIC(bic) is not None and bic[4:6] not in countries()


def bic_digits(value: str) -> bool:
    """Tell whether a BIC has digits in its first four characters, which not every form takes."""
    bic = bare(value)
    return _BIC(bic) is not None and not bic[:4].isalpha()


def bic_and_iban_differ(value: str, iban: str | None) -> bool | str:
    """Return both countries if the BIC's bank is in another country than the IBAN's account; False if not."""
    bic = bare(value)
    if iban is None or _BIC(bic) is None or bic[4:6] not in countries() or not is_iban(iban):
        return False
    bank, account = bic[4:6], bare(iban)[:2]
    is_one = bank == account or bank in _ONE_SYSTEM.get(account, ()) or account in _ONE_SYSTEM.get(bank, ())
    return False if is_one else f"{bank}, the account in {account}"


def is_bic(value: str) -> bool:
    """Tell whether a text in another member's place can hardly be anything but a BIC: letters, a country, a length."""
    bic = bare(value)
    return _BIC(bic) is not None and bic[:6].isalpha() and bic[4:6] in countries()


def no_digits(value: str) -> bool:
    """Tell whether an account number has no digit at all. What looks like a BIC is told by another rule."""
    return not any(char.isdigit() for char in value) and not value.isspace() and not is_bic(value)


def routing_zero_lost(value: str) -> bool:
    """Tell whether a routing number lacks one digit, and is right with a zero in front."""
    return len(value) == 8 and _is_aba(f"0{value}")


def routing_digits(value: str) -> bool:
    """Tell whether a routing number has not nine digits, or nothing but zeros."""
    is_formed = re.fullmatch("[0-9]{9}", value) is not None and value != "000000000"
    return not is_formed and not routing_zero_lost(value)


def routing_checksum(value: str) -> bool:
    """Tell whether the check digit of nine digits does not fit."""
    return not routing_digits(value) and not routing_zero_lost(value) and not _is_aba(value)


def _is_aba(value: str) -> bool:
    if re.fullmatch("[0-9]{9}", value) is None:
        return False
    return sum(int(digit) * weight for digit, weight in zip(value, (3, 7, 1) * 3, strict=True)) % 10 == 0


def sort_code_digits(value: str) -> bool:
    """Tell whether a sort code has not six digits."""
    return re.fullmatch("[0-9]{6}", bare(value)) is None


def bsb_digits(value: str) -> bool:
    """Tell whether a BSB number has not six digits, three and three."""
    return re.fullmatch("[0-9]{3}[- ]?[0-9]{3}", value) is None


def ncc_digits(value: str) -> bool:
    """Tell whether a New Zealand bank code has not six digits, two of the bank and four of the branch."""
    return re.fullmatch("[0-9]{6}", bare(value)) is None


def ncc_and_account_differ(value: str, account: str | None) -> bool:
    """Tell whether a full New Zealand account number begins with another bank and branch."""
    number, ncc = bare(account or ""), bare(value)
    is_full = re.fullmatch("[0-9]{15,16}", number) is not None and re.fullmatch("[0-9]{6}", ncc) is not None
    return is_full and number[:6] != ncc


def ifsc_letter_o(value: str) -> bool:
    """Tell whether an IFSC has the letter O where a zero is due."""
    return re.fullmatch("[A-Z]{4}O[A-Z0-9]{6}", value.strip().upper()) is not None


def ifsc_form(value: str) -> bool:
    """Tell whether a text has not the form of an IFSC."""
    return re.fullmatch("[A-Z]{4}0[A-Z0-9]{6}", value.strip().upper()) is None and not ifsc_letter_o(value)


def rib_form(value: str) -> bool:
    """Tell whether a text has not the form of a French RIB: bank 5, branch 5, account 11, key 2."""
    return _RIB(bare(value)) is None


def rib_key(value: str) -> bool:
    """Tell whether the key at the end of a RIB does not fit."""
    found = _RIB(bare(value))
    if found is None:
        return False
    bank, branch, account, key = (int(part.translate(_RIB_LETTERS)) for part in found.groups())
    return key != 97 - (89 * bank + 15 * branch + 3 * account) % 97


def clabe_digit(value: str, currency: str | None) -> bool:
    """Tell whether the last digit of a Mexican CLABE does not fit."""
    number = bare(value)
    if capitals(currency) != "MXN" or re.fullmatch("[0-9]{18}", number) is None:
        return False
    weighted = sum(int(digit) * weight % 10 for digit, weight in zip(number[:17], (3, 7, 1) * 6, strict=False))
    return int(number[17]) != -weighted % 10


def cbu_digits(value: str, currency: str | None) -> bool:
    """Tell whether a check digit of an Argentine CBU does not fit."""
    number = bare(value)
    is_cbu = capitals(currency) == "ARS" and re.fullmatch("[0-9]{22}", number) is not None
    return is_cbu and not standard_number("ar.cbu", number)


def nz_account(value: str, currency: str | None) -> bool:
    """Tell whether the check digit of a full New Zealand account number does not fit."""
    number = bare(value)
    if capitals(currency) != "NZD" or re.fullmatch("[0-9]{15,16}", number) is None:
        return False
    try:
        _standard("nz.bankaccount").validate(number)
    except _standard("exceptions").InvalidChecksum:
        return True
    except _standard("exceptions").ValidationError:
        return False  # a branch that its list does not have yet
    return False


def name_too_long(value: str, currency: str | None, rails: str | None) -> bool:
    """Tell whether a US bank transfer cuts off the holder's name."""
    return len(value) > 35 and capitals(currency) == "USD" and (rails or "local") == "local"


def standard_number(name: str, value: str) -> bool:
    """Tell whether python-stdnum finds a number valid by the standard of that name, such as `ar.cbu`."""
    return bool(_standard(name).is_valid(value))


@cache
def _standard(name: str) -> Any:
    return import_module(f"stdnum.{name}")
