"""The checks of one record: each rule by its examples, no findings for published
records, no values in findings.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import payerkit
from cases import table
from examples import ACCOUNTS, BASES, EXAMPLES, Example
from payerkit import BankDetails, InvalidInput, Payer, check_bank_details, check_payer
from payerkit._tsv import grouped
from payerkit.checks import records
from payerkit.checks.records import rules_of
from payerkit.checks.requirements import REQUIREMENTS
from payerkit.checks.rules import RULES, Rule
from payerkit.findings import Findings
from payerkit.models.base import RequestModel
from payerkit.wire import our_name
from published import BANK_DETAILS, PAYER, PUBLISHED

MODELS: dict[str, type[RequestModel]] = {"Payer": Payer, "BankDetails": BankDetails}
CHECKS: dict[str, Callable[..., Findings]] = {
    "Payer": check_payer,
    "BankDetails": check_bank_details,
}
PUBLISHED_RECORDS = [
    *(("Payer", body) for body in PUBLISHED["payers"].values()),
    *(("BankDetails", body) for body in PUBLISHED["bank_details"].values()),
]


def codes(findings: Findings) -> set[str]:
    """Return the codes of findings."""
    return {finding.code for finding in findings}


@pytest.mark.parametrize(
    "example",
    EXAMPLES,
    ids=lambda example: f"{example.body}-{example.code}-{example.why}",
)
def test_each_rule_finds_the_bad_value_and_not_the_good_one(example: Example) -> None:
    """A rule has a finding for its bad example, and none for the good one."""
    check = CHECKS[example.body]

    found = [
        example.code in codes(check(example.record(changes)))
        for changes in (example.bad, example.good)
    ]

    assert [True, False] == found


def test_every_rule_has_examples() -> None:
    """Each rule has at least one example of a value that fails it and one that
    passes.
    """
    all_rules = {
        (body, each.rule.code) for body in CHECKS for each in rules_of(MODELS[body])
    }

    assert all_rules == {(example.body, example.code) for example in EXAMPLES}


@pytest.fixture
def break_rule(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Return what makes a rule find all that it reads, by its code."""

    def broken(rule: Rule) -> Rule:
        words = defaultdict[str, str](str)
        checker = functools.wraps(rule.checker)(lambda *_, **__: words)
        return replace(rule, checker=checker)

    def change(code: str) -> None:
        changed = [broken(rule) if rule.code == code else rule for rule in RULES]
        monkeypatch.setattr(records, "RULES", changed)
        records.rules_of.cache_clear()
        records._rules_by_reads.cache_clear()

    yield change
    records.rules_of.cache_clear()
    records._rules_by_reads.cache_clear()


@pytest.mark.parametrize("code", sorted({rule.code for rule in RULES}))
def test_a_broken_checker_fails_an_example(
    code: str, break_rule: Callable[[str], None]
) -> None:
    """A rule that finds all that it reads has a finding for one of its good
    examples.
    """
    break_rule(code)

    assert any(
        code in codes(CHECKS[example.body](example.record(example.good)))
        for example in EXAMPLES
        if example.code == code
    )


def test_a_rule_warns_or_informs_and_never_blocks() -> None:
    """A rule leads to an info or a warning; only the specification leads to errors."""
    assert {"info", "warning"} == {
        each.rule.severity for body in CHECKS for each in rules_of(MODELS[body])
    }


SEVERAL = grouped(
    ((body, each.rule.code), each.field)
    for body in CHECKS
    for each in rules_of(MODELS[body])
    if each.rule.code
    in {
        "only_blanks",
        "invisible_characters",
        "spreadsheet_number",
        "country_unknown",
        "other_digits",
    }
)


@pytest.mark.parametrize(("body", "code"), SEVERAL, ids="-".join)
def test_rules_of_several_fields_check_each(body: str, code: str) -> None:
    """A rule for several fields finds the bad value in each of them, and in no
    other.
    """
    example = next(
        each
        for each in EXAMPLES
        if (each.body, each.code) == (body, code) and len(each.bad) == 1
    )
    bad = next(iter(example.bad.values()))
    base = {our_name(name): value for name, value in example.record({}).items()}
    found = [
        name
        for name in MODELS[body].model_fields
        for finding in CHECKS[body](base | {name: bad})
        if (finding.code, finding.field) == (code, name)
    ]

    assert sorted(SEVERAL[body, code]) == sorted(found)


@pytest.mark.parametrize(
    "example",
    EXAMPLES,
    ids=lambda example: f"{example.body}-{example.code}-{example.why}",
)
def test_findings_are_complete_and_hold_no_value(example: Example) -> None:
    """A finding has both names of its field, a message and a basis, and repeats no
    value.
    """
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
        assert [] == [
            each
            for each in secrets
            if re.search(rf"(?<!\w){re.escape(each)}(?!\w)", str(finding))
        ]


@pytest.mark.parametrize(("body", "record"), PUBLISHED_RECORDS)
def test_published_records_have_no_findings(body: str, record: dict[str, str]) -> None:
    """The service's own examples have no findings; that 12345678 is an example is an
    info.
    """
    assert codes(CHECKS[body](record)) <= {"digits_in_sequence"}
    assert "warning" not in {finding.severity for finding in CHECKS[body](record)}


@pytest.mark.parametrize(("body", "record"), PUBLISHED_RECORDS)
def test_any_form_of_a_record_is_accepted(body: str, record: dict[str, str]) -> None:
    """A model, a dict with either kind of names and a row of a table have the same
    findings.
    """
    wrong = {**record, "country": "UK", "dateOfBirth": "1985-02-30", "city": " "}
    model: Any = {"Payer": Payer, "BankDetails": BankDetails}[body]
    forms = [
        wrong,
        {our_name(name): value for name, value in wrong.items()},
        pd.Series(wrong),
        model.of(wrong, {}),
    ]

    assert 1 == len({CHECKS[body](form) for form in forms})
    assert {"country_habit", "date_impossible", "only_blanks"} <= codes(
        CHECKS[body](wrong)
    )


def test_errors_stop_a_call_and_warnings_do_not() -> None:
    """A model refuses all errors of the check at once, and accepts its warnings."""
    errors = {
        **PAYER,
        "email": "x",
        "city": "",
        "ssn": 1,
        "shoeSize": "9",
        "clientUserId": "..",
    }
    warnings = {**PAYER, "country": "UK", "dateOfBirth": "1985-02-30", "phone": "+12"}
    with pytest.raises(InvalidInput) as caught:
        Payer.of(errors, {})

    assert set(check_payer(errors).errors) == set(caught.value.fields)
    assert (5, ()) == (len(caught.value.fields), check_payer(warnings).errors)
    Payer.of(warnings, {})


def test_findings_come_in_the_order_of_the_fields() -> None:
    """Findings are sorted by field, whatever their severity; unknown fields come
    last.
    """
    found = check_bank_details(
        {**BANK_DETAILS, "state": " ", "colour": "red", "bankName": "", "city": None}
    )

    assert ["bank_name", "city", "state", "state", "colour"] == [
        finding.field for finding in found
    ]


@pytest.mark.parametrize("code", ["country_habit", "date_impossible"])
def test_a_warning_is_ignored_by_its_code(code: str) -> None:
    """An ignored code is left out, and nothing else."""
    record = {**PAYER, "country": "UK", "dateOfBirth": "1985-02-30"}

    assert codes(check_payer(record)) - {code} == codes(
        check_payer(record, ignore=code)
    )
    assert codes(check_payer(record, ignore=[code])) == codes(
        check_payer(record, ignore=code)
    )


@pytest.mark.parametrize(
    "ignored",
    ["no_such_code", "email_form", ["country_habit", "required"], None, 5, [[1]]],
)
def test_errors_are_not_ignored(ignored: Any) -> None:
    """Unknown codes and codes of errors cannot be ignored."""
    with pytest.raises(InvalidInput, match="ignore: "):
        check_payer(PAYER, ignore=ignored)


@pytest.mark.parametrize("thing", [None, "text", 5, ["a list"], object()])
def test_a_value_without_fields_is_refused(thing: Any) -> None:
    """Only records can be checked."""
    with pytest.raises(
        InvalidInput, match=r"Expected a Payer or a dict of its fields, got (an? |None)"
    ):
        check_payer(thing)


@pytest.mark.parametrize(
    ("value", "is_number"),
    [(26013356, True), (2.6e7, True), (True, False), (b"026", False)],
)
def test_a_number_in_place_of_text(value: Any, is_number: bool) -> None:
    """A number that may have lost its leading zeros is to be written as text, and a
    column of them to be read as text.
    """
    record = {**BANK_DETAILS, "routingNumber": value}
    (alone,) = check_bank_details(record)
    in_table = payerkit.check_all_bank_details(pd.DataFrame([record]))

    assert ("not_text", "error") == (alone.code, alone.severity)
    assert (is_number, False) == ("in quotes" in alone.hint, "dtype" in alone.hint)
    assert [is_number] == ["dtype=str" in hint for hint in in_table["hint"]]


@pytest.mark.parametrize("place", REQUIREMENTS, ids="-".join)
def test_a_complete_account_has_no_warnings(place: tuple[str, str]) -> None:
    """For each row of the requirements there is an example account without warnings."""
    found = check_bank_details(account(*place))
    former = (
        {"currency_unknown"} if place[0] == "ZWL" else set()
    )  # the service lists it, ISO 4217 no longer

    assert ((), former) == (found.errors, codes(found.warnings))


@pytest.mark.parametrize("place", REQUIREMENTS, ids="-".join)
def test_each_missing_group_is_found(place: tuple[str, str]) -> None:
    """Without any field of a needed group, the first is reported missing, with the
    row's source.
    """
    row = REQUIREMENTS[place]
    for group in row.needs or ():
        found = check_bank_details(account(*place, without=group))
        missing = {
            (finding.field, finding.basis)
            for finding in found
            if finding.code == "member_missing"
        }

        assert (group[0], row.basis) in missing


OPTIONAL = {("JPY", "swift"): {"bankCode", "branchCode"}, ("ARS", "local"): set()}
"""Fields of the example accounts that their currencies do not need."""


@pytest.mark.parametrize("place", ACCOUNTS, ids="-".join)
def test_example_accounts_have_only_needed_fields(place: tuple[str, str]) -> None:
    """Each field of an example account is needed: without it, the account has a
    warning.
    """
    needed = set(ACCOUNTS[place]) - OPTIONAL.get(place, set())
    missed = {
        name
        for name in ACCOUNTS[place]
        if "member_missing"
        in codes(check_bank_details(account(*place, without=(our_name(name),))))
    }

    assert (set(REQUIREMENTS), needed) == (set(ACCOUNTS), missed)


@pytest.mark.parametrize("place", REQUIREMENTS, ids="-".join)
def test_each_format_is_held(place: tuple[str, str]) -> None:
    """A value that does not match the format in the table has a finding that describes
    the format.
    """
    row = REQUIREMENTS[place]
    for name, form in row.forms.items():
        record = {
            our_name(field): value for field, value in account(*place).items()
        } | {name: "1" * 40}
        found = [
            finding
            for finding in check_bank_details(record)
            if finding.code == "number_form"
        ]

        assert [(name, row.basis, True)] == [
            (each.field, each.basis, str(form) in each.message) for each in found
        ]


def account(currency: str, rails: str, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the example account of a currency and rails, without some fields."""
    record = {
        **BASES["us"][1],
        "accountNumber": "",
        "routingNumber": "",
        "currency": currency,
        "rails": rails,
    }
    record |= ACCOUNTS[currency, rails]
    return {
        name: value
        for name, value in record.items()
        if value and our_name(name) not in without
    }


def test_the_default_rails_are_local() -> None:
    """The specification's default applies to the requirements, too."""
    record = {
        name: value
        for name, value in BANK_DETAILS.items()
        if name not in {"rails", "routingNumber"}
    }

    assert {"member_missing"} == codes(check_bank_details(record))


SURNAMES = [
    "Ab",
    "Ag",
    "As",
    "Asa",
    "Co",
    "Doo",
    "Kg",
    "Oy",
    "Sa",
    "Sal",
    "Sas",
    "Se",
    "Sia",
    "Vos",
]


@pytest.mark.parametrize("surname", SURNAMES)
def test_people_called_like_a_legal_form_are_people(surname: str) -> None:
    """A surname that is written like one has no finding, for a payer and for an account
    holder.
    """
    holder = {"beneficiaryType": "individual", "accountName": f"Jane {surname}"}

    assert () == check_payer({**PAYER, "lastName": surname})
    assert () == check_bank_details({**BANK_DETAILS, **holder})


def test_an_identifier_of_another_country_is_found_with_its_source() -> None:
    """An ABA number and a sort code beside an IBAN are found, each with its source; the
    IBAN is not.
    """
    account = {
        **BANK_DETAILS,
        "currency": "EUR",
        "iban": "DE89370400440532013000",
        "sortCode": "200000",
    }
    found = check_bank_details(
        {
            **account,
            "accountNumber": None,
            "country": "DE",
            "state": None,
            "postalCode": "10117",
        }
    )

    assert [
        ("routing_number", "Not used for EUR over local rails."),
        ("sort_code", "Not used for EUR over local rails."),
    ] == [(finding.field, finding.message) for finding in found]
    assert ["ABA", "Vocalink"] == [finding.basis.split()[0] for finding in found]


def test_check_digits_that_are_not_there_are_not_said_to_be_checked() -> None:
    """A word that begins like the code of a country without IBANs is no IBAN, and that
    is all.
    """
    account = {**BANK_DETAILS, "currency": "EUR", "iban": "tofollow"}

    assert {"iban_form"} == {
        code for code in codes(check_bank_details(account)) if code.startswith("iban_")
    }


def test_a_company_sent_as_a_person_of_another_country_is_found() -> None:
    """A GmbH with a German IBAN that was given the payer's type and country has a
    warning and an info.
    """
    account = {
        **PUBLISHED["bank_details"]["swift"],
        "accountName": "Example GmbH",
        "country": "US",
    }
    found = check_bank_details(
        {**account, "city": "New York", "state": "NY", "postalCode": "10001"}
    )

    assert {("legal_form", "warning"), ("holder_abroad", "info")} == {
        (item.code, item.severity) for item in found
    }
    assert "Ends in GmbH" in str(found)
    assert "The account is in DE, its holder in US." in str(found)


@table("suggested_names")
def test_unknown_names_have_a_suggestion_or_none(
    body: str, name: str, meant: str | None
) -> None:
    """An unknown name comes with the field that it most likely means, unless that would
    be a guess.
    """
    base = {"Payer": PAYER, "BankDetails": BANK_DETAILS}[body]
    (finding,) = (
        each
        for each in CHECKS[body]({**base, name: "x"})
        if each.code == "unknown_member"
    )

    assert (name, f"Did you mean {meant}?" if meant else "Remove it.") == (
        finding.field,
        finding.hint,
    )


@pytest.mark.parametrize("check", [check_payer, lambda row: Payer.of(row, {})])
def test_values_in_the_place_of_names_are_not_repeated(
    check: Callable[[Any], Any],
) -> None:
    """Without a header row, a payer's data stand in place of the names; no message
    repeats them.
    """
    row = pd.Series(list(PAYER.values()), index=list(PAYER.values()))
    try:
        text = str(check(row))
    except InvalidInput as error:
        text = str(error)

    assert "Check that the table has a header row" in text
    assert [] == [value for value in PAYER.values() if len(value) > 3 and value in text]


@pytest.mark.parametrize(
    "name", ["john.doe@example.com", "+12125551234", "123-45-6789"]
)
def test_a_name_that_looks_like_a_value_is_masked(name: str) -> None:
    """A value in place of a name is masked, also among correct names."""
    assert name not in str(check_payer({**PAYER, name: "x"}))


@pytest.mark.parametrize(
    ("field", "value", "words"),
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
def test_errors_say_what_to_do(field: str, value: Any, words: str) -> None:
    """An error that tables or people typically cause comes with its remedy."""
    (finding,) = check_payer({**PAYER, field: value}).errors

    assert words in f"{finding.message} {finding.hint}"


@pytest.mark.parametrize("field", ["rails", "accountType"])
def test_an_empty_choice_is_to_be_left_out(field: str) -> None:
    """An optional field with choices does not accept empty text."""
    (finding,) = check_bank_details({**BANK_DETAILS, field: ""})

    assert ("error", True) == (
        finding.severity,
        finding.hint.startswith("Leave it out"),
    )


def test_missing_fields_are_those_of_the_only_listed_rails() -> None:
    """With rails that the service does not list, the findings name the listed ones and
    the fields that they need.
    """
    found = check_bank_details({**BANK_DETAILS, "currency": "AUD", "rails": "local"})

    assert {"rails", "swift_bic", "bsb_number", "routing_number"} == {
        finding.field for finding in found.warnings if finding.code != "national_form"
    }
    assert "AUD over swift rails" in str(found)


@pytest.mark.parametrize("take", [check_payer, check_bank_details])
def test_a_table_is_not_one_row(take: Callable[[Any], Any]) -> None:
    """A whole table in place of a row is refused with advice."""
    with pytest.raises(InvalidInput, match="such as a row"):
        take(pd.DataFrame([PAYER]))


def test_the_other_model_is_refused() -> None:
    """Bank details are not a payer, though they share some fields."""
    with pytest.raises(InvalidInput, match="Expected a Payer, got a BankDetails"):
        check_payer(BankDetails.of(BANK_DETAILS, {}))


def test_a_named_tuple_of_a_table_is_accepted() -> None:
    """Rows of `itertuples()` can be checked; they have the table's column names."""
    (row,) = pd.DataFrame([{**PAYER, "country": "UK"}]).itertuples()

    assert ["country_habit"] == [finding.code for finding in check_payer(row)]


@pytest.mark.parametrize(
    "cell",
    [np.array([1, 2]), pd.Series([1]), pd.DataFrame([[1]]), Decimal("sNaN"), object()],
)
def test_a_cell_of_any_kind_is_checked(cell: Any) -> None:
    """A cell with a value of any type leads to an error of its field, never to an
    exception.
    """
    found = check_payer({**PAYER, "city": cell, "companyName": None})

    assert {("city", "error")} == {
        (finding.field, finding.severity) for finding in found
    }
