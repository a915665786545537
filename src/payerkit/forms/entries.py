"""What was typed into a form. It lives here, in the kernel, and no representation shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from payerkit.checks.inputs import by_field_name, schema_errors, strip_blanks, unwrap_secret
from payerkit.errors import FieldProblem, InvalidInput
from payerkit.findings import Finding, Findings
from payerkit.forms.form_fields import form_fields
from payerkit.models.fields import Hidden
from payerkit.models.requests import RequestModel

S = TypeVar("S", bound=RequestModel)


class Entries(Generic[S]):
    """The values of a form by the members of its model; `check` says what is wrong with them.

    left: the fields that a person has left, of which findings are shown.
    """

    def __init__(self, model: type[S], check: Callable[[Mapping[str, Any]], Findings] | None = None) -> None:
        self.model = model
        self.fields = form_fields(model)
        self.left: set[str] = set()
        self._check = check
        self._values: dict[str, Any] = {}
        self._trimmed: dict[str, Finding] = {}
        self._told: dict[str, Finding] = {}

    def take(self, name: str, value: Any) -> None:
        """Keep the value of a field, without the blanks around it; an empty one takes away what was there."""
        value, info = strip_blanks(self.model.request_schema, name, unwrap_secret(value))
        self._trimmed.pop(name, None)
        self._told.pop(name, None)
        self._values.pop(name, None)
        if value is not None and value != "":
            is_secret = self.fields[name].kind == "secret" and isinstance(value, str)
            self._values[name] = Hidden(value) if is_secret else value
            if info is not None:
                self._trimmed[name] = info

    def fill(self, *given: Mapping[Any, Any]) -> None:
        """Take values by our names or wire names, the later ones over the earlier.

        Raises InvalidInput for a name that is no field, and keeps nothing then.
        """
        read = [by_field_name(self.model.request_schema, values) for values in given]
        if problems := [finding for _, findings in read for finding in findings]:
            raise InvalidInput(f"{self.model.__name__}: nothing was filled in.", fields=tuple(problems))
        for name, value in (item for values, _ in read for item in values.items()):
            self.take(name, value)
            self.left.add(name)

    def findings(self) -> Findings:
        """Return what is wrong with the values, what the service said of them included, in the order of the form."""
        check = self._check or self._faults
        place = {name: at for at, name in enumerate(self.fields)}
        found = [*self._told.values(), *self._trimmed.values(), *check(self._values)]
        return Findings(sorted(found, key=lambda finding: place.get(finding.field, len(place))))

    def _faults(self, values: Mapping[str, Any]) -> Findings:
        return Findings(schema_errors(self.model.request_schema, values))

    def hear(self, problems: Iterable[FieldProblem]) -> list[FieldProblem]:
        """Keep what the service says of the fields until they change; return what is about none of them."""
        others = []
        for problem in problems:
            name = self.model.request_schema.names.get(problem.field, problem.field)
            if name in self.fields:
                self._told[name] = Finding(
                    field=name,
                    wire_name=problem.wire_name,
                    message=problem.message,
                    code=problem.code,
                    severity="error",
                    basis="the service",
                )
            else:
                others.append(problem)
        return others

    def unhear(self) -> None:
        """Forget what the service said; it is going to be asked again."""
        self._told.clear()

    def build(self) -> S:
        """Return the values as an object. Raises InvalidInput, with every field at fault."""
        return self.model.of({name: unwrap_secret(value) for name, value in self._values.items()}, {})

    def forget(self, names: Iterable[str]) -> None:
        """Drop the values of some fields, and what was known of them."""
        for name in names:
            self.take(name, None)
            self.left.discard(name)

    def take_over(self, other: Entries[Any]) -> None:
        """Fill empty fields with what another form has in fields of the same name, but for secrets."""
        for name, value in other._values.items():
            if name in self.fields and name not in self._values and not isinstance(value, Hidden):
                self.take(name, value)

    @property
    def secrets(self) -> list[str]:
        """The names of the fields that hold a secret, in the order of the form."""
        return [name for name, field in self.fields.items() if field.kind == "secret" and name in self._values]

    def shown(self) -> dict[str, str]:
        """Return the values that a browser may have: all but the secrets, "" for an empty field."""
        return {name: _as_text(self._values.get(name)) for name, field in self.fields.items() if field.kind != "secret"}

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<{len(self)} of {len(self.fields)} fields>"


def _as_text(value: Any) -> str:
    return "" if value is None else str(value)
