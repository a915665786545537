"""Check many payments, and compare them with each other; hand them to Safes, one file a network."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from payerkit._tsv import grouped
from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.findings import Finding, PaymentFindings, payment_finding
from payerkit.frames import columns, frame_of
from payerkit.models.payments import ComparedWith, KnowsPaid, Payment, read_payment
from payerkit.onchain.addresses import lookalikes, with_checksum
from payerkit.onchain.amounts import to_units
from payerkit.onchain.calldata import Effect
from payerkit.payment.check import findings_of
from payerkit.payment.compare import Comparison
from payerkit.payment.money import find_charges
from payerkit.policy.payment_policy import PaymentPolicy
from payerkit.wording import listed, visible

_COLUMNS = columns(
    "verdict network payee payee_name account order_source amount token fee payments request_id "
    "payment_reference findings",
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
    """Check many payments as `check_payment` does, each with its own order, and compare them with each other.

    The payment contracts do not prevent paying twice. Payments that share a request id, a reference, or payee, token
    and amount are all "stop": one of them is perhaps paid already. Leave the others out once you know which. So are
    payees that look alike, but are different addresses, unless the address book has them.

    Args:
        payments: `Payment` objects, and paths of files that `payment.save(path)` wrote; or a folder of such files
            (`*.json` in any case, its sub-folders' too; keep other JSON files elsewhere). A Series or a dict gives the
            rows their labels.
        policy: What you agreed to once, for all payments.
        rate: The price of one unit of the payment currency in the invoice currency, if it is the same for all;
            otherwise, the rates of the policy.
        now: The time to compare with, for responses that expire; by default, the clock's.
        client: From `connect()` or `sandbox()`. The service is then asked of each payment whether it is paid already,
            one call a payment, as `check_payment` does it.

    Returns:
        One row per payment, in the same order. The index has the labels of a Series or dict, the paths of files, or
        numbers from 0.

        - verdict (string): "ok", "look" or "stop"
        - network, payee, payee_name, token (string), amount, fee (object, Decimal): what the transactions pay, by
          their bytes; missing if they pay several, or none. payee_name is that of the policy's address book; fee is
          the sum of all fees
        - account (string): the bank account that is paid out to, masked; missing if the payment pays a wallet
        - order_source (string): whose word the order is: "sent" (what was sent here), "given" (to `read_payment`), or
          "file" (that of whoever wrote the file); missing without an order
        - payments (int64): how many payments the transactions make
        - request_id, payment_reference (string): as the response has them
        - findings (string): the errors and warnings, with their codes

        A file that cannot be read is a row with the verdict "stop".

    Raises:
        InvalidInput: `payments` is or has something else, the rate is not positive, or `client` is not a client.

    Example:
        >>> samples["honest"].save("monday.json")
        >>> samples["honest"].save("tuesday.json")
        >>> samples["high_fee"].save("wednesday.json")
        >>> check_payments(["monday.json", "wednesday.json"])["verdict"].to_dict()
        {'monday.json': 'stop', 'wednesday.json': 'stop'}
        >>> check_payments(["monday.json"])["verdict"].to_dict()
        {'monday.json': 'ok'}
    """
    labels, checked = checked_payments(payments, policy=policy, rate=rate, now=now, client=client)
    return frame_of([each.row() for each in checked], _COLUMNS, index=labels)


def checked_payments(payments: Any, **given: Unpack[ComparedWith]) -> tuple[pd.Index[Any], list[CheckedPayment]]:
    """Return payments with their findings, also those of comparing them, and a label for each."""
    labels, sources = _labelled(payments)
    checked = [_check(source, **given) for source in sources]
    read = [(each, each.compared, str(label)) for each, label in zip(checked, labels, strict=True) if each.compared]
    comparisons = [compared for _, compared, _ in read]
    repeated = _find_repeated(comparisons, [label for *_, label in read])
    for place, found in (*repeated, *_find_lookalikes(comparisons)):
        read[place][0].findings.append(found)
    return labels, checked


@dataclass(slots=True)
class CheckedPayment:
    """A payment with its findings; compared: None if it could not be read."""

    compared: Comparison | None
    findings: list[Finding]

    def row(self) -> dict[str, Any]:
        """Return the row of the frame."""
        found = PaymentFindings(self.findings)
        row: dict[str, Any] = dict.fromkeys(_COLUMNS)
        words = [f"{each.severity} {each} [{each.code}]" for each in (*found.errors, *found.warnings)]
        payments = [] if self.compared is None else self.compared.payments
        row |= {"verdict": found.verdict, "payments": len(payments), "findings": "; ".join(words)}
        if self.compared is not None:
            response = self.compared.payment
            ids = {"request_id": response.request_id, "payment_reference": response.payment_reference}
            row |= {name: value and visible(value) for name, value in ids.items()}
            row |= {"network": self.compared.network, "account": self.compared.account or None}
            row["order_source"] = response.order_source
            row |= _payment_cells(self.compared, *payments) if len(payments) == 1 else {}
        return row


def _labelled(payments: Any) -> tuple[pd.Index[Any], list[Source]]:
    """Return the labels of the rows, and the payments. Raises InvalidInput for anything but several payments."""
    if isinstance(payments, str | Path):
        payments = _files(Path(payments))
    if isinstance(payments, pd.Series):
        return payments.index, payments.tolist()
    if isinstance(payments, Mapping):
        return pd.Index(list(payments), dtype="object"), list(payments.values())
    if isinstance(payments, Payment | pd.DataFrame) or not isinstance(payments, Iterable):
        raise InvalidInput(f"payments: give a list of payments or paths, or a folder; got {kind_of(payments)}.")
    sources = list(payments)
    names: list[Hashable] = [str(each) if isinstance(each, str | Path) else n for n, each in enumerate(sources)]
    return pd.Index(names) if names else pd.RangeIndex(0), sources


def _files(folder: Path) -> list[Path]:
    """Return the files of a folder and its folders, sorted by name. Raises InvalidInput if it is not a folder."""
    if not folder.is_dir():
        raise InvalidInput(f"payments: {folder} is not a folder. Give a list of payments or paths, or a folder.")
    files = sorted(each for each in folder.rglob("*") if each.suffix.lower() == ".json" and not each.is_dir())
    if not files:
        raise InvalidInput(f"payments: {folder} has no .json files. Give a list of the paths of other files.")
    return files


def _check(source: Any, **given: Unpack[ComparedWith]) -> CheckedPayment:
    """Return a payment with its findings. Raises InvalidInput for what is neither a payment nor a path."""
    if not isinstance(source, Payment | str | Path):
        raise InvalidInput(f"payments: expected payments and paths of files, got {kind_of(source)}.")
    try:
        payment = source if isinstance(source, Payment) else read_payment(Path(source))
    except InvalidInput as error:
        return CheckedPayment(None, [payment_finding("payment_unreadable", problem=error)])
    compared = Comparison(payment, **given)
    return CheckedPayment(compared, [*findings_of(compared)])


_MOST_NAMED = 5
"""Other payments that a finding names; more only make it long."""


def _find_repeated(comparisons: Sequence[Comparison], labels: Sequence[str]) -> Iterator[tuple[int, Finding]]:
    """Yield a finding for each payment that shares what no two payments share."""
    holders = grouped((identity, place) for place, each in enumerate(comparisons) for identity in _identities(each))
    for place, compared in enumerate(comparisons):
        shared = [identity for identity in _identities(compared) if len(holders[identity]) > 1]
        if shared:
            found = (other for identity in shared for other in holders[identity] if other != place)
            others = [*dict.fromkeys(islice(found, _MOST_NAMED + 1))]
            named = [labels[other] for other in others[:_MOST_NAMED]] + ["others"] * (len(others) > _MOST_NAMED)
            kinds = [*dict.fromkeys(kind for kind, _ in shared)]
            key = _OF_EQUALS.get(kinds[0], "perhaps_paid") if len(kinds) == 1 else "perhaps_paid"
            yield place, payment_finding(key, what=listed(kinds), others=listed(named))


_EQUAL = "payee with token and amount"
"""The mark that two payments to one payee may share although they pay different invoices."""

_EQUAL_PAYOUT = "account with token and amount"
"""The mark that two payments to one bank account may share. The operator is the recipient of all such payments."""

_OF_EQUALS = {_EQUAL: "perhaps_paid.equal", _EQUAL_PAYOUT: "perhaps_paid.account"}
"""The findings where nothing else is shared."""


def _identities(compared: Comparison) -> dict[tuple[str, str], None]:
    """Return the marks of a payment, by kind and value: another one that has one of them probably pays the same.

    Ids are compared without case: who changes that of a letter has the same payment.
    """
    payment, payout = compared.payment, compared.payment.payout
    kind, account = (_EQUAL, None) if payout is None else (_EQUAL_PAYOUT, payout.payment_details_id)
    found = [("request id", payment.request_id), ("request id", payout and payout.request_id)]
    found += [("reference", payment.payment_reference)]
    found += [("reference", f"0x{each.reference.hex()}") for each in compared.payments if each.reference]
    found += [
        (kind, f"{account} {compared.network} {each.recipient} {each.token} {each.amount}")
        for each in compared.payments
        if each.recipient
    ]
    return dict.fromkeys((kind, value.strip().casefold()) for kind, value in found if value and value.strip())


def _find_lookalikes(comparisons: Sequence[Comparison]) -> Iterator[tuple[int, Finding]]:
    """Yield a finding for each payment whose payee looks like another one's, unless the address book has it."""
    paying: dict[str, dict[int, Comparison]] = defaultdict(dict)
    for place, compared in enumerate(comparisons):
        for payment in compared.payments:
            if payment.recipient:
                paying[payment.recipient.lower()][place] = compared
    pairs = [*lookalikes(paying)]
    for payee, other in (*pairs, *(pair[::-1] for pair in pairs)):
        found = payment_finding("payee_lookalike.table", payee=with_checksum(payee), other=with_checksum(other))
        for place, compared in paying[payee].items():
            if compared.known(payee) is None:
                yield place, found


def _payment_cells(compared: Comparison, payment: Effect) -> dict[str, Any]:
    """Return what the only payment pays; no amounts if they are converted on execution."""
    token = compared.token(payment.token)
    decimals = token.decimals if token and payment.unit != "request" else None
    fee = sum(charge.fee for charge in find_charges(compared.payments, compared.fee_legs.values()))
    return {
        "payee": with_checksum(payment.recipient),
        "payee_name": compared.policy.name_of(payment.recipient, compared.network),
        "token": payment.token if token is None else token.id,
        "amount": to_units(payment.amount, decimals),
        "fee": to_units(fee, decimals),
    }
