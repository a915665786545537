"""Review who is paid: against the order, against the address book, and against what nobody should pay."""

from __future__ import annotations

from collections.abc import Iterator

from payerkit.findings import Finding
from payerkit.onchain.addresses import address_problem, are_alike, is_same, with_checksum
from payerkit.onchain.effects import Effect
from payerkit.policy.address_book import AddressBook
from payerkit.policy.payment_policy import address_line
from payerkit.review.orders import ExpectedPayment
from payerkit.review.payees import burned_at, known_contract_at
from payerkit.review.payment_review import PaymentReview, finding, shown
from payerkit.review.transactions import DecodedTransaction


def review_order_payees(review: PaymentReview) -> Iterator[Finding]:
    """Yield the findings about the payees that the orders name, whoever is paid."""
    keys = {"address_malformed": "payee_malformed", "address_checksum": "payee_checksum"}
    for payee in dict.fromkeys(order.payee for order in review.orders if order.payee is not None):
        if problem := address_problem(payee):
            yield finding(keys[problem], payee=shown(payee))


def review_payee(review: PaymentReview, transaction: DecodedTransaction, payment: Effect) -> Iterator[Finding]:
    """Yield the findings about the recipient of a payment."""
    recipient, order = payment.recipient, review.order_of(payment)
    if recipient is None:
        yield finding("recipient_unknown", transaction)
        return
    if address_problem(recipient) == "address_checksum":  # of a plain transfer: calldata has no capital letters
        yield finding("recipient_checksum", transaction)
    if burned := burned_at(recipient):
        yield finding("recipient_burned", transaction, what=burned)
    elif contract := known_contract_at(recipient, review.policy):
        yield finding("recipient_contract", transaction, what=contract)
    elif order is None or order.payee is None:
        yield finding("recipient", transaction, recipient=with_checksum(recipient))
        yield from _compare_with_book(review, transaction, recipient, order)
    elif is_same(recipient, order.payee):
        yield finding("payee_matches", transaction)
        yield from _compare_with_book(review, transaction, recipient, order)
    else:
        key = "payee_differs.lookalike" if are_alike(recipient, order.payee) else "payee_differs"
        words = {"recipient": with_checksum(recipient), "payee": str(with_checksum(order.payee))[:80]}
        yield finding(key, transaction, **words)


def _compare_with_book(
    review: PaymentReview, transaction: DecodedTransaction, recipient: str, order: ExpectedPayment | None
) -> Iterator[Finding]:
    """Tell whether the user knows a recipient. Findings are saved with notebooks, so they name no one."""
    given = review.policy.addresses
    book = AddressBook() if given is None else given
    is_payout = review.payment.payout is not None or (order is not None and order.is_payout)
    names_none = is_payout if order is None else order.payee is None
    name, role = ("Operator", "operator") if is_payout else ("", "payee")  # a payee's name is for the user to fill in
    lines = "\n" + address_line(recipient, name, review.network, role)
    if is_payout and _lacks_role(book, recipient, review.network):
        yield finding("payee_role", transaction, recipient=with_checksum(recipient))
    elif names_none and recipient.lower() in review.fee_recipients:
        yield finding("payee_unnamed.fee", transaction)
    elif book.find(recipient, review.network):
        warning = book.warning(recipient)
        key = "payee_known.warned" if warning else "payee_known"
        yield finding(key, transaction, warning=warning and warning.message)
    elif alike := review.policy.lookalike(recipient):
        yield finding("payee_lookalike", transaction, recipient=with_checksum(recipient), known=alike)
    elif names_none:
        yield finding("payee_operator" if is_payout else "payee_unnamed", transaction, lines=lines)
    elif given is not None:
        yield _unknown(review, transaction, recipient, lines, is_known_elsewhere=recipient in book)


def _lacks_role(book: AddressBook, recipient: str, network: str | None) -> bool:
    """Return True if a recipient is known on this network, or else on others, but never as the operator's."""
    known = book.entries(recipient)
    here = [each for each in known if each.network in {None, network}] or known
    return bool(here) and all(each.role != "operator" for each in here)


def _unknown(
    review: PaymentReview, transaction: DecodedTransaction, recipient: str, lines: str, *, is_known_elsewhere: bool
) -> Finding:
    """Return the finding about a recipient that the address book does not have for the network of the payment."""
    if is_known_elsewhere and review.network is None:
        return finding("payee_new.unplaced", transaction)
    key = "payee_new.network" if is_known_elsewhere else "payee_new"
    words = {"recipient": with_checksum(recipient), "network": review.network}
    return finding(key, transaction, **words, lines=lines)
