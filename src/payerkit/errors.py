"""The errors of payerkit: one family, one class for each situation that asks for
another reaction.

    PayerkitError
    ├── InvalidInput          found here, nothing was sent: correct the fields
    │   │                     that it names
    │   └── InvalidSignature  an event that anybody may have sent: believe
    │                         nothing in it
    ├── NotSent               the request never left: check the address and the
    │                         network, then call again
    ├── Refused               the service read the request and refused it:
    │   │                     nothing happened
    │   ├── WrongKey          401, and 403 unless its code is about the payer:
    │   │                     check the key
    │   ├── NotFound          404: create it first, or check the id
    │   └── RateLimited       429: wait `retry_after` seconds
    ├── ServiceError          a read failed on the service's side: nothing to
    │                         undo, call again later
    ├── UnreadableAnswer      a read got a response that the API does not document
    ├── UnknownOutcome        a write was sent, and whether it happened is
    │   │                     unknown: find out before repeating it
    │   └── InterruptedCall   the same, after an interrupt; also a
    │                         KeyboardInterrupt
    └── InterruptedRun        a run over many rows was interrupted: call again
                              to resume; also a KeyboardInterrupt

No message, field or attribute of an error holds a secret value or a request's body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, ParamSpec, TypeVar

from payerkit.wording import did_you_mean, visible, visible_lines


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A problem with one field.

    Attributes:
        field: The field's name here, such as `postal_code`; "" if the problem is not
            about one field.
        wire_name: Its name on the wire, such as `postalCode`.
        message: What is wrong, for a reader.
        code: What is wrong, for a program; stable.
    """

    field: str
    wire_name: str
    message: str
    code: str

    def __str__(self) -> str:
        if not self.field:
            return visible(self.message)
        return visible(f"{self.field}: {self.message}")


@dataclass(eq=False, repr=False)
class PayerkitError(Exception):
    """Base class of payerkit's errors. Every attribute is there on every error.

    Attributes:
        message: The first line of `str(error)`.
        fields: The problems with single fields, as a tuple of `FieldProblem`.
        advice: What to do next.
        status_code: Status of the response, None if none came.
        retryable: True if the same call may work later without a change.
        retry_after: Seconds to wait that the service requested, None if it did not.
        request: Method and route, without ids.
        outcome: Of a call that failed, the code and the parameters of which the message
            is made; else None.
    """

    message: str
    _: KW_ONLY
    fields: tuple[FieldProblem, ...] = ()
    advice: str = ""
    status_code: int | None = None
    retryable: bool = False
    retry_after: float | None = None
    request: str | None = None
    outcome: Any = None

    def __str__(self) -> str:
        # A message is one line, whatever names and values it quotes.
        lines = [
            visible(self.message),
            *(f"  {problem}" for problem in self.fields),
            visible_lines(self.advice),
        ]
        return "\n".join(line for line in lines if line)


class InvalidInput(PayerkitError, ValueError):  # noqa: N818 - named after what a caller did
    """An argument cannot be used; found here, before anything was sent. `fields` names
    every invalid field.
    """


@dataclass(eq=False, repr=False, kw_only=True)
class InvalidSignature(InvalidInput):
    """The signature of an event does not match its body: anybody may have sent it, so
    nothing in it can be believed.
    """

    advice: str = (
        "Verify the raw bytes of the body as they arrived, such as request.get_data()"
        " in Flask or await request.body() in FastAPI: a body that was parsed and"
        " written again has another signature. If these were the raw bytes, the secret"
        " is that of another webhook or has a line break, or somebody else sent them."
    )


@dataclass(eq=False, repr=False, kw_only=True)
class NotSent(PayerkitError):  # noqa: N818
    """The request never left this machine: nothing happened on the service."""

    retryable: bool = True
    advice: str = (
        "Nothing was sent. Check the address and the network, then call again."
    )


@dataclass(eq=False, repr=False, kw_only=True)
class Refused(PayerkitError):  # noqa: N818
    """The service read the request and refused it; nothing was changed.

    Attributes:
        code: The machine-readable reason, such as "not_yet_passed_kyc_kyb", if the
            service gave one, else "". It is read from `code`, `errorCode`, `error`,
            `message` or the `code` of an entry of `errors`, whichever first is one word
            in snake_case, with an underscore. A word that contains a private value of
            the request is left out.
        foreign: True if the response is not the API's, but a proxy's, say, or another
            service's at this address.
    """

    code: str = ""
    foreign: bool = False
    advice: str = (
        "Nothing was changed. Correct what the service names, then send it again."
    )


@dataclass(eq=False, repr=False, kw_only=True)
class WrongKey(Refused):
    """The service does not accept the API key."""

    advice: str = (
        "Check the key: connect(api_key=...) or PAYERKIT_API_KEY, the Client ID:"
        " connect(client_id=...) or PAYERKIT_CLIENT_ID; of a profile, the variable that"
        " ends in its name."
    )


@dataclass(eq=False, repr=False, kw_only=True)
class NotFound(Refused):
    """The service does not know the payer, the account or the route."""

    advice: str = "Check the id, and that it was created with this key on this service."


@dataclass(eq=False, repr=False, kw_only=True)
class RateLimited(Refused):
    """The service received too many requests; `retry_after` has the seconds to wait, if
    they are known.

    Also raised, without `status_code` and without sending anything, while the client
    pauses because of that for longer than a call may take.
    """

    retryable: bool = True
    advice: str = "Nothing was changed. Try again after the wait."


@dataclass(eq=False, repr=False, kw_only=True)
class ServiceError(PayerkitError):
    """A read failed on the service or on the way to it; nothing was changed."""

    retryable: bool = True
    advice: str = "Nothing was changed. Try again later."


@dataclass(eq=False, repr=False, kw_only=True)
class UnreadableAnswer(PayerkitError):  # noqa: N818
    """A read got a response that the API does not document; nothing was changed."""

    advice: str = "Check that base_url is the address of the service itself."


@dataclass(eq=False, repr=False, kw_only=True)
class UnknownOutcome(PayerkitError):  # noqa: N818
    """A write was sent, and whether it happened is unknown. `str(error)` says how to
    find out.

    Attributes:
        operation: The name of the function that was called.
        client_user_id: The id of the payer, None for a payment.
        fingerprint: Twelve hex digits that tell two request bodies apart without
            holding them.
        elapsed: Seconds since the call began.
    """

    operation: str = ""
    client_user_id: str | None = None
    fingerprint: str | None = None
    elapsed: float = 0.0


class InterruptedCall(UnknownOutcome, KeyboardInterrupt):
    """A write was interrupted after it was sent, and whether it happened is unknown."""


@dataclass(eq=False, repr=False, kw_only=True)
class InterruptedRun(PayerkitError, KeyboardInterrupt):  # noqa: N818 - what a person did
    """A run over many rows was interrupted. Nothing is lost: the same call with the
    same journal resumes it.

    Attributes:
        report: The `Report` or the `WaitReport` with the state of every row.
    """

    advice: str = "Call again with the same journal to resume."

    report: Any = None


class RealMoneyWarning(UserWarning):
    """A payment on a network where money is real is requested from a sandbox or a
    staging environment.

    `warnings.simplefilter("error", RealMoneyWarning)` turns it into an error: then
    nothing is sent.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", RealMoneyWarning)
        ...     initiate_payment(client, {**order, "paymentCurrency": "ETH-mainnet"})
        Traceback (most recent call last):
            ...
        payerkit.errors.RealMoneyWarning: ETH-mainnet is a coin of Ethereum, not of a
        test network: ...
    """


class PayeeWarning(UserWarning):
    """An order names a payee that looks wrong: its checksum does not match, or nobody
    should pay such an address.

    `warnings.simplefilter("error", PayeeWarning)` turns it into an error: then nothing
    is sent.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", PayeeWarning)
        ...     initiate_payment(
        ...         client,
        ...         {**order, "payee": "0x000000000000000000000000000000000000dEaD"},
        ...     )
        Traceback (most recent call last):
            ...
        payerkit.errors.PayeeWarning: The payee is a burn address, which no one
        controls: ...
    """


class PayoutWarning(UserWarning):
    """A payment is requested for a bank account that is not approved, or of less than
    the operator pays out.

    `warnings.simplefilter("error", PayoutWarning)` turns it into an error: then no
    payment is requested.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("error", PayoutWarning)
    """


class PaymentListWarning(UserWarning):
    """A list of payments may lack one: it changed while it was read, or is shorter than
    the service says.

    `warnings.simplefilter("error", PaymentListWarning)` turns it into an error.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("error", PaymentListWarning)
    """


P = ParamSpec("P")
R = TypeVar("R")


def kind_of(value: object) -> str:
    """Return the type of a wrong argument as a message names it, such as "an int"."""
    # payerkit's frames are named as the class of pandas that users know.
    name = next(
        kind.__name__
        for kind in type(value).__mro__
        if kind.__module__ != "payerkit.visible_frame"
    )
    if value is None:
        return "None"
    if name[:1].lower() in "aeiou":
        return f"an {name}"
    return f"a {name}"


def without_internal_frames(function: Callable[P, R]) -> Callable[P, R]:
    """Make a public function raise payerkit's errors, and interrupts, from its own
    frame: without the frames below, and without what was handled there.

    Those frames hold the key and what is sent, and tools show them with their local
    variables; `raise ... from None` keeps them in the error. Any other error is a
    defect of payerkit and keeps its frames; but Python's error about arguments that
    the function does not take says what it takes.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        failure: BaseException
        try:
            return function(*args, **kwargs)
        except (PayerkitError, KeyboardInterrupt) as error:
            failure = error.with_traceback(None)
            failure.__context__ = None
        except TypeError as error:
            shape = signature(function)
            if _takes(shape, args, kwargs):
                raise
            failure = TypeError(f"{error}.{_cure(shape, str(error), kwargs)}")
        finally:
            del args, kwargs  # This frame is part of every traceback.
        raise failure

    return call


def _takes(shape: Signature, args: Iterable[Any], kwargs: Mapping[str, Any]) -> bool:
    """Return True if a function of this signature can be called with the arguments."""
    try:
        shape.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _cure(shape: Signature, problem: str, names: Iterable[str]) -> str:
    """Return the sentence that says how to correct a call whose arguments a function
    does not take.

    problem: what Python says. names: those of the arguments given by keyword.
    """
    unknown = [name for name in names if name not in shape.parameters]
    likely = "".join(did_you_mean(name, shape.parameters) for name in unknown)
    if likely:
        return likely
    if "'client'" in problem:
        return (
            " Begin with a client: client = sandbox(), or connect(...) for a real"
            " service."
        )
    parameters = [
        parameter.replace(annotation=Parameter.empty)
        for name, parameter in shape.parameters.items()
        if name != "self"
    ]
    return f" Its arguments: {Signature(parameters)}."


@contextmanager
def located(where: str) -> Iterator[None]:
    """Say in an InvalidInput where the value is: in which file, table or row."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error.message}") from None
