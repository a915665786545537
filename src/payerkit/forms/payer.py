"""The form that registers a payer, then follows the agreement and the identity check."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from payerkit import html
from payerkit.checks.records import check_payer
from payerkit.checks.schema import SHARED_FIELDS
from payerkit.client.call import Call, RequestBody
from payerkit.endpoints import agreement_call, payer_call, payer_status_call
from payerkit.errors import PayerkitError
from payerkit.explanations import Explanation
from payerkit.findings import Findings
from payerkit.forms.form import Form, form_lock
from payerkit.forms.view import Banner, Button, FormState
from payerkit.models import Payer, PayerStatus
from payerkit.models.requests import Hidden
from payerkit.models.responses import Response
from payerkit.wording import in_form, visible


class PayerForm(Form):
    """A form that registers a payer, then shows and updates the status of the agreement and the identity check.

    Display it as the last line of a cell, or fill it in from Python. Sending the same client user id again updates the
    status; it does not create a second payer.

    Args:
        client: From `connect()` or `sandbox()`.
        **options: Options of an ipywidget, such as `layout`.

    Attributes:
        result: The last `PayerStatus`, or None.
        client_user_id: The id of the payer that was registered last, or None.
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
    members = ("client_user_id",)
    model = Payer
    title = "Payer"
    submit_label = "Register the payer"
    asking_action = "refresh"
    unknown_outcome = "It is not known whether the payer was registered."
    unknown_outcome_advice = "You can send it again: the same payer id does not create a second payer."

    _agreement_url: str | None = None
    _kyc_url: str | None = None
    _client_user_id: str | None = None

    @property
    def client_user_id(self) -> str | None:
        """The id of the payer that was registered last, or None."""
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
        with form_lock:
            values = self._entries.visible_values()
        holder = {name: values[source] for name, source in SHARED_FIELDS.items()}
        person = f"{values['first_name']} {values['last_name']}".strip()
        holder["account_name"] = values["company_name"] if values["beneficiary_type"] == "business" else person
        return {name: Hidden(value) for name, value in holder.items() if value}

    def _subject(self) -> str:
        return visible(str(self._client_user_id)) if self._is_done else ""

    def _outcome(self) -> str:
        return visible(str(self._client_user_id))

    def _waits(self) -> str:
        explanation = self._result.explain()
        if explanation.compliant:
            return ""
        still = [part for part in explanation.parts[:2] if not part.is_passed]
        leading = [part for part in still if part.whose_move == explanation.whose_move] or still
        names = ", ".join("identity check" if part.of == "kyc" else part.of for part in leading) or "compliance"
        whom = explanation.whose_move if explanation.whose_move == "you" else f"the {explanation.whose_move}"
        return f"{'Refused' if explanation.final else f'Waits for {whom}'}: {names}"

    def _check(self, values: Mapping[str, Any]) -> Findings:
        return check_payer(values)

    def _call(self, request: Payer) -> PayerStatus:
        body = RequestBody(request.to_dict(reveal=True), request.private_values)
        status = self._make(payer_call(request.client_user_id, body, PayerStatus.read))
        self._client_user_id = request.client_user_id
        self._agreement_url, self._kyc_url = status.agreement_url, status.kyc_url
        return status

    def _state_of(self, response: PayerStatus) -> FormState:
        return self._shown(response, self._with_warnings("Payer registered"))

    def _shown(self, status: PayerStatus, title: str) -> FormState:
        """Return the state of a form that shows the status of a payer, with the next step."""
        explanation = status.explain()
        banner = Banner.of("success", title, in_form(explanation.next_step))
        if not (status.kyc_status or status.agreement_status):
            banner = Banner.of("warning", title, "The response has no status of the payer. Ask again.")
        without_links = status.model_copy(update={"kyc_url": None, "agreement_url": None})  # which buttons have
        table = html.table(Response.rows(without_links), caption="Payer status")
        return FormState("done", banner=banner, html=table, buttons=self._next_steps(explanation))

    def _next_steps(self, explanation: Explanation) -> tuple[Button, ...]:
        """Return the buttons; the primary one is the next step, by whose move it is."""
        kyc, agreement = explanation.parts[:2]
        steps = []
        if not agreement.is_passed:
            steps += self._page_buttons("agreement", self._agreement_url, is_next=not agreement.final)
            is_next = not steps and not agreement.final
            steps.append(Button("The payer has signed", "sign", kind="primary" if is_next else "", about="agreement"))
        if not kyc.is_passed:
            is_next = agreement.is_passed and kyc.whose_move == "payer"
            steps += self._page_buttons("identity check", self._kyc_url, is_next=is_next)
        is_next = not explanation.final and not any("primary" in button.kind for button in steps)
        return (
            *steps,
            Button("Ask again", "refresh", kind="primary" if is_next else ""),
            Button("Edit and send again", "edit"),
            Button("New payer", "new"),
        )

    def _page_buttons(self, page: str, url: str | None, *, is_next: bool) -> list[Button]:
        """Return the buttons that copy the link of a page, for the payer, and open it; none without a web address."""
        if url is None or not html.is_web_address(url):
            return []
        copy = Button(f"Copy link: {page}", url=url, kind="primary copy" if is_next else "copy", about=page)
        return [copy, Button(f"Open the {page}", url=url, about=page)]

    def _run_action(self, action: str) -> None:
        read = payer_status_call(str(self._client_user_id), PayerStatus.read)
        if action == "sign":
            self._run("Recording", partial(self._mark_as_signed, read), self._show_signed)
        elif action == "refresh":
            self._run("Asking for the status", partial(self._make, read), self._show_status)
        else:
            super()._run_action(action)

    def _mark_as_signed(self, read: Call[PayerStatus]) -> tuple[bool, PayerStatus]:
        """Record the agreement; return whether the service did, and the status, as far as it can be read."""
        is_recorded = self._make(agreement_call(str(self._client_user_id))).success is True
        # Reading a status is beyond the specification, and whatever fails there, the agreement is recorded.
        with suppress(PayerkitError, KeyboardInterrupt):
            return is_recorded, self._make(read)
        return is_recorded, self._result.model_copy(update={"agreement_status": "completed"} if is_recorded else {})

    def _show_status(self, status: PayerStatus) -> None:
        self._result, self._state = status, self._shown(status, "Status updated.")

    def _show_signed(self, outcome: tuple[bool, PayerStatus]) -> None:
        """Show whether the service recorded the agreement. If its status cannot be read, it counts as completed."""
        is_recorded, self._result = outcome
        self._state = self._shown(self._result, "The agreement is recorded.")
        if not is_recorded:
            title = "The service did not confirm that the agreement is signed."
            self._state = replace(self._state, banner=Banner.of("warning", title, "Try again later."))
