"""Responses however they arrive, over TLS, through proxies; and what a session of the
user's adds.
"""

from __future__ import annotations

import gzip
import re
import signal
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from itertools import pairwise
from pathlib import Path
from ssl import CERT_REQUIRED, SSLContext
from typing import Any

import pytest
import requests
import responses
from hypothesis import given
from hypothesis import strategies as st
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

import payerkit
from clocks import within
from conftest import KEY
from far_end import (
    FarEnd,
    Received,
    close,
    drip,
    kept,
    make_certificate,
    message,
    raw,
    reply,
    reset,
    socks,
    tunnel,
)
from payerkit import InvalidInput, PayerkitError, Refused, UnknownOutcome
from payerkit.client import Client, Timeout
from payerkit.client import transport as pool
from payerkit.client.call import Call, RequestBody
from payerkit.errors import InterruptedCall, NotSent, ServiceError, UnreadableAnswer
from payerkit_sandbox import server
from published import ANSWERS, PAYER

Connect = Callable[..., Client]
NewSession = Callable[..., requests.Session]
GOOD = reply(200, RequestBody(ANSWERS["create_payer"]).content)
BODY = RequestBody(ANSWERS["get_payer_status"]).content
PACKED = gzip.compress(BODY)
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKS = (
    b"Transfer-Encoding: chunked\r\n\r\n5\r\n%s\r\n%x;note=1\r\n%s\r\n0\r\nTrailer:"
    b" 1\r\n\r\n"
)
WHOLE = {
    "with a length": message(200, BODY),
    "in chunks": HEAD + CHUNKS % (BODY[:5], len(BODY) - 5, BODY[5:]),
    "after 100 Continue": (
        b"HTTP/1.1 100 Continue\r\nLength: 1\r\n\r\n" + message(200, BODY)
    ),
    "compressed": message(200, PACKED, {"Content-Encoding": "gzip"}),
    "compressed, in chunks": (
        HEAD
        + b"Content-Encoding: gzip\r\n"
        + CHUNKS % (PACKED[:5], len(PACKED) - 5, PACKED[5:])
    ),
    "compressed another way": message(
        200, zlib.compress(BODY), {"Content-Encoding": "deflate"}
    ),
    "that ends with the connection": HEAD + b"\r\n" + BODY,
    "of HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
    "with odd headers": (
        HEAD + b"X: \xff\r\nX:\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
    ),
    "with bare line feeds": (
        b"HTTP/1.1 200 OK\nContent-Length: %d\n\n" % len(BODY) + BODY
    ),
    "with trailers": (
        HEAD
        + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(BODY)
        + BODY
        + b"\r\n0\r\nContent-Encoding: gzip\r\n\r\n"
    ),
}


@pytest.fixture
def new_session() -> Iterator[NewSession]:
    """Make sessions with attributes that are set, which are closed after the test."""
    with ExitStack() as sessions:

        def new(**attributes: Any) -> requests.Session:
            session = sessions.enter_context(requests.Session())
            for name, value in attributes.items():
                setattr(session, name, value)
            return session

        yield new


@pytest.fixture
def trusted(
    certificate: tuple[Path, SSLContext], monkeypatch: pytest.MonkeyPatch
) -> SSLContext:
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


def resolve_to(
    monkeypatch: pytest.MonkeyPatch, addresses: list[tuple[str, int]]
) -> None:
    """Make the name localhost stand for these addresses; other names mean what they
    mean.
    """
    look_up = socket.getaddrinfo

    def answer(host: str, *arguments: Any) -> Any:
        found = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", address)
            for address in addresses
        ]
        return found if host == "localhost" else look_up(host, *arguments)

    monkeypatch.setattr(socket, "getaddrinfo", answer)


@pytest.mark.parametrize("whole", WHOLE.values(), ids=WHOLE)
def test_a_response_is_the_same_byte_by_byte(whole: bytes, connected: Connect) -> None:
    """One byte after the other gives what all at once gives."""
    with FarEnd([raw(whole), drip(whole, 0)]) as far:
        client = connected(far.url)

        assert [ANSWERS["get_payer_status"]] * 2 == [
            status(client).to_dict() for _ in range(2)
        ]


@pytest.mark.parametrize("with_session", [False, True])
@pytest.mark.parametrize("name", list(WHOLE)[:6])
def test_a_connection_is_kept_after_a_whole_response(
    name: str, with_session: bool, connected: Connect, new_session: NewSession
) -> None:
    """A response is read to its end, whatever its form, and its connection serves the
    next calls.
    """
    with FarEnd([kept(WHOLE[name])]) as far:
        client = connected(far.url, session=new_session() if with_session else None)

        assert [ANSWERS["get_payer_status"]] * 3 == [
            status(client).to_dict() for _ in range(3)
        ]
        assert (3, 1) == (len(far.ledger), far.connections)


@pytest.mark.parametrize("name", list(WHOLE)[:4])
def test_no_truncated_response_is_taken_for_complete(
    name: str, connected: Connect
) -> None:
    """Wherever a response with an end is cut, reading fails; what comes after the last
    chunk holds nothing.
    """
    whole = WHOLE[name].partition(b"\r\n0\r\n")[0]
    end = 0

    def cut(connection: socket.socket, _: Received) -> None:
        connection.sendall(whole[:end])

    with FarEnd([cut]) as far:
        client = connected(far.url, retries=payerkit.client.Retries(attempts=1))
        for end in range(0, len(whole), 3):  # noqa: B007 - the far end reads it
            assert failure(status, client).__class__ in {ServiceError, UnreadableAnswer}


@pytest.mark.parametrize(
    "response",
    [
        message(200, b" " * 10_001),
        HEAD + b"\r\n" + b" " * 200_000,
        message(200, gzip.compress(b" " * 10_001), {"Content-Encoding": "gzip"}),
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"2711\r\n" + b" " * 10_001,
        HEAD + b"X: 1\r\n" * 100_000,
        HEAD + b"X: " + b"1" * 500_000,
    ],
    ids=[
        "a length",
        "no length",
        "compressed",
        "a chunk",
        "headers",
        "a header",
    ],
)
def test_nothing_is_read_without_a_bound(response: bytes, connected: Connect) -> None:
    """There is a bound for headers, for the body, and for what it unpacks to; the far
    end need not stop sending.
    """

    def send_and_wait(connection: socket.socket, _: Received) -> None:
        connection.sendall(response)
        connection.recv(1)

    with within(5), FarEnd([send_and_wait]) as far:
        error = failure(
            create, connected(far.url, max_response=10_000, timeout=Timeout(total=10))
        )

    assert UnknownOutcome is type(error)


_written = {"response": b""}


@pytest.fixture(scope="module")
def echoing() -> Iterator[Client]:
    """Make a client of a far end that sends what the test wrote down, and closes."""

    def behave(connection: socket.socket, _: Received) -> None:
        connection.sendall(_written["response"])

    with (
        FarEnd([behave]) as far,
        Client(
            far.url, KEY, retries=payerkit.client.Retries(attempts=1), max_response=9000
        ) as client,
    ):
        yield client


@given(data=st.data())
def test_broken_bytes_end_as_an_error_or_a_response(
    echoing: Client, data: st.DataObject
) -> None:
    """Bytes changed, cut out and put in give a result or one of payerkit's errors, and
    nothing hangs.
    """
    whole = data.draw(st.sampled_from(list(WHOLE.values())))
    places = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    parts = [whole[one:two] for one, two in pairwise([0, *places, len(whole)])]
    noise = st.one_of(
        st.binary(max_size=6),
        st.sampled_from([b"\r\n", b"\r\n\r\n", b"0", b":", b"ffffffffffffffffff"]),
    )
    _written["response"] = b"".join(part + data.draw(noise) for part in parts)
    try:
        result = status(echoing)
    except PayerkitError as error:
        result = error

    assert isinstance(result, payerkit.models.PayerStatus | PayerkitError)


def test_the_deadline_ends_a_tls_handshake_that_drips(connected: Connect) -> None:
    """A server that sends its side of the handshake byte by byte is left at the
    deadline; nothing was sent.
    """

    def handshake(connection: socket.socket, _: Received) -> None:
        connection.recv(1000)
        for byte in b"\x16\x03\x03\x40\x00" + b"\x00" * 1000:
            connection.sendall(bytes([byte]))
            time.sleep(0.02)

    with within(3), FarEnd([handshake], is_http=False) as far:
        error = failure(
            create,
            connected(f"https://127.0.0.1:{far.port}", timeout=Timeout(total=0.3)),
        )

    assert NotSent is type(error)


@pytest.mark.parametrize("scheme", ["https", "HTTPS"])
def test_calls_go_over_tls(
    scheme: str, connected: Connect, trusted: SSLContext
) -> None:
    """With a certificate that the environment trusts, calls work over one connection,
    however `https` is written.
    """
    with FarEnd([GOOD], tls=trusted) as far:
        client = connected(far.url.replace("https", scheme))
        assert ["not_started"] * 3 == [create(client).kyc_status for _ in range(3)]
        assert (3, 1) == (len(far.ledger), far.connections)


def test_nobody_else_is_trusted(
    connected: Connect, certificate: tuple[Path, SSLContext]
) -> None:
    """A certificate that nobody vouches for gets neither key nor body, and the error
    says why.
    """
    with FarEnd([GOOD], tls=certificate[1]) as far:
        error = failure(create, connected(far.url))

        assert (NotSent, True, []) == (
            type(error),
            "CERTIFICATE_VERIFY_FAILED" in str(error),
            far.ledger,
        )


@pytest.mark.parametrize(
    ("call", "kind", "requests"),
    [(create, UnknownOutcome, 1), (status, ServiceError, 3)],
)
@pytest.mark.parametrize("fault", [reset, close], ids=["reset", "close"])
def test_faults_prove_the_same_over_tls(  # the columns of two tables
    connected: Connect,
    trusted: SSLContext,
    call: Callable[[Client], Any],
    kind: type,
    requests: int,
    fault: Any,
) -> None:
    """A write that has left over TLS may have happened, and is not sent again; a read
    is.
    """
    with FarEnd([fault], tls=trusted) as far:
        error = failure(call, connected(far.url))

        assert (kind, requests) == (type(error), len(far.ledger))


@pytest.mark.slow
def test_the_deadline_holds_over_tls(connected: Connect, trusted: SSLContext) -> None:
    """An answer that drips over TLS is ended at the deadline."""
    with within(10), FarEnd([drip(message(200, b" " * 500), 0.05)], tls=trusted) as far:
        error = failure(create, connected(far.url, timeout=Timeout(total=0.3)))

    assert UnknownOutcome is type(error)


@pytest.fixture
def swallowing() -> Iterator[tuple[str, int]]:
    """Give an address that drops what comes to it, as its queue is full."""
    with (
        socket.create_server(("127.0.0.2", 0), backlog=0) as full,
        ExitStack() as waiting,
    ):
        for _ in range(3):
            each = waiting.enter_context(socket.socket())
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        yield full.getsockname()


@pytest.mark.parametrize("is_swallowing", [True, False])
def test_the_second_address_is_tried(
    is_swallowing: bool,
    connected: Connect,
    swallowing: tuple[str, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name whose first address never answers, as with broken IPv6, or refuses, is
    reached at its second.
    """
    with FarEnd([GOOD]) as far:
        first = (
            swallowing if is_swallowing else ("127.0.0.2", 9)
        )  # at this one nobody listens
        resolve_to(monkeypatch, [first, ("127.0.0.1", far.port)])
        client = connected(f"http://localhost:{far.port}", timeout=Timeout(connect=0.3))

        assert (create(client).kyc_status, len(far.ledger)) == ("not_started", 1)


def test_an_unknown_name_is_told(
    connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that nobody knows sends nothing, and the error says what was wrong with
    it.
    """

    def unknown(*_: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    assert "Name or service not known" in str(
        failure(create, connected("https://nowhere.example.com"))
    )


@pytest.mark.parametrize("status_line", ["403 Forbidden", "407 Who are you"])
@pytest.mark.parametrize("with_session", [False, True])
def test_a_failing_proxy_proves_that_nothing_was_sent(
    connected: Connect,
    new_session: NewSession,
    monkeypatch: pytest.MonkeyPatch,
    with_session: bool,
    status_line: str,
) -> None:
    """A proxy that refuses the tunnel, be it of the environment or of a session, has
    seen nothing of the request.
    """
    session = new_session()
    with FarEnd([raw(f"HTTP/1.1 {status_line}\r\n\r\n".encode())]) as proxy:
        if with_session:
            session.proxies = {"https": proxy.url}
        else:
            monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        error = failure(
            create,
            connected(
                "https://api.example.com", session=session if with_session else None
            ),
        )

        assert (NotSent, {"CONNECT"}) == (
            type(error),
            {request.method for request in proxy.ledger},
        )
        assert [] == [
            request for request in proxy.ledger if "x-api-key" in request.headers
        ]


@pytest.mark.parametrize("secure", [False, True])
def test_calls_go_through_a_proxy(
    connected: Connect,
    trusted: SSLContext,
    monkeypatch: pytest.MonkeyPatch,
    secure: bool,
) -> None:
    """Through the tunnel of a proxy, over TLS or not, calls reach the service; the
    proxy sees neither key nor path.
    """
    with (
        FarEnd([GOOD], tls=trusted) as far,
        FarEnd([tunnel(far.port)], tls=trusted if secure else None) as proxy,
    ):
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        client = connected("https://api.example.com")
        assert ["not_started"] * 3 == [create(client).kyc_status for _ in range(3)]
        client.close()

        assert (3, 1, 1) == (len(far.ledger), far.connections, proxy.connections)
        asked = [
            (request.method, request.target, "x-api-key" in request.headers)
            for request in proxy.ledger
        ]
        assert [("CONNECT", "api.example.com:443", False)] == asked
        assert {"api.example.com"} == {
            request.headers["host"] for request in far.ledger
        }


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_certificates_that_cannot_be_read_are_told(
    text: str | None,
    connected: Connect,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file that the environment names, and that is missing or holds no certificates,
    is named with the variable.
    """
    file = tmp_path / "ca.pem"
    if text is not None:
        file.write_text(text)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(file))
    with pytest.raises(
        InvalidInput,
        match=re.escape(
            f"REQUESTS_CA_BUNDLE: no certificates can be read from {file}."
        ),
    ):
        connected("https://127.0.0.1:9")


@pytest.mark.parametrize(
    ("variables", "is_refused"),
    [
        (
            {"ALL_PROXY": "socks5://127.0.0.1:9"},
            True,
        ),  # over it, nobody could tell whether a request has left
        (
            {"ALL_PROXY": "socks5://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"},
            False,
        ),  # of another scheme
        ({"ALL_PROXY": "socks5://127.0.0.1:9", "NO_PROXY": "api.example.com"}, False),
    ],
)
def test_a_socks_proxy_that_would_be_used_is_refused(
    variables: dict[str, str], is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the proxy that would be used counts: one of another scheme, or a name that
    needs no proxy, does not.
    """
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInput, match="SOCKS") if is_refused else nullcontext():
        payerkit.connect("https://api.example.com", api_key=KEY)


def test_an_idle_connection_lives_longer_there_than_it_is_trusted_here() -> None:
    """The sandbox does not close a connection that the client still trusts with a
    write.
    """
    assert server.KEEP_ALIVE > pool.MAX_IDLE


def test_an_answer_before_the_end_of_the_request_counts(connected: Connect) -> None:
    """A service that refuses a body which is too large for it, and closes, has refused
    it.
    """

    def refuse(connection: socket.socket, _: Received) -> None:
        connection.recv(1000)
        connection.sendall(message(413, b'{"message": "too large"}'))
        time.sleep(0.3)

    with FarEnd([refuse], is_http=False) as far:
        client = connected(far.url)
        error = failure(
            lambda client: payerkit.create_payer(
                client, {**PAYER, "city": "x" * 20_000_000}
            ),
            client,
        )

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


def test_mocks_of_requests_see_the_calls() -> None:
    """`responses` intercepts payerkit's calls as any other call of requests, so users
    can test with it.
    """
    with responses.RequestsMock() as mock:
        mock.post("https://api.example.com/v2/payer", json=ANSWERS["create_payer"])
        client = payerkit.connect(
            "https://api.example.com", api_key=KEY, environment="live"
        )
        result = create(client)

        assert (result.kyc_status, mock.calls[0].request.headers["x-api-key"]) == (
            "not_started",
            KEY,
        )


def test_a_client_certificate_of_a_session_reaches_the_server(
    connected: Connect,
    new_session: NewSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that wants a certificate gets the session's; its trust counts, whatever
    the environment says.
    """
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere/ca.pem")
    file, context = make_certificate(tmp_path)
    context.load_verify_locations(file)
    context.verify_mode = CERT_REQUIRED
    session = new_session(
        verify=str(file), cert=(str(file), str(file.with_name("key.pem")))
    )
    without = new_session(verify=str(file))
    with FarEnd([GOOD], tls=context) as far:
        error = failure(create, connected(far.url, session=without))
        result = create(connected(far.url, session=session))

    assert (True, "not_started", 1) == (
        isinstance(error, PayerkitError),
        result.kyc_status,
        len(far.ledger),
    )


def test_authentication_of_a_session_signs_the_request_that_leaves(
    connected: Connect, new_session: NewSession
) -> None:
    """An authentication hook sees path, body and headers as they leave, also an id that
    requests would decode.
    """

    def sign(request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Signature"] = (
            f"{request.method} {request.path_url} {len(request.body or b'')}"
        )
        return request

    with FarEnd([reply(200, b"[]")]) as far:
        payerkit.list_payment_details(
            connected(far.url, session=new_session(auth=sign)), "%2E%2E/%41"
        )
        request = far.ledger[0]

    assert f"GET {request.target} 0" == request.headers["signature"]
    assert request.target == "/v1/payer/%252E%252E%2F%2541/payment-details"


def test_netrc_is_not_read(
    connected: Connect,
    new_session: NewSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A password for the host that lies in .netrc is not sent, with a session or
    without one.
    """
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login example password example")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with FarEnd([GOOD]) as far:
        for options in ({}, {"session": new_session()}):
            create(connected(far.url, **options))

        assert ["authorization" in request.headers for request in far.ledger] == [
            False,
            False,
        ]


@pytest.mark.parametrize("retries", [1, Retry(3), Retry(total=None, connect=2), None])
def test_a_session_that_retries_by_itself_is_refused(
    connected: Connect, new_session: NewSession, retries: Any
) -> None:
    """An adapter that would send a write again is refused, when the client is made and
    when it is mounted later.
    """
    session = new_session()
    with FarEnd([reset]) as far:
        client = connected(far.url, session=session)
        adapter = HTTPAdapter()
        adapter.max_retries = (
            retries  # as it is where somebody sets it after the adapter was made
        )
        session.mount("http://", adapter)

        with pytest.raises(InvalidInput, match="sent twice"):
            connected(far.url, session=session)
        with pytest.raises(InvalidInput, match="sent twice"):
            create(client)
        assert [] == far.ledger


@pytest.mark.parametrize("given_session", ["session", requests, object()])
def test_anything_but_a_session_is_refused(given_session: Any) -> None:
    """A session is a requests.Session."""
    with pytest.raises(InvalidInput, match=r"expected a requests\.Session"):
        payerkit.connect("https://api.example.com", api_key=KEY, session=given_session)


def quote(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Fail, and quote the key."""
    raise LookupError(request.headers)


def call_elsewhere(*_: object, **__: object) -> None:
    """Fail to connect, which does not mean that payerkit's request was not sent."""
    requests.get("http://127.0.0.1:9", timeout=1)


def interrupted(*_: object, **__: object) -> Any:
    """Be interrupted, as by Ctrl+C."""
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("authentication", "hook", "kind", "sent"),
    [
        (quote, None, NotSent, 0),
        (None, call_elsewhere, UnknownOutcome, 1),
        (None, interrupted, InterruptedCall, 1),
    ],
)
def test_code_of_a_session_that_fails_does_not_undo_what_was_sent(
    authentication: Any,
    hook: Any,
    kind: type,
    sent: int,
    connected: Connect,
    new_session: NewSession,
) -> None:
    """Authentication comes before the first byte, a hook after the response; whose
    interrupt is one of the write.
    """
    session = new_session(
        auth=authentication, hooks={"response": [hook] if hook else []}
    )
    with FarEnd([GOOD]) as far:
        error = failure(create, connected(far.url, session=session))

        assert (kind, sent, False) == (type(error), len(far.ledger), KEY in str(error))


def test_a_redirect_of_a_session_is_neither_followed_nor_read(
    connected: Connect, new_session: NewSession
) -> None:
    """A redirect whose body has no end is refused at once: a session would read it to
    prepare the next request.
    """

    def redirect(connection: socket.socket, _: Received) -> None:
        connection.sendall(
            b"HTTP/1.1 307 Moved\r\nLocation: https://elsewhere.example.com\r\n\r\n"
        )
        for _block in range(1000):
            connection.sendall(b" " * 2**16)

    with FarEnd([redirect]) as far:
        client = connected(far.url, session=new_session(), max_response=100_000)
        error = failure(create, client)

    assert (Refused, True) == (type(error), "elsewhere.example.com" in str(error))


def test_socks_works_through_a_session(
    connected: Connect, new_session: NewSession
) -> None:
    """Calls go through the SOCKS proxy of a session; one that refuses proves that
    nothing was sent.
    """
    broken = new_session(proxies={"http": "socks5h://127.0.0.1:9"})
    with FarEnd([GOOD]) as far, FarEnd([socks(far.port)], is_http=False) as proxy:
        session = new_session(proxies={"http": f"socks5h://127.0.0.1:{proxy.port}"})

        assert create(connected(far.url, session=session)).kyc_status == "not_started"
        assert NotSent is type(failure(create, connected(far.url, session=broken)))
        assert 1 == len(far.ledger)


def test_a_closed_client_leaves_the_session_open(
    connected: Connect, new_session: NewSession
) -> None:
    """The session is the user's: another client goes on with it."""
    session = new_session()
    with FarEnd([GOOD]) as far:
        connected(far.url, session=session).close()

        assert create(connected(far.url, session=session)).kyc_status == "not_started"


@pytest.mark.parametrize("way", [reset, close], ids=["reset", "close"])
def test_a_response_that_breaks_off_behind_a_proxy_proves_nothing(
    connected: Connect,
    new_session: NewSession,
    certificate: tuple[Path, SSLContext],
    way: Any,
) -> None:
    """urllib3 calls it an error of the proxy; the write has left all the same, and is
    not sent again.
    """
    with FarEnd([way], tls=certificate[1]) as far, FarEnd([tunnel(far.port)]) as proxy:
        session = new_session(verify=str(certificate[0]), proxies={"https": proxy.url})
        error = failure(create, connected("https://api.example.com", session=session))

        assert (UnknownOutcome, 1) == (type(error), len(far.ledger))


@pytest.mark.parametrize("with_session", [False, True])
def test_no_response_goes_to_another_call(
    connected: Connect, new_session: NewSession, with_session: bool
) -> None:
    """Early hints are no response, and what follows them is not the response to the
    next call.
    """

    def hint_first(connection: socket.socket, _: Received) -> bool:
        connection.sendall(
            b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + message(200, BODY)
        )
        return True

    with FarEnd([hint_first]) as far:
        session = new_session() if with_session else None
        client = connected(
            far.url, session=session, retries=payerkit.client.Retries(attempts=1)
        )
        assert [ServiceError] * 2 == [type(failure(status, client)) for _ in range(2)]
        assert (2, 2) == (len(far.ledger), far.connections)


@pytest.mark.skipif(
    not hasattr(signal, "pthread_kill"), reason="signals reach one thread on POSIX only"
)
def test_a_call_within_a_call_leaves_the_outer_one_its_deadline(
    connected: Connect,
) -> None:
    """A signal handler may call during a call; what was running ends at its own
    deadline, and knows that it left.
    """
    inner: list[str | None] = []

    def drip_after_a_signal(connection: socket.socket, request: Received) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        drip(message(200, b" " * 500), 0.02, at_once=100)(connection, request)

    with FarEnd([GOOD]) as other, FarEnd([drip_after_a_signal]) as far:
        another = connected(other.url)
        before = signal.signal(
            signal.SIGUSR1, lambda *_: inner.append(create(another).kyc_status)
        )
        try:
            with within(5):
                error = failure(create, connected(far.url, timeout=Timeout(total=0.5)))
        finally:
            signal.signal(signal.SIGUSR1, before)

    assert (["not_started"], UnknownOutcome) == (inner, type(error))


def test_parameters_of_a_session_are_sent(
    connected: Connect, new_session: NewSession
) -> None:
    """They come after payerkit's own, as requests writes them, and an id stays as it
    was encoded.
    """
    session = new_session(params={"tenant": "a b", "none": None, "tag": ["x", "y"]})
    with FarEnd([GOOD, reply(200, b"[]")]) as far:
        client = connected(far.url, session=session)
        create(client)
        payerkit.list_payment_details(client, "%2E%2E", payment_details_id="pd-1")

        assert far.ledger[0].target == "/v2/payer?tenant=a+b&tag=x&tag=y"
        assert far.ledger[1].target.startswith(
            "/v1/payer/%252E%252E/payment-details?paymentDetailsId=pd-1&tenant=a+b"
        )


def test_a_hook_that_raises_for_status_quotes_nothing(
    connected: Connect, new_session: NewSession
) -> None:
    """The commonest hook raises with the service's reason phrase and the URL: neither
    is in the error.
    """

    def echo(connection: socket.socket, request: Received) -> None:
        reason = f"{request.headers['x-api-key']} {request.body.decode()}"
        connection.sendall(
            f"HTTP/1.1 400 {reason}\r\nContent-Length: 0\r\n\r\n".encode()
        )

    session = new_session(
        hooks={"response": [lambda response, **_: response.raise_for_status()]}
    )
    with FarEnd([echo]) as far:
        error = failure(create, connected(far.url, session=session))

    assert UnknownOutcome is type(error)
    assert [] == [
        secret for secret in (KEY, PAYER["ssn"], PAYER["email"]) if secret in str(error)
    ]


def test_a_session_without_an_adapter_is_refused(
    connected: Connect, new_session: NewSession
) -> None:
    """A session that cannot send to the address is refused when the client is made."""
    session = new_session()
    session.adapters.clear()
    with pytest.raises(InvalidInput, match="no adapter"):
        connected("http://127.0.0.1:9", session=session)


def test_an_interrupt_while_a_response_is_parsed_is_an_unknown_outcome(
    connected: Connect,
) -> None:
    """A write that arrived, and whose response is interrupted while it is parsed, may
    have happened.
    """
    call = Call(
        operation="write",
        method="POST",
        route="/v2/payer",
        body=RequestBody({}),
        read=interrupted,
    )
    with FarEnd([GOOD]) as far, pytest.raises(InterruptedCall):
        connected(far.url).send(call)


def test_an_interrupt_before_an_unknown_write_is_repeated_says_so(
    connected: Connect,
) -> None:
    """An interrupt between two tries is an interrupt of the write: a loop that goes on
    after errors ends.
    """
    with FarEnd([reset]) as far:
        client = connected(far.url, sleep=interrupted)

        assert InterruptedCall is type(
            failure(lambda each: payerkit.update_agreement(each, "user-123"), client)
        )


def test_a_late_attempt_has_a_bounded_wait() -> None:
    """The doubling bound of the waits is no number that is too large, however often a
    call is tried.
    """
    retries = payerkit.client.Retries(attempts=5000)

    assert 0 <= retries.wait_after(ServiceError("failed"), 4000) <= 8


def cause_itself(*_: Any, **__: Any) -> requests.Response:
    """Raise an error's own cause, which makes a circle of causes."""
    one, other = ConnectionError("one"), OSError("other")
    one.__cause__, other.__cause__ = other, one
    raise one


def give_no_stream(request: requests.PreparedRequest, **_: Any) -> requests.Response:
    """Return a response that can be neither read nor closed."""
    response = requests.Response()
    response.status_code, response.request, response.url = (
        200,
        request,
        str(request.url),
    )
    return response


def quote_all(request: requests.PreparedRequest, **_: Any) -> requests.Response:
    """Put key and body into an error."""
    raise OSError(f"{request.headers} {request.body!r}")


@pytest.mark.parametrize("send", [cause_itself, give_no_stream, quote_all])
def test_an_adapter_of_the_users_that_fails_is_an_unknown_outcome(
    send: Any,
    connected: Connect,
    new_session: NewSession,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whatever it raises or returns, the call ends in payerkit's error; neither that
    nor the log quotes the request.
    """
    session, adapter = new_session(), HTTPAdapter()
    adapter.send = send  # type: ignore[method-assign]  # as a class of the user's would
    session.mount("http://", adapter)
    with caplog.at_level("DEBUG"):
        error = failure(create, connected("http://127.0.0.1:9", session=session))

    shown = f"{error} {caplog.text}"
    assert (UnknownOutcome, True) == (type(error), "POST /v2/payer ->" in caplog.text)
    assert [] == [
        secret for secret in (KEY, PAYER["ssn"], PAYER["email"]) if secret in shown
    ]
