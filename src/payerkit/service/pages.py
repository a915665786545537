"""The pages: those that a payer completes in a browser, the start page, and the page with what is stored.

A payer's pages need no API key: their links contain 128 random bits. A link ends when its step is done, so that nobody
who finds it in an old e-mail learns how it went, or what else the payer has to do.
"""

from __future__ import annotations

import json
import shlex
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, NamedTuple, get_args
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.routing import APIRoute
from jinja2 import Environment, FunctionLoader, StrictUndefined

from payerkit.service import payout_routes, sandbox_routes
from payerkit.service.api_keys import API_KEY_VARIABLE
from payerkit.service.call_limits import BLOCK_SECONDS, LIVE_RATE
from payerkit.service.clock import format_time
from payerkit.service.faults import FAULTS, FAULTS_HEADER
from payerkit.service.overview import Kind, count_rows, list_newest
from payerkit.service.payout_states import TEST_BANKS
from payerkit.service.routes import SettingsDep, from_state
from payerkit.service.states import (
    REFUSED_BANK,
    AgreementState,
    DetailState,
    KycState,
    agreement_progress,
    kyc_progress,
)
from payerkit.service.store import Step, StoredPayer
from payerkit.service.worlds import World, Worlds

router = APIRouter(include_in_schema=False)

WorldsDep = Annotated[Worlds, from_state("worlds")]

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_PROVIDER = "Example Payment Provider"
"""The invented provider with whom payers agree, and who checks their identity."""


class PageNotFound(Exception):  # noqa: N818 - a response, not a failure
    """No payer has this link."""


def _read_template(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


_templates = Environment(loader=FunctionLoader(_read_template), autoescape=True, undefined=StrictUndefined)


def _render(name: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    return HTMLResponse(_templates.get_template(f"{name}.html").render(context), status, _HEADERS)


def _render_agreement(payer: StoredPayer, *, consent_missing: bool = False) -> HTMLResponse:
    return _render(
        "agreement",
        status=422 if consent_missing else 200,
        state=_in_words(payer.agreement),
        progress=agreement_progress(payer.agreement),
        consent_missing=consent_missing,
        provider=_PROVIDER,
        other=kyc_progress(payer.kyc),
        other_name="identity check",
        other_page=f"../kyc/{payer.kyc_page}",
    )


def _render_kyc(payer: StoredPayer) -> HTMLResponse:
    return _render(
        "kyc",
        state=_in_words(payer.kyc),
        progress=kyc_progress(payer.kyc),
        is_again=payer.kyc == "retry_required",
        provider=_PROVIDER,
        this_page=payer.kyc_page,
        other=agreement_progress(payer.agreement),
        other_name="agreement",
        other_page=f"../agreement/{payer.agreement_page}",
    )


def _render_ended(step: str) -> HTMLResponse:
    return _render("ended", status=410, step=step)


def _in_words(state: str) -> str:
    return state.replace("_", " ").capitalize()


async def handle_page_not_found(_request: Request, _error: Exception) -> Response:
    """Respond with the page for wrong links."""
    return _render("missing", status=404)


class Visit(NamedTuple):
    """The payer whose link was opened, and the payer's world."""

    world: World
    payer: StoredPayer


def get_agreement_visit(page: str, worlds: WorldsDep) -> Visit:
    """Return whose link to the agreement was opened. Raises PageNotFound if it is nobody's."""
    return _find_visit("agreement", page, worlds)


def get_kyc_visit(page: str, worlds: WorldsDep) -> Visit:
    """Return whose link to the identity check was opened. Raises PageNotFound if it is nobody's."""
    return _find_visit("kyc", page, worlds)


def _find_visit(step: Step, page: str, worlds: Worlds) -> Visit:
    found = worlds.of_page(step, page)
    if found is None:
        raise PageNotFound
    return Visit(*found)


async def read_form(request: Request) -> dict[str, list[str]]:
    """Return the fields of a form; FastAPI's own parser needs one more package."""
    return parse_qs((await request.body()).decode("ascii", "replace"))


FormDep = Annotated[dict[str, list[str]], Depends(read_form)]


@router.get("/")
async def show_home(settings: SettingsDep, request: Request) -> Response:
    """Show what the sandbox is, how it behaves, a first call, its own calls, the faults, and the test values."""
    return _render(
        "home",
        kyc=get_args(KycState),
        agreement=get_args(AgreementState),
        detail=get_args(DetailState),
        refused_bank=REFUSED_BANK,
        payout_banks=TEST_BANKS,
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
        for router in (sandbox_routes.router, payout_routes.controls)
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    ]


@router.get("/sandbox/stored")
def show_stored(
    world: Annotated[World, from_state("world")],
    settings: SettingsDep,
    kind: Kind = "payers",
    before: Annotated[int | None, Query(ge=1, lt=2**63)] = None,
) -> Response:
    """Show what the world of the API key holds, without personal data, and its fault plan."""
    return _render(
        "stored",
        world=world.name,
        clock=settings.clock,
        now=format_time(int(world.store.now())),
        plan=world.faults.plan_text.strip(),
        counts=count_rows(world.store),
        kinds={name: _in_words(name) for name in get_args(Kind)},
        kind=kind,
        before=before,
        listing=list_newest(world.store, kind, before),
    )


@router.get("/agreement/{page}")
def show_agreement(visit: Annotated[Visit, Depends(get_agreement_visit)]) -> Response:
    """Show the agreement to sign, or that the link has ended."""
    if agreement_progress(visit.payer.agreement) == "open":
        return _render_agreement(visit.payer)
    return _render_ended("agreement")


@router.post("/agreement/{page}")
def sign_agreement(visit: Annotated[Visit, Depends(get_agreement_visit)], form: FormDep) -> Response:
    """Sign the agreement if the box is ticked, and show the result this once; the platform records it afterwards."""
    if agreement_progress(visit.payer.agreement) == "open" and form.get("consent") != ["yes"]:
        return _render_agreement(visit.payer, consent_missing=True)
    signed = visit.world.store.sign_agreement(visit.payer.client_user_id)
    return _render_ended("agreement") if signed is None else _render_agreement(signed)


@router.get("/kyc/{page}")
def show_kyc(visit: Annotated[Visit, Depends(get_kyc_visit)]) -> Response:
    """Show the identity check to submit or under review, or that the link has ended."""
    if kyc_progress(visit.payer.kyc) in {"open", "waiting"}:
        return _render_kyc(visit.payer)
    return _render_ended("identity check")


@router.post("/kyc/{page}")
def submit_kyc(visit: Annotated[Visit, Depends(get_kyc_visit)]) -> Response:
    """Submit the identity check, and show the result this once."""
    submitted = visit.world.store.submit_kyc(visit.payer.client_user_id)
    return show_kyc(visit) if submitted is None else _render_kyc(submitted)
