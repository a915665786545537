"""The links file of a run, for a mail merge: it names payers in full, so it is written only on request."""

from __future__ import annotations

import csv
import secrets
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import count
from operator import xor
from pathlib import Path
from typing import Any

import pandas as pd

from payerkit.bulk.identity import id_form
from payerkit.bulk.journal import digest
from payerkit.checks.inputs import strip_blanks, unwrap_secret
from payerkit.checks.schema import PAYER
from payerkit.errors import InvalidInput, kind_of
from payerkit.html import is_web_address
from payerkit.tables.mapping import name_columns
from payerkit.tables.spreadsheets import inert, open_for_owner

_LINKS = ("agreement_url", "kyc_url")
_IDENTITY = ("client_user_id", "email")

_SAME_ROWS = "Give the table of the run, with its rows in the same order and with the same index."


class RowIds:
    """The client user ids of a table's rows, as one hash: a report recognises them, and holds none.

    The rows may be added in any order, some at a time. Near duplicates are one id here, since they are one in a run.
    """

    def __init__(self) -> None:
        self._salt = secrets.token_bytes(16)
        self._sum = 0

    def add(self, rows: Iterable[int], ids: Iterable[str | None]) -> None:
        """Add the ids of some rows."""
        self._sum = reduce(xor, map(self._hash, rows, ids), self._sum)

    def match(self, ids: Iterable[str | None]) -> bool:
        """Return True if these are the ids, in the order of the rows."""
        return self._sum == reduce(xor, map(self._hash, count(), ids), 0)

    def _hash(self, row: int, client_user_id: str | None) -> int:
        return int.from_bytes(digest(self._salt, str(row), id_form(client_user_id or "")), "big")


def collect_links(report: pd.DataFrame, row_ids: RowIds, rows: Any) -> list[dict[str, str]]:
    """Return id, e-mail and links of each payer that is done; "" for a link that is missing or is no web address.

    rows: the table of the run. Raises InvalidInput for another one.
    """
    ids = require_same_rows(report, row_ids, rows)
    emails = _read_cells(rows, "email")
    # A run takes the second step of a row only after its first, the payer, is done.
    is_done = (report["step"] == "bank_details") | (report["state"] == "done")
    links: dict[str, dict[str, str]] = {}
    for place in is_done.fillna(value=False).to_numpy(bool).nonzero()[0].tolist():
        if emails[place]:  # else it is an account alone
            urls = {name: _web_address(report[name].iloc[place]) for name in _LINKS}
            own_id = _as_sent(ids[place], report["client_user_id"].iloc[place])
            links.setdefault(id_form(own_id), {"client_user_id": own_id, "email": emails[place], **urls})
    return list(links.values())


def require_same_rows(report: pd.DataFrame, row_ids: RowIds, rows: Any) -> list[str]:
    """Return the ids of a run's table as they were sent. Raises InvalidInput for another table.

    The report shows e-mail addresses masked, and a link, or a row, must not be taken for that of another payer.
    """
    if not isinstance(rows, pd.DataFrame):
        raise InvalidInput(f"rows: expected the DataFrame of the run, got {kind_of(rows)}.")
    if len(rows) != len(report) or not rows.index.equals(report.index):
        raise InvalidInput(f"rows: they are not those of this report. {_SAME_ROWS}")
    ids = _read_cells(rows, "client_user_id")
    if not row_ids.match(ids):
        raise InvalidInput(f"rows: they are not those of this report. {_SAME_ROWS}")
    return ids


def _read_cells(rows: pd.DataFrame, name: str) -> list[str]:
    """Return a column of the table as it was sent; "" for an empty cell."""
    columns = [column for column, field in name_columns(rows.columns).items() if field == name]
    if not columns:
        raise InvalidInput(f"rows: the table has no column {name}, which the links file needs.")
    cells = (strip_blanks(PAYER, name, unwrap_secret(value))[0] for value in rows[columns[0]])
    return ["" if cell is None else str(cell) for cell in cells]


def _as_sent(typed: str, shown: str) -> str:
    """Return an id as it was sent: as the report spells it, or as typed if the report masks it."""
    return shown if id_form(shown) == id_form(typed) else typed


def _web_address(link: Any) -> str:
    return link if isinstance(link, str) and is_web_address(link) else ""


def write_links(path: Path, links: Sequence[dict[str, str]]) -> None:
    """Write a CSV file that its owner alone may read, without formulas: e-mail addresses come from others."""
    with open_for_owner(path) as text:
        writer = csv.DictWriter(text, [*_IDENTITY, *_LINKS])
        writer.writeheader()
        writer.writerows({name: inert(text) for name, text in link.items()} for link in links)
