"""The checks of one body: each rule by its examples, the published bodies clean, nothing secret in a finding."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import phonenumbers
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import ACCOUNTS, BASES, EXAMPLES, Example
from payerkit.checks import people, places
from payerkit.checks.one import check_bank_details, check_payer
from payerkit.checks.requirements import requirements
from payerkit.checks.rulebook import rules
from payerkit.checks.schema import SCHEMAS
from payerkit.errors import InvalidInput
from payerkit.findings import Findings
from payerkit.models import BankDetails, Payer
from payerkit.wire import our_name
from published import BANK_DETAILS, PAYER, PUBLISHED

CHECKS: dict[str, Callable[..., Findings]] = {"Payer": check_payer, "BankDetails": check_bank_details}
BODIES_PUBLISHED = [
    *(("Payer", body) for body in PUBLISHED["payers"].values()),
    *(("BankDetails", body) for body in PUBLISHED["bank_details"].values()),
]


def codes(findings: Findings) -> set[str]:
    """Return the codes of findings."""
    return {finding.code for finding in findings}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.body}-{example.code}-{example.why}")
def test_each_rule_minds_the_bad_and_not_the_good(example: Example) -> None:
    """A rule says something of its bad example, and nothing of the good one."""
    check = CHECKS[example.body]

    said = [example.code in codes(check(example.record(changes))) for changes in (example.bad, example.good)]

    assert [True, False] == said


def test_every_rule_has_examples() -> None:
    """A new rule is not complete before somebody has written down what it minds, and what it does not."""
    all_rules = {(body, rule.code) for body in CHECKS for rule in rules(body)}

    assert all_rules == {(example.body, example.code) for example in EXAMPLES}


INFOS = {
    "outer_blanks",
    "phone_without_plus",
    "company_of_a_person",
    "state_written_out",
    "state_unknown_abroad",
    "postal_unchecked",
    "postal_elsewhere",
    "currency_unlisted",
    "needs_unpublished",
    "iban_unregistered",
    "bic_digits",
    "account_name_long",
    "document_unchecked",
}


def test_a_rule_warns_or_informs_and_never_blocks() -> None:
    """What is only good to know is an info, all else a warning; an error is nobody's but the specification's."""
    severities = {(rule.code, rule.severity) for body in CHECKS for rule in rules(body)}

    assert {(code, "info" if code in INFOS else "warning") for code, _ in severities} == severities
    assert INFOS <= {code for code, _ in severities}


TEXTS = {
    "Payer": "client_user_id first_name last_name company_name ssn address_line1 address_line2 city state postcode "
    "source_of_funds business_activity",
    "BankDetails": "bank_name account_name account_number routing_number iban swift_bic sort_code bsb_number ncc ifsc "
    "rib_number bank_code branch_code document_type document_number address_line1 address_line2 city state postal_code",
}
SEVERAL = [
    *((body, code, names) for body, names in TEXTS.items() for code in ("only_blanks", "outer_blanks")),
    *((body, code, names) for body, names in TEXTS.items() for code in ("invisible_characters", "spreadsheet_number")),
    ("Payer", "country_habit", "country nationality"),
    ("Payer", "country_unknown", "country nationality"),
    ("Payer", "company_member_missing", "company_name source_of_funds business_activity"),
    ("Payer", "other_digits", "ssn postcode"),
    (
        "BankDetails",
        "other_digits",
        (
            "account_number routing_number iban swift_bic sort_code bsb_number ncc ifsc rib_number bank_code "
            "branch_code document_number postal_code"
        ),
    ),
]


@pytest.mark.parametrize(("body", "code", "names"), SEVERAL, ids=lambda value: value.partition(" ")[0])
def test_rules_of_several_members_are_about_each(body: str, code: str, names: str) -> None:
    """A rule for more than one member minds the bad value in each of them, and in no other."""
    example = next(each for each in EXAMPLES if (each.body, each.code) == (body, code) and len(each.bad) == 1)
    bad = next(iter(example.bad.values()))
    base = {our_name(name): value for name, value in example.record({}).items()}
    found = {
        name
        for name in SCHEMAS[body].fields
        for finding in CHECKS[body]({**base, name: bad} if bad else {**base, name: None})
        if (finding.code, finding.field) == (code, name)
    }

    assert set(names.split()) == found


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.body}-{example.code}-{example.why}")
def test_findings_are_complete_and_hold_no_value(example: Example) -> None:
    """A finding names its member by both names, says what is wrong and on whose word, and repeats no secret."""
    shown = ("USD", "GBP", "country", "currency", "rails", "beneficiary")
    secrets = [
        str(value)
        for name, value in example.record(example.bad).items()
        if len(str(value).strip()) > 4 and not name.startswith(shown)
    ]
    for finding in CHECKS[example.body](example.record(example.bad)):
        assert (True, True) == (bool(finding.message), bool(finding.basis))
        assert our_name(finding.wire_name) == finding.field
        assert "{}" not in str(finding)
        assert [] == [each for each in secrets if re.search(rf"(?<!\w){re.escape(each)}(?!\w)", str(finding))]


@pytest.mark.parametrize(("body", "record"), BODIES_PUBLISHED)
def test_published_bodies_are_clean(body: str, record: dict[str, str]) -> None:
    """The service's own examples are neither blocked nor doubted."""
    assert () == CHECKS[body](record)


@pytest.mark.parametrize(("body", "record"), BODIES_PUBLISHED)
def test_any_form_of_a_body_is_taken(body: str, record: dict[str, str]) -> None:
    """An object, a dict by either names and a row of a table are the same body."""
    wrong = {**record, "country": "UK", "dateOfBirth": "1985-02-30", "city": " "}
    model: Any = {"Payer": Payer, "BankDetails": BankDetails}[body]
    forms = [wrong, {our_name(name): value for name, value in wrong.items()}, pd.Series(wrong), model.of(wrong, {})]

    assert 1 == len({CHECKS[body](form) for form in forms})
    assert {"country_habit", "date_impossible", "only_blanks"} <= codes(CHECKS[body](wrong))


def test_errors_stop_a_call_and_warnings_do_not() -> None:
    """What the check calls an error, the object refuses, all at once; what it calls a warning, it takes."""
    errors = {**PAYER, "email": "x", "city": "", "ssn": 1, "shoeSize": "9", "clientUserId": ".."}
    warnings = {**PAYER, "country": "UK", "dateOfBirth": "1985-02-30", "phone": "+12"}
    with pytest.raises(InvalidInput) as caught:
        Payer.of(errors, {})

    assert set(check_payer(errors).errors) == set(caught.value.fields)
    assert (5, ()) == (len(caught.value.fields), check_payer(warnings).errors)
    Payer.of(warnings, {})


def test_findings_come_in_the_order_of_the_members() -> None:
    """Errors, warnings and infos of one member stand together, members in their order, strangers last."""
    found = check_bank_details({**BANK_DETAILS, "state": " ", "colour": "red", "bankName": "", "city": None})

    assert ["bank_name", "city", "state", "state", "colour"] == [finding.field for finding in found]


@pytest.mark.parametrize("code", ["country_habit", "date_impossible"])
def test_a_warning_is_ignored_by_one_word(code: str) -> None:
    """What somebody knows better is left out, and nothing else."""
    record = {**PAYER, "country": "UK", "dateOfBirth": "1985-02-30"}

    assert codes(check_payer(record)) - {code} == codes(check_payer(record, ignore=code))
    assert codes(check_payer(record, ignore=[code])) == codes(check_payer(record, ignore=code))


@pytest.mark.parametrize("ignored", ["no_such_code", "email_form", ["country_habit", "required"]])
def test_errors_are_not_ignored(ignored: Any) -> None:
    """A code that no rule has is told, also that of an error, which nobody can ignore."""
    with pytest.raises(InvalidInput, match="ignore: no rule has the code"):
        check_payer(PAYER, ignore=ignored)


@pytest.mark.parametrize("thing", [None, "text", 5, ["a list"], object()])
def test_what_is_no_body_is_told(thing: Any) -> None:
    """Something that has no members is not checked."""
    with pytest.raises(InvalidInput, match="Give a Payer, or a dict of its members"):
        check_payer(thing)


@pytest.mark.parametrize(
    ("value", "is_number"),
    [(26013356, True), (2.6e7, True), (True, False), (b"026", False)],
)
def test_a_number_from_a_table_says_how_to_read_the_table(value: Any, is_number: bool) -> None:
    """Whoever lost a leading zero to a table learns how to keep it."""
    (finding,) = check_bank_details({**BANK_DETAILS, "routingNumber": value})

    assert ("not_text", "error", is_number) == (finding.code, finding.severity, "dtype=str" in finding.hint)


@pytest.mark.parametrize("place", requirements(), ids="-".join)
def test_an_account_that_lacks_nothing_is_clean(place: tuple[str, str]) -> None:
    """For each row of the requirements there is an account without a warning."""
    found = check_bank_details(account(*place))
    former = {"currency_unknown"} if place[0] == "ZWL" else set()  # the operator lists it, ISO 4217 no longer

    assert ((), former) == (found.errors, codes(found.warnings))


@pytest.mark.parametrize("place", requirements(), ids="-".join)
def test_each_member_that_is_needed_is_asked_for(place: tuple[str, str]) -> None:
    """Without any member of a group that is needed, the first is asked for, on the word of the row's source."""
    row = requirements()[place]
    for group in row.needs or ():
        found = check_bank_details(account(*place, without=group))
        asked = {(finding.field, finding.basis) for finding in found if finding.code == "member_missing"}

        assert (group[0], row.basis) in asked


OPTIONAL = {("JPY", "swift"): {"bankCode", "branchCode"}, ("ARS", "local"): set()}
"""What an example account has beyond what its currency needs."""


@pytest.mark.parametrize("place", ACCOUNTS, ids="-".join)
def test_an_account_lacks_what_is_taken_away(place: tuple[str, str]) -> None:
    """Each number of an example account is one that its currency needs: without it, the account is doubted."""
    needed = set(ACCOUNTS[place]) - OPTIONAL.get(place, set())
    missed = {
        member
        for member in ACCOUNTS[place]
        if "member_missing" in codes(check_bank_details(account(*place, without=(our_name(member),))))
    }

    assert (set(requirements()), needed) == (set(ACCOUNTS), missed)


@pytest.mark.parametrize("place", requirements(), ids="-".join)
def test_each_format_is_held(place: tuple[str, str]) -> None:
    """A member of another form than the row gives is doubted, and its form is told."""
    row = requirements()[place]
    for name, (words, _) in row.formats.items():
        record = {our_name(member): value for member, value in account(*place).items()} | {name: "1" * 40}
        told = [finding for finding in check_bank_details(record) if finding.code == "number_form"]

        assert [(name, row.basis, True)] == [(each.field, each.basis, words in each.message) for each in told]


def account(currency: str, rails: str, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the example account of a currency and rails, without some members."""
    record = {**BASES["us"][1], "accountNumber": "", "routingNumber": "", "currency": currency, "rails": rails}
    record |= ACCOUNTS[currency, rails]
    return {name: value for name, value in record.items() if value and our_name(name) not in without}


def test_local_is_what_is_meant_without_rails() -> None:
    """The specification's default counts for the requirements, too."""
    record = {name: value for name, value in BANK_DETAILS.items() if name not in {"rails", "routingNumber"}}

    assert {"member_missing"} == codes(check_bank_details(record))


@given(st.from_regex(r"\A\+?[1-9][0-9]{1,14}\Z"))
def test_phones_are_judged_as_the_library_judges(phone: str) -> None:
    """The short way to a possible number comes to the same end as the library."""
    assert people.phone_impossible(phone) is not people._is_possible(phone.removeprefix("+"))


REGIONS = sorted(phonenumbers.SUPPORTED_REGIONS)


@pytest.mark.parametrize("region", REGIONS)
def test_example_phones_of_all_countries_are_possible(region: str) -> None:
    """The library's example number of a country is no impossible one, and one digit more or less counts the same."""
    number = phonenumbers.example_number(region)
    assert number is not None
    written = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)

    assert not people.phone_impossible(written)
    for other in (written[:-1], f"{written}0"[:16], f"{written[:4]}0{written[4:]}"[:16]):
        assert people.phone_impossible(other) is not people._is_possible(other[1:])


def test_every_body_has_a_section() -> None:
    """A finding of the specification names the section that it is from."""
    assert {"Payer": "2.4", "BankDetails": "2.1", "PaymentOrder": "2.7"} == {
        name: schema.section for name, schema in SCHEMAS.items()
    }


@pytest.mark.parametrize(
    ("body", "name", "meant"),
    [
        ("Payer", "ZIP", "postcode"),
        ("BankDetails", "zip code", "postal_code"),
        ("BankDetails", "postcode", "postal_code"),
        ("Payer", "DOB", "date_of_birth"),
        ("BankDetails", "BIC", "swift_bic"),
        ("BankDetails", "Account No.", "account_number"),
        ("BankDetails", "Account holder", "account_name"),
        ("BankDetails", "Bank", "bank_name"),
        ("Payer", "E-Mail", "email"),
        ("Payer", "first name", "first_name"),
        ("Payer", "adress_line1", "address_line1"),
        ("BankDetails", "Kundennummer", None),
        ("Payer", "Account No.", None),
        ("Payer", "shoe size", None),
    ],
)
def test_names_of_tables_are_understood_or_left(body: str, name: str, meant: str | None) -> None:
    """A stranger's name is told with the member it most likely means, and with none where that would be a guess."""
    base = {"Payer": PAYER, "BankDetails": BANK_DETAILS}[body]
    (finding,) = (each for each in CHECKS[body]({**base, name: "x"}) if each.code == "unknown_member")

    assert (name, f"Did you mean {meant}?" if meant else "Leave it out.") == (finding.field, finding.hint)


@pytest.mark.parametrize("check", [check_payer, lambda row: Payer.of(row, {})])
def test_values_in_the_place_of_names_are_not_repeated(check: Callable[[Any], Any]) -> None:
    """A table without a row of names has a payer's data there; it is asked for the names, and repeats nothing."""
    row = pd.Series(list(PAYER.values()), index=list(PAYER.values()))
    try:
        told = str(check(row))
    except InvalidInput as error:
        told = str(error)

    assert "Does the table have a row of names" in told
    assert [] == [value for value in PAYER.values() if len(value) > 3 and value in told]


@pytest.mark.parametrize("name", ["john.doe@example.com", "+12125551234", "123-45-6789"])
def test_a_name_that_looks_like_a_value_is_masked(name: str) -> None:
    """Also between names that are right, a value is not repeated."""
    assert name not in str(check_payer({**PAYER, name: "x"}))


@pytest.mark.parametrize(
    ("member", "value", "words"),
    [
        ("country", "US ", "Begins or ends with whitespace"),
        ("email", " john@example.com", "Begins or ends with whitespace"),
        ("beneficiaryType", "individual ", "Begins or ends with whitespace"),
        ("country", "USA", "Write US."),
        ("nationality", "Germany", "Write DE."),
        ("country", "Atlantis", "such as US"),
        ("country", None, "NA (Namibia)"),
        ("phone", "0049 221 1234501", "+ instead of 00"),
        ("dateOfBirth", pd.Timestamp("1985-12-12"), "strftime"),
    ],
)
def test_errors_tell_the_way_out(member: str, value: Any, words: str) -> None:
    """What tables and people typically do to a member is answered with what to do about it."""
    (finding,) = check_payer({**PAYER, member: value}).errors

    assert words in f"{finding.message} {finding.hint}"


@pytest.mark.parametrize("member", ["rails", "accountType"])
def test_an_empty_choice_is_to_be_left_out(member: str) -> None:
    """An optional member with choices takes none of them, and no empty text either."""
    (finding,) = check_bank_details({**BANK_DETAILS, member: ""})

    assert ("error", True) == (finding.severity, finding.hint.startswith("Leave it out"))


def test_the_only_listed_rails_are_meant_by_what_is_missing() -> None:
    """Whoever left out the rails learns both at once: the rails, and what they need."""
    found = check_bank_details({**BANK_DETAILS, "currency": "AUD", "rails": "local"})

    assert {"rails", "swift_bic", "bsb_number"} == {finding.field for finding in found.warnings}
    assert "AUD by swift rails" in str(found)


@pytest.mark.parametrize("take", [check_payer, check_bank_details, lambda table: Payer.of(table, {})])
def test_a_table_is_not_one_row(take: Callable[[Any], Any]) -> None:
    """A whole table where a row is due is told as that."""
    with pytest.raises(InvalidInput, match="such as a row"):
        take(pd.DataFrame([PAYER]))


@pytest.mark.parametrize("ignored", [None, 5, b"x", [[1]], [None]])
def test_what_is_no_code_is_told(ignored: Any) -> None:
    """Codes are text; anything else is told, and not taken for one."""
    with pytest.raises(InvalidInput, match="ignore: "):
        check_payer(PAYER, ignore=ignored)


def test_the_other_object_is_not_taken() -> None:
    """Bank details are no payer, though they share some members."""
    with pytest.raises(InvalidInput, match="this is a BankDetails"):
        check_payer(BankDetails.of(BANK_DETAILS, {}))


def test_a_named_tuple_of_a_table_is_a_body() -> None:
    """`itertuples()` has the table's own names, whichever they are."""
    (row,) = pd.DataFrame([{**PAYER, "country": "UK"}]).itertuples()

    assert ["country_habit"] == [finding.code for finding in check_payer(row)]


@pytest.mark.parametrize("cell", [np.array([1, 2]), pd.Series([1]), pd.DataFrame([[1]]), Decimal("sNaN"), object()])
def test_a_cell_of_any_kind_is_looked_at(cell: Any) -> None:
    """What stands in a cell, however strange, is an error of that member, or none at all."""
    found = check_payer({**PAYER, "city": cell, "companyName": None})

    assert {("city", "error")} == {(finding.field, finding.severity) for finding in found}


EXCLUDED = {
    "AF",
    "BY",
    "BA",
    "BI",
    "CF",
    "CU",
    "KP",
    "CD",
    "ET",
    "GT",
    "GN",
    "GW",
    "HT",
    "IR",
    "IQ",
    "LB",
    "LY",
    "ML",
    "MM",
    "NI",
    "NE",
    "RU",
    "SO",
    "SS",
    "SD",
    "SY",
    "TN",
    "VE",
    "YE",
    "ZW",
}


def test_excluded_countries_are_those_that_the_operator_lists() -> None:
    """Residents of these countries are not taken, and of no others."""
    told = {code for code in places.countries() if "country_excluded" in codes(check_payer({**PAYER, "country": code}))}

    assert EXCLUDED == told
