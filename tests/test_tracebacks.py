"""Tracebacks: short for a person, and without secrets for tools that show the variables."""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import payerkit
from conftest import KEY
from far_end import FarEnd, reply, reset
from payerkit import PayerkitError
from payerkit.client import Client
from published import BANK_DETAILS, PAYER

PACKAGE = str(Path(payerkit.__file__).parent)
SECRETS = [KEY, PAYER["ssn"], BANK_DETAILS["accountNumber"], BANK_DETAILS["routingNumber"], "no database password"]


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Give an error and everything that it hangs together with."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def variables(error: BaseException) -> str:
    """Return all variables of the package's frames in an error's tracebacks."""
    frames = [frame for each in chain(error) for frame, _ in traceback.walk_tb(each.__traceback__)]
    return repr([frame.f_locals for frame in frames if frame.f_code.co_filename.startswith(PACKAGE)])


ours = {
    name: BANK_DETAILS[str(field.alias)]
    for name, field in payerkit.BankDetails.model_fields.items()
    if field.alias in BANK_DETAILS
}

REFUSED: dict[str, Callable[[Client], Any]] = {
    "a dict with a fault": lambda client: payerkit.create_payer(client, {**PAYER, "email": "x"}),
    "fields with a fault": lambda client: payerkit.create_payment_detail(
        client, "user-123", **{**ours, "currency": ""}
    ),
    "an id that cannot be sent": lambda client: payerkit.create_payment_detail(client, "..", **ours),
    "an unknown member": lambda client: payerkit.create_payer(client, {**PAYER, "snn": PAYER["ssn"]}),
    "a dict of the wrong kind": lambda client: payerkit.initiate_payment(client, PAYER),
    "no client": lambda _: payerkit.create_payer("client", PAYER),  # type: ignore[arg-type]
    "an object with other values": lambda _: payerkit.Payer.of(PAYER, {}).replace(ssn=""),
    "an address that cannot be used": lambda _: payerkit.connect("http://api.example.com", api_key=KEY),
    "a timeout that cannot be": lambda _: payerkit.connect("https://api.example.com", api_key=KEY, timeout=-1),
    "a key in the place of the address": lambda _: payerkit.connect(KEY),
    "a key with a line break": lambda _: payerkit.connect("https://api.example.com", api_key=KEY + "\n"),
    "a database that is none": lambda _: payerkit.sandbox(
        db="postgresql+psycopg://x:no database password@127.0.0.1:9/x"
    ),
    "a fee that is none": lambda _: payerkit.sandbox(fee_percent=200),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_input_leaves_no_trace(
    name: str, connected: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was wrong with what was given, none of it is in the error or in the variables of its frames."""
    monkeypatch.setenv("PAYERKIT_API_KEY", KEY)
    with pytest.raises(PayerkitError) as caught:
        REFUSED[name](connected("http://127.0.0.1:9"))
    shown = [str(caught.value), repr(caught.value), repr(vars(caught.value)), variables(caught.value)]

    assert [] == [secret for secret in SECRETS for text in shown if secret in text]


def test_an_interrupt_before_anything_left_leaves_no_trace(connected: Callable[..., Client]) -> None:
    """Ctrl+C while a write waits for its second try stays an interrupt, without the body in its frames."""

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    with FarEnd([reply(429, headers={"Retry-After": "1"})]) as far, pytest.raises(KeyboardInterrupt) as caught:
        payerkit.create_payer(connected(far.url, sleep=interrupted), PAYER)

    assert not isinstance(caught.value, PayerkitError)
    assert [] == [secret for secret in SECRETS if secret in variables(caught.value)]


def test_an_interrupt_while_an_outcome_is_unknown_says_so(connected: Callable[..., Client]) -> None:
    """Ctrl+C between two tries of a write whose first may have happened is told as that."""

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    with FarEnd([reset]) as far, pytest.raises(payerkit.UnknownOutcome):
        payerkit.update_agreement(connected(far.url, sleep=interrupted), "user-123")


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals reach one thread on POSIX only")
def test_an_interrupted_write_leaves_no_trace(connected: Callable[..., Client]) -> None:
    """Ctrl+C during a write is told as an unknown outcome, without the body in its frames."""

    def interrupt(connection: Any, _: object) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        connection.recv(1)

    with FarEnd([interrupt]) as far, pytest.raises(payerkit.errors.InterruptedCall) as caught:
        payerkit.create_payer(connected(far.url), PAYER)

    assert [] == [secret for secret in SECRETS if secret in variables(caught.value) + str(caught.value)]


def test_a_traceback_is_short(connected: Callable[..., Client]) -> None:
    """A person sees the line that called, one of the package's, and the message."""
    with FarEnd([reply(404)]) as far, pytest.raises(payerkit.errors.NotFound) as caught:
        payerkit.get_payer_status(connected(far.url), "user-123")

    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert 1 == sum(frame.f_code.co_filename.startswith(PACKAGE) for frame in frames)


def test_faults_of_the_package_keep_their_frames(connected: Callable[..., Client]) -> None:
    """An error that is not ours is a fault to be found, so nothing of it is cut away."""

    def broken(_: float) -> None:
        raise ZeroDivisionError

    with FarEnd([reply(429, headers={"Retry-After": "1"})]) as far, pytest.raises(ZeroDivisionError) as caught:
        payerkit.create_payer(connected(far.url, sleep=broken), PAYER)

    assert any(frame.f_code.co_name == "send" for frame, _ in traceback.walk_tb(caught.value.__traceback__))
