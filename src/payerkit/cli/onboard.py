"""What `payerkit onboard` does."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from payerkit.bulk.plan import Plan, plan_onboarding
from payerkit.bulk.read import read_payers
from payerkit.bulk.report import Report
from payerkit.bulk.run import onboard
from payerkit.connection import connect
from payerkit.errors import InterruptedRun, InvalidInput
from payerkit.models import BankDetails, Payer


def template() -> str:
    """Return a CSV file with every column of payers and bank details, and a row of published examples."""
    examples = {
        name: str((field.examples or [""])[0])
        for model in (BankDetails, Payer)  # what both have is the payer's
        for name, field in model.model_fields.items()
    }
    text = io.StringIO()
    rows = csv.DictWriter(text, [*Payer.model_fields, *(name for name in examples if name not in Payer.model_fields)])
    rows.writeheader()
    rows.writerow(examples)
    return text.getvalue()


def read(file: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return the table of a file. Raises InvalidInput for one that is not understood."""
    if not all("=" in column for column in columns):
        raise InvalidInput("--column: say THEIRS=OURS, such as --column zip=postcode.")
    pairs = (column.partition("=") for column in columns)
    return read_payers(file, mapping={theirs: ours or None for theirs, _, ours in pairs})


def plan(rows: pd.DataFrame) -> Plan:
    """Return what would be sent."""
    return plan_onboarding(rows)


def send(rows: pd.DataFrame, *, journal: Path, workers: int, rate: float | None) -> tuple[Report, int]:
    """Send the rows; return what became of them, and the code to end with: 0 if all are done, 130 if interrupted."""
    with connect() as client:
        try:
            report = onboard(client, rows, journal=journal, workers=workers, rate=rate)
        except InterruptedRun as stopped:
            return stopped.report, 130
    return report, 0 if report.counts["done"] == len(report.frame) else 3
