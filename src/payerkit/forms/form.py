"""The base class of the forms: a widget whose values live in the kernel.

The state of the widget, which a notebook may save, has the fields as they are drawn and
the label, and nothing that was entered. Values travel in messages:

- from a page: "hello", once; "change", when fields were left; "press", for a button.
  Each has the `page` that sends it, its `count`, and the `values` of the fields that
  were left: the new text, or None if it is unchanged. A press has the `number` of the
  view that it was made on.
- to all pages: a view, which is all that is drawn, in reply to each message and
  whenever something changes.

A press is refused while the form is busy, or if its view is not the last one. So a
double click sends once, and so do two windows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from typing import Any, ClassVar, TypeVar

import anywidget
import traitlets

from payerkit import html
from payerkit.client.call import Call
from payerkit.client.client import Client, check_client
from payerkit.errors import (
    FieldProblem,
    InterruptedCall,
    InvalidInput,
    PayerkitError,
    UnknownOutcome,
    kind_of,
    without_internal_frames,
)
from payerkit.findings import Findings
from payerkit.forms.banners import (
    Banner,
    Button,
    FormState,
    Line,
    failure_banner,
)
from payerkit.forms.drawing import (
    FormModel,
    Note,
    answers,
    drawn_sections,
    notes_of,
    suggestions,
    summary,
)
from payerkit.forms.entries import Entries
from payerkit.models.base import RequestModel
from payerkit.models.fields import fields_of, names_of
from payerkit.payments.card import IMITATION
from payerkit.wording import attention, count_of, did_you_mean

T = TypeVar("T")

WIDGET_OPTIONS = ("disabled", "layout", "tabbable", "tooltip")
"""The options of an ipywidget that a form takes."""

_BUSY = "The form is being sent. Wait until `busy` is False."
_STILL_UNKNOWN = "The outcome of the previous request is still unknown."
_BROKEN_OFF = "The form was interrupted after the request had been sent."
_INTERRUPT = "To stop it, interrupt the kernel."


def _source(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


class Form(anywidget.AnyWidget):
    """Base class of the forms: fields, checks and buttons, drawn from the model of a
    request.

    Fill in a form in the browser, or from Python with `fill()` and `submit()`. All
    attributes below are traits, so that `observe` and `interactive_output` work with
    them.

    Attributes:
        value: The request that the values make, without sending it; None while a field
            is wrong. After sending, what was sent.
        findings: Errors, warnings and infos about the values; after sending, those
            about the values that were sent.
        result: The response to the last submission, or None.
        error: The exception of the last action, or None.
        busy: True while the form makes requests.
        done: True when the values were sent and the service responded.
    """

    _esm = _source("form.js")
    _css = html.style() + _source("form.css")

    label = traitlets.Unicode(read_only=True).tag(sync=True)
    sections: traitlets.List[Any] = traitlets.List(read_only=True).tag(sync=True)
    disabled = traitlets.Bool(default_value=False).tag(sync=True)
    busy = traitlets.Bool(default_value=False, read_only=True).tag(sync=True)
    done = traitlets.Bool(default_value=False, read_only=True).tag(sync=True)
    value = traitlets.Any(read_only=True)
    findings = traitlets.Any(read_only=True)
    result = traitlets.Any(read_only=True)
    error = traitlets.Any(read_only=True)

    model: ClassVar[FormModel]
    title: ClassVar[str]
    purpose: ClassVar[str]
    """What the form is for, as a page says it that has no kernel."""
    submit_label: ClassVar[str]
    is_reviewed: ClassVar[bool] = False
    """Whether the page shows the values once more before they are sent, also without
    warnings about them.
    """
    may_repeat: ClassVar[bool] = True
    """Whether it does no harm to send again while the outcome of the last request is
    unknown.
    """
    unknown_outcome: ClassVar[str]
    """A sentence that says what is unknown if no response came."""
    unknown_advice: ClassVar[str]
    """What to do then."""
    members: ClassVar[Sequence[str]] = ()
    """The public names that only this form has."""
    chooser: ClassVar[str] = "beneficiary_type"
    """The field whose value decides which others are asked for."""
    choose_first: ClassVar[str] = (
        "Choose the type first: a person and a company are asked for different things."
    )
    beside_fields: ClassVar[Mapping[str, str]] = {}
    """The labels of the buttons beside fields, by the names of the fields."""

    def __dir__(self) -> list[str]:
        """Return what a user needs, as Tab shows it: not what widgets have besides."""
        shared = ("busy", "clear", "disabled", "done", "error", "fill", "findings")
        more = ("layout", "observe", "result", "submit", "value")
        return [*shared, *more, *self.members]

    @without_internal_frames
    def __init__(self, client: Client, **options: Any) -> None:
        check_client(client)
        self._client = client
        self._entries = Entries(self.model, self._check)
        self._state = FormState()
        self._is_unknown = False
        self._has_written = False
        self._following: Button | None = None
        self._number = 0
        self._reply: dict[str, Any] = {}
        self._one_at_a_time = threading.Lock()
        names = [name for name in options if name not in WIDGET_OPTIONS]
        values = {name: options.pop(name) for name in names}
        self._refuse_unknown(values)
        super().__init__(**options)
        self.set_trait("label", self.title)
        self.set_trait("sections", drawn_sections(self.model, self.beside_fields))
        self.on_msg(self._on_page)
        self._follow(self._entries.fill(values))
        self._refresh()

    def _refuse_unknown(self, names: Collection[str]) -> None:
        """Raise InvalidInput for a name that is neither a field nor an option."""
        known = names_of(self.model)
        for name in names:
            if name not in known:
                guess = did_you_mean(name, [*map(str, known), *WIDGET_OPTIONS])
                kind = type(self).__name__
                raise InvalidInput(f"{kind} has no field or option {name}.{guess}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; one with the name of a field fills it in.

        Raises InvalidInput for a name that the form does not have, and for what only
        the form itself sets.
        """
        if name in fields_of(self.model):
            self.fill({name: value})
        elif not (name.startswith("_") or hasattr(type(self), name)):
            self._refuse_unknown([name])
        elif name in {"value", "findings", "result", "error", "busy", "done"}:
            raise InvalidInput(f"{name} cannot be set. Use fill() to enter values.")
        else:
            super().__setattr__(name, value)

    # What each kind of form does in its own way

    def _check(self, values: Mapping[str, Any]) -> Findings:
        """Return the findings about values by field name."""
        raise NotImplementedError

    def _call(self, request: Any) -> Any:
        """Send a request and return the response."""
        raise NotImplementedError

    def _state_of(self, response: Any) -> FormState:
        """Return the state of a form that is done."""
        raise NotImplementedError

    def _done_buttons(self) -> list[Button]:
        """Return the buttons of a form that is done."""
        raise NotImplementedError

    def _value_of(self, request: Any) -> Any:
        """Return the object that `value` shows of a request."""
        return request

    def _follow(self, names: Collection[str]) -> None:
        """Choose the values that follow from those of the named fields."""

    def _waits_for(self) -> str:
        """Return what is needed before the form can be sent; "" for nothing."""
        return ""

    def _subject(self) -> str:
        """Return the id shown beside the title; "" for none."""
        return ""

    def _own_notes(self) -> dict[str, str]:
        """Return the form's own notes by field, such as why it chose a value."""
        return {}

    def _is_optional(self, name: str) -> bool:  # noqa: ARG002 - of other forms
        """Return True if a field is shown only when somebody asks for more fields."""
        return False

    def _is_needed(self, name: str) -> bool:
        """Return True if an optional field of the specification is usually needed."""
        return bool(self._entries.fields[name].applies_to) and self._applies(name)

    def _advice(self) -> str:
        """Return what is said above the fields; "" for nothing."""
        if any(not self._applies(name) for name in self._entries.fields):
            is_chosen = self.chooser in self._entries
            return "" if is_chosen else self.choose_first
        return ""

    def _section_button(self) -> tuple[str, Button] | None:
        """Return a section and the button in it, if the form has one."""
        return None

    def _press_beside(self, name: str) -> None:
        """Do what the button beside a field says."""
        raise NotImplementedError

    def _press_in_panel(self, name: str) -> None:
        """Do what a button in the shown response says."""
        raise NotImplementedError

    def _unknown_words(self) -> tuple[str, str]:
        """Return what is unknown while no response came, and what to do then."""
        return self.unknown_outcome, self.unknown_advice

    def _unknown_buttons(self) -> list[Button]:
        """Return the buttons of a form whose outcome is unknown."""
        again = Button("Send again", self._review, is_primary=True)
        return [again, Button("Edit", self._reopen)]

    # For users

    @without_internal_frames
    def fill(
        self, values: RequestModel | Mapping[Any, Any] | None = None, /, **fields: Any
    ) -> None:
        """Set values as if they were typed; other fields keep theirs.

        Args:
            values: A request object, or a mapping from field names or wire names to
                values.
            **fields: Values by field name; they win over `values`. None or "" clears a
                field.

        Raises:
            InvalidInput: A name is not a field of the form, or the form is being sent.
                No value is set then. Wrong values do not raise: see `findings`.

        Example:
            >>> form = PayerForm(client)
            >>> form.fill(payer, email="jane.doe")
            >>> [(finding.field, finding.code) for finding in form.findings.errors]
            [('email', 'email_form')]
        """
        self._refuse_while_busy()
        given: Mapping[Any, Any]
        if isinstance(values, RequestModel):
            given = values.to_dict(reveal=True)
        elif values is None:
            given = {}
        elif hasattr(values, "keys"):
            given = dict(values)
        else:
            raise InvalidInput(
                "values: expected a request object or a mapping, got"
                f" {kind_of(values)}."
            )
        names = names_of(self.model)
        replaced = {names.get(name, name) for name in fields}
        kept = {
            name: value
            for name, value in given.items()
            if names.get(name, name) not in replaced
        }
        self._follow(self._entries.fill({**kept, **fields}))
        if self._is_done or (self._state.phase == "unknown" and self.may_repeat):
            self._reopen()
        self._note_change()
        self._refresh()

    @without_internal_frames
    def submit(self, *, anyway: bool = False) -> Any:
        """Send the values at once, and wait for the response; the form shows the
        outcome, too.

        Args:
            anyway: Send in spite of warnings, and although the outcome of the last
                request is unknown.

        Returns:
            The response, also kept as `result`.

        Raises:
            InvalidInput: The values have errors, or warnings without `anyway`; or they
                were sent already, or are being sent. Nothing was sent.
            PayerkitError: The call failed, as the function for the same call would
                raise it. Also kept as `error`.

        Example:
            >>> form = PaymentForm(client)
            >>> form.fill(order)
            >>> payment = form.submit()
            >>> payment is form.result
            True
        """
        self._refuse_while_busy()
        if self.done:
            raise InvalidInput(
                "Already sent. Change the values with fill(), or start again with"
                " clear()."
            )
        try:
            self._send_values(anyway=anyway)
        finally:
            self._refresh()
        return self.result

    @without_internal_frames
    def clear(self) -> None:
        """Clear all values, `result` and `error`.

        Example:
            >>> form = PaymentForm(client)
            >>> form.fill(order)
            >>> form.clear()
            >>> form.value is None
            True
        """
        self._refuse_while_busy()
        self._clear()
        self._refresh()

    def lead_to(self, title: str, go: Callable[[], object]) -> None:
        """Offer the next step, once the form is done, by a button with its title.

        Example:
            >>> form = PayerForm(client)
            >>> form.lead_to("Account", lambda: print("The account comes next."))
        """
        self._following = Button(f"Next step: {title}", go)

    def take_focus(self) -> None:
        """Take the focus of a page, unless a person has moved on to something else.

        Example:
            >>> form = PayerForm(client)
            >>> form.take_focus()
        """
        self._show("banner")

    def _refuse_while_busy(self) -> None:
        if self.busy:
            raise InvalidInput(_BUSY)

    # Sending

    def _send_values(self, *, anyway: bool = True) -> None:
        """Send the values and take over the response. Raises, and shows, why not."""
        request = self._checked(anyway=anyway)
        send = partial(self._call, request)
        self._run("Sending", send, self._finish, is_sending=True)

    def _review(self) -> None:
        """Show the values once more, with the warnings about them; a form that is not
        reviewed sends them without.
        """
        self._checked(anyway=True)
        warnings = self.findings.warnings
        if not (warnings or self.is_reviewed):
            self._send_values()
            return
        titles = []
        if self._is_unknown:
            titles.append(_STILL_UNKNOWN)
        if warnings:
            count = count_of(len(warnings), "warning")
            titles.append(f"{count} below. Change the answer, or send anyway.")
        banner = Banner("warning", " ".join(titles)) if titles else None
        shown = self._answers("Check your answers", can_change=True)
        self._state = FormState("review", banner, html=shown)

    def _answers(self, title: str, *, can_change: bool = False) -> str:
        notes = notes_of(self._entries, self.findings, {})
        return answers(self._entries, notes, title, can_change=can_change)

    def _checked(self, *, anyway: bool) -> Any:
        """Return the request. Raises InvalidInput, which the form shows, too."""
        self.set_trait("result", None)
        self.set_trait("error", None)
        self._entries.service_messages.clear()
        self._entries.touched.update(self._entries.fields)
        self._state = replace(self._state, banner=None, lists_errors=False)
        findings = self._entries.findings()
        self.set_trait("findings", findings)
        try:
            self._refuse(findings, anyway=anyway)
            return self._entries.request()
        except InvalidInput as error:
            self.set_trait("error", error)
            if not self._state.lists_errors:
                self._state = replace(self._state, banner=failure_banner(error))
            raise

    def _refuse(self, findings: Findings, *, anyway: bool) -> None:
        """Raise InvalidInput if the values may not be sent, or not without a
        confirmation.
        """
        if self._is_unknown and not self.may_repeat and not anyway:
            outcome, advice = self._unknown_words()
            advice = f"{advice} Then send it again with form.submit(anyway=True)."
            raise InvalidInput(f"{outcome} Nothing was sent now.", advice=advice)
        if waits_for := self._waits_for():
            advice = 'If that is done, give the id: form.client_user_id = "user-123".'
            raise InvalidInput(f"{waits_for} Nothing was sent.", advice=advice)
        if errors := findings.errors:
            self._state = FormState(lists_errors=True)
            raise InvalidInput(self._error_banner(errors).title, fields=errors)
        if findings.warnings and not anyway:
            advice = "Correct the fields, or send anyway with form.submit(anyway=True)."
            count = count_of(len(findings.warnings), "warning")
            raise InvalidInput(
                f"{count}. Nothing was sent.", fields=findings.warnings, advice=advice
            )

    def _make(self, call: Call[T]) -> T:
        """Make a call, and note that something was written."""
        response = self._client.send(call)
        self._has_written = self._has_written or call.is_write
        return response

    def _run(
        self,
        label: str,
        work: Callable[[], Any],
        take: Callable[[Any], None],
        *,
        is_sending: bool = False,
    ) -> None:
        """Make requests, and show that, and what came of it. Raises what went wrong.

        work: makes the requests, and returns the outcome. take: takes it over.
        is_sending: they send the values.
        """
        if not self._one_at_a_time.acquire(blocking=False):
            raise InvalidInput(_BUSY)
        before = self._state
        self._has_written = False
        try:
            self.set_trait("busy", True)
            self._show_request(label, is_sending=is_sending)
            outcome = work()
            self._state = before
            take(outcome)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - raised again
            if not self._is_done:
                self._state = before
                if before.phase == "review":
                    self._reopen()
            failure = self._failure(error)
            self._fail(failure, is_sending=is_sending)
            raise failure from None
        finally:
            self._one_at_a_time.release()
            self.set_trait("busy", False)

    def _show_request(self, label: str, *, is_sending: bool) -> None:
        """Show that requests are made; those that send the values show these, too."""
        # Python raises an interrupt of the kernel in its main thread only.
        is_interruptible = threading.current_thread() is threading.main_thread()
        advice = _INTERRUPT if is_interruptible else ""
        banner = Banner.of("sending", f"{label} …", advice)
        if is_sending:
            shown = self._answers("Your answers")
            self._state = FormState("sending", banner, html=shown)
        else:
            self._state = replace(self._state, banner=banner)
        self._show()

    def _failure(self, error: BaseException) -> BaseException:
        """Return what an error proves: nothing about a write that had left, unless it
        is ours.
        """
        if self._is_done or isinstance(error, PayerkitError) or not self._has_written:
            return error.with_traceback(None)  # its frames hold the request
        if isinstance(error, KeyboardInterrupt):
            return InterruptedCall(_BROKEN_OFF)
        return UnknownOutcome(f"{_BROKEN_OFF} ({type(error).__name__})")

    def _finish(self, response: Any) -> None:
        """Take over the response to the values that were sent."""
        # Whatever fails from here on must not look as if nothing was sent.
        self._state = FormState("done", Banner("info", "Sent."))
        self._is_unknown = False
        self.set_trait("error", None)
        self.set_trait("result", response)
        # A secret that was sent is not needed any more; editing and sending again takes
        # a new one.
        self._entries.clear(self._entries.secrets)
        self._state = self._state_of(response)

    def _fail(self, error: BaseException, *, is_sending: bool) -> None:
        """Keep the error of requests, and show it with advice."""
        if not (is_sending and isinstance(error, UnknownOutcome)):
            self._show_failure(error)
            return
        self.set_trait("error", error)
        self._is_unknown = True
        outcome, advice = self._unknown_words()
        banner = Banner.of("warning", outcome, advice, details=error.message)
        shown = self._answers("What was sent")
        self._state = FormState("unknown", banner, html=shown)

    def _show_failure(self, error: BaseException) -> None:
        """Show an error with advice; fields that the service names are marked, and can
        be corrected.
        """
        self.set_trait("error", error)
        lines: tuple[Line, ...] = ()
        if isinstance(error, PayerkitError):
            self._entries.add_service_messages(error.fields)
            lines = self._lines(error.fields)
        pause = self._client.pace.pause_left()
        banner = failure_banner(error, lines, pause)
        if self._is_done and not isinstance(error, PayerkitError):
            sent = Line("It was sent: form.result is the response.")
            banner = replace(banner, lines=(sent, *banner.lines))
        if self._is_unknown:  # A refused retry proves nothing about the request before.
            still = Line(_STILL_UNKNOWN)
            banner = replace(banner, lines=(*banner.lines, still))
        is_marked = any(line.field for line in lines)
        phase = "open" if is_marked else self._state.phase
        self._state = replace(
            self._state, phase=phase, banner=banner, lists_errors=False
        )

    def _error_banner(self, errors: Findings) -> Banner:
        """Return a banner whose lines lead to the fields with errors."""
        title = attention({finding.field for finding in errors})
        if any(finding.code.endswith("_lookalike") for finding in errors):
            title = IMITATION
        return Banner("error", f"{title} Nothing was sent.", self._lines(errors))

    def _lines(self, problems: Iterable[FieldProblem]) -> tuple[Line, ...]:
        """Return a line about each problem; it leads to its field, if the form has
        it.
        """
        lines = []
        for problem in problems:
            if problem.field in self._entries.fields:
                text = summary(problem, self._entries)
                lines.append(Line(text, problem.field))
            else:
                lines.append(Line(FieldProblem.__str__(problem)))  # without a hint
        return tuple(lines)

    # The course of the form

    @property
    def _is_done(self) -> bool:
        """True as soon as the response is there; `done` follows when it is shown."""
        return self._state.phase == "done"

    @property
    def _takes_values(self) -> bool:
        return self._state.phase in {"open", "review"}

    def _reopen(self) -> None:
        """Show the fields again, with their values."""
        banner = Banner("warning", _STILL_UNKNOWN) if self._is_unknown else None
        self._state = FormState(banner=banner)

    def _clear(self) -> None:
        """Show the fields, all of them empty."""
        self._entries.clear(self._entries.fields)
        self._is_unknown = False
        self.set_trait("result", None)
        self.set_trait("error", None)
        self._reopen()

    def _note_change(self) -> None:
        """After a value changed, show the fields. What failed stays to be read."""
        if self._state.phase == "review":
            self._reopen()

    def _refresh(self, focus: str = "") -> None:
        """Show the form on every page, and set the traits that follow from the
        values.
        """
        findings = self._entries.findings()
        if not self._is_done:
            self.set_trait("findings", findings)
        if not findings.errors:
            self._state = replace(self._state, lists_errors=False)
        self._show(focus)
        if not self._is_done:
            self.set_trait("value", self._request())
        self.set_trait("done", self._is_done)

    def _request(self) -> Any:
        """Return the request that the values make; None while a field is wrong."""
        if self.findings.errors:
            return None
        return self._value_of(self._entries.request())

    # Pages

    def _show(self, focus: str = "") -> None:
        """Send a new view to all pages. focus: where the focus goes on the page that
        the view is a reply to.
        """
        self._number += 1
        self.send({**self._view(), **self._reply, "focus": focus})

    def _view(self) -> dict[str, Any]:
        """Return all that a page draws; secrets are masked."""
        state = self._state
        notes: Mapping[str, Sequence[Note]] = {}
        if self._takes_values:
            notes = notes_of(self._entries, self.findings, self._own_notes())
        phase = state.phase
        waits_for = self._waits_for()
        if phase == "open" and waits_for:
            phase = "locked"
        banner = state.banner
        if banner is None and state.lists_errors and self.findings.errors:
            banner = self._error_banner(self.findings.errors)
        beside = self._section_button() if self._takes_values else None
        panel = f'<div class="pk">{state.html}</div>' if state.html else ""
        names = self._entries.fields
        return {
            "number": self._number,
            "phase": phase,
            "busy": self.busy,
            "environment": self._client.environment,
            "subject": self._subject(),
            "advice": waits_for or self._advice(),
            "banner": banner.to_view() if banner else None,
            "fields": {name: self._field_view(name, notes) for name in names},
            "panel": panel,
            "buttons": [
                (button.label, button.is_primary) for button in self._buttons()
            ],
            "beside": [beside[0], beside[1].label] if beside else None,
            "unknown": self._unknown_words(),
        }

    def _field_view(
        self, name: str, notes: Mapping[str, Sequence[Note]]
    ) -> dict[str, Any]:
        field = self._entries.fields[name]
        is_business = self._entries.holder == "business"
        own = notes.get(name, ())
        return {
            "label": self._entries.label(name),
            "help": (is_business and field.business_help) or field.help,
            "example": (is_business and field.business_example) or field.example,
            "place": self._place(name, own),
            "needed": not field.required and self._is_needed(name),
            "text": self._entries.text(name),
            "held": self._entries.held(name),
            "options": [*self._entries.options(name).items()],
            "notes": own,
        }

    def _place(self, name: str, notes: Sequence[Note]) -> str:
        """Return whether a field is "shown", "hidden", or shown with "more" fields; one
        in use is never hidden.
        """
        is_wrong = any(note.severity == "error" for note in notes)
        if name in self._entries or is_wrong:
            return "shown"
        if not self._applies(name):
            return "hidden"
        return "more" if self._is_optional(name) else "shown"

    def _applies(self, name: str) -> bool:
        """Return True if the value of the chooser asks for a field, or for no field in
        particular.
        """
        kind = self._entries.fields[name].applies_to
        return not kind or kind == self._entries.text(self.chooser)

    def _buttons(self) -> list[Button]:
        """Return the buttons that the form has now."""
        phase = self._state.phase
        if phase == "open" and not self._waits_for():
            return [Button(self.submit_label, self._review, is_primary=True)]
        if phase == "review":
            label = "Send anyway" if self.findings.warnings else "Send"
            send = Button(label, self._send_values, is_primary=True)
            return [send, Button("Back", self._reopen)]
        if phase == "unknown":
            return self._unknown_buttons()
        if phase == "done":
            buttons = self._done_buttons()
            if self._following is not None:
                buttons.append(self._following)
            return buttons
        return []

    def _on_page(self, _widget: Any, message: Mapping[str, Any], _buffers: Any) -> None:
        """Take a message of a page. Raises nothing: ipywidgets would only log it, and
        the user would see nothing.
        """
        self._reply = {"page": message["page"], "count": message["count"]}
        try:
            if message["type"] == "hello":
                lists = suggestions(self.model)
                self.send({**self._view(), **self._reply, "lists": lists})
                return
            self._take(message["values"])
            focus = ""
            if message["type"] == "press":
                focus = self._press(message)
            self._refresh(focus)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - shown, and kept as `error`
            self._show_failure(error)
            self._show("banner")
        finally:
            self._reply = {}

    def _take(self, values: Mapping[str, str | None]) -> None:
        """Take the values of fields that were left, each by what it means; what is
        sent now is not changed by them.
        """
        if self._is_done:
            return
        changed = [name for name, text in values.items() if text is not None]
        self._entries.touched.update(values)
        for name in changed:
            self._entries.enter(name, values[name])
        for name in changed:
            self._entries.read(name)
        if changed:
            self._note_change()
        self._follow(values.keys())

    def _press(self, message: Mapping[str, Any]) -> str:
        """Do what a button of the last view says; return where the focus goes."""
        is_refused = self.busy or self.disabled
        if is_refused or message["number"] != self._number:
            return ""
        action, name = message["action"], message["name"]
        try:
            if action == "use" and self._takes_values:
                self._use(name)
                return str(name)
            if action == "change" and self._state.phase == "review":
                self._reopen()
                return str(name)
            self._press_button(action, name)
        except (PayerkitError, KeyboardInterrupt) as error:
            if self.error is not error:
                self._show_failure(error)
        return self._focus()

    def _use(self, name: str) -> None:
        """Take the reading of a field, or the text back whose reading was taken."""
        if self._entries.was_read(name):
            self._entries.undo(name)
        else:
            self._entries.read(name)
        self._note_change()
        self._follow([name])

    def _press_button(self, action: str, name: str) -> None:
        if action == "beside":
            if self._takes_values:
                self._press_beside(name)
            return
        if action == "panel":
            self._press_in_panel(name)
            return
        buttons = self._buttons()
        beside = self._section_button()
        if beside is not None and self._takes_values:
            buttons.append(beside[1])
        for button in buttons:
            if button.label == action:
                button.press()
                return

    def _focus(self) -> str:
        """Return where the focus goes after a press: to the banner, the answers, or a
        field.
        """
        if self._state.banner is not None or self._state.lists_errors:
            return "banner"
        return "answers" if self._state.phase == "review" else self._first_field()

    def _first_field(self) -> str:
        """Return the field at which the user continues."""
        return next(iter(self._entries.fields))

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget for a notebook, with a line for pages that run none."""
        bundle = super()._repr_mimebundle_(**options)
        if bundle:
            bundle[0]["text/plain"] = (
                f"A form for {self.purpose}: run the cell to see it."
            )
        return bundle

    def __repr__(self) -> str:
        state = f"{len(self._entries)} of {len(self._entries.fields)} fields"
        if self.done:
            state = "done"
        return f"<{type(self).__name__}: {state}>"
