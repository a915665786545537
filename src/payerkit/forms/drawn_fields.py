"""The fields of a form as the browser draws them, and the notes beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from payerkit.checks.readings import use_label
from payerkit.checks.schema import SchemaField
from payerkit.findings import Finding, Findings
from payerkit.forms import lookups
from payerkit.forms.entries import Entries, FormModel, form_fields
from payerkit.html import visible
from payerkit.wording import in_form

_IN_FOURS = {"account_number", "iban", "rib_number"}
"""Long numbers, which people compare in groups of four characters. A routing number is compared as one."""


Answers = list[tuple[str, list[tuple[Any, ...]]]]
"""The titles of the sections, each with name, label, value and notes of its fields, as the browser reads it."""


class Note(NamedTuple):
    """A note beside a field: the finding, the source of a warning, and the label of a button that corrects it."""

    severity: str
    text: str
    basis: str = ""
    use: str = ""


def form_sections(model: type[FormModel]) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Return the titles of the sections, each with its fields as the browser reads them."""
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for name, field in form_fields(model).items():
        rows.setdefault(field.section, []).append(_drawn_field(name, field))
    return list(rows.items())


def _drawn_field(name: str, field: SchemaField) -> tuple[Any, ...]:
    """Return a field as the browser reads it; the last item is for properties that only some fields have."""
    example = "" if field.options else field.example
    row = (name, field.title, _kind(name, field), field.required, field.help, example)
    of_business = (field.business_title, field.business_help, field.business_example)
    more = {
        "options": list(zip(field.options, field.option_titles or field.options, strict=True)),
        "only": field.applies_to,
        "business": of_business if any(of_business) else (),
    }
    more = {key: value for key, value in more.items() if value}
    return (*row, more) if more else row


def _kind(name: str, field: SchemaField) -> str:
    """Return the kind of input.

    "secret" is hidden while it is typed; "account" and "in_fours" are masked only when they are left; "choice" is a
    select whose options come later; then "select", "lookup" or "text".
    """
    if field.masking == "account":
        return "in_fours" if name in _IN_FOURS else "account"
    if field.is_secret:
        return "secret"
    if field.is_chosen:
        return "choice"
    return "select" if field.options else "lookup" if field.lookup else "text"


def form_message(finding: Finding, fields: Mapping[str, SchemaField], holder: str = "") -> str:
    """Return the message of a finding with labels in place of field names, and without advice about tables.

    holder: the type of payer or holder, which some labels follow.
    """
    if finding.code in {"required", "empty"} and finding.field in fields:
        return _missing_message(fields[finding.field], holder)
    labels = {name: field.title_for(holder) for name, field in fields.items()}
    return f"{in_form(finding.message, labels)} {in_form(finding.hint, labels)}".rstrip()


def _missing_message(field: SchemaField, holder: str) -> str:
    """Return a request for a value, such as "Enter the e-mail address."; abbreviations stay in upper case."""
    title = field.title_for(holder)
    label = title if title[1:2].isupper() else title[:1].lower() + title[1:]
    return f"{'Choose' if field.options or field.is_chosen else 'Enter'} the {label}."


def field_notes(entries: Entries, findings: Findings) -> dict[str, list[Note]]:
    """Return the notes beside each touched field; the first one offers the reading of its text, if there is one."""
    notes: dict[str, list[Note]] = {}
    for finding in findings:
        if finding.field in entries.touched:
            basis = f"({finding.basis})" if finding.severity == "warning" and finding.basis else ""
            text = visible(form_message(finding, entries.fields, entries.holder))
            use = "" if finding.field in notes else _use(entries, finding.field)
            notes.setdefault(finding.field, []).append(Note(finding.severity, text, basis, use))
    return notes


def _use(entries: Entries, name: str) -> str:
    """Return the label of a button that takes over the reading of a field, such as "Use +12125551234"; else ""."""
    read = entries.reading(name)
    return "" if read is None else visible(use_label(entries.model.request_schema, name, read))


def count_warnings(findings: Findings) -> str:
    """Return the number of warnings in words, such as "1 warning"; "" without any."""
    count = len(findings.warnings)
    return "" if not count else "1 warning" if count == 1 else f"{count} warnings"


def form_answers(entries: Entries, findings: Findings) -> Answers:
    """Return the summary of a form. A field without a value is left out, unless there is a note about it."""
    notes = field_notes(entries, findings)
    sections: dict[str, list[tuple[Any, ...]]] = {}
    for name, field in entries.fields.items():
        value = _shown(entries, name)
        if value or name in notes:
            own_notes = [note[:3] for note in notes.get(name, [])]  # a reading is taken beside the field
            row = (name, entries.label(name), value or "Not given", own_notes)
            sections.setdefault(field.section, []).append(row)
    return list(sections.items())


def _shown(entries: Entries, name: str) -> str:
    """Return a value in words: a code with its name, an account number by its last four characters."""
    field = entries.fields[name]
    if field.is_secret:
        held = entries.held.get(name)
        return "" if held is None else held or "Entered, not shown"
    value = entries.visible_values()[name]
    options = dict(zip(field.options, field.option_titles, strict=False)) | entries.choices.get(name, {})
    words = options.get(value, value)
    code_name = lookups.name_of(field.lookup, value) if value else ""
    return visible(f"{value}, {code_name}" if code_name else words)
