"""What all forms share: values in the kernel, messages to and from the browser, one submission at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import traitlets

from payerkit.client import Client
from payerkit.errors import InvalidInput, PayerkitError, UnknownOutcome
from payerkit.findings import Findings
from payerkit.forms import lookups
from payerkit.forms.drawing import Drawn, Outcome, counted, notes
from payerkit.forms.entries import Entries
from payerkit.forms.fields import sections
from payerkit.html import visible
from payerkit.models.sending import Sent
from payerkit.tracebacks import trimmed


class Form(Drawn):
    """Base of the forms: an ipywidget that is drawn from a model, and whose state holds nothing of what is typed.

    A person fills it in in the browser; `fill()` and `submit()` do the same from Python. `result` is the answer to the
    last submission, `error` is why there is none, `findings` what is wrong with the values as they are. `done` is a
    trait to observe.
    """

    done = traitlets.Bool(default_value=False, read_only=True)

    takes: ClassVar[type[Sent]]
    check: ClassVar[Callable[..., Findings] | None] = None
    title: ClassVar[str]
    verb: ClassVar[str]
    if_unknown: ClassVar[str]
    ways_out: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __init__(self, client: Client, *, title: str | None = None, **options: Any) -> None:
        if not isinstance(client, Client):
            kind = type(client).__name__
            raise InvalidInput(f"The first argument is a client, from connect() or sandbox(); got a {kind}.")
        self._client = client
        self._entries: Entries[Any] = Entries(self.takes, type(self).check)
        self._turn = 0
        self._phase = "open"
        self._status = ("info", "")
        self._outcome = Outcome("", "")
        self._sent = Findings()
        self._result: Any = None
        self._error: BaseException | None = None
        super().__init__(**options)
        self.set_trait("spec", self._describe(title or self.title))

    # What a subclass says.

    def _describe(self, title: str) -> dict[str, Any]:
        """Return what the browser draws."""
        return {"title": title, "verb": self.verb, "sections": sections(self.takes), "rule": [], "extra": []}

    def _call(self, given: Any) -> Any:
        """Send what was built, and return the answer."""
        raise NotImplementedError

    def _tell(self, answer: Any) -> Outcome:
        """Return what is shown of an answer."""
        raise NotImplementedError

    def _about(self) -> str:
        """Return whom the form is about, as it stands beside its title."""
        return ""

    def _act(self, what: str) -> None:
        """Do what a button beside the answer asks for."""
        self._reopen(forget=what == "new")

    # From Python.

    @trimmed
    def fill(self, values: Sent | Mapping[Any, Any] | None = None, /, **fields: Any) -> None:
        """Fill in values, by our names or wire names, as if they were typed; what is not named stays.

        Raises InvalidInput for a name that is no field, and fills in nothing then. What is wrong with the values is
        in `findings`.
        """
        given = values.to_dict(reveal=True) if isinstance(values, Sent) else dict(values or {})
        if self._phase == "done":
            self._reopen()
        self._entries.fill(given, fields)
        self._undoubt()
        self._show(with_values=True)

    @trimmed
    def submit(self, *, anyway: bool = False) -> Any:
        """Send what the form holds, and return the answer, as the button does; the form shows it, too.

        anyway: send in spite of warnings. Raises InvalidInput for errors, and for warnings unless anyway; otherwise
        the errors of the call. `error` keeps what was raised.
        """
        self._submit(anyway=anyway)
        self._show(with_values=True)
        if self._error is not None:
            raise self._error
        return self._result

    @trimmed
    def clear(self) -> None:
        """Empty the form, and forget what it held."""
        self._reopen(forget=True)
        self._result = self._error = None
        self._show(with_values=True)

    def take_over(self, other: Form) -> None:
        """Fill empty fields with what another form has in fields of the same name, but for secrets."""
        self._entries.take_over(other._entries)
        self._show(with_values=True)

    @property
    def result(self) -> Any:
        """The answer to the last submission; None if there is none."""
        return self._result

    @property
    def error(self) -> BaseException | None:
        """Why the last submission, or the last button, came to nothing; None if it did not."""
        return self._error

    @property
    def findings(self) -> Findings:
        """What is wrong with the values as they are; once they are sent, what was doubtful in what was sent."""
        return self._sent if self._phase == "done" else self._entries.findings()

    # A submission.

    def _submit(self, *, anyway: bool) -> None:
        self._turn += 1
        self._result = self._error = None
        self._entries.unhear()
        self._entries.left.update(self._entries.fields)
        try:
            self._send_all(anyway=anyway)
        except (PayerkitError, KeyboardInterrupt) as error:
            self._fail(error)

    def _send_all(self, *, anyway: bool) -> None:
        if self.waits_for:
            raise InvalidInput(f"{self.waits_for} Nothing was sent.")
        found = self._entries.findings()
        self._undoubt()
        if found.errors:
            raise InvalidInput(f"{counted(found.errors)}. Nothing was sent.", fields=found.errors)
        if found.warnings and not anyway:
            self._phase = "doubt" if self._phase == "open" else self._phase
            advice = "Correct them, or send anyway: form.submit(anyway=True)."
            count = "1 warning" if len(found.warnings) == 1 else f"{len(found.warnings)} warnings"
            raise InvalidInput(f"{count}. Nothing was sent.", fields=found.warnings, advice=advice)
        self._result = self._call(self._entries.build())
        self._sent = found
        self._entries.forget(self._entries.secrets)
        self._phase = "done"
        self._tell_outcome()
        self.set_trait("done", True)

    def _undoubt(self) -> None:
        """Take back the offer to send in spite of warnings; an outcome that is unknown stays so."""
        self._phase = "open" if self._phase == "doubt" else self._phase

    def _tell_outcome(self) -> None:
        self._outcome = self._tell(self._result)
        self._status = ("done", self._outcome.said)

    def _fail(self, error: PayerkitError | KeyboardInterrupt) -> None:
        """Keep why nothing came of a submission, and say what to do."""
        self._error = error
        if isinstance(error, UnknownOutcome):
            self._phase = "unknown"
            self._outcome = Outcome("", "", actions=self.ways_out)
            lines = ["It was sent, and nothing tells yet whether it happened.", self.if_unknown]
        elif isinstance(error, InvalidInput):
            lines = [error.message, "Correct what is marked, or send anyway." if self._phase == "doubt" else ""]
        elif isinstance(error, PayerkitError):
            others = self._entries.hear(error.fields)
            lines = [error.message, *map(str, others), error.advice]
        else:
            lines = ["Interrupted. Nothing was sent."]
        self._status = ("warning" if self._phase == "doubt" else "error", _as_text(lines))

    def _press(self, what: str) -> None:
        """Do what a button asks for; what goes wrong is shown, and kept as `error`."""
        self._turn += 1
        self._error = None
        try:
            self._act(what)
        except (PayerkitError, KeyboardInterrupt) as error:
            self._error = error
            told = [error.message, error.advice] if isinstance(error, PayerkitError) else ["Interrupted."]
            self._status = ("error", _as_text(told))

    def _reopen(self, *, forget: bool = False) -> None:
        """Show the fields again, with their values, or empty."""
        self._phase = "open"
        self._status = ("info", "")
        self._outcome = Outcome("", "")
        if forget:
            self._entries.forget(self._entries.fields)
        self.set_trait("done", False)

    # To and from the browser.

    def _show(self, *, with_values: bool = False) -> None:
        self.send(self._view(with_values=with_values))

    def _view(self, *, with_values: bool = False) -> dict[str, Any]:
        """Return what all browsers show of the form now; secrets are in it by the names of their fields only."""
        entries, outcome = self._entries, self._outcome
        view = {
            "turn": self._turn,
            "phase": self._phase,
            "status": self._status,
            "notes": notes(entries, Findings() if self._phase == "done" else self.findings),
            "held": entries.secrets,
            "about": self._about(),
            "panel": outcome.html,
            "links": outcome.links,
            "actions": outcome.actions,
        }
        return view | self._values(entries.fields) if with_values else view

    def _values(self, names: Any) -> dict[str, Any]:
        """Return the values of fields but for secrets, and what their codes stand for."""
        entries = self._entries
        shown = {name: value for name, value in entries.shown().items() if name in names}
        looked_up = {name: field.lookup for name, field in entries.fields.items() if field.lookup and name in shown}
        return {"values": shown, "names": {name: lookups.name_of(at, shown[name]) for name, at in looked_up.items()}}

    def _broke(self, error: Exception) -> dict[str, Any]:
        self._error = error
        self._status = ("error", f"Unexpected: {type(error).__name__}. form.error has it; please report it.")
        return self._view()

    def _answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        entries, what = self._entries, message["do"]
        left = {name: value for name, value in message["left"].items() if name in entries.fields}
        for name, value in left.items():
            self._take(name, value)
        if what == "find":
            name = message["name"]
            return {"name": name, "found": lookups.find(entries.fields[name].lookup, str(message["text"]))}
        if what == "leave":
            told = {"phase": self._phase, "notes": notes(entries, self.findings), "held": entries.secrets}
            return told | self._values(left)
        if what == "ready":  # drawn anew, in a fresh page or beside another
            return self._view(with_values=bool(entries))
        if message["turn"] != self._turn:  # a second click, or another tab's
            return self._view(with_values=True)
        self._submit(anyway=message["anyway"] is True) if what == "submit" else self._press(message["what"])
        return self._view(with_values=what == "act") | {"focus": self._place()}

    def _take(self, name: str, value: Any) -> None:
        """Take what was typed into a field that was left; nothing if it was only passed by."""
        self._entries.left.add(name)
        if isinstance(value, str):
            self._entries.take(name, value)
            self._undoubt()

    def _place(self) -> str:
        """Return where the focus goes after a submission: to the first field at fault, else to the answer."""
        if self._phase in {"done", "unknown"}:
            return "panel"
        worst = self.findings.errors or self.findings.warnings
        return next((found.field for found in worst if found.field in self._entries.fields), "")

    def __repr__(self) -> str:
        state = "done" if self._phase == "done" else f"{len(self._entries)} of {len(self._entries.fields)} fields"
        return f"<{type(self).__name__}: {state}>"


def _as_text(lines: list[str]) -> str:
    """Return lines as one text, without the empty ones and without hidden characters."""
    return "\n".join(visible(line) for line in lines if line)
