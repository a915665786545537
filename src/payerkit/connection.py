"""Getting a client: of a real service, or of the embedded one. Notebooks differ in this one line."""

from __future__ import annotations

import getpass
import hashlib
import os
import sys
import weakref
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from payerkit.client import Client, Timeout
from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.sandbox_controls import SandboxControls

if TYPE_CHECKING:
    from payerkit.service.server import Service
    from payerkit.service.settings import Settings

BASE_URL = "PAYERKIT_BASE_URL"
API_KEY = "PAYERKIT_API_KEY"


@without_internal_frames
def connect(
    base_url: str | None = None,
    *,
    api_key: str | None = None,
    timeout: Timeout | float | None = None,
    pool_size: int = 10,
) -> Client:
    """Return a client of a real service. Nothing is sent yet.

    Address and key come from the arguments, else from PAYERKIT_BASE_URL and PAYERKIT_API_KEY; in a notebook a key
    that is not there is asked for, without showing what is typed. timeout: seconds for a whole call, or a
    `Timeout`. Raises InvalidInput for an address or a key that cannot be used.
    """
    address = base_url or os.environ.get(BASE_URL)
    if not address:
        raise InvalidInput(f'base_url: give it, such as connect("https://api.example.com"), or set {BASE_URL}.')
    key = api_key or os.environ.get(API_KEY) or _asked_key(address)
    return Client(address, key, timeout=timeout, pool_size=pool_size)


def _asked_key(address: str) -> str:
    """Ask a person in a notebook for the key; elsewhere nobody may be there to answer."""
    if "ipykernel" not in sys.modules:
        raise InvalidInput(f"api_key: give the key, or better, set {API_KEY}: it then stands in no file.")
    return getpass.getpass(f"API key for {address}: ")


class SandboxClient(Client):
    """A client of the embedded service, which ends with it: at `close()`, with a `with` block, or with Python."""

    def __init__(self, service: Service, *, seed: int | str | None) -> None:
        super().__init__(service.url, service.api_key)
        self._seed = seed
        self._stop = weakref.finalize(self, service.stop)

    @property
    def sandbox(self) -> SandboxControls:
        """The sandbox's own calls: rates, the demo wallet, states set by hand, faults, the ledger."""
        return SandboxControls(self)

    @property
    def account_secret(self) -> bytes:
        """As on a live client, but of a seeded sandbox the same each time."""
        if self._seed is None:
            return super().account_secret
        return hashlib.sha256(f"payerkit accounts {self._seed}".encode()).digest()

    def close(self) -> None:
        """Close the connections and stop the service."""
        super().close()
        self._stop()

    def __repr__(self) -> str:
        return f"<Client of the sandbox at {self.base_url}>"


@without_internal_frames
def sandbox(  # noqa: PLR0913 - what can be chosen, each by name
    *,
    seed: int | str | None = None,
    db: str | Path | None = None,
    port: int = 0,
    public_url: str | None = None,
    decide_after: float = 0.0,
    kyc_required: bool = False,
    rate_limit: int = 0,
    fee_percent: str | int | Decimal = 0,
    fee_address: str | None = None,
    faults: str = "",
) -> SandboxClient:
    """Start the embedded service in this process and return a client of it.

    seed: makes ids and references the same each time, for notebooks and tests. db: a path, or an SQLAlchemy address,
    whose data is there again next time; left out, the data goes with the service. port: 0 for any free one; a sandbox
    that this process runs there already is replaced. public_url: the address at which a browser reaches the pages,
    where it is not this machine's. decide_after: seconds until bank details and identity checks are decided.
    kyc_required: take bank details only after an approved identity check. rate_limit: calls a minute, 0 for any
    number. fee_percent, fee_address: a fee on top of payments, and who gets it. faults: what calls meet, for
    rehearsal, such as `"latency=0.02, reset_after=5%"`; the README lists them.

    The service ends with the client: `with sandbox() as client:`, `client.close()`, or when Python does. Raises
    InvalidInput for what cannot start, ImportError without the extra `payerkit[sandbox]`.
    """
    settings = make_settings(
        seed=seed,
        public_url=public_url,
        decide_after=decide_after,
        kyc_required=kyc_required,
        rate_limit=rate_limit,
        fee_percent=fee_percent,
        fee_address=fee_address,
        faults=faults,
    )
    return _started(settings, db=db, port=port)


_running: weakref.WeakValueDictionary[int, SandboxClient] = weakref.WeakValueDictionary()
"""Clients of sandboxes on a port of the caller's choice: a cell that is run again replaces its own."""


def _started(settings: Settings, *, db: str | Path | None, port: int) -> SandboxClient:
    if (replaced := _running.pop(port, None)) is not None:
        replaced.close()
    # The key of a live service, if the environment has one, is no business of a throw-away sandbox.
    service = open_service(settings, db=db, port=port, environment=os.environ if db is not None else {})
    service.start()
    client = SandboxClient(service, seed=settings.seed)
    if port:
        _running[port] = client
    return client


def make_settings(**chosen: Any) -> Settings:
    """Return the settings of a service. Raises InvalidInput, or ImportError without the extra `payerkit[sandbox]`."""
    try:
        from payerkit.service.settings import Settings, SetupError  # noqa: PLC0415 - the sandbox is an extra
    except ModuleNotFoundError as error:
        raise ImportError(f"The sandbox needs {error.name}: pip install 'payerkit[sandbox]'.") from error
    try:
        return Settings(**chosen)
    except SetupError as error:
        problem = InvalidInput(f"The sandbox cannot start. {error}")
    raise problem


def open_service(
    settings: Settings,
    *,
    db: str | Path | None,
    port: int,
    host: str = "127.0.0.1",
    environment: Mapping[str, str],
) -> Service:
    """Return the embedded service, listening but not answering yet. Raises InvalidInput for what cannot start."""
    try:
        from payerkit.service.server import Service  # noqa: PLC0415 - the sandbox is an extra
    except ModuleNotFoundError as error:
        raise ImportError(f"The sandbox needs {error.name}: pip install 'payerkit[sandbox]'.") from error
    from payerkit.service.settings import SetupError  # noqa: PLC0415

    try:
        return Service(settings, db=db, host=host, port=port, environment=environment)
    except SetupError as error:
        problem = InvalidInput(f"The sandbox cannot start. {error}")
    raise problem
