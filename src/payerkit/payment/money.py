"""Check amounts, native values and fees: what the order asks for, what may be spent, and what is taken on top.

A fee that the service declares is not agreed for that: the service is the party that is checked. What the user agreed
to is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_UP, Context, Decimal
from functools import cache
from typing import TYPE_CHECKING

from payerkit._tsv import rows
from payerkit.findings import Finding, payment_finding
from payerkit.onchain.addresses import address_problem, is_same, with_checksum
from payerkit.onchain.amounts import (
    EXACT,
    effect_units,
    format_amount,
    format_effect_amount,
    format_number,
    format_percentage,
    positive_number,
    share_of,
    simplest_percentage,
    to_units,
)
from payerkit.onchain.calldata import UNLIMITED, At, Effect, EffectKind
from payerkit.onchain.currencies import Currency, currency_hash, find_by_hash, request_decimals, tokens_at
from payerkit.policy.payment_policy import MOST_PERCENT, AgreedFee, fee_line, rate_lines, setting_line

if TYPE_CHECKING:
    from payerkit.payment.compare import Comparison, DecodedTransaction, OrderTerms

NEAR_RATE = 1
"""Percent from what a known rate asks for up to which an amount is no error: rates change from minute to minute."""

PEG_LIMIT = 3
"""Percent from one to one from which on an amount in a pegged token is an error: no peg that holds is off as far."""


def check_amount(compared: Comparison, payment: Effect) -> Iterator[Finding]:
    """Yield the findings about the amount of a payment."""
    if payment.amount is None:
        yield payment_finding("amount_unknown", payment)
        return
    if payment.amount == 0:
        yield payment_finding("amount_zero", payment)
    order = compared.order_of(payment)
    currency = compared.currency(order)
    if order is None or currency is None:
        yield payment_finding("amount_unchecked.no_order", payment)
        return
    expected, invoice = positive_number(order.amount), compared.policy.find_currency(order.invoice_currency)
    if currency.kind == "fiat":
        yield payment_finding("currency_fiat", payment, currency=currency.id)
    elif expected is None:
        yield payment_finding("order_amount", payment)
    elif invoice is None:
        yield payment_finding("amount_unchecked.invoice", payment)
    elif payment.unit == "request":
        found = _compare_request(payment, expected, invoice, is_bounded=is_bounded(compared, payment))
        yield payment_finding(found, payment, currency=invoice.id, expected=f"{expected:f} {invoice.id}")
    elif invoice == currency:
        yield _compare_exactly(payment, expected, invoice)
    else:
        exchange = _Exchange(payment.amount, currency, expected, invoice)
        yield _compare_exchange(compared, payment, exchange, order)


def _compare_exactly(payment: Effect, expected: Decimal, token: Currency) -> Finding:
    if expected.scaleb(token.decimals, EXACT) == payment.amount:
        return payment_finding("amount_matches", payment)
    words = {"paid": format_amount(payment.amount or 0, token), "expected": f"{expected:f} {token.id}"}
    return payment_finding("amount_differs", payment, **words)


def _compare_request(payment: Effect, expected: Decimal, invoice: Currency, *, is_bounded: bool) -> str:
    """Return the key of the finding about a payment that is converted on execution: in the invoice currency.

    is_bounded: what it may cost is bounded as agreed.
    """
    named = invoice.address if invoice.kind == "erc20" else currency_hash(invoice)
    if not payment.path or not is_same(payment.path[0], named):
        return "amount_differs.currency"
    if expected.scaleb(request_decimals(invoice), EXACT) != payment.amount:
        return "amount_differs.request"
    if len(payment.path) == 1:
        return "amount_differs.path"
    if not all(find_by_hash(each) or tokens_at(each) for each in payment.path[1:-1]):
        return "amount_converted.unlisted"
    return "amount_converted.bounded" if is_bounded else "amount_converted"


_MOST_DIGITS = 60
"""The most digits of a rate in a line of a policy."""


@dataclass(frozen=True, slots=True)
class _Exchange:
    """An amount of a token, in base units, for what an invoice asks for in another currency."""

    paid: int
    token: Currency
    expected: Decimal
    invoice: Currency

    @property
    def rate(self) -> Decimal:
        """The price with as many digits, from eight on, as make the amount right to the base unit."""
        prices = (price for digits in range(8, _MOST_DIGITS) if self.off_by(price := self._price(digits)) < 1)
        return next(prices, self._price(_MOST_DIGITS))

    def _price(self, digits: int) -> Decimal:
        """Return what one unit of the token costs in the invoice currency."""
        units = to_units(self.paid, self.token.decimals)
        return EXACT.divide(self.expected, units or Decimal(1)).normalize(Context(prec=digits))

    def due(self, rate: Decimal) -> Decimal:
        """Return what a rate asks for, in base units, unrounded."""
        return EXACT.divide(self.expected, rate).scaleb(self.token.decimals, EXACT)

    def difference(self, rate: Decimal) -> Decimal:
        """Return by how many percent the amount differs from what a rate asks for."""
        return EXACT.divide(EXACT.multiply(Decimal(100), self.off_by(rate)), self.due(rate))

    def off_by(self, rate: Decimal) -> Decimal:
        """Return by how many base units the amount differs from that: less than one is due to rounding."""
        return EXACT.abs(EXACT.subtract(Decimal(self.paid), self.due(rate)))

    @property
    def words(self) -> dict[str, str]:
        """The amount, what it is for, and their rate."""
        price = f"{self._price(8):f} {self.invoice.id} per {self.token.symbol}"
        expected = f"{self.expected:f} {self.invoice.id}"
        return {"paid": format_amount(self.paid, self.token), "expected": expected, "price": price}


def _compare_exchange(compared: Comparison, payment: Effect, exchange: _Exchange, order: OrderTerms) -> Finding:
    """Compare an amount with a rate; without one, with the peg of the token, if it has one."""
    if (rate := compared.rate_of(order)) is not None:
        return _compare_by_rate(payment, exchange, rate, compared.policy.rate_tolerance)
    peg = peg_of(exchange.token)
    if peg is not None and peg == peg_of(exchange.invoice):
        return _compare_by_peg(compared, payment, exchange)
    lines = rate_lines({(order.payment_currency, order.invoice_currency): exchange.rate})
    return payment_finding("amount_unchecked", payment, **exchange.words, policy_lines=lines)


def _compare_by_rate(payment: Effect, exchange: _Exchange, rate: Decimal, tolerance: Decimal | None) -> Finding:
    difference = exchange.difference(rate)
    if difference <= NEAR_RATE and exchange.off_by(rate) < 1:
        return payment_finding("amount_matches", payment)
    share = format_percentage(Context(prec=2).plus(difference))
    words = {
        "paid": exchange.words["paid"],
        "expected": format_amount(int(exchange.due(rate).to_integral_value(ROUND_UP)), exchange.token),
        "difference": f"{share} {'too much' if exchange.paid > exchange.due(rate) else 'too little'}",
    }
    if tolerance is not None and difference <= tolerance:
        return payment_finding("amount_near_rate", payment, **words, most=format_percentage(tolerance))
    if difference > NEAR_RATE:
        return payment_finding("amount_differs.rate", payment, **words)
    lines = setting_line("rate_tolerance", needed_percentage(difference))
    return payment_finding("amount_off_rate", payment, **words, policy_lines=lines)


def _compare_by_peg(compared: Comparison, payment: Effect, exchange: _Exchange) -> Finding:
    """Compare an amount with one to one, which a peg promises; how near it is today, only a rate tells.

    A payout may be more, by the operator's fee. Only a small difference has a line for the policy: else the amount
    would write its own permission.
    """
    difference, tolerance = exchange.difference(Decimal(1)), compared.policy.peg_tolerance
    words = exchange.words | {"peg": str(peg_of(exchange.token)), "difference": _in_money(exchange)}
    if tolerance is not None and difference <= tolerance:
        return payment_finding("amount_pegged", payment, **words, most=format_percentage(tolerance))
    lines = setting_line("peg_tolerance", Decimal(NEAR_RATE))
    if difference == 0:
        return payment_finding("amount_unchecked.peg", payment, **words, policy_lines=lines)
    is_fee = compared.payment.payout is not None and exchange.paid > exchange.due(Decimal(1))
    if difference > MOST_PERCENT if is_fee else difference >= PEG_LIMIT:
        return payment_finding("amount_differs.peg", payment, **words)
    return payment_finding(_OFF_PEG[is_fee, difference <= NEAR_RATE], payment, **words, policy_lines=lines)


_OFF_PEG = {
    (False, False): "amount_off_peg",
    (False, True): "amount_off_peg.near",
    (True, False): "amount_off_peg.payout",
    (True, True): "amount_off_peg.payout_near",
}
"""The findings about an amount that is not one to one: if it may be the operator's fee, and if it is near."""


def _in_money(exchange: _Exchange) -> str:
    """Return by how much an amount in a pegged token differs, exactly, in the currency of the peg."""
    more = EXACT.subtract(Decimal(exchange.paid), exchange.due(Decimal(1))).scaleb(-exchange.token.decimals, EXACT)
    whole, _, rest = format_number(EXACT.abs(more)).partition(".")
    return f"{whole}.{rest:0<2} {peg_of(exchange.token)} {'more' if more > 0 else 'less'} than ordered"


def peg_of(currency: Currency) -> str | None:
    """Return the fiat currency that a currency is worth by the word of its issuer, or None."""
    return currency.id if currency.kind == "fiat" else _pegs().get(currency.symbol)


@cache
def _pegs() -> Mapping[str, str]:
    return {row["symbol"]: row["currency"] for row in rows(__package__, "pegs")}


def check_maximum(compared: Comparison, payment: Effect) -> Finding:
    """Return the finding about the maximum that a converted payment may spend.

    More above a known rate than any policy can agree to is an error: the contract would take what the maximum allows
    if its own rate were wrong, or made wrong. Less than the payment costs only makes it fail.
    """
    (most, more), lines = _maximum(compared, payment), _rate_lines(compared, payment)
    token = compared.token(payment.token)
    words = {
        "maximum": "any amount" if most is None or most == UNLIMITED else f"up to {format_amount(most, token)}",
        "age": "" if payment.max_rate_age else " The rate may be of any age.",
    }
    if more is None and lines:
        return payment_finding("max_to_spend.no_rate", payment, **words, policy_lines=lines)
    if more is None or more < -MOST_PERCENT:
        return payment_finding("max_to_spend", payment, **words)
    if more > MOST_PERCENT:
        return payment_finding("max_to_spend.far", payment, **words)
    difference = EXACT.abs(more)
    words["difference"] = format_percentage(Context(prec=2).plus(difference))
    if is_bounded(compared, payment):
        return payment_finding("max_to_spend.agreed", payment, **words)
    tolerance = setting_line("rate_tolerance", needed_percentage(difference))
    return payment_finding("max_to_spend.rate", payment, **words, policy_lines=tolerance)


def _rate_lines(compared: Comparison, payment: Effect) -> str:
    """Return the lines for the rate that a payment is converted by; "" if one is known.

    Nor are there any where no rate would help, since a currency is not known.
    """
    order = compared.order_of(payment)
    if order is None or compared.currency(order) is None or compared.rate_of(order) is not None:
        return ""
    is_listed = compared.policy.find_currency(order.invoice_currency) is not None
    return rate_lines({(order.payment_currency, order.invoice_currency): "?"}) if is_listed else ""


def is_bounded(compared: Comparison, payment: Effect) -> bool:
    """Return True if the maximum is as near to what the payment costs by a known rate as the policy wants it."""
    (_, difference), tolerance = _maximum(compared, payment), compared.policy.rate_tolerance
    if difference is None or tolerance is None:
        return False
    in_batch = Decimal(0) if payment.place is None else compared.policy.batch_fee or Decimal(0)
    # a batch may take its fee from the maximum, too
    return EXACT.abs(difference) <= min(tolerance + in_batch, Decimal(MOST_PERCENT))


def _maximum(compared: Comparison, payment: Effect) -> tuple[int | None, Decimal | None]:
    """Return the most that a payment may spend, and by how many percent it exceeds the cost by a known rate.

    Unknown values are None. The native value of a transaction is the maximum of all its native payments.
    """
    if payment.is_native:
        most, cost = compared.transactions[payment.step].value, compared.native_costs[payment.step]
    else:
        most, cost = payment.max_to_spend, compared.cost_of(payment)
    if most is None or not cost:
        return most, None
    return most, EXACT.divide(EXACT.multiply(Decimal(100), EXACT.subtract(Decimal(most), cost)), cost)


def check_value(compared: Comparison, transaction: DecodedTransaction) -> Iterator[Finding]:
    """Yield the findings about the native value of a transaction.

    It is the sum of the native payments; one that is converted may spend what is left.
    """
    value, function = transaction.value, transaction.call.function
    native = [effect for effect in transaction.effects if effect.is_payment and effect.is_native]
    exact = [effect for effect in native if effect.unit == "native"]
    needed, is_exact = sum([effect.most_taken for effect in exact]), len(exact) == len(native)
    in_batch = sum([effect.amount or 0 for effect in exact if effect.place is not None])
    if value is None:
        yield payment_finding("value_unreadable", transaction)
    elif value and function is not None and not function.payable:
        yield payment_finding("value_not_payable", transaction)
    elif value < needed or (value == needed and not is_exact):
        yield payment_finding("value_small", transaction)
    elif value > needed + share_of(in_batch, compared.policy.batch_fee) and is_exact:
        yield payment_finding("value_large" if needed else "value_unexplained", transaction)
    if not transaction.is_value_given:
        yield payment_finding("value_absent", transaction)


def needed_percentage(difference: Decimal) -> Decimal:
    """Return the percentage that a policy has to name to accept a difference: two digits, and at least 1."""
    return max(Context(prec=2, rounding=ROUND_UP).plus(difference), Decimal(1))


HIGH_FEE = 10
"""Percent of the amount from which on a fee is an error, unless it was agreed."""


@dataclass(frozen=True, slots=True)
class FeeClaim:
    """What the service declares that one wallet receives on top of a payment.

    name: "protocol", "platform", or both. percentage: of the amount, in all; None if the service does not say.
    """

    name: str
    address: str | None
    percentage: Decimal | None

    def __str__(self) -> str:
        is_address = address_problem(self.address) != "address_malformed"
        wallet = with_checksum(self.address) if is_address else "an unknown wallet"
        return f"a {self.name} fee of {format_percentage(self.percentage)} to {wallet}"


def declared_fees(compared: Comparison) -> Mapping[str, FeeClaim]:
    """Return the fees that the service declares, by the address of who receives them, in lower case."""
    metadata = compared.payment.metadata
    fees = {} if metadata is None else {"protocol": metadata.protocol_fee, "platform": metadata.platform_fee}
    claims: dict[str, FeeClaim] = {}
    for name, fee in fees.items():
        if fee is None:
            continue
        key = name if fee.address is None else fee.address.lower()
        claim = FeeClaim(name, fee.address, fee.percentage)
        if (first := claims.get(key)) is not None:  # both are for one wallet
            one, other = first.percentage, fee.percentage
            share = None if one is None or other is None else EXACT.add(one, other)
            claim = FeeClaim(f"{first.name} and {name}", first.address, share)
        claims[key] = claim
    return claims


@dataclass(frozen=True, slots=True)
class Charge:
    """What one wallet takes on top of payments, all in one currency: their fees, and fee legs.

    effect: the first that has a part of it. fee: in all. amount: of the payments, in all; both in the
    same units. parts: how often it may have been rounded: once for each payment.
    """

    effect: Effect
    recipient: str | None
    fee: int
    amount: int
    parts: int = 1

    def is_share(self, percentage: Decimal | None) -> bool:
        """Return True if the fee is this percentage of the amount, up to rounding."""
        if percentage is None:
            return False
        return self.is_at_most(percentage) and self._excess(percentage) > -100 * self.parts

    def is_at_most(self, percentage: Decimal) -> bool:
        """Return True if the fee is at most this percentage of the amount, up to rounding.

        Each part may have been rounded up, but not where a base unit is more than 1 % of the amount.
        """
        excess = self._excess(percentage)
        return excess <= 0 or excess < 100 * self.parts <= self.amount

    @property
    def is_high(self) -> bool:
        """Whether the fee is so high that only an agreement can explain it."""
        return 100 * self.fee >= HIGH_FEE * self.amount

    def _excess(self, percentage: Decimal) -> Decimal:
        """Return by how much the fee is more than a percentage of the amount, in hundredths of base units."""
        return EXACT.subtract(Decimal(100 * self.fee), EXACT.multiply(percentage, Decimal(self.amount)))


def find_charges(payments: Collection[Effect], legs: Collection[Effect]) -> list[Charge]:
    """Return what is taken on top of payments, by recipient and currency, in the order of the transactions."""
    amounts: dict[tuple[str, str], list[int]] = {}
    for payment in payments:
        amounts.setdefault(_money(payment), []).append(payment.amount or 0)
    parts = [(paying, paying.fee_recipient, paying.fee or 0) for paying in (*payments, *legs)]
    parts += [(leg, leg.recipient, leg.amount or 0) for leg in legs]
    charges: dict[tuple[str, tuple[str, str]], Charge] = {}
    for effect, recipient, fee in sorted(parts, key=lambda part: part[0].step):
        if fee:
            key = (recipient or "").lower(), _money(effect)
            paid = amounts.get(key[1], [])
            first = charges.get(key) or Charge(effect, recipient, 0, sum(paid), 0)
            charges[key] = replace(first, fee=first.fee + fee, parts=min(first.parts + 1, len(paid)))
    return list(charges.values())


def find_fee_legs(compared: Comparison) -> Mapping[At, Effect]:
    """Return the payments of their own that only carry a fee, by where they stand.

    Such a leg goes to one of the wallets that may receive a fee, in the currency of a payment, in the same batch or
    after it. Legs that are too high together with the other fees count as payments.
    """
    legs, payments = list[Effect](), list[Effect]()
    for effect in compared.paying:
        may_be_leg = effect.kind == EffectKind.TRANSFER and str(effect.recipient).lower() in compared.fee_recipients
        (legs if may_be_leg else payments).append(effect)
    if not legs:
        return {}
    first: dict[tuple[str, str], int] = {}
    for payment in payments:
        first.setdefault(_money(payment), payment.step)
    legs = [each for each in legs if each.step >= first.get(_money(each), each.step + 1)]
    too_high = set()
    for charge in find_charges(payments, legs):
        agreed = compared.policy.agreed_fee(charge.recipient)
        if charge.is_high and not (agreed and charge.is_at_most(agreed.max_percent)):
            too_high.add((charge.recipient or "").lower())
    return {each.at: each for each in legs if str(each.recipient).lower() not in too_high}


def _money(effect: Effect) -> tuple[str, str]:
    """Return the unit of the amounts of an effect, and their token; their currency, if they are to be converted."""
    held = effect.path[0] if effect.unit == "request" and effect.path else effect.token
    return effect.unit, str(held).lower()


_ZERO = f"0x{0:040x}"
_NO_RECIPIENTS = {_ZERO, f"0x{0xDEAD:040x}"}
"""The addresses, in lower case, that calls without a fee give as its recipient."""


def check_fees(compared: Comparison) -> Iterator[Finding]:
    """Yield the findings about the fees of all transactions: one for each wallet that receives some."""
    charges = find_charges(compared.payments, compared.fee_legs.values())
    for charge in charges:
        yield _check_charge(compared, charge)
    found = {(charge.recipient or "").lower() for charge in charges}
    others = [*_check_unpaid(compared, found)]
    yield from others
    if compared.payments and not charges and not others:
        yield payment_finding("fee_none", compared.transactions[compared.payments[0].step])
    for step in sorted({payment.step for payment in compared.payments if payment.place is not None}):
        batch, most = compared.transactions[step], compared.policy.batch_fee
        if most is None:
            yield payment_finding("batch", batch, policy_lines=setting_line("batch_fee", "?"))
        else:
            yield payment_finding("batch.agreed", batch, most=format_percentage(most))


def _check_charge(compared: Comparison, charge: Charge) -> Finding:
    recipient = (charge.recipient or "").lower()
    claim, agreed = compared.declared_fees.get(recipient), compared.policy.agreed_fee(charge.recipient)
    token, share = compared.token(charge.effect.token), simplest_percentage(charge.fee, charge.amount)
    amount = effect_units(charge.effect, charge.fee, token)
    fee = format_effect_amount(charge.effect, charge.fee, token)
    alike = compared.policy.lookalike(charge.recipient)
    limit = f" and an amount of {format_number(agreed.max_amount)}" if agreed and agreed.max_amount is not None else ""
    return payment_finding(
        "fee_lookalike" if alike else _judge(charge, claim, agreed, amount=amount),
        compared.transactions[charge.effect.step],
        fee=fee if share is None else f"{fee} ({format_percentage(share)})",
        recipient=with_checksum(charge.recipient) or "an unknown wallet",
        declared=claim,
        known=alike,
        name=claim and claim.name,
        share=claim and format_percentage(claim.percentage),
        most=agreed and format_percentage(agreed.max_percent) + limit,
        policy_lines=_policy_lines(charge, claim, agreed, amount=amount),
    )


def _judge(charge: Charge, claim: FeeClaim | None, agreed: AgreedFee | None, *, amount: Decimal | None) -> str:
    """Return the key of the finding. claim, agreed: what service and policy say of the recipient, if they name it.

    Less than the service declares is no difference: it caps its fee for large payments, and does not publish where.
    amount: of the fee, in whole units; None if that is not known.
    """
    most = None if agreed is None else agreed.max_amount
    is_agreed = agreed is not None and charge.is_at_most(agreed.max_percent)
    is_agreed &= most is None or (amount is not None and amount <= most)
    share = None if claim is None else claim.percentage
    if charge.recipient == _ZERO and not charge.effect.is_native and charge.effect.place is None:
        return "fee.burned"  # a batch contract would take it all the same, and keep it
    if charge.is_high and not is_agreed:
        return "fee_high" if charge.amount else "fee_high.no_amount"
    if claim and not (is_agreed if share is None else charge.is_at_most(share)):
        return "fee_differs"
    is_less = share is not None and not charge.is_share(share)
    if is_agreed:
        return ("fee.less" if is_less else "fee.agreed") if claim else "fee.undeclared"
    if agreed:
        return "fee.above"
    return ("fee.below" if is_less else "fee.declared") if claim else "fee_unknown"


def _check_unpaid(compared: Comparison, found: Collection[str]) -> Iterator[Finding]:
    """Yield the findings about wallets that receive no fee, although the service or a call names them for one.

    A declared fee may be so small that it rounds to nothing, and a call may name a known wallet. A batch contract may
    pay its own fee to the wallet that a call names, so that a declaration of the service does not make it known.
    found: who receives a fee, in lower case.
    """
    nothing = [Charge(payment, None, 0, payment.amount or 0) for payment in compared.payments]
    for address, claim in compared.declared_fees.items():
        if address not in found and not all(each.is_share(claim.percentage) for each in nothing):
            yield payment_finding("fee_missing", compared.transactions[compared.payments[0].step], declared=claim)
    reported = {*_NO_RECIPIENTS, *found}
    for effect in compared.paying:
        recipient = (effect.fee_recipient or "").lower()
        is_vouched = effect.place is None or compared.policy.agreed_fee(recipient) is not None
        if recipient and recipient not in reported and not (is_vouched and recipient in compared.fee_recipients):
            reported |= {recipient}
            key = "fee_none.recipient" if effect.place is None else "fee_none.batch"
            yield payment_finding(key, compared.transactions[effect.step], recipient=with_checksum(recipient))


def _policy_lines(charge: Charge, claim: FeeClaim | None, agreed: AgreedFee | None, *, amount: Decimal | None) -> str:
    """Return the lines of a policy that agree to a fee; "" if its share or recipient is not known."""
    is_declared = claim is not None and charge.is_share(claim.percentage)
    share = claim.percentage if claim and is_declared else simplest_percentage(charge.fee, charge.amount)
    if share is None or charge.recipient is None:
        return ""
    if agreed is None:
        return fee_line(charge.recipient, share)
    most = None if agreed.max_amount is None else max(agreed.max_amount, amount or Decimal(0))
    return fee_line(charge.recipient, max(share, agreed.max_percent), agreed.name, most)
