"""Make tests/data/bytecode.json anew: the creation bytecode of the payment contracts,
from the package on npm.

`python tests/remake_bytecode.py`; needs npm. The package and its contracts are under
the MIT licence.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import tarfile
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

PACKAGE, VERSION = "@requestnetwork/smart-contracts", "0.48.0"
INTEGRITY = (
    "sha512-g8an6pYk/+a4cPphjMSRctyOco7TUUjZ7m1lbwCRcqbpRB4iiEuuVMl31qlDO2diFzd0qnkcELGx"
    "DcuMTxQIIw=="
)
COPYRIGHT = "Copyright (c) 2018 requestnetwork"
FILE = Path(__file__).parent / "data" / "bytecode.json"

CONTRACTS = """
AggregatorMock BadERC20 BatchConversionPayments BatchPayments ChainlinkConversionPath
ERC20EscrowToPay ERC20FeeProxy ERC20Proxy ERC20SwapToConversion ERC20SwapToPay
ERC20TransferableReceivable Erc20ConversionProxy EthConversionProxy EthereumFeeProxy
EthereumProxy FakeSwapRouter SingleRequestProxyFactory TestERC20
"""


def fetch(folder: Path) -> Path:
    """Return the package as npm serves it, if it is the one that is meant."""
    subprocess.run(
        ["npm", "pack", f"{PACKAGE}@{VERSION}"],  # noqa: S607 - npm is where the user has it
        cwd=folder,
        check=True,
        capture_output=True,
    )
    (found,) = folder.glob("*.tgz")
    digest = (
        "sha512-"
        + base64.b64encode(hashlib.sha512(found.read_bytes()).digest()).decode()
    )
    if digest != INTEGRITY:
        raise SystemExit(f"{found.name} is not the package that is expected: {digest}")
    return found


def read_bytecode(package: Path) -> dict[str, str]:
    """Return the creation bytecode of each contract, deflated, in base 64."""
    found = {}
    with tarfile.open(package) as archive:
        for member in archive:
            name = Path(member.name).name.removesuffix("__factory.js")
            file = (
                archive.extractfile(member)
                if "/types/factories/src/" in f"/{member.name}"
                else None
            )
            code = (
                file
                and name in CONTRACTS.split()
                and re.search(rb'const _bytecode = "0x([0-9a-f]+)"', file.read())
            )
            if code:
                found[name] = base64.b64encode(
                    zlib.compress(bytes.fromhex(code[1].decode()), 9)
                ).decode()
    return {name: found[name] for name in CONTRACTS.split()}


def main() -> None:
    """Write the file."""
    with TemporaryDirectory() as folder:
        contracts = read_bytecode(fetch(Path(folder)))
    about = {
        "package": PACKAGE,
        "version": VERSION,
        "integrity": INTEGRITY,
        "licence": "MIT",
        "copyright": COPYRIGHT,
    }
    FILE.write_text(
        json.dumps(about | {"deflated": contracts}, indent=1) + "\n", "utf-8"
    )


if __name__ == "__main__":
    main()
