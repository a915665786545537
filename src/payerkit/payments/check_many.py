"""Check many payments, and compare them with each other; hand them to Safes, one file a
network.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import pandas as pd

from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.findings import Finding, PaymentFindings, payment_finding
from payerkit.frames import columns, frame_of
from payerkit.models.payments import ComparedWith, KnowsPaid, Payment, read_payment
from payerkit.models.whole_response import plain_name
from payerkit.payments.charges import find_charges
from payerkit.payments.check import CheckedPayment, full_check
from payerkit.payments.onchain.addresses import lookalikes, with_checksum
from payerkit.payments.onchain.amounts import EXACT, positive_number, to_units
from payerkit.payments.onchain.calldata import Effect
from payerkit.payments.payment_policy import PaymentPolicy
from payerkit.wording import listed, visible

_COLUMNS = columns(
    "verdict network payee payee_name account order_source amount token fee payments"
    " request_id payment_reference findings",
    object="amount fee",
    int64="payments",
)
"""The columns with their dtypes. Amounts are objects: exact decimals."""

Source = Payment | str | Path


@without_internal_frames
def check_payments(
    payments: Iterable[Source] | Mapping[str, Source] | pd.Series[Any] | str | Path,
    *,
    policy: PaymentPolicy | None = None,
    rate: Decimal | int | str | None = None,
    now: datetime | None = None,
    client: KnowsPaid | None = None,
) -> pd.DataFrame:
    """Check many payments as `check_payment` does, each with its own order, and compare
    them with each other.

    The payment contracts do not prevent paying twice. Payments that share a request id,
    a reference, or payee, token and amount are all "stop": one of them is perhaps paid
    already. So are those whose orders share payee, amount and invoice currency, as one
    invoice that was requested twice, and a payment beside equal parts of it. Leave the
    others out once you know which. Payees that look alike, but are different addresses,
    are "stop", too, unless the address book has them.

    Args:
        payments: `Payment` objects, and paths of files that `payment.save(path)` wrote;
            or a folder of such files (`*.json` in any case, its sub-folders' too; keep
            other JSON files elsewhere). A Series or a dict gives the rows their labels.
        policy: What you agreed to once, for all payments.
        rate: The price of one unit of the payment currency in the invoice currency, if
            it is the same for all; otherwise, the rates of the policy.
        now: The time to compare with, for responses that expire; by default, the
            clock's.
        client: From `connect()` or `sandbox()`. The service is then asked of each
            payment whether it is paid already, one call a payment, as `check_payment`
            does it.

    Returns:
        One row per payment, in the same order. The index has the labels of a Series or
        dict, the paths of files, or numbers from 0.

        - verdict (string): "ok", "look" or "stop"
        - network, payee, payee_name, token (string), amount, fee (object, Decimal):
          what the transactions pay, by their bytes; missing if they pay several, or
          none. payee_name is that of the policy's address book; fee is the sum of all
          fees
        - account (string): the bank account that is paid out to, masked; missing if the
          payment pays a wallet
        - order_source (string): whose word the order is: "sent" (what was sent here),
          "given" (to `read_payment`), or "file" (that of whoever wrote the file);
          missing without an order
        - payments (int64): how many payments the transactions make
        - request_id, payment_reference (string): as the response has them
        - findings (string): the errors and warnings, with their codes

        A file that cannot be read is a row with the verdict "stop".

    Raises:
        InvalidInput: `payments` is or has something else, the rate is not positive, or
            `client` is not a client.

    Example:
        >>> samples["honest"].save("monday.json")
        >>> samples["honest"].save("tuesday.json")
        >>> samples["high_fee"].save("wednesday.json")
        >>> check_payments(["monday.json", "wednesday.json"])["verdict"].to_dict()
        {'monday.json': 'stop', 'wednesday.json': 'stop'}
        >>> check_payments(["monday.json"])["verdict"].to_dict()
        {'monday.json': 'ok'}
    """
    labels, checked = checked_payments(
        payments, policy=policy, rate=rate, now=now, client=client
    )
    return frame_of([each.row() for each in checked], _COLUMNS, index=labels)


def checked_payments(
    payments: Any, **given: Unpack[ComparedWith]
) -> tuple[pd.Index[Any], list[ListedPayment]]:
    """Return payments with their findings, also those of comparing them, and a label
    for each.
    """
    labels, sources = _labelled(payments)
    listed = [_check(source, **given) for source in sources]
    rows = list[ListedPayment]()
    names = list[str]()
    readable = list[CheckedPayment]()
    for row, label in zip(listed, labels, strict=True):
        if row.checked is not None:
            rows.append(row)
            names.append(str(label))
            readable.append(row.checked)
    for place, finding in (
        *_find_repeated(readable, names),
        *_find_parts(readable, names),
        *_find_lookalikes(readable),
    ):
        rows[place].findings.append(finding)
    return labels, listed


@dataclass(slots=True)
class ListedPayment:
    """One payment of many, with its findings, also those of comparing it with the
    others. checked: None if it could not be read.
    """

    checked: CheckedPayment | None
    findings: list[Finding]

    def row(self) -> dict[str, Any]:
        """Return the row of the frame."""
        found = PaymentFindings(self.findings)
        words = [
            f"{each.severity} {each} [{each.code}]"
            for each in (*found.errors, *found.warnings)
        ]
        row: dict[str, Any] = {
            "verdict": found.verdict,
            "findings": "; ".join(words),
            "payments": 0,
        }
        if self.checked is None:
            return row
        effects = self.checked.effects
        response = self.checked.effects.payment
        row["payments"] = len(effects.payments)
        for name in ("request_id", "payment_reference"):
            value = getattr(response, name)
            row[name] = value and visible(value)
        row["network"] = self.checked.against.network
        row["account"] = effects.account or None
        row["order_source"] = response.order_source
        if len(effects.payments) == 1:
            row |= _payment_cells(self.checked, effects.payments[0])
        return row


def _labelled(payments: Any) -> tuple[pd.Index[Any], list[Source]]:
    """Return the labels of the rows, and the payments. Raises InvalidInput for anything
    but several payments.
    """
    if isinstance(payments, str | Path):
        payments = _files(Path(payments))
    if isinstance(payments, pd.Series):
        return payments.index, payments.tolist()
    if isinstance(payments, Mapping):
        return pd.Index(list(payments), dtype="object"), list(payments.values())
    if isinstance(payments, Payment | pd.DataFrame) or not isinstance(
        payments, Iterable
    ):
        raise InvalidInput(
            "payments: give a list of payments or paths, or a folder; got"
            f" {kind_of(payments)}."
        )
    sources = list(payments)
    names: list[Hashable] = [
        str(each) if isinstance(each, str | Path) else n
        for n, each in enumerate(sources)
    ]
    return pd.Index(names) if names else pd.RangeIndex(0), sources


def _files(folder: Path) -> list[Path]:
    """Return the files of a folder and its folders, sorted by name. Raises InvalidInput
    if it is not a folder.
    """
    if not folder.is_dir():
        raise InvalidInput(
            f"payments: {folder} is not a folder. Give a list of payments or paths, or"
            " a folder."
        )
    files = sorted(
        each
        for each in folder.rglob("*")
        if each.suffix.lower() == ".json" and not each.is_dir()
    )
    if not files:
        raise InvalidInput(
            f"payments: {folder} has no .json files. Give a list of the paths of other"
            " files."
        )
    return files


def _check(source: Any, **given: Unpack[ComparedWith]) -> ListedPayment:
    """Return a payment with its findings. Raises InvalidInput for what is neither a
    payment nor a path.
    """
    if not isinstance(source, Payment | str | Path):
        raise InvalidInput(
            f"payments: expected payments and paths of files, got {kind_of(source)}."
        )
    try:
        payment = source if isinstance(source, Payment) else read_payment(Path(source))
    except InvalidInput as error:
        return ListedPayment(
            None, [payment_finding("payment_unreadable", problem=error)]
        )
    checked = full_check(payment, **given)
    return ListedPayment(checked, [*checked.findings])


_MOST_NAMED = 5
"""Other payments that a finding names; more only make it long."""


def _find_repeated(
    payments: Sequence[CheckedPayment], labels: Sequence[str]
) -> Iterator[tuple[int, Finding]]:
    """Yield a finding for each payment that shares what no two payments share."""
    identities = [_identities(checked) for checked in payments]
    holders: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, own in enumerate(identities):
        for identity in own:
            holders[identity].append(place)
    for place, own in enumerate(identities):
        shared = [identity for identity in own if len(holders[identity]) > 1]
        if shared:
            # Each group has one more than are named, even without the payment itself.
            groups = [holders[identity][: _MOST_NAMED + 2] for identity in shared]
            others = dict.fromkeys(chain.from_iterable(groups))
            others.pop(place, None)
            kinds = [*dict.fromkeys(kind for kind, _ in shared)]
            yield place, _perhaps_paid(kinds, _named([*others], labels))


def _named(places: Sequence[int], labels: Sequence[str]) -> str:
    names = [labels[place] for place in places[:_MOST_NAMED]]
    if len(places) > _MOST_NAMED:
        names.append("others")
    return listed(names)


def _perhaps_paid(kinds: list[str], others: str) -> Finding:
    """Return the finding about what a payment shares with others."""
    if len(kinds) > 1 and _EQUAL_ORDER in kinds:
        kinds.remove(_EQUAL_ORDER)  # The others say more.
    key = "perhaps_paid"
    if {*kinds} <= {_EQUAL, _EQUAL_PAYOUT, _EQUAL_ORDER}:
        key = "perhaps_paid.equal"
    return payment_finding(key, what=listed(kinds), others=others)


_EQUAL = "payee with token and amount"
"""The mark that two payments to one payee may share although they pay different
invoices.
"""

_EQUAL_PAYOUT = "bank account with token and amount"
"""The mark that two payments to one bank account may share. The operator is the
recipient of all such payments.
"""

_EQUAL_ORDER = "payee, amount and invoice currency of the order"
"""The mark of one invoice that was requested twice, whatever token, base units and ids
the service chose for each.
"""


def _identities(checked: CheckedPayment) -> dict[tuple[str, str], None]:
    """Return the marks of a payment, by kind and value: another one that has one of
    them probably pays the same.

    Ids are compared by `_plain_id`, also those that only the metadata has.
    """
    effects = checked.effects
    payment = effects.payment
    marks = [
        ("request id", payment.request_id),
        ("reference", payment.payment_reference),
    ]
    kind = _EQUAL
    account = None
    if payment.payout is not None:
        kind = _EQUAL_PAYOUT
        account = payment.payout.payment_details_id
        marks.append(("request id", payment.payout.request_id))
    for member in payment.whole.members:
        kind_of_id = _KINDS_OF_IDS.get(member.plain)
        is_own = plain_name(member.holder) in {"", "metadata"}
        if kind_of_id and is_own and isinstance(member.value, str):
            marks.append((kind_of_id, member.value))
    for each in effects.payments:
        if each.reference:
            marks.append(("reference", f"0x{each.reference.hex()}"))
        if each.recipient:
            paid = f"{each.recipient} {each.token} {each.amount}"
            marks.append((kind, f"{account} {checked.against.network} {paid}"))
    for ordered in _ordered(checked):
        words = f"{ordered.payee} {ordered.currency} {ordered.amount}"
        marks.append((_EQUAL_ORDER, words))
    plain = [(kind, _plain_id(value)) for kind, value in marks if value]
    return dict.fromkeys((kind, value) for kind, value in plain if value)


_KINDS_OF_IDS = {"requestid": "request id", "paymentreference": "reference"}
"""What the members that hold an id are called, by their plain names."""


def _plain_id(value: str) -> str:
    """Return an id without what does not make another one of it: case, 0x in front,
    blanks and invisible characters.
    """
    text = unicodedata.normalize("NFKC", value).casefold()
    seen = [char for char in text if unicodedata.category(char)[0] not in "CZ"]
    return "".join(seen).removeprefix("0x")


class Ordered(NamedTuple):
    """What an order asks for: payee (a wallet or a bank account), the currency of the
    invoice, and the amount in it.
    """

    payee: str
    currency: str
    amount: Decimal


def _ordered(checked: CheckedPayment) -> list[Ordered]:
    """Return what the orders of a payment ask for; without those whose payee or amount
    is not known.
    """
    effects = checked.effects
    against = checked.against
    payout = effects.payment.payout
    recipients = {each.recipient for each in effects.payments if each.recipient}
    found = []
    for order in against.original_orders:
        payee = order.payee
        if payout is not None:
            payee = payout.payment_details_id
        elif payee is None and len(recipients) == 1:
            payee = next(iter(recipients))
        amount = positive_number(order.amount)
        if payee is None or amount is None:
            continue
        currency = against.policy.find_currency(order.invoice_currency)
        name = order.invoice_currency if currency is None else currency.id
        found.append(Ordered(payee.lower(), name.casefold(), amount.normalize(EXACT)))
    return found


def _find_parts(
    payments: Sequence[CheckedPayment], labels: Sequence[str]
) -> Iterator[tuple[int, Finding]]:
    """Yield a finding for each payment of a whole whose equal parts, such as two
    halves, are all there, too.

    The parts themselves are equal, and have their finding for that.
    """
    places: dict[Ordered, list[int]] = defaultdict(list)
    for place, checked in enumerate(payments):
        for ordered in dict.fromkeys(_ordered(checked)):
            places[ordered].append(place)
    for part, of_part in places.items():
        for count in range(2, len(of_part) + 1):
            amount = EXACT.multiply(part.amount, Decimal(count)).normalize(EXACT)
            others = listed([labels[each] for each in of_part[:_MOST_NAMED]])
            for place in places.get(part._replace(amount=amount), []):
                yield place, payment_finding("perhaps_paid.parts", others=others)


def _find_lookalikes(
    payments: Sequence[CheckedPayment],
) -> Iterator[tuple[int, Finding]]:
    """Yield a finding for each payment whose payee looks like another one's, unless the
    address book has it.
    """
    paying: dict[str, dict[int, CheckedPayment]] = defaultdict(dict)
    for place, checked in enumerate(payments):
        for payment in checked.effects.payments:
            if payment.recipient:
                paying[payment.recipient.lower()][place] = checked
    pairs = [*lookalikes(paying)]
    for payee, other in (*pairs, *(pair[::-1] for pair in pairs)):
        found = payment_finding(
            "payee_lookalike.table",
            payee=with_checksum(payee),
            other=with_checksum(other),
        )
        for place, checked in paying[payee].items():
            if checked.against.known(payee) is None:
                yield place, found


def _payment_cells(checked: CheckedPayment, payment: Effect) -> dict[str, Any]:
    """Return what the only payment pays; no amounts if they are converted on
    execution.
    """
    effects = checked.effects
    against = checked.against
    token = against.token(payment.token)
    decimals = token.decimals if token and payment.unit != "request" else None
    fee = sum(
        charge.fee
        for charge in find_charges(effects.payments, effects.fee_legs.values())
    )
    return {
        "payee": with_checksum(payment.recipient),
        "payee_name": against.policy.name_of(payment.recipient, against.network),
        "token": payment.token if token is None else token.id,
        "amount": to_units(payment.amount, decimals),
        "fee": to_units(fee, decimals),
    }
