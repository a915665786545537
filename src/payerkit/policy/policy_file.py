"""Reads the TOML file of a policy. Every mistake is an InvalidInput that names file, table and member."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from payerkit.errors import InvalidInput
from payerkit.html import visible
from payerkit.policy.address_book import AddressBook, KnownAddress
from payerkit.policy.further_tokens import read_token
from payerkit.policy.payment_policy import AcceptedAllowance, AgreedFee
from payerkit.policy.policy_lines import PERCENTAGES

_SETTINGS = (*PERCENTAGES, "address_book")
"""Members that stand above all tables."""

_ENTRIES: Mapping[str, Callable[..., Any]] = {
    "fees": AgreedFee,
    "allowances": AcceptedAllowance,
    "addresses": KnownAddress,
    "tokens": lambda **members: read_token(members),  # it checks the names itself
}
"""What makes an entry of each table, which begins with [[name]]."""

_REQUIRED = {
    "fees": ("address", "max_percent"),
    "allowances": ("token", "spender", "most"),  # a forgotten line must not be an unlimited allowance
    "addresses": ("address",),
}
"""What cannot be left out."""


def read_policy_file(path: Path) -> dict[str, Any]:
    """Return the arguments of a policy; in place of an address book, its entries."""
    content = _read_toml(path)
    for name in content:
        if name not in {*_SETTINGS, *_ENTRIES, "rates"}:
            known = f"{', '.join(_SETTINGS)}, {', '.join(f'[[{each}]]' for each in _ENTRIES)} and [rates]"
            raise InvalidInput(f"{path.name}: {visible(name)}: not a member of a policy. There are {known}.")
    entries = {name: _read_entries(path, name, content.get(name, [])) for name in _ENTRIES}
    settings: dict[str, Any] = {name: content[name] for name in PERCENTAGES if name in content}
    rates = _read_rates(path, content.get("rates", {}))
    book = _read_book(path, content["address_book"]) if "address_book" in content else ()
    own = (replace(each, source=f"[[addresses]] {number}") for number, each in enumerate(entries["addresses"], 1))
    has_book = "addresses" in content or "address_book" in content
    return {
        **entries,
        **settings,
        "rates": rates,
        "addresses": [*book, *own] if has_book else None,
    }


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig"), parse_float=Decimal)
    except OSError as error:
        problem = f"the file cannot be read ({error.strerror})"
    except tomllib.TOMLDecodeError as error:
        hint = ". Put all rates below one [rates]" if "('rates',) twice" in str(error) else ""
        problem = f"not valid TOML: {visible(str(error))}{hint}"
    except (ValueError, RecursionError):
        problem = "not valid UTF-8, nested too deeply, or with a number of too many digits"
    raise InvalidInput(f"{path.name}: {problem}.")


def _read_entries(path: Path, table: str, entries: Any) -> tuple[Any, ...]:
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise InvalidInput(f"{path.name}: {table}: expected tables. Write [[{table}]] above the members of each.")
    return tuple(_read_entry(path, table, number, entry) for number, entry in enumerate(entries, 1))


def _read_entry(path: Path, table: str, number: int, entry: Mapping[str, Any]) -> Any:
    where = f"{path.name}: [[{table}]] {number}"
    make = _ENTRIES[table]
    _check_settings(where, entry)
    if isinstance(make, type):
        _check_members(where, entry, [each.name for each in fields(make) if each.compare], _REQUIRED[table])
    try:
        return make(**entry)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error.message}") from None


def _check_settings(where: str, table: Mapping[str, Any]) -> None:
    """Raise InvalidInput for a setting below the line that begins a table: in TOML it is a member of the table."""
    for name in _SETTINGS:
        if name in table:
            raise InvalidInput(f"{where}: {name}: not a member. Move its line to the top of the file.")


def _check_members(where: str, entry: Mapping[str, Any], known: Collection[str], required: Collection[str]) -> None:
    for name in entry:
        if name not in known:
            raise InvalidInput(f"{where}: {visible(name)}: not a member. There are {', '.join(known)}.")
    for name in required:
        if name not in entry:
            raise InvalidInput(f"{where}: {name}: missing. Add it.")


def _read_rates(path: Path, rates: Any) -> dict[tuple[str, str], Any]:
    """Return rates by both ids; payment currency and invoice currency are separated by the last slash."""
    if not isinstance(rates, dict):
        raise InvalidInput(f"{path.name}: rates: expected a table. Write [rates] above its members.")
    _check_settings(f"{path.name}: [rates]", rates)
    found = {}
    for name, rate in rates.items():
        payment, slash, invoice = name.rpartition("/")
        if not slash or isinstance(rate, dict | list):
            example = '"ETH-sepolia-sepolia/USD" = "2500"'
            raise InvalidInput(f"{path.name}: [rates]: {visible(name)}: expected a rate, such as {example}.")
        found[payment, invoice] = rate
    return found


def _read_book(path: Path, name: Any) -> AddressBook:
    if not isinstance(name, str):
        raise InvalidInput(f"{path.name}: address_book: expected the path of a CSV file.")
    try:
        return AddressBook.read(path.parent / name)
    except InvalidInput as error:
        raise InvalidInput(f"{path.name}: address_book: {error.message}") from None
