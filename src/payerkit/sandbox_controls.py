"""Controls of a sandbox, which a live service lacks: rates, fees, wallet, states, clock, faults and the ledger."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from payerkit.client.call import Call, RequestBody
from payerkit.client.client import Client
from payerkit.client.node import Node
from payerkit.errors import InvalidInput, PayerkitError, kind_of, without_internal_frames
from payerkit.events.file import DELIVERY, RETRY_COUNT, SIGNATURE, Delivery, EventsFile, read_lines
from payerkit.frames import frame_of
from payerkit.wire import check_id, read_time, wire_name

if TYPE_CHECKING:
    import pandas as pd

    from payerkit.models import Payment, Transaction
    from payerkit.policy.payment_policy import AgreedFee, PaymentPolicy

T = TypeVar("T")
Amount = str | int | Decimal

_EXACT = Context(prec=100)
"""Digits of a rate between two currencies: more than any amount has."""


_LEDGER = {"number": "int64", "what": "string", "client_user_id": "string", "id": "string", "fingerprint": "string"}
"""Columns of the ledger and their dtypes."""


class SandboxControls:
    """Controls that only a sandbox has: rates, the demo wallet, states, the clock, faults and the ledger.

    `client.sandbox` has them if `sandbox()` made the client. For a sandbox that runs elsewhere, make them from its
    client. Every method raises the errors of the five calls: `InvalidInput`, `Refused`, `NotSent` ...

    Args:
        client: A client of a sandbox.

    Example:
        >>> controls = SandboxControls(client)
        >>> controls.rate("EUR")
        Decimal('1.10')
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def node(self, network: str = "sepolia") -> Node:
        """Return a node of the sandbox's own, for `check_payment(node=)`: it executes on the demo wallet.

        It is the service's own word, so it proves nothing about a real payment.

        Args:
            network: As in currency ids.

        Example:
            >>> payment = initiate_payment(client, order)
            >>> policy, node = client.sandbox.policy(), client.sandbox.node()
            >>> check_payment(payment, policy=policy, node=node, wallet=f"0x{'11' * 20}").verdict
            'ok'
        """
        url = f"{self._client.base_url}/sandbox/rpc/{network}"
        return Node(url, name="of the sandbox", headers={"x-api-key": self._client.reveal_key()})

    @without_internal_frames
    def rate(self, currency: str) -> Decimal:
        """Return the sandbox's exchange rate of a currency.

        Args:
            currency: A currency id, such as "EUR" or "fUSDC-sepolia".

        Returns:
            US dollars for one unit.

        Raises:
            NotFound: The currency is unknown.

        Example:
            >>> client.sandbox.rate("EUR")
            Decimal('1.10')
        """
        return self._send("rate", "GET rates/{currency}", lambda response: _decimal(response, "usd"), currency=currency)

    @without_internal_frames
    def set_rate(self, currency: str, usd: Amount) -> None:
        """Set the exchange rate of a currency; later payments use it.

        Args:
            currency: A currency id.
            usd: US dollars for one unit: a string, an int or a Decimal, never a float.

        Raises:
            InvalidInput: The rate is a float or not a number.
            Refused: The rate is not positive.

        Example:
            >>> client.sandbox.set_rate("EUR", "1.25")
            >>> client.sandbox.rate("EUR")
            Decimal('1.25')
        """
        self._set("set_rate", "rates/{currency}", {"usd": _text(usd, "usd")}, currency=currency)

    @without_internal_frames
    def policy(self) -> PaymentPolicy:
        """Return a policy that agrees to the sandbox's fees and takes its exchange rates.

        Against a real service, a person agrees to the fees; see `PaymentPolicy`. The address book and all else are
        empty: `dataclasses.replace` adds to it.

        Returns:
            The policy. It asks the sandbox for a rate whenever one is needed, so it follows `set_rate()`. Once the
            sandbox is closed, it knows no rates.

        Example:
            >>> payment = initiate_payment(client, order)
            >>> check_payment(payment).verdict, check_payment(payment, policy=client.sandbox.policy()).verdict
            ('look', 'ok')
        """
        from payerkit.policy.payment_policy import PaymentPolicy  # noqa: PLC0415 - loaded on first use

        return PaymentPolicy(fees=self._send("policy", "GET fees", _read_fees), rate_source=self._rate_between)

    def _rate_between(self, payment_currency: str, invoice_currency: str) -> Decimal | None:
        """Return the price of one unit of a currency in another one; None if the sandbox does not tell."""
        try:
            return _EXACT.divide(self.rate(payment_currency), self.rate(invoice_currency))
        except PayerkitError:
            return None

    @without_internal_frames
    def wallet(self, currency: str) -> dict[str, Decimal]:
        """Return what the demo wallet holds of a currency.

        Args:
            currency: A currency id.

        Returns:
            `balance` of the wallet and `allowance` of the payment contract, in units of the currency.

        Raises:
            NotFound: The currency is unknown.

        Example:
            >>> client.sandbox.wallet("fUSDC-sepolia")["balance"]
            Decimal('1000000.000000')
        """
        return self._send("wallet", "GET wallet/{currency}", _read_holding, currency=currency)

    @without_internal_frames
    def set_wallet(self, currency: str, *, balance: Amount | None = None, allowance: Amount | None = None) -> None:
        """Set what the demo wallet holds of a currency; later payments report it.

        Args:
            currency: A currency id.
            balance: The wallet's balance, in units of the currency: a string, an int or a Decimal; None keeps it.
            allowance: What the payment contract may take from the wallet; None keeps it.

        Raises:
            InvalidInput: An amount is a float or not a number.
            Refused: An amount is negative, or has more decimals than the currency.

        Example:
            >>> client.sandbox.set_wallet("fUSDC-sepolia", balance="5")
            >>> client.sandbox.wallet("fUSDC-sepolia")["balance"]
            Decimal('5.000000')
        """
        amounts = {"balance": balance, "allowance": allowance}
        body = {name: _text(amount, name) for name, amount in amounts.items() if amount is not None}
        self._set("set_wallet", "wallet/{currency}", body, currency=currency)

    @without_internal_frames
    def complete_kyc(self, client_user_id: str, *, status: str = "approved") -> None:
        """Set the status of a payer's identity check.

        Args:
            client_user_id: The payer.
            status: Any of the service's words: not_started, initiated, pending, pending_assessment,
                prechecks_completed, application_queued, awaiting_manual_review, approved, completed, full_clearance,
                rejected, failed, retry_required or retry_denied.

        Raises:
            NotFound: The payer is unknown.
            Refused: The status is unknown.

        Example:
            >>> client.sandbox.complete_kyc("user-123")
            >>> get_payer_status(client, "user-123").kyc_status
            'approved'
        """
        self._set("complete_kyc", "kyc/{client_user_id}", {"status": status}, client_user_id=client_user_id)

    @without_internal_frames
    def submit_kyc(self, client_user_id: str) -> None:
        """Submit a payer's identity check, as the payer does on the page: it is pending, and approved after its time.

        Args:
            client_user_id: The payer.

        Raises:
            NotFound: The payer is unknown.
            Refused: The identity check is pending or decided already.

        Example:
            >>> client.sandbox.submit_kyc("user-123")
            >>> get_payer_status(client, "user-123").kyc_status
            'pending'
            >>> client.sandbox.advance(minutes=2)
            >>> get_payer_status(client, "user-123").kyc_status
            'approved'
        """
        advice = "get_payer_status() says whether the check was submitted."
        call = "POST kyc/{client_user_id}/submit"
        self._send("submit_kyc", call, lambda _: None, {}, if_unknown=advice, client_user_id=client_user_id)

    @without_internal_frames
    def complete_agreement(self, client_user_id: str, *, status: str = "signed") -> None:
        """Set the status of a payer's agreement.

        Args:
            client_user_id: The payer.
            status: not_started, pending, completed, signed, rejected or failed.

        Raises:
            NotFound: The payer is unknown.
            Refused: The status is unknown.

        Example:
            >>> client.sandbox.complete_agreement("user-123", status="rejected")
            >>> get_payer_status(client, "user-123").agreement_status
            'rejected'
        """
        self._set("complete_agreement", "agreement/{client_user_id}", {"status": status}, client_user_id=client_user_id)

    @without_internal_frames
    def decide(self, payment_details_id: str, *, status: str = "approved") -> None:
        """Set the status of bank details.

        Args:
            payment_details_id: The id of the payment detail.
            status: initiated, pending, approved, verified, failed, rejected or deactivated.

        Raises:
            NotFound: The payment detail is unknown.
            Refused: The status is unknown.

        Example:
            >>> accounts = list_payment_details(client, "user-123")
            >>> client.sandbox.decide(accounts["id"][0], status="failed")
            >>> list_payment_details(client, "user-123")["status"].to_list()
            ['failed']
        """
        body = {"status": status}
        self._set("decide", "payment-details/{payment_details_id}", body, payment_details_id=payment_details_id)

    @without_internal_frames
    def pay(self, payment: Payment, *, wallet: str | None = None) -> str:
        """Sign and send the transactions of a payment, as its wallet does: all of them, or none.

        The demo wallet pays, whatever address is given. Paying twice is possible, as on a blockchain.

        Args:
            payment: A payment of this sandbox, from `initiate_payment`, `request_payment` or `read_payment`.
            wallet: The address to pay from; by default, the one that the payment was requested for.

        Returns:
            The hash of the transaction that pays.

        Raises:
            InvalidInput: A transaction of the payment cannot be sent.
            Refused: A transaction would fail, such as for want of an allowance, or pays nothing of this sandbox.

        Example:
            >>> payment = initiate_payment(client, order)
            >>> client.sandbox.pay(payment)[:2]
            '0x'
            >>> get_request(client, payment.request_id).has_been_paid
            True
        """
        transactions = [_signed(place, each) for place, each in enumerate(payment.transactions, 1)]
        body: dict[str, Any] = {"transactions": transactions}
        payout = payment.payout
        if payout is not None:
            body |= {"clientUserId": payout.client_user_id, "paymentDetailsId": payout.payment_details_id}
            wallet = wallet or payout.wallet
        body |= {} if wallet is None else {"wallet": check_id(wallet, "wallet")}
        advice = "list_payments() says whether the payment was made."
        return self._send(
            "pay", "POST transactions", lambda response: str(response["transactionHash"]), body, if_unknown=advice
        )

    @property
    def operator_address(self) -> str:
        """Who receives the crypto of all payouts in this sandbox; a live service does not publish such an address."""
        return self._send("operator_address", "GET operator", lambda response: str(response["address"]))

    @without_internal_frames
    def decide_payout(self, request_id: str, *, status: str, reason: str | None = None) -> None:
        """Set the state of a request's payout, once it is paid.

        Args:
            request_id: The request.
            status: initiated, pending_internal_assessment, ongoing_checks, processing, sending_fiat, fiat_sent,
                bounced, failed, insufficient_funds or retry_required.
            reason: Why, as the event tells it.

        Raises:
            NotFound: The request is unknown, or nothing was paid for it.
            Refused: The status is unknown.

        Example:
            >>> client.sandbox.decide_payout("0100", status="bounced")  # nothing is paid for it yet
            Traceback (most recent call last):
            payerkit.errors.NotFound: ...
        """
        body = {"status": status} | ({} if reason is None else {"reason": reason})
        self._set("decide_payout", "payouts/{request_id}", body, request_id=request_id)

    @without_internal_frames
    def events(self) -> list[dict[str, Any]]:
        """Return all events that the sandbox has fired by its clock, as a receiver would have stored them.

        They are about payers, accounts, payments and payouts, and have personal data; `read_events` masks it.

        Returns:
            One dict per delivery, for `read_events`: `received_at`, `headers` with signature and delivery id, `body`.

        Example:
            >>> client.sandbox.complete_kyc("user-123", status="rejected")
            >>> sorted(set(read_events(client.sandbox.events())["event"]))
            ['compliance.updated', 'payment_detail.updated']
        """
        return [json.loads(delivery.to_line()) for delivery in self._fired()]

    @without_internal_frames
    def save_events(self, path: str | Path) -> int:
        """Append what the sandbox has fired to a file, as `payerkit events` would, without what the file has already.

        Args:
            path: The file, such as "events.jsonl".

        Returns:
            How many deliveries were appended.

        Raises:
            InvalidInput: The file is not one of events.
            OSError: The file cannot be written.

        Example:
            >>> client.sandbox.save_events("events.jsonl"), client.sandbox.save_events("events.jsonl")
            (2, 0)
        """
        file = EventsFile(Path(path))
        known = {each.delivery_id for each in read_lines(file.path) if each is not None}
        new = [each for each in self._fired() if each.delivery_id not in known]
        file.append(b"".join(each.to_line() for each in new))
        return len(new)

    def _fired(self) -> list[Delivery]:
        """Return the deliveries of all events that the sandbox has fired, in their order."""
        return self._list("events", "POST events?after={after}", "events", _read_delivery)

    def reveal_events_secret(self) -> str:
        """Return the secret that signs the events, for `payerkit events` and `read_events`."""
        return self._send("reveal_events_secret", "GET events/secret", lambda response: str(response["secret"]))

    @without_internal_frames
    def advance(self, *, seconds: float = 0, minutes: float = 0, hours: float = 0, days: float = 0) -> None:
        """Advance the sandbox's clock, so that what waits for a decision is decided.

        A manual clock, `sandbox(clock="manual")`, moves only so. A wall clock jumps ahead, and then goes on.

        Args:
            seconds: How far.
            minutes: Added to the seconds.
            hours: Added to these.
            days: Added to these.

        Raises:
            InvalidInput: The times are not positive in all.

        Example:
            >>> client.sandbox.advance(minutes=2)
        """
        times = {"seconds": seconds, "minutes": minutes, "hours": hours, "days": days}
        total = seconds + 60 * minutes + 3600 * hours + 86400 * days
        if not (min(times.values()) >= 0 and 0 < total < math.inf):
            raise InvalidInput("advance: give a positive time, such as advance(minutes=2). Nothing was sent.")
        advice = "client.sandbox.now() says what time it is."
        self._send("advance", "POST clock/advance", lambda _: None, {"seconds": total}, if_unknown=advice)

    @without_internal_frames
    def now(self) -> datetime:
        """Return the time of the sandbox's clock, by which it decides.

        Returns:
            The time in UTC.

        Example:
            >>> with sandbox(clock="manual") as local:
            ...     local.sandbox.advance(minutes=2)
            ...     print(local.sandbox.now())
            2026-01-01 00:02:00+00:00
        """
        return self._send("now", "GET clock", lambda response: datetime.fromisoformat(response["now"]))

    @without_internal_frames
    def set_faults(self, plan: str) -> None:
        """Inject faults into later requests; see `sandbox` for the grammar of plans.

        Args:
            plan: A fault plan, such as "latency=0.02, reset_after=5%"; "" ends the faults. Every call, also with
                the same plan, resets the counters that decide which request meets which fault.

        Raises:
            Refused: The plan names an unknown fault, or a share that is not one.

        Example:
            >>> client.sandbox.set_faults("reset_after=100%")
            >>> create_payment_detail(client, "user-123", details)
            Traceback (most recent call last):
            payerkit.errors.UnknownOutcome: ...
            >>> client.sandbox.set_faults("")
            >>> len(list_payment_details(client, "user-123"))
            2
        """
        self._set("set_faults", "faults", {"plan": plan})

    @without_internal_frames
    def ledger(self) -> pd.DataFrame:
        """Return what the sandbox stored, whatever response the caller got: one row per write, in order.

        Returns:
            Columns: number (int64); what (string): payer, payment_detail or agreement; client_user_id (string);
            id (string): of the payment detail, else missing; fingerprint (string): equal for equal request bodies.

        Example:
            >>> client.sandbox.ledger()[["number", "what", "client_user_id"]]
               number            what client_user_id
            0       1           payer       user-123
            1       2       agreement       user-123
            2       3  payment_detail       user-123
        """
        return frame_of(self._list("ledger", "GET ledger?after={after}", "writes", _read_write), _LEDGER)

    def _list(self, operation: str, call: str, name: str, read: Callable[[Any], T]) -> list[T]:
        """Return all items of a list that comes page by page. name: of the list. read: makes a result from an item."""
        found: list[T] = []
        after = 0
        body: dict[str, Any] | None = {} if call.startswith("POST") else None

        def read_page(response: Any) -> list[tuple[int, T]]:
            return [(item["number"], read(item)) for item in response[name]]

        while page := self._send(operation, call, read_page, body, after=str(after)):
            found += [result for _, result in page]
            after = page[-1][0]
        return found

    def _set(self, operation: str, route: str, body: Mapping[str, Any], **about: str) -> None:
        self._send(operation, f"PUT {route}", lambda _: None, body, **about)

    def _send(
        self,
        operation: str,
        call: str,
        read: Callable[[Any], T],
        body: Mapping[str, Any] | None = None,
        *,
        if_unknown: str = "",
        **about: str,
    ) -> T:
        """Make a call and return its result.

        operation: the name of the method. call: its HTTP method and route, such as "GET rates/{currency}". read: makes
        the result from the parsed response. if_unknown: for a write that is not safe to be repeated, how to find out
        whether it happened. about: the arguments that the route names.
        """

        def checked(response: Any) -> T:
            try:
                return read(response)
            except (ArithmeticError, AttributeError, LookupError, TypeError):
                raise ValueError("expected the response of a sandbox") from None

        method, route = call.split()
        return self._client.send(
            Call(
                operation=operation,
                method=method,
                route=f"/sandbox/{route}",
                ids={name: check_id(value, name) for name, value in about.items()},
                body=None if body is None else RequestBody(body),
                read=checked,
                idempotent=not if_unknown,
                if_unknown=if_unknown or "It is safe to call it again.",
            )
        )

    def __repr__(self) -> str:
        return f"<SandboxControls of {self._client.base_url}>"


def _signed(number: int, transaction: Transaction) -> dict[str, str]:
    """Return a transaction as a wallet sends it. Raises InvalidInput for one that no wallet would."""
    if transaction.to is None or transaction.data is None or transaction.wei is None:
        raise InvalidInput(f"payment: transaction {number} cannot be read. Nothing was sent.")
    return {"to": transaction.to, "data": transaction.data, "value": str(transaction.wei)}


def _text(amount: object, name: str) -> str:
    """Return an amount as it is sent. Raises InvalidInput for a float, which would not be exact."""
    if isinstance(amount, Decimal):
        return format(amount, "f")
    if isinstance(amount, bool) or not isinstance(amount, str | int):
        raise InvalidInput(f'{name}: expected text, an int or a Decimal, such as "1.10"; got {kind_of(amount)}.')
    return str(amount)


def _decimal(response: Any, name: str) -> Decimal:
    return Decimal(str(response[name]))


def _read_fees(response: Any) -> tuple[AgreedFee, ...]:
    from payerkit.policy.payment_policy import MOST_PERCENT, AgreedFee  # noqa: PLC0415 - loaded on first use

    shares = [(fee["address"], min(_decimal(fee, "percentage"), Decimal(MOST_PERCENT))) for fee in response["fees"]]
    return tuple(AgreedFee(address=who, max_percent=share, name="Protocol fee") for who, share in shares)


def _read_holding(response: Any) -> dict[str, Decimal]:
    return {name: _decimal(response, name) for name in ("balance", "allowance")}


def _read_write(write: Any) -> dict[str, Any]:
    return {name: write[wire_name(name)] for name in _LEDGER}


def _read_delivery(event: Any) -> Delivery:
    headers = {SIGNATURE: event["signature"], DELIVERY: event["deliveryId"], RETRY_COUNT: "0"}
    return Delivery(event["body"].encode(), headers, read_time(event["firedAt"]))
