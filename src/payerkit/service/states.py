"""The states of payers and bank details, how they change over time, and the test values that lead to each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

NOT_STARTED = "not_started"

KycState = Literal[
    "not_started", "initiated", "pending", "approved", "completed", "rejected", "failed", "retry_required"
]
AgreementState = Literal["not_started", "pending", "completed", "signed", "rejected", "failed"]
DetailState = Literal["pending", "approved", "verified", "failed"]

KYC_OPEN = {"not_started", "initiated", "retry_required"}
"""States in which the payer can submit the identity check."""

AGREEMENT_OPEN = {"not_started", "pending"}
"""States in which the payer can sign the agreement."""

_TEST_BANK = re.compile(r"Example Bank (?P<state>pending|approved|verified|failed)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TimedState:
    """A state and, if it changes by itself, the next one and the time of the change."""

    state: str
    next_state: str | None = None
    due: float | None = None

    def at(self, now: float) -> str:
        """Return the state at a time."""
        is_due = self.next_state is not None and self.due is not None and now >= self.due
        return self.next_state if is_due and self.next_state else self.state


def states_from_email(email: str) -> dict[str, str]:
    """Return the states, as `kyc` and `agreement`, that an e-mail of the test domain requests; {} for any other.

    kyc-rejected@example.com, agreement-signed@example.com, or both: kyc-approved+agreement-signed@example.com.
    """
    local, _, domain = email.lower().partition("@")
    if domain != "example.com":
        return {}
    requested = (part.partition("-") for part in local.split("+"))
    known = {"kyc": get_args(KycState), "agreement": get_args(AgreementState)}
    return {kind: state for kind, _, rest in requested if (state := rest.replace("-", "_")) in known.get(kind, ())}


def initial_detail_state(bank_name: str, now: float, decide_after: float) -> TimedState:
    """Return the state of new bank details: pending, then approved, unless the bank's name is a test value."""
    test = _TEST_BANK.fullmatch(bank_name.strip())
    outcome = test["state"].lower() if test else "approved"
    return TimedState("pending") if outcome == "pending" else TimedState("pending", outcome, now + decide_after)


def is_approved(kyc: str) -> bool:
    """Return True if the identity check is passed."""
    return kyc in {"approved", "completed"}


def is_compliant(kyc: str, agreement: str) -> bool:
    """Return True if the payer may pay out to a bank."""
    return is_approved(kyc) and agreement in {"completed", "signed"}
