"""The form that initiates a payment, shows what its transactions do, and asks whether
it is paid.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

from payerkit import html
from payerkit.client.client import Client, request_status_call
from payerkit.client.node import Node
from payerkit.endpoints import payer_status_call, payment_call, payment_details_call
from payerkit.errors import (
    FieldProblem,
    InvalidInput,
    Refused,
    ServiceError,
    UnknownOutcome,
    UnreadableAnswer,
    without_internal_frames,
)
from payerkit.findings import Finding, Findings, PaymentFindings
from payerkit.forms.bank_details import BankDetailsForm
from payerkit.forms.banners import Banner, Button, FormState, Line
from payerkit.forms.form import Form
from payerkit.forms.stored_account import (
    OPTIONAL,
    AccountChoice,
    AccountOrder,
    PaymentEntry,
    asked_for,
    check_entry,
    is_created_for,
)
from payerkit.models import (
    PayerStatus,
    Payment,
    PaymentOrder,
    PaymentRequest,
    RequestStatus,
)
from payerkit.models.fields import fields_of
from payerkit.models.payments import ComparedWith
from payerkit.money.payout_requests import (
    find_payout,
    request_call,
    request_payment_call,
    with_reference,
)
from payerkit.payments.card import IMITATION
from payerkit.payments.onchain.amounts import read_rate
from payerkit.payments.payment_policy import PaymentPolicy, given_policy
from payerkit.wire import id_problem, wire_name
from payerkit.wording import visible

_UNKNOWN_REQUEST = "It is not known whether the request was created."
_UNKNOWN_REQUEST_ADVICE = (
    "Nothing has moved, and nobody can pay a request without its id. Send it again:"
    " that creates another request, with a reference of its own."
)
_ONLY_CREATED = "The request was created, but its transactions did not come."
_ASK_AGAIN = "Send again: it asks for the transactions of the same request."

_RECEIVER = ("paid_to", "payee", "client_user_id", "payment_details_id")
"""The fields that say what is paid."""

_NOT_OFFERED = (404, 405)
"""The statuses with which a service responds to a call that it does not have."""


class PaymentForm(Form):
    """A form that initiates a payment, then shows its card: whether to sign, and what
    the transactions do.

    It asks first what is to be paid: a wallet, or a stored bank account of a payer, one
    of those that *Look up* finds; the latter is **beyond the specification**. A value
    that only one of them has chooses it, as `paid_to` does, which is "wallet" or
    "account"; the values of the other are cleared. It suggests currencies by id, symbol
    or network.

    Nothing is paid until a wallet signs the transactions: `save` and `to_safe` hand
    them over, once the service says that they may be paid. *Check again* asks whether
    it has seen the payment.

    Args:
        client: From `connect()` or `sandbox()`.
        rate: The price of one unit of the payment currency in the invoice currency, as
            for `check_payment`; for a form that takes orders in several currencies, the
            rates of a policy fit better.
        policy: What you agreed to once, for all payments; card, findings and verdict
            are those under this policy.
        node: The address of a node, as for `check_payment`. It is asked whenever the
            payment is judged; never while the form is filled in.
        **options: Values by field name, such as `payee`; and options of an ipywidget:
            `layout`, `disabled`.

    Attributes:
        value: The `PaymentOrder` that the values make, or the `PayoutOrder` to a stored
            account; None while a field is wrong.
        result: The last `Payment`, or None.
        error: The exception of the last action, or None.
        policy: The policy, with what a person agreed to beside a finding of the card.
        findings: Before sending, the findings about the order; afterwards, those about
            the payment, with a `verdict`.
        done: True when the payment was initiated.

    Raises:
        InvalidInput: The rate, the policy or the node is not valid, or an option is
            neither a field nor an option of a widget.

    Example:
        >>> form = PaymentForm(client)
        >>> form.fill(order)
        >>> form.value.amount
        '10'
        >>> payment = form.submit()
        >>> form.findings.verdict
        'look'
    """

    members = ("check_again", "look_up", "policy", "save", "to_safe")
    model = PaymentEntry
    title = "Payment"
    purpose = "a payment"
    submit_label = "Get the transactions"
    is_reviewed = True
    unknown_outcome = "It is not known whether the payment was prepared."
    unknown_advice = (
        "No money has moved: a wallet has to sign first. Send it again, and sign the"
        " transactions of one response only."
    )
    chooser = "paid_to"
    choose_first = (
        "Choose the way of payment first: the other fields follow from it. Payments to"
        " stored accounts are beyond the specification: a service may not offer them."
    )
    beside_fields: ClassVar[Mapping[str, str]] = {"client_user_id": "Look up"}

    _created: PaymentRequest | None = None
    _asked: AskedRequest | None = None
    _wallet = ""

    @without_internal_frames
    def __init__(
        self,
        client: Client,
        *,
        rate: Decimal | int | str | None = None,
        policy: PaymentPolicy | None = None,
        node: str | None = None,
        **options: Any,
    ) -> None:
        self._rate = None if rate is None else read_rate(rate)
        self._policy = given_policy(policy)
        self._node = node
        if node is not None:  # refused before anything is sent, if it is not an address
            Node(node)
        self._accounts = AccountChoice()
        super().__init__(client, **options)

    @property
    def policy(self) -> PaymentPolicy:
        """The policy of the form: the given one, with what a person agreed to beside a
        finding; `save` keeps it. Setting another one judges the payment anew.
        """
        return self._policy

    @policy.setter
    def policy(self, policy: PaymentPolicy) -> None:
        self._refuse_while_busy()
        self._judge_by(given_policy(policy))
        self._refresh()

    def _compared(self) -> ComparedWith:
        """Return the arguments of `card` and `to_safe`, with the last answer of the
        service.
        """
        return {
            "rate": self._rate,
            "policy": self._policy,
            "client": self._asked,
            "node": self._node,
            "wallet": self._wallet or None,
        }

    # What is asked for

    def _check(self, values: Mapping[str, Any]) -> Findings:
        environment = self._client.environment
        return Findings(
            check_entry(values, policy=self._policy, environment=environment)
        )

    def _value_of(self, request: PaymentOrder | AccountOrder) -> Any:
        return request.order if isinstance(request, AccountOrder) else request

    def _is_optional(self, name: str) -> bool:
        return name in OPTIONAL

    def _is_needed(self, name: str) -> bool:  # noqa: ARG002 - what is needed is required
        return False

    def _follow(self, names: Collection[str]) -> None:
        """Take over what the named fields say about others: what is paid, whose
        accounts, and their currency.
        """
        self._follow_receiver(names)
        payer = self._entries.text("client_user_id")
        if payer != self._accounts.client_user_id:
            self._accounts = AccountChoice()
            if "client_user_id" in names and "payment_details_id" not in names:
                self._entries.clear(["payment_details_id"])
        self._follow_account()

    def _follow_receiver(self, names: Collection[str]) -> None:
        """Choose what is paid from the fields that only one of both has, and clear
        those of the other.
        """
        kinds = set()
        for name in names:
            if self._entries.text(name):
                kinds.add(fields_of(PaymentEntry)[name].applies_to)
        kinds.discard("")
        is_chosen = "paid_to" in names or kinds == {self._entries.text("paid_to")}
        if len(kinds) == 1 and not is_chosen:
            self._entries.choose("paid_to", kinds.pop())
        asked = asked_for(self._entries.text("paid_to"))
        others = [name for name in fields_of(PaymentEntry) if name not in asked]
        self._entries.clear(others)

    def _follow_account(self) -> None:
        """Offer the accounts that are known, and choose the currency of the chosen
        one.
        """
        chosen = self._entries.text("payment_details_id")
        options = self._accounts.options(chosen)
        self._entries.choices = {"payment_details_id": options}
        if self._entries.is_free("invoice_currency"):
            account = self._accounts.find(chosen)
            currency = (account.currency or "") if account is not None else ""
            self._entries.choose("invoice_currency", currency.upper())

    def _own_notes(self) -> dict[str, str]:
        notes = {}
        if self._accounts.client_user_id:
            notes["payment_details_id"] = self._accounts.summary()
        if "invoice_currency" in self._entries.chosen:
            notes["invoice_currency"] = "Chosen, since the account has this currency."
        return notes

    def _first_field(self) -> str:
        if self._accounts.client_user_id:
            return "payment_details_id"
        return super()._first_field()

    def offer_account(self, bank_details: BankDetailsForm) -> None:
        """Choose the account that was stored last, and its payer, unless somebody chose
        the receiver.

        If no account was stored for the present payer, what was chosen for another one
        is cleared.

        Args:
            bank_details: The form in which the account was stored.

        Example:
            >>> bank_details = BankDetailsForm(client, "user-123")
            >>> bank_details.fill(details)
            >>> detail = bank_details.submit()
            >>> form = PaymentForm(client)
            >>> form.offer_account(bank_details)
        """
        is_free = all(self._entries.is_free(name) for name in _RECEIVER)
        if not (self._takes_values and is_free):
            return
        offered = dict.fromkeys(_RECEIVER, "")
        self._accounts = AccountChoice()
        stored = bank_details.result
        if stored is not None:
            self._accounts = bank_details.account_choice()
            offered["paid_to"] = "account"
            offered["client_user_id"] = self._accounts.client_user_id
            offered["payment_details_id"] = stored.id or ""
        for name, value in offered.items():
            self._entries.choose(name, value)
        self._follow(_RECEIVER)
        self._note_change()
        self._refresh()

    @without_internal_frames
    def look_up(self) -> None:
        """Look up the accounts of the payer, as the button does: the form offers those
        that can be paid, and chooses the only one.

        Raises:
            InvalidInput: The form has no payer's id, or is being sent.
            PayerkitError: The call failed, as `list_payment_details` would raise it.
                Also kept as `error`.

        Example:
            >>> form = PaymentForm(client, client_user_id="user-123")
            >>> form.look_up()
        """
        try:
            self._look_up()
        finally:
            self._refresh()

    def _press_beside(self, name: str) -> None:  # noqa: ARG002 - one field has a button
        self._look_up()

    def _look_up(self) -> None:
        payer = self._entries.text("client_user_id")
        self._entries.touched.add("client_user_id")
        if id_problem(payer):  # a note at the field says which
            raise InvalidInput("Enter the payer's id first.")
        read = partial(self._make, payment_details_call(payer))
        self._run("Looking up the accounts", read, partial(self._show_accounts, payer))

    def _show_accounts(self, payer: str, records: Sequence[Mapping[str, Any]]) -> None:
        """Offer the accounts of a payer; choose the only one that can be paid."""
        self._accounts = AccountChoice(payer, records)
        approved = self._accounts.approved()
        chosen = self._entries.text("payment_details_id")
        if self._accounts.find(chosen) is None:
            self._entries.clear(["payment_details_id"])
        if len(approved) == 1 and self._entries.is_free("payment_details_id"):
            self._entries.choose("payment_details_id", approved[0])
        self._follow_account()
        banner = None
        if not approved:
            title = f"{visible(payer)} has no approved account."
            advice = "Store an account, or wait until one is approved."
            banner = Banner.of("warning", title, advice)
        self._state = FormState(banner=banner)

    # Sending

    def _call(self, request: PaymentOrder | AccountOrder) -> Payment:
        self._wallet = self._entries.text("wallet")
        if isinstance(request, PaymentOrder):
            return self._make(payment_call(request, self._client.environment))
        return self._pay_account(request)

    def _pay_account(self, request: AccountOrder) -> Payment:
        """Create a request, unless one was created for the same order before, and get
        its transactions.
        """
        created = self._created
        if created is not None and not is_created_for(created, request.order):
            self._created = None
        account = find_payout(
            self._client,
            request.client_user_id,
            request.payment_details_id,
            request_id="",
        )
        if self._created is None:
            payer = self._payer(request.client_user_id)
            if payer.is_compliant is False:
                step = payer.explain().next_step
                name = "client_user_id"
                problem = FieldProblem(name, wire_name(name), step, "payer_waits")
                raise InvalidInput(
                    "The payer is not compliant yet. No request was created.",
                    fields=(problem,),
                )
            self._created = self._make(request_call(with_reference(request.order)))
            self._has_written = False  # its outcome is known
        created = self._created
        payout = replace(
            account,
            request_id=str(created.request_id),
            payment_reference=created.payment_reference,
            reference=created.reference,
            wallet=request.wallet,
        )
        environment = self._client.environment
        return self._make(request_payment_call(payout, created.order, environment))

    def _payer(self, client_user_id: str) -> PayerStatus:
        """Return the status of a payer; one without values if the service does not
        have this call.
        """
        try:
            return self._make(payer_status_call(client_user_id, PayerStatus.read))
        except (Refused, ServiceError, UnreadableAnswer):
            return PayerStatus()

    def _clear(self) -> None:
        super()._clear()
        self._accounts = AccountChoice()
        self._created = None
        self._entries.choices = {}

    def _finish(self, response: Payment) -> None:
        self._created = None
        self._asked = None
        super()._finish(response)

    def _fail(self, error: BaseException, *, is_sending: bool) -> None:
        super()._fail(error, is_sending=is_sending)
        if not (is_sending and self._pays_account):
            return
        banner = self._state.banner
        if self._created is not None and banner is not None:
            # Sending again makes no second request.
            lines = (*banner.lines, Line(_ASK_AGAIN))
            banner = replace(banner, title=_ONLY_CREATED, lines=lines)
            self._state = replace(self._state, banner=banner)
        elif isinstance(error, UnknownOutcome):
            # A request that has it may be there: another one gets a new reference.
            self._entries.clear(["reference"])

    @property
    def _pays_account(self) -> bool:
        return self._entries.text("paid_to") == "account"

    def _unknown_words(self) -> tuple[str, str]:
        if self._pays_account:
            return _UNKNOWN_REQUEST, _UNKNOWN_REQUEST_ADVICE
        return super()._unknown_words()

    # The card

    def _state_of(self, response: Payment) -> FormState:
        card = response.card(**self._compared())
        self.set_trait("findings", card.findings)
        banner = _BANNERS[card.verdict]
        if card.content.headline == IMITATION:
            banner = replace(banner, title=IMITATION)
        shown = card.html_for_form(self._controls)
        if self._is_paid:
            shown = html.folded("The card that was to be signed", shown)
        return FormState("done", banner, html=shown)

    def _done_buttons(self) -> list[Button]:
        edit = Button("Edit the order", self._reopen)
        new = Button("New payment", self._clear)
        if not self.result.request_id:
            return [edit, new]  # there is nothing to ask about
        is_next = not self._is_paid
        check = Button("Check again", self._check_payment, is_primary=is_next)
        return [check, edit, new]

    @property
    def _is_paid(self) -> bool:
        return self._asked is not None and self._asked.status.has_been_paid is True

    def _controls(self, finding: Finding) -> str:
        """Return the button by which a person agrees to a finding, with a warning, or
        what only Python can agree to; "" if there is nothing to agree to.
        """
        lines = finding.policy_lines
        if self._is_paid or not lines or self.findings.verdict != "look":
            return ""
        if _has_gap(lines):
            return html.advice(f"{_ONLY_PYTHON}\n{lines}")
        label, warning = _agreement(lines)
        place = [*self.findings].index(finding)
        return (
            f'<span class="agree"><button type="button" class="button"'
            f' data-action="panel" data-field="{place}">{label}</button>'
            f' <span class="help">{warning}</span></span>'
        )

    def _press_in_panel(self, name: str) -> None:
        """Take the lines of a finding over into the policy, and judge the payment by
        it.
        """
        finding = self.findings[int(name)]
        lines = finding.policy_lines
        if self._controls(finding) and not _has_gap(lines):
            self._judge_by(self._policy.with_lines(lines))

    def _judge_by(self, policy: PaymentPolicy) -> None:
        self._policy = policy
        if self._is_done:
            self._state = self._state_of(self.result)

    @without_internal_frames
    def check_again(self) -> RequestStatus:
        """Ask whether the payment is paid, as the button does; the form shows it, too:
        **beyond the specification**.

        Returns:
            What the service says about the request. Only events say what the bank does.

        Raises:
            InvalidInput: Nothing was sent, or the payment has no request id.
            PayerkitError: The call failed, as `get_request` would raise it. Also kept
                as `error`.

        Example:
            >>> form = PaymentForm(client)
            >>> form.fill(order)
            >>> payment = form.submit()
            >>> form.check_again().has_been_paid
            False
        """
        try:
            self._check_payment()
        finally:
            self._refresh()
        return cast("AskedRequest", self._asked).status  # which it has just brought

    def _check_payment(self, *, is_to_sign: bool = False) -> None:
        """Ask whether the payment is paid. Raises InvalidInput without a payment, or
        for one without an id.

        is_to_sign: ask about the payer, too, if it pays out to an account; raise
        InvalidInput unless they are compliant.
        """
        if not self._is_done:
            raise InvalidInput("There is no payment yet. Send the form first.")
        self.set_trait("error", None)
        if not self.result.request_id:
            raise InvalidInput(
                "The payment has no request id, so the service cannot be asked"
                " about it."
            )
        ask = partial(self._ask, is_to_sign=is_to_sign)
        self._run("Asking whether it is paid", ask, self._show_asked)

    def _ask(self, *, is_to_sign: bool) -> AskedRequest:
        payout = self.result.payout
        if is_to_sign and payout is not None:
            payer = self._payer(payout.client_user_id)
            if payer.is_compliant is not True:
                raise InvalidInput(
                    "Not handed over. The service does not say that the payer is"
                    " compliant.",
                    advice="Look at the payer's status: identity check and agreement.",
                )
        status = request_status_call(self.result.request_id, RequestStatus.read)
        return AskedRequest(self._make(status), datetime.now(UTC))

    def _show_asked(self, asked: AskedRequest) -> None:
        self._asked = asked
        banner = asked.banner(pays_account=self.result.payout is not None)
        self._state = replace(self._state_of(self.result), banner=banner)

    # Handing over

    @without_internal_frames
    def save(self, path: str | Path, *, anyway: bool = False) -> None:
        """Ask the service once more, then write the payment to a file for those who
        sign, as `Payment.save` does.

        Args:
            path: The file, which `read_payment` and `payerkit inspect` read. It has the
                response unmasked.
            anyway: Write it in spite of what would refuse it, and of a service that
                cannot be asked about requests.

        Raises:
            InvalidInput: Nothing was sent, the verdict is "stop", the service does not
                say whether the request is paid, or it does not say that the payer is
                compliant. Nothing was written; the form shows it, too.
            PayerkitError: The service could not be asked. Nothing was written. Also
                kept as `error`.
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
        """Ask the service once more, then write the transactions for Safe's Transaction
        Builder, as `Payment.to_safe`.

        Args:
            path: Where to write it, such as "safe.json".
            safe: The address of the Safe that pays.
            anyway: Write it in spite of what would refuse it.

        Raises:
            InvalidInput: As `save` raises it, or as `Payment.to_safe` does. Nothing was
            written. PayerkitError, OSError: As `save` raises them.

        Example:
            >>> form = PaymentForm(client)
            >>> form.fill(order)
            >>> payment = form.submit()
            >>> form.to_safe(
            ...     "safe.json", safe="0x111CEEee040739fD91D29C34C33E6B3E112F2177"
            ... )
        """

        def write(payment: Payment) -> None:
            payment.to_safe(path, safe=safe, anyway=anyway, **self._compared())

        self._hand_over(path, write, anyway=anyway)

    def _hand_over(
        self, path: str | Path, write: Callable[[Payment], None], *, anyway: bool
    ) -> None:
        """Ask whether the payment may be signed, and write it to a file. Raises, and
        shows, why it may not.
        """
        self._refuse_while_busy()
        try:
            self._ask_to_sign(anyway=anyway)
            if not anyway:
                self._refuse_to_hand_over()
            self.set_trait("error", None)
            write(self.result)
        except InvalidInput as error:
            if self.error is not error:
                self._show_failure(error)
            raise
        finally:
            self._refresh()
        title = f"Handed over: {visible(Path(path).name)}."
        line = "The service was asked just now: not paid yet. Sign it once only."
        banner = Banner.of("success", title, "" if anyway else line)
        self._state = replace(self._state, banner=banner)
        self._refresh()

    def _ask_to_sign(self, *, anyway: bool) -> None:
        """Ask the service once more; anyway: unless it does not offer that."""
        try:
            self._check_payment(is_to_sign=not anyway)
        except Refused as error:
            if error.status_code not in _NOT_OFFERED or not anyway:
                raise

    def _refuse_to_hand_over(self) -> None:
        """Raise InvalidInput for a payment that is not to be signed, by what the
        service has just said.
        """
        findings: PaymentFindings = self.findings
        doubts = [*findings.errors]
        doubts += [each for each in findings.warnings if each.field == "has_been_paid"]
        if doubts:
            doubt = doubts[0]
            message = f"Not handed over. {doubt.message}"
            raise InvalidInput(message, advice=doubt.hint_form or doubt.hint)


_ONLY_PYTHON = (
    "Only Python can agree to this: give the form a policy (policy=) with these lines,"
    " completed:"
)

_AGREEMENTS = {
    "[[fees]]": (
        "I agreed to this fee",
        (
            "Only if your contract or the price list of the service names it: this card"
            " is no proof of it."
        ),
    ),
    "[[addresses]]": (
        "I know this address",
        (
            "Only if you compared it with a source that you trust: whoever controls it"
            " gets the money."
        ),
    ),
    "[[allowances]]": (
        "I accept this allowance",
        "The contract may take as much of this token from the wallet, also later.",
    ),
    "[[tokens]]": (
        "This is the right token",
        "Only if its issuer names this address.",
    ),
    "[rates]": (
        "This rate is right",
        "Only if you compared it with a rate of your own.",
    ),
    "peg_tolerance": (
        "Up to 1 % off the peg is acceptable",
        "This holds for every payment of this form.",
    ),
    "rate_tolerance": (
        "This difference is acceptable",
        "As much holds for every payment of this form.",
    ),
    "known_members": (
        "I know what this means",
        "Only if the service has explained it.",
    ),
}
"""The label of the button beside a finding, and the warning, by how the lines begin
that it adds to the policy.
"""

_OPERATOR = (
    "This is the operator's address",
    (
        "Only if the operator has confirmed it over a channel that you know: whoever"
        " controls it gets the money."
    ),
)


def _has_gap(lines: str) -> bool:
    """Return True if a person has to complete the lines."""
    return "?" in lines


def _agreement(lines: str) -> tuple[str, str]:
    """Return the label of the button that adds lines to the policy, and the warning."""
    if 'role = "operator"' in lines:
        return _OPERATOR
    return _AGREEMENTS[lines.split(maxsplit=1)[0]]


_BANNERS = {
    "ok": Banner.of(
        "success", "The transactions are here.", "No money moves until a wallet signs."
    ),
    "look": Banner.of(
        "warning", "The transactions are here. Read the warnings before anyone signs."
    ),
    "stop": Banner.of(
        "error", "The transactions are here. Do not sign them: read the errors."
    ),
}


@dataclass(frozen=True, slots=True)
class AskedRequest:
    """The status of a request, as the service gave it at a time."""

    status: RequestStatus
    at: datetime

    def request_members(self, request_id: str) -> dict[str, Any]:  # noqa: ARG002 - as a client is asked
        """Return all that the service said, by the names on the wire, for
        `check_payment`.
        """
        return self.status.to_dict(reveal=True)

    def banner(self, *, pays_account: bool) -> Banner:
        """Return the banner about the status."""
        asked = f"Asked at {self.at:%H:%M:%S} UTC."
        status = self.status
        if status.has_been_paid is True:
            title = "Paid. Do not sign these transactions again."
            by = f"By the transaction {status.tx_hash}." if status.tx_hash else ""
            bank = "Only events say whether the bank has the money."
            return Banner.of("success", title, by, bank if pays_account else "", asked)
        if status.has_been_paid is None:
            title = "The service does not say whether it is paid."
            return Banner.of("warning", title, asked)
        seen = (
            "After signing, it takes a few minutes until the service has seen the"
            " payment."
        )
        if status.paid_amount:
            seen = f"Paid in part: {status.paid_amount:f}."
        title = "Not paid yet, as far as the service knows."
        return Banner.of("info", title, seen, asked)
