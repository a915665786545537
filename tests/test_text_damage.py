"""What programs do to the text of a cell, and texts that only look as if it had
happened to them.
"""

from __future__ import annotations

from cases import table
from payerkit.tables.damage import (
    TextDamage,
    file_finding,
    find_text_damage,
    text_damage,
)
from payerkit.tables.text_files import read_delimited


def misread(text: str, page: str = "cp1252") -> str:
    """Return a text as a program shows it that reads UTF-8 in another encoding."""
    return "".join(
        bytes([byte]).decode(page, "ignore") or chr(byte) for byte in text.encode()
    )


@table("misread_texts")
def test_text_in_a_wrong_encoding_is_found_and_repaired(text: str, page: str) -> None:
    """UTF-8 that was read in another encoding is found, and there is one text that it
    can mean.
    """
    damage = text_damage(misread(text, page))

    assert damage is not None
    assert ("doubly_encoded", text) == (damage.code, damage.repaired)


def test_text_that_was_misread_twice_is_repaired() -> None:
    """Two programs that make the same mistake one after the other are both undone."""
    damage = text_damage(misread(misread("Müller")))

    assert damage is not None
    assert damage.repaired == "Müller"


@table("damaged_texts")
def test_damage_is_found(
    text: str, code: str, values: list[str], repaired: str | None
) -> None:
    """Each kind of damage is found, with its message, and the repaired text where there
    is only one.
    """
    finding = file_finding(code, "email", *values)

    assert TextDamage(code, tuple(values), repaired) == text_damage(text)
    assert all(value in finding.message for value in values)


@table("sound_texts")
def test_sound_text_is_not_found(text: str) -> None:
    """Names, addresses and numbers that have the signs of damage for a good reason are
    left alone.
    """
    assert text_damage(text) is None


def test_damage_is_found_in_a_sheet() -> None:
    """The damaged cells of a sheet are found where they are; equal texts are found in
    each row.
    """
    cells = read_delimited("id,name\n'1,Müller\n2,MÃ¼ller\n3,\n4,MÃ¼ller\n")

    assert [
        (2, "0", "text_mark"),
        (3, "1", "doubly_encoded"),
        (5, "1", "doubly_encoded"),
    ] == [(row, column, damage.code) for row, column, damage in find_text_damage(cells)]
