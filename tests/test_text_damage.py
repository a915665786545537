"""What programs do to the text of a cell, and texts that only look as if it had happened to them."""

from __future__ import annotations

import pytest

from payerkit.tables.damage import FILE_FINDING_CODES, TextDamage, file_finding, find_text_damage, text_damage
from payerkit.tables.text_files import read_delimited


def misread(text: str, page: str = "cp1252") -> str:
    """Return a text as a program shows it that reads UTF-8 in another encoding."""
    return "".join(bytes([byte]).decode(page, "ignore") or chr(byte) for byte in text.encode())


@pytest.mark.parametrize(
    ("text", "page"),
    [
        *((text, "cp1252") for text in ("Müller", "Straße", "MÜLLER", "José", "García", "São Paulo", "voilà", "Škoda")),
        *(
            (text, "cp1252")
            for text in ("Łódź", "Þór", "İstanbul", "Example\u2019s \u2013 5 €", "ÀÁÍÏÐÝ", "Mu\u0308ller", "\ufeffx")
        ),
        *((text, "cp1252") for text in ("Москва", "Αθήνα", "東京", "שלום", "Phạm Nguyễn")),  # other scripts
        *((text, "cp1250") for text in ("Müller", "MÜLLER", "Łódź Ąę", "Muñoz", "Čapek")),  # Central Europe
        *((text, "mac_roman") for text in ("Müller", "José")),
        *((text, "cp850") for text in ("Müller", "José")),
    ],
)
def test_text_in_a_wrong_encoding_is_found_and_repaired(text: str, page: str) -> None:
    """UTF-8 that was read in another encoding is found, and there is one text that it can mean."""
    damage = text_damage(misread(text, page))

    assert damage is not None
    assert ("doubly_encoded", text) == (damage.code, damage.repaired)


def test_text_that_was_misread_twice_is_repaired() -> None:
    """Two programs that make the same mistake one after the other are both undone."""
    damage = text_damage(misread(misread("Müller")))

    assert damage is not None
    assert damage.repaired == "Müller"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MÃ¼ller", TextDamage("doubly_encoded", ("Ã¼", "ü"), "Müller")),
        ("MÃ¼ller Größe", TextDamage("doubly_encoded", ("Ã¼", "ü"))),  # one word of two: which is right is not certain
        ("GarcÃa", TextDamage("doubly_encoded", ("Ã", "í"))),  # an invisible character was lost
        ("M\ufffdller", TextDamage("replacement_character")),
        ("M?ller", TextDamage("letters_lost")),
        ("R&amp;D", TextDamage("html_codes", ("&amp;", "&"), "R&D")),
        ("O&#39;Neill", TextDamage("html_codes", ("&#39;", "'"), "O'Neill")),
        ("'007", TextDamage("text_mark", (), "007")),
        ("'+49 30 123", TextDamage("text_mark", (), "+49 30 123")),
        ("'DE89370400440532013000", TextDamage("text_mark", (), "DE89370400440532013000")),
        ("'=HYPERLINK", TextDamage("text_mark", (), "=HYPERLINK")),  # as our own reports write it
        ('="007"', TextDamage("text_formula", (), "007")),
        ('="a ""b"""', TextDamage("text_formula", (), 'a "b"')),
        ('=""', TextDamage("text_formula", (), "")),
        ("mailto:a@example.com", TextDamage("link", ("mailto:",), "a@example.com")),
        ("MAILTO:a@example.com?subject=x", TextDamage("link", ("mailto:",), "a@example.com")),
        ("mailto:a@example.com,b@example.com", TextDamage("link", ("mailto:",))),  # which of the two?
        ("tel:+1 212 555 1234", TextDamage("link", ("tel:",), "+1 212 555 1234")),
        ("<a@example.com>", TextDamage("angle_brackets", (), "a@example.com")),
        ("Example Payee <a@example.com>", TextDamage("angle_brackets", (), "a@example.com")),
        ("<mailto:a@example.com|a@example.com>", TextDamage("angle_brackets", (), "a@example.com")),  # a chat
        ("a@example.com <b@example.com>", TextDamage("angle_brackets")),  # which of the two?
        ("<a@example.com>, <b@example.com>", TextDamage("angle_brackets")),
        ("#N/A", TextDamage("error_value")),
        ("#BEZUG!", TextDamage("error_value")),
        ("########", TextDamage("error_value")),  # the column was too narrow
        ("2.53009E+11", TextDamage("shortened_number")),
        ("2,53E+11", TextDamage("shortened_number")),
        ("2-Jan", TextDamage("like_date")),
        ("05. Mrz", TextDamage("like_date")),
        ("Mar-85", TextDamage("like_date")),
        ("=SUM(A1:A3)", TextDamage("formula_without_value")),
        ("=Sheet1!B2", TextDamage("formula_without_value")),
    ],
)
def test_damage_is_found(text: str, expected: TextDamage) -> None:
    """Each kind of damage is found, with the repaired text where there is only one."""
    assert expected == text_damage(text)


@pytest.mark.parametrize(
    "text",
    [
        *("SÃO PAULO", "JOÃO", "São Paulo", "IRMÃ", "Irmã", "IRMÃ\xa0MARIA", "\u201cMAÇÃ\u201d"),  # Portuguese
        *("ORĂŞTIE", "BRĂILA", "Łódź", "ČEŠKA", "HÀ NỘI", "Nguyễn"),  # seen in one encoding
        *("Müller", "Größe", "ÉCOLE", "Île-de-France", "Ñuñoa", "CAÑÓN", "Þór", "FORLÌ"),
        *("SKÅNE", "Å 5", "Å\xa05", "Ø 5", "Nº 5", "N° 5", "5ª Avenida"),
        *("Strauß\u2019s", "Weiß\u201d", "JOSÉ\u2019S TACOS", "CAFÉ™", "NESTLÉ®", "«mamá»", "À «X»"),
        *("日本", "Москва", "Αθήνα", "שלום"),
        *("O'Neill", "D'Angelo", "'s-Hertogenbosch", "'t Hooft", "\u2019t Hooft", "'N Sync", "'90s Shop"),
        *("AT&T", "R&D; Sales", "Marks & Spencer", "Who?", "https://example.com/?a=b", "a?b@example.com"),
        *("#5 Example Street", "Apt #3", "#", "12 E+F Street", "1E5", "<none>", "a < b > c", "="),
        *("mailto", "Telefon: 1", "May", "25 de Mayo", "12 Jan 1985", "1985-12-12", "Jan-Feb", "12-14"),
        *("+12125551234", "007", ""),
    ],
)  # fmt: skip
def test_sound_text_is_not_found(text: str) -> None:
    """Names, addresses and numbers that have the signs of damage for a good reason are left alone."""
    assert text_damage(text) is None


def test_damage_is_found_in_a_sheet() -> None:
    """The damaged cells of a sheet are found where they are; equal texts are found in each row."""
    cells = read_delimited("id,name\n'1,Müller\n2,MÃ¼ller\n3,\n4,MÃ¼ller\n")

    assert [(2, 0, "text_mark"), (3, 1, "doubly_encoded"), (5, 1, "doubly_encoded")] == [
        (row, column, damage.code) for row, column, damage in find_text_damage(cells)
    ]


@pytest.mark.parametrize(
    "text", ["MÃ¼ller", "M\ufffdller", "M?ller", "R&amp;D", "'007", '="007"', "tel:1", "<a@b.co>", "2E+11"]
)
def test_each_kind_of_damage_has_a_finding(text: str) -> None:
    """Each code has its message, which has a place for each value; only lost letters are not certain."""
    damage = text_damage(text)
    assert damage is not None
    finding = file_finding(damage.code, "email", *damage.values)

    assert damage.code in FILE_FINDING_CODES
    assert ("warning" if damage.code == "letters_lost" else "error", "file") == (finding.severity, finding.basis)
    assert all(value in finding.message for value in damage.values)
