"""Payments executed on a node before they are signed: on anvil, with the bytecode of the payment contracts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from eth_utils import to_canonical_address

from cases import table
from example_addresses import DEAD, FEE_PROXY, OTHER, PAYEE, REFERENCE, TOKEN
from example_payments import GOOD as HONEST
from example_payments import HARMLESS, TOKEN_PAYMENT, USDC, codes, data, payment, read
from local_chain import PAYER
from node import LocalNode, find_anvil, in_front_of, running_node
from payerkit import PaymentPolicy, check_payment, initiate_payment, sandbox
from payerkit._tsv import rows
from payerkit.client.node import Node
from payerkit.client.pace import Timeout
from payerkit.errors import InvalidInput
from payerkit.findings import Finding
from payerkit.models import Payment
from payerkit.onchain.addresses import keccak
from payerkit.payment.compare import NODE_URL, Comparison
from payerkit.payment.execute import check_execution
from payerkit.policy import AgreedFee
from test_executed_payments import FRESH, KINDS, TOKENS, chain_of, dues

POOR = f"0x{'a5' * 20}"
"""A wallet that has coins for gas, and nothing else."""

GOOD = HONEST["token"]


@pytest.fixture(scope="session")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], LocalNode]]:
    """Return a function that returns the node of a network, with contracts, tokens and three wallets."""
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
    """Return the wallet that has granted enough before, unless the payment grants something."""
    calls = [str(each.data).lower() for each in paid.transactions]
    grants = [call for call in calls if call.startswith("0x095ea7b3") and int(call[74:138] or "0", 16)]
    return FRESH if grants else PAYER


def executed(paid: Payment, node: LocalNode | str, wallet: str | None = None, **given: Any) -> list[Finding]:
    """Return what the node alone says: with no check of the bytes."""
    url = node if isinstance(node, str) else node.url
    return [*check_execution(Comparison(paid, wallet=wallet or wallet_of(paid), **given), url)]


def told(found: list[Finding]) -> list[str]:
    """Return the codes of errors and warnings."""
    return sorted({each.code for each in found if each.severity != "info"})


@pytest.mark.parametrize("name", KINDS)
def test_an_honest_payment_stays_ok(name: str, nodes: Callable[[str], LocalNode]) -> None:
    """What the node executes is what the bytes say."""
    honest = KINDS[name]
    paid = Payment.read(honest.answer)
    node = nodes(dues(honest)[0].network)
    found = check_payment(paid, honest.order, **honest.options, node=node.url, wallet=wallet_of(paid))

    assert ("ok", 1) == (found.verdict, [each.code for each in found].count("executed"))


@table("payments_to_stop", read)
def test_a_loss_is_seen_by_execution_alone(
    paid: Payment, code: str, executed: str, nodes: Callable[[str], LocalNode]
) -> None:
    """What shows in balances, allowances or missing code stops a payment also without the checks of its bytes."""
    node = nodes("mainnet" if Comparison(paid).network == "mainnet" else "sepolia")
    found = check_execution(Comparison(paid, wallet=wallet_of(paid)), node.url)

    assert executed == " ".join(sorted({each.code for each in found if each.severity == "error"})), code


@pytest.mark.parametrize(("why", "paid", "code"), HARMLESS)
def test_what_is_only_unusual_is_not_stopped(
    why: str, paid: Payment, code: str, nodes: Callable[[str], LocalNode]
) -> None:
    """No false alarm by execution."""
    node = nodes("mainnet" if Comparison(paid).network == "mainnet" else "sepolia")

    assert not [each for each in executed(paid, node) if each.severity == "error"], (why, code)


def test_what_was_executed_is_said_in_one_line(node: LocalNode) -> None:
    """Card, text and findings name the node, the block and who gets what; the address of the node may hold a key."""
    block = int(node.call("eth_blockNumber"), 16)
    with in_front_of(node, lambda _, answer: answer) as url:
        card = GOOD.card(node=f"{url}/secret-key", wallet=FRESH)
    line = f"Executed by the node 127.0.0.1 at block {block}, without sending it: {PAYEE} gets 10 fUSDC-sepolia"

    assert line in " ".join(str(card).split())
    assert line in card._repr_html_()
    assert "secret-key" not in f"{card}{card._repr_html_()}{card.findings}"
    assert "ERC20FeeProxy in @requestnetwork/smart-contracts" in str(card.findings)


SIGNATURE = keccak(b"Transfer(address,address,uint256)").hex()
LOGS = f"6044 35 5f 52 6024 35 6004 35 7f{SIGNATURE} 6020 5f a3 6001 5f 52 6020 5f f3"
CHANGES = [
    pytest.param("", [], id="the same"),
    pytest.param("6064 6063 6044 35 02 04 6044 52", ["executed_payee"], id="it keeps a part"),  # 99 of 100
    pytest.param("5f 5f fd", ["executed_fails"], id="it is paused"),
    pytest.param(LOGS, ["executed_payee"], id="it only logs a transfer"),
]
"""What a token does with `transferFrom` before it goes on, in EVM code, and what is found."""


def wrapper(inner: str, change: str, function: str = "23b872dd") -> str:
    """Return code that hands every call on to other code, but changes a function, by default `transferFrom`."""
    body = change.replace(" ", "")
    copied = f"365f5f37 5f3560e01c63{function}141560{4 + 15 + len(body) // 2:02x}57".replace(" ", "")
    called = f"{copied}{body}5b5f5f365f73{inner[2:]}5af43d5f5f3e"
    return f"0x{called}60{len(called) // 2 + 6:02x}573d5ffd5b3d5ff3"


@pytest.mark.parametrize(("change", "expected"), CHANGES)
def test_what_a_token_does_is_seen(change: str, expected: list[str], node: LocalNode) -> None:
    """The bytes are the same in all cases, and a token's log proves nothing."""
    inner = f"0x{'c0' * 20}"
    node.call("anvil_setCode", inner, node.call("eth_getCode", TOKEN, "latest"))
    node.call("anvil_setCode", TOKEN, wrapper(inner, change))
    found = executed(GOOD, node)

    assert expected == sorted({each.code for each in found if each.severity == "error"})


@pytest.mark.parametrize(
    ("paid", "words"),
    [
        (GOOD, "It cannot go through yet: the wallet has 0 fUSDC-sepolia, and the payment needs 10"),
        (payment(TOKEN_PAYMENT, asked=USDC), "the contract may take 0 fUSDC-sepolia from the wallet"),
    ],
    ids=["tokens", "allowance"],
)
def test_what_is_missing_is_said_with_numbers(paid: Payment, words: str, node: LocalNode) -> None:
    """It is to look at: the payment may be right, and the wallet not yet filled."""
    found = executed(paid, node, POOR)

    assert ["executed_lacks"] == told(found)
    assert any(words in each.message for each in found)


def test_missing_coins_are_given_in_the_simulation(node: LocalNode) -> None:
    """So the rest is executed, and compared."""
    node.call("anvil_setBalance", FRESH, "0x1")
    found = executed(GOOD, node)

    assert ["executed_lacks"] == told(found)
    assert any("gets 10 fUSDC-sepolia" in each.message for each in found)


AGREED = PaymentPolicy(fees=[AgreedFee(address=OTHER, max_percent="1")])
"""The agreement to a fee."""


def hold(node: LocalNode, wallet: str, amount: int, allowed: int) -> None:
    """Give a wallet this much of the token, and let the payment contract take some of it."""
    slot = chain_of("sepolia").balance_slot(TOKEN, wallet)
    node.call("anvil_setStorageAt", TOKEN, f"0x{slot:064x}", f"0x{amount:064x}")
    node.call("anvil_impersonateAccount", wallet)
    grant = data("095ea7b3", FEE_PROXY, allowed)
    node.call("eth_sendTransaction", {"from": wallet, "to": TOKEN, "data": grant})


@pytest.mark.parametrize(("amount", "allowed", "held"), [(10, 20, "has 10"), (20, 10, "may take 10")])
def test_what_is_missing_for_a_later_transaction_is_said(amount: int, allowed: int, held: str, node: LocalNode) -> None:
    """What the transactions before it take counts, too."""
    fee_leg = (FEE_PROXY, data("c219a14d", TOKEN, OTHER, 10_000, REFERENCE, 0, DEAD), 0)
    hold(node, POOR, amount * 10**6, allowed * 10**6)
    found = executed(payment(TOKEN_PAYMENT, fee_leg, asked=USDC), node, POOR, policy=AGREED)

    assert ["executed_lacks"] == told(found)
    assert f"{held} fUSDC-sepolia" in str(found)
    assert "needs 10.01 fUSDC-sepolia" in str(found)


@pytest.mark.parametrize(
    ("code", "expected"),
    [("0x600160005260206000f3", []), (f"0xef0100{'11' * 20}", ["executed_lacks"])],
    ids=["a Safe", "a person's, which hands calls on (EIP-7702)"],
)
def test_a_contract_needs_no_coins_for_gas(code: str, expected: list[str], node: LocalNode) -> None:
    """Whoever has it execute the payment pays that."""
    hold(node, POOR, 10**7, 0)
    node.call("anvil_setCode", POOR, code)
    node.call("anvil_setBalance", POOR, "0x0")

    assert expected == told(executed(GOOD, node, POOR))


def test_a_token_may_refuse_to_replace_an_allowance(node: LocalNode) -> None:
    """As Tether does: what to do first is said, and the payment is not called wrong."""
    hold(node, POOR, 10**7, 3 * 10**6)
    inner = f"0x{'c0' * 20}"
    node.call("anvil_setCode", inner, node.call("eth_getCode", TOKEN, "latest"))
    node.call("anvil_setCode", TOKEN, wrapper(inner, "5f 5f fd", function="095ea7b3"))
    found = executed(GOOD, node, POOR)

    assert ["executed_lacks"] == told(found)
    assert "may still take 3 fUSDC-sepolia" in str(found)


def test_a_token_that_takes_more_than_the_bytes_say_is_seen(node: LocalNode) -> None:
    """Also where the policy agrees to a higher fee."""
    inner, thief = f"0x{'c0' * 20}", "bb" * 20
    keep, put_back = "6044 51 6103e8 6044 52 6024 51", "6024 52 6044 52"
    more = f"{keep} 73{thief} 6024 52 5f 5f 6064 5f 73{inner[2:]} 5a f4 50 {put_back}"
    paid = payment((FEE_PROXY, data("c219a14d", TOKEN, PAYEE, 10**7, REFERENCE, 10**4, OTHER), 0), asked=USDC)
    assert [] == told(executed(paid, node, PAYER, policy=AGREED))
    node.call("anvil_setCode", inner, node.call("eth_getCode", TOKEN, "latest"))
    node.call("anvil_setCode", TOKEN, wrapper(inner, more))

    assert ["executed_loss"] == told(executed(paid, node, PAYER, policy=AGREED))


def test_an_old_allowance_is_no_finding(node: LocalNode) -> None:
    """Only what is granted by this payment is."""
    assert [] == told(executed(payment(TOKEN_PAYMENT, asked=USDC), node, PAYER))


def test_a_payment_with_the_reference_is_found(node: LocalNode) -> None:
    """The events of the payment contracts tell, by the reference."""
    to, call, _ = TOKEN_PAYMENT
    node.call("anvil_impersonateAccount", PAYER)
    node.call("eth_sendTransaction", {"from": PAYER, "to": to, "data": call})
    found = executed(GOOD, node)

    assert ["reference_paid"] == told(found)


def test_without_a_wallet_nothing_is_executed(node: LocalNode) -> None:
    """Contracts and tokens are read; the verdict by bytes stands."""
    found = check_payment(GOOD, node=node.url)

    assert "ok" == found.verdict
    assert {"not_executed", "code_known"} <= codes(found, "info")


def test_the_chain_is_compared_first(nodes: Callable[[str], LocalNode]) -> None:
    """A node of another network is asked nothing else."""
    assert ["node_chain"] == told(executed(GOOD, nodes("mainnet")))


def test_a_proxy_is_told_with_what_is_behind_it(node: LocalNode) -> None:
    """Its implementation (EIP-1967) and the hash of that code."""
    inner, slot = f"0x{'c1' * 20}", "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"
    node.call("anvil_setCode", inner, "0x600160015500")
    node.call("anvil_setStorageAt", str(GOOD.transactions[1].to), slot, f"0x{inner[2:]:0>64}")
    asked = Node(node.url)
    found = check_payment(GOOD, node=asked, wallet=FRESH)

    assert ("ok", 3) == (found.verdict, asked.trips)
    assert f"whose code has the hash 0x{keccak(bytes.fromhex('600160015500')).hex()}." in str(found)


def test_a_check_takes_three_requests(node: LocalNode) -> None:
    """However much is asked."""
    asked = Node(node.url)
    check_payment(GOOD, node=asked, wallet=FRESH)

    assert asked.trips == 3


def _without_batches(body: Any, answer: Any) -> Any:
    refused = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no batches"}}
    return refused if isinstance(body, list) else answer


def _without_simulation(body: Any, answer: Any) -> Any:
    if isinstance(body, list):
        return [_without_simulation(each, found) for each, found in zip(body, answer, strict=True)]
    unknown = {"jsonrpc": "2.0", "id": body["id"], "error": {"code": -32601, "message": "the method does not exist"}}
    return unknown if body["method"] == "eth_simulateV1" else answer


def _answering(asked: str, **said: Any) -> Callable[[Any, Any], Any]:
    """Return what makes a node answer one method so."""

    def change(body: Any, answer: Any) -> Any:
        if isinstance(body, list):
            return [change(each, found) for each, found in zip(body, answer, strict=True)]
        return {"jsonrpc": "2.0", "id": body["id"], **said} if body["method"] == asked else answer

    return change


def _executing(**said: Any) -> Callable[[Any, Any], Any]:
    """Return what makes a node answer with executed calls that have these members."""

    def change(body: Any, answer: Any) -> Any:
        for asked, found in zip(body, answer, strict=True):
            if asked["method"] == "eth_simulateV1":
                found["result"][0]["calls"] = [each | said for each in found["result"][0]["calls"]]
        return answer

    return change


BUSY = {"error": {"code": -32005, "message": "too many requests"}}
HUGE = f"0x{'f' * 6000}"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(_without_batches, [], id="no batches"),
        pytest.param(_without_simulation, ["not_executed"], id="no simulation"),
        pytest.param(lambda *_: "<html>maintenance</html>", ["node_failed"], id="HTML"),
        pytest.param(lambda *_: [], ["node_failed"], id="nothing"),
        pytest.param(lambda *_: [{"id": 0, "result": "x"}, {"id": 1, "result": {}}], ["node_failed"], id="nonsense"),
        pytest.param(lambda *_: {"id": 0, "error": {"code": 1, "message": "no"}}, ["node_failed"], id="an error"),
        pytest.param(_answering("eth_getCode", **BUSY), ["node_failed"], id="too busy for the code"),
        pytest.param(_answering("eth_getCode", result=None), ["node_failed"], id="no code"),
        pytest.param(_answering("eth_call", **BUSY), ["node_failed"], id="too busy for the decimals"),
        pytest.param(_answering("eth_call", result=HUGE), ["node_failed"], id="huge decimals"),
        pytest.param(_answering("eth_chainId", result=HUGE), ["node_failed"], id="a huge chain"),
        pytest.param(_answering("eth_blockNumber", result="0xzz"), ["node_failed"], id="no number"),
        pytest.param(_answering("eth_getLogs", result=[None]), [], id="no logs"),
        pytest.param(_executing(returnData=None), ["node_failed"], id="no balances"),
        pytest.param(_executing(status="1"), ["node_failed"], id="a status that is none"),
        pytest.param(_executing(logs=5), ["node_failed"], id="logs that are none"),
    ],
)
def test_a_node_that_answers_otherwise(change: Callable[..., Any], expected: list[str], node: LocalNode) -> None:
    """It is told what was not executed, and nothing is guessed."""
    with in_front_of(node, change) as url:
        assert expected == told(executed(GOOD, url))


def test_a_late_node_is_given_up(node: LocalNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """All requests of a check share one deadline."""
    monkeypatch.setattr("payerkit.client.node._TIMEOUT", Timeout(total=0.5))
    started = time.monotonic()
    with in_front_of(node, lambda *_: time.sleep(3)) as url:
        found = executed(GOOD, url)

    assert ["node_failed"] == told(found)
    assert time.monotonic() - started < 3 + 2


@pytest.mark.parametrize("url", ["http://node.example.com", "node.example.com", "", 7, "https://"])
def test_an_address_of_a_node_is_checked(url: Any) -> None:
    """Plain http would show everybody who is paid."""
    with pytest.raises(InvalidInput, match=r"^node: give the address of a node"):
        Node(url)


def test_the_node_comes_from_policy_or_environment(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The policy's for the network wins; without either, none is asked."""
    (tmp_path / "policy.toml").write_text(f'[nodes]\nsepolia = "{node.url}"\n')
    policy = PaymentPolicy.read(tmp_path / "policy.toml")
    assert "executed" not in codes(check_payment(GOOD, wallet=FRESH), "info")
    assert "executed" in codes(check_payment(GOOD, wallet=FRESH, policy=policy), "info")
    monkeypatch.setenv(NODE_URL, node.url)
    assert "executed" in codes(check_payment(GOOD, wallet=FRESH), "info")


@pytest.mark.parametrize("currency", ["fUSDC-sepolia", "ETH-sepolia-sepolia"])
def test_the_sandbox_has_a_node_of_its_own(currency: str) -> None:
    """It executes on the demo wallet, and says whose word it is."""
    with sandbox(seed=1) as client:
        paid = initiate_payment(client, payee=PAYEE, amount="10", invoice_currency="USD", payment_currency=currency)
        given: dict[str, Any] = {"policy": client.sandbox.policy(), "node": client.sandbox.node(), "wallet": FRESH}
        found = check_payment(paid, **given)
        assert "ok" == found.verdict
        assert "by the node of the sandbox" in str(found)
        client.sandbox.set_wallet(currency, balance="0.001")
        assert "executed_lacks" in codes(check_payment(paid, **given), "warning")


def test_code_hashes_are_those_of_the_package() -> None:
    """Each contract that both networks have was executed from the package's bytecode, and its code was hashed."""
    chains = [chain_of(network) for network in TOKENS]
    found = {
        name: f"0x{keccak(chain.state.get_code(to_canonical_address(address))).hex()}"
        for chain in chains
        for name, address in chain.contracts.items()
    }

    assert found == {row["contract"]: row["keccak256"] for row in rows("payerkit.onchain", "code_hashes")}
