"""The address book: read from Safe's CSV, a frame or a dict; names by network, and look-alikes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from payerkit.errors import InvalidInput
from payerkit.policy.address_book import AddressBook, KnownAddress

PAYEE = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
LOOKALIKE = "0x6923" + "0" * 32 + "c7d7"
OTHER = "0x1111111111111111111111111111111111111111"


def test_the_book_of_a_safe_is_read(tmp_path: Path) -> None:
    """Safe exports address, name and chainId; the chain id becomes the network's name, if it has one here."""
    file = tmp_path / "addresses.csv"
    file.write_text(f'\ufeffaddress,name,chainId\r\n{PAYEE},"Payee, Example",137\r\n{OTHER},Linea,59144\r\n', "utf-8")
    first, second = AddressBook.read(file)

    assert KnownAddress(address=PAYEE, name="Payee, Example", network="matic") == first
    assert KnownAddress(address=OTHER, name="Linea", network="59144") == second


SOURCES = [
    ("a dict", {PAYEE.lower(): "Example Payee"}, None),
    ("a frame without networks", pd.DataFrame({"address": [PAYEE], "name": ["Example Payee"]}), None),
    ("names of networks", pd.DataFrame({"address": [PAYEE], "name": ["Example Payee"], "network": ["base"]}), "base"),
    ("chain ids", pd.DataFrame({"address": [PAYEE], "name": ["Example Payee"], "chainId": [8453]}), "base"),
    (
        "text",
        pd.DataFrame({"address": [PAYEE], "name": ["Example Payee"], "chain_id": ["8453"]}, dtype="string"),
        "base",
    ),
    ("floats", pd.DataFrame({"address": [PAYEE], "name": ["Example Payee"], "chainId": [8453.0]}), "base"),
    (
        "two columns of networks",
        pd.DataFrame({"address": [PAYEE], "name": ["Example Payee"], "network": [""], "chainId": ["8453"]}),
        "base",
    ),
    ("an empty cell", pd.DataFrame({"address": [PAYEE], "name": ["Example Payee"], "network": [pd.NA]}), None),
    ("NaN", pd.DataFrame({"address": [PAYEE], "name": ["Example Payee"], "chainId": [float("nan")]}), None),
]


@pytest.mark.parametrize(("source", "network"), [row[1:] for row in SOURCES], ids=[row[0] for row in SOURCES])
def test_frames_and_dicts_are_read(source: Any, network: str | None) -> None:
    """However a table holds its networks, an entry has the address with its checksum, the name and the network."""
    assert [KnownAddress(address=PAYEE, name="Example Payee", network=network)] == [*AddressBook.read(source)]


MISTAKES = [
    ("a missing column", "address,chainId\n", "book.csv: the column name is missing"),
    ("no header", f"{PAYEE},Example,1\n", "book.csv: the column address is missing"),
    ("an empty file", "", "book.csv: the column address is missing"),
    ("a short address", "address,name,chainId\n0x12,Example,1\n", "book.csv, row 2: address: expected an address"),
    (
        "a mistyped address",
        f"address,name\n{PAYEE},A\n{PAYEE.replace('ACf', 'aCf')},B\n",
        "row 3: address: the capital",
    ),
    ("a chain by name", f"address,name,chainId\n{PAYEE},Example,polygon\n", "row 2: network: expected a name"),
    ("empty cells", "address,name,chainId\n,,\n", "row 2: address: expected an address"),
    ("a row without its chain", f"address,name,chainId\n\n{PAYEE},Example\n", "row 3: it has more or fewer cells"),
    ("a name with a comma", f"address,name,chainId\n{PAYEE},Example, Ltd,1\n", "row 2: it has more or fewer cells"),
    ("two columns of addresses", f"address,address,name\n{PAYEE},{OTHER},x\n", "book.csv: there are 2 columns address"),
]


@pytest.mark.parametrize(("text", "message"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES])
def test_every_mistake_in_a_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    """An InvalidInput names the file and the row, and never the name of a person."""
    file = tmp_path / "book.csv"
    file.write_text(text, "utf-8")

    with pytest.raises(InvalidInput, match=message) as caught:
        AddressBook.read(file)
    assert "Example" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"), [(None, "cannot be read"), (b"address,name\n\xff,x", "is not UTF-8")], ids=["gone", "latin"]
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    """A missing file, and one in another encoding, are InvalidInput."""
    file = tmp_path / "book.csv"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(InvalidInput, match=f"addresses: book.csv {message}"):
        AddressBook.read(file)


@pytest.mark.parametrize("wrong", [None, 5, [PAYEE]])
def test_anything_else_is_refused(wrong: Any) -> None:
    """An address book is a file, a frame or a dict."""
    with pytest.raises(InvalidInput, match="addresses: give a path, a DataFrame or a dict"):
        AddressBook.read(wrong)


def test_entries_are_known_addresses() -> None:
    """A dict is for `read`; its keys alone have no names."""
    with pytest.raises(InvalidInput, match="addresses: expected KnownAddress objects; got a str"):
        AddressBook({PAYEE: "Example Payee"})  # type: ignore[dict-item]


def test_a_path_that_no_file_can_have_is_refused() -> None:
    """The system refuses it in another way than a missing file."""
    with pytest.raises(InvalidInput, match="is no name of a file"):
        AddressBook.read("a\0b")


def test_a_name_holds_on_its_network() -> None:
    """An address can be another wallet on another network; an entry of this network wins over one of all."""
    book = AddressBook(
        [
            KnownAddress(address=PAYEE, name="anywhere"),
            KnownAddress(address=PAYEE, name="here", network="sepolia"),
            KnownAddress(address=OTHER, name="there", network="base"),
        ]
    )
    asked = [
        (PAYEE.lower(), "sepolia"),
        (PAYEE, "base"),
        (PAYEE, None),
        (OTHER, "base"),
        (OTHER, "sepolia"),
        (None, None),
    ]
    found = [book.find(*each) for each in asked]

    assert ["here", "anywhere", "anywhere", "there", None, None] == [each and each.name for each in found]


def test_a_book_tells_what_it_holds() -> None:
    """An address is in the book if it is known on any network, in any case."""
    book = AddressBook([KnownAddress(address=PAYEE, network="base")])

    assert [True, False, False] == [each in book for each in (PAYEE.lower(), OTHER, None)]
    assert (1, True) == (len(book), book == AddressBook([*book]))


def test_a_lookalike_is_another_address_with_the_same_ends() -> None:
    """Wallets show the first and last four digits only, so that is what an attacker copies."""
    book = AddressBook.read({PAYEE: "Example Payee"})
    found = [book.lookalike(each) for each in (LOOKALIKE, PAYEE.lower(), OTHER, "0x", None)]

    assert ["Example Payee", None, None, None, None] == [each and each.name for each in found]


def test_two_known_addresses_with_the_same_ends_are_no_lookalikes() -> None:
    """What the user knows is not an attack, also if it is known on another network."""
    known = KnownAddress(address=LOOKALIKE, name="Mine, too", network="base")

    assert AddressBook([KnownAddress(address=PAYEE), known]).lookalike(LOOKALIKE) is None


def test_a_book_shows_no_names() -> None:
    """A notebook saves what it shows."""
    book = AddressBook.read({PAYEE: "Example Payee"})

    assert "<AddressBook: 1 address>" == repr(book)
    assert "<AddressBook: 0 addresses>" == str(AddressBook())
