"""A far end on loopback that answers as a test tells it, and keeps a ledger of what it
was sent.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import selectors
import signal
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Behaviour = Callable[[socket.socket, Received], bool | None]
"""Acts on a request; True keeps the connection for the next one."""


@dataclass
class FarEnd:
    """Listens on a free port; the n-th request meets the n-th behaviour, later ones the
    last.

    is_http: False for a behaviour that reads by itself whatever comes. connections:
    over how many requests came. A port may be one that a browser of another test had,
    and looks for again.
    """

    behaviours: Sequence[Behaviour]
    tls: ssl.SSLContext | None = None
    is_http: bool = True
    ledger: list[Received] = field(default_factory=list)
    connections: int = 0

    def __enter__(self) -> Self:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.port = self._socket.getsockname()[1]
        self.url = f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"
        self._lock = threading.Lock()
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        # A socket that is only closed would leave a thread in `accept` or `recv`.
        for opened in (self._socket, *self._open):
            with contextlib.suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(timeout=5)
        for opened in (self._socket, *self._open):
            opened.close()

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                connection.settimeout(20)
                self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        # A socket that is closed at the end of the test is an OSError to read, and a
        # ValueError to select.
        self._open.append(connection)
        with contextlib.suppress(OSError, ValueError):
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
                self._open.append(connection)
            self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            if not self.is_http:
                self.behaviours[0](connection, Received("", "", {}, b""))
                return
            is_first = True
            while (request := read_request(connection)) is not None:
                with self._lock:
                    self.ledger.append(request)
                    self.connections += is_first
                    is_first = False
                    behaviour = self.behaviours[
                        min(len(self.ledger), len(self.behaviours)) - 1
                    ]
                if not behaviour(connection, request):
                    return


def read_request(connection: socket.socket) -> Received | None:
    """Return the next request of a connection, None at its end."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines)
    }
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(65536)
    method, target, _ = first.split(" ")
    return Received(method, target, headers, body)


def message(
    status: int,
    body: bytes,
    headers: dict[str, str] | None = None,
    *,
    length: int | None = None,
) -> bytes:
    """Return an answer as bytes; `length` may lie about the body."""
    told = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body) if length is None else length),
    }
    lines = [
        f"HTTP/1.1 {status} Some Words",
        *(f"{name}: {value}" for name, value in (told | (headers or {})).items()),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def reply(
    status: int, body: bytes | str = b"{}", headers: dict[str, str] | None = None
) -> Behaviour:
    """Answer, and keep the connection."""
    return kept(
        message(status, body.encode() if isinstance(body, str) else body, headers)
    )


def kept(data: bytes, *, after: float = 0) -> Behaviour:
    """Send these bytes after some seconds, and keep the connection."""

    def behave(connection: socket.socket, _: Received) -> bool:
        time.sleep(after)
        connection.sendall(data)
        return True

    return behave


def raw(data: bytes) -> Behaviour:
    """Send these bytes, then close."""
    return drip(data, 0, at_once=len(data))


def reset(connection: socket.socket, _: Received) -> None:
    """Break the connection off hard."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def close(_connection: socket.socket, _request: Received) -> None:
    """Close without a word."""


def hang(connection: socket.socket, _: Received) -> None:
    """Say nothing until the other side gives up."""
    with contextlib.suppress(OSError):
        connection.recv(1)


def interrupt(connection: socket.socket, request: Received) -> None:
    """Interrupt the main thread, as Ctrl+C does, and keep it waiting for an answer."""
    time.sleep(0.1)  # by then it waits: a signal before that would wake nobody
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    hang(connection, request)


def drip(data: bytes, seconds: float, *, at_once: int = 0) -> Behaviour:
    """Send so many bytes at once, the others one by one, so that no wait between two of
    them is long.
    """

    def behave(connection: socket.socket, _: Received) -> None:
        connection.sendall(data[:at_once])
        for place in range(at_once, len(data)):
            connection.sendall(data[place : place + 1])
            time.sleep(seconds)

    return behave


def cut(status: int, body: bytes) -> Behaviour:
    """Promise more than is sent, then close."""
    return raw(message(status, body, length=len(body) + 100))


def tunnel(port: int) -> Behaviour:
    """Be a proxy: open a tunnel to a port of this machine, whatever address was asked
    for, until either end closes.
    """

    def behave(connection: socket.socket, _: Received) -> None:
        with socket.create_connection(("127.0.0.1", port), 20) as other:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            join_sockets(connection, other)

    return behave


def socks(port: int) -> Behaviour:
    """Be a SOCKS5 proxy that connects to a port of this machine, whatever address is
    requested.
    """

    def serve(connection: socket.socket, _: Received) -> None:
        connection.recv(100)
        connection.sendall(b"\x05\x00")
        connection.recv(300)
        with socket.create_connection(("127.0.0.1", port), 20) as other:
            connection.sendall(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
            join_sockets(connection, other)

    return serve


def join_sockets(one: socket.socket, other: socket.socket) -> None:
    """Hand on what comes from either socket to the other, until either closes."""
    # In one thread: TLS is not to be read and written by two at once. Not with
    # select(), which takes descriptors below 1024 only: a process of many tests has
    # more.
    with selectors.DefaultSelector() as selector:
        selector.register(one, selectors.EVENT_READ, (one, other))
        selector.register(other, selectors.EVENT_READ, (other, one))
        while readable := selector.select(20):
            for key, _ in readable:
                ready, across = key.data
                piece = ready.recv(65536)
                while isinstance(ready, ssl.SSLSocket) and ready.pending():
                    piece += ready.recv(65536)
                if not piece:
                    return
                across.sendall(piece)


def make_certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """Return the file of a certificate that signs itself, for 127.0.0.1 and
    api.example.com, and a server's context.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "payerkit tests")])
    now = dt.datetime.now(dt.UTC)
    hosts = [
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        x509.DNSName("api.example.com"),
    ]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate_file, key_file = folder / "certificate.pem", folder / "key.pem"
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate_file, key_file)
    return certificate_file, context
