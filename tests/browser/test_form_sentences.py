"""What the notebooks say about the forms: each word in italics is there, in a form that
somebody uses as they say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from browser.form_states import (
    PAYER,
    SOURCES,
    enter,
    fill_payer,
    form,
    press,
    see,
    unfold,
)
from browser.jupyter_pages import NotebookPage

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SAID = re.compile(r"(?<!\*)\*([A-Z][^*.]+\.?)\*(?!\*)")
"""A word or two in italics, such as *Undo*."""


def said_in(name: str) -> set[str]:
    """Return the words in italics of a notebook's texts."""
    cells = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text("utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] != "code"]
    return {words for text in texts for words in SAID.findall(text)}


def use_a_payer_form(page: NotebookPage) -> str:
    """Register a payer, and return all that the form said."""
    page.draw(f"{PAYER}form", expect=4)
    seen = [form(page).inner_text()]
    enter(page, "Country", "US")
    enter(page, "Phone number", "(212) 555-1234")
    see(page, "Read as")
    seen.append(form(page).inner_text())
    fill_payer(page)
    press(page, "Register the payer")
    see(page, "Payer registered.")
    unfold(page)
    seen.append(form(page).inner_text())
    return " ".join(seen)


def use_a_bank_details_form(page: NotebookPage) -> str:
    """Store an account, and return all that the form said."""
    page.draw(f"{SOURCES['filled bank']}form", expect=4)
    seen = [form(page).inner_text()]
    press(page, "Store the account")
    see(page, "Check your answers")
    seen.append(form(page).inner_text())
    return " ".join(seen)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("01-register-a-payer", use_a_payer_form),
        ("02-add-an-account", use_a_bank_details_form),
    ],
)
def test_a_form_has_what_the_text_promises(
    opened_notebook: NotebookPage, name: str, use: Callable[[NotebookPage], str]
) -> None:
    """Whoever looks for a button that a notebook names finds it."""
    said = said_in(name)
    seen = use(opened_notebook)

    assert len(said) >= 2
    assert [] == [words for words in said if words not in seen]
