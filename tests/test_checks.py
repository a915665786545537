"""The checks of one body: each rule by its examples, the published bodies clean, nothing secret in a finding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import phonenumbers
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import ACCOUNTS, BASES, EXAMPLES, Example
from payerkit.checks import people
from payerkit.checks.bodies import check_bank_details, check_payer
from payerkit.checks.requirements import requirements
from payerkit.checks.specification import BODIES
from payerkit.checks.tables import rules
from payerkit.errors import InvalidInput
from payerkit.findings import Findings
from payerkit.models import BankDetails, Payer
from payerkit.names import our_name
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
        assert [] == [value for value in secrets if value in finding.message or value == finding.hint]


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
    ("value", "hint"),
    [(26013356, "dtype=str"), (2.6e7, "dtype=str"), (True, "dtype=str"), (b"026", "")],
)
def test_a_number_from_a_table_says_how_to_read_the_table(value: Any, hint: str) -> None:
    """Whoever lost a leading zero to a table learns how to keep it."""
    (finding,) = check_bank_details({**BANK_DETAILS, "routingNumber": value})

    assert ("not_text", "error", True) == (finding.code, finding.severity, hint in finding.hint)


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
        name: body.section for name, body in BODIES.items()
    }
