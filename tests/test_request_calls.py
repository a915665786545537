"""The calls that pay a stored bank account: what they send and return, and what is
known if no response comes.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import payerkit
from far_end import Behaviour, FarEnd, Received, raw, reply
from payerkit import InvalidInput, PayoutOrder, Refused, UnknownOutcome
from payerkit.client import Client
from payerkit.errors import NotFound, PayoutWarning, RealMoneyWarning
from payerkit.models import Payment, PaymentRequest, Payout, RequestStatus
from payout_service import PUBLISHED, answering, client_of, query_of
from published import ANSWERS, ORDER

CREATED, ACCOUNT, STATUS = (
    PUBLISHED[name] for name in ("created", "account", "status")
)
REQUEST_ID, ACCOUNT_ID = CREATED["requestId"], ACCOUNT["id"]
PAYOUT = {
    "amount": "25.50",
    "invoice_currency": "USD",
    "payment_currency": "USDC-sepolia",
}
TO_PAY = {name: ANSWERS["pay_token"][name] for name in ("transactions", "metadata")}


def request_payment(
    *answers: object, request: Any = REQUEST_ID, **ids: Any
) -> tuple[Payment, list[Received]]:
    """Return the payment of a request from a service that answers so, and what the
    service received.
    """
    with answering(*answers) as service, client_of(service) as client:
        ids = {"client_user_id": "u", "payment_details_id": ACCOUNT_ID} | ids
        return payerkit.request_payment(client, request, **ids), service.ledger


def created(**changes: str) -> PaymentRequest:
    """Return a request as `create_request` returns it. changes: of its order."""
    order = PayoutOrder(**PAYOUT | changes, reference="invoice-001")
    return PaymentRequest.read(CREATED, order=order)


def test_a_request_shows_its_reference_and_its_order() -> None:
    """A reference that payerkit made is seen nowhere else; one that holds an e-mail
    address is masked.
    """
    request = created()
    shown = payerkit.models.PaymentRequest.read(
        CREATED, order=PayoutOrder(**PAYOUT, reference="john.doe@example.com")
    )

    assert "reference='invoice-001'" in repr(request)
    assert ("Reference", "invoice-001") in request.rows()
    assert ("Order", "25.50 USD, paid in USDC-sepolia") in request.rows()
    assert ("Reference", "••••") in shown.rows()
    assert "john.doe" not in repr(shown)
    assert "Order" not in dict(PaymentRequest.read(CREATED).rows())


@pytest.mark.parametrize(
    "status", [200, 201]
)  # the documentation says 201, some clients take 200
def test_a_request_is_created_as_published(status: int) -> None:
    """The body is the published one with a reference of ours, and no payee."""
    with answering(CREATED, status=status) as service, client_of(service) as client:
        order = {
            name: value
            for name, value in PUBLISHED["order"].items()
            if name != "isCryptoToFiatAvailable"
        }
        request = payerkit.create_request(client, order)

    (sent,) = service.ledger
    assert ("POST", "/v2/request") == (sent.method, sent.target)
    assert json.loads(sent.body) == {
        **PUBLISHED["order"],
        "reference": request.reference,
    }
    assert (REQUEST_ID, CREATED["paymentReference"]) == (
        request.request_id,
        request.payment_reference,
    )
    assert PayoutOrder(**PAYOUT, reference=request.reference) == request.order


def test_references_are_unique_unless_given() -> None:
    """Two requests can be told apart; a reference of the user's stays as it is."""
    with answering(CREATED) as service, client_of(service) as client:
        references = [
            payerkit.create_request(client, PAYOUT).reference for _ in range(2)
        ]
        own = payerkit.create_request(
            client, **PAYOUT, reference="invoice-001"
        ).reference

    assert 2 == len(set(references))
    assert all(
        reference and len(reference) == len("payerkit-") + 32
        for reference in references
    )
    assert own == "invoice-001"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"amount": 25.5}, "amount"),  # a float is not exact
        ({"payee": ORDER["payee"]}, "payee"),  # the payee is the account
        ({"reference": "x" * 256}, "reference"),
        ({"reference": ""}, "reference"),
        ({"payment_currency": None}, "payment_currency"),
        ({"amuont": "1"}, "amuont"),
    ],
)
def test_bad_orders_are_not_sent(changes: dict[str, Any], field: str) -> None:
    """Each wrong field is named before anything is sent."""
    with (
        answering(CREATED) as service,
        client_of(service) as client,
        pytest.raises(InvalidInput) as caught,
    ):
        payerkit.create_request(client, PAYOUT | changes)

    assert ([], {field}) == (
        service.ledger,
        {problem.field for problem in caught.value.fields},
    )


@pytest.mark.parametrize(
    "end",
    [raw(b""), reply(500, "{}"), reply(201, "not JSON"), reply(201, "{}")],
    ids=["cut", "500", "garbled", "no id"],
)
def test_a_lost_response_is_unknown_and_never_sent_again(end: Behaviour) -> None:
    """Not even by retries; the advice names the list that settles it, by the reference
    that was sent.
    """
    with (
        FarEnd([end, reply(201, json.dumps(CREATED))]) as service,
        Client(service.url, "key-of-a-test") as client,
        pytest.raises(UnknownOutcome) as caught,
    ):
        payerkit.create_request(client, PAYOUT)

    (sent,) = service.ledger
    assert "create_request" == caught.value.operation
    assert (
        f"list_requests(client, reference='{json.loads(sent.body)['reference']}')"
        in str(caught.value)
    )


def test_real_money_is_told() -> None:
    """A currency of a main network moves real money, whichever service the request is
    created at.
    """
    with (
        answering(CREATED) as service,
        client_of(service) as client,
        pytest.warns(
            RealMoneyWarning, match="USDC-mainnet is a token of Ethereum"
        ) as caught,
    ):
        payerkit.create_request(
            client, amount="1", invoice_currency="USD", payment_currency="USDC-mainnet"
        )

    assert [__file__] == [warning.filename for warning in caught]


def test_the_transactions_of_a_request() -> None:
    """The account is read first; the payment remembers order, payer and account, and
    shows none of its numbers.
    """
    wallet = ORDER["payee"]
    payment, (accounts, pay) = request_payment(
        {"paymentDetails": [ACCOUNT]},
        TO_PAY,
        request=created(),
        client_user_id="a/b",
        wallet=wallet,
    )

    assert ("GET", "GET") == (accounts.method, pay.method)
    assert "/v1/payer/a%2Fb/payment-details" == urlsplit(accounts.target).path
    assert f"/v2/request/{REQUEST_ID}/pay" == urlsplit(pay.target).path
    assert {
        "clientUserId": "a/b",
        "paymentDetailsId": ACCOUNT_ID,
        "wallet": wallet,
    } == query_of(pay)
    assert (REQUEST_ID, CREATED["paymentReference"]) == (
        payment.request_id,
        payment.payment_reference,
    )
    assert created().order == payment.order
    assert payment.payout is not None
    assert ("the account ••••3489 at Chase (USD, local)", "approved") == (
        str(payment.payout),
        payment.payout.status,
    )
    assert "253009233489" not in f"{payment!r}{payment.payout!r}"


def test_an_id_is_enough() -> None:
    """A request of another program has no order here; the wallet may be left out."""
    payment, (_, pay) = request_payment({"paymentDetails": [ACCOUNT]}, TO_PAY)

    assert {"clientUserId": "u", "paymentDetailsId": ACCOUNT_ID} == query_of(pay)
    assert (None, None, REQUEST_ID) == (
        payment.order,
        payment.order_source,
        payment.request_id,
    )


@pytest.mark.parametrize(
    ("accounts", "amount", "words"),
    [
        ([ACCOUNT], "0.99", "at least 1 USD to such an account"),
        (
            [ACCOUNT | {"status": "failed"}],
            "1",
            "The account ••••3489 at Chase .* did not pass its checks",
        ),
        (
            [ACCOUNT, ACCOUNT | {"accountNumber": "253009231111"}],
            "1",
            "more than once, also for the account ••••1111",
        ),
    ],
)
def test_what_may_not_be_paid_out_is_told(
    accounts: list[Any], amount: str, words: str
) -> None:
    """At the caller's line, and what to do, before the payment is requested."""
    request = created(amount=amount)
    with pytest.warns(PayoutWarning, match=words) as caught:
        request_payment({"paymentDetails": accounts}, TO_PAY, request=request)

    assert [__file__] == [warning.filename for warning in caught]


BAD_IDS = ["..", "a\x00b", "x" * 257]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        *(("request", value, "request: ") for value in (None, 5, CREATED, "")),
        (
            "payment_details_id",
            "other",
            "payment_details_id: The payer has no account with this id",
        ),
        *(
            (name, bad, name)
            for name in ("request", "client_user_id", "payment_details_id", "wallet")
            for bad in BAD_IDS
        ),
    ],
)
def test_what_cannot_be_paid_is_not_requested(
    name: str, value: Any, words: str
) -> None:
    """Nothing is sent but the question for the account."""
    service = answering({"paymentDetails": [ACCOUNT]})
    ids: dict[str, Any] = {
        "request": REQUEST_ID,
        "client_user_id": "u",
        "payment_details_id": ACCOUNT_ID,
        name: value,
    }
    with (
        service,
        client_of(service) as client,
        pytest.raises(InvalidInput, match=words),
    ):
        payerkit.request_payment(client, ids.pop("request"), **ids)

    assert all("/pay?" not in each.target for each in service.ledger)


def test_a_refusal_names_the_field() -> None:
    """The published refusal has `errors`, each with field and message."""
    refusal = {
        "message": "Validation failed",
        "errors": [{"field": "wallet", "message": "must be an address"}],
    }
    service = FarEnd(
        [reply(200, json.dumps([ACCOUNT])), reply(400, json.dumps(refusal))]
    )
    with (
        service,
        client_of(service) as client,
        pytest.raises(Refused, match="Validation failed") as caught,
    ):
        payerkit.request_payment(
            client,
            created(),
            client_user_id="u",
            payment_details_id=ACCOUNT_ID,
            wallet="0x1",
        )

    assert ["wallet"] == [problem.field for problem in caught.value.fields]


def test_a_payment_to_an_account_is_saved_and_read(tmp_path: Path) -> None:
    """With its order, which names no payee, and its account."""
    payment = Payment.read(
        TO_PAY,
        order=created().order,
        order_source="sent",
        environment="sandbox",
        payout=OF_ACCOUNT,
    )
    payment.save(tmp_path / "payment.json")
    read = payerkit.read_payment(tmp_path / "payment.json")

    assert (payment.payout, payment.order, REQUEST_ID) == (
        read.payout,
        read.order,
        read.request_id,
    )
    assert "file" == read.order_source


OF_ACCOUNT = Payout.of_account(
    ACCOUNT, request_id=REQUEST_ID, client_user_id="u", payment_details_id=ACCOUNT_ID
)
ODD_PAYOUTS = [
    [],
    "x",
    {"request_id": 5},
    {"request_id": "1"},
    asdict(OF_ACCOUNT) | {"more": "1"},
]
ODD_PAYOUTS += [asdict(OF_ACCOUNT) | {"request_id": None}]  # nothing is paid without it


@pytest.mark.parametrize("saved", ODD_PAYOUTS)
def test_a_file_with_an_odd_payout_is_read_without_it(saved: object) -> None:
    """A file is others' word: what does not look like a payout is none."""
    content = {"order": None, "network": "sepolia", "answer": TO_PAY, "payout": saved}

    assert payerkit.read_payment(content).payout is None


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        (
            {"accountNumber": "", "iban": "DE89370400440532013001"},
            "the account ••••3001 at Chase (USD, local)",
        ),
        (
            {"accountNumber": {"no": "253009233489"}},
            "the account without a number at Chase (USD, local)",
        ),
        (
            {"bankName": "Ch\u202ease"},
            r"the account ••••3489 at Ch\u202ease (USD, local)",
        ),
        ({"bankName": ["Chase"], "currency": 5, "rails": {}}, "the account ••••3489"),
    ],
)
def test_an_account_of_any_shape_is_shown(changes: dict[str, Any], shown: str) -> None:
    """By the first number that is one, and with nothing that would turn the text
    around.
    """
    payout = Payout.of_account(
        ACCOUNT | changes,
        request_id="1",
        client_user_id="u",
        payment_details_id=ACCOUNT_ID,
    )

    assert (shown, True) == (str(payout), shown in repr(payout))


def test_the_state_of_a_request() -> None:
    """Amounts are exact, what is null is None, and personal data is masked."""
    with answering(STATUS) as service, client_of(service) as client:
        status = payerkit.get_request(client, REQUEST_ID)

    assert f"/v2/request/{REQUEST_ID}" == service.ledger[0].target
    expected = {
        "has_been_paid": False,
        "status": "pending",
        "reference": "invoice-001",
        "tx_hash": None,
    }
    expected |= {
        "request_amount": Decimal("25.50"),
        "paid_amount": Decimal(0),
        "conversion_rate": None,
    }
    assert expected == {name: getattr(status, name) for name in expected}
    shown = (
        f"{status!r}{status._repr_html_()}{status.to_dict()}{status.model_dump()}"
        f"{dict(status)}"
    )
    assert "Main Street" not in shown
    assert "John" not in shown
    assert STATUS == status.to_dict(reveal=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hasBeenPaid", "yes"),
        ("paidAmount", "ten"),
        ("paidAmount", True),
        ("payments", None),
        ("fees", None),
    ],
)
def test_an_odd_member_is_not_believed(name: str, value: object) -> None:
    """A member of an unexpected type is None, and the rest is read."""
    status = RequestStatus.read({**STATUS, name: value})

    assert ("pending", None) == (
        status.status,
        getattr(status, payerkit.wire.our_name(name), None),
    )


def test_a_service_without_the_call_says_so() -> None:
    """A 404 may mean that the request is unknown, or that the service lacks the
    call.
    """
    with (
        answering({"message": "Request not found"}, status=404) as service,
        client_of(service) as client,
        pytest.raises(NotFound, match="or the service does not offer this call"),
    ):
        payerkit.get_request(client, REQUEST_ID)
