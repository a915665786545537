"""Print how large and how plain the house is, and what a call enters: `python
tests/house_figures.py`.

Size is counted in tokens, without comments and docstrings, so that a longer line saves
nothing. Habits are what has to be decoded, per 1,000 code lines. Walks are the distinct
named functions of payerkit, and their modules, that each call of a kind but the first
enters in any thread; of a call to the sandbox, those of the sandbox alone.
Comprehensions and lambdas have no name and do not count. Nothing here is a limit.
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
from payerkit.runs import RunOptions
from published import ORDER, PAYER

PACKAGE = Path(payerkit.__file__).parent
SOURCES = PACKAGE.parent
SERVICE = SOURCES / "payerkit_sandbox"
TESTS = Path(__file__).parent

NOT_COUNTED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCRIPT = {".js", ".css", ".html"}
TABLES = {".tsv", ".toml", ".json", ".csv"}


def docstring_lines(tree: ast.Module) -> set[int]:
    """Return the lines of docstrings, and of other texts that stand alone."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node.value.value, str):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def habits_of(tree: ast.Module) -> Counter[str]:
    """Count what a reader has to decode."""
    counts = Counter[str]()
    for node in ast.walk(tree):
        match node:
            case ast.IfExp():
                counts["conditional"] += 1
                if isinstance(node.body, ast.IfExp):
                    counts["nested conditional"] += 1
                if isinstance(node.orelse, ast.IfExp):
                    counts["nested conditional"] += 1
            case ast.Assign(targets=targets, value=ast.Tuple()):
                if any(isinstance(target, ast.Tuple) for target in targets):
                    counts["tuple assignment"] += 1
            case ast.NamedExpr():
                counts["walrus"] += 1
            case ast.Call(func=ast.Name(id="map" | "filter")):
                counts["map, filter"] += 1
            case ast.For(iter=ast.IfExp()) | ast.AsyncFor(iter=ast.IfExp()):
                counts["loop over nothing"] += 1
            case _ if isinstance(node, COMPREHENSIONS) and len(node.generators) > 1:
                counts["comprehension with two for"] += 1
    return counts


def figures_of(file: Path) -> tuple[Counter[str], Counter[str]]:
    """Return the size of a module, and its habits."""
    text = file.read_text("utf-8")
    tree = ast.parse(text)
    docstrings = docstring_lines(tree)
    size = Counter({"modules": 1})
    code_lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line, end = token.start[0], token.end[0]
        if token.type in NOT_COUNTED or line in docstrings:
            continue
        size["tokens"] += 1
        code_lines.update(range(line, end + 1))
    size["lines"] = len(code_lines)
    return size, habits_of(tree)


def print_size(root: Path) -> None:
    """Print the size and the habits of each folder, the largest first."""
    sizes: dict[str, Counter[str]] = {}
    habits: dict[str, Counter[str]] = {}
    for file in root.rglob("*.py"):
        parts = file.relative_to(root).parts
        wing = parts[0]
        if len(parts) == 1:
            wing = "."
        size, decodable = figures_of(file)
        for name in (wing, "all"):
            sizes.setdefault(name, Counter()).update(size)
            habits.setdefault(name, Counter()).update(decodable)
    print(root.name)
    for wing in sorted(sizes, key=lambda name: sizes[name]["tokens"], reverse=True):
        size = sizes[wing]
        thousands = max(size["lines"], 1) / 1000
        ratios = [
            f"{name} {number / thousands:.1f}"
            for name, number in habits[wing].most_common()
        ]
        print(
            f"  {wing:12} {size['tokens']:8,} tokens {size['lines']:7,} lines"
            f" {size['modules']:4} modules; per 1,000 lines: {', '.join(ratios)}"
        )
    for kind, suffixes in (("script and style", SCRIPT), ("tables", TABLES)):
        files = [file for file in root.rglob("*") if file.suffix in suffixes]
        lines = sum(len(file.read_text("utf-8").splitlines()) for file in files)
        print(f"  {kind}: {len(files)} files, {lines:,} lines")
    print()


@contextmanager
def recorded() -> Iterator[set[CodeType]]:
    """Collect the code of all Python functions that are entered, in this thread and in
    those that start meanwhile.
    """
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


def measure(
    entered: set[CodeType], call: Callable[[], object], *, service: bool = False
) -> tuple[int, int]:
    """Return how many modules and functions each call after the first enters: in the
    sandbox, or outside of it.
    """
    call()
    calls = []
    for _ in range(10):
        # What only some of them meet is work of other threads, such as the tick of a
        # server.
        entered.clear()
        call()
        calls.append(entered.copy())
    named = {
        (code.co_filename, code.co_qualname)
        for code in set.intersection(*calls)
        if Path(code.co_filename).is_relative_to(SERVICE if service else PACKAGE)
        if not code.co_name.startswith(
            "<"
        )  # <listcomp>, <lambda>; Python 3.12 enters no frame for most of them
    }
    return len({file for file, _ in named}), len(named)


def print_way(
    name: str,
    entered: set[CodeType],
    call: Callable[[], object],
    *,
    service: bool = False,
) -> None:
    """Print what the second call enters: in the sandbox, or outside of it."""
    modules, functions = measure(entered, call, service=service)
    print(f"{name:30} {modules:4} modules {functions:4} functions")


def print_ways() -> None:
    """Print the ways of a payer, a payment, a row of a file, and a call to the
    sandbox.
    """
    number = count()
    with (
        recorded() as entered,
        payerkit.sandbox(decide_after=0, seed=1) as client,
        TemporaryDirectory() as folder,
    ):
        payment = payerkit.initiate_payment(client, ORDER)

        def create() -> None:
            payerkit.create_payer(
                client, PAYER | {"clientUserId": f"way-{next(number)}"}
            )

        def onboard() -> None:
            file = Path(folder) / f"{next(number)}.csv"
            row = payer_row(1) | {"client_user_id": file.stem, "holder_is_payer": "yes"}
            pd.DataFrame([row]).to_csv(file, index=False)
            report = payerkit.onboard(
                client,
                payerkit.read_payers(file),
                journal=Path(folder) / "journal",
                options=RunOptions(progress=False),
            )
            assert report.counts["done"] == 1
            report.save(file.with_suffix(".report.csv"))

        print_way("create_payer", entered, create)
        print_way(
            "check_payment", entered, lambda: payerkit.check_payment(payment).verdict
        )
        print_way("a CSV row, file to report", entered, onboard)
        print_way("POST /v2/payer, in the sandbox", entered, create, service=True)


def main() -> None:
    """Print all figures."""
    for root in (PACKAGE, SERVICE, TESTS):
        print_size(root)
    print_ways()
    print()
    print(f"{len(payerkit.__all__)} public names in payerkit")


if __name__ == "__main__":
    main()
