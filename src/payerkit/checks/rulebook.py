"""The rules of a schema, read from `rules.tsv` and `requirements.tsv`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import cast

from payerkit._tables import rows
from payerkit.checks.requirements import requirement_rules
from payerkit.checks.rules import CheckResult, Rule
from payerkit.checks.schema import BANK_DETAILS, FILLED, SCHEMAS, TEXT, Schema
from payerkit.findings import Severity


@cache
def load_rules(schema_name: str) -> tuple[Rule, ...]:
    """Return the rules of a schema in the order of the tables."""
    schema = SCHEMAS[schema_name]
    return (*_read_rules(schema), *(requirement_rules() if schema is BANK_DETAILS else ()))


def _read_rules(schema: Schema) -> Iterator[Rule]:
    """Yield a rule for each row of `rules.tsv` and each field of the schema that it checks."""
    texts = [name for name, field in schema.fields.items() if field.format in {TEXT, FILLED}]
    for row in rows(__package__, "rules"):
        if row["schema"] in {"", schema.name}:
            fields = texts if row["fields"] == "texts" else row["fields"].split()
            yield from (_rule(row, field) for field in fields if field in schema.fields)


def _rule(row: dict[str, str], field: str) -> Rule:
    reads = {"it": field, "it?": f"{field}?"}
    return Rule(
        code=row["code"],
        field=field,
        reads=tuple(reads.get(word, word) for word in row["reads"].split()),
        checker=_find_checker(row["checker"]),
        message=row["message"],
        hint=row["hint"],
        basis=row["basis"],
        severity=cast("Severity", row["severity"]),
    )


@cache
def _find_checker(name: str) -> Callable[..., CheckResult]:
    module, function = name.split(".")
    checker: Callable[..., CheckResult] = getattr(import_module(f"{__package__}.{module}"), function)
    return checker
