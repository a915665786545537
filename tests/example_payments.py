"""Honest payments, and what makes each of them harmful or unusual."""

from __future__ import annotations

from typing import Any

from eth_abi import encode

from cases import table_rows
from payerkit import PaymentOrder, PaymentPolicy, PayoutOrder
from payerkit.findings import PaymentFindings
from payerkit.models import Payment
from payerkit.onchain.calldata import functions
from payerkit.onchain.currencies import find_currency, find_deployment, token_list
from payerkit.policy import AcceptedAllowance, AddressBook, AgreedFee, KnownAddress

PAYEE = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
OTHER = "0x1111111111111111111111111111111111111111"
DEAD = "0x000000000000000000000000000000000000dEaD"
ZERO = f"0x{0:040x}"
THIRD = "0x2222222222222222222222222222222222222222"
REFERENCE = b"\x12\x34\x56\x78\x9a\xbc\xde\xf0"
TOKEN = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"  # fUSDC-sepolia
FEE_PROXY = "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE"  # on sepolia
BATCHES = "0x67818703c92580c0e106e401F253E8A410A66f8B"  # BatchConversionPayments on sepolia
FAU = "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C"  # FAU-sepolia; another contract on mainnet
MAX = 2**256 - 1


def order(currency: str, invoice: str | None = None, amount: str = "10", payee: str = PAYEE) -> PaymentOrder:
    """Return an order of an amount of a currency, paid in the same one unless another is named."""
    return PaymentOrder(payee=payee, amount=amount, invoice_currency=invoice or currency, payment_currency=currency)


def data(selector: str, *values: Any) -> str:
    """Return the calldata of a known function."""
    function = functions()[bytes.fromhex(selector)]
    types = [part.canonical for part in function.arguments.parts]
    return "0x" + (function.selector + encode(types, values)).hex()


def as_json(to: str, call: str, value: int) -> dict[str, str]:
    """Return a transaction as a response has it."""
    return {"to": to, "data": call, "value": str(value)}


def payment(*transactions: Any, asked: PaymentOrder | PayoutOrder | None, **others: Any) -> Payment:
    """Return a payment with some transactions: to, data and value of each, or its members."""
    answer = {
        "paymentReference": "0x" + REFERENCE.hex(),
        "transactions": [each if isinstance(each, dict) else as_json(*each) for each in transactions],
        **others,
    }
    return Payment.read(answer, order=asked)


def codes(found: PaymentFindings, severity: str) -> set[str]:
    """Return the codes of one severity."""
    return {finding.code for finding in found if finding.severity == severity}


def told(found: PaymentFindings, asked: str) -> str:
    """Return the codes of errors and warnings, and those of the infos that are asked for, which have a + in front."""
    codes = {each.code if each.severity != "info" else f"+{each.code}" for each in found}
    return " ".join(sorted(code for code in codes if code[0] != "+" or code in asked.split()))


def unsaid(found: PaymentFindings, words: str | list[str]) -> list[str]:
    """Return those of some words that the text of findings does not have."""
    return [each for each in ([words] if isinstance(words, str) else words) if each not in str(found)]


APPROVAL = (TOKEN, data("095ea7b3", FEE_PROXY, 10_000_000), 0)
TOKEN_PAYMENT = (FEE_PROXY, data("c219a14d", TOKEN, PAYEE, 10_000_000, REFERENCE, 0, DEAD), 0)
ETH_FEE_PROXY = "0xe11BF2fDA23bF0A98365e1A4c04A87C9339e8687"
ETH_PROXY = "0x171Ee0881407d4c0C11eA1a2FB7D5b4cdED71e6e"
ERC20_PROXY = "0x88Ecc15fDC2985A7926171B938BB2Cd808A5ba40"
WEI = 10 * 10**18
USDC, ETH = order("fUSDC-sepolia"), order("ETH-sepolia-sepolia")

GOOD: dict[str, Payment] = {
    "token": payment(APPROVAL, TOKEN_PAYMENT, asked=USDC),
    "enough allowance": payment(TOKEN_PAYMENT, asked=USDC),
    "allowance taken back first": payment(
        (TOKEN, data("095ea7b3", FEE_PROXY, 0), 0), APPROVAL, TOKEN_PAYMENT, asked=USDC
    ),
    "token without fee": payment(
        (TOKEN, data("095ea7b3", ERC20_PROXY, 10_000_000), 0),
        (ERC20_PROXY, data("0784bca3", TOKEN, PAYEE, 10_000_000, REFERENCE), 0),
        asked=USDC,
    ),
    "coin": payment((ETH_FEE_PROXY, data("b868980b", PAYEE, REFERENCE, 0, DEAD), WEI), asked=ETH),
    "coin, exact": payment((ETH_FEE_PROXY, data("d7c95e98", PAYEE, WEI, REFERENCE, 0, DEAD), WEI), asked=ETH),
    "coin without fee": payment((ETH_PROXY, data("eb7d8df3", PAYEE, REFERENCE), WEI), asked=ETH),
}
"""Payments that match their order exactly."""


MATIC_PROXY = "0x0DfbEe143b42B41eFC5A6F87bFD1fFC78c2f0aC9"  # named in tables


BATCH = "0x3cF63891928B8CeebB81C95426600a18cd59C03f"  # BatchConversionPayments on mainnet
MAIN_PROXY = FAU
MAIN_USDC, MAIN_WBTC = (str(find_currency(name).address) for name in ("USDC-mainnet", "WBTC-mainnet"))  # type: ignore[union-attr]
MAIN = order("USDC-mainnet")
MAIN_PAYMENT = (MAIN_PROXY, data("c219a14d", MAIN_USDC, PAYEE, 10**7, REFERENCE, 0, DEAD), 0)
CONVERTED = "0xc861aE0Cd70b73b0C8F1D62Fa669E6D1d7D7e0aB"  # EthConversionProxy on sepolia
HASHES = ["0x775EB53d00DD0Acd3EC1696472105d579B9b386b", "0xBB3546497A53Cd710BEb11b84C5240327F145BCB"]


def converted(amount: int, *path: str) -> tuple[str, str, int]:
    """Return a transaction that pays a converted amount in ETH."""
    return (CONVERTED, data("ac473c8a", PAYEE, amount, list(path), REFERENCE, 0, DEAD, 0), 10**18)


def detail(*path: str) -> tuple[Any, ...]:
    """Return one payment of a batch."""
    return (PAYEE, 10**7, list(path), REFERENCE, 0, 0, 0)


PAYABLE = [
    currency
    for currency in token_list().values()
    if (contract := {"erc20": "ERC20FeeProxy", "native": "EthereumFeeProxy"}.get(currency.kind))
    if find_deployment(contract, currency.network)
]
"""Every coin and token that the sandbox can pay with."""

ONE_OF_EACH = {(currency.kind, currency.network, currency.decimals): currency for currency in PAYABLE}
"""One of each kind, network and number of decimals, on which a payment depends."""

NAMES = {name: value for name, value in globals().items() if name.isupper() and isinstance(value, str | bytes)}
"""What the tables of cases call by the names of this module: addresses and the reference."""


def read(cell: Any) -> Any:
    """Return what a cell of a table stands for: a name, a transaction, a payment, an order or a policy, or itself."""
    if isinstance(cell, list):
        return [read(each) for each in cell]
    if not isinstance(cell, dict):
        return NAMES.get(cell, cell) if isinstance(cell, str) else cell
    found = {str(NAMES.get(name, name)): read(value) for name, value in cell.items()}
    if found.keys() == {"policy"} and isinstance(found["policy"], dict):
        return _policy(found["policy"])
    if found.keys() == {"order"} and isinstance(found["order"], list):
        return order(*found["order"])
    if "with" in found:
        return found["to"], data(found["call"], *map(_bytes, found["with"])), found.get("value", 0)
    if "transactions" in found and "order" in found:
        asked = found.pop("order")
        return payment(*found.pop("transactions"), asked=asked, **found)
    return found


def _bytes(argument: Any) -> Any:
    """Return an argument with its hex as bytes, unless it is an address."""
    if isinstance(argument, list):
        return [_bytes(each) for each in argument]
    is_bytes = isinstance(argument, str) and argument.startswith("0x") and len(argument) != len(PAYEE)
    return bytes.fromhex(argument[2:]) if is_bytes else argument


def _policy(members: dict[str, Any]) -> PaymentPolicy:
    made: dict[str, Any] = {"fees": AgreedFee, "allowances": AcceptedAllowance, "addresses": KnownAddress}
    for name, kind in made.items():
        if name in members:
            members[name] = [kind(**each) for each in members[name]]
    if "addresses" in members:
        members["addresses"] = AddressBook(members["addresses"])
    rates = {tuple(pair.split("/")): rate for pair, rate in members.pop("rates", {}).items()}
    return PaymentPolicy(**members, rates=rates)


MANY = (BATCH, data("92cddb91", [(2, [(PAYEE, 10**7, [TOKEN], REFERENCE, 0, 0, 0)] * 300)], [], DEAD), 0)
SWAPPED: list[tuple[str, Payment, str]] = [
    *((row["why"], row["paid"], row["code"]) for row in table_rows("payments_to_stop", read)),
    ("as many payments as take seconds to check", payment(*[MANY] * 4, asked=USDC), "too_many"),
]
"""Payments that contradict their order, with the code of an error."""

HARMLESS: list[tuple[str, Payment, str]] = [
    (row["why"], row["paid"], row["code"]) for row in table_rows("payments_to_look_at", read)
]
"""Payments that are only unusual, with the code of a warning."""
