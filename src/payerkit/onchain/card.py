"""A payment as a person looks at it before signing: who pays what to whom, step by step, with what was found."""

from __future__ import annotations

from typing import Any

from payerkit import html
from payerkit.findings import Finding, PaymentFindings
from payerkit.onchain.addresses import spelled
from payerkit.onchain.amounts import line_text, text
from payerkit.onchain.effects import Effect
from payerkit.onchain.review import check_payment
from payerkit.onchain.review_approvals import UNLIMITED
from payerkit.onchain.review_base import PAYS
from payerkit.onchain.transactions import DecodedTransaction, asset, contract_name, network_of, read_steps

_MARKS = {"error": "✗ stop", "warning": "! look", "info": "✓ ok"}
_VERDICTS = {
    "ok": "OK: all that can be known here matches.",
    "look": "LOOK: read what is marked before anyone signs.",
    "stop": "STOP: do not sign this.",
}
_COLOURS = {"ok": "#2e7d32", "look": "#ef6c00", "stop": "#c62828"}


def card(payment: Any) -> str:
    """Return a payment as HTML: the order, the flow as a drawing, each transaction with its findings."""
    found = check_payment(payment)
    network = network_of(payment.order, payment.network)
    steps = read_steps(payment)
    whole = [] if payment.order is None else payment.order.rows()
    whole += [
        ("Network", html.escape(network)),
        ("Request id", html.escape(payment.request_id)),
        ("Reference", html.escape(payment.payment_reference)),
        *(payment.metadata.rows() if payment.metadata else []),
        *_findings([each for each in found if each.step is None]),
    ]
    style = f"border-left:6px solid {_COLOURS[found.verdict]};padding:4px 10px;margin:4px 0"
    said = f"<b>{_VERDICTS[found.verdict]}</b> Nothing moves before a wallet signs."
    parts = [
        f'<div role="status" style="{style}">{said}</div>',
        html.table(whole, caption="Payment"),
        _drawing(steps, network),
        *(_step(step, network, found) for step in steps),
    ]
    return "<div>" + "".join(parts) + "</div>"


def _step(step: DecodedTransaction, network: str | None, found: PaymentFindings) -> str:
    function = step.call.function
    rows = [
        ("Goes to", f"<code>{html.escape(step.to)}</code>"),
        ("Which is", html.escape(contract_name(step, network) or "unknown")),
        ("Calls", html.escape(function.name if function else step.call.selector or "nothing that is known")),
        *(row for line in step.lines for row in _line(line, network)),
        ("Native value", "unreadable" if step.value is None else f"{step.value} wei"),
        ("Fingerprint", f"<code>{fingerprint(step)}</code>"),
        *_findings([each for each in found if each.step == step.number]),
    ]
    return html.table(rows, caption=f"Transaction {step.number + 1}{_what(step)}")


def _what(step: DecodedTransaction) -> str:
    does = {line.does for line in step.lines}
    return f": {', '.join(sorted(does))}" if does else ""


def _line(line: Effect, network: str | None) -> list[tuple[str, str]]:
    token = asset(line.token, network)
    place = "" if line.place is None else f" {line.place + 1}"
    rows = []
    if line.allowance is not None:
        much = "everything, now and later" if line.allowance == UNLIMITED else text(line.allowance, token)
        rows.append(("Allows", _to(much, line.spender)))
    if line.does in PAYS:
        much = "unknown" if line.amount is None else line_text(line, line.amount, token)
        rows.append((f"Pays{place}", _to(much, line.recipient)))
    if line.fee:
        rows.append((f"Fee{place}", _to(line_text(line, line.fee, token), line.fee_recipient)))
    return rows


def _to(much: str, address: str | None) -> str:
    return f"{html.escape(much)} to <code>{html.escape(spelled(address))}</code>"


def _findings(found: list[Finding]) -> list[tuple[str, str]]:
    ranked = sorted(found, key=lambda each: ["error", "warning", "info"].index(each.severity))
    return [(_MARKS[each.severity], html.escape(f"{each.message} {each.hint}".rstrip())) for each in ranked]


def fingerprint(step: DecodedTransaction) -> str:
    """Return keccak-256 of a transaction's data, to compare with what a signing device shows; "" without data."""
    from eth_hash.auto import keccak  # noqa: PLC0415 - loaded when first needed

    if step.call.code in {"missing", "not_hex", "elided", "odd", "too_long"}:
        return "cannot be computed from this data"
    return f"0x{keccak(step.call.data).hex()}" if step.call.data else "no data"


def _drawing(steps: tuple[DecodedTransaction, ...], network: str | None) -> str:
    """Return the flow of a payment: wallet, contract, payee and fee; nothing if not exactly one is made."""
    paying = [(step, line) for step in steps for line in step.lines if line.does in PAYS and line.recipient]
    if len(paying) != 1:
        return ""  # one arrow would hide the others
    step, line = paying[0]
    amount = "?" if line.amount is None else line_text(line, line.amount, asset(line.token, network))
    boxes = [
        (8, 30, "your wallet", ""),
        (248, 30, contract_name(step, network) or "unknown contract", short(step.to)),
        (488, 8 if line.fee else 30, "payee", short(spelled(line.recipient))),
    ]
    arrows = [(168, 55, 248, 55, amount), (408, 55, 488, 33 if line.fee else 55, "")]
    if line.fee:
        boxes.append((488, 70, "fee", short(spelled(line.fee_recipient))))
        arrows.append((408, 55, 488, 95, ""))
    shapes = [_box(*box) for box in boxes] + [_arrow(*arrow) for arrow in arrows]
    said = f"{amount} from your wallet through {boxes[1][2]} to {line.recipient}"
    height = 130 if line.fee else 90
    return (
        f'<svg viewBox="0 0 660 {height}" width="660" style="max-width:100%" role="img" '
        f'aria-label="{html.escape(said)}" '
        f'font-family="sans-serif" font-size="13" fill="currentColor" stroke="none">{"".join(shapes)}</svg>'
    )


def _box(x: int, y: int, title: str, below: str) -> str:
    frame = f'<rect x="{x}" y="{y}" width="160" height="50" rx="6" fill="none" stroke="currentColor"/>'
    middle = x + 80
    first = f'<text x="{middle}" y="{y + (22 if below else 30)}" text-anchor="middle">{html.escape(title)}</text>'
    second = f'<text x="{middle}" y="{y + 40}" text-anchor="middle" font-size="11">{html.escape(below)}</text>'
    return frame + first + (second if below else "")


def _arrow(x1: int, y1: int, x2: int, y2: int, label: str) -> str:
    line = f'<line x1="{x1}" y1="{y1}" x2="{x2 - 7}" y2="{y2}" stroke="currentColor"/>'
    tip = f'<path d="M{x2} {y2} l-9 -5 v10 z"/>'
    words = f'<text x="{(x1 + x2) // 2}" y="{y1 - 32}" text-anchor="middle" font-size="11">{html.escape(label)}</text>'
    return line + tip + (words if label else "")


def short(address: Any) -> str:
    """Return an address short enough for a drawing: its beginning and its end."""
    address = "" if address is None else str(address)
    return address if len(address) <= 14 else f"{address[:6]}…{address[-4:]}"
