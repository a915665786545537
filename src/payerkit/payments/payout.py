"""Check the bank account that a payment pays out to, and the order of a payout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal

from payerkit.checks.requirements import least_amount, unlocked_on_request
from payerkit.explanations import explain_word
from payerkit.findings import Finding, payment_finding
from payerkit.models.payments import Payout
from payerkit.models.whole_response import Member, WholeResponse, comparable
from payerkit.payments.against import Against
from payerkit.payments.onchain.amounts import format_number, positive_number
from payerkit.payments.payment_policy import NO_POLICY, PaymentPolicy
from payerkit.payments.pegs import peg_of
from payerkit.payments.terms import OrderTerms
from payerkit.wording import shown

_ASKED = {
    "request_id": "request",
    "payment_details_id": "account",
    "client_user_id": "payer",
}
_ASKED |= {"reference": "reference", "payment_reference": "payment reference"}
"""What a payout asked for, by our names, in words."""

_IN_HEX = {"request_id", "payment_reference"}
"""Of these, capital and small letters are the same."""


def check_payout(
    payout: Payout,
    whole: WholeResponse,
    statements: defaultdict[str, list[Member]],
    against: Against,
) -> Iterator[Finding]:
    """Yield the findings about the bank account that a payment pays out to. statements:
    what the response says, by the roles in `members.tsv`.
    """
    account = f"the account {shown(payout.words, 160)}"
    yield payment_finding("payout_account", account=account)
    yield payment_finding("payout_needs", more=_needs(payout))
    if payout.also_listed:
        yield payment_finding("account_repeated", others=shown(payout.also_listed, 160))
    yield from _compare_with_asked(payout, statements)
    yield from _compare_words(payout, whole)
    status = explain_word(payout.status, "account")
    if not status.is_passed:
        yield payment_finding(
            "account_status", meaning=status.meaning, advice=status.what_to_do
        )
    if len(against.orders) == 1 and payout.currency:
        yield from compare_currencies(against.orders[0], payout, against.policy)


def _needs(payout: Payout) -> str:
    """Return what else the operator asks for before it pays out to such an account."""
    words = ""
    what = unlocked_on_request(payout.currency, payout.rails)
    if what:
        words += f" {what} is unlocked on request only."
    least = least_amount(payout.currency, payout.rails)
    if least:
        currency = shown(str(payout.currency)).upper()
        words += f" It pays out at least {format_number(least)} {currency}."
    return words


def _compare_with_asked(
    payout: Payout, statements: defaultdict[str, list[Member]]
) -> Iterator[Finding]:
    """Compare what the response says of request, account, payer and references with
    what was asked for.

    The reference of the response itself is compared with those of the transactions.
    """
    for name, what in _ASKED.items():
        if not getattr(payout, name):
            continue
        asked: list[object] = [getattr(payout, name)]
        if name == "reference":  # some call that of the payment so, too
            asked.append(payout.payment_reference)
        for member in statements[name]:
            if member.path == "paymentReference":
                continue
            stated: object = member.value
            same = asked
            if name in _IN_HEX:
                stated = comparable(stated)
                same = [comparable(value) for value in asked]
            if stated not in same:
                yield payment_finding(
                    "request_differs", field=shown(member.path), what=what
                )


_BANKS = {"bank", "bankname"}
_NUMBERS = {
    "account",
    "accountlast4",
    "accountnumber",
    "accountnumberlast4",
    "bankaccount",
    "iban",
    "last4",
    "maskedaccountnumber",
}
"""Plain names of members that describe a bank account in words."""

_LAST = 4
"""Characters at the end of a number that are shown of an account."""


def _compare_words(payout: Payout, whole: WholeResponse) -> Iterator[Finding]:
    """Compare what the response tells of the bank account in words with the account
    that was asked for.
    """
    for member in whole.members:
        if not isinstance(member.value, str) or not member.value.strip():
            continue
        is_other = False
        if member.own in _BANKS and payout.bank_name:
            is_other = not _is_same_bank(member.value, payout.bank_name)
        elif member.own in _NUMBERS and payout.account:
            is_other = _ending(member.value) != _ending(payout.account)
        if is_other:
            yield payment_finding(
                "request_differs.words", field=shown(member.path), account=payout.words
            )


def _is_same_bank(one: str, other: str) -> bool:
    """Return True for two names of a bank of which one may be longer."""
    names = sorted([_letters(one), _letters(other)], key=len)
    return names[0] in names[1]


def _ending(number: str) -> str:
    return _letters(number)[-_LAST:]


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def compare_currencies(
    order: OrderTerms, payout: Payout, policy: PaymentPolicy
) -> Iterator[Finding]:
    """Yield the findings about an order that the account cannot take: another currency,
    or too small an amount.
    """
    invoice = shown(order.invoice_currency)
    currency = shown(str(payout.currency)).upper()
    if _worth(order.invoice_currency, policy) != currency:
        yield payment_finding("account_currency", invoice=invoice, currency=currency)
        return
    least = least_above(order.amount, order.invoice_currency, payout, policy)
    if least is not None:
        yield payment_finding(
            "amount_least",
            least=f"{format_number(least)} {currency}",
            amount=f"{shown(order.amount)} {invoice}",
            rails=f" by {shown(payout.rails)}" if payout.rails else "",
        )


def least_above(
    amount: str,
    invoice_currency: str,
    payout: Payout,
    policy: PaymentPolicy = NO_POLICY,
) -> Decimal | None:
    """Return the least amount that reaches an account if an order is known to be below
    it, or None.
    """
    asked = positive_number(amount)
    least = least_amount(payout.currency, payout.rails)
    if asked is None or least is None:
        return None
    if _worth(invoice_currency, policy) != (payout.currency or "").upper():
        return None
    return least if asked < least else None


def _worth(currency: str, policy: PaymentPolicy) -> str | None:
    """Return the fiat currency that a currency is, or is pegged to; None for a coin or
    another token.
    """
    found = policy.find_currency(currency)
    return currency.upper() if found is None else peg_of(found)
