"""A rule: one checker, and what to say when it finds something; run over one body here, over tables in `frames`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from payerkit.findings import Finding, Severity
from payerkit.wire import wire_name

Fault = bool | str
"""What a checker returns: False if all is well; True if not, or the words for the place `{}` of the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing to look at.

    code: stable, to tell findings apart and to ignore them by. field: whom the finding is about. reads: the members
    whose values the checker takes, None for what is not given or cannot be sent; `name?` tells it only whether a
    member is given. Without the first the checker is not asked. message, hint, basis: as in a `Finding`; `{}` is the
    place for the checker's words.
    """

    code: str
    field: str
    reads: tuple[str, ...]
    checker: Callable[..., Fault]
    message: str
    hint: str
    basis: str
    severity: Severity = "warning"

    def say(self, check_field: Fault) -> Finding | None:
        """Return the finding for what the checker returned; None if all is well."""
        if check_field is False:
            return None
        return Finding(
            field=self.field,
            wire_name=wire_name(self.field),
            message=self.message.replace("{}", str(check_field)),
            code=self.code,
            severity=self.severity,
            hint=self.hint.replace("{}", str(check_field)),
            basis=self.basis,
        )


def is_empty(value: Any) -> bool:
    """Tell whether a value is an empty text, which is as good as none."""
    return isinstance(value, str) and not value


def given(values: Mapping[str, Any]) -> dict[str, bool]:
    """Return that members are given, as rules read it."""
    return {f"{name}?": True for name, value in values.items() if value is not None and not is_empty(value)}


def look(rules: Iterable[Rule], values: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what the rules have to say of a body, in their order."""
    get = values.get
    for rule in rules:
        reads = rule.reads
        if get(reads[0]) is not None:
            finding = rule.say(rule.checker(*map(get, reads)))
            if finding is not None:
                yield finding
