"""What a form shows of its fields: the rows that the browser draws, and the notes beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from payerkit.checks.schema import SchemaField
from payerkit.findings import Finding, Findings
from payerkit.forms.entries import Entries, form_fields
from payerkit.html import visible
from payerkit.models.requests import RequestModel


def form_sections(model: type[RequestModel]) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Return the titles of the sections, each with its fields as the browser reads them."""
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for name, field in form_fields(model).items():
        row = (name, field.title, _kind(field), field.required, field.help, "" if field.options else field.example)
        rows.setdefault(field.section, []).append((*row, field.options) if field.options else row)
    return list(rows.items())


def _kind(field: SchemaField) -> str:
    """Return the kind of input: secret, select, lookup or text."""
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


def field_notes(entries: Entries, findings: Findings) -> dict[str, list[tuple[str, str, str]]]:
    """Return the notes beside each touched field: severity, text, and the source of a warning."""
    notes: dict[str, list[tuple[str, str, str]]] = {}
    for finding in findings:
        if finding.field in entries.touched:
            basis = f"({finding.basis})" if finding.severity == "warning" and finding.basis else ""
            note = (finding.severity, visible(form_message(finding, entries.fields)), basis)
            notes.setdefault(finding.field, []).append(note)
    return notes


def count_warnings(findings: Findings) -> str:
    """Return the number of warnings in words, such as "1 warning"; "" without any."""
    count = len(findings.warnings)
    return "" if not count else "1 warning" if count == 1 else f"{count} warnings"
