"""The service, running: in a thread of this process, or in the foreground of its own."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from payerkit.service import encryption
from payerkit.service.app import create_app
from payerkit.service.database import open_database, sqlite_file
from payerkit.service.settings import Settings, SetupError
from payerkit.service.store import Store

_START_SECONDS = 30.0
_STOP_SECONDS = 5.0

KEEP_ALIVE = 75
"""Seconds that an idle connection is kept: longer than a careful client trusts one."""


class _Server(uvicorn.Server):
    """uvicorn's server, which says when it has started."""

    announce: Callable[[], object] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.announce is not None:
            self.announce()


class Service:
    """One service on one port: `start()` runs it in a thread, `run()` here, `stop()` ends it.

    db: a path or an SQLAlchemy address; None for a throw-away file that goes with the service. port 0: any free
    one. environment: where keys may be given. Raises SetupError for what cannot start.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        db: str | Path | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._thread: threading.Thread | None = None
        self.key_place = _key_place(db)
        with ExitStack() as opened:
            listening = opened.enter_context(_listen(host, port))
            if db is None:
                db, environment = _throw_away(opened, environment)
            file = sqlite_file(db)
            keeper = encryption.RecordCipher(encryption.encryption_key(file, environment))
            api_key = encryption.api_key(file, environment)
            engine = open_database(db)
            opened.callback(engine.dispose)
            store = Store(engine, keeper, settings)
            self.api_key = api_key or store.api_key(encryption.new_api_key())
            app = create_app(store, settings, self.api_key)
            self._opened = opened.pop_all()
        self._socket = listening
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        self._server = _Server(_config(app))

    def run(self, announce: Callable[[], object] | None = None) -> None:
        """Serve until a signal ends it; `announce` is called when calls are answered."""
        self._server.announce = announce
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._opened.close()

    def start(self) -> None:
        """Serve in a thread; return when calls are answered."""
        self._thread = threading.Thread(target=self.run, name="payerkit-sandbox", daemon=True)
        self._thread.start()
        until = time.monotonic() + _START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > until:
                self.stop()
                raise RuntimeError("The sandbox did not start; its log says why.")
            time.sleep(0.002)

    def stop(self) -> None:
        """End the thread and close everything; a second time does nothing."""
        self._server.should_exit = True
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_STOP_SECONDS)
        self._opened.close()


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_level="warning",
        log_config=None,  # logging belongs to whoever runs this process
        access_log=False,  # paths hold client user ids
        lifespan="off",
        ws="none",
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=2,
    )


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port < 65536:
        raise SetupError("port: give a number from 0 to 65535.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named TCP: for a socket of protocol 0 asyncio leaves Nagle's delay on, which costs 40 ms a call.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let two services share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise SetupError(f"port: cannot listen on {host}:{port} ({error.strerror}).") from None
    return listening


def _key_place(db: str | Path | None) -> str:
    """Return where the API key is kept; "" if it is nowhere but in the process."""
    file = None if db is None else sqlite_file(db)
    return "" if file is None else f"in the file {encryption.beside(file, 'api-key')}"


def _throw_away(opened: ExitStack, environment: Mapping[str, str]) -> tuple[Path, Mapping[str, str]]:
    """Return a file that goes when the service stops, and an environment that gives it keys of its own."""
    folder = Path(tempfile.mkdtemp(prefix="payerkit-sandbox-"))
    opened.callback(shutil.rmtree, folder, ignore_errors=True)
    key = environment.get(encryption.API_KEY) or encryption.new_api_key()
    return folder / "sandbox.db", {encryption.ENCRYPTION_KEY: encryption.new_encryption_key(), encryption.API_KEY: key}
