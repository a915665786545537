"""The review of a payment: what matches its order is ok, every mismatch stops it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from eth_abi import encode
from hypothesis import given
from hypothesis import strategies as st

import payerkit
import payerkit.review
from payerkit._tables import rows
from payerkit.client import Client
from payerkit.connection import SandboxClient
from payerkit.errors import InvalidInput
from payerkit.findings import PaymentFindings
from payerkit.models import Payment, PaymentOrder
from payerkit.onchain.abi import AbiType
from payerkit.onchain.currencies import Currency, find_currency, token_list
from payerkit.onchain.deployments import find_deployment
from payerkit.onchain.functions import functions
from payerkit.review.check_payment import check_payment
from payerkit.review.frames import TRANSACTION_COLUMNS, decode_transactions
from published import ANSWERS
from test_calldata import sample

PAYEE = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
OTHER = "0x1111111111111111111111111111111111111111"
DEAD = "0x000000000000000000000000000000000000dEaD"
REFERENCE = b"\x12\x34\x56\x78\x9a\xbc\xde\xf0"
TOKEN = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"  # fUSDC-sepolia
FEE_PROXY = "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE"  # on sepolia
MAX = 2**256 - 1


def order(currency: str, invoice: str | None = None, amount: str = "10") -> PaymentOrder:
    """Return an order of an amount of a currency, paid in the same one unless another is named."""
    return PaymentOrder(payee=PAYEE, amount=amount, invoice_currency=invoice or currency, payment_currency=currency)


def data(selector: str, *values: Any) -> str:
    """Return the calldata of a known function."""
    function = functions()[bytes.fromhex(selector)]
    types = [part.canonical for part in function.arguments.parts]
    return "0x" + (function.selector + encode(types, values)).hex()


def payment(*transactions: tuple[str, str, int], asked: PaymentOrder | None, **others: Any) -> Payment:
    """Return a payment with some transactions: to, data, value."""
    answer = {
        "paymentReference": "0x" + REFERENCE.hex(),
        "transactions": [{"to": to, "data": call, "value": str(value)} for to, call, value in transactions],
        **others,
    }
    return Payment.read(answer, order=asked)


def codes(found: PaymentFindings, severity: str) -> set[str]:
    """Return the codes of one severity."""
    return {finding.code for finding in found if finding.severity == severity}


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


@pytest.mark.parametrize("name", GOOD)
def test_a_payment_that_matches_its_order_is_ok(name: str) -> None:
    """A payment that matches its order is ok, and the findings tell each match."""
    found = check_payment(GOOD[name])

    assert ("ok", ()) == (found.verdict, (*found.errors, *found.warnings))
    assert {"payee_matches", "amount_matches", "reference_matches", "contract"} <= codes(found, "info")


def mutations() -> list[tuple[str, int, str, Any]]:
    """Return each argument of each transaction of the good payments: payment, transaction, argument."""
    found = []
    for name, good in GOOD.items():
        for number, transaction in enumerate(good.transactions):
            function = functions()[bytes.fromhex(str(transaction.data)[2:10])]
            found += [(name, number, part.name, place) for place, part in enumerate(function.arguments.parts)]
    return found


@pytest.mark.parametrize(("name", "number", "argument", "place"), mutations())
def test_no_changed_argument_is_ok(name: str, number: int, argument: str, place: int) -> None:
    """A payment with any changed argument is no longer ok."""
    found = check_payment(mutated(name, number, place))

    is_vital = argument in {"recipient", "token", "spender", "amount", "reference"}
    assert found.verdict in ({"stop"} if is_vital else {"look", "stop"})


def mutated(name: str, number: int, place: int) -> Payment:
    """Return a good payment with one argument changed."""
    answer = GOOD[name].to_dict(reveal=True)
    changed = answer["transactions"][number]
    selector = bytes.fromhex(changed["data"][2:10])
    kinds = [part.canonical for part in functions()[selector].arguments.parts]
    values = [*_decoded(kinds, changed["data"])]
    values[place] = {"address": OTHER, "uint256": 12345, "bytes": b"87654321"}[kinds[place]]
    changed["data"] = "0x" + (selector + encode(kinds, values)).hex()
    return Payment.read(answer, order=GOOD[name].order)


def _decoded(kinds: list[str], call: str) -> tuple[Any, ...]:
    from eth_abi import decode  # noqa: PLC0415 - only here

    return tuple(decode(kinds, bytes.fromhex(call[10:])))


MATIC_PROXY = "0x0DfbEe143b42B41eFC5A6F87bFD1fFC78c2f0aC9"
SWAPPED = [
    ("payee", payment(APPROVAL, (FEE_PROXY, data("c219a14d", TOKEN, OTHER, 10**7, REFERENCE, 0, DEAD), 0), asked=USDC),
     "payee_differs"),
    ("amount", payment(APPROVAL, (FEE_PROXY, data("c219a14d", TOKEN, PAYEE, 10**7 + 1, REFERENCE, 0, DEAD), 0),
     asked=USDC), "amount_differs"),
    ("token", payment(APPROVAL, (FEE_PROXY, data("c219a14d", "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C", PAYEE, 10**7,
     REFERENCE, 0, DEAD), 0), asked=USDC), "token_differs"),
    ("unlisted token", payment((FEE_PROXY, data("c219a14d", OTHER, PAYEE, 10**7, REFERENCE, 0, DEAD), 0), asked=USDC),
     "token_unknown"),
    ("spender", payment((TOKEN, data("095ea7b3", OTHER, 10**7), 0), TOKEN_PAYMENT, asked=USDC), "spender_differs"),
    ("contract", payment(APPROVAL, (OTHER, TOKEN_PAYMENT[1], 0), asked=USDC), "contract_unknown"),
    ("contract of another network", payment((MATIC_PROXY, TOKEN_PAYMENT[1], 0), asked=USDC), "contract_unknown"),
    ("network", payment(APPROVAL, TOKEN_PAYMENT, asked=order("USDCn-matic")), "contract_unknown"),
    ("coin", GOOD["coin"].model_copy(), "network_differs"),
    ("burned", payment((ETH_FEE_PROXY, data("b868980b", DEAD, REFERENCE, 0, DEAD), WEI), asked=ETH),
     "recipient_burned"),
    ("reference", payment((ETH_FEE_PROXY, data("b868980b", PAYEE, b"87654321", 0, DEAD), WEI), asked=ETH),
     "reference_differs"),
    ("value with tokens", payment((FEE_PROXY, TOKEN_PAYMENT[1], 1), asked=USDC), "value_not_payable"),
    ("a second payment", payment(TOKEN_PAYMENT, TOKEN_PAYMENT, asked=USDC), "several_payments"),
    ("only an approval", payment(APPROVAL, asked=USDC), "no_payment"),
    ("nothing", payment(asked=USDC), "no_payment"),
    ("an unknown call beside it", payment(TOKEN_PAYMENT, (OTHER, "0xdeadbeef", 0), asked=USDC), "unreadable_data"),
    ("more allowed to somebody", payment((TOKEN, data("39509351", OTHER, 5), 0), TOKEN_PAYMENT, asked=USDC),
     "other_function"),
    ("a malformed address", payment(("0x39", TOKEN_PAYMENT[1], 0), asked=USDC), "address_malformed"),
    ("less value than paid", payment((ETH_FEE_PROXY, data("d7c95e98", PAYEE, WEI, REFERENCE, 0, DEAD), WEI - 1),
     asked=ETH), "value_small"),
    ("nothing is paid", payment((ETH_FEE_PROXY, data("b868980b", PAYEE, REFERENCE, 0, DEAD), 0), asked=ETH),
     "amount_zero"),
    ("fee above value", payment((ETH_FEE_PROXY, data("b868980b", PAYEE, REFERENCE, WEI + 1, DEAD), WEI), asked=ETH),
     "amount_unknown"),
]  # fmt: skip


BATCH = "0x3cF63891928B8CeebB81C95426600a18cd59C03f"  # BatchConversionPayments on mainnet
MAIN_PROXY = "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C"
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


def extra(**members: Any) -> Payment:
    """Return a good payment whose transaction has more fields."""
    answer = GOOD["enough allowance"].to_dict(reveal=True)
    answer["transactions"][0] |= members
    return Payment.read(answer, order=USDC)


MANY = [(PAYEE, 10**7, [TOKEN], REFERENCE, 0, 0, 0)] * 300

SWAPPED += [
    ("value that a batch does not pay", payment((BATCH, data("92cddb91", [(2, [detail(MAIN_USDC)])], [], DEAD), 10**20),
     asked=MAIN), "value_unexplained"),
    ("an empty batch with value", payment((BATCH, data("92cddb91", [], [], DEAD), 10**20), MAIN_PAYMENT, asked=MAIN),
     "empty_batch"),
    ("a batch of another token", payment((BATCH, data("9af8a581", [detail(MAIN_WBTC, MAIN_USDC)], [], DEAD), 0),
     asked=MAIN), "token_differs"),
    ("a batch of an unknown kind", payment((BATCH, data("92cddb91", [(7, [detail(MAIN_USDC)])], [], DEAD), 0),
     asked=MAIN), "would_fail"),
    ("a recurring payment", payment((OTHER, data("ac7a9e00", (OTHER, TOKEN, PAYEE, DEAD, 10**7, 0, 10**12, 1, 0, 255, 0,
     MAX, False), b"", 1, REFERENCE), 0), asked=USDC), "other_function"),
    ("somebody's tokens", payment((TOKEN, data("23b872dd", OTHER, PAYEE, 10**7), 0), asked=USDC), "other_function"),
    ("a swap", payment((OTHER, data("5f2993bf", OTHER, PAYEE, 10**7, MAX, [OTHER, TOKEN], REFERENCE, 0, DEAD, MAX), 0),
     asked=USDC), "other_way"),
    ("another chain", extra(chainId=1), "chain_differs"),
    ("other input", extra(input="0xdeadbeef"), "input_differs"),
    ("a value in two forms", extra(value={"type": "BigNumber", "hex": "0x00", "_hex": "0x01"}), "value_unreadable"),
    ("an empty reference", payment((FEE_PROXY, data("c219a14d", TOKEN, PAYEE, 10**7, b"", 0, DEAD), 0), asked=USDC,
     paymentReference="0x"), "reference_malformed"),
    ("as many payments as take seconds to check", payment(*[(BATCH, data("92cddb91", [(2, MANY)], [], DEAD), 0)] * 4,
     asked=USDC),
     "too_many"),
    ("fifty-one transactions", payment(*[APPROVAL] * 50, TOKEN_PAYMENT, asked=USDC), "too_many"),
    ("conversion from another currency", payment(converted(10**9, HASHES[1], HASHES[1]),
     asked=order("ETH-sepolia-sepolia", "USD")), "amount_differs"),
    ("another amount to convert", payment(converted(10**9 + 1, *HASHES), asked=order("ETH-sepolia-sepolia", "USD")),
     "amount_differs"),
    ("an unknown payment currency", payment(TOKEN_PAYMENT, asked=order("NONE")), "currency_unknown"),
    ("tron", payment(TOKEN_PAYMENT, asked=order("USDT-tron")), "network_unsupported"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "code"), [row[1:] for row in SWAPPED], ids=[row[0] for row in SWAPPED])
def test_what_contradicts_the_order_is_stopped(changed: Payment, code: str) -> None:
    """A mismatch of payee, amount, token, network, spender, contract or reference stops the payment and is named."""
    network = "matic" if code == "network_differs" else None
    found = check_payment(changed, network=network)

    assert ("stop", True) == (found.verdict, code in codes(found, "error"))


HARMLESS = [
    ("unlimited", payment((TOKEN, data("095ea7b3", FEE_PROXY, MAX), 0), TOKEN_PAYMENT, asked=USDC),
     "allowance_unlimited"),
    ("trailing bytes", payment((FEE_PROXY, TOKEN_PAYMENT[1] + "00", 0), asked=USDC), "not_canonical"),
    ("letters of an address", payment((FEE_PROXY.replace("bfE", "bFe"), TOKEN_PAYMENT[1], 0), asked=USDC),
     "address_checksum"),
    ("no order", payment(TOKEN_PAYMENT, asked=None), "no_order"),
    ("wrong count", payment(TOKEN_PAYMENT, asked=USDC, metadata={"stepsRequired": 2}), "metadata_differs"),
    ("wrong place", payment(TOKEN_PAYMENT, asked=USDC, metadata={"paymentTransactionIndex": 1}), "metadata_differs"),
    ("short wallet", payment(TOKEN_PAYMENT, asked=USDC, metadata={"hasEnoughGas": False}), "wallet_short"),
    ("another currency", payment(TOKEN_PAYMENT, asked=order("fUSDC-sepolia", "USD")), "amount_unchecked"),
    ("value comes back", payment((ETH_FEE_PROXY, data("d7c95e98", PAYEE, WEI, REFERENCE, 0, DEAD), WEI + 1), asked=ETH),
     "value_large"),
    ("plain transfer", payment((PAYEE, "0x" + REFERENCE.hex(), WEI), asked=ETH), "plain_transfer"),
]  # fmt: skip


HARMLESS += [
    ("a batch of one", payment((BATCH, data("9af8a581", [detail(MAIN_USDC)], [], DEAD), 0), asked=MAIN), "batch"),
    ("no 0x", payment((FEE_PROXY, TOKEN_PAYMENT[1][2:], 0), asked=USDC), "data_prefix"),
    ("a gas price", extra(gasPrice="0x1"), "member_unknown"),
    ("the right chain and a gas limit", extra(chainId=11155111, gas="0x1"), "member_unknown"),
    ("no value", Payment.read({**GOOD["enough allowance"].to_dict(reveal=True), "transactions": [
        {"to": FEE_PROXY, "data": TOKEN_PAYMENT[1]}]}, order=USDC), "value_absent"),
    ("converted when it is executed", payment(converted(10**9, *HASHES), asked=order("ETH-sepolia-sepolia", "USD")),
     "max_to_spend"),
    ("a fee for the zero address", payment((FEE_PROXY, data("c219a14d", TOKEN, PAYEE, 10**7, REFERENCE, 5,
     "0x" + "0" * 40), 0), asked=USDC), "fee"),
    ("an unknown invoice currency", payment(TOKEN_PAYMENT, asked=order("fUSDC-sepolia", "NONE")), "amount_unchecked"),
    ("no reference in the response", payment(TOKEN_PAYMENT, asked=USDC, paymentReference=None), "reference_unchecked"),
]  # fmt: skip


@pytest.mark.parametrize(("unusual", "code"), [row[1:] for row in HARMLESS], ids=[row[0] for row in HARMLESS])
def test_what_is_only_unusual_is_a_warning(unusual: Payment, code: str) -> None:
    """A finding that does no harm, or cannot be checked offline, is a warning and no reason to stop."""
    found = check_payment(unusual)

    assert ("look", True) == (found.verdict, code in codes(found, "warning"))


PAYABLE = [
    currency
    for currency in token_list().values()
    if (contract := {"erc20": "ERC20FeeProxy", "native": "EthereumFeeProxy"}.get(currency.kind))
    if find_deployment(contract, currency.network)
]
"""Every coin and token that the sandbox can pay with."""
ONE_OF_EACH = {(currency.kind, currency.network, currency.decimals): currency for currency in PAYABLE}
"""One of each kind, network and number of decimals, on which a payment depends."""


@pytest.mark.filterwarnings("ignore::payerkit.errors.RealMoneyWarning")  # most of these networks are no test networks
@pytest.mark.parametrize(
    "currencies", [list(ONE_OF_EACH.values()), pytest.param(PAYABLE, marks=pytest.mark.slow)], ids=["of each", "all"]
)
def test_all_payments_of_the_sandbox_are_ok(shared: SandboxClient, currencies: list[Currency]) -> None:
    """A payment in the currency of the invoice itself has nothing to look at."""
    orders = [order(currency.id, amount="3") for currency in currencies]

    assert [] == [
        each.payment_currency
        for each in orders
        if check_payment(payerkit.initiate_payment(shared, each)).verdict != "ok"
    ]


@pytest.mark.filterwarnings("ignore::payerkit.errors.RealMoneyWarning")  # of the two on Polygon
@pytest.mark.parametrize(
    "currency", ["fUSDC-sepolia", "ETH-sepolia-sepolia", "USDCn-matic", "MATIC-matic", "FAU-sepolia"]
)
@pytest.mark.parametrize("invoice", ["USD", "EUR", "JPY"])
def test_payments_for_fiat_money_are_ok_by_the_published_rate(
    shared: SandboxClient, currency: str, invoice: str
) -> None:
    """With the rate that the sandbox publishes, its own conversion is right to the last unit."""
    rates = shared.sandbox
    paid = payerkit.initiate_payment(shared, order(currency, invoice, "1234.5" if invoice != "JPY" else "1234"))
    rate = rates.rate(currency) / rates.rate(invoice)

    assert "ok" == check_payment(paid, rate=rate).verdict


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.startswith("pay_")])
def test_published_responses_are_checked(name: str) -> None:
    """Elided calldata and addresses of 39 digits are errors; the one complete response is decoded."""
    read = Payment.read(ANSWERS[name])
    found, frame = check_payment(read), decode_transactions(read)

    assert len(read.transactions) == len(frame)
    assert found.verdict == ("look" if name == "pay_complete" else "stop")


@given(
    st.lists(
        st.fixed_dictionaries(
            {}, optional={name: st.none() | st.text(max_size=20) | st.integers() for name in ("to", "data", "value")}
        ),
        max_size=3,
    )
)
def test_no_answer_makes_a_check_fail(transactions: list[dict[str, Any]]) -> None:
    """Any response can be checked and shown, and an invalid one is never ok."""
    read = Payment.read({"transactions": transactions}, order=USDC)
    found = check_payment(read)

    assert found.verdict == "stop"
    assert (True, len(found)) == (bool(str(found) + found._repr_html_()), len(found.to_frame()))
    assert len(decode_transactions(read)) >= len(transactions)


def test_an_order_may_be_a_dict() -> None:
    """A saved payment can be compared with an order as a dict, with Python or wire names."""
    plain = Payment.read(GOOD["token"].to_dict(reveal=True))
    wire = USDC.to_dict(reveal=True)

    assert ("look", "ok") == (check_payment(plain).verdict, check_payment(plain, wire).verdict)
    with pytest.raises(InvalidInput, match="order: amount is missing"):
        check_payment(plain, {"payee": PAYEE})


@pytest.mark.parametrize("wrong", [None, 5, {"transactions": []}, "0x"])
def test_anything_but_a_payment_is_refused(wrong: Any) -> None:
    """Only a payment has transactions to check."""
    with pytest.raises(InvalidInput, match="Give a Payment"):
        check_payment(wrong)


@pytest.mark.parametrize("look", [check_payment, decode_transactions])
def test_an_unknown_network_is_refused(look: Any) -> None:
    """A network must be one of networks.tsv, by its name there."""
    with pytest.raises(InvalidInput, match="network: 'polygon' is not known"):
        look(GOOD["coin"], network="polygon")


def test_decoded_transactions_have_exact_amounts() -> None:
    """Amounts are Decimal in units and int in base units; none passes through a float, and 2^256-1 survives."""
    call = data("c219a14d", TOKEN, PAYEE, MAX, REFERENCE, MAX - 1, OTHER)
    frame = decode_transactions(payment((FEE_PROXY, call, 0), asked=USDC))
    (row,) = frame.to_dict("records")

    assert list(TRANSACTION_COLUMNS) == list(frame.columns)
    exact = Decimal(f"{MAX // 10**6}.{MAX % 10**6:06}")
    assert (MAX, MAX - 1, exact) == (row["amount_base"], row["fee_base"], row["amount"])
    assert ("ERC20FeeProxy 0.2.0", "fUSDC-sepolia", "0x" + REFERENCE.hex()) == (
        row["contract"],
        row["token"],
        row["reference"],
    )


def test_batches_are_a_row_a_payment() -> None:
    """A batch is as many rows as it pays, with their place; the step stays the same."""
    call = data("fa733142", [TOKEN, TOKEN], [PAYEE, OTHER], [1, 2], [REFERENCE, REFERENCE], [0, 0], DEAD)
    frame = decode_transactions(payment((FEE_PROXY, call, 0), asked=USDC))

    assert [(0, 0), (0, 1)] == list(zip(frame["step"], frame["place"], strict=True))


def test_without_a_network_what_is_the_same_everywhere_is_said() -> None:
    """An address that is a proxy here and a token there is neither, until the network is known."""
    fau = "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C"
    read = payment((fau, TOKEN_PAYMENT[1], 0), (FEE_PROXY, TOKEN_PAYMENT[1], 0), asked=None)
    on = {name: list(decode_transactions(read, network=name)["contract"]) for name in ("sepolia", "mainnet")}

    assert pd.isna(decode_transactions(read)["contract"][0])
    assert "ERC20FeeProxy" == decode_transactions(read)["contract"][1]
    assert ("token FAU-sepolia", "ERC20FeeProxy 0.2.0") == (on["sepolia"][0], on["mainnet"][0])


def test_findings_name_their_transaction() -> None:
    """The verdict comes first, then findings about the whole payment, then by transaction, counted from 1."""
    found = check_payment(GOOD["token"])

    assert [None, 0, 1] == list(dict.fromkeys(finding.step for finding in found))
    assert str(found).startswith("OK: ")
    assert "transaction 2" in str(found)
    assert "OK: " in found._repr_html_()


def test_the_client_keeps_the_order(shared: Client) -> None:
    """A payment from initiate_payment remembers its order."""
    paid = payerkit.initiate_payment(shared, order("fUSDC-sepolia"))

    assert "ok" == payerkit.check_payment(paid).verdict
    assert "stop" == payerkit.check_payment(paid, order("fUSDT-sepolia")).verdict
    assert [None, 10_000_000] == list(payerkit.decode_transactions(paid)["amount_base"])


@pytest.mark.parametrize("to", ["\ud800", "0x1\nOK: all is well\x1b[8m", "\u202e0x"])
def test_addresses_that_steer_a_terminal_are_written_out(to: str) -> None:
    """Text from a response cannot forge a line or hide text."""
    read = Payment.read({"transactions": [{"to": to, "data": "0x", "value": "0"}]}, order=USDC)
    shown = str(decode_transactions(read)["to"][0]) + str(check_payment(read))

    assert to not in shown
    assert "\x1b" not in shown


UNDERSTOOD = {"095ea7b3", "c219a14d", "0784bca3", "b868980b", "d7c95e98", "eb7d8df3"}
"""Functions that can be part of an ok payment; any other causes a warning or an error."""


def filled(kind: AbiType, name: str = "") -> Any:
    """Return a value as an order would have it: its payee, its token, its amount, its reference."""
    if kind.kind == "tuple":
        return tuple(filled(part, part.name) for part in kind.parts)
    if kind.kind == "array":
        return [filled(kind.parts[0], name)]
    if kind.kind == "address":
        return {"recipient": PAYEE, "fee_recipient": DEAD, "spender": FEE_PROXY}.get(name, TOKEN)
    if kind.kind == "uint256":
        return {"amount": 10**7, "kind": 1}.get(name, 0)
    if kind.kind == "bytes":
        return REFERENCE if name == "reference" else b""
    return sample(kind)


@pytest.mark.parametrize("selector", sorted(each.hex() for each in functions()))
@pytest.mark.parametrize("value", [0, 10**7])
def test_no_other_function_is_ok(selector: str, value: int) -> None:
    """A call of another function is never ok, alone or beside a good payment."""
    function = functions()[bytes.fromhex(selector)]
    call = data(selector, *filled(function.arguments))
    places = {find_deployment(name, "sepolia") for name in function.contracts} - {None}
    for to in {TOKEN, *(place.address for place in places if place)}:
        alone = payment((to, call, value), asked=USDC)
        beside = payment((to, call, value), APPROVAL, TOKEN_PAYMENT, asked=USDC)
        if selector not in UNDERSTOOD:
            assert "ok" not in {check_payment(alone).verdict, check_payment(beside).verdict}
        elif selector != "095ea7b3":
            assert check_payment(beside).verdict == "stop"  # a second payment


MESSAGES = list(rows("payerkit.review", "review"))


@pytest.mark.parametrize("row", MESSAGES, ids=lambda row: str(row["key"]))
def test_every_message_is_used_and_tells_what_to_do(row: dict[str, str]) -> None:
    """An error or a warning has a hint, and no message is left over."""
    source = "".join(path.read_text("utf-8") for path in Path(payerkit.review.__file__).parent.glob("*.py"))

    assert f'"{row["key"]}"' in source
    assert (row["severity"] == "info") or row["hint"]


def test_what_could_not_be_checked_is_never_an_error() -> None:
    """An error stops the payment; what could not be checked leaves that to a person."""
    unchecked = [row for row in MESSAGES if row["unchecked"] == "yes"]

    assert unchecked
    assert "error" not in {row["severity"] for row in unchecked}
    assert [True] == [each.unchecked for each in check_payment(payment(asked=None)) if each.code == "no_order"]
