"""The fields of a form, read from the fields of its model: label, help, example, section and kind of input."""

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
    """A field of a form.

    options: the values of a select. lookup: the table that is searched for suggestions.
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
    def missing_message(self) -> str:
        """The message for a missing value, such as "Enter the e-mail address."; abbreviations stay in upper case."""
        verb = "Choose" if self.kind == "select" else "Enter"
        label = self.label if self.label[1:2].isupper() else self.label[:1].lower() + self.label[1:]
        return f"{verb} the {label}."

    def to_row(self) -> tuple[Any, ...]:
        """Return the field as the browser reads it."""
        row = (self.name, self.label, self.kind, self.required, self.help, self.example)
        return (*row, self.options) if self.options else row


@cache
def form_fields(model: type[RequestModel]) -> Mapping[str, FormField]:
    """Return the fields of a model by name, in the order of the form."""
    fields = [_form_field(name, field) for name, field in model.model_fields.items()]
    order = get_args(Section)
    fields.sort(key=lambda field: order.index(field.section) if field.section in order else len(order))
    return MappingProxyType({field.name: field for field in fields})


def _form_field(name: str, field: FieldInfo) -> FormField:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    options, is_secret = _options_or_secret(field.annotation)
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


def _options_or_secret(annotation: Any) -> tuple[tuple[str, ...], bool]:
    """Return the values of a Literal type, and True for a type that masks its values."""
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, Secret):
            return (), True
        if getattr(kind, "__origin__", None) is Literal:
            return get_args(kind), False
    return (), False


def form_sections(model: type[RequestModel]) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Return the titles of the sections, each with its fields as the browser reads them."""
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for field in form_fields(model).values():
        rows.setdefault(field.section, []).append(field.to_row())
    return list(rows.items())


def form_message(finding: Finding, fields: Mapping[str, FormField]) -> str:
    """Return the message of a finding with labels in place of field names, and without advice about tables."""
    if finding.code in {"required", "empty"} and finding.field in fields:
        return fields[finding.field].missing_message
    text = f"{finding.message} {finding.hint}".rstrip()
    text = re.sub(r"Read the column with dtype=str, or (\w)", lambda match: match[1].upper(), text)
    # A name such as "city" is a word of its sentence; one such as "sort_code" or "iban" can only be a field.
    labels = {name: field.label for name, field in fields.items() if "_" in name or field.label.isupper()}
    names = "|".join(sorted(labels, key=len, reverse=True))
    return re.sub(rf"\b({names})\b", lambda match: labels[match[1]], text)
