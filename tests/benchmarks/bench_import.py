"""What importing payerkit costs, against `import requests, pydantic`; a bare
interpreter is taken off both.
"""

from __future__ import annotations

import subprocess
import sys
import time

from rounds import ratios, report

ROUNDS = 15


def seconds(code: str) -> float:
    """Return how long a fresh interpreter takes for some code, beyond doing nothing."""
    return max(_run(code) - _run("pass"), 1e-6)


def _run(code: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - started


def main() -> int:
    """Print the ratios; return 1 if a gate is missed."""
    found = ratios(
        lambda: seconds("import payerkit"),
        lambda: seconds("import requests, pydantic"),
        rounds=ROUNDS,
    )
    ready = ratios(
        lambda: seconds(
            "import payerkit; payerkit.connect('http://127.0.0.1:9', api_key='k')"
        ),
        lambda: seconds("import requests, pydantic"),
        rounds=ROUNDS,
    )
    passed = [
        report("import payerkit", found, gate=0.15),
        report("to a ready client", ready, gate=2.0),
    ]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    raise SystemExit(main())
