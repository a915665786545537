"""What a card says about a payment, as lists of points and rows: the same in a
notebook, a file and a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from payerkit._tsv import grouped
from payerkit.findings import SEVERITIES, Finding, PaymentFindings, Severity
from payerkit.payments.against import Against
from payerkit.payments.amount import maximum_text
from payerkit.payments.check import CheckedPayment
from payerkit.payments.effects import MAX_TRANSACTIONS, Effects
from payerkit.payments.onchain.addresses import are_alike, with_checksum
from payerkit.payments.onchain.amounts import (
    format_amount,
    format_effect_amount,
)
from payerkit.payments.onchain.calldata import UNLIMITED, Effect
from payerkit.payments.onchain.currencies import (
    native_currency,
    networks,
    real_money_note,
)
from payerkit.payments.payment_policy import NO_POLICY
from payerkit.payments.sentence import amount_to_pay, in_units, payment_sentence
from payerkit.payments.terms import OrderTerms
from payerkit.payments.transactions import DecodedTransaction
from payerkit.wording import count_of, in_words, listed

Mark = Severity | Literal["unchecked"]
"""The mark of a point: its severity, or that something could not be checked."""


@dataclass(frozen=True, slots=True)
class Point:
    """One thing to know about a payment.

    about: the transactions and the field, capitalised; "" for the payment as a whole.
    advice: what to do; lines after the first are to be copied. finding: the first that
    says it.
    """

    mark: Mark
    about: str
    message: str
    advice: str
    finding: Finding | None = None


class CardRow(NamedTuple):
    """A title with its text. note: what else to know of the text, such as where it
    comes from.
    """

    title: str
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class CardTable:
    """Rows about one thing. title: "" if the section says what they are."""

    title: str
    rows: tuple[CardRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a card: points or tables. advice: what to do about all of it.

    is_folded: it is there to be looked up: a page shows it when somebody opens it, and
    a terminal has no more of its points than their number in the title.
    """

    title: str
    points: tuple[Point, ...] = ()
    tables: tuple[CardTable, ...] = ()
    advice: str = ""
    is_folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CardContent:
    """All that a card says about a payment.

    findings: those of the checks, with the verdict. environment: where the payment was
    requested; None if that is not known. headline: what to do. sentence: what happens
    if all is signed. notes: what else to know at once, such as what a node executed.
    sections: what is not ok, what could not be checked, what passed, what the payment
    was compared with, and what there is to sign.
    """

    findings: PaymentFindings
    environment: str | None
    headline: str
    sentence: str
    notes: tuple[str, ...]
    sections: tuple[Section, ...]
    checked_at: datetime


_NEVER_CHECKED = (
    "Who controls an address, whether the wallet has enough money, and whether a"
    " contract has changed."
)
_NEVER_EXECUTED = "Who controls an address, and whether what the node says is true."
"""What no check of calldata can know, nor an execution on a node; cards say so under
every verdict.
"""

_EXECUTED = ("executed", "not_executed")
"""The codes of findings that say what a node executed, or was asked instead, and at
which block.
"""

_OF_THE_ORDER = {
    "currency_fiat",
    "currency_form",
    "currency_unknown",
    "network_unsupported",
    "order_amount",
    "payee_checksum",
    "payee_malformed",
}
"""The codes of findings about an order that is wrong by itself."""

_OWN_WORD = (
    "The order is the file's own word: whoever wrote the file chose what the payment is"
    " compared with."
)
_OWN_ACCOUNT = "The bank account is the file's own word, and no transaction names it."

WITHOUT_POLICY = (
    "No policy was given. To agree to lines that are shown here, save them in a file,"
    ' such as policy.toml, and give it: policy=PaymentPolicy.read("policy.toml"), or in'
    " a terminal --policy policy.toml."
)
"""What to do with the lines of findings, for those who have no policy yet."""

IMITATION = "Stopped: this address imitates one you know."
"""The headline of a payment to an address that can be mistaken for a known one."""

AFTER_STOP = (
    "Sign none of the transactions. If the order is wrong, correct it. Otherwise"
    " request the payment again, and if it is STOP again, show this card to the"
    " service."
)
"""What to do instead of signing."""

_AFTER_WRONG_ORDER = (
    "Sign none of the transactions yet. Correct the order, then check the payment"
    " again."
)

_SOURCES: Mapping[str, str] = {
    "sent": "as sent",
    "given": "as given",
    "file": "the file's own word",
    "mixed": "as given, otherwise the file's own word",
}
"""Where an order comes from, in words."""

CALLDATA = "calldata"
"""The title of the bytes of a transaction, which are too long for a terminal."""

_FIELDS = {
    "data": "calldata",
    "has_been_paid": "paid already",
    "max_to_spend": "maximum",
    "to": "address called",
}
"""Fields whose names need a plainer word."""

_MOST_CALLDATA = 20_000
"""Characters of a transaction's calldata that a card shows."""

_ALL_CALLDATA = 100_000
"""Characters of calldata that a card shows in all."""

_MOST_EFFECTS = 250
"""Payments and approvals that a card shows in all; the service pays at most 200 at once
(operator's documentation).
"""

_MOST_POINTS = 100
"""Points of a list that a card shows."""


def card_content(checked: CheckedPayment, order_source: str) -> CardContent:
    """Return what a card says about a checked payment. order_source: where its order
    comes from.
    """
    effects = checked.effects
    against = checked.against
    findings = checked.findings
    executed: list[Finding] = []
    not_ok: list[Finding] = []
    passed: list[Finding] = []
    unchecked: list[Finding] = []
    for finding in findings:
        is_info = finding.severity == "info"
        if finding.unchecked and (is_info or findings.verdict == "stop"):
            unchecked.append(finding)
        elif finding.unchecked:  # A person decides about that, too.
            not_ok.append(finding)
        elif finding.code in _EXECUTED:
            executed.append(finding)
        elif is_info:
            passed.append(finding)
        else:
            not_ok.append(finding)
    not_ok.sort(key=lambda finding: finding.unchecked)
    is_many = len(effects.transactions) > 1
    problems = _points(not_ok, is_many=is_many)
    checks = _points(passed, is_many=is_many)
    never = _NEVER_CHECKED
    if any(finding.code == "executed" for finding in executed):
        never = _NEVER_EXECUTED
    not_checked = (
        *_shortened(_points(unchecked, is_many=is_many, mark="unchecked")),
        *_own_word(effects, order_source),
        Point("unchecked", "In any payment", never, ""),
    )
    to_sign = _transactions(effects, against)
    sections = [
        Section(
            title="Could not be checked",
            points=not_checked,
            advice=_policy_advice(against, findings),
        ),
        Section(
            title=f"{count_of(len(checks), 'check')} passed",
            points=_shortened(checks),
            is_folded=True,
        ),
        Section(
            title=_compared_with(against, order_source),
            tables=(CardTable("", tuple(_compared_rows(effects, against))),),
            is_folded=True,
        ),
        Section(
            title=f"{count_of(len(to_sign), 'transaction')} to sign",
            tables=to_sign,
            is_folded=True,
        ),
    ]
    if problems:
        title = "Not ok" if findings.verdict == "stop" else "To decide"
        sections.insert(
            0,
            Section(title=title, points=_shortened(problems), advice=_advice(findings)),
        )
    return CardContent(
        findings=findings,
        environment=effects.payment.environment,
        headline=_headline(effects, against, findings, len(problems)),
        sentence=payment_sentence(effects, against, findings),
        notes=(*_notes(effects, against), *[each.message for each in executed]),
        sections=tuple(sections),
        checked_at=against.now,
    )


def _shortened(points: tuple[Point, ...]) -> tuple[Point, ...]:
    """Return the points of a list that a card shows; if there are too many, the last
    one counts the others.
    """
    rest = len(points) - _MOST_POINTS
    if rest <= 0:
        return points
    words = (
        f"{count_of(rest, 'more point')}, not shown here: the findings of the card have"
        " all."
    )
    return (*points[:_MOST_POINTS], Point(points[-1].mark, "", words, ""))


def _headline(
    effects: Effects, against: Against, findings: PaymentFindings, count: int
) -> str:
    """Return the first line of the card, which says what to do. count: of the points to
    decide on.
    """
    if _imitates(effects, against, findings):
        return IMITATION
    if findings.verdict == "ok":
        return "Everything that can be checked matches."
    if findings.verdict == "stop":
        return "Do not sign."
    points = f"these {count} points"
    if count == 1:
        points = "this point"
    if any(finding.code == "payee_unnamed" for finding in findings):
        return f"The order names no payee. Decide on {points} before anyone signs."
    return f"Decide on {points} before anyone signs."


def _imitates(effects: Effects, against: Against, findings: PaymentFindings) -> bool:
    """Return True if an address looks like the one that was ordered, or that the policy
    knows, but is another.
    """
    if any(finding.code.endswith("_lookalike") for finding in findings.errors):
        return True
    for payment in effects.payments:
        for order in against.orders:
            if are_alike(payment.recipient or "", order.payee or ""):
                return True
    return False


def _advice(findings: PaymentFindings) -> str:
    """Return what to do about all that is not ok."""
    if findings.verdict != "stop":
        return ""
    if {finding.code for finding in findings.errors} <= _OF_THE_ORDER:
        return _AFTER_WRONG_ORDER
    return AFTER_STOP


def _policy_advice(against: Against, findings: PaymentFindings) -> str:
    """Return where to put the lines of findings; "" where there are none, or they would
    clear nothing since something is wrong.
    """
    has_lines = any(finding.policy_lines for finding in findings)
    if against.policy is NO_POLICY and has_lines and findings.verdict != "stop":
        return WITHOUT_POLICY
    return ""


def _notes(effects: Effects, against: Against) -> Iterator[str]:
    """Yield what to know at once: that money is real, and what a payout pays for."""
    order = effects.payment.order
    if order is not None:
        currency = str(order.payment_currency)
        note = real_money_note(currency, effects.payment.environment)
        if note:
            yield note
    is_single = len(effects.payments) == 1 and len(against.orders) == 1
    if effects.payment.payout is not None and is_single:
        paid = amount_to_pay(against, effects.payments[0])
        asked = against.orders[0]
        yield (
            f"{paid} are paid for {asked.amount} {asked.invoice_currency}; the"
            " operator's rate and fee are not published."
        )


def _points(
    findings: Iterable[Finding], *, is_many: bool, mark: Mark | None = None
) -> tuple[Point, ...]:
    """Return each different finding once, errors first. is_many: tell which
    transactions it is about. mark: if it is not the severity.
    """
    worst_first = sorted(findings, key=lambda each: SEVERITIES.index(each.severity))
    by_text = grouped(
        ((finding.severity, finding.field, finding.message, finding.hint), finding)
        for finding in worst_first
    )
    points = []
    for (severity, _, message, hint), same in by_text.items():
        about = _about(same, is_many=is_many)
        points.append(Point(mark or severity, about, message, hint, same[0]))
    return tuple(points)


def _about(same: Sequence[Finding], *, is_many: bool) -> str:
    """Return the transactions, their payments in a batch, and the field that equal
    findings are about.
    """
    steps = sorted({each.step + 1 for each in same if each.step is not None})
    places = []
    if len(steps) == 1:
        places = sorted({each.place + 1 for each in same if each.place is not None})
    words = []
    if is_many and steps:
        words.append(_numbered("transaction", steps))
    if places:
        words.append(_numbered("payment", places))
    field = same[0].field
    if field:
        words.append(_FIELDS.get(field, in_words(field)))
    if len(same) > max(1, len(steps), len(places)):
        words.append(f"{len(same)} times")
    text = ", ".join(words)
    # A name of a member is spelled as in the response.
    if words and re.search(r"[A-Z.\[]", words[0]):
        return text
    return capital(text)


def _numbered(noun: str, numbers: list[int]) -> str:
    """Return such as "payment 3" or "payments 1 and 2"; only their count if there are
    many.
    """
    if len(numbers) > 5:
        return count_of(len(numbers), noun)
    if len(numbers) > 1:
        return f"{noun}s {listed(numbers)}"
    return f"{noun} {numbers[0]}"


def capital(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def _own_word(effects: Effects, order_source: str) -> Iterator[Point]:
    """Yield a point for each fact that only the file states: it proves nothing."""
    if order_source in {"file", "mixed"} and effects.orders:
        advice = "Compare payee and amount with your own records."
        yield Point("unchecked", "Order", _OWN_WORD, advice)
    if effects.account and not effects.payment.environment:
        advice = "Compare it with your own records."
        yield Point("unchecked", "Account", _OWN_ACCOUNT, advice)


def _compared_with(against: Against, order_source: str) -> str:
    """Return what the payment was compared with, in short."""
    if not against.orders:
        return "Compared with no order"
    orders = "the order"
    if len(against.orders) > 1:
        orders = f"{len(against.orders)} orders"
    return f"Compared with {orders} ({_SOURCES[order_source]})"


def _compared_rows(effects: Effects, against: Against) -> Iterator[CardRow]:
    orders = against.original_orders
    if not orders:
        yield CardRow("order", "none", "nothing to compare payee and amount with")
    elif len(orders) == 1:
        yield from _order_rows(effects, orders[0])
    else:
        for number, order in enumerate(orders, 1):
            yield CardRow(f"order {number}", _order_in_words(order))
    if effects.account:
        source = "sent" if effects.payment.environment else "file"
        yield CardRow("bank account", effects.account, _SOURCES[source])
    yield CardRow("network", _network(against))
    yield CardRow("policy", against.policy.summary, against.policy.source)
    if len(orders) == 1:
        yield from _compared_rate(against, orders[0])


def _order_rows(effects: Effects, order: OrderTerms) -> Iterator[CardRow]:
    if order.payment_reference:
        yield CardRow("reference", order.payment_reference)
    payee = order.payee
    if payee is None:
        payee = "none: the operator is paid" if effects.account else "none"
    yield CardRow("payee", payee)
    yield CardRow("amount", order.amount)
    yield CardRow("invoice currency", order.invoice_currency)
    yield CardRow("payment currency", order.payment_currency)


def _order_in_words(order: OrderTerms) -> str:
    words = (
        f"{order.amount} {order.invoice_currency} in {order.payment_currency} to"
        f" {order.payee or 'no named payee'}"
    )
    if order.payment_reference:
        return f"{words}, reference {order.payment_reference}"
    return words


def _compared_rate(against: Against, order: OrderTerms) -> Iterator[CardRow]:
    rate = against.rate_of(order)
    if rate and order.invoice_currency.lower() != order.payment_currency.lower():
        source = "as given" if against.rate else "by the policy"
        yield CardRow("rate", f"{rate:f}", source)


def _network(against: Against) -> str:
    if against.network is None:
        return "not known"
    return str(networks()[against.network])


def _transactions(effects: Effects, against: Against) -> tuple[CardTable, ...]:
    left = _MOST_EFFECTS
    tables = []
    for transaction in effects.transactions[:MAX_TRANSACTIONS]:
        rows = tuple(_rows_to_sign(effects, against, transaction, left))
        tables.append(CardTable(_title_to_sign(effects, transaction), rows))
        left = max(left - len(transaction.effects), 0)
    return tuple(tables)


def _title_to_sign(effects: Effects, transaction: DecodedTransaction) -> str:
    """Return the number of a transaction, and what it does in a word."""
    title = f"Transaction {transaction.index + 1} of {len(effects.transactions)}"
    kinds = dict.fromkeys(effect.kind.value for effect in transaction.effects)
    return f"{title}: {', '.join(kinds)}" if kinds else title


def _rows_to_sign(
    effects: Effects, against: Against, transaction: DecodedTransaction, most: int
) -> Iterator[CardRow]:
    """Yield what a person compares of a transaction with a signing device. most:
    effects of it that are shown.
    """
    if transaction.origin:
        yield CardRow("from", f"the member {transaction.origin}")
    to = "no address"
    if transaction.to:
        to = str(with_checksum(transaction.to))[:80]
    yield CardRow("to", to, against.contract_name(transaction) or "unknown")
    for effect in transaction.effects[:most]:
        yield from _does(effects, against, effect)
    hidden = len(transaction.effects) - most
    if hidden > 0:
        yield CardRow(
            "more", f"{hidden} of its payments and approvals are not shown here"
        )
    yield CardRow("value", _value(transaction.value, against.network))
    yield CardRow("network", _network(against))
    function = transaction.call.selector or "unknown"
    if transaction.call.function:
        function = transaction.call.function.name
    yield CardRow("function", function)
    calldata = str(transaction.data or "")
    length = min(_MOST_CALLDATA, _ALL_CALLDATA // len(effects.transactions))
    if len(calldata) > length:
        calldata = f"{calldata[:length]}... ({len(calldata)} characters)"
    yield CardRow(CALLDATA, calldata)


def _value(value: int | None, network: str | None) -> str:
    """Return the native value of a transaction with the symbol of the network's coin,
    in wei if that is not known.
    """
    if value is None:
        return "cannot be read"
    coin = native_currency(network) if network else None
    if coin is None:
        return f"{value} wei"
    return in_units(value, coin)


def _does(effects: Effects, against: Against, effect: Effect) -> Iterator[CardRow]:
    """Yield the titles and texts of an effect: what it allows, pays and takes as a
    fee.
    """
    token = against.token(effect.token)
    place = ""
    if effect.place is not None:
        place = f" {effect.place + 1}"
    to = " to"
    if effect.unit == "request":  # the amount ends with "converted on execution"
        to = ", to"
    if effect.allowance is not None:
        much = format_amount(effect.allowance, token)
        if effect.allowance == UNLIMITED:
            much = "everything, now and later"
        yield CardRow("allows", f"{_named(against, effect.spender)} to take {much}")
    if effect.is_payment:
        much = "an unknown amount"
        if effect.amount is not None:
            much = format_effect_amount(effect, effect.amount, token)
        title = "pays"
        if effect.at in effects.fee_legs:
            title = "pays a fee"
        yield CardRow(
            f"{title}{place}", f"{much}{to} {_named(against, effect.recipient)}"
        )
        if effect.unit == "request":
            yield CardRow(f"takes{place}", maximum_text(effects, against, effect))
    if effect.fee:
        much = format_effect_amount(effect, effect.fee, token)
        yield CardRow(
            f"fee{place}", f"{much}{to} {_named(against, effect.fee_recipient)}"
        )
        if effect.amount is not None:
            in_all = format_effect_amount(effect, effect.amount + effect.fee, token)
            yield CardRow(f"in all{place}", in_all)


def _named(against: Against, address: str | None) -> str:
    """Return an address in full, with the name that the policy has for it."""
    if address is None:
        return "an unknown wallet"
    shown = str(with_checksum(address))
    name = against.policy.name_of(address, against.network)
    return f"{shown} ({name})" if name else shown
