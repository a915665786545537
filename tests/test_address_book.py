"""The address book: read from Safe's CSV, a frame or a dict; names by network, and look-alikes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from payerkit import InvalidInput
from payerkit.onchain.addresses import are_alike, lookalikes
from payerkit.policy import AddressBook, KnownAddress

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
    (
        "a network by both its names",
        pd.DataFrame({"address": [PAYEE], "name": ["Example Payee"], "network": ["base"], "chainId": [8453]}),
        "base",
    ),
    (
        "a network whose chain id is disputed",
        pd.DataFrame(
            {"address": [PAYEE], "name": ["Example Payee"], "network": ["zksynceratestnet"], "chainId": ["300"]}
        ),
        "zksynceratestnet",
    ),
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
    (
        "two networks",
        f"address,name,network,chainId\n{PAYEE},A,base,8453\n{OTHER},B,base,1\n",
        "book.csv, row 3: network and chainId: they name different networks",
    ),
    ("two chain ids", f"address,name,chainId,chain_id\n{PAYEE},A,59144,59145\n", "chainId and chain_id: they name"),
    ("a role of nobody", f"address,name,role\n{PAYEE},A,Supplier\n", 'row 2: role: expected "payee" or "operator"'),
    ("two columns of roles", f"address,name,role,role\n{PAYEE},A,,\n", "book.csv: there are 2 columns role"),
    (
        "a name with two addresses on a network",
        f"address,name,chainId\n{PAYEE},Example Payee,1\n{OTHER},example  payee,1\n",
        "book.csv, row 2 and book.csv, row 3 have one name, but different addresses on a network",
    ),
    (
        "a name with another address on every network",
        f"address,name,chainId\n{PAYEE},Example Payee,1\n{OTHER},Example Payee,\n",
        "row 2 and book.csv, row 3 have one name",
    ),
    (
        "a payee with the name of the operator",
        f"address,name,role\n{PAYEE},Operator,operator\n{OTHER},Operator,\n",
        "row 2 and book.csv, row 3 have one name",
    ),
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

    with pytest.raises(InvalidInput, match=f"book.csv {message}"):
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


def test_roles_are_read() -> None:
    """A column says which addresses are the operator's; an empty cell stands for a payee, as a missing column does."""
    frame = pd.DataFrame(
        {"address": [PAYEE, OTHER, LOOKALIKE], "name": ["A", "B", "C"], "role": ["operator", "", pd.NA]}
    )

    assert ["operator", "payee", "payee"] == [each.role for each in AddressBook.read(frame)]
    assert ["payee"] == [each.role for each in AddressBook.read({PAYEE: "A"})]


HONEST_NAMES = [
    ("one name on two networks", [(PAYEE, "Example Payee", "base"), (OTHER, "Example Payee", "matic")]),
    ("one address under two names", [(PAYEE, "Example Payee", None), (PAYEE, "Example Payee Ltd", "base")]),
    (
        "one address under look-alike names",
        [(PAYEE, "Example I", None), (PAYEE, "Example l", None)],
    ),
    ("no names", [(PAYEE, "", None), (OTHER, "", None)]),
    ("names that differ in an accent", [(PAYEE, "Jose", None), (OTHER, "Jos\u00e9", None)]),
    ("a name in Cyrillic letters alone", [(PAYEE, "\u0410\u043d\u043d\u0430", None)]),
    ("a word in Cyrillic beside one in Latin letters", [(PAYEE, "\u041e\u041e\u041e Example", None)]),
    ("a Turkish name", [(PAYEE, "Y\u0131ld\u0131z", None)]),
    ("a Persian name with its joiner", [(PAYEE, "\u0646\u06cc\u200c\u06a9", None)]),
    ("a Japanese name with its space", [(PAYEE, "\u5c71\u7530\u3000\u592a\u90ce", None)]),
    ("numbers", [(PAYEE, "Branch 10", None), (OTHER, "Branch 11", None)]),
]


@pytest.mark.parametrize("rows", [row[1] for row in HONEST_NAMES], ids=[row[0] for row in HONEST_NAMES])
def test_honest_entries_are_not_warned_of(rows: list[tuple[str, str, str | None]]) -> None:
    """Names of all languages are names, and one wallet may have several."""
    book = AddressBook(KnownAddress(address=address, name=name, network=network) for address, name, network in rows)

    assert () == book.findings


CONFUSED = [
    ("addresses that look alike", LOOKALIKE, "Other", "address_lookalike", "row 2 and book.csv, row 3"),
    ("a Cyrillic letter in a name", OTHER, "Ex\u0430mple Payee", "name_lookalike", "row 2 and book.csv, row 3"),
    ("one in a name of its own", OTHER, "\u0410cme", "name_letters", "The name of book.csv, row 3"),
    ("a Greek letter", OTHER, "Exampl\u03bf Payee", "name_letters", "The name of book.csv, row 3"),
    ("a full-width letter", OTHER, "\uff25xample Payee", "name_lookalike", "row 2 and book.csv, row 3"),
    ("a capital I for an l", OTHER, "ExampIe Payee", "name_lookalike", "row 2 and book.csv, row 3"),
    ("rn for m", OTHER, "Exarnple Payee", "name_lookalike", "row 2 and book.csv, row 3"),
    ("a zero-width space", OTHER, "Example\u200b Payee", "name_lookalike", "row 2 and book.csv, row 3"),
    ("an invisible character alone", OTHER, "Acme\u200b", "name_invisible", "The name of book.csv, row 3"),
    ("text from right to left", OTHER, "\u202eemcA", "name_invisible", "The name of book.csv, row 3"),
]


@pytest.mark.parametrize(
    ("address", "name", "code", "rows"), [row[1:] for row in CONFUSED], ids=[row[0] for row in CONFUSED]
)
def test_entries_that_may_be_taken_for_others_are_warned_of(
    tmp_path: Path, address: str, name: str, code: str, rows: str
) -> None:
    """Somebody may have put an entry into the book to be taken for another; both rows are named, and no person."""
    file = tmp_path / "book.csv"
    file.write_text(f"address,name\n{PAYEE},Example Payee\n{address},{name}\n", "utf-8")
    book = AddressBook.read(file)
    told = next(each for each in book.findings if each.code == code)

    assert "warning" == told.severity
    assert rows in told.message
    assert "Example" not in str(book.findings)
    assert told in {book.warning(address), *book.findings}


def test_entries_of_python_are_numbered() -> None:
    """Where nothing was read, the number of the entry says which one is meant."""
    book = AddressBook([KnownAddress(address=PAYEE), KnownAddress(address=OTHER), KnownAddress(address=LOOKALIKE)])

    assert "The addresses of entry 1 and entry 3 look alike" in book.findings[0].message
    assert "<AddressBook: 3 addresses, 1 warning>" == repr(book)


REAL = "0xabcdef0123456789abcdef0123456789abcdef01"
ZEROS = "0x00000000" + "a1b2c3d4" * 4


def changed(address: str, *places: int) -> str:
    """Return an address with other digits at some places behind 0x."""
    digits = list(address[2:])
    for place in places:
        digits[place] = f"{(int(digits[place], 16) + 8) % 16:x}"
    return "0x" + "".join(digits)


def between(address: str, first: int, last: int) -> str:
    """Return an address with the same digits at both ends, and others between."""
    return changed(address, *range(first, 40 - last))


ALIKE = [
    ("four digits at each end", REAL, between(REAL, 4, 4), True),
    ("in capitals", REAL, "0x" + between(REAL, 4, 4)[2:].upper(), True),
    ("three and nine", REAL, between(REAL, 3, 9), True),
    ("nine and three", REAL, between(REAL, 9, 3), True),
    ("three and eight", REAL, between(REAL, 3, 8), False),
    ("two and thirty", REAL, between(REAL, 2, 30), False),
    ("twenty and two", REAL, between(REAL, 20, 2), False),
    ("four digits changed, also at the ends", REAL, changed(REAL, 0, 1, 38, 39), True),
    ("one digit in each part", REAL, changed(REAL, 0, 9, 18, 27), True),
    ("five digits changed, at the ends and between", REAL, changed(REAL, 0, 9, 18, 27, 39), False),
    ("itself", REAL, REAL.upper().replace("0X", "0x"), False),
    ("leading zeros and the end", ZEROS, "0x00000000" + "5" * 24 + ZEROS[-8:], False),
    ("as many leading zeros, then four digits", ZEROS, between(ZEROS, 12, 4), True),
    ("one zero less, then four digits", ZEROS, "0x0000000a1b2" + "5" * 25 + ZEROS[-4:], True),
    ("a few digits behind zeros", "0x" + f"{1:040x}", "0x" + f"{2:040x}", False),
    ("a counted address", "0x" + f"{0x12345678:040x}", "0x" + f"{0x12345679:040x}", False),
    ("nothing", REAL, "0x", False),
    ("a digit too few", REAL, REAL[:-1], False),
]


@pytest.mark.parametrize(("one", "other", "expected"), [row[1:] for row in ALIKE], ids=[row[0] for row in ALIKE])
def test_what_looks_alike(one: str, other: str, expected: bool) -> None:
    """Equal ends or few changed digits; zeros in front, which people mine and do not count, are no equal digits."""
    book = AddressBook([KnownAddress(address=one.lower())])

    assert expected == are_alike(one, other) == are_alike(other, one)
    assert expected == (book.lookalike(other) is not None)
    assert ([(one, other)] if expected else []) == [*lookalikes([one, other])]


@given(st.lists(st.integers(0, 39), max_size=4), st.sampled_from([REAL, ZEROS, PAYEE]))
def test_the_index_finds_every_address_with_few_changes(places: list[int], known: str) -> None:
    """However the changed digits lie, the address is found among many."""
    book = AddressBook(KnownAddress(address=each.lower()) for each in (OTHER, known, "0x" + "9876543210" * 4))
    other = changed(known.lower(), *set(places))

    assert are_alike(known, other) == (book.lookalike(other) is not None)


def test_of_many_that_look_alike_each_is_in_a_pair() -> None:
    """Not all pairs are told, which may be a million, but no address is left out."""
    many = [f"0x{number:08x}{'a1b2c3d4' * 4}" for number in range(0x11110000, 0x11110000 + 300)]
    pairs = [*lookalikes(many)]

    assert {*many} == {each for pair in pairs for each in pair}
    assert len(pairs) < 2 * len(many)


def test_two_known_addresses_with_the_same_ends_are_no_lookalikes() -> None:
    """What the user knows is not an attack, also if it is known on another network."""
    known = KnownAddress(address=LOOKALIKE, name="Mine, too", network="base")

    assert AddressBook([KnownAddress(address=PAYEE), known]).lookalike(LOOKALIKE) is None


def test_a_book_shows_no_names() -> None:
    """A notebook saves what it shows."""
    book = AddressBook.read({PAYEE: "Example Payee"})

    assert "<AddressBook: 1 address>" == repr(book)
    assert "<AddressBook: 0 addresses>" == str(AddressBook())
