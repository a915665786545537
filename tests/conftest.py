"""What tests share: a sandbox, and a client that does not wait."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings
from playwright.sync_api import Browser, sync_playwright

import payerkit
from payerkit.client import Client

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
# A slow moment of the machine is no fault of what is tested.
settings.register_profile("payerkit", deadline=None)
settings.load_profile("payerkit")

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
    """One sandbox for all tests that use ids of their own."""
    with payerkit.sandbox() as client:
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Run the distribution's Chromium, without a window."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (Debian: chromium)")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the address and keys of whoever runs the tests out of them."""
    for name in ("PAYERKIT_BASE_URL", "PAYERKIT_API_KEY", "PAYERKIT_SANDBOX_KEY"):
        monkeypatch.delenv(name, raising=False)
