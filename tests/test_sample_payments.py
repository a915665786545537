"""The sample payments: each shows what it says."""

from __future__ import annotations

import pytest

from payerkit import check_payment, samples

SHOWN = {
    "honest": "ok payee_matches",
    "declared_fee": "look fee",
    "unlimited_allowance": "look allowance_unlimited",
    "other_payee": "stop payee_differs",
    "lookalike_payee": "stop payee_differs",
    "burned": "stop recipient_burned",
    "ten_times": "stop amount_differs",
    "other_token": "stop token_differs",
    "other_network": "stop contract_unknown",
    "other_reference": "stop reference_differs",
    "other_spender": "stop spender_differs",
    "undeclared_fee": "stop fee_unknown",
    "high_fee": "stop fee_high",
    "second_payment": "stop several_payments",
    "hidden_transaction": "stop several_payments",
    "message_to_sign": "stop typed_message",
    "unknown_function": "stop unreadable_data",
    "value_beside_tokens": "stop value_not_payable",
}
"""The verdict on each sample, and the code that it is for."""


@pytest.mark.parametrize("name", samples)
def test_a_sample_shows_what_it_says(name: str) -> None:
    """Each sample has its verdict, for its own reason."""
    found = check_payment(samples[name])
    verdict, _, code = SHOWN[name].partition(" ")

    severity = {"ok": "info", "look": "warning", "stop": "error"}[verdict]

    assert verdict == found.verdict
    assert code in {each.code for each in found if each.severity == severity}


def test_every_sample_is_listed_with_its_verdict() -> None:
    """The table names all samples, the honest one first."""
    frame = samples.to_frame()

    assert (list(SHOWN), len(samples)) == (frame["name"].to_list(), len(frame))
    assert ("honest", "ok") == tuple(frame.loc[0, ["name", "verdict"]])
    assert all(text in samples._repr_html_() for text in frame["name"])
    assert repr(samples).startswith("<SamplePayments: honest, declared_fee")


def test_an_unknown_sample_is_a_key_error() -> None:
    """The samples are a mapping like any other."""
    assert "nonsense" not in samples
    with pytest.raises(KeyError, match="no sample 'nonsense'; there are honest, declared_fee"):
        samples["nonsense"]
