"""The routes of the API: the five calls of the specification, and the publicly documented ones beyond it.

Those are the status by id, and the calls by id under /v2, where newer public documents show them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Path, Query, Request, Security
from fastapi.security import APIKeyHeader
from pydantic import BeforeValidator

from payerkit.service import schemas
from payerkit.service.document import ANY_CALL, API_CALL, WRITE, describe_refusals
from payerkit.service.faults import REFUSE_EXISTING
from payerkit.service.payments import create_payment
from payerkit.service.settings import Settings
from payerkit.service.states import is_compliant, published_state
from payerkit.service.store import Store

T = TypeVar("T")

# Documentation only, for the Authorize button of /docs: the middleware has checked the key already.
api_key_header = Security(APIKeyHeader(name="x-api-key", auto_error=False))

router = APIRouter(tags=["the API"], dependencies=[api_key_header], responses=ANY_CALL | API_CALL)

# Decoded only here: routes are matched on the path as it was sent, so that an id with a slash is one segment.
PathId = Annotated[schemas.Id, BeforeValidator(unquote)]
ClientUserId = Annotated[
    PathId,
    Path(
        alias="clientUserId",
        description="The platform's own id of the payer, percent-encoded as a whole.",
        examples=["user-123"],
    ),
]
RequestPathId = Annotated[PathId, Path(alias="requestId", description="The id of the request.")]


def from_state(name: str) -> Any:
    """Return the dependency on an object of the service that handles the request: store, settings, faults or limits."""

    # async, though nothing is awaited: FastAPI would run a plain function in a worker thread, which costs some 0.06 ms.
    async def read(request: Request) -> Any:
        return getattr(request.state, name)

    return Depends(read)


StoreDep = Annotated[Store, from_state("store")]
SettingsDep = Annotated[Settings, from_state("settings")]


def _in_both_versions(method: str, path: str, *, operation_id: str, **options: Any) -> Callable[[T], T]:
    """Add a route under /v1, as specified, and under /v2, where newer public documents show it."""

    def add(function: T) -> T:
        for version, suffix in (("/v1", ""), ("/v2", "_v2")):
            route = router.api_route(version + path, methods=[method], operation_id=operation_id + suffix, **options)
            route(function)  # type: ignore[type-var]  # any function
        return function

    return add


@router.post(
    "/v2/payer",
    operation_id="create_payer",
    summary="Register a payer, or read a registered one's status",
    responses=describe_refusals(409) | WRITE,
)
def post_payer(
    body: schemas.PayerRequest,
    store: StoreDep,
    settings: SettingsDep,
    request: Request,
) -> schemas.PayerResponse:
    """Store compliance data; return the links to the pages that the payer completes, and the statuses.

    A status is `not_started` or `completed` here; the status by id says more.
    """
    payer = store.save_payer(body, must_be_new=REFUSE_EXISTING in request.scope)
    base = (settings.public_url or str(request.base_url)).rstrip("/")
    return {
        "status": {
            "agreementStatus": published_state(payer.agreement),
            "kycStatus": published_state(payer.kyc),
        },
        "agreementUrl": f"{base}/agreement/{payer.agreement_page}",
        "kycUrl": f"{base}/kyc/{payer.kyc_page}",
        "userId": payer.user_id,
    }


@router.get(
    "/v2/payer/{clientUserId}",
    operation_id="get_payer_status",
    summary="Read a payer's status",
    responses=describe_refusals(404),
)
def get_payer(client_user_id: ClientUserId, store: StoreDep) -> schemas.PayerStatusResponse:
    """Return the statuses in all the service's words. The call is documented publicly, but not in the specification."""
    payer = store.find_payer(client_user_id)
    status: Any = {
        "kycStatus": payer.kyc,
        "agreementStatus": payer.agreement,
        "isCompliant": is_compliant(payer.kyc, payer.agreement),
        "userId": payer.user_id,
    }
    return status  # type: ignore[no-any-return]  # built field by field


@_in_both_versions(
    "PATCH",
    "/payer/{clientUserId}",
    operation_id="update_agreement",
    summary="Record the agreement",
    responses=describe_refusals(404) | WRITE,
)
def patch_payer(
    client_user_id: ClientUserId,
    body: schemas.AgreementRequest,
    store: StoreDep,
) -> schemas.AgreementResponse:
    """Set the agreement to completed, or back to not started."""
    store.update_agreement(client_user_id, body)
    return {"success": True}


@_in_both_versions(
    "POST",
    "/payer/{clientUserId}/payment-details",
    operation_id="create_payment_detail",
    summary="Add bank details",
    status_code=201,
    responses=describe_refusals(403, 404) | WRITE,
)
def post_payment_detail(
    client_user_id: ClientUserId,
    body: schemas.PaymentDetailRequest,
    store: StoreDep,
) -> schemas.PaymentDetailResponse:
    """Store bank details of a registered payer."""
    record = store.add_detail(client_user_id, body)
    fields = schemas.PaymentDetailSummary.__annotations__
    summary: Any = {name: record[name] for name in fields if name in record} | {"clientUserId": client_user_id}
    return {"payment_detail": summary}


@_in_both_versions(
    "GET",
    "/payer/{clientUserId}/payment-details",
    operation_id="list_payment_details",
    summary="List bank details",
    responses=describe_refusals(404),
)
def get_payment_details(
    client_user_id: ClientUserId,
    store: StoreDep,
    payment_details_id: Annotated[
        schemas.Id | None,
        Query(alias="paymentDetailsId", description="Return only the bank details with this id."),
    ] = None,
) -> schemas.PaymentDetailsResponse:
    """Return a payer's bank details with every field that was sent, except document numbers; none for an unknown id."""
    records: Any = store.list_details(client_user_id, payment_details_id)
    return {"paymentDetails": records}


@router.post(
    "/v1/pay",
    operation_id="initiate_payment",
    summary="Initiate a payment",
    status_code=201,
    responses=WRITE,
)
def post_payment(body: schemas.PayRequest, store: StoreDep, settings: SettingsDep) -> schemas.PaymentResponse:
    """Return the transactions to sign."""
    order: Any = body
    payment: Any = create_payment(store, order, settings)
    return payment  # type: ignore[no-any-return]  # built field by field
