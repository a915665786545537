"""The command line: commands that run until they are ended in a process of their own,
the others in this process.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
import pandas as pd
import pytest
import requests
from jupyter_server.services.config import ConfigManager
from nbclient import NotebookClient

import payerkit
from cases import table
from payerkit.cli import docs, lab
from payerkit.cli import main as cli
from payerkit.cli.arguments import add_commands, parse
from payerkit.client import Client, SandboxControls
from processes import running
from published import BANK_DETAILS, PAYER, TYPED_ACCOUNT, TYPED_PAYER, as_columns, own

QUICKSTART = Path(__file__).parent.parent / "notebooks" / "00-quickstart.ipynb"
KEY = "key-that-the-environment-gives"


def word(printed: str, beginning: str = "http://") -> str:
    """Return the word of what was printed that begins so, such as the address of a
    sandbox.
    """
    return next(each for each in printed.split() if each.startswith(beginning))


@contextmanager
def served(
    *options: str, folder: Path, **environment: str
) -> Iterator[tuple[str, Client]]:
    """Run a sandbox in a process of its own, which has the key of the tests; give what
    it prints, and a client.
    """
    environment = {"PAYERKIT_SANDBOX_API_KEY": KEY} | environment
    with (
        running("sandbox", "--port", "0", *options, folder=folder, **environment) as (
            printed,
            _,
        ),
        payerkit.connect(word(printed), api_key=KEY) as client,
    ):
        yield printed, client


@pytest.mark.slow
def test_sandbox_makes_a_key_that_survives_a_restart(tmp_path: Path) -> None:
    """Without a key in the environment, one is printed, and kept in the database: it
    opens what was stored before.
    """
    for _ in range(2):
        with running("sandbox", "--port", "0", "--db", "team.db", folder=tmp_path) as (
            printed,
            _process,
        ):
            key = word(printed, "sandbox_")
            with payerkit.connect(word(printed), api_key=key) as client:
                payerkit.create_payer(client, PAYER)
                payerkit.create_payment_detail(client, "user-123", BANK_DETAILS)
                rows = len(payerkit.list_payment_details(client, "user-123"))

    assert rows == 2


@pytest.mark.slow
def test_quickstart_works_against_another_process_by_one_line(tmp_path: Path) -> None:
    """The quickstart runs with `connect(...)` in place of `sandbox(...)`; no output has
    the key.

    What people and time do for a live service, the controls of that sandbox do here,
    which its client does not have.
    """
    notebook = nbformat.read(QUICKSTART, as_version=4)
    with served("--db", "x.db", "--accounts-after", "0", folder=tmp_path) as (
        printed,
        client,
    ):
        live = f"connect({client.base_url!r}, api_key={KEY!r})"
        for cell in notebook.cells:
            source = cell.source.replace(
                'sandbox(seed=1, clock="manual", accounts_after=0)', live
            )
            controls = "__import__('payerkit.client').client.SandboxControls(client)."
            cell.source = source.replace("client.sandbox.", controls).replace(
                "import Walk", "import connect, Walk"
            )
        assert 1 == sum(live in cell.source for cell in notebook.cells)
        NotebookClient(notebook, timeout=60).execute()
        accounts = payerkit.list_payment_details(client, "example-001")

    assert ["Example Bank"] == list(accounts["bank_name"])
    assert KEY not in printed
    assert {"x.db", "x.db-wal", "x.db-shm"} >= {
        file.name for file in tmp_path.iterdir()
    }


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="these signals are a matter of POSIX")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_sandbox_misbehaves_in_silence_until_a_signal(
    tmp_path: Path, ending: signal.Signals
) -> None:
    """With a plan of faults it breaks calls off. Ctrl+C, or the end of a container,
    ends it and its data, quietly.
    """
    options = (
        "--port",
        "0",
        "--faults",
        "reset_before=50%, reset_after=50%",
        "--seed",
        "1",
    )
    with running("sandbox", *options, folder=tmp_path, TMPDIR=str(tmp_path)) as (
        printed,
        process,
    ):
        headers = {"x-api-key": word(printed, "sandbox_")}
        for place in range(20):
            with pytest.raises(requests.ConnectionError):
                requests.get(
                    f"{word(printed)}/v2/payer/{place}", headers=headers, timeout=20
                )
        process.send_signal(ending)
        rest, _ = process.communicate(timeout=20)

    assert ("", []) == (rest, list(tmp_path.iterdir()))


@pytest.mark.slow
def test_lab_prints_its_address_in_time(tmp_path: Path) -> None:
    """JupyterLab is there within 15 seconds, as root, without a display, on the chosen
    port, in the chosen folder.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ("--no-browser", "--port", str(port), "--folder", "my/notebooks")
    started = time.monotonic()
    with running(
        "lab", *options, folder=tmp_path, JUPYTER_DATA_DIR=str(tmp_path), DISPLAY=""
    ) as (printed, _process):
        url = word(printed)
        page = requests.get(url, timeout=20)
        elapsed = time.monotonic() - started

    assert (True, 200, True) == (
        f":{port}/lab/tree/index.ipynb?token=" in url,
        page.status_code,
        elapsed < 15,
    )
    assert (tmp_path / "my" / "notebooks" / "00-quickstart.ipynb").exists()


@pytest.mark.slow
def test_an_open_door_is_told(tmp_path: Path) -> None:
    """A sandbox for more than this machine says that it wants a proxy with TLS."""
    with running("sandbox", "--port", "0", "--host", "0.0.0.0", folder=tmp_path) as (  # noqa: S104
        printed,
        _process,
    ):
        assert (
            "put a proxy with TLS in front" in printed,
            "the https URL of your proxy" in printed,
        ) == (
            True,
            True,
        )


@table("sandbox_refused")
def test_what_cannot_start_is_told_in_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command that cannot run says why and ends with 1; no traceback."""
    assert cli.main(arguments) == 1

    told = capsys.readouterr().err
    assert (True, 1) == (words in told, len(told.splitlines()))


@table("wrong_arguments")
def test_wrong_arguments_end_with_two(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong arguments show how it is done; a key is no argument."""
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)

    assert (2, True) == (
        caught.value.code,
        "usage: payerkit" in capsys.readouterr().err,
    )


def test_without_a_command_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever types only the name wants to see what there is."""
    with pytest.raises(SystemExit):
        cli.main([])

    assert "New here? Start with 'payerkit lab'." in capsys.readouterr().err


def test_a_folder_is_no_file_to_send(capsys: pytest.CaptureFixture[str]) -> None:
    """A dot names the current folder, which has no name of its own."""
    assert 1 == cli.main(["onboard", "."])
    assert "give a file with payers" in capsys.readouterr().err


def test_a_misspelled_option_shows_those_of_its_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By itself, argparse shows the usage of all commands, which has no options."""
    with pytest.raises(SystemExit):
        cli.main(["inspect", "x.json", "--polcy", "policy.toml"])

    printed = capsys.readouterr().err
    assert "[--policy FILE]" in printed
    assert (
        "payerkit inspect: error: unrecognized arguments: --polcy policy.toml. Did you"
        " mean --policy?" in printed
    )


def test_an_unknown_command_says_which_one_was_meant(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The list of all commands would leave the search to the reader."""
    with pytest.raises(SystemExit):
        cli.main(["onbord", "payers.csv"])

    assert (
        "there is no command onbord. Did you mean onboard?" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "groups", "example"),
    [
        (
            [],
            ["To begin", "To send a table", "Before and after a payment"],
            "payerkit onboard payers.csv --dry-run",
        ),
        (
            ["onboard"],
            ["The file", "What is sent", "The service", "What is written"],
            "payerkit onboard payers.csv",
        ),
        (["inspect"], [], "payerkit inspect payment.json"),
    ],
)
def test_help_has_groups_and_an_example(
    arguments: list[str],
    groups: list[str],
    example: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Who reads it looks for a task, and has something to copy."""
    with pytest.raises(SystemExit):
        cli.main([*arguments, "--help"])

    printed = capsys.readouterr().out
    assert [] == [group for group in groups if f"\n{group}:\n" not in printed]
    assert example in " ".join(printed.partition("Example: ")[2].split())


@pytest.mark.parametrize("command", ["onboard", "trace"])
def test_help_says_how_a_service_is_confirmed(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command has no cell to change: the variables are all that there is."""
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])

    printed = capsys.readouterr().out
    assert [] == [
        name
        for name in ("BASE_URL", "API_KEY", "ENVIRONMENT")
        if f"PAYERKIT_{name}" not in printed
    ]


def test_the_first_help_lists_every_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By task, each with a line that says what it does."""
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    listed = re.findall(r"^  (\w+) +\S.*\w$", capsys.readouterr().out, re.MULTILINE)

    assert [*add_commands(ArgumentParser())] == listed[1:]


def test_an_output_that_is_cut_is_no_error(tmp_path: Path) -> None:
    """`payerkit inspect FILE | head` ends without a message."""
    payerkit.samples["honest"].save(tmp_path / "payment.json")
    command = [sys.executable, "-m", "payerkit", "inspect", "payment.json"]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as nowhere:
        ended = subprocess.run(
            command,
            cwd=tmp_path,
            stdout=nowhere,
            stderr=subprocess.PIPE,
            check=False,
            timeout=40,
        )

    assert (1, b"") == (ended.returncode, ended.stderr)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """The version that is told is the package's."""
    with pytest.raises(SystemExit):
        cli.main(["--version"])

    assert f"payerkit {payerkit.__version__}\n" == capsys.readouterr().out


ROWS = [
    TYPED_PAYER
    | as_columns(TYPED_ACCOUNT)
    | own(place)
    | {
        "client_user_id": f"user-{place}@example.com",
        "account_number": f"1234567890{place}",
    }
    for place in range(3)
]
RESULTS = ("payers-report.csv", "payers.csv.journal")


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Client]]:
    """Run a sandbox whose time stands still in a process of its own; give what it
    printed, and a client.
    """
    options = ("--clock", "manual", "--accounts-after", "60", "--decide-after", "120")
    with served(*options, folder=tmp_path_factory.mktemp("service")) as given:
        yield given


@pytest.fixture(scope="module")
def service(manual: tuple[str, Client]) -> dict[str, str]:
    """Give the environment in which commands find that sandbox."""
    return {"PAYERKIT_BASE_URL": manual[1].base_url, "PAYERKIT_API_KEY": KEY}


Onboard = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def onboard(
    tmp_path: Path,
    service: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Onboard:
    """Run `payerkit onboard` in the folder of the test, with that sandbox or what is
    given by name as environment.
    """
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        with patch.dict(os.environ, service | environment):
            code = cli.main(["onboard", *arguments])
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return run


def rows_of(test: str) -> list[dict[str, str]]:
    """Return the rows with ids that no other test has."""
    return [row | {"client_user_id": f"{test}-{row['client_user_id']}"} for row in ROWS]


def write_rows(rows: list[dict[str, str]], name: str = "payers.csv") -> None:
    """Write a table of payers to the folder of the test."""
    pd.DataFrame(rows).to_csv(name, index=False)


def files() -> set[str]:
    """Return the names of the files in the folder of the test."""
    return {file.name for file in Path().iterdir()}


def stored(client: Client, rows: list[dict[str, str]]) -> list[str]:
    """Return the numbers of the accounts that the service has of the payers of these
    rows; a payer whom it does not know has none.
    """
    numbers: list[str] = []
    for row in rows:
        with suppress(payerkit.errors.NotFound):
            accounts = payerkit.list_payment_details(
                client, row["client_user_id"], reveal=True
            )
            numbers += accounts["account_number"].to_list()
    return numbers


@pytest.mark.slow
def test_onboard_sends_a_table_with_one_command(
    manual: tuple[str, Client], service: dict[str, str], onboard: Onboard
) -> None:
    """One command sends every payer and account; the same again sends nothing twice and
    says the same.
    """
    write_rows(ROWS)
    command = [sys.executable, "-m", "payerkit", "onboard", "payers.csv"]
    first = subprocess.run(
        command,
        env=os.environ | service,
        capture_output=True,
        text=True,
        check=False,
        timeout=40,
    )
    again = onboard("payers.csv")
    report = pd.read_csv("payers-report.csv", dtype=str)

    assert (0, 0) == (first.returncode, again.returncode)
    assert ["3 rows: 3 done."] * 2 == [
        run.stdout.splitlines()[0] for run in (first, again)
    ]
    assert [row["account_number"] for row in ROWS] == stored(manual[1], ROWS)
    assert (["2", "3", "4"], {"done"}) == (
        report["row"].to_list(),
        set(report["state"]),
    )
    assert {
        "payers.csv",
        "payers.csv.journal",
        "payers.csv.journal.secret",
        "payers-report.csv",
    } == files()


def test_onboard_verifies_and_sends_nothing(
    manual: tuple[str, Client], onboard: Onboard
) -> None:
    """What is there, what is missing, and what is there twice, on the screen and as a
    file.
    """
    rows = rows_of("verify")
    write_rows(rows[:2])
    assert 0 == onboard("payers.csv").returncode
    whole = onboard("payers.csv", "--verify")
    write_rows(rows)
    before = stored(manual[1], rows[:2])
    lacking = onboard("payers.csv", "--verify")
    found = pd.read_csv("payers-verify.csv", dtype=str)

    assert (0, 3) == (whole.returncode, lacking.returncode)
    assert ["2 accounts: 2 stored.", "3 accounts: 2 stored, 1 missing."] == [
        run.stdout.splitlines()[0] for run in (whole, lacking)
    ]
    assert [("2", "stored"), ("3", "stored"), ("4", "missing")] == list(
        found[["row", "state"]].itertuples(index=False, name=None)
    )
    assert before == stored(manual[1], rows[:2])


def test_onboard_shows_no_person_and_no_key(onboard: Onboard) -> None:
    """Neither what it prints nor the report nor the journal holds what a row holds, or
    the key.
    """
    rows = rows_of("other")
    write_rows(
        [
            *rows,
            rows[0]
            | {
                "client_user_id": "bad@example.org",
                "email": "nonsense-address",
            },
        ]
    )
    run = onboard("payers.csv")
    secrets = [
        KEY,
        "nonsense-address",
        "@example.org",
        "%40example.org",
        *(row["account_number"] for row in rows),
    ]
    secrets += [
        TYPED_PAYER[name]
        for name in (
            "email",
            "first_name",
            "last_name",
            "ssn",
            "phone",
            "address_line1",
        )
    ]
    texts = [
        run.stdout,
        run.stderr,
        *(Path(name).read_bytes().decode("latin-1") for name in RESULTS),
    ]

    assert (3, "4 rows: 3 done, 1 with a warning, 1 not sent.") == (
        run.returncode,
        run.stdout.splitlines()[0],
    )
    assert [] == [secret for secret in secrets if any(secret in text for text in texts)]


def test_onboard_takes_names_of_columns_and_places_of_files(onboard: Onboard) -> None:
    """`--column` says what a column is or leaves it out, and other options in which row
    and encoding the names are; journal and report are written where they are asked for.
    """
    row = {
        ("postkode" if name == "postcode" else name): value
        for name, value in ROWS[0].items()
    }
    row |= {"client_user_id": "columns", "notes": "a friend"}
    write_rows([row])
    refused = onboard("payers.csv")
    file = Path("payers.csv")
    file.write_text(f"Payers\n\n{file.read_text('utf-8')}", "utf-16-le")
    options = (
        "--header-row",
        "3",
        "--encoding",
        "utf-16-le",
        "--column",
        "postkode=postcode",
        "--column",
        "notes=",
        "--journal",
        "j",
        "--report",
        "r.csv",
    )
    done = onboard("payers.csv", *options, "--workers", "2", "--rate", "100")

    assert (1, 0) == (refused.returncode, done.returncode)
    assert [True, True] == [
        words in refused.stderr
        for words in ("did you mean postcode?", "notes: not a field")
    ]
    assert {"payers.csv", "j", "j.secret", "r.csv"} == files()


@table("onboard_options")
def test_onboard_takes_the_options_of_a_run(
    arguments: list[str], expected: dict[str, object]
) -> None:
    """Words may be separated by commas, or given one by one."""
    typed = ["onboard", "payers.csv", *arguments]
    options = vars(parse(typed))

    assert expected == {name: options[name] for name in expected}


def test_no_text_decides_about_an_exit_code(
    onboard: Onboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a code in place of every text, the command ends in the same way, and its
    report says the same.
    """
    found = []
    for name in ("texts", "codes"):
        rows = rows_of(name)
        rows[0]["routing_number"], rows[1]["email"] = "021000022", "x"
        write_rows(rows, f"{name}.csv")
        if name == "codes":
            monkeypatch.setattr(
                "payerkit.reasons.rendered", lambda outcome: outcome.code
            )
        codes = [
            onboard(f"{name}.csv", *more).returncode
            for more in (["--hold", "routing_checksum"], [])
        ]
        report = pd.read_csv(f"{name}-report.csv", dtype=str)
        found.append(
            (
                codes,
                report[["state", "reason_code", "step", "attempts", "retryable"]]
                .fillna("")
                .to_dict(),
            )
        )

    assert found[0] == found[1]
    assert [3, 3] == found[0][0]


@pytest.mark.slow
def test_onboard_takes_a_profile(service: dict[str, str], onboard: Onboard) -> None:
    """`--profile` says where to send the rows."""
    write_rows([ROWS[0] | {"client_user_id": "by-profile"}])
    Path("mine.toml").write_text(
        f'[local]\nbase_url = "{service["PAYERKIT_BASE_URL"]}"\nrate = 50'
    )
    profiles = {"PAYERKIT_PROFILES": "mine.toml", "PAYERKIT_API_KEY_LOCAL": KEY}
    run = onboard(
        "payers.csv",
        "--profile",
        "local",
        **profiles,
        PAYERKIT_BASE_URL="http://127.0.0.1:9",
    )

    assert (0, "1 row: 1 done.") == (run.returncode, run.stdout.splitlines()[0])


@pytest.mark.slow
def test_onboard_goes_on_when_the_service_is_back(
    tmp_path: Path, onboard: Onboard
) -> None:
    """A run that reaches no service sends nothing and says so; the same command, with
    its journal, does it later.
    """
    write_rows(ROWS)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = partial(
        onboard,
        "payers.csv",
        "--workers",
        "16",
        PAYERKIT_BASE_URL=f"http://127.0.0.1:{port}",
    )
    alone = command()
    with running(
        "sandbox", "--port", port, folder=tmp_path, PAYERKIT_SANDBOX_API_KEY=KEY
    ):
        again = command()

    assert (1, True) == (alone.returncode, "Nothing was sent." in alone.stderr)
    assert (0, "3 rows: 3 done.") == (again.returncode, again.stdout.partition("\n")[0])


def test_a_dry_run_sends_nothing(manual: tuple[str, Client], onboard: Onboard) -> None:
    """`--dry-run` says what would be sent, needs no service, and leaves a report and
    the rows to correct.
    """
    rows = rows_of("dry")
    write_rows(rows)
    write_rows([*rows, rows[0] | {"client_user_id": "x", "email": "y"}], "faulty.csv")
    fine, faulty = (onboard(name, "--dry-run") for name in ("payers.csv", "faulty.csv"))
    alone = onboard("payers.csv", "--dry-run", PAYERKIT_BASE_URL="")

    assert (0, 3, 0) == (fine.returncode, faulty.returncode, alone.returncode)
    assert "3 rows: 3 payers and 3 accounts would be sent" in fine.stdout
    assert "1 row  email: Not an e-mail address." in faulty.stdout
    assert {
        "payers.csv",
        "faulty.csv",
        "payers-plan.csv",
        "faulty-plan.csv",
        "faulty-corrections.csv",
    } == files()
    assert [] == stored(manual[1], rows)


def test_a_dry_run_looks_at_the_journal(onboard: Onboard) -> None:
    """What is done would not be sent."""
    rows = rows_of("known")
    write_rows(rows[:2])
    sent = onboard("payers.csv")
    write_rows(rows)
    run = onboard("payers.csv", "--dry-run")

    assert (0, 0) == (sent.returncode, run.returncode)
    assert "3 rows: 1 payer and 1 account would be sent" in run.stdout
    assert "The journal payers.csv.journal has 2 rows as done." in run.stdout


def test_a_file_has_one_corrections_file(onboard: Onboard) -> None:
    """It has personal data, and somebody may have corrected it; that of a corrections
    file has a number.
    """
    write_rows([*rows_of("once"), ROWS[0] | {"client_user_id": "once", "email": "y"}])
    runs = [onboard("payers.csv", "--dry-run") for _ in range(3)]
    runs.append(onboard("payers.csv"))
    runs.append(onboard("payers-corrections.csv", "--journal", "payers.csv.journal"))

    copies = {name for name in files() if re.search(r"corrections(-\d)?\.csv$", name)}
    assert {"payers-corrections.csv", "payers-corrections-2.csv"} == copies
    assert "payers-corrections.csv is there already" in runs[1].stdout


def test_the_command_line_names_its_own_options(
    manual: tuple[str, Client], onboard: Onboard
) -> None:
    """And what follows from an unknown row: to look at what is there."""
    rows = rows_of("unknown")
    write_rows(rows)
    SandboxControls(manual[1]).set_faults("reset_before=100%")
    try:
        lost = onboard("payers.csv", "--retry", "refused")
    finally:
        SandboxControls(manual[1]).set_faults("")
    report = Path("payers-report.csv").read_text("utf-8")

    assert 3 == lost.returncode
    assert "RunOptions" not in lost.stdout + report
    assert "payerkit onboard payers.csv --retry refused" in lost.stdout


@pytest.mark.skipif(os.name == "nt", reason="there are no such signals there")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_a_run_and_names_the_command_that_goes_on(
    name: str, manual: tuple[str, Client], service: dict[str, str], tmp_path: Path
) -> None:
    """What is under way ends, and the report is written."""
    rows = [
        ROWS[0]
        | {
            "client_user_id": f"{name}-{place}",
            "email": f"{name}{place}@example.com",
            "account_number": f"8800{place:06}",
        }
        for place in range(200)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "many.csv", index=False)
    command = [sys.executable, "-m", "payerkit", "onboard", "many.csv", "--rate", "20"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=os.environ | service,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        controls = SandboxControls(manual[1])
        began = time.monotonic()
        while f"{name}-0" not in set(controls.ledger()["client_user_id"]):
            assert time.monotonic() < began + 40
            time.sleep(0.1)
        process.send_signal(getattr(signal, name))
        output, _ = process.communicate(timeout=40)

    assert 130 == process.returncode
    assert "The run stopped early: Interrupted" in output
    assert "To go on:\n  payerkit onboard many.csv --rate 20\n" in output
    assert (tmp_path / "many-report.csv").is_file()


@pytest.mark.parametrize(
    ("routes", "count"), [([], 3), (["eur-local"], 1), (["usd-local", "jpy-swift"], 2)]
)
def test_the_template_can_be_filled_in(
    routes: list[str], count: int, onboard: Onboard
) -> None:
    """`--template` prints a table with a row for each route, which `onboard` takes once
    the examples are replaced.
    """
    printed = onboard("--template", *routes)
    Path("mine.csv").write_text(printed.stdout, "utf-8")
    as_it_is = onboard("mine.csv", "--dry-run")
    Path("mine.csv").write_text(
        printed.stdout.replace("example-payer-", "mine-"), "utf-8"
    )
    run = onboard("mine.csv", "--dry-run")

    assert (0, 0, payerkit.tables.template(*routes)) == (
        printed.returncode,
        run.returncode,
        printed.stdout,
    )
    assert (
        f"mine.csv: {count} row{'s' * (count > 1)} below the header in row 1."
        in run.stdout
    )
    assert (3, True) == (
        as_it_is.returncode,
        "The example row of the template." in as_it_is.stdout,
    )


def test_the_template_is_written_to_a_file(onboard: Onboard) -> None:
    """`--output` writes a workbook, which is not overwritten."""
    first, second = (
        onboard("--template", "eur-local", "--output", "accounts.xlsx")
        for _ in range(2)
    )

    assert (0, 1) == (first.returncode, second.returncode)
    assert "accounts.xlsx exists already" in second.stderr
    assert (
        "client_user_id: The example row"
        in onboard("accounts.xlsx", "--dry-run").stdout
    )


@table("onboard_refused")
@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_a_table_that_cannot_be_sent_is_told(
    content: list[str] | None,
    arguments: list[str],
    words: str,
    options: list[str],
    onboard: Onboard,
) -> None:
    """What is no table ends with 1 and a message, before any service is asked."""
    if content is not None:
        Path("payers.csv").write_text("".join(f"{line}\n" for line in content))
    run = onboard(*arguments, *options, PAYERKIT_BASE_URL="http://127.0.0.1:9")

    assert (1, True) == (run.returncode, words in run.stderr)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--links", "lost/links.csv"], "--links: there is no folder lost"),
        (["--report", "lost/report.csv"], "--report: there is no folder lost"),
        (["--links", "payers.csv"], "--links: payers.csv is already the file of FILE"),
        (
            ["--report", "./payers.csv"],
            "--report: payers.csv is already the file of FILE",
        ),
        (
            ["--links", "payers.csv.journal"],
            "--links: payers.csv.journal is already the file of --journal",
        ),
        (
            ["--links", "payers-report.csv"],
            "--links: payers-report.csv is already the file of --report",
        ),
    ],
)
def test_no_file_of_a_run_replaces_another(
    options: list[str], words: str, onboard: Onboard
) -> None:
    """The table and the journal are not written over: without the journal, the next run
    would send all rows again.
    """
    write_rows(ROWS)
    before = Path("payers.csv").read_bytes()
    run = onboard("payers.csv", *options, PAYERKIT_BASE_URL="http://127.0.0.1:9")

    assert (1, True) == (run.returncode, words in run.stderr)
    assert before == Path("payers.csv").read_bytes()
    assert {"payers.csv"} == files()


@pytest.mark.skipif(os.name != "posix", reason="links are POSIX's")
@pytest.mark.parametrize("option", ["--report", "--links"])
def test_a_result_that_would_go_through_a_link_is_refused_before_the_run(
    option: str, onboard: Onboard
) -> None:
    """After the run it would be too late to say so."""
    write_rows(ROWS)
    Path("link.csv").symlink_to("elsewhere.csv")
    run = onboard(
        "payers.csv", option, "link.csv", PAYERKIT_BASE_URL="http://127.0.0.1:9"
    )

    assert 1 == run.returncode
    assert f"{option}: path: link.csv is a symbolic link" in run.stderr
    assert {"payers.csv"} == {name for name in files() if name != "link.csv"}


def test_a_dry_run_writes_its_report_and_names_the_next_command(
    onboard: Onboard,
) -> None:
    """The report has hints and a line per row; the command is the one that was typed,
    without --dry-run.
    """
    write_rows([ROWS[0], ROWS[1] | {"email": "=1+1"}])
    run = onboard("payers.csv", "--dry-run", "--rate", "5")
    report = pd.read_csv("payers-plan.csv", dtype=str, keep_default_na=False)

    assert (3, ["2", "3"], ["to_send", "not_sent"]) == (
        run.returncode,
        list(report["row"]),
        list(report["state"]),
    )
    assert report["reason"][1].endswith(
        "Not an e-mail address. Write it as name@example.com."
    )
    assert [
        "Next",
        "  Correct 1 row in payers-corrections.csv, then look again:",
        (
            "    payerkit onboard payers-corrections.csv --rate 5 --dry-run --journal"
            " payers.csv.journal"
        ),
        (
            "  Send the other 1 row, or first a few to try. The same command sends the"
            " rest later."
        ),
        "    payerkit onboard payers.csv --rate 5 --limit 3",
        "    payerkit onboard payers.csv --rate 5",
    ] == run.stdout.splitlines()[-6:]


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_a_report_that_cannot_be_written_does_not_lose_the_summary(
    options: list[str], onboard: Onboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as on a full disk: what was done is printed, and the exit code says that
    something is missing.
    """
    write_rows(ROWS)
    for module in ("runs.report", "cli.onboard"):
        monkeypatch.setattr(f"payerkit.{module}.save_rows", _full)
    run = onboard("payers.csv", *options, "--links", "links.csv")

    assert (1, True) == (run.returncode, "3 rows" in run.stdout)
    assert (
        "No space left on device. It was not written. If it is open in another program,"
        " close it" in run.stderr
    )
    assert ("links.csv: No space left" in run.stderr) == (not options)


def _full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.slow
def test_onboard_waits_for_payers_and_writes_their_links(onboard: Onboard) -> None:
    """`--accounts when-compliant` ends with 3 while accounts wait, and `--links` has
    the pages that payers need.
    """
    write_rows(ROWS)
    options = ("payers.csv", "--accounts", "when-compliant", "--links", "links.csv")
    with payerkit.sandbox(seed=1, decide_after=0) as client:
        service = {
            "PAYERKIT_BASE_URL": client.base_url,
            "PAYERKIT_API_KEY": client.reveal_key(),
        }
        run = onboard(*options, **service)

    links = pd.read_csv("links.csv", dtype=str)
    first, *_, last = run.stdout.splitlines()
    assert (3, "3 rows: 3 waiting.") == (run.returncode, first)
    assert "Links of payers, personal data: links.csv" == last
    assert [row["client_user_id"] for row in ROWS] == links["client_user_id"].to_list()
    assert links["kyc_url"].str.startswith(service["PAYERKIT_BASE_URL"]).all()
    assert [] == [
        row for row in ROWS if row["client_user_id"] in run.stdout + run.stderr
    ]


SHARED = QUICKSTART.with_name("12-share-a-sandbox.ipynb")


def docker_command() -> list[str]:
    """Return the words of the command."""
    text = "\n".join(cell.source for cell in nbformat.read(SHARED, as_version=4).cells)
    (found,) = re.findall(r"```bash\n(docker run .*)\n```", text)
    return shlex.split(found)


def options(words: list[str], name: str) -> list[str]:
    """Return the values of an option."""
    return [value for option, value in pairwise(words) if option == name]


def test_the_command_serves_the_port_and_the_folder_that_it_names() -> None:
    """The published port is the one on which the sandbox listens, and its database is
    in the volume.
    """
    words = docker_command()
    inner = words[-1]

    assert ["8765:8765"] == options(words, "-p")  # the default port
    assert ("sh", "-c") == tuple(words[-3:-1])
    assert all(
        f"--db {volume.partition(':')[2]}/" in inner for volume in options(words, "-v")
    )
    assert "pip install --quiet 'payerkit[sandbox]' && exec payerkit sandbox " in inner


def test_copies_never_replace_work(tmp_path: Path) -> None:
    """What a folder lacks is copied; what a person has written stays."""
    source, folder = tmp_path / "shipped", tmp_path / "a" / "work"
    for path in (
        source / "00.ipynb",
        source / "01.ipynb",
        source / "pictures" / "a.png",
        folder / "00.ipynb",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine" if path.is_relative_to(folder) else "new")

    assert [folder / "01.ipynb", folder / "pictures" / "a.png"] == lab.copy_notebooks(
        source, folder
    )
    assert ["mine", "new"] == [
        (folder / name).read_text() for name in ("00.ipynb", "01.ipynb")
    ]


@pytest.mark.parametrize("first", [lab.FIRST, docs.FIRST])
def test_shipped_notebooks_are_there(first: str) -> None:
    """What the two commands open is among what is shipped."""
    assert (lab.shipped_notebooks() / first).is_file()


def test_jupyterlab_asks_for_no_news(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The defaults of JupyterLab, as it reads them, fetch no news; the folders of a
    user's configuration stay.
    """
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", lab.config_path(str(tmp_path)))
    read: Any = ConfigManager(config_dir_name="labconfig")

    assert [str(tmp_path / "labconfig")] == read.read_config_path[:1]
    assert {"fetchNews": "false", "checkForUpdates": False} == read.get(
        "default_setting_overrides"
    ).get("@jupyterlab/apputils-extension:notification")
