"""The working copy of the notebooks: never overwritten, a newer one beside it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.services.config import ConfigManager

from payerkit.cli import lab


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Give a folder with a shipped notebook."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    (folder / "00-quickstart.ipynb").write_text("version 1")
    (folder / "not-a-notebook.txt").write_text("x")
    return folder


def names(folder: Path) -> dict[str, str]:
    """Return what the notebooks of a folder hold."""
    return {file.name: file.read_text() for file in folder.glob("*.ipynb")}


def test_first_copy(source: Path, tmp_path: Path) -> None:
    """Notebooks, and nothing else, are copied to a folder that is made."""
    made = lab.copy_notebooks(source, tmp_path / "a" / "b")

    assert (["00-quickstart.ipynb"], {"00-quickstart.ipynb": "version 1"}) == (
        [file.name for file in made],
        names(tmp_path / "a" / "b"),
    )


def test_work_is_never_overwritten(source: Path, tmp_path: Path) -> None:
    """What a person changed stays, however often the command is run."""
    folder = tmp_path / "work"
    lab.copy_notebooks(source, folder)
    (folder / "00-quickstart.ipynb").write_text("my work")

    assert ([], {"00-quickstart.ipynb": "my work"}) == (lab.copy_notebooks(source, folder), names(folder))


def test_a_newer_notebook_is_laid_beside_once(source: Path, tmp_path: Path) -> None:
    """A new version comes under a new name, once; the next one under the next."""
    folder = tmp_path / "work"
    for version in ("version 1", "version 2", "version 2", "version 3"):
        (source / "00-quickstart.ipynb").write_text(version)
        lab.copy_notebooks(source, folder)

    assert {
        "00-quickstart.ipynb": "version 1",
        "00-quickstart-new.ipynb": "version 2",
        "00-quickstart-new-2.ipynb": "version 3",
    } == names(folder)


def test_a_file_of_the_same_name_is_left_alone(source: Path, tmp_path: Path) -> None:
    """A notebook that was there before the first copy is somebody's work."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "00-quickstart.ipynb").write_text("mine from before")
    lab.copy_notebooks(source, folder)

    assert names(folder)["00-quickstart.ipynb"] == "mine from before"


def test_a_deleted_copy_comes_back(source: Path, tmp_path: Path) -> None:
    """Whoever wants a fresh copy deletes theirs."""
    lab.copy_notebooks(source, tmp_path / "work")
    (tmp_path / "work" / "00-quickstart.ipynb").unlink()

    assert 1 == len(lab.copy_notebooks(source, tmp_path / "work"))


@pytest.mark.parametrize("damaged", ["", "{", "[]"])
def test_a_damaged_record_harms_nothing(source: Path, tmp_path: Path, damaged: str) -> None:
    """Without its memory, the command touches nothing that is there."""
    folder = tmp_path / "work"
    lab.copy_notebooks(source, folder)
    (folder / "00-quickstart.ipynb").write_text("my work")
    (folder / ".payerkit.json").write_text(damaged)

    assert ([], {"00-quickstart.ipynb": "my work"}) == (lab.copy_notebooks(source, folder), names(folder))


def test_shipped_notebooks_are_there() -> None:
    """The quickstart that the command opens is among what is shipped."""
    assert (lab.shipped_notebooks() / lab.FIRST).is_file()


def test_jupyterlab_asks_for_no_news(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The defaults of JupyterLab, as it reads them, fetch no news; the folders of a user's configuration stay."""
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", lab.config_path(str(tmp_path)))
    read: Any = ConfigManager(config_dir_name="labconfig")

    assert [str(tmp_path / "labconfig")] == read.read_config_path[:1]
    assert {"fetchNews": "false", "checkForUpdates": False} == read.get("default_setting_overrides").get(
        "@jupyterlab/apputils-extension:notification"
    )


@pytest.mark.parametrize(
    ("platform", "display", "has_one"),
    [("linux", "", False), ("linux", ":0", True), ("darwin", "", True), ("win32", "", True)],
)
def test_a_browser_opens_where_there_is_a_display(
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    display: str,
    has_one: bool,
) -> None:
    """Without a display no browser is started; a text browser would take the terminal."""
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)

    assert has_one == lab.has_display()
