"""The dry run of a messy workbook: a stored text that somebody would want to read, and what follows from it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from messy_payers import write_messy_payers
from payerkit.cli import main as cli

DATA = Path(__file__).with_name("data")
COMMAND = "onboard messy.xlsx --dry-run --holder-is-payer --column Bemerkung="


@pytest.mark.parametrize(("options", "stored"), [("", "messy_plan.txt"), (" --normalise", "messy_plan_normalised.txt")])
def test_a_dry_run_reads_like_help(
    options: str, stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Read the stored text, and judge it, before you store another one."""
    monkeypatch.chdir(tmp_path)
    write_messy_payers(Path("messy.xlsx"))

    assert 3 == cli.main(shlex.split(COMMAND + options))
    assert DATA.joinpath(stored).read_text("utf-8") == capsys.readouterr().out


def test_nothing_personal_is_in_the_texts() -> None:
    """Neither what was found, nor what it would become."""
    texts = "".join(DATA.joinpath(name).read_text("utf-8") for name in ("messy_plan.txt", "messy_plan_normalised.txt"))

    assert [] == [word for word in ("M\u00fcller", "Ines", "1212555", "31.12", "ines@", "253009") if word in texts]
