"""Onboard a payer: the data, then agreement and identity check, and how they stand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from payerkit import html
from payerkit.checks.bodies import check_payer
from payerkit.endpoints import create_payer, get_payer_status, update_agreement
from payerkit.errors import NotFound
from payerkit.forms.drawing import Outcome
from payerkit.forms.form import Form
from payerkit.models import Payer, PayerStatus
from payerkit.urls import is_loopback

_ACTIONS = (("signed", "I have signed"), ("status", "Check again"), ("again", "Change"), ("new", "Another payer"))
_PAGES = (("agreement_url", "Open the agreement"), ("kyc_url", "Open the identity check"))


class PayerForm(Form):
    """A form that onboards a payer, and then shows agreement and identity check; `result` is a `PayerStatus`.

    client: from `connect()` or `sandbox()`.
    """

    takes = Payer
    check = staticmethod(check_payer)
    title = "Payer"
    verb = "Onboard payer"
    if_unknown = "Send again: the same client user id gives the status of the same payer, not a second one."

    _pages: tuple[tuple[str, str], ...] = ()
    _client_user_id: str | None = None

    @property
    def client_user_id(self) -> str | None:
        """The id of the payer that was onboarded last; None before."""
        return self._client_user_id

    def _about(self) -> str:
        return str(self._client_user_id) if self.done else ""

    def _call(self, given: Payer) -> PayerStatus:
        status = create_payer(self._client, given)
        self._client_user_id = given.client_user_id
        self._pages = tuple(
            (url, label) for name, label in _PAGES if (url := getattr(status, name)) and html.is_web_address(url)
        )
        return status

    def _tell(self, answer: PayerStatus) -> Outcome:
        count = len(self._sent.warnings)
        said = f"Sent, with {count} warning{'s' * (count > 1)}." if count else "Sent."
        if any(is_loopback(urlsplit(url).hostname or "") for url, _ in self._pages):
            said += " The pages open on the machine that runs this notebook."
        pages = {name for name, _ in _PAGES}
        rows = [
            (field.title or name, html.escape(_in_words(value)))
            for name, field, value in answer.members()
            if name not in pages
        ]
        actions = (
            ("signed", "I have signed"),
            ("status", "Check again"),
            ("again", "Change"),
            ("new", "Another payer"),
        )
        return Outcome(said, html.table(rows, caption="How it stands"), self._pages, actions)

    def _act(self, what: str) -> None:
        if what == "signed":
            self._sign()
        elif what == "status":
            self._result = get_payer_status(self._client, str(self._client_user_id))
            self._tell_outcome()
            self._status = ("done", "This is how it stands now.")
        else:
            super()._act(what)

    def _sign(self) -> None:
        """Record the agreement, and read the status where the service has that call."""
        recorded = update_agreement(self._client, str(self._client_user_id)).success
        try:
            self._result = get_payer_status(self._client, str(self._client_user_id))
            self._tell_outcome()
        except NotFound:  # the call is beyond the specification
            pass
        if recorded:
            self._outcome = replace(self._outcome, actions=_ACTIONS[1:])
        said = "The agreement is recorded." if recorded else "The service did not say that it recorded the agreement."
        self._status = ("done" if recorded else "warning", said)


def _in_words(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value).replace("_", " ")
