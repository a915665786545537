"""The pages that a payer completes, opened and submitted as by a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

import pytest
import requests

import payerkit
from payerkit.connection import SandboxClient
from published import PAYER


@pytest.fixture(scope="module")
def client() -> Iterator[SandboxClient]:
    """Yield a sandbox shared by all payers of this module."""
    with payerkit.sandbox(seed=1, decide_after=0) as sandbox:
        yield sandbox


def links(client: SandboxClient, email: str = "john.doe@example.com") -> tuple[str, str, str]:
    """Return the id of a new payer, and the links to agreement and identity check."""
    client_user_id = f"page-{next(_numbers)}"
    status = payerkit.create_payer(client, {**PAYER, "clientUserId": client_user_id, "email": email})
    return client_user_id, str(status.agreement_url), str(status.kyc_url)


_numbers = iter(range(1000))


def state(page: str) -> str:
    """Return the state shown on a page, as the API writes it; the page shows words."""
    found = re.search(r'class="state[^"]*">([A-Z][a-z ]*)<', page)
    assert found is not None
    return found[1].lower().replace(" ", "_")


def test_signing_requires_consent(client: SandboxClient) -> None:
    """Without consent nothing is signed; with it the agreement is signed, and the platform records it."""
    client_user_id, agreement, _ = links(client)
    refused = requests.post(agreement, data={}, timeout=20)
    signed = requests.post(agreement, data={"consent": "yes"}, timeout=20)

    assert (422, "not_started", True) == (refused.status_code, state(refused.text), "Tick the box" in refused.text)
    assert (200, "signed", agreement) == (signed.status_code, state(signed.text), signed.url)
    payerkit.update_agreement(client, client_user_id)
    assert state(requests.get(agreement, timeout=20).text) == "completed"


def test_identity_check_goes_through_its_states(client: SandboxClient) -> None:
    """Opening the page changes nothing, submitting completes the check; the status by id agrees."""
    client_user_id, _, kyc = links(client)
    opened = requests.get(kyc, timeout=20)
    assert ("not_started", "not_started") == (
        state(opened.text),
        payerkit.get_payer_status(client, client_user_id).kyc_status,
    )

    done = requests.post(kyc, timeout=20)
    assert ("approved", "approved") == (state(done.text), payerkit.get_payer_status(client, client_user_id).kyc_status)


def test_identity_check_is_pending_for_its_delay() -> None:
    """A submitted check is pending until it is decided, whatever is written meanwhile."""
    with payerkit.sandbox(seed=1, clock="manual", kyc_after=3) as client:
        client_user_id, _, kyc = links(client)
        seen = [state(requests.post(kyc, timeout=20).text)]
        for _ in range(3):
            payerkit.update_agreement(client, client_user_id)
            client.sandbox.advance(seconds=1)
            seen.append(state(requests.get(kyc, timeout=20).text))

    assert ["pending", "pending", "pending", "approved"] == seen


@pytest.mark.parametrize(
    ("email", "page", "is_open"),
    [
        ("kyc-retry-required@example.com", 2, True),
        ("kyc-rejected@example.com", 2, False),
        ("kyc-failed@example.com", 2, False),
        ("kyc-retry-denied@example.com", 2, False),
        ("kyc-pending@example.com", 2, False),
        ("kyc-application-queued@example.com", 2, False),
        ("kyc-completed@example.com", 2, False),
        ("agreement-pending@example.com", 1, True),
        ("agreement-rejected@example.com", 1, False),
        ("agreement-completed@example.com", 1, False),
    ],
)
def test_pages_offer_what_the_state_allows(client: SandboxClient, email: str, page: int, is_open: bool) -> None:
    """A page has a button while the payer can act; submitting it later changes nothing."""
    url = links(client, email)[page]
    before = requests.get(url, timeout=20).text
    after = requests.post(url, data={"consent": "yes"}, timeout=20).text

    assert (is_open, not is_open) == ("<button" in before, state(before) == state(after))


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("prechecks-completed", "under review"),
        ("awaiting-manual-review", "under review"),
        ("full-clearance", "have passed"),
        ("retry-denied", "have not passed"),
    ],
)
def test_the_page_says_what_a_state_means(client: SandboxClient, state: str, words: str) -> None:
    """Several words mean the same to a payer: wait, passed, or not passed."""
    _, _, kyc = links(client, f"kyc-{state}@example.com")

    assert words in requests.get(kyc, timeout=20).text


@pytest.mark.parametrize(
    ("email", "agreement", "kyc"),
    [
        ("john.doe@example.com", "one more is left: the identity check", "one more is left: the agreement"),
        ("agreement-signed@example.com", "Continue to the identity check", "Your agreement is done: this is the last"),
        ("kyc-approved@example.com", "Your identity check is done: this is the last", "Continue to the agreement"),
        (
            "kyc-pending@example.com",
            "Only this step is left for you",
            "Reload What comes next One step is left for you",
        ),
        ("kyc-pending+agreement-signed@example.com", "until it is decided", "until the review is decided"),
        ("kyc-approved+agreement-signed@example.com", "Both steps are done", "Both steps are done"),
        ("kyc-failed+agreement-signed@example.com", "was not successful. Contact", "cannot be repeated here. Contact"),
    ],
)
def test_pages_say_what_comes_next(client: SandboxClient, email: str, agreement: str, kyc: str) -> None:
    """Each page says what the other one needs, and leads there while the payer can act."""
    pages = [requests.get(url, timeout=20).text for url in links(client, email)[1:]]
    texts = [" ".join(re.sub("<[^>]*>", " ", page).replace(" .", ".").split()) for page in pages]

    assert [True, True] == [agreement in texts[0], kyc in texts[1]]
    assert "Between you, the payer, and Example Payment Provider" in texts[0].replace(" ,", ",")


def test_the_pages_lead_to_each_other(client: SandboxClient) -> None:
    """A payer with one of the links finds the other page."""
    _, agreement, kyc = links(client)
    found = [re.search('<a href="([^"]*)"', requests.get(url, timeout=20).text) for url in (agreement, kyc)]

    assert [kyc, agreement] == [
        urljoin(url, link[1]) for url, link in zip((agreement, kyc), found, strict=True) if link
    ]


def test_a_pending_check_can_be_reloaded(client: SandboxClient) -> None:
    """While somebody else decides, a link leads to the page itself; it submits nothing."""
    _, _, kyc = links(client, "kyc-pending@example.com")
    link = re.search('<a class="button" href="([^"]*)">Reload</a>', requests.get(kyc, timeout=20).text)

    assert link is not None
    assert kyc == urljoin(kyc, link[1])


@pytest.mark.parametrize("path", ["/agreement/", "/kyc/", "/agreement/0123", "/kyc/%2e%2e"])
def test_a_wrong_link_gets_404(client: SandboxClient, path: str) -> None:
    """A wrong link gets 404, opened or submitted."""
    responses = [requests.get(client.base_url + path, timeout=20), requests.post(client.base_url + path, timeout=20)]

    assert {404} == {response.status_code for response in responses}


def test_pages_load_nothing_and_leak_nothing(client: SandboxClient) -> None:
    """A page has no script and no external content, is not cached, and sends no referrer."""
    _, agreement, kyc = links(client)
    for url in (agreement, kyc, client.base_url + "/"):
        response = requests.get(url, timeout=20)

        assert ("no-store", "no-referrer") == (response.headers["Cache-Control"], response.headers["Referrer-Policy"])
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        assert not re.search(r"<script|src=|https?://", response.text)


def test_large_forms_are_not_read(client: SandboxClient) -> None:
    """A form that is too large is refused, and signs nothing."""
    _, agreement, _ = links(client)
    response = requests.post(agreement, data={"consent": "yes", "x": "y" * 5000}, timeout=20)

    assert (413, "not_started") == (response.status_code, state(requests.get(agreement, timeout=20).text))


def test_start_page_lists_the_test_values(client: SandboxClient) -> None:
    """The start page shows the test values and links to the documentation."""
    page = requests.get(client.base_url, timeout=20).text

    assert [] == [
        value
        for value in ("kyc-full-clearance@example.com", "Example Bank deactivated", "Example Bank no rail", "docs")
        if value not in page
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, ["protocol fee of 0.1&nbsp;%", "0xFee5fEe5Fee5fEe5feE5fee5Fee5fee5fEe5feE5", "after it was submitted"]),
        ({}, ["decided 5&nbsp;seconds after", "2&nbsp;seconds after they were stored", "To wait no longer"]),
        ({"fee_percent": 0, "decide_after": 0.5}, ["no protocol fee", "decided 0.5&nbsp;seconds after"]),
        ({"clock": "manual"}, ["The clock stands still"]),
        ({"live_like": True}, ["takes 5 calls a second", "blocked for 5&nbsp;minutes", "not_yet_passed_kyc_kyb"]),
    ],
)
def test_start_page_tells_the_fee_and_the_waiting_times(options: dict[str, Any], words: list[str]) -> None:
    """What a payment will cost and how long a decision takes can be read before the first call."""
    with payerkit.sandbox(**options) as client:
        page = " ".join(requests.get(client.base_url, timeout=20).text.split())

    assert [] == [word for word in words if word not in page]
