"""Routes that only the sandbox has: rates, fees, demo wallet, states set by hand, clock, faults, and the ledger."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field
from typing_extensions import TypedDict

from payerkit.onchain.currencies import Currency, find_currency
from payerkit.service import states
from payerkit.service.call_limits import CallLimits
from payerkit.service.clock import ClockKind, format_time
from payerkit.service.document import ANY_CALL, WRITE, describe_refusals
from payerkit.service.errors import Problem
from payerkit.service.faults import FaultInjector
from payerkit.service.fired_events import events_secret, fire_checks, fire_due, firing, list_events
from payerkit.service.money import format_units, parse_rate, parse_units, usd_rates
from payerkit.service.routes import ClientUserId, PathId, SettingsDep, StoreDep, api_key_header, from_state
from payerkit.service.schemas import Address, Amount, AnyText, Uuid
from payerkit.service.store import WriteKind
from payerkit.service.wallet import GAS_PRICE, Holding, read_holdings, read_rates, set_holding, set_rate

router = APIRouter(prefix="/sandbox", tags=["sandbox only"], dependencies=[api_key_header], responses=ANY_CALL)

_UNKNOWN = describe_refusals(404)


async def get_currency(
    currency: Annotated[PathId, Path(examples=["fUSDC-sepolia"], description="Currency id.")],
) -> Currency:
    """Return the currency in the path. Raises Problem (404) if the token list does not have it."""
    found = find_currency(currency)
    if found is None:
        raise Problem(404, f"Currency {currency} is not in the token list")
    return found


CurrencyDep = Annotated[Currency, Depends(get_currency)]


class RatesResponse(TypedDict):
    """US dollars per unit: by symbol, and those set by a user, by currency id. Other tokens count as 1."""

    bySymbol: dict[str, str]
    byCurrency: dict[str, str]


Rate = Annotated[AnyText, Field(json_schema_extra={"pattern": r"^[0-9]{1,30}(\.[0-9]{1,30})?$"})]


class RateRequest(TypedDict):
    """A new exchange rate: US dollars per unit."""

    usd: Annotated[Rate, Field(examples=["1.10"])]


class RateResponse(TypedDict):
    """US dollars per unit of a currency, as a decimal."""

    currency: str
    usd: str


class HoldingRequest(TypedDict):
    """A new balance, a new allowance of the payment contract, or both: decimals in units of the currency."""

    balance: NotRequired[Annotated[Amount, Field(examples=["250.00"])]]
    allowance: NotRequired[Annotated[Amount, Field(examples=["0"])]]


class HoldingResponse(TypedDict):
    """The wallet's balance of a currency and the payment contract's allowance. The gas price is in wei."""

    currency: str
    balance: str
    allowance: str
    gasPrice: int


class FeeResponse(TypedDict):
    """A fee on top of each payment: its share of the amount in percent, and the wallet that receives it."""

    percentage: str
    address: Address


class FeesResponse(TypedDict):
    """The fees on top of each payment; none if they are switched off."""

    fees: list[FeeResponse]


class EmptyRequest(TypedDict):
    """Nothing; a call that changes something has a body in JSON."""


class KycStateRequest(TypedDict):
    """A state of the identity check."""

    status: states.KycState


class AgreementStateRequest(TypedDict):
    """A state of the agreement."""

    status: states.AgreementState


class DetailStateRequest(TypedDict):
    """A state of bank details."""

    status: states.DetailState


class ClockRequest(TypedDict):
    """By how many seconds to advance the clock."""

    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True, examples=[120])]


class ClockResponse(TypedDict):
    """The kind of the service's clock, and its time."""

    clock: ClockKind
    now: Annotated[str, Field(examples=["2026-01-01T00:02:00Z"])]


class FaultsRequest(TypedDict):
    """A new fault plan; an empty one ends all faults."""

    plan: Annotated[AnyText, Field(examples=["latency=0.02, reset_after=5%"])]


MAX_NUMBER = 2**53 - 1
"""The largest number of a ledger entry or an event that may be asked for: what every JSON parser reads exactly."""


class FiredEvent(TypedDict):
    """An event as it is first delivered: the body, byte by byte, and what its headers say."""

    number: int
    event: str
    firedAt: Annotated[str, Field(examples=["2026-01-01T00:02:00Z"])]
    deliveryId: Annotated[str, Field(json_schema_extra={"pattern": "^[0-9A-HJKMNP-TV-Z]{26}$"})]
    signature: Annotated[str, Field(json_schema_extra={"pattern": "^[0-9a-f]{64}$"})]
    body: str


class EventsResponse(TypedDict):
    """Events, in the order in which they were fired."""

    events: list[FiredEvent]


class EventsSecretResponse(TypedDict):
    """The secret of a world's events."""

    secret: str


class LedgerEntry(TypedDict):
    """A write that was stored. `id` is a payment detail's; `fingerprint` is equal only for equal bodies."""

    number: int
    what: WriteKind
    clientUserId: str
    id: Uuid | None
    fingerprint: str


class LedgerResponse(TypedDict):
    """The stored writes, in order."""

    writes: list[LedgerEntry]


@router.get("/rates", operation_id="sandbox_get_rates", summary="Read all exchange rates")
def get_rates(store: StoreDep) -> RatesResponse:
    """Return the sandbox's exchange rates, which are invented."""
    return {"bySymbol": dict(usd_rates()), "byCurrency": dict(read_rates(store).overrides)}


@router.get("/rates/{currency}", operation_id="sandbox_get_rate", summary="Read an exchange rate", responses=_UNKNOWN)
def get_rate(currency: CurrencyDep, store: StoreDep) -> RateResponse:
    """Return the US dollars per unit."""
    return {"currency": currency.id, "usd": read_rates(store).usd(currency)}


@router.put(
    "/rates/{currency}", operation_id="sandbox_set_rate", summary="Set an exchange rate", responses=_UNKNOWN | WRITE
)
def put_rate(currency: CurrencyDep, body: RateRequest, store: StoreDep) -> RateResponse:
    """Set the US dollars per unit."""
    usd = parse_rate(body["usd"])
    set_rate(store, currency, usd)
    return {"currency": currency.id, "usd": usd}


@router.get("/fees", operation_id="sandbox_get_fees", summary="Read the fees")
async def get_fees(settings: SettingsDep) -> FeesResponse:
    """Return what each payment carries on top of its amount, as a platform would have agreed to it."""
    fee = settings.protocol_fee
    return {"fees": [] if fee is None else [{"percentage": fee["percentage"], "address": fee["address"]}]}


@router.get(
    "/wallet/{currency}", operation_id="sandbox_get_holding", summary="Read the demo wallet", responses=_UNKNOWN
)
def get_holding(currency: CurrencyDep, store: StoreDep) -> HoldingResponse:
    """Return balance and allowance."""
    return _holding_response(currency, read_holdings(store, [currency])[currency.id])


@router.put(
    "/wallet/{currency}", operation_id="sandbox_set_holding", summary="Set the demo wallet", responses=_UNKNOWN | WRITE
)
def put_holding(currency: CurrencyDep, body: HoldingRequest, store: StoreDep) -> HoldingResponse:
    """Set balance, allowance, or both."""
    new = {name: parse_units(str(decimal), currency, name) for name, decimal in body.items()}
    return _holding_response(currency, set_holding(store, currency, new))


@router.put(
    "/kyc/{clientUserId}",
    operation_id="sandbox_set_kyc",
    summary="Set the state of an identity check",
    responses=_UNKNOWN | WRITE,
)
def put_kyc(
    client_user_id: ClientUserId, body: KycStateRequest, store: StoreDep, settings: SettingsDep
) -> KycStateRequest:
    """Set the state, as if the check had ended so."""
    with firing(store, settings):
        store.set_payer_state(client_user_id, "kyc", body["status"])
    return body


@router.post(
    "/kyc/{clientUserId}/submit",
    operation_id="sandbox_submit_kyc",
    summary="Submit an identity check",
    responses=_UNKNOWN | describe_refusals(409) | WRITE,
)
def submit_kyc(
    client_user_id: ClientUserId, _body: EmptyRequest, store: StoreDep, settings: SettingsDep
) -> KycStateRequest:
    """Submit the check as the payer does on the page: it is pending now, and approved after its time."""
    with firing(store, settings):
        payer = store.submit_kyc(client_user_id)
    if payer is None:
        raise Problem(409, f"The identity check is {store.find_payer(client_user_id).kyc}: it cannot be submitted")
    return {"status": "pending"}


@router.put(
    "/agreement/{clientUserId}",
    operation_id="sandbox_set_agreement",
    summary="Set the state of an agreement",
    responses=_UNKNOWN | WRITE,
)
def put_agreement(
    client_user_id: ClientUserId, body: AgreementStateRequest, store: StoreDep, settings: SettingsDep
) -> AgreementStateRequest:
    """Set the state, as if the payer had done so."""
    with firing(store, settings):
        store.set_payer_state(client_user_id, "agreement", body["status"])
    return body


@router.put(
    "/payment-details/{detailId}",
    operation_id="sandbox_decide_detail",
    summary="Set the state of bank details",
    responses=_UNKNOWN | WRITE,
)
def put_detail_state(
    detail_id: Annotated[PathId, Path(alias="detailId")],
    body: DetailStateRequest,
    store: StoreDep,
    settings: SettingsDep,
) -> DetailStateRequest:
    """Set the state, as if the bank had decided so."""
    with firing(store, settings):
        store.set_detail_state(detail_id, body["status"])
    return body


@router.get("/clock", operation_id="sandbox_get_clock", summary="Read the clock")
def get_clock(store: StoreDep, settings: SettingsDep) -> ClockResponse:
    """Return the time by which the service decides."""
    return {"clock": settings.clock, "now": format_time(store.now())}


@router.post("/clock/advance", operation_id="sandbox_advance_clock", summary="Advance the clock", responses=WRITE)
def advance_clock(
    body: ClockRequest, store: StoreDep, settings: SettingsDep, limits: Annotated[CallLimits, from_state("limits")]
) -> ClockResponse:
    """Advance the clock, so that what waits is decided. A wall clock then runs ahead by so much."""
    now = store.advance(body["seconds"])
    fire_checks(store)
    limits.advance(body["seconds"])
    return {"clock": settings.clock, "now": format_time(now)}


@router.put("/faults", operation_id="sandbox_set_faults", summary="Set the fault plan", responses=WRITE)
async def put_faults(body: FaultsRequest, faults: Annotated[FaultInjector, from_state("faults")]) -> FaultsRequest:
    """Set the fault plan of all calls; the header `x-payerkit-faults` sets one for a single call."""
    faults.set_plan(body["plan"])  # async, so that it runs in the event loop, where calls read the plan
    return body


@router.post("/events", operation_id="sandbox_fire_events", summary="Fire the events that are due", responses=WRITE)
def post_events(
    _body: EmptyRequest,
    store: StoreDep,
    settings: SettingsDep,
    after: Annotated[int, Query(ge=0, le=MAX_NUMBER, description="Return only events after this number.")] = 0,
) -> EventsResponse:
    """Fire what is due by the clock, and return the events, at most 1,000 per call."""
    fire_due(store, settings)
    events: Any = list_events(store, after, 1000)
    return {"events": events}


@router.get("/events/secret", operation_id="sandbox_get_events_secret", summary="Read the secret of the events")
def get_events_secret(store: StoreDep) -> EventsSecretResponse:
    """Return the secret that signs the events of the world."""
    return {"secret": events_secret(store)}


@router.get("/ledger", operation_id="sandbox_get_ledger", summary="Read what was stored")
def get_ledger(
    store: StoreDep,
    after: Annotated[int, Query(ge=0, le=MAX_NUMBER, description="Return only entries after this number.")] = 0,
) -> LedgerResponse:
    """Return the writes that were stored, at most 10,000 per call."""
    writes: Any = store.ledger_rows(after, 10_000)
    return {"writes": writes}


def _holding_response(currency: Currency, holding: Holding) -> HoldingResponse:
    return {
        "currency": currency.id,
        "balance": format_units(holding.balance, currency),
        "allowance": format_units(holding.allowance, currency),
        "gasPrice": GAS_PRICE,
    }
