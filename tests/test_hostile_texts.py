"""One hostile text in all that is shown: no public object lets it steer a terminal,
turn the text around it, or become markup.
"""

from __future__ import annotations

import dataclasses
import io
import json
import pickle
import socket
import typing
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pandas as pd
import pytest
from pydantic import BaseModel

import payerkit
from example_addresses import OTHER, PAYEE
from far_end import FarEnd, Received, reply
from payerkit import PaymentPolicy
from payerkit.cli import main as cli
from payerkit.client import Client
from payerkit.explanations import explain
from payerkit.frames import columns, frame_of
from payerkit.models import Payment, Payout
from payerkit.models.responses import Response
from payerkit.money.order_trace import Trace
from payerkit.payments import (
    AddressBook,
    AgreedFee,
    KnownAddress,
    PaymentCard,
    write_safe_files,
)
from payout_service import answering, client_of
from published import BANK_DETAILS, PAYER

HOSTILE = (
    "\x1b[2J\x1b]0;title\x07\nok: money arrived\u202e\u200b\u2066<img src=x"
    " onerror=alert(1)>=cmd|' /C calc'!A0" + "x" * 3000
)


def public_places() -> list[ModuleType]:
    """Return the modules that a user imports from: payerkit, and those in its list."""
    values = [getattr(payerkit, name) for name in payerkit.__all__]
    return [payerkit, *(value for value in values if isinstance(value, ModuleType))]


def public_classes() -> list[type]:
    """Return the classes of public modules, each once."""
    classes: dict[type, None] = {}
    for module in public_places():
        for each in getattr(module, "__all__", dir(module)):
            value = getattr(module, each)
            if isinstance(value, type):
                classes[value] = None
    return [*classes]


def filled(cls: type) -> Any:
    """Return an object all of whose texts are hostile; None for a class that is made in
    another way.
    """
    if issubclass(cls, Response):
        names = {
            field.serialization_alias or name
            for name, field in cls.model_fields.items()
        }
        return cls.read(dict.fromkeys([*names, "unknown"], HOSTILE))
    if issubclass(cls, payerkit.PayerkitError):
        problem = payerkit.errors.FieldProblem(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
        return cls(HOSTILE, fields=(problem,))
    if issubclass(cls, BaseModel):
        # As it is, whatever a validator would say of it.
        texts = [
            name
            for name, field in cls.model_fields.items()
            if field.annotation in {str, str | None}
        ]
        words: dict[str, Any] = dict.fromkeys(texts, HOSTILE)
        return cls.model_construct(**words) if texts else None
    if not dataclasses.is_dataclass(cls):
        return None
    kinds = typing.get_type_hints(cls)
    values = {}
    for field in dataclasses.fields(cls):
        if kinds[field.name] in {str, str | None}:
            values[field.name] = HOSTILE
        elif field.default is dataclasses.MISSING and field.init:
            return None
    return cls(**values)


FROM_TABLES = {"Explanation"}
"""Classes whose texts are payerkit's own, none of others."""

FILLED = [
    cls
    for cls in public_classes()
    if cls.__name__ not in FROM_TABLES and filled(cls) is not None
]


def shown(value: Any) -> dict[str, str]:
    """Return all that a terminal or a notebook shows of an object."""
    texts = {"str": str(value), "repr": repr(value)}
    if getattr(value, "_repr_html_", None):
        texts["html"] = value._repr_html_() or ""
    if getattr(value, "_repr_mimebundle_", None):
        texts["mime bundle"] = json.dumps(value._repr_mimebundle_(), ensure_ascii=False)
    return texts


def harm_in(texts: dict[str, str]) -> list[str]:
    """Return what in these texts could do harm."""
    found = []
    for kind, text in texts.items():
        lines = text.split("\n")
        if any(char in text for char in "\x1b\x07\u202e\u200b\u2066"):
            found.append(f"{kind}: control characters")
        if any(line.strip().startswith("ok: money") for line in lines):
            found.append(f"{kind}: a line of its own")
        if kind == "html" and "<img" in text:
            found.append(f"{kind}: markup")
    return found


@pytest.mark.parametrize("cls", FILLED, ids=lambda cls: cls.__name__)
def test_no_public_object_shows_a_hostile_text(cls: type) -> None:
    """What a service or a file says is shown as text, in one line."""
    assert [] == harm_in(shown(filled(cls)))


def hostile_payment() -> Payment:
    """Return a payment that a service filled with its own words."""
    answer = payerkit.samples["honest"].to_dict(reveal=True)
    words = ("requestId", "paymentReference", "clientUserId", "note", HOSTILE)
    metadata = answer.get("metadata", {}) | {HOSTILE: HOSTILE, "chainId": HOSTILE}
    answer |= dict.fromkeys(words, HOSTILE) | {"metadata": metadata}
    answer["transactions"][0] |= {HOSTILE: HOSTILE}
    return payerkit.read_payment(answer, order=payerkit.samples["honest"].order)


def hostile_card() -> PaymentCard:
    """Return the card of a payment whose transaction, account and order are words."""
    transaction = dict.fromkeys(("to", "data", "value"), HOSTILE)
    order = dict.fromkeys(payerkit.PaymentOrder.model_fields, HOSTILE)
    payout = filled(Payout)
    read = Payment.read({"transactions": [transaction]}, payout=payout)
    return read.card(order=order)


def hostile_policy() -> PaymentPolicy:
    """Return a policy with the words of a stranger's file."""
    return PaymentPolicy(
        fees=(AgreedFee(address=OTHER, max_percent=1, name=HOSTILE),),
        addresses=AddressBook([KnownAddress(address=PAYEE, name=HOSTILE)]),
    )


PAYERS = pd.DataFrame(
    [PAYER | {"firstName": HOSTILE, "city": HOSTILE, "email": HOSTILE}]
)
ACCOUNTS = pd.DataFrame(
    [BANK_DETAILS | {"clientUserId": "user-1", "accountName": HOSTILE}]
)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Give a client of a service whose every word is hostile."""
    with hostile_service() as service:
        yield client_of(service)


def hostile_service() -> FarEnd:
    """Return a service that says yes to all, with hostile words in each member."""
    ids = ("userId", "kycStatus", "agreementStatus", "kycUrl", "agreementUrl")
    account_members = (
        *("id", "userId", "bankName", "accountName", "accountNumber", "currency"),
        *("status", "rails", "rejectionMessage", HOSTILE),
    )
    request_members = (
        *("requestId", "paymentReference", "reference", "status", "txHash", "note"),
        *("payerAddress", "invoiceCurrency", "paymentCurrency", "createdAt", HOSTILE),
    )
    account = dict.fromkeys(account_members, HOSTILE)
    request = dict.fromkeys(request_members, HOSTILE) | {"hasBeenPaid": False}
    bodies = {
        "GET payment-details": {"paymentDetails": [account]},
        "POST payment-details": {"payment_detail": account},
        "GET request": {"requests": [request], "pagination": {"total": 1}},
        "GET payments": {"payments": [request], "pagination": {"total": 1}},
    }

    def behave(connection: socket.socket, received: Received) -> bool | None:
        path = urlsplit(received.target).path
        place = f"{received.method} {path.rpartition('/')[2]}"
        usual = dict.fromkeys([*ids, HOSTILE], HOSTILE) | request
        return reply(200, json.dumps(bodies.get(place, usual)))(connection, received)

    return FarEnd([behave])


def refusing(status: int) -> FarEnd:
    """Return a service that refuses all with hostile words, in every published
    shape.
    """
    entry = {"field": HOSTILE, "message": HOSTILE, "code": HOSTILE}
    body = {"message": [HOSTILE, entry], "errors": [entry], "error": HOSTILE}
    return answering(body | {"code": HOSTILE}, status=status)


def outcome(make: Callable[[], Any]) -> Any:
    """Return what a function returns, or the error that it raises."""
    try:
        return make()
    except payerkit.PayerkitError as error:
        return error


OF_FILES: dict[str, Callable[[], Any]] = {
    "payment": hostile_payment,
    "card": lambda: hostile_payment().card(policy=hostile_policy()),
    "card of words": hostile_card,
    "checked payment": lambda: payerkit.check_payment(
        hostile_payment(), policy=hostile_policy()
    ),
    "payment findings": lambda: payerkit.check_payments({HOSTILE: hostile_payment()}),
    "transactions": lambda: payerkit.decode_transactions(hostile_payment()),
    "safe files": lambda: write_safe_files(
        {HOSTILE: hostile_payment()}, "safe", safe=OTHER, anyway=True
    ),
    "safe hashes": lambda: hostile_payment().safe_hashes(
        safe=OTHER, nonce=1, anyway=True
    ),
    "policy": hostile_policy,
    "address book": lambda: hostile_policy().addresses,
    "missing policy": lambda: PaymentPolicy.read(HOSTILE[:50]),
    "findings": lambda: payerkit.check_payer(
        PAYERS.iloc[0].to_dict() | {"country": HOSTILE}
    ),
    "findings of an account": lambda: payerkit.check_bank_details(
        ACCOUNTS.iloc[0].to_dict() | {"currency": HOSTILE}
    ),
    "frame of findings": lambda: payerkit.check_payers(PAYERS),
    "unknown field": lambda: payerkit.check_payer({HOSTILE: HOSTILE}),
    "plan": lambda: payerkit.plan_onboarding(PAYERS),
    "frame of a plan": lambda: payerkit.plan_onboarding(PAYERS).frame,
    "findings of a plan": lambda: payerkit.plan_onboarding(PAYERS).findings,
    "events": lambda: payerkit.read_events(
        [{"event": HOSTILE, "reference": HOSTILE, "status": HOSTILE}]
    ),
    "read table": lambda: payerkit.read_payers(
        PAYERS.assign(**{HOSTILE: HOSTILE}), mapping={HOSTILE: None}
    ),
    "refused table": lambda: payerkit.read_payers(PAYERS.assign(**{HOSTILE: HOSTILE})),
    "proposed columns": lambda: payerkit.tables.propose_mapping(
        pd.DataFrame({HOSTILE: [HOSTILE], "IBAN": [HOSTILE]})
    ),
    "mapping": lambda: payerkit.tables.ColumnMapping(
        [HOSTILE, "Konto"], {HOSTILE: HOSTILE}
    ),
    "settings": lambda: payerkit.connect(HOSTILE, api_key="key"),
    "trace": lambda: Trace(HOSTILE, "not_paid", explain("in_progress"), (), None),  # type: ignore[arg-type]
}
"""What a user gets of a file or a table whose words are hostile; an error is shown,
too.
"""

REFUSED = {"missing policy", "refused table", "settings"}
"""What is an error, which shows the words of the file."""

OF_SERVICES: dict[str, Callable[[Client], Any]] = {
    "report": lambda client: payerkit.onboard(
        client, pd.DataFrame([PAYER]), journal="run.journal"
    ),
    "frame of a report": lambda client: (
        payerkit.onboard(client, pd.DataFrame([PAYER]), journal="run.journal").frame
    ),
    "report of accounts": lambda client: payerkit.onboard(
        client, ACCOUNTS, journal="run.journal"
    ),
    "verified": lambda client: payerkit.runs.verify_onboarding(client, ACCOUNTS),
    "statuses": lambda client: payerkit.payer_statuses(client, ["user-123"]),
    "wait report": lambda client: payerkit.wait_for(client, ["user-123"], timeout=0),
    "payer status": lambda client: payerkit.get_payer_status(client, "user-1"),
    "stored account": lambda client: payerkit.create_payment_detail(
        client, "user-123", BANK_DETAILS
    ),
    "accounts": lambda client: payerkit.list_payment_details(client, "user-1"),
    "requests": payerkit.list_requests,
    "payments": lambda client: payerkit.list_payments(client, reference="x"),
    "orders": lambda client: payerkit.reconcile(
        payerkit.list_requests(client), client=client
    ),
    "request": lambda client: payerkit.get_request(client, "request-1"),
    "trace": lambda client: payerkit.trace(client, HOSTILE[-100:]),
    "client": lambda client: client,
    "payer form": lambda client: payerkit.PayerForm(client, first_name=HOSTILE),
}
"""What a user gets of a service whose words are hostile."""


@pytest.mark.parametrize("kind", OF_FILES)
def test_nothing_of_a_file_shows_a_hostile_text(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever function returns it, in no representation."""
    monkeypatch.chdir(tmp_path)

    value = outcome(OF_FILES[kind])

    assert (kind in REFUSED) == isinstance(value, payerkit.PayerkitError)
    assert [] == harm_in(shown(value))


@pytest.mark.parametrize("kind", OF_SERVICES)
def test_nothing_of_a_service_shows_a_hostile_text(
    kind: str, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever function returns it, in no representation."""
    monkeypatch.chdir(tmp_path)

    value = outcome(lambda: OF_SERVICES[kind](client))

    assert not isinstance(value, payerkit.PayerkitError)
    assert [] == harm_in(shown(value))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 500])
@pytest.mark.parametrize(
    "call",
    [
        lambda client: payerkit.create_payer(client, PAYER),
        lambda client: payerkit.list_payment_details(client, "user-123"),
        lambda client: payerkit.payer_statuses(client, ["user-123"]),
        lambda client: payerkit.trace(client, "INV-1"),
    ],
)
def test_no_refusal_shows_a_hostile_text(
    status: int, call: Callable[[Client], Any]
) -> None:
    """A message of the service is one line of text, whatever it says."""
    with refusing(status) as service:
        client = client_of(service)

        assert [] == harm_in(shown(outcome(lambda: call(client))))


COMMANDS: dict[str, list[str]] = {
    "onboard": ["onboard", "payers.csv"],
    "dry run": ["onboard", "payers.csv", "--dry-run"],
    "verify": ["onboard", "payers.csv", "--verify"],
    "accounts": ["onboard", "accounts.csv"],
    "verified accounts": ["onboard", "accounts.csv", "--verify"],
    "hostile table": ["onboard", "hostile.csv"],
    "hostile options": ["onboard", "payers.csv", "--column", f"{HOSTILE}={HOSTILE}"],
    "hostile file": ["onboard", HOSTILE[:60]],
    "inspect": ["inspect", "payment.json"],
    "inspect with a policy": ["inspect", "payment.json", "--policy", "policy.toml"],
    "inspect nothing": ["inspect", HOSTILE[:60]],
    "inspect an order": ["inspect", "payment.json", "--amount", HOSTILE],
    "trace": ["trace", "INV-1"],
    "trace with a payment": ["trace", "INV-1", "--payment", "payment.json"],
    "hostile reference": ["trace", HOSTILE],
    "template": ["onboard", "--template", HOSTILE],
    "no command": [HOSTILE],
    "sandbox": ["sandbox", "--db", f"/nowhere/{HOSTILE[:60]}/x.db"],
    "sandbox with faults": ["sandbox", "--faults", HOSTILE],
}


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("kind", COMMANDS)
def test_no_command_shows_a_hostile_text(
    kind: str,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whoever runs a command on a file or against a service reads text, and no more."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame([PAYER]).to_csv("payers.csv", index=False)
    pd.DataFrame([{"clientUserId": "user-1"} | BANK_DETAILS]).to_csv(
        "accounts.csv", index=False
    )
    PAYERS.assign(**{HOSTILE: HOSTILE}).to_csv("hostile.csv", index=False)
    hostile_payment().save("payment.json")
    hostile_policy().save("policy.toml")
    with hostile_service() if status == 200 else refusing(status) as service:
        monkeypatch.setenv("PAYERKIT_BASE_URL", service.url)
        monkeypatch.setenv("PAYERKIT_API_KEY", "key-of-a-test")
        with suppress(SystemExit):
            cli.main(COMMANDS[kind])
    printed = capsys.readouterr()

    assert printed.out + printed.err
    assert [] == harm_in({"out": printed.out, "err": printed.err})


def test_public_objects_are_tried() -> None:
    """The classes are found, whatever is added."""
    assert len(FILLED) > 10


def hostile_frame() -> pd.DataFrame:
    """Return a frame as functions return them, whose texts, label and one of whose
    columns are hostile.
    """
    row = {"name": HOSTILE, "error": HOSTILE}
    index = pd.Index([HOSTILE], name=HOSTILE)
    frame = frame_of([row], columns("name error"), index=index)
    return frame.assign(**{HOSTILE: 1})


def written(frame: pd.DataFrame) -> str:
    """Return what a frame writes to an open file, such as that of a terminal."""
    file = io.StringIO()
    frame.to_string(file)
    return file.getvalue()


FRAMES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "itself": lambda frame: frame,
    "some of its rows": lambda frame: frame[frame["name"].notna()],
    "some of its columns": lambda frame: frame[["name", "error"]],
    "sorted": lambda frame: frame.sort_values("name"),
    "merged": lambda frame: frame.merge(frame, on="name"),
    "in groups": lambda frame: frame.groupby("name").sum(numeric_only=True),
    "joined": lambda frame: pd.concat([frame, frame]),
    "by its texts": lambda frame: frame.set_index(["name"]),
    "by two of its texts": lambda frame: frame.set_index(["name", "error"]),
    "turned": lambda frame: frame.T,
    "copied": lambda frame: frame.copy(),
    "pickled": lambda frame: pickle.loads(pickle.dumps(frame)),  # noqa: S301
    "read from a table": lambda _: payerkit.read_payers(
        pd.DataFrame({"Customer ID": [HOSTILE], "Country": ["Germany"]})
    ),
    "rewritten cells": lambda _: (
        payerkit.read_payers(
            pd.DataFrame({"Country": ["Germany"], HOSTILE: [HOSTILE]}, index=[HOSTILE]),
            normalise=True,
            mapping={HOSTILE: None},
        ).changes
    ),
}
"""Frames that functions return, and what people make of them."""


@pytest.mark.parametrize("kind", FRAMES)
def test_no_frame_shows_a_hostile_text(kind: str) -> None:
    """In a terminal or a notebook, whole or cut off."""
    frame = FRAMES[kind](hostile_frame())
    texts = shown(frame) | {"to_string": frame.to_string(), "file": written(frame)}
    with pd.option_context("display.max_colwidth", None):
        texts["whole"] = repr(frame)

    assert "\\x1b" in texts["to_string"]
    assert [] == harm_in(texts)


@pytest.mark.parametrize(
    "part",
    [
        lambda frame: frame["name"],
        lambda frame: frame[HOSTILE],
        lambda frame: frame.iloc[0],
        lambda frame: frame["name"].str.strip(),
        lambda frame: frame["name"].value_counts(),
        lambda frame: frame["name"].head(1),
        lambda frame: frame["name"].to_frame(),
        lambda frame: frame["name"].map(str),
        lambda frame: frame.groupby("name")["error"].first(),
        lambda frame: pickle.loads(pickle.dumps(frame["name"])),  # noqa: S301
    ],
)
def test_no_part_of_a_frame_shows_a_hostile_text(
    part: Callable[[pd.DataFrame], Any],
) -> None:
    """A column, a row, and what is made of them."""
    found = part(hostile_frame())
    texts = shown(found) | {"to_string": found.to_string()}

    assert "\\x1b" in texts["to_string"]
    assert [] == harm_in(texts)


def test_a_frame_keeps_hostile_texts_as_data(tmp_path: Path) -> None:
    """Only what is shown is escaped: cells and files have the text as it came."""
    frame = hostile_frame()
    plain = pd.DataFrame(frame)
    frame.to_string(tmp_path / "frame.txt")

    assert [HOSTILE] == frame["name"].tolist()
    assert HOSTILE == frame["name"].iloc[0] == frame.iloc[0]["name"]
    assert plain.to_csv() == frame.to_csv()
    assert [] == harm_in({"file": (tmp_path / "frame.txt").read_text("utf-8")})
