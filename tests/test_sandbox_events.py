"""The events that a sandbox fires: what, when, how they are signed, and how they reach
a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest

import payerkit
from payerkit import InvalidInput
from payerkit.client import SandboxClient
from payerkit.money.deliveries import DELIVERY, SIGNATURE
from published import BANK_DETAILS, PAYER
from test_service_payouts import USER, new_payment, on_board


@pytest.fixture
def client() -> Iterator[SandboxClient]:
    """Give a sandbox whose clock stands still: each decision takes a minute."""
    with payerkit.sandbox(seed=1, clock="manual", decide_after=60) as client:
        yield client


def fired(client: SandboxClient) -> list[dict[str, Any]]:
    """Return the bodies of all events."""
    return [json.loads(each["body"]) for each in client.sandbox.events()]


def moment(event: dict[str, Any]) -> datetime:
    """Return the time of an event."""
    return datetime.fromisoformat(event["timestamp"])


def words(client: SandboxClient, *names: str) -> list[tuple[Any, ...]]:
    """Return some members of each event, by its name first."""
    return [
        (each["event"], *(each.get(name) for name in names)) for each in fired(client)
    ]


def test_a_payer_who_only_registered_fires_nothing(client: SandboxClient) -> None:
    """What the caller was told in a response is no event."""
    payerkit.create_payer(client, PAYER)
    payerkit.create_payment_detail(client, USER, BANK_DETAILS)

    assert [] == fired(client)


def test_an_identity_check_follows_the_clock(client: SandboxClient) -> None:
    """Pending when it is submitted, approved when its time has come; each once, at its
    own time.
    """
    payerkit.create_payer(client, PAYER)
    client.sandbox.submit_kyc(USER)
    client.sandbox.advance(minutes=2)
    payerkit.update_agreement(client, USER)
    found = fired(client)

    assert [("pending", False), ("approved", False), ("approved", True)] == [
        (each["kycStatus"], each["isCompliant"]) for each in found
    ]
    assert ["00:00", "01:00", "02:00"] == [
        each["timestamp"].removesuffix("Z")[-5:] for each in found
    ]
    assert {USER} == {each["clientUserId"] for each in found}
    assert found == fired(client)


def test_what_the_clock_decides_is_told_before_it_is_changed_by_hand(
    client: SandboxClient,
) -> None:
    """Nothing that was due is lost, although nobody asked for events."""
    payerkit.create_payer(client, PAYER)
    client.sandbox.submit_kyc(USER)
    payerkit.update_agreement(client, USER)
    client.sandbox.advance(minutes=5)
    for status in ("retry_required", "rejected"):
        client.sandbox.complete_kyc(USER, status=status)
    client.sandbox.complete_agreement(USER, status="failed")
    kyc = ("pending", "pending", "approved", "retry_required", "rejected", "rejected")
    agreement = ("not_started", *["completed"] * 4, "failed")

    assert [
        ("compliance.updated", *each) for each in zip(kyc, agreement, strict=True)
    ] == words(client, "kycStatus", "agreementStatus")


@pytest.mark.parametrize(
    ("bank", "status", "has_reason"),
    [("Chase", "approved", False), ("Example Bank failed", "failed", True)],
)
def test_an_account_is_told_when_it_is_decided(
    client: SandboxClient, bank: str, status: str, has_reason: bool
) -> None:
    """With the reason where it is refused, since no call tells it."""
    payerkit.create_payer(client, PAYER)
    detail = payerkit.create_payment_detail(
        client, USER, BANK_DETAILS | {"bankName": bank}
    )
    client.sandbox.advance(seconds=59)
    assert [] == fired(client)
    client.sandbox.advance(seconds=1)
    (told,) = fired(client)

    assert ("payment_detail.updated", detail.id) == (
        told["event"],
        told["paymentDetailsId"],
    )
    assert (status, has_reason) == (
        told["status"],
        told["rejectionMessage"] is not None,
    )


def paid(client: SandboxClient, bank: str = "Chase") -> str:
    """Pay a request out to an account at a bank; return the request's id."""
    on_board(client)
    if bank != "Chase":
        payerkit.create_payment_detail(client, USER, BANK_DETAILS | {"bankName": bank})
    client.sandbox.advance(minutes=1)
    client.sandbox.events()
    payment = new_payment(client, place=-1)
    client.sandbox.pay(payment)
    return str(payment.request_id)


PAYOUTS = {
    "Chase": ["pending_internal_assessment", "sending_fiat", "fiat_sent"],
    "Example Bank payout bounced": [
        "pending_internal_assessment",
        "sending_fiat",
        "bounced",
    ],
    " example bank PAYOUT failed ": ["pending_internal_assessment", "failed"],
}


@pytest.mark.parametrize("bank", PAYOUTS)
def test_a_payout_follows_the_clock(client: SandboxClient, bank: str) -> None:
    """Confirmed when it is paid, then a step at a time; a failure has its reason, and
    the money goes back.
    """
    request_id = paid(client, bank)
    before = len(fired(client))
    client.sandbox.advance(minutes=2)
    told = [each for each in fired(client) if each["event"].startswith("payment.")]
    steps = [each for each in told if "subStatus" in each]

    assert (
        fired(client)[before - 1]["event"] == "payment.processing"
    )  # the assessment begins at once
    assert ("payment.confirmed", "25.500000", True) == (
        told[0]["event"],
        told[0]["amount"],
        told[0]["isCryptoToFiat"],
    )
    assert PAYOUTS[bank] == [each["subStatus"] for each in steps]
    parts = [60 * place / (len(steps) - 1) for place in range(len(steps))]
    assert parts == [
        (moment(each) - moment(steps[0])).total_seconds() for each in steps
    ]
    assert ["payment.failed" if bank != "Chase" else "payment.processing"] == [
        steps[-1]["event"]
    ]
    assert ("failureReason" in steps[-1], bank.endswith("failed ")) == (
        bank != "Chase",
        told[-1]["event"] == "payment.refunded",
    )
    assert {request_id} == {each["requestId"] for each in told}


def test_each_state_set_by_hand_is_told(client: SandboxClient) -> None:
    """One after the other, with a reason; what would have come by itself no longer
    does.
    """
    request_id = paid(client)
    by_hand = ["ongoing_checks", "bounced", "fiat_sent", "failed", "fiat_sent"]
    for status in by_hand:
        client.sandbox.decide_payout(request_id, status=status)
    client.sandbox.advance(hours=1)
    client.sandbox.decide_payout(request_id, status="retry_required")
    told = [each for each in fired(client) if each.get("requestId") == request_id]

    assert ["pending_internal_assessment", *by_hand, "retry_required"] == [
        each["subStatus"] for each in told if "subStatus" in each
    ]
    assert 1 == sum(each["event"] == "payment.refunded" for each in told)
    reasons = [
        each["failureReason"] for each in told if each["event"] == "payment.failed"
    ]
    assert [
        "The bank returned the money.",
        "The payment was rejected.",
        "The payout has to be tried again.",
    ] == reasons


def test_what_waits_for_its_time_keeps_nothing_back(client: SandboxClient) -> None:
    """Payments that wait for their payouts, and those after them, are confirmed at
    once.
    """
    paid(client)
    for _ in range(4):
        client.sandbox.pay(new_payment(client))

    assert 5 == sum(each["event"] == "payment.confirmed" for each in fired(client))


def test_changes_at_the_same_moment_are_all_told(client: SandboxClient) -> None:
    """A clock that stands still, and a payer who is changed by several callers at
    once.
    """
    payerkit.create_payer(client, PAYER)
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(
                lambda done: payerkit.update_agreement(client, USER, completed=done),
                [True, False] * 10,
            )
        )
    told = [each["agreementStatus"] for each in fired(client)]

    assert (10, 10) == (told.count("completed"), told.count("not_started"))
    assert told[-1] == payerkit.get_payer_status(client, USER).agreement_status


def test_paying_less_is_partial(client: SandboxClient) -> None:
    """Two payments, the first of which is not enough, add up."""
    on_board(client)
    client.sandbox.advance(minutes=1)
    payment = new_payment(client)
    for _ in range(2):
        client.sandbox.pay(payment, amount="12.75")
    told = [
        each
        for each in fired(client)
        if each["event"] in {"payment.partial", "payment.confirmed"}
    ]

    assert [("payment.partial", "12.750000"), ("payment.confirmed", "25.500000")] == [
        (each["event"], each["totalAmountPaid"]) for each in told
    ]


def test_a_request_that_is_paid_in_part_asks_for_the_rest(
    client: SandboxClient,
) -> None:
    """The next transactions pay what is left, and are compared with that."""
    on_board(client)
    client.sandbox.advance(minutes=1)
    request = payerkit.create_request(
        client, amount="25.50", invoice_currency="USD", payment_currency="fUSDC-sepolia"
    )
    to = {
        "client_user_id": USER,
        "payment_details_id": payerkit.list_payment_details(client, USER)["id"][0],
    }
    whole = payerkit.request_payment(client, request, **to)
    client.sandbox.pay(whole, amount="12.75")
    rest = payerkit.request_payment(client, request, **to)
    found = payerkit.check_payment(rest, client=client, policy=client.sandbox.policy())

    assert (True, "ok") == (
        f"{12_750_000:064x}" in str(rest.transactions[1].data),
        found.verdict,
    )


def test_events_are_signed_as_published(client: SandboxClient) -> None:
    """With the secret that the control tells; a changed body is not."""
    paid(client)
    secret = client.sandbox.reveal_events_secret()
    lines = client.sandbox.events()

    assert ["valid"] * len(lines) == payerkit.read_events(lines, secret=secret)[
        "signature"
    ].to_list()
    body, signature = lines[-1]["body"].encode(), lines[-1]["headers"][SIGNATURE]
    assert (
        payerkit.money.verify_event(body, signature, secret).kind
        == "payment.processing"
    )
    with pytest.raises(InvalidInput):
        payerkit.money.verify_event(body + b" ", signature, secret)


def test_with_a_seed_everything_is_the_same(client: SandboxClient) -> None:
    """Delivery ids, too; each delivery has an id of its own."""
    with payerkit.sandbox(seed=1, clock="manual") as again:
        for one in (client, again):
            payerkit.create_payer(one, PAYER)
            payerkit.update_agreement(one, USER)
            one.sandbox.complete_kyc(USER)
        ids, others = (
            [each["headers"][DELIVERY] for each in one.sandbox.events()]
            for one in (client, again)
        )

    assert ids == others
    assert [36, 36] == [len(each) for each in ids]
    assert 2 == len(set(ids))
