"""What can be done to a sandbox and not to a live service: rates, the demo wallet, states set by hand."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

from payerkit.client import Body, Call, Client
from payerkit.errors import InvalidInput
from payerkit.ids import check_id
from payerkit.tracebacks import trimmed

T = TypeVar("T")
Amount = str | int | Decimal


class SandboxControls:
    """The sandbox's own calls: `client.sandbox`, or `SandboxControls(client)` for a sandbox that others run.

    Amounts and rates are text, whole numbers or Decimal, never float. Errors are those of the calls.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def docs_url(self) -> str:
        """Where the calls can be tried in a browser; the page asks for `reveal_key()`."""
        return f"{self._client.base_url}/docs"

    def reveal_key(self) -> str:
        """Return the sandbox's API key."""
        return self._client.reveal_key()

    @trimmed
    def rate(self, currency: str) -> Decimal:
        """Return the US dollars that the sandbox counts for one unit of a currency."""
        return self._get("rate", "rates", check_id(currency, "currency"), lambda answer: _decimal(answer, "usd"))

    @trimmed
    def set_rate(self, currency: str, usd: Amount) -> None:
        """Set the US dollars that one unit of a currency counts for, such as `"1.10"`."""
        self._put("set_rate", "rates", check_id(currency, "currency"), {"usd": _text(usd, "usd")})

    @trimmed
    def wallet(self, currency: str) -> dict[str, Decimal]:
        """Return the demo wallet's `balance` of a currency, and the `allowance` of the payment contract."""
        return self._get("wallet", "wallet", check_id(currency, "currency"), _read_holding)

    @trimmed
    def set_wallet(self, currency: str, *, balance: Amount | None = None, allowance: Amount | None = None) -> None:
        """Set the demo wallet's balance of a currency, the allowance of the payment contract, or both."""
        given = {"balance": balance, "allowance": allowance}
        body = {name: _text(amount, name) for name, amount in given.items() if amount is not None}
        self._put("set_wallet", "wallet", check_id(currency, "currency"), body)

    @trimmed
    def complete_kyc(self, client_user_id: str, *, status: str = "approved") -> None:
        """Set a payer's identity check to a status, as if it had come out so."""
        self._put("complete_kyc", "kyc", check_id(client_user_id, "client_user_id"), {"status": status})

    @trimmed
    def complete_agreement(self, client_user_id: str, *, status: str = "signed") -> None:
        """Set a payer's agreement to a status, as if the payer had done so."""
        self._put("complete_agreement", "agreement", check_id(client_user_id, "client_user_id"), {"status": status})

    @trimmed
    def decide(self, payment_details_id: str, *, status: str = "approved") -> None:
        """Set the status of bank details, as if a bank had decided so."""
        about = check_id(payment_details_id, "payment_details_id")
        self._put("decide", "payment-details", about, {"status": status})

    def _get(self, operation: str, what: str, about: str, read: Callable[[Any], T]) -> T:
        route = f"/sandbox/{what}/{{id}}"
        return self._client.send(Call(operation=operation, method="GET", route=route, ids={"id": about}, read=read))

    def _put(self, operation: str, what: str, about: str, body: dict[str, str]) -> None:
        call = Call(
            operation=operation,
            method="PUT",
            route=f"/sandbox/{what}/{{id}}",
            ids={"id": about},
            body=Body(body),
            read=lambda _: None,
            repeatable=True,
            settle="It does no harm to call it again.",
        )
        self._client.send(call)

    def __repr__(self) -> str:
        return f"<controls of the sandbox at {self._client.base_url}>"


def _text(amount: object, name: str) -> str:
    """Return an amount as it is sent. Raises InvalidInput for a float, which is not exact."""
    if isinstance(amount, Decimal):
        return format(amount, "f")
    if isinstance(amount, bool) or not isinstance(amount, str | int):
        raise InvalidInput(f'{name}: give the amount as text, such as "1.10". Nothing was sent.')
    return str(amount)


def _decimal(answer: Any, name: str) -> Decimal:
    try:
        return Decimal(str(answer[name]))
    except (InvalidOperation, LookupError, TypeError):
        raise ValueError(f"a decimal was due as {name}") from None


def _read_holding(answer: Any) -> dict[str, Decimal]:
    return {name: _decimal(answer, name) for name in ("balance", "allowance")}
