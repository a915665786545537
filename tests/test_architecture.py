"""The architecture: imports point one way, importing is fast, each public name is listed once."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

import payerkit

PACKAGE = Path(payerkit.__file__).parent
MODULES: dict[str, str] = vars(payerkit)["_MODULES"]
FLOORS = [
    {"errors", "html", "wording", "disk", "_tsv"},
    {"wire", "findings", "retry", "explanations"},
    {"checks", "onchain"},
    {"policy"},
    {"review"},
    {"signing"},
    {"masking"},
    {"models"},
    {"frames", "client", "events", "sample_payments", "tables", "widgets"},
    {"endpoints", "sandbox_controls", "sandbox_events"},
    {"payouts"},
    {"bulk", "forms"},
    {"profiles"},
    {"connection", "service"},
    {"__init__"},
    {"cli"},
    {"__main__"},
]
"""From the ground up: a module imports from its own floor and below."""


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
    for file in (*PACKAGE.rglob("*.py"), PACKAGE / "__init__.pyi"):
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

    assert [] == upward


def test_service_knows_nothing_of_the_client() -> None:
    """The service and the client share the fact tables of onchain, and no model."""
    assert {"onchain", "_tsv"} == {other for one, other in imports() if one == "service"}


def test_nothing_but_the_starter_imports_the_service() -> None:
    """The service is started in one place, and its keys are made by the command line."""
    assert {"connection", "cli"} == {one for one, other in imports() if other == "service"}


def test_public_names_are_sorted_and_documented() -> None:
    """`__all__` and `dir()` list the same names, sorted, and each has a docstring."""
    assert sorted(payerkit.__all__) == payerkit.__all__ == dir(payerkit)
    assert [] == [name for name in payerkit.__all__ if not getattr(payerkit, name).__doc__]


def test_stub_and_table_list_the_same_names() -> None:
    """Type checkers and editors are given each public name from the module that it is loaded from."""
    stub = parsed(PACKAGE / "__init__.pyi")
    imported = [
        (alias.name, alias.asname, node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]

    assert sorted(imported) == [(name, name, f"payerkit.{module}") for name, module in MODULES.items()]


@pytest.mark.parametrize("name", payerkit.__all__)
def test_public_names_come_from_the_module_they_are_listed_with(name: str) -> None:
    """Each name is loaded from the module that the table gives."""
    assert getattr(payerkit, name) is getattr(importlib.import_module(f"payerkit.{MODULES[name]}"), name)


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
HEAVY |= {"phonenumbers", "stdnum", "payerkit.checks.rulebook"}


def loaded_by(code: str) -> set[str]:
    """Return the modules that a fresh interpreter has after running some code."""
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import payerkit", HEAVY | {"requests", "pydantic"}),
        ("from payerkit import Payer, InvalidInput", HEAVY | {"requests"}),
        ("from payerkit import connect, create_payer; connect('http://127.0.0.1:9', api_key='k')", HEAVY),
        (
            "from payerkit import check_payer; check_payer({})",
            HEAVY - {"payerkit.checks.rulebook"} | {"requests", "pydantic"},
        ),
        (
            "from payerkit import Walkthrough",
            HEAVY - {"anywidget", "ipywidgets", "payerkit.checks.rulebook", "eth_abi"},
        ),
        ("import payerkit.cli.main", HEAVY | {"requests", "pydantic"}),
    ],
)
def test_imports_load_what_they_need(code: str, absent: set[str]) -> None:
    """Importing loads no library that the code does not use."""
    assert set() == loaded_by(code) & absent
