"""The architecture: imports point one way, importing is fast, and every public name is documented."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

import payerkit

PACKAGE = Path(payerkit.__file__).parent
PLACES = [name for name in dir(payerkit) if name not in payerkit.__all__]
FLOORS = [
    {"errors", "html", "pictures", "wording", "disk", "frames", "_tsv", "_lazy"},
    {"wire", "findings", "explanations", "reasons", "cheat_sheet"},
    {"checks", "onchain"},
    {"policy", "masking"},
    {"models", "client"},
    {"payment"},
    {"signing"},
    {"events", "sample_payments", "tables", "widgets"},
    {"endpoints", "sandbox_controls"},
    {"payouts"},
    {"onboarding", "forms"},
    {"connection", "service"},
    {"reference", "statuses"},
    {"__init__"},
    {"cli"},
    {"__main__"},
]
"""From the ground up: a module imports from its own floor and below."""

LOADED_ON_CALL = [("checks", "tables"), ("models", "signing")]
"""The ways up: `check_all_bank_details` reads headers as tables do if it is asked to; `Payment.card`, `.to_safe` and
`.safe_hashes` load what they return when they are called."""


def room(module: str) -> str:
    """Return the module or folder of the package that a dotted name belongs to."""
    parts = module.split(".")
    return "__init__" if len(parts) == 1 or parts[1].startswith("__") else parts[1]


@cache
def parsed(file: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(file.read_text("utf-8"))


@cache
def imports() -> list[tuple[str, str]]:
    """Return every import of one part of the package by another."""
    found = []
    for file in PACKAGE.rglob("*.py"):
        part = Path(file.relative_to(PACKAGE).parts[0]).stem
        for node in ast.walk(parsed(file)):
            names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module == "payerkit":
                names = [f"payerkit.{alias.name}" for alias in node.names]
            found += [(part, room(name)) for name in names if name.split(".")[0] == "payerkit"]
    return sorted({(one, other) for one, other in found if one != other})


def test_imports_point_one_way() -> None:
    """No module imports from a floor above its own."""
    floor = {name: level for level, names in enumerate(FLOORS) for name in names}
    upward = [(one, other) for one, other in imports() if floor[one] < floor[other]]

    assert LOADED_ON_CALL == upward


def test_tables_have_no_circle() -> None:
    """No module of the tables comes back to itself by its imports, late ones and those for types among them."""
    files = {f"payerkit.tables.{file.stem}": parsed(file) for file in PACKAGE.joinpath("tables").glob("*.py")}
    graph = {
        name: {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module in files}
        for name, tree in files.items()
    }

    assert {*files} == {*TopologicalSorter(graph).static_order()}


def test_service_knows_nothing_of_the_client() -> None:
    """The service and the client share the fact tables of onchain, and no model."""
    assert {"onchain", "_tsv"} == {other for one, other in imports() if one == "service"}


def test_nothing_but_the_starter_imports_the_service() -> None:
    """The service is started in one place, and its keys are made by the command line."""
    assert {"connection", "cli"} == {one for one, other in imports() if other == "service"}


def module_of(place: str) -> ModuleType:
    """Return the module of a place, payerkit itself for ""."""
    return importlib.import_module(f"payerkit.{place}".rstrip("."))


def public_names() -> list[tuple[str, str]]:
    """Return each public name with its place, "" for the top."""
    return [(place, name) for place in ["", *PLACES] for name in getattr(module_of(place), "__all__", ())]


def test_the_top_has_few_names() -> None:
    """Those that most users need; all others are in a place whose name says what they are about."""
    names = payerkit.__all__

    assert len({*names}) == len(names)
    assert len(names) <= 46, "src/payerkit/__init__.pyi: list a new name in a place, or raise this limit on purpose"


@pytest.mark.parametrize(("place", "name"), public_names())
def test_public_names_are_documented(place: str, name: str) -> None:
    """Each can be imported from where it is listed, and has a docstring."""
    module = module_of(place)

    assert getattr(module, name).__doc__
    assert name in dir(module)
    # A module of that name would hide it.
    assert not hasattr(module, "__path__") or importlib.util.find_spec(f"{module.__name__}.{name}") is None


def test_help_is_one_screen_by_task() -> None:
    """Every public name and place stands in what `help(payerkit)` begins with, within 80 columns and 40 lines."""
    lines = (payerkit.__doc__ or "").splitlines()
    words = set(re.findall(r"\w+", " ".join(lines)))

    assert [] == [name for name in dir(payerkit) if name not in words]
    assert (True, True) == (len(lines) < 40, all(len(line) < 80 for line in lines[1:]))


def test_unknown_names_are_an_error() -> None:
    """An unknown name raises AttributeError, as in any module."""
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        payerkit.nonsense  # type: ignore[attr-defined]  # noqa: B018 - the access is what is tested


def test_licence_and_notices_are_shipped() -> None:
    """The licence and the notices are files of the package, and the notices name every table."""
    project = tomllib.loads(PACKAGE.parent.parent.joinpath("pyproject.toml").read_text("utf-8"))["project"]
    notices = PACKAGE.joinpath("NOTICES.md").read_text("utf-8")
    tables = [file.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob("*.tsv")]

    assert ["src/payerkit/LICENSE", "src/payerkit/NOTICES.md"] == project["license-files"]
    assert "Permission is hereby granted" in PACKAGE.joinpath("LICENSE").read_text("utf-8")
    assert [] == [table for table in tables if f"`{table}`" not in notices]
    assert "python-stdnum" in notices  # LGPL, and imported


HEAVY = {"pandas", "numpy", "ipywidgets", "anywidget", "fastapi", "sqlalchemy", "uvicorn", "cryptography", "eth_abi"}
HEAVY |= {"phonenumbers", "stdnum", "payerkit.checks.rules"}


def loaded_by(code: str) -> set[str]:
    """Return the modules that a fresh interpreter has after running some code."""
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import payerkit", HEAVY | {"requests", "pydantic"}),
        ("from payerkit import Payer, InvalidInput", HEAVY | {"requests"}),
        ("from payerkit import connect, create_payer; connect('http://127.0.0.1:9', api_key='k')", HEAVY),
        (
            "from payerkit import check_payer; check_payer({})",
            HEAVY - {"payerkit.checks.rules"} | {"requests", "pydantic"},
        ),
        (
            "from payerkit import Walkthrough",
            HEAVY - {"anywidget", "ipywidgets", "payerkit.checks.rules", "eth_abi"},
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
    project = tomllib.loads(PACKAGE.parent.parent.joinpath("pyproject.toml").read_text("utf-8"))["project"]
    listed = [each for name in ("sandbox", "excel") for each in project["optional-dependencies"][name]]
    absent = {re.split(r"[><=\[]", each)[0].replace("-", "_") for each in listed} - {"eth_utils", "typing_extensions"}
    script = f"""
import sys
sys.modules |= dict.fromkeys({sorted(absent)})
import payerkit
for place in [payerkit, *(getattr(payerkit, name) for name in dir(payerkit) if name not in payerkit.__all__)]:
    for name in getattr(place, "__all__", ()):
        getattr(place, name)
try:
    payerkit.sandbox()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)

    assert re.fullmatch(r"The sandbox needs \w+: pip install 'payerkit\[sandbox\]'\.\n", done.stdout)
