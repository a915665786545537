"""The pages: those that a payer completes in a browser, and the start page.

A payer's pages need no API key: their links contain 128 random bits. A link ends when its step is done, so that nobody
who finds it in an old e-mail learns how it went, or what else the payer has to do.
"""

from __future__ import annotations

import shlex
from functools import partial
from typing import Any, get_args
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from payerkit.service import accounts, controls, pay, payers, payouts, rpc
from payerkit.service.faults import FAULTS, FAULTS_HEADER
from payerkit.service.keys import API_KEY_VARIABLE
from payerkit.service.settings import Settings
from payerkit.service.tables import PayerRow
from payerkit.service.world import LIVE_RATE, SANDBOX_PATH, Step, Worlds, WorldSession

router = APIRouter(include_in_schema=False)

ROUTERS = tuple(subject.router for subject in (pay, payers, accounts, payouts, controls, rpc))
"""The routers of the calls, in the order of the start page."""


_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_NAMES = {"agreement": "agreement", "kyc": "identity check"}
"""The names of the steps on the pages."""


_templates = Environment(loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined)


def _render(name: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    return HTMLResponse(_templates.get_template(f"{name}.html").render(context), status, _HEADERS)


def _render_step(step: Step, payer: PayerRow, *, consent_missing: bool = False) -> HTMLResponse:
    """Return the page of a step, with a link to that of the other one."""
    other: Step = "kyc" if step == "agreement" else "agreement"
    return _render(
        "step",
        step=step,
        status=422 if consent_missing else 200,
        state=str(getattr(payer, step)).replace("_", " ").capitalize(),
        progress=payers.progress(payer, step),
        consent_missing=consent_missing,
        is_again=payer.kyc == "retry_required",
        other=payers.progress(payer, other),
        other_name=_NAMES[other],
        other_page=f"../{other}/{getattr(payer, f'{other}_page')}",
    )


@router.get("/")
async def show_home(request: Request) -> Response:
    """Show what the sandbox is, how it behaves, a first call, its own calls, the faults, and the test values."""
    settings: Settings = request.state.settings
    return _render(
        "home",
        kyc=get_args(payers.KycState),
        agreement=get_args(payers.AgreementState),
        detail=get_args(accounts.DetailState),
        refused_bank=accounts.REFUSED_BANK,
        payout_banks=payouts.TEST_BANKS,
        live_rate=LIVE_RATE,
        settings=settings,
        first_url=shlex.quote(f"{(settings.public_url or str(request.base_url)).rstrip('/')}/v2/payer"),
        key_variable=API_KEY_VARIABLE,
        controls=[each for router in ROUTERS for each in router.routes if each.path.startswith(SANDBOX_PATH)],
        faults={name: fault.__doc__ for name, fault in FAULTS.items()},
        faults_header=FAULTS_HEADER,
    )


async def _visit_step(step: Step, page: str, request: Request) -> Response:
    """Show a step, or that its link is wrong or has ended; a form signs or submits it first, and shows the result."""
    worlds: Worlds = request.state.worlds
    is_sent = request.method == "POST"
    # FastAPI's own parser of forms needs one more package.
    form = parse_qs((await request.body()).decode("ascii", "replace")) if is_sent else {}

    def respond(session: WorldSession, payer: PayerRow) -> Response:
        has_consent = step != "agreement" or form.get("consent") == ["yes"]
        if is_sent and not has_consent and payers.progress(payer, step) == "open":
            return _render_step(step, payer, consent_missing=True)
        is_done = is_sent and payers.complete_step(session, payer, step)
        is_shown = is_done or payers.progress(payer, step) in {"open", "waiting"}
        return _render_step(step, payer) if is_shown else _render("notice", status=410, step=_NAMES[step])

    shown = await worlds.visit(step, page, respond, write=is_sent)
    return _render("notice", status=404, step=None) if shown is None else shown


for _step in get_args(Step):
    router.add_api_route(f"/{_step}/{{page}}", partial(_visit_step, _step), methods=["GET", "POST"])
