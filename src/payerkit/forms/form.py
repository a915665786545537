"""The base class of the forms: a widget whose values live in the kernel.

Browser (the scripts in `browser/`) and kernel exchange custom messages, because JupyterLab may save widget state in the
notebook. Each has the `form` that it is for, since the page of a `Walkthrough` shows several.

- To the kernel: `type` ("change", "search", "use", "action" or "tick"), `page` (the sender), `touched` (fields that
  were left: the new value, or None if it is unchanged), `taken` (those of them whose text is to be replaced by the code
  that it means), and the parameters of the type.
- To the browser: the view of the form, for all pages; or the options that a search found. `page` names the page that
  a message replies to. A page begins with the views of all its forms.

A form blocks while it makes requests. It first posts a view that says so, which leaves at once, since the kernel sends
it from a thread of its own. Each press of a button has the action count of the view that it was made on, and one made
before the kernel has shown a new state is dropped; so clicks that wait in the queue send nothing.

A form that is done asks the service once when it is drawn, when its step of a `Walkthrough` is opened, when its button
is pressed, and before a payment is handed over; nothing polls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import traitlets

from payerkit import pictures
from payerkit.checks.readings import name_of
from payerkit.client.call import Call
from payerkit.client.client import Client, check_client
from payerkit.errors import (
    InterruptedCall,
    InvalidInput,
    PayerkitError,
    UnknownOutcome,
    kind_of,
    without_internal_frames,
)
from payerkit.findings import Findings
from payerkit.forms.view import (
    FORM_FILES,
    Banner,
    Button,
    Entries,
    FormModel,
    FormState,
    Line,
    count_warnings,
    error_banner,
    failure_banner,
    field_notes,
    form_answers,
    form_fields,
    form_sections,
    meant,
    search,
    state_banner,
)
from payerkit.models.requests import RequestModel
from payerkit.widgets import PageWidget

T = TypeVar("T")
Failure = PayerkitError | KeyboardInterrupt
"""What ends requests without an outcome."""

_STILL_UNKNOWN = "The outcome of the previous request is still unknown."
_BROKEN_OFF = "The form was interrupted after the request had been sent."
_INTERRUPT = "To stop it, interrupt the kernel."


form_lock = threading.RLock()
"""Held while a form handles a message or runs a method: some kernels handle messages in threads of their own.

One for all forms, since what observes one of them may use another.
"""


class _Done(traitlets.Bool[bool, bool]):
    """The trait `done` of a form; reading it waits as long as the form is being sent."""

    def get(self, obj: Any, cls: Any = None) -> Any:
        with form_lock:
            return super().get(obj, cls)


class Form(PageWidget):
    """Base class of the forms: fields, checks and buttons, drawn from the model of a request.

    Fill in a form in the browser, or from Python with `fill()` and `submit()`. The widget's state, which a notebook may
    save, holds no values.

    Attributes:
        result: The response to the last submission, or None.
        error: The exception of the last action, or None.
        findings: Errors, warnings and infos about the values.
        done: True when the values were sent and the service responded; a trait to observe.
        waits_for: What is needed before the form can be filled in, or ""; a trait.
        spec: The drawn fields, without values; a trait.
    """

    _files = FORM_FILES
    _lock = form_lock

    waits_for = traitlets.Unicode("", help="What is needed before the form can be filled in.")
    done = _Done(default_value=False, read_only=True)

    name: ClassVar[str]
    model: ClassVar[FormModel]
    title: ClassVar[str]
    submit_label: ClassVar[str]
    is_reviewed: ClassVar[bool] = False
    """Whether the browser shows the values once more before they are sent, also without warnings about them."""
    may_repeat: ClassVar[bool] = True
    """Whether it does no harm to send again while the outcome of the last request is unknown."""
    unknown_outcome: ClassVar[str]
    """A sentence that says what is unknown if no response came."""
    unknown_outcome_advice: ClassVar[str]
    """What to do then."""
    members: ClassVar[Sequence[str]] = ()
    """What this form has beside what all have, for users."""
    asking_action: ClassVar[str]
    """The action of the button that asks the service about what was stored."""
    field_actions: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """The buttons beside fields, by the name of the field: the label and the action of each."""

    def __dir__(self) -> list[str]:
        """Return what a user needs, as Tab shows it: not what widgets have besides."""
        return ["clear", "done", "error", "fill", "findings", "observe", "result", "submit", *self.members]

    @without_internal_frames
    def __init__(self, client: Client, **options: Any) -> None:
        check_client(client)
        self._client = client
        self._entries = Entries(self.model, self._check)
        self._page: Any = None
        self._action_count = 0
        self._state = FormState()
        self._sent = Findings()
        self._is_unknown = self._is_outdated = self._has_left = False
        self._result: Any = None
        self._error: BaseException | None = None
        self._outlets: list[Callable[[dict[str, Any]], None]] = [self.send]
        super().__init__(**options)
        self.set_trait("label", self.title)
        self.set_trait("spec", {"forms": [self._make_spec()]})

    def _make_spec(self) -> dict[str, Any]:
        """Return the parts of the form, without values, as the browser draws them."""
        return {
            "name": self.name,
            "title": self.title,
            "environment": self._client.environment,
            "sections": form_sections(self.model),
            "timeout": self._client.timeout.total,
            "unknown": (self.unknown_outcome, self.unknown_outcome_advice),
            "actions": self.field_actions,
        }

    def _picture(self) -> str:
        return pictures.draw_form(self.spec["forms"][0])

    def show_in(self, outlet: Callable[[dict[str, Any]], None]) -> None:
        """Send the messages for pages to an outlet, too, such as a widget that shows this form and others."""
        self._outlets.append(outlet)

    def _post(self, content: Mapping[str, Any]) -> None:
        """Send a message to every page that shows the form."""
        for send in self._outlets:
            send({**content, "form": self.name, "page": self._page})

    def _check(self, values: Mapping[str, Any]) -> Findings:
        """Return the findings about values by field name."""
        raise NotImplementedError

    def _call(self, request: Any) -> Any:
        """Send a request and return the response."""
        raise NotImplementedError

    def _state_of(self, response: Any) -> FormState:
        """Return the state of a form that is done."""
        raise NotImplementedError

    def _with_warnings(self, title: str) -> str:
        """Return the title of a form that is done, with the number of warnings in spite of which it was sent."""
        warnings = count_warnings(self._sent)
        return f"{title}, with {warnings}." if warnings else f"{title}."

    def _unknown_words(self) -> tuple[str, str]:
        """Return what is unknown while no response came, and what to do then."""
        return self.unknown_outcome, self.unknown_outcome_advice

    def _unknown_buttons(self) -> tuple[Button, ...]:
        """Return the buttons of a form whose outcome is unknown."""
        return (Button("Send again", "again", kind="primary"), Button("Edit", "edit"))

    def _subject(self) -> str:
        """Return the id of the payer that the form is about, shown beside its title; "" for none."""
        return ""

    def _outcome(self) -> str:
        """Return the response in a few words, shown in a list of steps."""
        raise NotImplementedError

    def _waits(self) -> str:
        """Return what a form that is done still waits for, shown in a list of steps; "" for nothing."""
        return ""

    def _own_notes(self) -> dict[str, str]:
        """Return what the form says beside fields, such as why it chose their values."""
        return {}

    def _follow(self, changed: Collection[str]) -> None:
        """Choose the values that follow from those that changed."""

    def _tick(self, *, is_ticked: bool) -> None:
        """Take over the state of the form's box. Only a form with a box in its `spec` has one."""
        raise NotImplementedError

    def _run_action(self, action: str) -> None:
        """Run the action of a button. "edit" keeps the values, "new" clears them."""
        self._reopen(clear=action == "new")

    def ask_again(self) -> None:
        """If the form is done, ask the service once about what was stored. A failure is shown, not raised."""
        if self._is_done and self.asking_action in {button.action for button in self._state.buttons}:
            with self._changing(), suppress(Exception, KeyboardInterrupt):  # which are shown by now
                self._error = None
                self._ask_once()

    def _ask_once(self) -> None:
        """Ask the service, as its button does, for a form that is drawn or opened."""
        self._run_action(self.asking_action)

    def _actions_in_panel(self) -> list[str]:
        """Return the actions of the buttons that the shown response has, beside those below it."""
        return []

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock; in the end, show the form on every page, and tell observers if it is done by then."""
        with form_lock:
            try:
                yield
            finally:
                self._post(self._view())
                self.set_trait("done", self._is_done)

    @without_internal_frames
    def fill(self, values: RequestModel | Mapping[Any, Any] | None = None, /, **fields: Any) -> None:
        """Set values as if they were typed; other fields keep theirs.

        Args:
            values: A request object, or a mapping from field names or wire names to values.
            **fields: Values by field name; they win over `values`. None or "" clears a field.

        Raises:
            InvalidInput: A name is not a field of the form. No value is set then. Wrong values do not raise: see
                `findings`.

        Example:
            >>> form = PayerForm(client)
            >>> form.fill(payer, email="jane.doe")
            >>> [(finding.field, finding.code) for finding in form.findings.errors]
            [('email', 'email_form')]
        """
        if values is not None and not hasattr(values, "keys") and not isinstance(values, RequestModel):
            raise InvalidInput(f"values: expected a request object or a mapping, got {kind_of(values)}.")
        given = values.to_dict(reveal=True) if isinstance(values, RequestModel) else dict(values or {})
        with self._changing():
            self._follow(self._entries.fill(given, fields))
            if self._is_done or (self._state.phase == "unknown" and self.may_repeat):
                self._reopen()
            self._note_change()

    @without_internal_frames
    def submit(self, *, anyway: bool = False) -> Any:
        """Send the values at once, and wait for the response; the form shows the outcome, too.

        If the browser is sending the form, this waits for that outcome first, and sends nothing if the form is done.

        Args:
            anyway: Send in spite of warnings, and although the outcome of the last request is unknown.

        Returns:
            The response, also kept as `result`.

        Raises:
            InvalidInput: The values have errors, or warnings without `anyway`; or they were sent already. Nothing was
                sent.
            PayerkitError: The call failed, as the function for the same call would raise it. Also kept as `error`.

        Example:
            >>> form = PaymentForm(client)
            >>> form.fill(order)
            >>> payment = form.submit()
            >>> payment is form.result
            True
        """
        with self._changing():
            if self._is_done:
                raise InvalidInput("Already sent. Change the values with fill(), or start again with clear().")
            if (error := self._send_values(anyway=anyway)) is not None:
                raise error
            return self._result

    @without_internal_frames
    def clear(self) -> None:
        """Clear all values, `result` and `error`.

        Example:
            >>> form = PaymentForm(client)
            >>> form.fill(order)
            >>> form.clear()
            >>> form
            <PaymentForm: 0 of 9 fields>
        """
        with self._changing():
            self._reopen(clear=True)

    @property
    def result(self) -> Any:
        """The response to the last submission, or None."""
        with form_lock:
            return self._result

    @property
    def error(self) -> BaseException | None:
        """The exception of the last action, or None."""
        with form_lock:
            return self._error

    @property
    def findings(self) -> Findings:
        """Errors, warnings and infos about the values; after sending, those about the values that were sent."""
        with form_lock:
            return self._sent if self._is_done else self._entries.findings()

    @property
    def _is_done(self) -> bool:
        """Return True if the form shows a response; unlike `done`, without waiting."""
        return self._state.phase == "done"

    def _send_values(self, *, anyway: bool) -> Failure | None:
        """Send the values, show what came of it, and return the error, if any. Raises InvalidInput if it sent none."""
        self._sent, request = self._checked(anyway=anyway)
        self._is_outdated = False
        return self._run("Sending", partial(self._call, request), self._finish, is_sending=True)

    def _checked(self, *, anyway: bool) -> tuple[Findings, Any]:
        """Return the findings and the request. Raises InvalidInput, which the form shows, too."""
        self._action_count += 1
        self._result = self._error = None
        self._entries.service_messages.clear()
        self._entries.touched.update(self._entries.fields)
        self._state = replace(self._state, lists_errors=False, banner=None)
        findings = self._entries.findings()
        try:
            self._refuse(findings, anyway=anyway)
            return findings, self._entries.build()
        except InvalidInput as error:
            self._error = error
            if not self._state.lists_errors:
                self._state = replace(self._state, banner=failure_banner(error))
            raise

    def _refuse(self, findings: Findings, *, anyway: bool) -> None:
        """Raise InvalidInput if the values may not be sent, or not without a confirmation."""
        if self._is_unknown and not self.may_repeat and not anyway:
            outcome, advice = self._unknown_words()
            advice = f"{advice} Then send it again with form.submit(anyway=True)."
            raise InvalidInput(f"{outcome} Nothing was sent now.", advice=advice)
        if self.waits_for:
            advice = 'If that is done, give the id: form.client_user_id = "user-123".'  # no banner of a form has advice
            raise InvalidInput(f"{self.waits_for} Nothing was sent.", advice=advice)
        if errors := findings.errors:
            self._state = replace(self._state, phase="open", lists_errors=True)
            raise InvalidInput(error_banner(errors, self._entries).title, fields=errors)
        if findings.warnings and not anyway:
            advice = "Correct the fields, or send anyway with form.submit(anyway=True)."
            message = f"{count_warnings(findings)}. Nothing was sent."
            raise InvalidInput(message, fields=findings.warnings, advice=advice)

    def _make(self, call: Call[T]) -> T:
        """Make a call, and note whether a write may have left by now."""
        left, self._has_left = self._has_left, self._has_left or call.is_write
        try:
            return self._client.send(call)
        except (PayerkitError, KeyboardInterrupt) as error:  # which say what they prove
            self._has_left = left or isinstance(error, UnknownOutcome)
            raise

    def _run(
        self, label: str, work: Callable[[], Any], take: Callable[[Any], None], *, is_sending: bool = False
    ) -> Failure | None:
        """Make requests, show that and what came of it, and return the error, if any. Raises only what is a defect.

        work: makes the requests, and returns the outcome. take: takes it over. is_sending: they send the values.
        """
        before, self._has_left = self._state, False
        failure: Failure | None = None
        try:
            # Python raises an interrupt of the kernel in its main thread only.
            is_interruptible = threading.current_thread() is threading.main_thread()
            banner = Banner.of("sending", f"{label} …", _INTERRUPT if is_interruptible else "")
            self._state = replace(before, banner=banner)
            if is_sending:
                answers = form_answers(self._entries, self._sent, "Your answers")
                self._state = FormState("sending", banner=banner, answers=answers)
            try:
                self._post(self._view())
                outcome = work()
            except (PayerkitError, KeyboardInterrupt) as error:
                is_proof = isinstance(error, PayerkitError) or not self._has_left
                failure = error if is_proof else InterruptedCall(_BROKEN_OFF)
            finally:
                self._action_count += 1
            if failure is not None or not is_sending:
                self._state = before
            if failure is None:
                take(outcome)
            else:
                self._fail(failure.with_traceback(None), is_sending=is_sending)  # its frames hold the request
        except (Exception, KeyboardInterrupt) as error:
            self._show_defect(error)
            raise
        return failure

    def _finish(self, response: Any) -> None:
        """Take over the response to the values that were sent."""
        # Whatever fails from here on must not look as if nothing was sent.
        self._state = FormState("done", banner=Banner("info", "Sent."), buttons=(Button("Edit", "edit"),))
        self._is_unknown, self._error, self._result = False, None, response
        # A secret that was sent is not needed any more; editing and sending again takes a new one.
        self._entries.clear(self._entries.secrets)
        self._state = self._state_of(response)

    def _fail(self, error: Failure, *, is_sending: bool) -> None:
        """Keep the error of requests, and show it with advice."""
        if not (is_sending and isinstance(error, UnknownOutcome)):
            self._show_failure(error)
            return
        self._error, self._is_unknown = error, True
        outcome, advice = self._unknown_words()
        banner = Banner.of("warning", outcome, advice, details=error.message)
        answers = form_answers(self._entries, self._sent, "What was sent")
        self._state = FormState("unknown", banner=banner, buttons=self._unknown_buttons(), answers=answers)

    def _show_failure(self, error: BaseException) -> None:
        """Show an error with advice; fields that the service names are marked, and can be corrected."""
        self._error = error
        problems = error.fields if isinstance(error, PayerkitError) else ()
        others = self._entries.add_service_messages(problems)
        lines = [Line(str(problem)) for problem in others]
        marked = [problem for problem in problems if problem not in others]
        lines += [Line(f"{self._entries.label(each.field)}: {each.message}", each.field) for each in marked]
        banner = failure_banner(error, problems=tuple(lines), pause=self._client.pace.pause_left())
        # A refused retry proves nothing about the request before it.
        if self._is_unknown:
            banner = replace(banner, lines=(*banner.lines, Line(_STILL_UNKNOWN)))
        phase = "open" if marked else self._state.phase
        self._state = replace(self._state, phase=phase, lists_errors=False, banner=banner)

    def _show_defect(self, error: BaseException) -> None:
        """Show an unexpected error without its message, which may quote a value."""
        if self._state.phase == "sending":
            self._state = self._open_state()
            if self._has_left:
                self._fail(UnknownOutcome(_BROKEN_OFF), is_sending=True)
        self._error = error
        known = {"done": "It was sent: form.result is the response.", "unknown": self._unknown_words()[0]}
        said = (known.get(self._state.phase, ""), "See form.error, and report it.")
        banner = Banner.of("error", "Unexpected error.", *said, details=type(error).__name__)
        self._state = replace(self._state, lists_errors=False, banner=banner)

    def _reopen(self, *, clear: bool = False) -> None:
        """Show the fields again, with their values or empty."""
        if clear:
            self._entries.clear(self._entries.fields)
            self._result = self._error = None
            self._is_unknown = False
        self._state = self._open_state()

    def _open_state(self) -> FormState:
        """Return the state of a form that shows its fields."""
        return FormState(banner=Banner("warning", _STILL_UNKNOWN) if self._is_unknown else None)

    def _note_change(self) -> None:
        """After a value changed, show the fields and the errors that are left. What failed stays to be read."""
        self._is_outdated = True
        if self._takes_values:
            state = self._state if self._state.phase == "open" else self._open_state()
            self._state = replace(state, lists_errors=state.lists_errors and bool(self._entries.findings().errors))

    def _buttons(self) -> tuple[Button, ...]:
        """Return the buttons that the form has now."""
        if self._state.phase == "open":
            return (Button(self.submit_label, "submit", kind="primary"),)
        if self._state.phase == "review":
            label = "Send anyway" if self._entries.findings().warnings else "Send"
            return (Button(label, "send", kind="primary"), Button("Back", "back"))
        return self._state.buttons

    def _view(self, names: Collection[str] | None = None) -> dict[str, Any]:
        """Return the view of the form, with the values of the named fields, by default of all; secrets are masked."""
        phase, fields, drawn = self._state.phase, self._entries.fields, form_fields(self.model)
        shown = self._state.html + ("" if phase == "open" else self._state.answers)
        findings = self._entries.findings() if self._takes_values else Findings()
        values = {
            name: value for name, value in self._entries.visible_values().items() if names is None or name in names
        }
        banner = state_banner(self._state, findings, self._entries)
        return {
            "phase": "locked" if phase == "open" and self.waits_for else phase,
            "action_count": self._action_count,
            "subject": self._subject(),
            "waits_for": self.waits_for,
            "banner": None if banner is None else banner.to_view(),
            "outcome": self._outcome() if self._is_done else "",
            "waits": self._waits() if self._is_done else "",
            "notes": field_notes(self._entries, findings, self._own_notes() if self._takes_values else {}),
            "held": self._entries.held,
            "local": {name: (field.title, field.example) for name, field in fields.items() if field != drawn[name]},
            "values": values,
            "code_names": {name: name_of(fields[name].lookup, value) for name, value in values.items()},
            "choices": self._entries.choices,
            "panel": f'<div class="pk">{shown}</div>' if shown else "",
            "buttons": self._buttons(),
        }

    def _on_message(self, message: Any) -> None:
        """Reply to a message of the browser. Raises nothing: ipywidgets would only log it, and the user see nothing."""
        with form_lock:
            self._page = message.get("page")
            try:
                self._post(self._reply(message))
                self.set_trait("done", self._is_done)
            except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - shown, and kept as `error`
                self._show_defect(error)
                self._post(self._view())
            finally:
                self._page = None

    def _reply(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Take the values of a message, do what it requests, and return the reply."""
        changed = self._take_values(message)
        match message["type"]:
            case "change" | "use":
                return self._change_view(changed)
            case "search":
                if changed:  # a field that was left by a click into this one
                    self._post(self._change_view(changed))
                is_sandbox, lookup = self._client.environment == "sandbox", self._entries.fields[message["name"]].lookup
                found = search(lookup, message["text"], is_sandbox=is_sandbox)
                return {"name": message["name"], "search_id": message["search_id"], **found._asdict()}
            case "action":
                return self._act(message)
            case "tick" if self._takes_values:
                with suppress(InvalidInput):
                    self._tick(is_ticked=message["is_ticked"])
        return self._view()  # which corrects a page that is not up to date

    def _take_values(self, message: Mapping[str, Any]) -> set[str]:
        """Take the values of a message, and return the names of the fields that were left or changed."""
        before, touched, is_use = self._entries.visible_values(), dict(message["touched"]), message["type"] == "use"
        if is_use:
            touched.setdefault(message["name"], None)
        for name, value in touched.items():
            is_taken = name in message.get("taken", ())
            self._touch(name, meant(self._entries.fields[name].lookup, value) if is_taken else value)
            if is_taken and self._takes_values:
                self._entries.take_reading(name)
        if is_use and self._takes_values:
            self._entries.use_or_undo(message["name"])
            self._note_change()
        if self._takes_values:
            self._follow(touched)
        return {*touched, *self._entries.changed_since(before)}

    def _first(self) -> list[dict[str, Any]]:
        return [{**self._view(self._entries.fields if self._entries else ()), "form": self.name}]

    def _on_start(self) -> None:
        self.ask_again()

    def _change_view(self, changed: Collection[str]) -> dict[str, Any]:
        """Return the view after some values changed.

        The page may wait for an action: only the reply to that one ends the wait. Likewise a box.
        """
        view = self._view(changed)
        del view["action_count"]
        view.pop("box", None)
        return view

    def _act(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Run the action of a button, and return the view with the part to focus."""
        # A page that has not seen the last action must not start one: after a second click, or in another tab.
        if message.get("action_count") != self._action_count:
            return self._view()
        action, focus = str(message.get("action")), ""
        offered = [*(button.action for button in self._buttons()), *self._actions_in_panel()]
        offered += [own for _, own in self.field_actions.values() if self._takes_values]
        if action == "change" and self._state.phase == "review":
            self._state, focus = self._open_state(), str(message.get("field"))
        elif action and action in offered:
            self._press(action)
        return self._view() | {"focus": focus or self._focus()}

    def _press(self, action: str) -> None:
        """Do the action of a button that the form has now."""
        try:
            if action == "submit" or (action == "again" and self._is_outdated):
                self._review()
            elif action in {"send", "again"}:
                self._send_values(anyway=True)
            else:
                self._action_count += 1
                if action == "back":
                    self._state = self._open_state()
                else:
                    self._error = None
                    self._run_action(action)
        except (Exception, KeyboardInterrupt) as error:
            if self._error is error:  # it is shown already
                return
            if not isinstance(error, InvalidInput):
                raise
            self._show_failure(error)

    def _review(self) -> None:
        """Show the values once more, with the warnings about them; a form that is not reviewed sends them without."""
        self._sent, _ = self._checked(anyway=True)
        count = count_warnings(self._sent)
        if not (count or self.is_reviewed):
            self._send_values(anyway=True)
            return
        answers = form_answers(self._entries, self._sent, "Check your answers", can_change=True)
        banner = Banner("warning", f"{count} below. Change the answer, or send anyway.") if count else None
        self._state = FormState("review", banner=banner, answers=answers)

    @property
    def _takes_values(self) -> bool:
        """Return True unless the values are being sent, or were."""
        return self._state.phase in {"open", "review"}

    def _touch(self, name: str, value: Any) -> None:
        """Mark a field as touched, and keep a new value, if any. A form that is sent takes none."""
        if not self._takes_values:
            return
        self._entries.touched.add(name)
        if isinstance(value, str):
            self._entries.set_value(name, value)
            self._note_change()

    def _focus(self) -> str:
        """Return where the focus goes after an action: to the banner, the answers, or a field."""
        if state_banner(self._state, self._entries.findings(), self._entries) is not None:
            return "banner"
        return "answers" if self._state.phase == "review" else self._first_field()

    def _first_field(self) -> str:
        """Return the field at which the user continues."""
        return next(iter(self._entries.fields))

    def __repr__(self) -> str:
        state = "done" if self._is_done else f"{len(self._entries)} of {len(self._entries.fields)} fields"
        return f"<{type(self).__name__}: {state}>"
