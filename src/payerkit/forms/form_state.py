"""The part of a form that is not its fields: where it stands, what it says, and its buttons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from payerkit.errors import InvalidInput, NotSent, PayerkitError
from payerkit.html import visible

Phase = Literal["open", "unknown", "done"]
"""The phase of a form: open for input, sent with an unknown outcome, or sent with a response."""


class Button(NamedTuple):
    """A button of a form: its label, and either the action that it starts or the page that it opens."""

    label: str
    action: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class FormState:
    """The part of a form that is not its fields.

    needs_confirmation: offer to send in spite of warnings. status: kind and text. html: the response, escaped.
    """

    phase: Phase = "open"
    needs_confirmation: bool = False
    status: tuple[str, str] = ("info", "")
    html: str = ""
    buttons: tuple[Button, ...] = ()

    def to_view(self) -> dict[str, Any]:
        """Return the state as the browser reads it."""
        kind, text = self.status
        status = (kind, "\n".join(map(visible, text.splitlines())))
        phase = "confirm" if self.needs_confirmation else self.phase
        return {"phase": phase, "status": status, "panel": self.html, "buttons": self.buttons}


def error_text(error: BaseException) -> str:
    """Return the text that a form shows for an error."""
    if isinstance(error, NotSent):
        return f"The service could not be reached. {error.advice}\n{error.message}"
    if isinstance(error, InvalidInput):
        return error.message
    return f"{error.message}\n{error.advice}" if isinstance(error, PayerkitError) else "Interrupted. Nothing was sent."
