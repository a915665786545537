"""Take pictures of the forms in each of their states: `python tests/look_at_forms.py FOLDER [STATE...]`.

Each is taken in light and dark, at 1280 and 700 pixels, for a person to look at; what can be measured is printed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Error

from browser.chromium import open_browser
from browser.form_states import STATES, find_problems
from browser.jupyter_pages import Jupyter, write_notebook


def main() -> None:
    """Bring a form into each state, or into the named ones."""
    pictures, names = Path(sys.argv[1]), sys.argv[2:]
    pictures.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder, open_browser() as browser, Jupyter(Path(folder)) as jupyter:
        write_notebook(Path(folder) / "states.ipynb", "", "")
        with jupyter.open(browser, "states.ipynb") as page:
            page.page.set_default_timeout(5_000)
            for state in STATES:
                if names and state.name not in names:
                    continue
                try:
                    state.show(page)
                except (AssertionError, Error) as error:
                    page.page.screenshot(path=pictures / f"{state.name}-not-reached.png")
                    print(f"{state.name}: not reached: {str(error).strip().splitlines()[0]}")
                    continue
                print(f"{state.name}: looks as it should")
                for problem, places in find_problems(page, state, pictures).items():
                    print(f"  {problem} ({', '.join(places)})")


if __name__ == "__main__":
    main()
