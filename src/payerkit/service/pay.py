"""POST /v1/pay: turns an order into the transactions that pay it. Amounts, exchange rates and the demo wallet.

Amounts are never floats: decimals as text, whole base units, exact fractions. The function signatures are written out
here. The decoder in `onchain` has its own, so that a mistake on one side shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypeVar

from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError
from fastapi import Depends
from sqlalchemy import select
from typing_extensions import TypedDict

from payerkit._tsv import rows
from payerkit.onchain.addresses import address_problem, keccak, with_checksum
from payerkit.onchain.currencies import Currency, find_currency, find_deployment, native_currency
from payerkit.service.failures import HttpError
from payerkit.service.fields import AnyText, NonEmptyText, PathId
from payerkit.service.settings import Settings
from payerkit.service.tables import BillRow
from payerkit.service.world import WorldRouter, WorldSession

T = TypeVar("T")

APPROVE = "approve(address,uint256)"
PAY_TOKEN = "transferFromWithReferenceAndFee(address,address,uint256,bytes,uint256,address)"  # noqa: S105 - a signature
PAY_NATIVE = "transferWithReferenceAndFee(address,bytes,uint256,address)"

_GAS_LIMITS = {APPROVE: 60_000, PAY_TOKEN: 100_000, PAY_NATIVE: 100_000}
"""Gas that a call of each function may need: slightly more than the contracts used when executed."""

_SELECTORS = {keccak(signature.encode())[:4]: signature for signature in _GAS_LIMITS}
"""The functions by the first four bytes of their calldata."""

OPERATOR_ADDRESS = with_checksum("0x" + "0ff0" * 10)
"""Who receives the crypto of all payouts: an invented address, of which nobody has the key."""

_ZERO_ADDRESS = "0x" + "0" * 40
_RESET_FIRST = {"USDT-mainnet"}
"""Tokens whose contract refuses to change a non-zero allowance: it has to be set to zero first."""


class PayRequest(TypedDict):
    """A payment order. A capital letter in an address belongs to its checksum (EIP-55)."""

    payee: NonEmptyText
    amount: AnyText
    invoiceCurrency: NonEmptyText
    paymentCurrency: NonEmptyText


router = WorldRouter()


@router.call("POST /v1/pay", status=201)
@router.call("POST /v2/payouts", status=201)
def post_payment(body: PayRequest, session: WorldSession) -> Mapping[str, Any]:
    """Return the transactions to sign."""
    order, stored = read_order(session, body), dict(body)
    names = ("payee", "amount", "invoiceCurrency", "paymentCurrency")
    bill = add_bill(session, "", order.payee, json.dumps([stored[name] for name in names]), stored)
    transactions, metadata = transactions_of(session, order, bill)
    session.record("payment", None, stored, bill.request_id)
    return {**bill.ids, "transactions": transactions, "metadata": metadata}


@dataclass(frozen=True, slots=True)
class Order:
    """A valid order: amounts in base units of the payment currency, the contract that pays it, and today's rates."""

    payee: str
    invoice: Currency
    currency: Currency
    contract: str
    amount: int
    fee: int
    rates: Rates

    @property
    def total(self) -> int:
        """Amount and fee; gas is extra."""
        return self.amount + self.fee


@dataclass(frozen=True, slots=True)
class ContractCall:
    """A call of a contract: the function, its arguments, the contract's address, and the value in wei."""

    function: str
    arguments: Sequence[Any]
    to: str
    wei: int = 0

    @property
    def gas_cost(self) -> int:
        """The cost of its gas, in wei."""
        return _GAS_LIMITS[self.function] * GAS_PRICE

    def to_json(self) -> Any:
        """Return the transaction as published: a value of 0 as a number, any other as ethers serializes it."""
        calldata = keccak(self.function.encode())[:4] + encode(_types(self.function), self.arguments)
        return {"data": "0x" + calldata.hex(), "to": self.to, "value": big_number(self.wei) if self.wei else 0}


def add_bill(
    session: WorldSession, kind: Literal["", "payout "], payee: str, text: str, body: dict[str, Any]
) -> BillRow:
    """Store a payment, or a request for a payout, with ids of its own. text: from which seeded ids are made."""
    reference = body.get("reference")
    key = session.lookup_key(f"reference {reference}" if kind and reference is not None else kind or text)
    ordinal = session.count(BillRow, key=key)
    request_id = "01" + session.identifiers.token_bytes(32, f"{kind}request", text, ordinal).hex()
    salt = session.identifiers.token_bytes(8, f"{kind}salt", text, ordinal).hex()
    return session.insert(
        BillRow,
        request_id=request_id,
        payment_reference="0x" + payment_reference(request_id, salt, payee).hex(),
        key=key,
        is_payout=bool(kind),
        created_at=session.now,
        body=body,
    )


def find_bill(session: WorldSession, condition: Any) -> BillRow | None:
    """Return the payment or the request of which a condition is true, or None."""
    return session.scalars(select(BillRow).where(condition, BillRow.world_id == session.world.id)).one_or_none()


def transactions_of(
    session: WorldSession, order: Order, bill: BillRow, *, has_wallet: bool = True
) -> tuple[list[Any], Any]:
    """Return the transactions that pay an order, and their metadata. has_wallet: False for an unknown wallet."""
    settings, coin = session.settings, native_currency(order.currency.network)
    holding = read_holding(session, order.currency)
    allowance = holding["allowance"] if has_wallet else 0
    transactions = _create_transactions(order, bytes.fromhex(bill.payment_reference[2:]), settings, allowance)
    last = len(transactions) - 1
    cost = sum(each.wei + each.gas_cost for each in transactions)
    metadata: Any = {
        "stepsRequired": len(transactions),
        "needsApproval": last > 0,
        "approvalTransactionIndex": last - 1 if last else None,
        "paymentTransactionIndex": last,
    }
    if has_wallet:
        metadata["hasEnoughBalance"] = holding["balance"] >= order.total
        metadata["hasEnoughGas"] = coin is not None and read_holding(session, coin)["balance"] >= cost
    if settings.protocol_fee:
        metadata["protocolFee"] = settings.protocol_fee
    return [each.to_json() for each in transactions], metadata


def read_order(session: WorldSession, body: Mapping[str, Any]) -> Order:
    """Return the order in the body of a payment, or of a request, which pays the operator.

    Raises HttpError that names every invalid field.
    """
    errors: list[Mapping[str, str]] = []

    def attempt(check: Callable[..., T], *arguments: Any) -> T | None:
        try:
            return check(*arguments)
        except HttpError as error:
            errors.extend(error.errors)
            return None

    rates = Rates(session.rates)
    payee = attempt(_parse_payee, body.get("payee", OPERATOR_ADDRESS))
    invoice = attempt(_parse_currency, body, "invoiceCurrency")
    payment = attempt(_parse_currency, body, "paymentCurrency")
    contract = payment and attempt(_payment_contract, payment)
    units = invoice and attempt(parse_amount, body["amount"], invoice)
    if not (payee and invoice and payment and contract and units):
        raise HttpError.of_fields(errors)
    amount = convert(units, invoice, payment, rates)
    # Exact, then rounded down: a payer never pays more than the fee's percentage.
    fee = int(amount * session.settings.fee_rate)
    if amount + fee > MAX_UINT256:
        message = "is too large: converted and with its fee, it does not fit 256 bits"
        raise HttpError.of_field("amount", message, "amount_range")
    return Order(payee, invoice, payment, contract, amount, fee, rates)


def check_format(address: str, field: str) -> None:
    """Raise HttpError for what is no address. Its checksum matters only to an address that receives something."""
    if address_problem(address) == "address_malformed":
        raise HttpError.of_field(field, "must be an address: 0x and 40 hex digits", "address_format")


def _parse_payee(payee: str) -> str:
    check_format(payee, "payee")
    if address_problem(payee):
        raise HttpError.of_field(
            "payee", "fails its EIP-55 checksum: a letter or its case is wrong", "address_checksum"
        )
    if payee.lower() == _ZERO_ADDRESS:
        raise HttpError.of_field("payee", "must not be the zero address", "address_zero")
    return str(with_checksum(payee))


def _parse_currency(body: Mapping[str, Any], field: str) -> Currency:
    currency = find_currency(body[field])
    if currency is None:
        raise HttpError.of_field(field, "is not in the token list", "currency_unknown")
    return currency


def _payment_contract(currency: Currency) -> str:
    """Return the address of the contract that payments in a currency call."""
    name = {"erc20": "ERC20FeeProxy", "native": "EthereumFeeProxy"}.get(currency.kind)
    if name is None:
        message = "must be a native coin or a token of an EVM network"
        raise HttpError.of_field("paymentCurrency", message, "currency_kind")
    contract = find_deployment(name, currency.network)
    if contract is None:
        message = f"cannot be paid: no payment contract is deployed on {currency.network}"
        raise HttpError.of_field("paymentCurrency", message, "currency_network")
    return str(with_checksum(contract.address))


def _create_transactions(order: Order, reference: bytes, settings: Settings, allowance: int) -> list[ContractCall]:
    """Return the transactions that pay an order: approvals of exactly the total if needed, then the payment."""
    fee = [order.fee, settings.fee_recipient]
    if order.currency.kind == "native":
        return [ContractCall(PAY_NATIVE, [order.payee, reference, *fee], order.contract, order.total)]
    token = with_checksum(order.currency.address)
    amounts = [] if allowance >= order.total else [order.total]
    if amounts and allowance and order.currency.id in _RESET_FIRST:
        amounts.insert(0, 0)
    approvals = [ContractCall(APPROVE, [order.contract, amount], token) for amount in amounts]
    return [*approvals, ContractCall(PAY_TOKEN, [token, order.payee, order.amount, reference, *fee], order.contract)]


def decode_call(data: str) -> tuple[str, list[Any]] | None:
    """Return the signature and the arguments of one of the calls above; None for any other calldata."""
    try:
        content = bytes.fromhex(data.removeprefix("0x"))
        signature = _SELECTORS[content[:4]]
        return signature, list(decode(_types(signature), content[4:]))
    except (DecodingError, LookupError, ValueError):
        return None


def payment_reference(request_id: str, salt: str, address: str) -> bytes:
    """Return the 8-byte reference that identifies a payment on chain.

    The last eight bytes of keccak-256 over request id, salt and address as lower-case text (RequestNetwork,
    payment-detection, payment-reference-calculator).
    """
    return keccak((request_id + salt + address).lower().encode())[-8:]


def _types(signature: str) -> list[str]:
    return signature.partition("(")[2].removesuffix(")").split(",")


def big_number(value: int) -> dict[str, str]:
    """Return a number as ethers 5 serializes it to JSON: hex with an even number of digits."""
    digits = f"{value:x}"
    return {"type": "BigNumber", "hex": "0x" + digits.rjust(len(digits) + len(digits) % 2, "0")}


# What a wallet sends


class Paid(NamedTuple):
    """A payment as the arguments of a call say it, in base units. token: "" for a native coin."""

    token: str
    recipient: str
    amount: int
    reference: bytes
    fee: int
    fee_address: str

    @classmethod
    def of(cls, step: ContractCall) -> Paid:
        """Return the payment that a call makes."""
        if step.function == PAY_TOKEN:
            return cls(*step.arguments)
        recipient, reference, fee, fee_address = step.arguments
        return cls("", recipient, step.wei - fee, reference, fee, fee_address)


def read_steps(transactions: Sequence[Mapping[str, Any]]) -> list[ContractCall]:
    """Return the transactions of a payment. Raises HttpError unless they are approvals, if any, and one payment."""
    steps = [_read_step(place, each) for place, each in enumerate(transactions)]
    if [step.function == APPROVE for step in steps] != [True] * (len(steps) - 1) + [False]:
        message = "must be approvals, if any, and then one payment by a contract that the sandbox uses"
        raise HttpError.of_field("transactions", message, "transactions")
    return steps


def _read_step(place: int, transaction: Mapping[str, Any]) -> ContractCall:
    """Return a transaction. Raises HttpError if it is malformed, or calls none of the functions that pay here."""
    field = f"transactions.{place}"
    check_format(transaction["to"], f"{field}.to")
    call = decode_call(transaction["data"])
    if call is None:
        message = "must be calldata of an approval, or of a payment as this sandbox returns it"
        raise HttpError.of_field(f"{field}.data", message, "transactions")
    return ContractCall(*call, transaction["to"].lower(), int(transaction["value"]))


def check_steps(order: Order, steps: Sequence[ContractCall], pay: Paid) -> None:
    """Raise HttpError for transactions that go to other contracts, tokens or recipients than those of the order."""
    contract, token = order.contract.lower(), order.currency.address.lower()
    *approvals, payment = steps
    is_right = payment.to == contract and pay.token.lower() == ("" if order.currency.kind == "native" else token)
    if not is_right or any(
        each.to != token or str(each.arguments[0]).lower() != contract or each.wei for each in approvals
    ):
        raise HttpError(409, "The transactions go to other contracts or tokens than the payment that they refer to")
    if pay.recipient.lower() != order.payee.lower():
        raise HttpError(409, "The transactions pay somebody else than the payment that they refer to")
    if pay.amount <= 0:
        raise HttpError(409, "The transaction would fail: it pays nothing")


def spend(session: WorldSession, order: Order, steps: Sequence[ContractCall], pay: Paid) -> None:
    """Take what the transactions cost from the wallet. Raises HttpError for one that would fail."""
    coin, total = native_currency(order.currency.network), pay.amount + pay.fee
    if coin is not None:
        _take(session, coin, sum(step.gas_cost for step in steps), "for gas")
    if order.currency.kind != "native":
        is_approved = len(steps) > 1
        allowance = steps[-2].arguments[1] if is_approved else read_holding(session, order.currency)["allowance"]
        if allowance < total:
            raise HttpError(409, f"The transaction would fail: the allowance of {order.currency.id} is too small")
        set_holding(session, order.currency, allowance=allowance - total)
    _take(session, order.currency, total, "for the payment")


def _take(session: WorldSession, currency: Currency, units: int, purpose: str) -> None:
    balance = read_holding(session, currency)["balance"]
    if balance < units:
        raise HttpError(409, f"The transaction would fail: the wallet does not have enough {currency.id} {purpose}")
    set_holding(session, currency, balance=balance - units)


# Amounts

MAX_UINT256 = 2**256 - 1
"""The largest number of base units that the contracts can hold."""

# [0-9] and not \d, which also matches the digits of other scripts. 78 digits hold MAX_UINT256.
_AMOUNT = re.compile(r"[0-9]{1,78}(?:\.[0-9]{1,78})?")
_RATE = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,30})?")


@cache
def usd_rates() -> Mapping[str, str]:
    """Return the sandbox's own rates, which are invented: US dollars per unit, by symbol."""
    return {row["symbol"]: row["usd"] for row in rows(__package__, "rates")}


class Rates:
    """US dollars per unit of each currency: as set by a user, or by the table of rates; other tokens count as 1.

    A fiat currency without a rate is an error: a guess would look like a rate.
    """

    def __init__(self, overrides: Mapping[str, str]) -> None:
        self.overrides = overrides

    def usd(self, currency: Currency) -> str:
        """Return the rate as a decimal. Raises HttpError for a fiat currency without one."""
        symbol = currency.symbol.partition("-")[0] if currency.kind == "native" else currency.symbol
        rate = self.overrides.get(currency.id) or usd_rates().get(symbol) or ("" if currency.kind == "fiat" else "1")
        if not rate:
            message = f"has no exchange rate in the sandbox; set one with PUT /sandbox/rates/{currency.id}"
            raise HttpError.of_field("invoiceCurrency", message, "no_rate")
        return rate

    def exchange_rate(self, invoice: Currency, payment: Currency) -> Fraction:
        """Return the units of the payment currency per unit of the invoice currency."""
        if invoice.id == payment.id:
            return Fraction(1)
        return Fraction(self.usd(invoice)) / Fraction(self.usd(payment))


def parse_amount(text: str, currency: Currency) -> int:
    """Return a positive decimal in base units. Raises HttpError for anything else."""
    if not (units := parse_units(text, currency, "amount")):
        raise HttpError.of_field("amount", "must be greater than zero", "amount_range")
    return units


def parse_units(text: str, currency: Currency, field: str) -> int:
    """Return a decimal in base units. Raises HttpError if malformed, too precise for the currency, or too large."""
    if not _AMOUNT.fullmatch(text):
        raise HttpError.of_field(field, "must be a decimal, such as 10.50", "amount_format")
    whole, _, digits = text.partition(".")
    if len(digits) > currency.decimals:
        message = f"must have at most {currency.decimals} digits after the decimal point for {currency.id}"
        raise HttpError.of_field(field, message, "amount_digits")
    units = int(f"{whole}{digits:0<{currency.decimals}}")
    if units > MAX_UINT256:
        raise HttpError.of_field(field, "is too large: it does not fit 256 bits", "amount_range")
    return units


def convert(units: int, invoice: Currency, payment: Currency, rates: Rates) -> int:
    """Return base units of the payment currency, rounded up, so that the payee gets no less than the invoice says."""
    exact: Fraction = whole_units(units, invoice) * rates.exchange_rate(invoice, payment) * 10**payment.decimals
    converted = -(-exact.numerator // exact.denominator)  # floor division of the negative rounds up, exactly
    if converted > MAX_UINT256:
        raise HttpError.of_field("amount", "is too large: converted, it does not fit 256 bits", "amount_range")
    return converted


def format_units(units: int, currency: Currency) -> str:
    """Return base units as a decimal with all the currency's digits."""
    digits = str(units).rjust(currency.decimals + 1, "0")
    return f"{digits[: -currency.decimals]}.{digits[-currency.decimals :]}" if currency.decimals else digits


def whole_units(units: int, currency: Currency) -> Fraction:
    """Return base units as an exact number of whole units."""
    return Fraction(units, 10**currency.decimals)


def in_usd(amount: Fraction, currency: Currency, rates: Rates) -> str:
    """Return an amount in US dollars, rounded down to cents."""
    cents = int(amount * Fraction(rates.usd(currency)) * 100)
    return f"{cents // 100}.{cents % 100:02}"


# Rates and the demo wallet

_DEFAULT_BALANCE = 1_000_000
"""Whole units of every currency, until a user sets another balance: enough for payments to work."""

GAS_PRICE = 20_000_000_000
"""Wei per unit of gas; invented."""


class RateRequest(TypedDict):
    """A new exchange rate: US dollars per unit."""

    usd: AnyText


class HoldingRequest(TypedDict):
    """A new balance, a new allowance of the payment contract, or both: decimals in units of the currency."""

    balance: NotRequired[AnyText]
    allowance: NotRequired[AnyText]


async def get_currency(currency: PathId) -> Currency:
    """Return the currency in the path. Raises HttpError (404) if the token list does not have it."""
    found = find_currency(currency)
    if found is None:
        raise HttpError(404, f"Currency {currency} is not in the token list")
    return found


CurrencyDep = Annotated[Currency, Depends(get_currency)]


@router.call("GET /sandbox/rates/{currency}")
def get_rate(currency: CurrencyDep, session: WorldSession) -> Mapping[str, Any]:
    """Return the US dollars per unit."""
    return {"currency": currency.id, "usd": Rates(session.rates).usd(currency)}


@router.call("PUT /sandbox/rates/{currency}")
def put_rate(currency: CurrencyDep, body: RateRequest, session: WorldSession) -> Mapping[str, Any]:
    """Set the US dollars per unit."""
    usd = body["usd"]
    if not _RATE.fullmatch(usd) or not Decimal(usd):
        message = "must be a positive decimal, such as 1.10, with at most 30 digits before and after the point"
        raise HttpError.of_field("usd", message, "rate")
    session.update_world(rates=session.rates | {currency.id: usd})
    return {"currency": currency.id, "usd": usd}


@router.call("GET /sandbox/fees")
def get_fees(session: WorldSession) -> Mapping[str, Any]:
    """Return the fees on top of each payment, as a platform would have agreed to them."""
    fee = session.settings.protocol_fee
    return {"fees": [fee] if fee else []}


@router.call("GET /sandbox/wallet/{currency}")
def get_holding(currency: CurrencyDep, session: WorldSession) -> Mapping[str, Any]:
    """Return balance and allowance."""
    holding = read_holding(session, currency)
    return {
        "currency": currency.id,
        "balance": format_units(holding["balance"], currency),
        "allowance": format_units(holding["allowance"], currency),
    }


@router.call("PUT /sandbox/wallet/{currency}")
def put_holding(currency: CurrencyDep, body: HoldingRequest, session: WorldSession) -> Mapping[str, Any]:
    """Set balance, allowance, or both."""
    set_holding(session, currency, **{name: parse_units(str(units), currency, name) for name, units in body.items()})
    return get_holding(currency, session)


def read_holding(session: WorldSession, currency: Currency) -> dict[str, int]:
    """Return the wallet's `balance` of a currency and the payment contract's `allowance`, in base units."""
    return session.wallet.get(currency.id) or {"balance": _DEFAULT_BALANCE * 10**currency.decimals, "allowance": 0}


def set_holding(session: WorldSession, currency: Currency, **units: int) -> None:
    """Store a new balance of a currency, a new allowance, or both."""
    session.wallet = {**session.wallet, currency.id: {**read_holding(session, currency), **units}}
    session.update_world(wallet=session.wallet)
