"""The payment under review with its context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from typing import Self, Unpack

from payerkit.errors import InvalidInput
from payerkit.models.compared_with import ComparedWith, OrderTerms, expected_payments
from payerkit.models.payments import Payment
from payerkit.models.whole_response import Member, WholeResponse, chain_claims, claimed_networks
from payerkit.onchain.amounts import EXACT, read_rate
from payerkit.onchain.currencies import Currency, read_network, request_decimals
from payerkit.onchain.effects import At, Effect
from payerkit.policy.address_book import KnownAddress
from payerkit.policy.payment_policy import PaymentPolicy, given_policy
from payerkit.review.fees import FeeClaim, declared_fees, find_fee_legs
from payerkit.review.messages import shown
from payerkit.review.orders import match_orders
from payerkit.review.paid_status import PaidStatus
from payerkit.review.transactions import DecodedTransaction, decode_payment, network_of, resolve_currency


@dataclass(frozen=True)
class PaymentReview:
    """A payment with all that it is compared with.

    transactions: those of the response, wherever they stand.
    ordered: what was ordered; usually one order, none if there is nothing to compare with. orders: what the payments
    should be, one each: the same, but for the rest of a request that is paid in part.
    given_network: as given to this check or with the payment. network: that the transactions are for, if it is known.
    rate: as given to this check; it wins over the policy's.
    policy: what the user agreed to. now: the time of the check, with its time zone. paid: what the service says about
    whether it is paid; None if it was not asked. rates: those of the policy that were needed so far.
    """

    payment: Payment
    transactions: tuple[DecodedTransaction, ...]
    ordered: tuple[OrderTerms, ...]
    orders: tuple[OrderTerms, ...]
    given_network: str | None
    network: str | None
    rate: Decimal | None
    policy: PaymentPolicy
    now: datetime
    paid: PaidStatus | None
    rates: dict[tuple[str, str], Decimal | None] = field(default_factory=dict)

    @classmethod
    def of(cls, payment: Payment, **given: Unpack[ComparedWith]) -> Self:
        """Return the payment with what it is compared with. Raises InvalidInput, as `check_payment` documents it."""
        policy, now = given_policy(given.get("policy")), given.get("now")
        if now is not None and getattr(now, "tzinfo", None) is None:
            raise InvalidInput("now: give a time with its time zone, such as datetime.now(UTC).")
        transactions = decode_payment(payment)
        ordered = orders = expected_payments(payment.order, given.get("order"), given.get("orders"))
        network, rate, client = given.get("network") or payment.network, given.get("rate"), given.get("client")
        paid = None if client is None else PaidStatus.ask(client, payment.request_id)
        rest = paid.rest_of(ordered[0], policy) if paid is not None and len(ordered) == 1 else None
        if rest is not None:  # a part is paid, and the rest is to be
            orders = (replace(ordered[0], amount=f"{rest:f}"),)
        return cls(
            payment=payment,
            transactions=transactions,
            ordered=ordered,
            orders=orders,
            given_network=network,
            network=_find_network(network, ordered, policy, payment.whole),
            rate=None if rate is None else read_rate(rate),
            policy=policy,
            now=now or datetime.now(UTC),
            paid=paid,
        )

    @cached_property
    def payments(self) -> list[Effect]:
        """The effects that pay, without fee legs."""
        return [each for each in self.paying if each.at not in self.fee_legs]

    @cached_property
    def fee_legs(self) -> Mapping[At, Effect]:
        """The effects that pay nothing but a fee, by where they stand."""
        return find_fee_legs(self.paying, self.fee_recipients, self.policy)

    @cached_property
    def references(self) -> frozenset[bytes | None]:
        """The references of the payments."""
        return frozenset(payment.reference for payment in self.payments)

    @cached_property
    def paying(self) -> list[Effect]:
        """The effects that move money towards a recipient: payments and fee legs."""
        return [effect for each in self.transactions for effect in each.effects if effect.is_payment]

    @property
    def account(self) -> str:
        """The bank account that the payment pays out to, masked; "" if it pays a wallet."""
        return self.account_words and f"the account {self.account_words}"

    @property
    def account_words(self) -> str:
        """The same without the noun, such as "••••3489 at Chase (USD, local)"."""
        return "" if self.payment.payout is None else shown(self.payment.payout.words, 160)

    @cached_property
    def statements(self) -> Mapping[str, list[Member]]:
        """What the response says about the request and its payment, by the roles in `members.tsv`."""
        payout = self.payment.payout
        return self.payment.whole.statements(self.payment.request_id if payout is None else payout.request_id)

    @cached_property
    def declared_fees(self) -> Mapping[str, FeeClaim]:
        """The fees that the service declares, by the address of who receives them, in lower case."""
        return declared_fees(self.payment.metadata)

    @cached_property
    def fee_recipients(self) -> frozenset[str]:
        """The wallets that may receive a fee, as the service declares it or the policy agrees to it, in lower case."""
        agreed = {fee.address.lower() for fee in self.policy.fees}
        return frozenset({*self.declared_fees, *agreed} - {(order.payee or "").lower() for order in self.orders})

    def order_of(self, payment: Effect) -> OrderTerms | None:
        """Return the order that a payment should fulfil, or None."""
        if len(self.orders) == 1:
            return self.orders[0]
        number = self.order_numbers.get(payment.at)
        return None if number is None else self.orders[number]

    @cached_property
    def order_numbers(self) -> Mapping[At, int]:
        """The number of the order that each payment should fulfil, counted from 0, by where the payment stands."""
        return match_orders(self)

    def currency(self, order: OrderTerms | None) -> Currency | None:
        """Return the payment currency of an order; None without an order or if the currency is not known."""
        return None if order is None else self.policy.find_currency(order.payment_currency)

    def rate_of(self, order: OrderTerms) -> Decimal | None:
        """Return the price of one unit of an order's payment currency in its invoice currency, if it is known.

        It is the same during the whole check, even if the policy's source of rates changes its mind.
        """
        pair = order.payment_currency, order.invoice_currency
        if self.rate is None and pair not in self.rates:
            self.rates[pair] = self.policy.rate(*pair)
        return self.rate or self.rates[pair]

    def cost_of(self, payment: Effect) -> Decimal | None:
        """Return what a payment and its fee cost, in base units of the token that is spent.

        If it is converted on execution, that is what it costs by a known rate; None if there is no rate.
        """
        spent = Decimal((payment.amount or 0) + (payment.fee or 0))
        if payment.unit != "request":
            return spent
        order = self.order_of(payment)
        invoice = None if order is None else self.policy.find_currency(order.invoice_currency)
        token, rate = self.currency(order), None if order is None else self.rate_of(order)
        if invoice is None or token is None or rate is None:
            return None
        in_invoice = spent.scaleb(-request_decimals(invoice), EXACT)
        return EXACT.multiply(EXACT.divide(in_invoice, rate), Decimal(10) ** token.decimals)

    @cached_property
    def native_costs(self) -> Mapping[int, Decimal | None]:
        """What all native payments of a transaction cost, in wei, by its index; None if it is not known."""
        costs = {
            each.index: [self.cost_of(effect) for effect in each.effects if effect.is_payment and effect.is_native]
            for each in self.transactions
        }
        return {
            index: None if None in of_one else sum((cost for cost in of_one if cost is not None), Decimal(0))
            for index, of_one in costs.items()
        }

    def known(self, address: str | None) -> KnownAddress | None:
        """Return the entry of the policy's address book for an address, or None."""
        return None if self.policy.addresses is None else self.policy.addresses.find(address, self.network)

    def token(self, token: str | None) -> Currency | None:
        """Return the currency of a token address or `NATIVE`; None if the network or the token is not known."""
        return resolve_currency(token, self.network, self.policy)


def _find_network(
    given: str | None, orders: Iterable[OrderTerms], policy: PaymentPolicy, whole: WholeResponse
) -> str | None:
    """Return the given network, else that of the orders, else the only one that the response names; None if unknown.

    Raises InvalidInput if the given network is not known.
    """
    if given is not None:
        return read_network(given)
    for order in orders:
        if found := network_of(order, policy):
            return found
    claims, _ = chain_claims(whole)
    claimed = claimed_networks(claims)
    return claimed[0] if len(claimed) == 1 else None
