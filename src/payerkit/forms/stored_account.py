"""Payments to stored accounts, beside those to wallets: what the form asks for, the
accounts to choose from, checks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from payerkit.explanations import explain_word
from payerkit.findings import Finding
from payerkit.models import PaymentRequest, Payout
from payerkit.models.base import RequestModel
from payerkit.models.fields import check_field, error_finding, field, fields_of
from payerkit.models.formats import ChosenId, Id, Text, WayOfPayment
from payerkit.models.requests import (
    InvoiceCurrency,
    OrderAmount,
    OrderReference,
    PaymentOrder,
    PayoutOrder,
    TokenToPay,
)
from payerkit.payments.check_order import check_payment_order
from payerkit.payments.onchain.addresses import address_problem
from payerkit.payments.payment_policy import PaymentPolicy
from payerkit.wording import count_of, in_words, listed, visible

OPTIONAL = ("wallet", "reference")
"""Fields that the form shows when it is asked for more."""


@dataclass(frozen=True, slots=True, repr=False)
class AccountOrder:
    """An order that pays a stored account: the order itself, the payer, the account,
    and the wallet that pays.
    """

    order: PayoutOrder
    client_user_id: str
    payment_details_id: str
    wallet: str | None = None


def is_created_for(created: PaymentRequest, order: PayoutOrder) -> bool:
    """Return True if a request was created for an order, with its reference, if it has
    one.
    """
    if created.order is None or order.reference not in {None, created.reference}:
        return False
    return created.order.replace(reference=None) == order.replace(reference=None)


class PaymentEntry(RequestModel):
    """What the fields of the form make: an order to a wallet, or one to a stored
    account.
    """

    paid_to: Annotated[
        WayOfPayment,
        field(
            title="Way of payment",
            help="A wallet receives crypto; an account, money in its own currency.",
            example="",
            section="Where the money goes",
            option_titles=("Wallet", "Stored account"),
        ),
    ]
    payee: Annotated[
        Text,
        field(
            title="Payee",
            help="Wallet address that receives the payment.",
            example="0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
            section="Where the money goes",
            applies_to="wallet",
        ),
    ]
    client_user_id: Annotated[
        Id,
        field(
            title="Payer",
            help="The payer's id, under which the account is stored.",
            example="user-123",
            section="Where the money goes",
            applies_to="account",
        ),
    ]
    payment_details_id: Annotated[
        ChosenId,
        field(
            title="Account",
            help="One of the payer's approved accounts.",
            example="Look up the payer's accounts first",
            section="Where the money goes",
            applies_to="account",
        ),
    ]
    amount: OrderAmount
    invoice_currency: InvoiceCurrency
    payment_currency: TokenToPay
    wallet: Annotated[
        Text | None,
        field(
            title="Paying wallet",
            help=(
                "Address of the wallet that is to sign: then its balance and allowance"
                " are looked at."
            ),
            example="0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
            section="Order",
        ),
    ] = None
    reference: OrderReference = None

    @classmethod
    def of(  # type: ignore[override]  # the fields make one of two orders
        cls, given: Mapping[str, Any], _: object = None
    ) -> PaymentOrder | AccountOrder:
        """Return the order that values by field name make. Raises InvalidInput that
        lists every invalid field.
        """
        if given.get("paid_to") != "account":
            return PaymentOrder.of(_only(PaymentOrder, given), {})
        order = PayoutOrder.of(_only(PayoutOrder, given), {})
        return AccountOrder(
            order,
            given["client_user_id"],
            given["payment_details_id"],
            given.get("wallet"),
        )


def asked_for(paid_to: str) -> list[str]:
    """Return the fields that apply to what is paid; "" for nothing that was chosen
    yet.
    """
    return [
        name
        for name, field in fields_of(PaymentEntry).items()
        if field.applies_to in {"", paid_to}
    ]


def check_entry(
    values: Mapping[str, Any], *, policy: PaymentPolicy, environment: str
) -> Iterator[Finding]:
    """Yield the findings about values by field name."""
    paid_to = str(values.get("paid_to", ""))
    for name in asked_for(paid_to):
        if name not in fields_of(PaymentOrder):
            error = check_field(PaymentEntry, name, values.get(name))
            if error is not None:
                yield error
    order = _only(PaymentOrder, values)
    for finding in check_payment_order(order, policy=policy, environment=environment):
        if finding.field != "payee" or paid_to == "wallet":
            yield finding
    wallet = values.get("wallet")
    if wallet and address_problem(wallet):
        message = (
            "Not the address of a wallet, or its capital letters do not match its"
            " checksum."
        )
        hint = "Copy it from the wallet: 0x and 40 digits."
        yield error_finding(PaymentEntry, "wallet", "wallet_form", message, hint)


def _only(model: type[RequestModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the fields that a request has."""
    return {name: value for name, value in values.items() if name in fields_of(model)}


class AccountChoice:
    """The accounts of a payer, by their ids. Account numbers are masked, and nothing
    else in it is secret.
    """

    def __init__(
        self, client_user_id: str = "", records: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        self.client_user_id = client_user_id
        ids = {str(record["id"]): record for record in records if record.get("id")}
        self._accounts = {
            name: Payout.of_account(
                record,
                request_id="",
                client_user_id=client_user_id,
                payment_details_id=name,
            )
            for name, record in ids.items()
        }

    def find(self, payment_details_id: object) -> Payout | None:
        """Return an account; None if its payer was not looked up, or has no such
        account.
        """
        return self._accounts.get(str(payment_details_id))

    def approved(self) -> list[str]:
        """Return the ids of the accounts that can be paid."""
        return [
            name for name, account in self._accounts.items() if _is_approved(account)
        ]

    def options(self, chosen: str = "") -> dict[str, str]:
        """Return what to choose from: the accounts that can be paid, and the chosen
        one, by id in words.
        """
        words = {
            name: _option(account)
            for name, account in self._accounts.items()
            if _is_approved(account) or name == chosen
        }
        if chosen and chosen not in words:  # its payer was not looked up
            words[chosen] = f"The account with the id {visible(chosen)}"
        count = Counter(words.values())
        for name, text in words.items():
            if count[text] > 1:
                words[name] = f"{text}, id …{name[-6:]}"
        return words

    def summary(self) -> str:
        """Return how many accounts can be paid, and which ones cannot."""
        others = [
            _option(account)
            for account in self._accounts.values()
            if not _is_approved(account)
        ]
        count = f"{count_of(len(self.approved()), 'account')} can be paid."
        return f"{count} Not approved: {listed(others, 'and')}." if others else count


def _is_approved(account: Payout) -> bool:
    return explain_word(account.status, "account").is_passed


def account_words(record: Mapping[str, Any]) -> str:
    """Return a listed account in words, its number masked."""
    return _option(
        Payout.of_account(
            record, request_id="", client_user_id="", payment_details_id=""
        )
    )


def _option(account: Payout) -> str:
    """Return an account in words, such as "••••3489 at Chase (USD, local)"; its status,
    unless it can be paid.
    """
    if _is_approved(account):
        return visible(account.words)
    status = in_words(account.status or "") or "no status"
    return visible(f"{account.words}, {status}")
