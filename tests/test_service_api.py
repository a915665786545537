"""The service as any other client sees it: over a real socket, with requests only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args

import pytest
import requests
from pydantic import BaseModel, TypeAdapter

import payerkit
from cases import table
from payerkit_sandbox.accounts import PaymentDetailRequest
from payerkit_sandbox.app import app
from payerkit_sandbox.pay import PayRequest
from payerkit_sandbox.payers import AgreementState, KycState, PayerRequest
from payerkit_sandbox.server import Service
from payerkit_sandbox.settings import Settings
from published import ANSWERS, BANK_DETAILS, ORDER, PAYER, PUBLISHED

DETAILS = "/v1/payer/user-123/payment-details"


# Specification 2.4, 2.1 and 2.7: the fields that are required, and other texts.
REQUIRED = {
    "/v2/payer": (
        """clientUserId email firstName lastName
        beneficiaryType dateOfBirth addressLine1 city state postcode
        country nationality phone ssn"""
    ),
    DETAILS: (
        "bankName accountName beneficiaryType currency addressLine1 city country"
        " dateOfBirth postalCode"
    ),
    "/v1/pay": "payee amount invoiceCurrency paymentCurrency",
}
OPTIONAL = {
    "/v2/payer": "companyName addressLine2 sourceOfFunds businessActivity",
    DETAILS: (
        """accountNumber routingNumber addressLine2 state
        sortCode iban swiftBic documentNumber documentType
        ribNumber bsbNumber ncc branchCode bankCode ifsc"""
    ),
    "/v1/pay": "",
}
CALLS = {
    "payer": ("/v2/payer", PAYER),
    "account": (DETAILS, BANK_DETAILS),
    "order": ("/v1/pay", ORDER),
}


class Caller:
    """A client of the service that knows nothing of payerkit."""

    def __init__(self, service: Service) -> None:
        self.url = service.url
        self.session = requests.Session()
        self.session.headers["x-api-key"] = service.api_key

    def __call__(
        self, method: str, path: str, body: Any = None, **options: Any
    ) -> requests.Response:
        """Make a call and return the response."""
        return self.session.request(
            method, self.url + path, json=body, timeout=20, **options
        )


@contextmanager
def serving(**settings: Any) -> Iterator[Caller]:
    """Give a caller of a service with some settings."""
    service = Service(Settings(seed=1, **settings))
    service.start()
    caller = Caller(service)
    with caller.session:
        yield caller
    service.stop()


@pytest.fixture
def call(request: pytest.FixtureRequest) -> Iterator[Caller]:
    """Yield a caller of a service with the test's settings."""
    with serving(clock="manual", **getattr(request, "param", {})) as caller:
        yield caller


@pytest.fixture(scope="module")
def plain() -> Iterator[Caller]:
    """Yield a caller of one service, shared by tests that use their own ids."""
    with serving(decide_after=0) as caller:
        caller("POST", "/v2/payer", PAYER)
        yield caller


def test_published_calls_get_published_statuses(call: Caller) -> None:
    """The published bodies are accepted, each with its published success status."""
    statuses = [
        call("POST", "/v2/payer", body).status_code
        for body in PUBLISHED["payers"].values()
    ]
    statuses += [
        call("PATCH", "/v1/payer/user-123", {"agreementCompleted": True}).status_code
    ]
    statuses += [
        call("POST", DETAILS, body).status_code
        for body in PUBLISHED["bank_details"].values()
    ]
    statuses += [
        call("GET", DETAILS).status_code,
        call("GET", "/v2/payer/user-123").status_code,
    ]
    statuses += [call("POST", "/v1/pay", ORDER).status_code]

    assert [200, 200, 200, 201, 201, 201, 201, 200, 200, 201] == statuses


def covers(response: Any, published: Any) -> bool:
    """Return True if a response has every field of the published one, with the same
    type.
    """
    if isinstance(published, dict) and isinstance(response, dict):
        return all(
            name in response and covers(response[name], value)
            for name, value in published.items()
        )
    if isinstance(published, list) and isinstance(response, list):
        return len(response) == len(published) and all(map(covers, response, published))
    return published is None or isinstance(response, type(published))


def test_responses_have_every_published_field(call: Caller) -> None:
    """A client finds every field of the published responses, with the same type."""
    got = {
        "create_payer": call("POST", "/v2/payer", PAYER).json(),
        "update_agreement": (
            call("PATCH", "/v1/payer/user-123", {"agreementCompleted": True}).json()
        ),
        "create_payment_detail": call("POST", DETAILS, BANK_DETAILS).json(),
        "list_payment_details": call("GET", DETAILS).json(),
        "get_payer_status": call("GET", "/v2/payer/user-123").json(),
        "pay_native": call("POST", "/v1/pay", ORDER).json(),
        "pay_token": (
            call("POST", "/v1/pay", {**ORDER, "paymentCurrency": "FAU-sepolia"}).json()
        ),
    }

    assert [] == [
        (name, response)
        for name, response in got.items()
        if not covers(response, ANSWERS[name])
    ]
    assert {"requestId", "requestID"} <= got["pay_native"].keys() & got[
        "pay_token"
    ].keys()


def test_request_ids_look_as_published(plain: Caller) -> None:
    """A request id is 01 and 64 hex digits; a reference has 8 bytes."""
    response = plain("POST", "/v1/pay", ORDER).json()

    assert ("01", 66, 18) == (
        response["requestId"][:2],
        len(response["requestId"]),
        len(response["paymentReference"]),
    )
    assert int(response["requestId"], 16)
    assert int(response["paymentReference"], 16)


@pytest.mark.parametrize("key", [None, "", "wrong", "schlüssel".encode()])
def test_everything_but_the_pages_needs_the_key(plain: Caller, key: Any) -> None:
    """Without the key every other path responds alike, before the body is read, and
    none redirects.
    """
    paths = [
        "/v2/payer",
        "/v1/pay",
        "/v1/payer/x",
        "/sandbox/rates",
        "/v3/anything",
        "/nothing",
        "//x",
        "/v2/payer/x/",
    ]
    headers = {"x-api-key": key} if key else {}
    responses = [
        requests.post(
            plain.url + path,
            b"not json",
            headers=headers,
            timeout=20,
            allow_redirects=False,
        )
        for path in paths
    ]

    unauthorized = {"statusCode": 401, "message": "Unauthorized"}
    assert [(401, unauthorized)] * len(paths) == [
        (response.status_code, response.json()) for response in responses
    ]


MALFORMED = [
    (b"not json", "application/json", 400),
    (b"", "application/json", 400),
    (b'{"clientUserId": ', "application/json", 400),
    (b"\xff\xfe", "application/json", 400),
    (b"[" * 50_000, "application/json", 400),  # deeper than a parser follows
    (b"[]", "application/json", 400),  # JSON, but not an object
    (b'"text"', "application/json", 400),
    (json.dumps(PAYER).encode(), "text/plain", 415),
    (json.dumps(PAYER).encode(), "", 415),
    (b"email=x", "application/x-www-form-urlencoded", 415),
    (b" " * 2_000_000, "application/json", 413),
]


@pytest.mark.parametrize(("body", "kind", "status"), MALFORMED)
@pytest.mark.parametrize("path", REQUIRED)
def test_malformed_bodies_are_refused(
    plain: Caller, path: str, body: bytes, kind: str, status: int
) -> None:
    """A body that is not a JSON object gets an error in the published format, never a
    500.
    """
    headers = {"Content-Type": kind} if kind else {}
    response = plain("POST", path, data=body, headers=headers)

    assert (status, status) == (response.status_code, response.json()["statusCode"])


def invalid_fields(response: requests.Response) -> list[tuple[str, str]]:
    """Return the names of the fields that are refused, each with its code."""
    assert (400, "Bad Request") == (response.status_code, response.json()["error"])
    return [(each["field"], each["code"]) for each in response.json()["errors"]]


@pytest.mark.parametrize("path", REQUIRED)
def test_all_invalid_fields_are_named(plain: Caller, path: str) -> None:
    """One response names every field that is missing, and every text that is null."""
    required, optional = (names[path].split() for names in (REQUIRED, OPTIONAL))
    expected = {
        *((name, "missing") for name in required),
        *((name, "string_type") for name in optional),
    }

    assert expected == set(invalid_fields(plain("POST", path, dict.fromkeys(optional))))


@table("service_constraints")
def test_every_constraint_is_checked(
    plain: Caller, call: str, changes: dict[str, Any], code: str
) -> None:
    """An invalid field is refused by name, with a code."""
    path, body = CALLS[call]

    assert [(*changes, code)] == invalid_fields(
        plain("POST", path, {**body, **changes})
    )


def test_extra_fields_are_ignored(plain: Caller) -> None:
    """Clients may send whole rows of their own; the service ignores unknown fields."""
    body = {**PAYER, "clientUserId": "extra", "rowNumber": 5, "isActive": None}

    assert plain("POST", "/v2/payer", body).status_code == 200


def test_a_missing_agreement_gets_the_published_error(plain: Caller) -> None:
    """A body without its only field gets the published message."""
    error = plain("PATCH", "/v1/payer/user-123", {}).json()

    assert PUBLISHED["errors"]["agreement_missing"] == {
        name: error[name] for name in ("statusCode", "message", "error")
    }


def test_unknown_payers_get_the_published_error(plain: Caller) -> None:
    """All calls by id refuse an unregistered id with the published message; adding bank
    details has its own.
    """
    responses = [
        plain("GET", "/v2/payer/nobody"),
        plain("PATCH", "/v1/payer/nobody", {"agreementCompleted": True}),
        plain("POST", "/v1/payer/nobody/payment-details", BANK_DETAILS),
        plain("GET", "/v1/payer/nobody/payment-details"),
    ]
    payer, user = (
        {
            **PUBLISHED["errors"]["payer_unknown"],
            "message": f"{called} nobody not found",
        }
        for called in ("Payer with client user ID", "User with ID")
    )

    assert [404] * 4 == [response.status_code for response in responses]
    assert [payer, payer, user, payer] == [response.json() for response in responses]


@table("service_refusals")
def test_a_call_is_refused_for_what_is_wrong(  # the columns of the table
    plain: Caller, method: str, path: str, body: Any, status: str, fields: list[str]
) -> None:
    """In the published format, with the name of a field that is invalid, and without
    its value.
    """
    response = plain(method, path, body, allow_redirects=False)
    error = response.json()

    assert (status, int(status)) == (str(response.status_code), error["statusCode"])
    assert fields == [each["field"] for each in error.get("errors", [])]
    assert "xxx" not in response.text


def test_an_id_has_256_characters_of_any_script(plain: Caller) -> None:
    """The longest id that is accepted reaches its payer, though a character takes nine
    in a URL.
    """
    plain("POST", "/v2/payer", {**PAYER, "clientUserId": "漢" * 256})

    assert plain("GET", f"/v2/payer/{'漢' * 256}").status_code == 200


@table("service_emails")
def test_an_email_has_the_published_format(
    plain: Caller, changes: dict[str, str], is_valid: bool
) -> None:
    """An e-mail address is words with dots and a domain, each of a bounded length."""
    response = plain(
        "POST", "/v2/payer", {**PAYER, "clientUserId": "email format", **changes}
    )

    assert (200 if is_valid else 400) == response.status_code


def test_newer_public_paths_are_served(plain: Caller) -> None:
    """Calls by id under /v2, as in newer public documents, respond alike."""
    plain("POST", "/v2/payer", {**PAYER, "clientUserId": "newer"})
    statuses = [
        plain("PATCH", "/v2/payer/newer", {"agreementCompleted": True}).status_code,
        plain("POST", "/v2/payer/newer/payment-details", BANK_DETAILS).status_code,
    ]
    listed = [
        plain("GET", f"/{version}/payer/newer/payment-details").json()
        for version in ("v1", "v2")
    ]

    assert [200, 201] == statuses
    assert (listed[0], 1) == (listed[1], len(listed[0]["paymentDetails"]))


def test_ids_are_not_taken_for_routes(plain: Caller) -> None:
    """An id that looks like a route stays an id: an encoded segment is one segment."""
    for client_user_id in ("newest/payment-details", "newest"):
        plain("POST", "/v2/payer", {**PAYER, "clientUserId": client_user_id})
    statuses = [
        plain("GET", f"/v2/payer/{path}").status_code
        for path in ("newest%2Fpayment-details", "newest/other")
    ]

    assert [200, 404] == statuses
    assert "paymentDetails" in plain("GET", "/v2/payer/newest/payment-details").json()


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (payerkit.Payer, PayerRequest),
        (payerkit.BankDetails, PaymentDetailRequest),
        (payerkit.PaymentOrder, PayRequest),
    ],
)
def test_models_and_service_have_the_same_fields(
    model: type[BaseModel], body: Any
) -> None:
    """A field that only one side knows would be dropped silently."""
    known = {
        str(field.serialization_alias): field.is_required()
        for field in model.model_fields.values()
    }
    schema = TypeAdapter(body).json_schema()

    assert known == {name: name in schema["required"] for name in schema["properties"]}


def test_second_registration_updates(call: Caller) -> None:
    """A second registration keeps user id, states and links, and stores the new
    data.
    """
    first = call("POST", "/v2/payer", PAYER).json()
    call("PATCH", "/v1/payer/user-123", {"agreementCompleted": True})
    second = call("POST", "/v2/payer", {**PAYER, "city": "Albany"}).json()

    assert {
        **first,
        "status": {"agreementStatus": "completed", "kycStatus": "not_started"},
    } == second


@pytest.mark.parametrize("kind", ["kyc", "agreement"])
def test_a_registration_knows_two_states_and_the_status_by_id_all(
    plain: Caller, kind: str
) -> None:
    """POST /v2/payer keeps to its published enum, whatever word the status by id
    has.
    """
    passed = {"approved", "completed", "full_clearance", "signed"}
    words: dict[str, tuple[str, str]] = {}
    for word in get_args({"kyc": KycState, "agreement": AgreementState}[kind]):
        body = {
            **PAYER,
            "clientUserId": f"{kind} {word}",
            "email": f"{kind}-{word.replace('_', '-')}@example.com",
        }
        posted = plain("POST", "/v2/payer", body).json()["status"][f"{kind}Status"]
        words[word] = (
            posted,
            plain("GET", f"/v2/payer/{kind} {word}").json()[f"{kind}Status"],
        )

    assert {
        word: ("completed" if word in passed else "not_started", word) for word in words
    } == words


TEST_EMAILS = [
    # e-mail, identity check, agreement, whether the payer is compliant
    ("KYC-Retry-Required@Example.com", "retry_required", "not_started", False),
    ("kyc-approved+agreement-completed@example.com", "approved", "completed", True),
    ("kyc-completed+agreement-signed@example.com", "completed", "signed", True),
    (
        "kyc-full-clearance+agreement-signed@example.com",
        "full_clearance",
        "signed",
        True,
    ),
    (
        "kyc-prechecks-completed+agreement-signed@example.com",
        "prechecks_completed",
        "signed",
        False,
    ),
    ("kyc-pending+agreement-completed@example.com", "pending", "completed", False),
    ("kyc-approved@example.com", "approved", "not_started", False),
    ("kyc-approved+agreement-pending@example.com", "approved", "pending", False),
    ("kyc-unheard-of@example.com", "not_started", "not_started", False),
    (
        "kyc-rejected@example.org",
        "not_started",
        "not_started",
        False,
    ),  # another domain is no test value
]


@pytest.mark.parametrize(("email", "kyc", "agreement", "is_compliant"), TEST_EMAILS)
def test_test_emails_lead_to_states(
    plain: Caller, email: str, kyc: str, agreement: str, is_compliant: bool
) -> None:
    """A documented e-mail sets the payer's state at once; a payer is compliant when the
    check is passed and the agreement is signed.
    """
    plain("POST", "/v2/payer", {**PAYER, "clientUserId": email, "email": email})
    response = plain("GET", f"/v2/payer/{email}").json()
    user_id = response.pop("userId")

    assert {
        "kycStatus": kyc,
        "agreementStatus": agreement,
        "isCompliant": is_compliant,
    } == response
    assert user_id


REFUSALS = [
    # settings, bank, code
    ({"kyc_required": True}, "Chase", "not_yet_passed_kyc_kyb"),
    (
        {},
        "example bank No Rail ",
        "not_approved_for_payout_rail",
    ),  # a test value, in any case
]


@pytest.mark.parametrize(("call", "bank", "code"), REFUSALS, indirect=["call"])
def test_a_refusal_has_a_code(call: Caller, bank: str, code: str) -> None:
    """Bank details that are too early are refused with the service's code, and nothing
    is stored.
    """
    call("POST", "/v2/payer", PAYER)
    response = call("POST", DETAILS, {**BANK_DETAILS, "bankName": bank})
    body = response.json()

    assert {
        "statusCode": 403,
        "message": body["message"],
        "error": "Forbidden",
        "code": code,
    } == body
    assert (403, True) == (response.status_code, "yet" in body["message"])
    assert ["payer"] == [
        write["what"] for write in call("GET", "/sandbox/ledger").json()["ledger"]
    ]


@pytest.mark.parametrize("call", [{"kyc_required": True}], indirect=True)
@pytest.mark.parametrize("kyc", ["approved", "completed", "full_clearance"])
def test_a_passed_check_lets_accounts_in(call: Caller, kyc: str) -> None:
    """Any word for a passed identity check will do; the agreement is not required."""
    call(
        "POST",
        "/v2/payer",
        {**PAYER, "email": f"kyc-{kyc.replace('_', '-')}@example.com"},
    )

    assert call("POST", DETAILS, BANK_DETAILS).status_code == 201


@pytest.mark.parametrize(
    ("bank", "status"),
    [
        ("Example Bank pending", "pending"),
        ("Example Bank failed", "failed"),
        ("example bank VERIFIED", "verified"),
        ("Example Bank initiated", "initiated"),
        ("Example Bank rejected", "rejected"),
        ("Example Bank deactivated", "deactivated"),
        ("Chase", "approved"),
    ],
)
def test_test_banks_lead_to_states(plain: Caller, bank: str, status: str) -> None:
    """A documented bank name sets the state of the bank details."""
    response = plain("POST", DETAILS, {**BANK_DETAILS, "bankName": bank}).json()

    assert status == response["payment_detail"]["status"]


@pytest.mark.parametrize(
    ("call", "decided_after"),
    [
        ({}, (5, 5)),  # the default
        ({"decide_after": 3, "accounts_after": 1}, (3, 1)),
        ({"decide_after": 4}, (4, 4)),  # sets both
    ],
    indirect=["call"],
)
def test_decisions_take_their_time(
    call: Caller, decided_after: tuple[int, int]
) -> None:
    """An identity check is pending once it is submitted, an account once it is stored;
    each is decided in its time.
    """
    call("POST", "/v2/payer", PAYER)
    call("POST", "/sandbox/kyc/user-123/submit", {})
    call("POST", DETAILS, BANK_DETAILS)
    statuses = []
    for _ in range(6):
        account = call("GET", DETAILS).json()["paymentDetails"][0]["status"]
        statuses.append(
            (call("GET", "/v2/payer/user-123").json()["kycStatus"], account)
        )
        call("POST", "/sandbox/clock/advance", {"seconds": 1})

    pending = tuple(
        [status[place] for status in statuses].count("pending") for place in (0, 1)
    )
    assert (decided_after, ("approved", "approved")) == (pending, statuses[-1])


def test_a_payment_by_its_newer_path_takes_a_reference(plain: Caller) -> None:
    """Of 1 to 255 characters, by which it is listed."""
    made = plain("POST", "/v2/payouts", {**ORDER, "reference": "r" * 255})
    found = plain("GET", "/v2/request").json()["requests"][-1]
    refused = [
        plain("POST", "/v2/payouts", {**ORDER, "reference": reference})
        for reference in ("", "r" * 256)
    ]

    assert (201, "r" * 255) == (made.status_code, found["reference"])
    assert [["reference"]] * 2 == [
        [name for name, _ in invalid_fields(response)] for response in refused
    ]


def test_the_sandbox_describes_itself(plain: Caller) -> None:
    """Without a key: every call with its models, the API key, and the errors that it
    responds with; FastAPI's own 422 is none of them.
    """
    document = requests.get(f"{plain.url}/openapi.json", timeout=20).json()
    calls = {
        f"{method.upper()} {path}": call
        for path, methods in document["paths"].items()
        for method, call in methods.items()
    }
    pay = calls["POST /v1/pay"]["responses"]
    schemas = document["components"]["schemas"]

    assert {"POST /v2/payer", "PATCH /v1/payer/{clientUserId}"} <= calls.keys()
    assert {"201", "400", "401", "415", "429", "507"} <= pay.keys()
    assert not [name for name, call in calls.items() if "422" in call["responses"]]
    assert "documentNumber" in schemas["PaymentDetailRequest"]["properties"]
    assert "documentNumber" not in schemas["ListedDetail"]["properties"]
    assert [{"ApiKey": []}, {"ClientId": []}] == calls["POST /v1/pay"]["security"]
    assert {"ApiKey": "x-api-key", "ClientId": "x-client-id"} == {
        name: scheme["name"]
        for name, scheme in document["components"]["securitySchemes"].items()
    }


def test_a_wrong_method_is_told_the_right_ones(plain: Caller) -> None:
    """All of a path, which several functions may serve."""
    response = plain("DELETE", "/v2/payer/user-123")

    assert (405, "GET, PATCH") == (response.status_code, response.headers["Allow"])


BODIES: list[Any] = [{}, [], "text", None, {"status": "x", "plan": "x", "usd": "x"}]


@pytest.mark.parametrize("path", sorted(app.openapi()["paths"]))
def test_every_call_responds_as_documented(plain: Caller, path: str) -> None:
    """To bodies and ids that it does not expect: with a status that its document has,
    and the published error; without a key, with 401.
    """
    url = re.sub(r"\{\w+\}", "unknown", path)
    for method, call in app.openapi()["paths"][path].items():
        documented = {int(status) for status in call["responses"]}
        for body in BODIES:
            response = plain(method, url, body)
            content = response.json()

            assert response.status_code in documented, (method, body)
            assert response.ok or content["statusCode"] == response.status_code
        if path != "/healthz":
            assert (
                401 == requests.request(method, plain.url + url, timeout=20).status_code
            )
