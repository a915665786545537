"""Accounts that wait for their payer, payers that are there already, and what a
progress bar shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import pytest

import payerkit
from clocks import LeapingClock
from far_end import Behaviour, FarEnd, Received, cut, reply, reset
from onboarding_service import COMPLIANT, Service
from onboarding_tables import onboard, payer_row
from payerkit import Refused
from payerkit.client import Client
from payerkit.reasons import WAITING_CODES
from payerkit.runs.options import Options
from payerkit.runs.rows import Step
from payerkit.runs.run import run_table
from payerkit.runs.tasks import Table

PENDING = {
    "kycStatus": "pending",
    "agreementStatus": "not_started",
    "isCompliant": False,
}
PAGE = reply(404, "<html>no backend</html>", {"Content-Type": "text/html"})
BOTH: tuple[Step, ...] = ("payer", "bank_details")
OWNER = quote(payer_row(1)["client_user_id"], safe="")
Run = Callable[..., payerkit.runs.Report]


def refusal(code: str, status: int = 403) -> Behaviour:
    """Refuse with a code, as the service does."""
    body = {
        "statusCode": status,
        "message": "Not possible yet",
        "error": "Forbidden",
        "code": code,
    }
    return reply(status, json.dumps(body))


NOT_YET = refusal("not_yet_passed_kyc_kyb")


@pytest.fixture
def service() -> Service:
    """Give a service for one test."""
    return Service()


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    """Give a client of the service."""
    with FarEnd([service]) as far_end, Client(far_end.url, "key-of-a-test") as client:
        yield client


@pytest.fixture
def run(client: Client, tmp_path: Path) -> Run:
    """Send a table with the journal of the test, on a clock on which no wait takes
    time.
    """

    def run(
        rows: pd.DataFrame, steps: tuple[Step, ...] = BOTH, **options: Any
    ) -> payerkit.runs.Report:
        return run_table(
            client,
            Table(rows, steps, holder_is_payer=True),
            tmp_path / "run.journal",
            Options(workers=1, **{"progress": False} | options),
            limiter=LeapingClock().limiter(),
        )

    return run


def payer(place: int) -> dict[str, str]:
    """Return a payer without an account."""
    return {
        name: value
        for name, value in payer_row(place).items()
        if name in payerkit.Payer.model_fields
    }


def table(*places: int) -> pd.DataFrame:
    """Return payers with an account each, which is their own."""
    return pd.DataFrame([payer_row(place) for place in places]).assign(
        holder_is_payer="yes"
    )


def accounts(*places: int) -> pd.DataFrame:
    """Return accounts of these payers, without the payers."""
    rows = table(*places).drop(
        columns=["email", "first_name", "last_name", "nationality", "phone", "ssn"]
    )
    return rows.rename(columns={"postcode": "postal_code"})


def outcome(report: payerkit.runs.Report) -> tuple[Any, ...]:
    """Return step, state, attempts and whether the same call may do more, of the first
    row.
    """
    return tuple(report.frame.iloc[0][["step", "state", "attempts", "retryable"]])


# Refused for now


@pytest.mark.parametrize(
    ("code", "status"),
    [
        *((code, 403) for code in WAITING_CODES),  # each code
        *(
            ("not_yet_passed_kyc_kyb", status) for status in (400, 409, 422)
        ),  # whatever the status
    ],
)
def test_an_account_that_is_refused_for_now_waits(
    service: Service, run: Run, code: str, status: int
) -> None:
    """Its reason says what it waits for; the same call another day sends it again, and
    nothing else.
    """
    service.accounts = [refusal(code, status)]
    first = run(table(1))
    second = run(table(1))

    assert ("bank_details", "waiting", 2, True) == outcome(first)
    assert (
        f"Waits until {WAITING_CODES[code]} ({code})." == first.frame.loc[0, "reason"]
    )
    assert ("bank_details", "done", 3, False) == outcome(second)
    assert (1, 2, 1) == (*service.count("payers", "accounts"), len(service.stored))


WAITS = ("bank_details", "waiting", 1, True)
WAITS_SENT = ("bank_details", "waiting", 2, True)
REFUSED = ("bank_details", "refused", 2, False)
CUT_OFF = cut(403, b'{"statusCode": 403, "code": "not_y')
MEETINGS: dict[
    str, tuple[dict[str, list[Behaviour]], list[tuple[str, str, int, bool]]]
] = {
    "the codes are about accounts": (
        {"payers": [refusal("not_yet_passed_kyc_kyb", 422)]},
        [("payer", "refused", 1, False)],
    ),
    "the same codes where a list is refused": ({"lists": [NOT_YET]}, [WAITS]),
    "words are not interpreted": (
        {"accounts": [reply(422, '{"message": "The payer has not yet passed KYC"}')]},
        [REFUSED],
    ),
    "another code": ({"accounts": [refusal("below_currency_limit", 422)]}, [REFUSED]),
    "not the code as it is documented": (
        {"accounts": [refusal("NOT_YET_PASSED_KYC_KYB", 422)]},
        [REFUSED],
    ),
    "a sentence with the code in it": (
        {"accounts": [reply(422, '{"message": "not_yet_passed_kyc_kyb, wait"}')]},
        [REFUSED],
    ),
    "a key is no matter of the payer": (
        {"lists": [refusal("not_yet_passed_kyc_kyb", 401)] * 50},
        [("bank_details", "not_sent", 1, True)],
    ),
    "nor is a rate": (
        {"lists": [refusal("not_yet_passed_kyc_kyb", 429)] * 50},
        [("bank_details", "not_sent", 1, True)],
    ),
    "what was wrong with a payer is known once a response is whole": (
        {"payers": [cut(400, b"{"), reply(400)]},
        [("payer", "not_sent", 1, True), ("payer", "refused", 2, False)],
    ),
    "the code may have been one of those": (
        {"accounts": [CUT_OFF]},
        [("bank_details", "not_sent", 2, True), ("bank_details", "done", 3, False)],
    ),
    "an account is not sent again by itself": (
        {"accounts": [reset]},
        [("bank_details", "unknown", 2, True)] * 2,
    ),
    "a payer who is there already, and whose status the next run reads": (
        {"payers": [reply(409)] * 2, "statuses": [reply(503)] * 6},
        [("payer", "not_sent", 1, True), ("bank_details", "done", 3, False)],
    ),
    "an unknown payer is repeated, and may be there already": (
        {"payers": [reset, reply(409)]},
        [("bank_details", "done", 3, False)],
    ),
    "one who is there already, whichever attempt stored it": (
        {"payers": [reset, reply(409)], "statuses": [reply(404)] * 2},
        [("bank_details", "done", 4, False)],
    ),
    "another conflict, which proves nothing": (
        {"payers": [reset, reply(409), reply(409)], "statuses": [reply(405)] * 3},
        [("payer", "unknown", 3, True)],
    ),
    "a status that can be read later": (
        {"payers": [reset, reply(409)], "statuses": [reply(503)] * 6},
        [("bank_details", "done", 4, False)],
    ),
    "a status that cannot be read": (
        {"payers": [reset, reply(409), reply(409)], "statuses": [reply(503)] * 42},
        [("payer", "unknown", 3, True)],
    ),
    "an account that is there already": (
        {"accounts": [reply(409)]},
        [("bank_details", "refused", 2, False)],
    ),
    "a service that is busy with the account": (
        {"accounts": [reply(423), reply(425)]},
        [
            WAITS_SENT,
            ("bank_details", "waiting", 3, True),
            ("bank_details", "done", 4, False),
        ],
    ),
    "a service that is busy with the payer": (
        {"payers": [reply(423)]},
        [("payer", "not_sent", 1, True), ("bank_details", "done", 3, False)],
    ),
}
"""What meets the first requests of a kind, and step, state, attempts and whether it is
retryable after each run.
"""


@pytest.mark.parametrize("meeting", MEETINGS)
def test_what_becomes_of_a_row(service: Service, run: Run, meeting: str) -> None:
    """Only listed codes let an account wait, and only whole responses of the API refuse
    a row for good.
    """
    meets, expected = MEETINGS[meeting]
    for kind, behaviours in meets.items():
        setattr(service, kind, [*behaviours])

    assert expected == [outcome(run(table(1))) for _ in expected]
    assert (expected[-1][1] == "done") == len(service.stored)


@pytest.mark.parametrize("meeting", [CUT_OFF, NOT_YET, reply(400), reply(409)])
def test_a_later_attempt_proves_nothing_about_the_one_before(
    service: Service, run: Run, meeting: Behaviour
) -> None:
    """An account was lost, and a person sends it again: it stays unknown."""
    service.accounts = [reset, meeting]
    lost = run(table(1))
    again = run(table(1), retry="unknown")
    stored = run(table(1), retry="unknown")

    assert ("bank_details", "unknown", 2, True) == outcome(lost)
    assert ("bank_details", "unknown", 3, True) == outcome(again)
    assert ("bank_details", "done", 4, False) == outcome(stored)


def test_a_conflict_is_a_question_for_the_list(service: Service, run: Run) -> None:
    """The service has the account, and refuses it: the list shows it, so it is done."""

    def store(connection: Any, request: Received) -> bool | None:
        service.stored.append(json.loads(request.body) | {"id": "pd-7", "payer": OWNER})
        return reply(409)(connection, request)

    service.accounts = [store]
    report = run(table(1))

    assert ("bank_details", "done", 2, False) == outcome(report)
    assert "pd-7" == report.frame.loc[0, "payment_details_id"]


@pytest.mark.parametrize("is_compliant", [None, False, "true", 1])
def test_compliant_is_what_the_service_calls_so(
    service: Service, run: Run, is_compliant: Any
) -> None:
    """Anything but true is not compliant, however good the statuses look."""
    service.status = COMPLIANT | {"isCompliant": is_compliant}

    assert WAITS == outcome(run(table(1), accounts="when_compliant"))
    assert (0,) == service.count("accounts")


def test_waiting_accounts_do_not_end_the_run(service: Service, run: Run) -> None:
    """Five 403 before anything was accepted would mean a wrong key, if their code did
    not tell otherwise.
    """
    service.lists = [reply(404)] * 5
    service.accounts = [NOT_YET] * 5
    report = run(accounts(1, 2, 3, 4, 5), ("bank_details",))

    assert ({"waiting"}, "") == (set(report.frame["state"]), report.stopped)


# Only when the payer is compliant


def test_accounts_of_compliant_payers_alone_are_sent(
    service: Service, run: Run
) -> None:
    """The status of each payer is read first; the others wait without being sent, and
    the same call goes on.
    """
    service.statuses = [reply(200, json.dumps(PENDING))]
    first = run(table(1, 2), accounts="when_compliant")
    sent = service.count("payers", "statuses", "lists", "accounts")
    service.status = COMPLIANT
    second = run(table(1, 2), accounts="when_compliant")

    assert [("waiting", 1), ("done", 2)] == list(
        zip(first.frame["state"], first.frame["attempts"], strict=True)
    )
    assert (
        "Waits: identity check pending, agreement not_started."
        == first.frame.loc[0, "reason"]
    )
    assert ("pending", "not_started") == tuple(
        first.frame.loc[0, ["kyc_status", "agreement_status"]]
    )
    assert ["done", "done"] == second.frame["state"].tolist()
    assert ("approved", "completed") == tuple(
        second.frame.loc[0, ["kyc_status", "agreement_status"]]
    )
    assert ((2, 2, 1, 1), (2, 3, 2, 2)) == (
        sent,
        service.count("payers", "statuses", "lists", "accounts"),
    )


def test_accounts_alone_wait_for_their_payers(service: Service, run: Run) -> None:
    """`add_bank_details` asks, too; a payer with two accounts is asked once."""
    service.status = PENDING
    rows = pd.concat(
        [accounts(1), accounts(1).assign(account_number="999999999")], ignore_index=True
    )
    first = run(rows, ("bank_details",), accounts="when_compliant")
    service.status = COMPLIANT
    second = run(rows, ("bank_details",), accounts="when_compliant")

    assert [("waiting", 0)] * 2 == list(
        zip(first.frame["state"], first.frame["attempts"], strict=True)
    )
    assert ["done"] * 2 == second.frame["state"].tolist()
    assert (2, 2) == service.count("statuses", "accounts")


def test_a_status_is_shown_if_it_is_a_word(service: Service, run: Run) -> None:
    """Whatever else the service says in its place may be personal; what it leaves out
    is unknown.
    """
    service.status = {"kycStatus": "Surname-00001, see mail", "isCompliant": False}
    report = run(table(1), accounts="when_compliant")

    assert "Waits: identity check ••••, agreement unknown. " in str(
        report.frame.loc[0, "reason"]
    )


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (
            reply(
                404,
                '{"message": "Payer with client user ID customer-00001@example.org'
                ' not found"}',
            ),
            "not find",
        ),
        (PAGE, "404"),  # a gateway's page
        (reply(405), "405"),  # a service without this call
        (reply(503), "503"),
        (reply(200, "<html>"), "cannot be read"),
    ],
)
def test_without_a_status_an_account_is_not_sent(
    service: Service, run: Run, behaviour: Behaviour, words: str
) -> None:
    """The reason says why, and names nobody; the same call later tries again."""
    service.statuses = [behaviour] * 6
    first = run(table(1), accounts="when_compliant")
    service.statuses = []
    second = run(table(1), accounts="when_compliant")

    assert ("bank_details", "not_sent", 1, True) == outcome(first)
    assert (True, False) == tuple(
        part in str(first.frame.loc[0, "reason"]) for part in (words, "example.org")
    )
    assert ("bank_details", "done", 2, False) == outcome(second)


def test_a_reason_is_that_of_the_last_run(service: Service, run: Run) -> None:
    """An account that waited is not sent if the status cannot be read today, and waits
    again tomorrow.
    """
    service.statuses = [
        reply(200, json.dumps(PENDING)),
        reply(405),
        reply(200, json.dumps(PENDING)),
    ]
    reports = [run(table(1), accounts="when_compliant") for _ in range(3)]

    assert ["waiting", "not_sent", "waiting"] == [
        report.frame.loc[0, "state"] for report in reports
    ]
    assert [True, False, True] == [
        str(report.frame.loc[0, "reason"]).startswith("Waits:") for report in reports
    ]


# The report


def test_every_row_is_in_one_state(service: Service, run: Run) -> None:
    """Waiting rows are counted, can be sent by the same call, and the advice names them
    apart from other rows.
    """
    service.payers = [reply(200, '{"userId": "u-1"}'), reply(400)]
    service.accounts = [reply(201, '{"id": "pd-1"}'), NOT_YET, NOT_YET]
    rows = table(1, 2, 3, 4, 5)
    rows.loc[4, "email"] = "nobody"
    report = run(rows)

    assert {
        "done": 1,
        "refused": 1,
        "unknown": 0,
        "not_sent": 1,
        "waiting": 2,
        "duplicate": 0,
    } == report.counts
    assert [2, 3] == report.frame.index[report.frame["retryable"]].tolist()
    refused = 'send again unchanged with RunOptions(retry="refused") (--retry refused).'
    assert [
        "5 rows: 1 done, 1 with a warning, 1 refused, 1 not sent, 2 waiting.",
        (
            "2 rows wait until the payer is compliant: call again later, unless the"
            " column reason says otherwise."
        ),
        f"1 row was refused: correct what the column reason names, or {refused}",
    ] == str(report).splitlines()[:3]
    assert 1 == report._repr_html_().count(
        "i&nbsp;waiting</span>"
    )  # two rows, one reason


# Payers that are there already


@pytest.mark.parametrize(
    ("status", "expected", "words"),
    [
        (
            reply(200, json.dumps(PENDING)),
            "done",
            "may differ from this row's",
        ),
        (
            reply(404, '{"message": "not found"}'),
            "refused",
            "409",
        ),  # whatever the conflict is about
        (PAGE, "refused", "409"),
        (
            reply(405),
            "refused",
            "send the accounts alone, with add_bank_details()",
        ),  # a service without this call
    ],
)
def test_a_payer_that_is_there_already_is_done(
    service: Service,
    run: Run,
    status: Behaviour,
    expected: str,
    words: str,
) -> None:
    """If its status can be read; else it is refused, and the reason says what to do."""
    service.payers = [reply(409)]
    service.statuses = [status]
    report = run(table(1), ("payer",))

    assert ("payer", expected, False) == tuple(
        report.frame.loc[0, ["step", "state", "retryable"]]
    )
    assert words in str(report.frame.loc[0, "reason"])


def test_a_single_call_is_refused_with_a_hint(service: Service, client: Client) -> None:
    """`create_payer` does not ask by itself; the error names the call that does, and
    that the data may differ.
    """
    service.payers = [reply(409)]
    with pytest.raises(Refused) as caught:
        payerkit.create_payer(client, payer(1))

    assert "exists already, and its data may differ from yours" in caught.value.advice
    assert "get_payer_status() returns the status." in caught.value.advice


# What the progress bar says


def test_the_bar_counts_by_state_and_says_where_the_calls_go(
    service: Service, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """A rehearsal is not mistaken for the real day."""
    service.accounts = [NOT_YET]
    run(table(1, 2), progress=True)
    shown = capsys.readouterr().err

    assert re.search(r"sandbox: 100%.*account 2 of 2 .* 1 waiting, 1 done", shown)


# In the sandbox, as on a real day


def test_a_day_later_the_rest_is_done(tmp_path: Path) -> None:
    """Accounts of a payer without an identity check wait; once it is approved, the same
    call sends them, and no other.

    The payers were there before: the service refuses them, and their status says so.
    """
    rows = table(1, 2)
    first_id, second_id = rows["client_user_id"].tolist()
    with payerkit.sandbox(seed=1, clock="manual", kyc_required=True) as client:
        for place in (1, 2):
            payerkit.create_payer(client, payer(place))
        client.sandbox.set_faults("exists=100%")
        client.sandbox.complete_kyc(first_id)
        today = onboard(client, rows, tmp_path / "run.journal")
        client.sandbox.submit_kyc(second_id)
        client.sandbox.advance(minutes=1)
        tomorrow = onboard(client, rows, tmp_path / "run.journal")
        written = client.sandbox.ledger()["what"].tolist()

    assert ["done", "waiting"] == today.frame["state"].tolist()
    assert "Waits until the payer has passed the identity check" in str(
        today.frame.loc[1, "reason"]
    )
    assert ["approved", "not_started"] == today.frame["kyc_status"].tolist()
    assert ["done", "done"] == tomorrow.frame["state"].tolist()
    assert ["payer", "payer", "payment_detail", "payment_detail"] == written
