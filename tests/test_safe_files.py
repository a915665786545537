"""Many payments for Safes: one file a network, and nothing if one of the payments is to stop."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from example_payments import MAIN, MAIN_PAYMENT, SWAPPED
from example_payments import payment as response
from payerkit import InvalidInput
from payerkit.signing import write_safe_files
from test_check_payments import payment

SAFE = "0x111CEEee040739fD91D29C34C33E6B3E112F2177"
OTHER_SAFE = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
AT = datetime(2026, 11, 22, tzinfo=UTC)
MAINNET = response(MAIN_PAYMENT, asked=MAIN)
SEVERAL = [payment(), MAINNET, payment(2, amount=20)]
"""Two payments on Sepolia, and one on Ethereum between them."""


def test_there_is_one_file_per_network(tmp_path: Path) -> None:
    """A Safe signs for one network; its payments stay in their order."""
    frame = write_safe_files(SEVERAL, tmp_path / "safe", safe=SAFE, created_at=AT)
    files = [json.loads(Path(path).read_text("utf-8")) for path in frame["path"]]

    assert [("mainnet", 1, 1), ("sepolia", 2, 2)] == list(
        zip(frame["network"], frame["payments"], frame["transactions"], strict=True)
    )
    assert [("1", "1 payment on mainnet"), ("11155111", "2 payments on sepolia")] == [
        (file["chainId"], file["meta"]["description"]) for file in files
    ]
    sepolia = [each.transactions[0].data for each in (SEVERAL[0], SEVERAL[2])]
    assert sepolia == [call["data"] for call in files[1]["transactions"]]


def test_each_network_can_have_its_own_safe(tmp_path: Path) -> None:
    """A Safe's address is not the same on all networks."""
    by_network = {"mainnet": OTHER_SAFE, "sepolia": SAFE}
    frame = write_safe_files(SEVERAL, tmp_path, safe=by_network, created_at=AT).set_index("network")
    written = {name: json.loads(Path(row["path"]).read_text("utf-8")) for name, row in frame.iterrows()}

    assert by_network == {name: content["meta"]["createdFromSafeAddress"] for name, content in written.items()}


STOPPED = next(row[1] for row in SWAPPED if row[0] == "payee")


@pytest.mark.parametrize(
    ("payments", "options", "words"),
    [
        ([payment(), STOPPED], {}, "verdict of 1 is stop: .*payee"),
        ([payment(), payment()], {}, "verdict of 0 is stop: Perhaps paid already"),  # alone, each would be ok
        ([], {}, "there are none"),
        (["none.json"], {"anyway": True}, r"none\.json cannot be read"),
        (SEVERAL, {"safe": {"sepolia": SAFE}}, r"safe: give the address of the Safe on mainnet \(Ethereum"),
        (SEVERAL, {"safe": SAFE[:-1]}, "safe: expected an address"),
        ([response(MAIN_PAYMENT, asked=None)], {}, "0: network: not known"),
        ([response(("0x39", "0x", 0), asked=MAIN)], {"anyway": True}, "0: transaction 1: `to`"),
    ],
)
def test_nothing_is_written_if_something_is_wrong(payments: Any, options: Any, words: str, tmp_path: Path) -> None:
    """The message names the payment; no file is written, not even for another network."""
    with pytest.raises(InvalidInput, match=words):
        write_safe_files(payments, tmp_path / "safe", **{"safe": SAFE} | options)

    assert not (tmp_path / "safe").exists()


def test_a_person_can_overrule_the_verdict(tmp_path: Path) -> None:
    """Then everything is written."""
    frame = write_safe_files([payment(), payment()], tmp_path, safe=SAFE, anyway=True)

    assert [2] == frame["payments"].to_list()
