"""Each state of the forms, in each theme: readable, usable by keyboard and screen reader, nothing cut off.

CI looks at narrow pages, where more goes wrong; `pytest -m soak tests/browser` looks at wide ones, too.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser.form_states import STATES, WIDTHS, State, find_problems
from browser.jupyter_pages import NotebookPage


@pytest.mark.browser_all
@pytest.mark.parametrize("width", [pytest.param(max(WIDTHS), marks=pytest.mark.soak), min(WIDTHS)])
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
def test_a_state_can_be_read_and_used(opened_notebook: NotebookPage, state: State, width: int) -> None:
    """Axe finds nothing, text has contrast, nothing is cut off or scrolls sideways, and the focus is not lost."""
    state.show(opened_notebook, width)

    assert {} == find_problems(opened_notebook)
    expect(opened_notebook.page.get_by_text(state.shows).filter(visible=True).first).to_be_visible()
