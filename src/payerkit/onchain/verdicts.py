"""Compare what the transactions of a payment do with what was asked for, and say everything that does not match."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from payerkit.errors import InvalidInput
from payerkit.findings import Finding, PaymentFindings, Severity
from payerkit.onchain import amounts
from payerkit.onchain.addresses import address_fault
from payerkit.onchain.approvals import judge_approval
from payerkit.onchain.calls import NOTES
from payerkit.onchain.case import ANSWER, CALLDATA, CONTRACTS, ORDER, PAYS, TOKENS, Case, as_order, say
from payerkit.onchain.deployments import deployments_at
from payerkit.onchain.payments import judge_payment
from payerkit.onchain.steps import Step, asset, contract_at, network_of, read_steps
from payerkit.tracebacks import trimmed


@trimmed
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
    if not hasattr(payment, "transactions"):
        raise InvalidInput(f"Give a Payment, as initiate_payment returns it; got a {type(payment).__name__}.")
    order = as_order(getattr(payment, "order", None) if order is None else order)
    network = network or getattr(payment, "network", None)
    case = Case(payment, read_steps(payment), order, network_of(order, network), amounts.read_rate(rate))
    found = [*_whole(case, network), *(each for step in case.steps for each in _step(case, step)), *_metadata(case)]
    return PaymentFindings(found)


def _whole(case: Case, named: str | None) -> Iterator[Finding]:
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
    if not case.paying:
        yield say("no_payment", "error", "transactions", "No transaction pays anybody.", CALLDATA)
    if len(case.paying) > 1:
        words = f"{len(case.paying)} payments, where one was asked for."
        yield say("several_payments", "error" if case.order else "warning", "transactions", words, CALLDATA)


def _step(case: Case, step: Step) -> Iterator[Finding]:
    yield from _bytes(step)
    yield from _target(case, step)
    yield from _value(step)
    for line in step.lines:
        if line.does == "approve":
            yield from judge_approval(case, step, line)
        elif line.does in PAYS:
            yield from judge_payment(case, step, line)
        else:
            words = f"The function is for: {line.does}. It was not asked for."
            yield say("other_function", "error", "data", words, CALLDATA, step)


def _bytes(step: Step) -> Iterator[Finding]:
    code = step.call.code
    if code == "not_canonical":
        yield say("not_canonical", "warning", "data", NOTES[code], CALLDATA, step, hint="Ask where they are from.")
    elif code in {"empty", "reference_only"}:
        yield say("plain_transfer", "warning", "data", NOTES[code], CALLDATA, step)
    elif code:
        yield say("unreadable_data", "error", "data", NOTES[code], CALLDATA, step)


def _target(case: Case, step: Step) -> Iterator[Finding]:
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


def _token_contract(case: Case, step: Step) -> Iterator[Finding]:
    token = asset(str(step.to), case.network)
    if token is None:
        yield say("token_unknown", "error", "to", f"No known token on {case.network}.", TOKENS, step)
    elif case.wanted and token != case.wanted:
        words = f"Goes to the contract of {token.id}, and not of {case.wanted.id}."
        yield say("token_differs", "error", "to", words, ORDER, step)
    else:
        yield say("token", "info", "to", f"Goes to the contract of {token.id}.", TOKENS, step)


def _value(step: Step) -> Iterator[Finding]:
    function = step.call.function
    if step.value is None:
        yield say("value_unreadable", "error", "value", "In no form that is known.", ANSWER, step)
    elif step.value and function is not None and not function.payable:
        words = "Native value, sent to a function that takes none: the transaction would fail."
        yield say("value_not_payable", "error", "value", words, CALLDATA, step)
    else:
        yield from _coverage(step)


def _coverage(step: Step) -> Iterator[Finding]:
    """Compare the value with what is paid natively."""
    paid = [(line.amount or 0) + (line.fee or 0) for line in step.lines if line.unit == "native" and line.does in PAYS]
    if not paid or step.value is None or step.value == sum(paid):
        return
    if step.value < sum(paid):
        words = "Less native value than is paid: the transaction would fail."
        yield say("value_small", "error", "value", words, CALLDATA, step)
    else:
        words = "More native value than is paid; the contract sends the rest back."
        yield say("value_large", "warning", "value", words, CALLDATA, step)


def _metadata(case: Case) -> Iterator[Finding]:
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
