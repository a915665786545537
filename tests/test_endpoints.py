"""The calls against the sandbox, over a real socket: what goes in, what comes out."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import payerkit
from cases import table
from far_end import FarEnd, reply
from payerkit import InvalidInput, PayerkitError, Refused, UnknownOutcome
from payerkit.client import Client
from payerkit.client.call import RequestBody
from payerkit.endpoints import payment_details_frame
from payerkit.errors import (
    NotFound,
    PayeeWarning,
    RateLimited,
    RealMoneyWarning,
    UnreadableAnswer,
    WrongKey,
)
from payerkit.frames import columns
from payerkit.wire import our_name, wire_name
from published import ANSWERS, BANK_DETAILS, ORDER, PAYER
from test_client import CALLS

PAYOUT = {
    "amount": "25.50",
    "invoiceCurrency": "USD",
    "paymentCurrency": "USDC-sepolia",
}


@table("odd_ids")
def test_ids_are_stored_and_read_back_as_typed(
    shared: Client, client_user_id: str
) -> None:
    """Any id that is accepted reaches its own payer through every call, and no other
    route.
    """
    created = payerkit.create_payer(shared, {**PAYER, "clientUserId": client_user_id})
    detail = payerkit.create_payment_detail(shared, client_user_id, BANK_DETAILS)
    payerkit.update_agreement(shared, client_user_id)
    status = payerkit.get_payer_status(shared, client_user_id)
    listed = payerkit.list_payment_details(shared, client_user_id)

    assert (client_user_id, created.user_id, "completed") == (
        detail.client_user_id,
        status.user_id,
        status.agreement_status,
    )
    assert [(detail.id, created.user_id)] == list(
        zip(listed["id"], listed["user_id"], strict=True)
    )


@given(st.text(min_size=1, max_size=40))
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_id_is_stored_or_refused(shared: Client, client_user_id: str) -> None:
    """Whatever text is chosen as id, the payer is read back under it, or nothing was
    sent.
    """
    try:
        created = payerkit.create_payer(
            shared, {**PAYER, "clientUserId": client_user_id}
        )
    except InvalidInput:
        return

    assert created.user_id == payerkit.get_payer_status(shared, client_user_id).user_id


@pytest.mark.parametrize("client_user_id", ["..", 5])
def test_ids_that_would_not_arrive_are_refused_by_every_call(
    shared: Client, client_user_id: Any
) -> None:
    """No call sends an id that another route, or nobody, would get."""
    calls: list[Callable[[], Any]] = [
        lambda: payerkit.create_payer(
            shared, {**PAYER, "clientUserId": client_user_id}
        ),
        lambda: payerkit.get_payer_status(shared, client_user_id),
        lambda: payerkit.update_agreement(shared, client_user_id),
        lambda: payerkit.create_payment_detail(shared, client_user_id, BANK_DETAILS),
        lambda: payerkit.list_payment_details(shared, client_user_id),
    ]
    for call in calls:
        with pytest.raises(InvalidInput) as caught:
            call()
        assert ["client_user_id"] == [problem.field for problem in caught.value.fields]


def test_the_journey(shared: Client) -> None:
    """A payer is registered, agrees, gets an account, and a payment is initiated."""
    created = payerkit.create_payer(shared, {**PAYER, "clientUserId": "journey"})
    assert ("not_started", "not_started") == (
        created.kyc_status,
        created.agreement_status,
    )

    assert payerkit.update_agreement(shared, "journey").success is True
    assert payerkit.get_payer_status(shared, "journey").agreement_status == "completed"
    payerkit.update_agreement(shared, "journey", completed=False)
    assert (
        payerkit.get_payer_status(shared, "journey").agreement_status == "not_started"
    )

    detail = payerkit.create_payment_detail(shared, "journey", BANK_DETAILS)
    assert ("Chase", "usd", "business", "approved") == (
        detail.bank_name,
        detail.currency,
        detail.beneficiary_type,
        detail.status,
    )

    payment = payerkit.initiate_payment(shared, ORDER)
    assert payment.order == payerkit.PaymentOrder.of(ORDER, {})
    assert [4 * 10**15] == [
        step.wei for step in payment.transactions
    ]  # 10 USD at 2500 USD for one ETH


def test_real_money_is_told_where_the_payment_is_requested(shared: Client) -> None:
    """On a sandbox, an order in a mainnet currency warns once, at the caller's line;
    the payment is made.
    """
    with pytest.warns(
        RealMoneyWarning,
        match="ETH-mainnet is a coin of Ethereum, not of a test network",
    ) as caught:
        payment = payerkit.initiate_payment(
            shared, {**ORDER, "paymentCurrency": "ETH-mainnet"}
        )

    assert [__file__] == [warning.filename for warning in caught]
    assert ("sandbox", 1) == (payment.environment, len(payment.transactions))


@pytest.mark.filterwarnings("error::payerkit.errors.RealMoneyWarning")
@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:9", "https://api.stage.request.network"]
)
def test_real_money_can_be_forbidden(
    connected: Callable[..., Client], address: str
) -> None:
    """Turned into an error, the warning comes before anything is sent: these addresses
    would not answer.
    """
    with pytest.raises(
        RealMoneyWarning, match="whoever signs this payment moves real money"
    ):
        payerkit.initiate_payment(
            connected(address), {**ORDER, "paymentCurrency": "USDC-mainnet"}
        )


def test_a_wrong_payee_is_told_before_the_order_is_sent(
    connected: Callable[..., Client],
) -> None:
    """The warning is at the caller's line, and comes before anything is sent: this
    address would not answer.
    """
    mistyped = {**ORDER, "payee": "0x6923831aCf5c327260D7ac7C9DfF5b1c3cB3C7D7"}
    client = connected("http://127.0.0.1:9")
    with (
        pytest.warns(PayeeWarning, match="do not match the checksum") as caught,
        pytest.raises(PayerkitError),
    ):
        payerkit.initiate_payment(client, mistyped)

    assert [__file__] == [warning.filename for warning in caught]


def test_listing_filters_by_id(shared: Client) -> None:
    """One id gives one row; an unknown id none, with the columns in place."""
    payerkit.create_payer(shared, {**PAYER, "clientUserId": "filter"})
    ids = [
        payerkit.create_payment_detail(shared, "filter", BANK_DETAILS).id
        for _ in range(3)
    ]
    everything = payerkit.list_payment_details(shared, "filter")
    one = payerkit.list_payment_details(shared, "filter", payment_details_id=ids[1])
    none = payerkit.list_payment_details(
        shared, "filter", payment_details_id="unknown&x=1"
    )

    assert (ids, [ids[1]], []) == (
        everything["id"].to_list(),
        one["id"].to_list(),
        none["id"].to_list(),
    )
    assert list(none.columns) == [name for name in one.columns if name in none.columns]


def test_unknown_payer_says_what_to_do(shared: Client) -> None:
    """Each call about a payer that nobody created says so, and what to do first."""
    calls: dict[str, Callable[[], Any]] = {
        "beyond the specification": lambda: payerkit.get_payer_status(shared, "nobody"),
        "Register the payer first": lambda: payerkit.update_agreement(shared, "nobody"),
        "\nRegister the payer": lambda: payerkit.create_payment_detail(
            shared, "nobody", BANK_DETAILS
        ),
        "Payer with client user ID nobody": lambda: payerkit.list_payment_details(
            shared, "nobody"
        ),
    }
    for words, call in calls.items():
        with pytest.raises(NotFound, match=words):
            call()


def test_an_email_as_id_is_not_repeated(shared: Client) -> None:
    """A service that names the id it does not know does not bring an e-mail address
    into a notebook.
    """
    with pytest.raises(NotFound) as caught:
        payerkit.list_payment_details(shared, "jane.doe@example.com")

    assert "Payer with client user ID •••• not found" in str(caught.value)


def test_service_names_the_members_it_refuses(shared: Client) -> None:
    """What only the service can refuse comes back by our names."""
    with pytest.warns(PayeeWarning), pytest.raises(Refused) as caught:
        payerkit.initiate_payment(
            shared, {**ORDER, "payee": "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7d7"}
        )

    assert [("payee", "address_checksum")] == [
        (problem.field, problem.code) for problem in caught.value.fields
    ]


@table("lists_of_accounts")
def test_lists_are_read_in_every_shape(
    connected: Callable[..., Client], answer: Any, rows: str | None
) -> None:
    """Every shape of a list that was seen becomes a frame; an answer without a list is
    not an empty one.
    """
    with FarEnd([reply(200, json.dumps(answer))]) as far:
        client = connected(far.url)
        with pytest.raises(UnreadableAnswer) if rows is None else nullcontext():
            assert rows == str(len(payerkit.list_payment_details(client, "user-123")))


def test_every_2xx_is_a_success(connected: Callable[..., Client]) -> None:
    """The service's 200 and 201 are not checked to the digit."""
    for status in (200, 201, 202):
        with FarEnd(
            [reply(status, RequestBody(ANSWERS["create_payer"]).content)]
        ) as far:
            assert (
                payerkit.create_payer(connected(far.url), PAYER).kyc_status
                == "not_started"
            )


NOT_ASKED_FOR = [
    (200, {}),
    (
        200,
        {"statusCode": 400, "message": "Example", "error": "Bad Request"},
    ),  # a refusal with the wrong status
    (202, {"message": "queued"}),
    (200, {"ok": True}),
    (200, {"status": "ok"}),
    (201, {"payment_detail": {}}),
    (201, {"payment_detail": {"id": None, "bankName": ""}}),
    (201, {"data": {"id": "pd-1"}}),  # nothing that the documentation has
]


@pytest.mark.parametrize(("status", "answer"), NOT_ASKED_FOR)
@pytest.mark.parametrize(
    "name",
    ["create_payer", "create_payment_detail", "create_request", "get_payer_status"],
)
def test_a_success_without_what_was_asked_for_is_unknown(
    connected: Callable[..., Client], name: str, status: int, answer: Any
) -> None:
    """An object without an id, or any other field, would look like what was created; a
    read says that it is none.
    """
    calls = CALLS | {
        "create_request": lambda client: payerkit.create_request(client, PAYOUT)
    }
    is_read = name == "get_payer_status"
    with FarEnd([reply(status, json.dumps(answer))]) as far_end:
        with pytest.raises(UnreadableAnswer if is_read else UnknownOutcome) as caught:
            calls[name](connected(far_end.url))

        assert (status, 3 if is_read else 1) == (
            caught.value.status_code,
            len(far_end.ledger),
        )


STORED = ANSWERS["create_payment_detail"]


@pytest.mark.parametrize(
    "account_id",
    [None, True, False, 0, {}, [], "", " ", "null", "NULL", "undefined", "None", "0"],
)
def test_an_account_without_a_usable_id_is_an_unknown_outcome(
    account_id: Any, connected: Callable[..., Client]
) -> None:
    """Nobody knows whether it is stored, and it could never be paid."""
    answer = {"payment_detail": STORED["payment_detail"] | {"id": account_id}}
    with FarEnd([reply(201, json.dumps(answer))]) as far:
        with pytest.raises(UnknownOutcome, match="has no id"):
            CALLS["create_payment_detail"](connected(far.url))

        assert 1 == len(far.ledger)


@pytest.mark.parametrize("name", ["create_payer", "create_payment_detail"])
@pytest.mark.parametrize(
    "member",
    [
        {"success": False},
        {"success": "false"},
        {"error": "Bad Request"},
        {"errors": [{"message": "Example"}]},
        {"statusCode": 422},
        {"statusCode": "500"},
        {"status_code": 409},
    ],
)
def test_a_success_that_says_that_it_failed_is_an_unknown_outcome(
    name: str, member: dict[str, Any], connected: Callable[..., Client]
) -> None:
    """Whatever else the response has: a proxy may put its own status around it."""
    with FarEnd([reply(200, json.dumps(ANSWERS[name] | member))]) as far:
        with pytest.raises(UnknownOutcome, match="says that the call failed"):
            CALLS[name](connected(far.url))

        assert 1 == len(far.ledger)


@pytest.mark.parametrize(
    "member", [{"success": True}, {"error": None}, {"errors": []}, {"statusCode": 201}]
)
def test_a_success_that_says_so_is_one(
    member: dict[str, Any], connected: Callable[..., Client]
) -> None:
    """Members that say nothing of a failure do no harm."""
    with FarEnd([reply(200, json.dumps(STORED | member))]) as far:
        detail = CALLS["create_payment_detail"](connected(far.url))

    assert STORED["payment_detail"]["id"] == detail.id


def test_a_filter_reaches_the_service_whole(connected: Callable[..., Client]) -> None:
    """An id in the query is encoded like one in the path."""
    with FarEnd([reply(200, '{"paymentDetails": []}')]) as far:
        payerkit.list_payment_details(
            connected(far.url), "user-123", payment_details_id="a&b=c d"
        )

        assert (
            far.ledger[0].target
            == "/v1/payer/user-123/payment-details?paymentDetailsId=a%26b%3Dc+d"
        )


def test_wrong_arguments_are_told(shared: Client) -> None:
    """Whoever forgets the client, gives a payer for its id, or "no", which is true in
    Python, is told what is due.
    """
    calls: list[tuple[Callable[..., Any], list[Any], str]] = [
        (
            payerkit.create_payer,
            [PAYER],
            "first argument must be a client, .* got a dict",
        ),
        (
            payerkit.get_payer_status,
            [shared, payerkit.Payer.of(PAYER, {})],
            r"payer\.client_user_id",
        ),
        (
            partial(payerkit.update_agreement, completed="no"),  # type: ignore[arg-type]
            [shared, "user-123"],
            "True or False",
        ),
    ]
    for call, arguments, words in calls:
        with pytest.raises(InvalidInput, match=words):
            call(*arguments)


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (
            reply(404, "<html>Not Found</html>"),
            NotFound,
            "check that base_url",
        ),  # a page is no word about the payer
        (
            reply(429, "{}", {"Retry-After": "3600"}),
            RateLimited,
            "asks to wait 3,600 seconds",
        ),
    ],
)
def test_a_refusal_says_what_to_do(
    connected: Callable[..., Client], answer: Any, kind: type, words: str
) -> None:
    """Whoever called another server reads so, and whoever has to wait, how long."""
    with FarEnd([answer]) as far, pytest.raises(kind, match=words):
        payerkit.create_payer(connected(far.url), PAYER)


@pytest.mark.parametrize(
    "body",
    ["<html>", '{"statusCode": 404, "message": "Cannot %s", "error": "Not Found"}'],
)
@pytest.mark.parametrize(("api", "other"), [("v1", "v2"), ("v2", "v1")])
@pytest.mark.parametrize(
    "name", ["update_agreement", "list_payment_details", "initiate_payment"]
)
def test_a_route_that_is_not_there_is_no_word_about_the_payer(
    name: str, api: Any, other: str, body: str
) -> None:
    """The other version of the API may have it."""
    far = FarEnd(
        [
            reply(
                404,
                body.replace(
                    "%s", VERSIONED[name].partition("{")[0].replace("v1", api)
                ),
            )
        ]
    )
    with (
        far,
        payerkit.connect(far.url, api_key="key", api=api) as client,
        pytest.raises(NotFound) as caught,
    ):
        CALLS[name](client)

    assert (True, True) == (f'api="{other}"' in str(caught.value), caught.value.foreign)
    assert "Create the payer" not in str(caught.value)


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    ("given", "sent", "other"),
    [
        ({"api_key": "key"}, "x-api-key", "client_id"),
        ({"client_id": "id"}, "x-client-id", "api_key"),
    ],
)
def test_a_key_may_be_of_the_other_kind(
    status: int, given: dict[str, Any], sent: str, other: str
) -> None:
    """The documents disagree on which one a call needs, so an error says which was sent
    and which to try.
    """
    body = f'{{"statusCode": {status}, "message": "No"}}'
    with (
        FarEnd([reply(status, body)]) as far,
        payerkit.connect(far.url, **given) as client,
        pytest.raises(WrongKey) as caught,
    ):
        payerkit.get_payer_status(client, "user-123")

    assert sent in str(caught.value)
    assert f"connect({other}=...)" in str(caught.value)


VERSIONED = {
    "create_payer": "POST /v2/payer",
    "get_payer_status": "GET /v2/payer/{clientUserId}",
    "update_agreement": "PATCH /v1/payer/{clientUserId}",
    "create_payment_detail": "POST /v1/payer/{clientUserId}/payment-details",
    "list_payment_details": "GET /v1/payer/{clientUserId}/payment-details",
    "initiate_payment": "POST /v1/pay",
}
"""Each call, with its path in v1."""


@pytest.mark.parametrize("api", ["v1", "v2"])
@pytest.mark.parametrize("name", VERSIONED)
def test_errors_and_logs_show_the_path_that_was_sent(
    name: str, api: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The path of the version is the one on the wire, in the error and in the log."""
    expected = VERSIONED[name]
    if api == "v2":
        expected = expected.replace("/v1/payer", "/v2/payer").replace(
            "/v1/pay", "/v2/payouts"
        )
    caplog.set_level("DEBUG", logger="payerkit")
    with (
        FarEnd([reply(404)]) as far,
        payerkit.connect(far.url, api_key="key", api=api) as client,
    ):
        with pytest.raises(NotFound) as caught:
            CALLS[name](client)
        sent = f"{far.ledger[0].method} {far.ledger[0].target}"

    assert expected.replace("{clientUserId}", PAYER["clientUserId"]) == sent
    assert (expected, True) == (
        caught.value.request,
        f"404 on {expected}" in str(caught.value),
    )
    assert any(f"{expected} -> 404" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("api", ["v1", "v2"])
def test_the_sandbox_serves_both_versions(api: Any) -> None:
    """Every call works with the paths of the specification and with the newer ones,
    runs included.
    """
    with payerkit.sandbox() as local:
        client = payerkit.connect(local.base_url, api_key=local.reveal_key(), api=api)
        results = [CALLS[name](client) for name in VERSIONED]
        statuses = payerkit.payer_statuses(
            client, [PAYER["clientUserId"]], progress=False
        )
        client.close()

    assert 6 == len([result for result in results if result is not None])
    assert [True] == statuses["error"].isna().tolist()


RECORD: dict[str, Any] = ANSWERS["list_payment_details"]["paymentDetails"][0]
COLUMNS = [
    *columns("bank_name account_name beneficiary_type account_number routing_number"),
    *columns("currency status rails in_use reason user_id id"),
]


def frame(*records: dict[str, Any], reveal: bool = False) -> pd.DataFrame:
    """Return the frame of some records."""
    return payment_details_frame(records, reveal=reveal)


def row(made: pd.DataFrame, place: int = 0) -> dict[str, Any]:
    """Return a row by its names."""
    return {str(name): value for name, value in made.iloc[place].items()}


@pytest.mark.parametrize(
    "records", [[], [RECORD], [RECORD, {}]], ids=["none", "one", "an empty one"]
)
def test_columns_always_stand(records: list[dict[str, Any]]) -> None:
    """The listed columns are there in their order, also without records."""
    made = frame(*records)

    assert (COLUMNS, len(records)) == (list(made.columns), len(made))
    assert {"string"} == {str(made[name].dtype) for name in COLUMNS if name != "in_use"}
    assert "boolean" == str(made["in_use"].dtype)


def test_a_rejected_account_has_its_reason_beside_it(
    connected: Callable[..., Client],
) -> None:
    """The last one, if it is about the status that the account has; which can be paid
    is told without events.
    """
    words = ["approved", "failed", "rejected", "deactivated", "pending", None]
    records = [
        RECORD | {"id": f"a{place}", "status": word} for place, word in enumerate(words)
    ]
    said = [
        ("a1", "failed", "Old"),
        ("a1", "failed", "Name mismatch: ask zoe@example.com"),
        ("a0", "failed", "Before"),
        ("a2", "failed", ""),
    ]
    events = payerkit.read_events(
        [
            {
                "event": "payment_detail.updated",
                "paymentDetailsId": name,
                "status": status,
                "rejectionMessage": why,
            }
            for name, status, why in said
        ],
        reveal=True,
    )
    with FarEnd([reply(200, RequestBody({"paymentDetails": records}).content)]) as far:
        made = payerkit.list_payment_details(
            connected(far.url), "user-123", events=events
        )

    assert [True, False, False, False, None, None] == made["in_use"].astype(
        object
    ).where(made["in_use"].notna(), None).tolist()
    assert {1: "Name mismatch: ask ••••"} == made["reason"].dropna().to_dict()


def test_what_tells_about_a_person_is_masked_unless_revealed(
    connected: Callable[..., Client],
) -> None:
    """Numbers show their end, and some services return birth dates and addresses; a
    notebook saves none of them.
    """
    private = {
        "dateOfBirth": "1985-12-12",
        "addressLine1": "24 Theatre St.",
        "postalCode": "90723",
    }
    record = (
        RECORD | {"iban": "DE89370400440532013000"} | private | {"city": "Paramount"}
    )
    names = columns(
        "account_number routing_number iban date_of_birth address_line1 postal_code"
        " city"
    )
    with FarEnd([reply(200, RequestBody({"paymentDetails": [record]}).content)]) as far:
        client = connected(far.url)
        masked, revealed = (
            payerkit.list_payment_details(client, "user-123", reveal=each)
            for each in (False, True)
        )

    assert [
        "••••3489",
        "••••3356",
        "••••3000",
        "••••",
        "••••",
        "••••",
        "Paramount",
    ] == [*masked[[*names]].iloc[0]]
    assert [record[wire_name(name)] for name in names] == [
        *revealed[[*names]].iloc[0]
    ]  # the leading zero, too


@pytest.mark.parametrize(
    "spell", [our_name, str.upper, str], ids=["snake", "upper", "wire"]
)
def test_other_spellings_are_the_same_fields(spell: Callable[[str], str]) -> None:
    """A service that spells its fields differently fills the same columns, masked."""
    names = (
        ["iban", "accountNumber", "id"] if spell is not str.upper else ["iban", "id"]
    )
    record = {spell(name): "DE89370400440532013000" for name in names}
    made = frame(record)

    assert (1, "••••3000") == (len(made), row(made)["iban"])


def test_people_show_initials() -> None:
    """The holder of an account is shown if it is a business; of a person, the initials;
    both on demand.
    """
    person = RECORD | {"accountName": "Jane Smith", "beneficiaryType": "individual"}
    made, revealed = frame(RECORD, person), frame(RECORD, person, reveal=True)

    assert ["Gordon's Chase Business Account", "J•••• S••••"] == made[
        "account_name"
    ].to_list()
    assert revealed["account_name"].to_list()[1] == "Jane Smith"


def test_unknown_fields_are_kept() -> None:
    """Fields that the specification does not have follow those that it has, as
    received; the ids stay last.
    """
    made = frame(
        RECORD | {"newThing": {"iban": "DE89370400440532013000", "a": 1}},
        RECORD | {"other": 7},
    )

    assert ["new_thing", "other", "user_id", "id"] == list(
        made.columns[len(COLUMNS) - 2 :]
    )
    assert ({"iban": "••••3000", "a": 1}, 7) == (
        row(made)["new_thing"],
        row(made, 1)["other"],
    )


def test_numbers_instead_of_text_stay_numbers() -> None:
    """A number in a response stays a number: a conversion would be a guess."""
    made = frame(RECORD | {"id": 26013356}, RECORD)

    assert [26013356, RECORD["id"]] == made["id"].to_list()


VALUES = (
    st.none()
    | st.text()
    | st.integers()
    | st.booleans()
    | st.lists(st.text(), max_size=2)
)


@given(
    st.lists(
        st.dictionaries(st.sampled_from([*RECORD, "x", "dateOfBirth"]), VALUES),
        max_size=4,
    )
)
def test_every_list_becomes_a_frame(records: list[dict[str, Any]]) -> None:
    """Whatever the records hold, there is a row each and nothing fails."""
    assert len(records) == len(frame(*records))
