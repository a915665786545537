"""Controls that only a sandbox has: rates, the demo wallet, states set by hand, the
ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest

import payerkit
from payerkit import InvalidInput, Refused
from payerkit.client import SandboxClient, SandboxControls
from payerkit.errors import NotFound
from payerkit_sandbox.ledger import record
from published import BANK_DETAILS, PAYER
from stores import open_world

ORDER = {
    "payee": "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
    "amount": "10",
    "invoice_currency": "EUR",
}


@pytest.fixture
def client() -> Iterator[SandboxClient]:
    """Yield a sandbox with one payer, for one test."""
    with payerkit.sandbox(seed=1, clock="manual") as sandbox:
        payerkit.create_payer(sandbox, PAYER)
        yield sandbox


@pytest.fixture(scope="module")
def unchanged() -> Iterator[SandboxClient]:
    """Yield one for all tests whose controls are refused."""
    with payerkit.sandbox(seed=1, clock="manual") as sandbox:
        payerkit.create_payer(sandbox, PAYER)
        yield sandbox


def test_rates_are_published_and_can_be_set(client: SandboxClient) -> None:
    """A payment is converted at the rate that the sandbox publishes."""
    before = client.sandbox.rate("EUR")
    client.sandbox.set_rate("EUR", "2.5")
    payment = payerkit.initiate_payment(
        client, **ORDER, payment_currency="ETH-sepolia-sepolia"
    )

    assert (Decimal("1.10"), Decimal("2.5"), 10**16 + 10**13) == (  # with the fee
        before,
        client.sandbox.rate("eur"),
        payment.transactions[0].wei,
    )


@pytest.mark.parametrize(
    "usd",
    [
        "0",
        "0.0",
        "-1",
        "NaN",
        "",
        "1E+1000000",
        "1E-3",
        " 2 ",
        "1_000",
        "٣",
        "9" * 31,
        "1." + "1" * 31,
    ],
)
def test_rates_that_would_break_payments_are_refused(
    unchanged: SandboxClient, usd: str
) -> None:
    """A rate is a positive decimal of limited length."""
    with pytest.raises(Refused, match="positive decimal"):
        unchanged.sandbox.set_rate("EUR", usd)


def test_the_wallet_decides_the_metadata_of_a_payment(client: SandboxClient) -> None:
    """Balance, gas and allowance of the demo wallet appear in the payment; they have to
    cover the fee.
    """

    def metadata() -> tuple[bool | None, bool | None, int]:
        payment = payerkit.initiate_payment(
            client, **ORDER, payment_currency="fUSDC-sepolia"
        )
        assert payment.metadata is not None
        return (
            payment.metadata.has_enough_balance,
            payment.metadata.has_enough_gas,
            len(payment.transactions),
        )

    assert (True, True, 2) == metadata()
    client.sandbox.set_wallet("fUSDC-sepolia", balance="11.010999")
    client.sandbox.set_wallet("ETH-sepolia-sepolia", balance="0")
    assert (False, False, 2) == metadata()
    client.sandbox.set_wallet(
        "fUSDC-sepolia", balance=Decimal("11.011"), allowance="11.011"
    )
    assert (True, False, 1) == metadata()
    assert {
        "balance": Decimal("11.011"),
        "allowance": Decimal("11.011"),
    } == client.sandbox.wallet("fUSDC-sepolia")


def test_balance_and_allowance_can_be_set_at_the_same_time(
    client: SandboxClient,
) -> None:
    """Neither of two callers undoes what the other one set."""
    with ThreadPoolExecutor(2) as threads:
        for amount in range(1, 21):
            changes: list[dict[str, Any]] = [{"balance": amount}, {"allowance": amount}]
            list(
                threads.map(
                    lambda change: client.sandbox.set_wallet("fUSDC-sepolia", **change),
                    changes,
                )
            )
            assert {"balance": amount, "allowance": amount} == client.sandbox.wallet(
                "fUSDC-sepolia"
            )


def test_a_check_can_be_submitted_once(client: SandboxClient) -> None:
    """A check that the payer submits is pending; one that is pending or decided cannot
    be submitted.
    """
    client.sandbox.submit_kyc("user-123")

    assert payerkit.get_payer_status(client, "user-123").kyc_status == "pending"
    with pytest.raises(Refused, match="is pending"):
        client.sandbox.submit_kyc("user-123")
    client.sandbox.complete_kyc("user-123", status="retry_required")
    client.sandbox.submit_kyc("user-123")


def test_the_clock_goes_by_the_sum_of_all_units(client: SandboxClient) -> None:
    """Seconds, minutes, hours and days add up."""
    client.sandbox.advance(seconds=4, minutes=3, hours=2.5, days=1)

    assert datetime(2026, 1, 2, 2, 33, 4, tzinfo=UTC) == client.sandbox.now()


@pytest.mark.parametrize(
    "times", [{}, {"minutes": -1}, {"days": float("inf")}, {"days": float("nan")}]
)
def test_a_clock_is_not_set_back(
    unchanged: SandboxClient, times: dict[str, Any]
) -> None:
    """What is no time forward is refused, and the clock stands."""
    with pytest.raises(Refused, match="seconds: should be"):
        unchanged.sandbox.advance(**times)
    assert datetime(2026, 1, 1, tzinfo=UTC) == unchanged.sandbox.now()


def test_a_client_sleeps_on_a_manual_clock(client: SandboxClient) -> None:
    """A wait between two looks advances a manual clock, and takes no time."""
    client.sleep(3600)
    client.sleep(0)

    assert datetime(2026, 1, 1, 1, tzinfo=UTC) == client.sandbox.now()


def test_a_client_of_a_wall_clock_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a wall clock a client waits, and the clock is left alone."""
    with payerkit.sandbox() as client:
        slept: list[float] = []
        monkeypatch.setattr(client, "_sleep", slept.append)
        before = datetime.now(UTC)
        client.sleep(3600)
        now = client.sandbox.now()

    assert ([3600], True) == (slept, before <= now <= datetime.now(UTC))


def test_seeded_ids_do_not_depend_on_the_clock() -> None:
    """With a seed, ids are the same on every clock and at every time."""

    def ids(clock: Literal["wall", "manual"]) -> tuple[str | None, str | None]:
        with payerkit.sandbox(seed=1, clock=clock) as client:
            user_id = payerkit.create_payer(client, PAYER).user_id
            client.sandbox.advance(days=3)
            return (
                user_id,
                payerkit.create_payment_detail(client, "user-123", BANK_DETAILS).id,
            )

    assert ids("wall") == ids("manual")


REFUSALS: list[tuple[Callable[[SandboxControls], object], type[Exception], str]] = [
    (lambda controls: controls.complete_kyc("nobody"), NotFound, "nobody not found"),
    (lambda controls: controls.decide("nothing"), NotFound, "nothing not found"),
    (lambda controls: controls.rate("XXX-nowhere"), NotFound, "not in the token list"),
    (
        lambda controls: controls.complete_kyc("user-123", status="perfect"),
        Refused,
        "status",
    ),
    (lambda controls: controls.complete_kyc(".."), InvalidInput, "client_user_id"),
    (
        lambda controls: controls.set_wallet("fUSDC-sepolia", balance="0.0000001"),
        Refused,
        "digits",
    ),
    (
        lambda controls: controls.set_rate("EUR", 1.1),  # type: ignore[arg-type]
        InvalidInput,
        "expected text",
    ),
    (lambda controls: controls.set_rate("EUR", True), InvalidInput, "expected text"),
    (
        lambda controls: controls.complete_kyc("user-123", status="\ud800"),
        InvalidInput,
        "cannot be written as JSON",
    ),
    (lambda controls: controls.rate(None), InvalidInput, "not a valid id"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSALS)
def test_what_a_control_cannot_do_is_refused(
    unchanged: SandboxClient,
    call: Callable[[SandboxControls], object],
    error: type[Exception],
    words: str,
) -> None:
    """Unknown payers, details, currencies and states; floats, which are not exact; what
    cannot be sent.
    """
    with pytest.raises(error, match=words):
        call(unchanged.sandbox)


def test_a_sandbox_elsewhere_can_be_controlled(client: SandboxClient) -> None:
    """A client of a sandbox elsewhere has no controls; SandboxControls makes them from
    it.
    """
    elsewhere = payerkit.connect(client.base_url, api_key=client.reveal_key())
    payerkit.client.SandboxControls(elsewhere).complete_kyc("user-123")

    assert (False, "approved") == (
        hasattr(elsewhere, "sandbox"),
        payerkit.get_payer_status(elsewhere, "user-123").kyc_status,
    )
    elsewhere.close()


COLUMNS = {
    "number": "int64",
    "what": "string",
    "client_user_id": "string",
    "id": "string",
    "fingerprint": "string",
}


def test_an_empty_ledger_has_its_columns() -> None:
    """The ledger of an unused sandbox has all columns and no rows."""
    with payerkit.sandbox() as empty:
        ledger = empty.sandbox.ledger()

    assert (COLUMNS, 0) == (
        {name: str(kind) for name, kind in ledger.dtypes.items()},
        len(ledger),
    )


def test_the_ledger_lists_the_stored_writes_in_order(client: SandboxClient) -> None:
    """The ledger has one row per write of the API and per execution, and none for
    refused calls, reads or controls.
    """
    detail = payerkit.create_payment_detail(client, "user-123", BANK_DETAILS)
    payerkit.update_agreement(client, "user-123")
    with pytest.raises(NotFound):
        payerkit.create_payment_detail(client, "nobody", BANK_DETAILS)
    with pytest.raises(NotFound):
        payerkit.update_agreement(client, "nobody")
    payerkit.list_payment_details(client, "user-123")
    client.sandbox.complete_agreement("user-123")
    payment = payerkit.initiate_payment(
        client, **ORDER, payment_currency="ETH-sepolia-sepolia"
    )
    request = payerkit.create_request(
        client, amount="9", invoice_currency="USD", payment_currency="fUSDC-sepolia"
    )
    client.sandbox.pay(payment)
    (paid,) = payerkit.list_payments(client, request_id=str(payment.request_id))[
        "payment_id"
    ]
    ledger = client.sandbox.ledger()

    assert (list(COLUMNS), [1, 2, 3, 4, 5, 6]) == (
        list(ledger.columns),
        list(ledger["number"]),
    )
    assert [
        "payer",
        "payment_detail",
        "agreement",
        "payment",
        "request",
        "execution",
    ] == list(ledger["what"])
    assert ["user-123"] * 3 == list(ledger["client_user_id"].dropna())
    assert [detail.id, payment.request_id, request.request_id, paid] == list(
        ledger["id"].dropna()
    )


def test_fingerprints_distinguish_accounts(client: SandboxClient) -> None:
    """Equal accounts have equal fingerprints, others differ, and so do equal payers of
    two sandboxes.
    """
    for number in ("1", "2", "1"):
        payerkit.create_payment_detail(
            client, "user-123", {**BANK_DETAILS, "accountNumber": number}
        )
    prints = list(client.sandbox.ledger()["fingerprint"])[1:]

    assert (prints[0], True) == (prints[2], prints[0] != prints[1])
    with payerkit.sandbox() as other:
        payerkit.create_payer(other, PAYER)
        assert (
            client.sandbox.ledger()["fingerprint"][0]
            != other.sandbox.ledger()["fingerprint"][0]
        )


@pytest.mark.slow
def test_a_long_ledger_is_read_completely(tmp_path: Path) -> None:
    """More rows than one response holds arrive, each exactly once."""
    file = tmp_path / "team.db"
    world = open_world(file)
    with world.begin(write=True) as session:
        for place in range(10_010):
            record(session, "payer", f"user-{place}", {"place": place})
    world.database.close()
    with payerkit.sandbox(db=file) as client:
        ledger = client.sandbox.ledger()

    assert [f"user-{place}" for place in range(10_010)] == list(
        ledger["client_user_id"]
    )
    assert (10_010, 10_010) == (
        ledger["number"].nunique(),
        ledger["fingerprint"].nunique(),
    )


def test_the_policy_agrees_to_the_fee_and_takes_the_rates(
    client: SandboxClient,
) -> None:
    """The policy has the sandbox's fee, and its rates as they are when they are
    needed.
    """
    policy = client.sandbox.policy()
    client.sandbox.set_rate("EUR", "1.25")

    assert [("0xFee5fEe5Fee5fEe5feE5fee5Fee5fee5fEe5feE5", Decimal("0.1"))] == [
        (fee.address, fee.max_percent) for fee in policy.fees
    ]
    assert Decimal(2000) == policy.rate("ETH-sepolia-sepolia", "EUR")


def test_a_policy_cannot_agree_to_any_fee_of_a_sandbox() -> None:
    """A sandbox may take more than a policy can agree to; then the payment is
    stopped.
    """
    with payerkit.sandbox(fee_percent=50) as client:
        assert [20] == [fee.max_percent for fee in client.sandbox.policy().fees]


def test_a_sandbox_without_a_fee_publishes_none() -> None:
    """Without a fee there is none to agree to; a closed sandbox, or a currency without
    a rate, has no rate.
    """
    with payerkit.sandbox(fee_percent=0) as client:
        policy = client.sandbox.policy()
        assert policy.rate("ETH-sepolia-sepolia", "XXX") is None

    assert ((), None) == (policy.fees, policy.rate("ETH-sepolia-sepolia", "USD"))
