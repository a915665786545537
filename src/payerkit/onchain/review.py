"""Compare what the transactions of a payment do with what was asked for, and say everything that does not match."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from payerkit.errors import without_internal_frames
from payerkit.findings import Finding, PaymentFindings, Severity
from payerkit.html import visible
from payerkit.onchain import amounts
from payerkit.onchain.addresses import address_fault
from payerkit.onchain.calldata import NOTES
from payerkit.onchain.deployments import deployments_at
from payerkit.onchain.review_approvals import judge_approval
from payerkit.onchain.review_base import ANSWER, CALLDATA, CONTRACTS, ORDER, PAYS, TOKENS, PaymentReview, as_order, say
from payerkit.onchain.review_payments import judge_payment
from payerkit.onchain.transactions import DecodedTransaction, asset, contract_at, network_of, read_steps

MAX_STEPS = 50
"""Transactions that are judged; more take longer than anybody waits."""

CHAIN_IDS = {
    "mainnet": 1,
    "optimism": 10,
    "bsc": 56,
    "xdai": 100,
    "fuse": 122,
    "matic": 137,
    "sonic": 146,
    "fantom": 250,
    "boba": 288,
    "zksyncera": 324,
    "core": 1116,
    "moonbeam": 1284,
    "ronin": 2020,
    "mantle": 5000,
    "tombchain": 6969,
    "base": 8453,
    "arbitrum-one": 42161,
    "celo": 42220,
    "avalanche": 43114,
    "base-sepolia": 84532,
    "sepolia": 11155111,
}
"""Chain ids of networks (RequestNetwork, packages/currency, chains)."""


@without_internal_frames
def check_payment(
    payment: Any, order: Any = None, *, rate: Decimal | int | str | None = None, network: str | None = None
) -> PaymentFindings:
    """Return what a payment's transactions do and what does not match, with a verdict; nothing is sent or asked.

    order: a `PaymentOrder` or a dict of what was asked for; left out, what the payment remembers. rate: the price of
    one unit of the payment currency in the invoice currency, such as "2500" for ETH that is paid for dollars; without
    it an amount in another currency cannot be checked. network: where it will be sent, if no order tells.

    What cannot be known here: who is behind an address, balances, and whether a contract still is what it was. Raises
    InvalidInput for what is no payment, no order and no positive rate, and for a network that no table has.
    """
    steps = read_steps(payment)
    order = as_order(getattr(payment, "order", None) if order is None else order)
    network = network or getattr(payment, "network", None)
    case = PaymentReview(payment, steps, order, network_of(order, network), amounts.read_rate(rate))
    if len(steps) > MAX_STEPS:
        words = f"{len(steps)} transactions, where a payment has a few: at most {MAX_STEPS} are judged."
        return PaymentFindings([say("too_many", "error", "transactions", words, ANSWER)])
    found = [*_whole(case, network), *(each for step in case.steps for each in _step(case, step)), *_metadata(case)]
    return PaymentFindings(found)


def _whole(case: PaymentReview, named: str | None) -> Iterator[Finding]:
    if not case.order:
        yield say("no_order", "warning", "order", "Nothing to compare with: the payment remembers no order.", ORDER)
    ordered = network_of(case.order)
    if named and ordered and named != ordered:
        words = f"The order is for {ordered}, and not for {named}."
        yield say("network_differs", "error", "network", words, ORDER)
    if case.network is None:
        words = "Not known, so contracts and tokens cannot be checked; the same bytes are valid on several."
        yield say("network_unknown", "warning", "network", words, ANSWER, hint="Give network= or an order.")
    else:
        yield say("network", "info", "network", f"To be sent on {case.network}.", ORDER)
    if case.order and case.wanted is None:
        yield say("currency_unknown", "error", "payment_currency", "Not in the token list.", TOKENS)
    if case.wanted and case.wanted.kind == "trc20":
        words = "A network that is not of the Ethereum kind: payerkit cannot judge its transactions."
        yield say("network_unsupported", "error", "network", words, TOKENS)
    if not case.paying:
        yield say("no_payment", "error", "transactions", "No transaction can be seen to pay anybody.", CALLDATA)
    if len(case.paying) > 1:
        words = f"{len(case.paying)} payments, where one was asked for."
        yield say("several_payments", "error" if case.order else "warning", "transactions", words, CALLDATA)


def _step(case: PaymentReview, step: DecodedTransaction) -> Iterator[Finding]:
    yield from _bytes(step)
    yield from _target(case, step)
    yield from _value(step)
    yield from _others(case, step)
    if step.call.arguments is not None and not step.lines:
        words = "An empty batch: it does nothing that was asked for."
        yield say("empty_batch", "error", "data", words, CALLDATA, step)
    for line in step.lines:
        if line.does == "approve":
            yield from judge_approval(case, step, line)
        elif line.does in PAYS:
            yield from judge_payment(case, step, line)
        else:
            words = f"The function is for: {line.does}. It was not asked for."
            yield say("other_function", "error", "data", words, CALLDATA, step)


def _bytes(step: DecodedTransaction) -> Iterator[Finding]:
    code = step.call.code
    if isinstance(step.data, str) and step.data and not step.data.startswith("0x"):
        words = "Does not begin with 0x: a wallet may read it otherwise."
        yield say("data_prefix", "warning", "data", words, CALLDATA, step)
    if code == "not_canonical":
        yield say("not_canonical", "warning", "data", NOTES[code], CALLDATA, step, hint="Ask where they are from.")
    elif code in {"empty", "reference_only"}:
        yield say("plain_transfer", "warning", "data", NOTES[code], CALLDATA, step)
    elif code:
        yield say("unreadable_data", "error", "data", NOTES[code], CALLDATA, step)


def _target(case: PaymentReview, step: DecodedTransaction) -> Iterator[Finding]:
    fault = address_fault(step.to)
    if fault:
        severity: Severity = "warning" if fault.is_spelling else "error"
        yield say(fault.code, severity, "to", fault.message, "EIP-55", step)
    function = step.call.function
    if function is None or case.network is None or (fault and not fault.is_spelling):
        return
    if function.contracts == ("ERC20",):
        yield from _token_contract(case, step)
        return
    found = contract_at(step.to, case.network, function.contracts)
    if found and found.contract in function.contracts:
        words = f"Goes to {found.contract} {found.version} on {case.network}."
        yield say("contract", "info", "to", words, CONTRACTS, step)
        others = {each.network for each in deployments_at(str(step.to))} - {case.network}
        if function.payable and others:
            words = f"The same bytes would pay on {', '.join(sorted(others))}, too."
            hint = "Look at the network in the wallet before signing."
            yield say("other_networks", "info", "network", words, CONTRACTS, step, hint=hint)
    else:
        elsewhere = sorted({each.network for each in deployments_at(str(step.to))})
        also = f" It is one on {', '.join(elsewhere)}." if elsewhere else ""
        words = f"No known contract on {case.network} that has the function.{also}"
        yield say("contract_unknown", "error", "to", words, CONTRACTS, step)


def _token_contract(case: PaymentReview, step: DecodedTransaction) -> Iterator[Finding]:
    token = asset(str(step.to), case.network)
    if token is None:
        yield say("token_unknown", "error", "to", f"No known token on {case.network}.", TOKENS, step)
    elif case.wanted and token != case.wanted:
        words = f"Goes to the contract of {token.id}, and not of {case.wanted.id}."
        yield say("token_differs", "error", "to", words, ORDER, step)
    else:
        yield say("token", "info", "to", f"Goes to the contract of {token.id}.", TOKENS, step)


def _value(step: DecodedTransaction) -> Iterator[Finding]:
    function = step.call.function
    if step.value is None:
        yield say("value_unreadable", "error", "value", "In no form that is known.", ANSWER, step)
    elif step.value and function is not None and not function.payable:
        words = "Native value, sent to a function that takes none: the transaction would fail."
        yield say("value_not_payable", "error", "value", words, CALLDATA, step)
    else:
        yield from _coverage(step)
    if not step.is_value_given:
        yield say("value_absent", "warning", "value", "Not given; taken as 0.", ANSWER, step)


def _coverage(step: DecodedTransaction) -> Iterator[Finding]:
    """Compare the value with what is paid natively."""
    value = step.value or 0
    if any(line.unit == "request" and line.max_to_spend is None for line in step.lines):
        return  # the value is the most that may be spent
    paid = sum(
        (line.amount or 0) + (line.fee or 0) for line in step.lines if line.unit == "native" and line.does in PAYS
    )
    if value < paid:
        words = "Less native value than is paid: the transaction would fail."
        yield say("value_small", "error", "value", words, CALLDATA, step)
    elif value > paid == 0:
        words = "Native value that no payment takes: it may be lost."
        yield say("value_unexplained", "error", "value", words, CALLDATA, step)
    elif value > paid:
        words = "More native value than is paid; contracts are said to send the rest back."
        yield say("value_large", "warning", "value", words, CALLDATA, step)


def _others(case: PaymentReview, step: DecodedTransaction) -> Iterator[Finding]:
    """Look at members that the specification does not know, and that a wallet may obey."""
    for name, value in step.others.items():
        if name == "chainId":
            expected = CHAIN_IDS.get(case.network or "")
            if str(value) not in {str(expected), hex(expected or 0)}:
                words = "Another chain than the network's."
                yield say("chain_differs", "error", name, words, CONTRACTS, step)
        elif name == "input":
            if value != step.data:
                yield say("input_differs", "error", name, "Other bytes than the data's.", CALLDATA, step)
        else:
            words = "A member that payerkit does not know; a wallet may obey it."
            yield say("member_unknown", "warning", visible(name)[:40], words, ANSWER, step)


def _metadata(case: PaymentReview) -> Iterator[Finding]:
    metadata = getattr(case.payment, "metadata", None)
    if metadata is None:
        return
    approvals = [step.number for step in case.steps for line in step.lines if line.does == "approve"]
    payments = [step.number for step, _ in case.paying]
    claims: list[tuple[str, Any, list[Any]]] = [
        ("steps_required", metadata.steps_required, [len(case.steps)]),
        ("needs_approval", metadata.needs_approval, [bool(approvals)]),
        ("approval_transaction_index", metadata.approval_transaction_index, approvals),
        ("payment_transaction_index", metadata.payment_transaction_index, payments),
    ]
    for name, claimed, found in claims:
        if claimed is not None and claimed not in found:
            yield say("metadata_differs", "warning", name, "Does not fit the transactions.", ANSWER)
    for name in ("has_enough_balance", "has_enough_gas"):
        if getattr(metadata, name) is False:
            words = "By the service, the wallet has not enough for it."
            yield say("wallet_short", "warning", name, words, ANSWER)
