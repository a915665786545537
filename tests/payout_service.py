"""A service on loopback that pays out to stored accounts, for the forms, with the
published shapes.
"""

from __future__ import annotations

import json
import re
import socket
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from cases import DATA
from example_payments import APPROVAL, TOKEN_PAYMENT
from far_end import Behaviour, FarEnd, Received, reply
from payerkit.client import Client, Retries

PUBLISHED: dict[str, Any] = json.loads(
    DATA.joinpath("published_payouts.json").read_text("utf-8")
)
"""A request, its payment and its account with the members of the operator's
documentation.
"""

CHASE = PUBLISHED["account"]
EXAMPLE_BANK = CHASE | {
    "id": "b2",
    "bankName": "Example Bank",
    "accountNumber": "253009231111",
}
PENDING = CHASE | {
    "id": "b3",
    "bankName": "Example Bank",
    "accountNumber": "253009232222",
    "status": "pending",
}

ORDER = {"amount": "10", "invoice_currency": "USD", "payment_currency": "fUSDC-sepolia"}
"""An order in the account's currency that no finding is about."""

TO_PAY = {
    "transactions": [
        dict(zip(("to", "data", "value"), each, strict=True))
        for each in (APPROVAL, TOKEN_PAYMENT)
    ],
    "metadata": {
        "stepsRequired": 2,
        "needsApproval": True,
        "approvalTransactionIndex": 0,
    },
}
COMPLIANT = {
    "kycStatus": "approved",
    "agreementStatus": "completed",
    "isCompliant": True,
}
TX_HASH = "0x" + "ab" * 32

CALLS = {
    "accounts": re.compile("GET /v1/payer/[^/]+/payment-details"),
    "store": re.compile("POST /v1/payer/[^/]+/payment-details"),
    "payer": re.compile("POST /v2/payer"),
    "payer status": re.compile("GET /v2/payer/[^/]+"),
    "wallet": re.compile("POST /v1/pay"),
    "create": re.compile("POST /v2/request"),
    "list": re.compile("GET /v2/request"),
    "pay": re.compile("GET /v2/request/[^/]+/pay"),
    "status": re.compile("GET /v2/request/[^/]+"),
}
"""The calls, by names for tests."""


def answering(*bodies: object, status: int = 200) -> FarEnd:
    """Return a service that responds with these bodies, one after the other, and then
    with the last.
    """
    return FarEnd([reply(status, json.dumps(body)) for body in bodies])


def client_of(service: FarEnd, **options: Any) -> Client:
    """Return a client that tries each call once."""
    return Client(service.url, "key-of-a-test", retries=Retries(attempts=1), **options)


def query_of(request: Received) -> dict[str, str]:
    """Return the query of a request."""
    return dict(parse_qsl(urlsplit(request.target).query))


class PayoutService(FarEnd):
    """Responds to the calls of a payout; a test replaces single responses, by the names
    of the calls.

    accounts: what the payer has. requests: those that it lists. is_paid: what the
    service says of a request.
    """

    def __init__(self, *accounts: dict[str, Any]) -> None:
        super().__init__([self._behave])
        self.accounts = accounts
        self.requests: list[dict[str, Any]] = []
        self.is_paid = False
        self.instead: dict[str, Behaviour] = {}

    def sent(self) -> list[str]:
        """Return the names of the calls so far."""
        return [_name(each) for each in self.ledger]

    def body(self, name: str, place: int = -1) -> dict[str, Any]:
        """Return the body of a call, by default of the last one of its name."""
        body: dict[str, Any] = json.loads(
            [each.body for each in self.ledger if _name(each) == name][place]
        )
        return body

    def query(self, name: str) -> dict[str, str]:
        """Return the query of the last call of a name."""
        return query_of([each for each in self.ledger if _name(each) == name][-1])

    def _behave(self, connection: socket.socket, request: Received) -> bool | None:
        name = _name(request)
        behave = self.instead.get(name) or reply(*self._respond(name, request))
        return behave(connection, request)

    def _respond(self, name: str, request: Received) -> tuple[int, str]:
        only = query_of(request).get("paymentDetailsId")
        listed = [each for each in self.accounts if only in {None, each["id"]}]
        count = self.sent().count("create")
        paid = {
            "hasBeenPaid": self.is_paid,
            "txHash": TX_HASH if self.is_paid else None,
        }
        content: dict[str, Any] = {
            "accounts": {"paymentDetails": listed},
            "store": {"payment_detail": self.accounts[0] if self.accounts else {}},
            "payer": COMPLIANT,
            "payer status": COMPLIANT,
            "wallet": TO_PAY,
            "create": {
                "requestId": f"request-{count}",
                "paymentReference": "0x123456789abcdef0",
            },
            "list": {
                "requests": self.requests,
                "pagination": {"total": len(self.requests)},
            },
            "pay": TO_PAY,
            "status": {"requestId": f"request-{count}", "requestAmount": "10", **paid},
        }
        return 201 if request.method == "POST" else 200, json.dumps(content[name])


def _name(request: Received) -> str:
    line = f"{request.method} {urlsplit(request.target).path}"
    return next(name for name, call in CALLS.items() if call.fullmatch(line))
