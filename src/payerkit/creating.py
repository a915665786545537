"""The calls that create, with bodies that are checked: for one at a time, and for a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from payerkit.client import Body, Call
from payerkit.ids import check_id
from payerkit.listing import CREATE_FIRST

T = TypeVar("T")


def payer_call(client_user_id: str, body: Body, read: Callable[[Any], T]) -> Call[T]:
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


def payment_detail_call(client_user_id: str, body: Body, read: Callable[[Any], T]) -> Call[T]:
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
