"""The calls of the service, one function each: client first, an object, a dict or
fields in, an object or a frame out.

The `Call`s below the public functions are shared with runs over many rows. Their routes
are those of the specification; a client with `api="v2"` sends those under /v1/payer to
/v2/payer, and those for /v1/pay to /v2/payouts.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from payerkit.client.call import Call, RequestBody
from payerkit.client.client import Client, check_client
from payerkit.errors import (
    InvalidInput,
    PayeeWarning,
    RealMoneyWarning,
    Refused,
    kind_of,
    without_internal_frames,
)
from payerkit.explanations import account_group
from payerkit.frames import frame_of
from payerkit.masking import mask
from payerkit.models import (
    AgreementUpdate,
    BankDetails,
    Payer,
    PayerStatus,
    Payment,
    PaymentDetail,
    PaymentOrder,
    PayoutOrder,
)
from payerkit.models.base import RequestModel
from payerkit.models.responses import require_success, usable_id
from payerkit.payments.onchain.currencies import real_money_note
from payerkit.payments.payee import payee_problem
from payerkit.wire import check_id, first, our_name, wire_name

if TYPE_CHECKING:
    import pandas as pd

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_CREATE_FIRST = "Register the payer first."

_MAY_BE_MISSING = (
    "No payer was created under this id with this key. If one was, the service does not"
    " offer this call, which is beyond the specification: create_payer() returns the"
    " status, too."
)


def endpoint(
    function: Callable[Concatenate[Client, P], R],
) -> Callable[Concatenate[Client, P], R]:
    """Check the client, and let errors arise where the function is called."""

    @without_internal_frames
    @wraps(function)
    def call(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> R:
        check_client(client, *args)
        return function(client, *args, **kwargs)

    return call


_sent: weakref.WeakKeyDictionary[Client, dict[str, int]] = weakref.WeakKeyDictionary()
"""The hash of the first data of each payer, by client and id."""


def takes_fields(
    model: type[RequestModel],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Name the fields of a model in the signature of a function that takes them as
    keywords, for Tab and help.
    """

    def name_them(function: Callable[P, R]) -> Callable[P, R]:
        shape = signature(function)
        *others, fields = shape.parameters.values()
        shape = shape.replace(
            parameters=[*others, *signature(model).parameters.values(), fields]
        )
        function.__signature__ = shape  # type: ignore[attr-defined]
        return function

    return name_them


@takes_fields(Payer)
@endpoint
def create_payer(
    client: Client, payer: Payer | Mapping[str, Any] | None = None, /, **fields: Any
) -> PayerStatus:
    """Register a payer for compliance checks.

    `POST /v2/payer`, specification 2.4 and 2.5. A second call with the same
    `client_user_id` returns the present statuses; the sandbox updates the data, too.

    Args:
        client: From `connect()` or `sandbox()`.
        payer: A `Payer`, or a dict or row by payerkit's names or the API's.
        **fields: The fields of a `Payer`, in place of an object.

    Returns:
        The statuses, and the links to agreement and identity check. What `check_payer`
        warns of does not keep a payer from being sent.

    Raises:
        InvalidInput: With all errors at once, before anything is sent.
        NotSent: If the request never left this machine.
        Refused: If the service refused it; for a known reason, as WrongKey, NotFound or
            RateLimited.
        UnknownOutcome: If it was sent, and whether the payer was registered is unknown.

    Warns:
        UserWarning: If this client sent other data under the same `client_user_id`
            before.

    Example:
        >>> create_payer(client, payer).kyc_status
        'not_started'
    """
    payer = Payer.of(payer, fields)
    body = RequestBody(payer.to_dict(reveal=True), payer.private_values)
    status = client.send(payer_call(payer.client_user_id, body, PayerStatus.read))
    sent = _sent.setdefault(client, {})
    first_data = sent.setdefault(payer.client_user_id, hash(body.content))
    if first_data != hash(body.content):
        warnings.warn(
            "This client sent other data under this client_user_id before, and the"
            " service may keep those: it shows only statuses. Another payer needs"
            " another id.",
            stacklevel=4,
        )
    return status


@endpoint
def get_payer_status(client: Client, client_user_id: str) -> PayerStatus:
    """Return the status of a payer, without sending any data again.

    `GET /v2/payer/{clientUserId}`: publicly documented, **beyond the specification**.

    Args:
        client: From `connect()` or `sandbox()`.
        client_user_id: The `client_user_id` that the payer was registered with.

    Returns:
        The statuses; links are not part of the response.

    Raises:
        InvalidInput: For an id that cannot be sent.
        NotSent: If the request never left this machine.
        NotFound: If the service does not know the payer, or does not offer this call.
        Refused: If the service refused it; for a known reason, as WrongKey or
            RateLimited.
        ServiceError: If the service failed.
        UnreadableAnswer: If the response is not what the API documents.

    Example:
        >>> get_payer_status(client, "user-123").agreement_status
        'completed'
    """
    return client.send(payer_status_call(client_user_id, PayerStatus.read))


@endpoint
def update_agreement(
    client: Client, client_user_id: str, *, completed: bool = True
) -> AgreementUpdate:
    """Record that a payer completed the agreement, or take that back.

    `PATCH /v1/payer/{clientUserId}`, specification 2.6. The call sets a constant, so it
    is repeated after a failure.

    Args:
        client: From `connect()` or `sandbox()`.
        client_user_id: The `client_user_id` that the payer was registered with.
        completed: Whether the agreement is completed.

    Returns:
        Whether the service recorded it.

    Raises:
        InvalidInput: For an id that cannot be sent, and for anything but True or False.
        NotSent: If the request never left this machine.
        Refused: If the service refused it; for a known reason, as WrongKey, NotFound or
            RateLimited.
        UnknownOutcome: If no try was answered, and whether it was recorded is unknown.

    Example:
        >>> update_agreement(client, "user-123").success
        True
    """
    if not isinstance(completed, bool):
        raise InvalidInput("completed: give True or False. Nothing was sent.")
    return client.send(agreement_call(client_user_id, completed=completed))


@takes_fields(BankDetails)
@endpoint
def create_payment_detail(
    client: Client,
    client_user_id: str,
    details: BankDetails | Mapping[str, Any] | None = None,
    /,
    **fields: Any,
) -> PaymentDetail:
    """Store a bank account for a payer. Each call stores one more; the API can neither
    change nor remove one.

    `POST /v1/payer/{clientUserId}/payment-details`, specification 2.1 and 2.2.

    Args:
        client: From `connect()` or `sandbox()`.
        client_user_id: The `client_user_id` that the payer was registered with.
        details: `BankDetails`, or a dict or row by payerkit's names or the API's.
        **fields: The fields of `BankDetails`, in place of an object.

    Returns:
        The record with its `id`. What `check_bank_details` warns of does not keep an
        account from being sent.

    Raises:
        InvalidInput: With all errors at once, before anything is sent.
        NotSent: If the request never left this machine.
        Refused: If the service refused it; for a known reason, as WrongKey, NotFound or
            RateLimited.
        UnknownOutcome: If it was sent, and whether the account was stored is unknown;
            do not simply repeat it.

    Example:
        >>> create_payment_detail(client, "user-123", details).status
        'approved'
    """
    if isinstance(client_user_id, RequestModel | Mapping):
        raise InvalidInput(
            f"client_user_id: expected the payer's id, got {kind_of(client_user_id)}."
            " Nothing was sent.",
            advice='Write create_payment_detail(client, "user-123", details).',
        )
    check_id(client_user_id, "client_user_id")
    details = BankDetails.of(details, fields)
    body = RequestBody(details.to_dict(reveal=True), details.private_values)
    return client.send(payment_detail_call(client_user_id, body, PaymentDetail.read))


@endpoint
def list_payment_details(
    client: Client,
    client_user_id: str,
    *,
    payment_details_id: str | None = None,
    events: pd.DataFrame | None = None,
    reveal: bool = False,
) -> pd.DataFrame:
    """Return the bank accounts of a payer.

    `GET /v1/payer/{clientUserId}/payment-details`, specification 2.3. The API can
    neither change nor remove an account: a wrong one stays in the list. Store the right
    one, and pay that, by its id.

    Args:
        client: From `connect()` or `sandbox()`.
        client_user_id: The `client_user_id` that the payer was registered with.
        payment_details_id: Only the account with this id; no rows if the payer has no
            such account.
        events: From `read_events`, for `reason`; this is beyond the specification.
        reveal: True to show account numbers, birth dates, addresses and people's names,
            which are masked otherwise.

    Returns:
        One row per account; no rows if there are none. The columns of specification 2.3
        are always there, then `in_use` (boolean), whether the account can be paid,
        missing while it is checked, and `reason`, why it was rejected, which only
        `events` say; other fields of the response follow, and the ids come last. Text
        has dtype `string`.

    Raises:
        InvalidInput: For an id that cannot be sent, and for anything but such events.
        NotSent: If the request never left this machine.
        Refused: If the service refused it; for a known reason, as WrongKey, NotFound or
            RateLimited.
        ServiceError: If the service failed.
        UnreadableAnswer: If the response is not what the API documents.

    Example:
        >>> list_payment_details(client, "user-123")[
        ...     ["bank_name", "account_number", "status", "in_use"]
        ... ]
          bank_name account_number    status  in_use
        0     Chase       ••••3489  approved    True
    """
    records = client.send(
        payment_details_call(client_user_id, payment_details_id=payment_details_id)
    )
    return payment_details_frame(records, events=events, reveal=reveal is True)


@takes_fields(PaymentOrder)
@endpoint
def initiate_payment(
    client: Client,
    order: PaymentOrder | Mapping[str, Any] | None = None,
    /,
    **fields: Any,
) -> Payment:
    """Request a payment. Nothing moves before a wallet signs the transactions that come
    back.

    `POST /v1/pay`, specification 2.7; `POST /v2/payouts` if the client has `api="v2"`.

    Args:
        client: From `connect()` or `sandbox()`.
        order: A `PaymentOrder`, or a dict by payerkit's names or the API's. Amounts are
            decimals, in the invoice currency.
        **fields: The fields of a `PaymentOrder`, in place of an object.

    Returns:
        The transactions to sign, and the order as `.order`, so that `check_payment` can
        compare them.

    Raises:
        InvalidInput: With all errors at once, before anything is sent.
        NotSent: If the request never left this machine.
        Refused: If the service refused it; for a known reason, as WrongKey or
            RateLimited.
        UnknownOutcome: If it was sent and no readable response came. Nothing has moved.

    Warns:
        RealMoneyWarning: Before sending, if the payment currency is not of a test
            network and the service is not live: a sandbox's key does not make the money
            a sandbox's.
        PayeeWarning: Before sending, if the capital letters of the payee do not match
            its checksum, or if it is an address that nobody should pay, such as a token
            or a burn address.

    Example:
        >>> len(initiate_payment(client, order).transactions)
        1
    """
    order = PaymentOrder.of(order, fields)
    # The caller is above two decorators.
    problem = payee_problem(order.payee)
    if problem is not None:
        warnings.warn(PayeeWarning(f"{problem.message} {problem.hint}"), stacklevel=4)
    note = real_money_note(order.payment_currency, client.environment)
    if note:
        warnings.warn(RealMoneyWarning(note), stacklevel=4)
    return send_order(client, payment_call(order, client.environment), order)


def send_order(client: Client, call: Call[T], order: PaymentOrder | PayoutOrder) -> T:
    """Send an order; if it is refused and has a currency that is not known, the advice
    names what was meant.
    """
    try:
        return client.send(call)
    except Refused as error:
        from payerkit.payments.check_order import unknown_currencies  # noqa: PLC0415 - loaded for this alone

        unknown = unknown_currencies(dict(order), client.environment)
        # A form shows this advice, too.
        hints = [f"{each.field}: {each.hint_form or each.hint}" for each in unknown]
        error.advice = " ".join([*hints, error.advice])
        raise


def payment_call(order: PaymentOrder, environment: str) -> Call[Payment]:
    """Return the call that requests a payment. environment: where it is sent, which the
    payment remembers.
    """
    return Call(
        operation="initiate_payment",
        method="POST",
        route="/v1/pay",
        body=RequestBody(order.to_dict(reveal=True), order.private_values),
        read=partial(
            Payment.read, order=order, order_source="sent", environment=environment
        ),
        if_unknown=(
            "Nothing has moved: a wallet has to sign first. Call again, and sign the"
            " transactions of one response only."
        ),
    )


def payer_call(
    client_user_id: str, body: RequestBody, read: Callable[[Any], T]
) -> Call[T]:
    """Return the call that registers a payer. read: makes the result from the parsed
    response.
    """

    def read_stored(response: Any) -> T:
        require_success(response)
        return read(response)

    return Call(
        operation="create_payer",
        method="POST",
        route="/v2/payer",
        body=body,
        client_user_id=client_user_id,
        read=read_stored,
        if_unknown=(
            "Call create_payer() again: the same client_user_id does not create a"
            " second payer, as the API's documentation says."
        ),
        hints={
            409: (
                "A payer with this id exists already, and its data may differ from"
                " yours: the service does not show them. get_payer_status() returns the"
                " status."
            )
        },
    )


def payer_status_call(client_user_id: str, read: Callable[[Any], T]) -> Call[T]:
    """Return the call that reads a payer's status. read: makes the result from the
    parsed response.

    Raises InvalidInput for an id that cannot be sent.
    """
    return Call(
        operation="get_payer_status",
        method="GET",
        route="/v2/payer/{clientUserId}",
        ids={"clientUserId": check_id(client_user_id, "client_user_id")},
        read=read,
        hints={404: _MAY_BE_MISSING, 405: _MAY_BE_MISSING},
    )


def agreement_call(
    client_user_id: str, *, completed: bool = True
) -> Call[AgreementUpdate]:
    """Return the call that records an agreement. Raises InvalidInput for an id that
    cannot be sent.
    """
    return Call(
        operation="update_agreement",
        method="PATCH",
        route="/v1/payer/{clientUserId}",
        ids={"clientUserId": check_id(client_user_id, "client_user_id")},
        body=RequestBody({"agreementCompleted": completed}),
        client_user_id=client_user_id,
        read=AgreementUpdate.read,
        idempotent=True,
        if_unknown=(
            "It does no harm to call update_agreement() again; get_payer_status()"
            " returns the present state."
        ),
        hints={404: _CREATE_FIRST},
    )


def payment_detail_call(
    client_user_id: str, body: RequestBody, read: Callable[[Any], T]
) -> Call[T]:
    """Return the call that stores an account. read: makes the result from the parsed
    response, which has the id of the account: without one, the outcome is unknown.

    Raises InvalidInput for an id that cannot be sent.
    """

    def read_stored(response: Any) -> T:
        require_success(response)
        fields = PaymentDetail.read_fields(response)
        if not usable_id(fields.get("id")):
            raise ValueError("the account has no id")
        return read(response)

    return Call(
        operation="create_payment_detail",
        method="POST",
        route="/v1/payer/{clientUserId}/payment-details",
        ids={"clientUserId": check_id(client_user_id, "client_user_id")},
        body=body,
        client_user_id=client_user_id,
        read=read_stored,
        if_unknown=(
            "Call list_payment_details() in a minute: one account more than before"
            " means that it was stored. Send it again only if no new account appeared."
        ),
        hints={404: _CREATE_FIRST},
    )


def payment_details_call(
    client_user_id: str, *, payment_details_id: str | None = None
) -> Call[list[dict[str, Any]]]:
    """Return the call that lists a payer's accounts as records. Raises InvalidInput for
    an id that cannot be sent.
    """
    query = {}
    hints = {404: _CREATE_FIRST}
    if payment_details_id is not None:
        query["paymentDetailsId"] = check_id(payment_details_id, "payment_details_id")
        hints = {}  # the account may be what is not found
    return Call(
        operation="list_payment_details",
        method="GET",
        route="/v1/payer/{clientUserId}/payment-details",
        ids={"clientUserId": check_id(client_user_id, "client_user_id")},
        query=query,
        read=_read_list,
        hints=hints,
    )


_LISTS = ("paymentDetails", "payment_details")


def _read_list(response: Any) -> list[dict[str, Any]]:
    """Return the records of a list. Raises ValueError for anything but a list of
    objects, and for a list beside a member that says that the call failed.
    """
    require_success(response)
    if isinstance(response, dict):
        response = first(response, *_LISTS)
    if not isinstance(response, list) or not all(
        isinstance(record, dict) for record in response
    ):
        raise ValueError("expected a list of payment details")
    return response


_ACCOUNT_MEMBERS = (
    *("bankName", "accountName", "beneficiaryType", "accountNumber", "routingNumber"),
    *("currency", "status", "rails"),
)
_ACCOUNT_IDS = ("userId", "id")
"""Wire names of a listed payment detail (specification 2.3), in its order, but ids
apart, which are long.
"""


def payment_details_frame(
    records: Sequence[Mapping[str, Any]], *, events: Any = None, reveal: bool = False
) -> pd.DataFrame:
    """Return one row per record: the listed columns, `in_use` and `reason`, any other
    fields of the records, the ids.

    Names are in snake_case. Missing values are <NA>. Unless revealed, account numbers,
    birth dates, addresses and people's names (except initials) are masked.
    """
    from payerkit.money.events import rejection_reasons  # noqa: PLC0415 - loads pandas

    rows = [_with_wire_names(record) for record in records]
    names = dict.fromkeys([*_ACCOUNT_MEMBERS, "in_use", "reason"])
    for row in rows:
        names |= dict.fromkeys(name for name in row if name not in _ACCOUNT_IDS)
    names |= dict.fromkeys(_ACCOUNT_IDS)
    by_status = rejection_reasons(events)
    reasons = [
        by_status.get((str(row.get("id")), str(row.get("status")))) for row in rows
    ]
    shown = rows
    if not reveal:  # the reasons may be revealed
        shown = mask("", rows)
        reasons = mask("rejectionMessage", reasons)
    columns: dict[str, list[Any]] = {
        our_name(name): [row.get(name) for row in shown] for name in names
    }
    columns["in_use"] = [_is_in_use(row.get("status")) for row in rows]
    columns["reason"] = reasons
    dtypes = {name: _dtype_of(values) for name, values in columns.items()}
    dtypes["in_use"] = "boolean"
    return frame_of(zip(*columns.values(), strict=True), dtypes)


def _is_in_use(status: object) -> bool | None:
    """Return whether an account can be paid; None while it is checked."""
    group = account_group(status)
    if group == "open":
        return None
    return group == "approved"


def _dtype_of(values: Sequence[Any]) -> str:
    """Return the dtype of a column. Values other than text are kept as they are: a
    conversion would be a guess.
    """
    if all(isinstance(value, str | None) for value in values):
        return "string"
    return "object"


def _with_wire_names(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with wire names for any spelling; of two spellings, the wire name
    wins.
    """
    renamed = {wire_name(name): value for name, value in record.items()}
    return renamed | {name: value for name, value in record.items() if name in renamed}
