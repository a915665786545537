"""The retry policy: what may be repeated, how often, and after how long.

A failed call is repeated only if its error proves that repeating is harmless:

    NotSent                         nothing happened: any call is repeated
    RateLimited, with Retry-After   nothing happened: any call is repeated after that wait
    RateLimited, without            nothing happened: repeated in a run alone, after a pause (`payerkit.client.pace`)
    ServiceError, UnreadableAnswer  a read failed: it is repeated
    UnknownOutcome                  a write may have happened: repeated only if it is idempotent (it sets a constant)
    any other error                 the same call would fail again: never repeated

`Client` follows `Retries()` for single calls. A run over many rows follows `RUN_RETRIES`, and reconciles writes whose
outcome is unknown with the limits below (`payerkit.bulk.reconcile`).
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from payerkit.errors import (
    InvalidInput,
    NotSent,
    PayerkitError,
    RateLimited,
    ServiceError,
    UnknownOutcome,
    UnreadableAnswer,
)


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a call is tried, and how long it waits in between.

    Args:
        attempts: Tries of one call, the first included; 1 for no retries.
        backoff: Seconds. The wait before retry n is random, between 0 and `backoff * 2**n`.
        max_backoff: Seconds; no random wait is longer. A `Retry-After` of the service is obeyed exactly instead.

    Raises:
        InvalidInput: For numbers that are out of range.

    Example:
        >>> Retries(attempts=5).attempts
        5
    """

    attempts: int = 3
    backoff: float = 0.25
    max_backoff: float = 8.0

    def __post_init__(self) -> None:
        if not (is_non_negative(self.attempts) and self.attempts == int(self.attempts) >= 1):
            raise InvalidInput("retries: attempts must be a whole number, 1 or more, such as Retries(attempts=3).")
        if not (is_non_negative(self.backoff) and is_non_negative(self.max_backoff)):
            raise InvalidInput("retries: backoff and max_backoff must be seconds, 0 or more.")

    def allow(self, error: PayerkitError, attempt: int, *, idempotent: bool = False) -> bool:
        """Return True if a call may be tried again after its attempt number `attempt` (from 1) raised the error."""
        if attempt >= self.attempts:
            return False
        if isinstance(error, UnknownOutcome):
            return idempotent
        if isinstance(error, RateLimited):
            return error.retry_after is not None
        return isinstance(error, NotSent | ServiceError | UnreadableAnswer)

    def wait_after(self, error: PayerkitError, attempt: int) -> float:
        """Return the seconds to wait: what the service requested, else full jitter on a doubling bound."""
        if error.retry_after is not None:
            return error.retry_after
        return random.uniform(0, min(self.max_backoff, self.backoff * 2.0 ** min(attempt, 60)))  # noqa: S311 - spreads load, keeps no secret


def is_non_negative(value: object) -> bool:
    """Return True for a finite number, 0 or more."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


RUN_RETRIES = Retries(attempts=6)
"""Tries of one call in a run; a `Retry-After` holds back all calls of the client."""

MAX_RATE_LIMITED = 8
"""429 in a row that do not say how long to wait, two pauses of five minutes among them; then the run ends."""

LONGEST_WAIT = 3600.0
"""Seconds; if the service requests a longer wait, the run ends."""

MAX_UNREACHABLE = 20
"""Calls in a row that never left this machine; then the run ends."""

WAITING_CODES = {
    "not_yet_passed_kyc_kyb": "the payer has passed the identity check",
    "not_approved_for_payout_rail": "the payer is approved for these rails",
    "payment_detail_not_approved": "the bank details are approved",
}
"""Codes of refusals that end by themselves, and until when each holds. Source: the operator's documentation."""

MAX_FORBIDDEN = 3
"""Responses 403 before anything is accepted; then it is the key, and the run ends."""

RECONCILE_AFTER = 10.0
"""Seconds until an unknown write is reconciled; longer if the service was slower than half of that."""

MAX_LOOKUPS = 2
"""Times that an account must be missing from the payer's list, a delay apart, to count as absent."""

MAX_REPEATS = 1
"""Times that a run sends an account again whose outcome was unknown and that counts as absent."""

MAX_PAYER_LOOKS = 6
"""Times that a run asks for a payer whose outcome is unknown, beside the look at once; then the next run asks."""

PAYER_WAITS = (1.0, 2.0, 4.0)
"""Seconds to wait, one after the other, for a payer that the service stored and does not find yet."""

MAX_FOREIGN = 5
"""Refusals in a row that are not the API's; then the run ends."""

STOP_AFTER = 20
"""Rows with the same refusal; then the run ends, unless the caller wants it to go on."""
