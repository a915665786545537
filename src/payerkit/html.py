"""Turn untrusted text into HTML that shows it and does nothing else."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable
from urllib.parse import urlsplit

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories that draw nothing or change the order of what is drawn around them."""


def visible(text: str) -> str:
    """Return the text with its control, format and surrogate characters written out as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_written_out(char) if unicodedata.category(char) in _HIDDEN else char for char in text)


def _written_out(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def escape(value: object) -> str:
    """Return the value's text so that HTML shows it literally; a dash for None."""
    return "—" if value is None else html.escape(visible(str(value)), quote=True)


def is_web_address(url: str) -> bool:
    """Tell whether a link may lead there: http or https with a host, and nothing but printable ASCII."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and url.isascii() and url.isprintable()
    except ValueError:
        return False


def link(url: str, label: str) -> str:
    """Return a link that opens in a new tab; anything but http(s) is shown as text."""
    if not is_web_address(url):
        return escape(url)
    return f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer">{escape(label)}</a>'


def table(rows: Iterable[tuple[str, str]], *, caption: str) -> str:
    """Return a two-column table; the first column is escaped here, the second is HTML already."""
    left = "text-align:left;vertical-align:top"
    body = "".join(
        f'<tr><th scope="row" style="{left};white-space:nowrap">{escape(name)}</th>'
        f'<td style="{left};overflow-wrap:anywhere">{cell}</td></tr>'
        for name, cell in rows
    )
    return (
        f'<table><caption style="text-align:left;font-weight:bold">{escape(caption)}</caption>'
        f"<tbody>{body}</tbody></table>"
    )


def grid(head: Iterable[str], rows: Iterable[Iterable[object]], *, caption: str) -> str:
    """Return a table with a row of column names; everything is escaped here. Without rows, only the caption."""
    left = "text-align:left;vertical-align:top"
    cells = ("".join(f'<td style="{left}">{escape(cell)}</td>' for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    if not body:
        return f"<div><b>{escape(caption)}</b></div>"
    names = "".join(f'<th scope="col" style="{left}">{escape(name)}</th>' for name in head)
    return (
        f'<table><caption style="text-align:left;font-weight:bold">{escape(caption)}</caption>'
        f"<thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
    )
