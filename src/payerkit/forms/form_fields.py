"""The fields of a form, drawn from the schema of its model, and the findings about them in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

from payerkit.checks.schema import SchemaField, Section
from payerkit.findings import Finding
from payerkit.models.requests import RequestModel

Kind = Literal["text", "secret", "select", "lookup"]


def form_fields(model: type[RequestModel]) -> dict[str, SchemaField]:
    """Return the fields of a model by name, in the order of the form: section by section."""
    sections = get_args(Section)
    fields = model.request_schema.fields.items()
    return dict(sorted(fields, key=lambda item: sections.index(item[1].section)))


def form_sections(model: type[RequestModel]) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Return the titles of the sections, each with its fields as the browser reads them."""
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for name, field in form_fields(model).items():
        row = (name, field.title, _kind(field), field.required, field.help, "" if field.options else field.example)
        rows.setdefault(field.section, []).append((*row, field.options) if field.options else row)
    return list(rows.items())


def _kind(field: SchemaField) -> Kind:
    if field.is_secret:
        return "secret"
    return "select" if field.options else "lookup" if field.lookup else "text"


def form_message(finding: Finding, fields: Mapping[str, SchemaField]) -> str:
    """Return the message of a finding with labels in place of field names, and without advice about tables."""
    if finding.code in {"required", "empty"} and finding.field in fields:
        return _missing_message(fields[finding.field])
    text = f"{finding.message} {finding.hint}".rstrip()
    text = re.sub(r"Read the column with dtype=str, or (\w)", lambda match: match[1].upper(), text)
    # A name such as "city" is a word of its sentence; one such as "sort_code" or "iban" can only be a field.
    labels = {name: field.title for name, field in fields.items() if "_" in name or field.title.isupper()}
    names = "|".join(sorted(labels, key=len, reverse=True))
    return re.sub(rf"\b({names})\b", lambda match: labels[match[1]], text)


def _missing_message(field: SchemaField) -> str:
    """Return a request for a value, such as "Enter the e-mail address."; abbreviations stay in upper case."""
    label = field.title if field.title[1:2].isupper() else field.title[:1].lower() + field.title[1:]
    return f"{'Choose' if field.options else 'Enter'} the {label}."
