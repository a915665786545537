"""The ids of a table's rows in little memory: a million Python objects would take three times as much."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class IdColumn:
    """Texts by number, one after the other in `content`. bounds: where each begins, and the last one ends."""

    content: bytes = field(repr=False)
    bounds: npt.NDArray[np.int64]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Return some texts; a lone surrogate, which cannot be sent, is kept."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        return cls(b"".join(encoded), np.cumsum([0, *map(len, encoded)], dtype=np.int64))

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Return the texts of some parts, one part after the other."""
        starts = np.cumsum([0, *(len(part.content) for part in parts)]).tolist()
        ends = [part.bounds[1:] + start for part, start in zip(parts, starts, strict=False)]
        return cls(b"".join(part.content for part in parts), np.concatenate([np.zeros(1, np.int64), *ends]))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, number: int) -> str:
        return self.content[self.bounds[number] : self.bounds[number + 1]].decode("utf-8", "surrogatepass")
