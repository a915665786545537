"""Tables of payers with accounts for tests of many rows, and what a sandbox's file
really holds of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd
from sqlalchemy import select
from sqlalchemy.orm import Session

import payerkit
from payerkit.client import Client
from payerkit.runs import Report, RunOptions
from payerkit.runs.rows import Step
from payerkit.runs.tasks import Table, Task, Tasks
from payerkit_sandbox.database import open_database
from payerkit_sandbox.models import AccountRow, PayerRow

Row = dict[str, str]
Account = tuple[str, str, str]
"""Whose it is, its number, and where it is kept."""

SECOND, ALIKE, WRONG = 40, 50, 60
"""Each so many-th payer has a second account, has one of the same number at another
bank, or has an error.
"""


def run_arguments(**options: Any) -> dict[str, Any]:
    """Return the arguments of a run: those of `RunOptions` as one, without a progress
    bar, and the others.
    """
    own = {each.name for each in fields(RunOptions)}
    chosen = {"progress": False} | {
        name: value for name, value in options.items() if name in own
    }
    return {"options": RunOptions(**chosen)} | {
        name: value for name, value in options.items() if name not in own
    }


def onboard(
    client: Client, rows: pd.DataFrame, journal: Path, **options: Any
) -> Report:
    """Send a table without a progress bar. options: those of a run, and arguments."""
    return payerkit.onboard(client, rows, journal=journal, **run_arguments(**options))


def payer_row(place: int) -> Row:
    """Return a payer with one account, which is the payer's own; no value of them
    occurs in another row.
    """
    return {
        "client_user_id": f"customer-{place:05}@example.org",
        "email": f"mailbox-{place:05}@example.net",
        "first_name": f"Forename{place:05}",
        "last_name": f"Surname-{place:05}",
        "beneficiary_type": "individual",
        "date_of_birth": "1985-12-12",
        "address_line1": f"{place:05} Main Street",
        "city": "New York",
        "state": "NY",
        "postcode": "10001",
        "country": "US",
        "nationality": "US",
        "phone": f"+1212556{place:05}",
        "ssn": f"521-{10 + place % 80}-{place:05}",
        "bank_name": "Chase",
        "account_name": f"Forename{place:05} Surname-{place:05}",
        "account_number": f"77{place:07}001",
        "routing_number": "026013356",
        "currency": "usd",
        "document_type": "passport",
        "document_number": f"DOC-{place:05}-1",
    }


def payer_rows(payers: int) -> pd.DataFrame:
    """Return a table of this many payers, some with an error, and behind them the
    second accounts of some.
    """
    rows = [payer_row(place) for place in range(payers)]
    for place in range(WRONG - 1, payers, WRONG):
        rows[place]["email"] = f"mailbox-{place:05}"
    for place in range(0, payers, SECOND):
        rows.append(rows[place] | {"account_number": f"77{place:07}002"})
    for place in range(1, payers, ALIKE):
        rows.append(rows[place] | {"routing_number": "021000021"})
    return pd.DataFrame(rows)


def rows_of(table: pd.DataFrame) -> list[Row]:
    """Return the rows of a table."""
    return [
        {str(name): value for name, value in row.items()}
        for row in table.to_dict("records")
    ]


def make_task(table: Table, secret: bytes, step: Step, row: int = 0) -> Task:
    """Return the task of a row of a table."""
    return Tasks(table, secret)[step, table.rows[row]]


def account_of(row: Mapping[str, str]) -> Account:
    """Return what tells the account of a row from all others."""
    return row["client_user_id"], row["account_number"], row["routing_number"]


def stored(db: Path) -> tuple[dict[str, Row], Counter[Account]]:
    """Return what the file of a sandbox holds: its payers by id, and how often each
    account is there.
    """
    database = open_database(db)
    with Session(database.engine) as session:
        payers = {row.id: row.body for row in session.scalars(select(PayerRow))}
        details = [
            (payers[row.payer_id]["clientUserId"], row.body)
            for row in session.scalars(select(AccountRow))
        ]
    database.close()
    accounts = Counter(
        (owner, str(body["accountNumber"]), str(body["routingNumber"]))
        for owner, body in details
    )
    return {str(body["clientUserId"]): body for body in payers.values()}, accounts
