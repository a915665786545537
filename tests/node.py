"""A real node, anvil, with the payment contracts of a network: the state of a `Chain`,
put into it.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from far_end import FarEnd, Received, reply
from local_chain import Chain
from payerkit.payments.onchain.currencies import networks


def find_anvil() -> str | None:
    """Return the path of anvil (npm: @foundry-rs/anvil); None if it is not there."""
    return shutil.which("anvil")


class LocalNode:
    """A running anvil. url: where it is asked."""

    def __init__(self, url: str) -> None:
        self.url = url

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of a method."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = requests.post(self.url, json=body, timeout=20).json()
        assert "result" in answer, answer
        return answer["result"]

    def load(self, chain: Chain) -> None:
        """Put code, storage and coins of a chain into the node."""
        batch = [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, *params) in enumerate(chain.exported())
        ]
        for start in range(0, len(batch), 500):
            answers = requests.post(
                self.url, json=batch[start : start + 500], timeout=60
            ).json()
            assert all("error" not in each for each in answers), answers[:3]
        self.call("evm_mine")  # at its first block, anvil simulates with a time of 1970


@contextmanager
def running_node(network: str, folder: Path) -> Iterator[LocalNode]:
    """Start a node of a network on a free port; it ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    anvil, chain = find_anvil(), networks()[network].chain_id
    assert anvil, "anvil is not there"
    options = [
        "--port",
        str(port),
        "--chain-id",
        str(chain),
        "--silent",
        "--hardfork",
        "prague",
        "--timestamp",
        str(2 * 10**9),
    ]
    with (
        (folder / "anvil.log").open("wb") as log,
        subprocess.Popen([anvil, *options], stdout=log, stderr=log) as process,
    ):
        try:
            node = LocalNode(f"http://127.0.0.1:{port}")
            _wait_for(node)
            yield node
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_for(node: LocalNode) -> None:
    for _ in range(200):
        try:
            node.call("eth_chainId")
        except requests.ConnectionError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("anvil does not start")


def in_front_of(
    node: LocalNode, change: Callable[[Any, Any], Any] = lambda _, answer: answer
) -> FarEnd:
    """Return a far end that hands requests on to a node, and changes what it
    answers.
    """

    def behave(connection: socket.socket, request: Received) -> bool | None:
        body = json.loads(request.body)
        answer = change(body, requests.post(node.url, json=body, timeout=20).json())
        content = answer if isinstance(answer, str) else json.dumps(answer)
        return reply(200, content)(connection, request)

    return FarEnd([behave])
