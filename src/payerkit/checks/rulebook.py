"""The rules of a schema, read from `rules.tsv`, `requirements.tsv` and `identifiers.tsv`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import cast

from payerkit._tsv import rows
from payerkit.checks.contradictions import identifier_rules
from payerkit.checks.requirements import requirement_rules
from payerkit.checks.rules import Rule
from payerkit.checks.schema import BANK_DETAILS, FILLED, SCHEMAS, TEXT, Schema
from payerkit.errors import InvalidInput, kind_of
from payerkit.findings import Severity

Rank = tuple[int, int]
"""By which the findings of a record are sorted: the place of the field, and that of the rule."""


@cache
def load_rules(schema_name: str) -> tuple[Rule, ...]:
    """Return the rules of a schema in the order of the tables."""
    schema = SCHEMAS[schema_name]
    computed = (*requirement_rules(), *identifier_rules()) if schema is BANK_DETAILS else ()
    return (*_read_rules(schema), *computed)


@cache
def ranked_rules(schema_name: str) -> Sequence[tuple[tuple[str, ...], Sequence[tuple[Rank, Rule]]]]:
    """Return the rules of a schema by the fields that they read, each with the rank of its findings."""
    fields = list(SCHEMAS[schema_name].fields)
    groups: dict[tuple[str, ...], list[tuple[Rank, Rule]]] = {}
    for place, rule in enumerate(load_rules(schema_name)):
        groups.setdefault(rule.reads, []).append(((fields.index(rule.field), place), rule))
    return list(groups.items())


def ignored_codes(schema: Schema, ignore: Iterable[str], also: Collection[str] = ()) -> Collection[str]:
    """Return the codes of findings to leave out. Raises InvalidInput for one that no warning or info has.

    also: the codes of warnings and infos that are found without a rule.
    """
    if not isinstance(ignore, str | list | tuple | set | frozenset):
        raise InvalidInput(f"ignore: expected a finding code or a list of codes, got {kind_of(ignore)}.")
    codes = [ignore] if isinstance(ignore, str) else list(ignore)
    known = {*also, *(rule.code for rule in load_rules(schema.name))} if codes else ()
    unknown = [code for code in codes if not isinstance(code, str) or code not in known]
    if unknown:
        raise InvalidInput(f"ignore: not the code of a warning or info: {', '.join(map(repr, unknown))}.")
    return codes


def _read_rules(schema: Schema) -> Iterator[Rule]:
    """Yield a rule for each row of `rules.tsv` and each field of the schema that it checks."""
    texts = [name for name, field in schema.fields.items() if field.format in {TEXT, FILLED}]
    for row in rows(__package__, "rules"):
        if row["schema"] in {"", schema.name}:
            fields = texts if row["fields"] == "texts" else row["fields"].split()
            yield from (_rule(row, field) for field in fields if field in schema.fields)


def _rule(row: dict[str, str], field: str) -> Rule:
    reads = {"it": field, "it?": f"{field}?"}
    module, function = row["checker"].split(".")
    return Rule(
        code=row["code"],
        field=field,
        reads=tuple(reads.get(word, word) for word in row["reads"].split()),
        checker=getattr(import_module(f"{__package__}.{module}"), function),
        message=row["message"],
        hint=row["hint"],
        basis=row["basis"],
        severity=cast("Severity", row["severity"]),
    )
