"""Nothing lies: README and notebooks are short, and what they name, link, show and run
is there.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import redirect_stdout
from decimal import Decimal
from functools import cache, partial
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from spellchecker import SpellChecker

import payerkit
from cases import DATA
from payerkit import PayoutOrder
from payerkit.cli import main as cli
from payerkit.cli.arguments import add_commands
from payerkit.reference import cheat_sheet
from payerkit_sandbox.app import app
from published import BANK_DETAILS, ORDER, PAYER
from remake_reference import LLMS, NOTEBOOKS, PAGES, TASKS, llms
from remake_wings import PICTURE, wings
from test_architecture import public_names

FOLDER = NOTEBOOKS.parent
README = FOLDER.joinpath("README.md").read_text("utf-8")
FIRST = ["README.md", "notebooks/index.ipynb", "notebooks/00-quickstart.ipynb"]
OTHERS = sorted(
    {f"notebooks/{path.name}" for path in NOTEBOOKS.glob("*.ipynb")} - {*FIRST}
)
every_page = pytest.mark.parametrize("name", [*FIRST, *OTHERS])


@cache
def cells(name: str) -> list[nbformat.NotebookNode]:
    """Return the cells of a notebook, or the README as one cell."""
    if name == "README.md":
        return [nbformat.v4.new_markdown_cell(README)]
    cells: list[nbformat.NotebookNode] = nbformat.read(
        FOLDER / name, as_version=4
    ).cells
    return cells


def prose(name: str) -> str:
    """Return what is written by hand on a page."""
    return "\n\n".join(
        cell.source
        for cell in cells(name)
        if cell.cell_type == "markdown" and "page" not in cell.metadata
    )


def without_code(text: str) -> str:
    """Return a text without blocks of code."""
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)


FIELD_WORDS = frozenset((DATA / "field_words.txt").read_text("utf-8").split())
"""Words of this field that no list of English words has, in small letters."""

NAMES = {"fiat", "tokens"}
"""Pages of the reference that are names alone."""


@cache
def english() -> SpellChecker:
    """Return a list of English words that knows which are not in it."""
    return SpellChecker(distance=1)


def misspelled(text: str) -> set[str]:
    """Return the words of a text that are in no list; code, links, and words with
    digits or signs are no words.
    """
    text = re.sub(r"<img[^>]*alt=\"([^\"]*)\"[^>]*>", r"\1", without_code(text))
    text = re.sub(r"`[^`\n]*`|\]\([^)]*\)|https?://\S+|&\w+;", " ", text)
    parts = re.findall(r"[\w.=/@'{}-]+", text)
    plain = " ".join(
        part for part in parts if not re.search(r"[_=@{}\d]|\w\.\w|[a-z][A-Z]", part)
    )
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", plain.lower())
    return english().unknown(word.removesuffix("'s") for word in words) - FIELD_WORDS


def text_of(name: str) -> str:
    """Return the text of a page, with what is made of the code."""
    texts = [cell for cell in cells(name) if cell.cell_type == "markdown"]
    return "\n\n".join(
        cell.source for cell in texts if cell.metadata.get("page") not in NAMES
    )


@every_page
def test_words_are_spelled_right(name: str) -> None:
    """Each is in a list of English words, or in ours."""
    assert set() == misspelled(text_of(name))


def test_a_misspelled_word_is_found() -> None:
    """Not in code, nor in a link, and whether it begins a sentence or ends with an
    apostrophe.
    """
    text = "Recieved by the [payyer's](payyment.md) bank: `acount`, user_idd, IBANS2."

    assert {"recieved", "payyer"} == misspelled(text)


MESSAGES = (
    "checks/order_findings checks/table_findings runs/advice runs/verified"
    " payments/findings payments/book_warnings tables/file_findings"
)
"""Tables of what payerkit says; the reference has the texts of the others."""


def errors_of(source: str) -> Iterator[str]:
    """Yield the sentences that a module raises, without the values in them."""
    for raised in ast.walk(ast.parse(source)):
        for each in ast.walk(raised) if isinstance(raised, ast.Raise) else ():
            if (
                isinstance(each, ast.Constant)
                and isinstance(each.value, str)
                and " " in each.value
            ):
                yield each.value


def test_messages_are_spelled_right() -> None:
    """So are the words of findings, advice, errors and the help of commands."""
    folder = Path(payerkit.__file__).parent
    tables = [(folder / f"{name}.tsv").read_text("utf-8") for name in MESSAGES.split()]
    errors = [
        text
        for path in sorted(folder.parent.glob("payerkit*/**/*.py"))
        for text in errors_of(path.read_text("utf-8"))
    ]

    parsers = add_commands(ArgumentParser(add_help=False)).values()
    helps = [parser.format_help() for parser in parsers]

    assert set() == misspelled("\n".join([*tables, *errors, *helps]))


SPEED = (
    r"\d ms\b|\btimes (?:as long|as fast|faster|slower)\b|\ba second to \w+|\d rows"
    r" (?:a|per) second\b"
    r"|\d (?:rows|payers|accounts|payments)\b.*\b(?:seconds?|minutes?|hours?)\b"
)
AGAINST = (
    r"\bthan\b|\bas (?:long|fast)\b.* as\b|\bon (?:Linux|macOS|Windows)\b|calls"
    r" (?:a|per) second"
)


def speeds_alone(text: str) -> list[str]:
    """Return the sentences that tell a speed, and not against what or at which rate."""
    sentences = re.split(r"(?<=[.;?!])\s+|\n\s*\n|\|", text)
    return [
        each
        for each in sentences
        if re.search(SPEED, each) and not re.search(AGAINST, each)
    ]


@every_page
def test_a_speed_says_against_what(name: str) -> None:
    """It names what it is compared with, the rate of calls, or the system on which it
    is so.
    """
    assert [] == speeds_alone(text_of(name))


def test_a_speed_in_the_source_says_against_what() -> None:
    """So do comments and docstrings."""
    sources = (FOLDER / "src").rglob("*.py")
    lines = [line for path in sources for line in path.read_text("utf-8").splitlines()]

    assert [] == [line for line in lines if speeds_alone(line)]


def test_a_speed_alone_is_found() -> None:
    """Seconds for some rows, and many times faster, tell nothing without the other
    side.
    """
    alone = [
        "It checks 1,000 rows in two seconds.",
        "It is 8 times faster.",
        "A call takes 2 ms.",
    ]

    assert alone == speeds_alone(
        " ".join([*alone, "At 5 calls per second, 200 payers take two minutes."])
    )


@every_page
def test_links_lead_to_files(name: str) -> None:
    """Each picture and file that a page names exists."""
    text = "\n".join(
        cell.source for cell in cells(name) if cell.cell_type == "markdown"
    )
    targets = re.findall(
        r"(?:\]\(|<img src=\")(?!https?:|attachment:|data:|#)([^)\"#]+)", text
    )

    assert [] == [
        target
        for target in targets
        if not (FOLDER / name).parent.joinpath(target).is_file()
    ]


@cache
def words_of_the_package() -> frozenset[str]:
    """Return every word of the source and of the repository's settings."""
    files = [
        path
        for path in (FOLDER / "src").rglob("*")
        if path.suffix in {".py", ".pyi", ".tsv", ".json"}
    ]
    texts = [path.read_text("utf-8") for path in [*files, FOLDER / "pyproject.toml"]]
    names = {
        path.name
        for folder in ("src", "tests")
        for path in (FOLDER / folder).rglob("*.*")
    }
    return frozenset(re.findall(r"\w+", " ".join([*texts, *names])))


OTHER_FILES = r"[\w/-]+\.(csv|db|html|ipynb|journal|json|jsonl|toml|xlsx)\b|\"[^\"]*\""


@every_page
def test_names_exist(name: str) -> None:
    """Each name between backticks is one of the package, or one that the page itself
    makes in its code.
    """
    code = "\n".join(cell.source for cell in cells(name) if cell.cell_type == "code")
    spans = re.sub(
        OTHER_FILES, "", " ".join(re.findall(r"`([^`\n]+)`", without_code(prose(name))))
    )
    named = {*re.findall(r"[A-Za-z_]\w+", spans)}

    assert set() == named - words_of_the_package() - {*re.findall(r"\w+", code)}


COMMAND = r"payerkit (lab|docs|sandbox|onboard|inspect|trace)\b([^`\n]*)"


@every_page
def test_commands_exist(name: str) -> None:
    """Each command of a page has the options with which it is named."""
    for command, rest in re.findall(COMMAND, prose(name)):
        with pytest.raises(SystemExit), redirect_stdout(StringIO()) as usage:
            cli.main([command, "--help"])

        assert [] == [
            option
            for option in re.findall(r"--[a-z-]+", rest)
            if option not in usage.getvalue()
        ]


@pytest.mark.parametrize(
    "code", re.findall(r"^ *```python\n(.*?)```", README, re.DOTALL | re.MULTILINE)
)
def test_examples_run(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each example of the README runs."""
    monkeypatch.setenv("PAYERKIT_API_KEY", "key-of-a-test")
    exec(inspect.cleandoc(code), {})  # noqa: S102 - the README's own lines


@pytest.mark.slow
def test_the_picture_of_the_index_is_drawn_so() -> None:
    """Who is who is as `python tests/remake_pictures.py` draws it."""
    pictures = pytest.importorskip(
        "remake_pictures", reason="playwright is not installed", exc_type=ImportError
    )

    assert (
        pictures.who_is_who()
        == pictures.PICTURES.joinpath("who-is-who.svg").read_bytes()
    )


@pytest.mark.slow
def test_the_picture_of_the_wings_is_drawn_so() -> None:
    """How payerkit is built is as `python tests/remake_wings.py` draws it."""
    assert wings() == PICTURE.read_bytes()


def test_the_words_of_a_picture_are_of_this_picture() -> None:
    """`python tests/remake_pictures.py` took both at once; tests in the browser compare
    the words with today's.
    """
    taken = json.loads((DATA / "pictures.json").read_text("utf-8"))
    pictures = {
        path.name: path.read_bytes() for path in (NOTEBOOKS / "pictures").glob("*.png")
    }

    assert {
        name: sha256(picture).hexdigest() for name, picture in pictures.items()
    } == {name: each["sha256"] for name, each in taken.items()}


def test_files_of_the_settings_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The profile and the policy of the settings page can be used."""
    files = re.findall(
        r"```toml\n(.*?)```", prose("notebooks/reference-settings.ipynb"), re.DOTALL
    )
    for name, text in zip(
        ["profiles.toml", "policy.toml", "addresses.csv"],
        [*files, "address,name,chainId"],
        strict=True,
    ):
        tmp_path.joinpath(name).write_text(text, "utf-8")
    monkeypatch.setenv("PAYERKIT_PROFILES", str(tmp_path / "profiles.toml"))

    assert "staging" == payerkit.connect("staging", api_key="key-of-a-test").environment
    assert (
        Decimal("0.1")
        == payerkit.PaymentPolicy.read(tmp_path / "policy.toml").fees[0].max_percent
    )


def test_the_first_example_is_stopped() -> None:
    """What the first picture shows is what the first example gives."""
    assert "stop" == payerkit.check_payment(payerkit.samples["lookalike_payee"]).verdict


def test_the_sandbox_has_every_call() -> None:
    """Each call of the README, and each route in the docstring of a public function, is
    one of the sandbox.
    """
    routes = {
        f"{method.upper()} {path}"
        for path, methods in app.openapi()["paths"].items()
        for method in methods
    }
    docs = [inspect.getdoc(getattr(payerkit, name)) or "" for name in payerkit.__all__]
    texts = [README, *(doc.partition("Args:")[0] for doc in docs)]
    named = {
        route
        for text in texts
        for route in re.findall("`((?:GET|POST|PATCH) /[^`]+)`", text)
    }

    assert len(named) > 5
    assert named <= routes


MADE = [
    (path.name, cell)
    for path in sorted(
        NOTEBOOKS.glob("*.ipynb"), key=lambda path: path.name != "index.ipynb"
    )
    for cell in cells(f"notebooks/{path.name}")
    if "page" in cell.metadata
]


@pytest.mark.parametrize(("name", "cell"), MADE)
def test_reference_is_what_the_code_says(
    name: str, cell: nbformat.NotebookNode
) -> None:
    """Index and reference notebooks are what `python tests/remake_reference.py` makes
    of the code.
    """
    assert PAGES[cell.metadata.page]() == cell.source, name


def test_every_page_of_the_reference_is_in_a_notebook() -> None:
    """Nothing that is made of the code is left out."""
    assert sorted(PAGES) == sorted(cell.metadata.page for _, cell in MADE)


def test_llms_txt_is_what_the_code_says() -> None:
    """It is what `python tests/remake_reference.py` makes of the code."""
    assert llms() == LLMS.read_text("utf-8")


def test_the_reference_has_every_name() -> None:
    """Each public name has its task."""
    named = [name for names in TASKS.values() for name in names.split()]

    assert len({*named}) == len(named)
    assert {name for _, name in public_names()} <= {
        name.rpartition(".")[2] for name in named
    }


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", llms(), re.DOTALL))
def test_examples_for_models_run(code: str) -> None:
    """Each example of llms.txt runs."""
    exec(code, {})  # noqa: S102 - the package's own lines


def test_the_cheat_sheet_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lines run one after the other, and a notebook shows them whole."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PAYERKIT_API_KEY", "key-of-a-test")
    payerkit.tables.template("eur-local", path="payers.xlsx")
    Path("policy.toml").touch()
    Path("events.jsonl").touch()
    Path("payments").mkdir()
    payerkit.samples["honest"].save("payments/honest.json")
    payout = PayoutOrder(
        amount="25",
        invoice_currency="USD",
        payment_currency="USDC-sepolia",
        reference="invoice-1",
    )
    names: dict[str, Any] = {
        "payer": PAYER,
        "details": BANK_DETAILS,
        "order": ORDER,
        "payout": payout,
    }
    exec("from payerkit import *", names)  # noqa: S102 - as the page says
    names["sandbox"] = partial(payerkit.sandbox, clock="manual", decide_after=0)
    for code in cheat_sheet()["code"]:
        exec(code, names)  # noqa: S102 - the package's own lines
        if code.startswith("update_agreement"):
            names["client"].sandbox.complete_kyc("user-123")
        if code.startswith("list_payment_details"):
            stored = payerkit.list_payment_details(names["client"], "user-123")
            names["account"] = {
                "client_user_id": "user-123",
                "payment_details_id": stored["id"][0],
            }
    names["client"].close()

    assert cheat_sheet()["code"].str.len().max() <= pd.get_option(
        "display.max_colwidth"
    )
