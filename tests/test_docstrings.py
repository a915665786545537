"""The examples in the docstrings of all public names run, and print what they say they
print.
"""

from __future__ import annotations

import doctest
import inspect
import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path

import pandas as pd
import pytest

import payerkit
from payerkit.cli.main import main
from payerkit.client import SandboxClient
from published import BANK_DETAILS, ORDER, PAYER
from test_architecture import module_of, public_names

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PUBLIC = {name: getattr(module_of(place), name) for place, name in public_names()} | {
    name: value
    for name, value in vars(payerkit.errors).items()
    if inspect.isclass(value)
}
NAMES = sorted(PUBLIC)
FUNCTIONS = [name for name in NAMES if inspect.isroutine(PUBLIC[name])]


def examples(name: str) -> list[doctest.DocTest]:
    """Return the examples of a public name: of the function, or of the class and its
    public methods.
    """
    public = PUBLIC[name]
    documented = {name: public}
    if inspect.isclass(public):
        inherited = [
            base
            for base in public.__mro__[1:]
            if base.__module__.startswith("payerkit.")
        ]
        documented |= {
            base.__name__: base for base in inherited if base.__name__ not in NAMES
        }
    found = [
        test
        for key, value in documented.items()
        for test in doctest.DocTestFinder().find(value, key, False)
    ]
    return [
        test
        for test in found
        if test.examples
        and not any(part[0] == "_" for part in test.name.split(".")[1:])
    ]


@pytest.fixture(scope="module")
def template() -> str:
    """Return a table of payers."""
    with redirect_stdout(io.StringIO()) as table:
        assert main(["onboard", "--template"]) == 0
    return table.getvalue()


@pytest.fixture
def folder(template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the folder in which examples run; it has a table of payers."""
    monkeypatch.chdir(tmp_path)
    Path("payers.csv").write_text(template, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def background() -> Iterator[ThreadPoolExecutor]:
    """Give a pool in which sandboxes are closed, since each waits a moment for its
    connections.
    """
    with ThreadPoolExecutor() as pool:
        yield pool


@contextmanager
def connected(background: ThreadPoolExecutor) -> Iterator[SandboxClient]:
    """Give a client of a sandbox with a payer on board, who has signed and has an
    account in US dollars.
    """
    client = payerkit.sandbox(seed="docs", clock="manual", accounts_after=0)
    try:
        payerkit.create_payer(client, PAYER)
        payerkit.update_agreement(client, PAYER["clientUserId"])
        payerkit.create_payment_detail(client, PAYER["clientUserId"], BANK_DETAILS)
        yield client
    finally:
        background.submit(client.close)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("folder")
def test_examples_run(name: str, background: ThreadPoolExecutor) -> None:
    """Every example prints what its docstring shows; it may use every public name, pd,
    three records and a client.
    """
    for test in examples(name):
        test.globs = PUBLIC | {"pd": pd}
        test.globs |= {
            "payer": dict(PAYER),
            "details": dict(BANK_DETAILS),
            "order": dict(ORDER),
        }
        printed: list[str] = []
        with ExitStack() as stack:
            if any("client" in example.source for example in test.examples):
                client = test.globs["client"] = stack.enter_context(
                    connected(background)
                )
                if any(
                    "request_payment(" in example.source for example in test.examples
                ):
                    client.sandbox.complete_kyc(PAYER["clientUserId"])
            failed, _ = doctest.DocTestRunner(optionflags=FLAGS).run(
                test, out=printed.append
            )

        assert not failed, "".join(printed)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_sections(name: str) -> None:
    """A public function documents its arguments, what it returns and raises, and shows
    an example.
    """
    function = PUBLIC[name]
    wanted = (
        ["Args", "Returns", "Raises", "Example"]
        if inspect.signature(function).parameters
        else ["Returns"]
    )
    lines = (inspect.getdoc(function) or "").splitlines()

    assert [] == [section for section in wanted if f"{section}:" not in lines]
