"""Findings as text, as HTML and as a DataFrame."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace

import pytest

from payerkit.errors import FieldProblem
from payerkit.findings import COLUMNS, Finding, Findings, PaymentFindings, Severity


def finding(
    severity: Severity, code: str = "a_code", message: str = "Wrong."
) -> Finding:
    """Return a finding about an IBAN."""
    return Finding(
        field="iban",
        wire_name="iban",
        message=message,
        code=code,
        severity=severity,
        hint="Compare it.",
        basis="a source",
    )


MIXED = Findings(
    [finding("warning", "one"), finding("error", "two"), finding("warning", "three")]
)


def test_findings_can_be_filtered_by_severity() -> None:
    """Each severity has its findings, in their order."""
    assert ["two"] == [each.code for each in MIXED.errors]
    assert ["one", "three"] == [each.code for each in MIXED.warnings]
    assert () == MIXED.infos


def test_a_finding_is_a_problem_of_a_field() -> None:
    """Findings read like the `fields` of an error."""
    one = finding("error")

    assert isinstance(one, FieldProblem)
    assert "iban: Wrong. Compare it." == str(one)


@pytest.mark.parametrize(
    ("findings", "first"),
    [
        (MIXED, "1 error, 2 warnings."),
        (MIXED.errors, "1 error."),
        (Findings(), "No findings."),
    ],
)
def test_text_counts_first(findings: Findings, first: str) -> None:
    """The first line counts the findings by severity; each has a line of its own
    below.
    """
    lines = str(findings).splitlines()

    assert (first, len(findings)) == (lines[0], len(lines) - 1)
    assert str(findings) == repr(findings)


def test_a_line_of_text_is_complete() -> None:
    """A line has the severity, field, message, hint, code and basis."""
    assert (
        "  error  iban: Wrong. Compare it.  [two: a source]"
        == str(MIXED.errors).splitlines()[1]
    )


def test_facts_are_folded() -> None:
    """What is only worth knowing stands behind one line, below what needs a person."""
    shown = Findings(
        [finding("info", message="A fact."), finding("error", message="A fault.")]
    )._repr_html_()

    assert ["A fault.", "<details><summary>1 info</summary>", "A fact."] == sorted(
        ("A fact.", "<details><summary>1 info</summary>", "A fault."), key=shown.index
    )


def test_html_is_an_inert_table() -> None:
    """A notebook shows one row per finding; markup is escaped."""
    shown = Findings(
        [finding("error", message="<script>alert(1)</script>")]
    )._repr_html_()

    assert (1, 0) == (shown.count("<tbody><tr>"), shown.count("<script>"))
    assert "what to do" in shown
    assert "<tr>" not in Findings()._repr_html_()
    assert "✓&nbsp;No findings" in Findings()._repr_html_()


@pytest.mark.parametrize(
    "findings", [MIXED, PaymentFindings(MIXED)], ids=["findings", "of a payment"]
)
def test_errors_are_shown_first(findings: Findings) -> None:
    """Text and table list errors, then warnings in their order; the tuple itself keeps
    its own.
    """
    for shown in (str(findings), findings._repr_html_()):
        assert ["two", "one", "three"] == sorted(
            ["one", "two", "three"], key=shown.index
        )
    assert ["one", "two", "three"] == [each.code for each in findings]


def test_a_row_says_what_to_do_and_has_its_source_in_small_print() -> None:
    """A row has three cells, names in words, and lines to copy as they are."""
    one = replace(
        finding("warning", "fee_unknown"),
        field="protocol_fee",
        hint="Add:\n[[fees]]\n  percentage = 1",
    )
    cells = re.findall("<td[^>]*>(.*?)</td>", Findings([one])._repr_html_(), re.DOTALL)

    assert ["!&nbsp;warning", "protocol fee"] == [
        re.sub("<[^>]*>", "", cell) for cell in cells[:2]
    ]
    assert (
        cells[2]
        == 'Wrong.<div class="pk-advice">→ Add:</div><pre class="pk-copied">[[fees]]\n '
        ' percentage = 1</pre><div class="pk-small">a source · fee_unknown</div>'
    )


@pytest.mark.parametrize("findings", [MIXED, Findings()])
def test_frame_has_one_row_per_finding(findings: Findings) -> None:
    """The columns are text, and there without rows, too."""
    frame = findings.to_frame()

    assert (list(COLUMNS), len(findings)) == (list(frame.columns), len(frame))
    assert {"string"} == {str(kind) for kind in frame.dtypes}


def test_findings_can_be_pickled() -> None:
    """Findings are values: equal after a round trip, and of the same class."""
    assert pickle.loads(pickle.dumps(MIXED)) == MIXED  # noqa: S301 - its own
    assert type(pickle.loads(pickle.dumps(MIXED))) is Findings  # noqa: S301
