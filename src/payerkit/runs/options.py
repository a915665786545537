"""How a run goes on: a limit, rows to hold back or to try again, and how fast."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, get_args

from payerkit.errors import InvalidInput, kind_of

Accounts = Literal["now", "when_compliant"]
"""When a run sends accounts: once their payer is registered, or once the payer is
compliant.
"""

Existing = Literal["skip", "send"]
"""What becomes of an account that is listed before it is sent: it is done, or it is
sent all the same.
"""

Retry = Literal["refused", "unknown"]
"""States of tasks that are tried again since a person wants it."""

MAX_WORKERS = 32

STOP_AFTER = 20
"""Rows with the same refusal; then the run ends, unless the caller wants it to go
on.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a run goes on. The defaults are right for most runs.

    Args:
        limit: Rows to try, at most: the first ones that can be sent and no run has sent
            yet, those of a payer one after the other. A row brings along its payer, if
            another row describes it; a row that sends the same as one of these does not
            count. The others are not sent, and the same call without `limit` sends
            them. What an earlier run left unknown is looked for all the same.
        hold: Which rows with warnings are not sent: "warnings" for all, or codes of
            findings.
        retry: What is sent again since you want it: "refused", "unknown", or a list of
            both. An account whose outcome is unknown is looked for first, and sent
            again if it is not found: compare the payer's accounts before.
        stop_after: Rows with the same refusal after which the run stops, so that you
            can correct the cause; None to go on.
        workers: Calls at the same time, 1 to 32.
        progress: Show a progress bar.

    Raises:
        InvalidInput: For values out of range.

    Example:
        >>> options = RunOptions(limit=1, progress=False)
        >>> rows = pd.DataFrame([payer, {**payer, "clientUserId": "user-2"}])
        >>> onboard(client, rows, journal="first.journal", options=options).counts[
        ...     "not_sent"
        ... ]
        1
    """

    limit: int | None = None
    hold: str | Collection[str] = ()
    retry: Retry | Collection[Retry] = ()
    stop_after: int | None = STOP_AFTER
    workers: int = MAX_WORKERS
    progress: bool = True

    def __post_init__(self) -> None:
        _require(
            _is_count(self.workers, MAX_WORKERS),
            f"workers: expected a whole number from 1 to {MAX_WORKERS}.",
        )
        _require(
            _is_retry(self.retry),
            'retry: expected "refused", "unknown", or a list of both.',
        )
        for name, meaning in (("stop_after", "not to stop"), ("limit", "for all")):
            rows = getattr(self, name)
            _require(
                rows is None or _is_count(rows),
                f"{name}: expected a whole number of rows, 1 or more, or None"
                f" {meaning}.",
            )

    def retries(self, state: str) -> bool:
        """Return True if tasks in a state are sent again since a person wants it."""
        return state in ([self.retry] if isinstance(self.retry, str) else self.retry)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(RunOptions):
    """All options of a run. Raises InvalidInput for values out of range."""

    accounts: Accounts = "now"
    existing: Existing = "skip"

    @classmethod
    def of(cls, options: Any, accounts: Any, existing: Any) -> Self:
        """Return the options of a caller. Raises InvalidInput for anything else."""
        _require(
            isinstance(options, RunOptions),
            f"options: expected RunOptions, got {kind_of(options)}.",
        )
        _require(
            accounts in get_args(Accounts),
            'accounts: expected "now" or "when_compliant".',
        )
        _require(existing in get_args(Existing), 'existing: expected "skip" or "send".')
        own = {each.name: getattr(options, each.name) for each in fields(RunOptions)}
        return cls(**own, accounts=accounts, existing=existing)


def _is_count(value: object, most: float = math.inf) -> bool:
    """Return True for a whole number, 1 or more."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _is_retry(value: object) -> bool:
    """Return True for a state that may be tried again, or a list of such states."""
    states = [value] if isinstance(value, str) else value
    if not isinstance(states, Collection):
        return False
    return all(isinstance(each, str) and each in get_args(Retry) for each in states)


def _require(is_right: object, expected: str) -> None:
    """Raise InvalidInput, with what was expected, unless a value is right."""
    if not is_right:
        raise InvalidInput(expected)


DEFAULTS = RunOptions()
