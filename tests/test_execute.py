"""Payments executed on a node before they are signed: on anvil, with the bytecode of
the payment contracts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cases import table
from example_addresses import DEAD, FEE_PROXY, OTHER, PAYEE, REFERENCE, TOKEN
from example_payments import GOOD as HONEST
from example_payments import HARMLESS, TOKEN_PAYMENT, USDC, codes, data, payment, read
from far_end import FarEnd
from local_chain import PAYER
from node import LocalNode, find_anvil, in_front_of, running_node
from payerkit import PaymentPolicy, check_payment
from payerkit.client.node import Node
from payerkit.client.pace import Timeout
from payerkit.errors import InvalidInput
from payerkit.findings import Finding
from payerkit.models import Payment
from payerkit.payments import AgreedFee
from payerkit.payments.check import full_check
from payerkit.payments.execute import check_execution
from payerkit.payments.onchain.addresses import keccak
from test_executed_payments import FRESH, KINDS, chain_of, dues

POOR = f"0x{'a5' * 20}"
"""A wallet that has coins for gas, and nothing else."""

GOOD = HONEST["token"]


@pytest.fixture(scope="session")
def nodes(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], LocalNode]]:
    """Return a function that returns the node of a network, with contracts, tokens and
    three wallets.
    """
    if find_anvil() is None:
        pytest.skip("anvil is not installed (npm: @foundry-rs/anvil)")
    started: dict[str, tuple[Any, LocalNode]] = {}

    def node_of(network: str) -> LocalNode:
        if network not in started:
            running = running_node(network, tmp_path_factory.mktemp(network))
            node = running.__enter__()
            started[network] = running, node
            node.load(chain_of(network))
            for wallet in (FRESH, POOR):
                node.call("anvil_setBalance", wallet, hex(10**30))
        return started[network][1]

    yield node_of
    for running, _ in started.values():
        running.__exit__(None, None, None)


@pytest.fixture
def node(nodes: Callable[[str], LocalNode]) -> Iterator[LocalNode]:
    """Return the node of Sepolia, whose state is restored afterwards."""
    node = nodes("sepolia")
    before = node.call("evm_snapshot")
    yield node
    node.call("evm_revert", before)


def wallet_of(paid: Payment) -> str:
    """Return the wallet that has granted enough before, unless the payment grants
    something.
    """
    calls = [str(each.data).lower() for each in paid.transactions]
    grants = [
        call
        for call in calls
        if call.startswith("0x095ea7b3") and int(call[74:138] or "0", 16)
    ]
    return FRESH if grants else PAYER


def executed_alone(
    paid: Payment, node: LocalNode | FarEnd, wallet: str | None = None, **given: Any
) -> list[Finding]:
    """Return what the node alone says: with no check of the bytes."""
    checked = full_check(paid, wallet=wallet or wallet_of(paid), **given)
    return [*check_execution(checked.effects, checked.against, node.url)]


def network_of(paid: Payment) -> str:
    """Return the network of the node that executes a payment."""
    network = full_check(paid).against.network
    return "mainnet" if network == "mainnet" else "sepolia"


def told(found: list[Finding]) -> list[str]:
    """Return the codes of errors and warnings."""
    return sorted({each.code for each in found if each.severity != "info"})


@pytest.mark.parametrize("name", KINDS)
def test_an_honest_payment_stays_ok(
    name: str, nodes: Callable[[str], LocalNode]
) -> None:
    """What the node executes is what the bytes say."""
    honest = KINDS[name]
    paid = Payment.read(honest.answer)
    node = nodes(dues(honest)[0].network)
    found = check_payment(
        paid, honest.order, **honest.options, node=node.url, wallet=wallet_of(paid)
    )

    assert ("ok", 1) == (found.verdict, [each.code for each in found].count("executed"))


@table("payments_to_stop", read)
def test_a_loss_is_seen_by_execution_alone(
    paid: Payment, code: str, executed: str, nodes: Callable[[str], LocalNode]
) -> None:
    """What shows in balances stops a payment also without the checks of its bytes."""
    found = executed_alone(paid, nodes(network_of(paid)))

    assert executed == " ".join(
        sorted({each.code for each in found if each.severity == "error"})
    ), code


@pytest.mark.parametrize(("why", "paid", "code"), HARMLESS)
def test_what_is_only_unusual_is_not_stopped(
    why: str, paid: Payment, code: str, nodes: Callable[[str], LocalNode]
) -> None:
    """No false alarm by execution."""
    node = nodes(network_of(paid))

    assert not [
        each for each in executed_alone(paid, node) if each.severity == "error"
    ], (
        why,
        code,
    )


def test_what_was_executed_is_said_in_one_line(node: LocalNode) -> None:
    """Card, text and findings name the node, the block and who gets what; the address
    of the node may hold a key.
    """
    block = int(node.call("eth_blockNumber"), 16)
    card = GOOD.card(node=f"{node.url}/?key=secret-key", wallet=FRESH)
    line = (
        f"Executed by the node 127.0.0.1 at block {block}, without sending it: {PAYEE}"
        " gets 10 fUSDC-sepolia"
    )

    assert line in " ".join(str(card).split())
    assert line in card._repr_html_()
    assert "secret-key" not in f"{card}{card._repr_html_()}{card.findings}"


SIGNATURE = keccak(b"Transfer(address,address,uint256)").hex()
LOGS = f"6044 35 5f 52 6024 35 6004 35 7f{SIGNATURE} 6020 5f a3 6001 5f 52 6020 5f f3"
CHANGES = [
    pytest.param("", [], id="the same"),
    pytest.param(
        "6064 6063 6044 35 02 04 6044 52", ["executed_payee"], id="it keeps a part"
    ),  # 99 of 100
    pytest.param("5f 5f fd", ["executed_fails"], id="it is paused"),
    pytest.param(LOGS, ["executed_payee"], id="it only logs a transfer"),
]
"""What a token does with `transferFrom` before it goes on, in EVM code, and what is
found.
"""


def wrapper(inner: str, change: str, function: str = "23b872dd") -> str:
    """Return code that hands every call on to other code, but changes a function, by
    default `transferFrom`.
    """
    body = change.replace(" ", "")
    copied = (
        f"365f5f37 5f3560e01c63{function}141560{4 + 15 + len(body) // 2:02x}57".replace(
            " ", ""
        )
    )
    called = f"{copied}{body}5b5f5f365f73{inner[2:]}5af43d5f5f3e"
    return f"0x{called}60{len(called) // 2 + 6:02x}573d5ffd5b3d5ff3"


@pytest.mark.parametrize(("change", "expected"), CHANGES)
def test_what_a_token_does_is_seen(
    change: str, expected: list[str], node: LocalNode
) -> None:
    """The bytes are the same in all cases, and a token's log proves nothing."""
    inner = f"0x{'c0' * 20}"
    node.call("anvil_setCode", inner, node.call("eth_getCode", TOKEN, "latest"))
    node.call("anvil_setCode", TOKEN, wrapper(inner, change))
    found = executed_alone(GOOD, node)

    assert expected == sorted({each.code for each in found if each.severity == "error"})


def test_what_is_missing_is_said_with_numbers(node: LocalNode) -> None:
    """It is to look at: the payment may be right, and the wallet not yet filled."""
    found = executed_alone(GOOD, node, POOR)
    missing = "the wallet has 0 fUSDC-sepolia, and the payment needs 10 fUSDC-sepolia"

    assert ["executed_lacks"] == told(found)
    assert f"It cannot go through yet: {missing}" in str(found)


def test_missing_coins_are_given_in_the_simulation(node: LocalNode) -> None:
    """So the rest is executed, and compared."""
    node.call("anvil_setBalance", FRESH, "0x1")
    found = executed_alone(HONEST["coin"], node, FRESH)

    assert ["executed_lacks"] == told(found)
    assert any(" gets " in each.message for each in found)


AGREED = PaymentPolicy(fees=[AgreedFee(address=OTHER, max_percent="1")])
"""The agreement to a fee."""


def test_what_is_missing_for_a_later_transaction_is_said(node: LocalNode) -> None:
    """What the transactions before it take counts, too."""
    slot = chain_of("sepolia").balance_slot(TOKEN, POOR)
    node.call("anvil_setStorageAt", TOKEN, f"0x{slot:064x}", f"0x{10**7:064x}")
    node.call("anvil_impersonateAccount", POOR)
    grant = data("095ea7b3", FEE_PROXY, 2 * 10**7)
    node.call("eth_sendTransaction", {"from": POOR, "to": TOKEN, "data": grant})
    node.call("evm_mine")  # before it is read
    fee_leg = (FEE_PROXY, data("c219a14d", TOKEN, OTHER, 10_000, REFERENCE, 0, DEAD), 0)
    paid = payment(TOKEN_PAYMENT, fee_leg, asked=USDC)
    found = executed_alone(paid, node, POOR, policy=AGREED)

    assert ["executed_lacks"] == told(found)
    assert "has 10 fUSDC-sepolia" in str(found)
    assert "needs 10.01 fUSDC-sepolia" in str(found)


def test_a_token_that_takes_more_than_the_bytes_say_is_seen(node: LocalNode) -> None:
    """Also where the policy agrees to a higher fee."""
    inner, thief = f"0x{'c0' * 20}", "bb" * 20
    keep, put_back = "6044 51 6103e8 6044 52 6024 51", "6024 52 6044 52"
    more = f"{keep} 73{thief} 6024 52 5f 5f 6064 5f 73{inner[2:]} 5a f4 50 {put_back}"
    paid = payment(
        (FEE_PROXY, data("c219a14d", TOKEN, PAYEE, 10**7, REFERENCE, 10**4, OTHER), 0),
        asked=USDC,
    )
    assert [] == told(executed_alone(paid, node, PAYER, policy=AGREED))
    node.call("anvil_setCode", inner, node.call("eth_getCode", TOKEN, "latest"))
    node.call("anvil_setCode", TOKEN, wrapper(inner, more))

    assert ["executed_loss"] == told(executed_alone(paid, node, PAYER, policy=AGREED))


def test_without_a_wallet_nothing_is_executed(node: LocalNode) -> None:
    """The verdict by bytes stands, and nothing is asked."""
    with in_front_of(node) as asked:
        found = check_payment(GOOD, node=asked.url)

    assert ("ok", []) == (found.verdict, asked.ledger)
    assert "not_executed" in codes(found, "info")


def test_the_chain_is_compared_first(nodes: Callable[[str], LocalNode]) -> None:
    """A node of another network is asked nothing else."""
    assert ["node_chain"] == told(executed_alone(GOOD, nodes("mainnet")))


def test_a_check_takes_one_request(node: LocalNode) -> None:
    """However much is asked."""
    with in_front_of(node) as asked:
        check_payment(GOOD, node=asked.url, wallet=FRESH)

    assert 1 == len(asked.ledger)


def _answering(asked: str, **said: Any) -> Callable[[Any, Any], Any]:
    """Return what makes a node answer one method so."""

    def change(body: Any, answer: Any) -> Any:
        for question, found in zip(body, answer, strict=True):
            if question["method"] == asked:
                found.clear()
                found.update(id=question["id"], **said)
        return answer

    return change


def _executing(**said: Any) -> Callable[[Any, Any], Any]:
    """Return what makes a node answer with executed calls that have these members."""

    def change(body: Any, answer: Any) -> Any:
        for asked, found in zip(body, answer, strict=True):
            if asked["method"] == "eth_simulateV1":
                found["result"][0]["calls"] = [
                    each | said for each in found["result"][0]["calls"]
                ]
        return answer

    return change


def _wordy(_: Any, answer: Any) -> Any:
    """Let each call return more than a number, as a token may."""
    for each in answer[3]["result"][0]["calls"]:
        each["returnData"] = f"{each['returnData']:<066}{'ff' * 100}"
    return answer


def _aged(_: Any, answer: Any) -> Any:
    """Let the newest block be one of an hour ago."""
    block = answer[1]["result"]
    block["timestamp"] = hex(int(time.time()) - 3600)
    return answer


NO_METHOD = {"error": {"code": -32601, "message": "the method does not exist"}}
BUSY = {"error": {"code": -32005, "message": "too many requests"}}
HUGE = f"0x{'f' * 6000}"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            _answering("eth_simulateV1", **NO_METHOD),
            ["node_failed"],
            id="no simulation",
        ),
        pytest.param(lambda *_: "<html>maintenance</html>", ["node_failed"], id="HTML"),
        pytest.param(lambda *_: [], ["node_failed"], id="nothing"),
        pytest.param(
            lambda *_: [{"id": 0, "result": "x"}, {"id": 1, "result": {}}],
            ["node_failed"],
            id="nonsense",
        ),
        pytest.param(
            lambda *_: {"id": 0, "error": {"code": 1, "message": "no"}},
            ["node_failed"],
            id="an error",
        ),
        pytest.param(
            _answering("eth_chainId", result=HUGE), ["node_failed"], id="a huge chain"
        ),
        pytest.param(
            _answering("eth_getBlockByNumber", result={"number": "0xzz"}),
            ["node_failed"],
            id="no number",
        ),
        pytest.param(
            _answering("eth_getBalance", **BUSY), ["node_failed"], id="too busy"
        ),
        pytest.param(_aged, ["node_old"], id="an old block"),
        pytest.param(_wordy, [], id="more than a number"),
        pytest.param(_executing(returnData=None), ["node_failed"], id="no balances"),
        pytest.param(
            _executing(status="1"), ["node_failed"], id="a status that is none"
        ),
    ],
)
def test_a_node_that_answers_otherwise(
    change: Callable[..., Any], expected: list[str], node: LocalNode
) -> None:
    """It is told what was not executed, and nothing is guessed."""
    with in_front_of(node, change) as far_end:
        assert expected == told(executed_alone(GOOD, far_end))


def test_a_late_node_is_given_up(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All requests of a check share one deadline."""
    monkeypatch.setattr("payerkit.client.node._TIMEOUT", Timeout(total=0.5))
    started = time.monotonic()
    with in_front_of(node, lambda *_: time.sleep(3)) as far_end:
        found = executed_alone(GOOD, far_end)

    assert ["node_failed"] == told(found)
    assert time.monotonic() - started < 3 + 2


@pytest.mark.parametrize(
    "url", ["http://node.example.com", "node.example.com", "", 7, "https://"]
)
def test_an_address_of_a_node_is_checked(url: Any) -> None:
    """Plain http would show everybody who is paid."""
    with pytest.raises(InvalidInput, match=r"^node: give the address of a node"):
        Node(url)
