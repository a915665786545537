"""Checkers of bank and account identifiers: IBAN, BIC, and national codes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from payerkit.checks.places import countries
from payerkit.checks.texts import compact, upper_code

_IBAN = re.compile("[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}").fullmatch
_BIC = re.compile("[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?").fullmatch
_CHARACTERS = {"n": "[0-9]", "a": "[A-Z]", "c": "[A-Z0-9]", "e": " "}
_SHARED_BANKS = {
    "AU": {"CC", "CX", "NF"},
    "DK": {"FO", "GL"},
    "FI": {"AX"},
    "FR": {"GF", "GP", "MQ", "RE", "PM", "YT", "NC", "PF", "WF", "BL", "MF", "TF", "MC"},
    "GB": {"IM", "JE", "GG"},
    "NO": {"SJ"},
    "NZ": {"CK", "NU", "TK"},
    "US": {"AS", "GU", "MP", "PR", "VI"},
}
"""Territories that share the banks of a country: a BIC may have the code of one, and an IBAN that of the other."""

_RIB_LETTERS = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "12345678912345678923456789")
_RIB = re.compile("[0-9]{10}[0-9A-Z]{11}[0-9]{2}").fullmatch


@cache
def _iban_matcher(country: str) -> Callable[[str], object] | None:
    """Return a matcher of the IBANs of a country; None if the country is not in the registry."""
    known = countries().get(country)
    if known is None or not known.bban:
        return None
    parts = re.findall(r"([0-9]+)(!?)([nace])", known.bban)
    pattern = "".join(_CHARACTERS[kind] + ("{%s}" if fixed else "{1,%s}") % length for length, fixed, kind in parts)
    return re.compile(f"{country}[0-9]{{2}}{pattern}").fullmatch


@cache
def _iban_length(country: str) -> int:
    return 4 + sum(map(int, re.findall("[0-9]+", countries()[country].bban)))


def iban_without_country(value: str) -> bool:
    """Return True if an IBAN does not begin with a country code."""
    return compact(value)[:2] not in countries()


def iban_unregistered(value: str) -> bool:
    """Return True if the country of an IBAN is not in the registry, so that its structure cannot be checked."""
    iban = compact(value)
    return iban[:2] in countries() and _iban_matcher(iban[:2]) is None and _IBAN(iban) is not None


def iban_form(value: str) -> bool | str:
    """Return the country, with the length of its IBANs, if the value is not in their format; False if it is."""
    iban = compact(value)
    country = iban[:2]
    if country not in countries():
        return False
    matches = _iban_matcher(country)
    if matches is None:
        return _IBAN(iban) is None and country
    return False if matches(iban) else f"{country}, which has {_iban_length(country)} characters"


def iban_checksum(value: str) -> bool:
    """Return True if the check digits of an otherwise well-formed IBAN do not match (ISO 7064, mod 97-10)."""
    iban = compact(value)
    if _IBAN(iban) is None or iban[:2] not in countries() or iban_form(value) is not False:
        return False
    is_possible = "02" <= iban[2:4] <= "98"  # 00, 01 and 99 leave the same remainders as 97, 98 and 02
    return not is_possible or not is_valid_number("iso7064.mod_97_10", iban[4:] + iban[:4])


def is_iban(value: str) -> bool:
    """Return True if a value is a valid IBAN of a registered country, whatever its field."""
    matches = _iban_matcher(compact(value)[:2])
    return matches is not None and matches(compact(value)) is not None and not iban_checksum(value)


def like_iban(value: str) -> bool:
    """Return True if a value is an IBAN, or a mistyped one: a country that has IBANs, two digits, nearly its length."""
    iban = compact(value)
    length = _iban_length(iban[:2]) if _iban_matcher(iban[:2]) else 0
    return _IBAN(iban) is not None and abs(len(iban) - length) <= 1


def bic_form(value: str) -> bool:
    """Return True if a value is not in the BIC format; an IBAN is left to the rule bic_is_iban."""
    return _BIC(compact(value)) is None and not is_iban(value)


def bic_country(value: str) -> bool:
    """Return True if the fifth and sixth characters of a BIC are not a country code."""
    bic = compact(value)
    return _BIC(bic) is not None and bic[4:6] not in countries()


def bic_digits(value: str) -> bool:
    """Return True if a BIC has digits in its first four characters, which not every bank form accepts."""
    bic = compact(value)
    return _BIC(bic) is not None and not bic[:4].isalpha()


def bic_and_iban_differ(value: str, iban: str | None) -> bool | str:
    """Return the countries of the BIC and the IBAN if they differ; False if they agree or share banks."""
    bank, account = country_of_bic(value), country_of_iban(iban)
    if bank is None or account is None or share_banks(bank, account):
        return False
    return f"{bank}, the account in {account}"


def share_banks(one: str, other: str) -> bool:
    """Return True if two countries are the same, or one is a territory that shares the banks of the other."""
    return one == other or one in _SHARED_BANKS.get(other, ()) or other in _SHARED_BANKS.get(one, ())


def country_of_bic(value: str | None) -> str | None:
    """Return the country that a well-formed BIC names; None for any other value."""
    bic = compact(value or "")
    return bic[4:6] if _BIC(bic) is not None and bic[4:6] in countries() else None


def country_of_iban(value: str | None) -> str | None:
    """Return the country of a valid IBAN; None for any other value."""
    return compact(value)[:2] if value is not None and is_iban(value) else None


def is_bic(value: str) -> bool:
    """Return True if a value outside the BIC field is almost certainly a BIC: letters, country code, length."""
    bic = compact(value)
    return _BIC(bic) is not None and bic[:6].isalpha() and bic[4:6] in countries()


def no_digits(value: str) -> bool:
    """Return True if an account number has no digits; a BIC is left to the rule account_is_bic."""
    return not any(char.isdigit() for char in value) and not value.isspace() and not is_bic(value)


def routing_zero_lost(value: str) -> bool:
    """Return True if a routing number of eight digits becomes valid with a leading zero."""
    return len(value) == 8 and _is_aba(f"0{value}")


def routing_digits(value: str) -> bool:
    """Return True if a routing number does not have nine digits, or has only zeros."""
    has_nine_digits = re.fullmatch("[0-9]{9}", value) is not None and value != "000000000"
    return not has_nine_digits and not routing_zero_lost(value)


def routing_checksum(value: str) -> bool:
    """Return True if the check digit of a routing number of nine digits does not match."""
    return not routing_digits(value) and not routing_zero_lost(value) and not _is_aba(value)


def _is_aba(value: str) -> bool:
    return re.fullmatch("[0-9]{9}", value) is not None and is_valid_number("us.rtn", value)


def ncc_and_account_differ(value: str, account: str | None) -> bool:
    """Return True if a full New Zealand account number begins with another bank and branch than the NCC."""
    number, ncc = compact(account or ""), compact(value)
    is_full = re.fullmatch("[0-9]{15,16}", number) is not None and re.fullmatch("[0-9]{6}", ncc) is not None
    return is_full and number[:6] != ncc


def ifsc_letter_o(value: str) -> bool:
    """Return True if an IFSC has the letter O in place of the zero."""
    return re.fullmatch("[A-Z]{4}O[A-Z0-9]{6}", value.strip().upper()) is not None


def ifsc_form(value: str) -> bool:
    """Return True if a value is not in the IFSC format."""
    return re.fullmatch("[A-Z]{4}0[A-Z0-9]{6}", value.strip().upper()) is None and not ifsc_letter_o(value)


def rib_form(value: str) -> bool:
    """Return True if a value is not in the format of a French RIB: bank 5, branch 5, account 11, key 2."""
    return _RIB(compact(value)) is None


def rib_key(value: str) -> bool:
    """Return True if the key at the end of a RIB does not match."""
    rib = compact(value)
    is_possible = "01" <= rib[-2:] <= "97"  # 00, 98 and 99 leave the same remainders as 97, 01 and 02
    return _RIB(rib) is not None and not (is_possible and int(rib.translate(_RIB_LETTERS)) % 97 == 0)


def clabe_digit(value: str, currency: str | None) -> bool:
    """Return True if the check digit of a Mexican CLABE, its last, does not match."""
    number = compact(value)
    if upper_code(currency) != "MXN" or re.fullmatch("[0-9]{18}", number) is None:
        return False
    weighted = sum(int(digit) * weight % 10 for digit, weight in zip(number[:17], (3, 7, 1) * 6, strict=False))
    return int(number[17]) != -weighted % 10


def cbu_digits(value: str, currency: str | None) -> bool:
    """Return True if a check digit of an Argentine CBU does not match."""
    number = compact(value)
    is_cbu = upper_code(currency) == "ARS" and re.fullmatch("[0-9]{22}", number) is not None
    return is_cbu and not is_valid_number("ar.cbu", number)


def nz_account(value: str, currency: str | None) -> bool:
    """Return True if the check digit of a full New Zealand account number does not match."""
    number = compact(value)
    if upper_code(currency) != "NZD" or re.fullmatch("[0-9]{15,16}", number) is None:
        return False
    try:
        _stdnum_module("nz.bankaccount").validate(number)
    except _stdnum_module("exceptions").InvalidChecksum:
        return True
    except _stdnum_module("exceptions").ValidationError:
        return False  # the branch is not in the library's list yet
    return False


def account_name_long(value: str, currency: str | None, rails: str | None) -> bool:
    """Return True if a US bank transfer would cut off the account holder's name."""
    return len(value) > 35 and upper_code(currency) == "USD" and (rails or "local") == "local"


def is_valid_number(name: str, value: str) -> bool:
    """Return True if a number is valid by a module of python-stdnum, such as `ar.cbu`."""
    return bool(_stdnum_module(name).is_valid(value))


@cache
def _stdnum_module(name: str) -> Any:
    return import_module(f"stdnum.{name}")
