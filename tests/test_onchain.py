"""The fact tables: complete, well-formed, looked up by id and by place."""

from __future__ import annotations

from typing import Any

import pytest
from eth_utils import is_checksum_address

from cases import table
from payerkit.payments.onchain.addresses import shape
from payerkit.payments.onchain.currencies import (
    Currency,
    Deployment,
    currency_aliases,
    current_versions,
    deployments,
    find_currency,
    find_deployment,
    network_in_id,
    networks,
    real_money_note,
    request_decimals,
    token_list,
)


def test_list_is_complete() -> None:
    """All 744 currencies of list 1.5.0 are there, by kind."""
    kinds = [currency.kind for currency in token_list().values()]

    assert {"erc20": 545, "fiat": 179, "native": 18, "trc20": 2} == {
        kind: kinds.count(kind) for kind in set(kinds)
    }


@table("currencies_found")
def test_currencies_are_found(
    asked: str,
    currency_id: str,
    kind: Any,
    network: str,
    symbol: str,
    decimals: str,
    address: str,
) -> None:
    """A currency is found by its id in any case, with its own decimals and address."""
    expected = Currency(currency_id, kind, network, symbol, int(decimals), address)

    assert [expected] * 3 == [
        find_currency(each) for each in (asked, asked.lower(), asked.upper())
    ]


@table("currencies_unknown")
def test_what_is_not_in_the_list_is_not_found(currency_id: str) -> None:
    """Ids that documentation quotes without an address are unknown, and so is what only
    looks like an id.
    """
    assert find_currency(currency_id) is None


def test_no_two_ids_look_alike() -> None:
    """So a new id that looks like a listed one can be refused: no honest one does."""
    ids = [*(each.id for each in token_list().values()), *currency_aliases()]

    assert len(ids) == len({shape(each) for each in ids})


@table("deployments_found")
def test_contracts_are_found_by_place(
    contract: str, network: str, version: str, address: str
) -> None:
    """The current version of a contract is used where it is, else the older one; a
    network without the contract has none.
    """
    found = find_deployment(contract, network)
    expected = Deployment(contract, version, network, address) if version else None

    assert expected == found


def test_addresses_are_checksummed() -> None:
    """Every address of the tables carries its EIP-55 checksum, but the one that the
    list has without.
    """
    addresses = {each.address for place in deployments().values() for each in place}
    addresses |= {
        currency.address
        for currency in token_list().values()
        if currency.kind == "erc20"
    }

    assert {"0x55d398326f99059ff775485246999027b3197955"} == {
        one for one in addresses if not is_checksum_address(one)
    }


def test_every_contract_has_a_current_version() -> None:
    """Every contract in the table has a current version."""
    assert {contract for contract, _ in deployments()} == set(current_versions())


@pytest.mark.parametrize(
    ("currency_id", "ticker"),
    [
        ("ETH-sepolia-sepolia", "ETH"),
        ("ETH-zksync-zksyncera", "ETH"),  # the symbol has not the name of the network
        ("MNT-testnet-mantle-testnet", "MNT"),
        ("USDC-multichain-moonbeam", "USDC-multichain"),  # another token than USDC
        ("USD", "USD"),
    ],
)
def test_a_coin_is_called_as_people_call_it(currency_id: str, ticker: str) -> None:
    """The list appends networks to the symbols of coins; a token's symbol is its
    own.
    """
    assert ticker == token_list()[currency_id.lower()].ticker


def test_networks_are_those_of_currencies_and_contracts() -> None:
    """A network in one of the tables has a row of its own, and no two have the same
    chain id.
    """
    listed = {
        currency.network
        for currency in token_list().values()
        if currency.kind != "fiat"
    }
    chain_ids = [
        network.chain_id for network in networks().values() if network.chain_id
    ]

    assert listed | {network for _, network in deployments()} == set(networks())
    assert len(chain_ids) == len(set(chain_ids))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("matic", "matic (Polygon, chain id 137)"),
        ("sepolia", "sepolia (chain id 11155111)"),  # its title is the name
        (
            "zksynceratestnet",
            "zksynceratestnet (zkSync Era Testnet)",
        ),  # the sources disagree about its chain id
    ],
)
def test_networks_have_the_names_that_wallets_show(name: str, words: str) -> None:
    """A user compares the network with what the wallet shows."""
    assert words == str(networks()[name])


@pytest.mark.parametrize(
    ("currency_id", "decimals"),
    [("USD", 8), ("JPY", 8), ("ETH-mainnet", 18), ("fUSDC-sepolia", 6)],
)
def test_amounts_before_conversion_have_decimals_of_their_own(
    currency_id: str, decimals: int
) -> None:
    """Conversion contracts take 8 decimals for fiat currencies, whatever the currency
    itself has.
    """
    currency = find_currency(currency_id)

    assert currency is not None
    assert decimals == request_decimals(currency)


def test_test_networks_are_told_from_those_with_real_money() -> None:
    """Every network is one or the other, and these ten are for tests."""
    test_networks = {name for name, network in networks().items() if network.is_test}
    words = {"alfajores", "goerli", "mumbai", "rinkeby", "sepolia", "test"}

    assert 10 == len(test_networks)
    assert test_networks == {
        name for name in networks() if any(word in name for word in words)
    }


@pytest.mark.parametrize(
    ("currency_id", "network"),
    [
        ("USDT0-arbitrum-one", "arbitrum-one"),  # newer than the token list
        ("NEW-base-sepolia", "base-sepolia"),  # and not sepolia
        ("ETH-mainnet", "mainnet"),
        ("mainnet", None),  # no id
        ("USD", None),
    ],
)
def test_an_id_names_its_network(currency_id: str, network: str | None) -> None:
    """The network of a currency that is not listed is read from the end of its id."""
    found = network_in_id(currency_id)

    assert network == (found.name if found else None)


@table("real_money")
def test_real_money_is_told(
    currency_id: str, environment: str | None, words: str
) -> None:
    """A payment on a network with real money is told of on any service that is not
    live; else nothing is said.
    """
    note = real_money_note(currency_id, environment)

    assert (bool(words), True) == (bool(note), words in note)
