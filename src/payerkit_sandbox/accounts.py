"""Bank details of payers, which are decided after a time, and the events that tell of
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, cast, get_args

from fastapi import APIRouter, Path, Query
from pydantic import Field
from sqlalchemy import select
from typing_extensions import TypedDict

from payerkit_sandbox.clock import format_time
from payerkit_sandbox.common_fields import (
    AnyId,
    AnyText,
    Beneficiary,
    ClientUserId,
    CountryCode,
    Date,
    NonEmptyText,
    PathId,
)
from payerkit_sandbox.failures import HttpError, documented
from payerkit_sandbox.ledger import fire, record
from payerkit_sandbox.models import AccountRow
from payerkit_sandbox.payers import PASSED, find_payer
from payerkit_sandbox.worlds import CHANGES, SessionDep, WorldSession

DetailState = Literal[
    "initiated", "pending", "approved", "verified", "failed", "rejected", "deactivated"
]

_UNDECIDED = {"initiated", "pending"}
_TEST_BANKS = {f"example bank {state}": state for state in get_args(DetailState)}

REFUSED_BANK = "Example Bank no rail"
"""Test value: bank details with this name are refused, since the payer is not approved
for the payout rail.
"""

FiatCode = Annotated[str, Field(min_length=3, max_length=3)]
RailsName = Literal["local", "swift", "wire"]

router = APIRouter()


class ShownDetails(TypedDict):
    """Bank details without document numbers, which no response has."""

    bankName: NonEmptyText
    accountName: NonEmptyText
    beneficiaryType: Beneficiary
    currency: FiatCode
    addressLine1: NonEmptyText
    city: NonEmptyText
    country: CountryCode
    dateOfBirth: Date
    postalCode: NonEmptyText
    accountNumber: NotRequired[AnyText]
    routingNumber: NotRequired[AnyText]
    addressLine2: NotRequired[AnyText]
    state: NotRequired[AnyText]
    sortCode: NotRequired[AnyText]
    iban: NotRequired[AnyText]
    swiftBic: NotRequired[AnyText]
    documentType: NotRequired[AnyText]
    accountType: NotRequired[Literal["checking", "savings"]]
    ribNumber: NotRequired[AnyText]
    bsbNumber: NotRequired[AnyText]
    ncc: NotRequired[AnyText]
    branchCode: NotRequired[AnyText]
    bankCode: NotRequired[AnyText]
    ifsc: NotRequired[AnyText]
    rails: NotRequired[RailsName]


class PaymentDetailRequest(ShownDetails):
    """Bank details of a payer."""

    documentNumber: NotRequired[AnyText]


class ListedDetail(ShownDetails):
    """Bank details as they are listed."""

    id: str
    userId: str
    status: DetailState


class ListedDetails(TypedDict):
    """A payer's bank details."""

    paymentDetails: list[ListedDetail]


class NewDetail(TypedDict):
    """The part of new bank details that the response has."""

    id: str
    clientUserId: str
    bankName: str
    accountName: str
    currency: str
    beneficiaryType: Beneficiary
    status: DetailState
    rails: RailsName


class NewDetailResponse(TypedDict):
    """New bank details."""

    payment_detail: NewDetail


class DetailStateBody(TypedDict):
    """A state of bank details."""

    status: DetailState


_PATH = "/payer/{clientUserId}/payment-details"


@router.post(f"/v1{_PATH}", status_code=201, responses=documented(403))
@router.post(f"/v2{_PATH}", status_code=201, responses=documented(403))
def post_payment_detail(
    client_user_id: ClientUserId, body: PaymentDetailRequest, session: SessionDep
) -> NewDetailResponse:
    """Store bank details of a registered payer."""
    listed = listed_account(add_account(session, client_user_id, body))
    # FastAPI leaves out what the type of the response does not have.
    detail = {**listed, "clientUserId": client_user_id}
    return {"payment_detail": cast("NewDetail", detail)}


@router.get(f"/v1{_PATH}")
@router.get(f"/v2{_PATH}")
def get_payment_details(
    client_user_id: ClientUserId,
    session: SessionDep,
    payment_details_id: Annotated[AnyId | None, Query(alias="paymentDetailsId")] = None,
) -> ListedDetails:
    """Return a payer's bank details with every field that was sent, except document
    numbers; none for an unknown id.
    """
    payer = find_payer(session, client_user_id)
    query = select(AccountRow).filter_by(payer_id=payer.id).order_by(AccountRow.id)
    if payment_details_id is not None:
        query = query.filter_by(account_id=payment_details_id)
    accounts = session.scalars(query)
    return {"paymentDetails": [listed_account(account) for account in accounts]}


@router.put("/sandbox/payment-details/{detailId}")
def put_detail_state(
    detail_id: Annotated[PathId, Path(alias="detailId")],
    body: DetailStateBody,
    session: SessionDep,
) -> DetailStateBody:
    """Set the state, as if the bank had decided so."""
    account = find_account(session, detail_id, world_id=session.world.id)
    session.drop_changes("account", account.id)
    set_account(session, account, body["status"], session.now)
    return body


def find_account(session: WorldSession, account_id: str, **owner: int) -> AccountRow:
    """Return the bank details with this id of a payer, or of a world. Raises HttpError
    (404) if there are none.
    """
    query = select(AccountRow).filter_by(account_id=account_id, **owner)
    account = session.scalars(query).one_or_none()
    if account is None:
        raise HttpError(404, f"Payment detail {account_id} not found")
    return account


def add_account(
    session: WorldSession, client_user_id: str, body: Mapping[str, Any]
) -> AccountRow:
    """Add bank details of a payer: pending, then approved, unless a test value says
    else.

    Raises HttpError if the settings require an approved identity check and the payer
    has none, or if the bank's name is the test value for a refusal.
    """
    payer = find_payer(session, client_user_id, called="User with ID")
    bank = body["bankName"].strip().lower()
    if session.settings.needs_kyc and payer.kyc not in PASSED:
        raise HttpError(
            403,
            "The payer's identity check is not approved yet",
            code="not_yet_passed_kyc_kyb",
        )
    if bank == REFUSED_BANK.lower():
        message = "The payer is not approved for this payout rail yet"
        raise HttpError(403, message, code="not_approved_for_payout_rail")
    ordinal = session.ordinal(AccountRow, payer_id=payer.id)
    outcome = _TEST_BANKS.get(bank, "approved")
    account = AccountRow(
        world_id=session.world.id,
        payer=payer,
        account_id=session.identifiers.uuid("payment detail", client_user_id, ordinal),
        body=dict(body),
        status="pending",
    )
    session.add(account)
    session.flush()
    record(session, "payment_detail", client_user_id, body, account.account_id)
    if outcome in _UNDECIDED:
        account.status = outcome
    else:
        due = session.now + session.settings.account_seconds
        session.change_later("account", account.id, outcome, due)
    return account


def listed_account(account: AccountRow) -> ListedDetail:
    """Return bank details as listed: everything that was sent, and the service's
    fields.
    """
    listed = {
        "rails": "local",
        **account.body,
        "id": account.account_id,
        "userId": account.payer.user_id,
        "status": account.status,
    }
    return cast("ListedDetail", listed)


def set_account(
    session: WorldSession, account: AccountRow, status: str, at: float
) -> None:
    """Set the status of bank details, and fire the event of it."""
    account.status = status
    reason = None
    if status in {"failed", "rejected"}:
        reason = "The account did not pass its checks."
    body: dict[str, Any] = {
        "paymentDetailsId": account.account_id,
        "clientUserId": account.payer.client_user_id,
        "status": status,
        "rejectionMessage": reason,
        "timestamp": format_time(at),
        "rawPayload": {},
    }
    fire(session, "payment_detail.updated", at, body)


CHANGES["account"] = AccountRow, set_account
