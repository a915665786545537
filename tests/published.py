"""The published examples of the service, as tests use them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from payerkit.wire import our_name

DATA = Path(__file__).with_name("data")
PUBLISHED: dict[str, Any] = json.loads(
    DATA.joinpath("published.json").read_text("utf-8")
)
TYPED: dict[str, Any] = json.loads(DATA.joinpath("typed.json").read_text("utf-8"))

PAYER: dict[str, str] = PUBLISHED["payers"]["individual"]
BANK_DETAILS: dict[str, str] = PUBLISHED["bank_details"]["us_business"]
ORDER: dict[str, str] = PUBLISHED["orders"]["native"]
ANSWERS: dict[str, Any] = PUBLISHED["answers"]

TYPED_PAYER: dict[str, str] = TYPED["payer"]
"""A payer whose values stand nowhere else, so that they are found wherever they should
not be.
"""


def own(place: int) -> dict[str, str]:
    """Return what no two payers share: an e-mail address and a number."""
    return {
        "email": f"payer.{100 + place}@example.com",
        "ssn": f"219-09-{1 + place:04}",
    }


TYPED_ACCOUNT: dict[str, str] = TYPED["account"]
"""An account of that payer."""


def as_columns(account: Mapping[str, str]) -> dict[str, str]:
    """Return an account with the columns that it has in a table with payers: `bank_` in
    front of what both have.
    """
    names = {our_name(name): value for name, value in account.items()}
    shared = {our_name(name) for name in PAYER} | {"address_line2"}
    return {
        f"bank_{name}" if name in shared else name: value
        for name, value in names.items()
    }


def typed_row(place: int, **changes: Any) -> dict[str, Any]:
    """Return a payer with an account; no two rows share what payers do not share."""
    account = as_columns(TYPED_ACCOUNT) | {"account_number": f"9812736455{place}"}
    payer = TYPED_PAYER | own(place) | {"client_user_id": f"user-{place}"}
    return payer | account | changes
