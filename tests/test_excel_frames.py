"""Frames go to Excel and back, and into every function that takes a table; Excel has no
time zones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
from payerkit.client import SandboxClient
from published import BANK_DETAILS, PAYER
from test_service_payouts import USER, new_payment, on_board

PAYMENT = payerkit.samples["honest"]
PAYERS = pd.DataFrame([PAYER])
ACCOUNTS = pd.DataFrame([{"clientUserId": USER} | BANK_DETAILS])
FRAMES: dict[str, Callable[[SandboxClient], pd.DataFrame]] = {
    "payments": lambda client: payerkit.list_payments(
        client, payment_currency="USDC-sepolia"
    ),
    "requests": payerkit.list_requests,
    "statuses": lambda client: payerkit.payer_statuses(client, [USER], progress=False),
    "wait": lambda client: payerkit.wait_for(client, [USER], progress=False).frame,
    "events": lambda client: payerkit.read_events(client.sandbox.events()),
    "orders": lambda client: payerkit.reconcile(
        payerkit.list_requests(client), client=client
    ),
    "accounts": lambda client: payerkit.list_payment_details(client, USER),
    "ledger": lambda client: client.sandbox.ledger(),
    "transactions": lambda _: payerkit.decode_transactions(PAYMENT),
    "calldata": lambda _: payerkit.payments.decode_calldata(
        pd.Series([transaction.data for transaction in PAYMENT.transactions])
    ),
    "checked payments": lambda _: payerkit.check_payments([PAYMENT]),
    "findings": lambda _: payerkit.check_payment(PAYMENT).to_frame(),
    "samples": lambda _: payerkit.samples.to_frame(),
    "checked payers": lambda _: payerkit.check_payers(PAYERS),
    "checked accounts": lambda _: payerkit.check_all_bank_details(ACCOUNTS),
    "plan": lambda _: payerkit.plan_onboarding(PAYERS).frame,
    "findings of a plan": lambda _: payerkit.plan_onboarding(PAYERS).findings,
    "changes": lambda _: (
        payerkit.read_payers(
            PAYERS.replace({"US": "United States"}), normalise=True
        ).changes
    ),
    "verified": lambda client: payerkit.runs.verify_onboarding(client, ACCOUNTS),
    "proposed columns": lambda _: payerkit.tables.propose_mapping(PAYERS),
    "read payers": lambda _: payerkit.read_payers(PAYERS),
    "read accounts": lambda _: payerkit.read_bank_details(ACCOUNTS),
    "currencies": lambda _: payerkit.reference.currencies(),
    "rules": lambda _: payerkit.reference.rules(),
    "words": lambda _: payerkit.reference.statuses(),
    "cheat sheet": lambda _: payerkit.reference.cheat_sheet(),
}
TIMES = {
    "payments": ["timestamp_utc"],
    "requests": ["created_at_utc"],
    "statuses": ["since_utc", "checked_at_utc"],
    "wait": ["since_utc", "checked_at_utc"],
    "events": ["received_at_utc", "timestamp_utc"],
    "orders": ["paid_at_utc", "bank_status_at_utc"],
}


@pytest.fixture(scope="module")
def client() -> Iterator[SandboxClient]:
    """Give a sandbox with a payout that arrived."""
    with payerkit.sandbox(seed=1, decide_after=0) as client:
        on_board(client)
        client.sandbox.pay(new_payment(client))
        yield client


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_goes_to_excel_and_back(
    name: str, client: SandboxClient, tmp_path: Path
) -> None:
    """Times are the same, amounts are numbers, and texts are the texts."""
    frame = FRAMES[name](client)
    frame.to_excel(tmp_path / "frame.xlsx", index=False)
    # As texts, what is texts: pandas would make numbers of account numbers.
    texts = [
        name
        for name in map(str, frame)
        if all(isinstance(value, str) for value in frame[name].dropna())
    ]
    back = pd.read_excel(
        tmp_path / "frame.xlsx",
        dtype={str(name): "string" for name in texts},
        keep_default_na=False,
        na_values=[""],
    )

    times = [column for column in map(str, frame) if column.endswith("_utc")]
    assert TIMES.get(name, []) == times == list(frame.select_dtypes("datetime").columns)
    assert list(frame.columns) == list(back.columns)
    for column in frame:
        for before, after in zip(frame[column], back[column], strict=True):
            # Excel has no empty texts.
            is_blank = pd.isna(before) or before == ""
            assert is_blank == pd.isna(after)
            assert is_blank or _is_same(before, after)


def _is_same(before: object, after: object) -> bool:
    if isinstance(before, pd.Timestamp):
        # Excel keeps milliseconds.
        return abs(before - pd.Timestamp(str(after))) < pd.Timedelta(milliseconds=1)
    if isinstance(before, Decimal):
        return float(before) == after
    return before == after or str(before) == str(after)


@pytest.fixture(scope="module")
def frames(client: SandboxClient) -> dict[str, pd.DataFrame]:
    """Give each of the frames, made once."""
    return {name: make(client) for name, make in FRAMES.items()}


TABLES = {"read payers", "read accounts"}
TAKEN: dict[str, set[str]] = {
    "read_payers": TABLES,
    "read_bank_details": TABLES,
    "propose_mapping": {*FRAMES},
    "check_payers": TABLES,
    "check_all_bank_details": TABLES,
    "plan_onboarding": TABLES,
    "onboard": TABLES,
    "add_bank_details": {"read accounts"},
    "verify_onboarding": {"read accounts"},
    "reconcile orders": {"requests"},
    "reconcile payments": {"payments"},
    "reconcile events": {"events"},
    "payer_statuses": {"statuses", "wait", "read accounts"},
    "payer_statuses previous": {"statuses", "wait"},
    "wait_for": set(),
    "list_payment_details": {"events"},
    "check_payments": set(),
    "decode_calldata": set(),
    "read_events": set(),
}
"""The frames that are for each function that takes a table."""


def call(name: str, frame: Any, client: SandboxClient, journal: Path) -> None:
    """Call a function that takes a table with a frame."""
    match name:
        case "propose_mapping":
            payerkit.tables.propose_mapping(frame)
        case "onboard" | "add_bank_details":
            getattr(payerkit, name)(client, frame, journal=journal)
        case "verify_onboarding":
            payerkit.runs.verify_onboarding(client, frame)
        case "reconcile orders":
            payerkit.reconcile(frame, client=client)
        case "reconcile payments":
            payerkit.reconcile(payerkit.list_requests(client), frame, client=client)
        case "reconcile events":
            orders = payerkit.list_requests(client)
            payerkit.reconcile(orders, events=frame, client=client)
        case "payer_statuses":
            ids = frame.get("client_user_id", frame)
            payerkit.payer_statuses(client, ids, progress=False)
        case "payer_statuses previous":
            payerkit.payer_statuses(client, [USER], previous=frame, progress=False)
        case "wait_for":
            payerkit.wait_for(client, frame, timeout=0, progress=False)
        case "list_payment_details":
            payerkit.list_payment_details(client, USER, events=frame)
        case "decode_calldata":
            payerkit.payments.decode_calldata(frame)
        case _:
            getattr(payerkit, name)(frame)


@pytest.mark.parametrize("function", TAKEN)
def test_a_function_takes_what_another_returns(
    function: str,
    frames: dict[str, pd.DataFrame],
    client: SandboxClient,
    tmp_path: Path,
) -> None:
    """What is for it is taken as it is; anything else is taken or refused as invalid
    input, and nothing breaks.
    """
    refused = {}
    for name, frame in frames.items():
        try:
            call(function, frame, client, tmp_path / name)
        except payerkit.InvalidInput as error:
            refused[name] = str(error)

    assert TAKEN[function].isdisjoint(refused), refused
