"""How number formats show whole numbers."""

from __future__ import annotations

import pytest

from payerkit.tables.sheet import shown_by


@pytest.mark.parametrize(
    ("code", "number", "expected"),
    [
        ("00000", 1234, "01234"),
        ("00000", 123456, "123456"),  # more digits than places
        ("00000", 0, "00000"),
        ("0", 12, "12"),
        ("000-00-0000", 12345678, "012-34-5678"),
        (r"000\-00\-0000", 12345678, "012-34-5678"),
        ("00-00-00", 200000, "20-00-00"),  # a sort code
        (r"00\.000\.000\-0", 125319092, "12.531.909-2"),  # a RUT
        ('"ACC-"0000', 7, "ACC-0007"),
        ("+0", 12125551234, "+12125551234"),
        ("(000) 000-0000", 2125551234, "(212) 555-1234"),
        ("0####", 12, "012"),
        ("#0000", 123456, "123456"),
        ("[$-407]00000", 1234, "01234"),  # of a language
        ("[Red]00000", 1234, "01234"),
        ("00000;-00000;0", 1234, "01234"),
        ('"a;b"000', 7, "a;b007"),
        ("00000_);(00000)", 1234, "01234"),  # a space as wide as a bracket
        ("00000;@", 1234, "01234"),
    ],
)
def test_zeros_and_signs_of_a_format_are_shown(code: str, number: int, expected: str) -> None:
    """A format of digits and signs is shown as a spreadsheet shows it."""
    shown = shown_by(code)

    assert shown is not None
    assert expected == shown(number)


@pytest.mark.parametrize(
    "code",
    [
        "General",
        "@",
        "#",
        "###-####",
        "[<=99999]00000;00000-0000",
        "#,##0",
        "0.00",
        "0%",
        "0.00E+00",
        "# ?/?",
        "[$€-407]0",
        "$0",
        ";;;",
        '"yes"',
        "",
        "Standard",
    ],
)
def test_other_formats_are_not_followed(code: str) -> None:
    """Numbers of formats without zeros, with thousands, decimals, percents, currencies or conditions stay in full."""
    assert shown_by(code) is None
