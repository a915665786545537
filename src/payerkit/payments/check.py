"""Compare the transactions of a payment with its order, and report every match and
mismatch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Unpack

from payerkit.errors import without_internal_frames
from payerkit.findings import Finding, PaymentFindings, payment_finding
from payerkit.models.payments import KnowsPaid, Payment
from payerkit.payments.against import Against, contract_at, find_network, read_against
from payerkit.payments.amount import (
    check_amount,
    check_maximum,
    check_rates,
    check_value,
    fee_of_leg,
    is_path_listed,
)
from payerkit.payments.approvals import check_approval
from payerkit.payments.effects import MAX_TRANSACTIONS, Effects, read_effects
from payerkit.payments.extras import check_extras
from payerkit.payments.fees import check_fees
from payerkit.payments.onchain.addresses import address_problem
from payerkit.payments.onchain.calldata import NOTES, Effect, EffectKind
from payerkit.payments.onchain.currencies import deployments_at, networks
from payerkit.payments.orders import check_orders
from payerkit.payments.payee import (
    check_payee,
    check_terms,
    check_token,
    check_token_contract,
)
from payerkit.payments.payment_policy import PaymentPolicy
from payerkit.payments.response import check_response
from payerkit.payments.transactions import DecodedTransaction, decode_payment

if TYPE_CHECKING:
    from payerkit.client.node import Node
    from payerkit.models.payments import AnyOrder, ComparedWith, Orders


MAX_EFFECTS = 1000
"""Payments and approvals that are checked; the service pays at most 200 at once
(operator's documentation).
"""


@without_internal_frames
def check_payment(
    payment: Payment,
    order: AnyOrder | None = None,
    *,
    orders: Orders | None = None,
    rate: Decimal | int | str | None = None,
    network: str | None = None,
    policy: PaymentPolicy | None = None,
    now: datetime | None = None,
    client: KnowsPaid | None = None,
    node: str | Node | None = None,
    wallet: str | None = None,
) -> PaymentFindings:
    """Compare the transactions of a payment with its order before anyone signs; works
    offline, without a client.

    It cannot know who controls an address. Without a node, it cannot know either
    whether the wallet has enough money, or whether a contract has changed.

    Args:
        payment: A `Payment`, from `initiate_payment` or `read_payment`.
        order: A `PaymentOrder`, or a dict or Series with its fields; by default, the
            order that the payment remembers. Without a payee, the verdict is at best
            "look", unless the order pays out to a bank account. A dict or Series may
            also have the `payment_reference`, for a response that does not have it.
        orders: For a response that pays several at once: a DataFrame with one order a
            line (`payee`, `amount`, `invoice_currency`, `payment_currency`, and
            optionally `payment_reference`), or a list of orders. Each has to be paid
            once, and nothing else.
        rate: The price of one unit of the payment currency in the invoice currency,
            such as "2500" for an invoice in USD that is paid in ETH. Without it, the
            amount is only checked if both currencies are the same.
        network: The network that the transactions are for, such as "matic"; by default,
            that of the order, else the one that the response names.
        policy: What you agreed to once, for all payments: fees, allowances, known
            addresses, rates and tokens.
        now: The time to compare with, for a response that expires; by default, the
            clock's.
        client: From `connect()` or `sandbox()`. The service is then asked whether the
            request is paid already, by `GET /v2/request/{requestId}`, **beyond the
            specification**: if it is, the verdict is "stop"; if that is not known,
            "look". If a part is paid, the payment is compared with the rest.
        node: The address of a node of the network, such as "https://node.example.com".
            It executes the transactions without sending them (`eth_simulateV1`), and
            the payee has to get what they say; if something else happens, the verdict
            is "stop". One request is sent. A node can lie: take one of somebody you
            trust.
        wallet: The wallet that will sign, for the node. Without it, nothing is
            executed.

    Returns:
        All findings: what is wrong with an amount first, then those about the whole
            payment, then by transaction. `.verdict` is "ok" if everything that can be
            checked matches, "look" if a person must decide, and "stop" if something
            contradicts the order.

    Raises:
        InvalidInput: An argument has another type than described, the order has a
            member that is not compared, the rate is not positive, the network is not
            known, `now` has no time zone, `client` is not a client, or the policy's
            `rate_source` raises something. `node` is not an address with https, or
            `wallet` is not one of a wallet.

    Example:
        >>> payment = initiate_payment(client, order)
        >>> # it carries a fee, which the order does not name
        >>> check_payment(payment, rate="2500").verdict
        'look'
        >>> check_payment(payment, {**order, "amount": "11"}, rate="2500").errors
        STOP: 1 error.
          transaction 1   error    amount: The amount is 0.004 ETH-sepolia-sepolia; by
          the given rate,
          0.0044 ETH-sepolia-sepolia. That is 9.1 % too little. Compare the rate with a
          second source. If it is right,
          ask for a new payment; if not, give a newer one.  [amount_differs: order]
    """
    return full_check(
        payment,
        order=order,
        orders=orders,
        rate=rate,
        network=network,
        policy=policy,
        now=now,
        client=client,
        node=node,
        wallet=wallet,
    ).findings


@dataclass(frozen=True, slots=True)
class CheckedPayment:
    """A payment that was checked: what its transactions do, what they were compared
    with, and what was found.
    """

    effects: Effects
    against: Against
    findings: PaymentFindings


def full_check(payment: Payment, **given: Unpack[ComparedWith]) -> CheckedPayment:
    """Check a payment as `check_payment` documents it, and return all of the check."""
    transactions = decode_payment(payment)
    against = read_against(payment, **given)
    effects = read_effects(payment, transactions, against)
    return CheckedPayment(effects, against, _findings(effects, against))


def _findings(effects: Effects, against: Against) -> PaymentFindings:
    """Return the findings about a payment, those about what is wrong with an amount
    first.
    """
    too_many = _count(effects)
    if too_many is not None:
        return PaymentFindings([too_many])
    findings = [
        *_check_network(against),
        *check_terms(against),
        *check_rates(against),
        *check_orders(effects, against),
        *check_response(effects, against),
    ]
    for transaction in effects.transactions:
        findings += _check_transaction(effects, against, transaction)
    findings += check_fees(effects, against)
    if against.node:
        from payerkit.payments.execute import check_execution  # noqa: PLC0415 - only who gives a node needs it

        findings += check_execution(effects, against, against.node)
    return PaymentFindings(sorted(findings, key=_place))


def _count(effects: Effects) -> Finding | None:
    """Return the finding about a payment that has more than is checked; None for any
    other.
    """
    count = len(effects.transactions)
    if count > MAX_TRANSACTIONS:
        return payment_finding("too_many", count=count, limit=MAX_TRANSACTIONS)
    count = sum(len(each.effects) for each in effects.transactions)
    if count > MAX_EFFECTS:
        return payment_finding("too_many.effects", count=count, limit=MAX_EFFECTS)
    return None


def _place(finding: Finding) -> int:
    """Return where a finding stands: what is paid too much or too little comes first,
    then the whole payment, then each transaction.
    """
    is_amount = finding.field == "amount" and not finding.unchecked
    if is_amount and finding.severity != "info":
        return -2
    return -1 if finding.step is None else finding.step


def _check_network(against: Against) -> Iterator[Finding]:
    """Check that there is an order, and that all name one network, which is known."""
    if not against.orders:
        yield payment_finding("no_order")
    found = {
        find_network(order.payment_currency, against.policy) for order in against.orders
    }
    ordered = sorted(network.name for network in found if network is not None)
    if len(ordered) > 1:
        yield payment_finding("network_differs.orders", networks=", ".join(ordered))
    elif against.given_network and ordered and [against.given_network] != ordered:
        yield payment_finding(
            "network_differs", expected=ordered[0], given=against.given_network
        )
    if against.network is None:
        yield payment_finding("network_unknown")
    else:
        yield payment_finding("network", network=networks()[against.network])


def _check_transaction(
    effects: Effects, against: Against, transaction: DecodedTransaction
) -> Iterator[Finding]:
    """Yield the findings about a transaction, then about each of its effects."""
    yield from _check_data(effects, transaction)
    yield from _check_contract(effects, against, transaction)
    yield from check_value(against, transaction)
    if effects.payment.whole.is_complete:  # else `response_too_large` says that
        yield from check_extras(against, transaction)
    if transaction.call.arguments is not None and not transaction.effects:
        yield payment_finding("empty_batch", transaction)
    for effect in transaction.effects:
        yield from _check_effect(effects, against, transaction, effect)


def _check_data(effects: Effects, transaction: DecodedTransaction) -> Iterator[Finding]:
    """Yield the findings about calldata that is no call, or that has more bytes than
    its arguments explain.
    """
    code = transaction.call.code
    data = transaction.data
    if data and not data.startswith("0x"):
        yield payment_finding("data_prefix", transaction)
    if not code:
        return
    key = "unreadable_data"
    if code == "not_canonical":
        key = code
    elif code in {"empty", "reference_only"}:
        if any(effect.at in effects.fee_legs for effect in transaction.effects):
            return
        key = "plain_transfer"
    yield payment_finding(key, transaction, note=NOTES[code])


def _check_effect(
    effects: Effects, against: Against, transaction: DecodedTransaction, effect: Effect
) -> Iterator[Finding]:
    if effect.kind == EffectKind.APPROVE:
        yield from check_approval(effects, against, effect)
    elif effect.at in effects.fee_legs:
        yield from _check_leg(effects, against, effect)
    elif effect.is_payment:
        yield from _check_payment(effects, against, effect)
    else:
        yield payment_finding("other_function", transaction, effect=effect.kind.value)


def _check_leg(effects: Effects, against: Against, leg: Effect) -> Iterator[Finding]:
    """Yield the findings about a payment that only carries a fee; its share is one of
    all fees.
    """
    leaves = fee_of_leg(effects, against, leg)
    references = {None, *(payment.reference for payment in effects.payments)}
    key = "fee_leg" if leg.reference in references else "fee_leg.reference"
    yield payment_finding(key, leg, leaves=leaves)
    if leg.unit == "request" and not is_path_listed(leg):
        yield payment_finding("fee_leg.path", leg, leaves=leaves)
    yield from _check_execution(effects, against, leg)


def _check_contract(
    effects: Effects, against: Against, transaction: DecodedTransaction
) -> Iterator[Finding]:
    problem = address_problem(transaction.to)
    if problem:
        yield payment_finding(problem, transaction)
    function = transaction.call.function
    if function is None or against.network is None or problem == "address_malformed":
        return
    if function.contracts == ("ERC20",):
        yield check_token_contract(effects, against, transaction)
        return
    others = ", ".join(
        sorted(
            {each.network for each in deployments_at(transaction.to)}
            - {against.network}
        )
    )
    found = contract_at(transaction.to, against.network, function.contracts)
    if found and found.contract in function.contracts:
        yield payment_finding(
            "contract",
            transaction,
            contract=f"{found.contract} {found.version}",
            network=against.network,
        )
        if function.payable and others:
            yield payment_finding("other_networks", transaction, networks=others)
    else:
        known = f" It is {found.contract}." if found else ""
        known += f" It is a known contract on {others}." if others else ""
        yield payment_finding(
            "contract_unknown", transaction, network=against.network, known=known
        )


def _check_payment(
    effects: Effects, against: Against, payment: Effect
) -> Iterator[Finding]:
    """Yield the findings about a payment."""
    yield from check_payee(effects, against, payment)
    yield from check_token(effects, against, payment)
    yield from check_amount(effects, against, payment)
    yield from _check_reference(effects, payment)
    if payment.kind != EffectKind.TRANSFER:
        yield payment_finding("other_way", payment, effect=payment.kind.value)
    yield from _check_execution(effects, against, payment)


def _check_execution(
    effects: Effects, against: Against, payment: Effect
) -> Iterator[Finding]:
    if payment.revert_reason:
        yield payment_finding("would_fail", payment, reason=payment.revert_reason)
    if payment.kept_reason:
        yield payment_finding("kept_back", payment, reason=payment.kept_reason)
    if payment.unit == "request":
        yield check_maximum(effects, against, payment)
    elif payment.max_to_spend or payment.max_rate_age:
        yield payment_finding("maximum_unread", payment)


def _check_reference(effects: Effects, payment: Effect) -> Iterator[Finding]:
    if payment.reference is None:
        yield payment_finding("reference_missing", payment)
        return
    if payment.reference and not any(payment.reference):
        yield payment_finding("reference_zero", payment)
    if len(payment.reference) != 8:
        yield payment_finding("reference_malformed", payment)
        return
    order = effects.order_of(payment)
    payout = effects.payment.payout
    ordered = None if order is None else order.payment_reference
    requested = None if payout is None else payout.payment_reference
    received = effects.payment.payment_reference
    sources = [
        (ordered, "reference_matches.order", "reference_differs.order"),
        (requested, "reference_matches.request", "reference_differs.request"),
    ]
    if received != requested:
        sources.append((received, "reference_matches", "reference_differs"))
    known = [source for source in sources if source[0] is not None]
    for reference, matches, differs in known:
        is_match = str(reference).lower() == f"0x{payment.reference.hex()}"
        yield payment_finding(matches if is_match else differs, payment)
    if not known:
        yield payment_finding("reference_unchecked", payment)
