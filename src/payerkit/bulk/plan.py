"""The plan of a run: what would be sent, and what not and why."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from payerkit import html
from payerkit.bulk.naming import FindingTexts, findings_frame, shown_id
from payerkit.bulk.options import DEFAULTS, RunOptions
from payerkit.bulk.outcomes import HELD, PAYER_NOT_SENT, Reason, Reasons
from payerkit.bulk.plan_text import describe_counts, describe_file, describe_plan
from payerkit.bulk.rows import Placeholders, Row, Step
from payerkit.bulk.table import Table
from payerkit.bulk.to_correct import Which, require_cells, require_which, rows_with_warnings, save_rows
from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.tables.source_table import changes_frame
from payerkit.tables.spreadsheets import write_rows
from payerkit.wording import count_of, in_words

if TYPE_CHECKING:
    from payerkit.bulk.row_browser import RowBrowser

_SHOWN_FINDINGS = 12

_COLUMNS = ["state", "reason", "client_user_id", "payer", "bank_details"]

_KINDS: dict[str, html.Kind] = {
    "error": "error",
    "not_sent": "error",
    "held": "warning",
    "warning": "warning",
    "info": "info",
    "to_send": "success",
}
"""The colour of each state, and of each severity of a finding; most urgent first."""


@without_internal_frames
def plan_onboarding(
    rows: Any,
    *,
    holder_is_payer: bool = False,
    placeholders: Placeholders = "error",
    options: RunOptions = DEFAULTS,
) -> Plan:
    """Return what `onboard` would send for a table, or `add_bank_details` for one of accounts; nothing is sent.

    Args:
        rows: The table, as for `onboard`.
        holder_is_payer: As for `onboard`.
        placeholders: As for `onboard`.
        options: As for `onboard`; a plan needs `hold` alone.

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
          1 row   error    email: Not an e-mail address. Write it as name@example.com. (row 1)
    """
    return Plan(Table(rows, holder_is_payer=holder_is_payer, hold=options.hold, placeholders=placeholders), rows)


class Plan:
    """What a run would send, and what not and why.

    `str()` and a notebook show a summary with the most frequent findings, `describe()` all of them, grouped by what to
    do, and `browse()` the rows; `save()` writes those that need something to a file to be corrected.

    Attributes:
        counts: Numbers of `rows`, rows `to_send`, `payers` and `accounts` that would be sent, and rows to send
            `with_warnings`; and of rows that are `held` back because of warnings.
        findings: One row per finding, with the columns of `check_payers` (`row` is the label of the row in the table's
            index), behind `row` two more: `cell`, its name in the file, such as B7, and `column`, the sender's name of
            the column, and at the end `step`: payer, bank_details, or empty. All are string. `cell` is empty for a
            table that was not read from a file.
        correctable: Number of cells with an error or a warning that `read_payers(normalise=True)` would rewrite.
        changes: One row per cell that `read_payers(normalise=True)` rewrote: `row`, `cell`, `column`, the sender's
            name of it, `from` and `to` (string, personal values masked).
        frame: One row for each row of the table, in its order and with its index. Columns, of dtype string:
            `state`: to_send, held (it is held back because of warnings) or not_sent; `reason`, why the row would not be
            sent, or ""; `client_user_id` (an e-mail address is masked); `payer` and `bank_details`, each "send",
            "as row ..." for the same data as in an earlier row, or "".

    Example:
        >>> plan = plan_onboarding(pd.DataFrame([payer]))
        >>> plan.counts["to_send"], plan.frame["payer"].tolist()
        (1, ['send'])
    """

    def __init__(self, table: Table, rows: Any = None, *, normalise: str = "normalise=True") -> None:
        self.frame = _plan_rows(table)
        self._rows = rows
        self._found, self._origin = table.found, table.origin
        self._naming = replace(table.naming, normalise=normalise)
        self._waits = [row.waits_for_payer for row in table.rows]
        is_sent = self.frame["state"] == "to_send"
        self.counts = {
            "rows": len(table.rows),
            "to_send": int(is_sent.sum()),
            "payers": int((self.frame["payer"] == "send").sum()),
            "accounts": int((self.frame["bank_details"] == "send").sum()),
            "with_warnings": int((rows_with_warnings(table.found, len(table.rows)) & is_sent).sum()),
            "held": sum(row.is_held for row in table.rows),
        }

    @property
    def findings(self) -> pd.DataFrame:
        """One row per finding."""
        return findings_frame(self._found, self._naming)

    @property
    def changes(self) -> pd.DataFrame:
        """One row per cell that was rewritten when the file was read."""
        return changes_frame(self._origin, self.frame.index)

    @property
    def correctable(self) -> int:
        """The number of cells with an error or a warning that `read_payers(normalise=True)` would rewrite."""
        return len(self._naming.readings)

    def describe(self) -> str:
        """Return all of the plan as text, to be read from top to bottom.

        It says which file was read and how its columns were understood, what would be sent, and then what is to be
        done: errors first, each with its number of rows, its first cells, what is wrong and what to do.

        Example:
            >>> print(plan_onboarding(pd.DataFrame([{**payer, "email": "john.doe"}])).describe())
            1 row: 0 payers and 0 accounts would be sent; rows with warnings: 0.
            1 row would not be sent: errors in the row or in its payer.
            <BLANKLINE>
            Errors: 1 row is not sent until this is corrected
                  1 row  email: Not an e-mail address.
                         row 0
                         -> Write it as name@example.com.
        """
        reasons = self._reasons(with_infos=True)
        return describe_plan(self.counts, reasons, self._naming, self._origin, self.changes)

    def save_report(self, path: str | Path) -> None:
        """Write one line per row as CSV: its label, `state`, `reason`, `findings` and the other columns of `frame`.

        `findings` are the row's warnings and infos. Nothing in it is secret or personal. A cell or label that a
        spreadsheet would compute, such as `=1+1`, has an apostrophe in front.

        Example:
            >>> plan_onboarding(pd.DataFrame([payer])).save_report("plan.csv")
            >>> pd.read_csv("plan.csv").columns.tolist()
            ['row', 'state', 'reason', 'findings', 'client_user_id', 'payer', 'bank_details']
        """
        write_rows(self._with_findings(), path)

    def _with_findings(self) -> pd.DataFrame:
        """Return the frame with the warnings and infos of each row as text."""
        findings = self._notes().of(range(len(self.frame)))
        first = ["state", "reason", "findings"]
        return self.frame.assign(findings=pd.array(findings, dtype="string"))[
            [*first, *self.frame.columns.drop(first[:2])]
        ]

    @without_internal_frames
    def save(self, path: str | Path, *, rows: Which = "problems") -> int:
        """Write the rows that need something to a corrections file, to be corrected and read again.

        The file has the sender's own columns, in their order, with **personal data** and account numbers in full, so
        only its owner may read it. Cells that are wrong are coloured, with a comment that says what to do; `problems`
        says the same in words. All cells are text, and none is computed.

        `read_payers` knows the file: it reads the columns as before, gives each row the label that it had, and leaves
        out what payerkit wrote. A damaged cell that nobody corrected is still an error. Sent with the same journal,
        only what was not sent yet is sent.

        Args:
            path: The file to write, .xlsx or .csv, which must not exist. (In a .csv, a row has its problems as text.)
            rows: "problems": rows that would not be sent, and rows with warnings; "all".

        Returns:
            The number of rows written; if it is 0, there is no file.

        Raises:
            InvalidInput: If the file exists or is of another kind, and if the table of the plan
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
        return save_rows(path, self._rows, self._found, self._naming.columns, chosen=chosen, reason=self._reason_of)

    def _reason_of(self, row: int) -> tuple[str, str] | None:
        """Return why a row is not sent, if none of its findings says it."""
        return ("not sent", PAYER_NOT_SENT.text) if self._waits[row] else None

    def browse(self) -> RowBrowser:
        """Return a widget that shows the rows by the page, filtered by state, searched and sorted.

        The rows stay in the kernel: the notebook saves none. A row is found by its label, its id, its reason and its
        findings.

        Example:
            >>> plan_onboarding(pd.DataFrame([payer])).browse()
            <RowBrowser: 1 row>
        """
        from payerkit.bulk.row_browser import RowBrowser  # noqa: PLC0415 - for notebooks alone

        columns = ("reason", "client_user_id", "payer", "bank_details", "findings")
        return RowBrowser(self._with_findings(), _KINDS, columns, title="Rows of the plan")

    def _notes(self) -> FindingTexts:
        """Return the warnings and infos of the rows, warnings first."""
        found = [*self._found.of_severity("warning"), *self._found.of_severity("info")]
        return FindingTexts(found, self._naming)

    def __str__(self) -> str:
        kinds = ("error", "warning")
        shown, more = self._most_frequent(kinds)
        lines = [
            f"{count_of(each.times, 'row'):>10}  {each.kind.kind:<7}  {each.text(self._naming)} "
            f"({self._naming.where(each.kind.column, each.rows)})"
            for each in shown
        ]
        return "\n".join([*self._summary(), *lines, *more])

    __repr__ = __str__

    def _summary(self) -> list[str]:
        return [*filter(None, [describe_file(self._origin, self.frame.index)]), *describe_counts(self.counts)]

    def _most_frequent(self, kinds: Collection[str]) -> tuple[list[Reason], list[str]]:
        """Return the first reasons of some kinds, and a line that says how many more there are."""
        reasons = list(self._reasons().first(None, list(kinds)))
        more = len(reasons) - _SHOWN_FINDINGS
        line = f"{count_of(more, 'more finding')}: print(plan.describe()) has all of them."
        return reasons[:_SHOWN_FINDINGS], [line] if more > 0 else []

    def _reasons(self, *, with_infos: bool = False) -> Reasons:
        """Return the errors and warnings of the rows, and why others are not sent, errors first."""
        findings = Reasons.of_findings(self._found, self._naming, with_infos=with_infos)
        others = [PAYER_NOT_SENT.text if waits else "" for waits in self._waits]
        return Reasons.join([findings, Reasons.of_states(self.frame["state"], others)]).sorted(list(_KINDS))

    def _repr_html_(self) -> str:
        first, *lines = describe_counts(self.counts)
        lines = [*filter(None, [describe_file(self._origin, self.frame.index)]), *lines]
        shown, more = self._most_frequent(list(_KINDS))
        rows = [
            (
                f"{each.times:,}",
                html.chip(_KINDS[each.kind.kind], in_words(each.kind.kind)),
                self._describe_html(each),
                self._naming.where(each.kind.column, each.rows),
            )
            for each in shown
        ]
        head = "".join(f"<div>{html.escape(line)}</div>" for line in lines)
        caption = "Found most often" if more else "Found"
        table = html.grid(("rows", "found", "what is wrong, and what to do", "which"), rows, caption=caption)
        tail = "".join(f"<div>{html.escape(line)}</div>" for line in more)
        return html.picture(html.title(first), head, table if rows else "", tail)

    def _describe_html(self, reason: Reason) -> html.Html:
        message, hint = html.escape(reason.kind.message), html.advice(reason.hint(self._naming))
        return html.Html(f"{message}{hint}{html.small(reason.kind.code)}")


def _plan_rows(table: Table) -> pd.DataFrame:
    errors = FindingTexts(table.found.of_severity("error"), table.naming).of(range(len(table.rows)))
    planned = [
        {
            "state": "held" if row.is_held else "not_sent" if row.is_blocked or row.waits_for_payer else "to_send",
            "reason": error or (HELD.text if row.is_held else PAYER_NOT_SENT.text if row.waits_for_payer else ""),
            "client_user_id": shown_id(row.client_user_id),
            "payer": _planned(row, "payer", row.payer_row, table.labels),
            "bank_details": _planned(row, "bank_details", row.account_row, table.labels),
        }
        for row, error in zip(table.rows, errors, strict=True)
    ]
    return pd.DataFrame(planned, index=table.labels, columns=_COLUMNS, dtype="string")


def _planned(row: Row, step: Step, source: Row | None, labels: pd.Index[Any]) -> str:
    """Return "send", "as row ..." if another row sends the same, or "", if the row sends nothing in a step."""
    if source is None or step not in row.data or not row.may_be_sent or row.waits_for_payer:
        return ""
    return "send" if source is row else f"as row {shown_id(labels[source.number])}"
