"""The form that onboards a payer, then follows the agreement and the identity check."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from payerkit import html
from payerkit.checks.one import check_payer
from payerkit.checks.schema import SHARED_FIELDS
from payerkit.endpoints import create_payer, get_payer_status, update_agreement
from payerkit.errors import NotFound
from payerkit.forms.drawn_fields import count_warnings
from payerkit.forms.form import Form
from payerkit.forms.form_state import Button, FormState
from payerkit.forms.kept import picture_of_payer, text_of_payer
from payerkit.html import visible
from payerkit.models import Payer, PayerStatus
from payerkit.models.base import Hidden
from payerkit.wire import is_loopback

_SIGNED = {"completed", "signed"}


class PayerForm(Form):
    """A form that onboards a payer, then shows and updates the status of the agreement and the identity check.

    Display it as the last line of a cell, or fill it in from Python. Sending the same client user id again updates the
    status; it does not create a second payer.

    Args:
        client: From `connect()` or `sandbox()`.
        title: The title of the form; "Payer" by default.
        **options: Options of an ipywidget, such as `layout`.

    Attributes:
        result: The last `PayerStatus`, or None.
        client_user_id: The id of the payer that was onboarded last, or None.
        error: The exception of the last action, or None.
        findings: Errors, warnings and infos about the values.
        done: True when the payer was sent and the service responded.

    Example:
        >>> form = PayerForm(client)
        >>> form.fill(payer, first_name="Jane")
        >>> form
        <PayerForm: 14 of 18 fields>
        >>> form.submit().agreement_status
        'completed'
    """

    name = "payer"
    model = Payer
    check = staticmethod(check_payer)
    title = "Payer"
    submit_label = "Onboard payer"
    unknown_outcome_advice = "You can send it again: the same client user id does not create a second payer."

    _agreement_url: str | None = None
    _kyc_url: str | None = None
    _client_user_id: str | None = None

    @property
    def client_user_id(self) -> str | None:
        """The id of the payer that was onboarded last, or None."""
        return self._client_user_id

    def as_holder(self) -> dict[str, Hidden]:
        """Return what a bank account needs of its holder, if that is the payer, by the names of `BankDetails`.

        Secrets are left out, and no repr shows the values.

        Example:
            >>> form = PayerForm(client)
            >>> form.fill(payer)
            >>> form.as_holder()["account_name"].get_secret_value()
            'John Doe'
        """
        with self._lock:
            values = self._entries.visible_values()
        holder = {name: values[source] for name, source in SHARED_FIELDS.items()}
        if values["beneficiary_type"] == "business":
            holder["account_name"] = values["company_name"]
        else:
            holder["account_name"] = f"{values['first_name']} {values['last_name']}".strip()
        return {name: Hidden(value) for name, value in holder.items() if value}

    def _subject(self) -> str:
        return visible(str(self._client_user_id)) if self.done else ""

    def _outcome(self) -> str:
        return visible(str(self._client_user_id))

    def _picture_to_keep(self) -> str:
        rows = [(title, cell) for title, cell in self._without_links().rows() if title != "Next"]
        status = html.table(rows, caption="Payer status")
        return picture_of_payer(self._client_user_id, status, self._sent_findings)

    def _text_to_keep(self) -> str:
        lines = (f"{name}: {value}" for name, value in self._without_links())
        return text_of_payer(self._client_user_id, lines, self._sent_findings)

    def _without_links(self) -> PayerStatus:
        """Return the status without the links, which are for the payer only."""
        status: PayerStatus = self._result
        return status.model_copy(update={"agreement_url": None, "kyc_url": None})

    def _call(self, request: Payer) -> PayerStatus:
        status = create_payer(self._client, request)
        self._client_user_id = request.client_user_id
        self._agreement_url, self._kyc_url = status.agreement_url, status.kyc_url
        return status

    def _state_of(self, response: PayerStatus) -> FormState:
        rows = [
            (field.title or name, html.escape(_as_text(value)))
            for name, field, value in response.present_fields()
            if not name.endswith("_url")
        ]
        warnings = count_warnings(self._sent_findings)
        text = f"Sent, with {warnings}." if warnings else "Sent."
        if not rows:
            text = "The response has no status of the payer. Refresh the status."
        if any(_is_on_this_machine(url) for url in (self._agreement_url, self._kyc_url)):
            text += " The links open only on the machine that runs this notebook."
        status = ("success" if rows else "warning", text)
        buttons = self._buttons(is_signed=response.agreement_status in _SIGNED)
        return FormState(
            phase="done", status=status, html=html.picture(html.table(rows, caption="Payer status")), buttons=buttons
        )

    def _buttons(self, *, is_signed: bool) -> tuple[Button, ...]:
        """Return the next steps in their order; a link of the service is left out unless it is a web address."""
        signing = (Button("Open the agreement", url=self._agreement_url or ""), Button("Mark as signed", "sign"))
        buttons = (
            *(() if is_signed else signing),
            Button("Open the identity check", url=self._kyc_url or ""),
            Button("Refresh status", "refresh"),
            Button("Edit and send again", "edit"),
            Button("New payer", "new"),
        )
        return tuple(button for button in buttons if button.action or html.is_web_address(button.url))

    def _run_action(self, action: str) -> None:
        if action == "sign":
            self._mark_as_signed()
        elif action == "refresh":
            status = self._refresh_status()
            self._set_status("success", f"Status updated. {in_form(status.explain().next_step)}")
        else:
            super()._run_action(action)

    def _refresh_status(self) -> PayerStatus:
        status = self._result = get_payer_status(self._client, str(self._client_user_id))
        self._state = self._state_of(status)
        return status

    def _mark_as_signed(self) -> None:
        is_recorded = update_agreement(self._client, str(self._client_user_id)).success
        # Reading a status is beyond the specification, so a service may not have the call.
        with suppress(NotFound):
            self._refresh_status()
        if is_recorded:
            self._state = replace(self._state, buttons=self._buttons(is_signed=True))
            self._set_status("success", "The agreement is recorded.")
        else:
            self._set_status("warning", "The service did not confirm that the agreement is signed. Try again later.")


_IN_FORM = {
    "; create_payer() returns it": ", which is below",
    "create_payer() returns the link": "the link is below",
    "Call create_payer() again": "Send the form again",
    "Call create_payer() for the link and": "Send the form again for the link, and",
    "call update_agreement()": "mark it as signed",
    ": create_payment_detail(), if": ", if",
}
"""What the explanation of a status says to somebody who writes Python, and what a form says instead."""


def in_form(text: str) -> str:
    """Return what to do next for somebody who uses the form and calls no functions."""
    for call, words in _IN_FORM.items():
        text = text.replace(call, words)
    return text


def _as_text(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value).replace("_", " ")


def _is_on_this_machine(url: str | None) -> bool:
    return url is not None and html.is_web_address(url) and is_loopback(urlsplit(url).hostname or "")
