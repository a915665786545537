"""`payerkit sandbox`: its options and keys."""

from __future__ import annotations

import sys

import pytest

import payerkit
from payerkit.cli import main as cli
from payerkit.cli.arguments import parse
from payerkit_sandbox.settings import API_KEY_VARIABLE, CommandSettings
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


@pytest.mark.parametrize("keys", ["a key", "alice:one,alice:two", "Alice:key"])
def test_unclear_keys_are_refused_by_their_variable(
    keys: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command has no argument for them."""
    monkeypatch.setenv(API_KEY_VARIABLE, keys)

    assert 1 == cli.main(["sandbox"])
    message = f"payerkit sandbox: The sandbox cannot start. {API_KEY_VARIABLE}: "
    assert capsys.readouterr().err.startswith(message)


def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the extra that brings it: nobody needs JupyterLab for a sandbox."""
    monkeypatch.delitem(sys.modules, "payerkit_sandbox.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)

    assert 1 == cli.main(["sandbox", "--port", "0"])
    assert "needs uvicorn: pip install 'payerkit[sandbox]'" in capsys.readouterr().err
