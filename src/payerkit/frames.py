"""DataFrames with fixed columns and dtypes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def frame_of(rows: Iterable[Any], dtypes: Mapping[str, Any], *, index: Any = None) -> pd.DataFrame:
    """Return rows, each a dict or a sequence, as a DataFrame with these columns; what a dict lacks is missing."""
    import pandas as pd  # noqa: PLC0415 - pandas takes a second to import

    return pd.DataFrame([*rows], columns=[*dtypes], dtype=object, index=index).astype(dtypes)
