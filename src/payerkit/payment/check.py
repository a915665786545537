"""Compare the transactions of a payment with its order, and report every match and mismatch."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from payerkit.errors import without_internal_frames
from payerkit.findings import Finding, PaymentFindings, payment_finding
from payerkit.models.payments import KnowsPaid, Payment
from payerkit.onchain.addresses import address_problem
from payerkit.onchain.calldata import NOTES, Effect, EffectKind
from payerkit.onchain.currencies import deployments_at, networks
from payerkit.payment.compare import Comparison, DecodedTransaction, contract_at, network_of
from payerkit.payment.money import check_amount, check_fees, check_maximum, check_value
from payerkit.payment.orders import check_orders
from payerkit.payment.payee import check_approval, check_payee, check_terms, check_token, check_token_contract
from payerkit.payment.response import check_members, check_metadata, check_payout, check_response
from payerkit.policy.payment_policy import PaymentPolicy

if TYPE_CHECKING:
    from payerkit.client.node import Node
    from payerkit.models.payments import AnyOrder, Orders


MAX_TRANSACTIONS = 50
"""Transactions that are checked; a payment has a few, and more only make the user wait."""

MAX_EFFECTS = 1000
"""Payments and approvals that are checked; the service pays at most 200 at once (operator's documentation)."""


@without_internal_frames
def check_payment(  # noqa: PLR0913 - what a payment is compared with, each by name
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
    """Compare the transactions of a payment with its order before anyone signs; works offline, without a client.

    It cannot know who controls an address. Without a node, it cannot know either whether the wallet has enough money,
    or whether a contract has changed.

    Args:
        payment: A `Payment`, from `initiate_payment` or `read_payment`.
        order: A `PaymentOrder`, or a dict or Series with its fields; by default, the order that the payment remembers.
            It need not name a payee, as an order that pays out to a bank account does not. A dict or Series may also
            have the `payment_reference`, for a response that does not have it.
        orders: For a response that pays several at once: a DataFrame with one order a line (`payee`, `amount`,
            `invoice_currency`, `payment_currency`, and optionally `payment_reference`), or a list of orders. Each
            has to be paid once, and nothing else.
        rate: The price of one unit of the payment currency in the invoice currency, such as "2500" for an invoice in
            USD that is paid in ETH. Without it, the amount is only checked if both currencies are the same.
        network: The network that the transactions are for, such as "matic"; by default, that of the order, else the
            one that the response names.
        policy: What you agreed to once, for all payments: fees, allowances, known addresses, rates and tokens.
        now: The time to compare with, for a response that expires; by default, the clock's.
        client: From `connect()` or `sandbox()`. The service is then asked whether the request is paid already, by
            `GET /v2/request/{requestId}`, **beyond the specification**: if it is, the verdict is "stop"; if that is
            not known, "look". If a part is paid, the payment is compared with the rest.
        node: The address of a node of the network, such as "https://node.example.com"; by default, the policy's for the
            network, else that in PAYERKIT_NODE_URL; without one, no node is asked. `client.sandbox.node()` is that of
            a sandbox. It executes the transactions without sending them (`eth_simulateV1`), and the payee has to get
            what they say; if something else happens, the verdict is "stop". At most three requests are sent. A node
            can lie: take one of somebody you trust.
        wallet: The wallet that will sign, for the node. Without it, nothing is executed; contracts and tokens are read.

    Returns:
        All findings: what is wrong with an amount first, then those about the whole payment, then by transaction.
            `.verdict` is "ok" if everything that can be checked matches, "look" if a person must decide, and "stop" if
            something contradicts the order.

    Raises:
        InvalidInput: An argument has another type than described, the order has a member that is not compared, the
            rate is not positive, the network is not known, `now` has no time zone, `client` is not a client, or the
            policy's `rate_source` raises something. `node` is not an address with https, or `wallet` is not one of a
            wallet.

    Example:
        >>> payment = initiate_payment(client, order)
        >>> check_payment(payment, rate="2500").verdict  # it carries a fee, which the order does not name
        'look'
        >>> check_payment(payment, {**order, "amount": "11"}, rate="2500").errors
        STOP: 1 error.
          transaction 1   error    amount: The amount is 0.004 ETH-sepolia-sepolia; by the given rate,
          0.0044 ETH-sepolia-sepolia. That is 9.1 % too little. Compare the rate with a second source. If it is right,
          ask for a new payment; if not, give a newer one.  [amount_differs: order]
    """
    return findings_of(
        Comparison(
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
        )
    )


def findings_of(compared: Comparison) -> PaymentFindings:
    """Return the findings about a payment with what it is compared with."""
    if len(compared.transactions) > MAX_TRANSACTIONS:
        return PaymentFindings([payment_finding("too_many", count=len(compared.transactions), limit=MAX_TRANSACTIONS)])
    effects = sum(len(each.effects) for each in compared.transactions)
    if effects > MAX_EFFECTS:
        return PaymentFindings([payment_finding("too_many.effects", count=effects, limit=MAX_EFFECTS)])
    found = [*_check_whole(compared), *check_payout(compared), *check_response(compared), *check_metadata(compared)]
    for transaction in compared.transactions:
        found += _check_transaction(compared, transaction)
    found += check_fees(compared)
    if compared.node:
        from payerkit.payment.execute import check_execution  # noqa: PLC0415 - only who gives a node needs it

        found += check_execution(compared, compared.node)
    return PaymentFindings(sorted(found, key=_place))


def _place(found: Finding) -> int:
    """Return where a finding stands: what is paid too much or too little comes first, then the whole payment."""
    if found.field == "amount" and found.severity != "info" and not found.unchecked:
        return -2
    return -1 if found.step is None else found.step


def _check_whole(compared: Comparison) -> Iterator[Finding]:
    """Check what is not about one transaction: the orders, the network, and how many payments there are."""
    if not compared.orders:
        yield payment_finding("no_order")
    ordered = sorted({of for order in compared.orders if (of := network_of(order, compared.policy))})
    if len(ordered) > 1:
        yield payment_finding("network_differs.orders", networks=", ".join(ordered))
    elif compared.given_network and ordered and [compared.given_network] != ordered:
        yield payment_finding("network_differs", expected=ordered[0], given=compared.given_network)
    if compared.network is None:
        yield payment_finding("network_unknown")
    else:
        yield payment_finding("network", network=networks()[compared.network])
    yield from check_terms(compared)
    if not compared.payments:
        yield payment_finding("no_payment")
    if len(compared.orders) > 1:
        yield from check_orders(compared)
    elif len(compared.payments) > 1:
        key = "several_payments" if compared.orders else "several_payments.no_order"
        yield payment_finding(key, count=len(compared.payments))


def _check_transaction(compared: Comparison, transaction: DecodedTransaction) -> Iterator[Finding]:
    code, data = transaction.call.code, transaction.data
    if data and not data.startswith("0x"):
        yield payment_finding("data_prefix", transaction)
    is_transfer = code in {"empty", "reference_only"}
    if code and not (is_transfer and any(effect.at in compared.fee_legs for effect in transaction.effects)):
        key = "plain_transfer" if is_transfer else code if code == "not_canonical" else "unreadable_data"
        yield payment_finding(key, transaction, note=NOTES[code])
    yield from _check_contract(compared, transaction)
    yield from check_value(compared, transaction)
    yield from check_members(transaction)
    if transaction.call.arguments is not None and not transaction.effects:
        yield payment_finding("empty_batch", transaction)
    for effect in transaction.effects:
        if effect.kind == EffectKind.APPROVE:
            yield from check_approval(compared, effect)
        elif effect.at in compared.fee_legs:
            # Its share is one of all fees.
            is_known = effect.reference is None or any(effect.reference == each.reference for each in compared.payments)
            yield payment_finding("fee_leg" if is_known else "fee_leg.reference", effect)
            yield from _check_execution(compared, effect)
        elif effect.is_payment:
            yield from _check_payment(compared, effect)
        else:
            yield payment_finding("other_function", transaction, effect=effect.kind.value)


def _check_contract(compared: Comparison, transaction: DecodedTransaction) -> Iterator[Finding]:
    problem = address_problem(transaction.to)
    if problem:
        yield payment_finding(problem, transaction)
    function = transaction.call.function
    if function is None or compared.network is None or problem == "address_malformed":
        return
    if function.contracts == ("ERC20",):
        yield check_token_contract(compared, transaction)
        return
    others = ", ".join(sorted({each.network for each in deployments_at(transaction.to)} - {compared.network}))
    found = contract_at(transaction.to, compared.network, function.contracts)
    if found and found.contract in function.contracts:
        yield payment_finding(
            "contract", transaction, contract=f"{found.contract} {found.version}", network=compared.network
        )
        if function.payable and others:
            yield payment_finding("other_networks", transaction, networks=others)
    else:
        known = f" It is {found.contract}." if found else ""
        known += f" It is a known contract on {others}." if others else ""
        yield payment_finding("contract_unknown", transaction, network=compared.network, known=known)


def _check_payment(compared: Comparison, payment: Effect) -> Iterator[Finding]:
    """Yield the findings about a payment."""
    yield from check_payee(compared, payment)
    yield from check_token(compared, payment)
    yield from check_amount(compared, payment)
    yield from _check_reference(compared, payment)
    if payment.kind != EffectKind.TRANSFER:
        yield payment_finding("other_way", payment, effect=payment.kind.value)
    yield from _check_execution(compared, payment)


def _check_execution(compared: Comparison, payment: Effect) -> Iterator[Finding]:
    if payment.revert_reason:
        yield payment_finding("would_fail", payment, reason=payment.revert_reason)
    if payment.kept_reason:
        yield payment_finding("kept_back", payment, reason=payment.kept_reason)
    if payment.unit == "request":
        yield check_maximum(compared, payment)
    elif payment.max_to_spend or payment.max_rate_age:
        yield payment_finding("maximum_unread", payment)


def _check_reference(compared: Comparison, payment: Effect) -> Iterator[Finding]:
    if payment.reference is None:
        yield payment_finding("reference_missing", payment)
        return
    if payment.reference and not any(payment.reference):
        yield payment_finding("reference_zero", payment)
    if len(payment.reference) != 8:
        yield payment_finding("reference_malformed", payment)
        return
    order, payout = compared.order_of(payment), compared.payment.payout
    ordered = None if order is None else order.payment_reference
    requested = None if payout is None else payout.payment_reference
    received = compared.payment.payment_reference
    sources = [
        (ordered, "reference_matches.order", "reference_differs.order"),
        (requested, "reference_matches.request", "reference_differs.request"),
        (None if received == requested else received, "reference_matches", "reference_differs"),
    ]
    for reference, matches, differs in sources:
        if reference is not None:
            is_match = reference.lower() == f"0x{payment.reference.hex()}"
            yield payment_finding(matches if is_match else differs, payment)
    if all(reference is None for reference, *_ in sources):
        yield payment_finding("reference_unchecked", payment)
