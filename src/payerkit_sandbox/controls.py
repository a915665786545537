"""Controls of a sandbox, which a live service lacks: rates, fees, wallet, states,
clock, faults and the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, Literal

from payerkit.client.call import Call, RequestBody
from payerkit.client.client import Client
from payerkit.errors import InvalidInput, PayerkitError, kind_of
from payerkit.frames import frame_of
from payerkit.money.deliveries import DELIVERY, SIGNATURE
from payerkit.wire import check_id, wire_name

if TYPE_CHECKING:
    import pandas as pd

    from payerkit.models import Payment
    from payerkit.payments.payment_policy import PaymentPolicy

AnyAmount = str | int | Decimal

_EXACT = Context(prec=100)
"""Digits of a rate between two currencies: more than any amount has."""


_LEDGER = {
    "number": "int64",
    "what": "string",
    "client_user_id": "string",
    "id": "string",
    "fingerprint": "string",
}
"""Columns of the ledger and their dtypes."""


class SandboxControls:
    """Controls that only a sandbox has: rates, the demo wallet, states, the clock,
    faults and the ledger.

    `client.sandbox` has them if `sandbox()` made the client. For a sandbox that runs
    elsewhere, make them from its client. Every method raises the errors of the five
    calls: `InvalidInput`, `Refused`, `NotSent` ...

    Args:
        client: A client of a sandbox.

    Example:
        >>> controls = SandboxControls(client)
        >>> controls.rate("EUR")
        Decimal('1.10')
    """

    def __init__(self, client: Client) -> None:
        self._client = client

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
        response = self._send("rate", "GET rates/{currency}", currency=currency)
        return Decimal(response["usd"])

    def set_rate(self, currency: str, usd: AnyAmount) -> None:
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
        body = {"usd": _text(usd, "usd")}
        self._send("set_rate", "PUT rates/{currency}", body, currency=currency)

    def policy(self) -> PaymentPolicy:
        """Return a policy that agrees to the sandbox's fees, takes its exchange rates,
        and knows the address of its operator, which pays out to bank accounts.

        Against a real service, a person agrees to the fees and enters the address; see
        `PaymentPolicy`. Its `replace` adds to it.

        Returns:
            The policy. It asks the sandbox for a rate whenever one is needed, so it
            follows `set_rate()`. Once the sandbox is closed, it knows no rates.

        Example:
            >>> payment = initiate_payment(client, order)
            >>> (
            ...     check_payment(payment).verdict,
            ...     check_payment(payment, policy=client.sandbox.policy()).verdict,
            ... )
            ('look', 'ok')
        """
        from payerkit.payments.address_book import (  # noqa: PLC0415 - loaded on first use
            AddressBook,
            KnownAddress,
        )
        from payerkit.payments.payment_policy import (  # noqa: PLC0415
            MOST_PERCENT,
            AgreedFee,
            PaymentPolicy,
        )

        terms = self._send("policy", "GET terms")
        fees = [
            AgreedFee(
                address=fee["address"],
                max_percent=min(Decimal(fee["percentage"]), Decimal(MOST_PERCENT)),
                name="Protocol fee",
            )
            for fee in terms["fees"]
        ]
        operator = KnownAddress(
            address=terms["operator"], name="Operator", role="operator"
        )
        return PaymentPolicy(
            fees=tuple(fees),
            addresses=AddressBook([operator]),
            rate_source=self._rate_between,
        )

    def _rate_between(
        self, payment_currency: str, invoice_currency: str
    ) -> Decimal | None:
        """Return the price of one unit of a currency in another one; None if the
        sandbox does not tell.
        """
        try:
            return _EXACT.divide(
                self.rate(payment_currency), self.rate(invoice_currency)
            )
        except PayerkitError:
            return None

    def wallet(self, currency: str) -> dict[str, Decimal]:
        """Return what the demo wallet holds of a currency.

        Args:
            currency: A currency id.

        Returns:
            `balance` of the wallet and `allowance` of the payment contract, in units of
            the currency.

        Raises:
            NotFound: The currency is unknown.

        Example:
            >>> client.sandbox.wallet("fUSDC-sepolia")["balance"]
            Decimal('1000000.000000')
        """
        response = self._send("wallet", "GET wallet/{currency}", currency=currency)
        return {
            "balance": Decimal(response["balance"]),
            "allowance": Decimal(response["allowance"]),
        }

    def set_wallet(
        self,
        currency: str,
        *,
        balance: AnyAmount | None = None,
        allowance: AnyAmount | None = None,
    ) -> None:
        """Set what the demo wallet holds of a currency; later payments report it.

        Args:
            currency: A currency id.
            balance: The wallet's balance, in units of the currency: a string, an int or
                a Decimal; None keeps it.
            allowance: What the payment contract may take from the wallet; None keeps
                it.

        Raises:
            InvalidInput: An amount is a float or not a number.
            Refused: An amount is negative, or has more decimals than the currency.

        Example:
            >>> client.sandbox.set_wallet("fUSDC-sepolia", balance="5")
            >>> client.sandbox.wallet("fUSDC-sepolia")["balance"]
            Decimal('5.000000')
        """
        amounts = {"balance": balance, "allowance": allowance}
        body = {
            name: _text(amount, name)
            for name, amount in amounts.items()
            if amount is not None
        }
        self._send("set_wallet", "PUT wallet/{currency}", body, currency=currency)

    def complete_kyc(self, client_user_id: str, *, status: str = "approved") -> None:
        """Set the status of a payer's identity check.

        Args:
            client_user_id: The payer.
            status: Any of the service's words: not_started, initiated, pending,
                pending_assessment, prechecks_completed, application_queued,
                awaiting_manual_review, approved, completed, full_clearance, rejected,
                failed, retry_required or retry_denied.

        Raises:
            NotFound: The payer is unknown.
            Refused: The status is unknown.

        Example:
            >>> client.sandbox.complete_kyc("user-123")
            >>> get_payer_status(client, "user-123").kyc_status
            'approved'
        """
        self._send(
            "complete_kyc",
            "PUT kyc/{client_user_id}",
            {"status": status},
            client_user_id=client_user_id,
        )

    def submit_kyc(self, client_user_id: str) -> None:
        """Submit a payer's identity check, as the payer does on the page: it is
        pending, and approved after its time.

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
        self._send(
            "submit_kyc",
            "POST kyc/{client_user_id}/submit",
            {},
            if_unknown="get_payer_status() says whether the check was submitted.",
            client_user_id=client_user_id,
        )

    def complete_agreement(
        self, client_user_id: str, *, status: str = "signed"
    ) -> None:
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
        self._send(
            "complete_agreement",
            "PUT agreement/{client_user_id}",
            {"status": status},
            client_user_id=client_user_id,
        )

    def decide(self, payment_details_id: str, *, status: str = "approved") -> None:
        """Set the status of bank details.

        Args:
            payment_details_id: The id of the payment detail.
            status: initiated, pending, approved, verified, failed, rejected or
                deactivated.

        Raises:
            NotFound: The payment detail is unknown.
            Refused: The status is unknown.

        Example:
            >>> accounts = list_payment_details(client, "user-123")
            >>> client.sandbox.decide(accounts["id"][0], status="failed")
            >>> list_payment_details(client, "user-123")["status"].to_list()
            ['failed']
        """
        self._send(
            "decide",
            "PUT payment-details/{payment_details_id}",
            {"status": status},
            payment_details_id=payment_details_id,
        )

    def pay(
        self,
        payment: Payment,
        *,
        amount: AnyAmount | None = None,
        wallet: str | None = None,
    ) -> str:
        """Pay a payment of this sandbox, as if a wallet signed and sent its
        transactions: all of them, or none.

        The demo wallet pays, whatever address is given. It pays what the sandbox knows
        of the payment, and does not look at the transactions. Paying twice is possible,
        as on a blockchain.

        Args:
            payment: A payment of this sandbox, from `initiate_payment`,
                `request_payment` or `read_payment`.
            amount: How much to pay, in units of the payment currency; by default, what
                is left to pay.
            wallet: The address to pay from; by default, the one that the payment was
                requested for.

        Returns:
            The hash of the transaction that pays.

        Raises:
            NotFound: The payment is not one of this sandbox.
            Refused: The wallet does not have enough, or the account cannot be paid.

        Example:
            >>> payment = initiate_payment(client, order)
            >>> client.sandbox.pay(payment)[:2]
            '0x'
            >>> get_request(client, payment.request_id).has_been_paid
            True
        """
        body = {}
        payout = payment.payout
        if payout is not None:
            body["clientUserId"] = payout.client_user_id
            body["paymentDetailsId"] = payout.payment_details_id
            wallet = wallet or payout.wallet
        if amount is not None:
            body["amount"] = _text(amount, "amount")
        if wallet is not None:
            body["wallet"] = check_id(wallet, "wallet")
        response = self._send(
            "pay",
            "POST requests/{request_id}/pay",
            body,
            if_unknown="list_payments() says whether the payment was made.",
            request_id=payment.request_id,
        )
        return str(response["transactionHash"])

    def decide_payout(self, request_id: str, *, status: str) -> None:
        """Set the state of a request's payout, once it is paid.

        Args:
            request_id: The request.
            status: initiated, pending_internal_assessment, ongoing_checks, processing,
                sending_fiat, fiat_sent, bounced, failed, insufficient_funds or
                retry_required.

        Raises:
            NotFound: The request is unknown, or nothing was paid for it.
            Refused: The status is unknown.

        Example:
            >>> # nothing is paid for it yet
            >>> client.sandbox.decide_payout("0100", status="bounced")
            Traceback (most recent call last):
            payerkit.errors.NotFound: ...
        """
        self._send(
            "decide_payout",
            "PUT payouts/{request_id}",
            {"status": status},
            request_id=request_id,
        )

    def events(self) -> list[dict[str, Any]]:
        """Return all events that the sandbox has fired by its clock, as a receiver
        would have stored them.

        They are about payers, accounts, payments and payouts, and have personal data;
        `read_events` masks it.

        Returns:
            One dict per delivery, for `read_events`: `received_at`, `headers` with
            signature and delivery id, `body`.

        Example:
            >>> client.sandbox.complete_kyc("user-123", status="rejected")
            >>> sorted(set(read_events(client.sandbox.events())["event"]))
            ['compliance.updated', 'payment_detail.updated']
        """
        return [
            {
                "received_at": event["firedAt"],
                "headers": {
                    SIGNATURE: event["signature"],
                    DELIVERY: event["deliveryId"],
                },
                "body": event["body"],
            }
            for event in self._list("events")
        ]

    def reveal_events_secret(self) -> str:
        """Return the secret that signs the events, for `verify_event` and
        `read_events`.
        """
        return str(self._send("reveal_events_secret", "GET events/secret")["secret"])

    def advance(
        self,
        *,
        seconds: float = 0,
        minutes: float = 0,
        hours: float = 0,
        days: float = 0,
    ) -> None:
        """Advance the sandbox's clock, so that what waits for a decision is decided.

        A manual clock, `sandbox(clock="manual")`, moves only so. A wall clock jumps
        ahead, and then goes on.

        Args:
            seconds: How far.
            minutes: Added to the seconds.
            hours: Added to these.
            days: Added to these.

        Raises:
            Refused: The time is not positive, or leads beyond the year 9999.

        Example:
            >>> client.sandbox.advance(minutes=2)
        """
        total = seconds + 60 * minutes + 3600 * hours + 86400 * days
        self._send(
            "advance",
            "POST clock/advance",
            {"seconds": total},
            if_unknown="client.sandbox.now() says what time it is.",
        )

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
        return datetime.fromisoformat(self._send("now", "GET clock")["now"])

    def set_faults(self, plan: str) -> None:
        """Inject faults into later requests; see `sandbox` for the grammar of plans.

        Args:
            plan: A fault plan, such as "latency=0.02, reset_after=5%"; "" ends the
                faults. Every call, also with the same plan, resets the counters that
                decide which request meets which fault.

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
        self._send("set_faults", "PUT faults", {"plan": plan})

    def ledger(self) -> pd.DataFrame:
        """Return what the sandbox stored, whatever response the caller got: one row per
        write, in order.

        Returns:
            Columns: number (int64); what (string): payer, payment_detail or agreement;
            client_user_id (string); id (string): of the payment detail, else missing;
            fingerprint (string): equal for equal request bodies.

        Example:
            >>> client.sandbox.ledger()[["number", "what", "client_user_id"]]
               number            what client_user_id
            0       1           payer       user-123
            1       2       agreement       user-123
            2       3  payment_detail       user-123
        """
        writes = [
            {name: write[wire_name(name)] for name in _LEDGER}
            for write in self._list("ledger")
        ]
        return frame_of(writes, _LEDGER)

    def _list(self, name: Literal["events", "ledger"]) -> list[dict[str, Any]]:
        """Return all items of a list that comes page by page."""
        items: list[dict[str, Any]] = []
        after = 0
        while True:
            response = self._send(name, f"GET {name}?after={{after}}", after=str(after))
            if not response[name]:
                return items
            items += response[name]
            after = items[-1]["number"]

    def _send(
        self,
        operation: str,
        call: str,
        body: Mapping[str, Any] | None = None,
        *,
        if_unknown: str = "",
        **about: str | None,
    ) -> Mapping[str, Any]:
        """Make a call and return its parsed response.

        operation: the name of the method. call: its HTTP method and route, such as "GET
        rates/{currency}". if_unknown: for a write that is not safe to be repeated, how
        to find out whether it happened. about: the arguments that the route names.
        """
        method, route = call.split()
        request = None
        if body is not None:
            request = RequestBody(body)
        return self._client.send(
            Call(
                operation=operation,
                method=method,
                route=f"/sandbox/{route}",
                ids={name: check_id(value, name) for name, value in about.items()},
                body=request,
                read=_read_object,
                idempotent=not if_unknown,
                if_unknown=if_unknown or "It is safe to call it again.",
            )
        )

    def __repr__(self) -> str:
        return f"<SandboxControls of {self._client.base_url}>"


def _text(amount: object, name: str) -> str:
    """Return an amount as it is sent. Raises InvalidInput for a float, which would not
    be exact.
    """
    if isinstance(amount, Decimal):
        return format(amount, "f")
    if isinstance(amount, bool) or not isinstance(amount, str | int):
        raise InvalidInput(
            f'{name}: expected text, an int or a Decimal, such as "1.10"; got'
            f" {kind_of(amount)}."
        )
    return str(amount)


def _read_object(response: Any) -> Mapping[str, Any]:
    if not isinstance(response, dict):
        raise ValueError("expected the response of a sandbox")  # noqa: TRY004 - as a call reads
    return response
