"""Write what the reference notebooks, the index and llms.txt say of the code: `python
tests/remake_reference.py`.

A cell of a notebook whose metadata name a page is made from the code; the others are
written by hand.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import nbformat
import pandas as pd

import payerkit
from cases import table_rows
from payerkit import reference
from payerkit._tsv import rows
from payerkit.cli.arguments import add_commands
from payerkit_sandbox.settings import CommandSettings
from test_architecture import module_of

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
LLMS = Path(payerkit.__file__).with_name("llms.txt")
TASKS: dict[str, str] = {row["task"]: row["names"] for row in table_rows("tasks")}
"""All public names by task, each with its place."""

GROUPS = {"How to": "[01]", "How it works": "2", "Reference": "reference-"}
"""The groups of the index, and how the names of their files begin."""


def main() -> None:
    """Write all of them."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        made = [cell for cell in notebook.cells if "page" in cell.metadata]
        for cell in made:
            cell.source = PAGES[cell.metadata.page]()
        if made:
            nbformat.write(notebook, path)
    LLMS.write_text(llms(), "utf-8")


def public(name: str) -> Any:
    """Return what a name of TASKS stands for."""
    place, _, last = name.rpartition(".")
    return getattr(module_of(place), last)


def markdown(head: Iterable[str], lines: Iterable[Iterable[Any]]) -> str:
    """Return a table."""
    cells = [
        [str(each).replace("|", "\\|").replace("<", "&lt;") for each in line]
        for line in lines
    ]
    head = [*head]
    return "\n".join(
        f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *cells]
    )


def table(make: Callable[[], Any], names: str) -> str:
    """Return columns of a frame as a table."""
    chosen = make()[names.split()].astype("string").fillna("")
    return markdown([name.replace("_", " ") for name in chosen], chosen.to_numpy())


def functions(task: str) -> str:
    """Return a task with its public names, their signatures and docstrings."""
    return f"## {task}\n\n" + "\n\n".join(
        f"### {name}\n\n{documented(name)}" for name in TASKS[task].split()
    )


def signature(name: str) -> str:
    """Return how a public name is called, without types."""
    thing, last = public(name), name.rpartition(".")[2]
    if not callable(thing):
        return last
    whole = inspect.signature(thing)
    shown = list(whole.parameters.values())
    if any(
        each.name == "fields" and each.kind == each.VAR_KEYWORD for each in shown
    ):  # they stand with their object
        shown = [each for each in shown if each.kind != each.KEYWORD_ONLY]
    bare = [each.replace(annotation=each.empty) for each in shown]
    return f"{last}{whole.replace(parameters=bare, return_annotation=whole.empty)}"


def summary(thing: Any) -> str:
    """Return the first sentences of a docstring."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def documented(name: str) -> str:
    """Return a public name's signature and docstring: sections as lists, examples as
    code; and its methods.
    """
    parts = [f"```python\n{signature(name)}\n```"]
    for section in re.split(
        r"\n(?=(?:Args|Returns|Raises|Warns|Examples?):\n)",
        inspect.getdoc(public(name)) or "",
    ):
        title, _, body = section.partition(":\n")
        match title:
            case "Args" | "Raises" | "Warns":
                items = re.sub(
                    r"^([\w.*, ]+): ",
                    r"- `\1`: ",
                    textwrap.dedent(body).strip(),
                    flags=re.MULTILINE,
                )
                parts.append(f"**{title}**\n\n{items}")
            case "Returns":
                parts.append(f"**Returns**\n\n{textwrap.dedent(body).strip()}")
            case "Example" | "Examples":
                parts.append(
                    f"**Example**\n\n```pycon\n{textwrap.dedent(body).strip()}\n```"
                )
            case _:
                parts.append(section.strip())
    methods = vars(public(name)) if inspect.isclass(public(name)) else {}
    lines = [
        f"- `.{each}`: {summary(method)}"
        for each, method in methods.items()
        if is_documented(each, method)
    ]
    return "\n\n".join([*parts, *(["**Has**\n\n" + "\n".join(lines)] if lines else [])])


def is_documented(name: str, member: object) -> bool:
    """Return whether a member of a class is a public method or property."""
    return not name.startswith("_") and isinstance(
        member, FunctionType | classmethod | staticmethod | property
    )


def sandbox_options() -> str:
    """Return the options of a sandbox."""
    fields = CommandSettings.model_fields.items()
    return markdown(
        ["option", "default", "meaning"],
        (
            [
                f"`{name}`",
                "" if each.default is None else f"`{each.default}`",
                each.description,
            ]
            for name, each in fields
        ),
    )


def fiat() -> pd.DataFrame:
    """Return the currencies of bank accounts."""
    return reference.currencies().query("rails.notna()")


def tokens() -> str:
    """Return the currencies that pay, by network."""
    payable = reference.currencies().query("payable")
    return markdown(
        ["network", "currencies"],
        payable.groupby("network")["id"].agg(", ".join).items(),
    )


def commands() -> str:
    """Return the commands with what they do."""
    parsers = add_commands(ArgumentParser())
    lines = (
        [f"`payerkit {name}`", parser.description] for name, parser in parsers.items()
    )
    return markdown(["command", "what it does"], lines)


def reasons() -> str:
    """Return why rows and calls end as they do."""
    lines = ([f"`{row['code']}`", row["text"]] for row in rows("payerkit", "reasons"))
    return markdown(["reason_code", "reason"], lines)


ABSTRACT = (
    r"\*+(\w+) minutes?\.\** You will be able to (.*?)\.(?: You need (.*?)\.)?(?:["
    r" *\n]|$)"
)
"""The first lines of a notebook below its title."""

NUMBERS = ("nothing", "One", "Two", "Three", "Four", "Five", "Six")


def index(group: str) -> str:
    """Return a group of the index, from what the first cells say of their notebooks."""
    lines = []
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if re.match(GROUPS[group], path.name):
            title, _, rest = (
                nbformat.read(path, as_version=4).cells[0].source.partition("\n")
            )
            found = re.match(ABSTRACT, rest.strip())
            assert found, path.name
            minutes, able, needed = found.groups("nothing")
            lines.append(
                [
                    f"[{title.strip('# ')}]({path.name})",
                    NUMBERS.index(minutes),
                    able,
                    needed,
                ]
            )
    return f"## {group}\n\n" + markdown(
        ["Notebook", "Minutes", "You will be able to", "You need"], lines
    )


def llms() -> str:
    """Return what a language model needs to write code with payerkit."""
    lines = [LLMS_HEAD.strip(), ""]
    for task, names in TASKS.items():
        lines += [f"\n## {task}\n"]
        for name in names.split():
            place = f"payerkit.{name}".rpartition(".")[0]
            lines.append(f"- {place}.{signature(name)}: {summary(public(name))}")
    return "\n".join(lines) + "\n"


LLMS_HEAD = (Path(__file__).parent / "data" / "llms_head.md").read_text("utf-8")

PAGES: dict[str, Callable[[], str]] = {
    "cheat sheet": lambda: markdown(
        ["", "task", "code"],
        (
            [row.about, row.task, f"`{row.code}`"]
            for row in reference.cheat_sheet().itertuples()
        ),
    ),
    "commands": commands,
    "rules": partial(table, reference.rules, "code about severity message hint basis"),
    "findings": partial(table, reference.findings, "code severity message hint basis"),
    "statuses": partial(
        table, reference.statuses, "of status meaning whose_move what_to_do basis"
    ),
    "reasons": reasons,
    "fiat": partial(table, fiat, "id name rails needs_local needs_swift needs_wire"),
    "tokens": tokens,
    "sandbox options": sandbox_options,
    **{task: partial(functions, task) for task in TASKS},
    **{group: partial(index, group) for group in GROUPS},
}
"""What the metadata of cells name."""

if __name__ == "__main__":
    main()
