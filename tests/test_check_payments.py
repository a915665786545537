"""Many payments at once: a verdict each, and what only a comparison finds."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
from example_addresses import DEAD, ETH_FEE_PROXY, FEE_PROXY, OTHER, PAYEE, TOKEN
from example_payments import data
from payerkit import InvalidInput, PaymentPolicy, check_payments, samples
from payerkit.models import Payment
from payerkit.payments import AddressBook, AgreedFee, KnownAddress, write_safe_files

ALIKE = PAYEE[:6] + "0" * 32 + PAYEE[-4:]


def payment(
    number: int = 1,
    *,
    payee: str = PAYEE,
    amount: int = 10,
    reference: int | None = None,
    **members: Any,
) -> Payment:
    """Return an honest payment that has a request id and a reference of its own, unless
    members name others.
    """
    mark = bytes([number if reference is None else reference] * 8)
    call = data("c219a14d", TOKEN, payee, amount * 10**6, mark, 0, DEAD)
    response = {
        "requestId": f"01{number:064x}",
        "paymentReference": f"0x{mark.hex()}",
        "transactions": [{"to": FEE_PROXY, "data": call, "value": 0}],
        **members,
    }
    order = {"payee": payee, "amount": str(amount), "invoice_currency": "fUSDC-sepolia"}
    return payerkit.read_payment(
        response, order=order | {"payment_currency": "fUSDC-sepolia"}
    )


REQUEST_ID = f"01{1:064x}"
FIRST, ANOTHER = payment(), payment(3, amount=30)
SAME_IDS: dict[str, dict[str, Any]] = {
    "0x": {"requestId": f"0x{REQUEST_ID}"},
    "blank and case": {"requestId": f" 01{1:064X}"},
    "invisible": {"requestId": f"{REQUEST_ID[:9]}\u200b{REQUEST_ID[9:]}"},
    "in metadata, too": {"metadata": {"requestId": REQUEST_ID}},
    "in metadata alone": {"requestId": None, "metadata": {"requestID": REQUEST_ID}},
    "reference": {"metadata": {"paymentReference": "0101010101010101"}},
}
"""Members that give a payment an id of the first one: an 0x, an invisible character or
another place makes no other request of it.
"""

COMPARED: dict[str, tuple[list[Payment], str, dict[int, str]]] = {
    "the same response twice": (
        [FIRST, ANOTHER, payment()],
        "stop ok stop",
        {
            0: "Perhaps paid already: the same request id, reference and payee with"
            " token and amount as 2.",
            2: " as 0.",
        },
    ),
    "the same request, at another rate": (
        [FIRST, ANOTHER, payment(2, amount=11, requestId=REQUEST_ID)],
        "stop ok stop",
        {0: "the same request id as 2.", 2: "the same request id as 0."},
    ),
    "the same reference, which one payment uses up": (
        [FIRST, ANOTHER, payment(2, amount=11, reference=1)],
        "stop ok stop",
        {0: "the same reference as 2.", 2: "the same reference as 0."},
    ),
    "the same payee and amount, ordered again": (
        [FIRST, ANOTHER, payment(2)],
        "stop ok stop",
        {
            0: "the same payee with token and amount as 2.",
            2: "the same payee with token and amount as 0.",
        },
    ),
    "halves beside the whole": (
        [FIRST, payment(2, amount=5), payment(3, amount=5)],
        "stop stop stop",
        {0: "1 and 2 are equal parts of it"},
    ),
    "one smaller invoice": ([FIRST, payment(2, amount=5)], "ok ok", {}),
    "many others are not all named": (
        [FIRST] * 9,
        "stop " * 9,
        {0: "as 1, 2, 3, 4, 5 and others."},
    ),
    "each payment of a batch": (
        [FIRST, samples["second_payment"], payment(5, payee=OTHER)],
        "stop stop stop",
        {2: "the same payee with token and amount as 1."},
    ),
    # A missing id is no id.
    "another payee, amount or network": (
        [
            FIRST,
            payment(2, amount=11),
            payment(3, payee=OTHER),
            payment(4, amount=4, requestId=None),
            payment(5, amount=5, requestId=None),
        ],
        "ok ok ok ok ok",
        {},
    ),
    # Of two payees with the same ends, one is perhaps a forgery.
    "payees that look alike": (
        [FIRST, payment(2, payee=OTHER), payment(3, payee=ALIKE)],
        "stop ok stop",
        {0: f"looks like {ALIKE.replace('C7D7', 'c7d7')}"},
    ),
}
COMPARED |= {
    f"the same id: {name}": (
        [FIRST, payment(2, amount=11, **members)],
        "stop stop",
        {0: "Perhaps paid already", 1: "Perhaps paid already"},
    )
    for name, members in SAME_IDS.items()
}
"""Payments, their verdicts in a table, and what is said of some."""


@pytest.mark.parametrize(
    ("payments", "verdicts", "words"), COMPARED.values(), ids=[*COMPARED]
)
def test_payments_are_compared_with_each_other(
    payments: list[Payment], verdicts: str, words: dict[int, str]
) -> None:
    """Of payments that share what no two payments share, none is ok; each names the
    others.
    """
    frame = check_payments(payments)

    assert verdicts.split() == frame["verdict"].to_list()
    assert [] == [
        text for row, text in words.items() if text not in frame["findings"][row]
    ]


@pytest.mark.parametrize(("second", "is_told"), [(payment(2), True), (FIRST, False)])
def test_invoices_of_their_own_may_be_equal_but_not_a_request(
    second: Payment, is_told: bool
) -> None:
    """Two months' rents have one payee and one amount. Two payments of one request
    never have an invoice each.
    """
    findings = check_payments([FIRST, second])["findings"][0]

    assert is_told == ("If each has an invoice of its own" in findings)


DAY = PaymentPolicy(
    rates={("ETH-sepolia-sepolia", "USD"): "2500", ("fUSDC-sepolia", "USD"): "1"}
)


def invoiced(number: int, *, amount: str = "12.5", wei: int | None = None) -> Payment:
    """Return a payment of an invoice in USD, paid in ETH if its base units are given,
    else in fUSDC; with ids of its own.
    """
    mark = bytes([number] * 8)
    currency = "fUSDC-sepolia" if wei is None else "ETH-sepolia-sepolia"
    to = ETH_FEE_PROXY
    call = data("b868980b", PAYEE, mark, 0, DEAD)
    if wei is None:
        units = int(Decimal(amount) * 10**6)
        to, call = FEE_PROXY, data("c219a14d", TOKEN, PAYEE, units, mark, 0, DEAD)
    response = {
        "requestId": f"01{number:064x}",
        "paymentReference": f"0x{mark.hex()}",
        "transactions": [{"to": to, "data": call, "value": str(wei or 0)}],
    }
    order = {"payee": PAYEE, "amount": amount, "invoice_currency": "USD"}
    return payerkit.read_payment(response, order=order | {"payment_currency": currency})


@pytest.mark.parametrize(
    "again",
    [
        invoiced(2, wei=5 * 10**15 + 7),  # another day: other base units
        invoiced(2),  # another token
        invoiced(2, amount="12.50"),  # the same amount, written otherwise
    ],
)
def test_one_invoice_that_was_requested_twice_stops(
    again: Payment, tmp_path: Path
) -> None:
    """The service chose other ids and base units; who ordered, ordered the same."""
    payments = [invoiced(1, wei=5 * 10**15), again, invoiced(3, amount="13")]
    alone = [check_payments([each], policy=DAY)["verdict"][0] for each in payments]
    frame = check_payments(payments, policy=DAY)

    assert "stop" not in alone
    assert ["stop", "stop", "ok"] == frame["verdict"].to_list()
    words = "the same payee, amount and invoice currency of the order as"
    assert f"{words} 1." in frame["findings"][0]
    assert f"{words} 0." in frame["findings"][1]
    with pytest.raises(InvalidInput, match="Perhaps paid already"):
        write_safe_files(payments, tmp_path, safe=OTHER, policy=DAY)


def test_a_folder_without_payments_is_refused(tmp_path: Path) -> None:
    """An empty frame would look as if nothing were wrong."""
    (tmp_path / "payment.txt").write_text("{}", "utf-8")

    with pytest.raises(InvalidInput, match=r"payments: .* has no \.json files"):
        check_payments(tmp_path)


def test_the_address_book_tells_which_of_two_is_known() -> None:
    """A payee that the address book has is not suspected for its look-alike, and has
    its name in the table.
    """
    book = AddressBook([KnownAddress(address=PAYEE, name="Example Payee")])
    frame = check_payments(
        [payment(), payment(3, payee=ALIKE)], policy=PaymentPolicy(addresses=book)
    )

    assert (["ok", "stop"], ["Example Payee", ""]) == (
        frame["verdict"].to_list(),
        frame["payee_name"].fillna("").to_list(),
    )


def test_files_objects_and_folders_are_read(tmp_path: Path) -> None:
    """Payments come as objects, as paths, and as a folder; a file that cannot be read
    stops alone.
    """
    paths = [tmp_path / f"{name}.json" for name in "abc"]
    payment().save(paths[0])
    payment(2, amount=11).save(paths[1])
    paths[2].write_text("{", "utf-8")
    names = [str(path) for path in paths]
    expected = dict(zip(names, ("ok", "ok", "stop"), strict=True))
    frame = check_payments(tmp_path)
    mixed = check_payments([payment(3, amount=12), paths[0]])

    assert expected == frame["verdict"].to_dict()
    assert expected == check_payments(names)["verdict"].to_dict()
    assert (
        "The payment cannot be read: c.json is not valid JSON."
        in frame["findings"][names[2]]
    )
    assert ["ok", "ok"] == mixed["verdict"].to_list()


def test_no_payment_of_a_folder_is_left_out(tmp_path: Path) -> None:
    """What stands in a sub-folder, or under a name in capitals, is compared with the
    others.
    """
    (tmp_path / "later" / "march").mkdir(parents=True)
    (tmp_path / "folder.json").mkdir()
    names = ["a.json", "b.JSON", "later/c.Json", "later/march/d.json"]
    for number, name in enumerate(names):
        payment(number + 1, amount=10 + number % 3).save(tmp_path / name)
    frame = check_payments(tmp_path)

    assert [str(tmp_path / name) for name in names] == frame.index.to_list()
    assert ["stop", "ok", "ok", "stop"] == frame[
        "verdict"
    ].to_list()  # the first and the last pay the same
    assert (
        "as " + str(tmp_path / "later" / "march" / "d.json")
        in frame["findings"].iloc[0]
    )


def test_a_row_says_whose_word_its_order_is(tmp_path: Path) -> None:
    """An order that stands in the file of the payment was written by whoever wrote
    that.
    """
    payment().save(tmp_path / "a.json")
    other = payment(3, amount=30)
    answer = other.to_dict(reveal=True)
    sent = Payment.read(answer, order=other.order, order_source="sent")
    without = payerkit.read_payment(payment(4, amount=40).to_dict(reveal=True))
    frame = check_payments([tmp_path / "a.json", payment(2, amount=20), sent, without])

    assert ["file", "given", "sent", "none"] == frame["order_source"].fillna(
        "none"
    ).to_list()


@pytest.mark.parametrize("form", [dict, pd.Series])
def test_labels_are_kept(form: Any) -> None:
    """A Series and a dict give the rows their labels."""
    labelled = form({"rent": payment(), "wages": payment(2, amount=11)})

    assert ["rent", "wages"] == check_payments(labelled).index.to_list()


def test_a_row_says_what_is_paid() -> None:
    """A row has what the bytes pay, not what the order says; amounts are exact."""
    row: Any = check_payments([samples["declared_fee"]]).iloc[0]
    expected = {
        "verdict": "look",
        "network": "sepolia",
        "payee": PAYEE,
        "amount": Decimal(10),
        "token": "fUSDC-sepolia",
        "fee": Decimal("0.01"),
        "payments": 1,
    }

    assert expected == {name: row[name] for name in expected}
    assert "[fee]" in row["findings"]


def test_a_fee_leg_is_a_fee_of_its_payment() -> None:
    """A fee that is paid beside the payment is in its row, and is not another
    payment.
    """
    response = payment().to_dict(reveal=True)
    leg = data("c219a14d", TOKEN, OTHER, 10_000, bytes([1] * 8), 0, DEAD)
    response["transactions"].append({"to": FEE_PROXY, "data": leg, "value": 0})
    fees = [AgreedFee(address=OTHER, max_percent="0.1", name="Platform")]
    paid = payerkit.read_payment(response, order=payment().order)
    row: Any = check_payments([paid], policy=PaymentPolicy(fees=fees)).iloc[0]

    assert ("ok", 1) == (row["verdict"], row["payments"])
    assert (PAYEE, Decimal("0.01")) == (row["payee"], row["fee"])


def test_several_payments_in_one_response_have_no_single_payee() -> None:
    """What is paid by several payments is missing, rather than that of the first."""
    row: Any = check_payments([samples["second_payment"]]).iloc[0]

    assert ("stop", 2) == (row["verdict"], row["payments"])
    assert (True, None) == (pd.isna(row["payee"]), row["amount"])


def test_no_payments_are_a_table_without_rows() -> None:
    """Nothing to check is no error, and the columns stand."""
    none = check_payments([])

    assert 0 == len(none)
    assert check_payments([payment()]).dtypes.equals(none.dtypes)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (payment(), "give a list of payments"),  # one payment is for check_payment()
        (pd.DataFrame({"a": [1]}), "give a list of payments"),
        (7, "give a list of payments"),
        ("no-such-folder", "not a folder"),
        ([payment(), None], "expected payments and paths"),
        ([7], "expected payments and paths"),
    ],
)
def test_anything_else_is_refused(given: Any, words: str) -> None:
    """What is no collection of payments is refused."""
    with pytest.raises(InvalidInput, match=words):
        check_payments(given)
