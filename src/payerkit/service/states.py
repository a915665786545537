"""The states of payers and bank details, how they change, and the test values that lead to each."""

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
"""Identity checks that wait for the person."""

AGREEMENT_OPEN = {"not_started", "pending"}
"""Agreements that wait for the person."""

_TEST_BANK = re.compile(r"Example Bank (?P<state>pending|approved|verified|failed)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Decided:
    """A state, and the one that follows it at a time, if one does."""

    state: str
    following: str | None = None
    due: float | None = None

    def at(self, now: float) -> str:
        """Return the state at a time."""
        is_due = self.following is not None and self.due is not None and now >= self.due
        return self.following if is_due and self.following else self.state


def payer_states(email: str) -> dict[str, str]:
    """Return the states that an e-mail of the test domain asks for, as `kyc` and `agreement`; {} for any other.

    kyc-rejected@example.com, agreement-signed@example.com, or both: kyc-approved+agreement-signed@example.com.
    """
    local, _, domain = email.lower().partition("@")
    if domain != "example.com":
        return {}
    asked = (part.partition("-") for part in local.split("+"))
    known = {"kyc": get_args(KycState), "agreement": get_args(AgreementState)}
    return {kind: state for kind, _, rest in asked if (state := rest.replace("-", "_")) in known.get(kind, ())}


def detail_state(bank_name: str, now: float, decide_after: float) -> Decided:
    """Return the state of new bank details: pending, then approved, unless the bank is a test value."""
    test = _TEST_BANK.fullmatch(bank_name.strip())
    outcome = test["state"].lower() if test else "approved"
    return Decided("pending") if outcome == "pending" else Decided("pending", outcome, now + decide_after)


def is_approved(kyc: str) -> bool:
    """Tell whether an identity check is passed."""
    return kyc in {"approved", "completed"}


def is_compliant(kyc: str, agreement: str) -> bool:
    """Tell whether a payer may pay out to a bank."""
    return is_approved(kyc) and agreement in {"completed", "signed"}
