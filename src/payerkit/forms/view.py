"""What a form holds and shows: its values, its state, notes beside its fields, banners, suggestions and answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from functools import cache
from itertools import groupby
from typing import Any, Literal, NamedTuple, get_args

from payerkit import html
from payerkit._tsv import rows
from payerkit.checks.inputs import by_field_name, strip_blanks, unwrap_secret
from payerkit.checks.readings import FUNDS, Code, codes, find_code, name_of, read_note, reading, use_label
from payerkit.checks.schema import SchemaField, Section
from payerkit.checks.texts import fold
from payerkit.errors import (
    FieldProblem,
    InvalidInput,
    NotFound,
    NotSent,
    PayerkitError,
    RateLimited,
    Refused,
    UnknownOutcome,
    WrongKey,
)
from payerkit.findings import Finding, Findings
from payerkit.forms.stored_account import PaymentEntry
from payerkit.masking import mask
from payerkit.models.requests import Hidden, RequestModel
from payerkit.reasons import words_of_service
from payerkit.signing.card import IMITATION
from payerkit.wording import count_of, in_form, visible

_FIRST = ("beneficiary_type", "company_name")
"""The fields that stand first in their section: the type decides about others."""


FormModel = type[RequestModel] | type[PaymentEntry]
"""What a form makes of its values."""


def form_fields(model: FormModel) -> dict[str, SchemaField]:
    """Return the fields of a model by name, in the order of the form: section by section."""
    sections = get_args(Section)
    first = {name: place for place, name in enumerate(_FIRST)}
    fields = model.request_schema.fields
    order = [*model.request_schema.fields]
    if "address_line1" in order:  # what an address and a phone number look like follows from the country
        order.remove("country")
        order.insert(order.index("address_line1"), "country")
        order.sort(key="phone".__eq__)
    found = sorted(order, key=lambda name: (sections.index(fields[name].section), first.get(name, len(first))))
    return {name: fields[name] for name in found}


class Entries:
    """The values of a form by field name, and the findings about them.

    check: returns the findings about values. touched: the fields that the user left; only
    their findings are shown. chosen: the fields whose value the form chose, since another value suggests it. choices:
    for a field whose options are found while the form is filled in, these by value. service_messages: what the service
    said about fields, until their values change or are sent again.
    """

    def __init__(self, model: FormModel, check: Callable[[Mapping[str, Any]], Findings]) -> None:
        self.model = model
        self.fields = form_fields(model)
        self.touched: set[str] = set()
        self.chosen: set[str] = set()
        self.choices: dict[str, dict[str, str]] = {}
        self._check = check
        self._values: dict[str, Any] = {}
        self._typed: dict[str, Any] = {}
        self._trimmed: dict[str, Finding] = {}
        self.service_messages: dict[str, Finding] = {}

    def set_value(self, name: str, value: Any) -> None:
        """Set the value of a field, without surrounding blanks; None or "" clears it."""
        value, info = strip_blanks(self.model.request_schema, name, unwrap_secret(value))
        for kept in (self._values, self._typed, self._trimmed, self.service_messages):
            kept.pop(name, None)
        self.chosen.discard(name)
        if value is not None and value != "":
            is_secret = self.fields[name].is_secret and isinstance(value, str)
            self._values[name] = Hidden(value) if is_secret else value
            if info is not None:
                self._trimmed[name] = info
        if name in {"country", "currency"}:
            self.fields = local_fields(form_fields(self.model), self._values)

    def choose(self, name: str, value: str) -> None:
        """Set a value as the choice of the form, which an entered one replaces; "" clears it."""
        self.set_value(name, value)
        if value:
            self.chosen.add(name)

    def is_free(self, name: str) -> bool:
        """Return True if a field is empty, or has a value that the form chose."""
        return name in self.chosen or name not in self._values

    def reading(self, name: str) -> str | None:
        """Return the one value that the text in a field can mean, if it is not right already."""
        return reading(self.model.request_schema, name, self._values.get(name), self._values)

    def take_reading(self, name: str) -> None:
        """Replace the text in a field by its reading, if it has one; the text can be had back."""
        if (read := self.reading(name)) is not None:
            typed = self._values[name]
            self.set_value(name, read)
            self._typed[name] = typed

    def use_or_undo(self, name: str) -> None:
        """Take the reading of a field, or bring the text back whose reading was taken."""
        if name in self._typed:
            self.set_value(name, self._typed[name])
        else:
            self.take_reading(name)

    def taken_notes(self) -> dict[str, Note]:
        """Return what is said beside the fields whose text was replaced by its reading."""
        schema = self.model.request_schema
        said = {name: read_note(schema, name, unwrap_secret(self._values[name])) for name in self._typed}
        return {name: Note("info", visible(text), use="Undo") for name, text in said.items()}

    def fill(self, *values: Mapping[Any, Any]) -> set[str]:
        """Set values by field name or wire name; later mappings win. Return the names of the fields.

        Raises InvalidInput for a wrong name, and sets no value then.
        """
        by_name = [by_field_name(self.model.request_schema, mapping) for mapping in values]
        if problems := [finding for _, findings in by_name for finding in findings]:
            title = self.model.request_schema.name
            raise InvalidInput(f"{title}: wrong field names. No value was set.", fields=tuple(problems))
        given = [item for mapping, _ in by_name for item in mapping.items()]
        for name, value in given:
            self.set_value(name, value)
            self.touched.add(name)
        return {name for name, _ in given}

    def findings(self) -> Findings:
        """Return the findings about the values, those of the service included, in the order of the fields."""
        position = {name: at for at, name in enumerate(self.fields)}
        found = [*self.service_messages.values(), *self._trimmed.values(), *self._check(self._values)]
        return Findings(sorted(found, key=lambda finding: position.get(finding.field, len(position))))

    def add_service_messages(self, problems: Iterable[FieldProblem]) -> list[FieldProblem]:
        """Keep the service's messages about fields until the values change; return those about no field."""
        others = []
        for problem in problems:
            if problem.field in self.fields:
                finding = Finding(**asdict(problem), severity="error", basis="the service")
                self.service_messages[problem.field] = finding
            else:
                others.append(problem)
        return others

    def build(self) -> Any:
        """Return what is sent. Raises InvalidInput with all errors."""
        return self.model.of({name: unwrap_secret(value) for name, value in self._values.items()}, {})

    def clear(self, names: Iterable[str]) -> None:
        """Clear some fields, as if they had never been touched."""
        for name in names:
            self.set_value(name, None)
            self.touched.discard(name)

    def fill_empty(self, values: Mapping[str, Hidden]) -> list[str]:
        """Choose the values of the fields that are empty; return the names of these."""
        empty = [name for name in values if name not in self._values]
        for name in empty:
            self.choose(name, values[name].get_secret_value())
            self.touched.add(name)
        return empty

    @property
    def secrets(self) -> list[str]:
        """The names of the secret fields that have a value."""
        return [name for name, field in self.fields.items() if field.is_secret and name in self._values]

    @property
    def held(self) -> dict[str, str]:
        """The secret fields that have a value: an account number with its last four characters, others with ""."""
        shown = {name: mask(name, unwrap_secret(self._values[name])) for name in self.secrets}
        return {name: text if self.fields[name].masking == "account" else "" for name, text in shown.items()}

    @property
    def holder(self) -> str:
        """The type of payer or holder; "" if it was not chosen, or the form has none."""
        return str(self._values.get("beneficiary_type", ""))

    def label(self, name: str) -> str:
        """Return the label of a field, which may follow the type of payer or holder."""
        return self.fields[name].title_for(self.holder)

    def visible_values(self) -> dict[str, str]:
        """Return the values of all fields but secret ones; "" for an empty field."""
        visible = (name for name, field in self.fields.items() if not field.is_secret)
        return {name: _as_sent(self._values.get(name, "")) for name in visible}

    def changed_since(self, before: Mapping[str, str]) -> set[str]:
        """Return the names of the fields whose visible value differs from what it was before."""
        return {name for name, value in self.visible_values().items() if value != before[name]}

    def __len__(self) -> int:
        return len(self._values)


def _as_sent(value: Any) -> str:
    """Return a value as text, a decimal number as it is sent: 1000, not 1E+3."""
    return (
        f"{value:f}" if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < 100 else str(value)
    )


Phase = Literal["open", "review", "sending", "unknown", "done"]
"""The phase of a form: open for input, reviewed before it is sent, being sent, sent with an unknown outcome, or
sent with a response. To the browser, an open form that waits for something else is "locked"."""

Kind = Literal["info", "success", "warning", "error", "sending"]

ButtonKind = Literal["", "primary", "copy", "primary copy"]
"""How a button looks and acts: the next step, or any other; and whether it copies its link."""


class Button(NamedTuple):
    """A button of a form: its label, and either the action that it starts or the page that it opens.

    about: the subject of the button, for screen readers, where several have the same label.
    """

    label: str
    action: str = ""
    url: str = ""
    kind: ButtonKind = ""
    about: str = ""


class Line(NamedTuple):
    """A line of a banner, and the field that it leads to, "" for none."""

    text: str
    field: str = ""


@dataclass(frozen=True, slots=True)
class Banner:
    """The message above the fields of a form.

    details: technical details of a failure, folded.
    """

    kind: Kind
    title: str
    lines: tuple[Line, ...] = ()
    details: str = ""

    @classmethod
    def of(cls, kind: Kind, title: str, *lines: str, details: str = "") -> Banner:
        """Return a banner with lines that lead to no field; empty ones are left out."""
        return cls(kind, title, tuple(Line(line) for line in lines if line), details)

    def to_view(self) -> dict[str, Any]:
        """Return the banner as the browser reads it."""
        lines = [(visible_lines(line.text), line.field) for line in self.lines]
        view = {"kind": self.kind, "title": visible(self.title), "lines": lines, "details": visible_lines(self.details)}
        return {name: value for name, value in view.items() if value}


@dataclass(frozen=True, slots=True, repr=False)
class FormState:
    """The state of a form beside its values.

    lists_errors: whether the banner lists the fields with errors. html: the response, escaped. buttons:
    those of a form that is done, or whose outcome is unknown. answers: what is reviewed or was sent, as HTML.
    """

    phase: Phase = "open"
    lists_errors: bool = False
    banner: Banner | None = None
    html: str = ""
    buttons: tuple[Button, ...] = ()
    answers: str = ""


def visible_lines(text: str) -> str:
    """Return a text with its line breaks, and all other control characters as escapes."""
    return "\n".join(map(visible, text.splitlines()))


_SCRIPTS = ("combobox", "secrets", "fields", "surroundings", "form", "page")
FORM_FILES = (*(f"forms/browser/{name}.js" for name in _SCRIPTS), "forms/browser/form.css")
"""What draws forms in a page."""

_IN_FOURS = {"account_number", "iban", "rib_number"}
"""Long numbers, which people compare in groups of four characters. A routing number is compared as one."""


class Note(NamedTuple):
    """A note beside a field: the finding, the source of a warning, and the label of a button that corrects it."""

    severity: str
    text: str
    basis: str = ""
    use: str = ""


def form_sections(model: FormModel) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Return the titles of the sections, each with its fields as the browser reads them."""
    fields = form_fields(model).items()  # section by section
    sections = groupby(fields, key=lambda item: item[1].section)
    return [(section, [_drawn_field(*item) for item in items]) for section, items in sections]


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


@cache
def _local_words() -> Sequence[Mapping[str, str]]:
    return [*rows(__package__, "local_words")]


def local_fields(fields: Mapping[str, SchemaField], values: Mapping[str, Any]) -> dict[str, SchemaField]:
    """Return fields with the labels and examples of the country that was entered, else of the currency's.

    In a country that the table lacks, labels fit any country, and there are no examples. The fields are drawn for the
    US, which stay as they are.
    """
    country, currency = (str(values.get(name, "")).upper() for name in ("country", "currency"))
    places = [each["country"] for each in _local_words() if each["currency"] == currency]
    place = country or (places[0] if places else "" if currency in {"", "USD"} else "*")
    if place in {"", "US"}:
        return dict(fields)
    known = {each["country"] for each in _local_words()}
    own = {each["field"]: each for each in _local_words() if each["country"] == (place if place in known else "*")}
    return {
        name: replace(field, title=own[name]["title"] or field.title, example=own[name]["example"])
        if name in own
        else field
        for name, field in fields.items()
    }


def field_notes(entries: Entries, findings: Findings, own: Mapping[str, str] | None = None) -> dict[str, list[Note]]:
    """Return the notes beside each touched field; the first one offers the reading of its text, if there is one.

    own: notes of the form, which come first.
    """
    notes = {name: [Note("info", text)] for name, text in (own or {}).items()}
    for name, note in entries.taken_notes().items():
        notes.setdefault(name, []).append(note)
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
    return count_of(len(findings.warnings), "warning") if findings.warnings else ""


def form_answers(entries: Entries, findings: Findings, title: str, *, can_change: bool = False) -> str:
    """Return the summary of a form as HTML. A field without a value is left out, unless there is a note about it.

    can_change: with a button beside each answer that leads to its field.
    """
    notes = field_notes(entries, findings)
    sections: dict[str, list[tuple[str, str]]] = {}
    for name, field in entries.fields.items():
        value = _shown(entries, name)
        if value or name in notes:
            label = entries.label(name)
            words = f'aria-label="Change {html.escape(label)}" data-change="{name}"'
            change = f'<button type="button" class="link" {words}>Change</button>' * can_change
            said = "".join(
                f'<div class="{note.severity}">{html.escape(note.text)} {html.small(note.basis)}</div>'
                for note in notes.get(name, [])  # a reading is taken beside the field
            )
            cell = f"{change}{html.escape(value or 'Not given')}{said}"
            sections.setdefault(field.section, []).append((label, cell))
    tables = (html.table(rows, caption=section) for section, rows in sections.items())
    return f'<div class="answers"><h3 tabindex="-1">{title}</h3>{"".join(tables)}</div>'


def _shown(entries: Entries, name: str) -> str:
    """Return a value in words: a code with its name, an account number by its last four characters."""
    field = entries.fields[name]
    if field.is_secret:
        held = entries.held.get(name)
        return "" if held is None else held or "Entered, not shown"
    value = entries.visible_values()[name]
    options = dict(zip(field.options, field.option_titles, strict=False)) | entries.choices.get(name, {})
    words = options.get(value, value)
    code_name = name_of(field.lookup, value) if value else ""
    return visible(f"{value}, {code_name}" if code_name else words)


def failure_banner(error: BaseException, *, problems: tuple[Line, ...] = (), pause: float = 0.0) -> Banner:
    """Return the banner about a request that failed.

    problems: lines about single fields. pause: seconds for which the client sends nothing.
    """
    if not isinstance(error, PayerkitError):
        return Banner.of("error", "Interrupted. Nothing was sent.")
    if isinstance(error, InvalidInput):
        return Banner("error", error.message, problems)
    if isinstance(error, NotSent):
        title = "The service cannot be reached. Nothing was sent."
        return Banner.of("error", title, "Check the network and the address, then try again.", details=error.message)
    if isinstance(error, RateLimited):
        wait = math.ceil(max(error.retry_after or 0.0, pause))
        line = f"Wait {f'{wait} s' if wait else 'a little'}, then try again."
        return Banner.of("warning", "Too many requests. Nothing was changed.", line, details=error.message)
    if isinstance(error, UnknownOutcome):
        return Banner.of("warning", "It is not known whether this was done.", error.advice, details=error.message)
    if isinstance(error, Refused):
        return _refusal(error, problems)
    title = "The service failed. Nothing was changed."
    return Banner.of("error", title, "Try again in a minute.", details=f"{error.message}\n{error.advice}")


def _refusal(error: Refused, problems: tuple[Line, ...]) -> Banner:
    """Return the banner about a request that the service refused, with its words."""
    says = words_of_service(error.outcome.params) if error.outcome else ""
    lines = problems or ((Line(says),) if says else ())
    if isinstance(error, WrongKey):
        title = "The service does not accept the key. Nothing was changed."
    elif isinstance(error, NotFound) and "payer" in (error.request or ""):
        title = "The service does not know this payer. Nothing was changed."
    else:
        title = "The service refused the request. Nothing was changed."
    advice = () if problems else (Line(in_form(error.advice)),)
    return Banner("error", title, (*lines, *advice), details=error.message)


def state_banner(state: FormState, findings: Findings, entries: Entries) -> Banner | None:
    """Return the banner of a form: its own, or one about the fields with errors."""
    return error_banner(findings.errors, entries) if state.banner is None and state.lists_errors else state.banner


def error_banner(errors: Findings, entries: Entries) -> Banner:
    """Return a banner whose lines lead to the fields with errors."""
    count = len({finding.field for finding in errors})
    needs = "1 field needs attention" if count == 1 else f"{count} fields need attention"
    is_imitation = any(finding.code.endswith("_lookalike") for finding in errors)
    return Banner(
        "error",
        f"{IMITATION if is_imitation else f'{needs}.'} Nothing was sent.",
        tuple(_line(finding, entries) for finding in errors),
    )


def _line(finding: Finding, entries: Entries) -> Line:
    """Return a line of a banner that leads to the field of a finding."""
    if finding.field not in entries.fields:
        return Line(finding.message)
    if finding.code in {"required", "empty"}:
        return Line(form_message(finding, entries.fields, entries.holder), finding.field)
    text = form_message(replace(finding, hint=""), entries.fields, entries.holder)
    return Line(f"{entries.label(finding.field)}: {text}", finding.field)


MAX_OPTIONS = 40
"""The length of a list that people still scroll through; the number of further entries is shown below it."""


class Suggestions(NamedTuple):
    """What a search found, best first.

    options: codes with their names, at most `MAX_OPTIONS`. match: the place of the option that Tab or Enter
    takes: the only one, or the one that the text names exactly; -1 for none. more: the number of further options.
    """

    options: list[tuple[str, str]]
    match: int
    more: int


def search(lookup: str, text: str, *, is_sandbox: bool = False) -> Suggestions:
    """Return the codes and names that contain all words of a text, best first, then those that are used most.

    is_sandbox: of tokens that are equally good, those of test networks come first.
    """
    folded = fold(text)
    words = folded.split()
    found = [each for each in codes(lookup) if all(word in each.text for word in words)]
    exact = find_code(lookup, text)
    if exact is not None and exact not in found:  # meant without a word of the text, such as "on"
        found.append(exact)
    # A stable sort: codes are sorted by use.
    found.sort(key=lambda each: (each is not exact, _rank(each, folded), is_sandbox and not each.is_test))
    # The only code that contains a text may be met by chance: inside a word, or as a fund.
    is_alone = len(found) == 1 and found[0].code not in FUNDS and _rank(found[0], folded) < _INSIDE
    is_clear = bool(words) and (exact is not None or is_alone)
    options = [(each.code, each.name) for each in found[:MAX_OPTIONS]]
    return Suggestions(options, 0 if is_clear else -1, len(found) - len(options))


def meant(lookup: str, text: Any) -> Any:
    """Return the only code that a text means, else the text itself."""
    if not lookup or not isinstance(text, str):
        return text
    found = search(lookup, text)
    return found.options[found.match][0] if found.match >= 0 else text


_INSIDE = 4


def _rank(code: Code, text: str) -> int:
    """Return 0 for a spelling, then 1 for the beginning of the code, 2 of the name, 3 of a word; 4 inside a word."""
    first = text.split(maxsplit=1)[0] if text else ""
    starts = (fold(code.code).startswith(first), fold(code.name).startswith(first), f" {first}" in code.text, True)
    return 0 if text in code.spellings else 1 + starts.index(True)
