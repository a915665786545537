"""What checking costs: the plan of a table in seconds and memory, and one body against
writing and reading it.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))

from rounds import ratios, report

import payerkit
from published import BANK_DETAILS, PAYER

ROWS, SECONDS, MEMORY = 20_000, 10, 200
"""A plan of so many rows should take at most so many seconds, which are reported, and
takes at most so many MiB.
"""
BODY, BODY_ROUNDS = 2_000, 21
ROUTING = {"routingNumber": "026013356", "currency": "usd"}
BAD = ["", "  ", "x\u200b", None, "12", "1985-02-30", "UK"]
"""What one row in a hundred has in one of its cells."""


def table(rows: int) -> pd.DataFrame:
    """Return payers with an account each, who differ as payers do: in names, numbers,
    days and streets.
    """
    chance = random.Random(1)  # noqa: S311 - the same table in each run, no secret
    return pd.DataFrame(
        [
            _spoilt(_payer(place, chance) | _account(place, chance), chance)
            for place in range(rows)
        ]
    )


def _payer(place: int, chance: random.Random) -> dict[str, Any]:
    return {
        **PAYER,
        "clientUserId": f"user-{place}",
        "email": f"payer{place}@example.com",
        "firstName": f"Example {place % 900}",
        "lastName": f"Payer {place}",
        "phone": f"+1212{chance.randrange(2_000_000, 9_999_999)}",
        "ssn": (
            f"{chance.randrange(1, 665):03}-{chance.randrange(1, 99):02}"
            f"-{chance.randrange(1, 9999):04}"
        ),
        "addressLine1": f"{place} Main Street",
        "dateOfBirth": (
            f"{chance.randrange(1950, 2000)}-{chance.randrange(1, 13):02}"
            f"-{chance.randrange(1, 28):02}"
        ),
        "postcode": f"10{chance.randrange(300):03}",
    }


def _account(place: int, chance: random.Random) -> dict[str, Any]:
    number = str(chance.randrange(10**11, 10**12))
    return {
        "bankName": "Example Bank",
        "accountName": f"Example Payer {place}",
        "accountNumber": number,
    } | ROUTING


def _spoilt(record: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    if chance.random() < 0.01:
        record[chance.choice(list(record))] = chance.choice(BAD)
    return record


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def plan() -> bool:
    """Report the time and the memory of a plan."""
    rows = table(ROWS)
    before = getrusage(RUSAGE_SELF).ru_maxrss
    taken = seconds(lambda: payerkit.plan_onboarding(rows, holder_is_payer=True))
    grown = (getrusage(RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"plan of {ROWS} rows: {taken:.1f} s (target {SECONDS}), {grown:.0f} MiB above"
        f" the table; at most {MEMORY}"
    )
    return grown <= MEMORY


def body(name: str, record: dict[str, str], check: Callable[..., Any]) -> bool:
    """Report the check of one body against writing it as JSON and reading it."""

    def checks() -> None:
        for _ in range(BODY):
            check(record)

    def trips() -> None:
        for _ in range(BODY):
            json.loads(json.dumps(record))

    found = ratios(lambda: seconds(checks), lambda: seconds(trips), rounds=BODY_ROUNDS)
    print(f"{name}: {seconds(checks) / BODY * 1e6:.0f} microseconds a body")
    return report(name, found, gate=30.0)  # 12 and 20 are usual


def main() -> int:
    """Print the ratios; return 1 if a gate is missed."""
    passed = [
        plan(),
        body("check_payer", PAYER, payerkit.check_payer),
        body("check_bank_details", BANK_DETAILS, payerkit.check_bank_details),
    ]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    raise SystemExit(main())
