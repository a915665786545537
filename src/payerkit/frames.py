"""DataFrames with fixed columns and dtypes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pandas as pd


TIME: Final = "datetime64[ns]"
"""Times in UTC without a zone, since Excel has no zones; the names of their columns end
in `_utc`.
"""


def columns(names: str, **others: str) -> dict[str, str]:
    """Return the dtypes of columns, in the order of their names, which blanks separate:
    most hold text.

    others: the names of the columns of each other dtype; `time` stands for times in
    UTC.
    """
    dtypes = dict.fromkeys(names.split(), "string")
    for kind, text in others.items():
        dtype = kind
        if kind == "time":
            dtype = TIME
        dtypes |= dict.fromkeys(text.split(), dtype)
    return dtypes


def frame_of(
    rows: Iterable[Any], dtypes: Mapping[str, Any], *, index: Any = None
) -> pd.DataFrame:
    """Return rows, each a dict or a sequence, as a DataFrame with these columns; what a
    dict lacks is missing.
    """
    # Imported here: pandas takes 25 times as long to import as payerkit.
    from payerkit.visible_frame import ReturnedFrame  # noqa: PLC0415

    cells: dict[str, list[Any]] = {name: [] for name in dtypes}
    for row in rows:
        values = row
        if isinstance(row, Mapping):
            values = [row.get(name) for name in dtypes]
        for column, value in zip(cells.values(), values, strict=True):
            column.append(value)
    # Each column is made once, with its dtype: a conversion of each costs more than all
    # else that a call does.
    made = {name: _column(cells[name], dtypes[name], index) for name in dtypes}
    return ReturnedFrame(made, index=index, copy=False)


def _column(values: list[Any], dtype: Any, index: Any) -> Any:
    """Return the values of a column with their dtype."""
    import pandas as pd  # noqa: PLC0415 - likewise

    if dtype in {object, "object"}:
        # A frame would make text of an array of objects, and NaN of None.
        return pd.Series(values, dtype=object, index=index)
    if dtype == TIME:
        return read_times(pd.Series(values, dtype=object)).array
    return pd.array(values, dtype=_read_dtype(dtype))


@cache
def _read_dtype(dtype: Any) -> Any:
    """Return a dtype as an object; pandas would look for it anew for each column."""
    from pandas.api.types import pandas_dtype  # noqa: PLC0415 - likewise

    return pandas_dtype(dtype)


def rows_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame as dicts, with None for missing cells."""
    names = list(table.columns)
    cells = table.to_numpy(dtype=object, na_value=None)  # type: ignore[arg-type]  # the stubs lack None
    return [dict(zip(names, row, strict=True)) for row in cells.tolist()]


def read_times(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column as times in UTC without a zone, also if it comes from a file, in
    which they are text; one that is no time, or that pandas cannot hold, is missing.
    """
    import pandas as pd  # noqa: PLC0415 - likewise

    # Each by itself, as ISO 8601: pandas would take the form of the first for that of
    # all, and drop the others.
    times = pd.to_datetime(
        column.astype("string"), utc=True, errors="coerce", format="ISO8601"
    )
    times = times.dt.tz_localize(None)
    return times.where(times.between(pd.Timestamp.min, pd.Timestamp.max)).astype(TIME)


def read_truth(value: object) -> bool | None:
    """Return a truth value, also from the text that a file has for it; None for
    anything else.
    """
    return {"true": True, "false": False}.get(str(value).lower())
