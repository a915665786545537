"""What surrounds a form: its kernel, the notebook that keeps its response, the steps of
a Walkthrough, boxes.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from browser.form_states import PAYER, SANDBOX, WALK, fill_payer, form_of
from browser.jupyter_pages import Jupyter, NotebookPage, write_notebook
from published import TYPED_PAYER

GONE = "so the values are gone. Run the cell again."
FIELDS = ".payerkit input:visible, .payerkit select:visible, .payerkit button:visible"


@form_of("payer")
@pytest.mark.parametrize(
    ("loss", "told"),
    [
        ("probe.kernel().restart()", "The kernel was restarted"),
        ("probe.panel().sessionContext.shutdown()", "The kernel was shut down"),
        (
            "probe.kernel().requestExecute({code: 'import os; os._exit(1)'}) && 0",
            "The kernel was restarted",
        ),
    ],
    ids=["restart", "shutdown", "crash"],
)
def test_a_form_that_lost_its_kernel_claims_nothing(
    notebook: NotebookPage, loss: str, told: str
) -> None:
    """It says what happened, above the fields and beside the buttons; what was typed
    can be read and copied, and no value is said to be held.
    """
    notebook.control("City").fill("Albany")
    notebook.control("Social security number").fill(TYPED_PAYER["ssn"])
    notebook.control("City").focus()
    notebook.wait_idle()
    notebook.page.evaluate(loss)
    expect(notebook.page.get_by_role("alert").get_by_text(GONE)).to_have_text(
        f"{told}, {GONE}"
    )
    expect(notebook.page.locator(".actions .told")).to_have_text(f"{told}, {GONE}")
    notebook.control("City").press("x")
    live = notebook.page.locator(FIELDS).evaluate_all(
        "all => all.filter(each => !each.disabled && !each.readOnly).length"
    )
    shown = notebook.page.locator(".payerkit form").first.evaluate(
        "form => [...form.elements].map(each => each.placeholder)"
    )
    if notebook.page.get_by_role("button", name="Ok", exact=True).is_visible():
        notebook.page.get_by_role("button", name="Ok", exact=True).click()
    notebook.page.evaluate("probe.panel().sessionContext.startKernel().then(() => 0)")
    notebook.page.wait_for_function("probe.idle()")

    assert ("Albany", 0) == (notebook.control("City").input_value(), live)
    assert not [text for text in shown if text and "not shown" in text]


@form_of("payer sent in vain")
def test_a_kernel_that_is_lost_while_it_sends_leaves_no_false_belief(
    notebook: NotebookPage,
) -> None:
    """What had left may have been done, and nobody will say so any more: the form
    does.
    """
    notebook.page.get_by_role("button", name="Register the payer").click()
    expect(notebook.page.get_by_text("Sending …").first).to_be_visible()
    notebook.page.evaluate("probe.kernel().restart()")
    expect(notebook.page.get_by_role("alert").get_by_text(GONE)).to_be_visible()
    expect(notebook.page.locator(".payerkit .banner")).to_contain_text(
        "It is not known whether the payer was registered."
    )
    notebook.ask(
        "'alive again'"
    )  # a page may miss that a restarted kernel is idle, until it is asked


def test_a_reopened_notebook_says_that_the_cell_has_to_run(
    lab: Jupyter, browser: Browser, folder: Path
) -> None:
    """Saved widget state without its kernel is a title and what to do; a form beside
    it, of a live kernel, is drawn.
    """
    write_notebook(folder / "dead.ipynb", f"{PAYER}form", f"{WALK}form")
    write_notebook(folder / "alive.ipynb", f"{PAYER}form")
    with lab.open(browser, "dead.ipynb", save_state=True) as page:
        page.run_all()
        page.save()
    with lab.open(browser, "dead.ipynb", save_state=True) as page:
        told = page.page.get_by_text(
            "Not connected to a kernel, so it holds no values. Run the cell again."
        )
        expect(told).to_have_count(4)
        expect(page.page.locator(FIELDS)).to_have_count(0)
        assert ["Payer", "Payer", "Account", "Payment"] == [
            each.locator("..").locator("b").text_content() for each in told.all()
        ]
        assert [] == page.violations()
        page.show("alive.ipynb")
        page.run_cell(0, expect=14)
        shown = page.run_cell(
            0, expect=14
        )  # the first time, a kernel imports everything
        lab._end_kernel("alive.ipynb")

        assert shown < 1400  # else it waited for code that the dead one had asked for


@form_of("payer")
def test_a_busy_kernel_is_told(notebook: NotebookPage) -> None:
    """A form takes nothing before it knows what the kernel holds, says so, and comes
    alive with the kernel.
    """
    shown = notebook.page.locator("form").nth(1)
    notebook.ask("form.fill(city='Albany')")
    notebook.rewrite(f"{PAYER}form", "import time\ndisplay(form)\ntime.sleep(4)")
    notebook.page.evaluate(
        "probe.panel().content.activeCellIndex = 1; probe.command(['notebook:run-cell',"
        " {}]); 0"
    )
    expect(
        notebook.page.get_by_text("The kernel is busy. Wait, or interrupt it.").last
    ).to_be_visible()
    shown.locator("input[name=city]").click(force=True)
    before = notebook.page.evaluate("document.activeElement.name ?? ''")
    expect(shown.locator("input[name=city]")).to_have_value("Albany")
    shown.locator("input[name=city]").click()

    assert "" == before
    expect(shown.locator("input[name=city]")).to_be_focused()
    expect(notebook.page.get_by_text("The kernel is busy.").last).to_be_hidden()


@form_of("payer")
def test_a_form_that_is_shown_can_be_resized(notebook: NotebookPage) -> None:
    """Its layout is followed at once, as that of any other widget."""
    notebook.ask("form.layout.width = '321px'")

    expect(notebook.page.locator(".payerkit").last).to_have_css("width", "321px")


@form_of("walk")
def test_the_tabs_of_a_walkthrough_can_be_reached_by_keyboard(
    notebook: NotebookPage,
) -> None:
    """Arrows move between them, Enter opens one, and no letter reaches the notebook."""
    tab = notebook.page.get_by_role("tab", name="1. Payer")
    tab.focus()
    before = notebook.cells()
    for key in ("b", "m", "d", "d", "x"):
        notebook.page.keyboard.press(key)
    after = notebook.cells()
    for key in ("ArrowRight", "Enter"):
        notebook.page.keyboard.press(key)
    expect(notebook.page.get_by_text("Register the payer first.")).to_be_visible()

    assert before == after


@form_of("payer")
def test_a_form_that_is_closed_is_gone_without_an_error(notebook: NotebookPage) -> None:
    """Also right after it was shown, before its page has said hello."""
    errors: list[str] = []
    notebook.page.on("pageerror", lambda error: errors.append(str(error)))
    notebook.rewrite(
        f"{PAYER}form", "other = PayerForm(client)\ndisplay(other)\nother.close()"
    )
    notebook.run_cell(1)
    notebook.ask("form.close()")
    notebook.wait_idle()

    expect(notebook.page.locator(".payerkit")).to_have_count(0)
    assert [] == errors


NESTED = (
    "import ipywidgets as w\nw.VBox([PaymentForm(client)])",
    "w.Tab([PaymentForm(client), PayerForm(client)], selected_index=1)",
    "w.Accordion([BankDetailsForm(client, 'user-1')], selected_index=0)",
)
KEYS = ["b", "m", "x", "d", "d", "1", "ArrowDown", "Escape", "Control+a", "Shift+Enter"]


def test_forms_work_in_notebook_7(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In its dark theme it draws the same form and sends it; and in boxes of
    ipywidgets, keys stay on every control.
    """
    folder = tmp_path_factory.mktemp("notebook-7")
    write_notebook(folder / "seven.ipynb", f"{PAYER}form", *NESTED)
    with (
        Jupyter(folder, app="notebook", theme="dark") as server,
        server.open(browser, "seven.ipynb") as page,
    ):
        shown = page.run_cell(0, expect=15)
        fill_payer(page)
        page.control("Register the payer").click()
        expect(page.page.get_by_text("not started").first).to_be_visible()
        saved = page.save()
        page.rewrite(SANDBOX)
        page.run_cell(0)
        for cell, fields in enumerate((4, 14, 8), start=1):
            page.run_cell(cell, expect=fields)
        taken = {}
        controls = page.page.locator(FIELDS).element_handles()
        for control in controls:
            control.focus()
            before = page.cells()
            for key in KEYS:
                page.page.keyboard.press(key)
            if page.cells() != before:
                name = control.evaluate("each => each.outerHTML")
                taken[name] = (before, page.cells())

        assert 1 < shown
        assert "widgets" in saved["metadata"]
        assert "JupyterLab Dark" == page.page.evaluate(
            "document.body.dataset.jpThemeName"
        )
        assert {} == taken
        assert len(controls) >= 28
