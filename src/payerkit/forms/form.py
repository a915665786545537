"""What all forms share: values in the kernel, messages to and from the browser, one submission at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, ClassVar, Literal

import anywidget
import traitlets

from payerkit.client import Client, check_client
from payerkit.errors import InvalidInput, NotSent, PayerkitError, UnknownOutcome, without_internal_frames
from payerkit.findings import Findings
from payerkit.forms import lookups
from payerkit.forms.entries import Entries
from payerkit.forms.form_fields import in_words, sections
from payerkit.html import visible
from payerkit.models.requests import RequestModel


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


class Form(Drawn):
    """Base of the forms: an ipywidget that is drawn from a model, and whose state holds nothing of what is typed.

    A person fills it in in the browser; `fill()` and `submit()` do the same from Python. `result` is the answer to the
    last submission, `error` is why there is none, `findings` what is wrong with the values as they are; all of them
    wait for a submission that is under way. `done` is a trait to observe.
    """

    done = traitlets.Bool(default_value=False, read_only=True)

    takes: ClassVar[type[RequestModel]]
    check: ClassVar[Callable[..., Findings] | None] = None
    title: ClassVar[str]
    verb: ClassVar[str]
    if_unknown: ClassVar[str]
    ways_out: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __init__(self, client: Client, *, title: str | None = None, **options: Any) -> None:
        check_client(client)
        self._client = client
        self._entries: Entries[Any] = Entries(self.takes, type(self).check)
        # Messages of a browser and cells may come in threads of their own (subshells of a kernel).
        self._lock = threading.RLock()
        self._turn = 0
        self._shown = Shown()
        self._sent = Findings()
        self._result: Any = None
        self._error: BaseException | None = None
        super().__init__(**options)
        self.set_trait("spec", self._describe(title or self.title))

    # What a subclass says.

    def _describe(self, title: str) -> dict[str, Any]:
        """Return what the browser draws."""
        drawn = {"title": title, "verb": self.verb, "sections": sections(self.takes), "rule": [], "extra": []}
        return drawn | {"limit": self._client.timeout.total}

    def _call(self, given: Any) -> Any:
        """Send what was built, and return the answer."""
        raise NotImplementedError

    def _tell(self, answer: Any) -> Shown:
        """Return what is shown of an answer."""
        raise NotImplementedError

    def _about(self) -> str:
        """Return whom the form is about, as it stands beside its title."""
        return ""

    def _act(self, what: str) -> None:
        """Do what a button beside the answer asks for."""
        self._reopen(forget=what == "new")

    # From Python.

    @without_internal_frames
    def fill(self, values: RequestModel | Mapping[Any, Any] | None = None, /, **fields: Any) -> None:
        """Fill in values, by our names or wire names, as if they were typed; what is not named stays.

        Raises InvalidInput for a name that is no field, and fills in nothing then. What is wrong with the values is
        in `findings`.
        """
        given = values.to_dict(reveal=True) if isinstance(values, RequestModel) else dict(values or {})
        with self._lock:
            self._entries.fill(given, fields)
            if self.done:
                self._reopen()
            self._changed()
            self._show(self._entries.fields)

    @without_internal_frames
    def submit(self, *, anyway: bool = False) -> Any:
        """Send what the form holds, and return the answer, as the button does; the form shows it, too.

        anyway: send in spite of warnings. Raises InvalidInput for errors, for warnings unless anyway, and for a form
        that was sent and not changed since; otherwise the errors of the call. `error` keeps what was raised.
        """
        with self._lock:
            if self.done:
                raise InvalidInput("It was sent already. Change it with fill(), or empty it with clear().")
            self._submit(anyway=anyway)
            self._show(self._entries.fields)
            if self._error is not None:
                raise self._error
            return self._result

    @without_internal_frames
    def clear(self) -> None:
        """Empty the form, and forget what it held and what became of it."""
        with self._lock:
            self._reopen(forget=True)
            self._show(self._entries.fields)

    def take_over(self, other: Form) -> None:
        """Fill empty fields with what another form has in fields of the same name, but for secrets."""
        with self._lock:
            self._entries.take_over(other._entries)
            self._show(self._entries.fields)

    @property
    def result(self) -> Any:
        """The answer to the last submission; None if there is none."""
        with self._lock:
            return self._result

    @property
    def error(self) -> BaseException | None:
        """Why the last submission, or the last button, came to nothing; None if it did not."""
        with self._lock:
            return self._error

    @property
    def findings(self) -> Findings:
        """What is wrong with the values as they are; of a form that was sent, what was doubtful in what was sent."""
        with self._lock:
            return self._sent if self.done else self._entries.findings()

    # A submission.

    def _submit(self, *, anyway: bool) -> None:
        self._turn += 1
        self._result = self._error = None
        self._entries.unhear()
        self._entries.left.update(self._entries.fields)
        self._changed()
        try:
            found = self._check(anyway=anyway)
            self._result = self._call(self._entries.build())
        except (PayerkitError, KeyboardInterrupt) as error:
            self._fail(error)
            return
        self._sent = found
        self._entries.forget(self._entries.secrets)
        self._shown = replace(self._tell(self._result), phase="done")
        self.set_trait("done", True)

    def _check(self, *, anyway: bool) -> Findings:
        """Return what is doubtful in the values. Raises InvalidInput if they cannot be sent, or not without a word."""
        if self.waits_for:
            raise InvalidInput(f"{self.waits_for} Nothing was sent.")
        found = self._entries.findings()
        if found.errors:
            raise InvalidInput(f"{counted(found.errors)}. Nothing was sent.", fields=found.errors)
        if found.warnings and not anyway:
            self._shown = replace(self._shown, in_doubt=True)
            advice = "Correct them, or send anyway: form.submit(anyway=True)."
            count = "1 warning" if len(found.warnings) == 1 else f"{len(found.warnings)} warnings"
            raise InvalidInput(f"{count}. Nothing was sent.", fields=found.warnings, advice=advice)
        return found

    def _fail(self, error: PayerkitError | KeyboardInterrupt) -> None:
        """Keep why nothing came of a submission, and say what to do."""
        self._error = error
        if isinstance(error, UnknownOutcome):
            buttons = tuple((text, what, "") for what, text in self.ways_out)
            self._shown = Shown(phase="unknown", buttons=buttons)
            lines = ["It was sent, and nothing tells yet whether it happened.", self.if_unknown, error.message]
        elif self._shown.in_doubt:
            lines = [told(error), "Correct what is marked, or send anyway."]
        else:
            heard = isinstance(error, PayerkitError) and not isinstance(error, InvalidInput)
            others = self._entries.hear(error.fields) if isinstance(error, PayerkitError) and heard else []
            lines = [told(error), *map(str, others)]
            if heard and self._shown.phase == "unknown":
                lines.append("Whether the attempt before happened is still not known.")
        self._say("warning" if self._shown.in_doubt else "error", *lines)

    def _press(self, what: str) -> None:
        """Do what a button asks for; what goes wrong is shown, and kept as `error`."""
        self._turn += 1
        self._error = None
        try:
            self._act(what)
        except (PayerkitError, KeyboardInterrupt) as error:
            self._error = error
            self._say("error", told(error))

    def _reopen(self, *, forget: bool = False) -> None:
        """Show the fields again, with their values, or empty."""
        self._shown = Shown()
        if forget:
            self._entries.forget(self._entries.fields)
            self._result = self._error = None
        elif self.done and any(field.kind == "secret" for field in self._entries.fields.values()):
            self._say("info", "Numbers that were sent are not kept: type them again.")
        self.set_trait("done", False)

    def _changed(self) -> None:
        """Take back what was said of the values before; an outcome that is not known stays so."""
        if self._shown.phase != "done":
            self._shown = replace(self._shown, in_doubt=False, status=("info", ""))

    def _say(self, kind: str, *lines: str) -> None:
        self._shown = replace(self._shown, status=(kind, "\n".join(line for line in lines if line)))

    # To and from the browser.

    def _show(self, names: Collection[str] = ()) -> None:
        self.send(self._view(names))

    def _view(self, names: Collection[str] = ()) -> dict[str, Any]:
        """Return what all browsers show of the form now; secrets are in it by the names of their fields only."""
        found = Findings() if self.done else self._entries.findings()
        whole = {"turn": self._turn, "about": self._about(), "notes": notes(self._entries, found)}
        return whole | self._shown.view() | {"held": self._entries.secrets} | self._values(names)

    def _values(self, names: Collection[str]) -> dict[str, Any]:
        """Return the values of fields but for secrets, and what their codes stand for; nothing for no names."""
        fields, shown = self._entries.fields, self._entries.shown()
        values = {name: shown[name] for name in names if name in shown}
        looked_up = {name: lookups.name_of(fields[name].lookup, value) for name, value in values.items()}
        return {"values": values, "names": looked_up} if values else {}

    def _answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            left = {name: value for name, value in message["left"].items() if name in self._entries.fields}
            for name, value in left.items():
                self._take(name, value)
            do: Mapping[str, Callable[..., dict[str, Any]]] = {
                "ready": self._on_ready,
                "leave": self._on_leave,
                "find": self._on_find,
                "submit": self._on_turn,
                "act": self._on_turn,
            }
            return do[message["do"]](message, left)

    def _on_ready(self, _message: Mapping[str, Any], _left: Mapping[str, Any]) -> dict[str, Any]:
        return self._view(self._entries.fields if self._entries else ())

    def _on_leave(self, _message: Mapping[str, Any], left: Mapping[str, Any]) -> dict[str, Any]:
        view = self._view(left)
        del view["turn"]  # what was pressed before is still under way for the page
        return view

    def _on_find(self, message: Mapping[str, Any], _left: Mapping[str, Any]) -> dict[str, Any]:
        name = message["name"]
        found = lookups.find(self._entries.fields[name].lookup, str(message["text"]))
        return {"name": name, "asked": message["asked"], "found": found}

    def _on_turn(self, message: Mapping[str, Any], _left: Mapping[str, Any]) -> dict[str, Any]:
        """Do what was pressed, unless it was pressed before something else happened: a second click, another tab."""
        if message.get("turn") != self._turn:
            return self._view(self._entries.fields)
        if message["do"] == "act":
            self._press(message["what"])
        elif not self.done:
            self._submit(anyway=message["anyway"] is True)
        return self._view(self._entries.fields) | {"focus": self._place()}

    def _take(self, name: str, value: Any) -> None:
        """Take what was typed into a field that was left; nothing if it was only passed by, or is sent already."""
        if self.done:
            return
        self._entries.left.add(name)
        if isinstance(value, str):
            self._entries.take(name, value)
            self._changed()

    def _place(self) -> str:
        """Return where the focus goes after a submission: to the first field at fault, else to the answer."""
        if self._shown.phase != "open" and not self._shown.in_doubt:
            return "panel"
        worst = self._entries.findings().errors or self._entries.findings().warnings
        return next((found.field for found in worst if found.field in self._entries.fields), "")

    def _broke(self, error: BaseException) -> dict[str, Any]:
        self._error = error
        self._say("error", f"Unexpected: {type(error).__name__}. form.error has it; please report it.")
        return self._view()

    def __repr__(self) -> str:
        state = "done" if self.done else f"{len(self._entries)} of {len(self._entries.fields)} fields"
        return f"<{type(self).__name__}: {state}>"
