"""What to have before the first payout: what the service says, and what to ask the
operator, since no call tells it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from payerkit.checks.requirements import least_amount, listed_rails, unlocked_on_request
from payerkit.client.client import Client
from payerkit.endpoints import endpoint, get_payer_status
from payerkit.explanations import Explanation, explain_word
from payerkit.findings import Finding, PaymentFindings, Severity, payment_finding
from payerkit.models import Payout, PayoutOrder
from payerkit.money.payout_requests import find_payout
from payerkit.payments.onchain.amounts import format_number
from payerkit.payments.payment_policy import NO_POLICY
from payerkit.payments.payout import compare_currencies
from payerkit.payments.terms import read_order
from payerkit.wording import visible

_TO_ASK = (
    "payout_document",
    "payout_wallet",
    "payout_recipient",
    "payout_rate",
    "payout_quote",
)
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
    """Return what to have and to ask before the first payout to an account; **beyond
    the specification**.

    It reads the status of the payer and the account, and changes nothing.

    Args:
        client: From `connect()` or `sandbox()`.
        order: What is to be paid, as `create_request` takes it; None if that is not
            known yet.
        client_user_id: The `client_user_id` that the payer was registered with.
        payment_details_id: The id of the payer's account that is to receive the money.

    Returns:
        One finding a point. An error stands in the way: the service would refuse the
        payout, or not make it. A warning is a question for a person, mostly to the
        operator; an info is as it should be. The verdict is "stop" with an error, else
        "look": the supporting document and the verified wallet are in no response.

    Raises:
        InvalidInput: For an order or an id that cannot be sent, or an account that the
            payer does not have.
        NotSent: If a call never left this machine.
        Refused: If the service refused it; for a known reason, as WrongKey, NotFound or
            RateLimited.
        ServiceError: If the service failed.
        UnreadableAnswer: If a response is not what the API documents.

    Example:
        >>> account = list_payment_details(client, "user-123")["id"][0]
        >>> points = payout_checklist(
        ...     client, client_user_id="user-123", payment_details_id=account
        ... )
        >>> [each.field for each in points.warnings]
        ['currency', 'supporting_document', 'wallet', 'recipient', 'rate']
    """
    if order is not None:
        order = PayoutOrder.of(order, {})
    payer = get_payer_status(client, client_user_id).explain()
    payout = find_payout(client, client_user_id, payment_details_id, request_id="")
    account = explain_word(payout.status, "account")
    findings = [_readiness("payer", payer), _readiness("account", account)]
    if order is not None and payout.currency:
        for finding in compare_currencies(read_order(order), payout, NO_POLICY):
            is_too_little = finding.code == "amount_least"
            severity: Severity = "error" if is_too_little else finding.severity
            findings.append(replace(finding, severity=severity))
    findings += _check_route(payout)
    findings += [payment_finding(key) for key in _TO_ASK]
    return PaymentFindings(findings)


def _readiness(field: str, explanation: Explanation) -> Finding:
    """Return whether a payer or an account is ready, by its status."""
    key = "payout_ready" if explanation.is_passed else "payout_ready.not"
    return payment_finding(
        key,
        field=field,
        meaning=explanation.meaning,
        advice=explanation.what_to_do,
    )


def _check_route(payout: Payout) -> Iterator[Finding]:
    """Yield what the operator says of the currency and the rails of an account. Where
    its documents differ, a finding has both, with their dates.
    """
    currency = visible(payout.currency or "an unknown currency").upper()
    rails = payout.rails or "local"
    route = f"{currency} over {visible(rails)}"
    is_listed = rails in listed_rails(currency)
    key = "payout_rails" if is_listed else "payout_rails.unlisted"
    yield payment_finding(key, route=route)
    what = unlocked_on_request(currency, rails)
    if what:
        yield payment_finding("payout_on_request", what=what)
    least = least_amount(currency, rails)
    if least is None:
        yield payment_finding("payout_least.unknown", route=route)
    else:
        words = f"{format_number(least)} {currency}"
        yield payment_finding("payout_least", least=words)
    if currency != "EUR":
        yield payment_finding("payout_reference", route=route)
    if currency == "USD" and rails != "swift":
        yield payment_finding("payout_days")
