"""HTML of untrusted text is inert, and its colours can be read."""

from __future__ import annotations

import re

import pytest

from cases import table
from payerkit import html
from payerkit.html import is_web_address


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "<script>alert(1)</script>",
            "&lt;script&gt;alert(1)&lt;/script&gt;",
        ),  # markup
        ('" onload="x', "&quot; onload=&quot;x"),  # leaves an attribute
        ("abc\u202egnp", "abc\\u202egnp"),  # reverses the direction of the rest
        (
            "a\x00b\x1b[31m",
            "a\\x00b\\x1b[31m",
        ),  # control characters, a terminal's colours
        ("half \ud800", "half \\ud800"),  # a lone surrogate cannot be encoded
        ("Zoë 漢字", "Zoë 漢字"),  # letters stay letters
    ],
)
def test_escape_shows_text_literally(text: str, shown: str) -> None:
    """Markup, control characters and surrogates are shown as text."""
    assert shown == html.escape(text)


@table("web_addresses")
def test_link_leads_to_the_web_only(url: str, is_link: bool) -> None:
    """Only http and https URLs become links; others stay text."""
    assert is_link == is_web_address(url)
    assert is_link == html.link(url, "open").startswith("<a ")


def _pairs() -> dict[str, tuple[str, str]]:
    """Return the colours of the palette by name: the light one and the dark one."""
    found = re.findall(
        r"--pk-([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", html.palette()
    )
    return {name: (light, dark) for name, light, dark in found}


def _contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2 defines it."""
    dark, light = sorted(map(_luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    ]
    return sum(
        part * share
        for part, share in zip(linear, (0.2126, 0.7152, 0.0722), strict=True)
    )


LIGHT_GROUNDS = (
    "#ffffff",
    "#f5f5f5",
    "#eeeeee",
    "#e0e0e0",
)  # layout colours 0 to 3 of JupyterLab Light
DARK_GROUNDS = (
    "#000000",
    "#111111",
    "#212121",
    "#424242",
)  # those of its dark themes, the first in high contrast


@pytest.mark.parametrize("kind", html.MARKS)
def test_each_colour_can_be_read_on_every_ground(kind: str) -> None:
    """Text of a kind has enough contrast (4.5) on the grounds of JupyterLab, on its own
    ground, and as a ground.
    """
    pairs = _pairs()
    for theme, grounds in enumerate((LIGHT_GROUNDS, DARK_GROUNDS)):
        colour, own, on = (
            pairs[name][theme] for name in (kind, f"{kind}-ground", "on")
        )

        assert min(_contrast(colour, ground) for ground in (*grounds, own, on)) >= 4.5


def test_a_chip_says_in_words_what_its_colour_says() -> None:
    """Where styles are removed, a mark and a word are left; what is untrusted stays
    text.
    """
    assert ["✗&nbsp;error", "✓&nbsp;&lt;b&gt;"] == [
        re.sub("<[^>]*>", "", chip)
        for chip in (html.chip("error", "error"), html.chip("success", "<b>"))
    ]


def test_advice_keeps_lines_to_copy() -> None:
    """Lines of a policy stay lines, with their indentation, and are text."""
    assert (
        '<div class="pk-advice">→ Add:</div><pre class="pk-copied">[[fees]]\n  name ='
        " &quot;&lt;b&gt;&quot;</pre>" == html.advice('Add:\n[[fees]]\n  name = "<b>"')
    )


def test_table_escapes_its_names() -> None:
    """Names and caption of a table are escaped."""
    table = html.table([("<b>", "<i>cell</i>")], caption="<u>")

    assert ("&lt;b&gt;" in table, "<i>cell</i>" in table, "&lt;u&gt;" in table) == (
        True,
        True,
        True,
    )


def test_long_cells_keep_a_width_to_read() -> None:
    """In a narrow notebook, a sentence would have a word per line, and an address would
    push the rest out of sight.
    """
    text = html.grid(
        ("code", "finding"), [("amount_differs", "word " * 20)], caption=""
    )

    assert (1, True) == (
        text.count("pk-long"),
        re.search('<td class="pk-long"[^>]*>word', text) is not None,
    )
