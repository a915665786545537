"""The states of a payout, from the crypto that arrived to the money at the bank, and how they follow the clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PayoutState = Literal[
    "initiated",
    "pending_internal_assessment",
    "ongoing_checks",
    "processing",
    "sending_fiat",
    "fiat_sent",
    "bounced",
    "failed",
    "insufficient_funds",
    "retry_required",
]
"""The words of the operator's documentation, of its events, and of a public client."""

TEST_BANKS = {"Example Bank payout bounced": "bounced", "Example Bank payout failed": "failed"}
"""Test values: how payouts to an account at a bank with such a name end."""


PAYOUT_FAILED = frozenset({"bounced", "failed", "insufficient_funds", "retry_required"})
"""States in which the bank has no money."""


@dataclass(frozen=True, slots=True)
class Transition:
    """The state of a payout from a time on."""

    time: float
    state: str


def payout_outcome(bank_name: str) -> str:
    """Return how payouts to an account at this bank end: the bank has the money, unless the name is a test value."""
    tests = {name.lower(): outcome for name, outcome in TEST_BANKS.items()}
    return tests.get(bank_name.strip().lower(), "fiat_sent")


def payout_transitions(
    paid_at: float, outcome: str, after: float, decided: str | None = None, decided_at: float | None = None
) -> list[Transition]:
    """Return all states of a payout with their times, the later ones still to come.

    after: seconds until a payout ends. decided, decided_at: a state set by hand, which nothing follows by itself.
    """
    steps = ["pending_internal_assessment", *(["sending_fiat"] if outcome != "failed" else []), outcome]
    found = [Transition(paid_at + after * place / (len(steps) - 1), step) for place, step in enumerate(steps)]
    if decided is None or decided_at is None:
        return found
    return [*(each for each in found if each.time <= decided_at), Transition(decided_at, decided)]
