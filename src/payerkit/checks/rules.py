"""The rules of a schema: checkers with the findings that they lead to, from the tables beside this module."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import cast

from payerkit._tsv import grouped, rows
from payerkit.checks import requirements
from payerkit.checks.schema import FILLED, SCHEMAS, TEXT, Schema
from payerkit.errors import InvalidInput, kind_of
from payerkit.findings import Finding, Severity
from payerkit.wire import wire_name
from payerkit.wording import Wording

CheckResult = bool | str
"""What a checker returns: False if the value passes; else True, or the text that replaces `{}` in the message."""

_WRITE_IT = "Write {}."
"""The hint of a rule whose checker returns what is meant."""

Rank = tuple[int, int]
"""By which the findings of a record are sorted: the place of the field, and that of the rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A check of one field, with the finding for a value that fails it.

    reads: the fields that the checker takes as arguments, None for one that is missing or cannot be sent; `name?` only
    says whether a field has a value. The checker is skipped if the first one is missing. code, field, message, hint,
    basis, severity: as in a `Finding`, message and hint as templates of a `Wording`; `{}` is replaced by the checker's
    text.
    """

    code: str
    field: str
    reads: tuple[str, ...]
    checker: Callable[..., CheckResult]
    message: str
    hint: str
    basis: str
    severity: Severity = "warning"

    def finding(self, result: CheckResult) -> Finding:
        """Return the finding for a value that failed, from the checker's result."""
        return Finding(
            field=self.field,
            wire_name=wire_name(self.field),
            message=Wording(self.message.replace("{}", str(result))),
            code=self.code,
            severity=self.severity,
            hint=Wording.write(result) if self.hint == _WRITE_IT else Wording(self.hint.replace("{}", str(result))),
            basis=self.basis,
        )


@cache
def load_rules(schema_name: str) -> tuple[Rule, ...]:
    """Return the rules of a schema in the order of `rules.tsv`: one for each row and each field that it checks."""
    schema = SCHEMAS[schema_name]
    table = [row for row in rows(__package__, "rules") if row["schema"] in {"", schema.name}]
    return tuple(rule for row in table for rule in _rules_of(row, schema))


@cache
def ranked_rules(schema_name: str) -> Sequence[tuple[tuple[str, ...], Sequence[tuple[Rank, Rule]]]]:
    """Return the rules of a schema by the fields that they read, each with the rank of its findings."""
    fields = list(SCHEMAS[schema_name].fields)
    ranked = (((fields.index(rule.field), place), rule) for place, rule in enumerate(load_rules(schema_name)))
    return list(grouped((rule.reads, (rank, rule)) for rank, rule in ranked).items())


def ignored_codes(schema: Schema, ignore: Iterable[str]) -> Collection[str]:
    """Return the codes of findings to leave out. Raises InvalidInput for one that no warning or info has."""
    if not isinstance(ignore, str | list | tuple | set | frozenset):
        raise InvalidInput(f"ignore: expected a finding code or a list of codes, got {kind_of(ignore)}.")
    codes = [ignore] if isinstance(ignore, str) else list(ignore)
    known = {rule.code for rule in load_rules(schema.name)} if codes else ()
    unknown = [code for code in codes if not isinstance(code, str) or code not in known]
    if unknown:
        raise InvalidInput(f"ignore: not the code of a warning or info: {', '.join(map(repr, unknown))}.")
    return codes


def _rules_of(row: dict[str, str], schema: Schema) -> Iterator[Rule]:
    checker = _checker(row["checker"])
    for group, bound, basis in _checked_fields(row["fields"], schema):
        field, others = group[0], [f"{name}?" for name in group]
        own = {"it": [field], "it?": [f"{field}?"], "group?": others}
        yield Rule(
            code=row["code"],
            field=field,
            reads=tuple(name for word in row["reads"].split() for name in own.get(word, [word])),
            checker=partial(checker, *bound),
            message=row["message"],
            hint=row["hint"].replace("{group}", " or ".join(f"<{name}>" for name in group)),
            basis=basis or row["basis"],
            severity=cast("Severity", row["severity"]),
        )


def _checker(words: str) -> Callable[..., CheckResult]:
    """Return the checker that a row names: a function of this package, or a pattern of wrong or of right texts."""
    kind, _, pattern = words.partition(" ")
    if pattern:
        matches = re.compile(pattern, re.DOTALL).fullmatch
        return lambda value: (matches(value) is not None) == (kind == "like")
    module, function = words.split(".")
    return cast("Callable[..., CheckResult]", getattr(import_module(f"{__package__}.{module}"), function))


def _checked_fields(words: str, schema: Schema) -> Iterator[tuple[tuple[str, ...], tuple[object, ...], str]]:
    """Yield the fields that a row checks, each with the others of its group behind it.

    Also yield what its checker takes in front of the values, and the basis, "" for that of the row.
    """
    table = requirements.requirements().values()
    if words == "groups":
        for group, basis in dict.fromkeys((group, row.basis) for row in table for group in row.needs or ()):
            yield group, (group, basis), basis
    elif words == "formats":
        for name, basis in dict.fromkeys((name, row.basis) for row in table for name in row.formats):
            yield (name,), (name, basis), basis
    elif words in {"identifiers", "national identifiers"}:
        for name, known in requirements.identifiers().items():
            if known.countries or words == "identifiers":
                yield (name,), (name,), known.basis
    else:
        texts = [name for name, field in schema.fields.items() if field.format in {TEXT, FILLED}]
        named = [name for word in words.split() for name in (texts if word == "texts" else [word])]
        yield from (((name,), (), "") for name in named if name in schema.fields)
