"""How a form draws its fields: their order, kinds and words, and the notes beside
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from payerkit import html
from payerkit._tsv import rows
from payerkit.checks.codes import codes, name_of
from payerkit.checks.places import countries, states
from payerkit.checks.readings import read_note, use_label
from payerkit.errors import FieldProblem
from payerkit.findings import Finding
from payerkit.models.base import RequestModel
from payerkit.models.fields import RequestField, Section, fields_of
from payerkit.wording import visible

if TYPE_CHECKING:
    from payerkit.forms.entries import Entries

OF_THE_SERVICE = "the service"
"""The basis of a finding that repeats what the service says."""

FormModel = type[RequestModel]
"""What a form makes of its values."""


def form_fields(model: FormModel) -> dict[str, RequestField]:
    """Return the fields of a model by name, in the order of the form: section by
    section.
    """
    sections = get_args(Section)
    fields = fields_of(model)

    def place(name: str) -> tuple[int, int]:
        return sections.index(fields[name].section), fields[name].rank

    return {name: fields[name] for name in sorted(fields, key=place)}


def drawn_sections(
    model: FormModel, actions: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the sections of a form with their fields, as the page draws them before it
    knows any value. actions: the labels of buttons beside fields, by field name.
    """
    sections = []
    fields = form_fields(model).items()
    for title, named in groupby(fields, key=lambda item: item[1].section):
        drawn = [_drawn(name, field, actions.get(name, "")) for name, field in named]
        sections.append({"title": title, "fields": drawn})
    return sections


def _drawn(name: str, field: RequestField, action: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": field.title,
        "help": field.help,
        "kind": _kind(field),
        "required": field.required,
        "list": field.lookup,
        "only": field.applies_to,
        "action": action,
    }


def _kind(field: RequestField) -> str:
    """Return the kind of input: "text", "select", "secret", which is hidden while it is
    typed, or "number", which is hidden when it is left.
    """
    if field.masking == "account":
        return "number"
    if field.is_secret:
        return "secret"
    if field.options or field.kind == "chosen":
        return "select"
    return "text"


def suggestions(model: FormModel) -> dict[str, list[tuple[str, str]]]:
    """Return the codes and names that fields suggest, by the name of their list."""
    lists = {field.lookup for field in fields_of(model).values()} - {""}
    return {each: [(code.code, code.name) for code in codes(each)] for each in lists}


def options_of(field: RequestField) -> dict[str, str]:
    """Return the values that a choice takes, each in words."""
    titles = field.option_titles or field.options
    return dict(zip(field.options, titles, strict=True))


@cache
def _local_words() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Return the rows of the table of local words by field, for each country and for
    each currency.
    """
    by_place: dict[str, dict[str, Mapping[str, str]]] = {}
    for row in rows(__package__, "local_words"):
        for place in (row["country"], row["currency"]):
            by_place.setdefault(place, {})[row["field"]] = row
    return by_place


def local_fields(
    fields: Mapping[str, RequestField], values: Mapping[str, Any]
) -> dict[str, RequestField]:
    """Return fields with the labels and examples of the country that was entered, else
    of the currency's.

    In a country that the table lacks, labels fit any country, and there are no
    examples. The fields are drawn for the US, which stay as they are.
    """
    local = dict(fields)
    place = str(values.get("country") or values.get("currency") or "US").upper()
    if place in {"US", "USD"}:
        return local
    known = _local_words()
    for name, words in known.get(place, known["*"]).items():
        if name in local:
            title = words["title"] or local[name].title
            local[name] = replace(local[name], title=title, example=words["example"])
    return local


class Note(NamedTuple):
    """A note beside a field, and the label of a button that corrects it, or takes a
    correction back.
    """

    severity: str
    text: str
    use: str = ""


def notes_of(
    entries: Entries, findings: Iterable[Finding], own: Mapping[str, str]
) -> dict[str, list[Note]]:
    """Return the notes beside the fields that were left; the first one of a field
    offers the reading of its text. own: notes of the form, which come first.
    """
    notes: dict[str, list[Note]] = {}
    for name, text in own.items():
        notes.setdefault(name, []).append(Note("info", visible(text)))
    for name in entries.fields:
        if entries.was_read(name):
            read = read_note(entries.model, name, entries.text(name))
            notes.setdefault(name, []).append(Note("info", visible(read), use="Undo"))
    for finding in findings:
        name = finding.field
        if name in entries.touched and name in entries.fields:
            use = "" if name in notes else _use(entries, name)
            text = visible(message(finding, entries))
            note = Note(finding.severity, text, use)
            notes.setdefault(name, []).append(note)
    return notes


def _use(entries: Entries, name: str) -> str:
    meant = entries.reading(name)
    if meant is None:
        return ""
    return visible(use_label(entries.model, name, meant))


def message(finding: Finding, entries: Entries) -> str:
    """Return the message of a finding about a field, and what to do in a form."""
    if _is_missing(finding, entries):
        return _enter_it(finding.field, entries)
    return f"{finding.message} {finding.hint_form or finding.hint}".rstrip()


def summary(problem: FieldProblem, entries: Entries) -> str:
    """Return a problem of a field as an error summary has it, without what to do."""
    if _is_missing(problem, entries):
        return _enter_it(problem.field, entries)
    return f"{entries.label(problem.field)}: {problem.message}"


def _is_missing(problem: FieldProblem, entries: Entries) -> bool:
    """Return True if a field has no value, and the service has no words about that."""
    is_ours = isinstance(problem, Finding) and problem.basis != OF_THE_SERVICE
    if problem.message and not is_ours:
        return False
    return problem.code in {"required", "empty"} and problem.field not in entries


def _enter_it(name: str, entries: Entries) -> str:
    """Return what to do about a missing value, such as "Enter the e-mail address.";
    abbreviations stay in upper case.
    """
    field = entries.fields[name]
    title = entries.label(name)
    if not title[1:2].isupper():
        title = f"{title[:1].lower()}{title[1:]}"
    verb = "Choose" if field.options or field.kind == "chosen" else "Enter"
    return f"{verb} the {title}.{_in_place_of(field, entries.text('country'))}"


def _in_place_of(field: RequestField, country: str) -> str:
    """Return what to enter in a country that has no such thing, with a blank before
    it; "" for all other fields and countries.
    """
    place = countries().get(country.upper())
    if place is None:
        return ""
    if field.name == "state" and country.upper() not in states():
        return f" If {place.name} has none, enter the city again."
    if field.kind == "postcode" and place.postal is None:
        return f" If {place.name} has none, enter 00000."
    return ""


def answers(
    entries: Entries,
    notes: Mapping[str, Sequence[Note]],
    title: str,
    *,
    can_change: bool = False,
) -> str:
    """Return the values of a form as HTML; a field without a value is left out, unless
    there is a note about it.

    can_change: with a button beside each answer that leads to its field.
    """
    sections: dict[str, list[tuple[str, str]]] = {}
    for name, field in entries.fields.items():
        value = _in_words(entries, name)
        if value or name in notes:
            cell = html.escape(value or "Not given")
            if can_change:
                label = html.escape(f"Change {entries.label(name)}")
                cell = (
                    f'<button type="button" class="link" data-action="change"'
                    f' data-field="{name}" aria-label="{label}">Change</button>{cell}'
                )
            for note in notes.get(name, ()):
                cell += f'<div class="{note.severity}">{html.escape(note.text)}</div>'
            sections.setdefault(field.section, []).append((entries.label(name), cell))
    tables = [html.table(cells, caption=each) for each, cells in sections.items()]
    heading = f'<h3 tabindex="-1">{html.escape(title)}</h3>'
    return f'<div class="answers">{heading}{"".join(tables)}</div>'


def _in_words(entries: Entries, name: str) -> str:
    """Return a value in words: a code with its name, an account number by its last four
    characters.
    """
    held = entries.held(name)
    if held is not None:
        return held or "Entered, not shown"
    value = entries.text(name)
    field = entries.fields[name]
    code_name = name_of(field.lookup, value) if value else ""
    if code_name:
        return visible(f"{value}, {code_name}")
    return visible(entries.options(name).get(value, value))
