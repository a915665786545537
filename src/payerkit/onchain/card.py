"""The HTML card of a payment: verdict, order, a drawing of who pays whom, and each transaction with its findings."""

from __future__ import annotations

from payerkit import html
from payerkit.findings import Finding, PaymentFindings
from payerkit.onchain.addresses import with_checksum
from payerkit.onchain.amounts import format_amount, format_effect_amount
from payerkit.onchain.effects import Effect
from payerkit.onchain.protocols import PaymentLike
from payerkit.onchain.real_money import real_money_note
from payerkit.onchain.review import check_payment
from payerkit.onchain.review_base import UNLIMITED
from payerkit.onchain.transactions import (
    DecodedTransaction,
    contract_name,
    decode_payment,
    network_of,
    resolve_currency,
)

_MARKS = {"error": "✗ stop", "warning": "! look", "info": "✓ ok"}
_VERDICTS = {
    "ok": "OK: everything that can be checked here matches.",
    "look": "LOOK: read what is marked before anyone signs.",
    "stop": "STOP: do not sign this.",
}
_COLOURS = {"ok": "#2e7d32", "look": "#ef6c00", "stop": "#c62828"}


def payment_card(payment: PaymentLike) -> str:
    """Return a payment as HTML."""
    found = check_payment(payment)
    network = network_of(payment.order, payment.network)
    transactions = decode_payment(payment)
    order = payment.order
    note = "" if order is None else real_money_note(str(order.payment_currency), payment.environment)
    rows = [("! real money", html.escape(note))] if note else []
    rows += [] if order is None else order.rows()
    rows += [
        ("Network", html.escape(network)),
        ("Request id", html.escape(payment.request_id)),
        ("Reference", html.escape(payment.payment_reference)),
        *(payment.metadata.rows() if payment.metadata else []),
        *_finding_rows([each for each in found if each.step is None]),
    ]
    style = f"border-left:6px solid {_COLOURS[found.verdict]};padding:4px 10px;margin:4px 0"
    badge = "" if payment.environment is None else f" {html.badge(payment.environment)}"
    verdict = f"<b>{_VERDICTS[found.verdict]}</b> Nothing moves before a wallet signs.{badge}"
    parts = [
        f'<div role="status" style="{style}">{verdict}</div>',
        html.table(rows, caption="Payment"),
        _drawing(transactions, network),
        *(_transaction_table(transaction, network, found) for transaction in transactions),
    ]
    return "<div>" + "".join(parts) + "</div>"


def _transaction_table(transaction: DecodedTransaction, network: str | None, found: PaymentFindings) -> str:
    call, descriptions = transaction.call, sorted({effect.kind.value for effect in transaction.effects})
    rows = [
        ("To", f"<code>{html.escape(transaction.to)}</code>"),
        ("Contract", html.escape(contract_name(transaction, network) or "unknown")),
        ("Function", html.escape(call.function.name if call.function else call.selector or "unknown")),
        *(row for effect in transaction.effects for row in _effect_rows(effect, network)),
        ("Native value", "unreadable" if transaction.value is None else f"{transaction.value} wei"),
        ("Fingerprint", f"<code>{calldata_hash(transaction)}</code>"),
        *_finding_rows([each for each in found if each.step == transaction.index]),
    ]
    caption = f"Transaction {transaction.index + 1}" + (f": {', '.join(descriptions)}" if descriptions else "")
    return html.table(rows, caption=caption)


def _effect_rows(effect: Effect, network: str | None) -> list[tuple[str, str]]:
    token = resolve_currency(effect.token, network)
    place = "" if effect.place is None else f" {effect.place + 1}"
    rows = []
    if effect.allowance is not None:
        is_unlimited = effect.allowance == UNLIMITED
        much = "everything, now and later" if is_unlimited else format_amount(effect.allowance, token)
        rows.append(("Allows", _amount_to(much, effect.spender)))
    if effect.is_payment:
        much = "an unknown amount" if effect.amount is None else format_effect_amount(effect, effect.amount, token)
        rows.append((f"Pays{place}", _amount_to(much, effect.recipient)))
    if effect.fee:
        much = format_effect_amount(effect, effect.fee, token)
        rows.append((f"Fee{place}", _amount_to(much, effect.fee_recipient)))
        if effect.amount is not None:
            total = format_effect_amount(effect, effect.amount + effect.fee, token)
            rows.append((f"In all{place}", html.escape(total)))
    return rows


def _amount_to(much: str, address: str | None) -> str:
    return f"{html.escape(much)} to <code>{html.escape(with_checksum(address))}</code>"


def _finding_rows(found: list[Finding]) -> list[tuple[str, str]]:
    ranked = sorted(found, key=lambda each: ["error", "warning", "info"].index(each.severity))
    return [(_MARKS[each.severity], html.escape(f"{each.message} {each.hint}".rstrip())) for each in ranked]


def calldata_hash(transaction: DecodedTransaction) -> str:
    """Return the keccak-256 of the calldata, which some signing devices show, or the reason for having none."""
    from eth_hash.auto import keccak  # noqa: PLC0415 - loaded when first needed

    call = transaction.call
    if call.code in {"missing", "not_hex", "elided", "odd", "too_long"}:
        return "cannot be computed from this calldata"
    return f"0x{keccak(call.data).hex()}" if call.data else "no calldata"


def _drawing(transactions: tuple[DecodedTransaction, ...], network: str | None) -> str:
    """Return a drawing of wallet, contract, payee and fee; "" unless there is exactly one payment."""
    effects = [(each, effect) for each in transactions for effect in each.effects]
    payments = [(each, effect) for each, effect in effects if effect.is_payment and effect.recipient]
    if len(payments) != 1:
        return ""  # one arrow would hide the others
    transaction, effect = payments[0]
    token = resolve_currency(effect.token, network)
    amount = "?" if effect.amount is None else format_effect_amount(effect, effect.amount, token)
    boxes = [
        (8, 30, "your wallet", ""),
        (248, 30, contract_name(transaction, network) or "unknown contract", shorten_address(transaction.to)),
        (488, 8 if effect.fee else 30, "payee", shorten_address(with_checksum(effect.recipient))),
    ]
    total = amount if effect.amount is None else format_effect_amount(effect, effect.amount + (effect.fee or 0), token)
    arrows = [(168, 55, 248, 55, total), (408, 55, 488, 33 if effect.fee else 55, "")]
    label = f"{amount} from your wallet through {boxes[1][2]} to {effect.recipient}"
    if effect.fee:
        boxes.append((488, 70, "fee", shorten_address(with_checksum(effect.fee_recipient))))
        arrows.append((408, 55, 488, 95, ""))
        label += f", and a fee of {format_effect_amount(effect, effect.fee, token)} to {effect.fee_recipient}"
    shapes = [_box(*box) for box in boxes] + [_arrow(*arrow) for arrow in arrows]
    height = 130 if effect.fee else 90
    return (
        f'<svg viewBox="0 0 660 {height}" width="660" style="max-width:100%" role="img" '
        f'aria-label="{html.escape(label)}" '
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


def shorten_address(address: str | None) -> str:
    """Return an address short enough for the drawing: its beginning and its end."""
    address = address or ""
    return address if len(address) <= 14 else f"{address[:6]}…{address[-4:]}"
