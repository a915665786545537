"""Bank details of payers, which are decided after a time, and the events that tell of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, get_args

from fastapi import Path, Query
from pydantic import Field
from sqlalchemy import bindparam, func, select
from typing_extensions import TypedDict

from payerkit.service.clock import format_time
from payerkit.service.errors import WRITE, Problem, describe_refusals
from payerkit.service.fields import (
    AnyText,
    Beneficiary,
    ClientUserId,
    CountryCode,
    Date,
    Id,
    NonEmptyText,
    PathId,
    Uuid,
)
from payerkit.service.payers import find_payer, is_approved
from payerkit.service.tables import AccountRow, PayerRow
from payerkit.service.world import CHANGES, WorldSession, of_api, of_sandbox

DetailState = Literal["initiated", "pending", "approved", "verified", "failed", "rejected", "deactivated"]

_UNDECIDED = {"initiated", "pending"}
_TEST_BANK = re.compile(rf"Example Bank (?P<state>{'|'.join(get_args(DetailState))})", re.IGNORECASE)

REFUSED_BANK = "Example Bank no rail"
"""Test value: bank details with this name are refused, since the payer is not approved for the payout rail."""

_COUNT = select(func.count(AccountRow.id)).where(AccountRow.payer_id == bindparam("payer"))
_LIST = select(AccountRow).where(AccountRow.payer_id == bindparam("payer")).order_by(AccountRow.id)

CurrencyCode = Annotated[str, Field(min_length=3, max_length=3)]
Rails = Literal["local", "swift", "wire"]
AccountType = Literal["checking", "savings"]


class PaymentDetailRequest(TypedDict):
    """Bank details of a payer."""

    bankName: NonEmptyText
    accountName: NonEmptyText
    beneficiaryType: Beneficiary
    currency: CurrencyCode
    addressLine1: NonEmptyText
    city: NonEmptyText
    country: CountryCode
    dateOfBirth: Date
    postalCode: NonEmptyText
    accountNumber: NotRequired[AnyText]
    routingNumber: NotRequired[AnyText]
    addressLine2: NotRequired[AnyText]
    state: NotRequired[AnyText]
    rails: NotRequired[Rails]
    sortCode: NotRequired[AnyText]
    iban: NotRequired[AnyText]
    swiftBic: NotRequired[AnyText]
    documentNumber: NotRequired[AnyText]
    documentType: NotRequired[AnyText]
    accountType: NotRequired[AccountType]
    ribNumber: NotRequired[AnyText]
    bsbNumber: NotRequired[AnyText]
    ncc: NotRequired[AnyText]
    branchCode: NotRequired[AnyText]
    bankCode: NotRequired[AnyText]
    ifsc: NotRequired[AnyText]


class PaymentDetailSummary(TypedDict):
    """The main fields of stored bank details."""

    id: Uuid
    clientUserId: str
    bankName: str
    accountName: str
    currency: str
    beneficiaryType: Beneficiary
    status: DetailState
    rails: Rails


class PaymentDetailResponse(TypedDict):
    """The bank details that were stored."""

    payment_detail: PaymentDetailSummary


class ListedPaymentDetail(TypedDict):
    """Stored bank details: every field that was sent, except document numbers."""

    id: Uuid
    userId: Uuid
    status: DetailState
    rails: Rails
    bankName: str
    accountName: str
    beneficiaryType: Beneficiary
    currency: str
    addressLine1: str
    city: str
    country: str
    dateOfBirth: str
    postalCode: str
    accountNumber: NotRequired[str]
    routingNumber: NotRequired[str]
    addressLine2: NotRequired[str]
    state: NotRequired[str]
    sortCode: NotRequired[str]
    iban: NotRequired[str]
    swiftBic: NotRequired[str]
    documentType: NotRequired[str]
    accountType: NotRequired[AccountType]
    ribNumber: NotRequired[str]
    bsbNumber: NotRequired[str]
    ncc: NotRequired[str]
    branchCode: NotRequired[str]
    bankCode: NotRequired[str]
    ifsc: NotRequired[str]


class PaymentDetailsResponse(TypedDict):
    """All bank details of a payer."""

    paymentDetails: list[ListedPaymentDetail]


class DetailStateRequest(TypedDict):
    """A state of bank details."""

    status: DetailState


router = of_api()
controls = of_sandbox()


@router.in_both_versions(
    "POST",
    "/payer/{clientUserId}/payment-details",
    operation_id="create_payment_detail",
    summary="Add bank details",
    status_code=201,
    responses=describe_refusals(403, 404) | WRITE,
)
def post_payment_detail(
    client_user_id: ClientUserId, body: PaymentDetailRequest, session: WorldSession
) -> PaymentDetailResponse:
    """Store bank details of a registered payer."""
    account = add_account(session, client_user_id, body)
    listed = listed_account(account, account.payer)
    fields = PaymentDetailSummary.__annotations__
    summary: Any = {name: listed[name] for name in fields if name in listed} | {"clientUserId": client_user_id}
    return {"payment_detail": summary}


@router.in_both_versions(
    "GET",
    "/payer/{clientUserId}/payment-details",
    operation_id="list_payment_details",
    summary="List bank details",
    responses=describe_refusals(404),
)
def get_payment_details(
    client_user_id: ClientUserId,
    session: WorldSession,
    payment_details_id: Annotated[
        Id | None,
        Query(alias="paymentDetailsId", description="Return only the bank details with this id."),
    ] = None,
) -> PaymentDetailsResponse:
    """Return a payer's bank details with every field that was sent, except document numbers; none for an unknown id."""
    payer = find_payer(session, client_user_id)
    accounts = session.scalars(_LIST, {"payer": payer.id})
    listed: Any = [listed_account(each, payer) for each in accounts if payment_details_id in {None, each.account_id}]
    return {"paymentDetails": listed}


@controls.put(
    "/payment-details/{detailId}",
    operation_id="sandbox_decide_detail",
    summary="Set the state of bank details",
    responses=describe_refusals(404) | WRITE,
)
def put_detail_state(
    detail_id: Annotated[PathId, Path(alias="detailId")], body: DetailStateRequest, session: WorldSession
) -> DetailStateRequest:
    """Set the state, as if the bank had decided so."""
    there = (AccountRow.account_id == detail_id) & (AccountRow.world_id == session.world.id)
    account = session.scalars(select(AccountRow).where(there)).one_or_none()
    if account is None:
        raise Problem(404, f"Payment detail {detail_id} not found")
    session.drop_changes("account", account.id)
    set_account(session, account.id, body["status"], session.now)
    return body


def add_account(session: WorldSession, client_user_id: str, body: Mapping[str, Any]) -> AccountRow:
    """Add bank details of a payer: pending, then approved, unless the bank's name is a test value.

    Raises Problem if the settings require an approved identity check and the payer has none, or if the bank's name is
    the test value for a refusal.
    """
    payer, bank = find_payer(session, client_user_id, called="User with ID"), str(body["bankName"]).strip()
    if session.settings.needs_kyc and not is_approved(payer):
        raise Problem(403, "The payer's identity check is not approved yet", code="not_yet_passed_kyc_kyb")
    if bank.lower() == REFUSED_BANK.lower():
        message = "The payer is not approved for this payout rail yet"
        raise Problem(403, message, code="not_approved_for_payout_rail")
    ordinal = session.count(_COUNT, payer=payer.id)
    account_id = session.identifiers.uuid("payment detail", client_user_id, ordinal)
    test = _TEST_BANK.fullmatch(bank)
    outcome = test["state"].lower() if test else "approved"
    status = outcome if outcome in _UNDECIDED else "pending"
    account = AccountRow(world_id=session.world.id, payer=payer, account_id=account_id, body=dict(body), status=status)
    session.add(account)
    session.record("payment_detail", client_user_id, body, account_id)
    if status != outcome:
        session.flush()  # which gives the row its id
        session.change_later("account", account.id, outcome, session.now + session.settings.account_delay)
    return account


def listed_account(account: AccountRow, payer: PayerRow) -> dict[str, Any]:
    """Return bank details as listed: everything that was sent except document numbers, and the service's fields."""
    sent = {name: value for name, value in account.body.items() if name != "documentNumber"}
    return {
        "id": account.account_id,
        "userId": payer.user_id,
        "rails": "local",
        **sent,
        "status": account.status,
    }


def set_account(session: WorldSession, row_id: int, status: str, at: float) -> None:
    """Set the status of bank details, and fire the event of it."""
    account = session.get_one(AccountRow, row_id)
    account.status = status
    reason = "The account did not pass its checks." if status in {"failed", "rejected"} else None
    body: dict[str, Any] = {
        "paymentDetailsId": account.account_id,
        "clientUserId": account.payer.client_user_id,
        "status": status,
        "rejectionMessage": reason,
        "timestamp": format_time(at),
        "rawPayload": {},
    }
    session.fire("payment_detail.updated", at, body)


CHANGES["account"] = set_account
