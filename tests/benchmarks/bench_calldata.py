"""What reading many calls costs, against decoding each with eth-abi and building the frame."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from eth_abi import decode, encode

sys.path.insert(0, str(Path(__file__).parent.parent))

from rounds import ratios, report

import payerkit

CALLS, ROUNDS = 100_000, 9
TYPES = ["address", "address", "uint256", "bytes", "uint256", "address"]
NAMES = ["token", "recipient", "amount_base", "reference", "fee_base", "fee_recipient"]


def calls(count: int) -> pd.Series[str]:
    """Return payments in a token, each with its own payee, amount and reference."""
    chance = random.Random(1)  # noqa: S311 - the same calls in each run, no secret
    return pd.Series([_call(chance) for _ in range(count)])


def _call(chance: random.Random) -> str:
    token = "0x" + "11" * 20
    values = [token, _address(chance), chance.randrange(10**12), chance.randbytes(8), 0, token]
    return "0xc219a14d" + encode(TYPES, values).hex()


def _address(chance: random.Random) -> str:
    return f"0x{chance.getrandbits(160):040x}"


def one_by_one(series: pd.Series[str]) -> pd.DataFrame:
    """Decode each call with eth-abi, and build the frame with the same kinds of columns."""
    rows = [decode(TYPES, bytes.fromhex(call[10:])) for call in series]
    frame = pd.DataFrame(rows, columns=NAMES)
    frame["reference"] = ["0x" + reference.hex() for reference in frame["reference"]]
    return frame.astype(dict.fromkeys(("token", "recipient", "reference", "fee_recipient"), "string"))


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> int:
    """Print the ratio; return 1 if the gate is missed."""
    series = calls(CALLS)
    found = ratios(
        lambda: seconds(lambda: payerkit.decode_calldata(series)),
        lambda: seconds(lambda: one_by_one(series)),
        rounds=ROUNDS,
    )
    return 0 if report(f"decode_calldata of {CALLS} calls", found, gate=0.1) else 1


if __name__ == "__main__":
    raise SystemExit(main())
