"""Decode the transactions of a payment, find what they refer to, and make findings about them, with their texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, cast

from payerkit._tsv import rows
from payerkit.errors import InvalidInput, kind_of
from payerkit.findings import Finding, Severity
from payerkit.models.compared_with import OrderTerms
from payerkit.models.payments import Payment
from payerkit.models.whole_response import CALLDATA_NAMES
from payerkit.onchain.amounts import wei_of
from payerkit.onchain.calldata import read_call
from payerkit.onchain.currencies import (
    Currency,
    Deployment,
    currency_hash,
    deployments_at,
    native_currency,
    network_in_id,
    networks,
    tokens_at,
)
from payerkit.onchain.effects import NATIVE, Effect, read_effects
from payerkit.policy.payment_policy import NO_POLICY, PaymentPolicy
from payerkit.wording import visible

UNLIMITED = 2**256 - 1
"""An amount without a limit: the largest that a contract can hold."""


class DecodedTransaction:
    """A transaction with its decoded call.

    index: counted from 0. at: where it stands, as `Effect.at` tells it. to, data: as in the response. value: in wei;
    None if it cannot be read. extra_fields: fields that are not in the specification. origin: the member of the
    response that holds it, such as "batchPaymentTransaction" or "metadata.fallback"; "" for `transactions`.
    """

    def __init__(
        self, index: int, origin: str, to: str | None, data: str | None, given: Any, extra_fields: Mapping[str, Any]
    ) -> None:
        self.index, self.at = index, (index, None)
        self.origin, self.to, self.data, self.extra_fields = origin, to, data, extra_fields
        self.is_value_given = given not in (None, "")
        self.value = wei_of(given) if self.is_value_given else 0
        self.call = read_call(data)
        self.effects = [replace(each, step=index) for each in read_effects(self.call, to=to, value=self.value)]


def decode_payment(payment: object) -> tuple[DecodedTransaction, ...]:
    """Return the decoded transactions of a payment, then those that stand elsewhere in its response.

    Raises InvalidInput for anything but a payment.
    """
    if not isinstance(payment, Payment):
        raise InvalidInput(f"Give a Payment, as initiate_payment and read_payment return it; got {kind_of(payment)}.")
    found = [(each.origin, each.to, each.data, each.value, each.model_extra or {}) for each in payment.transactions]
    read = {origin for origin, *_ in found}  # a batch is read by the model
    found += [_read_elsewhere(*each) for each in payment.whole.transactions if each[0] not in read]
    return tuple(DecodedTransaction(index, *each) for index, each in enumerate(found))


def _read_elsewhere(origin: str, fields: Mapping[str, Any]) -> tuple[str, str | None, str | None, Any, dict[str, Any]]:
    """Return the origin, recipient, calldata, value and other members of a transaction that no model has read."""
    name = next((name for name in CALLDATA_NAMES if fields.get(name) is not None), "data")
    to, data = (text if isinstance(text := fields.get(each), str) else None for each in ("to", name))
    extra = {str(other): value for other, value in fields.items() if other not in {"to", "value", name}}
    return origin, to, data, fields.get("value"), extra


def network_of(order: OrderTerms, policy: PaymentPolicy) -> str | None:
    """Return the network of an order's payment currency; None for a fiat currency, or if it is not known.

    The id of a currency that is not listed tells the network, too.
    """
    currency = policy.find_currency(order.payment_currency)
    network = network_in_id(order.payment_currency) if currency is None else networks().get(currency.network)
    return None if network is None else network.name


def resolve_currency(token: str | None, network: str | None, policy: PaymentPolicy = NO_POLICY) -> Currency | None:
    """Return the currency of a token address or `NATIVE`; None if the network or the token is not known."""
    if token is None or network is None:
        return None
    native = native_currency(network)
    if token == NATIVE:
        return native
    # A conversion path names a native currency by its hash.
    return native if native and token.lower() == currency_hash(native) else policy.find_token(network, token)


def contract_at(address: str | None, network: str, preferred: Collection[str] = ()) -> Deployment | None:
    """Return the contract deployed at an address of a network, one with a preferred name first."""
    here = [each for each in deployments_at(address) if each.network == network]
    return min(here, key=lambda each: each.contract not in preferred, default=None)


def contract_name(
    transaction: DecodedTransaction, network: str | None, policy: PaymentPolicy = NO_POLICY
) -> str | None:
    """Return the name of the contract or token that a transaction goes to; None if it is not known.

    Without a network, only a name that is the same on all networks.
    """
    address, function = str(transaction.to), transaction.call.function
    if network is None:
        names = {each.contract for each in deployments_at(address)} | {token.id for token in tokens_at(address)}
        return names.pop() if len(names) == 1 else None
    contract = contract_at(address, network, function.contracts if function else ())
    if contract:
        return f"{contract.contract} {contract.version}"
    token = resolve_currency(address, network, policy)
    return f"token {token.id}" if token else None


@cache
def _messages() -> Mapping[str, Mapping[str, str]]:
    return {row["key"]: row for row in rows(__package__, "findings")}


def finding(
    key: str,
    about: DecodedTransaction | Effect | None = None,
    *,
    field: str = "",
    policy_lines: str = "",
    **values: object,
) -> Finding:
    """Return the finding with this key in findings.tsv, about a transaction, a payment of it, or the whole.

    policy_lines: what to add to the policy; they stand below the hint.
    """
    values = {"lines": f"\n{policy_lines}" if policy_lines else ""} | values
    row = _messages()[key]
    step, place = about.at if about else (None, None)
    return Finding(
        field=field or row["field"],
        wire_name=field or row["field"],
        severity=cast("Severity", row["severity"]),
        code=key.partition(".")[0],
        message=row["message"].format(**values),
        hint=row["hint"].format(**values),
        basis=row["basis"],
        step=step,
        place=place,
        unchecked={"yes": True, "": False}[row["unchecked"]],
        policy_lines=policy_lines if "{lines}" in row["hint"] else "",
    )


def shown(text: str, most: int = 80) -> str:
    """Return text of a response or an order, such that it cannot steer a terminal or fill a screen."""
    return visible(text)[:most]
