"""The card of a payment: whether to sign it, in a notebook, a file and a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Unpack

from payerkit import html
from payerkit.disk import save_file
from payerkit.findings import Finding, PaymentFindings
from payerkit.models.payments import ComparedWith, Payment
from payerkit.payments.card_content import (
    AFTER_STOP,
    CALLDATA,
    IMITATION,
    WITHOUT_POLICY,
    CardContent,
    CardRow,
    CardTable,
    Mark,
    Point,
    Section,
    capital,
    card_content,
)
from payerkit.payments.check import CheckedPayment, full_check
from payerkit.wording import visible

__all__ = ["AFTER_STOP", "IMITATION", "PaymentCard", "card_of"]


@dataclass(frozen=True, slots=True, repr=False)
class PaymentCard:
    """What a person needs to decide whether to sign a payment: `payment.card()`.

    Notebooks show it with its parts folded, `print` as text. `save` writes it as a page
    for somebody without Python.

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
    def of(cls, checked: CheckedPayment, order_source: str | None) -> PaymentCard:
        """Return the card of a checked payment. order_source: where its order comes
        from: a payment's own words for that, or "mixed".
        """
        content = card_content(checked, order_source or "given")
        return cls(
            content, content.findings.verdict, content.sentence, content.findings
        )

    def save(self, path: str | Path) -> None:
        """Write the card to an HTML file that needs no network and runs no script,
        replacing an existing one.

        Args:
            path: The file. A new one may be read by its owner alone.

        Raises:
            InvalidInput: The path is that of a symbolic link, or of no file.
            OSError: The file cannot be written; what was there is as it was.

        Example:
            >>> initiate_payment(client, order).card().save("payment.html")
        """
        save_file(path, _page(self.content))

    def html_for_form(self, controls: Callable[[Finding], str]) -> str:
        """Return the card as HTML for people who write no code; controls: buttons for a
        finding, as HTML.
        """
        sections = tuple(_for_form(section) for section in self.content.sections)
        return _card(replace(self.content, sections=sections), controls=controls)

    def __str__(self) -> str:
        return _card_text(self.content)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _card(self.content)


def card_of(payment: Payment, **given: Unpack[ComparedWith]) -> PaymentCard:
    """Return the card of a payment, as `Payment.card` documents it."""
    is_given = given.get("order") is not None or given.get("orders") is not None
    source = "given" if is_given else payment.order_source
    return PaymentCard.of(full_check(payment, **given), source)


def _for_form(section: Section) -> Section:
    """Return a section with the advice for people who write no code."""
    points = []
    for point in section.points:
        advice = point.advice
        if point.finding is not None:
            advice = point.finding.hint_form or advice
        points.append(replace(point, advice=advice))
    advice = section.advice
    if advice == WITHOUT_POLICY:  # forms show no lines of a policy
        advice = ""
    return replace(section, points=tuple(points), advice=advice)


def _no_controls(_: Finding) -> str:
    return ""


_SIGNS: Mapping[Mark, tuple[str, str, html.ChipKind]] = {
    "error": ("✗", "x", "error"),
    "warning": ("!", "!", "warning"),
    "info": ("✓", "+", "success"),
    "unchecked": ("?", "?", "neutral"),
}
"""The sign before a point, in a page and in a terminal, and its colour."""


@cache
def _style() -> str:
    return html.style() + files(__package__).joinpath("card.css").read_text("utf-8")


def _page(content: CardContent) -> str:
    """Return the card as a page of its own, in the light or dark colours of the
    reader's system.
    """
    checked = (
        f"Checked by payerkit at {content.checked_at:%Y-%m-%d %H:%M %Z}. Nothing on"
        " this page is loaded or run."
    )
    title = f"{content.findings.verdict.upper()}: {content.sentence}"
    foot = f'<p class="pk-foot">{html.escape(checked)}</p>'
    return html.page(title, _card(content, foot=foot))


def _card(
    content: CardContent,
    *,
    controls: Callable[[Finding], str] = _no_controls,
    foot: str = "",
) -> str:
    verdict = html.verdict(content.findings.verdict)
    headline = html.escape(content.headline)
    badge = ""
    if content.environment is not None:
        badge = html.badge(content.environment)
    parts = [
        (
            f'<div class="pk-verdict" role="status">{verdict} <b>{headline}</b>'
            f" {badge}</div>"
        ),
        f'<p class="pk-sentence">{html.escape(content.sentence)}</p>',
    ]
    for note in content.notes:
        parts.append(f'<p class="pk-note"><b>{html.escape(note)}</b></p>')
    for section in content.sections:
        parts.append(_section(section, controls))
    parts.append(foot)
    kind = html.VERDICT_KINDS[content.findings.verdict]
    frame = f'class="pk pk-card pk-{kind}" {html.inline(kind, "frame")}'
    return f"<div {frame}>{''.join(parts)}<style>{_style()}</style></div>"


def _section(section: Section, controls: Callable[[Finding], str]) -> str:
    parts = []
    if section.points:
        # A list of `div`s, as notebooks and forms style `ul`.
        items = "".join(_item(point, controls) for point in section.points)
        label = html.escape(section.title)
        parts.append(f'<div role="list" aria-label="{label}">{items}</div>')
    for table in section.tables:
        cells = [(capital(row.title), _cell(row)) for row in table.rows]
        parts.append(html.table(cells, caption=table.title))
    if section.advice:
        parts.append(f'<div class="pk-next">{html.advice(section.advice)}</div>')
    shown = "".join(parts)
    if section.is_folded:
        return html.folded(section.title, shown)
    return f'<div class="pk-head"><b>{html.escape(section.title)}</b></div>{shown}'


def _item(point: Point, controls: Callable[[Finding], str]) -> str:
    sign, _, kind = _SIGNS[point.mark]
    about = ""
    if point.about:
        about = f'<b class="pk-about">{html.escape(point.about)}</b> '
    buttons = controls(point.finding) if point.finding else ""
    text = f"{about}{html.escape(point.message)}{html.advice(point.advice)}"
    return (
        f'<div class="pk-point" role="listitem"><b class="pk-mark pk-{kind}">{sign}</b>'
        f" <span>{text}{buttons}</span></div>"
    )


def _cell(row: CardRow) -> str:
    is_code = row.title in {"to", CALLDATA}
    text = html.code(row.text) if is_code else html.escape(row.text)
    return f"{text} ({html.escape(row.note)})" if row.note else text


_WIDTH = 100


def _card_text(content: CardContent) -> str:
    first = f"{content.findings.verdict.upper()}  {content.headline}"
    if content.environment is not None:
        first = f"{first}  [{content.environment}]"
    lines = [first, *_wrapped(content.sentence)]
    for note in content.notes:
        lines += _wrapped(note)
    for section in content.sections:
        lines += ["", section.title]
        if not section.is_folded:
            for point in section.points:
                lines += _point_lines(point)
        if section.advice:
            lines += _wrapped(section.advice, first="  -> ", then="     ")
        for table in section.tables:
            lines += _table_lines(table)
    return "\n".join(lines)


def _point_lines(point: Point) -> Iterator[str]:
    _, sign, _ = _SIGNS[point.mark]
    message = point.message
    if point.about:
        message = f"{point.about}: {message}"
    yield from _wrapped(message, first=f"  {sign} ", then="    ")
    advice, *copied = point.advice.split("\n")
    if advice:
        yield from _wrapped(advice, first="    -> ", then="       ")
    for line in copied:
        yield f"       {visible(line)}"


def _table_lines(table: CardTable) -> Iterator[str]:
    """Yield the rows of a table below its title, without calldata: nobody reads it in a
    terminal.
    """
    if table.title:
        yield ""
        yield table.title
    rows = [row for row in table.rows if row.title != CALLDATA]
    width = max(len(row.title) for row in rows)
    for row in rows:
        note = f" ({row.note})" if row.note else ""
        yield f"  {row.title:<{width}}  {visible(row.text + note)}"


def _wrapped(text: str, *, first: str = "", then: str = "") -> list[str]:
    """Return a text in lines; addresses, and percentages such as "0.1 %", are not
    broken.
    """
    kept = visible(text).replace(" %", "\0%")
    lines = textwrap.wrap(
        kept,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=then,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]
