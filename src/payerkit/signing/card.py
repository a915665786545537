"""The card of a payment: whether to sign it, in a notebook, as a file, and in a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Unpack

from payerkit import html
from payerkit.findings import PaymentFindings
from payerkit.models.compared_with import ComparedWith
from payerkit.models.payments import Payment
from payerkit.payment.check_payment import review_findings
from payerkit.payment.payment_review import PaymentReview
from payerkit.signing.card_content import CardContent, Point, TransactionToSign, shown_points
from payerkit.wording import count_of, visible

_MARKS = {"error": "✗", "warning": "!", "info": "✓"}
_KINDS: dict[str, html.Kind] = {"✗": "error", "!": "warning", "✓": "success", "?": "neutral"}
"""The colour of each mark; "?" is for what could not be checked."""

_SHOWN = 12
"""Points that a list shows; the rest is folded, so that one look still finds the worst."""


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
    findings: PaymentFindings

    @classmethod
    def of(
        cls, review: PaymentReview, *, order_source: str | None = None, sources: Mapping[str, str] | None = None
    ) -> PaymentCard:
        """Return the card of a payment under review; the sources of its order are those of `CardContent`."""
        findings = review_findings(review)
        return cls(CardContent(review, findings, order_source=order_source, sources=sources or {}), findings)

    @property
    def verdict(self) -> str:
        """Whether to sign: "ok", "look" or "stop"."""
        return self.content.verdict

    @property
    def sentence(self) -> str:
        """What happens if all transactions are signed."""
        return self.content.sentence

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

    def __str__(self) -> str:
        return f"{card_text(self.content)}\n\n{compared_text(self.content)}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _card(self.content)


def card_of(payment: Payment, **given: Unpack[ComparedWith]) -> PaymentCard:
    """Return the card of a payment, as `Payment.card` documents it."""
    is_given = given.get("order") is not None or given.get("orders") is not None
    review = PaymentReview(payment, **given)
    return PaymentCard.of(review, order_source="given" if is_given else payment.order_source)


@cache
def _style() -> str:
    return html.style() + files(__package__).joinpath("card.css").read_text("utf-8")


def _page(content: CardContent) -> str:
    """Return the card as a page of its own, in the light or dark colours of the reader's system."""
    checked = f"Checked by payerkit at {content.checked_at:%Y-%m-%d %H:%M %Z}. Nothing on this page is loaded or run."
    title = html.escape(f"{content.verdict.upper()}: {content.sentence}")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>body {{ margin: 16px; font-family: system-ui, sans-serif; }}</style>
</head>
<body>
{_card(content, foot=checked)}
</body>
</html>
"""


def _card(content: CardContent, *, foot: str = "") -> str:
    badge = "" if content.environment is None else html.badge(content.environment)
    lead = f'<p class="pk-note">{html.escape(content.note)}</p>' if content.note else ""
    kind = html.VERDICT_KINDS[content.verdict]
    headline = f"<span>{html.escape(content.headline)}</span>"
    compared = [
        (_capital(each.name), html.escape(f"{each.value} ({each.source})" if each.source else each.value))
        for each in content.compared
    ]
    to_sign = f"{count_of(len(content.transactions), 'transaction')} to sign: what your device shows, and the bytes"
    messages = [(each, [(path, html.code(text)) for path, text in each.rows]) for each in content.messages]
    parts = [
        f'<div class="pk-verdict" role="status">{html.verdict(content.verdict)}{headline}{badge}</div>',
        f'<p class="pk-sentence">{html.escape(content.sentence)}</p>{lead}',
        _section(content.problems_title, content.problems, advice=content.advice),
        _section("Could not be checked", content.unchecked, mark="?", advice=content.policy_advice),
        html.folded(f"{count_of(len(content.passed), 'check')} passed", _list(shown_points(content.passed))),
        html.folded(content.compared_with, html.table(compared, caption="")),
        html.folded(to_sign, "".join(map(_transaction_table, content.transactions))),
        *(html.folded(f"Message to sign: {each.path}", html.table(rows, caption="")) for each, rows in messages),
        f'<p class="pk-foot">{html.escape(foot)}</p>' if foot else "",
    ]
    return f'<div class="pk pk-card pk-{kind}">{"".join(parts)}<style>{_style()}</style></div>'


def _section(title: str, points: tuple[Point, ...], *, mark: str = "", advice: str = "") -> str:
    """Return a list under its title, its end folded if it is long; "" without points."""
    if not points:
        return ""
    shown = shown_points(points)
    rest = shown[_SHOWN:]
    more = html.folded(f"{len(points) - _SHOWN} more", _list(rest, mark=mark)) if rest else ""
    head = f'<div class="pk-head" role="heading" aria-level="4">{title}</div>'
    last = f'<div class="pk-next">{html.advice(advice)}</div>' if advice else ""
    return head + _list(shown[:_SHOWN], mark=mark) + more + last


def _list(points: Iterable[Point], *, mark: str = "") -> str:
    """Return points as a list; of `div`s, as notebooks and forms style `ul`."""
    items = "".join(_item(point, mark or _MARKS[point.severity]) for point in points)
    return f'<div role="list">{items}</div>'


def _item(point: Point, mark: str) -> str:
    about = f'<span class="pk-about">{html.escape(point.about)}</span>' if point.about else ""
    text = f"<div>{about}{html.escape(point.message)}{html.advice(point.advice)}</div>"
    return f'<div class="pk-point" role="listitem"><span class="pk-mark pk-{_KINDS[mark]}">{mark}</span>{text}</div>'


def _transaction_table(transaction: TransactionToSign) -> str:
    rows = [
        ("From the member", html.escape(transaction.origin)),
        ("To", f"{html.code(transaction.to)}<br>{html.escape(transaction.contract)}"),
        *((_capital(name), html.escape(text)) for name, text in transaction.does),
        ("Your device will show", "<br>".join(map(html.escape, transaction.device))),
        *(("Calldata digest (ERC-8213)", html.code(digest)) for digest in transaction.other_digest),
        ("Function", html.escape(transaction.function)),
        *((f"Look up the {name}", html.code(page)) for name, page in transaction.lookup),
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
        f"{content.verdict.upper()}  {content.headline}{environment}",
        *_wrapped(content.sentence),
        *_wrapped(content.note),
        *_text_section(content.problems_title, content.problems),
        *(_wrapped(content.advice, first="  -> ", then="     ") if content.advice else []),
        *_text_section("Could not be checked", content.unchecked, mark="?"),
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
