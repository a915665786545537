"""The published examples of the service, as tests use them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from payerkit.wire import our_name

PUBLISHED: dict[str, Any] = json.loads(Path(__file__).with_name("data").joinpath("published.json").read_text("utf-8"))

PAYER: dict[str, str] = PUBLISHED["payers"]["individual"]
BANK_DETAILS: dict[str, str] = PUBLISHED["bank_details"]["us_business"]
ORDER: dict[str, str] = PUBLISHED["orders"]["native"]
ANSWERS: dict[str, Any] = PUBLISHED["answers"]

TYPED_PAYER = {
    "client_user_id": "typed-001",
    "email": "payer.001@example.com",
    "first_name": "Zanzibar",
    "last_name": "Quartermaine",
    "beneficiary_type": "individual",
    "date_of_birth": "1979-03-27",
    "nationality": "US",
    "phone": "+12125557391",
    "ssn": "219-09-9873",
    "address_line1": "77 Typed Terrace",
    "city": "Albany",
    "state": "NY",
    "postcode": "12207",
    "country": "US",
}
"""A payer whose values stand nowhere else, so that they are found wherever they should not be."""


def own(place: int) -> dict[str, str]:
    """Return what no two payers share: an e-mail address and a number."""
    return {"email": f"payer.{100 + place}@example.com", "ssn": f"219-09-{1 + place:04}"}


TYPED_ACCOUNT = {
    "currency": "USD",
    "account_number": "98127364550",
    "routing_number": "021000021",
    "bank_name": "Typed Bank",
    "account_name": "Zanzibar Quartermaine",
    "beneficiary_type": "individual",
    "date_of_birth": "1979-03-27",
    "address_line1": "77 Typed Terrace",
    "city": "Albany",
    "state": "NY",
    "postal_code": "12207",
    "country": "US",
}
"""An account of that payer."""


def as_columns(account: Mapping[str, str]) -> dict[str, str]:
    """Return an account with the columns that it has in a table with payers: `bank_` in front of what both have."""
    names = {our_name(name): value for name, value in account.items()}
    shared = {our_name(name) for name in PAYER} | {"address_line2"}
    return {f"bank_{name}" if name in shared else name: value for name, value in names.items()}
