"""`payerkit sandbox`: its options, also from the environment."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import payerkit
from payerkit.cli import main as cli
from payerkit.service.failures import SetupError
from payerkit.service.settings import CommandSettings
from published import PAYER


@pytest.mark.parametrize(
    ("variable", "text", "option", "value"),
    [
        ("PORT", "9000", "port", 9000),
        ("DB", "team.db", "db", "team.db"),
        ("KYC_REQUIRED", "true", "kyc_required", True),
        ("DECIDE_AFTER", "0", "decide_after", 0.0),
        ("FEE_PERCENT", "2.50", "fee_percent", "2.50"),
    ],
)
def test_options_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, option: str, value: object
) -> None:
    """Each option has a variable of its name."""
    monkeypatch.setenv(f"PAYERKIT_SANDBOX_{variable}", text)

    assert value == getattr(CommandSettings.read({}), option)


@pytest.mark.parametrize("option", CommandSettings.model_fields)
def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    """A compose file leaves an option out so."""
    default = CommandSettings.read({})
    monkeypatch.setenv(f"PAYERKIT_SANDBOX_{option.upper()}", "")

    assert default == CommandSettings.read({})


def test_an_argument_wins_over_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is typed counts."""
    monkeypatch.setenv("PAYERKIT_SANDBOX_PORT", "9000")

    assert 9001 == CommandSettings.read({"port": 9001}).port


@pytest.mark.parametrize(
    ("variable", "text", "words"),
    [
        ("PORT", "a lot", "PAYERKIT_SANDBOX_PORT: Input should be a valid integer"),
        ("CLOCK", "sundial", "PAYERKIT_SANDBOX_CLOCK: Input should be 'wall' or 'manual'."),
        ("PROT", "9000", "PAYERKIT_SANDBOX_PROT: there is no such setting."),
        ("KYC_AFTER", "-1", "PAYERKIT_SANDBOX_KYC_AFTER: Input should be greater than or equal to 0."),
    ],
)
def test_a_bad_variable_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, text: str, words: str) -> None:
    """A misspelt variable is not passed over."""
    monkeypatch.setenv(f"PAYERKIT_SANDBOX_{variable}", text)
    with pytest.raises(SetupError, match=re.escape(words)):
        CommandSettings.read({})


def test_every_option_of_the_command_is_one_of_the_environment() -> None:
    """Except those that do something once; each has a line of help."""
    options = vars(cli._parser(["sandbox"]).parse_args(["sandbox"])).keys()

    assert {"command", "new_key"} == options - CommandSettings.model_fields.keys()
    assert set() == CommandSettings.model_fields.keys() - options
    assert [] == [name for name, field in CommandSettings.model_fields.items() if not field.description]


def test_the_key_of_a_live_service_is_never_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PAYERKIT_API_KEY does not open a sandbox, not even one that keeps its data."""
    monkeypatch.setenv("PAYERKIT_API_KEY", "the-key-of-a-live-service")
    with payerkit.sandbox(db=tmp_path / "x.db") as client:
        assert "the-key-of-a-live-service" != client.reveal_key()


def test_a_sandbox_in_a_notebook_logs_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Unless the notebook sets up logging."""
    with payerkit.sandbox() as client:
        payerkit.create_payer(client, PAYER)

    assert ("", "") == capfd.readouterr()


def test_a_bad_value_of_an_argument_is_refused() -> None:
    """As that of a variable is."""
    with pytest.raises(SetupError, match="port: Input should be a valid integer"):
        CommandSettings.read({"port": "x"})
