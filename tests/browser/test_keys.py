"""Keys on every control of the forms in JupyterLab: none is taken for a command of the
notebook.

It runs commands on plain keys, such as `b` (new cell below), `d d` (delete the cell)
and Shift+Enter (run it, which draws the form anew, without what was typed). So does
Notebook 7, in which `test_widget_host.py` tries them.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import ElementHandle, expect

from browser.form_states import STATES, State, form
from browser.jupyter_pages import NotebookPage
from cases import table

LETTERS = [
    "b",
    "m",
    "a",
    "d",
    "d",
    "x",
    "y",
    "1",
    "ArrowDown",
    "ArrowUp",
    "Control+a",
    "Control+z",
]
"""Keys that neither press a control nor close anything."""

PRESSES = ["Escape", "Space", "Enter", "Shift+Enter", "Control+Enter"]
"""Keys that may press a control, and then draw the others anew."""

CONTROLS = (
    'input, select, textarea, button, summary, a[href], [tabindex], [role="listbox"]'
)

FOCUS = """node => {
  const isThere = node.checkVisibility({visibilityProperty: true}) && !node.disabled;
  if (isThere && node.getRootNode().activeElement !== node) node.focus();
  return isThere;
}"""


def state(name: str) -> State:
    """Return the state with this name."""
    return next(each for each in STATES if each.name == name)


def press_keys(page: NotebookPage, control: ElementHandle, keys: list[str]) -> str:
    """Press keys on a control as long as it is there; return what became of the
    notebook, "" if nothing did.
    """
    drawn = form(page).element_handle()
    before = page.cells()
    for key in keys:
        if control.evaluate(FOCUS):
            page.page.keyboard.press(key)
    for opened in page.page.context.pages[1:]:  # of a link
        opened.close()
    after = page.cells()
    if after == before and drawn.evaluate("form => form.isConnected"):
        return ""
    return (
        f"{control.evaluate('node => node.outerHTML.slice(0, 80)')}: {before} became"
        f" {after}"
    )


def letters_reach(page: NotebookPage) -> str:
    """Press letters and arrows on whatever in the form can have the focus; return the
    first that reached a cell.
    """
    controls = form(page).locator(CONTROLS).element_handles()
    shown = [
        control
        for control in controls
        if control.is_visible() and not control.is_disabled()
    ]
    assert len(shown) >= 3
    return next(
        filter(None, (press_keys(page, control, LETTERS) for control in shown)), ""
    )


def test_a_key_that_reaches_jupyterlab_is_seen(opened_notebook: NotebookPage) -> None:
    """On a drop-down list of ipywidgets, a letter makes a cell: the tests below can
    fail.
    """
    opened_notebook.rewrite(
        "import ipywidgets\nipywidgets.Dropdown(options=['a', 'b'],"
        " description='Kind')",
        "1 + 1",
    )
    opened_notebook.run_cell(0, expect=1)
    before = opened_notebook.cells()
    opened_notebook.control("Kind").press("b")

    assert before.count("code[") + 1 == opened_notebook.cells().count("code[")


def test_no_letter_reaches_jupyterlab(opened_notebook: NotebookPage) -> None:
    """In a form for a payment, no letter changes a cell, nor Shift+Enter draws it anew;
    Ctrl+S saves the notebook.
    """
    state("empty-payment").show(opened_notebook)
    amount = (
        form(opened_notebook)
        .locator("input")
        .filter(visible=True)
        .first.element_handle()
    )

    assert "" == letters_reach(opened_notebook)
    assert "" == press_keys(opened_notebook, amount, ["Shift+Enter"])
    opened_notebook.wait_idle()  # what the reply changes has to be saved, too
    assert "" == press_keys(opened_notebook, amount, ["Control+s"])
    # Of its tab: a cell is marked so, too, if it has changed since it ran.
    expect(opened_notebook.page.locator(".lm-mod-current.jp-mod-dirty")).to_have_count(
        0
    )


@pytest.mark.parametrize(
    "name", ["errors", "more-fields", "review", "unknown", "done-payer", "walkthrough"]
)
def test_no_letter_reaches_the_notebook(
    opened_notebook: NotebookPage, name: str
) -> None:
    """On whatever can have the focus, no letter or arrow changes a cell."""
    state(name).show(opened_notebook)

    assert "" == letters_reach(opened_notebook)


@table("form_controls")
def test_no_press_reaches_the_notebook(
    opened_notebook: NotebookPage, name: str, where: str
) -> None:
    """Whatever Enter, Space, Escape and their like do to a control, no cell runs, and
    the form is not drawn anew.
    """
    page = opened_notebook
    reached = []
    as_drawn = ""
    for key in PRESSES:
        # A press that changed nothing leaves the state.
        if not as_drawn or form(page).inner_html() != as_drawn:
            state(name).show(page)
            as_drawn = form(page).inner_html()
        control = form(page).locator(where).filter(visible=True).first
        reached.append(press_keys(page, control.element_handle(), [key]))
        page.wait_idle()

    assert [] == [*filter(None, reached)]
