"""The card of a payment as a page, in headless Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from browser.form_states import LOOK
from cases import pairs
from example_payments import GOOD
from payerkit.models import Payment
from published import ANSWERS
from test_card import PAYEE_SWAPPED, UNLIMITED

CARDS = {
    "ok": GOOD["token"],
    "look": UNLIMITED,
    "stop": PAYEE_SWAPPED,
    "unreadable": Payment.read(ANSWERS["pay_token"]),
}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "forced": {"forced_colors": "active"},
}


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Open a page that is as wide as half a screen, offline."""
    context = browser.new_context(viewport={"width": 700, "height": 600}, offline=True, **LOOKS[request.param])
    yield context.new_page()
    context.close()


@pytest.mark.parametrize(("name", "page"), pairs(CARDS, LOOKS), indirect=["page"])
def test_a_card_is_readable_everywhere(page: Page, name: str, tmp_path: Path) -> None:
    """In light, dark and forced colours, at 700 pixels: nothing is cut off, and all text has enough contrast (4.5)."""
    CARDS[name].card().save(tmp_path / "card.html")
    page.goto((tmp_path / "card.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")

    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    assert [] == page.evaluate(LOOK, "body")


@pytest.mark.parametrize("page", ["light"], indirect=True)
def test_a_card_is_short_until_somebody_opens_it(page: Page, tmp_path: Path) -> None:
    """Verdict, sentence and what could not be checked fit into a window; each folded part opens by keyboard."""
    GOOD["token"].card().save(tmp_path / "card.html")
    page.goto((tmp_path / "card.html").as_uri())
    closed = page.locator(".pk-card").bounding_box()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    assert closed is not None
    assert closed["height"] < 320
    assert [True, False, False] == page.locator("details").evaluate_all("all => all.map(each => each.open)")
