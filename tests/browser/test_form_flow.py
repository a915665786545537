"""The course of a form as a person meets it: looking at the answers, sending, and what
comes after.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from browser.form_states import SOURCES, form_of
from browser.jupyter_pages import Jupyter, NotebookPage, write_notebook


@form_of("filled bank")
def test_a_person_checks_the_answers_and_sends(notebook: NotebookPage) -> None:
    """With the keyboard alone: Enter shows the answers, a link leads back to a field,
    and Send sends.
    """
    page = notebook.page
    notebook.control("City").press("Enter")
    expect(page.get_by_role("heading", name="Check your answers")).to_be_focused()
    expect(page.get_by_text("••••4550")).to_be_visible()
    page.get_by_role("button", name="Change City").press("Enter")
    expect(notebook.control("City")).to_be_focused()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("Albany")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Check your answers")).to_be_focused()
    expect(page.get_by_text("Albany")).to_be_visible()
    notebook.control("Send").press("Enter")
    expect(page.locator(".banner [role=status]")).to_contain_text("Account stored.")

    expect(page.locator(".banner")).to_be_focused()
    assert "1" == notebook.ask("len(list_payment_details(client, 'user-123'))")


def send(notebook: NotebookPage) -> None:
    """Look at the answers and send them, and wait until the form says so."""
    notebook.control("Store the account").click()
    notebook.control("Send").click()
    expect(notebook.page.get_by_text("Sending …").first).to_be_visible()


@form_of("closes")
def test_a_cell_leads_past_no_look(notebook: NotebookPage) -> None:
    """A cell that fills in a field while it is unknown whether the account was stored
    does not bring back the button that stores it.
    """
    notebook.control("Store the account").click()
    notebook.control("Send").click()
    expect(notebook.control("Look at the accounts")).to_be_visible()
    notebook.ask("form.fill(bank_name='Another Bank')")
    notebook.wait_idle()

    expect(notebook.control("Look at the accounts")).to_be_visible()
    expect(notebook.control("Store the account")).to_have_count(0)


@form_of("stores slowly")
def test_run_all_behind_a_press_sends_nothing_more(notebook: NotebookPage) -> None:
    """A cell that submits the form learns that it is being sent, or was."""
    notebook.rewrite(f"{SOURCES['stores slowly']}form", "form.submit()")
    send(notebook)
    notebook.run_cell(1)
    expect(notebook.page.get_by_text("Account stored.")).to_be_visible()

    assert "sent." in notebook.output(1)
    assert "['GET', 'POST', 'GET']" == notebook.ask(
        "[each.method for each in far_end.ledger]"
    )


@form_of("refused payer")
def test_what_is_typed_in_another_window_survives(
    notebook: NotebookPage, lab: Jupyter, browser: Browser
) -> None:
    """The response to what one window sends does not take what somebody types in
    another one.
    """
    notebook.save()
    with lab.open(browser, notebook.path.name, keep=True) as second:
        city = second.control("City")
        city.click()
        city.press("ControlOrMeta+a")
        city.press_sequentially("Alb")
        notebook.control("Register the payer").click()
        expect(second.page.get_by_text("Sending …").first).to_be_visible()
        expect(
            second.page.get_by_text("The service refused the request.").first
        ).to_be_visible()
        expect(city).to_have_value("Alb")
        second.wait_idle()
    notebook.control("City").focus()

    assert "'Alb'" == notebook.ask("form._entries.text('city')")


@form_of("slow look-up")
def test_what_is_typed_while_accounts_are_looked_up_survives(
    notebook: NotebookPage,
) -> None:
    """A field that is left, and one that is not, keep what was typed; the kernel takes
    it when the look is over.
    """
    notebook.control("Way of payment").select_option("account")
    notebook.control("Payer").press_sequentially("user-123")
    notebook.control("Look up").click()
    expect(notebook.page.get_by_text("Looking up the accounts …")).to_be_visible()
    notebook.control("Amount").press_sequentially("10")
    notebook.control("Payment currency").press_sequentially("fUSDC")
    expect(notebook.page.get_by_text("2 accounts can be paid.")).to_be_visible()
    expect(notebook.control("Amount")).to_have_value("10")
    expect(notebook.control("Payment currency")).to_have_value("fUSDC")
    notebook.wait_idle()

    assert "'10'" == notebook.ask("form._entries.text('amount')")


@form_of("filled payment")
def test_a_page_follows_what_a_cell_does(notebook: NotebookPage) -> None:
    """The page shows what a cell sends, and the focus of a person whose field goes away
    is on the banner.
    """
    notebook.control("Amount").focus()
    notebook.ask("form.submit()")
    expect(notebook.page.get_by_text("The transactions are here.")).to_be_visible()

    expect(notebook.page.locator(".banner")).to_be_focused()


@form_of("filled bank")
def test_keys_that_are_held_down_send_nothing(notebook: NotebookPage) -> None:
    """Ctrl+Enter shows the answers, and sends them only when it is pressed once
    more.
    """
    keyboard = notebook.page.keyboard
    notebook.control("City").focus()
    keyboard.down("Control")
    keyboard.down("Enter")
    expect(
        notebook.page.get_by_role("heading", name="Check your answers")
    ).to_be_focused()
    keyboard.down("Enter")  # the browser repeats a key that was not released
    notebook.wait_idle()
    before = notebook.ask("len(list_payment_details(client, 'user-123'))")
    keyboard.up("Enter")
    keyboard.press("Enter")
    keyboard.up("Control")
    expect(notebook.page.get_by_text("Account stored.")).to_be_visible()

    assert ("0", "1") == (
        before,
        notebook.ask("len(list_payment_details(client, 'user-123'))"),
    )


@pytest.fixture(scope="module")
def without_subshells(lab: Jupyter, browser: Browser) -> Iterator[NotebookPage]:
    """Open a page whose forms are handled in the kernel's main thread, the only one
    that an interrupt reaches, and that a busy cell holds up.
    """
    settings = "@jupyterlab/apputils-extension/kernels-settings.jupyterlab-settings"
    file = lab.private / "config" / "lab" / "user-settings" / settings
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('{"commsOverSubshells": "disabled"}', "utf-8")
    write_notebook(lab.folder / "main-thread.ipynb", "", "")
    try:
        with lab.open(browser, "main-thread.ipynb", viewport=(1280, 1600)) as page:
            yield page
    finally:
        file.unlink()


def test_an_interrupt_ends_a_send_and_a_person_looks(
    without_subshells: NotebookPage,
) -> None:
    """It says at once that it sends, and has no field; an interrupt leaves an unknown
    outcome.
    """
    notebook = without_subshells
    page = notebook.page
    notebook.draw(f"{SOURCES['hangs, then found']}form", expect=4)
    send(notebook)
    expect(page.get_by_text("To stop it, interrupt the kernel.")).to_be_visible()
    expect(notebook.control("City")).to_be_hidden()
    page.evaluate("probe.kernel().interrupt().then(() => 0)")
    expect(page.locator(".banner [role=status]")).to_contain_text(
        "It is not known whether the account was stored."
    )
    notebook.control("Look at the accounts").click()
    expect(page.locator(".banner [role=status]")).to_contain_text(
        "1 new account: ••••4550 at Typed Bank"
    )

    assert ("'98127364550'", "True") == (
        notebook.ask("form.result.id"),
        notebook.ask("form.done"),
    )


def test_clicks_in_two_windows_send_once(
    without_subshells: NotebookPage, lab: Jupyter, browser: Browser
) -> None:
    """Both wait in the queue of a busy kernel: the second was made before the form
    showed what came of the first.
    """
    notebook = without_subshells
    notebook.draw(f"{SOURCES['filled bank']}form", expect=4)
    notebook.control("Store the account").click()
    expect(notebook.control("Send")).to_be_visible()
    notebook.save()
    with lab.open(browser, notebook.path.name, keep=True) as second:
        expect(second.control("Send")).to_be_visible()
        notebook.execute("import time; time.sleep(2)")
        for window in (notebook, second):
            window.control("Send").click()
        for window in (notebook, second):
            expect(window.page.get_by_text("1 account", exact=True)).to_be_visible()
        second.wait_idle()

    assert "1" == notebook.ask("len(list_payment_details(client, 'user-123'))")
