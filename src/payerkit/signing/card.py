"""The card of a payment: whether to sign it. Its content is the same in a notebook, a file and a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain, product
from pathlib import Path
from typing import NamedTuple, Unpack

from payerkit import html
from payerkit._tsv import grouped
from payerkit.findings import SEVERITIES, Finding, PaymentFindings, Severity
from payerkit.models.payments import ComparedWith, Payment
from payerkit.onchain.addresses import are_alike, with_checksum
from payerkit.onchain.amounts import format_amount, format_effect_amount
from payerkit.onchain.calldata import UNLIMITED, Effect
from payerkit.onchain.currencies import networks, real_money_note
from payerkit.payment.check import MAX_TRANSACTIONS, findings_of
from payerkit.payment.compare import Comparison, DecodedTransaction, OrderTerms
from payerkit.policy.payment_policy import NO_POLICY
from payerkit.signing.device import device_lines, digest_of
from payerkit.signing.sentence import amount_to_pay, payment_sentence
from payerkit.wording import count_of, in_form, in_words, listed, visible


class Point(NamedTuple):
    """One thing to know about a payment.

    about: the transactions and the field, capitalised; "" for the payment as a whole. advice: what to do; lines after
    the first are to be copied. finding: the first that says it. controls: what a form adds, as HTML.
    """

    severity: Severity
    about: str
    message: str
    advice: str
    finding: Finding | None = None
    controls: str = ""


_NEVER_CHECKED = "Who controls an address, whether the wallet has enough money, and whether a contract has changed."
_NEVER_EXECUTED = "Who controls an address, and whether what the node says is true."
"""What no check of calldata can know, nor an execution on a node; cards say so under every verdict."""

_EXECUTED = ("executed", "not_executed")
"""The codes of findings that say what a node executed, or was asked instead, and at which block."""

_OWN_WORD = "The order is the file's own word: whoever wrote the file chose what the payment is compared with."
_OWN_ACCOUNT = "The bank account is the file's own word, and no transaction names it."

WITHOUT_POLICY = (
    "No policy was given. To agree to lines that are shown here, save them in a file, such as policy.toml, and give "
    'it: policy=PaymentPolicy.read("policy.toml"), or in a terminal --policy policy.toml.'
)
"""What to do with the lines of findings, for those who have no policy yet."""

IMITATION = "Stopped: this address imitates one you know."
"""The headline of a payment to an address that can be mistaken for a known one."""

AFTER_STOP = (
    "Sign none of the transactions. If the order is wrong, correct it. Otherwise request the payment again, and if it "
    "is STOP again, show this card to the service."
)
"""What to do instead of signing."""

_SOURCES: Mapping[str, str] = {"sent": "as sent", "given": "as given", "file": "the file's own word"}
"""Where an order comes from, in words."""

_ACCOUNT = "bank account"
"""The name of what a payment pays out to, among what it was compared with."""

_FIELDS = {"to": "address called"}
"""Fields of a transaction whose names need a plainer word."""

_MOST_CALLDATA = 20_000
"""Characters of a transaction's calldata that a card shows; longer calldata is compared by its digest."""

_ALL_CALLDATA = 100_000
"""Characters of calldata that a card shows in all."""

_MOST_EFFECTS = 250
"""Payments and approvals that a card shows in all; the service pays at most 200 at once (operator's documentation)."""

_MOST_POINTS = 100
"""Points of a list that a card shows."""


class ComparedValue(NamedTuple):
    """One value that a payment was compared with. source: where it comes from."""

    name: str
    value: str
    source: str


class CardContent:
    """All that a card says about a payment.

    order_source: where the order comes from. sources: the same for single members of the order, if they differ.

    findings: those of the checks, with the verdict. sentence: what happens if all is signed. notes: what else to know
    at once, such as what a node executed. problems: what is not ok, the worst first, under the title problems_title;
    advice: what to do about all of them. unchecked: what could not be checked. policy_advice: where to put the lines of
    these points. passed: what is ok. compared: what the payment was compared with; compared_with: the same in short.
    """

    def __init__(self, compared: Comparison, *, order_source: str, sources: Mapping[str, str]) -> None:
        self.findings = findings = findings_of(compared)
        many, is_stopped = len(compared.transactions) > 1, findings.verdict == "stop"
        asked = [each for each in findings if each.code in _EXECUTED and not each.unchecked]
        checked = [each for each in findings if not each.unchecked and each not in asked]
        unchecked = _points((each for each in findings if each.unchecked), many=many)
        # Lines for a policy clear nothing that is wrong.
        is_agreeable = not is_stopped and any(each.policy_lines for each in findings)
        order, self.environment = compared.payment.order, compared.payment.environment
        note = "" if order is None else real_money_note(str(order.payment_currency), self.environment)
        self.notes = [*filter(None, [note, _paid_for(compared)]), *(each.message for each in asked)]
        self.compared = [*_compared_values(compared, order_source, sources)]
        self.compared_with = _compared_with(compared, self.compared)
        self.problems_title = "Not ok" if is_stopped else "To decide"
        self.problems = _points((each for each in checked if each.severity != "info"), many=many)
        if not is_stopped:  # a person decides about what could not be checked, too
            self.problems += tuple(each for each in unchecked if each.severity != "info")
            unchecked = tuple(each for each in unchecked if each.severity == "info")
        self.advice = AFTER_STOP if is_stopped else ""
        self.policy_advice = WITHOUT_POLICY if compared.policy is NO_POLICY and is_agreeable else ""
        never = _NEVER_EXECUTED if any(each.code == "executed" for each in asked) else _NEVER_CHECKED
        self.unchecked = (*unchecked, *_own_word(self.compared), Point("info", "In any payment", never, ""))
        self.passed = _points((each for each in checked if each.severity == "info"), many=many)
        self.checked_at = compared.now
        self.headline = IMITATION if _imitates(compared, findings) else _headline(findings.verdict, len(self.problems))
        self.sentence = payment_sentence(compared, findings)
        self.transactions = [TransactionToSign(compared, each) for each in compared.transactions[:MAX_TRANSACTIONS]]


def shown_points(points: tuple[Point, ...]) -> tuple[Point, ...]:
    """Return the points of a list that a card shows; if there are too many, the last one counts the others."""
    rest = len(points) - _MOST_POINTS
    if rest <= 0:
        return points
    words = f"{count_of(rest, 'more point')}, not shown here: the findings of the card have all."
    return (*points[:_MOST_POINTS], Point(points[-1].severity, "", words, ""))


def _imitates(compared: Comparison, findings: PaymentFindings) -> bool:
    """Return True if an address looks like the one that was ordered, or that the policy knows, but is another."""
    pairs = product(compared.payments, compared.orders)
    is_alike = any(are_alike(each.recipient or "", order.payee or "") for each, order in pairs)
    return is_alike or any(each.code.endswith("_lookalike") for each in findings.errors)


def _headline(verdict: str, count: int) -> str:
    """Return the first line of the card, which says what to do. count: of the points to decide on."""
    if verdict == "ok":
        return "Everything that can be checked matches."
    if verdict == "stop":
        return "Do not sign."
    return f"Decide on {'this point' if count == 1 else f'these {count} points'} before anyone signs."


def _points(findings: Iterable[Finding], *, many: bool) -> tuple[Point, ...]:
    """Return each different finding once, errors first. many: tell which transactions it is about."""
    by_text = grouped(((each.severity, each.field, each.message, each.hint), each) for each in findings)
    points = [Point(key[0], _about(found, many=many), *key[2:], found[0]) for key, found in by_text.items()]
    return tuple(sorted(points, key=lambda point: SEVERITIES.index(point.severity)))


def _about(found: Sequence[Finding], *, many: bool) -> str:
    """Return the transactions, their payments in a batch, and the field that equal findings are about."""
    steps = sorted({each.step + 1 for each in found if each.step is not None})
    places = sorted({each.place + 1 for each in found if each.place is not None}) if len(steps) == 1 else []
    words = [_numbered("transaction", steps)] if many and steps else []
    words += [_numbered("payment", places)] if places else []
    field = found[0].field
    words += [_FIELDS.get(field, in_words(field))] if field else []
    words += [f"{len(found)} times"] if len(found) > max(1, len(steps), len(places)) else []
    text = ", ".join(words)
    is_name = bool(words) and bool(re.search(r"[A-Z.\[]", words[0]))  # of a member, which is spelled as in the response
    return text if is_name else text[:1].upper() + text[1:]


def _numbered(noun: str, numbers: list[int]) -> str:
    """Return such as "payment 3" or "payments 1 and 2"; only their count if there are many."""
    if len(numbers) > 5:
        return count_of(len(numbers), noun)
    return f"{noun}{'s' * (len(numbers) > 1)} {listed(numbers)}"


def _own_word(values: Iterable[ComparedValue]) -> Iterator[Point]:
    own = {each.name for each in values if each.source == _SOURCES["file"]}
    if own - {_ACCOUNT}:
        yield Point("info", "Order", _OWN_WORD, "Compare payee and amount with your own records.")
    if _ACCOUNT in own:
        yield Point("info", "Account", _OWN_ACCOUNT, "Compare it with your own records.")


def _compared_with(compared: Comparison, values: Iterable[ComparedValue]) -> str:
    """Return what the payment was compared with, in short."""
    if not compared.orders:
        return "Compared with no order"
    orders = "the order" if len(compared.orders) == 1 else f"{len(compared.orders)} orders"
    found = {each.source for each in values if each.name != _ACCOUNT}
    sources = (source for source in _SOURCES.values() if source in found)
    return f"Compared with {orders} ({', otherwise '.join(sources)})"


def _compared_values(compared: Comparison, order_source: str, sources: Mapping[str, str]) -> Iterator[ComparedValue]:
    if not compared.orders:
        yield ComparedValue("order", "none", "nothing to compare payee and amount with")
    elif len(compared.orders) == 1:
        for name, value in _members(compared, compared.original_orders[0]).items():
            yield ComparedValue(name, value, _SOURCES[sources.get(name.replace(" ", "_"), order_source)])
    else:
        for number, order in enumerate(compared.orders, 1):
            members = _members(compared, order)
            words = f"{members['amount']} {members['invoice currency']} in {members['payment currency']}"
            reference = f", reference {members['reference']}" if "reference" in members else ""
            yield ComparedValue(f"order {number}", f"{words} to {members['payee']}{reference}", _SOURCES[order_source])
    if compared.account:
        source = "as sent" if compared.payment.environment else _SOURCES["file"]
        yield ComparedValue(_ACCOUNT, compared.account, source)
    yield ComparedValue("network", "not known" if compared.network is None else str(networks()[compared.network]), "")
    yield ComparedValue("policy", compared.policy.summary, compared.policy.source)
    if len(compared.orders) == 1:
        (order,) = compared.orders
        is_needed = order.invoice_currency.lower() != order.payment_currency.lower()
        if is_needed and (rate := compared.rate_of(order)):
            yield ComparedValue("rate", f"{rate:f}", "as given" if compared.rate else "by the policy")


def _paid_for(compared: Comparison) -> str:
    """Return how much a payout pays for which amount of the order; "" for anything but a payout."""
    if compared.payment.payout is None or len(compared.payments) != 1 or len(compared.orders) != 1:
        return ""
    (payment,), (order,) = compared.payments, compared.orders
    paid = amount_to_pay(compared, payment)
    return f"{paid} for {order.amount} {order.invoice_currency}; the operator's rate and fee are not published."


def _members(compared: Comparison, order: OrderTerms) -> dict[str, str]:
    reference = {"reference": order.payment_reference} if order.payment_reference else {}
    nobody = "none: the operator is paid" if compared.account else "none"
    return reference | {
        "payee": nobody if order.payee is None else order.payee,
        "amount": order.amount,
        "invoice currency": order.invoice_currency,
        "payment currency": order.payment_currency,
    }


class TransactionToSign:
    """One transaction, for a person who compares it with a signing device.

    origin: the member of the response that holds it; "" for `transactions`. does: effects with their titles. device:
    what a device shows, line by line. digest: the calldata digest; None for calldata that cannot be read.
    """

    def __init__(self, compared: Comparison, transaction: DecodedTransaction) -> None:
        call, effects = transaction.call, transaction.effects
        kinds = ", ".join(dict.fromkeys(effect.kind.value for effect in effects))
        before = sum(len(each.effects) for each in compared.transactions[: transaction.index])
        shown = effects[: max(_MOST_EFFECTS - before, 0)]
        data, hidden = str(transaction.data or ""), len(effects) - len(shown)
        most = min(_MOST_CALLDATA, _ALL_CALLDATA // len(compared.transactions))
        self.title = f"{transaction.index + 1} of {len(compared.transactions)}{f': {kinds}' if kinds else ''}"
        self.origin = transaction.origin
        self.to = str(with_checksum(transaction.to))[:80] if transaction.to else "no address"
        self.contract = compared.contract_name(transaction) or "unknown"
        self.function = call.function.name if call.function else call.selector or "unknown"
        self.does = [row for effect in shown for row in _does(compared, effect)]
        self.does += [("more", f"{hidden} of its payments and approvals are not shown here")] if hidden else []
        self.device, self.digest = device_lines(transaction, compared.network), digest_of(transaction)
        self.calldata = data if len(data) <= most else f"{data[:most]}... ({len(data)} characters)"


def _does(compared: Comparison, effect: Effect) -> Iterator[tuple[str, str]]:
    """Yield the titles and texts of an effect: what it allows, pays and takes as a fee."""
    token = compared.token(effect.token)
    place = "" if effect.place is None else f" {effect.place + 1}"
    if effect.allowance is not None:
        is_unlimited = effect.allowance == UNLIMITED
        much = "everything, now and later" if is_unlimited else format_amount(effect.allowance, token)
        yield "allows", f"{_named(compared, effect.spender)} to take {much}"
    if effect.is_payment:
        much = "an unknown amount" if effect.amount is None else format_effect_amount(effect, effect.amount, token)
        yield f"pays{place}", f"{much} to {_named(compared, effect.recipient)}"
    if effect.fee:
        much = format_effect_amount(effect, effect.fee, token)
        yield f"fee{place}", f"{much} to {_named(compared, effect.fee_recipient)}"
        if effect.amount is not None:
            yield f"in all{place}", format_effect_amount(effect, effect.amount + effect.fee, token)


def _named(compared: Comparison, address: str | None) -> str:
    """Return an address in full, with the name that the policy has for it."""
    if address is None:
        return "an unknown wallet"
    name = compared.policy.name_of(address, compared.network)
    return f"{with_checksum(address)}{f' ({name})' if name else ''}"


@dataclass(frozen=True, slots=True, repr=False)
class PaymentCard:
    """What a person needs to decide whether to sign a payment: `payment.card()`.

    Notebooks show it with its parts folded, `print` as text. `save` writes it as a page for somebody without Python.

    Attributes:
        verdict: "ok", "look" or "stop".
        sentence: What happens if all transactions are signed.
        findings: All findings, as `check_payment` returns them.

    Example:
        >>> card = initiate_payment(client, order).card(rate="2500")
        >>> card.verdict
        'look'
        >>> card.sentence
        'Pays 0.004 ETH on Sepolia to 0x6923...C7D7, fee 0.1 %, one signature.'
    """

    content: CardContent
    verdict: str
    sentence: str
    findings: PaymentFindings

    @classmethod
    def of(
        cls, compared: Comparison, *, order_source: str | None = None, sources: Mapping[str, str] | None = None
    ) -> PaymentCard:
        """Return the card of a payment that was compared; the sources of its order are those of `CardContent`."""
        content = CardContent(compared, order_source=order_source or "given", sources=sources or {})
        return cls(content, content.findings.verdict, content.sentence, content.findings)

    def save(self, path: str | Path) -> None:
        """Write the card to an HTML file that needs no network and runs no script, replacing an existing one.

        Args:
            path: The file.

        Raises:
            OSError: The file cannot be written.

        Example:
            >>> initiate_payment(client, order).card().save("payment.html")
        """
        Path(path).write_text(_page(self.content), "utf-8")

    def html_for_form(self, controls: Callable[[Finding], str]) -> str:
        """Return the card as HTML for people who write no code; controls: buttons for a finding, as HTML."""

        def adapt(point: Point) -> Point:
            buttons = controls(point.finding) if point.finding else ""
            return point._replace(advice=in_form(point.advice).strip(), controls=buttons)

        content = copy(self.content)
        lists = content.problems, content.unchecked, content.passed
        content.problems, content.unchecked, content.passed = (tuple(map(adapt, points)) for points in lists)
        content.policy_advice = ""
        return _card(content)

    def __str__(self) -> str:
        return f"{card_text(self.content)}\n\n{compared_text(self.content)}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _card(self.content)


def card_of(payment: Payment, **given: Unpack[ComparedWith]) -> PaymentCard:
    """Return the card of a payment, as `Payment.card` documents it."""
    is_given = given.get("order") is not None or given.get("orders") is not None
    compared = Comparison(payment, **given)
    return PaymentCard.of(compared, order_source="given" if is_given else payment.order_source)


_MARKS = {"error": "✗", "warning": "!", "info": "✓"}
_KINDS: dict[str, html.Kind] = {"✗": "error", "!": "warning", "✓": "success", "?": "neutral"}
"""The colour of each mark; "?" is for what could not be checked."""


@cache
def _style() -> str:
    return html.style() + files(__package__).joinpath("card.css").read_text("utf-8")


def _page(content: CardContent) -> str:
    """Return the card as a page of its own, in the light or dark colours of the reader's system."""
    checked = f"Checked by payerkit at {content.checked_at:%Y-%m-%d %H:%M %Z}. Nothing on this page is loaded or run."
    return html.page(f"{content.findings.verdict.upper()}: {content.sentence}", _card(content, foot=checked))


def _card(content: CardContent, *, foot: str = "") -> str:
    badge = "" if content.environment is None else html.badge(content.environment)
    lead = "".join(f'<p class="pk-note"><b>{html.escape(note)}</b></p>' for note in content.notes)
    kind = html.VERDICT_KINDS[content.findings.verdict]
    verdict = html.verdict(content.findings.verdict)
    values = [
        (_capital(each.name), html.escape(f"{each.value} ({each.source})" if each.source else each.value))
        for each in content.compared
    ]
    to_sign = f"{count_of(len(content.transactions), 'transaction')} to sign: what your device shows, and the bytes"
    parts = [
        f'<div class="pk-verdict" role="status">{verdict} <b>{html.escape(content.headline)}</b> {badge}</div>',
        f'<p class="pk-sentence">{html.escape(content.sentence)}</p>{lead}',
        _section(content.problems_title, content.problems, advice=content.advice),
        _section("Could not be checked", content.unchecked, mark="?", advice=content.policy_advice),
        html.folded(f"{count_of(len(content.passed), 'check')} passed", _list(content.passed)),
        html.folded(content.compared_with, html.table(values, caption="")),
        html.folded(to_sign, "".join(map(_transaction_table, content.transactions))),
        f'<p class="pk-foot">{html.escape(foot)}</p>' if foot else "",
    ]
    frame = f'class="pk pk-card pk-{kind}" {html.inline(kind, "frame")}'
    return f"<div {frame}>{''.join(parts)}<style>{_style()}</style></div>"


def _section(title: str, points: tuple[Point, ...], *, mark: str = "", advice: str = "") -> str:
    """Return a list under its title; "" without points."""
    if not points:
        return ""
    head = f'<div class="pk-head"><b>{title}</b></div>'
    last = f'<div class="pk-next">{html.advice(advice)}</div>' if advice else ""
    return head + _list(points, mark=mark, label=title) + last


def _list(points: tuple[Point, ...], *, mark: str = "", label: str = "Passed") -> str:
    """Return points as a list; of `div`s, as notebooks and forms style `ul`."""
    items = "".join(_item(point, mark or _MARKS[point.severity]) for point in shown_points(points))
    return f'<div role="list" aria-label="{label}">{items}</div>'


def _item(point: Point, mark: str) -> str:
    about = f'<b class="pk-about">{html.escape(point.about)}</b> ' if point.about else ""
    text = f"<span>{about}{html.escape(point.message)}{html.advice(point.advice)}{point.controls}</span>"
    return f'<div class="pk-point" role="listitem"><b class="pk-mark pk-{_KINDS[mark]}">{mark}</b> {text}</div>'


def _transaction_table(transaction: TransactionToSign) -> str:
    rows = [
        ("From the member", html.escape(transaction.origin)),
        ("To", f"{html.code(transaction.to)}<br>{html.escape(transaction.contract)}"),
        *((_capital(name), html.escape(text)) for name, text in transaction.does),
        ("Your device will show", "<br>".join(map(html.escape, transaction.device))),
        ("Calldata digest (ERC-8213)", html.code(transaction.digest) if transaction.digest else ""),
        ("Function", html.escape(transaction.function)),
        ("Calldata", html.code(transaction.calldata)),
    ]
    return html.table([row for row in rows if row[1]], caption=f"Transaction {transaction.title}")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_WIDTH = 100
_TEXT_MARKS = {"error": "x", "warning": "!", "info": "+"}


def card_text(content: CardContent) -> str:
    """Return verdict, sentence, what is not ok, what could not be checked, and what there is to sign."""
    environment = "" if content.environment is None else f"  [{content.environment}]"
    lines = [
        f"{content.findings.verdict.upper()}  {content.headline}{environment}",
        *_wrapped(content.sentence),
        *chain.from_iterable(map(_wrapped, content.notes)),
        *_text_section(content.problems_title, content.problems),
        *(_wrapped(content.advice, first="  -> ", then="     ") if content.advice else []),
        *_text_section("Could not be checked", content.unchecked, mark="?"),
        *(["", *_wrapped(content.policy_advice)] if content.policy_advice else []),
        "",
        f"{count_of(len(content.passed), 'check')} passed.",
        *(line for each in content.transactions for line in ("", *_transaction(each))),
    ]
    return "\n".join(lines)


def compared_text(content: CardContent) -> str:
    """Return what the payment was compared with, and where that comes from."""
    rows = [
        (each.name, visible(each.value) + (f"  ({visible(each.source)})" if each.source else ""))
        for each in content.compared
    ]
    return "\n".join([content.compared_with, *_table(rows)])


def _text_section(title: str, points: tuple[Point, ...], *, mark: str = "") -> list[str]:
    """Return a list under its title; nothing without points."""
    lines = [line for point in shown_points(points) for line in _point(point, mark or _TEXT_MARKS[point.severity])]
    return ["", title, *lines] if lines else []


def _point(point: Point, mark: str) -> Iterator[str]:
    about = f"{point.about}: " if point.about else ""
    advice, *copied = point.advice.split("\n")
    yield from _wrapped(f"{about}{point.message}", first=f"  {mark} ", then="    ")
    if advice:
        yield from _wrapped(advice, first="    -> ", then="       ")
    yield from (f"       {visible(line)}" for line in copied)


def _transaction(transaction: TransactionToSign) -> list[str]:
    rows = [
        *([("from", f"the member {transaction.origin}")] if transaction.origin else []),
        ("to", f"{transaction.to} ({transaction.contract})"),
        *transaction.does,
        *(("device shows" if not place else "", line) for place, line in enumerate(transaction.device)),
        *([("calldata digest", transaction.digest)] if transaction.digest else []),
        ("function", transaction.function),
    ]
    return [f"Transaction {transaction.title}", *_table([(name, visible(text)) for name, text in rows])]


def _table(rows: Iterable[tuple[str, str]]) -> list[str]:
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    return [f"  {name:<{width}}  {text}" for name, text in rows]


def _wrapped(text: str, *, first: str = "", then: str = "") -> list[str]:
    """Return a text in lines; addresses, and percentages such as "0.1 %", are not broken."""
    kept = visible(text).replace(" %", "\0%")
    lines = textwrap.wrap(
        kept, _WIDTH, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines]
