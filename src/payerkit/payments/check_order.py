"""Check an order before it is sent: its payee, its amount and its currencies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from payerkit.checks.codes import meant_codes
from payerkit.checks.records import as_mapping, check_record, in_order
from payerkit.errors import without_internal_frames
from payerkit.findings import Finding, Findings, order_finding
from payerkit.models.fields import fields_of
from payerkit.models.names import by_field_name
from payerkit.models.requests import PaymentOrder
from payerkit.payments.against import find_network
from payerkit.payments.onchain.addresses import address_problem, with_checksum
from payerkit.payments.onchain.amounts import positive_number
from payerkit.payments.onchain.currencies import (
    Currency,
    Network,
    find_currency,
    is_currency_id,
    is_payable,
    real_money_note,
)
from payerkit.payments.payee import payee_problem
from payerkit.payments.payment_policy import PaymentPolicy, given_policy
from payerkit.payments.pegs import peg_of
from payerkit.payments.terms import MOST_DIGITS
from payerkit.wording import listed

_MOST_PROPOSALS = 4
"""Ids that a hint names, for a symbol that several networks have."""


@without_internal_frames
def check_payment_order(
    order: Any, *, policy: PaymentPolicy | None = None, environment: str | None = None
) -> Findings:
    """Check an order before it is sent: its payee, its amount and its currencies;
    nothing is sent.

    An error is an order that cannot be paid, or whose payment `check_payment` would
    stop; `PaymentForm` does not send it. `initiate_payment` refuses only what the
    specification refuses, and leaves the rest to the service.

    Args:
        order: A `PaymentOrder`, or a dict or row with field names as here
            (`invoice_currency`) or on the wire (`invoiceCurrency`).
        policy: What you agreed to once: its tokens count as known, and its address book
            names the known payees.
        environment: Where the order is to be sent, as `client.environment` has it;
            outside of "live", the findings say whether the payment would move real
            money all the same.

    Returns:
        The findings in the order of the fields; empty if there are none.

    Raises:
        InvalidInput: `order` is not an order, or `policy` is not a policy.

    Example:
        >>> check_payment_order(
        ...     {**order, "payee": "vitalik.eth", "amount": "10 USD"}
        ... ).to_frame()[["field", "code"]]
            field         code
        0   payee   payee_name
        1  amount  amount_form
    """
    known = given_policy(policy)
    values, _ = by_field_name(PaymentOrder, as_mapping(PaymentOrder, order))
    texts = {name: _as_text(values.get(name)) for name in fields_of(PaymentOrder)}
    found = check_record(PaymentOrder, order)
    wrong = {each.field for each in found.errors}
    own = [
        each for each in _check(texts, known, environment) if each.field not in wrong
    ]
    return in_order(PaymentOrder, [*found, *own])


def unknown_currencies(order: Mapping[str, str], environment: str) -> list[Finding]:
    """Return the findings about the currencies of an order that are not known, with
    those that may be meant.
    """
    lookups = {"invoice_currency": "currencies", "payment_currency": "tokens"}
    return [
        _unknown(field, each, order[field], environment)
        for field, each in lookups.items()
        if not find_currency(order[field])
    ]


def _as_text(value: Any) -> str:
    """Return a value as it is sent; "" for a missing one, and for what cannot be
    sent.
    """
    if isinstance(value, Decimal):
        is_sendable = value.is_finite() and abs(value.adjusted()) < MOST_DIGITS
        return f"{value:f}" if is_sendable else ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return ""


def _check(
    order: Mapping[str, str], policy: PaymentPolicy, environment: str | None
) -> Iterator[Finding]:
    """Yield the findings about an order as text, "" for what it lacks."""
    for name, text in order.items():
        if text == "":
            yield order_finding("empty", field=name)
    name = order["payment_currency"]
    token = policy.find_currency(name)
    invoice = policy.find_currency(order["invoice_currency"])
    network = find_network(name, policy)
    if order["payee"]:
        # The payment currency may be of a network with addresses of its own, such as
        # Tron, or of one that payerkit does not know.
        is_unknown = bool(name) and token is None and network is None
        is_elsewhere = is_unknown or (network is not None and network.name == "tron")
        yield from _check_payee(
            order["payee"], network, policy, is_elsewhere=is_elsewhere
        )
    if order["amount"]:
        yield from _check_amount(order["amount"], invoice)
    if not is_currency_id(order["invoice_currency"]):
        yield order_finding("currency_form", field="invoice_currency")
    elif order["invoice_currency"] and invoice is None:
        yield _unknown(
            "invoice_currency", "currencies", order["invoice_currency"], environment
        )
    if name:
        yield from _check_payment_currency(name, token, network, invoice, environment)
    note = real_money_note(name, environment)
    if note:
        yield order_finding("real_money", note=note)


_HEX_DIGITS = re.compile("(?:0[xX])?([0-9a-fA-F]+)")
_NAME = re.compile(r"[^\s@:/]+(?:\.[^\W\d_]{2,})+")


def _check_payee(
    payee: str, network: Network | None, policy: PaymentPolicy, *, is_elsewhere: bool
) -> Iterator[Finding]:
    if address_problem(payee) == "address_malformed":
        is_hex = _HEX_DIGITS.fullmatch(payee)
        if not is_elsewhere or is_hex or payee.lower().endswith(".eth"):
            yield _malformed(payee)
        return
    problem = payee_problem(payee, policy)
    if problem is None:
        yield from _compare_with_book(payee, network, policy)
    else:
        yield problem


def _malformed(payee: str) -> Finding:
    """Return the finding about a payee that is no address, by what it probably is."""
    digits = _HEX_DIGITS.fullmatch(payee)
    if digits and len(digits[1]) == 64:
        return order_finding("payee_form.key")
    return order_finding("payee_name" if _NAME.fullmatch(payee) else "payee_form")


def _compare_with_book(
    payee: str, network: Network | None, policy: PaymentPolicy
) -> Iterator[Finding]:
    """Yield the finding about a payee that the address book of the policy does not
    have.
    """
    if policy.book.find(payee, None if network is None else network.name):
        return
    shown = with_checksum(payee)
    alike = policy.lookalike(payee)
    if alike is not None:
        yield order_finding("payee_lookalike", payee=shown, known=alike)
    elif not policy.names_payees:
        return
    elif payee not in policy.book:
        yield order_finding("payee_new", payee=shown)
    elif network is not None:
        yield order_finding("payee_new.network", network=network.name)


def _check_amount(amount: str, invoice: Currency | None) -> Iterator[Finding]:
    number = positive_number(amount)
    if number is None:
        yield order_finding(
            "amount_zero" if re.fullmatch("0+([.]0*)?", amount) else "amount_form"
        )
    elif (
        invoice is not None
        and -int(number.normalize().as_tuple().exponent) > invoice.decimals
    ):
        yield order_finding(
            "amount_decimals", currency=invoice.id, decimals=invoice.decimals
        )
    elif (
        invoice is not None
        and invoice.kind == "fiat"
        and invoice.decimals < 3
        and _IN_THOUSANDS.fullmatch(amount)
    ):
        yield order_finding(
            "amount_decimals.thousands",
            read=f"{number.normalize():f}",
            other=amount.replace(".", ""),
        )


_IN_THOUSANDS = re.compile("[1-9][0-9]{0,2}[.][0-9]{3}")


def _check_payment_currency(
    name: str,
    token: Currency | None,
    network: Network | None,
    invoice: Currency | None,
    environment: str | None,
) -> Iterator[Finding]:
    if not is_currency_id(name):
        yield order_finding("currency_form", field="payment_currency")
    elif token is not None and token.kind == "fiat":
        yield order_finding("fiat_pays", currency=token.id)
    elif network is None:
        yield _unknown("payment_currency", "tokens", name, environment)
    elif network.name == "tron":
        yield order_finding("network_unsupported", network=network.title)
    elif token is None:
        yield order_finding("currency_unlisted", network=network.name)
    elif not is_payable(token):
        yield order_finding("not_payable", network=network.title)
    elif invoice is not None:
        peg = peg_of(token)
        other = peg_of(invoice)
        if peg is not None and other is not None and peg != other:
            yield order_finding(
                "peg_differs", currency=token.id, peg=peg, invoice=invoice.id
            )


def _unknown(field: str, lookup: str, name: str, environment: str | None) -> Finding:
    """Return the finding about an id that is not known, with the ids that it may mean:
    in a sandbox, those of test networks first.
    """
    meant = list(meant_codes(lookup, name))
    if environment == "sandbox":
        # Tokens of faucets have an f before their name, such as fUSDC.
        meant += meant_codes(lookup, f"f{name}")
        meant.sort(key=lambda code: not code.is_test)
    if meant:
        proposals = [code.code for code in meant[:_MOST_PROPOSALS]]
        hint = f"Did you mean {listed(proposals, 'or')}?"
        return order_finding("currency_unknown.alike", field=field, hint=hint)
    return order_finding("currency_unknown", field=field)
