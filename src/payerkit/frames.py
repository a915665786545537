"""DataFrames with fixed columns and dtypes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MethodType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pandas as pd


TIME: Final = "datetime64[ns, UTC]"


def columns(names: str, **others: str) -> dict[str, str]:
    """Return the dtypes of columns, in the order of their names, which blanks separate: most hold text.

    others: the names of the columns of each other dtype; `time` stands for times in UTC.
    """
    dtypes = {name: TIME if dtype == "time" else dtype for dtype, text in others.items() for name in text.split()}
    return {name: dtypes.get(name, "string") for name in names.split()}


def frame_of(rows: Iterable[Any], dtypes: Mapping[str, Any], *, index: Any = None) -> pd.DataFrame:
    """Return rows, each a dict or a sequence, as a DataFrame with these columns; what a dict lacks is missing."""
    import pandas as pd  # noqa: PLC0415 - pandas takes 25 times as long to import as payerkit

    return _shown(pd.DataFrame([*rows], columns=[*dtypes], dtype=object, index=index).astype(dtypes))


_SENTENCES = ("meaning", "what_to_do", "reason", "error")
"""The columns that a notebook shows in lines, and whole: people act on them."""


def _shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame that a notebook shows with unbroken ids and whole sentences, and that says if it has no rows."""
    import pandas as pd  # noqa: PLC0415 - likewise

    kind: Any = type(frame)

    def picture(whole: pd.DataFrame) -> str | None:
        sentences = [name in _SENTENCES and whole[name].notna().any() for name in whole.columns]
        in_lines = [place for place, is_sentence in enumerate(sentences, 2) if is_sentence]
        with pd.option_context("display.max_colwidth", None if in_lines else pd.get_option("display.max_colwidth")):
            drawn = kind._repr_html_(whole)  # None if notebooks are set to show frames as text
        lines = "{white-space: normal; min-width: 30em; text-align: left}"
        rules = "".join(f" .pk-lines-{place} .dataframe :is(th, td):nth-child({place}) {lines}" for place in in_lines)
        style = f"<style>.pk-frame .dataframe td {{white-space: nowrap}}{rules}</style>"
        note = "" if len(whole) else "<p>No rows.</p>"
        names = " ".join(["pk-frame", *(f"pk-lines-{place}" for place in in_lines)])
        scrolls = 'tabindex="0" style="overflow-x: auto"'  # by keyboard, too
        return drawn and f'<div class="{names}" {scrolls}>{style}{drawn}{note}</div>'

    object.__setattr__(
        frame, "_repr_html_", MethodType(picture, frame)
    )  # of this frame alone: what is selected from it is as usual
    return frame


def rows_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame as dicts, with None for missing cells."""
    cells = table.astype(object)
    return cells.where(cells.notna(), None).to_dict("records")  # type: ignore[return-value]  # its columns have names


def read_times(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column as times in UTC, also if it comes from a file, in which they are text."""
    import pandas as pd  # noqa: PLC0415 - likewise

    # Each by itself, as ISO 8601: pandas would take the form of the first for that of all, and drop the others.
    times = pd.to_datetime(column.astype("string"), utc=True, errors="coerce", format="ISO8601")
    return times.astype(TIME)


def read_truth(value: object) -> bool | None:
    """Return a truth value, also from the text that a file has for it; None for anything else."""
    return {"true": True, "false": False}.get(str(value).lower())
