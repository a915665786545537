"""The client under faults: the right error, nothing sent twice that may not be, nothing
secret shown, nothing hung.
"""

from __future__ import annotations

import copy
import io
import json
import logging
import os
import pickle
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import requests

import payerkit
from cases import table, table_rows
from clocks import within
from conftest import KEY
from far_end import (
    Behaviour,
    FarEnd,
    Received,
    close,
    cut,
    drip,
    hang,
    interrupt,
    message,
    raw,
    reply,
    reset,
)
from payerkit import InvalidInput, PayerkitError, Refused, UnknownOutcome, errors
from payerkit.client import Client, Timeout
from payerkit.client import transport as pool
from payerkit.client.call import RequestBody
from payerkit.errors import (
    InterruptedCall,
    NotFound,
    NotSent,
    RateLimited,
    ServiceError,
    UnreadableAnswer,
    WrongKey,
)
from payerkit.reasons import WAITING_CODES
from published import ANSWERS, BANK_DETAILS, ORDER, PAYER

Connect = Callable[..., Client]


@pytest.fixture(params=["requests", "session"])
def connected(request: pytest.FixtureRequest, connected: Connect) -> Iterator[Connect]:
    """Make clients over the default transport, and over a session of the user's."""
    with requests.Session() as session:
        yield (
            connected
            if request.param == "requests"
            else partial(connected, session=session)
        )


default_only = pytest.mark.parametrize("connected", ["requests"], indirect=True)
"""For what the README says is weaker with a session of the user's."""

PACKAGE = str(Path(payerkit.__file__).parent)
SECRETS = (
    KEY,
    PAYER["ssn"],
    BANK_DETAILS["accountNumber"],
    BANK_DETAILS["routingNumber"],
)

WRITES: dict[str, Callable[[Client], Any]] = {
    "create_payer": lambda client: payerkit.create_payer(client, PAYER),
    "create_payment_detail": lambda client: payerkit.create_payment_detail(
        client, "user-123", BANK_DETAILS
    ),
    "initiate_payment": lambda client: payerkit.initiate_payment(client, ORDER),
}
READS: dict[str, Callable[[Client], Any]] = {
    "get_payer_status": lambda client: payerkit.get_payer_status(client, "user-123"),
    "list_payment_details": lambda client: payerkit.list_payment_details(
        client, "user-123"
    ),
}


def agreement(client: Client) -> Any:
    """Make the one write that sets a constant."""
    return payerkit.update_agreement(client, "user-123")


CALLS = {**WRITES, **READS, "update_agreement": agreement}
GOOD = {
    name: ANSWERS["pay_native" if name == "initiate_payment" else name]
    for name in CALLS
}

FAULTS = {row["why"]: row for row in table_rows("faults")}
REFUSALS = [
    why
    for why, row in FAULTS.items()
    if issubclass(getattr(errors, row["kind"]), Refused)
]
UNPROVEN = [why for why in FAULTS if why not in REFUSALS]


def fault(why: str) -> tuple[Behaviour, type[PayerkitError], int | None]:
    """Return what a far end does, and the error of a read that meets it, with its
    status.
    """
    row = FAULTS[why]
    status, text = (
        int(row["status"] or 0),
        row["body"] if isinstance(row["body"], str) else json.dumps(row["body"]),
    )
    body = text.encode("latin-1") * int(row["times"])
    ways = {
        "reset": reset,
        "close": close,
        "raw": raw(body),
        "cut": cut(status, body),
        "reply": reply(status, body, row["headers"]),
    }
    return ways[row["sends"]], getattr(errors, row["kind"]), status or None


def outcome(
    url: str, call: Callable[[Client], Any], connected: Connect, **options: Any
) -> PayerkitError:
    """Return the error that a call raises."""
    with pytest.raises(PayerkitError) as caught:
        call(connected(url, max_response=100_000, **options))
    return caught.value


@pytest.mark.parametrize("name", ["create_payment_detail", "get_payer_status"])
@pytest.mark.parametrize("why", REFUSALS)
def test_refusals(name: str, why: str, connected: Connect) -> None:
    """What the service refused is told as refused, by its class, and sent once."""
    behaviour, kind, status = fault(why)
    with FarEnd([behaviour]) as far:
        error = outcome(far.url, CALLS[name], connected)

        assert (kind, status, 1) == (type(error), error.status_code, len(far.ledger))


@pytest.mark.parametrize("status", [400, 403, 409, 422])
@pytest.mark.parametrize("code", WAITING_CODES)
def test_a_refusal_that_ends_by_itself_is_about_the_payer(
    code: str, status: int, connected: Connect
) -> None:
    """Also with 403: the key is fine, and the error says when to call again."""
    with FarEnd(
        [reply(status, json.dumps({"message": "Forbidden", "code": code}))]
    ) as far:
        error = outcome(far.url, CALLS["create_payment_detail"], connected)

    assert isinstance(error, Refused)
    assert (Refused, code, status, True) == (
        type(error),
        error.code,
        error.status_code,
        error.retryable,
    )
    assert f"Try again once {WAITING_CODES[code]}." in str(error)


@pytest.mark.parametrize(
    ("behaviour", "kind", "code"),
    [
        (
            reply(403, '{"message": "not_your_payer"}'),
            WrongKey,
            "not_your_payer",
        ),  # not a code that is listed
        (
            reply(401, '{"code": "not_yet_passed_kyc_kyb"}'),
            WrongKey,
            "not_yet_passed_kyc_kyb",
        ),  # 401 is always the key
        (reply(404, '{"code": "no_such_payer"}'), NotFound, "no_such_payer"),
        (reply(400, "<html>"), Refused, ""),
    ],
)
def test_every_refusal_has_a_code(
    behaviour: Behaviour, kind: type[Refused], code: str, connected: Connect
) -> None:
    """It is empty if the service gave none; other classes and their advice stay as they
    are.
    """
    with FarEnd([behaviour]) as far:
        error = outcome(far.url, CALLS["create_payment_detail"], connected)

    assert isinstance(error, Refused)
    assert (kind, code, False) == (type(error), error.code, error.retryable)


@pytest.mark.parametrize(("why", "name"), list(product(UNPROVEN, WRITES)))
def test_unproven_writes(name: str, why: str, connected: Connect) -> None:
    """A write whose outcome nothing proves is told as unknown, and never sent twice."""
    behaviour, _, status = fault(why)
    with FarEnd([behaviour, reply(200)]) as far:
        error = outcome(far.url, WRITES[name], connected)

        assert (UnknownOutcome, status, 1) == (
            type(error),
            error.status_code,
            len(far.ledger),
        )
        assert isinstance(error, UnknownOutcome)
        assert name == error.operation


@pytest.mark.parametrize(("why", "name"), list(product(UNPROVEN, READS)))
def test_failing_reads(name: str, why: str, connected: Connect) -> None:
    """A read is tried three times, and then told as what it met."""
    behaviour, kind, status = fault(why)
    with FarEnd([behaviour]) as far:
        error = outcome(far.url, READS[name], connected)

        assert (kind, status, 3) == (type(error), error.status_code, len(far.ledger))


@pytest.mark.parametrize(
    ("why", "name"), list(product(UNPROVEN, [*READS, "update_agreement"]))
)
def test_what_may_be_repeated_survives_a_fault(
    name: str, why: str, connected: Connect
) -> None:
    """A read, and the write that sets a constant, come through when the second try
    does.
    """
    behaviour, _, _ = fault(why)
    with FarEnd([behaviour, good(name)]) as far:
        result = CALLS[name](connected(far.url, max_response=100_000))

        assert (True, 2) == (result is not None, len(far.ledger))


def payload(answer: Any) -> bytes:
    """Return an answer as a service writes it."""
    return RequestBody(answer).content


def good(name: str) -> Behaviour:
    """Return the published answer to a call."""
    return reply(200, payload(GOOD[name]))


def limited(told: str) -> Behaviour:
    """Refuse as too frequent, with a Retry-After."""
    return reply(429, "{}", {"Retry-After": told})


@pytest.mark.parametrize(
    ("behaviours", "name", "kind", "requests"),
    [
        ([reset], "update_agreement", UnknownOutcome, 3),  # no try proves anything
        (
            [reset, reply(401)],
            "update_agreement",
            UnknownOutcome,
            2,
        ),  # the second try says nothing about the first
        (
            [limited("3600")],
            "get_payer_status",
            RateLimited,
            1,
        ),  # a wait beyond the deadline
        *(
            (
                [limited(told)],
                "get_payer_status",
                RateLimited,
                1,
            )  # no wait at all, or beyond all measure
            for told in ("soon", "-1", "9" * 400, "9" * 5000, "Wed, 99 Foo 2026")
        ),
    ],
)
def test_how_often_a_call_is_sent(
    behaviours: list[Behaviour],
    name: str,
    kind: type,
    requests: int,
    connected: Connect,
) -> None:
    """As often as that cannot do harm; nothing waits for long, and the error is that of
    the whole call.
    """
    waits: list[float] = []
    with FarEnd(behaviours) as far:
        error = outcome(far.url, CALLS[name], connected, sleep=waits.append)

        assert (kind, requests, requests - 1) == (
            type(error),
            len(far.ledger),
            len(waits),
        )


@pytest.mark.parametrize("name", CALLS)
def test_what_never_left_is_tried_again_and_told_so(
    name: str, connected: Connect
) -> None:
    """No connection proves that nothing happened, for a write as well."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    waits: list[float] = []
    error = outcome(url, CALLS[name], connected, sleep=waits.append)

    assert (NotSent, True, 2) == (type(error), error.retryable, len(waits))


@pytest.mark.parametrize("name", CALLS)
def test_a_limit_is_waited_out_exactly(name: str, connected: Connect) -> None:
    """A refusal for coming too fast proves that nothing happened: after the wait it is
    sent again, by any call.
    """
    waits: list[float] = []
    with FarEnd([reply(429, "{}", {"Retry-After": "7"}), good(name)]) as far:
        CALLS[name](connected(far.url, sleep=waits.append, clock=lambda: 0.0))

        assert ([7.0], 2) == (waits, len(far.ledger))


@pytest.mark.parametrize("hours", [None, -5, 0, 5])
def test_a_limit_with_a_date_is_one_of_the_services_clock(
    hours: int | None, connected: Connect
) -> None:
    """A clock that is hours off, here or there, makes no wait longer or shorter. A
    service that does not tell its time has that of this machine.
    """
    waits: list[float] = []
    there = datetime.now(UTC) + timedelta(hours=hours or 0)
    until = format_datetime(there + timedelta(seconds=20), usegmt=True)
    headers = {"Retry-After": until}
    if hours is not None:
        headers["Date"] = format_datetime(there, usegmt=True)
    with FarEnd([reply(429, "{}", headers), good("get_payer_status")]) as far:
        READS["get_payer_status"](connected(far.url, sleep=waits.append))

    assert 15 < waits[0] <= 20


SHORT = Timeout(connect=1, read=30, total=0.2)


def drips(length: int) -> dict[str, Behaviour]:
    """Return responses of about so many bytes, by the part that comes byte after
    byte.
    """
    head, chunked = b"HTTP/1.1 200 OK\r\n", b"Transfer-Encoding: chunked\r\n\r\n"
    whole = message(200, b" " * length)
    return {
        "headers": drip(head + b"X: " + b"x" * length, 0.02),
        "headers that end": drip(head + b"X: " + b"x" * length + b"\r\n\r\n", 0.02),
        "body": drip(whole, 0.02, at_once=len(whole) - length),
        "body of no length": drip(head + b"\r\n" + b" " * length, 0.02, at_once=19),
        "chunks": drip(
            head + chunked + b"1\r\n \r\n" * (length // 5), 0.02, at_once=60
        ),
    }


@pytest.mark.parametrize("name", ["create_payer", "get_payer_status"])
@pytest.mark.parametrize("part", drips(20))
def test_a_response_that_trickles_past_the_deadline_says_so(
    name: str, part: str, connected: Connect
) -> None:
    """The error says that time ran out, and not what the rest of the response looked
    like.
    """
    with FarEnd([drips(20)[part]]) as far:
        error = outcome(far.url, CALLS[name], connected, timeout=SHORT)

    assert "TimeoutError: no complete response before the deadline" in str(error)


LATE = {"hang": hang, "empty": raw(message(200, b""))} | drips(500)


@pytest.mark.parametrize("name", ["create_payer", "get_payer_status"])
@pytest.mark.parametrize(
    ("connected", "way"),
    [
        ("requests", "hang"),
        ("session", "hang"),
        ("requests", "empty"),
        ("session", "empty"),
        # The README says that a session of the user's is weaker there.
        ("requests", "body"),
        ("requests", "body of no length"),
        ("requests", "chunks"),
    ],
    indirect=["connected"],
)
def test_no_call_outlives_its_deadline(name: str, way: str, connected: Connect) -> None:
    """A far end that is silent, has nothing to say, or sends a body byte after byte,
    does not keep a call beyond its deadline.
    """
    with within(3), FarEnd([LATE[way]]) as far:
        error = outcome(far.url, CALLS[name], connected, timeout=SHORT)

    assert error.__class__ in {UnknownOutcome, ServiceError, UnreadableAnswer}


def test_a_stalled_answer_ends_at_the_read_timeout(connected: Connect) -> None:
    """Without a byte for the time to read, the call gives up long before the
    deadline.
    """
    with within(5), FarEnd([hang]) as far:
        outcome(
            far.url,
            WRITES["initiate_payment"],
            connected,
            timeout=Timeout(read=0.2, total=60),
        )


VIEWS: dict[str, Callable[[BaseException], str]] = {
    "str": str,
    "repr": repr,
    "attributes": lambda error: repr(vars(error)),
    "traceback": lambda error: "".join(traceback.format_exception(error)),
    "traceback with locals": lambda error: "".join(
        traceback.TracebackException.from_exception(
            error, capture_locals=True, lookup_lines=False
        ).format()
    ),
    "locals of all frames": lambda error: repr(
        [frame.f_locals for frame in frames(error)]
    ),
    "causes": lambda error: repr(
        [vars(cause) | {"args": cause.args} for cause in causes(error)]
    ),
}


def causes(error: BaseException | None) -> list[BaseException]:
    """Return an error and everything it hangs together with."""
    return (
        []
        if error is None
        else [error, *causes(error.__cause__), *causes(error.__context__)]
    )


def frames(error: BaseException) -> list[Any]:
    """Return the frames of an error that belong to the package."""
    found = [
        frame
        for each in causes(error)
        for frame, _ in traceback.walk_tb(each.__traceback__)
    ]
    return [frame for frame in found if frame.f_code.co_filename.startswith(PACKAGE)]


def echo(connection_: socket.socket, request: Received) -> None:
    """Refuse, and repeat everything that was sent, also where only a name is due."""
    sent = (
        f"{request.headers} {request.body.decode()}"
        f" {request.body.decode().replace('-', '')}"
    )
    told = {"message": sent, "errors": [{"field": sent, "message": sent, "code": sent}]}
    connection_.sendall(message(400, payload(told)))


def echo_as(form: str) -> Behaviour:
    """Repeat everything that was sent in a place where HTTP has its own words."""

    def behave(connection_: socket.socket, request: Received) -> None:
        sent = f"{request.headers} {request.body.decode()}"
        connection_.sendall(form.format(sent).encode())

    return behave


ECHOES = {
    "an echo": echo,
    "an echo for a status line": echo_as("{}\r\n\r\n"),
    "an echo for a header": echo_as(
        "HTTP/1.1 400 Bad\r\nX {}\r\nContent-Length: 0\r\n\r\n"
    ),
    "an echo for the length of a chunk": echo_as(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}\r\n"
    ),
    "an echo for an address": echo_as(
        "HTTP/1.1 302 Found\r\nLocation: https://{}/\r\nContent-Length: 0\r\n\r\n"
    ),
}
LEAKY: dict[str, Behaviour] = ECHOES | {why: fault(why)[0] for why in FAULTS}


@pytest.mark.parametrize("why", LEAKY)
def test_no_failure_shows_a_secret(why: str, connected: Connect) -> None:
    """Neither an error, nor its traceback with all locals, nor the logs hold the key or
    a secret of the body.
    """
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.DEBUG)
    try:
        for name, call in WRITES.items():
            with FarEnd([LEAKY[why]]) as far:
                error = outcome(far.url, call, connected)
            shown = {view: look(error) for view, look in VIEWS.items()} | {
                "log": log.getvalue()
            }

            assert [] == [
                (name, view)
                for view, text in shown.items()
                for secret in SECRETS
                if secret in text
            ]
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger().setLevel(logging.WARNING)


def test_a_failure_leaves_the_callers_own_errors_alone(connected: Connect) -> None:
    """A call that fails while the caller handles an error of theirs names its own
    cause, and does not touch theirs.
    """
    with FarEnd([reset]) as far:
        try:
            os.environ["NOT_SET"]
        except KeyError as error:
            own, failure = error, outcome(far.url, WRITES["create_payer"], connected)

    assert own.__traceback__ is not None
    assert "ConnectionResetError" in str(failure)


def test_key_goes_only_to_where_it_belongs(connected: Connect) -> None:
    """A redirect to another address is not followed: nothing arrives there, neither key
    nor body.
    """
    with FarEnd([reply(200)]) as elsewhere:
        for status in (301, 302, 303, 307, 308):
            with FarEnd(
                [reply(status, b"", {"Location": f"{elsewhere.url}/v2/payer"})]
            ) as far:
                outcome(far.url, WRITES["create_payer"], connected)

        assert [] == elsewhere.ledger


def test_request_is_what_the_service_expects(connected: Connect) -> None:
    """Key, types and length stand in the headers, and nothing of the environment; the
    body is sent byte for byte.
    """
    with FarEnd([good("create_payer")]) as far:
        WRITES["create_payer"](connected(far.url))
        request = far.ledger[0]

    assert ("POST", "/v2/payer") == (request.method, request.target)
    assert (KEY, "application/json") == (
        request.headers["x-api-key"],
        request.headers["content-type"],
    )
    assert (
        RequestBody(payerkit.Payer.of(PAYER, {}).to_dict(reveal=True)).content
        == request.body
    )
    own = {
        "host",
        "x-api-key",
        "accept",
        "accept-encoding",
        "user-agent",
        "content-type",
        "content-length",
    }
    assert set(request.headers) - {"connection"} == own  # a session adds that one


STATUS = payload(ANSWERS["get_payer_status"])


@pytest.mark.parametrize(
    "ending", [b"", b"\r\n", message(200, payload(ANSWERS["create_payer"]))]
)
def test_what_follows_an_answer_is_nobodys_answer(
    ending: bytes, connected: Connect
) -> None:
    """Bytes after an answer, in its packet or later, are not read as the answer to the
    next call.
    """
    sent = threading.Semaphore(0)

    def late(connection_: socket.socket, _: Received) -> bool:
        connection_.sendall(message(200, STATUS) + ending)
        time.sleep(0.05)
        connection_.sendall(ending)
        sent.release()
        return True

    with FarEnd([late]) as far:
        client = connected(far.url)
        for _ in range(3):
            assert (
                payerkit.get_payer_status(client, "user-123").to_dict()
                == ANSWERS["get_payer_status"]
            )
            assert sent.acquire(timeout=5)


def test_a_connection_that_the_service_closed_is_not_used(connected: Connect) -> None:
    """A write after the service has closed the kept connection goes over a new one, and
    is no unknown outcome.
    """

    def once(connection_: socket.socket, _: Received) -> None:
        connection_.sendall(message(200, payload(ANSWERS["create_payer"])))

    with FarEnd([once]) as far:
        client = connected(far.url)
        for _ in range(5):
            WRITES["create_payer"](client)
            time.sleep(0.05)

        assert (5, 5) == (len(far.ledger), far.connections)


@default_only
def test_nothing_goes_over_an_idle_connection(
    connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that the service may be about to close is not trusted, with a write
    above all.
    """
    monkeypatch.setattr(pool, "MAX_IDLE", 0.05)
    with FarEnd([good("create_payer")]) as far:
        client = connected(far.url)
        for call in (
            WRITES["create_payer"],
            READS["get_payer_status"],
            WRITES["create_payer"],
        ):
            call(client)
            time.sleep(0.1)

        assert (3, 3) == (len(far.ledger), far.connections)


def test_many_threads_share_a_client(connected: Connect) -> None:
    """Calls of more threads at once than connections are kept neither mix nor fail."""
    with FarEnd([good("get_payer_status")]) as far:
        client = connected(far.url)
        results: list[str | None] = []
        threads = [
            threading.Thread(
                target=lambda: results.append(
                    payerkit.get_payer_status(client, "user-123").kyc_status
                ),
                daemon=True,
            )
            for _ in range(40)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=20)

        assert ["completed"] * 40 == results


on_posix = pytest.mark.skipif(
    os.name != "posix", reason="signals reach one thread on POSIX only"
)


@on_posix
@pytest.mark.parametrize("name", [*WRITES, "update_agreement"])
def test_an_interrupted_write_is_an_unknown_outcome(
    name: str, connected: Connect
) -> None:
    """Whoever interrupts a write that has left learns that it may have happened."""
    with FarEnd([interrupt]) as far:
        error = outcome(far.url, CALLS[name], connected)

        assert (InterruptedCall, 1) == (type(error), len(far.ledger))
        assert isinstance(error, KeyboardInterrupt)
        assert [] == [
            view
            for view, look in VIEWS.items()
            for secret in SECRETS
            if secret in look(error)
        ]


@on_posix
@pytest.mark.parametrize("name", READS)
def test_an_interrupted_read_is_an_interrupt(name: str, connected: Connect) -> None:
    """A read that is interrupted changed nothing, so the interrupt stays one; no error
    with a secret hangs on it.
    """
    with FarEnd([interrupt]) as far, pytest.raises(KeyboardInterrupt) as caught:
        CALLS[name](connected(far.url))

    assert (None, None) == (caught.value.__context__, caught.value.__cause__)


@table("addresses_refused")
def test_addresses_that_cannot_be_used_are_refused(base_url: Any, words: str) -> None:
    """An address that is incomplete, or would show the key, is refused before anything
    is sent.
    """
    with pytest.raises(InvalidInput, match=words):
        Client(base_url, KEY)


@pytest.mark.parametrize(
    "base_url",
    [
        "https://api.example.com",
        "http://127.0.0.1:8000",
        "http://localhost:1",
        "http://[::1]:8000/base/",
    ],
)
def test_addresses_that_can_be_used(base_url: str) -> None:
    """Https anywhere, plain http on this machine, a path in front of the routes."""
    assert base_url.rstrip("/") == Client(base_url, KEY).base_url


@pytest.mark.parametrize("key", ["", None, "key\n", " key", "kéy", "a\x00b"])
def test_keys_that_cannot_be_sent_are_refused(key: Any) -> None:
    """A key that was copied badly is refused; what a header cannot carry is never
    tried.
    """
    with pytest.raises(InvalidInput, match=r"api_key: (give the key|the key has)"):
        Client("https://api.example.com", key)


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan"), "60"])
def test_timeouts_that_make_no_sense_are_refused(timeout: Any) -> None:
    """A time is a positive, finite number of seconds."""
    with pytest.raises(InvalidInput, match="timeout"):
        Client("https://api.example.com", KEY, timeout=timeout)


def test_client_shows_no_key() -> None:
    """What a notebook shows of a client has the address and a fingerprint."""
    client = Client("https://api.example.com", KEY)
    views = [repr(client), str(vars(client)), str(vars(client._transport))]

    assert [] == [view for view in views if KEY in view]
    assert "https://api.example.com" in repr(client)


def test_client_is_not_pickled() -> None:
    """A client, or its key, is not handed to another process by accident."""
    client = Client("https://api.example.com", KEY)
    for hand_on, held in (
        (pickle.dumps, client),
        (pickle.dumps, client._key),
        (copy.deepcopy, client._key),
    ):
        with pytest.raises(TypeError, match="cannot be pickled"):
            hand_on(held)


def test_proxies_of_the_environment_do_not_see_this_machine(
    connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls to this machine do not go through a proxy, whatever the environment
    says.
    """
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    with FarEnd([good("get_payer_status")]) as far:
        status = READS["get_payer_status"](connected(far.url))

    assert status.kyc_status == "completed"


def test_without_a_key_the_error_names_its_variable() -> None:
    """A notebook is not asked for it either: it would stop a run of all cells."""
    with pytest.raises(InvalidInput, match="set PAYERKIT_API_KEY"):
        payerkit.connect("https://api.example.com")


ours = {
    name: BANK_DETAILS[str(field.serialization_alias)]
    for name, field in payerkit.BankDetails.model_fields.items()
    if field.serialization_alias in BANK_DETAILS
}


def call_in_a_pause(client: Client) -> Any:
    """Call while the client pauses for longer than a call may take."""
    client.pace.record(RateLimited("slow down", retry_after=500), 0)
    return WRITES["create_payer"](client)


REFUSED: dict[str, Callable[[Client], Any]] = {
    "a call in a pause": call_in_a_pause,
    "a dict with a fault": lambda client: payerkit.create_payer(
        client, {**PAYER, "email": "x"}
    ),
    "fields with a fault": lambda client: payerkit.create_payment_detail(
        client, "user-123", **{**ours, "currency": ""}
    ),
    "an id that cannot be sent": lambda client: payerkit.create_payment_detail(
        client, "..", **ours
    ),
    "an unknown member": lambda client: payerkit.create_payer(
        client, {**PAYER, "snn": PAYER["ssn"]}
    ),
    "a dict of the wrong kind": lambda client: payerkit.initiate_payment(client, PAYER),
    "no client": lambda _: payerkit.create_payer("client", PAYER),  # type: ignore[arg-type]
    "an object with other values": (
        lambda _: payerkit.Payer.of(PAYER, {}).replace(ssn="")
    ),
    "an address that cannot be used": lambda _: payerkit.connect(
        "http://api.example.com", api_key=KEY
    ),
    "a timeout that cannot be": lambda _: payerkit.connect(
        "https://api.example.com", api_key=KEY, timeout=-1
    ),
    "a key in the place of the address": lambda _: payerkit.connect(KEY),
    "a key with a line break": lambda _: payerkit.connect(
        "https://api.example.com", api_key=KEY + "\n"
    ),
    "a database that is none": lambda _: payerkit.sandbox(
        db="postgresql+psycopg://x:no database password@127.0.0.1:9/x"
    ),
    "a fee that is none": lambda _: payerkit.sandbox(fee_percent=200),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_input_leaves_no_trace(
    name: str, connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was wrong with what was given, none of it is in the error or in the
    variables of its frames.
    """
    monkeypatch.setenv("PAYERKIT_API_KEY", KEY)
    with pytest.raises(PayerkitError) as caught:
        REFUSED[name](connected("http://127.0.0.1:9"))
    secrets = [*SECRETS, "no database password"]
    shown = [
        VIEWS[view](caught.value)
        for view in ("str", "repr", "attributes", "locals of all frames")
    ]

    assert [] == [secret for secret in secrets for text in shown if secret in text]


def test_an_interrupt_before_anything_left_leaves_no_trace(connected: Connect) -> None:
    """Ctrl+C while a write waits for its second try stays an interrupt, without the
    body in its frames.
    """

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    with (
        FarEnd([reply(429, headers={"Retry-After": "1"})]) as far,
        pytest.raises(KeyboardInterrupt) as caught,
    ):
        payerkit.create_payer(connected(far.url, sleep=interrupted), PAYER)

    assert not isinstance(caught.value, PayerkitError)
    assert [] == [
        secret
        for secret in SECRETS
        if secret in VIEWS["locals of all frames"](caught.value)
    ]


@pytest.mark.parametrize(
    "wrong_call",
    [
        lambda client: payerkit.create_payer(client, PAYER, PAYER),  # type: ignore[call-arg]
        lambda _: payerkit.check_payer(PAYER, ignored=()),  # type: ignore[call-arg]
        lambda _: payerkit.connect("https://api.example.com", KEY),  # type: ignore[call-arg]
        lambda _: payerkit.connect("https://api.example.com", key=KEY),  # type: ignore[call-arg]
    ],
    ids=["one too many", "one unknown", "a key by position", "a key by another name"],
)
def test_a_call_with_wrong_arguments_leaves_no_trace(
    wrong_call: Callable[[Client], Any],
) -> None:
    """The error about arguments that a function does not take has none of them in the
    variables of its frames.
    """
    with pytest.raises(TypeError) as caught:
        wrong_call(Client("http://127.0.0.1:9", KEY))

    assert [] == [
        secret
        for secret in SECRETS
        if secret in VIEWS["locals of all frames"](caught.value)
    ]


def test_faults_of_the_package_keep_their_frames(connected: Connect) -> None:
    """An error that is not ours is a fault to be found, so nothing of it is cut
    away.
    """

    def broken(_: float) -> None:
        raise ZeroDivisionError

    with (
        FarEnd([reply(429, headers={"Retry-After": "1"})]) as far,
        pytest.raises(ZeroDivisionError) as caught,
    ):
        payerkit.create_payer(connected(far.url, sleep=broken), PAYER)

    assert "send" in {frame.f_code.co_name for frame in frames(caught.value)}


def test_a_forked_process_uses_connections_of_its_own(
    connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that another process opened is not used: two would read each other's
    responses.
    """
    with FarEnd([good("create_payer")]) as far:
        client = connected(far.url)
        WRITES["create_payer"](client)
        monkeypatch.setattr("os.getpid", lambda: -1)
        WRITES["create_payer"](client)

        assert (2, 2) == (len(far.ledger), far.connections)
