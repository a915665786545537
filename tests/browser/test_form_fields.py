"""The fields of the forms as a person meets them: lists, secrets, readings, and what follows currency and type."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from browser.form_states import enter, field, focused, form_of, press, write
from browser.jupyter_pages import NotebookPage
from published import TYPED_ACCOUNT, TYPED_PAYER

IBAN = "GB29NWBK60161331926819"
MISTYPED_IBAN = "GB29NWBK60161331926818"

RAILS = "How the money travels (rails)"


def said(notebook: NotebookPage) -> str:
    """Return what the form told screen readers last."""
    return str(notebook.page.locator(".payerkit .spoken").text_content()).strip()


def options_of(notebook: NotebookPage, label: str) -> Locator:
    """Return the options of a list of suggestions."""
    return notebook.page.get_by_role("listbox", name=f"{label}: choices").get_by_role("option")


@pytest.mark.browser_all
@form_of("bank")
def test_a_currency_brings_its_rails_and_fields(notebook: NotebookPage) -> None:
    """Whoever types rupees gets the rails and the fields of an account in India, and types its number once, visibly."""
    write(notebook, "Currency", "indian rup").press("Tab")
    expect(notebook.control("IFSC")).to_be_visible()
    expect(
        notebook.page.get_by_text("INR over swift rails usually needs account number, SWIFT/BIC and IFSC.")
    ).to_be_visible()
    chosen = (notebook.control("Currency").input_value(), notebook.control(RAILS).input_value(), focused(notebook))
    notebook.wait_idle()
    told = said(notebook)
    number = write(notebook, "Account number", "050100123456789")
    typed = (number.input_value(), number.get_attribute("type"))
    notebook.control("Bank name").focus()
    expect(number).to_have_attribute("placeholder", "••••6789")

    assert ("INR", "swift", "rails") == chosen
    assert told == "Fields added: Account number, SWIFT/BIC, IFSC."
    assert typed == ("0501 0012 3456 789", "text")
    assert number.input_value() == ""
    assert "050100123456789" in notebook.ask("form._entries._values['account_number'].get_secret_value()")
    expect(notebook.page.get_by_text("Chosen as usual: the service lists INR over swift rails.")).to_be_visible()


@pytest.mark.browser_all
@form_of("bank")
def test_another_currency_shows_other_fields(notebook: NotebookPage) -> None:
    """No field that holds a value is hidden, rails that somebody chose stay, and the rest is one click away."""
    enter(notebook, "Currency", "USD")
    expect(notebook.control("Routing number")).to_be_visible()
    expect(notebook.control("IBAN")).to_be_hidden()
    enter(notebook, "Account number", "12345678")
    notebook.control(RAILS).select_option("wire")
    enter(notebook, "Currency", "EUR")
    expect(notebook.control("IBAN")).to_be_visible()
    expect(notebook.control("Routing number")).to_be_hidden()
    expect(notebook.control("Account number")).to_be_visible()

    assert "wire" == notebook.control(RAILS).input_value()
    notebook.page.get_by_role("button", name="More fields").click()
    expect(notebook.control("BSB number")).to_be_visible()


@pytest.mark.browser_all
@form_of("bank")
def test_an_account_number_can_be_corrected_until_it_is_sent(notebook: NotebookPage) -> None:
    """A mistyped IBAN is masked when it is left, comes back where it was typed, and no attribute of the page has it."""
    enter(notebook, "Currency", "EUR")
    iban = write(notebook, "IBAN", MISTYPED_IBAN)
    notebook.control("Bank name").focus()
    expect(notebook.page.get_by_text("The check digits do not match")).to_be_visible()
    left = (iban.input_value(), iban.get_attribute("placeholder"))
    page = notebook.page.locator(".payerkit").evaluate("form => form.outerHTML")
    iban.focus()
    back = iban.input_value()
    iban.press("End")
    iban.press("Backspace")
    iban.press("9")
    notebook.control("Bank name").focus()
    expect(notebook.page.get_by_text("The check digits do not match")).to_have_count(0)

    assert ("", "••••6818") == left
    assert "GB29 NWBK 6016 1331 9268 18" == back
    assert "6133" not in page
    assert IBAN in notebook.ask("form._entries._values['iban'].get_secret_value()")


@pytest.mark.browser_all
@form_of("bank")
def test_a_page_forgets_a_number_that_was_sent_or_replaced(notebook: NotebookPage) -> None:
    """The field then has nothing to correct: it shows what the kernel holds, masked, or nothing."""
    notebook.ask(f"form.fill({TYPED_ACCOUNT!r})")
    number = write(notebook, "Account number", "1234567890")
    notebook.control("City").focus()
    expect(number).to_have_attribute("placeholder", "••••7890")
    notebook.ask("form.fill(account_number='98127364550')")
    expect(number).to_have_attribute("placeholder", "••••4550")
    number.focus()
    replaced = number.input_value()
    write(notebook, "Account number", "1234567890")
    notebook.control("City").focus()
    notebook.wait_idle()
    notebook.ask("form.submit()")
    notebook.ask(f"form.clear(); form.fill({TYPED_ACCOUNT!r})")
    expect(number).to_be_visible()
    number.focus()

    assert ("", "") == (replaced, number.input_value())


@pytest.mark.browser_all
@pytest.mark.parametrize(
    ("keys", "shown", "caret"),
    [
        ([], "1234 5678 90", 12),
        (["Backspace"], "1234 5678 9", 11),
        (["Backspace", "Backspace"], "1234 5678", 9),  # the blank goes with the character
        (["Home", *["ArrowRight"] * 5, "Backspace"], "1235 6789 0", 3),  # behind a blank: the character before it
        (["Home", *["ArrowRight"] * 4, "Delete"], "1234 6789 0", 4),  # before a blank: the character behind it
        (["Home", *["ArrowRight"] * 4, "0"], "1234 0567 890", 6),
        (["Home", *["ArrowRight"] * 2, "0", "0"], "1200 3456 7890", 5),
        (["End", "-"], "1234567890-", 11),  # hyphens are groups of their own
        (["ControlOrMeta+a", "Delete"], "", 0),
    ],
)
@form_of("bank")
def test_the_caret_stays_where_a_person_types(notebook: NotebookPage, keys: list[str], shown: str, caret: int) -> None:
    """Grouping in fours moves no digit and no caret, also in the middle of a number."""
    notebook.page.get_by_role("button", name="More fields").click()
    number = write(notebook, "Account number", "1234567890")
    for key in keys:
        number.press(key)

    assert (shown, caret) == (number.input_value(), number.evaluate("input => input.selectionStart"))


@pytest.mark.browser_all
@form_of("bank")
def test_a_pasted_number_is_grouped(notebook: NotebookPage) -> None:
    """Blanks of a bank statement are neither doubled nor sent."""
    notebook.page.get_by_role("button", name="More fields").click()
    number = notebook.control("IBAN")
    number.focus()
    notebook.page.keyboard.insert_text("GB29  NWBK6016\u00a01331 9268 19 ")
    pasted = number.input_value()
    number.press("Enter")
    notebook.wait_idle()

    assert "GB29 NWBK 6016 1331 9268 19" == pasted
    assert IBAN in notebook.ask("form._entries._values['iban'].get_secret_value()")


@pytest.mark.browser_all
@form_of("payer")
def test_a_secret_is_taken_and_not_shown_again(notebook: NotebookPage) -> None:
    """It is hidden unless it is shown on purpose, leaves the field at once, and can be dropped or typed anew."""
    ssn = write(notebook, "Social security number", TYPED_PAYER["ssn"])
    hidden = ssn.get_attribute("type")
    ssn.press("Tab")  # to the switch, which is no other field
    notebook.page.keyboard.press("Space")
    shown = (ssn.get_attribute("type"), ssn.input_value())
    notebook.control("City").focus()
    taken = (ssn.get_attribute("type"), ssn.input_value(), ssn.get_attribute("placeholder"))
    notebook.wait_idle()
    ssn.focus()
    again = ssn.input_value()
    notebook.control("Clear Social security number").click()
    expect(notebook.page.get_by_text("Enter the social security number.")).to_be_visible()

    assert "password" == hidden
    assert ("text", TYPED_PAYER["ssn"]) == shown
    assert ("password", "", "Entered, not shown") == taken
    assert "" == again
    assert "ssn" == focused(notebook)


@pytest.mark.browser_all
@form_of("payer")
def test_labels_and_fields_follow_the_type(notebook: NotebookPage) -> None:
    """A company is asked for what only companies have, and one that has a value stays when the type changes."""
    expect(notebook.control("Company")).to_be_hidden()
    notebook.control("Payer type").select_option("business")
    for label in ("Company", "Date of incorporation", "Registration or tax number", "Source of funds"):
        expect(notebook.control(label)).to_be_visible()
    told = said(notebook)
    enter(notebook, "Company", "Example GmbH")
    notebook.control("Payer type").select_option("individual")
    expect(notebook.control("Date of birth")).to_be_visible()
    expect(notebook.control("Source of funds")).to_be_hidden()

    expect(notebook.control("Company")).to_be_visible()
    assert "Fields added: Company, Source of funds, Business activity." == told


@pytest.mark.browser_all
@pytest.mark.parametrize(
    ("typed", "key", "value", "next_field"),
    [
        ("germ", "Tab", "DE", "address_line1"),  # the only one
        ("germ", "Enter", "DE", "country"),
        ("us", "Tab", "US", "address_line1"),  # exactly, though others contain it
        ("Atlantis", "Enter", "Atlantis", "country"),  # none
    ],
)
@pytest.mark.parametrize("pause", [0, 400])
@form_of("payer")
def test_tab_and_enter_take_what_is_meant(
    notebook: NotebookPage, pause: int, typed: str, key: str, value: str, next_field: str
) -> None:
    """The same before the list is there and with it open; Enter sends nothing, and nothing else is taken."""
    country = write(notebook, "Country", typed)
    notebook.page.wait_for_timeout(pause)
    country.press(key)
    notebook.wait_idle()

    assert (value, next_field) == (country.input_value(), focused(notebook))
    expect(options_of(notebook, "Country").first).to_be_hidden()
    expect(notebook.page.get_by_text("need attention")).to_have_count(0)


@pytest.mark.browser_all
@pytest.mark.parametrize("pause", [0, 400])
@form_of("bank")
def test_tab_asks_to_choose_one_of_several(notebook: NotebookPage, pause: int) -> None:
    """The list stays open and says how many match; a second Tab leaves the field, so that no key is trapped."""
    currency = write(notebook, "Currency", "pound")
    notebook.page.wait_for_timeout(pause)
    currency.press("Tab")
    expect(notebook.page.get_by_text("Nine match: choose one").filter(visible=True).first).to_be_visible()
    place, count = focused(notebook), options_of(notebook, "Currency").count()
    currency.press("Tab")
    notebook.wait_idle()

    assert ("currency", 9) == (place, count)
    assert "currency" != focused(notebook)


@pytest.mark.browser_all
@form_of("payer")
def test_tab_takes_a_reading_that_can_be_undone(notebook: NotebookPage) -> None:
    """Labels and examples follow the country, a phone number is read by it, and a click brings back what was typed."""
    enter(notebook, "Country", "GB")
    expect(field(notebook, "County")).to_have_attribute("placeholder", "e.g. Greater London")
    enter(notebook, "Phone number", "020 7946 0018")
    phone = field(notebook, "Phone number")
    expect(phone).to_have_value("+442079460018")
    expect(notebook.page.get_by_text("Read as +442079460018.")).to_be_visible()
    press(notebook, "Undo")
    expect(phone).to_have_value("020 7946 0018")
    expect(notebook.page.get_by_role("button", name="Use +442079460018")).to_be_visible()


@pytest.mark.browser_all
@form_of("payment")
def test_a_list_has_arrows_and_an_end_that_is_told(notebook: NotebookPage) -> None:
    """Arrows, Home and End move, Escape closes, Enter takes without sending, and the arrow at the field opens."""
    currency = notebook.control("Payment currency")
    options = options_of(notebook, "Payment currency")
    notebook.control("Payment currency: show choices").click()
    expect(notebook.page.locator(".foot").get_by_text("more: keep typing")).to_be_visible()
    count = options.count()
    chosen = notebook.page.locator("[role=option][aria-selected=true]")
    keys = ["ArrowDown", "ArrowDown", "ArrowUp", "End", "Home", "ArrowUp"]
    moved = []
    for key in keys:
        currency.press(key)
        moved.append(int(str(currency.get_attribute("aria-activedescendant")).rpartition("l")[2]))
        expect(chosen).to_be_in_viewport()
    currency.press("Escape")
    expect(options.first).to_be_hidden()
    write(notebook, "Payment currency", "sepolia usdc")
    expect(options.first).to_be_visible()
    notebook.wait_idle()
    currency.press("ArrowDown")
    code = chosen.get_attribute("data-code")
    currency.press("Enter")

    assert [0, 1, 0, count - 1, 0, count - 1] == moved
    assert (code, "payment_currency") == (currency.input_value(), focused(notebook))
    expect(notebook.page.get_by_text("need attention")).to_have_count(0)


@pytest.mark.browser_all
@form_of("payer")
def test_a_list_at_the_bottom_opens_upwards(notebook: NotebookPage) -> None:
    """No part of a list is outside of the window."""
    notebook.page.set_viewport_size({"width": 700, "height": 700})
    country = notebook.control("Country")
    country.evaluate("input => input.scrollIntoView({block: 'end'})")
    country.click()
    expect(options_of(notebook, "Country").first).to_be_visible()
    last = notebook.page.locator(".choices:popover-open .foot").bounding_box()

    assert last
    assert last["y"] + last["height"] <= 700
