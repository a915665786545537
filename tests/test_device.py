"""What a signing device shows: the calldata digest, and the few calls that devices read by themselves."""

from __future__ import annotations

from typing import Any

import pytest

from example_payments import (
    APPROVAL,
    DEAD,
    ETH,
    ETH_FEE_PROXY,
    FEE_PROXY,
    MAX,
    PAYEE,
    REFERENCE,
    TOKEN,
    TOKEN_PAYMENT,
    WEI,
    data,
    payment,
)
from payerkit.payment.compare import DecodedTransaction, decode_payment
from payerkit.signing.device import calldata_digest, device_lines, digest_of


def decoded(*transaction: Any) -> DecodedTransaction:
    """Return a transaction: to, data, value."""
    return decode_payment(payment(transaction, asked=ETH))[0]


@pytest.mark.parametrize(
    ("call", "digest"),
    [
        (  # the published example: transfer(0x4675...a263, 1e18)
            data("a9059cbb", "0x4675c7e5baafbffbca748158becba61ef3b0a263", 10**18),
            "0x812cee5d9cc7461c04bbcd7b70af9c28b243ac5d74d3453b008b93b7dac69985",
        ),
        ("0x", "0x290decd9548b62a8d60345a988386fc84ba6bc95484008f6362f93160ef3e563"),  # published, too: no calldata
    ],
)
def test_the_digest_is_that_of_erc_8213(call: str, digest: str) -> None:
    """It covers the length and the calldata, so that a device with other software shows the same."""
    assert digest == calldata_digest(bytes.fromhex(call[2:])) == digest_of(decoded(PAYEE, call, 0))


@pytest.mark.parametrize(
    "call", [None, "0xc219…0000", "hello", "0xabc", "0x" + "00" * 131_073], ids=lambda call: str(call)[:9]
)
def test_what_is_no_calldata_has_no_digest(call: str | None) -> None:
    """A digest of guessed bytes would be compared with the wrong one; so would one of more than networks accept."""
    unreadable = decoded(PAYEE, call, 0)

    assert (None, 1) == (digest_of(unreadable), len(device_lines(unreadable, "sepolia")))


ENVELOPE = (f"Contract: {TOKEN}", "Value: 0 ETH", "Network: sepolia (chain id 11155111)")
TEN = "10 fUSDC (10000000 base units, if the device does not know the token)"


@pytest.mark.parametrize(
    ("transaction", "shown"),
    [
        (APPROVAL, ("Approve: the device reads this call.", f"Amount: {TEN}", f"Spender: {FEE_PROXY}", *ENVELOPE)),
        (
            (TOKEN, data("095ea7b3", FEE_PROXY, MAX), 0),
            ("Approve: the device reads this call.", "Amount: Unlimited fUSDC", f"Spender: {FEE_PROXY}", *ENVELOPE),
        ),
        (
            (TOKEN, data("a9059cbb", PAYEE, 10_000_000), 0),
            ("Send: the device reads this call.", f"Amount: {TEN}", f"To: {PAYEE}", *ENVELOPE),
        ),
        (
            (PAYEE, "0x", WEI),
            ("A plain transfer.", f"To: {PAYEE}", "Value: 10 ETH", "Network: sepolia (chain id 11155111)"),
        ),
    ],
    ids=["approve", "unlimited", "transfer", "coin"],
)
def test_devices_read_a_few_calls(transaction: Any, shown: tuple[str, ...]) -> None:
    """Amount, spender or payee in words; then what surrounds the call."""
    assert shown == device_lines(decoded(*transaction), "sepolia")


@pytest.mark.parametrize(
    "transaction",
    [
        TOKEN_PAYMENT,
        (ETH_FEE_PROXY, data("b868980b", PAYEE, REFERENCE, 0, DEAD), WEI),
        (PAYEE, "0x" + REFERENCE.hex(), WEI),  # a coin's transfer with a reference
        (TOKEN, data("39509351", FEE_PROXY, 5), 0),  # increaseAllowance: not among the calls that all devices read
        (TOKEN, APPROVAL[1] + "00", 0),  # a byte too many
        (PAYEE, "0xdeadbeef", 0),
    ],
    ids=["token payment", "coin payment", "reference", "increase", "longer", "unknown"],
)
def test_of_everything_else_a_device_shows_bytes(transaction: Any) -> None:
    """The digest is what a person can compare then, with what it does not cover beside it."""
    shown = device_lines(decoded(*transaction), "sepolia")

    assert "Bytes only (blind signing): compare the calldata digest." == shown[0]
    assert f"Calldata digest: {digest_of(decoded(*transaction))}" == shown[1]
    assert ["Contract", "Value", "Network"] == [line.partition(":")[0] for line in shown[2:]]


def test_without_a_network_nothing_is_guessed() -> None:
    """Neither the token, nor the coin, nor the chain."""
    shown = device_lines(decoded(*APPROVAL), None)

    assert "Amount: 10000000 base units of an unknown token" == shown[1]
    assert ("Value: 0 wei", "Network: not known") == shown[-2:]
