"""Execute a payment on a node before anyone signs it, and compare balances with what is
due.

A token's logs are its own word. So balances are read before and after, in the same
simulation, in the token of the order. Who runs the node can lie, too, so the findings
name its host and the block.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from typing import Any

from payerkit.client.node import Node, NodeError, Question
from payerkit.errors import InvalidInput
from payerkit.findings import Finding, payment_finding
from payerkit.payments.against import Against
from payerkit.payments.amount import check_amount
from payerkit.payments.charges import HIGH_FEE
from payerkit.payments.effects import Effects
from payerkit.payments.onchain.addresses import address_problem, with_checksum
from payerkit.payments.onchain.amounts import format_amount, share_of
from payerkit.payments.onchain.calldata import NATIVE, Effect, EffectKind
from payerkit.payments.onchain.currencies import networks
from payerkit.payments.transactions import DecodedTransaction
from payerkit.wording import listed, visible

OLDEST_BLOCK = 600
"""Seconds after which the newest block of a node is too old to speak of now."""

_READER = f"0x{'7061796b6974':0>40}"
"""An unused address. In the simulation, it has code that returns the coins of the
address that it is called with.
"""

_READER_CODE = "0x6000353160005260206000f3"
"""BALANCE of the first word of the calldata, returned as a word."""

_COINS = 10**30
"""Wei that the wallet has in the simulation, so that it does not end for want of
them.
"""

Place = tuple[str, str]
"""A token or `NATIVE`, and the account whose balance is read."""


Dues = Mapping[Place, list[Effect]]
"""The payments that should arrive, by where they should, as their orders have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Simulation:
    """The result of transactions that a node executes without sending them.

    held: what the wallet has of each token before. gains: by how much balances are
    higher afterwards. failed: the first transaction that is reverted, if one is;
    reason: why.
    """

    chain: int
    block: int
    time: int
    held: Mapping[str, int]
    gains: Mapping[Place, int]
    failed: DecodedTransaction | None
    reason: str


def check_execution(
    effects: Effects, against: Against, node: Node | str
) -> Iterator[Finding]:
    """Yield what a node says about a payment. Nothing is sent to the network.

    Raises InvalidInput for an address that is not one of a node, or a wallet.
    """
    if against.wallet is not None and address_problem(against.wallet):
        raise InvalidInput(
            "wallet: give the address of the wallet that signs, 0x and 40 hex digits."
        )
    asked = Node(node) if isinstance(node, str) else node
    if not against.signer:
        yield payment_finding("not_executed", node=asked.name)
        return
    wallet = against.signer.lower()
    dues = _find_dues(effects, against)
    tokens = {NATIVE, *(token for token, _ in dues)}
    tokens |= {_token_of(effect, against) for effect in effects.paying}
    accounts = {wallet, *(account for _, account in dues)}
    places = sorted(product(tokens, accounts))
    try:
        simulation = _simulate(asked, effects.transactions, wallet, places)
    except NodeError as error:
        yield payment_finding("node_failed", node=asked.name, reason=str(error))
        return
    network = networks().get(against.network or "")
    if network is None or simulation.chain != network.chain_id:
        yield payment_finding(
            "node_chain",
            node=asked.name,
            chain=simulation.chain,
            network=network or "not known",
        )
        return
    age = int(against.now.timestamp()) - simulation.time
    if age > OLDEST_BLOCK:
        yield payment_finding(
            "node_old", node=asked.name, block=simulation.block, minutes=age // 60
        )
    comparison = _Comparison(effects, against, dues, wallet, simulation)
    yield from comparison.check_wallet()
    yield from comparison.check_dues()
    yield from comparison.check_losses()
    yield payment_finding(
        "executed",
        node=asked.name,
        block=simulation.block,
        moved=comparison.moved_words(),
    )


def _find_dues(effects: Effects, against: Against) -> Dues:
    """Return the first payment for each order; without orders, every payment."""
    dues: dict[Place, list[Effect]] = {}
    seen = set[int]()
    for payment in effects.payments:
        order = effects.order_of(payment)
        if against.orders and (order is None or id(order) in seen):
            continue
        seen.add(id(order))
        token = _token_of(payment, against)
        currency = against.currency(order)
        if currency is not None:
            token = currency.address.lower() or NATIVE
        payee = payment.recipient
        if order is not None and order.payee is not None:
            payee = order.payee
        if payment.kind == EffectKind.ESCROW:  # which keeps it until its release
            payee = effects.transactions[payment.step].to
        dues.setdefault((token, _key(payee)), []).append(payment)
    return dues


def _token_of(effect: Effect, against: Against) -> str:
    known = against.token(effect.token)
    is_coin = known is not None and not known.address
    return NATIVE if is_coin else _key(effect.token)


def _simulate(
    node: Node,
    transactions: Collection[DecodedTransaction],
    wallet: str,
    places: Collection[Place],
) -> _Simulation:
    """Execute transactions one after the other, and read balances before and after, all
    in one request. Raises NodeError if there is no usable answer.
    """
    steps = [
        step for step in transactions if address_problem(step.to) != "address_malformed"
    ]
    chain, block, coins, simulated = node.ask(
        [
            ("eth_chainId", []),
            ("eth_getBlockByNumber", ["latest", False]),
            ("eth_getBalance", [wallet, "latest"]),
            _simulation(steps, wallet, places),
        ]
    )
    count = len(places)
    try:
        calls = simulated[0]["calls"]
        before = _balances(places, calls[:count])
        after = _balances(places, calls[-count:])
        failed = None
        reason = ""
        for step, call in zip(steps, calls[count:-count], strict=True):
            if failed is None and _number(call["status"]) != 1:
                failed = step
                reason = visible(str(call["error"]["message"]))[:100]
        held = {token: before[token, wallet] for token, _ in places}
        held[NATIVE] = _number(coins)  # before the coins that the simulation lends it
        return _Simulation(
            chain=_number(chain),
            block=_number(block["number"]),
            time=_number(block["timestamp"]),
            held=held,
            gains={place: after[place] - before[place] for place in places},
            failed=failed,
            reason=reason,
        )
    except (IndexError, KeyError, TypeError, ValueError):
        raise NodeError("the response is not that of a node.") from None


def _simulation(
    steps: Collection[DecodedTransaction], wallet: str, places: Collection[Place]
) -> Question:
    """Return the question that reads, executes the transactions, and reads again."""
    reads = []
    for token, account in places:
        word = f"{account[2:]:0>64}"
        if token == NATIVE:
            reads.append({"to": _READER, "data": f"0x{word}"})
        else:  # balanceOf(address)
            reads.append({"to": token, "data": f"0x70a08231{word}"})
    calls = [
        {
            "from": wallet,
            "to": str(step.to),
            "data": f"0x{(step.data or '').removeprefix('0x')}",
            "value": hex(step.value or 0),
        }
        for step in steps
    ]
    overrides = {_READER: {"code": _READER_CODE}, wallet: {"balance": hex(_COINS)}}
    block = {"stateOverrides": overrides, "calls": [*reads, *calls, *reads]}
    options = {"blockStateCalls": [block], "validation": False}
    return "eth_simulateV1", [options, "latest"]


def _balances(places: Collection[Place], calls: list[Any]) -> dict[Place, int]:
    # A token may return more than a number, such as the reason why it has none.
    numbers = [_number(call["returnData"][:66]) for call in calls]
    return dict(zip(places, numbers, strict=True))


def _number(value: Any) -> int:
    """Return a number of at most 256 bits; 0 for what a call without a result returns.
    Raises TypeError or ValueError for anything else.
    """
    if re.fullmatch("0x[0-9a-fA-F]{0,64}", value) is None:
        raise ValueError("not a number")
    return int(value[2:] or "0", 16)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A simulation compared with the payments that are due."""

    effects: Effects
    against: Against
    dues: Dues
    wallet: str
    simulation: _Simulation

    def check_wallet(self) -> Iterator[Finding]:
        """Yield what the wallet lacks, or else why a transaction is reverted."""
        failed = self.simulation.failed
        held = self.simulation.held
        needed = Counter[str]()
        if failed is not None:
            for effect in self.effects.paying:
                needed[_token_of(effect, self.against)] += effect.most_taken
        needed[NATIVE] = sum(step.value or 0 for step in self.effects.transactions)
        lacks = [token for token in needed if held[token] < needed[token]]
        for token in lacks:
            yield payment_finding(
                "executed_lacks",
                held=self._words(token, held[token]),
                needed=self._words(token, needed[token]),
            )
        if failed is not None and not lacks:
            yield payment_finding(
                "executed_fails", failed, reason=self.simulation.reason
            )

    def check_dues(self) -> Iterator[Finding]:
        """Compare what arrives with what the bytes say, and with the order."""
        if self.simulation.failed is not None:
            return
        fees = self._fees()
        for (token, account), payments in self.dues.items():
            gained = self.simulation.gains[token, account]
            stated = fees[token, account]
            stated += sum(payment.amount or 0 for payment in payments)
            stated_words = self._words(token, stated)
            has_arrived = gained == stated
            if any(payment.unit == "request" for payment in payments):
                stated_words = "more"
                has_arrived = gained > 0
            if account != self.wallet and not has_arrived:
                yield payment_finding(
                    "executed_payee",
                    payments[0],
                    gained=self._words(token, gained),
                    stated=stated_words,
                    payee=with_checksum(account),
                )
            elif len(payments) == 1 and self._is_wrong(
                payments[0], token, gained - fees[token, account]
            ):
                yield payment_finding(
                    "executed_amount", payments[0], gained=self._words(token, gained)
                )

    def _fees(self) -> Counter[Place]:
        """Return the fees that each account should receive, by the calldata."""
        fees = Counter[Place]()
        for effect in self.effects.paying:
            token = _token_of(effect, self.against)
            fees[token, _key(effect.fee_recipient)] += effect.fee or 0
            if effect.at in self.effects.fee_legs:
                fees[token, _key(effect.recipient)] += effect.amount or 0
        return fees

    def _is_wrong(self, payment: Effect, token: str, amount: int) -> bool:
        """Return True for an amount that is not what the order asks for."""
        unit = "native" if token == NATIVE else "token"
        arrived = replace(payment, amount=amount, unit=unit, path=())
        found = check_amount(self.effects, self.against, arrived)
        return any(each.severity == "error" for each in found)

    def check_losses(self) -> Iterator[Finding]:
        """Compare what leaves the wallet with the most that the bytes let go for what
        is due, and for fees.
        """
        allowed = {*self.effects.fee_legs}
        for payments in self.dues.values():
            allowed.update(payment.at for payment in payments)
        batch_fee = self.against.policy.batch_fee
        if batch_fee is None:
            batch_fee = Decimal(HIGH_FEE)
        most = Counter[str]()
        for effect in self.effects.paying:
            if effect.at not in allowed:
                continue
            taken = effect.most_taken
            if effect.is_native and effect.unit == "request":
                taken = self.effects.transactions[effect.step].value or 0
            if effect.place is not None:
                taken += share_of(effect.most_taken, batch_fee)
            most[_token_of(effect, self.against)] += taken
        for token, lost in self._losses().items():
            if lost > most[token]:
                yield payment_finding(
                    "executed_loss",
                    lost=self._words(token, lost),
                    due=self._words(token, most[token]),
                )

    def _losses(self) -> dict[str, int]:
        """Return how much of each token the wallet loses."""
        return {
            token: -gain
            for (token, account), gain in self.simulation.gains.items()
            if account == self.wallet and gain < 0
        }

    def moved_words(self) -> str:
        """Return who gets what, and what it costs the wallet."""
        words = []
        for token, account in self.dues:
            gained = self._words(token, self.simulation.gains[token, account])
            words.append(f"{with_checksum(account)} gets {gained}")
        costs = [self._words(token, lost) for token, lost in self._losses().items()]
        given = listed(costs) if costs else "nothing"
        return listed([*words[:5], f"the wallet gives {given}"])

    def _words(self, token: str, amount: int) -> str:
        return format_amount(amount, self.against.token(token))


def _key(address: object) -> str:
    return str(address or "").lower()
