"""The instrument sees what stock ipywidgets do wrong in a real JupyterLab, so that tests of better forms can fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from browser.jupyter_pages import Jupyter, NotebookPage, write_notebook
from browser.traces import find_text

pytestmark = pytest.mark.browser_all

TYPED = "987-65-4321"
IMPORT = "import ipywidgets as w"
BARE = "display(w.HTML('<input>'), w.Button(description='Go'))"
LIST = "w.Dropdown(options=['a', 'b'], description='Kind')"
TEXT = "field = w.Text(description='SSN')\ndisplay(field)"


@pytest.fixture(scope="module")
def stock(browser: Browser, lab: Jupyter) -> Iterator[NotebookPage]:
    """Open a page with stock controls; a test of it may put cells below, where no other test looks."""
    (lab.folder / "stock").mkdir()
    write_notebook(lab.folder / "stock" / "stock.ipynb", IMPORT, TEXT, BARE, LIST)
    with lab.open(browser, "stock/stock.ipynb") as opened:
        opened.run_all()
        opened.save()
        yield opened


def test_sees_what_is_saved(stock: NotebookPage) -> None:
    """A value typed into a stock field is in the frames of both directions, the file and its checkpoint."""
    stock.run_cell(1, expect=1)
    mark = stock.frames.mark()
    stock.control("SSN").press_sequentially(TYPED)
    stock.wait_idle()
    saved = stock.save()

    assert {"sent comm_msg", "received comm_msg"} == set(stock.frames.leaks(TYPED, mark))
    assert TYPED == stock.ask("field.value").strip("'")
    assert "widgets" in saved["metadata"]
    assert [".ipynb_checkpoints/stock-checkpoint.ipynb", "stock.ipynb"] == find_text(stock.path.parent, TYPED)


def test_sees_a_key_that_reaches_jupyterlab(stock: NotebookPage) -> None:
    """A letter pressed on a stock drop-down list makes a cell; one typed into a text field does not."""
    typed = stock.press("SSN", "b")
    before, after = stock.press("Kind", "b")

    assert typed[0] == typed[1]
    assert before.count("code[") + 1 == after.count("code[")


def test_sees_a_field_without_a_label(stock: NotebookPage) -> None:
    """A bare input is a violation, and nothing else of the stock controls is."""
    assert ["label"] == [violation.split(":")[0] for violation in stock.violations()]


def test_finds_a_text_however_it_is_written(tmp_path: Path) -> None:
    """Hidden files, UTF-16 and escaped JSON are read; a folder that is not there is no clean folder."""
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "wide").write_bytes(b"\0" + "Müller".encode("utf-16"))
    (tmp_path / "escaped").write_text(json.dumps("Müller"))
    (tmp_path / "other").write_text("Muller")

    assert [".hidden/wide", "escaped"] == find_text(tmp_path, "Müller")
    with pytest.raises(NotADirectoryError):
        find_text(tmp_path / "absent", "Müller")
