"""The state of a form beside its values: its phase, its banner and its buttons."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from payerkit.html import visible

Phase = Literal["open", "review", "sending", "unknown", "done"]
"""The phase of a form: open for input, reviewed before it is sent, being sent, sent with an unknown outcome, or
sent with a response. To the browser, an open form that waits for something else is "locked"."""

Kind = Literal["info", "success", "warning", "error", "sending"]
Attention = Literal["", "errors", "warnings"]

ButtonKind = Literal["", "primary", "copy"]
"""How a button looks and acts: the next step, any other step, or one that copies its link."""


class Button(NamedTuple):
    """A button of a form: its label, and either the action that it starts or the page that it opens.

    about: the subject of the button, for screen readers, where several have the same label.
    """

    label: str
    action: str = ""
    url: str = ""
    kind: ButtonKind = ""
    about: str = ""


class Line(NamedTuple):
    """A line of a banner, and the field that it leads to, "" for none."""

    text: str
    field: str = ""


@dataclass(frozen=True, slots=True)
class Banner:
    """The message above the fields of a form.

    details: technical details of a failure, folded. retry_at: the `time.monotonic()` from which on sending again may
    succeed.
    """

    kind: Kind
    title: str
    lines: tuple[Line, ...] = ()
    details: str = ""
    retry_at: float = -math.inf

    @classmethod
    def of(cls, kind: Kind, title: str, *lines: str, **more: Any) -> Banner:
        """Return a banner with lines that lead to no field; empty ones are left out."""
        return cls(kind, title, tuple(Line(line) for line in lines if line), **more)

    def to_view(self) -> dict[str, Any]:
        """Return the banner as the browser reads it; `wait` is in whole seconds."""
        view: dict[str, Any] = {"kind": self.kind, "title": visible(self.title)}
        if self.lines:
            view["lines"] = [(visible_lines(line.text), line.field) for line in self.lines]
        if self.details:
            view["details"] = visible_lines(self.details)
        if (wait := math.ceil(self.retry_at - time.monotonic()) if math.isfinite(self.retry_at) else 0) > 0:
            view["wait"] = wait
        return view


@dataclass(frozen=True, slots=True)
class FormState:
    """The state of a form beside its values.

    attention: the fields that the banner lists, with errors or with warnings. html: the response, escaped. buttons:
    those of a form that is done, or whose outcome is unknown.
    """

    phase: Phase = "open"
    attention: Attention = ""
    banner: Banner | None = None
    html: str = ""
    buttons: tuple[Button, ...] = field(default=())


def visible_lines(text: str) -> str:
    """Return a text with its line breaks, and all other control characters as escapes."""
    return "\n".join(map(visible, text.splitlines()))


def offers(buttons: Iterable[Button], action: str) -> bool:
    """Return True if a button starts an action."""
    return any(button.action == action for button in buttons)
