"""Runs the service: in a thread of this process, or in the foreground."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from ipaddress import ip_address
from pathlib import Path

import uvicorn

from payerkit_sandbox.app import create_app
from payerkit_sandbox.database import open_database
from payerkit_sandbox.failures import SetupError
from payerkit_sandbox.settings import Settings, check_api_keys
from payerkit_sandbox.worlds import Worlds

_START_SECONDS = 30.0
_STOP_SECONDS = 5.0

KEEP_ALIVE = 20
"""Seconds that an idle connection is kept open: longer than the client reuses one, so
that no write meets a connection that closes.
"""


class Service:
    """One service on one port: `start()` runs it in a thread, `run()` in the
    foreground; `stop()` ends it.

    db: a path or an SQLAlchemy URL; None for a temporary file, deleted when the service
    stops. port: 0 for any free one. api_keys: by the names of their worlds; by default,
    the one in the database. Raises SetupError if the service cannot start.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        db: str | Path | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        api_keys: Mapping[str, str] | None = None,
    ) -> None:
        hosts = [host]
        if settings.public_url is not None:
            hosts.append(str(settings.public_url.host))
        is_shared = not all(_is_local(name) for name in hosts)
        if is_shared and settings.seed is not None:
            raise SetupError(
                "seed: with a seed, the links to payers' pages can be guessed; leave it"
                " out if other machines can reach the sandbox."
            )
        check_api_keys(api_keys or {}, is_shared=is_shared)
        self._thread: threading.Thread | None = None
        # Whatever fails, the stack closes what is open by then; without a failure it
        # lives as long as the service.
        with ExitStack() as resources:
            self._socket = resources.enter_context(_listen(host, port))
            if db is None:
                folder = tempfile.TemporaryDirectory(
                    prefix="payerkit-sandbox-", ignore_cleanup_errors=True
                )
                db = Path(resources.enter_context(folder)) / "sandbox.db"
            database = open_database(db)
            resources.callback(database.close)
            worlds = Worlds(database, settings, api_keys or {})
            self._resources = resources.pop_all()
        self.world_names = tuple(worlds.keys)
        self.api_key = worlds.keys[self.world_names[0]]
        self.url = f"http://{host}:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(
            create_app(worlds, host=host),
            http="h11",
            # A warning for each malformed request would let anybody fill the log.
            log_level="error",
            log_config=None,  # the application that runs this process configures it
            access_log=False,  # paths contain client user ids
            lifespan="off",
            ws="none",
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=2,
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Serve until a signal or `stop()`; calls that come before the server has
        started are served then.
        """
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._resources.close()

    def start(self) -> None:
        """Serve in a thread; return once the service accepts calls."""
        # A daemon: a notebook that never closes its sandbox must not keep the process
        # from ending.
        self._thread = threading.Thread(
            target=self.run, name="payerkit-sandbox", daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + _START_SECONDS
        # Polled and not signalled, since the thread may also end without ever being
        # ready.
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError("The sandbox did not start; see its log.")
            time.sleep(0.002)

    def stop(self) -> None:
        """Stop the server and close everything; a second call does nothing."""
        self._server.should_exit = True  # which it sees within a tenth of a second
        # A finalizer may call this in any thread, even in the server's own, which
        # cannot wait for itself.
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_STOP_SECONDS)
        self._resources.close()


def _is_local(host: str) -> bool:
    """Return True for a host that only this machine reaches."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address. Raises SetupError if that fails."""
    if not 0 <= port < 65536:
        raise SetupError("port: expected a number from 0 to 65535.")
    try:
        listening = socket.create_server((host, port), backlog=1024)
    except OSError as error:
        raise SetupError(
            f"port: cannot listen on {host}:{port} ({error.strerror})."
        ) from None
    # Nagle's algorithm would cost 40 ms a call on Linux.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
