"""The states of payers and bank details, how they change over time, and the test values that lead to each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

NOT_STARTED = "not_started"

KycState = Literal[
    "not_started",
    "initiated",
    "pending",
    "pending_assessment",
    "prechecks_completed",
    "application_queued",
    "awaiting_manual_review",
    "approved",
    "completed",
    "full_clearance",
    "rejected",
    "failed",
    "retry_required",
    "retry_denied",
]
AgreementState = Literal["not_started", "pending", "completed", "signed", "rejected", "failed"]
DetailState = Literal["initiated", "pending", "approved", "verified", "failed", "rejected", "deactivated"]

Progress = Literal["open", "waiting", "passed", "failed"]
"""What a state means to a payer: they can act, the provider decides, it is done, or it cannot be repeated."""

KYC_OPEN = {"not_started", "initiated", "retry_required"}
"""States in which the payer can submit an identity check."""

_KYC_PASSED = {"approved", "completed", "full_clearance"}
_KYC_FAILED = {"rejected", "failed", "retry_denied"}
AGREEMENT_OPEN = {"not_started", "pending"}
"""States in which the payer can sign the agreement."""

_AGREEMENT_PASSED = {"completed", "signed"}
_UNDECIDED_DETAIL = {"initiated", "pending"}

_TEST_BANK = re.compile(rf"Example Bank (?P<state>{'|'.join(get_args(DetailState))})", re.IGNORECASE)

REFUSED_BANK = "Example Bank no rail"
"""Test value: bank details with this name are refused, since the payer is not approved for the payout rail."""


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
    return TimedState(outcome) if outcome in _UNDECIDED_DETAIL else TimedState("pending", outcome, now + decide_after)


def is_refused_bank(bank_name: str) -> bool:
    """Return True if the bank's name is the test value for a refusal."""
    return bank_name.strip().lower() == REFUSED_BANK.lower()


def kyc_progress(kyc: str) -> Progress:
    """Return what a state of the identity check means to the payer."""
    if kyc in KYC_OPEN:
        return "open"
    return "passed" if kyc in _KYC_PASSED else "failed" if kyc in _KYC_FAILED else "waiting"


def agreement_progress(agreement: str) -> Progress:
    """Return what a state of the agreement means to the payer; nobody waits for a decision."""
    if agreement in AGREEMENT_OPEN:
        return "open"
    return "passed" if agreement in _AGREEMENT_PASSED else "failed"


def is_approved(kyc: str) -> bool:
    """Return True if the identity check is passed."""
    return kyc in _KYC_PASSED


def is_compliant(kyc: str, agreement: str) -> bool:
    """Return True if the payer may pay out to a bank."""
    return is_approved(kyc) and agreement in _AGREEMENT_PASSED


def published_state(state: str) -> Literal["not_started", "completed"]:
    """Return a payer's state as POST /v2/payer gives it: its published enum has two words, the status by id all."""
    return "completed" if state in _KYC_PASSED | _AGREEMENT_PASSED else "not_started"
