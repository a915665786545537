"""A service of which a test says where each payer stands; it answers the two calls of
`payer_statuses`.
"""

from __future__ import annotations

import json
import signal
import socket
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Self
from urllib.parse import unquote

from far_end import FarEnd, Received, reply


class StatusService:
    """Answers by payer: `payers` has the status of each, `accounts` the accounts,
    `failing` a status code instead.
    """

    def __init__(
        self,
        payers: Mapping[str, Mapping[str, Any]],
        accounts: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    ) -> None:
        self.payers = {name: dict(fields) for name, fields in payers.items()}
        self.accounts = {
            name: [dict(each) for each in found]
            for name, found in (accounts or {}).items()
        }
        self.failing: dict[str, int] = {}
        self.interrupts_at = 0
        """The number of the request during which the user presses Ctrl+C."""
        self._far = FarEnd([self._answer])

    def _answer(self, connection: socket.socket, request: Received) -> bool | None:
        if len(self._far.ledger) == self.interrupts_at:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        client_user_id, *rest = unquote(request.target).split("/")[3:]
        if code := self.failing.get(
            f"{client_user_id}/accounts" if rest else client_user_id
        ):
            return reply(code, json.dumps({"statusCode": code, "message": "Example"}))(
                connection, request
            )
        if client_user_id not in self.payers:
            missing = {
                "statusCode": 404,
                "message": f"Payer with client user ID {client_user_id} not found",
            }
            return reply(404, json.dumps(missing))(connection, request)
        found = (
            {"paymentDetails": self.accounts.get(client_user_id, [])}
            if rest
            else self.payers[client_user_id]
        )
        return reply(200, json.dumps(found))(connection, request)

    @property
    def url(self) -> str:
        """The address."""
        return self._far.url

    @property
    def asked(self) -> list[str]:
        """The paths that were requested, in order."""
        return [unquote(each.target).split("/", 3)[3] for each in self._far.ledger]

    def __enter__(self) -> Self:
        self._far.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._far.__exit__(*error)


def payer(
    kyc: str | None, agreement: str | None, compliant: bool | None = None, **more: Any
) -> dict[str, Any]:
    """Return a payer's status as a service returns it."""
    fields = {
        "kycStatus": kyc,
        "agreementStatus": agreement,
        "isCompliant": compliant,
        **more,
    }
    return {name: value for name, value in fields.items() if value is not None}


def account(
    status: str | None,
    holder: str = "Example Payee",
    currency: str = "eur",
    **more: Any,
) -> dict[str, Any]:
    """Return an account as a service lists it."""
    fields = {
        "id": "1",
        "status": status,
        "accountName": holder,
        "currency": currency,
        **more,
    }
    return {name: value for name, value in fields.items() if value is not None}


READY = payer("approved", "completed", compliant=True)
REVIEW = payer("pending", "completed", compliant=False)
UNSIGNED = payer("approved", "pending", compliant=False)
REJECTED = payer("rejected", "not_started", compliant=False)
