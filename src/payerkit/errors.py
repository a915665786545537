"""What a caller of payerkit may catch: one family, one class for each situation that asks for another reaction.

    PayerkitError
    ├── InvalidInput          found here, nothing was sent: correct the fields that it names
    ├── NotSent               the request never left: check the address and the network, then call again
    ├── Refused               the service read the request and said no: nothing happened
    │   ├── WrongKey          401, 403: check the key
    │   ├── NotFound          404: create it first, or check the id
    │   └── RateLimited       429: wait `retry_after` seconds
    ├── ServiceError          a read failed on the service's side: nothing to undo, call again later
    ├── UnreadableAnswer      a read was answered with something else than the API promises
    ├── UnknownOutcome        a write was sent, and nothing tells whether it happened: find out before repeating
    │   └── InterruptedCall   the same, since a person interrupted it; also a KeyboardInterrupt
    └── InterruptedRun        a person interrupted a run over many rows: call again to go on; also a KeyboardInterrupt

No message, field or attribute of an error holds a secret value or a request's body.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, ParamSpec, TypeVar


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """What is wrong with one member: its name here, its name on the wire, words for a person, a stable code."""

    field: str
    wire_name: str
    message: str
    code: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class PayerkitError(Exception):
    """Base of every error of this package; all attributes can always be read.

    message: the first sentence. fields: the members at fault, as `FieldProblem`. advice: what to do next.
    status_code: of the answer, if there was one. retryable: whether the same call may work later without a change.
    retry_after: seconds to wait, if the service named them. request: method and route, without ids.
    """

    retryable: ClassVar[bool] = False
    advice: str = ""

    def __init__(
        self,
        message: str,
        *,
        fields: tuple[FieldProblem, ...] = (),
        status_code: int | None = None,
        retry_after: float | None = None,
        request: str | None = None,
        advice: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.fields = fields
        self.status_code = status_code
        self.retry_after = retry_after
        self.request = request
        if advice is not None:
            self.advice = advice

    def __str__(self) -> str:
        lines = [self.message, *(f"  {problem}" for problem in self.fields), self.advice]
        return "\n".join(line for line in lines if line)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.message, self.__dict__)


def _rebuilt(kind: type[PayerkitError], message: str, state: dict[str, Any]) -> PayerkitError:
    error = kind.__new__(kind, message)
    error.__dict__.update(state)
    return error


class InvalidInput(PayerkitError, ValueError):  # noqa: N818 - named after what a caller did
    """What was given cannot be sent; found here, before anything left. `fields` names every member at fault."""


class NotSent(PayerkitError):  # noqa: N818
    """The request never left this machine, so nothing happened on the service."""

    retryable = True
    advice = "Nothing was sent. Check the address and the network, then call again."


class Refused(PayerkitError):  # noqa: N818
    """The service read the request and refused it; nothing was changed.

    foreign: whether the answer is none of the API's, but a proxy's, say, or another service's at this address.
    """

    foreign: bool = False
    advice = "Nothing was changed. Correct what the service names, then call again."


class WrongKey(Refused):
    """The service does not accept the API key."""

    advice = "Check the key: connect(api_key=...) or the environment variable PAYERKIT_API_KEY."


class NotFound(Refused):
    """The service does not know what the call is about."""

    advice = "Check the id, and that it was created with this key on this service."


class RateLimited(Refused):
    """The service asks to wait; `retry_after` holds the seconds if it named them."""

    retryable = True
    advice = "Nothing was changed. Call again after the wait."


class ServiceError(PayerkitError):
    """The service, or the way to it, failed while something was read; nothing was changed."""

    retryable = True
    advice = "Nothing was changed. Call again later."


class UnreadableAnswer(PayerkitError):  # noqa: N818
    """A read was answered, but not with what the API promises; nothing was changed."""

    advice = "Check that base_url is the address of the service itself."


class UnknownOutcome(PayerkitError):  # noqa: N818
    """A write was sent, and nothing tells whether it happened.

    operation: the function that was called. client_user_id: whom it was about. fingerprint: twelve hex digits
    that tell two bodies apart without holding them. elapsed: seconds since the call began. `str()` says how to
    find out.
    """

    def __init__(
        self,
        message: str,
        *,
        operation: str = "",
        client_user_id: str | None = None,
        fingerprint: str | None = None,
        elapsed: float = 0.0,
        **facts: Any,
    ) -> None:
        super().__init__(message, **facts)
        self.operation = operation
        self.client_user_id = client_user_id
        self.fingerprint = fingerprint
        self.elapsed = elapsed


class InterruptedCall(UnknownOutcome, KeyboardInterrupt):
    """A person interrupted a write after it was sent, and nothing tells whether it happened."""


class InterruptedRun(PayerkitError, KeyboardInterrupt):  # noqa: N818 - what a person did
    """A person interrupted a run over many rows; `report` says what became of each.

    Nothing is lost: the same call with the same journal goes on.
    """

    advice = "Call again with the same journal to go on."

    def __init__(self, message: str, *, report: Any = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.report = report


P = ParamSpec("P")
R = TypeVar("R")


def without_internal_frames(function: Callable[P, R]) -> Callable[P, R]:
    """Make a public function raise our errors as if they arose in its call.

    The frames in between hold what was given, secrets too, for whoever looks at a traceback with its variables; and in
    a notebook they would bury the message. Errors that are not ours are faults of ours, and keep every frame.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (PayerkitError, KeyboardInterrupt) as error:
            problem = error.with_traceback(None)
        args, kwargs = (), {}  # type: ignore[assignment]  # this frame is the one that stays
        raise problem

    return call
