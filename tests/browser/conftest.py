"""What tests in the browser share: Chromium, one JupyterLab, and one page of it whose
cells are rewritten.

All of it ends with the last test of this folder: Playwright's event loop would be in
the way of other tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from browser.chromium import CHROMIUM, open_browser
from browser.form_states import SOURCES
from browser.jupyter_pages import Jupyter, NotebookPage, write_notebook


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Run the distribution's Chromium."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (Debian: chromium)")
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of JupyterLab's notebooks, in which nothing typed stands
    yet.
    """
    return tmp_path_factory.mktemp("notebooks")


@pytest.fixture(scope="package")
def lab(folder: Path) -> Iterator[Jupyter]:
    """Run one JupyterLab."""
    with Jupyter(folder) as running:
        yield running


@pytest.fixture(scope="package")
def opened_notebook(
    lab: Jupyter, browser: Browser, folder: Path
) -> Iterator[NotebookPage]:
    """Open one notebook for all tests that rewrite its two cells."""
    write_notebook(folder / "rewritten.ipynb", "", "")
    with lab.open(browser, "rewritten.ipynb") as page:
        yield page


@pytest.fixture
def notebook(
    opened_notebook: NotebookPage, request: pytest.FixtureRequest
) -> Iterator[NotebookPage]:
    """Draw the form of the test anew, with a sandbox of its own, and hold that only
    this machine was asked.
    """
    page = opened_notebook
    page.page.set_viewport_size({"width": 1280, "height": 2500})
    page.draw(f"{SOURCES[request.param]}form", expect=4)
    yield page

    assert page.hosts <= {"127.0.0.1", "localhost"}
