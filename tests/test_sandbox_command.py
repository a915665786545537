"""`payerkit sandbox`: its options from the environment, its log, its health, and how it is emptied."""

from __future__ import annotations

import io
import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

import payerkit
from payerkit.cli import main as cli
from payerkit.cli.sandbox_options import SandboxOptions, read_options
from payerkit.errors import InvalidInput
from payerkit.service import health
from payerkit.service.call_log import LOGGER, JsonFormatter
from payerkit.service.worlds import Worlds
from published import BANK_DETAILS, PAYER


def started(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command, but end where it would serve; return its exit code."""
    with monkeypatch.context() as patch:
        patch.setattr("payerkit.service.server.Service.run", lambda service, _: service.stop())
        patch.setattr("payerkit.service.call_log.log_to_stderr", lambda _: None)
        patch.setattr("signal.signal", lambda *_: None)
        return cli.main(["sandbox", *arguments])


@pytest.mark.parametrize(
    ("variable", "text", "option", "value"),
    [
        ("PORT", "9000", "port", 9000),
        ("DB", "team.db", "db", "team.db"),
        ("KYC_REQUIRED", "true", "kyc_required", True),
        ("DECIDE_AFTER", "0", "decide_after", 0.0),
        ("TRUSTED_HOSTS", "a.example.com, b.example.com", "trusted_hosts", ("a.example.com", "b.example.com")),
        ("LOG_LEVEL", "error", "log_level", "error"),
    ],
)
def test_options_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, option: str, value: object
) -> None:
    """Each option has a variable of its name."""
    monkeypatch.setenv(f"PAYERKIT_SANDBOX_{variable}", text)

    assert value == getattr(read_options({}), option)


@pytest.mark.parametrize("option", SandboxOptions.model_fields)
def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    """A compose file leaves an option out so."""
    default = read_options({})
    monkeypatch.setenv(f"PAYERKIT_SANDBOX_{option.upper()}", "")

    assert default == read_options({})


def test_an_argument_wins_over_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is typed counts."""
    monkeypatch.setenv("PAYERKIT_SANDBOX_PORT", "9000")

    assert 9001 == read_options({"port": 9001}).port


@pytest.mark.parametrize(
    ("variable", "text", "words"),
    [
        ("PORT", "a lot", "PAYERKIT_SANDBOX_PORT: input should be a valid integer"),
        ("LOG_LEVEL", "loud", "PAYERKIT_SANDBOX_LOG_LEVEL: input should be 'debug', 'info', 'warning' or 'error'"),
        ("PROT", "9000", "PAYERKIT_SANDBOX_PROT: there is no such setting; did you mean PAYERKIT_SANDBOX_PORT?"),
        (
            "API_KEYS",
            "x",
            "PAYERKIT_SANDBOX_API_KEYS: there is no such setting; did you mean PAYERKIT_SANDBOX_API_KEY?",
        ),
        ("MAX_BODY", "5", "PAYERKIT_SANDBOX_MAX_BODY: there is no such setting"),
        ("KYC_AFTER", "-1", "kyc_after: expected a number of seconds"),
    ],
)
def test_a_bad_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: str, text: str, words: str
) -> None:
    """The command ends before it starts anything; a misspelt variable is not passed over."""
    monkeypatch.setenv(f"PAYERKIT_SANDBOX_{variable}", text)

    assert 1 == started(monkeypatch)
    assert words in capsys.readouterr().err


def test_every_option_of_the_command_is_one_of_the_environment() -> None:
    """Except those that do something once."""
    options = vars(cli._parser().parse_args(["sandbox"])).keys()

    assert {"command", "new_key", "reset", "yes"} == options - SandboxOptions.model_fields.keys()
    assert set() == SandboxOptions.model_fields.keys() - options


def test_the_key_of_a_live_service_is_never_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PAYERKIT_API_KEY does not open a sandbox, not even one that keeps its data."""
    monkeypatch.setenv("PAYERKIT_API_KEY", "the-key-of-a-live-service")
    with payerkit.sandbox(db=tmp_path / "x.db") as client:
        assert "the-key-of-a-live-service" != client.reveal_key()


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Yield what the sandbox logs, as the command writes it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    yield stream
    LOGGER.removeHandler(handler)
    LOGGER.setLevel(logging.NOTSET)


def lines(log: io.StringIO) -> list[dict[str, Any]]:
    """Return the lines, each of which is JSON."""
    return [json.loads(line) for line in log.getvalue().splitlines()]


def test_each_call_is_one_line_without_personal_data(log: io.StringIO) -> None:
    """The line has the template of the path; no id, no query, no key and nothing of a body."""
    with payerkit.sandbox(api_keys={"alice": "key-of-alice"}) as client:
        payer = payerkit.create_payer(client, PAYER)
        detail = payerkit.create_payment_detail(client, "user-123", BANK_DETAILS)
        payerkit.list_payment_details(client, "user-123", payment_details_id=detail.id)
        requests.get(payer.kyc_url or "", timeout=20)
        requests.get(f"{client.base_url}/v2/payer/user-123", timeout=20)
        requests.get(f"{client.base_url}/nowhere/user-123", headers={"x-api-key": "key-of-alice"}, timeout=20)

    assert [
        ("POST", "/v2/payer", 200, "alice"),
        ("POST", "/v1/payer/{clientUserId}/payment-details", 201, "alice"),
        ("GET", "/v1/payer/{clientUserId}/payment-details", 200, "alice"),
        ("GET", "/kyc/{page}", 200, None),
        ("GET", None, 401, None),  # without a key, nothing is looked at
        ("GET", None, 404, "alice"),
    ] == [(line["method"], line["route"], line["status"], line["world"]) for line in lines(log)]
    assert all(
        set(line) == {"time", "level", "message", "method", "route", "status", "ms", "world"} for line in lines(log)
    )
    link = (payer.kyc_url or "").rpartition("/")[2]
    personal = ["user-123", str(detail.id), "key-of-alice", link, *PAYER.values(), *BANK_DETAILS.values()]
    assert [] == [value for value in personal if len(str(value)) > 3 and str(value) in log.getvalue()]


def test_a_call_that_a_fault_broke_off_is_a_line(log: io.StringIO) -> None:
    """It has no status, since none was sent."""
    with payerkit.sandbox() as client:
        client.sandbox.set_faults("reset_before=100%")
        with pytest.raises(payerkit.PayerkitError):
            payerkit.create_payment_detail(client, "user-123", BANK_DETAILS)

    assert (None, "POST") == (lines(log)[-1]["status"], lines(log)[-1]["method"])


def test_any_word_as_a_method_takes_no_more_of_the_log(log: io.StringIO) -> None:
    """Nor does it stand there, as it may be as long as a head."""
    with payerkit.sandbox() as client:
        requests.request("X" * 50_000, f"{client.base_url}/", timeout=20)

    assert ("other", True) == (lines(log)[-1]["method"], len(log.getvalue()) < 500)


def test_a_sandbox_in_a_notebook_logs_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Unless the notebook sets up logging."""
    with payerkit.sandbox() as client:
        payerkit.create_payer(client, PAYER)

    assert ("", "") == capfd.readouterr()


def test_health_needs_no_key() -> None:
    """A monitor needs no key, and counts for no limit."""
    with payerkit.sandbox(rate_limit=1) as client:
        responses = [requests.get(f"{client.base_url}/healthz", timeout=20) for _ in range(3)]

    assert [(200, {"status": "ok"})] * 3 == [(each.status_code, each.json()) for each in responses]


def test_health_says_so_when_the_database_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The response comes after a limited time."""
    monkeypatch.setattr(health, "_SECONDS", 0.1)
    with payerkit.sandbox() as client:
        monkeypatch.setattr(Worlds, "ping", lambda _: time.sleep(0.5))
        response = requests.get(f"{client.base_url}/healthz", timeout=20)

    assert (503, "5") == (response.status_code, response.headers["Retry-After"])


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Return a database with a payer and an account."""
    with payerkit.sandbox(db=tmp_path / "team.db") as client:
        payerkit.create_payer(client, PAYER)
        payerkit.create_payment_detail(client, "user-123", BANK_DETAILS)
    return tmp_path / "team.db"


def counts(file: Path) -> tuple[int, str, str]:
    """Return how many writes a database has, the API key that opens it, and its identity."""
    with payerkit.sandbox(db=file) as client:
        response = requests.get(client.base_url, timeout=20)
        return len(client.sandbox.ledger()), client.reveal_key(), response.headers["x-payerkit-sandbox"]


def test_a_reset_deletes_what_is_stored_and_keeps_the_keys(
    stored: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what it deleted, copies included; the database has a new identity, so no journal takes it for the old."""
    before = counts(stored)
    copy = stored.with_name("team.db.before-0003")
    copy.write_text("the file as it was before an upgrade")
    beside = stored.with_name("team.db2.before-0003")
    beside.write_text("another database's")

    assert 0 == started(monkeypatch, "--port", "0", "--db", str(stored), "--reset", "--yes")
    after = counts(stored)
    assert f"Deleted 1 payer, 1 account, 0 payments and {copy}." in capsys.readouterr().out
    assert (False, True) == (copy.exists(), beside.exists())
    assert (2, 0, before[1], True) == (before[0], after[0], after[1], before[2] != after[2])


@pytest.mark.parametrize(("answer", "left"), [("y", 0), ("n", 2), ("", 2)])
def test_a_reset_asks_in_a_terminal(stored: Path, monkeypatch: pytest.MonkeyPatch, answer: str, left: int) -> None:
    """Anything but yes deletes nothing, and starts nothing."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: answer)

    assert (1 if left else 0) == started(monkeypatch, "--port", "0", "--db", str(stored), "--reset")
    assert left == counts(stored)[0]


def test_a_reset_leaves_a_sandbox_that_runs_alone(
    stored: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before, it deleted its data, and only then found the port taken."""
    with payerkit.sandbox(db=stored) as client:
        port = client.base_url.rpartition(":")[2]
        assert 1 == started(monkeypatch, "--port", port, "--db", str(stored), "--reset", "--yes")

    assert "Nothing was deleted." in capsys.readouterr().err
    assert 2 == counts(stored)[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--reset", "--yes"], "--reset: name the database with --db"),
        (
            ["--reset", "--db", "team.db"],
            "add --yes to confirm, since this is no terminal to ask in. Nothing was deleted",
        ),
        (["--reset", "--yes", "--db", "missing.db"], "missing.db does not exist"),
        (["--reset", "--yes", "--db", "notes.db"], "is missing"),  # a file without the key beside it
    ],
)
def test_a_reset_deletes_nothing_else(
    stored: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    """Only an existing database of a sandbox is emptied, and only after consent."""
    monkeypatch.chdir(stored.parent)
    Path("notes.db").write_bytes(b"my notes")

    assert 1 == started(monkeypatch, "--port", "0", *arguments)
    assert words in capsys.readouterr().err
    assert (2, b"my notes") == (counts(stored)[0], Path("notes.db").read_bytes())


def test_a_bad_value_of_an_argument_is_refused() -> None:
    """As that of a variable is."""
    with pytest.raises(InvalidInput, match="PAYERKIT_SANDBOX_PORT"):
        read_options({"port": "x"})
