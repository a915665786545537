"""The pages: those that a payer completes in a browser, and the start page.

A payer's pages need no API key: their links contain 128 random bits. A link ends when its step is done, so that nobody
who finds it in an old e-mail learns how it went, or what else the payer has to do.
"""

from __future__ import annotations

import json
import shlex
from functools import cache
from importlib.resources import files
from typing import Any, get_args
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.routing import APIRoute
from jinja2 import Environment, FunctionLoader, StrictUndefined

from payerkit.service import accounts, controls, money, payers, payments, payouts
from payerkit.service.faults import FAULTS, FAULTS_HEADER
from payerkit.service.keys import API_KEY_VARIABLE
from payerkit.service.limits import BLOCK_SECONDS, LIVE_RATE
from payerkit.service.settings import Settings
from payerkit.service.tables import PayerRow
from payerkit.service.world import Step, Worlds, WorldSession

router = APIRouter(include_in_schema=False)

CONTROLS = tuple(subject.controls for subject in (money, payers, accounts, payments, payouts, controls))
"""The routers of the calls that only a sandbox has, in the order of the start page."""


_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_PROVIDER = "Example Payment Provider"
"""The invented provider with whom payers agree, and who checks their identity."""

_NAMES = {"agreement": "agreement", "kyc": "identity check"}
"""What the pages call a step."""


def _worlds(request: Request) -> Worlds:
    worlds: Worlds = request.state.worlds
    return worlds


def _read_template(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


_templates = Environment(loader=FunctionLoader(_read_template), autoescape=True, undefined=StrictUndefined)


def _render(name: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    return HTMLResponse(_templates.get_template(f"{name}.html").render(context), status, _HEADERS)


def _render_step(step: Step, payer: PayerRow, **context: Any) -> HTMLResponse:
    """Return the page of a step, with a link to that of the other one."""
    progress = {"agreement": payers.agreement_progress(payer), "kyc": payers.kyc_progress(payer)}
    other = "kyc" if step == "agreement" else "agreement"
    return _render(
        step,
        state=str(getattr(payer, step)).replace("_", " ").capitalize(),
        progress=progress[step],
        provider=_PROVIDER,
        this_page=getattr(payer, f"{step}_page"),
        other=progress[other],
        other_name=_NAMES[other],
        other_page=f"../{other}/{getattr(payer, f'{other}_page')}",
        **context,
    )


def _render_agreement(payer: PayerRow, *, consent_missing: bool = False) -> HTMLResponse:
    status = 422 if consent_missing else 200
    return _render_step("agreement", payer, status=status, consent_missing=consent_missing)


def _render_kyc(payer: PayerRow) -> HTMLResponse:
    return _render_step("kyc", payer, is_again=payer.kyc == "retry_required")


def _render_ended(step: Step) -> HTMLResponse:
    return _render("ended", status=410, step=_NAMES[step])


async def handle_page_not_found(_request: Request, _error: Exception) -> Response:
    """Respond with the page for wrong links."""
    return _render("missing", status=404)


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
        block_minutes=BLOCK_SECONDS / 60,
        settings=settings,
        root=request.scope["root_path"],
        first_call=_first_call(settings.public_url or str(request.base_url)),
        key_variable=API_KEY_VARIABLE,
        controls=_list_controls(),
        faults={name: fault.__doc__ for name, fault in FAULTS.items()},
        faults_header=FAULTS_HEADER,
    )


def _first_call(base_url: str) -> str:
    """Return a line for a shell that registers the published example of a payer."""
    examples = json.loads(files(__package__).joinpath("examples.json").read_text("utf-8"))
    body = json.dumps(examples["create_payer"]["requests"]["individual"])
    url = shlex.quote(f"{base_url.rstrip('/')}/v2/payer")
    key = f'"x-api-key: ${API_KEY_VARIABLE}"'
    return f"curl -sS {url} -H {key} -H 'content-type: application/json' -d {shlex.quote(body)}"


@cache
def _list_controls() -> list[tuple[str, str, str]]:
    """Return method, path and summary of the sandbox's own calls."""
    return [
        (method, route.path_format, str(route.summary))
        for each in CONTROLS
        for route in each.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    ]


@router.get("/agreement/{page}")
async def show_agreement(page: str, request: Request) -> Response:
    """Show the agreement to sign, or that the link has ended."""

    def show(_session: WorldSession, payer: PayerRow) -> Response:
        is_open = payers.agreement_progress(payer) == "open"
        return _render_agreement(payer) if is_open else _render_ended("agreement")

    return await _worlds(request).visit("agreement", page, show)


@router.post("/agreement/{page}")
async def post_agreement(page: str, request: Request) -> Response:
    """Sign the agreement if the box is ticked, and show the result this once; the platform records it afterwards."""
    # FastAPI's own parser of forms needs one more package.
    form = parse_qs((await request.body()).decode("ascii", "replace"))

    def sign(session: WorldSession, payer: PayerRow) -> Response:
        if payers.agreement_progress(payer) == "open" and form.get("consent") != ["yes"]:
            return _render_agreement(payer, consent_missing=True)
        return _render_agreement(payer) if payers.sign_agreement(session, payer) else _render_ended("agreement")

    return await _worlds(request).visit("agreement", page, sign, write=True)


@router.get("/kyc/{page}")
async def show_kyc(page: str, request: Request) -> Response:
    """Show the identity check to submit or under review, or that the link has ended."""
    return await _worlds(request).visit("kyc", page, _show_kyc)


@router.post("/kyc/{page}")
async def post_kyc(page: str, request: Request) -> Response:
    """Submit the identity check, and show the result this once."""

    def submit(session: WorldSession, payer: PayerRow) -> Response:
        return _render_kyc(payer) if payers.submit_kyc(session, payer) else _show_kyc(session, payer)

    return await _worlds(request).visit("kyc", page, submit, write=True)


def _show_kyc(_session: WorldSession, payer: PayerRow) -> Response:
    is_shown = payers.kyc_progress(payer) in {"open", "waiting"}
    return _render_kyc(payer) if is_shown else _render_ended("kyc")
