"""A call, as an endpoint describes it to the client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from payerkit.client.wire import RequestBody, fill

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """One call: what is sent, how its answer is read, and what its failures mean.

    operation: name of the function. route: path with `{clientUserId}` in it; `ids` fill it. read: makes the
    result of the parsed JSON, and raises ValueError for what the API does not promise. repeatable: a write that
    sets a constant, so that a second time does no harm. settle: how to find out whether a write happened.
    hints: advice by status, where the endpoint knows better than the class of error.
    """

    operation: str
    method: str
    route: str
    read: Callable[[Any], T]
    ids: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: RequestBody | None = None
    client_user_id: str | None = None
    repeatable: bool = False
    settle: str = ""
    hints: Mapping[int, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Method and route, without ids: what messages and logs show."""
        return f"{self.method} {self.route}"

    @property
    def path(self) -> str:
        """The path with its ids and its query."""
        return fill(self.route, self.ids) + (f"?{urlencode(self.query)}" if self.query else "")

    @property
    def is_write(self) -> bool:
        """Whether the call may change something."""
        return self.method != "GET"
