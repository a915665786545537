"""The calls of the service, one function each: client first, an object, a dict or fields in, an object or a frame out.

Every function raises InvalidInput before anything is sent, and otherwise the error of `payerkit.errors` that says
what happened: NotSent, Refused (WrongKey, NotFound, RateLimited), ServiceError and UnreadableAnswer for reads,
UnknownOutcome for writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from payerkit.client import Body, Call, Client, check_id
from payerkit.errors import InvalidInput
from payerkit.models import (
    AgreementUpdate,
    BankDetails,
    Payer,
    PayerStatus,
    Payment,
    PaymentDetail,
    PaymentOrder,
)

if TYPE_CHECKING:
    import pandas as pd

_CREATE_FIRST = "Create the payer first, with create_payer()."
_MAY_BE_MISSING = (
    "Either no payer was created under this id, or this service does not have the call: it is publicly documented, "
    "but beyond the specification. create_payer() answers with the status, too."
)


def create_payer(client: Client, payer: Payer | Mapping[str, Any] | None = None, /, **fields: Any) -> PayerStatus:
    """Register a payer for compliance checks; return the statuses and the links to agreement and identity check.

    A second call with the same `client_user_id` returns the present statuses; the sandbox updates the data, too.
    `POST /v2/payer`, specification 2.4 and 2.5.
    """
    payer = Payer.of(payer, fields)
    call = Call(
        operation="create_payer",
        method="POST",
        route="/v2/payer",
        body=Body.of(payer),
        client_user_id=check_id(payer.client_user_id, "client_user_id"),
        read=PayerStatus.read,
        settle="Ask get_payer_status(): if it knows the payer, it happened. If not, call create_payer() again.",
    )
    return client.send(call)


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
        body=Body({"agreementCompleted": completed}),
        client_user_id=client_user_id,
        read=AgreementUpdate.read,
        repeatable=True,
        settle="It does no harm to call update_agreement() again; get_payer_status() shows the present state.",
        hints={404: _CREATE_FIRST},
    )
    return client.send(call)


def create_payment_detail(
    client: Client,
    client_user_id: str,
    details: BankDetails | Mapping[str, Any] | None = None,
    /,
    **fields: Any,
) -> PaymentDetail:
    """Store a payer's bank account; return the record with its `id`. Each call stores one more.

    `POST /v1/payer/{clientUserId}/payment-details`, specification 2.1 and 2.2.
    """
    ids = {"clientUserId": check_id(client_user_id, "client_user_id")}
    details = BankDetails.of(details, fields)
    call = Call(
        operation="create_payment_detail",
        method="POST",
        route="/v1/payer/{clientUserId}/payment-details",
        ids=ids,
        body=Body.of(details),
        client_user_id=client_user_id,
        read=PaymentDetail.read,
        settle="Look at list_payment_details() in a minute. If the account is there, it happened; if not, call again.",
        hints={404: _CREATE_FIRST},
    )
    return client.send(call)


def list_payment_details(
    client: Client, client_user_id: str, *, payment_details_id: str | None = None, reveal: bool = False
) -> pd.DataFrame:
    """Return a payer's bank accounts, one row each; no rows when there are none, and then the columns still stand.

    payment_details_id: only this one. reveal: show account numbers, birth dates and addresses, which are masked
    otherwise; `account_key` is equal only where bank and account number are.
    `GET /v1/payer/{clientUserId}/payment-details`, specification 2.3.
    """
    from payerkit.frames import payment_details_frame  # noqa: PLC0415 - pandas takes a second to import

    wanted = (
        {} if payment_details_id is None else {"paymentDetailsId": check_id(payment_details_id, "payment_details_id")}
    )
    call = Call(
        operation="list_payment_details",
        method="GET",
        route="/v1/payer/{clientUserId}/payment-details",
        ids={"clientUserId": check_id(client_user_id, "client_user_id")},
        query=wanted,
        read=_read_list,
        hints={404: _CREATE_FIRST},
    )
    records = client.send(call)
    return payment_details_frame(records, secret=client.account_secret, reveal=reveal)


def _read_list(answer: Any) -> list[dict[str, Any]]:
    """Return the records of a list; null counts as none. Raises ValueError for what is no list of objects."""
    if isinstance(answer, dict) and not answer.keys().isdisjoint({"paymentDetails", "payment_details"}):
        answer = answer.get("paymentDetails", answer.get("payment_details")) or []
    if not isinstance(answer, list) or not all(isinstance(record, dict) for record in answer):
        raise ValueError("a list of payment details was due")
    return answer


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
        body=Body.of(order),
        read=partial(Payment.read, order=order),
        settle="Nothing has moved: a wallet has to sign first. Call again, and sign what one of the answers holds.",
    )
    return client.send(call)
