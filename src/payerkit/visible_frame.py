"""A DataFrame and a Series whose texts steer no terminal. They are imported where
pandas is needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from payerkit.wording import visible, visible_lines


class VisibleFrame(pd.DataFrame):
    """A DataFrame that shows control, format and bidirectional characters as escapes.

    Its cells are the texts as they came, and so is what it writes for other programs.
    What pandas makes of it, such as a selection, is shown likewise.
    """

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return VisibleFrame

    @property
    def _constructor_sliced(self) -> type[pd.Series[Any]]:
        return VisibleSeries

    def __repr__(self) -> str:
        return visible_lines(repr(_drawable(self)))

    def _repr_html_(self) -> str | None:
        plain: Any = _drawable(self)
        drawn: str | None = plain._repr_html_()
        return visible_lines(drawn) if drawn else drawn

    def to_string(self, buf: Any = None, *args: Any, **options: Any) -> Any:
        """Return the table as text, or write it to a file or a path."""
        text = visible_lines(_drawable(self).to_string(None, *args, **options))
        return _put(text, buf, options.get("encoding"))


_SENTENCES = ("meaning", "what_to_do", "doubt", "reason", "error")
"""The columns that a notebook shows in lines, and whole: people act on them."""


class ReturnedFrame(VisibleFrame):
    """A frame as functions return it: a notebook shows it with unbroken ids and whole
    sentences, and it says if it has no rows, or how to show all of many.

    What pandas makes of it is a `VisibleFrame`, and looks as usual.
    """

    def _repr_html_(self) -> str | None:
        in_lines = [
            place
            for place, name in enumerate(self.columns, 2)  # the labels come first
            if name in _SENTENCES and self[name].notna().any()
        ]
        width = pd.get_option("display.max_colwidth")
        if in_lines:
            width = None
        with pd.option_context("display.max_colwidth", width):
            drawn = super()._repr_html_()
        if not drawn:  # notebooks are set to show frames as text
            return drawn
        lines = "{white-space: normal; min-width: 30em; text-align: left}"
        rules = ["<style>.pk-frame .dataframe td {white-space: nowrap}"]
        rules += [
            f".pk-lines-{place} .dataframe :is(th, td):nth-child({place}) {lines}"
            for place in in_lines
        ]
        style = f"{' '.join(rules)}</style>"
        names = " ".join(["pk-frame", *(f"pk-lines-{place}" for place in in_lines)])
        scrolls = 'tabindex="0" style="overflow-x: auto"'  # by keyboard, too
        return f'<div class="{names}" {scrolls}>{style}{drawn}{self._note()}</div>'

    def _note(self) -> str:
        """Return the note below the table, as HTML."""
        if not len(self):
            return "<p>No rows.</p>"
        limit = pd.get_option("display.max_rows")
        if not limit or len(self) <= limit:
            return ""
        return (
            "<p>To show all rows: <code>pd.options.display.max_rows = None</code></p>"
        )


class VisibleSeries(pd.Series):
    """A column or a row of such a DataFrame, which shows them likewise."""

    @property
    def _constructor(self) -> type[pd.Series[Any]]:
        return VisibleSeries

    @property
    def _constructor_expanddim(self) -> type[pd.DataFrame]:
        return VisibleFrame

    def value_counts(self, *args: Any, **options: Any) -> pd.Series[Any]:
        """Return how often each value is there; pandas makes a plain Series of it."""
        return VisibleSeries(super().value_counts(*args, **options))

    def __repr__(self) -> str:
        return visible_lines(repr(_drawable_series(self)))

    def to_string(self, buf: Any = None, *args: Any, **options: Any) -> Any:
        """Return the texts as one, or write them to a file or a path."""
        text = _drawable_series(self).to_string(None, *args, **options)
        return _put(visible_lines(text), buf, None)


def _put(text: str, buf: Any, encoding: str | None) -> str | None:
    """Return a text, or write it to a file or a path, as pandas does it."""
    if buf is None:
        return text
    if hasattr(buf, "write"):
        buf.write(text)
    else:
        Path(buf).write_text(text, encoding=encoding or "utf-8")
    return None


def _drawable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame as a plain DataFrame that pandas draws with each text in a line.

    Plain, because itables replaces how a DataFrame is drawn and knows no subclasses.
    Texts are objects, and names of axes escaped, because pandas 2.2 escapes the line
    breaks of objects alone.
    """
    plain = pd.DataFrame(frame)
    texts: pd.Index[Any] = plain.select_dtypes("string").columns
    plain = plain.astype(dict.fromkeys(texts, object))
    plain.index = _drawable_axis(plain.index)
    plain.columns = _drawable_axis(plain.columns)
    return plain


def _drawable_axis(axis: pd.Index[Any]) -> pd.Index[Any]:
    names = [visible(name) if isinstance(name, str) else name for name in axis.names]
    if isinstance(axis, pd.MultiIndex):
        levels: Any = [_drawable_axis(level) for level in axis.levels]
        axis = axis.set_levels(levels)
    elif axis.dtype == "string":
        axis = axis.astype(object)
    return axis.set_names(names)


def _drawable_series(series: pd.Series[Any]) -> pd.Series[Any]:
    """Return a Series likewise; its name stands below it as it is."""
    plain: pd.Series[Any] = pd.Series(series)
    if plain.dtype == "string":
        plain = plain.astype(object)
    plain = plain.set_axis(_drawable_axis(plain.index))
    if isinstance(plain.name, str):
        plain.name = visible(plain.name)
    return plain
