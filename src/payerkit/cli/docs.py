"""`payerkit docs`: the reference, opened as `payerkit lab` opens the index."""

from __future__ import annotations

from argparse import Namespace

from payerkit.cli import lab

FIRST = "reference-cheat-sheet.ipynb"


def run(options: Namespace) -> int:
    """Copy the notebooks, open the cheat sheet in JupyterLab, and return when it is
    stopped.
    """
    return lab.run(options, FIRST)
