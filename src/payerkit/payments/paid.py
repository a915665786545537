"""What a service says about a request: whether it is paid, and how much of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

from payerkit.errors import InvalidInput, PayerkitError, kind_of
from payerkit.explanations import Explanation, explain_word
from payerkit.models.payments import KnowsPaid
from payerkit.models.whole_response import Member, comparable, read_whole
from payerkit.payments.onchain.amounts import EXACT, positive_number
from payerkit.payments.onchain.currencies import Currency
from payerkit.payments.payment_policy import PaymentPolicy
from payerkit.payments.pegs import peg_of
from payerkit.payments.terms import OrderTerms

_PAID = {"paid", "overpaid"}
"""The states of a request that is paid, in `statuses.tsv`."""

_YES = (1, "1", "true", "yes")
"""Values that say that a request is paid; in Python, `True` equals 1."""

_FINE = {"", "true", "ok", "success", "approved", "verified", "signed", "initiated"}
"""States of something else than a request, such as a call or an account, that stop no
payment.
"""


@dataclass(frozen=True, slots=True)
class PaidStatus:
    """What a service says about a request. has_been_paid: None if it does not say;
    problem: the reason for that.

    states: the words for its state, by the paths of the members that have them.
    is_in_part: True if a part is paid, but not all. paid_amount: what is paid of it,
    requested_amount: what it asks for; None if that is not said.
    """

    has_been_paid: bool | None
    problem: str = ""
    states: tuple[tuple[str, Explanation], ...] = ()
    is_in_part: bool = False
    paid_amount: Decimal | None = None
    requested_amount: Decimal | None = None

    @classmethod
    def of(cls, statements: defaultdict[str, list[Member]]) -> Self:
        """Return what a response says, from its members by their roles."""
        answers = [member.value for member in statements["has_been_paid"]]
        states = list[tuple[str, Explanation]]()
        for member in statements["status"]:
            if _is_state(member.value):
                states.append((member.path, explain_word(member.value, "request")))
        words = {state.status for _, state in states}
        has_been_paid = None
        if any(value is False for value in answers):  # 0 and "false" are no statement
            has_been_paid = False
        if not words.isdisjoint(_PAID) or any(_is_yes(value) for value in answers):
            has_been_paid = True
        paid_amount = _largest(statements["paid_amount"])
        is_part_said = "partially_paid" in words or paid_amount is not None
        return cls(
            has_been_paid=has_been_paid,
            problem="The service does not say.",
            states=tuple(states),
            is_in_part=is_part_said and not has_been_paid,
            paid_amount=paid_amount,
            requested_amount=_largest(statements["requested_amount"]),
        )

    @classmethod
    def ask(cls, client: KnowsPaid, request_id: str | None) -> Self:
        """Ask a service. A question that fails is a status, too; raises InvalidInput
        for anything but a client.
        """
        if not isinstance(client, KnowsPaid):
            raise InvalidInput(
                "client: give a client, from connect() or sandbox(); got"
                f" {kind_of(client)}."
            )
        if request_id is None:
            return cls(None, "The payment has no request id.")
        try:
            members: object = client.request_members(request_id)
        except PayerkitError as error:
            return cls(None, error.message)
        whole = read_whole(members if isinstance(members, Mapping) else {})
        statements = whole.statements(request_id)
        for member in statements["request_id"]:
            if not member.holder and comparable(member.value) != request_id.lower():
                return cls(None, "The service responds about another request.")
        return cls.of(statements)

    def rest_of(self, order: OrderTerms, policy: PaymentPolicy) -> Decimal | None:
        """Return what is left to pay of an order, in its invoice currency; None if
        nothing is known to be paid.

        The service does not say in which currency it counts what is paid, so both have
        to be the same, or pegged to the same one. The order is for the whole amount of
        the request, or for its rest.
        """
        amount = positive_number(order.amount)
        paid = self.paid_amount
        invoice = policy.find_currency(order.invoice_currency)
        token = policy.find_currency(order.payment_currency)
        if not self.is_in_part or amount is None or paid is None:
            return None
        if invoice is None or token is None or _worth(invoice) != _worth(token):
            return None
        whole = self.requested_amount or amount
        rest = EXACT.subtract(whole, paid)
        return rest if rest > 0 and amount in {whole, rest} else None


def _worth(currency: Currency) -> str:
    """Return what a currency is counted in: the one that it is pegged to, or itself."""
    return peg_of(currency) or currency.id


def _is_yes(value: object) -> bool:
    return (value.lower() if isinstance(value, str) else value) in _YES


def _is_state(value: object) -> bool:
    """Return True for a word that may be the state of a request."""
    if not isinstance(value, str) or value.isdecimal():
        return False
    return value.strip().lower() not in _FINE


def _largest(members: Iterable[Member]) -> Decimal | None:
    """Return the largest amount that some members have; None if they have none."""
    numbers = [read_number(member.value) for member in members]
    return max([number for number in numbers if number is not None], default=None)


def read_number(value: object) -> Decimal | None:
    """Return a positive number in JSON, exactly as it is written there; None for
    anything else.
    """
    return positive_number(str(value) if isinstance(value, float) else value)
