"""A payment with all that it is compared with: its decoded transactions, orders, network, rate and policy."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self, Unpack

from payerkit.checks.inputs import is_blank, match_names, unknown_names
from payerkit.checks.schema import PAYMENT_ORDER
from payerkit.errors import InvalidInput, PayerkitError, kind_of
from payerkit.explanations import Explanation, explain_word
from payerkit.models.payments import KnowsPaid, Payment
from payerkit.models.requests import PaymentOrder, PayoutOrder
from payerkit.models.whole_response import CALLDATA_NAMES, Member, comparable, read_whole
from payerkit.onchain.amounts import EXACT, positive_number, read_rate, wei_of
from payerkit.onchain.calldata import NATIVE, Effect, read_call, read_effects
from payerkit.onchain.currencies import (
    Currency,
    Deployment,
    currency_hash,
    deployments_at,
    native_currency,
    network_in_id,
    networks,
    read_network,
    request_decimals,
    tokens_at,
)
from payerkit.payment.money import declared_fees, find_fee_legs, peg_of
from payerkit.payment.orders import match_orders
from payerkit.policy.address_book import KnownAddress
from payerkit.policy.payment_policy import PaymentPolicy, given_policy
from payerkit.wording import listed, shown

if TYPE_CHECKING:
    from payerkit.models.payments import AnyOrder, ComparedWith, Orders


NODE_URL = "PAYERKIT_NODE_URL"
"""The environment variable with the address of the node that is asked if neither the call nor the policy names one."""


class DecodedTransaction:
    """A transaction with its decoded call.

    index: counted from 0. at: its index, and None as the place in a batch. to, data: as in the response. value: in wei;
    None if it cannot be read. extra_fields: fields that are not in the specification. origin: the member of the
    response that holds it, such as "batchPaymentTransaction" or "metadata.fallback"; "" for `transactions`.
    """

    def __init__(
        self, index: int, origin: str, to: str | None, data: str | None, given: Any, extra_fields: Mapping[str, Any]
    ) -> None:
        self.index, self.at = index, (index, None)
        self.origin, self.to, self.data, self.extra_fields = origin, to, data, extra_fields
        self.is_value_given = given not in (None, "")
        self.value = wei_of(given) if self.is_value_given else 0
        self.call = read_call(data)
        self.effects = [replace(each, step=index) for each in read_effects(self.call, to=to, value=self.value)]


def decode_payment(payment: object) -> tuple[DecodedTransaction, ...]:
    """Return the decoded transactions of a payment, then those that stand elsewhere in its response.

    Raises InvalidInput for anything but a payment.
    """
    if not isinstance(payment, Payment):
        advice = " read_payment() makes one of a saved response." if isinstance(payment, Mapping | str) else ""
        expected = "Give a Payment, as initiate_payment and read_payment return it"
        raise InvalidInput(f"{expected}; got {kind_of(payment)}.{advice}")
    found = [(each.origin, each.to, each.data, each.value, each.model_extra or {}) for each in payment.transactions]
    read = {origin for origin, *_ in found}  # a batch is read by the model
    for origin, fields in payment.whole.transactions:
        if origin not in read:
            name = next((name for name in CALLDATA_NAMES if fields.get(name) is not None), "data")
            to, data = (text if isinstance(text := fields.get(each), str) else None for each in ("to", name))
            extra = {str(other): value for other, value in fields.items() if other not in {"to", "value", name}}
            found.append((origin, to, data, fields.get("value"), extra))
    return tuple(DecodedTransaction(index, *each) for index, each in enumerate(found))


def network_of(order: OrderTerms, policy: PaymentPolicy) -> str | None:
    """Return the network of an order's payment currency; None for a fiat currency, or if it is not known.

    The id of a currency that is not listed tells the network, too.
    """
    currency = policy.find_currency(order.payment_currency)
    network = network_in_id(order.payment_currency) if currency is None else networks().get(currency.network)
    return None if network is None else network.name


def contract_at(address: str | None, network: str, preferred: Collection[str] = ()) -> Deployment | None:
    """Return the contract deployed at an address of a network, one with a preferred name first."""
    here = [each for each in deployments_at(address) if each.network == network]
    return min(here, key=lambda each: each.contract not in preferred, default=None)


_MOST_DIGITS = 100
"""Digits that an amount does not have; writing out more only takes time."""


@dataclass(frozen=True, slots=True)
class OrderTerms:
    """An order as text. payee, payment_reference: None if the order does not name one.

    is_payout: whether it is one that pays out to a bank account, such as a `PayoutOrder`.
    """

    payee: str | None
    amount: str
    invoice_currency: str
    payment_currency: str
    payment_reference: str | None = None
    is_payout: bool = False


def read_orders(own: object, order: AnyOrder | None, orders: Orders | None) -> tuple[OrderTerms, ...]:
    """Return the given order or orders, else a payment's own order.

    Raises InvalidInput if both are given, and for what is not an order, naming its line.
    """
    if orders is None:
        given = own if order is None else order
        return () if given is None else (read_order(given),)
    if order is not None:
        raise InvalidInput("order, orders: give one of them, not both.")
    lines: Any = orders
    if hasattr(lines, "columns"):
        lines = [row for _, row in lines.astype(object).iterrows()]
    if hasattr(lines, "items") or isinstance(lines, str) or not isinstance(lines, Iterable):
        raise InvalidInput(f"orders: give a DataFrame with one order a line, or a list; got {kind_of(lines)}.")
    found = tuple(read_order(line, f"orders, line {n}") for n, line in enumerate(lines, 1))
    if not found:
        raise InvalidInput("orders: the list is empty. Give one line for each payment.")
    return found


def read_order(order: Any, where: str = "order") -> OrderTerms:
    """Return an order. Only its payee may be missing: an order may pay out to a bank account.

    A dict or row may also have the reference of its payment. Blanks around its values, as files have them, mean
    nothing; a blank reference counts as missing. where: the name of the order in errors. Raises
    InvalidInput if something else is missing, or if a member is unknown, since it would not be compared.
    """
    if isinstance(order, PaymentOrder | PayoutOrder):  # its members are text
        is_payout = order.payee is None
        terms = (order.payee, order.amount, order.invoice_currency, order.payment_currency)
        return OrderTerms(*terms, is_payout=is_payout)
    given = {name: value for name, value in _members(order, where).items() if not is_blank(value)}
    for name in PAYMENT_ORDER.fields:
        if name != "payee" and name not in given:
            raise InvalidInput(f"{where}: {name} is missing. Give a PaymentOrder, or a dict or Series with its fields.")
    amount = _read_amount(given.pop("amount"), where).strip()
    for name, value in given.items():
        if not isinstance(value, str):
            raise InvalidInput(f"{where}: {name}: expected text, got {kind_of(value)}.")
    texts: dict[str, Any] = {"payee": None, **{name: value.strip() for name, value in given.items()}}
    return OrderTerms(amount=amount, payment_reference=texts.pop("payment_reference", "") or None, **texts)


_TERMS = replace(
    PAYMENT_ORDER, fields={**PAYMENT_ORDER.fields, "payment_reference": PAYMENT_ORDER.fields["payment_currency"]}
)
"""A payment order that may have the reference of its payment, which is any text, as its currencies are."""


def _members(order: Any, where: str) -> Mapping[str, Any]:
    """Return the members of an order by our names."""
    if hasattr(order, "columns"):
        raise InvalidInput(f"{where}: a DataFrame may have several orders. Give one row, or all as orders=.")
    if not hasattr(order, "items"):
        raise InvalidInput(f"{where}: give a PaymentOrder, or a dict or Series with its fields; got {kind_of(order)}.")
    members = [*order.items()]
    places, problems, unknown = match_names(_TERMS, [name for name, _ in members])
    is_row = not isinstance(order, Mapping) and places.keys() >= PAYMENT_ORDER.fields.keys()
    if not is_row:  # a whole row of a table may have more columns; but a missing member may be a misspelled one
        problems += unknown_names(_TERMS, unknown, is_headless=not places)
    if problems:
        missing = [name for name in PAYMENT_ORDER.fields if name not in places and name != "payee"]
        words = f"wrong names ({listed(missing)} missing)" if missing else "wrong names"
        raise InvalidInput(f"{where}: {words}. Nothing was checked.", fields=tuple(problems))
    return {name: members[place][1] for name, place in places.items()}


def _read_amount(amount: Any, where: str) -> str:
    """Return an amount as text; text stays as typed. Raises InvalidInput for a float, since it is not exact."""
    if isinstance(amount, str):
        return amount
    if isinstance(amount, bool) or not isinstance(amount, Decimal | Integral):
        raise InvalidInput(
            f"{where}: amount: give text, an int or a Decimal; got {kind_of(amount)}. Read tables as text."
        )
    number = amount if isinstance(amount, Decimal) else Decimal(int(amount))
    if abs(number.adjusted()) >= _MOST_DIGITS:
        raise InvalidInput(f"{where}: amount: expected a number of fewer than {_MOST_DIGITS} digits.")
    return f"{number:f}"


_PAID = {"paid", "overpaid"}
"""The states of a request that is paid, in `statuses.tsv`."""

_YES = (1, "1", "true", "yes")
"""Values that say that a request is paid; in Python, `True` equals 1."""

_FINE = {"", "true", "ok", "success", "approved", "verified", "signed", "initiated"}
"""States of something else than a request, such as a call or an account, that stop no payment."""


@dataclass(frozen=True, slots=True)
class PaidStatus:
    """What a service says about a request. has_been_paid: None if it does not say; problem: the reason for that.

    states: the words for its state, by the paths of the members that have them. is_in_part: True if a part is paid, but
    not all. paid_amount: what is paid of it, requested_amount: what it asks for; None if that is not said.
    """

    has_been_paid: bool | None
    problem: str = ""
    states: tuple[tuple[str, Explanation], ...] = ()
    is_in_part: bool = False
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
        is_part_said = any(state.status == "partially_paid" for _, state in states) or most["paid_amount"] is not None
        return cls(
            has_been_paid=True if is_paid else False if is_unpaid else None,
            problem="The service does not say.",
            states=tuple(states),
            is_in_part=is_part_said and not is_paid,
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
            members: object = client.request_members(request_id)
        except PayerkitError as error:
            return cls(None, error.message)
        statements = read_whole(members if isinstance(members, Mapping) else {}).statements(request_id)
        ids = {comparable(each.value) for each in statements["request_id"] if not each.holder}
        is_other = not ids <= {request_id.lower()}
        return cls(None, "The service responds about another request.") if is_other else cls.of(statements)

    def rest_of(self, order: OrderTerms, policy: PaymentPolicy) -> Decimal | None:
        """Return what is left to pay of an order, in its invoice currency; None if nothing is known to be paid.

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


class Comparison:
    """A payment with all that it is compared with. Raises InvalidInput, as `check_payment` documents it.

    transactions: those of the response, wherever they stand.
    original_orders: usually one, none if there is nothing to compare with. orders: what the payments should be, one
    each: these, or the rest of a request that is paid in part.
    node, wallet: what executes the payment, and for whom; None if nothing was given.
    given_network: as given to this check or with the payment. network: that the transactions are for, if it is known.
    rate: as given to this check; it wins over the policy's.
    policy: what the user agreed to. now: the time of the check, with its time zone. paid: what the service says about
    whether it is paid; None if it was not asked. rest: what is left to pay of the only order, if a part is paid.
    statements: what the response says about the request and its payment, by the roles in `members.tsv`. paying: the
    effects that move money towards a recipient: payments and fee legs.
    """

    def __init__(self, payment: Payment, **given: Unpack[ComparedWith]) -> None:
        self.payment, self.policy = payment, given_policy(given.get("policy"))
        rate, now, client = given.get("rate"), given.get("now"), given.get("client")
        if now is not None and getattr(now, "tzinfo", None) is None:
            raise InvalidInput("now: give a time with its time zone, such as datetime.now(UTC).")
        self.now = now or datetime.now(UTC)
        self.wallet = given.get("wallet")
        self.transactions = decode_payment(payment)
        self.paying = [effect for each in self.transactions for effect in each.effects if effect.is_payment]
        self.original_orders = self.orders = read_orders(payment.order, given.get("order"), given.get("orders"))
        self.paid = None if client is None else PaidStatus.ask(client, payment.request_id)
        self.rest: Decimal | None = None
        if self.paid is not None and len(self.original_orders) == 1:
            self.rest = self.paid.rest_of(self.original_orders[0], self.policy)
        if self.rest is not None:  # a part is paid, and the rest is to be
            self.orders = (replace(self.original_orders[0], amount=f"{self.rest:f}"),)
        payout = payment.payout
        self.statements = payment.whole.statements(payment.request_id if payout is None else payout.request_id)
        self.given_network = given.get("network") or payment.network
        self.network = self._find_network()
        self.node = given.get("node") or self.policy.nodes.get(self.network or "") or os.environ.get(NODE_URL)
        self.rate = None if rate is None else read_rate(rate)
        self._rates: dict[tuple[str, str], Decimal | None] = {}

    def _find_network(self) -> str | None:
        """Return the given network, else that of the orders, else the only one that the response names; else None.

        Raises InvalidInput if the given network is not known.
        """
        if self.given_network is not None:
            return read_network(self.given_network)
        for order in self.original_orders:
            if found := network_of(order, self.policy):
                return found
        claimed = self.payment.whole.claimed_networks()
        return claimed[0] if len(claimed) == 1 else None

    fee_legs = cached_property(find_fee_legs)
    declared_fees = cached_property(declared_fees)
    order_numbers = cached_property(match_orders)

    @cached_property
    def payments(self) -> list[Effect]:
        """The effects that pay, without fee legs."""
        return [each for each in self.paying if each.at not in self.fee_legs]

    @property
    def account(self) -> str:
        """The bank account that the payment pays out to, such as "••••3489 at Chase (USD, local)"; "" for a wallet."""
        return "" if self.payment.payout is None else shown(self.payment.payout.words, 160)

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
        if self.rate is None and pair not in self._rates:
            self._rates[pair] = self.policy.rate(*pair)
        return self.rate or self._rates[pair]

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
    def native_costs(self) -> list[Decimal | None]:
        """What all native payments of each transaction cost, in wei; None if it is not known."""
        costs = list[Decimal | None]()
        for each in self.transactions:
            of_one = [self.cost_of(effect) for effect in each.effects if effect.is_payment and effect.is_native]
            costs.append(None if None in of_one else sum(filter(None, of_one), Decimal(0)))
        return costs

    def known(self, address: str | None) -> KnownAddress | None:
        """Return the entry of the policy's address book for an address, or None."""
        return self.policy.book.find(address, self.network)

    def token(self, token: str | None) -> Currency | None:
        """Return the currency of a token address or `NATIVE`; None if the network or the token is not known."""
        if token is None or self.network is None:
            return None
        native = native_currency(self.network)
        if token == NATIVE:
            return native
        # A conversion path names a native currency by its hash.
        is_native = native is not None and token.lower() == currency_hash(native)
        return native if is_native else self.policy.find_token(self.network, token)

    def contract_name(self, transaction: DecodedTransaction) -> str | None:
        """Return the name of the contract or token that a transaction goes to; None if it is not known.

        Without a network, only a name that is the same on all networks.
        """
        address, function = str(transaction.to), transaction.call.function
        if self.network is None:
            names = {each.contract for each in deployments_at(address)} | {token.id for token in tokens_at(address)}
            return names.pop() if len(names) == 1 else None
        if contract := contract_at(address, self.network, function.contracts if function else ()):
            return f"{contract.contract} {contract.version}"
        token = self.token(address)
        return f"token {token.id}" if token else None
