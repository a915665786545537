"""Review who is paid: against the order, against the address book, and against what nobody should pay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from payerkit._tsv import rows
from payerkit.findings import Finding
from payerkit.models.compared_with import OrderTerms
from payerkit.onchain.addresses import address_problem, are_alike, is_same, with_checksum
from payerkit.onchain.currencies import deployments_at, find_by_hash, tokens_at
from payerkit.onchain.effects import Effect
from payerkit.policy.address_book import AddressBook
from payerkit.policy.payment_policy import NO_POLICY, PaymentPolicy, address_line
from payerkit.review.payment_review import PaymentReview
from payerkit.review.transactions import finding, shown


def review_order_payees(review: PaymentReview) -> Iterator[Finding]:
    """Yield the findings about the payees that the orders name, whoever is paid."""
    keys = {"address_malformed": "payee_malformed", "address_checksum": "payee_checksum"}
    for payee in dict.fromkeys(order.payee for order in review.orders if order.payee is not None):
        if problem := address_problem(payee):
            yield finding(keys[problem], payee=shown(payee))


def review_payee(review: PaymentReview, payment: Effect) -> Iterator[Finding]:
    """Yield the findings about the recipient of a payment."""
    recipient, order = payment.recipient, review.order_of(payment)
    if recipient is None:
        yield finding("recipient_unknown", payment)
        return
    if address_problem(recipient) == "address_checksum":  # of a plain transfer: calldata has no capital letters
        yield finding("recipient_checksum", payment)
    if burned := burned_at(recipient):
        yield finding("recipient_burned", payment, what=burned)
    elif contract := known_contract_at(recipient, review.policy):
        yield finding("recipient_contract", payment, what=contract)
    elif order is None or order.payee is None:
        yield finding("recipient", payment, recipient=with_checksum(recipient))
        yield from _compare_with_book(review, payment, recipient, order)
    elif is_same(recipient, order.payee):
        yield finding("payee_matches", payment)
        yield from _compare_with_book(review, payment, recipient, order)
    else:
        key = "payee_differs.lookalike" if are_alike(recipient, order.payee) else "payee_differs"
        words = {"recipient": with_checksum(recipient), "payee": str(with_checksum(order.payee))[:80]}
        yield finding(key, payment, **words)


def _compare_with_book(
    review: PaymentReview, payment: Effect, recipient: str, order: OrderTerms | None
) -> Iterator[Finding]:
    """Tell whether the user knows a recipient. Findings are saved with notebooks, so they name no one."""
    book = review.policy.book
    is_payout = review.payment.payout is not None or (order is not None and order.is_payout)
    names_none = is_payout if order is None else order.payee is None
    name, role = ("Operator", "operator") if is_payout else ("", "payee")  # a payee's name is for the user to fill in
    lines = address_line(recipient, name, review.network, role)
    if is_payout and _lacks_role(book, recipient, review.network):
        yield finding("payee_role", payment, recipient=with_checksum(recipient))
    elif names_none and recipient.lower() in review.fee_recipients:
        yield finding("payee_unnamed.fee", payment)
    elif book.find(recipient, review.network):
        warning = book.warning(recipient)
        key = "payee_known.warned" if warning else "payee_known"
        yield finding(key, payment, warning=warning and warning.message)
    elif alike := review.policy.lookalike(recipient):
        yield finding("payee_lookalike", payment, recipient=with_checksum(recipient), known=alike)
    elif names_none:
        yield finding("payee_operator" if is_payout else "payee_unnamed", payment, policy_lines=lines)
    elif review.policy.addresses is not None and recipient in book and review.network is None:
        yield finding("payee_new.unplaced", payment)
    elif review.policy.addresses is not None:
        words = {"recipient": with_checksum(recipient), "network": review.network}
        yield finding("payee_new.network" if recipient in book else "payee_new", payment, **words, policy_lines=lines)


def _lacks_role(book: AddressBook, recipient: str, network: str | None) -> bool:
    """Return True if a recipient is known on this network, or else on others, but never as the operator's."""
    known = book.entries(recipient)
    here = [each for each in known if each.network in {None, network}] or known
    return bool(here) and all(each.role != "operator" for each in here)


_LAST_RESERVED = 0xFFFF
"""The addresses up to here are for contracts of the network itself, such as precompiles (EIP-1352)."""


def burned_at(address: str) -> str:
    """Return what an address is if no one can have its key, such as "a burn address"; "" for any other text."""
    if known := _reserved().get(address.lower()):
        return known
    if address_problem(address) != "address_malformed" and int(address, 16) <= _LAST_RESERVED:
        return "an address that networks reserve for themselves"
    currency = find_by_hash(address)
    return f"the hash that stands for {currency.id}" if currency else ""


def known_contract_at(address: str, policy: PaymentPolicy = NO_POLICY) -> str:
    """Return what an address is if it is a known contract, on any network; "" for any other text."""
    for token in (*tokens_at(address), *policy.tokens):
        if is_same(token.address, address):
            return f"the token {token.id}"
    if deployed := next(iter(deployments_at(address)), None):
        return f"the payment contract {deployed.contract} on {deployed.network}"
    return ""


def payee_note(payee: str) -> str:
    """Return a warning about a payee that an order should not have; "" for any other.

    What is not an address is left to the service: other kinds of networks have other addresses.
    """
    problem = address_problem(payee)
    if problem == "address_malformed":
        return ""
    if problem:
        return (
            "The capital letters of the payee do not match the checksum of the address, so it may be mistyped. Compare "
            "it with a trusted source."
        )
    if what := burned_at(payee):
        return f"The payee is {what}, which no one controls: the money would be lost. Correct it."
    if what := known_contract_at(payee):
        return f"The payee is {what}, not a wallet: the money would be lost. Correct it."
    return ""


@cache
def _reserved() -> Mapping[str, str]:
    return {row["address"].lower(): row["what"] for row in rows(__package__, "reserved_addresses")}
