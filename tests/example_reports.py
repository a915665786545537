"""A report with rows in every state, from a journal without a run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from cases import said
from payerkit.reasons import Outcome
from payerkit.runs import Report
from payerkit.runs.journal import Journal, State
from payerkit.runs.rows import Row
from payerkit.runs.tasks import Limit, Table, Tasks
from published import TYPED_ACCOUNT, TYPED_PAYER, as_columns, own

OUTCOMES: list[tuple[State, dict[str, Any]]] = [
    (
        "done",
        {"facts": {"id": "account-{}", "user_id": "payer-{}", "status": "approved"}},
    ),
    (
        "done",
        {
            "facts": {"id": "account-{}", "status": "pending"},
            "reason": Outcome("there_already"),
        },
    ),
    (
        "refused",
        {"reason": said("The bank account number is not valid (invalid_account).")},
    ),
    ("unknown", {"reason": said("The outcome is unknown. The response was lost.")}),
    (
        "waiting",
        {
            "reason": said("Waits until the payer is compliant (payer_not_compliant)."),
        },
    ),
    (
        "duplicate",
        {
            "facts": {"id": "account-{}", "other_ids": ["account-{}b"]},
            "reason": said("Stored more than once."),
        },
    ),
    ("not_sent", {"reason": said("The service could not be reached.")}),
]
"""What became of accounts: row after row, in turns."""


def example_rows(count: int) -> pd.DataFrame:
    """Return payers with an account each: every tenth has a wrong e-mail address, every
    sixth a warning.
    """
    row = TYPED_PAYER | as_columns(TYPED_ACCOUNT)
    made = [
        row
        | own(n)
        | {
            "client_user_id": f"user-{n:03}",
            "account_number": f"12345{n:06}",
        }
        for n in range(count)
    ]
    frame = pd.DataFrame(made, dtype="object", index=pd.RangeIndex(1, count + 1))
    frame.loc[frame.index[5::10], "email"] = "x"
    frame.loc[frame.index[2::6], "routing_number"] = "021000022"
    return frame


def example_report(folder: Path | str, count: int = 120) -> Report:
    """Return a report whose accounts are in all states."""
    rows = example_rows(count)
    with Journal(Path(folder) / "example.journal") as journal:
        tasks = Tasks(Table(rows, holder_is_payer=True), journal.secret)
        for row in tasks.table.rows:
            _record(journal, tasks, row)
        return Report(tasks, journal, None, Limit())


def _record(journal: Journal, tasks: Tasks, row: Row) -> None:
    if row.is_blocked:
        return
    state, options = OUTCOMES[row.number % len(OUTCOMES)]
    facts = {
        name: _numbered(value, row.number)
        for name, value in options.get("facts", {}).items()
    }
    payer, account = tasks["payer", row], tasks["bank_details", row]
    for task in (payer, account):
        journal.sent(task.key, task.subject)
    journal.record(
        payer.key,
        "done",
        facts={"kyc_status": "approved", "agreement_url": "https://example.com/secret"},
    )
    journal.record(account.key, state, **options | {"facts": facts})


def _numbered(value: str | Iterable[str], row: int) -> Any:
    return (
        value.format(row)
        if isinstance(value, str)
        else [each.format(row) for each in value]
    )
