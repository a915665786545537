"""Bounds on callers without a key: memory, connections, time, host names; caches; a subpath behind a proxy."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests

import payerkit
from payerkit.connection import SandboxClient
from payerkit.service import bounded_protocol, middleware, server
from payerkit.service.worlds import Worlds
from published import BANK_DETAILS, PAYER

HALF_OPEN = Path(__file__).with_name("half_open.py")


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


def test_a_head_that_drips_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a head counts from its start, not from its last byte; also after a first request."""
    monkeypatch.setattr(bounded_protocol, "HEAD_SECONDS", 0.3)
    with payerkit.sandbox() as opened, closing(connect(opened)) as silent, closing(connect(opened)) as dripping:
        dripping.sendall(b"GET /docs/x HTTP/1.1\r\nHost: localhost\r\n\r\nGET")
        replies = [read_all(silent), read_all(dripping)]

    assert [b"HTTP/1.1 408", b"HTTP/1.1 404"] == [reply[:12] for reply in replies]
    assert b"HTTP/1.1 408" in replies[1]


def test_a_body_that_drips_is_cut_off(monkeypatch: pytest.MonkeyPatch, client: SandboxClient) -> None:
    """So is a body, with a key or for a page without one, in the published format."""
    monkeypatch.setattr(middleware, "BODY_SECONDS", 0.3)
    with closing(connect(client)) as opened:
        opened.sendall(b"POST /kyc/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nx")
        reply = read_all(opened)

    assert (b"HTTP/1.1 408", 408) == (reply[:12], json.loads(reply.partition(b"\r\n\r\n")[2])["statusCode"])


def test_the_rest_of_an_unread_body_is_due_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused caller who holds back the rest of the body does not keep the connection."""
    monkeypatch.setattr(bounded_protocol, "HEAD_SECONDS", 0.3)
    with payerkit.sandbox() as opened, closing(connect(opened)) as refused:
        refused.sendall(b"POST /v2/payer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n")
        status = read_reply(refused)
        refused.sendall(b"x")
        rest = read_all(refused)

    assert (401, b"") == (status, rest)


def test_a_connection_is_idle_once_the_rest_has_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller whose body arrives after its refusal may take time for the next call, as any other."""
    monkeypatch.setattr(bounded_protocol, "HEAD_SECONDS", 0.3)
    with payerkit.sandbox() as opened, closing(connect(opened)) as late:
        late.sendall(b"POST /v2/payer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n")
        statuses = [read_reply(late)]
        late.sendall(b"xxxxx")
        time.sleep(0.5)  # longer than a head may take
        late.sendall(b"GET /docs/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        statuses.append(read_reply(late))

    assert [401, 404] == statuses


def test_a_connection_whose_rest_has_arrived_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is as idle as any other."""
    monkeypatch.setattr(server, "KEEP_ALIVE", 0.2)
    with payerkit.sandbox() as opened, closing(connect(opened)) as late:
        late.sendall(b"POST /v2/payer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n")
        status = read_reply(late)
        late.sendall(b"xxxxx")
        rest = read_all(late)

    assert (401, b"") == (status, rest)


REQUESTS = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200
"""Requests whose responses are larger than what the kernel keeps of them."""


@pytest.mark.slow
@pytest.mark.parametrize("end", [b"", b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"])
def test_a_response_that_is_never_read_is_given_up(monkeypatch: pytest.MonkeyPatch, end: bytes) -> None:
    """So is its connection, which would otherwise be there for good: it can be neither used nor closed."""
    monkeypatch.setattr(bounded_protocol, "SEND_SECONDS", 0.2)
    with payerkit.sandbox() as opened, closing(connect(opened)) as deaf:
        deaf.sendall(REQUESTS + end)
        time.sleep(1.5)
        replies = read_all(deaf)

    assert replies.count(b"HTTP/1.1 200") < 200


def test_a_response_that_is_read_slowly_is_sent_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is how much is read in a while, not how long the whole takes."""
    monkeypatch.setattr(bounded_protocol, "SEND_SECONDS", 0.2)
    received = bytearray()
    with payerkit.sandbox() as opened, closing(connect(opened)) as slow:
        slow.sendall(REQUESTS)
        while received.count(b"HTTP/1.1 200") < 150:
            time.sleep(0.01)
            received += slow.recv(2**19)

    assert received


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on descriptors")
def test_half_open_connections_do_not_stop_the_sandbox() -> None:
    """With 400 silent connections, a sandbox with 256 descriptors still responds, and logs nothing."""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen([sys.executable, HALF_OPEN], **pipes, text=True))
        port = int(process.stdout.readline()) if process.stdout else 0
        for _ in range(400):
            stack.enter_context(closing(socket.create_connection(("127.0.0.1", port), timeout=20)))
        status = requests.get(f"http://127.0.0.1:{port}/", timeout=20).status_code
        _, log = process.communicate("stop", timeout=20)

    assert (200, "") == (status, log)


def test_busy_connections_are_kept_and_further_ones_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every connection has a request in hand, one more gets a 503."""
    monkeypatch.setattr(bounded_protocol, "max_connections", lambda: 1)
    with payerkit.sandbox() as opened, closing(connect(opened)) as busy:
        busy.sendall(b"POST /kyc/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert b"HTTP/1.1 100" == busy.recv(65536)[:12]
        with closing(connect(opened)) as late:
            refused = read_all(late)
        busy.sendall(b"xx")
        reply = busy.recv(65536)

    assert (b"HTTP/1.1 503", b"HTTP/1.1 404") == (refused[:12], reply[:12])


def test_an_idle_connection_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers who have their response and stay connected keep nobody out."""
    monkeypatch.setattr(bounded_protocol, "max_connections", lambda: 1)
    with payerkit.sandbox() as opened, closing(connect(opened)) as idle:
        idle.sendall(b"GET /docs/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        statuses = [read_reply(idle), requests.get(f"{opened.base_url}/", timeout=20).status_code]
        rest = read_all(idle)

    assert ([404, 200], b"") == (statuses, rest)


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
        ("SANDBOX.example.com:80", 200),  # a trusted name
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
    """Yield a sandbox with two host names."""
    settings: dict[str, Any] = {"public_url": "https://team.example.com", "trusted_hosts": ["sandbox.example.com"]}
    with payerkit.sandbox(**settings) as opened:
        yield opened


def test_many_questions_after_its_health_take_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody may ask, also while the database is stuck."""
    released, asked = threading.Event(), []

    def ask(_: Worlds) -> None:
        asked.append(threading.current_thread())
        released.wait(20)

    monkeypatch.setattr(Worlds, "ping", ask)
    with payerkit.sandbox() as opened, ExitStack() as stack:
        callers = [stack.enter_context(closing(connect(opened))) for _ in range(30)]
        for caller in callers:
            caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        requests.get(f"{opened.base_url}/docs/x", timeout=20)  # all the others have arrived by then
        released.set()
        statuses = {read_reply(caller) for caller in callers}

    assert ({200}, 1) == (statuses, len(asked))


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
        with payerkit.Client(url, direct.reveal_key()) as client:
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
