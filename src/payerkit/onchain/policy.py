"""What a user agreed to once, for all payments: fees, allowances, known addresses, rates and further tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from payerkit.onchain.address_book import AddressBook
from payerkit.onchain.addresses import is_same
from payerkit.onchain.amounts import read_rate
from payerkit.onchain.currencies import Currency, find_currency, find_token

RateSource = Callable[[str, str], Decimal | str | int | None]
"""Returns the price of one unit of a payment currency in an invoice currency, both by id; None if it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedFee:
    """A fee that was agreed: who receives it, and the highest percentage of the amount. name: for people."""

    address: str
    max_percent: Decimal
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedAllowance:
    """An allowance that is accepted although it is more than a payment needs.

    token: a currency id. spender: an address. most: in whole units of the token; None for an unlimited allowance.
    """

    token: str
    spender: str
    most: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentPolicy:
    """What a user agreed to once, for all payments; `check_payment` compares with it what an order does not name.

    What it agrees to is "ok". It never clears what contradicts an order.

    Attributes:
        fees: The agreed fees. A fee of a payment is agreed if its recipient is named here and its share is not higher.
        allowances: Allowances that are accepted although they are more than a payment needs.
        addresses: The address book: names of known wallets. None if there is none; then no payee is called new.
        rates: The price of one unit of a payment currency in an invoice currency, by both ids.
        tokens: Tokens that payerkit's table does not have.
        peg_tolerance: By how many percent the amount in a token that is pegged to the invoice currency may differ from
            one to one, without a rate; None if a person is to look at each.
        batch_fee: The highest percentage that a batch contract may take in addition; the calldata does not show it.
            None if a person is to look at each batch.
        rate_source: A function that returns a rate that `rates` does not have; it is not saved.
        source: The file that the policy was read from; "" for one that was made in Python.
    """

    fees: tuple[AgreedFee, ...] = ()
    allowances: tuple[AcceptedAllowance, ...] = ()
    addresses: AddressBook | None = None
    rates: Mapping[tuple[str, str], Decimal] = field(default_factory=dict)
    tokens: tuple[Currency, ...] = ()
    peg_tolerance: Decimal | None = None
    batch_fee: Decimal | None = None
    rate_source: RateSource | None = None
    source: str = ""

    def agreed_fee(self, address: str | None) -> AgreedFee | None:
        """Return the fee that was agreed for a recipient; None if there is none."""
        return next((fee for fee in self.fees if is_same(fee.address, address)), None)

    def accepted_allowance(self, token: str, spender: str | None) -> AcceptedAllowance | None:
        """Return the allowance that is accepted for a token, by its id, and a spender; None if there is none."""
        found = (each for each in self.allowances if each.token.lower() == token.lower())
        return next((each for each in found if is_same(each.spender, spender)), None)

    def rate(self, payment_currency: str, invoice_currency: str) -> Decimal | None:
        """Return the price of one unit of the payment currency in the invoice currency; None if it is not known."""
        wanted = payment_currency.lower(), invoice_currency.lower()
        for (payment, invoice), rate in self.rates.items():
            if (payment.lower(), invoice.lower()) == wanted:
                return rate
        return None if self.rate_source is None else read_rate(self.rate_source(payment_currency, invoice_currency))

    def find_currency(self, currency_id: str) -> Currency | None:
        """Return a currency by its id, from payerkit's table or from the further tokens; None if neither has it."""
        wanted = currency_id.lower()
        return find_currency(currency_id) or next((each for each in self.tokens if each.id.lower() == wanted), None)

    def find_token(self, network: str, address: str) -> Currency | None:
        """Return the token at an address of a network, likewise."""
        own = (each for each in self.tokens if each.network == network and is_same(each.address, address))
        return find_token(network, address) or next(own, None)


NO_POLICY = PaymentPolicy()
"""Nothing was agreed."""
