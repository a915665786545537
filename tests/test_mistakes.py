"""Mistakes that people make, as they type them: what comes back says what to type."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
from cases import table
from payerkit.tables import template
from published import BANK_DETAILS, ORDER, PAYER


@pytest.fixture(scope="module")
def client() -> Iterator[payerkit.client.Client]:
    """Give a client of a sandbox."""
    with payerkit.sandbox(seed=1) as client:
        yield client


@pytest.fixture
def names(
    client: payerkit.client.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Give what a notebook has, in a folder with a table and a profile, and without any
    key.
    """
    monkeypatch.chdir(tmp_path)
    for variable in ("PAYERKIT_BASE_URL", "PAYERKIT_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PAYERKIT_PROFILES", "profiles.toml")
    Path("profiles.toml").write_text(
        '[staging]\nbase_url = "https://api.stage.example.com"\n', encoding="utf-8"
    )
    template("usd-local", path="payers.csv")
    public = {name: getattr(payerkit, name) for name in payerkit.__all__}
    mine = {
        "client": client,
        "form": payerkit.PayerForm(client),
        "frame": pd.DataFrame([PAYER]),
    }
    bodies = {"PAYER": PAYER, "DETAILS": BANK_DETAILS, "ORDER": ORDER}
    return {**public, **mine, **bodies, "payerkit": payerkit}


@table("mistakes")
def test_a_mistake_leads_to_the_cure(
    names: dict[str, Any], typed: str, cure: str
) -> None:
    """What comes back, an error, a warning or a result, says what to type in its
    place.
    """
    try:
        answer = repr(eval(typed, names))  # noqa: S307 - the cells of a table of tests
    except Exception as error:  # noqa: BLE001 - warnings, too, which are errors in tests
        answer = str(error)

    assert cure in answer


def test_a_file_is_onboarded_by_its_path(names: dict[str, Any]) -> None:
    """The journal is beside the file."""
    report = payerkit.onboard(names["client"], "payers.csv")

    assert (1, True) == (report.counts["done"], Path("payers.csv.journal").exists())
