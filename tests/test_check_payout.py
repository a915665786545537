"""Payments that pay out to a stored bank account: what is checked of the account, and
what no transaction shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import payerkit
from cases import table
from example_addresses import DEAD, FEE_PROXY, OTHER, PAYEE, REFERENCE, TOKEN
from example_payments import (
    APPROVAL,
    TOKEN_PAYMENT,
    as_json,
    codes,
    data,
    read,
    told,
    unsaid,
)
from far_end import Behaviour, FarEnd, raw, reply
from payerkit import (
    InvalidInput,
    PayerkitError,
    PaymentPolicy,
    PayoutOrder,
    check_payment,
    check_payments,
)
from payerkit._tsv import rows
from payerkit.client import Client
from payerkit.errors import NotFound, NotSent, ServiceError
from payerkit.findings import Finding, PaymentFindings
from payerkit.models import Payment, Payout
from payerkit.models.payments import KnowsPaid
from payerkit.payments import AddressBook, KnownAddress

KEY = "key-of-a-test-of-payouts"
REQUEST_ID = "01" + "c1" * 32
NUMBER = "253009233489"
ACCOUNT = {
    "bankName": "Chase",
    "accountNumber": NUMBER,
    "currency": "usd",
    "rails": "local",
    "status": "approved",
}
NAMED = "the account ••••3489 at Chase (USD, local)"
OF_ACCOUNT = Payout.of_account(
    ACCOUNT,
    request_id=REQUEST_ID,
    client_user_id="user-123",
    payment_details_id="detail-1",
    payment_reference=f"0x{REFERENCE.hex()}",
)
ORDER = PayoutOrder(
    amount="10", invoice_currency="USD", payment_currency="fUSDC-sepolia"
)
TEN = {
    "transactions": [
        {"to": to, "data": call, "value": "0"}
        for to, call, _ in (APPROVAL, TOKEN_PAYMENT)
    ]
}
"""10 fUSDC to `PAYEE`, which is the operator's address here; the response has no ids,
as documented.
"""

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
AGREED = PaymentPolicy(
    peg_tolerance="1",
    addresses=AddressBook(
        [
            KnownAddress(
                address=PAYEE, name="Operator", network="sepolia", role="operator"
            )
        ]
    ),
)


def paying(
    order: PayoutOrder | None = ORDER,
    payout: Payout = OF_ACCOUNT,
    content: Mapping[str, Any] = TEN,
) -> Payment:
    """Return a payment as `request_payment` returns it."""
    return Payment.read(
        dict(content),
        order=order,
        order_source="sent",
        environment="sandbox",
        payout=payout,
    )


def found(findings: PaymentFindings, code: str) -> Finding:
    """Return the only finding with a code."""
    (one,) = [finding for finding in findings if finding.code == code]
    return one


def judged_payout(
    account: dict[str, Any], order: Any, content: Any, options: dict[str, Any]
) -> PaymentFindings:
    """Return the findings about a payout that differs in these from an honest one."""
    content = TEN | content
    content["transactions"] = [
        each if isinstance(each, dict) else as_json(*each)
        for each in content["transactions"]
    ]
    asked = None if order is None else ORDER.replace(**order)
    paid = paying(asked, replace(OF_ACCOUNT, **account), content)
    return check_payment(paid, **options)


@table("payouts", read)
def test_payouts_are_judged(
    account: dict[str, Any],
    order: Any,
    content: Any,
    options: dict[str, Any],
    verdict: str,
    codes: str,
    words: Any,
) -> None:
    """Operator, account and response are compared with what was asked for; the claims
    stand above their rows.
    """
    findings = judged_payout(account, order, content, options)

    assert (verdict, codes) == (findings.verdict, told(findings, codes))
    assert [] == unsaid(findings, words)


class Says:
    """A service that gives an answer about a request, or fails."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.asked = answer, list[str]()

    def request_members(self, request_id: str) -> Any:
        """Return or raise what it was made with."""
        self.asked.append(request_id)
        if isinstance(self.answer, PayerkitError):
            raise self.answer
        return self.answer


ALREADY, NOT_YET = (
    {"hasBeenPaid": True},
    {"hasBeenPaid": False, "requestId": REQUEST_ID},
)


def test_the_operator_is_looked_at_once(tmp_path: Path) -> None:
    """No order names who is paid: a person looks, adds the lines of the finding, and
    the next payment is ok.
    """
    first = check_payment(paying(), policy=PaymentPolicy(peg_tolerance="1"))
    hint = found(first, "payee_operator").hint
    (tmp_path / "policy.toml").write_text(
        'peg_tolerance = "1"\n' + hint.partition(":\n")[2], "utf-8"
    )
    policy = PaymentPolicy.read(tmp_path / "policy.toml")

    assert ("look", {"payee_operator"}) == (first.verdict, codes(first, "warning"))
    assert ("ok", "ok") == tuple(
        check_payment(paying(), policy=each).verdict for each in (policy, AGREED)
    )
    assert "(Operator)" in paying().card(policy=policy).sentence


@pytest.mark.parametrize(
    ("currency", "told"),
    [
        (
            "USDC-sepolia",
            ["payee_operator"],
        ),  # the published example, an alias of fUSDC-sepolia
        (
            "USDCn-sepolia",
            ["token_renamed", "payee_operator"],
        ),  # newer than payerkit's tables
    ],
)
def test_the_published_currency_reaches_ok(
    tmp_path: Path, currency: str, told: list[str]
) -> None:
    """An id of newer documents needs no line for its token; one that nobody states
    needs one.
    """
    payment = paying(ORDER.replace(payment_currency=currency))
    path = tmp_path / "policy.toml"
    path.write_text('peg_tolerance = "1"\n', "utf-8")
    for code in told:
        hint = found(check_payment(payment, policy=PaymentPolicy.read(path)), code).hint
        path.write_text(
            path.read_text("utf-8") + hint.partition(":\n")[2] + "\n", "utf-8"
        )

    assert "ok" == check_payment(payment, policy=PaymentPolicy.read(path)).verdict


def test_a_payout_order_is_enough_to_know_a_payout() -> None:
    """A saved response does not say that it pays out to an account, but the order
    does.
    """
    supplier = PaymentPolicy(peg_tolerance="1", addresses={PAYEE: "Example Payee"})
    response = Payment.read(dict(TEN))

    assert {"payee_role"} == codes(
        check_payment(response, ORDER, policy=supplier), "error"
    )
    assert "payee_known" in codes(check_payment(response, ORDER, policy=AGREED), "info")


def test_the_operator_may_have_an_address_for_each_quote(tmp_path: Path) -> None:
    """The lines of a second quote go beside those of the first, under the same name."""
    policy = tmp_path / "policy.toml"
    lines = [
        found(
            check_payment(paying(), policy=PaymentPolicy()), "payee_operator"
        ).hint.partition(":\n")[2]
    ]
    policy.write_text("\n".join([*lines, lines[0].replace(PAYEE, OTHER)]), "utf-8")

    assert ["operator", "operator"] == [
        each.role for each in PaymentPolicy.read(policy).addresses or ()
    ]


def test_the_table_of_least_amounts_is_whole() -> None:
    """Each currency and rails stand once, with an amount above zero."""
    table = list(rows("payerkit.checks", "least_amounts"))

    assert 23 == len({(row["currency"], row["rails"]) for row in table}) == len(table)
    assert all(Decimal(row["least"]) > 0 and row["currency"].isupper() for row in table)


def test_an_account_id_that_is_listed_twice_is_told(tmp_path: Path) -> None:
    """Nobody knows which of the accounts the service would pay; a file keeps it."""
    accounts = [
        {**ACCOUNT, "id": "detail-1"},
        {**ACCOUNT, "id": "detail-1", "accountNumber": "253009231111"},
    ]
    listed = Payout.of_list(
        accounts, "detail-1", request_id=REQUEST_ID, client_user_id="user-123"
    )
    payout = replace(OF_ACCOUNT, also_listed=listed.also_listed if listed else None)
    paying(payout=payout).save(tmp_path / "payment.json")
    findings = check_payment(
        payerkit.read_payment(tmp_path / "payment.json"), policy=AGREED
    )

    assert ("look", {"account_repeated"}) == (
        findings.verdict,
        codes(findings, "warning"),
    )
    assert (
        "also for the account ••••1111 at Chase (USD, local)"
        in found(findings, "account_repeated").message
    )


def test_an_expired_quote_is_stopped() -> None:
    """Past it, the amounts no longer hold; until then, the time is shown."""
    content = TEN | {"metadata": {"quoteExpiresAt": int(NOW.timestamp())}}
    before, after = (
        check_payment(
            paying(content=content),
            policy=AGREED,
            now=NOW.replace(minute=minute, hour=hour),
        )
        for hour, minute in ((11, 59), (12, 0))
    )

    assert (("ok", "stop"), "quote_valid") == (
        (before.verdict, after.verdict),
        found(before, "quote_valid").code,
    )
    assert "2026-11-23 12:00:00 UTC" in found(after, "quote_expired").message


FAILED = NotSent("GET /v2/request/{requestId} could not be sent (no network).")
PAID: list[tuple[str, Any, str, str, str]] = [
    ("not paid", NOT_YET, "ok", "paid_not_yet", "is not paid yet"),
    ("paid", ALREADY, "stop", "paid_already", "is paid already"),
    (
        "not said",
        {"hasBeenPaid": None},
        "look",
        "paid_unknown",
        "The service does not say.",
    ),
    (
        "not asked, as the network failed",
        FAILED,
        "look",
        "paid_unknown",
        "could not be sent",
    ),
    (
        "unknown there",
        NotFound("The service does not know it."),
        "look",
        "paid_unknown",
        "does not know it",
    ),
]


@pytest.mark.parametrize(
    ("paid", "verdict", "code", "words"),
    [row[1:] for row in PAID],
    ids=[row[0] for row in PAID],
)
def test_whether_it_is_paid_is_asked(
    paid: Any, verdict: str, code: str, words: str
) -> None:
    """The contracts do not prevent a second payment, so the service is asked before one
    is signed.
    """
    service = Says(paid)
    findings = check_payment(paying(), policy=AGREED, client=service)

    assert (verdict, [REQUEST_ID]) == (findings.verdict, service.asked)
    assert words in found(findings, code).message
    assert verdict == paying().card(policy=AGREED, client=service).verdict


SIX = data("c219a14d", TOKEN, PAYEE, 6_000_000, REFERENCE, 0, DEAD)
PART = {
    "hasBeenPaid": False,
    "requestId": REQUEST_ID,
    "status": "partially_paid",
    "requestAmount": "10",
    "paidAmount": "4",
}


@table("paid_in_part")
def test_a_payment_of_the_rest_is_compared_with_the_rest(
    members: dict[str, Any], order: dict[str, str], verdict: str, code: str
) -> None:
    """Six of ten are left, and six are paid; unless it is known what is left, the whole
    order counts.
    """
    content = {"transactions": [{"to": FEE_PROXY, "data": SIX, "value": "0"}]}
    asked = ORDER.replace(**{"invoice_currency": "fUSDC-sepolia", **order})
    findings = check_payment(
        paying(asked, content=content), policy=AGREED, client=Says(NOT_YET | members)
    )

    assert (verdict, True) == (
        findings.verdict,
        code in {each.code for each in findings},
    )


def test_a_payment_of_the_whole_is_stopped_once_a_part_is_paid() -> None:
    """The contracts would take it; the card shows what was ordered, and the finding
    what is left.
    """
    card = paying(ORDER.replace(invoice_currency="fUSDC-sepolia")).card(
        policy=AGREED, client=Says(PART)
    )

    assert ("stop", {"amount_differs"}) == (card.verdict, codes(card.findings, "error"))
    assert (
        "4 fUSDC-sepolia of this request is paid already"
        in found(card.findings, "paid_in_part").message
    )
    assert (
        "with the rest, 6 fUSDC-sepolia."
        in found(card.findings, "paid_in_part").message
    )
    assert "amount            10\n" in str(card)


def test_a_payment_to_a_wallet_is_asked_for_as_well() -> None:
    """It has a request id, too; without one there is nothing to ask for, which is no
    proof.
    """
    honest = payerkit.samples["honest"]
    answer = honest.to_dict(reveal=True)
    without = payerkit.read_payment({**answer, "requestId": None}, order=honest.order)
    service = Says({"hasBeenPaid": False})

    assert ("ok", [honest.request_id]) == (
        check_payment(honest, client=service).verdict,
        service.asked,
    )
    assert "stop" == check_payment(honest, client=Says(ALREADY)).verdict
    assert (
        "no request id"
        in found(check_payment(without, client=service), "paid_unknown").message
    )
    assert "paid_unasked" not in {
        each.code for each in check_payment(honest)
    }  # nothing is new without a client


def test_what_the_response_says_is_told_once() -> None:
    """The response and the service say the same: one finding."""
    findings = check_payment(paying(content=TEN | ALREADY), client=Says(ALREADY))

    assert {"paid_already"} == codes(findings, "error")
    assert 1 == len(findings.errors)


def test_that_nobody_asked_is_shown() -> None:
    """Of a payout only: an info among what could not be checked."""
    asked = found(check_payment(paying(), policy=AGREED), "paid_unasked")

    assert ("info", True) == (asked.severity, asked.unchecked)
    assert "The service was not asked whether this request is paid already." in str(
        paying().card()
    )


ODD_VALUES: list[Any] = [{"a": 1}, [], 5, 0.5]
ODD_ANSWERS: list[Any] = [None, 5, "paid", [], ["paid"], [{"hasBeenPaid": True}]]
ODD_ANSWERS += [
    {name: value}
    for name in ("hasBeenPaid", "status", "requestId")
    for value in ODD_VALUES
]


@pytest.mark.parametrize("answer", ODD_ANSWERS, ids=str)
def test_an_answer_of_another_form_is_no_statement(answer: Any) -> None:
    """A list, a number or an object where a word belongs neither fails the check nor
    proves anything.
    """
    findings = check_payment(paying(), policy=AGREED, client=Says(answer))

    assert ("look", {"paid_unknown"}) == (findings.verdict, codes(findings, "warning"))


@pytest.mark.parametrize("client", [5, "sandbox", object()])
def test_what_is_no_client_is_refused(client: Any) -> None:
    """A misuse is no look."""
    with pytest.raises(InvalidInput, match="client: give a client, from connect"):
        check_payment(paying(), client=client)


@pytest.mark.parametrize(
    ("body", "members"),
    [('{"hasBeenPaid": true}', {"hasBeenPaid": True}), ("[true]", {}), ("true", {})],
)
def test_a_client_asks_for_one_request(body: str, members: dict[str, Any]) -> None:
    """What is no object says nothing."""
    with FarEnd([reply(200, body)]) as service, Client(service.url, KEY) as client:
        assert members == client.request_members("a/b")
        assert [("GET", "/v2/request/a%2Fb")] == [
            (each.method, each.target) for each in service.ledger
        ]
        assert isinstance(client, KnowsPaid)


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        (reply(404, "{}"), NotFound),
        (raw(b""), ServiceError),
        (reply(500, "{}"), ServiceError),
    ],
)
def test_a_question_that_fails_raises_from_the_client_and_is_a_look(
    end: Behaviour, kind: type[PayerkitError]
) -> None:
    """The client says what happened; a check goes on, since a person can ask
    otherwise.
    """
    once = payerkit.client.Retries(attempts=1)
    with FarEnd([end]) as service, Client(service.url, KEY, retries=once) as client:
        with pytest.raises(kind):
            client.request_members(REQUEST_ID)
        findings = check_payment(paying(), policy=AGREED, client=client)

    assert ("look", {"paid_unknown"}) == (findings.verdict, codes(findings, "warning"))
    assert KEY not in str(findings)


def test_an_id_that_cannot_be_sent_is_not_asked_for() -> None:
    """It came from a response: the check tells it, and the client refuses it."""
    with FarEnd([reply(200, "{}")]) as service, Client(service.url, KEY) as client:
        findings = check_payment(
            paying(payout=replace(OF_ACCOUNT, request_id="..")), client=client
        )
        with pytest.raises(InvalidInput):
            client.request_members("..")

    assert (set(), []) == (codes(findings, "error"), service.ledger)
    assert "paid_unknown" in codes(findings, "warning")


def test_the_card_names_the_account() -> None:
    """In the sentence, in what was compared, and among what no check can know; never
    its whole number.
    """
    card = paying().card(policy=AGREED)
    text, page = str(card), card._repr_html_()

    assert (
        f"Pays 10 fUSDC on Sepolia to 0x6923...C7D7 (Operator) for {NAMED}, no fee, two"
        " signatures." == card.sentence
    )
    assert "bank account      ••••3489 at Chase (USD, local) (as sent)" in text
    assert "payee             none: the operator is paid\n" in text
    assert "? Account: No transaction names the account ••••3489" in text
    assert "file's own word" not in text
    assert all(
        "••••3489 at Chase" in shown and NUMBER not in shown for shown in (text, page)
    )


def test_the_account_of_a_file_is_the_files_own_word(tmp_path: Path) -> None:
    """Whoever wrote the file chose the account, even if the order is given anew."""
    paying().save(tmp_path / "payment.json")
    read = payerkit.read_payment(tmp_path / "payment.json")
    of_file, given = str(read.card()), str(read.card(order=ORDER))

    assert all(
        "The bank account is the file's own word" in text for text in (of_file, given)
    )
    assert (True, False) == (
        "The order is the file's own word" in of_file,
        "The order is the file's own" in given,
    )
    assert (
        ("Compared with the order (the file's own word)" in of_file)
        is ("(as given)" in given)
        is True
    )


def test_payouts_in_a_table_of_payments() -> None:
    """All of them pay the operator, so that equal amounts are no repetition unless the
    account is the same.
    """
    second = Payout.of_account(
        ACCOUNT | {"accountNumber": "253009231111"},
        request_id="01" + "c2" * 32,
        client_user_id="user-124",
        payment_details_id="detail-2",
        payment_reference="0x" + "22" * 8,
    )
    call = data("c219a14d", TOKEN, PAYEE, 10_000_000, b"\x22" * 8, 0, DEAD)
    to_second = {"transactions": [{"to": FEE_PROXY, "data": call, "value": "0"}]}
    again = replace(second, payment_details_id="detail-1")
    apart = check_payments(
        [paying(), paying(payout=second, content=to_second)], policy=AGREED
    )
    alike = check_payments(
        [paying(), paying(payout=again, content=to_second)], policy=AGREED
    )

    assert (["ok", "ok"], ["stop", "stop"]) == (
        apart["verdict"].to_list(),
        alike["verdict"].to_list(),
    )
    assert [
        "••••3489 at Chase (USD, local)",
        "••••1111 at Chase (USD, local)",
    ] == apart["account"].to_list()
    assert "the same bank account with token and amount as 1" in alike["findings"][0]
    assert check_payments([payerkit.samples["honest"]])["account"].isna().all()


def test_many_payments_are_asked_for_one_by_one() -> None:
    """The one that is paid stops; the others do not."""
    service = Says(ALREADY)
    frame = check_payments(
        [paying(), payerkit.samples["honest"]], policy=AGREED, client=service
    )

    assert (["stop", "stop"], 2) == (frame["verdict"].to_list(), len(service.asked))
    assert frame["findings"].str.contains("paid_already").all()


def test_a_paid_request_is_not_handed_to_a_safe(tmp_path: Path) -> None:
    """What check_payment takes, these take, too."""
    safe = "0x111CEEee040739fD91D29C34C33E6B3E112F2177"

    with pytest.raises(InvalidInput, match="is paid already"):
        paying().to_safe(
            tmp_path / "safe.json", safe=safe, policy=AGREED, client=Says(ALREADY)
        )
    with pytest.raises(InvalidInput, match="is paid already"):
        payerkit.payments.write_safe_files(
            [paying()], tmp_path, safe=safe, policy=AGREED, client=Says(ALREADY)
        )
    assert [] == [*tmp_path.iterdir()]


INTENT = {
    "domain": {"chainId": 137},
    "primaryType": "Order",
    "message": {"memo": "for Jane Example"},
}


@pytest.mark.parametrize(
    "intent", [INTENT, json.dumps(INTENT), "0x1234", {}, 5, [0] * 9999]
)
def test_a_payment_intent_is_never_ok(intent: object) -> None:
    """Whatever it is, it is there to be signed; nobody is told to sign it, and no card
    shows what is in it.
    """
    card = paying(
        content={"paymentIntentId": "intent-1", "paymentIntent": intent}
    ).card(policy=AGREED)

    assert "stop" == card.verdict
    assert (
        "There is no transaction, but a message to sign, which payerkit cannot judge."
        == card.sentence
    )
    assert "x paymentIntent: A payment intent" in str(card)
    assert "members_unknown" not in {each.code for each in card.findings}
    assert "Jane" not in f"{card}{card._repr_html_()}"
    assert len(str(card)) < 10_000
