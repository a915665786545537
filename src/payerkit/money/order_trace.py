"""Where the money of one order is: from the order to the bank, what is known of each
leg, and who says so.

Its state, whose move it is and what to do are those of `reconcile`, so that one order
and thirty have the same words.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from payerkit import html
from payerkit.client.client import Client
from payerkit.endpoints import endpoint
from payerkit.errors import NotFound
from payerkit.explanations import Explanation, explain_word, status_kind
from payerkit.frames import frame_of, rows_of
from payerkit.masking import mask
from payerkit.models import Payment, PaymentRequest
from payerkit.models.payments import read_payment
from payerkit.money.books import ExpectedOrder
from payerkit.money.events import events_of_sandbox
from payerkit.money.lists import REQUEST_DTYPES, list_payments, list_requests
from payerkit.money.payout_requests import get_request
from payerkit.money.reconcile import reconcile
from payerkit.money.sources import claims_of, payout_state
from payerkit.payments.card import AFTER_STOP
from payerkit.payments.onchain.amounts import format_number
from payerkit.payments.onchain.currencies import find_currency, networks
from payerkit.wire import check_id
from payerkit.wording import count_of, in_words, visible

if TYPE_CHECKING:
    from payerkit.payments.card import PaymentCard
    from payerkit.payments.payment_policy import PaymentPolicy

StageProgress = Literal["done", "now", "stopped", "ahead"]

LEGS = ("Order", "Request", "Transactions", "Paid on chain", "Off-ramp", "Bank")
"""The legs of the way, in their order; an order that pays a wallet ends on the
chain.
"""


@dataclass(frozen=True, slots=True)
class Leg:
    """One leg of the way from an order to the bank.

    Attributes:
        leg: Its title, such as "Paid on chain".
        known: What is known of it, in words; "" if nothing is.
        progress: "done", "now" (it is under way), "stopped", or "ahead".
        since: Since when (UTC), or None.
        source: Who says so: an order, a list, a response, the calldata or an event; ""
            if nothing is known.
        page: The explorer's page about it, or "".

    Example:
        >>> request = create_request(
        ...     client,
        ...     amount="25.50",
        ...     invoice_currency="USD",
        ...     payment_currency="USDC-sepolia",
        ... )
        >>> trace(client, request).legs[0].known
        '25.5 USD, to be paid in USDC-sepolia'
    """

    leg: str
    known: str = ""
    progress: StageProgress = "done"
    since: pd.Timestamp | None = None
    source: str = ""
    page: str = ""

    @property
    def words(self) -> str:
        """What is known, since when, and who says so, in one line; "" if nothing is."""
        details = []
        if self.since is not None:
            details.append(f"since {self.since:%Y-%m-%d %H:%M} UTC")
        if self.source:
            details.append(f"source: {self.source}")
        if not self.known or not details:
            return self.known
        return f"{self.known} ({'; '.join(details)})"


_KINDS: Mapping[StageProgress, html.ChipKind] = {
    "done": "success",
    "now": "warning",
    "stopped": "error",
    "ahead": "neutral",
}


@dataclass(frozen=True, slots=True, repr=False)
class Trace:
    """Where the money of one order is; **beyond the specification**. Notebooks show it
    as a table.

    Attributes:
        reference: Your reference, masked if it holds an e-mail address, or else the
            request id.
        state: The state of the order, as `reconcile` has it.
        explanation: What that means, whose move it is, and what to do; and why a payout
            bounced or failed, in the service's words.
        legs: All legs, in their order.
        current: The leg where the money is.

    Example:
        >>> request = create_request(
        ...     client,
        ...     amount="25.50",
        ...     invoice_currency="USD",
        ...     payment_currency="USDC-sepolia",
        ... )
        >>> found = trace(client, request)
        >>> found.state, found.current.leg, found.whose_move
        ('not_paid', 'Transactions', 'payer')
    """

    reference: str
    state: str
    explanation: Explanation
    legs: tuple[Leg, ...]
    current: Leg

    @property
    def whose_move(self) -> str:
        """Whose move it is: "payer", "payee", "you", "service" or "nobody"."""
        return self.explanation.whose_move

    @property
    def what_to_do(self) -> str:
        """The next step."""
        return self.explanation.what_to_do

    def __str__(self) -> str:
        head = [
            visible(f"{self.reference}: {in_words(self.state)}"),
            self.explanation.meaning,
            self.explanation.next_step,
        ]
        lines = ["\n  ".join(head), ""]
        for leg in self.legs:
            first = f"  {self._mark(leg)} {leg.leg:<15}"
            words = visible(f"{leg.words or 'ahead'} {leg.page}".rstrip())
            lines += textwrap.wrap(
                words, 110, initial_indent=first, subsequent_indent=" " * len(first)
            )
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        chip = html.chip(self._kind(self.current), in_words(self.state))
        meaning = html.escape(self.explanation.meaning)
        step = html.escape(self.explanation.next_step)
        rows = []
        for leg in self.legs:
            title = html.escape(f"{self._mark(leg)} {leg.leg}").replace(" ", "&nbsp;")
            if leg is self.current:
                title = f"<b>{title}</b>"
            since = ""
            if leg.since is not None:
                since = f"{leg.since:%Y-%m-%d&nbsp;%H:%M}"
            source = html.escape(leg.source)
            if leg.page:
                source = html.link(leg.page, f"{leg.source}; explorer")
            rows.append(
                (html.Html(title), html.Html(since), html.Html(source), leg.known)
            )
        table = html.grid(
            ("step", "since (UTC)", "who says so", "what is known"), rows, caption=""
        )
        return html.picture(
            html.title(self.reference, beside=chip),
            f"<div>{meaning}<br>{step}</div>",
            table,
        )

    def _kind(self, leg: Leg) -> html.ChipKind:
        if leg is self.current:
            return status_kind(self.explanation)
        return _KINDS[leg.progress]

    def _mark(self, leg: Leg) -> str:
        return html.MARKS[self._kind(leg)]


@endpoint
def trace(
    client: Client,
    reference: str | PaymentRequest | Payment,
    *,
    payment: Payment | str | Path | None = None,
    events: pd.DataFrame | None = None,
    policy: PaymentPolicy | None = None,
) -> Trace:
    """Return where the money of one order is: from the order to the bank, with whose
    move it is and what to do.

    **Beyond the specification**. It reads `list_requests`, `get_request` and
    `list_payments`, and changes nothing. State, move and next step are those of
    `reconcile`. Where the ledgers disagree, it is your move.

    Args:
        client: From `connect()` or `sandbox()`.
        reference: Your reference of the request, or its request id; or what
            `create_request`, `request_payment` or `initiate_payment` returned, with
            which the order is known, too.
        payment: The transactions, to say their verdict: a `Payment`, or the file that
            `payment.save(path)` wrote.
        events: From `read_events`; without them, nothing is known of off-ramp and bank.
            A sandbox's are read by themselves.
        policy: What you agreed to, for the verdict.

    Returns:
        The state of the order, and for each leg what is known, since when, and who says
        so. Nothing in it is personal, but what a card shows: bank and masked number of
        the account.

    Raises:
        InvalidInput: For a reference that cannot be sent, and for anything but such a
            payment or such events.
        NotSent: If a request never left this machine.
        Refused: If the service refused a call; for a known reason, as WrongKey or
            RateLimited.
        ServiceError: If the service failed.
        UnreadableAnswer: If a response is not what the API documents.

    Example:
        >>> request = create_request(
        ...     client,
        ...     amount="25.50",
        ...     invoice_currency="USD",
        ...     payment_currency="USDC-sepolia",
        ... )
        >>> print(trace(client, request.reference))
        payerkit-...: not paid
          No payment is known, but there may be one all the same.
          ...
          ✓ Order          25.5 USD, to be paid in USDC-sepolia (source: response)
          ✓ Request        0...: The request is not paid yet, as far as the service
          knows. (...)
          ! Transactions   Not given, so not checked.
          · Paid on chain  ahead
          · Off-ramp       ahead
          · Bank           ahead
    """
    to_sign = payment
    if payment is None and isinstance(reference, Payment):
        to_sign = reference
    if isinstance(to_sign, str | Path):
        to_sign = read_payment(to_sign)
    order = _order_of(reference)
    listed = _read_requests(client, order)
    requests = rows_of(listed)
    request = _merged(requests)
    known = {name: request.get(name) or value for name, value in order.ids.items()}
    ids = {name: value for name, value in known.items() if value}
    for name in _TERMS:
        own = getattr(order, name)
        known[name] = request.get(name) if own is None else own
    strongest = next(iter(ids))
    payments = list_payments(client, **{strongest: ids[strongest]}, reveal=True)
    if events is None:
        events = events_of_sandbox(client)
    if order.pays_wallet:
        known["payee"] = "a wallet"
    frame = reconcile([known], payments, requests=listed, events=events)
    row = rows_of(frame)[0]
    card = None
    if to_sign is not None:
        card = to_sign.card(policy=policy)
    place, explanation = _explain(row, requests, card, pays_wallet=order.pays_wallet)
    if to_sign is not None and to_sign.request_id not in {None, row["request_id"]}:
        other = "The transactions are those of another request: sign none of them."
        explanation = replace(explanation, whose_move="you", what_to_do=other)
    titles: Sequence[str] = LEGS
    if order.pays_wallet and place in LEGS[:4]:
        titles = LEGS[:4]
    legs = {title: Leg(title, progress="ahead") for title in titles}
    if place == "Transactions":
        legs[place] = Leg(place, "Not given, so not checked.")
    known["source"] = "order"
    if order.amount is None:
        known["source"] = request.get("source", "")
    known["paid_source"] = "event" if payments.empty else "list of payments"
    for leg in _known_legs(known, request, row, card):
        legs[leg.leg] = leg
    if client.environment != "sandbox":
        legs["Paid on chain"] = replace(legs["Paid on chain"], page=_page(row))
    legs[place] = _current(legs[place], explanation)
    shown = mask("reference", known["reference"] or ids[strongest])
    return Trace(shown, row["state"], explanation, tuple(legs.values()), legs[place])


_TERMS = ("amount", "invoice_currency", "payment_currency")


def _order_of(reference: str | PaymentRequest | Payment) -> ExpectedOrder:
    if isinstance(reference, Payment | PaymentRequest):
        return ExpectedOrder(reference)
    return ExpectedOrder({"reference": check_id(reference, "reference")})


def _merged(requests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what is known of the only request, of two words the later one."""
    if len({row["request_id"] for row in requests}) != 1:
        return {}
    merged: dict[str, Any] = {}
    for row in requests:
        merged |= {name: value for name, value in row.items() if value is not None}
    return merged


def _current(leg: Leg, explanation: Explanation) -> Leg:
    """Return the leg where the money is, by the explanation of its state."""
    progress: StageProgress = "now"
    if explanation.is_passed:
        progress = "done"
    elif status_kind(explanation) == "error":
        progress = "stopped"
    return replace(leg, progress=progress, known=leg.known or explanation.meaning)


def _read_requests(client: Client, order: ExpectedOrder) -> pd.DataFrame:
    """Return what the service's list says of the requests with an order's id or
    reference, and of a single one what its response says.

    A reference that no request has may be a request id.
    """
    request_id = order.ids["request_id"]
    reference = order.ids["reference"]
    dtypes = {**REQUEST_DTYPES, "source": "string"}
    frame = frame_of([], dtypes)
    if request_id is None and reference is not None:
        with suppress(NotFound):  # the service has no such list
            frame = list_requests(client, reference=reference, reveal=True)
    listed = rows_of(frame.assign(source="list of requests"))
    if request_id is None:
        request_id = listed[0]["request_id"] if listed else reference
    if len(listed) <= 1 and request_id is not None:
        with suppress(NotFound):
            listed.append(_response(client, request_id))
    requests = frame_of(listed, dtypes)
    requests.attrs.update(frame.attrs)
    return requests


def _response(client: Client, request_id: str) -> dict[str, Any]:
    """Return what the response of a request says of it, as the list would."""
    status = get_request(client, request_id)
    names = ("payment_reference", "reference", "status", "has_been_paid", "tx_hash")
    said = {name: getattr(status, name) for name in names}
    return said | {
        "request_id": request_id,
        "amount": status.request_amount,
        "source": "response",
    }


_LEG_OF_STATE = {
    "not_paid": "Transactions",
    "partly_paid": "Paid on chain",
    "unclear": "Paid on chain",
    "paid": "Off-ramp",
    "on_its_way": "Off-ramp",
    "at_the_bank": "Bank",
    "bounced": "Bank",
    "failed": "Off-ramp",
    "refunded": "Off-ramp",
    "paid_twice": "Paid on chain",
}
"""Where the money of an order is, by its state."""


def _explain(
    row: Mapping[str, Any],
    requests: Sequence[Mapping[str, Any]],
    card: PaymentCard | None,
    *,
    pays_wallet: bool,
) -> tuple[str, Explanation]:
    """Return the leg where the money is, and what its state means."""
    state = row["state"]
    place = _LEG_OF_STATE[state]
    known = explain_word(state, "order")
    if state in {"bounced", "failed"}:
        known = explain_word(row["bank_status"], "order")
    is_one_request = len({request["request_id"] for request in requests}) == 1
    if state == "paid" and pays_wallet:
        known = explain_word("paid", "request")
        place = "Paid on chain"
    elif state == "paid" and not row["payments"]:  # by the word of the request alone
        place = "Paid on chain"
    elif state == "at_the_bank" and row["payments"] and row["whose_move"] == "you":
        # The bank has its part, and what is to be settled is what was paid.
        place = "Paid on chain"
    elif state in {"not_paid", "unclear"} and not row["payments"]:
        if not is_one_request:
            place = "Request"
        elif claims_of(requests[-1]) == {"off"}:
            place = "Request"
            known = explain_word(requests[-1]["status"], "request")
    meaning = known.meaning
    if row["doubt"]:
        meaning += f" {row['doubt']}"
    if row["reason"]:
        meaning += f" The service says: {row['reason']}"
    explanation = replace(
        known,
        meaning=meaning,
        whose_move=row["whose_move"],
        what_to_do=row["what_to_do"],
    )
    if place == "Transactions" and card is not None and card.verdict == "stop":
        explanation = replace(explanation, whose_move="you", what_to_do=AFTER_STOP)
    return place, explanation


def _known_legs(
    order: Mapping[str, Any],
    request: Mapping[str, Any],
    row: Mapping[str, Any],
    card: PaymentCard | None,
) -> Iterator[Leg]:
    """Yield the legs of which something is known."""
    if order["amount"] is not None:
        words = f"{format_number(order['amount'])} {order['invoice_currency'] or ''}"
        words = words.rstrip()
        if order["payment_currency"]:
            words += f", to be paid in {order['payment_currency']}"
        yield Leg("Order", words, source=order["source"])
    if request:
        says = explain_word(request.get("status"), "request").meaning
        yield Leg(
            "Request",
            f"{request['request_id']}: {says}",
            since=request.get("created_at_utc"),
            source=request["source"],
        )
    if card is not None:
        words = f"{card.verdict.upper()}. {card.sentence}"
        yield Leg("Transactions", words, source="calldata")
    elif row["payments"]:
        yield Leg("Transactions", "Signed and sent.")
    if row["payments"]:
        amount = "An unknown amount"
        if row["paid_amount"] is not None:
            amount = format_number(row["paid_amount"])
        count = count_of(row["payments"], "payment")
        words = f"{amount} {row['payment_currency'] or ''} in {count}"
        if row["tx_hash"]:
            words += f", {row['tx_hash']}"
        source = order["paid_source"]
        yield Leg("Paid on chain", words, since=row["paid_at_utc"], source=source)
    status = row["bank_status"]
    if status is None:
        return
    words = explain_word(status, "payment").meaning
    since = row["bank_status_at_utc"]
    source = row["bank_source"]
    if payout_state(status) in {"at_the_bank", "bounced"}:
        yield Leg("Off-ramp", "The operator has paid out.", source=source)
        yield Leg("Bank", words, since=since, source=source)
    else:
        yield Leg("Off-ramp", words, since=since, source=source)


def _page(row: Mapping[str, Any]) -> str:
    """Return the explorer's page about the transaction that paid, or ""."""
    currency = find_currency(row["payment_currency"] or "")
    tx_hash = row["tx_hash"] or ""
    explorer = networks()[currency.network].explorer if currency else ""
    if not explorer or not _HASH.fullmatch(tx_hash):
        return ""
    return f"{explorer}/tx/{tx_hash}"


_HASH = re.compile("0x[0-9a-fA-F]{64}")
