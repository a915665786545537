"""Measuring by ratio: a candidate and a baseline take turns, so that a slow moment of
the machine hits both.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

Measure = Callable[[], float]
"""Does the work once and returns its seconds."""


def ratios(candidate: Measure, baseline: Measure, *, rounds: int) -> list[float]:
    """Return candidate / baseline of each round, after one round that does not
    count.
    """
    return [candidate() / baseline() for _ in range(rounds + 1)][1:]


def report(name: str, found: list[float], *, gate: float) -> bool:
    """Print the median and the spread of ratios beside the gate; return whether the
    median passes.
    """
    median = statistics.median(found)
    print(
        f"{name}: {median:.3f} of the baseline ({min(found):.3f} to {max(found):.3f});"
        f" at most {gate}"
    )
    return median <= gate
