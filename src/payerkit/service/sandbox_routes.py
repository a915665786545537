"""What only a sandbox has: rates, the demo wallet, states set by hand, faults, and the ledger."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from payerkit.onchain.currencies import Currency, find_currency
from payerkit.service import states
from payerkit.service.database import RateRow
from payerkit.service.errors import Problem
from payerkit.service.faults import Faults
from payerkit.service.ledger import What
from payerkit.service.money import parse_rate, parse_units, to_decimal, usd_rates
from payerkit.service.payments import stored_rates
from payerkit.service.routes import REFUSED, ClientUserId, TheStore, found, key_header
from payerkit.service.wallet import GAS_PRICE, Holding, Wallet

router = APIRouter(prefix="/sandbox", tags=["sandbox only"], dependencies=[key_header], responses=REFUSED)

CurrencyId = Annotated[str, Path(examples=["fUSDC-sepolia"]), AfterValidator(unquote)]


class RatesAnswer(TypedDict):
    """US dollars for one unit: by symbol, and those that were set, by currency id. Other tokens count as one."""

    bySymbol: dict[str, str]
    byCurrency: dict[str, str]


class RateAnswer(TypedDict):
    """US dollars for one unit of a currency, as a decimal."""

    currency: str
    usd: str


class RateBody(TypedDict):
    """A rate to use from now on: US dollars for one unit."""

    usd: Annotated[str, Field(examples=["1.10"])]


class HoldingBody(TypedDict):
    """What the wallet holds, and what it lets the payment contract take; decimals in units of the currency."""

    balance: NotRequired[Annotated[str, Field(examples=["250.00"])]]
    allowance: NotRequired[Annotated[str, Field(examples=["0"])]]


class HoldingAnswer(TypedDict):
    """What the wallet holds of a currency."""

    currency: str
    balance: str
    allowance: str
    gasPrice: int


class KycBody(TypedDict):
    """A state for the identity check."""

    status: states.KycState


class AgreementStateBody(TypedDict):
    """A state for the agreement."""

    status: states.AgreementState


class DetailBody(TypedDict):
    """A state for bank details."""

    status: states.DetailState


class FaultsBody(TypedDict):
    """A plan of faults to follow from now on; an empty one ends them."""

    plan: Annotated[str, Field(examples=["latency=0.02, reset_after=5%"])]


class LedgerEntry(TypedDict):
    """A write that was stored. The fingerprint tells two bodies apart; the id is a payment detail's."""

    number: int
    what: What
    clientUserId: str
    id: str | None
    fingerprint: str


class LedgerAnswer(TypedDict):
    """What was stored, in its order."""

    writes: list[LedgerEntry]


def the_faults(request: Request) -> Faults:
    """Return the faults of the application that answers."""
    faults: Faults = request.state.faults
    return faults


@router.get("/rates", operation_id="sandbox_get_rates", summary="Read all rates")
def get_rates(store: TheStore) -> RatesAnswer:
    """Answer with the sandbox's rates, which are invented."""
    with store.read() as (session, _):
        return {"bySymbol": dict(usd_rates()), "byCurrency": dict(stored_rates(session).chosen)}


@router.get("/rates/{currency}", operation_id="sandbox_get_rate", summary="Read a rate")
def get_rate(currency: CurrencyId, store: TheStore) -> RateAnswer:
    """Answer with the dollars that one unit counts for."""
    known = _known(currency)
    with store.read() as (session, _):
        return {"currency": known.id, "usd": stored_rates(session).usd(known)}


@router.put("/rates/{currency}", operation_id="sandbox_set_rate", summary="Set a rate")
def set_rate(currency: CurrencyId, body: RateBody, store: TheStore) -> RateAnswer:
    """Set the dollars that one unit counts for."""
    known, usd = _known(currency), parse_rate(body["usd"])
    with store.write() as (session, _):
        session.merge(RateRow(currency=known.id, usd=usd))
    return {"currency": known.id, "usd": usd}


@router.get("/wallet/{currency}", operation_id="sandbox_get_holding", summary="Read what the demo wallet holds")
def get_holding(currency: CurrencyId, store: TheStore) -> HoldingAnswer:
    """Answer with balance and allowance."""
    known = _known(currency)
    with store.read() as (session, _):
        return _holding(known, Wallet(session).holding(known))


@router.put("/wallet/{currency}", operation_id="sandbox_set_holding", summary="Set what the demo wallet holds")
def set_holding(currency: CurrencyId, body: HoldingBody, store: TheStore) -> HoldingAnswer:
    """Set balance, allowance, or both."""
    known = _known(currency)
    with store.write() as (session, _):
        wallet = Wallet(session)
        before = wallet.holding(known)
        holding = Holding(
            balance=parse_units(body["balance"], known, "balance") if "balance" in body else before.balance,
            allowance=parse_units(body["allowance"], known, "allowance") if "allowance" in body else before.allowance,
        )
        wallet.set_holding(known, holding)
    return _holding(known, holding)


@router.put("/kyc/{clientUserId}", operation_id="sandbox_set_kyc", summary="Set an identity check's state")
def set_kyc(client_user_id: ClientUserId, body: KycBody, store: TheStore) -> KycBody:
    """Set the state, as if the check had come out so."""
    found(store.set_payer_state(client_user_id, "kyc", body["status"]), client_user_id)
    return body


@router.put("/agreement/{clientUserId}", operation_id="sandbox_set_agreement", summary="Set an agreement's state")
def set_agreement(client_user_id: ClientUserId, body: AgreementStateBody, store: TheStore) -> AgreementStateBody:
    """Set the state, as if the payer had done so."""
    found(store.set_payer_state(client_user_id, "agreement", body["status"]), client_user_id)
    return body


@router.put("/payment-details/{detailId}", operation_id="sandbox_decide_detail", summary="Decide bank details")
def decide_detail(
    detail_id: Annotated[str, Path(alias="detailId"), AfterValidator(unquote)], body: DetailBody, store: TheStore
) -> DetailBody:
    """Set the state, as if a bank had decided so."""
    if not store.decide_detail(detail_id, body["status"]):
        raise Problem(404, f"Payment detail {detail_id} not found")
    return body


@router.put("/faults", operation_id="sandbox_set_faults", summary="Set the faults that calls meet")
def set_faults(body: FaultsBody, faults: Annotated[Faults, Depends(the_faults)]) -> FaultsBody:
    """Follow a plan of faults; the header `x-payerkit-faults` gives one to a single call."""
    faults.set_plan(body["plan"])
    return body


@router.get("/ledger", operation_id="sandbox_get_ledger", summary="Read what was really stored")
def get_ledger(
    store: TheStore, after: Annotated[int, Query(ge=0, description="Only what came behind this number.")] = 0
) -> LedgerAnswer:
    """Answer with the calls that stored something, at most 10,000 at once."""
    writes: Any = store.ledger(after, 10_000)
    return {"writes": writes}


def _known(currency_id: str) -> Currency:
    currency = find_currency(currency_id)
    if currency is None:
        raise Problem(404, f"{currency_id} is not in the token list")
    return currency


def _holding(currency: Currency, holding: Holding) -> HoldingAnswer:
    return {
        "currency": currency.id,
        "balance": to_decimal(holding.balance, currency),
        "allowance": to_decimal(holding.allowance, currency),
        "gasPrice": GAS_PRICE,
    }
