"""Several keys of one sandbox: each opens a world that no other sees; and how keys are
given and checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import requests

import payerkit
from payerkit import InvalidInput
from payerkit.client import Client, SandboxControls
from payerkit_sandbox.failures import SetupError
from payerkit_sandbox.payers import save_payer
from payerkit_sandbox.server import Service
from payerkit_sandbox.settings import Settings, read_api_keys
from published import BANK_DETAILS, PAYER
from stores import API_KEY, open_world, open_worlds

ORDER = {
    "payee": "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
    "amount": "10",
    "invoice_currency": "USD",
}
KEYS = {"alice": "alice-has-a-key-of-her-own", "bob": "bob-has-a-key-of-his-own"}


@pytest.fixture
def two() -> Iterator[tuple[Client, Client]]:
    """Yield clients with two keys of one sandbox."""
    with (
        payerkit.sandbox(api_keys=KEYS, clock="manual") as alice,
        payerkit.connect(alice.base_url, api_key=KEYS["bob"]) as bob,
    ):
        yield alice, bob


def test_each_key_has_payers_and_accounts_of_its_own(
    two: tuple[Client, Client],
) -> None:
    """One client user id is two payers, with accounts and states that only one key
    sees.
    """
    alice, bob = two
    for client in two:
        payerkit.create_payer(client, PAYER)
    detail = payerkit.create_payment_detail(alice, "user-123", BANK_DETAILS)
    payerkit.update_agreement(alice, "user-123")
    counts = [len(payerkit.list_payment_details(client, "user-123")) for client in two]
    statuses = [
        payerkit.get_payer_status(client, "user-123").agreement_status for client in two
    ]
    with pytest.raises(payerkit.errors.NotFound):
        SandboxControls(bob).decide(str(detail.id), status="failed")

    assert ([1, 0], ["completed", "not_started"]) == (counts, statuses)
    assert [3, 1] == [len(SandboxControls(client).ledger()) for client in two]


def test_each_key_has_payments_and_events_of_its_own(
    two: tuple[Client, Client],
) -> None:
    """Requests, what was paid, the events and their secret belong to a world."""
    controls = [SandboxControls(client) for client in two]
    payment = payerkit.initiate_payment(
        two[0], **ORDER, payment_currency="fUSDC-sepolia"
    )
    controls[0].pay(payment)
    with pytest.raises(payerkit.errors.NotFound):
        payerkit.get_request(two[1], str(payment.request_id))

    assert [1, 0] == [
        len(payerkit.list_payments(client, request_id=str(payment.request_id)))
        for client in two
    ]
    assert [1, 0] == [len(each.events()) for each in controls]
    assert controls[0].reveal_events_secret() != controls[1].reveal_events_secret()


def test_each_key_has_rates_wallet_clock_and_faults_of_its_own(
    two: tuple[Client, Client],
) -> None:
    """What one key sets, another key does not meet."""
    alice, bob = (SandboxControls(client) for client in two)
    before = bob.now()
    alice.set_rate("EUR", "9")
    alice.set_wallet("fUSDC-sepolia", balance="0")
    alice.advance(minutes=5)
    alice.set_faults("fail_before=100%")

    assert (Decimal("1.10"), before) == (bob.rate("EUR"), bob.now())
    assert bob.wallet("fUSDC-sepolia")["balance"] > 0
    assert payerkit.initiate_payment(
        two[1], **ORDER, payment_currency="fUSDC-sepolia"
    ).request_id
    with pytest.raises(payerkit.PayerkitError):
        payerkit.create_payer(two[0], PAYER)


def test_limits_count_each_key_by_itself() -> None:
    """One key at its limit does not shut out the other."""
    with payerkit.sandbox(api_keys=KEYS, live_like=True) as alice:
        url = f"{alice.base_url}/v2/payer/x"
        calls = [
            requests.get(
                url, headers={"x-api-key": KEYS["alice"]}, timeout=20
            ).status_code
            for _ in range(30)
        ]
        other = requests.get(
            url, headers={"x-api-key": KEYS["bob"]}, timeout=20
        ).status_code

    assert ({404, 429}, 404) == ({*calls}, other)


def test_a_link_leads_to_the_payer_of_its_world(two: tuple[Client, Client]) -> None:
    """The links of one client user id in two worlds are different, and sign for one
    payer.
    """
    links = [payerkit.create_payer(client, PAYER).agreement_url or "" for client in two]
    requests.post(links[1], data={"consent": "yes"}, timeout=20)

    assert links[0] != links[1]
    assert ["not_started", "signed"] == [
        payerkit.get_payer_status(each, "user-123").agreement_status for each in two
    ]


def test_seeded_worlds_have_ids_of_their_own(tmp_path: Path) -> None:
    """Equal seeds and equal payers in two worlds get different ids: ids are unique in a
    database.
    """
    opened = open_worlds(tmp_path / "x.db", Settings(seed=1), "default", "other")
    worlds = [opened.by_key[f"{name} {API_KEY}"] for name in ("default", "other")]
    worlds.append(open_world(tmp_path / "y.db", Settings(seed=1)))
    ids = []
    for world in worlds:
        with world.begin(write=True) as session:
            ids.append(save_payer(session, PAYER).user_id)
    for world in worlds[1:]:
        world.database.close()

    assert (2, ids[0]) == (len(set(ids[:2])), ids[2])


def test_a_world_stays_when_its_key_is_replaced(tmp_path: Path) -> None:
    """A new key of the same name finds what was stored; the old key is refused."""
    with payerkit.sandbox(db=tmp_path / "x.db", api_keys=KEYS) as first:
        payerkit.create_payer(first, PAYER)
    with payerkit.sandbox(
        db=tmp_path / "x.db", api_keys={"alice": "a-new-key"}
    ) as second:
        status = payerkit.get_payer_status(second, "user-123").kyc_status
        refused = requests.get(
            f"{second.base_url}/v2/payer/user-123",
            headers={"x-api-key": KEYS["alice"]},
            timeout=20,
        )

    assert ("not_started", 401) == (status, refused.status_code)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("one-key", {"default": "one-key"}),
        ("alice:key-a,bob:key-b", {"alice": "key-a", "bob": "key-b"}),
        (" alice:key-a , key-b ", {"alice": "key-a", "default": "key-b"}),
    ],
)
def test_keys_are_read_from_a_variable(given: str, expected: Mapping[str, str]) -> None:
    """One key opens the default world; several have names."""
    assert expected == read_api_keys(given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("key-a,key-b", "two keys for the world default; give each a name"),
        ("a:key-a,a:key-b", "two keys for the world a"),
        ("a:same,b:same", "two worlds have the same key"),
        ("Alice:key", "small letters, digits and hyphens"),
        ("a:", "not a valid key"),
        (" ", "not a valid key"),
        ("two words", "not a valid key"),
        ("a:b:key", "small letters"),
        ("key-a,", "not a valid key|two keys"),
    ],
)
def test_unclear_keys_are_refused_without_being_shown(given: str, words: str) -> None:
    """The message says what is wrong, and repeats no key."""
    with pytest.raises(SetupError, match=words) as caught:
        Service(Settings(), api_keys=read_api_keys(given))

    assert "key-a" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "host", "key", "words"),
    [
        ({}, "0.0.0.0", "short", "the key of the world default is too short"),  # noqa: S104 - every machine may reach it
        (
            {"public_url": "https://box.example.com"},
            "127.0.0.1",
            "short",
            "too short",
        ),  # through a proxy
        (
            {"seed": 1},
            "0.0.0.0",  # noqa: S104 - every machine may reach it
            "long-enough-to-be-a-key",
            "seed: with a seed, the links",
        ),
        (
            {"seed": 1, "public_url": "https://box.example.com"},
            "127.0.0.1",
            "long-enough-to-be-a-key",
            "seed: ",
        ),
    ],
)
def test_a_sandbox_that_others_reach_cannot_be_guessed(
    settings: dict[str, Any], host: str, key: str, words: str
) -> None:
    """A short key is refused, and so is a seed, from which the links could be
    computed.
    """
    with pytest.raises(SetupError, match=words):
        Service(
            Settings(**settings),
            host=host,
            api_keys={"default": key},
        )


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_sandbox_for_this_machine_takes_any_key(host: str) -> None:
    """There, short keys and seeds are fine, also behind a proxy of this machine."""
    settings = Settings(seed=1, public_url="http://localhost:9000/box")
    service = Service(settings, host=host, api_keys={"default": "k"})
    service.stop()

    assert "k" == service.api_key


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"Alice's": "key-a"}, "small letters, digits and hyphens"),
        ({"alice": "key-a"}, "the key of the world alice is too short"),
    ],
)
def test_unclear_keys_are_refused_as_an_argument(keys: Any, words: str) -> None:
    """The message names the argument, and repeats no key."""
    with pytest.raises(InvalidInput, match=f"api_keys: .*{words}") as caught:
        payerkit.sandbox(api_keys=keys, public_url="https://box.example.com")

    assert "key-a" not in str(caught.value)
