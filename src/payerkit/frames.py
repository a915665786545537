"""DataFrames with fixed columns and dtypes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    import pandas as pd  # noqa: PLC0415 - pandas takes a second to import

    return pd.DataFrame([*rows], columns=[*dtypes], dtype=object, index=index).astype(dtypes)
