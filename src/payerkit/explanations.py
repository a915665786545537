"""What a status means, whose move it is, and what to do: of each word, and of a payer
as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from payerkit import html
from payerkit._tsv import rows
from payerkit.errors import InvalidInput
from payerkit.frames import columns, frame_of
from payerkit.wording import did_you_mean, in_words, listed, visible

if TYPE_CHECKING:
    import pandas as pd

_THINGS = {
    "kyc": "identity check",
    "agreement": "agreement",
    "account": "bank account",
    "payment": "payment",
    "request": "request",
    "order": "order",
}
"""The kinds of things that have a status, each with its name in a sentence."""

_MOVES = {
    "payer": "the payer's move",
    "payee": "the payee's move",
    "you": "your move",
    "service": "the service's move",
    "nobody": "nothing is left to do",
}

_COLUMNS = columns(
    "of status meaning whose_move final what_to_do ask_again basis",
    bool="final",
    Int64="ask_again",
)

_MAX_WORD = 60
"""Characters of an unknown status that an explanation repeats."""

_DEACTIVATED = "deactivated"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a status means, whose move it is, and what to do. Notebooks show it as a
    table.

    Attributes:
        of: The kind of the status: "kyc", "agreement", "account", "payment", "request",
            "order", or "payer" for a payer as a whole; "" for a word that no source
            documents.
        status: The status; of a payer, a summary.
        meaning: What it means.
        whose_move: "payer", "payee", "you", "service" or "nobody".
        final: True if waiting alone does not change it.
        what_to_do: The next step.
        ask_again: Seconds until asking again makes sense; None if it does not.
        compliant: Of a payer, whether they may pay out; False of anything else.
        basis: Where this is documented; "" for a status that no source documents.
        parts: Of a payer, the explanations of the identity check, the agreement and the
            accounts.

    Example:
        >>> explanation = explain("awaiting_manual_review")
        >>> explanation.whose_move, explanation.final, explanation.ask_again
        ('service', False, 3600)
    """

    of: str
    status: str
    meaning: str
    whose_move: str
    final: bool = False
    what_to_do: str = ""
    ask_again: int | None = None
    compliant: bool = False
    basis: str = ""
    parts: tuple[Explanation, ...] = ()

    @property
    def is_passed(self) -> bool:
        """Return True if nothing is left to do."""
        return self.final and self.whose_move == "nobody"

    @property
    def summary(self) -> str:
        """The status, whose move it is and what to do, in one line."""
        step = self.next_step
        return f"{self._title()}: {step[:1].lower()}{step[1:]}"

    @property
    def next_step(self) -> str:
        """Whose move it is and what to do, in one line."""
        step = self.what_to_do
        if step == "Nothing.":
            step = ""
        move = f"{_MOVES[self.whose_move].capitalize()}."
        if step and self.whose_move == "nobody":
            move = ""
        wait = self.ask_again and f"Ask again in {_duration(self.ask_again)}."
        return " ".join(part for part in (move, step, wait) if part)

    def _title(self) -> str:
        words = f"{_THINGS.get(self.of, self.of)} {in_words(self.status)}".strip()
        return words[:1].upper() + words[1:]

    def __str__(self) -> str:
        lines = [
            self.summary,
            f"  {self.meaning}",
            *(f"  - {part.summary}" for part in self.parts),
        ]
        if self.basis:
            lines.append(f"  [{self.basis}]")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        found = [
            ("Meaning", html.escape(self.meaning)),
            ("Next", html.escape(self.next_step)),
            *(
                (_THINGS[part.of].capitalize(), _part_status(part))
                for part in self.parts
            ),
        ]
        chip = html.chip(status_kind(self), self._title())
        return html.picture(
            html.table([row for row in found if row[1]], caption=chip),
            html.small(self.basis),
        )


def _part_status(part: Explanation) -> str:
    """Return the status of a part, with the next step unless nothing is left to do."""
    chip = status_chip(part)
    if part.is_passed:
        return chip
    return f"{chip} {html.escape(part.next_step)}"


def status_chip(explanation: Explanation) -> html.Html:
    """Return a status in words as a chip: passed, failed, waiting for the service, or
    waiting for a person.
    """
    return html.chip(
        status_kind(explanation), in_words(explanation.status) or "no status"
    )


def status_kind(explanation: Explanation) -> html.ChipKind:
    """Return the colour of a status: passed, failed, waiting for the service, or
    waiting for a person.
    """
    if explanation.is_passed:
        return "success"
    if explanation.status == _DEACTIVATED:
        return "neutral"
    if (
        explanation.final and not explanation.compliant
    ):  # a compliant payer may need an account
        return "error"
    return "info" if explanation.whose_move == "service" else "warning"


@cache
def _table() -> dict[tuple[str, str], Explanation]:
    """Return the table of statuses, by what they are of and the word."""
    table = {}
    for row in rows("payerkit", "statuses"):
        seconds = row["ask_again"]
        values: dict[str, Any] = row | {
            "final": row["final"] == "yes",
            "ask_again": int(seconds) if seconds else None,
        }
        table[row["of"], row["status"]] = Explanation(**values)
    return table


def statuses() -> pd.DataFrame:
    """Return every status that the service is known to return, and what it means.

    Returns:
        One row per status: `of` (kyc, agreement, account, payment, request or order),
        `status`, `meaning`, `whose_move` (payer, payee, you, service or nobody),
        `final` (bool: waiting alone does not change it), `what_to_do`, `ask_again`
        (Int64: seconds until asking again makes sense) and `basis`, its source; text
        has dtype `string`.

    Example:
        >>> table = statuses()
        >>> table[table["whose_move"] == "payee"][["of", "status"]].to_string(
        ...     index=False, header=False
        ... ).split()
        ['account', 'failed', 'account', 'rejected', 'payment', 'bounced']
    """
    return frame_of(
        ([getattr(each, name) for name in _COLUMNS] for each in _table().values()),
        _COLUMNS,
    )


def explain(status: Any, of: str | None = None) -> Explanation:
    """Return what a status means, whose move it is, and what to do.

    A status that no source documents is not an error: it is explained as unknown.

    Args:
        status: A word, such as "pending_assessment", or an object with a status, such
            as a `PayerStatus` or a `PaymentDetail`.
        of: What a word is the status of: "kyc", "agreement", "account" (a payment
            detail), "payment" (a payout), "request", or "order" (a state of
            `reconcile`). A word that is a status of one thing alone needs no `of`.

    Returns:
        The explanation.

    Raises:
        InvalidInput: For anything that is neither a word nor has a status, for a word
            that is a status of several things, and for an unknown `of`.

    Example:
        >>> explain("pending_assessment")
        Identity check pending assessment: the service's move. Wait. Ask again in 1 min.
          The payer has finished; no check has been made yet.
          [operator, KYC sessions]
        >>> explain("rejected", of="account").whose_move
        'payee'
    """
    if of is not None and of not in _THINGS:
        raise InvalidInput(f"of: expected one of {', '.join(_THINGS)}.")
    if hasattr(status, "explain"):
        found: Explanation = status.explain()
        return found
    if not isinstance(status, str) or not status.strip():
        raise InvalidInput(
            'status: expected a word, such as "pending_assessment", or an object with a'
            " status, such as a PayerStatus."
        )
    word = _normal(status)
    if of is None:
        kinds = [kind for kind, known in _table() if known == word]
        if len(kinds) > 1:
            raise InvalidInput(
                "of: this is a status of several things. Say which:"
                f" {listed(kinds, 'or')}."
            )
        of = "".join(kinds)
    found = explain_word(status, of)
    if found.basis or word in _OF_OTHERS:
        return found
    words = [known for kind, known in _table() if of in {"", kind}]
    return replace(found, meaning=found.meaning + did_you_mean(word, words))


def explain_word(status: Any, of: str) -> Explanation:
    """Return the explanation of a status, also of one that is missing, or that no
    source documents. of: "" if it is not known what it is the status of.
    """
    thing = f"the {_THINGS[of]}" if of else "anything"
    if not isinstance(status, str) or not status.strip():
        return Explanation(
            of,
            "",
            f"The response has no status of {thing}.",
            "you",
            what_to_do="Ask again.",
        )
    word = _normal(status)
    # An order whose payout bounced or failed has the word of the payout.
    known = _table().get((of, word))
    if known is None and of == "order":
        known = _table().get(("payment", word))
    if known is not None:
        return known
    meaning = f"Not a documented status of {thing}."
    if word in _OF_OTHERS:
        meaning = f"A word of {_OF_OTHERS[word]}, and no status of {thing}."
    return Explanation(
        of,
        visible(status[:_MAX_WORD]),
        meaning,
        "you",
        what_to_do="Ask the service what it means, and whose move it is.",
        ask_again=3600,
    )


_SECURE_PAGES = "secure payment pages (OpenAPI file 0.13.0)"

_OF_OTHERS = {
    "invalidated": _SECURE_PAGES,
    "compliance_failed": _SECURE_PAGES,
    "partially_settled": _SECURE_PAGES,
    "already_paid": _SECURE_PAGES,
    "remove_child": _SECURE_PAGES,
    "recreate_reduced": _SECURE_PAGES,
    "wait_for_quote_refresh": _SECURE_PAGES,
    "switch_route": _SECURE_PAGES,
    "recreate_after_cooldown": _SECURE_PAGES,
    "support_required": _SECURE_PAGES,
    "proxying": "the stages of fees (OpenAPI file 0.13.0)",
    "refunding": "the stages of fees (OpenAPI file 0.13.0)",
}
"""Words that the service documents for what is not of payers, accounts or payments."""


def _normal(status: str) -> str:
    """Return a status as the table has it: the forms, and people, write "Pending
    assessment".
    """
    return "_".join(status.lower().replace("-", " ").replace("_", " ").split())


def explain_payer(
    kyc_status: Any,
    agreement_status: Any,
    *,
    stated: bool | None = None,
    accounts: Iterable[Any] | None = None,
) -> Explanation:
    """Return one explanation of a payer: whose move it is and what to do, from all
    statuses.

    stated: whether the payer is compliant, as the service says; if it does not say it,
    the statuses decide. accounts: statuses of the accounts that matter; None if they
    are not known.
    """
    kyc = explain_word(kyc_status, "kyc")
    agreement = explain_word(agreement_status, "agreement")
    refused = [part for part in (kyc, agreement) if part.final and not part.is_passed]
    if stated and refused:
        found = _explain_contradiction(refused[0])
    elif is_compliant(kyc_status, agreement_status, stated=stated):
        found = replace(_explain_accounts(accounts), compliant=True)
    else:
        found = _explain_open(kyc, agreement)
    return replace(found, parts=(kyc, agreement, *found.parts))


def is_compliant(
    kyc_status: Any, agreement_status: Any, *, stated: bool | None = None
) -> bool | None:
    """Return whether a payer is compliant: as the service states, else as the statuses
    say; None if neither does, or if it states it of a payer whom it has refused.
    """
    kyc = explain_word(kyc_status, "kyc")
    agreement = explain_word(agreement_status, "agreement")
    if stated is not None:
        is_refused = any(part.final and not part.is_passed for part in (kyc, agreement))
        return None if stated and is_refused else stated
    if not (isinstance(kyc_status, str) and isinstance(agreement_status, str)):
        return None
    return kyc.is_passed and agreement.is_passed


def _explain_contradiction(refused: Explanation) -> Explanation:
    """Return the explanation of a payer whom the service calls compliant, and whom it
    has refused.
    """
    thing = f"{_THINGS[refused.of]} {in_words(refused.status)}"
    return Explanation(
        "payer",
        f"compliant, and {thing}",
        f"The service calls the payer compliant, but says: {thing}.",
        "you",
        what_to_do="Ask the service which of the two is right, before the payer pays.",
        ask_again=3600,
    )


def _explain_open(kyc: Explanation, agreement: Explanation) -> Explanation:
    """Return the explanation of a payer who is not compliant: what cannot change first,
    then what the payer can do.
    """
    still = [part for part in (kyc, agreement) if not part.is_passed]
    label = ", ".join(
        f"{_THINGS[part.of]} {in_words(part.status) or 'unknown'}"
        for part in (kyc, agreement)
    )
    if not still:
        meaning = (
            "Identity check and agreement are passed, but the service does not call the"
            " payer compliant yet."
        )
        step = "Wait. If it lasts, ask the service."
        return Explanation(
            "payer",
            "not yet compliant",
            meaning,
            "service",
            what_to_do=step,
            ask_again=60,
        )
    refused = [part for part in still if part.final]
    leading = refused or [part for part in still if part.whose_move == "payer"] or still
    return Explanation(
        "payer",
        f"not compliant ({label})",
        meaning=" ".join(dict.fromkeys(part.meaning for part in leading)),
        whose_move=leading[0].whose_move,
        final=bool(refused),
        what_to_do=" ".join(dict.fromkeys(part.what_to_do for part in leading)),
        ask_again=min(
            (part.ask_again for part in leading if part.ask_again), default=None
        ),
    )


_NEXT_STEP = "If the payee's bank account is not stored yet, store it."


def _explain_accounts(accounts: Iterable[Any] | None) -> Explanation:
    """Return the explanation of a compliant payer: the next step depends on the
    accounts.
    """
    if accounts is None:
        return Explanation(
            "payer",
            "compliant",
            "The payer is compliant.",
            "nobody",
            final=True,
            what_to_do=_NEXT_STEP,
        )
    parts = tuple(explain_word(status, "account") for status in accounts)
    if not parts:
        status = "without a bank account"
        meaning = "The payer is compliant, but has no bank account of a payee."
        step = (
            "Store the payee's bank details: create_payment_detail() or"
            " add_bank_details()."
        )
        return Explanation(
            "payer", f"compliant, {status}", meaning, "you", final=True, what_to_do=step
        )
    leading = min(parts, key=lambda part: _URGENCY.index(part.whose_move))
    return Explanation(
        "payer",
        f"compliant, bank accounts: {count_words(part.status for part in parts)}",
        meaning=f"The payer is compliant. {leading.meaning}",
        whose_move=leading.whose_move,
        final=all(part.final for part in parts),
        what_to_do="Nothing." if leading.is_passed else leading.what_to_do,
        ask_again=min(
            (part.ask_again for part in parts if part.ask_again), default=None
        ),
        parts=parts,
    )


_URGENCY = ("payee", "you", "service", "nobody")
"""Of several accounts, the one that somebody has to act for leads; then those that are
being checked.
"""


def account_group(status: Any) -> str:
    """Return the group of an account's status: approved, open, failed, or off
    (deactivated).
    """
    found = explain_word(status, "account")
    if found.status == _DEACTIVATED:
        return "off"
    if found.is_passed:
        return "approved"
    if found.final:
        return "failed"
    return "open"


def count_words(statuses: Iterable[str]) -> str:
    """Return how often each word occurs, such as "2 approved, 1 pending"; "none"
    without words.
    """
    counts = Counter(in_words(status) or "unknown" for status in statuses)
    return ", ".join(f"{count} {word}" for word, count in counts.items()) or "none"


def _duration(seconds: int) -> str:
    if seconds % 3600 == 0:
        return f"{seconds // 3600} h"
    return f"{seconds // 60} min" if seconds % 60 == 0 else f"{seconds} s"
