"""Databases of earlier versions: upgraded, whole or not at all, or refused; and many services that start at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from sqlalchemy import create_engine, inspect, text

from old_databases import KINDS, answers_of, load_old_database
from payerkit.service.database import open_database
from payerkit.service.encryption import (
    ENCRYPTION_KEY_VARIABLE,
    OLD_ENCRYPTION_KEY_VARIABLE,
    EncryptionKeys,
    new_encryption_key,
)
from payerkit.service.server import Service
from payerkit.service.settings import Settings, SetupError
from published import BANK_DETAILS, ORDER, PAYER
from stores import ENCRYPTION_KEY, open_store

KEYS = EncryptionKeys(ENCRYPTION_KEY)
SETTINGS = {"first": Settings(seed="old"), "last": Settings(seed="old", clock="manual")}


@contextmanager
def serving(db: str | Path, kind: str) -> Iterator[Any]:
    """Run a service on a database; give a function that calls it with the API key of 0.1.0."""
    answers = answers_of(db, kind)
    environment = {ENCRYPTION_KEY_VARIABLE: ENCRYPTION_KEY}
    if isinstance(db, Path):
        db.with_name(f"{db.name}.api-key").write_text(answers["api_key"], "ascii")
    service = Service(SETTINGS[kind], db=db, environment=environment)
    service.start()
    try:
        with requests.Session() as session:
            session.headers["x-api-key"] = answers["api_key"]
            yield lambda method, path, body=None: session.request(method, service.url + path, json=body, timeout=20)
    finally:
        service.stop()


@pytest.mark.parametrize("kind", KINDS)
def test_everything_of_an_old_database_is_there(database: str | Path, kind: str) -> None:
    """The service says of an upgraded database what 0.1.0 said, with the same key and identity."""
    load_old_database(database, kind)
    answers = answers_of(database, kind)
    with serving(database, kind) as call:
        responses = {path: call("GET", path) for path in answers["read"]}
    import json
    for path in answers["read"]:
        if answers["read"][path] != responses[path].json():
            print(path, json.dumps(answers["read"][path]), responses[path].text)
    assert answers["read"] == {path: response.json() for path, response in responses.items()}
    assert {answers["identity"]} == {response.headers["x-payerkit-sandbox"] for response in responses.values()}
