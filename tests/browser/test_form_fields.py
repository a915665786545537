"""The fields of the forms as a person meets them: lists, secrets, readings, and what
follows currency and type.
"""

from __future__ import annotations

from playwright.sync_api import expect

from browser.form_states import enter, field, focused, form_of, press, write
from browser.jupyter_pages import NotebookPage
from published import TYPED_ACCOUNT, TYPED_PAYER

IBAN = "GB29NWBK60161331926819"
MISTYPED_IBAN = "GB29NWBK60161331926818"

RAILS = "How the money travels (rails)"


def said(notebook: NotebookPage) -> str:
    """Return what the form told screen readers last."""
    return str(notebook.page.locator(".payerkit .spoken").text_content()).strip()


@form_of("bank")
def test_a_currency_brings_its_rails_and_fields(notebook: NotebookPage) -> None:
    """Whoever types rupees gets the rails and the fields of an account in India, and
    types its number once, visibly.
    """
    write(notebook, "Currency", "indian rupee").press("Tab")
    expect(notebook.control("IFSC")).to_be_visible()
    expect(
        notebook.page.get_by_text(
            "INR over swift rails usually needs account number, SWIFT/BIC and IFSC."
        )
    ).to_be_visible()
    chosen = (
        notebook.control("Currency").input_value(),
        notebook.control(RAILS).input_value(),
        focused(notebook),
    )
    notebook.wait_idle()
    told = said(notebook)
    number = write(notebook, "Account number", "050100123456789")
    typed = (number.input_value(), number.get_attribute("type"))
    notebook.control("Bank name").focus()
    expect(number).to_have_attribute("placeholder", "••••6789")

    assert ("INR", "swift", "rails") == chosen
    assert told == "Fields added: Account number, SWIFT/BIC, IFSC."
    assert typed == ("050100123456789", "text")
    assert number.input_value() == ""
    assert "050100123456789" in notebook.ask(
        "form._entries._values['account_number'].get_secret_value()"
    )
    expect(
        notebook.page.get_by_text(
            "Chosen as usual: the service lists INR over swift rails."
        )
    ).to_be_visible()


@form_of("bank")
def test_another_currency_shows_other_fields(notebook: NotebookPage) -> None:
    """No field that holds a value is hidden, rails that somebody chose stay, and the
    rest is one click away.
    """
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


@form_of("bank")
def test_an_account_number_can_be_corrected_until_it_is_sent(
    notebook: NotebookPage,
) -> None:
    """A mistyped IBAN is masked when it is left, comes back where it was typed, and no
    attribute of the page has it.
    """
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
    assert MISTYPED_IBAN == back
    assert "6133" not in page
    assert IBAN in notebook.ask("form._entries._values['iban'].get_secret_value()")


@form_of("bank")
def test_a_page_forgets_a_number_that_was_sent_or_replaced(
    notebook: NotebookPage,
) -> None:
    """The field then has nothing to correct: it shows what the kernel holds, masked, or
    nothing.
    """
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


@form_of("bank")
def test_blanks_of_a_pasted_number_are_not_sent(notebook: NotebookPage) -> None:
    """A bank statement has groups of four."""
    notebook.page.get_by_role("button", name="More fields").click()
    number = notebook.control("IBAN")
    number.focus()
    notebook.page.keyboard.insert_text("GB29  NWBK6016\u00a01331 9268 19 ")
    number.press("Enter")
    notebook.wait_idle()

    assert IBAN in notebook.ask("form._entries._values['iban'].get_secret_value()")


@form_of("payer")
def test_a_secret_is_taken_and_not_shown_again(notebook: NotebookPage) -> None:
    """It is hidden unless it is shown on purpose, leaves the field at once, and can be
    dropped or typed anew.
    """
    ssn = write(notebook, "Social security number", TYPED_PAYER["ssn"])
    hidden = ssn.get_attribute("type")
    ssn.press("Tab")  # to the switch, which is no other field
    notebook.page.keyboard.press("Space")
    shown = (ssn.get_attribute("type"), ssn.input_value())
    notebook.control("City").focus()
    taken = (
        ssn.get_attribute("type"),
        ssn.input_value(),
        ssn.get_attribute("placeholder"),
    )
    notebook.wait_idle()
    ssn.focus()
    again = ssn.input_value()
    notebook.control("Clear Social security number").click()
    expect(
        notebook.page.get_by_text("Enter the social security number.")
    ).to_be_visible()

    assert "password" == hidden
    assert ("text", TYPED_PAYER["ssn"]) == shown
    assert ("password", "", "Entered, not shown") == taken
    assert "" == again
    assert "ssn" == focused(notebook)


@form_of("payer")
def test_labels_and_fields_follow_the_type(notebook: NotebookPage) -> None:
    """A company is asked for what only companies have, and one that has a value stays
    when the type changes.
    """
    expect(notebook.control("Company")).to_be_hidden()
    notebook.control("Payer type").select_option("business")
    for label in (
        "Company",
        "Date of incorporation",
        "Registration or tax number",
        "Source of funds",
    ):
        expect(notebook.control(label)).to_be_visible()
    told = said(notebook)
    enter(notebook, "Company", "Example GmbH")
    notebook.control("Payer type").select_option("individual")
    expect(notebook.control("Date of birth")).to_be_visible()
    expect(notebook.control("Source of funds")).to_be_hidden()

    expect(notebook.control("Company")).to_be_visible()
    assert "Fields added: Company, Source of funds, Business activity." == told


@form_of("payer")
def test_tab_takes_a_reading_that_can_be_undone(notebook: NotebookPage) -> None:
    """Labels and examples follow the country, a phone number is read by it, and a click
    brings back what was typed.
    """
    enter(notebook, "Country", "GB")
    expect(field(notebook, "County")).to_have_attribute(
        "placeholder", "e.g. Greater London"
    )
    enter(notebook, "Phone number", "020 7946 0018")
    phone = field(notebook, "Phone number")
    expect(phone).to_have_value("+442079460018")
    expect(notebook.page.get_by_text("Read as +442079460018.")).to_be_visible()
    press(notebook, "Undo")
    expect(phone).to_have_value("020 7946 0018")
    expect(
        notebook.page.get_by_role("button", name="Use +442079460018")
    ).to_be_visible()


TYPED = [
    ("Country", "germany", "DE"),  # the name of one
    ("Country", "Atlantis", "Atlantis"),  # of none
    ("Nationality", "us", "us"),  # a code in small letters, which is sent as typed
]


@form_of("payer")
def test_a_name_is_read_as_its_code(notebook: NotebookPage) -> None:
    """When the field is left; a text that means nothing stays as it is."""
    for label, typed, value in TYPED:
        enter(notebook, label, typed)

        expect(notebook.control(label)).to_have_value(value)


@form_of("payment")
def test_a_list_suggests_codes_with_their_names(notebook: NotebookPage) -> None:
    """The browser's own list has them all, and the chosen one is told by its name."""
    options = notebook.control("Payment currency").evaluate(
        "input => [...input.list.options].map(each => [each.value, each.label])"
    )
    enter(notebook, "Payment currency", "fUSDC-sepolia")
    notebook.wait_idle()

    assert ["ETH-sepolia-sepolia", "ETH on Sepolia (test network)"] in options
    expect(notebook.page.get_by_text("fUSDC on Sepolia (test network)")).to_be_visible()


NO_STATE = "Enter the region. If {} has none, enter the city again."
NO_POSTCODE = "Enter the postcode. If {} has none, enter 00000."
WITHOUT = [
    ("SG", "state", NO_STATE.format("Singapore")),
    ("HK", "state", NO_STATE.format("Hong Kong SAR China")),
    ("DK", "state", NO_STATE.format("Denmark")),
    ("HK", "postcode", NO_POSTCODE.format("Hong Kong SAR China")),
    ("AE", "postcode", NO_POSTCODE.format("United Arab Emirates")),
    ("SG", "postcode", "Enter the postcode."),  # it has them
    ("US", "state", "Enter the state."),
]


@form_of("payer")
def test_what_a_country_does_not_have_is_told_in_its_place(
    notebook: NotebookPage,
) -> None:
    """States and postcodes are required everywhere: where there are none, the note at
    the empty field says what to enter.
    """
    notebook.control("Register the payer").click()
    notebook.wait_idle()
    for country, name, words in WITHOUT:
        notebook.ask(f"form.fill(country={country!r})")
        box = notebook.page.locator(f".field:has([name={name}])")

        expect(box.locator(".notes")).to_have_text(words)
