"""The notebook about many rows, killed in the middle of its run and run again."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

NOTEBOOK = Path(__file__).parent.parent / "notebooks" / "04-onboard-many.ipynb"
ENOUGH = 40
TOLD = """
accounts = client.sandbox.ledger().query("what == 'payment_detail'")
numbers = [account for n in accounts["client_user_id"].unique() for account in
           list_many(client, [n], progress=False, reveal=True)["account_number"]]
print(json.dumps([report.counts, len(report.frame), len(numbers), len(set(numbers))]))
"""


def script() -> str:
    """Return the cells up to the resumed run as a script, without the rehearsal and the interrupt, and what to tell."""
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    end = next(place for place, source in enumerate(code) if source.startswith("report = onboard("))
    kept = [
        source
        for source in code[: end + 1]
        if not any(word in source for word in ("bad_day", "rehearsal", "interrupt"))
    ]
    return "\n".join(["import json", *kept, TOLD])


def sent(journal: Path) -> int:
    """Return how many tasks a journal has by now, as a copy of it says: it is locked by its run."""
    with suppress(OSError, sqlite3.Error):
        for ending in ("", "-wal"):
            journal.with_name(f"copy{ending}").write_bytes(journal.with_name(f"{journal.name}{ending}").read_bytes())
        with closing(sqlite3.connect(journal.with_name("copy"))) as copy:
            return int(copy.execute("SELECT count(*) FROM task").fetchone()[0])
    return 0


def test_a_kill_in_the_middle_of_the_notebook_loses_nothing(tmp_path: Path) -> None:
    """Killed twice while it sends and then run to its end, all 200 rows are accounted for, each account stored once."""
    program = [
        sys.executable,
        "-c",
        script().replace("progress=False)", "progress=False, workers=4, reconcile_after=0.5)"),
    ]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    for round_ in (1, 2):
        with subprocess.Popen(program, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL) as running:
            while sent(tmp_path / "onboard-many.journal") < ENOUGH * round_ and running.poll() is None:
                time.sleep(0.02)
            assert running.poll() is None
            running.kill()
    done = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    counts, rows, stored, different = json.loads(done.stdout.splitlines()[-1])

    assert ({"done": 196, "refused": 0, "unknown": 0, "not_sent": 4}, 200) == (counts, rows)
    assert (196, 196) == (stored, different)
