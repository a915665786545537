"""What a payment is compared with: orders, rates, network, policy and time; made once,
and handed on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Unpack

from payerkit.errors import InvalidInput
from payerkit.models.payments import Payment
from payerkit.models.whole_response import plain_name
from payerkit.payments.address_book import KnownAddress
from payerkit.payments.onchain.amounts import EXACT, read_rate
from payerkit.payments.onchain.calldata import NATIVE, Effect
from payerkit.payments.onchain.currencies import (
    Currency,
    Deployment,
    Network,
    currency_hash,
    deployments_at,
    native_currency,
    network_in_id,
    networks,
    read_network,
    request_decimals,
    tokens_at,
)
from payerkit.payments.paid import PaidStatus
from payerkit.payments.payment_policy import PaymentPolicy, given_policy
from payerkit.payments.terms import OrderTerms, read_orders
from payerkit.payments.transactions import DecodedTransaction

if TYPE_CHECKING:
    from payerkit.client.node import Node
    from payerkit.models.payments import ComparedWith

Pair = tuple[str, str]
"""The payment currency and the invoice currency of an order, as it writes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """What a payment is compared with.

    original_orders: usually one, none if there is nothing to compare with. orders: what
    the payments should be, one each: these, or the rest of a request that is paid in
    part. rest: what is left to pay of the only order then. rate: as given to this
    check; it wins over the policy's. rates: the price of one unit of an order's payment
    currency in its invoice currency, None where it is not known; of currencies that
    differ. given_network: as given to this check or with the payment. network: that the
    transactions are for, if it is known. policy: what the user agreed to. now: the time
    of the check, with its time zone. paid: what the service says about whether it is
    paid; None if it was not asked. node: what executes the payment; None if nothing
    was given. wallet: that signs, as given to this check. signer: the same, else the
    one that the payout names.
    """

    original_orders: tuple[OrderTerms, ...]
    orders: tuple[OrderTerms, ...]
    rest: Decimal | None
    rate: Decimal | None
    rates: Mapping[Pair, Decimal | None]
    given_network: str | None
    network: str | None
    policy: PaymentPolicy
    now: datetime
    paid: PaidStatus | None
    node: str | Node | None
    wallet: str | None
    signer: str | None

    @property
    def known_members(self) -> set[str]:
        """The plain names of members of responses that the user knows."""
        return {plain_name(name) for name in self.policy.known_members}

    def currency(self, order: OrderTerms | None) -> Currency | None:
        """Return the payment currency of an order; None without an order or if the
        currency is not known.
        """
        if order is None:
            return None
        return self.policy.find_currency(order.payment_currency)

    def rate_of(self, order: OrderTerms) -> Decimal | None:
        """Return the price of one unit of an order's payment currency in its invoice
        currency, if it is known.
        """
        return self.rates.get((order.payment_currency, order.invoice_currency))

    def cost_of(self, payment: Effect, order: OrderTerms | None) -> Decimal | None:
        """Return what a payment and its fee cost, in base units of the token that is
        spent.

        If it is converted on execution, that is what it costs by a known rate; None if
        there is no rate, or if it takes another token than the order names.
        """
        spent = Decimal((payment.amount or 0) + (payment.fee or 0))
        if payment.unit != "request":
            return spent
        token = self.token(payment.token)
        if order is None or token is None or token != self.currency(order):
            return None
        invoice = self.policy.find_currency(order.invoice_currency)
        rate = self.rate_of(order)
        if invoice is None or rate is None:
            return None
        in_invoice = spent.scaleb(-request_decimals(invoice), EXACT)
        return EXACT.multiply(
            EXACT.divide(in_invoice, rate), Decimal(10) ** token.decimals
        )

    def known(self, address: str | None) -> KnownAddress | None:
        """Return the entry of the policy's address book for an address, or None."""
        return self.policy.book.find(address, self.network)

    def token(self, token: str | None) -> Currency | None:
        """Return the currency of a token address or `NATIVE`; None if the network or
        the token is not known.
        """
        if token is None or self.network is None:
            return None
        native = native_currency(self.network)
        if token == NATIVE:
            return native
        # A conversion path names a native currency by its hash.
        is_native = native is not None and token.lower() == currency_hash(native)
        return native if is_native else self.policy.find_token(self.network, token)

    def contract_name(self, transaction: DecodedTransaction) -> str | None:
        """Return the name of the contract or token that a transaction goes to; None if
        it is not known.

        Without a network, only a name that is the same on all networks.
        """
        address = str(transaction.to)
        if self.network is None:
            names = {each.contract for each in deployments_at(address)}
            names |= {token.id for token in tokens_at(address)}
            return names.pop() if len(names) == 1 else None
        function = transaction.call.function
        preferred = function.contracts if function else ()
        contract = contract_at(address, self.network, preferred)
        if contract is not None:
            return f"{contract.contract} {contract.version}"
        token = self.token(address)
        return f"token {token.id}" if token else None


def read_against(payment: Payment, **given: Unpack[ComparedWith]) -> Against:
    """Return what a payment is compared with, from the arguments of `check_payment`,
    which documents what they raise.
    """
    policy = given_policy(given.get("policy"))
    now = given.get("now")
    client = given.get("client")
    if now is not None and getattr(now, "tzinfo", None) is None:
        raise InvalidInput(
            "now: give a time with its time zone, such as datetime.now(UTC)."
        )
    original = read_orders(payment.order, given.get("order"), given.get("orders"))
    paid = None if client is None else PaidStatus.ask(client, payment.request_id)
    rest = None
    if paid is not None and len(original) == 1:
        rest = paid.rest_of(original[0], policy)
    orders = original
    if rest is not None:  # a part is paid, and the rest is to be
        orders = (replace(original[0], amount=f"{rest:f}"),)
    given_network = given.get("network") or payment.network
    network = _find_network(payment, given_network, original, policy)
    wallet = given.get("wallet")
    signer = wallet
    if signer is None and payment.payout is not None:
        signer = payment.payout.wallet
    given_rate = given.get("rate")
    rate = None if given_rate is None else read_rate(given_rate)
    return Against(
        original_orders=original,
        orders=orders,
        rest=rest,
        rate=rate,
        rates=_find_rates(original, rate, policy),
        given_network=given_network,
        network=network,
        policy=policy,
        now=now or datetime.now(UTC),
        paid=paid,
        node=given.get("node"),
        wallet=wallet,
        signer=signer,
    )


def _find_network(
    payment: Payment,
    given: str | None,
    orders: Iterable[OrderTerms],
    policy: PaymentPolicy,
) -> str | None:
    """Return the given network, else that of the orders, else the only one that the
    response names; else None.

    Raises InvalidInput if the given network is not known.
    """
    if given is not None:
        return read_network(given)
    for order in orders:
        network = find_network(order.payment_currency, policy)
        if network is not None:
            return network.name
    claimed = payment.whole.claimed_networks()
    return claimed[0] if len(claimed) == 1 else None


def _find_rates(
    orders: Iterable[OrderTerms], rate: Decimal | None, policy: PaymentPolicy
) -> dict[Pair, Decimal | None]:
    """Return the given rate for all orders, else those of the policy.

    They stay the same during the whole check, even if the policy's source of rates
    changes its mind.
    """
    pairs = {(order.payment_currency, order.invoice_currency) for order in orders}
    if rate is not None:
        return dict.fromkeys(pairs, rate)
    rates: dict[Pair, Decimal | None] = {}
    for payment_currency, invoice_currency in pairs:
        token = policy.find_currency(payment_currency)
        if token is None or token != policy.find_currency(invoice_currency):
            pair = payment_currency, invoice_currency
            rates[pair] = policy.rate(*pair)
    return rates


def find_network(currency: str, policy: PaymentPolicy) -> Network | None:
    """Return the network of a currency; None for a fiat currency, or if it is not
    known.

    The id of a currency that is not listed tells the network, too.
    """
    found = policy.find_currency(currency)
    if found is None:
        return network_in_id(currency)
    return networks().get(found.network)


def contract_at(
    address: str | None, network: str, preferred: Collection[str]
) -> Deployment | None:
    """Return the contract deployed at an address of a network, one with a preferred
    name first.
    """
    here = [each for each in deployments_at(address) if each.network == network]
    return min(here, key=lambda each: each.contract not in preferred, default=None)
