"""What payerkit says about a call is what the contracts do, executed on their bytecode
in a local EVM.

No test here can know the state of the deployed contracts: rates, balances, allowances
and the fee of a batch contract are set up so that nothing fails for them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from local_chain import LARGEST, PAYER, PRICES, ROUTER, Chain, Outcome
from payerkit import PaymentPolicy, check_payment
from payerkit.findings import PaymentFindings
from payerkit.models import Payment
from payerkit.payments import AgreedFee
from payerkit.payments.onchain.calldata import (
    NATIVE,
    Effect,
    EffectKind,
    Function,
    effects_of,
    functions,
)
from payerkit.payments.onchain.currencies import (
    Currency,
    find_by_hash,
    find_currency,
    find_deployment,
    request_decimals,
)
from random_calls import FAR, FEE_WALLETS, NOBODY, PAYEES, ZERO, CallMaker, RandomCall

APPROVE = "approve(address,uint256)"
Moved = Counter[tuple[str, str]]
"""By how much balances change, by token and account."""

NOT_IN_PACKAGE = "the package has no bytecode of the contract"
WITHOUT_BYTECODE = {
    "permit": "the package's test tokens do not have it",
    "triggerRecurringPayment": NOT_IN_PACKAGE,
    "authorizePayment": NOT_IN_PACKAGE,
    "authorizeCommercePayment": NOT_IN_PACKAGE,
    "capturePayment": NOT_IN_PACKAGE,
    "chargePayment": NOT_IN_PACKAGE,
    "voidPayment": NOT_IN_PACKAGE,
    "reclaimPayment": NOT_IN_PACKAGE,
    "refundPayment": NOT_IN_PACKAGE,
    "8d09fe2b": "the package has a newer ERC20SwapToPay",
    "b2964b11": "the package has a newer Erc20SwapConversion",
}
"""The functions that cannot be executed, by name or selector, with the reason."""

LISTED = [
    each
    for each in functions().values()
    if {each.name, each.selector.hex()} & {*WITHOUT_BYTECODE}
]
EXECUTED = [each for each in functions().values() if each not in LISTED]

MOVING = {
    EffectKind.TRANSFER,
    EffectKind.TRANSFER_FROM,
    EffectKind.SWAP,
    EffectKind.ESCROW,
    EffectKind.PAY_RECEIVABLE,
}

EXPLAINING = """
other_function other_way would_fail kept_back value_small value_not_payable
amount_unknown empty_batch token_unknown recipient_burned recipient_contract
max_to_spend
"""
"""Codes that tell why a call would be reverted, or why it is refused whatever it does;
of a maximum, that it is below what the conversion costs.
"""

INVISIBLE = {
    "No aggregator found": "which rates there are",
    "not enough funds for batch fee": "the fee of the batch contract",
    "not enough funds for batch conversion fees": "the same",
}
"""Reasons of contracts for what no calldata tells, in lower case."""


class MainChain(Chain):
    """The main network, with a receivable, and with a contract for one payment that
    holds something.
    """

    batch_fee = 0
    """Of the batch contracts, in thousandths."""

    def __init__(self) -> None:
        super().__init__("mainnet", "DAI-mainnet", "USDT-mainnet", "REQ-mainnet")
        standard = [token for token in self.tokens if self.is_standard(token)]
        self.receivable = standard[0], PAYEES[0]
        mint = "mint(address,bytes,uint256,address)"
        self.run(
            self.contracts["ERC20TransferableReceivable"],
            mint,
            PAYEES[0],
            b"12345678",
            1,
            standard[0],
        )
        create = "createERC20SingleRequestProxy(address,address,bytes,address,uint256)"
        arguments = PAYEES[0], standard[0], b"12345678", FEE_WALLETS[0], 5
        made = self.run(self.contracts["SingleRequestProxyFactory"], create, *arguments)
        self.single = f"0x{made[-20:].hex()}"
        self.give_coins(self.single, 7)
        for token in self.tokens:
            self.give(token, self.single, 1005)
        for token, spender in product(standard, (NOBODY, PAYER)):
            self.run(token, APPROVE, spender, FAR, sender=PAYER)
        accounts = {
            PAYER,
            ROUTER,
            ZERO,
            NOBODY,
            self.single,
            *PAYEES,
            *FEE_WALLETS,
            *self.tokens,
        }
        self.watched = frozenset({*accounts, *self.contracts.values()})

    @contextmanager
    def with_batches(self, *, fee: int, stock: int) -> Iterator[CallMaker]:
        """Let the batch contracts take a fee, in thousandths, and hold something of
        each token.
        """
        with self.undone():
            batches = (
                self.contracts["BatchConversionPayments"],
                self.contracts["BatchPayments"],
            )
            self.run(batches[0], "setBatchFee(uint16)", fee * 10)
            self.run(batches[1], "setBatchFee(uint256)", fee)
            for token, batch in product(self.tokens if stock else (), batches):
                self.give(token, batch, stock)
                self.run(
                    token,
                    APPROVE,
                    self.contracts["ERC20FeeProxy"],
                    LARGEST,
                    sender=batch,
                )
            self.batch_fee, self.before = fee, self.balances(self.watched)
            single = dict.fromkeys(
                ("ERC20SingleRequestProxy", "EthereumSingleRequestProxy"), self.single
            )
            largest = (
                FAR if fee or stock else LARGEST
            )  # so that what is added to it does not overflow
            yield CallMaker(
                self,
                random.Random(0),  # noqa: S311 - no secret
                surplus=fee,
                largest=largest,
                addresses=single,
            )

    def execute(self, call: RandomCall) -> tuple[Outcome, Moved]:
        """Return what came of a call, and what it moved; then undo it."""
        with self.undone():
            outcome = self.call(call.to, call.data, call.value)
            after = self.balances(self.watched)
        return outcome, Moved(
            {place: now - self.before[place] for place, now in after.items()}
        )


@pytest.fixture(scope="module")
def chain() -> MainChain:
    """Return one chain for all tests, which undo what they do."""
    return MainChain()


def currency_at(chain: Chain, address: str | None) -> Currency | None:
    """Return the currency that an address or hash in a call stands for."""
    if address in {NATIVE, chain.coin}:
        return find_currency("ETH-mainnet")
    return chain.tokens.get(str(address)) or find_by_hash(str(address))


def order_of(chain: Chain, effect: Effect) -> dict[str, Any] | None:
    """Return the order that a payment fulfils, as its effect tells; None if it does not
    tell enough.
    """
    token = currency_at(chain, effect.token)
    invoice = (
        currency_at(chain, effect.path[0])
        if effect.unit == "request" and effect.path
        else token
    )
    if token is None or invoice is None or effect.amount is None:
        return None
    decimals = request_decimals(invoice) if effect.unit == "request" else token.decimals
    return {
        "payee": effect.recipient,
        "amount": f"{Decimal(effect.amount).scaleb(-decimals):f}",
        "invoice_currency": invoice.id,
        "payment_currency": token.id,
        "payment_reference": (
            None if effect.reference is None else f"0x{effect.reference.hex()}"
        ),
    }


POLICY = PaymentPolicy(
    fees=[AgreedFee(address=wallet, max_percent=Decimal(5)) for wallet in FEE_WALLETS],
    batch_fee=Decimal(1),
    rates={
        (f"{token}-mainnet", fiat): Decimal(price) / Decimal(dollars)
        for token, price in PRICES.items()
        for fiat, dollars in (("USD", "1"), ("EUR", "1.25"))
    },
    rate_tolerance=Decimal(20),
)
"""Agrees to what honest calls have."""

OTHERWISE = {
    "payee": PAYEES[0],
    "amount": "1",
    "invoice_currency": "DAI-mainnet",
    "payment_currency": "DAI-mainnet",
}
"""The order of a call that pays nobody."""


def judged(
    chain: Chain, call: RandomCall, effects: Iterable[Effect]
) -> PaymentFindings:
    """Return the findings about a call, for orders of exactly what its effects say."""
    answer = {
        "transactions": [
            {"to": call.to, "data": f"0x{call.data.hex()}", "value": str(call.value)}
        ]
    }
    orders = [
        order
        for effect in effects
        if effect.is_payment and (order := order_of(chain, effect))
    ]
    if any(order["payee"] is None for order in orders):
        # A table of which some lines have no payee is refused.
        orders = [{**order, "payee": None} for order in orders]
    return check_payment(
        Payment.read(answer),
        orders=orders or [OTHERWISE],
        policy=POLICY,
        network="mainnet",
    )


def told(chain: MainChain, call: RandomCall, effects: Iterable[Effect]) -> Moved:
    """Return what effects say that a call moves; without the fee of a batch contract,
    which no calldata has.
    """
    moved = Moved()
    for effect in effects:
        if effect.kind in MOVING:
            moved.update(_told(chain, call, effect))
    return moved


def _told(chain: MainChain, call: RandomCall, effect: Effect) -> Moved:
    token, recipient = (
        NATIVE if effect.is_native else str(effect.token),
        str(effect.recipient),
    )
    amount, fee = effect.amount or 0, effect.fee or 0
    if effect.unit == "request":
        amount, fee = (
            chain.converted(each, effect.path) or 0 for each in (amount, fee)
        )
    if effect.fee_recipient == ZERO and token != NATIVE:
        fee = 0
    if effect.kind == EffectKind.PAY_RECEIVABLE:
        token, recipient = chain.receivable
    elif effect.kind == EffectKind.ESCROW:
        recipient = call.to
    moved = Moved({(token, recipient): amount})
    moved[token, str(effect.fee_recipient)] += fee
    moved[token, PAYER] -= amount + fee
    if effect.kind == EffectKind.SWAP:  # the router takes two tokens for one
        spent = (call.values.get("swap_path") or call.values["path"])[0]
        moved.update({(token, PAYER): amount + fee, (token, ROUTER): -amount - fee})
        moved.update(
            {(spent, PAYER): -2 * (amount + fee), (spent, ROUTER): 2 * (amount + fee)}
        )
    return moved


def without_batch_fee(
    chain: MainChain, call: RandomCall, moved: Moved, expected: Moved
) -> Moved:
    """Return what was moved without what a batch contract takes for itself, up to its
    share of what was paid.
    """
    found = Moved(moved)
    for token in {token for token, _ in moved}:
        place = token, str(call.values.get("fee_recipient"))
        taken = moved[place] - expected[place]
        if (
            call.function.is_batch
            and 0 < taken <= -expected[token, PAYER] * chain.batch_fee // 1000
        ):
            found[place] -= taken
            found[token, PAYER] += taken
    return found


def contradiction(chain: MainChain, call: RandomCall) -> tuple[bool, str]:
    """Return whether a call succeeds, and what of it payerkit tells otherwise; "" for
    nothing.
    """
    effects = effects_of(call.decoded, to=call.to, value=call.value)
    found, (outcome, moved) = judged(chain, call, effects), chain.execute(call)
    codes = {each.code for each in found if each.severity != "info"}
    if not outcome.succeeded:
        is_told = codes & {*EXPLAINING.split()} or outcome.reason.lower() in INVISIBLE
        return (
            False,
            "" if is_told else f"{found.verdict}, but reverted: {outcome.reason}",
        )
    if "would_fail" in codes:
        is_odd = (
            call.values.get("fee_recipient") == ZERO or "amount_zero" in codes
        )  # some tokens allow the former
        return True, "" if is_odd else "would not fail"
    if codes & {"kept_back", "token_unknown", "value_unexplained"}:
        return True, "" if found.verdict == "stop" else "not stopped"
    expected = told(chain, call, effects)
    rest = without_batch_fee(chain, call, moved, expected)
    rest.subtract(expected)
    is_own = effects and effects[0].kind in {
        EffectKind.TRIGGER_PROXY,
        EffectKind.RESCUE,
    }  # it moves what it holds
    rest = Moved(
        {
            place: change
            for place, change in rest.items()
            if change and (not is_own or PAYER in place)
        }
    )
    return True, f"{found.verdict}, but this is not told: {dict(rest)}" if rest else ""


COUNTS = [
    pytest.param(1, id="some"),
    pytest.param(15, marks=pytest.mark.slow, id="many"),
    pytest.param(450, marks=pytest.mark.soak, id="very many"),
]
"""How many calls of each function."""


def contradictions(
    chain: MainChain, maker: CallMaker, functions: Iterable[Function], count: int
) -> Iterator[str]:
    """Yield what is told otherwise about random calls, the same each time, and which
    function never succeeds.
    """
    for function in functions:
        has_succeeded = False
        for number in range(count):
            maker.chance.seed(f"{function.signature} {number}")
            call = maker.make(function)
            succeeds, problem = contradiction(chain, call)
            has_succeeded |= succeeds
            if problem:
                yield f"{function.name} {number}: {problem}"
        if count > 1 and not has_succeeded:
            yield f"{function.name}: never succeeds"


@pytest.mark.parametrize("count", COUNTS)
def test_calls_do_what_their_effects_say(chain: MainChain, count: int) -> None:
    """What is moved is what is told: to payees, to fee wallets and from the payer, and
    nothing stays in a contract.

    A call that is reverted has a finding that says why, and one that would fail, as a
    finding says, is reverted.
    """
    with chain.with_batches(fee=0, stock=0) as maker:
        assert [] == [*contradictions(chain, maker, EXECUTED, count)]


@pytest.mark.parametrize("count", COUNTS)
def test_batches_take_no_more_than_their_fee(chain: MainChain, count: int) -> None:
    """What a batch contract takes for itself goes to the wallet for fees, and nothing
    else differs.
    """
    with chain.with_batches(fee=3, stock=0) as maker:
        assert [] == [
            *contradictions(
                chain, maker, [each for each in EXECUTED if each.is_batch], count
            )
        ]


@pytest.mark.parametrize("count", COUNTS)
def test_batches_pay_with_what_they_take(chain: MainChain, count: int) -> None:
    """A contract that already holds tokens, such as an attacker's, may pay with them,
    and keep what it takes.
    """
    with chain.with_batches(fee=0, stock=2**200) as maker:
        names = {
            "batchERC20Payments",
            "batchMultiERC20Payments",
            "batchERC20PaymentsMultiTokensWithReference",
        }

        assert [] == [
            *contradictions(
                chain, maker, [each for each in EXECUTED if each.name in names], count
            )
        ]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("function", LISTED, ids=lambda function: str(function.name))
def test_what_cannot_be_executed_is_never_ok(
    chain: MainChain, function: Function, count: int
) -> None:
    """Nobody can show here what these functions do."""
    at = {
        name: deployed.address
        for name in function.contracts
        if (deployed := find_deployment(name, "sepolia"))
    }
    maker = CallMaker(
        chain,
        random.Random(  # noqa: S311 - no secret
            function.signature
        ),
        addresses=at,
    )
    calls = [maker.make(function) for _ in range(count)]

    assert {"stop"} == {
        judged(chain, call, effects_of(call.decoded, to=call.to, value=0)).verdict
        for call in calls
    }


def test_the_list_names_only_functions_that_there_are() -> None:
    """Every other function is executed above."""
    assert {*WITHOUT_BYTECODE} <= {
        name for each in LISTED for name in (each.name, each.selector.hex())
    }


@pytest.mark.parametrize("selector", ["92cddb91", "9af8a581"])
def test_a_batch_of_one_token_can_be_robbed(chain: MainChain, selector: str) -> None:
    """The contract takes what is due of one token, and pays it in another, which an
    attacker gave it before.
    """
    payee, (token, other, *_) = PAYEES[0], [*chain.tokens]
    details = [
        (NOBODY, 0, [token], b"12345678", 0, 0, 0),
        (payee, 10**7, [other], b"12345678", 0, 0, 0),
    ]
    arguments = [
        details if selector == "9af8a581" else [(1, details)],
        [],
        FEE_WALLETS[0],
    ]
    call = RandomCall.of(
        selector, chain.contracts["BatchConversionPayments"], *arguments
    )
    effects = effects_of(call.decoded, to=call.to, value=0)
    with chain.with_batches(fee=0, stock=10**7):
        _, moved = chain.execute(call)

    assert (10**7, 10**7, 0) == (
        moved[token, call.to],
        moved[other, payee],
        moved[token, payee],
    )
    assert ["", "It would take"] == [effect.kept_reason[:13] for effect in effects]
    assert "stop" == judged(chain, call, effects).verdict
