"""Payers: their data, their agreement and identity check, and the events that tell of
these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, get_args

from fastapi import APIRouter, Request
from pydantic import Field, StrictBool
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
    EmptyRequest,
    NonEmptyText,
)
from payerkit_sandbox.failures import HttpError, documented
from payerkit_sandbox.ledger import fire, record
from payerkit_sandbox.models import PayerRow
from payerkit_sandbox.worlds import CHANGES, SessionDep, WorldSession

OpenKyc = Literal["not_started", "initiated", "retry_required"]
WaitingKyc = Literal[
    "pending",
    "pending_assessment",
    "prechecks_completed",
    "application_queued",
    "awaiting_manual_review",
]
PassedKyc = Literal["approved", "completed", "full_clearance"]
FailedKyc = Literal["rejected", "failed", "retry_denied"]
KycState = Literal[OpenKyc, WaitingKyc, PassedKyc, FailedKyc]
AgreementState = Literal[
    "not_started", "pending", "completed", "signed", "rejected", "failed"
]

PayerStep = Literal["kyc", "agreement"]
"""The steps that a payer completes on a page."""

StepProgress = Literal["open", "waiting", "passed", "failed"]
"""A state as it concerns the payer: they can act, the provider decides, it is done, or
it cannot be repeated.
"""

PASSED = {*get_args(PassedKyc), "signed"}

_STATES = {"kyc": get_args(KycState), "agreement": get_args(AgreementState)}

_ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_TOP_LABEL = "[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]"
_EMAIL = rf"^{_ATOM}(\.{_ATOM})*@({_LABEL}\.)+{_TOP_LABEL}$"
"""The published format, `email`: words with dots, then a domain. Quoted words and
domains in brackets, which are hardly in use, are refused."""

router = APIRouter()


class PayerRequest(TypedDict):
    """Compliance data of a payer."""

    clientUserId: AnyId
    email: Annotated[str, Field(max_length=254, pattern=_EMAIL)]
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


BriefState = Literal["not_started", "completed"]
"""The words that the response to a registration keeps to."""


class BriefStatus(TypedDict):
    """The statuses in the response to a registration."""

    agreementStatus: BriefState
    kycStatus: BriefState


class PayerResponse(TypedDict):
    """The statuses of a payer, and the links to the pages of the two steps."""

    status: BriefStatus
    agreementUrl: str
    kycUrl: str
    userId: str


class StatusResponse(TypedDict):
    """The statuses of a payer in all the service's words."""

    kycStatus: str
    agreementStatus: str
    isCompliant: bool
    userId: str


class AgreementRequest(TypedDict):
    """Whether the payer completed the agreement."""

    agreementCompleted: StrictBool


class AgreementResponse(TypedDict):
    """That the agreement was recorded."""

    success: bool


class KycBody(TypedDict):
    """A state of the identity check."""

    status: KycState


class AgreementBody(TypedDict):
    """A state of the agreement."""

    status: AgreementState


@router.post("/v2/payer", responses=documented(409))
def post_payer(
    body: PayerRequest, session: SessionDep, request: Request
) -> PayerResponse:
    """Store compliance data; return the links to the pages that the payer completes,
    and the statuses.

    A status is `not_started` or `completed` here; the status by id says more.
    """
    must_be_new = getattr(request.state, "refuses_existing", False)
    payer = save_payer(session, body, must_be_new=must_be_new)
    base = str(session.settings.public_url or request.base_url).rstrip("/")
    return {
        "status": {
            "agreementStatus": _brief(payer.agreement),
            "kycStatus": _brief(payer.kyc),
        },
        "agreementUrl": f"{base}/agreement/{payer.agreement_page}",
        "kycUrl": f"{base}/kyc/{payer.kyc_page}",
        "userId": payer.user_id,
    }


def _brief(state: str) -> BriefState:
    if state in PASSED:
        return "completed"
    return "not_started"


@router.get("/v1/payer/{clientUserId}")
@router.get("/v2/payer/{clientUserId}")
def get_payer(client_user_id: ClientUserId, session: SessionDep) -> StatusResponse:
    """Return the statuses in all the service's words. The call is documented publicly,
    but not in the specification.
    """
    payer = find_payer(session, client_user_id)
    return {
        "kycStatus": payer.kyc,
        "agreementStatus": payer.agreement,
        "isCompliant": has_passed(payer),
        "userId": payer.user_id,
    }


@router.patch("/v1/payer/{clientUserId}")
@router.patch("/v2/payer/{clientUserId}")
def patch_payer(
    client_user_id: ClientUserId, body: AgreementRequest, session: SessionDep
) -> AgreementResponse:
    """Set the agreement to completed, or back to not started."""
    payer = find_payer(session, client_user_id)
    state = "not_started"
    if body["agreementCompleted"]:
        state = "completed"
    set_payer(session, payer, "agreement", state, session.now)
    record(session, "agreement", client_user_id, body)
    return {"success": True}


@router.put("/sandbox/kyc/{clientUserId}")
def put_kyc(
    client_user_id: ClientUserId, body: KycBody, session: SessionDep
) -> KycBody:
    """Set the state, as if the check had ended so."""
    payer = find_payer(session, client_user_id)
    set_payer(session, payer, "kyc", body["status"], session.now)
    return body


@router.post("/sandbox/kyc/{clientUserId}/submit", responses=documented(409))
def post_submission(
    client_user_id: ClientUserId, _body: EmptyRequest, session: SessionDep
) -> KycBody:
    """Submit the check as the payer does on the page: it is pending now, and approved
    after its time.
    """
    payer = find_payer(session, client_user_id)
    if not complete_step(session, payer, "kyc"):
        raise HttpError(
            409, f"The identity check is {payer.kyc}: it cannot be submitted"
        )
    return {"status": "pending"}


@router.put("/sandbox/agreement/{clientUserId}")
def put_agreement(
    client_user_id: ClientUserId, body: AgreementBody, session: SessionDep
) -> AgreementBody:
    """Set the state, as if the payer had done so."""
    payer = find_payer(session, client_user_id)
    set_payer(session, payer, "agreement", body["status"], session.now)
    return body


def save_payer(
    session: WorldSession, body: Mapping[str, Any], *, must_be_new: bool = False
) -> PayerRow:
    """Add a payer, or update the one with this client user id; test e-mails set the
    states.

    Raises HttpError (409) for a payer who exists already, if it must be a new one.
    """
    name = body["clientUserId"]
    payer = _read_payer(session, name)
    if payer is not None and must_be_new:
        raise HttpError(409, "A payer with this client user ID exists already")
    if payer is None:
        ids = session.identifiers
        payer = PayerRow(
            world_id=session.world.id,
            client_user_id=name,
            user_id=ids.uuid("payer", name),
            kyc="not_started",
            agreement="not_started",
            kyc_page=ids.token_bytes(16, "kyc page", name).hex(),
            agreement_page=ids.token_bytes(16, "agreement page", name).hex(),
        )
        session.add(payer)
    payer.body = dict(body)
    for step, state in _states_from_email(body["email"]).items():
        setattr(payer, step, state)
        session.drop_changes(step, payer.id)
    record(session, "payer", name, body)
    return payer


def find_payer(
    session: WorldSession,
    client_user_id: str,
    *,
    called: str = "Payer with client user ID",
) -> PayerRow:
    """Return the payer with this client user id. Raises HttpError (404) for an unknown
    id.

    called: the published words, of which adding bank details has others.
    """
    payer = _read_payer(session, client_user_id)
    if payer is None:
        raise HttpError(404, f"{called} {client_user_id} not found")
    return payer


def _read_payer(session: WorldSession, client_user_id: str) -> PayerRow | None:
    query = select(PayerRow).filter_by(
        world_id=session.world.id, client_user_id=client_user_id
    )
    return session.scalars(query).one_or_none()


def set_payer(
    session: WorldSession, payer: PayerRow, step: PayerStep, state: str, at: float
) -> None:
    """Set the state of a payer's identity check, or of the agreement, and fire the
    event of it.
    """
    session.drop_changes(step, payer.id)
    setattr(payer, step, state)
    body = {
        "clientUserId": payer.client_user_id,
        "kycStatus": payer.kyc,
        "agreementStatus": payer.agreement,
        "isCompliant": has_passed(payer),
        "timestamp": format_time(at),
        "rawPayload": {},
    }
    fire(session, "compliance.updated", at, body)


def _decide_kyc(session: WorldSession, payer: PayerRow, state: str, at: float) -> None:
    set_payer(session, payer, "kyc", state, at)


CHANGES["kyc"] = PayerRow, _decide_kyc


def complete_step(session: WorldSession, payer: PayerRow, step: PayerStep) -> bool:
    """Sign the agreement, or submit the identity check: it is pending now, and approved
    after its time.

    Return False, and change nothing, if the step is not open.
    """
    if progress(payer, step) != "open":
        return False
    if step == "agreement":
        set_payer(session, payer, step, "signed", session.now)
        return True
    set_payer(session, payer, step, "pending", session.now)
    due = session.now + session.settings.decide_after
    session.change_later("kyc", payer.id, "approved", due)
    return True


def _states_from_email(email: str) -> Mapping[str, str]:
    """Return the states, as `kyc` and `agreement`, that an e-mail of the test domain
    requests; {} for any other.

    kyc-rejected@example.com, agreement-signed@example.com, or both:
    kyc-approved+agreement-signed@example.com.
    """
    local, _, domain = email.lower().partition("@")
    if domain != "example.com":
        return {}
    states = {}
    for part in local.split("+"):
        step, _, state = part.replace("-", "_").partition("_")
        if state in _STATES.get(step, ()):
            states[step] = state
    return states


def progress(payer: PayerRow, step: PayerStep) -> StepProgress:
    """Return what the state of a step means to the payer. Nobody decides about an
    agreement, so it is never waiting.
    """
    state: Any = getattr(payer, step)
    if state in get_args(OpenKyc) or (step, state) == ("agreement", "pending"):
        return "open"
    if state in PASSED:
        return "passed"
    if state in get_args(FailedKyc):
        return "failed"
    return "waiting"


def has_passed(payer: PayerRow) -> bool:
    """Return True if the payer may pay out to a bank."""
    return payer.kyc in PASSED and payer.agreement in PASSED
