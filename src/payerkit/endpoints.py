"""The calls of the service, one function each: client first, an object, a dict or fields in, an object or a frame out.

Every function raises InvalidInput before anything is sent, with all errors at once; otherwise the error of
`payerkit.errors` that says what happened: NotSent, Refused (WrongKey, NotFound, RateLimited), ServiceError and
UnreadableAnswer for reads, UnknownOutcome for writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from payerkit.client import Call, Client, RequestBody, check_client
from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.models import (
    AgreementUpdate,
    BankDetails,
    Payer,
    PayerStatus,
    Payment,
    PaymentDetail,
    PaymentOrder,
)
from payerkit.wire import check_id

if TYPE_CHECKING:
    import pandas as pd


from payerkit.wire import first

P = ParamSpec("P")
R = TypeVar("R")


_MAY_BE_MISSING = (
    "No payer was created under this id with this key. If one was, this service does not have the call, which is "
    "beyond the specification: create_payer() returns the status, too."
)


def _call(function: Callable[Concatenate[Client, P], R]) -> Callable[Concatenate[Client, P], R]:
    """Make a function one of the calls: its client is checked, and its errors arise where it is called."""

    @without_internal_frames
    @wraps(function)
    def call(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> R:
        check_client(client)
        return function(client, *args, **kwargs)

    return call


@_call
def create_payer(client: Client, payer: Payer | Mapping[str, Any] | None = None, /, **fields: Any) -> PayerStatus:
    """Register a payer for compliance checks; return the statuses and the links to agreement and identity check.

    A second call with the same `client_user_id` returns the present statuses; the sandbox updates the data, too.
    What `check_payer` doubts is sent all the same, and is in `.findings` of what comes back.
    `POST /v2/payer`, specification 2.4 and 2.5.
    """
    payer = Payer.of(payer, fields)
    return client.send(payer_call(payer.client_user_id, RequestBody.of(payer), partial(PayerStatus.read, sent=payer)))


@_call
def get_payer_status(client: Client, client_user_id: str) -> PayerStatus:
    """Return where a payer stands, without sending any data again; its links are not part of the answer.

    `GET /v2/payer/{clientUserId}`: publicly documented, **beyond the specification**. Where a service does not
    have it, or does not know the payer, NotFound says so.
    """
    call = Call(
        operation="get_payer_status",
        method="GET",
        route="/v2/payer/{clientUserId}",
        ids={"clientUserId": check_id(client_user_id, "client_user_id")},
        read=PayerStatus.read,
        hints={404: _MAY_BE_MISSING, 405: _MAY_BE_MISSING},
    )
    return client.send(call)


@_call
def update_agreement(client: Client, client_user_id: str, *, completed: bool = True) -> AgreementUpdate:
    """Record that a payer completed the agreement, or take that back; return whether the service recorded it.

    `PATCH /v1/payer/{clientUserId}`, specification 2.6.
    """
    if not isinstance(completed, bool):
        raise InvalidInput("completed: give True or False. Nothing was sent.")
    call = Call(
        operation="update_agreement",
        method="PATCH",
        route="/v1/payer/{clientUserId}",
        ids={"clientUserId": check_id(client_user_id, "client_user_id")},
        body=RequestBody({"agreementCompleted": completed}),
        client_user_id=client_user_id,
        read=AgreementUpdate.read,
        repeatable=True,
        settle="It does no harm to call update_agreement() again; get_payer_status() shows the present state.",
        hints={404: CREATE_FIRST},
    )
    return client.send(call)


@_call
def create_payment_detail(
    client: Client,
    client_user_id: str,
    details: BankDetails | Mapping[str, Any] | None = None,
    /,
    **fields: Any,
) -> PaymentDetail:
    """Store a payer's bank account; return the record with its `id`. Each call stores one more.

    What `check_bank_details` doubts is sent all the same, and is in `.findings` of what comes back.
    `POST /v1/payer/{clientUserId}/payment-details`, specification 2.1 and 2.2.
    """
    check_id(client_user_id, "client_user_id")  # what is wrong with it is told before what is wrong with the details
    details = BankDetails.of(details, fields)
    read = partial(PaymentDetail.read, sent=details)
    return client.send(payment_detail_call(client_user_id, RequestBody.of(details), read))


@_call
def list_payment_details(
    client: Client, client_user_id: str, *, payment_details_id: str | None = None, reveal: bool = False
) -> pd.DataFrame:
    """Return a payer's bank accounts, one row each; no rows when there are none, and then the columns still stand.

    payment_details_id: only this one. reveal=True: show account numbers, birth dates, addresses and people's names,
    which are masked otherwise; `account_key` is equal only where bank and account number are.
    `GET /v1/payer/{clientUserId}/payment-details`, specification 2.3.
    """
    from payerkit.frames import payment_details_frame  # noqa: PLC0415 - pandas takes a second to import

    records = client.send(payment_details_call(client_user_id, payment_details_id=payment_details_id))
    return payment_details_frame(records, secret=client.account_secret, reveal=reveal is True)


@_call
def initiate_payment(
    client: Client, order: PaymentOrder | Mapping[str, Any] | None = None, /, **fields: Any
) -> Payment:
    """Request a payment; return the transactions that a wallet has to sign. Nothing moves before that.

    The answer remembers what was asked for, as `.order`.
    `POST /v1/pay`, specification 2.7.
    """
    order = PaymentOrder.of(order, fields)
    call = Call(
        operation="initiate_payment",
        method="POST",
        route="/v1/pay",
        body=RequestBody.of(order),
        read=partial(Payment.read, order=order),
        settle="Nothing has moved: a wallet has to sign first. Call again, and sign what one answer holds, not two.",
    )
    return client.send(call)


T = TypeVar("T")


def payer_call(client_user_id: str, body: RequestBody, read: Callable[[Any], T]) -> Call[T]:
    """Return the call that registers a payer. read: makes the result of the parsed answer."""
    return Call(
        operation="create_payer",
        method="POST",
        route="/v2/payer",
        body=body,
        client_user_id=client_user_id,
        read=read,
        settle="Call create_payer() again: as published, the same client_user_id gives the status of the same payer.",
    )


def payment_detail_call(client_user_id: str, body: RequestBody, read: Callable[[Any], T]) -> Call[T]:
    """Return the call that stores an account. read: makes the result of the parsed answer.

    Raises InvalidInput for an id that is not sent.
    """
    return Call(
        operation="create_payment_detail",
        method="POST",
        route="/v1/payer/{clientUserId}/payment-details",
        ids={"clientUserId": check_id(client_user_id, "client_user_id")},
        body=body,
        client_user_id=client_user_id,
        read=read,
        settle="Look at list_payment_details() in a minute: one account more than before means that it happened. "
        "Only if there is none more, call again.",
        hints={404: CREATE_FIRST},
    )


CREATE_FIRST = "Create the payer first, with create_payer()."
_LISTS = ("paymentDetails", "payment_details")


def payment_details_call(client_user_id: str, *, payment_details_id: str | None = None) -> Call[list[dict[str, Any]]]:
    """Return the call; its result are the records. Raises InvalidInput for an id that is not sent."""
    query = {}
    if payment_details_id is not None:
        query["paymentDetailsId"] = check_id(payment_details_id, "payment_details_id")
    return Call(
        operation="list_payment_details",
        method="GET",
        route="/v1/payer/{clientUserId}/payment-details",
        ids={"clientUserId": check_id(client_user_id, "client_user_id")},
        query=query,
        read=_read_list,
        hints={404: CREATE_FIRST},
    )


def _read_list(answer: Any) -> list[dict[str, Any]]:
    """Return the records of a list; null counts as none. Raises ValueError for what is no list of objects."""
    if isinstance(answer, dict) and not answer.keys().isdisjoint(_LISTS):
        answer = first(answer, *_LISTS)
        answer = [] if answer is None else answer
    if not isinstance(answer, list) or not all(isinstance(record, dict) for record in answer):
        raise ValueError("a list of payment details was due")
    return answer
