"""The README: its tables match the code, its examples print what it shows, its commands exist."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from fastapi.routing import APIRoute

import payerkit
from payerkit.cli import main as cli
from payerkit.service import accounts, pay, payers, payouts

FOLDER = Path(__file__).parent.parent
README = FOLDER.joinpath("README.md").read_text("utf-8")


def test_the_sandbox_has_every_call() -> None:
    """Each route that the docstring of a public function names is one of the sandbox."""
    routers = [subject.router for subject in (payers, accounts, pay, payouts)]
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    docs = [inspect.getdoc(getattr(payerkit, name)) or "" for name in payerkit.__all__]
    named = {route for doc in docs for route in re.findall("`((?:GET|POST|PATCH) /[^`]+)`", doc.partition("Args:")[0])}

    assert len(named) > 5
    assert named <= {f"{method} {route.path}" for route in routes for method in route.methods or ()}


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
