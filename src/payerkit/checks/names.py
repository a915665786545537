"""Checkers of names: legal forms of companies, and scripts that banks do not take."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from payerkit._tsv import rows
from payerkit.checks.banks import country_of_bic
from payerkit.checks.texts import upper_code

_MAX_WORDS = 4
"""Words of the longest legal form, such as `Sp. z o. o.`."""

_IGNORED = str.maketrans("", "", ".,;-()'\"\u05f3\u05f4")
_HAS_INNER_DOT = re.compile(r"[^\W\d_]\.[^\W\d_]").search
_INITIALS_LAST = {"IN", "LK"}
"""Countries where initials such as S.A. often follow the name of a natural person."""


@dataclass(frozen=True, slots=True)
class LegalForm:
    """A row of `legal_forms.tsv`: how the form is written, where it exists, and whether people are called so, too."""

    text: str
    countries: frozenset[str]
    is_also_a_name: bool


@cache
def _legal_forms() -> Mapping[str, LegalForm]:
    """Return the legal forms by their letters in upper case."""
    return {
        _letters(row["form"]).upper(): LegalForm(row["form"], frozenset(row["countries"].split()), row["also"] == "*")
        for row in rows(__package__, "legal_forms")
    }


def _letters(text: str) -> str:
    return text.translate(_IGNORED).replace(" ", "")


def legal_form(value: str, holder: str | None, country: str | None) -> bool | str:
    """Return the legal form at the end of an individual's name; False without one, or if it may be a surname."""
    if holder != "individual":
        return False
    words = value.split()
    for count in range(1, min(_MAX_WORDS, len(words)) + 1):
        ending = "".join(words[-count:])
        form = _legal_forms().get(_letters(ending).upper())
        if form is not None and _is_meant(form, ending, words[:-count], is_one_word=count == 1, country=country):
            return form.text
    if not value.isascii():
        letters = _letters(value)
        for ending, form in _legal_forms().items():  # in scripts without capitals, where no blank may stand before it
            if ending == ending.lower() and letters.endswith(ending):
                return form.text
    return False


def _is_meant(form: LegalForm, ending: str, before: list[str], *, is_one_word: bool, country: str | None) -> bool:
    """Return True if an ending is a legal form rather than a surname or initials, by how it is written."""
    if not form.is_also_a_name:
        return True
    is_of_holder = upper_code(country) in form.countries
    if not before or (upper_code(country) in _INITIALS_LAST and not is_of_holder):
        return False
    letters, written = _letters(form.text), _letters(ending)
    if _HAS_INNER_DOT(ending) or (letters.istitle() and ending.endswith(".")):
        return True
    if not is_one_word:
        return False
    if written.isupper():
        return any(char.islower() for word in before for char in word)
    return written == letters and (is_of_holder or not letters.istitle())


@dataclass(frozen=True, slots=True)
class NameScript:
    """A row of `name_scripts.tsv`: the first words of the Unicode names of letters, and the same in words."""

    scripts: tuple[str, ...]
    letters: str


@cache
def _name_scripts() -> tuple[Mapping[str, NameScript], Mapping[str, str]]:
    """Return the scripts that the banks of each country take, and the country of each currency."""
    scripts, countries = {}, {}
    for row in rows(__package__, "name_scripts"):
        scripts[row["country"]] = NameScript(tuple(filter(None, row["scripts"].split("|"))), row["letters"])
        countries[row["currency"]] = row["country"]
    return scripts, countries


def name_script(value: str, currency: str | None, bic: str | None) -> bool | str:
    """Return the country of the bank and the letters that its banks take if a name has others; else False.

    The country is that of the BIC; without one, that of the currency.
    """
    if value.isascii():
        return False
    scripts, countries = _name_scripts()
    country = country_of_bic(bic) or countries.get(upper_code(currency), "")
    accepted = scripts.get(country)
    if accepted is None or all(_is_accepted(char, accepted) for char in unicodedata.normalize("NFC", value)):
        return False
    return f"{country}, which take {accepted.letters}"


def _is_accepted(char: str, accepted: NameScript) -> bool:
    """Return True for a letter of an accepted script, and for anything that is not a letter."""
    is_letter = char.isalpha() or unicodedata.category(char) == "Mn"
    if char.isascii() or not is_letter:
        return True
    return bool(accepted.scripts) and unicodedata.name(char, "").startswith(("COMBINING", *accepted.scripts))
