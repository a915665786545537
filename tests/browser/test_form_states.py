"""Each state of the forms, in each theme: readable, usable by keyboard and screen
reader, nothing cut off.

CI looks at narrow pages, where more goes wrong; `pytest -m soak tests/browser` looks at
wide ones, too.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from browser.form_states import STATES, WIDTHS, State, find_problems, form
from browser.jupyter_pages import NotebookPage

PROGRAM_WORDS = re.compile(r"\b[a-z]+_[a-z_]+\b|\blib[a-z]+\b|plausibility")
"""A status or name as a program writes it, such as "not_started", and the names of
sources that few people know.
"""
SAID_FOR_BOTH = {"update_agreement"}
"""What the next step of a payer names beside the button that does the same."""


@pytest.mark.parametrize(
    "width", [pytest.param(max(WIDTHS), marks=pytest.mark.soak), min(WIDTHS)]
)
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
def test_a_state_can_be_read_and_used(
    opened_notebook: NotebookPage, state: State, width: int
) -> None:
    """Axe finds nothing, text has contrast, nothing is cut off or scrolls sideways, the
    focus is not lost, and no word is a program's.
    """
    state.show(opened_notebook, width)
    words = form(opened_notebook).inner_text()

    assert {*PROGRAM_WORDS.findall(words)} <= SAID_FOR_BOTH
    assert {} == find_problems(opened_notebook)
    expect(
        opened_notebook.page.get_by_text(state.shows).filter(visible=True).first
    ).to_be_visible()
