"""The calls of the API: the five of the specification, and what is publicly documented beyond it.

That is the status by id, and the calls by id under /v2 as newer public documents have them.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Path, Query, Request, Security
from fastapi.security import APIKeyHeader
from pydantic import AfterValidator

from payerkit.service import schemas
from payerkit.service.errors import Problem
from payerkit.service.payments import pay
from payerkit.service.settings import Settings
from payerkit.service.states import is_compliant
from payerkit.service.store import Store

T = TypeVar("T")

# The gate has checked the key already; this shows it in the documents and gives /docs its button.
key_header = Security(APIKeyHeader(name="x-api-key", auto_error=False))

REFUSED: dict[int | str, dict[str, Any]] = {"4XX": {"description": "Refused: `statusCode`, `message`, `errors`."}}

router = APIRouter(dependencies=[key_header], responses=REFUSED)

# Decoded here and not before: routes are found by the path as it was sent, so that any id is one segment.
ClientUserId = Annotated[
    str,
    Path(alias="clientUserId", description="The platform's own id of the payer, percent-encoded whole."),
    AfterValidator(unquote),
]


def the_store(request: Request) -> Store:
    """Return the store of the application that answers."""
    store: Store = request.state.store
    return store


def the_settings(request: Request) -> Settings:
    """Return the settings of the application that answers."""
    settings: Settings = request.state.settings
    return settings


TheStore = Annotated[Store, Depends(the_store)]
TheSettings = Annotated[Settings, Depends(the_settings)]


def page_base(request: Request, settings: TheSettings) -> str:
    """Return the address under which people reach the pages."""
    return (settings.public_url or str(request.base_url)).rstrip("/")


PageBase = Annotated[str, Depends(page_base)]


@router.post("/v2/payer", operation_id="create_payer", summary="Register a payer, or read where one stands")
def create_payer(body: schemas.ComplianceData, store: TheStore, base: PageBase) -> schemas.ComplianceAnswer:
    """Store compliance data; answer with the statuses and the pages to complete."""
    payer = store.save_payer(body)
    return {
        "status": {"agreementStatus": payer.agreement, "kycStatus": payer.kyc},
        "agreementUrl": f"{base}/agreement/{payer.page}",
        "kycUrl": f"{base}/kyc/{payer.page}",
        "userId": payer.user_id,
    }


@router.get("/v2/payer/{clientUserId}", operation_id="get_payer_status", summary="Read where a payer stands")
def get_payer_status(client_user_id: ClientUserId, store: TheStore) -> schemas.PayerStatusAnswer:
    """Answer with the statuses; beyond the specification."""
    payer = found(store.find_payer(client_user_id), client_user_id)
    return {
        "kycStatus": payer.kyc,
        "agreementStatus": payer.agreement,
        "isCompliant": is_compliant(payer.kyc, payer.agreement),
        "userId": payer.user_id,
    }


@router.patch("/v2/payer/{clientUserId}", include_in_schema=False)
@router.patch("/v1/payer/{clientUserId}", operation_id="update_agreement", summary="Record the agreement")
def update_agreement(
    client_user_id: ClientUserId, body: schemas.AgreementBody, store: TheStore
) -> schemas.AgreementAnswer:
    """Set the agreement to completed, or back to not started."""
    found(store.update_agreement(client_user_id, body) or None, client_user_id)
    return {"success": True}


@router.post("/v2/payer/{clientUserId}/payment-details", status_code=201, include_in_schema=False)
@router.post(
    "/v1/payer/{clientUserId}/payment-details",
    operation_id="create_payment_detail",
    status_code=201,
    summary="Store a bank account",
)
def create_payment_detail(
    client_user_id: ClientUserId,
    body: schemas.PaymentDetailBody,
    store: TheStore,
) -> schemas.PaymentDetailAnswer:
    """Store bank details of a known payer."""
    record = found(store.add_detail(client_user_id, body), client_user_id)
    members = schemas.PaymentDetailRecord.__annotations__
    short: Any = {name: record[name] for name in members if name in record} | {"clientUserId": client_user_id}
    return {"payment_detail": short}


@router.get("/v2/payer/{clientUserId}/payment-details", include_in_schema=False)
@router.get(
    "/v1/payer/{clientUserId}/payment-details",
    operation_id="list_payment_details",
    summary="List bank accounts",
)
def list_payment_details(
    client_user_id: ClientUserId,
    store: TheStore,
    payment_details_id: Annotated[str | None, Query(alias="paymentDetailsId", description="Only this one.")] = None,
) -> schemas.PaymentDetailsAnswer:
    """Answer with everything that was sent for the payer's accounts, but document numbers."""
    records: Any = found(store.details(client_user_id, payment_details_id), client_user_id)
    return {"paymentDetails": records}


@router.post("/v1/pay", operation_id="initiate_payment", status_code=201, summary="Request a payment")
def initiate_payment(body: schemas.PayBody, store: TheStore, settings: TheSettings) -> schemas.PayAnswer:
    """Answer with the transactions to sign."""
    order: Any = body
    with store.write() as (session, _):
        answer: schemas.PayAnswer = pay(session, order, settings)  # type: ignore[assignment]  # built member by member
    return answer


def found(what: T | None, client_user_id: str) -> T:
    """Return what there is. Raises Problem where there is nothing."""
    if what is None:
        raise Problem(404, f"Payer with client user ID {client_user_id} not found")
    return what
