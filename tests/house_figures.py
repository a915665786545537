"""Print how large the package is, and how many of its functions a call takes: `python tests/house_figures.py`.

Size: code lines (without blanks, comments and docstrings) and modules of each folder. Ways: the distinct named
functions of payerkit, and their modules, that each call of a kind but the first enters in any thread; of a call to the
sandbox, those of the sandbox alone. Comprehensions and lambdas have no name and do not count. Names: the public ones.
"""

from __future__ import annotations

import ast
import io
import sys
import threading
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType

import pandas as pd

import payerkit
from onboarding_tables import payer_row
from payerkit.onboarding import RunOptions
from published import ORDER, PAYER

PACKAGE = Path(payerkit.__file__).parent
SERVICE = PACKAGE / "service"
SPACE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(file: Path) -> int:
    """Return the lines of a module that hold code: no blanks, no comments, no docstrings."""
    text = file.read_text("utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = {line for token in tokens if token.type not in SPACE for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code -= {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return len(code)


def print_size() -> None:
    """Print the size of each folder, the largest first."""
    modules, lines = Counter[str](), Counter[str]()
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE).parts
        folder = parts[0] if len(parts) > 1 else "."
        modules[folder] += 1
        lines[folder] += code_lines(file)
    for folder, size in lines.most_common():
        print(f"{folder:12} {modules[folder]:4} modules {size:7,} code lines")
    print(f"{'all':12} {modules.total():4} modules {lines.total():7,} code lines")
    scripts = [file for file in PACKAGE.rglob("*") if file.suffix in {".js", ".css", ".html"}]
    print(f"script and style: {sum(len(file.read_text('utf-8').splitlines()) for file in scripts):,} lines")


@contextmanager
def recorded() -> Iterator[set[CodeType]]:
    """Collect the code of all Python functions that are entered, in this thread and in those that start meanwhile."""
    entered: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            entered.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield entered
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def measure(entered: set[CodeType], call: Callable[[], object], *, service: bool = False) -> tuple[int, int]:
    """Return how many modules and functions each call after the first enters: in the sandbox, or outside of it."""
    call()
    calls = []
    for _ in range(10):  # what only some of them meet is work of other threads, such as the tick of a server
        entered.clear()
        call()
        calls.append(entered.copy())
    named = {
        (code.co_filename, code.co_qualname)
        for code in set.intersection(*calls)
        if Path(code.co_filename).is_relative_to(PACKAGE) and Path(code.co_filename).is_relative_to(SERVICE) == service
        if not code.co_name.startswith("<")  # <listcomp>, <lambda>; Python 3.12 enters no frame for most of them
    }
    return len({file for file, _ in named}), len(named)


def print_way(name: str, entered: set[CodeType], call: Callable[[], object], *, service: bool = False) -> None:
    """Print what the second call enters: in the sandbox, or outside of it."""
    modules, functions = measure(entered, call, service=service)
    print(f"{name:30} {modules:4} modules {functions:4} functions")


def print_ways() -> None:
    """Print the ways of a payer, a payment, a row of a file, and a call to the sandbox."""
    number = count()
    with recorded() as entered, payerkit.sandbox(decide_after=0, seed=1) as client, TemporaryDirectory() as folder:
        payment = payerkit.initiate_payment(client, ORDER)

        def create() -> None:
            payerkit.create_payer(client, PAYER | {"clientUserId": f"way-{next(number)}"})

        def onboard() -> None:
            file = Path(folder) / f"{next(number)}.csv"
            row = payer_row(1) | {"client_user_id": file.stem, "holder_is_payer": "yes"}
            pd.DataFrame([row]).to_csv(file, index=False)
            report = payerkit.onboard(
                client, payerkit.read_payers(file), journal=Path(folder) / "journal", options=RunOptions(progress=False)
            )
            assert report.counts["done"] == 1
            report.save(file.with_suffix(".report.csv"))

        print_way("create_payer", entered, create)
        print_way("check_payment", entered, lambda: payerkit.check_payment(payment).verdict)
        print_way("a CSV row, file to report", entered, onboard)
        print_way("POST /v2/payer, in the sandbox", entered, create, service=True)


def main() -> None:
    """Print all figures."""
    print_size()
    print()
    print_ways()
    print()
    print(f"{len(payerkit.__all__)} public names in payerkit")


if __name__ == "__main__":
    main()
