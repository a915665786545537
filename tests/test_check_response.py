"""The check of a whole response: nothing to sign, and no contradiction, goes unseen
wherever it stands.
"""

from __future__ import annotations

import copy
import json
import random
import time
import tomllib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import payerkit
from cases import table, table_rows
from example_addresses import (
    BATCHES,
    DEAD,
    FEE_PROXY,
    MAX,
    OTHER,
    PAYEE,
    REFERENCE,
    TOKEN,
)
from example_payments import (
    APPROVAL,
    GOOD,
    TOKEN_PAYMENT,
    USDC,
    as_json,
    codes,
    data,
    read,
    told,
)
from far_end import FarEnd, reply
from payerkit import (
    InvalidInput,
    PaymentPolicy,
    check_payment,
    decode_transactions,
)
from payerkit.findings import PaymentFindings
from payerkit.models import Payment
from payerkit.models.whole_response import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_MEMBERS,
    read_whole,
)
from payerkit.wire import parse_json, read_time, repeated_names, wire_name
from published import ANSWERS

HONEST: dict[str, Any] = GOOD["token"].to_dict(reveal=True)
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def judged(answer: Mapping[str, Any], **options: Any) -> PaymentFindings:
    """Return the findings about a response to the order of 10 fUSDC."""
    return check_payment(Payment.read(dict(answer), order=USDC), now=NOW, **options)


def added(member: str, value: Any) -> dict[str, Any]:
    """Return an honest response with one more member; a dot leads into an object, a
    number into a list.
    """
    answer: Any = copy.deepcopy(HONEST)
    holder, (*path, last) = answer, member.split(".")
    for name in path:
        holder = holder[int(name)] if name.isdigit() else holder.setdefault(name, {})
    holder[last] = value
    return dict(answer)


THEFT = as_json(FEE_PROXY, data("c219a14d", TOKEN, OTHER, 10**7, REFERENCE, 0, DEAD), 0)
ENDLESS = as_json(TOKEN, data("095ea7b3", OTHER, MAX), 0)


@table("responses", read)
def test_responses_are_judged(
    members: dict[str, Any],
    options: dict[str, Any],
    verdict: str,
    codes: str,
    words: str,
) -> None:
    """What else an honest response holds agrees with the rest, or is told; the claims
    stand above their rows.
    """
    found = judged(HONEST | members, **options)

    assert (verdict, codes) == (found.verdict, told(found, codes))
    assert words in str(found)


@table("transactions_elsewhere", read)
def test_a_transaction_anywhere_is_judged_with_the_others(
    member: str, value: Any, code: str
) -> None:
    """A wallet may sign what stands in another member, so it is decoded, named and
    judged.
    """
    found = judged(added(member, value))

    assert ("stop", True) == (found.verdict, code in codes(found, "error"))
    assert "elsewhere" in codes(found, "warning")


def test_a_transaction_elsewhere_is_shown() -> None:
    """The table of transactions says where it stands."""
    frame = payerkit.decode_transactions(
        Payment.read(added("metadata.fallback", THEFT), order=USDC)
    )

    assert ["", "", "In metadata.fallback."] == list(frame["note"])


BATCH = {
    "ERC20ApprovalTransactions": [as_json(*APPROVAL)],
    "batchPaymentTransaction": as_json(*TOKEN_PAYMENT),
}


def test_the_response_to_a_batch_is_read(tmp_path: Path) -> None:
    """Its approvals and its payment are the transactions, in the order in which they
    are signed.
    """
    file = tmp_path / "batch.json"
    file.write_text(json.dumps(BATCH))
    read = payerkit.read_payment(file, order=USDC)

    assert [TOKEN, FEE_PROXY] == [transaction.to for transaction in read.transactions]
    assert ["ERC20ApprovalTransactions[0]", "batchPaymentTransaction"] == [
        each.origin for each in read.transactions
    ]
    assert (2, set()) == (
        len(payerkit.decode_transactions(read)),
        codes(check_payment(read), "error"),
    )
    assert "elsewhere" not in codes(check_payment(read), "warning")


@table("batch_members", read)
def test_batches_are_read_tolerantly(member: str, value: list[Any], count: str) -> None:
    """The schema and the example of the documentation differ."""
    paid = payerkit.read_payment({member: value[0]}, order=USDC)

    assert int(count) == len(paid.transactions)
    assert int(count) == len(decode_transactions(paid))


MESSAGE = {
    "domain": {"chainId": 1},
    "types": {},
    "primaryType": "Permit",
    "message": {"to": OTHER, "value": 1},
}


PLACES = [
    "chainId",
    "network",
    "chain id",
    "metadata.network",
    "transactions.0.chainId",
    "a.b.chainId",
]


@pytest.mark.parametrize("place", PLACES)
@table("chains")
def test_a_network_is_compared_wherever_it_stands(
    place: str, value: list[Any], verdict: str, code: str
) -> None:
    """The claims stand above their rows."""
    found = judged(added(place, value[0]))

    assert (verdict, code) == (found.verdict, told(found, code))


OTHER_PLACES = [
    "destinationChainId",
    "source_network",
    "metadata.paymentNetwork",
    "route.evm-chain-id",
]


@pytest.mark.parametrize("place", OTHER_PLACES)
def test_a_network_by_another_name_is_compared_as_well(place: str) -> None:
    """A payment that arrives on another network is not the ordered one; what names no
    network says nothing.
    """
    found = {
        value: judged(added(place, value)).verdict
        for value in (1, "matic", 11155111, "sepolia", "evm", 7)
    }

    assert {
        1: "stop",
        "matic": "stop",
        11155111: "ok",
        "sepolia": "ok",
        "evm": "ok",
        7: "ok",
    } == found


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("network", ["sepolia", "matic", "base-sepolia"])
def test_a_response_can_give_the_network(place: str, network: str) -> None:
    """Without an order, the network that the response names is the one that contracts
    are looked up on.
    """
    number = {"sepolia": "0xAA36A7", "matic": 137, "base-sepolia": 84532}[network]
    found = check_payment(Payment.read(added(place, number)))

    assert f"The network is {network}" in str(found)
    assert not {"network_unknown", "chain_differs", "chain_unknown"} & {
        finding.code for finding in found
    }
    assert (
        "look" if network == "sepolia" else "stop"
    ) == found.verdict  # the contracts are those of Sepolia


def test_a_decoded_frame_knows_the_network_that_a_check_knows() -> None:
    """Without an order, the chain id of the response names contracts and tokens in the
    frame, too.
    """
    decoded = decode_transactions(Payment.read({**HONEST, "chainId": 11155111}))

    assert {"sepolia"} == {*decoded["network"]}
    assert "fUSDC-sepolia" in {*decoded["token"]}


def test_several_networks_are_none() -> None:
    """A response that names two networks, and no order that decides, is stopped."""
    found = check_payment(Payment.read({**HONEST, "chainId": 1, "network": "sepolia"}))

    assert {"chain_differs"} == codes(found, "error")
    assert "mainnet and sepolia" in str(found)
    assert "network_unknown" in codes(found, "warning")


@pytest.mark.parametrize("number", [280, 300])
def test_a_chain_id_that_the_sources_disagree_about_is_no_alarm(number: int) -> None:
    """The test network of zkSync Era has one in the token list and another in the
    SDK.
    """
    found = check_payment(
        Payment.read(added("chainId", number)), network="zksynceratestnet"
    )

    assert "chain_unchecked" in codes(found, "info")
    assert "chain_differs" not in codes(found, "error")


BYTES_32 = "0x" + "ab" * 32
UNSIGNED = "02f8" + "aa" * 100
OWN_ID = "01" + "ab" * 32


SPELLINGS: list[Callable[[str], str]] = [
    lambda words: wire_name(words.replace(" ", "_")),
    lambda words: words.replace(" ", "_"),
    lambda words: words.replace(" ", "-"),
    lambda words: words.title().replace(" ", ""),
    lambda words: words.upper().replace(" ", "_"),
    lambda words: words.replace(" ", ""),
]
HOLDERS: list[Callable[[dict[str, Any]], dict[str, Any]]] = [
    lambda members: members,
    lambda members: {"metadata": members},
    lambda members: {"Metadata": members},
    lambda members: {"data": members},
    lambda members: {"request": {"requestId": OWN_ID, **members}},
    lambda members: {"results": [{"request": [members]}]},
    lambda members: {"data": json.dumps(members)},
]


@table("statements")
def test_a_statement_counts_in_any_spelling_and_place(
    words: str, value: list[Any], code: str, verdict: str
) -> None:
    """One level down, or in the capitals of another language, it says the same."""
    for spelling in SPELLINGS:
        for holder in HOLDERS:
            found = judged(
                {**HONEST, "requestId": OWN_ID, **holder({spelling(words): value[0]})}
            )

            assert (verdict, True) == (
                found.verdict,
                code in {each.code for each in found},
            ), spelling(words)


ABOUT_ANOTHER = {
    "status": "paid",
    "hasBeenPaid": True,
    "payee": PAYEE,
    "quoteExpiresAt": 0,
    "error": "x",
}


@pytest.mark.parametrize(
    ("words", "value", "code"),
    [
        ("payment reference", "0x" + "11" * 8, "references_differ"),
        ("request id", "01" + "cd" * 32, "ids_differ"),
    ],
)
def test_another_id_counts_in_any_spelling_and_place(
    words: str, value: str, code: str
) -> None:
    """Below the response itself, whose own it would replace."""
    for spelling in SPELLINGS:
        for holder in (HOLDERS[1], HOLDERS[3], *HOLDERS[5:]):
            found = judged(
                {**HONEST, "requestId": OWN_ID, **holder({spelling(words): value})}
            )

            assert ("look", {code}) == (
                found.verdict,
                codes(found, "warning"),
            ), spelling(words)


@pytest.mark.parametrize("name", ["requestId", "RequestID", "request_id"])
def test_of_another_request_only_its_id_is_told(name: str) -> None:
    """What stands beside the id is said of that request, and what stands inside,
    too.
    """
    other = {name: "01" + "cd" * 32, **ABOUT_ANOTHER, "payments": [{"status": "paid"}]}
    found = judged({**HONEST, "requestId": OWN_ID, "others": [other]})

    assert ("look", {"ids_differ"}) == (found.verdict, codes(found, "warning"))
    assert "typed_message" in codes(
        judged({**HONEST, "requestId": OWN_ID, "x": {**other, "permit": MESSAGE}}),
        "error",
    )


@pytest.mark.parametrize("most", [100, pytest.param(3000, marks=pytest.mark.slow)])
def test_no_added_hex_or_statement_stays_ok(most: int) -> None:
    """A seeded search over names, spellings, forms and depths."""
    pieces = [
        UNSIGNED,
        BYTES_32,
        OTHER,
        [*bytes.fromhex(OTHER[2:])],
        int(OTHER, 16),
        f"see {OTHER[2:]}",
        {OTHER: 1},
    ]
    names = "x safeTxHash note hash Data-To-Sign to id sender 0 metadata2"
    wraps: list[Callable[[Any], Any]] = [
        lambda each: [each],
        lambda each: [1, {"b c": each}],
        json.dumps,
    ]
    statements, rng = [*table_rows("statements")], random.Random(27)  # noqa: S311 - a search, no secret
    for _ in range(most):
        if rng.random() < 0.5:
            name, value = rng.choice([*names.split(), ""]), rng.choice(pieces)
        else:
            row = rng.choice(statements)
            name, value = rng.choice(SPELLINGS)(row["words"]), row["value"][0]
        members: Any = rng.choice(HOLDERS)({name: value})
        for wrap in rng.choices(wraps, k=rng.randrange(4)):
            members = {f"m{rng.randrange(9)}": wrap(members)}

        assert judged({**HONEST, "requestId": OWN_ID, **members}).verdict != "ok", (
            members
        )


@table("unknown_members")
def test_what_an_unknown_member_says_is_looked_at_once(
    members: dict[str, Any], verdict: str, told: str
) -> None:
    """In one finding with the value, and not at all once the policy knows the
    member.
    """
    answer: dict[str, Any] = {**HONEST, **members}
    found = judged(answer)
    said = [each for each in found if each.code == "members_told"]

    assert (verdict, len(told) > 0) == (found.verdict, len(said) == 1)
    for each in said:
        assert told in each.message
        policy = PaymentPolicy(**tomllib.loads(each.policy_lines))
        assert "ok" == judged(answer, policy=policy).verdict


@table("transaction_members", read)
def test_what_wallets_add_to_a_transaction_is_compared_or_bounded(
    members: dict[str, Any], wallet: str, verdict: str, code: str
) -> None:
    """Neither is it unknown for ever, nor may it cost anything."""
    answer = copy.deepcopy(HONEST)
    answer["transactions"][0] |= members
    found = judged(answer, wallet=wallet or None)

    assert (verdict, code) == (found.verdict, told(found, code))


def test_unknown_members_are_named_in_one_line() -> None:
    """They cannot be judged; a person sees their names, and a thousand do not fill the
    screen.
    """
    found = judged(
        {
            **HONEST,
            "\x1b[8m": 1,
            "metadata": {"later": 1},
            **{f"m{number}": 1 for number in range(1000)},
        }
    )
    (line,) = (finding for finding in found if finding.code == "members_unknown")

    assert ("ok", "info", True) == (found.verdict, line.severity, line.unchecked)
    assert r'["\u001b[8m"], m0, m1' in line.message
    assert " and 992 more." in line.message


def nested(levels: int) -> Any:
    """Return a transaction inside so many lists."""
    value: Any = THEFT
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        nested(MAX_DEPTH),
        nested(100_000),
        "[" * 100_000,
        [1] * MAX_MEMBERS,
        {str(number): [number] for number in range(MAX_MEMBERS)},
        "a" * (MAX_CHARACTERS + 1),
        json.dumps([json.dumps("a" * (MAX_CHARACTERS // 2))]),
    ],
    ids=["deep", "very deep", "deep text", "long", "wide", "text", "text in text"],
)
def test_what_is_too_large_to_be_looked_at_is_stopped(value: Any) -> None:
    """A transaction could hide behind the bounds of the walk."""
    assert "response_too_large" in codes(judged(added("extra", value)), "error")


def test_the_walk_is_bounded() -> None:
    """However large a response is, only so much of it is looked at."""
    whole = read_whole({"a": [[1] * 1000] * 1000, "transactions": [THEFT] * 100_000})

    assert (False, True) == (whole.is_complete, len(whole.members) <= MAX_MEMBERS)


LARGE = 15_000_000
"""Characters of a response just below the 16 MiB that a client takes."""


def filled(beginning: str, part: str, end: str) -> str:
    """Return an honest response with a last member that is as large as can be. part:
    may have the number of its repetition.
    """
    parts = (
        part.replace("#", str(number)) for number in range(LARGE // (len(part) + 8))
    )
    return json.dumps(HONEST)[:-1] + beginning + ",".join(parts) + end


@pytest.mark.slow
@table("parts_of_large_responses")
def test_a_response_that_is_too_large_costs_little(
    beginning: str, part: str, end: str
) -> None:
    """Once it is known to be too large, no more of it is read: a service cannot make
    the check or the card of a payment take long. Without the bounds it took up to three
    minutes.
    """
    text = filled(beginning, part, end)

    start = time.process_time()
    payment = payerkit.read_payment(text, order=USDC)
    findings = check_payment(payment, now=NOW)
    shown = f"{payment.card(now=NOW)}"
    seconds = time.process_time() - start

    assert "response_too_large" in codes(findings, "error")
    assert "STOP" in shown
    assert seconds < 5  # of 0 to 2, on a machine that is busy otherwise


def test_of_more_transactions_than_are_checked_none_is_decoded() -> None:
    """Their number says enough; decoding 16 MB of batches takes five seconds."""
    details = [[PAYEE, 1, [TOKEN], REFERENCE, 0, 0, 0]] * 2
    batch = as_json(BATCHES, data("92cddb91", [[2, details]], [], OTHER), 0)
    answer = {**HONEST, "transactions": [batch] * 6000}
    paid = payerkit.read_payment(answer, order=USDC)

    start = time.process_time()
    findings = check_payment(paid, now=NOW)
    sentence = paid.card(now=NOW).sentence
    seconds = time.process_time() - start

    assert {"too_many"} == {each.code for each in findings}
    assert "There are 6000 transactions, more than payerkit reads." == sentence
    assert seconds < 2  # of 0.2, on a machine that is busy otherwise


TWICE = json.dumps(HONEST).replace('"to":', f'"to": "{OTHER}", "to":', 1)


def test_a_repeated_member_is_stopped(tmp_path: Path) -> None:
    """Programs differ in which of two values they read: a wallet may see another
    transaction than payerkit.
    """
    file = tmp_path / "payment.json"
    read = payerkit.read_payment(TWICE, order=USDC)
    read.save(file)
    again = payerkit.read_payment(file)
    again.save(file)

    raw = read.to_dict(reveal=True)
    for each in (
        read,
        again,
        payerkit.read_payment(file),
        Payment.read(raw, order=USDC),
        payerkit.read_payment(raw),
    ):
        assert (("to",), {"member_repeated"}) == (
            each.repeated,
            codes(check_payment(each, USDC), "error"),
        )


def test_a_repeated_member_in_a_text_is_stopped() -> None:
    """One of the two values may be a transaction, which the other hides."""
    found = judged(
        added("extra", json.dumps({"call": ENDLESS}).replace("}}", '}, "call": 1}'))
    )

    assert {"member_repeated"} == codes(found, "error")


def test_repeated_names_of_a_large_object_are_found_at_once() -> None:
    """Each name is counted once; comparing each with all others would take minutes."""
    text = "{" + ",".join(f'"{number}": 1' for number in range(50_000)) + ', "7": 2}'

    assert ("7",) == repeated_names(parse_json(text))


def test_a_file_with_something_beside_the_response_is_no_saved_payment(
    tmp_path: Path,
) -> None:
    """Another program may read the member that payerkit would have passed over."""
    file = tmp_path / "payment.json"
    file.write_text(
        json.dumps({"order": None, "answer": HONEST, "batchPaymentTransaction": THEFT})
    )

    assert "payee_differs" in codes(
        check_payment(payerkit.read_payment(file), USDC), "error"
    )
    file.write_text(json.dumps({"order": None, "answer": HONEST, "note": THEFT}))
    with pytest.raises(InvalidInput, match="transactions are missing"):
        payerkit.read_payment(file)


def test_a_repeated_member_is_told_of_a_response() -> None:
    """It is noticed where the response of the service is read."""
    with (
        FarEnd([reply(201, TWICE)]) as far,
        payerkit.connect(far.url, api_key="key") as client,
    ):
        paid = payerkit.initiate_payment(client, USDC)

    assert ("sent", ("to",), "stop") == (
        paid.order_source,
        paid.repeated,
        check_payment(paid).verdict,
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{"a": 1}', ()),
        ('{"a": {"a": {"a": 1}}}', ()),  # not in one object
        ('{"a": 1, "a": 1}', ("a",)),
        ('{"a": 1, "\\u0061": 1}', ("a",)),  # written in two ways
        ('{"x": [{"b": 1, "b": 2}, {"c": 1, "c": 2, "c": 3}]}', ("b", "c")),
        ('[{"a": 1, "a": 2}]', ()),  # no object, so no response
    ],
)
def test_repeated_names_are_found_at_any_depth(
    text: str, names: tuple[str, ...]
) -> None:
    """The names are those that stand more than once in one object."""
    assert names == repeated_names(parse_json(text))


def test_a_payment_remembers_where_its_order_comes_from(tmp_path: Path) -> None:
    """The order of a file is only the file's own word."""
    file = tmp_path / "payment.json"
    given = payerkit.read_payment(HONEST, order=USDC)
    given.save(file)

    assert ("given", None) == (
        given.order_source,
        payerkit.read_payment(HONEST).order_source,
    )
    assert ("file", "given") == tuple(
        payerkit.read_payment(file, order=order).order_source for order in (None, USDC)
    )


def test_a_check_changes_no_payment() -> None:
    """A payment equals itself before the check, and what the check reads of the
    response does not show itself.
    """
    checked, other = Payment.read(HONEST), Payment.read(HONEST)
    check_payment(checked)

    assert checked == other
    assert TOKEN not in repr(checked.whole)


def test_the_clock_needs_a_time_zone() -> None:
    """A local time would be compared with UTC."""
    with pytest.raises(InvalidInput, match="now: give a time with its time zone"):
        check_payment(GOOD["token"], now=datetime(2026, 11, 22))  # noqa: DTZ001 - that is what is tested
    with pytest.raises(InvalidInput, match="now: give a time with its time zone"):
        check_payment(GOOD["token"], now="2026-11-22")  # type: ignore[arg-type]


@table("times")
def test_times_are_read(value: list[Any], expected: str | None) -> None:
    """Services write seconds since 1970 or ISO 8601."""
    assert (
        None if expected is None else datetime.fromisoformat(expected)
    ) == read_time(value[0])


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.startswith("pay_")])
def test_published_responses_have_nothing_unknown(name: str) -> None:
    """What the operator publishes is read completely."""
    found = {finding.code for finding in check_payment(Payment.read(ANSWERS[name]))}

    assert not found & {
        "members_unknown",
        "type_unexpected",
        "elsewhere",
        "ids_differ",
        "chain_unknown",
    }


NAMES = """
transactions metadata paymentIntent batchPaymentTransaction ERC20ApprovalTransactions
to data value chainId network requestId requestID paymentReference payee amount
hasBeenPaid stepsRequired protocolFee percentage address quoteExpiresAt domain types
hex _hex
"""
NUMBERS = [None, True, 0, 1, -1, 10**4000, 11155111, 0.5, float("nan")]
TEXTS = [
    "",
    "0x",
    TOKEN,
    PAYEE,
    TOKEN_PAYMENT[1],
    "1795348801",
    '{"to": "0x", "data": "0x"}',
    '[{"domain": {}}]',
    "{",
]
TEXTS += ["\ud800", "\x1b[8m", "9" * 5000, "sepolia"]
JSON = st.recursive(
    st.sampled_from([*NUMBERS, *TEXTS]) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES.split()) | st.text(max_size=3), inner)
    ),
    max_leaves=12,
)


RESPONSES = st.dictionaries(st.sampled_from(NAMES.split()), JSON, max_size=6)


@pytest.mark.parametrize("most", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_no_response_raises(most: int) -> None:
    """Any JSON object can be read, checked and shown, and is not ok."""

    @settings(max_examples=most)
    @given(RESPONSES, st.sampled_from([None, USDC]))
    def read_check_and_show(answer: dict[str, Any], order: Any) -> None:
        read = Payment.read(answer, order=order)
        found = check_payment(read, now=NOW)
        views = str(found), repr(read), read._repr_html_(), found._repr_html_()

        assert found.verdict != "ok"
        assert all(isinstance(view, str) for view in views)
        assert len(decode_transactions(read)) >= len(read.transactions)

    read_check_and_show()


HUGE_PLACES = """
chainId value requestId amount metadata.amount metadata.stepsRequired metadata.x
metadata.quoteExpiresAt metadata.protocolFee metadata.protocolFee.percentage
paymentIntent transactions.0.value transactions.1.to transactions.1.gas
"""


@pytest.mark.parametrize("place", HUGE_PLACES.split())
def test_a_huge_number_raises_nowhere(place: str, tmp_path: Path) -> None:
    """Python turns no number of more than 4,300 digits into text; a file is not written
    then, and says so.
    """
    read = Payment.read(added(place, 10**5000), order=USDC)
    found = check_payment(read)

    assert all((str(found), repr(read), read._repr_html_()))
    assert (place == "chainId") == ("chain_differs" in codes(found, "error"))
    with pytest.raises(InvalidInput, match="The payment cannot be saved"):
        read.save(tmp_path / "payment.json")
