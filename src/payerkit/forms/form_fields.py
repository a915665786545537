"""What a form shows of an object that is sent: its fields, in sections, as the model's own lines describe them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, get_args

from pydantic import Secret
from pydantic.fields import FieldInfo

from payerkit.checks.schema import Section
from payerkit.findings import Finding
from payerkit.models.requests import RequestModel

Kind = Literal["text", "secret", "select", "lookup"]


@dataclass(frozen=True, slots=True)
class FormField:
    """One field as a form shows it.

    options: the values of a select. lookup: the table in which a form looks up what is typed.
    """

    name: str
    label: str
    kind: Kind
    required: bool
    section: str
    help: str
    example: str
    options: tuple[str, ...] = ()
    lookup: str = ""

    @property
    def ask(self) -> str:
        """What to say when nothing is given."""
        verb = "Choose" if self.kind == "select" else "Enter"
        return f"{verb} the {lowered(self.label)}."

    def describe(self) -> tuple[Any, ...]:
        """Return what the browser has to know, in the order in which it reads it."""
        told = (self.name, self.label, self.kind, self.required, self.help, self.example)
        return (*told, self.options) if self.options else told


def lowered(label: str) -> str:
    """Return a label as it stands inside a sentence: "E-mail address" is "e-mail address", "IBAN" stays."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]


@cache
def form_fields(model: type[RequestModel]) -> Mapping[str, FormField]:
    """Return the fields of a model by name, in the order in which a form shows them."""
    fields = [_field(name, field) for name, field in model.model_fields.items()]
    order = get_args(Section)
    fields.sort(key=lambda field: order.index(field.section) if field.section in order else len(order))
    return MappingProxyType({field.name: field for field in fields})


def _field(name: str, field: FieldInfo) -> FormField:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    options, is_secret = _choices(field.annotation)
    lookup = str(extra.get("lookup", ""))
    kind: Kind = "secret" if is_secret else "select" if options else "lookup" if lookup else "text"
    return FormField(
        name=name,
        label=field.title or name.replace("_", " ").capitalize(),
        kind=kind,
        required=field.is_required(),
        section=str(extra.get("section", "More")),
        help=field.description or "",
        example="" if options or not field.examples else str(field.examples[0]),
        options=options,
        lookup=lookup,
    )


def _choices(annotation: Any) -> tuple[tuple[str, ...], bool]:
    """Return the values that a type allows, if they are few, and whether it is a secret."""
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, Secret):
            return (), True
        if getattr(kind, "__origin__", None) is Literal:
            return get_args(kind), False
    return (), False


def sections(model: type[RequestModel]) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Return the sections with their fields, as the browser draws them."""
    drawn: dict[str, list[tuple[Any, ...]]] = {}
    for field in form_fields(model).values():
        drawn.setdefault(field.section, []).append(field.describe())
    return list(drawn.items())


def in_words(finding: Finding, fields: Mapping[str, FormField]) -> str:
    """Return what a form says of a field: without the names that a program has for it, and without advice on tables."""
    if finding.code in {"required", "empty"} and finding.field in fields:
        return fields[finding.field].ask
    words = f"{finding.message} {finding.hint}".rstrip()
    words = re.sub(r"Read the column with dtype=str, or (\w)", lambda found: found[1].upper(), words)
    labels = {name: field.label for name, field in fields.items() if "_" in name or field.label.isupper()}
    names = "|".join(sorted(labels, key=len, reverse=True))
    return re.sub(rf"\b({names})\b", lambda found: labels[found[1]], words)
