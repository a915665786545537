"""The form that initiates a payment, shows what its transactions do, and asks whether it is paid."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

from payerkit import html
from payerkit.checks.schema import PAYMENT_FORM
from payerkit.client.client import Client, request_status_call
from payerkit.client.node import KeptAnswers, Node, NodeError
from payerkit.endpoints import payer_status_call, payment_call, payment_details_call
from payerkit.errors import (
    FieldProblem,
    InvalidInput,
    PayerkitError,
    Refused,
    ServiceError,
    UnknownOutcome,
    UnreadableAnswer,
    without_internal_frames,
)
from payerkit.findings import Finding, Findings, PaymentFindings
from payerkit.forms.bank_details import BankDetailsForm
from payerkit.forms.form import Failure, Form, form_lock
from payerkit.forms.stored_account import (
    OPTIONAL,
    AccountChoice,
    AccountOrder,
    PaymentEntry,
    account_to_pay,
    check_entry,
    fields_of,
    is_created_for,
    payout_of,
)
from payerkit.forms.view import Banner, Button, FormState, Kind, Line
from payerkit.models import PayerStatus, Payment, PaymentOrder, PaymentRequest, RequestStatus
from payerkit.models.payments import ComparedWith
from payerkit.onchain.addresses import address_problem
from payerkit.onchain.amounts import format_amount, read_rate
from payerkit.onchain.currencies import Currency, native_currency
from payerkit.payment.compare import NODE_URL, Comparison
from payerkit.payment.execute import read_holdings
from payerkit.payouts.lists import RequestSearch
from payerkit.payouts.request_calls import request_call, request_payment_call, with_reference
from payerkit.policy.payment_policy import PaymentPolicy, given_policy
from payerkit.signing.card import IMITATION, PaymentCard
from payerkit.wire import id_problem, wire_name
from payerkit.wording import in_form, listed, visible

_BEYOND = "Payments to stored accounts are beyond the specification: a service may not offer them."
_CHOOSE = "Choose the way of payment first: the other fields follow from it."
_UNKNOWN_REQUEST = "It is not known whether the request was created."
_UNKNOWN_REQUEST_ADVICE = (
    "Nothing has moved, and nobody can pay a request without its id. Look for it: the service lists requests by their "
    "reference, also before they are paid."
)


def holdings_words(node: str | Node, wallet: str, currency: Currency) -> str:
    """Return what a wallet holds, as a node says, in words; why that is not known, if it does not say it."""
    try:
        held = read_holdings(node, wallet, currency)
    except (NodeError, InvalidInput) as error:
        return (
            f"What it holds is not known: the node fails, since {error}" if isinstance(error, NodeError) else str(error)
        )
    coin = native_currency(currency.network)
    amounts = [(held.balance, currency), (held.coins, coin)]
    words = [format_amount(amount, of) for amount, of in amounts if amount is not None and of is not None]
    may = "" if held.allowance is None else f" The payment contract may take {format_amount(held.allowance, currency)}."
    return f"It holds {listed(words)}.{may}" if words else "The node does not say what it holds."


_LOOKS: Mapping[str, tuple[Kind, str, str]] = {
    "not_yet": ("warning", "It is not there yet.", "A request can take a moment to appear. Look again soon."),
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

_NOT_OFFERED = (404, 405)
"""The statuses with which a service responds to a call that it does not have."""

_ONLY_CREATED = "The request was created, but its transactions did not come."
_ASK_AGAIN = "Send again: it asks for the transactions of the same request."


class PaymentForm(Form):
    """A form that initiates a payment, then shows its card: whether to sign, and what the transactions do.

    It asks first what is to be paid: a wallet, or a stored bank account of a payer, one of those that *Look up* finds;
    the latter is **beyond the specification**. A value that only one of them has chooses it, as `paid_to` does, which
    is "wallet" or "account"; the values of the other are cleared. It suggests currencies by id, symbol or network.

    Nothing is paid until a wallet signs the transactions: `save` and `to_safe` hand them over, once the service says
    that they may be paid. *Check again* asks whether it has seen the payment.

    Args:
        client: From `connect()` or `sandbox()`.
        rate: The price of one unit of the payment currency in the invoice currency, as for `check_payment`; for a form
            that takes orders in several currencies, the rates of a policy fit better.
        policy: What you agreed to once, for all payments; card, findings and verdict are those under this policy.
        node: The address of a node, as for `check_payment`. It is asked when the response came and by *Check again*,
            and what a wallet holds, once the wallet is entered; never while the form is drawn.
        **options: Options of an ipywidget, such as `layout`.

    Attributes:
        result: The last `Payment`, or None.
        error: The exception of the last action, or None.
        policy: The policy, with what a person agreed to beside a finding of the card.
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
    members = ("check_again", "policy", "save", "to_safe")
    model = PaymentEntry
    title = "Payment"
    submit_label = "Get the transactions"
    asking_action = "check"
    is_reviewed = True
    unknown_outcome = "It is not known whether the payment was prepared."
    unknown_outcome_advice = (
        "No money has moved: a wallet has to sign first. Send it again, and sign the transactions of one response only."
    )
    field_actions: ClassVar[Mapping[str, tuple[str, str]]] = {"client_user_id": ("Look up", "look_up")}

    @without_internal_frames
    def __init__(
        self,
        client: Client,
        *,
        rate: Decimal | int | str | None = None,
        policy: PaymentPolicy | None = None,
        node: str | Node | None = None,
        **options: Any,
    ) -> None:
        self._rate = None if rate is None else read_rate(rate)
        self._policy, self._node = given_policy(policy), node
        for given in (node, *self._policy.nodes.values(), os.environ.get(NODE_URL)):
            if given:  # what is no address of a node is refused before anything is sent
                KeptAnswers(given)
        self._answers: KeptAnswers | None = None
        self._card: PaymentCard | None = None
        self._wallet = ""
        self._holdings: tuple[Any, str] = (None, "")
        self._accounts = AccountChoice()
        self._created: PaymentRequest | None = None
        self._search: RequestSearch | None = None
        self._asked: AskedRequest | None = None
        self._is_compliant = True
        super().__init__(client, **options)

    @property
    def policy(self) -> PaymentPolicy:
        """The policy of the form: the given one, with what a person agreed to beside a finding; `save` keeps it."""
        with form_lock:
            return self._policy

    def _compared(self, payment: Payment) -> ComparedWith:
        """Return what a payment is compared with: what the service said last, and a node, which is not asked twice."""
        if self._answers is None:
            node = Comparison(payment, policy=self._policy, node=self._node).node
            self._answers = None if node is None else KeptAnswers(node)
        given: ComparedWith = {"rate": self._rate, "policy": self._policy, "client": self._asked}
        return given | {"node": self._answers, "wallet": self._wallet or None}

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
            self._answers = None
            if (error := self._check_payment()) is not None:
                raise error
            return cast("AskedRequest", self._asked).status  # which it has just brought

    @without_internal_frames
    def save(self, path: str | Path, *, anyway: bool = False) -> None:
        """Ask the service once more, then write the payment to a file for those who sign, as `Payment.save` does.

        Args:
            path: The file, which `read_payment` and `payerkit inspect` read. It has the response unmasked.
            anyway: Write it in spite of what would refuse it, and of a service that cannot be asked about requests.

        Raises:
            InvalidInput: Nothing was sent, the verdict is "stop", the service does not say whether the request is paid,
                or it does not say that the payer is compliant. Nothing was written; the form shows it, too.
            PayerkitError: The service could not be asked. Nothing was written. Also kept as `error`.
            OSError: The file cannot be written.

        Example:
            >>> form = PaymentForm(client)
            >>> form.fill(order)
            >>> payment = form.submit()
            >>> form.save("payment.json")
        """
        self._hand_over(path, lambda payment: payment.save(path), anyway=anyway)

    @without_internal_frames
    def to_safe(self, path: str | Path, *, safe: str, anyway: bool = False) -> None:
        """Ask the service once more, then write the transactions for Safe's Transaction Builder, as `Payment.to_safe`.

        Args:
            path: Where to write it, such as "safe.json".
            safe: The address of the Safe that pays.
            anyway: Write it in spite of what would refuse it.

        Raises:
            InvalidInput: As `save` raises it, or as `Payment.to_safe` does. Nothing was written.
            PayerkitError, OSError: As `save` raises them.

        Example:
            >>> form = PaymentForm(client)
            >>> form.fill(order)
            >>> payment = form.submit()
            >>> form.to_safe("safe.json", safe="0x111CEEee040739fD91D29C34C33E6B3E112F2177")
        """

        def write(payment: Payment) -> None:
            payment.to_safe(path, safe=safe, anyway=anyway, **self._compared(payment))

        self._hand_over(path, write, anyway=anyway)

    def _hand_over(self, path: str | Path, write: Callable[[Payment], None], *, anyway: bool) -> None:
        """Ask whether the payment may be signed, and write it to a file. Raises, and shows, why it may not."""
        with self._changing():
            try:
                error = self._check_payment(is_to_sign=True)
                is_offered = not (isinstance(error, Refused) and error.status_code in _NOT_OFFERED)
                if error is not None and (is_offered or not anyway):
                    raise error
                if not anyway:
                    self._refuse_to_hand_over()
                self._error = None
                write(self._result)
            except InvalidInput as error:
                self._show_failure(error)
                raise
            title = f"Handed over: {visible(Path(path).name)}."
            line = "The service was asked just now: not paid yet. Sign it once only."
            self._state = replace(self._state, banner=Banner.of("success", title, "" if anyway else line))

    def _refuse_to_hand_over(self) -> None:
        """Raise InvalidInput for a payment that is not to be signed, by what the service has just said."""
        findings = cast("PaymentFindings", self.findings)
        doubts = [*findings.errors, *(each for each in findings.warnings if each.field == "has_been_paid")]
        if doubts:
            raise InvalidInput(f"Not handed over. {doubts[0].message}", advice=doubts[0].hint)
        if not self._is_compliant:
            message = "Not handed over. The service does not say that the payer is compliant."
            raise InvalidInput(message, advice="Look at the payer's status: the identity check and the agreement.")

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

    def _check(self, values: Mapping[str, Any]) -> Findings:
        account = self._accounts.find(values.get("payment_details_id"))
        policy, environment = self._policy, self._client.environment
        return Findings(check_entry(values, policy=policy, environment=environment, account=account))

    def _make_spec(self) -> dict[str, Any]:
        spec = {"optional": OPTIONAL, "chooser": ("paid_to", _CHOOSE), "marks": {"paid_to": _BEYOND}}
        return super()._make_spec() | spec

    def _follow(self, changed: Collection[str]) -> None:
        """Take over what the changed values say about others: what is paid, whose accounts, and their currency."""
        self._follow_receiver(changed)
        if self._entries.visible_values()["client_user_id"] != self._accounts.client_user_id:
            self._accounts = AccountChoice()
            if "client_user_id" in changed and "payment_details_id" not in changed:
                self._entries.clear(["payment_details_id"])
        self._follow_account()
        self._follow_wallet()

    def _follow_wallet(self) -> None:
        """Ask a node once what a wallet holds of the payment currency, if both are known and there is a node."""
        values = self._entries.visible_values()
        wallet, currency = values["wallet"], self._policy.find_currency(values["payment_currency"])
        network = "" if currency is None else currency.network
        node = self._node or self._policy.nodes.get(network) or os.environ.get(NODE_URL)
        if currency is None or node is None or not wallet or address_problem(wallet):
            self._holdings = (None, "")
        elif self._holdings[0] != (wallet, currency):
            self._holdings = ((wallet, currency), holdings_words(node, wallet, currency))

    def _follow_receiver(self, changed: Collection[str]) -> None:
        """Choose what is paid from the fields that only one of both has, and clear those of the other."""
        values = self._entries.visible_values()
        kinds = {PAYMENT_FORM.fields[name].applies_to for name in changed if values[name]} - {""}
        if "paid_to" not in changed and len(kinds) == 1 and kinds != {values["paid_to"]}:
            self._entries.choose("paid_to", kinds.pop())
        asked = fields_of(self._entries.visible_values()["paid_to"])
        self._entries.clear(name for name in PAYMENT_FORM.fields if name not in asked)

    def _follow_account(self) -> None:
        """Offer the accounts that are known, and choose the currency of the chosen one."""
        chosen = self._entries.visible_values()["payment_details_id"]
        self._entries.choices = {"payment_details_id": self._accounts.options(chosen)}
        account = self._accounts.find(chosen)
        if self._entries.is_free("invoice_currency"):
            self._entries.choose("invoice_currency", ((account and account.currency) or "").upper())

    def _own_notes(self) -> dict[str, str]:
        notes = {"payment_details_id": self._accounts.summary()} if self._accounts.client_user_id else {}
        if self._holdings[1]:
            notes["wallet"] = self._holdings[1]
        if "invoice_currency" in self._entries.chosen:
            notes["invoice_currency"] = "Chosen, since the account has this currency."
        return notes

    def _first_field(self) -> str:
        return "payment_details_id" if self._accounts.client_user_id else super()._first_field()

    def _reopen(self, *, clear: bool = False) -> None:
        super()._reopen(clear=clear)
        self._asked = self._answers = self._card = None
        if clear:
            self._accounts, self._created, self._search = AccountChoice(), None, None
            self._holdings = (None, "")
            self._entries.choices = {}

    def _outcome(self) -> str:
        return "paid" if self._is_paid else f"verdict {self._card.verdict.upper()}" if self._card else ""

    def _call(self, request: PaymentOrder | AccountOrder) -> Payment:
        self._wallet = self._entries.visible_values()["wallet"]
        if isinstance(request, PaymentOrder):
            return self._make(payment_call(request, self._client.environment))
        return self._pay_account(request)

    def _pay_account(self, request: AccountOrder) -> Payment:
        """Create a request, unless one was created for the same order before, and get its transactions."""
        environment, account_id = self._client.environment, request.payment_details_id
        if self._created is not None and not is_created_for(self._created, request.order):
            self._created = None
        records = self._make(payment_details_call(request.client_user_id, payment_details_id=account_id))
        account = account_to_pay(records, request)
        if self._created is None:
            self._refuse_payer(request.client_user_id)
            order = with_reference(request.order)
            self._search = RequestSearch(order)
            self._created = self._make(request_call(order))
            self._has_left = False  # its outcome is known
        created = self._created
        return self._make(request_payment_call(payout_of(created, account, request), created.order, environment))

    def _refuse_payer(self, client_user_id: str) -> None:
        """Raise InvalidInput for a payer who is not compliant, as far as the service says whether they are."""
        try:
            payer = self._make(payer_status_call(client_user_id, PayerStatus.read))
        except (Refused, ServiceError, UnreadableAnswer):  # a service may not have this call
            return
        if payer.is_compliant is False:
            step = in_form(payer.explain().next_step)
            problem = FieldProblem("client_user_id", wire_name("client_user_id"), step, "payer_waits")
            raise InvalidInput("The payer is not compliant yet. No request was created.", fields=(problem,))

    def _finish(self, response: Payment) -> None:
        self._created = self._asked = self._answers = None
        super()._finish(response)

    def _fail(self, error: Failure, *, is_sending: bool) -> None:
        super()._fail(error, is_sending=is_sending)
        banner = self._state.banner
        if is_sending and self._pays_account and self._created is not None and banner is not None:
            # Sending again makes no second request.
            banner = replace(banner, title=_ONLY_CREATED, lines=(*banner.lines, Line(_ASK_AGAIN)))
            self._state = replace(self._state, banner=banner)
        elif isinstance(error, UnknownOutcome) and self._pays_account:
            self._entries.clear(["reference"])  # a request that has it may be there: another one gets a new reference

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
        self._card = response.card(**self._compared(response))
        self._sent = self._card.findings
        headline = self._card.content.headline
        banner = _BANNERS[self._card.verdict]
        return self._shown(replace(banner, title=headline) if headline == IMITATION else banner)

    @property
    def _is_paid(self) -> bool:
        return self._asked is not None and self._asked.status.has_been_paid is True

    @property
    def _agreeable(self) -> list[str]:
        """The lines of a policy that a person can agree to beside a finding; none if anything else is wrong."""
        if self._card is None or self._card.verdict != "look":
            return []
        found = [each.policy_lines for each in self._card.findings if each.code in _AGREEMENTS and each.policy_lines]
        return [*dict.fromkeys(found)]

    def _actions_in_panel(self) -> list[str]:
        return [f"agree {place}" for place in range(len(self._agreeable))]

    def _controls(self, finding: Finding) -> str:
        """Return the button by which a person agrees to a finding, with a warning; "" if nobody can agree to it."""
        if finding.policy_lines not in self._agreeable or self._is_paid:
            return ""
        label, warning = _AGREEMENTS[finding.code]
        action = f"agree {self._agreeable.index(finding.policy_lines)}"
        button = f'<button type="button" class="button" data-action="{action}">{label}</button>'
        return f'<span class="agree">{button} <span class="help">{warning}</span></span>'

    def _agree(self, lines: str) -> None:
        """Take lines over into the policy, and judge the payment by it."""
        self._policy = self._policy.with_lines(lines)
        self._state = self._state_of(self._result)

    def _shown(self, banner: Banner) -> FormState:
        """Return the state of a form that shows the card of a payment."""
        card = "" if self._card is None else self._card.html_for_form(self._controls)
        buttons = [Button("Edit the order", "edit"), Button("New payment", "new")]
        if self._result.request_id:  # else there is nothing to ask about
            buttons.insert(0, Button("Check again", "check", kind="" if self._is_paid else "primary"))
        shown = html.folded("The card that was to be signed", card) if self._is_paid else card
        return FormState("done", banner=banner, html=shown, buttons=tuple(buttons))

    def _run_action(self, action: str) -> None:
        if action == "look_up":
            self._look_up()
        elif action == "check":
            self._answers = None
            self._check_payment()
        elif action in self._actions_in_panel():
            self._agree(self._agreeable[int(action.removeprefix("agree "))])
        elif action == "look" and self._search is not None:
            self._run("Looking for the request", partial(self._search.look, self._client), self._show_look)
        else:
            super()._run_action(action)

    def _show_look(self, created: PaymentRequest | None) -> None:
        """Take over the request whose outcome was unknown, or show what the list says."""
        if created is not None:
            self._created, self._is_unknown = created, False
            self._state = FormState(banner=Banner.of("warning", _ONLY_CREATED, _ASK_AGAIN))
        elif self._search is not None:
            banner = Banner.of(*_LOOKS[self._search.state])
            self._state = replace(self._state, banner=banner, buttons=self._unknown_buttons())

    def _look_up(self) -> None:
        """List the accounts of the payer. Raises InvalidInput without a payer's id."""
        payer = self._entries.visible_values()["client_user_id"]
        self._entries.touched.add("client_user_id")
        if id_problem(payer):  # a note at the field says which
            raise InvalidInput("Enter the payer's id first.")
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

    def _check_payment(self, *, is_to_sign: bool = False) -> Failure | None:
        """Ask whether the payment is paid. Raises InvalidInput without a payment, or for one without an id.

        is_to_sign: ask whether the payer is compliant, too, if it pays out to an account.
        """
        if not self._is_done:
            raise InvalidInput("There is no payment yet. Send the form first.")
        self._error = None
        if not self._result.request_id:
            raise InvalidInput("The payment has no request id, so the service cannot be asked about it.")
        return self._run("Asking whether it is paid", partial(self._ask, is_to_sign=is_to_sign), self._show_asked)

    def _ask(self, *, is_to_sign: bool) -> AskedRequest:
        payout = self._result.payout
        if is_to_sign and payout is not None:
            self._is_compliant = False
            with suppress(PayerkitError):  # a service may not have this call
                payer = self._make(payer_status_call(payout.client_user_id, PayerStatus.read))
                self._is_compliant = payer.is_compliant is True
        return AskedRequest(self._make(request_status_call(self._result.request_id, RequestStatus.read)))

    def _show_asked(self, asked: AskedRequest) -> None:
        self._asked = asked
        self._card = self._result.card(**self._compared(self._result))
        self._sent = self._card.findings
        self._state = self._shown(asked.banner(pays_account=self._result.payout is not None))

    def _ask_once(self) -> None:
        self._check_payment()  # without the node, which is asked by a person


_AGREEMENTS = {
    "fee": (
        "I agreed to this fee",
        "Only if your contract or the price list of the service names it: this card is no proof of it.",
    ),
    "payee_operator": (
        "This is the operator's address",
        "Only if the operator has confirmed it over a channel that you know: whoever controls it gets the money.",
    ),
}
"""The label of the button beside a finding, and the warning, by the code of the finding."""

_BANNERS = {
    "ok": Banner.of("success", "The transactions are here.", "No money moves until a wallet signs."),
    "look": Banner.of("warning", "The transactions are here. Read the warnings before anyone signs."),
    "stop": Banner.of("error", "The transactions are here. Do not sign them: read the errors."),
}


@dataclass(frozen=True, slots=True)
class AskedRequest:
    """What the service said about a request when it was asked."""

    status: RequestStatus

    def request_members(self, request_id: str) -> dict[str, Any]:  # noqa: ARG002 - as a client is asked
        """Return all that the service said, by the names on the wire, for `check_payment`."""
        return self.status.to_dict(reveal=True)

    def banner(self, *, pays_account: bool) -> Banner:
        """Return the banner about what the service said just now."""
        asked, status = f"Asked at {datetime.now(UTC):%H:%M:%S} UTC.", self.status
        if status.has_been_paid is True:
            by = f"By the transaction {status.tx_hash}." if status.tx_hash else ""
            bank = "Only events say whether the bank has the money: read_events() reads them." if pays_account else ""
            return Banner.of("success", "Paid. Do not sign these transactions again.", by, bank, asked)
        if status.has_been_paid is None:
            return Banner.of("warning", "The service does not say whether it is paid.", asked)
        part = f"Paid in part: {status.paid_amount:f}." if status.paid_amount else ""
        seen = "After signing, it takes a few minutes until the service has seen the payment."
        return Banner.of("info", "Not paid yet, as far as the service knows.", part or seen, asked)
