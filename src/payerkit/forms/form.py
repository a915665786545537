"""The base class of the forms: a widget whose values live in the kernel.

Browser (the scripts in `browser/`) and kernel exchange custom messages, because JupyterLab may save widget state in the
notebook. Each has the `form` that it is for, since the page of a `Walkthrough` shows several.

- To the kernel: `type` ("ready", "change", "search", "use", "submit", "action", "tick" or "keep"), `page` (the sender),
  `touched` (fields that were left: the new value, or None if it is unchanged), `taken` (those of them whose text stands
  for the code that it means), and the parameters of the type.
- To the browser: the view of the form, which all pages show; or the options that a search found; or where the response
  was `kept`. `page` names the page that a message replies to.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import traitlets

from payerkit.client import Client, check_client
from payerkit.errors import InvalidInput, PayerkitError, UnknownOutcome, without_internal_frames
from payerkit.findings import Findings
from payerkit.forms import lookups
from payerkit.forms.drawn_fields import Note, count_warnings, field_notes, form_sections
from payerkit.forms.entries import Entries
from payerkit.forms.form_state import Button, FormState, error_text
from payerkit.forms.kept import KeptResult, ReservedOutput, display_widget, name_of
from payerkit.models.requests import RequestModel
from payerkit.widgets.page_widget import PageCode, PageWidget

_SCRIPTS = ("dom", "keys", "combobox", "secrets", "fields", "shown_fields", "form", "keep", "steps", "page")


def forms_code() -> PageCode:
    """Return the code that draws forms in a page."""
    scripts = tuple(f"browser/{name}.js" for name in _SCRIPTS)
    return PageCode.of(__package__, scripts, "browser/form.css")


class Form(PageWidget):
    """Base class of the forms: fields, checks and a button, drawn from the model of a request.

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

    spec = traitlets.Dict(read_only=True).tag(sync=True)
    waits_for = traitlets.Unicode("", help="What is needed before the form can be filled in.")
    done = traitlets.Bool(default_value=False, read_only=True)

    name: ClassVar[str]
    model: ClassVar[type[RequestModel]]
    check: ClassVar[Callable[..., Findings] | None] = None
    title: ClassVar[str]
    submit_label: ClassVar[str]
    unknown_outcome_advice: ClassVar[str]
    unknown_outcome_buttons: ClassVar[tuple[Button, ...]] = ()

    def __init__(self, client: Client, *, title: str | None = None, **options: Any) -> None:
        check_client(client)
        self._client = client
        self._entries = Entries(self.model, type(self).check)
        # A kernel with subshells handles the browser's messages in another thread than the cells.
        self._lock = threading.RLock()
        self._action_count = 0
        self._state = FormState()
        self._sent_findings = Findings()
        self._result: Any = None
        self._error: BaseException | None = None
        self._outlets: list[Callable[[dict[str, Any]], None]] = [self.send]
        self._reserved = ReservedOutput()
        super().__init__(**options)
        self.set_trait("label", title or self.title)
        self.set_trait("spec", {"forms": [self._make_spec(self.label)]})
        self.observe(lambda _: self._refresh_pages(), "waits_for")

    def _make_spec(self, title: str) -> dict[str, Any]:
        """Return what the browser needs to draw the form."""
        sections = form_sections(self.model)
        timeout = self._client.timeout.total
        return {
            "name": self.name,
            "title": title,
            "environment": self._client.environment,
            "submit_label": self.submit_label,
            "sections": sections,
            "timeout": timeout,
        }

    @classmethod
    def _code(cls) -> PageCode:
        return forms_code()

    def show_in(self, outlet: Callable[[dict[str, Any]], None]) -> None:
        """Send the messages for pages to an outlet, too, such as a widget that shows this form among others."""
        self._outlets.append(outlet)

    def _ipython_display_(self) -> None:
        """Show the form in a notebook, with a place below it for what somebody keeps."""
        display_widget(self)
        self.reserve_output()

    def reserve_output(self) -> None:
        """Reserve a place for what somebody keeps among the outputs of the cell that runs."""
        self._reserved.reserve()

    def _post(self, content: Mapping[str, Any]) -> None:
        """Send a message to every page that shows the form."""
        for send in self._outlets:
            send({**content, "form": self.name})

    def _call(self, request: Any) -> Any:
        """Send a request and return the response."""
        raise NotImplementedError

    def _state_of(self, response: Any) -> FormState:
        """Return the state of a form that is done."""
        raise NotImplementedError

    def _subject(self) -> str:
        """Return whom the form is about, shown beside its title."""
        return ""

    def _outcome(self) -> str:
        """Return the response in a few words, shown in a list of steps."""
        raise NotImplementedError

    def _picture_to_keep(self) -> str:
        """Return the response as a fragment of HTML, masked."""
        raise NotImplementedError

    def _text_to_keep(self) -> str:
        """Return the response as text, masked."""
        raise NotImplementedError

    def _notes(self, findings: Findings) -> dict[str, list[Note]]:
        """Return the notes beside the touched fields."""
        return field_notes(self._entries, findings)

    def _follow(self) -> set[str]:
        """Choose the values that follow from others; return the names of the fields that changed."""
        return set()

    def _tick(self, *, is_ticked: bool) -> None:
        """Take over the state of the form's box. Only a form with a box in its `spec` has one."""
        raise NotImplementedError

    def _run_action(self, action: str) -> None:
        """Run the action of a button: "edit" keeps the values, "new" clears them."""
        self._reopen(clear=action == "new")

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
        given = values.to_dict(reveal=True) if isinstance(values, RequestModel) else dict(values or {})
        with self._lock:
            self._entries.fill(given, fields)
            self._follow()
            if self.done:
                self._reopen()
            self._reset_status()
            self._refresh_pages()

    @without_internal_frames
    def submit(self, *, anyway: bool = False) -> Any:
        """Send the values, as the button does; the form shows the outcome, too.

        Args:
            anyway: Send in spite of warnings.

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
        with self._lock:
            if self.done:
                raise InvalidInput("Already sent. Change the values with fill(), or start again with clear().")
            self._submit(anyway=anyway)
            self._refresh_pages()
            if self._error is not None:
                raise self._error
            return self._result

    @without_internal_frames
    def clear(self) -> None:
        """Clear all values, `result` and `error`.

        Example:
            >>> form = PaymentForm(client)
            >>> form.fill(order)
            >>> form.clear()
            >>> form
            <PaymentForm: 0 of 4 fields>
        """
        with self._lock:
            self._reopen(clear=True)
            self._refresh_pages()

    @without_internal_frames
    def keep(self) -> KeptResult:
        """Return the response as an output that may be saved: masked, with what was found about the values.

        *Keep this in the notebook* does the same below the form. A page that was reloaded cannot show it there; then
        this is the last line of a cell of your own.

        Returns:
            The response, which notebooks show as a picture, with the time and the address of the service.

        Raises:
            InvalidInput: Nothing was sent, so there is no response.

        Example:
            >>> form = PaymentForm(client)
            >>> form.fill(order)
            >>> payment = form.submit()
            >>> print(form.keep().text.splitlines()[0])
            Payment (sandbox)
        """
        with self._lock:
            if not self.done:
                raise InvalidInput("There is no response to keep. Send the form first.")
            return KeptResult.of(
                self.label,
                environment=self._client.environment,
                address=self._client.base_url,
                picture=self._picture_to_keep(),
                text=self._text_to_keep(),
            )

    @property
    def result(self) -> Any:
        """The response to the last submission, or None."""
        with self._lock:
            return self._result

    @property
    def error(self) -> BaseException | None:
        """The exception of the last action, or None."""
        with self._lock:
            return self._error

    @property
    def findings(self) -> Findings:
        """Errors, warnings and infos about the values; after sending, those about the values that were sent."""
        with self._lock:
            return self._sent_findings if self.done else self._entries.findings()

    def _submit(self, *, anyway: bool) -> None:
        """Check and send the values; keep the response, or the error."""
        self._action_count += 1
        self._result = self._error = None
        self._entries.clear_service_messages()
        self._entries.touched.update(self._entries.fields)
        self._reset_status()
        try:
            findings = self._validate(anyway=anyway)
            self._result = self._call(self._entries.build())
        except (PayerkitError, KeyboardInterrupt) as error:
            self._show_error(error)
            return
        self._sent_findings = findings
        # A secret that was sent is not needed any more; editing and sending again takes a new one.
        self._entries.clear(self._entries.secrets)
        self._state = self._state_of(self._result)
        # Last, because an observer may raise, and that must not look as if nothing was sent.
        self.set_trait("done", True)

    def _validate(self, *, anyway: bool) -> Findings:
        """Return the findings if the values may be sent. Raises InvalidInput for errors, and unconfirmed warnings."""
        if self.waits_for:
            raise InvalidInput(f"{self.waits_for} Nothing was sent.")
        findings = self._entries.findings()
        if errors := findings.errors:
            count = len({finding.field for finding in errors})
            attention = "1 field needs attention" if count == 1 else f"{count} fields need attention"
            raise InvalidInput(f"{attention}. Nothing was sent.", fields=errors)
        if findings.warnings and not anyway:
            self._state = replace(self._state, needs_confirmation=True)
            advice = "Correct the fields, or send anyway with form.submit(anyway=True)."
            message = f"{count_warnings(findings)}. Nothing was sent."
            raise InvalidInput(message, fields=findings.warnings, advice=advice)
        return findings

    def _show_error(self, error: PayerkitError | KeyboardInterrupt) -> None:
        """Keep the error of a submission, and show it with what to do."""
        self._error = error
        if isinstance(error, UnknownOutcome):
            self._state = FormState(phase="unknown", buttons=self.unknown_outcome_buttons)
            lines = ["The request was sent, but its outcome is unknown.", self.unknown_outcome_advice, error.message]
        elif self._state.needs_confirmation:
            lines = [error_text(error), "Correct the marked fields, or send anyway."]
        else:
            lines = [error_text(error)]
            if isinstance(error, PayerkitError) and not isinstance(error, InvalidInput):
                lines += map(str, self._entries.add_service_messages(error.fields))
                # A refused retry proves nothing about the request before it.
                if self._state.phase == "unknown":
                    lines.append("The outcome of the previous request is still unknown.")
        self._set_status("warning" if self._state.needs_confirmation else "error", *lines)

    def _reopen(self, *, clear: bool = False) -> None:
        """Show the fields again, with their values or empty."""
        self._state = FormState()
        if clear:
            self._entries.clear(self._entries.fields)
            self._result = self._error = None
        elif self.done and any(field.is_secret for field in self._entries.fields.values()):
            self._set_status("info", "Hidden values are not kept after sending. Enter them again.")
        self.set_trait("done", False)

    def _reset_status(self) -> None:
        """Remove the status and the offer to send anyway; an unknown outcome stays unknown."""
        if self._state.phase != "done":
            self._state = replace(self._state, needs_confirmation=False, status=("info", ""))

    def _set_status(self, kind: str, *lines: str) -> None:
        self._state = replace(self._state, status=(kind, "\n".join(line for line in lines if line)))

    def _refresh_pages(self) -> None:
        """Show the form as it is now, with all values but secrets, on every page."""
        self._post(self._view(self._entries.fields))

    def _view(self, names: Collection[str] = ()) -> dict[str, Any]:
        """Return what every page shows, with the values of the named fields; what is held of secrets is masked."""
        findings = Findings() if self.done else self._entries.findings()
        values = {name: value for name, value in self._entries.visible_values().items() if name in names}
        fields = self._entries.fields
        return {
            "action_count": self._action_count,
            "subject": self._subject(),
            "waits_for": self.waits_for,
            "outcome": self._outcome() if self.done else "",
            "notes": self._notes(findings),
            "held": self._entries.held,
            "values": values,
            "code_names": {name: lookups.name_of(fields[name].lookup, value) for name, value in values.items()},
            **self._state.to_view(),
        }

    def _on_message(self, message: Any) -> None:
        """Reply to a message of the browser. Raises nothing: ipywidgets would only log it, and the user see nothing."""
        try:
            reply = self._reply(message)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - shown, and kept as `error`
            self._error = error
            self._set_status("error", f"Unexpected error: {type(error).__name__}. See form.error, and report it.")
            reply = self._view()
        self._post({**reply, "page": message.get("page") if isinstance(message, Mapping) else None})

    def _reply(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Take the values of a message, do what it requests, and return the reply."""
        with self._lock:
            touched = {name: value for name, value in message["touched"].items() if name in self._entries.fields}
            for name, value in touched.items():
                self._touch(name, self._meant(name, value) if name in message.get("taken", ()) else value)
            if message["type"] == "use" and message["name"] in self._entries.fields:
                self._touch(message["name"], self._entries.reading(message["name"]))
                touched[message["name"]] = None
            changed = {*touched, *self._follow()}
            match message["type"]:
                case "ready":
                    return self._view(self._entries.fields if self._entries else ())
                case "change" | "use":
                    view = self._view(changed)
                    # The page may wait for an action: only the reply to that one ends the wait. Likewise a box.
                    del view["action_count"]
                    view.pop("box", None)
                    return view
                case "search":
                    name = message["name"]
                    found = lookups.search(self._entries.fields[name].lookup, str(message["text"]))
                    return {"name": name, "search_id": message["search_id"], **found._asdict()}
                case "submit" | "action":
                    return self._act(message)
                case "keep":
                    mark = self._reserved.fill(self.keep()) if self.done else ""
                    return {"kept": {"mark": mark, "code": f"{name_of(self, f'kept_{self.name}')}.keep()"}}
                case "tick":
                    # A page may not be up to date: the view corrects it.
                    with suppress(InvalidInput):
                        if not self.done:
                            self._tick(is_ticked=message["is_ticked"] is True)
                    return self._view(self._entries.fields)
            raise ValueError("unknown type of message")

    def _act(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Submit, or run the action of a button, and return the view with the field to focus."""
        # A page that had not seen the last action must not start one: a second click, or another tab.
        if message.get("action_count") != self._action_count:
            return self._view(self._entries.fields)
        if message["type"] == "submit":
            if not self.done:
                self._submit(anyway=message["anyway"] is True)
        else:
            self._action_count += 1
            self._error = None
            try:
                self._run_action(message["action"])
            except (PayerkitError, KeyboardInterrupt) as error:
                self._error = error
                self._set_status("error", error_text(error))
        return self._view(self._entries.fields) | {"focus": self._focus()}

    def _meant(self, name: str, text: Any) -> Any:
        """Return the code that a text means, or the text itself if there is none, or several."""
        found = lookups.search(self._entries.fields[name].lookup, str(text))
        return found.options[found.match][0] if found.match >= 0 else text

    def _touch(self, name: str, value: Any) -> None:
        """Mark a field as touched, and keep its value unless it is None; ignored once the form was sent."""
        if self.done:
            return
        self._entries.touched.add(name)
        if isinstance(value, str):
            self._entries.set_value(name, value)
            self._reset_status()

    def _focus(self) -> str:
        """Return where the focus goes after an action: "panel" for a response, else the first field to correct."""
        if self._state.phase != "open" and not self._state.needs_confirmation:
            return "panel"
        findings = self._entries.findings()
        worst = findings.errors or findings.warnings
        return next((finding.field for finding in worst if finding.field in self._entries.fields), "")

    def __repr__(self) -> str:
        state = "done" if self.done else f"{len(self._entries)} of {len(self._entries.fields)} fields"
        return f"<{type(self).__name__}: {state}>"
