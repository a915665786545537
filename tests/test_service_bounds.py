"""Bounds on callers: memory, connections, time, host names, limits; caches; a subpath
behind a proxy.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from http.client import HTTPResponse
from pathlib import Path

import pytest
import requests

import payerkit
from cases import table
from clocks import within
from payerkit.client import SandboxClient
from payerkit_sandbox import app as service_app
from payerkit_sandbox import server
from payerkit_sandbox.failures import HttpError
from payerkit_sandbox.settings import Settings
from payerkit_sandbox.worlds import CallLimits
from published import PAYER


@pytest.fixture(scope="module")
def client() -> Iterator[SandboxClient]:
    """Yield a sandbox for all tests that leave it as it is."""
    with payerkit.sandbox() as opened:
        yield opened


def connect(client: SandboxClient) -> socket.socket:
    """Return a connection to a sandbox."""
    opened = socket.create_connection(
        ("127.0.0.1", int(client.base_url.rpartition(":")[2])), timeout=20
    )
    opened.settimeout(20)
    return opened


def read_all(opened: socket.socket) -> bytes:
    """Return what arrives until the other side closes."""
    parts = []
    try:
        while part := opened.recv(65536):
            parts.append(part)
    except ConnectionResetError:  # it had not read everything that was sent
        pass
    return b"".join(parts)


def read_reply(opened: socket.socket) -> int:
    """Read one whole response; return its status."""
    response = HTTPResponse(opened)
    response.begin()
    response.read()
    return response.status


@pytest.mark.parametrize(
    "start",
    [
        b"GET / HTTP/1.1\r\nx: ",
        b"GET / HTTP/1.1\r\n",
        b"GET /",
        b"POST / HTTP/1.1\r\nhost: x\r\nx:",
    ],
)
def test_a_head_without_end_is_cut_off(client: SandboxClient, start: bytes) -> None:
    """Of a head that never ends, only some kilobytes are kept: then the connection
    ends.
    """
    sent = 0
    with closing(connect(client)) as opened:
        opened.sendall(start)
        try:
            while sent < 2**24:
                sent += opened.send(
                    b"x: %d\r\n" % sent * 1000 if start.endswith(b"\n") else b"x" * 8000
                )
        except OSError:
            pass

    assert sent < 2**23  # what waits in the buffers of both sockets was sent, too


@pytest.mark.parametrize("path", ["/kyc/x", "/v2/payer"])
def test_a_body_that_drips_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, client: SandboxClient, path: str
) -> None:
    """Each keeps a connection, and that of a form needs no key."""
    monkeypatch.setattr(service_app, "BODY_SECONDS", 0.3)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nx-api-key:"
        f" {client.reveal_key()}\r\n\r\nx"
    )
    with closing(connect(client)) as opened:
        opened.sendall(head.encode())
        reply = read_all(opened)

    assert (b"HTTP/1.1 408", 408) == (
        reply[:12],
        json.loads(reply.partition(b"\r\n\r\n")[2])["statusCode"],
    )


def test_an_idle_connection_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a time in which the client reuses it."""
    monkeypatch.setattr(server, "KEEP_ALIVE", 0.2)
    with payerkit.sandbox() as opened, closing(connect(opened)) as idle:
        idle.sendall(b"GET /kyc/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        status = read_reply(idle)
        rest = read_all(idle)

    assert (404, b"") == (status, rest)


def test_strangers_lock_nobody_out(client: SandboxClient) -> None:
    """A thousand connections that say nothing, and a hundred forms that drip, leave
    room for a key holder.
    """
    form = b"POST /kyc/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nx"
    with ExitStack() as stack:
        for _ in range(1000):
            stack.enter_context(closing(connect(client)))
        for _ in range(100):
            stack.enter_context(closing(connect(client))).sendall(form)
        with within(2):
            status = payerkit.create_payer(client, PAYER).kyc_status

    assert "not_started" == status


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/healthz", 200),  # who watches over the sandbox need not know a key
        ("/kyc/x", 404),
        ("/v2/payer/x", 401),
        ("/nowhere", 401),
    ],
)
def test_a_response_to_a_stranger_closes_the_connection(
    client: SandboxClient, path: str, status: int
) -> None:
    """A key holder's stays open. Every response says whose it is, so that none can be
    mistaken for one of the live service, and none is kept by a cache.
    """
    url = client.base_url + path
    stranger = requests.get(url, timeout=20)
    holder = requests.get(url, headers={"x-api-key": client.reveal_key()}, timeout=20)
    headers = stranger.raw.headers

    assert (status, "close") == (stranger.status_code, headers["Connection"])
    assert "Connection" not in holder.headers
    assert (["no-store"], 36) == (
        headers.getlist("cache-control"),
        len(headers["x-payerkit-sandbox"]),
    )


@pytest.mark.parametrize("path", ["/", "/healthz", "/kyc/x", "/v2/payer/x"])
def test_head_answers_where_get_does(client: SandboxClient, path: str) -> None:
    """With the same status and length, and without the body."""
    headers = {"x-api-key": client.reveal_key()}
    url = client.base_url + path
    head = requests.head(url, headers=headers, timeout=20)
    get = requests.get(url, headers=headers, timeout=20)

    assert (get.status_code, b"") == (head.status_code, head.content)
    assert get.headers["Content-Length"] == head.headers["Content-Length"]


@pytest.mark.slow
def test_two_hundred_clients_are_served(tmp_path: Path) -> None:
    """At once: each gets what it asked for, and nothing that is written is lost."""
    with payerkit.sandbox(db=tmp_path / "x.db", decide_after=0) as opened:
        headers = {"x-api-key": opened.reveal_key()}

        def register(place: int) -> tuple[int, int]:
            body = PAYER | {"clientUserId": f"user-{place}"}
            url = f"{opened.base_url}/v2/payer"
            posted = requests.post(url, json=body, headers=headers, timeout=30)
            read = requests.get(f"{url}/user-{place}", headers=headers, timeout=30)
            return posted.status_code, read.status_code

        with ThreadPoolExecutor(200) as pool:
            statuses = set(pool.map(register, range(200)))
        stored = opened.sandbox.ledger()["client_user_id"].nunique()

    assert ({(200, 200)}, 200) == (statuses, stored)


@pytest.mark.parametrize(
    "is_late", [False, True]
)  # with the head, or after the response
@pytest.mark.parametrize(
    "request_line", [b"GET /v2/payer/x", b"POST /v2/payer", b"GET /"]
)
def test_a_malformed_body_writes_no_traceback(
    client: SandboxClient,
    request_line: bytes,
    is_late: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Anybody could fill the log with them."""
    head = (
        request_line
        + b" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with closing(connect(client)) as opened:
        opened.sendall(head if is_late else head + b"zz\r\n")
        if is_late:
            opened.recv(20)
            opened.sendall(b"zz\r\n")
        read_all(opened)
    assert 200 == requests.get(f"{client.base_url}/", timeout=20).status_code

    assert [] == [
        record.getMessage() for record in caplog.records if record.levelname == "ERROR"
    ]


@table("service_hosts")
def test_other_host_names_are_refused(
    named: SandboxClient, headers: dict[str, str], is_served: bool
) -> None:
    """A web page elsewhere cannot read the sandbox, though its name leads to this
    machine.
    """
    response = requests.get(named.base_url, headers=headers, timeout=20)

    assert (200 if is_served else 400) == response.status_code


@pytest.fixture(scope="module")
def named() -> Iterator[SandboxClient]:
    """Yield a sandbox with a host name."""
    with payerkit.sandbox(public_url="https://team.example.com") as opened:
        yield opened


def test_a_sandbox_works_below_a_path() -> None:
    """Behind a proxy that removes the path, links, pages and forms work."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/pay/box"

    def forwarded(link: str) -> str:
        assert link.startswith(f"{url}/")
        return link.replace("/pay/box", "")

    with payerkit.sandbox(port=port, public_url=url) as direct:
        with payerkit.client.Client(
            forwarded(f"{url}/"), direct.reveal_key()
        ) as client:
            payer = payerkit.create_payer(client, PAYER)
        opened = requests.get(forwarded(str(payer.kyc_url)), timeout=20)
        signed = requests.post(
            forwarded(str(payer.agreement_url)), data={"consent": "yes"}, timeout=20
        )

    assert (200, 200) == (opened.status_code, signed.status_code)


def test_a_mistake_of_the_sandbox_gets_the_published_format_and_the_header(
    client: SandboxClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An internal error gets the published format and the header, without details."""

    def fail(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("payerkit_sandbox.payers.find_payer", fail)
    headers = {"x-api-key": client.reveal_key()}
    response = requests.get(
        f"{client.base_url}/v2/payer/x", headers=headers, timeout=20
    )

    assert (500, 500) == (response.status_code, response.json()["statusCode"])
    assert "x-payerkit-sandbox" in response.headers
    assert "secret" not in response.text


def test_a_body_is_bounded_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch, client: SandboxClient
) -> None:
    """Also in pieces, without a length."""
    monkeypatch.setattr(service_app, "MAX_BODY", 10)
    headers = {"x-api-key": client.reveal_key(), "Content-Type": "application/json"}
    response = requests.post(
        f"{client.base_url}/v2/payer",
        data=iter([b"x" * 6] * 2),
        headers=headers,
        timeout=20,
    )

    assert 413 == response.status_code


def test_a_body_that_breaks_off_stores_nothing(
    client: SandboxClient, caplog: pytest.LogCaptureFixture
) -> None:
    """Though all that arrived is a valid one."""
    body = json.dumps(PAYER | {"clientUserId": "broken-off"}).encode()
    head = (
        f"POST /v2/payer HTTP/1.1\r\nHost: localhost\r\nx-api-key:"
        f" {client.reveal_key()}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body) + 1}\r\n\r\n"
    )
    with closing(connect(client)) as opened:
        opened.sendall(head.encode() + body)
    payerkit.create_payer(client, PAYER)  # which waits for those before it
    with pytest.raises(payerkit.errors.NotFound):
        payerkit.get_payer_status(client, "broken-off")

    assert [] == [each for each in caplog.records if each.levelname == "ERROR"]


def test_no_limit_counts_the_controls() -> None:
    """A live service does not have them."""
    with payerkit.sandbox(live_like=True) as opened:
        headers = {"x-api-key": opened.reveal_key()}
        urls = [
            f"{opened.base_url}{path}"
            for path in ["/sandbox/clock"] * 20 + ["/v2/payer/x"]
        ]
        statuses = [
            requests.get(url, headers=headers, timeout=20).status_code for url in urls
        ]

    assert [*[200] * 20, 404] == statuses


def refused(moments: Iterable[float]) -> list[int]:
    """Return which calls at some moments are refused."""
    times = [1000.0 + moment for moment in moments]
    limits = CallLimits(Settings(live_like=True), clock=lambda: now)
    found = []
    for place, now in enumerate(times):  # noqa: B007 - the clock reads it
        try:
            limits.count()
        except HttpError as problem:
            found += (
                [place] if (problem.status, problem.headers) == (429, {}) else []
            )  # not how long to wait
    return found


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        ([0] * 5, []),  # five calls at once
        ([0] * 6, [5]),  # the sixth is one too many
        ([0] * 5 + [0.1, 0.2], [5]),  # a fifth of a second allows one more
        ([0] * 5 + [1] * 6, [10]),  # a second later, five more
        ([0] * 5 + [60] * 6, [10]),  # however long it is quiet
        ([place / 5 for place in range(100)], []),  # five a second can go on for good
        (
            [place / 8 for place in range(20)],
            [11, 14, 17, 19],
        ),  # of eight a second, three are refused
        (
            [*[0] * 60, 11],
            [*range(5, 60)],
        ),  # nobody is refused for longer than a moment
    ],
)
def test_the_live_limit_is_five_calls_a_second(
    moments: list[float], expected: list[int]
) -> None:
    """Calls beyond it are refused."""
    assert expected == refused(moments)
