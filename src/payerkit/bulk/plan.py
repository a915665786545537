"""The plan of a run: what would be sent, and what not and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from payerkit import html
from payerkit.bulk.checked_rows import Placeholders
from payerkit.bulk.findings_by_row import FindingsByRow, FindingTexts, by_label, shown_id
from payerkit.bulk.holder import Flags
from payerkit.bulk.outcomes import HELD, PAYER_NOT_SENT
from payerkit.bulk.reasons import Reasons, first_labels
from payerkit.bulk.row_pages import RowPages
from payerkit.bulk.table import Step, Table
from payerkit.bulk.text_column import text_column
from payerkit.bulk.to_correct import Which, require_cells, require_which, rows_with_warnings, save_rows
from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.wording import count_of, in_words

if TYPE_CHECKING:
    from payerkit.widgets.row_browser import RowBrowser

_SHOWN_FINDINGS = 12

_KINDS: dict[str, html.Kind] = {
    "error": "error",
    "not_sent": "error",
    "held": "warning",
    "warning": "warning",
    "to_send": "success",
}
"""The colour of each state, and of each severity of a finding; most urgent first."""


@without_internal_frames
def plan_onboarding(
    rows: Any,
    *,
    holder_is_payer: bool = False,
    hold: str | Collection[str] = (),
    placeholders: Placeholders = "error",
) -> Plan:
    """Return what `onboard` would send for a table, or `add_bank_details` for one of accounts; nothing is sent.

    Args:
        rows: The table, as for `onboard`.
        holder_is_payer: As for `onboard`.
        hold: As for `onboard`.
        placeholders: As for `onboard`.

    Returns:
        A `Plan`: counts, findings, and what would be sent for each row.

    Raises:
        InvalidInput: For anything but a table with rows to send, for unknown columns, for a table that does not say
            who holds the accounts, and for a code that no warning has.

    Example:
        >>> other = {**payer, "clientUserId": "user-2", "ssn": "219-09-9873", "email": "john.doe"}
        >>> plan_onboarding(pd.DataFrame([payer, other]))
        2 rows: 1 payer and 0 accounts would be sent; rows with warnings: 0.
        1 row would not be sent: errors in the row or in its payer.
             1x error email: Not an e-mail address. (row 1)
    """
    return Plan(Table(rows, holder_is_payer=holder_is_payer, hold=hold, placeholders=placeholders), rows)


class Plan:
    """What a run would send, and what not and why.

    `str()` and a notebook show a summary with the most frequent findings; `browse()` shows the rows,
    and `save()` writes those that need something to a file to be corrected.

    Attributes:
        counts: Numbers of `rows`, rows `to_send`, `payers` and `accounts` that would be sent, and rows to send
            `with_warnings`; and of rows that are `held` back because of warnings.
        findings: One row per finding, with the columns of `check_payers` (`row` is the label of the row in the table's
            index) and `step` (string): payer, bank_details, or empty.
        frame: One row for each row of the table, in its order and with its index. Columns, of dtype string:
            `state`: to_send, held (it is held back because of warnings) or not_sent; `reason`, why the row would not be
            sent, or ""; `client_user_id` (an e-mail address is masked); `payer` and `bank_details`, each "send",
            "as row ..." for the same data as in an earlier row, or "".

    Example:
        >>> plan = plan_onboarding(pd.DataFrame([payer]))
        >>> plan.counts["to_send"], plan.frame["payer"].tolist()
        (1, ['send'])
    """

    def __init__(self, table: Table, rows: Any = None) -> None:
        self.frame = _plan_rows(table)
        self._rows = rows
        self._found, self._columns = table.found, table.columns
        sent = _rows_to_send(table)
        warned = np.unique(table.found.of_severity("warning").rows)
        self.counts = {
            "rows": len(table),
            "to_send": int(sent.sum()),
            "payers": int((self.frame["payer"] == "send").sum()),
            "accounts": int((self.frame["bank_details"] == "send").sum()),
            "with_warnings": int(np.count_nonzero(sent[warned])),
            "held": int(np.count_nonzero(table.held & ~table.blocked)),
        }

    @property
    def findings(self) -> pd.DataFrame:
        """One row per finding."""
        return by_label(self._found, self.frame.index)

    @without_internal_frames
    def save(self, path: str | Path, *, rows: Which = "problems") -> int:
        """Write the rows that need something to a corrections file, to be corrected and read again.

        The file has the sender's own columns, in their order, with **personal data** and account numbers in full, so
        only its owner may read it. Cells that are wrong are coloured, with a comment that says what to do; `problems`
        says the same in words. A second sheet lists all findings, and a third one explains the file. All cells are
        text, and none is computed.

        `read_payers` knows the file: it reads the columns as before, gives each row the label that it had, and leaves
        out what payerkit wrote. A damaged cell that nobody corrected is still an error. Sent with the same journal,
        only what was not sent yet is sent.

        Args:
            path: The file to write, .xlsx or .csv, which must not exist. (In a .csv, a row has its problems as text.)
            rows: "problems": rows that would not be sent, and rows with warnings; "all".

        Returns:
            The number of rows written; if it is 0, there is no file.

        Raises:
            InvalidInput: If the file exists or is of another kind, for a Dask DataFrame, and if the table of the plan
                was changed. Nothing was written.
            ImportError: If openpyxl, which .xlsx files need, is not installed.
            OSError: If the file cannot be written.

        Example:
            >>> plan_onboarding(pd.DataFrame([{**payer, "email": "john.doe"}])).save("to-correct.csv")
            1
        """
        require_which("rows", rows)
        require_cells(self._rows)
        if not self._rows.index.equals(self.frame.index):
            raise InvalidInput("rows: the table was changed after it was planned. Plan it again.")
        needed = (self.frame["state"] != "to_send").to_numpy(bool) | rows_with_warnings(self._found, len(self.frame))
        chosen = np.ones(len(needed), bool) if rows == "all" else needed
        return save_rows(path, self._rows, self._found, self._columns, chosen=chosen, reason=self._reason_of)

    def _reason_of(self, row: int) -> tuple[str, str] | None:
        """Return why a row is not sent, if none of its findings says it."""
        reason = str(self.frame["reason"].iloc[row])
        return ("not sent", reason) if reason == PAYER_NOT_SENT else None

    def browse(self) -> RowBrowser:
        """Return a widget that shows the rows by the page, to filter, search, sort, copy and save them.

        The rows stay in the kernel: the notebook saves none. A row is found by its label, its id and its reason. What
        is saved from it is a CSV file that only its owner may read.

        Example:
            >>> plan_onboarding(pd.DataFrame([payer])).browse()
            <RowBrowser: 1 row>
        """
        from payerkit.widgets.row_browser import RowBrowser  # noqa: PLC0415 - for notebooks alone

        columns = ("client_user_id", "payer", "bank_details")
        warnings, infos = self._found.of_severity("warning"), self._found.of_severity("info")
        notes = FindingTexts(FindingsByRow.join([warnings, infos]), self._columns)
        return RowBrowser(
            RowPages(self.frame, _KINDS, columns, self._reasons, notes.of), title="Rows of the plan", file="plan.csv"
        )

    def __str__(self) -> str:
        found = self._reasons().first(_SHOWN_FINDINGS, ("error", "warning"))
        lines = [
            f"{each.times:>6,}x {each.kind} {each.text} (row{'s' * (each.times > 1)} "
            f"{first_labels(self.frame.index, each.rows)})"
            for each in found
        ]
        return "\n".join([*self._summary(), *lines])

    __repr__ = __str__

    def _summary(self) -> list[str]:
        counts = self.counts
        held = counts["held"]
        blocked = counts["rows"] - counts["to_send"] - held
        sent = f"{count_of(counts['payers'], 'payer')} and {count_of(counts['accounts'], 'account')} would be sent"
        return [
            f"{count_of(counts['rows'], 'row')}: {sent}; rows with warnings: {counts['with_warnings']:,}.",
            *([f"{count_of(blocked, 'row')} would not be sent: errors in the row or in its payer."] if blocked else []),
            *([f"{count_of(held, 'row')} would be held back because of warnings."] if held else []),
        ]

    def _reasons(self) -> Reasons:
        """Return the errors and warnings of the rows, and why others are not sent, errors first."""
        findings = Reasons.of_findings(self._found, self._columns)
        others = self.frame["reason"].where(self.frame["reason"] == PAYER_NOT_SENT, "")
        return Reasons.join([findings, Reasons.of_states(self.frame["state"], others)]).sorted(list(_KINDS))

    def _repr_html_(self) -> str:
        first, *lines = self._summary()
        rows = [
            (
                f"{each.times:,}",
                html.chip(_KINDS[each.kind], in_words(each.kind)),
                each.text,
                first_labels(self.frame.index, each.rows),
            )
            for each in self._reasons().first(_SHOWN_FINDINGS, list(_KINDS))
        ]
        head = "".join(f"<div>{html.escape(line)}</div>" for line in lines)
        table = html.grid(("rows", "found", "what is wrong", "which"), rows, caption="Found most often") if rows else ""
        return html.picture(html.title(first), head, table)


def _rows_to_send(table: Table) -> Flags:
    return ~table.blocked & ~table.held & ~table.without_payer


def _plan_rows(table: Table) -> pd.DataFrame:
    rows, errors = np.arange(len(table)), FindingTexts(table.found.of_severity("error"), table.columns)
    held = np.asarray(table.held & ~table.blocked)
    states = np.where(_rows_to_send(table), "to_send", np.where(held, "held", "not_sent"))
    columns = {
        "state": text_column(lambda some: states[some].tolist(), rows),
        "reason": text_column(lambda some: map(_reason, repeat(table), some, errors.of(some)), rows),
        "client_user_id": text_column(lambda some: (shown_id(table.client_user_id(row)) for row in some), table.order),
        "payer": text_column(_planner(table, "payer"), rows),
        "bank_details": text_column(_planner(table, "bank_details"), rows),
    }
    return pd.DataFrame(columns, index=table.labels)


def _planner(table: Table, step: Step) -> Callable[[list[int]], Iterable[str]]:
    """Return a function that says of some rows "send", "as row ..." if another row sends the same, or ""."""
    is_sent = table.rows_to_send(step) & _rows_to_send(table)
    source_of = table.payer_row if step == "payer" else table.account_row

    def planned(row: int) -> str:
        if not is_sent[row]:
            return ""
        source = source_of(row)
        return "send" if source == row else f"as row {shown_id(table.labels[source])}"

    return partial(map, planned)


def _reason(table: Table, row: int, errors: str) -> str:
    """Return why a row would not be sent, "" if it would."""
    return errors or (HELD if table.held[row] else PAYER_NOT_SENT if table.without_payer[row] else "")
