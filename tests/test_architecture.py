"""The architecture: imports point one way, importing is fast, and every public name is
documented.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

import payerkit
from house_figures import habits_of

PACKAGE = Path(payerkit.__file__).parent
SANDBOX = PACKAGE.with_name("payerkit_sandbox")
PLACES = [
    name for name in dir(payerkit) if isinstance(getattr(payerkit, name), ModuleType)
]
FLOORS = [
    {"errors", "html", "wording", "disk", "frames", "visible_frame"} | {"_tsv"},
    {"wire", "findings", "explanations", "reasons", "cheat_sheet", "cells"}
    | {"redaction"},
    {"checks", "payments.onchain", "masking", "models", "client"},
    {"payments"},
    {"sample_payments", "tables"},
    {"endpoints"},
    {"runs"},
    {"money"},
    {"forms"},
    {"connection"},
    {"reference"},
    {"__init__"},
    {"cli"},
    {"__main__"},
]
"""From the ground up: a module imports from its own floor and below. This is the map of
the house; each module and folder says in its docstring what it is for."""

LOADED_ON_CALL = [
    ("checks", "tables"),
    ("client", "connection"),
    ("endpoints", "money"),
    ("models", "payments"),
]
"""The ways up: `check_all_bank_details` reads headers as tables do if it is asked to;
`client.SandboxClient` and `client.SandboxControls` load `client/sandbox_client.py`;
`get_payer_status` reads events if it is given some;
`Payment.card`, `.to_safe` and `.safe_hashes` load what they return when they are
called."""


def room(module: str) -> str:
    """Return the module or folder of the package that a dotted name belongs to."""
    parts = module.split(".")
    if len(parts) == 1 or parts[1] in {"__init__", "__version__"}:
        return "__init__"
    if parts[1:3] == ["payments", "onchain"]:
        return "payments.onchain"
    return parts[1]


@cache
def parsed(file: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(file.read_text("utf-8"))


@cache
def imports() -> list[tuple[str, str]]:
    """Return every import of one part of the package by another."""
    found = []
    for file in PACKAGE.rglob("*.py"):
        path = file.relative_to(PACKAGE).with_suffix("")
        part = room(".".join(["payerkit", *path.parts]))
        for node in ast.walk(parsed(file)):
            names = (
                [node.module]
                if isinstance(node, ast.ImportFrom) and node.module
                else []
            )
            names += (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else []
            )
            if isinstance(node, ast.ImportFrom) and node.module == "payerkit":
                names = [f"payerkit.{alias.name}" for alias in node.names]
            found += [
                (part, room(name)) for name in names if name.split(".")[0] == "payerkit"
            ]
    return sorted({(one, other) for one, other in found if one != other})


def test_imports_point_one_way() -> None:
    """No module imports from a floor above its own."""
    floor = {name: level for level, names in enumerate(FLOORS) for name in names}
    upward = [(one, other) for one, other in imports() if floor[one] < floor[other]]

    assert LOADED_ON_CALL == upward


@pytest.mark.parametrize("wing", ["payments", "tables"])
def test_wings_have_no_circle(wing: str) -> None:
    """No module of a wing comes back to itself by its imports, late ones and those for
    types among them.
    """
    files = {
        f"payerkit.{wing}.{file.stem}": file
        for file in PACKAGE.joinpath(wing).glob("*.py")
    }
    graph = {name: imported(file) & {*files} for name, file in files.items()}

    assert {*files} == {*TopologicalSorter(graph).static_order()}


def imported(file: Path) -> set[str]:
    """Return the modules that a file imports, late ones and those for types among
    them.
    """
    names = set()
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return names


def test_the_sandbox_knows_nothing_of_the_client() -> None:
    """It shares with it the tables of contracts and currencies, and no model; only its
    controls, which drive it from Python, use the client.
    """
    used = {
        name
        for file in SANDBOX.glob("*.py")
        if file.name != "controls.py"
        for name in imported(file)
        if name.startswith("payerkit.")
    }

    assert used == {
        "payerkit._tsv",
        "payerkit.payments.onchain.addresses",
        "payerkit.payments.onchain.currencies",
    }


def test_nothing_but_the_starter_imports_the_sandbox() -> None:
    """It is started in one place, its options are those of the command line, and its
    controls have a public name beside the client's.
    """
    users = {
        file.relative_to(PACKAGE).as_posix()
        for file in PACKAGE.rglob("*.py")
        if any(name.startswith("payerkit_sandbox") for name in imported(file))
    }

    assert users == {"connection.py", "client/sandbox_client.py", "cli/sandbox.py"}


def test_no_name_stands_for_two_things() -> None:
    """No two modules, and no two public classes or functions of modules, have
    one name. A command of the terminal is a module of its name, with a function `run`.
    """
    files = [*PACKAGE.rglob("*.py"), *SANDBOX.rglob("*.py")]
    files = [file for file in files if file.parent.name != "cli"]
    modules = Counter(file.stem for file in files if not file.stem.startswith("__"))
    names: Counter[str] = Counter()
    for file in files:
        for node in parsed(file).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                names[node.name] += 1
    public = Counter({name: n for name, n in names.items() if not name.startswith("_")})

    assert [] == [name for name, times in (modules | public).items() if times > 1]


PLAIN = [
    SANDBOX,
    PACKAGE / "checks",
    PACKAGE / "cli",
    PACKAGE / "client",
    PACKAGE / "forms",
    PACKAGE / "models",
    PACKAGE / "money",
    PACKAGE / "payments",
    PACKAGE / "runs",
    PACKAGE / "tables",
]
"""Folders that were written anew, one thought a line; the others follow."""


@pytest.mark.parametrize("folder", PLAIN, ids=lambda folder: folder.name)
def test_no_line_has_to_be_decoded(folder: Path) -> None:
    """No conditional expression stands within another, and no loop is over nothing
    unless a condition holds; `house_figures.py` prints the other habits.
    """
    files = sorted(folder.rglob("*.py"))
    habits = sum((habits_of(parsed(file)) for file in files), Counter())

    assert files
    assert 0 == habits["nested conditional"] + habits["loop over nothing"]


def module_of(place: str) -> ModuleType:
    """Return the module of a place, payerkit itself for ""."""
    return importlib.import_module(f"payerkit.{place}".rstrip("."))


def public_names() -> list[tuple[str, str]]:
    """Return each public name with its place, "" for the top."""
    return [
        (place, name)
        for place in ["", *PLACES]
        for name in getattr(module_of(place), "__all__", ())
        if f"{place}{name}" not in PLACES
    ]


def test_each_public_name_is_listed_once() -> None:
    """The top has each of its names once."""
    names = payerkit.__all__

    assert sorted({*names}) == sorted(names)


@pytest.mark.parametrize(("place", "name"), public_names())
def test_public_names_are_documented(place: str, name: str) -> None:
    """Each can be imported from where it is listed, and has a docstring."""
    module = module_of(place)

    assert getattr(module, name).__doc__
    assert name in dir(module)
    # A module of that name would hide it.
    assert (
        not hasattr(module, "__path__")
        or importlib.util.find_spec(f"{module.__name__}.{name}") is None
    )


def test_help_names_everything() -> None:
    """Every public name and place stands in what `help(payerkit)` begins with."""
    words = set(re.findall(r"\w+", payerkit.__doc__ or ""))

    assert [] == [name for name in dir(payerkit) if name not in words]


def test_unknown_names_are_an_error() -> None:
    """An unknown name raises AttributeError, as in any module."""
    with pytest.raises(AttributeError, match="payerkit attribute nonsense"):
        payerkit.nonsense  # type: ignore[attr-defined]  # noqa: B018 - the access is what is tested


def test_licence_and_notices_are_shipped() -> None:
    """The licence and the notices are files of the package, and the notices name every
    table.
    """
    project = tomllib.loads(
        PACKAGE.parent.parent.joinpath("pyproject.toml").read_text("utf-8")
    )["project"]
    notices = PACKAGE.joinpath("NOTICES.md").read_text("utf-8")
    tables = [file.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob("*.tsv")]
    tables += [f"payerkit_sandbox/{file.name}" for file in SANDBOX.glob("*.tsv")]

    assert ["src/payerkit/LICENSE", "src/payerkit/NOTICES.md"] == project[
        "license-files"
    ]
    assert "Permission is hereby granted" in PACKAGE.joinpath("LICENSE").read_text(
        "utf-8"
    )
    assert [] == [table for table in tables if f"`{table}`" not in notices]
    assert "python-stdnum" in notices  # LGPL, and imported


HEAVY = {
    "pandas",
    "numpy",
    "ipywidgets",
    "anywidget",
    "fastapi",
    "sqlalchemy",
    "uvicorn",
    "eth_abi",
}
HEAVY |= {"phonenumbers", "stdnum", "payerkit.checks.records"}


def loaded_by(code: str) -> set[str]:
    """Return the modules that a fresh interpreter has after running some code."""
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
        timeout=40,
    )
    return set(done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import payerkit", HEAVY | {"requests", "pydantic"}),
        ("from payerkit import Payer, InvalidInput", HEAVY | {"requests"}),
        (
            (
                "from payerkit import connect, create_payer;"
                " connect('http://127.0.0.1:9', api_key='k')"
            ),
            HEAVY,
        ),
        (
            "from payerkit import check_payer; check_payer({})",
            HEAVY - {"payerkit.checks.records"} | {"requests"},
        ),
        (
            "from payerkit import Walkthrough",
            HEAVY - {"anywidget", "ipywidgets", "payerkit.checks.records", "eth_abi"},
        ),
        ("import payerkit.cli.main", HEAVY | {"requests", "pydantic"}),
    ],
)
def test_imports_load_what_they_need(code: str, absent: set[str]) -> None:
    """Importing loads no library that the code does not use."""
    assert set() == loaded_by(code) & absent


@pytest.mark.slow
def test_the_package_works_without_its_extras() -> None:
    """All public names are there; the sandbox says which extra it needs."""
    project = tomllib.loads(
        PACKAGE.parent.parent.joinpath("pyproject.toml").read_text("utf-8")
    )["project"]
    listed = [
        each
        for name in ("sandbox", "excel")
        for each in project["optional-dependencies"][name]
    ]
    absent = {re.split(r"[><=\[]", each)[0].replace("-", "_") for each in listed} - {
        "eth_utils",
        "typing_extensions",
    }
    script = f"""
import sys
sys.modules |= dict.fromkeys({sorted(absent)})
import payerkit
names = [getattr(payerkit, name) for name in dir(payerkit)]
for place in [payerkit, *names]:
    for name in getattr(place, "__all__", ()):
        getattr(place, name)
try:
    payerkit.sandbox()
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
        timeout=40,
    )

    assert re.fullmatch(
        r"The sandbox needs \w+: pip install 'payerkit\[sandbox\]'\.\n", done.stdout
    )
