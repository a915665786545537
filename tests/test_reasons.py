"""Outcomes: codes with parameters, and their words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import payerkit
from payerkit import reasons
from payerkit.reasons import Outcome

REFUSED = {"call": "POST /v2/payer", "status": 400, "is_cut": False}
SHOWN = "that could be this one, but does not show enough to tell. Compare them"
FOUND = Outcome("found_in_list", {"differs": ["bank_name", "account_name"]})


@pytest.mark.parametrize(
    ("code", "params", "expected", "why"),
    [
        (
            "refused",
            REFUSED | {"words": "No"},
            "The service refused the request (400 on POST /v2/payer). It says: No.",
            "",
        ),
        ("refused", REFUSED | {"words": "No!"}, "(400 on POST /v2/payer). It says: No!", "a sentence has one end"),
        (
            "refused",
            REFUSED | {"words": "", "is_cut": True},
            "The response broke off before the reason.",
            "nothing came",
        ),
        ("refused", REFUSED | {"words": "", "fields": ["email: bad"]}, "/v2/payer). email: bad", "fields follow"),
        ("left_by_limit", {"rows": 1}, "this call tried the first row that were not sent before.", "one"),
        ("left_by_limit", {"rows": 1000}, "tried the first 1,000 rows that", "thousands are set apart"),
        ("perhaps_there", {"ids": ["a"]}, f"perhaps_there: the payer's list has an account (a) {SHOWN}", "one"),
        ("perhaps_there", {"ids": ["a", "b"]}, f"the payer's list has accounts (a, b) {SHOWN}", "several"),
        ("perhaps_there", {"ids": list("abcd")}, "has accounts (a, b, c, ...) that", "not all are named"),
        ("perhaps_there", {"ids": [""]}, "has an account that could", "it has no id"),
        ("perhaps_there", {"listed": 10}, "shows 10 accounts and may leave out others. Compare", "the list may be cut"),
        (
            "not_compliant",
            {"kyc_status": "pending", "agreement_status": None},
            "Waits: identity check pending, agreement unknown.",
            "waiting helps",
        ),
        (
            "not_compliant",
            {"kyc_status": "rejected", "agreement_status": "not_started"},
            "Ask the service for the reason. Waiting does not change it.",
            "waiting does not help",
        ),
        ("could_be", {"ids": ["a", ""]}, "that of another row: a, one without an id. Compare", "without an id"),
        (
            "look_due",
            {"noted": FOUND},
            "a different bank_name and a different account_name. It was sent more",
            "a remark",
        ),
        ("look_due", {"noted": None}, "It was sent more than once", "a remark about nothing"),
    ],
)
def test_an_outcome_has_words(code: str, params: dict[str, Any], expected: str, why: str) -> None:
    """Numbers, lists and what is missing read as a person writes them."""
    text = Outcome(code, params).text

    assert expected in text, why
    assert "None" not in text


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome("cut_off"),
        Outcome("perhaps_there", {"ids": ["a", "b"]}),
        Outcome("look_again", {"noted": FOUND}),
        Outcome("earlier_unknown", {"cause": Outcome("payer_lags", {"cause": Outcome("refused", REFUSED)})}),
    ],
)
def test_an_outcome_survives_a_file(outcome: Outcome) -> None:
    """Outcomes within it, and lists, too."""
    assert outcome == Outcome.from_value(json.loads(json.dumps(outcome)))


def test_a_remark_is_not_the_reason() -> None:
    """What a program asks for is what the remark is about."""
    noted = Outcome("payer_stored", {"noted": Outcome("left_by_limit", {"rows": 2})})

    assert ("left_by_limit", "look_due") == (noted.main.code, Outcome("look_due", {"noted": None}).main.code)


def test_every_code_has_words_and_is_used() -> None:
    """A code without words would only be noticed once it happens."""
    package = Path(payerkit.__file__).parent
    others = "".join(file.read_text("utf-8") for file in package.rglob("*.py") if file.name != "reasons.py")
    made = set(re.findall(r'\bOutcome\(\s*"(\w+)"', others))

    assert set() == made - set(reasons._texts())
    assert [] == [code for code in reasons._texts() if f'"{code}"' not in others]
