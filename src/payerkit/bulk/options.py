"""The options of a run."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, get_args

from payerkit.client.pace import checked_rate
from payerkit.errors import InvalidInput
from payerkit.retry import RECONCILE_AFTER, STOP_AFTER, is_non_negative

Accounts = Literal["now", "when_compliant"]
"""When a run sends accounts: once their payer is registered, or once the payer is compliant."""

Existing = Literal["skip", "send"]
"""What becomes of an account that is listed before it is sent: it is done, or it is sent all the same."""

Retry = Literal["refused", "unknown"]
"""States of tasks that are tried again since a person wants it."""

MAX_WORKERS = 256


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run. Raises InvalidInput for values out of range."""

    workers: int
    rate: float | None = None
    reconcile_after: float = RECONCILE_AFTER
    accounts: Accounts = "now"
    existing: Existing = "skip"
    retry: Collection[Retry] = ()
    stop_after: int | None = STOP_AFTER
    limit: int | None = None

    def __post_init__(self) -> None:
        if not (is_count(self.workers) and self.workers <= MAX_WORKERS):
            raise InvalidInput(f"workers: expected a whole number from 1 to {MAX_WORKERS}.")
        if self.rate is not None:
            checked_rate(self.rate)
        if not is_non_negative(self.reconcile_after):
            raise InvalidInput("reconcile_after: expected a number of seconds, 0 or more.")
        if self.accounts not in get_args(Accounts):
            raise InvalidInput('accounts: expected "now" or "when_compliant".')
        if self.existing not in get_args(Existing):
            raise InvalidInput('existing: expected "skip" or "send".')
        if isinstance(self.retry, str) or not _are_in(self.retry, get_args(Retry)):
            raise InvalidInput('retry: expected a list of "refused" and "unknown", such as retry=["refused"].')
        if not (self.stop_after is None or is_count(self.stop_after)):
            raise InvalidInput("stop_after: expected a whole number of rows, 1 or more, or None not to stop.")

        if not (self.limit is None or is_count(self.limit)):
            raise InvalidInput("limit: expected a whole number of rows, 1 or more, or None for all.")


def is_count(value: object) -> bool:
    """Return True for a whole number, 1 or more."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _are_in(values: Any, allowed: Collection[str]) -> bool:
    """Return True for a collection of allowed words."""
    return isinstance(values, Collection) and all(isinstance(each, str) and each in allowed for each in values)
