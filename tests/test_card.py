"""A payment as a card, in a notebook and as text, and as a file; and its sentence."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import payerkit
from cases import table
from example_addresses import BATCHES, DEAD, FEE_PROXY, OTHER, PAYEE, REFERENCE, TOKEN
from example_payments import (
    APPROVAL,
    ETH,
    GOOD,
    HARMLESS,
    SWAPPED,
    TOKEN_PAYMENT,
    USDC,
    data,
    payment,
    read,
)
from payerkit import InvalidInput, PaymentOrder, PaymentPolicy, samples
from payerkit.findings import order_findings, payment_findings
from payerkit.models import Payment
from payerkit.payments import AgreedFee, PaymentCard
from published import ANSWERS

ORDERED_WIRE = USDC.to_dict(reveal=True)
UNLIMITED = next(row[1] for row in HARMLESS if row[0] == "unlimited")
PAYEE_SWAPPED = next(row[1] for row in SWAPPED if row[0] == "payee")
FEE = data("c219a14d", APPROVAL[0], PAYEE, 10**7, REFERENCE, 10**4, OTHER)
DECLARED = {"protocolFee": {"percentage": "0.1", "address": OTHER}}
ENOUGH = (APPROVAL[0], data("095ea7b3", TOKEN_PAYMENT[0], 10**7 + 10**4), 0)
WITH_FEE = payment(ENOUGH, (TOKEN_PAYMENT[0], FEE, 0), asked=USDC, metadata=DECLARED)


def shown(card: PaymentCard | Payment) -> str:
    """Return what a notebook shows."""
    return card._repr_html_()


def unfolded(card: PaymentCard | Payment | str) -> str:
    """Return the text that a person sees without opening anything; of a card, or its
    HTML.
    """
    content = card if isinstance(card, str) else shown(card)
    visible = re.sub(
        "<details>.*?</details>|<style>.*?</style>", "", content, flags=re.DOTALL
    )
    return unescape(re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", visible))).strip()


@pytest.mark.parametrize(
    ("card", "words"),
    [
        (
            GOOD["token"].card(),
            (
                "OK Everything that can be checked matches. Pays 10 fUSDC on Sepolia to"
                " 0x6923...C7D7,"
            ),
        ),
        (
            UNLIMITED.card(),
            (
                "LOOK Decide on this point before anyone signs. Pays 10 fUSDC on"
                " Sepolia to"
            ),
        ),
        (
            UNLIMITED.card(
                order=USDC.to_dict(reveal=True) | {"invoiceCurrency": "USD"}
            ),
            "LOOK Decide on these 2 points",
        ),
        (
            PAYEE_SWAPPED.card(),
            f"STOP Do not sign. Would pay 10 fUSDC on Sepolia to {OTHER},",
        ),
    ],
    ids=["ok", "look", "look at two", "stop"],
)
def test_the_card_begins_with_the_verdict_and_one_sentence(
    card: PaymentCard, words: str
) -> None:
    """A person who reads no further knows whether to sign, and what would happen."""
    assert unfolded(card).startswith(words)
    assert re.sub(r"\s+", " ", str(card)).startswith(words)


def test_only_what_is_not_ok_is_unfolded() -> None:
    """Five seconds are enough for one problem, but not for one among ten checks that
    passed.
    """
    text = unfolded(PAYEE_SWAPPED)

    problem = f"The recipient is {OTHER}; the payee of the order is {PAYEE}."
    assert f"Not ok ✗ Transaction 2, recipient {problem} → Compare" in text
    assert "The reference matches the response." not in text
    assert "The reference matches the response." in shown(PAYEE_SWAPPED)
    assert "Not ok" not in unfolded(GOOD["token"])


def test_a_card_says_where_lines_for_a_policy_go() -> None:
    """A reader who has no policy yet is told how to make one; one who has is not."""
    texts = [
        unfolded(WITH_FEE.card(policy=policy))
        for policy in (None, PaymentPolicy(peg_tolerance="1"))
    ]

    assert [True, False] == ["No policy was given." in text for text in texts]
    assert "No policy was given." not in unfolded(GOOD["token"])


def test_a_stop_says_once_what_to_do_instead_of_signing() -> None:
    """The headline has said not to sign; what a person needs then is the next step."""
    for text in (
        unfolded(PAYEE_SWAPPED),
        re.sub(r"\s+", " ", str(PAYEE_SWAPPED.card())),
    ):
        assert (1, 1) == (
            text.count("Do not sign."),
            text.count("Otherwise request the payment again"),
        )


def test_what_a_person_decides_is_not_called_wrong() -> None:
    """A warning is a question. Only a stop has something that is not ok."""
    for text in (unfolded(UNLIMITED), str(UNLIMITED.card())):
        assert (
            "To decide" in text,
            "Not ok" in text,
            "request the payment again" in text,
        ) == (True, False, False)


@pytest.mark.parametrize(
    "card",
    [GOOD["token"].card(), Payment.read(ANSWERS["pay_token"]).card()],
    ids=["ok", "stop"],
)
def test_what_could_not_be_checked_is_told_with_every_verdict(
    card: PaymentCard,
) -> None:
    """Also under an ok: no calldata tells who controls an address."""
    for text in (unfolded(card), str(card)):
        assert text.index("Could not be checked") < text.index(
            "Who controls an address"
        )


def test_advice_in_a_form_is_for_people_who_use_forms() -> None:
    """It names no argument, option or file, which nobody can use there."""
    rows = [*payment_findings().values(), *order_findings().values()]
    hints = [row.get("hint_form") or row["hint"] for row in rows]
    cards = [
        unfolded(samples[name].card().html_for_form(lambda _: "")) for name in samples
    ]
    of_code = r"[a-z_]+=|--[a-z]|payerkit[.][a-z]|\[\[\w*|\.toml|[^.]* policy:"

    assert [] == re.findall(of_code, " ".join([*hints, *cards]))


def test_a_headline_counts_what_stands_below_it() -> None:
    """What could not be checked is decided on with the rest; a theft is called one."""
    decisions = {
        name: samples[name].card()
        for name in samples
        if samples[name].card().verdict == "look"
    }

    for card in decisions.values():
        below = (
            unfolded(card)
            .partition("To decide")[2]
            .partition("Could not be checked")[0]
        )
        count = len(re.findall(r" [!?] ", below))
        assert card.content.headline.startswith(
            "Decide on this" if count == 1 else f"Decide on these {count}"
        )
    assert unfolded(samples["lookalike_payee"]).startswith(
        "STOP Stopped: this address imitates one you know."
    )


def test_the_card_is_that_of_the_arguments() -> None:
    """A card shows the verdict that was asked for, and not that of the payment
    alone.
    """
    usd = USDC.to_dict(reveal=True) | {"invoiceCurrency": "USD"}
    asked: list[dict[str, Any]] = [
        {},
        {"order": usd},
        {"order": usd, "rate": "1"},
        {"order": usd, "rate": "2"},
    ]

    for arguments in asked:
        card = GOOD["token"].card(**arguments)
        assert card.findings == payerkit.check_payment(GOOD["token"], **arguments)
        assert card.verdict == card.findings.verdict
    assert 3 == len({GOOD["token"].card(**arguments).verdict for arguments in asked})


def test_equal_findings_are_one_point() -> None:
    """Two transactions with the same problem are one thing to decide on, in the order
    of the transactions.
    """
    card = payment(APPROVAL, TOKEN_PAYMENT, asked=USDC).to_dict(reveal=True)
    for each in card["transactions"]:
        del each["value"]
    text = unfolded(Payment.read(card, order=USDC))

    assert "Decide on this point" in text
    assert 1 == text.count(
        "Transactions 1 and 2, value The transaction has no value; 0 is assumed."
    )


def batch_of(count: int) -> tuple[str, str, int]:
    """Return a batch of payments to as many wallets."""
    details = [
        (f"0x{(1 << 159) + number:040x}", 10**7, [TOKEN], REFERENCE, 0, 0, 0)
        for number in range(count)
    ]
    return (BATCHES, data("92cddb91", [(2, details)], [], DEAD), 0)


@pytest.mark.parametrize(
    ("count", "about"),
    [
        (1, "Payment 1, amount"),
        (2, "Payments 1 and 2, amount"),
        (7, "7 payments, amount"),
    ],
)
def test_a_point_names_the_payments_of_a_batch(count: int, about: str) -> None:
    """In a batch the number of the transaction is not enough; many payments are
    counted.
    """
    card = payment(batch_of(count), asked=USDC.replace(amount="11")).card()

    assert f"x {about}: The amount is 10 fUSDC-sepolia; expected 11" in str(card)


def test_the_address_of_a_transaction_has_a_name_that_people_know() -> None:
    """The word "to" alone is a riddle at the head of a point."""
    paid = payment(("0x" + "12" * 20, TOKEN_PAYMENT[1], 0), asked=USDC)

    assert "✗ Address called The address is not a known contract" in unfolded(paid)


def test_several_orders_are_compared_line_by_line() -> None:
    """Each order is a line of what the payment was compared with."""
    card = GOOD["token"].card(orders=[USDC, {**ORDERED_WIRE, "amount": "20"}])

    assert "Compared with 2 orders (as given)" in shown(card)
    assert f"order 2  20 fUSDC-sepolia in fUSDC-sepolia to {PAYEE}\n" in str(card)
    assert "stop" == card.verdict


def test_the_policy_is_part_of_what_was_compared(tmp_path: Path) -> None:
    """Whoever reads an ok sees what was agreed to, and in which file."""
    policy = PaymentPolicy(
        fees=[AgreedFee(address=OTHER, max_percent="0.1")], peg_tolerance="1"
    )
    policy.save(tmp_path / "policy.toml")
    card = WITH_FEE.card(policy=PaymentPolicy.read(tmp_path / "policy.toml"))

    assert "ok" == card.verdict
    assert f"1 agreed fee, peg tolerance 1 % ({tmp_path / 'policy.toml'})" in str(card)
    assert "1 agreed fee, peg tolerance 1 %" in shown(card)


def test_a_transaction_outside_of_the_list_says_where_it_stands() -> None:
    """Whoever signs it has to find it in the response."""
    answer = GOOD["token"].to_dict(reveal=True)
    card = Payment.read(
        {**answer, "fallback": answer["transactions"][0]}, order=USDC
    ).card()

    assert "the member fallback" in shown(card)
    assert "the member fallback" in str(card)


UNKNOWN_CALL = (OTHER, "0xdeadbeef" + "00" * 50_000, 0)
HUGE = [
    (
        "more payments than the service makes at once",
        payment(*[batch_of(200)] * 5, asked=USDC),
    ),
    ("as many in one call", payment(*[batch_of(300)] * 3, asked=USDC)),
    ("long calldata", payment(*[UNKNOWN_CALL] * 50, asked=USDC)),
    ("a hundred transactions", payment(*[UNKNOWN_CALL] * 100, asked=USDC)),
    (
        "a thousand unknown members",
        Payment.read(
            {
                "transactions": [
                    {"to": OTHER, "data": "0x", "value": 0}
                    | {f"member{number}": OTHER for number in range(1000)}
                ]
            },
            order=USDC,
        ),
    ),
    ("a long address", payment(("x" * 300_000, "0xdeadbeef", 0), asked=USDC)),
]


@pytest.mark.parametrize("huge", [row[1] for row in HUGE], ids=[row[0] for row in HUGE])
def test_the_card_of_a_huge_response_is_capped(huge: Payment) -> None:
    """A page that a browser cannot show, or a terminal cannot scroll back, hides the
    verdict.
    """
    card = huge.card()

    assert len(str(card)) < 150_000
    assert len(card._repr_html_()) < 250_000


def test_what_a_card_leaves_out_is_counted() -> None:
    """Whoever compares all payments learns that there are more than the card shows, and
    where.
    """
    text = " ".join(str(payment(*[batch_of(150)] * 2, asked=USDC).card()).split())

    assert "50 of its payments and approvals are not shown here" in text
    assert re.search(
        r"x \d+ more points, not shown here: the findings of the card have all\.", text
    )


def test_all_payments_that_the_service_makes_at_once_are_shown() -> None:
    """An honest batch has up to 200: none of them is left out of the card."""
    text = str(
        payment(
            (TOKEN, data("095ea7b3", BATCHES, 2 * 10**9), 0), batch_of(200), asked=USDC
        ).card()
    )

    assert 200 == len(re.findall(r"pays \d+ +10 fUSDC-sepolia to 0x", text))
    assert "not shown here" not in text.partition("Transaction 1")[2]


def test_lines_for_a_policy_can_be_copied() -> None:
    """The lines after the first one of an advice stand alone, as they have to be in the
    file.
    """
    card = samples["declared_fee"].card()

    assert (
        'you agreed to it:</div><pre class="pk-copied">[[fees]]\naddress = &quot;0xFee5'
        in shown(card)
    )
    assert (
        "    -> Add to the policy, if you agreed to it:\n       [[fees]]\n       addr"
        in str(card)
    )


def test_what_to_compare_with_a_device_is_folded() -> None:
    """Each transaction has its contract, its value and the network, what it does, and
    its bytes.
    """
    card = GOOD["token"].card()
    both = [
        "ERC20FeeProxy 0.2.0",
        "0 ETH",
        "sepolia (chain id 11155111)",
        f"{USDC.payee}",
    ]

    assert [] == [words for words in (*both, APPROVAL[1]) if words not in shown(card)]
    assert [] == [words for words in both if words not in str(card)]
    assert [] == [words for words in both[:3] if words in unfolded(card)]


@pytest.mark.parametrize(
    ("asked", "wei", "value", "network"),
    [
        (ETH, 10**19, "10 ETH", "sepolia (chain id 11155111)"),
        (ETH, "ten", "cannot be read", "sepolia (chain id 11155111)"),
        (None, 10**19, f"{10**19} wei", "not known"),
    ],
    ids=["coins", "no number", "neither the coin nor the chain is guessed"],
)
def test_value_and_network_stand_beside_the_bytes(
    asked: PaymentOrder | None, wei: Any, value: str, network: str
) -> None:
    """The bytes do not have them, and a device shows them."""
    lines = str(payment((PAYEE, "0x", wei), asked=asked).card()).splitlines()
    rows = [line.split(maxsplit=1) for line in lines if line.startswith("  ")]

    assert ["value", value] in rows
    assert ["network", network] in rows


def test_an_unlimited_allowance_is_called_that() -> None:
    """2^256-1 is not a number that a person recognises."""
    assert "to take everything, now and later" in shown(UNLIMITED)


@pytest.mark.parametrize("environment", ["sandbox", "staging", "live"])
def test_the_card_shows_where_it_comes_from(environment: str) -> None:
    """A payment that was requested here shows the environment beside the verdict; one
    from a file has none.
    """
    words, answer = f">{environment.capitalize()}<", GOOD["token"].to_dict(reveal=True)

    assert (
        words
        in shown(Payment.read(answer, order=USDC, environment=environment)).partition(
            "</div>"
        )[0]
    )
    assert words not in shown(Payment.read(answer, order=USDC))


def test_the_card_tells_of_real_money_and_the_check_does_not() -> None:
    """Where a sandbox's payment moves real money, the card says so; the findings are
    those of any payment.
    """
    main = {
        **ORDERED_WIRE,
        "paymentCurrency": "USDC-mainnet",
        "invoiceCurrency": "USDC-mainnet",
    }
    answer = GOOD["token"].to_dict(reveal=True)
    order = payerkit.PaymentOrder.of(main, {})
    rehearsed, live = (
        Payment.read(answer, order=order, environment=each)
        for each in ("sandbox", "live")
    )

    assert (
        "moves real money" in unfolded(rehearsed),
        "moves real money" in unfolded(live),
    ) == (True, False)
    assert payerkit.check_payment(rehearsed) == payerkit.check_payment(live)


def test_an_order_of_the_file_is_said_to_be_its_own_word(tmp_path: Path) -> None:
    """Whoever wrote the file chose the order; one that a person gave comes from the
    person.
    """
    GOOD["token"].save(tmp_path / "payment.json")
    read = payerkit.read_payment(tmp_path / "payment.json")

    for text in (unfolded(read), str(read.card())):
        assert "The order is the file's own word" in text
    assert "own word" not in unfolded(read.card(order=USDC))
    assert "Compared with the order (the file&#x27;s own word)" in shown(read)
    assert "Compared with the order (as given)" in shown(read.card(order=USDC))
    assert "Compared with no order" in shown(Payment.read(read.to_dict()))


def test_the_text_breaks_no_address_and_no_percentage() -> None:
    """What a person compares or copies stays in one piece."""
    lines = str(WITH_FEE.card()).splitlines()

    assert any(OTHER in line for line in lines)
    assert [] == [line for line in lines if line.lstrip().startswith("%")]
    assert 100 >= max(
        len(line)
        for line in str(WITH_FEE.card()).partition("Transaction 1 of")[0].splitlines()
    )


def test_a_card_in_a_file_needs_nothing_else(tmp_path: Path) -> None:
    """A signer without Python opens it offline: one page, no script, nothing to load,
    no link to follow.
    """
    card = WITH_FEE.card(now=datetime(2026, 11, 22, 9, 30, tzinfo=UTC))
    card.save(tmp_path / "card.html")
    page = (tmp_path / "card.html").read_text("utf-8")

    assert shown(card).removesuffix("</div>").partition("<style>")[0] in page
    assert (
        "<title>LOOK: Pays 10 fUSDC on Sepolia to 0x6923...C7D7, fee 0.1 %, two"
        " signatures.</title>" in page
    )
    assert "Checked by payerkit at 2026-11-22 09:30 UTC." in page
    assert [] == re.findall(
        r"<(?:script|img|link|a|iframe)\b|\bsrc=|\bhref=|url\(|@import", page
    )


@pytest.mark.parametrize("name", GOOD)
def test_a_saved_payment_is_the_same(name: str, tmp_path: Path) -> None:
    """A saved payment is read back with its order, and has the same findings."""
    file = tmp_path / "payment.json"
    GOOD[name].save(file)
    read = payerkit.read_payment(file)

    assert (GOOD[name].to_dict(), GOOD[name].order) == (read.to_dict(), read.order)
    assert payerkit.check_payment(GOOD[name]) == payerkit.check_payment(read)


@pytest.mark.parametrize(
    "form", [dict, json.dumps, lambda answer: "  " + json.dumps(answer)]
)
def test_an_answer_of_any_form_is_read(form: Any) -> None:
    """A dict, or a JSON text, as the service answered; the order is given beside it."""
    answer = GOOD["token"].to_dict(reveal=True)
    read = payerkit.read_payment(form(answer), order=USDC.to_dict(reveal=True))

    assert "ok" == payerkit.check_payment(read).verdict
    assert (
        "look"
        == payerkit.check_payment(
            payerkit.read_payment(form(answer), network="sepolia")
        ).verdict
    )
    assert (
        "sepolia"
        == payerkit.decode_transactions(
            payerkit.read_payment(answer, network="sepolia")
        )["network"][0]
    )


MISSING = "transactions are missing"
UNREADABLE: list[tuple[Any, str]] = [
    (5, "expected a path, a dict or a JSON text, got an int"),
    ("/nonexistent/payment.json", "cannot be read"),
    ("{not json", "not valid JSON"),
    ('{"a":' * 100_000, "not valid JSON"),
    ("{}", MISSING),
    ({"answer": 5}, MISSING),
    ({"answer": {}}, MISSING),
    ({"transactions": {5}}, "source is not valid JSON"),
]


@pytest.mark.parametrize(
    ("source", "words"), UNREADABLE, ids=lambda value: str(value)[:20]
)
def test_anything_but_a_saved_payment_is_refused(source: Any, words: str) -> None:
    """The error tells why the source cannot be read."""
    with pytest.raises(InvalidInput, match=words):
        payerkit.read_payment(source)


@pytest.mark.parametrize(
    "form", [dict, lambda call: [call], json.dumps, lambda call: json.dumps([call])]
)
def test_who_has_one_transaction_is_told_how_to_give_it(
    form: Any, tmp_path: Path
) -> None:
    """A raw transaction, as wallets and explorers show it, is no payment, but can be
    made one.
    """
    call = GOOD["token"].to_dict(reveal=True)["transactions"][0]
    source = form(call)
    if isinstance(source, str) and source.startswith("["):
        (tmp_path / "calls.json").write_text(source)
        source = tmp_path / "calls.json"
    with pytest.raises(
        InvalidInput, match=r'give \{"transactions": \[transaction, \.\.\.\]\}'
    ):
        payerkit.read_payment(source)
    assert 1 == len(payerkit.read_payment({"transactions": [call]}).transactions)


def test_options_of_reading_are_checked() -> None:
    """An incomplete order and an unknown network are refused."""
    with pytest.raises(InvalidInput, match="payee: Required"):
        payerkit.read_payment(ANSWERS["pay_complete"], order={"amount": "1"})
    with pytest.raises(InvalidInput, match="network: 'polygon' is not known"):
        payerkit.read_payment(ANSWERS["pay_complete"], network="polygon")


def test_a_member_is_spelled_as_in_the_response() -> None:
    """Headings begin with a capital letter; the name of a member is something to search
    for in the response.
    """
    text = str(payerkit.samples["message_to_sign"].card())

    assert "x paymentIntent: A message to sign" in text
    assert "? In any payment: " in text


@table("sentences", read)
def test_the_sentence_says_what_happens(paid: Payment, sentence: str) -> None:
    """Who is paid what, where, with which fee, and how often somebody has to sign."""
    assert sentence == paid.card().sentence


TO = f"{PAYEE[:6]}...{PAYEE[-4:]}"


@pytest.mark.parametrize(
    ("name", "shown"), [("Example Payee", f"{TO} (Example Payee)"), ("", TO)]
)
def test_a_known_payee_has_its_name(name: str, shown: str) -> None:
    """It stands beside the address, which it cannot replace; no empty brackets stand in
    for a name.
    """
    policy = PaymentPolicy(addresses={PAYEE: name})

    assert (
        f"Pays 10 fUSDC on Sepolia to {shown}, fee 0.1 %, two signatures."
        == WITH_FEE.card(policy=policy).sentence
    )


def test_a_lookalike_is_not_shortened() -> None:
    """What it shares with the known address are just the digits that a short form
    shows.
    """
    alike = f"{PAYEE[:6]}{'1' * 32}{PAYEE[-4:]}"
    call = data("c219a14d", TOKEN, alike, 10**7, REFERENCE, 0, DEAD)
    paid = payment((FEE_PROXY, call, 0), asked=USDC.replace(payee=alike))

    assert f" to {TO}, " in paid.card().sentence
    assert (
        f" to {alike}, "
        in paid.card(policy=PaymentPolicy(addresses={PAYEE: "Example Payee"})).sentence
    )
