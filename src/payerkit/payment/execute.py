"""Execute a payment on a node before anyone signs it, and compare what changes hands with what was ordered.

A token's logs are its own word. So balances are read before and after, in the same simulation, in the token of the
order. Who runs the node can lie, too, so the findings name its host and the block.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cache, cached_property
from itertools import product
from typing import Any, NamedTuple

from payerkit._tsv import rows
from payerkit.client.node import NO_SUCH_METHOD, Node, NodeError, Question, Refusal
from payerkit.errors import InvalidInput
from payerkit.findings import Finding, payment_finding
from payerkit.onchain.addresses import address_problem, keccak, with_checksum
from payerkit.onchain.amounts import format_amount, share_of, to_units
from payerkit.onchain.calldata import NATIVE, Effect, EffectKind
from payerkit.onchain.currencies import Currency, find_deployment, networks
from payerkit.payment.compare import Comparison, DecodedTransaction, contract_at
from payerkit.payment.money import HIGH_FEE, check_amount
from payerkit.wording import listed, visible

LOOK_BACK = 9_999
"""Blocks that are searched for an earlier payment with the same reference; many nodes search 10,000 at most."""

_READER = f"0x{'7061796b6974':0>40}"
"""An unused address. In the simulation, it has code that returns the coins of the address that it is called with."""

_READER_CODE = "0x6000353160005260206000f3"
"""BALANCE of the first word of the calldata, returned as a word."""

_IMPLEMENTATION = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"
"""Where a proxy stores the address of its implementation (EIP-1967)."""

_DELEGATION = bytes.fromhex("ef0100")
"""How the code of a wallet begins that is still one of a person (EIP-7702)."""

_TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
_APPROVAL = "0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925"
"""The first topics of Transfer(address,address,uint256) and Approval(address,address,uint256) (ERC-20)."""

_DETECTED = ("ERC20FeeProxy", "EthereumFeeProxy", "ERC20Proxy", "EthereumProxy")
"""The contracts whose events tell of a payment with a reference; all others pay through one of them."""

Place = tuple[str, str]
"""A token, or `NATIVE`, and who holds some of it, or may take some of the wallet's; both addresses in lower case."""


def check_execution(compared: Comparison, node: Node | str) -> Iterator[Finding]:
    """Yield what a node says about a payment. Nothing is sent to the network.

    Raises InvalidInput for an address that is not one of a node, or a wallet.
    """
    payout, wallet = compared.payment.payout, compared.wallet
    if wallet is None:
        wallet = None if payout is None else payout.wallet
    elif address_problem(wallet):
        raise InvalidInput("wallet: give the address of the wallet that signs, 0x and 40 hex digits.")
    with node if isinstance(node, Node) else Node(node) as asked:
        try:
            yield from _Execution(compared, asked, _key(wallet)).findings()
        except NodeError as error:
            yield payment_finding("node_failed", node=asked.name, reason=str(error))


class Holdings(NamedTuple):
    """What a wallet has, in base units: coins, tokens, and how many of these ERC20FeeProxy may take.

    The last two are None for a coin, and all where the node does not say.
    """

    coins: int | None
    balance: int | None = None
    allowance: int | None = None


def read_holdings(node: Node | str, wallet: str, currency: Currency) -> Holdings:
    """Return what a wallet has of a currency and of the coin of its network. Raises NodeError, and InvalidInput."""
    questions: list[Question] = [("eth_chainId", []), ("eth_getBalance", [wallet, "latest"])]
    spender = find_deployment("ERC20FeeProxy", currency.network)
    if currency.address:
        calls = [_balance_call(currency.address, wallet)]
        calls += [_grant_call(wallet, currency.address, spender.address)] if spender else []
        questions += [("eth_call", [call, "latest"]) for call in calls]
    with node if isinstance(node, Node) else Node(node) as asked:
        chain, *held = map(_number, asked.ask(questions))
    network = networks()[currency.network]
    if chain != network.chain_id:
        raise NodeError(f"it is not one of {network}.")
    return Holdings(*held)


class Due(NamedTuple):
    """A payment that should arrive, with its token and the account that gets it, by the order if it names them."""

    payment: Effect
    token: str
    account: str


class ExecutedCall(NamedTuple):
    """A call that was executed: whether it succeeded, what it returned, the gas that it used, and its logs."""

    succeeded: bool
    output: bytes
    gas: int
    logs: tuple[Any, ...]

    @classmethod
    def read(cls, content: Any) -> ExecutedCall:
        """Return a call as `eth_simulateV1` answers it. Raises NodeError for anything else."""
        found = content if isinstance(content, dict) else {}
        status, output, logs = _number(found.get("status")), _bytes(found.get("returnData")), found.get("logs") or []
        if status not in {0, 1} or output is None or not isinstance(logs, list):
            raise NodeError("the result of its simulation cannot be read.")
        gas = _number(found.get("gasUsed")) or 0
        return cls(status == 1, output, gas, tuple(each for each in logs if isinstance(each, dict)))

    @property
    def reason(self) -> str:
        """Why it was reverted, in words."""
        if self.output[:4] == bytes.fromhex("08c379a0"):  # Error(string)
            return f'"{text}"' if (text := _text(self.output[4:])) else "no reason is given"
        return f"error 0x{self.output[:4].hex()}" if self.output else "no reason is given"


class _Execution:
    """A payment, and the node that executes it.

    dues: what should arrive. contracts: the payment contracts that are called. places: of which token whose balance is
    read. grants: of which token whose allowance is read.
    """

    def __init__(self, compared: Comparison, node: Node, wallet: str) -> None:
        self.compared, self.node, self.wallet, self.block = compared, node, wallet, 0
        self.steps = [each for each in compared.transactions if address_problem(each.to) != "address_malformed"]
        self.dues = [*self._find_dues()]
        self.contracts = sorted({_key(each.to) for each in self.steps if _is_of_contract(each)})
        approvals = [effect for step in self.steps for effect in step.effects if effect.kind == EffectKind.APPROVE]
        tokens = {NATIVE, *(due.token for due in self.dues), *(self.token_of(effect) for effect in compared.paying)}
        accounts = {self.wallet, *self.contracts, *(due.account for due in self.dues)}
        granted = {(self.token_of(each), _key(each.spender)) for each in approvals}
        self.places = sorted(product(tokens, accounts))
        self.grants = sorted(granted | {*product(tokens - {NATIVE}, self.contracts)})

    def _find_dues(self) -> Iterator[Due]:
        """Yield the first payment for each order; without orders, every payment."""
        seen = set[int]()
        for payment in self.compared.payments:
            order, currency = self.compared.order_of(payment), self.compared.currency(self.compared.order_of(payment))
            if self.compared.orders and (order is None or id(order) in seen):
                continue
            seen.add(id(order))
            token = self.token_of(payment) if currency is None else currency.address.lower() or NATIVE
            payee = payment.recipient if order is None or order.payee is None else order.payee
            is_held = payment.kind == EffectKind.ESCROW  # by the contract, until it is released
            yield Due(payment, token, _key(self.compared.transactions[payment.step].to if is_held else payee))

    def token_of(self, effect: Effect) -> str:
        """Return the address of the token of an effect, or `NATIVE`."""
        found = self.compared.token(effect.token)
        return NATIVE if found is not None and not found.address else _key(effect.token)

    def findings(self) -> Iterator[Finding]:
        """Yield what the node says: first whether it is one of the network, then its state, then the execution."""
        network = networks().get(self.compared.network or "")
        chain, block = map(_number, self.node.ask([("eth_chainId", []), ("eth_blockNumber", [])]))
        if chain is None or block is None:
            raise NodeError("its chain or its block cannot be read.")
        if network is None or chain != network.chain_id:
            yield payment_finding("node_chain", node=self.node.name, chain=chain, network=network or "not known")
            return
        self.block = block
        state = self._ask_state()
        simulation = self._simulation(state)
        proxies = {name[1]: to for name, word in state.items() if name[0] == "implementation" if (to := _address(word))}
        codes: list[Question] = [("eth_getCode", [each, hex(block)]) for each in proxies.values()]
        answers = self.node.ask([*simulation, *codes]) if simulation or codes else []
        inner = zip(proxies.items(), answers[len(simulation) :], strict=True)
        yield from self._check_code(state, {proxy: (to, code) for (proxy, to), code in inner})
        yield from self._check_tokens(state)
        yield from self._check_reference(state)
        if simulation:
            yield from self._read_simulation(state, *answers[: len(simulation)])
        else:
            yield payment_finding("not_executed.wallet", node=self.node.name, block=self.block)

    def _ask_state(self) -> dict[tuple[str, ...], Any]:
        """Return the node's answers about contracts, tokens, the wallet's coins and earlier payments, by question."""
        at = hex(self.block)
        tokens = [token for token in dict.fromkeys(token for token, _ in self.places) if token != NATIVE]
        questions: dict[tuple[str, ...], Question] = {("gas",): ("eth_gasPrice", [])}
        for address in dict.fromkeys([*(_key(each.to) for each in self.steps if each.call.function), *tokens]):
            questions["code", address] = "eth_getCode", [address, at]
            questions["implementation", address] = "eth_getStorageAt", [address, _IMPLEMENTATION, at]
        for token in tokens:
            for name, selector in (("decimals", "0x313ce567"), ("symbol", "0x95d89b41")):
                questions[name, token] = "eth_call", [{"to": token, "data": selector}, at]
        if self.wallet:
            questions["coins",] = "eth_getBalance", [self.wallet, at]
            questions["code", self.wallet] = "eth_getCode", [self.wallet, at]
        known = [find_deployment(name, str(self.compared.network)) for name in _DETECTED]
        topics = [f"0x{keccak(each).hex()}" for each in {pay.reference for pay in self.compared.payments} if each]
        if topics and any(known):
            start = hex(max(0, self.block - LOOK_BACK))
            asked = {"fromBlock": start, "toBlock": at, "address": [each.address for each in known if each]}
            questions["logs",] = "eth_getLogs", [asked | {"topics": [None, topics]}]
        state = dict(zip(questions, self.node.ask([*questions.values()]), strict=True))
        if any(name[0] == "code" and _bytes(answer) is None for name, answer in state.items()):
            raise NodeError("it does not say what code an address has.")
        return state

    def _check_code(
        self, state: Mapping[tuple[str, ...], Any], behind: Mapping[str, tuple[str, Any]]
    ) -> Iterator[Finding]:
        """Yield what code the contracts have. behind: the implementation of each proxy, and its code."""
        for step in self.steps:
            function, code = step.call.function, _bytes(state.get(("code", _key(step.to))))
            if function and not code:
                yield payment_finding("code_missing", step, contract=step.to)
            elif function and _is_of_contract(step):
                to, inner = behind.get(_key(step.to), ("", ""))
                words = f" It hands calls on to {with_checksum(to)}, whose code has the hash {_hash(_bytes(inner))}."
                found, digest = contract_at(step.to, str(self.compared.network), function.contracts), _hash(code)
                is_known = found is not None and digest == _code_hashes().get(found.contract)
                name, key = found.contract if found else step.to, "code_known" if is_known else "code_unknown"
                yield payment_finding(key, step, contract=name, digest=digest, words=words if to else "")

    def _check_tokens(self, state: Mapping[tuple[str, ...], Any]) -> Iterator[Finding]:
        for token in dict.fromkeys(token for token, _ in self.places):
            known = self.compared.token(token)
            if token == NATIVE:
                continue
            if not _bytes(state["code", token]):
                name = "a token" if known is None else known.id
                yield payment_finding("code_missing.token", token=name, address=with_checksum(token))
            elif known is None:
                continue
            elif (decimals := _number(state["decimals", token])) is None:
                raise NodeError(f"it does not say how many decimals {known.id} has.")
            elif decimals != known.decimals:
                yield payment_finding("decimals_differ", token=known.id, given=decimals, expected=known.decimals)
            elif (symbol := _text(_bytes(state["symbol", token]) or b"")) != known.symbol:
                yield payment_finding("symbol_differs", token=known.id, given=symbol)

    def _check_reference(self, state: Mapping[tuple[str, ...], Any]) -> Iterator[Finding]:
        logs = state.get(("logs",), [])
        if not isinstance(logs, list) or not all(isinstance(each, dict) for each in logs):
            yield payment_finding("reference_unsearched", node=self.node.name)
        elif logs:
            transaction, block = visible(str(logs[0].get("transactionHash")))[:66], _number(logs[0].get("blockNumber"))
            yield payment_finding("reference_paid", transaction=transaction, block=block)

    @cached_property
    def _reads(self) -> Mapping[tuple[str, str, str], dict[str, str]]:
        """The calls that read balances and allowances, by what each reads."""
        reads = {("balance", *place): _balance_call(*place) for place in self.places}
        return reads | {("grant", *each): _grant_call(self.wallet, *each) for each in self.grants}

    def _simulation(self, state: Mapping[tuple[str, ...], Any]) -> list[Question]:
        """Return the questions that execute all of the payment, and its first call alone; none without a wallet."""
        if not self.wallet:
            return []
        coins, at = _number(state["coins",]), hex(self.block)
        if coins is None:
            raise NodeError("the coins of the wallet cannot be read.")
        calls = [_as_call(step, self.wallet) for step in self.steps]
        given = {_READER: {"code": _READER_CODE}, self.wallet: {"balance": hex(coins + sum(map(_value, self.steps)))}}
        reads = self._reads.values()
        block = {"stateOverrides": given, "calls": [*reads, *calls, *reads]}
        alone = [*calls[:1], at, {self.wallet: given[self.wallet]}]
        return [("eth_simulateV1", [{"blockStateCalls": [block], "validation": False}, at]), ("eth_call", alone)]

    def _read_simulation(self, state: Mapping[tuple[str, ...], Any], answer: Any, alone: Any) -> Iterator[Finding]:
        if isinstance(answer, Refusal):
            yield from self._without_simulation(answer, alone)
            return
        try:
            done = [ExecutedCall.read(each) for each in answer[0]["calls"]]
        except (KeyError, IndexError, TypeError):
            done = []
        reads = len(self._reads)
        if len(done) != len(self.steps) + 2 * reads:
            raise NodeError("the result of its simulation cannot be read.")
        before, executed, after = done[:reads], done[reads:-reads], done[-reads:]
        coins, code = _number(state["coins",]) or 0, _bytes(state["code", self.wallet])
        pays_gas = not code or code.startswith(_DELEGATION)  # for another contract, such as a Safe, somebody else does
        price = (_number(state["gas",]) or 0) if pays_gas else 0
        result = _Result(self, coins, price, self._read(before), executed, self._read(after))
        yield from result.findings()

    def _without_simulation(self, refusal: Refusal, alone: Any) -> Iterator[Finding]:
        """Yield what a node without `eth_simulateV1` can tell: whether the first transaction would be reverted."""
        if refusal.code != NO_SUCH_METHOD:
            raise NodeError(f"its simulation fails ({refusal.message}).")
        key = "not_executed.reverted" if isinstance(alone, Refusal) else "not_executed"
        reason = alone.message if isinstance(alone, Refusal) else ""
        yield payment_finding(key, node=self.node.name, block=self.block, reason=reason)

    def _read(self, calls: list[ExecutedCall]) -> dict[tuple[str, str, str], int]:
        found = [int.from_bytes(call.output[:32]) if call.succeeded else 0 for call in calls]
        return dict(zip(self._reads, found, strict=True))


class _Result:
    """An executed payment: what was there before and after, by kind, token and account, and how each call ended."""

    def __init__(
        self, execution: _Execution, coins: int, gas_price: int, before: _Read, calls: list[ExecutedCall], after: _Read
    ) -> None:
        self.execution, self.compared, self.wallet = execution, execution.compared, execution.wallet
        self.coins, self.gas = coins, gas_price * sum(call.gas for call in calls)
        self.before, self.calls, self.after = before, calls, after

    def findings(self) -> Iterator[Finding]:
        """Yield what differs from the order, or from what the bytes say; then, in one line, what was executed."""
        steps = zip(self.execution.steps, self.calls, strict=True)
        failed = next(((step, call) for step, call in steps if not call.succeeded), None)
        yield from self._check_coins()
        if failed is None:
            yield from self._check_dues()
        else:
            yield from self._check_failure(*failed)
        yield from self._check_losses()
        yield from self._check_contracts()
        yield from self._check_grants(is_failed=failed is not None)
        yield from self._check_logs()
        node, block = self.execution.node.name, self.execution.block
        yield payment_finding("executed", node=node, block=block, moved=self._moved_words())

    def _gain(self, token: str, account: str) -> int:
        place = "balance", token, account
        return self.after[place] - self.before[place]

    def _words(self, token: str, amount: int) -> str:
        return format_amount(amount, self.compared.token(token))

    def _check_coins(self) -> Iterator[Finding]:
        sent = sum(map(_value, self.execution.steps))
        if self.coins < sent + self.gas:
            gas = f", with about {self._words(NATIVE, self.gas)} for gas" if self.gas else ""
            needed = f"{self._words(NATIVE, sent + self.gas)}{gas}"
            yield payment_finding("executed_lacks", held=self._words(NATIVE, self.coins), needed=needed)

    def _check_failure(self, step: DecodedTransaction, call: ExecutedCall) -> Iterator[Finding]:
        """Yield what the wallet lacks for a transaction that is reverted, or else that it would be, and why."""
        lacks = [*self._lacks(step), *self._old_allowances(step)]
        yield from lacks or [payment_finding("executed_fails", step, reason=call.reason)]

    def _lacks(self, failed: DecodedTransaction) -> Iterator[Finding]:
        """Yield what the wallet has too little of for a transaction and those before it."""
        earlier = [effect for each in self.execution.steps if each.index < failed.index for effect in each.effects]
        granted = {(self.execution.token_of(each), _key(each.spender)) for each in earlier}
        for token in sorted({self.execution.token_of(each) for each in failed.effects if each.is_payment} - {NATIVE}):
            taken, spender = Counter[str](), _key(failed.to)
            for each in (*earlier, *failed.effects):
                if each.is_payment and self.execution.token_of(each) == token:
                    taken[_key(self.compared.transactions[each.step].to)] += each.most_taken
            limits = [("executed_lacks", ("balance", token, self.wallet), taken.total())]
            if (token, spender) not in granted and _is_of_contract(failed):
                limits.append(("executed_lacks.allowance", ("grant", token, spender), taken[spender]))
            for key, place, need in limits:
                if (held := self.before.get(place, need)) < need:
                    words = {"held": self._words(token, held), "needed": self._words(token, need)}
                    yield payment_finding(key, failed, **words)

    def _old_allowances(self, failed: DecodedTransaction) -> Iterator[Finding]:
        """Yield what an approval would replace: tokens like Tether refuse that."""
        for effect in failed.effects:
            token, spender = self.execution.token_of(effect), _key(effect.spender)
            left = self.before.get(("grant", token, spender), 0)
            if effect.kind == EffectKind.APPROVE and effect.allowance and left:
                held = self._words(token, left)
                yield payment_finding("executed_lacks.reset", failed, left=held, spender=with_checksum(spender))

    def _check_dues(self) -> Iterator[Finding]:
        """Compare what arrives with what the bytes say, and with the order."""
        by_place: dict[Place, list[Effect]] = {}
        for due in self.execution.dues:
            by_place.setdefault((due.token, due.account), []).append(due.payment)
        for (token, account), payments in by_place.items():
            gained = self._gain(token, account)
            stated = sum(pay.amount or 0 for pay in payments) + self._fees_in(token, account)
            is_converted = any(pay.unit == "request" for pay in payments)
            if account != self.wallet and (gained <= 0 if is_converted else gained != stated):
                expected = "more" if is_converted else self._words(token, stated)
                words = {"gained": self._words(token, gained), "stated": expected, "payee": str(with_checksum(account))}
                yield payment_finding("executed_payee", payments[0], **words)
            elif len(payments) == 1:
                unit = "native" if token == NATIVE else "token"
                amount = gained - self._fees_in(token, account)
                arrived = replace(payments[0], amount=amount, unit=unit, path=())
                if any(found.severity == "error" for found in check_amount(self.compared, arrived)):
                    yield payment_finding("executed_amount", payments[0], gained=self._words(token, gained))

    def _fees_in(self, token: str, account: str | None = None) -> int:
        """Return what the bytes say that an account, by default anybody, receives of a token as fees."""
        same = [each for each in self.compared.paying if self.execution.token_of(each) == token]
        legs = [each for each in same if each.at in self.compared.fee_legs and account in {None, _key(each.recipient)}]
        fees = [each for each in same if account in {None, _key(each.fee_recipient)}]
        return sum(each.amount or 0 for each in legs) + sum(each.fee or 0 for each in fees)

    def _check_losses(self) -> Iterator[Finding]:
        """Compare what leaves the wallet with the payments and their fees, none of which may be more than agreed."""
        due = Counter[str]()
        for each in self.execution.dues:
            gained = max(0, self._gain(each.token, each.account))
            due[each.token] += gained if each.payment.unit == "request" else each.payment.amount or 0
        for token in dict.fromkeys(token for token, _ in self.execution.places):
            lost = -self._gain(token, self.wallet)
            most = due[token] + self._most_fees(token, due[token])
            if lost > (most if due[token] else 0) and not self._may_swap(token):
                yield payment_finding(
                    "executed_loss", lost=self._words(token, lost), due=self._words(token, due[token])
                )

    def _most_fees(self, token: str, due: int) -> int:
        """Return what fees may take: what was agreed, but no more than the bytes say where they say all of it."""
        agreed = share_of(due, self._agreed_percent()) + len(self.execution.dues)
        same = [each for each in self.compared.paying if self.execution.token_of(each) == token]
        is_stated = all(each.unit != "request" and each.place is None for each in same)
        return min(agreed, self._fees_in(token)) if is_stated else agreed

    def _agreed_percent(self) -> Decimal:
        """Return the percentage that all fees together may take: of each what was agreed, or else `HIGH_FEE`."""
        policy, paying = self.compared.policy, self.compared.paying
        takers = {_key(each.fee_recipient) for each in paying if each.fee}
        takers |= {_key(each.recipient) for each in paying if each.at in self.compared.fee_legs}
        agreed = [policy.agreed_fee(taker) for taker in takers]
        most = sum((Decimal(HIGH_FEE) if fee is None else fee.max_percent for fee in agreed), Decimal(0))
        of_batch = Decimal(HIGH_FEE) if policy.batch_fee is None else policy.batch_fee
        return most + (of_batch if any(each.place is not None for each in paying) else 0)

    def _may_swap(self, token: str) -> bool:
        """Return True for a token that the wallet may exchange for that of the order."""
        is_swap = any(each.kind == EffectKind.SWAP for each in self.compared.paying)
        return is_swap and token not in {due.token for due in self.execution.dues}

    def _check_contracts(self) -> Iterator[Finding]:
        held = {(due.token, due.account) for due in self.execution.dues}
        for token, account in self.execution.places:
            kept = self._gain(token, account)
            if account in self.execution.contracts and kept > 0 and (token, account) not in held:
                yield payment_finding("executed_kept", kept=self._words(token, kept), contract=with_checksum(account))

    def _check_grants(self, *, is_failed: bool) -> Iterator[Finding]:
        """Yield what may be taken from the wallet afterwards; not what a payment that failed leaves to its contract."""
        for token, spender in self.execution.grants:
            left, earlier = (each["grant", token, spender] for each in (self.after, self.before))
            known, policy = self.compared.token(token), self.compared.policy
            is_accepted = known and policy.accepts_allowance(known.id, spender, to_units(left, known.decimals))
            if left <= earlier or is_accepted:
                continue
            is_known = contract_at(spender, str(self.compared.network)) is not None
            if is_known and is_failed:
                continue
            words = {"left": self._words(token, left), "spender": with_checksum(spender)}
            yield payment_finding("executed_allowance" if is_known else "executed_allowance.stranger", **words)

    def _check_logs(self) -> Iterator[Finding]:
        """Yield what the wallet gives away of tokens whose balances were not read, or allows to whom nobody asked."""
        tokens = {token for token, _ in self.execution.places}
        for step, call in zip(self.execution.steps, self.calls, strict=True):
            for log in call.logs:
                topics, token = log.get("topics"), _key(log.get("address"))
                if not isinstance(topics, list) or len(topics) < 3 or _address(topics[1]) != self.wallet:
                    continue
                is_new = topics[0] == _TRANSFER and token not in tokens and not self._may_swap(token)
                is_grant = topics[0] == _APPROVAL and (token, _address(topics[2])) not in self.execution.grants
                if is_new or is_grant:
                    yield payment_finding("executed_more", step, token=with_checksum(token))

    def _moved_words(self) -> str:
        """Return who gets what, and what it costs the wallet."""
        places = dict.fromkeys((due.token, due.account) for due in self.execution.dues)
        words = [f"{with_checksum(to)} gets {self._words(token, self._gain(token, to))}" for token, to in places]
        lost = {token: -self._gain(token, self.wallet) for token, _ in self.execution.places}
        costs = [self._words(token, amount) for token, amount in lost.items() if amount > 0]
        return listed([*words[:5], f"the wallet gives {listed(costs) if costs else 'nothing'}"])


_Read = Mapping[tuple[str, str, str], int]
"""Numbers by what they are of: "balance", a token and its holder; or "grant", a token and who may take some of it."""


@cache
def _code_hashes() -> Mapping[str, str]:
    """Return the hash of each contract's code as the npm package has it, of those without values set on deployment."""
    return {row["contract"]: row["keccak256"] for row in rows("payerkit.onchain", "code_hashes")}


def _is_of_contract(step: DecodedTransaction) -> bool:
    """Return True for a call of anything but a token."""
    return step.call.function is not None and step.call.function.contracts != ("ERC20",)


def _value(step: DecodedTransaction) -> int:
    return step.value or 0


def _as_call(step: DecodedTransaction, wallet: str) -> dict[str, str]:
    data = f"0x{(step.data or '').removeprefix('0x')}"
    return {"from": wallet, "to": str(step.to), "data": data, "value": hex(_value(step))}


def _balance_call(token: str, account: str) -> dict[str, str]:
    is_coin = token == NATIVE
    return {"to": _READER if is_coin else token, "data": f"0x{'' if is_coin else '70a08231'}{_word(account)}"}


def _grant_call(wallet: str, token: str, spender: str) -> dict[str, str]:
    return {"to": token, "data": f"0xdd62ed3e{_word(wallet)}{_word(spender)}"}


def _hash(code: bytes | None) -> str:
    return f"0x{keccak(code or b'').hex()}"


def _key(address: object) -> str:
    return str(address or "").lower()


def _word(address: str) -> str:
    return f"{address[2:]:0>64}"


def _bytes(value: object) -> bytes | None:
    """Return the bytes of hex digits; None for anything else, such as a refusal."""
    is_hex = isinstance(value, str) and re.fullmatch("0x([0-9a-fA-F]{2})*", value)
    return bytes.fromhex(str(value)[2:]) if is_hex else None


def _number(value: object) -> int | None:
    """Return a number of at most 256 bits; None for anything else."""
    return int(value, 16) if isinstance(value, str) and re.fullmatch("0x[0-9a-fA-F]{1,64}", value) else None


def _address(value: object) -> str:
    """Return the address in the last bytes of a word; "" for zero and for anything else."""
    word = _bytes(value) or b""
    return f"0x{word[-20:].hex()}" if len(word) == 32 and any(word) else ""


def _text(data: bytes) -> str:
    """Return a text as a contract returns it, also as bytes32, as old tokens do; nothing that steers a terminal."""
    content = data if len(data) == 32 else data[64 : 64 + int.from_bytes(data[32:64])]
    return visible(content.rstrip(b"\0").decode("utf-8", "replace"))[:100]
