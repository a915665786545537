"""Payments to stored accounts, beside those to wallets: what the form asks for, the accounts to choose from, checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from payerkit.checks.inputs import check_field, error_finding
from payerkit.checks.schema import PAYMENT_FORM, PAYMENT_ORDER, PAYOUT_ORDER, Schema
from payerkit.errors import FieldProblem, InvalidInput
from payerkit.explanations import explain_word
from payerkit.findings import Finding
from payerkit.models import PaymentOrder, PaymentRequest, Payout, PayoutOrder
from payerkit.onchain.addresses import address_problem
from payerkit.onchain.amounts import format_number
from payerkit.payment.check_order import check_payment_order
from payerkit.payment.money import peg_of
from payerkit.payment.response import least_above
from payerkit.policy.payment_policy import PaymentPolicy
from payerkit.wire import wire_name
from payerkit.wording import count_of, in_form, in_words, listed, visible

OPTIONAL = ("wallet", "reference")
"""Fields that the form shows when it is asked for more."""


@dataclass(frozen=True, slots=True, repr=False)
class AccountOrder:
    """An order that pays a stored account: the order itself, the payer, the account, and the wallet that pays."""

    order: PayoutOrder
    client_user_id: str
    payment_details_id: str
    wallet: str | None = None


def account_to_pay(records: Iterable[Mapping[str, Any]], order: AccountOrder) -> Payout:
    """Return the account of an order, among those that the service lists. Raises InvalidInput if it is not there."""
    name = order.payment_details_id
    account = Payout.of_list(records, name, request_id="", client_user_id=order.client_user_id)
    if account is None:
        message = "The payer has no account with this id. Look up the accounts, and choose one."
        problem = FieldProblem("payment_details_id", wire_name("payment_details_id"), message, "account_unknown")
        raise InvalidInput(f"{message} Nothing was sent.", fields=(problem,))
    return account


def is_created_for(created: PaymentRequest, order: PayoutOrder) -> bool:
    """Return True if a request was created for an order, with its reference, if it has one."""
    if created.order is None or order.reference not in {None, created.reference}:
        return False
    return created.order.replace(reference=None) == order.replace(reference=None)


def payout_of(created: PaymentRequest, account: Payout, order: AccountOrder) -> Payout:
    """Return the payout of a request to an account."""
    return replace(
        account,
        request_id=str(created.request_id),
        payment_reference=created.payment_reference,
        reference=created.reference,
        wallet=order.wallet,
    )


class PaymentEntry:
    """What the fields of the form make: an order to a wallet, or one to a stored account."""

    request_schema: ClassVar[Schema] = PAYMENT_FORM

    @classmethod
    def of(cls, given: Mapping[str, Any], _: object = None) -> PaymentOrder | AccountOrder:
        """Return the order that values by field name make. Raises InvalidInput that lists every invalid field."""
        if given.get("paid_to") != "account":
            return PaymentOrder.of(_only(PAYMENT_ORDER, given), {})
        order = PayoutOrder.of(_only(PAYOUT_ORDER, given), {})
        return AccountOrder(order, given["client_user_id"], given["payment_details_id"], given.get("wallet"))


def fields_of(paid_to: str) -> list[str]:
    """Return the fields that apply to what is paid; "" for nothing that was chosen yet."""
    return [name for name, field in PAYMENT_FORM.fields.items() if field.applies_to in {"", paid_to}]


def check_entry(
    values: Mapping[str, Any], *, policy: PaymentPolicy, environment: str, account: Payout | None = None
) -> Iterator[Finding]:
    """Yield the findings about values by field name. account: the stored account, if its record is known."""
    paid_to = values.get("paid_to", "")
    asked = [name for name in fields_of(str(paid_to)) if name not in PAYMENT_ORDER.fields]
    yield from filter(None, (check_field(PAYMENT_FORM, name, values.get(name)) for name in asked))
    found = check_payment_order(_only(PAYMENT_ORDER, values), policy=policy, environment=environment)
    yield from (each for each in found if each.field != "payee" or paid_to == "wallet")
    if (wallet := values.get("wallet")) and address_problem(wallet):
        message = "Not the address of a wallet, or its capital letters do not match its checksum."
        hint = "Copy it from the wallet: 0x and 40 digits."
        yield error_finding(PAYMENT_FORM, "wallet", "wallet_form", message, hint)
    if paid_to == "account" and account is not None:
        yield from _check_account(account, values, policy)


def _check_account(account: Payout, values: Mapping[str, Any], policy: PaymentPolicy) -> Iterator[Finding]:
    """Yield what `check_payment` would say of the account afterwards: its status, its currency, the least amount."""
    status = explain_word(account.status, "account")
    if not status.is_passed:
        yield _warning("payment_details_id", "account_status", status.meaning, in_form(status.what_to_do))
    amount, invoice = str(values.get("amount", "")), str(values.get("invoice_currency", ""))
    own, known = (account.currency or "").upper(), policy.find_currency(invoice)
    if own and known is not None and peg_of(known) != own:
        message = f"The account is in {own}, the invoice in {known.id}."
        yield _warning("invoice_currency", "account_currency", message, f"Choose {own}, unless this is meant.")
    if (least := least_above(amount, invoice, account, policy)) is not None:
        message = f"The operator pays out at least {format_number(least)} {own} to such an account."
        yield _warning("amount", "amount_least", message, "The service may refuse less, or not pay it out.")


def _warning(name: str, code: str, message: str, hint: str = "") -> Finding:
    return Finding(field=name, wire_name=wire_name(name), severity="warning", code=code, message=message, hint=hint)


def _only(schema: Schema, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the fields that a request has."""
    return {name: value for name, value in values.items() if name in schema.fields}


class AccountChoice:
    """The accounts of a payer, by their ids. Account numbers are masked, and nothing else in it is secret."""

    def __init__(self, client_user_id: str = "", records: Iterable[Mapping[str, Any]] = ()) -> None:
        self.client_user_id = client_user_id
        ids = {str(record["id"]): record for record in records if record.get("id")}
        self._accounts = {
            name: Payout.of_account(record, request_id="", client_user_id=client_user_id, payment_details_id=name)
            for name, record in ids.items()
        }

    def find(self, payment_details_id: object) -> Payout | None:
        """Return an account; None if its payer was not looked up, or has no such account."""
        return self._accounts.get(str(payment_details_id))

    def approved(self) -> list[str]:
        """Return the ids of the accounts that can be paid."""
        return [name for name, account in self._accounts.items() if _is_approved(account)]

    def options(self, chosen: str = "") -> dict[str, str]:
        """Return what to choose from: the accounts that can be paid, and the chosen one, by id in words."""
        words = {
            name: _option(account)
            for name, account in self._accounts.items()
            if _is_approved(account) or name == chosen
        }
        if chosen and chosen not in words:  # its payer was not looked up
            words[chosen] = f"The account with the id {visible(chosen)}"
        count = Counter(words.values())
        return {name: text if count[text] == 1 else f"{text}, id …{name[-6:]}" for name, text in words.items()}

    def summary(self) -> str:
        """Return how many accounts can be paid, and which ones cannot."""
        others = [_option(account) for account in self._accounts.values() if not _is_approved(account)]
        count = f"{count_of(len(self.approved()), 'account')} can be paid."
        return f"{count} Not approved: {listed(others, 'and')}." if others else count


def _is_approved(account: Payout) -> bool:
    return explain_word(account.status, "account").is_passed


def _option(account: Payout) -> str:
    """Return an account in words, such as "••••3489 at Chase (USD, local)"; its status, unless it can be paid."""
    status = "" if _is_approved(account) else f", {in_words(account.status or '') or 'no status'}"
    return visible(f"{account.words}{status}")
