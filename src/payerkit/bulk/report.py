"""What became of every row, and of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from payerkit import html
from payerkit.bulk.journal import Entry, Journal
from payerkit.bulk.sending import is_lost
from payerkit.bulk.table import Table
from payerkit.bulk.tasks import Tasks
from payerkit.html import visible
from payerkit.masking import mask

STATES = ("done", "refused", "unknown", "not_sent")
_FACTS = ("user_id", "id", "kyc_status", "agreement_status", "status", "agreement_url", "kyc_url")
COLUMNS = ("client_user_id", "step", "state", *_FACTS, "attempts", "retryable", "reason")


class Report:
    """What became of every row of a run.

    frame: one row for each row of the input, in its order and with its index: `step`, the last one that was tried;
    `state`, one of done, refused, unknown, not_sent; the service's ids and statuses, the links to a payer's pages,
    `attempts`, whether calling again may help (`retryable`), and the `reason` unless it is simply done.
    stopped: why the run ended before all rows were tried; "" if it did not.
    """

    def __init__(self, frame: pd.DataFrame, stopped: str) -> None:
        self.frame = frame
        self.stopped = stopped

    @property
    def counts(self) -> dict[str, int]:
        """How many rows are in each state; together, all rows."""
        counted = self.frame["state"].value_counts()
        return {state: int(counted.get(state, 0)) for state in STATES}

    @property
    def retryable(self) -> pd.DataFrame:
        """The rows for which the same call again, with the same journal, may do more."""
        return self.frame[self.frame["retryable"]]

    def save(self, path: str | Path) -> None:
        """Write the frame as CSV, with the row's label first."""
        labels = ["row" if name is None else str(name) for name in self.frame.index.names]
        self.frame.to_csv(path, index_label=labels)

    def _summary(self) -> str:
        told = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in self.counts.items() if count)
        return f"{len(self.frame)} rows: {told or 'nothing to do'}."

    def _advice(self) -> list[str]:
        counts, again = self.counts, len(self.retryable)
        return [
            *([f"It ended early: {self.stopped}"] if self.stopped else []),
            *([f"Call again, with the same journal: {again} may still be done."] if again else []),
            *([f"{counts['unknown'] - self._open()} are yours to find out: see reason."] * self._is_left()),
        ]

    def _open(self) -> int:
        return int((self.frame["retryable"] & (self.frame["state"] == "unknown")).sum())

    def _is_left(self) -> bool:
        return self.counts["unknown"] > self._open()

    def __str__(self) -> str:
        return "\n".join([self._summary(), _bar(self.counts), *self._advice()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        open_rows = self.frame[self.frame["state"] != "done"].head(20)
        rows = [
            (shown_id(label), row.step, row.state, row.reason)
            for label, row in zip(open_rows.index, open_rows.itertuples(), strict=True)
        ]
        advice = "".join(f"<div>{html.escape(line)}</div>" for line in self._advice())
        table = html.grid(("row", "step", "state", "reason"), rows, caption="Not done (the first 20)") if rows else ""
        return f"<div><b>{html.escape(self._summary())}</b>{_colours(self.counts)}{advice}{table}</div>"


_WIDTH = 50
_MARKS = {"done": "█", "refused": "▒", "unknown": "?", "not_sent": "·"}
_COLOURS = {"done": "#2e7d32", "refused": "#c62828", "unknown": "#ef6c00", "not_sent": "#9e9e9e"}


def _bar(counts: Mapping[str, int]) -> str:
    """Return the states as a bar of text; every state that occurs has at least one mark."""
    total = sum(counts.values()) or 1
    return "".join(_MARKS[state] * max(1, round(_WIDTH * count / total)) for state, count in counts.items() if count)


def _colours(counts: Mapping[str, int]) -> str:
    """Return the states as a coloured bar, for the eye alone: the summary says the same."""
    parts = "".join(
        f'<span style="flex:{count} 0 3px;background:{_COLOURS[state]}" title="{count} {state}"></span>'
        for state, count in counts.items()
        if count
    )
    return (
        f'<div aria-hidden="true" style="display:flex;height:10px;max-width:500px;gap:1px;margin:4px 0">{parts}</div>'
    )


NO_PAYER = "Its payer was not sent: see the row of the payer."


def shown_id(value: Any) -> Any:
    """Return what may be shown of a client user id, or of a row's label, which may be one."""
    return value if value is None else visible(str(mask("clientUserId", value)))


def make_report(tasks: Tasks, journal: Journal, stopped: str) -> Report:
    """Return what the journal knows of each row of a table."""
    table = tasks.table
    why = reasons(table)
    rows: list[dict[str, Any]] = [{}] * len(table)
    for row in table.order.tolist():
        rows[row] = _row(tasks, journal, row, why.get(row), stopped)
    columns = {name: [row.get(name) for row in rows] for name in COLUMNS}
    texts = {name: pd.array(columns[name], dtype="string") for name in COLUMNS if name not in {"attempts", "retryable"}}
    frame = pd.DataFrame({**columns, **texts}, index=table.labels)
    return Report(
        frame.astype({"attempts": "int64", "retryable": "bool"}).rename(columns={"id": "payment_details_id"}), stopped
    )


def reasons(table: Table) -> dict[int, str]:
    """Return why rows cannot be sent, by their positions."""
    errors = table.findings[table.findings["severity"] == "error"]
    said = (errors["field"] + ": " + errors["message"]).str.removeprefix(": ")
    found: dict[Any, str] = said.groupby(errors["row"]).agg("; ".join).to_dict()
    return found


def _row(tasks: Tasks, journal: Journal, row: int, errors: str | None, stopped: str) -> dict[str, Any]:
    told: dict[str, Any] = {"client_user_id": shown_id(tasks.table.id_at(row)), "attempts": 0, "retryable": False}
    if errors is not None:
        return told | {"state": "not_sent", "step": "", "reason": errors}
    steps = _asked(tasks.table, row)
    for step, source in steps:
        if source is None:
            return told | {"step": step, "state": "not_sent", "reason": NO_PAYER}
        entry = journal.entry(tasks.key(step, source))
        told |= {name: value for name, value in (entry.facts if entry else {}).items() if name in _FACTS}
        told |= _state(entry, stopped) | {"step": step, "attempts": told["attempts"] + (entry.attempts if entry else 0)}
        if told["state"] != "done":
            break
    return told


def _asked(table: Table, row: int) -> list[tuple[Any, int | None]]:
    """Return the steps of a row, each with the row that it is sent from; None where that cannot be sent."""
    payer = table.payer_row(row)
    steps: list[tuple[Any, int | None]] = []
    if "payer" in table.steps and payer >= 0:
        steps.append(("payer", None if table.blocked[payer] else payer))
    if table.has("bank_details")[row]:
        steps.append(("bank_details", row))
    return steps


def _state(entry: Entry | None, stopped: str) -> dict[str, Any]:
    if entry is None:
        return {"state": "not_sent", "retryable": True, "reason": stopped or "Not tried."}
    state = "unknown" if entry.state == "sent" else entry.state
    retryable = is_lost(entry) or entry.state == "sent" or (entry.state == "not_sent" and not entry.final)
    return {"state": state, "retryable": retryable, "reason": entry.reason}
