"""Names of known wallets, and addresses that only look like one of them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator

from payerkit._tsv import grouped, rows
from payerkit.cells import is_blank
from payerkit.errors import InvalidInput, kind_of, located
from payerkit.findings import Finding, Findings, finding_of_kind
from payerkit.payments.onchain.addresses import (
    Lookalikes,
    are_alike,
    lookalikes,
    shape,
)
from payerkit.payments.onchain.currencies import networks
from payerkit.payments.policy_model import Address, PolicyModel
from payerkit.wording import count_of, listed, visible

if TYPE_CHECKING:
    import pandas as pd

    AddressSource = str | Path | pd.DataFrame | Mapping[str, str]

Role = Literal["payee", "operator"]
"""Whom an address belongs to: somebody whom orders name, or the operator, which pays
out to bank accounts.
"""


def _read_network(value: object) -> str | None:
    """Return a network by its name, or by its chain id if it has no name here. Raises
    InvalidInput.
    """
    if is_blank(value) or value == "":
        return None
    if isinstance(value, str) and value in networks():
        return value
    # A column of numbers with an empty cell is one of floats.
    text = str(value).removesuffix(".0")
    if text.isascii() and text.isdigit() and len(text) <= 18:
        for network in networks().values():
            if network.chain_id == int(text):
                return network.name
        return str(int(text))
    raise InvalidInput(
        'network: expected a name as in currency ids, such as "sepolia", or a chain id.'
    )


class KnownAddress(PolicyModel):
    """A wallet with its name.

    Attributes:
        address: With its EIP-55 checksum. Given in capitals and small letters, it must
            have the right checksum.
        name: What people call it; may be empty.
        network: Where it is known, as in currency ids, or by its chain id; None if it
            is known on every network.
        role: "payee", or "operator" for an address of the operator: only that is paid
            for a payout to a bank account.

    Raises:
        InvalidInput: The address is malformed or mistyped, the network is neither a
            name nor a chain id, or the role is another word.

    Example:
        >>> known = KnownAddress(
        ...     address="0x6923831acf5c327260d7ac7c9dff5b1c3cb3c7d7",
        ...     name="Example Payee",
        ... )
        >>> known.address, known.role
        ('0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7', 'payee')
    """

    address: Address
    name: str = ""
    network: Annotated[str | None, BeforeValidator(_read_network)] = None
    role: Role = "payee"


class _Entries(PolicyModel):
    """The entries of an address book, as objects or as dicts of their members."""

    addresses: tuple[KnownAddress, ...]


class AddressBook:
    """Known wallets with their names, for a `PaymentPolicy`.

    Args:
        entries: `KnownAddress` objects, or dicts of their members. `AddressBook.read`
            takes a file, a DataFrame or a dict of names.
        places: Where each was read, such as "book.csv, row 2", for messages.

    Attributes:
        places: Where each was read; "entry 1" and so on if it was made in Python.
        findings: Warnings about entries that may be there to be taken for others:
            addresses or names that look alike. A payment to such an address is for a
            person to look at.

    It can be iterated, has a length, and `address in book` is True for an address that
    is known on any network.

    Raises:
        InvalidInput: An entry is wrong, or two of them have one name, but different
            addresses on a network. An operator may have several addresses.

    Example:
        >>> payee = KnownAddress(
        ...     address="0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
        ...     name="Example Payee",
        ... )
        >>> book = AddressBook([payee])
        >>> book
        <AddressBook: 1 address>
        >>> [entry.name for entry in book]
        ['Example Payee']
    """

    def __init__(
        self,
        entries: Iterable[KnownAddress | dict[str, Any]] = (),
        *,
        places: Iterable[str] = (),
    ) -> None:
        self._entries = _Entries(addresses=entries).addresses
        self.places = tuple(places)
        if not self.places:
            count = len(self._entries)
            self.places = tuple(f"entry {number}" for number in range(1, count + 1))
        self._by_address = grouped(
            (entry.address.lower(), entry) for entry in self._entries
        )
        self._alike = Lookalikes(
            entries_of_one[0].address for entries_of_one in self._by_address.values()
        )
        lines = [*zip(self.places, self._entries, strict=True)]
        _check_names(lines)
        self._warned: dict[str, Finding] = {}
        findings = []
        for code, about in _confused(lines):
            finding = _warning(code, about)
            findings.append(finding)
            for _, entry in about:
                self._warned.setdefault(entry.address, finding)
        self.findings = Findings(findings)

    @classmethod
    def read(cls, source: AddressSource) -> Self:
        """Read an address book.

        Args:
            source: The path of a CSV file with the columns `address`, `name` and
                `chainId`, as Safe exports it; a DataFrame with these columns, or with
                `network` in place of `chainId`; or a dict of names by address. Without
                a network, an address is known on every network. There may be a column
                `role`; an empty cell stands for "payee".

        Returns:
            The address book. Its `findings` warn of entries that may be taken for
            others.

        Raises:
            InvalidInput: The source cannot be read, a column is missing, a row has no
                address or network, or two networks, or two rows have one name, but
                different addresses on a network.

        Example:
            >>> rows = [
            ...     (
            ...         "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
            ...         "Example Payee",
            ...         11155111,
            ...     )
            ... ]
            >>> pd.DataFrame(rows, columns=["address", "name", "chainId"]).to_csv(
            ...     "addresses.csv", index=False
            ... )
            >>> AddressBook.read("addresses.csv")
            <AddressBook: 1 address>
        """
        if isinstance(source, str | Path):
            return cls._of(_read_csv(Path(source)))
        if isinstance(source, Mapping):
            lines = enumerate(source.items(), 1)
            return cls._of(_entries("addresses", ["address", "name"], lines))
        if hasattr(source, "columns"):
            rows = enumerate(source.itertuples(index=False, name=None), 1)
            return cls._of(_entries("addresses", [*source.columns], rows))
        raise InvalidInput(
            "addresses: give a path, a DataFrame or a dict of names by address; got"
            f" {kind_of(source)}."
        )

    @classmethod
    def _of(cls, lines: Sequence[BookLine]) -> Self:
        return cls([entry for _, entry in lines], places=[place for place, _ in lines])

    def find(self, address: str | None, network: str | None) -> KnownAddress | None:
        """Return the entry of an address.

        Args:
            address: In any case.
            network: The network on which it must be known; None for an unknown network,
                on which only entries without a network count.

        Returns:
            The entry for this network, otherwise the one for every network, otherwise
            None.

        Example:
            >>> book = AddressBook.read(
            ...     {"0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7": "Example Payee"}
            ... )
            >>> book.find("0x6923831acf5c327260d7ac7c9dff5b1c3cb3c7d7", "sepolia").name
            'Example Payee'
        """
        everywhere = None
        for entry in self.entries(address):
            if entry.network is None:
                everywhere = everywhere or entry
            elif entry.network == network:
                return entry
        return everywhere

    def lookalike(self, address: str | None) -> KnownAddress | None:
        """Return a known address that an address is easily taken for.

        Args:
            address: In any case.

        Returns:
            A known address, if it begins and ends like the given one, or differs from
            it in a few digits; None otherwise, and for an address that is itself known
            on any network.

        Example:
            >>> book = AddressBook.read(
            ...     {"0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7": "Example Payee"}
            ... )
            >>> book.lookalike("0x692300000000000000000000000000000000C7D7").name
            'Example Payee'
        """
        if address is None or self.entries(address):
            return None
        for known in self._alike.near(address):
            if are_alike(address, known):
                return self.entries(known)[0]
        return None

    def entries(self, address: str | None) -> Sequence[KnownAddress]:
        """Return the entries of an address in any case, on all networks."""
        return self._by_address.get((address or "").lower(), ())

    def warning(self, address: str) -> Finding | None:
        """Return the first of the `findings` about an address, in any case, or None."""
        entries = self.entries(address)
        return self._warned.get(entries[0].address) if entries else None

    def __contains__(self, address: object) -> bool:
        return isinstance(address, str) and address.lower() in self._by_address

    def __iter__(self) -> Iterator[KnownAddress]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        warned = f", {count_of(len(self.findings), 'warning')}" if self.findings else ""
        return f"<AddressBook: {len(self)} address{'es' * (len(self) != 1)}{warned}>"


BookLine = tuple[str, KnownAddress]
"""An entry with the place where it was read."""


def _check_names(lines: Iterable[BookLine]) -> None:
    """Raise InvalidInput for one name with two addresses on a network; an operator may
    have one for each quote.
    """
    by_name = grouped(
        (" ".join(entry.name.casefold().split()), (place, entry))
        for place, entry in lines
    )
    by_name.pop("", None)
    for alike in by_name.values():
        for (place, one), (other_place, other) in combinations(alike, 2):
            if _contradict(one, other):
                raise InvalidInput(
                    f"addresses: {place} and {other_place} have one name, but different"
                    " addresses on a network. Correct one."
                )


def _contradict(one: KnownAddress, other: KnownAddress) -> bool:
    if one.address == other.address or one.role == other.role == "operator":
        return False
    return one.network == other.network or None in {one.network, other.network}


def _confused(lines: Sequence[BookLine]) -> Iterator[tuple[str, tuple[BookLine, ...]]]:
    """Yield the entries that may be taken for others, each with the code of the
    warning.
    """
    by_address: dict[str, BookLine] = {}
    for line in lines:
        by_address.setdefault(line[1].address, line)
    for one, other in lookalikes(entry.address for _, entry in lines):
        yield "address_lookalike", (by_address[one], by_address[other])
    by_shape: dict[str, dict[str, BookLine]] = {}
    for line in lines:
        name = line[1].name
        by_shape.setdefault(shape(name), {}).setdefault(name.casefold(), line)
    by_shape.pop("", None)
    for alike in by_shape.values():
        first, *following = alike.values()
        for line in following:
            if first[1].address != line[1].address:
                yield "name_lookalike", (first, line)


def _warning(code: str, about: Iterable[BookLine]) -> Finding:
    (kind,) = (
        each for each in rows(__package__, "book_warnings") if each["code"] == code
    )
    places = listed(place for place, _ in about)
    addresses = listed(entry.address for _, entry in about)
    return finding_of_kind(
        kind, code, kind["field"], places=places, addresses=addresses
    )


def _read_csv(path: Path) -> list[BookLine]:
    """Return the entries of a CSV file. Raises InvalidInput."""
    where = visible(path.name)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            columns, *lines = [*csv.reader(file)] or [[]]
    except OSError as error:
        raise InvalidInput(f"{where} cannot be read ({error.strerror}).") from None
    except (ValueError, csv.Error) as error:
        raise InvalidInput(f"{where} is not a CSV file in UTF-8 ({error}).") from None
    numbered = [(number, cells) for number, cells in enumerate(lines, 2) if cells]
    return _entries(where, columns, numbered)


def _entries(
    where: str, columns: list[str], lines: Iterable[tuple[int, Sequence[Any]]]
) -> list[BookLine]:
    """Return the entries of a table, whose lines have numbers. Raises InvalidInput."""
    members = [_MEMBERS.get(str(column), "") for column in columns]
    for name in ("address", "name"):
        if name not in members:
            raise InvalidInput(
                f"{where}: the column {name} is missing. There should be address, name"
                " and chainId."
            )
    for name in _MEMBERS.values():
        if members.count(name) > 1:
            raise InvalidInput(
                f"{where}: there are several columns with the {name}. Keep one of them."
            )
    return [
        (f"{where}, row {number}", _entry(f"{where}, row {number}", members, cells))
        for number, cells in lines
    ]


def _entry(place: str, members: list[str], cells: Sequence[Any]) -> KnownAddress:
    """Return the entry of a line. Raises InvalidInput."""
    with located(place):
        if len(cells) != len(members):
            raise InvalidInput("it has more or fewer cells than there are columns.")
        given = {
            member: cell
            for member, cell in zip(members, cells, strict=True)
            if member and not is_blank(cell) and cell != ""
        }
        return KnownAddress(**given)


_MEMBERS = {
    "address": "address",
    "name": "name",
    "network": "network",
    "chainId": "network",
    "chain_id": "network",
    "role": "role",
}
"""The columns that are read, and the members of an entry that they hold."""
