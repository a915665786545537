"""How number formats show whole numbers."""

from __future__ import annotations

from cases import table
from payerkit.tables.sheet import shown_by


@table("number_formats")
def test_zeros_and_signs_of_a_format_are_shown(code: str, number: str, expected: str) -> None:
    """A format of digits and signs is shown as a spreadsheet shows it."""
    shown = shown_by(code)

    assert shown is not None
    assert expected == shown(int(number))


@table("number_formats_not_followed")
def test_other_formats_are_not_followed(code: str) -> None:
    """Numbers of formats without zeros, with thousands, decimals, percents, currencies or conditions stay in full."""
    assert shown_by(code) is None
