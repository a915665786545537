"""The routes of requests that are paid out to bank accounts, of payments, and of the demo wallet that makes them.

Those of the API are documented publicly, but are not in the specification.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from payerkit.service import payout_schemas as schemas
from payerkit.service.bills import OPERATOR_ADDRESS
from payerkit.service.document import ANY_CALL, API_CALL, WRITE, describe_refusals
from payerkit.service.errors import Problem
from payerkit.service.execution import execute
from payerkit.service.fired_events import firing
from payerkit.service.paid_payments import PaymentFilter, decide_payouts, list_paid, read_request_state
from payerkit.service.payout_requests import create_payout_request, pay_request
from payerkit.service.routes import RequestPathId, SettingsDep, StoreDep, api_key_header
from payerkit.service.schemas import Id

router = APIRouter(tags=["the API"], dependencies=[api_key_header], responses=ANY_CALL | API_CALL)
controls = APIRouter(prefix="/sandbox", tags=["sandbox only"], dependencies=[api_key_header], responses=ANY_CALL)


@router.post(
    "/v2/request",
    operation_id="create_request",
    summary="Create a request to be paid out to a bank account",
    status_code=201,
    responses=WRITE,
)
def post_request(body: schemas.NewPayoutRequest, store: StoreDep, settings: SettingsDep) -> schemas.CreatedRequest:
    """Store the request; who is paid is told where its transactions are asked for."""
    created: Any = create_payout_request(store, body, settings)
    return created  # type: ignore[no-any-return]  # built field by field


@router.get(
    "/v2/request/{requestId}",
    operation_id="get_request",
    summary="Read a request",
    responses=describe_refusals(404),
)
def get_request(request_id: RequestPathId, store: StoreDep) -> schemas.RequestState:
    """Return whether the request is paid, and its payments."""
    state: Any = read_request_state(store, request_id)
    return state  # type: ignore[no-any-return]  # built field by field


@router.get(
    "/v2/request/{requestId}/pay",
    operation_id="request_payment",
    summary="Read the transactions that pay a request",
    responses=describe_refusals(403, 404),
)
def get_transactions(
    request_id: RequestPathId,
    store: StoreDep,
    settings: SettingsDep,
    client_user_id: Annotated[Id, Query(alias="clientUserId", description="The payer.", examples=["user-123"])],
    payment_details_id: Annotated[Id, Query(alias="paymentDetailsId", description="The account that is paid.")],
    wallet: Annotated[Id | None, Query(description="The address of the wallet that pays.")] = None,
) -> schemas.PayoutTransactions:
    """Return the transactions to sign, which pay the operator; the operator pays out to the account."""
    found: Any = pay_request(store, request_id, client_user_id, payment_details_id, wallet, settings)
    return found  # type: ignore[no-any-return]  # built field by field


PaymentType = Literal["direct", "conversion", "crosschain", "recurring"]


@router.get("/v2/payments", operation_id="list_payments", summary="List payments")
def get_payments(  # noqa: PLR0913, PLR0917 - the published filters
    store: StoreDep,
    tx_hash: Annotated[Id | None, Query(alias="txHash")] = None,
    wallet: Annotated[Id | None, Query(alias="walletAddress")] = None,
    payment_reference: Annotated[Id | None, Query(alias="paymentReference")] = None,
    request_id: Annotated[Id | None, Query(alias="requestId")] = None,
    reference: Annotated[Id | None, Query()] = None,
    payment_type: Annotated[PaymentType | None, Query(alias="type")] = None,
    invoice_currency: Annotated[Id | None, Query(alias="invoiceCurrency")] = None,
    payment_currency: Annotated[Id | None, Query(alias="paymentCurrency")] = None,
    from_date: Annotated[Id | None, Query(alias="fromDate", examples=["2026-01-01T00:00:00Z"])] = None,
    to_date: Annotated[Id | None, Query(alias="toDate", examples=["2026-01-02T00:00:00Z"])] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> schemas.PaidPayments:
    """Return the payments that have all that is asked for. A request that nobody has paid is not among them."""
    filters = {
        "tx_hash": tx_hash,
        "wallet": wallet,
        "payment_reference": payment_reference,
        "request_id": request_id,
        "reference": reference,
        "payment_type": payment_type,
        "invoice_currency": invoice_currency,
        "payment_currency": payment_currency,
    }
    if all(value is None for value in filters.values()):
        raise Problem(400, "Give at least one filter besides fromDate and toDate, such as reference")
    found: Any = list_paid(store, PaymentFilter(**filters, from_date=from_date, to_date=to_date), limit, offset)
    return found  # type: ignore[no-any-return]  # built field by field


@controls.post(
    "/transactions",
    operation_id="sandbox_execute",
    summary="Sign and send transactions",
    responses=describe_refusals(403, 404, 409) | WRITE,
)
def post_transactions(
    body: schemas.ExecutionRequest, store: StoreDep, settings: SettingsDep
) -> schemas.ExecutionResponse:
    """Make the transactions of a payment with the demo wallet: all of them, or none."""
    return {"transactionHash": execute(store, body, settings)}


@controls.get("/operator", operation_id="sandbox_get_operator", summary="Read the operator's address")
async def get_operator() -> schemas.OperatorResponse:
    """Return who receives the crypto of all payouts. The live service publishes no such address."""
    return {"address": OPERATOR_ADDRESS}


@controls.put(
    "/payouts/{requestId}",
    operation_id="sandbox_decide_payout",
    summary="Set the state of a payout",
    responses=describe_refusals(404) | WRITE,
)
def put_payout(
    request_id: RequestPathId, body: schemas.PayoutStateRequest, store: StoreDep, settings: SettingsDep
) -> schemas.PayoutStateRequest:
    """Set the state, as if the operator had decided so."""
    with firing(store, settings):
        decide_payouts(store, request_id, body["status"], body.get("reason"), settings)
    return body
