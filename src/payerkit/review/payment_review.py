"""The payment under review with its context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Self

from payerkit.errors import InvalidInput
from payerkit.onchain.amounts import EXACT, read_rate
from payerkit.onchain.currencies import Currency, request_decimals
from payerkit.onchain.effects import Effect
from payerkit.policy.address_book import KnownAddress
from payerkit.policy.payment_policy import PaymentPolicy, given_policy
from payerkit.review.fees import FeeClaim, Paying, declared_fees, find_fee_legs
from payerkit.review.messages import shown
from payerkit.review.orders import ExpectedPayment, expected_payments, match_orders
from payerkit.review.paid_status import PaidStatus
from payerkit.review.protocols import KnowsPaid, PaymentLike
from payerkit.review.transactions import DecodedTransaction, decode_payment, network_of, read_network, resolve_currency
from payerkit.review.whole_response import Member, WholeResponse, chain_claims, claimed_networks

if TYPE_CHECKING:
    from payerkit.review.orders import AnyOrder, Orders


@dataclass(frozen=True)
class PaymentReview:
    """A payment with all that it is compared with.

    transactions: those of the response, wherever they stand.
    ordered: what was ordered; usually one order, none if there is nothing to compare with. orders: what the payments
    should be, one each: the same, but for the rest of a request that is paid in part.
    given_network: as given to this check or with the payment. network: that the transactions are for, if it is known.
    rate: as given to this check; it wins over the policy's.
    policy: what the user agreed to. now: the time of the check, with its time zone. paid: what the service says about
    whether it is paid; None if it was not asked.
    """

    payment: PaymentLike
    transactions: tuple[DecodedTransaction, ...]
    ordered: tuple[ExpectedPayment, ...]
    orders: tuple[ExpectedPayment, ...]
    given_network: str | None
    network: str | None
    rate: Decimal | None
    policy: PaymentPolicy
    now: datetime
    paid: PaidStatus | None

    @classmethod
    def of(  # noqa: PLR0913 - what a payment is compared with, each by name
        cls,
        payment: PaymentLike,
        order: AnyOrder | None = None,
        *,
        orders: Orders | None = None,
        rate: object = None,
        network: str | None = None,
        policy: PaymentPolicy | None = None,
        now: datetime | None = None,
        client: KnowsPaid | None = None,
    ) -> Self:
        """Return the payment with what it is compared with. Raises InvalidInput, as `check_payment` documents it."""
        policy = given_policy(policy)
        if now is not None and getattr(now, "tzinfo", None) is None:
            raise InvalidInput("now: give a time with its time zone, such as datetime.now(UTC).")
        transactions = decode_payment(payment)
        expected = expected_payments(payment.order, order, orders)
        given = network or payment.network
        paid = None if client is None else PaidStatus.ask(client, payment.request_id)
        return cls(
            payment=payment,
            transactions=transactions,
            ordered=expected,
            orders=_open_orders(expected, paid, policy),
            given_network=given,
            network=_find_network(given, expected, policy, payment.whole),
            rate=None if rate is None else read_rate(rate),
            policy=policy,
            now=now or datetime.now(UTC),
            paid=paid,
        )

    @cached_property
    def payments(self) -> list[Paying]:
        """The effects that pay, each with its transaction, without fee legs."""
        return [(each, effect) for each, effect in self.paying if not self.is_fee_leg(effect)]

    @cached_property
    def fee_legs(self) -> list[Paying]:
        """The effects that pay nothing but a fee, each with its transaction."""
        return find_fee_legs(self.paying, self.fee_recipients, self.policy)

    def is_fee_leg(self, effect: Effect) -> bool:
        """Return True if an effect of a transaction here pays nothing but a fee."""
        return id(effect) in self._ids_of_fee_legs

    @cached_property
    def _ids_of_fee_legs(self) -> frozenset[int]:
        return frozenset(id(effect) for _, effect in self.fee_legs)

    @cached_property
    def references(self) -> frozenset[bytes | None]:
        """The references of the payments."""
        return frozenset(payment.reference for _, payment in self.payments)

    @cached_property
    def paying(self) -> list[Paying]:
        """The effects that move money towards a recipient, each with its transaction: payments and fee legs."""
        return [(each, effect) for each in self.transactions for effect in each.effects if effect.is_payment]

    @property
    def account(self) -> str:
        """The bank account that the payment pays out to, masked; "" if it pays a wallet."""
        return self.account_words and f"the account {self.account_words}"

    @property
    def account_words(self) -> str:
        """The same without the noun, such as "••••3489 at Chase (USD, local)"."""
        return "" if self.payment.payout is None else shown(self.payment.payout.words, 160)

    @property
    def whole(self) -> WholeResponse:
        """All that the response holds."""
        return self.payment.whole

    @cached_property
    def statements(self) -> Mapping[str, list[Member]]:
        """What the response says about the request and its payment, by the roles in `members.tsv`."""
        payout = self.payment.payout
        return self.whole.statements(self.payment.request_id if payout is None else payout.request_id)

    @cached_property
    def chain_claims(self) -> list[Member]:
        """What the response says about the network."""
        return chain_claims(self.whole)

    @cached_property
    def declared_fees(self) -> Mapping[str, FeeClaim]:
        """The fees that the service declares, by the address of who receives them, in lower case."""
        return declared_fees(self.payment.metadata)

    @cached_property
    def fee_recipients(self) -> frozenset[str]:
        """The wallets that may receive a fee, as the service declares it or the policy agrees to it, in lower case."""
        agreed = {fee.address.lower() for fee in self.policy.fees}
        return frozenset({*self.declared_fees, *agreed} - {(order.payee or "").lower() for order in self.orders})

    def order_of(self, payment: Effect) -> ExpectedPayment | None:
        """Return the order that a payment should fulfil, or None."""
        if len(self.orders) == 1:
            return self.orders[0]
        number = self.order_numbers.get(id(payment))
        return None if number is None else self.orders[number]

    @cached_property
    def order_numbers(self) -> Mapping[int, int]:
        """The place of the order that each payment should fulfil, by the `id` of its effect: two may be equal."""
        return match_orders(self)

    def currency(self, order: ExpectedPayment | None) -> Currency | None:
        """Return the payment currency of an order; None without an order or if the currency is not known."""
        return None if order is None else self.policy.find_currency(order.payment_currency)

    def rate_of(self, order: ExpectedPayment) -> Decimal | None:
        """Return the price of one unit of an order's payment currency in its invoice currency, if it is known.

        It is the same during the whole check, even if the policy's source of rates changes its mind.
        """
        pair = order.payment_currency, order.invoice_currency
        if self.rate is None and pair not in self._rates:
            self._rates[pair] = self.policy.rate(*pair)
        return self.rate or self._rates[pair]

    @cached_property
    def _rates(self) -> dict[tuple[str, str], Decimal | None]:
        return {}

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


def _open_orders(
    ordered: tuple[ExpectedPayment, ...], paid: PaidStatus | None, policy: PaymentPolicy
) -> tuple[ExpectedPayment, ...]:
    """Return what is left to pay: of one order that is paid in part, the rest if it is known."""
    rest = paid.rest_of(ordered[0], policy) if paid is not None and len(ordered) == 1 else None
    return ordered if rest is None else (replace(ordered[0], amount=f"{rest:f}"),)


def _find_network(
    given: str | None, orders: Iterable[ExpectedPayment], policy: PaymentPolicy, whole: WholeResponse
) -> str | None:
    """Return the given network, else that of the orders, else the only one that the response names; None if unknown.

    Raises InvalidInput if the given network is not known.
    """
    if given is not None:
        return read_network(given)
    of_orders = (network_of(order, policy) for order in orders)
    found = next(filter(None, of_orders), None)
    if found is not None:
        return found
    claimed = claimed_networks(chain_claims(whole))
    return claimed[0] if len(claimed) == 1 else None
