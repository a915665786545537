"""What an accountant keeps of payments: a page to print, without anything about the payer or the holder."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from payerkit import html
from payerkit.checks.schema import MASK
from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.findings import PaymentFindings
from payerkit.frames import rows_of
from payerkit.models import Payment
from payerkit.onchain.amounts import format_number
from payerkit.payment.check_many import CheckedPayment, checked_payments
from payerkit.payouts.lists import payments_frame
from payerkit.payouts.reconcile_orders import reconcile
from payerkit.payouts.trace_order import events_of
from payerkit.signing.device import digest_of
from payerkit.tables.spreadsheets import new_file_for_owner, require_new_file
from payerkit.wording import count_of, in_words

if TYPE_CHECKING:
    from payerkit.payment.check_many import Source
    from payerkit.policy.payment_policy import PaymentPolicy

_NUMBER = re.compile(rf"{MASK}\S*")
"""A masked account number in the text of a finding, with its last digits."""

_CELLS = (
    *("request_id", "reference", "network", "payee", "amount", "token", "fee"),
    *("state", "paid_amount", "payment_currency", "paid_at", "tx_hash"),
)
"""What is said of a payment, by the columns of `check_payments` and `reconcile`; the account is not."""


@without_internal_frames
def evidence(  # noqa: PLR0913 - what it is evidence of, each by name
    payments: Payment | Iterable[Source] | str | Path,
    path: str | Path,
    *,
    checked_by: str,
    paid: pd.DataFrame | None = None,
    events: pd.DataFrame | None = None,
    policy: PaymentPolicy | None = None,
    rate: Decimal | int | str | None = None,
    now: datetime | None = None,
) -> Path:
    """Write what was ordered, checked and paid to a page for an accountant; **beyond the specification**.

    The page is one HTML file with a style for print, which loads and runs nothing. It has no data of the payer or the
    account's holder; a reference that holds an e-mail address is masked.

    Args:
        payments: A `Payment`; or several, or the paths of their files or folder, as `check_payments` takes them.
        path: A new .html file, which its owner alone may read.
        checked_by: Who checked the payments, as it is to stand on the page.
        paid: From `list_payments`, for what was paid, when, and the hash.
        events: From `read_events`, for what happened afterwards, with the state of each signature.
        policy: What you agreed to, for the verdict.
        rate: The price of one unit of the payment currency in the invoice currency, for the verdict.
        now: When they were checked; by default, the clock's time.

    Returns:
        The path of the page.

    Raises:
        InvalidInput: For anything but such arguments, and if the file exists already. Nothing was written.
        OSError: The file cannot be written.

    Example:
        >>> evidence(samples["honest"], "evidence.html", checked_by="A. Example").name
        'evidence.html'
    """
    file, who = Path(path), checked_by.strip()
    require_new_file(file, {".html"})
    if not who:
        raise InvalidInput("checked_by: say who checked the payments, such as a name or a role.")
    several = [payments] if isinstance(payments, Payment) else payments
    labels, checked = checked_payments(several, policy=policy, rate=rate, now=now)
    names = range(1, len(labels) + 1) if isinstance(labels, pd.RangeIndex) else labels
    sections = [_section(str(name), each, paid, events) for name, each in zip(names, checked, strict=True)]
    when = next((f" at {each.compared.now:%Y-%m-%d %H:%M %Z}" for each in checked if each.compared), "")
    heading = f"Evidence of {count_of(len(sections), 'payment')}"
    body = html.picture(html.title(heading), *sections, html.small(f"Checked{when} by {who}, with payerkit."))
    with new_file_for_owner(file) as opened:
        opened.write(html.page(heading, body).encode())
    return file


def _section(label: str, checked: CheckedPayment, paid: pd.DataFrame | None, events: Any) -> str:
    """Return what is known of one payment, as a table and, if there are any, its events as another one."""
    found, cells = PaymentFindings(checked.findings), checked.row()
    points = [f"{html.MARKS[each.severity]} {_NUMBER.sub(MASK, each.message)} [{each.code}]" for each in found]
    lines: dict[str, list[str]] = {}
    happened: list[dict[str, Any]] = []
    if (compared := checked.compared) is not None:
        ids = {name: getattr(compared.payment, name) for name in ("request_id", "payment_reference")}
        happened = events_of([ids], events)
        if any(ids.values()) and (paid is not None or events is not None):
            listed = payments_frame([]) if paid is None else paid
            row = rows_of(reconcile([compared.payment], listed, events=events))[0]
            cells = {**row, "state": in_words(row["state"])} | cells
        orders = [f"{each.amount} {each.invoice_currency} in {each.payment_currency}" for each in compared.orders]
        lines[f"Order ({compared.payment.order_source or 'none'})"] = orders
        lines["Calldata digest (ERC-8213)"] = [digest_of(each) or "cannot be read" for each in compared.transactions]
    lines |= {in_words(name).capitalize(): [_text(cells[name])] for name in _CELLS if cells.get(name) is not None}
    rows = [(name, "<br>".join(map(html.escape, each))) for name, each in (lines | {"Findings": points}).items()]
    caption = html.Html(f"{html.verdict(found.verdict)} Payment {html.escape(label)}")
    cells_of_events = [[_text(each[name]) for name in ("at", "event", "sub_status", "signature")] for each in happened]
    head = ("time", "event", "off-ramp status", "signature")
    table = html.grid(head, cells_of_events, caption="Events") if happened else ""
    return f"<section>{html.table(rows, caption=caption)}{table}</section>"


def _text(cell: Any) -> str:
    if isinstance(cell, pd.Timestamp):
        return f"{cell:%Y-%m-%d %H:%M:%S} UTC"
    return format_number(cell) if isinstance(cell, Decimal) else str(cell or "")
