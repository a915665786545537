"""Where the money of one order is: from the order to the bank, what is known of each leg, and who says so.

Its state, whose move it is and what to do are those of `reconcile`, so that one order and thirty have the same words.
The states of many are drawn as a bar.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import pandas as pd

from payerkit import html, pictures
from payerkit.client.client import Client
from payerkit.endpoints import endpoint
from payerkit.errors import InvalidInput, NotFound, without_internal_frames
from payerkit.events.read_events import believed_events, read_events
from payerkit.explanations import Explanation, explain_word, status_kind
from payerkit.frames import frame_of, rows_of
from payerkit.masking import mask
from payerkit.models import Payment, PaymentRequest
from payerkit.models.payments import read_payment
from payerkit.onchain.amounts import format_number
from payerkit.onchain.currencies import find_currency, networks
from payerkit.payouts.coverage import ID_NAMES, ExpectedOrder, ids_of
from payerkit.payouts.lists import REQUEST_DTYPES, list_payments, list_requests
from payerkit.payouts.reconcile_orders import ORDER_STATES, STATE_OF_WORD, reconcile
from payerkit.payouts.request_calls import get_request
from payerkit.signing.card import AFTER_STOP
from payerkit.wire import check_id
from payerkit.wording import count_of, in_words, visible

if TYPE_CHECKING:
    from decimal import Decimal

    from payerkit.policy.payment_policy import PaymentPolicy
    from payerkit.signing.card import PaymentCard

Progress = Literal["done", "now", "stopped", "ahead"]

LEGS = ("Order", "Request", "Transactions", "Paid on chain", "Off-ramp", "Bank")
"""The legs of the way, in their order; an order that pays a wallet ends on the chain."""


@dataclass(frozen=True, slots=True)
class Leg:
    """One leg of the way from an order to the bank.

    Attributes:
        leg: Its title, such as "Paid on chain".
        progress: "done", "now" (it is under way), "stopped", or "ahead".
        known: What is known of it, in words; "" if nothing is.
        since: Since when (UTC), or None.
        source: Who says so: an order, a list, a response, the calldata or an event; "" if nothing is known.
        whose_move: "payer", "payee", "you", "service" or "nobody"; "" if it is not its turn.
        what_to_do: The next step; "" if it is not its turn.
        page: The explorer's page about it, or "".

    Example:
        >>> request = create_request(client, amount="25.50", invoice_currency="USD", payment_currency="USDC-sepolia")
        >>> trace(client, request).legs[0].known
        '25.5 USD, to be paid in USDC-sepolia'
    """

    leg: str
    progress: Progress = "ahead"
    known: str = ""
    since: pd.Timestamp | None = None
    source: str = ""
    whose_move: str = ""
    what_to_do: str = ""
    page: str = ""

    @property
    def words(self) -> str:
        """What is known, since when, and who says so, in one line; "" if nothing is."""
        since = "" if self.since is None else f"since {self.since:%Y-%m-%d %H:%M} UTC"
        details = "; ".join(filter(None, [since, self.source and f"source: {self.source}"]))
        return f"{self.known} ({details})" if details and self.known else self.known


_KINDS: Mapping[Progress, html.Kind] = {"done": "success", "now": "warning", "stopped": "error", "ahead": "neutral"}


@dataclass(frozen=True, slots=True, repr=False)
class Trace:
    """Where the money of one order is; **beyond the specification**. Notebooks show it as a picture above a table.

    Attributes:
        reference: Your reference, masked if it holds an e-mail address, or else the request id.
        state: The state of the order, as `reconcile` has it.
        explanation: What that means, whose move it is, and what to do; and why a payout bounced or failed, in the
            service's words.
        legs: All legs, in their order.
        current: The leg where the money is.

    Example:
        >>> request = create_request(client, amount="25.50", invoice_currency="USD", payment_currency="USDC-sepolia")
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
        head = [f"{self.reference}: {in_words(self.state)}", self.explanation.meaning, self.explanation.next_step]
        lines = ["\n  ".join(head), ""]
        for leg in self.legs:
            first = f"  {self._mark(leg)} {leg.leg:<15}"
            words = visible(f"{leg.words or 'ahead'} {leg.page}".rstrip())
            lines += textwrap.wrap(words, 110, initial_indent=first, subsequent_indent=" " * len(first))
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        chip = html.chip(self._kind(self.current), in_words(self.state))
        lines = map(html.escape, (self.explanation.meaning, self.explanation.next_step))
        rows = []
        for leg in self.legs:
            head = html.escape(f"{self._mark(leg)} {leg.leg}").replace(" ", "&nbsp;")
            since = html.Html("" if leg.since is None else f"{leg.since:%Y-%m-%d&nbsp;%H:%M}")
            source = html.link(leg.page, f"{leg.source}; explorer") if leg.page else html.escape(leg.source)
            shown = html.Html(f"<b>{head}</b>" if leg is self.current else head)
            rows.append((shown, since, html.Html(source), leg.known))
        table = html.grid(("step", "since (UTC)", "who says so", "what is known"), rows, caption="")
        return html.picture(
            html.title(self.reference, beside=chip), self._picture(), f"<div>{'<br>'.join(lines)}</div>", table
        )

    def _kind(self, leg: Leg) -> html.Kind:
        return status_kind(self.explanation) if leg is self.current else _KINDS[leg.progress]

    def _mark(self, leg: Leg) -> str:
        return html.MARKS[self._kind(leg)]

    def _picture(self) -> html.Html:
        """Return the legs as boxes in a row, the current one filled."""
        boxes: list[tuple[html.Kind, pictures.Look, list[str]]] = []
        words = []
        for leg in self.legs:
            is_current = leg is self.current
            state, day = in_words(self.state), "" if leg.since is None else f"{leg.since:%Y-%m-%d}"
            move = "" if self.whose_move == "nobody" else pictures.MOVES[self.whose_move][0]
            below = [state, move] if is_current else [day]
            look: pictures.Look = "filled" if is_current else "dashed" if leg.progress == "ahead" else "plain"
            lines = [f"{self._mark(leg)} {leg.leg}", *filter(None, below)]
            boxes.append((self._kind(leg), look, lines))
            words.append(f"{leg.leg}: {state if is_current else leg.progress}")
        return pictures.image(pictures.in_a_row(boxes), 78, alt=", ".join(words))


@endpoint
def trace(
    client: Client,
    reference: str | PaymentRequest | Payment,
    *,
    payment: Payment | str | Path | None = None,
    events: pd.DataFrame | None = None,
    policy: PaymentPolicy | None = None,
    rate: Decimal | int | str | None = None,
) -> Trace:
    """Return where the money of one order is: from the order to the bank, with whose move it is and what to do.

    **Beyond the specification**. It reads `list_requests`, `get_request` and `list_payments`, and changes nothing.
    State, move and next step are those of `reconcile`. Where the ledgers disagree, it is your move.

    Args:
        client: From `connect()` or `sandbox()`.
        reference: Your reference of the request, or its request id; or what `create_request`, `request_payment` or
            `initiate_payment` returned, with which the order is known, too.
        payment: The transactions, to say their verdict: a `Payment`, or the file that `payment.save(path)` wrote.
        events: From `read_events`; without them, nothing is known of off-ramp and bank. A sandbox's are read by
            themselves.
        policy: What you agreed to, for the verdict.
        rate: The price of one unit of the payment currency in the invoice currency, for the verdict.

    Returns:
        The state of the order, and for each leg what is known, since when, and who says so. Nothing in it is personal,
        but what a card shows: bank and masked number of the account.

    Raises:
        InvalidInput: For a reference that cannot be sent, and for anything but such a payment or such events.
        NotSent: If a request never left this machine.
        Refused: If the service refused a call; for a known reason, as WrongKey or RateLimited.
        ServiceError: If the service failed.
        UnreadableAnswer: If a response is not what the API documents.

    Example:
        >>> request = create_request(client, amount="25.50", invoice_currency="USD", payment_currency="USDC-sepolia")
        >>> print(trace(client, request.reference))
        payerkit-...: not paid
          No payment is known, but there may be one all the same.
          ...
          ✓ Order          25.5 USD, to be paid in USDC-sepolia (source: list of requests)
          ✓ Request        0...: The request is not paid yet, as far as the service knows. (...)
          ! Transactions   Not given, so not checked.
          · Paid on chain  ahead
          · Off-ramp       ahead
          · Bank           ahead
    """
    to_sign = reference if payment is None and isinstance(reference, Payment) else payment
    to_sign = read_payment(to_sign) if isinstance(to_sign, str | Path) else to_sign
    is_text = not isinstance(reference, Payment | PaymentRequest)
    order = ExpectedOrder({"reference": check_id(reference, "reference"), "amount": None} if is_text else reference)
    if events is None and hasattr(client, "sandbox"):
        events = read_events(client.sandbox.events(), secret=client.sandbox.reveal_events_secret())
    requests = _read_requests(client, order)
    request = requests[0] if len(requests) == 1 else {}
    known = {name: request.get(name) or value for name, value in order.ids.items()}
    known |= {name: request.get(name) if (own := getattr(order, name)) is None else own for name in _TERMS}
    payee = {"payee": "a wallet"} if order.pays_wallet else {}
    sought: dict[str, Any] = next({name: known[name]} for name in ID_NAMES if known[name])
    payments = list_payments(client, **sought, reveal=True)
    listed = frame_of(requests, REQUEST_DTYPES)
    row = rows_of(reconcile([known | payee], payments, requests=listed, events=events))[0]
    card = None if to_sign is None else to_sign.card(policy=policy, rate=rate)
    place, explanation = _explain(row, requests, card, pays_wallet=order.pays_wallet)
    if to_sign is not None and to_sign.request_id not in {None, row["request_id"]}:
        other = "The transactions are those of another request: sign none of them."
        explanation = replace(explanation, whose_move="you", what_to_do=other)
    known["source"] = request.get("source", "") if order.amount is None else "order"
    known["paid_source"] = "event" if payments.empty else "list of payments"
    facts = _facts(known, request, row, card) | _paid_out(row, events_of([known, row], events))
    if place == "Transactions" and card is None:
        facts[place] = Leg(place, known="Not given, so not checked.")
    titles = LEGS[:4] if order.pays_wallet and place in LEGS[:4] else LEGS
    legs = {title: _passed(facts[title]) if title in facts else Leg(title) for title in titles}
    legs[place] = _current(facts.get(place, Leg(place)), explanation)
    if client.environment != "sandbox":
        legs["Paid on chain"] = replace(legs["Paid on chain"], page=_page(row))
    shown = mask("reference", known["reference"] or known["request_id"] or known["payment_reference"])
    return Trace(shown, row["state"], explanation, tuple(legs.values()), legs[place])


_TERMS = ("amount", "invoice_currency", "payment_currency")


def _passed(leg: Leg) -> Leg:
    """Return a leg that the money has passed."""
    return replace(leg, progress="done", whose_move="nobody", what_to_do="Nothing.")


def _current(leg: Leg, explanation: Explanation) -> Leg:
    """Return the leg where the money is, by the explanation of its state."""
    is_wrong = status_kind(explanation) == "error"
    progress: Progress = "done" if explanation.is_passed else "stopped" if is_wrong else "now"
    whose_move, what_to_do = explanation.whose_move, explanation.what_to_do
    known = leg.known or explanation.meaning
    return replace(leg, progress=progress, known=known, whose_move=whose_move, what_to_do=what_to_do)


def _read_requests(client: Client, order: ExpectedOrder) -> list[dict[str, Any]]:
    """Return what the service says of the requests with an order's id or reference; of a single one, all that it says.

    A reference that no request has may be a request id. What the response does not say of the order is taken from it.
    """
    request_id, reference = order.ids["request_id"], order.ids["reference"]
    found: list[dict[str, Any]] = []
    if request_id is None and reference is not None:
        with suppress(NotFound):  # the service has no such list
            listed = list_requests(client, reference=reference, reveal=True)
            found = rows_of(listed.assign(source="list of requests"))
    request_id = request_id or (found[0]["request_id"] if found else reference)
    if len(found) > 1 or request_id is None:
        return found
    with suppress(NotFound):
        status = get_request(client, request_id)
        members = {name: getattr(status, name) for name in (*ID_NAMES, "status", "has_been_paid", "tx_hash")}
        members |= {"request_id": request_id, "amount": status.request_amount}
        known = found[0] if found else {"source": "response"} | {name: getattr(order, name) for name in _TERMS}
        return [known | {name: value for name, value in members.items() if value is not None}]
    return found


def _explain(
    row: Mapping[str, Any], requests: Sequence[Mapping[str, Any]], card: PaymentCard | None, *, pays_wallet: bool
) -> tuple[str, Explanation]:
    """Return the leg where the money is, and what its state means."""
    state, place = row["state"], ORDER_STATES[row["state"]]["leg"]
    found = explain_word(row["bank_status"] if state in {"bounced", "failed"} else state, "order")
    if pays_wallet and state == "paid":
        found, place = explain_word("paid", "request"), "Paid on chain"
    meaning = f"{found.meaning} The service says: {row['reason']}" if row["reason"] else found.meaning
    found = replace(found, meaning=meaning, whose_move=row["whose_move"], what_to_do=row["what_to_do"])
    if state == "at_the_bank" and row["payments"] and row["whose_move"] == "you":
        place = "Paid on chain"  # the bank has its part, and what is to be settled is what was paid
    if row["payments"] or state not in {"not_paid", "unclear", "paid"}:
        return place, found
    if state == "paid":  # by the word of the request alone
        return "Paid on chain", found
    if len(requests) != 1:
        return "Request", found
    asked = explain_word(requests[0].get("status"), "request")
    if asked.final and not asked.is_passed:  # cancelled, or expired
        return "Request", asked
    is_stopped = card is not None and card.verdict == "stop"
    return place, replace(found, whose_move="you", what_to_do=AFTER_STOP) if is_stopped else found


def _facts(
    known: Mapping[str, Any], request: Mapping[str, Any], row: Mapping[str, Any], card: PaymentCard | None
) -> dict[str, Leg]:
    """Return what is known of the legs up to the chain."""
    facts: dict[str, Leg] = {}
    if known["amount"] is not None:
        paid_in = f", to be paid in {known['payment_currency']}" if known["payment_currency"] else ""
        amount = f"{format_number(known['amount'])} {known['invoice_currency'] or ''}".rstrip()
        facts["Order"] = Leg("Order", known=f"{amount}{paid_in}", source=known["source"])
    if request:
        says = explain_word(request.get("status"), "request").meaning
        words = f"{request['request_id']}: {says}"
        facts["Request"] = Leg("Request", known=words, since=request.get("created_at"), source=request["source"])
    if card is not None:
        words = f"{card.verdict.upper()}. {card.sentence}"
        facts["Transactions"] = Leg("Transactions", known=words, source="calldata")
    if row["payments"]:
        facts.setdefault("Transactions", Leg("Transactions", known="Signed and sent."))
        much = "An unknown amount" if row["paid_amount"] is None else format_number(row["paid_amount"])
        paid = f"{much} {row['payment_currency'] or ''} in {count_of(row['payments'], 'payment')}"
        words = ", ".join(filter(None, [paid, row["tx_hash"]]))
        facts["Paid on chain"] = Leg("Paid on chain", known=words, since=row["paid_at"], source=known["paid_source"])
    return facts


def _page(row: Mapping[str, Any]) -> str:
    """Return the explorer's page about the transaction that paid, or ""."""
    currency = find_currency(row["payment_currency"] or "")
    explorer = networks()[currency.network].explorer if currency else ""
    return f"{explorer}/tx/{row['tx_hash']}" if explorer and _HASH.fullmatch(row["tx_hash"] or "") else ""


_HASH = re.compile("0x[0-9a-fA-F]{64}")


def _paid_out(row: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> dict[str, Leg]:
    """Return what events say of off-ramp and bank."""
    status = row["bank_status"]
    if status is None:
        return {}
    signatures = {each["signature"] for each in events if each["sub_status"] == status}
    source = f"event, signature {'valid' if signatures == {'valid'} else 'unchecked'}"
    last = Leg("Bank", known=explain_word(status, "payment").meaning, since=row["bank_status_at"], source=source)
    if STATE_OF_WORD.get(status) not in {"at_the_bank", "bounced"}:
        return {"Off-ramp": replace(last, leg="Off-ramp")}
    sent = next((each["at"] for each in events if each["sub_status"] == "sending_fiat"), None)
    paid_out = Leg("Off-ramp", known="The operator has paid out.", since=sent, source=source)
    return {"Off-ramp": paid_out, "Bank": last}


def events_of(orders: Iterable[Mapping[str, Any]], events: Any) -> list[dict[str, Any]]:
    """Return the believable events of `read_events` about the request with one of these ids, by time."""
    keys = {key for each in orders for key in ids_of({name: each.get(name) for name in ID_NAMES[:2]})}
    rows = believed_events(events, ("event", "sub_status", *ID_NAMES[:2]))
    return [row for row in rows if not keys.isdisjoint(ids_of(row))]


@without_internal_frames
def draw_states(reconciled: pd.DataFrame) -> pictures.Bar:
    """Return how many orders are in each state, as a bar; **beyond the specification**.

    Args:
        reconciled: From `reconcile`, or a part of its rows.

    Returns:
        What a notebook shows as a picture, and `print` as text, with the states that are passed first.

    Raises:
        InvalidInput: For anything but such a frame.

    Example:
        >>> orders = [{"reference": "invoice-1", "amount": "25.50", "invoice_currency": "USD"}]
        >>> draw_states(reconcile(orders, list_payments(client, payment_currency="USDC-sepolia")))
            1  ! not paid
    """
    counts = _states(reconciled).value_counts()
    parts = [(str(word), count, status_kind(explain_word(word, "order"))) for word, count in counts.items()]
    return pictures.Bar(tuple(sorted(parts, key=lambda part: _ORDER.index(part[2]))))


_ORDER: tuple[html.Kind, ...] = ("success", "info", "warning", "error")
"""Of the parts of a bar."""


@without_internal_frames
def draw_invoices(reconciled: pd.DataFrame) -> pictures.Picture:
    """Return each order as three cells: in the books, on the chain, at the bank; **beyond the specification**.

    Args:
        reconciled: From `reconcile`, or a part of its rows.

    Returns:
        What a notebook shows as a picture of 30 orders a line, and `print` as text: the references by state, at most
        five of each.

    Raises:
        InvalidInput: For anything but such a frame.

    Example:
        >>> orders = [{"reference": "invoice-1", "amount": "25.50", "invoice_currency": "USD"}]
        >>> draw_invoices(reconcile(orders, list_payments(client, payment_currency="USDC-sepolia")))
        ! not paid: invoice-1
    """
    states = _states(reconciled)
    shapes: list[str] = []
    for number, state in enumerate(states):
        left, top = 58 + 22 * (number % 30), 8 + 80 * (number // 30)
        ledgers = ORDER_STATES[state]["ledgers"].split()
        for row, (title, kind) in enumerate(zip(("books", "chain", "bank"), ledgers, strict=True)):
            shapes += [] if number % 30 else [pictures.label(10, top + 15 + 24 * row, title)]
            shapes.append(_cell((left, top + 24 * row, 20, 22), kind))
    top = 80 * -(-len(states) // 30)
    lines = []
    for place, (word, _, kind) in enumerate(draw_states(reconciled).parts, start=1):
        found = [str(each)[:24] for each in reconciled["reference"][states == word].fillna("no reference")]
        rest = f" and {len(found) - 5} more" if len(found) > 5 else ""
        lines.append(f"{html.MARKS[kind]} {in_words(word)}: {', '.join(found[:5])}{rest}")
        shapes.append(pictures.label(10, top + 4 + 18 * place, lines[-1], kind))
    return pictures.Picture(pictures.image(shapes, top + 16 + 18 * len(lines), alt="; ".join(lines)), "\n".join(lines))


def _cell(place: tuple[float, float, float, float], kind: str) -> str:
    if kind == "-":
        return pictures.box(place, "neutral", "dashed")
    known = cast("html.Kind", kind)
    return pictures.box(place, known, "plain", [html.MARKS[known]])


def _states(reconciled: pd.DataFrame) -> pd.Series[Any]:
    states = getattr(reconciled, "state", None)
    if not isinstance(states, pd.Series):
        raise InvalidInput("reconciled: expected a result of reconcile(), with its column state.")
    return states
