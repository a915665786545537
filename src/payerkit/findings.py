"""Findings of the checks: what is wrong with a field, how severe, what to do and by which source; never the value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, Protocol, Self, cast

from payerkit import _tsv, html
from payerkit.errors import FieldProblem
from payerkit.frames import frame_of
from payerkit.wire import wire_name
from payerkit.wording import Wording, count_of, in_words

if TYPE_CHECKING:
    import pandas as pd

Severity = Literal["error", "warning", "info"]
"""An error cannot be sent. A warning may be rejected by the service or a bank. An info is worth knowing.

Of a payment, an error stops it, and a warning is for a person to look at.
"""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""The severities, the worst first."""

COLUMNS = ("field", "wire_name", "severity", "code", "message", "hint", "basis")
"""The columns of a DataFrame of findings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(FieldProblem):
    """A problem or remark about one field. It never holds the field's value.

    Attributes:
        field: Name of the field in payerkit, such as `postal_code`; "" for the record as a whole.
        wire_name: Name of the field in requests, such as `postalCode`.
        message: What is wrong.
        code: Stable identifier, accepted by the `ignore=` of the checks for warnings and infos.
        severity: "error" (cannot be sent), "warning" (may be rejected) or "info".
        hint: What to do; "" if the message says it.
        basis: A section of the specification, or another public source.
        step: In findings about a payment, the index of the transaction; None for the payment as a whole.
        place: The index of the payment in the batch that the transaction is, if the finding is about one of these.
        unchecked: In findings about a payment, True for what could not be checked; it is then neither right nor wrong.
        policy_lines: In findings about a payment, the lines of a policy file that would clear it, which `hint` ends
            with; "" if none would.

    Example:
        >>> finding = check_payer({**payer, "country": "UK"})[0]
        >>> finding.field, finding.code, finding.severity, finding.hint
        ('country', 'country_habit', 'warning', 'Write GB.')
    """

    severity: Severity
    hint: str = ""
    basis: str = ""
    step: int | None = None
    place: int | None = None
    unchecked: bool = False
    policy_lines: str = ""

    def __str__(self) -> str:
        words = f"{self.message} {self.hint}".rstrip()
        return f"{self.field}: {words}" if self.field else words


class Findings(tuple[Finding, ...]):
    """A tuple of findings in the order of the fields; empty, and so false, if there are none.

    `print` and notebooks show errors first, then warnings, then infos.

    Attributes:
        errors: The findings that prevent sending.
        warnings: The findings that the service or a bank may reject.
        infos: The findings worth knowing.

    Example:
        >>> findings = check_payer({**payer, "country": "UK", "email": "john"})
        >>> findings
        1 error, 1 warning.
          error  email: Not an e-mail address. Write it as name@example.com.  [email_form: specification 2.4]
          warning  country: Not an ISO 3166-1 code. Write GB.  [country_habit: ISO 3166-1]
        >>> len(findings.errors), bool(findings.infos)
        (1, False)
    """

    __slots__ = ()

    @property
    def errors(self) -> Self:
        """The findings that prevent sending: violations of the specification."""
        return self._of("error")

    @property
    def warnings(self) -> Self:
        """The findings that the service or a bank may reject; they do not prevent sending."""
        return self._of("warning")

    @property
    def infos(self) -> Self:
        """The findings worth knowing."""
        return self._of("info")

    def _of(self, severity: Severity) -> Self:
        return type(self)(finding for finding in self if finding.severity == severity)

    def to_frame(self) -> pd.DataFrame:
        """Return the findings as a DataFrame.

        Returns:
            One row per finding: `field`, `wire_name`, `severity`, `code`, `message`, `hint` and `basis`, all `string`.

        Example:
            >>> check_payer({**payer, "country": "UK"}).to_frame()[["field", "severity", "code"]]
                 field severity           code
            0  country  warning  country_habit
        """
        rows = ([getattr(finding, name) for name in COLUMNS] for finding in self)
        return frame_of(rows, dict.fromkeys(COLUMNS, "string"))

    def __str__(self) -> str:
        return "\n".join([f"{self._summary()}.", *map(self._line, self._worst_first())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        facts = self.infos
        table = self._grid((item for item in self._worst_first() if item.severity != "info"), self._caption())
        return html.picture(table, html.folded(count_of(len(facts), "info"), self._grid(facts, "")) if facts else "")

    def _grid(self, found: Iterable[Finding], caption: str) -> html.Html:
        rows = [(html.chip(each.severity, each.severity), self._about(each), _what_and_why(each)) for each in found]
        return html.grid(("severity", *self._head), rows, caption=caption)

    _head = ("field", "what is wrong, and what to do")
    """The columns of the picture, behind the severity."""

    def _line(self, finding: Finding) -> str:
        return f"  {finding.severity}  {finding}  [{finding.code}: {finding.basis}]"

    def _about(self, finding: Finding) -> str:
        return in_words(finding.field)

    def _caption(self) -> str:
        return self._summary() if self else html.chip("success", self._summary())

    def _worst_first(self) -> list[Finding]:
        return sorted(self, key=lambda finding: SEVERITIES.index(finding.severity))

    def _summary(self) -> str:
        counts = {"error": len(self.errors), "warning": len(self.warnings), "info": len(self.infos)}
        return ", ".join(f"{n} {name}{'s' * (n > 1)}" for name, n in counts.items() if n) or "No findings"


class PaymentFindings(Findings):
    """The findings about a payment's transactions, with a verdict. The `step` of each is its transaction's index.

    Attributes:
        verdict: "stop" if a transaction contradicts the order or cannot be a payment as ordered; "look" if something
            is unusual or cannot be verified without the network; "ok" if everything that can be verified matches.
        errors: The findings for which the verdict is "stop".
        warnings: The findings for which a person has to look.
        infos: What matches, and what is worth knowing.

    Example:
        >>> payment = initiate_payment(client, order)
        >>> check_payment(payment, order, rate="2500").verdict  # it carries a fee, which the order does not name
        'look'
    """

    __slots__ = ()

    @property
    def verdict(self) -> str:
        """Whether to sign: "ok", "look" or "stop"."""
        severities = {finding.severity for finding in self}
        return "stop" if "error" in severities else "look" if "warning" in severities else "ok"

    _head = ("about", "what was found, and what to do")

    def _line(self, finding: Finding) -> str:
        """Return a finding as text, its source behind the first line; more lines are to be copied as they stand."""
        first, *lines = str(finding).split("\n")
        start = f"  {_step_label(finding):<14}  {finding.severity:<7}"
        source = f"[{finding.code}: {finding.basis}]"
        return "\n".join([f"{start}  {first}  {source}", *(f"      {line}" for line in lines)])

    def _about(self, finding: Finding) -> html.Html:
        """Return the transaction and the field that a finding is about, each on a line of its own."""
        step = _step_label(finding).replace(" ", "\N{NO-BREAK SPACE}")
        lines = map(html.escape, filter(None, [step, in_words(finding.field)]))
        return html.Html(f'<div class="pk-narrow">{"<br>".join(lines)}</div>')

    def _caption(self) -> html.Html:
        return html.Html(f"{html.verdict(self.verdict)} {html.escape(super()._summary())}")

    def _summary(self) -> str:
        return f"{self.verdict.upper()}: {super()._summary()}"


def _what_and_why(finding: Finding) -> html.Html:
    """Return the message of a finding, what to do, and in small print its source and code."""
    source = html.small(finding.basis, finding.code)
    return html.Html(f"{html.breakable(finding.message)}{html.advice(finding.hint)}{source}")


def _step_label(finding: Finding) -> str:
    """Return the number of a finding's transaction, and of its payment in a batch, counted from 1; "" for the whole."""
    batch = "" if finding.place is None else f", payment {finding.place + 1}"
    return "" if finding.step is None else f"transaction {finding.step + 1}{batch}"


# Findings by their code, from the tables of the checks: of rows of a table, of an order before it is sent, of a payment


@cache
def table_findings() -> Mapping[str, dict[str, str]]:
    """Return the rows of `table_findings.tsv` by code."""
    return {row["code"]: row for row in _tsv.rows("payerkit.checks", "table_findings")}


@cache
def table_finding(code: str, field: str | None = None, *values: str) -> Finding:
    """Return the finding with a code about a row of a table, which no check of a single record has.

    field: what it is about, if not the field that `table_findings.tsv` names. values: the texts for {0} and {1}.
    """
    kind = table_findings()[code]
    return finding_of_kind(kind, code, kind["field"] if field is None else field, *values)


def finding_of_kind(kind: Mapping[str, str], code: str, field: str, *values: str, **named: object) -> Finding:
    """Return a finding as a row of a table of findings has it: severity, message, hint and basis."""
    return Finding(
        field=field,
        wire_name=wire_name(field),
        message=kind["message"].format(*values, **named),
        code=code,
        severity=cast("Severity", kind["severity"]),
        hint=kind["hint"].format(*values, **named),
        basis=kind["basis"],
    )


@cache
def order_findings() -> Mapping[str, dict[str, str]]:
    """Return the rows of `order_findings.tsv` by key; each has its code, too, which several keys may share."""
    table = _tsv.rows("payerkit.checks", "order_findings")
    return {row["key"]: row | {"code": row["key"].partition(".")[0]} for row in table}


def order_finding(key: str, *, field: str = "", **values: object) -> Finding:
    """Return the finding with a key. field: one of its fields, if it has several. values: the texts for {}."""
    kind = order_findings()[key]
    return finding_of_kind(kind, kind["code"], field or kind["fields"].split()[0], **values)


class Placed(Protocol):
    """A transaction, or a payment of one: `at` has its number, and the place in a batch."""

    @property
    def at(self) -> tuple[int, int | None]:
        """Where it stands."""


@cache
def payment_findings() -> Mapping[str, dict[str, str]]:
    """Return the rows of `findings.tsv` of payments by key; several keys may share a code, which comes before a dot.

    A hint has other words for a form: its readers write neither code nor the file of a policy.
    """
    found = _tsv.rows("payerkit.payment", "findings")
    return {row["key"]: row if "<" not in row["hint"] else {**row, "hint": Wording(row["hint"])} for row in found}


def payment_finding(
    key: str, about: Placed | None = None, *, field: str = "", policy_lines: str = "", **values: object
) -> Finding:
    """Return the finding with a key about a transaction, a payment of it, or the whole.

    policy_lines: what to add to the policy; they stand below the hint.
    """
    row = payment_findings()[key]
    step, place = about.at if about else (None, None)
    values = {"lines": f"\n{policy_lines}" if policy_lines else ""} | values
    return Finding(
        field=field or row["field"],
        wire_name=field or row["field"],
        severity=cast("Severity", row["severity"]),
        code=key.partition(".")[0],
        message=row["message"].format(**values),
        hint=row["hint"].format(**values),
        basis=row["basis"],
        step=step,
        place=place,
        unchecked=row["unchecked"] == "yes",
        policy_lines=policy_lines if "{lines}" in row["hint"] else "",
    )
