"""What tests share: a sandbox, and a client that does not wait."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Iterator

import pytest

import payerkit
from payerkit.client import Client

KEY = "key-of-a-test-1234567890"


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
def shared() -> Iterator[Client]:
    """One sandbox for all tests that use ids of their own; it decides at once and charges no fee."""
    with payerkit.sandbox(seed="shared", decide_after=0, fee_percent=0) as client:
        yield client


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the address and keys of whoever runs the tests out of them."""
    for name in [name for name in os.environ if name.startswith("PAYERKIT_")]:
        monkeypatch.delenv(name)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector away from what is imported and collected, which all lives until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave long runs of properties out of `-m ""`, too; `-m soak` runs them."""
    if "soak" not in config.option.markexpr:
        soaking = [item for item in items if item.get_closest_marker("soak")]
        config.hook.pytest_deselected(items=soaking)
        items[:] = [item for item in items if item not in soaking]
