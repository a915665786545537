"""The notebooks as files: clean, short, without personal data or traces of a machine. nbval runs them."""

from __future__ import annotations

import json
import re
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from payerkit.checks.schema import FORMATS
from published import BANK_DETAILS, PAYER

NOTEBOOKS = sorted(Path(__file__).parent.parent.joinpath("notebooks").glob("[0-9]*.ipynb"))  # the others have no code
SECRETS = [PAYER["ssn"], BANK_DETAILS["accountNumber"], BANK_DETAILS["routingNumber"]]
TRACES = r"/(home|root|tmp|work|usr|Users)/|site-packages|127\.0\.0\.1:[0-9]|0x[0-9a-f]{12}>|sandbox_\w{8}"
pytestmark = pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.name)


def cells(file: Path) -> list[dict[str, Any]]:
    """Return the code cells of a notebook."""
    return [cell for cell in json.loads(file.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]


def outputs(file: Path) -> str:
    """Return everything that a notebook shows, as text."""
    return json.dumps([cell["outputs"] for cell in cells(file)], ensure_ascii=False)


def test_outputs_are_stored(file: Path) -> None:
    """The cells were run in their order, and what they show is there to read without running them."""
    assert list(range(1, len(cells(file)) + 1)) == [cell["execution_count"] for cell in cells(file)]


def test_outputs_hold_no_personal_data(file: Path) -> None:
    """Nothing that was typed about a person is in what the notebook saved."""
    typed = [*SECRETS, *(PAYER[name] for name in ("email", "phone", "dateOfBirth", "addressLine1", "lastName"))]
    shown = outputs(file).replace(FORMATS["phone"].hint, "")  # the example of this hint is the published one

    assert [] == [value for value in typed if value in shown]


def test_outputs_hold_no_trace_of_a_machine(file: Path) -> None:
    """No path, port, address of an object or key stands in an output."""
    assert [] == [found[0] for found in re.finditer(TRACES, outputs(file))]


def test_notebook_holds_no_widget_state(file: Path) -> None:
    """Widget state is never stored."""
    assert "widget-state" not in file.read_text("utf-8")


def test_widgets_are_stored_as_text(file: Path) -> None:
    """Without a kernel a widget would be an error; its text is there instead, and no output is empty."""
    bundles = [output["data"] for cell in cells(file) for output in cell["outputs"] if "data" in output]

    assert [] == [bundle for bundle in bundles if not bundle or "application/vnd.jupyter.widget-view+json" in bundle]


def test_cells_are_short(file: Path) -> None:
    """A cell has one idea: five lines at most, imports aside."""
    for cell in cells(file):
        lines = [line for line in "".join(cell["source"]).splitlines() if line.strip() and not line.startswith("from ")]
        assert (True, lines) == (len(lines) <= 5, lines)


def test_first_cell_starts_a_sandbox(file: Path) -> None:
    """A notebook needs no key and no network, and is the same each time; some only explain, or check a file."""
    first, *rest = ["".join(cell["source"]) for cell in cells(file)] or [""]

    assert "sandbox(seed=" in first or "client" not in "".join([first, *rest])


def test_a_guide_is_short(file: Path) -> None:
    """A how-to has at most 12 cells and 450 words, an explanation 200 to 350 words; each ends with two links."""
    every = json.loads(file.read_text("utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in every if cell["cell_type"] == "markdown"]
    least, most = (200, 350) if file.name.startswith("2") else (1, 450)

    assert (True, True) == (len(every) <= 12, least <= len(" ".join(texts).split()) <= most)
    assert re.search(r"^\*\w+ minutes\. You will be able to ", texts[0], re.MULTILINE)
    assert 2 == texts[-1].splitlines()[-1].count(".ipynb)")


def test_a_result_comes_soon(file: Path) -> None:
    """A how-to shows its first one in its second cell of code at the latest, and within four cells."""
    every = json.loads(file.read_text("utf-8"))["cells"]
    before = [cell["cell_type"] for cell in takewhile(lambda cell: not cell.get("outputs"), every)]

    assert file.name.startswith("2") or (True, True) == (len(before) <= 3, before.count("code") <= 1)
