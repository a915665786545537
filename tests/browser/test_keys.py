"""Keys on every control of the forms, in JupyterLab and in Notebook 7: none is taken
for a command of the notebook.

Both run commands on plain keys, such as `b` (new cell below), `d d` (delete the cell)
and Shift+Enter (run it, which draws the form anew, without what was typed).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ElementHandle, expect

from browser.form_states import STATES, State, form
from browser.jupyter_pages import Jupyter, NotebookPage, write_notebook
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


@pytest.fixture(scope="module")
def notebook_7(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[NotebookPage]:
    """Open a page of Notebook 7 for all tests that rewrite its two cells."""
    folder = tmp_path_factory.mktemp("notebook-7")
    write_notebook(folder / "keys.ipynb", "", "")
    with (
        Jupyter(folder, app="notebook") as running,
        running.open(browser, "keys.ipynb") as page,
    ):
        yield page


@pytest.fixture(params=["lab", pytest.param("notebook", marks=pytest.mark.soak)])
def page(request: pytest.FixtureRequest) -> NotebookPage:
    """Give a page of either application; a form's link may not open more than pages of
    this machine.

    Both hear keys in the same way. CI tries the keys of a form in Notebook 7 in
    `test_widget_host.py`.
    """
    fixture = {"lab": "opened_notebook", "notebook": "notebook_7"}[request.param]
    opened: NotebookPage = request.getfixturevalue(fixture)
    return opened


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
def test_no_letter_reaches_the_notebook(page: NotebookPage, name: str) -> None:
    """On whatever can have the focus, no letter or arrow changes a cell."""
    state(name).show(page)

    assert "" == letters_reach(page)


@table("form_controls")
def test_no_press_reaches_the_notebook(
    page: NotebookPage, name: str, where: str
) -> None:
    """Whatever Enter, Space, Escape and their like do to a control, no cell runs, and
    the form is not drawn anew.
    """
    reached, as_drawn = [], ""
    for key in PRESSES:
        if (
            not as_drawn or form(page).inner_html() != as_drawn
        ):  # a press that changed nothing leaves the state
            state(name).show(page)
            as_drawn = form(page).inner_html()
        reached.append(
            press_keys(
                page,
                form(page).locator(where).filter(visible=True).first.element_handle(),
                [key],
            )
        )
        page.wait_idle()

    assert [] == [*filter(None, reached)]
