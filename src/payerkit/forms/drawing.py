"""What the browser gets: the code and the style that draw a form, messages, and the words for what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import anywidget
import traitlets

from payerkit.errors import InvalidInput, NotSent, PayerkitError
from payerkit.findings import Findings
from payerkit.forms.entries import Entries
from payerkit.forms.fields import in_words
from payerkit.html import visible


def asset(name: str) -> str:
    """Return a file beside this module, without indentation and comments: each form sends it to the browser."""
    lines = map(str.strip, files(__package__).joinpath(name).read_text("utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


Phase = Literal["open", "unknown", "done"]
"""Of a form: to be filled in; sent, and nobody knows whether it happened; sent and answered."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a form shows beside its fields.

    in_doubt: whether it offers to send in spite of warnings. status: how it is, and the words. html: an answer,
    escaped. buttons: text, what they do, and where a link leads.
    """

    phase: Phase = "open"
    in_doubt: bool = False
    status: tuple[str, str] = ("info", "")
    html: str = ""
    buttons: tuple[tuple[str, str, str], ...] = ()

    def view(self) -> dict[str, Any]:
        """Return it as the browser reads it."""
        kind, words = self.status
        status = (kind, "\n".join(map(visible, words.splitlines())))
        phase = "doubt" if self.in_doubt else self.phase
        return {"phase": phase, "status": status, "panel": self.html, "buttons": self.buttons}


class Drawn(anywidget.AnyWidget):
    """A form as the browser knows it: how it is drawn is its state, what is typed comes and goes in messages."""

    _esm = asset("form.js")
    _css = asset("form.css")
    spec = traitlets.Dict(read_only=True).tag(sync=True)
    waits_for = traitlets.Unicode("", help="Why the form cannot be filled in yet; empty if it can.").tag(sync=True)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.on_msg(self._heard)

    def _heard(self, _form: Any, message: Any, _buffers: Any) -> None:
        """Answer the browser. Nothing is raised from here: nobody would see it."""
        try:
            reply = self._answer(message)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - shown, and kept for whoever looks into it
            reply = self._broke(error)
        self.send({**reply, "by": message.get("by") if isinstance(message, Mapping) else None})

    def _answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a page asks for, and return what it, and every other page with the form, shows now."""
        raise NotImplementedError

    def _broke(self, error: BaseException) -> dict[str, Any]:
        """Return what is shown when something happened that nobody expected."""
        raise NotImplementedError


def notes(entries: Entries[Any], findings: Findings) -> dict[str, list[tuple[str, str, str]]]:
    """Return what stands beside each field that was left: severity, words, and on whose word a warning is."""
    said: dict[str, list[tuple[str, str, str]]] = {}
    for found in findings:
        if found.field in entries.left:
            basis = f"({found.basis})" if found.severity == "warning" and found.basis else ""
            said.setdefault(found.field, []).append((found.severity, visible(in_words(found, entries.fields)), basis))
    return said


def counted(findings: Findings) -> str:
    """Return how many fields have findings: "1 field needs attention", "3 fields need attention"."""
    count = len({found.field for found in findings})
    return "1 field needs attention" if count == 1 else f"{count} fields need attention"


def told(error: BaseException) -> str:
    """Return an error as a person reads it who did not program the call."""
    if isinstance(error, NotSent):
        return f"The service could not be reached. {error.advice}\n{error.message}"
    if isinstance(error, InvalidInput):
        return error.message
    return f"{error.message}\n{error.advice}" if isinstance(error, PayerkitError) else "Interrupted. Nothing was sent."
