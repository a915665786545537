"""The sample payments: each shows what it says."""

from __future__ import annotations

import pytest

from cases import table, table_rows
from payerkit import check_payment, samples


@table("sample_payments")
def test_a_sample_shows_what_it_says(name: str, verdict: str, code: str) -> None:
    """Each sample has its verdict, for its own reason."""
    found = check_payment(samples[name])
    severity = {"ok": "info", "look": "warning", "stop": "error"}[verdict]

    assert verdict == found.verdict
    assert code in {each.code for each in found if each.severity == severity}


def test_every_sample_is_listed_with_its_verdict() -> None:
    """The table names all samples, the honest one first."""
    frame = samples.to_frame()

    assert ([row["name"] for row in table_rows("sample_payments")], len(samples)) == (
        frame["name"].to_list(),
        len(frame),
    )
    assert ("honest", "ok") == tuple(frame.loc[0, ["name", "verdict"]])
    assert repr(samples).startswith("<SamplePayments: honest, declared_fee")


def test_an_unknown_sample_is_a_key_error() -> None:
    """The samples are a mapping like any other."""
    assert "nonsense" not in samples
    with pytest.raises(
        KeyError, match="no sample 'nonsense'; there are honest, declared_fee"
    ):
        samples["nonsense"]


def test_tab_offers_the_names_in_brackets() -> None:
    """IPython asks for them behind `samples["`."""
    assert [*samples] == samples._ipython_key_completions_()
