"""The receiver of events: what it stores, what it refuses, and what no kill and no second receiver can spoil."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import socket
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
import uvicorn

from payerkit import InvalidInput, read_events
from payerkit.cli import main as cli
from payerkit.disk import lock_file
from payerkit.events import file as events_file
from payerkit.events import receiver
from payerkit.events.file import EventsFile
from payerkit.events.receiver import MAX_BODY, EventReceiver
from payerkit.service.server import listen, uvicorn_config
from processes import running
from published_events import COMPLIANCE, DELIVERY_ID, FAILED, SECRET, body_of, headers_of, line_of

BODY = body_of(COMPLIANCE)
LINE = json.dumps(line_of(COMPLIANCE)).encode() + b"\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a path for a new file of events."""
    return tmp_path / "events.jsonl"


def take(
    app: EventReceiver,
    body: bytes = BODY,
    headers: Any = None,
    *,
    messages: Sequence[Any] | None = None,
    on_send: Callable[[Any], object] = print,
    **scope: Any,
) -> tuple[int, dict[str, str]]:
    """Return status and headers of the response to a delivery, or to other messages, called as by a server."""
    sent: list[Any] = []
    given = headers_of(body) if headers is None else headers
    parts: list[Any] = [{"type": "http.request", "body": each} for each in (body[:10], body[10:])]
    parts[0]["more_body"] = True
    waiting = [*(parts if messages is None else messages)]

    async def receive() -> Any:
        return waiting.pop(0) if waiting else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        on_send(message)
        sent.append(message)

    encoded = [(name.encode(), value.encode()) for name, value in given.items()]
    asyncio.run(app({"type": "http", "method": "POST", "headers": encoded, **scope}, receive, send))
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


def receiver_of(path: Path, shown: list[str] | None = None) -> EventReceiver:
    """Return a receiver that shows its lines in a list."""
    return EventReceiver(EventsFile(path), SECRET, ([] if shown is None else shown).append)


def test_a_delivery_is_stored_as_it_arrived(path: Path) -> None:
    """Its raw body and the four headers, none of a proxy; reading verifies it once more."""
    status, _ = take(receiver_of(path), headers=headers_of(BODY) | {"authorization": "Basic x"})
    line = json.loads(path.read_text())

    assert (200, BODY.decode(), headers_of(BODY)) == (status, line["body"], line["headers"])
    assert [("valid", DELIVERY_ID)] == [
        *read_events(path, secret=SECRET)[["signature", "delivery"]].itertuples(False, None)
    ]


def test_200_is_sent_only_after_the_line_is_on_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service forgets an event that was received: by then it must survive a power cut."""
    app, steps = receiver_of(path), []
    monkeypatch.setattr(events_file, "sync_file", lambda file: steps.append(os.fstat(file).st_size))
    take(app, on_send=lambda message: steps.append(message.get("status")))

    assert [path.stat().st_size, 200, None] == steps


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (headers_of(BODY, secret="other"), BODY),
        (headers_of(BODY), BODY.replace(b"approved", b"rejected")),
        (headers_of(BODY) | {"x-request-network-signature": "x"}, BODY),
        ({}, BODY),
        (headers_of(b""), BODY),
    ],
)
def test_a_wrong_signature_is_refused(path: Path, headers: dict[str, str], body: bytes) -> None:
    """401, nothing is stored, and only the first of them is shown."""
    shown: list[str] = []
    app = receiver_of(path, shown)
    statuses = [take(app, body, headers)[0] for _ in range(3)]

    assert ([401] * 3, b"", 3, 1) == (statuses, path.read_bytes(), app.refused, len(shown))


def test_what_was_signed_is_stored_whatever_it_is(path: Path) -> None:
    """The service sent it, so it is kept, also if it is no event that anybody knows, or no text."""
    app = receiver_of(path)
    bodies = [b"", b"\xff", b"[]", body_of({"event": "something.new"})]

    assert [200] * 4 == [take(app, body, headers_of(body, str(n)))[0] for n, body in enumerate(bodies)]
    assert ["valid"] * 4 == list(read_events(path, secret=SECRET)["signature"])


@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD"])
def test_other_methods_are_refused(path: Path, method: str) -> None:
    """Events arrive by POST."""
    status, headers = take(receiver_of(path), method=method)

    assert (405, "POST", b"") == (status, headers["allow"], path.read_bytes())


@pytest.mark.parametrize("length", [None, str(MAX_BODY + 1), "9" * 5000])
def test_a_body_has_a_limit(path: Path, length: str | None) -> None:
    """However it is announced; the largest one that is allowed is stored."""
    app = receiver_of(path)
    large, allowed = b"x" * (MAX_BODY + 1), b"x" * MAX_BODY
    announced = {} if length is None else {"content-length": length}

    assert (413, 200) == (take(app, large, headers_of(large) | announced)[0], take(app, allowed)[0])
    assert 1 == app.stored


@pytest.mark.parametrize(("messages", "status"), [([], 408), ([{"type": "http.disconnect"}], 400)])
def test_a_body_that_does_not_arrive_is_not_stored(
    path: Path, monkeypatch: pytest.MonkeyPatch, messages: list[Any], status: int
) -> None:
    """What does not end is not waited for, and the connection ends; nor is what the service breaks off."""
    monkeypatch.setattr(receiver, "BODY_SECONDS", 0.01)
    found, headers = take(receiver_of(path), messages=messages)

    assert (status, "close", b"") == (found, headers["connection"], path.read_bytes())


def test_what_cannot_be_stored_is_not_confirmed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a full disk the service is told so, nothing half stays, and a later delivery is stored."""
    shown: list[str] = []
    app = receiver_of(path, shown)
    with monkeypatch.context() as patch:
        patch.setattr(events_file, "sync_file", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left")))
        full = take(app)[0]
    empty = path.read_bytes()

    assert (503, b"", 200) == (full, empty, take(app)[0])
    assert "not stored: No space left" in shown[0]


def test_what_is_shown_is_not_personal(path: Path) -> None:
    """The name of an event and the id of its delivery, both harmless to a terminal; no id of a payer."""
    shown: list[str] = []
    event = {"event": "\x1b[31mpayment" + "x" * 100, "clientUserId": "zoe@example.com"}
    take(receiver_of(path, shown), body_of(event), headers_of(body_of(event), "\x07" + "1" * 500))

    assert [True, True, False] == [words in shown[0] for words in ("\\x1b[31mpayment", "\\x07111", "zoe")]
    assert len(shown[0]) < 200


def test_the_file_is_for_its_owner_only(path: Path) -> None:
    """It has personal data."""
    EventsFile(path)

    assert os.name != "posix" or stat.S_IMODE(path.stat().st_mode) == 0o600


HALF = [
    # what a killed receiver left -> what stays of it
    (b"", b""),
    (LINE, LINE),
    (LINE[:-1], LINE),  # whole, but for its end
    (LINE + b"\0" * 100, LINE),  # after a power cut
    (LINE + b"\xc3", LINE),
    (LINE + b'{"received_at": "' + b"x" * 300_000, LINE),  # longer than a block that is read
]


@pytest.mark.parametrize(("left", "stays"), HALF, ids=range(len(HALF)))
def test_a_half_line_is_cut_off(path: Path, left: bytes, stays: bytes) -> None:
    """At the start, and whenever a line is appended, since another receiver may have been killed meanwhile."""
    path.write_bytes(left)
    file = EventsFile(path)
    at_start = path.read_bytes()
    path.write_bytes(left)
    file.append(LINE)

    assert (stays, stays + LINE) == (at_start, path.read_bytes())


def test_a_line_may_be_cut_anywhere(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was written of the second line, the first one and the next one are whole."""
    monkeypatch.setattr(events_file, "sync_file", lambda _: None)
    file = EventsFile(path)
    for cut in range(len(LINE) - 1):
        path.write_bytes(LINE + LINE[:cut])
        file.append(LINE)

        assert LINE * 2 == path.read_bytes()


@pytest.mark.parametrize("content", [b"notes of mine", b"{", b'{"event":"x"}', b"\n", b"\0"])
def test_another_file_is_left_alone(path: Path, content: bytes) -> None:
    """What is no file of events is refused, and nothing of it is cut off; except what may be the start of one."""
    path.write_bytes(content)
    if content == b"{":
        EventsFile(path)
        assert b"" == path.read_bytes()
        return
    with pytest.raises(InvalidInput, match=r"to: events\.jsonl is not a file of events"):
        EventsFile(path)

    assert content == path.read_bytes()


def test_a_file_may_be_moved_away(path: Path) -> None:
    """The next line begins a new one."""
    file = EventsFile(path)
    file.append(LINE)
    path.rename(path.with_suffix(".old"))
    file.append(LINE)

    assert [LINE, LINE] == [each.read_bytes() for each in (path, path.with_suffix(".old"))]


def test_two_receivers_share_a_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of several at once do not mix, and none is lost."""
    monkeypatch.setattr(events_file, "sync_file", lambda _: None)
    files = [EventsFile(path) for _ in range(4)]
    lines = [json.dumps(line_of({**FAILED, "place": place}, str(place))).encode() + b"\n" for place in range(200)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda place: files[place % 4].append(lines[place]), range(200)))

    assert sorted(lines) == sorted(path.read_bytes().splitlines(keepends=True))


def test_a_file_that_another_process_holds_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a while; then the service is told to try again."""
    app = receiver_of(path)
    monkeypatch.setattr(events_file, "_LOCK_SECONDS", 0.02)
    held = os.open(path, os.O_RDWR)
    lock_file(held, 0)
    busy = take(app)[0]
    os.close(held)

    assert (503, 200, 1) == (busy, take(app)[0], app.stored)


@contextmanager
def served(path: Path) -> Iterator[tuple[str, EventReceiver]]:
    """Serve a receiver as the command does; give its address."""
    app = receiver_of(path)
    with listen("127.0.0.1", 0) as listening:
        server = uvicorn.Server(uvicorn_config(app))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}", app
        finally:
            server.should_exit = True
            thread.join()


def test_it_is_served_with_the_bounds_of_the_sandbox(path: Path) -> None:
    """Over HTTP: an event is stored, a forged one refused, and a head without end is cut off."""
    given: list[dict[str, str]] = [headers_of(BODY), headers_of(BODY, secret="other"), {}]
    with served(path) as (url, app):
        statuses = [requests.post(f"{url}/any", data=BODY, headers=each, timeout=20).status_code for each in given]
        with closing(socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=20)) as endless:
            endless.sendall(b"POST /" + b"x" * 2**17)
            reply = endless.recv(100)

    assert ([200, 401, 401], b"HTTP/1.1 400", 1) == (statuses, reply[:12], app.stored)


@pytest.mark.parametrize(
    ("arguments", "secret", "words"),
    [
        ([], "", "secret: set PAYERKIT_EVENTS_SECRET"),
        ([], " x", "PAYERKIT_EVENTS_SECRET begins or ends with a blank"),
        (["--listen", "70000"], "x", "--listen: expected a number from 0 to 65535"),
        (["--to", "nowhere/events.jsonl"], "x", "nowhere/events.jsonl: No such file or directory"),
        (["--to", "."], "x", "Is a directory"),
    ],
)
def test_the_command_says_what_it_lacks(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    secret: str,
    words: str,
) -> None:
    """It ends with 1 before it listens, and never shows the secret."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PAYERKIT_EVENTS_SECRET", secret)

    assert 1 == cli.main(["events", *arguments])
    assert words in capsys.readouterr().err


def test_the_secret_may_be_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unseen, if there is a terminal and no variable."""
    from payerkit.cli.events import _read_secret  # noqa: PLC0415 - one private function

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda _: "typed")

    assert "typed" == _read_secret()


def address(printed: str) -> str:
    """Return the address of a receiver that was printed."""
    return next(word for word in printed.split() if word.startswith("http://"))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="these signals are a matter of POSIX")
def test_two_receivers_and_a_kill(tmp_path: Path) -> None:
    """Two commands append to one file while one of them is killed: what was confirmed is there, once, and whole."""
    confirmed: list[str] = []

    def send(url: str, place: int) -> None:
        body = body_of({**FAILED, "place": place})
        try:
            reply = requests.post(url, data=body, headers=headers_of(body, str(place)), timeout=20)
        except requests.ConnectionError:
            return
        if reply.status_code == 200:
            confirmed.append(str(place))

    secret = {"PAYERKIT_EVENTS_SECRET": SECRET}
    with (
        running("events", "--listen", "0", folder=tmp_path, **secret) as (one, process),
        running("events", "--listen", "0", folder=tmp_path, **secret) as (other, _),
        ThreadPoolExecutor(8) as pool,
    ):
        for place in range(400):
            pool.submit(send, address(one if place % 2 else other), place)
            if place == 200:
                process.kill()
    frame = read_events(tmp_path / "events.jsonl", secret=SECRET)

    assert {"valid"} == set(frame["signature"])
    assert len(confirmed) >= 200
    assert set(confirmed) <= set(frame["delivery"])
    assert {1} == set(frame["deliveries"])


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="these signals are a matter of POSIX")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_the_command_ends_with_a_count(tmp_path: Path, ending: signal.Signals) -> None:
    """Ctrl+C, or the end of a container; neither the secret nor an id of a payer was shown."""
    with running("events", "--listen", "0", "--to", "e.jsonl", folder=tmp_path, PAYERKIT_EVENTS_SECRET=SECRET) as (
        printed,
        process,
    ):
        requests.post(address(printed), data=BODY, headers=headers_of(BODY), timeout=20)
        process.send_signal(ending)
        rest, _ = process.communicate(timeout=20)

    assert "1 event stored, 0 refused." in rest
    assert (130 if ending == signal.SIGINT else 143) == process.returncode
    assert [] == [each for each in (SECRET, "user-123", "Traceback") if each in printed + rest]
