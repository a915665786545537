"""Tell when a payment moves real money although the service is only for trying things out."""

from __future__ import annotations

from payerkit.html import visible
from payerkit.onchain.currencies import find_currency
from payerkit.onchain.networks import Network, network_in_id, networks

_ENVIRONMENTS = {"sandbox": "a sandbox", "staging": "a staging environment"}
"""Services without consequences of their own, in words. Contracts and wallets know nothing of them."""


def real_money_note(currency_id: str, environment: str | None) -> str:
    """Return a warning if a payment in a currency moves real money although the service is not live; "" otherwise."""
    network = _network_of(currency_id)
    if network is None or network.is_test or environment in {None, "live"}:
        return ""
    currency = find_currency(currency_id)
    kind = "a coin" if currency is not None and currency.kind == "native" else "a token"
    name = visible(currency_id) if currency is None else currency.id
    return (
        f"{name} is {kind} of {network.title}, not of a test network: whoever signs this payment moves real money, "
        f"although the service is {_ENVIRONMENTS.get(str(environment), environment)}."
    )


def _network_of(currency_id: str) -> Network | None:
    """Return the network of a currency; None for a fiat currency, or if the id does not tell."""
    currency = find_currency(currency_id)
    return network_in_id(currency_id) if currency is None else networks().get(currency.network)
