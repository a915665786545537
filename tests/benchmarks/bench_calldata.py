"""The cost of decode_calldata, against decoding each call with eth-abi."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from eth_abi import decode, encode

sys.path.insert(0, str(Path(__file__).parent.parent))

from rounds import ratios, report

import payerkit
from payerkit.onchain.functions import functions

CALLS, ROUNDS = 100_000, 3
TOKEN = "0x" + "11" * 20
TYPES = {
    f"0x{selector.hex()}": [part.canonical for part in function.arguments.parts]
    for selector, function in functions().items()
}


def calls(count: int) -> pd.Series[str]:
    """Return payments with their approvals: 45% in tokens, 10% native, 3% converted, 2% batches; 40% approvals."""
    chance = random.Random(1)  # noqa: S311 - the same calls in each run, no secret
    return pd.Series([_call(chance) for _ in range(count)])


def _call(chance: random.Random) -> str:
    payee, amount, reference = f"0x{chance.getrandbits(160):040x}", chance.randrange(10**12), chance.randbytes(8)
    samples: dict[str, tuple[Any, ...]] = {
        "0xc219a14d": (TOKEN, payee, amount, reference, 0, TOKEN),
        "0x095ea7b3": (TOKEN, chance.choice([amount, 2**256 - 1])),
        "0xb868980b": (payee, reference, 0, TOKEN),
        "0x3af2c012": (payee, amount, [TOKEN, TOKEN], reference, 0, TOKEN, amount, 0),
        "0x92cddb91": ([(2, [(payee, amount, [TOKEN], reference, 0, 0, 0)] * 5)], [], TOKEN),
    }
    (selector,) = chance.choices(list(samples), weights=[45, 40, 10, 3, 2])
    return selector + encode(TYPES[selector], samples[selector]).hex()


def one_by_one(series: pd.Series[str]) -> list[tuple[Any, ...]]:
    """Decode each call with eth-abi; no frame is built."""
    return [decode(TYPES[call[:10]], bytes.fromhex(call[10:])) for call in series]


def seconds(work: Callable[[], object]) -> float:
    """Return the time that some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> int:
    """Print the ratio; return 1 if the gate is missed."""
    series = calls(CALLS)
    found = ratios(
        lambda: seconds(lambda: payerkit.payment.decode_calldata(series)),
        lambda: seconds(lambda: one_by_one(series)),
        rounds=ROUNDS,
    )
    return 0 if report(f"decode_calldata of {CALLS} calls", found, gate=0.75) else 1


if __name__ == "__main__":
    raise SystemExit(main())
