"""The card of a payment as text for a terminal: ASCII, but for what the payment itself says."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from payerkit.html import visible
from payerkit.signing.card_content import CardContent, Point, TransactionToSign, shown_points
from payerkit.wording import count_of

_WIDTH = 100
_MARKS = {"error": "x", "warning": "!", "info": "+"}


def card_text(content: CardContent) -> str:
    """Return verdict, sentence, what is not ok, what could not be checked, and what there is to sign."""
    environment = "" if content.environment is None else f"  [{content.environment}]"
    lines = [
        f"{content.verdict.upper()}  {content.headline}{environment}",
        *_wrapped(content.sentence),
        *(line for note in content.notes for line in _wrapped(note)),
        *_section(content.problems_title, content.problems),
        *(_wrapped(content.advice, first="  -> ", then="     ") if content.advice else []),
        *_section("Could not be checked", content.unchecked, mark="?"),
        *(["", *_wrapped(content.policy_advice)] if content.policy_advice else []),
        "",
        f"{count_of(len(content.passed), 'check')} passed.",
        *(line for each in content.transactions for line in ("", *_transaction(each))),
        *(line for each in content.messages for line in ("", f"Message to sign: {each.path}", *_table(each.rows))),
    ]
    return "\n".join(lines)


def compared_text(content: CardContent) -> str:
    """Return what the payment was compared with, and where that comes from."""
    rows = [
        (each.name, visible(each.value) + (f"  ({visible(each.source)})" if each.source else ""))
        for each in content.compared
    ]
    return "\n".join([content.compared_with, *_table(rows)])


def _section(title: str, points: tuple[Point, ...], *, mark: str = "") -> list[str]:
    """Return a list under its title; nothing without points."""
    lines = [line for point in shown_points(points) for line in _point(point, mark or _MARKS[point.severity])]
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
        *(("calldata digest", digest) for digest in transaction.other_digest),
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
