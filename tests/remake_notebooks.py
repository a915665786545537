"""Run the notebooks, or those whose names begin so, and store their outputs: `python
tests/remake_notebooks.py 00 04`.

What differs from run to run is written the way nbval is told to read it. Widgets are
stored as text: without a kernel their own type shows an error, and nbval does not
compare it.
"""

from __future__ import annotations

import configparser
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

TESTS = Path(__file__).parent
WIDGET = "application/vnd.jupyter.widget-view+json"
NOTEBOOKS = TESTS.parent / "notebooks"


def main() -> None:
    """Remake the notebooks one after the other."""
    for path in sorted(
        {
            path
            for start in sys.argv[1:] or ["[0-9]"]
            for path in NOTEBOOKS.glob(f"{start}*.ipynb")
        }
    ):
        notebook = nbformat.read(path, as_version=4)
        place = {"metadata": {"path": NOTEBOOKS}}
        NotebookClient(
            notebook, timeout=60, store_widget_state=False, resources=place
        ).execute()
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = [
                    sanitised(output) for output in without_widgets(cell.outputs)
                ]
        notebook.metadata.language_info = {"name": "python"}
        nbformat.write(notebook, path)
        subprocess.run(
            [sys.executable, "-m", "nbstripout", "--keep-output", "--keep-count", path],
            check=True,
        )
        print(path.name)


def without_widgets(outputs: list[Any]) -> list[Any]:
    """Return the outputs with the text of widgets alone."""
    for output in outputs:
        output.get("data", {}).pop(WIDGET, None)
    return outputs


def sanitised(output: Any) -> Any:
    """Return an output with the values replaced that differ from run to run."""
    rules = configparser.ConfigParser()
    rules.read(TESTS / "notebooks.ini")
    text = json.dumps(output)
    for rule in rules.sections():
        text = re.sub(rules[rule]["regex"], rules[rule]["replace"], text)
    return nbformat.from_dict(json.loads(text))


if __name__ == "__main__":
    main()
