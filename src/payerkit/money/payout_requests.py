"""The calls that pay a stored bank account: create a request, get its transactions, ask
for its state, and look for a request whose response was lost.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from payerkit.client.call import Call, RequestBody
from payerkit.client.client import UNKNOWN_REQUEST, Client, request_status_call
from payerkit.endpoints import endpoint, payment_details_call, send_order, takes_fields
from payerkit.errors import (
    FieldProblem,
    InvalidInput,
    PayoutWarning,
    RealMoneyWarning,
    kind_of,
)
from payerkit.explanations import explain_word
from payerkit.models import Payment, PaymentRequest, Payout, PayoutOrder, RequestStatus
from payerkit.payments.onchain.amounts import format_number
from payerkit.payments.onchain.currencies import real_money_note
from payerkit.payments.payout import least_above
from payerkit.redaction import holds_email
from payerkit.wire import check_id, wire_name


@takes_fields(PayoutOrder)
@endpoint
def create_request(
    client: Client,
    order: PayoutOrder | Mapping[str, Any] | None = None,
    /,
    **fields: Any,
) -> PaymentRequest:
    """Create a request to be paid out to a bank account; `request_payment` returns the
    transactions that pay it.

    `POST /v2/request`: publicly documented, **beyond the specification**. It names no
    payee and no account yet, and nothing moves before a wallet signs.

    Args:
        client: From `connect()` or `sandbox()`.
        order: A `PayoutOrder`, or a dict by payerkit's names or the API's. Amounts are
            decimals, in the invoice currency.
        **fields: The fields of a `PayoutOrder`, in place of an object.

    Returns:
        The request with its ids, and the order as `.order`. An order without a
        reference gets a unique one: by it `list_requests` finds the request again, paid
        or not.

    Raises:
        InvalidInput: With all errors at once, before anything is sent.
        NotSent: If the request never left this machine.
        Refused: If the service refused it; for a known reason, as WrongKey or
            RateLimited.
        UnknownOutcome: If it was sent and no readable response came. Nothing has moved,
            and it is never sent again by itself; the error names the call of
            `list_requests` that settles it.

    Warns:
        RealMoneyWarning: Before sending, as `initiate_payment` does.

    Example:
        >>> request = create_request(
        ...     client,
        ...     amount="25.50",
        ...     invoice_currency="USD",
        ...     payment_currency="USDC-sepolia",
        ... )
        >>> request.reference.startswith("payerkit-")
        True
    """
    order = PayoutOrder.of(order, fields)
    note = real_money_note(order.payment_currency, client.environment)
    if note:  # the caller is above two decorators
        warnings.warn(RealMoneyWarning(note), stacklevel=4)
    return send_order(client, request_call(with_reference(order)), order)


@endpoint
def request_payment(
    client: Client,
    request: PaymentRequest | str,
    *,
    client_user_id: str,
    payment_details_id: str,
    wallet: str | None = None,
) -> Payment:
    """Return the transactions that pay a request out to a bank account. Nothing moves
    before a wallet signs them.

    `GET /v2/request/{requestId}/pay`: publicly documented, **beyond the
    specification**. It is a read, and may be repeated. The account is read first, so
    that the payment knows its currency, rails and status.

    Args:
        client: From `connect()` or `sandbox()`.
        request: The request, from `create_request`, or its id. With an id only, there
            is no order to compare with.
        client_user_id: The `client_user_id` that the payer was registered with.
        payment_details_id: The id of the payer's account that is to receive the money.
        wallet: The address of the wallet that pays; without it, its balance and
            allowance are not known.

    Returns:
        The transactions to sign, with the order as `.order`, and payer and account as
        `.payout`.

    Raises:
        InvalidInput: For an id that cannot be sent, or an account that the payer does
            not have.
        NotSent: If a call never left this machine.
        Refused: If the service refused it; for a known reason, as WrongKey, NotFound or
            RateLimited.
        ServiceError: If the service failed.
        UnreadableAnswer: If a response is not what the API documents.

    Warns:
        PayoutWarning: If the account is not approved, the payer's list has its id more
            than once, or the amount is below the least that the operator pays out.

    Example:
        >>> request = create_request(
        ...     client,
        ...     amount="25.50",
        ...     invoice_currency="USD",
        ...     payment_currency="USDC-sepolia",
        ... )
        >>> account = list_payment_details(client, "user-123")["id"][0]
        >>> payment = request_payment(
        ...     client, request, client_user_id="user-123", payment_details_id=account
        ... )
        >>> payment.payout.account
        '••••3489'
    """
    if not isinstance(request, PaymentRequest | str):
        raise InvalidInput(
            "request: give what create_request() returned, or its request id; got"
            f" {kind_of(request)}."
        )
    if isinstance(request, str):
        request = PaymentRequest.read({"requestId": check_id(request, "request")})
    ids = {
        "request_id": check_id(request.request_id, "request"),
        "payment_reference": request.payment_reference,
        "reference": request.reference,
        "wallet": None if wallet is None else check_id(wallet, "wallet"),
    }
    payout = find_payout(client, client_user_id, payment_details_id, **ids)
    for warning in payout_warnings(payout, request.order):
        warnings.warn(warning, stacklevel=4)  # the caller is above two decorators
    return client.send(request_payment_call(payout, request.order, client.environment))


@endpoint
def get_request(client: Client, request_id: str) -> RequestStatus:
    """Return what the service says about a request: above all, whether it is paid.

    `GET /v2/request/{requestId}`: publicly documented, **beyond the specification**.

    Args:
        client: From `connect()` or `sandbox()`.
        request_id: The service's id of the request.

    Returns:
        The state. Paid means paid on the blockchain: events say whether the bank has
        the money.

    Raises:
        InvalidInput: For an id that cannot be sent.
        NotSent: If the request never left this machine.
        NotFound: If the service does not know the request, or does not offer this call.
        Refused: If the service refused it; for a known reason, as WrongKey or
            RateLimited.
        ServiceError: If the service failed.
        UnreadableAnswer: If the response is not what the API documents.

    Example:
        >>> request = create_request(
        ...     client,
        ...     amount="25.50",
        ...     invoice_currency="USD",
        ...     payment_currency="USDC-sepolia",
        ... )
        >>> get_request(client, request.request_id).has_been_paid
        False
    """
    return client.send(request_status_call(request_id, RequestStatus.read))


def find_payout(
    client: Client, client_user_id: str, payment_details_id: str, **known: str | None
) -> Payout:
    """Return a payout to an account as the service lists it. Raises InvalidInput if the
    payer does not have it.
    """
    account = check_id(payment_details_id, "payment_details_id")
    found = client.send(
        payment_details_call(client_user_id, payment_details_id=account)
    )
    payout = Payout.of_list(found, account, client_user_id=client_user_id, **known)
    if payout is None:
        name = "payment_details_id"
        message = "The payer has no account with this id."
        problem = FieldProblem(name, wire_name(name), message, "account_unknown")
        advice = "list_payment_details() returns the accounts of a payer."
        raise InvalidInput(
            "No account to pay. Nothing was sent.", fields=(problem,), advice=advice
        )
    return payout


def with_reference(order: PayoutOrder) -> PayoutOrder:
    """Return an order with its reference, or with a new, unique one."""
    if order.reference:
        return order
    return order.replace(reference=f"payerkit-{uuid.uuid4().hex}")


def payout_warnings(
    payout: Payout, order: PayoutOrder | None
) -> Iterator[PayoutWarning]:
    """Yield what to warn of before a payment is requested: an account that is no good,
    and too small an amount.
    """
    if payout.also_listed:
        yield PayoutWarning(
            f"The payer's list has the id of {payout} more than once, also for"
            f" {payout.also_listed}. Ask the service which of them it would pay, before"
            " anyone signs."
        )
    status = explain_word(payout.status, "account")
    if not status.is_passed:
        yield PayoutWarning(
            f"The account {payout.words}: {status.meaning} {status.what_to_do}"
        )
    if order is None:
        return
    least = least_above(order.amount, order.invoice_currency, payout)
    if least is not None:
        needed = f"{format_number(least)} {payout.currency}".upper()
        yield PayoutWarning(
            f"The amount is {order.amount} {order.invoice_currency}, but the operator"
            f" pays out at least {needed} to such an account. Create a request for at"
            " least that much: the service may refuse less, or not pay it out."
        )


def request_call(order: PayoutOrder) -> Call[PaymentRequest]:
    """Return the call that creates a request."""
    body = {**order.to_dict(reveal=True), "isCryptoToFiatAvailable": True}
    reference = "..." if holds_email(order.reference or "") else repr(order.reference)
    return Call(
        operation="create_request",
        method="POST",
        route="/v2/request",
        body=RequestBody(body, order.private_values),
        read=partial(PaymentRequest.read, order=order),
        if_unknown=(
            f"Nothing has moved. list_requests(client, reference={reference}) shows"
            " whether it was created: if exactly one row equals the order, and is not"
            " older than this call, that is the request. An older or a different one,"
            " or several, are for you to decide. Only if two whole lists, a minute"
            " apart, lack it, it was not created."
        ),
    )


def request_payment_call(
    payout: Payout, order: PayoutOrder | None, environment: str
) -> Call[Payment]:
    """Return the call that gets the transactions of a request. environment: which the
    payment remembers.
    """
    query = {
        "wallet": payout.wallet,
        "clientUserId": payout.client_user_id,
        "paymentDetailsId": payout.payment_details_id,
    }
    return Call(
        operation="request_payment",
        method="GET",
        route="/v2/request/{requestId}/pay",
        ids={"requestId": payout.request_id},
        query={name: value for name, value in query.items() if value is not None},
        client_user_id=payout.client_user_id,
        read=partial(
            Payment.read,
            order=order,
            order_source="sent",
            environment=environment,
            payout=payout,
        ),
        hints={404: UNKNOWN_REQUEST},
    )
