"""The page with what a world holds: by whom it can be read, and what it shows."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest
import requests

import payerkit
from payerkit.client import Client
from payerkit.connection import SandboxClient
from payerkit.sandbox_controls import SandboxControls
from published import BANK_DETAILS, ORDER, PAYER

KEYS = {"alice": "the-key-of-alice", "bob": "the-key-of-bob"}
EMAIL_ID = "john.doe@example.com"


def basic(user: str, password: str) -> str:
    """Return the header of a browser that was given a name and a password."""
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


@pytest.fixture(scope="module")
def client() -> Iterator[SandboxClient]:
    """Yield a sandbox with something of each kind in the world of its first key."""
    with payerkit.sandbox(seed=1, api_keys=KEYS) as sandbox:
        for client_user_id in ("user-123", EMAIL_ID, "john%40example.com"):
            payerkit.create_payer(sandbox, {**PAYER, "clientUserId": client_user_id})
            payerkit.create_payment_detail(sandbox, client_user_id, BANK_DETAILS)
        payerkit.initiate_payment(sandbox, ORDER)
        sandbox.sandbox.set_rate("EUR", "1.2")
        yield sandbox


def stored(client: Client, key: str = KEYS["alice"], **query: str) -> str:
    """Return the page as a browser gets it."""
    url = f"{client.base_url}/sandbox/stored"
    response = requests.get(url, params=query, auth=("anyone", key), timeout=20)
    response.raise_for_status()
    return response.text


def cells(page: str) -> list[list[str]]:
    """Return the rows of the table on a page."""
    return [re.findall("<td>(.*?)</td>", row) for row in re.findall("<tr><td>(?:.*?)</tr>", page)]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"x-api-key": KEYS["alice"]}, 200),
        ({"x-api-key": "wrong"}, 401),
        ({"Authorization": basic("", KEYS["alice"])}, 200),
        ({"Authorization": basic("alice", "wrong")}, 401),
        ({"Authorization": basic(KEYS["alice"], "")}, 401),  # as the name of a user
        ({"Authorization": f"Bearer {KEYS['alice']}"}, 401),
        ({"Authorization": "Basic"}, 401),
        ({"Authorization": "Basic ****"}, 401),  # no base64
        ({"Authorization": "Basic /w=="}, 401),  # no UTF-8
    ],
)
def test_the_page_needs_the_key(client: SandboxClient, headers: dict[str, str], status: int) -> None:
    """As the header of a call, or as a password, for which a browser is asked."""
    response = requests.get(f"{client.base_url}/sandbox/stored", headers=headers, timeout=20)

    assert status == response.status_code
    assert ("WWW-Authenticate" in response.headers) == (status == 401)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/sandbox/ledger"),
        ("GET", "/v2/payer/user-123"),
        ("PUT", "/sandbox/faults"),
        ("POST", "/sandbox/stored"),
    ],
)
def test_a_password_opens_nothing_else(client: SandboxClient, method: str, path: str) -> None:
    """A browser sends it by itself, whatever page makes it call: so it must not open what writes."""
    auth = ("", KEYS["alice"])
    response = requests.request(method, client.base_url + path, auth=auth, json={"plan": ""}, timeout=20)

    assert (401, False) == (response.status_code, "WWW-Authenticate" in response.headers)


def test_the_page_counts_what_there_is(client: SandboxClient) -> None:
    """Each kind with its number, what was set by hand, and the world."""
    page = " ".join(stored(client).split())

    assert [] == [
        words
        for words in (
            "Payers (3)",
            "Payment details (3)",
            "Payments (1)",
            "Ledger (6)",
            "1 exchange rate,",
            "balance of 0 currencies",
            "the world <code>alice</code>",
        )
        if words not in page
    ]


@pytest.mark.parametrize(
    ("kind", "newest"),
    [
        ("payers", ["••••", "individual", "US", "not_started", "not_started"]),
        ("payment_details", [".*", "••••", "Chase", "••••3489", "usd", "pending"]),
        ("payments", ["01.*", "10", "USD", "ETH-sepolia-sepolia", "0x.*"]),
        ("ledger", ["6", "payment_detail", "••••", ".*", "[0-9a-f]{16}"]),
    ],
)
def test_each_kind_has_its_rows(client: SandboxClient, kind: str, newest: list[str]) -> None:
    """The newest row stands first; each ends with the time at which it was stored."""
    first = cells(stored(client, kind=kind))[0]

    assert len(newest) + 1 == len(first)
    assert [] == [found for wanted, found in zip(newest, first, strict=False) if not re.fullmatch(wanted, found)]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", first[-1])


@pytest.mark.parametrize("kind", ["payers", "payment_details", "payments", "ledger"])
def test_nothing_personal_is_shown(client: SandboxClient, kind: str) -> None:
    """No name, number or address of a payer or an account; no id that is an e-mail address; no key."""
    page = stored(client, kind=kind)
    shown = {"individual", "business", "US", "NY", "CA", "usd", "Chase", "user-123", "local"}
    typed: list[Any] = [*PAYER.values(), *BANK_DETAILS.values(), EMAIL_ID, "john%40", *KEYS.values()]

    assert [] == [value for value in typed if value not in shown and value in page]


def test_each_key_sees_its_own_world(client: SandboxClient) -> None:
    """The other key's page is empty, and has the fault plan of its own world."""
    bob = Client(client.base_url, KEYS["bob"])
    SandboxControls(bob).set_faults("exists=50%")
    pages = {"bob": stored(client, KEYS["bob"]), "alice": stored(client)}
    bob.close()

    assert ["bob"] == [name for name, page in pages.items() if "<code>exists=50%</code>" in page]
    assert ["bob"] == [name for name, page in pages.items() if "None yet." in page]


def test_a_state_is_the_present_one() -> None:
    """What was decided meanwhile is shown as decided."""
    with payerkit.sandbox(clock="manual") as client:
        payerkit.create_payer(client, PAYER)
        payerkit.create_payment_detail(client, "user-123", BANK_DETAILS)
        pages = [stored(client, client.reveal_key(), kind="payment_details")]
        client.sandbox.advance(seconds=60)
        pages.append(stored(client, client.reveal_key(), kind="payment_details"))

    assert ["pending", "approved"] == [cells(page)[0][5] for page in pages]
    assert "stands still at" in " ".join(pages[0].split())


def test_the_links_lead_from_part_to_part(client: SandboxClient) -> None:
    """Before the oldest row there are none; a link leads back to the newest."""
    page = stored(client, kind="ledger", before="1")

    assert ([], True, True) == (cells(page), "no older ones" in page, '<a href="?kind=ledger">Newest</a>' in page)


@pytest.mark.parametrize(
    ("query", "field"), [({"kind": "meta"}, "kind"), ({"before": "0"}, "before"), ({"before": str(2**63)}, "before")]
)
def test_a_wrong_query_is_refused(client: SandboxClient, query: dict[str, str], field: str) -> None:
    """The tables of keys are none of the kinds, and no number is too large for a database."""
    url = f"{client.base_url}/sandbox/stored"
    response = requests.get(url, params=query, headers={"x-api-key": KEYS["alice"]}, timeout=20)

    assert (400, field) == (response.status_code, response.json()["errors"][0]["field"])


def test_the_page_is_as_closed_as_the_others(client: SandboxClient) -> None:
    """No script, no external content, no frame around it, not cached; what was typed is text."""
    payerkit.create_payer(client, {**PAYER, "clientUserId": "<script>x</script>"})
    response = requests.get(f"{client.base_url}/sandbox/stored", headers={"x-api-key": KEYS["alice"]}, timeout=20)

    assert ("no-store", "no-referrer") == (response.headers["Cache-Control"], response.headers["Referrer-Policy"])
    assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
    assert "<script>" not in response.text
