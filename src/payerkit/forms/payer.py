"""The form that registers a payer, then follows the agreement and the identity
check.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from payerkit import html
from payerkit.checks.records import check_payer
from payerkit.client.call import RequestBody
from payerkit.endpoints import agreement_call, payer_call, payer_status_call
from payerkit.errors import InvalidInput, PayerkitError, without_internal_frames
from payerkit.explanations import Explanation
from payerkit.findings import Findings
from payerkit.forms.banners import Banner, Button, FormState
from payerkit.forms.form import Form
from payerkit.models import Payer, PayerStatus
from payerkit.models.formats import Hidden
from payerkit.models.requests import SHARED_FIELDS
from payerkit.models.responses import Response
from payerkit.wording import visible


class PayerForm(Form):
    """A form that registers a payer, then shows and updates the status of the agreement
    and the identity check.

    Display it as the last line of a cell, or fill it in from Python. Sending the same
    client user id again updates the status; it does not create a second payer.

    Args:
        client: From `connect()` or `sandbox()`.
        **options: Values by field name, such as `email`; and options of an ipywidget:
            `layout`, `disabled`.

    Attributes:
        value: The `Payer` that the values make; None while a field is wrong.
        result: The last `PayerStatus`, or None.
        client_user_id: The id of the payer that was registered last, or None.
        error: The exception of the last action, or None.
        findings: Errors, warnings and infos about the values.
        done: True when the payer was sent and the service responded.

    Raises:
        InvalidInput: An option is neither a field nor an option of a widget.

    Example:
        >>> form = PayerForm(client, country="US")
        >>> form.fill(payer, first_name="Jane")
        >>> form.value.first_name
        'Jane'
        >>> form.submit().agreement_status
        'completed'
    """

    members = ("ask_again", "client_user_id")
    model = Payer
    title = "Payer"
    purpose = "a payer"
    submit_label = "Register the payer"
    unknown_outcome = "It is not known whether the payer was registered."
    unknown_advice = (
        "You can send it again: the same payer id does not create a second payer."
    )

    _registered_id: str | None = None
    _agreement_url: str | None = None
    _kyc_url: str | None = None

    def as_holder(self) -> dict[str, Hidden]:
        """Return what a bank account needs of its holder, if that is the payer, by the
        names of `BankDetails`.

        Secrets are left out, and no repr shows the values.

        Example:
            >>> form = PayerForm(client)
            >>> form.fill(payer)
            >>> form.as_holder()["account_name"].get_secret_value()
            'John Doe'
        """
        text = self._entries.text
        holder = {name: text(source) for name, source in SHARED_FIELDS.items()}
        holder["account_name"] = f"{text('first_name')} {text('last_name')}".strip()
        if self._entries.holder == "business":
            holder["account_name"] = text("company_name")
        return {name: Hidden(value) for name, value in holder.items() if value}

    def _subject(self) -> str:
        return visible(str(self._registered_id)) if self._is_done else ""

    def _check(self, values: Mapping[str, Any]) -> Findings:
        return check_payer(values)

    def _call(self, request: Payer) -> PayerStatus:
        body = RequestBody(request.to_dict(reveal=True), request.private_values)
        status = self._make(payer_call(request.client_user_id, body, PayerStatus.read))
        self._registered_id = request.client_user_id
        self._agreement_url = status.agreement_url
        self._kyc_url = status.kyc_url
        return status

    def _state_of(self, response: PayerStatus) -> FormState:
        return self._shown(response, "Payer registered.")

    def _shown(self, status: PayerStatus, title: str) -> FormState:
        """Return the state of a form that shows the status of a payer, with the next
        step.
        """
        banner = Banner.of("success", title, status.explain().next_step)
        if not (status.kyc_status or status.agreement_status):
            advice = "The response has no status of the payer. Ask again."
            banner = Banner.of("warning", title, advice)
        no_links = {"kyc_url": None, "agreement_url": None}
        rows = Response.rows(status.model_copy(update=no_links))
        kyc, agreement = status.explain().parts[:2]
        # No notebook saves what a form shows, so that links are shown whole.
        if self._agreement_url and not agreement.is_passed:
            link = html.link(self._agreement_url, self._agreement_url)
            rows.append(("Agreement page", link))
        if self._kyc_url and not kyc.is_passed:
            link = html.link(self._kyc_url, self._kyc_url)
            rows.append(("Identity check page", link))
        return FormState("done", banner, html=html.table(rows, caption="Payer status"))

    def _done_buttons(self) -> list[Button]:
        """Return the buttons; the primary one is the next step, by whose move it is."""
        explanation: Explanation = self.result.explain()
        agreement = explanation.parts[1]
        is_to_sign = not (agreement.is_passed or agreement.final)
        can_ask = not (explanation.final or is_to_sign)
        buttons = []
        if not agreement.is_passed:
            label = "The payer has signed"
            buttons.append(Button(label, self._sign, is_primary=is_to_sign))
        return [
            *buttons,
            Button("Ask again", self._ask, is_primary=can_ask),
            Button("Edit and send again", self._reopen),
            Button("New payer", self._clear),
        ]

    @without_internal_frames
    def ask_again(self) -> None:
        """Ask the service for the status of the payer, as the button does; the form
        shows it.

        Raises:
            InvalidInput: The form is being sent, or no payer was registered.
            PayerkitError: The call failed, as `get_payer_status` would raise it. Also
                kept as `error`.

        Example:
            >>> form = PayerForm(client)
            >>> form.fill(payer)
            >>> status = form.submit()
            >>> form.ask_again()
        """
        if not self._is_done:
            raise InvalidInput("No payer was registered yet. Send the form first.")
        try:
            self._ask()
        finally:
            self._refresh()

    def _ask(self) -> None:
        self._run("Asking for the status", self._read_status, self._show_status)

    def _read_status(self) -> PayerStatus:
        return self._make(payer_status_call(str(self._registered_id), PayerStatus.read))

    def _show_status(self, status: PayerStatus, title: str = "Status updated.") -> None:
        self.set_trait("error", None)
        self.set_trait("result", status)
        self._state = self._shown(status, title)

    def _sign(self) -> None:
        self._run("Recording", self._mark_as_signed, self._show_signed)

    def _mark_as_signed(self) -> PayerStatus | None:
        """Record the agreement, and return the status, as far as it can be read; None
        if the service did not record it.
        """
        call = agreement_call(str(self._registered_id))
        is_recorded = self._make(call).success is True
        if not is_recorded:
            return None
        # Reading a status is beyond the specification, and whatever fails there, the
        # agreement is recorded.
        with suppress(PayerkitError, KeyboardInterrupt):
            return self._read_status()
        signed = {"agreement_status": "completed"}
        status: PayerStatus = self.result.model_copy(update=signed)
        return status

    def _show_signed(self, status: PayerStatus | None) -> None:
        if status is not None:
            self._show_status(status, "The agreement is recorded.")
            return
        title = "The service did not confirm that the agreement is signed."
        self._show_status(self.result, title)
        banner = Banner.of("warning", title, "Try again later.")
        self._state = FormState("done", banner, html=self._state.html)

    @property
    def client_user_id(self) -> str | None:
        """The id of the payer that was registered last, or None."""
        return self._registered_id
