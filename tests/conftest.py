"""What tests share: a sandbox, and a client that does not wait."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from ssl import SSLContext
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from sqlalchemy import create_engine, text
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

import payerkit
from far_end import make_certificate
from form_browser import Started, start_form
from payerkit.client import Client
from postgres_server import controlled_postgres, find_initdb

if TYPE_CHECKING:
    from onboarding_model import ModelService

KEY = "key-of-a-test-1234567890"

QUICK_CASES = 6
"""Cases of a test that `pytest` runs without files or `-m ""`."""

FIRST_NOTEBOOK = "00-quickstart.ipynb"
"""The one that it runs."""


@pytest.fixture
def connected() -> Iterator[Callable[..., Client]]:
    """Make clients of an address with the key of tests, which wait for nothing between two attempts."""
    clients: list[Client] = []

    def connect(url: str, **options: object) -> Client:
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
    """One sandbox for all tests that use ids of their own; it decides at once and charges no fee."""
    with payerkit.sandbox(seed="shared", decide_after=0, fee_percent=0) as client:
        yield client


@pytest.fixture
def start(connected: Callable[..., Client]) -> Iterator[Callable[..., Started]]:
    """Start far ends that behave as told, each with a form of theirs that is filled in, and its browser."""
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


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """Return the path or URL of an empty database, of each kind tested."""
    return tmp_path / "sandbox.db" if request.param == "sqlite" else str(request.getfixturevalue("postgres"))


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the address and keys of whoever runs the tests out of them."""
    for name in [name for name in os.environ if name.startswith("PAYERKIT_")]:
        monkeypatch.delenv(name)


settings.register_profile("quick", settings.get_profile("ci"), max_examples=20)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Try fewer examples without `-m ""`, and let workers and the processes that tests start compile modules once."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if _is_quick(config):
        settings.load_profile("quick")


def _is_quick(config: pytest.Config) -> bool:
    return "not slow" in config.option.markexpr


class OneBrowser(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types
    """Gives each worker a file at a time, and all tests in the browser to one, so that only that one starts it."""

    def _split_scope(self, nodeid: str) -> str:
        return "tests/browser" if nodeid.startswith("tests/browser/") else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Let the tests in the browser share it, unless all of them run: they would take longer than all others."""
    return OneBrowser(config, log) if _is_quick(config) else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """Spare each worker the grammars that nbval's jsonschema imports for a second and a half, and does without."""
    node.gateway.remote_exec("import sys; sys.modules['rfc3987_syntax'] = None").waitclose()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a file whose tests are all slow, and whose imports are, too."""
    return True if collection_path.name == "test_dask.py" and _is_quick(config) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector away from what is imported and collected, which all lives until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of all tests, run the first cases of each; files that are named run whole. Long runs need `-m soak`."""
    is_first = _is_quick(config) and config.args == config.getini("testpaths")
    cases = Counter[str]()
    left_out = set()
    for item in items:
        cases[item.nodeid.partition("[")[0]] += 1
        is_soak = "soak" not in config.option.markexpr and item.get_closest_marker("soak") is not None
        is_other = item.path.suffix == ".ipynb" and item.path.name != FIRST_NOTEBOOK
        is_further = cases[item.nodeid.partition("[")[0]] > QUICK_CASES or is_other
        if is_soak or (is_first and is_further):
            left_out.add(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a path for a new journal."""
    return tmp_path / "run.journal"


@pytest.fixture
def service() -> ModelService:
    """Return a far end without faults."""
    from onboarding_model import ModelService  # noqa: PLC0415 - only a few tests need all that it imports

    return ModelService()
