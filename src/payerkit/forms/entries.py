"""The fields of a form and the values that were entered. Values stay in the kernel, and no repr shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import Any, ClassVar, Protocol, get_args

from payerkit.checks.inputs import by_field_name, strip_blanks, unwrap_secret
from payerkit.checks.readings import reading
from payerkit.checks.schema import Schema, SchemaField, Section
from payerkit.errors import FieldProblem, InvalidInput
from payerkit.findings import Finding, Findings
from payerkit.masking import mask
from payerkit.models.requests import Hidden

_FIRST = ("beneficiary_type", "company_name")
"""The fields that stand first in their section: the type decides about others."""


class FormModel(Protocol):
    """What a form makes of its values, such as a `RequestModel`."""

    request_schema: ClassVar[Schema]

    @classmethod
    def of(cls, given: Any, fields: dict[str, Any]) -> Any:
        """Return values by field name as what is sent. Raises InvalidInput that lists every invalid field."""


def form_fields(model: type[FormModel]) -> dict[str, SchemaField]:
    """Return the fields of a model by name, in the order of the form: section by section."""
    sections = get_args(Section)
    first = {name: place for place, name in enumerate(_FIRST)}
    fields = model.request_schema.fields.items()
    return dict(sorted(fields, key=lambda item: (sections.index(item[1].section), first.get(item[0], len(first)))))


class Entries:
    """The values of a form by field name, and the findings about them.

    check: returns the findings about values. touched: the fields that the user left; only
    their findings are shown. chosen: the fields whose value the form chose, since another value suggests it. choices:
    for a field whose options are found while the form is filled in, these by value.
    """

    def __init__(self, model: type[FormModel], check: Callable[[Mapping[str, Any]], Findings]) -> None:
        self.model = model
        self.fields = form_fields(model)
        self.touched: set[str] = set()
        self.chosen: set[str] = set()
        self.choices: dict[str, dict[str, str]] = {}
        self._check = check
        self._values: dict[str, Any] = {}
        self._trimmed: dict[str, Finding] = {}
        self._service_messages: dict[str, Finding] = {}

    def set_value(self, name: str, value: Any) -> None:
        """Set the value of a field, without surrounding blanks; None or "" clears it."""
        value, info = strip_blanks(self.model.request_schema, name, unwrap_secret(value))
        self._trimmed.pop(name, None)
        self._service_messages.pop(name, None)
        self._values.pop(name, None)
        self.chosen.discard(name)
        if value is not None and value != "":
            is_secret = self.fields[name].is_secret and isinstance(value, str)
            self._values[name] = Hidden(value) if is_secret else value
            if info is not None:
                self._trimmed[name] = info

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
        found = [*self._service_messages.values(), *self._trimmed.values(), *self._check(self._values)]
        return Findings(sorted(found, key=lambda finding: position.get(finding.field, len(position))))

    def add_service_messages(self, problems: Iterable[FieldProblem]) -> list[FieldProblem]:
        """Keep the service's messages about fields until the values change; return those about no field."""
        others = []
        for problem in problems:
            if problem.field in self.fields:
                finding = Finding(**asdict(problem), severity="error", basis="the service")
                self._service_messages[problem.field] = finding
            else:
                others.append(problem)
        return others

    def clear_service_messages(self) -> None:
        """Remove the service's messages, before the values are sent again."""
        self._service_messages.clear()

    def build(self) -> Any:
        """Return what is sent. Raises InvalidInput with all errors."""
        return self.model.of({name: unwrap_secret(value) for name, value in self._values.items()}, {})

    def clear(self, names: Iterable[str]) -> None:
        """Clear some fields, as if they had never been touched."""
        for name in names:
            self.set_value(name, None)
            self.touched.discard(name)

    def has_any(self, names: Iterable[str]) -> bool:
        """Return True if one of some fields has a value."""
        return any(name in self._values for name in names)

    def fill_empty(self, values: Mapping[str, Hidden]) -> dict[str, Hidden]:
        """Set the fields that are empty; return what was filled in, by name."""
        empty = {name: value for name, value in values.items() if name not in self._values}
        for name, value in empty.items():
            self.set_value(name, value)
            self.touched.add(name)
        return {name: Hidden(str(self._values[name])) for name in empty if name in self._values}

    def clear_unchanged(self, filled: Mapping[str, Hidden]) -> list[str]:
        """Clear the fields that still have the value that was filled in; return their names."""
        unchanged = [name for name, value in filled.items() if self._values.get(name) == value.get_secret_value()]
        self.clear(unchanged)
        return unchanged

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

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<{len(self)} of {len(self.fields)} fields>"


def _as_sent(value: Any) -> str:
    """Return a value as text, a decimal number as it is sent: 1000, not 1E+3."""
    return (
        f"{value:f}" if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < 100 else str(value)
    )
