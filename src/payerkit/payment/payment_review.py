"""The payment under review with its context, and whether it is paid already: as it says, or the service when asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from typing import Self, Unpack

from payerkit.errors import InvalidInput, PayerkitError, kind_of
from payerkit.explanations import Explanation, explain_word
from payerkit.models.compared_with import ComparedWith, KnowsPaid, OrderTerms, expected_payments
from payerkit.models.payments import Payment
from payerkit.models.whole_response import Member, comparable, read_whole
from payerkit.onchain.amounts import EXACT, positive_number, read_rate
from payerkit.onchain.currencies import Currency, read_network, request_decimals
from payerkit.onchain.effects import Effect
from payerkit.payment.amounts import peg_of
from payerkit.payment.fees import declared_fees, find_fee_legs
from payerkit.payment.orders import match_orders
from payerkit.payment.transactions import decode_payment, network_of, resolve_currency, shown
from payerkit.policy.address_book import KnownAddress
from payerkit.policy.payment_policy import PaymentPolicy, given_policy

_PAID = {"paid", "overpaid"}
"""The states of a request that is paid, in `statuses.tsv`."""

_YES = (1, "true", "yes")
"""What says that a request is paid; true is 1, too."""

_FINE = {"", "true", "ok", "success", "approved", "verified", "signed", "initiated"}
"""States of something else than a request, such as a call or an account, that stop no payment."""


@dataclass(frozen=True, slots=True)
class PaidStatus:
    """What is said of a request. has_been_paid: None if it is not said; problem: then, why.

    states: the words for its state, by the paths of the members that have them. paid_amount: what is paid of it,
    requested_amount: what it asks for; None if that is not said.
    """

    has_been_paid: bool | None
    problem: str = ""
    states: tuple[tuple[str, Explanation], ...] = ()
    paid_amount: Decimal | None = None
    requested_amount: Decimal | None = None

    @classmethod
    def of(cls, statements: defaultdict[str, list[Member]]) -> Self:
        """Return what a response says, from its members by their roles."""
        is_paid, is_unpaid, states = False, False, list[tuple[str, Explanation]]()
        for each in statements["has_been_paid"]:
            is_paid |= (each.value.lower() if isinstance(each.value, str) else each.value) in _YES
            is_unpaid |= each.value is False  # 0 and "false" are no statement
        for each in statements["status"]:
            is_word = isinstance(each.value, str) and not each.value.isdecimal()
            if is_word and each.value.strip().lower() not in _FINE:
                states.append((each.path, explain_word(each.value, "request")))
                is_paid |= states[-1][1].status in _PAID
        most = {}
        for name in ("paid_amount", "requested_amount"):
            most[name] = max(filter(None, [read_number(each.value) for each in statements[name]]), default=None)
        return cls(
            has_been_paid=True if is_paid else False if is_unpaid else None,
            problem="The service does not say.",
            states=tuple(states),
            **most,
        )

    @classmethod
    def ask(cls, client: KnowsPaid, request_id: str | None) -> Self:
        """Ask a service. A question that fails is a status, too; raises InvalidInput for anything but a client."""
        if not isinstance(client, KnowsPaid):
            raise InvalidInput(f"client: give a client, from connect() or sandbox(); got {kind_of(client)}.")
        if request_id is None:
            return cls(None, "The payment has no request id.")
        try:
            said = client.request_members(request_id)
        except PayerkitError as error:
            return cls(None, error.message)
        statements = read_whole(said).statements(request_id)
        ids = {comparable(each.value) for each in statements["request_id"] if not each.holder}
        is_other = not ids <= {request_id.lower()}
        return cls(None, "The service responds about another request.") if is_other else cls.of(statements)

    @property
    def is_in_part(self) -> bool:
        """Whether a part is paid, but not all."""
        is_said = self.paid_amount is not None or any(state.status == "partially_paid" for _, state in self.states)
        return is_said and not self.has_been_paid

    def rest_of(self, order: OrderTerms, policy: PaymentPolicy) -> Decimal | None:
        """Return what is left to pay of an order, in its invoice currency; None if nothing is paid, or nobody knows.

        The service does not say in which currency it counts what is paid, so both have to be the same, or pegged to
        the same one. The order is for the whole amount of the request, or for its rest.
        """
        currencies = [policy.find_currency(each) for each in (order.invoice_currency, order.payment_currency)]
        worth = {each and (peg_of(each) or each.id) for each in currencies}
        amount, paid = positive_number(order.amount), self.paid_amount
        if not self.is_in_part or amount is None or paid is None or len(worth) > 1 or None in worth:
            return None
        whole = self.requested_amount or amount
        rest = EXACT.subtract(whole, paid)
        return rest if rest > 0 and amount in {whole, rest} else None


def read_number(value: object) -> Decimal | None:
    """Return a positive number in JSON, exactly as it is written there; None for anything else."""
    return positive_number(str(value) if isinstance(value, float) else value)


class PaymentReview:
    """A payment with all that it is compared with. Raises InvalidInput, as `check_payment` documents it.

    transactions: those of the response, wherever they stand.
    ordered: what was ordered; usually one order, none if there is nothing to compare with. orders: what the payments
    should be, one each: the same, but for the rest of a request that is paid in part.
    given_network: as given to this check or with the payment. network: that the transactions are for, if it is known.
    rate: as given to this check; it wins over the policy's.
    policy: what the user agreed to. now: the time of the check, with its time zone. paid: what the service says about
    whether it is paid; None if it was not asked. rest: what is left to pay of the only order, if a part is paid.
    rates: those of the policy that were needed so far.
    """

    def __init__(self, payment: Payment, **given: Unpack[ComparedWith]) -> None:
        self.payment, self.policy = payment, given_policy(given.get("policy"))
        rate, now, client = given.get("rate"), given.get("now"), given.get("client")
        if now is not None and getattr(now, "tzinfo", None) is None:
            raise InvalidInput("now: give a time with its time zone, such as datetime.now(UTC).")
        self.now = now or datetime.now(UTC)
        self.transactions = decode_payment(payment)
        self.ordered = self.orders = expected_payments(payment.order, given.get("order"), given.get("orders"))
        self.paid = None if client is None else PaidStatus.ask(client, payment.request_id)
        self.rest: Decimal | None = None
        if self.paid is not None and len(self.ordered) == 1:
            self.rest = self.paid.rest_of(self.ordered[0], self.policy)
        if self.rest is not None:  # a part is paid, and the rest is to be
            self.orders = (replace(self.ordered[0], amount=f"{self.rest:f}"),)
        self.given_network = given.get("network") or payment.network
        self.network = self._find_network()
        self.rate = None if rate is None else read_rate(rate)
        self.rates: dict[tuple[str, str], Decimal | None] = {}

    def _find_network(self) -> str | None:
        """Return the given network, else that of the orders, else the only one that the response names; else None.

        Raises InvalidInput if the given network is not known.
        """
        if self.given_network is not None:
            return read_network(self.given_network)
        for order in self.ordered:
            if found := network_of(order, self.policy):
                return found
        claimed = self.payment.whole.claimed_networks()
        return claimed[0] if len(claimed) == 1 else None

    @cached_property
    def payments(self) -> list[Effect]:
        """The effects that pay, without fee legs."""
        return [each for each in self.paying if each.at not in self.fee_legs]

    fee_legs = cached_property(find_fee_legs)
    declared_fees = cached_property(declared_fees)
    order_numbers = cached_property(match_orders)

    @cached_property
    def paying(self) -> list[Effect]:
        """The effects that move money towards a recipient: payments and fee legs."""
        return [effect for each in self.transactions for effect in each.effects if effect.is_payment]

    @property
    def account(self) -> str:
        """The bank account that the payment pays out to, such as "••••3489 at Chase (USD, local)"; "" for a wallet."""
        return "" if self.payment.payout is None else shown(self.payment.payout.words, 160)

    @cached_property
    def statements(self) -> defaultdict[str, list[Member]]:
        """What the response says about the request and its payment, by the roles in `members.tsv`."""
        payout = self.payment.payout
        return self.payment.whole.statements(self.payment.request_id if payout is None else payout.request_id)

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
        costs: dict[int, Decimal | None] = {}
        for each in self.transactions:
            of_one = [self.cost_of(effect) for effect in each.effects if effect.is_payment and effect.is_native]
            costs[each.index] = None if None in of_one else sum(filter(None, of_one), Decimal(0))
        return costs

    def known(self, address: str | None) -> KnownAddress | None:
        """Return the entry of the policy's address book for an address, or None."""
        return self.policy.book.find(address, self.network)

    def token(self, token: str | None) -> Currency | None:
        """Return the currency of a token address or `NATIVE`; None if the network or the token is not known."""
        return resolve_currency(token, self.network, self.policy)
