"""The call that lists a payer's bank accounts as they come: for a frame, for a form, for many payers at once."""

from __future__ import annotations

from typing import Any

from payerkit.client import Call
from payerkit.ids import check_id
from payerkit.names import first

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
