"""Getting a client: of an address, of a sandbox, again and again in one cell."""

from __future__ import annotations

import gc
import os
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
import responses

import payerkit
from cases import table
from payerkit import InvalidInput
from payerkit.client import Client, Timeout
from published import ANSWERS, BANK_DETAILS, PAYER


def sandbox_threads() -> int:
    """Return how many sandboxes run."""
    return sum(thread.name == "payerkit-sandbox" for thread in threading.enumerate())


def test_address_and_key_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without arguments, the environment says where and with which key."""
    monkeypatch.setenv("PAYERKIT_BASE_URL", "https://api.example.com")
    monkeypatch.setenv("PAYERKIT_API_KEY", "key-of-the-environment")
    client = payerkit.connect()

    assert ("https://api.example.com", False) == (
        client.base_url,
        hasattr(client, "sandbox"),
    )
    assert repr(client) == repr(payerkit.connect(api_key="key-of-the-environment"))


def test_connect_without_an_address_says_what_to_do() -> None:
    """No address is an error that shows how to give one."""
    with pytest.raises(InvalidInput, match="set PAYERKIT_BASE_URL"):
        payerkit.connect(api_key="key")


@pytest.mark.parametrize(
    ("given", "total"), [(None, 60), (5, 5), (Timeout(total=7), 7)]
)
def test_timeout_is_a_number_or_a_timeout(
    given: Timeout | float | None, total: float
) -> None:
    """A number is the time for a whole call."""
    assert (
        total
        == payerkit.connect(
            "https://api.example.com", api_key="key", timeout=given
        ).timeout.total
    )


@pytest.mark.parametrize(
    ("address", "environment"),
    [
        ("http://127.0.0.1:8765", "sandbox"),  # this machine
        ("https://api.stage.request.network", "staging"),
        ("https://api.request.network", "live"),
        ("https://API.request.network:443/", "live"),
        ("https://api.example.com", "unknown service"),
    ],
)
def test_environment_comes_from_the_address(address: str, environment: str) -> None:
    """A client says whether its address is a sandbox, the staging service or a live
    one, and shows it.
    """
    client = payerkit.connect(address, api_key="key")

    assert environment == client.environment
    assert f"<Client of {address.rstrip('/')} ({environment}), key " in repr(client)


@table("hosts")
def test_a_host_that_looks_like_a_known_one_is_refused(
    base_url: str, meant: str | None
) -> None:
    """The message names the known host; any other host is an unknown service."""
    if meant is None:
        client = payerkit.connect(base_url, api_key="key")
        assert client.environment == "unknown service"
    else:
        for environment in (None, "live", "sandbox"):
            with pytest.raises(InvalidInput, match=f"Did you mean https://{meant}"):
                payerkit.connect(base_url, api_key="key", environment=environment)


@pytest.mark.parametrize(
    "call",
    [
        lambda client: payerkit.get_payer_status(client, "user-123"),
        lambda client: payerkit.list_payment_details(client, "user-123"),
        lambda client: payerkit.payer_statuses(client, ["user-123"]),
        lambda client: payerkit.wait_for(client, ["user-123"]),
        lambda client: payerkit.runs.verify_onboarding(client, [PAYER]),
        lambda client: payerkit.reconcile([], client=client),
        lambda client: payerkit.trace(client, "INV-1"),
        lambda client: payerkit.create_payer(client, PAYER),
        lambda client: payerkit.update_agreement(client, "user-123"),
        lambda client: payerkit.create_payment_detail(client, "user-123", BANK_DETAILS),
        lambda client: payerkit.onboard(client, [PAYER], journal="run.journal"),
    ],
)
def test_an_unknown_service_gets_nothing_until_it_is_confirmed(
    call: Callable[[Client], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the key nor data: the error comes before anything is sent, and says how
    to confirm.
    """
    monkeypatch.chdir(tmp_path)
    session = requests.Session()
    sent: list[object] = []
    monkeypatch.setattr(session, "send", lambda request, **_: sent.append(request))
    client = payerkit.connect("https://api.example.com", api_key="key", session=session)

    with pytest.raises(InvalidInput, match='environment="live"'):
        call(client)
    assert ([], []) == (sent, list(tmp_path.iterdir()))


@pytest.mark.parametrize("environment", ["live", "sandbox"])
def test_a_confirmed_service_gets_calls(environment: Any) -> None:
    """As the user says, with the bodies of calls."""
    with responses.RequestsMock() as service:
        service.post("https://api.example.com/v2/payer", json=ANSWERS["create_payer"])
        client = payerkit.connect(
            "https://api.example.com",
            api_key="key",
            environment=environment,
            session=requests.Session(),
        )
        payerkit.create_payer(client, PAYER)

        assert (environment, 1) == (client.environment, len(service.calls))


@pytest.mark.parametrize(
    ("base_url", "environment", "words"),
    [
        ("https://api.example.com", "staging", 'expected "live" or "sandbox"'),
        ("https://api.stage.request.network", "live", 'is "staging"'),
        ("http://127.0.0.1:9", "live", 'is "sandbox"'),
    ],
)
def test_an_environment_that_is_not_that_of_the_address_is_refused(
    base_url: str, environment: Any, words: str
) -> None:
    """Known hosts and this machine are what they are."""
    with pytest.raises(InvalidInput, match=words):
        payerkit.connect(base_url, api_key="key", environment=environment)


def test_a_command_confirms_beside_the_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """PAYERKIT_ENVIRONMENT confirms the address of PAYERKIT_BASE_URL, and no other."""
    monkeypatch.setenv("PAYERKIT_BASE_URL", "https://api.example.com")
    monkeypatch.setenv("PAYERKIT_ENVIRONMENT", "live")
    monkeypatch.setenv("PAYERKIT_API_KEY", "key")

    assert payerkit.connect().environment == "live"
    other = payerkit.connect("https://api.example.org")
    assert other.environment == "unknown service"


def test_a_profile_confirms_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `environment` in its table."""
    file = tmp_path / "profiles.toml"
    file.write_text(
        '[team]\nbase_url = "https://api.example.com"\nenvironment = "sandbox"\n'
    )
    monkeypatch.setenv("PAYERKIT_PROFILES", str(file))

    assert payerkit.connect("team", api_key="key").environment == "sandbox"


def test_sandbox_ends_with_its_block() -> None:
    """After the block there is no thread, no port and no file left."""
    before = sandbox_threads()
    with payerkit.sandbox() as client:
        assert before + 1 == sandbox_threads()

    assert before == sandbox_threads()
    with pytest.raises(InvalidInput, match="This client is closed"):
        payerkit.get_payer_status(client, "user-123")


def test_sandbox_ends_when_nobody_holds_it() -> None:
    """A name that is bound again leaves no sandbox behind."""
    before = sandbox_threads()
    client = payerkit.sandbox()
    client = payerkit.sandbox()
    gc.collect()
    assert before + 1 == sandbox_threads()

    client.close()
    client.close()  # a second time does nothing
    assert before == sandbox_threads()


@pytest.mark.slow
def test_sandbox_ends_quietly_while_a_body_is_still_coming(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A request that never comes whole does not hold up the end, and leaves no
    traceback.
    """
    client = payerkit.sandbox()
    with socket.create_connection(
        (str(urlsplit(client.base_url).hostname), urlsplit(client.base_url).port)
    ) as half:
        head = (
            "POST /v1/pay HTTP/1.1\r\nHost: localhost\r\nx-api-key:"
            f" {client._key.reveal()}\r\nContent-Length: 50\r\n"
        )
        half.sendall(f"{head}Content-Type: application/json\r\n\r\n{{".encode())
        half.settimeout(20)
        payerkit.create_payer(client, PAYER)  # by then, the half has arrived
        client.close()
        answer = half.recv(1000)

    assert (b"503", []) == (
        answer[9:12],
        [record for record in caplog.records if record.exc_info],
    )


@pytest.mark.slow
def test_sandbox_ends_quietly_while_a_call_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A call that is late by a plan of faults is answered when the sandbox ends,
    without a traceback; nobody is left with a reset or a plain 500.
    """
    client = payerkit.sandbox(faults="latency=60")
    headers, answers = {"x-api-key": client.reveal_key()}, list[requests.Response]()
    url = client.base_url + "/v2/payer/x"
    late = threading.Thread(
        target=lambda: answers.append(requests.get(url, headers=headers, timeout=20))
    )
    late.start()
    late.join(0.3)
    client.close()
    late.join(20)

    assert [(503, "The sandbox is shutting down")] == [
        (answer.status_code, answer.json()["message"]) for answer in answers
    ]
    assert [] == [record for record in caplog.records if record.exc_info]


def test_sandboxes_run_side_by_side() -> None:
    """Two sandboxes know nothing of each other, and do not take each other's keys."""
    with payerkit.sandbox() as one, payerkit.sandbox() as other:
        payerkit.create_payer(one, PAYER)
        with pytest.raises(payerkit.errors.NotFound):
            payerkit.get_payer_status(other, "user-123")
        with pytest.raises(payerkit.errors.WrongKey):
            payerkit.get_payer_status(
                payerkit.connect(other.base_url, api_key="another"), "user-123"
            )


def test_a_port_of_ones_choice_can_be_taken_again() -> None:
    """The same cell with a fixed port replaces its own sandbox; a port of somebody else
    is an error.
    """
    first = payerkit.sandbox()
    port = int(first.base_url.rpartition(":")[2])
    with pytest.raises(InvalidInput, match=r"cannot listen on 127\.0\.0\.1"):
        payerkit.sandbox(port=port)
    first.close()
    second = payerkit.sandbox(port=port)
    with payerkit.sandbox(port=port) as third:
        assert second.base_url == third.base_url
        payerkit.create_payer(third, PAYER)


@pytest.mark.skipif(os.name != "posix", reason="file modes are a matter of POSIX")
def test_files_are_their_owners_only(tmp_path: Path) -> None:
    """Nobody else on the machine can read the database, which has its key."""
    with payerkit.sandbox(db=tmp_path / "team.db") as client:
        payerkit.create_payer(client, PAYER)
        modes = {
            file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()
        }

    assert "team.db" in modes
    assert {0o600} == set(modes.values())


def test_a_seed_makes_everything_the_same_again() -> None:
    """With a seed, ids, links, references and keys depend on what is stored, and on
    nothing else.
    """

    def journey(seed: int | None) -> list[object]:
        with payerkit.sandbox(seed=seed) as client:
            payerkit.create_payer(client, PAYER | {"clientUserId": "somebody before"})
            status = payerkit.create_payer(client, PAYER)
            details = [
                payerkit.create_payment_detail(client, "user-123", BANK_DETAILS).id
                for _ in range(2)
            ]
            order = {
                "payee": "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
                "amount": "1",
                "invoice_currency": "USD",
            }
            payments = [
                payerkit.initiate_payment(
                    client, **order, payment_currency="FAU-sepolia"
                )
                for _ in range(2)
            ]
            page = str(status.kyc_url).rpartition("/")[2]
            return [
                status.user_id,
                page,
                *details,
                *(payment.payment_reference for payment in payments),
            ]

    one, again, other, chance = journey(1), journey(1), journey(2), journey(None)

    assert one == again
    assert [] == [value for value in one if value in other or value in chance]
    assert len(set(one)) == len(one)


@pytest.mark.parametrize("db", [None, "x.db"])
def test_a_sandbox_has_a_key_of_its_own(
    db: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key of a live service, or of a shared sandbox, if the environment has one,
    does not open it, not even one that keeps its data.
    """
    monkeypatch.chdir(tmp_path)
    for name in ("PAYERKIT_API_KEY", "PAYERKIT_SANDBOX_API_KEY"):
        monkeypatch.setenv(name, "a-key-of-the-environment")
    with payerkit.sandbox(db=db) as client:
        assert client.reveal_key() != "a-key-of-the-environment"


def test_a_failed_replacement_leaves_the_sandbox_alone() -> None:
    """A cell that is run again with a mistake does not stop what runs."""
    with payerkit.sandbox() as first:
        port = int(first.base_url.rpartition(":")[2])
    with payerkit.sandbox(port=port) as client:
        with pytest.raises(InvalidInput, match="fee_percent"):
            payerkit.sandbox(port=port, fee_percent="a lot")
        payerkit.create_payer(client, PAYER)


def test_options_reach_the_service() -> None:
    """What can be chosen is chosen by name; anything else is refused by name."""
    with payerkit.sandbox(live_like=True) as client:
        assert 5 == client.pace.rate
        payerkit.create_payer(client, PAYER)
        with pytest.raises(payerkit.Refused, match="identity check is not approved"):
            payerkit.create_payment_detail(client, "user-123", BANK_DETAILS)
    with pytest.raises(
        payerkit.InvalidInput, match="kyc_requird: there is no such setting"
    ):
        payerkit.sandbox(kyc_requird=True)
