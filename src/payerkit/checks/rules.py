"""The rules of payers and bank details.

A rule is a function in the module of its subject, with the finding for a value that
fails it in the decorator above.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

from payerkit.findings import Finding, Severity
from payerkit.models.formats import FieldKind
from payerkit.wire import wire_name

Words = Mapping[str, str]
"""What the texts of a finding name, by placeholder. `basis` is the source, if it
depends on the value.
"""

Checker = Callable[..., bool | Words | None]
"""Says whether a value fails a rule: with True, or with the words of the finding.

Its parameters are named for the fields that it reads, and are None for one that is
missing or cannot be sent; without a value for the first, it is not called. `value` is
the field that is checked, `field` its name, and `given` the names of all fields that
have a value, sendable or not.
"""

C = TypeVar("C", bound=Checker)

TEXTS = "texts"
"""Stands for all fields for which the specification sets no format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule: the fields that it checks, and the finding for a value that fails it.

    fields, kinds: the checker is called for each of these fields, and for each field of
    these kinds. only: the one schema that has the rule; ""
    if all with the fields have it. code, severity, message, hint, basis: as in a
    `Finding`, with placeholders for the words of the checker.
    """

    code: str
    fields: tuple[str, ...]
    kinds: Collection[FieldKind]
    only: str
    severity: Severity
    message: str
    hint: str
    basis: str
    checker: Checker

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of what the checker reads."""
        return tuple(inspect.signature(self.checker).parameters)

    def finding(self, field: str, words: Words) -> Finding:
        """Return the finding about a field."""
        return Finding(
            field=field,
            wire_name=wire_name(field),
            message=self.message.format_map(words),
            code=self.code,
            severity=self.severity,
            hint=self.hint.format_map(words),
            basis=words.get("basis", self.basis),
        )


RULES: list[Rule] = []
"""All rules of the modules that are loaded, in the order of their definition."""


def rule(
    code: str,
    *fields: str,
    message: str,
    basis: str,
    hint: str = "",
    severity: Severity = "warning",
    kinds: Collection[FieldKind] = (),
    only: str = "",
) -> Callable[[C], C]:
    """Return a decorator that makes a checker a rule about some fields."""

    def keep(checker: C) -> C:
        RULES.append(
            Rule(
                code=code,
                fields=fields,
                kinds=kinds,
                only=only,
                severity=severity,
                message=message,
                hint=hint,
                basis=basis,
                checker=checker,
            )
        )
        return checker

    return keep
