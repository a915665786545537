"""The forms as a person meets them: real keys in a real JupyterLab, in headless
Chromium.
"""

from __future__ import annotations

from playwright.sync_api import expect

from browser.form_states import enter, fill_payer, focused, form_of
from browser.jupyter_pages import NotebookPage
from published import TYPED_ACCOUNT, TYPED_PAYER


@form_of("payer")
def test_a_reply_takes_the_focus_from_no_button(notebook: NotebookPage) -> None:
    """Somebody may be at the button before the kernel has read the last field."""
    email = notebook.control("E-mail address")
    email.fill("payer@example.com")
    button = notebook.page.get_by_role("button", name="Register the payer")
    button.focus()
    notebook.wait_idle()
    wrong = notebook.ask("[each.field for each in form.findings]")

    assert ("email" in wrong, "button go") == (False, focused(notebook))


@form_of("payer")
def test_errors_stand_beside_their_field_when_it_is_left(
    notebook: NotebookPage,
) -> None:
    """Nothing is said while a person types; then it is, for eyes and for screen
    readers, until it is corrected.
    """
    email = notebook.control("E-mail address")
    email.press_sequentially("john.doe")
    notebook.wait_idle()
    before = email.get_attribute("aria-invalid")
    email.press("Tab")
    expect(notebook.page.get_by_text("Not an e-mail address.")).to_be_visible()
    described = str(email.get_attribute("aria-describedby")).split()
    words = [notebook.page.locator(f"#{each}").text_content() for each in described]

    assert ("false", "true", "true") == (
        before,
        email.get_attribute("aria-invalid"),
        email.get_attribute("aria-required"),
    )
    assert "Not an e-mail address. Write it as name@example.com." in " ".join(
        map(str, words)
    )
    enter(notebook, "E-mail address", "john.doe@example.com")
    expect(notebook.page.get_by_text("Not an e-mail address.")).to_have_count(0)


@form_of("payer")
def test_a_failed_submission_leads_to_the_bad_fields(notebook: NotebookPage) -> None:
    """An empty form lists the fields that need attention, beside each what it wants,
    and a line leads there.
    """
    notebook.control("Register the payer").click()
    expect(notebook.page.get_by_role("alert")).to_have_text(
        "✗14 fields need attention. Nothing was sent."
    )
    notebook.wait_idle()
    seen = (focused(notebook), notebook.page.locator(".payerkit .notes .error").count())
    notebook.page.get_by_role("button", name="Enter the city.").click()

    assert ("banner pk-error", 14) == seen
    assert "city" == focused(notebook)


@form_of("payer")
def test_a_warning_is_sent_by_one_deliberate_press(notebook: NotebookPage) -> None:
    """The button holds back once, and shows the answers with the warning; "Send anyway"
    sends.
    """
    fill_payer(notebook)
    enter(notebook, "Postcode", "1220")
    notebook.control("Register the payer").click()
    expect(notebook.control("Send anyway")).to_be_visible()
    held_back = notebook.ask("form.result")
    notebook.control("Send anyway").click()

    expect(notebook.page.locator(".banner [role=status]")).to_contain_text(
        "Payer registered."
    )
    assert "" == held_back.strip().removeprefix("None")


@form_of("bank")
def test_a_double_click_adds_one_account(notebook: NotebookPage) -> None:
    """A double click shows the answers, and sends nothing; one on *Send* is one
    submission.
    """
    notebook.ask(f"form.fill({TYPED_ACCOUNT!r})")
    notebook.control("Store the account").dblclick()
    expect(notebook.page.get_by_text("Check your answers")).to_be_visible()
    notebook.wait_idle()
    assert "0" == notebook.ask("len(list_payment_details(client, 'user-123'))")
    notebook.control("Send").dblclick()
    expect(notebook.page.get_by_text("1 account", exact=True)).to_be_visible()
    notebook.wait_idle()

    assert "1" == notebook.ask("len(list_payment_details(client, 'user-123'))")


@form_of("times out")
def test_whoever_goes_on_is_left_alone(notebook: NotebookPage) -> None:
    """An answer that comes while somebody types elsewhere does not take the focus
    away.
    """
    notebook.control("Store the account").click()
    notebook.control("Send").click()
    notebook.page.locator(".jp-Cell .cm-content").nth(1).click()
    notebook.page.keyboard.press("End")
    notebook.page.keyboard.type(" + 2" * 30, delay=30)
    expect(notebook.control("Look at the accounts")).to_be_visible()

    expect(notebook.page.locator(".jp-Cell .cm-content").nth(1)).to_contain_text(
        " + 2" * 30
    )


@form_of("payer")
def test_a_reload_keeps_what_was_typed(notebook: NotebookPage) -> None:
    """While the kernel lives, a form that is drawn anew has its values back, secrets as
    held, and what was found.
    """
    enter(notebook, "City", "Albany")
    enter(notebook, "Social security number", TYPED_PAYER["ssn"])
    enter(notebook, "E-mail address", "nobody")
    notebook.save()
    notebook.reload()
    expect(notebook.control("City")).to_have_value("Albany")
    expect(notebook.control("Social security number")).to_have_attribute(
        "placeholder", "Entered, not shown"
    )

    expect(notebook.page.get_by_text("Not an e-mail address.")).to_be_visible()
