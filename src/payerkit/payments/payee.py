"""Check who is paid, in which token, and who may take how many: against the order and
what the user agreed to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from payerkit._tsv import rows
from payerkit.findings import Finding, order_finding, payment_finding
from payerkit.payments.address_book import AddressBook
from payerkit.payments.against import Against, find_network
from payerkit.payments.effects import Effects
from payerkit.payments.onchain.addresses import (
    address_problem,
    are_alike,
    is_same,
    with_checksum,
)
from payerkit.payments.onchain.calldata import NATIVE, Effect
from payerkit.payments.onchain.currencies import (
    deployments_at,
    find_by_hash,
    is_currency_id,
    network_in_id,
    networks,
    token_behaviours,
    tokens_at,
)
from payerkit.payments.payment_policy import (
    NO_POLICY,
    PaymentPolicy,
    entry_lines,
    symbol_in,
)
from payerkit.payments.pegs import is_test_money
from payerkit.payments.terms import OrderTerms
from payerkit.payments.transactions import DecodedTransaction
from payerkit.wording import shown, visible


def check_terms(against: Against) -> Iterator[Finding]:
    """Yield the findings about the currencies and the payees that the orders name,
    whatever is paid.
    """
    orders = against.orders
    policy = against.policy
    for name in dict.fromkeys(order.invoice_currency for order in orders):
        if not is_currency_id(name):
            yield _malformed_currency("invoice_currency", name)
    for name in dict.fromkeys(order.payment_currency for order in orders):
        yield from _check_payment_currency(name, policy)
    pairs = [(order.payment_currency, order.invoice_currency) for order in orders]
    for payment_currency, invoice_currency in dict.fromkeys(pairs):
        token = policy.find_currency(payment_currency)
        invoice = policy.find_currency(invoice_currency)
        if token and invoice and is_test_money(token, invoice):
            yield payment_finding("test_money", invoice=invoice.id, token=token.id)
    keys = {
        "address_malformed": "payee_malformed",
        "address_checksum": "payee_checksum",
    }
    for payee in dict.fromkeys(order.payee for order in orders):
        problem = address_problem(payee)
        if payee is not None and problem:
            yield payment_finding(keys[problem], payee=shown(payee))


def _check_payment_currency(name: str, policy: PaymentPolicy) -> Iterator[Finding]:
    if not is_currency_id(name):
        yield _malformed_currency("payment_currency", name)
        return
    currency = policy.find_currency(name)
    network = find_network(name, policy)
    if network is not None and network.name == "tron":
        yield payment_finding("network_unsupported")
    elif currency is None and network is None:
        yield payment_finding("currency_unknown")
    elif currency is None and network is not None:
        yield payment_finding(
            "currency_unlisted", currency=visible(name), network=network.name
        )


def _malformed_currency(field: str, name: str) -> Finding:
    return payment_finding(
        "currency_form", field=field, currency=ascii(name)[1:-1][:80]
    )


def check_payee(
    effects: Effects, against: Against, payment: Effect
) -> Iterator[Finding]:
    """Yield the findings about the recipient of a payment."""
    recipient = payment.recipient
    order = effects.order_of(payment)
    if recipient is None:
        yield payment_finding("recipient_unknown", payment)
        return
    # Of a plain transfer: calldata has no capital letters.
    if address_problem(recipient) == "address_checksum":
        yield payment_finding("recipient_checksum", payment)
    burned = burned_at(recipient)
    contract = known_contract_at(recipient, against.policy)
    if is_same(recipient, payment.token):
        contract = contract or "the contract of the token that is paid"
    if burned:
        yield payment_finding("recipient_burned", payment, what=burned)
    elif contract:
        yield payment_finding("recipient_contract", payment, what=contract)
    elif order is None or order.payee is None:
        yield payment_finding("recipient", payment, recipient=with_checksum(recipient))
        yield from _compare_with_book(effects, against, payment, recipient, order)
    elif is_same(recipient, order.payee):
        yield payment_finding("payee_matches", payment)
        yield from _compare_with_book(effects, against, payment, recipient, order)
    elif address_problem(order.payee) != "address_malformed":
        is_alike = are_alike(recipient, order.payee)
        yield payment_finding(
            "payee_differs.lookalike" if is_alike else "payee_differs",
            payment,
            recipient=with_checksum(recipient),
            payee=str(with_checksum(order.payee))[:80],
        )


def _compare_with_book(
    effects: Effects,
    against: Against,
    payment: Effect,
    recipient: str,
    order: OrderTerms | None,
) -> Iterator[Finding]:
    """Yield what the address book knows about a recipient.

    Findings are saved with notebooks, so they contain no names of the address book.
    """
    book = against.policy.book
    network = against.network
    is_payout = effects.payment.payout is not None
    is_payout |= order is not None and order.is_payout
    names_none = is_payout if order is None else order.payee is None
    shown_recipient = with_checksum(recipient)
    alike = against.policy.lookalike(recipient)
    if is_payout and _lacks_role(book, recipient, network):
        yield payment_finding("payee_role", payment, recipient=shown_recipient)
    elif names_none and recipient.lower() in effects.fee_recipients:
        yield payment_finding("payee_unnamed.fee", payment)
    elif book.find(recipient, network):
        warning = book.warning(recipient)
        key = "payee_known.warned" if warning else "payee_known"
        yield payment_finding(key, payment, warning=warning and warning.message)
        if names_none and not is_payout:
            yield payment_finding("payee_unnamed.known", payment)
    elif alike:
        yield payment_finding(
            "payee_lookalike", payment, recipient=shown_recipient, known=alike
        )
    elif names_none and is_payout:
        lines = _operator_lines(recipient, network)
        yield payment_finding("payee_operator", payment, policy_lines=lines)
    elif names_none:
        yield payment_finding("payee_unnamed", payment)
    elif against.policy.names_payees:
        yield _new_payee(against, payment, recipient, is_payout=is_payout)


def _operator_lines(address: str, network: str | None) -> str:
    return entry_lines(
        "addresses",
        address=address,
        name="Operator",
        network=network,
        role="operator",
    )


def _new_payee(
    against: Against, payment: Effect, recipient: str, *, is_payout: bool
) -> Finding:
    """Return the finding about a recipient that the address book does not have, or not
    for this network.
    """
    is_elsewhere = recipient in against.policy.book
    if is_elsewhere and against.network is None:
        return payment_finding("payee_new.unplaced", payment)
    if is_payout:
        lines = _operator_lines(recipient, against.network)
    else:  # the user fills in the name
        lines = entry_lines(
            "addresses", address=recipient, name="", network=against.network
        )
    return payment_finding(
        "payee_new.network" if is_elsewhere else "payee_new",
        payment,
        recipient=with_checksum(recipient),
        network=against.network,
        policy_lines=lines,
    )


def _lacks_role(book: AddressBook, recipient: str, network: str | None) -> bool:
    """Return True if a recipient is known on this network, or else on others, but never
    as the operator's.
    """
    known = book.entries(recipient)
    here = [each for each in known if each.network in {None, network}] or known
    return bool(here) and all(each.role != "operator" for each in here)


_LAST_RESERVED = 0xFFFF
"""The addresses up to here are for contracts of the network itself, such as precompiles
(EIP-1352).
"""


def burned_at(address: str) -> str:
    """Return the name of an address whose key nobody has, such as "a burn address"; ""
    for any other text.
    """
    known = _told_in("reserved_addresses").get(address.lower())
    if known:
        return known
    is_address = address_problem(address) != "address_malformed"
    if is_address and int(address, 16) <= _LAST_RESERVED:
        return "an address that networks reserve for themselves"
    currency = find_by_hash(address)
    return f"the hash that stands for {currency.id}" if currency else ""


def known_contract_at(address: str, policy: PaymentPolicy) -> str:
    """Return the name of the contract or token at an address, on any network; "" if
    none is known there.
    """
    further = [token.currency for token in policy.tokens]
    for token in (*tokens_at(address), *further):
        if is_same(token.address, address):
            return f"the token {token.id}"
    for deployed in deployments_at(address):
        return f"the payment contract {deployed.contract} on {deployed.network}"
    return _told_in("well_known_contracts").get(address.lower(), "")


def payee_problem(payee: str, policy: PaymentPolicy = NO_POLICY) -> Finding | None:
    """Return the finding about an address that no order should name as its payee; None
    for any other text.
    """
    if address_problem(payee) == "address_checksum":
        return order_finding("payee_checksum")
    burned = burned_at(payee)
    if burned:
        return order_finding("payee_burned", what=burned)
    contract = known_contract_at(payee, policy)
    return order_finding("payee_contract", what=contract) if contract else None


@cache
def _told_in(table: str) -> Mapping[str, str]:
    """Return what a table tells of addresses, which are in lower case."""
    return {row["address"].lower(): row["what"] for row in rows(__package__, table)}


_BEHAVIOURS = {"takes": "token_takes", "rebases": "token_rebases"}
"""The findings about tokens that do more than move what is transferred."""


def check_token(
    effects: Effects, against: Against, payment: Effect
) -> Iterator[Finding]:
    """Yield the findings about the token of a payment; none without a network."""
    if against.network is None:
        return
    order = effects.order_of(payment)
    token = against.token(payment.token)
    expected = against.currency(order)
    unlisted = None
    if order is not None and expected is None:
        unlisted = network_in_id(order.payment_currency)
    if order is not None and unlisted is not None and payment.token is not None:
        yield _compare_with_unlisted(against, payment, order)
    elif token is None:
        yield payment_finding("token_unknown", payment, network=against.network)
    elif expected and token != expected:
        yield payment_finding(
            "token_differs", payment, token=token.id, expected=expected.id
        )
    else:
        yield payment_finding("token_matches", payment, token=token.id)
    if token is not None and token.id in token_behaviours():
        key = _BEHAVIOURS[token_behaviours()[token.id]]
        yield payment_finding(key, payment, token=token.id)


def _compare_with_unlisted(
    against: Against, payment: Effect, order: OrderTerms
) -> Finding:
    """Compare the token of a payment with a currency of the order that the token list
    does not have.

    The service's list moves on: such a currency may be new, or have another id in the
    list.
    """
    network = str(against.network)
    address = str(payment.token)
    token = against.token(payment.token)
    currency = visible(order.payment_currency)
    if token is None and address == NATIVE:
        return payment_finding(
            "token_unlisted.coin", payment, network=network, currency=currency
        )
    if token is None:
        lines = entry_lines(
            "tokens", id=currency, network=network, address=address, decimals="?"
        )
        return payment_finding(
            "token_unlisted",
            payment,
            address=with_checksum(address),
            currency=currency,
            policy_lines=lines,
        )
    is_same_symbol = symbol_in(currency, network).lower() == token.symbol.lower()
    if token.kind != "erc20" or not (is_same_symbol or networks()[network].is_test):
        return payment_finding(
            "token_differs", payment, token=token.id, expected=currency
        )
    lines = entry_lines(
        "tokens",
        id=currency,
        network=network,
        address=token.address,
        decimals=token.decimals,
    )
    return payment_finding(
        "token_renamed", payment, token=token.id, currency=currency, policy_lines=lines
    )


def check_token_contract(
    effects: Effects, against: Against, transaction: DecodedTransaction
) -> Finding:
    """Return the finding about a transaction that goes to a token, such as an
    approval.
    """
    token = against.token(transaction.to)
    if token is None:
        # Another finding says what is wrong with the token that is paid.
        paid = [is_same(each.token, transaction.to) for each in effects.payments]
        key = "token.unlisted" if any(paid) else "token_unknown.contract"
        return payment_finding(key, transaction, network=against.network)
    currencies = [against.currency(order) for order in against.orders]
    expected = dict.fromkeys(each.id for each in currencies if each is not None)
    if expected and token not in currencies:
        return payment_finding(
            "token_differs.contract",
            transaction,
            token=token.id,
            expected=" or ".join(expected),
        )
    return payment_finding("token", transaction, token=token.id)
