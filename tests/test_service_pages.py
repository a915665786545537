"""The pages that a payer completes, opened and submitted as by a browser."""

from __future__ import annotations

import re
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
import requests

import payerkit
from cases import table
from payerkit.client import SandboxClient
from payerkit_sandbox.app import app
from payerkit_sandbox.faults import FAULTS
from published import PAYER

CALLS = [
    (method.upper(), path)
    for path, methods in app.openapi()["paths"].items()
    for method in methods
]


@pytest.fixture(scope="module")
def client() -> Iterator[SandboxClient]:
    """Yield a sandbox shared by all payers of this module."""
    with payerkit.sandbox(seed=1, decide_after=0) as sandbox:
        yield sandbox


def links(
    client: SandboxClient, email: str = "john.doe@example.com"
) -> tuple[str, str, str]:
    """Return the id of a new payer, and the links to agreement and identity check."""
    client_user_id = f"page-{next(_numbers)}"
    status = payerkit.create_payer(
        client, {**PAYER, "clientUserId": client_user_id, "email": email}
    )
    return client_user_id, str(status.agreement_url), str(status.kyc_url)


_numbers = iter(range(1000))


def state(page: str) -> str:
    """Return the state shown on a page, as the API writes it; the page shows words."""
    found = re.search(r'class="state[^"]*">([A-Z][a-z ]*)<', page)
    assert found is not None
    return found[1].lower().replace(" ", "_")


def text_of(page: str) -> str:
    """Return the words of a page, without its markup."""
    body = page[page.index("<main") :]
    return (
        " ".join(re.sub(r"<[^>]*>", " ", body).split())
        .replace(" .", ".")
        .replace(" ,", ",")
    )


def test_signing_requires_consent(client: SandboxClient) -> None:
    """Without consent nothing is signed; with it the agreement is signed, and the
    platform records it.
    """
    client_user_id, agreement, _ = links(client)
    refused = requests.post(agreement, data={}, timeout=20)
    signed = requests.post(agreement, data={"consent": "yes"}, timeout=20)

    assert (422, "not_started", True) == (
        refused.status_code,
        state(refused.text),
        "Tick the box" in refused.text,
    )
    assert (200, "signed") == (signed.status_code, state(signed.text))
    assert (
        "signed" == payerkit.get_payer_status(client, client_user_id).agreement_status
    )


def test_the_identity_check_is_pending_for_its_delay() -> None:
    """A submitted check is pending until it is decided, whatever is written meanwhile;
    then its link ends.
    """
    with payerkit.sandbox(seed=1, clock="manual", decide_after=3) as client:
        client_user_id, _, kyc = links(client)
        seen = [state(requests.post(kyc, timeout=20).text)]
        for _ in range(2):
            payerkit.update_agreement(client, client_user_id)
            client.sandbox.advance(seconds=1)
            seen.append(state(requests.get(kyc, timeout=20).text))
        client.sandbox.advance(seconds=1)
        decided = requests.get(kyc, timeout=20).status_code

    assert (["pending"] * 3, 410) == (seen, decided)


@table("service_links")
def test_a_link_leads_to_what_the_payer_can_do(
    client: SandboxClient, email: str, is_ended: bool
) -> None:
    """A step that is open has a form, one under review has none, and the link of any
    other has ended.
    """
    step = email.partition("-")[0]
    client_user_id, *urls = links(client, email)

    def state_now() -> str:
        return str(
            getattr(payerkit.get_payer_status(client, client_user_id), f"{step}_status")
        )

    url, before = urls[step == "kyc"], state_now()
    opened = requests.get(url, timeout=20)
    sent = requests.post(url, data={"consent": "yes"}, timeout=20)
    done = (
        {"agreement": "signed", "kyc": "approved"}[step]
        if "<button" in opened.text
        else before
    )

    assert [410 if is_ended else 200] * 2 == [opened.status_code, sent.status_code]
    assert (done, False) == (state_now(), is_ended and "<button" in opened.text)


@pytest.mark.parametrize("step", ["agreement", "kyc"])
def test_an_ended_link_tells_nothing(client: SandboxClient, step: str) -> None:
    """Whoever finds the link later learns neither how the step went nor anything about
    the other one.
    """
    client_user_id, agreement, kyc = links(client)
    url = agreement if step == "agreement" else kyc
    requests.post(url, data={"consent": "yes"}, timeout=20)
    passed = requests.get(url, timeout=20)
    client.sandbox.complete_kyc(client_user_id, status="rejected")
    client.sandbox.complete_agreement(client_user_id, status="rejected")
    failed = requests.get(url, timeout=20)

    assert 410 == passed.status_code
    assert passed.text == failed.text
    assert "href" not in passed.text
    assert "This link has ended" in text_of(passed.text)
    assert [] == [
        word
        for word in ("Status", "approved", "signed", "passed")
        if word in text_of(passed.text)
    ]


@pytest.mark.parametrize("step", ["agreement", "kyc"])
def test_a_form_that_is_posted_twice_counts_once(
    client: SandboxClient, step: str
) -> None:
    """The first one gets the result, the second one a page that says that the link has
    ended.
    """
    _, agreement, kyc = links(client)
    url = agreement if step == "agreement" else kyc
    sent = [requests.post(url, data={"consent": "yes"}, timeout=20) for _ in range(2)]

    assert [200, 410] == [response.status_code for response in sent]
    assert "You have" in text_of(sent[0].text)


def test_a_link_works_again_when_its_step_is_open_again(client: SandboxClient) -> None:
    """Where the platform takes its record back, the payer signs at the same link."""
    client_user_id, agreement, _ = links(client, "agreement-completed@example.com")
    payerkit.update_agreement(client, client_user_id, completed=False)

    assert 200 == requests.get(agreement, timeout=20).status_code


def test_opening_changes_nothing(tmp_path: Path) -> None:
    """No call by GET leaves a trace in the database, so a preview of a link in a chat
    does no harm.
    """
    with payerkit.sandbox(db=tmp_path / "x.db", api_keys={"default": "key"}) as client:
        _, agreement, kyc = links(client)
        paths = [path for method, path in CALLS if method == "GET"]
        with closing(sqlite3.connect(tmp_path / "x.db")) as database:
            before = list(database.iterdump())
            for path in [agreement, kyc, "/", *paths]:
                url = urljoin(
                    client.base_url,
                    re.sub(
                        r"\{currency\}", "USD", re.sub(r"\{client.*?\}", "page-0", path)
                    ),
                )
                requests.get(url, headers={"x-api-key": "key"}, timeout=20)
            after = list(database.iterdump())

    assert len(paths) > 8
    assert before == after


@table("service_next_steps")
def test_pages_say_what_comes_next(
    client: SandboxClient, email: str, step: str, opened: str, sent: str
) -> None:
    """A page and the result of its form say what the other step needs, and lead there
    while the payer can act.
    """
    url = links(client, email)[1 if step == "agreement" else 2]
    responses = [
        requests.get(url, timeout=20),
        requests.post(url, data={"consent": "yes"}, timeout=20),
    ]

    is_ended = opened == "This link has ended"
    assert [410 if is_ended else 200] * 2 == [each.status_code for each in responses]
    assert [True, True] == [
        words in text_of(each.text)
        for each, words in zip(responses, (opened, sent), strict=True)
    ]


def test_the_pages_lead_to_each_other(client: SandboxClient) -> None:
    """A payer with one of the links finds the other page."""
    _, agreement, kyc = links(client)
    found = [
        re.search('<a href="([^"]*)"', requests.get(url, timeout=20).text)
        for url in (agreement, kyc)
    ]

    assert [kyc, agreement] == [urljoin(agreement, link[1]) for link in found if link]


def test_a_pending_check_can_be_reloaded(client: SandboxClient) -> None:
    """While somebody else decides, a link leads to the page itself; it submits
    nothing.
    """
    _, _, kyc = links(client, "kyc-pending@example.com")
    link = re.search(
        '<a class="button" href="([^"]*)">Reload</a>',
        requests.get(kyc, timeout=20).text,
    )

    assert link is not None
    assert kyc == urljoin(kyc, link[1])


@pytest.mark.parametrize(
    "path", ["/agreement/", "/kyc/", "/agreement/0123", "/kyc/%2e%2e"]
)
def test_a_wrong_link_gets_404(client: SandboxClient, path: str) -> None:
    """A wrong link gets 404, opened or submitted."""
    responses = [
        requests.get(client.base_url + path, timeout=20),
        requests.post(client.base_url + path, timeout=20),
    ]

    assert {404} == {response.status_code for response in responses}


def test_pages_load_nothing_and_leak_nothing(client: SandboxClient) -> None:
    """A page has no script and no external content, is not cached, and sends no
    referrer.
    """
    _, agreement, kyc = links(client)
    for url in (agreement, kyc, client.base_url + "/"):
        response = requests.get(url, timeout=20)

        assert ("no-store", "no-referrer") == (
            response.headers["Cache-Control"],
            response.headers["Referrer-Policy"],
        )
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        assert not re.search(r'<script|src=|="https?://', response.text)


def test_large_forms_are_not_read(client: SandboxClient) -> None:
    """A form that is too large is refused, and signs nothing."""
    _, agreement, _ = links(client)
    response = requests.post(
        agreement, data={"consent": "yes", "x": "y" * 2**20}, timeout=20
    )

    assert (413, "not_started") == (
        response.status_code,
        state(requests.get(agreement, timeout=20).text),
    )


def first_call(client: SandboxClient) -> str:
    """Return the line for a shell that the start page shows."""
    found = re.search(
        r"<pre><code>(.*?)</code></pre>",
        requests.get(client.base_url, timeout=20).text,
        re.DOTALL,
    )
    assert found is not None
    return unescape(found[1])


def test_the_first_call_is_a_valid_one(client: SandboxClient) -> None:
    """The arguments of the line register the published example of a payer, with the key
    from the variable.
    """
    program, flags, url, *options = shlex.split(first_call(client))
    given = dict(zip(options[::2], options[1::2], strict=True))
    headers = [
        options[place + 1].split(": ")
        for place, option in enumerate(options)
        if option == "-H"
    ]
    values = {
        name: value.replace("$PAYERKIT_SANDBOX_API_KEY", client.reveal_key())
        for name, value in headers
    }
    response = requests.post(url, data=given["-d"], headers=values, timeout=20)

    assert ("curl", "-sS", 200) == (program, flags, response.status_code)
    assert (
        payerkit.get_payer_status(client, PAYER["clientUserId"]).user_id
        == response.json()["userId"]
    )


def test_the_first_call_goes_to_the_public_address() -> None:
    """Behind a proxy the page shows the address of the proxy, quoted for a shell."""
    with payerkit.sandbox(public_url="https://example.com/it's/") as client:
        assert "https://example.com/it's/v2/payer" in shlex.split(first_call(client))


def test_start_page_lists_the_faults_and_the_test_values(client: SandboxClient) -> None:
    """And says where all calls are described."""
    page = requests.get(client.base_url, timeout=20).text
    words = (
        *FAULTS,
        "latency",
        "slow_for",
        'href="openapi.json"',
        "kyc-full-clearance@example.com",
        "Example Bank payout bounced",
        "Example Bank no rail",
    )

    assert [] == [word for word in words if word not in page]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {},
            [
                "protocol fee of 0.1&nbsp;%",
                "0xFee5fEe5Fee5fEe5feE5fee5Fee5fee5fEe5feE5",
                "after it was submitted",
            ],
        ),
        (
            {},
            [
                "decided 5&nbsp;seconds after",
                "5&nbsp;seconds after they were stored",
                "To wait no longer",
            ],
        ),
        (
            {"fee_percent": 0, "decide_after": 0.5},
            ["no protocol fee", "decided 0.5&nbsp;seconds after"],
        ),
        ({"clock": "manual"}, ["The clock stands still"]),
        ({"live_like": True}, ["takes 5 calls a second", "not_yet_passed_kyc_kyb"]),
    ],
)
def test_start_page_tells_the_fee_and_the_waiting_times(
    options: dict[str, Any], words: list[str]
) -> None:
    """What a payment will cost and how long a decision takes can be read before the
    first call.
    """
    with payerkit.sandbox(**options) as client:
        page = " ".join(requests.get(client.base_url, timeout=20).text.split())

    assert [] == [word for word in words if word not in page]
