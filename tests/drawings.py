"""The drawing of the index, as SVG in an image, since notebooks that are not trusted
show no other, with the same as text.

It brings its ground along, so that it can be read on a page of any colour. It follows
the theme where the page says which one it is; where none does, it is light.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal

from payerkit import html

Look = Literal["filled", "plain"]
"""How a box is drawn: in its full colour, or on a pale ground."""

WIDTH = 720
"""Of every picture; it shrinks to a narrower page."""

_LINE = 16
_RULES = """
text { font: 12px system-ui, sans-serif; fill: var(--tone) }
rect { fill: var(--ground); stroke: var(--tone) }
.filled rect { fill: var(--tone) } .filled text { fill: var(--on); font-weight: bold }
.page rect { fill: var(--on); stroke: none }
"""


@cache
def _style() -> str:
    """Return the CSS of all shapes, in the two palettes of `html.palette`."""
    colours = re.findall(
        r"(--pk-[a-z-]+): light-dark\((#\w+), (#\w+)\)", html.palette()
    )
    themes = [
        "".join(f"{each[0]}:{each[theme]};" for each in colours) for theme in (1, 2)
    ]
    kinds = "".join(
        f".{kind}{{--tone:var(--pk-{kind});--ground:var(--pk-{kind}-ground)}}"
        for kind in html.MARKS
    )
    rules = (
        f"svg{{{themes[0]}--on:var(--pk-on)}}"
        f"@media(prefers-color-scheme:dark){{svg{{{themes[1]}}}}}{kinds}{_RULES}"
    )
    return " ".join(rules.split())


def box(
    place: tuple[float, float, float, float],
    kind: html.ChipKind,
    look: Look,
    lines: Sequence[str] = (),
) -> str:
    """Return a box with lines of text in its middle. place: left, top, width and
    height.
    """
    left, top, width, height = place
    first = top + (height - _LINE * len(lines)) / 2 + 12
    words = "".join(
        f'<text x="{left + width / 2:g}" y="{first + _LINE * number:g}"'
        f' text-anchor="middle">{html.escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    shape = (
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="5"/>'
    )
    return f'<g class="{kind} {look}">{shape}{words}</g>'


def label(left: float, top: float, text: str, kind: html.ChipKind = "neutral") -> str:
    """Return a line of text."""
    return (
        f'<g class="{kind}"><text x="{left:g}"'
        f' y="{top:g}">{html.escape(text)}</text></g>'
    )


def image(shapes: Iterable[str], height: int, *, alt: str) -> html.Html:
    """Return shapes as an image. alt: the same in words."""
    ground = f'<g class="page"><rect width="{WIDTH}" height="{height}" rx="6"/></g>'
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        f' width="{WIDTH}" height="{height}">'
        f"<style>{_style()}</style>{ground}{''.join(shapes)}</svg>"
    )
    source = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
    return html.Html(
        f'<img src="{source}" alt="{html.escape(alt)}" style="max-width: 100%">'
    )
