"""For every rule a body that it minds and one that it does not, with a reason; for every currency an account."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from published import PUBLISHED

_TODAY = dt.datetime.now(tz=dt.UTC).date()
_DE, _FI = "DE89370400440532013000", "FI2112345600000785"
_FR, _GB, _MC = "FR1420041010050500013M02606", "GB82WEST12345698765432", "MC5811222000010123456789030"
_NEW_BRANCH = {"currency": "nzd", "accountNumber": "0199990001009000"}


def _years_ago(years: int) -> str:
    return _TODAY.replace(year=_TODAY.year - years, day=1).isoformat()


_NEXT_YEAR = _TODAY.replace(year=_TODAY.year + 1, day=1).isoformat()
_TEN_YEARS_OLD = _TODAY.replace(year=_TODAY.year - 10, day=1).isoformat()

BASES: dict[str, tuple[str, dict[str, str]]] = {
    "payer": ("Payer", PUBLISHED["payers"]["individual"]),
    "company": ("Payer", PUBLISHED["payers"]["business"]),
    "us": ("BankDetails", PUBLISHED["bank_details"]["us_business"]),
    "sepa": ("BankDetails", PUBLISHED["bank_details"]["swift"]),
    "uk": ("BankDetails", PUBLISHED["bank_details"]["uk"]),
}
"""The published bodies that examples change, by a short name."""


@dataclass(frozen=True)
class Example:
    """What a rule minds: a body, the members that are changed for the worse, and those that are for the better."""

    code: str
    base: str
    bad: dict[str, Any]
    good: dict[str, Any]
    why: str

    @property
    def body(self) -> str:
        """The name of the body."""
        return BASES[self.base][0]

    def record(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Return the changed body; None takes a member away."""
        record = {**BASES[self.base][1], **changes}
        return {name: value for name, value in record.items() if value is not None}


EXAMPLES = [
    Example("only_blanks", "payer", {"city": "  "}, {"city": " New York"}, "a blank has length 1, and says nothing"),
    Example("only_blanks", "us", {"bankName": "\t"}, {"bankName": "ING"}, "the same for bank details"),
    Example("outer_blanks", "payer", {"lastName": "Doe "}, {"lastName": "van Doe"}, "blanks inside belong to a name"),
    Example("outer_blanks", "us", {"accountName": " Acme"}, {"accountName": "   "}, "only blanks is another rule"),
    Example("invisible_characters", "payer", {"city": "New\u200bYork"}, {"city": "Zürich"}, "a zero-width blank"),
    Example("invisible_characters", "payer", {"ssn": "123\u00a045"}, {"city": "東京\u3000港区"}, "a no-break space"),
    Example("invisible_characters", "us", {"routingNumber": "\ufeff026013356"}, {"city": "東京"}, "a byte-order mark"),
    Example(
        "other_digits",
        "payer",
        {"postcode": "\u0661\u0660\u0660\u0660\u0661"},
        {"postcode": "10001"},
        "Arabic-Indic digits",
    ),
    Example(
        "other_digits",
        "us",
        {"accountNumber": "\uff12\uff15\uff13\uff10\uff10\uff19"},
        {"accountNumber": "253009233489"},
        "full-width",
    ),
    Example("spreadsheet_number", "payer", {"ssn": "1.23457E+08"}, {"ssn": "123456789"}, "digits were lost"),
    Example("spreadsheet_number", "us", {"routingNumber": "26013356.0"}, {"city": "Area 51"}, "a point was added"),
    Example("spreadsheet_number", "us", {"accountNumber": "2,5E+11"}, {"ncc": "EE+1"}, "a comma, elsewhere"),
    Example("email_odd", "payer", {"email": ".john@example.com"}, {"email": "j.doe+x@example.co.uk"}, "a dot in front"),
    Example(
        "email_odd", "payer", {"email": "j@example.c"}, {"email": "j@sub.example.museum"}, "no ending has 1 letter"
    ),
    Example("email_odd", "payer", {"email": "j..d@example.com"}, {"email": "j.d@example.com"}, "two dots in a row"),
    Example("email_odd", "payer", {"email": '"j"@example.com'}, {"email": "o'neil@example.com"}, "quotes"),
    Example("email_odd", "payer", {"email": "j@-a.example"}, {"email": "j-d@a-b.example"}, "hyphens at a label's end"),
    Example("email_odd", "payer", {"email": "j@10.0.0.1"}, {"email": "j1@example1.com"}, "a bare address of a host"),
    Example("phone_without_plus", "payer", {"phone": "12125551234"}, {}, "the service takes both"),
    Example("phone_impossible", "payer", {"phone": "+1212555123"}, {"phone": "+12125551234"}, "a digit is missing"),
    Example("phone_impossible", "payer", {"phone": "+2101234567"}, {"phone": "+447911123456"}, "210 is no country"),
    Example("phone_impossible", "payer", {"phone": "5551234"}, {"phone": "+390612345678"}, "Italy keeps its zero"),
    Example("phone_impossible", "payer", {"phone": "+442"}, {"phone": "+80012345678"}, "800 is a number of no country"),
    Example("phone_national", "payer", {"phone": "2025550123"}, {"phone": "+12025550123"}, "+20 is Egypt"),
    Example(
        "phone_national", "payer", {"phone": "2015550123", "country": "CA"}, {"phone": "+2015550123"}, "+ is meant"
    ),
    Example("phone_national", "payer", {"phone": "+2025550123"}, {"phone": "+447911123456"}, "no such number in Egypt"),
    Example("phone_national", "payer", {"phone": "612345678", "country": "FR"}, {"country": "GB"}, "+61 is Australia"),
    Example("phone_national", "payer", {"phone": "84951234567", "country": "RU"}, {"country": "VN"}, "8 for +7"),
    Example("ssn_digits", "payer", {"ssn": "123-45-678"}, {"ssn": "123456789"}, "hyphens are optional"),
    Example("ssn_digits", "payer", {"ssn": "AB123456C"}, {"ssn": "AB123456C", "country": "GB"}, "abroad: any number"),
    Example("ssn_impossible", "payer", {"ssn": "666-12-3456"}, {"ssn": "665-12-3456"}, "area 666 is not given out"),
    Example("ssn_impossible", "payer", {"ssn": "000-12-3456"}, {"ssn": "001-12-3456"}, "nor is 000"),
    Example("ssn_impossible", "payer", {"ssn": "123-00-4567"}, {"ssn": "123-01-4567"}, "nor group 00"),
    Example("ssn_impossible", "payer", {"ssn": "123-45-0000"}, {"ssn": "123-45-0001"}, "nor serial 0000"),
    Example("ssn_impossible", "payer", {"ssn": "912-49-1234"}, {"ssn": "912-50-1234"}, "an ITIN has 50 in the middle"),
    Example("ssn_impossible", "payer", {"ssn": "912-93-1234"}, {"ssn": "912-94-1234"}, "93 was left out"),
    Example("ein_digits", "company", {"ssn": "12-345678"}, {"ssn": "12-3456789"}, "an EIN has nine digits"),
    Example("ein_digits", "company", {"ssn": "HRB 123"}, {"ssn": "HRB 123", "country": "DE"}, "abroad: any number"),
    Example("company_member_missing", "company", {"companyName": None}, {}, "the operator asks companies for it"),
    Example(
        "company_member_missing", "company", {"sourceOfFunds": None}, {"beneficiaryType": "individual"}, "not people"
    ),
    Example("company_of_a_person", "payer", {"companyName": "Acme"}, {"companyName": None}, "one of the two is wrong"),
    Example("country_habit", "payer", {"country": "UK"}, {"country": "GB"}, "UK is reserved, GB is the code"),
    Example("country_habit", "sepa", {"country": "EL"}, {"country": "GR"}, "EL is the tax prefix of Greece"),
    Example("country_unknown", "payer", {"nationality": "XX"}, {"nationality": "XK"}, "XK is what everybody uses"),
    Example("country_unknown", "us", {"country": "ZZ"}, {"country": "us"}, "sent as typed, compared in capitals"),
    Example("country_excluded", "payer", {"country": "CU"}, {"nationality": "CU"}, "residents, not nationals"),
    Example("state_written_out", "payer", {"state": "New York"}, {"state": "NY"}, "the operator wants two letters"),
    Example("state_written_out", "us", {"state": "california"}, {"state": "ca"}, "small letters will do"),
    Example("state_unknown", "payer", {"state": "XY"}, {"state": "AE"}, "armed forces have codes of their own"),
    Example("state_unknown", "us", {"state": "London"}, {"state": "London", "country": "GB"}, "abroad it is free text"),
    Example("state_unknown_abroad", "payer", {"state": "XX", "country": "CA"}, {"state": "ON", "country": "CA"}, "ISO"),
    Example("state_unknown_abroad", "us", {"state": "XX", "country": "BR"}, {"state": "SP", "country": "BR"}, "ISO"),
    Example("state_missing", "us", {"state": None}, {"state": None, "country": "MX"}, "only an address in the US"),
    Example("postal_zero_lost", "payer", {"postcode": "2108"}, {"postcode": "02108"}, "what a table makes of Boston"),
    Example("postal_zero_lost", "us", {"postalCode": "2108"}, {"postalCode": "2108", "country": "CH"}, "a Swiss one"),
    Example("postal_zero_lost", "sepa", {"postalCode": "1067"}, {"postalCode": "01067"}, "Dresden begins with a zero"),
    Example(
        "postal_zero_lost", "us", {"postalCode": "6000", "country": "MX"}, {"postalCode": "106"}, "two are too many"
    ),
    Example("postal_form", "payer", {"postcode": "100011"}, {"postcode": "10001-1234"}, "ZIP+4 is a ZIP code"),
    Example("postal_form", "uk", {"postalCode": "SW1A1A"}, {"postalCode": "sw1a 1aa"}, "small letters will do"),
    Example("postal_unchecked", "payer", {"country": "AE"}, {}, "the Emirates have no postal codes"),
    Example("postal_unchecked", "us", {"country": "HK"}, {}, "nor has Hong Kong"),
    Example("postal_elsewhere", "payer", {"state": "CA"}, {"state": "NY"}, "10001 is New York"),
    Example("postal_elsewhere", "us", {"state": "NY"}, {"state": "XX"}, "what is no state has no ZIP codes"),
    Example("date_impossible", "payer", {"dateOfBirth": "1985-02-30"}, {"dateOfBirth": "1984-02-29"}, "leap years"),
    Example("date_impossible", "us", {"dateOfBirth": "1985-13-01"}, {"dateOfBirth": "1985-12-01"}, "days and months"),
    Example("date_future", "payer", {"dateOfBirth": _NEXT_YEAR}, {"dateOfBirth": "2000-01-01"}, "not born yet"),
    Example("date_future", "us", {"dateOfBirth": _NEXT_YEAR}, {"dateOfBirth": "1800-01-01"}, "not founded yet"),
    Example("age_unlikely", "payer", {"dateOfBirth": _TEN_YEARS_OLD}, {"dateOfBirth": "1985-12-12"}, "a child"),
    Example("age_unlikely", "sepa", {"dateOfBirth": "1850-01-01"}, {"dateOfBirth": "1960-01-01"}, "120 years"),
    Example(
        "age_unlikely",
        "uk",
        {"dateOfBirth": "1850-01-01"},
        {"beneficiaryType": "business", "dateOfBirth": "1850-01-01"},
        "companies grow old",
    ),
    Example("currency_habit", "us", {"currency": "RMB"}, {"currency": "cny"}, "the code is CNY"),
    Example("currency_unknown", "us", {"currency": "XYZ"}, {"currency": "usd"}, "the published example is small"),
    Example(
        "number_form", "us", {"accountNumber": "12_34567"}, {"accountNumber": "DE89370400440532013000"}, "wrong box"
    ),
    Example("currency_unlisted", "us", {"currency": "NOK"}, {"currency": "RMB"}, "another rule tells what RMB is"),
    Example("currency_unlisted", "us", {"currency": "ISK"}, {"currency": "SEK"}, "said, and not silently valid"),
    Example("needs_unpublished", "us", {"currency": "KES"}, {"currency": "MXN"}, "listed, and without a table"),
    Example("rails_unusual", "sepa", {"rails": "wire"}, {"rails": "local"}, "wires are for dollars"),
    Example("rails_unusual", "us", {"currency": "mxn", "rails": "swift"}, {"currency": "mxn"}, "Mexico: local only"),
    Example("rails_unusual", "us", {"currency": "JPY"}, {"currency": "GBP"}, "Japan: SWIFT only, pounds: both"),
    Example("member_missing", "us", {"routingNumber": None}, {"routingNumber": "1"}, "wrong is not missing"),
    Example(
        "member_missing",
        "uk",
        {"sortCode": None},
        {"sortCode": None, "accountNumber": None, "iban": "GB82WEST12345698765432"},
        "an IBAN says both",
    ),
    Example("number_form", "us", {"accountNumber": "12345"}, {"accountNumber": "1234-5678"}, "hyphens do not count"),
    Example("iban_country", "sepa", {"iban": "0532013000"}, {"iban": "de89 3704 0044 0532 0130 00"}, "a plain number"),
    Example(
        "iban_unregistered", "sepa", {"iban": "MA64011519000001205000534921"}, {}, "Morocco uses IBANs, unregistered"
    ),
    Example(
        "iban_form", "sepa", {"iban": "DE8937040044053201300"}, {"iban": "DE89-3704-0044-0532-0130-00"}, "21 of 22"
    ),
    Example("iban_form", "sepa", {"iban": "GB82WEST1234569876543X"}, {"iban": "GB82WEST12345698765432"}, "a letter"),
    Example("iban_checksum", "sepa", {"iban": "DE89370400440532013001"}, {"iban": "BE68539007547034"}, "one digit off"),
    Example("iban_checksum", "sepa", {"iban": "DE98370400440532013000"}, {"iban": "DE12"}, "digits swapped"),
    Example("bic_form", "sepa", {"swiftBic": "DEUTDE"}, {"swiftBic": "deutdeff500"}, "8 or 11"),
    Example("bic_is_iban", "sepa", {"swiftBic": "DE89370400440532013000"}, {"swiftBic": "DEUTDEFF"}, "the wrong box"),
    Example("bic_country", "sepa", {"swiftBic": "DEUTXXFF"}, {"swiftBic": "RBKOXKPR"}, "Kosovo has a code"),
    Example("bic_digits", "sepa", {"swiftBic": "D3UTDEFF"}, {"swiftBic": "DEUTDE5M"}, "digits later are usual"),
    Example(
        "bic_iban_country", "sepa", {"swiftBic": "BARCGB22"}, {"swiftBic": "COBADEFF"}, "two countries, one account"
    ),
    Example(
        "bic_iban_country",
        "sepa",
        {"swiftBic": "BARCJESH"},
        {"swiftBic": "BARCJESH", "iban": "GB82WEST12345698765432"},
        "Jersey",
    ),
    Example(
        "account_without_digits", "us", {"accountNumber": "Example Payer"}, {"accountNumber": "DEUTDEFF"}, "a name"
    ),
    Example("account_is_iban", "us", {"accountNumber": "DE89370400440532013000"}, {}, "the wrong box"),
    Example("account_is_bic", "us", {"accountNumber": "DEUTDEFF"}, {"accountNumber": "ABC12345"}, "the wrong box"),
    Example(
        "clabe_digit",
        "us",
        {"currency": "mxn", "accountNumber": "032180000118359718"},
        {"currency": "mxn", "accountNumber": "032180000118359719"},
        "3-7-1",
    ),
    Example(
        "cbu_digits",
        "us",
        {"currency": "ars", "accountNumber": "2850590940090418135200"},
        {"currency": "ars", "accountNumber": "2850590940090418135201"},
        "two check digits",
    ),
    Example(
        "nz_account",
        "us",
        {"currency": "nzd", "accountNumber": "01-0902-0068388-00"},
        {"currency": "nzd", "accountNumber": "01-0902-0068389-00"},
        "one digit off",
    ),
    Example(
        "routing_zero_lost",
        "us",
        {"routingNumber": "26013356"},
        {"routingNumber": "12345678"},
        "what a table makes of it",
    ),
    Example(
        "routing_digits",
        "us",
        {"routingNumber": "02601335a"},
        {"routingNumber": "154000008"},
        "a prefix nobody lists is in use",
    ),
    Example(
        "routing_digits",
        "us",
        {"routingNumber": "000000000"},
        {"routingNumber": "26013356"},
        "zeros fit the check digit",
    ),
    Example("routing_checksum", "us", {"routingNumber": "026013357"}, {"routingNumber": "026013356"}, "one digit off"),
    Example("sort_code_digits", "uk", {"sortCode": "20000"}, {"sortCode": "20-00 00"}, "separators do not count"),
    Example("bsb_digits", "us", {"bsbNumber": "62-000"}, {"bsbNumber": "062-000"}, "a zero was lost"),
    Example("ncc_digits", "us", {"ncc": "2100"}, {"ncc": "02-1000"}, "bank 2, branch 4"),
    Example(
        "ncc_account",
        "us",
        {"ncc": "021000", "accountNumber": "0109020068389000"},
        {"ncc": "010902", "accountNumber": "0109020068389000"},
        "two banks",
    ),
    Example("ifsc_letter_o", "us", {"ifsc": "HDFCO000001"}, {"ifsc": "HDFC0000001"}, "looks alike"),
    Example("ifsc_form", "us", {"ifsc": "HDFC000001"}, {"ifsc": "hdfc0000001"}, "11 characters"),
    Example(
        "rib_form",
        "us",
        {"ribNumber": "2004101005"},
        {"ribNumber": "20041 01005 0500013M026 06"},
        "blanks do not count",
    ),
    Example(
        "rib_key",
        "us",
        {"ribNumber": "20041010050500013M02607"},
        {"ribNumber": "20041010050500013M02606"},
        "one digit off",
    ),
    Example(
        "account_name_long",
        "us",
        {"accountName": "An Example Company With A Very Long Name"},
        {"rails": "wire", "accountName": "An Example Company With A Very Long Name"},
        "ACH",
    ),
    Example(
        "document_number",
        "us",
        {"currency": "brl", "documentType": "CPF", "documentNumber": "390.533.447-06"},
        {"currency": "brl", "documentType": "cpf", "documentNumber": "390.533.447-05"},
        "check digits",
    ),
    Example(
        "document_number",
        "us",
        {"currency": "brl", "documentNumber": "16.727.230/0001-98"},
        {"currency": "brl", "documentNumber": "16.727.230/0001-97"},
        "a company's in Brazil",
    ),
    Example(
        "document_number",
        "us",
        {"currency": "pen", "documentType": "dni", "documentNumber": "123"},
        {"currency": "pen", "documentType": "dni", "documentNumber": "12.345.678"},
        "a form, no check",
    ),
    Example(
        "document_unchecked",
        "us",
        {"documentType": "passport", "documentNumber": "X0000000"},
        {"currency": "clp", "documentType": "rut", "documentNumber": "76.086.428-5"},
        "said, and not silently valid",
    ),
]

EXAMPLES += [
    Example("document_unchecked", "us", {"documentType": "dni", "documentNumber": "12345678Z"}, {}, "a Spanish one"),
    Example("country_excluded", "payer", {"country": "ye"}, {"country": "BF"}, "Burkina Faso is not in the list"),
    Example(
        "bic_iban_country", "sepa", {"swiftBic": "AAAAIMXX", "iban": _DE}, {"swiftBic": "AAAAIMXX", "iban": _GB}, "Man"
    ),
    Example("bic_iban_country", "sepa", {"swiftBic": "AAAAGGXX"}, {"swiftBic": "AAAAGGXX", "iban": _GB}, "Guernsey"),
    Example("bic_iban_country", "sepa", {"swiftBic": "AAAAAXXX"}, {"swiftBic": "AAAAAXXX", "iban": _FI}, "Åland"),
    Example("bic_iban_country", "sepa", {"swiftBic": "AAAAREXX"}, {"swiftBic": "AAAAREXX", "iban": _FR}, "Réunion"),
    Example("bic_iban_country", "sepa", {"swiftBic": "BNPAFRPP"}, {"swiftBic": "BNPAFRPP", "iban": _MC}, "Monaco"),
    Example(
        "iban_checksum", "sepa", {"iban": "DE00500105175407324931"}, {"iban": "DE89370400440532013000"}, "00 is none"
    ),
    Example("nz_account", "us", {"currency": "nzd", "accountNumber": "0109020068388000"}, _NEW_BRANCH, "a new branch"),
    Example(
        "postal_form", "sepa", {"postalCode": "LT-1"}, {"postalCode": "LT-01100", "country": "LT"}, "its own prefix"
    ),
    Example("postal_form", "sepa", {"postalCode": "1 2"}, {"postalCode": "110 001", "country": "IN"}, "a usual blank"),
    Example("state_unknown", "payer", {"state": "N.X."}, {"state": "D.C."}, "points"),
    Example("state_unknown", "payer", {"state": "ZZ "}, {"state": "NY "}, "the blank is told by another rule"),
    Example(
        "state_unknown_abroad", "us", {"state": "X", "country": "IN"}, {"state": "Bihar", "country": "IN"}, "accents"
    ),
    Example("state_missing", "us", {"state": None}, {"state": None, "rails": "swift"}, "SWIFT asks for none"),
    Example("email_odd", "payer", {"email": "a@b-.example"}, {"email": "first-.last@example.com"}, "before the @"),
    Example("invisible_characters", "payer", {"city": "a\u200db"}, {"city": "\u0645\u06cc\u200c\u062e"}, "Persian"),
    Example("crossed_out", "payer", {"ssn": "XXX-XX-6789"}, {"ssn": "123-45-6789"}, "of a statement"),
    Example("crossed_out", "us", {"accountNumber": "XXXXXX4002"}, {"accountNumber": "123456784002"}, "of a statement"),
    Example("other_digits", "us", {"routingNumber": "\u0660"}, {"addressLine1": "Piazza 5\u00b2"}, "numbers only"),
    Example("ssn_impossible", "payer", {"ssn": "912-69-1234"}, {"ssn": "912-70-1234"}, "ITIN: 70 to 88"),
    Example("ssn_impossible", "payer", {"ssn": "912-89-1234"}, {"ssn": "912-88-1234"}, "ITIN: 70 to 88"),
    Example("ssn_impossible", "payer", {"ssn": "912-66-1234"}, {"ssn": "912-65-1234"}, "ITIN: 50 to 65"),
    Example("age_unlikely", "payer", {"dateOfBirth": _years_ago(17)}, {"dateOfBirth": _years_ago(19)}, "18 years"),
    Example("age_unlikely", "payer", {"dateOfBirth": _years_ago(122)}, {"dateOfBirth": _years_ago(119)}, "120 years"),
    Example("currency_habit", "us", {"currency": "ukp"}, {"currency": "GBP"}, "what some still write"),
    Example("rails_unusual", "us", {"currency": "NOK", "rails": "wire"}, {"currency": "NOK"}, "wires are for dollars"),
]

_PERSON = {"beneficiaryType": "individual"}
_EUR = {"currency": "EUR", "accountNumber": None, "routingNumber": None, "iban": _DE}
_GBP = {"currency": "GBP", "accountNumber": "12345678", "routingNumber": None, "sortCode": "200000"}
_AUD = {"currency": "AUD", "rails": "swift", "accountNumber": "12345678", "routingNumber": None}


def _identifier(code: str, bad: dict[str, Any], good: dict[str, Any], why: str) -> Example:
    """Return an example of identifiers, in the account of a US business."""
    return Example(code, "us", bad, good, why)


EXAMPLES += [
    Example("id_is_email", "payer", {"clientUserId": "a@example.com"}, {"clientUserId": "a@host"}, "personal data"),
    Example(
        "id_is_email", "payer", {"clientUserId": " a@b.example "}, {"clientUserId": "@acme/7"}, "ids stay as typed"
    ),
    Example("blanks_or_hyphens", "sepa", {"iban": "DE89 3704 0044 0532 0130 00"}, {"iban": _DE}, "as printed"),
    Example("blanks_or_hyphens", "sepa", {"swiftBic": "DEUT-DE-FF"}, {"swiftBic": " deutdeff "}, "outer_blanks tells"),
    _identifier("identifier_unused", _EUR | {"routingNumber": "026013356"}, _EUR, "a US number beside an IBAN"),
    _identifier(
        "identifier_unused", _EUR | {"sortCode": "200000"}, _EUR | {"swiftBic": "COBADEFF"}, "a BIC harms nobody"
    ),
    _identifier(
        "identifier_unused", _EUR | {"bsbNumber": "062-000"}, _EUR | {"ribNumber": "x"}, "a RIB is of the euro"
    ),
    _identifier("identifier_unused", {"iban": _DE}, {"iban": _DE, "rails": "swift"}, "no IBANs within the US"),
    _identifier("identifier_unused", {"sortCode": "200000"}, {"currency": "KES", "sortCode": "200000"}, "unpublished"),
    _identifier("identifier_unused", {"ifsc": "HDFC0000001"}, {"currency": "NOK", "ifsc": "HDFC0000001"}, "not listed"),
    _identifier("identifier_unused", _GBP | {"ncc": "010902"}, _GBP | {"iban": _GB}, "pounds take both"),
    _identifier(
        "identifier_unused", _AUD | {"ncc": "010902"}, _AUD | {"bsbNumber": "062000"}, "without BIC: by currency"
    ),
    _identifier("identifier_unused", {"ribNumber": "x", "rails": "wire"}, {"rails": "wire"}, "wires as local"),
    _identifier(
        "identifier_country",
        _AUD | {"swiftBic": "CTBAAU2S", "routingNumber": "026013356"},
        _AUD | {"swiftBic": "CHASUS33", "routingNumber": "026013356"},
        "by SWIFT, the country of the bank counts",
    ),
    _identifier(
        "identifier_country",
        _EUR | {"rails": "swift", "sortCode": "200000"},
        _EUR | {"rails": "swift", "sortCode": "200000", "iban": _GB},
        "a euro account in the United Kingdom",
    ),
    _identifier(
        "identifier_country",
        _EUR | {"rails": "swift", "sortCode": "200000", "iban": _FR},
        _EUR | {"rails": "swift", "sortCode": "200000", "swiftBic": "BARCJESH"},
        "Jersey has sort codes",
    ),
    _identifier("identifier_country", {"swiftBic": "COBADEFF"}, {"swiftBic": "BPPRPRSX"}, "Puerto Rico"),
    _identifier(
        "identifier_country",
        {"rails": "swift", "bsbNumber": "062000", "swiftBic": "COBADEFF"},
        {"rails": "swift", "swiftBic": "COBADEFF"},
        "the operator lists the routing number of a correspondent",
    ),
    _identifier("identifier_country", _GBP | {"iban": _DE}, _GBP | {"iban": "DE12"}, "a wrong IBAN tells nothing"),
    Example("holder_abroad", "sepa", {"country": "FR"}, {"country": "de"}, "the payer's country, perhaps"),
    Example("holder_abroad", "sepa", {"iban": _GB}, {"iban": _GB, "country": "JE"}, "Jersey shares British banks"),
    Example("holder_abroad", "us", {"swiftBic": "COBADEFF"}, {"swiftBic": "CHASUS33", "country": "PR"}, "by the BIC"),
    Example("holder_abroad", "sepa", {"iban": _FI}, {"iban": "x", "swiftBic": None}, "not known without an IBAN"),
    Example("holder_abroad", "sepa", {"iban": None, "country": "AT"}, {"country": "UK"}, "country_habit tells"),
    Example("holder_abroad", "us", {"swiftBic": "BARCGB22"}, {"country": "DE"}, "many abroad hold dollars in the US"),
    Example("name_script", "us", {"currency": "JPY", "accountName": "山田"}, {"accountName": "山田"}, "kanji"),
    Example("name_script", "us", {"currency": "JPY", "accountName": "やまだ"}, {"accountName": "ヤマダ"}, "hiragana"),
    Example("name_script", "us", {"swiftBic": "VCBCVNVX", "accountName": "Nguyễn"}, {"currency": "VND"}, "accents"),
    Example(
        "name_script",
        "us",
        {"currency": "IDR", "accountName": "Иван"},
        {"currency": "IDR", "accountName": "José 1\u00b2"},
        "Indonesia takes accents",
    ),
    Example(
        "name_script",
        "us",
        {"currency": "VND", "accountName": "e\u0301"},
        {"currency": "VND", "accountName": "é", "swiftBic": "CHASUS33"},
        "an account in dong elsewhere",
    ),
    Example(
        "name_script",
        "us",
        {"currency": "JPY", "accountName": "Иван"},
        {"currency": "JPY", "accountName": "ﾔﾏﾀﾞ・タロー é"},
        "katakana of either width",
    ),
]

LEGAL_FORMS = [
    ("Example GmbH", "Lee Sa", "capitals make the form"),
    ("EXAMPLE GMBH", "EXAMPLE SA", "in a name in capitals, SA may be a surname"),
    ("example llc", "example sa", "small letters are nobody's form"),
    ("Example SA", "SA", "a name that is nothing else"),
    ("Example S.A.", "S.A.", "dots"),
    ("Example S. A.", "Example S A", "two words"),
    ("Example Inc.", "Incorporeal", "whole words"),
    ("Example, Inc", "Inc Example", "the last word"),
    ("Example Ltd", "Example Ltd of Wales", "the last word"),
    ("Example Pty. Ltd.", "Example Pt", "two forms"),
    ("Example LLC", "Example C", "the letters"),
    ("Example L.L.C.", "Example L.", "dots"),
    ("Example BV", "Example Bv", "capitals"),
    ("Example B.V.", "Maria Vos", "a form in the Netherlands, and a surname"),
    ("Example KK", "KK Example", "Japan"),
    ("Example K.K.", "Example Kk", "dots"),
    ("例株式会社", "株式会社例", "no blank in front"),
    ("Example UG (haftungsbeschränkt)", "Example (haftungsbeschränkt)", "brackets"),
    ("EXAMPLE GMBH & CO. KG", "EXAMPLE KG", "the longer form is nobody's name"),
    ("Example Sp. z o.o.", "Example z o.o.", "three words"),
    ("Example sp. z o. o.", "Example z o", "four words"),
    ("Example s.r.o.", "Example S.", "small letters"),
    ("Example d.o.o.", "Inga Doo", "a surname"),
    ("Example S.A. de C.V.", "Ana de la O", "three words"),
    ("EXAMPLE SpA", "EXAMPLE SPA", "capitals and small letters"),
    ("Example Co.", "Maria Co", "a surname in the Philippines"),
    ("Example & Co", "Example Co &", "a partner"),
    ("Example OY", "Example Oy", "a Finnish form, outside Finland"),
    ("Example A/S", "Example AS/", "a slash"),
    ("Example FZ-LLC", "Anna Smith-Ag", "a hyphen"),
    ("Example OÜ", "Example Ou", "beyond ASCII"),
    ("Example\u00a0GmbH ", "Example GmbHs", "any blank"),
]
"""Names that end in a legal form, names that do not, and why."""

EXAMPLES += [
    *(
        Example("legal_form", "us", _PERSON | {"accountName": bad}, _PERSON | {"accountName": good}, f"{bad}: {why}")
        for bad, good, why in LEGAL_FORMS
    ),
    Example("legal_form", "us", _PERSON | {"accountName": "A GmbH"}, {"accountName": "A GmbH"}, "a company is one"),
    Example("legal_form", "sepa", {"accountName": "Example AG"}, {"accountName": "Example Person"}, "Germany"),
    Example(
        "legal_form",
        "sepa",
        {"accountName": "Esimerkki Oy", "country": "FI"},
        {"accountName": "Jan Oy"},
        "in Finland it is a form",
    ),
    Example(
        "legal_form",
        "us",
        _PERSON | {"accountName": "Kumar S.A.", "country": "FR"},
        _PERSON | {"accountName": "Kumar S.A.", "country": "IN"},
        "in India, initials follow the name",
    ),
    Example("legal_form", "payer", {"lastName": "Trading GmbH"}, {"lastName": "Sa"}, "a company in the wrong place"),
    Example("legal_form", "payer", {"lastName": "Ltd"}, {"firstName": "Ltd"}, "the last word of the name"),
    Example("legal_form", "company", {**_PERSON, "lastName": "Inc"}, {"lastName": "Inc"}, "a company is one"),
]

ACCOUNTS: dict[tuple[str, str], dict[str, str]] = {
    ("USD", "local"): {"accountNumber": "253009233489", "routingNumber": "026013356"},
    ("USD", "wire"): {"accountNumber": "253009233489", "routingNumber": "026013356"},
    ("USD", "swift"): {"accountNumber": "253009233489", "swiftBic": "CHASUS33"},
    ("EUR", "local"): {"iban": "DE89370400440532013000"},
    ("EUR", "swift"): {"iban": "DE89370400440532013000", "swiftBic": "COBADEFF"},
    ("GBP", "local"): {"accountNumber": "12345678", "sortCode": "200000"},
    ("GBP", "swift"): {"iban": "GB82WEST12345698765432", "swiftBic": "BARCGB22"},
    ("INR", "swift"): {"accountNumber": "50100012345678", "swiftBic": "HDFCINBB", "ifsc": "HDFC0000001"},
    ("AUD", "swift"): {"accountNumber": "12345678", "swiftBic": "CTBAAU2S", "bsbNumber": "062-000"},
    ("NZD", "swift"): {"accountNumber": "01-0902-0068389-00", "swiftBic": "ANZBNZ22", "ncc": "010902"},
    ("CAD", "swift"): {
        "accountNumber": "1234567",
        "swiftBic": "ROYCCAT2",
        "bankCode": "003",
        "branchCode": "00011",
    },
    ("CHF", "swift"): {"iban": "CH9300762011623852957", "swiftBic": "UBSWCHZH"},
    ("AED", "swift"): {"iban": "AE070331234567890123456", "swiftBic": "BOMLAEAD"},
    ("PLN", "swift"): {"iban": "PL61109010140000071219812874", "swiftBic": "WBKPPLPP"},
    ("JPY", "swift"): {"accountNumber": "1234567", "swiftBic": "BOTKJPJT", "bankCode": "0005", "branchCode": "001"},
    ("SGD", "swift"): {"accountNumber": "1234567890", "swiftBic": "DBSSSGSG"},
    ("CNY", "swift"): {"accountNumber": "6222021234567890", "swiftBic": "BKCHCNBJ"},
    ("THB", "swift"): {"accountNumber": "1234567890", "swiftBic": "BKKBTHBK"},
    ("PHP", "swift"): {"accountNumber": "1234567890", "swiftBic": "BOPIPHMM"},
    ("MYR", "swift"): {"accountNumber": "1234567890", "swiftBic": "MBBEMYKL"},
    ("HKD", "swift"): {"accountNumber": "123456789", "swiftBic": "HSBCHKHH", "bankCode": "004"},
    ("IDR", "swift"): {"accountNumber": "1234567890", "swiftBic": "CENAIDJA", "bankCode": "014"},
    ("KRW", "swift"): {"accountNumber": "1234567890", "swiftBic": "SHBKKRSE", "bankCode": "088"},
    ("MXN", "local"): {
        "accountNumber": "032180000118359719",
        "documentType": "rfc",
        "documentNumber": "GODE561231GR8",
    },
    ("BRL", "local"): {
        "accountNumber": "123456",
        "bankCode": "001",
        "branchCode": "0001",
        "accountType": "checking",
        "documentNumber": "390.533.447-05",
    },
    ("ARS", "local"): {
        "accountNumber": "2850590940090418135201",
        "accountType": "savings",
        "documentNumber": "20-05536168-2",
    },
    ("CLP", "local"): {"documentType": "rut", "documentNumber": "76086428-5"},
    ("COP", "local"): {"documentType": "nit", "documentNumber": "213.123.432-1"},
    ("PEN", "local"): {"documentType": "ruc", "documentNumber": "20512333797"},
    ("ZAR", "local"): {"accountNumber": "62001234567", "accountType": "checking", "branchCode": "250655"},
    ("NGN", "local"): {"accountNumber": "0123456789"},
    **{
        (currency, "local"): {}
        for currency in ("KES", "GHS", "UGX", "MZN", "BOB", "CRC", "DOP", "GTQ", "HNL", "PYG", "UYU", "ZWL", "SEK")
    },
    **{(currency, "swift"): {} for currency in ("XAF", "XOF", "SEK")},
}
"""An account that lacks nothing, by currency and rails: one for each row of the requirements."""
