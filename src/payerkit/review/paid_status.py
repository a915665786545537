"""Whether a request is paid already: asked of the service before a payment is signed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from payerkit.errors import InvalidInput, PayerkitError, kind_of
from payerkit.review.protocols import KnowsPaid


@dataclass(frozen=True, slots=True)
class PaidStatus:
    """What the service says. has_been_paid: None if it does not say it; problem: then, why."""

    has_been_paid: bool | None
    problem: str = ""

    @classmethod
    def ask(cls, client: KnowsPaid, request_id: str | None) -> Self:
        """Ask a service. A question that fails is a status, too; raises InvalidInput for anything but a client."""
        if not isinstance(client, KnowsPaid):
            raise InvalidInput(f"client: give a client, from connect() or sandbox(); got {kind_of(client)}.")
        if request_id is None:
            return cls(None, "The payment has no request id.")
        try:
            paid = client.has_been_paid(request_id)
        except PayerkitError as error:
            return cls(None, error.message)
        return cls(paid, "The service does not say." if paid is None else "")
