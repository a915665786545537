"""What payments are made of: networks, the currencies on them, and the addresses of the
payment contracts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, Literal

from payerkit._tsv import grouped, rows
from payerkit.errors import InvalidInput
from payerkit.payments.onchain.addresses import keccak, shape
from payerkit.wording import visible


@dataclass(frozen=True, slots=True)
class Network:
    """A blockchain. name: as in currency ids. title: its common name. chain_id: None if
    the sources disagree.

    is_test: its coins and tokens are worth nothing. explorer: a site that shows its
    addresses; "" if none is known.
    """

    name: str
    title: str
    chain_id: int | None
    is_test: bool
    explorer: str = ""

    def __str__(self) -> str:
        known = []
        if self.title.lower() != self.name:
            known.append(self.title)
        if self.chain_id is not None:
            known.append(f"chain id {self.chain_id}")
        return f"{self.name} ({', '.join(known)})"


@cache
def networks() -> Mapping[str, Network]:
    """Return all networks by name."""
    return {
        row["network"]: Network(
            name=row["network"],
            title=row["title"],
            chain_id=int(row["chain_id"]) if row["chain_id"] else None,
            is_test={"yes": True, "no": False}[row["test"]],
            explorer=row["explorer"],
        )
        for row in rows(__package__, "networks")
    }


def read_network(network: object) -> str:
    """Return a network by its name. Raises InvalidInput for one that is not in
    networks.tsv.
    """
    if str(network) not in networks():
        raise InvalidInput(
            f"network: {network!r} is not known. Use a network name as in currency ids,"
            " such as matic for Polygon."
        )
    return str(network)


def network_in_id(currency_id: str) -> Network | None:
    """Return the network that a currency id ends with, also if the token list does not
    have the currency; else None.
    """
    key = currency_id.lower()
    found = [
        each
        for name, each in networks().items()
        if key.endswith(f"-{name}") and currency_id.isascii()
    ]
    return max(found, key=lambda network: len(network.name), default=None)


CurrencyKind = Literal["fiat", "native", "erc20", "trc20"]


@dataclass(frozen=True, slots=True)
class Currency:
    """A currency of the service's token list.

    decimals: of this currency; another one with the same symbol can have others.
    network: "fiat" for fiat currencies. address: of the token contract; "" for fiat and
    native currencies.
    """

    id: str
    kind: CurrencyKind
    network: str
    symbol: str
    decimals: int
    address: str

    @property
    def ticker(self) -> str:
        """The symbol as people know it: ETH for the coins that the list calls
        ETH-sepolia and ETH-base.
        """
        if self.kind == "native":
            return self.symbol.partition("-")[0]
        return self.symbol


@cache
def token_list() -> Mapping[str, Currency]:
    """Return all currencies by their id in lower case; no two ids differ only in
    case.
    """
    listed: Iterator[dict[str, Any]] = rows(__package__, "currencies")
    return {
        row["id"].lower(): Currency(**row | {"decimals": int(row["decimals"])})
        for row in listed
    }


@cache
def currency_aliases() -> Mapping[str, Currency]:
    """Return the currencies that newer documents name by other ids, by these ids as
    they are written there.
    """
    listed = rows(__package__, "currency_aliases")
    return {
        row["id"]: _tokens()[row["network"], row["address"].lower()] for row in listed
    }


@cache
def token_behaviours() -> Mapping[str, str]:
    """Return what tokens do beside moving what is transferred, by their ids: "takes" a
    part of it, or "rebases"; others do neither, as far as is known.
    """
    return {
        row["id"]: row["behaviour"] for row in rows(__package__, "token_behaviours")
    }


def is_currency_id(text: str) -> bool:
    """Return True if a text may be the id of a currency: only ASCII, since other
    letters can look like ASCII ones.
    """
    return text.isascii() and text.isprintable()


def find_currency(currency_id: str) -> Currency | None:
    """Return the currency with this id or alias, ignoring case; None if the tables have
    neither.
    """
    if not is_currency_id(currency_id):  # some letters are ASCII in lower case
        return None
    return _by_id().get(currency_id.lower())


def find_token(network: str, address: str) -> Currency | None:
    """Return the token at an address of a network; None if it is not in the token
    list.
    """
    return _tokens().get((network, address.lower()))


def tokens_at(address: str) -> tuple[Currency, ...]:
    """Return the tokens at an address, on any network."""
    return _by_address().get(address.lower(), ())


@cache
def native_currency(network: str) -> Currency | None:
    """Return the native currency of a network; None if it is not in the token list."""
    for currency in token_list().values():
        if currency.kind == "native" and currency.network == network:
            return currency
    return None


@cache
def _by_hash() -> Mapping[str, Currency]:
    return {
        currency_hash(each): each
        for each in token_list().values()
        if each.kind in {"fiat", "native"}
    }


def find_by_hash(digest: str) -> Currency | None:
    """Return the fiat or native currency that a hash in a conversion path stands for;
    None if it is not listed.
    """
    return _by_hash().get(digest.lower())


def lookalike_id(currency_id: str) -> str | None:
    """Return the id or alias that an unknown id is easily taken for, or None."""
    if find_currency(currency_id) is not None:
        return None
    ids = [currency.id for currency in token_list().values()]
    for known in (*ids, *currency_aliases()):
        if shape(known) == shape(currency_id):
            return known
    return None


@cache
def _by_id() -> Mapping[str, Currency]:
    return {
        **token_list(),
        **{alias.lower(): currency for alias, currency in currency_aliases().items()},
    }


@cache
def _tokens() -> Mapping[tuple[str, str], Currency]:
    return {
        (each.network, each.address.lower()): each
        for each in token_list().values()
        if each.kind == "erc20"
    }


@cache
def _by_address() -> Mapping[str, tuple[Currency, ...]]:
    return grouped((each.address.lower(), each) for each in _tokens().values())


def currency_hash(currency: Currency) -> str:
    """Return the hash that stands for a fiat or native currency in a conversion path:
    20 bytes as lower-case hex.

    These are the last bytes of keccak-256 over the lower-cased JSON of type and symbol
    (RequestNetwork, currency package). The network is not part of it, so a symbol has
    one hash on all networks.
    """
    kind = "ISO4217" if currency.kind == "fiat" else "ETH"
    hashed = f'{{"type":"{kind}","value":"{currency.symbol}"}}'.lower()
    return f"0x{keccak(hashed.encode())[-20:].hex()}"


def request_decimals(currency: Currency) -> int:
    """Return the decimals of an amount before conversion (RequestNetwork,
    ChainlinkConversionPath).
    """
    return {"fiat": 8, "native": 18}.get(currency.kind, currency.decimals)


_UNKNOWN = "unknown service"
"""The environment of a host that payerkit does not know: it may be a live one."""

_ENVIRONMENTS = {"sandbox": "a sandbox", "staging": "a staging environment"}
"""Services without consequences of their own, in words. Contracts and wallets know
nothing of them.
"""


def real_money_note(currency_id: str, environment: str | None) -> str:
    """Return a warning if a payment in a currency moves real money although the service
    is not live; "" otherwise.
    """
    currency = find_currency(currency_id)
    kind = "a token"
    if currency is None:
        name = visible(currency_id)
        network = network_in_id(currency_id)
    else:
        name = currency.id
        network = networks().get(currency.network)
        if currency.kind == "native":
            kind = "a coin"
    if network is None or network.is_test or environment in {None, "live", _UNKNOWN}:
        return ""
    return (
        f"{name} is {kind} of {network.title}, not of a test network: whoever signs"
        " this payment moves real money, although the service is"
        f" {_ENVIRONMENTS.get(str(environment), environment)}."
    )


@dataclass(frozen=True, slots=True)
class Deployment:
    """A contract at an address of a network; on another network the address can hold a
    different contract.
    """

    contract: str
    version: str
    network: str
    address: str


@cache
def current_versions() -> Mapping[str, str]:
    """Return the version of each contract that new payments use where a network has
    it.
    """
    return {
        row["contract"]: row["current_version"]
        for row in rows(__package__, "contracts")
    }


@cache
def deployments() -> Mapping[tuple[str, str], tuple[Deployment, ...]]:
    """Return the deployments by contract and network, the current version first."""
    current = current_versions()
    known = [Deployment(**row) for row in rows(__package__, "deployments")]
    known.sort(key=lambda each: (each.version != current[each.contract], each.version))
    return grouped(((each.contract, each.network), each) for each in known)


def find_deployment(contract: str, network: str) -> Deployment | None:
    """Return the deployment that new payments use on a network; None if the contract is
    not deployed there.
    """
    known = deployments().get((contract, network))
    return known[0] if known else None


_FEE_CONTRACTS = {"erc20": "ERC20FeeProxy", "native": "EthereumFeeProxy"}
"""The contract that pays in a currency of a kind; none is known for the other kinds."""


def is_payable(currency: Currency) -> bool:
    """Return True if a currency can pay: a payment contract for its kind is known on
    its network.
    """
    contract = _FEE_CONTRACTS.get(currency.kind)
    return (
        contract is not None and find_deployment(contract, currency.network) is not None
    )


@cache
def _deployments_by_address() -> Mapping[str, tuple[Deployment, ...]]:
    known = chain.from_iterable(deployments().values())
    return grouped((each.address.lower(), each) for each in known)


def deployments_at(address: str | None) -> tuple[Deployment, ...]:
    """Return the contracts deployed at an address, on any network."""
    return _deployments_by_address().get((address or "").lower(), ())
