"""The address book: read from Safe's CSV, a frame or a dict; names by network, and
look-alikes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import table
from example_addresses import OTHER, PAYEE
from payerkit import InvalidInput
from payerkit.payments import AddressBook, KnownAddress
from payerkit.payments.onchain.addresses import are_alike, lookalikes

LOOKALIKE = "0x6923" + "0" * 32 + "c7d7"


def test_the_book_of_a_safe_is_read(tmp_path: Path) -> None:
    """Safe exports address, name and chainId; the chain id becomes the network's name,
    if it has one here.
    """
    file = tmp_path / "addresses.csv"
    file.write_text(
        f'\ufeffaddress,name,chainId\r\n{PAYEE},"Payee,'
        f' Example",137\r\n{OTHER},Linea,59144\r\n',
        "utf-8",
    )
    first, second = AddressBook.read(file)

    assert KnownAddress(address=PAYEE, name="Payee, Example", network="matic") == first
    assert KnownAddress(address=OTHER, name="Linea", network="59144") == second


def frame(dtype: Any = None, **places: Any) -> pd.DataFrame:
    """Return a frame of one entry with these further columns."""
    return pd.DataFrame(
        {"address": [PAYEE], "name": ["Example Payee"], **places}, dtype=dtype
    )


@pytest.mark.parametrize(
    ("source", "network"),
    [
        ({PAYEE.lower(): "Example Payee"}, None),
        (frame(), None),
        (frame(network=["base"]), "base"),
        (frame(chainId=[8453]), "base"),
        (frame("string", chain_id=["8453"]), "base"),
        (frame(chainId=[8453.0]), "base"),
        (frame(network=[pd.NA]), None),
        (
            frame(network=["zksynceratestnet"]),
            "zksynceratestnet",
        ),  # whose chain id is disputed
        (frame(chainId=[float("nan")]), None),
    ],
    ids=lambda value: str(value) if isinstance(value, str | None) else " ".join(value),
)
def test_frames_and_dicts_are_read(source: Any, network: str | None) -> None:
    """However a table holds its networks, an entry has the address with its checksum,
    the name and the network.
    """
    assert [KnownAddress(address=PAYEE, name="Example Payee", network=network)] == [
        *AddressBook.read(source)
    ]


@table("address_book_mistakes")
def test_every_mistake_in_a_file_is_named(
    tmp_path: Path, lines: list[str], message: str
) -> None:
    """An InvalidInput names the file and the row, and never the name of a person."""
    file = tmp_path / "book.csv"
    file.write_text("\n".join(lines), "utf-8")

    with pytest.raises(InvalidInput, match=message) as caught:
        AddressBook.read(file)
    assert "Example" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("none.csv", r"none.csv cannot be read"),
        ("latin.csv", r"latin.csv is not a CSV file in UTF-8"),
        (
            "a\0b",
            "is not a CSV file",
        ),  # the system refuses it in another way than a missing file
        (None, "addresses: give a path, a DataFrame or a dict"),
        ([PAYEE], "addresses: give a path, a DataFrame or a dict"),
    ],
)
def test_a_source_that_cannot_be_read_is_named(
    source: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address book is a file in UTF-8, a frame or a dict."""
    monkeypatch.chdir(tmp_path)
    Path("latin.csv").write_bytes(b"address,name\n\xff,x")

    with pytest.raises(InvalidInput, match=message):
        AddressBook.read(source)


def test_entries_are_known_addresses() -> None:
    """A dict is for `read`; its keys alone have no names."""
    with pytest.raises(InvalidInput, match="addresses: expected a list"):
        AddressBook({PAYEE: "Example Payee"})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("address", "network", "name"),
    [
        (PAYEE.lower(), "sepolia", "here"),
        (PAYEE, "base", "anywhere"),
        (PAYEE, None, "anywhere"),
        (OTHER, "base", "there"),
        (OTHER, "sepolia", None),
        (None, None, None),
    ],
)
def test_a_name_holds_on_its_network(
    address: str | None, network: str | None, name: str | None
) -> None:
    """An address can be another wallet on another network; an entry of this network
    wins over one of all.
    """
    book = AddressBook(
        [
            KnownAddress(address=PAYEE, name="anywhere"),
            KnownAddress(address=PAYEE, name="here", network="sepolia"),
            KnownAddress(address=OTHER, name="there", network="base"),
        ]
    )
    found = book.find(address, network)

    assert name == (found and found.name)
    assert (address is not None) == (address in book)


def test_a_lookalike_is_another_address_with_the_same_ends() -> None:
    """Wallets show the first and last four digits only, so an attacker copies these;
    what is known is no attack.
    """
    known = KnownAddress(address=PAYEE, name="Example Payee")
    book, knows_both = (
        AddressBook([known]),
        AddressBook([known, KnownAddress(address=LOOKALIKE, network="base")]),
    )

    assert [known, None, None, None, None] == [
        book.lookalike(each) for each in (LOOKALIKE, PAYEE, OTHER, "0x", None)
    ]
    assert knows_both.lookalike(LOOKALIKE) is None


def test_roles_are_read() -> None:
    """A column says which addresses are the operator's; an empty cell stands for a
    payee, as a missing column does.
    """
    known = {"address": [PAYEE, OTHER, LOOKALIKE], "name": ["A", "B", "C"]}
    with_roles = pd.DataFrame({**known, "role": ["operator", "", pd.NA]})

    assert ["operator", "payee", "payee"] == [
        each.role for each in AddressBook.read(with_roles)
    ]
    assert {"payee"} == {each.role for each in AddressBook.read(pd.DataFrame(known))}


@table("address_book_entries")
def test_entries_that_may_be_taken_for_others_are_warned_of(
    entries: list[list[Any]], warnings: list[str]
) -> None:
    """Somebody may have put one there to be paid by mistake; honest names of all
    languages are names.
    """
    book = AddressBook(
        KnownAddress(address=address, name=name, network=network)
        for address, name, network in entries
    )
    told = [f"{each.severity} {each.code}: {each.message}" for each in book.findings]

    assert len(warnings) == len(told)
    assert all(
        text.startswith(f"warning {start}")
        for start, text in zip(warnings, told, strict=True)
    )
    assert "Example" not in f"{book!r}{book.findings}"
    assert book.warning(entries[-1][0]) == next(iter(book.findings), None)


def test_a_book_tells_how_much_it_holds() -> None:
    """Its representation, which a notebook saves, has numbers and no names."""
    book = AddressBook(
        KnownAddress(address=each, name=f"N{each}")
        for each in (PAYEE, OTHER, LOOKALIKE)
    )

    assert ("<AddressBook: 3 addresses, 1 warning>", 3) == (repr(book), len(book))
    assert "<AddressBook: 1 address>" == repr(
        AddressBook.read({PAYEE: "Example Payee"})
    )


@table("addresses_alike")
def test_what_looks_alike(one: str, other: str, is_alike: bool) -> None:
    """Equal ends or few changed digits; the beginning counts as it is shown, and
    without the zeros in front, which people do not count.
    """
    book = AddressBook([KnownAddress(address=one.lower())])

    assert is_alike == are_alike(one, other) == are_alike(other, one)
    assert is_alike == (book.lookalike(other) is not None)
    assert ([(one, other)] if is_alike else []) == [*lookalikes([one, other])]


@given(
    st.dictionaries(
        st.integers(2, 41), st.sampled_from("0123456789abcdef"), max_size=4
    ),
    st.sampled_from(
        [
            PAYEE.lower(),
            "0xabcdef0123456789abcdef0123456789abcdef01",
            "0x00000000" + "a1b2c3d4" * 4,
        ]
    ),
)
def test_the_index_finds_every_address_with_few_changes(
    changes: dict[int, str], known: str
) -> None:
    """However the changed digits lie, the address is found among many."""
    book = AddressBook(
        KnownAddress(address=each) for each in (OTHER, known, "0x" + "9876543210" * 4)
    )
    other = "".join(changes.get(place, digit) for place, digit in enumerate(known))

    assert are_alike(known, other) == (book.lookalike(other) is not None)


def test_of_many_that_look_alike_each_is_in_a_pair() -> None:
    """Not all pairs are told, which may be a million, but no address is left out."""
    many = [
        f"0x{number:08x}{'a1b2c3d4' * 4}"
        for number in range(0x11110000, 0x11110000 + 300)
    ]
    pairs = [*lookalikes(many)]

    assert {*many} == {each for pair in pairs for each in pair}
    assert len(pairs) < 2 * len(many)
