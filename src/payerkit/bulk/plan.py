"""What a run would do: counts, what stands in the way, row by row; nothing is sent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from payerkit import html
from payerkit.bulk.partitions import Step
from payerkit.bulk.report import NO_PAYER, reasons, shown_id
from payerkit.bulk.table import Table
from payerkit.errors import without_internal_frames


@without_internal_frames
def plan_onboarding(rows: Any) -> Plan:
    """Return what `onboard` would do with a table, or `add_bank_details` with one of accounts; nothing is sent.

    rows: as for `onboard`. Raises InvalidInput for what is no table of rows to send.
    """
    return Plan(Table(rows))


class Plan:
    """What would be sent, and what would not.

    counts: rows, the rows that would be sent, payers and accounts among them, and rows with warnings. findings: a
    DataFrame with one row a finding, as of `check_payers`, with the `step` that it is about. frame: one row for each
    row of the input, in its order and with its index: what would be sent for it, `""` if nothing, and the `reason`.
    """

    def __init__(self, table: Table) -> None:
        self.findings = _labelled(table)
        self.frame = _frame(table)
        sent = ~table.blocked & ~table.waiting
        warned = table.findings.loc[table.findings["severity"] == "warning", "row"]
        self.counts = {
            "rows": len(table),
            "to_send": int(sent.sum()),
            "payers": int((self.frame["payer"] == "send").sum()),
            "accounts": int((self.frame["bank_details"] == "send").sum()),
            "with_warnings": int(np.count_nonzero(sent[warned.unique()])),
        }

    def __str__(self) -> str:
        told = self.counts
        blocked = told["rows"] - told["to_send"]
        what = f"{told['payers']} payers and {told['accounts']} accounts would be sent"
        lines = [f"{told['rows']} rows: {what}; {told['with_warnings']} rows with warnings are among them."]
        if blocked:
            lines.append(f"{blocked} rows would not be sent: they have errors, or their payer has.")
        return "\n".join([*lines, *map(" ".join, self._worst())])

    __repr__ = __str__

    def _worst(self) -> list[tuple[str, str, str, str]]:
        """Return what is found most often: how often, how hard, the field and the words."""
        columns = ["severity", "field", "message"]
        found = self.findings.loc[self.findings["severity"] != "info", columns]
        counted = found.value_counts().reset_index(name="times")
        first = counted.sort_values(["severity", "times"], ascending=[True, False]).head(12)
        rows = zip(*(first[name].tolist() for name in ("times", *columns)), strict=True)
        return [
            (f"{times:>6}x", severity, f"{field}:" if field else "", message)
            for times, severity, field, message in rows
        ]

    def _repr_html_(self) -> str:
        first, *others = str(self).splitlines()[: -len(self._worst()) or None]
        head = "".join(f"<div>{html.escape(line)}</div>" for line in others)
        grid = html.grid(("times", "severity", "field", "what is wrong"), self._worst(), caption="Found most often")
        return f"<div><b>{html.escape(first)}</b>{head}{grid if self._worst() else ''}</div>"


def _labelled(table: Table) -> pd.DataFrame:
    """Return the findings with the caller's labels in place of positions."""
    return table.findings.assign(row=table.labels.take(table.findings["row"].to_numpy()))


def _frame(table: Table) -> pd.DataFrame:
    why = reasons(table)
    why |= dict.fromkeys(np.flatnonzero(table.waiting).tolist(), NO_PAYER)
    ids: list[Any] = [None] * len(table)
    for row in table.order.tolist():
        ids[row] = shown_id(table.id_at(row))
    columns = {
        "client_user_id": pd.array(ids, dtype="string"),
        "payer": _sent(table, "payer"),
        "bank_details": _sent(table, "bank_details"),
        "reason": pd.array([why.get(row, "") for row in range(len(table))], dtype="string"),
    }
    return pd.DataFrame(columns, index=table.labels)


def _sent(table: Table, step: Step) -> Any:
    """Return of each row whether its part is sent, is the same as an earlier row's, or is not there."""
    told = np.where(table.has(step) & ~table.blocked & ~table.waiting, "send", "").astype(object)
    for row in np.flatnonzero(told == "send").tolist():
        first = table.payer_row(row) if step == "payer" else table.first_like(row)
        if first != row:
            told[row] = f"as row {shown_id(table.labels[first])}"
    return pd.array(told, dtype="string")
