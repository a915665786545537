"""What is wrong with a value, how hard, what to do about it and who says so; never the value itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from payerkit import html
from payerkit.errors import FieldProblem

if TYPE_CHECKING:
    import pandas as pd

Severity = Literal["error", "warning", "info"]
"""An error cannot be sent. A warning may come back from the service or a bank. An info is good to know."""

COLUMNS = ("field", "wire_name", "severity", "code", "message", "hint", "basis")
"""The columns of findings as a frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(FieldProblem):
    """What is wrong with one member: as `FieldProblem`, and how hard, what to do, on whose word.

    hint: what to do, "" if the message says it. basis: a section of the specification, or a public source.
    step: the transaction that it is about, counted from 0, where findings are about a payment.
    """

    severity: Severity
    hint: str = ""
    basis: str = ""
    step: int | None = None

    def __str__(self) -> str:
        words = f"{self.message} {self.hint}".rstrip()
        return f"{self.field}: {words}" if self.field else words


class Findings(tuple[Finding, ...]):
    """Findings in the order of the members; empty, and so false, if there is nothing to say.

    `.errors`, `.warnings` and `.infos` are the findings of one severity, `.to_frame()` is a DataFrame. A notebook
    shows a table.
    """

    __slots__ = ()

    @property
    def errors(self) -> Self:
        """What cannot be sent, by the specification."""
        return self._of("error")

    @property
    def warnings(self) -> Self:
        """What may be wrong; it can be sent all the same."""
        return self._of("warning")

    @property
    def infos(self) -> Self:
        """What is good to know."""
        return self._of("info")

    def _of(self, severity: Severity) -> Self:
        return type(self)(finding for finding in self if finding.severity == severity)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a finding: the columns of `COLUMNS`, all of them text; they stand without rows, too."""
        import pandas as pd  # noqa: PLC0415 - pandas takes a second to import

        rows = [[getattr(finding, name) for name in COLUMNS] for finding in self]
        return pd.DataFrame(rows, columns=list(COLUMNS), dtype="string")

    def __str__(self) -> str:
        lines = (f"  {finding.severity}  {finding}  [{finding.code}: {finding.basis}]" for finding in self)
        return "\n".join([f"{self._counted()}.", *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = ("field", "severity", "what is wrong", "what to do", "basis", "code")
        rows = [(item.field, item.severity, item.message, item.hint, item.basis, item.code) for item in self]
        return html.grid(head, rows, caption=self._counted())

    def _counted(self) -> str:
        counts = [(len(found), name) for name, found in self._by_severity() if found]
        return ", ".join(f"{count} {name}{'s' * (count > 1)}" for count, name in counts) or "No findings"

    def _by_severity(self) -> list[tuple[str, Findings]]:
        return [("error", self.errors), ("warning", self.warnings), ("info", self.infos)]


Verdict = Literal["ok", "look", "stop"]


class PaymentFindings(Findings):
    """What a payment's transactions do, and what does not match; `.verdict` is the whole in one word.

    "stop": something contradicts the order, or cannot be what was asked for. "look": something that cannot be judged
    here, or is unusual. "ok": everything that can be known here matches. Each finding's `step` is the transaction that
    it is about, counted from 0.
    """

    __slots__ = ()

    @property
    def verdict(self) -> Verdict:
        """Whether to sign: "ok", "look" or "stop"."""
        return "stop" if self.errors else "look" if self.warnings else "ok"

    def __str__(self) -> str:
        lines = (f"  {_step_name(item):<14}  {item.severity:<7}  {item}  [{item.code}: {item.basis}]" for item in self)
        return "\n".join([f"{self._counted()}.", *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = ("transaction", "field", "severity", "what is found", "what to do", "basis", "code")
        rows = [
            (_step_name(item), item.field, item.severity, item.message, item.hint, item.basis, item.code)
            for item in self
        ]
        return html.grid(head, rows, caption=self._counted())

    def _counted(self) -> str:
        return f"{self.verdict.upper()}: {super()._counted()}"


def _step_name(finding: Finding) -> str:
    """Return a step as a person counts it; "" for the payment as a whole."""
    return "" if finding.step is None else f"transaction {finding.step + 1}"
