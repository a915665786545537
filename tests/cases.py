"""Tests of which each row of a table is a case, and what such tests share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from payerkit.reasons import Outcome
from payerkit.runs.journal import Entry

DATA = Path(__file__).parent / "data"


def table(
    name: str, read: Callable[[Any], Any] = lambda cell: cell
) -> pytest.MarkDecorator:
    """Run a test once for each row of `data/NAME.tsv`, by its columns; the column `why`
    says what a row is about.

    Of several names, with blanks between, all rows.
    """
    rows = [row for each in name.split() for row in table_rows(each, read)]
    names = [column for column in rows[0] if column not in {"why", ""}]
    cases = [
        pytest.param(*[row[column] for column in names], id=row.get("why") or row[""])
        for row in rows
    ]
    return pytest.mark.parametrize(names, cases)


def table_rows(
    name: str, read: Callable[[Any], Any] = lambda cell: cell
) -> Iterator[dict[str, Any]]:
    """Yield the rows of `data/NAME.tsv` by column; "" has the beginning of each row as
    text.

    A cell is text, but for null, true and false, and for JSON that begins with {, [ or
    ". Lines that begin with # are comments. read: returns what a cell stands for.
    """
    lines = (DATA / f"{name}.tsv").read_text("utf-8").rstrip("\n").split("\n")
    head, *rows = [line.split("\t") for line in lines if not line.startswith("#")]
    for row in rows:
        yield {
            **dict(zip(head, map(read, map(_cell, row)), strict=True)),
            "": "-".join(row)[:80],
        }


def _cell(text: str) -> Any:
    return (
        json.loads(text)
        if text in {"null", "true", "false"} or text.startswith(("{", "[", '"'))
        else text
    )


def joined(named: Mapping[str, Any], parts: Iterable[Any]) -> dict[str, Any]:
    """Return a row that is made of parts, each of which has a name or is a dict."""
    row: dict[str, Any] = {}
    for part in parts:
        row |= named.get(str(part), part)
    return row


def said(message: str) -> Outcome:
    """Return an outcome in somebody's own words, as of an error that is not of a
    call.
    """
    return Outcome("error", {"message": message})


def why(entry: Entry) -> str:
    """Return in words why a task is as the journal has it."""
    return entry.reason.text if entry.reason else ""
