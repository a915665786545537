"""Render untrusted text as inert HTML: chips, tables and the pictures that notebooks
show.

A picture is one `div` with the class `pk` and its style. Words and marks say what the
colours say, so that it can be read where styles are removed, as on GitHub, or where
colours are forced.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Literal
from urllib.parse import urlsplit

from payerkit.wording import visible

ChipKind = Literal["error", "warning", "info", "success", "neutral", "other"]
"""What a colour of the palette stands for: the three severities, what is done or right,
and two without judgement.
"""

MARKS: dict[ChipKind, str] = {
    "error": "✗",
    "warning": "!",
    "info": "i",
    "success": "✓",
    "neutral": "·",
    "other": "=",
}
"""The sign that says the same as the colour."""
VERDICT_KINDS: dict[str, ChipKind] = {
    "ok": "success",
    "look": "warning",
    "stop": "error",
}
"""The colour of each verdict on a payment."""


class Html(str):
    """Text that is HTML already, which `escape` leaves as it is."""

    __slots__ = ()


def escape(value: object) -> str:
    """Return a value's text escaped for HTML; a dash for None."""
    if isinstance(value, Html):
        return value
    if value is None:
        return "—"
    return html.escape(visible(str(value)), quote=True)


def breakable(value: object) -> str:
    """Return a value's text escaped for HTML, which may be broken within hashes and
    addresses.
    """
    return re.sub(r"(\w{22})(?=\w)", r"\1<wbr>", escape(value))


def is_web_address(url: str) -> bool:
    """Return True if a URL is safe to link: http or https with a host, and only
    printable ASCII.
    """
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and url.isascii()
            and url.isprintable()
        )
    except ValueError:
        return False


def link(url: str, label: str) -> str:
    """Return a link that opens in a new tab; a URL that is not safe to link is shown as
    text.
    """
    if not is_web_address(url):
        return escape(url)
    return (
        f'<a href="{escape(url)}" target="_blank" rel="noopener'
        f' noreferrer">{escape(label)}</a>'
    )


@cache
def palette() -> str:
    """Return the CSS that defines the colours, as custom properties of elements with
    the class `pk` or `payerkit`.

    Of each kind there is a colour for text, marks and lines (`--pk-error`), and one for
    the ground below such text (`--pk-error-ground`). `--pk-on` is for text on a ground
    of the first; `--pk-line` is for quiet lines. They follow the theme of JupyterLab,
    Notebook, VS Code and Colab, and elsewhere the `color-scheme` of the page.
    """
    return files(__package__).joinpath("palette.css").read_text("utf-8")


@cache
def inline(kind: ChipKind, look: Literal["chip", "solid", "frame"]) -> str:
    """Return the style attribute of what has a colour, which it keeps where a notebook
    is not trusted.

    Its style sheet is gone there, and custom properties, too; so these are the light
    colours, on their own ground.
    """
    if look == "frame":
        return (
            f'style="padding:10px 14px;border:2px solid {tone(kind)};border-radius:6px"'
        )
    colours = f"color:{tone(kind)};background:{tone(f'{kind}-ground')}"
    if look == "solid":
        colours = (
            f"color:#fff;background:{tone(kind)};font-weight:bold;white-space:nowrap"
        )
    return f'style="padding:0 7px;border-radius:4px;{colours}"'


def tone(name: str) -> str:
    """Return the colour with this name in the light palette."""
    return str(re.findall(rf"--pk-{name}: light-dark\((#\w+)", palette())[0])


@cache
def style() -> str:
    """Return the CSS of pictures, with the palette."""
    css = palette() + files(__package__).joinpath("picture.css").read_text("utf-8")
    return " ".join(css.split())  # each output carries it


def picture(*parts: str) -> str:
    """Return HTML as one output of a notebook, with its style."""
    return f'<div class="pk">{"".join(parts)}<style>{style()}</style></div>'


def page(heading: str, body: str) -> str:
    """Return HTML as a page that loads and runs nothing, in the reader's light or dark
    colours; in print, light.
    """
    text = files(__package__).joinpath("page.html").read_text("utf-8")
    return text.format(title=escape(heading), body=body)


def title(text: object, *, beside: str = "") -> Html:
    """Return the first line of a picture. beside: HTML at its end, such as a chip."""
    line = f"<b>{breakable(text)}</b> {beside}".rstrip()
    return Html(f'<div class="pk-title">{line}</div>')


def chip(kind: ChipKind, words: str) -> Html:
    """Return words on a ground of their colour, with their mark, which never stands on
    a line of its own.
    """
    return Html(
        f'<span class="pk-chip pk-{kind}"'
        f" {inline(kind, 'chip')}>{MARKS[kind]}&nbsp;{escape(words)}</span>"
    )


def verdict(word: str) -> Html:
    """Return a verdict, which stands out from chips."""
    kind = VERDICT_KINDS[word]
    return Html(
        f'<span class="pk-chip pk-solid pk-{kind}"'
        f" {inline(kind, 'solid')}>{word.upper()}</span>"
    )


def badge(environment: str) -> Html:
    """Return the name of an environment as a small badge; "live" stands out."""
    look = 'class="pk-badge" style="padding:0 6px;border:1px solid"'
    if environment == "live":
        look = f'class="pk-badge pk-live" {inline("error", "solid")}'
    return Html(f"<span {look}>{escape(environment.capitalize())}</span>")


def advice(text: str) -> Html:
    """Return what to do. Lines after the first are to be copied, and stay lines."""
    first, _, rest = text.partition("\n")
    shown = ""
    if first:
        shown = f'<div class="pk-advice">→ {escape(first)}</div>'
    copied = "\n".join(escape(line) for line in rest.splitlines())
    if copied:
        shown += f'<pre class="pk-copied">{copied}</pre>'
    return Html(shown)


def small(*parts: str) -> Html:
    """Return small print, such as the source of a finding; nothing without words."""
    words = " · ".join(escape(part) for part in parts if part)
    if not words:
        return Html()
    return Html(f'<div class="pk-small">{words}</div>')


def code(text: str) -> Html:
    """Return text as code."""
    return Html(f"<code>{escape(text)}</code>")


_LONG = 40
"""Characters from which on a cell keeps a width to read."""


_INLINE = 'style="text-align:left;vertical-align:top"'
"""The style of a cell where a notebook is not trusted, so that style sheets are
gone.
"""


def _table(sections: str, caption: str) -> Html:
    named = ""
    if caption:
        named = f'<caption style="text-align:left">{escape(caption)}</caption>'
    return Html(f'<table class="pk-table">{named}{sections}</table>')


def table(rows: Iterable[tuple[str, str]], *, caption: str) -> Html:
    """Return a table of names and cells, for a `picture`. Names are escaped here; cells
    must be HTML already.
    """
    body = "".join(
        f'<tr><th scope="row" {_INLINE}>{escape(name)}</th><td'
        f" {_INLINE}>{cell}</td></tr>"
        for name, cell in rows
    )
    return _table(f"<tbody>{body}</tbody>", caption)


def _cell(value: object) -> str:
    """Return a cell with its line breaks. In narrow notebooks, a long one keeps a
    width, and its words are broken.
    """
    if isinstance(value, Html) or not isinstance(value, str):
        return f"<td {_INLINE}>{escape(value)}</td>"
    lines = "<br>".join(breakable(line) for line in value.split("\n"))
    if len(value) > _LONG:
        return f'<td class="pk-long" {_INLINE}>{lines}</td>'
    return f"<td {_INLINE}>{lines}</td>"


def folded(summary: str, content: str) -> Html:
    """Return HTML that is shown once somebody opens it by its summary."""
    return Html(f"<details><summary>{escape(summary)}</summary>{content}</details>")


def grid(
    head: Iterable[str], rows: Iterable[Iterable[object]], *, caption: str
) -> Html:
    """Return a table with a header, for a `picture`. Cells are escaped here, unless
    they are `Html`.

    Without rows, return only the caption.
    """
    body = ""
    for row in rows:
        cells = "".join(_cell(value) for value in row)
        body += f"<tr>{cells}</tr>"
    if not body:
        return title(caption)
    names = "".join(f'<th scope="col" {_INLINE}>{escape(name)}</th>' for name in head)
    return _table(f"<thead><tr>{names}</tr></thead><tbody>{body}</tbody>", caption)
