"""`payerkit sandbox`: its options and keys."""

from __future__ import annotations

import pytest

import payerkit
from payerkit.cli.arguments import parse
from payerkit_sandbox.settings import CommandSettings
from published import PAYER


def test_every_setting_is_an_option_of_the_command() -> None:
    """Each has a line of help."""
    options = vars(parse(["sandbox"])).keys()

    assert {"command"} == options - CommandSettings.model_fields.keys()
    assert set() == CommandSettings.model_fields.keys() - options
    assert [] == [
        name
        for name, field in CommandSettings.model_fields.items()
        if not field.description
    ]


def test_a_sandbox_in_a_notebook_logs_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Unless the notebook sets up logging."""
    with payerkit.sandbox() as client:
        payerkit.create_payer(client, PAYER)

    assert ("", "") == capfd.readouterr()
