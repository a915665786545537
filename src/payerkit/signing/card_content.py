"""What a card says about a payment, as plain text: the same in a notebook, a file and a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Context, Decimal
from itertools import islice
from typing import Any, NamedTuple

from payerkit.findings import Finding, PaymentFindings, Severity
from payerkit.models.compared_with import OrderTerms
from payerkit.onchain.addresses import address_problem, is_same, with_checksum
from payerkit.onchain.amounts import format_amount, format_effect_amount, format_number, format_percentage, to_units
from payerkit.onchain.calldata import EffectKind
from payerkit.onchain.currencies import Currency, networks, real_money_note, request_decimals
from payerkit.onchain.effects import Effect
from payerkit.payment.check_payment import MAX_TRANSACTIONS
from payerkit.payment.payment_review import PaymentReview
from payerkit.payment.transactions import UNLIMITED, DecodedTransaction, contract_at, contract_name
from payerkit.policy.payment_policy import NO_POLICY
from payerkit.signing.device import device_lines, digest_of
from payerkit.wording import count_of, in_words, listed, visible

_MOST_ROWS = 40
_MOST_CHARACTERS = 80
_MOST_DEPTH = 6

_LAST_EXACT = 2**53
"""Numbers up to here are exact, however the message was read; as floats in a text, larger ones are not."""

_PLAIN = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]{1,78}(\.[0-9]+)?")
"""What is shown of others' texts: addresses, bytes and numbers. Other texts may be about people."""

_NAMED = {"domain.name", "domain.version", "primaryType"}
"""Texts that say what kind of message it is."""


def message_rows(message: Any) -> tuple[tuple[str, str], ...]:
    """Return what a message says, by the paths of its members; without the types, which say how it is hashed."""
    if isinstance(message, Mapping):
        message = {name: item for name, item in message.items() if name != "types"}
    return tuple(islice(_rows("", message, 0), _MOST_ROWS))


def _rows(path: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and depth < _MOST_DEPTH:
        for name, item in value.items():
            yield from _rows(f"{path}.{name}".removeprefix("."), item, depth + 1)
    elif isinstance(value, list) and depth < _MOST_DEPTH:
        for place, item in enumerate(value):
            yield from _rows(f"{path}[{place}]", item, depth + 1)
    else:
        yield visible(path)[:_MOST_CHARACTERS] or "content", _text(path, value)


def _text(path: str, value: Any) -> str:
    """Return a value if it is an address, a number or the kind of the message; else only what it is."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int | float):
        return str(int(value)) if abs(value) <= _LAST_EXACT and value == int(value) else "a number, not shown"
    if not isinstance(value, str) or not (path in _NAMED or _PLAIN.fullmatch(value)):
        return "text, not shown" if isinstance(value, str) else "more, not shown"
    text = visible(value)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}... ({len(text)} characters)"


NEVER_CHECKED = "Who controls an address, whether the wallet has enough money, and whether a contract has changed."
"""What no check of calldata can know; cards say so under every verdict."""

OWN_WORD = "The order is the file's own word: whoever wrote the file chose what the payment is compared with."
OWN_WORD_ADVICE = "Compare payee and amount with your own records."

OWN_ACCOUNT = "The bank account is the file's own word, and no transaction names it."
OWN_ACCOUNT_ADVICE = "Compare it with your own records."

WITHOUT_POLICY = (
    "No policy was given. To agree to lines that are shown here, save them in a file, such as policy.toml, and give "
    'it: policy=PaymentPolicy.read("policy.toml"), or in a terminal --policy policy.toml.'
)
"""What to do with the lines of findings, for those who have no policy yet."""

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
"""Fields of a transaction whose names are no words for a person."""

_MOST_CALLDATA = 20_000
"""Characters of a transaction's calldata that a card shows; longer calldata is compared by its digest."""

_ALL_CALLDATA = 100_000
"""Characters of calldata that a card shows in all."""

_MOST_EFFECTS = 250
"""Payments and approvals that a card shows in all; the service pays at most 200 at once (operator's documentation)."""

_MOST_POINTS = 100
"""Points of a list that a card shows."""


class Point(NamedTuple):
    """One thing to know about a payment.

    about: the transactions and the field, capitalised; "" for the payment as a whole. advice: what to do; lines after
    the first are to be copied.
    """

    severity: Severity
    about: str
    message: str
    advice: str


class Compared(NamedTuple):
    """One value that a payment was compared with. source: where it comes from."""

    name: str
    value: str
    source: str


class MessageToSign(NamedTuple):
    """A message to sign. path: the member of the response that holds it. rows: what it says, by the members' paths."""

    path: str
    rows: tuple[tuple[str, str], ...]


class CardContent:
    """All that a card says about a payment.

    order_source: where the order comes from. sources: the same for single members of the order, if they differ.

    sentence: what happens if all is signed. note: what else to know at once. problems: what is not ok, the worst
    first, under the title problems_title; advice: what to do about all of them. unchecked: what could not be checked.
    policy_advice: where to put the lines of these points.
    passed: what is ok. compared: what the payment was compared with; compared_with: the same in short. messages: what
    else there is to sign, which nobody should because of this card.
    """

    def __init__(
        self, review: PaymentReview, findings: PaymentFindings, *, order_source: str | None, sources: Mapping[str, str]
    ) -> None:
        many, is_stopped = len(review.transactions) > 1, findings.verdict == "stop"
        told = [each for each in findings if not each.unchecked]
        unchecked = _points((each for each in findings if each.unchecked), many=many)
        # Lines for a policy clear nothing that is wrong.
        is_agreeable = not findings.errors and any(each.policy_lines for each in findings)
        order, self.environment = review.payment.order, review.payment.environment
        self.note = "" if order is None else real_money_note(str(order.payment_currency), self.environment)
        self.compared = [*_compared(review, order_source, sources)]
        self.compared_with = _compared_with(review, self.compared)
        self.problems_title = "Not ok" if is_stopped else "To decide"
        self.problems = _points((each for each in told if each.severity != "info"), many=many)
        self.advice = AFTER_STOP if is_stopped else ""
        self.policy_advice = WITHOUT_POLICY if review.policy is NO_POLICY and is_agreeable else ""
        self.unchecked = (*unchecked, *_own_word(self.compared), Point("info", "In any payment", NEVER_CHECKED, ""))
        self.passed = _points((each for each in told if each.severity == "info"), many=many)
        decisions = [each for each in (*self.problems, *unchecked) if each.severity != "info"]
        self.verdict, self.checked_at = findings.verdict, review.now
        self.headline = _headline(findings.verdict, len(decisions), is_unchecked=not self.problems)
        self.sentence = payment_sentence(review, is_stopped=is_stopped)
        self.transactions = [TransactionToSign(review, each) for each in review.transactions[:MAX_TRANSACTIONS]]
        typed_messages = islice(review.payment.whole.typed_messages.items(), MAX_TRANSACTIONS)
        self.messages = [MessageToSign(visible(path)[:80], message_rows(message)) for path, message in typed_messages]


def shown_points(points: tuple[Point, ...]) -> tuple[Point, ...]:
    """Return the points of a list that a card shows; if there are too many, the last one counts the others."""
    rest = len(points) - _MOST_POINTS
    if rest <= 0:
        return points
    words = f"{count_of(rest, 'more point')}, not shown here: the findings of the card have all."
    return (*points[:_MOST_POINTS], Point(points[-1].severity, "", words, ""))


def _headline(verdict: str, count: int, *, is_unchecked: bool) -> str:
    """Return what to do. is_unchecked: there is nothing but what could not be checked."""
    if verdict == "ok":
        return "Everything that can be checked matches."
    if verdict == "stop":
        return "Do not sign."
    points = "this point" if count == 1 else f"these {count} points"
    what_to_do = f"Check {points} yourself" if is_unchecked else f"Decide on {points}"
    return f"{what_to_do} before anyone signs."


def _points(findings: Iterable[Finding], *, many: bool) -> tuple[Point, ...]:
    """Return each different finding once, errors first. many: tell which transactions it is about."""
    by_text: dict[tuple[Severity, str, str, str], list[Finding]] = {}
    for each in findings:
        by_text.setdefault((each.severity, each.field, each.message, each.hint), []).append(each)
    order = ("error", "warning", "info")
    return tuple(
        Point(severity, _about(found, many=many), message, hint)
        for (severity, _, message, hint), found in sorted(by_text.items(), key=lambda item: order.index(item[0][0]))
    )


def _about(found: list[Finding], *, many: bool) -> str:
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


def _own_word(compared: Iterable[Compared]) -> list[Point]:
    own = {each.name for each in compared if each.source == _SOURCES["file"]}
    order = [Point("info", "Order", OWN_WORD, OWN_WORD_ADVICE)] if own - {_ACCOUNT} else []
    return order + ([Point("info", "Account", OWN_ACCOUNT, OWN_ACCOUNT_ADVICE)] if _ACCOUNT in own else [])


def _compared_with(review: PaymentReview, compared: Iterable[Compared]) -> str:
    """Return what the payment was compared with, in short."""
    if not review.orders:
        return "Compared with no order"
    orders = "the order" if len(review.orders) == 1 else f"{len(review.orders)} orders"
    found = {each.source for each in compared if each.name != _ACCOUNT}
    sources = (source for source in _SOURCES.values() if source in found)
    return f"Compared with {orders} ({', otherwise '.join(sources)})"


def _compared(review: PaymentReview, order_source: str | None, sources: Mapping[str, str]) -> Iterator[Compared]:
    source = _SOURCES[order_source or "given"]
    if len(review.orders) == 1:
        for name, value in _members(review, review.ordered[0]).items():
            own = sources.get(name.replace(" ", "_"))
            yield Compared(name, value, _SOURCES[own] if own else source)
    for number, order in enumerate(review.orders, 1):
        if len(review.orders) > 1:
            members = _members(review, order)
            words = f"{members['amount']} {members['invoice currency']} in {members['payment currency']}"
            reference = f", reference {members['reference']}" if "reference" in members else ""
            yield Compared(f"order {number}", f"{words} to {members['payee']}{reference}", source)
    if not review.orders:
        yield Compared("order", "none", "nothing to compare payee and amount with")
    if review.account:
        source = "as sent" if review.payment.environment else _SOURCES["file"]
        yield Compared(_ACCOUNT, review.account, source)
    yield Compared("network", "not known" if review.network is None else str(networks()[review.network]), "")
    yield Compared("policy", review.policy.summary, review.policy.source)
    if len(review.orders) == 1:
        (order,) = review.orders
        is_needed = order.invoice_currency.lower() != order.payment_currency.lower()
        if is_needed and (rate := review.rate_of(order)):
            yield Compared("rate", f"{rate:f}", "as given" if review.rate else "by the policy")
        elif review.rate:
            yield Compared("rate", f"{review.rate:f}", "as given; not needed, since the currencies are the same")


def _members(review: PaymentReview, order: OrderTerms) -> dict[str, str]:
    reference = {"reference": order.payment_reference} if order.payment_reference else {}
    nobody = "none: the operator is paid" if review.account else "none"
    return reference | {
        "payee": nobody if order.payee is None else order.payee,
        "amount": order.amount,
        "invoice currency": order.invoice_currency,
        "payment currency": order.payment_currency,
    }


class TransactionToSign:
    """One transaction, for a person who compares it with a signing device.

    origin: the member of the response that holds it; "" for `transactions`. does: effects with their titles. device:
    what a device shows, line by line. other_digest: the calldata digest, for devices that show it beside a call that
    they read. lookup: pages about contract and payee, with their titles.
    """

    def __init__(self, review: PaymentReview, transaction: DecodedTransaction) -> None:
        call, network, effects = transaction.call, review.network, transaction.effects
        kinds = ", ".join(dict.fromkeys(effect.kind.value for effect in effects))
        before = sum(len(each.effects) for each in review.transactions[: transaction.index])
        shown = effects[: max(_MOST_EFFECTS - before, 0)]
        data, hidden = str(transaction.data or ""), len(effects) - len(shown)
        most = min(_MOST_CALLDATA, _ALL_CALLDATA // len(review.transactions))
        self.title = f"{transaction.index + 1} of {len(review.transactions)}{f': {kinds}' if kinds else ''}"
        self.origin = transaction.origin
        self.to = str(with_checksum(transaction.to))[:80] if transaction.to else "no address"
        self.contract = contract_name(transaction, network, review.policy) or "unknown"
        self.function = call.function.name if call.function else call.selector or "unknown"
        self.does = [row for effect in shown for row in _does(review, effect)]
        self.does += [("more", f"{hidden} of its payments and approvals are not shown here")] if hidden else []
        self.lookup = [*_lookup(review, transaction)]
        self.device, digest = device_lines(transaction, network, review.policy), digest_of(transaction)
        self.other_digest = [digest] if digest and not any(digest in line for line in self.device) else []
        self.calldata = data if len(data) <= most else f"{data[:most]}... ({len(data)} characters)"


def _does(review: PaymentReview, effect: Effect) -> Iterator[tuple[str, str]]:
    """Yield the titles and texts of an effect: what it allows, pays and takes as a fee."""
    token = review.token(effect.token)
    place = "" if effect.place is None else f" {effect.place + 1}"
    if effect.allowance is not None:
        is_unlimited = effect.allowance == UNLIMITED
        much = "everything, now and later" if is_unlimited else format_amount(effect.allowance, token)
        yield "allows", f"{_named(review, effect.spender)} to take {much}"
    if effect.is_payment:
        much = "an unknown amount" if effect.amount is None else format_effect_amount(effect, effect.amount, token)
        yield f"pays{place}", f"{much} to {_named(review, effect.recipient)}"
    if effect.fee:
        much = format_effect_amount(effect, effect.fee, token)
        yield f"fee{place}", f"{much} to {_named(review, effect.fee_recipient)}"
        if effect.amount is not None:
            yield f"in all{place}", format_effect_amount(effect, effect.amount + effect.fee, token)


def _named(review: PaymentReview, address: str | None) -> str:
    """Return an address in full, with the name that the policy has for it."""
    if address is None:
        return "an unknown wallet"
    name = review.policy.name_of(address, review.network)
    return f"{with_checksum(address)}{f' ({name})' if name else ''}"


def _lookup(review: PaymentReview, transaction: DecodedTransaction) -> Iterator[tuple[str, str]]:
    """Yield explorer pages about the contract and, outside a batch, the payee."""
    if review.network is None or not transaction.effects:
        return
    network = networks()[review.network]
    first = transaction.effects[0]
    pages = {"contract": transaction.to, "payee": first.recipient if first.place is None else None}
    for name, address in pages.items():
        if address_problem(address) != "address_malformed" and network.explorer:
            yield name, f"{network.explorer}/address/{with_checksum(address)}"  # by EIP-3091


_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NOTHING = "There is nothing to sign."
_ONLY_MESSAGES = "There is no transaction, but a message to sign, which payerkit cannot judge."
_TWO_DIGITS = Context(prec=2)
"""The share of a fee is rounded to what a person remembers of it; the findings have it exactly."""


def payment_sentence(review: PaymentReview, *, is_stopped: bool = False) -> str:
    """Return who is paid what, on which network, for which bank account, with which fee and how many signatures.

    It says "would" if the payment is stopped.
    """
    if not review.transactions:
        return _NOTHING if not review.payment.whole.typed_messages else _ONLY_MESSAGES
    has_unlimited = any(effect.allowance == UNLIMITED for each in review.transactions for effect in each.effects)
    words = [
        _pays(review, review.payments, is_stopped=is_stopped),
        *_fee_words(review, review.payments),
        *(["an unlimited allowance"] if has_unlimited else []),
        *_signatures(review),
    ]
    return f"{', '.join(words)}."


def short_address(address: str) -> str:
    """Return the beginning and the end of an address; enough to recognise it, not to compare it."""
    return address if len(address) <= 14 else f"{address[:6]}...{address[-4:]}"


def _pays(review: PaymentReview, payments: list[Effect], *, is_stopped: bool) -> str:
    pay, make = ("Would pay", "Would make") if is_stopped else ("Pays", "Makes")
    where = f" on {networks()[review.network].title}" if review.network else ""
    if not payments:
        is_readable = all(transaction.effects for transaction in review.transactions)
        return f"{pay} nobody{where}" if is_readable else f"Would do something that payerkit cannot read{where}"
    if _is_unknown_contract(review):
        pay, make = "Would ask an unknown contract to pay", "Would ask an unknown contract to make"
    purpose = f" for the account {review.account}" if review.account else ""
    if len(payments) == 1:
        return f"{pay} {_amount_to_pay(review, payments[0])}{where} to {_payee(review, payments[0])}{purpose}"
    wallets = len({str(payment.recipient).lower() for payment in payments})
    to = "one wallet" if wallets == 1 else f"{_number(wallets)} wallets"
    total = _sum(review, payments, [payment.amount for payment in payments])
    return f"{make} {_number(len(payments))} payments{where} to {to}{purpose}{f', {total} in all' if total else ''}"


def _is_unknown_contract(review: PaymentReview) -> bool:
    """Return True if a payment goes through a contract that payerkit does not know: then it may pay nobody."""
    for transaction in {payment.step: review.transactions[payment.step] for payment in review.payments}.values():
        contracts = transaction.call.function.contracts if transaction.call.function else ("ERC20",)
        if review.network is None or contracts == ("ERC20",):  # a token is judged by itself
            continue
        found = contract_at(transaction.to, review.network, contracts)
        if found is None or found.contract not in contracts:
            return True
    return False


def _payee(review: PaymentReview, payment: Effect) -> str:
    """Return the recipient: short if the order or the address book names it, in full if nothing vouches for it.

    One that looks like a known address is in full, too: short, it would be taken for that.
    """
    if payment.recipient is None:
        return "an unknown wallet"
    address = str(with_checksum(payment.recipient))
    if known := review.known(payment.recipient):
        return f"{short_address(address)} ({known.name})" if known.name else short_address(address)
    order = review.order_of(payment)
    is_ordered = order is not None and is_same(order.payee, payment.recipient)
    is_lookalike = review.policy.lookalike(payment.recipient) is not None
    return short_address(address) if is_ordered and not is_lookalike else address


def _amount_to_pay(review: PaymentReview, payment: Effect) -> str:
    token = review.token(payment.token)
    if payment.amount is None:
        return "an unknown amount"
    if payment.unit != "request":
        return _in_units(payment.amount, token)
    currency = payment.request_currency
    amount = _in_units(payment.amount, currency, request_decimals(currency) if currency else None)
    paid_in = token.ticker if token else "an unknown token"
    is_bounded = payment.max_to_spend not in {None, UNLIMITED}
    most = f" and at most {_in_units(payment.max_to_spend or 0, token)}" if is_bounded else ""
    return f"{amount} in {paid_in}, at the rate on execution{most},"


def _in_units(base: int, currency: Currency | None, decimals: int | None = None) -> str:
    """Return an amount with the currency's symbol, or in base units if the currency is not known."""
    if currency is None:
        return f"{base} base units of an unknown token"
    found = to_units(base, currency.decimals if decimals is None else decimals)
    return f"{format_number(found or Decimal(0))} {currency.ticker}"


def _fee_words(review: PaymentReview, payments: list[Effect]) -> list[str]:
    """Return the fees of all payments as a share of all amounts, or as an amount; nothing if they cannot be added."""
    legs = review.fee_legs.values()
    fees = [*(payment.fee for payment in payments), *(leg.amount for leg in legs)]
    if not payments or all(fee is None for fee in fees):
        return []
    fee, amount = sum(each or 0 for each in fees), sum(payment.amount or 0 for payment in payments)
    if fee == 0:
        return ["no fee"]
    if len({(each.token, each.unit, each.path[:1]) for each in (*payments, *legs)}) > 1:
        return ["with fees"]
    if amount == 0:
        return [f"fee {_sum(review, [*payments, *legs], fees) or 'unknown'}"]
    return [f"fee {format_percentage(_TWO_DIGITS.divide(Decimal(100 * fee), Decimal(amount)))}"]


def _sum(review: PaymentReview, effects: list[Effect], amounts: list[int | None]) -> str:
    """Return the sum of amounts in one token; "" if there are several tokens, or something is not known."""
    tokens = {(each.token, each.unit) for each in effects}
    token = review.token(effects[0].token)
    is_known = len(tokens) == 1 and effects[0].unit != "request" and token is not None and None not in amounts
    return _in_units(sum(each or 0 for each in amounts), token) if is_known else ""


def _signatures(review: PaymentReview) -> list[str]:
    """Return how many signatures it takes, and for what else than payments and approvals some of them are."""
    effects = [transaction.effects for transaction in review.transactions]
    unread = sum(not each for each in effects)
    other = sum(any(not one.is_payment and one.kind != EffectKind.APPROVE for one in each) for each in effects)
    words = [f"{_number(len(effects))} {'signature' if len(effects) == 1 else 'signatures'}"]
    words += [f"{_number(unread)} of them for something that payerkit cannot read"] if 0 < unread < len(effects) else []
    words += [f"{_number(other)} of them for a call of another kind"] if other else []
    return words + (["a message to sign beside them"] if review.payment.whole.typed_messages else [])


def _number(count: int) -> str:
    return _COUNTS[count] if count < len(_COUNTS) else str(count)
