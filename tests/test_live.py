"""What a live service adds: TLS, names to be resolved, proxies, connections that others close."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from ssl import SSLContext
from typing import Any

import pytest

import payerkit
from far_end import FarEnd, Received, close, drip, message, raw, reply, reset, tunnel
from payerkit import InvalidInput, PayerkitError, Refused, UnknownOutcome
from payerkit.client import Client, Timeout
from payerkit.client import transport as pool
from payerkit.client.call import RequestBody
from payerkit.errors import NotSent, ServiceError
from payerkit.service import server
from published import ANSWERS, PAYER

Connect = Callable[..., Client]
GOOD = reply(200, RequestBody(ANSWERS["create_payer"]).content)


@pytest.fixture
def trusted(certificate: tuple[Path, SSLContext], monkeypatch: pytest.MonkeyPatch) -> SSLContext:
    """Make the environment trust the certificate of the tests."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate[0]))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return certificate[1]


def create(client: Client) -> Any:
    """Make a write."""
    return payerkit.create_payer(client, PAYER)


def status(client: Client) -> Any:
    """Make a read."""
    return payerkit.get_payer_status(client, "user-123")


def failure(call: Callable[[Client], Any], client: Client) -> PayerkitError:
    """Return the error that a call raises."""
    with pytest.raises(PayerkitError) as caught:
        call(client)
    return caught.value


def resolve_to(monkeypatch: pytest.MonkeyPatch, addresses: list[tuple[str, int]]) -> None:
    """Make the name localhost stand for these addresses; other names mean what they mean."""
    look_up = socket.getaddrinfo

    def answer(host: str, *arguments: Any) -> Any:
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in addresses]
        return found if host == "localhost" else look_up(host, *arguments)

    monkeypatch.setattr(socket, "getaddrinfo", answer)


def test_calls_go_over_tls(connected: Connect, trusted: SSLContext) -> None:
    """With a certificate that the environment trusts, calls work, one after the other over one connection."""
    with FarEnd([GOOD], tls=trusted) as far:
        client = connected(far.url)
        assert ["not_started"] * 3 == [create(client).kyc_status for _ in range(3)]
        assert (3, 1) == (len(far.ledger), far.connections)


def test_nobody_else_is_trusted(connected: Connect, certificate: tuple[Path, SSLContext]) -> None:
    """A certificate that nobody vouches for gets neither key nor body, and the error says why."""
    with FarEnd([GOOD], tls=certificate[1]) as far:
        error = failure(create, connected(far.url))

        assert (NotSent, True, []) == (type(error), "CERTIFICATE_VERIFY_FAILED" in str(error), far.ledger)


@pytest.mark.parametrize(("call", "kind", "requests"), [(create, UnknownOutcome, 1), (status, ServiceError, 3)])
@pytest.mark.parametrize("fault", [reset, close], ids=["reset", "close"])
def test_faults_prove_the_same_over_tls(  # the columns of two tables
    connected: Connect, trusted: SSLContext, call: Callable[[Client], Any], kind: type, requests: int, fault: Any
) -> None:
    """A write that has left over TLS may have happened, and is not sent again; a read is."""
    with FarEnd([fault], tls=trusted) as far:
        error = failure(call, connected(far.url))

        assert (kind, requests) == (type(error), len(far.ledger))


def test_the_deadline_holds_over_tls(connected: Connect, trusted: SSLContext) -> None:
    """An answer that drips over TLS is ended at the deadline."""
    started = time.monotonic()
    with FarEnd([drip(message(200, b" " * 500), 0.05)], tls=trusted) as far:
        error = failure(create, connected(far.url, timeout=Timeout(total=0.3)))

    assert (UnknownOutcome, True) == (type(error), time.monotonic() - started < 5)


def test_a_name_that_cannot_be_one_is_told_at_once(connected: Connect) -> None:
    """A part of more than 63 letters is no name; nobody waits for its address."""
    started = time.monotonic()
    error = failure(create, connected(f"https://{'x' * 64}.example.com"))

    assert (NotSent, True) == (type(error), time.monotonic() - started < 5)


def test_the_deadline_holds_over_many_dead_addresses(connected: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with ten addresses that do not answer takes as long as one."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(3)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(address)
        resolve_to(monkeypatch, [address] * 10)
        started = time.monotonic()
        error = failure(create, connected(f"http://localhost:{address[1]}", timeout=Timeout(connect=0.1, total=60)))
        for each in waiting:
            each.close()

    assert (NotSent, True) == (type(error), time.monotonic() - started < 3)


def test_the_second_address_is_tried(connected: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name whose first address is dead is reached at its second."""
    with FarEnd([GOOD]) as far:
        port = int(far.url.rpartition(":")[2])
        addresses = [("127.0.0.2", 9), ("127.0.0.1", port)]  # at the first one nobody listens
        resolve_to(monkeypatch, addresses)

        assert create(connected(f"http://localhost:{port}")).kyc_status == "not_started"


def test_an_unknown_name_is_told(connected: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that nobody knows sends nothing, and the error says what was wrong with it."""

    def unknown(*_: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    assert "Name or service not known" in str(failure(create, connected("https://nowhere.example.com")))


def test_a_failing_proxy_proves_that_nothing_was_sent(connected: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that refuses the tunnel has seen an address, and nothing of the request."""
    with FarEnd([raw(b"HTTP/1.1 403 Forbidden\r\n\r\n")]) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        error = failure(create, connected("https://api.example.com"))

        assert (NotSent, {"CONNECT"}) == (type(error), {request.method for request in proxy.ledger})
        assert [] == [request for request in proxy.ledger if "x-api-key" in request.headers]


def test_calls_go_through_a_proxy(connected: Connect, trusted: SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through a proxy's tunnel calls reach the service over TLS; the proxy sees its name, and neither key nor path."""
    with FarEnd([GOOD], tls=trusted) as far, FarEnd([tunnel(far.port)]) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        client = connected("https://api.example.com")
        assert ["not_started"] * 3 == [create(client).kyc_status for _ in range(3)]
        client.close()

        assert (3, 1, 1) == (len(far.ledger), far.connections, proxy.connections)
        asked = [(request.method, request.target, "x-api-key" in request.headers) for request in proxy.ledger]
        assert [("CONNECT", "api.example.com:443", False)] == asked
        assert {"api.example.com"} == {request.headers["host"] for request in far.ledger}


def test_calls_go_through_a_proxy_over_tls(
    connected: Connect, trusted: SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy may speak TLS, too, with a certificate that the environment trusts; its connection is kept, too."""
    with FarEnd([GOOD], tls=trusted) as far, FarEnd([tunnel(far.port)], tls=trusted) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        client = connected("https://api.example.com")
        assert ["not_started"] * 2 == [create(client).kyc_status for _ in range(2)]

        assert (2, 1, 1) == (len(far.ledger), far.connections, proxy.connections)


@pytest.mark.parametrize("secure", [False, True])
def test_the_deadline_holds_at_a_slow_proxy(
    connected: Connect, trusted: SSLContext, monkeypatch: pytest.MonkeyPatch, secure: bool
) -> None:
    """A proxy whose answer drips, over TLS or not, is left at the deadline; nothing was sent through it."""
    slow = drip(b"HTTP/1.1 200 Connection established\r\nX: " + b"x" * 500, 0.05)
    started = time.monotonic()
    with FarEnd([slow], tls=trusted if secure else None) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        error = failure(create, connected("https://api.example.com", timeout=Timeout(total=0.3)))

    assert (NotSent, True) == (type(error), time.monotonic() - started < 5)


def test_certificates_are_used_however_the_address_is_written(connected: Connect, trusted: SSLContext) -> None:
    """HTTPS in capitals is the same, with the same certificates."""
    with FarEnd([GOOD], tls=trusted) as far:
        assert create(connected(far.url.replace("https", "HTTPS"))).kyc_status == "not_started"


def test_missing_certificates_are_told(connected: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that the environment names and that is not there is named, with the variable."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere/ca.pem")
    with pytest.raises(InvalidInput, match=r"REQUESTS_CA_BUNDLE: there are no certificates at /nowhere/ca\.pem"):
        connected("https://127.0.0.1:9")


def test_a_socks_proxy_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy over which nobody could tell whether a request has left is not used."""
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    with pytest.raises(InvalidInput, match="SOCKS"):
        payerkit.connect("https://api.example.com", api_key="key")


def test_an_idle_connection_lives_longer_there_than_it_is_trusted_here() -> None:
    """The sandbox does not close a connection that the client still trusts with a write."""
    assert server.KEEP_ALIVE > 2 * pool.MAX_IDLE


def test_an_answer_before_the_end_of_the_request_counts(connected: Connect) -> None:
    """A service that refuses a body which is too large for it, and closes, has refused it."""
    with socket.create_server(("127.0.0.1", 0)) as server_:

        def refuse() -> None:
            there, _ = server_.accept()
            with there:
                there.recv(1000)
                there.sendall(message(413, b'{"message": "too large"}'))
                time.sleep(0.3)

        thread = threading.Thread(target=refuse, daemon=True)
        thread.start()
        client = connected(f"http://127.0.0.1:{server_.getsockname()[1]}")
        error = failure(lambda client: payerkit.create_payer(client, {**PAYER, "city": "x" * 20_000_000}), client)
        thread.join()

    assert (Refused, 413) == (type(error), error.status_code)


def test_nothing_is_kept_after_the_end(connected: Connect) -> None:
    """A connection whose call ends after its client was closed is closed."""
    client: list[Client] = []
    closed = threading.Event()

    def close_first(connection: socket.socket, _: Received) -> None:
        client[0].close()
        connection.sendall(message(200, RequestBody(ANSWERS["create_payer"]).content))
        if connection.recv(1) == b"":
            closed.set()

    with FarEnd([close_first]) as far:
        client.append(connected(far.url))
        create(client[0])

        assert closed.wait(5)
