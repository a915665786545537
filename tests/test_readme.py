"""The README: its tables match the code, its examples print what it shows, its commands exist."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from fastapi.routing import APIRoute

import payerkit
from payerkit import errors
from payerkit.cli import main as cli
from payerkit.service import accounts, pay, payers, payouts
from test_architecture import module_of, public_names

FOLDER = Path(__file__).parent.parent
README = FOLDER.joinpath("README.md").read_text("utf-8")


def table(heading: str) -> list[list[str]]:
    """Return the rows of the first table under a heading."""
    lines = README.partition(f"## {heading}\n")[2].splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("|---"))
    rows = []
    for line in lines[start + 1 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


ROWS = table("The five calls")


BEYOND = table("Beyond the specification")
ROUTE = re.compile("`((?:GET|POST|PATCH) /[^`]+)`")


def calls() -> dict[str, str]:
    """Return the route of each public function that makes a call, as the first paragraphs of its docstring name it."""
    docs = {name: inspect.getdoc(getattr(payerkit, name)) or "" for name in payerkit.__all__}
    made = {
        name: ROUTE.search(doc.partition("Args:")[0]) for name, doc in docs.items() if "client" in _parameters(name)[:1]
    }
    return {name: route[1] for name, route in made.items() if route}


def _parameters(name: str) -> list[str]:
    function = getattr(payerkit, name)
    return [*inspect.signature(function).parameters] if inspect.isfunction(function) else []


def test_tables_have_every_call() -> None:
    """Each public function that makes a call has a row in one of two tables, with its route."""
    rows = {row[0].strip("`").partition("(")[0]: row[1].strip("`") for row in [*ROWS, *BEYOND]}
    documented = {name: route for name, route in rows.items() if route != "none"}

    assert calls() == documented, "README.md: a call has its row in The five calls, or in Beyond the specification"
    assert {*documented.values()} <= _routes(), "src/payerkit/service: the sandbox has every call"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("`").partition("(")[0])
def test_each_row_is_the_code(row: list[str]) -> None:
    """Name, arguments, route, options and result of a row match the function, and the sandbox has the route."""
    name, arguments = re.fullmatch(r"`(\w+)\(([^)]*)\)`", row[0]).groups()  # type: ignore[union-attr]
    signature = inspect.signature(getattr(payerkit, name))
    positional = [
        each
        for each in signature.parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    options = [each.name for each in signature.parameters.values() if each.kind is each.KEYWORD_ONLY]

    assert arguments.split(", ") == [each.name for each in positional]
    assert [each.strip(" `") for each in row[2].split(",")] in (options, [_model(positional[-1])])
    assert signature.return_annotation.endswith(row[3].partition(":")[0].strip("`"))
    assert row[1].strip("`") in _routes()
    assert row[1].strip("`") in inspect.getdoc(getattr(payerkit, name))  # type: ignore[operator]


def _model(parameter: inspect.Parameter) -> str:
    return str(parameter.annotation).partition(" ")[0]


def _routes() -> set[str]:
    subjects = (payers, accounts, pay, payouts)
    routes = [route for each in subjects for route in each.router.routes if isinstance(route, APIRoute)]
    return {f"{method} {route.path}" for route in routes for method in route.methods or ()}


def test_errors_are_listed() -> None:
    """The table of errors has every public exception."""
    kinds = {
        name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, errors.PayerkitError)
    }
    listed = set(re.findall(r"`(\w+)`", README.partition("| Error |")[2].partition("## ")[0]))

    assert kinds - {"PayerkitError"} | {"KeyboardInterrupt"} == listed


EXAMPLES = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", README, re.DOTALL)


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_examples_print_what_is_shown(
    code: str, output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each example of the README runs, and prints the block of text below it, up to blanks."""
    monkeypatch.setenv("PAYERKIT_API_KEY", "key-of-a-test")
    names: dict[str, payerkit.client.Client] = {}
    exec(code, names)  # noqa: S102 - the README's own lines

    if "client" in names:
        names["client"].close()
    assert output.split() == capsys.readouterr().out.split()


def test_introduction_is_short() -> None:
    """Before the reference, the README has at most 900 words and shows an example with its output."""
    introduction = README.partition("\n## Reference\n")[0]

    assert (True, True) == (len(introduction.split()) <= 900, bool(EXAMPLES[0][1]))


@pytest.mark.parametrize("target", re.findall(r"\]\((?!https?:)(.*?)\)", README))
def test_links_lead_to_files(target: str) -> None:
    """Each picture and file that the README links to exists."""
    assert (FOLDER / target).is_file()


def test_glossary_has_each_word_once_in_order() -> None:
    """The glossary is sorted."""
    words = [row[0] for row in table("Glossary")]

    assert sorted(set(words), key=str.lower) == words


COMMANDS = sorted(
    set(re.findall(r"payerkit (lab|sandbox|onboard|events|inspect|trace)(?: [\w.-]+)?( --[a-z-]+)?", README))
)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_exist(command: tuple[str, str]) -> None:
    """Every command and option that the README names exists."""
    name, option = command[0], command[1].strip()
    has_value = option in {"--db", "--events", "--html", "--policy", "--to"}
    arguments = [
        name,
        *(["x"] if name in {"inspect", "trace"} else []),
        *([option] if option else []),
        *(["x"] if has_value else []),
    ]

    assert cli._parser(arguments).parse_args(arguments).command == name


def test_public_functions_are_explained() -> None:
    """Every public function is in the README."""
    functions = [each for each in public_names() if inspect.isfunction(getattr(module_of(each[0]), each[1]))]
    names = [f"payerkit.{place}.{name}(" if place else f"{name}(" for place, name in functions]

    assert [] == [name for name in names if name not in README]
