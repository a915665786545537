"""Payers: their data, their agreement and identity check, and the events that tell of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, get_args

from fastapi import Request
from pydantic import Field, StrictBool
from sqlalchemy import Row, bindparam, select
from typing_extensions import TypedDict

from payerkit.service.clock import format_time
from payerkit.service.failures import HttpError
from payerkit.service.faults import REFUSE_EXISTING
from payerkit.service.fields import AnyText, Beneficiary, ClientUserId, CountryCode, Date, Id, NonEmptyText
from payerkit.service.tables import PayerRow
from payerkit.service.world import CHANGES, Step, WorldRouter, WorldSession

OpenKyc = Literal["not_started", "initiated", "retry_required"]
WaitingKyc = Literal[
    "pending", "pending_assessment", "prechecks_completed", "application_queued", "awaiting_manual_review"
]
PassedKyc = Literal["approved", "completed", "full_clearance"]
FailedKyc = Literal["rejected", "failed", "retry_denied"]
KycState = Literal[OpenKyc, WaitingKyc, PassedKyc, FailedKyc]
AgreementState = Literal["not_started", "pending", "completed", "signed", "rejected", "failed"]

Progress = Literal["open", "waiting", "passed", "failed"]
"""A state as it concerns the payer: they can act, the provider decides, it is done, or it cannot be repeated."""

PASSED = {*get_args(PassedKyc), "signed"}

_ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_TOP_LABEL = "[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]"
_EMAIL = rf"^{_ATOM}(\.{_ATOM})*@({_LABEL}\.)+{_TOP_LABEL}$"
"""The published format, `email`: words with dots, then a domain. Quoted words and domains in brackets, which are hardly
in use, are refused."""

_READ = select(*(each for each in PayerRow.__table__.c if each.key != "body")).where(PayerRow.key == bindparam("key"))


Email = Annotated[str, Field(max_length=254, pattern=_EMAIL)]


class PayerRequest(TypedDict):
    """Compliance data of a payer."""

    clientUserId: Id
    email: Email
    firstName: NonEmptyText
    lastName: NonEmptyText
    beneficiaryType: Beneficiary
    dateOfBirth: Date
    addressLine1: NonEmptyText
    city: NonEmptyText
    state: NonEmptyText
    postcode: NonEmptyText
    country: CountryCode
    nationality: CountryCode
    phone: Annotated[str, Field(pattern=r"^\+?[1-9][0-9]{1,14}$")]
    ssn: NonEmptyText
    companyName: NotRequired[AnyText]
    addressLine2: NotRequired[AnyText]
    sourceOfFunds: NotRequired[AnyText]
    businessActivity: NotRequired[AnyText]


class AgreementRequest(TypedDict):
    """Whether the payer completed the agreement."""

    agreementCompleted: StrictBool


class KycStateRequest(TypedDict):
    """A state of the identity check."""

    status: KycState


class AgreementStateRequest(TypedDict):
    """A state of the agreement."""

    status: AgreementState


class EmptyRequest(TypedDict):
    """Nothing; a call that changes something has a body in JSON."""


router = WorldRouter()


@router.call("POST /v2/payer")
def post_payer(body: PayerRequest, session: WorldSession, request: Request) -> Mapping[str, Any]:
    """Store compliance data; return the links to the pages that the payer completes, and the statuses.

    A status is `not_started` or `completed` here; the status by id says more.
    """
    payer = save_payer(session, body, must_be_new=REFUSE_EXISTING in request.scope)
    base = (session.settings.public_url or str(request.base_url)).rstrip("/")
    return {
        "status": {
            "agreementStatus": "completed" if payer.agreement in PASSED else "not_started",
            "kycStatus": "completed" if payer.kyc in PASSED else "not_started",
        },
        "agreementUrl": f"{base}/agreement/{payer.agreement_page}",
        "kycUrl": f"{base}/kyc/{payer.kyc_page}",
        "userId": payer.user_id,
    }


@router.call("GET /v2/payer/{clientUserId}")
def get_payer(client_user_id: ClientUserId, session: WorldSession) -> Mapping[str, Any]:
    """Return the statuses in all the service's words. The call is documented publicly, but not in the specification."""
    payer = read_payer(session, client_user_id)
    return {
        "kycStatus": payer.kyc,
        "agreementStatus": payer.agreement,
        "isCompliant": is_compliant(payer),
        "userId": payer.user_id,
    }


@router.call("PATCH /payer/{clientUserId}", both=True)
def patch_payer(client_user_id: ClientUserId, body: AgreementRequest, session: WorldSession) -> Mapping[str, Any]:
    """Set the agreement to completed, or back to not started."""
    payer = find_payer(session, client_user_id)
    set_payer(session, payer, "completed" if body["agreementCompleted"] else "not_started", session.now, "agreement")
    session.record("agreement", client_user_id, body)
    return {"success": True}


@router.call("PUT /sandbox/kyc/{clientUserId}")
def put_kyc(client_user_id: ClientUserId, body: KycStateRequest, session: WorldSession) -> Mapping[str, Any]:
    """Set the state, as if the check had ended so."""
    set_payer(session, find_payer(session, client_user_id), body["status"], session.now)
    return body


@router.call("POST /sandbox/kyc/{clientUserId}/submit")
def post_submission(client_user_id: ClientUserId, _body: EmptyRequest, session: WorldSession) -> Mapping[str, Any]:
    """Submit the check as the payer does on the page: it is pending now, and approved after its time."""
    payer = find_payer(session, client_user_id)
    if not complete_step(session, payer, "kyc"):
        raise HttpError(409, f"The identity check is {payer.kyc}: it cannot be submitted")
    return {"status": "pending"}


@router.call("PUT /sandbox/agreement/{clientUserId}")
def put_agreement(
    client_user_id: ClientUserId, body: AgreementStateRequest, session: WorldSession
) -> Mapping[str, Any]:
    """Set the state, as if the payer had done so."""
    set_payer(session, find_payer(session, client_user_id), body["status"], session.now, "agreement")
    return body


def save_payer(session: WorldSession, body: Mapping[str, Any], *, must_be_new: bool = False) -> PayerRow:
    """Add a payer, or update the one with this client user id; test e-mails set the states.

    Raises HttpError (409) for a payer who exists already, if it must be a new one.
    """
    name = str(body["clientUserId"])
    key = session.lookup_key(name)
    states = _states_from_email(str(body["email"]))
    stored = session.sql.execute(_READ, {"key": key}).one_or_none()
    if stored is not None and must_be_new:
        raise HttpError(409, "A payer with this client user ID exists already")
    session.record("payer", name, body)
    if stored is None:
        return session.insert(
            PayerRow,
            key=key,
            user_id=session.identifiers.uuid("payer", name),
            body=dict(body),
            **({"kyc": "not_started", "agreement": "not_started"} | states),
            kyc_page=session.identifiers.token_bytes(16, "kyc page", name).hex(),
            agreement_page=session.identifiers.token_bytes(16, "agreement page", name).hex(),
        )
    payer = session.get_one(PayerRow, stored.id)
    payer.body = dict(body)
    for step, state in states.items():
        setattr(payer, step, state)
    if "kyc" in states:
        session.drop_changes("kyc", payer.id)
    return payer


def find_payer(session: WorldSession, client_user_id: str) -> PayerRow:
    """Return the payer with this client user id, to change it. Raises HttpError (404) for an unknown id."""
    return session.get_one(PayerRow, read_payer(session, client_user_id).id)


def read_payer(session: WorldSession, client_user_id: str, *, called: str = "Payer with client user ID") -> Row[Any]:
    """Return the columns of the payer with this client user id, but for its body. Raises HttpError (404) for another.

    called: the published words, of which adding bank details has others.
    """
    payer = session.sql.execute(_READ, {"key": session.lookup_key(client_user_id)}).one_or_none()
    if payer is None:
        raise HttpError(404, f"{called} {client_user_id} not found")
    return payer


def set_payer(session: WorldSession, payer: PayerRow, state: str, at: float, step: Step = "kyc") -> None:
    """Set the state of a payer's identity check, or of the agreement, and fire the event of it."""
    if step == "kyc":
        session.drop_changes("kyc", payer.id)
    setattr(payer, step, state)
    body = {
        "clientUserId": payer.client_user_id,
        "kycStatus": payer.kyc,
        "agreementStatus": payer.agreement,
        "isCompliant": is_compliant(payer),
        "timestamp": format_time(at),
        "rawPayload": {},
    }
    session.fire("compliance.updated", at, body)


CHANGES["kyc"] = PayerRow, set_payer


def complete_step(session: WorldSession, payer: PayerRow, step: Step) -> bool:
    """Sign the agreement, or submit the identity check: it is pending now, and approved after its time.

    Return False, and change nothing, if the step is not open.
    """
    if progress(payer, step) != "open":
        return False
    set_payer(session, payer, "signed" if step == "agreement" else "pending", session.now, step)
    if step == "kyc":
        session.change_later("kyc", payer.id, "approved", session.now + session.settings.kyc_after)
    return True


def _states_from_email(email: str) -> dict[str, str]:
    """Return the states, as `kyc` and `agreement`, that an e-mail of the test domain requests; {} for any other.

    kyc-rejected@example.com, agreement-signed@example.com, or both: kyc-approved+agreement-signed@example.com.
    """
    local, _, domain = email.lower().partition("@")
    states, known = {}, {"kyc": get_args(KycState), "agreement": get_args(AgreementState)}
    for part in local.split("+") if domain == "example.com" else ():
        step, _, state = part.replace("-", "_").partition("_")
        if state in known.get(step, ()):
            states[step] = state
    return states


def progress(payer: PayerRow, step: Step) -> Progress:
    """Return what the state of a step means to the payer. Nobody decides about an agreement, so it is never waiting."""
    state = getattr(payer, step)
    if state in get_args(OpenKyc) or (step, state) == ("agreement", "pending"):
        return "open"
    return "passed" if state in PASSED else "failed" if state in get_args(FailedKyc) else "waiting"


def is_compliant(payer: PayerRow | Row[Any]) -> bool:
    """Return True if the payer may pay out to a bank."""
    return payer.kyc in PASSED and payer.agreement in PASSED
