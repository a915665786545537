"""Getting a client: of an address, of a sandbox, again and again in one cell."""

from __future__ import annotations

import gc
import os
import socket
import stat
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

import payerkit
from payerkit import InvalidInput
from payerkit.client import Timeout
from published import BANK_DETAILS, PAYER


def sandbox_threads() -> int:
    """Return how many sandboxes run."""
    return sum(thread.name == "payerkit-sandbox" for thread in threading.enumerate())


def test_address_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without arguments, the environment says where and with which key."""
    monkeypatch.setenv("PAYERKIT_BASE_URL", "https://api.example.com")
    monkeypatch.setenv("PAYERKIT_API_KEY", "key-of-the-environment")
    client = payerkit.connect()

    assert ("https://api.example.com", False) == (client.base_url, hasattr(client, "sandbox"))
    assert repr(client) == repr(payerkit.connect(api_key="key-of-the-environment"))


def test_connect_without_an_address_says_what_to_do() -> None:
    """No address is an error that shows how to give one."""
    with pytest.raises(InvalidInput, match="set PAYERKIT_BASE_URL"):
        payerkit.connect(api_key="key")


@pytest.mark.parametrize(("given", "total"), [(None, 60), (5, 5), (Timeout(total=7), 7)])
def test_timeout_is_a_number_or_a_timeout(given: Timeout | float | None, total: float) -> None:
    """A number is the time for a whole call."""
    assert total == payerkit.connect("https://api.example.com", api_key="key", timeout=given).timeout.total


@pytest.mark.parametrize(
    ("address", "environment"),
    [
        ("http://127.0.0.1:8765", "sandbox"),  # this machine
        ("https://api.stage.request.network", "staging"),
        ("https://api.request.network", "live"),
        ("https://api.example.com", "live"),  # unknown: it may move real money
    ],
)
def test_environment_comes_from_the_address(address: str, environment: str) -> None:
    """A client says whether its address is a sandbox, the staging service or a live one, and shows it."""
    client = payerkit.connect(address, api_key="key")

    assert environment == client.environment
    assert f"<Client of {address} ({environment}), key " in repr(client)


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
def test_sandbox_ends_quietly_while_a_body_is_still_coming(caplog: pytest.LogCaptureFixture) -> None:
    """A request that never comes whole does not hold up the end, and leaves no traceback."""
    client = payerkit.sandbox()
    with socket.create_connection((str(urlsplit(client.base_url).hostname), urlsplit(client.base_url).port)) as half:
        head = (
            f"POST /v1/pay HTTP/1.1\r\nHost: localhost\r\nx-api-key: {client._key.reveal()}\r\nContent-Length: 50\r\n"
        )
        half.sendall(f"{head}Content-Type: application/json\r\n\r\n{{".encode())
        half.settimeout(20)
        payerkit.create_payer(client, PAYER)  # by then, the half has arrived
        client.close()
        answer = half.recv(1000)

    assert (b"503", []) == (answer[9:12], [record for record in caplog.records if record.exc_info])


@pytest.mark.slow
def test_sandbox_ends_quietly_while_a_call_waits(caplog: pytest.LogCaptureFixture) -> None:
    """A call that is late by a plan of faults is answered when the sandbox ends, without a traceback."""
    client = payerkit.sandbox(faults="latency=60")
    headers, answers = {"x-api-key": client.reveal_key()}, list[requests.Response]()
    url = client.base_url + "/v2/payer/x"
    late = threading.Thread(target=lambda: answers.append(requests.get(url, headers=headers, timeout=20)))
    late.start()
    late.join(0.3)
    client.close()
    late.join(20)

    assert [503] == [answer.status_code for answer in answers]
    assert [] == [record for record in caplog.records if record.exc_info]


def test_sandboxes_run_side_by_side() -> None:
    """Two sandboxes know nothing of each other, and do not take each other's keys."""
    with payerkit.sandbox() as one, payerkit.sandbox() as other:
        payerkit.create_payer(one, PAYER)
        with pytest.raises(payerkit.errors.NotFound):
            payerkit.get_payer_status(other, "user-123")
        with pytest.raises(payerkit.errors.WrongKey):
            payerkit.get_payer_status(payerkit.connect(other.base_url, api_key="another"), "user-123")


def test_a_port_of_ones_choice_can_be_taken_again() -> None:
    """The same cell with a fixed port replaces its own sandbox; a port of somebody else is an error."""
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
    """Nobody else on the machine can read the database or its keys."""
    with payerkit.sandbox(db=tmp_path / "team.db") as client:
        payerkit.create_payer(client, PAYER)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}

    assert {"team.db", "team.db.key", "team.db.api-key"} <= set(modes)
    assert {0o600} == set(modes.values())


def test_a_seed_makes_everything_the_same_again() -> None:
    """With a seed, ids, links, references and keys depend on what is stored, and on nothing else."""

    def journey(seed: int | None) -> list[object]:
        with payerkit.sandbox(seed=seed) as client:
            payerkit.create_payer(client, PAYER | {"clientUserId": "somebody before"})
            status = payerkit.create_payer(client, PAYER)
            details = [payerkit.create_payment_detail(client, "user-123", BANK_DETAILS).id for _ in range(2)]
            order = {"payee": "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7", "amount": "1", "invoice_currency": "USD"}
            payments = [payerkit.initiate_payment(client, **order, payment_currency="FAU-sepolia") for _ in range(2)]
            page = str(status.kyc_url).rpartition("/")[2]
            return [status.user_id, page, *details, *(payment.payment_reference for payment in payments)]

    one, again, other, chance = journey(1), journey(1), journey(2), journey(None)

    assert one == again
    assert [] == [value for value in one if value in other or value in chance]
    assert len(set(one)) == len(one)


def test_a_sandbox_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of a live service, if the environment has one, does not open a throw-away sandbox."""
    monkeypatch.setenv("PAYERKIT_API_KEY", "the-key-of-a-live-service")
    with payerkit.sandbox() as client:
        assert client.reveal_key() != "the-key-of-a-live-service"


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
    with payerkit.sandbox(kyc_required=True) as client:
        assert client.pace.rate is None
        payerkit.create_payer(client, PAYER)
        with pytest.raises(payerkit.Refused, match="identity check is not approved"):
            payerkit.create_payment_detail(client, "user-123", BANK_DETAILS)
        client.sandbox.complete_kyc("user-123")
        payerkit.create_payment_detail(client, "user-123", BANK_DETAILS)
    with payerkit.sandbox(live_like=True) as client:
        assert 5 == client.pace.rate
        payerkit.create_payer(client, PAYER)
        with pytest.raises(payerkit.Refused, match="identity check is not approved"):
            payerkit.create_payment_detail(client, "user-123", BANK_DETAILS)
    with pytest.raises(payerkit.InvalidInput, match="kyc_requird: there is no such setting"):
        payerkit.sandbox(kyc_requird=True)
    with pytest.raises(InvalidInput, match="fee_percent"):
        payerkit.sandbox(fee_percent=200)


def test_public_url_is_where_the_pages_are() -> None:
    """Behind a proxy, links lead where a browser can follow them."""
    with payerkit.sandbox(public_url="https://sandbox.example.com/base/") as client:
        status = payerkit.create_payer(client, PAYER)

    assert str(status.kyc_url).startswith("https://sandbox.example.com/base/kyc/")
