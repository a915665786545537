"""The form that maps columns as a person meets it: real keys in a real JupyterLab, in headless Chromium."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from browser.jupyter_pages import NotebookPage

COLUMNS = {
    "Customer ID": "mapped-{0}",
    "Vorname": "Example",
    "Nachname": "Payer {0}",
    "E-Mail": "user{0}@example.com",
    "Typ": "Privatperson",
    "Geburtsdatum": "31.12.1985",
    "Staatsangehörigkeit": "DE",
    "Telefon": "+493012345678",
    "SSN": "12345678{0}",
    "Straße": "1 Example Street",
    "Ort": "Berlin",
    "Bundesland": "Berlin",
    "PLZ": "10117",
    "Land": "Germany",
    "Bank": "Example Bank",
    "Konto": "DE02120300000000202051",
    "Notiz": "call Mrs Example",
}
TABLE = "\n".join([";".join(COLUMNS), *map(";".join(COLUMNS.values()).format, range(6))])
FORM = f"""from pathlib import Path
from payerkit import read_payers
from payerkit.forms import MappingForm
Path("messy.csv").write_text({TABLE!r}, "utf-8")
form = MappingForm("messy.csv")
form"""
USED = 'rows = read_payers("messy.csv", mapping=form.mapping)'


@pytest.fixture
def notebook(opened_notebook: NotebookPage) -> NotebookPage:
    """Map the columns of a table with open ones."""
    page = opened_notebook
    page.page.set_viewport_size({"width": 1280, "height": 1600})
    page.draw(FORM)
    expect(preview(page)).to_have_attribute("aria-busy", "false")
    return page


def output(notebook: NotebookPage) -> Locator:
    """Return the form."""
    return notebook.page.locator(".jp-OutputArea-output .mapping")


def preview(notebook: NotebookPage) -> Locator:
    """Return the preview."""
    return output(notebook).locator(".preview")


def status(notebook: NotebookPage) -> Locator:
    """Return what the form says."""
    return output(notebook).locator("[role=status]")


def choice(notebook: NotebookPage, header: str) -> Locator:
    """Return the choice of our column for a column."""
    return output(notebook).get_by_role("combobox", name=f"Our column for {header},")


def decide(notebook: NotebookPage) -> None:
    """Choose what the open columns are."""
    for header, column in {"Typ": "beneficiary_type", "Konto": "iban", "Notiz": ""}.items():
        choice(notebook, header).select_option(column)
    expect(status(notebook)).to_have_text("Every column is decided.")


@pytest.mark.browser_all
def test_a_person_maps_columns_with_the_keyboard(notebook: NotebookPage) -> None:
    """A choice keeps the focus, no key reaches JupyterLab, and the line that is shown runs."""
    page, before = notebook.page, notebook.cells()
    page.get_by_role("button", name="Go to the first").press("Enter")
    expect(output(notebook).locator("tr.open select").first).to_be_focused()
    choice(notebook, "Konto").focus()
    page.keyboard.type("IBAN")
    expect(choice(notebook, "Konto")).to_have_value("iban")
    expect(choice(notebook, "Konto")).to_be_focused()
    decide(notebook)
    expect(output(notebook).locator("code")).to_have_text(USED)

    assert before == notebook.cells()
    assert "'DE02120300000000202051'" == notebook.ask(f"{USED}\nrows['iban'].iloc[0]").strip()


@pytest.mark.browser_all
def test_the_preview_follows_each_change(notebook: NotebookPage) -> None:
    """It says what would be sent, and what a tick would correct."""
    output(notebook).get_by_role("button", name="Take all proposals").click()
    expect(output(notebook).get_by_role("button", name="Take all proposals")).to_be_hidden()
    choice(notebook, "Konto").select_option("iban")
    output(notebook).get_by_label("For the preview").check()
    expect(preview(notebook)).to_contain_text("6 rows: ")
    expect(output(notebook)).to_contain_text("tick the box above")
    output(notebook).get_by_label("Rewrite values").check()
    expect(output(notebook)).to_contain_text("cells rewritten")


@pytest.mark.browser_all
def test_no_column_is_saved_with_the_notebook(notebook: NotebookPage) -> None:
    """Neither in the output nor in the state of the widget; other forms may have saved theirs on this page."""
    decide(notebook)
    notebook.wait_idle()
    saved = notebook.save()
    outputs = str([saved["cells"][0]["outputs"], saved["metadata"]])

    assert [] == [text for text in ("Konto", "Xxxxxxx", "DE02", "mapped-", "6 rows") if text in outputs]


@pytest.mark.browser_all
@pytest.mark.parametrize("width", [1280, 700])
def test_the_mapping_form_is_accessible(notebook: NotebookPage, width: int) -> None:
    """Axe finds nothing in three themes, open and decided, and nothing stands out at the side."""
    notebook.page.set_viewport_size({"width": width, "height": 1600})
    while_open = notebook.look_closely()
    decide(notebook)
    expect(output(notebook).locator("code")).to_be_visible()
    expect(preview(notebook)).to_have_attribute("aria-busy", "false")

    assert ([], []) == (while_open, notebook.look_closely(".mapping", ".mapping .region", ".mapping .preview"))
