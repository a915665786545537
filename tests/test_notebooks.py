"""The notebooks as files: clean, short, without personal data or traces of a machine.
nbval runs them.
"""

from __future__ import annotations

import ast
import json
import re
from io import StringIO
from itertools import takewhile
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient

from payerkit import samples
from payerkit.models.formats import PHONE
from payerkit.tables import template
from published import BANK_DETAILS, PAYER

NOTEBOOKS = sorted(
    Path(__file__).parent.parent.joinpath("notebooks").glob("[0-9]*.ipynb")
)  # the others have no code
SECRETS = [PAYER["ssn"], BANK_DETAILS["accountNumber"], BANK_DETAILS["routingNumber"]]
TRACES = (
    r"/(home|root|tmp|work|usr|Users)/|site-packages|127\.0\.0\.1:[0-9]"
    r"|0x[0-9a-f]{12}>|sandbox_\w{8}"
)


def cells(file: Path) -> list[dict[str, Any]]:
    """Return the code cells of a notebook."""
    return [
        cell
        for cell in json.loads(file.read_text("utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]


every_notebook = pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.name)
HOW_TOS = [file for file in NOTEBOOKS if cells(file)]
every_how_to = pytest.mark.parametrize("file", HOW_TOS, ids=lambda file: file.name)


def outputs(file: Path) -> str:
    """Return everything that a notebook shows, as text."""
    return json.dumps([cell["outputs"] for cell in cells(file)], ensure_ascii=False)


@every_notebook
def test_outputs_are_stored(file: Path) -> None:
    """The cells were run in their order, and what they show is there to read without
    running them.
    """
    assert list(range(1, len(cells(file)) + 1)) == [
        cell["execution_count"] for cell in cells(file)
    ]


@every_notebook
def test_outputs_hold_no_personal_data(file: Path) -> None:
    """Nothing that was typed about a person is in what the notebook saved."""
    typed = [
        *SECRETS,
        *(
            PAYER[name]
            for name in ("email", "phone", "dateOfBirth", "addressLine1", "lastName")
        ),
    ]
    shown = outputs(file).replace(
        PHONE.hint, ""
    )  # the example of this hint is the published one

    assert [] == [value for value in typed if value in shown]


@every_notebook
def test_outputs_hold_no_trace_of_a_machine(file: Path) -> None:
    """No path, port, address of an object or key stands in an output."""
    assert [] == [found[0] for found in re.finditer(TRACES, outputs(file))]


@every_notebook
def test_notebook_holds_no_widget_state(file: Path) -> None:
    """Widget state is never stored."""
    assert "widget-state" not in file.read_text("utf-8")


@every_notebook
def test_widgets_are_stored_as_text(file: Path) -> None:
    """Without a kernel a widget would be an error; its text is there instead, and no
    output is empty.
    """
    bundles = [
        output["data"]
        for cell in cells(file)
        for output in cell["outputs"]
        if "data" in output
    ]

    assert [] == [
        bundle
        for bundle in bundles
        if not bundle or "application/vnd.jupyter.widget-view+json" in bundle
    ]


@every_notebook
def test_first_cell_starts_a_sandbox(file: Path) -> None:
    """A notebook needs no key and no network, and is the same each time; some only
    explain, or check a file.
    """
    first, *rest = ["".join(cell["source"]) for cell in cells(file)] or [""]

    assert "sandbox(seed=" in first or "client" not in "".join([first, *rest])


@every_notebook
def test_a_guide_says_what_for_and_where_to_go_on(file: Path) -> None:
    """It begins with what one will be able to do, and ends with two links."""
    every = json.loads(file.read_text("utf-8"))["cells"]
    texts = [
        "".join(cell["source"]) for cell in every if cell["cell_type"] == "markdown"
    ]

    assert re.search(r"^\*\w+ minutes\. You will be able to ", texts[0], re.MULTILINE)
    assert 2 == texts[-1].splitlines()[-1].count(".ipynb)")


@every_how_to
def test_a_result_comes_soon(file: Path) -> None:
    """A how-to shows its first one in its second cell of code at the latest, and within
    four cells.
    """
    every = json.loads(file.read_text("utf-8"))["cells"]
    before = [
        cell["cell_type"]
        for cell in takewhile(lambda cell: not cell.get("outputs"), every)
    ]

    assert len(before) <= 3
    assert before.count("code") <= 1


@every_how_to
def test_the_first_cell_is_short(file: Path) -> None:
    """It has six lines at most, and imports four names at most."""
    first = "".join(cells(file)[0]["source"])
    imports = [
        name
        for node in ast.walk(ast.parse(first))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    ]

    assert len(first.replace("\n\n", "\n").splitlines()) <= 6
    assert len(imports) <= 4


def run_in(folder: Path, notebook: nbformat.NotebookNode) -> None:
    """Run the cells of a notebook in a new kernel, in a folder."""
    place = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=120, resources=place).execute()


@pytest.mark.slow
@pytest.mark.timeout(300)  # a notebook is run twice
@every_how_to
def test_a_how_to_runs_again(file: Path, tmp_path: Path) -> None:
    """It runs to its end in a folder with what it left there when its kernel was
    stopped before the last cell.
    """
    stopped = nbformat.read(file, as_version=4)
    stopped.cells = [cell for cell in stopped.cells if cell.cell_type == "code"][:-1]
    run_in(tmp_path, stopped)
    run_in(tmp_path, nbformat.read(file, as_version=4))


OWN_FILES = {
    "03-check-ibans.ipynb": {
        'samples.workbook("ibans.xlsx")': '"vendors.csv"',
        '{"Vendor": "account_name", "Terms": None}': '{"Due in": None}',
    },
    "04-check-a-payment.ipynb": {
        'samples["declared_fee"].to_dict(reveal=True)': '"payment.json"',
    },
    "05-excel-and-back.ipynb": {
        'samples.workbook("payouts.xlsx")': '"payers.csv"',
        '{"Payee": "account_name", "Notes": None}': '{"Remarks": None}',
    },
}
"""What a reader with a file changes in a notebook: the file, and what its columns are.
"""


def test_each_offer_to_take_your_own_file_is_tried() -> None:
    """The notebooks that make it are those of the next test."""
    offering = {
        file.name
        for file in HOW_TOS
        if any("or your own" in "".join(cell["source"]) for cell in cells(file))
    }

    assert OWN_FILES.keys() == offering


@pytest.mark.slow
@pytest.mark.timeout(300)  # a notebook is run
@pytest.mark.parametrize("name", OWN_FILES)
def test_a_how_to_takes_your_own_file(name: str, tmp_path: Path) -> None:
    """It runs with another file in place of its example: one with other columns, of one
    row, and with nothing to find.
    """
    iban = {"IBAN": "DE89370400440532013000", "Due in": "30 days"}
    pd.DataFrame([iban]).to_csv(tmp_path / "vendors.csv", index=False)
    payer = pd.read_csv(StringIO(template("usd-local")), dtype=str)
    own = {"client_user_id": "a@example.com", "email": "a@example.com", "Remarks": ""}
    payer.assign(**own).to_csv(tmp_path / "payers.csv", index=False)
    samples["honest"].save(tmp_path / "payment.json")
    notebook = nbformat.read(HOW_TOS[0].with_name(name), as_version=4)
    for example, change in OWN_FILES[name].items():
        assert any(example in cell.source for cell in notebook.cells)
        for cell in notebook.cells:
            cell.source = cell.source.replace(example, change)
    run_in(tmp_path, notebook)
