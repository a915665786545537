"""Payments for a Safe: the files of the Transaction Builder, the hashes that devices
show, and what is refused.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cases import table
from example_addresses import DEAD, FEE_PROXY, PAYEE, TOKEN
from example_payments import GOOD, MAIN, MAIN_PAYMENT, SWAPPED, data
from example_payments import payment as response
from payerkit import InvalidInput, read_payment
from payerkit.models import Payment
from payerkit.payments import write_safe_files
from test_check_payments import payment

SAFE = "0x111CEEee040739fD91D29C34C33E6B3E112F2177"
AT = datetime.fromtimestamp(1763769600, UTC)
APPROVE = {"to": TOKEN, "data": data("095ea7b3", FEE_PROXY, 10_000_000), "value": "0"}
PAY = {
    "to": FEE_PROXY,
    "data": data(
        "c219a14d", TOKEN, PAYEE, 10_000_000, bytes.fromhex("44d119773d96f724"), 0, DEAD
    ),
    "value": "0",
}
ORDER = {
    "payee": PAYEE,
    "amount": "10",
    "invoiceCurrency": "USD",
    "paymentCurrency": "fUSDC-sepolia",
}
"""An order whose amount is in another currency than the payment's."""


def published(*transactions: dict[str, str], **others: Any) -> Payment:
    """Return a payment with these transactions."""
    answer = {
        "paymentReference": "0x44d119773d96f724",
        "transactions": [*transactions],
        **others,
    }
    return read_payment(answer, order=ORDER)


def calls_in(file: Path) -> list[dict[str, Any]]:
    """Return the transactions in a file for the Transaction Builder."""
    return [*json.loads(file.read_text("utf-8"))["transactions"]]


def test_the_file_is_that_of_the_transaction_builder(tmp_path: Path) -> None:
    """Its checksum is right, so that Safe does not call it modified; numbers are texts,
    as Safe demands.
    """
    file = tmp_path / "safe.json"
    published(APPROVE, PAY).to_safe(file, safe=SAFE, now=AT, rate=1)

    assert json.loads(file.read_text("utf-8")) == {
        "version": "1.0",
        "chainId": "11155111",
        "createdAt": 1763769600000,
        "meta": {
            "name": "payerkit 0x44d119773d96f724",
            "description": "10 USD to 0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
            "txBuilderVersion": "1.18.3",
            "createdFromSafeAddress": SAFE,
            "createdFromOwnerAddress": "",
            "checksum": (
                "0x109d300b2c4ffedcb704a3681c49af0db7d895adb93f39177009e030596229bf"
            ),
        },
        "transactions": [
            {**each, "contractMethod": None, "contractInputsValues": None}
            for each in (APPROVE, PAY)
        ],
    }


def test_a_batch_has_the_hashes_of_its_delegate_call() -> None:
    """Several transactions are one delegate call to MultiSendCallOnly."""
    found = published(APPROVE, PAY).safe_hashes(safe=SAFE, nonce=7, rate=1)

    assert (
        "0x00ca7ee3af4d4f4dd0690e118a16b45f8a623186d151c69cd08994a34eb5aba4"
        == found.domain_hash
    )
    assert (
        "0xe004bab895410ef8e599fe1a5ca4b44057c8d87da3df548d4f7796a4de3da9db"
        == found.message_hash
    )
    assert (
        "0x7c4abcebdf77a63b38a4ae73c31c9f062e9a266c561e67f851db61692600e5f1"
        == found.safe_tx_hash
    )
    assert (1, "0x9641d764fc13c8B624c04430C7356C1C7C8102e2", 0) == (
        found.operation,
        found.to,
        found.value,
    )


def test_one_transaction_is_called_directly() -> None:
    """A payment alone needs no MultiSendCallOnly."""
    found = published(PAY).safe_hashes(safe=SAFE, nonce=7, rate=1)

    assert (
        "0x7a2dcc12e4715442cc8a139f08ebab33adef02a9b6a7efaaedef95a67ca5892a"
        == found.message_hash
    )
    assert (
        "0x947aa7800f2b56e5d334d4e2c120543a3d3b18f6476392003a877730750695a4"
        == found.safe_tx_hash
    )
    assert (0, FEE_PROXY) == (found.operation, found.to)


@pytest.mark.parametrize(
    ("call", "digest"),
    [
        (  # the published example: transfer(0x4675...a263, 1e18)
            data("a9059cbb", "0x4675c7e5baafbffbca748158becba61ef3b0a263", 10**18),
            "0x812cee5d9cc7461c04bbcd7b70af9c28b243ac5d74d3453b008b93b7dac69985",
        ),
        (  # published, too: no calldata
            "0x",
            "0x290decd9548b62a8d60345a988386fc84ba6bc95484008f6362f93160ef3e563",
        ),
    ],
)
def test_the_calldata_digest_is_that_of_erc_8213(call: str, digest: str) -> None:
    """It covers the length and the calldata, so that a device with other software shows
    the same.
    """
    found = published(PAY | {"data": call}).safe_hashes(
        safe=SAFE, nonce=7, rate=1, anyway=True
    )

    assert digest == found.calldata_digest


@pytest.mark.parametrize(
    ("version", "to"),
    [
        # Safe's first on Sepolia; there are two.
        ("1.3.0", "0xA1dabEF33b3B82c7814B6D82A79e50F4AC44102B"),
        ("1.5.0", "0xA83c336B20401Af773B6219BA5027174338D1836"),
        # As the Safe app writes it.
        ("1.4.1+L2", "0x9641d764fc13c8B624c04430C7356C1C7C8102e2"),
    ],
)
def test_each_version_has_its_own_batch_contract(version: str, to: str) -> None:
    """The contract is part of the message, so a device shows another hash for another
    version.
    """
    found = published(APPROVE, PAY).safe_hashes(
        safe=SAFE, nonce=7, version=version, rate=1
    )

    assert to == found.to


@pytest.mark.parametrize("name", GOOD)
def test_every_good_payment_can_be_handed_over(name: str, tmp_path: Path) -> None:
    """Coins too: the value of each transaction is kept, in wei and as text."""
    file = tmp_path / "safe.json"
    GOOD[name].to_safe(file, safe=SAFE)
    written = calls_in(file)

    assert [str(each.wei) for each in GOOD[name].transactions] == [
        each["value"] for each in written
    ]
    assert GOOD[name].safe_hashes(safe=SAFE, nonce=0).operation == (len(written) > 1)


STOPPED = next(row[1] for row in SWAPPED if row[0] == "payee")


def test_a_payment_to_stop_is_refused(tmp_path: Path) -> None:
    """Nothing is written, unless a person overrules the verdict; it is that of the
    given order.
    """
    file = tmp_path / "safe.json"
    with pytest.raises(InvalidInput, match=r"verdict is stop: .*payee.*anyway=True"):
        STOPPED.to_safe(file, safe=SAFE)
    with pytest.raises(InvalidInput, match="verdict is stop"):
        STOPPED.safe_hashes(safe=SAFE, nonce=1)
    with pytest.raises(InvalidInput, match="verdict is stop"):
        GOOD["token"].to_safe(file, safe=SAFE, order={**ORDER, "amount": "11"}, rate=1)

    assert not file.exists()
    STOPPED.to_safe(file, safe=SAFE, anyway=True)
    assert file.exists()


@table("safe_refused")
def test_unusable_arguments_are_refused(changed: dict[str, Any], words: str) -> None:
    """The message names the argument."""
    with pytest.raises(InvalidInput, match=words):
        published(APPROVE, PAY).safe_hashes(
            **{"safe": SAFE, "nonce": 7, "rate": 1, **changed}
        )


def test_a_time_without_its_zone_is_refused(tmp_path: Path) -> None:
    """It would be another time on another machine."""
    with pytest.raises(InvalidInput, match=r"now: .*time zone"):
        GOOD["token"].to_safe(
            tmp_path / "safe.json", safe=SAFE, now=AT.replace(tzinfo=None)
        )


@pytest.mark.parametrize(
    ("transactions", "words"),
    [
        ([], "no transactions"),
        ([PAY | {"to": "0x39"}], "transaction 1: `to`"),
        (
            [APPROVE, PAY | {"data": PAY["data"][:-1]}],
            "transaction 2: its calldata",
        ),  # a digit is missing
        ([PAY | {"data": "0xc219…"}], "transaction 1: its calldata"),
        ([PAY | {"data": "hello"}], "transaction 1: its calldata"),
        ([PAY | {"data": "0x" + "00" * 131_073}], "transaction 1: its calldata"),
        ([{"to": FEE_PROXY, "value": "0"}], "transaction 1: its calldata"),
        ([PAY | {"value": "1 ETH"}], "transaction 1: its value"),
    ],
)
def test_what_cannot_be_sent_as_it_is_cannot_be_overruled(
    transactions: list[dict[str, str]], words: str, tmp_path: Path
) -> None:
    """`anyway` overrules the verdict; it does not guess bytes."""
    with pytest.raises(InvalidInput, match=words):
        published(*transactions).to_safe(tmp_path / "safe.json", safe=SAFE, anyway=True)


def test_without_a_network_there_is_no_file(tmp_path: Path) -> None:
    """A Safe signs for one chain."""
    unordered = Payment.read(GOOD["token"].to_dict(reveal=True))

    with pytest.raises(InvalidInput, match="network: not known"):
        unordered.to_safe(tmp_path / "safe.json", safe=SAFE)
    unordered.to_safe(tmp_path / "safe.json", safe=SAFE, network="sepolia")
    assert "1 payment on sepolia" in (tmp_path / "safe.json").read_text("utf-8")


def test_a_verdict_about_more_than_the_safe_makes_is_refused(tmp_path: Path) -> None:
    """The payment stands elsewhere: the file would hold nothing but the approval, and
    name the payment.
    """
    split, file = published(APPROVE, next=PAY), tmp_path / "safe.json"

    assert "look" == split.card(rate=1).verdict
    for hand_over in (
        lambda: split.to_safe(file, safe=SAFE, rate=1),
        lambda: split.safe_hashes(safe=SAFE, nonce=7, rate=1),
        lambda: write_safe_files([split], tmp_path, safe=SAFE, rate=1),
    ):
        with pytest.raises(
            InvalidInput,
            match="A transaction is not in the response's list, but in next",
        ):
            hand_over()
    assert [] == [*tmp_path.iterdir()]
    split.to_safe(file, safe=SAFE, rate=1, anyway=True)
    assert [TOKEN] == [each["to"] for each in calls_in(file)]


SEVERAL = [payment(), response(MAIN_PAYMENT, asked=MAIN), payment(2, amount=20)]
"""Two payments on Sepolia, and one on Ethereum between them."""


def test_of_many_payments_there_is_one_file_per_network(tmp_path: Path) -> None:
    """A Safe signs for one network, where it has its own address; its payments stay in
    their order.
    """
    by_network = {"mainnet": PAYEE, "sepolia": SAFE}
    frame = write_safe_files(SEVERAL, tmp_path / "safe", safe=by_network, now=AT)
    files = [json.loads(Path(path).read_text("utf-8")) for path in frame["path"]]

    assert [["mainnet", 1, 1], ["sepolia", 2, 2]] == frame.drop(
        columns="path"
    ).to_numpy().tolist()
    assert [
        ("1", PAYEE, "1 payment on mainnet"),
        ("11155111", SAFE, "2 payments on sepolia"),
    ] == [
        (
            file["chainId"],
            file["meta"]["createdFromSafeAddress"],
            file["meta"]["description"],
        )
        for file in files
    ]
    sepolia = [each.transactions[0].data for each in (SEVERAL[0], SEVERAL[2])]
    assert sepolia == [call["data"] for call in files[1]["transactions"]]


@pytest.mark.parametrize(
    ("payments", "options", "words"),
    [
        ([payment(amount=20), STOPPED], {}, "1: The verdict is stop: .*payee"),
        (
            [payment(), payment()],
            {},
            "0: The verdict is stop: Perhaps paid already",
        ),  # alone, each would be ok
        ([], {}, "the list is empty"),
        (["none.json"], {"anyway": True}, r"payments: none\.json: .*cannot be read"),
        (
            SEVERAL,
            {"safe": {"sepolia": SAFE}},
            r"safe: give the address of the Safe on mainnet \(Ethereum",
        ),
        (SEVERAL, {"safe": SAFE[:-1]}, "safe: expected an address"),
        ([response(MAIN_PAYMENT, asked=None)], {}, "0: network: not known"),
        (
            [response(("0x39", "0x", 0), asked=MAIN)],
            {"anyway": True},
            "0: transaction 1: `to`",
        ),
    ],
)
def test_nothing_is_written_if_something_is_wrong(
    payments: Any, options: Any, words: str, tmp_path: Path
) -> None:
    """The message names the payment; no file is written, not even for another
    network.
    """
    with pytest.raises(InvalidInput, match=words):
        write_safe_files(payments, tmp_path / "safe", **{"safe": SAFE} | options)

    assert not (tmp_path / "safe").exists()


def test_a_person_can_overrule_the_verdict_on_many(tmp_path: Path) -> None:
    """Then everything is written."""
    frame = write_safe_files([payment(), payment()], tmp_path, safe=SAFE, anyway=True)

    assert [2] == frame["payments"].to_list()
