"""The form that adds bank details to a payer, then lists the payer's accounts."""

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
from payerkit.forms.form import Button, Form, FormState, count_warnings
from payerkit.html import visible
from payerkit.models import BankDetails, PaymentDetail
from payerkit.wire import check_id

_RAILS = ("local", "swift", "wire")
_ALWAYS_SHOWN = {"rails", "state"}
_ACCOUNT_SECTIONS = {"Account", "Bank"}
_COLUMNS = ("bank_name", "account_name", "currency", "rails", "account_number", "iban", "status", "id")


class BankDetailsForm(Form):
    """A form that adds bank details to a payer, then lists the payer's accounts, masked.

    It shows the required fields, those that the currency usually needs on its rails, and every field with a value. Each
    submission stores one more account.

    Args:
        client: From `connect()` or `sandbox()`.
        client_user_id: The id of the payer; it may be set later.
        **options: `title`, and options of an ipywidget, such as `layout`.

    Attributes:
        result: The `PaymentDetail` that was stored last, or None.
        client_user_id: The id of the payer, or None. Setting another id clears the form.
        error: The exception of the last action, or None.
        findings: Errors, warnings and infos about the values.
        done: True when the bank details were stored.

    Raises:
        InvalidInput: `client_user_id` is not a usable id.

    Example:
        >>> form = BankDetailsForm(client, "user-123")
        >>> form.fill(details)
        >>> form.submit().status
        'approved'
    """

    model = BankDetails
    check = staticmethod(check_bank_details)
    title = "Bank details"
    submit_label = "Add bank details"
    unknown_outcome_advice = "Wait a minute, then check the accounts. Send it again only if no new account appeared."
    unknown_outcome_buttons = (Button("Check the accounts", "list"), Button("Account found: add another", "new"))

    _client_user_id: str | None = None
    _accounts: Sequence[PaymentDetail] = ()

    def __init__(self, client: Client, client_user_id: str | None = None, **options: Any) -> None:
        super().__init__(client, **options)
        if client_user_id is None:
            self.waits_for = "Onboard the payer first."
        else:
            self.client_user_id = client_user_id

    @property
    def client_user_id(self) -> str | None:
        """The id of the payer, or None. Setting another id clears the form."""
        return self._client_user_id

    @client_user_id.setter
    def client_user_id(self, client_user_id: str | None) -> None:
        client_user_id = check_id(client_user_id, "client_user_id")
        with self._lock:
            # Values of one payer must not be stored for another.
            if self._client_user_id not in {None, client_user_id}:
                self._reopen(clear=True)
                self._accounts = ()
            self._client_user_id = client_user_id
            self.waits_for = ""
            self._refresh_pages()

    def _make_spec(self, title: str) -> dict[str, Any]:
        fields = self.model.model_fields.items()
        optional = [name for name, field in fields if not field.is_required() and name not in _ALWAYS_SHOWN]
        return super()._make_spec(title) | {"optional": optional, "needs": _needs()}

    def _subject(self) -> str:
        return f"for {visible(self._client_user_id)}" if self._client_user_id else ""

    def _call(self, request: BankDetails) -> PaymentDetail:
        stored = create_payment_detail(self._client, str(self._client_user_id), request)
        try:
            self._list_accounts()
        except (PayerkitError, KeyboardInterrupt):
            # The account is stored. An error would make the user send it again.
            self._accounts = [stored]
        return stored

    def _list_accounts(self) -> None:
        records = self._client.send(payment_details_call(str(self._client_user_id)))
        self._accounts = [PaymentDetail.read(record) for record in records]

    def _state_of(self, response: PaymentDetail) -> FormState:
        warnings = count_warnings(self._sent_findings)
        text = f"Account added, with {warnings}." if warnings else "Account added."
        if response.status:
            text += f" Status: {response.status}."
        buttons = (
            Button("Refresh list", "list"),
            Button("Add another account", "new"),
            Button("Copy to a new account", "edit"),
        )
        return FormState(phase="done", status=("success", text), html=self._account_table(), buttons=buttons)

    def _account_table(self) -> str:
        """Return the accounts as an HTML table, masked, without columns that are empty in all of them."""
        fields = PaymentDetail.model_fields
        accounts = [dict(account) for account in self._accounts]  # masked, without missing values
        names = [name for name in _COLUMNS if any(name in account for account in accounts)]
        rows = [[account.get(name, "") for name in names] for account in accounts]
        head = [fields[name].title or name for name in names]
        return html.grid(head, rows, caption=f"{len(rows)} account{'s' * (len(rows) != 1)}")

    def _run_action(self, action: str) -> None:
        if action == "list":
            self._list_accounts()
            self._state = replace(self._state, html=self._account_table())
            self._set_status("info", "Account list updated.")
        elif action == "new":
            fields = self._entries.fields.items()
            self._reopen()
            self._entries.clear(name for name, field in fields if field.section in _ACCOUNT_SECTIONS)
        else:
            super()._run_action(action)


def _needs() -> dict[str, str]:
    """Return the fields that a currency needs where they are published, as "a|b c" for "a or b, and c".

    The keys are such as "USD local", or "INR" where the fields are the same for all rails.
    """
    needs = {}
    for currency in fiat_currencies():
        by_rails = {rails: needed_fields(currency, rails) for rails in _RAILS}
        if len(set(by_rails.values())) == 1:
            by_rails = {"": by_rails["local"]}
        for rails, groups in by_rails.items():
            if groups is not None:
                needs[f"{currency} {rails}".strip()] = " ".join(map("|".join, groups))
    return needs
