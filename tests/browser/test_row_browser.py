"""The row browser as a person meets it: real keys in a real JupyterLab, in headless Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from browser.jupyter_pages import NotebookPage

START = f"import sys; sys.path.append({str(Path(__file__).parent.parent)!r})\nfrom example_reports import *\n"
REPORT = START + "report = example_report('.')\nreport.browse()"


@pytest.fixture
def notebook(opened_notebook: NotebookPage) -> NotebookPage:
    """Browse a report of 120 rows."""
    page = opened_notebook
    page.page.set_viewport_size({"width": 1280, "height": 1400})
    page.ask("import os\nif os.path.exists('example.journal'): os.remove('example.journal')")
    page.draw(REPORT)
    expect(rows(page).first).to_be_visible()
    return page


def rows(notebook: NotebookPage) -> Locator:
    """Return the rows of the page that is shown."""
    return notebook.page.locator(".jp-OutputArea-output tbody tr")


def status(notebook: NotebookPage) -> Locator:
    """Return what the browser says."""
    return notebook.page.locator(".jp-OutputArea-output .rows [role=status]")


@pytest.mark.browser_all
def test_a_person_finds_rows_with_the_keyboard(notebook: NotebookPage) -> None:
    """A state, a search and a page: the focus stays where it was, and no key reaches JupyterLab."""
    page, before = notebook.page, notebook.cells()
    page.get_by_role("button", name="refused 16").focus()
    page.keyboard.press("Enter")
    expect(rows(notebook)).to_have_count(16)
    expect(page.get_by_role("button", name="refused 16")).to_be_focused()
    expect(page.get_by_role("button", name="refused 16")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Space")
    expect(rows(notebook)).to_have_count(50)

    notebook.control("Search").focus()
    page.keyboard.type("user-01")
    expect(rows(notebook)).to_have_count(10)
    expect(status(notebook)).to_have_text("10 of 120 rows found.")
    for _ in "user-01":
        page.keyboard.press("Backspace")
    expect(rows(notebook)).to_have_count(50)
    expect(notebook.control("Search")).to_be_focused()

    page.get_by_role("button", name="Next").focus()
    for place in ("Rows 51 to 100 of 120", "Rows 101 to 120 of 120", "Rows 101 to 120 of 120"):
        page.keyboard.press("Enter")
        expect(page.get_by_text(place)).to_be_visible()
    expect(page.get_by_role("button", name="Next")).to_be_focused()
    page.get_by_role("button", name="client user id").press("Enter")
    expect(rows(notebook).first.locator("th")).to_have_text("1")
    expect(page.get_by_role("button", name="client user id")).to_be_focused()
    for key in "bmxdd":
        page.keyboard.press(key)

    assert before == notebook.cells()


@pytest.mark.browser_all
def test_a_reply_during_a_click_does_not_undo_it(notebook: NotebookPage) -> None:
    """What is pressed when the reply to an earlier click arrives is still there when it is let go."""
    page = notebook.page
    page.get_by_role("button", name="refused 16").hover()
    page.mouse.down()
    page.evaluate("document.querySelector('.rows .region th:last-child button').click()")
    notebook.wait_idle()
    page.mouse.up()

    expect(rows(notebook)).to_have_count(16)
    expect(page.get_by_role("button", name="refused 16")).to_have_attribute("aria-pressed", "true")


@pytest.mark.browser_all
@pytest.mark.parametrize("width", [1280, 700])
def test_the_browser_is_accessible(notebook: NotebookPage, width: int) -> None:
    """Axe finds nothing in three themes, and nothing stands out at the side."""
    notebook.page.set_viewport_size({"width": width, "height": 1400})
    notebook.page.get_by_role("button", name="refused 16").click()
    expect(rows(notebook)).to_have_count(16)

    assert [] == notebook.look_closely(".rows", ".rows .region")
