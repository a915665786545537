"""Bank details of payers, which are decided after a time, and the events that tell of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, get_args

from fastapi import Path, Query
from pydantic import Field
from sqlalchemy import ColumnElement, bindparam, select
from typing_extensions import TypedDict

from payerkit.service import fields
from payerkit.service.clock import format_time
from payerkit.service.failures import HttpError
from payerkit.service.payers import PASSED, read_payer
from payerkit.service.tables import AccountRow, PayerRow
from payerkit.service.world import CHANGES, WorldRouter, WorldSession

DetailState = Literal["initiated", "pending", "approved", "verified", "failed", "rejected", "deactivated"]

_UNDECIDED = {"initiated", "pending"}
_TEST_BANKS = {f"example bank {state}": state for state in get_args(DetailState)}

REFUSED_BANK = "Example Bank no rail"
"""Test value: bank details with this name are refused, since the payer is not approved for the payout rail."""

_LIST = select(AccountRow).where(AccountRow.payer_id == bindparam("payer")).order_by(AccountRow.id)

_SUMMARY = ("id", "clientUserId", "bankName", "accountName", "currency", "beneficiaryType", "status", "rails")
"""The fields of new bank details in the response."""

CurrencyCode = Annotated[str, Field(min_length=3, max_length=3)]


class PaymentDetailRequest(TypedDict):
    """Bank details of a payer."""

    bankName: fields.NonEmptyText
    accountName: fields.NonEmptyText
    beneficiaryType: fields.Beneficiary
    currency: CurrencyCode
    addressLine1: fields.NonEmptyText
    city: fields.NonEmptyText
    country: fields.CountryCode
    dateOfBirth: fields.Date
    postalCode: fields.NonEmptyText
    accountNumber: NotRequired[fields.AnyText]
    routingNumber: NotRequired[fields.AnyText]
    addressLine2: NotRequired[fields.AnyText]
    state: NotRequired[fields.AnyText]
    sortCode: NotRequired[fields.AnyText]
    iban: NotRequired[fields.AnyText]
    swiftBic: NotRequired[fields.AnyText]
    documentType: NotRequired[fields.AnyText]
    accountType: NotRequired[Literal["checking", "savings"]]
    ribNumber: NotRequired[fields.AnyText]
    bsbNumber: NotRequired[fields.AnyText]
    ncc: NotRequired[fields.AnyText]
    branchCode: NotRequired[fields.AnyText]
    bankCode: NotRequired[fields.AnyText]
    ifsc: NotRequired[fields.AnyText]
    rails: NotRequired[Literal["local", "swift", "wire"]]
    documentNumber: NotRequired[fields.AnyText]


class DetailStateRequest(TypedDict):
    """A state of bank details."""

    status: DetailState


router = WorldRouter()


_PATH = "/payer/{clientUserId}/payment-details"


@router.call(f"POST {_PATH}", status=201, both=True)
def post_payment_detail(
    client_user_id: fields.ClientUserId, body: PaymentDetailRequest, session: WorldSession
) -> Mapping[str, Any]:
    """Store bank details of a registered payer."""
    listed = add_account(session, client_user_id, body) | {"clientUserId": client_user_id}
    return {"payment_detail": {name: listed[name] for name in _SUMMARY}}


@router.call(f"GET {_PATH}", both=True)
def get_payment_details(
    client_user_id: fields.ClientUserId,
    session: WorldSession,
    payment_details_id: Annotated[fields.Id | None, Query(alias="paymentDetailsId")] = None,
) -> Mapping[str, Any]:
    """Return a payer's bank details with every field that was sent, except document numbers; none for an unknown id."""
    payer = read_payer(session, client_user_id)
    accounts = session.scalars(_LIST, {"payer": payer.id})
    listed = [listed_account(each, payer.user_id) for each in accounts if payment_details_id in {None, each.account_id}]
    return {"paymentDetails": listed}


@router.call("PUT /sandbox/payment-details/{detailId}")
def put_detail_state(
    detail_id: Annotated[fields.PathId, Path(alias="detailId")], body: DetailStateRequest, session: WorldSession
) -> Mapping[str, Any]:
    """Set the state, as if the bank had decided so."""
    account = find_account(session, detail_id, AccountRow.world_id == session.world.id)
    session.drop_changes("account", account.id)
    set_account(session, account, body["status"], session.now)
    return body


def find_account(session: WorldSession, account_id: str, condition: ColumnElement[bool]) -> AccountRow:
    """Return the bank details with this id of which a condition is true. Raises HttpError (404) if there are none."""
    there = (AccountRow.account_id == account_id) & condition
    account = session.scalars(select(AccountRow).where(there)).one_or_none()
    if account is None:
        raise HttpError(404, f"Payment detail {account_id} not found")
    return account


def add_account(session: WorldSession, client_user_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Add bank details of a payer, and return them as listed: pending, then approved, unless a test value says else.

    Raises HttpError if the settings require an approved identity check and the payer has none, or if the bank's name is
    the test value for a refusal.
    """
    payer, bank = read_payer(session, client_user_id, called="User with ID"), str(body["bankName"]).strip()
    if session.settings.needs_kyc and payer.kyc not in PASSED:
        raise HttpError(403, "The payer's identity check is not approved yet", code="not_yet_passed_kyc_kyb")
    if bank.lower() == REFUSED_BANK.lower():
        message = "The payer is not approved for this payout rail yet"
        raise HttpError(403, message, code="not_approved_for_payout_rail")
    ordinal = session.count(AccountRow, payer_id=payer.id)
    account_id = session.identifiers.uuid("payment detail", client_user_id, ordinal)
    outcome = _TEST_BANKS.get(bank.lower(), "approved")
    status = outcome if outcome in _UNDECIDED else "pending"
    account = AccountRow(
        world_id=session.world.id, payer_id=payer.id, account_id=account_id, body=dict(body), status=status
    )
    session.add(account)
    session.flush()
    session.record("payment_detail", client_user_id, body, account_id)
    if status != outcome:
        session.change_later("account", account.id, outcome, session.now + session.settings.accounts_after)
    return listed_account(account, payer.user_id)


def listed_account(account: AccountRow, user_id: str) -> dict[str, Any]:
    """Return bank details as listed: everything that was sent except document numbers, and the service's fields."""
    sent = {name: value for name, value in account.body.items() if name != "documentNumber"}
    return {"id": account.account_id, "userId": user_id, "rails": "local", **sent, "status": account.status}


def set_account(session: WorldSession, account: AccountRow, status: str, at: float) -> None:
    """Set the status of bank details, and fire the event of it."""
    account.status = status
    reason = "The account did not pass its checks." if status in {"failed", "rejected"} else None
    body: dict[str, Any] = {
        "paymentDetailsId": account.account_id,
        "clientUserId": session.get_one(PayerRow, account.payer_id).client_user_id,
        "status": status,
        "rejectionMessage": reason,
        "timestamp": format_time(at),
        "rawPayload": {},
    }
    session.fire("payment_detail.updated", at, body)


CHANGES["account"] = AccountRow, set_account
