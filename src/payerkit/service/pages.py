"""The pages that a person completes in a browser. The links hold 128 bits nobody can guess, and need no key."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated, Any, get_args
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FunctionLoader, StrictUndefined

from payerkit.service.routes import TheStore
from payerkit.service.states import (
    AGREEMENT_OPEN,
    KYC_OPEN,
    AgreementState,
    DetailState,
    KycState,
)

router = APIRouter(include_in_schema=False)

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_GOOD = {"approved", "completed", "signed"}
_BAD = {"rejected", "failed", "retry_required"}
_MAX_FORM = 1000


def _template(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


_templates = Environment(loader=FunctionLoader(_template), autoescape=True, undefined=StrictUndefined)


def _page(name: str, *, status: int = 200, **facts: Any) -> HTMLResponse:
    return HTMLResponse(_templates.get_template(f"{name}.html").render(facts), status, _HEADERS)


def _state_page(name: str, state: str, *, is_open: bool, missed: bool = False) -> HTMLResponse:
    tone = "good" if state in _GOOD else "bad" if state in _BAD else ""
    return _page(name, state=state, tone=tone, is_open=is_open, missed=missed, status=422 if missed else 200)


def _missing() -> HTMLResponse:
    return _page("missing", status=404)


def _again(request: Request) -> Response:
    """Send the browser back to the page, so that a reload submits nothing again."""
    return RedirectResponse(request.url.path.rpartition("/")[2], status_code=303, headers=_HEADERS)


async def _form(request: Request) -> dict[str, list[str]]:
    """Return a small form; the framework's own reading of forms wants one more package."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_FORM:
            return {}
    return parse_qs(body.decode("ascii", "replace"))


Form = Annotated[dict[str, list[str]], Depends(_form)]


@router.get("/")
def home() -> Response:
    """Show what this is, and the test values."""
    return _page("home", kyc=get_args(KycState), agreement=get_args(AgreementState), detail=get_args(DetailState))


@router.get("/agreement/{page}")
def show_agreement(page: str, store: TheStore) -> Response:
    """Show the agreement to sign, or where it stands."""
    payer = store.find_page(page)
    if payer is None:
        return _missing()
    return _state_page("agreement", payer.agreement, is_open=payer.agreement in AGREEMENT_OPEN)


@router.post("/agreement/{page}")
def sign_agreement(page: str, request: Request, form: Form, store: TheStore) -> Response:
    """Sign, if the box is ticked; the platform records it afterwards."""
    payer = store.find_page(page)
    if payer is None:
        return _missing()
    if payer.agreement in AGREEMENT_OPEN:
        if form.get("consent") != ["yes"]:
            return _state_page("agreement", payer.agreement, is_open=True, missed=True)
        store.set_payer_state(payer.client_user_id, "agreement", "signed")
    return _again(request)


@router.get("/kyc/{page}")
def show_kyc(page: str, store: TheStore) -> Response:
    """Show the identity check; opening it is the beginning of one."""
    payer = store.find_page(page)
    if payer is None:
        return _missing()
    if payer.kyc == "not_started":
        payer = store.set_payer_state(payer.client_user_id, "kyc", "initiated") or payer
    return _state_page("kyc", payer.kyc, is_open=payer.kyc in KYC_OPEN)


@router.post("/kyc/{page}")
def submit_kyc(page: str, request: Request, store: TheStore) -> Response:
    """Submit the identity check."""
    payer = store.find_page(page)
    if payer is None:
        return _missing()
    if payer.kyc in KYC_OPEN:
        store.submit_kyc(payer.client_user_id)
    return _again(request)
