"""Reads the tables of facts that lie beside the code."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib.resources import files


def rows(package: str, name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a package's table by column name; lines that begin with # are comments, such as its source."""
    lines = files(package).joinpath(f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    yield from csv.DictReader((line for line in lines if not line.startswith("#")), dialect="excel-tab")
