"""Pictures: SVG in an image, since notebooks that are not trusted show no other, beside the same as text.

A picture brings its ground along, so that it can be read on a page of any colour. It follows the theme where the page
says which one it is; where none does, it is light.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from payerkit import html
from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.wording import in_words

if TYPE_CHECKING:
    import pandas as pd

Look = Literal["filled", "plain", "dashed"]
"""How a box is drawn: in its full colour, on a pale ground, or as an outline of what is not there yet."""

WIDTH = 720
"""Of every picture; it shrinks to a narrower page."""

_LINE = 16
_RULES = """
text { font: 12px system-ui, sans-serif; fill: var(--tone) }
rect { fill: var(--ground); stroke: var(--tone) }
.filled rect { fill: var(--tone) } .filled text { fill: var(--on); font-weight: bold }
.dashed rect { fill: none; stroke-dasharray: 4 3 }
.page rect { fill: var(--on); stroke: none }
"""


@cache
def _style() -> str:
    """Return the CSS of all shapes, in the two palettes of `html.palette`."""
    colours = re.findall(r"(--pk-[a-z-]+): light-dark\((#\w+), (#\w+)\)", html.palette())
    themes = ["".join(f"{each[0]}:{each[theme]};" for each in colours) for theme in (1, 2)]
    kinds = "".join(f".{kind}{{--tone:var(--pk-{kind});--ground:var(--pk-{kind}-ground)}}" for kind in html.MARKS)
    rules = f"svg{{{themes[0]}--on:var(--pk-on)}}@media(prefers-color-scheme:dark){{svg{{{themes[1]}}}}}{kinds}{_RULES}"
    return " ".join(rules.split())


def box(place: tuple[float, float, float, float], kind: html.Kind, look: Look, lines: Sequence[str] = ()) -> str:
    """Return a box with lines of text in its middle. place: left, top, width and height."""
    left, top, width, height = place
    first = top + (height - _LINE * len(lines)) / 2 + 12
    words = "".join(
        f'<text x="{left + width / 2:g}" y="{first + _LINE * number:g}" text-anchor="middle">{html.escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    shape = f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="5"/>'
    return f'<g class="{kind} {look}">{shape}{words}</g>'


def label(left: float, top: float, text: str, kind: html.Kind = "neutral") -> str:
    """Return a line of text."""
    return f'<g class="{kind}"><text x="{left:g}" y="{top:g}">{html.escape(text)}</text></g>'


def image(shapes: Iterable[str], height: int, *, alt: str) -> html.Html:
    """Return shapes as an image. alt: the same in words."""
    ground = f'<g class="page"><rect width="{WIDTH}" height="{height}" rx="6"/></g>'
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
        f"<style>{_style()}</style>{ground}{''.join(shapes)}</svg>"
    )
    source = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
    return html.Html(f'<img src="{source}" alt="{html.escape(alt)}" style="max-width: 100%">')


_GAP = 16


def in_a_row(boxes: Sequence[tuple[html.Kind, Look, Sequence[str]]]) -> list[str]:
    """Return boxes with arrows from each to the next."""
    step, shapes = (WIDTH - 16 + _GAP) / len(boxes), []
    for number, (kind, look, lines) in enumerate(boxes):
        left = 8 + number * step
        shapes.append(box((left, 8, step - _GAP, 62), kind, look, lines))
        shapes += [label(left - _GAP + 2, 43, "→")] if number else []
    return shapes


@dataclass(frozen=True, repr=False)
class Picture:
    """An image. Notebooks show it, terminals the same as text."""

    image: html.Html
    text: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html.picture(self.image)


Part: TypeAlias = tuple[str, int, html.Kind]
"""A part of a bar: a word of the service or of payerkit, how many things it stands for, and its colour."""


@dataclass(frozen=True)
class Bar:
    """How many things there are of each kind, as a bar. Notebooks show the picture, terminals the same as text."""

    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return "\n".join(f"{count:>5}  {html.MARKS[kind]} {in_words(word)}" for word, count, kind in self.parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        total, left, shapes = sum(count for _, count, _ in self.parts), 8.0, []
        for number, (word, count, kind) in enumerate(self.parts):
            width = 3 + (WIDTH - 16 - 5 * len(self.parts)) * count / total  # so that one of a thousand can be seen
            shapes.append(box((left, 8, width, 24), kind, "filled", [str(count)] if width > _LINE * 2 else []))
            column, row = number % _COLUMNS * (WIDTH - 16) / _COLUMNS + 8, 52 + 20 * (number // _COLUMNS)
            shapes.append(label(column, row, f"{html.MARKS[kind]} {count} {in_words(word)}", kind))
            left += width + 2
        words = ", ".join(f"{count} {in_words(word)}" for word, count, _ in self.parts)
        return html.picture(image(shapes, 40 + 20 * ceil(len(self.parts) / _COLUMNS), alt=words or "nothing"))


_COLUMNS = 4
"""Of the words below a bar."""


MOVES: dict[str, tuple[str, html.Kind]] = {
    "you": ("your move", "warning"),
    "payer": ("payer's move", "other"),
    "payee": ("payee's move", "neutral"),
    "service": ("service's move", "info"),
    "nobody": ("nothing to do", "success"),
}
"""Each word for whose move it is, as it is drawn; yours comes first."""


@without_internal_frames
def draw_moves(frame: pd.DataFrame) -> Bar:
    """Return of how many rows it is whose move, as a bar.

    Args:
        frame: From `payer_statuses` or `reconcile`, or a part of its rows.

    Returns:
        What a notebook shows as a picture, and `print` as text, with your moves first.

    Raises:
        InvalidInput: For anything but such a frame.

    Example:
        >>> draw_moves(payer_statuses(client, ["user-123"]))
            1  = payer's move
    """
    if not hasattr(getattr(frame, "whose_move", None), "value_counts"):
        raise InvalidInput("frame: expected a result of payer_statuses() or reconcile(), with its column whose_move.")
    counts = frame["whose_move"].value_counts()
    return Bar(tuple((words, int(counts[move]), kind) for move, (words, kind) in MOVES.items() if move in counts))


_WHO = {
    "Payer": ("owes the money,", "is identified"),
    "Wallet": ("signs, and", "sends the crypto"),
    "Contract": ("passes it on,", "with the reference"),
    "Operator": ("takes the crypto,", "sends the money"),
    "Bank": ("credits the", "payee's account"),
}


def who_is_who() -> Picture:
    """Return who takes part in a payment to a bank account, in the order in which the money passes them.

    Returns:
        What a notebook shows as a picture, and `print` as text.

    Example:
        >>> who_is_who()
        Payer: owes the money, is identified
        Wallet: signs, and sends the crypto
        Contract: passes it on, with the reference
        Operator: takes the crypto, sends the money
        Bank: credits the payee's account
    """
    lines = [f"{name}: {' '.join(words)}" for name, words in _WHO.items()]
    shapes = in_a_row([("info", "plain", (name, *words)) for name, words in _WHO.items()])
    return Picture(image(shapes, 78, alt="; ".join(lines)), "\n".join(lines))


def draw_form(spec: Mapping[str, Any]) -> html.Html:
    """Return a form without values, for pages that run no widgets, such as GitHub's. spec: of a form, for the page."""
    shapes, titles, top = [label(12, 24, spec["title"])], [], 32
    for section, rows in spec["sections"]:
        # What follows the example of a field says to whom it applies, if not to everybody.
        shown = [row[1] for row in rows if row[0] not in spec.get("optional", ()) and "only" not in dict(*row[6:])]
        shapes += [label(12, top + 14, section, "info")] if shown else []
        for number, title in enumerate(shown):
            left, line = 12 + 234 * (number % 3), top + 22 + 46 * (number // 3)
            shapes += [label(left, line + 12, title), box((left, line + 17, 222, 22), "neutral", "plain")]
        top += (28 + 46 * ceil(len(shown) / 3)) * bool(shown)
        titles += shown
    shapes.append(box((12, top + 4, 200, 26), "info", "filled", ["Run the cell to fill it in"]))
    return image(shapes, top + 38, alt=f"{spec['title']}, a form to fill in once the cell has run: {', '.join(titles)}")
