"""Rules about the identifiers of banks and accounts: IBAN, BIC, and national codes."""

from __future__ import annotations

import itertools
import re
from functools import cache

from payerkit.checks.places import countries
from payerkit.checks.rules import Words, rule
from payerkit.checks.texts import compact, upper_code

_IBAN = re.compile("[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}")
_BIC = re.compile("[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?")
_CHARACTERS = {"n": "[0-9]", "a": "[A-Z]", "c": "[A-Z0-9]"}
_SHARED_BANKS = {
    "AU": "CC CX NF",
    "DK": "FO GL",
    "FI": "AX",
    "FR": "GF GP MQ RE PM YT NC PF WF BL MF TF MC",
    "GB": "IM JE GG",
    "NO": "SJ",
    "NZ": "CK NU TK",
    "US": "AS GU MP PR VI",
}
"""Territories that share the banks of a country: a BIC may have the code of one, and an
IBAN that of the other.
"""

_RIB_LETTERS = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "12345678912345678923456789")
_RIB = re.compile("[0-9]{10}[0-9A-Z]{11}[0-9]{2}")
_SIX_DIGITS = re.compile("[ -]*([0-9][ -]*){6}")
_NINE_DIGITS = re.compile("[0-9]{9}")
_NZ_ACCOUNT = re.compile("[0-9]{15,16}")
_IFSC = re.compile("[A-Z]{4}0[A-Z0-9]{6}")
_IFSC_WITH_O = re.compile("[A-Z]{4}O[A-Z0-9]{6}")
_CLABE = re.compile("[0-9]{18}")
_CBU = re.compile("[0-9]{22}")
_BSB = re.compile("[0-9]{3}[- ]?[0-9]{3}")

_REGISTRY = "SWIFT IBAN registry; ISO 13616"
_ABA = "ABA routing number, 3-7-1 check digit; Federal Reserve directories"


@cache
def _iban_pattern(country: str) -> re.Pattern[str] | None:
    """Return the pattern of the IBANs of a country; None if the country is not in the
    registry.
    """
    known = countries().get(country)
    if known is None or not known.bban:
        return None
    parts = re.findall("([0-9]+)!([nac])", known.bban)
    pattern = "".join(f"{_CHARACTERS[kind]}{{{length}}}" for length, kind in parts)
    return re.compile(f"{country}[0-9]{{2}}{pattern}")


@cache
def _iban_length(country: str) -> int:
    return 4 + sum(map(int, re.findall("[0-9]+", countries()[country].bban)))


@rule(
    "iban_country",
    "iban",
    message="Does not begin with a country code.",
    hint=(
        "Leave out the word IBAN. A plain account number belongs in the field for"
        " account numbers."
    ),
    basis=_REGISTRY,
)
def iban_without_country(value: str) -> bool:
    """Return True if an IBAN does not begin with a country code."""
    return compact(value)[:2] not in countries()


@rule(
    "iban_unregistered",
    "iban",
    severity="info",
    message=(
        "This country is not in the IBAN registry, so only the check digits were"
        " checked."
    ),
    basis=_REGISTRY,
)
def iban_unregistered(value: str) -> bool:
    """Return True if the country of an IBAN is not in the registry, so that its
    structure cannot be checked.
    """
    iban = compact(value)
    return (
        iban[:2] in countries()
        and _iban_pattern(iban[:2]) is None
        and _IBAN.fullmatch(iban) is not None
    )


@rule(
    "iban_form",
    "iban",
    message="Not in the IBAN format of {country}.",
    hint=(
        "Compare it with a bank statement: is it too long or too short, or is an O"
        " written for a 0?"
    ),
    basis=_REGISTRY,
)
def iban_form(iban: str) -> Words | None:
    """Return the country, with the length of its IBANs, if the value is not in their
    format; None if it is.
    """
    compacted = compact(iban)
    country = compacted[:2]
    pattern = _iban_pattern(country)
    if country not in countries() or (pattern or _IBAN).fullmatch(compacted):
        return None
    if pattern is None:
        return {"country": country}
    length = _iban_length(country)
    return {"country": f"{country}, which has {length} characters"}


@rule(
    "iban_checksum",
    "iban",
    message="The check digits do not match: probably a typo.",
    hint="Compare it with a bank statement.",
    basis="SWIFT IBAN registry; ISO 13616; ISO 7064 mod 97-10",
)
def iban_checksum(iban: str) -> bool:
    """Return True if the check digits of an otherwise well-formed IBAN do not match
    (ISO 7064, mod 97-10).
    """
    from stdnum.iso7064 import mod_97_10  # noqa: PLC0415 - loaded for a number

    number = compact(iban)
    is_well_formed = _IBAN.fullmatch(number) is not None and iban_form(number) is None
    if number[:2] not in countries() or not is_well_formed:
        return False
    # 00, 01 and 99 leave the same remainders as 97, 98 and 02.
    is_possible = "02" <= number[2:4] <= "98"
    return not is_possible or not mod_97_10.is_valid(number[4:] + number[:4])


@rule(
    "name_is_iban",
    "bank_name",
    "account_name",
    message="An IBAN instead of a name.",
    hint="Move it to the field for the IBAN.",
    basis=_REGISTRY,
)
@rule(
    "bic_is_iban",
    "swift_bic",
    message="An IBAN instead of a BIC.",
    hint="Move it to the field for the IBAN.",
    basis="ISO 9362",
)
def is_iban(value: str) -> bool:
    """Return True if a value is a valid IBAN of a registered country, whatever its
    field.
    """
    pattern = _iban_pattern(compact(value)[:2])
    if pattern is None or pattern.fullmatch(compact(value)) is None:
        return False
    return not iban_checksum(value)


@rule(
    "account_is_iban",
    "account_number",
    message="An IBAN instead of an account number.",
    hint="Move it to the field for the IBAN.",
    basis=_REGISTRY,
)
def like_iban(value: str) -> bool:
    """Return True if a value is an IBAN, or a mistyped one: a country that has IBANs,
    two digits, nearly its length.
    """
    iban = compact(value)
    if _iban_pattern(iban[:2]) is None or _IBAN.fullmatch(iban) is None:
        return False
    return abs(len(iban) - _iban_length(iban[:2])) <= 1


@rule(
    "blanks_or_hyphens",
    "iban",
    "swift_bic",
    message="Contains blanks or hyphens, and is sent as typed.",
    hint="Write it without them.",
    basis="ISO 13616; ISO 9362",
)
def inner_separators(value: str) -> bool:
    """Return True if a code has blanks or hyphens inside, which are sent with it."""
    return "-" in value or " " in value.strip()


@rule(
    "bic_form",
    "swift_bic",
    message="Not in the BIC format, which has 8 or 11 characters.",
    hint="Ask the bank for its SWIFT/BIC.",
    basis="ISO 9362",
)
def bic_form(value: str) -> bool:
    """Return True if a value is not in the BIC format; an IBAN is left to the rule
    bic_is_iban.
    """
    return _BIC.fullmatch(compact(value)) is None and not is_iban(value)


@rule(
    "bic_country",
    "swift_bic",
    message="The fifth and sixth characters are not a country code.",
    hint="Ask the bank for its SWIFT/BIC.",
    basis="ISO 9362",
)
def bic_country(value: str) -> bool:
    """Return True if the fifth and sixth characters of a BIC are not a country code."""
    bic = compact(value)
    return _BIC.fullmatch(bic) is not None and bic[4:6] not in countries()


@rule(
    "bic_digits",
    "swift_bic",
    severity="info",
    message="Digits among the first four characters: allowed, but rare.",
    hint="Compare it with a bank statement.",
    basis="ISO 9362:2014; operator's documentation takes letters only",
)
def bic_digits(value: str) -> bool:
    """Return True if a BIC has digits in its first four characters, which not every
    bank form accepts.
    """
    bic = compact(value)
    return _BIC.fullmatch(bic) is not None and not bic[:4].isalpha()


@rule(
    "bic_iban_country",
    "swift_bic",
    message="The bank is in {bank}, the account in {account}.",
    hint="Check that the BIC and the IBAN belong to the same account.",
    basis="ISO 9362; ISO 13616",
)
def bic_and_iban_differ(swift_bic: str, iban: str | None) -> Words | None:
    """Return the countries of the BIC and the IBAN if they differ; None if they agree
    or share banks.
    """
    bank = country_of_bic(swift_bic)
    account = country_of_iban(iban)
    if bank is None or account is None or share_banks(bank, account):
        return None
    return {"bank": bank, "account": account}


def share_banks(one: str, other: str) -> bool:
    """Return True if two countries are the same, or one is a territory that shares the
    banks of the other.
    """
    return (
        one == other
        or one in _SHARED_BANKS.get(other, "").split()
        or other in _SHARED_BANKS.get(one, "").split()
    )


def country_of_bic(value: str | None) -> str | None:
    """Return the country that a well-formed BIC names; None for any other value."""
    bic = compact(value or "")
    is_known = _BIC.fullmatch(bic) is not None and bic[4:6] in countries()
    return bic[4:6] if is_known else None


def country_of_iban(value: str | None) -> str | None:
    """Return the country of a valid IBAN; None for any other value."""
    if value is None or not is_iban(value):
        return None
    return compact(value)[:2]


@rule(
    "account_is_bic",
    "account_number",
    message="Looks like a BIC, not an account number.",
    hint="Move it to the field for the SWIFT/BIC.",
    basis="ISO 9362",
)
def is_bic(value: str) -> bool:
    """Return True if a value outside the BIC field is almost certainly a BIC: letters,
    country code, length.
    """
    bic = compact(value)
    is_bic_of_letters = _BIC.fullmatch(bic) is not None and bic[:6].isalpha()
    return is_bic_of_letters and bic[4:6] in countries()


_LABEL = re.compile(
    r"(?:(?:bank|account|acct|acc|a/c|konto|kto|cuenta|compte|conta|conto|routing|aba"
    r"|rtn|sort code|passport|pasaporte|passeport|reisepass|id|number|num|nummer|no|nr"
    r"|n[°º])[\s.:#]+)+(?=\S*[0-9])",
    re.IGNORECASE,
)
"""Words for the field in front of a number."""

_SPACED_NUMBER = re.compile("[A-Z0-9]+(?: [A-Z0-9]+)+", re.ASCII)


def bare_number(value: str) -> str:
    """Return a number without a word for the field in front of it, and without the
    blanks between its groups.
    """
    number = value.strip()
    label = _LABEL.match(number)
    if label is not None:
        number = number[label.end() :]
    has_digits = any(char.isdigit() for char in number)
    if has_digits and _SPACED_NUMBER.fullmatch(number):
        number = number.replace(" ", "")
    return number


@rule(
    "number_as_typed",
    "account_number",
    "routing_number",
    "document_number",
    message="Has blanks, or a word in front of the number, and is sent as typed.",
    hint="Write the number alone.",
    basis="plausibility",
)
def number_as_typed(value: str) -> bool:
    """Return True if a number has more around or inside it than its characters."""
    return bare_number(value) != value.strip()


@rule(
    "account_without_digits",
    "account_number",
    message="An account number without digits.",
    hint="Check that it is not the name of the account holder or the bank.",
    basis="plausibility",
)
def no_digits(value: str) -> bool:
    """Return True if an account number has no digits; a BIC is left to the rule
    account_is_bic.
    """
    return (
        not any(char.isdigit() for char in value)
        and not value.isspace()
        and not is_bic(value)
    )


@rule(
    "routing_zero_lost",
    "routing_number",
    message="Eight digits: a leading zero is missing.",
    hint="Restore the zero.",
    basis=_ABA,
)
def routing_zero_lost(value: str) -> bool:
    """Return True if a routing number of eight digits becomes valid with a leading
    zero.
    """
    return len(value) == 8 and _is_aba(f"0{value}")


@rule(
    "routing_digits",
    "routing_number",
    message="Not a US routing number, which has nine digits.",
    hint="Compare it with a cheque or a bank statement.",
    basis=_ABA,
)
def routing_digits(value: str) -> bool:
    """Return True if a routing number does not have nine digits, or has only zeros."""
    has_nine_digits = _NINE_DIGITS.fullmatch(value) is not None
    if has_nine_digits and value != "000000000":
        return False
    return not routing_zero_lost(value)


@rule(
    "routing_checksum",
    "routing_number",
    message="The check digit does not match: probably a typo.",
    hint="Compare it with a cheque or a bank statement.",
    basis=_ABA,
)
def routing_checksum(value: str) -> bool:
    """Return True if the check digit of a routing number of nine digits does not
    match.
    """
    if routing_digits(value) or routing_zero_lost(value):
        return False
    return not _is_aba(value)


def _is_aba(value: str) -> bool:
    from stdnum.us import rtn  # noqa: PLC0415 - python-stdnum is loaded for a number

    return _NINE_DIGITS.fullmatch(value) is not None and rtn.is_valid(value)


@rule(
    "sort_code_digits",
    "sort_code",
    message="A sort code has six digits.",
    hint="Write it as 20-00-00, with its leading zeros.",
    basis="Vocalink sort code",
)
@rule(
    "ncc_digits",
    "ncc",
    message="An NCC has six digits: two for the bank, four for the branch.",
    hint="Use the first six digits of the account number.",
    basis="ISO 20022 NZNCC",
)
def not_six_digits(value: str) -> bool:
    """Return True if a code does not have six digits, with blanks and hyphens
    anywhere.
    """
    return _SIX_DIGITS.fullmatch(value) is None


@rule(
    "bsb_digits",
    "bsb_number",
    message="A BSB number has six digits, in two groups of three.",
    hint="Write it as 062-000, with its leading zeros.",
    basis="AusPayNet BSB; operator's documentation",
)
def bsb_digits(bsb_number: str) -> bool:
    """Return True if a BSB number does not have two groups of three digits."""
    return _BSB.fullmatch(bsb_number) is None


@rule(
    "ncc_account",
    "ncc",
    message="Differs from the first six digits of the account number.",
    hint="Check that the NCC and the account number belong to the same account.",
    basis="ISO 20022 NZNCC; Worldpay account payouts",
)
def ncc_and_account_differ(ncc: str, account_number: str | None) -> bool:
    """Return True if a full New Zealand account number begins with another bank and
    branch than the NCC.
    """
    number = compact(account_number or "")
    if _NZ_ACCOUNT.fullmatch(number) is None or not_six_digits(ncc):
        return False
    return number[:6] != compact(ncc)


@rule(
    "ifsc_letter_o",
    "ifsc",
    message="The fifth character is the letter O instead of a zero.",
    hint="Write a zero.",
    basis="Reserve Bank of India, IFSC",
)
def ifsc_letter_o(value: str) -> bool:
    """Return True if an IFSC has the letter O in place of the zero."""
    return _IFSC_WITH_O.fullmatch(value.strip().upper()) is not None


@rule(
    "ifsc_form",
    "ifsc",
    message="Not in the IFSC format: four letters, a zero, six letters or digits.",
    hint="Compare it with a cheque.",
    basis="Reserve Bank of India, IFSC",
)
def ifsc_form(value: str) -> bool:
    """Return True if a value is not in the IFSC format."""
    return _IFSC.fullmatch(value.strip().upper()) is None and not ifsc_letter_o(value)


@rule(
    "rib_form",
    "rib_number",
    message=(
        "Not in the RIB format of 23 characters: bank 5, branch 5, account 11, key 2."
    ),
    hint="Compare it with the printed RIB.",
    basis="SWIFT IBAN registry, France",
)
def rib_form(value: str) -> bool:
    """Return True if a value is not in the format of a French RIB: bank 5, branch 5,
    account 11, key 2.
    """
    return _RIB.fullmatch(compact(value)) is None


@rule(
    "rib_key",
    "rib_number",
    message="The key does not match: probably a typo.",
    hint="Compare it with the printed RIB.",
    basis="RIB key, mod 97",
)
def rib_key(value: str) -> bool:
    """Return True if the key at the end of a RIB does not match."""
    rib = compact(value)
    if _RIB.fullmatch(rib) is None:
        return False
    # 00, 98 and 99 leave the same remainders as 97, 01 and 02.
    is_possible = "01" <= rib[-2:] <= "97"
    return not is_possible or int(rib.translate(_RIB_LETTERS)) % 97 != 0


@rule(
    "clabe_digit",
    "account_number",
    message="The check digit of the CLABE does not match: probably a typo.",
    hint="Compare it with a bank statement.",
    basis="CLABE, 3-7-1 check digit; Banco de México",
)
def clabe_digit(value: str, currency: str | None) -> bool:
    """Return True if the check digit of a Mexican CLABE, its last, does not match."""
    number = compact(value)
    if upper_code(currency) != "MXN" or _CLABE.fullmatch(number) is None:
        return False
    weights = itertools.cycle((3, 7, 1))
    total = sum(int(digit) * next(weights) % 10 for digit in number[:17])
    return int(number[17]) != -total % 10


@rule(
    "cbu_digits",
    "account_number",
    message="A check digit of the CBU does not match: probably a typo.",
    hint="Compare it with a bank statement.",
    basis="CBU; Banco Central de la República Argentina",
)
def cbu_digits(value: str, currency: str | None) -> bool:
    """Return True if a check digit of an Argentine CBU does not match."""
    from stdnum.ar import cbu  # noqa: PLC0415 - python-stdnum is loaded for a number

    number = compact(value)
    if upper_code(currency) != "ARS" or _CBU.fullmatch(number) is None:
        return False
    return not cbu.is_valid(number)


@rule(
    "nz_account",
    "account_number",
    message="The check digit does not match the bank: probably a typo.",
    hint="Compare it with a bank statement.",
    basis="Inland Revenue New Zealand, bank account number validation",
)
def nz_account(value: str, currency: str | None) -> bool:
    """Return True if the check digit of a full New Zealand account number does not
    match.
    """
    from stdnum.exceptions import InvalidChecksum, ValidationError  # noqa: PLC0415
    from stdnum.nz import bankaccount  # noqa: PLC0415 - loaded for a number

    number = compact(value)
    if upper_code(currency) != "NZD" or _NZ_ACCOUNT.fullmatch(number) is None:
        return False
    try:
        bankaccount.validate(number)
    except InvalidChecksum:
        return True
    except ValidationError:
        return False  # The branch is not in the library's list yet.
    return False


@rule(
    "account_name_long",
    "account_name",
    severity="info",
    message="Longer than 35 characters, where US bank transfers cut off the name.",
    hint="Shorten it as the bank does.",
    basis="operator's documentation",
)
def account_name_long(value: str, currency: str | None, rails: str | None) -> bool:
    """Return True if a US bank transfer would cut off the account holder's name."""
    is_local = upper_code(currency) == "USD" and (rails or "local") == "local"
    return is_local and len(value) > 35
