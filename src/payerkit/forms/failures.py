"""The banners of a form that has errors, or whose request failed: what happened, and what to do."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Literal

from payerkit.errors import (
    InvalidInput,
    NotFound,
    NotSent,
    PayerkitError,
    RateLimited,
    Refused,
    UnknownOutcome,
    WrongKey,
)
from payerkit.findings import Finding, Findings
from payerkit.forms.drawn_fields import count_warnings, form_message
from payerkit.forms.entries import Entries
from payerkit.forms.form_state import Banner, Line
from payerkit.reasons import words_of_service
from payerkit.wording import in_form


def failure_banner(error: BaseException, *, problems: tuple[Line, ...] = (), pause: float = 0.0) -> Banner:
    """Return the banner about a request that failed.

    problems: lines about single fields. pause: seconds for which the client sends nothing.
    """
    if not isinstance(error, PayerkitError):
        return Banner.of("error", "Interrupted. Nothing was sent.")
    if isinstance(error, InvalidInput):
        return Banner("error", error.message, problems)
    if isinstance(error, NotSent):
        title = "The service cannot be reached. Nothing was sent."
        return Banner.of("error", title, "Check the network and the address, then try again.", details=error.message)
    if isinstance(error, RateLimited):
        wait = max(error.retry_after or 0.0, pause)
        title = "Too many requests. Nothing was changed."
        line = "" if wait else "Wait a little, then try again."  # the banner counts the seconds
        return Banner.of("warning", title, line, details=error.message, retry_at=time.monotonic() + wait)
    if isinstance(error, UnknownOutcome):
        return Banner.of("warning", "It is not known whether this was done.", error.advice, details=error.message)
    if isinstance(error, Refused):
        return _refusal(error, problems)
    title = "The service failed. Nothing was changed."
    return Banner.of("error", title, "Try again in a minute.", details=f"{error.message}\n{error.advice}")


def _refusal(error: Refused, problems: tuple[Line, ...]) -> Banner:
    """Return the banner about a request that the service refused, with its words."""
    says = words_of_service(error.outcome.params) if error.outcome else ""
    lines = problems or ((Line(says),) if says else ())
    if isinstance(error, WrongKey):
        title = "The service does not accept the key. Nothing was changed."
    elif isinstance(error, NotFound) and "payer" in (error.request or ""):
        title = "The service does not know this payer. Nothing was changed."
    else:
        title = "The service refused the request. Nothing was changed."
    advice = () if problems else (Line(in_form(error.advice)),)
    return Banner("error", title, (*lines, *advice), details=error.message)


def attention_banner(attention: Literal["errors", "warnings"], findings: Findings, entries: Entries) -> Banner:
    """Return a banner whose lines lead to the fields with errors or with warnings."""
    lines = tuple(_line(finding, entries) for finding in findings)
    if attention == "warnings":
        return Banner("warning", f"{count_warnings(findings)}. Correct the fields, or send anyway.", lines)
    count = len({finding.field for finding in findings})
    needs = "1 field needs attention" if count == 1 else f"{count} fields need attention"
    return Banner("error", f"{needs}. Nothing was sent.", lines)


def review_banner(findings: Findings) -> Banner | None:
    """Return a banner that announces the warnings beside the answers; None without any."""
    count = count_warnings(findings)
    return Banner("warning", f"{count} below. Change the answer, or send anyway.") if count else None


def _line(finding: Finding, entries: Entries) -> Line:
    """Return a line of a banner that leads to the field of a finding."""
    if finding.field not in entries.fields:
        return Line(finding.message)
    if finding.code in {"required", "empty"}:
        return Line(form_message(finding, entries.fields, entries.holder), finding.field)
    text = form_message(replace(finding, hint=""), entries.fields, entries.holder)
    return Line(f"{entries.label(finding.field)}: {text}", finding.field)
