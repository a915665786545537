"""Render untrusted text as inert HTML."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable
from urllib.parse import urlsplit

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories of characters that are invisible or change the direction of the text around them."""


def visible(text: str) -> str:
    """Return a text with its control, format and surrogate characters as Unicode escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape_char(char) if unicodedata.category(char) in _HIDDEN else char for char in text)


def _escape_char(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def escape(value: object) -> str:
    """Return a value's text escaped for HTML; a dash for None."""
    return "—" if value is None else html.escape(visible(str(value)), quote=True)


def is_web_address(url: str) -> bool:
    """Return True if a URL is safe to link: http or https with a host, and only printable ASCII."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and url.isascii() and url.isprintable()
    except ValueError:
        return False


def link(url: str, label: str) -> str:
    """Return a link that opens in a new tab; a URL that is not safe to link is shown as text."""
    if not is_web_address(url):
        return escape(url)
    return f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer">{escape(label)}</a>'


_BADGE = "border:1px solid;border-radius:3px;padding:0 6px;font-size:0.9em;white-space:nowrap"
_INVERTED = ";background:var(--jp-ui-font-color1,#212121);color:var(--jp-layout-color1,#fff);font-weight:bold"


def badge(environment: str) -> str:
    """Return the name of an environment as a small badge; "live" stands out."""
    style = _BADGE + _INVERTED * (environment == "live")
    return f'<span style="{style}">{escape(environment.capitalize())}</span>'


_LEFT = "text-align:left;vertical-align:top"
_LONG = 40
"""Characters from which on the text of a cell is wrapped."""


def _table(sections: str, caption: str) -> str:
    title = f'<caption style="text-align:left;font-weight:bold">{escape(caption)}</caption>'
    return f"<table>{title}{sections}</table>"


def table(rows: Iterable[tuple[str, str]], *, caption: str) -> str:
    """Return a table of names and cells. Names are escaped here; cells must be HTML already."""
    body = "".join(
        f'<tr><th scope="row" style="{_LEFT};white-space:nowrap">{escape(name)}</th>'
        f'<td style="{_LEFT};overflow-wrap:anywhere">{cell}</td></tr>'
        for name, cell in rows
    )
    return _table(f"<tbody>{body}</tbody>", caption)


def _escape_lines(value: object) -> str:
    """Return a value escaped for HTML, with its line breaks."""
    return "<br>".join(map(escape, value.split("\n"))) if isinstance(value, str) else escape(value)


def _cell_style(value: object) -> str:
    """Return the style of a cell. In narrow notebooks, long texts keep a width to read, and long words are broken."""
    return f"{_LEFT};min-width:14em;overflow-wrap:anywhere" if len(str(value)) > _LONG else _LEFT


def grid(head: Iterable[str], rows: Iterable[Iterable[object]], *, caption: str) -> str:
    """Return a table with a header; everything is escaped here. Without rows, return only the caption."""
    cells = ("".join(f'<td style="{_cell_style(cell)}">{_escape_lines(cell)}</td>' for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    if not body:
        return f"<div><b>{escape(caption)}</b></div>"
    names = "".join(f'<th scope="col" style="{_LEFT}">{escape(name)}</th>' for name in head)
    return _table(f"<thead><tr>{names}</tr></thead><tbody>{body}</tbody>", caption)
