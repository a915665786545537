"""Rules about what the banks of single countries give out, beside what the operator
asks for: how long numbers are, numbers that nobody has, and public check digits.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from payerkit.checks.banks import (
    country_of_bic,
    country_of_iban,
    like_iban,
    routing_checksum,
    routing_digits,
    routing_zero_lost,
)
from payerkit.checks.places import countries
from payerkit.checks.requirements import NumberForm, number_form, title_in_text
from payerkit.checks.rules import Words, rule
from payerkit.checks.texts import compact, upper_code

_AIRWALLEX = "Airwallex payout network"
_LIGHTSPARK = "Lightspark grid-api"
_STRIPE = "Stripe, receive payouts"
_WORLDPAY = "Worldpay account payouts"


@dataclass(frozen=True, slots=True)
class NationalForm:
    """The form of a number in one country, by a public source; it is looked for if an
    account is in the currency of the country.
    """

    currency: str
    country: str
    form: NumberForm
    source: str
    field: str = "account_number"


_TABLE = (
    NationalForm("AUD", "AU", NumberForm(5, 10), f"{_STRIPE}; OpenText Eduction"),
    NationalForm("CAD", "CA", NumberForm(7, 12), _LIGHTSPARK),
    NationalForm("HKD", "HK", NumberForm(9, 12), "Wise, Hong Kong account numbers"),
    NationalForm("INR", "IN", NumberForm(9, 18), _LIGHTSPARK),
    NationalForm("JPY", "JP", NumberForm(7, 7), _AIRWALLEX),
    NationalForm("KRW", "KR", NumberForm(10, 16), _WORLDPAY),
    NationalForm("MYR", "MY", NumberForm(5, 17), "CHIP Send, supported banks"),
    NationalForm("NZD", "NZ", NumberForm(15, 16), f"{_STRIPE}; {_AIRWALLEX}"),
    NationalForm("PEN", "PE", NumberForm(20, 20), _AIRWALLEX),
    NationalForm("PHP", "PH", NumberForm(8, 16), _LIGHTSPARK),
    NationalForm("SGD", "SG", NumberForm(7, 14), f"{_AIRWALLEX}; Eventfinda"),
    NationalForm("THB", "TH", NumberForm(10, 12), f"{_AIRWALLEX}; {_WORLDPAY}"),
    NationalForm("ZAR", "ZA", NumberForm(7, 11), "Netcash, account number tips"),
    NationalForm("ZAR", "ZA", NumberForm(6, 6), "Banklink; Remitly", "branch_code"),
)
_FORMS = {(row.currency, row.field): row for row in _TABLE}
"""The forms by currency and field, looked up on 2026-11-28 in the documentation of
payout providers and banks. China, Indonesia and others have none: the sources
contradict each other there.
"""


@rule(
    "national_form",
    *dict.fromkeys(row.field for row in _TABLE),
    only="BankDetails",
    message="In {country}, the {title} has {form}.",
    hint="Compare it with a bank statement; keep leading zeros.",
    basis="; ".join(dict.fromkeys(row.source for row in _TABLE)),
)
def national_form(
    value: str,
    currency: str | None,
    rails: str | None,
    swift_bic: str | None,
    *,
    field: str,
) -> Words | None:
    """Return the form that a number has in the country of its currency, if it has
    another; None if the bank is elsewhere, or if the operator's own form is missed.
    """
    row = _FORMS.get((upper_code(currency), field))
    if row is None or row.form.matches(value) or like_iban(value):
        return None
    is_elsewhere = country_of_bic(swift_bic) not in {None, row.country}
    if is_elsewhere or number_form(value, currency, rails, field=field) is not None:
        return None
    return {
        "country": countries()[row.country].name,
        "title": title_in_text(field),
        "form": str(row.form),
        "basis": row.source,
    }


# Numbers that nobody was given

_ONE_DIGIT = re.compile(r"([0-9])\1{3,}")
_EXAMPLES = {
    "123456",
    "1234567",
    "12345678",
    "123456789",
    "1234567890",
    "87654321",
    "987654321",
    "9876543210",
}
_ZEROS = re.compile("[0 -]+")


@rule(
    "one_digit_repeated",
    "account_number",
    message="One digit alone, repeated: no account has this number.",
    hint="Enter the number of the account.",
    basis="plausibility",
)
def one_digit_repeated(account_number: str) -> bool:
    """Return True if an account number has only one digit, such as 11111111."""
    return _ONE_DIGIT.fullmatch(compact(account_number)) is not None


@rule(
    "digits_in_sequence",
    "account_number",
    severity="info",
    message="Digits in sequence, as in examples.",
    hint="Compare it with a bank statement.",
    basis="plausibility",
)
def digits_in_sequence(account_number: str) -> bool:
    """Return True if an account number is like 12345678 or 87654321."""
    return compact(account_number) in _EXAMPLES


@rule(
    "code_of_zeros",
    "sort_code",
    "bsb_number",
    "ncc",
    "bank_code",
    message="Zeros alone: no bank has this code.",
    hint="Compare it with a bank statement.",
    basis="plausibility",
)
def code_of_zeros(value: str) -> bool:
    """Return True if the code of a bank has nothing but zeros."""
    return _ZEROS.fullmatch(value) is not None and "0" in value


@rule(
    "account_is_code",
    "account_number",
    message="The same as the {code}.",
    hint="Enter the number of the account.",
    basis="plausibility",
)
def account_is_code(
    account_number: str,
    routing_number: str | None,
    sort_code: str | None,
    bsb_number: str | None,
    bank_code: str | None,
) -> Words | None:
    """Return the code of the bank that stands in place of an account number; None if
    none does.
    """
    codes = {
        "routing_number": routing_number,
        "sort_code": sort_code,
        "bsb_number": bsb_number,
        "bank_code": bank_code,
    }
    for name, code in codes.items():
        if code is not None and compact(code) == compact(account_number):
            return {"code": title_in_text(name)}
    return None


_ISSUED = frozenset(
    f"{prefix:02}" for prefix in (*range(13), 15, *range(21, 33), *range(61, 73), 80)
)
"""The first two digits of routing numbers that are given out: Federal Reserve districts
and what is derived from them, and 15, of the Treasury.
"""


@rule(
    "routing_prefix",
    "routing_number",
    message="Begins with two digits that no bank in the US has.",
    hint="Compare it with a cheque or a bank statement.",
    basis="ABA routing number policy; Federal Reserve directories",
)
def routing_prefix(routing_number: str) -> bool:
    """Return True if a routing number with the right check digit was never issued."""
    is_whole = not routing_digits(routing_number)
    if not is_whole or routing_zero_lost(routing_number):
        return False
    return not routing_checksum(routing_number) and routing_number[:2] not in _ISSUED


_CLABE = re.compile("[0-9]{18}")
_MEXICAN_BANKS = (
    "001 002 006 009 012 014 019 021 022 030 032 036 037 042 044 058 059 060 062 072"
    " 102 103 106 108 110 112 113 116 124 126 127 128 129 130 131 132 133 134 135 136"
    " 137 138 139 140 141 143 145 147 148 149 150 151 152 153 154 155 156 157 158 159"
    " 160 165 166"
)
"""The banks of Mexico up to 166. Later ones, and the other institutions from 600 on,
change too often for a list."""


@rule(
    "clabe_bank",
    "account_number",
    message="The first three digits of the CLABE are of no bank in Mexico.",
    hint="Compare it with a bank statement.",
    basis="Banco de México, participants of SPEI",
)
def clabe_bank(account_number: str, currency: str | None) -> bool:
    """Return True if a CLABE begins with digits that no bank has."""
    number = compact(account_number)
    if upper_code(currency) != "MXN" or _CLABE.fullmatch(number) is None:
        return False
    bank = number[:3]
    is_newer = 166 < int(bank) < 200 or int(bank) >= 600
    return not is_newer and bank not in _MEXICAN_BANKS.split()


@rule(
    "bic_for_tests",
    "swift_bic",
    message="A BIC for tests: its eighth character is 0.",
    hint="Ask the bank for its SWIFT/BIC.",
    basis="ISO 9362",
)
def bic_for_tests(swift_bic: str) -> bool:
    """Return True if a BIC is one for tests and training."""
    return country_of_bic(swift_bic) is not None and compact(swift_bic)[7] == "0"


# Check digits

WITH_CHECK_DIGITS = tuple(
    "BA BE CZ EE ES FI FR IS IT MC ME MK MR NO PT RS SI SK SM TL TN".split()  # noqa: SIM905 - a list to read
)
"""Countries whose account numbers have check digits that are the same for all banks;
those of Germany depend on the bank.
"""


@rule(
    "iban_national_digits",
    "iban",
    message="The check digits of {country} inside the IBAN do not match.",
    hint="Compare it with a bank statement.",
    basis="national check digits, by schwifty",
)
def iban_national_digits(iban: str) -> Words | None:
    """Return the country of an IBAN whose own check digits match, while those inside do
    not; None for any other.
    """
    country = country_of_iban(iban)
    if country is None or country not in WITH_CHECK_DIGITS:
        return None
    from schwifty import BBAN  # noqa: PLC0415 - it takes longer to import than payerkit
    from schwifty.exceptions import InvalidBBANChecksum  # noqa: PLC0415

    try:
        BBAN(country, compact(iban)[4:]).validate_national_checksum()
    except InvalidBBANChecksum:
        return {"country": countries()[country].name}
    return None


_NUBAN = re.compile("[0-9]{10}")
_NIGERIAN_BANK = re.compile("[0-9]{3}")


@rule(
    "nuban_digit",
    "account_number",
    message="The check digit of the NUBAN does not match the bank: probably a typo.",
    hint="Compare it with a bank statement.",
    basis="Central Bank of Nigeria, NUBAN standard",
)
def nuban_digit(
    account_number: str, currency: str | None, bank_code: str | None
) -> bool:
    """Return True if the check digit of a Nigerian account number, its last, does not
    match the bank of three digits.
    """
    number = compact(account_number)
    bank = compact(bank_code or "")
    if upper_code(currency) != "NGN" or _NUBAN.fullmatch(number) is None:
        return False
    if _NIGERIAN_BANK.fullmatch(bank) is None:
        return False
    weights = itertools.cycle((3, 7, 3))
    total = sum(int(digit) * next(weights) for digit in f"{bank}{number[:9]}")
    return int(number[9]) != -total % 10


# Banks and currencies that do not belong together

_SEPA = (
    "AD AL AT BE BG CH CY CZ DE DK EE ES FI FR GB GI GR HR HU IE IS IT LI LT LU LV MC"
    " MD ME MK MT NL NO PL PT RO RS SE SI SK SM VA"
)
"""The countries whose IBANs SEPA reaches."""


@rule(
    "outside_sepa",
    "iban",
    message="The account is in {country}, which local transfers in euros do not reach.",
    hint="Set the rails to swift, or ask for an account in a SEPA country.",
    basis="European Payments Council, EPC409-09, list of SEPA countries",
)
def outside_sepa(iban: str, currency: str | None, rails: str | None) -> Words | None:
    """Return the country of an account that is to get euros over local rails, if SEPA
    does not reach it; None for any other.
    """
    country = country_of_iban(iban)
    is_local = upper_code(currency) == "EUR" and (rails or "local") == "local"
    if country is None or not is_local or country in _SEPA.split():
        return None
    return {"country": countries()[country].name}


_SAME_IN_BOTH = (
    "AUBL BARB BDBL BKID CBIN CITI CIUB CNRB DBSS DEUT FDRL HDFC HSBC IBKL ICIC IDFB"
    " IDIB INDB IOBA JAKA KARB KKBK KVBL MAHB PSIB PUNB RATN SBIN SCBL TMBL UBIN UCBA"
    " YESB"
)
_BICS = {bank: bank for bank in _SAME_IN_BOTH.split()} | {
    "CSBK": "CSYB",
    "SIBL": "SOIN",
    "UTIB": "AXIS",
}
"""How the BICs of large Indian banks begin, by the first four letters of their
IFSCs.
"""


@rule(
    "ifsc_and_bic",
    "ifsc",
    message="The IFSC is of {bank}, the BIC of another bank.",
    hint="Check that the IFSC and the BIC belong to the same account.",
    basis="Reserve Bank of India, IFSC; ISO 9362",
)
def ifsc_and_bic(ifsc: str, swift_bic: str | None) -> Words | None:
    """Return the bank of an IFSC if the BIC is of another one; None if they agree, or
    if one of them is not known.
    """
    bank = ifsc.strip().upper()[:4]
    other = compact(swift_bic or "")[:4]
    is_known = bank in _BICS and other in _BICS.values()
    if not is_known or country_of_bic(swift_bic) != "IN" or other == _BICS[bank]:
        return None
    return {"bank": bank}


_HELD_AT_HOME = {
    "IDR": "ID",
    "INR": "IN",
    "JPY": "JP",
    "KRW": "KR",
    "MYR": "MY",
    "PHP": "PH",
    "THB": "TH",
}
"""Currencies in which banks abroad keep no accounts, or few."""


@rule(
    "currency_and_bic",
    "swift_bic",
    message="The bank is in {bank}, and the currency is {currency}.",
    hint=(
        "Check that the account is in this currency; most banks abroad keep none in it."
    ),
    basis="plausibility",
)
def currency_and_bic(swift_bic: str, currency: str | None) -> Words | None:
    """Return the country of a bank if accounts in the currency are rare there; None if
    they are not.
    """
    home = _HELD_AT_HOME.get(upper_code(currency))
    bank = country_of_bic(swift_bic)
    if home is None or bank is None or bank == home:
        return None
    return {"bank": countries()[bank].name, "currency": upper_code(currency)}


@rule(
    "name_not_ascii",
    "account_name",
    severity="info",
    message="Has letters or signs that are not in an ACH file: they arrive as others.",
    hint="Write them as the bank does, such as ue or u for an umlaut.",
    basis="Nacha Operating Rules, Appendix Three: ASCII alone, with & and #",
)
def name_not_ascii(account_name: str, currency: str | None, rails: str | None) -> bool:
    """Return True if a name does not arrive whole in a local transfer of dollars."""
    is_ach = upper_code(currency) == "USD" and (rails or "local") == "local"
    return is_ach and not account_name.isascii()
