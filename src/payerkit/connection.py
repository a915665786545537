"""Make a client: `connect()` for a real service, `sandbox()` for the embedded one.
Notebooks differ in this line.
"""

from __future__ import annotations

import os
import re
import tomllib
import warnings
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from payerkit import html
from payerkit.client.call import ApiVersion, KeyHeader
from payerkit.client.client import Client, Environment
from payerkit.client.pace import DEFAULT_RATE, Rate, Retries, Timeout
from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.wording import did_you_mean
from payerkit_sandbox.controls import SandboxControls

if TYPE_CHECKING:
    import requests

    from payerkit_sandbox.server import Service

BASE_URL = "PAYERKIT_BASE_URL"
API_KEY = "PAYERKIT_API_KEY"
CLIENT_ID = "PAYERKIT_CLIENT_ID"
ENVIRONMENT = "PAYERKIT_ENVIRONMENT"
PROFILES = "PAYERKIT_PROFILES"


@without_internal_frames
def connect(
    base_url: str | None = None,
    *,
    api_key: str | None = None,
    client_id: str | None = None,
    timeout: Timeout | float | None = None,
    retries: Retries | None = None,
    session: requests.Session | None = None,
    rate: Rate = "default",
    api: ApiVersion | None = None,
    environment: Environment | None = None,
) -> Client:
    """Return a client of a real service. Nothing is sent yet.

    A profile is a service under a name of yours, in the file
    `~/.config/payerkit/profiles.toml`:

        [staging]
        base_url = "https://api.stage.example.com"
        rate = 2

    It may set `base_url`, `rate`, `api`, `timeout` and `environment`; arguments win
    over it. A key is never in the file.

    An address that looks like one of the operator's and is another is refused. Any
    other host is an *unknown service*: nothing is sent to it, the key neither, until
    you confirm it with `environment`.

    Args:
        base_url: The address of the service, or the name of a profile; by default, that
            in PAYERKIT_BASE_URL.
        api_key: The API key, sent as `x-api-key`; by default, PAYERKIT_API_KEY. For a
            profile, such as staging, PAYERKIT_API_KEY_STAGING; never PAYERKIT_API_KEY,
            which is another service's. A journal goes on with a new key.
        client_id: In place of an API key, the Client ID that the service's Dashboard
            gives, sent as `x-client-id`; by default, PAYERKIT_CLIENT_ID, or that of the
            profile, such as PAYERKIT_CLIENT_ID_STAGING. The service's documents of
            2026-08-21 disagree about which of the two calls about payers need.
        timeout: Seconds for a whole call, or a `Timeout`; by default, 5 to connect, 30
            to read, 60 in total.
        retries: How often a call is tried, as `Retries`; by default, 3 times. Only what
            is safe is repeated.
        session: A `requests.Session` to send through: its adapters, authentication,
            certificates, proxies (SOCKS, too), parameters and hooks are used. It stays
            open when the client is closed.
        rate: Calls per second, at most, those of runs included; None for no limit. By
            default 5, the limit that the API's documentation names, and no limit for a
            service on this machine.
        api: "v1" for the paths of the specification, "v2" for those of newer
            documentation, under /v2/payer and, in place of /v1/pay, /v2/payouts.
        environment: Confirms a host that payerkit does not know: "live", or "sandbox"
            for one of your team. By default, that of the profile, or
            PAYERKIT_ENVIRONMENT if the address is that of PAYERKIT_BASE_URL. Known
            hosts and this machine need none.

    Returns:
        The client, to be given to every call. It closes with `client.close()` or at the
        end of a `with` block.

    Raises:
        InvalidInput: For an address, a profile, a key, a session, a rate or limits that
            cannot be used.

    Example:
        >>> connect("https://api.request.network", api_key="example-key", timeout=20)
        <Client of https://api.request.network (live), key ...>
    """
    address = base_url or os.environ.get(BASE_URL)
    if not address:
        raise InvalidInput(
            'base_url: give the address, such as connect("https://api.example.com"),'
            f" or set {BASE_URL}."
        )
    name = ""
    profile: dict[str, Any] = {"base_url": address}
    if "://" not in address:
        name = address
        profile = read_profile(name)
    if environment is None and not name and not base_url:
        # A confirmation in the environment is one of the address that stands there.
        profile["environment"] = os.environ.get(ENVIRONMENT) or None
    given = {"timeout": timeout, "api": api, "environment": environment}
    chosen = profile | {
        setting: value for setting, value in given.items() if value is not None
    }
    if rate != "default":
        chosen["rate"] = rate
    credential, header = _credential(name, api_key, client_id)
    return Client(
        api_key=credential, header=header, retries=retries, session=session, **chosen
    )


def _credential(
    name: str, api_key: str | None, client_id: str | None
) -> tuple[str, KeyHeader]:
    """Return the API key or the Client ID, given or in the environment of a profile (of
    an address for ""), with its header. Raises InvalidInput for none and for both.
    """
    if api_key and client_id:
        raise InvalidInput("client_id: give either a Client ID or an API key.")
    key_in = key_variable(API_KEY, name)
    id_in = key_variable(CLIENT_ID, name)
    if not api_key and not client_id:
        api_key = os.environ.get(key_in)
        client_id = os.environ.get(id_in)
        if api_key and client_id:
            raise InvalidInput(
                f"client_id: {id_in} and {key_in} are both set. Unset the one that the"
                " service does not take, or give api_key= or client_id=."
            )
    if client_id:
        return client_id, "x-client-id"
    if api_key:
        return api_key, "x-api-key"
    if not name:
        raise InvalidInput(
            f"api_key: set {API_KEY} to the key, or {CLIENT_ID} to the Client ID, so"
            " that it is in no file; or give api_key= or client_id=."
        )
    raise InvalidInput(
        f"api_key: set {key_in} to the key of {name}, or {id_in} to its Client ID."
        f" {API_KEY} and {CLIENT_ID} are not used for a profile: they may be another"
        " service's."
    )


_Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]


class _Profile(BaseModel):
    """The settings of a profile. The description of each completes "expected ..." in an
    error.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    base_url: str = Field(
        pattern="://", description="an address that begins with https://"
    )
    rate: _Positive = Field(0, description="a positive number of calls per second")
    api: ApiVersion = Field("v1", description='"v1" or "v2"')
    timeout: _Positive = Field(0, description="a positive number of seconds")
    environment: Environment = Field("live", description='"live" or "sandbox"')


def read_profile(name: str) -> dict[str, Any]:
    """Return the settings of a profile in the user's file, its address among them.

    Raises InvalidInput, which names the file, the profile and what is wrong in it;
    other profiles may be wrong.
    """
    file = profiles_file()
    shown = str(file).replace(str(Path.home()), "~")
    profiles = {
        profile: table
        for profile, table in _read(file, shown).items()
        if isinstance(table, dict)
    }
    if name not in profiles:
        known = "has none."
        if profiles:
            known = f"has {', '.join(sorted(profiles))}.{did_you_mean(name, profiles)}"
        if not file.exists():
            known = (
                "does not exist. To make a profile, write two lines there: [name] and"
                ' base_url = "https://...".'
            )
        if "." in name:
            known += " To an address, add https:// in front."
        # without what was given: it may be a key in the wrong place
        raise InvalidInput(
            "base_url: neither an address, such as https://api.example.com, nor a"
            f" profile: {shown} {known}"
        )
    key_in = key_variable(API_KEY, name)
    if [key_variable(API_KEY, profile) for profile in profiles].count(key_in) > 1:
        raise InvalidInput(
            f"{PROFILES}: {shown} has two profiles whose key would be in {key_in}."
            " Rename one."
        )
    try:
        return _Profile.model_validate(profiles[name]).model_dump(exclude_unset=True)
    except ValidationError as error:
        problem = error.errors(include_input=False)[0]
    setting = str(problem["loc"][0])
    where = f"for [{name}] in {shown}"
    if setting not in _Profile.model_fields:
        known = ", ".join(_Profile.model_fields)
        raise InvalidInput(
            f"{setting}: not a setting of a profile, {where}. There are: {known}. "
            f"The key goes into {key_in}."
        )
    raise InvalidInput(
        f"{setting}: expected {_Profile.model_fields[setting].description}, {where}."
    )


def profiles_file() -> Path:
    """Return where the profiles are: PAYERKIT_PROFILES, or
    ~/.config/payerkit/profiles.toml.
    """
    return Path(
        os.environ.get(PROFILES) or "~/.config/payerkit/profiles.toml"
    ).expanduser()


def _read(file: Path, shown: str) -> dict[str, Any]:
    """Return the parsed TOML of a file, an empty dict if there is no file. Raises
    InvalidInput if it cannot be read.
    """
    try:
        return tomllib.loads(file.read_text("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:  # of TOML, or of UTF-8
        problem = getattr(error, "strerror", None) or error
    raise InvalidInput(
        f"{PROFILES}: {shown} cannot be read: {problem}."
    )  # out here: the parser's error holds the text


def key_variable(variable: str, name: str) -> str:
    """Return the environment variable with the key or the Client ID of a profile, and
    of no other; for "", with that of an address.
    """
    if not name:
        return variable
    return f"{variable}_{re.sub('[^A-Za-z0-9]', '_', name).upper()}"


class SandboxClient(Client):
    """A client of the embedded service, made by `sandbox()`.

    The service ends at `close()`, at the end of a `with` block, or when Python does.

    Example:
        >>> client.sandbox.rate("USD")
        Decimal('1')
    """

    def __init__(
        self,
        service: Service,
        *,
        clock: str = "wall",
        rate: float | None = None,
    ) -> None:
        super().__init__(service.url, service.api_key, rate=rate)
        self._clock = clock
        self._stop = weakref.finalize(self, service.stop)

    @property
    def sandbox(self) -> SandboxControls:
        """The sandbox's own calls: rates, demo wallet, statuses, clock, faults,
        ledger.
        """
        return SandboxControls(self)

    def sleep(self, seconds: float) -> None:
        """Wait; with a manual clock, advance it instead and return at once."""
        if self._clock == "wall":
            super().sleep(seconds)
        elif seconds > 0:
            self.sandbox.advance(seconds=seconds)

    def close(self) -> None:
        """Close the connections and stop the service."""
        super().close()
        self._stop()

    def _picture_rows(self) -> list[tuple[str, str]]:
        """Return the names and values of its picture; the values are HTML."""
        clock = "runs as usual"
        if self._clock == "manual":
            clock = "stands still until you advance it"
        return [
            ("Address", html.code(self.base_url)),
            (
                "Start page",
                (
                    f"{html.link(f'{self.base_url}/', 'test values and what it does')}"
                    " (on this machine)"
                ),
            ),
            ("Clock", clock),
            ("Data", "Nothing here is real, and nothing leaves this machine."),
        ]

    def __repr__(self) -> str:
        return f"<Client of the sandbox at {self.base_url}>"


@without_internal_frames
def sandbox(
    *,
    seed: int | str | None = None,
    db: str | Path | None = None,
    port: int = 0,
    clock: Literal["wall", "manual"] = "wall",
    api_keys: Mapping[str, str] | None = None,
    faults: str = "",
    live_like: bool = False,
    **settings: Any,
) -> SandboxClient:
    """Start the embedded service in this process and return a client of it.

    The service ends with the client: `with sandbox() as client:`, `client.close()`, or
    when Python does.

    `faults` is a fault plan, such as `"latency=0.02, reset_after=5%"`. `latency=S`
    delays every call by S seconds; `slow_for=S` is how long a slow write takes. The
    others are shares of the calls: `refuse=P%` (429 with seconds), `refuse_date=P%`
    (429 with a date), `reset_before=P%` and `reset_after=P%` (the connection breaks
    before or after the write), `cut=P%` (half a response after the write),
    `fail_before=P%` (503 before the write), `fail_after=P%` (502 after it), `slow=P%`
    (the connection breaks, and the write lands later), `exists=P%` (409 to
    `create_payer` for a payer who exists already; no fault for other calls).

    Args:
        seed: Makes ids and references the same each time; for notebooks and tests.
        db: A path, or an SQLAlchemy URL, that keeps the data; by default, it is deleted
            when the service ends.
        port: The port to listen on; 0 for any free one. A sandbox that this process
            runs on the port is replaced.
        clock: "wall" for real time. "manual" for a clock that stands still until
            `client.sandbox.advance(minutes=2)`; `client.sleep()`, and what waits with
            it, then advances the clock and returns at once. Several services on one
            `db` share the clock of each world.
        api_keys: API keys by names of your choice, such as {"alice": ..., "bob": ...}:
            each opens a world of its own, with payers, accounts, rates, wallet, clock
            and faults that no other key sees. The client has the first; others connect
            with `connect(client.base_url, api_key=...)`. By default, one new key, which
            a database keeps.
        faults: The fault plan, see above; "" for none.
        live_like: True for the live service's limit, and `kyc_required`: 5 calls per
            second, more are refused with 429 and no Retry-After, by real time. The
            client keeps to 5 calls per second, as a live one does.
        settings: Further settings by name, which `payerkit sandbox --help` lists, too:
            `decide_after`: seconds until a submitted identity check or new bank details
            are decided, and from a payment to the money at the bank (5); 0 decides at
            once. `accounts_after`: the same for new bank details alone. `kyc_required`:
            True to accept bank details only after an approved
            identity check; before, they are refused with the code
            not_yet_passed_kyc_kyb. `fee_percent`: the protocol fee on top of each
            payment, in percent (0.1), as a live service has one; each payment declares
            it in its metadata. 0 for none. `public_url`: the URL of the pages in a
            browser, if it differs from the listening address. It may have a path, which
            a proxy removes from each call. Host names other than its own and
            `localhost` are refused, so that no web page elsewhere can read the sandbox
            under a name of its own.

    Returns:
        A client of the service; `client.sandbox` has its controls.

    Raises:
        InvalidInput: For settings with which the service cannot start.
        ImportError: Without the extra `payerkit[sandbox]`.

    Example:
        >>> with sandbox() as local:
        ...     create_payer(local, payer).kyc_status
        'not_started'
    """
    service = _open_service(
        db=db,
        api_keys=api_keys,
        port=port,
        seed=seed,
        clock=clock,
        faults=faults,
        live_like=live_like,
        **settings,
    )
    service.start()
    rate = None
    if live_like:
        rate = DEFAULT_RATE
    client = SandboxClient(service, clock=clock, rate=rate)
    if port:
        _running[port] = client
    if db is not None:
        other = _running.get(str(db))
        if other is not None and other._stop.alive:  # noqa: SLF001 - of this module
            advice = (
                "close() that one first, or give both one port=, so that a cell that"
                " runs again replaces its own."
            )
            warnings.warn(
                f"db: {other} keeps its data there, too, and both change it: {advice}",
                stacklevel=3,
            )
        _running[str(db)] = client
    return client


_running: weakref.WeakValueDictionary[int | str, SandboxClient] = (
    weakref.WeakValueDictionary()
)
"""Clients of sandboxes, by a port of the caller's choice (a cell that is run again
replaces its own), and by file.
"""


def needed_by_sandbox(error: ModuleNotFoundError) -> ImportError:
    """Return an error that says how to install what a sandbox needs."""
    package, _, _ = f"{error.name}".partition(".")
    return ImportError(f"The sandbox needs {package}: pip install 'payerkit[sandbox]'.")


def _open_service(
    *,
    db: str | Path | None,
    port: int,
    api_keys: Mapping[str, str] | None,
    **settings: Any,
) -> Service:
    """Return the embedded service, listening but not answering yet; it replaces a
    sandbox that runs on its port.

    Raises InvalidInput for what cannot start, and ImportError without the extra
    `payerkit[sandbox]`.
    """
    try:
        from payerkit_sandbox.failures import SetupError  # noqa: PLC0415 - the sandbox is an extra
        from payerkit_sandbox.server import Service  # noqa: PLC0415
        from payerkit_sandbox.settings import Settings  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise needed_by_sandbox(error) from error
    try:
        checked = Settings(**settings)
        replaced = _running.pop(port, None)
        if replaced is not None:
            replaced.close()
        return Service(checked, db=db, port=port, api_keys=api_keys)
    except SetupError as error:
        problem = InvalidInput(f"The sandbox cannot start. {error}")
    raise problem
