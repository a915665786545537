"""What tests share: a sandbox, and a client that does not wait."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from ssl import SSLContext
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import create_engine, text
from xdist.workermanage import WorkerController

import payerkit
from far_end import make_certificate
from filled_forms import Started, start_form
from payerkit.client import Client
from postgres_server import controlled_postgres, find_initdb

if TYPE_CHECKING:
    from onboarding_model import ModelService

KEY = "key-of-a-test-1234567890"

BROWSER_TESTS = Path(__file__).with_name("browser")


@pytest.fixture
def connected() -> Iterator[Callable[..., Client]]:
    """Make clients of an address with the key of tests, which wait for nothing between
    two attempts.
    """
    clients: list[Client] = []

    def connect(url: str, **options: object) -> Client:
        if url.startswith("https://") and url.endswith(".example.com"):
            options["environment"] = "live"
        clients.append(Client(url, KEY, **{"sleep": lambda _seconds: None, **options}))  # type: ignore[arg-type]  # options of any kind
        return clients[-1]

    yield connect
    for client in clients:
        client.close()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SSLContext]:
    """Make a certificate, with its key beside it, and a server's context."""
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="session")
def shared() -> Iterator[Client]:
    """One sandbox for all tests that use ids of their own; it decides at once and
    charges no fee.
    """
    with payerkit.sandbox(seed="shared", decide_after=0, fee_percent=0) as client:
        yield client


@pytest.fixture
def start(connected: Callable[..., Client]) -> Iterator[Callable[..., Started]]:
    """Start far ends that behave as told, each with a form of theirs that is filled
    in.
    """
    with ExitStack() as stack:
        yield partial(start_form, stack, connected)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Run a PostgreSQL server for the tests; yield its URL."""
    if (initdb := find_initdb()) is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    with controlled_postgres(initdb) as server:
        yield server.url


@pytest.fixture
def postgres(postgres_server: str) -> str:
    """Return the URL of an empty database on PostgreSQL."""
    engine = create_engine(postgres_server)
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return postgres_server


@pytest.fixture(
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """Return the path or URL of an empty database, of each kind tested."""
    return (
        tmp_path / "sandbox.db"
        if request.param == "sqlite"
        else str(request.getfixturevalue("postgres"))
    )


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the address, keys and terminal of whoever runs the tests out of them."""
    for name in [name for name in os.environ if name.startswith("PAYERKIT_")]:
        monkeypatch.delenv(name)
    for name in ("COLUMNS", "LINES"):  # the size of a terminal, which cuts a bar
        monkeypatch.delenv(name, raising=False)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:  # noqa: ARG001 - pytest gives it
    """Let what tests start compile modules once, and be interrupted as by a person.

    A shell's background job ignores SIGINT, and so would every process that it starts.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """Spare each worker the grammars that nbval's jsonschema imports for a second and a
    half, and does without.
    """
    node.gateway.remote_exec(
        "import sys; sys.modules['rfc3987_syntax'] = None"
    ).waitclose()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector away from what is imported and collected, which all
    lives until the end.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


LEFT_OUT: dict[str, str] = {
    "browser": "are in a browser",
    "postgres": "need a PostgreSQL server",
    "node": "need a node (anvil)",
    "soak": 'take minutes (`pytest -m soak`; they are left out of `pytest -m ""`, too)',
    "slow": "take a second or more",
}
"""Why a test may be left out, by the marker that says so: what comes first is told."""

COUNTS = pytest.StashKey[Counter[str]]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Mark what tests need, by the fixtures that give it; leave long runs to who asks
    for them.
    """
    soaks = []
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if item.path.is_relative_to(BROWSER_TESTS):
            item.add_marker("browser")
        if "postgres_server" in fixtures:
            item.add_marker("postgres")
        if "nodes" in fixtures:
            item.add_marker("node")
        if item.get_closest_marker("soak") is not None:
            soaks.append(item)
        is_long = any(item.get_closest_marker(name) for name in ("browser", "slow"))
        if is_long and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(300))  # a busy machine takes its time
    if "soak" not in config.option.markexpr:
        config.hook.pytest_deselected(items=soaks)
        items[:] = [item for item in items if item not in soaks]


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count what is left out, by reason."""
    for item in items:
        counts = item.config.stash.setdefault(COUNTS, Counter())
        reasons = [name for name in LEFT_OUT if item.get_closest_marker(name)]
        counts.update(reasons[:1])


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a worker say what it left out; each worker leaves out the same."""
    if hasattr(session.config, "workeroutput"):
        counts = session.config.stash.get(COUNTS, Counter())
        session.config.workeroutput["left_out"] = dict(counts)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController) -> None:
    """Keep what a worker says that it left out."""
    counts = getattr(node, "workeroutput", {}).get("left_out", {})
    node.config.stash[COUNTS] = Counter(counts)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what was left out, why, and what runs it."""
    counts = config.stash.get(COUNTS, Counter())
    if not counts:
        return
    terminalreporter.section("left out")
    for name, reason in LEFT_OUT.items():
        if counts[name]:
            terminalreporter.write_line(f"{counts[name]:5} {reason}")
    terminalreporter.write_line('`pytest -m ""` runs all but those that take minutes.')


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a path for a new journal."""
    return tmp_path / "run.journal"


@pytest.fixture
def service() -> ModelService:
    """Return a far end without faults."""
    from onboarding_model import ModelService  # noqa: PLC0415 - only a few tests need all that it imports

    return ModelService()
