"""Take pictures of the forms in each of their states: `python tests/look_at_forms.py
FOLDER [STATE...]`.

Each is taken in light and dark, at 1280 and 700 pixels, for a person to look at; what
can be measured is printed.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Error

from browser.chromium import open_browser
from browser.form_states import STATES, WIDTHS, State, find_problems
from browser.jupyter_pages import Jupyter, NotebookPage, write_notebook


def look_at(page: NotebookPage, state: State, width: int, pictures: Path) -> None:
    """Bring a form into a state, take its pictures, and print what is wrong with it."""
    name = f"{state.name}-{width}"
    try:
        state.show(page, width)
    except (AssertionError, Error) as error:
        page.page.screenshot(path=pictures / f"{name}-not-reached.png")
        print(f"{name}: not reached: {str(error).strip().splitlines()[0]}")
    else:
        print(f"{name}:")
        for problem, places in find_problems(page, pictures / name).items():
            print(f"  {problem} ({', '.join(places)})")


def main() -> None:
    """Look at every state, or at the named ones."""
    pictures, names = (
        Path(sys.argv[1]),
        sys.argv[2:] or [state.name for state in STATES],
    )
    pictures.mkdir(parents=True, exist_ok=True)
    with (
        TemporaryDirectory() as folder,
        open_browser() as browser,
        Jupyter(Path(folder)) as jupyter,
    ):
        write_notebook(Path(folder) / "states.ipynb", "", "")
        with jupyter.open(browser, "states.ipynb") as page:
            page.page.set_default_timeout(5_000)
            for state, width in product(STATES, WIDTHS):
                if state.name in names:
                    look_at(page, state, width, pictures)


if __name__ == "__main__":
    main()
