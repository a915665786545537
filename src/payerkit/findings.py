"""Findings of the checks: what is wrong with a field, how severe, what to do and by
which source; never the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, Protocol, Self, cast

from payerkit import _tsv, html
from payerkit.errors import FieldProblem
from payerkit.frames import frame_of
from payerkit.wire import wire_name
from payerkit.wording import count_of, in_words, visible_lines

if TYPE_CHECKING:
    import pandas as pd

Severity = Literal["error", "warning", "info"]
"""An error cannot be sent. A warning may be rejected by the service or a bank. An info
is worth knowing.

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
        field: Name of the field in payerkit, such as `postal_code`; "" for the record
            as a whole.
        wire_name: Name of the field in requests, such as `postalCode`.
        message: What is wrong.
        code: Stable identifier, accepted by the `ignore=` of the checks for warnings
            and infos.
        severity: "error" (cannot be sent), "warning" (may be rejected) or "info".
        hint: What to do; "" if the message says it.
        hint_form: What to do in a form, whose users write no code; "" if `hint` says
            it.
        basis: A section of the specification, or another public source.
        step: In findings about a payment, the index of the transaction; None for the
            payment as a whole.
        place: The index of the payment in the batch that the transaction is, if the
            finding is about one of these.
        unchecked: In findings about a payment, True for what could not be checked; it
            is then neither right nor wrong.
        policy_lines: In findings about a payment, the lines of a policy file that would
            clear it, which `hint` ends with; "" if none would.

    Example:
        >>> finding = check_payer({**payer, "country": "UK"})[0]
        >>> finding.field, finding.code, finding.severity, finding.hint
        ('country', 'country_habit', 'warning', 'Write GB.')
    """

    severity: Severity
    hint: str = ""
    hint_form: str = ""
    basis: str = ""
    step: int | None = None
    place: int | None = None
    unchecked: bool = False
    policy_lines: str = ""

    def __str__(self) -> str:
        # A hint may end with lines of a policy.
        return f"{FieldProblem.__str__(self)} {visible_lines(self.hint)}".rstrip()


class Findings(tuple[Finding, ...]):
    """A tuple of findings in the order of the fields; empty, and so false, if there are
    none.

    `print` and notebooks show errors first, then warnings, then infos.

    Attributes:
        errors: The findings that prevent sending.
        warnings: The findings that the service or a bank may reject.
        infos: The findings worth knowing.

    Example:
        >>> findings = check_payer({**payer, "country": "UK", "email": "john"})
        >>> findings
        1 error, 1 warning.
          error  email: Not an e-mail address. Write it as name@example.com.
          [email_form: specification 2.4]
          warning  country: Not an ISO 3166-1 code. Write GB.  [country_habit: ISO
          3166-1]
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
        """The findings that the service or a bank may reject; they do not prevent
        sending.
        """
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
            One row per finding: `field`, `wire_name`, `severity`, `code`, `message`,
            `hint` and `basis`, all `string`.

        Example:
            >>> check_payer({**payer, "country": "UK"}).to_frame()[
            ...     ["field", "severity", "code"]
            ... ]
                 field severity           code
            0  country  warning  country_habit
        """
        rows = ([getattr(finding, name) for name in COLUMNS] for finding in self)
        return frame_of(rows, dict.fromkeys(COLUMNS, "string"))

    def __str__(self) -> str:
        lines = [self._line(finding) for finding in self._worst_first()]
        return "\n".join([f"{self._summary()}.", *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        problems = [
            finding for finding in self._worst_first() if finding.severity != "info"
        ]
        parts = [self._grid(problems, self._caption())]
        if self.infos:
            summary = count_of(len(self.infos), "info")
            parts.append(html.folded(summary, self._grid(self.infos, "")))
        return html.picture(*parts)

    def _grid(self, findings: Iterable[Finding], caption: str) -> html.Html:
        rows = [
            (
                html.chip(finding.severity, finding.severity),
                self._about(finding),
                _what_and_why(finding),
            )
            for finding in findings
        ]
        return html.grid(("severity", *self._head), rows, caption=caption)

    _head = ("field", "what is wrong, and what to do")
    """The columns of the picture, behind the severity."""

    def _line(self, finding: Finding) -> str:
        return f"  {finding.severity}  {finding}  [{finding.code}: {finding.basis}]"

    def _about(self, finding: Finding) -> str:
        return in_words(finding.field)

    def _caption(self) -> str:
        if self:
            return self._summary()
        return html.chip("success", self._summary())

    def _worst_first(self) -> list[Finding]:
        return sorted(self, key=lambda finding: SEVERITIES.index(finding.severity))

    def _summary(self) -> str:
        severities = [finding.severity for finding in self]
        counts = [
            count_of(severities.count(severity), severity)
            for severity in SEVERITIES
            if severity in severities
        ]
        return ", ".join(counts) or "No findings"


class PaymentFindings(Findings):
    """The findings about a payment's transactions, with a verdict. The `step` of each
    is its transaction's index.

    Attributes:
        verdict: "stop" if a transaction contradicts the order or cannot be a payment as
            ordered; "look" if something is unusual or cannot be verified without the
            network; "ok" if everything that can be verified matches.
        errors: The findings for which the verdict is "stop".
        warnings: The findings for which a person has to look.
        infos: What matches, and what is worth knowing.

    Example:
        >>> payment = initiate_payment(client, order)
        >>> # it carries a fee, which the order does not name
        >>> check_payment(payment, order, rate="2500").verdict
        'look'
    """

    __slots__ = ()

    @property
    def verdict(self) -> str:
        """Whether to sign: "ok", "look" or "stop"."""
        severities = {finding.severity for finding in self}
        if "error" in severities:
            return "stop"
        if "warning" in severities:
            return "look"
        return "ok"

    _head = ("about", "what was found, and what to do")

    def _line(self, finding: Finding) -> str:
        """Return a finding as text, its source behind the first line; more lines are to
        be copied as they stand.
        """
        first, *lines = str(finding).split("\n")
        start = f"  {_step_label(finding):<14}  {finding.severity:<7}"
        source = f"[{finding.code}: {finding.basis}]"
        return "\n".join(
            [f"{start}  {first}  {source}", *(f"      {line}" for line in lines)]
        )

    def _about(self, finding: Finding) -> html.Html:
        """Return the transaction and the field that a finding is about, each on a line
        of its own.
        """
        step = _step_label(finding).replace(" ", "\N{NO-BREAK SPACE}")
        words = [step, in_words(finding.field)]
        lines = "<br>".join(html.escape(word) for word in words if word)
        return html.Html(f'<div class="pk-narrow">{lines}</div>')

    def _caption(self) -> html.Html:
        return html.Html(
            f"{html.verdict(self.verdict)} {html.escape(super()._summary())}"
        )

    def _summary(self) -> str:
        return f"{self.verdict.upper()}: {super()._summary()}"


def _what_and_why(finding: Finding) -> html.Html:
    """Return the message of a finding, what to do, and in small print its source and
    code.
    """
    source = html.small(finding.basis, finding.code)
    return html.Html(
        f"{html.breakable(finding.message)}{html.advice(finding.hint)}{source}"
    )


def _step_label(finding: Finding) -> str:
    """Return the number of a finding's transaction, and of its payment in a batch,
    counted from 1; "" for the whole.
    """
    if finding.step is None:
        return ""
    label = f"transaction {finding.step + 1}"
    if finding.place is not None:
        label += f", payment {finding.place + 1}"
    return label


# Findings by their code, from the tables of the checks: of rows of a table, of an order
# before it is sent, of a payment


@cache
def table_findings() -> Mapping[str, dict[str, str]]:
    """Return the rows of `table_findings.tsv` by code."""
    return {row["code"]: row for row in _tsv.rows("payerkit.checks", "table_findings")}


@cache
def table_finding(code: str, field: str | None = None, **words: str) -> Finding:
    """Return the finding with a code about a row of a table, which no check of a single
    record has.

    field: what it is about, if not the field that `table_findings.tsv` names. words:
    for the placeholders of its texts.
    """
    kind = table_findings()[code]
    if field is None:
        field = kind["field"]
    return finding_of_kind(kind, code, field, **words)


def finding_of_kind(
    kind: Mapping[str, str], code: str, field: str, **words: object
) -> Finding:
    """Return a finding as a row of a table of findings has it: severity, message, hint
    and basis.
    """
    return Finding(
        field=field,
        wire_name=wire_name(field),
        message=kind["message"].format(**words),
        code=code,
        severity=cast("Severity", kind["severity"]),
        hint=kind["hint"].format(**words),
        hint_form=kind.get("hint_form", "").format(**words),
        basis=kind["basis"],
    )


@cache
def order_findings() -> Mapping[str, dict[str, str]]:
    """Return the rows of `order_findings.tsv` by key; each has its code, too, which
    several keys may share.
    """
    table = _tsv.rows("payerkit.checks", "order_findings")
    return {row["key"]: row | {"code": row["key"].partition(".")[0]} for row in table}


def order_finding(key: str, *, field: str = "", **values: object) -> Finding:
    """Return the finding with a key. field: one of its fields, if it has several.
    values: the texts for {}.
    """
    kind = order_findings()[key]
    return finding_of_kind(
        kind, kind["code"], field or kind["fields"].split()[0], **values
    )


class Placed(Protocol):
    """A transaction, or a payment of one: `at` has its number, and the place in a
    batch.
    """

    @property
    def at(self) -> tuple[int, int | None]:
        """Where it stands."""


@cache
def payment_findings() -> Mapping[str, dict[str, str]]:
    """Return the rows of `findings.tsv` of payments by key; several keys may share a
    code, which comes before a dot.
    """
    return {row["key"]: row for row in _tsv.rows("payerkit.payments", "findings")}


def payment_finding(
    key: str,
    about: Placed | None = None,
    *,
    field: str = "",
    policy_lines: str = "",
    **values: object,
) -> Finding:
    """Return the finding with a key about a transaction, a payment of it, or the whole.

    policy_lines: what to add to the policy; they stand below the hint.
    """
    row = payment_findings()[key]
    step = None
    place = None
    if about is not None:
        step, place = about.at
    lines = ""
    if policy_lines:
        lines = f"\n{policy_lines}"
    values = {"lines": lines} | values
    if "{lines}" not in row["hint"]:
        policy_lines = ""
    return Finding(
        field=field or row["field"],
        wire_name=field or row["field"],
        severity=cast("Severity", row["severity"]),
        code=key.partition(".")[0],
        message=row["message"].format(**values),
        hint=row["hint"].format(**values),
        hint_form=row["hint_form"].format(**values),
        basis=row["basis"],
        step=step,
        place=place,
        unchecked=row["unchecked"] == "yes",
        policy_lines=policy_lines,
    )


_REFERENCE = ("code", "severity", "field", "message", "hint", "basis")
"""The columns of the table of findings about payments."""


def findings() -> pd.DataFrame:
    """Return all findings that a check of a payment knows. Nothing is checked.

    Returns:
        One row per code and wording, in the order of a check: `code`; `severity`,
        "error" (stop), "warning" (look) or "info"; `field`, what it is about, "" where
        that differs; `message`, `hint` and `basis` as in a finding, with … for what
        depends on the payment. All columns are `string`.

    Example:
        >>> table = findings().set_index("code")
        >>> table.loc["payee_matches", ["severity", "message"]].to_dict()
        {'severity': 'info', 'message': 'The payee matches the order.'}
    """
    rows = []
    for key, row in payment_findings().items():
        code = key.partition(".")[0]
        cells = [_without_values(row[name]) for name in _REFERENCE[1:]]
        rows.append([code, *cells])
    return frame_of(rows, dict.fromkeys(_REFERENCE, "string"))


def _without_values(text: str) -> str:
    """Return a text of a row with … in place of each value, and without the lines of a
    policy, which a hint ends with.
    """
    return re.sub(r"\{\w+\}", "…", text.replace("{lines}", " …"))
