"""Ask a node of a blockchain, by JSON-RPC and with methods that only read."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from payerkit.client.call import Attempt, BrokenOffError, Call
from payerkit.client.pace import Timeout
from payerkit.client.transport import MAX_RESPONSE, Transport
from payerkit.errors import InvalidInput
from payerkit.wire import is_loopback, parse_json
from payerkit.wording import visible

NO_SUCH_METHOD = -32601
"""The code of an error about a method that a node does not have (JSON-RPC 2.0)."""

_TIMEOUT = Timeout(total=20)


class NodeError(Exception):
    """A node gave no usable answer. The text says why, without the address: it may hold a key."""


class Refusal(NamedTuple):
    """The error that a node answers to one question."""

    code: int
    message: str


Question = tuple[str, list[Any]]
"""A method and its parameters."""


class Node:
    """A node of a blockchain, asked within a `with` block, which has a deadline.

    Raises InvalidInput for anything but an address with https, or http on this machine. name: as it may be shown; by
    default its host, since the address may hold a key. headers: what else is sent. trips: how many requests were sent.
    """

    def __init__(self, url: object, *, name: str = "", headers: Mapping[str, str] | None = None) -> None:
        try:
            parts = urlsplit(url if isinstance(url, str) else "")
            host, _ = parts.hostname or "", parts.port
        except ValueError:
            host = ""
        is_local = is_loopback(host)
        if not host or (parts.scheme != "https" and not (is_local and parts.scheme == "http")):
            raise InvalidInput('node: give the address of a node, such as "https://node.example.com".')
        self._url, self.name, self.trips, self._headers = str(url), name or host, 0, headers or {}
        self._transport = Transport(self._url, is_local=is_local, session=None, max_response=MAX_RESPONSE)
        self._deadline = 0.0

    def __enter__(self) -> Self:
        self.trips, self._deadline = 0, time.monotonic() + _TIMEOUT.total
        return self

    def __exit__(self, *_: object) -> None:
        self._transport.close()

    def ask(self, questions: Sequence[Question]) -> list[Any]:
        """Return the answers, each a result or a `Refusal`. Raises NodeError if one is missing.

        All go in one request; to a node that takes no batches, each in a request of its own.
        """
        bodies = [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, params) in enumerate(questions)
        ]
        answers = self._post(bodies if len(bodies) > 1 else bodies[0])
        if len(bodies) > 1 and not isinstance(answers, list):
            answers = [self._post(body) for body in bodies]
        listed = answers if isinstance(answers, list) else [answers]
        by_id = {each["id"]: each for each in listed if isinstance(each, dict) and isinstance(each.get("id"), int)}
        if {*by_id} != {*range(len(bodies))}:
            raise NodeError("the answer is not that of a node.")
        return [_result(by_id[number]) for number in range(len(bodies))]

    def _post(self, body: Any) -> Any:
        """Send a request, and return the parsed response."""
        self.trips += 1
        call: Call[Any] = Call(operation="check_payment", method="POST", route="", read=lambda content: content)
        content = json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(content)), "User-Agent": "payerkit"}
        headers |= self._headers
        attempt = Attempt(call, self._url, headers, content, _TIMEOUT, self._deadline)
        try:
            response = self._transport.send(attempt)
            if response.status != 200:
                raise NodeError(f"it responds with status {response.status}.")
            return parse_json(response.content)
        except BrokenOffError as error:
            raise NodeError(f"{str(error).replace(self._url, '...')}.") from None
        except ValueError:
            raise NodeError("the response is not JSON.") from None


class KeptAnswers(Node):
    """A node that is asked each question once: its answers are kept, and its failures, too."""

    def __init__(self, node: Node | str) -> None:
        self._node = node if isinstance(node, Node) else Node(node)
        self.name, self._kept = self._node.name, dict[str, list[Any] | NodeError]()

    def __enter__(self) -> Self:
        self._node.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._node.__exit__(*raised)

    def ask(self, questions: Sequence[Question]) -> list[Any]:
        """Return the answers as they were when these questions were asked first. Raises NodeError if it did then."""
        asked = json.dumps(questions)
        if asked not in self._kept:
            try:
                self._kept[asked] = self._node.ask(questions)
            except NodeError as error:
                self._kept[asked] = error
        if isinstance(found := self._kept[asked], NodeError):
            raise found
        return found


def _result(answer: dict[str, Any]) -> Any:
    error = answer.get("error")
    if not isinstance(error, dict):
        return answer.get("result")
    code = error.get("code")
    return Refusal(code if isinstance(code, int) else 0, visible(str(error.get("message", "")))[:200])
