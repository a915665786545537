"""The rules of a schema: checkers with the findings that they lead to, from the tables beside this module."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import cast

from payerkit._tsv import rows
from payerkit.checks import requirements
from payerkit.checks.schema import BANK_DETAILS, FILLED, SCHEMAS, TEXT, Schema
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
    """Return the rules of a schema in the order of the tables."""
    schema = SCHEMAS[schema_name]
    computed = (*_requirement_rules(), *_identifier_rules()) if schema is BANK_DETAILS else ()
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
        if row["schema"] not in {"", schema.name}:
            continue
        module, function = row["checker"].split(".")
        checker = getattr(import_module(f"{__package__}.{module}"), function)
        for field in texts if row["fields"] == "texts" else row["fields"].split():
            if field in schema.fields:
                own = {"it": field, "it?": f"{field}?"}
                yield Rule(
                    code=row["code"],
                    field=field,
                    reads=tuple(own.get(word, word) for word in row["reads"].split()),
                    checker=checker,
                    message=row["message"],
                    hint=row["hint"],
                    basis=row["basis"],
                    severity=cast("Severity", row["severity"]),
                )


def _requirement_rules() -> Iterator[Rule]:
    """Yield a rule for each group of needed fields and each field with a format, one for each source."""
    table = requirements.requirements().values()
    for group, basis in dict.fromkeys((group, row.basis) for row in table for group in row.needs or ()):
        yield Rule(
            code="member_missing",
            field=group[0],
            reads=("currency", "rails", *(f"{name}?" for name in group)),
            checker=partial(requirements.group_missing, group, basis),
            message="Missing, but usually needed for {}.",
            hint=f"Provide {' or '.join(f'<{name}>' for name in group)}.",
            basis=basis,
        )
    for name, basis in dict.fromkeys((name, row.basis) for row in table for name in row.formats):
        yield Rule(
            code="number_form",
            field=name,
            reads=(name, "currency", "rails"),
            checker=partial(requirements.number_form, name, basis),
            message="Not in the usual format: {}.",
            hint="Check it for typos; keep leading zeros.",
            basis=basis,
        )


def _identifier_rules() -> Iterator[Rule]:
    """Yield two rules for each identifier: by the currency and rails, and by the country of the bank."""
    kinds = (
        (
            requirements.identifier_unused,
            "Not used for {}.",
            "Remove it, or correct the currency or the rails.",
        ),
        (
            requirements.identifier_country,
            "Identifies a bank in {}.",
            "Remove it, or correct the one that is wrong.",
        ),
    )
    for checker, message, hint in kinds:
        for field, known in requirements.identifiers().items():
            if checker is requirements.identifier_unused or known.countries:
                yield Rule(
                    code=checker.__name__,
                    field=field,
                    reads=(field, "currency", "rails", "swift_bic", "iban"),
                    checker=partial(checker, field),
                    message=message,
                    hint=hint,
                    basis=known.basis,
                )
