"""The form that initiates a payment, shows what its transactions do, and asks whether it is paid."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar, cast

from payerkit import html
from payerkit.client.client import Client, request_status_call
from payerkit.endpoints import order_warnings, payment_call, payment_details_call
from payerkit.errors import InvalidInput, UnknownOutcome, without_internal_frames
from payerkit.explanations import Explanation, explain_word, status_chip
from payerkit.findings import Findings
from payerkit.forms.bank_details import BankDetailsForm
from payerkit.forms.form import Failure, Form, form_lock
from payerkit.forms.stored_account import (
    OPTIONAL,
    PAYMENT_FIELDS,
    AccountChoice,
    AccountOrder,
    PaymentEntry,
    account_to_pay,
    check_entry,
    fields_of,
    is_created_for,
    payout_of,
    problem_of,
)
from payerkit.forms.view import Banner, Button, FormState, Kind
from payerkit.models import Payment, PaymentOrder, PaymentRequest, PayoutOrder, RequestStatus
from payerkit.models.requests import RequestModel
from payerkit.onchain.amounts import read_rate
from payerkit.payouts.request_calls import payout_warnings, request_call, request_payment_call, with_reference
from payerkit.payouts.request_list import RequestSearch
from payerkit.policy.payment_policy import PaymentPolicy, given_policy
from payerkit.signing.card import PaymentCard
from payerkit.wire import id_problem
from payerkit.wording import in_words, visible

_CHOOSE = "Choose the receiver first: the other fields follow from it."
_UNKNOWN_REQUEST = "It is not known whether the request was created."
_UNKNOWN_REQUEST_ADVICE = (
    "Nothing has moved, and nobody can pay a request without its id. Look for it: the service lists requests by their "
    "reference, also before they are paid."
)
_LOOKS: Mapping[str, tuple[Kind, str, str]] = {
    "not_yet": ("warning", "It is not there yet.", "A request can take a moment to appear."),
    "absent": ("info", "Two whole lists lack it: it was not created.", "Create a new request."),
    "unclear": (
        "warning",
        "The list does not show for certain which request is this one.",
        "One with its reference is older or differs, or there are several. Find out which is yours, and decide.",
    ),
}
"""The banner about the list of requests, by what a search for one found."""

_RECEIVER = ("paid_to", "payee", "client_user_id", "payment_details_id")
"""The fields that say what is paid."""

_ONLY_CREATED = "The request was created, but its transactions did not come."
_ASK_AGAIN = "Send again: it asks for the transactions of the same request."


class PaymentForm(Form):
    """A form that initiates a payment, then shows its card: whether to sign, and what the transactions do.

    It asks first what is to be paid: a wallet, or a stored bank account of a payer, one of those that *Look up* finds;
    the latter is **beyond the specification**. It suggests currencies by id, symbol or network. Nothing is paid until a
    wallet signs the transactions; then *Check again* asks whether the service has seen it.

    Args:
        client: From `connect()` or `sandbox()`.
        title: The title of the form; "Payment" by default.
        rate: The price of one unit of the payment currency in the invoice currency, as for `check_payment`; for a form
            that takes orders in several currencies, the rates of a policy fit better.
        policy: What you agreed to once, for all payments; card, findings and verdict are those under this policy.
        events: What `read_events` takes, such as the file of `payerkit events`, or a function that returns it: only
            events say what the bank does. It is read whenever you check. By default, a sandbox's own events.
        **options: Options of an ipywidget, such as `layout`.

    Attributes:
        result: The last `Payment`, or None.
        error: The exception of the last action, or None.
        findings: Before sending, the findings about the order; afterwards, those about the payment, with a `verdict`.
        done: True when the payment was initiated.

    Example:
        >>> form = PaymentForm(client)
        >>> form.fill(order)
        >>> payment = form.submit()
        >>> form.findings.verdict
        'look'
    """

    name = "payment"
    members = ("check_again",)
    model = PaymentEntry
    title = "Payment"
    submit_label = "Initiate payment"
    asking_action = "check"
    is_reviewed = True
    unknown_outcome = "It is not known whether the payment was initiated."
    unknown_outcome_advice = (
        "No money has moved: a wallet has to sign first. Send it again, and sign the transactions of one response only."
    )
    field_actions: ClassVar[Mapping[str, tuple[str, str]]] = {"client_user_id": ("Look up", "look_up")}

    def __init__(
        self,
        client: Client,
        *,
        title: str | None = None,
        rate: Decimal | int | str | None = None,
        policy: PaymentPolicy | None = None,
        events: Any = None,
        **options: Any,
    ) -> None:
        self._rate = None if rate is None else read_rate(rate)
        self._policy = given_policy(policy)
        self._events = events
        self._accounts = AccountChoice()
        self._created: PaymentRequest | None = None
        self._search: RequestSearch | None = None
        self._progress = PaymentProgress()
        super().__init__(client, title=title, **options)

    @property
    def findings(self) -> Findings:
        """Findings about the order; after sending, those about the payment, with a `verdict`."""
        with form_lock:
            return self._card(self._result).findings if self._is_done else super().findings

    def _card(self, payment: Payment) -> PaymentCard:
        """Return the card of a payment, which knows what the service said last, and asks nothing."""
        asked = None if self._progress.status is None else self._progress
        return payment.card(rate=self._rate, policy=self._policy, client=asked)

    @without_internal_frames
    def fill(self, values: RequestModel | Mapping[Any, Any] | None = None, /, **fields: Any) -> None:
        """Set values as if they were typed; other fields keep theirs.

        A value that only a wallet or only an account has chooses what is paid, as `paid_to` does, which is "wallet" or
        "account"; the values of the other are cleared.

        Args:
            values: A `PaymentOrder` or a `PayoutOrder`, or a mapping from field names or wire names to values.
            **fields: Values by field name; they win over `values`. None or "" clears a field.

        Raises:
            InvalidInput: A name is not a field of the form. No value is set then. Wrong values do not raise: see
                `findings`.

        Example:
            >>> form = PaymentForm(client)
            >>> form.fill(order, amount="25.50")
            >>> form
            <PaymentForm: 5 of 9 fields>
        """
        chosen = {"paid_to": "account"} if isinstance(values, PayoutOrder) else {}
        super().fill(values, **(chosen | fields))

    @without_internal_frames
    def submit(self, *, anyway: bool = False) -> Payment:
        """Send the values, as the button does; the form shows the outcome, too.

        Args:
            anyway: Send in spite of warnings.

        Returns:
            The payment, also kept as `result`.

        Raises:
            InvalidInput: The values have errors, as `check_payment_order` finds them, or warnings without `anyway`; or
                they were sent already. Nothing was sent.
            PayerkitError: A call failed, as `initiate_payment` would raise it, or `create_request` and
                `request_payment`. Also kept as `error`.

        Warns:
            RealMoneyWarning: Before sending, as `initiate_payment` does, if `anyway` sends in spite of the finding that
                says the same.
            PayoutWarning: Likewise, as `request_payment` does.

        Example:
            >>> form = PaymentForm(client)
            >>> form.fill(order)
            >>> payment = form.submit()
            >>> payment is form.result
            True
        """
        if anyway:
            for warning in self._warnings():
                warnings.warn(warning, stacklevel=3)  # the caller is above one decorator
        payment: Payment | None = super().submit(anyway=anyway)
        if payment is None:  # interrupted between the two calls
            raise KeyboardInterrupt(f"{_ONLY_CREATED} {_ASK_AGAIN}")
        return payment

    @without_internal_frames
    def check_again(self) -> RequestStatus:
        """Ask whether the payment is paid, as the button does; the form shows it, too: **beyond the specification**.

        Returns:
            What the service says about the request. Only events say what the bank does.

        Raises:
            InvalidInput: Nothing was sent, or the payment has no request id.
            PayerkitError: The call failed, as `get_request` would raise it. Also kept as `error`.

        Example:
            >>> form = PaymentForm(client)
            >>> form.fill(order)
            >>> payment = form.submit()
            >>> form.check_again().has_been_paid
            False
        """
        with self._changing():
            if not self._is_done:
                raise InvalidInput("There is no payment to ask about. Send the form first.")
            self._error = None
            if (error := self._check_payment()) is not None:
                raise error
            return cast("RequestStatus", self._progress.status)  # which it has just brought

    def offer_account(self, bank_details: BankDetailsForm) -> None:
        """Choose the account that was stored last, and its payer, unless somebody chose the receiver.

        If no account was stored for the present payer, what was chosen for another one is cleared.

        Args:
            bank_details: The form in which the account was stored.

        Example:
            >>> bank_details = BankDetailsForm(client, "user-123")
            >>> bank_details.fill(details)
            >>> detail = bank_details.submit()
            >>> form = PaymentForm(client)
            >>> form.offer_account(bank_details)
            >>> form
            <PaymentForm: 4 of 9 fields>
        """
        stored, accounts, offered = bank_details.result, AccountChoice(), dict.fromkeys(_RECEIVER, "")
        if stored is not None:
            accounts = bank_details.account_choice()
            offered |= {"paid_to": "account", "client_user_id": accounts.client_user_id}
            offered |= {"payment_details_id": stored.id or ""}
        with form_lock:
            if not self._takes_values or not all(map(self._entries.is_free, _RECEIVER)):
                return
            before = self._entries.visible_values()
            self._accounts = accounts
            for name, value in offered.items():
                self._entries.choose(name, value)
            self._follow(_RECEIVER)
            self._note_change()
            self._post(self._view(self._entries.changed_since(before)))

    def _warnings(self) -> list[UserWarning]:
        """Return the warnings about an order that can be sent; fields with an error are not sent."""
        with form_lock:
            if self._is_done:
                return []
            values, errors = self._entries.visible_values(), self._entries.findings().errors
            account = self._accounts.find(values["payment_details_id"])
            order = None if errors else self._entries.build()
        wrong = {each.field for each in errors}
        found = order_warnings(values["payee"], values["payment_currency"], self._client.environment)
        shown: list[UserWarning] = [warning for name, warning in found.items() if name not in wrong]
        if account is not None and isinstance(order, AccountOrder):
            shown += payout_warnings(account, order.order)
        return shown

    def _check(self, values: Mapping[str, Any]) -> Findings:
        account = self._accounts.find(values.get("payment_details_id"))
        policy, environment = self._policy, self._client.environment
        return Findings(check_entry(values, policy=policy, environment=environment, account=account))

    def _make_spec(self, title: str) -> dict[str, Any]:
        return super()._make_spec(title) | {"optional": OPTIONAL, "chooser": ("paid_to", _CHOOSE)}

    def _follow(self, changed: Collection[str]) -> None:
        """Take over what the changed values say about others: what is paid, whose accounts, and their currency."""
        self._follow_receiver(changed)
        if self._entries.visible_values()["client_user_id"] != self._accounts.client_user_id:
            self._accounts = AccountChoice()
            if "client_user_id" in changed and "payment_details_id" not in changed:
                self._entries.clear(["payment_details_id"])
        self._follow_account()

    def _follow_receiver(self, changed: Collection[str]) -> None:
        """Choose what is paid from the fields that only one of both has, and clear those of the other."""
        values = self._entries.visible_values()
        kinds = {PAYMENT_FIELDS.fields[name].applies_to for name in changed if values[name]} - {""}
        if "paid_to" not in changed and len(kinds) == 1 and kinds != {values["paid_to"]}:
            self._entries.choose("paid_to", kinds.pop())
        asked = fields_of(self._entries.visible_values()["paid_to"])
        self._entries.clear(name for name in PAYMENT_FIELDS.fields if name not in asked)

    def _follow_account(self) -> None:
        """Offer the accounts that are known, and choose the currency of the chosen one."""
        chosen = self._entries.visible_values()["payment_details_id"]
        self._entries.choices = {"payment_details_id": self._accounts.options(chosen)}
        account = self._accounts.find(chosen)
        if self._entries.is_free("invoice_currency"):
            self._entries.choose("invoice_currency", ((account and account.currency) or "").upper())

    def _own_notes(self) -> dict[str, str]:
        notes = {"payment_details_id": self._accounts.summary()} if self._accounts.client_user_id else {}
        if "invoice_currency" in self._entries.chosen:
            notes["invoice_currency"] = "Chosen, since the account has this currency."
        return notes

    def _first_field(self) -> str:
        return "payment_details_id" if self._accounts.client_user_id else super()._first_field()

    def _reopen(self, *, clear: bool = False) -> None:
        super()._reopen(clear=clear)
        self._progress = PaymentProgress()
        if clear:
            self._accounts, self._created, self._search = AccountChoice(), None, None
            self._entries.choices = {}

    def _outcome(self) -> str:
        return self._progress.in_words() or f"verdict {self._card(self._result).verdict.upper()}"

    def _call(self, request: PaymentOrder | AccountOrder) -> Payment:
        if isinstance(request, PaymentOrder):
            return self._make(payment_call(request, self._client.environment))
        return self._pay_account(request)

    def _pay_account(self, request: AccountOrder) -> Payment:
        """Create a request, unless one was created for the same order before, and get its transactions."""
        environment, account_id = self._client.environment, request.payment_details_id
        records = self._make(payment_details_call(request.client_user_id, payment_details_id=account_id))
        account = account_to_pay(records, request)
        created = self._created
        if created is None or not is_created_for(created, request.order):
            order = with_reference(request.order)
            self._search = RequestSearch(order)
            created = self._make(request_call(order, environment))
        self._known = created
        return self._make(request_payment_call(payout_of(created, account, request), created.order, environment))

    def _finish(self, outcome: Payment | PaymentRequest) -> None:
        """Take over a payment; or a request alone, if the form was interrupted before its transactions came."""
        if isinstance(outcome, PaymentRequest):
            self._is_unknown, self._state = False, FormState()
            self._note_created(outcome)
            return
        self._created, self._progress = None, PaymentProgress(pays_account=outcome.payout is not None)
        super()._finish(outcome)

    def _fail(self, error: Failure, *, is_sending: bool) -> None:
        super()._fail(error, is_sending=is_sending)
        if isinstance(self._known, PaymentRequest):
            self._note_created(self._known)
        elif isinstance(error, UnknownOutcome) and self._pays_account:
            self._entries.clear(["reference"])  # a request that has it may be there: another one gets a new reference

    def _note_created(self, created: PaymentRequest) -> None:
        """Keep a request whose transactions did not come, so that sending again makes no second one."""
        self._created = created
        banner = self._state.banner or Banner("warning", "")
        lines = (*banner.lines, *Banner.of("info", "", _ASK_AGAIN).lines)
        self._state = replace(self._state, banner=replace(banner, title=_ONLY_CREATED, lines=lines))

    @property
    def _pays_account(self) -> bool:
        return self._entries.visible_values()["paid_to"] == "account"

    def _unknown_words(self) -> tuple[str, str]:
        return (_UNKNOWN_REQUEST, _UNKNOWN_REQUEST_ADVICE) if self._pays_account else super()._unknown_words()

    def _unknown_buttons(self) -> tuple[Button, ...]:
        again, edit = super()._unknown_buttons()
        if self._search is None or not self._pays_account:
            return again, edit
        is_absent = self._search.state == "absent"
        look = Button("Look for it", "look", kind="" if is_absent else "primary")
        again = again._replace(label="Create a new request", kind="primary" if is_absent else "")
        return (again, look, edit) if is_absent else (look, again, edit)

    def _state_of(self, response: Payment) -> FormState:
        return self._shown(response, _BANNERS[self._card(response).verdict])

    def _shown(self, payment: Payment, banner: Banner) -> FormState:
        """Return the state of a form that shows a payment: its card, and whether it is paid."""
        card, progress = self._card(payment)._repr_html_(), self._progress
        check = Button("Check again", "check", kind="" if progress.is_over else "primary")
        buttons = (Button("Edit the order", "edit"), Button("New payment", "new"))
        if not payment.request_id:  # there is nothing to ask about
            return FormState("done", banner=banner, html=card, buttons=buttons)
        shown = card + progress.picture()
        if progress.is_paid:
            shown = progress.picture() + html.folded("The card that was to be signed", card)
        return FormState("done", banner=banner, html=shown, buttons=(check, *buttons))

    def _run_action(self, action: str) -> None:
        if action == "look_up":
            self._look_up()
        elif action == "check":
            self._check_payment()
        elif action == "look" and self._search is not None:
            self._run("Looking for the request", partial(self._search.look, self._client), self._show_look)
        else:
            super()._run_action(action)

    def _show_look(self, created: PaymentRequest | None) -> None:
        """Take over the request whose outcome was unknown, or show what the list says."""
        if created is not None:
            self._finish(created)
        elif self._search is not None:
            retry_at = self._search.retry_at if self._search.state == "not_yet" else -math.inf
            banner = Banner.of(*_LOOKS[self._search.state], retry_at=retry_at)
            self._state = replace(self._state, banner=banner, buttons=self._unknown_buttons())

    def _look_up(self) -> None:
        """List the accounts of the payer. Raises InvalidInput without a payer's id."""
        payer = self._entries.visible_values()["client_user_id"]
        self._entries.touched.add("client_user_id")
        if problem := id_problem(payer):
            raise InvalidInput("Enter the payer's id first.", fields=(problem_of("client_user_id", *problem),))
        read = partial(self._make, payment_details_call(payer))
        self._run("Looking up the accounts", read, partial(self._show_accounts, payer))

    def _show_accounts(self, payer: str, records: Sequence[Mapping[str, Any]]) -> None:
        """Offer the accounts of a payer; choose the only one that can be paid."""
        self._accounts = AccountChoice(payer, records)
        approved = self._accounts.approved()
        if self._accounts.find(self._entries.visible_values()["payment_details_id"]) is None:
            self._entries.clear(["payment_details_id"])
        if len(approved) == 1 and self._entries.is_free("payment_details_id"):
            self._entries.choose("payment_details_id", approved[0])
        self._follow_account()
        title = f"{visible(payer)} has no approved account."
        banner = None if approved else Banner.of("warning", title, "Store an account, or wait until one is approved.")
        self._state = FormState(banner=banner)

    def _ask_again(self) -> None:
        super()._ask_again()
        if self._is_done and self._error is None and not self._progress.is_paid:
            self._state = replace(self._state, banner=_BANNERS[self._card(self._result).verdict])

    def _check_payment(self) -> Failure | None:
        """Ask whether the payment is paid. Raises InvalidInput for a payment without an id."""
        if not self._result.request_id:
            raise InvalidInput("The payment has no request id, so the service cannot be asked about it.")
        return self._run("Asking whether it is paid", self._ask, self._show_progress)

    def _ask(self) -> PaymentProgress:
        """Return what the service says now, and of a payment to an account, what events say of the bank."""
        request_id, pays_account = self._result.request_id, self._progress.pays_account
        status = self._make(request_status_call(request_id, RequestStatus.read))
        events = self._events
        if events is None and self._client.sandbox is not None:
            events = self._client.sandbox.events
        is_asked = pays_account and status.has_been_paid is True and events is not None
        bank, reason = bank_state(events, request_id) if is_asked else (None, "")
        return replace(PaymentProgress(status, bank, reason), pays_account=pays_account)

    def _show_progress(self, progress: PaymentProgress) -> None:
        self._progress = progress
        self._state = self._shown(self._result, progress.banner())


_BANNERS = {
    "ok": Banner.of("success", "Payment initiated.", "No money moves until a wallet signs."),
    "look": Banner.of("warning", "Payment initiated. Read the warnings before anyone signs."),
    "stop": Banner.of("error", "Payment initiated. Do not sign it: read the errors."),
}


_AFTER_SIGNING = 'When a wallet has signed and sent the transactions, press "Check again".'
_NOT_SEEN = "The service has not seen it on the blockchain; after signing, that takes a few minutes."
_BANK_UNKNOWN = "Only events say whether the bank has the money, and none is known."


@dataclass(frozen=True, slots=True)
class PaymentProgress:
    """What the service says about a payment, asked at a time; nothing before it was asked.

    status: that of the request. bank: the state of the payout, from events; None if none is known. reason: why the
    payout stopped, in the words of an event. pays_account: whether it pays out to a bank account.
    """

    status: RequestStatus | None = None
    bank: Explanation | None = None
    reason: str = ""
    pays_account: bool = False
    asked_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def request_members(self, request_id: str) -> dict[str, Any]:  # noqa: ARG002 - as a client is asked
        """Return all that the service said when it was asked, by the names on the wire, for `check_payment`."""
        return {} if self.status is None else self.status.to_dict(reveal=True)

    @property
    def is_paid(self) -> bool:
        """True if the service has seen it paid on the blockchain."""
        return self.status is not None and self.status.has_been_paid is True

    @property
    def is_over(self) -> bool:
        """True if asking again changes nothing."""
        return self.bank.final if self.bank is not None else self.is_paid and not self.pays_account

    def in_words(self) -> str:
        """Return the state in a few words, such as "paid" or "fiat sent"; "" unless it is paid."""
        return "" if not self.is_paid else "paid" if self.bank is None else in_words(self.bank.status)

    def banner(self) -> Banner:
        """Return the banner about what the service says now."""
        if not self.is_paid:
            return Banner("info", "Not paid yet, as far as the service knows.")
        stopped = self.bank is not None and self.bank.final and not self.bank.is_passed
        kind: Kind = "error" if stopped else "success"
        return Banner.of(kind, "Paid. Do not sign these transactions again.", self.bank.meaning if self.bank else "")

    def picture(self) -> str:
        """Return an HTML table: the payment, and the bank if it is paid out."""
        if self.status is None:
            words = f"{html.chip('neutral', 'not asked yet')} {html.escape(_AFTER_SIGNING)}"
            return html.table([("Payment", words)], caption="After signing")
        asked = f"Asked at {self.asked_at:%H:%M:%S} UTC."
        chip = html.chip(*_PAID[self.status.has_been_paid])
        rows = [("Payment", f"{chip} {html.escape(self._details(self.status))} {html.small(asked)}")]
        if self.is_paid and self.bank is not None:
            says = " ".join(filter(None, [self.reason, self.bank.next_step]))
            rows.append(("Bank", f"{status_chip(self.bank)} {html.escape(says)}"))
        elif self.is_paid and self.pays_account:
            rows.append(("Bank", f"{html.chip('neutral', 'not known')} {html.escape(_BANK_UNKNOWN)}"))
        return html.table(rows, caption="After signing")

    def _details(self, status: RequestStatus) -> str:
        """Return what else the service says: whether a part of it is paid, and by which transaction."""
        is_part = bool(status.paid_amount) and not self.is_paid
        part = f"Paid in part: {status.paid_amount:f}." if is_part else ""
        by = f"By the transaction {status.tx_hash}." if status.tx_hash else ""
        return " ".join(filter(None, [part, by])) or ("" if self.is_paid else _NOT_SEEN)


_PAID: dict[bool | None, tuple[html.Kind, str]] = {
    True: ("success", "paid"),
    False: ("neutral", "not paid yet"),
    None: ("warning", "paid or not: the service does not say"),
}
"""The chip for each thing that the service says."""


def bank_state(events: Any, request_id: str) -> tuple[Explanation | None, str]:
    """Return the last state of a request's payout and its reason, as events say; None and "" without any.

    events: a table of `read_events`, what `read_events` takes, or a function that returns either.
    """
    from payerkit.events.read_events import read_events  # noqa: PLC0415 - loads pandas
    from payerkit.payouts.coverage import NewsIndex  # noqa: PLC0415 - likewise

    given = events() if callable(events) else events
    frame = given if hasattr(given, "columns") else read_events(given)
    latest = NewsIndex(frame).of_request([("request_id", request_id.lower())]).latest
    return (None, "") if latest is None else (explain_word(latest.status, "payment"), latest.reason or "")
