"""The notebook "From Excel and back", killed in the middle of its run and run again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onboarding_runner import TASKS, Kill, is_killed, run_code
from payerkit.runs.options import MAX_WORKERS

NOTEBOOK = Path(__file__).parent.parent / "notebooks" / "05-excel-and-back.ipynb"
TOLD = """
import json
from payerkit import list_payment_details
accounts = client.sandbox.ledger().query("what == 'payment_detail'")
numbers = [account for n in accounts["client_user_id"].unique() for account in
           list_payment_details(client, n, reveal=True)["account_number"]]
print(json.dumps([report.counts, len(report.frame), len(numbers), len(set(numbers))]))
"""


def script() -> str:
    """Return the cells up to the run as a script, and what to tell."""
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    end = next(
        place for place, source in enumerate(code) if "report = onboard(" in source
    )
    return "\n".join([*code[: end + 1], TOLD])


@pytest.mark.slow
@pytest.mark.timeout(300)  # a notebook of 200 rows, run three times
def test_a_kill_in_the_middle_of_the_notebook_loses_nothing(tmp_path: Path) -> None:
    """Killed twice while it sends and then run to its end, all 200 rows are accounted
    for, each account that is done stored once. The accounts that were being sent at the
    second kill are unknown, as many as there are workers at most.
    """
    code = script()
    output = tmp_path / "output"
    killed = [
        is_killed(run_code, code, tmp_path, output, kill=kill)
        for kill in (Kill(TASKS, 80), Kill(TASKS, 541), None)
    ]
    counts, rows, stored, different = json.loads(
        output.read_text("utf-8").splitlines()[-1]
    )

    assert [True, True, False] == killed
    assert (200, 6) == (rows, counts["not_sent"])
    assert 194 == counts["done"] + counts["unknown"]
    assert counts["unknown"] <= MAX_WORKERS
    assert counts["done"] == stored == different
