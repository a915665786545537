"""Whether a request is paid already, or in part: as a response says, or the service when it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

from payerkit.errors import InvalidInput, PayerkitError, kind_of
from payerkit.explanations import Explanation, explain_word
from payerkit.models.compared_with import KnowsPaid, KnowsRequest, OrderTerms
from payerkit.models.whole_response import Member, comparable, read_whole
from payerkit.onchain.amounts import EXACT, positive_number
from payerkit.policy.payment_policy import PaymentPolicy
from payerkit.review.amounts import peg_of

_PAID = {"paid", "overpaid"}
"""The states of a request that is paid, in `statuses.tsv`."""

_FINE = {"", "true", "ok", "success", "approved", "verified", "signed", "initiated"}
"""States of something else than a request, such as a call or an account, that stop no payment."""


@dataclass(frozen=True, slots=True)
class PaidStatus:
    """What is said of a request. has_been_paid: None if it is not said; problem: then, why.

    states: the words for its state, by the paths of the members that have them. paid_amount: what is paid of it,
    requested_amount: what it asks for; None if that is not said.
    """

    has_been_paid: bool | None
    problem: str = ""
    states: tuple[tuple[str, Explanation], ...] = ()
    paid_amount: Decimal | None = None
    requested_amount: Decimal | None = None

    @classmethod
    def of(cls, statements: Mapping[str, Sequence[Member]]) -> Self:
        """Return what a response says, from its members by their roles."""
        is_paid, is_unpaid = False, False
        for said in statements.get("has_been_paid", ()):
            is_paid |= _is_true(said.value)
            is_unpaid |= said.value is False  # 0 and "false" are no statement
        states = list[tuple[str, Explanation]]()
        for said in statements.get("status", ()):
            if _is_state(said.value):
                states.append((said.path, explain_word(said.value, "request")))
                is_paid |= states[-1][1].status in _PAID
        return cls(
            has_been_paid=True if is_paid else False if is_unpaid else None,
            problem="The service does not say.",
            states=tuple(states),
            paid_amount=_most(statements, "paid_amount"),
            requested_amount=_most(statements, "requested_amount"),
        )

    @classmethod
    def ask(cls, client: KnowsPaid, request_id: str | None) -> Self:
        """Ask a service. A question that fails is a status, too; raises InvalidInput for anything but a client."""
        if not isinstance(client, KnowsPaid):
            raise InvalidInput(f"client: give a client, from connect() or sandbox(); got {kind_of(client)}.")
        if request_id is None:
            return cls(None, "The payment has no request id.")
        try:
            if isinstance(client, KnowsRequest):
                said = client.request_members(request_id)
            else:
                said = {"hasBeenPaid": client.has_been_paid(request_id)}
        except PayerkitError as error:
            return cls(None, error.message)
        statements = read_whole(said).statements(request_id)
        ids = {comparable(each.value) for each in statements.get("request_id", ()) if not each.holder}
        is_other = not ids <= {request_id.lower()}
        return cls(None, "The service responds about another request.") if is_other else cls.of(statements)

    @property
    def is_in_part(self) -> bool:
        """Whether a part is paid, but not all."""
        is_said = self.paid_amount is not None or any(state.status == "partially_paid" for _, state in self.states)
        return is_said and not self.has_been_paid

    def rest_of(self, order: OrderTerms, policy: PaymentPolicy) -> Decimal | None:
        """Return what is left to pay of an order, in its invoice currency; None if nothing is paid, or nobody knows.

        The service does not say in which currency it counts what is paid, so both have to be the same, or pegged to
        the same one. The order is for the whole amount of the request, or for its rest.
        """
        currencies = [policy.find_currency(each) for each in (order.invoice_currency, order.payment_currency)]
        worth = {each and (peg_of(each) or each.id) for each in currencies}
        amount, paid = positive_number(order.amount), self.paid_amount
        if not self.is_in_part or amount is None or paid is None or len(worth) > 1 or None in worth:
            return None
        whole = self.requested_amount or amount
        rest = EXACT.subtract(whole, paid)
        return rest if rest > 0 and amount in {whole, rest} else None


def _most(statements: Mapping[str, Sequence[Member]], role: str) -> Decimal | None:
    """Return the largest of the amounts that members with a role state; None if they state none."""
    amounts = [read_number(each.value) for each in statements.get(role, ())]
    return max(filter(None, amounts), default=None)


def read_number(value: object) -> Decimal | None:
    """Return a positive number in JSON, exactly as it is written there; None for anything else."""
    return positive_number(str(value) if isinstance(value, float) else value)


def _is_true(value: object) -> bool:
    """Return True if a value says yes, also as text or as a number."""
    return value is True or value == 1 or (isinstance(value, str) and value.lower() in {"true", "yes"})


def _is_state(value: object) -> bool:
    """Return True for a word that may be the state of a request: neither a number nor one for another thing."""
    return isinstance(value, str) and not value.isdecimal() and value.strip().lower() not in _FINE
