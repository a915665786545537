"""The plan of a run: what would be sent, and what not and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from payerkit import html
from payerkit.bulk.report import PAYER_NOT_SENT, count_of, error_texts, shown_id
from payerkit.bulk.table import Step, Table
from payerkit.errors import without_internal_frames


@without_internal_frames
def plan_onboarding(rows: Any, *, holder_is_payer: bool = False) -> Plan:
    """Return what `onboard` would send for a table, or `add_bank_details` for one of accounts; nothing is sent.

    Args:
        rows: The table, as for `onboard`.
        holder_is_payer: As for `onboard`.

    Returns:
        A `Plan`: counts, findings, and what would be sent for each row.

    Raises:
        InvalidInput: For anything but a table with rows to send, for unknown columns, and for a table that does not
            say who holds the accounts.

    Example:
        >>> plan_onboarding(pd.DataFrame([payer, {**payer, "clientUserId": "user-2", "email": "john.doe"}]))
        2 rows: 1 payer and 0 accounts would be sent; rows with warnings: 0.
        1 row would not be sent: errors in the row or in its payer.
             1x error email: Not an e-mail address.
    """
    return Plan(Table(rows, holder_is_payer=holder_is_payer))


class Plan:
    """What a run would send, and what not and why.

    `str()` and a notebook show a summary with the most frequent findings.

    Attributes:
        counts: Numbers of `rows`, rows `to_send`, `payers` and `accounts` that would be sent, and rows to send
            `with_warnings`.
        findings: One row per finding, with the columns of `check_payers` (`row` is the label of the row in the table's
            index) and `step` (string): payer, bank_details, or empty.
        frame: One row for each row of the table, in its order and with its index. Columns, of dtype string:
            `client_user_id` (an e-mail address is masked); `payer` and `bank_details`, each "send", "as row ..." for
            the same data as in an earlier row, or ""; `reason`, why the row would not be sent, or "".

    Example:
        >>> plan = plan_onboarding(pd.DataFrame([payer]))
        >>> plan.counts["to_send"], plan.frame["payer"].tolist()
        (1, ['send'])
    """

    def __init__(self, table: Table) -> None:
        self.findings = table.findings.assign(row=table.labels.take(table.findings["row"].to_numpy()))
        self.frame = _plan_rows(table)
        self._columns = table.columns
        sent = ~table.blocked & ~table.without_payer
        warned = table.findings.loc[table.findings["severity"] == "warning", "row"]
        self.counts = {
            "rows": len(table),
            "to_send": int(sent.sum()),
            "payers": int((self.frame["payer"] == "send").sum()),
            "accounts": int((self.frame["bank_details"] == "send").sum()),
            "with_warnings": int(np.count_nonzero(sent[warned.unique()])),
        }

    def __str__(self) -> str:
        return "\n".join([*self._summary(), *map(" ".join, self._frequent_findings())])

    __repr__ = __str__

    def _summary(self) -> list[str]:
        counts = self.counts
        blocked = counts["rows"] - counts["to_send"]
        sent = f"{count_of(counts['payers'], 'payer')} and {count_of(counts['accounts'], 'account')} would be sent"
        return [
            f"{count_of(counts['rows'], 'row')}: {sent}; rows with warnings: {counts['with_warnings']}.",
            *([f"{count_of(blocked, 'row')} would not be sent: errors in the row or in its payer."] if blocked else []),
        ]

    def _frequent_findings(self) -> list[tuple[str, str, str, str]]:
        """Return the most frequent findings, errors first: times, severity, column, message."""
        columns = ["severity", "step", "field", "message"]
        found = self.findings.loc[self.findings["severity"] != "info", columns]
        counted = found.value_counts().reset_index(name="times")
        first = counted.sort_values(["severity", "times"], ascending=[True, False]).head(12)
        rows = zip(*(first[name].tolist() for name in ("times", *columns)), strict=True)
        return [
            (f"{times:>6}x", severity, f"{self._columns.get(step, {}).get(field, field)}:" if field else "", message)
            for times, severity, step, field, message in rows
        ]

    def _repr_html_(self) -> str:
        first, *others = self._summary()
        rows = self._frequent_findings()
        grid = html.grid(("times", "severity", "field", "what is wrong"), rows, caption="Found most often")
        head = "".join(f"<div>{html.escape(line)}</div>" for line in others)
        return f"<div><b>{html.escape(first)}</b>{head}{grid if rows else ''}</div>"


def _plan_rows(table: Table) -> pd.DataFrame:
    reasons = error_texts(table) | dict.fromkeys(np.flatnonzero(table.without_payer).tolist(), PAYER_NOT_SENT)
    ids: list[Any] = [None] * len(table)
    for row in table.order.tolist():
        ids[row] = shown_id(table.client_user_id(row))
    columns = {
        "client_user_id": pd.array(ids, dtype="string"),
        "payer": _plan_step(table, "payer"),
        "bank_details": _plan_step(table, "bank_details"),
        "reason": pd.array([reasons.get(row, "") for row in range(len(table))], dtype="string"),
    }
    return pd.DataFrame(columns, index=table.labels)


def _plan_step(table: Table, step: Step) -> Any:
    """Return for each row "send", "as row ..." if an earlier row sends the same, or ""."""
    planned = np.where(table.rows_to_send(step) & ~table.without_payer, "send", "").astype(object)
    for row in np.flatnonzero(planned == "send").tolist():
        first = table.payer_row(row) if step == "payer" else table.account_row(row)
        if first != row:
            planned[row] = f"as row {shown_id(table.labels[first])}"
    return pd.array(planned, dtype="string")
