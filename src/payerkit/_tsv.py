"""Reads the tables of facts that lie beside the code, and groups what is in them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def rows(package: str, name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a package's table by column name; lines that begin with # are
    comments, such as its source. Empty cells at the end of a line may be left out.
    """
    lines = (
        files(package).joinpath(f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    )
    yield from csv.DictReader(
        (line for line in lines if not line.startswith("#")),
        restval="",
        dialect="excel-tab",
    )


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, tuple[V, ...]]:
    """Return the values of each key, in the order in which they come."""
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in found.items()}
