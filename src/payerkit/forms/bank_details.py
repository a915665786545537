"""The form that stores an account under a payer, then lists the payer's accounts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from payerkit import html
from payerkit.checks.records import check_bank_details
from payerkit.checks.requirements import asked_fields, fields_without_alternative, listed_rails, needs_text
from payerkit.client.call import RequestBody
from payerkit.client.client import Client
from payerkit.client.pace import MAX_LOOKUPS, RECONCILE_AFTER
from payerkit.endpoints import payment_detail_call, payment_details_call
from payerkit.errors import InvalidInput, NotSent, PayerkitError, RateLimited, without_internal_frames
from payerkit.findings import Findings
from payerkit.forms.form import Form, form_lock
from payerkit.forms.payer import PayerForm
from payerkit.forms.stored_account import AccountChoice
from payerkit.forms.view import Banner, Button, FormState
from payerkit.models import BankDetails, PaymentDetail
from payerkit.models.requests import Hidden
from payerkit.models.responses import Response
from payerkit.onboarding.match import NUMBERS, Grade, Listing, Record, compare, id_of
from payerkit.wire import check_id, our_name
from payerkit.wording import count_of, in_words, listed, visible

_ALWAYS_SHOWN = {"rails", "state"}
_WHOSE_ACCOUNT = (
    "The account belongs to the payee. Enter the account holder's data, and the payer's only if both are the same."
)
_ADDRESS = {"address_line1", "address_line2", "city", "state", "postal_code", "country"}
_ADDRESS_STAYS = " Part of an address was there already, so it stays: complete it."
_COLUMNS = ("bank_name", "account_name", "currency", "rails", "account_number", "iban", "status", "id")


class BankDetailsForm(Form):
    """A form that stores an account under a payer, then lists the payer's accounts, masked.

    The account is registered under the payer, and belongs to the payee: the form asks for the data of the account
    holder. It shows the required fields, those that the currency usually needs on its rails, and every field with a
    value. It chooses the usual rails of the currency, unless you choose others. Each submission stores one more
    account.

    Args:
        client: From `connect()` or `sandbox()`.
        client_user_id: The id of the payer; it may be set later.
        **options: Options of an ipywidget, such as `layout`.

    Attributes:
        result: The `PaymentDetail` that was stored last, or None.
        client_user_id: The id of the payer, or None. Setting another id clears the form.
        holder_is_payer: Whether the payer is also the account holder. In a `Walkthrough`, True fills the empty fields
            of the holder from the payer, as the box in the form does; those of an address only if all are empty.
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

    name = "bank_details"
    members = ("client_user_id", "holder_is_payer")
    model = BankDetails
    title = "Account"
    submit_label = "Store the account"
    asking_action = "list"
    is_reviewed = True
    may_repeat = False
    unknown_outcome = "It is not known whether the account was stored."
    unknown_outcome_advice = "Look at the accounts before you send it again: each request stores one more account."

    _client_user_id: str | None = None
    _accounts: Sequence[PaymentDetail] = ()
    _search: AccountSearch | None = None
    _offered: Mapping[str, Hidden] | None = None
    _filled: Sequence[str] | None = None
    _box_text = ""
    _followed_currency = ""

    @without_internal_frames
    def __init__(self, client: Client, client_user_id: str | None = None, **options: Any) -> None:
        super().__init__(client, **options)
        if client_user_id is None:
            self.waits_for = "Register the payer first."
        else:
            self.client_user_id = client_user_id

    @property
    def client_user_id(self) -> str | None:
        """The id of the payer, or None. Setting another id clears the form."""
        return self._client_user_id

    @client_user_id.setter
    def client_user_id(self, client_user_id: str | None) -> None:
        client_user_id = check_id(client_user_id, "client_user_id")
        with self._changing():
            # Values of one payer must not be stored for another.
            if self._client_user_id not in {None, client_user_id}:
                payer, was_unknown = visible(str(self._client_user_id)), self._is_unknown
                self._reopen(clear=True)
                self._accounts, self._offered, self._search = (), None, None
                if was_unknown:
                    advice = f"Look at the accounts of {payer} before you send it again."
                    title = f"It is not known whether the account of {payer} was stored."
                    self._state = FormState(banner=Banner.of("warning", title, advice))
            self._client_user_id = client_user_id
            self.waits_for = ""

    @property
    def holder_is_payer(self) -> bool:
        """Whether the payer is also the account holder.

        True fills the empty fields of the holder from the payer, except secrets, and the address only if all of it is
        empty; False removes what it filled in, unless it was changed. Raises InvalidInput for True if no payer was
        registered beside this form.
        """
        with form_lock:
            return self._filled is not None

    @holder_is_payer.setter
    def holder_is_payer(self, is_payer: bool) -> None:
        with self._changing():
            self._tick(is_ticked=bool(is_payer))

    def offer_holder(self, payer: PayerForm) -> None:
        """Offer a payer's data for the account holder; nothing is filled in until `holder_is_payer` is True.

        The data offered before are forgotten, and what was filled in from them is removed, unless it was changed.

        Args:
            payer: The form in which the payer was registered.

        Example:
            >>> form = PayerForm(client)
            >>> form.fill(payer)
            >>> bank_details = BankDetailsForm(client, "user-123")
            >>> bank_details.offer_holder(form)
            >>> bank_details.holder_is_payer = True
            >>> bank_details
            <BankDetailsForm: 8 of 26 fields>
        """
        offered = payer.as_holder()
        with form_lock:
            before = self._entries.visible_values()
            if offered != self._offered:
                self._tick(is_ticked=False)
            self._offered = offered
            self._post(self._view(self._entries.changed_since(before)))

    def account_choice(self) -> AccountChoice:
        """Return the accounts of the payer for a payment to choose from, as the service listed them last, masked.

        Example:
            >>> form = BankDetailsForm(client, "user-123")
            >>> form.fill(details)
            >>> detail = form.submit()
            >>> detail.id in form.account_choice().options()
            True
        """
        with form_lock:
            stored = self._accounts if self._result is None else [self._result, *self._accounts]
            records = [PaymentDetail.unwrap(account.to_dict(reveal=True)) for account in stored]
            return AccountChoice(str(self._client_user_id), records)

    def _tick(self, *, is_ticked: bool) -> None:
        """Fill in the holder from the payer, or remove what was filled in."""
        if is_ticked == (self._filled is not None):
            return
        if self._filled is not None:
            cleared = [name for name in self._filled if name in self._entries.chosen]
            self._entries.clear(cleared)
            self._filled = None
            self._box_text = f"{count_of(len(cleared), 'field')} cleared."
        elif self._offered is None:
            raise InvalidInput("holder_is_payer: no payer was registered beside this form. Fill in the account holder.")
        else:
            if self._is_done:
                self._reopen()
            # Part of one address with part of another is no address.
            stays = not all(map(self._entries.is_free, _ADDRESS))
            offered = {name: value for name, value in self._offered.items() if not (stays and name in _ADDRESS)}
            self._filled = self._entries.fill_empty(offered)
            self._box_text = f"{count_of(len(self._filled), 'field')} filled in.{_ADDRESS_STAYS if stays else ''}"
        self._note_change()

    def _reopen(self, *, clear: bool = False) -> None:
        super()._reopen(clear=clear)
        if clear:
            self._filled, self._box_text = None, ""
            self._followed_currency = ""

    def _follow(self, changed: Collection[str]) -> None:  # noqa: ARG002 - it remembers the currency
        """Choose the usual rails of a new currency, unless others were entered."""
        currency = self._entries.visible_values()["currency"].upper()
        if currency != self._followed_currency and self._entries.is_free("rails"):
            self._followed_currency = currency
            self._entries.choose("rails", next(iter(listed_rails(currency)), ""))

    def _own_notes(self) -> dict[str, str]:
        if "rails" not in self._entries.chosen:
            return {}
        rails = listed(listed_rails(self._followed_currency))
        return {"rails": f"Chosen as usual: the service lists {self._followed_currency} over {rails} rails."}

    def _view(self, names: Collection[str] | None = None) -> dict[str, Any]:
        """Return the view of the form, with the fields that the currency needs.

        The checkbox and the text beside it are shown only if the data of a payer were offered.
        """
        box = None if self._offered is None else (self._filled is not None, self._box_text)
        values = self._entries.visible_values()
        currency, rails = values["currency"], values["rails"]
        needs = asked_fields(currency, rails), fields_without_alternative(currency, rails), needs_text(currency, rails)
        return super()._view(names) | {"box": box, "needs": needs}

    def _make_spec(self) -> dict[str, Any]:
        fields = BankDetails.model_fields.items()
        optional = [name for name, field in fields if not field.is_required() and name not in _ALWAYS_SHOWN]
        box = ("Account holder", _WHOSE_ACCOUNT, "The payer is also the account holder")
        return super()._make_spec() | {"optional": optional, "box": box}

    def _subject(self) -> str:
        return f"for {visible(self._client_user_id)}" if self._client_user_id else ""

    def _outcome(self) -> str:
        # The response to a new account may leave out its number; the list has it.
        stored = dict(next((each for each in self._accounts if each.id == self._result.id), self._result))  # masked
        words = (stored.get("currency"), "account", stored.get("account_number") or stored.get("iban"))
        return visible(" ".join(str(word) for word in words if word))

    def _check(self, values: Mapping[str, Any]) -> Findings:
        return check_bank_details(values)

    def _call(self, request: BankDetails) -> PaymentDetail:
        """Store the account, and list all accounts of the payer."""
        client_user_id = str(self._client_user_id)
        before = self._search.before if self._search else self._ids_before(client_user_id)
        self._search = AccountSearch(before, request)
        body = RequestBody(request.to_dict(reveal=True), request.private_values)
        stored = self._make(payment_detail_call(client_user_id, body, PaymentDetail.read))
        self._accounts = [stored]
        # The account is stored. An error would make the user send it again.
        with suppress(PayerkitError, KeyboardInterrupt):
            records = self._make(payment_details_call(client_user_id))
            self._accounts = [PaymentDetail.read(record) for record in records] or [stored]
        return stored

    def _ids_before(self, client_user_id: str) -> frozenset[str] | None:
        """Return the ids of the accounts that a payer has; None if they cannot be listed, which holds up nothing.

        Raises NotSent and RateLimited: then the account could not be sent, either.
        """
        try:
            records = self._make(payment_details_call(client_user_id))
            return frozenset(Listing(records).ids)
        except (NotSent, RateLimited):
            raise
        except PayerkitError:
            return None

    def _state_of(self, response: PaymentDetail) -> FormState:
        self._search = None
        line = response.explain().next_step if response.status else ""
        return self._listed(Banner.of("success", self._with_warnings("Account stored"), line))

    def _listed(self, banner: Banner) -> FormState:
        """Return the state of a form that shows the accounts of the payer."""
        buttons = (
            Button("Add another account", "new"),
            Button("Copy to a new account", "edit"),
            Button("Refresh list", "list"),
        )
        return FormState("done", banner=banner, html=self._account_table(), buttons=buttons)

    def _account_table(self) -> str:
        """Return the accounts as an HTML table, masked, without columns that are empty in all of them."""
        accounts = [dict(Response.rows(account)) for account in self._accounts]  # masked, without missing values
        titles = [str(PaymentDetail.model_fields[name].title) for name in _COLUMNS]
        head = [title for title in titles if any(title in account for account in accounts)]
        rows = [[html.Html(account.get(title, "")) for title in head] for account in accounts]
        caption = count_of(len(rows), "account")
        return html.grid(head, rows, caption=caption) if head else html.title(caption)

    def _unknown_buttons(self) -> tuple[Button, ...]:
        """Return the button that looks at the accounts; after enough looks, also those to send again or to go on."""
        look = Button("Look at the accounts", "look", kind="primary")
        if self._search is None or self._search.state == "not_yet":
            return (look,)
        if self._search.state == "absent":
            return (*super()._unknown_buttons(), look._replace(kind=""))
        return (look, Button("Send again", "again"), Button("It is there: add another account", "new"))

    def _run_action(self, action: str) -> None:
        if action in {"list", "look"}:
            read = partial(self._make, payment_details_call(str(self._client_user_id)))
            self._run("Looking at the accounts", read, self._show_list if action == "list" else self._show_look)
        elif action == "new":
            self._is_unknown, self._search, self._error = False, None, None
            self._reopen()
            self._followed_currency = ""
            own = [name for name, field in self._entries.fields.items() if field.section in {"Account", "Bank"}]
            self._entries.clear([*own, *self._entries.secrets])
        else:
            super()._run_action(action)

    def _show_list(self, records: Sequence[Mapping[str, Any]]) -> None:
        self._accounts = [PaymentDetail.read(record) for record in records]
        self._state = self._listed(Banner("info", "Account list updated."))

    def _show_look(self, records: Sequence[dict[str, Any]]) -> None:
        """Show the accounts, and whether the one with the unknown outcome is among them."""
        search = self._search
        if search is None:
            return
        self._accounts = [PaymentDetail.read(record) for record in records]
        found = search.look(records)
        if search.state == "found":
            self._finish(PaymentDetail.read(found[0]))
            self._state = self._listed(search.banner(found))
        else:
            table = self._account_table()
            self._state = replace(self._state, banner=search.banner(found), html=table, buttons=self._unknown_buttons())


SearchState = Literal["not_yet", "found", "absent", "unclear"]
"""Too few looks so far, the account is there, it is not there, or only a person can decide."""


class AccountSearch:
    """Looks for an account that is sent now, and counts how often it was missing.

    before: ids of the accounts that the payer had before; None if that is not known. clock: the time in seconds.
    """

    def __init__(
        self, before: frozenset[str] | None, request: BankDetails, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        values = {our_name(name): value for name, value in request.to_dict(reveal=True).items()}
        # A closure: an attribute would show the values in a debugger's list of variables.
        self._compare: Callable[[Record], Grade] = lambda record: compare(values, record)
        self.before, self._clock, self._last, self._looks = before, clock, clock(), 0
        self.state: SearchState = "not_yet"

    def look(self, records: Sequence[Record]) -> list[Record]:
        """Take one look at the accounts of the payer, and return those that may be the one that was sent."""
        listing, now = Listing(records, self.before or frozenset()), self._clock()
        is_known = self.before is not None and all(map(id_of, records))
        graded = [(self._compare(record), record) for record in (listing.new() if is_known else records)]
        same = [record for grade, record in graded if grade in {Grade.SAME, Grade.NUMBER}]
        perhaps = [record for grade, record in graded if grade is Grade.PERHAPS]
        if same and is_known:
            self.state = "found"
        elif same or perhaps or listing.may_be_cut():
            self.state = "unclear"
        else:
            if now - self._last >= RECONCILE_AFTER:  # before that, a look proves nothing
                self._looks, self._last = self._looks + 1, now
            self.state = "absent" if self._looks >= MAX_LOOKUPS else "not_yet"
        return same or perhaps

    def banner(self, found: Sequence[Record]) -> Banner:
        """Return the banner about the last look. found: the accounts that it returned."""
        described = "; ".join(map(_describe, found))
        if self.state == "found":
            stored = f"{count_of(len(found), 'new account')}: {described}."
            if len(found) > 1:
                advice = "It is stored more than once. Ask the service to switch off the others."
                return Banner.of("warning", stored, advice)
            return Banner.of("success", stored, "It is stored; do not send it again.")
        if self.state == "absent":
            return Banner("info", f"No new account after {self._looks} looks. Send it again.")
        if self.state == "not_yet":
            left = max(0, math.ceil(self._last + RECONCILE_AFTER - self._clock()))
            line = f"An account can take a moment to appear. Look again in {left} s."
            return Banner.of("warning", "No new account yet.", line)
        seen = f"{described} may be it." if found else "The list may be cut off."
        advice = "Compare the accounts below with what you sent, and decide."
        return Banner.of("warning", "The accounts do not show whether it was stored.", seen, advice)


def _describe(record: Record) -> str:
    """Return an account in words, such as "••••3000, approved"."""
    shown = dict(PaymentDetail.read(record))  # masked, without missing values
    name = next((shown[each] for each in (*NUMBERS, "bank_name") if each in shown), "an account")
    return visible(", ".join(filter(None, [str(name), in_words(str(shown.get("status", "")))])))
