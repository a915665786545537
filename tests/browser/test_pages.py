"""What a person sees and clicks, in headless Chromium: the sandbox's pages and
documents, a notebook in JupyterLab.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

import payerkit
from payerkit.client import SandboxClient
from processes import running
from published import BANK_DETAILS, PAYER

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Open a page, and hold that it asked nobody but this machine."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    opened = context.new_page()
    opened.set_default_timeout(20_000)
    yield opened
    context.close()

    hosts = {urlsplit(url).hostname for url in asked if url.startswith(("http", "ws"))}
    assert hosts <= {"127.0.0.1", "localhost"}


@pytest.fixture(scope="module")
def client() -> Iterator[SandboxClient]:
    """Run a sandbox for the pages."""
    with payerkit.sandbox(seed="pages", decide_after=0) as sandbox:
        yield sandbox


def test_a_person_signs_the_agreement(page: Page, client: SandboxClient) -> None:
    """Without the tick nothing is signed; with it the page says that it is, once: then
    the link has ended.
    """
    status = payerkit.create_payer(client, {**PAYER, "clientUserId": "signs"})
    page.goto(str(status.agreement_url))
    page.get_by_role("button", name="Sign the agreement").click()
    expect(page.get_by_text("Not started")).to_be_visible()

    page.get_by_label("I have read the agreement").check()
    page.get_by_role("button", name="Sign the agreement").click()
    expect(page.get_by_text("You have signed the agreement.")).to_be_visible()
    page.goto(str(status.agreement_url))
    expect(page.get_by_role("heading", name="This link has ended")).to_be_visible()
    expect(page.get_by_role("main").get_by_role("link")).to_have_count(0)
    assert payerkit.get_payer_status(client, "signs").agreement_status == "signed"


def test_a_person_completes_the_identity_check_by_keyboard(
    page: Page, client: SandboxClient
) -> None:
    """Tab and Enter are enough; afterwards the check is approved."""
    status = payerkit.create_payer(client, {**PAYER, "clientUserId": "proves"})
    page.goto(str(status.kyc_url))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.get_by_text("You have passed the identity check.")).to_be_visible()
    assert payerkit.get_payer_status(client, "proves").kyc_status == "approved"


@pytest.mark.parametrize(
    "email", ["john.doe@example.com", "kyc-pending+agreement-signed@example.com"]
)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_pages_fit_and_follow_the_theme(
    page: Page, client: SandboxClient, scheme: str, width: int, email: str
) -> None:
    """A page is as wide as the window, dark where the system is, and axe-core finds
    nothing.
    """
    status = payerkit.create_payer(
        client, {**PAYER, "clientUserId": f"looks-{email}", "email": email}
    )
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for url in (status.agreement_url, status.kyc_url, client.base_url):
        page.goto(str(url))
        overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")

        assert (True, scheme == "dark") == (overflow <= 0, ground == "rgb(18, 20, 23)")
        page.evaluate(f"{AXE}\n;0")
        assert [] == page.evaluate(
            "axe.run().then(found => found.violations.map(rule => rule.id))"
        )


# it starts a JupyterLab of its own; nbval runs the notebook in every run
def test_the_quickstart_runs_in_jupyterlab(page: Page, tmp_path: Path) -> None:
    """What `payerkit lab` opens runs to its end; its links lead to the pages, its file
    holds nothing personal.
    """
    page.set_viewport_size(
        {"width": 1280, "height": 6000}
    )  # cells out of sight are not in the page
    own = {"HOME": str(tmp_path), "JUPYTER_DATA_DIR": str(tmp_path)}
    with running("lab", "--no-browser", folder=tmp_path, **own) as (printed, _process):
        page.goto(next(word for word in printed.split() if word.startswith("http://")))
        page.get_by_role("link", name="Quickstart").first.click()
        expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(
            timeout=60_000
        )
        expect(page.locator(".Toastify__toast")).to_have_count(
            0
        )  # JupyterLab would ask about news
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        # Stored outputs name no port; those of this run do.
        expect(page.get_by_text("127.0.0.1:PORT")).to_have_count(0, timeout=60_000)
        expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(
            timeout=60_000
        )
        with page.context.expect_page() as opened:
            page.get_by_role("link", name="open on 127.0.0.1").first.click()
        # The notebook completed the check, and with it ended the link.
        expect(
            opened.value.get_by_role("heading", name="This link has ended")
        ).to_be_visible()
        page.bring_to_front()
        page.keyboard.press("Control+s")
        expect(page.locator(".lm-mod-current.jp-mod-dirty")).to_have_count(0)

    saved = json.loads(
        (tmp_path / "payerkit-notebooks" / "00-quickstart.ipynb").read_text("utf-8")
    )
    outputs = json.dumps([cell.get("outputs") for cell in saved["cells"]])
    typed = [PAYER[name] for name in ("ssn", "email", "lastName", "phone")] + [
        BANK_DETAILS["accountNumber"]
    ]
    assert "ename" not in outputs
    assert [] == [value for value in typed if value in outputs]
