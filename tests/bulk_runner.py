"""One run over a table in a process of its own, which may be killed at any moment: `bulk_runner.py '{"url": ...}'`."""

from __future__ import annotations

import json
import sys
from typing import Any

import payerkit


def main(url: str, table: str, report: str, **options: Any) -> None:
    """Say when sending begins, send the table, and write down what became of it."""
    rows = payerkit.read_payers(table)
    with payerkit.connect(url) as client:
        print("sending", flush=True)
        payerkit.onboard(client, rows, progress=False, **options).save(report)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
