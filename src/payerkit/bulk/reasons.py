"""The reasons of rows, grouped: each distinct one is kept once, with the rows that have it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from payerkit.bulk.naming import Naming, join_hints
from payerkit.bulk.rows import Problem, Rows, Step
from payerkit.checks.table_findings import general
from payerkit.findings import Finding


class ReasonKind(NamedTuple):
    """A reason in words. kind: a state of rows, or the severity of a finding. column: of the table, "" for none.

    code: of a warning, by which rows are held back, "" for any other reason.
    """

    kind: str
    message: str
    hint: str = ""
    code: str = ""
    column: str = ""

    @property
    def text(self) -> str:
        """The message with what to do, and the code."""
        return " ".join(filter(None, (self.message, self.hint, self.code and f"[{self.code}]")))


class Reason(NamedTuple):
    """A reason with the rows that have it."""

    kind: ReasonKind
    rows: Rows

    def hint(self, naming: Naming) -> str:
        """Return what to do, with what normalise=True would do about the cells of the rows."""
        return join_hints(self.kind.hint, naming.normalise_hint(self.kind.column, self.rows))

    def text(self, naming: Naming) -> str:
        """Return the reason in words, with what to do and its code."""
        return self.kind._replace(hint=self.hint(naming)).text

    @property
    def times(self) -> int:
        """The number of the rows."""
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Reasons:
    """Reasons by row. `rows` has the row of each, `numbers` its place in `kinds`. A row may have several."""

    rows: Rows
    numbers: Rows
    kinds: Sequence[ReasonKind]

    @classmethod
    def of_states(cls, states: pd.Series[Any], reasons: pd.Series[Any]) -> Self:
        """Return the reasons of rows from the columns of a frame; rows without a reason have none."""
        state_codes, state_names = pd.factorize(states)
        codes, texts = pd.factorize(reasons)
        rows = np.flatnonzero((codes >= 0) & (state_codes >= 0) & (reasons != "").to_numpy(bool, na_value=False))
        numbers, pairs = pd.factorize(codes[rows].astype(np.int64) * len(state_names) + state_codes[rows])
        places = (divmod(pair, len(state_names)) for pair in pairs.tolist())
        kinds = [ReasonKind(str(state_names[state]), str(texts[text])) for text, state in places]
        return cls(rows.astype(np.int32), numbers.astype(np.int32), kinds)

    @classmethod
    def of_findings(
        cls, found: Iterable[Problem], naming: Naming, *, as_kind: str = "", with_infos: bool = False
    ) -> Self:
        """Return findings, with or without infos. as_kind: the kind of all; by default, it is the severity."""
        kinds: dict[tuple[Finding, str], ReasonKind] = {}
        places: dict[ReasonKind, int] = {}
        pairs: dict[tuple[int, int], None] = {}  # a row may have the same text twice
        for row, finding, step in found:
            if with_infos or finding.severity != "info":
                if (finding, step) not in kinds:
                    kinds[finding, step] = _kind_of(finding, step, naming, as_kind)
                pairs[row, places.setdefault(kinds[finding, step], len(places))] = None
        rows, numbers = np.array(list(pairs), np.int32).reshape(-1, 2).T
        return cls(rows, numbers, list(places))

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Return the reasons of some parts together."""
        starts = np.cumsum([0, *(len(part.kinds) for part in parts)])
        numbers = [part.numbers + start for part, start in zip(parts, starts, strict=False)]
        kinds = [kind for part in parts for kind in part.kinds]
        return cls(np.concatenate([part.rows for part in parts]), np.concatenate(numbers).astype(np.int32), kinds)

    def sorted(self, order: Sequence[str]) -> Self:
        """Return the reasons with the kinds in an order, and the most frequent reasons of each kind first."""
        ranks = {kind: rank for rank, kind in enumerate(order)}
        times = self.count().tolist()
        places = sorted(range(len(times)), key=lambda place: (ranks[self.kinds[place].kind], -times[place]))
        numbers = np.empty(len(places), np.int32)
        numbers[places] = np.arange(len(places))
        return type(self)(self.rows, numbers[self.numbers], [self.kinds[place] for place in places])

    def count(self) -> Rows:
        """Return how many rows have each reason."""
        return np.bincount(self.numbers, minlength=len(self.kinds))

    def rows_with(self, number: int) -> Rows:
        """Return the rows that have a reason, in their order."""
        return np.sort(self.rows[self.numbers == number])

    def first(self, count: int | None, kinds: Sequence[str]) -> Iterator[Reason]:
        """Yield the first reasons, so many or all, that are of some kinds."""
        chosen = [number for number, each in enumerate(self.kinds) if each.kind in kinds][:count]
        for number in chosen:
            yield Reason(self.kinds[number], self.rows_with(number))


def _kind_of(finding: Finding, step: Step | str, naming: Naming, as_kind: str) -> ReasonKind:
    """Return a finding as a reason: with the sender's name of its column, and what to do, but no other rows."""
    column = naming.column(finding, step)
    words = general(finding).message
    message = f"{naming.header(column)}: {words}" if column else words
    code = finding.code if finding.severity == "warning" else ""
    return ReasonKind(as_kind or finding.severity, message, naming.hint(finding, step), code, column)
