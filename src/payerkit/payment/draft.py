"""A policy proposed by what several payments have in common: every line commented out, with its evidence."""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from payerkit.errors import without_internal_frames
from payerkit.payment.check_many import CheckedPayment, Source, checked_payments
from payerkit.wording import count_of, listed, visible

if TYPE_CHECKING:
    import pandas as pd

    from payerkit.findings import Finding
    from payerkit.payment.compare import Comparison
    from payerkit.policy.payment_policy import PaymentPolicy

_REASONS = {
    "peg_tolerance": "Amounts in a token that is pegged to the currency of the order. This accepts 1 % more or less, "
    "even on a day when the peg breaks.",
    "fees": "A fee that the service declares: that is its own word. Compare it with your contract.",
    "addresses": "The address that all payouts on this network paid. Ask the operator, over a channel that you know, "
    "whether it is theirs, and whether it stays the same.",
    "tokens": "A token that payerkit's table does not have by this id. Compare it with what its issuer publishes.",
}
"""What a draft proposes, by the member of a policy, in the order of the file; and why a person has to confirm it."""

_BEFORE_QUOTES_END = datetime.min.replace(tzinfo=UTC)
"""When payments are checked: a quote that has expired since then says nothing about what was paid."""


@without_internal_frames
def draft_policy(
    payments: Iterable[Source] | Mapping[str, Source] | pd.Series[Any] | str | Path,
    *,
    policy: PaymentPolicy | None = None,
) -> str:
    """Return a draft of a policy: what several payments have in common, as lines that are all commented out.

    It agrees to nothing. A person confirms each entry with whoever it is about, removes the `#` in front of its lines,
    and saves the file. The draft proposes fees, the operator's address, tokens and the tolerance of a peg; but nothing
    that a payment whose verdict is "stop" showed, and no address of an operator who uses several on a network.

    Args:
        payments: As `check_payments` takes them, each with its own order. The same payment counts once.
        policy: What you agreed to already: it decides about the verdicts, and is not proposed again.

    Returns:
        The text of a TOML file, which `PaymentPolicy.read` takes. Above each entry stands its evidence, behind `##`: in
        how many of the payments it was seen, and which share of them that is.

    Raises:
        InvalidInput: As by `check_payments`.

    Example:
        >>> seen = [initiate_payment(client, {**order, "amount": amount}) for amount in ("10", "11")]
        >>> print(draft_policy(seen))
        ## A draft from 2 payments. It agrees to nothing: every line is commented out.
        ## Confirm each entry, remove the # in front of its lines, and save the file, such as policy.toml.
        ##
        ## A fee that the service declares: that is its own word. Compare it with your contract.
        ## Seen in 2 of 2 payments (100 %).
        # [[fees]]
        # address = "0xFee5fEe5Fee5fEe5feE5fee5Fee5fee5fEe5feE5"
        # max_percent = "0.1"
    """
    labels, checked = checked_payments(payments, policy=policy, now=_BEFORE_QUOTES_END)
    seen, stopped, refused = list[_Seen](), list[str](), ""
    for label, each in zip(labels, checked, strict=True):
        if each.compared is None or any(f.severity == "error" and f.code != "perhaps_paid" for f in each.findings):
            stopped.append(visible(str(label)))
            refused += f" {_text(each)}"
        else:
            seen.append(_Seen.of(each.compared, each.findings))
    found = dict.fromkeys(lines for each in seen for lines in each.lines)
    entries = [_entry(lines, seen, refused) for name in _REASONS for lines in found if _read(lines)[0] == name]
    count = count_of(len({each.id for each in seen}), "payment")
    head = [f"## A draft from {count}. It agrees to nothing: every line is commented out."]
    head += ["## Confirm each entry, remove the # in front of its lines, and save the file, such as policy.toml."]
    if stopped:
        head += _comment(f"STOP: {listed(stopped)}. Nothing that was seen there is proposed. Find out why.")
    return "\n".join([*head, *chain.from_iterable(dict.fromkeys(entries)), ""])


@dataclass(frozen=True, slots=True)
class _Seen:
    """A payment that is not stopped, with what a policy could take from it.

    lines: of a policy, each of which would clear a finding. paid_out: of a payout,
    the networks and recipients.
    """

    id: str
    lines: Collection[str]
    paid_out: Collection[tuple[str | None, str | None]]

    @classmethod
    def of(cls, compared: Comparison, findings: Iterable[Finding]) -> _Seen:
        """Return a checked payment with the lines that its findings propose."""
        payment = compared.payment
        is_payout = payment.payout is not None or any(each.is_payout for each in compared.original_orders)
        ids = [str(each).lower() for each in (payment.request_id, payment.payment_reference) if each]
        lines = [each.policy_lines for each in findings if each.policy_lines]
        return cls(
            [*ids, str(id(payment))][0],
            [each for each in lines if is_payout or not each.startswith("[[addresses]]")],
            [(compared.network, each.recipient) for each in compared.payments if is_payout],
        )


def _read(lines: str) -> tuple[str, Mapping[str, Any]]:
    """Return the member of a policy that lines are for, and their entry; an empty one if they have no address."""
    ((name, value),) = tomllib.loads(lines).items()
    return name, value[0] if isinstance(value, list) else {}


def _text(stopped: CheckedPayment) -> str:
    """Return all that a stopped payment showed, in lower case: calls, declared fees, and lines for its findings."""
    found = [each.policy_lines for each in stopped.findings]
    if (compared := stopped.compared) is not None:
        found += [*compared.declared_fees, *(f"{each.to} {each.data}" for each in compared.transactions)]
    return " ".join(found).lower()


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, 110, initial_indent="## ", subsequent_indent="## ", break_long_words=False)


def _entry(lines: str, seen: Iterable[_Seen], refused: str) -> tuple[str, ...]:
    """Return lines below their evidence, or why they are not proposed."""
    name, entry = _read(lines)
    words, shown = _objection(name, entry, seen, refused), list[str]()
    if not words:
        count, total = len({each.id for each in seen if lines in each.lines}), len({each.id for each in seen})
        words = f"Seen in {count} of {count_of(total, 'payment')} ({100 * count // total} %)."
        shown = [f"# {line}" for line in lines.split("\n")]
    return "##", *_comment(_REASONS[name]), *_comment(words), *shown


def _objection(name: str, entry: Mapping[str, Any], seen: Iterable[_Seen], refused: str) -> str:
    """Return why an entry is not proposed; "" if it may be. An operator has to have one address, in all payouts."""
    address, network = str(entry.get("address", "")), entry.get("network")
    if (address.lower().removeprefix("0x") or name) in refused:
        return f"Not proposed: a payment that is STOP showed {address or 'the same'}, too."
    if name != "addresses":
        return ""
    payouts = [(paid, each.id) for each in seen for where, paid in each.paid_out if where == network]
    count, addresses = len({payout for _, payout in payouts}), len({paid for paid, _ in payouts})
    if addresses > 1:
        much = f"{count_of(count, 'payout')} on {network} paid {addresses} addresses"
        return f"Not proposed: {much}. If it changes, no entry helps: you would learn to trust whatever comes."
    return "" if count > 1 else "Not proposed yet: only one payout paid this address. The next may pay another one."
