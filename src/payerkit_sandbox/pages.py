"""The pages: those that a payer completes in a browser, and the start page.

A payer's pages need no API key: their links contain 128 random bits. A link ends when
its step is done, so that nobody who finds it in an old e-mail learns how it went, or
what else the payer has to do.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, get_args
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from sqlalchemy import select
from sqlalchemy.orm import Session

from payerkit_sandbox import accounts, payers, payouts
from payerkit_sandbox.faults import FAULTS
from payerkit_sandbox.models import PayerRow
from payerkit_sandbox.payers import PayerStep
from payerkit_sandbox.settings import API_KEY_VARIABLE
from payerkit_sandbox.wallet import protocol_fee
from payerkit_sandbox.worlds import LIVE_RATE, Turn, Worlds, WorldSession

router = APIRouter(include_in_schema=False)

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri"
        " 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_NAMES = {"agreement": "agreement", "kyc": "identity check"}
"""The names of the steps on the pages."""

_templates = Environment(
    loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined
)


def _render(name: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    page = _templates.get_template(f"{name}.html").render(context)
    return HTMLResponse(page, status, _HEADERS)


@router.get("/")
async def show_home(request: Request) -> Response:
    """Show what the sandbox is, how it behaves, a first call, the faults, and the test
    values.
    """
    settings = request.state.worlds.settings
    base = str(settings.public_url or request.base_url).rstrip("/")
    return _render(
        "home",
        kyc=get_args(payers.KycState),
        agreement=get_args(payers.AgreementState),
        detail=get_args(accounts.DetailState),
        refused_bank=accounts.REFUSED_BANK,
        payout_banks=payouts.TEST_BANKS,
        live_rate=LIVE_RATE,
        settings=settings,
        protocol_fee=protocol_fee(settings),
        first_url=shlex.quote(f"{base}/v2/payer"),
        key_variable=API_KEY_VARIABLE,
        faults={name: fault.__doc__ for name, fault in FAULTS.items()},
    )


async def _read_form(request: Request) -> Mapping[str, list[str]]:
    # FastAPI's own parser of forms needs one more package.
    return parse_qs((await request.body()).decode("ascii", "replace"))


def show_step(step: PayerStep, page: str, request: Request) -> Response:
    """Show a step, or that its link is wrong or has ended."""
    with _open_link(request.state.worlds, step, page, write=False) as link:
        if link is None:
            return _render("notice", status=404, step=None)
        _, payer = link
        if payers.progress(payer, step) not in {"open", "waiting"}:
            return _render("notice", status=410, step=_NAMES[step])
        return _render_step(step, payer)


def submit_step(
    step: PayerStep,
    page: str,
    request: Request,
    form: Annotated[Mapping[str, list[str]], Depends(_read_form)],
) -> Response:
    """Sign or submit a step, and show the result."""
    with _open_link(request.state.worlds, step, page, write=True) as link:
        if link is None:
            return _render("notice", status=404, step=None)
        session, payer = link
        progress = payers.progress(payer, step)
        if progress == "open" and step == "agreement" and "consent" not in form:
            return _render_step(step, payer, consent_missing=True)
        if progress == "waiting" or payers.complete_step(session, payer, step):
            return _render_step(step, payer)
        return _render("notice", status=410, step=_NAMES[step])


for _step in get_args(PayerStep):
    path = f"/{_step}/{{page}}"
    show = partial(show_step, _step)
    submit = partial(submit_step, _step)
    router.add_api_route(path, show, methods=["GET"], dependencies=[Turn])
    router.add_api_route(path, submit, methods=["POST"], dependencies=[Turn])


@contextmanager
def _open_link(
    worlds: Worlds, step: PayerStep, page: str, *, write: bool
) -> Iterator[tuple[WorldSession, PayerRow] | None]:
    """Give a session and the payer to whom the link of a step belongs; None for an
    unknown link.
    """
    query = select(PayerRow).filter_by(**{f"{step}_page": page})
    with Session(worlds.database.engine) as session:
        found = session.scalars(query).one_or_none()
    world = None
    if found is not None:
        world = worlds.by_id.get(found.world_id)
    if world is None:
        yield None
        return
    with world.begin(write=write) as session:
        yield session, session.scalars(query).one()


def _render_step(
    step: PayerStep, payer: PayerRow, *, consent_missing: bool = False
) -> HTMLResponse:
    """Return the page of a step, with a link to that of the other one."""
    other: PayerStep = "kyc"
    other_page = payer.kyc_page
    if step == "kyc":
        other = "agreement"
        other_page = payer.agreement_page
    status = 200
    if consent_missing:
        status = 422
    state: str = getattr(payer, step)
    return _render(
        "step",
        status=status,
        step=step,
        state=state.replace("_", " ").capitalize(),
        progress=payers.progress(payer, step),
        consent_missing=consent_missing,
        is_again=payer.kyc == "retry_required",
        other=payers.progress(payer, other),
        other_name=_NAMES[other],
        other_page=f"../{other}/{other_page}",
    )
