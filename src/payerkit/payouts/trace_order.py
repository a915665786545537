"""Where the money of one order is: from the order to the bank, what is known of each leg, and who says so.

Its state, whose move it is and what to do are those of `reconcile`, so that one order and thirty have the same words.
The states of many are drawn as a bar.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from payerkit import html, pictures
from payerkit.client.client import Client
from payerkit.endpoints import endpoint
from payerkit.errors import InvalidInput, NotFound, kind_of, without_internal_frames
from payerkit.events.read_events import believed_events
from payerkit.explanations import Explanation, explain_word, status_kind
from payerkit.frames import columns, frame_of, rows_of
from payerkit.masking import mask
from payerkit.models import Payment, PaymentRequest
from payerkit.models.payments import read_payment
from payerkit.onchain.amounts import format_number
from payerkit.onchain.currencies import find_currency, networks
from payerkit.payouts.coverage import ID_NAMES, ExpectedOrder, ids_of
from payerkit.payouts.payment_list import list_payments
from payerkit.payouts.reconcile_orders import STATE_OF_WORD, reconcile
from payerkit.payouts.request_calls import get_request
from payerkit.payouts.request_list import list_requests
from payerkit.signing.card import AFTER_STOP
from payerkit.wire import check_id
from payerkit.wording import count_of, in_words, visible

if TYPE_CHECKING:
    from decimal import Decimal

    from payerkit.policy.payment_policy import PaymentPolicy
    from payerkit.signing.card import PaymentCard

Progress = Literal["done", "now", "stopped", "ahead"]

LEGS = {
    "order": "Order",
    "request": "Request",
    "transactions": "Transactions",
    "chain": "Paid on chain",
    "payout": "Off-ramp",
    "bank": "Bank",
}
"""The legs of the way and their titles; an order that pays a wallet ends on the chain."""

_LEG_OF_STATE = {
    "not_paid": "transactions",
    **dict.fromkeys(("partly_paid", "unclear", "paid_twice"), "chain"),
    **dict.fromkeys(("paid", "on_its_way", "failed", "refunded"), "payout"),
    **dict.fromkeys(("bounced", "at_the_bank"), "bank"),
}
"""Where an order is, by its state in `reconcile`."""

_DTYPES = columns("leg progress known since source whose_move what_to_do page", time="since")


@dataclass(frozen=True, slots=True, kw_only=True)
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
        said = "; ".join(filter(None, [since, self.source and f"source: {self.source}"]))
        return f"{self.known} ({said})" if said and self.known else self.known


_KINDS: Mapping[Progress, html.Kind] = {"done": "success", "now": "warning", "stopped": "error", "ahead": "neutral"}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Trace:
    """Where the money of one order is; **beyond the specification**. Notebooks show it as a picture above a table.

    Attributes:
        reference: Your reference, masked if it holds an e-mail address, or else the request id.
        state: The state of the order, as `reconcile` has it.
        explanation: What that means, whose move it is, and what to do.
        reason: Why a payout bounced or failed, in the service's words, or None.
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
    reason: str | None
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

    @property
    def frame(self) -> pd.DataFrame:
        """One row per leg, with the attributes of a `Leg`; text has dtype `string`, times are in UTC."""
        return frame_of([{name: getattr(leg, name) or None for name in _DTYPES} for leg in self.legs], _DTYPES)

    def _lines(self) -> list[str]:
        """Return what is known of the whole, and the next step."""
        says = [f"The service says: {self.reason}"] if self.reason else []
        return [self.explanation.meaning, *says, self.explanation.next_step]

    def __str__(self) -> str:
        lines = [f"{self.reference}: {in_words(self.state)}", *(f"  {line}" for line in self._lines()), ""]
        for leg in self.legs:
            first = f"  {self._mark(leg)} {leg.leg:<15}"
            words = visible(" ".join(filter(None, [leg.words, leg.page])) or "ahead")
            lines += textwrap.wrap(words, 110, initial_indent=first, subsequent_indent=" " * len(first))
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        chip = html.chip(self._kind(self.current), in_words(self.state))
        lines = [f"<div>{html.escape(line)}</div>" for line in self._lines()]
        return html.picture(html.title(self.reference, beside=chip), self._picture(), *lines, self._table())

    def _table(self) -> str:
        """Return the legs as a table."""
        lines = [_row("normal", "leg", "what is known", "since (UTC)", "who says so")]
        for leg in self.legs:
            known = _LONG.sub(r"\1<wbr>", html.escape(leg.known or "ahead"))
            page = f" {html.link(leg.page, 'explorer')}" if leg.page else ""
            since = "" if leg.since is None else f"{leg.since:%Y-%m-%d %H:%M}"
            weight = "bold" if leg is self.current else "normal"
            lines.append(_row(weight, f"{self._mark(leg)} {leg.leg}", known + page, since, html.escape(leg.source)))
        return f'<table style="border-collapse: collapse">{"".join(lines)}</table>'

    def _kind(self, leg: Leg) -> html.Kind:
        return status_kind(self.explanation) if leg is self.current else _KINDS[leg.progress]

    def _mark(self, leg: Leg) -> str:
        return html.MARKS[self._kind(leg)]

    def _picture(self) -> html.Html:
        """Return the legs as boxes in a row, the current one filled."""
        step = (pictures.WIDTH - 16 + _GAP) / len(self.legs)
        shapes, words = [], []
        for number, leg in enumerate(self.legs):
            is_current, left = leg is self.current, 8 + number * step
            state, day = in_words(self.state), "" if leg.since is None else f"{leg.since:%Y-%m-%d}"
            below = [state, _MOVES[self.whose_move]] if is_current else [day]
            look: pictures.Look = "filled" if is_current else "dashed" if leg.progress == "ahead" else "plain"
            lines = [f"{self._mark(leg)} {leg.leg}", *filter(None, below)]
            shapes.append(pictures.box((left, 8, step - _GAP, 62), self._kind(leg), look, lines))
            shapes += [pictures.label(left - _GAP + 2, 43, "→")] if number else []
            words.append(f"{leg.leg}: {state if is_current else leg.progress}")
        return pictures.image(shapes, 78, alt=", ".join(words))


_LONG = re.compile(r"(\w{22})(?=\w)")
"""Where a hash may be broken."""


def _row(weight: str, head: str, known: str, since: str, source: str) -> str:
    """Return a row of HTML, with styles that stay where a notebook is not trusted."""
    style = (
        f"padding: 4px 14px 4px 0; text-align: left; vertical-align: top; font-weight: {weight}; overflow-wrap: normal"
    )
    whole = f"{style}; white-space: nowrap"
    return (
        f'<tr><th scope="row" style="{whole}">{head}</th><td style="{style}">{known}</td>'
        f'<td style="{whole}">{since}</td><td style="{style}">{source}</td></tr>'
    )


_GAP = 16
_MOVES = {"payer": "payer's move", "payee": "payee's move", "you": "your move", "service": "service's move"}
_MOVES["nobody"] = ""


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
        events: From `read_events`; without them, nothing is known of the off-ramp and the bank.
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
          No payment of the order is known; one may not be listed yet.
          ...
          ✓ Order          25.5 USD, to be paid in USDC-sepolia (source: list of requests)
          ✓ Request        0...: The request is not paid yet, as far as the service knows. (...)
          ! Transactions   Not given, so not checked.
          · Paid on chain  ahead
          · Off-ramp       ahead
          · Bank           ahead
    """
    given = payment if payment is not None or not isinstance(reference, Payment) else reference
    to_sign = read_payment(given) if isinstance(given, str | Path) else given
    if to_sign is not None and not isinstance(to_sign, Payment):
        raise InvalidInput(f"payment: expected a Payment or the path of its file, got {kind_of(payment)}.")
    is_text = not isinstance(reference, Payment | PaymentRequest)
    order = ExpectedOrder({"reference": check_id(reference, "reference"), "amount": None} if is_text else reference)
    requests = _read_requests(client, order)
    request = requests[0] if len(requests) == 1 else {}
    known = _known(order, request)
    wanted = next(name for name in ID_NAMES if known[name])
    payments = list_payments(client, **{wanted: known[wanted]}, reveal=True)
    row = rows_of(reconcile([known], payments, events=events))[0]
    doubts = [*_doubts(order, requests, row, payments, to_sign)]
    card = None if to_sign is None else to_sign.card(policy=policy, rate=rate)
    place, explanation = _explain(row, request, card, pays_wallet=order.pays_wallet)
    if doubts:
        step = "" if row["state"] == "not_paid" or explanation.what_to_do == "Nothing." else explanation.what_to_do
        explanation = replace(explanation, whose_move="you", what_to_do=" ".join([*doubts, step]).rstrip())
    facts = {
        "order": _ordered(known) | {"source": request.get("source", "") if order.amount is None else "order"},
        "request": _requested(request, row),
        "transactions": _to_sign(row, card, is_now=place == "transactions"),
        "chain": _paid(row, is_listed=not payments.empty, is_sandbox=client.environment == "sandbox"),
        **_paid_out(row, [known, row], events),
    }
    titles = dict(list(LEGS.items())[:4]) if order.pays_wallet else LEGS
    legs = {name: _leg(title, facts.get(name, {})) for name, title in titles.items()}
    legs[place] = _current(legs[place], explanation)
    name = next(each for each in (known["reference"], known["request_id"], known["payment_reference"]) if each)
    return Trace(
        reference=str(mask("reference", name)),
        state=row["state"],
        explanation=explanation,
        reason=row["reason"],
        legs=tuple(legs.values()),
        current=legs[place],
    )


def _leg(title: str, fact: Mapping[str, Any]) -> Leg:
    """Return a leg where the money is not: passed if something is known of it, else ahead."""
    passed: dict[str, Any] = (
        {"progress": "done", "whose_move": "nobody", "what_to_do": "Nothing."} if fact.get("known") else {}
    )
    return Leg(leg=title, **passed, **fact)


def _current(leg: Leg, explanation: Explanation) -> Leg:
    """Return the leg where the money is."""
    is_wrong = status_kind(explanation) == "error"
    progress: Progress = "done" if explanation.is_passed else "stopped" if is_wrong else "now"
    return replace(
        leg,
        progress=progress,
        known=leg.known or explanation.meaning,
        whose_move=explanation.whose_move,
        what_to_do=explanation.what_to_do,
    )


def _read_requests(client: Client, order: ExpectedOrder) -> list[dict[str, Any]]:
    """Return what the service says of the requests with an order's id or reference; of a single one, all that it says.

    A reference that no request has may be a request id.
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
        said = {name: getattr(status, name) for name in (*ID_NAMES, "status", "has_been_paid")}
        said |= {"request_id": request_id, "amount": status.request_amount}
        said = {name: value for name, value in said.items() if value is not None}
        found = [{"source": "response", **(found[0] if found else {}), **said}]
    return found


def _known(order: ExpectedOrder, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return an order as `reconcile` takes it: as it was given, and completed by what the service says."""
    own = {"amount": order.amount, "invoice_currency": order.invoice_currency}
    own |= {"payment_currency": order.payment_currency, "payee": "a wallet" if order.pays_wallet else None}
    ids = {name: request.get(name) or value for name, value in order.ids.items()}
    return ids | {name: request.get(name) if value is None else value for name, value in own.items()}


def _doubts(
    order: ExpectedOrder,
    requests: Sequence[Mapping[str, Any]],
    row: Mapping[str, Any],
    payments: pd.DataFrame,
    to_sign: Payment | None,
) -> Iterator[str]:
    """Yield where the ledgers disagree, a sentence each; `reconcile` compares the order with payments and events."""
    if len(requests) > 1:
        yield f"{len(requests)} requests have this reference: trace each by its request id."
    request = requests[0] if len(requests) == 1 else {}
    if order.amount is not None and request.get("amount") not in {None, order.amount}:
        amounts = f"{format_number(order.amount)}, its request for {format_number(request['amount'])}"
        yield f"The order is for {amounts}: find out which is right before anyone signs."
    is_paid = request.get("has_been_paid")
    if is_paid and not row["payments"]:
        yield "The service calls the request paid, but no list and no event has a payment of it: ask the service."
    if is_paid is False and row["paid"]:
        yield "The service calls the request unpaid, but it is paid as far as is known: sign nothing more, and ask."
    if row["payments"] > payments["duplicate_of"].isna().sum():
        yield "An event tells of a payment that the list of payments does not have: ask the service."
    if to_sign is not None and to_sign.request_id not in {None, row["request_id"]}:
        yield "The transactions are those of another request: sign none of them."


def _explain(
    row: Mapping[str, Any], request: Mapping[str, Any], card: PaymentCard | None, *, pays_wallet: bool
) -> tuple[str, Explanation]:
    """Return the leg where the money is, and what its state means."""
    state, asked = row["state"], explain_word(request.get("status"), "request")
    word = row["bank_status"] if state in {"bounced", "failed"} else state
    found = explain_word(word, "order")
    if state != "not_paid" or row["whose_move"] == "you":  # what is left to ask there was asked here
        found = replace(found, whose_move=row["whose_move"], what_to_do=row["what_to_do"])
    place = _LEG_OF_STATE[state]
    if pays_wallet and place in {"payout", "bank"}:
        return "chain", found if state != "paid" else explain_word("paid", "request")
    if state != "not_paid":
        return place, found
    if not request:
        meaning, step = "No request and no payment is known under this reference.", "Check the reference and the key."
        return "request", replace(found, meaning=meaning, whose_move="you", what_to_do=step)
    if asked.final and not asked.is_passed:  # cancelled, or expired
        return "request", asked
    is_stopped = card is not None and card.verdict == "stop"
    return place, replace(found, whose_move="you", what_to_do=AFTER_STOP) if is_stopped else found


def _ordered(known: Mapping[str, Any]) -> dict[str, Any]:
    if known["amount"] is None:
        return {}
    paid_in = f", to be paid in {known['payment_currency']}" if known["payment_currency"] else ""
    return {"known": f"{format_number(known['amount'])} {known['invoice_currency'] or ''}".rstrip() + paid_in}


def _requested(request: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    if not request:
        return {"known": row["request_id"] or "", "source": "list of payments"} if row["payments"] else {}
    says = explain_word(request.get("status"), "request").meaning if request.get("status") else "Created."
    known = f"{request['request_id']}: {says}"
    return {"known": known, "since": request.get("created_at"), "source": request["source"]}


def _to_sign(row: Mapping[str, Any], card: PaymentCard | None, *, is_now: bool) -> dict[str, Any]:
    if card is not None:
        return {"known": f"{card.verdict.upper()}. {card.sentence}", "source": "calldata"}
    return {"known": "Not given, so not checked." if is_now else "Signed and sent." if row["payments"] else ""}


def _paid(row: Mapping[str, Any], *, is_listed: bool, is_sandbox: bool) -> dict[str, Any]:
    if not row["payments"]:
        return {}
    much = "an unknown amount" if row["paid_amount"] is None else format_number(row["paid_amount"])
    paid = f"{much} {row['payment_currency'] or ''}".rstrip() + f" in {count_of(row['payments'], 'payment')}"
    known = ", ".join(filter(None, [paid, row["tx_hash"]]))
    currency = find_currency(row["payment_currency"] or "")
    explorer = networks()[currency.network].explorer if currency and not is_sandbox else ""
    page = f"{explorer}/tx/{row['tx_hash']}" if explorer and _HASH.fullmatch(row["tx_hash"] or "") else ""
    source = "list of payments" if is_listed else "event"
    return {"known": known, "since": row["paid_at"], "source": source, "page": page}


_HASH = re.compile("0x[0-9a-fA-F]{64}")


def _paid_out(row: Mapping[str, Any], orders: Iterable[Mapping[str, Any]], events: Any) -> dict[str, dict[str, Any]]:
    """Return what events say of off-ramp and bank. orders: the ids of the request."""
    if row["bank_status"] is None:
        return {}
    said = events_of(orders, events)
    signatures = {each["signature"] for each in said if each["sub_status"] == row["bank_status"]}
    source = f"event, signature {'valid' if signatures == {'valid'} else 'unchecked'}"
    last = {
        "known": explain_word(row["bank_status"], "payment").meaning,
        "since": row["bank_status_at"],
        "source": source,
    }
    if STATE_OF_WORD.get(row["bank_status"]) not in {"at_the_bank", "bounced"}:
        return {"payout": last}
    sent = next((each["at"] for each in said if each["sub_status"] == "sending_fiat"), None)
    return {"payout": {"known": "The operator has paid out.", "since": sent, "source": source}, "bank": last}


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
    states = getattr(reconciled, "state", None)
    if not isinstance(states, pd.Series):
        raise InvalidInput("reconciled: expected a result of reconcile(), with its column state.")
    counts = states.value_counts()
    parts = [
        pictures.Part(str(word), count, status_kind(explain_word(word, "order"))) for word, count in counts.items()
    ]
    return pictures.Bar(tuple(sorted(parts, key=lambda part: _ORDER.index(part.kind))))


_ORDER: tuple[html.Kind, ...] = ("success", "info", "warning", "error")
"""Of the parts of a bar."""
