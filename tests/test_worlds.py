"""Several keys of one sandbox: each opens a world that no other sees; and how keys are given, checked and replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import requests
from sqlalchemy import insert, select, text, update

import payerkit
from payerkit.client.client import Client
from payerkit.errors import InvalidInput
from payerkit.onchain.currencies import token_list
from payerkit.sandbox_controls import SandboxControls
from payerkit.service.api_keys import load_api_keys
from payerkit.service.database_opening import open_database
from payerkit.service.encryption import (
    DamagedRecord,
    EncryptionKeys,
    load_encryption_keys,
    new_encryption_key,
)
from payerkit.service.server import Service
from payerkit.service.settings import Settings, SetupError
from payerkit.service.stored_rows import Base, EventRow, PaidRow, RequestRow, VersionRow
from payerkit.service.wallet import set_holding, set_rate
from published import BANK_DETAILS, PAYER
from stores import ENCRYPTION_KEY, open_store, open_worlds

ORDER = {"payee": "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7", "amount": "10", "invoice_currency": "USD"}
KEYS = {"alice": "alice-has-a-key-of-her-own", "bob": "bob-has-a-key-of-his-own"}


@pytest.fixture
def two() -> Iterator[tuple[Client, Client]]:
    """Yield clients with two keys of one sandbox."""
    with (
        payerkit.sandbox(api_keys=KEYS, clock="manual") as alice,
        payerkit.connect(alice.base_url, api_key=KEYS["bob"]) as bob,
    ):
        yield alice, bob


def test_each_key_has_payers_and_accounts_of_its_own(two: tuple[Client, Client]) -> None:
    """One client user id is two payers, with accounts and states that only one key sees."""
    alice, bob = two
    for client in two:
        payerkit.create_payer(client, PAYER)
    detail = payerkit.create_payment_detail(alice, "user-123", BANK_DETAILS)
    payerkit.update_agreement(alice, "user-123")
    counts = [len(payerkit.list_payment_details(client, "user-123")) for client in two]
    statuses = [payerkit.get_payer_status(client, "user-123").agreement_status for client in two]
    with pytest.raises(payerkit.NotFound):
        SandboxControls(bob).decide(str(detail.id), status="failed")

    assert ([1, 0], ["completed", "not_started"]) == (counts, statuses)
    assert [3, 1] == [len(SandboxControls(client).ledger()) for client in two]


def test_each_key_has_rates_wallet_clock_and_faults_of_its_own(two: tuple[Client, Client]) -> None:
    """What one key sets, another key does not meet."""
    alice, bob = (SandboxControls(client) for client in two)
    before = bob.now()
    alice.set_rate("EUR", "9")
    alice.set_wallet("fUSDC-sepolia", balance="0")
    alice.advance(minutes=5)
    alice.set_faults("fail_before=100%")

    assert (Decimal("1.10"), before) == (bob.rate("EUR"), bob.now())
    assert bob.wallet("fUSDC-sepolia")["balance"] > 0
    assert payerkit.initiate_payment(two[1], **ORDER, payment_currency="fUSDC-sepolia").request_id
    with pytest.raises(payerkit.PayerkitError):
        payerkit.create_payer(two[0], PAYER)


def test_limits_count_each_key_by_itself() -> None:
    """One key at its limit does not shut out the other."""
    with payerkit.sandbox(api_keys=KEYS, rate_limit=1) as alice:
        calls = [
            requests.get(f"{alice.base_url}/v2/payer/x", headers={"x-api-key": KEYS[name]}, timeout=20).status_code
            for name in ("alice", "alice", "bob")
        ]

    assert [404, 429, 404] == calls


def test_a_link_leads_to_the_payer_of_its_world(two: tuple[Client, Client]) -> None:
    """The links of one client user id in two worlds are different, and sign for one payer."""
    links = [payerkit.create_payer(client, PAYER).agreement_url or "" for client in two]
    requests.post(links[1], data={"consent": "yes"}, timeout=20)

    assert links[0] != links[1]
    assert ["not_started", "signed"] == [payerkit.get_payer_status(each, "user-123").agreement_status for each in two]


def test_seeded_worlds_have_ids_of_their_own(tmp_path: Path) -> None:
    """Equal seeds and equal payers in two worlds get different ids: ids are unique in a database."""
    worlds = open_worlds(tmp_path / "x.db", Settings(seed=1), "default", "other")
    stores = [worlds.of_key(f"{name} a key for tests of stores") for name in ("default", "other")]
    ids = [world.store.save_payer(PAYER).user_id for world in stores if world]
    alone = open_store(tmp_path / "y.db", Settings(seed=1))
    alone_id = alone.save_payer(PAYER).user_id
    for store in (alone, *(world.store for world in stores[:1] if world)):
        store.database.close()

    assert (2, ids[0]) == (len(set(ids)), alone_id)


def test_a_world_stays_when_its_key_is_replaced(tmp_path: Path) -> None:
    """A new key of the same name finds what was stored; the old key is refused."""
    with payerkit.sandbox(db=tmp_path / "x.db", api_keys=KEYS) as first:
        payerkit.create_payer(first, PAYER)
    with payerkit.sandbox(db=tmp_path / "x.db", api_keys={"alice": "a-new-key"}) as second:
        status = payerkit.get_payer_status(second, "user-123").kyc_status
        refused = requests.get(f"{second.base_url}/v2/payer/user-123", headers={"x-api-key": KEYS["alice"]}, timeout=20)

    assert ("not_started", 401) == (status, refused.status_code)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("one-key", {"default": "one-key"}),
        ("alice:key-a,bob:key-b", {"alice": "key-a", "bob": "key-b"}),
        (" alice:key-a , key-b ", {"alice": "key-a", "default": "key-b"}),
    ],
)
def test_keys_are_read_from_the_environment(given: str, expected: Mapping[str, str]) -> None:
    """One key opens the default world; several have names."""
    assert expected == load_api_keys(None, {"PAYERKIT_SANDBOX_API_KEY": given})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("key-a,key-b", "two keys for the world default; give each a name"),
        ("a:key-a,a:key-b", "two keys for the world a"),
        ("a:same,b:same", "two worlds have the same key"),
        ("Alice:key", "small letters, digits and hyphens"),
        ("a:", "not a valid key"),
        (" ", "not a valid key"),
        ("two words", "not a valid key"),
        ("a:b:key", "small letters"),
        ("key-a,", "not a valid key|two keys"),
    ],
)
def test_unclear_keys_are_refused_without_being_shown(given: str, words: str) -> None:
    """The message names the variable and what is wrong, and repeats no key."""
    with pytest.raises(SetupError, match=words) as caught:
        load_api_keys(None, {"PAYERKIT_SANDBOX_API_KEY": given})

    assert ("PAYERKIT_SANDBOX_API_KEY: ", False) == (str(caught.value)[:26], "key-a" in str(caught.value))


@pytest.mark.parametrize("keys", [["key-a"], "key-a", {"alice": None}, {1: "key-a"}, {"alice": b"key-a"}])
def test_what_are_no_keys_by_names_is_refused(keys: Any) -> None:
    """With an example of what is expected, and without the keys."""
    with pytest.raises(InvalidInput, match=r'api_keys: expected .* such as {"alice": KEY}') as caught:
        payerkit.sandbox(api_keys=keys)

    assert "key-a" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "host", "key", "words"),
    [
        ({}, "0.0.0.0", "short", "the key of the world default is too short"),  # noqa: S104 - every machine may reach it
        ({"public_url": "https://box.example.com"}, "127.0.0.1", "short", "too short"),  # through a proxy
        ({"seed": 1}, "0.0.0.0", "long-enough-to-be-a-key", "seed: with a seed, the links"),  # noqa: S104
        ({"seed": 1, "public_url": "https://box.example.com"}, "127.0.0.1", "long-enough-to-be-a-key", "seed: "),
    ],
)
def test_a_sandbox_that_others_reach_cannot_be_guessed(
    settings: dict[str, Any], host: str, key: str, words: str
) -> None:
    """A short key is refused, and so is a seed, from which the links could be computed."""
    with pytest.raises(SetupError, match=words):
        Service(Settings(**settings), host=host, environment={"PAYERKIT_SANDBOX_API_KEY": key})


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_sandbox_for_this_machine_takes_any_key(host: str) -> None:
    """There, short keys and seeds are fine, also behind a proxy of this machine."""
    settings = Settings(seed=1, public_url="http://localhost:9000/box")
    service = Service(settings, host=host, environment={"PAYERKIT_SANDBOX_API_KEY": "k"})
    service.stop()

    assert "k" == service.api_key


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"Alice's": "key"}, "small letters, digits and hyphens"),
        ({}, "expected at least one API key"),
        ({"alice": "short"}, "the key of the world alice is too short"),
    ],
)
def test_unclear_keys_are_refused_as_an_argument(keys: dict[str, str], words: str) -> None:
    """The message names the argument."""
    with pytest.raises(InvalidInput, match=f"api_keys: .*{words}"):
        payerkit.sandbox(api_keys=keys, public_url="https://box.example.com")


def test_an_encryption_key_is_replaced(tmp_path: Path) -> None:
    """Both are given once, the new one first; then the new one alone opens the database, and the old one no longer."""
    old, new = new_encryption_key(), new_encryption_key()
    for keys in ([old], [new, old], [new]):
        database = open_database(tmp_path / "x.db", EncryptionKeys(*keys))
        store = open_store(database)
        store.save_payer({**PAYER, "clientUserId": keys[0]})
        assert old == (store.find_payer(old).client_user_id)
        database.close()
    with pytest.raises(SetupError, match="encrypted with another key"):
        open_database(tmp_path / "x.db", EncryptionKeys(old))


def test_the_old_name_of_the_encryption_key_still_opens(tmp_path: Path) -> None:
    """PAYERKIT_SANDBOX_KEY is read if the new variable is missing, with a warning that has its new name."""
    with pytest.warns(FutureWarning, match="is now called PAYERKIT_SANDBOX_ENCRYPTION_KEY"):
        keys = load_encryption_keys(tmp_path / "x.db", {"PAYERKIT_SANDBOX_KEY": ENCRYPTION_KEY})

    assert (ENCRYPTION_KEY,) == keys.keys


def test_nothing_personal_is_readable_in_the_file(tmp_path: Path) -> None:
    """Payers, accounts and payments are encrypted, ids and payees included."""
    with payerkit.sandbox(db=tmp_path / "x.db") as client:
        payerkit.create_payer(client, PAYER)
        payerkit.create_payment_detail(client, "user-123", BANK_DETAILS)
        payerkit.initiate_payment(client, **ORDER, payment_currency="fUSDC-sepolia")
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    sent = {*map(str, PAYER.values()), *map(str, BANK_DETAILS.values()), ORDER["payee"], ORDER["payee"].lower()}

    assert [] == [value for value in sent if len(value) > 5 and value.encode() in content]


@pytest.mark.parametrize("table", ["payers", "payment_details", "payments", "ledger"])
def test_a_record_belongs_to_its_row(tmp_path: Path, table: str) -> None:
    """A record that was copied to another row, which needs no key, is refused there."""
    store = open_store(tmp_path / "x.db")
    for name in ("one", "two"):
        store.save_payer({**PAYER, "clientUserId": name})
        store.add_detail(name, BANK_DETAILS)
        store.add_payment(f"01{name}", name, "0x01")
    with store.database.write() as connection:
        column = "number" if table == "ledger" else "id"
        rows = Base.metadata.tables[table]
        first = select(rows.c.sealed).where(rows.c[column] == 1).scalar_subquery()
        connection.execute(update(rows).where(rows.c[column] > 1).values(sealed=first))
        page = connection.scalar(text("SELECT kyc_page FROM payers WHERE id = 2"))
        sealed = connection.scalar(text("SELECT sealed FROM payments WHERE id = 2"))
    readings: dict[str, Callable[[], object]] = {
        "payers": lambda: store.find_page("kyc", str(page)),
        "payment_details": lambda: store.list_details("two", None),
        "payments": lambda: store.database.cipher.unseal("payment 01two", sealed or b""),
        "ledger": lambda: store.ledger_rows(0, 10),
    }
    with pytest.raises(DamagedRecord):
        readings[table]()
    store.database.close()


def test_every_row_has_the_time_of_its_storing(tmp_path: Path) -> None:
    """In real time, though the clock of the sandbox is far ahead."""
    before = datetime.now(UTC)
    store = open_store(tmp_path / "x.db")
    store.advance(10**6)
    store.save_payer(PAYER)
    store.add_detail(PAYER["clientUserId"], BANK_DETAILS)
    store.add_payment("01", "an order", "0x01")
    currency = token_list()["fusdc-sepolia"]
    set_rate(store, currency, "1")
    set_holding(store, currency, {"balance": 1, "allowance": 0})
    number, event = "0x" + 64 * "0", {"world_id": store.world_id, "sealed": b""}
    request = {**event, "key": "x", "request_id": "01", "payment_reference": "0x01"}
    paid = {**request, "paid_id": "1", "transaction_hash": number, "paid_at": 0.0}
    with store.database.write() as connection:
        connection.execute(insert(RequestRow), request)
        connection.execute(insert(PaidRow), paid | {"invoice_currency": "USD", "payment_currency": "USD"})
        connection.execute(insert(EventRow), {**event, "delivery_id": "1", "fired_at": 0.0})
    tables = [each for each in Base.metadata.sorted_tables if each is not VersionRow.__table__]
    with store.database.read() as connection:
        times = {each.name: connection.scalars(select(each.c.created_at)).all() for each in tables}
    store.database.close()

    assert [] == [name for name, found in times.items() if not found]
    assert all(before <= time.replace(tzinfo=UTC) <= datetime.now(UTC) for found in times.values() for time in found)
