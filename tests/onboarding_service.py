"""A service at the far end of a connection that stores what it is sent, unless a test
says what a request meets.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from far_end import Behaviour, Received, reply

COMPLIANT = {
    "kycStatus": "approved",
    "agreementStatus": "completed",
    "isCompliant": True,
}


@dataclass
class Service:
    """A service whose next requests of a kind meet what a test says.

    status: of every payer, None for a service without statuses. listed: what a list
    shows of an account. keeps: an account is stored whatever its request meets.
    """

    payers: list[Behaviour] = field(default_factory=list)
    statuses: list[Behaviour] = field(default_factory=list)
    accounts: list[Behaviour] = field(default_factory=list)
    lists: list[Behaviour] = field(default_factory=list)
    root: list[Behaviour] = field(default_factory=list)
    status: dict[str, Any] | None = field(default_factory=lambda: dict(COMPLIANT))
    listed: Callable[[dict[str, Any]], dict[str, Any]] = dict
    keeps: bool = False
    stored: list[dict[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def __call__(self, connection: Any, request: Received) -> bool | None:
        """Answer a request, and count it by its kind."""
        kind = self._kind(request)
        self.calls.append(kind)
        waiting: list[Behaviour] = getattr(self, kind)
        usual = self._usual(kind, request) if self.keeps or not waiting else None
        behaviour: Any = waiting.pop(0) if waiting else usual
        return bool(behaviour(connection, request))

    def _kind(self, request: Received) -> str:
        if request.target == "/":
            return "root"
        if request.target == "/v2/payer":
            return "payers"
        if not request.target.endswith("/payment-details"):
            return "statuses"
        return "accounts" if request.method == "POST" else "lists"

    def _usual(self, kind: str, request: Received) -> Behaviour:
        payer = request.target.split("/")[-2]
        if kind == "accounts":
            self.stored.append(
                {
                    **json.loads(request.body),
                    "id": f"pd-{len(self.stored)}",
                    "payer": payer,
                }
            )
            return reply(201, json.dumps({"payment_detail": self.stored[-1]}))
        listed = [
            self.listed(record) for record in self.stored if record["payer"] == payer
        ]
        answers = {
            "payers": {"status": {}, "userId": "u-1"},
            "lists": {"paymentDetails": listed},
            "root": {},
        }
        found = answers.get(kind, self.status)
        return (
            reply(404, '{"message": "not found"}')
            if found is None
            else reply(200, json.dumps(found))
        )

    def count(self, *kinds: str) -> tuple[int, ...]:
        """Return how many requests of each kind arrived."""
        return tuple(self.calls.count(kind) for kind in kinds)
