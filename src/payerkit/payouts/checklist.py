"""What to have before the first payout: what the service says, and what to ask the operator, since no call tells it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from payerkit.checks.requirements import least_amount, listed_rails, unlocked_on_request
from payerkit.client.client import Client
from payerkit.endpoints import endpoint, get_payer_status
from payerkit.explanations import explain_word
from payerkit.findings import Finding, PaymentFindings, payment_finding
from payerkit.models import Payout, PayoutOrder
from payerkit.onchain.amounts import format_number
from payerkit.payment.compare import read_order
from payerkit.payment.response import compare_currencies
from payerkit.payouts.request_calls import find_payout
from payerkit.policy.payment_policy import NO_POLICY
from payerkit.wording import visible

_TO_ASK = ("payout_document", "payout_wallet", "payout_recipient", "payout_rate", "payout_quote")
"""The points of every payout that no call answers."""


@endpoint
def payout_checklist(
    client: Client,
    order: PayoutOrder | Mapping[str, Any] | None = None,
    /,
    *,
    client_user_id: str,
    payment_details_id: str,
) -> PaymentFindings:
    """Return what to have and to ask before the first payout to an account; **beyond the specification**.

    It reads the status of the payer and the account, and changes nothing.

    Args:
        client: From `connect()` or `sandbox()`.
        order: What is to be paid, as `create_request` takes it; None if that is not known yet.
        client_user_id: The `client_user_id` that the payer was registered with.
        payment_details_id: The id of the payer's account that is to receive the money.

    Returns:
        One finding a point. An error stands in the way: the service would refuse the payout, or not make it. A warning
        is a question for a person, mostly to the operator; an info is as it should be. The verdict is "stop" with an
        error, else "look": the supporting document and the verified wallet are in no response.

    Raises:
        InvalidInput: For an order or an id that cannot be sent, or an account that the payer does not have.
        NotSent: If a call never left this machine.
        Refused: If the service refused it; for a known reason, as WrongKey, NotFound or RateLimited.
        ServiceError: If the service failed.
        UnreadableAnswer: If a response is not what the API documents.

    Example:
        >>> account = list_payment_details(client, "user-123")["id"][0]
        >>> points = payout_checklist(client, client_user_id="user-123", payment_details_id=account)
        >>> [each.field for each in points.warnings]
        ['currency', 'supporting_document', 'wallet', 'recipient', 'rate']
    """
    order = None if order is None else PayoutOrder.of(order, {})
    payer = get_payer_status(client, client_user_id).explain()
    payout = find_payout(client, client_user_id, payment_details_id, request_id="")
    found = list[Finding]()
    for field, each in (("payer", payer), ("account", explain_word(payout.status, "account"))):
        key = "payout_ready" if each.is_passed else "payout_ready.not"
        found.append(payment_finding(key, field=field, meaning=each.meaning, advice=each.what_to_do))
    against = compare_currencies(read_order(order), payout, NO_POLICY) if order and payout.currency else ()
    found += [replace(each, severity="error") if each.code == "amount_least" else each for each in against]
    return PaymentFindings([*found, *_check_account(payout), *map(payment_finding, _TO_ASK)])


def _check_account(payout: Payout) -> Iterator[Finding]:
    currency, rails = visible(payout.currency or "an unknown currency").upper(), payout.rails or "local"
    route = f"{currency} over {visible(rails)}"
    is_listed = rails in listed_rails(currency)
    yield payment_finding("payout_rails" if is_listed else "payout_rails.unlisted", route=route)
    if what := unlocked_on_request(currency, rails):
        yield payment_finding("payout_on_request", what=what)
    least = least_amount(currency, rails)
    words = least and f"{format_number(least)} {currency}"
    yield payment_finding("payout_least" if least else "payout_least.unknown", least=words, route=route)
