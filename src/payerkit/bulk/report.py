"""The report of a run: the outcome of every row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

import pandas as pd

from payerkit import html
from payerkit.bulk.journal import Entry, Journal
from payerkit.bulk.links import RowIds, collect_links, write_links
from payerkit.bulk.table import Step, Table
from payerkit.bulk.tasks import Tasks
from payerkit.errors import without_internal_frames
from payerkit.html import visible
from payerkit.masking import mask

_SHOWN_ROWS = 20
_FACTS = ("user_id", "kyc_status", "agreement_status", "status", "agreement_url", "kyc_url")
_COLUMNS = {"id": "payment_details_id"} | {name: name for name in _FACTS}
"""The column of each fact in the journal."""

PAYER_NOT_SENT = "Its payer was not sent: see the row of the payer."

_WIDTH = 50
_MARKS = {"done": "█", "refused": "▒", "unknown": "?", "not_sent": "·", "waiting": "~"}
_COLOURS = {
    "done": "#2e7d32",
    "refused": "#c62828",
    "unknown": "#ef6c00",
    "not_sent": "#9e9e9e",
    "waiting": "#1565c0",
}


class Report:
    """The outcome of every row of a run.

    `str()` and a notebook show a summary, and what to do next.

    Attributes:
        frame: One row for each row of the input, in its order and with its index. Columns, all of dtype string unless
            noted: `client_user_id` (an e-mail address is masked); `step`, the last one that was tried (payer,
            bank_details); `state`: done, refused (the service refused it), unknown (it was sent, the outcome is
            unknown), not_sent, or waiting (an account that is sent once its payer is compliant); `user_id`,
            `payment_details_id`, `kyc_status`, `agreement_status`, `status` (of the bank details), `agreement_url` and
            `kyc_url`, as the service returned them; `attempts` (int64), times that the row's requests were sent;
            `retryable` (bool), True if the same call again may do more; `reason`, empty for most rows that are done.
        stopped: Why the run stopped before all rows were tried; "" if it did not.

    Example:
        >>> report = onboard(client, pd.DataFrame([payer]), journal="run.journal", progress=False)
        >>> report
        1 row: 1 done.
        ██████████████████████████████████████████████████
        >>> report.frame[["client_user_id", "step", "state", "kyc_status", "attempts"]]
          client_user_id   step state   kyc_status  attempts
        0       user-123  payer  done  not_started         1
    """

    def __init__(self, frame: pd.DataFrame, stopped: str, row_ids: RowIds) -> None:
        self.frame = frame
        self.stopped = stopped
        self._row_ids = row_ids

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows in each state; together, all rows."""
        counted = self.frame["state"].value_counts()
        return {state: int(counted.get(state, 0)) for state in _MARKS}

    @property
    def retryable(self) -> pd.DataFrame:
        """The rows of `frame` for which the same call again, with the same journal, may do more."""
        return self.frame[self.frame["retryable"]]

    def save(self, path: str | Path) -> None:
        """Write the frame as CSV, its index first."""
        labels = ["row" if name is None else str(name) for name in self.frame.index.names]
        self.frame.to_csv(path, index_label=labels)

    @without_internal_frames
    def save_links(self, path: str | Path, rows: pd.DataFrame) -> dict[str, int]:
        """Write a CSV file for a mail merge: one row for each payer that is done, with the links to its pages.

        The file has **personal data**: ids and e-mail addresses in full, and links that let their reader act as the
        payer. Hence it is never written unasked, and only its owner may read it. Its columns: `client_user_id`,
        `email`, `agreement_url`, `kyc_url`. A link is empty if the service did not return it as a web address; so is
        one that contains the payer's id, since a journal keeps no ids. A payer without any link has no row. An id or
        address that a spreadsheet would compute, such as `=1+1@example.com`, has an apostrophe in front.

        Args:
            path: The file to write; an existing one is replaced.
            rows: The table of the run, for the e-mail addresses, which a report does not have.

        Returns:
            The number of rows `written`, and of payers `without_links`, who are done and have no row.

        Raises:
            InvalidInput: If the table is not the one of this report. Nothing was written.
            OSError: If the file cannot be written.

        Example:
            >>> rows = pd.DataFrame([payer])
            >>> report = onboard(client, rows, journal="links.journal", progress=False)
            >>> report.save_links("links.csv", rows)
            {'written': 1, 'without_links': 0}
        """
        links = collect_links(self.frame, self._row_ids, rows)
        written = [link for link in links if link["agreement_url"] or link["kyc_url"]]
        write_links(Path(path), written)
        return {"written": len(written), "without_links": len(links) - len(written)}

    def _summary(self) -> str:
        counts = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in self.counts.items() if count)
        return f"{count_of(len(self.frame), 'row')}: {counts or 'nothing to do'}."

    def _advice(self) -> list[str]:
        waiting = self.counts["waiting"]
        again = len(self.retryable) - waiting
        left = int(((self.frame["state"] == "unknown") & ~self.frame["retryable"]).sum())
        return [
            *([f"The run stopped early: {self.stopped}"] if self.stopped else []),
            *([f"Call again with the same journal: {count_of(again, 'row')} may still be done."] if again else []),
            *(
                [f"Call again later: {_rows_wait(waiting)} until the payer is compliant, see reason."]
                if waiting
                else []
            ),
            *([f"Check {count_of(left, 'row')} yourself: the outcome stays unknown, see reason."] if left else []),
        ]

    def __str__(self) -> str:
        return "\n".join([self._summary(), _text_bar(self.counts), *self._advice()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        open_rows = self.frame[self.frame["state"] != "done"]
        shown = open_rows.head(_SHOWN_ROWS)
        rows = [(shown_id(row.Index), row.step, row.state, row.reason) for row in shown.itertuples()]
        advice = "".join(f"<div>{html.escape(line)}</div>" for line in self._advice())
        caption = "Not done" if len(shown) == len(open_rows) else f"Not done (the first {_SHOWN_ROWS})"
        table = html.grid(("row", "step", "state", "reason"), rows, caption=caption) if rows else ""
        return f"<div><b>{html.escape(self._summary())}</b>{_html_bar(self.counts)}{advice}{table}</div>"


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number} {noun}{'s' * (number != 1)}"


def _rows_wait(number: int) -> str:
    return f"{count_of(number, 'row')} wait{'s' * (number == 1)}"


def _text_bar(counts: Mapping[str, int]) -> str:
    """Return the states as a bar of text, with at least one mark for every state that occurs."""
    total = sum(counts.values()) or 1
    return "".join(_MARKS[state] * max(1, round(_WIDTH * count / total)) for state, count in counts.items() if count)


def _html_bar(counts: Mapping[str, int]) -> str:
    """Return the states as a coloured bar, hidden from screen readers: the summary says the same."""
    parts = "".join(
        f'<span style="flex:{count} 0 3px;background:{_COLOURS[state]}" title="{count} {state}"></span>'
        for state, count in counts.items()
        if count
    )
    return (
        f'<div aria-hidden="true" style="display:flex;height:10px;max-width:500px;gap:1px;margin:4px 0">{parts}</div>'
    )


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """The outcome of a row: what a row of the report shows."""

    client_user_id: str | None
    step: str = ""
    state: str = "not_sent"
    user_id: str | None = None
    payment_details_id: str | None = None
    kyc_status: str | None = None
    agreement_status: str | None = None
    status: str | None = None
    agreement_url: str | None = None
    kyc_url: str | None = None
    attempts: int = 0
    retryable: bool = False
    reason: str = ""

    def after(self, step: Step, entry: Entry | None, stopped: str) -> Self:
        """Return the outcome with one more step, from the journal's record of its task."""
        if entry is None:
            return replace(self, step=step, state="not_sent", retryable=True, reason=stopped or "Not sent yet.")
        is_open = entry.state == "sent" or (entry.state in {"unknown", "not_sent", "waiting"} and not entry.final)
        return replace(
            self,
            **{_COLUMNS[name]: value for name, value in entry.facts.items() if name in _COLUMNS},
            step=step,
            state="unknown" if entry.state == "sent" else entry.state,
            attempts=self.attempts + entry.attempts,
            retryable=is_open,
            reason=entry.reason,
        )


def shown_id(value: Any) -> Any:
    """Return a client user id, or a row's label, which may be one, as it may be shown."""
    return value if value is None else visible(str(mask("clientUserId", value)))


def make_report(tasks: Tasks, journal: Journal, stopped: str) -> Report:
    """Return the report of a table, from its journal."""
    table = tasks.table
    errors = error_texts(table)
    outcomes: list[Any] = [None] * len(table)
    ids: list[str | None] = [None] * len(table)
    for row in table.order.tolist():
        ids[row] = table.client_user_id(row)
        outcomes[row] = _row_outcome(tasks, journal, row, errors.get(row), stopped)
    columns = {field.name: [getattr(outcome, field.name) for outcome in outcomes] for field in fields(RowOutcome)}
    dtypes = dict.fromkeys(columns, "string") | {"attempts": "int64", "retryable": "bool"}
    return Report(pd.DataFrame(columns, index=table.labels, dtype=object).astype(dtypes), stopped, RowIds(ids))


def error_texts(table: Table) -> dict[int, str]:
    """Return the errors of each row that has any, as text, each with its column."""
    errors = table.findings[table.findings["severity"] == "error"]
    columns = pd.Series(
        [
            table.columns.get(step, {}).get(field, field)
            for step, field in zip(errors["step"], errors["field"], strict=True)
        ],
        errors.index,
        "string",
    )
    texts = (columns + ": " + errors["message"]).str.removeprefix(": ")
    found: dict[Any, str] = texts.groupby(errors["row"]).agg("; ".join).to_dict()
    return found


def _row_outcome(tasks: Tasks, journal: Journal, row: int, errors: str | None, stopped: str) -> RowOutcome:
    outcome = RowOutcome(shown_id(tasks.table.client_user_id(row)), reason=errors or "")
    for step, source in _steps(tasks.table, row) if errors is None else ():
        if source is None:
            return replace(outcome, step=step, reason=PAYER_NOT_SENT)
        outcome = outcome.after(step, journal.entry(tasks.key(step, source)), stopped)
        if outcome.state != "done":
            break
    return outcome


def _steps(table: Table, row: int) -> Iterator[tuple[Step, int | None]]:
    """Yield the steps of a row, each with the row whose data is sent; None if that row has errors."""
    payer = table.payer_row(row)
    if "payer" in table.steps and payer >= 0:
        yield "payer", None if table.blocked[payer] else payer
    if table.rows_with("bank_details")[row]:
        yield "bank_details", row
