"""Check who is paid, in which token, and who may take how many: against the order and what the user agreed to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from payerkit._tsv import rows
from payerkit.findings import Finding, order_finding, payment_finding
from payerkit.onchain.addresses import address_problem, are_alike, is_same, with_checksum
from payerkit.onchain.amounts import share_of, to_units
from payerkit.onchain.calldata import NATIVE, UNLIMITED, Effect, EffectKind
from payerkit.onchain.currencies import deployments_at, find_by_hash, is_currency_id, network_in_id, networks, tokens_at
from payerkit.payment.compare import Comparison, DecodedTransaction, OrderTerms
from payerkit.policy.address_book import AddressBook
from payerkit.policy.payment_policy import NO_POLICY, PaymentPolicy, address_line, allowance_line, symbol_in, token_line
from payerkit.wording import shown, visible


def check_terms(compared: Comparison) -> Iterator[Finding]:
    """Yield the findings about the currencies and the payees that the orders name, whatever is paid."""
    fields = "invoice_currency", "payment_currency"
    for field, name in dict.fromkeys((field, getattr(order, field)) for order in compared.orders for field in fields):
        currency = compared.policy.find_currency(name)
        network = network_in_id(name) if currency is None else networks().get(currency.network)
        if not is_currency_id(name):
            yield payment_finding("currency_form", field=field, currency=ascii(name)[1:-1][:80])
        elif field == "invoice_currency":
            continue
        elif network is not None and network.name == "tron":
            yield payment_finding("network_unsupported")
        elif currency is None and network is None:
            yield payment_finding("currency_unknown")
        elif currency is None and network is not None:
            yield payment_finding("currency_unlisted", currency=visible(name), network=network.name)
    keys = {"address_malformed": "payee_malformed", "address_checksum": "payee_checksum"}
    for payee in dict.fromkeys(order.payee for order in compared.orders if order.payee is not None):
        if problem := address_problem(payee):
            yield payment_finding(keys[problem], payee=shown(payee))


def check_payee(compared: Comparison, payment: Effect) -> Iterator[Finding]:
    """Yield the findings about the recipient of a payment."""
    recipient, order = payment.recipient, compared.order_of(payment)
    if recipient is None:
        yield payment_finding("recipient_unknown", payment)
        return
    if address_problem(recipient) == "address_checksum":  # of a plain transfer: calldata has no capital letters
        yield payment_finding("recipient_checksum", payment)
    if burned := burned_at(recipient):
        yield payment_finding("recipient_burned", payment, what=burned)
    elif contract := known_contract_at(recipient, compared.policy):
        yield payment_finding("recipient_contract", payment, what=contract)
    elif order is None or order.payee is None:
        yield payment_finding("recipient", payment, recipient=with_checksum(recipient))
        yield from _compare_with_book(compared, payment, recipient, order)
    elif is_same(recipient, order.payee):
        yield payment_finding("payee_matches", payment)
        yield from _compare_with_book(compared, payment, recipient, order)
    else:
        key = "payee_differs.lookalike" if are_alike(recipient, order.payee) else "payee_differs"
        words = {"recipient": with_checksum(recipient), "payee": str(with_checksum(order.payee))[:80]}
        yield payment_finding(key, payment, **words)


def _compare_with_book(
    compared: Comparison, payment: Effect, recipient: str, order: OrderTerms | None
) -> Iterator[Finding]:
    """Yield what the address book knows about a recipient.

    Findings are saved with notebooks, so they contain no names of the address book.
    """
    book = compared.policy.book
    is_payout = compared.payment.payout is not None or (order is not None and order.is_payout)
    names_none = is_payout if order is None else order.payee is None
    name, role = ("Operator", "operator") if is_payout else ("", "payee")  # a payee's name is for the user to fill in
    entry = recipient, name, compared.network, role
    if is_payout and _lacks_role(book, recipient, compared.network):
        yield payment_finding("payee_role", payment, recipient=with_checksum(recipient))
    elif names_none and recipient.lower() in compared.fee_recipients:
        yield payment_finding("payee_unnamed.fee", payment)
    elif book.find(recipient, compared.network):
        warning = book.warning(recipient)
        key = "payee_known.warned" if warning else "payee_known"
        yield payment_finding(key, payment, warning=warning and warning.message)
    elif alike := compared.policy.lookalike(recipient):
        yield payment_finding("payee_lookalike", payment, recipient=with_checksum(recipient), known=alike)
    elif names_none:
        yield payment_finding(
            "payee_operator" if is_payout else "payee_unnamed", payment, policy_lines=address_line(*entry)
        )
    elif compared.policy.addresses is not None and recipient in book and compared.network is None:
        yield payment_finding("payee_new.unplaced", payment)
    elif compared.policy.addresses is not None:
        words = {"recipient": with_checksum(recipient), "network": compared.network}
        yield payment_finding(
            "payee_new.network" if recipient in book else "payee_new",
            payment,
            **words,
            policy_lines=address_line(*entry),
        )


def _lacks_role(book: AddressBook, recipient: str, network: str | None) -> bool:
    """Return True if a recipient is known on this network, or else on others, but never as the operator's."""
    known = book.entries(recipient)
    here = [each for each in known if each.network in {None, network}] or known
    return bool(here) and all(each.role != "operator" for each in here)


_LAST_RESERVED = 0xFFFF
"""The addresses up to here are for contracts of the network itself, such as precompiles (EIP-1352)."""


def burned_at(address: str) -> str:
    """Return the name of an address whose key nobody has, such as "a burn address"; "" for any other text."""
    if known := _reserved().get(address.lower()):
        return known
    if address_problem(address) != "address_malformed" and int(address, 16) <= _LAST_RESERVED:
        return "an address that networks reserve for themselves"
    currency = find_by_hash(address)
    return f"the hash that stands for {currency.id}" if currency else ""


def known_contract_at(address: str, policy: PaymentPolicy = NO_POLICY) -> str:
    """Return the name of the contract or token at an address, on any network; "" if none is known there."""
    for token in (*tokens_at(address), *policy.tokens):
        if is_same(token.address, address):
            return f"the token {token.id}"
    if deployed := next(iter(deployments_at(address)), None):
        return f"the payment contract {deployed.contract} on {deployed.network}"
    return ""


def payee_problem(payee: str, policy: PaymentPolicy = NO_POLICY) -> Finding | None:
    """Return the finding about an address that no order should name as its payee; None for any other text."""
    if address_problem(payee) == "address_checksum":
        return order_finding("payee_checksum")
    if what := burned_at(payee):
        return order_finding("payee_burned", what=what)
    what = known_contract_at(payee, policy)
    return order_finding("payee_contract", what=what) if what else None


@cache
def _reserved() -> Mapping[str, str]:
    return {row["address"].lower(): row["what"] for row in rows(__package__, "reserved_addresses")}


def check_token(compared: Comparison, payment: Effect) -> Iterator[Finding]:
    """Yield the finding about the token of a payment; none without a network."""
    if compared.network is None:
        return
    order = compared.order_of(payment)
    token, expected = compared.token(payment.token), compared.currency(order)
    is_unlisted = order is not None and expected is None and network_in_id(order.payment_currency) is not None
    if order is not None and payment.token is not None and is_unlisted:
        yield _compare_with_unlisted(compared, payment, order)
    elif token is None:
        yield payment_finding("token_unknown", payment, network=compared.network)
    elif expected and token != expected:
        yield payment_finding("token_differs", payment, token=token.id, expected=expected.id)
    else:
        yield payment_finding("token_matches", payment, token=token.id)


def _compare_with_unlisted(compared: Comparison, payment: Effect, order: OrderTerms) -> Finding:
    """Compare the token of a payment with a currency of the order that the token list does not have.

    The service's list moves on: such a currency may be new, or have another id in the list.
    """
    network, address, token = str(compared.network), str(payment.token), compared.token(payment.token)
    currency = visible(order.payment_currency)
    if token is None and address == NATIVE:
        return payment_finding("token_unlisted.coin", payment, network=network, currency=currency)
    if token is None:
        lines = token_line(currency, network, address, None)
        return payment_finding(
            "token_unlisted", payment, address=with_checksum(address), currency=currency, policy_lines=lines
        )
    is_same_symbol = symbol_in(currency, network).lower() == token.symbol.lower()
    if token.kind != "erc20" or not (is_same_symbol or networks()[network].is_test):
        return payment_finding("token_differs", payment, token=token.id, expected=currency)
    lines = token_line(currency, network, token.address, token.decimals)
    return payment_finding("token_renamed", payment, token=token.id, currency=currency, policy_lines=lines)


def check_token_contract(compared: Comparison, transaction: DecodedTransaction) -> Finding:
    """Return the finding about a transaction that goes to a token, such as an approval."""
    token = compared.token(transaction.to)
    expected = {currency.id: currency for order in compared.orders if (currency := compared.currency(order))}
    if token is None and any(is_same(payment.token, transaction.to) for payment in compared.payments):
        return payment_finding("token.unlisted", transaction)  # another finding says what is wrong with the token
    if token is None:
        return payment_finding("token_unknown.contract", transaction, network=compared.network)
    if expected and token not in expected.values():
        return payment_finding("token_differs.contract", transaction, token=token.id, expected=" or ".join(expected))
    return payment_finding("token", transaction, token=token.id)


def check_approval(compared: Comparison, approval: Effect) -> Iterator[Finding]:
    """Yield the findings about an approval."""
    spending, end = _spending(compared, approval), _end(compared, approval)
    if not spending:
        yield payment_finding("spender_differs", approval)
        return
    yield payment_finding("spender", approval)
    later = [payment.step for payment in spending if payment.step > approval.step]
    if later and end < later[0]:
        yield payment_finding("allowance_reset.replaced" if approval.allowance else "allowance_reset", approval)
    elif not later and not approval.allowance:
        yield payment_finding("allowance_taken_back", approval)
    else:
        places = range(approval.step + 1, end)
        uses = [each for each in spending if each.step in places and is_same(each.token, approval.token)]
        key = _compare_allowance(compared, approval, uses) if later else "allowance_late"
        yield _check_allowance(compared, approval, key)


def _spending(compared: Comparison, approval: Effect) -> list[Effect]:
    """Return the payments that use an allowance: their contract is its spender.

    A plain transfer needs no allowance, neither of the token that makes it nor of the wallet that receives coins.
    """
    return [
        payment
        for other in compared.transactions
        if is_same(other.to, approval.spender) and other.call.function and other.call.function.contracts != ("ERC20",)
        for payment in other.effects
        if payment.is_payment
    ]


def _end(compared: Comparison, approval: Effect) -> int:
    """Return the index of the next transaction that approves the same token for the same spender, else their number."""
    for other in compared.transactions[approval.step + 1 :]:
        for effect in other.effects:
            is_same_spender = effect.kind == EffectKind.APPROVE and is_same(effect.spender, approval.spender)
            if is_same_spender and is_same(other.to, approval.token):
                return other.index
    return len(compared.transactions)


def _check_allowance(compared: Comparison, approval: Effect, key: str) -> Finding:
    """Return the finding with a key, unless the policy accepts an allowance of this size."""
    if key not in _MORE_THAN_NEEDED:
        return payment_finding(key, approval)
    token = compared.token(approval.token)
    if token is None or approval.spender is None:  # a policy names tokens by their ids
        return payment_finding(key, approval, lines=" its token, then this allowance.")
    taken = to_units(approval.allowance, token.decimals)
    if compared.policy.accepts_allowance(token.id, approval.spender, taken):
        return payment_finding("allowance_accepted", approval)
    most = None if approval.allowance == UNLIMITED else taken
    return payment_finding(key, approval, policy_lines=allowance_line(token.id, approval.spender, most))


_MORE_THAN_NEEDED = {"allowance_late", "allowance_unlimited", "allowance_unchecked", "allowance_large"}
"""What a policy may accept: an allowance that is, or may be, more than the payments need."""


def _compare_allowance(compared: Comparison, approval: Effect, payments: list[Effect]) -> str:
    """Return the key of the finding. payments: those in the approved token up to the next approval, which replaces it.

    They need their sum, or that and the agreed fee of a batch contract. What some of them need, the calldata may not
    tell.
    """
    allowance = approval.allowance or 0
    needs = [each.max_to_spend if each.unit == "request" else (each.amount or 0) + (each.fee or 0) for each in payments]
    known = [need for need in needs if need is not None]
    if allowance == UNLIMITED:
        return "allowance_unlimited"
    if not known or len(known) < len(needs):
        return "allowance_unchecked"
    in_batch = sum([each.amount or 0 for each in payments if each.place is not None and each.unit == "token"])
    if allowance < sum(known):
        return "allowance_small"
    if allowance > sum(known) + share_of(in_batch, compared.policy.batch_fee):
        return "allowance_large"
    return "allowance_exact" if allowance == sum(known) else "allowance_exact.batch"
