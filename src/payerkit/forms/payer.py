"""Onboard a payer: the data, then agreement and identity check, and how they stand."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from payerkit import html
from payerkit.checks.one import check_payer
from payerkit.endpoints import create_payer, get_payer_status, update_agreement
from payerkit.errors import NotFound
from payerkit.forms.form import Form, Shown
from payerkit.html import visible
from payerkit.models import Payer, PayerStatus
from payerkit.wire import is_loopback

_SIGNED = {"completed", "signed"}


class PayerForm(Form):
    """A form that onboards a payer, and then shows agreement and identity check; `result` is a `PayerStatus`.

    client: from `connect()` or `sandbox()`.
    """

    takes = Payer
    check = staticmethod(check_payer)
    title = "Payer"
    verb = "Onboard payer"
    if_unknown = "Send again: the same client user id gives the status of the same payer, not a second one."

    _agreement: str | None = None
    _identity: str | None = None
    _client_user_id: str | None = None

    @property
    def client_user_id(self) -> str | None:
        """The id of the payer that was onboarded last; None before."""
        return self._client_user_id

    def _about(self) -> str:
        return visible(str(self._client_user_id)) if self.done else ""

    def _call(self, given: Payer) -> PayerStatus:
        status = create_payer(self._client, given)
        self._client_user_id = given.client_user_id
        self._agreement, self._identity = status.agreement_url, status.kyc_url
        return status

    def _tell(self, answer: PayerStatus) -> Shown:
        rows = [
            (field.title or name, html.escape(_in_words(value)))
            for name, field, value in answer.present_fields()
            if not name.endswith("_url")
        ]
        count = len(self._sent.warnings)
        said = f"Sent, with {count} warning{'s' * (count > 1)}." if count else "Sent."
        if not rows:
            said = "The service answered, and told nothing of the payer. Check again."
        if any(_is_here(url) for url in (self._agreement, self._identity)):
            said += " The pages open on the machine that runs this notebook."
        return Shown(
            phase="done",
            status=("done" if rows else "warning", said),
            html=html.table(rows, caption="How it stands"),
            buttons=self._buttons(is_signed=answer.agreement_status in _SIGNED),
        )

    def _buttons(self, *, is_signed: bool) -> tuple[tuple[str, str, str], ...]:
        """Return what comes next, in its order."""
        signing = (("Open the agreement", "", self._agreement), ("I have signed", "signed", ""))
        offered = [
            *(() if is_signed else signing),
            ("Open the identity check", "", self._identity),
            ("Check again", "status", ""),
            ("Change and send again", "again", ""),
            ("Another payer", "new", ""),
        ]
        return tuple(
            (text, what, url or "") for text, what, url in offered if what or (url and html.is_web_address(url))
        )

    def _act(self, what: str) -> None:
        if what == "signed":
            self._sign()
        elif what == "status":
            self._result = get_payer_status(self._client, str(self._client_user_id))
            self._shown = self._tell(self._result)
            self._say("done", "This is how it stands now.")
        else:
            super()._act(what)

    def _sign(self) -> None:
        """Record the agreement, and read the status where the service has that call."""
        recorded = update_agreement(self._client, str(self._client_user_id)).success
        with suppress(NotFound):  # the call is beyond the specification
            self._result = get_payer_status(self._client, str(self._client_user_id))
            self._shown = self._tell(self._result)
        if recorded:
            self._shown = replace(self._shown, buttons=self._buttons(is_signed=True))
            self._say("done", "The agreement is recorded.")
        else:
            self._say("warning", "The service did not say that it recorded the agreement.")


def _in_words(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value).replace("_", " ")


def _is_here(url: str | None) -> bool:
    return url is not None and html.is_web_address(url) and is_loopback(urlsplit(url).hostname or "")
