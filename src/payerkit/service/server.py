"""Runs the service: in a thread of this process, or in the foreground."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from payerkit.service import keys
from payerkit.service.app import create_app
from payerkit.service.database import explained_start, open_database, sqlite_file
from payerkit.service.failures import SetupError
from payerkit.service.settings import Settings
from payerkit.service.world import Worlds

_START_SECONDS = 30.0
_STOP_SECONDS = 5.0

_QUEUE = 1024
"""Connections that may wait to be accepted."""

MAX_CONNECTIONS = 1000
"""How many connections are served at once; any more get a 503."""

KEEP_ALIVE = 75
"""Seconds that an idle connection is kept open: longer than the client reuses one."""

_MAX_HEAD = 2**16
"""The largest head of a request, in bytes."""

HEAD_SECONDS = 10.0
"""How long a head may take to arrive, on a new connection or once it has begun: it needs no API key."""


class _Protocol(H11Protocol):
    """uvicorn's HTTP/1.1, but that it bounds the time of a head, which each connection could else stay open without.

    What is no HTTP in the middle of a response ends the connection in silence.
    """

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(HEAD_SECONDS, transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        has_head = self.conn.their_state is not h11.IDLE
        if self._head_timer is None and not has_head:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)
        elif self._head_timer is not None and has_head:
            self._head_timer.cancel()
            self._head_timer = None

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; if a response has begun already, only close the connection."""
        if self.cycle is not None:
            self.cycle.disconnected = True  # what it responds from now on is dropped
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(msg)
        else:
            self.transport.close()


class Service:
    """One service on one port: `start()` runs it in a thread, `run()` in the foreground; `stop()` ends it.

    db: a path or an SQLAlchemy URL; None for a temporary file, deleted when the service stops. port: 0 for any free
    one. api_keys: by the names of their worlds; by default, those in the environment, or beside or in the database.
    environment: where the variables of the keys are looked up. Raises SetupError if the service cannot start.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        db: str | Path | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        api_keys: Mapping[str, str] | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        is_shared = not (_is_local(host) and _is_local(urlsplit(settings.public_url or "").hostname or host))
        if is_shared and settings.seed is not None:
            raise SetupError(
                "seed: with a seed, the links to payers' pages can be guessed; leave it out if other machines can "
                "reach the sandbox."
            )
        self._thread: threading.Thread | None = None
        file = None if db is None else sqlite_file(db)
        self.api_key_location = "" if file is None else f"in the file {keys.key_file(file, 'api-key')}"
        # Whatever fails, the stack closes what is open by then; without a failure it lives as long as the service.
        with ExitStack() as resources:
            self._socket = resources.enter_context(listen(host, port))
            if db is None:
                folder = tempfile.TemporaryDirectory(prefix="payerkit-sandbox-", ignore_cleanup_errors=True)
                db = file = Path(resources.enter_context(folder)) / "sandbox.db"
                environment = {  # so that no key is written to a file
                    keys.ENCRYPTION_KEY_VARIABLE: keys.new_encryption_key(),
                    keys.API_KEY_VARIABLE: environment.get(keys.API_KEY_VARIABLE) or keys.new_api_key(),
                }
            seal = keys.load_seal(file, environment)
            if api_keys is None:
                given = keys.load_api_keys(file, environment, is_shared=is_shared)
            else:
                given = keys.check_api_keys(api_keys, "api_keys", is_shared=is_shared)
            database = open_database(db, seal)
            resources.callback(database.close)
            with explained_start():
                worlds = Worlds(database, settings, given)
            self.api_key, self.world_names = next(iter(worlds.keys.values())), tuple(worlds.keys)
            app = create_app(worlds, settings, host=host if is_shared else "localhost")
            self._resources = resources.pop_all()
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self._socket.getsockname()[1]}"
        self._server = uvicorn.Server(uvicorn_config(app))

    def run(self) -> None:
        """Serve until a signal or `stop()`; calls that come before the server has started are served then."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._resources.close()

    def start(self) -> None:
        """Serve in a thread; return once the service accepts calls."""
        # A daemon: a notebook that never closes its sandbox must not keep the process from ending.
        self._thread = threading.Thread(target=self.run, name="payerkit-sandbox", daemon=True)
        self._thread.start()
        deadline = time.monotonic() + _START_SECONDS
        # Polled and not signalled, since the thread may also end without ever being ready.
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError("The sandbox did not start; see its log.")
            time.sleep(0.002)

    def stop(self) -> None:
        """Stop the server and close everything; a second call does nothing."""
        self._server.should_exit = True  # which it sees within a tenth of a second
        # A finalizer may call this in any thread, even in the server's own, which cannot wait for itself.
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_STOP_SECONDS)
        self._resources.close()


def uvicorn_config(app: ASGIApp) -> uvicorn.Config:
    """Return the settings of a server that bounds its connections and logs nothing about them."""
    return uvicorn.Config(
        app,
        http=_Protocol,
        backlog=_QUEUE,
        log_level="error",  # a warning for each malformed request would let anybody fill the log
        log_config=None,  # the application that runs this process configures logging
        access_log=False,  # paths contain client user ids
        lifespan="off",
        ws="none",
        limit_concurrency=MAX_CONNECTIONS,
        h11_max_incomplete_event_size=_MAX_HEAD,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=2,
    )


def _is_local(host: str) -> bool:
    """Return True for a host that only this machine reaches."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int, name: str = "port") -> socket.socket:
    """Return a socket that listens at an address. name: of the port in errors. Raises SetupError if that fails."""
    given: Any = port
    if not isinstance(given, int) or not 0 <= port < 65536:
        raise SetupError(f"{name}: expected a number from 0 to 65535.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named: for a socket of protocol 0 asyncio leaves Nagle's algorithm on: 40 ms a call on Linux.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # on Windows, this option would let two services share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_QUEUE)
    except OSError as error:
        listening.close()
        raise SetupError(f"{name}: cannot listen on {host}:{port} ({error.strerror}).") from None
    return listening
