"""What a form says above its fields: the state of its request, failures, and what to do
about them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

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
from payerkit.reasons import words_of_service
from payerkit.wording import visible, visible_lines

Phase = Literal["open", "locked", "review", "sending", "unknown", "done"]
"""The phase of a form: open for input, or waiting for something else; reviewed before
it is sent; being sent; sent with an unknown outcome, or with a response.
"""

BannerKind = Literal["info", "success", "warning", "error", "sending"]


class Button(NamedTuple):
    """A button of a form: its label, and what it does; is_primary: it is the next
    step.
    """

    label: str
    press: Callable[[], object]
    is_primary: bool = False


class Line(NamedTuple):
    """A line of a banner, and the field that it leads to, "" for none."""

    text: str
    field: str = ""


@dataclass(frozen=True, slots=True)
class Banner:
    """The message above the fields of a form. details: technical ones, folded."""

    kind: BannerKind
    title: str
    lines: tuple[Line, ...] = ()
    details: str = ""

    @classmethod
    def of(cls, kind: BannerKind, title: str, *lines: str, details: str = "") -> Banner:
        """Return a banner with lines that lead to no field; empty ones are left out."""
        return cls(kind, title, tuple(Line(line) for line in lines if line), details)

    def to_view(self) -> dict[str, Any]:
        """Return the banner as the page reads it."""
        return {
            "kind": self.kind,
            "title": visible(self.title),
            "lines": [(visible_lines(line.text), line.field) for line in self.lines],
            "details": visible_lines(self.details),
        }


@dataclass(frozen=True, slots=True, repr=False)
class FormState:
    """The state of a form beside its values.

    lists_errors: whether the banner lists the fields with errors. html: the response,
    escaped.
    """

    phase: Phase = "open"
    banner: Banner | None = None
    lists_errors: bool = False
    html: str = ""


def failure_banner(
    error: BaseException, lines: tuple[Line, ...] = (), pause: float = 0.0
) -> Banner:
    """Return the banner about a request that failed.

    lines: about single fields. pause: seconds for which the client sends nothing.
    """
    if isinstance(error, InvalidInput):
        return Banner("error", error.message, lines)
    if isinstance(error, NotSent):
        title = "The service cannot be reached. Nothing was sent."
        advice = "Check the network and the address, then try again."
        return Banner.of("error", title, advice, details=error.message)
    if isinstance(error, RateLimited):
        wait = math.ceil(max(error.retry_after or 0.0, pause))
        duration = f"{wait} s" if wait else "a little"
        title = "Too many requests. Nothing was changed."
        advice = f"Wait {duration}, then try again."
        return Banner.of("warning", title, advice, details=error.message)
    if isinstance(error, UnknownOutcome):
        title = "It is not known whether this was done."
        return Banner.of("warning", title, error.advice, details=error.message)
    if isinstance(error, Refused):
        return _refusal(error, lines)
    if isinstance(error, PayerkitError):
        title = "The service failed. Nothing was changed."
        details = f"{error.message}\n{error.advice}"
        return Banner.of("error", title, "Try again in a minute.", details=details)
    if isinstance(error, KeyboardInterrupt):
        return Banner.of("error", "Interrupted. Nothing was sent.")
    # The message of a defect may quote a value.
    advice = "See form.error, and report it."
    return Banner.of("error", "Unexpected error.", advice, details=type(error).__name__)


def _refusal(error: Refused, lines: tuple[Line, ...]) -> Banner:
    """Return the banner about a request that the service refused, with its words."""
    if isinstance(error, WrongKey):
        title = "The service does not accept the key. Nothing was changed."
        advice = "Check the key in the cell that connects, and run it again."
        details = f"{error.message}\n{error.advice}"
        return Banner.of("error", title, advice, details=details)
    if isinstance(error, NotFound) and "payer" in (error.request or ""):
        title = "The service does not know this payer. Nothing was changed."
    else:
        title = "The service refused the request. Nothing was changed."
    if not lines:
        says = words_of_service(error.outcome.params) if error.outcome else ""
        # The title says that nothing was changed.
        texts = (says, error.advice.replace("Nothing was changed. ", ""))
        lines = tuple(Line(text) for text in texts if text)
    return Banner("error", title, lines, details=error.message)
