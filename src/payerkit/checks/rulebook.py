"""The rules of a body, read from the tables beside this module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import cast

from payerkit._tables import rows
from payerkit.checks import requirements
from payerkit.checks.rules import Fault, Rule
from payerkit.checks.schema import BANK_DETAILS, FILLED, SCHEMAS, TEXT, Schema
from payerkit.findings import Severity


@cache
def rules(name: str) -> tuple[Rule, ...]:
    """Return the rules of a body by its name, in the order of the table."""
    schema = SCHEMAS[name]
    by_rails = requirements.rules() if schema is BANK_DETAILS else ()
    return (*_of_the_table(schema), *by_rails)


def _of_the_table(schema: Schema) -> Iterator[Rule]:
    for row in rows(__package__, "rules"):
        if row["body"] in {"", schema.name}:
            for field in _fields_of(schema, row["about"]):
                yield _rule(row, field)


def _fields_of(schema: Schema, about: str) -> list[str]:
    if about == "texts":
        return [name for name, field in schema.fields.items() if field.format in {TEXT, FILLED}]
    return [name for name in about.split() if name in schema.fields]


def _rule(row: dict[str, str], field: str) -> Rule:
    named = {"it": field, "it?": f"{field}?"}
    return Rule(
        code=row["code"],
        field=field,
        reads=tuple(named.get(word, word) for word in row["reads"].split()),
        checker=_checker(row["checker"]),
        message=row["message"],
        hint=row["hint"],
        basis=row["basis"],
        severity=cast("Severity", row["severity"]),
    )


@cache
def _checker(name: str) -> Callable[..., Fault]:
    module, function = name.split(".")
    checker: Callable[..., Fault] = getattr(import_module(f"{__package__}.{module}"), function)
    return checker
