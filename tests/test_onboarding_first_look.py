"""How long a run waits for what is unknown: what a look finds is settled at once, and the rest holds nothing up."""

from __future__ import annotations

from pathlib import Path

import pytest

from onboarding_model import (
    FINE,
    LOST_AFTER,
    LOST_BEFORE,
    SETTLE,
    TIMED_OUT,
    Fault,
    Kind,
    ModelService,
    gateway,
    late,
    masked,
    row_states,
    run,
    states_after,
)
from onboarding_tables import payer_row
from payerkit.errors import InterruptedRun

PAYERS = 8


@pytest.fixture
def service() -> ModelService:
    """Return a far end without faults."""
    return ModelService()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a path for a new journal."""
    return tmp_path / "run.journal"


ROWS = [payer_row(place) for place in range(PAYERS)]
IDS = [row["client_user_id"] for row in ROWS]


def faults_of(fault: Fault, unknown: int) -> list[Fault]:
    """Return what becomes of the first requests of a kind: so many have a fault, and the others none."""
    return [fault] * unknown + [FINE] * (PAYERS - unknown)


@pytest.mark.parametrize(
    ("kind", "fault", "unknown", "delays"),
    [
        ("payer", FINE, 0, 0),
        ("payer", LOST_AFTER, 1, 0),  # found at once
        ("payer", LOST_AFTER, PAYERS, 0),
        ("payer", LOST_BEFORE, 1, 1),  # not there: they wait once, together
        ("payer", LOST_BEFORE, PAYERS, 1),
        ("payer", late(SETTLE / 2), 3, 1),
        ("account", LOST_AFTER, 1, 0),
        ("account", LOST_AFTER, PAYERS, 0),
        ("account", LOST_BEFORE, 1, 3),  # absent from two lists; sent twice, so there is a last look
        ("account", LOST_BEFORE, PAYERS, 3),
    ],
)
def test_a_run_waits_for_absence_alone(
    service: ModelService, path: Path, kind: Kind, fault: Fault, unknown: int, delays: int
) -> None:
    """The seconds of a run are those of the delays that prove an absence, however many are unknown."""
    began = service.clock.now()
    service.next[kind].extend(faults_of(fault, unknown))

    assert ["done"] * PAYERS == states_after(service, ROWS, path)
    assert delays * SETTLE == pytest.approx(service.clock.now() - began, abs=0.1)


def test_accounts_of_settled_payers_are_there_before_the_wait(service: ModelService, path: Path) -> None:
    """Those of the payers who wait follow, once these are settled."""
    began = service.clock.now()
    service.next["payer"].extend(faults_of(LOST_BEFORE, 2))
    report = run(service, ROWS, path)
    stored = {each.payer: each.at - began for each in service.accounts}

    assert ["done"] * PAYERS == row_states(report)
    assert [True] * 2 + [False] * (PAYERS - 2) == [stored[each] >= SETTLE for each in IDS]
    assert PAYERS + 2 == service.count("payer")


def test_accounts_follow_each_payer_by_itself(service: ModelService, path: Path) -> None:
    """A payer who cannot be settled holds up the accounts of no other one."""
    service.next["payer"].extend(faults_of(LOST_BEFORE, 2))
    never = silence(service, IDS[0])

    assert ["unknown", *["done"] * (PAYERS - 1)] == states_after(service, ROWS, path)
    assert max(each.at for each in service.accounts) < never[0]


def silence(service: ModelService, client_user_id: str) -> list[float]:
    """Let no status of a payer be read; return a list that has the time of the latest attempt."""
    latest = [0.0]

    def before(kind: Kind, payer: str) -> None:
        if payer == client_user_id and kind == "status":
            service.next["status"].appendleft(gateway(503))
            latest[0] = service.clock.now()

    service.before = before
    return latest


@pytest.mark.parametrize("workers", [1, 4])
def test_a_limit_holds_for_what_follows(service: ModelService, path: Path, workers: int) -> None:
    """The accounts of the payers who are tried are sent, and none of the others."""
    service.next["payer"].append(LOST_BEFORE)

    assert ["done"] * 2 + ["not_sent"] * (PAYERS - 2) == states_after(service, ROWS, path, limit=2, workers=workers)
    assert (3, 2) == (service.count("payer"), service.count("account"))


def test_a_first_look_repeats_nothing(service: ModelService, path: Path) -> None:
    """A payer that the service does not know yet may come late: it is sent again after the delay, not before."""
    service.next["payer"].append(LOST_BEFORE)
    times: list[float] = []
    service.before = lambda kind, _: times.append(service.clock.now()) if kind == "payer" else None
    run(service, ROWS[:1], path)

    assert 2 == len(times)
    assert times[1] - times[0] >= SETTLE


@pytest.mark.parametrize("fault", [LOST_AFTER, TIMED_OUT])
def test_a_first_look_settles_no_doubt(service: ModelService, path: Path, fault: Fault) -> None:
    """What a list does not show for certain is decided by the look after the delay, as before."""
    began = service.clock.now()
    service.listed = masked
    service.next["account"].append(fault)

    assert ["unknown"] == states_after(service, ROWS[:1], path)
    assert service.clock.now() - began >= SETTLE


def test_a_first_look_is_not_the_last_one(service: ModelService, path: Path) -> None:
    """An account that was sent twice, and whose second response is lost, is looked at again, a whole delay later."""
    service.next["account"].extend([late(2.5 * SETTLE), Fault(stored=0.0, interrupts=True)])
    with pytest.raises(InterruptedRun):
        run(service, ROWS[:1], path)

    assert ["duplicate"] == states_after(service, ROWS[:1], path)
