"""Names of known wallets, and addresses that only look like one of them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from payerkit._tsv import grouped, rows
from payerkit.checks.inputs import is_blank
from payerkit.checks.texts import invisible
from payerkit.errors import InvalidInput, kind_of, located, without_internal_frames
from payerkit.findings import Finding, Findings, finding_of_kind
from payerkit.onchain.addresses import Lookalikes, are_alike, is_mixed, lookalikes, read_address, shape
from payerkit.onchain.currencies import networks
from payerkit.wording import count_of, listed, visible

if TYPE_CHECKING:
    import pandas as pd

    AddressSource = str | Path | pd.DataFrame | Mapping[str, str]

Role = Literal["payee", "operator"]
"""Whom an address belongs to: somebody whom orders name, or the operator, which pays out to bank accounts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAddress:
    """A wallet with its name.

    Attributes:
        address: With its EIP-55 checksum. Given in capitals and small letters, it must have the right checksum.
        name: What people call it; may be empty.
        network: Where it is known, as in currency ids, or by its chain id; None if it is known on every network.
        role: "payee", or "operator" for an address of the operator: only that is paid for a payout to a bank account.
        source: Where it was read, such as "book.csv, row 2"; "" if it was made in Python.

    Raises:
        InvalidInput: The address is malformed or mistyped, the network is neither a name nor a chain id, or the role is
            another word.

    Example:
        >>> known = KnownAddress(address="0x6923831acf5c327260d7ac7c9dff5b1c3cb3c7d7", name="Example Payee")
        >>> known.address, known.role
        ('0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7', 'payee')
    """

    address: str
    name: str = ""
    network: str | None = None
    role: Role = "payee"
    source: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        read_text(self.name, "name")
        if self.role not in ("payee", "operator"):
            raise InvalidInput('role: expected "payee" or "operator".')
        object.__setattr__(self, "address", read_address(self.address, "address"))
        object.__setattr__(self, "network", _read_network(self.network))


class AddressBook:
    """Known wallets with their names, for a `PaymentPolicy`.

    Args:
        entries: `KnownAddress` objects. `AddressBook.read` takes a file, a DataFrame or a dict.

    Attributes:
        findings: Warnings about entries that may be there to be taken for others: addresses and names that look alike,
            and invisible characters in names. A payment to such an address is for a person to look at.

    It can be iterated, has a length, and `address in book` is True for an address that is known on any network.

    Raises:
        InvalidInput: An entry is not a `KnownAddress`, or two of them have one name, but different addresses on a
            network. An operator may have several addresses.

    Example:
        >>> payee = KnownAddress(address="0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7", name="Example Payee")
        >>> book = AddressBook([payee])
        >>> book
        <AddressBook: 1 address>
        >>> [entry.name for entry in book]
        ['Example Payee']
    """

    def __init__(self, entries: Iterable[KnownAddress] = ()) -> None:
        self._entries = _checked(entries)
        self._by_address = grouped((entry.address.lower(), entry) for entry in self._entries)
        self._alike = Lookalikes(entries_of_one[0].address for entries_of_one in self._by_address.values())
        _check_names(self._entries)
        warned = [(_warning(code, about), about) for code, about in _confused(self._entries)]
        self.findings = Findings(finding for finding, _ in warned)
        self._warned = {entry.address: finding for finding, about in reversed(warned) for entry in about}

    @classmethod
    @without_internal_frames
    def read(cls, source: AddressSource) -> Self:
        """Read an address book.

        Args:
            source: The path of a CSV file with the columns `address`, `name` and `chainId`, as Safe exports it; a
                DataFrame with these columns, or with `network` in place of `chainId`; or a dict of names by address.
                Without a network, an address is known on every network. There may be a column `role`; an empty cell
                stands for "payee".

        Returns:
            The address book. Its `findings` warn of entries that may be taken for others.

        Raises:
            InvalidInput: The source cannot be read, a column is missing, a row has no address or network, or two
                networks, or two rows have one name, but different addresses on a network.

        Example:
            >>> rows = [("0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7", "Example Payee", 11155111)]
            >>> pd.DataFrame(rows, columns=["address", "name", "chainId"]).to_csv("addresses.csv", index=False)
            >>> AddressBook.read("addresses.csv")
            <AddressBook: 1 address>
        """
        if isinstance(source, str | Path):
            return cls(_read_csv(Path(source)))
        if isinstance(source, Mapping):
            return cls(_entries("addresses", ["address", "name"], enumerate(source.items(), 1)))
        if hasattr(source, "columns"):
            rows = enumerate(source.itertuples(index=False, name=None), 1)
            return cls(_entries("addresses", [*source.columns], rows))
        raise InvalidInput(f"addresses: give a path, a DataFrame or a dict of names by address; got {kind_of(source)}.")

    def find(self, address: str | None, network: str | None) -> KnownAddress | None:
        """Return the entry of an address.

        Args:
            address: In any case.
            network: The network on which it must be known; None for an unknown network, on which only entries without
                a network count.

        Returns:
            The entry for this network, otherwise the one for every network, otherwise None.

        Example:
            >>> book = AddressBook.read({"0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7": "Example Payee"})
            >>> book.find("0x6923831acf5c327260d7ac7c9dff5b1c3cb3c7d7", "sepolia").name
            'Example Payee'
        """
        found = [each for each in self.entries(address) if each.network in {None, network}]
        return min(found, key=lambda each: each.network is None, default=None)

    def lookalike(self, address: str | None) -> KnownAddress | None:
        """Return a known address that an address is easily taken for.

        Args:
            address: In any case.

        Returns:
            A known address, if it begins and ends like the given one, or differs from it in a few digits; None
            otherwise, and for an address that is itself known on any network.

        Example:
            >>> book = AddressBook.read({"0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7": "Example Payee"})
            >>> book.lookalike("0x692300000000000000000000000000000000C7D7").name
            'Example Payee'
        """
        if address is None or self.entries(address):
            return None
        return next((self.entries(each)[0] for each in self._alike.near(address) if are_alike(address, each)), None)

    def entries(self, address: str | None) -> Sequence[KnownAddress]:
        """Return the entries of an address in any case, on all networks."""
        return self._by_address.get((address or "").lower(), ())

    def warning(self, address: str) -> Finding | None:
        """Return the first of the `findings` about an address, in any case, or None."""
        return next((self._warned.get(each.address) for each in self.entries(address)), None)

    def __contains__(self, address: object) -> bool:
        return isinstance(address, str) and address.lower() in self._by_address

    def __iter__(self) -> Iterator[KnownAddress]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        warned = f", {count_of(len(self.findings), 'warning')}" if self.findings else ""
        return f"<AddressBook: {len(self)} address{'es' * (len(self) != 1)}{warned}>"


def read_text(value: object, name: str) -> str:
    """Return text. Raises InvalidInput for any other value. name: of what it is given for."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name}: expected text, got {kind_of(value)}.")
    return value


def _checked(entries: Iterable[KnownAddress]) -> tuple[KnownAddress, ...]:
    found = tuple(entries)
    for each in found:
        if not isinstance(each, KnownAddress):
            raise InvalidInput(f"addresses: expected KnownAddress objects; got {kind_of(each)}. Use AddressBook.read.")
    return tuple(each if each.source else replace(each, source=f"entry {n}") for n, each in enumerate(found, 1))


def _check_names(entries: Iterable[KnownAddress]) -> None:
    """Raise InvalidInput for one name with two addresses on a network; an operator may have one for each quote."""
    by_name = grouped((" ".join(entry.name.casefold().split()), entry) for entry in entries)
    for one, other in (pair for name, alike in by_name.items() if name for pair in combinations(alike, 2)):
        is_one_network = one.network == other.network or None in (one.network, other.network)
        if one.address != other.address and is_one_network and {one.role, other.role} != {"operator"}:
            places = f"{one.source} and {other.source}"
            raise InvalidInput(f"addresses: {places} have one name, but different addresses on a network. Correct one.")


def _confused(entries: Sequence[KnownAddress]) -> Iterator[tuple[str, tuple[KnownAddress, ...]]]:
    """Yield the entries that may be taken for others, each with the code of the warning."""
    by_address = {entry.address: entry for entry in reversed(entries)}
    for one, other in lookalikes(entry.address for entry in entries):
        yield "address_lookalike", (by_address[one], by_address[other])
    by_shape: dict[str, dict[str, KnownAddress]] = {}
    for entry in entries:
        by_shape.setdefault(shape(entry.name), {}).setdefault(entry.name.casefold(), entry)
        yield from ((code, (entry,)) for code, is_odd in _ODD_NAMES.items() if is_odd(entry.name))
    for first, *others in (tuple(alike.values()) for name, alike in by_shape.items() if name):
        yield from (("name_lookalike", (first, each)) for each in others if each.address != first.address)


_ODD_NAMES = {"name_letters": is_mixed, "name_invisible": invisible}
"""What is odd about one name alone."""


def _warning(code: str, about: Iterable[KnownAddress]) -> Finding:
    (kind,) = (each for each in rows(__package__, "book_warnings") if each["code"] == code)
    places, addresses = listed(each.source for each in about), listed(each.address for each in about)
    return finding_of_kind(kind, code, kind["field"], places=places, addresses=addresses)


def _read_csv(path: Path) -> list[KnownAddress]:
    """Return the entries of a CSV file. Raises InvalidInput."""
    where = visible(path.name)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            columns, *lines = [*csv.reader(file)] or [[]]
    except OSError as error:
        raise InvalidInput(f"{where} cannot be read ({error.strerror}).") from None
    except (ValueError, csv.Error) as error:
        raise InvalidInput(f"{where} is not a CSV file in UTF-8 ({error}).") from None
    return _entries(where, columns, [(number, cells) for number, cells in enumerate(lines, 2) if cells])


def _entries(where: str, columns: list[Any], lines: Iterable[tuple[int, Sequence[Any]]]) -> list[KnownAddress]:
    """Return the entries of a table, whose lines have numbers. Raises InvalidInput."""
    for name in ("address", "name"):
        if name not in columns:
            raise InvalidInput(f"{where}: the column {name} is missing. There should be address, name and chainId.")
    for group in (("address",), ("name",), ("role",), _NETWORK_COLUMNS):
        if sum(map(columns.count, group)) > 1:
            raise InvalidInput(f"{where}: there are several columns {' or '.join(group)}. Keep one of them.")
    entries = []
    for number, cells in lines:
        source = f"{where}, row {number}"
        with located(source):
            if len(cells) != len(columns):
                raise InvalidInput("it has more or fewer cells than there are columns.")
            row = dict(zip(columns, cells, strict=True))
            where_known = next((row[each] for each in _NETWORK_COLUMNS if each in row), None)
            role: Any = _text(row.get("role")) or "payee"
            known = {"name": _text(row["name"]), "network": where_known, "role": role}
            entries.append(KnownAddress(address=row["address"], source=source, **known))
    return entries


_NETWORK_COLUMNS = ("network", "chainId", "chain_id")
"""The names of the column with the network, in any of its forms."""


def _text(value: Any) -> str:
    """Return a cell's text; "" for an empty cell."""
    return "" if is_blank(value) else str(value)


def _read_network(value: Any) -> str | None:
    """Return a network by its name, or by its chain id if it has no name here. Raises InvalidInput."""
    if is_blank(value) or value == "":
        return None
    if isinstance(value, str) and value in networks():
        return value
    text = str(value).removesuffix(".0")  # a column of numbers with an empty cell is one of floats
    if text.isascii() and text.isdigit() and len(text) <= 18:
        return next((each.name for each in networks().values() if each.chain_id == int(text)), str(int(text)))
    raise InvalidInput('network: expected a name as in currency ids, such as "sepolia", or a chain id.')
