"""What people do most often, and the line of code that does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from payerkit._tsv import rows
from payerkit.frames import columns, frame_of

if TYPE_CHECKING:
    import pandas as pd


def cheat_sheet() -> pd.DataFrame:
    """Return one page of tasks, each with the line of code that does it.

    Returns:
        One row per task: `about`, `task` and `code`, all `string`. A line may use what
        a line above it has made.

    Example:
        >>> sheet = cheat_sheet().set_index("task")
        >>> print(sheet.loc["see a theft stopped", "code"])
        samples["lookalike_payee"]
    """
    return frame_of(
        (row.values() for row in rows(__package__, "cheat_sheet")),
        columns("about task code"),
    )
