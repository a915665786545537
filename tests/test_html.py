"""HTML of untrusted text is inert."""

from __future__ import annotations

import pytest

from payerkit import html
from payerkit.html import is_web_address
from payerkit.wire import is_loopback


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),  # markup
        ('" onload="x', "&quot; onload=&quot;x"),  # leaves an attribute
        ("abc\u202egnp", "abc\\u202egnp"),  # reverses the direction of the rest
        ("a\x00b\x1b[31m", "a\\x00b\\x1b[31m"),  # control characters, a terminal's colours
        ("half \ud800", "half \\ud800"),  # a lone surrogate cannot be encoded
        ("Zoë 漢字", "Zoë 漢字"),  # letters stay letters
    ],
)
def test_escape_shows_text_literally(text: str, shown: str) -> None:
    """Markup, control characters and surrogates are shown as text."""
    assert shown == html.escape(text)


@pytest.mark.parametrize(
    ("url", "is_link"),
    [
        ("https://example.com/a?b=c", True),
        ("http://127.0.0.1:8000/kyc/1", True),
        ("javascript:alert(1)", False),  # runs
        ("data:text/html,<script>", False),  # runs
        ("//example.com", False),  # no scheme
        ("https://", False),  # no host
        ("https://exa\u202emple.com", False),  # hidden direction
        ("https://[::1", False),  # cannot be parsed
        ("https://example.com/a b", True),  # browsers encode the blank
        ("HTTPS://EXAMPLE.COM", True),
    ],
)
def test_link_leads_to_the_web_only(url: str, is_link: bool) -> None:
    """Only http and https URLs become links; others stay text."""
    assert is_link == is_web_address(url)
    assert is_link == html.link(url, "open").startswith("<a ")


@pytest.mark.parametrize(
    ("host", "is_this_machine"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("10.0.0.1", False),
        ("localhost.example.com", False),
    ],
)
def test_loopback_is_this_machine(host: str, is_this_machine: bool) -> None:
    """Only the loopback addresses and their name count as this machine."""
    assert is_this_machine == is_loopback(host)


def test_table_escapes_its_names() -> None:
    """Names and caption of a table are escaped."""
    table = html.table([("<b>", "<i>cell</i>")], caption="<u>")

    assert ("&lt;b&gt;" in table, "<i>cell</i>" in table, "&lt;u&gt;" in table) == (True, True, True)


def test_long_cells_keep_a_width_to_read() -> None:
    """In a narrow notebook, a sentence would have a word per line, and an address would push the rest out of sight."""
    text = html.grid(("code", "finding"), [("amount_differs", "word " * 20)], caption="")

    assert (1, True) == (text.count("overflow-wrap:anywhere"), 'anywhere">word' in text)
