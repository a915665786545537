"""The summary of a form before it is sent: what was entered, by section, masked where it must be."""

from __future__ import annotations

from typing import Any

from payerkit.findings import Findings
from payerkit.forms import lookups
from payerkit.forms.drawn_fields import field_notes
from payerkit.forms.entries import Entries
from payerkit.html import visible


def form_answers(entries: Entries, findings: Findings) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Return the titles of the sections, each with name, label, value and notes of its fields, as the browser reads it.

    A field without a value is left out, unless there is a note about it.
    """
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
