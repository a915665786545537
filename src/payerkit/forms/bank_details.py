"""The form that stores an account under a payer, then lists the payer's accounts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from payerkit import html
from payerkit.checks.records import check_bank_details
from payerkit.checks.requirements import (
    asked_fields,
    fields_without_alternative,
    listed_rails,
    needs_text,
)
from payerkit.client.call import RequestBody
from payerkit.client.client import Client
from payerkit.endpoints import payment_detail_call, payment_details_call
from payerkit.errors import (
    InvalidInput,
    NotSent,
    PayerkitError,
    RateLimited,
    without_internal_frames,
)
from payerkit.findings import Findings
from payerkit.forms.banners import Banner, Button, FormState
from payerkit.forms.form import Form
from payerkit.forms.payer import PayerForm
from payerkit.forms.stored_account import AccountChoice, account_words
from payerkit.models import BankDetails, Payer, PaymentDetail
from payerkit.models.fields import fields_of
from payerkit.models.requests import SHARED_FIELDS
from payerkit.models.responses import Response
from payerkit.runs.match import Matches, Record, id_of, match_accounts
from payerkit.wire import check_id, our_name
from payerkit.wording import count_of, listed, visible

_ADDRESS = {
    name
    for name, of_payer in SHARED_FIELDS.items()
    if fields_of(Payer)[of_payer].section == "Where"
}
"""The fields of the holder's address."""
_ADDRESS_STAYS = "Part of an address was there already, so it stays: complete it."
_COLUMNS = (
    "bank_name",
    "account_name",
    "currency",
    "rails",
    "account_number",
    "iban",
    "status",
    "id",
)


class BankDetailsForm(Form):
    """A form that stores an account under a payer, then lists the payer's accounts,
    masked.

    The account is registered under the payer, and belongs to the payee: the form asks
    for the data of the account holder. It shows the required fields, those that the
    currency usually needs on its rails, and every field with a value. It chooses the
    usual rails of the currency, unless you choose others. Each submission stores one
    more account.

    Args:
        client: From `connect()` or `sandbox()`.
        client_user_id: The id of the payer; it may be set later.
        **options: Values by field name, such as `currency`; and options of an
            ipywidget: `layout`, `disabled`.

    Attributes:
        value: The `BankDetails` that the values make; None while a field is wrong.
        result: The `PaymentDetail` that was stored last, or None.
        client_user_id: The id of the payer, or None. Setting another id clears the
            form.
        error: The exception of the last action, or None.
        findings: Errors, warnings and infos about the values.
        done: True when the bank details were stored.

    Raises:
        InvalidInput: `client_user_id` is not a usable id, or an option is neither a
            field nor an option of a widget.

    Example:
        >>> form = BankDetailsForm(client, "user-123")
        >>> form.fill(details)
        >>> form.value.bank_name
        'Chase'
        >>> form.submit().status
        'approved'
    """

    members = ("ask_again", "client_user_id", "use_payer_as_holder")
    model = BankDetails
    title = "Account"
    purpose = "a bank account"
    submit_label = "Store the account"
    is_reviewed = True
    may_repeat = False
    unknown_outcome = "It is not known whether the account was stored."
    unknown_advice = (
        "Look at the accounts before you send it again: each request stores one more"
        " account."
    )

    _client_user_id: str | None = None
    _payer: PayerForm | None = None
    _accounts: Sequence[PaymentDetail] = ()
    _before: frozenset[str] | None = None
    _lost: BankDetails | None = None
    _has_looked = False

    @without_internal_frames
    def __init__(
        self, client: Client, client_user_id: str | None = None, **options: Any
    ) -> None:
        if client_user_id is not None:
            self._client_user_id = check_id(client_user_id, "client_user_id")
        super().__init__(client, **options)

    @property
    def client_user_id(self) -> str | None:
        """The id of the payer, or None. Setting another id clears the form."""
        return self._client_user_id

    @client_user_id.setter
    def client_user_id(self, client_user_id: str) -> None:
        client_user_id = check_id(client_user_id, "client_user_id")
        if client_user_id == self._client_user_id:
            return
        self._refuse_while_busy()
        # Values of one payer must not be stored for another.
        if self._client_user_id is not None:
            payer = visible(str(self._client_user_id))
            was_unknown = self._is_unknown
            self._clear()
            self._accounts = ()
            self._payer = None
            if was_unknown:
                title = f"It is not known whether the account of {payer} was stored."
                advice = f"Look at the accounts of {payer} before you send it again."
                self._state = FormState(banner=Banner.of("warning", title, advice))
        self._client_user_id = client_user_id
        self._refresh()

    def offer_holder(self, payer: PayerForm) -> None:
        """Offer a payer's data for the account holder, by a button; nothing is filled
        in until somebody presses it.

        Args:
            payer: The form in which the payer was registered.

        Example:
            >>> form = PayerForm(client)
            >>> form.fill(payer)
            >>> bank_details = BankDetailsForm(client, "user-123")
            >>> bank_details.offer_holder(form)
            >>> bank_details.use_payer_as_holder()
        """
        self._payer = payer
        self._refresh()

    @without_internal_frames
    def use_payer_as_holder(self) -> None:
        """Fill in the empty fields of the holder from the payer, as the button does:
        the payer is the account holder, too.

        Secrets are left out, and an address is filled in only if all of it is empty.

        Raises:
            InvalidInput: No payer was registered beside this form, or the form is being
                sent.
        """
        self._refuse_while_busy()
        self._fill_holder()
        self._refresh()

    def _fill_holder(self) -> None:
        if self._payer is None:
            raise InvalidInput(
                "No payer was registered beside this form. Fill in the account holder."
            )
        if self._is_done:
            self._reopen()
        # Part of one address with part of another is no address.
        stays = not all(self._entries.is_free(name) for name in _ADDRESS)
        count = 0
        for name, value in self._payer.as_holder().items():
            if name not in self._entries and not (stays and name in _ADDRESS):
                self._entries.choose(name, value.get_secret_value())
                self._entries.touched.add(name)
                count += 1
        title = f"{count_of(count, 'field')} filled in."
        self._note_change()
        banner = Banner.of("info", title, _ADDRESS_STAYS if stays else "")
        self._state = FormState(banner=banner)

    def account_choice(self) -> AccountChoice:
        """Return the accounts of the payer for a payment to choose from, as the service
        listed them last, masked.

        Example:
            >>> form = BankDetailsForm(client, "user-123")
            >>> form.fill(details)
            >>> detail = form.submit()
            >>> detail.id in form.account_choice().options()
            True
        """
        stored = list(self._accounts)
        if self.result is not None:
            stored.insert(0, self.result)
        dicts = [account.to_dict(reveal=True) for account in stored]
        records = [PaymentDetail.unwrap(each) for each in dicts]
        return AccountChoice(str(self._client_user_id), records)

    def _clear(self) -> None:
        super()._clear()
        self._lost = None

    def _follow(self, names: Collection[str]) -> None:  # noqa: ARG002 - rails are chosen whatever changed
        """Choose the usual rails of the currency, unless others were entered."""
        if self._entries.is_free("rails"):
            rails = listed_rails(self._entries.text("currency"))
            self._entries.choose("rails", rails[0] if rails else "")

    def _own_notes(self) -> dict[str, str]:
        if "rails" not in self._entries.chosen:
            return {}
        currency = self._entries.text("currency").upper()
        rails = listed(listed_rails(currency))
        words = f"Chosen as usual: the service lists {currency} over {rails} rails."
        return {"rails": words}

    def _needs(self) -> tuple[str, str]:
        """Return what decides which fields the account needs: currency and rails."""
        return self._entries.text("currency"), self._entries.text("rails")

    def _is_optional(self, name: str) -> bool:
        is_shown = name in {"rails", "state"} or name in asked_fields(*self._needs())
        return not (self._entries.fields[name].required or is_shown)

    def _is_needed(self, name: str) -> bool:
        return name in fields_without_alternative(*self._needs())

    def _advice(self) -> str:
        return needs_text(*self._needs())

    def _section_button(self) -> tuple[str, Button] | None:
        if self._payer is None:
            return None
        label = "The payer is also the account holder: fill in"
        return "Account holder", Button(label, self._fill_holder)

    def _waits_for(self) -> str:
        return "" if self._client_user_id else "Register the payer first."

    def _subject(self) -> str:
        return f"for {visible(self._client_user_id)}" if self._client_user_id else ""

    def _check(self, values: Mapping[str, Any]) -> Findings:
        return check_bank_details(values)

    def _call(self, request: BankDetails) -> PaymentDetail:
        """Store the account, and list all accounts of the payer."""
        client_user_id = str(self._client_user_id)
        if not self._is_unknown:
            self._before = self._ids_before()
        self._lost = request
        self._has_looked = False
        body = RequestBody(request.to_dict(reveal=True), request.private_values)
        call = payment_detail_call(client_user_id, body, PaymentDetail.read)
        stored = self._make(call)
        self._accounts = [stored]
        # The account is stored. An error would make the user send it again.
        with suppress(PayerkitError, KeyboardInterrupt):
            accounts = [PaymentDetail.read(record) for record in self._list()]
            self._accounts = accounts or [stored]
        return stored

    def _list(self) -> list[dict[str, Any]]:
        return self._make(payment_details_call(str(self._client_user_id)))

    def _ids_before(self) -> frozenset[str] | None:
        """Return the ids of the accounts that a payer has; None if they cannot be
        listed, which holds up nothing.

        Raises NotSent and RateLimited: then the account could not be sent, either.
        """
        try:
            ids = [id_of(record) for record in self._list()]
        except (NotSent, RateLimited):
            raise
        except PayerkitError:
            return None
        return frozenset(each for each in ids if each)

    def _state_of(self, response: PaymentDetail) -> FormState:
        self._lost = None
        line = response.explain().next_step if response.status else ""
        banner = Banner.of("success", "Account stored.", line)
        return FormState("done", banner, html=self._account_table())

    def _done_buttons(self) -> list[Button]:
        return [
            Button("Add another account", self._add_another),
            Button("Copy to a new account", self._reopen),
            Button("Refresh list", self._ask),
        ]

    def _account_table(self) -> str:
        """Return the accounts as an HTML table, masked, without columns that are empty
        in all of them.
        """
        accounts = [dict(Response.rows(account)) for account in self._accounts]
        caption = count_of(len(accounts), "account")
        titles = [str(PaymentDetail.model_fields[name].title) for name in _COLUMNS]
        head = [
            title for title in titles if any(title in account for account in accounts)
        ]
        if not head:
            return html.title(caption)
        rows = [
            [html.Html(account.get(title, "")) for title in head]
            for account in accounts
        ]
        return html.grid(head, rows, caption=caption)

    def _unknown_buttons(self) -> list[Button]:
        """Return the button that looks at the accounts; after a look, also those to
        send again or to go on.
        """
        look = Button("Look at the accounts", self._ask, is_primary=True)
        if not self._has_looked:
            return [look]
        again = Button("Send again", self._review)
        label = "It is there: add another account"
        return [look, again, Button(label, self._add_another)]

    def _add_another(self) -> None:
        """Show the fields for another account of the same holder."""
        self._is_unknown = False
        self._lost = None
        self.set_trait("error", None)
        self._reopen()
        own = {"Account", "Bank"}
        fields = self._entries.fields.items()
        self._entries.clear([name for name, field in fields if field.section in own])
        self._entries.clear(self._entries.secrets)

    @without_internal_frames
    def ask_again(self) -> None:
        """Ask the service for the accounts of the payer, as the button does; the form
        shows them.

        If it is unknown whether an account was stored, this looks for it: one that is
        there is taken over, and the form is done.

        Raises:
            InvalidInput: The form has no payer yet, or is being sent.
            PayerkitError: The call failed, as `list_payment_details` would raise it.
                Also kept as `error`.

        Example:
            >>> form = BankDetailsForm(client, "user-123")
            >>> form.fill(details)
            >>> detail = form.submit()
            >>> form.ask_again()
        """
        if waits_for := self._waits_for():
            raise InvalidInput(waits_for)
        try:
            self._ask()
        finally:
            self._refresh()

    def _ask(self) -> None:
        take = self._show_look if self._is_unknown else self._show_list
        self._run("Looking at the accounts", self._list, take)

    def _show_list(self, records: Sequence[Record]) -> None:
        self._accounts = [PaymentDetail.read(record) for record in records]
        banner = Banner("info", "Account list updated.")
        self._state = replace(self._state, banner=banner, html=self._account_table())

    def _show_look(self, records: Sequence[Record]) -> None:
        self._accounts = [PaymentDetail.read(record) for record in records]
        self._has_looked = True
        matches = self._find_lost(records)
        certain = matches.same
        candidates = certain or matches.perhaps
        described = "; ".join(account_words(record) for record in candidates)
        if certain:
            title = f"{count_of(len(certain), 'new account')}: {described}."
            banner = Banner.of("success", title, "It is stored; do not send it again.")
            if len(certain) > 1:
                advice = (
                    "It is stored more than once. Ask the service to switch off the"
                    " others."
                )
                banner = Banner.of("warning", title, advice)
            self._finish(PaymentDetail.read(certain[0]))
            self._state = replace(self._state, banner=banner)
            return
        title = "No account in the list is certainly the one that was sent."
        seen = f"{described} may be it." if described else ""
        advice = (
            "Compare the accounts below with what you sent. An account can take a"
            " moment to appear, and a list may be cut off: send it again only if you"
            " are sure."
        )
        banner = Banner.of("warning", title, seen, advice)
        self._state = replace(self._state, banner=banner, html=self._account_table())

    def _find_lost(self, records: Sequence[Record]) -> Matches:
        """Return which of the listed accounts are the one that was sent, and which may
        be; none is for certain if nobody knows what was there before.
        """
        if self._lost is None:
            return Matches()
        sent = self._lost.to_dict(reveal=True).items()
        values = {our_name(name): value for name, value in sent}
        before = self._before or ()
        others = [record for record in records if id_of(record) not in before]
        matches = match_accounts({"": values}, others)[""]
        if self._before is None:
            return Matches(perhaps=matches.same or matches.perhaps)
        return matches
