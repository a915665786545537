"""What checking costs: a whole table against the same rows one by one, and one body against writing and reading it."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))

from rounds import ratios, report

import payerkit
from published import BANK_DETAILS, PAYER, PUBLISHED

TABLE, TABLE_ROUNDS = 40_000, 3
BODY, BODY_ROUNDS = 2_000, 21
BAD = ["", "  ", "x\u200b", None, "12", "1985-02-30", "UK"]
"""What one row in a hundred has in one of its cells."""


def payers(rows: int) -> pd.DataFrame:
    """Return payers who differ as payers do: in names, numbers, days and streets, less in cities and countries."""
    chance = random.Random(1)  # noqa: S311 - the same table in each run, no secret
    return pd.DataFrame([_spoilt(_payer(place, chance), chance) for place in range(rows)])


def bank_details(rows: int) -> pd.DataFrame:
    """Return accounts: half in the US, half by IBAN, each with a number of its own."""
    chance = random.Random(2)  # noqa: S311
    return pd.DataFrame([_spoilt(_account(place, chance), chance) for place in range(rows)])


def _payer(place: int, chance: random.Random) -> dict[str, Any]:
    return {
        **PAYER,
        "clientUserId": f"user-{place}",
        "email": f"payer{place}@example.com",
        "firstName": f"Example {place % 900}",
        "lastName": f"Payer {place}",
        "phone": f"+1212{chance.randrange(2_000_000, 9_999_999)}",
        "ssn": f"{chance.randrange(1, 665):03}-{chance.randrange(1, 99):02}-{chance.randrange(1, 9999):04}",
        "addressLine1": f"{place} Main Street",
        "dateOfBirth": f"{chance.randrange(1950, 2000)}-{chance.randrange(1, 13):02}-{chance.randrange(1, 28):02}",
        "postcode": f"10{chance.randrange(300):03}",
    }


def _account(place: int, chance: random.Random) -> dict[str, Any]:
    usual = {"accountName": f"Example Payer {place}", "addressLine1": f"{place} Main Street"}
    if place % 2:
        return {**BANK_DETAILS, **usual, "accountNumber": str(chance.randrange(10**11, 10**12))}
    bban = f"37040044{chance.randrange(10**10):010}"
    check = 98 - int(f"{bban}131400") % 97
    return {**PUBLISHED["bank_details"]["swift"], **usual, "iban": f"DE{check:02}{bban}"}


def _spoilt(record: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    if chance.random() < 0.01:
        record[chance.choice(list(record))] = chance.choice(BAD)
    return record


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def table(name: str, frame: pd.DataFrame, whole: Callable[..., Any], one: Callable[..., Any]) -> bool:
    """Report a table at once against its rows one by one, from the same frame."""

    def one_by_one() -> object:
        return [one(record) for record in frame.to_dict("records")]

    found = ratios(lambda: seconds(lambda: whole(frame)), lambda: seconds(one_by_one), rounds=TABLE_ROUNDS)
    return report(f"{name} of {len(frame)} rows", found, gate=0.25)


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
    return report(name, found, gate=25.0)


def main() -> int:
    """Print the ratios; return 1 if a gate is missed."""
    passed = [
        table("check_payers", payers(TABLE), payerkit.check_payers, payerkit.check_payer),
        table(
            "check_all_bank_details",
            bank_details(TABLE),
            payerkit.check_all_bank_details,
            payerkit.check_bank_details,
        ),
        body("check_payer", PAYER, payerkit.check_payer),
        body("check_bank_details", BANK_DETAILS, payerkit.check_bank_details),
    ]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    raise SystemExit(main())
