"""For every rule a body that it minds and one that it does not, with a reason; for
every currency an account.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from cases import table_rows
from published import PUBLISHED

BASES: dict[str, tuple[str, dict[str, str]]] = {
    "payer": ("Payer", PUBLISHED["payers"]["individual"]),
    "company": ("Payer", PUBLISHED["payers"]["business"]),
    "us": ("BankDetails", PUBLISHED["bank_details"]["us_business"]),
    "sepa": ("BankDetails", PUBLISHED["bank_details"]["swift"]),
    "uk": ("BankDetails", PUBLISHED["bank_details"]["uk"]),
}
"""The published bodies that examples change, by a short name."""


@dataclass(frozen=True)
class Example:
    """What a rule minds: a body, the members that are changed for the worse, and those
    that are for the better.
    """

    code: str
    base: str
    bad: dict[str, Any]
    good: dict[str, Any]
    why: str

    @property
    def body(self) -> str:
        """The name of the body."""
        return BASES[self.base][0]

    def record(self, changes: dict[str, Any]) -> dict[str, Any]:
        """Return the changed body; None takes a member away."""
        record = {**BASES[self.base][1], **changes}
        return {name: value for name, value in record.items() if value is not None}


def _with_days(changes: dict[str, Any]) -> dict[str, Any]:
    """Return changes with a day in place of a text such as "-10 years"."""
    today = dt.datetime.now(tz=dt.UTC).date()
    for name, value in changes.items():
        number, _, unit = str(value).partition(" ")
        if unit == "years":
            changes[name] = today.replace(
                year=today.year + int(number), day=1
            ).isoformat()
    return changes


EXAMPLES = [
    Example(
        row["code"],
        row["base"],
        _with_days(row["bad"]),
        _with_days(row["good"]),
        row["why"],
    )
    for row in table_rows("rule_examples")
]
ACCOUNTS: dict[tuple[str, str], dict[str, str]] = {
    (row["currency"], row["rails"]): row["account"] for row in table_rows("accounts")
}
"""An account that lacks nothing, by currency and rails: one for each row of the
requirements.
"""
