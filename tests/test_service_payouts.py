"""The sandbox's payouts: requests, their transactions, what a wallet pays, and what
becomes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import payerkit
from payerkit import Refused
from payerkit.client import Client, SandboxClient
from payerkit.client.call import Call, RequestBody
from payerkit.errors import NotFound
from payerkit.models import Payment, PaymentRequest
from payerkit.payments.onchain.currencies import token_list
from payerkit_sandbox.wallet import Rates, in_usd
from published import BANK_DETAILS, ORDER, PAYER, PUBLISHED

USER = PAYER["clientUserId"]
BODY = PUBLISHED["payout_orders"]["sepolia"]
WALLET = ORDER["payee"]


@pytest.fixture(scope="module")
def module_client() -> Iterator[SandboxClient]:
    """Give a sandbox with a compliant payer and an approved account, for tests that
    change nothing but by paying.
    """
    with payerkit.sandbox(seed=1, clock="manual", decide_after=0) as client:
        on_board(client)
        yield client


@pytest.fixture
def client() -> Iterator[SandboxClient]:
    """Give a sandbox of its own with a compliant payer and an approved account."""
    with payerkit.sandbox(
        seed=1, clock="manual", accounts_after=0, decide_after=60
    ) as client:
        on_board(client)
        yield client


def on_board(client: SandboxClient) -> None:
    """Register a payer who is compliant, and store an account."""
    payerkit.create_payer(client, PAYER)
    payerkit.update_agreement(client, USER)
    client.sandbox.complete_kyc(USER)
    payerkit.create_payment_detail(client, USER, BANK_DETAILS)


def account_of(client: Client, place: int = 0) -> str:
    """Return the id of the payer's account at a place."""
    return str(payerkit.list_payment_details(client, USER)["id"].iloc[place])


def new_request(client: Client, **changes: Any) -> PaymentRequest:
    """Create the published request, with changes."""
    order = {
        name: value for name, value in BODY.items() if name != "isCryptoToFiatAvailable"
    }
    return payerkit.create_request(client, order | changes)


def new_payment(client: Client, *, place: int = 0, **changes: Any) -> Payment:
    """Create the published request, with changes, and return the transactions that pay
    it to the account at a place.
    """
    request = new_request(client, **changes)
    to = {
        "client_user_id": USER,
        "payment_details_id": account_of(client, place),
        "wallet": WALLET,
    }
    return payerkit.request_payment(client, request, **to)


def call(client: Client, method: str, route: str, **query: str) -> Any:
    """Return the parsed response to a call."""
    return client.send(
        Call(
            operation="call",
            method=method,
            route=route,
            query=query,
            read=lambda content: content,
        )
    )


def payments(client: Client, **query: str) -> dict[str, Any]:
    """Return the response to a list of payments."""
    return dict(call(client, "GET", "/v2/payments", **query))


def test_the_whole_journey(client: SandboxClient) -> None:
    """A request is paid by the wallet, seen by its reference, and sent to the bank."""
    before = client.sandbox.wallet("fUSDC-sepolia")["balance"]
    request = new_request(client, reference="invoice-001")
    payment = payerkit.request_payment(
        client,
        request,
        client_user_id=USER,
        payment_details_id=account_of(client),
        wallet=WALLET,
    )
    unpaid = payerkit.get_request(client, str(request.request_id))
    assert (False, "pending", None) == (
        unpaid.has_been_paid,
        unpaid.status,
        unpaid.tx_hash,
    )
    assert [] == payments(client, reference="invoice-001")["payments"]

    transaction = client.sandbox.pay(payment)
    paid = payerkit.get_request(client, str(request.request_id))
    (listed,) = payments(client, reference="invoice-001")["payments"]
    seen = listed["amount"], listed["sourceTxHash"], listed["request"]["reference"]

    assert (True, "paid", transaction) == (
        paid.has_been_paid,
        paid.status,
        paid.tx_hash,
    )
    assert (Decimal("25.50"), Decimal("25.50")) == (
        paid.request_amount,
        paid.paid_amount,
    )
    assert ("25.500000", transaction, "invoice-001") == seen
    assert (
        before - Decimal("25.5255") == client.sandbox.wallet("fUSDC-sepolia")["balance"]
    )  # with the fee of 0.1 %


def test_requests_are_listed_before_they_are_paid(client: SandboxClient) -> None:
    """In the order in which they came, those of `/v1/pay` too; by wallet, those that it
    paid.
    """
    payment = new_payment(client, reference="invoice-001")
    client.sandbox.advance(seconds=90)
    direct = payerkit.initiate_payment(client, ORDER)
    client.sandbox.pay(payment)
    paid, unpaid = payerkit.list_requests(client).to_dict("records")
    names = ("request_id", "reference", "status", "has_been_paid", "payee", "payer")

    assert (payment.request_id, "invoice-001", "paid", True, None, WALLET) == tuple(
        map(cell, map(paid.get, names))
    )
    expected = (direct.request_id, None, "pending", False, ORDER["payee"], None)
    assert expected == tuple(map(cell, map(unpaid.get, names)))
    waited = unpaid["created_at_utc"] - paid["created_at_utc"]
    assert 90 == waited.total_seconds()
    assert [payment.request_id] == payerkit.list_requests(client, wallet=WALLET)[
        "request_id"
    ].tolist()


def cell(value: Any) -> Any:
    """Return a cell, with None for a missing one."""
    return None if pd.isna(value) else value


def test_the_operator_is_paid(module_client: SandboxClient) -> None:
    """The calldata names one address for all payouts, which the sandbox's policy
    knows.
    """
    row = payerkit.decode_transactions(new_payment(module_client)).iloc[-1]
    addresses = module_client.sandbox.policy().addresses

    assert addresses
    assert [row["recipient"]] == [entry.address for entry in addresses]
    assert str(row["amount"]) == "25.500000"


def test_a_payment_to_a_wallet_can_be_paid_too(module_client: SandboxClient) -> None:
    """POST /v1/pay: native coins, without a payout."""
    payment = payerkit.initiate_payment(module_client, ORDER)
    transaction = module_client.sandbox.pay(payment)
    state = payerkit.get_request(module_client, str(payment.request_id))

    assert (True, False, transaction) == (
        state.has_been_paid,
        state.is_crypto_to_fiat_available,
        state.tx_hash,
    )


def test_who_pays_twice_pays_twice(client: SandboxClient) -> None:
    """As on a blockchain: the contracts do not prevent it."""
    payment = new_payment(client)
    hashes = {client.sandbox.pay(payment) for _ in range(2)}
    found = payments(client, requestId=str(payment.request_id))

    assert hashes == {each["sourceTxHash"] for each in found["payments"]}
    state = payerkit.get_request(client, str(payment.request_id))
    amounts = state.paid_amount, state.received_amount, state.excess_amount
    assert ((Decimal("51.00"), Decimal("51.00"), Decimal("25.50")), WALLET) == (
        amounts,
        state.payer_address,
    )


def test_a_wallet_without_enough_pays_nothing(client: SandboxClient) -> None:
    """All transactions are made, or none."""
    payment = new_payment(client)
    client.sandbox.set_wallet("fUSDC-sepolia", balance="25.5254")
    with pytest.raises(
        Refused, match="does not have enough fUSDC-sepolia for the payment"
    ):
        client.sandbox.pay(payment)

    assert {
        "balance": Decimal("25.525400"),
        "allowance": Decimal(0),
    } == client.sandbox.wallet("fUSDC-sepolia")
    client.sandbox.set_wallet("fUSDC-sepolia", balance="100")
    client.sandbox.set_wallet("ETH-sepolia-sepolia", balance="0.000001")
    with pytest.raises(
        Refused, match="does not have enough ETH-sepolia-sepolia for gas"
    ):
        client.sandbox.pay(payment)
    assert not payerkit.get_request(client, str(payment.request_id)).has_been_paid


def test_an_allowance_is_used_up(client: SandboxClient) -> None:
    """With an allowance no approval is asked for; the next payment needs one."""
    client.sandbox.set_wallet("fUSDC-sepolia", allowance="25.5255")
    payment = new_payment(client)
    client.sandbox.pay(payment)

    assert 1 == len(payment.transactions)
    assert payment.metadata
    assert payment.metadata.has_enough_allowance is True
    assert 2 == len(new_payment(client).transactions)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"amount": "0"}, "amount: must be greater than zero"),
        ({"amount": "0.0000001"}, "must have at most 6 digits"),
        ({"wallet": "0x12"}, "wallet: must be an address"),
    ],
)
def test_what_no_wallet_can_pay_is_refused(
    module_client: SandboxClient, changes: dict[str, str], words: str
) -> None:
    """Nothing is spent then."""
    payment = new_payment(module_client)
    before = module_client.sandbox.wallet("fUSDC-sepolia")
    with pytest.raises(Refused, match=words):
        module_client.sandbox.pay(payment, **changes)

    assert before == module_client.sandbox.wallet("fUSDC-sepolia")


def test_a_payment_of_another_sandbox_is_not_found(
    module_client: SandboxClient, client: SandboxClient
) -> None:
    """Its request is unknown here."""
    payment = payerkit.initiate_payment(client, {**ORDER, "amount": "0.3"})
    with pytest.raises(NotFound, match="not found"):
        module_client.sandbox.pay(payment)


REFUSED = [
    ({"amount": "0"}, "amount"),
    ({"amount": "1e3"}, "amount"),
    ({"invoiceCurrency": "nonsense"}, "invoiceCurrency"),
    (
        {"paymentCurrency": "ETH-sepolia-sepolia"},
        "paymentCurrency",
    ),  # only USDC is paid out
    ({"paymentCurrency": "nonsense"}, "paymentCurrency"),
    ({"reference": "x" * 256}, "reference"),
    ({"isCryptoToFiatAvailable": False}, "isCryptoToFiatAvailable"),
]


@pytest.mark.parametrize(("changes", "field"), REFUSED)
def test_a_request_that_cannot_be_paid_out_is_refused(
    module_client: SandboxClient, changes: dict[str, Any], field: str
) -> None:
    """With the field and the reason."""
    post = Call(
        operation="x",
        method="POST",
        route="/v2/request",
        body=RequestBody(BODY | changes),
        read=lambda _: 0,
    )
    with pytest.raises(Refused) as caught:
        module_client.send(post)

    assert [field] == [
        payerkit.wire.wire_name(problem.field) for problem in caught.value.fields
    ]


def test_what_is_missing_is_named(client: SandboxClient) -> None:
    """An unknown request, payer or account; an account that is not approved; a payer
    who is not compliant.
    """
    account, pay = (
        account_of(client),
        f"/v2/request/{new_request(client).request_id}/pay",
    )

    def refusal(route: str = pay, **changes: str) -> str:
        with pytest.raises(Refused) as caught:
            call(
                client,
                "GET",
                route,
                **{"clientUserId": USER, "paymentDetailsId": account, **changes},
            )
        return f"{caught.value.code} {caught.value}"

    assert "Request 01 not found" in refusal("/v2/request/01/pay")
    assert "nobody not found" in refusal(clientUserId="nobody")
    assert "Payment detail nothing not found" in refusal(paymentDetailsId="nothing")
    assert "client_user_id: " in refusal(clientUserId="")
    assert "wallet: must be an address" in refusal(wallet="0x12")
    client.sandbox.decide(account, status="failed")
    assert "only an approved account can be paid" in refusal()
    client.sandbox.complete_kyc(USER, status="pending")
    assert "not_yet_passed_kyc_kyb" in refusal()


@pytest.mark.parametrize(
    ("currency", "rails", "amount", "is_enough"),
    [
        ("usd", "local", "1", True),
        ("usd", "local", "0.99", False),
        ("usd", "swift", "29.99", False),
        ("usd", "swift", "30", True),
        ("eur", "local", "1.10", True),  # 1 EUR, at the sandbox's rate
        ("eur", "local", "1.09", False),
        ("gbp", "local", "1", False),
    ],
)
def test_the_least_amount_is_that_of_the_account(
    module_client: SandboxClient,
    currency: str,
    rails: str,
    amount: str,
    is_enough: bool,
) -> None:
    """Compared in the account's currency, by its rails."""
    detail = payerkit.create_payment_detail(
        module_client, USER, BANK_DETAILS | {"currency": currency, "rails": rails}
    )
    request = str(new_request(module_client, amount=amount).request_id)
    query = {"clientUserId": USER, "paymentDetailsId": str(detail.id)}
    codes = []
    try:
        call(module_client, "GET", f"/v2/request/{request}/pay", **query)
    except Refused as refused:
        codes = [problem.code for problem in refused.fields]

    assert ([] if is_enough else ["below_currency_limit"]) == codes


def test_without_a_wallet_nothing_is_said_of_it(module_client: SandboxClient) -> None:
    """Balance and allowance are those of a wallet."""
    query = {"clientUserId": USER, "paymentDetailsId": account_of(module_client)}
    route = f"/v2/request/{new_request(module_client).request_id}/pay"
    without, given = (
        call(module_client, "GET", route, **query, **extra)
        for extra in ({}, {"wallet": WALLET})
    )

    missing = {"hasEnoughAllowance", "hasEnoughBalance", "hasEnoughGas"}
    assert missing == given["metadata"].keys() - without["metadata"].keys()
    assert 2 == len(without["transactions"])


def test_a_quote_ends_by_a_wall_clock() -> None:
    """Who checks a quote compares it with real time, which a manual clock does not
    have.
    """
    with payerkit.sandbox(decide_after=0) as client:
        on_board(client)
        payment = new_payment(client)
        assert payment.metadata
        assert payment.metadata.quote_expires_at
        left = payment.metadata.quote_expires_at - client.sandbox.now()

    assert 880 < left.total_seconds() <= 900


def test_payments_are_filtered_and_paged(client: SandboxClient) -> None:
    """Every documented filter restricts the list; pages do not overlap."""
    paid = {}
    for number in range(5):
        payment = new_payment(client, reference=f"invoice-{number}")
        paid[f"invoice-{number}"] = (payment, client.sandbox.pay(payment))
        client.sandbox.advance(hours=1)
    payment, transaction = paid["invoice-2"]
    filters = {
        "txHash": transaction,
        "paymentReference": str(payment.payment_reference),
        "requestId": str(payment.request_id),
        "reference": "invoice-2",
    }
    for name, value in filters.items():
        found = payments(client, **{name: value})
        assert (1, transaction) == (
            found["pagination"]["total"],
            found["payments"][0]["sourceTxHash"],
        ), name
    between = {"fromDate": "2026-01-01T01:30:00Z", "toDate": "2026-01-01T03:00:00Z"}
    for query, total in (
        *(({"walletAddress": WALLET}, 5), ({"walletAddress": f"0x{'00' * 20}"}, 0)),
        *(
            ({"invoiceCurrency": "usd"}, 5),
            ({"invoiceCurrency": "EUR"}, 0),
            ({"paymentCurrency": "USDC-sepolia"}, 5),
        ),
        *(
            ({"type": "direct"}, 5),
            ({"type": "conversion"}, 0),
            ({"type": "direct", **between}, 2),
        ),
    ):
        assert total == payments(client, **query)["pagination"]["total"], query

    pages = [
        payments(client, type="direct", limit="2", offset=str(offset))
        for offset in (0, 2, 4)
    ]
    assert [True, True, False] == [page["pagination"]["hasMore"] for page in pages]
    assert [f"invoice-{number}" for number in range(5)] == [
        each["request"]["reference"] for page in pages for each in page["payments"]
    ]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({}, "Give at least one filter"),
        ({"fromDate": "2026-01-01T00:00:00Z"}, "Give at least one filter"),
        ({"type": "x"}, "type: "),
        (
            {"type": "direct", "fromDate": "yesterday"},
            "from_date: should be a valid datetime",
        ),
        (
            {"type": "direct", "toDate": "2026-01-01T00:00:00"},
            "to_date: should have timezone info",
        ),
    ],
)
def test_a_list_without_a_filter_is_refused(
    module_client: SandboxClient, query: dict[str, str], words: str
) -> None:
    """At least one filter is needed, and a time has its zone."""
    with pytest.raises(Refused, match=words):
        payments(module_client, **query)


def test_payouts_are_decided_by_hand(client: SandboxClient) -> None:
    """Once something is paid; the words are those of the operator."""
    payment = new_payment(client)
    with pytest.raises(NotFound, match="has no payout; pay it first"):
        client.sandbox.decide_payout(str(payment.request_id), status="bounced")
    client.sandbox.pay(payment)
    client.sandbox.decide_payout(str(payment.request_id), status="bounced")
    with pytest.raises(Refused, match="status"):
        client.sandbox.decide_payout(str(payment.request_id), status="arrived")


def test_payments_at_once_spend_what_is_there(client: SandboxClient) -> None:
    """Of two payments that the wallet can pay only once, one is made."""
    client.sandbox.set_wallet("fUSDC-sepolia", balance="60")
    pending = [new_payment(client) for _ in range(6)]

    def pay(payment: Payment) -> bool:
        try:
            client.sandbox.pay(payment)
        except Refused:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(pay, pending))

    assert 2 == sum(made)
    assert (
        Decimal(60) - 2 * Decimal("25.5255")
        == client.sandbox.wallet("fUSDC-sepolia")["balance"]
    )
    assert 2 == payments(client, type="direct")["pagination"]["total"]


def test_amounts_in_dollars_are_exact() -> None:
    """Rounded down to cents."""
    assert "11.00" == in_usd(Fraction(10), token_list()["eur"], Rates({}))
    assert "0.00" == in_usd(Fraction(9, 1000), token_list()["usd"], Rates({}))
