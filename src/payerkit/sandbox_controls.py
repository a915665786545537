"""What can be done to a sandbox and not to a live service: rates, wallet, states set by hand, faults, the ledger."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, TypeVar

from payerkit.client import Call, Client, RequestBody
from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.wire import check_id, wire_name

if TYPE_CHECKING:
    import pandas as pd

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

    @without_internal_frames
    def rate(self, currency: str) -> Decimal:
        """Return the US dollars that the sandbox counts for one unit of a currency."""
        return self._get(
            "rate", "rates/{id}", lambda answer: _decimal(answer, "usd"), id=check_id(currency, "currency")
        )

    @without_internal_frames
    def set_rate(self, currency: str, usd: Amount) -> None:
        """Set the US dollars that one unit of a currency counts for, such as `"1.10"`."""
        self._put("set_rate", "rates/{id}", {"usd": _text(usd, "usd")}, id=check_id(currency, "currency"))

    @without_internal_frames
    def wallet(self, currency: str) -> dict[str, Decimal]:
        """Return the demo wallet's `balance` of a currency, and the `allowance` of the payment contract."""
        return self._get("wallet", "wallet/{id}", _read_holding, id=check_id(currency, "currency"))

    @without_internal_frames
    def set_wallet(self, currency: str, *, balance: Amount | None = None, allowance: Amount | None = None) -> None:
        """Set the demo wallet's balance of a currency, the allowance of the payment contract, or both."""
        given = {"balance": balance, "allowance": allowance}
        body = {name: _text(amount, name) for name, amount in given.items() if amount is not None}
        self._put("set_wallet", "wallet/{id}", body, id=check_id(currency, "currency"))

    @without_internal_frames
    def complete_kyc(self, client_user_id: str, *, status: str = "approved") -> None:
        """Set a payer's identity check to a status, as if it had come out so."""
        self._put("complete_kyc", "kyc/{id}", {"status": status}, id=check_id(client_user_id, "client_user_id"))

    @without_internal_frames
    def complete_agreement(self, client_user_id: str, *, status: str = "signed") -> None:
        """Set a payer's agreement to a status, as if the payer had done so."""
        self._put(
            "complete_agreement", "agreement/{id}", {"status": status}, id=check_id(client_user_id, "client_user_id")
        )

    @without_internal_frames
    def decide(self, payment_details_id: str, *, status: str = "approved") -> None:
        """Set the status of bank details, as if a bank had decided so."""
        about = check_id(payment_details_id, "payment_details_id")
        self._put("decide", "payment-details/{id}", {"status": status}, id=about)

    @without_internal_frames
    def set_faults(self, plan: str) -> None:
        """Let the calls from now on meet faults, such as `"latency=0.02, reset_after=5%"`; `""` ends it.

        Setting a plan, also the same one again, begins anew with what each call meets.
        """
        if not isinstance(plan, str):
            raise InvalidInput(
                'plan: give it as text, such as "reset_after=5%", or "" for no faults. Nothing was sent.'
            )
        self._put("set_faults", "faults", {"plan": plan})

    @without_internal_frames
    def ledger(self) -> pd.DataFrame:
        """Return what the sandbox really stored, one row a write, in order, whatever the calls were told.

        what: payer, payment_detail or agreement. id: the payment detail's. fingerprint: equal only where bodies are.
        """
        import pandas as pd  # noqa: PLC0415 - loaded by who asks for a table

        writes: list[dict[str, Any]] = []
        while page := self._get("ledger", "ledger?after={number}", _read_writes, number=_last(writes)):
            writes += page
        return pd.DataFrame(
            {
                name: pd.array([write[wire] for write in writes], dtype="int64" if name == "number" else "string")
                for name, wire in _LEDGER.items()
            }
        )

    def _get(self, operation: str, route: str, read: Callable[[Any], T], **ids: str) -> T:
        return self._client.send(Call(operation=operation, method="GET", route=f"/sandbox/{route}", ids=ids, read=read))

    def _put(self, operation: str, route: str, body: dict[str, str], **ids: str) -> None:
        call = Call(
            operation=operation,
            method="PUT",
            route=f"/sandbox/{route}",
            ids=ids,
            body=RequestBody(body),
            read=lambda _: None,
            idempotent=True,
            if_unknown="It does no harm to call it again.",
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


_LEDGER = {name: wire_name(name) for name in ("number", "what", "client_user_id", "id", "fingerprint")}
"""Columns of the ledger, and what they are on the wire."""


def _last(writes: list[dict[str, Any]]) -> str:
    return str(writes[-1]["number"] if writes else 0)


def _read_writes(answer: Any) -> list[dict[str, Any]]:
    try:
        return [{name: write[name] for name in _LEDGER.values()} for write in answer["writes"]]
    except (LookupError, TypeError):
        raise ValueError("a ledger was due") from None


def _read_holding(answer: Any) -> dict[str, Decimal]:
    return {name: _decimal(answer, name) for name in ("balance", "allowance")}
