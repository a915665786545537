"""What can be done to a sandbox and not to a live service: rates, the demo wallet, states set by hand."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from payerkit.client import Body, Call, Client, check_id


class SandboxControls:
    """The sandbox's own calls; reached as `client.sandbox`. Amounts and rates are text or Decimal, never float."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def docs_url(self) -> str:
        """Where the calls can be tried in a browser."""
        return f"{self._client.base_url}/docs"

    def rate(self, currency: str) -> Decimal:
        """Return the US dollars that the sandbox counts for one unit of a currency."""
        return Decimal(self._call("GET", "/sandbox/rates/{currency}", currency=currency)["usd"])

    def set_rate(self, currency: str, usd: str | Decimal) -> None:
        """Set the US dollars that one unit of a currency counts for, such as `"1.10"`."""
        self._call("PUT", "/sandbox/rates/{currency}", {"usd": _text(usd)}, currency=currency)

    def wallet(self, currency: str) -> dict[str, Decimal]:
        """Return what the demo wallet holds of a currency, and what it lets the payment contract take."""
        held = self._call("GET", "/sandbox/wallet/{currency}", currency=currency)
        return {name: Decimal(held[name]) for name in ("balance", "allowance")}

    def set_wallet(
        self, currency: str, *, balance: str | Decimal | None = None, allowance: str | Decimal | None = None
    ) -> None:
        """Set what the demo wallet holds of a currency, or lets the payment contract take, or both."""
        given = {"balance": balance, "allowance": allowance}
        body = {name: _text(amount) for name, amount in given.items() if amount is not None}
        self._call("PUT", "/sandbox/wallet/{currency}", body, currency=currency)

    def complete_kyc(self, client_user_id: str, *, status: str = "approved") -> None:
        """Set a payer's identity check to a status, as if it had come out so."""
        checked = check_id(client_user_id, "client_user_id")
        self._call("PUT", "/sandbox/kyc/{id}", {"status": status}, id=checked)

    def complete_agreement(self, client_user_id: str, *, status: str = "signed") -> None:
        """Set a payer's agreement to a status, as if the payer had done so."""
        checked = check_id(client_user_id, "client_user_id")
        self._call("PUT", "/sandbox/agreement/{id}", {"status": status}, id=checked)

    def decide(self, payment_details_id: str, *, status: str = "approved") -> None:
        """Set the status of bank details, as if a bank had decided so."""
        checked = check_id(payment_details_id, "payment_details_id")
        self._call("PUT", "/sandbox/payment-details/{id}", {"status": status}, id=checked)

    def _call(self, method: str, route: str, body: dict[str, str] | None = None, **ids: str) -> dict[str, Any]:
        call = Call(
            operation="sandbox",
            method=method,
            route=route,
            ids=ids,
            body=None if body is None else Body(body),
            read=_read,
            repeatable=True,
            settle="It does no harm to call it again.",
        )
        return self._client.send(call)

    def __repr__(self) -> str:
        return f"<controls of the sandbox at {self._client.base_url}>"


def _text(amount: str | Decimal) -> str:
    return format(amount, "f") if isinstance(amount, Decimal) else str(amount)


def _read(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise ValueError("a JSON object was due")  # noqa: TRY004 - the value is at fault
    return answer
