"""Each state of the forms, in each theme and width: readable, usable by keyboard and screen reader, nothing cut off."""

from __future__ import annotations

import pytest

from browser.form_states import STATES, State, find_problems
from browser.jupyter_pages import NotebookPage


@pytest.mark.browser_all
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
def test_a_state_can_be_read_and_used(opened_notebook: NotebookPage, state: State) -> None:
    """axe finds nothing, text has contrast, nothing is cut off or scrolls sideways, and the focus is not lost."""
    state.show(opened_notebook)

    assert {} == find_problems(opened_notebook, state)
