"""The pages that a payer completes in a browser, and the start page.

They need no API key: the links contain 128 random bits.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated, Any, NamedTuple, get_args
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FunctionLoader, StrictUndefined

from payerkit.service.call_limits import BLOCK_SECONDS, LIVE_RATE
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
        is_recorded=payer.agreement == "completed",
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


def _in_words(state: str) -> str:
    return state.replace("_", " ").capitalize()


def _redirect_back(request: Request) -> Response:
    """Redirect to the page itself, so that a reload does not submit the form again."""
    return RedirectResponse(request.url.path.rpartition("/")[2], status_code=303, headers=_HEADERS)


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
def show_home(settings: SettingsDep) -> Response:
    """Show what the sandbox is, how it behaves, and the test values."""
    return _render(
        "home",
        kyc=get_args(KycState),
        agreement=get_args(AgreementState),
        detail=get_args(DetailState),
        refused_bank=REFUSED_BANK,
        live_rate=LIVE_RATE,
        block_minutes=BLOCK_SECONDS / 60,
        settings=settings,
    )


@router.get("/agreement/{page}")
def show_agreement(visit: Annotated[Visit, Depends(get_agreement_visit)]) -> Response:
    """Show the agreement to sign, or its state."""
    return _render_agreement(visit.payer)


@router.post("/agreement/{page}")
def sign_agreement(visit: Annotated[Visit, Depends(get_agreement_visit)], request: Request, form: FormDep) -> Response:
    """Sign the agreement if the box is ticked; the platform records it afterwards."""
    if agreement_progress(visit.payer.agreement) == "open":
        if form.get("consent") != ["yes"]:
            return _render_agreement(visit.payer, consent_missing=True)
        visit.world.store.set_payer_state(visit.payer.client_user_id, "agreement", "signed")
    return _redirect_back(request)


@router.get("/kyc/{page}")
def show_kyc(visit: Annotated[Visit, Depends(get_kyc_visit)]) -> Response:
    """Show the identity check."""
    return _render_kyc(visit.payer)


@router.post("/kyc/{page}")
def submit_kyc(visit: Annotated[Visit, Depends(get_kyc_visit)], request: Request) -> Response:
    """Submit the identity check."""
    if kyc_progress(visit.payer.kyc) == "open":
        visit.world.store.submit_kyc(visit.payer.client_user_id)
    return _redirect_back(request)
