"""Rules: a checker with the finding that it leads to. `check` runs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from payerkit.findings import Finding, Severity
from payerkit.wire import wire_name
from payerkit.wording import Wording

CheckResult = bool | str
"""What a checker returns: False if the value passes; else True, or the text that replaces `{}` in the message."""

_WRITE_IT = "Write {}."
"""The hint of a rule whose checker returns what is meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A check of one field, with the finding for a value that fails it.

    reads: the fields that the checker takes as arguments, None for one that is missing or cannot be sent; `name?` only
    says whether a field has a value. The checker is skipped if the first one is missing. code, field, message, hint,
    basis, severity: as in a `Finding`, message and hint as templates of a `Wording`; `{}` is replaced by the checker's
    text.
    """

    code: str
    field: str
    reads: tuple[str, ...]
    checker: Callable[..., CheckResult]
    message: str
    hint: str
    basis: str
    severity: Severity = "warning"

    def finding(self, result: CheckResult) -> Finding:
        """Return the finding for a value that failed, from the checker's result."""
        return Finding(
            field=self.field,
            wire_name=wire_name(self.field),
            message=Wording(self.message.replace("{}", str(result))),
            code=self.code,
            severity=self.severity,
            hint=Wording.write(result) if self.hint == _WRITE_IT else Wording(self.hint.replace("{}", str(result))),
            basis=self.basis,
        )
