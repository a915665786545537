"""Ask a node of a blockchain, by JSON-RPC and with methods that only read."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from payerkit.client.call import Attempt, BrokenOffError, Call
from payerkit.client.pace import Timeout
from payerkit.client.transport import MAX_RESPONSE, Transport
from payerkit.errors import InvalidInput
from payerkit.wire import is_loopback, parse_json
from payerkit.wording import visible

_TIMEOUT = Timeout(total=20)


class NodeError(Exception):
    """A node gave no usable answer. The text says why, without the address: it may hold
    a key.
    """


Question = tuple[str, list[Any]]
"""A method and its parameters."""


class Node:
    """A node of a blockchain. It is asked each question once: its answers are kept.

    Raises InvalidInput for anything but an address with https, or http on this machine.
    name: its host, since the address may hold a key.
    """

    def __init__(self, url: object) -> None:
        try:
            parts = urlsplit(str(url))
            host = parts.hostname or ""
            _ = parts.port  # raises ValueError for one that is no port
        except ValueError:
            host = ""
        is_local = is_loopback(host)
        schemes = {"https"}
        if is_local:
            schemes.add("http")
        if not isinstance(url, str) or not host or parts.scheme not in schemes:
            raise InvalidInput(
                'node: give the address of a node, such as "https://node.example.com".'
            )
        self.name = host
        self._url = url
        self._transport = Transport(
            self._url, is_local=is_local, session=None, max_response=MAX_RESPONSE
        )
        self._kept: dict[bytes, list[Any]] = {}

    def ask(self, questions: Sequence[Question]) -> list[Any]:
        """Return the results of all questions, which go in one request. Raises
        NodeError if one is missing.
        """
        bodies = [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, params) in enumerate(questions)
        ]
        content = json.dumps(bodies).encode()
        if content not in self._kept:
            answers = self._post(content)
            methods = [method for method, _ in questions]
            self._kept[content] = _results(answers, methods)
        return self._kept[content]

    def _post(self, content: bytes) -> Any:
        """Send a request, and return the parsed response. Raises NodeError."""
        call: Call[Any] = Call(
            operation="check_payment", method="POST", route="", read=parse_json
        )
        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(len(content)),
            "User-Agent": "payerkit",
        }
        deadline = time.monotonic() + _TIMEOUT.total
        attempt = Attempt(call, self._url, headers, content, _TIMEOUT, deadline)
        try:
            response = self._transport.send(attempt)
            if response.status != 200:
                raise NodeError(f"it responds with status {response.status}.")
            return parse_json(response.content)
        except BrokenOffError as error:
            raise NodeError(f"{str(error).replace(self._url, '...')}.") from None
        except ValueError:
            raise NodeError("the response is not JSON.") from None
        finally:
            self._transport.close()


def _results(answers: Any, methods: Sequence[str]) -> list[Any]:
    """Return the results in the order of the methods. Raises NodeError for a response
    without one of them.
    """
    try:
        by_number = {answer["id"]: answer for answer in answers}
        in_order = [by_number[number] for number, _ in enumerate(methods)]
    except (KeyError, TypeError):
        raise NodeError("the response is not that of a node.") from None
    results = []
    for method, answer in zip(methods, in_order, strict=True):
        reason = answer.get("error")
        if reason is not None:
            if isinstance(reason, dict):
                reason = reason.get("message", "")
            raise NodeError(f"{method} fails ({visible(str(reason))[:200]}).")
        results.append(answer.get("result"))
    return results
