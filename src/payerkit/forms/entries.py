"""What is entered into a form: values, their readings, and the findings about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from payerkit.cells import unwrap_secret
from payerkit.checks.readings import reading, strip_blanks
from payerkit.errors import FieldProblem, InvalidInput
from payerkit.findings import Finding, Findings
from payerkit.forms.drawing import (
    OF_THE_SERVICE,
    FormModel,
    form_fields,
    local_fields,
    options_of,
)
from payerkit.masking import mask
from payerkit.models.formats import Hidden
from payerkit.models.names import by_field_name


class Entries:
    """The values of a form by field name.

    touched: the fields that a person left; only their findings are shown. chosen: the
    fields whose value follows from another one, so that a new one may replace it.
    choices: for a field whose options are found while the form is filled in, these.
    service_messages: what the service said about fields, until their values change.
    """

    def __init__(
        self, model: FormModel, check: Callable[[Mapping[str, Any]], Findings]
    ) -> None:
        self.model = model
        self.fields = form_fields(model)
        self.touched: set[str] = set()
        self.chosen: set[str] = set()
        self.choices: dict[str, dict[str, str]] = {}
        self.service_messages: dict[str, Finding] = {}
        self._check = check
        self._values: dict[str, Any] = {}
        self._typed: dict[str, Any] = {}

    def enter(self, name: str, value: Any) -> None:
        """Set the value of a field, without the blanks around it; None or "" clears
        it.
        """
        value, _ = strip_blanks(self.model, name, unwrap_secret(value))
        for kept in (self._values, self._typed, self.service_messages):
            kept.pop(name, None)
        self.chosen.discard(name)
        if value is not None and value != "":
            is_secret = self.fields[name].is_secret and isinstance(value, str)
            self._values[name] = Hidden(value) if is_secret else value
        if name in {"country", "currency"}:
            self.fields = local_fields(form_fields(self.model), self._values)

    def choose(self, name: str, value: str) -> None:
        """Set a value that follows from another one; "" clears the field."""
        self.enter(name, value)
        if value:
            self.chosen.add(name)

    def fill(self, values: Mapping[Any, Any]) -> set[str]:
        """Set values by field name or wire name, and return the names of the fields.

        Raises InvalidInput for a wrong name, and sets no value then.
        """
        by_name, problems = by_field_name(self.model, values)
        if problems:
            raise InvalidInput(
                f"{self.model.__name__}: wrong field names. No value was set.",
                fields=tuple(problems),
            )
        for name, value in by_name.items():
            self.enter(name, value)
            self.touched.add(name)
        return set(by_name)

    def clear(self, names: Iterable[str]) -> None:
        """Clear fields, as if nobody had been there."""
        for name in names:
            self.enter(name, None)
            self.touched.discard(name)

    def is_free(self, name: str) -> bool:
        """Return True if a field is empty, or has a value that nobody entered."""
        return name in self.chosen or name not in self._values

    def reading(self, name: str) -> str | None:
        """Return the one value that the text in a field can mean, if it is not right
        already.
        """
        return reading(self.model, name, self._values.get(name), self._values)

    def was_read(self, name: str) -> bool:
        """Return True if the text in a field was replaced by its reading."""
        return name in self._typed

    def read(self, name: str) -> None:
        """Replace the text in a field by its reading, if it has one."""
        meant = self.reading(name)
        if meant is not None:
            typed = self._values[name]
            self.enter(name, meant)
            self._typed[name] = typed

    def undo(self, name: str) -> None:
        """Bring back the text that was replaced by its reading."""
        self.enter(name, self._typed[name])

    def findings(self) -> Findings:
        """Return the findings about the values, those of the service included, in the
        order of the fields.
        """
        places = {name: place for place, name in enumerate(self.fields)}
        findings = [*self.service_messages.values(), *self._check(self._values)]
        findings.sort(key=lambda finding: places.get(finding.field, len(places)))
        return Findings(findings)

    def add_service_messages(self, problems: Iterable[FieldProblem]) -> None:
        """Keep what the service said about fields."""
        for problem in problems:
            if problem.field in self.fields:
                self.service_messages[problem.field] = Finding(
                    **asdict(problem), severity="error", basis=OF_THE_SERVICE
                )

    def request(self) -> Any:
        """Return the request that the values make. Raises InvalidInput with all
        errors.
        """
        values = {name: unwrap_secret(value) for name, value in self._values.items()}
        return self.model.of(values, {})

    @property
    def secrets(self) -> list[str]:
        """The names of the secret fields that have a value."""
        return [name for name in self._values if self.fields[name].is_secret]

    def held(self, name: str) -> str | None:
        """Return how a secret that has a value is shown: masked, or "" for not at all;
        None for any other field.
        """
        if name not in self.secrets:
            return None
        if self.fields[name].masking != "account":
            return ""
        return str(mask(name, unwrap_secret(self._values[name])))

    def text(self, name: str) -> str:
        """Return the value of a field as text; "" for an empty or a secret one."""
        value = self._values.get(name)
        if value is None or self.fields[name].is_secret:
            return ""
        if isinstance(value, Decimal) and value.is_finite():
            return f"{value:f}"
        return str(value)

    def options(self, name: str) -> dict[str, str]:
        """Return the values that a choice takes, each in words; none for other
        fields.
        """
        return self.choices.get(name) or options_of(self.fields[name])

    def label(self, name: str) -> str:
        """Return the label of a field, which may follow the type of payer or holder."""
        return self.fields[name].title_for(self.holder)

    @property
    def holder(self) -> str:
        """The type of payer or holder; "" if there is none."""
        return str(self._values.get("beneficiary_type", ""))

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __len__(self) -> int:
        return len(self._values)
