"""Saved files: whole or untouched, for their owner alone, and never through a link."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from example_payments import GOOD
from payerkit import InvalidInput, PaymentPolicy, disk, plan_onboarding
from payerkit.cli.main import main
from payerkit.payments import write_safe_files
from payerkit.tables.spreadsheets import template
from published import PAYER

SAFE = "0x111CEEee040739fD91D29C34C33E6B3E112F2177"
BOOK = "[addresses]\nrent = '0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7'\n" * 50
Save = Callable[[Path], object]

POSIX = pytest.mark.skipif(os.name != "posix", reason="modes and links are POSIX's")

REPLACING: dict[str, Save] = {
    "policy": lambda path: PaymentPolicy(batch_fee="0.3").save(path),
    "payment": GOOD["token"].save,
    "card": lambda path: GOOD["token"].card().save(path),
    "Safe file": lambda path: GOOD["token"].to_safe(path, safe=SAFE),
    "plan": lambda path: plan_onboarding(pd.DataFrame([PAYER])).save(path),
}
"""What replaces an existing file."""

PRIVATE = {"plan"}
"""What also takes an existing file away from others: it holds personal data."""


def save_template(path: Path) -> object:
    """Write a template."""
    return template("usd-local", path=path)


def save_corrections(path: Path) -> object:
    """Write the rows of a plan with something to correct."""
    rows = pd.DataFrame([PAYER | {"email": "john.doe"}])
    return plan_onboarding(rows).save_corrections(path)


NEW: dict[str, tuple[str, Save]] = {
    "template": ("new.csv", save_template),
    "template for Excel": ("new.xlsx", save_template),
    "corrections": ("new.csv", save_corrections),
    "corrections for Excel": ("new.xlsx", save_corrections),
}
"""What is only written where there is no file, with the name of such a file."""


@pytest.mark.parametrize("save_new", [save_template, save_corrections])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("taken.csv", "exists already"),  # it may be filled in
        ("a.ods", r"expected a .* file, got a\.ods"),
        ("missing/a.csv", "there is no folder .*missing"),
    ],
)
def test_a_new_file_replaces_nothing(
    name: str, words: str, save_new: Save, tmp_path: Path
) -> None:
    """Nothing is written where a file is, where no folder is, or of another kind."""
    (tmp_path / "taken.csv").write_text("mine")
    with pytest.raises(InvalidInput, match=words):
        save_new(tmp_path / name)

    assert ["mine"] == [file.read_text() for file in tmp_path.iterdir()]


def mode_of(path: Path) -> int:
    """Return who may read and write a file."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=REPLACING)
def save(request: pytest.FixtureRequest) -> Save:
    """Each way to save a file that may exist."""
    return REPLACING[request.param]


def fail_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the disk be full, which it says when it has to keep what was written."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(disk, "sync_file", full)


@pytest.mark.parametrize("old", [BOOK, None])
def test_a_full_disk_leaves_what_was_there(
    save: Save, old: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of a file may still read as a valid one, such as a policy without its
    address book.
    """
    path = tmp_path / "saved"
    if old is not None:
        path.write_text(old, "utf-8")
    fail_to_write(monkeypatch)
    with pytest.raises(OSError, match="No space left") as caught:
        save(path)

    assert str(path) == caught.value.filename
    assert ([] if old is None else [path]) == [*tmp_path.iterdir()]
    assert old is None or old == path.read_text("utf-8")


@pytest.mark.parametrize(("name", "save_new"), NEW.values(), ids=[*NEW])
def test_a_full_disk_leaves_no_part_of_a_new_file(
    name: str, save_new: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the file nor what was written beside it stays."""
    fail_to_write(monkeypatch)
    with pytest.raises(OSError, match="No space left"):
        save_new(tmp_path / name)

    assert [] == [*tmp_path.iterdir()]


LIMITED = """
import resource, signal, sys
from payerkit import PaymentPolicy
policy = PaymentPolicy(addresses={"0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7": "x"})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
policy.save(sys.argv[1])
"""
"""A program that may write no file of more than 20 bytes."""


@POSIX
def test_a_write_that_stops_in_the_middle_leaves_what_was_there(
    tmp_path: Path,
) -> None:
    """The system takes the first 20 bytes of the policy, and refuses the others."""
    path = tmp_path / "policy.toml"
    path.write_text(BOOK, "utf-8")
    run = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert "File too large" in run.stderr
    assert (BOOK, [path]) == (path.read_text("utf-8"), [*tmp_path.iterdir()])


@POSIX
@pytest.mark.parametrize("name", REPLACING)
def test_an_existing_file_keeps_its_mode(name: str, tmp_path: Path) -> None:
    """A team that shares a policy keeps sharing it; a new file is its owner's alone."""
    new, shared = tmp_path / "new", tmp_path / "shared"
    shared.write_text("old", "utf-8")
    shared.chmod(0o640)
    for path in (new, shared):
        REPLACING[name](path)

    assert 0o600 == mode_of(new)
    assert mode_of(shared) == (0o600 if name in PRIVATE else 0o640)
    assert "old" != shared.read_text("utf-8")


@POSIX
@pytest.mark.parametrize(("name", "save_new"), NEW.values(), ids=[*NEW])
def test_a_new_file_is_its_owners(name: str, save_new: Save, tmp_path: Path) -> None:
    """What is filled in later is personal data."""
    save_new(tmp_path / name)

    assert [0o600] == [mode_of(path) for path in tmp_path.iterdir()]


@POSIX
@pytest.mark.parametrize("target", ["policy.toml", "nowhere"])
def test_a_symbolic_link_is_refused(save: Save, target: str, tmp_path: Path) -> None:
    """Whoever placed it chose where the answer or the address book would go."""
    (tmp_path / "policy.toml").write_text(BOOK, "utf-8")
    link = tmp_path / "link"
    link.symlink_to(target)
    with pytest.raises(InvalidInput, match="path: link is a symbolic link"):
        save(link)

    assert link.is_symlink()
    assert BOOK == (tmp_path / "policy.toml").read_text("utf-8")
    assert not (tmp_path / "nowhere").exists()


@POSIX
def test_a_folder_of_safe_files_may_hold_no_link(tmp_path: Path) -> None:
    """The files of many payments are saved as that of one is."""
    (tmp_path / "safe-sepolia.json").symlink_to("elsewhere")
    with pytest.raises(InvalidInput, match=r"safe-sepolia\.json is a symbolic link"):
        write_safe_files([GOOD["token"]], tmp_path, safe=SAFE)


def test_a_name_of_excel_makes_a_workbook(tmp_path: Path) -> None:
    """It holds what the CSV file does, also text that Excel would compute, or that no
    workbook may hold.
    """
    plan = plan_onboarding(pd.DataFrame([PAYER | {"clientUserId": "=1+1\x07"}]))
    plan.save(tmp_path / "plan.csv")
    plan.save(tmp_path / "plan.xlsx")
    workbook = pd.read_excel(tmp_path / "plan.xlsx")

    assert pd.read_csv(tmp_path / "plan.csv").columns.tolist() == [*workbook.columns]
    assert ["'=1+1\\x07"] == workbook["client_user_id"].tolist()


@pytest.mark.parametrize(
    "write",
    [REPLACING["plan"], save_template, save_corrections],
)
def test_a_workbook_needs_openpyxl(
    write: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it, the message says how to install it, or to write a CSV file."""
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(
        ImportError, match=r"pip install openpyxl, or write a \.csv file"
    ):
        write(tmp_path / "new.xlsx")

    assert [] == [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("name", "more"), [("payers", []), ("payers.csv", ["--report", "report.xlsx"])]
)
def test_a_command_that_writes_a_workbook_needs_openpyxl_first(
    name: str,
    more: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A run does not fail at its end, when its rows were sent."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame([PAYER]).to_csv(name, index=False)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    code = main(["onboard", name, *more])

    assert (1, "pip install openpyxl" in capsys.readouterr().err) == (code, True)


@POSIX
def test_what_is_no_file_is_refused(save: Save, tmp_path: Path) -> None:
    """A folder or a pipe is not replaced by a file."""
    folder, pipe = tmp_path / "folder", tmp_path / "pipe"
    folder.mkdir()
    os.mkfifo(pipe)
    for path in (folder, pipe):
        with pytest.raises(InvalidInput, match=f"path: {path.name} is not a file"):
            save(path)

    assert {folder, pipe} == {*tmp_path.iterdir()}


@POSIX
def test_a_read_only_file_stays(
    save: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To replace it needs no right to write it, but its owner meant it to stay.

    Root may write everything, so the system is asked as it would answer another user.
    """
    path = tmp_path / "saved"
    path.write_text(BOOK, "utf-8")
    path.chmod(0o400)
    if os.geteuid() == 0:
        monkeypatch.setattr(os, "access", lambda *_, **__: False)
    with pytest.raises(PermissionError):
        save(path)

    assert BOOK == path.read_text("utf-8")
