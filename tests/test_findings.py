"""How findings show themselves: as text, as HTML, as a frame."""

from __future__ import annotations

import pickle

import pytest

from payerkit.errors import FieldProblem
from payerkit.findings import COLUMNS, Finding, Findings, Severity


def finding(severity: Severity, code: str = "a_code", message: str = "Wrong.") -> Finding:
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


MIXED = Findings([finding("warning", "one"), finding("error", "two"), finding("warning", "three")])


def test_findings_are_told_apart_by_severity() -> None:
    """Each severity has its own findings, in their order."""
    assert ["two"] == [each.code for each in MIXED.errors]
    assert ["one", "three"] == [each.code for each in MIXED.warnings]
    assert () == MIXED.infos


def test_a_finding_is_a_problem_of_a_field() -> None:
    """An error's `fields` and findings read alike."""
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
    """The first line counts by severity; each finding has a line after it."""
    lines = str(findings).splitlines()

    assert (first, len(findings)) == (lines[0], len(lines) - 1)
    assert str(findings) == repr(findings)


def test_text_tells_all() -> None:
    """A line has severity, member, what is wrong, what to do, and on whose word."""
    assert "  error  iban: Wrong. Compare it.  [two: a source]" == str(MIXED.errors).splitlines()[1]


def test_html_is_a_table_that_does_nothing() -> None:
    """A notebook shows a row a finding; markup in a text is text."""
    shown = Findings([finding("error", message="<script>alert(1)</script>")])._repr_html_()

    assert (1, 0) == (shown.count("<tbody><tr>"), shown.count("<script>"))
    assert "what to do" in shown
    assert "<tr>" not in Findings()._repr_html_()


@pytest.mark.parametrize("findings", [MIXED, Findings()])
def test_frame_has_a_row_a_finding(findings: Findings) -> None:
    """The columns stand without rows, too, and are text."""
    frame = findings.to_frame()

    assert (list(COLUMNS), len(findings)) == (list(frame.columns), len(frame))
    assert {"string"} == {str(kind) for kind in frame.dtypes}


def test_findings_travel() -> None:
    """Findings are values: equal where they say the same, also in another process."""
    assert pickle.loads(pickle.dumps(MIXED)) == MIXED  # noqa: S301 - its own
    assert type(pickle.loads(pickle.dumps(MIXED))) is Findings  # noqa: S301
