"""Bounds on callers without a key: memory, connections, time, host names; caches; a subpath behind a proxy."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import requests

import payerkit
from payerkit.client import SandboxClient
from payerkit.service import app as service_app
from payerkit.service import server
from published import BANK_DETAILS, PAYER


@pytest.fixture(scope="module")
def client() -> Iterator[SandboxClient]:
    """Yield a sandbox for all tests that leave it as it is."""
    with payerkit.sandbox() as opened:
        yield opened


def connect(client: SandboxClient) -> socket.socket:
    """Return a connection to a sandbox."""
    opened = socket.create_connection(("127.0.0.1", int(client.base_url.rpartition(":")[2])), timeout=20)
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
    "start", [b"GET / HTTP/1.1\r\nx: ", b"GET / HTTP/1.1\r\n", b"GET /", b"POST / HTTP/1.1\r\nhost: x\r\nx:"]
)
def test_a_head_without_end_is_cut_off(client: SandboxClient, start: bytes) -> None:
    """Of a head that never ends, only some kilobytes are kept: then the connection ends."""
    sent = 0
    with closing(connect(client)) as opened:
        opened.sendall(start)
        try:
            while sent < 2**24:
                sent += opened.send(b"x: %d\r\n" % sent * 1000 if start.endswith(b"\n") else b"x" * 8000)
        except OSError:
            pass

    assert sent < 2**23  # what waits in the buffers of both sockets was sent, too


@pytest.mark.slow
def test_a_form_that_drips_is_cut_off(client: SandboxClient) -> None:
    """Anybody may send a form, and each keeps a connection: it has 5 s; the refusal is in the published format."""
    started = time.monotonic()
    with closing(connect(client)) as opened:
        opened.sendall(b"POST /kyc/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nx")
        reply = read_all(opened)

    assert (b"HTTP/1.1 408", 408) == (reply[:12], json.loads(reply.partition(b"\r\n\r\n")[2])["statusCode"])
    assert 4.5 < time.monotonic() - started < 9


def test_a_body_that_drips_is_cut_off(monkeypatch: pytest.MonkeyPatch, client: SandboxClient) -> None:
    """So is a body with a key, after more time."""
    monkeypatch.setattr(service_app, "BODY_SECONDS", 0.3)
    key = client.reveal_key().encode()
    head = b"POST /v2/payer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nx-api-key: " + key + b"\r\n\r\nx"
    with closing(connect(client)) as opened:
        opened.sendall(head)
        reply = read_all(opened)

    assert b"HTTP/1.1 408" == reply[:12]


@pytest.mark.slow
def test_slow_forms_lock_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they take all connections, callers are refused for no longer than a form may take."""
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 5)
    monkeypatch.setattr(service_app, "FORM_SECONDS", 8.0)
    with payerkit.sandbox() as opened, ExitStack() as stack:
        for _ in range(4):  # a fifth would be refused, and so might all that arrive with it
            slow = stack.enter_context(closing(connect(opened)))
            slow.sendall(b"POST /kyc/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nx")
        statuses = [requests.get(opened.base_url, timeout=20).status_code]
        read_all(slow)  # until it ends
        time.sleep(0.1)
        statuses.append(requests.get(opened.base_url, timeout=20).status_code)

    assert [503, 200] == statuses


def test_an_idle_connection_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a time in which the client reuses it."""
    monkeypatch.setattr(server, "KEEP_ALIVE", 0.2)
    with payerkit.sandbox() as opened, closing(connect(opened)) as idle:
        idle.sendall(b"GET /docs/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        status = read_reply(idle)
        rest = read_all(idle)

    assert (404, b"") == (status, rest)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (b"", b""),  # anybody can open connections
        (b"", b"GET / HT"),
        (b"GET /docs/x HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET / HT"),  # after a response
    ],
)
def test_a_head_that_never_comes_locks_nobody_out(monkeypatch: pytest.MonkeyPatch, first: bytes, then: bytes) -> None:
    """The connection ends after a while, also if a part of a head arrived, and makes room for others."""
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 3)
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.3)
    with payerkit.sandbox() as opened, ExitStack() as stack:
        for _ in range(2):
            slow = stack.enter_context(closing(connect(opened)))
            slow.sendall(first)
            if first:
                read_reply(slow)
            slow.sendall(then)
        rest = read_all(slow)
        time.sleep(0.1)
        status = requests.get(opened.base_url, timeout=20).status_code

    assert (b"", 200) == (rest, status)


@pytest.mark.parametrize("is_late", [False, True])  # with the head, or after the response
@pytest.mark.parametrize("request_line", [b"GET /v2/payer/x", b"POST /v2/payer", b"GET /openapi.json"])
def test_a_malformed_body_writes_no_traceback(
    client: SandboxClient, request_line: bytes, is_late: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Anybody could fill the log with them."""
    head = request_line + b" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with closing(connect(client)) as opened:
        opened.sendall(head if is_late else head + b"zz\r\n")
        if is_late:
            opened.recv(20)
            opened.sendall(b"zz\r\n")
        read_all(opened)
    assert 200 == requests.get(f"{client.base_url}/", timeout=20).status_code

    assert [] == [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:8765", 200),
        ("192.0.2.7:8765", 200),  # a number leads to one machine, whoever gives it
        ("team.example.com", 200),  # of public_url
        ("TEAM.example.com:80", 200),
        ("attacker.example.com", 421),
        ("localhost.attacker.example.com", 421),
        ("[", 421),
        ("attacker@localhost", 421),
        ("localhost/attacker", 421),
        ("localhost?attacker", 421),
        ("localhost:port", 421),
        ("localhost:-1", 421),
        ("[::1]attacker", 421),
    ],
)
def test_other_host_names_are_refused(named: SandboxClient, host: str, status: int) -> None:
    """A web page elsewhere cannot read the sandbox, though its name leads to this machine."""
    assert status == requests.get(named.base_url, headers={"Host": host}, timeout=20).status_code


@pytest.fixture(scope="module")
def named() -> Iterator[SandboxClient]:
    """Yield a sandbox with a host name."""
    with payerkit.sandbox(public_url="https://team.example.com") as opened:
        yield opened


@pytest.mark.parametrize("path", ["/", "/docs", "/kyc/x", "/v2/payer/x", "/nowhere", "/openapi.json"])
def test_nothing_is_kept_by_caches(client: SandboxClient, path: str) -> None:
    """Every response says so, whatever it is."""
    response = requests.get(client.base_url + path, timeout=20)

    assert ["no-store"] == response.raw.headers.getlist("cache-control")


@pytest.mark.parametrize("strips", [True, False])
def test_a_sandbox_works_below_a_path(strips: bool) -> None:
    """Behind a proxy that strips the path, or leaves it there, links, pages, forms and the documentation work."""
    with proxy("/pay/box", strips=strips) as (url, forward_to), payerkit.sandbox(public_url=url) as direct:
        forward_to(direct.base_url)
        with payerkit.client.Client(url, direct.reveal_key()) as client:
            payer = payerkit.create_payer(client, PAYER)
            links = str(payer.kyc_url), str(payer.agreement_url)
            payerkit.create_payment_detail(client, PAYER["clientUserId"], BANK_DETAILS)
            assert 1 == len(payerkit.list_payment_details(client, PAYER["clientUserId"]))
        assert (True, True) == (links[0].startswith(f"{url}/kyc/"), links[1].startswith(f"{url}/agreement/"))
        signed = requests.post(links[1], data={"consent": "yes"}, timeout=20)
        assert (200, True) == (signed.status_code, signed.url.startswith(f"{url}/agreement/"))
        document = requests.get(f"{url}/openapi.json", timeout=20).json()
        docs = requests.get(f"{url}/docs", timeout=20).text

    assert ([{"url": "/pay/box"}], True) == (document["servers"], "/pay/box/openapi.json" in docs)


class proxy:  # noqa: N801 - used as a function
    """A small reverse proxy: gives its URL below a path, and a function that says where it leads."""

    def __init__(self, path: str, *, strips: bool) -> None:
        target: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def forward(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                sent_path = self.path.removeprefix(path) if strips else self.path
                headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
                response = requests.request(
                    self.command, target[0] + sent_path, data=body, headers=headers, allow_redirects=False, timeout=20
                )
                self.send_response(response.status_code)
                for name, value in response.headers.items():
                    if name.lower() in {"content-type", "location"}:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(response.content)))
                self.end_headers()
                self.wfile.write(response.content)

            do_GET = do_POST = do_PATCH = forward  # noqa: N815 - the names of http.server

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._url = f"http://127.0.0.1:{self._server.server_port}{path}"
        self._target = target

    def __enter__(self) -> tuple[str, Any]:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self._url, self._target.append

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
