"""Which cases of a test run by default, where one claim has many; `pytest -m ""` runs them all."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from payerkit.onboarding.journal import Entry
from payerkit.reasons import Outcome

T = TypeVar("T")

DATA = Path(__file__).parent / "data"


def table(name: str, read: Callable[[Any], Any] = lambda cell: cell) -> pytest.MarkDecorator:
    """Run a test once for each row of `data/NAME.tsv`, by its columns; the column `why` says what a row is about.

    Of several names, with blanks between, all rows.
    """
    rows = [row for each in name.split() for row in table_rows(each, read)]
    names = [column for column in rows[0] if column not in {"why", ""}]
    cases = [pytest.param(*[row[column] for column in names], id=row.get("why") or row[""]) for row in rows]
    return pytest.mark.parametrize(names, cases)


def table_rows(name: str, read: Callable[[Any], Any] = lambda cell: cell) -> Iterator[dict[str, Any]]:
    """Yield the rows of `data/NAME.tsv` by column; "" has the beginning of each row as text.

    A cell is text, but for null, true and false, and for JSON that begins with {, [ or ". Lines that begin with # are
    comments. read: returns what a cell stands for.
    """
    lines = (DATA / f"{name}.tsv").read_text("utf-8").rstrip("\n").split("\n")
    head, *rows = [line.split("\t") for line in lines if not line.startswith("#")]
    for row in rows:
        yield {**dict(zip(head, map(read, map(_cell, row)), strict=True)), "": "-".join(row)[:80]}


def _cell(text: str) -> Any:
    return json.loads(text) if text in {"null", "true", "false"} or text.startswith(("{", "[", '"')) else text


def first_cases(cases: Iterable[Any], number: int) -> list[Any]:
    """Return the parameters of a test, all slow but the first: those that tell the most come first."""
    return [case if place < number else _slow(case) for place, case in enumerate(cases)]


def first_of_each(cases: Iterable[T], kind: Callable[[T], object]) -> list[Any]:
    """Return the parameters of a test, all slow but the first of each kind."""
    seen: set[object] = set()
    marked: list[Any] = []
    for case in cases:
        marked.append(_slow(case) if kind(case) in seen else case)
        seen.add(kind(case))
    return marked


def pairs(some: Collection[Any], others: Collection[Any]) -> list[Any]:
    """Return each pair; slow are those without which each of either side is still in a pair."""
    return list(_pairs(list(some), list(others)))


def _pairs(some: list[Any], others: list[Any]) -> Iterator[Any]:
    shorter = min(len(some), len(others))
    for row, one in enumerate(some):
        for column, other in enumerate(others):
            yield (one, other) if row % shorter == column % shorter else _slow((one, other))


def _slow(case: Any) -> Any:
    values = case if type(case) is tuple else (case,)  # a named tuple is one value
    return pytest.param(*values, marks=pytest.mark.slow)


def said(message: str) -> Outcome:
    """Return an outcome in somebody's own words, as of an error that is not of a call."""
    return Outcome("error", {"message": message})


def why(entry: Entry) -> str:
    """Return in words why a task is as the journal has it."""
    return entry.reason.text if entry.reason else ""
