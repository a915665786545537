"""Add bank details to a payer: what the currency needs by its rails first, and afterwards the list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from payerkit import html
from payerkit.checks.one import check_bank_details
from payerkit.checks.places import fiat_currencies
from payerkit.checks.requirements import needed_fields
from payerkit.client import Client
from payerkit.endpoints import create_payment_detail, payment_details_call
from payerkit.errors import PayerkitError
from payerkit.forms.form import Form, Shown
from payerkit.html import visible
from payerkit.models import BankDetails, PaymentDetail
from payerkit.wire import check_id

_RAILS = ("local", "swift", "wire")
_ALWAYS = {"rails", "state"}
_OF_ACCOUNT = {"Account", "Bank"}
_COLUMNS = ("bank_name", "account_name", "currency", "rails", "account_number", "iban", "status", "id")


class BankDetailsForm(Form):
    """A form that adds bank details to a payer, and then lists them, masked; `result` is a `PaymentDetail`.

    client: from `connect()` or `sandbox()`. client_user_id: the payer's id; it may be set later. Shown are the fields
    that are required, those that the currency needs by its rails, and every field with a value.
    """

    takes = BankDetails
    check = staticmethod(check_bank_details)
    title = "Bank details"
    verb = "Add bank details"
    if_unknown = (
        "Wait a minute, then look at the accounts: one more than before means that it happened. "
        "Only if there is none more, send again."
    )
    ways_out = (("list", "Look at the accounts"), ("new", "It is there: another account"))

    _client_user_id: str | None = None
    _accounts: Sequence[PaymentDetail] = ()

    def __init__(self, client: Client, client_user_id: str | None = None, **options: Any) -> None:
        super().__init__(client, **options)
        if client_user_id is None:
            self.waits_for = "First onboard the payer."
        else:
            self.client_user_id = client_user_id

    @property
    def client_user_id(self) -> str | None:
        """Whose bank details are added; None until somebody is set."""
        return self._client_user_id

    @client_user_id.setter
    def client_user_id(self, client_user_id: str | None) -> None:
        checked = check_id(client_user_id, "client_user_id")
        with self._lock:
            if self._client_user_id not in {None, checked}:  # what was typed, and how it stood, is another payer's
                self._reopen(forget=True)
                self._accounts = ()
            self._client_user_id = checked
            self.waits_for = ""
            self._show(self._entries.fields)

    def _describe(self, title: str) -> dict[str, Any]:
        extra = [name for name, field in self.takes.model_fields.items() if not field.is_required()]
        more = {"rule": ["currency", "rails"], "extra": [name for name in extra if name not in _ALWAYS]}
        return super()._describe(title) | more | {"needs": _needs()}

    def _about(self) -> str:
        return f"of {visible(self._client_user_id)}" if self._client_user_id else ""

    def _call(self, given: BankDetails) -> PaymentDetail:
        stored = create_payment_detail(self._client, str(self._client_user_id), given)
        try:
            self._accounts = self._read_accounts()
        except (PayerkitError, KeyboardInterrupt):  # the account is stored, whatever becomes of the list
            self._accounts = [stored]
        return stored

    def _read_accounts(self) -> list[PaymentDetail]:
        call = payment_details_call(str(self._client_user_id))
        return [PaymentDetail.read(record) for record in self._client.send(call)]

    def _tell(self, answer: PaymentDetail) -> Shown:
        count = len(self._sent.warnings)
        said = f"Added, with {count} warning{'s' * (count > 1)}." if count else "Added."
        if answer.status:
            said += f" Its status is {answer.status}."
        buttons = (
            ("Check again", "list", ""),
            ("Another account", "new", ""),
            ("Copy into a new account", "again", ""),
        )
        return Shown(phase="done", status=("done", said), html=self._listed(), buttons=buttons)

    def _listed(self) -> str:
        """Return the accounts as a table, with what may be shown of them."""
        fields = PaymentDetail.model_fields
        names = [name for name in _COLUMNS if any(getattr(each, name) is not None for each in self._accounts)]
        rows = [[_shown(each, name) for name in names] for each in self._accounts]
        head = [fields[name].title or name for name in names]
        return html.grid(head, rows, caption=f"{len(rows)} account{'s' * (len(rows) != 1)}")

    def _act(self, what: str) -> None:
        if what == "list":
            self._accounts = self._read_accounts()
            self._shown = replace(self._shown, html=self._listed())
            self._say("info", "These are the accounts now.")
        elif what == "new":
            self._reopen()
            self._entries.forget(name for name, field in self._entries.fields.items() if field.section in _OF_ACCOUNT)
        else:
            super()._act(what)


def _shown(detail: PaymentDetail, name: str) -> str:
    value = getattr(detail, name)
    return "" if value is None else str(detail.masked(name, value))


def _needs() -> dict[str, str]:
    """Return the members that a currency needs, by currency and rails, or by currency if rails make no difference.

    Groups are divided by blanks; of a|b one is needed. What nobody published is not there.
    """
    told = {}
    for currency in fiat_currencies():
        by_rails = {rails: needed_fields(currency, rails) for rails in _RAILS}
        if len(set(by_rails.values())) == 1:
            by_rails = {"": by_rails["local"]}
        told.update({f"{currency} {rails}".strip(): groups for rails, groups in by_rails.items() if groups is not None})
    return {key: " ".join("|".join(group) for group in groups) for key, groups in told.items()}
