"""Outcomes: codes with parameters, and their words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import payerkit
from cases import table
from payerkit import reasons
from payerkit.reasons import Outcome

REFUSED = {"call": "POST /v2/payer", "status": 400, "is_cut": False}
FOUND = Outcome("found_in_list", {"differs": ["bank_name", "account_name"]})


@table("outcomes")
def test_an_outcome_has_words(code: str, params: dict[str, Any], expected: str) -> None:
    """Numbers, lists and what is missing read as a person writes them."""
    text = Outcome.from_value([code, params]).text

    assert expected in text
    assert "None" not in text


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome("cut_off"),
        Outcome("perhaps_there", {"ids": ["a", "b"]}),
        Outcome("payer_stored", {"noted": FOUND}),
        Outcome(
            "earlier_unknown",
            {"cause": Outcome("payer_lags", {"cause": Outcome("refused", REFUSED)})},
        ),
    ],
)
def test_an_outcome_survives_a_file(outcome: Outcome) -> None:
    """Outcomes within it, and lists, too."""
    assert outcome == Outcome.from_value(json.loads(json.dumps(outcome)))


def test_a_remark_is_not_the_reason() -> None:
    """What a program asks for is what the remark is about."""
    noted = Outcome("payer_stored", {"noted": Outcome("left_by_limit", {"rows": 2})})

    assert ("left_by_limit", "payer_stored") == (
        noted.main.code,
        Outcome("payer_stored", {"noted": None}).main.code,
    )


def test_every_code_has_words_and_is_used() -> None:
    """A code without words would only be noticed once it happens."""
    package = Path(payerkit.__file__).parent
    others = "".join(
        file.read_text("utf-8")
        for file in package.rglob("*.py")
        if file.name != "reasons.py"
    )
    made = set(re.findall(r'\bOutcome\(\s*"(\w+)"', others))

    assert set() == made - set(reasons._texts())
    assert [] == [code for code in reasons._texts() if f'"{code}"' not in others]
