"""The instrument sees what stock ipywidgets do wrong in a real JupyterLab, so that tests of better forms can fail."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from browser.jupyter_pages import THEMES, Jupyter, NotebookPage, Theme, write_notebook
from browser.traces import Frame, find_text, read_frame

pytestmark = pytest.mark.browser_all

TYPED = "987-65-4321"
IMPORT = "import ipywidgets as w"
BARE = "display(w.HTML('<input>'), w.Button(description='Go'))"
LIST = "w.Dropdown(options=['a', 'b'], description='Kind')"
COLOURS = """() => ['--jp-border-color1', '--jp-layout-color1', '--jp-ui-font-color1', '--jp-error-color1']
  .map(name => getComputedStyle(document.body).getPropertyValue(name)).concat(document.body.dataset.jpThemeLight)"""
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


def test_sees_that_nothing_is_saved(browser: Browser, lab: Jupyter) -> None:
    """Where the state of widgets is not saved, a typed value is in no file, and the closed page leaves no kernel."""
    folder = lab.folder / "off"
    folder.mkdir()
    write_notebook(folder / "typed.ipynb", IMPORT, TEXT)
    with lab.open(browser, "off/typed.ipynb", save_state=False) as opened:
        opened.run_all()
        opened.control("SSN").press_sequentially(TYPED)
        opened.wait_idle()

        assert "widgets" not in opened.save()["metadata"]
        assert TYPED == opened.ask("field.value").strip("'")
    assert 2 == len(find_text(folder, "SSN"))
    assert [] == find_text(folder, TYPED) + find_text(lab.private, TYPED)
    assert "off/typed.ipynb" not in {session["path"] for session in lab.call("GET", "sessions")}


def test_sees_a_key_that_reaches_jupyterlab(stock: NotebookPage) -> None:
    """A letter pressed on a stock drop-down list makes a cell; one typed into a text field does not."""
    typed = stock.press("SSN", "b")
    before, after = stock.press("Kind", "b")

    assert typed[0] == typed[1]
    assert before.count("code[") + 1 == after.count("code[")


def test_sees_a_field_without_a_label(stock: NotebookPage) -> None:
    """A bare input is a violation, and nothing else of the stock controls is."""
    assert ["label"] == [violation.split(":")[0] for violation in stock.violations()]


def test_counts_what_a_cell_costs(stock: NotebookPage) -> None:
    """Running a cell again waits for its new controls, and counts the frames of both directions and the models."""
    models = stock.widget_models()
    mark = stock.frames.mark()
    shown = stock.run_cell(1, expect=1)
    frames = stock.frames.since(mark)

    assert 0 < shown.ms < 10_000
    assert {"sent", "received"} == {frame.direction for frame in frames}
    assert {"execute_request", "comm_open", "execute_reply"} <= {frame.msg_type for frame in frames}
    assert (len(frames), sum(frame.bytes for frame in frames)) == (shown.frames, shown.bytes)
    assert 1000 < shown.comm_bytes < shown.bytes
    assert models + 3 == stock.widget_models()  # a Text, its Layout and its Style


def test_refuses_controls_that_do_not_come(stock: NotebookPage) -> None:
    """Fewer controls than expected are an error, and not a long time."""
    with pytest.raises(TimeoutError, match="1 of 2 controls"):
        stock.run_cell(1, expect=2, limit=0.5)


def test_asks_a_kernel_and_waits_for_it(stock: NotebookPage) -> None:
    """Code without a cell gives its value or its error, and a kernel at work is waited for."""
    cells = stock.cells()
    started = time.monotonic()
    stock.execute("import time; time.sleep(0.5); done = True")
    stock.wait_idle()

    assert time.monotonic() - started > 0.5
    assert "printed\nTrue" == stock.ask("print('printed'); done")
    assert cells == stock.cells()
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        stock.ask("1 / 0")


def test_themes_change_live(stock: NotebookPage) -> None:
    """A theme that is worn has the colours that JupyterLab's own command gives, and an output keeps its text."""
    themes: list[Theme] = ["dark", "contrast", "light"]
    worn, switched = [], []
    for name in themes:
        stock.theme(name)
        worn.append(stock.page.evaluate(COLOURS))
    for name in themes:
        stock._command("apputils:change-theme", theme=THEMES[name])
        stock.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=THEMES[name])
        switched.append(stock.page.evaluate(COLOURS))

    assert 3 == len({json.dumps(each) for each in switched})
    assert switched == worn
    assert "Go" == stock.output(2)


def test_a_kernel_outlives_its_page(browser: Browser, lab: Jupyter, stock: NotebookPage) -> None:
    """A reload and a second window meet the kernel and its widgets; both ask this host only."""
    stock.run_cell(1, expect=1)
    stock.save()
    stock.ask("field.value = 'held'")
    with lab.open(browser, "stock/stock.ipynb", keep=True, viewport=(640, 480), scheme="dark") as second:
        assert "held" == second.control("SSN").input_value()
    stock.reload()

    assert "held" == stock.control("SSN").input_value()
    assert {"127.0.0.1"} == stock.hosts | second.hosts
    stock.page.evaluate("fetch('http://elsewhere.invalid').catch(() => null)")
    assert {"127.0.0.1", "elsewhere.invalid"} == stock.hosts


def test_finds_a_text_however_it_is_written(tmp_path: Path) -> None:
    """Hidden files, UTF-16 and escaped JSON are read; a folder that is not there is no clean folder."""
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "wide").write_bytes(b"\0" + "Müller".encode("utf-16"))
    (tmp_path / "escaped").write_text(json.dumps("Müller"))
    (tmp_path / "other").write_text("Muller")

    assert [".hidden/wide", "escaped"] == find_text(tmp_path, "Müller")
    with pytest.raises(NotADirectoryError):
        find_text(tmp_path / "absent", "Müller")


def test_reads_frames_of_the_older_protocol() -> None:
    """A frame of JSON tells the same as one of protocol v1."""
    text = json.dumps({"channel": "shell", "header": {"msg_type": "comm_msg"}, "content": {"data": 1}})

    assert Frame("sent", "shell", "comm_msg", len(text), {"data": 1}) == read_frame("sent", text)
